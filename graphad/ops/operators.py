"""Operators and NumPy's methods of tensors and variables: the only place where an upper floor fills slots of a lower one.

The hot ones have a short way: without recorders, and with eager operands of one dtype (or one of them a Python number that fits
the dtype), they apply one Python operator to the data. Everything else goes through the op.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.errors import ArgumentTypeError, DTypeError
from graphad.core.flags import flags
from graphad.core.ieee import SHORT_WAY_ENDS
from graphad.core.levels import busy
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.ops.array.create import IDENTITY
from graphad.ops.array.ensure import set_shape
from graphad.ops.array.slice import getitem
from graphad.ops.hints import HINTS, listed
from graphad.ops.linalg.matmul import matmul
from graphad.ops.math.arithmetic import ADD, FLOORDIV, MOD, MUL, SUB, abs, divide, negative
from graphad.ops.math.compare import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOT_EQUAL,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    compare_or,
    invert,
    left_shift,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    right_shift,
)
from graphad.ops.math.power import pow
from graphad.ops.methods import METHODS

if TYPE_CHECKING:
    from graphad.core.op import Op


_BOOL = np.dtype(bool)


def _value(x: Any) -> Tensor:
    """A variable's value without the op that reads it, if there are no recorders."""
    return EagerTensor(x.data) if isinstance(x, Handle) and busy() is None and not x.away else x


