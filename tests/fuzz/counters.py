"""The number of programs in which the optional passes changed something, to measure the coverage of a campaign.

hoisted     a loop's body computes from what never changes, and that is computed once
apart       the same in a loop's derivative
selected    both branches are computed and one is selected
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

PASSES = ("hoisted", "apart", "selected")


@contextlib.contextmanager
def counted() -> Iterator[set[str]]:
    """The names of the passes that changed something within the block; the reader clears it for the next program."""
    import graphad.compiler.pipeline  # noqa: F401  the passes are there with it
    from graphad.compiler.passes import branches, hoist
    from graphad.ops.control import invariant

    seen: set[str] = set()

    def telling(function: Any, name: str, came: Any = lambda result: True) -> Any:
        def told(*arguments: Any) -> Any:
            result = function(*arguments)
            if came(result):
                seen.add(name)
            return result

        return told

    places = [
        (hoist, "_moved_out", "hoisted", lambda result: bool(result[0])),
        (invariant.Apart, "__init__", "apart", lambda result: True),
        (branches, "inlined", "selected", lambda result: True),
    ]
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _, _ in places]
    try:
        for owner, attribute, name, came in places:
            setattr(owner, attribute, telling(getattr(owner, attribute), name, came))
        yield seen
    finally:
        for owner, attribute, function in before:
            setattr(owner, attribute, function)
