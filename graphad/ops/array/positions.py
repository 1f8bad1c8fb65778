"""What ops whose indices are data have in common: their form, and why no loop carries them."""

from __future__ import annotations

import graphad.kernels as kernels
from graphad.core.spec import TensorSpec

# Why no loop carries them. It walks its operands by strides that are known before it runs, and cannot raise.
READS_ANYWHERE = "where it reads is in its indices, and one that is outside is an error"
WRITES_ANYWHERE = "where it writes is in its indices, which may name a place twice"

MOST_COORDINATES = 8  # of which native code has sizes


def by_coordinates(
    way: str, batch_dims: int, indices: TensorSpec, given: tuple[int, ...] = (0, 1)
) -> kernels.forms.Form | None:
    """The form of an op whose indices have coordinates, if it is known how many, and not too many."""
    depth = (indices.dims or (None,))[-1]
    if type(depth) is not int or not 1 <= depth <= MOST_COORDINATES:
        return None
    return kernels.forms.Indexed(way, batch_dims, batch_dims, True, given=given)
