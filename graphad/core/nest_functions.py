"""The public functions of nests: lists, tuples, named tuples, dicts, attrs classes and other sequences and mappings of values.

Dicts are visited by sorted key; None, strings, arrays and everything else that is not a container is a leaf. A dataclass is a
leaf unless its class defines `__tf_flatten__`. `expand_composites=True` also splits what consists of tensors: dataclasses,
IndexedSlices and SparseTensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MappingView, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import NestLike
from graphad.core.composites import flatten_composites, has_own_way, is_attrs, is_record, record_of
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.sparse import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphad.core.tensor import Tensor


_LEAVES = (str, bytes, bytearray, memoryview, np.ndarray)


def is_nested(seq: NestLike) -> bool:
    """Whether `seq` is a container: a list, tuple, named tuple, dict, another sequence or mapping, or an attrs class.

    Strings, arrays, tensors and sets are not containers.

    Args:
      seq: Anything.
    Returns: True or False.
    Raises: Nothing.
    """
    if isinstance(seq, list | tuple | dict):
        return True
    if isinstance(seq, _LEAVES):
        return False
    if isinstance(seq, Sequence | Mapping | MappingView):
        return True
    return (is_attrs(seq) and is_record(seq)) or has_own_way(seq)


def _parts(x: Any, expand: bool) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The direct entries of a value, and a function that rebuilds it from others; None for a leaf."""
    kind = type(x)
    if kind is list or kind is tuple:
        return list(x), kind
    if isinstance(x, Mapping):
        keys = _sorted_keys(x)
        return [x[key] for key in keys], lambda new: _like_mapping(x, dict(zip(keys, new, strict=True)))
    if isinstance(x, tuple) and hasattr(kind, "_make"):
        return list(x), kind._make
    if is_nested(x):
        if isinstance(x, Sequence | MappingView):
            listed: Any = x
            return list(listed), list if isinstance(x, MappingView) else lambda new: _like_sequence(x, new)
        record = record_of(x)
        return record.values, record.form.make
    if not expand:
        return None
    if isinstance(x, Sparse):
        return x.apart()
    if is_record(x):
        return flatten_composites(x)
    return None


def _sorted_keys(x: Any) -> list[Any]:
    try:
        return sorted(x)
    except TypeError as cause:
        raise ArgumentTypeError(f"flatten: the keys of a dict must be sortable, got {list(x)!r}.") from cause


def _like_mapping(x: Any, new: dict[Any, Any]) -> Any:
    ordered = {key: new[key] for key in x}
    if hasattr(x, "default_factory"):
        return type(x)(x.default_factory, ordered)
    try:
        return type(x)(ordered)  # a dict, and not its items, which some classes count as values
    except TypeError as cause:
        raise ArgumentTypeError(
            f"nest: a {type(x).__name__} cannot be made of other values: its class takes no dict; use a dict."
        ) from cause


def _like_sequence(x: Any, new: list[Any]) -> Any:
    if isinstance(x, range):  # which other values are not
        return new
    try:
        return type(x)(new)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"nest: a {type(x).__name__} cannot be made of other values: its class takes no list; use list(x)."
        ) from cause


def flatten(structure: NestLike, expand_composites: bool = False) -> list[Any]:
    """The leaves of a nest in order; a value that is not a nest is its only leaf.

    Args:
      structure: Lists, tuples, dicts and dataclasses of anything, or a single value.
      expand_composites: Whether slices and sparse tensors count as nests of their parts.
    Returns: A list.
    Raises: ArgumentTypeError (a TypeError): the keys of a dict cannot be sorted.
    Example:
      >>> nest.flatten([1, {"b": 2, "a": (3,)}])
      [1, 3, 2]
    """
    out: list[Any] = []
    try:
        _collect(structure, expand_composites, out)
    except RecursionError:
        raise _too_deep() from None
    return out


def _too_deep() -> ArgumentTypeError:
    return ArgumentTypeError(
        "nest: lists, tuples or dicts are nested too deeply, or one holds itself; give a flatter structure."
    )


def _collect(x: object, expand: bool, out: list[Any]) -> None:
    found = _parts(x, expand)
    if found is None:
        out.append(x)
        return
    for part in found[0]:
        _collect(part, expand, out)


def _filled(x: object, expand: bool, leaves: Iterator[Any]) -> Any:
    """A nest of the form of x, filled with the next leaves."""
    found = _parts(x, expand)
    return next(leaves) if found is None else found[1]([_filled(part, expand, leaves) for part in found[0]])


