"""The registry: names to ops, and names to gradient functions that users add.

Both tables are process-wide: a model loaded later finds what was registered earlier.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphad.core.errors import ArgumentTypeError, InternalError, MissingRuleError

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor
    from graphad.gradient.backward import Context


_OPS: dict[str, Any] = {}
_FORMERLY: dict[str, str] = {}  # names of removed ops -> names of the ops that replace them
_late: tuple[str, ...] = ()
_PLAIN_NAMES: dict[str, str] = {}
_GRADIENTS: dict[str, tuple[Callable[..., Any] | None, str]] = {}


class DuplicateGradientError(KeyError):
    """A gradient was registered under a name that has one."""

    def __str__(self) -> str:
        return str(self.args[0])


def register(op_class: Any) -> None:
    """Add an op class. Raises: InternalError: the name is taken."""
    name = op_class.name
    known = _OPS.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (
        op_class.__module__,
        op_class.__qualname__,
    ):
        raise InternalError(
            f"register: two ops are called {name!r}: {known.__module__} and {op_class.__module__}."
        )
    _OPS[name] = op_class
    for old in (*op_class.formerly, *op_class.composed_formerly):
        _FORMERLY[old] = name
    _PLAIN_NAMES[_plain(name)] = name


def register_later(*modules: str) -> None:
    """Name modules with further ops, which are imported one after another when a name is not found."""
    global _late
    _late += modules


def _load_late(name: str | None = None) -> None:
    """Import the late modules, up to the one that has the op called `name`."""
    global _late
    for module in _late:
        if name in _OPS:
            return
        importlib.import_module(module)
        _late = tuple(other for other in _late if other != module)


def lookup(name: str) -> Any:
    """The op class called `name`. Raises: MissingRuleError: there is none."""
    found = find(name)
    if found is None:
        raise MissingRuleError(f"registry: there is no op called {name!r}.")
    return found


def find(name: str) -> Any | None:
    """The op class called `name`, or None."""
    found = _OPS.get(name)
    if found is None and _late:
        _load_late(name)
        found = _OPS.get(name)
    return found


def successor(name: str) -> Any | None:
    """The op class that replaces the removed op of that name, or None."""
    _load_late()
    return _OPS.get(_FORMERLY.get(name, ""))


def all_ops() -> dict[str, Any]:
    """Every op class by name."""
    _load_late()
    return dict(_OPS)


def register_gradient(name: str, rule: Callable[..., Any] | None, where: str) -> None:
    """Register a gradient function for the op called `name`; None means that it has no gradient.

    Raises:
      ArgumentTypeError: `name` is not a string.
      DuplicateGradientError (a KeyError): the op has a gradient already.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError("op_type must be a string")
    _load_late()
    before = _GRADIENTS.get(name)
    built_in = _PLAIN_NAMES.get(_plain(name))
    if before is None and built_in is not None and not getattr(_OPS[built_in], "extension", False):
        before = (None, f"graphad's own op {built_in!r}")
    if before is not None:
        raise DuplicateGradientError(
            f"Registering two gradient with name '{name}'! (Previous registration was in {before[1]})"
        )
    _GRADIENTS[name] = (rule, where)


def gradient_of(name: str) -> Callable[..., Any] | None:
    """The gradient function registered for `name`; "no gradient" comes back as a rule that gives None."""
    found = _GRADIENTS.get(name)
    if found is None:
        return None
    return found[0] if found[0] is not None else _gives_none


def _gives_none(ctx: Context, *y_bars: Tensor) -> list[None]:
    return [None] * len(ctx.inputs)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
