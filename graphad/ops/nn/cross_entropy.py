"""Cross-entropies from logits, composed so that log(0) never occurs."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift, lift_pair
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import expand_dims, shape
from graphad.ops.math import abs as absolute
from graphad.ops.math import cast, equal, reduce_sum, softplus, where
from graphad.ops.nn.activation import relu
from graphad.ops.nn.softmax import log_softmax


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-log(softmax(logits))[label], one number per label.

    Args:
      labels: Integer tensor [...]; a label outside 0 <= label < classes gives 0.
      logits: Float tensor [..., classes].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError: the shapes do not fit; DTypeError: labels are no integers.
    """
    labels, logits = lift(labels), lift(logits)
    if not labels.dtype.is_integer:
        raise DTypeError(
            f"sparse_softmax_cross_entropy_with_logits: labels have dtype {labels.dtype.name}; an integer dtype is needed."
        )
    have = None if logits.dims is None else logits.dims[:-1]
    if logits.dims == () or not are_compatible(labels.dims, have):
        raise InvalidArgumentError(
            f"sparse_softmax_cross_entropy_with_logits: labels with shape {format_dims(labels.dims)} do not fit logits with "
            f"shape {format_dims(logits.dims)}; labels.shape must equal logits.shape[:-1]."
        )
    classes = logits.dims[-1] if logits.dims is not None and logits.dims[-1] is not None else shape(logits)[-1]
    chosen = equal(expand_dims(labels, -1), cast(range_of(classes), labels.dtype))
    log_p = log_softmax(logits)
    return -reduce_sum(where(chosen, log_p, lift(0.0, logits.dtype)), axis=-1)


def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """-sum(labels * log(softmax(logits))) along `axis`; both [..., classes], one number per row."""
    logits, labels = lift_pair("softmax_cross_entropy_with_logits", logits, labels)
    return -reduce_sum(labels * log_softmax(logits, axis), axis=axis)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-labels * log(sigmoid(x)) - (1 - labels) * log(1 - sigmoid(x)), elementwise, for large |x| too."""
    x, z = lift_pair("sigmoid_cross_entropy_with_logits", logits, labels)
    return relu(x) - x * z + softplus(-absolute(x))
