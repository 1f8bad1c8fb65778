"""NumPy's functions on tensors: `np.sin(t)` is graphad's op where a derivative is recorded, and NumPy's where none is.

Where no tape, accumulator or transform follows the tensors and their values are known, NumPy computes, and results are arrays.
Otherwise a NumPy function is the function of that name in `graphad.ops.numpy`, and one that is missing there raises an error that
names an alternative, since it would silently end a derivative. Operators with an array at their left, `array + t`, ask NumPy
first and give tensors. Conversion to numbers (`float(t)`, `np.array(t)`, `np.array([t, u])`) ends a derivative; a tape
records where, for `why_none`.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.ops.numpy.fft as fft
import graphad.ops.numpy.linalg as linalg
from graphad.core.convert import lift_pair
from graphad.core.dtypes import bfloat16, is_known
from graphad.core.errors import ArgumentTypeError, UnsupportedOptionError
from graphad.core.flags import flags
from graphad.core.leaving import refusal
from graphad.core.levels import is_followed, trace_in_progress
from graphad.core.memo import Memo
from graphad.core.nest import flatten
from graphad.core.tensor import VALUES, EagerTensor, Handle, read_only
from graphad.ops import numpy as by_numpy
from graphad.ops.numpy import scipy_special
from graphad.ops.numpy.folding import method_of
from graphad.ops.numpy.scipy_special import of_scipy

if TYPE_CHECKING:
    from graphad.core.annotations import Array, DTypeLike, TensorLike
    from graphad.core.tensor import Tensor


# graphad's modules for NumPy's functions, by the `__module__` of these.
_SPACES: dict[str, Any] = {"numpy": by_numpy, "numpy.linalg": linalg, "numpy.fft": fft}
_NAMES = {place: frozenset(space.__all__) for place, space in _SPACES.items()}
_OPTIONS = {
    "__call__": {"dtype"},
    "reduce": {"axis", "keepdims", "dtype", "initial", "where"},
    "accumulate": {"axis", "dtype"},
    "reduceat": {"axis", "dtype"},
    "outer": {"dtype"},
}
# The ufuncs by which NumPy computes `array + t`: they cannot be told from it with an array at the left.
_OPERATORS = frozenset(
    getattr(np, name)
    for name in "add subtract multiply divide floor_divide remainder divmod power matmul bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift less less_equal greater greater_equal equal not_equal".split()
)
# Those of them whose numbers or dtypes are others than those of the operator of tensors: 1.0 // 0.1, quotients of small integers.
_OTHERWISE: dict[Any, Callable[[Any, Any], Any]] = {
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
}
_signatures = Memo("signatures", 512)


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: TensorLike, **kwargs: Any) -> Any:
    """`__array_ufunc__` of tensors and variables."""
    if any(isinstance(x, VALUES) for x in kwargs.get("out") or ()):
        raise ArgumentTypeError(f"np.{ufunc.__name__}: out= is not supported, since tensors are immutable.")
    if method == "at" and isinstance(inputs[0], VALUES):
        raise ArgumentTypeError(
            f"np.{ufunc.__name__}.at: tensors are immutable; x.at[indices].add(y), multiply, max and kin give a new one."
        )
    plain = {
        key: value
        for key, value in kwargs.items()
        if value is not np._NoValue and (value is not None or key == "axis")  # without an axis: all of them
    }
    is_operator = (
        method == "__call__"
        and ufunc in _OPERATORS
        and not plain
        and (isinstance(inputs[0], np.ndarray | np.generic) or any(map(_is_strange, inputs)))
    )
    is_numpys = not is_operator and _is_numpys([inputs, kwargs])
    if is_numpys and trace_in_progress() is None:
        return _on_arrays(getattr(ufunc, method), inputs, kwargs)
    row = _of_ufunc(ufunc, method)
    if is_operator and not flags.numpy_promotion:
        row = _OTHERWISE.get(ufunc, row)
    if method == "__call__" and _is_in_place(plain, inputs):
        # `array /= t`: the name stands for a tensor from here on, as for operands that NumPy does not know.
        del plain["out"]
    if (
        row is not None
        and plain.keys() <= _OPTIONS[method]
        and (method != "__call__" or len(inputs) == ufunc.nin)
    ):
        try:
            return row(*(_adopting(ufunc, inputs) if method in ("__call__", "outer") else inputs), **plain)
        except UnsupportedOptionError as cause:
            lacking = f"graphad's does not take these arguments ({cause})"
    elif row is not None:
        lacking = f"graphad's takes no {', '.join(sorted(plain))}"
    else:
        lacking = _NO_SUCH
    if is_numpys:
        return _on_arrays(getattr(ufunc, method), inputs, kwargs)
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    name = f"scipy.special.{name}" if of_scipy(ufunc) else f"np.{name}"
    raise _refused(name, lacking, [inputs, kwargs])


def _is_strange(x: object) -> bool:
    """Whether an operand is an array that no tensor holds, to which Python's operators of tensors leave the answer."""
    return isinstance(x, np.ndarray) and not is_known(x.dtype)


