"""Sampled losses: for very many classes, only the target classes and a few drawn ones are evaluated.

The logarithm of the expected count among the drawn classes is subtracted from each logit. With that the losses over the few
classes approximate those over all of them (Jean and others, 2015; Gutmann and Hyvarinen, 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like, zeros_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.passing import stop_gradient
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.linalg.matmul import matmul
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_any, reduce_sum
from graphad.ops.math.select import where
from graphad.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from graphad.ops.random.candidates import log_uniform_candidate_sampler

_LOWEST = float(np.finfo(np.float32).min)


def _whole(op: str, weights: object) -> Tensor:
    """The matrix of weights; the parts of a list are concatenated along the rows."""
    parts = [lift(part) for part in weights] if isinstance(weights, list | tuple) and weights else []
    if parts and all(part.ndim == 2 for part in parts):
        return concat(parts, 0)
    whole = lift(weights)
    if whole.ndim not in (None, 2):
        raise InvalidArgumentError(
            f"{op}: weights have shape {format_dims(whole.dims)}; [num_classes, dim] is needed."
        )
    return whole


def _logits(
    op: str,
    weights: object,
    biases: object,
    labels: object,
    inputs: object,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits [batch, num_true + num_sampled] and the corresponding labels."""
    table, x = _whole(op, weights), lift(inputs)
    x = x if x.dtype == table.dtype else lift_like(op, inputs, table.dtype)
    offsets = lift_like(op, biases, table.dtype)
    true: Any = lift(labels)
    require_kind(op, true, INTEGER, "labels")
    for spec, word, rank, wanted in (
        (true, "labels", 2, f"[batch, {num_true}]"), (x, "inputs", 2, "[batch, dim]"), (offsets, "biases", 1, "[num_classes]")
    ):  # fmt: skip
        if spec.ndim not in (None, rank) or (
            word == "labels" and spec.dims and spec.dims[1] not in (None, num_true)
        ):
            raise InvalidArgumentError(
                f"{op}: {word} have shape {format_dims(spec.dims)}; {wanted} is needed."
            )
    true = cast(true, int64)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(true, num_true, num_sampled, True, num_classes, seed)
    drawn, true_expected, drawn_expected = (stop_gradient(lift(part)) for part in sampled_values)
    drawn = cast(drawn, int64)
    flat = reshape(true, [-1])
    rows = gather(table, concat([flat, drawn], 0))
    shifts = gather(offsets, concat([flat, drawn], 0))
    count = shape(flat)[0]
    own: Any = reshape(rows[:count], concat([shape(true), shape(table)[1:]], 0))
    of_true = reduce_sum(x[:, None, :] * own, -1) + reshape(shifts[:count], shape(true))
    of_drawn = matmul(x, rows[count:], transpose_b=True) + shifts[count:]
    of_true = of_true - log(cast(true_expected, x.dtype))
    of_drawn = of_drawn - log(cast(drawn_expected, x.dtype))
    if remove_accidental_hits:
        hits: Any = reduce_any(true[:, :, None] == drawn[None, None, :], 1)
        of_drawn = where(hits, of_drawn + (_LOWEST if x.dtype.size > 2 else float("-inf")), of_drawn)
    found = concat([of_true, of_drawn], 1)
    share = ones_like(of_true) / num_true
    return found, concat([share, zeros_like(of_drawn)], 1)


def nce_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """The loss of noise-contrastive estimation: the sigmoid cross-entropies of the target classes and of the drawn classes.

    Args:
      weights: Float tensor [num_classes, dim], or a list of tensors to be concatenated along the rows.
      biases: Float tensor [num_classes].
      labels: Integer tensor [batch, num_true]: the target classes.
      inputs: Float tensor [batch, dim].
      num_sampled: The number of classes to draw for the batch.
      num_classes: The number of classes.
      num_true: The number of target classes of each row.
      sampled_values: The result of a candidate sampler of `random`; by default that of `log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether to ignore a drawn class in the rows of which it is a target.
    Returns: Float tensor [batch].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit; DTypeError (a TypeError): labels are not integers.
    """
    logits, targets = _logits(
        "nce_loss", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, None,
    )  # fmt: skip
    return reduce_sum(sigmoid_cross_entropy_with_logits(targets, logits), 1)


def sampled_softmax_loss(
    weights: TensorLike | Sequence[TensorLike],
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """The softmax cross-entropy over the target and the drawn classes. It is meant for training only: it underestimates the
    loss over all classes.

    Args:
      weights: Float tensor [num_classes, dim], or a list of tensors to be concatenated along the rows.
      biases: Float tensor [num_classes].
      labels: Integer tensor [batch, num_true]: the target classes.
      inputs: Float tensor [batch, dim].
      num_sampled: The number of classes to draw for the batch.
      num_classes: The number of classes.
      num_true: The number of target classes of each row.
      sampled_values: The result of a candidate sampler of `random`; by default that of `log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether to ignore a drawn class in the rows of which it is a target.
      seed: As for `random.uniform`.
    Returns: Float tensor [batch].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit; DTypeError (a TypeError): labels are not integers.
    """
    logits, targets = _logits(
        "sampled_softmax_loss", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, seed,
    )  # fmt: skip
    return softmax_cross_entropy_with_logits(targets, logits)
