"""Attributes and items that are assigned by functions which a branch or a step of a loop calls.

    def add(self, v):
        self.total = self.total + v        `self.total` occurs nowhere in the function with the loop
    for x in xs:
        model.add(x)

The code of a branch or a loop shows what it assigns itself; it does not show this, nor items whose keys it computes. So converted
code notes each attribute and item before assigning it, while a branch or a step is traced. What afterwards holds another tensor
becomes one more variable of the branch or loop, which is then traced again.

`setattr` and `d.update` assign too. Methods of lists move items from place to place; a list that is as long after a step as
before it, `recent.pop(0)` and `recent.append(x)`, counts as one whose items were assigned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from graphad.autograph.convert import CHANGING, noting
from graphad.autograph.state import UNBOUND, Attribute, Item, Parts, Place, attribute_of, is_symbolic, item_of
from graphad.core.convert import lift_own
from graphad.core.levels import current, is_within
from graphad.core.tensor import Handle, Tensor


class Journal:
    """The attributes and items that are assigned inside of its block, with the values that they had before."""

    def __init__(self) -> None:
        self._before: dict[Any, tuple[Attribute | Item, Any]] = {}
        self._moved: dict[int, tuple[Any, list[Any]]] = {}  # lists whose methods were called, and their items
        self._around: Journal | None = None

    def __enter__(self) -> Journal:
        self._around = noting.get()
        noting.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        noting.set(self._around)
        if self._around is not None:  # assignments in an inner branch are assignments in the outer branch too
            for key, noted in self._before.items():
                self._around._before.setdefault(key, noted)
            for number, moved in self._moved.items():
                self._around._moved.setdefault(number, moved)

    def note(self, place: Attribute | Item) -> None:
        """Remember the value of a place before its first assignment."""
        key = place.key()
        if key is not None and key not in self._before:
            self._before[key] = place, place.read()

    def noted_call(self, f: Any) -> Callable[..., Any]:
        """The function to call instead of a builtin, which notes the attributes and items that the builtin changes."""
        if f.__name__ not in CHANGING:
            return f  # type: ignore[no-any-return]
        if f is setattr:
            return _setattr
        owner = getattr(f, "__self__", None)
        if isinstance(owner, dict) and f.__name__ == "update":
            return partial(_update, owner)
        if isinstance(owner, list | deque):
            self.note_items(owner)
        return f  # type: ignore[no-any-return]

    def note_items(self, items: Any) -> None:
        """Remember the items of a list before a method moves them."""
        if id(items) not in self._moved:
            self._moved[id(items)] = items, list(items)

    def changed(self, known: Sequence[Place], same_shape: bool) -> list[tuple[Attribute | Item, Any]]:
        """The places, besides the known ones, that were given other tensors, with what they held before.

        Numbers and other objects of Python that are replaced by such ones belong to the trace. Left out as well is what ends as
        a tensor of the trace and cannot be a variable: where nothing was before, or None, or a value of another kind. The
        tensor says where it belongs when it is used.

        Args:
          known: Places that are variables already.
          same_shape: Whether the shape must be that of before, as for a variable of a loop.
        """
        keys = {place.key() for place in known if isinstance(place, Attribute | Item)}
        found = {
            key: noted
            for key, noted in self._before.items()
            if key not in keys and _is_variable(noted[1], noted[0].read(), same_shape)
        }
        for items, before in self._moved.values():
            if len(items) != len(before):
                continue
            if any(_is_variable(old, new, same_shape) for old, new in zip(before, items, strict=True)):
                for i, (old, new) in enumerate(zip(before, items, strict=True)):
                    place = Item(f"item {i} of a list", items, i)
                    key = place.key()
                    # Any item may move to a place that fits. One that moved to another is refused where places are compared.
                    if key not in keys and (_fit(Parts(old), Parts(new), same_shape) or _has_moved(old, new)):
                        found.setdefault(key, (place, old))
        return list(found.values())


def attribute_noted(value: Any, name: str, base: object, key: str) -> Any:
    """The value that an attribute is about to be given."""
    journal = noting.get()
    if journal is not None and not isinstance(getattr(type(base), key, None), property):
        place = attribute_of(name, base, key)
        if place is not None:
            journal.note(place)
    return value


def item_noted(value: Any, name: str, base: object, key: object) -> Any:
    """The value that an item is about to be given."""
    journal = noting.get()
    if journal is not None:
        place = item_of(name, base, key)
        if place is not None:
            journal.note(place)
    return value


def _setattr(base: Any, name: str, value: Any, /) -> None:
    setattr(base, name, attribute_noted(value, f"{type(base).__name__}.{name}", base, name))


def _update(base: dict[Any, Any], /, *args: Any, **kwargs: Any) -> None:
    new = dict(*args, **kwargs)
    for key, value in new.items():
        item_noted(value, f"item {key!r} of a dict", base, key)
    base.update(new)


def _is_variable(before: object, now: object, same_shape: bool) -> bool:
    """Whether a place that held `before` and holds `now` is a variable of what was traced."""
    if before is now or any(x is UNBOUND or x is None for x in (before, now)):
        return False
    old, new = Parts(before), Parts(now)
    if any(map(_is_lost, old.leaves)):  # in an object that was made in there
        return False
    if not any(isinstance(leaf, Tensor) for leaf in (*old.leaves, *new.leaves)):
        return False
    if any(map(_is_lost, new.leaves)):
        return _fit(old, new, same_shape)
    return any(isinstance(leaf, Tensor) for leaf in old.leaves) or _fit(old, new, same_shape)


def _has_moved(old: object, new: object) -> bool:
    """Whether an item is in the place of another one, and can be used there."""
    return old is not new and not any(map(_is_lost, Parts(new).leaves))


def _fit(old: Parts, new: Parts, same_shape: bool) -> bool:
    """Whether two values can be those of one variable."""
    from graphad.ops.control.parts import same_structure  # most functions assign nothing in a branch or loop

    if old.dynamic != new.dynamic or not same_structure(old.structure, new.structure):
        return False
    for x, y, dynamic in zip(old.leaves, new.leaves, new.dynamic, strict=True):
        if not dynamic or isinstance(x, Handle):
            if x is not y:
                return False
            continue
        was, is_now = lift_own(x), lift_own(y)
        if was.dtype is not is_now.dtype or (same_shape and was.dims != is_now.dims):
            return False
    return True


def _is_lost(x: Any) -> bool:
    """Whether a tensor belongs to a trace that has ended."""
    trace = getattr(x, "trace", None) if is_symbolic(x) else None
    return trace is not None and not is_within(trace, current())
