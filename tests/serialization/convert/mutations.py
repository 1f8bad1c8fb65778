"""Changes of a model that keep it readable: the body as a tree in which something is replaced, moved, left out or repeated.

Digests are not in the way: the tree becomes bytes again before they are computed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgpack

from serialization.schema.model import ModelRecord
from serialization.schema.versions import FORMAT_VERSION, model_from_body, model_to_body

# Ways in, from the outermost: positions in lists, keys in the outermost map.
Path = tuple[Any, ...]
LEAVES: list[Any] = [
    None, True, False, 0, 1, 2, 3, 5, 7, 10, 100, -1, -2, 2**31 - 1, 2**31, 2**40, 2**47, 2**63 - 1, 2**64 - 1, -(2**63),
    0.0, -1.5, 1e308, float("nan"), float("inf"), "", "x", "__class__", "__call__", "_graphad_name", "float32", "int64",
    "bool", "handle", "then", "file:///etc/passwd", "a.b", "é" * 40, "\x00\x1b[31m", b"", b"\x00" * 8, [], [0], [[]], [0, 1],
    [1, 2, 3], [None], [4, "float32"], [5, 0], [5, 3], [6, 0], [7, 0], [8, 0], [0, 1, 2], [1, 3], [3, 0, "P", ["a"], [1]],
]  # fmt: skip


def tree_of(model: ModelRecord) -> Any:
    """The body of a model as nested lists."""
    return msgpack.unpackb(model_to_body(model), strict_map_key=False)


def model_of(tree: Any) -> ModelRecord:
    """The model of a tree. Raises: LoadError: it is no well-formed one."""
    return model_from_body(FORMAT_VERSION, msgpack.packb(tree))


def paths(tree: Any) -> list[Path]:
    """The way to every item of a tree, except those of checksums."""
    return [path for path in _paths(tree, ()) if path and path[0] not in ("producer", "payloads")]


def _paths(tree: Any, way: Path) -> Iterator[Path]:
    if way:
        yield way
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield from _paths(item, (*way, key))
    elif isinstance(tree, list):
        for k, item in enumerate(tree):
            yield from _paths(item, (*way, k))


def item_at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def mutated(tree: Any, every: list[Path], choose: Callable[[int], int]) -> Any:
    """The tree with one change; `choose(n)` gives a number below n."""
    tree = copy.deepcopy(tree)
    path = every[choose(len(every))]
    try:
        parent, last = item_at(tree, path[:-1]), path[-1]
        item = parent[last]
    except (LookupError, TypeError):
        return tree  # an earlier change has removed it
    if not isinstance(parent, list | dict):
        return tree
    kind = choose(9)
    if kind <= 2:
        parent[last] = copy.deepcopy(LEAVES[choose(len(LEAVES))])
    elif kind == 3 and type(item) is int:
        parent[last] = item + (-1, 1, 2, 8)[choose(4)]
    elif kind <= 5:
        other = every[choose(len(every))]
        try:
            parent[last] = copy.deepcopy(item_at(tree, other))
        except (LookupError, TypeError):
            parent[last] = None
    elif kind == 6 and isinstance(parent, list):
        del parent[last]
    elif kind == 7 and isinstance(parent, list):
        parent.insert(last, copy.deepcopy(item))
    elif isinstance(parent, list) and len(parent) > 1:
        other_place = choose(len(parent))
        parent[last], parent[other_place] = parent[other_place], parent[last]
    return tree
