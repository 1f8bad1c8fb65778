"""Registers graphad with other libraries, whether a program imports them before or after graphad.

A library that looks for its backends needs a class of graphad's, which can be defined only once that library's module exists; but
graphad imports no such library. So the import of that one module is followed by the import of graphad's module. The other module
is still found and run by its own finder and loader.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec

_ours: dict[str, str] = {}  # other libraries' modules -> graphad's modules to import after them


def when_imported(name: str, ours: str) -> None:
    """Call `meet(module)` of our module `ours` as soon as the module `name` is imported: now, if it is there."""
    if name in sys.modules:
        _introduce(sys.modules[name], ours)
        return
    if not _ours:
        sys.meta_path.insert(0, _FINDER)
    _ours[name] = ours


def _introduce(module: ModuleType, ours: str) -> None:
    importlib.import_module(ours).meet(module)


class _Finder:  # no `importlib.abc`, whose import takes longer than many of graphad's modules
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = _ours.pop(fullname, None)
        if ours is None:
            return None
        if not _ours:
            sys.meta_path.remove(self)
        from importlib.util import find_spec  # most programs import none of these libraries

        spec = find_spec(fullname)  # by the finders of others
        if spec is not None and spec.loader is not None:
            spec.loader = _Following(spec.loader, ours)  # type: ignore[assignment]
        return spec


_FINDER = _Finder()


class _Following:
    """Wraps another loader: runs that loader, puts it back in the module's spec, and then imports graphad's module."""

    def __init__(self, loader: Any, ours: str) -> None:
        self._loader = loader
        self._module_of_ours = ours

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _introduce(module, self._module_of_ours)
