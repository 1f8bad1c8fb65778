"""What is told to Python's garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from graphad.core.collector import settle


@pytest.fixture(autouse=True)
def as_in_a_program() -> Iterator[None]:
    """Without what the tests freeze once they are collected: where something is frozen, nothing is settled."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.mark.skipif(
    gc.get_freeze_count() > 0, reason="Python 3.12 freezes objects of its own: nothing is settled there"
)
def test_what_is_settled_is_among_the_old():
    kept = [[k] for k in range(300)]  # fewer than start a pass of the collector
    settle()
    old = {id(thing) for thing in gc.get_objects(generation=2)}
    assert all(id(thing) in old for thing in kept)


def test_settled_cycles_are_still_collected():
    class Node:
        pass

    gone = []
    node = Node()
    node.me = node
    weakref.finalize(node, gone.append, True)
    settle()
    del node
    gc.collect()
    assert gone


def test_what_the_program_has_frozen_stays_so():
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        settle()
        assert gc.get_freeze_count() >= count - 10
    finally:
        gc.unfreeze()
