"""Cross entropies of each sample, and what belongs to CTC, as `keras.backend` has them.

Probabilities are kept `epsilon()` away from 0 and 1.
"""

from __future__ import annotations

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import epsilon
from graphad.core.tensor import Tensor
from graphad.layers.backend.arrays import to_dense
from graphad.layers.backend.formats import dtype_of
from graphad.ops import array, math, nn
from graphad.ops.math.search import sequence_mask
from graphad.ops.sparse.tensor import SparseTensor


def _of(op: str, target: TensorLike, output: TensorLike) -> tuple[Tensor, Tensor]:
    true, found = lift(target), lift(output)
    if not found.dtype.is_floating:
        found = math.cast(found, dtype_of(None))
    if true.dtype is not found.dtype:
        true = math.cast(true, found.dtype)
    if not true.shape.is_compatible_with(found.shape):
        raise InvalidArgumentError(
            f"{op}: target has shape {tuple(true.shape)}, output {tuple(found.shape)}; they must be equal."
        )
    return true, found


def _inside(p: Tensor) -> Tensor:
    return math.clip_by_value(p, epsilon(), 1.0 - epsilon())


def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Tensor:
    """-target log(output) - (1 - target) log(1 - output), element by element; output is the sigmoid of logits.

    Args:
      target: Tensor of the shape of output: the probabilities of the classes.
      output: Float tensor of any shape: probabilities, or logits.
      from_logits: Which of the two.
    Returns: Tensor of a float dtype, an element for each, or for each sample.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    true, found = _of("binary_crossentropy", target, output)
    if from_logits:
        return nn.sigmoid_cross_entropy_with_logits(labels=true, logits=found)
    p = _inside(found)
    return -(true * math.log(p + epsilon()) + (1 - true) * math.log(1 - p + epsilon()))


def binary_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Tensor:
    """`binary_crossentropy` times (1 - p)^gamma for the probability p of the target, times alpha or 1 - alpha if balanced.

    Args:
      target: Tensor of the shape of output: the probabilities of the classes.
      output: Float tensor of any shape: probabilities, or logits.
      apply_class_balancing: Whether targets are weighted by alpha.
      alpha: The weight of targets.
      gamma: The exponent of 1 - p.
      from_logits: Which of the two.
    Returns: Tensor of a float dtype, an element for each, or for each sample.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    true, found = _of("binary_focal_crossentropy", target, output)
    p = math.sigmoid(found) if from_logits else found
    of_target = true * p + (1 - true) * (1 - p)
    loss = math.pow(1.0 - of_target, gamma) * binary_crossentropy(true, found, from_logits)
    return (true * alpha + (1 - true) * (1 - alpha)) * loss if apply_class_balancing else loss


def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """-sum(target log(output)) along an axis; output is divided by its sum, or is the softmax of logits.

    Args:
      target: Tensor of the shape of output: the probabilities of the classes.
      output: Float tensor of any shape: probabilities, or logits.
      from_logits: Which of the two.
      axis: An axis or several, None for all.
    Returns: Tensor of a float dtype, an element for each, or for each sample.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    true, found = _of("categorical_crossentropy", target, output)
    if from_logits:
        return nn.softmax_cross_entropy_with_logits(true, found, axis)
    p = _inside(found / math.reduce_sum(found, axis, keepdims=True))
    return -math.reduce_sum(true * math.log(p), axis)


def categorical_focal_crossentropy(
    target: TensorLike,
    output: TensorLike,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """-sum(alpha (1 - output)^gamma target log(output)) along an axis; see `categorical_crossentropy`.

    Args:
      target: Tensor of the shape of output: the probabilities of the classes.
      output: Float tensor of any shape: probabilities, or logits.
      alpha: The slope or scale of what is below.
      gamma: The scale, or None.
      from_logits: Which of the two.
      axis: An axis or several, None for all.
    Returns: Tensor of a float dtype, an element for each, or for each sample.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    true, found = _of("categorical_focal_crossentropy", target, output)
    if from_logits:
        found = nn.softmax(found, axis)
    p = _inside(found / math.reduce_sum(found, axis, keepdims=True))
    return -math.reduce_sum(alpha * math.pow(1.0 - p, gamma) * true * math.log(p), axis)


