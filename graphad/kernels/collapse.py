"""From shapes to a kernel: drop dimensions of size 1, order the others, merge neighbours, classify every operand by its
strides.

Sizes are numbers or `Dim`s (one symbol per size class), so the same function serves a plan made once per size
class and a call with its concrete sizes. The result is a `Kernel`, which holds no size, and the sizes and strides
that fill its argument block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from graphad.core.dims import Size, evaluate
from graphad.core.dtypes import DType
from graphad.core.errors import InternalError
from graphad.kernels.block import block_layout, chunk_rows, workspace_bytes
from graphad.kernels.forms import BROADCAST, CONTIGUOUS, STRIDED, Access, Kernel, Map, Store
from graphad.kernels.record import Record
from graphad.kernels.sites import ZERO, row_strides, same_size


class Operand(Record):
    """The shape an operand has, broadcast to the loop's from the right, and its strides in elements; None: C order."""

    shape: tuple[Size, ...]
    strides: tuple[Size, ...] | None = None


class Loop(Record):
    """A kernel and the numbers of one use of it.

    Attributes:
      kernel: What is compiled.
      extents: Sizes of the loop dimensions.
      strides: (operand, dim) -> stride in elements, for strides that have a word; operands as in `block_layout`.
    """

    kernel: Kernel
    extents: tuple[Size, ...]
    strides: Mapping[tuple[int, int], Size]

    def words(self, sizes: Mapping[str, int] | None = None, scalars: Sequence[int] = ()) -> list[int]:
        """The argument block with sizes, strides, the full range and scalar patterns in place; pointers are 0.

        Args:
          sizes: The number behind each symbol; not needed when all sizes are numbers.
          scalars: One word each, from `forms.scalar_word`.
        """
        layout = block_layout(self.kernel)
        numbers = sizes or {}
        block = [0] * layout.count
        extents = self.numbers(sizes)
        if 0 in extents and any(n == 0 for d, n in enumerate(extents) if d not in self.kernel.reduced):
            extents = (0,) * len(extents)  # nothing is written, so that no round is needed to find that out
        for word, number in zip(layout.extents, extents, strict=True):
            block[word] = number
        for place, word in layout.strides.items():
            block[word] = evaluate(self.strides[place], numbers)
        for word, pattern in zip(layout.scalars, scalars, strict=True):
            block[word] = pattern
        block[layout.hi] = block[layout.extents[layout.split]]
        return block

    def numbers(self, sizes: Mapping[str, int] | None = None) -> tuple[int, ...]:
        """The extents as numbers."""
        return tuple(evaluate(extent, sizes or {}) for extent in self.extents)

    def elements(self, sizes: Mapping[str, int] | None = None) -> int:
        """How many elements the loop visits."""
        total = 1
        for extent in self.numbers(sizes):
            total *= extent
        return total

    def walks(self) -> list[tuple[list[Size], list[Size], int]]:
        """For each operand the extents and strides of its walk, in elements, and the bytes of an element."""
        layout = block_layout(self.kernel)
        sizes = dict(zip(layout.extents, self.extents, strict=True))
        sizes |= {word: self.strides[place] for place, word in layout.strides.items()}
        return [(*walk.along(sizes), walk.itemsize) for walk in layout.walks]

    def chunk(self, sizes: Mapping[str, int] | None = None) -> int:
        """The number that lo and hi must be multiples of; see `chunk_rows`."""
        return chunk_rows(self.kernel, self.numbers(sizes))

    def workspace(self, sizes: Mapping[str, int] | None = None) -> int:
        """Bytes of workspace that the kernel needs."""
        return workspace_bytes(self.kernel, self.numbers(sizes))


