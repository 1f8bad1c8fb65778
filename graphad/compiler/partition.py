"""A graph of forms cut into units: loops that become one kernel each, matrix products, copies, and steps on the host.

Elementwise nodes over one iteration shape join the loop of their producers, a reduction joins it as a further result; nothing
that reads a reduction's result can be inside the same loop. Reshapes, transposes, broadcasts and slices move no element: they
are other strides over the same storage, copied only where strides cannot say it. Units are then put in an order that respects
every dependency and the order of effects, native units as long as there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.compiler.backend import Backend, backend_of
from graphad.compiler.chain import Chain
from graphad.compiler.cuts import WEIGHT_LIMIT, Cuts
from graphad.compiler.order import in_order
from graphad.compiler.pipeline import DEFAULT, Options
from graphad.compiler.raising import is_moved, may_fail
from graphad.compiler.stack import stacked
from graphad.compiler.units import (
    ASSIGN,
    COPY,
    GEMM,
    HOST,
    LOOP,
    PARTS,
    REPEAT,
    Partition,
    Unit,
    has_unit_axis,
    is_contiguous,
    op_writes,
    same_shape,
    turned,
    view_of,
)
from graphad.core.dims import UndecidedSize, product
from graphad.core.errors import InternalError
from graphad.core.shapes import is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node
from graphad.graph.text import print_graph
from graphad.kernels import forms
from graphad.kernels.collapse import Operand, collapse
from graphad.kernels.fuse import Composer
from graphad.kernels.sites import Site, row_strides, same_size
from graphad.ops.array.shape import SizeVector
from graphad.ops.elementwise import Elementwise

SIBLINGS = 8  # loops over the same shape that are looked at for merging
STREAMS = 6  # arrays that loops merged for sharing some may read: what one loop reads is all there at once, soon in no cache
_UNKNOWN = -1  # a handle that a host step may have given another array


class _Partitioner:
    """Collects the units of one graph."""

    def __init__(self, graph: Graph, options: Options, backend: Backend) -> None:
        self.graph, self.options, self.backend = graph, options, backend
        self.specs: list[TensorSpec] = list(graph.specs)
        self.sites: dict[int, Site] = {}
        self.units: list[Unit] = []
        self.parent: list[int] = []
        self.maker: dict[int, int] = {}
        self.forms: dict[int, Any] = {}
        self.inside: dict[int, int] = {}  # value -> unit in whose loop it is computed
        self.sizes: dict[int, Any] = {}  # scalar values that are sizes
        self.constants = dict(enumerate(graph.constants, len(graph.inputs)))
        self.chain = Chain(graph)
        self.reads: dict[int, int] = {}
        self.given: dict[int, Node] = {}
        self.assigned: dict[int, int] = {}  # handle input -> value it was last given
        self.lowered: dict[Any, Any] = {}
        self.cuts = Cuts(graph)
        self.kernels: dict[forms.Kernel, forms.Kernel] = {}
        self.simple_handles = not any(node.op.structured and node.op.effects for node in graph.nodes)

    def run(self) -> Partition:
        for value in range(self.graph.first_node_value):
            spec = self.specs[value]
            if is_definite(spec.dims):
                self._own(value)
        for node in self.graph.nodes:
            self._node(node)
        self.outputs = [self._plain(value) for value in self.graph.outputs]
        self._merge_siblings()
        self._mark_stores()
        for unit in self.units:
            if unit.kind == LOOP and self._find(unit.index) == unit.index:
                self._compose(unit)
        units = self._ordered()
        if self.backend.has_stages:
            units = stacked(units, {self._site(value).root for value in self.outputs}, self.specs)
        found = (self.graph, units, self.sites, self.specs, self.outputs, self.given, self.reads)
        return Partition(self.backend, *found)

    # units and their dependencies

    def _find(self, index: int) -> int:
        while self.parent[index] != index:
            self.parent[index] = self.parent[self.parent[index]]
            index = self.parent[index]
        return index

    def _unit(self, kind: str, values: Sequence[int]) -> Unit:
        unit = Unit(kind, len(self.units))
        unit.bits = 1 << unit.index
        self.units.append(unit)
        self.parent.append(unit.index)
        self._depend(unit, values)
        return unit

    def _depend(self, unit: Unit, values: Sequence[int]) -> None:
        for value in values:
            site = self.sites.get(value)
            made = self.maker.get(value if site is None else site.root)
            if made is None:
                continue
            source = self.units[self._find(made)]
            if source is not unit:
                source.is_read = True
                unit.above |= source.above | source.bits

    def _own(self, value: int) -> None:
        """Give a value storage of its own."""
        dims = self.specs[value].dims
        assert dims is not None
        self.sites[value] = Site(value, dims, row_strides(dims))

    def _number(self, value: int) -> Any | None:
        """The scalar a value is, where that is a word of the block rather than memory."""
        site = self.sites.get(value)
        root = value if site is None else site.root
        if root in self.sizes:
            return self.sizes[root]
        data = self.constants.get(root)
        if data is None or self.specs[root].dtype.itemsize > 8:
            return None
        return data if not getattr(data, "shape", ()) else data.reshape(-1)[0] if data.size == 1 else None

    def _constant(self, value: int) -> Any | None:
        """The number that a value is, whatever the sizes are."""
        found = self._number(value)
        return None if isinstance(found, Node) else found

    # one node

    def _node(self, node: Node) -> None:
        op = node.op
        if op.effects:
            self._effect(node)
            return
        if isinstance(op, SizeVector) and op.scalar and op.dtype.itemsize <= 8:
            self.sizes[node.start] = node
        if self._moved(node):
            return
        if not node.inputs and not op.multiple and not op.structured and is_definite(node.specs[0].dims):
            self.given[node.start] = node
            self._own(node.start)
            return
        if op.repeats and self._repeat(node):
            return
        form = self._lower(node)
        if isinstance(form, forms.View) and self._view(node, form):
            return
        if isinstance(form, forms.Map | forms.Reduce) and self._join(node, form):
            return
        if isinstance(form, forms.Contract) and self._contract(node, form):
            return
        unit = self._host(node)
        self._behind(unit, self.chain.add_raising(unit.index))

    def _lower(self, node: Node) -> Any:
        op = node.op
        if op.structured or op.multiple or not node.inputs or may_fail(self.graph, node):
            return None
        specs = [self.specs[value] for value in node.inputs]
        if any(value not in self.sites for value in node.inputs) or not is_definite(node.specs[0].dims):
            return None
        if isinstance(op, Elementwise):
            key = (op, *[spec.dtype for spec in specs])
            if key not in self.lowered:
                self.lowered[key] = self.backend.supported(op.lower(*specs))
            return self.lowered[key]
        try:
            return self.backend.supported(op.lower(*specs))
        except UndecidedSize:
            return None

    def _effect(self, node: Node) -> None:
        op = node.op
        if op.loads and self.simple_handles and node.inputs[0] < len(self.graph.inputs):
            handle, value = node.inputs[0], node.start
            given = self.assigned.get(handle)
            if given is not None and given in self.sites and given != _UNKNOWN:
                self.sites[value] = self.sites[given]
                return
            if given is None and is_definite(node.specs[0].dims):
                self.sites[value] = self.sites[handle]
                self.reads[value] = handle
                return
        if op.stores and self.simple_handles and node.inputs[0] < len(self.graph.inputs):
            value = self._plain(node.inputs[1])
            self.assigned[node.inputs[0]] = value
            unit = self._unit(ASSIGN, (value,))
            unit.nodes, unit.reads = [node], [self._site(value)]
            if value in self.sites:
                self.sites[node.start] = self.sites[value]
            else:
                self.maker[node.start] = unit.index
            self._behind(unit, self.chain.add_effect(unit.index))
            return
        for value in node.inputs:
            if value < len(self.graph.inputs) and self.specs[value].is_handle and op_writes(node):
                self.assigned[value] = _UNKNOWN
        unit = self._host(node)
        self._behind(unit, self.chain.add_effect(unit.index))

    def _behind(self, unit: Unit, others: Sequence[int]) -> None:
        for index in others:
            before = self.units[self._find(index)]
            unit.above |= before.above | before.bits
            before.is_read = True

    def _host(self, node: Node) -> Unit:
        unit = self._unit(HOST, node.inputs)
        unit.nodes.append(node)
        unit.reads = [self._site(value) for value in node.inputs]
        for value in node.outputs:
            self.maker[value] = unit.index
            unit.writes.append(value)
            if is_definite(self.specs[value].dims):
                self._own(value)
        return unit

    def _site(self, value: int) -> Site:
        site = self.sites.get(value)
        # A value of unknown shape is only handed on whole.
        return Site(value, (), ()) if site is None else site

    # views

    def _view(self, node: Node, form: forms.View) -> bool:
        value = node.inputs[0]
        found = view_of(self.sites[value], form, self.specs[node.start].dims or ())
        if found is None:
            copied = self._plain(value)
            found = view_of(self.sites[copied], form, self.specs[node.start].dims or ())
            if found is None:
                return False
        self.sites[node.start] = found
        return True

    def _plain(self, value: int) -> int:
        """The value itself, or a copy of it in C order where it is a view that is not."""
        site = self.sites.get(value)
        if site is None or (
            site.is_plain and same_size(product(site.shape), product(self.specs[site.root].dims or ()))
        ):
            return value
        copy = len(self.specs)
        self.specs.append(TensorSpec.of(site.shape, self.specs[value].dtype))
        unit = self._unit(COPY, (value,))
        unit.reads, unit.writes = [site], [copy]
        self.maker[copy] = unit.index
        self._own(copy)
        return copy

    # loop ops

    def _repeat(self, node: Node) -> bool:
        from graphad.compiler.repeat import native_form

        op: Any = node.op
        values = [*node.inputs]
        if any(value not in self.sites for value in values) or any(
            not is_definite(spec.dims) for spec in node.specs
        ):
            return False
        if op.n_ys and not op.n_xs and (op.steps is None or op.test is not None):
            return False  # how many slices there will be is not known
        repeat = native_form(op, self.options, self.backend)
        if repeat is None:
            return False
        places = op.inputs
        limit, carry = values[0], places.carries(values)
        rest = [
            value if is_contiguous(self.sites[value]) else self._plain(value)
            for value in (*places.invariants(values), *places.xs(values))
        ]
        known = self._number(limit)
        unit = self._unit(REPEAT, [*([] if known is not None else [limit]), *carry, *rest])
        unit.nodes, unit.repeat = [node], repeat
        unit.scalars = [] if known is None else [known]
        unit.reads = [
            *([] if known is not None else [self.sites[limit]]),
            *[self.sites[value] for value in (*carry, *rest)],
        ]
        for value in node.outputs:
            unit.writes.append(value)
            self.maker[value] = unit.index
            self._own(value)
        self._behind(unit, self.chain.add_raising(unit.index))
        return True

    # ops that only move elements

    def _moved(self, node: Node) -> bool:
        if any(value not in self.sites for value in node.inputs) or not all(
            is_definite(spec.dims) for spec in node.specs
        ):
            return False
        sites = [self.sites[value] for value in node.inputs]
        op: Any = node.op
        if op.refers:
            return False
        views = op.views(sites, node.specs)
        if views is not None:
            self.sites.update(zip(node.outputs, views, strict=True))
            return True
        if not is_moved(op) or node.specs[0].dtype.itemsize not in self.backend.copied:
            return False
        shape = ranked(node.specs[0].dims)
        whole = Site(node.start, shape, row_strides(shape))
        parts = op.parts_of(whole, sites, lambda i: self._constant(node.inputs[i]))
        if parts is None:
            return False
        reads = [part.source for part in parts if isinstance(part.source, Site)]
        unit = self._unit(PARTS, [site.root for site in reads])
        unit.nodes, unit.parts, unit.reads, unit.writes = [node], parts, reads, [node.start]
        self.maker[node.start] = unit.index
        self._own(node.start)
        return True

    # matrix products

    def _contract(self, node: Node, form: forms.Contract) -> bool:
        if node.specs[0].dtype.name not in self.backend.product_dtypes:
            return False
        operands = []
        for value, is_turned in zip(node.inputs, (form.transpose_a, form.transpose_b), strict=True):
            if len(self.sites[value].shape) < 2:
                return False
            if not has_unit_axis(self.sites[value]):
                value = self._plain(value)
            operands.append(turned(self.sites[value]) if is_turned else self.sites[value])
        unit = self._unit(GEMM, [site.root for site in operands])
        unit.nodes, unit.reads, unit.writes = [node], operands, [node.start]
        self.maker[node.start] = unit.index
        self._own(node.start)
        return True

    # loops

    def _join(self, node: Node, form: Any) -> bool:
        is_reduce = isinstance(form, forms.Reduce)
        body = form.source if is_reduce else form
        if is_reduce:
            shape = self.sites[node.inputs[0]].shape
            if len(node.inputs) != 1:
                return False
            # Axes of size 1 make no difference: left out, so that reductions over the same elements share a loop.
            axes = sorted({axis % len(shape) for axis in form.axes}) if shape else []
            reduced = tuple(axis for axis in axes if not same_size(shape[axis], 1))
            if not reduced:
                is_reduce, reduced = False, None  # type: ignore[assignment]
        else:
            shape, reduced = node.specs[0].dims, None  # type: ignore[assignment]
        weight = self.cuts.weight(body)
        unit = self._target(node, shape, reduced, weight)
        if unit is None:
            unit = self._unit(LOOP, ())
            unit.shape = shape
        self._depend(unit, [value for value in node.inputs if self._number(value) is None])
        unit.nodes.append(node)
        unit.weight += weight
        if reduced is not None:
            unit.reduced = reduced
        value = node.start
        self.forms[value] = form
        self.maker[value] = unit.index
        self._own(value)
        if is_reduce:
            unit.results[value] = form.combine
        else:
            self.inside[value] = unit.index
        return True

    def _target(self, node: Node, shape: Any, reduced: tuple[int, ...] | None, weight: int) -> Unit | None:
        """The loop that a node may join, with all others that it can be merged with."""
        direct: dict[int, None] = {}
        blocked: set[int] = set()
        others: dict[int, None] = {}
        for value in node.inputs:
            if self._number(value) is not None:
                continue
            site = self.sites[value]
            made = self.maker.get(site.root)
            if made is None:
                continue
            index = self._find(made)
            inner = self.inside.get(value)
            if (
                inner is not None
                and self._find(inner) == index
                and same_shape(self.units[index].shape, shape)
            ):
                direct[index] = None
            else:
                blocked.add(index)
                others[index] = None
        chosen: Unit | None = None
        for index in sorted(direct, reverse=True):
            unit = self.units[index]
            if index in blocked or not self._fits(unit, reduced):
                continue
            if self.cuts.ends(node.start, unit.weight, weight):
                # What comes later must not fill it up in another way each time.
                unit.is_full = self.cuts.is_long
                continue
            if chosen is None:
                if self._may_depend(unit, [*others, *[i for i in direct if i != index]]):
                    chosen = unit
            elif self._mergeable(chosen, unit):
                if self.cuts.ends(node.start, unit.weight, chosen.weight + weight):
                    unit.is_full = self.cuts.is_long
                else:
                    chosen = self._merge(chosen, unit)
        if chosen is None:
            return None
        # Merging may have brought in what a further input must not depend on.
        rest = [i for i in (*others, *direct) if self._find(i) != chosen.index]
        return chosen if self._may_depend(chosen, rest) else None

    def _fits(self, unit: Unit, reduced: tuple[int, ...] | None, weight: int = 0) -> bool:
        if unit.is_full or unit.weight + weight > WEIGHT_LIMIT:
            return False
        return reduced is None or unit.reduced is None or unit.reduced == reduced

    def _may_depend(self, unit: Unit, others: Sequence[int]) -> bool:
        """Whether the unit may come to depend on these without a cycle, now or by what already depends on it."""
        for index in others:
            other = self.units[self._find(index)]
            if other is unit:
                continue
            if other.above & unit.bits:
                return False
            if unit.is_read and (other.bits | other.above) & ~unit.above:
                return False
        return True

    def _mergeable(self, a: Unit, b: Unit) -> bool:
        if a.above & b.bits or b.above & a.bits or not self._fits(a, b.reduced):
            return False
        return not ((a.is_read and b.above & ~a.above) or (b.is_read and a.above & ~b.above))

    def _merge(self, a: Unit, b: Unit) -> Unit:
        keep, gone = (a, b) if a.index < b.index else (b, a)
        self.parent[gone.index] = keep.index
        keep.nodes = sorted((*keep.nodes, *gone.nodes), key=lambda node: node.start)
        keep.above |= gone.above
        keep.bits |= gone.bits
        keep.is_read |= gone.is_read
        keep.weight += gone.weight
        keep.reduced = keep.reduced or gone.reduced
        keep.results |= gone.results
        return keep

    def _merge_siblings(self) -> None:
        """Merge loops over one shape that read the same storage and do not depend on each other: one pass instead of two."""
        live = [unit for unit in self.units if self._find(unit.index) == unit.index]
        # What a unit depends on may have grown since its readers were made: find it anew, in an order that respects it.
        sources = {unit.index: {other.index for other in self._sources(unit)} for unit in live}
        for unit in self._sorted(live, sources):
            for index in sources[unit.index]:
                other = self.units[index]
                unit.above |= other.above | other.bits
        rows: dict[Any, list[Unit]] = {}
        for unit in sorted((u for u in live if u.kind == LOOP), key=lambda u: u.nodes[0].start):
            key = tuple([str(size) for size in unit.shape])
            row = rows.setdefault(key, [])
            reads = self._reads(unit)
            for earlier in reversed(row[-SIBLINGS:]):
                if unit.above & earlier.bits or earlier.above & unit.bits:
                    continue
                others = self._reads(earlier)
                if not reads & others or len(reads | others) > max(STREAMS, len(reads), len(others)):
                    continue
                if not self._fits(earlier, unit.reduced, unit.weight):
                    continue
                merged = self._merge(earlier, unit)
                row[row.index(earlier)] = merged
                for other in live:
                    if other.above & merged.bits:
                        other.above |= merged.above | merged.bits
                break
            else:
                row.append(unit)

    def _sources(self, unit: Unit) -> list[Unit]:
        found = {self._find(i) for i in self.chain.links.get(unit.index, ())}
        for root in self._reads(unit):
            made = self.maker.get(root)
            if made is not None:
                found.add(self._find(made))
        found.discard(unit.index)
        return [self.units[i] for i in found]

    def _reads(self, unit: Unit) -> set[int]:
        """The roots that a unit reads from storage."""
        if unit.kind != LOOP:
            return {site.root for site in unit.reads}
        found = set()
        for node in unit.nodes:
            for value in node.inputs:
                inner = self.inside.get(value)
                if (inner is None or self._find(inner) != unit.index) and self._number(value) is None:
                    found.add(self.sites[value].root)
        return found

    def _mark_stores(self) -> None:
        """Find the values that loops must store: those read outside of their loop."""
        self.stored: set[int] = set()
        for value in self.outputs:
            self.stored.add(self._site(value).root)
        for unit in self.units:
            if unit.kind != LOOP:
                self.stored.update(site.root for site in unit.reads)
            elif self._find(unit.index) == unit.index:
                for node in unit.nodes:
                    for value in node.inputs:
                        inner = self.inside.get(value)
                        is_outside = inner is None or self._find(inner) != unit.index
                        if is_outside and self._number(value) is None:
                            self.stored.add(self.sites[value].root)

    def _compose(self, unit: Unit) -> None:
        composer = Composer()
        values: dict[int, Any] = {}
        scalars: dict[int, Any] = {}
        for node in unit.nodes:
            args = []
            for value in node.inputs:
                inner = self.inside.get(value)
                number = None
                if inner is not None and self._find(inner) == unit.index and value in values:
                    args.append(values[value])
                    continue
                number = self._number(value)
                dtype = self.specs[value].dtype
                if number is not None:
                    scalars[value] = number
                    args.append(composer.scalar(value, dtype))
                else:
                    args.append(composer.input(value, dtype))
            form = self.forms[node.start]
            (values[node.start],) = composer.apply(
                form.source if isinstance(form, forms.Reduce) else form, args
            )
        unit.writes = [node.start for node in unit.nodes if node.start in self.stored]
        composed = composer.finish([values[value] for value in unit.writes])
        unit.reads = [self.sites[value] for value in composed.inputs]  # type: ignore[index]
        unit.scalars = [scalars[value] for value in composed.scalars]  # type: ignore[index]
        operands = [Operand(site.shape, site.strides) for site in unit.reads]
        combines = [unit.results.get(value) for value in unit.writes]
        loop = collapse(
            composed.map, unit.shape, operands, unit.reduced or (), combines, contracts=self.options.relaxed
        )
        # One object for equal kernels, so that finding it again is quick.
        kernel = self.kernels.setdefault(loop.kernel, loop.kernel)
        unit.loop = loop if kernel is loop.kernel else loop.replaced(kernel=kernel)

    # the order of the units

    def _ordered(self) -> list[Unit]:
        live = [unit for unit in self.units if self._find(unit.index) == unit.index]
        live = [unit for unit in live if unit.kind != LOOP or unit.writes]
        waits: dict[int, set[int]] = {}
        for unit in live:
            needs = {self._find(i) for i in self.chain.links.get(unit.index, ())}
            for site in unit.reads:
                made = self.maker.get(site.root)
                if made is not None:
                    needs.add(self._find(made))
            needs.discard(unit.index)
            waits[unit.index] = needs
        return self._sorted(live, waits)

    def _sorted(self, units: Sequence[Unit], needs: dict[int, set[int]]) -> list[Unit]:
        found = in_order(units, needs)
        if found is not None:
            return found
        raise InternalError(f"partition: the units need each other in a circle\n{print_graph(self.graph)}")


def partition(graph: Graph, options: Options = DEFAULT, backend: Backend | None = None) -> Partition:
    """The units of a specialised, optimised graph, for a backend; None: the CPU's."""
    return _Partitioner(graph, options, backend or backend_of("cpu")).run()