def sparse_categorical_crossentropy(
    target: TensorLike,
    output: TensorLike,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Tensor:
    """-log of the output of the target's class; 0 for targets of ignore_class.

    Args:
      target: Integer tensor of the shape of output without its axis, or with a further axis of size 1.
      output: Float tensor: probabilities, or logits.
      from_logits: Which of the two.
      axis: The axis of classes.
      ignore_class: A class whose samples count as 0.
    Returns: Tensor of the shape of output without its axis, in its dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    op = "sparse_categorical_crossentropy"
    true, logits = math.cast(lift(target), dtypes.int64), lift(output)
    if not from_logits:
        logits = math.log(_inside(logits))
    if logits.ndim is None:
        if axis != -1:
            raise InvalidArgumentError(
                f"{op}: axis is {axis} and the rank of output not known; move the axis to the end."
            )
    elif axis % logits.ndim != logits.ndim - 1:
        at = axis % logits.ndim
        logits = array.transpose(logits, [*(k for k in range(logits.ndim) if k != at), at])
    sizes = array.shape(logits)
    if true.ndim is not None and logits.ndim is not None and true.ndim != logits.ndim - 1:
        true = array.reshape(true, sizes[:-1])
    if ignore_class is None:
        return nn.sparse_softmax_cross_entropy_with_logits(labels=true, logits=logits)
    counts = math.not_equal(true, ignore_class)
    taken = math.where(counts, true, array.zeros_like(true))
    loss = nn.sparse_softmax_cross_entropy_with_logits(labels=taken, logits=logits)
    return math.where(counts, loss, array.zeros_like(loss))


# -- CTC ---------------------------------------------------------------------------------------------------------------------


def _log_frames(y_pred: TensorLike) -> Tensor:
    """Probabilities [batch, frames, classes] as logarithms [frames, batch, classes]."""
    return math.log(array.transpose(y_pred, [1, 0, 2]) + epsilon())


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Tensor:
    """The CTC loss of each row, its blank being the last class.

    Args:
      y_true: Tensor [batch, most labels].
      y_pred: Float tensor [batch, frames, classes]: probabilities.
      input_length, label_length: Integer tensors [batch, 1]: the frames and labels of each row.
    Returns: Tensor [batch, 1] of a float dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    labels, frames = (math.cast(array.squeeze(x, [-1]), dtypes.int32) for x in (label_length, input_length))
    loss = nn.ctc_loss(
        math.cast(lift(y_true), dtypes.int32), _log_frames(y_pred), labels, frames, blank_index=-1
    )
    return array.expand_dims(loss, 1)


def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> tuple[list[Tensor], Tensor]:
    """The labels of each row, by the best class of each frame or by beams.

    Args:
      y_pred: Float tensor [batch, frames, classes]: probabilities.
      input_length: Integer tensor [batch]: the frames of each row.
      greedy: Whether to take the best class of each frame.
      beam_width, top_paths: How many beams are kept and returned otherwise.
    Returns: For each path the labels [batch, frames], -1 behind them, and the float scores [batch, paths] of the decoder.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    frames, lengths = _log_frames(y_pred), math.cast(lift(input_length), dtypes.int32)
    if greedy:
        found, score = nn.ctc_greedy_decoder(frames, lengths)
    else:
        found, score = nn.ctc_beam_search_decoder(frames, lengths, beam_width, top_paths)
    sizes = array.shape(frames)
    shape = math.cast(array.stack([sizes[1], sizes[0]]), dtypes.int64)
    return [_dense(x.indices, x.values, shape) if greedy else _merged(x, shape) for x in found], score


def _dense(indices: Tensor, labels: Tensor, shape: Tensor) -> Tensor:
    """The labels [batch, frames], -1 where there are none."""
    return lift(to_dense(SparseTensor(indices, labels + 1, shape))) - 1


def _merged(labels: SparseTensor, shape: Tensor) -> Tensor:
    """The same with one label for equal neighbours: the decoder of TensorFlow 1, which Keras calls, merges what it found."""
    rows, values = labels.indices[:, 0], labels.values
    pairs = math.logical_and(math.equal(rows[1:], rows[:-1]), math.equal(values[1:], values[:-1]))
    first = math.logical_not(array.concat([array.zeros_like(rows[:1], dtypes.bool_), pairs], 0))
    rows, values = (array.boolean_mask(x, first) for x in (rows, values))
    count = math.cumsum(array.ones_like(rows))
    before = math.unsorted_segment_min(count, rows, shape[0])
    return _dense(array.stack([rows, count - array.gather(before, rows)], 1), values, shape)


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> SparseTensor:
    """The first labels of each row as a sparse tensor.

    Args:
      labels: Tensor [batch, most labels].
      label_lengths: Integer tensor [batch]: how many labels a row has.
    Returns: SparseTensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    dense = lift(labels)
    sizes = array.shape(dense)
    present = sequence_mask(label_lengths, sizes[1])
    indices = math.where(present)
    return SparseTensor(indices, array.gather_nd(dense, indices), math.cast(sizes, dtypes.int64))
