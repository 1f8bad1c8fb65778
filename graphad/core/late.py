"""Public names from one list: the stub beside a module's source, which type checkers and this module both read.

`graphad/signal.py` has the docstring of the namespace and calls `attach`. `graphad/signal.pyi` is the list, one name a line:

    from graphad.ops.signal.frames import stft as stft         a name, and the module where it is found
    from graphad.ops.signal import *                           all names of another list
    from graphad.core.dtypes import bool_                      not a name of the list itself,
    bool = bool_                                               but listed here under another name
    newaxis: None                                              a name that the source beside the stub defines

A name is imported when it is first used, so that importing the package stays quick.
A late name must differ from the names of the package's modules, which Python would find first, unless the package imports the
module before it calls `attach`, or asks for `functions_first`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

HERE = ""  # stands for the source beside the stub
namespaces: list[str] = []  # the modules whose names are listed in a stub, as far as they are imported


class _FunctionsFirst(ModuleType):
    """A package in which the import of a module leaves the listed function of the same name where it is."""

    def __setattr__(self, name: str, value: object) -> None:
        if (
            isinstance(value, ModuleType)
            and (_line_of(_texts[self.__name__], name) or [self.__name__])[0] != self.__name__
        ):
            return  # found by its own name in `sys.modules`; the function is found when it is first used
        super().__setattr__(name, value)


_texts: dict[str, str] = {}  # the stubs of such packages


def attach(
    package: str, functions_first: bool = False
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module whose names are listed in its stub, as is its `__all__`.

    Args:
      package: The module's `__name__`.
      functions_first: Listed functions may have names of the package's modules.
    """
    module = sys.modules[package]
    namespaces.append(package)
    # The list is parsed when first needed; many families of ops are imported for the modules in them alone.
    text = _stub(module.__spec__)
    if functions_first:
        _texts[package] = text
    # A class whose look-up calls the function, also while modules that are imported here import names from it.
    module.__class__ = _FunctionsFirst if functions_first else ModuleType
    places: dict[str, tuple[str, str]] = {}

    def listed() -> dict[str, tuple[str, str]]:
        if not places:
            places.update(_parsed(text))
        return places

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(name for name in listed() if not name.startswith("_"))
        place, original = _line_of(text, name) or listed().get(name, (HERE, ""))
        if place == HERE:
            raise AttributeError(refusal_of(package, name), name=name)
        if place == package:
            value: Any = importlib.import_module(f"{place}.{original}")
        else:
            value = getattr(importlib.import_module(place), original)
        setattr(module, name, value)  # the next look-up finds it directly
        return value

    for name, value in list(vars(module).items()):
        found = _line_of(text, name) if isinstance(value, ModuleType) else None
        if found is not None and found[0] != package:  # a function replaces the module of the same name
            setattr(module, name, getattr(importlib.import_module(found[0]), found[1]))
    return find, lambda: sorted(listed())


class _WhenAsked:
    """Stands for a module until one of its names is asked for, and afterwards."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)


def when_asked(module: str) -> Any:
    """A module by its full name, which is imported when one of its names is first asked for."""
    return _WhenAsked(module)


def places_of(package: str) -> dict[str, tuple[str, str]]:
    """The names in a module's stub, each with its module and its name in that module. Nothing is imported."""
    return _parsed(_stub(sys.modules[package].__spec__ if package in sys.modules else _spec_of(package)))


def _stub(spec: Any) -> str:
    """The text of the stub beside a module."""
    text: str = spec.loader.get_data(spec.origin.rpartition(".")[0] + ".pyi").decode()
    return text


def _line_of(text: str, name: str) -> tuple[str, str] | None:
    """The module of a name and its name in that module, if the stub has one line for it, as for nearly all names. This takes a
    twentieth of the time of parsing the whole list."""
    end = text.find(f" as {name}\n")
    words = text[text.rfind("\n", 0, end) + 1 : end].split() if end >= 0 else ()
    return (words[1], words[3]) if len(words) == 4 else None


def _parsed(text: str) -> dict[str, tuple[str, str]]:
    places: dict[str, tuple[str, str]] = {}
    private: dict[str, tuple[str, str]] = {}
    # A long import is in parentheses.
    for line in text.replace("(\n    ", "").replace(",\n    ", ", ").replace(",\n)", "").splitlines():
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
    # Imported here since few programs need it.
    sentence: str = importlib.import_module("graphad.core.absent").refusal(package, name)
    return sentence
