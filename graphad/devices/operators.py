"""Python's operators of an array on a device: NumPy's ufuncs, which hand it what they are to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing import Self


class Operators:
    """The operators of `DeviceArray`; type checkers are told of those that graphad uses."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __eq__(self, other: object) -> Self: ...  # type: ignore[override]
        def __ge__(self, other: object) -> Self: ...
        def __gt__(self, other: object) -> Self: ...
        def __le__(self, other: object) -> Self: ...
        def __lt__(self, other: object) -> Self: ...
        def __mul__(self, other: object) -> Self: ...


def _in_itself(array: Any, value: Any) -> Any:
    """What `array += ...` gives: the array itself, and a new one in place of a number, as NumPy's numbers do."""
    if not array.shape:
        return value
    array[...] = value
    return array


def _install(ufunc: np.ufunc, slot: str, reflected: bool = False) -> None:
    setattr(Operators, f"__{slot}__", lambda self, *other: ufunc(self, *other))
    if reflected:
        setattr(Operators, f"__r{slot}__", lambda self, other: ufunc(other, self))
        setattr(Operators, f"__i{slot}__", lambda self, other: _in_itself(self, ufunc(self, other)))


for _name, _slot in (
    ("add", "add"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "truediv"),
    ("floor_divide", "floordiv"),
    ("remainder", "mod"),
    ("power", "pow"),
    ("matmul", "matmul"),
    ("bitwise_and", "and"),
    ("bitwise_or", "or"),
    ("bitwise_xor", "xor"),
    ("left_shift", "lshift"),
    ("right_shift", "rshift"),
):
    _install(getattr(np, _name), _slot, True)
for _name, _slot in (
    ("less", "lt"),
    ("less_equal", "le"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("equal", "eq"),
    ("not_equal", "ne"),
    ("negative", "neg"),
    ("positive", "pos"),
    ("absolute", "abs"),
    ("invert", "invert"),
):
    _install(getattr(np, _name), _slot)
