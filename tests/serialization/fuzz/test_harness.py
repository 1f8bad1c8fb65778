"""The fuzzer's own faults are not counted as what they would hide: each is told apart, and fails the run."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from tests.serialization.fuzz import child, run
from tests.serialization.fuzz.programs import Program


@pytest.fixture(scope="module")
def base():
    def build():
        root = gd.Module()
        root.f = gd.function(gd.sin, input_signature=[gd.TensorSpec([3])])
        return root

    return child.Base(Program("sin", build, [np.ones(3, np.float32)]))


@pytest.fixture(autouse=True)
def unchanged(monkeypatch):
    monkeypatch.setattr(child, "mutant", lambda tree, seed: tree)
    monkeypatch.setattr(gd.config, "set_jit", lambda jit: None)


def outcome(base):
    return child.attempt(base, 0)[0]


def raising(error):
    def raises(*_):
        raise error

    return raises


def test_what_is_as_it_was_runs(base):
    assert outcome(base) == "ran"


@pytest.mark.parametrize("part", ["mutant", "arguments_for", "difference", "dirty"])
def test_a_fault_of_the_harness_is_no_raw_error(base, monkeypatch, part):
    monkeypatch.setattr(child, part, raising(KeyError("of the harness")))
    kind, what, _ = child.attempt(base, 0)
    assert kind == "harness" and "of the harness" in what


def test_a_raw_error_of_what_is_tried_is_one(base, monkeypatch):
    monkeypatch.setattr(child.Executable, "sizes_of", raising(KeyError("of a plan")))
    assert outcome(base) == "raw"


def test_a_fault_of_the_harness_fails_the_run():
    report = run.Report()
    report.outcomes = [run.Outcome(0, "sin", "ran", ""), run.Outcome(1, "sin", "harness", "KeyError")]
    assert [each.number for each in report.failures] == [1]


def test_a_process_that_cannot_start_ends_the_run_once(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "CHILD", "tests.there_is_no_such_module")
    report = run.run(100, jobs=1, cache=str(tmp_path))
    assert [each.kind for each in report.outcomes] == ["harness"]


def test_last_bits_on_the_way_explain_differences_that_those_of_the_inputs_do_not():
    def saturated(
        x,
    ):  # 1 - tanh(9) ** 2 is some units of the last place of 1; the input's last bits do not change tanh
        y = gd.tanh(x * 0.0 + 9.0)
        return (1.0 - y * y) * 1e6

    def build():
        root = gd.Module()
        root.f = gd.function(saturated, input_signature=[gd.TensorSpec([3])])
        return root

    arrays = [np.ones(3, np.float32)]
    trial = child.Trial((made := child.Base(Program("saturated", build, arrays))).tree, made, 0)
    numpy = child.Loaded(trial, 0, False, False)
    one = numpy.run(0x11)
    assert numpy.is_chaotic(one, [one[0] + np.float32(0.1)])
    assert not numpy.is_chaotic(one, [one[0][:2]]) and not numpy.is_chaotic(one, ValueError())
    exact = child.Loaded(child.Trial((kept := product()).tree, kept, 0), 0, False, False)
    assert not exact.is_chaotic(exact.run(0x11), [np.full(3, 2.5, np.float32)])


def product():
    def build():
        root = gd.Module()
        root.f = gd.function(lambda x: gd.round(x) * 2.0, input_signature=[gd.TensorSpec([3])])
        return root

    return child.Base(Program("product", build, [np.ones(3, np.float32)]))
