"""Functions of TensorFlow 1 whose arguments or meaning differ in TensorFlow 2. `compat.v1` lists them, next to the functions
that have not changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, NestLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.scopes import executing_eagerly
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.control import branch
from graphad.ops.control import while_loop as loops
from graphad.ops.older_arguments import newer
from graphad.ops.state import effects

# -- control flow ----------------------------------------------------------------------------------------------------------


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> NestLike:
    """As `graphad.cond`; a list of one result is that result unless `strict`. `fn1` and `fn2` are older names."""
    then_fn, else_fn = _one_of("cond", "true_fn", true_fn, fn1), _one_of("cond", "false_fn", false_fn, fn2)
    return _unpacked(branch.cond(pred, then_fn, else_fn), strict)


def case(
    pred_fn_pairs: Sequence[tuple[TensorLike, Callable[[], Any]]] | Mapping[Any, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> NestLike:
    """As `graphad.case`, of pairs or a dict; a list of one result is that result unless `strict`."""
    pairs: Any = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    return _unpacked(branch.case(pairs, default, exclusive), strict)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: NestLike,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> NestLike:
    """As `graphad.while_loop`; a list of one loop variable comes back as that variable unless `return_same_structure`, where
    nothing is traced if `body` gives it so."""
    is_bare = False

    @functools.wraps(body)
    def step(*variables: Any) -> Any:
        nonlocal is_bare
        result = body(*variables)
        is_bare = not isinstance(result, list | tuple)
        return result

    found = loops.while_loop(
        cond,
        step,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
    )
    return _unpacked(found, return_same_structure or (executing_eagerly() and not is_bare))


def _one_of(op: str, name: str, new: object, old: object) -> Any:
    if (new is None) == (old is None):
        raise ArgumentTypeError(f"{op}: {name} must be given, once.")
    return old if new is None else new


def _unpacked(found: Any, as_it_is: bool) -> Any:
    single = type(found) in (list, tuple) and len(found) == 1
    return found[0] if single and not as_it_is else found


@blaming
def Print(
    input_: TensorLike,
    data: list[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `input_` and prints `message` and `data`. Raises: InvalidArgumentError: `first_n` is given, which is not
    supported."""
    if first_n is not None and first_n >= 0:
        raise InvalidArgumentError(
            "Print: first_n is not supported, since calls are not counted; leave it out."
        )
    shown = [x if isinstance(x, str) else lift(x) for x in data]
    rows = [array.reshape(x, [1]) if isinstance(x, Tensor) and x.ndim == 0 else x for x in shown]
    effects.print(*([message] if message else []), *rows, summarize=summarize, sep="")
    return array.identity(input_)


# -- arrays ------------------------------------------------------------------------------------------------------------------


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """As `graphad.where`, without broadcasting: a vector `condition` selects rows of `x` and `y`."""
    if x is None or y is None:
        return math.where(condition, x, y)
    condition, (x, y) = lift(condition), lift_pair("where", x, y)
    if condition.ndim == 1 and x.ndim is not None and x.ndim > 1:
        condition = array.reshape(condition, [-1] + [1] * (x.ndim - 1))
    return math.where(condition, x, y)


def expand_dims(
    input: TensorLike, axis: AxisLike = None, name: str | None = None, dim: AxisLike = None
) -> Tensor:
    """As `graphad.expand_dims`; `dim` is an older name of `axis`."""
    return array.expand_dims(input, _one_of("expand_dims", "axis", axis, dim))


def squeeze(
    input: TensorLike, axis: AxisLike = None, name: str | None = None, squeeze_dims: AxisLike = None
) -> Tensor:
    """As `graphad.squeeze`; `squeeze_dims` is an older name of `axis`."""
    return array.squeeze(input, newer("squeeze", "axis", axis, "squeeze_dims", squeeze_dims))


def argmax(
    input: TensorLike,
    axis: AxisLike = None,
    name: str | None = None,
    dimension: AxisLike = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """As `graphad.argmax`; `dimension` is an older name of `axis`."""
    return math.argmax(input, newer("argmax", "axis", axis, "dimension", dimension), output_type)


def argmin(
    input: TensorLike,
    axis: AxisLike = None,
    name: str | None = None,
    dimension: AxisLike = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """As `graphad.argmin`; `dimension` is an older name of `axis`."""
    return math.argmin(input, newer("argmin", "axis", axis, "dimension", dimension), output_type)


def arg_max(
    input: TensorLike, dimension: AxisLike, output_type: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """As `graphad.argmax`."""
    return math.argmax(input, dimension, output_type)


def arg_min(
    input: TensorLike, dimension: AxisLike, output_type: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """As `graphad.argmin`."""
    return math.argmin(input, dimension, output_type)


# -- numbers -----------------------------------------------------------------------------------------------------------------


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y; for integers x // y."""
    x = lift(x)
    y = lift(y, x.dtype)
    return math.truediv(x, y) if x.dtype.is_differentiable else math.floordiv(x, y)


def _reduction(name: str) -> Callable[..., Tensor]:
    function = getattr(math, name)

    @blaming
    def reduce(
        input_tensor: TensorLike,
        axis: AxisLike = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: AxisLike = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = newer(reduce.__name__, "axis", axis, "reduction_indices", reduction_indices)
        kept = newer(reduce.__name__, "keepdims", keepdims, "keep_dims", keep_dims)
        return function(input_tensor, axis, bool(kept))  # type: ignore[no-any-return]

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = (
        f"As `graphad.{name}`; `reduction_indices` and `keep_dims` are older names of `axis` and `keepdims`."
    )
    return reduce


reduce_all = _reduction("reduce_all")
reduce_any = _reduction("reduce_any")
reduce_logsumexp = _reduction("reduce_logsumexp")
reduce_max = _reduction("reduce_max")
reduce_mean = _reduction("reduce_mean")
reduce_min = _reduction("reduce_min")
reduce_prod = _reduction("reduce_prod")
reduce_sum = _reduction("reduce_sum")


def _cast_to(dtype: DType, name: str) -> Callable[..., Tensor]:
    def convert(x: TensorLike, name: str | None = None) -> Tensor:
        return math.cast(x, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"`x` as a tensor of {dtype.name}; see `graphad.cast`."
    return convert


to_bfloat16 = _cast_to(dtypes.bfloat16, "to_bfloat16")
to_complex64 = _cast_to(dtypes.complex64, "to_complex64")
to_complex128 = _cast_to(dtypes.complex128, "to_complex128")
to_double = _cast_to(dtypes.float64, "to_double")
to_float = _cast_to(dtypes.float32, "to_float")
to_int32 = _cast_to(dtypes.int32, "to_int32")
to_int64 = _cast_to(dtypes.int64, "to_int64")
