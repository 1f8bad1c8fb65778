"""Records in the results of loaded functions as objects of the program's own classes, where it has these.

A file names the class of a record and its fields, and holds no code. An operator becomes one of graphad's; an extension type
one of the class that the program defined last under this name, if it has these fields and they take these values. Anything else
stays a named tuple.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.errors import GraphadError
from graphad.core.nest import leaves_of
from graphad.core.rule_errors import RAW_ERRORS
from graphad.core.tensor import Handle, Tensor
from graphad.ops.linalg.held import MadeOf
from serialization.convert.values import title_of
from serialization.schema.values import DictValue, ListValue, StructValue

_PLAIN = (Tensor, Handle, np.ndarray, np.generic, bool, int, float, complex, str, bytes, type(None))


def has_records(record: object) -> bool:
    """Whether a record of results has one of a class that the program may have."""
    if isinstance(record, StructValue):
        return True
    if isinstance(record, DictValue):
        return any(has_records(item) for _, item in record.items)
    items = record if type(record) is tuple else record.items if isinstance(record, ListValue) else ()
    return any(map(has_records, items))


def living(x: Any) -> Any:
    """A nest whose restored records are objects of the classes that are known here."""
    kind = type(x)
    if kind is list:
        return [living(item) for item in x]
    if kind is dict:
        return {key: living(item) for key, item in x.items()}
    if not isinstance(x, tuple):
        return x
    items = [living(item) for item in x]
    title = title_of(kind)
    if title is None:
        return tuple(items)
    fields: dict[str, Any] = dict(zip(getattr(kind, "_fields", ()), items, strict=True))
    made = _operator(title, fields)
    made = _extension(title, fields) if made is None else made
    return kind(*items) if made is None else made


def _operator(name: str, fields: dict[str, Any]) -> Any:
    """One of graphad's linear operators, made of these arguments; a placeholder if the arguments are not values."""
    if not name.startswith("LinearOperator"):
        return None
    from graphad import linalg  # which most files do not need, as the module below

    found: Any = getattr(linalg, name, None)
    if not (isinstance(found, type) and issubclass(found, MadeOf)):
        return None
    if not all(map(_is_value, leaves_of(list(fields.values())))):
        return found._of_marks((), fields)
    try:
        return found(**fields)
    except (GraphadError, *RAW_ERRORS):  # a file may hold any arguments
        return None


def _is_value(leaf: object) -> bool:
    return "dtype" in vars(leaf) if isinstance(leaf, MadeOf) else isinstance(leaf, _PLAIN)


def _extension(name: str, fields: dict[str, Any]) -> Any:
    """An object of an extension type of this name."""
    from graphad.experimental.extension_types import named, with_fields

    found = named(name)
    return None if found is None else with_fields(found, fields)
