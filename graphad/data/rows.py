"""Data sets as graphs: how many elements there are, and the element of a number, both computed by ops.

This is what a traced function goes through where the elements are slices of its own tensors, or come from memory in an order that
is known. Such a loop asks nothing of the host: it compiles as any other, and a saved model holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.autograph.convert import converted_here
from graphad.autograph.loops import Elements
from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.data.elements import applied, called, copied, leaves, mapped, returned
from graphad.ops.array.gather import gather
from graphad.ops.array.sequence import range as numbers
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.control.scan import map_fn
from graphad.ops.control.while_loop import repeat
from graphad.ops.math import less, logical_and, maximum, minimum, reduce_all
from graphad.ops.math.cast import cast
from graphad.ops.math.select import where
from graphad.ops.random import shuffle
from graphad.ops.random.distributions import stateless_shuffle
from graphad.ops.state.effects import require

Number = int | Tensor  # an int64 scalar that the function computes


class Rows:
    """The elements of a data set, by their numbers.

    Args:
      count: How many there are, int64.
      at: The element of a number.
      many: The elements of a vector of numbers, stacked.
      reorders: Whether their order is drawn anew each time that they are gone through.
    """

    def __init__(
        self,
        count: Tensor,
        at: Callable[[Tensor], Any],
        many: Callable[[Tensor], Any],
        reorders: bool = False,
    ) -> None:
        self.count, self.at, self.many, self.reorders = count, at, many, reorders

    def renumbered(self, count: Tensor, number: Callable[[Tensor], Tensor], reorders: bool = False) -> Rows:
        """As many elements as `count`: element i is element `number(i)` of these; i may be a vector."""
        return Rows(
            count, lambda i: self.at(number(i)), lambda i: self.many(number(i)), reorders or self.reorders
        )


class Walked(Elements):
    """The elements of a data set, as what a staged `for` iterates over: shapes may change from step to step."""

    may_change = True


def walked(rows: Rows) -> Walked:
    """What a staged `for` goes through."""
    return Walked(numbers(rows.count), rows.at)


def slices(tensors: Any) -> Rows:
    """One element for each index of the first axis of all tensors of a nest.

    Raises: InvalidArgumentError (a ValueError): a scalar, or sizes that are known to differ, or, when the function runs, that do.
    """
    found = leaves(tensors)
    if not found or any(x.dims == () for x in found):
        raise InvalidArgumentError("from_tensor_slices: a scalar has no slices; use from_tensors.")
    sizes = [x.dims[0] if x.dims is not None else None for x in found]
    known = {size for size in sizes if size is not None}
    if len(known) > 1:
        raise InvalidArgumentError(
            f"from_tensor_slices: the first axes have sizes {', '.join(map(str, sizes))}; they must be equal."
        )
    counts = [shape(x, int64)[0] for x in found]
    if None in sizes:
        for count in counts[1:]:
            require(count == counts[0], "from_tensor_slices: the first axes have different sizes.", [])
    count = lift(known.pop(), int64) if known else counts[0]

    def many(i: Tensor) -> Any:
        return mapped(lambda x: gather(x, i), tensors)

    return Rows(count, many, many)


def single(tensors: Any) -> Rows:
    """One element: the nest of tensors itself."""
    return Rows(
        lift(1, int64),
        lambda i: tensors,
        lambda i: mapped(lambda x: gather(x[None], i), tensors),
    )


def holds(dtype: Any, found: Sequence[int]) -> bool:
    """Whether int64, by which ops count, and a dtype of integers have all numbers of a range."""
    kinds = {int64, dtype} if dtype.is_integer else {int64}
    return all(kind.min <= i <= kind.max for kind in kinds for i in (*found[:1], *found[-1:]))


def counted(found: range, dtype: Any) -> Rows:
    """The numbers of a range."""
    return _steps(lift(len(found), int64), found.start, found.step, dtype)


def ranged(start: Number, stop: Number, step: Number, dtype: Any) -> Rows:
    """The numbers of a range whose ends or step the function computes."""
    if not isinstance(step, int):
        require(step != 0, "Dataset.range: the step is 0; it must be a non-zero integer.", [])
        step = where(step == 0, lift(1, int64), step)
    return _steps(maximum(-((lift(start, int64) - stop) // step), 0), start, step, dtype)


def _steps(count: Tensor, start: Number, step: Number, dtype: Any) -> Rows:
    def many(i: Tensor) -> Any:
        return cast(start + i * step, dtype)

    return Rows(count, many, many)


def together(nest: Any) -> Rows:
    """Elements of a nest of these side by side, until the shortest ends."""
    parts = leaves(nest)
    count = parts[0].count
    for part in parts[1:]:
        count = minimum(count, part.count)
    return Rows(
        count,
        lambda i: mapped(lambda part: part.at(i), nest),
        lambda i: mapped(lambda part: part.many(i), nest),
        any(part.reorders for part in parts),
    )


def each(function: Callable[..., Any], rows: Rows) -> Rows:
    """`function` of each element; the parts of a tuple are its arguments."""
    converted = converted_here(function)

    def at(i: Tensor) -> Any:
        return mapped(lift, returned(called(converted, copied(rows.at(i)))))

    return Rows(rows.count, at, lambda i: map_fn(at, i), rows.reorders)


def batched(rows: Rows, size: Number, drop: bool) -> Rows:
    """Batches of `size` consecutive elements; the last one may be smaller, or is dropped."""
    whole = known_value(rows.count)
    is_even = isinstance(size, int) and (drop or (whole is not None and int(whole) % size == 0))
    if not isinstance(size, int):
        require(size > 0, "batch: batch_size is \x00; it must be positive.", [size])
        size = maximum(size, 1)
    count = rows.count // size if drop else -(-rows.count // size)
    columns = lift(np.arange(size), int64) if is_even and isinstance(size, int) else None

    def at(i: Tensor) -> Any:
        first = i * size
        places = numbers(first, minimum(first + size, rows.count)) if columns is None else first + columns
        return rows.many(places)

    def many(i: Tensor) -> Any:
        if not is_even:
            sizes = minimum(rows.count - i * size, size)
            require(
                reduce_all(sizes == sizes[:1]),
                "batch: the batches have different sizes and do not stack; use batch(n, drop_remainder=True).",
                [],
            )
        return map_fn(at, i)

    return Rows(count, at, many, rows.reorders)


def taken(rows: Rows, number: Number) -> Rows:
    """The first `number` elements; all for -1."""
    if isinstance(number, int):
        return rows if number < 0 else rows.renumbered(minimum(rows.count, number), lambda i: i)
    return rows.renumbered(where(number < 0, rows.count, minimum(rows.count, number)), lambda i: i)


def skipped(rows: Rows, number: Number) -> Rows:
    """All but the first `number` elements; none for -1."""
    first: Number
    if isinstance(number, int):
        first = rows.count if number < 0 else number
    else:
        first = where(number < 0, rows.count, number)
    return rows.renumbered(maximum(rows.count - first, 0), lambda i: i + first)


def sharded(rows: Rows, step: Number, start: Number) -> Rows:
    """Every `step`-th element from number `start` on."""
    if not (isinstance(step, int) and isinstance(start, int)):
        fits = logical_and(lift(start, int64) >= 0, lift(start, int64) < step)
        require(
            fits, "shard: index is \x00; 0 <= index < num_shards, which is \x00.", [lift(start), lift(step)]
        )
        step = maximum(lift(step, int64), 1)
    return rows.renumbered(maximum(-((start - rows.count) // step), 0), lambda i: i * step + start)


def numbered(rows: Rows, first: Number) -> Rows:
    """Pairs of a number and an element."""
    return Rows(
        rows.count,
        lambda i: (i + first, rows.at(i)),
        lambda i: (i + first, rows.many(i)),
        rows.reorders,
    )


def repeated(rows: Rows, times: Number) -> Rows:
    """The elements `times` times.

    Raises: InvalidArgumentError (a ValueError): without end, or elements whose order is drawn anew each time.
    """
    endless = "repeat: a data set of traced tensors cannot be repeated without end; give the number of times."
    if isinstance(times, int) and times < 0:
        raise InvalidArgumentError(endless)
    if rows.reorders and not (isinstance(times, int) and times <= 1):
        raise InvalidArgumentError(
            "repeat: a shuffled data set of traced tensors cannot be repeated; shuffle behind repeat, or write a loop around "
            "the loop."
        )
    if not isinstance(times, int):
        require(times >= 0, endless, [])
        times = maximum(times, 0)
    return rows.renumbered(rows.count * times, lambda i: i % maximum(rows.count, 1))


def reordered(rows: Rows, size: Number, seed: int | None, key: Tensor | None) -> Rows:
    """The elements in an order that is drawn when the loop begins, or in the one that belongs to `key`; in theirs for size 1."""
    every = numbers(rows.count)
    order = shuffle(every, seed=seed) if key is None else stateless_shuffle(every, key)
    if not isinstance(size, int):
        order = where(size == 1, every, order)
    return rows.renumbered(rows.count, lambda i: gather(order, i), reorders=key is None)


def reduced(rows: Rows, state: Any, function: Callable[..., Any]) -> Any:
    """The last of the states that `function(state, element)` gives, one after another."""
    step = converted_here(function)

    def body(i: Tensor, before: Any) -> list[Any]:
        after = returned(applied(step, before, rows.at(i)))
        return [i + 1, mapped(lift, after)]

    names = ["the number of the step", "the state"]
    loop = [lift(0, int64), state]
    return repeat(lambda i, _: less(i, rows.count), body, loop, None, None, names, may_change=True)[1]
