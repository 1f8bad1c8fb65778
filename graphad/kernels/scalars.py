"""The scalar functions of kernel bodies: arity, result dtype and the NumPy function that defines them.

A reference takes arrays of equal dtype (a `select` condition is bool) and returns that dtype; float16 and bfloat16 round after
every function. Backends print these functions; a step with one that they cannot print stays on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dtypes import DType, bool_, converted, float32, float64
from graphad.core.errors import InternalError
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from graphad.core.annotations import Array


FLOAT, INTEGER, BOOL, COMPLEX = "float", "integer", "bool", "complex"
REAL = frozenset((FLOAT, INTEGER, BOOL))
NUMBER = frozenset((FLOAT, INTEGER, COMPLEX))
ANY = frozenset((FLOAT, INTEGER, BOOL, COMPLEX))
FLOATS = frozenset((FLOAT, COMPLEX))


class Scalar(Record):
    """One scalar function.

    Attributes:
      arity: Number of arguments.
      kinds: Dtype kinds the arguments may have.
      reference: The NumPy callable.
      is_predicate: Whether the result is always bool.
    """

    name: str
    arity: int
    kinds: frozenset[str]
    reference: Callable[..., Any]
    is_predicate: bool = False


def kind_of(dtype: DType) -> str:
    """This table's name for a dtype's kind."""
    return INTEGER if dtype.is_integer else BOOL if dtype.is_bool else FLOAT if dtype.is_floating else COMPLEX


def _wide(x: Array) -> Array:
    """float16 and bfloat16 as float32, for formulas of several steps."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def _formula(f: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of several NumPy steps, computed in float32 and rounded once."""

    def reference(*xs: Any) -> Array:
        dtype = np.asarray(xs[0]).dtype
        return np.asarray(f(*map(_wide, xs))).astype(dtype)

    return reference


def _sigmoid(x: Array) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _softplus(x: Array) -> Any:
    return np.logaddexp(x, np.zeros((), x.dtype))


def _floordiv(x: Array, y: Array) -> Any:
    return np.floor_divide(x, y) if np.asarray(x).dtype.kind in "iu" else np.floor(np.divide(x, y))


def float_remainder(x: Array, y: Array) -> Any:
    """x - y * floor(x / y) without intermediate rounding; a 0 has the sign of x."""
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)[()]


def _mod(x: Array, y: Array) -> Any:
    return np.mod(x, y) if np.asarray(x).dtype.kind in "iu" else float_remainder(x, y)


def mul_high(x: Any, y: Any) -> Any:
    """The upper half of the product of two integers, which has twice as many bits; arrays of any library."""
    bits = 8 * x.dtype.itemsize
    if bits < 64:
        wide = np.int64 if x.dtype.kind == "i" else np.uint64
        return (x.astype(wide) * y.astype(wide) >> wide(bits)).astype(x.dtype)
    if x.dtype.kind == "i":  # a negative number's bits are 2^64 too many
        high = mul_high(x.astype(np.uint64), y.astype(np.uint64)).astype(np.int64)
        return high - np.where(x < 0, y, np.int64(0)) - np.where(y < 0, x, np.int64(0))
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    inner = x1 * y0 + (x0 * y0 >> half)
    return x1 * y1 + (inner >> half) + (x0 * y1 + (inner & low) >> half)


