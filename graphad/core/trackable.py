"""What a file needs to know of an object: its named children.

A trackable lists its attributes; lists, tuples and dicts among them count as children too. Names that begin with the
prefixes below are the library's own and are not saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PRIVATE = "_graphad_"


class Trackable:
    """Base class of modules, layers, optimizers, metrics and loaded objects."""

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The attributes by name, sorted; what of them can be saved is for the file format to say."""
        for name in sorted(vars(self)):
            if not name.startswith(PRIVATE):
                yield name, vars(self)[name]


def children_of(x: Any) -> Iterator[tuple[str, Any]]:
    """The named children of a trackable, a list, a tuple or a dict."""
    if isinstance(x, Trackable):
        yield from x.named_children()
    elif isinstance(x, dict):
        for key in sorted(x, key=str):
            yield str(key), x[key]
    elif isinstance(x, list | tuple):
        for i, item in enumerate(x):
            yield str(i), item
