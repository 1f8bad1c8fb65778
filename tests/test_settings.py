"""Settings of the process, and the device a block runs on."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from graphad.compiler.service import CompileService
from graphad.core.flags import flags, switch_of_environment
from graphad.devices import library
from graphad.tools import devices


def test_modes_of_compilation():
    before = tf.config.jit()
    try:
        for mode in ("auto", "always", "never"):
            tf.config.set_jit(mode)
            assert tf.config.jit() == mode
            assert tf.function(lambda x: x * 2.0)(tf.constant(3.0)).numpy() == 6.0
        with pytest.raises(ValueError, match="'sometimes' is not a mode; use 'auto', 'always' or 'never'"):
            tf.config.set_jit("sometimes")
        assert tf.config.jit() == "never"
    finally:
        tf.config.set_jit(before)


def test_modes_of_compilation_hold_from_the_next_call_on(monkeypatch):
    monkeypatch.setattr(flags, "jit", "never")
    f = tf.function(lambda x: x * 2.0 + 1.0)
    x = tf.constant([1.0, 2.0])
    for _ in range(10):
        f(x)
    (sizes,) = executable_of(f.get_concrete_function(x).graph)._sizes.values()
    assert sizes.size_class.compilation.state is None
    tf.config.set_jit("always")
    assert f(x).numpy().tolist() == [3.0, 5.0]
    assert sizes.native is not None


def test_determinism_has_compiled_code_from_the_first_call_on(monkeypatch):
    monkeypatch.setattr(flags, "jit", "auto")
    tf.config.experimental.enable_op_determinism()
    x = tf.constant(np.random.default_rng(0).normal(size=(40, 30)), tf.float32)
    w = tf.Variable(np.random.default_rng(1).normal(size=(30, 20)), dtype=tf.float32)

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.softmax(tf.tanh(x @ w)) ** 2)
        return tape.gradient(loss, w)

    results = {gradient(x).numpy().tobytes() for _ in range(20)}
    (sizes,) = executable_of(gradient.get_concrete_function(x).graph)._sizes.values()
    assert sizes.native is not None and len(results) == 1


def test_determinism_leaves_it_to_the_program_that_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(flags, "jit", "never")
    tf.config.experimental.enable_op_determinism()
    assert tf.config.jit() == "never"


def test_a_mode_that_does_not_exist_is_told_at_import():
    code = "import graphad; print(graphad.config.jit())"
    environment = {**os.environ, "GRAPHAD_JIT": "sometimes"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "auto"
    assert "GRAPHAD_JIT: 'sometimes' is not a mode; use 'auto', 'always' or 'never'" in ran.stderr


@pytest.mark.parametrize(
    ("text", "is_on", "usually_on"),
    [
        ("", False, True),
        ("0", False, False),
        ("1", True, True),
        ("FALSE", False, False),
        (" true ", True, True),
    ],
)
def test_switches_of_the_environment_are_spelled_in_one_way(text, is_on, usually_on, monkeypatch):
    monkeypatch.setenv("GRAPHAD_WORKER", text)
    assert switch_of_environment("GRAPHAD_WORKER") is is_on
    assert switch_of_environment("GRAPHAD_WORKER", True) is usually_on
    assert CompileService().is_forbidden is not usually_on


def test_a_switch_that_is_neither_on_nor_off_is_told(monkeypatch):
    monkeypatch.setenv("GRAPHAD_WORKER", "no")
    with pytest.warns(UserWarning, match="GRAPHAD_WORKER: 'no' is neither 0 nor 1; 1 is used"):
        assert switch_of_environment("GRAPHAD_WORKER", True)


@pytest.mark.parametrize(("text", "verifies"), [("", False), ("0", False), ("false", False), ("1", True)])
def test_verification_is_a_switch_of_the_environment(text, verifies):
    code = "from graphad.core import bind; print(bind.VERIFY)"
    environment = {**os.environ, "GRAPHAD_VERIFY": text}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(verifies)


@pytest.mark.parametrize("name", ["cpu", "CPU", "/CPU:0", "/device:CPU:0", "cpu:0"])
def test_the_cpu_is_always_there(name):
    with tf.device(name) as device:
        assert device == "cpu:0"
        assert (tf.constant(1.0) + 1.0).device.endswith("device:CPU:0")


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("tpu", ValueError, "'tpu' is not a device; use 'cpu' or 'cuda'"),
        ("cpu:1", RuntimeError, "there is no 'cpu:1'"),
        ("/GPU:0", RuntimeError, "cupy.*pip install graphad.cuda."),
        ("cuda:3", RuntimeError, "cupy.*pip install graphad.cuda."),
    ],
)
def test_other_devices_are_refused_with_a_reason(name, kind, text, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # as where CuPy is not installed
    with pytest.raises(kind, match=text), tf.device(name):
        pass


class _Runtime:
    """CuPy's, where there is a driver."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def getDeviceCount(self) -> int:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def _library(found: Any) -> Any:
    return SimpleNamespace(__name__="fake", cuda=SimpleNamespace(runtime=_Runtime(found)))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (0, r"the driver shows none; CUDA_VISIBLE_DEVICES may hide it"),
        (OSError("cudaErrorInsufficientDriver: too old"), r"cudaErrorInsufficientDriver: too old"),
        ("cupy", r"CUDA devices take the package cupy, which is not installed"),
        ("driver", r"there is no NVIDIA driver here \(no such library\)"),
    ],
)
def test_what_a_device_lacks_is_told_in_one_line(found, text, monkeypatch, caplog):
    monkeypatch.setattr(devices, "_told", set())
    before = library.set_library(None if isinstance(found, str) else _library(found))

    def missing(*_: Any) -> Any:
        raise OSError("no such library")

    if isinstance(found, str):
        monkeypatch.setattr(
            library.importlib.util, "find_spec", lambda name: None if found == "cupy" else name
        )
        monkeypatch.setattr(library.ctypes, "CDLL", missing)
    try:
        for _ in range(2):
            assert tf.config.list_physical_devices("GPU") == []
            assert [d.device_type for d in tf.config.list_physical_devices()] == ["CPU"]
        for enter in (lambda: tf.device("cuda").__enter__(), lambda: tf.config.set_default_device("cuda")):
            with pytest.raises(RuntimeError, match=text) as raised:
                enter()
            line = str(raised.value)
            assert "\n" not in line and ("pip install graphad[cuda]" in line or "NVIDIA GPU" in line)
            assert "device('cpu') is always there" in line
    finally:
        library.set_library(before)
    told = [r.getMessage() for r in caplog.records if "list_physical_devices" in r.getMessage()]
    assert len(told) == 1 and line.removeprefix("device: ") in told[0], "it is told once, in the same words"
    assert caplog.records[0].levelname == "WARNING"


