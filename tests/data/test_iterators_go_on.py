"""An iterator whose position is kept goes on where it is."""

from __future__ import annotations

from collections.abc import Iterator

from graphad.data.iterators import Taken


def test_an_iterator_with_a_position_begins_once_while_nothing_is_restored() -> None:
    begun = 0

    def begin() -> Iterator[int]:
        nonlocal begun
        begun += 1
        return iter(range(5))

    taken = Taken(begin)
    position = taken.position()
    assert [next(taken) for _ in range(3)] == [0, 1, 2] and begun == 1
    position.assign(1)
    assert next(taken) == 1 and begun == 2 and int(position) == 2
