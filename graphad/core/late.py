"""Names of a package that are imported when they are first used, so that importing the package stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def late_names(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that finds its late names.

    Args:
      package: The package's `__name__`.
      places: For each name the module that holds it, or that it is.
    """

    def find(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(place)
        found = getattr(module, name, module)
        setattr(sys.modules[package], name, found)  # the next time it is there
        return found

    return find
