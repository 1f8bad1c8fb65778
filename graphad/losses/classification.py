"""Losses of class labels: cross-entropies, from logits or from probabilities, and margins."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import epsilon
from graphad.core.frames import warn_user
from graphad.core.refusal import refuse
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.losses.base import LossFunction, floating, targets
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import zeros_like
from graphad.ops.array.shape import shape
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.transpose import transpose
from graphad.ops.math import (
    cast,
    clip_by_value,
    divide_no_nan,
    equal,
    log,
    logical_or,
    maximum,
    not_equal,
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
    square,
    where,
)
from graphad.ops.nn import (
    sigmoid,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.logits import logits_of
from graphad.ops.nn.ranks import same_rank
from graphad.ops.rules import require_fit, require_same_shape


@blaming
def sparse_categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> Tensor:
    """The cross-entropy of integer labels [...] or [..., 1] with predictions [..., classes].

    Args:
      y_true: Integers [...] or [..., 1], each from 0 to classes - 1, or `ignore_class`.
      y_pred: The predictions, a float tensor [..., classes].
      from_logits: Whether they are logits, else probabilities.
      ignore_class: A label whose samples have a loss of 0.
      axis: The axis of the classes in `y_pred`.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """
    y_pred, from_logits = _or_logits("sparse_categorical_crossentropy", floating(y_pred), from_logits, axis)
    labels = lift(y_true)
    if labels.ndim and labels.ndim == y_pred.ndim and ranked(labels.dims)[-1] == 1:
        labels = squeeze(labels, [-1])
    labels = labels if labels.dtype.is_integer else cast(labels, int64)
    y_pred = _classes_last("sparse_categorical_crossentropy", y_pred, axis)
    ignored = None if ignore_class is None else equal(labels, lift(ignore_class, labels.dtype))
    if ignored is not None:
        labels = where(ignored, zeros_like(labels), labels)
    loss = sparse_softmax_cross_entropy_with_logits(labels, y_pred if from_logits else log(_inside(y_pred)))
    return loss if ignored is None else where(ignored, zeros_like(loss), loss)


def _classes_last(name: str, x: Tensor, axis: int) -> Tensor:
    """`x` with its axis of classes behind the others."""
    try:
        if axis == -1:
            return x
    except ValueError as cause:
        refuse(cause, name, "axis", axis, "an integer is needed")
    if x.ndim is None:
        raise InvalidArgumentError(f"{name}: the rank of y_pred must be known for axis={axis}.")
    where_it_is = normalize_axis(name, axis, x.ndim)
    rest = [k for k in range(x.ndim) if k != where_it_is]
    return x if where_it_is == x.ndim - 1 else transpose(x, [*rest, where_it_is])


@blaming
def categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The cross-entropy of label distributions [..., classes] with predictions [..., classes].

    Args:
      y_true: The labels.
      y_pred: The predictions, a float tensor: probabilities, or logits.
      from_logits: Whether they are logits.
      label_smoothing: The part of each label that is spread evenly over all classes.
      axis: The axis of the classes.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """
    name = "categorical_crossentropy"
    y_pred, from_logits = _or_logits(name, floating(y_pred), from_logits, axis)
    y_true = targets(name, y_true, y_pred)
    require_fit(name, y_true, y_pred, ("y_true", "y_pred"))
    y_true, y_pred = _classes_last(name, y_true, axis), _classes_last(name, y_pred, axis)
    if label_smoothing:
        classes = cast(shape(y_true)[-1], y_true.dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred)
    y_pred = y_pred / reduce_sum(y_pred, axis=-1, keepdims=True)
    return -reduce_sum(y_true * log(_inside(y_pred)), axis=-1)


