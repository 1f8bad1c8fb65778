"""Who may use a level that it finds: `current` decides; `bind` and the read of a variable ask it in a shorter way first."""

from __future__ import annotations

import ast
import asyncio
import contextvars
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graphad as gd
from graphad.core.bind import bind, new_recorder
from graphad.core.levels import current, remove_recorder
from graphad.ops.math.trigonometric import SIN

ROOT = Path(__file__).parents[2]


class Listener:
    """A recorder that only counts."""

    differentiates_itself = False
    transforms = None

    def __init__(self) -> None:
        self.ops = self.reads = 0

    def record(self, op: Any, inputs: Any, outputs: Any) -> None:
        self.ops += 1

    def read(self, handle: Any, value: Any) -> None:
        self.reads += 1


def answers(listener: Listener, level: Any) -> tuple[bool, bool, bool]:
    """Whether `bind`, a variable's read and `current` take the level as theirs. Each starts from the level as it was found."""
    x, v = gd.constant(1.0), gd.Variable(2.0)
    before = listener.ops, listener.reads
    contextvars.copy_context().run(bind, SIN, x)
    contextvars.copy_context().run(v.__graphad_tensor__)
    return listener.ops > before[0], listener.reads > before[1], current() is level


def here(ask: Callable[[], Any]) -> Any:
    return ask()


def in_a_thread(ask: Callable[[], Any]) -> Any:
    """In another thread, which is given the context of this one."""
    found: list[Any] = []
    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: found.append(context.run(ask)))
    thread.start()
    thread.join()
    return found[0]


def in_a_loop(ask: Callable[[], Any]) -> Any:
    """In a task that this thread runs within its block."""

    async def task() -> Any:
        return ask()

    return asyncio.run(task())


@pytest.mark.parametrize(("way", "is_own"), [(here, True), (in_a_thread, False), (in_a_loop, True)])
def test_the_three_agree_whose_a_level_is(way, is_own):
    listener = Listener()
    level = new_recorder(listener)
    try:
        assert way(lambda: answers(listener, level)) == (is_own,) * 3
    finally:
        remove_recorder(level, listener)


def test_the_three_agree_in_a_task_that_another_task_began():
    async def inner(listener: Listener, level: Any) -> Any:
        return answers(listener, level)

    async def outer() -> Any:
        listener = Listener()
        level = new_recorder(listener)
        try:
            mine = answers(listener, level)
            return mine, await asyncio.create_task(inner(listener, level))
        finally:
            remove_recorder(level, listener)

    mine, other = asyncio.run(outer())
    assert mine == (True,) * 3
    assert other == (False,) * 3


def test_nothing_else_asks_for_the_owner_of_a_level():
    found = {
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "graphad").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "level.owner"
    }
    assert found == {"graphad/core/bind.py", "graphad/core/levels.py", "graphad/eager/variable.py"}
