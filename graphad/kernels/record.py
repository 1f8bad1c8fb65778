"""Frozen values with named fields, like a frozen dataclass without the millisecond that defining one costs.

`import graphad` defines ten forms; `dataclass` would generate and compile a dozen methods for each.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """Equal to another of its class with equal fields. Fields are the class's annotations, defaults its attributes."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values: object, **named: Any) -> None:
        fields, state = self.fields, self.__dict__
        if len(values) != len(fields) or named:
            if len(values) > len(fields):
                raise TypeError(f"{type(self).__name__} has {len(fields)} fields, {len(values)} were given")
            rest = fields[len(values) :]
            for name in rest:
                if name not in named:
                    try:
                        named[name] = getattr(type(self), name)
                    except AttributeError:
                        raise TypeError(f"{type(self).__name__} needs the field {name}") from None
            if len(named) != len(rest):
                raise TypeError(
                    f"{type(self).__name__} has the fields {', '.join(fields)}; {', '.join(named)} were named"
                )
            state.update(named)
        state.update(zip(fields, values, strict=False))

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields' values in order."""
        state = self.__dict__
        return tuple([state[name] for name in self.fields])

    def replaced(self, **changes: Any) -> Self:
        """The same record with some fields changed."""
        return type(self)(**{**dict(zip(self.fields, self.values, strict=True)), **changes})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.values == other.values if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        state = self.__dict__
        found = state.get("_hash")
        if found is None:
            found = state["_hash"] = hash((type(self).__name__, self.values))
        return int(found)

    def __setattr__(self, name: str, value: int) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be removed")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.values  # without the hash, which differs between processes

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={value!r}" for name, value in zip(self.fields, self.values, strict=True))
        return f"{type(self).__name__}({named})"


def digest_of(printed: Any) -> str:
    """sha256 of the text of a record with the method `text`, computed once."""
    state = printed.__dict__
    if "_digest" not in state:
        import hashlib

        state["_digest"] = hashlib.sha256(printed.text().encode()).hexdigest()
    return str(state["_digest"])


@dataclass_transform()
class Struct:
    """Mutable named fields, compared by identity. A list or dict as default is copied for each instance."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values: object, **named: Any) -> None:
        state, kind = self.__dict__, type(self)
        state.update(zip(self.fields, values, strict=False))
        state.update(named)
        for name in self.fields[len(values) :]:
            if name not in named:
                value = getattr(kind, name)
                state[name] = value.copy() if isinstance(value, list | dict) else value

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.fields)
        return f"{type(self).__name__}({named})"
