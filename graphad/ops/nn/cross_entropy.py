"""Cross-entropies from logits, composed so that log(0) never occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import int32
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import expand_dims, shape
from graphad.ops.math import cast, equal, logical_and, reduce_sum, softplus, where
from graphad.ops.nn.softmax import log_softmax


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-log(softmax(logits))[label], one number per label.

    Args:
      labels: Integer tensor [...], 0 <= label < classes; the loss of another label is NaN where that is not known at once.
      logits: Float tensor [..., classes].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError: the shapes do not fit, or a label is out of range; DTypeError: labels are no integers.
    """
    labels, logits = lift(labels), lift(logits)
    name = "sparse_softmax_cross_entropy_with_logits"
    if not labels.dtype.is_integer:
        raise DTypeError(f"{name}: labels have dtype {labels.dtype.name}; an integer dtype is needed.")
    have = None if logits.dims is None else logits.dims[:-1]
    if logits.dims == () or not are_compatible(labels.dims, have):
        raise InvalidArgumentError(
            f"{name}: labels with shape {format_dims(labels.dims)} do not fit logits with shape {format_dims(logits.dims)}; "
            "labels.shape must equal logits.shape[:-1]."
        )
    known = logits.dims is not None and logits.dims[-1] is not None
    classes = logits.dims[-1] if known else shape(logits)[-1]
    if type(labels) is EagerTensor and type(classes) is int:
        _require_labels(name, labels.data, classes)
    if labels.dtype.itemsize < 4:
        labels = cast(labels, int32)  # the numbers of all classes must fit
    number = cast(classes, labels.dtype) if not known else lift(classes, labels.dtype)
    chosen = equal(expand_dims(labels, -1), cast(range_of(classes), labels.dtype))
    loss = -reduce_sum(where(chosen, log_softmax(logits), lift(0.0, logits.dtype)), axis=-1)
    valid = logical_and(labels >= lift(0, labels.dtype), labels < number)
    return where(valid, loss, lift(float("nan"), logits.dtype))  # type: ignore[no-any-return]


def _require_labels(name: str, labels: Any, classes: int) -> None:
    wrong = np.ravel(labels)[np.ravel((labels < 0) | (labels >= classes))]
    if wrong.size:
        raise InvalidArgumentError(
            f"{name}: Received a label value of {wrong[0]} which is outside the valid range of [0, {classes})."
        )


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Tensor:
    """-sum(labels * log(softmax(logits))) along `axis`; both [..., classes], one number per row."""
    logits, labels = lift_pair("softmax_cross_entropy_with_logits", logits, labels)
    return -reduce_sum(labels * log_softmax(logits, axis), axis=axis)  # type: ignore[no-any-return]


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-labels * log(sigmoid(x)) - (1 - labels) * log(1 - sigmoid(x)), elementwise, for large |x| too."""
    x, z = lift_pair("sigmoid_cross_entropy_with_logits", logits, labels)
    zero = lift(0, x.dtype)
    # max(x, 0) and -|x| by `where`, since their derivatives of all orders belong together at 0.
    positive = x >= zero
    return where(positive, x, zero) - x * z + softplus(where(positive, -x, x))  # type: ignore[no-any-return]
