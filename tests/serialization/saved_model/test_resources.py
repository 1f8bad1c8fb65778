"""Loading and forgetting models keeps neither memory nor open files; mapped values cost nothing until they are read."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import graphad as gd
from graphad.eager.variable import Variable
from graphad.function.concrete import ConcreteFunction
from graphad.graph.ir import Graph
from graphad.ops.control.custom import ClosedRule
from serialization.convert.restored import Restored, RestoredFunction
from serialization.saved_model import load, save
from tests.serialization.rich import Rich, signatures
from tests.serialization.saved_model.generations import assert_same
from tests.support.memory import least_peak
from tests.support.work import calls_in


def test_a_hundred_models_leave_nothing_behind(tmp_path):
    rich = Rich()
    save(rich, tmp_path / "m", signatures(rich))

    def once():
        return load(tmp_path / "m").signatures["loop"]

    once()(x=[1.0, 2.0])

    def alive():
        gc.collect()
        kinds = (Graph, ConcreteFunction, RestoredFunction, Restored, Variable, ClosedRule, np.ndarray)
        return sum(isinstance(x, kinds) for x in gc.get_objects())

    for _ in range(3):
        once()
    before, files = alive(), _open_files()
    for _ in range(100):
        once()
    assert alive() <= before + 20
    assert _open_files() <= files + 2


def _open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def _pages_of_files():
    """The bytes of files that this process has looked at where they are mapped, 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssFile")), 0)


def test_loading_large_values_reads_and_copies_nothing(tmp_path):
    root = gd.Module()
    root.v = gd.Variable(np.ones(8 << 20, np.float32))
    save(root, tmp_path / "m")
    load(tmp_path / "m")  # imports what loading needs
    before = _pages_of_files()
    loaded = load(tmp_path / "m")
    assert _pages_of_files() - before < 8 << 20
    assert least_peak(lambda: load(tmp_path / "m"), 1 << 20) < 1 << 20
    assert float(gd.reduce_sum(loaded.v[:10])) == 10.0


def test_the_steps_of_loading_grow_with_the_number_of_ops_and_no_faster(tmp_path):
    def steps(count):
        def chain(x):
            for _ in range(count // 2):
                x = gd.sin(x) * 1.01
            return x

        root = gd.Module()
        root.f = gd.function(chain, input_signature=[gd.TensorSpec([3])])
        save(root, tmp_path / str(count))
        loaded = []
        found = calls_in(lambda: loaded.append(load(tmp_path / str(count))))
        assert len(loaded[0].f.concrete_functions[0].graph.nodes) >= count
        return found

    assert steps(10_000) < 6 * steps(2_000)  # 5 times as many; were it quadratic, 25


def test_threads_load_and_call_the_same_model(tmp_path):
    rich = Rich()
    save(rich, tmp_path / "m", signatures(rich))
    x = np.ones((2, 3), np.float32)
    want, failures = np.asarray(rich(x)), []

    def work():
        try:
            for _ in range(10):
                assert_same(load(tmp_path / "m")(x), want)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_model_is_loaded_in_one_process_while_another_replaces_it(tmp_path):
    def model(number):
        root = gd.Module()
        root.a = gd.Variable(np.full(20_000, number, np.float32))
        root.b = gd.Variable(np.full(20_000, -number, np.float32))
        return root

    save(model(0.0), tmp_path / "m")
    stop = threading.Event()

    def replace():
        number = 0.0
        while not stop.is_set():
            number += 1.0
            save(model(number), tmp_path / "m")

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(60):
            loaded = load(tmp_path / "m")
            a, b = np.asarray(loaded.a), np.asarray(loaded.b)
            assert np.all(a == a[0]) and np.all(b == -a[0])
    finally:
        stop.set()
        writer.join()