@blaming
def binary_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The mean over `axis` of -y * log(p) - (1 - y) * log(1 - p), of labels y and probabilities p, or logits.

    Args:
      y_true: The labels, from 0 to 1.
      y_pred: The predictions, a float tensor of the same shape.
      from_logits: Whether they are logits.
      label_smoothing: The part of each label that is moved to 1/2.
      axis: The axis of the mean.
    Returns: Float tensor without the axis.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """
    y_pred, from_logits = _or_logits("binary_crossentropy", floating(y_pred), from_logits, None)
    y_true = lift(y_true)
    y_true = y_true if y_true.dtype == y_pred.dtype else cast(y_true, y_pred.dtype)
    y_true, y_pred = same_rank(y_true, y_pred)
    require_same_shape("binary_crossentropy", y_true, y_pred, ("y_true", "y_pred"))
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduce_mean(_binary(y_true, y_pred, from_logits), axis=axis)


def _or_logits(name: str, y_pred: Tensor, from_logits: bool, axis: int | None) -> tuple[Tensor, bool]:
    """The logits that predictions were computed from along the axis, or element by element, where that is known; and which."""
    logits = logits_of(y_pred, axis)
    if logits is None:
        return y_pred, from_logits
    if from_logits:
        activation = "sigmoid" if axis is None else "softmax"
        warn_user(
            f"{name}: from_logits is set, but y_pred is what {activation} returned; its argument is taken."
        )
    return logits, True


def _binary(y_true: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    """The cross-entropy of each label with its logits or probability."""
    if from_logits:
        return sigmoid_cross_entropy_with_logits(y_true, y_pred)
    p = _inside(y_pred)
    return -(y_true * log(p) + (1.0 - y_true) * log(1.0 - p))


def _inside(p: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1; where they are not, the derivative is 0."""
    return clip_by_value(p, epsilon(), 1.0 - epsilon())


@blaming
def binary_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """`binary_crossentropy` of which each term counts by (1 - q)**gamma, with q the probability given to the label.

    Args:
      y_true: The labels, from 0 to 1, a tensor of a real dtype.
      y_pred: The predictions, a float tensor of the same shape.
      apply_class_balancing: Whether terms also count `alpha` for labels 1, and 1 - alpha for labels 0.
      alpha: That part.
      gamma: How much less an easy term counts.
      from_logits: Whether the predictions are logits.
      label_smoothing: The part of each label that is moved to 1/2.
      axis: The axis of the mean.
    Returns: Float tensor without the axis.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Lin, Goyal, Girshick, He and Dollar, Focal loss for dense object detection, 2017.
    """
    name = "binary_focal_crossentropy"
    y_pred, from_logits = _or_logits(name, floating(y_pred), from_logits, None)
    y_true, y_pred = _labels(name, y_true, y_pred, label_smoothing, 2)
    p = sigmoid(y_pred) if from_logits else y_pred
    terms = _binary(y_true, y_pred, from_logits) * (1.0 - (y_true * p + (1.0 - y_true) * (1.0 - p))) ** gamma
    if apply_class_balancing:
        terms = terms * (y_true * alpha + (1.0 - y_true) * (1.0 - alpha))
    return reduce_mean(terms, axis=axis)


