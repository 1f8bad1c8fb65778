"""Functions whose arguments had another order or other names in TensorFlow 1.

`compat.v1` lists them; each calls the newer function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import lift_like
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math, nn
from graphad.ops.linalg import norms
from graphad.ops.sparse.tensor import SparseTensor, SparseTensorValue
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
    value: TensorLike | SparseTensor | SparseTensorValue,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """As `graphad.convert_to_tensor`, but a `SparseTensor` stays what it is, and must be of `dtype` if it is given; a
    `SparseTensorValue` becomes one."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
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
    params: TensorLike,
    indices: TensorLike,
    name: str | None = None,
    batch_dims: int = 0,
    bad_indices_policy: str = "",
) -> Tensor:
    """As `graphad.gather_nd`."""
    return array.gather_nd(params, indices, batch_dims, name, bad_indices_policy)


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


def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """As `graphad.nn.softmax_cross_entropy_with_logits` of labels that are not differentiated; `dim` is the older `axis`."""
    if labels is None or logits is None:
        raise ArgumentTypeError("softmax_cross_entropy_with_logits: labels and logits are both needed.")
    constant = array.stop_gradient(labels)
    return nn.softmax_cross_entropy_with_logits(constant, logits, dim if axis is None else axis)


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """As `graphad.nn.softmax_cross_entropy_with_logits`; `dim` is an older name of `axis`."""
    along = newer("softmax_cross_entropy_with_logits", "axis", axis, "dim", dim)
    return nn.softmax_cross_entropy_with_logits(labels, logits, -1 if along is None else along)


def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """As `graphad.nn.moments`; `keep_dims` is an older name of `keepdims`."""
    keep = newer("moments", "keepdims", keepdims, "keep_dims", keep_dims)
    return nn.moments(x, axes, keepdims=bool(keep))


def dropout(
    x: TensorLike,
    keep_prob: TensorLike | None = None,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike | None = None,
) -> Tensor:
    """As `graphad.nn.dropout`, with the fraction that is kept or, by name, the rate that is dropped."""
    if rate is None:
        if keep_prob is None:
            raise ArgumentTypeError("dropout: give keep_prob or rate.")
        rate = 1 - array.convert_to_tensor(keep_prob)
    return nn.dropout(x, rate, noise_shape, seed)


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images normalised for each channel, with the means and variances to be kept.

    In training these are of the batch, the variance without bias, and what is returned is `exponential_avg_factor` of them and
    the rest of those given. Else the given ones normalise, and are returned. float16 is computed in float32.
    """
    op, images = "fused_batch_norm", array.convert_to_tensor(x)
    is_of_batch = is_training and exponential_avg_factor == 1.0
    if not is_of_batch and (mean is None or variance is None):
        raise InvalidArgumentError(
            f"{op}: mean and variance are needed where is_training is False or exponential_avg_factor is not 1."
        )
    rank = images.shape.rank
    if rank is None:
        raise InvalidArgumentError(f"{op}: the number of axes of x must be known while tracing.")
    if rank < 2:
        raise InvalidArgumentError(
            f"{op}: x has shape {images.shape}; images with a batch and channels are needed."
        )
    axis = 1 if data_format.startswith("NC") else rank - 1
    others = [k for k in range(rank) if k != axis]
    small = images.dtype.size < 4
    wide = math.cast(images, dtypes.float32) if small else images

    def beside(given: TensorLike) -> Tensor:
        return array.reshape(given, [-1 if k == axis else 1 for k in range(rank)])

    gain, shift = lift_like(op, scale, wide.dtype), lift_like(op, offset, wide.dtype)
    given = [lift_like(op, old, wide.dtype) for old in (mean, variance) if old is not None]
    if is_training:
        center, spread = nn.moments(wide, others)
        size = math.cast(array.size(wide) // array.shape(wide)[axis], wide.dtype)
        kept = [center, spread * (size / math.maximum(size - 1, 1))]
        if not is_of_batch:
            part = exponential_avg_factor
            kept = [(1 - part) * old + part * new for old, new in zip(given, kept, strict=True)]
    else:
        center, spread = kept = given
    # NaN is what is kept; no element is normalised, and no gradient is lost.
    if is_training and 0 in (images.dims or ()):
        center, spread = array.zeros_like(center), array.ones_like(spread)
    y = nn.batch_normalization(wide, beside(center), beside(spread), beside(shift), beside(gain), epsilon)
    return math.cast(y, images.dtype), kept[0], kept[1]


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
