"""A schedule with numbers: the blocks of its native segments, and one Python function that runs it all.

The function is printed as text without sizes, so that each schedule is compiled once; array shapes, native segments and evals
of host steps are its globals. It returns None if the arguments do not fit its guard.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import Expected
from graphad.compiler.plan import buffers
from graphad.compiler.plan.calls import Unanswered, same
from graphad.compiler.plan.exclusive import written
from graphad.compiler.plan.host import as_value, own
from graphad.compiler.plan.measured import (
    add_patched,
    cuts,
    elements,
    require_rising,
    rooms,
    sizes_of,
)
from graphad.compiler.plan.nested import append
from graphad.compiler.plan.outcomes import Asked, blame, failed, fit
from graphad.compiler.plan.places import ARENA as IN_ARENA
from graphad.compiler.plan.places import ARGUMENT, RELEASE_NANOSECONDS, Address, Binding, Place
from graphad.compiler.plan.schedule import (
    ARENA,
    CONSTANT,
    COPIED,
    CUT,
    FRESH,
    GROWN,
    INPUT,
    PYTHON,
    SCALAR,
    Schedule,
    Segment,
    collects,
    is_whole,
)
from graphad.compiler.plan.steps import Scope, constant_of
from graphad.compiler.rows import CELL_BYTES
from graphad.compiler.units import ASSIGN, Unit
from graphad.core import arrays, printed
from graphad.core.dims import evaluate, related
from graphad.core.errors import InternalError, ResourceExhaustedError, UnavailableError
from graphad.core.ieee import heard, hush, unhush
from graphad.core.op import IO, WRITES
from graphad.core.rule_errors import NO_MEMORY
from graphad.core.shapes import is_definite
from graphad.core.tensor import guard_of
from graphad.graph.fitted import fitted
from graphad.graph.walk import last_steps
from graphad.kernels.sites import Site, reach
from graphad.trace.numbered import with_sizes

if TYPE_CHECKING:
    from graphad.core.dims import Size


class Bound:
    """A schedule bound to numbers: `call(values)` is the hot call."""

    def __init__(self, schedule: Schedule, numbers: Mapping[str, int], address: Address) -> None:
        self.schedule = schedule
        require_rising(schedule.partition.specs)
        self.numbers = rooms(schedule.partition.rooms, numbers)
        self._sizes = numbers
        self._address = address
        self.partition = schedule.partition
        self.backend = schedule.partition.backend
        self.graph = self.partition.graph
        self._names: dict[str, Any] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self._keep: list[Any] = []
        self.arena_bytes: list[int] = []
        self.places: dict[int, int] = {}  # root -> arena offset
        # The cells of stacks that enter or leave: (native segment, root) -> arena offset.
        self._cells: dict[tuple[int, int], int] = {}
        self.images: list[Any] = []
        self.work = 0.0
        self.regions = 0
        self._is_guarded = bool(written(self.graph))
        self._found: dict[str, int] = {}  # arena offsets of sizes that the run finds and results have
        self._cut = [root for root, kind in schedule.storage.items() if kind == CUT]
        self._scalars = [root for root, kind in schedule.storage.items() if kind == SCALAR]
        self._scalar_segment = self._segments_of_scalars()
        self._grows = self._segments_that_grow()
        for segment in schedule.segments:
            if segment.is_native:
                self.images.append(self._image(segment))
        self.text = self._text()
        idle: list[Any] = []
        self._names["pop"], self._names["push"] = idle.pop, idle.append
        self._names["make"] = self._make
        exec(_compiled(self.text), self._names)
        self.call: Callable[[Sequence[Any]], list[Any] | None] = self._names["call"]

    def rehearse(self) -> None:
        """Do everything except run, so that libraries are loaded and texts are compiled for later calls."""
        if self.images:
            self._make()

    # numbers

    def size(self, dim: Size) -> int:
        return evaluate(dim, self.numbers)

    def shape(self, value: int) -> tuple[int, ...]:
        found = self.shapes.get(value)
        if found is None:
            dims = self.partition.specs[value].dims
            if dims is None:
                raise InternalError(f"plan: value {value} has no definite shape")
            found = self.shapes[value] = tuple([self.size(dim) for dim in dims])
        return found

    def _bytes(self, value: int) -> int:
        spec = self.partition.specs[value]
        return spec.dtype.itemsize * elements(spec.dims or (), self.numbers)

    def _strided(self, site: Site) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides in bytes."""
        step = self.partition.specs[site.root].dtype.itemsize
        return tuple([self.size(n) for n in site.shape]), tuple([self.size(s) * step for s in site.strides])

    def _offset(self, site: Site) -> int:
        return self.size(site.offset) * self.partition.specs[site.root].dtype.itemsize

    # native segments

    def _segments_of_scalars(self) -> dict[int, int]:
        found: dict[int, int] = {}
        natives = [segment for segment in self.schedule.segments if segment.is_native]
        for k, segment in enumerate(natives):
            for unit in segment.units:
                for value in unit.writes:
                    if self.schedule.storage[value] == SCALAR:
                        found[value] = k
        return found

    def _segments_that_grow(self) -> list[int]:
        """The numbers of the native segments with loops that collect a number of slices which only the run knows."""
        natives = [segment for segment in self.schedule.segments if segment.is_native]
        return [k for k, segment in enumerate(natives) if any(map(collects, segment.units))]

    def arguments(self, segment: Segment) -> list[int]:
        """The roots that a segment takes as arguments, in order."""
        if not self.schedule.is_single:
            return segment.reads
        inputs = list(range(len(self.graph.inputs)))
        return [*inputs, *[root for root in segment.reads if root >= len(inputs)]]

    def _image(self, segment: Segment) -> Any:
        arguments = self.arguments(segment)
        end = segment.first + len(segment.units)
        again, part, has_sizes = self.schedule.is_made_again, self.partition, bool(self.partition.rooms)
        binding = Binding(self._address, self._keep, self.numbers, again, sizes=self._sizes)
        scope = Scope(part, self.numbers, binding, not has_sizes)
        for k, root in enumerate(arguments):
            size = self._bytes(root) if is_definite(self.partition.specs[root].dims) else 0
            scope.places[root] = Place.of(ARGUMENT, k, 0, size)
        last = {}
        for unit in segment.units:
            for value in unit.writes:
                if self.schedule.storage[value] in (ARENA, SCALAR, GROWN, COPIED, CUT):
                    kept = self.schedule.storage[value] in (SCALAR, COPIED, CUT)
                    last[value] = end if kept else min(self.schedule.lives[value][1], end)
        lives = scope.lives(segment.units, last, segment.first)
        lives += [(root, buffers.Life(CELL_BYTES, segment.first, end)) for root in segment.stacks]
        sizes = sizes_of(part)
        words = [buffers.Life(8, segment.first, end)] * len(sizes)
        offsets, total = buffers.place([*[life for _, life in lives], *words])
        self._found = dict(zip(sizes, offsets[len(lives) :], strict=True))
        for (value, life), offset in zip(lives, offsets, strict=False):
            scope.places[value] = Place.of(IN_ARENA, 0, offset, life.size)
            if value not in segment.stacks:
                self.places[value] = offset
            if value in segment.stacks or value in segment.copied:
                self._cells[len(self.images), value] = offset
        self.arena_bytes.append(total)
        builder = self.backend.plan(len(arguments))
        binding.found = self._found
        work = add_patched(builder, scope, segment.units, segment.first) if has_sizes else 0.0
        for at, unit in enumerate(() if has_sizes else segment.units, segment.first):
            found = scope.make(unit, scope.places.get(-1 - at))
            work += sum([made.work for made in found])
            self.regions += append(builder, scope, unit, found)
        self.regions += scope.regions
        self.work += work
        guard = self._guard(len(arguments)) if self.schedule.is_single else None
        return builder.build(total, work > RELEASE_NANOSECONDS, guard)

    def _is_elsewhere(self, value: int) -> bool:
        """Whether an input is a variable for steps in Python alone, as the state of a generator: it may be on the CPU."""
        return not self.backend.is_host and self.graph.inputs[value].is_handle and value not in self._captured

    def _guard(self, count: int, of: Sequence[int] | None = None) -> Any:
        """The guard of so many arguments, which begin with the inputs, or with some `of` them."""
        inputs = range(len(self.graph.inputs)) if of is None else of
        expected: list[Expected] = [
            (spec.dtype.numpy, self.shape(value) if is_definite(spec.dims) else None)
            for value, spec in [(value, self.graph.inputs[value]) for value in inputs]
        ]
        guard = self.backend.guard([*expected, *[(None, None)] * (count - len(expected))])
        self._keep.append(guard)
        return guard

    # the Python function

    def _make(self) -> Any:
        """A new set of instances: the run function of each native segment, then the arrays of scalar results."""
        instances = [image.instance() for image in self.images]
        out: list[Any] = self._runs(instances)
        for root in self._scalars:
            instance = instances[self._scalar_segment[root]]
            out.append(instance.scalar(self.places[root], self.partition.specs[root].dtype.numpy))
        natives = [segment for segment in self.schedule.segments if segment.is_native]
        for number, root in self._cells:
            out.append(self._passing(instances[number], root, self._cells[number, root], natives[number]))
        out += [instances[number].trim for number in self._grows]
        out += [instances[0].words_at(offset, 1) for offset in self._found.values()]
        out += [instances[0].part(self.places[root], self._bytes(root)) for root in self._cut]
        return out[0] if len(out) == 1 else tuple(out)

    def _passing(self, instance: Any, root: int, offset: int, segment: Segment) -> Any:
        """The function that puts a stack of unknown length into its cell of an instance, or takes it from the cell."""
        spec = self.partition.specs[root]
        dims = (spec.dims or ())[1:]
        is_nested = not is_definite(dims)
        shape = tuple([self.size(n) for n in (dims[1:] if is_nested else dims)])
        cell = instance.words_at(offset, CELL_BYTES // 8)
        if root in segment.stacks:
            return self.backend.entering(cell, spec.dtype.numpy, shape, is_nested)
        return self.backend.leaving(cell, spec.with_dims(dims), shape, is_nested)

    @property
    def _state(self) -> list[str]:
        """The names of what an instance of the plan has of its own."""
        return [
            *[f"run{k}" for k in range(len(self.images))],
            *[f"s{root}" for root in self._scalars],
            *[f"pass{number}_{root}" for number, root in self._cells],
            *[f"trim{number}" for number in self._grows],
            *[f"size{k}" for k in range(len(self._found))],
            *[f"part{root}" for root in self._cut],
        ]

    def _runs(self, instances: Sequence[Any]) -> list[Any]:
        """The run function of each native segment; a profiler replaces these by timed ones."""
        return [instance.run for instance in instances]

    def _text(self) -> str:
        schedule, partition, graph = self.schedule, self.partition, self.graph
        helpers = (as_value, own, same, fit, failed, blame)
        names = self._names = {helper.__name__: helper for helper in helpers}
        names["take"], names["empty"] = self.backend.take, self.backend.empty
        names["to_host"], names["to_device"] = self.backend.to_host, self.backend.to_device
        names["strided"], names["host_strided"] = self.backend.strided, buffers.strided
        names["misfits"] = self.backend.misfits
        lines: list[str] = []
        inputs = [f"v{i}" for i in range(len(graph.inputs))]
        if inputs:
            lines.append(f"{', '.join(inputs)}{',' if len(inputs) == 1 else ''} = values")
        self._captured: set[int] = set()
        state = self._state
        last = self._last_uses()
        number = 0
        hosts: list[Asked] = []
        parts: list[list[str]] = []
        for k, segment in enumerate(schedule.segments):
            if segment.is_native:
                part = self._call(segment, number)
                number += 1
            else:
                part = self._python(segment.units[0], hosts)
            gone = [root for root, at in last.items() if at == k]
            if gone:
                part.append(f"{' = '.join(f'r{root}' for root in gone)} = None")
            parts.append(part)
        results = [self._result(value, k) for k, value in enumerate(partition.outputs)]
        if graph.effects & WRITES:
            self._release(parts, results)
        body = [line for part in parts for line in part]
        for root in self._scalars:
            body.append(f"r{root} = s{root}[()]")
        body += cuts(partition, self._cut, list(self._found), self.numbers, names)
        body += self._trimmed()
        if state:
            body.append(f"push({state[0] if len(state) == 1 else '(' + ', '.join(state) + ')'})")
        body.append(f"return [{', '.join(results)}]")
        if graph.effects & IO:
            names["mark"] = printed.mark
            lines.append("begun = mark()")
        # A read returns the array at the start of the call; assignments in the plan have values of their own.
        lines += [f"d{i} = v{i}.data" for i in sorted(self._captured)]
        if not schedule.is_single and self.images:
            # The array that was read must be checked: another thread may assign the variable at any moment.
            known = [i for i in range(len(inputs)) if not self._is_elsewhere(i)]
            names["check"] = self.backend.bind_check(self._guard(len(known), known))
            checked = [f"d{i}" if i in self._captured else inputs[i] for i in known]
            lines.append(f"if not check({', '.join(checked)}): return None")
            for i in range(len(inputs)):
                if self._is_elsewhere(i) and is_definite(graph.inputs[i].dims):
                    names[f"h{i}"] = self.shape(i)
                    lines.append(f"if v{i}.data.shape != h{i}: return None")
        if state:
            lines += [
                "try:",
                f"    {', '.join(state)} = pop()",
                "except IndexError:",
                f"    {', '.join(state)} = make()",
            ]
        if hosts:
            names["hosts"] = hosts
            lines.append("at = -1")
            names |= {"heard": heard, "hush": hush, "unhush": unhush}
            body = [
                "settings = heard()",
                "try:",
                "    hush()",
                *[f"    {line}" for line in body],
                "except Exception as error:",
                "    raise blame(error, hosts, at, globals(), locals())",
                "finally:",
                "    unhush(settings)",
            ]
        return "def call(values):\n" + "\n".join(f"    {line}" for line in [*lines, *body]) + "\n"

    def _release(self, parts: list[list[str]], results: list[str]) -> None:
        """Forget the array of each variable behind the part that last uses it, so that a step that changes some of its slices
        finds the variable to be its only owner."""
        for i in self._captured:
            name = re.compile(rf"\bd{i}\b")
            if any(map(name.search, results)):
                continue
            last = max((k for k, part in enumerate(parts) if any(map(name.search, part))), default=None)
            if last is not None:
                parts[last].append(f"d{i} = None")

    def _last_uses(self) -> dict[int, int]:
        """For large roots that Python holds: the segment after which they are released."""
        kept = {self._root(value) for value in self.partition.outputs}
        segments, storage = self.schedule.segments, self.schedule.storage
        steps = last_steps((*each.reads, *each.stacks, *each.copied) for each in segments)
        held = (FRESH, PYTHON, COPIED)
        return {root: k for root, k in steps.items() if storage[root] in held and root not in kept}

    def _root(self, value: int) -> int:
        site = self.partition.sites.get(value)
        return value if site is None else site.root

    def _call(self, segment: Segment, number: int) -> list[str]:
        out = []
        fresh = [
            value for unit in segment.units for value in unit.writes if self.schedule.storage[value] == FRESH
        ]
        if not self.backend.is_host:
            if fresh:
                kinds = [(self.shape(value), self.partition.specs[value].dtype.numpy) for value in fresh]
                self._names[f"made{number}"] = self.backend.several(kinds)
                out.append(f"{', '.join([f'r{value}' for value in fresh])}, = made{number}()")
        else:
            for value in fresh:
                shape, dtype = self.shape(value), self.partition.specs[value].dtype.numpy
                self._names[f"n{value}"], self._names[f"t{value}"] = shape, dtype
                if self._bytes(value) >= buffers.POOLED:
                    out.append(f"r{value} = take(n{value}, t{value})")
                else:
                    out.append(f"r{value} = empty(n{value}, t{value})")
        for root in segment.stacks:
            out.append(f"e{number}_{root} = pass{number}_{root}({self._array_name(root)})")
        arguments = [self._array_name(root, True) for root in self.arguments(segment)]
        call = f"status = run{number}({', '.join(arguments)})"
        acts = not self.schedule.is_single and self.schedule.acts_before(segment)
        is_made_again = self.schedule.is_made_again and not acts
        if is_made_again:
            self._names["Unanswered"] = Unanswered
            out += ["try:", f"    {call}", "except Unanswered:", *self._again(), "    return None"]
        else:
            out.append(call)
        state = self._state
        packed = state[0] if len(state) == 1 else f"({', '.join(state)})"
        out.append("if status:")
        out.append("    at = -1")
        out += [f"    {line}" for line in self._trimmed()]
        out.append(f"    push({packed})")
        # After a misfit the caller calls again, which is not allowed if something may have been assigned.
        if not is_made_again:
            out.append(f"    failed(status{'' if acts else ', misfits'})")
        out += [*self._again(), "    return None"]
        if segment.stacks:
            out.append(f"{' = '.join(f'e{number}_{root}' for root in segment.stacks)} = None")
        out += [f"r{root} = pass{number}_{root}()" for root in segment.copied]
        return out

    def _again(self) -> list[str]:
        """Prepares the repetition of a run: the next run does not print the texts that this one has printed."""
        if not self.graph.effects & IO:
            return []
        self._names["again"] = printed.again
        return ["    again(begun)"]

    def _trimmed(self) -> list[str]:
        """Lines that free large memory of the loops."""
        return [f"trim{number}()" for number in self._grows]

    def _array_name(self, root: int, as_argument: bool = False) -> str:
        kind = self.schedule.storage[root]
        if kind == INPUT:
            if not self.graph.inputs[root].is_handle or (as_argument and self.schedule.is_single):
                return f"v{root}"
            self._captured.add(root)
            return f"d{root}"
        if kind == CONSTANT:
            if f"c{root}" not in self._names:
                self._names[f"c{root}"] = as_value(constant_of(self.partition, root, self.numbers))
            return f"c{root}"
        return f"r{root}"

    def _value(self, value: int, site: Site, for_host: bool = False) -> str:
        """A value as an expression: an array or a view of one; with `for_host` as evals need it, also a NumPy scalar."""
        root = site.root
        if root < len(self.graph.inputs) and value == root and self.graph.inputs[root].is_handle:
            return f"v{root}"
        name, strided = self._array_name(root), "strided"
        if not self.backend.is_host:
            # All arrays are the device's, except those of constants.
            stays = self.backend.runs_evals and for_host
            if (self.schedule.storage[root] == CONSTANT) != for_host and not stays:
                name = f"{'to_host' if for_host else 'to_device'}({name})"
            is_array = not stays or self.schedule.storage[root] == CONSTANT
            strided = "host_strided" if for_host and is_array else strided
        if root not in self.partition.sites:
            return name
        if is_whole(self.partition, value):
            is_scalar = self.schedule.storage[root] == FRESH and not self.shape(root)
            return f"{name}[()]" if is_scalar and self.backend.is_host else name
        numbers = tuple([self.size(n) for n in site.shape])
        # Not a site that covers only the first part of its root.
        if site.is_plain and math.prod(numbers) == math.prod(self.shape(root)):
            self._names[f"n{value}"] = numbers
            return f"{name}.reshape(n{value})" + ("" if numbers else "[()]")
        (shape, strides), offset = self._strided(site), self._offset(site)
        whole = Place.of(ARGUMENT, 0, 0, self._bytes(root))
        whole.shifted(offset).check(*reach(shape, strides, self.partition.specs[root].dtype.itemsize))
        self._names[f"view{value}"] = (shape, strides, offset)
        return f"{strided}({name}, *view{value})"

    def _python(self, unit: Unit, hosts: list[Asked]) -> list[str]:
        node = unit.nodes[0]
        if unit.kind == ASSIGN:
            handle, value = node.inputs
            site = unit.reads[0]
            given = self.partition.sites.get(value)
            if given is not None and given.root != site.root:  # a view, of which a copy is assigned
                value = site.root
            expression, self._names["where"] = self._value(value, site), arrays.where
            placed = expression if self.backend.is_host else f"where(v{handle}.data, {expression})"
            lines = [f"v{handle}.data = {placed}"]
            if not self._is_guarded:
                self._names["guard_of"] = guard_of
                lines = [f"with guard_of(v{handle}):", *[f"    {line}" for line in lines]]
            if node.start not in self.partition.sites:
                lines.append(f"r{node.start} = v{handle}.data")
            return lines
        k, op = len(hosts), with_sizes(node.op, self.numbers)
        values = [self._value(v, site, True) for v, site in zip(node.inputs, unit.reads, strict=True)]
        if not (self.backend.is_host or self.backend.runs_evals) and any(
            self.partition.specs[v].is_handle for v in node.inputs
        ):
            raise UnavailableError(
                f"{op.name}: it takes a variable and has no code for {self.backend.name}, and the host cannot run "
                "it on that device."
            )
        # Named by its position among the steps, since a node without outputs has no value.
        self._names[f"f{k}"] = fitted(op, [self.partition.specs[v] for v in node.inputs], op.eval)
        hosts.append(Asked(op, f"[{', '.join(values)}]", node.line))
        call = f"f{k}({', '.join(values)})"
        targets = [f"r{value}" for value in node.outputs]
        lines = [f"at = {k}"]
        if node.op.multiple:
            lines.append(
                f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = {call}" if targets else call
            )
        else:
            lines.append(f"{targets[0]} = {call}")
        native = {root for segment in self.schedule.segments if segment.is_native for root in segment.reads}
        for value in node.outputs:
            if not self.partition.specs[value].dims:
                lines.append(f"r{value} = as_value(r{value})")
            if value in self.partition.sites:
                self._names[f"n{value}"] = self.shape(value)
                self._names[f"t{value}"] = self.partition.specs[value].dtype.numpy
                differs = f"r{value}.shape != n{value} or r{value}.dtype is not t{value}"
                if value not in native or not self.backend.is_host:
                    lines.append(f"if {differs}: same(r{value}, n{value}, t{value})")
                elif self.shape(value):
                    is_plain = f"type(r{value}) is ndarray and r{value}.flags.num & {_PLAIN} == {_PLAIN}"
                    self._names["ndarray"] = np.ndarray
                    lines.append(
                        f"if {differs} or not ({is_plain}): r{value} = fit(r{value}, n{value}, t{value})"
                    )
                else:
                    lines.append(f"if {differs}: fit(r{value}, n{value}, t{value})")
            if not self.backend.is_host:
                lines.append(f"r{value} = to_device(r{value})")
        return lines

    def _sources(self, root: int) -> str:
        """The operands of the host step that makes `root`, as further arguments of `own`."""
        for segment in self.schedule.segments:
            unit = segment.units[0]
            if not segment.is_native and root in unit.writes:
                names = [self._array_name(site.root) for site in unit.reads]
                return "".join(f", {name}" for name in dict.fromkeys(names))
        return ""

    def _result(self, value: int, k: int) -> str:
        """An output as an expression, aliasing neither an input nor another output."""
        site = self.partition.sites.get(value)
        root = value if site is None else site.root
        kind = self.schedule.storage[root]
        earlier = [self._root(v) for v in self.partition.outputs[:k]]
        if kind == SCALAR:
            return f"r{root}"
        if kind == CUT:
            return f"cut{k}"
        name = self._value(value, site or Site(value, (), ()))
        is_scalar = site is not None and not site.shape
        if kind in (FRESH, COPIED) and root not in earlier:
            return name
        if kind == INPUT and self.graph.inputs[root].is_handle:
            return name  # a variable's array is never written to, so a read returns it
        if is_scalar and kind != FRESH:
            return f"{name}[()]"
        if kind == PYTHON and root not in earlier:
            return f"own({name}{self._sources(root)})"
        return f"{name}.copy()"


_PLAIN = 0x101  # NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED among an array's flags


@functools.lru_cache(maxsize=2048)
def _compiled(text: str) -> Any:
    return compile(text, "<graphad plan>", "exec")


def bind(schedule: Schedule, numbers: Mapping[str, int], address: Address) -> Bound:
    """The schedule with numbers.

    Raises:
      ResourceExhaustedError: with these numbers a value has more bytes than there are addresses.
      GraphadError: this machine cannot run it natively.
    """
    part = schedule.partition
    part.backend.prepare({spec.dtype for spec in part.specs})
    try:
        # What is as large as one size alone may be made before the run compares it.
        with related([each for each in part.relations if len(each[0]) > 1]):
            return Bound(schedule, numbers, address)
    except OverflowError as cause:
        raise ResourceExhaustedError(f"plan: {NO_MEMORY}.") from cause
