"""Operators and NumPy's methods of tensors and variables, and what conversions in `core` need of the ops.

The hot ones have a short way: without recorders, and with eager operands of one dtype (or one of them a Python number that fits
the dtype), they apply one Python operator to the data. Everything else goes through the op.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, DTypeError, GraphadError, InvalidArgumentError
from graphad.core.flags import flags
from graphad.core.ieee import SHORT_WAY_ENDS
from graphad.core.levels import busy
from graphad.core.registry import lookup
from graphad.core.tensor import EagerTensor, Handle, Tensor, blank
from graphad.core.tracebacks import of_call
from graphad.ops.array.passing import IDENTITY
from graphad.ops.choice import BESIDE, beside
from graphad.ops.hints import HINTS, listed
from graphad.ops.linalg.matmul import MATMUL, matmul, product_of_arrays
from graphad.ops.math.arithmetic import ADD, DIV, FLOORDIV, MOD, MUL, SUB, abs, divide, negative
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOT_EQUAL,
    compare_or,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from graphad.ops.math.power import pow
from graphad.ops.methods import METHODS
from graphad.ops.rules import ANY, FLOATING, INEXACT, NUMERIC, REAL
from graphad.ops.short import likely_dtype, quick_dtypes

if TYPE_CHECKING:
    from graphad.core.dtypes import DType
    from graphad.core.indexed_slices import IndexedSlices
    from graphad.core.op import Op


_ARRAY = np.ndarray


def _value(x: Any) -> Tensor:
    """What an op reads of a variable; anything else as it is."""
    return x.__graphad_tensor__() if isinstance(x, Handle) else x  # type: ignore[attr-defined, no-any-return]


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


# What an operator does where its short way leads nowhere; called with the name of the other operand's method.
Usual = Callable[[str, Any, Any], Any]


def _long(op: Op, ufunc: str) -> Usual:
    """The usual way of an operator that is an op. A foreign object with an operator of its own gets its turn.

    Args:
      op: The op.
      ufunc: What it is where dtypes are promoted as NumPy does (`experimental_enable_numpy_behavior`).
    """

    def usual(reflected: str, x: TensorLike, y: TensorLike) -> Any:
        try:
            if flags.numpy_promotion:
                return getattr(_by_numpy(), ufunc)(_value(x), _value(y))
            x, y = lift_pair(op.name, _value(x), _value(y))
        except ArgumentTypeError:
            if hasattr(type(y), reflected) and not isinstance(y, str | bytes):
                return NotImplemented
            raise
        if op is MUL and x.dtype.is_bool and y.dtype.is_bool:
            return logical_and(x, y)
        return bind(op, x, y)

    return usual


def _of_unlike(symbol: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operator of arrays of different sizes."""
    found = beside(symbol, a, b)
    return symbol(a, b) if found is None else found


def _hot(
    op: Op,
    symbol: Callable[[Any, Any], Any],
    name: str,
    usual: Usual,
    dtypes: frozenset[np.dtype[Any]],
    numbers: dict[type, frozenset[np.dtype[Any]]],
) -> Callable[..., Any]:
    """An operator with a short way for `self` an eager tensor.

    Args:
      op: What it means.
      symbol: The same for NumPy values.
      name: Its name, without underscores.
      usual: What it does where the short way leads nowhere.
      dtypes: The NumPy dtypes that take the short way.
      numbers: For Python numbers as second operand the NumPy dtypes that they fit.
    """
    reflected = _REFLECTED.get(name, f"r{name}").join(("__", "__"))
    likely = likely_dtype(dtypes)
    is_elementwise = op is not MATMUL

    def forward(self: Any, other: Any) -> Any:
        if type(self) is EagerTensor:
            kind = type(other)
            if kind is EagerTensor:
                if busy() is None:
                    a, b = self.data, other.data
                    dtype = a.dtype
                    if dtype is b.dtype and (dtype is likely or dtype in dtypes):
                        try:
                            # NumPy's numbers are told first: what they answer about their size takes long.
                            if type(a) is _ARRAY and a.size >= BESIDE and a.size != b.size and is_elementwise:
                                return EagerTensor(_of_unlike(symbol, a, b))
                            y = blank(EagerTensor)
                            y.data, y.mark = symbol(a, b), None
                            return y
                        except SHORT_WAY_ENDS:
                            pass
                elif not flags.numpy_promotion:
                    try:
                        return bind(op, self, other)
                    except (DTypeError, InvalidArgumentError):
                        pass  # the usual way has the words for it, or another answer
            elif kind in numbers:
                a = self.data
                if busy() is None and a.dtype in numbers[kind]:
                    try:
                        y = blank(EagerTensor)
                        y.data, y.mark = symbol(a, other), None
                        return y
                    except SHORT_WAY_ENDS:
                        pass
            elif isinstance(other, Handle):
                return forward(self, other.__graphad_tensor__())  # type: ignore[attr-defined]
        elif isinstance(self, Handle) and not flags.numpy_promotion:
            return forward(self.__graphad_tensor__(), other)  # type: ignore[attr-defined]
        try:
            return usual(reflected, self, other)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    forward.__name__ = f"__{name}__"
    return forward