@blaming
def categorical_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    alpha: TensorLike = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """`categorical_crossentropy` of which each term counts by alpha * (1 - p)**gamma, with p its probability.

    Args:
      y_true: The labels [..., classes], a tensor of a real dtype.
      y_pred: The predictions [..., classes], a float tensor.
      alpha: A number, or one for each class.
      gamma: How much less an easy term counts.
      from_logits: Whether the predictions are logits.
      label_smoothing: The part of each label that is spread evenly over all classes.
      axis: The axis of the classes.
    Returns: Float tensor without the axis.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Lin, Goyal, Girshick, He and Dollar, Focal loss for dense object detection, 2017.
    """
    y_true, y_pred = _labels("categorical_focal_crossentropy", y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / cast(shape(y_true)[-1], y_true.dtype)
    p = softmax(y_pred, axis) if from_logits else y_pred
    p = _inside(p / reduce_sum(p, axis=axis, keepdims=True))
    weights = lift_like("categorical_focal_crossentropy", alpha, p.dtype) * (1.0 - p) ** gamma
    return reduce_sum(weights * -y_true * log(p), axis=axis)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0) over the last axis; labels are -1 and 1, or 0 and 1.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cortes and Vapnik, Support-vector networks, 1995.
    """
    y_true, y_pred = _signs("hinge", y_true, y_pred)
    return reduce_mean(maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0)**2 over the last axis; labels are -1 and 1, or 0 and 1.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cortes and Vapnik, Support-vector networks, 1995, squared.
    """
    y_true, y_pred = _signs("squared_hinge", y_true, y_pred)
    return reduce_mean(square(maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """max(1 + the largest prediction of a wrong class - that of the right one, 0); labels are 0 and 1 [..., classes].

    Args:
      y_true: The labels, numbers [..., classes].
      y_pred: The predictions, a float tensor [..., classes].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, 2001.
    """
    y_true, y_pred = _labels("categorical_hinge", y_true, y_pred)
    wrong = reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return maximum(wrong - reduce_sum(y_true * y_pred, axis=-1) + 1.0, 0.0)


def _labels(
    name: str, y_true: TensorLike, y_pred: TensorLike, smoothing: float = 0.0, classes: int = 1
) -> tuple[Tensor, Tensor]:
    """Labels, smoothed over this many classes, and predictions, of one dtype and rank."""
    y_pred = floating(y_pred)
    y_true, y_pred = same_rank(targets(name, y_true, y_pred), y_pred)
    require_fit(name, y_true, y_pred, ("y_true", "y_pred"))
    return (y_true * (1.0 - smoothing) + smoothing / classes if smoothing else y_true), y_pred


def _signs(name: str, y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Labels as -1 and 1; where all are 0 or 1, 0 becomes -1."""
    y_true, y_pred = _labels(name, y_true, y_pred)
    is_binary = reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    return where(is_binary, 2.0 * y_true - 1.0, y_true), y_pred


class SparseCategoricalCrossentropy(LossFunction):
    """The mean cross-entropy of a batch with integer labels; see `Loss`.

    Args:
      from_logits: Whether predictions are logits, else probabilities.
      ignore_class: A label whose samples do not count, in the mean neither.
      reduction, name, dtype: As for `Loss`.
      axis: The axis of the classes in the predictions.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    function = staticmethod(sparse_categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, ignore_class=ignore_class, axis=axis
        )
        self._ignored = ignore_class

    def __call__(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Tensor:
        if self._ignored is None or self.reduction not in ("sum_over_batch_size", "mean"):
            return super().__call__(y_true, y_pred, sample_weight)
        values = self._values(y_true, y_pred)
        labels, values = same_rank(lift(y_true), values)
        counted = cast(not_equal(labels, lift(self._ignored, labels.dtype)), values.dtype)
        if sample_weight is not None:
            values, weights = same_rank(values, cast(lift(sample_weight), values.dtype))
            values = values * weights
            counted, values = same_rank(counted, values)
        return divide_no_nan(reduce_sum(values * counted), reduce_sum(broadcast_to(counted, shape(values))))


class CategoricalCrossentropy(LossFunction):
    """The mean cross-entropy of a batch with label distributions; see `Loss`.

    Args:
      from_logits, label_smoothing, axis: As for `categorical_crossentropy`.
      reduction, name, dtype: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    function = staticmethod(categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis
        )


class BinaryCrossentropy(LossFunction):
    """The mean cross-entropy of a batch of labels from 0 to 1; see `binary_crossentropy` and `Loss`.

    Args:
      from_logits, label_smoothing, axis: As for `binary_crossentropy`.
      reduction, name: As for `Loss`.
      dtype: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    function = staticmethod(binary_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis
        )


class BinaryFocalCrossentropy(LossFunction):
    """The mean of `binary_focal_crossentropy` of a batch; see `Loss`.

    Args:
      apply_class_balancing, alpha, gamma, from_logits, label_smoothing, axis: As for `binary_focal_crossentropy`.
      options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Lin, Goyal, Girshick, He and Dollar, Focal loss for dense object detection, 2017.
    """

    function = staticmethod(binary_focal_crossentropy)

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        **options: Any,
    ) -> None:
        super().__init__(
            **options,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(LossFunction):
    """The mean of `categorical_focal_crossentropy` of a batch; see `Loss`.

    Args:
      alpha, gamma, from_logits, label_smoothing, axis: As for `categorical_focal_crossentropy`, of float tensors of shape
        [batch, classes].
      options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Lin, Goyal, Girshick, He and Dollar, Focal loss for dense object detection, 2017.
    """

    function = staticmethod(categorical_focal_crossentropy)

    def __init__(
        self,
        alpha: TensorLike = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        **options: Any,
    ) -> None:
        super().__init__(
            **options,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class Hinge(LossFunction):
    """The mean of `hinge` of a batch; see `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cortes and Vapnik, Support-vector networks, 1995.
    """

    function = staticmethod(hinge)


class SquaredHinge(LossFunction):
    """The mean of `squared_hinge` of a batch; see `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cortes and Vapnik, Support-vector networks, 1995, squared.
    """

    function = staticmethod(squared_hinge)


class CategoricalHinge(LossFunction):
    """The mean of `categorical_hinge` of a batch; see `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, 2001.
    """

    function = staticmethod(categorical_hinge)
