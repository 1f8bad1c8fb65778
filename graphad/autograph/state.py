"""The variables that a branch or a loop body changes, read and written from outside.

Local variables are the cells of the inner functions (`rewrite.py`); globals, attributes and items are references. A name
without a value reads as UNBOUND. A value is split into leaves: tensors and values that can become tensors go into the graph;
any other leaf is a Python object that must stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from types import CellType
from typing import TYPE_CHECKING, Any

from graphad.core.composites import flatten_composites, is_composite
from graphad.core.convert import exports_array
from graphad.core.levels import current
from graphad.core.light import Protocol
from graphad.core.tensor import Handle, Tensor

if TYPE_CHECKING:
    pass


class _Unbound:
    def __repr__(self) -> str:
        return "<no value>"


UNBOUND: Any = _Unbound()
# Suffixes of names: "!" a return value, "?" read only by inner functions, "~" passed between a loop's steps but not read after
# the loop, "^" the target of a `for`.
MARKS = "!?~^"


class _NoReturn:
    def __repr__(self) -> str:
        return "<no return statement>"


NO_RETURN: Any = _NoReturn()
NO_STEP: Any = (
    _NoReturn()
)  # the same, of a function that ends without a value only where its last loop takes no step
_DYNAMIC = (Tensor, Handle, bool, int, float, complex)


def is_symbolic(x: object) -> bool:
    """Whether Python cannot decide on a value: a symbolic tensor, or one that differs from row to row."""
    return isinstance(x, Tensor) and not x.has_value


def decider(x: object) -> Any:
    """The value that decides about a branch or a count; for a variable, that that it has while tracing."""
    if isinstance(x, Handle) and current() is not None:
        return x.value()  # type: ignore[attr-defined]
    return x


def is_dynamic(x: object) -> bool:
    """Whether a leaf goes into the graph."""
    if is_composite(x):  # one whose parts are still unknown
        return False
    return isinstance(x, _DYNAMIC) or hasattr(x, "__graphad_tensor__") or exports_array(x)


class Attribute:
    """An attribute that is assigned: `self.x`."""

    __slots__ = ("_base", "_key", "name")

    def __init__(self, name: str, base: object, key: str) -> None:
        self.name = name
        self._base = base
        self._key = key

    def key(self) -> Hashable:
        """Equal for two references to one place."""
        return id(self._base), "attribute", self._key

    def read(self) -> Any:
        return getattr(self._base, self._key, UNBOUND)

    def write(self, value: object) -> None:
        base = self._base
        if value is not UNBOUND:
            if getattr(base, self._key, UNBOUND) is not value:
                setattr(base, self._key, value)
        elif hasattr(base, self._key):
            delattr(base, self._key)


def _has_items(x: object) -> bool:
    """Whether items are assigned to an object that keeps what it is given: a list, a dict, or one of the user's classes."""
    kind = type(x)
    if isinstance(x, list | dict):
        return True
    return hasattr(kind, "__getitem__") and hasattr(kind, "__setitem__") and not is_dynamic(x)


class Item:
    """An item that is assigned: `d['k']`."""

    __slots__ = ("_base", "_key", "name")

    def __init__(self, name: str, base: Any, key: object) -> None:
        self.name = name
        self._base = base
        self._key = key

    def key(self) -> Hashable:
        """Equal for two references to one place; None where the item has no place of its own, as a slice."""
        base, key = self._base, self._key
        if isinstance(base, list):
            if not isinstance(key, int):
                return None
            key = key + len(base) if key < 0 else key
        try:
            hash(key)
        except TypeError:
            return None
        return id(base), "item", key

    def read(self) -> Any:
        base, key = self._base, self._key
        if isinstance(base, dict) and key not in base:  # asked for, some kinds of dicts would make it
            return UNBOUND
        try:
            return base[key]
        except LookupError:
            return UNBOUND

    def write(self, value: object) -> None:
        base, key = self._base, self._key
        if value is not UNBOUND:
            base[key] = value
        elif not isinstance(base, list) and self.read() is not UNBOUND:
            del base[key]


def attribute_of(name: str, base: object, key: str) -> Attribute | None:
    """An attribute of an object; None if it is none that a branch or a loop carries."""
    return None if isinstance(base, Tensor | Handle) else Attribute(name, base, key)


def item_of(name: str, base: object, key: object) -> Item | None:
    """As `attribute_of`, for an item."""
    return Item(name, base, key) if _has_items(base) and not is_symbolic(key) else None


# What a converted function knows of a place: where it is once its expressions have values, and None before that.
Reference = Callable[[], Attribute | Item | None]


def attribute(name: str, base: Callable[[], object], key: str) -> Reference:
    """`base().key`, spelled `name`."""

    def found() -> Attribute | None:
        try:
            return attribute_of(name, base(), key)
        except (NameError, AttributeError, LookupError):
            return None

    return found


def item(name: str, base: Callable[[], object], key: Callable[[], object]) -> Reference:
    """`base()[key()]`, spelled `name`."""

    def found() -> Item | None:
        try:
            return item_of(name, base(), key())
        except (NameError, AttributeError, LookupError):
            return None

    return found


class Local:
    """A variable of the function."""

    __slots__ = ("_cell", "name")

    def __init__(self, name: str, cell: CellType) -> None:
        self.name = name
        self._cell = cell

    def read(self) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:
            return UNBOUND

    def write(self, value: object) -> None:
        if value is not UNBOUND:
            self._cell.cell_contents = value
        elif self.read() is not UNBOUND:
            del self._cell.cell_contents


class Place(Protocol):
    """Where a branch or a loop finds a variable, and puts it back."""

    name: str

    def read(self) -> Any:
        """The value of the place; UNBOUND if it has none."""

    def write(self, value: Any) -> None:
        """Give it a value; UNBOUND takes it away."""


def locals_of(functions: Sequence[Callable[..., Any] | None]) -> dict[str, CellType]:
    """The cells of inner functions by name."""
    cells: dict[str, CellType] = {}
    for function in functions:
        if function is not None:
            cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return cells


def bound_references(refs: Sequence[Reference]) -> list[Attribute | Item]:
    """The places that references name now."""
    return [place for ref in refs if (place := ref()) is not None]


class Parts:
    """A value split into leaves.

    Attributes:
      leaves: Its leaves.
      dynamic: Whether each leaf goes into the graph.
    """

    __slots__ = ("_rebuild", "dynamic", "leaves", "structure")

    def __init__(self, value: object) -> None:
        if value is UNBOUND:
            value = ()
        self.leaves, self._rebuild = flatten_composites(value)
        self.dynamic = [is_dynamic(leaf) for leaf in self.leaves]
        self.structure = self._rebuild([None] * len(self.leaves))

    def build(self, leaves: Sequence[Any]) -> Any:
        return self._rebuild(list(leaves))

    def filled(self, tensors: Iterator[Tensor]) -> Any:
        """The value with the next ones of `tensors` in the places of the leaves that go into the graph."""
        leaves = zip(self.leaves, self.dynamic, strict=True)
        return self.build([next(tensors) if dynamic else leaf for leaf, dynamic in leaves])
