"""Ops of another version than this release's: upgraded, or refused by name; never run with a meaning they did not have."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.core import registry
from serialization.errors import CorruptModelError, UnsupportedModelError
from serialization.inspect.cli import main
from serialization.saved_model import load, save
from serialization.schema.graph import OpRecord
from tests.golden import older_ops
from tests.golden.older_ops import HERE
from tests.serialization.convert.hostile import loaded, model, node

X = np.array([1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def release(monkeypatch):
    registry.all_ops()  # what is registered now stays
    for table in ("_OPS", "_PLAIN_NAMES"):  # the ops of these tests are in no other's registry
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    older_ops.newer()


def test_an_older_version_is_upgraded_to_what_it_meant():
    with np.load(HERE / "expected.npz") as expected:
        np.testing.assert_array_equal(load(HERE / "golden_percent").f(X), expected["golden_percent"])
        older_ops.older()
        np.testing.assert_array_equal(load(HERE / "golden_percent").f(X), expected["golden_percent"])


def test_an_upgraded_op_is_saved_as_the_version_it_is_now(tmp_path):
    save(load(HERE / "golden_percent"), tmp_path / "again")
    np.testing.assert_array_equal(load(tmp_path / "again").f(X), [2.5, 4.0])
    older_ops.older()
    with pytest.raises(UnsupportedModelError, match="is version 3, this release has 1; upgrade graphad"):
        load(tmp_path / "again")


def test_an_older_version_that_cannot_be_upgraded_is_refused_by_name(capsys):
    with pytest.raises(
        UnsupportedModelError, match=r"ops\[0\]: op 'golden_gone' is version 1, which this release no longer"
    ):
        load(HERE / "golden_gone")
    assert main(["verify", str(HERE / "golden_gone")]) == 1
    assert "golden_gone" in capsys.readouterr().err
    older_ops.older()
    np.testing.assert_array_equal(load(HERE / "golden_gone").f(X), [3.0, 4.0])


@pytest.mark.parametrize(
    "attributes", [(), (("percent", "many"),), (("percent", 1), ("more", 2)), (("factor", 1.0),)]
)
def test_an_older_version_with_wrong_attributes_is_refused_before_and_after_its_upgrade(attributes):
    with pytest.raises(CorruptModelError, match="golden_percent"):
        loaded(model([node(0, [0])], [OpRecord("golden_percent", 1, attributes)]))


def test_what_an_upgrade_gives_is_checked_like_any_attribute():
    with pytest.raises(CorruptModelError, match="'factor' of op 'golden_percent'"):
        loaded(model([node(0, [0])], [OpRecord("golden_percent", 2, (("factor", "1.5"),))]))
    good = loaded(model([node(0, [0])], [OpRecord("golden_percent", 2, (("factor", 1.5),))]))
    np.testing.assert_array_equal(good.f(gd.ones([3]))[0], np.full(3, 1.5, np.float32))


def test_every_op_of_graphad_with_an_older_version_has_an_upgrade():
    changed = [
        kind
        for kind in registry.all_ops().values()
        if kind.version > 1 and not kind.name.startswith("golden_")
    ]
    assert [kind.name for kind in changed if "upgrade" not in vars(kind)] == []
    assert "upgrade" not in vars(registry.lookup("golden_gone"))
