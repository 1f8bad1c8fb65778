"""Forms: device-neutral descriptions of loops, from an op's lowering to the kernel that is compiled.

A `Map` computes one element, `Reduce` adds reduced axes. A `Kernel` is the result of collapsing loop dimensions and classifying
every operand by its strides: it holds no size, no address and no literal, so equal structures share code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.dtypes import DType
from graphad.core.errors import InternalError
from graphad.kernels import scalars as table
from graphad.kernels.record import Record, digest_of

if TYPE_CHECKING:
    from graphad.core.annotations import Array


SCHEMA = 1  # part of every digest; raise it when the meaning of a form changes

Ref = tuple[str, int]  # ("in", k) | ("tmp", k) | ("scalar", k)
IN, TMP, SCALAR = "in", "tmp", "scalar"
BROADCAST, CONTIGUOUS, STRIDED = "0", "1", "s"
COMBINES = ("add", "mul", "max", "min", "and", "or")


class Statement(Record):
    """One scalar function of `scalars`, applied to earlier values; statement k of a body defines ("tmp", k)."""

    fn: str
    args: tuple[Ref, ...]
    dtype: DType


class Map(Record):
    """outputs[i] = body(inputs[i]) for every element i of the inputs broadcast together."""

    inputs: tuple[DType, ...]
    scalars: tuple[DType, ...]
    body: tuple[Statement, ...]
    outputs: tuple[Ref, ...]

    def dtype_of(self, ref: Ref) -> DType:
        return _dtype_of(self, ref)

    def check(self) -> Map:
        """Returns the map. Raises: InternalError: it is not well formed."""
        _check_body(self)
        for ref in self.outputs:
            self.dtype_of(ref)
        return self


class Reduce(Record):
    """The single output of `source`, combined along `axes` of the broadcast shape."""

    source: Map
    combine: str
    axes: tuple[int, ...]
    keepdims: bool = False


class View(Record):
    """The same elements under another shape or strides: kind "reshape", "transpose", "broadcast", "slice", ... and
    its argument."""

    kind: str
    argument: Any = None


class Windows(Record):
    """All windows of an image [batch, ..., channels] as a view [batch, places..., window..., channels]: elements of neighbouring
    places may be the same. Steps between places, and between the elements of a window."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]


class Contract(Record):
    """A matrix product, batched over leading axes."""

    transpose_a: bool = False
    transpose_b: bool = False


# Sizes of matrices for which LAPACK has one thread: several would take as long, and wait for each other on a busy machine.
ON_ONE_THREAD = range(32, 512)


class Library(Record):
    """A routine of a backend's library, by LAPACK's name for it; where there is none, the op's own eval. With `adjoint` its first
    operand is conjugated and transposed; with `part`, "lower" or "upper", the rest of it is then taken to be 0.
    """

    name: str
    adjoint: bool = False
    part: str = ""


class Indexed(Record):
    """Slices at positions that are data, in int32 or int64. There are `lead` batch axes; the positions lie along `axis`, or along
    as many axes from there as the last axis of the indices has coordinates. A position outside is an error; a negative one is so
    too ("error"), counts from the end ("wrap"), or stands for no slice ("none"), for which a take has 0.

    way: "take" reads slices of the first operand; "add" adds those of the first operand to zeros, one by one; "max", "min"
    and "mul" combine them, where a slice of the result for which there are none is the other end of the dtype, or 1; "put" writes
    those of a third operand into a copy of the first, of which the last counts; "put_max" and "put_min" combine them with
    what is there. The indices are the second.
    given: Which inputs of the op the operands are, in this order.
    """

    way: str
    lead: int
    axis: int
    has_coordinates: bool = False
    negative: str = "error"
    given: tuple[int, ...] = (0, 1)


class Placed(Record):
    """A part of an array at a place that is data.

    way: "take" gives the part of the first operand, "put" writes the second operand into a copy of the first, "spread" writes the
    first into zeros. Numbers follow these operands, int32 or int64.
    bounds: For each axis of the array (kind, from, to, step): "fixed" with numbers, "index" for one index, "slice" with bounds as
    Python's, which are numbers, None or references to the numbers as in `core/references.py`; there is no answer unless the slice
    has the part's size. "new": an axis of the part alone.
    """

    way: str
    bounds: tuple[Any, ...]

    @property
    def own(self) -> int:
        """How many operands there are before the numbers."""
        return 2 if self.way == "put" else 1


class Bounded(Record):
    """The bounds of a block along all axes, of sizes, first indices and counts: first indices and the ones behind the last. There
    is no answer where the block is not inside."""


