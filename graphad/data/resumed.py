"""Iterators that go on behind an error, so that one element that cannot be computed does not end a data set.

A generator ends with the first error that passes through it: who asks it again is told that there are no more elements, and the
rest of the data set would be lost without a word. `Resumed` begins another generator instead, which goes on with the same sources
and the same state; both therefore stand outside of the generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

END = object()  # what `next` gives where an iterator has ended


class Resumed:
    """The elements of a generator; where it fails, those of another one that goes on with what is left.

    Args: rest: Makes a generator. What it has taken of its sources, and what it remembers, is kept outside of it.
    """

    def __init__(self, rest: Callable[[], Iterator[Any]]) -> None:
        self._rest, self._run = rest, rest()

    def __iter__(self) -> Resumed:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._run)
        except StopIteration:
            raise
        except Exception:
            self._run = self._rest()
            raise


def each(function: Callable[[Any], Any], elements: Iterator[Any]) -> Iterator[Any]:
    """`function` of each element: as a generator expression, but it goes on behind an error."""
    return map(function, elements)


def flattened(sources: Iterator[Iterator[Any]]) -> Iterator[Any]:
    """The elements of the first iterator, then those of the second, and so on."""
    source: Any = END

    def rest() -> Iterator[Any]:
        nonlocal source
        while True:
            if source is END:
                source = next(sources, END)
                if source is END:
                    return
            yield from source
            source = END

    return Resumed(rest)


def picked(elements: Iterator[Any], start: int, stop: int | None = None, step: int = 1) -> Iterator[Any]:
    """Every `step`-th element from number `start` on, up to the one before number `stop`; one that fails has no number."""
    count = 0

    def rest() -> Iterator[Any]:
        nonlocal count
        while (stop is None or count < stop) and (element := next(elements, END)) is not END:
            number, count = count, count + 1
            if number >= start and (number - start) % step == 0:
                yield element

    return Resumed(rest)


def side_by_side(sources: list[Iterator[Any]]) -> Iterator[list[Any]]:
    """One element of each iterator, until the shortest ends. All go on where one fails: rows stay together."""

    def rest() -> Iterator[list[Any]]:
        while True:
            row: list[Any] = []
            failed: Exception | None = None
            for source in sources:
                try:
                    row.append(next(source))
                except StopIteration:
                    return
                except Exception as error:  # raised below, after the other sources have moved on too
                    failed = failed or error
            if failed is not None:
                raise failed
            yield row

    return Resumed(rest)


def again(begin: Callable[[], Iterator[Any]], rounds: Iterator[Any]) -> Iterator[Any]:
    """The elements of `begin()`, once for each of `rounds`, or until there are none."""
    source: Any = END
    is_empty = True

    def rest() -> Iterator[Any]:
        nonlocal source, is_empty
        while True:
            if source is END:
                if next(rounds, END) is END:
                    return
                source, is_empty = begin(), True
            for element in source:
                is_empty = False
                yield element
            source = END
            if is_empty:
                return

    return Resumed(rest)


def shuffled(elements: Iterator[Any], size: int, draw: Any) -> Iterator[Any]:
    """Each element drawn from a buffer of the next `size` elements, with a generator of NumPy."""
    waiting: list[Any] = []

    def draws() -> Iterator[int]:
        while True:
            yield from draw.integers(size, size=_DRAWS).tolist()

    places = draws()

    def rest() -> Iterator[Any]:
        while len(waiting) < size and (element := next(elements, END)) is not END:
            waiting.append(element)
        for element in elements:
            i = next(places)
            yield waiting[i]
            waiting[i] = element
        for i in draw.permutation(len(waiting)):
            yield waiting[i]

    return Resumed(rest)


_DRAWS = 256  # at a time; one by one each takes as long as the rest of an element


def in_turn(sources: Iterator[Iterator[Any]], cycle: int, block: int) -> Iterator[Any]:
    """`block` elements of each of `cycle` iterators in turn; one that has ended makes room for the next."""
    places: list[Any] = [END] * cycle
    has_more, turn, left = True, 0, block

    def rest() -> Iterator[Any]:
        nonlocal has_more, turn, left
        while has_more or any(place is not END for place in places):
            if places[turn] is END and has_more:
                places[turn] = next(sources, END)
                has_more = places[turn] is not END
            while places[turn] is not END and left:
                element = next(places[turn], END)
                if element is END:
                    places[turn] = END
                else:
                    left -= 1
                    yield element
            turn, left = (turn + 1) % cycle, block

    return Resumed(rest)


def grouped(
    elements: Iterator[Any], key_of: Callable[[Any], int], size_of: Callable[[int], int]
) -> Iterator[tuple[int, list[Any]]]:
    """Elements of one key together, as soon as there are as many as their key asks for; the rest at the end, by their keys."""
    waiting: dict[int, list[Any]] = {}

    def rest() -> Iterator[tuple[int, list[Any]]]:
        for element in elements:
            key = key_of(element)
            group = waiting.setdefault(key, [])
            group.append(element)
            if len(group) >= size_of(key):
                yield key, waiting.pop(key)
        while waiting:
            key = min(waiting)
            yield key, waiting.pop(key)

    return Resumed(rest)
