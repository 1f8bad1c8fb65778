"""The public functions of nests: lists, tuples, named tuples and dicts of values.

Dicts are visited by sorted key; None and everything that is no container is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.nest import flatten as _flatten
from graphad.core.nest import is_nested as _is_container
from graphad.core.nest import leaves_of


def is_nested(seq: Any) -> bool:
    """Whether `seq` is a list, a tuple, a named tuple or a dict."""
    return _is_container(seq)


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a nest in order; a value that is no nest is its only leaf.

    Raises: ArgumentTypeError (a TypeError): the keys of a dict cannot be sorted.
    Example:
      >>> nest.flatten([1, {"b": 2, "a": (3,)}])
      [1, 3, 2]
    """
    _require_order(structure)
    return leaves_of(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A nest like `structure` with the leaves of `flat_sequence`.

    Raises:
      ArgumentTypeError (a TypeError): `flat_sequence` is no list or tuple.
      InvalidArgumentError (a ValueError): it has another number of leaves.
    """
    leaves, rebuild = _flatten(structure)
    given = flatten(flat_sequence) if _is_container(flat_sequence) else None
    if given is None:
        raise ArgumentTypeError(
            f"pack_sequence_as: flat_sequence is {flat_sequence!r}; give a list of leaves."
        )
    if len(given) != len(leaves):
        raise InvalidArgumentError(
            f"pack_sequence_as: Could not pack sequence. Structure had {len(leaves)} elements, but flat_sequence had "
            f"{len(given)} elements. Structure: {structure!r}, flat_sequence: {flat_sequence!r}."
        )
    return rebuild(given)


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """A nest of `func(leaf, ...)` for the leaves of one or more nests of one structure.

    Args:
      func: Called with a leaf of each nest.
      structure: The nests.
      check_types: Whether containers must be of one type.
    Raises: ArgumentTypeError, InvalidArgumentError: the structures differ; see `assert_same_structure`.
    """
    if not callable(func):
        raise ArgumentTypeError(f"map_structure: func must be callable, got: {func!r}.")
    if not structure:
        raise InvalidArgumentError("map_structure: Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    _, rebuild = _flatten(structure[0])
    return rebuild([func(*leaves) for leaves in zip(*map(flatten, structure), strict=True)])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two nests have the same structure.

    Raises:
      InvalidArgumentError (a ValueError): a container has another number of entries, other keys, or stands beside a leaf.
      ArgumentTypeError (a TypeError): a container has another type, unless `check_types` is False.
    """
    _compare(nest1, nest2, check_types, "the nests")


def _compare(a: Any, b: Any, check_types: bool, where: str) -> None:
    if _is_container(a) != _is_container(b):
        raise InvalidArgumentError(
            f"assert_same_structure: The two structures don't have the same nested structure: {where} are {a!r} and {b!r}, "
            "of which one is a container."
        )
    if not _is_container(a):
        return
    mappings = isinstance(a, Mapping) and isinstance(b, Mapping)
    if check_types and not mappings and not _same_type(a, b):
        raise ArgumentTypeError(
            f"assert_same_structure: The two structures don't have the same sequence type: {where} are of types "
            f"{type(a).__name__} and {type(b).__name__}; check_types=False allows that."
        )
    if (
        isinstance(a, Mapping) != isinstance(b, Mapping)
        or (mappings and set(a) != set(b))
        or len(a) != len(b)
    ):
        raise InvalidArgumentError(
            f"assert_same_structure: The two structures don't have the same number of elements or the same keys: {where} "
            f"are {a!r} and {b!r}."
        )
    for key in a if mappings else range(len(a)):
        _compare(a[key], b[key], check_types, f"their entries {key!r}")


def _same_type(a: Any, b: Any) -> bool:
    if type(a) is type(b):
        return True
    fields = getattr(type(a), "_fields", None)  # named tuples are one type if their names are the same
    return (
        fields is not None
        and fields == getattr(type(b), "_fields", 0)
        and type(a).__name__ == type(b).__name__
    )


def _require_order(structure: Any) -> None:
    if isinstance(structure, Mapping):
        try:
            sorted(structure)
        except TypeError as cause:
            raise ArgumentTypeError(
                f"flatten: the keys of a dict must be sortable, got {list(structure)!r}."
            ) from cause
        structure = structure.values()
    elif not _is_container(structure):
        return
    for item in structure:
        _require_order(item)