def test_who_asks_for_the_cpu_hears_nothing_of_others(monkeypatch, caplog):
    monkeypatch.setattr(devices, "_told", set())
    assert len(tf.config.list_physical_devices("CPU")) == 1
    assert not caplog.records


def test_the_cpu_has_as_many_names_as_a_program_wants(monkeypatch):
    monkeypatch.setattr(flags, "logical_cpus", 1)  # put back at the end
    (cpu,) = tf.config.list_physical_devices("CPU")
    assert tf.config.get_logical_device_configuration(cpu) is None
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    assert [device.name for device in tf.config.list_logical_devices("CPU")] == [
        f"/device:CPU:{i}" for i in range(3)
    ]
    assert len(tf.config.get_logical_device_configuration(cpu)) == 3
    with tf.device("CPU:2"):
        assert float(tf.constant(1.0) + 1.0) == 2.0
    with pytest.raises(RuntimeError, match="there is no 'cpu:3'; the CPU is 3 devices"), tf.device("CPU:3"):
        pass
    for parts in ([], [tf.config.LogicalDeviceConfiguration(memory_limit=100)]):
        with pytest.raises(ValueError, match="the CPU's devices share its memory"):
            tf.config.set_logical_device_configuration(cpu, parts)


@pytest.mark.parametrize("name", [None, "", "/job:localhost/replica:0/task:0/device:CPU:0"])
def test_a_device_may_be_left_open_or_named_in_full(name):
    with tf.device(name) as device:
        assert device == "cpu:0"
