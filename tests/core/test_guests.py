"""A library that finds its backends by itself is told of graphad when it is imported, before or after graphad."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STANDIN = """
class AbstractBackend:
    pass

def own():
    return [c for c in AbstractBackend.__subclasses__() if c.__module__.startswith("graphad")]
"""
CHECK = """
import sys, gc
gc.collect()
backends = sys.modules["einops._backends"]
[backend] = backends.own()
assert backend().is_appropriate_type(graphad.ones(2)) and backend().is_appropriate_type(graphad.Variable(1.0))
assert not backend().is_appropriate_type(1.0)
assert backends.__spec__.loader is backends.__loader__ and "Following" not in type(backends.__loader__).__name__
assert not any("graphad" in type(finder).__module__ for finder in sys.meta_path)
"""


def run(folder: Path, program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "einops"
    package.mkdir()
    (package / "__init__.py").write_text("from . import _backends")
    (package / "_backends.py").write_text(STANDIN)
    return tmp_path


@pytest.mark.parametrize("order", ["graphad, einops", "einops, graphad"])
def test_a_library_knows_graphad_in_either_order_of_imports(folder: Path, order: str) -> None:
    run(folder, f"import {order}{CHECK}")


def test_importing_graphad_imports_no_guest(folder: Path) -> None:
    said = run(
        folder, "import sys, graphad; print('einops' in sys.modules, 'graphad.ops.einops' in sys.modules)"
    )
    assert said.split() == ["False", "False"]


def test_a_library_without_that_class_is_imported_all_the_same(folder: Path) -> None:
    (folder / "einops" / "_backends.py").write_text("later = True")
    run(folder, "import graphad, einops; assert einops._backends.later")


MISSED = """
import graphad
try:
    import einops._backends
except ModuleNotFoundError as error:
    assert error.name == "einops._backends"
"""


def test_a_library_that_is_not_there_is_missed_as_before(folder: Path) -> None:
    (folder / "einops" / "_backends.py").unlink()
    (folder / "einops" / "__init__.py").write_text("")
    run(folder, MISSED)
