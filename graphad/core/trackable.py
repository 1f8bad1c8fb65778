"""What a file needs to know of an object: its named children.

A trackable lists its attributes; lists, tuples and dicts among them count as children too. Names that begin with the
prefixes below are the library's own and are not saved.

A checkpoint may be restored before the objects are there that it has values for. Then an object carries, under `PENDING`, what is
to hear of attributes that are assigned later. Lists and dicts tell nobody when something is put into them: whoever owns one
that waits stands in `_waiting`, and is looked at again when something happens: a variable made, or one read that was made since
(`eager/awaited.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from graphad.core.light import Protocol

PRIVATE = "_graphad_"
PENDING = PRIVATE + "pending"
RESTORED = PRIVATE + "restored"  # which restoration has given an object its value


class Pending(Protocol):
    """Restored values whose objects the program has not made yet, kept with the object that they belong to."""

    def assigned(self, owner: object, name: str, value: object) -> None:
        """`value` is about to become the attribute `name` of `owner`."""

    def arrived(self, owner: object) -> None:
        """A part of `owner` may have been made that is not an attribute, such as a slot of an optimizer."""

    def look(self, owner: object) -> None:
        """Look whether something was put into the lists and dicts of `owner`."""


class Trackable:
    """Base class of modules, layers, optimizers, metrics and loaded objects."""

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The attributes by name, sorted; what of them can be saved is for the file format to say."""
        for name in sorted(vars(self)):
            if not name.startswith(PRIVATE):
                yield name, vars(self)[name]

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        """The children that a checkpoint names; `named_children` unless the object keeps variables elsewhere."""
        yield from type(self).named_children(self)

    def __setattr__(self, name: str, value: Any) -> None:
        pending = self.__dict__.get(PENDING)
        if pending is not None and not name.startswith(PRIVATE):
            pending.assigned(self, name, value)
        object.__setattr__(self, name, value)


_waiting: dict[int, weakref.ref[Any]] = {}


def arrived(owner: object) -> None:
    """Say that a part of `owner` may have been made for which a restored checkpoint has a value."""
    pending = vars(owner).get(PENDING)
    if pending is not None:
        pending.arrived(owner)


def settle() -> None:
    """Give values of restored checkpoints to what was put into lists and dicts since."""
    if _waiting:
        for reference in list(_waiting.values()):
            owner = reference()
            pending = None if owner is None else vars(owner).get(PENDING)
            if pending is not None:
                pending.look(owner)


def are_waiting() -> bool:
    """Whether lists or dicts wait for what a restored checkpoint has values for."""
    return bool(_waiting)


def wait_for_items(owner: object, waits: bool) -> None:
    """Tell `settle` to look at the lists and dicts of `owner`, or to stop looking."""
    ident = id(owner)
    if waits:
        _waiting[ident] = weakref.ref(owner, lambda _: _waiting.pop(ident, None))
    else:
        _waiting.pop(ident, None)
