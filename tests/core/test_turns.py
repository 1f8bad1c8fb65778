"""A turn within a turn, and a pause within a pause, end with the outer one."""

from __future__ import annotations

import gc
from threading import get_ident

from graphad.core.collector import paused
from graphad.core.turns import Turn


def test_a_turn_within_a_turn_leaves_it_to_the_outer_one() -> None:
    turn = Turn()

    def outer() -> int | None:
        turn.take(lambda: None)
        return turn._owner

    assert turn.take(outer) == get_ident()
    assert turn._owner is None and turn._depth == 0


def test_a_pause_within_a_pause_leaves_the_collector_off() -> None:
    def outer() -> bool:
        paused(lambda: None)
        return gc.isenabled()

    assert gc.isenabled()
    assert not paused(outer) and gc.isenabled()