def _of_number(
    symbol: Callable[[Any, Any], Any],
    name: str,
    usual: Usual,
    numbers: dict[type, frozenset[np.dtype[Any]]],
) -> Callable[..., Any]:
    """The reflected operator of `_hot`, whose first operand is not a tensor."""
    forward = f"__{name}__"

    def reflected(self: Tensor, other: float) -> Any:
        kind = type(other)
        if type(self) is EagerTensor and kind in numbers and busy() is None:
            a = self.data
            if a.dtype in numbers[kind]:
                try:
                    y = blank(EagerTensor)
                    y.data, y.mark = symbol(other, a), None
                    return y
                except SHORT_WAY_ENDS:
                    pass
        try:
            return usual(forward, other, self)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    reflected.__name__ = f"__r{name}__"
    return reflected


_NUMERIC = quick_dtypes(NUMERIC)
# For Python numbers as one operand the NumPy dtypes that they fit.
_FITTING = {float: quick_dtypes(FLOATING), int: quick_dtypes(FLOATING) | quick_dtypes(frozenset({"int"}))}
_DIVIDING = {float: quick_dtypes(FLOATING), int: quick_dtypes(FLOATING)}
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _plain(function: Callable[[Any, Any], Any], ufunc: str) -> Usual:
    """The usual way of an operator that calls a public function; `ufunc` as for `_long`."""

    def usual(reflected: str, x: Any, y: Any) -> Any:
        x, y = _value(x), _value(y)
        return getattr(_by_numpy(), ufunc)(x, y) if flags.numpy_promotion else function(x, y)

    return usual