# The ufuncs of operators, where dtypes are promoted as NumPy does (`experimental_enable_numpy_behavior`).
_UFUNCS = {
    "sub": "subtract",
    "mul": "multiply",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divide": "divide",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}


@functools.cache
def _by_numpy() -> Any:
    """NumPy's functions on tensors, which few programs use."""
    return importlib.import_module("graphad.ops.numpy")


@functools.cache
def _protocols() -> Any:
    return importlib.import_module("graphad.ops.numpy_protocols")


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What NumPy calls for a ufunc with a tensor among its operands."""
    return _protocols().array_ufunc(self, ufunc, method, *inputs, **kwargs)


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for a function of its own with a tensor among its arguments."""
    return _protocols().array_function(self, func, types, args, kwargs)


def _long(op: Op, reflected: str, x: TensorLike, y: TensorLike) -> Any:
    """`x op y` through the op. A foreign object with an operator of its own gets its turn."""
    try:
        if flags.numpy_promotion:
            return getattr(_by_numpy(), _UFUNCS.get(op.name, op.name))(_value(x), _value(y))
        x, y = lift_pair(op.name, _value(x), _value(y))
    except ArgumentTypeError:
        if hasattr(type(y), reflected) and not isinstance(y, str | bytes):
            return NotImplemented
        raise
    if op is MUL and x.dtype.is_bool and y.dtype.is_bool:
        return logical_and(x, y)
    return bind(op, x, y)


def _hot(
    op: Op, symbol: Callable[[Any, Any], Any], name: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An arithmetic operator and its reflected one, with the short way for `self` an eager tensor."""
    forward_name, reflected_name = f"__{name}__", f"__r{name}__"

    def forward(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is EagerTensor and type(self) is EagerTensor:
            if busy() is not None and not flags.numpy_promotion:
                try:
                    return bind(op, self, other)
                except DTypeError:
                    return _long(op, reflected_name, self, other)
            a, b = self.data, other.data
            dtype = a.dtype
            if dtype is b.dtype and dtype is not _BOOL and busy() is None:
                try:
                    return EagerTensor(symbol(a, b))
                except SHORT_WAY_ENDS:
                    pass
        elif (kind is float or kind is int) and type(self) is EagerTensor and busy() is None:
            a = self.data
            if a.dtype.kind in ("f" if kind is float else "fi"):
                try:
                    return EagerTensor(symbol(a, other))
                except SHORT_WAY_ENDS:
                    pass
        elif isinstance(other, Handle) and type(self) is EagerTensor:
            return forward(self, other.__graphad_tensor__())  # type: ignore[attr-defined]
        return _long(op, reflected_name, self, other)

    def reflected(self: Tensor, other: float) -> Any:
        kind = type(other)
        if (kind is float or kind is int) and type(self) is EagerTensor and busy() is None:
            a = self.data
            if a.dtype.kind in ("f" if kind is float else "fi"):
                try:
                    return EagerTensor(symbol(other, a))
                except SHORT_WAY_ENDS:
                    pass
        return _long(op, forward_name, other, self)

    forward.__name__, reflected.__name__ = forward_name, reflected_name
    return forward, reflected


def _plain(function: Callable[[Any, Any], Any], name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflected one that call a public function."""

    def apply(x: TensorLike, y: TensorLike) -> Any:
        if flags.numpy_promotion:
            return getattr(_by_numpy(), _UFUNCS.get(name, "divide"))(x, y)
        return function(x, y)

    def forward(self: Any, other: object) -> Any:
        return apply(_value(self), _value(other))

    def reflected(self: Tensor, other: float) -> Any:
        return apply(_value(other), _value(self))

    forward.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    return forward, reflected


def _compared(op: Any, symbol: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    reflected_name = {"lt": "__gt__", "le": "__ge__", "gt": "__lt__", "ge": "__le__"}[name]

    def compare(self: Tensor, other: TensorLike) -> Any:
        if type(other) is EagerTensor and type(self) is EagerTensor and busy() is None:
            a, b = self.data, other.data
            dtype = a.dtype
            if dtype is b.dtype and dtype.kind in "fiu":
                try:
                    return EagerTensor(symbol(a, b))
                except SHORT_WAY_ENDS:
                    pass
        return _long(op, reflected_name, self, other)

    compare.__name__ = f"__{name}__"
    return compare


def _equality(op: Any, symbol: Callable[[Any, Any], Any], mismatch: bool, name: str) -> Callable[..., Any]:
    """`==` or `!=`: elementwise; None and shapes that do not broadcast compare as different."""

    def compare(self: Tensor, other: TensorLike | None) -> Any:
        if other is None:
            return mismatch
        if type(other) is EagerTensor and type(self) is EagerTensor and busy() is None:
            a, b = self.data, other.data
            if a.dtype is b.dtype and a.shape == b.shape:
                try:
                    return EagerTensor(symbol(a, b))
                except SHORT_WAY_ENDS:
                    pass
        try:
            if flags.numpy_promotion:
                x, y = _value(self), _value(other)
                by_numpy = _by_numpy()
                dtype = by_numpy.result_type(x, y)
                x, y = by_numpy.astype(x, dtype), by_numpy.astype(y, dtype)
            else:
                x, y = lift_pair(op.name, _value(self), _value(other))
        except ArgumentTypeError:
            return NotImplemented
        return compare_or(op, x, y, mismatch)

    compare.__name__ = f"__{name}__"
    return compare


def _by_kind(logical: Callable[..., Any], bitwise: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def choose(x: TensorLike, y: TensorLike) -> Any:
        x, y = lift_pair(logical.__name__, x, y)
        return (logical if x.dtype.is_bool else bitwise)(x, y)

    return choose


def _neg(self: Tensor) -> Tensor:
    return negative(_value(self))


def _pos(self: Any) -> Tensor:
    return bind(IDENTITY, lift(_value(self)))


def _abs(self: Tensor) -> Tensor:
    return abs(_value(self))


def _invert(self: Tensor) -> Tensor:
    x = lift(_value(self))
    return logical_not(x) if x.dtype.is_bool else invert(x)


def _getitem(self: Tensor, key: int) -> Tensor:
    return getitem(_value(self), key)


def _set_shape(self: Tensor, shape: ShapeLike) -> None:
    """Declare what is known of this tensor's shape; what is unknown while tracing is checked at run time.

    Raises: InvalidArgumentError (a ValueError): the tensor has another shape.
    """
    set_shape(self, shape)


def _divmod(self: Any, other: float) -> tuple[Tensor, Tensor]:
    return self // other, self % other


def _rdivmod(self: Any, other: float) -> tuple[Tensor, Tensor]:
    return other // self, other % self


def _round(self: Any, ndigits: int | None = None) -> Tensor:
    found: Tensor = METHODS["round"](_value(self), ndigits or 0)
    return found


def _itemsize(self: Any) -> int:
    """How many bytes an element takes."""
    size: int = self.dtype.itemsize
    return size


def _operators() -> dict[str, Any]:
    table: dict[str, Any] = {
        **HINTS,
        **METHODS,
        "__dir__": listed,
        "__divmod__": _divmod,
        "__rdivmod__": _rdivmod,
        "__round__": _round,
        "itemsize": property(_itemsize),
        "__neg__": _neg,
        "__pos__": _pos,
        "__abs__": _abs,
        "__invert__": _invert,
        "__getitem__": _getitem,
        "set_shape": _set_shape,
        "__eq__": _equality(EQUAL, operator.eq, False, "eq"),
        "__ne__": _equality(NOT_EQUAL, operator.ne, True, "ne"),
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
    }
    for op, symbol, name in (
        (ADD, operator.add, "add"),
        (SUB, operator.sub, "sub"),
        (MUL, operator.mul, "mul"),
    ):
        table[f"__{name}__"], table[f"__r{name}__"] = _hot(op, symbol, name)
    for op, name in ((FLOORDIV, "floordiv"), (MOD, "mod")):
        table[f"__{name}__"], table[f"__r{name}__"] = _through(op, name)
    functions: list[tuple[Callable[[Any, Any], Any], str]] = [
        (divide, "truediv"),
        (pow, "pow"),
        (matmul, "matmul"),
        (_by_kind(logical_and, bitwise_and), "and"),
        (_by_kind(logical_or, bitwise_or), "or"),
        (_by_kind(logical_xor, bitwise_xor), "xor"),
        (left_shift, "lshift"),
        (right_shift, "rshift"),
    ]
    for function, name in functions:
        table[f"__{name}__"], table[f"__r{name}__"] = _plain(function, name)
    for op, symbol, name in (
        (LESS, operator.lt, "lt"),
        (LESS_EQUAL, operator.le, "le"),
        (GREATER, operator.gt, "gt"),
        (GREATER_EQUAL, operator.ge, "ge"),
    ):
        table[f"__{name}__"] = _compared(op, symbol, name)
    return table


def _through(op: Op, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflected one that always go through the op."""

    def forward(self: Any, other: TensorLike) -> Any:
        return _long(op, f"__r{name}__", self, other)

    def reflected(self: Tensor, other: float) -> Any:
        return _long(op, f"__{name}__", other, self)

    forward.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    return forward, reflected


_OPERATORS = _operators()


def install(cls: type) -> None:
    """Give a class all operators that it does not define itself."""
    for name, function in _OPERATORS.items():
        if name not in cls.__dict__ and not (name in HINTS and hasattr(cls, name)):
            setattr(cls, name, function)


install(Tensor)
