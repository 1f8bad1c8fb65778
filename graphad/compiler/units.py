"""The parts of a partition: sites, the locations of values, and units, which run as one step each.

Reshapes, transposes, broadcasts and slices move no element: `view_of` returns the site of such a view, another walk over the
same storage, if strides can express it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphad.compiler.backend import Backend
from graphad.core.dims import Dim, Relation, Size, run_time_symbols
from graphad.core.errors import InternalError
from graphad.core.references import Reference
from graphad.core.shapes import format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import last_steps
from graphad.kernels import forms
from graphad.kernels.collapse import Loop
from graphad.kernels.record import Struct
from graphad.kernels.sites import Site, row_strides, same_size, same_walk
from graphad.kernels.stages import Nest
from graphad.trace.numbered import run_time_sizes

if TYPE_CHECKING:
    from graphad.compiler.branch import Branch
    from graphad.compiler.endings import Ending
    from graphad.compiler.repeat import Repeat
    from graphad.core.annotations import Array
    from graphad.kernels.sites import Part

LOOP, STAGES, BLOCKS, GEMM, COPY, PARTS = "loop", "stages", "blocks", "gemm", "copy", "parts"
REPEAT, BRANCH, ROUTINE, CALL, HOST, ASSIGN = "repeat", "branch", "routine", "call", "host", "assign"
NATIVE = (LOOP, STAGES, BLOCKS, GEMM, COPY, PARTS, REPEAT, BRANCH, ROUTINE, CALL)


class Unit(Struct):
    """A step of a plan.

    Attributes:
      kind: loop, stages (one kernel of several loops over the same rows), blocks (a chain of loops that run block by block),
      gemm, copy, parts (an array assembled from others), repeat (a loop op whose body is native), branch (a cond whose
        branches are native), routine (of the backend's library, which may have no answer), call
        (of an op's eval, in a round of a native loop), host, or assign (giving a variable its new value).
      nodes: Its nodes in order; none for a copy.
      reads: The values it reads from storage, as sites.
      writes: The values that get storage from it.
      loop: Of a loop, and of stages: the kernel with its numbers.
      stages: Of stages and of blocks: the loops. Of a product: the loop that its ending stands for.
      ending: Of a product: what it does at its end, a `graphad.compiler.endings.Ending`.
      routine: Of a routine: which.
      held: Of blocks: the values that are kept for one block only, by the bytes of a row.
      rows: Of blocks: the number of rows.
      scalars: Of a loop: the constant or `sizes` node of each scalar word; of a repeat: its limit, if that is known.
      repeat: Of a repeat: its native form, a `graphad.compiler.repeat.Repeat`.
      branch: Of a branch: its native form, a `graphad.compiler.branch.Branch`.
      measures: Of a routine: how it finds sizes, an `Op.measures` for each that no unit before it finds.
      why: Of a host step or call of a structured op: why it has no native form.
      parts: Of parts: a list of `graphad.kernels.sites.Part`.
      shape, reduced: Of a loop: its iteration shape, and the reduced axes.
      results: Of a loop: the combine function of each reduction, by value.
      weight: Of a loop: see `cuts`.
      origins: Of a loop: the first node behind each statement of its kernel.
    """

    kind: str
    index: int
    nodes: list[Node] = []
    reads: list[Site] = []
    writes: list[int] = []
    loop: Loop | Nest | None = None
    stages: list[Unit] = []
    ending: Ending | None = None
    routine: forms.Routine | None = None
    held: dict[int, Size] = {}
    rows: Size = 0
    scalars: list[Node | Array] = []
    repeat: Repeat | None = None
    branch: Branch | None = None
    measures: list[tuple[Dim, Size, int, int | Reference | None, int | Reference | None]] = []
    why: str = ""
    parts: Sequence[Part] = ()
    shape: tuple[Size, ...] = ()
    reduced: tuple[int, ...] | None = None
    results: dict[int, str] = {}
    weight: int = 0
    origins: tuple[Node, ...] = ()
    # the numbers for which its walks are known to stay in their storage, or whether they do so for all
    inside: Mapping[str, int] | bool | None = None

    @property
    def partitions(self) -> list[Partition]:
        """The units inside: of the rounds of a loop, or of both branches."""
        form = self.repeat or self.branch
        return [] if form is None else list(form.partitions)


class Partition(Struct):
    """The units of a graph in the order in which they run, and the site of every value."""

    backend: Backend
    graph: Graph
    units: list[Unit]
    sites: dict[int, Site]
    specs: list[TensorSpec]
    outputs: list[int]  # the graph's outputs, with views that are not in C order replaced by copies
    given: dict[int, Node]  # values that depend only on sizes, computed once for each set of sizes
    reads: dict[int, int]  # values of read nodes that are the handle's array: value -> input
    elements: dict[int, Size] = {}  # the number of elements of roots, cached
    # the largest ones of sizes that the run finds, by symbol, in the order of the finds
    rooms: Mapping[str, Size] = {}
    # products of these that the run compares
    relations: list[Relation] = []

    @property
    def loops(self) -> list[Loop | Nest]:
        """The loops of all kernels, including those inside native loops."""
        from graphad.compiler.repeat import with_kernels

        return [unit.loop for unit in with_kernels(self.units) if unit.loop is not None]

    def site(self, value: int) -> Site:
        """The site of a value; one whose sizes only the run knows is only passed on as a whole."""
        site = self.sites.get(value)
        return Site(value, (), ()) if site is None else site

    def is_known(self, site: Site) -> bool:
        """Whether the sizes of what is kept there are known before a run."""
        return is_definite(self.specs[site.root].dims)

    def last_uses(self) -> dict[int, int]:
        """For each root that a unit makes, the position of the last unit that needs it, for outputs that behind the last unit."""
        made = {value for unit in self.units for value in unit.writes}
        steps = last_steps((*unit.writes, *[site.root for site in unit.reads]) for unit in self.units)
        last = {root: at for root, at in steps.items() if root in made}
        for value in self.outputs:
            root = self.site(value).root
            if root in last:
                last[root] = len(self.units)
        return last


def repeat_of(unit: Unit) -> Repeat:
    """The native form of a unit that is a loop op."""
    if unit.repeat is None:
        raise InternalError(f"partition: a {unit.kind} unit is no loop op")
    return unit.repeat


def passed(unit: Unit) -> list[Site]:
    """What a loop op or a cond passes to the graphs that it holds: what it reads, but its limit or predicate."""
    is_known = unit.kind == REPEAT and bool(unit.scalars)  # a limit that is known is not read
    return list(unit.reads if is_known else unit.reads[1:])


def branch_of(unit: Unit) -> Branch:
    """The native form of a unit that is a cond."""
    if unit.branch is None:
        raise InternalError(f"partition: a {unit.kind} unit is no cond")
    return unit.branch


def loop_of(unit: Unit) -> Loop:
    """The kernel of a unit that is one loop, with its numbers."""
    if unit.loop is None or isinstance(unit.loop, Nest):
        raise InternalError(f"partition: a {unit.kind} unit is not one loop")
    return unit.loop


def is_stack(spec: TensorSpec, each: TensorSpec) -> bool:
    """Whether a value is a stack of unknown length of slices like `each`, or one of stacks of several lengths."""
    if spec.dims is None or each.dims is None or len(spec.dims) != len(each.dims) + 1:
        return False
    length, mine, theirs = spec.dims[0], spec.dims[1:], each.dims
    if is_definite(theirs):
        return length is None and is_definite(mine) and all(map(same_size, mine, theirs))
    inner = theirs[0] is None and mine[0] is None and is_definite(theirs[1:]) and is_definite(mine[1:])
    return inner and all(map(same_size, mine[1:], theirs[1:]))


def is_uneven(form: forms.Routine, specs: Sequence[TensorSpec]) -> bool:
    """Whether the words of a routine depend, for small sizes that a run finds, on which of them is the smaller one."""
    if isinstance(form, forms.Convolved):
        return any(run_time_symbols((spec.dims or ())[1:]) for spec in specs)
    if isinstance(form, forms.Factorised | forms.Pivoted):
        m, n = (specs[0].dims or ())[-2:]
        return bool(run_time_symbols((m, n))) and not same_size(m, n)
    return False


def same_shape(a: tuple[Size, ...], b: tuple[Size, ...]) -> bool:
    """Whether two shapes are certainly equal."""
    return len(a) == len(b) and all(map(same_size, a, b))


def view_of(site: Site, form: forms.View, dims: tuple[Size, ...]) -> Site | None:
    """The site of a view of a value, None if strides cannot express it."""
    if form.kind == "reshape":
        if site.is_plain or is_contiguous(site):
            return Site(site.root, dims, row_strides(dims), site.offset)
        strides = _regrouped(site, dims)
        return None if strides is None else Site(site.root, dims, strides, site.offset)
    if form.kind == "transpose":
        rank = len(site.shape)
        perm = (
            [axis % rank for axis in form.argument] if form.argument is not None else list(range(rank))[::-1]
        )
        return Site(site.root, dims, tuple(site.strides[axis] for axis in perm), site.offset)
    if form.kind == "broadcast":
        skip = len(dims) - len(site.shape)
        kept = [
            0 if same_size(mine, 1) and not same_size(want, 1) else step
            for mine, want, step in zip(site.shape, dims[skip:], site.strides, strict=True)
        ]
        return Site(site.root, dims, (*[0] * skip, *kept), site.offset)
    if form.kind == "slice":
        starts, steps, _ = form.argument
        offset = site.offset
        for start, stride in zip(starts, site.strides, strict=True):
            offset = offset + start * stride
        return Site(site.root, dims, tuple(a * b for a, b in zip(site.strides, steps, strict=True)), offset)
    return None


def windows_of(site: Site, form: forms.Windows, dims: tuple[Size, ...]) -> Site:
    """The site of all windows of an image."""
    first, *between, last = site.strides
    places = [step * n for step, n in zip(between, form.strides, strict=True)]
    within = [step * n for step, n in zip(between, form.dilations, strict=True)]
    return Site(site.root, dims, (first, *places, *within, last), site.offset)


def is_contiguous(site: Site) -> bool:
    """Whether it is C order, wherever it starts."""
    return all(map(same_walk, site.shape, site.strides, row_strides(site.shape)))


def _regrouped(site: Site, dims: tuple[Size, ...]) -> tuple[Size, ...] | None:
    """Strides of a reshape that only adds or removes axes of size 1."""
    old = [
        (size, step) for size, step in zip(site.shape, site.strides, strict=True) if not same_size(size, 1)
    ]
    new = [size for size in dims if not same_size(size, 1)]
    if len(old) != len(new) or not all(same_size(a, b) for (a, _), b in zip(old, new, strict=True)):
        return None
    steps = iter(old)
    return tuple(0 if same_size(size, 1) else next(steps)[1] for size in dims)


def has_unit_axis(site: Site) -> bool:
    """Whether one of the last two axes has stride 1 and the other a positive stride."""
    (m, n), (a, b) = site.shape[-2:], site.strides[-2:]
    if any(same_size(step, 0) and not same_size(size, 1) for size, step in ((m, a), (n, b))):
        return False
    if any(
        factor < 0 for step in (a, b) for factor in (step.terms.values() if isinstance(step, Dim) else [step])
    ):
        return False
    return same_size(b, 1) or same_size(a, 1) or same_size(m, 1) or same_size(n, 1)


def turned(site: Site) -> Site:
    shape, strides = site.shape, site.strides
    return Site(
        site.root, (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]), site.offset
    )


def describe(result: Partition) -> str:
    """The units as text: what each computes and which values it reads and writes."""
    lines = []
    for k, unit in enumerate(result.units):
        late: set[int] = set()
        over = block = ""
        if isinstance(unit.loop, Nest):
            over, block = f" over {unit.loop.rows} rows", "rows"
            stages = zip(unit.loop.kernel.stages, unit.stages, strict=True)
            late = {each.index for stage, each in stages if stage.is_last}
        elif unit.kind == BLOCKS:
            over, block = f" over {unit.rows} rows", "rows"
        lines.append(f"{k:3}  {unit.kind}{over}{_described(unit)}")
        if unit.kind in (HOST, CALL):
            line = unit.nodes[0].line
            lines.append(f"       as a NumPy call: {reason_of(result, unit)}{f' ({line})' if line else ''}")
        for part, each in _called(unit):
            lines.append(f"       calls NumPy in each round for{_described(each)} ({reason_of(part, each)})")
        for each in unit.stages:
            what = "ending" if unit.kind == GEMM else "at last" if each.index in late else "stage"
            lines.append(f"       {what}{_described(each)}")
        if unit.kind == GEMM:
            continue
        held = [value for each in unit.stages for value in each.writes if value not in unit.writes]
        if held:
            lines.append(f"       held for a block of {block}: {', '.join(f'%{value}' for value in held)}")
    return "\n".join(lines)


def _called(unit: Unit) -> list[tuple[Partition, Unit]]:
    """The calls of evals inside a loop or a branch, each with the partition that it is in."""
    found = []
    for part in unit.partitions:
        for each in part.units:
            found += [(part, each)] if each.kind == CALL else _called(each)
    return found


def reason_of(part: Partition, unit: Unit) -> str:
    """Why a host step or call has no native code."""
    (node,) = unit.nodes
    op = node.op
    if unit.why:
        return unit.why
    for values, what in ((node.inputs, "an operand"), (node.outputs, "a result")):
        for value in values:
            dims = part.specs[value].dims
            if not is_definite(dims) and not part.specs[value].is_handle:
                return f"{what} has shape {format_dims(dims)}, of which only the run knows all sizes"
    reason = op.why_eval([part.specs[value] for value in node.inputs])
    if reason:
        return reason
    if op.extension or op.transient:
        return "it calls a function of Python"
    if op.effects or any(part.specs[value].is_handle for value in node.inputs):
        return "it acts on variables, prints, checks or draws"
    if op.refuses is not None:
        return "there are operands that it refuses, which a loop cannot"
    dtypes = dict.fromkeys(part.specs[value].dtype.name for value in (*node.inputs, *node.outputs))
    if any(part.specs[value].dtype.is_complex for value in (*node.inputs, *node.outputs)):
        return "native code of this op takes real numbers only"
    names = run_time_sizes(node)
    if names:
        return (
            f"there is no native code for it with {', '.join(sorted(names))}, sizes that only the run finds"
        )
    return f"there is no native code for it, of {' and '.join(dtypes) or 'no operands'}"


def why_in_python(part: Partition, unit: Unit, where: str = "a round") -> str:
    """Why a unit of a round or a branch runs in Python: its op, the user's line, the reason."""
    (node,) = unit.nodes
    line = f" of {node.line}" if node.line else ""
    return f"{where} has {node.op.name}{line}: {reason_of(part, unit)}"


def _described(unit: Unit) -> str:
    names: dict[str, int] = {}
    for node in unit.nodes:
        names[node.op.name] = names.get(node.op.name, 0) + 1
    inner = ", ".join(name if count == 1 else f"{count} {name}" for name, count in names.items())
    reads = dict.fromkeys(f"%{site.root}{'' if site.is_plain else ' (view)'}" for site in unit.reads)
    writes = [f"%{value}" for value in unit.writes]
    shape = f" over {unit.shape}" if unit.kind == LOOP else ""
    reduced = f", axes {unit.reduced} reduced" if unit.reduced else ""
    return f"{shape}{reduced}: {inner or 'copy'}; reads {', '.join(reads) or '-'}; writes {', '.join(writes) or '-'}"
