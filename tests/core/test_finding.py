"""graphad's own modules are found in fewer steps than by Python's finder, and come out the same."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
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
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import graphad
from graphad.core import late
from graphad.core.finding import Directory, install
from tests.support.work import calls_in

ROOT = Path(graphad.__file__).parent


def usual(path: str) -> FileFinder:
    """What Python would find modules in a directory with."""
    return FileFinder(
        path,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (SourceFileLoader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


def ours(path: str) -> Directory:
    before, _, after = cache_from_source(str(ROOT / "__init__.py"))[len(str(ROOT)) :].partition("__init__")
    return Directory(path, before, after)


def parts(spec: ModuleSpec | None) -> Any:
    if spec is None:
        return None
    assert isinstance(spec.loader, SourceFileLoader)
    return (
        spec.name,
        spec.origin,
        spec.cached,
        spec.has_location,
        spec.submodule_search_locations,
        spec.parent,
        spec.loader.name,
        spec.loader.path,
    )


@pytest.fixture(autouse=True)
def bytecode_beside_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever `PYTHONPYCACHEPREFIX` is: with it nothing is installed."""
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An imported package with a module `a`, in which modules are found as in graphad."""
    place = tmp_path / "found_package"
    place.mkdir()
    (place / "__init__.py").write_text("")
    (place / "a.py").write_text("value = 1\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    spec = importlib.import_module("found_package").__spec__
    monkeypatch.setitem(sys.path_importer_cache, str(place), usual(str(place)))
    install(spec)
    assert type(sys.path_importer_cache[str(place)]) is Directory
    yield place
    for name in [name for name in sys.modules if name.startswith("found_package")]:
        del sys.modules[name]


def again(name: str) -> ModuleType:
    sys.modules.pop(name, None)
    return importlib.import_module(name)


def test_every_module_is_found_as_python_finds_it() -> None:
    count = 0
    for place, _, names in os.walk(ROOT):
        mine, other = ours(place), usual(place)
        package = ".".join(Path(place).relative_to(ROOT.parent).parts)
        for name in [Path(name).stem for name in names if name.endswith(".py")] + ["missing", "py"]:
            fullname = f"{package}.{name}"
            assert parts(mine.find_spec(fullname)) == parts(other.find_spec(fullname))
            count += 1
    for place, folders, _ in os.walk(ROOT):
        mine, other = ours(place), usual(place)
        package = ".".join(Path(place).relative_to(ROOT.parent).parts)
        for name in folders:
            if (Path(place) / name / "__init__.py").exists():
                fullname = f"{package}.{name}"
                assert parts(mine.find_spec(fullname)) == parts(other.find_spec(fullname))
    assert count > 500


def test_a_module_takes_sixty_calls_fewer(package: Path) -> None:
    again("found_package.a")  # writes its bytecode
    mine = calls_in(lambda: again("found_package.a"))
    sys.path_importer_cache[str(package)] = usual(str(package))
    again("found_package.a")
    assert mine + 60 <= calls_in(lambda: again("found_package.a"))


def test_directories_of_graphad_are_listed_by_tools_as_before() -> None:
    found = {module.name for module in pkgutil.iter_modules([str(ROOT / "core")])}
    assert found == {path.stem for path in (ROOT / "core").glob("*.py")} - {"__init__"}


def test_a_changed_source_is_compiled_anew(package: Path) -> None:
    assert again("found_package.a").value == 1
    (package / "a.py").write_text("value = 22\n")
    assert again("found_package.a").value == 22
    assert again("found_package.a").value == 22  # from bytecode


@pytest.mark.parametrize(
    "start, content", [(0, b"\0\0\0\0"), (4, b"\3\0\0\0"), (8, b"\0\0\0\0"), (12, b"\7\0\0\0")]
)
def test_bytecode_of_another_python_or_source_is_not_run(package: Path, start: int, content: bytes) -> None:
    cached = Path(again("found_package.a").__spec__.cached)  # type: ignore[union-attr,arg-type]
    (package / "b.py").write_text("value = 3\n")
    other = Path(again("found_package.b").__spec__.cached)  # type: ignore[union-attr,arg-type]
    data = bytearray(cached.read_bytes()[:16] + other.read_bytes()[16:])
    data[start : start + 4] = content
    cached.write_bytes(data)
    assert again("found_package.a").value == 1


def test_bytecode_of_a_moved_source_gets_the_new_path(package: Path) -> None:
    again("found_package.a")
    moved = package.parent / "moved_package"
    package.rename(moved)
    spec = ours(str(moved)).find_spec("moved_package.a")
    assert spec is not None and isinstance(spec.loader, SourceFileLoader)
    code = spec.loader.get_code("moved_package.a")
    assert code is not None and code.co_filename == str(moved / "a.py")


def test_files_that_come_and_go_are_found_as_they_are(package: Path) -> None:
    again("found_package.a")
    (package / "later.py").write_text("value = 4\n")
    assert again("found_package.later").value == 4
    (package / "a.py").unlink()
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'found_package\.a'"):
        again("found_package.a")
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text("from . import b\n")
    (package / "inner" / "b.py").write_text("value = 5\n")
    assert again("found_package.inner").b.value == 5


def test_a_compiled_module_comes_before_its_source(package: Path) -> None:
    beside = package / f"a{EXTENSION_SUFFIXES[0]}"
    beside.write_bytes(b"")
    spec = ours(str(package)).find_spec("found_package.a")
    assert spec is not None and spec.origin == str(beside)


def test_a_compiled_module_that_is_told_of_later_comes_first_too(package: Path) -> None:
    finder, beside = ours(str(package)), package / f"a{EXTENSION_SUFFIXES[0]}"
    beside.write_bytes(b"")
    finder.invalidate_caches()
    spec = finder.find_spec("found_package.a")
    assert spec is not None and spec.origin == str(beside)


def test_a_loader_reads_the_source_of_each_time_that_it_is_asked(package: Path) -> None:
    again("found_package.a")
    spec = ours(str(package)).find_spec("found_package.a")
    assert spec is not None and isinstance(spec.loader, SourceFileLoader)
    first = spec.loader.get_code("found_package.a")
    (package / "a.py").write_text("value = 555\n")
    second = spec.loader.get_code("found_package.a")
    assert first is not None and second is not None and 555 in second.co_consts and 555 not in first.co_consts


def test_hooks_of_others_and_bytecode_elsewhere_are_left_alone(package: Path) -> None:
    class Other(FileFinder):
        pass

    hooked = sys.path_importer_cache[str(package)] = Other(str(package))
    install(sys.modules["found_package"].__spec__)
    assert sys.path_importer_cache[str(package)] is hooked
    program = "import sys, graphad; print({type(f).__name__ for p, f in sys.path_importer_cache.items() if 'graphad' in p})"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT.parent),
        "PYTHONPYCACHEPREFIX": str(package / "elsewhere"),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "Directory" not in done.stdout
    environment.pop("PYTHONPYCACHEPREFIX")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "Directory" in done.stdout


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python's own class is as quick")
def test_modules_are_asked_for_their_path_in_few_steps(package: Path) -> None:
    """`from module import name` asks a module whether it is a package; one that is none answers without an error message."""
    (package / "plain.py").write_text("value = 1\n")
    (package / "asking.py").write_text("def __getattr__(name):\n    return name\n")
    sys.path_importer_cache[str(package)] = ours(str(package))
    plain, asking = (importlib.import_module(f"found_package.{name}") for name in ("plain", "asking"))
    assert type(plain).__getattribute__ is object.__getattribute__
    assert isinstance(plain, ModuleType)
    assert getattr(plain, "missing", None) is None
    with pytest.raises(AttributeError, match="missing"):
        plain.missing
    with pytest.raises(ImportError, match="missing"):
        exec("from found_package.plain import missing")
    assert type(asking) is ModuleType
    assert asking.missing == "missing"  # by its own function


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the class is Python's own")
def test_modules_are_copied_and_pickled_by_name(package: Path) -> None:
    """What copies functions of a program for other processes asks modules of Python's own class for their names only."""
    (package / "plain.py").write_text("value = 1\n")
    sys.path_importer_cache[str(package)] = ours(str(package))
    module = importlib.import_module("found_package.plain")
    assert type(module) is not ModuleType
    assert pickle.loads(pickle.dumps(module)) is module
    assert copy.deepcopy([module])[0] is module


def test_a_namespace_answers_modules_that_it_imports(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module whose names are listed finds them from when it says so, not only once its own import has ended."""
    monkeypatch.setattr(late, "namespaces", [])
    names = package / "names"
    names.mkdir()
    (names / "__init__.py").write_text(
        "from graphad.core.late import attach\n__getattr__, __dir__ = attach(__name__)\nfrom found_package.names import user\n"
    )
    (names / "__init__.pyi").write_text("from found_package.a import value as value\n")
    (names / "user.py").write_text("from found_package.names import value\n")
    sys.path_importer_cache[str(package)] = ours(str(package))
    assert importlib.import_module("found_package.names").user.value == 1
