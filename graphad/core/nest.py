"""Nested lists, tuples, dicts and named tuples of values: flatten, and rebuild with other leaves.

Dictionaries, ordered ones too, are visited by sorted key; a rebuilt OrderedDict keeps its order. None is a leaf. optree does
the work and is imported at the first nested value, so that plain tensors and flat lists need no import.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from graphad.core.errors import ArgumentTypeError

Rebuild = Callable[[list[Any]], Any]
_CONTAINERS = (list, tuple, dict)
_NAMESPACE = "graphad"


def is_nested(x: object) -> bool:
    """Whether `x` is a container that holds leaves."""
    return isinstance(x, _CONTAINERS)


def flatten(x: object) -> tuple[list[Any], Rebuild]:
    """The leaves of `x` in order, and a function that rebuilds `x` with other leaves."""
    kind = type(x)
    if not isinstance(x, _CONTAINERS):
        return [x], only
    if (kind is list or kind is tuple) and not _has_nested(x):
        return list(x), kind
    leaves, rebuild, _ = flatten_tree(x)
    return leaves, rebuild


def flatten_tree(x: object, opened: Callable[[Any], Any] | None = None) -> tuple[list[Any], Rebuild, Any]:
    """As `flatten`, with the structure as a third result: hashable, equal for nests of the same form, has `paths()`.

    Args:
      x: The nest.
      opened: Maps an object that should be split to a `Record`, and any other leaf to itself.
    """
    import optree

    try:
        plain = _plain(x)
        if opened is not None:
            _know_records()
            plain = _with_records(plain, opened)
        leaves, tree = optree.tree_flatten(plain, none_is_leaf=True, namespace=_NAMESPACE)
    except RecursionError:
        raise ArgumentTypeError(
            "nest: lists, tuples or dicts are nested too deeply, or one holds itself; give a flatter structure."
        ) from None
    return leaves, lambda new: optree.tree_unflatten(tree, new), tree


def leaves_of(x: object) -> list[Any]:
    """The leaves of `x` in order."""
    return flatten(x)[0]


def map_leaves(function: Callable[[Any], Any], x: object) -> Any:
    """`x` with `function` applied to every leaf."""
    leaves, rebuild = flatten(x)
    return rebuild([function(leaf) for leaf in leaves])


def only(leaves: list[Any]) -> Any:
    """The `Rebuild` of what is one leaf itself."""
    return leaves[0]


class Record:
    """The fields of an object, by name; it replaces the object while a nest is flattened."""

    __slots__ = ("form", "values")

    def __init__(self, form: Form, values: list[Any]) -> None:
        self.form = form
        self.values = values


class Form:
    """How to rebuild an object from the values of its record: hashable, and equal for records of one kind.

    Attributes:
      names: The names of the fields.
      make: Rebuilds the object from the values.
    """

    __slots__ = ("_key", "make", "names")

    def __init__(self, kind: object, names: tuple[str, ...], make: Callable[[list[Any]], Any]) -> None:
        self._key = kind, names
        self.names = names
        self.make = make

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class FieldName(str):
    """The name of a field among the keys and positions on the way to a leaf."""

    __slots__ = ()


@cache
def _know_records() -> None:
    """Register `Record` with optree."""
    import optree

    optree.register_pytree_node(
        Record,
        lambda x: (x.values, x.form, [FieldName(name) for name in x.form.names]),
        lambda form, values: form.make(list(values)),
        namespace=_NAMESPACE,
    )


def _plain(x: Any) -> Any:
    """A nest with instances of list and dict subclasses as plain lists and dicts."""
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


def _with_records(x: Any, opened: Callable[[Any], Any]) -> Any:
    """A plain nest with its objects replaced by records."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([_with_records(item, opened) for item in x])
    if isinstance(x, tuple) and hasattr(kind, "_make"):
        return kind._make([_with_records(item, opened) for item in x])
    if isinstance(x, dict):
        made = x.copy()
        for key, item in x.items():
            made[key] = _with_records(item, opened)
        return kind(made) if type(made) is not kind else made
    found = opened(x)
    if type(found) is Record:
        found.values = [_with_records(_plain(item), opened) for item in found.values]
    return found


@cache
def _ordered() -> type:
    """The class that replaces an OrderedDict while it is flattened; optree would visit an OrderedDict in its own order."""
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


def _has_nested(items: Collection[Any]) -> bool:
    for item in items:  # noqa: SIM110 -- a generator would cost more than the rest of a small `flatten`
        if isinstance(item, _CONTAINERS):
            return True
    return False
