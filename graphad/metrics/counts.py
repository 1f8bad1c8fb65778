"""Metrics of yes-or-no decisions, from how many were right and wrong at each threshold."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.metrics.base import Metric, beside_state
from graphad.ops.array import broadcast_to, expand_dims, one_hot, reshape, shape
from graphad.ops.array import top_k as largest
from graphad.ops.linalg import diag_part, matmul
from graphad.ops.math import argmax, cast, divide_no_nan, greater, log, maximum, minimum, reduce_sum, where
from graphad.ops.nn import sigmoid
from graphad.ops.nn.ranks import same_rank

# What a prediction that is not among the largest counts as: below any threshold.
_NOT_CHOSEN = -1e10
_MOST_THRESHOLDS = 2**20  # each is compared with each prediction

_KINDS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


class _Counts(Metric):
    """Keeps some of the four counts, a number for each threshold."""

    kinds: tuple[str, ...] = ()

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        class_id: int | None = None,
        top_k: int | None = None,
    ) -> None:
        super().__init__(dtype, name)
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise InvalidArgumentError(f"{self.name}: top_k is {top_k!r}; a positive integer is needed.")
        self.top_k = top_k
        given = (0.5 if top_k is None else _NOT_CHOSEN) if thresholds is None else thresholds
        try:
            self.thresholds = [float(x) for x in (given if isinstance(given, list | tuple) else [given])]  # type: ignore[arg-type]
        except (TypeError, ValueError) as cause:
            refuse(cause, self.name, "thresholds", thresholds, "a number or a list of numbers is needed")
        self.class_id = class_id
        for kind in self.kinds:
            setattr(self, kind, self.add_variable((len(self.thresholds),), name=kind))

    @beside_state
    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count decisions: labels 0 and 1, or True and False, and predictions of which those above a threshold are yes."""
        dtype = self._graphad_dtype
        labels, guesses = same_rank(cast(lift(y_true), dtype), cast(lift(y_pred), dtype))
        if self.top_k is not None:
            places = largest(guesses, self.top_k).indices
            is_chosen = reduce_sum(one_hot(places, shape(guesses)[-1]), axis=-2) > 0
            guesses = where(is_chosen, guesses, lift(_NOT_CHOSEN, dtype))
        if self.class_id is not None:
            labels, guesses = labels[..., self.class_id], guesses[..., self.class_id]
        weights = None
        if sample_weight is not None:
            guesses, weights = same_rank(guesses, cast(lift(sample_weight), dtype))
            while weights.ndim is not None and guesses.ndim is not None and 0 < weights.ndim < guesses.ndim:
                weights = expand_dims(weights, -1)
            weights = reshape(broadcast_to(weights, shape(guesses)), [1, -1])
        guesses, is_so = reshape(guesses, [1, -1]), cast(reshape(labels, [1, -1]) > 0, dtype)
        says_so = cast(greater(guesses, expand_dims(lift(self.thresholds, dtype), -1)), dtype)
        both = {
            "true_positives": (says_so, is_so),
            "false_positives": (says_so, 1.0 - is_so),
            "true_negatives": (1.0 - says_so, 1.0 - is_so),
            "false_negatives": (1.0 - says_so, is_so),
        }
        for kind in self.kinds:
            said, was = both[kind]
            hits = said * was if weights is None else said * was * weights
            getattr(self, kind).assign_add(reduce_sum(hits, axis=1))

    def each(self, values: Tensor) -> Tensor:
        """A number for each threshold, or the number for the one that there is."""
        return values[0] if len(self.thresholds) == 1 else lift(values)


class _Count(_Counts):
    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(thresholds, name, dtype)

    def result(self) -> Tensor:
        return self.each(getattr(self, self.kinds[0]).value())


class TruePositives(_Count):
    """How many predictions above the threshold have label 1.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.TruePositives()
      >>> _ = metric.update_state([1, 0, 1], [0.9, 0.8, 0.2])
      >>> float(metric.result())
      1.0
    """

    kinds = ("true_positives",)


class FalsePositives(_Count):
    """How many predictions above the threshold have label 0.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    kinds = ("false_positives",)


class TrueNegatives(_Count):
    """How many predictions up to the threshold have label 0.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    kinds = ("true_negatives",)