def collapse(
    form: Map,
    shape: Sequence[Size],
    operands: Sequence[Operand | Sequence[Size]],
    reduced: Sequence[int] = (),
    combines: Sequence[str | None] | None = None,
    outputs: Sequence[Operand | None] | None = None,
    inplace: Sequence[tuple[int, int]] = (),
    contracts: bool = False,
) -> Loop:
    """The kernel of a map over `shape`, some of whose outputs are reduced.

    Args:
      form: The map; several outputs are several stores.
      shape: The full iteration shape: the operands' shapes broadcast together.
      operands: Shape, or `Operand` with strides, of each input of the map.
      reduced: Axes of `shape` that the outputs with a combine function lose.
      combines: Per output, None for a plain store or the combine function; default None for all.
      outputs: Per output the strides over `shape` (over the kept axes when combined); None, the default, is C order.
      inplace: (input, output) pairs that share a buffer; dropped where their strides differ.
      contracts: See `Kernel`.
    """
    rank = len(shape)
    combines = [None] * len(form.outputs) if combines is None else list(combines)
    gone = set(reduced) if any(combines) else set[int]()
    if len(operands) != len(form.inputs) or len(combines) != len(form.outputs):
        raise InternalError(
            f"collapse: {len(operands)} operands, {len(combines)} outputs for a map of "
            f"{len(form.inputs)} and {len(form.outputs)}"
        )
    walks = [
        _walk(operand if isinstance(operand, Operand) else Operand(tuple(operand)), shape)
        for operand in operands
    ]
    for k, combine in enumerate(combines):
        given = outputs[k] if outputs is not None else None
        walks.append(_walk_of_output(given, shape, gone if combine is not None else set()))

    groups = [
        _Group(shape[d], d in gone, [walk[d] for walk in walks])
        for d in range(rank)
        if not same_size(shape[d], 1)
    ]
    if not any(group.gone for group in groups):  # one element for each result: nothing to combine
        combines = [None] * len(combines)
    groups = _merge(_order(_merge(groups), len(operands), all(combines)))
    extents = [group.extent for group in groups]
    steps = [[group.steps[k] for group in groups] for k in range(len(walks))]
    if not groups:  # one element: the same kernel as for a vector
        extents, steps = [1], [[1] for _ in walks]
    dtypes = [*form.inputs, *(form.dtype_of(ref) for ref in form.outputs)]
    accesses = [_access(dtype, step) for dtype, step in zip(dtypes, steps, strict=True)]
    count = len(form.inputs)
    stores = tuple(
        Store(ref, access, combine)
        for ref, access, combine in zip(form.outputs, accesses[count:], combines, strict=True)
    )

    def walk_alike(i: int, o: int) -> bool:
        """Whether input i and output o visit the same elements of a buffer in the same order."""
        is_same = accesses[i] == accesses[count + o] and combines[o] is None
        return is_same and all(map(same_size, steps[i], steps[count + o]))

    shared = tuple(sorted((i, o) for i, o in inplace if walk_alike(i, o)))
    kernel = Kernel(
        len(extents), tuple(accesses[:count]), form.scalars, form.body, stores, shared, contracts
    ).check()
    strides = {place: steps[place[0]][place[1]] for place in block_layout(kernel).strides}
    return Loop(kernel, tuple(extents), strides)


def _walk_of_output(given: Operand | None, shape: Sequence[Size], gone: Set[int]) -> list[Size]:
    """The strides of an output along the axes of `shape`, 0 along those that it loses; C order where none are given."""
    axes = [d for d in range(len(shape)) if d not in gone]
    if given is None or given.strides is None:
        steps: Sequence[Size] = row_strides(tuple(shape[d] for d in axes))
    else:
        steps = given.strides
    walk: list[Size] = [0] * len(shape)
    for d, step in zip(axes, steps, strict=True):
        walk[d] = step
    return walk


def _walk(operand: Operand, shape: Sequence[Size]) -> list[Size]:
    """Strides of an operand over the full shape, 0 where it is broadcast."""
    steps = row_strides(operand.shape) if operand.strides is None else operand.strides
    skip = len(shape) - len(operand.shape)
    if skip < 0 or len(steps) != len(operand.shape):
        raise InternalError(
            f"collapse: an operand of shape {operand.shape} and strides {steps} in a loop of shape {tuple(shape)}"
        )
    # An axis without elements may have any stride, even 0, without being a broadcast.
    usual = row_strides(operand.shape)
    return [0] * skip + [
        0 if same_size(size, 1) else usual[d] if same_size(size, 0) else steps[d]
        for d, size in enumerate(operand.shape)
    ]


class _Group(Record):
    """Neighbouring axes walked as one: their size, whether they are reduced, and each operand's stride."""

    extent: Size
    gone: bool
    steps: list[Size]


def _order(groups: list[_Group], inputs: int, is_free: bool) -> list[_Group]:
    """Loop order, outermost first: kept, reduced, kept; innermost the dimension in which most inputs have stride 1."""
    if not any(group.gone for group in groups):
        return groups
    inner = len(groups) - 1
    if is_free:  # only reduced results are stored: the inputs alone decide
        inner = max(
            range(len(groups)),
            key=lambda g: (sum(same_size(step, 1) for step in groups[g].steps[:inputs]), g),
        )
    rest = [group for g, group in enumerate(groups) if g != inner]
    return [
        *(group for group in rest if not group.gone),
        *(group for group in rest if group.gone),
        groups[inner],
    ]


def _merge(groups: Sequence[_Group]) -> list[_Group]:
    """Merge neighbours that every operand walks like one dimension."""
    merged: list[_Group] = []
    for group in groups:
        extent = ZERO if same_size(group.extent, 0) else group.extent
        if (
            merged
            and merged[-1].gone == group.gone
            and all(
                same_size(outer, inner * extent)
                for outer, inner in zip(merged[-1].steps, group.steps, strict=True)
            )
        ):
            merged[-1] = _Group(merged[-1].extent * group.extent, group.gone, group.steps)
        else:
            merged.append(group)
    return merged


def _access(dtype: DType, steps: Sequence[Size]) -> Access:
    classes = [BROADCAST if same_size(step, 0) else STRIDED for step in steps]
    if same_size(steps[-1], 1):
        classes[-1] = CONTIGUOUS
    return Access(dtype, tuple(classes))