class Running(Record):
    """Along `axis` the sum ("add") or product ("mul") of all elements up to each one, itself included unless `exclusive`, from
    the end if `reverse`; one after the other."""

    way: str
    axis: int
    exclusive: bool
    reverse: bool


class Recurrent(Record):
    """y[k] = b[k] + a[k] y[k - 1] along `axis` for operands a and b, at first b[0]; from the end if `backwards`, and with the
    factor that belongs to the element before if `shifted`."""

    axis: int
    backwards: bool
    shifted: bool


class BandSolved(Record):
    """The solution of systems with few diagonals, as the op "banded_solve" says. There is no answer for a singular matrix."""

    below: int
    above: int


class Tridiagonal(Record):
    """The eigenvalues, ascending, of symmetric matrices; the operands are the main diagonals and those beside them. There is no
    answer for numbers that are not finite."""


class Band(Record):
    """A band of the last two axes, `lower` diagonals below the main one and `upper` above; negative: all. The rest is 0."""

    lower: int
    upper: int


class Ordered(Record):
    """Places of elements along `axis`.

    way: "order" is a stable sort in which NaN is the largest, of which the first places are kept, as many as the result has;
    "extreme" is the first extreme, for which NaN counts as the other end. descending: The largest comes first, or is found.
    dtype: That of the places.
    """

    way: str
    axis: int
    descending: bool
    dtype: DType


class Searched(Record):
    """Positions, of `dtype`, of the second operand's rows in the sorted ones of the first; behind equal elements if `right`."""

    right: bool
    dtype: DType


class Rising(Record):
    """Rows of integers as they are; there is no answer unless they are not negative, and none is less than the one before it."""


class Rolled(Record):
    """The first operand shifted along `axis`, round and round, by the one integer that the second holds."""

    axis: int


class Drawn(Record):
    """Random numbers of `dtype`, drawn with the keys [..., 2] that are the first operand; the others are scalar limits. kind:
    "bits", "integers", "normal" or "uniform", as in `ops/random/philox.py`."""

    kind: str
    dtype: DType


class Factorised(Record):
    """What `numpy.linalg` gives of stacks of matrices, by the routine of LAPACK behind it: "getri" the inverse, "getrf" the
    determinant, "getrf_log" its sign and logarithm, "geqrf" orthogonal and triangular factors, "syevd" and "gesdd" eigenvalues
    and singular values with their vectors, or without: "syevd_values" and "gesdd_values". The results are in the order of the
    op's outputs, with `full` square where that makes a difference. "gesv" is the solution of complex systems, of which the second
    operand holds the right-hand sides; with `adjoint` the matrices are conjugated and transposed.
    """

    name: str
    full: bool = False
    adjoint: bool = False


class Pivoted(Record):
    """The lower and the upper factor of small matrices, in one matrix each, and the order of rows, by LAPACK's "getrf"."""


