"""Axes that a tensor names whose value is not known while tracing: a branch for each axis, or set of axes, that it may name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError, SymbolicValueError
from graphad.core.tensor import Tensor
from graphad.ops.array.expanding import expand_dims
from graphad.ops.array.gather import gather
from graphad.ops.array.sequence import range as numbers
from graphad.ops.control.branch import switch_case
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import greater_equal, less, less_equal, logical_and
from graphad.ops.math.reduce import reduce_all, reduce_sum
from graphad.ops.state.effects import require

_MOST = 32  # branches


def for_each(op: str, axis: Tensor, x: Tensor, function: Callable[[Any], Tensor], several: bool) -> Tensor:
    """`function` of the axis that a scalar names, or, if `several` are allowed, of the tuple of axes that a vector names.

    Args:
      axis: A tensor whose value is not known.
      x: The tensor that has the axes.
    Raises: SymbolicValueError (a TypeError): the rank of x is unknown, or too many sets of axes are possible.
      InvalidArgumentError (a ValueError), at run time: an axis is out of range, or named twice.
    """
    if not axis.dtype.is_integer or axis.ndim is None or axis.ndim > int(several) or x.dims is None:
        raise _unknown(op)
    rank = len(x.dims)
    fits = logical_and(greater_equal(axis, -rank), less(axis, rank))
    text = f"{op}: axis \x00 is out of range for x of rank {rank}; valid axes are {-rank} to {rank - 1}."
    require(reduce_all(fits), text, [axis])
    place = cast(axis, int32) % max(rank, 1)
    if axis.ndim == 0:
        if not rank:
            raise InvalidArgumentError(
                f"{op}: axis is a tensor, and x is a scalar, which has no axes; leave it out."
            )
        return switch_case(place, [lambda k=k: function(k) for k in range(rank)])
    return _of_sets(op, axis, place, rank, function)


def _of_sets(op: str, axis: Any, place: Tensor, rank: int, function: Callable[[Any], Tensor]) -> Tensor:
    """The same of a vector of places."""
    many = axis.dims[0]
    counts = range(rank + 1) if many is None else [many]
    sets = [each for count in counts for each in combinations(range(rank), count)]
    if not sets:
        raise InvalidArgumentError(f"{op}: axis names {many} axes of x, which has {rank}.")
    if len(sets) > _MOST:
        raise _unknown(op)
    named = cast(expand_dims(place, 1) == numbers(rank), int32)
    often = reduce_sum(named, 0)
    require(reduce_all(less_equal(often, 1)), f"{op}: axes \x00 name the same axis twice.", [axis])
    numbered = {sum([1 << axis for axis in each]): k for k, each in enumerate(sets)}
    codes = np.array([numbered.get(code, 0) for code in range(1 << rank)], np.int32)
    code = reduce_sum(often * lift(2 ** np.arange(rank, dtype=np.int32))) % len(codes)
    return switch_case(gather(lift(codes), code), [lambda each=each: function(each) for each in sets])


def _unknown(op: str) -> SymbolicValueError:
    return SymbolicValueError(
        f"{op}: axis is a tensor whose value is not known while tracing; give integers: an argument of the function that "
        "is a Python number, for each of which it is traced, or one of several calls by `switch_case`."
    )