def _through(usual: Usual, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflected one without a short way."""

    forward_name, reflected_name = f"__{name}__", f"__r{name}__"

    def forward(self: Any, other: TensorLike) -> Any:
        try:
            return usual(reflected_name, self, other)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    def reflected(self: Tensor, other: float) -> Any:
        try:
            return usual(forward_name, other, self)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    forward.__name__, reflected.__name__ = forward_name, reflected_name
    return forward, reflected


def _equality(op: Op, mismatch: bool) -> Usual:
    """The usual way of `==` or `!=`: elementwise; None and shapes that do not broadcast compare as different."""

    def compare(reflected: str, self: Tensor, other: TensorLike | None) -> Any:
        if other is None:
            return mismatch
        try:
            if flags.numpy_promotion:
                promotion = importlib.import_module("graphad.ops.numpy.promotion")
                x, y = _value(self), _value(other)
                x, y = promotion.promoted(promotion.by_value(x, y), promotion.by_value(y, x))
            else:
                x, y = lift_pair(op.name, _value(self), _value(other))
        except ArgumentTypeError:
            return NotImplemented
        return compare_or(op, x, y, mismatch)

    return compare


def _bitwise(name: str, logical: Callable[..., Any] | None = None) -> Usual:
    """The usual way of an operator that calls a function of `ops/math/bitwise.py`; `logical`: what it calls for bools."""

    def choose(x: TensorLike, y: TensorLike) -> Any:
        if logical is not None:
            x, y = lift_pair(logical.__name__, x, y)
            if x.dtype.is_bool:
                return logical(x, y)
        return getattr(_bits(), name)(x, y)

    return _plain(choose, name)


@functools.cache
def _bits() -> Any:
    return importlib.import_module("graphad.ops.math.bitwise")


def _neg(self: Tensor) -> Tensor:
    return negative(_value(self))


def _pos(self: Any) -> Tensor:
    return bind(IDENTITY, lift(_value(self)))


def _abs(self: Tensor) -> Tensor:
    return abs(_value(self))


def _invert(self: Tensor) -> Tensor:
    x = lift(_value(self))
    return logical_not(x) if x.dtype.is_bool else _bits().invert(x)


def _set_shape(self: Tensor, shape: ShapeLike) -> None:
    """Declare what is known of this tensor's shape; what is unknown while tracing is checked at run time.

    Raises: InvalidArgumentError (a ValueError): the tensor has another shape.
    """
    # By its name, as in what follows, since few programs need it.
    importlib.import_module("graphad.ops.array.ensure").set_shape(self, shape)


def _cast(self: Tensor, dtype: DType) -> Tensor:
    return bind(Cast(dtype), self)


def _stacked(self: Tensor, others: Sequence[Tensor]) -> Tensor:
    stacked: Tensor = bind(lookup("stack")(0), self, *others)
    return stacked


def _added_up(self: Tensor, slices: IndexedSlices) -> Tensor:
    total: Tensor = importlib.import_module("graphad.ops.array.gather").added_up(slices)
    return total


def _getitem(self: Tensor, key: Any) -> Tensor:
    """The first `x[key]`, which leaves its place to `getitem`: many programs take no slice."""
    getitem = importlib.import_module("graphad.ops.array.slice").getitem
    for cls in _having:
        if cls.__dict__.get("__getitem__") is _getitem:
            setattr(cls, "__getitem__", getitem)  # noqa: B010 - a type checker would want the class's own signature
    part: Tensor = getitem(self, key)
    return part


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
        "_cast": _cast,
        "_stacked": _stacked,
        "_added_up": _added_up,
        "__eq__": _hot(EQUAL, operator.eq, "eq", _equality(EQUAL, False), quick_dtypes(ANY), {}),
        "__ne__": _hot(NOT_EQUAL, operator.ne, "ne", _equality(NOT_EQUAL, True), quick_dtypes(ANY), {}),
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
    }
    for op, symbol, name, usual, dtypes, numbers in (
        (ADD, operator.add, "add", _long(ADD, "add"), _NUMERIC, _FITTING),
        (SUB, operator.sub, "sub", _long(SUB, "subtract"), _NUMERIC, _FITTING),
        (MUL, operator.mul, "mul", _long(MUL, "multiply"), _NUMERIC, _FITTING),
        (DIV, operator.truediv, "truediv", _plain(divide, "divide"), quick_dtypes(INEXACT), _DIVIDING),
        (MATMUL, product_of_arrays, "matmul", _plain(matmul, "matmul"), _NUMERIC, {}),
    ):
        table[f"__{name}__"] = _hot(op, symbol, name, usual, dtypes, numbers)
        table[f"__r{name}__"] = _of_number(symbol, name, usual, numbers)
    for name, usual in (
        ("pow", _plain(pow, "power")),
        ("and", _bitwise("bitwise_and", logical_and)),
        ("or", _bitwise("bitwise_or", logical_or)),
        ("xor", _bitwise("bitwise_xor", logical_xor)),
        ("lshift", _bitwise("left_shift")),
        ("rshift", _bitwise("right_shift")),
        ("floordiv", _long(FLOORDIV, "floor_divide")),
        ("mod", _long(MOD, "remainder")),
    ):
        table[f"__{name}__"], table[f"__r{name}__"] = _through(usual, name)
    for op, symbol, name, ufunc in (
        (LESS, operator.lt, "lt", "less"),
        (LESS_EQUAL, operator.le, "le", "less_equal"),
        (GREATER, operator.gt, "gt", "greater"),
        (GREATER_EQUAL, operator.ge, "ge", "greater_equal"),
    ):
        table[f"__{name}__"] = _hot(op, symbol, name, _long(op, ufunc), quick_dtypes(REAL), {})
    hooks = ("__dir__", "__round__", "__array_ufunc__", "__array_function__", "__array_namespace__")
    table["OVERLOADABLE_OPERATORS"] = frozenset(x for x in table if x.startswith("__") and x not in hooks)
    return table


_OPERATORS = _operators()
_having: list[type] = []  # the classes that have them


def install(cls: type) -> None:
    """Give a class all operators that it does not define itself."""
    _having.append(cls)
    for name, function in _OPERATORS.items():
        if name not in cls.__dict__ and not (name in HINTS and hasattr(cls, name)):
            setattr(cls, name, function)


install(Tensor)


def _of_dtype(self: DType, x: Any = 0) -> Any:
    """`x` as a tensor of this dtype, as NumPy's scalar types convert numbers and arrays: `numpy.float32(3)`.

    Args: x: A number, a tensor, an array, or a nested list of these.
    Returns: Tensor of this dtype, with the gradient of `cast`.
    Raises: ArgumentTypeError (a TypeError): it cannot be converted to a tensor.
    """
    return _by_numpy().astype(x, self)


DType.__call__ = _of_dtype  # type: ignore[method-assign]
