"""Public functions with a short way: for tensors that nothing follows they compute with NumPy at once.

A short way is declared here, at the operators, or by `quick` and `quick_vjp` of an op, or taken by `directly`. Nothing else
asks whether a tape, a trace or another recorder is there; see docs/decisions/0048. The usual way gives the same bits, and has the
words for what does not fit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graphad.core.annotations import BinaryFunction, TensorLike, UnaryFunction
from graphad.core.bind import bind
from graphad.core.blame import blamed
from graphad.core.convert import lift, lift_truths
from graphad.core.dtypes import ALL, DType, bfloat16
from graphad.core.errors import GraphadError
from graphad.core.ieee import SHORT_WAY_ENDS
from graphad.core.kinds import BOOLEAN
from graphad.core.levels import busy
from graphad.core.op import Op
from graphad.core.sparse import Sparse
from graphad.core.tensor import EagerTensor, Tensor, blank
from graphad.core.tracebacks import of_call
from graphad.ops.choice import BESIDE

F = TypeVar("F", bound=Callable[..., Any])


_FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_NUMBERS = {float: _FLOATS, int: _FLOATS}  # the Python numbers that tensors of these dtypes adopt


@functools.cache
def quick_dtypes(kinds: frozenset[str]) -> frozenset[np.dtype[Any]]:
    """The NumPy dtypes of some kinds. bfloat16, whose package may be missing, takes the long way."""
    return frozenset(dtype.numpy for dtype in ALL if dtype.kind in kinds and dtype is not bfloat16)


_FLOAT32 = np.dtype(np.float32)


def likely_dtype(quick: frozenset[np.dtype[Any]]) -> np.dtype[Any] | None:
    """The dtype that is told by identity before the others are looked up, which takes longer; None if it is not among them."""
    return _FLOAT32 if _FLOAT32 in quick else None


def lift_of(kinds: frozenset[str]) -> Callable[[object], Tensor]:
    """How operands of an op for some kinds of dtypes become tensors."""
    return lift_truths if kinds == BOOLEAN else lift


def of_one(op: Op, formula: Callable[[Any], Any], kinds: frozenset[str]) -> UnaryFunction:
    """f(x, name=None), an op of one tensor: `formula` of its NumPy value where that is of one of the kinds."""
    quick, lifted = quick_dtypes(kinds), lift_of(kinds)
    likely = likely_dtype(quick)

    def function(x: TensorLike, name: str | None = None) -> Tensor:
        if type(x) is EagerTensor:
            if busy() is not None:
                return bind(op, x)
            data = x.data
            dtype = data.dtype
            if dtype is likely or dtype in quick:
                try:
                    y = blank(EagerTensor)
                    y.data, y.mark = formula(data), None
                    return y
                except SHORT_WAY_ENDS:
                    pass
        elif isinstance(x, Sparse) and x.holds_values and is_zero_at_zero(formula, x.dtype):
            return x.with_values(function(x.values))  # type: ignore[return-value]  # sparse, as x is
        return bind(op, lifted(x))

    return function


def is_zero_at_zero(formula: Callable[[Any], Any], dtype: DType) -> bool:
    """Whether a formula gives 0 for 0, so that it may be taken of the values of a sparse tensor alone."""
    with np.errstate(all="ignore"):
        return bool(formula(dtype.numpy.type(0)) == 0)


def of_two(
    formula: Callable[[Any, Any], Any],
    kinds: frozenset[str],
    usual: Callable[[TensorLike, TensorLike], Tensor],
) -> BinaryFunction:
    """f(x, y, name=None): `formula` of the NumPy values of two tensors of one dtype, of one of the kinds, or of floats and a
    Python number; else `usual`."""
    quick = quick_dtypes(kinds)
    likely = likely_dtype(quick)

    def function(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        if type(x) is EagerTensor and type(y) is EagerTensor and busy() is None:
            a, b = x.data, y.data
            dtype = a.dtype
            if dtype is b.dtype and (dtype is likely or dtype in quick):
                try:
                    z = blank(EagerTensor)
                    z.data, z.mark = formula(a, b), None
                    return z
                except SHORT_WAY_ENDS:
                    pass
        elif type(y) in _NUMBERS and type(x) is EagerTensor and busy() is None:
            a = x.data
            dtype = a.dtype
            if dtype in _NUMBERS[type(y)] and dtype in quick and a.size < BESIDE:
                try:
                    b = dtype.type(y)
                    z = blank(EagerTensor)
                    z.data, z.mark = formula(a, b), None
                    return z
                except SHORT_WAY_ENDS:
                    pass
        try:
            return usual(x, y)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    return function


def short_way(quick: Callable[..., Tensor | None]) -> Callable[[F], F]:
    """A decorator of f(x, option, name=None) or f(x, first, second, name=None).

    Args:
      quick: The short way, for an eager tensor x and the options. It gives None where the usual way must be taken.
    """

    def decorated(usual: F) -> F:
        def with_option(x: Any, option: Any, name: Any = None) -> Any:
            if type(x) is EagerTensor and busy() is None:
                try:
                    found = quick(x, option)
                    if found is not None:
                        return found
                except SHORT_WAY_ENDS:
                    pass
            try:
                return usual(x, option)
            except Exception as error:  # raised on, with the name of the argument that does not fit
                told = blamed(function, (x, option), {}, error)
                raise of_call(told)  # noqa: B904 - it is the same error, or has its cause

        def with_options(x: Any, first: Any, second: Any, name: Any = None) -> Any:
            if type(x) is EagerTensor and busy() is None:
                try:
                    found = quick(x, first, second)
                    if found is not None:
                        return found
                except SHORT_WAY_ENDS:
                    pass
            try:
                return usual(x, first, second)
            except Exception as error:  # as above
                told = blamed(function, (x, first, second), {}, error)
                raise of_call(told)  # noqa: B904 - as above

        names = usual.__code__.co_varnames[: usual.__code__.co_argcount]
        function: Any = with_options if len(names) == 4 else with_option
        code = function.__code__
        function.__code__ = code.replace(co_varnames=(*names, *code.co_varnames[len(names) :]))
        function.__defaults__ = usual.__defaults__ or (None,)
        return functools.update_wrapper(function, usual)  # type: ignore[return-value]

    return decorated
