"""NumPy's functions on tensors: `np.sin(t)` and `array + t` are graphad's ops and are recorded as such.

A function that graphad has runs as graphad's. Any other runs on the data and gives arrays where nothing follows the tensor; where
a derivative would end unnoticed, or there is no data yet, it is refused with the way out named. Asking for numbers (`float(t)`,
`np.array(t)`, `np.array([t, u])`) ends a derivative, as it must; a tape notes where, and its `why_none` says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError
from graphad.core.levels import is_followed, trace_in_progress
from graphad.core.nest import flatten
from graphad.core.tensor import VALUES, EagerTensor, Handle
from graphad.ops import array, linalg, math

_SAME_NAME = (
    "add subtract multiply divide sin cos tan sinh cosh tanh exp expm1 log log1p sqrt square reciprocal floor ceil rint trunc "
    "sign negative maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift logaddexp"
).split()
_OTHER_NAME = {
    "absolute": "abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "conjugate": "conj",
    "fabs": "abs",
    "floor_divide": "floordiv",
    "isfinite": "is_finite",
    "isinf": "is_inf",
    "isnan": "is_nan",
    "power": "pow",
    "remainder": "mod",
}
_UFUNCS: dict[Any, Callable[..., Any]] = {getattr(np, name): getattr(math, name) for name in _SAME_NAME}
_UFUNCS |= {getattr(np, name): getattr(math, ours) for name, ours in _OTHER_NAME.items()}
_REDUCES = {
    np.add: math.reduce_sum,
    np.multiply: math.reduce_prod,
    np.maximum: math.reduce_max,
    np.minimum: math.reduce_min,
    np.logical_and: math.reduce_all,
    np.logical_or: math.reduce_any,
}


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__` of tensors and variables."""
    if any(isinstance(x, VALUES) for x in kwargs.get("out") or ()):
        raise ArgumentTypeError(f"np.{ufunc.__name__}: out= is not supported, since tensors are immutable.")
    plain = {key: value for key, value in kwargs.items() if value is not None}
    if method == "__call__" and not plain and ufunc in _UFUNCS:
        return _UFUNCS[ufunc](*inputs)
    if method == "reduce" and ufunc in _REDUCES and plain.keys() <= {"axis", "keepdims"}:
        operand = _wide(inputs[0]) if ufunc in (np.add, np.multiply) else inputs[0]
        return _REDUCES[ufunc](operand, kwargs.get("axis", 0), kwargs.get("keepdims", False))
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    known = ufunc in (_UFUNCS if method == "__call__" else _REDUCES if method == "reduce" else ())
    lacking = f"graphad's takes no {', '.join(sorted(plain))}" if known else _NO_SUCH
    return _on_arrays(getattr(ufunc, method), name, lacking, inputs, kwargs)