def _is_in_place(options: dict[str, Any], inputs: Sequence[Any]) -> bool:
    """Whether a result is to be written into the first operand, an array."""
    out = options.get("out")
    return len(options) == 1 and out is not None and len(out) == 1 and out[0] is inputs[0]


def _of_ufunc(ufunc: Callable[..., Any], method: str) -> Callable[..., Any] | None:
    """graphad's counterpart of a ufunc method."""
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:  # a ufunc of another library
        return scipy_special.recorded(name) if method == "__call__" and of_scipy(ufunc) else None
    own: Callable[..., Any] | None = getattr(by_numpy, name, None) if name in _NAMES["numpy"] else None
    if method != "__call__":
        return method_of(ufunc, method, own)
    return own if own is None else _with_dtype(own)


def _with_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*xs: TensorLike, dtype: DTypeLike | None = None) -> Any:
        if dtype is None:
            return function(*xs)
        return function(*[by_numpy.asarray(x, dtype) for x in xs])

    return run


def _adopting(ufunc: Callable[..., Any], inputs: Sequence[Any]) -> Sequence[Any]:
    """Operands, with NumPy values converted to the dtype of the tensor: `array * t` has the dtype of t, like `t * array`."""
    if len(inputs) != 2 or flags.numpy_promotion or ufunc is np.ldexp:  # whose exponents are integers
        return inputs
    x, y = inputs
    if isinstance(x, np.ndarray | np.generic | list | tuple) != isinstance(
        y, np.ndarray | np.generic | list | tuple
    ):
        return lift_pair(ufunc.__name__, x, y)
    return inputs