def pack_sequence_as(
    structure: NestLike, flat_sequence: NestLike, expand_composites: bool = False
) -> NestLike:
    """A nest like `structure` with the leaves of `flat_sequence`.

    Args:
      structure: A nest with the form of the result.
      flat_sequence: A list or tuple of as many leaves.
      expand_composites: Whether slices and sparse tensors count as nests of their parts.
    Returns: A new nest.
    Raises:
      ArgumentTypeError (a TypeError): `flat_sequence` is not a list or tuple.
      InvalidArgumentError (a ValueError): the number of leaves differs.
    Example:
      >>> nest.pack_sequence_as({"a": 0, "b": (0, 0)}, [1, 2, 3])
      {'a': 1, 'b': (2, 3)}
    """
    if not is_nested(flat_sequence):
        raise ArgumentTypeError(
            f"pack_sequence_as: flat_sequence is {flat_sequence!r}; give a list of leaves."
        )
    count = len(flatten(structure, expand_composites))
    given = list(flat_sequence)
    if count != len(given):
        given = flatten(flat_sequence, expand_composites)
    if count != len(given):
        raise InvalidArgumentError(
            f"pack_sequence_as: Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(given)} elements. Structure: {structure!r}, flat_sequence: {flat_sequence!r}."
        )
    return _filled(structure, expand_composites, iter(given))


def map_structure(
    func: Callable[..., Any], *structure: NestLike, check_types: bool = True, expand_composites: bool = False
) -> NestLike:
    """A nest of `func(leaf, ...)` for the leaves of one or more nests of one structure.

    Args:
      func: Called with a leaf of each nest.
      structure: The nests.
      check_types: Whether containers must be of one type.
      expand_composites: Whether to split what consists of tensors: dataclasses, IndexedSlices and SparseTensors.
    Returns: A nest like `structure`.
    Raises: ArgumentTypeError, InvalidArgumentError: the structures differ; see `assert_same_structure`.
    Example:
      >>> nest.map_structure(lambda x: 2 * x, {"a": 1, "b": [2, 3]})
      {'a': 2, 'b': [4, 6]}
    """
    if not callable(func):
        raise ArgumentTypeError(f"map_structure: func must be callable, got: {func!r}.")
    if not structure:
        raise InvalidArgumentError("map_structure: Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    columns = [flatten(x, expand_composites) for x in structure]
    results = [func(*leaves) for leaves in zip(*columns, strict=True)]
    return _filled(structure[0], expand_composites, iter(results))


def assert_same_structure(
    nest1: NestLike, nest2: NestLike, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two nests have the same structure.

    Args:
      nest1, nest2: Nests: lists, tuples, dicts and dataclasses of anything, or single values.
      check_types: Whether containers must have the same type, and dicts the same keys; if not, only the numbers of entries
        count, with those of dicts in the order of their keys.
      expand_composites: Whether slices and sparse tensors count as nests of their parts.
    Raises:
      InvalidArgumentError (a ValueError): containers differ in their number of entries or their keys, or one corresponds to a
      leaf.
      ArgumentTypeError (a TypeError): containers differ in type, unless `check_types` is False.
    Example:
      >>> nest.assert_same_structure([1, {"a": 2}], [3, {"a": 4}])
    """
    try:
        _compare(nest1, nest2, check_types, expand_composites, "the nests")
    except RecursionError:
        raise _too_deep() from None


def _compare(
    a: Any, b: Tensor | dict[str, Any] | list[int], check_types: bool, expand: bool, where: str
) -> None:
    mine, theirs = _parts(a, expand), _parts(b, expand)
    if (mine is None) != (theirs is None):
        raise InvalidArgumentError(
            f"assert_same_structure: The two structures don't have the same nested structure: {where} are {a!r} and {b!r}, "
            "of which one is a container."
        )
    if mine is None or theirs is None:
        return
    mappings = isinstance(a, Mapping) and isinstance(b, Mapping)
    if check_types and not mappings and not _same_type(a, b):
        raise ArgumentTypeError(
            f"assert_same_structure: The two structures don't have the same sequence type: {where} are of types "
            f"{type(a).__name__} and {type(b).__name__}; check_types=False allows that."
        )
    if len(mine[0]) != len(theirs[0]) or (check_types and mappings and set(a) != set(b)):
        raise InvalidArgumentError(
            f"assert_same_structure: The two structures don't have the same number of elements or the same keys: {where} "
            f"are {a!r} and {b!r}."
        )
    names = sorted(a) if mappings else range(len(mine[0]))
    for key, x, y in zip(names, mine[0], theirs[0], strict=True):
        _compare(x, y, check_types, expand, f"their entries {key!r}")


def _same_type(a: object, b: object) -> bool:
    if type(a) is type(b):
        return True
    fields = getattr(type(a), "_fields", None)  # named tuples with equal names count as one type
    return (
        fields is not None
        and fields == getattr(type(b), "_fields", 0)
        and type(a).__name__ == type(b).__name__
    )
