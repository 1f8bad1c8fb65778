"""Functions whose arguments had another order or other names in TensorFlow 1.

`compat.v1` lists them; each calls the newer function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.errors import ArgumentTypeError, DTypeError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math, nn
from graphad.ops.linalg import norms
from graphad.ops.sparse.tensor import SparseTensor
from graphad.ops.state import checks

# -- arrays ------------------------------------------------------------------------------------------------------------------


def boolean_mask(
    tensor: TensorLike,
    mask: TensorLike,
    name: str | None = "boolean_mask",
    axis: int | None = None,
) -> Tensor:
    """As `graphad.boolean_mask`."""
    return array.boolean_mask(tensor, mask, axis)


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Tensor:
    """As `graphad.convert_to_tensor`; `preferred_dtype` is an older name of `dtype_hint`."""
    hint = newer("convert_to_tensor", "dtype_hint", dtype_hint, "preferred_dtype", preferred_dtype)
    return array.convert_to_tensor(value, dtype, hint)


def convert_to_tensor_or_indexed_slices(
    value: TensorLike | IndexedSlices, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """As `graphad.convert_to_tensor`, but `IndexedSlices` stay what they are, and must be of `dtype` if it is given."""
    kept: Tensor | IndexedSlices = _kept("convert_to_tensor_or_indexed_slices", IndexedSlices, value, dtype)
    return kept


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike | SparseTensor, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """As `graphad.convert_to_tensor`, but a `SparseTensor` stays what it is, and must be of `dtype` if it is given."""
    kept: Tensor | SparseTensor = _kept("convert_to_tensor_or_sparse_tensor", SparseTensor, value, dtype)
    return kept


def _kept(op: str, kind: type[IndexedSlices | SparseTensor], value: Any, dtype: DTypeLike | None) -> Any:
    if not isinstance(value, kind):
        return array.convert_to_tensor(value, dtype)
    if dtype is not None and dtypes.as_dtype(dtype) is not value.dtype:
        raise DTypeError(
            f"{op}: the {kind.__name__} has dtype {value.dtype.name}, dtype={dtypes.as_dtype(dtype).name} is asked for; cast "
            "its values."
        )
    return value


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """As `graphad.gather`."""
    return array.gather(params, indices, validate_indices, axis, batch_dims)


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """As `graphad.gather_nd`."""
    return array.gather_nd(params, indices, batch_dims)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """The elements at `indices` along their last axis; the axes before it are those of `params`. See `graphad.gather`."""
    places = array.convert_to_tensor(indices)
    if places.ndim is None:
        raise ArgumentTypeError(
            "batch_gather: the rank of indices must be known; use gather with batch_dims."
        )
    return array.gather(params, places, axis=places.ndim - 1, batch_dims=places.ndim - 1)


def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """As `graphad.ones_like`."""
    return array.ones_like(tensor, dtype)


def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """As `graphad.zeros_like`."""
    return array.zeros_like(tensor, dtype)


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """As `graphad.pad`."""
    return array.pad(tensor, paddings, mode, constant_values)


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """As `graphad.shape`."""
    return array.shape(input, out_type)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """As `graphad.size`."""
    return array.size(input, out_type)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """As `graphad.transpose`."""
    return array.transpose(a, perm, conjugate)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """As `graphad.reverse_sequence`; `seq_dim` and `batch_dim` are older names of `seq_axis` and `batch_axis`."""
    op = "reverse_sequence"
    axis = newer(op, "seq_axis", seq_axis, "seq_dim", seq_dim)
    return array.reverse_sequence(
        input, seq_lengths, axis, newer(op, "batch_axis", batch_axis, "batch_dim", batch_dim)
    )


# -- numbers -----------------------------------------------------------------------------------------------------------------


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """As `graphad.math.confusion_matrix`."""
    return math.confusion_matrix(labels, predictions, num_classes, weights, dtype)


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: AxisLike = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """As `graphad.math.count_nonzero`, with older names of its arguments besides."""
    op = "count_nonzero"
    x = newer(op, "input", input, "input_tensor", input_tensor)
    if x is None:
        raise ArgumentTypeError(f"{op}: input must be given.")
    along = newer(op, "axis", axis, "reduction_indices", reduction_indices)
    return math.count_nonzero(x, along, bool(newer(op, "keepdims", keepdims, "keep_dims", keep_dims)), dtype)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
) -> Tensor:
    """As `graphad.math.bincount`."""
    return math.bincount(arr, weights, minlength, maxlength, dtype)


def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """As `graphad.norm`; `keep_dims` is an older name of `keepdims`."""
    return linalg.norm(tensor, ord, axis, bool(newer("norm", "keepdims", keepdims, "keep_dims", keep_dims)))


def _along_one_axis(name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    def normalize(
        logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
    ) -> Tensor:
        axis = newer(normalize.__name__, "axis", axis, "dim", dim)
        return function(logits, -1 if axis is None else axis)  # type: ignore[no-any-return]

    normalize.__name__ = normalize.__qualname__ = name
    normalize.__doc__ = f"As `graphad.nn.{name}`; `dim` is an older name of `axis`."
    return normalize


softmax = _along_one_axis("softmax", nn.softmax)
log_softmax = _along_one_axis("log_softmax", nn.log_softmax)


def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: AxisLike = None,
) -> Tensor:
    """As `graphad.math.l2_normalize`; `dim` is an older name of `axis`."""
    return norms.l2_normalize(x, newer("l2_normalize", "axis", axis, "dim", dim), epsilon)


# -- checks ------------------------------------------------------------------------------------------------------------------


def assert_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """As `graphad.debugging.assert_all_finite`; `t` and `msg` are older names of `x` and `message`."""
    given = newer("assert_all_finite", "x", x, "t", t)
    said = newer("assert_all_finite", "message", message, "msg", msg)
    return checks.assert_all_finite(given, said)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[object] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """As `graphad.debugging.assert_near`; `data` is not printed."""
    checks.assert_near(x, y, rtol, atol, message, summarize)


def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[TensorLike],
    data: Sequence[object] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """As `graphad.debugging.assert_rank_in`; `data` is not printed."""
    checks.assert_rank_in(x, ranks, message)


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """As `graphad.debugging.assert_scalar`."""
    return checks.assert_scalar(tensor, message)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int, name: str | None = None) -> Tensor:
    """As `graphad.math.in_top_k`, with the operands in the other order."""
    return nn.in_top_k(targets, predictions, k)


def _comparison(name: str) -> Callable[..., None]:
    check = getattr(checks, name)

    def compare(
        x: TensorLike,
        y: TensorLike,
        data: Sequence[object] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> None:
        check(x, y, message=message, summarize=summarize)

    return _named(compare, name)


def _of_one(name: str) -> Callable[..., None]:
    check = getattr(checks, name)

    def compare(
        x: TensorLike,
        data: Sequence[object] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> None:
        check(x, message=message, summarize=summarize)

    return _named(compare, name)


def _of_rank(name: str) -> Callable[..., None]:
    check = getattr(checks, name)

    def compare(
        x: TensorLike,
        rank: TensorLike,
        data: Sequence[object] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> None:
        check(x, rank, message=message)

    return _named(compare, name)


def _named(function: Callable[..., None], name: str) -> Callable[..., None]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `graphad.debugging.{name}`; `data` is not shown."
    return function


assert_equal = _comparison("assert_equal")
assert_greater = _comparison("assert_greater")
assert_greater_equal = _comparison("assert_greater_equal")
assert_less = _comparison("assert_less")
assert_less_equal = _comparison("assert_less_equal")
assert_none_equal = _comparison("assert_none_equal")
assert_negative = _of_one("assert_negative")
assert_non_negative = _of_one("assert_non_negative")
assert_non_positive = _of_one("assert_non_positive")
assert_positive = _of_one("assert_positive")
assert_rank = _of_rank("assert_rank")
assert_rank_at_least = _of_rank("assert_rank_at_least")


def newer(op: str, name: str, new: Any, old_name: str, old: Any) -> Any:
    """The value of an argument with two names, of which at most one may be given."""
    if new is not None and old is not None:
        raise ArgumentTypeError(f"{op}: {name} and {old_name} are the same argument; give one of them.")
    return old if new is None else new
