"""`vectorized_map`: a function of one row applied to all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import entered
from graphad.core.nest import flatten
from graphad.vectorize.batch import BatchLevel, stack_rows


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """`fn` applied to each row of `elems`, computed for all rows at once.

    Args:
      fn: A function of one row (a nest like `elems`), called once.
      elems: A tensor [rows, ...] or a nest of such tensors.
      fallback_to_while_loop: Accepted for compatibility: an op without a batching rule is always run row by row.
      warn: Accepted for compatibility.
    Returns: A nest like the result of `fn`, each tensor stacked along a new first axis.
    Raises: InvalidArgumentError: the tensors have different numbers of rows, or none.
    """
    leaves, rebuild = flatten(elems)
    stacks = [lift(leaf) for leaf in leaves]
    sizes = []
    for x in stacks:
        if not x.dims:
            raise InvalidArgumentError(f"vectorized_map: elems must have a known leading axis, got shape {x.shape}.")
        sizes.append(x.dims[0])
    if not sizes or any(size != sizes[0] for size in sizes):
        raise InvalidArgumentError(f"vectorized_map: the numbers of rows differ or are missing: {sizes}.")
    level = BatchLevel(sizes[0])
    with entered(level):
        out = fn(rebuild([level.wrap(x) for x in stacks]))
        flat, rebuild_out = flatten(out)
        flat = [lift(y) for y in flat]
    return rebuild_out([stack_rows(level, y) for y in flat])
