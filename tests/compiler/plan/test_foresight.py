"""The compile worker starts while a function is traced that waits for it, where the cache does not know the function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphad as tf
from graphad.compiler import service
from graphad.compiler.cache import KernelCache, use_cache


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    found: list[str] = []
    start = service.CompileService.start

    def noted(self: service.CompileService) -> bool:
        found.append("started")
        return start(self)

    monkeypatch.setattr(service.CompileService, "start", noted)
    use_cache(KernelCache(tmp_path))
    yield found
    use_cache(None)


def test_the_worker_starts_before_the_first_trace_of_a_function(started: list[str]) -> None:
    def f(x: Any) -> Any:
        started.append("traced")
        return x * 2.0 + 1.0

    compiled = tf.function(f, jit_compile=True)
    compiled(tf.ones([2]))
    assert started == ["started", "traced"]
    compiled(tf.ones([2, 3]))
    tf.function(f, jit_compile=True)(tf.ones([2]))
    assert started == ["started", "traced", "traced", "traced"]


def test_functions_that_wait_for_nothing_start_no_worker(started: list[str]) -> None:
    @tf.function
    def outer(x: Any) -> Any:
        return tf.function(lambda x: x + 1.0, jit_compile=True)(x)

    outer(tf.ones([2]))
    tf.function(lambda x: x * 3.0, jit_compile=False)(tf.ones([2]))
    assert started == []
