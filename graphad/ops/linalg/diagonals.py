"""Diagonals of matrices, one or a range of them packed into rows: `diag`, `diag_part`, `set_diag`.

A range of diagonals is a tensor [..., number of diagonals, longest length], the highest diagonal first; `align` says at
which end the shorter rows are padded. Everything is composed of the ops for one diagonal.
"""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dims import Dim
from graphad.core.dtypes import DType, bool_
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import format_dims, is_definite, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.create import fill
from graphad.ops.array.join import concat, stack
from graphad.ops.array.padding import pad
from graphad.ops.array.shape import shape
from graphad.ops.array.slice import getitem
from graphad.ops.array.support import static_array
from graphad.ops.linalg.diagonal import DiagonalPut, DiagPart, SetDiag
from graphad.ops.linalg.held import is_operator
from graphad.ops.math.compare import equal
from graphad.ops.math.reduce import reduce_max
from graphad.ops.rules import require_rank
from graphad.ops.state.effects import SLOT, require

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def _range(op: str, k: TensorLike) -> tuple[int, int, bool]:
    """The lowest and the highest diagonal, and whether a range was asked for."""
    if type(k) is int:
        return k, k, False
    known = static_array(k)
    if known is None:
        raise InvalidArgumentError(f"{op}: k must be known while tracing; give one or two ints.")
    if known.dtype.kind not in "iu" or known.size not in (1, 2) or known.ndim > 1:
        raise ArgumentTypeError(f"{op}: k is {k!r}; one or two integers are needed.")
    low, high = known.ravel().tolist()[0], known.ravel().tolist()[-1]
    if low > high:
        raise InvalidArgumentError(f"{op}: k is ({low}, {high}); the lower diagonal must come first.")
    return low, high, low != high


def _at_right(op: str, align: str, k: int) -> bool:
    """Whether diagonal k is padded on its left."""
    if align not in _ALIGNMENTS:
        raise InvalidArgumentError(f"{op}: align {align!r} is not one of {', '.join(_ALIGNMENTS)}.")
    above, below = align.split("_")
    return (k >= 0 and above == "RIGHT") or (k <= 0 and below == "RIGHT")


