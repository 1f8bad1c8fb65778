"""An import finder for graphad's own modules: the same result as Python's finder, in fewer steps.

Python's finder looks for each module under all endings that modules have, works out three times where its bytecode is kept, and
asks again and again about the directory and the source: for a small module that is more than all the rest of its import. Most of
graphad's modules are small, and a first call imports dozens of them. So in graphad's directories a finder of its own lists the
files once, looks at a source once, and reads the bytecode beside it if it is that of this source.

Everything unusual is left to Python's finder and loader, from which these classes are derived. For a single module: a file that
was created or removed after the listing, and bytecode that is missing, outdated, or validated by a hash of its source. For
all modules: extension modules among them, bytecode in another directory, an archive, and path hooks of other libraries. Finders
that another library has put in front in `sys.meta_path` are still asked first.
"""

import _imp
import marshal
import os
import sys
from _frozen_importlib_external import MAGIC_NUMBER
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from io import open_code
from os import sep, stat
from types import CodeType, ModuleType

_HEAD = MAGIC_NUMBER + bytes(4)  # how bytecode begins that is checked by the time and size of its source
_WRITES_MESSAGES = sys.version_info < (3, 12)


class Module(ModuleType):
    """A module of a class that looks up attributes as objects do.

    `from module import name` asks the module for `__path__`. Before Python 3.12 the class of all modules then writes two error
    messages that nobody reads, 7,000 instructions for each such statement: a tenth of the import of graphad.
    """

    __slots__ = ()
    __getattribute__ = object.__getattribute__

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """By name: libraries that copy functions of programs with their global names do so for Python's class of modules only."""
        return import_module, (self.__name__,)


class Source(SourceFileLoader):
    """The loader of a source that was found, and of the bytecode beside it if that begins as expected."""

    def __init__(self, fullname: str, path: str, cached: str, expected: bytes) -> None:
        self.name, self.path = fullname, path  # as the class above it sets them
        self._cached = cached
        self._expected: bytes | None = expected

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return Module(spec.name) if _WRITES_MESSAGES else None

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if type(module) is Module and "__getattr__" in module.__dict__:
            module.__class__ = ModuleType  # type: ignore[assignment]  # whose look-up calls that function

    def get_code(self, fullname: str) -> CodeType | None:
        # The file's state is read here for the import that follows immediately.
        expected, self._expected = self._expected, None
        if expected is not None:
            try:
                with open_code(self._cached) as file:
                    data = file.read()
            except OSError:
                data = b""
            if data[:16] == expected:
                code = marshal.loads(memoryview(data)[16:])
                if type(code) is CodeType:
                    if code.co_filename != self.path:  # it was compiled in another place
                        _imp._fix_co_filename(code, self.path)  # type: ignore[attr-defined]  # as Python's loader
                    return code
        return super().get_code(fullname)


class Directory(FileFinder):
    """The finder of one of graphad's directories.

    Args:
      path: The directory.
      before, after: The parts of a bytecode file's path between the directory and the module's name, and after the name.
    """

    def __init__(self, path: str, before: str, after: str) -> None:
        super().__init__(
            path,
            (ExtensionFileLoader, EXTENSION_SUFFIXES),
            (SourceFileLoader, SOURCE_SUFFIXES),
            (SourcelessFileLoader, BYTECODE_SUFFIXES),
        )
        self._before, self._after = before, after
        try:
            names = os.listdir(path)
        except OSError:  # it cannot be listed
            names = []
        self._names = frozenset(names)
        if any(name.endswith(tuple(EXTENSION_SUFFIXES)) for name in names):  # they come before sources
            self._names = frozenset()

    def invalidate_caches(self) -> None:
        """Files may have changed: from now on every import uses Python's finder."""
        super().invalidate_caches()
        self._names = frozenset()

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        spec = None
        if name in self._names:
            spec = self._package(fullname, f"{self.path}{sep}{name}")
        elif f"{name}.py" in self._names:
            spec = self._spec(fullname, self.path, name)
        return super().find_spec(fullname, target) if spec is None else spec

    def _package(self, fullname: str, path: str) -> ModuleSpec | None:
        spec = self._spec(fullname, path, "__init__")
        if spec is not None:
            spec.submodule_search_locations = [path]
            if path not in sys.path_importer_cache:
                sys.path_importer_cache[path] = Directory(path, self._before, self._after)
        return spec

    def _spec(self, fullname: str, path: str, name: str) -> ModuleSpec | None:
        file = f"{path}{sep}{name}.py"
        try:
            seen = stat(file)
        except OSError:
            return None
        since = int(seen.st_mtime) & 0xFFFFFFFF
        expected = _HEAD + (since | (seen.st_size & 0xFFFFFFFF) << 32).to_bytes(8, "little")
        cached = f"{path}{self._before}{name}{self._after}"
        spec = ModuleSpec(fullname, Source(fullname, file, cached, expected), origin=file)
        spec.has_location = True
        spec.cached = cached
        return spec


def install(package: ModuleSpec | None, *imported: str, beside: tuple[str, ...] = ()) -> None:
    """Use this finder for a package from now on, if Python's finder found the package and its bytecode is in `__pycache__` beside
    it.

    Args:
      package: The package's spec.
      imported: The names of packages inside of it that are imported already.
      beside: The names of packages in the same directory that are not imported yet.
    """
    if package is None or type(package.loader) is not SourceFileLoader:
        return
    (path,) = package.submodule_search_locations or [""]
    cached = package.cached or ""
    if cached.startswith(path):
        before, _, after = cached[len(path) :].partition("__init__")
        for place in (path, *[f"{path}{sep}{name}" for name in imported]):
            if type(sys.path_importer_cache.get(place)) is FileFinder:
                sys.path_importer_cache[place] = Directory(place, before, after)
        if type(sys.path_importer_cache.get(path)) is Directory:
            for name in beside:
                place = f"{path.rpartition(sep)[0]}{sep}{name}"
                sys.path_importer_cache.setdefault(place, Directory(place, before, after))
