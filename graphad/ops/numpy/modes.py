"""The dtype of several operands in the modes "all" and "safe" of `experimental_enable_numpy_behavior`.

There the order of dtypes is: bool, integers, floats, complex numbers, the narrower before the wider; an integer takes the dtype
of a float that it meets, whatever their sizes. Python's numbers, and lists of them alone, are weak: they take the dtype of a
tensor of their kind or a later one, and are 4 bytes wide where they meet none. "safe" refuses what may lose digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphad.core import dtypes
from graphad.core.dtypes import DType
from graphad.core.errors import DTypeError

_WEAK = {int: dtypes.int32, float: dtypes.float32, complex: dtypes.complex128}
_ORDER = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
_Operand = tuple[DType, bool]  # and whether it is weak


def combined(xs: Sequence[DType | type], is_safe: bool) -> DType:
    """The dtype of operands, given as dtypes or as classes of Python's numbers.

    Raises: DTypeError (a TypeError): digits may be lost, and `is_safe`.
    """
    found: _Operand | None = None
    for x in xs:
        mine = (x, False) if isinstance(x, DType) else (_WEAK.get(x, dtypes.bool_), x is not bool)
        if found is None:
            found = mine
            continue
        joint, keeps = _pair(*sorted((found, mine), key=lambda operand: _ORDER[operand[0].kind]))
        if is_safe and not keeps:
            raise DTypeError(
                f"{_named(found)} and {_named(mine)} give {joint[0].name}, which may lose digits: dtype_conversion_mode='safe' "
                "refuses it; cast one of them."
            )
        found = joint
    assert found is not None
    return found[0]


def _named(operand: _Operand) -> str:
    dtype, is_weak = operand
    return f"a Python {dtype.kind}" if is_weak else dtype.name


def _pair(low: _Operand, high: _Operand) -> tuple[_Operand, bool]:
    """What two operands, of kinds in this order, give, and whether all digits are kept."""
    (a, a_weak), (b, b_weak) = low, high
    if a is b:
        return (a, a_weak and b_weak), True
    if a_weak and b_weak:
        return (b if a.kind != b.kind or b.itemsize > a.itemsize else a, True), True
    if a.is_bool:
        return high, True
    if a_weak:  # of no later kind
        return (b, False), True
    if b_weak and a.kind == b.kind:
        return (a, False), True
    if b_weak:
        return _with_weak(a, b)
    return _strong(a, b)


def _with_weak(a: DType, b: DType) -> tuple[_Operand, bool]:
    """A dtype and a weak number of a later kind."""
    if a.is_integer:
        if b.is_integer:
            return (a, False), True
        wide = dtypes.complex128 if b.is_complex else dtypes.float64
        return (wide, True), b is wide and a.itemsize < wide.itemsize // (2 if b.is_complex else 1)
    is_wide = a.itemsize == 8
    return (dtypes.complex128 if is_wide else dtypes.complex64, False), is_wide


def _strong(a: DType, b: DType) -> tuple[_Operand, bool]:
    if a.is_integer and b.is_integer:
        joint = dtypes.from_numpy(np.promote_types(a.numpy, b.numpy))
        return (joint, joint.is_floating), joint in (a, b)
    if a.is_integer:
        fits = {1: 2, 2: 4, 4: 8}.get(a.itemsize, np.inf)
        return (b, False), b.real_dtype.itemsize >= fits
    if a.is_floating and b.is_complex:
        joint = dtypes.complex128 if a.itemsize == 8 else b
        return (joint, False), joint is b
    if a.itemsize == b.itemsize:  # the two floats of 2 bytes
        return (dtypes.float32, False), False
    return (a if a.itemsize > b.itemsize else b, False), True
