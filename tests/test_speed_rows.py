"""The benchmark of all functions knows all functions: each has a row, or stands among those that are left out."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from graphad.core.dtypes import DType
from graphad.core.late import places_of
from tests.benchmarks.speed.__main__ import HERE, rows

NAMESPACES = (
    "graphad", "graphad.math", "graphad.math.special", "graphad.linalg", "graphad.nn", "graphad.signal", "graphad.image",
    "graphad.sparse", "graphad.random", "graphad.numpy", "graphad.numpy.linalg", "graphad.numpy.fft",
)  # fmt: skip


def functions(namespace: str) -> set[str]:
    module = importlib.import_module(namespace)
    found = {name: getattr(module, name) for name in places_of(namespace) if not name.startswith("_")}
    return {
        name
        for name, value in found.items()
        if callable(value)
        and not inspect.isclass(value)
        and not inspect.ismodule(value)
        and not isinstance(value, DType)
    }


def left_out() -> set[str]:
    lines = (HERE / "left_out.txt").read_text(encoding="utf-8").splitlines()
    return {name for line in lines if line and line[0] not in "#[" for name in line.split()}


def timed() -> set[str]:
    return {name for row in rows() for name in re.findall(r"\.([A-Za-z_]\w*)\(", row.own)}


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_function_is_timed_or_left_out(namespace: str) -> None:
    missing = functions(namespace) - timed() - left_out()
    assert not missing, "give it a row in tests/benchmarks/speed/rows.txt, or a place in left_out.txt"


def test_what_is_left_out_is_there() -> None:
    assert left_out() <= set().union(*[functions(namespace) for namespace in NAMESPACES])
    assert not left_out() & timed()