def _by_element(f: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function from Python's math module, applied elementwise."""
    return np.vectorize(f, otypes=[np.float64])


def _zero_safe(f: Callable[..., Any]) -> Callable[..., Any]:
    def reference(*xs: Array) -> Any:
        with np.errstate(all="ignore"):
            return f(*xs)

    return reference


def _rows() -> list[Scalar]:
    rows = []

    def add(kinds: frozenset[str], arity: int, **functions: Callable[..., Any]) -> None:
        for name, reference in functions.items():
            rows.append(Scalar(name.rstrip("_"), arity, kinds, _zero_safe(reference)))

    def predicate(kinds: frozenset[str], arity: int, **functions: Callable[..., Any]) -> None:
        for name, reference in functions.items():
            rows.append(Scalar(name.rstrip("_"), arity, kinds, _zero_safe(reference), True))

    add(ANY, 2, add=np.add, mul=np.multiply)
    add(NUMBER, 2, sub=np.subtract)
    add(FLOATS, 2, div=np.true_divide)
    add(frozenset((FLOAT, INTEGER)), 2, floordiv=_floordiv, mod=_mod)
    add(NUMBER, 2, pow=np.power)
    add(REAL, 2, maximum=np.maximum, minimum=np.minimum)
    add(NUMBER, 1, neg=np.negative, square=np.square)
    add(REAL, 1, abs=np.abs)
    add(frozenset((FLOAT, INTEGER)), 1, sign=np.sign)
    add(
        FLOATS,
        1,
        reciprocal=lambda x: np.divide(np.ones((), np.asarray(x).dtype), x),
        sqrt=np.sqrt,
        exp=np.exp,
        log=np.log,
    )
    add(
        FLOATS,
        1,
        sin=np.sin,
        cos=np.cos,
        tan=np.tan,
        sinh=np.sinh,
        cosh=np.cosh,
        tanh=np.tanh,
        expm1=np.expm1,
        log1p=np.log1p,
    )
    add(
        FLOATS,
        1,
        asin=np.arcsin,
        acos=np.arccos,
        atan=np.arctan,
        asinh=np.arcsinh,
        acosh=np.arccosh,
        atanh=np.arctanh,
    )
    add(
        frozenset((FLOAT,)),
        1,
        rsqrt=_formula(lambda x: 1 / np.sqrt(x)),
        complement=lambda x: np.subtract(np.ones((), np.asarray(x).dtype), x),
        sigmoid=_formula(_sigmoid),
        softplus=_formula(_softplus),
    )
    add(frozenset((FLOAT,)), 1, exp2=np.exp2, log2=np.log2, log10=np.log10, cbrt=np.cbrt)
    add(frozenset((FLOAT,)), 1, erf=_formula(_by_element(math.erf)), erfc=_formula(_by_element(math.erfc)))
    add(frozenset((FLOAT,)), 2, atan2=np.arctan2, hypot=np.hypot, fmod=np.fmod)
    add(frozenset((FLOAT,)), 1, floor=np.floor, ceil=np.ceil, round=np.rint, trunc=np.trunc)
    predicate(ANY, 2, eq=np.equal, ne=np.not_equal)
    predicate(REAL, 2, lt=np.less, le=np.less_equal, gt=np.greater, ge=np.greater_equal)
    predicate(frozenset((FLOAT, COMPLEX)), 1, isnan=np.isnan, isinf=np.isinf, isfinite=np.isfinite)
    add(frozenset((BOOL, INTEGER)), 2, and_=np.bitwise_and, or_=np.bitwise_or, xor=np.bitwise_xor)
    add(frozenset((BOOL, INTEGER)), 1, not_=np.invert)
    add(frozenset((INTEGER,)), 2, shl=np.left_shift, shr=np.right_shift, mulhigh=mul_high)
    add(ANY, 3, select=np.where)
    add(ANY, 1, cast=lambda x: x, copy=lambda x: x)
    return rows


TABLE: dict[str, Scalar] = {row.name: row for row in _rows()}

# the result of an empty reduction, and the start value of any other
IDENTITIES: dict[str, Callable[[DType], Any]] = {
    "add": lambda dtype: 0,
    "mul": lambda dtype: 1,
    "max": lambda dtype: -math.inf if dtype.is_floating else False if dtype.is_bool else int(dtype.min),
    "min": lambda dtype: math.inf if dtype.is_floating else True if dtype.is_bool else int(dtype.max),
    "and": lambda dtype: True,
    "or": lambda dtype: False,
}


def identity_of(combine: str, dtype: DType) -> Any:
    """The identity of `combine`, which is the result of an empty reduction."""
    return IDENTITIES[combine](dtype)


def result_dtype(fn: str, dtypes: Sequence[DType], declared: DType | None = None) -> DType:
    """The dtype of fn's result; only `cast` needs it declared. Raises: InternalError: these arguments do not fit."""
    row = TABLE.get(fn)
    if row is None:
        raise InternalError(f"kernel: there is no scalar function {fn!r}")
    if len(dtypes) != row.arity:
        raise InternalError(f"kernel: {fn} takes {row.arity} arguments, not {len(dtypes)}")
    operands = dtypes[1:] if fn == "select" else dtypes
    if fn == "select" and dtypes[0] is not bool_:
        raise InternalError(f"kernel: select's condition is {dtypes[0].name}, not bool")
    if any(dtype is not operands[0] for dtype in operands) or kind_of(operands[0]) not in row.kinds:
        raise InternalError(f"kernel: {fn} does not take {', '.join(d.name for d in dtypes)}")
    if fn == "cast":
        if declared is None:
            raise InternalError("kernel: cast needs the dtype of its result")
        return declared
    if fn == "abs" and operands[0].is_complex:
        return float32 if operands[0].itemsize == 8 else float64
    return bool_ if row.is_predicate else operands[0]


def apply(fn: str, args: Sequence[Array], dtype: DType) -> Any:
    """The NumPy value of one statement: the reference that every backend is compared with."""
    with np.errstate(all="ignore"):
        if fn == "cast":
            return converted(np.asarray(args[0]), dtype.numpy)
        value = np.asarray(TABLE[fn].reference(*args))
    return value if value.dtype == dtype.numpy else value.astype(dtype.numpy)
