"""Loops that a tensor decides: the body is traced once and becomes one `loop`.

Variables that a step reads or that are needed later are carries of the loop. A variable that has no value before the loop, and
that each step assigns before reading, is only an output; a loop that may run no step then checks that it ran one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.autograph.acting import Tested
from graphad.autograph.branches import growing, staged_if
from graphad.autograph.counting import Counter, counter_of
from graphad.autograph.journal import Journal
from graphad.autograph.state import MARKS, UNBOUND, Local, Parts, bound_references, locals_of
from graphad.autograph.streamed import Streamed
from graphad.core.composites import flatten_records
from graphad.core.convert import lift, lift_like, lift_own
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, StructureError
from graphad.core.escapes import Deciding, Retrace
from graphad.core.shapes import Dims, TensorShape, as_dims, common_dims, format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.sizes import known_value
from graphad.ops.control.again import Again, supposing
from graphad.ops.control.parts import Part, completed, loop_dims, loop_writes, placeholder, same_structure
from graphad.ops.control.predicates import as_predicate
from graphad.ops.control.scan import Walk
from graphad.ops.control.segments import Segments
from graphad.ops.control.while_loop import bind_loop, step_limit
from graphad.ops.control.written import Row, collected, counts_up, rows_of
from graphad.ops.math import greater, minimum
from graphad.ops.state.effects import require

if TYPE_CHECKING:
    from graphad.autograph.state import Attribute, Item, Place, Reference
    from graphad.core.annotations import TensorLike
    from graphad.core.dtypes import DType


def staged_loop(
    elements: Elements | Streamed | Counter | None,
    test: Callable[[], Any] | None,
    body: Callable[..., Any],
    carried: Sequence[str],
    after: Sequence[str],
    others: Sequence[str],
    refs: Sequence[Reference],
    options: Callable[[], Any] | None,
    first: Tested | None = None,
) -> None:
    """Trace the loop from its current state, over elements or while the test is true, and assign the final values to its
    variables; `first` is the test that has been made, where it must not be made again."""
    state = _State((body, test), carried, after, others, refs)
    if first is not None:
        state.take(first)
        test, body = first.read, first.behind(body)
    counter = None
    if isinstance(elements, Elements) and elements.make is None:
        counter = counter_of(elements.walk.xs)
    rows = None if counter is None or test is None or not state.holds_arrays() else counter.rows()
    if rows is not None:  # a walk makes arrays of the rows that steps write, whenever it is left
        elements = Elements(rows)
    elif counter is not None:
        elements = counter
        state.count_by(counter)
    state.run(test, body, elements, options)


def guarded_step(
    holds: Tensor,
    body: Callable[[Any], Any],
    element: int,
    carried: Sequence[str],
    after: Sequence[str],
    others: Sequence[str],
    refs: Sequence[Reference],
) -> None:
    """One step of a Python loop that a tensor may have ended."""

    def step() -> None:
        body(element)

    def skip() -> None:
        pass

    names = locals_of((body,))
    present = [name for name in (*carried, *after) if name.rstrip(MARKS) in names]
    chosen = staged_if(holds, step, skip, present, others, refs, names)
    chosen()


class Elements:
    """The elements over which a staged `for` iterates.

    Attributes:
      walk: The tensors.
      make: Function from a nest of slices to the element.
    """

    def __init__(self, nest: object, make: Callable[[Any], Any] | None = None) -> None:
        self.walk = Walk("for", nest)
        self.make = make

    def element(self, slices: Sequence[Tensor]) -> Any:
        nest = self.walk.element(slices)
        return nest if self.make is None else self.make(nest)


class _Wider(Retrace):
    """Raised to trace a loop again, with shapes that its first trace has found to change.

    Attributes:
      owner: The loop.
      dims: What is known of the shapes of its carries, by their numbers.
    """

    def __init__(self, owner: _State, dims: dict[int, Dims]) -> None:
        super().__init__()
        self.owner, self.dims = owner, dims


class _Further(Retrace):
    """Raised to trace a loop again, with variables of which its code does not tell.

    Attributes:
      owner: The loop.
      found: The places, and what they hold before the loop.
    """

    def __init__(self, owner: _State, found: Sequence[tuple[Attribute | Item, Any]]) -> None:
        super().__init__()
        self.owner, self.found = owner, found


def elements_of(x: object) -> Elements | None:
    """The elements of a tensor, or of a value computed from tensors; None for what Python iterates."""
    if isinstance(x, Handle):
        x = lift_own(x)
    if isinstance(x, Tensor):
        if x.dims == ():
            raise ArgumentTypeError("for: cannot iterate over a scalar tensor.")
        return Elements(x)
    staged = getattr(x, "__graphad_elements__", None)
    return None if staged is None else staged()


class _State:
    """The variables of one loop."""

    def __init__(
        self,
        functions: Sequence[Any],
        carried: Sequence[str],
        after: Sequence[str],
        others: Sequence[str],
        refs: Sequence[Reference],
    ) -> None:
        cells = locals_of(functions)
        self.places: list[Place] = []
        self.marks: list[str] = []
        self.is_read: list[bool] = []
        for names, is_read in ((carried, True), (after, False)):
            for marked in names:
                name = marked.rstrip(MARKS)
                if name in cells:
                    self.places.append(Local(name, cells[name]))
                    self.marks.append(marked[len(name) :])
                    self.is_read.append(is_read)
        for ref in bound_references(refs):
            self.places.append(ref)
            self.marks.append("")
            self.is_read.append(True)
        self.hidden = [Local(name, cells[name]) for name in others if name in cells]
        self.counter: Counter | None = None
        self.is_complete = False  # whether `places` has what the functions assign that steps call
        self.before = [place.read() for place in self.places]
        self.hidden_before = [place.read() for place in self.hidden]

    def holds_arrays(self) -> bool:
        """Whether a variable may be an array that steps write into."""
        leaves = [leaf for value in self.before if value is not UNBOUND for leaf in flatten_records(value)[0]]
        return any(hasattr(type(leaf), "__graphad_loop_writes__") for leaf in leaves)

    def take(self, place: Counter | Tested) -> None:
        """Take a further variable."""
        self.places.append(place)
        self.marks.append("")
        self.is_read.append(True)
        self.before.append(place.value)

    def take_all(self, found: Sequence[tuple[Attribute | Item, Any]]) -> None:
        """Take what steps assign though their code does not show it. Once: objects that are made in a step have more each
        time."""
        self.is_complete = True
        for place, value in found:
            self.places.append(place)
            self.marks.append("")
            self.is_read.append(True)
            self.before.append(value)

    def count_by(self, counter: Counter) -> None:
        """Take a counter as a further variable."""
        self.take(counter)
        self.counter = counter

    def back(self) -> None:
        """Restore the values of all variables before the loop."""
        for place, value in zip(self.places, self.before, strict=True):
            place.write(value)
        for place, value in zip(self.hidden, self.hidden_before, strict=True):
            place.write(value)

    def more(self, after: Sequence[Any]) -> list[Any] | None:
        """The values before the loop, completed by the form of those after a step; None if there is nothing to complete."""
        pairs = list(zip(self.before, after, strict=True))
        out = [completed(growing(old, new), new) for old, new in pairs]
        return out if any(x is not old for x, (old, _) in zip(out, pairs, strict=True)) else None

    def run(
        self,
        test: Callable[[], Any] | None,
        body: Callable[..., Any],
        elements: Elements | Streamed | Counter | None,
        options: Callable[[], Any] | None,
    ) -> None:
        """Trace, bind and finish the loop."""
        chosen = {} if options is None else options()
        results = None
        wider: dict[int, Dims] = {}
        try:
            while results is None:
                tracing = _Tracing(self, chosen.get("shape_invariants"), wider)
                try:
                    with Deciding(), Journal() as journal, supposing(self.before, self):
                        results = tracing.bind(
                            test, body, elements, chosen.get("maximum_iterations"), journal
                        )
                except Again as again:  # a step determined the shapes of an array's elements
                    if again.owner is not self:
                        raise
                    self.before = self.more(again.value) or self.before
                except _Wider as found:
                    if found.owner is not self:
                        raise
                    wider |= found.dims
                    self.back()
                except _Further as further:
                    if further.owner is not self:
                        raise
                    self.take_all(further.found)
                    self.back()
        finally:
            self.back()
        for place, value in zip(self.places, results, strict=True):
            place.write(value)
        for place in self.hidden:
            place.write(UNBOUND)


class _Tracing:
    """One trace of a loop: its carries, and the results of its body."""

    def __init__(
        self,
        state: _State,
        shape_invariants: list[tuple[TensorShape | Tensor, ...]] | None,
        wider: dict[int, Dims],
    ) -> None:
        self._state = state
        self._parts: list[Parts | None] = []  # None for a variable without a value before the loop
        self._values: list[Any] = []  # the carries
        self._labels: list[str] = []
        for place, value, is_read in zip(state.places, state.before, state.is_read, strict=True):
            if value is UNBOUND or (value is None and not is_read):
                self._parts.append(None)
                continue
            parts = Parts(value)
            self._parts.append(parts)
            for leaf, dynamic in zip(parts.leaves, parts.dynamic, strict=True):
                if dynamic:
                    self._values.append(lift_own(leaf))
                    self._labels.append(place.name)
        self._invariants: set[int] = set()  # the numbers of what has a shape invariant
        self._specs = self._carry_specs(shape_invariants)
        for number, dims in wider.items():
            self._specs[number] = self._specs[number].with_dims(dims)
        self._left: list[Any] = []
        self._late: list[tuple[int, Parts]] = []
        self._rows: dict[int, Row] = {}  # by carry

    def _carry_specs(self, shape_invariants: Any) -> list[TensorSpec]:
        specs = [TensorSpec.of(x.dims, x.dtype) for x in self._values]
        number = 0
        for parts, value in zip(self._parts, self._state.before, strict=True):
            if parts is None:
                continue
            for dims, dynamic in zip(loop_dims(value), parts.dynamic, strict=True):
                if dynamic:
                    specs[number] = specs[number] if dims is ... else specs[number].with_dims(dims)
                    number += 1
        for variable, given in shape_invariants or ():
            if isinstance(variable, Sparse):
                continue  # the number of its values and its sizes may change in any loop, its rank in none
            dims = given.dims if isinstance(given, TensorSpec) else as_dims(given)
            number, found = 0, False
            for parts in self._parts:
                if parts is None:
                    continue
                matches = [leaf is variable for leaf in parts.leaves]
                whole = len(matches) == 1 and matches[0]
                for dynamic, match in zip(parts.dynamic, matches, strict=True):
                    if dynamic:
                        if match or whole:
                            wide = specs[number].with_dims(dims)
                            if not wide.describes(specs[number].dims):
                                raise InvalidArgumentError(
                                    f"set_loop_options: '{self._labels[number]}' has shape {format_dims(specs[number].dims)}, "
                                    f"which its shape invariant {format_dims(dims)} does not allow."
                                )
                            specs[number], found = wide, True
                            self._invariants.add(number)
                        number += 1
            if not found:
                raise InvalidArgumentError(
                    f"set_loop_options: shape_invariants names {variable!r}, which is none of the loop's variables; name "
                    "variables that the loop changes, as (variable, shape)."
                )
        return specs

    def bind(
        self,
        test: Callable[[], Any] | None,
        body: Callable[..., Any],
        elements: Elements | Streamed | Counter | None,
        maximum: Any,
        journal: Journal,
    ) -> list[Any]:
        """The values of the variables after the loop."""
        n = len(self._values)
        walk = elements.walk if isinstance(elements, Elements) else None
        streamed = elements if isinstance(elements, Streamed) else None
        slices = [] if walk is None else walk.specs()

        def run_test(*carry: Tensor) -> list[Any]:
            self._enter(carry)
            if streamed is not None:
                return [streamed.goes_on(None if test is None else lambda: self._defined(test))]
            return [as_predicate("while", self._defined(test))]

        def run_body(*values: Any) -> list[Any]:
            self._enter(values[:n])
            if elements is None:
                self._defined(body)
            else:
                element = elements.element(values[n:])
                self._defined(lambda: body(element))
            left = self._leave()
            self._rows = self._written(values[:n], values[n:])
            return [*left, *[row.value for row in self._rows.values()]]

        test_part = (
            None if test is None and streamed is None else Part("while", run_test, self._specs, "test")
        )
        body_part = Part("while", run_body, [*self._specs, *slices], "body")
        if not self._state.is_complete:
            more = journal.changed(self._state.places, same_shape=True)
            if more:
                raise _Further(self._state, more)
        may_change, specs = getattr(elements, "may_change", False), body_part.graph.output_specs
        self._check_shapes(specs, may_change)  # it may in loops over data sets
        late = specs[n : n + len(late_leaves(self._late))]
        rows = collected(test_part, body_part, self._rows, self._values, [] if walk is None else walk.xs)
        kept = [k for k in range(n) if k not in rows]
        start = [*[self._values[k] for k in kept], *self._first_late(late)]
        limit = elements.length() if isinstance(elements, Counter) else None if walk is None else walk.limit()
        if maximum is not None:
            most = step_limit(maximum)
            limit = most if limit is None else minimum(limit, most)
        steps = walk.length if walk is not None and test is None and maximum is None else None
        looped = bind_loop(
            test_part,
            body_part,
            limit,
            start,
            [] if walk is None else walk.xs,
            [*[self._specs[k] for k in kept], *late, *slices],
            steps=steps,
            unread=len(late),
        )
        carried = Segments(kept=len(kept), late=None)
        through = dict(zip(kept, carried.kept(looped.carry), strict=True))
        self._check_started(looped.steps, limit, None if may_change else walk)
        for k, y in zip(rows, looped.ys, strict=True):
            may_end = test_part is not None or maximum is not None
            through[k] = self._rows[k].joined(self._values[k], y, looped.steps, steps, may_end)
        return self._results([*[through[k] for k in range(n)], *carried.late(looped.carry)], n)

    def _check_started(self, count: Tensor, limit: Tensor | None, walk: Walk | None) -> None:
        """Bind a check that the loop ran a step, if a variable gets its first value there.

        Args:
          count: The number of steps.
          limit: The most steps; None if unknown.
          walk: What a `for` iterates over; None for a data set.
        """
        # A return value is read only if a step returned it, and variables of inner functions when those run. As in TensorFlow,
        # the element of a range is its start after no step.
        counts = walk is not None and len(walk.xs) == 1 and counts_up(walk.xs[0])
        asked = {""} if counts or self._state.counter is not None else {"", "^"}
        names = [self._state.places[k].name for k, _ in self._late if self._state.marks[k] in asked]
        most = None if limit is None or walk is None else known_value(limit)
        if names and (most is None or most < 1):
            message = (
                f"'{names[0]}' has no value: the loop must iterate at least once to initialize {_listed(names)}, and it took no "
                "step. Give it a value before the loop."
            )
            require(greater(count, 0), message, [])

    def _first_late(self, late: Sequence[TensorSpec]) -> list[Tensor]:
        """What outputs that are not carried enter with, and no step reads: zeros, but the start for the element of a range."""
        counter = self._state.counter
        marks = [self._state.marks[k] for k, found in self._late for dynamic in found.dynamic if dynamic]
        return [
            counter.first
            if counter is not None and mark == "^" and spec.dims == () and spec.dtype is counter.first.dtype
            else lift(placeholder(spec))
            for spec, mark in zip(late, marks, strict=True)
        ]

    def _written(self, carry: Sequence[Any], slices: Sequence[Any]) -> dict[int, Row]:
        """The arrays into which the step wrote one element, at a position that it received or behind the last."""
        writes: list[Any] = []
        for parts, value in zip(self._parts, self._left, strict=True):
            if parts is not None:
                found = zip(loop_writes(value), parts.dynamic, strict=True)
                writes += [write for write, dynamic in found if dynamic]
        return rows_of(writes, self._specs, carry, slices)

    def _enter(self, carry: Sequence[Tensor]) -> None:
        """Assign the values at the start of a step to the variables."""
        self._state.back()
        number = 0
        for place, parts in zip(self._state.places, self._parts, strict=True):
            if parts is None:
                continue
            leaves = list(parts.leaves)
            for k, dynamic in enumerate(parts.dynamic):
                if dynamic:
                    leaves[k] = carry[number]
                    number += 1
            if any(parts.dynamic):
                place.write(parts.build(leaves))

    def _defined(self, function: Any) -> Any:
        """Call a function; the error for a variable without a value says that it must be defined before the loop."""
        try:
            return function()
        except NameError as cause:
            found = getattr(cause, "name", None) or _quoted(str(cause))
            missing = [
                place.name
                for place, parts in zip(self._state.places, self._parts, strict=True)
                if parts is None
            ]
            if found in missing:
                raise InvalidArgumentError(
                    f"'{found}' must be defined before the loop: a step reads it, and the loop is one over tensors."
                ) from cause
            raise

    def _leave(self) -> list[Tensor]:
        """The results of a step, carries first."""
        out: list[Any] = []
        late: list[Any] = []
        self._left = [place.read() for place in self._state.places]
        if self._state.more(self._left) is not None:
            raise Again(self._left, self._state)
        self._late = []
        number = 0
        rows = zip(self._state.places, self._parts, self._left, strict=True)
        for k, (place, parts, value) in enumerate(rows):
            if parts is None:
                if value is not UNBOUND and value is not None:
                    found = Parts(value)
                    self._late.append((k, found))
                    late += [
                        lift_own(x) for x, dynamic in zip(found.leaves, found.dynamic, strict=True) if dynamic
                    ]
                continue
            found = self._same(place.name, parts, value)
            for leaf, old, dynamic, dynamic_before in zip(
                found.leaves, parts.leaves, found.dynamic, parts.dynamic, strict=True
            ):
                if not dynamic_before:
                    if leaf is not old and not (isinstance(leaf, str) and leaf == old):
                        raise ArgumentTypeError(
                            f"'{place.name}' is {_shown(old)} before the loop, but {_shown(leaf)} after one iteration; in a loop "
                            "over tensors what changes must be a tensor."
                        )
                    continue
                if not dynamic:
                    raise ArgumentTypeError(
                        f"'{place.name}' is {_shown(leaf)} at the end of the iteration; it must be a tensor."
                    )
                out.append(_same_dtype(place.name, leaf, self._values[number].dtype))
                number += 1
        return [*out, *late]

    def _same(self, name: str, parts: Parts, value: object) -> Parts:
        """The parts of the value after a step, in the structure from before it."""
        if value is UNBOUND:
            raise InvalidArgumentError(
                f"'{name}' has no value at the end of the iteration; it had one before the loop."
            )
        was_none = len(parts.leaves) == 1 and parts.leaves[0] is None  # an array compares element by element
        if value is None and not was_none:
            raise InvalidArgumentError(
                f"'{name}' is None at the end of the iteration. A carry of a loop over tensors must stay a tensor."
            )
        if value is not None and was_none:
            raise InvalidArgumentError(
                f"'{name}' is None before the loop; give it a value of the same kind as later."
            )
        found = Parts(value)
        if not same_structure(found.structure, parts.structure):
            raise StructureError(
                f"'{name}' does not have the same nested structure after one iteration: it is structured as "
                f"{parts.build(['*'] * len(parts.leaves))} before the loop, and as {found.build(['*'] * len(found.leaves))} "
                "after one iteration."
            )
        return found

    def _check_shapes(self, after: Sequence[TensorSpec], may_change: bool) -> None:
        wider: dict[int, Dims] = {}
        for k, (spec, new, label) in enumerate(zip(self._specs, after, self._labels, strict=False)):
            if not spec.describes(new.dims):
                if k in self._invariants:
                    raise InvalidArgumentError(
                        f"'{label}' has shape {format_dims(new.dims)} after one iteration, which does not conform with its "
                        f"shape invariant {format_dims(spec.dims)}; put None in the place of each size that may change."
                    )
                if may_change:
                    wider[k] = common_dims(spec.dims, new.dims)
                    continue
                raise InvalidArgumentError(
                    f"'{label}' has shape {format_dims(spec.dims)} before the loop, but shape {format_dims(new.dims)} after one "
                    "iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants."
                )
        if wider:
            raise _Wider(self._state, wider)

    def _results(self, outputs: Sequence[Tensor], n: int) -> list[Any]:
        results: list[Any] = []
        carried, late = iter(outputs), iter(outputs[n:])
        for parts, old in zip(self._parts, self._state.before, strict=True):
            results.append(old if parts is None or not any(parts.dynamic) else parts.filled(carried))
        for place, parts in self._late:
            results[place] = parts.filled(late)
        return results


def late_leaves(late: Sequence[tuple[int, Parts]]) -> list[Any]:
    """The tensors of variables that are only outputs of a loop."""
    return [
        leaf
        for _, parts in late
        for leaf, dynamic in zip(parts.leaves, parts.dynamic, strict=True)
        if dynamic
    ]


def _same_dtype(name: str, leaf: TensorLike, dtype: DType) -> Tensor:
    try:
        y = lift_own(leaf) if isinstance(leaf, Handle) else lift_like("while", leaf, dtype)
    except DTypeError:
        y = lift(leaf)
    if y.dtype is not dtype:
        raise DTypeError(
            f"'{name}' has dtype {dtype.name} before the loop, but dtype {y.dtype.name} after one iteration; begin with a value "
            f"of {y.dtype.name}, or tf.cast in the step."
        )
    return y


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _quoted(message: str) -> str | None:
    found = re.search(r"'(\w+)'", message)
    return found.group(1) if found else None


def _shown(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 60 else f"a {type(x).__name__}"
