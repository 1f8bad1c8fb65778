"""`Record`: an immutable value with named, annotated fields, made at the speed of a tuple.

A frozen dataclass would do, but costs 0.4 ms per class at import and 1 us per instance; a model has many of
both. A record *is* a tuple of its fields. It equals only records of its own class, while `True`, `1` and
`1.0` in it are equal as in any tuple: where types matter (tables, tests) compare the encoded bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Self, dataclass_transform


class _RecordType(type):
    """Makes a property of each annotated field and leaves instances without a dictionary."""

    fields: tuple[str, ...]
    defaults: tuple[Any, ...]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _RecordType:
        namespace["__slots__"] = ()
        cls = super().__new__(mcs, name, bases, namespace)
        cls.fields = tuple(namespace.get("__annotations__", ()))
        cls.defaults = tuple(namespace[field] for field in cls.fields if field in namespace)
        for position, field in enumerate(cls.fields):
            setattr(cls, field, property(itemgetter(position)))
        return cls


@dataclass_transform(frozen_default=True)
class Record(tuple, metaclass=_RecordType):  # type: ignore[type-arg]
    """Base of all records. Subclasses only declare annotated fields, with defaults at the end if at all."""

    def __new__(cls, *values: Any, **named: Any) -> Self:
        fields = cls.fields
        if named or len(values) != len(fields):
            values = cls._completed(values, named)
        return tuple.__new__(cls, values)

    @classmethod
    def _completed(cls, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        full = list(values)
        first_default = len(cls.fields) - len(cls.defaults)
        for position in range(len(values), len(cls.fields)):
            name = cls.fields[position]
            if name in named:
                full.append(named.pop(name))
            elif position >= first_default:
                full.append(cls.defaults[position - first_default])
            else:
                raise TypeError(f"{cls.__name__}: field {name!r} is missing; the fields are {cls.fields}.")
        if named or len(full) != len(cls.fields):
            raise TypeError(f"{cls.__name__}: too many or unknown values; the fields are {cls.fields}.")
        return tuple(full)

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """The record of these field values, unchecked: for readers that have checked them."""
        return tuple.__new__(cls, values)

    def replace(self, **changes: Any) -> Self:
        """The same record with some fields changed."""
        values = [changes.pop(name, value) for name, value in zip(type(self).fields, self, strict=True)]
        if changes:
            raise TypeError(f"{type(self).__name__}: no fields {sorted(changes)}.")
        return tuple.__new__(type(self), values)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple.__hash__(self)))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in zip(type(self).fields, self, strict=True))
        return f"{type(self).__name__}({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)
