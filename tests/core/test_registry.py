"""The registry finds an op by its name, whether or not anything has imported its module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphad.core import registry
from graphad.core.registry import DuplicateGradientError, register_gradient

ROOT = Path(__file__).parents[2]
REGISTERED = """
import importlib, pkgutil, sys
import graphad
from graphad.core import op, registry

at_once, late, found = set(registry._OPS), dict(registry._late), {}
register = op.register

def watched(op_class):
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>" or not frame.f_globals["__name__"].startswith("graphad."):
        frame = frame.f_back
    found[op_class.name] = frame.f_globals["__name__"], op_class.live
    register(op_class)

op.register = watched
for module in pkgutil.walk_packages(graphad.__path__, "graphad."):
    if not (module.name.endswith("__main__") or module.name.startswith("graphad.compiler.cuda.")):  # which need an extra
        importlib.import_module(module.name)
told = {name: module for module, names in late.items() for name in names.split()}
print(len(at_once), len(found), sum(len(names.split()) for names in late.values()))
for name in {*found, *told}:
    where, live = found.get(name, (None, False))
    if told.get(name) != where and (name in told or not live):
        print(name, "registers from", where, "and stands under", told.get(name))
"""
FIRST_USE = """
import sys
import graphad
from graphad.core.registry import find
late = "graphad.ops.nn.softmaxes", "graphad.ops.random.generator", "graphad.ops.linalg.eigen"
assert not any(module in sys.modules for module in late)
assert find("there is none") is None
assert find("softmax").name == "softmax"
assert [module in sys.modules for module in late] == [True, False, False]
graphad.random.normal([2])
graphad.nn.relu([1.0])
print(*[module for module in sys.modules if module.startswith("graphad.ops.nn.")])
"""


def _printed(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.splitlines()


def test_every_op_that_a_file_may_hold_is_found_by_its_name() -> None:
    """Its module is imported with graphad or stands with its name under `register_later`; only ops with live objects need not."""
    counts, *wrong = _printed(REGISTERED)
    at_once, found, told = map(int, counts.split())
    assert at_once + found > 280
    assert told > 150
    assert wrong == []


def test_looking_up_an_op_imports_its_module_alone() -> None:
    """A first activation or a first draw imports no other family of ops."""
    (imported,) = _printed(FIRST_USE)
    assert imported.split() == ["graphad.ops.nn.softmaxes", "graphad.ops.nn.activation"]


def test_a_gradient_cannot_take_the_name_of_an_op_that_is_not_imported_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_late", {"graphad.none": "other_op late_op"})
    with pytest.raises(DuplicateGradientError, match="graphad's own op 'late_op'"):
        register_gradient("LateOp", lambda op, g: g, "here")
