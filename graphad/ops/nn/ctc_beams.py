"""Beam search for the most likely labels of frames.

Each prefix is a node of a tree, with the probabilities that the frames so far give this prefix and end in a blank, or in its
last label (Graves, 2012; Hannun, 2014). All rows of a batch are searched together, frame by frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.op import TupleOp, define, no_batch, no_form, no_gradient, no_rows
from graphad.core.schema import Count, IntegerSpec
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.scatter import scatter_nd
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_int
from graphad.ops.math.cast import cast
from graphad.ops.math.cumulative import cumsum
from graphad.ops.math.position import argmax
from graphad.ops.math.reduce import reduce_max
from graphad.ops.math.search import sequence_mask
from graphad.ops.nn.softmaxes import log_softmax
from graphad.ops.sparse.tensor import SparseTensor


@define
class CtcBeams(TupleOp):
    """The `paths` most likely labels of each row of log-probabilities [frames, batch, classes], best first. The second input
    [batch] is the number of frames of each row, and the last class is the blank. The search keeps at most `width` prefixes.

    Results: labels [batch, paths, frames], int64, padded with -1; their lengths [batch, paths], int32; their log-probabilities
    [batch, paths].
    """

    name = "ctc_beams"
    words = {"lengths": "sequence_length"}
    keeps = (False, False)
    width: Count
    paths: Count
    lower = no_form("which prefixes a frame continues is known after the frame before it")

    def infer(self, logs: TensorSpec, lengths: IntegerSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        require_kind(self.name, logs, FLOATING, "inputs")
        if logs.dims is not None and len(logs.dims) != 3:
            raise InvalidArgumentError(
                f"{self.name}: inputs have shape {format_dims(logs.dims)}; [frames, batch, classes] is needed."
            )
        frames, batch, classes = (None, None, None) if logs.dims is None else logs.dims
        if lengths.dims is not None and (
            len(lengths.dims) != 1 or (type(batch) is int and lengths.dims[0] not in (None, batch))
        ):
            raise InvalidArgumentError(
                f"{self.name}: sequence_length has shape {format_dims(lengths.dims)}; ({batch},) is needed."
            )
        if classes == 0:
            raise InvalidArgumentError(f"{self.name}: there are no classes; the last one must be the blank.")
        if not 1 <= self.paths <= self.width:
            raise InvalidArgumentError(
                f"{self.name}: top_paths is {self.paths}, beam_width {self.width}; 1 <= top_paths <= beam_width is needed."
            )
        rows = (batch, self.paths)
        return (
            TensorSpec.of((*rows, frames), int64),
            TensorSpec.of(rows, int32),
            TensorSpec.of(rows, logs.dtype),
        )

    def eval(self, logs: Array, lengths: Array) -> tuple[Array, Array, Array]:
        logs, lengths = (arrays.here(x, "search for beams") for x in (logs, lengths))
        frames, batch, _ = logs.shape
        if len(lengths) != batch or (lengths < 0).any() or (lengths > frames).any():
            raise InvalidArgumentError(
                f"{self.name}: sequence_length is {lengths.tolist()} for {frames} frames and a batch of {batch}."
            )
        tree = _Tree(batch, self.width, frames)
        rows = np.arange(batch)[:, None]
        for number in range(frames):
            tree.step(np.asarray(logs[number], np.float64), number, (number < lengths)[:, None])
        total = np.logaddexp(tree.blank, tree.label)
        best = np.argsort(-total, axis=1, kind="stable")[:, : self.paths]
        found = total[rows, best]
        if batch and not np.isfinite(found).all():
            raise InvalidArgumentError(
                f"{self.name}: {self.paths} paths are requested, but a row has fewer; request fewer."
            )
        labels, counts = tree.labels(tree.node[rows, best], frames)
        return labels, counts, found.astype(logs.dtype)

    vjp = no_gradient("the choice of labels is piecewise constant")
    batch = no_batch("each batch is a search of its own")
    rows = no_rows("lengths and frames have their rows along different axes")


class _Tree:
    """The current prefixes of all rows [batch, width], and the tree of all prefixes so far."""

    def __init__(self, batch: int, width: int, frames: int) -> None:
        self.width = width
        self.blank = np.full((batch, width), -np.inf)
        self.label = np.full((batch, width), -np.inf)
        self.blank[:, 0] = 0.0
        self.node = np.full((batch, width), -1)
        self.node[:, 0] = 0
        self.parent = np.full((batch, 1 + frames * width), -1)
        self.last = np.full((batch, 1 + frames * width), -1)

    def step(self, logs: Any, number: int, runs: Any) -> None:
        """Advance by one frame, in the rows that have not ended."""
        batch, labels = logs.shape[0], logs.shape[1] - 1
        rows = np.arange(batch)[:, None]
        last = np.where(self.node >= 0, self.last[rows, self.node], -1)
        above = np.where(self.node >= 0, self.parent[rows, self.node], -1)
        same = (above[:, :, None] == self.node[:, None, :]) & (above >= 0)[:, :, None]
        is_followed, place = same.any(2), same.argmax(2)
        total = np.logaddexp(self.blank, self.label)
        before = np.where(last == last[rows, place], self.blank[rows, place], total[rows, place])
        before = np.where(is_followed, before, -np.inf)
        stays_blank = total + logs[:, -1:]
        own = np.where(last >= 0, logs[rows, np.maximum(last, 0)], -np.inf)
        stays_label = np.logaddexp(self.label, before) + own
        longer = np.where(last[:, :, None] == np.arange(labels), self.blank[:, :, None], total[:, :, None])
        longer = longer + logs[:, None, :-1]
        where, which = np.nonzero(is_followed)  # these children are already among the prefixes
        longer[where, place[where, which], last[where, which]] = -np.inf
        stays = np.logaddexp(stays_blank, stays_label)
        scores = np.concatenate([stays, longer.reshape(batch, -1)], 1)
        chosen = np.argsort(-scores, axis=1, kind="stable")[:, : self.width]
        is_new = chosen >= self.width
        source = np.where(is_new, (chosen - self.width) // max(labels, 1), chosen)
        there = np.isfinite(scores[rows, chosen])
        fresh = 1 + number * self.width + np.arange(self.width)
        grown = is_new & there & runs
        self.parent[:, fresh] = np.where(grown, self.node[rows, source], -1)
        self.last[:, fresh] = np.where(grown, (chosen - self.width) % max(labels, 1), -1)
        node = np.where(is_new, fresh, self.node[rows, source])
        blank = np.where(is_new, -np.inf, stays_blank[rows, source])
        label = np.where(is_new, scores[rows, chosen], stays_label[rows, source])
        self.node = np.where(runs, np.where(there, node, -1), self.node)
        self.blank = np.where(runs, np.where(there, blank, -np.inf), self.blank)
        self.label = np.where(runs, np.where(there, label, -np.inf), self.label)

    def labels(self, node: Array, frames: int) -> tuple[Any, Any]:
        """The labels of the nodes [batch, paths], first label first, and their lengths."""
        rows = np.arange(len(node))[:, None]
        turned = np.full((*node.shape, frames), -1, np.int64)
        for k in range(frames):
            turned[..., k] = np.where(node > 0, self.last[rows, node], -1)
            node = np.where(node > 0, self.parent[rows, node], 0)
        counts = (turned >= 0).sum(2)
        places = counts[..., None] - 1 - np.arange(frames)
        found = np.take_along_axis(turned, np.maximum(places, 0), 2) if frames else turned
        return np.where(places >= 0, found, -1), counts.astype(np.int32)


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The most likely labels of frames, by a beam search that keeps the `beam_width` best prefixes.

    Args:
      inputs: Float tensor [frames, batch, classes]: logits; the last class is the blank.
      sequence_length: Integer tensor [batch]: the number of frames of each row.
      beam_width: The number of prefixes that are kept.
      top_paths: The number of results for each row.
    Returns: (a SparseTensor [batch, most labels] of int64 for each path; their log-probabilities [batch, top_paths]).
      Neither has a derivative.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or there are fewer paths.
    """
    op = "ctc_beam_search_decoder"
    numbers = [static_int(op, x, word) for x, word in ((beam_width, "beam_width"), (top_paths, "top_paths"))]
    if numbers[0] is None or numbers[1] is None:
        raise InvalidArgumentError(
            f"{op}: beam_width and top_paths must be known while tracing; give numbers."
        )
    x = lift(inputs)
    labels, counts, logs = bind(
        CtcBeams(max(numbers[0], 0), max(numbers[1], 0)), log_softmax(x), lift(sequence_length)
    )
    return [_sparse(labels[:, k], counts[:, k]) for k in range(numbers[1])], logs


