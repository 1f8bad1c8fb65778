"""Source text of kernels: line by line, and the key under which its object code is kept.

The text uses only `range`, integer arithmetic and functions named `<what>_<type>`, which each backend defines: as intrinsics
for compiling, and as plain Python functions for the reference.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from graphad.core.dtypes import ALL, DType
from graphad.core.errors import GraphadError
from graphad.core.version import VERSION
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = 1  # part of every key; increase it when keys or files change their meaning
CODES: dict[str, str] = {dtype.name: dtype.kind[0] + str(8 * dtype.itemsize) for dtype in ALL}
CODES |= {"bfloat16": "bf16", "bool": "b1"}
NAMES: dict[str, str] = {code: name for name, code in CODES.items()}


class CompileError(GraphadError, RuntimeError):
    """A kernel's source did not become code that may be loaded."""


def code_of(dtype: DType) -> str:
    """The short name of a dtype in source text: "f32", "i64", "b1"."""
    return CODES[dtype.name]


class Text:
    """Source text under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent the lines of the block under `head`."""
        self.add(head + ":")
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


class Source(Record):
    """A source text that a backend compiles.

    Attributes:
      text: A Python function, named `kernel` by default.
      origin: The digest of the kernel that it was printed from.
      library: The digest of the library functions that it calls.
    """

    text: str
    origin: str
    library: str = ""

    def key(self, parts: Mapping[str, Any]) -> str:
        """The cache key of this source's object code, with the further named parts."""
        return named_key(
            {
                **parts,
                "schema": SCHEMA,
                "origin": self.origin,
                "library": self.library,
                "source": hashlib.sha256(self.text.encode()).hexdigest(),
            }
        )


def may_contract(function: Callable[..., Any]) -> bool:
    """Whether a kernel's text allows contraction of products and sums."""
    return "contract" in function.__code__.co_names


@cache
def digest_of_files(folder: str, *names: str) -> str | None:
    """The digest of some source files, for what is made by them: a changed file must not meet what the old one made.

    Reading the files takes less time than running what they write.

    Args:
      folder: Where they are.
      names: Their paths from there; without any, all source files of the folder.
    Returns: None where one of them cannot be read, as in an archive.
    """
    found = hashlib.sha256()
    try:
        for name in sorted(names or [each for each in os.listdir(folder) if each.endswith(".py")]):
            with open(os.path.join(folder, name), "rb") as stream:
                data = stream.read()
            found.update(b"%s %d\n" % (name.encode(), len(data)) + data)
    except OSError:
        return None
    return found.hexdigest()


def named_key(parts: Mapping[str, Any]) -> str:
    """sha256 of named parts, independent of their order."""
    lines = (f"{name}={repr(value).encode().hex()}" for name, value in sorted(parts.items()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@lru_cache(maxsize=1)
def version_parts() -> Mapping[str, str]:
    """The versions that object code depends on, read without importing the packages."""
    return {"graphad": VERSION, **{package: _version(package) for package in ("numba", "llvmlite")}}


def _version(package: str) -> str:
    """A package's version by the name of the folder of metadata beside it: importlib.metadata takes fifteen times
    longer."""
    spec = PathFinder.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        beside = os.listdir(os.path.dirname(place))
        found = [name for name in beside if name.startswith(package + "-") and name.endswith(".dist-info")]
        if len(found) == 1:
            return found[0][len(package) + 1 : -len(".dist-info")]
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
