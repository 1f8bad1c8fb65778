"""The position of one element in a random permutation, without computing the whole permutation.

A Feistel network permutes the numbers with an even number of bits; a result that is too large is permuted again until it fits
(cycle walking).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define, no_form, no_gradient
from graphad.core.schema import IntegerSpec, between, declare
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import concat
from graphad.ops.array.support import all_stacked
from graphad.ops.random.draw import lift_seed
from graphad.ops.rules import same_dtype

_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))  # the finaliser of MurmurHash3
_ROUND = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(33)


def _mixed(x: Array) -> Any:
    for factor in _MIX:
        x = (x ^ (x >> _SHIFT)) * factor
    return x ^ (x >> _SHIFT)


def _permuted(x: Array, keys: Array, half: int, rounds: int) -> Array:
    """x, of 2 * half bits, after some rounds keyed by a stack of three words."""
    width, mask = np.uint64(half), np.uint64(2**half - 1)
    left, right = x >> width, x & mask
    for k in range(rounds):
        word = keys[k % 3] + np.uint64(k + 1) * _ROUND
        left, right = right, left ^ (_mixed(right ^ word) & mask)
    return left << width | right


def _half_widths(limits: Array) -> Any:
    """Half of the bits, rounded up and at least 1, that each of these numbers takes."""
    if arrays.is_here(limits):
        found = [(int(n).bit_length() + 1) // 2 or 1 for n in limits.ravel()]
        return np.array(found).reshape(limits.shape)
    half: Any = np.ones_like(limits)
    for k in range(1, 32):
        half = half + (limits >= np.uint64(4**k))
    return half


Rounds = int
declare(between("Rounds", 1, 4096))  # each takes time


@define
class IndexShuffle(Op):
    """The positions of given numbers in a permutation of 0 to `max_index`, keyed by three integers, the last axis of `seed`.
    The index, the seed without its last axis and the largest number are scalars or vectors of one length; at most 4096 rounds.
    """

    name = "random_index_shuffle"
    keeps = (False, False)
    takes_symbols = False
    rounds: Rounds
    lower = no_form("an index is permuted until it lies in its range")

    def infer(self, index: IntegerSpec, seed: IntegerSpec, largest: TensorSpec) -> TensorSpec:
        dtype = same_dtype(self.name, (index, largest))
        if seed.dims is not None and (not seed.dims or seed.dims[-1] not in (3, None)):
            raise InvalidArgumentError(
                f"{self.name}: seed has shape {format_dims(seed.dims)}; its last axis holds three integers."
            )
        shapes = [index.dims, None if seed.dims is None else seed.dims[:-1], largest.dims]
        if any(dims is None for dims in shapes):
            return TensorSpec.of(None, dtype)
        vectors = [dims for dims in shapes if dims]
        if any(dims != vectors[0] for dims in vectors[1:] if None not in dims and None not in vectors[0]):
            raise InvalidArgumentError(
                f"{self.name}: index, seed and max_index have shapes {', '.join(map(format_dims, shapes))} (that of seed "
                "without its last axis); those that are not scalars must be equal."
            )
        return TensorSpec.of(vectors[0] if vectors else (), dtype)

    def eval(self, index: Array, seed: Array, largest: Array) -> Array:
        # The row axis comes first everywhere, so that vectors of one length align.
        shape = np.broadcast_shapes(index.shape, seed.shape[:-1], largest.shape)
        at, top = np.broadcast_to(index, shape), np.broadcast_to(largest, shape)
        if (at < 0).any() or (at > top).any():
            raise InvalidArgumentError(
                f"{self.name}: index is {np.asarray(index).tolist()}, max_index {np.asarray(largest).tolist()}; an index must "
                "be from 0 to max_index."
            )
        keys = np.moveaxis(arrays.as_array(seed).astype(np.int64).view(np.uint64), -1, 0)
        keys = _mixed(np.stack([np.broadcast_to(key, shape) for key in keys]))
        out = at.astype(np.uint64)
        limits = top.astype(np.uint64)
        halves = _half_widths(limits)
        for half in np.unique(halves).tolist():
            open_ = np.flatnonzero(halves == half)
            while open_.size:
                found = _permuted(out.ravel()[open_], keys.reshape(3, -1)[:, open_], half, self.rounds)
                out = out.reshape(-1)
                out[open_] = found
                open_ = open_[found > limits.ravel()[open_]]
        y = out.reshape(shape).astype(index.dtype)
        return y if y.ndim else y[()]

    vjp = no_gradient("an index is an integer")

    def batch(self, ctx: BatchContext, index: Ranked, seed: Ranked, largest: Ranked) -> Tensor:
        if any(len(x.dims) - ctx.stacked(i) - (i == 1) for i, x in enumerate((index, seed, largest))):
            return ctx.rowwise(self, index, seed, largest)
        return bind(self, *all_stacked(ctx, (index, seed, largest)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        ranks = [len(spec.dims or ()) - (i == 1) for i, spec in enumerate(specs)]
        if all(axis is None for axis in axes):
            return None
        return (
            0
            if all(
                axis in (None, 0) and rank for axis, rank in zip(axes, ranks, strict=True) if axis is not None
            )
            else MIXED
        )


def random_index_shuffle(
    index: TensorLike, seed: TensorLike, max_index: TensorLike, rounds: int = 4, name: str | None = None
) -> Tensor:
    """The positions of given numbers in a permutation of 0 to `max_index` that the seed determines. No gradient.

    Args:
      index: Integers, a scalar or a vector.
      seed: Three integers, or three for each index.
      max_index: The largest number, or one for each index.
      rounds: The number of mixing rounds, 4 to 4096.
    Returns: Integers of the shape of `index`.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or too few or too many rounds.
    Source: Black and Rogaway, Ciphers with arbitrary finite domains, 2002: a Feistel network with cycle walking.
    """
    number, largest = lift_pair("random_index_shuffle", index, max_index)
    if not isinstance(rounds, int) or rounds < 4:
        raise InvalidArgumentError(f"random_index_shuffle: rounds is {rounds!r}; at least 4 are needed.")
    return bind(IndexShuffle(rounds), number, lift_seed(seed), largest)


def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """The positions of given numbers in a permutation of 0 to `max_index`: `random_index_shuffle` for seeds of two or three
    integers.

    Args:
      index: Integer scalar or vector [n].
      seed: Integers [2] or [3], or [n, 2] or [n, 3].
      max_index: The largest number: a scalar or a vector [n] of the dtype of `index`.
    Returns: Tensor of the shape and dtype of `index`. No gradient.
    Raises: InvalidArgumentError (a ValueError): an index is not from 0 to `max_index`, or shapes do not fit.
    Source: Black and Rogaway, Ciphers with arbitrary finite domains, 2002: a Feistel network with cycle walking; rounds
      mix as MurmurHash3.
    """
    key = lift_seed(seed)
    if key.dims is not None and key.dims and key.dims[-1] == 2:
        key = concat([key, zeros_like(key[..., :1])], -1)
    return random_index_shuffle(index, key, max_index)