class Convolved(Record):
    """A convolution, or a pool of maxima or means, in the windows of an op, which says where they are (`places`, `pads`).

    way: "values" for images and filters, "images" and "filters" for the gradients, of cotangents and filters and of images and
    cotangents; "maxima" of images, "at_maxima" what is given of each maximum where it is in the images, zeros elsewhere; "means"
    of images, "of_means" what is given of each mean in equal parts where its window is.
    """

    way: str
    windows: Any

    def parts(self, shapes: Sequence[Sequence[int]]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """The shapes of images, filters and what convolutions give, of those of operands and result; of no pool."""
        image, kernel, given = _CONVOLVED[self.way]
        return shapes[image], shapes[kernel], shapes[given]

    def operations(self, shapes: Sequence[Sequence[int]]) -> float:
        """How many numbers it multiplies or compares."""
        if self.way in _CONVOLVED:
            _, kernel, given = self.parts(shapes)
            return float(math.prod(given) * math.prod(kernel[:-1]))
        return float(math.prod(shapes[1]) * math.prod(self.windows.window))


_CONVOLVED = {"values": (0, 1, 2), "images": (2, 1, 0), "filters": (0, 2, 1)}


class Applied(Record):
    """A function of complex numbers, elementwise, operands broadcast: a ufunc of NumPy, of an operand with itself if it takes two
    and there is one, or "real", "imag" and "complex", which joins two parts, "cast" from real or complex numbers, "select" by a
    condition. dtype: That of the results."""

    fn: Any
    dtype: DType


class Accumulated(Record):
    """Complex numbers added or multiplied ("mul") along axes."""

    way: str
    axes: tuple[int, ...]


class Multiplied(Record):
    """A product of stacks of matrices, as `Contract`, of dtypes that are not among the backend's products."""

    transpose_a: bool = False
    transpose_b: bool = False


class Transformed(Record):
    """A Fourier transform along the last `rank` axes, as the op "fft", "rfft" or "irfft" says (`ops/signal/fourier.py`)."""

    way: str
    rank: int
    inverse: bool = False
    scaled: bool = False
    adjoint: bool = False


class Holds(Record):
    """A check: there is no answer unless the first operand, bool, is true everywhere. It has no result."""


class Counted(Record):
    """A range of a known size: of operands start, limit and delta, integers. There is no answer for another number of members."""


class Masked(Record):
    """What a bool mask of the second operand takes from axis `axis` on: "take" gives those slices of the first operand, "spread"
    puts the slices of the first operand where the mask is true, among zeros. There is no answer for another number of slices.
    """

    way: str
    axis: int


Routine = (
    Library
    | Masked
    | Indexed
    | Placed
    | Bounded
    | Running
    | Recurrent
    | BandSolved
    | Tridiagonal
    | Band
    | Ordered
    | Searched
    | Rising
    | Rolled
    | Drawn
    | Factorised
    | Pivoted
    | Convolved
    | Applied
    | Accumulated
    | Multiplied
    | Transformed
    | Holds
    | Counted
)
Form = Map | Reduce | View | Windows | Contract | Routine


class Access(Record):
    """How an operand is walked: per loop dimension "0" (stays), "1" (next element, innermost only) or "s" (stride
    at run time)."""

    dtype: DType
    strides: tuple[str, ...]


class Store(Record):
    """A store of a value. With `combine`, the loop dimensions in which `access` is "0" are reduced."""

    ref: Ref
    access: Access
    combine: str | None = None


class Kernel(Record):
    """A loop nest over `rank` dimensions.

    Dimensions come in the order kept, reduced, kept: the last kept one is there only if it is the innermost.
    All reducing stores reduce the same dimensions. `inplace` pairs (input, output) share one buffer and the same
    strides. With `contracts` a product and the sum that uses it may be rounded once; without it, maps have NumPy's bits
    wherever NumPy rounds correctly.
    """

    rank: int
    inputs: tuple[Access, ...]
    scalars: tuple[DType, ...]
    body: tuple[Statement, ...]
    outputs: tuple[Store, ...]
    inplace: tuple[tuple[int, int], ...] = ()
    contracts: bool = False

    def dtype_of(self, ref: Ref) -> DType:
        return _dtype_of(self, ref)

    @property
    def reduced(self) -> tuple[int, ...]:
        """The loop dimensions that are reduced; none for a map."""
        for store in self.outputs:
            if store.combine is not None:
                return tuple(d for d in range(self.rank) if store.access.strides[d] == BROADCAST)
        return ()

    @property
    def split(self) -> int:
        """The loop dimension that the words lo and hi divide.

        The outermost one, unless that one is reduced while the innermost is kept: then the innermost.
        """
        reduced = self.reduced
        return self.rank - 1 if 0 in reduced and self.rank - 1 not in reduced else 0

    @property
    def is_full_reduction(self) -> bool:
        """Whether every dimension is reduced: the result is then combined from partial results of fixed chunks."""
        return len(self.reduced) == self.rank

    def text(self) -> str:
        """The canonical text: equal kernels, and only they, print the same, in every process."""
        lines = [f"kernel {SCHEMA} rank {self.rank}"]
        lines += [f"in {access.dtype.name} {','.join(access.strides)}" for access in self.inputs]
        lines += [f"scalar {dtype.name}" for dtype in self.scalars]
        lines += [f"{s.dtype.name} {s.fn} {' '.join(map(_ref_text, s.args))}" for s in self.body]
        lines += [
            f"out {_ref_text(s.ref)} {s.access.dtype.name} {','.join(s.access.strides)} {s.combine or '='}"
            for s in self.outputs
        ]
        lines += [f"inplace {i} {o}" for i, o in self.inplace]
        lines += ["contracts"] if self.contracts else []
        return "\n".join(lines) + "\n"

    def digest(self) -> str:
        """sha256 of the canonical text."""
        return digest_of(self)

    def check(self) -> Kernel:
        """Returns the kernel. Raises: InternalError: it is not well formed."""
        _check_body(self)
        if self.rank < 1:
            raise InternalError(
                f"kernel: rank {self.rank}; a kernel has at least one loop dimension\n{self.text()}"
            )
        for access in (*self.inputs, *(store.access for store in self.outputs)):
            inner = access.strides[-1] if len(access.strides) == self.rank else ""
            if inner not in ("0", "1", "s") or any(s not in ("0", "s") for s in access.strides[:-1]):
                raise InternalError(
                    f"kernel: strides {access.strides} for {self.rank} loop dimensions\n{self.text()}"
                )
        reducing = [store for store in self.outputs if store.combine is not None]
        dims = {tuple(s == BROADCAST for s in store.access.strides) for store in reducing}
        if len(dims) > 1 or (reducing and not self.reduced):
            raise InternalError(
                f"kernel: the reducing outputs do not reduce the same dimensions\n{self.text()}"
            )
        if self.reduced and self.reduced != tuple(range(self.reduced[0], self.reduced[-1] + 1)):
            raise InternalError(
                f"kernel: the reduced dimensions {self.reduced} are not adjacent\n{self.text()}"
            )
        if self.reduced and self.reduced[-1] < self.rank - 2:
            raise InternalError(
                f"kernel: several kept dimensions inside the reduced ones {self.reduced}\n{self.text()}"
            )
        for store in self.outputs:
            if store.combine is None and BROADCAST in store.access.strides:
                raise InternalError(f"kernel: a plain store meets one element many times\n{self.text()}")
            if store.combine is not None and store.combine not in COMBINES:
                raise InternalError(
                    f"kernel: {store.combine!r} is not a combine function; there are {', '.join(COMBINES)}"
                )
            if self.dtype_of(store.ref) is not store.access.dtype:
                raise InternalError(
                    f"kernel: {_ref_text(store.ref)} is stored as {store.access.dtype.name}\n{self.text()}"
                )
        for i, o in self.inplace:
            if self.inputs[i] != self.outputs[o].access or self.outputs[o].combine is not None:
                raise InternalError(f"kernel: input {i} and output {o} cannot share a buffer\n{self.text()}")
        return self


def call(fn: str, inputs: Iterable[DType], result: DType | None = None) -> Map:
    """The map that applies one scalar function to its inputs."""
    dtypes = tuple(inputs)
    dtype = table.result_dtype(fn, dtypes) if result is None else result
    args = tuple((IN, k) for k in range(len(dtypes)))
    return Map(dtypes, (), (Statement(fn, args, dtype),), ((TMP, 0),))


def identity_map(dtype: DType) -> Map:
    """The map whose output is its input."""
    return Map((dtype,), (), (), ((IN, 0),))


def cast_map(source: DType, target: DType) -> Map:
    """The map that converts one dtype to another."""
    return identity_map(source) if source is target else call("cast", (source,), target)


def scalar_word(value: Array | int, dtype: DType) -> int:
    """The word that carries a scalar, a signed 64-bit integer: below its bit pattern, above the sign of an integer, so that a
    word grows as its number does, else zeros."""
    import numpy as np

    data = np.asarray(value).astype(dtype.numpy)
    if data.itemsize > 8:
        raise InternalError(f"kernel: a scalar of dtype {dtype.name} does not fit a word")
    if data.dtype.kind == "i":
        return int(data.reshape(-1)[0])
    return int.from_bytes(data.tobytes().ljust(8, b"\0"), "little", signed=True)


def _ref_text(ref: Ref) -> str:
    return f"{ref[0]}{ref[1]}"


def _dtype_of(holder: Map | Kernel, ref: Ref) -> DType:
    kind, k = ref
    if kind == TMP:
        return holder.body[k].dtype
    if kind == SCALAR:
        return holder.scalars[k]
    entry = holder.inputs[k]
    return entry.dtype if isinstance(entry, Access) else entry


def _check_body(holder: Map | Kernel) -> None:
    for position, statement in enumerate(holder.body):
        for kind, k in statement.args:
            limit = {IN: len(holder.inputs), TMP: position, SCALAR: len(holder.scalars)}.get(kind, 0)
            if not 0 <= k < limit:
                raise InternalError(f"kernel: statement {position} reads {kind}{k}, which is not there")
        dtypes = tuple(_dtype_of(holder, ref) for ref in statement.args)
        expected = table.result_dtype(statement.fn, dtypes, statement.dtype)
        if expected is not statement.dtype:
            raise InternalError(
                f"kernel: {statement.fn} of {', '.join(d.name for d in dtypes)} is {expected.name}, "
                f"not {statement.dtype.name}"
            )
