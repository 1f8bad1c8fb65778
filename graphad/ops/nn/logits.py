"""The logits that probabilities were computed from.

A probability of float32 is rounded to 1 from logits of 17 on, and a cross-entropy of rounded probabilities is flat. So the
activations `sigmoid` and `softmax` of Keras note what they took, and its cross-entropies of probabilities compute from that. The
note is kept as long as the very tensor that the activation returned.
"""

from __future__ import annotations

import weakref

from graphad.core.levels import is_followed
from graphad.core.tensor import Tensor

# by the id of the probabilities: themselves, the logits, and the axis that adds up to 1, None for a sigmoid
_notes: dict[int, tuple[weakref.ref[Tensor], Tensor, int | None]] = {}


def note_logits(p: Tensor, logits: Tensor, axis: int | None) -> Tensor:
    """Note that p is the softmax of the logits along the axis, or their sigmoid; returns p."""
    key = id(p)
    _notes[key] = weakref.ref(p, lambda _: _notes.pop(key, None)), logits, _from_the_front(p, axis)
    return p


def logits_of(p: Tensor, axis: int | None) -> Tensor | None:
    """The logits whose softmax along the axis, or sigmoid, p is; None where they are not known.

    Nor are they where a derivative with respect to p is asked for that does not go on to them: a tape watches p alone.
    """
    note = _notes.get(id(p))
    if note is None:
        return None
    _, logits, summed = note
    if summed != _from_the_front(p, axis) or (is_followed(p) and not is_followed(logits)):
        return None
    return logits


def _from_the_front(p: Tensor, axis: int | None) -> int | None:
    return axis % p.ndim if axis is not None and p.ndim else axis
