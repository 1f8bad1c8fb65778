"""Tensors whose truth value chooses a branch, or whether a loop goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import is_one
from graphad.core.dtypes import bool_
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.levels import trace_in_progress
from graphad.core.shapes import format_dims
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.reshape import Squeeze, reshape


def as_predicate(op: str, x: TensorLike) -> Tensor:
    """A tensor as a bool scalar; numbers count as true unless they are 0."""
    if type(x) is EagerTensor and x.data.__class__ is np.bool_:
        return x
    from_number = at_hand(lift(x))
    dims = from_number.dims
    if dims and all(map(is_one, dims)):
        from_number = bind(Squeeze(tuple(range(len(dims)))), from_number)  # one truth value, as `bool(x)` has
    elif dims is None or (dims and all(size is None or is_one(size) for size in dims)):
        # The reshape raises an error if there turn out to be more elements.
        from_number = reshape(from_number, ())
    elif dims:
        raise InvalidArgumentError(
            f"{op}: the predicate has shape {format_dims(dims)}; it must be a scalar or have one element. tf.where chooses "
            "element by element, tf.reduce_all and tf.reduce_any make one truth value of many."
        )
    if from_number.dtype is bool_:
        return from_number
    if from_number.dtype.is_complex:
        raise DTypeError(f"{op}: the predicate has dtype {from_number.dtype.name}; it must be bool.")
    return from_number != 0


def at_hand(x: Any) -> Tensor:
    """A tensor whose truth value Python reads. Outside of traces, a tensor of another device is copied to the CPU."""
    return x.here() if x.away and trace_in_progress() is None else x  # type: ignore[no-any-return]
