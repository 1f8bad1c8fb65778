"""Connectionist temporal classification: label sequences without alignment, and frames with a blank class.

The loss sums over all alignments of a row's labels with its frames. Blanks are inserted before, between and after the labels; a
scan over the frames keeps for each position of that sequence the log-sum of the alignments that end there (Graves and others,
2006). Its derivatives are those of the scan.
"""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import float32, int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import fill, ones, zeros_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import scatter_nd, unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_int
from graphad.ops.array.transpose import transpose
from graphad.ops.control.scan import foldl
from graphad.ops.math.cast import cast
from graphad.ops.math.cumulative import cumsum
from graphad.ops.math.position import argmax
from graphad.ops.math.reduce import reduce_logsumexp, reduce_max, reduce_sum
from graphad.ops.math.search import sequence_mask
from graphad.ops.math.select import where
from graphad.ops.nn.softmaxes import log_softmax
from graphad.ops.sparse.elementwise import to_dense
from graphad.ops.sparse.tensor import SparseTensor

_NONE = -1e30  # the logarithm of an empty sum: finite, so that derivatives are not NaN
_HARDLY = -1e29


def _blank(op: str, blank_index: int | None, classes: Any, default: int) -> Any:
    known = static_int(op, default if blank_index is None else blank_index, "blank_index")
    if known is None:
        raise InvalidArgumentError(f"{op}: blank_index must be known while tracing; give a number.")
    if type(classes) is int and not -classes <= known < classes:
        raise InvalidArgumentError(f"{op}: blank_index is {known}; there are {classes} classes.")
    return known + classes if known < 0 else known


