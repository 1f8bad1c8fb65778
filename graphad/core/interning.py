"""Equal ops are one object: calling the class of an op with equal attributes of equal types gives the same op again.

An op that exists costs one look-up. A new op is first checked by its schema.
"""

from __future__ import annotations

import struct
import weakref
from typing import Any, dataclass_transform

import numpy as np

from graphad.core import forks
from graphad.core.errors import InvalidArgumentError
from graphad.core.references import unheld
from graphad.core.schema import Schema, schema_of

_lock = forks.rlock()


@dataclass_transform(frozen_default=True, eq_default=False)
class OpType(type):
    """Interns ops: calling the class with equal attributes of equal types gives the same object."""

    def __call__(cls, *args: object, **kwargs: Any) -> Any:
        if kwargs:
            args = _positional(cls, args, kwargs)
        key = (*args, *map(type, args))
        try:
            found = cls._quickly.get(key)  # type: ignore[attr-defined]
        except TypeError as cause:
            raise _refused(cls, args, cause) from cause
        return _interned(cls, args, key) if found is None else found


def _interned(cls: Any, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
    """The op with exactly these attributes, made if it does not exist."""
    own = cls.op_class
    if not own.attributes and not args and own._quickly.limit:
        return own._quickly.keep(key, unheld(own, ()))  # nothing to check, and always held
    full = args if len(args) == len(cls.attributes) else _positional(cls, args, {})
    schema = schema_of(own)
    full = tuple([canonical(value, kind) for kind, value in zip(schema.numbers, full)])
    exact = _exact(full)
    found = None if own._exactly is None else own._exactly.get(exact)
    if found is None:
        made = _made(schema, full)
        with _lock:
            if own._exactly is None:
                own._exactly = weakref.WeakValueDictionary()
            found = own._exactly.setdefault(exact, made)
    if not any(_is_ambiguous(value, kind) for kind, value in zip(schema.numbers, full)):
        cls._quickly.keep(key, found)
    return found


def _refused(cls: Any, args: tuple[Any, ...], cause: TypeError) -> Exception:
    """The error for attributes of which one has no hash: a list, an array or the like."""
    own = cls.op_class
    full = args if len(args) == len(cls.attributes) else _positional(cls, args, {})
    try:
        fault = schema_of(own).fault(full)
    except (TypeError, ValueError):  # a test of the schema compares it
        fault = None
    return cause if fault is None else InvalidArgumentError(fault)


def _made(schema: Schema, values: tuple[Any, ...]) -> Any:
    """A new op. Raises: InvalidArgumentError: an attribute is not what the schema says."""
    fault = schema.fault(values)
    if fault is not None:
        raise InvalidArgumentError(fault)
    asked = schema.asked(values) if schema.referring else None
    if asked is None:
        return unheld(schema.kind, values)
    made = unheld(schema.referring_class(), values)
    made.refer(asked)
    return made


def canonical(x: object, kind: type | None) -> Any:
    """An attribute as plain Python values, so that equal ops have the same digest.

    Args:
      kind: int or bool if the declaration of the attribute says which numbers it holds; then True and 1 are the same. Else
      None.
    """
    if type(x) is tuple:
        return tuple([canonical(item, kind) for item in x])
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, int) and not (kind is None and type(x) is bool):
        return (kind or int)(x)
    return x


def _is_ambiguous(x: object, kind: type | None) -> bool:
    """`_is_inexact` for a whole attribute. Its type is a part of the key, so floats other than 0 and NaN are not ambiguous."""
    return (x == 0 or x != x) if type(x) is float else _is_inexact(x, kind)


def _is_inexact(x: object, kind: type | None) -> bool:
    """Whether an attribute compares equal to another one with a different meaning: 0.0 and -0.0, or 1 and True in a tuple. Such
    ops are found only by their exact key.
    """
    if type(x) is tuple:
        return any(_is_inexact(item, kind) or (kind is None and isinstance(item, int)) for item in x)
    return isinstance(x, float | complex)


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All attributes in order, with defaults for those that are not given."""
    if len(args) > len(cls.attributes):
        raise TypeError(f"{cls.__name__}: {len(args)} attributes were given, it has {len(cls.attributes)}")
    out = list(args)
    for name in cls.attributes[len(args) :]:
        if name in kwargs:
            out.append(kwargs.pop(name))
        elif name in cls.defaults:
            out.append(cls.defaults[name])
        else:
            raise TypeError(f"{cls.__name__}: attribute {name!r} is missing")
    if kwargs:
        raise TypeError(f"{cls.__name__}: no attributes named {sorted(kwargs)}")
    return tuple(out)


def _exact(x: Any) -> Any:
    """A key in which 1, True and 1.0 differ, as do 0.0 and -0.0.

    An object that is compared by identity is represented by its id, so that the table does not keep a graph alive that keeps
    the op alive. The id stays unique as long as the op exists.
    """
    kind = type(x)
    if kind is int or kind is str:
        return x
    if kind is tuple:
        return (tuple, *[_exact(item) for item in x])
    if kind is float:
        return (float, struct.pack("<d", x))
    if kind is complex:
        return (complex, struct.pack("<dd", x.real, x.imag))
    if kind is bool:
        return (bool, x)
    by_identity: Any = object.__hash__
    return (object, id(x)) if kind.__hash__ is by_identity else x
