"""Nothing stays behind for ever: what is made and dropped again and again leaves no objects, and tables have limits."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import graphad as tf
from graphad.core import op as core_op
from graphad.core.memo import Memo
from graphad.core.registry import all_ops
from tests.support import leaks

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def left() -> dict[str, tuple[float, float]]:
    """The objects and bytes that one cycle of each workload leaves behind, by its name."""
    command = [sys.executable, "-m", "tests.support.leaks", "12"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.splitlines()]
    return {name: (float(objects), float(size)) for name, objects, _, size, _ in rows}


@pytest.mark.parametrize("workload", [f.__name__ for f in leaks.WORKLOADS])
def test_nothing_stays_behind_after(left: dict[str, tuple[float, float]], workload: str) -> None:
    objects, size = left[workload]
    # an object in every cycle is a leak; hash tables grow now and then, and some code is freed late
    assert objects < 0.9
    assert size < 3000


def test_the_traces_of_a_function_go_with_it() -> None:
    def count() -> int:
        gc.collect()
        return sum(type(x).__name__ == "ConcreteFunction" for x in gc.get_objects())

    gc.collect()
    gc.freeze()  # what other tests have left is not counted
    try:
        f = tf.function(lambda x, k: x * float(k), jit_compile=False)
        for k in range(7):
            f(tf.constant([1.0]), k)
        assert count() == 7
        del f
        assert count() == 0
    finally:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def test_a_full_memo_forgets_the_oldest_and_keeps_the_rest() -> None:
    memo = Memo("numbers", 16)
    for k in range(40):
        assert memo.keep(k, str(k)) == str(k)
        assert len(memo) <= 16 and memo.get(k) == str(k)
    kept = sorted(memo)
    assert kept == list(range(kept[0], 40)) and len(kept) > 12
    assert memo.keep(39, "another") == "39"


def test_a_memo_is_filled_from_many_threads_at_once() -> None:
    memo, errors = Memo("numbers", 32), []

    def work(start: int) -> None:
        try:
            for k in range(start, start + 3000):
                assert memo.keep(k % 500, k % 500) == k % 500
                assert memo.get(k % 500) in (None, k % 500)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(17 * k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(memo) <= 32


def test_an_op_is_one_object_as_long_as_somebody_holds_it() -> None:
    from graphad.ops.array.indicators import OneHot

    held = OneHot(7, 1)
    for k in range(4 * core_op._HELD):
        OneHot(k, 1)
    assert OneHot(7, 1) is held
    assert len(OneHot._quickly) <= core_op._HELD


def test_threads_that_make_an_op_at_once_get_the_same_one() -> None:
    from graphad.ops.array.indicators import OneHot

    for size in range(100_000, 100_030):
        start, made = threading.Barrier(4), []

        def work(size: int = size, start: threading.Barrier = start, made: list[object] = made) -> None:
            start.wait()
            made.append(OneHot(size, 1))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4 and len(set(map(id, made))) == 1


def test_every_table_of_ops_has_a_limit() -> None:
    for op in all_ops().values():
        assert isinstance(op._quickly, Memo)
        assert op._quickly.limit == (0 if op.structured or op.transient else core_op._HELD), op.name
