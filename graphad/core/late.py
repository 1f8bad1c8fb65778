"""Names of a package that are imported when they are first used, so that importing the package stays quick.

Such a package says the same twice, `if TYPE_CHECKING:` as imports, which type checkers and editors read, `else:` by
`late_names`. A late name must not be that of a module of the package, which would be found in its place.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def late_names(package: str, places: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package with late names.

    Args:
      package: The package's `__name__`.
      places: For each module its names that the package has, separated by spaces; a module that is such a name itself
        has nothing to list: its last part is the name.
    """
    found = {name: place for place, names in places.items() for name in names.split() or [_last(place)]}

    def find(name: str) -> Any:
        place = found.get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(place)
        value = getattr(module, name) if places[place] else module
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *found})

    return find, names


def _last(place: str) -> str:
    return place.rpartition(".")[2]
