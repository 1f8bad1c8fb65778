"""Elementwise steps of derivative rules that are written over an intermediate result nobody else holds.

An array of 1e5 floats that is made anew costs as much as the arithmetic: what is written is not in the cache. A rule knows which
of its intermediate results are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import bind as door
from graphad.core.bind import bind
from graphad.core.ieee import heard, hush, unhush
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.directly import is_free

if TYPE_CHECKING:
    from graphad.ops.elementwise import Elementwise

_MANY = 16384  # bytes; smaller arrays are quicker made anew


def overwrite(op: Elementwise, fresh: Tensor, *others: Tensor) -> Tensor:
    """`bind(op, fresh, *others)`, which eagerly overwrites a large first operand.

    Args:
      op: An op with `into`.
      fresh: What another arithmetic op has just given, of which nobody else will read a value.
      others: The other operands.
    """
    if (
        type(fresh) is EagerTensor
        and op.into is not None
        and fresh.data.nbytes >= _MANY
        and is_free(fresh, *others)
        and not door.VERIFY
    ):
        into = fresh.data
        if type(into) is np.ndarray and into.flags.owndata:
            values = [x.data for x in others]
            if all(_fits(x, into) for x in values):
                settings = heard()
                try:
                    hush()  # a report would come when the operand is lost
                    return EagerTensor(op.into(into, *values, out=into))
                finally:
                    unhush(settings)
    return bind(op, fresh, *others)


def _fits(x: Any, into: np.ndarray) -> bool:
    return bool(x.dtype == into.dtype) and (x.shape == into.shape or _is_broadcast(x.shape, into.shape))


def _is_broadcast(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of the one shape is repeated to the other."""
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape[::-1], into[::-1], strict=False))
