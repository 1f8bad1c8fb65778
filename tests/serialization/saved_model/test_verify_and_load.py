"""`verify` and `load` agree: what `verify` calls fine loads, and what it looks at besides is what a model does not use."""

from __future__ import annotations

import random
import warnings

import msgpack
import pytest

from serialization.errors import LoadError
from serialization.inspect.cli import main
from serialization.saved_model import load, save
from serialization.schema.graph import GraphRecord, OpRecord, RuleRecord
from serialization.schema.model import FunctionRecord
from serialization.schema.values import RuleValue
from serialization.schema.versions import FORMAT_VERSION, model_to_body
from serialization.storage.places import MANIFEST
from serialization.storage.read import read_model
from serialization.wire.header import HEADER_BYTES, seal
from tests.golden.models import MODELS
from tests.serialization.convert.hostile import node
from tests.serialization.convert.mutations import mutated, paths, tree_of

NAMES = ("rich", "control_flow", "arguments")


@pytest.fixture(scope="module", params=NAMES)
def saved(request, tmp_path_factory):
    golden = MODELS[request.param]
    obj = golden.build()
    place = tmp_path_factory.mktemp("verified") / request.param
    save(obj, place, None if golden.signatures is None else golden.signatures(obj))
    return place


def loads(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(path)
    except LoadError:
        return False
    return True


def verifies(path, capsys):
    status = main(["verify", str(path)])
    capsys.readouterr()
    return status == 0


def with_manifest(path, body):
    (path / MANIFEST).write_bytes(seal(FORMAT_VERSION, body))


def test_what_verify_calls_fine_loads(saved, capsys):
    """And what does not load is not fine. Only in what nothing refers to may `verify` see more."""
    original = (saved / MANIFEST).read_bytes()
    tree = tree_of(read_model(saved)[0])
    every = paths(tree)
    seen = {True: 0, False: 0}
    stricter = 0
    try:
        for seed in range(250):
            chooser = random.Random(seed)
            changed = tree
            for _ in range(1 + seed % 2):
                changed = mutated(changed, every, chooser.randrange)
            try:
                with_manifest(saved, msgpack.packb(changed))
            except OverflowError:
                continue
            fine, loaded = verifies(saved, capsys), loads(saved)
            assert loaded or not fine, seed
            seen[fine] += 1
            stricter += loaded and not fine
    finally:
        (saved / MANIFEST).write_bytes(original)
    assert min(seen.values()) > 5 and stricter < 40
    assert len(original) > HEADER_BYTES and verifies(saved, capsys) and loads(saved)


UNUSED = {
    "an op that does not exist": lambda m: m.replace(ops=(*m.ops, OpRecord("no_such_op", 1))),
    "a graph with too many inputs for its op": lambda m: m.replace(
        ops=(*m.ops, OpRecord("sin", 1)),
        graphs=(*m.graphs, GraphRecord("g", (0, 0), (), (node(len(m.ops), [0, 1]),), (2,))),
    ),
    "a custom gradient that does not fit": lambda m: m.replace(
        ops=(
            *m.ops,
            OpRecord(
                "closed_custom", 1, (("rule", RuleValue(len(m.rules))), ("n_inputs", 1), ("n_outputs", 1))
            ),
        ),
        rules=(*m.rules, RuleRecord("r", 0, (), (True, True, True, True))),
        graphs=(*m.graphs, GraphRecord("g", (0, 0), (), (node(len(m.ops), [0, 1]),), (2,))),
    ),
    "a function without parameters whose signature is a number": lambda m: m.replace(
        functions=(*m.functions, FunctionRecord("f", (), 3, ()))
    ),
}


@pytest.mark.parametrize("fault", UNUSED)
def test_verify_looks_at_what_nothing_uses(saved, capsys, fault):
    original = (saved / MANIFEST).read_bytes()
    try:
        with_manifest(saved, model_to_body(UNUSED[fault](read_model(saved)[0])))
        assert loads(saved) and not verifies(saved, capsys)
    finally:
        (saved / MANIFEST).write_bytes(original)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_both_accept_every_golden_model_of_this_release(name, tmp_path, capsys):
    golden = MODELS[name]
    obj = golden.build()
    save(obj, tmp_path / "model", None if golden.signatures is None else golden.signatures(obj))
    assert verifies(tmp_path / "model", capsys) and loads(tmp_path / "model")


def test_a_float_of_32_bits_is_refused_by_both(tmp_path, capsys):
    save(MODELS["arguments"].build(), tmp_path / "model")
    assert loads(tmp_path / "model")
    body = model_to_body(read_model(tmp_path / "model")[0])
    long, short = msgpack.packb(2.0), msgpack.packb(2.0, use_single_float=True)
    assert body.count(long) >= 1 and len(short) == 5
    with_manifest(tmp_path / "model", body.replace(long, short, 1))
    with pytest.raises(LoadError, match="a float of 32 bits"):
        load(tmp_path / "model")
    assert not verifies(tmp_path / "model", capsys)
