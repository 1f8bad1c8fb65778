"""Code that nobody has compiled yet is compiled by the worker, and those who have another way do not wait for it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import service
from graphad.compiler.cpu.compile import compile_for
from graphad.compiler.cpu.runtime import (
    blas,
    convolving,
    driver,
    mapping,
    movement,
    multiplying,
    native,
    pool,
)
from graphad.core import bind as door
from graphad.core.errors import NotCompiledError
from graphad.core.flags import ALWAYS, AUTO, NEVER, flags
from graphad.ops.linalg import direct

_LIMIT = 600.0  # seconds, against hanging only


class Memory:
    """A cache that begins empty."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.entries[key] = data


class Worker:
    """A worker that compiles when it is told to."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple[str, Callable[..., None]]] = {}
        self.lock = threading.Condition()

    def request(self, key: str, text: str, answer: Callable[..., None], target: str) -> bool:
        assert target == native.RUNTIME
        with self.lock:
            self.asked[key] = text, answer
            self.lock.notify_all()
        return True

    def drop(self) -> None:
        """Forget what is asked for, once it has come, and leave it unanswered."""
        with self.lock:
            assert self.lock.wait_for(lambda: self.asked.keys() >= native._asked.keys(), _LIMIT)
            self.asked.clear()

    def answer(self, error: str | None = None) -> int:
        """Answer all that is asked for, once it has come. Returns: how many texts."""
        keys = [key for key, asked in native._asked.items() if not asked.is_set()]
        with self.lock:
            assert self.lock.wait_for(lambda: all(key in self.asked for key in keys), _LIMIT)
        for key in keys:
            text, answer = self.asked[key]
            answer(key, None if error else compile_for(text, "runtime"), error)
        return len(keys)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker beside an empty cache, in a process that has loaded nothing."""
    made, memory = Worker(), Memory()
    monkeypatch.setattr(door, "VERIFY", False)
    monkeypatch.setattr(native, "default_cache", lambda: memory)
    monkeypatch.setattr(service, "request", made.request)
    for module, name in (
        (native, "_loaded"),
        (native, "_asked"),
        (native, "_awaited"),
        (blas, "_tiles"),
        (blas, "_addresses"),
        (convolving, "_functions"),
        (convolving, "_at_hand"),
        (driver, "_functions"),
        (pool, "_addresses"),
        (direct, "_tiles"),
    ):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setattr(multiplying, "_at_hand", [])
    return made


def _number(n: int) -> tuple[str, str]:
    return f"graphad_number{n}", f"define i64 @graphad_number{n}() {{ ret i64 {n} }}"


def _value(n: int) -> int:
    name, text = _number(n)
    return int(ctypes.CFUNCTYPE(ctypes.c_int64)(native.build(text, [name])[name])())


