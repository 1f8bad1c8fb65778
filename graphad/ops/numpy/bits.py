"""Floats and integers by their bits: powers of two, exponents, signs, distances, bits packed in bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import BOOLEAN, INTEGER, require_dtype, require_kind
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, is_eager, parts_directly
from graphad.ops.math import digits
from graphad.ops.math.cast import bitcast
from graphad.ops.numpy.promotion import cast_to, dims_of, on_axis, operands, rank_of, tensor_of
from graphad.ops.numpy.shapes import moveaxis
from graphad.ops.numpy.ufuncs import bitwise_and, isfinite, less, nextafter, right_shift


def ldexp(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """x1 * 2^x2, elementwise, without intermediate overflow.

    Args:
      x1: Tensor of any shape, a float dtype; integers become floats.
      x2: Tensor of an integer dtype, of a shape that broadcasts with that of x1. No gradient.
    Returns: Tensor of their broadcast shape, of the dtype of x1.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.ldexp([1.0, 3.0], [2, -1]).numpy()
      array([4. , 1.5])
    """
    x1, x2 = operands(np.ldexp, x1, tensor_of(x2))
    require_kind("ldexp", x2, INTEGER, "x2")
    found = directly(np.ldexp, x1, x2)
    if found is not None:
        return found
    powers = _powers(x2.data, x1.dtype.numpy) if is_eager(x2) else None
    if powers is not None:
        return math.multiply(x1, constant_here(powers))
    if x1.dtype.itemsize < 4:
        wide = _times_power(math.cast(x1, dtypes.float32), x2)
        return math.cast(wide, x1.dtype)
    return _times_power(x1, x2)


def _powers(exponents: Any, dtype: np.dtype[Any]) -> Any:
    """2^exponents, where all of them have all of their digits; else None."""
    most = {4: 127, 8: 1023}.get(dtype.itemsize)
    if most is None or not exponents.size or np.min(exponents) <= -most or np.max(exponents) > most:
        return None
    # The bits of a number with a mantissa of 1.
    whole, places = (np.int32, 23) if dtype.itemsize == 4 else (np.int64, 52)
    bits = np.add(exponents, most, dtype=whole, casting="unsafe")
    bits <<= places
    return bits.view(dtype)


def _times_power(x: Tensor, exponent: Tensor) -> Tensor:
    """x * 2^exponent, rounded once, for float32 and float64.

    It takes several steps, since a power may overflow where the result does not. What a step down leaves is 0 in the end or has
    all of its digits, so that only the last step rounds.
    """
    least, most, digits_of, whole = (
        (-126, 127, 24, dtypes.int32) if x.dtype is dtypes.float32 else (-1022, 1023, 53, dtypes.int64)
    )
    exponent = math.cast(_clamped(exponent, -4 * most, 4 * most), whole)
    zero, up, down = (cast_to(n, whole) for n in (0, most, least + digits_of))
    for _ in range(2):
        step = math.where(
            math.greater(exponent, up), up, math.where(math.less(exponent, cast_to(least, whole)), down, zero)
        )
        x = math.multiply(x, _power_of_two(step, most, digits_of, x.dtype))
        exponent = math.subtract(exponent, step)
    return math.multiply(x, _power_of_two(_clamped(exponent, least, most), most, digits_of, x.dtype))


def _clamped(n: Tensor, least: int, most: int) -> Tensor:
    least, most = (min(max(bound, int(n.dtype.min)), int(n.dtype.max)) for bound in (least, most))
    return math.minimum(math.maximum(n, cast_to(least, n.dtype)), cast_to(most, n.dtype))


def _power_of_two(n: Tensor, most: int, digits_of: int, dtype: dtypes.DType) -> Tensor:
    """2^n by its bits, for n from 1 - `most` to `most`."""
    return bitcast(math.left_shift(n + cast_to(most, n.dtype), cast_to(digits_of - 1, n.dtype)), dtype)


def frexp(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1.

    Args: x: Tensor of any shape, a float dtype; integers become floats.
    Returns: (mantissa of the dtype of x, whose gradient is that of x divided by the power, exponent, int32). For 0, infinities
      and NaN the mantissa is x and the exponent 0.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> [part.numpy().tolist() for part in numpy.frexp([8.0, -0.75, 0.0])]
      [[0.5, -0.75, 0.0], [4, 0, 0]]
    """
    (x,) = operands(np.frexp, x)
    parts = parts_directly(_parted, x)
    if parts is not None:
        return parts[0], parts[1]
    if is_eager(x) and type(x.data) is np.ndarray and x.data.dtype.kind == "f" and np.isfinite(x.data).all():
        exponent = constant_here(np.frexp(x.data)[1])
        return ldexp(x, math.negative(exponent)), exponent
    wide = cast_to(x, dtypes.float64)
    plain = math.logical_and(isfinite(wide), math.not_equal(wide, cast_to(0.0, dtypes.float64)))
    small = less(math.abs(wide), cast_to(float(np.finfo(np.float64).tiny), dtypes.float64))
    normal = math.where(small, math.multiply(wide, cast_to(2.0**54, dtypes.float64)), wide)
    bits = bitwise_and(right_shift(bitcast(normal, dtypes.int64), 52), 0x7FF)
    exponent = math.cast(bits, dtypes.int32) - math.where(small, lift(1022 + 54), lift(1022))
    exponent = math.where(plain, exponent, array.zeros_like(exponent))
    return ldexp(x, math.negative(exponent)), exponent


