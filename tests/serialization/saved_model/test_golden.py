"""Golden files of every released version load for ever, and show of themselves what they showed when they were written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from serialization.saved_model import LoadOptions, load, save
from tests.golden.models import MODELS, observed

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "tests" / "golden"
CASES = [
    pytest.param(version, name, id=f"{version.name}-{name.name}")
    for version in sorted(HERE.glob("v*"))
    for name in sorted(version.iterdir())
]


def loaded(path, verify="lazy"):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Importing a function with ops with unsaved custom gradients")
        return load(path, options=LoadOptions(verify=verify))


def compare(name, obj, expected):
    found = observed(MODELS[name], obj)
    assert sorted(found) == sorted(expected.files)
    for key in expected.files:
        want = expected[key]
        assert found[key].dtype == want.dtype and found[key].shape == want.shape, key
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(found[key], want, rtol=3e-6, atol=1e-6, err_msg=key)
        else:
            np.testing.assert_array_equal(found[key], want, err_msg=key)


def test_there_are_files_of_every_version():
    assert (HERE / "v1").is_dir()
    assert {name.name for name in (HERE / "v1").iterdir()} <= set(MODELS)
    assert sum(p.stat().st_size for p in HERE.rglob("*") if p.is_file() and p.suffix != ".pyc") < 400_000


@pytest.mark.parametrize(("version", "name"), CASES)
def test_it_loads_and_shows_the_same(version, name):
    with np.load(name / "expected.npz") as expected:
        compare(name.name, loaded(name / "model", True), expected)


@pytest.mark.parametrize(("version", "name"), CASES)
def test_it_can_be_saved_again_and_shows_the_same(version, name, tmp_path):
    save(loaded(name / "model"), tmp_path / "again")
    with np.load(name / "expected.npz") as expected:
        compare(name.name, loaded(tmp_path / "again"), expected)


def test_it_loads_from_a_read_only_copy(tmp_path):
    shutil.copytree(HERE / "v1" / "rich" / "model", tmp_path / "copy")
    for path in sorted((tmp_path / "copy").rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert loaded(tmp_path / "copy") is not None
    for path in (tmp_path / "copy").rglob("*"):
        path.chmod(0o755)


def test_the_same_models_are_the_same_bytes_in_every_process(tmp_path):
    code = "import sys; from pathlib import Path; from tests.golden.generate import write; write(Path(sys.argv[1]))"
    for seed in ("1", "2"):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(ROOT),
            "GRAPHAD_THREADS": seed,
        }
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / seed)],
            env=environment, capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    first = {
        p.relative_to(tmp_path / "1"): p.read_bytes() for p in (tmp_path / "1").rglob("*") if p.is_file()
    }
    second = {
        p.relative_to(tmp_path / "2"): p.read_bytes() for p in (tmp_path / "2").rglob("*") if p.is_file()
    }
    assert sorted(first) == sorted(second)
    assert [path for path in first if path.suffix != ".npz" and first[path] != second[path]] == []