def test_what_is_missing_is_asked_for_at_once_and_then_there(worker: Worker, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(native, "compile_text", lambda *_: pytest.fail("compiled by the caller"))
        for _ in range(2):  # the second one asks for nothing
            with pytest.raises(NotCompiledError):
                native.soon("numbers", lambda: _value(3), lambda: _value(4))
        assert len(native._asked) == 2
    assert worker.answer() == 2
    with monkeypatch.context() as patch:
        patch.setattr(native, "compile_text", lambda *_: pytest.fail("compiled by the caller"))
        assert native.soon("numbers", lambda: _value(3), lambda: _value(4)) == [3, 4]


def test_the_worker_of_a_process_compiles_texts_of_the_runtime(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = service.CompileService()
    monkeypatch.setattr(service, "request", asked.request)
    try:
        with pytest.raises(NotCompiledError):
            native.soon("five", lambda: _value(5))
        assert all(each.wait(_LIMIT) for each in native._asked.values())
        monkeypatch.setattr(native, "compile_text", lambda *_: pytest.fail("compiled by the caller"))
        assert native.soon("five", lambda: _value(5)) == [5]
    finally:
        asked.close()


def test_what_the_worker_does_not_compile_is_compiled_by_the_caller(worker: Worker) -> None:
    with pytest.raises(NotCompiledError):
        native.soon("six", lambda: _value(6))
    worker.answer("no memory")
    assert native.soon("six", lambda: _value(6)) == [6]


def test_what_cannot_be_printed_is_not_waited_for_in_vain(worker: Worker) -> None:
    def broken() -> str:
        raise MemoryError("no text")

    asked = threading.Event()
    native._ask("broken", broken, asked)  # in a thread of its own, where nobody would see the error
    assert asked.is_set() and not worker.asked


@pytest.mark.parametrize("why", ["always", "never", "checks", "no worker"])
def test_code_is_waited_for_where_results_must_not_depend_on_time(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why in (ALWAYS, NEVER):
        with pytest.raises(NotCompiledError):  # what was asked for before is waited for too
            native.soon("seven", lambda: _value(7))
        worker.drop()
        monkeypatch.setattr(flags, "jit", why)
    elif why == "checks":
        monkeypatch.setattr(door, "VERIFY", True)
    else:
        monkeypatch.setenv("GRAPHAD_WORKER", "0")
    assert native.soon("seven", lambda: _value(7)) == [7] and not worker.asked


def test_the_worker_and_the_caller_make_the_same_object(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = movement.text(8)
    entries: list[dict[str, bytes]] = []
    for jit in (AUTO, ALWAYS):
        memory = Memory()
        monkeypatch.setattr(native, "default_cache", lambda memory=memory: memory)
        monkeypatch.setattr(native, "_loaded", {})
        monkeypatch.setattr(flags, "jit", jit)
        if jit == AUTO:
            with pytest.raises(NotCompiledError):
                native.soon("copy", lambda: native.build(text, ["graphad_copy"]))
            worker.answer()
        else:
            native.soon("copy", lambda: native.build(text, ["graphad_copy"]))
        entries.append(memory.entries)
    assert entries[0] and entries[0] == entries[1]


def test_nobody_waits_for_code_that_another_thread_compiles() -> None:
    table: dict[str, int] = {}
    begun, goes_on, found = threading.Event(), threading.Event(), []

    def slow() -> int:
        begun.set()
        assert goes_on.wait(_LIMIT)
        return 1

    other = threading.Thread(target=lambda: found.append(native.once(table, "slow", slow)))
    other.start()
    assert begun.wait(_LIMIT)
    assert native.once(table, "quick", lambda: 2) == 2 and native.once(table, "slow", lambda: 3) == 3
    goes_on.set()
    other.join(_LIMIT)
    assert found == [3]  # the first one stays


@pytest.mark.skipif(not direct.has_tiles(np.dtype("float32")), reason="no tiles for this machine")
def test_convolutions_are_numpys_until_their_code_is_compiled(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x, w = rng.normal(size=(2, 9, 9, 3)).astype("f"), rng.normal(size=(3, 3, 3, 4)).astype("f")
    with monkeypatch.context() as patch:
        patch.setattr(native, "compile_text", lambda *_: pytest.fail("compiled by the caller"))
        before = tf.nn.conv2d(x, w, 1, "SAME").numpy()
    assert not convolving._at_hand and worker.answer() > 0
    tf.nn.conv2d(x, w, 1, "SAME")  # asks for the function itself
    worker.answer()
    after = tf.nn.conv2d(x, w, 1, "SAME").numpy()
    assert convolving._at_hand
    np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not direct.has_tiles(np.dtype("float32")), reason="no tiles for this machine")
def test_products_and_maps_are_numpys_until_their_code_is_compiled(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    a = rng.normal(size=(80, 80)).astype("f")
    many = rng.normal(size=5000).astype("f")
    mapping._step.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(native, "compile_text", lambda *_: pytest.fail("compiled by the caller"))
        product, map_ = tf.matmul(a, a).numpy(), tf.math.erf(many).numpy()
        assert not direct._tiles
    assert worker.answer() > 0 and not multiplying._at_hand
    np.testing.assert_allclose(product, tf.matmul(a, a).numpy(), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(map_, tf.math.erf(many).numpy(), rtol=1e-6)
    assert direct._tiles[np.dtype("float32")] and multiplying._at_hand