class FalseNegatives(_Count):
    """How many predictions up to the threshold have label 1.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    kinds = ("false_negatives",)


class _Share(_Counts):
    """The first count as a part of both."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(thresholds, name, dtype, class_id, top_k)

    def result(self) -> Tensor:
        found, missed = (getattr(self, kind).value() for kind in self.kinds)
        return self.each(divide_no_nan(found, found + missed))


class Precision(_Share):
    """The part of the predictions above the threshold that have label 1.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default, and none with `top_k`.
      top_k: How many of the predictions [..., classes] count at most, the largest ones.
      class_id: The class whose labels and predictions [..., classes] alone count.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.Precision()
      >>> _ = metric.update_state([1, 0, 1], [0.9, 0.8, 0.7])
      >>> float(metric.result())
      0.6666666865348816
    """

    kinds = ("true_positives", "false_positives")


class Recall(_Share):
    """The part of the labels 1 whose prediction is above the threshold.

    `update_state` takes labels 0 and 1 and predictions from 0 to 1, tensors of one shape, and `sample_weight`, which
    broadcasts.

    Args:
      thresholds: One threshold or several, each with a number in the result; 0.5 by default, and none with `top_k`.
      top_k: How many of the predictions [..., classes] count at most, the largest ones.
      class_id: The class whose labels and predictions [..., classes] alone count.
      name: Name.
      dtype: The dtype of the counts; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.Recall()
      >>> _ = metric.update_state([1, 0, 1], [0.9, 0.8, 0.2])
      >>> float(metric.result())
      0.5
    """

    kinds = ("true_positives", "false_negatives")


class AUC(_Counts):
    """The area under the curve of true against false positives ("ROC"), or of precision against recall ("PR").

    Args:
      num_thresholds: In how many places the curve is known: 0, 1, and between them evenly.
      curve: "ROC" or "PR".
      summation_method: "interpolation", by trapezia or by Davis & Goadrich's formula for "PR"; "majoring" and "minoring" take the
        larger and the smaller height of each step.
      name: Name.
      dtype: The dtype of the counts.
      thresholds: Places between 0 and 1 instead of evenly spaced ones.
      multi_label, num_labels, label_weights: Not built: one AUC for each label serves.
      from_logits: Whether predictions are logits.
    Raises: InvalidArgumentError (a ValueError): an unknown curve or method, fewer than two thresholds, several labels.
    Source: Hanley and McNeil, The meaning and use of the area under a receiver operating characteristic curve, 1982; for
      precision and recall, Davis and Goadrich, 2006.
    """

    kinds = _KINDS
    true_positives: Variable
    false_positives: Variable
    true_negatives: Variable
    false_negatives: Variable

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Sequence[float] | None = None,
        from_logits: bool = False,
    ) -> None:
        if multi_label or num_labels is not None or label_weights is not None:
            raise InvalidArgumentError(
                "AUC: multi_label, num_labels and label_weights are not built; make one AUC for each label and average."
            )
        if curve not in ("ROC", "PR") or summation_method not in ("interpolation", "majoring", "minoring"):
            raise InvalidArgumentError(
                f"AUC: curve={curve!r} and summation_method={summation_method!r}; the curves are 'ROC' and 'PR', the methods "
                "'interpolation', 'majoring' and 'minoring'."
            )
        if thresholds is None:
            if not 2 <= num_thresholds <= _MOST_THRESHOLDS:
                raise InvalidArgumentError(
                    f"AUC: num_thresholds is {num_thresholds}; it is 2 at least and {_MOST_THRESHOLDS} at most."
                )
            thresholds = [i / (num_thresholds - 1) for i in range(1, num_thresholds - 1)]
        edge = 1e-7
        super().__init__([-edge, *sorted(thresholds), 1.0 + edge], name, dtype)
        self.curve, self.summation_method, self.from_logits = curve, summation_method, from_logits

    @beside_state
    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        if self.from_logits:
            y_pred = sigmoid(cast(lift(y_pred), self._graphad_dtype))
        super().update_state(y_true, y_pred, sample_weight)

    def result(self) -> Tensor:
        hits, alarms = self.true_positives.value(), self.false_positives.value()
        rests, misses = self.true_negatives.value(), self.false_negatives.value()
        if self.curve == "PR" and self.summation_method == "interpolation":
            return _under_precision(hits, alarms, misses)
        recall = divide_no_nan(hits, hits + misses)
        if self.curve == "ROC":
            x, y = divide_no_nan(alarms, alarms + rests), recall
        else:
            x, y = recall, divide_no_nan(hits, hits + alarms)
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        else:
            heights = (minimum if self.summation_method == "minoring" else maximum)(y[:-1], y[1:])
        return reduce_sum((x[:-1] - x[1:]) * heights)


