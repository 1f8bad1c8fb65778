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
_late: dict[str, str] = {}  # modules that are not imported yet -> the names of their ops, with spaces between
_PLAIN_NAMES: dict[str, str] = {}
_GRADIENTS: dict[str, tuple[Callable[..., Any] | None, str]] = {}


class DuplicateGradientError(KeyError):
    """A gradient is registered for an op that has one already."""

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


def register_later(modules: dict[str, str]) -> None:
    """Tell which modules, not imported yet, have further ops: {module: the names of its ops, separated by spaces}.

    A module is imported when one of its ops is first looked up.
    """
    _late.update(modules)


def _load_late() -> None:
    """Import all late modules."""
    for module in list(_late):
        importlib.import_module(module)
        _late.pop(module, None)


def lookup(name: str) -> Any:
    """The op class called `name`. Raises: MissingRuleError: there is none."""
    found = find(name)
    if found is None:
        raise MissingRuleError(f"registry: there is no op called {name!r}.")
    return found


def find(name: str) -> Any | None:
    """The op class called `name`, or None."""
    found = _OPS.get(name)
    if found is None:
        for module, names in list(_late.items()):
            if name in names.split():
                importlib.import_module(module)
                return _OPS.get(name)
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
    before = _GRADIENTS.get(name)
    built_in = _built_in(_plain(name))
    if before is None and built_in is not None and not getattr(_OPS.get(built_in), "extension", False):
        before = (None, f"graphad's own op {built_in!r}")
    if before is not None:
        raise DuplicateGradientError(
            f"Registering two gradient with name '{name}'! (Previous registration was in {before[1]})"
        )
    _GRADIENTS[name] = (rule, where)


def gradient_of(name: str) -> Callable[..., Any] | None:
    """The gradient function registered for `name`; for an op registered without a gradient, a rule that returns None."""
    found = _GRADIENTS.get(name)
    if found is None:
        return None
    return found[0] if found[0] is not None else _gives_none


def _gives_none(ctx: Context, *y_bars: Tensor) -> list[None]:
    return [None] * len(ctx.inputs)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _built_in(plain: str) -> str | None:
    """The name of the built-in op with this plain name, or None."""
    late = (name for names in list(_late.values()) for name in names.split() if _plain(name) == plain)
    return _PLAIN_NAMES.get(plain) or next(late, None)