def diag_part(
    input: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Diagonal `k` of the last two axes, or the diagonals from k[0] to k[1].

    Args:
      input: Tensor [..., n, m] of any dtype.
      k: 0 is the main diagonal, k > 0 lies above it, k < 0 below; or the lowest and the highest of a range.
      padding_value: The value that pads the rows of the shorter diagonals of a range.
      align: The end of its row at which a superdiagonal and a subdiagonal is aligned, in this order: "RIGHT_LEFT",
        "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT".
    Returns: Tensor [..., length], or for a range [..., number of diagonals, longest length], the highest first.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes, or `align` is unknown.
    Example:
      >>> linalg.diag_part([[1, 2], [3, 4]]).numpy()
      array([1, 4], dtype=int32)
    """
    if is_operator(input):
        return input.diag_part()  # type: ignore[no-any-return]
    x = lift(input)
    low, high, several = _range("diag_part", k)
    if not several:
        return bind(DiagPart(low), x)
    require_rank("diag_part", x.spec, 2, "input")
    if x.dims is None:
        raise InvalidArgumentError("diag_part: the rank of input must be known for a range of diagonals.")
    parts = [bind(DiagPart(at), x) for at in range(high, low - 1, -1)]
    sizes: list[Any] = [ranked(part.dims)[-1] for part in parts]
    if any(size is None for size in sizes):
        sizes = [getitem(shape(part), -1) for part in parts]
        most = reduce_max(stack(sizes))
    else:
        most = sizes[0]
        for size in sizes[1:]:
            most = most if most >= size else size
    rows = []
    for at, part, size in zip(range(high, low - 1, -1), parts, sizes, strict=True):
        missing = most - size
        ends = (missing, 0) if _at_right("diag_part", align, at) else (0, missing)
        if isinstance(missing, int) and not missing:
            rows.append(part)
        else:
            rows.append(
                pad(
                    part,
                    [[0, 0]] * (len(ranked(part.dims)) - 1) + [list(ends)],
                    constant_values=_padding(padding_value, x.dtype),
                )
            )
    return stack(rows, -2)


def _padding(value: object, dtype: DType) -> Any:
    """The padding value; the default 0 is False for bools."""
    return bool(value) if dtype is bool_ and type(value) is int else value


@blaming
def diag(
    diagonal: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    num_rows: int | Tensor = -1,
    num_cols: int | Tensor = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with `diagonal` as their diagonal `k`, or its rows as the diagonals from k[0] to k[1].

    Args:
      diagonal: Tensor [..., n] of any dtype, or for a range [..., number of diagonals, longest length] as `diag_part` gives it.
      k: The diagonal, or the lowest and the highest of a range.
      num_rows, num_cols: The size of a matrix; by default the smallest square, or the smallest one with the size that
        is given.
      padding_value: The value of all other elements.
      align: As for `diag_part`.
    Returns: Tensor [..., rows, columns].
    Raises: InvalidArgumentError (a ValueError): the sizes do not fit the diagonals, or `align` is unknown.
    Example:
      >>> linalg.diag([1, 2]).numpy()
      array([[1, 0],
             [0, 2]], dtype=int32)
    """
    d = lift(diagonal)
    low, high, several = _range("diag", k)
    require_rank("diag", d.spec, 1 + several, "diagonal")
    if d.dims is None and several:
        raise InvalidArgumentError("diag: the rank of diagonal must be known for a range of diagonals.")
    if several:
        _require_rows("diag", d, low, high)
    plain = (type(num_rows), type(num_cols), type(padding_value)) == (int, int, int)
    if plain and num_rows == num_cols == -1 and not (several or low or padding_value) and d.ndim is not None:
        return bind(DiagonalPut(-2, -1), d)
    lead = 1 + several
    # The least number of rows and columns beyond the length of the longest diagonal.
    least = max(-high, 0), max(low, 0)
    if is_definite(d.dims):
        length: Any = d.dims[-1]
        batch: Any = d.dims[:-lead]
    else:
        sizes = shape(d)
        length, batch = getitem(sizes, -1), getitem(sizes, slice(None, -lead))
        if several and not num_rows == num_cols == -1:
            if not isinstance(num_rows, int) or not isinstance(num_cols, int) or -1 in (num_rows, num_cols):
                raise InvalidArgumentError(
                    "diag: for a range of diagonals of unknown length give num_rows and num_cols as integers, or neither."
                )
            length = max(_length_of(at, num_rows, num_cols) for at in range(low, high + 1))
    rows, columns = _sizes(length, least, num_rows, num_cols)
    if is_definite(d.dims):
        base = fill([*batch, rows, columns], lift_like("diag", _padding(padding_value, d.dtype), d.dtype))
    else:
        base = fill(
            concat([batch, stack([rows, columns])], 0),
            lift_like("diag", _padding(padding_value, d.dtype), d.dtype),
        )
    if not several:
        return bind(SetDiag(low), base, d)
    if num_rows == num_cols == -1:
        most = max(least)
        missing = {at: abs(at) - most for at in range(low, high + 1)}
    else:
        missing = {at: length - _length_of(at, rows, columns) for at in range(low, high + 1)}
    return _with_rows("diag", base, d, high, missing, align)


def _require_rows(op: str, d: Tensor, low: int, high: int) -> None:
    """Raise unless there is one row for each diagonal, now or when the function runs."""
    known = None if d.dims is None or len(d.dims) < 2 else d.dims[-2]
    must = f"for k = ({low}, {high}) it must have {high - low + 1} rows."
    if type(known) is int:
        if known != high - low + 1:
            raise InvalidArgumentError(f"{op}: diagonal has shape {format_dims(d.dims)}; {must}")
        return
    sizes = shape(d)
    count = getitem(sizes, -2)
    require(equal(count, high - low + 1), f"{op}: diagonal has shape {SLOT}; {must}", [sizes])


def _sizes(length: Any, least: tuple[int, int], num_rows: Any, num_cols: Any) -> tuple[Any, Any]:
    """The size of the matrices of `diag`."""
    if num_rows == num_cols == -1:
        size = length + max(least)
        return size, size
    rows = length + least[0] if num_rows == -1 else num_rows
    columns = length + least[1] if num_cols == -1 else num_cols
    if isinstance(length, int | Dim) and (
        rows < length + least[0]
        or columns < length + least[1]
        or (rows != length + least[0] and columns != length + least[1])
    ):
        raise InvalidArgumentError(
            f"diag: {rows} rows and {columns} columns do not fit diagonals of {length} elements."
        )
    return rows, columns


def _length_of(k: int, rows: int, columns: int) -> int:
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise InvalidArgumentError("diag: the sizes must be known while tracing for a range of diagonals.")
    return max(min(rows + min(k, 0), columns - max(k, 0)), 0)


def _with_rows(op: str, x: Tensor, d: Tensor, high: int, missing: dict[int, int], align: str) -> Tensor:
    """x with the rows of `d` as its diagonals; `missing` is the padding of each row."""
    for at, padding in missing.items():
        if padding < 0:
            raise InvalidArgumentError(
                f"{op}: diagonal has shape {format_dims(d.dims)}; diagonal {at} is longer by {-padding}."
            )
        part = slice(padding, None) if _at_right(op, align, at) else slice(0, -padding if padding else None)
        x = bind(SetDiag(at), x, getitem(d, (Ellipsis, high - at, part)))
    return x


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = None,
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """`input` [..., n, m] with diagonal `k` of its last two axes, or those from k[0] to k[1], replaced by `diagonal`.

    Args:
      input: Tensor [..., n, m] of any dtype.
      diagonal: Tensor [..., length], or for a range [..., number of diagonals, longest length] as `diag_part` gives it.
      k: The diagonal, or the lowest and the highest of a range.
      align: As for `diag_part`.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the sizes do not fit, or `align` is unknown.
    Example:
      >>> linalg.set_diag([[1, 2], [3, 4]], [9, 9]).numpy()
      array([[9, 2],
             [3, 9]], dtype=int32)
    """
    x = lift(input)
    d = lift_like("set_diag", diagonal, x.dtype)
    low, high, several = _range("set_diag", k)
    if not several:
        return bind(SetDiag(low), x, d)
    require_rank("set_diag", x.spec, 2, "input")
    if x.dims is None or type(x.dims[-1]) is not int or type(x.dims[-2]) is not int:
        raise InvalidArgumentError("set_diag: the size of a matrix must be known for a range of diagonals.")
    lengths = {at: _length_of(at, x.dims[-2], x.dims[-1]) for at in range(low, high + 1)}
    most = max(lengths.values())
    want = (*x.dims[:-2], high - low + 1, most)
    if is_definite(d.dims) and is_definite(x.dims) and d.dims != want:
        raise InvalidArgumentError(
            f"set_diag: diagonal has shape {format_dims(d.dims)}; for input with shape {format_dims(x.dims)} and "
            f"k = ({low}, {high}) it must be {format_dims(want)}."
        )
    _require_rows("set_diag", d, low, high)
    return _with_rows("set_diag", x, d, high, {at: most - size for at, size in lengths.items()}, align)
