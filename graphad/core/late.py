"""Public names from one list: the stub beside a module's source, which type checkers and this module both read.

`graphad/signal.py` has the docstring of the namespace and calls `attach`. `graphad/signal.pyi` is the list, one name a line:

    from graphad.ops.signal.frames import stft as stft         a name, and the module where it is found
    from graphad.ops.signal import *                           all names of another list
    from graphad.core.dtypes import bool_                      not a name of the list itself,
    bool = bool_                                               but listed here under another name
    newaxis: None                                              a name that the source beside the stub defines

A name is imported when it is first used, so that importing the package stays quick; names of loaded modules are bound at once.
A late name must differ from the names of the package's modules, which Python would find first.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection
from importlib.machinery import PathFinder
from typing import Any

HERE = ""  # stands for the source beside the stub


def attach(
    package: str, at_once: bool = False, late: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a module whose names are listed in its stub.

    Args:
      package: The module's `__name__`.
      at_once: Whether to import all names now.
      late: Modules of the package that are imported late nevertheless, since they define no ops or the registry knows their ops
      (`register_later`).
    """
    module = sys.modules[package]
    places = places_of(package)
    if at_once:
        waiting = {f"{package}.{name}" for name in late}
        for place in dict.fromkeys(place for place, _ in places.values()):
            if place not in waiting:
                importlib.import_module(place)
    for name, (place, original) in places.items():
        home = vars(sys.modules[place]) if place in sys.modules and place != package else {}
        if original in home:  # a function replaces the module of the same name
            setattr(module, name, home[original])

    def find(name: str) -> Any:
        place, original = places.get(name, (HERE, ""))
        if place == HERE:
            raise AttributeError(refusal_of(package, name), name=name)
        if place == package:
            value: Any = importlib.import_module(f"{place}.{original}")
        else:
            value = getattr(importlib.import_module(place), original)
        setattr(module, name, value)  # the next look-up finds it directly
        return value

    return find, lambda: sorted(places), sorted(name for name in places if not name.startswith("_"))


def places_of(package: str) -> dict[str, tuple[str, str]]:
    """For each name in a module's stub: its module, and its name there. Nothing is imported."""
    spec: Any = sys.modules[package].__spec__ if package in sys.modules else _spec_of(package)
    text = spec.loader.get_data(spec.origin.rpartition(".")[0] + ".pyi").decode()
    places: dict[str, tuple[str, str]] = {}
    private: dict[str, tuple[str, str]] = {}
    # A long import is in parentheses.
    for line in text.replace("(\n    ", "").replace(",\n)", "").splitlines():
        words = line.split()
        if len(words) == 6 and words[4] == "as":  # nearly all lines
            places[words[5]] = words[1], words[3]
            continue
        match words:
            case ["from", place, "import", "*"]:
                places |= {name: (place, name) for name in places_of(place) if not name.startswith("_")}
            case ["from", place, "import", *originals]:
                private |= {name.strip(","): (place, name.strip(",")) for name in originals}
            case [name, "=", original]:
                places[name] = places.get(original) or private[original]
            case [name, _] if name.endswith(":"):
                places[name[:-1]] = HERE, ""
    return places


def _spec_of(package: str) -> Any:
    from importlib.util import find_spec  # for namespaces that are not imported yet

    return find_spec(package)


def _is_module(package: str, name: str) -> bool:
    places = getattr(sys.modules.get(package), "__path__", None)
    return places is not None and PathFinder.find_spec(f"{package}.{name}", places) is not None


def refusal_of(package: str, name: str) -> str:
    """The error message for a name that a package does not have."""
    # Python and its tools look up many private names, and `from package import module` looks up a module before importing it.
    if name.startswith("_") or _is_module(package, name):
        return f"module {package!r} has no attribute {name!r}"
    sentence: str = importlib.import_module("graphad.core.absent").refusal(
        package, name
    )  # imported here since few programs need it
    return sentence
