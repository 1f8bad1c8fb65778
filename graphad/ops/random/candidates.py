"""Candidate sampling: negative classes for losses over very many classes, and the expected count of each.

A sampler draws `num_sampled` classes for a whole batch. Without repeats ("unique") it draws until it has so many different
ones; the expected count of a class is then its probability of being drawn at all, 1 - (1 - p)**draws. With repeats the expected
count of a class with probability p is p * num_sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import float32, int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, INTEGER, require_kind
from graphad.core.op import MIXED, TupleOp, define, no_batch, no_form, no_gradient
from graphad.core.refusal import refuse
from graphad.core.schema import Count
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import fill, ones
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_int
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import expm1, log1p
from graphad.ops.math.power import pow as power
from graphad.ops.math.reduce import reduce_all, reduce_sum
from graphad.ops.random import philox
from graphad.ops.random.draw import require_key
from graphad.ops.random.generator import fresh_key
from graphad.ops.state.effects import require


class Candidates(NamedTuple):
    """Drawn classes, and the expected counts of the true and the drawn classes."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


@define
class DrawClasses(TupleOp):
    """`count` classes from 0 to `classes` - 1, int64, and the number of draws that were made, an int64 scalar.

    For the kind "uniform" all are equally likely; for "log_uniform" class k has the probability
    log((k + 2) / (k + 1)) / log(classes + 1); for "weights" it is weight k divided by the sum of the weights [classes], the
    second input. `unique` leaves repeats out. The key is two integers; see `Draw`. A draw is one number of NumPy's
    `Generator.random` on the words of the key, mapped by the inverse distribution function; unique ones come in blocks of 2 *
    `count` + 16 draws.
    """

    name = "draw_classes"
    known_as = "random"
    keeps = (False, False)
    kind: Literal["log_uniform", "uniform", "weights"]
    count: Count
    classes: Count
    unique: bool
    lower = no_form("classes are drawn until enough of them differ")

    def infer(self, key: TensorSpec, *weights: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
        require_key(key)
        if key.dims is not None and len(key.dims) > 1:
            raise InvalidArgumentError(
                f"{self.name}: seed has shape {format_dims(key.dims)}; two integers are needed."
            )
        if len(weights) != (self.kind == "weights"):
            raise InvalidArgumentError(
                f"{self.name}: {len(weights)} inputs of weights for kind {self.kind!r}."
            )
        for given in weights:
            require_kind(self.name, given, FLOATING, "weights")
            if given.dims is not None and (len(given.dims) != 1 or given.dims[0] not in (None, self.classes)):
                raise InvalidArgumentError(
                    f"{self.name}: weights have shape {format_dims(given.dims)}; ({self.classes},) is needed."
                )
        if self.count and not self.classes:
            raise InvalidArgumentError(
                f"{self.name}: {self.count} classes are to be drawn, but there are no classes."
            )
        if self.unique and self.count > self.classes:
            raise InvalidArgumentError(
                f"{self.name}: {self.count} different classes are to be drawn of {self.classes}; draw fewer, or with repeats."
            )
        return TensorSpec.of((self.count,), int64), TensorSpec.of((), int64)

    def eval(self, key: Array, *weights: Array) -> tuple[Array, Array]:
        # In a loop until enough classes differ, few at a time.
        key, *given = [arrays.here(x, "random.Generator.random") for x in (key, *weights)]
        weights, edges = tuple(given), None
        if weights:
            edges = np.cumsum(weights[0], dtype=np.float64)
            possible = int(np.count_nonzero(weights[0]))
            if not (weights[0] >= 0).all() or not np.isfinite(edges[-1:]).all():
                raise InvalidArgumentError(f"{self.name}: a weight is negative or not a number.")
            if possible < (self.count if self.unique else min(self.count, 1)):
                raise InvalidArgumentError(
                    f"{self.name}: {self.count} classes are to be drawn, but {possible} have a weight above 0."
                )
        source = np.random.Generator(philox.stream(key))
        if not self.unique:
            return self._classes(source.random(self.count), edges), np.int64(self.count)  # type: ignore[return-value]
        found, draws = np.empty(0, np.int64), 0
        while len(found) < self.count:
            block = self._classes(source.random(2 * self.count + 16), edges)
            both = np.concatenate([found, block])
            first = np.sort(np.unique(both, return_index=True)[1])[: self.count]
            draws += int(first[-1]) + 1 - len(found) if len(first) == self.count else len(block)
            found = both[first]
        return found, np.int64(draws)  # type: ignore[return-value]

    def _classes(self, u: Any, edges: Any) -> Any:
        if self.kind == "uniform":
            found = np.floor(u * self.classes)
        elif self.kind == "log_uniform":
            found = np.floor(np.expm1(u * np.log1p(self.classes)))
        else:
            found = np.searchsorted(edges, u * edges[-1], side="right")
        last = self.classes - 1 if edges is None else int(np.searchsorted(edges, edges[-1]))
        return np.clip(found, 0, max(last, 0)).astype(np.int64)

    vjp = no_gradient("classes are integers")
    batch = no_batch("the number of draws differs from row to row")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None if all(axis is None for axis in axes) else MIXED


def _true(op: str, true_classes: TensorLike, num_true: int) -> Tensor:
    found = require_kind(op, lift(true_classes), INTEGER, "true_classes")
    try:
        fits = found.dims is None or (len(found.dims) == 2 and found.dims[1] in (None, num_true))
    except ValueError as cause:
        refuse(cause, op, "num_true", num_true, "an integer is needed")
    if not fits:
        raise InvalidArgumentError(
            f"{op}: true_classes have shape {format_dims(found.dims)}; [batch, {num_true}] is needed for num_true={num_true}."
        )
    return cast(found, int64)


def _require_inside(op: str, true: Tensor, classes: int) -> None:
    fits = reduce_all((true >= 0) & (true < classes))
    require(fits, f"{op}: a true class is out of range; 0 <= class < {classes}: \x00.", [true])


def _number(op: str, value: object, word: str) -> int:
    found: int | None = static_int(op, value, word)
    if found is None:
        raise InvalidArgumentError(f"{op}: {word} must be known while tracing; give a number.")
    if found < 1:
        raise InvalidArgumentError(f"{op}: {word} is {found}; at least 1 is needed.")
    return found


def _expected(probability: Tensor, draws: Tensor, count: int, unique: bool) -> Tensor:
    if not unique:
        return probability * float(count)
    return bind(NEG, expm1(cast(draws, float32) * log1p(bind(NEG, probability))))


def _drawn(
    op: str,
    kind: Literal["log_uniform", "uniform", "weights"],
    true_classes: TensorLike,
    num_true: int,
    num_sampled: object,
    unique: bool,
    range_max: int,
    seed: int | None,
    weights: Tensor | None = None,
) -> Candidates:
    count, classes = _number(op, num_sampled, "num_sampled"), _number(op, range_max, "range_max")
    true = _true(op, true_classes, num_true)
    _require_inside(op, true, classes)
    given = () if weights is None else (weights,)
    sampled, draws = bind(DrawClasses(kind, count, classes, bool(unique)), fresh_key(seed), *given)
    counts = [
        _expected(_probability(kind, found, classes, weights), draws, count, unique)
        for found in (true, sampled)
    ]
    return Candidates(sampled, *counts)


def _probability(kind: str, found: Tensor, classes: int, weights: Tensor | None) -> Tensor:
    if weights is not None:
        return cast(gather(weights / reduce_sum(weights), found), float32)
    if kind == "uniform":
        return fill(shape(found), 1.0 / classes)
    k: Any = cast(found, float32)
    return log1p(1.0 / (k + 1.0)) / float(np.log1p(classes))


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn uniformly.

    Args:
      true_classes: Integer tensor [batch, num_true]: the target classes.
      num_true: The number of target classes of each row.
      num_sampled: The number of classes to draw for the batch.
      unique: Whether the drawn classes are all different.
      range_max: The number of classes.
      seed: As for `uniform`.
    Returns: (int64 classes [num_sampled], float32 expected counts of the true classes [batch, num_true], those of the drawn ones
      [num_sampled]).
    Raises: InvalidArgumentError (a ValueError): more different classes are requested than exist, or a shape does not fit.
    Example:
      >>> random.uniform_candidate_sampler([[0], [3]], 1, 4, True, 4).sampled_expected_count.shape
      TensorShape([4])
    """
    op = "uniform_candidate_sampler"
    return _drawn(op, "uniform", true_classes, num_true, num_sampled, unique, range_max, seed)


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes of which class k has the probability log((k + 2) / (k + 1)) / log(range_max + 1), for classes sorted by
    decreasing frequency: approximately Zipf's law.

    Args:
      true_classes: Integer tensor [batch, num_true]: the target classes.
      num_true: The number of target classes of each row.
      num_sampled: The number of classes to draw for the batch.
      unique: Whether the drawn classes are all different.
      range_max: The number of classes.
      seed: As for `uniform`.
    Returns: (int64 classes [num_sampled], float32 expected counts of the true classes [batch, num_true], those of the drawn ones
      [num_sampled]).
    Raises: InvalidArgumentError (a ValueError): more different classes are requested than exist, or a shape does not fit.
    """
    op = "log_uniform_candidate_sampler"
    return _drawn(op, "log_uniform", true_classes, num_true, num_sampled, unique, range_max, seed)


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: TensorLike = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes with probabilities proportional to powers of their counts `unigrams`.

    Args:
      true_classes: Integer tensor [batch, num_true]: the target classes.
      num_true: The number of target classes of each row.
      num_sampled: The number of classes to draw for the batch.
      unique: Whether the drawn classes are all different.
      range_max: The number of classes, including the reserved ones.
      vocab_file: Not supported; read the file and give its counts as `unigrams`.
      distortion: The exponent of the counts: 1 keeps them, 0 makes all classes equally likely.
      num_reserved_ids: The number of classes before the first of `unigrams`, which are never drawn.
      num_shards, shard: Must be 1 and 0; sharding is not supported.
      unigrams: Counts, [range_max - num_reserved_ids].
      seed: As for `uniform`.
    Returns: (int64 classes [num_sampled], float32 expected counts of the true classes [batch, num_true], those of the drawn ones
      [num_sampled]).
    Raises: InvalidArgumentError (a ValueError): the number of counts does not fit the number of classes, or an option is not
    supported.
    """
    op = "fixed_unigram_candidate_sampler"
    if vocab_file:
        raise InvalidArgumentError(
            f"{op}: files are not read; give the counts of {vocab_file!r} as unigrams."
        )
    if (num_shards, shard) != (1, 0):
        raise InvalidArgumentError(
            f"{op}: num_shards is {num_shards}, shard {shard}; only one shard is supported, num_shards=1 and shard=0."
        )
    classes = _number(op, range_max, "range_max")
    counts = cast(lift(unigrams), float32)
    if counts.dims != (classes - num_reserved_ids,):
        raise InvalidArgumentError(
            f"{op}: unigrams have shape {format_dims(counts.dims)}; range_max={classes} and num_reserved_ids={num_reserved_ids} "
            f"need ({classes - num_reserved_ids},)."
        )
    weights = power(counts, float(distortion))
    if num_reserved_ids:
        weights = concat([fill([num_reserved_ids], 0.0), weights], 0)
    return _drawn(op, "weights", true_classes, num_true, num_sampled, unique, classes, seed, weights)


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """All classes from 0 to num_sampled - 1, each with the expected count 1. Nothing is drawn; it is meant for tests.

    Args:
      true_classes: Integer tensor [batch, num_true]: the target classes.
      num_true: The number of target classes of each row.
      num_sampled: The number of classes.
      unique, seed: Accepted for compatibility.
    Returns: (int64 classes [num_sampled], ones [batch, num_true] of float32, ones [num_sampled]).
    Raises: InvalidArgumentError (a ValueError): a shape does not fit.
    """
    op = "all_candidate_sampler"
    count = _number(op, num_sampled, "num_sampled")
    true = _true(op, true_classes, num_true)
    _require_inside(op, true, count)
    return Candidates(range_of(lift(count, int64)), ones(shape(true), float32), ones([count], float32))


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The pairs of a row and a drawn class that is a target of that row.

    Args:
      true_classes: Integer tensor [batch, num_true].
      sampled_candidates: Integer tensor [num_sampled].
      num_true: The number of target classes of each row.
      seed: Accepted for compatibility.
    Returns: (int32 rows [hits], int64 positions among the drawn classes [hits], float32 weights [hits], all the lowest number,
      to be added to the logits).
    Raises: InvalidArgumentError (a ValueError): a shape does not fit.
    """
    op = "compute_accidental_hits"
    true: Any = _true(op, true_classes, num_true)
    drawn: Any = cast(lift(sampled_candidates), int64)
    if drawn.ndim not in (None, 1):
        raise InvalidArgumentError(
            f"{op}: sampled_candidates have shape {format_dims(drawn.dims)}; a vector is needed."
        )
    hits = true[:, :, None] == drawn[None, None, :]
    sizes = shape(hits)
    row = broadcast_to(range_of(sizes[0])[:, None, None], sizes)
    place = broadcast_to(range_of(sizes[2])[None, None, :], sizes)
    rows = boolean_mask(row, hits)
    low = fill(reshape(shape(rows), [1]), float(np.finfo(np.float32).min))
    return cast(rows, int32), cast(boolean_mask(place, hits), int64), low
