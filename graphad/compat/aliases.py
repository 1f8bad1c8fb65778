"""Imports through `compat`: `from graphad.compat.v2.math import sin` finds `graphad.math`, as `graphad.compat.v2.math` does.

A namespace that `compat` only lists is the same module under its own name, and is never loaded a second time.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from graphad.core.late import places_of


class Aliases:
    """A finder, and loader, of the namespaces that some packages list without having them."""

    def __init__(self) -> None:
        self._packages: tuple[str, ...] = ()
        self._found: dict[str, tuple[ModuleType, ModuleSpec | None]] = {}

    def add(self, package: str) -> None:
        """Let the namespaces that `package` lists be imported as if they were inside of it."""
        if not self._packages:
            # Before Python's own finders, which would load the files of a namespace's package again.
            sys.meta_path.insert(0, self)
        self._packages += (f"{package}.",)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = next((package for package in self._packages if name.startswith(package)), None)
        if package is None:
            return None
        first, _, rest = name[len(package) :].partition(".")
        place, original = places_of(package[:-1]).get(first, ("", ""))
        if not place or place == package[:-1]:  # not listed, or a module of the package's own
            return None
        value = getattr(importlib.import_module(place), original)
        if not isinstance(value, ModuleType):
            return None
        try:
            module = importlib.import_module(f"{value.__name__}.{rest}") if rest else value
        except ModuleNotFoundError:
            return None
        self._found[name] = module, module.__spec__
        return ModuleSpec(name, self)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._found[spec.name][0]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run; the module gets back the spec that the import has replaced."""
        name = module.__spec__.name if module.__spec__ is not None else ""
        module.__spec__ = self._found.pop(name)[1]


aliases = Aliases()
