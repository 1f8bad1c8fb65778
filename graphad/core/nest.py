"""Nested lists, tuples, dicts and named tuples of values: flatten, and rebuild with other leaves.

Dictionaries are visited by sorted key, ordered ones too, which keep their order when they are rebuilt; None is a leaf. The
work is optree's, imported when something nested first turns
up, so that plain tensors and flat lists need no import.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

from graphad.core.errors import ArgumentTypeError

Rebuild = Callable[[list[Any]], Any]
_CONTAINERS = (list, tuple, dict)
_NAMESPACE = "graphad"


def is_nested(x: Any) -> bool:
    """Whether `x` is a container that holds leaves."""
    return isinstance(x, _CONTAINERS)


def flatten(x: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of `x` in order, and a function that puts others in their place."""
    kind = type(x)
    if not isinstance(x, _CONTAINERS):
        return [x], _only
    if (kind is list or kind is tuple) and not _has_nested(x):
        return list(x), kind
    leaves, rebuild, _ = flatten_tree(x)
    return leaves, rebuild


def flatten_tree(x: Any) -> tuple[list[Any], Rebuild, Any]:
    """As `flatten`, with the structure as a third result: hashable, equal for nests of the same form, has `paths()`."""
    import optree

    try:
        plain = _plain(x)
        leaves, tree = optree.tree_flatten(plain, none_is_leaf=True, namespace=_NAMESPACE)
    except RecursionError:
        raise ArgumentTypeError(
            "nest: lists, tuples or dicts are nested too deeply, or one holds itself; give a flatter structure."
        ) from None
    return leaves, lambda new: optree.tree_unflatten(tree, new), tree


def leaves_of(x: Any) -> list[Any]:
    """The leaves of `x` in order."""
    return flatten(x)[0]


def map_leaves(function: Callable[[Any], Any], x: Any) -> Any:
    """`x` with `function` applied to every leaf."""
    leaves, rebuild = flatten(x)
    return rebuild([function(leaf) for leaf in leaves])


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def _plain(x: Any) -> Any:
    """Subclasses of list and dict that mean nothing of their own as what they stand for."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([_plain(item) for item in x]) if _has_nested(x) else x
    if kind is dict:
        return {key: _plain(item) for key, item in x.items()} if _has_nested(x.values()) else x
    if isinstance(x, OrderedDict):
        return _ordered()({key: _plain(item) for key, item in x.items()})
    if isinstance(x, defaultdict):
        return defaultdict(x.default_factory, ((key, _plain(item)) for key, item in x.items()))
    if isinstance(x, list):
        return [_plain(item) for item in x]
    if isinstance(x, dict):
        return {key: _plain(item) for key, item in x.items()}
    if isinstance(x, tuple) and hasattr(kind, "_make"):
        return kind._make([_plain(item) for item in x])
    return x


@cache
def _ordered() -> type:
    """The class that stands for an OrderedDict while it is flattened: optree itself would visit that by its order."""
    import optree

    class Ordered(dict):  # type: ignore[type-arg]
        pass

    def entries(x: Any) -> Any:
        keys = list(optree.tree_structure(dict(x), none_is_leaf=True).entries())
        return [x[key] for key in keys], (tuple(x), tuple(keys)), keys

    def rebuilt(orders: Any, items: Any) -> Any:
        order, keys = orders
        found = dict(zip(keys, items, strict=True))
        return OrderedDict((key, found[key]) for key in order)

    optree.register_pytree_node(
        Ordered, entries, rebuilt, path_entry_type=optree.MappingEntry, namespace=_NAMESPACE
    )
    return Ordered


def _has_nested(items: Any) -> bool:
    for item in items:  # noqa: SIM110 -- a generator would cost more than the rest of a small `flatten`
        if isinstance(item, _CONTAINERS):
            return True
    return False


def is_composite(x: Any) -> bool:
    """Whether a leaf consists of tensors: its class has `__graphad_parts__`."""
    return hasattr(type(x), "__graphad_parts__")


def is_complete(x: Any) -> bool:
    """Whether the parts of a composite are known."""
    return bool(x.__graphad_complete__)


def flatten_composites(x: Any, slices: type[Any] | tuple[()] = ()) -> tuple[list[Any], Rebuild]:
    """As `flatten`, with leaves that consist of tensors taken apart too, and those of the class `slices` by their `apart`.

    `__graphad_parts__()` gives the parts and a function that makes such a value of others in their place. While
    `__graphad_complete__` is false its parts are not known yet, and it stays a leaf.
    """
    leaves, rebuild = flatten(x)
    if not any(is_composite(leaf) or isinstance(leaf, slices) for leaf in leaves):
        return leaves, rebuild
    flat: list[Any] = []
    pieces: list[tuple[int, Rebuild]] = []
    for leaf in leaves:
        if is_composite(leaf) and is_complete(leaf):
            parts, again = leaf.__graphad_parts__()
            flat += parts
            pieces.append((len(parts), again))
        elif isinstance(leaf, slices):
            parts, again = leaf.apart()
            flat += parts
            pieces.append((len(parts), again))
        else:
            flat.append(leaf)
            pieces.append((1, _only))

    def rebuilt(new: list[Any]) -> Any:
        out, start = [], 0
        for count, again in pieces:
            out.append(again(list(new[start : start + count])))
            start += count
        return rebuild(out)

    return flat, rebuilt
