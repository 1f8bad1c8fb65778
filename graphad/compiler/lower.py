"""The first step of a partition: every node of a graph becomes a unit, and every value gets its storage.

Reshapes, transposes, broadcasts and slices move no element: they are other strides over the same storage, copied only where
strides cannot express them. Elementwise nodes and reductions are loops of one node each, with the data that the next step
needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from graphad.compiler.backend import Backend
from graphad.compiler.chain import Chain
from graphad.compiler.cuts import Cuts
from graphad.compiler.pipeline import Options
from graphad.compiler.raising import is_moved, may_fail
from graphad.compiler.units import (
    ASSIGN,
    BRANCH,
    CALL,
    COPY,
    GEMM,
    HOST,
    LOOP,
    PARTS,
    REPEAT,
    ROUTINE,
    Unit,
    has_unit_axis,
    is_contiguous,
    is_stack,
    is_uneven,
    turned,
    view_of,
    windows_of,
)
from graphad.core.dims import UndecidedSize, product, run_time_symbols
from graphad.core.errors import UnavailableError
from graphad.core.op import IO, Op
from graphad.core.shapes import format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import acts, gives_result, only_speaks, written_by
from graphad.kernels import forms
from graphad.kernels.sites import Site, row_strides, same_size
from graphad.ops.control.kinds import is_branch, is_loop
from graphad.trace.numbered import run_time_sizes

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop

_UNKNOWN = -1  # a handle to which a host step may have assigned another array


class Lowered:
    """A graph as units of one node each, in order.

    Attributes:
      units: The units, in order of `index`.
      waits: For each unit, the values that must exist before it runs.
      chain: The ordering constraints of effects.
      specs, sites: By value; copies follow the graph's own values.
      maker: Which unit makes a root.
      forms: The forms of nodes in loops, by value.
      inner: Values that other nodes of the same loop may use directly.
      outputs: The graph's outputs, with views that are not in C order replaced by copies.
      given, reads: See `Partition`.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        backend: Backend,
        has_routines: bool = False,
        has_calls: bool = False,
    ) -> None:
        self.graph, self.options, self.backend = graph, options, backend
        self._has_routines, self._has_calls = has_routines, has_calls
        self.specs: list[TensorSpec] = list(graph.specs)
        self.sites: dict[int, Site] = {}
        self.units: list[Unit] = []
        self.waits: list[Sequence[int]] = []
        self.maker: dict[int, int] = {}
        self.forms: dict[int, forms.Map | forms.Reduce] = {}
        self.inner: set[int] = set()
        self.chain = Chain(graph, has_routines)
        self.reads: dict[int, int] = {}
        self.given: dict[int, Node] = {}
        self.cuts = Cuts(graph)
        self.measured: set[str] = set()  # the symbols of sizes that its runs find
        self._sizes: dict[int, Node] = {}  # scalar values that are sizes
        self._constants = dict(enumerate(graph.constants, len(graph.inputs)))
        self._assigned: dict[int, int] = {}  # handle input -> value it was last given
        self._forms: dict[tuple[object, ...], forms.Form | None] = {}
        self._simple_handles = not any(
            node.op.structured and node.op.effects and not only_speaks(node.op) for node in graph.nodes
        )
        for value in range(graph.first_node_value):
            if is_definite(self.specs[value].dims):
                self._own(value)
        for node in graph.nodes:
            self._node(node)
        self.outputs = [self._result(value) for value in graph.outputs]
        self._wait_for_sizes()

    def _wait_for_sizes(self) -> None:
        """Let units come after those that find the sizes of what they read and write."""
        if not self.measured:
            return
        finders = {name: unit for unit in self.units for each in unit.measures for name in each[0].symbols}
        comparing = [unit for unit in self.units if unit.nodes and unit.nodes[0].op.relates]
        used: dict[int, frozenset[str]] = {}
        for unit in self.units:
            sites = [*unit.reads, *[self.site(value) for value in unit.writes]]
            dims = [size for site in sites for size in (*site.shape, *site.strides, site.offset)]
            names = run_time_symbols([*dims, *(unit.shape or ())])
            for node in unit.nodes:
                names |= run_time_sizes(node)
            links = [finders[name].index for name in sorted(names) if finders.get(name, unit) is not unit]
            used[unit.index] = names
            self._link(unit, links)
        before = self._before(comparing)
        for unit in self.units:
            # Memory that a row accesses may be as large as sizes are said to be only.
            if unit.index not in before:
                names = used[unit.index]
                self._link(unit, [each.index for each in comparing if names & each.nodes[0].op.relates])

    def _link(self, unit: Unit, links: Sequence[int]) -> None:
        if links:
            self.chain.links[unit.index] = [*self.chain.links.get(unit.index, ()), *links]

    def _before(self, units: Sequence[Unit]) -> set[int]:
        """These units, which compare sizes, and those that must run before them, by index."""
        found: set[int] = set()
        ahead = [unit.index for unit in units]
        while ahead:
            index = ahead.pop()
            if index in found:
                continue
            found.add(index)
            roots = [self.site(value).root for value in self.waits[index]]
            ahead += [self.maker[root] for root in roots if root in self.maker]
            ahead += self.chain.links.get(index, ())
        compared = [unit.nodes[0].op.relates for unit in units]
        for value in [value for index in found for value in self.units[index].writes]:
            names = run_time_symbols(self.specs[value].dims or ())
            if len(names) > 1 and any(len(names & each) > 1 for each in compared):
                raise UnavailableError(
                    f"lower: a value of shape {format_dims(self.specs[value].dims)} comes before what compares its sizes"
                )
        return found

    def _unit(self, kind: str, values: Sequence[int]) -> Unit:
        unit = Unit(kind, len(self.units))
        self.units.append(unit)
        self.waits.append(values)
        return unit

    def _own(self, value: int) -> None:
        """Give a value storage of its own."""
        dims = self.specs[value].dims
        assert dims is not None
        self.sites[value] = Site(value, dims, row_strides(dims))

    def number(self, value: int) -> Node | Array | None:
        """The scalar behind a value that is a word of the block rather than memory."""
        site = self.sites.get(value)
        root = value if site is None else site.root
        if root in self._sizes:
            return self._sizes[root]
        data = self._constants.get(root)
        if data is None or self.specs[root].dtype.itemsize > 8:
            return None
        return data if not getattr(data, "shape", ()) else data.reshape(-1)[0] if data.size == 1 else None

    def _constant(self, value: int) -> Array | None:
        """The number of a value that does not depend on sizes."""
        found = self.number(value)
        return None if isinstance(found, Node) else found

    # one node

    def _node(self, node: Node) -> None:
        op = node.op
        if op.effects and not self._speaks(node):
            self._effect(node)
            return
        is_found = bool(run_time_sizes(node))
        if op.as_size is not None and node.specs[0].dtype.itemsize <= 8 and not is_found:
            self._sizes[node.start] = node
        if self._depends_on_sizes(node):
            self.given[node.start] = self._sizes[node.start] = node
            self._own(node.start)
            return
        if self._moved(node):
            return
        if (
            not node.inputs
            and not op.multiple
            and not op.structured
            and is_definite(node.specs[0].dims)
            and not is_found
        ):
            self.given[node.start] = node
            self._own(node.start)
            return
        why = None
        if is_loop(node):
            why = self._repeat(node)
        elif is_branch(node) and self.backend.has_branches:
            why = self._branch(node)
        if why == "":
            return
        form = self._lower(node)
        if isinstance(form, forms.View) and self._view(node, form):
            return
        if isinstance(form, forms.Windows):
            self.sites[node.start] = windows_of(self.sites[node.inputs[0]], form, node.specs[0].dims or ())
            return
        if isinstance(form, forms.Map | forms.Reduce) and self._loop(node, form):
            return
        if isinstance(form, forms.Contract):
            if self._contract(node, form):
                return
            form = forms.Multiplied(form.transpose_a, form.transpose_b)
        if isinstance(form, forms.Routine) and self._routine(node, form):
            return
        if op.prints:
            self.chain.add_printing(self._call(node).index)
            return
        if op.effects:  # a loop or a cond with checks or prints that has no native form
            self._effect(node)
            self.units[-1].why = why or ""
            return
        unit = self._host(node) if not self._has_calls or not self._can_call(node) else self._call(node)
        unit.why = why or ""
        self.chain.add_raising(unit.index)

    def _speaks(self, node: Node) -> bool:
        """Whether a node's only effects are that it may raise and print, and it can be part of a run that is made again then.

        It is an effect still, a step in Python, where it turns out to have no native form.
        """
        if not self._has_routines or not only_speaks(node.op):
            return False
        if node.op.structured:
            return True
        if node.op.prints:
            return self._has_calls and self._can_call(node)
        form = self._lower(node)
        return isinstance(form, forms.Holds) and self.backend.has_routine(form, ["bool"], [0])

    def _can_call(self, node: Node) -> bool:
        """Whether its eval can be called with arrays at known places."""
        is_plain = not node.op.transient and not node.op.extension
        return (
            is_plain
            and all(value in self.sites for value in node.inputs)
            and all(
                is_definite(self.specs[value].dims)
                and not self.specs[value].is_handle
                and self.specs[value].dtype.itemsize in self.backend.copied
                and not self.specs[value].dtype.numpy.hasobject
                for value in (*node.inputs, *node.outputs)
            )
        )

    def _call(self, node: Node) -> Unit:
        values = [v if is_contiguous(self.sites[v]) else self._plain(v) for v in node.inputs]
        unit = self._unit(CALL, [self.sites[v].root for v in values])
        unit.nodes, unit.reads, unit.writes = [node], [self.sites[v] for v in values], list(node.outputs)
        for value in node.outputs:
            self.maker[value] = unit.index
            self._own(value)
        return unit

    def _depends_on_sizes(self, node: Node) -> bool:
        """Whether it is a number made of numbers that depend on sizes, such as the weight of a mean. A plan is bound to it."""
        op = node.op
        if not node.inputs or op.structured or op.multiple or op.extension or op.transient or op.refers:
            return False
        if node.specs[0].dims != () or node.specs[0].dtype.itemsize > 8 or may_fail(self.graph, node):
            return False
        known = [value in self._sizes or value in self._constants for value in node.inputs]
        return all(known) and all(self.specs[value].dims == () for value in node.inputs)

    def _lower(self, node: Node) -> forms.Form | None:
        op = node.op
        if op.structured or not node.inputs or may_fail(self.graph, node):
            return None
        specs = [self.specs[value] for value in node.inputs]
        if any(value not in self.sites for value in node.inputs):
            return None
        if not all(is_definite(spec.dims) for spec in node.specs):
            return None
        if op.lowers_alike:
            key = (op, *[spec.dtype for spec in specs])
            if key not in self._forms:
                self._forms[key] = self._supported(op.lower(*specs))
            return self._forms[key]
        try:
            return self._supported(op.lower(*specs))
        except UndecidedSize:
            return None

    def _supported(self, form: forms.Form | None) -> forms.Form | None:
        return None if form is None else self.backend.supported(form)

    def _effect(self, node: Node) -> None:
        op = node.op
        if op.loads and self._simple_handles and node.inputs[0] < len(self.graph.inputs):
            handle, value = node.inputs[0], node.start
            given = self._assigned.get(handle)
            if given is not None and given in self.sites and given != _UNKNOWN:
                self.sites[value] = self.sites[given]
                return
            if given is None and is_definite(node.specs[0].dims):
                self.sites[value] = self.sites[handle]
                self.reads[value] = handle
                return
        if op.stores and self._simple_handles and node.inputs[0] < len(self.graph.inputs):
            value = self._plain(node.inputs[1])
            self._assigned[node.inputs[0]] = value
            unit = self._unit(ASSIGN, (value,))
            unit.nodes, unit.reads = [node], [self.site(value)]
            if value in self.sites:
                self.sites[node.start] = self.sites[value]
            else:
                self.maker[node.start] = unit.index
            self.chain.add_effect(unit.index)
            return
        for value in written_by(self.graph, node):
            self._assigned[value] = _UNKNOWN
        unit = self._host(node)
        self.chain.add_effect(unit.index, _only_checks(op), bool(op.effects & IO))

    def _host(self, node: Node) -> Unit:
        unit = self._unit(HOST, node.inputs)
        unit.nodes.append(node)
        unit.reads = [self.site(value) for value in node.inputs]
        for value in node.outputs:
            self.maker[value] = unit.index
            unit.writes.append(value)
            if is_definite(self.specs[value].dims):
                self._own(value)
        return unit

    def site(self, value: int) -> Site:
        site = self.sites.get(value)
        # A value of unknown shape is only passed on as a whole.
        return Site(value, (), ()) if site is None else site

    # views

    def _view(self, node: Node, form: forms.View) -> bool:
        value = node.inputs[0]
        dims = self.specs[node.start].dims or ()
        found = view_of(self.sites[value], form, dims)
        if found is None:
            found = view_of(self.sites[self._plain(value)], form, dims)
            if found is None:
                return False
        self.sites[node.start] = found
        return True

    def _plain(self, value: int) -> int:
        """The value itself, or a copy in C order if it is a view in another order."""
        site = self.sites.get(value)
        if site is None or (
            site.is_plain and same_size(product(site.shape), product(self.specs[site.root].dims or ()))
        ):
            return value
        return self._copied(value, site)

    def _copied(self, value: int, site: Site) -> int:
        copy = len(self.specs)
        self.specs.append(TensorSpec.of(site.shape, self.specs[value].dtype))
        unit = self._unit(COPY, (value,))
        unit.reads, unit.writes = [site], [copy]
        self.maker[copy] = unit.index
        self._own(copy)
        return copy

    def _result(self, value: int) -> int:
        """An output, copied where it is a view that is not in C order, or one of a size that the run finds of an array that has
        none."""
        site = self.sites.get(value)
        if site is None or not run_time_symbols(self.specs[value].dims or ()):
            return self._plain(value)
        is_own = bool(run_time_symbols(self.specs[site.root].dims or ()))
        return self._plain(value) if is_own else self._copied(value, site)

    # loop ops

    def _repeat(self, node: Node[Loop]) -> str:
        """Make the unit of a loop op. Returns: why that is not possible."""
        from graphad.compiler.repeat import native_form

        op = node.op
        values = [*node.inputs]
        why = self._unknown(node, self._stacks(node))
        if why:
            return why
        kind = self.specs[values[0]].dtype
        if kind.name not in ("int32", "int64") and self.number(values[0]) is None:
            return f"its limit is a tensor of {kind.name}"
        has_routines = self._has_routines and self.backend.has_routines_in_loops
        slices = [*op.operands.xs(op.body.inputs), *op.results.ys(op.body.output_specs)]
        if run_time_symbols([size for spec in slices for size in spec.dims or ()]):
            return "it walks along slices of a size that only the run knows"
        repeat = native_form(op, self.options, self.backend, has_routines)
        if isinstance(repeat, str):
            return repeat
        places = op.inputs
        limit, carry = values[0], places.carries(values)
        rest = [
            value if value not in self.sites or is_contiguous(self.sites[value]) else self._plain(value)
            for value in (*places.invariants(values), *places.xs(values))
        ]
        known = self.number(limit)
        unit = self._unit(REPEAT, [*([] if known is not None else [limit]), *carry, *rest])
        unit.nodes, unit.repeat = [node], repeat
        unit.scalars = [] if known is None else [known]
        unit.reads = [
            *([] if known is not None else [self.sites[limit]]),
            *[self.site(value) for value in (*carry, *rest)],
        ]
        for value in node.outputs:
            unit.writes.append(value)
            self.maker[value] = unit.index
            if is_definite(self.specs[value].dims):
                self._own(value)
        self._ordered(unit, node.op)
        return ""

    def _branch(self, node: Node[Cond]) -> str:
        """Make the unit of a cond. Returns: why that is not possible."""
        from graphad.compiler.branch import native_branch

        why = self._unknown(node)
        if why:
            return why
        branch = native_branch(node, self.options, self.backend, self._has_routines, self._has_calls)
        if isinstance(branch, str):
            return branch
        values = [v if is_contiguous(self.sites[v]) else self._plain(v) for v in node.inputs]
        unit = self._unit(BRANCH, values)
        unit.nodes, unit.branch = [node], branch
        unit.reads, unit.writes = [self.sites[v] for v in values], list(node.outputs)
        for value in node.outputs:
            self.maker[value] = unit.index
            self._own(value)
        self._ordered(unit, node.op)
        return ""

    def _ordered(self, unit: Unit, op: Op) -> None:
        """The order of a loop or cond that has a native form among what checks and prints."""
        if acts(op):
            self.chain.add_printing(unit.index)
        else:
            self.chain.add_answering(unit.index, bool(op.effects))

    def _stacks(self, node: Node[Loop]) -> set[int]:
        """The stacks of a loop op, of a length that only the run knows, which a native loop may walk along or collect."""
        op = node.op
        if not self.backend.has_growing:
            return set()
        slices = list(zip(op.inputs.xs(node.inputs), op.operands.xs(op.body.inputs), strict=True))
        ys = zip(op.outputs.ys(node.outputs), op.results.ys(op.body.output_specs), strict=True)
        uniform = op.n_ys if op.uniform < 0 else op.uniform
        slices += [(y, each) for k, (y, each) in enumerate(ys) if k >= uniform or is_definite(each.dims)]
        return {value for value, each in slices if is_stack(self.specs[value], each)}

    def _unknown(self, node: Node, stacks: Collection[int] = ()) -> str:
        """Which value of a node has no place of known size; `stacks` have places that the run finds."""
        for value in (*node.inputs, *node.outputs):
            if value in stacks:
                continue
            spec = self.specs[value]
            if not is_definite(spec.dims) or (value < node.start and value not in self.sites):
                what = "an operand" if value < node.start else "a result"
                return f"{what} has shape {format_dims(spec.dims)}, of which only the run knows all sizes"
        return ""

    # routines

    def _routine(self, node: Node, form: forms.Routine) -> bool:
        given = (
            form.given
            if isinstance(form, forms.Indexed)
            else (0,)
            if isinstance(form, forms.Holds)
            else range(len(node.inputs))
        )
        values = [node.inputs[k] for k in given]
        ranks = [len(self.sites[value].shape) for value in values]
        dtypes = [self.specs[value].dtype.name for value in values]
        if not self._has_routines and not gives_result(self.graph, node):
            return False
        if not self.backend.has_routine(form, dtypes, ranks) or is_uneven(
            form, [self.specs[v] for v in values]
        ):
            return False
        if not isinstance(form, forms.Library):  # LAPACK's have operands with strides
            values = [v if is_contiguous(self.sites[v]) else self._plain(v) for v in values]
        unit = self._unit(ROUTINE, [self.sites[v].root for v in values])
        unit.nodes, unit.reads, unit.writes = [node], [self.sites[v] for v in values], list(node.outputs)
        unit.routine = form
        for each in node.op.measures([self.specs[value] for value in node.inputs]):
            if not each[0].symbols <= self.measured:
                self.measured |= each[0].symbols
                unit.measures.append(each)
        for value in node.outputs:
            self.maker[value] = unit.index
            self._own(value)
        self.chain.add_answering(unit.index, bool(node.op.effects))
        return True

    # ops that only move elements

    def _moved(self, node: Node) -> bool:
        if any(value not in self.sites for value in node.inputs) or not all(
            is_definite(spec.dims) for spec in node.specs
        ):
            return False
        sites = [self.sites[value] for value in node.inputs]
        op = node.op
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

    def _loop(self, node: Node, form: forms.Map | forms.Reduce) -> bool:
        body, reduced = form.source if isinstance(form, forms.Reduce) else form, None
        shape = ranked(node.specs[0].dims)
        if isinstance(form, forms.Reduce):
            shape = self.sites[node.inputs[0]].shape
            if len(node.inputs) != 1:
                return False
            # Axes of size 1 are left out, so that reductions over the same elements share a loop.
            axes = sorted({axis % len(shape) for axis in form.axes}) if shape else []
            reduced = tuple(axis for axis in axes if not same_size(shape[axis], 1)) or None
        unit = self._unit(LOOP, [value for value in node.inputs if self.number(value) is None])
        unit.nodes, unit.shape, unit.reduced, unit.weight = [node], shape, reduced, self.cuts.weight(body)
        value = node.start
        self.forms[value] = form
        self.maker[value] = unit.index
        self._own(value)
        if isinstance(form, forms.Reduce) and reduced is not None:
            unit.results[value] = form.combine
        else:
            self.inner.add(value)
        return True


def _only_checks(op: Op) -> bool:
    """Whether the only effect of an op, and of what is inside of it, is that it may raise."""
    return only_speaks(op) and not acts(op)
