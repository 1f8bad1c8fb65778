"""OPS.md: written from the registry, current, complete, and part of what is installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from graphad.core.op import Op, define
from graphad.core.registry import all_ops
from serialization.inspect.ops import DOCUMENT, HEAD, document, meaning
from serialization.storage.read import read_model

ROOT = Path(__file__).resolve().parents[3]


def entries():
    return re.findall(r"^### (\w+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_document_is_current():
    assert document() == DOCUMENT.read_text(encoding="utf-8"), (
        "the ops have changed: run python -m serialization.inspect.ops"
    )


def test_every_op_that_a_file_may_name_has_one_entry_and_a_meaning():
    wanted = sorted(name for name, kind in all_ops().items() if _is_own(kind) and not kind.live)
    older = [name for kind in all_ops().values() for name in (*kind.formerly, *kind.composed_formerly)]
    assert sorted(entries()) == sorted([*wanted, *older])
    assert [name for name in wanted if len(meaning(all_ops()[name])) < 2] == []


def _is_own(kind):
    return kind.__module__.startswith("graphad.")


def test_every_attribute_and_its_bounds_are_named():
    text = DOCUMENT.read_text(encoding="utf-8")
    for part in text.split("\n### ")[1:]:
        kind = all_ops().get(part.split("\n", 1)[0])
        if kind is None:
            assert "An older name of `" in part
            continue
        for field in kind.attributes:
            assert f"\n* `{field}`: " in part, (kind.name, field)
    assert '* `kind`: string, one of "bits", "integers", "normal", "truncated_normal", "uniform"' in text
    assert "* `window`: tuple[integer, ...], at least 1" in text


@pytest.mark.parametrize(
    "model", sorted((ROOT / "tests" / "golden").glob("v*/*/model")), ids=lambda p: p.parent.name
)
def test_every_op_of_the_golden_files_has_an_entry(model):
    records, _ = read_model(model)
    assert {op.name for op in records.ops} <= set(entries())


def test_a_new_op_makes_the_document_stale(monkeypatch):
    from graphad.core import registry

    registry.all_ops()  # what is registered now stays
    monkeypatch.setattr(registry, "_OPS", dict(registry._OPS))
    monkeypatch.setattr(registry, "_PLAIN_NAMES", dict(registry._PLAIN_NAMES))

    class New(Op):
        """x + 1."""

        name = "op_of_a_test"
        infer = staticmethod(lambda x: x)
        eval = staticmethod(np.negative)
        __module__ = "graphad.ops.math.new"

    define(New)
    assert "### op_of_a_test" in document()


def test_the_documents_are_in_the_packages_that_are_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "serialization" in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    for file in (DOCUMENT, HEAD, DOCUMENT.with_name("FORMAT.md")):
        assert file.is_file() and (ROOT / "serialization") in file.parents
