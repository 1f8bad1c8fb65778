"""Whoever has FORMAT.md and OPS.md and nothing else can evaluate saved functions: `second_reader.py` does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from graphad.core.registry import all_ops
from graphad.core.schema import schema_of
from serialization.storage.read import read_model
from tests.golden.calls import observed_calls

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
READER = HERE / "second_reader.py"
# In a place of its own and with a guard: neither package can be imported there.
GUARDED = """
import builtins, runpy, sys
class Guard:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("graphad", "serialization", "tests"):
            raise ImportError(f"{name} is not for the second reader")
sys.meta_path.insert(0, Guard())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def read(directory, tmp_path):
    command = [sys.executable, "-I", "-c", GUARDED, str(READER), str(directory)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


@pytest.mark.parametrize("version", sorted(GOLDEN.glob("v*")), ids=lambda path: path.name)
def test_every_function_of_every_golden_file_is_evaluated_without_graphad(version, tmp_path):
    done = read(version, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not {"graphad", "serialization", "tests", "numba"} & set(found["modules"])
    models = {path.name for path in version.iterdir()}
    assert set(found["functions"]) == models and sum(found["functions"].values()) > 40
    assert len(found["ops"]) > 130


def test_the_second_reader_cannot_import_graphad(tmp_path):
    command = [sys.executable, "-I", "-c", GUARDED, str(tmp_path / "script.py")]
    (tmp_path / "script.py").write_text("import graphad")
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert done.returncode and "not for the second reader" in done.stderr


def references(x):
    """The references in an attribute as it is in a file."""
    if not isinstance(x, tuple):
        return []
    return [x] if x[:1] in (("at",), ("all",)) else [found for item in x for found in references(item)]


def test_every_op_that_may_refer_to_inputs_does_so_in_a_golden_file_and_in_every_way():
    found = {}
    for model in GOLDEN.glob("v*/*/model"):
        for op in read_model(model)[0].ops:
            for _, value in op.attributes:
                for reference in references(value):
                    found.setdefault(op.name, set()).add((reference[0], len(reference)))
    wanted = {name for name, kind in all_ops().items() if schema_of(kind).referring}
    assert {name for name in wanted if name not in found} == set()
    assert set.union(*found.values()) == {("at", 2), ("at", 3), ("all", 2)}


@pytest.mark.parametrize("change", ["a result", "a tensor", "an op", "a size"])
def test_a_difference_is_found(change, tmp_path):
    name = {"a tensor": "rich", "a size": "references"}.get(change, "scalars")
    shutil.copytree(GOLDEN / "v1" / name, tmp_path / name)
    if change == "a result":
        with np.load(tmp_path / name / "calls.npz") as calls:
            stored = dict(calls)
        stored["0.0.out.0"] = stored["0.0.out.0"] + np.float32(1e-3)
        np.savez(tmp_path / name / "calls.npz", **stored)
    elif change == "a size":
        with np.load(tmp_path / name / "calls.npz") as calls:
            stored = dict(calls)
        sizes = next(key for key, x in stored.items() if ".in." in key and x.tolist() == [2, 3])
        stored[sizes] = stored[sizes][::-1]
        np.savez(tmp_path / name / "calls.npz", **stored)
    else:
        place = tmp_path / name / "model"
        place = next(place.glob("variables/*")) if change == "a tensor" else place / "saved_model.msgpack"
        data = bytearray(place.read_bytes())
        data[-40] ^= 1
        place.write_bytes(data)
    assert read(tmp_path, tmp_path).returncode == 1


@pytest.mark.parametrize("model", sorted(GOLDEN.glob("v*/*/model")), ids=lambda path: path.parent.name)
def test_graphad_computes_what_it_computed_when_the_calls_were_written(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = observed_calls(model)
    with np.load(model.parent / "calls.npz") as calls:
        assert sorted(found) == sorted(calls.files)
        for key in calls.files:
            want = calls[key]
            assert found[key].dtype == want.dtype and found[key].shape == want.shape, key
            if want.dtype.kind in "fc":
                eps = float(np.finfo(want.dtype).eps)
                scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1.0))
                np.testing.assert_allclose(
                    found[key], want, rtol=40 * eps, atol=40 * eps * scale, err_msg=key
                )
            else:
                np.testing.assert_array_equal(found[key], want, err_msg=key)