def _sparse(labels: Tensor, counts: Tensor) -> SparseTensor:
    mask = sequence_mask(counts, shape(labels)[1])
    sizes = shape(labels)
    row = broadcast_to(range_of(sizes[0])[:, None], sizes)
    column = broadcast_to(range_of(sizes[1])[None], sizes)
    places = stack([cast(boolean_mask(row, mask), int64), cast(boolean_mask(column, mask), int64)], 1)
    most = reduce_max(concat([counts, lift([0], int32)], 0))
    return SparseTensor.of(
        places, boolean_mask(labels, mask), stack([cast(sizes[0], int64), cast(most, int64)])
    )


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct labels of each row in order of appearance, and for each position the index of its label among them.

    Args:
      labels: Integer tensor [batch, most labels].
    Returns: (the distinct labels, int64, padded with 0; the int32 indices); both [batch, most labels].
    Raises: InvalidArgumentError (a ValueError): the rank is not 2.
    """
    own: Any = cast(lift(labels), int64)
    if own.dims is not None and len(own.dims) != 2:
        raise InvalidArgumentError(
            f"ctc_unique_labels: labels have shape {format_dims(own.dims)}; [batch, most labels] is needed."
        )
    sizes = shape(own)
    first = argmax(cast(own[:, :, None] == own[:, None, :], int32), 2, int32)
    is_first = first == range_of(sizes[1])[None]
    rank = cumsum(cast(is_first, int32), 1) - 1
    row = broadcast_to(range_of(sizes[0])[:, None], sizes)
    places = stack([boolean_mask(row, is_first), boolean_mask(rank, is_first)], 1)
    return scatter_nd(places, boolean_mask(own, is_first), sizes), gather(rank, first, axis=1, batch_dims=1)
