"""The parts of a model as a tree: its modules with their variables, shapes and numbers of parameters.

    Sequential 'sequential': 23 parameters
    ├─ layers[0]: Dense 'dense': 15 parameters
    │  ├─ kernel: float32(4, 3), 12
    │  └─ bias: float32(3,), 3
    └─ layers[1]: ...

A part that several attributes share is shown once, and named where it comes again. It works for objects from files as for
modules: whatever lists its named children.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from graphad.core.shapes import format_dims
from graphad.core.tensor import Handle
from graphad.core.trackable import PRIVATE, Trackable

MOST_LINES = 200  # of a tree as text; what is left out is counted
DEEPEST = 40  # modules inside each other that are shown


class Branch(NamedTuple):
    """One line of a tree and what is below it."""

    text: str
    below: tuple[Any, ...]


def tree_of(x: object) -> Branch:
    """The tree of a module, or of an object that a file has given."""
    return _branch("", x, {}, ())


def variables_of(x: object) -> list[Any]:
    """The variables of an object and of all below it, each once, in the order of the tree."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    waiting: list[Any] = [x]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Handle):
            found.setdefault(id(each), each)
        elif id(each) not in seen:
            seen.add(id(each))
            waiting += [part for _, part in _parts(each)][::-1]
    return list(found.values())


def counts(x: object) -> tuple[int, int, int]:
    """How many parameters are trained, how many are not, and how many bytes both take; shared ones count once."""
    trained = fixed = size = 0
    seen: set[int] = set()
    waiting: list[Any] = [x]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Handle):
            count = _size(each)
            trained, fixed = (trained + count, fixed) if each.trainable else (trained, fixed + count)
            size += count * each.spec.dtype.itemsize
        else:
            waiting += [part for _, part in _parts(each)]
    return trained, fixed, size


def short(x: object) -> str:
    """`Dense 'dense': 15 parameters`, in one line."""
    trained, fixed, _ = counts(x)
    return f"{_title(x)}: {_parameters(trained, fixed)}"


def text_of(branch: Branch, most: int = MOST_LINES) -> str:
    """The tree as lines of text."""
    lines = list(_lines(branch, "", ""))
    if len(lines) > most:
        lines = [*lines[:most], f"... and {len(lines) - most} more lines"]
    return "\n".join(lines)


def summary(x: object) -> str:
    """The tree with the totals below it."""
    trained, fixed, size = counts(x)
    lines = [
        text_of(tree_of(x)),
        "",
        f"Total parameters: {trained + fixed:,} ({in_bytes(size)})",
        f"Trainable parameters: {trained:,}",
        f"Non-trainable parameters: {fixed:,}",
    ]
    return "\n".join(lines)


def plain(text: str) -> str:
    """A name as it is, unless it holds what a terminal would not show: names from files are anybody's."""
    return text if text.isprintable() else ascii(text)


def in_bytes(size: int) -> str:
    """`512 B`, `1.5 KiB`, `3.2 MiB`."""
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def _lines(branch: Branch, first: str, rest: str) -> Iterator[str]:
    yield first + branch.text
    for i, below in enumerate(branch.below):
        is_last = i == len(branch.below) - 1
        yield from _lines(below, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  "))


def _branch(name: str, x: object, seen: dict[int, str], above: tuple[str, ...]) -> Branch:
    name = plain(name)
    here = f"{name}: " if name else ""
    if isinstance(x, Handle):
        text = f"{here}{x.spec.dtype.name}{format_dims(x.dims)}, {_size(x):,}"
        if not x.trainable:
            text += ", not trained"
        if id(x) in seen:
            return Branch(f"{text}, the same as {seen[id(x)]}", ())
        seen[id(x)] = ".".join((*above, name)) or "this one"
        return Branch(text, ())
    if id(x) in seen:
        return Branch(f"{here}{_title(x)}, the same as {seen[id(x)]}", ())
    path = (*above, name) if name else above
    seen[id(x)] = ".".join(path) or "the whole"
    below = [("...", x)] if len(path) >= DEEPEST else _parts(x)
    return Branch(here + short(x), tuple([_branch(part, y, seen, path) for part, y in below]))


def _parts(x: object) -> Iterator[tuple[str, Any]]:
    """The modules and variables in the attributes, in the order in which they were assigned."""
    unnamed = getattr(x, "_graphad_weights", ())
    named = [*vars(x).items()] if hasattr(x, "__dict__") else []
    seen: set[int] = set()
    found = [
        part for name, value in named if not name.startswith(PRIVATE) for part in _inside(name, value, seen)
    ]
    known = {id(part) for _, part in found}
    for variable in unnamed:
        if id(variable) not in known:
            yield variable.name.rpartition("/")[2].partition(":")[0], variable
    yield from found


def _inside(name: str, value: object, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What an attribute holds; a container that lists share, or that holds itself, is gone into once."""
    if isinstance(value, Handle | Trackable):
        yield name, value
    elif isinstance(value, dict | list | tuple | deque) and id(value) not in seen:
        seen.add(id(value))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _inside(f"{name}[{key!r}]", item, seen)


def _title(x: object) -> str:
    kind = plain(getattr(x, "_graphad_class_name", "") or type(x).__name__)
    given = vars(x) if hasattr(x, "__dict__") else {}
    name = given.get("_name", given.get("_graphad_name"))
    return f"{kind} {name!r}" if isinstance(name, str) else kind


def _parameters(trained: int, fixed: int) -> str:
    total = trained + fixed
    text = "1 parameter" if total == 1 else f"{total:,} parameters"
    if not fixed:
        return text
    return f"{text}, none of them trained" if not trained else f"{text}, {fixed:,} of them not trained"


def _size(x: Any) -> int:
    return math.prod(x.data.shape)