def _under_precision(hits: Tensor, alarms: Tensor, misses: Tensor) -> Tensor:
    """The area under precision against recall where hits and alarms change in a line between two thresholds.

    With `a` the slope of the hits in all that was said yes, precision is (a * p + b) / p at p such answers, and its integral over
    the hits is a * (difference of hits + b * log of the ratio of the ends), each as a part of all labels 1.
    """
    said = hits + alarms
    more_hits, more_said = hits[:-1] - hits[1:], maximum(said[:-1] - said[1:], 0.0)
    slope = divide_no_nan(more_hits, more_said)
    rest = hits[1:] - slope * said[1:]
    both = (said[:-1] > 0) & (said[1:] > 0)
    ratio = where(both, divide_no_nan(said[:-1], maximum(said[1:], 0.0)), lift(1.0, said.dtype))
    parts = divide_no_nan(slope * (more_hits + rest * log(ratio)), maximum(hits[1:] + misses[1:], 0.0))
    return reduce_sum(parts)


class MeanIoU(Metric):
    """For each class, what labels and predictions share over what either has, averaged over the classes that there are.

    `update_state` takes labels and predictions, integers of one shape, or numbers for each class along `axis`.

    Args:
      num_classes: Integers from 0 to below this.
      name: Name.
      dtype: The dtype of the counts.
      ignore_class: A label whose elements do not count.
      sparse_y_true: Whether labels are integers; else they are the largest of the classes along `axis`.
      sparse_y_pred: The same of predictions.
      axis: The axis of the classes.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Jaccard, The distribution of the flora in the alpine zone, 1912.
    Example:
      >>> metric = keras.metrics.MeanIoU(num_classes=2)
      >>> _ = metric.update_state([0, 0, 1, 1], [0, 1, 0, 1])
      >>> float(metric.result())
      0.3333333432674408
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(dtype, name or "mean_io_u")
        self.num_classes, self.sparse_y_true, self.sparse_y_pred = num_classes, sparse_y_true, sparse_y_pred
        self.ignore_class, self.axis = ignore_class, axis
        self.total_cm = self.add_variable((num_classes, num_classes), name="total_confusion_matrix")

    @beside_state
    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        dtype = self._graphad_dtype
        labels = lift(y_true) if self.sparse_y_true else argmax(lift(y_true), axis=self.axis)
        guesses = lift(y_pred) if self.sparse_y_pred else argmax(lift(y_pred), axis=self.axis)
        rows, columns = (
            one_hot(reshape(cast(part, "int64"), [-1]), self.num_classes, dtype=dtype)
            for part in (labels, guesses)
        )
        if sample_weight is not None:
            each, weights = same_rank(labels, cast(lift(sample_weight), dtype))
            rows = rows * reshape(broadcast_to(weights, shape(each)), [-1, 1])
        if self.ignore_class is not None:
            counted = cast(labels, "int64") != self.ignore_class
            rows = rows * reshape(cast(counted, dtype), [-1, 1])
        self.total_cm.assign_add(matmul(rows, columns, transpose_a=True))

    def result(self) -> Tensor:
        counts = self.total_cm.value()
        shared = diag_part(counts)
        either = reduce_sum(counts, axis=0) + reduce_sum(counts, axis=1) - shared
        there = reduce_sum(cast(either > 0, counts.dtype))
        return divide_no_nan(reduce_sum(divide_no_nan(shared, either)), there)