def array_function(
    self: Any, func: Any, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`__array_function__` of tensors and variables."""
    if func in _LOOKING:
        return func(*_plain(args), **{key: _plain((value,))[0] for key, value in kwargs.items()})
    row, lacking = _FUNCTIONS.get(func), _NO_SUCH
    if row is not None:
        given = {
            key: value for key, value in kwargs.items() if value is not None and value is not np._NoValue
        }
        try:
            inspect.signature(row).bind(*args, **given)
        except TypeError as cause:
            lacking = f"graphad's does not take these arguments ({cause})"
        else:
            return row(*args, **given)
    return _on_arrays(func, func.__name__, lacking, args, kwargs)


_NO_SUCH = "graphad has no such function"


def _on_arrays(
    function: Callable[..., Any], name: str, lacking: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A function of NumPy's that graphad does not have, on the data: where nothing follows the tensors, nothing is lost.

    Raises: ArgumentTypeError (a TypeError): a derivative would end here, or there is no data yet.
    """
    for x in flatten([list(args), kwargs])[0]:
        if not isinstance(x, VALUES):
            continue
        if type(x) is not EagerTensor and (trace_in_progress() is not None or not isinstance(x, Handle)):
            why = "its values are not known while a function is traced or vectorized"
        elif is_followed(x):
            why = "a derivative is being recorded, and would end here"
        else:
            continue
        raise ArgumentTypeError(
            f"np.{name}: {lacking}, and NumPy's cannot take this tensor: {why}. Write it with graphad's functions; or, where no "
            "derivative is wanted, call it on np.asarray(tf.stop_gradient(x)), outside of traced functions."
        )
    return function(*_plain(args), **{key: _plain((value,))[0] for key, value in kwargs.items()})


def _plain(args: Any) -> Any:
    """Arguments with eager tensors as arrays."""
    return tuple(
        np.asarray(x)
        if isinstance(x, EagerTensor) or hasattr(x, "__graphad_tensor__")
        else type(x)(_plain(x))
        if type(x) in (list, tuple)
        else x
        for x in args
    )


def function_of(function: Any) -> Callable[..., Any]:
    """What graphad has for one of NumPy's functions."""
    return _UFUNCS[function] if function in _UFUNCS else _FUNCTIONS[function]


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(a, axis, keepdims)

    return reduce


def _added(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum or product: NumPy's of small integers are as wide as its largest."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return function(_wide(a, dtype), axis, keepdims)

    return reduce


def _wide(a: Any, dtype: Any = None) -> Any:
    """The operand of a sum: in `dtype`, and without one, small integers and bools as the largest integers of their sign."""
    a = lift(a)
    if dtype is None:
        if not (a.dtype.is_integer or a.dtype.is_bool):
            return a
        dtype = np.uint64 if a.dtype.is_unsigned else np.int64
    return math.cast(a, dtype)


def _in_floats(a: Any, dtype: Any = None) -> Any:
    """The operand of a mean: in `dtype`, and without one, integers and bools as float64."""
    a = lift(a)
    if dtype is None:
        if not (a.dtype.is_integer or a.dtype.is_bool):
            return a
        dtype = np.float64
    return math.cast(a, dtype)


def _as_bool(a: Any) -> Any:
    a = lift(a)
    return a if a.dtype.is_bool else math.not_equal(a, 0)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return math.reduce_mean(_in_floats(a, dtype), axis, keepdims)


def _round(a: Any, decimals: int = 0) -> Any:
    a = lift(a)
    if not decimals or a.dtype.is_integer:
        return math.round(a)
    scale = 10.0 ** abs(decimals)
    scaled = math.round(a * scale if decimals > 0 else a / scale)
    return scaled / scale if decimals > 0 else scaled * scale


def _variance(a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False, correction: Any = None) -> Any:
    a = _in_floats(a)
    spread = math.reduce_variance(a, axis, keepdims)
    ddof = ddof if correction is None else correction
    if type(ddof) is int and ddof == 0:
        return spread
    # How many elements one of the result stands for.
    count = math.divide(array.size(a), math.maximum(array.size(spread), 1))
    return math.multiply(
        spread, math.cast(math.divide(count, math.subtract(count, float(ddof))), spread.dtype)
    )


def _deviation(
    a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False, correction: Any = None
) -> Any:
    return math.sqrt(_variance(a, axis, ddof, keepdims, correction))


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is not None:
        return array.roll(a, shift, axis)
    return array.reshape(array.roll(array.reshape(a, [-1]), shift, 0), array.shape(a))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **limits: Any) -> Any:
    low, high = limits.get("min", a_min), limits.get("max", a_max)
    if low is not None:
        a = math.maximum(a, low)
    return a if high is None else math.minimum(a, high)


def _cumulative(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        a = _wide(a, dtype)
        if axis is None:
            a, axis = array.reshape(a, [-1]), 0
        return function(a, axis)

    return run


def _position(function: Callable[..., Any]) -> Callable[..., Any]:
    def search(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        a = lift(a)
        rank = a.ndim
        if axis is None:
            found = function(array.reshape(a, [-1]), 0)
            return array.reshape(found, [1] * rank) if keepdims else found
        found = function(a, axis)
        return array.expand_dims(found, axis) if keepdims else found

    return search


def _sequence(function: Callable[..., Any]) -> Callable[..., Any]:
    def join(arrays: Any, axis: int = 0) -> Any:
        return function(list(arrays), axis)

    return join


def _transpose(a: Any, axes: Any = None) -> Any:
    return array.transpose(a, axes)


def _reshape(a: Any, shape: Any = None, newshape: Any = None) -> Any:
    return array.reshape(a, newshape if shape is None else shape)


def _where(condition: Any, *branches: Any) -> Any:
    return math.where(condition, *branches)


def _matrix_product(a: Any, b: Any) -> Any:
    """np.matmul and np.dot, which also take vectors."""
    ranks = [
        np.ndim(x) if x_rank is None else x_rank
        for x, x_rank in ((a, getattr(a, "ndim", None)), (b, getattr(b, "ndim", None)))
    ]
    if 0 in ranks:
        return math.multiply(a, b)
    return linalg.tensordot(a, b, 1) if 1 in ranks else linalg.matmul(a, b)


def _outer(a: Any, b: Any) -> Any:
    reshape = array.reshape
    return math.multiply(reshape(a, [-1, 1]), reshape(b, [1, -1]))


def _vector_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return linalg.norm(x, "euclidean" if ord is None else ord, axis, keepdims)


def _flip(m: Any, axis: Any = None) -> Any:
    axes = range(m.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return array.reverse(m, list(axes))


def _sorted_by(name: str) -> Callable[..., Any]:
    def run(a: Any, axis: int = -1) -> Any:
        found = getattr(array, name)(a, axis)
        return math.cast(found, np.int64) if name == "argsort" else found

    return run


def _logarithm(base: float) -> Callable[..., Any]:
    return lambda x: math.divide(math.log(x), float(np.log(base)))


def _algebra(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:  # asks for a late name of `linalg` only now
        return getattr(linalg, name)(*args, **kwargs)

    return run


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _added(math.reduce_sum),
    np.mean: _mean,
    np.prod: _added(math.reduce_prod),
    np.max: _over(math.reduce_max),
    np.min: _over(math.reduce_min),
    np.amax: _over(math.reduce_max),
    np.amin: _over(math.reduce_min),
    np.all: _over(lambda a, *rest: math.reduce_all(_as_bool(a), *rest)),
    np.any: _over(lambda a, *rest: math.reduce_any(_as_bool(a), *rest)),
    np.var: _variance,
    np.std: _deviation,
    np.cumsum: _cumulative(math.cumsum),
    np.cumprod: _cumulative(math.cumprod),
    np.argmax: _position(math.argmax),
    np.argmin: _position(math.argmin),
    np.clip: _clip,
    np.where: _where,
    np.real: math.real,
    np.imag: math.imag,
    np.angle: math.angle,
    np.sinc: math.sinc,
    np.round: _round,
    np.count_nonzero: _over(math.count_nonzero),
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.ravel: lambda a: _reshape(a, [-1]),
    np.squeeze: array.squeeze,
    np.expand_dims: array.expand_dims,
    np.broadcast_to: array.broadcast_to,
    np.concatenate: _sequence(array.concat),
    np.stack: _sequence(array.stack),
    np.zeros_like: array.zeros_like,
    np.ones_like: array.ones_like,
    np.einsum: _algebra("einsum"),
    np.tensordot: _algebra("tensordot"),
    np.trace: _algebra("trace"),
    np.dot: _matrix_product,
    np.outer: _outer,
    np.flip: _flip,
    np.roll: _roll,
    np.sort: _sorted_by("sort"),
    np.argsort: _sorted_by("argsort"),
    np.tile: lambda A, reps: array.tile(A, [reps] if isinstance(reps, int) else reps),
    np.repeat: lambda a, repeats, axis=None: array.repeat(a, repeats, axis),
    np.linalg.norm: _vector_norm,
    np.linalg.inv: _algebra("inv"),
    np.linalg.det: _algebra("det"),
    np.linalg.solve: _algebra("solve"),
    np.linalg.cholesky: _algebra("cholesky"),
}
_UFUNCS |= {
    np.matmul: _matrix_product,
    np.positive: lambda x: math.add(x, 0),
    np.log2: _logarithm(2.0),
    np.log10: _logarithm(10.0),
    np.exp2: lambda x: math.pow(2.0, x),
    np.hypot: lambda x, y: math.sqrt(math.add(x * x, y * y)),
    np.degrees: lambda x: math.multiply(x, 180.0 / np.pi),
    np.radians: lambda x: math.multiply(x, np.pi / 180.0),
    np.rad2deg: lambda x: math.multiply(x, 180.0 / np.pi),
    np.deg2rad: lambda x: math.multiply(x, np.pi / 180.0),
}
# Functions that only look at values: their results carry no gradient in NumPy's sense either.
_LOOKING = frozenset(
    {
        np.allclose,
        np.array2string,
        np.array_equal,
        np.array_equiv,
        np.array_repr,
        np.array_str,
        np.isclose,
        np.may_share_memory,
        np.ndim,
        np.result_type,
        np.can_cast,
        np.save,
        np.savetxt,
        np.savez,
        np.savez_compressed,
        np.searchsorted,
        np.shape,
        np.shares_memory,
        np.size,
    }
)
