"""`NamedTuple` and `Protocol` for graphad's own classes, which take a fraction of the time to define.

`typing.NamedTuple` compiles each annotation and a constructor, 800,000 instructions for a class; the plan of a first call would
need a dozen of them. Here a class has getters and its defaults, and all share one constructor. What programs get from graphad
is of Python's class; this one is for graphad's own records, which are unpacked or looked up by position.

A protocol is for type checkers. At run time it is a plain class, so that those derived from it are plain classes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
else:
    from _collections import _tuplegetter

    class Protocol:
        """A base class without anything."""

        __slots__ = ()

    class _Kind(type):
        """Makes the fields of a class from its annotations, and the defaults from its attributes."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if getattr(bases[0], "_fields", ()):  # it is derived from a named tuple, whose fields it has
                return super().__new__(cls, name, bases, {"__slots__": (), **body})
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            getters = {field: _tuplegetter(place, field) for place, field in enumerate(fields)}
            made = {**body, **getters, "__slots__": (), "_fields": fields, "_field_defaults": defaults}
            return super().__new__(cls, name, bases, {**made, "__match_args__": fields})

    class NamedTuple(tuple, metaclass=_Kind):
        """A base class: the annotations of a subclass are the fields, in order, its attributes their defaults."""

        def __new__(cls, *values: Any, **named: Any) -> Any:
            fields = cls._fields
            if named or len(values) != len(fields):
                known = {**cls._field_defaults, **named}
                try:
                    values += tuple([known.pop(field) for field in fields[len(values) :]])
                except KeyError as missing:
                    raise TypeError(f"{cls.__name__} needs the field {missing}") from None
                if len(values) > len(fields) or not named.keys().isdisjoint(known):
                    raise TypeError(
                        f"{cls.__name__} has the fields {', '.join(fields)}; {values} and {named} were given"
                    )
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            """The tuple of a series of values, as the functions of `nest` make it."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(
                    f"{cls.__name__} has the fields {', '.join(cls._fields)}; {tuple(made)} were given"
                )
            return made

        def _asdict(self) -> dict[str, Any]:
            """The values by their names."""
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes: Any) -> Any:
            """The same tuple with some fields changed."""
            return type(self)(**{**self._asdict(), **changes})

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            named = ", ".join([f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)])
            return f"{type(self).__name__}({named})"
