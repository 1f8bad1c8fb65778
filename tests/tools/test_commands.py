"""`python -m graphad`: models, the cache, and the page for reports."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphad as tf
from graphad.__main__ import main
from graphad.compiler.cache import KernelCache, default_cache, use_cache
from graphad.tools import doctor

ROOT = Path(__file__).resolve().parents[2]


class Model(tf.Module):
    def __init__(self, value=1.0, sine=False):
        super().__init__()
        self.v = tf.Variable([1.0, value])
        self.half = tf.Variable(tf.cast([1.0, value], tf.bfloat16), name="half")
        self.sine = sine

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def f(self, x):
        return {"y": tf.sin(x) * self.v[0] if self.sine else x * self.v[0]}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    made = {"one": Model(), "same": Model(), "other": Model(1.5), "sine": Model(sine=True)}
    for name, model in made.items():
        tf.saved_model.save(model, directory / name, signatures=model.f)
    return directory


def printed(capsys, *arguments):
    status = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def own_cache(tmp_path):
    before = default_cache()
    use_cache(KernelCache(tmp_path / "cache"))
    yield default_cache()
    use_cache(before)


def test_models_are_shown_verified_and_run(models, capsys):
    status, out, _ = printed(capsys, "show", models / "one")
    assert status == 0 and "object Model" in out
    assert printed(capsys, "verify", models / "one")[1].startswith("ok: ")
    assert printed(capsys, "run", models / "one", "--input", "x=[2.0]")[1] == '{"y": [2.0]}\n'
    status, out, err = printed(capsys, "show", models / "none")
    assert (status, out) == (1, "") and "MissingModelError" in err


def test_equal_models_do_not_differ(models, capsys):
    assert printed(capsys, "diff", models / "one", models / "same") == (0, "", "")


def test_values_that_differ_are_measured(models, capsys):
    status, out, _ = printed(capsys, "diff", models / "one", models / "other")
    assert status == 1
    lines = out.splitlines()
    assert len(lines) == 2 and all(line.endswith("1 of 2 differ, by at most 0.5") for line in lines)
    assert lines[0].startswith("values of ")


def test_graphs_that_differ_are_shown(models, capsys):
    status, out, _ = printed(capsys, "diff", models / "one", models / "sine")
    assert status == 1
    assert any(line.startswith("+") and "sin" in line for line in out.splitlines())
    assert "values of" not in out


def test_a_damaged_model_is_no_difference(models, tmp_path, capsys):
    shutil.copytree(models / "one", tmp_path / "bad")
    manifest = tmp_path / "bad" / "saved_model.msgpack"
    manifest.write_bytes(manifest.read_bytes()[:-3])
    status, out, err = printed(capsys, "diff", models / "one", tmp_path / "bad")
    assert (status, out) == (1, "") and "Error" in err


def test_the_cache_is_described_and_cleared(own_cache, capsys):
    own_cache.put("a" * 40, b"x" * 1000)
    status, out, _ = printed(capsys, "cache")
    assert status == 0 and "1 files, 1.0 KiB of at most 256.0 MiB" in out and str(own_cache.path) in out
    assert printed(capsys, "cache", "--clear")[1].startswith("removed 1 files, 1.0 KiB")
    assert own_cache.entries() == []


def test_the_doctor_says_what_a_report_needs(capsys, monkeypatch):
    monkeypatch.setenv("GRAPHAD_THREADS", "3")
    status, out, err = printed(capsys, "doctor", "--quick")
    assert (status, err) == (0, "")
    for part in (
        f"graphad {tf.__version__}",
        f"Python {sys.version.split()[0]}",
        f"numpy {np.__version__}",
        "compiled for",
        "3 for compiled loops",
        "BLAS",
        "cache of compiled code",
        "GPU",
        "jit ",
        "GRAPHAD_THREADS=3",
        "eager add: ok",
        "gradient: ok",
    ):
        assert part in out, part
    assert "compiled function" not in out


def test_the_doctor_compiles_and_fails_when_something_does_not_work(monkeypatch):
    lines, well = doctor.report()
    assert well and any("compiled function: ok, native" in line for line in lines)

    def broken():
        raise RuntimeError("out of order")

    monkeypatch.setattr(doctor, "_adds", broken)
    lines, well = doctor.report(compiles=False)
    assert not well
    assert any("eager add: FAILED: RuntimeError: out of order" in line for line in lines)


def test_it_is_a_module_that_python_runs():
    done = subprocess.run(
        [sys.executable, "-m", "graphad", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    for command in ("show", "verify", "run", "diff", "cache", "doctor"):
        assert command in done.stdout
