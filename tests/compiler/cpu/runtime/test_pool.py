"""The pool: every row exactly once, whoever runs it; many workers, many callers, forks, nesting, exit."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native, pool
from graphad.compiler.cpu.runtime.plan_block import Argument, PlanBuilder, Row


def run_region(table: np.ndarray) -> int:
    """Run an int64 array [rows, 2] of (function address, block address) on the process's pool, from Python."""
    rows = np.ascontiguousarray(table, np.int64)
    block = np.array([rows.ctypes.data, len(rows), pool.control()], np.int64)
    return driver.run_table(np.array([[pool.region_kernel(), block.ctypes.data]], np.int64))[0]


@functools.cache
def rows_kernel() -> int:
    """Adds 1 to each int64 of word 0 from word 1 to word 2; the status is word 3."""
    f = Function("i32 @t_rows(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    data = f.pointer(w, 0)
    with f.loop(f.word(w, 1), f.word(w, 2)) as i:
        f.set_word(data, i, f.emit(f"add i64 {f.word(data, i)}, 1"))
    f.ret(f.emit(f"trunc i64 {f.word(w, 3)} to i32"))
    return native.build(f.text(), ["t_rows"])["t_rows"]


def region(data: np.ndarray, rows: int, statuses=()) -> np.ndarray:
    """The table of `rows` chunks of an array; the blocks lie behind it in the same memory."""
    edges = np.linspace(0, len(data), rows + 1).astype(int)
    memory = np.zeros(6 * rows, np.int64)
    table, blocks = memory[: 2 * rows].reshape(rows, 2), memory[2 * rows :].reshape(rows, 4)
    blocks[:, 0], blocks[:, 1], blocks[:, 2] = data.ctypes.data, edges[:-1], edges[1:]
    for row, status in statuses:
        blocks[row, 3] = status
    table[:, 0] = rows_kernel()
    table[:, 1] = blocks.ctypes.data + 32 * np.arange(rows)
    return table


@pytest.fixture(scope="module")
def eight():
    made = pool.Pool(8)
    assert made.workers == 8
    yield made
    assert made.stop()


def test_every_row_runs_exactly_once_over_thousands_of_regions(eight):
    rng = np.random.default_rng(0)
    for rows in (1, 2, 3, 7, 16, 64):
        data = np.zeros(4096, np.int64)
        table = region(data, rows)
        for _ in range(500):
            assert eight.run(table) == 0
        assert (data == 500).all()
    for _ in range(500):  # tables of changing length, one after the other
        data = np.zeros(64, np.int64)
        table = region(data, int(rng.integers(1, 65)))
        assert eight.run(table) == 0 and (data == 1).all()


def test_the_status_is_that_of_the_lowest_failing_row(eight):
    data = np.zeros(64, np.int64)
    table = region(data, 16, statuses=[(11, 4), (5, -9), (14, 2)])
    for k in range(300):
        assert eight.run(table) == -9
        assert (data == k + 1).all()  # the other rows ran all the same
    serial = region(data, 16, statuses=[(11, 4), (5, -9)])
    block = np.array([serial.ctypes.data, 16, 0])
    assert driver.run_table(np.array([[pool.region_kernel(), block.ctypes.data]])) == (-9, 0)


def test_callers_at_the_same_time_do_not_mix(eight):
    errors = []

    def work(k):
        data = np.zeros(2048, np.int64)
        table = region(data, 3 + k)
        for _ in range(800):
            if eight.run(table) != 0:
                errors.append("status")
        if not (data == 800).all():
            errors.append("rows")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_a_region_inside_a_region_runs_where_it_is(eight):
    data = [np.zeros(64, np.int64) for _ in range(6)]
    inner = [region(x, 4) for x in data]
    blocks = np.array([[table.ctypes.data, 4, eight.control] for table in inner])
    outer = np.array([[pool.region_kernel(), blocks.ctypes.data + 24 * k] for k in range(6)])
    for _ in range(500):
        assert eight.run(outer) == 0
    assert all((x == 500).all() for x in data)


def test_a_region_is_a_plan_step():
    data = np.zeros(1000, np.int64)
    for function in (0, rows_kernel()):
        builder = PlanBuilder(1)
        rows = [Row(function, [0, lo, lo + 100, 0], [Argument(0, 0)]) for lo in range(0, 1000, 100)]
        number, _ = builder.add_region(pool.region_kernel(), rows, pool.control())
        image = builder.build(release_lock=True)
        assert number == 0 and image.is_ready == bool(function)
        assert (image.instance().run(data) == 0) == bool(function)
    assert (data == 1).all()


def test_thread_count_follows_the_environment(monkeypatch):
    monkeypatch.setenv("GRAPHAD_THREADS", "3")
    assert pool.thread_count() == 3
    monkeypatch.setenv("GRAPHAD_THREADS", "1")
    assert pool.thread_count() == 1 and pool.control() == 0
    monkeypatch.setenv("GRAPHAD_THREADS", "100000")
    assert pool.thread_count() == pool.MOST
    monkeypatch.setenv("GRAPHAD_THREADS", "many")
    with pytest.warns(UserWarning, match="GRAPHAD_THREADS: 'many' is not a number of threads"):
        assert pool.thread_count() >= 1


def test_without_semaphores_rows_run_serially(monkeypatch):
    monkeypatch.setattr(pool, "_semaphores", lambda block: False)
    made, data = pool.Pool(4), np.zeros(10, np.int64)
    assert made.workers == 0
    assert made.run(region(data, 5)) == 0 and (data == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_and_the_parent_goes_on(monkeypatch):
    monkeypatch.setenv("GRAPHAD_THREADS", "4")
    data = np.zeros(4096, np.int64)
    table = region(data, 16)
    assert run_region(table) == 0
    stop = threading.Event()

    def busy():  # regions are running while the process forks
        other = np.zeros(4096, np.int64)
        mine = region(other, 16)
        while not stop.is_set():
            run_region(mine)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(8):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    own = np.zeros(4096, np.int64)
                    mine = region(own, 16)
                    fine = all(run_region(mine) == 0 for _ in range(50)) and (own == 50).all()
                    code = 0 if fine and pool._pool.workers == 3 else 2
                finally:
                    os._exit(code)
            end = time.monotonic() + 300
            while (answer := os.waitpid(child, os.WNOHANG)) == (0, 0):
                assert time.monotonic() < end, "the child hangs"
                time.sleep(0.002)
            assert os.waitstatus_to_exitcode(answer[1]) == 0
            assert run_region(table) == 0
    finally:
        stop.set()
        thread.join()
    assert (data == 9).all()


def test_the_interpreter_exits_with_sleeping_threads_and_never_starts_them_at_import():
    code = textwrap.dedent("""
        import sys, threading
        from graphad.compiler.cpu.runtime import pool, blas, movement, entry
        assert threading.active_count() == 1 and "llvmlite" not in sys.modules and "numba" not in sys.modules
        import os; os.environ["GRAPHAD_THREADS"] = "5"
        assert pool.control() and threading.active_count() == 5 and "numba" not in sys.modules
        entry.load()
        print("done")
    """)
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "done\n", "")
