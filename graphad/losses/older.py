"""Losses as TensorFlow 1 has them: float32, weighted, and by default the mean over the values whose weight is not 0.

`compat.v1.losses` lists them. TensorFlow 1 also collected the losses of a graph; without hand-built graphs nothing is collected,
so `loss_collection` and `scope` are taken and not used, as TensorFlow does it in eager execution.
"""

from __future__ import annotations

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.losses.base import Reductions
from graphad.ops import array, math, nn

_COLLECTION = "losses"


class Reduction(Reductions):
    """Names of what becomes of the weighted values; MEAN divides by the sum of the weights."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)


_USUAL = Reduction.SUM_BY_NONZERO_WEIGHTS


@blaming
def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """The values times their weights, reduced.

    Args:
      losses: Tensor of any shape, a numeric dtype.
      weights: A scalar, or a tensor of the same rank whose sizes are 1 or those of losses.
      scope, loss_collection: Not used.
      reduction: One of `Reduction`.
    Returns: A scalar, or the weighted values for Reduction.NONE, in the dtype of losses.
    Raises:
      InvalidArgumentError (a ValueError): no such reduction, or weights of another shape.
    """
    Reduction.validate(reduction)
    values = lift(losses)
    wide = values.dtype if values.dtype is dtypes.float64 else dtypes.float32
    weight = _weights_of("compute_weighted_loss", weights, values, wide)
    weighted = math.cast(values, wide) * weight
    if reduction != Reduction.NONE:
        weighted = _reduced(math.reduce_sum(weighted), weight, values, reduction)
    return math.cast(weighted, values.dtype)


def _weights_of(op: str, weights: TensorLike, values: Tensor, dtype: DType) -> Tensor:
    """The weights in that dtype, or an error: a scalar, or of the same rank with sizes 1 or equal."""
    found = lift(weights)
    if found.dtype is not dtype:
        found = math.cast(found, dtype)
    if found.ndim not in (None, 0) and values.ndim is not None:
        pairs = zip(found.shape, values.shape, strict=False)
        if found.ndim != values.ndim or not all(a in (1, None, b) or b is None for a, b in pairs):
            raise InvalidArgumentError(
                f"{op}: weights have shape {tuple(found.shape)}, the values {tuple(values.shape)}; weights are a scalar, or of "
                "the same rank with sizes 1 or those of the values."
            )
    return found


def _reduced(total: Tensor, weights: Tensor, values: Tensor, reduction: str) -> Tensor:
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = math.cast(array.size(values), total.dtype)
    elif reduction == Reduction.MEAN:
        count = math.reduce_sum(array.broadcast_to(weights, array.shape(values)))
    else:
        count = math.reduce_sum(_present(weights, values))
    return math.divide_no_nan(total, count)


def _present(weights: Tensor, values: Tensor) -> Tensor:
    """1 where a value counts, its weight not being 0."""
    counts = math.cast(math.not_equal(weights, 0), weights.dtype)
    return array.broadcast_to(counts, array.shape(values))


def _single(op: str, labels: TensorLike | None, predictions: TensorLike | None) -> tuple[Tensor, Tensor]:
    """Both in float32, whatever they were, and of equal shapes."""
    if labels is None or predictions is None:
        missing = "labels" if labels is None else "predictions"
        raise InvalidArgumentError(f"{op}: {missing} must not be None.")
    pair = (math.cast(lift(labels), dtypes.float32), math.cast(lift(predictions), dtypes.float32))
    _same_shape(op, *pair)
    return pair


def _same_shape(op: str, labels: Tensor, predictions: Tensor) -> None:
    if not labels.shape.is_compatible_with(predictions.shape):
        raise InvalidArgumentError(
            f"{op}: labels have shape {tuple(labels.shape)}, predictions {tuple(predictions.shape)}; they must be equal."
        )


@blaming
def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """|predictions - labels|, weighted; see `compute_weighted_loss`."""
    true, found = _single("absolute_difference", labels, predictions)
    return compute_weighted_loss(math.abs(found - true), weights, reduction=reduction)


@blaming
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """(predictions - labels)², weighted; see `compute_weighted_loss`."""
    true, found = _single("mean_squared_error", labels, predictions)
    return compute_weighted_loss(math.squared_difference(found, true), weights, reduction=reduction)


@blaming
def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """d² / 2 for a distance d up to delta, delta (d - delta / 2) beyond it, weighted; see `compute_weighted_loss`."""
    true, found = _single("huber_loss", labels, predictions)
    distance = math.abs(found - true)
    near = math.minimum(distance, delta)
    return compute_weighted_loss(0.5 * near * near + delta * (distance - near), weights, reduction=reduction)


@blaming
def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """-labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon), weighted."""
    true, p = _single("log_loss", labels, predictions)
    values = -true * math.log(p + epsilon) - (1 - true) * math.log(1 - p + epsilon)
    return compute_weighted_loss(values, weights, reduction=reduction)


@blaming
def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """max(0, 1 - s logits) for s = 2 labels - 1 of labels 0 and 1, weighted; see `compute_weighted_loss`."""
    true, found = _single("hinge_loss", labels, logits)
    return compute_weighted_loss(nn.relu(1 - (2 * true - 1) * found), weights, reduction=reduction)


@blaming
def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
    dim: int | None = None,
) -> Tensor:
    """1 - sum(labels * predictions) along an axis that stays with size 1, weighted; both are of unit length already.

    `dim` is an older name of axis.
    """
    if (axis is None) == (dim is None):
        raise InvalidArgumentError("cosine_distance: give axis, or dim, its older name, and not both.")
    true, found = _single("cosine_distance", labels, predictions)
    product = math.reduce_sum(true * found, axis=dim if axis is None else axis, keepdims=True)
    return compute_weighted_loss(1 - product, weights, reduction=reduction)


@blaming
def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
) -> Tensor:
    """The mean over pairs of values of a sample of (d_i - d_j)², d = predictions - labels, summed over samples by weight.

    Args:
      labels, predictions: Tensors [batch, ...].
      weights: A scalar, or a tensor of the same rank whose sizes are 1 or those of labels.
      scope, loss_collection: Not used.
    Returns: A scalar.
    """
    true, found = _single("mean_pairwise_squared_error", labels, predictions)
    if found.ndim is None:
        raise ArgumentTypeError("mean_pairwise_squared_error: the rank of predictions must be known.")
    weight = _weights_of("mean_pairwise_squared_error", weights, found, dtypes.float32)
    differences = found - true
    axes = list(range(1, found.ndim))
    present = _present(weight, differences)
    count = math.reduce_sum(present, axes, keepdims=True)
    squares = math.reduce_sum(differences * differences, axes, keepdims=True)
    total = math.reduce_sum(differences, axes, keepdims=True)
    others = math.maximum(count - 1, 0)
    pairs = 2 * (math.divide_no_nan(squares, others) - math.divide_no_nan(total * total, count * others))
    summed = math.reduce_sum(pairs * weight)
    return math.where(math.reduce_sum(count) > 0, summed, array.zeros_like(summed))


@blaming
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """`nn.sigmoid_cross_entropy_with_logits` of labels moved by label_smoothing towards 1/2, weighted."""
    found = lift(logits)
    true = math.cast(lift(multi_class_labels), found.dtype)
    _same_shape("sigmoid_cross_entropy", true, found)
    if label_smoothing:
        true = true * (1 - label_smoothing) + 0.5 * label_smoothing
    values = nn.sigmoid_cross_entropy_with_logits(labels=true, logits=found)
    return compute_weighted_loss(values, weights, reduction=reduction)


@blaming
def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """`nn.softmax_cross_entropy_with_logits` of labels moved by label_smoothing towards equal ones, weighted.

    No gradient flows into the labels.
    """
    found = lift(logits)
    true = math.cast(lift(onehot_labels), found.dtype)
    _same_shape("softmax_cross_entropy", true, found)
    if label_smoothing:
        count = math.cast(array.shape(true)[-1], found.dtype)
        true = true * (1 - label_smoothing) + label_smoothing / count
    values = nn.softmax_cross_entropy_with_logits(array.stop_gradient(true), found)
    return compute_weighted_loss(values, weights, reduction=reduction)


@blaming
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _USUAL,
) -> Tensor:
    """`nn.sparse_softmax_cross_entropy_with_logits`, weighted; a last axis of size 1 of labels and weights is dropped."""
    found, true = lift(logits), lift(labels)
    if true.ndim is not None and true.ndim == found.ndim and true.shape[-1] == 1:
        true = array.squeeze(true, [-1])
    weight = lift_like("sparse_softmax_cross_entropy", weights, dtypes.float32)
    if weight.ndim is not None and true.ndim is not None and weight.ndim == true.ndim + 1 and weight.ndim:
        weight = array.squeeze(weight, [-1])
    values = nn.sparse_softmax_cross_entropy_with_logits(labels=true, logits=found)
    return compute_weighted_loss(values, weight, reduction=reduction)


# -- collections, which are empty --------------------------------------------------------------------------------------------


def add_loss(loss: TensorLike, loss_collection: str | None = _COLLECTION) -> None:
    """Does nothing: losses are not collected."""


def get_losses(scope: str | None = None, loss_collection: str | None = _COLLECTION) -> list[Tensor]:
    """An empty list: losses are not collected."""
    return []


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """An empty list: losses are not collected."""
    return []


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """0, the sum of the losses that `get_regularization_losses` gives."""
    return lift(0.0)