def ctc_loss(
    labels: SparseTensor | TensorLike,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: object = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log of the probability of the labels of each row, given its frames.

    Args:
      labels: Integer tensor [batch, most labels], or a SparseTensor of that shape, for which `blank_index` has to be given.
      logits: Float tensor [frames, batch, classes].
      label_length: Integer tensor [batch]: the number of labels of each row; None for a SparseTensor.
      logit_length: Integer tensor [batch]: the number of frames of each row.
      logits_time_major: Whether logits are [frames, batch, classes]; otherwise [batch, frames, classes].
      unique: Accepted for compatibility.
      blank_index: The blank class, 0 by default; a negative one counts from the end.
    Returns: Tensor [batch] of the dtype of the logits; infinite, without derivative, if there are too few frames for the
    labels.
    Raises: InvalidArgumentError (a ValueError): a rank or `blank_index` is invalid.
    Source: Graves, Fernandez, Gomez and Schmidhuber, Connectionist temporal classification, 2006.
    """
    op = "ctc_loss"
    x = lift(logits)
    if x.dims is not None and len(x.dims) != 3:
        raise InvalidArgumentError(
            f"{op}: logits have shape {format_dims(x.dims)}; [frames, batch, classes] is needed."
        )
    narrow = x.dtype if x.dtype.size == 2 else None
    x = x if narrow is None else cast(x, float32)
    x = x if logits_time_major else transpose(x, [1, 0, 2])
    classes = shape(x)[2] if x.dims is None or x.dims[2] is None else x.dims[2]
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise InvalidArgumentError(f"{op}: blank_index must be given for labels that are sparse.")
        lengths: Any = unsorted_segment_sum(
            ones(shape(labels.values), int32), labels.indices[:, 0], labels.dense_shape[0]
        )
        own = cast(to_dense(labels), int32)
    else:
        if label_length is None:
            raise InvalidArgumentError(
                f"{op}: label_length is None; an integer tensor [batch] is needed for dense labels."
            )
        lengths, own = cast(label_length, int32), cast(labels, int32)
    frames = cast(logit_length, int32)
    loss = _loss(x, own, lengths, frames, _blank(op, blank_index, classes, 0))
    return loss if narrow is None else cast(loss, narrow)


def _loss(logits: Tensor, labels: Tensor, label_length: Tensor, logit_length: Tensor, blank: int) -> Tensor:
    # Whatever stands in the frames behind the last one, NaN too, is no part of the loss, nor of its derivative.
    is_frame: Any = transpose(sequence_mask(logit_length, shape(logits)[0]))
    logits = where(is_frame[:, :, None], logits, lift(0, logits.dtype))
    batch: Any = shape(labels)[0]
    pairs = reshape(stack([zeros_like(labels) + blank, labels], 2), stack([batch, 2 * shape(labels)[1]]))
    row: Any = concat([pairs, fill(stack([batch, 1]), lift(blank, int32))], 1)
    # A step of two positions is allowed to a label that differs from the previous label.
    before = concat([fill(stack([batch, 2]), lift(blank, int32)), row], 1)[:, :-2]
    jumps = (row != blank) & (row != before)
    logs = transpose(gather(transpose(log_softmax(logits), [1, 0, 2]), row, axis=2, batch_dims=1), [1, 0, 2])
    none = lift(_NONE, logits.dtype)
    place = range_of(shape(row)[1])
    started = where(place[None] < 2, logs[0], none)
    first = where((logit_length > 0)[:, None], started, where(place[None] < 1, lift(0, logits.dtype), none))

    def step(ways: Any, frame: Any) -> Any:
        number, log = frame
        lead = fill(stack([shape(ways)[0], 2]), none)
        wide = concat([lead, ways], 1)
        sources = stack([ways, wide[:, 1:-1], where(jumps, wide[:, :-2], none)], 0)
        return where((number < logit_length)[:, None], reduce_logsumexp(sources, 0) + log, ways)

    numbers = range_of(1, shape(logs)[0])
    ways = foldl(step, (numbers, logs[1:]), first)
    ends: Any = stack([2 * label_length, 2 * label_length - 1], 1)
    there = ends >= 0
    last = gather(ways, where(there, ends, 0), axis=1, batch_dims=1)
    total = reduce_logsumexp(where(there, last, none), 1)
    return where(total > _HARDLY, -total, lift(float("inf"), logits.dtype))


@blaming
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The best class of each frame, without blanks, and without repeats if they are merged.

    Args:
      inputs: Float tensor [frames, batch, classes]: logits.
      sequence_length: Integer tensor [batch]: the number of frames of each row.
      merge_repeated: Whether to merge equal neighbours without a blank between them.
      blank_index: The blank class, the last one by default; a negative one counts from the end.
    Returns: ([SparseTensor [batch, most labels] of int64], float tensor [batch, 1] with -sum of the best logits).
    Raises: InvalidArgumentError (a ValueError): the rank or `blank_index` is invalid.
    Source: Graves, Fernandez, Gomez and Schmidhuber, Connectionist temporal classification, 2006.
    """
    op = "ctc_greedy_decoder"
    x = lift(inputs)
    if x.dims is not None and len(x.dims) != 3:
        raise InvalidArgumentError(
            f"{op}: inputs have shape {format_dims(x.dims)}; [frames, batch, classes] is needed."
        )
    classes = shape(x)[2] if x.dims is None or x.dims[2] is None else x.dims[2]
    blank = _blank(op, blank_index, classes, -1)
    inside: Any = transpose(sequence_mask(sequence_length, shape(x)[0]))
    best: Any = argmax(x, 2)
    score = -reduce_sum(where(inside, reduce_max(x, 2), lift(0, x.dtype)), 0)
    kept = inside & (best != cast(blank, int64))
    if merge_repeated:
        kept = kept & concat([ones(shape(best[:1]), "bool"), best[1:] != best[:-1]], 0)
    rows, mask = transpose(best), transpose(kept)
    column = cumsum(cast(mask, int64), 1) - 1
    row = broadcast_to(range_of(cast(shape(rows)[0], int64))[:, None], shape(rows))
    places = stack([boolean_mask(row, mask), boolean_mask(column, mask)], 1)
    lengths = reduce_sum(cast(mask, int64), 1)
    most = reduce_max(concat([lengths, lift([0], int64)], 0))
    size = stack([cast(shape(rows)[0], int64), most])
    return [SparseTensor.of(places, boolean_mask(rows, mask), size)], score[:, None]


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Labels with equal neighbours merged.

    Args:
      labels: Tensor [batch, most labels], an integer dtype.
      seq_length: Integer tensor [batch]: the number of labels of each row.
    Returns: (labels [batch, largest new length], padded with 0; the new lengths [batch]), with the dtypes of the arguments.
    Raises: InvalidArgumentError (a ValueError): the rank is not 2.
    """
    rows, lengths = lift(labels), lift(seq_length)
    if rows.dims is not None and len(rows.dims) != 2:
        raise InvalidArgumentError(
            f"collapse_repeated: labels have shape {format_dims(rows.dims)}; [batch, most labels] is needed."
        )
    own: Any = rows
    new = concat([ones(shape(own[:, :1]), "bool"), own[:, 1:] != own[:, :-1]], 1)
    mask: Any = new & sequence_mask(lengths, shape(own)[1])
    counts = reduce_sum(cast(mask, int32), 1)
    most = reduce_max(concat([counts, lift([0], int32)], 0))
    row = broadcast_to(range_of(shape(own)[0])[:, None], shape(own))
    places = stack([boolean_mask(row, mask), boolean_mask(cumsum(cast(mask, int32), 1) - 1, mask)], 1)
    found = scatter_nd(places, boolean_mask(own, mask), stack([shape(own)[0], most]))
    return found, cast(counts, lengths.dtype)