def _parted(x: Any) -> tuple[Any, ...]:
    if not np.isfinite(x).all():
        raise ValueError("the C library chooses the exponent of what is not finite")
    return np.frexp(x)


def spacing(x: TensorLike, /) -> Tensor:
    """The distance from x to the next number away from 0, with the sign of x.

    Args: x: Tensor of any shape, float32 or float64; integers become floats.
    Returns: Tensor of the shape of x; NaN for infinities.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> bool(numpy.spacing(1.0) == 2.0**-52)
      True
    """
    (x,) = operands(np.spacing, x)
    found = directly(_spacing, x)
    if found is not None:
        return found
    size = math.abs(x)
    return digits.copysign(math.subtract(nextafter(size, float("inf")), size), x)


def _spacing(x: Any) -> Any:
    return np.spacing(x) if x.dtype.itemsize > 2 and np.all(x) else None  # a zero has a sign of its own


def bitwise_count(x: TensorLike, /) -> Tensor:
    """The number of set bits of |x|.

    Args: x: Tensor of any shape, an integer dtype.
    Returns: Tensor of the shape of x, uint8. No gradient.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Warren, Hacker's Delight, 2002, 5-1.
    Example:
      >>> numpy.bitwise_count([7, -8]).numpy()
      array([3, 1], dtype=uint8)
    """
    x = tensor_of(x)
    require_kind("bitwise_count", x, INTEGER | BOOLEAN)
    found = None if x.dtype.is_bool else directly(np.bitwise_count, x)
    if found is not None:
        return found
    n = math.cast(math.abs(cast_to(x, dtypes.int64)) if x.dtype.kind == "int" else x, dtypes.uint64)
    for width in (1, 2, 4, 8, 16, 32):
        mask = lift(np.uint64((2**64 - 1) // (2**width + 1)))  # a mask of every second field of that width
        n = bitwise_and(n, mask) + bitwise_and(right_shift(n, lift(np.uint64(width))), mask)
    return math.cast(n, dtypes.uint8)


def signbit(x: TensorLike, /) -> Tensor:
    """Which elements have their sign bit set: negative numbers, and -0.0.

    Args: x: Tensor of any shape, a float dtype; integers become floats.
    Returns: Bool tensor of the shape of x. No gradient.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.signbit([-0.0, 0.0, -2.0]).numpy()
      array([ True, False,  True])
    """
    x = tensor_of(x)
    if not x.dtype.is_floating:
        (x,) = operands(np.signbit, x)
    found = directly(np.signbit, x)
    if found is not None:
        return found
    whole = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[x.dtype.itemsize]
    return math.less(math.bitcast(x, whole), cast_to(0, whole))


def _weights(name: str, order: str) -> Tensor:
    """What the bits of a byte count, in their order. Raises: InvalidArgumentError: the order is unknown."""
    if order not in ("big", "little"):
        raise InvalidArgumentError(f"{name}: bitorder is {order!r}; it is 'big' or 'little'.")
    powers = np.left_shift(1, np.arange(8)).astype(np.uint8)
    return constant_here(powers[::-1].copy() if order == "big" else powers)


@blaming
def packbits(a: TensorLike, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Truth values as the bits of bytes, eight in each; what the last byte lacks is filled with 0.

    Args:
      a: Tensor of any shape, bools or integers, which are true if they are not 0.
      axis: The axis along which bits are packed; the flattened tensor by default.
      bitorder: "big" if the first of eight is the highest bit, "little" if it is the lowest.
    Returns: uint8 tensor with an eighth of the elements along the axis, rounded up.
    Raises: DTypeError (a TypeError): floats; InvalidArgumentError (a ValueError): an unknown order, or the axis is out of range.
    Example:
      >>> numpy.packbits([1, 0, 1, 1, 0, 0, 0, 0, 1]).numpy()
      array([176, 128], dtype=uint8)
    """
    x = tensor_of(a)
    require_kind("packbits", x, INTEGER | BOOLEAN, "a")
    weights = _weights("packbits", bitorder)
    x, axis = on_axis(x, axis)
    axis = normalize_axis("packbits", axis, rank_of("packbits", x))
    found = directly(np.packbits, x, axis=axis, bitorder=bitorder)
    if found is not None:
        return found
    bits = moveaxis(math.cast(math.cast(x, dtypes.bool_), dtypes.uint8), axis, -1)
    size: Any = bits.dims[-1] if bits.dims and bits.dims[-1] is not None else array.shape(bits)[-1]
    bits = _in_groups(_with_zeros(bits, 7)[..., : (size + 7) // 8 * 8])
    return moveaxis(math.reduce_sum(math.multiply(bits, weights), -1), -1, axis)


@blaming
def unpackbits(
    a: TensorLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    """The bits of bytes, eight of each.

    Args:
      a: uint8 tensor of any shape.
      axis: The axis along which bytes are unpacked; the flattened tensor by default.
      count: How many bits to keep, or with a negative number to leave out at the end; where there are fewer, 0 follows them.
      bitorder: "big" if the first of eight is the highest bit, "little" if it is the lowest.
    Returns: uint8 tensor of 0 and 1, with `count` or eight times as many elements along the axis.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): an unknown order, the axis is out of
      range, or fewer bits are there than a negative `count` leaves out.
    Example:
      >>> numpy.unpackbits(numpy.asarray([176], numpy.uint8)).numpy()
      array([1, 0, 1, 1, 0, 0, 0, 0], dtype=uint8)
    """
    x = tensor_of(a)
    require_dtype("unpackbits", x, [dtypes.uint8], "a")
    weights = _weights("unpackbits", bitorder)
    x, axis = on_axis(x, axis)
    axis = normalize_axis("unpackbits", axis, rank_of("unpackbits", x))
    # Where there are no bytes, NumPy leaves the zeros for `count` out.
    alone = (
        None if 0 in (x.dims or ()) else directly(np.unpackbits, x, axis=axis, count=count, bitorder=bitorder)
    )
    if alone is not None:
        return alone
    x = array.expand_dims(moveaxis(x, axis, -1), -1)
    found = math.cast(math.cast(bitwise_and(x, weights), dtypes.bool_), dtypes.uint8)
    sizes = [array.shape(x)[k] if size is None else size for k, size in enumerate(dims_of("unpackbits", x))]
    found = array.reshape(found, [*sizes[:-2], sizes[-2] * 8])
    if count is not None:
        size = sizes[-2]
        if isinstance(size, int) and size * 8 + count < 0:
            raise InvalidArgumentError(f"unpackbits: count is {count}, but axis {axis} has {size * 8} bits.")
        found = _with_zeros(found, count)[..., :count] if count > 0 else found[..., :count]
    return moveaxis(found, -1, axis)


def _with_zeros(x: Tensor, count: int) -> Any:
    """`count` zeros more at the end of the last axis."""
    return array.pad(x, [[0, 0]] * (len(ranked(x.dims)) - 1) + [[0, count]])


def _in_groups(x: Tensor) -> Tensor:
    """The last axis in groups of eight."""
    sizes: list[Any] = [array.shape(x)[k] if size is None else size for k, size in enumerate(ranked(x.dims))]
    return array.reshape(x, [*sizes[:-1], sizes[-1] // 8, 8])