def array_function(
    self: Handle | Tensor, func: Any, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`__array_function__` of tensors and variables."""
    name = func.__name__
    if name in _LOOKING and not _has_no_data(args, kwargs):
        return func(
            *_plain(args, _seen), **{key: _plain((value,), _seen)[0] for key, value in kwargs.items()}
        )
    is_numpys = _is_numpys([args, kwargs])
    takes_none = name in _TAKING_NONE and any(x is None for x in args)
    is_narrow = False
    if is_numpys and (takes_none or trace_in_progress() is None):
        try:
            return _on_arrays(func, args, kwargs)
        except TypeError:  # some of NumPy's functions know its own dtypes alone
            is_narrow = not takes_none and _has_bfloat16([args, kwargs])
            if not is_narrow:
                raise
    if takes_none:
        raise _refused(f"np.{name}", "graphad's takes no None", [args, kwargs])
    space = _SPACES.get(func.__module__)
    lacking = _ELSEWHERE.get(name, _NO_SUCH)
    if space is not None and name in _NAMES[func.__module__]:
        row = getattr(space, name)
        try:
            args_of_row, options = _fitted(func, row, args, kwargs)
        except TypeError as cause:
            lacking = f"graphad's does not take these arguments ({cause})"
        else:
            try:
                found = row(*args_of_row, **options)
                return _in_arrays(found) if is_narrow else _counted(found)
            except UnsupportedOptionError as cause:
                lacking = f"graphad's does not take these arguments ({cause})"
    if is_numpys:
        return _on_arrays(func, args, kwargs)
    raise _refused(f"np.{name}", lacking, [args, kwargs])


def _counted(result: Any) -> Any:
    """The result with integers and truth values as NumPy's, which no derivative needs: counts and places, with which programs go
    on computing as with NumPy's numbers."""
    if type(result) is EagerTensor:
        return np.array(result.numpy())[()] if result.data.dtype.kind in "iub" else result
    if type(result) in (tuple, list):
        return type(result)(map(_counted, result))
    return result


def _has_bfloat16(args: Sequence[Any]) -> bool:
    return any(isinstance(x, VALUES) and x.spec.dtype is bfloat16 for x in flatten(list(args))[0])


def _in_arrays(result: Any) -> Any:
    """The result of graphad's function as NumPy's would give it."""
    if type(result) in (tuple, list):
        return type(result)(map(_in_arrays, result))
    return np.array(result.numpy())[()] if type(result) is EagerTensor else result


_NO_SUCH = "graphad has no such function"
# With None for an option that is not given, as matplotlib's `bar` broadcasts all it has.
_TAKING_NONE = frozenset(("broadcast_arrays",))
# What graphad does in another way, so that a NumPy function of that name does not call it.
_ELSEWHERE = {
    "apply_along_axis": "graphad.numpy.apply_along_axis calls its function once, for all slices",
    "sliding_window_view": "graphad has signal.frame for windows",
}


def _fitted(
    function: Any, row: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a NumPy call for graphad's function, without those that equal NumPy's defaults.

    Raises: TypeError: graphad's function does not accept them.
    """
    signature = _signature(row)
    given = {key: value for key, value in kwargs.items() if not _is_default(value, key, function, signature)}
    try:
        signature.bind(*args, **given)
    except TypeError:
        theirs = _signature(function)
        said = theirs.bind(*args, **kwargs).arguments
        if any(theirs.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL for key in said):
            raise
        options: dict[str, Any] = {}
        for key in said:
            is_option = theirs.parameters[key].kind is inspect.Parameter.VAR_KEYWORD
            options |= said[key] if is_option else {key: said[key]}
        needed = [
            key
            for key in said
            if theirs.parameters[key].default is inspect.Parameter.empty and key in options
        ]
        first = [options.pop(key) for key in needed]
        options = {
            key: value
            for key, value in options.items()
            if value is not np._NoValue
            and (key not in theirs.parameters or value is not theirs.parameters[key].default)
        }
        signature.bind(*first, **options)
        return first, options
    return args, given


def _is_default(value: object, key: str, function: Any, signature: inspect.Signature) -> bool:
    """Whether an option says no more than leaving it out does: None may have a meaning of its own, as the axis None."""
    if value is not None or key not in signature.parameters:
        return value is None or value is np._NoValue
    try:
        said = _signature(function).parameters.get(key)
    except ValueError:  # a function of C without a signature
        said = None
    return (said or signature.parameters[key]).default is None


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    found: inspect.Signature = _signatures.get(function) or _signatures.keep(
        function, inspect.signature(function)
    )
    return found


def _has_no_data(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether one of the arguments is a tensor whose values are not known yet."""
    return any(
        type(x) is not EagerTensor and not isinstance(x, Handle)
        for x in flatten([list(args), kwargs])[0]
        if isinstance(x, VALUES)
    )


def _is_numpys(args: Sequence[Any]) -> bool:
    """Whether NumPy's own function can compute: the values are known, in NumPy's arrays, and nothing follows them.

    While a function is traced, it does so only where graphad has no such function: a tape around a later call of the trace may
    follow a tensor that the trace captures.
    """
    return _why_no_arrays(args) is None and all(
        isinstance(x.here() if isinstance(x, Handle) else x.data, np.ndarray | np.generic)
        for x in flatten(list(args))[0]
        if isinstance(x, EagerTensor | Handle)
    )


def _on_arrays(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What NumPy's function makes of the values, in arrays that may be written to."""
    result = function(*_plain(args), **{key: _plain((value,))[0] for key, value in kwargs.items()})
    return _own(result, [list(args), kwargs])


def _own(result: Any, given: Sequence[Any]) -> Any:
    """The result with copies in the place of views, which may be of a tensor, whose values do not change. What was given, as
    `out`, is the result itself."""
    if type(result) is np.ndarray:
        if result.flags.owndata and result.flags.writeable:
            return result
        return result if any(result is x for x in flatten(given)[0]) else result.copy()
    return type(result)([_own(x, given) for x in result]) if type(result) in (tuple, list) else result


def _refused(name: str, lacking: str, args: Sequence[Any]) -> ArgumentTypeError:
    """The error of a function that graphad lacks, where a derivative would end or there is no data yet."""
    why = _why_no_arrays(args) or "the values are on another device"
    return ArgumentTypeError(refusal(name, lacking, why))


def _why_no_arrays(args: Sequence[Any]) -> str | None:
    """Why a tensor among these may not be taken as an array; None where all may."""
    for x in flatten(list(args))[0]:
        if not isinstance(x, VALUES):
            continue
        if type(x) is not EagerTensor and (trace_in_progress() is not None or not isinstance(x, Handle)):
            return "its values are not known while a function is traced or vectorized"
        if is_followed(x):
            return "a derivative is being recorded, and would end here"
    return None


def _seen(x: Any) -> Any:
    """The array of a tensor for who only looks at it, which no tape needs to hear of."""
    if isinstance(x, EagerTensor | Handle):
        return read_only(x.data if isinstance(x, EagerTensor) else x.here())
    return np.asarray(x)


def _plain(args: Sequence[Any], as_array: Callable[[Any], Any] = np.asarray) -> tuple[Array | Any, ...]:
    """Arguments with eager tensors as arrays."""
    return tuple(
        as_array(x)
        if isinstance(x, EagerTensor) or hasattr(x, "__graphad_tensor__")
        else type(x)(_plain(x, as_array))
        if type(x) in (list, tuple)
        else x
        for x in args
    )


# Functions that only inspect values, so that no gradient is lost.
_LOOKING = frozenset(
    "allclose array2string array_equal array_equiv array_repr array_str can_cast isclose iscomplexobj isrealobj may_share_memory "
    "ndim result_type save savetxt savez savez_compressed searchsorted shape shares_memory size".split()
)
