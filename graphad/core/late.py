"""A module's public names, said in one place: the stub beside its source, which this module and type checkers both read.

`graphad/signal.py` says what the namespace is for and calls `attach`. `graphad/signal.pyi` is the list, a name in each line:

    from graphad.ops.signal.frames import stft as stft         a name, and the module where it is found
    from graphad.ops.signal import *                           all names of another list
    from graphad.core.dtypes import bool_                      what is no name of the list itself,
    bool = bool_                                               but has another one here
    newaxis: None                                              a name that the source beside the stub defines

A name is imported when it is first used, so that importing the package stays quick; what is there already is bound at once.
A late name must not be that of another module of the package, which Python would find in its place.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection
from importlib.machinery import PathFinder
from typing import Any

HERE = ""  # in place of a module: the source beside the stub


def attach(
    package: str, at_once: bool = False, late: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a module whose names stand in its stub.

    Args:
      package: The module's `__name__`.
      at_once: Whether all that the stub names is imported now.
      late: Modules inside the package that wait all the same: their functions are put together from ops, or the registry knows
        where their ops are (`register_later`).
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
        if original in home:  # a function takes the place of the module of its name
            setattr(module, name, home[original])

    def find(name: str) -> Any:
        place, original = places.get(name, (HERE, ""))
        if place == HERE:
            raise AttributeError(refusal_of(package, name), name=name)
        if place == package:
            value: Any = importlib.import_module(f"{place}.{original}")
        else:
            value = getattr(importlib.import_module(place), original)
        setattr(module, name, value)  # the next time it is there
        return value

    return find, lambda: sorted(places), sorted(name for name in places if not name.startswith("_"))


def places_of(package: str) -> dict[str, tuple[str, str]]:
    """For each name in a module's stub the module that has it, and what it is called there. What they name is not imported."""
    spec: Any = sys.modules[package].__spec__ if package in sys.modules else _spec_of(package)
    text = spec.loader.get_data(spec.origin.rpartition(".")[0] + ".pyi").decode()
    places: dict[str, tuple[str, str]] = {}
    private: dict[str, tuple[str, str]] = {}
    # A line that is too long stands in brackets.
    for line in text.replace("(\n    ", "").replace(",\n)", "").splitlines():
        match line.split():
            case ["from", place, "import", original, "as", name]:
                places[name] = place, original
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
    from importlib.util import find_spec  # of namespaces that nobody has imported yet

    return find_spec(package)


def _is_module(package: str, name: str) -> bool:
    places = getattr(sys.modules.get(package), "__path__", None)
    return places is not None and PathFinder.find_spec(f"{package}.{name}", places) is not None


def refusal_of(package: str, name: str) -> str:
    """What is said of a name that a package does not have."""
    # Python and its tools ask for many private names, and `from package import module` for the module before it is imported.
    if name.startswith("_") or _is_module(package, name):
        return f"module {package!r} has no attribute {name!r}"
    sentence: str = importlib.import_module("graphad.core.absent").refusal(
        package, name
    )  # few programs need it
    return sentence
