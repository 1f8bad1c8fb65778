"""Between `hush` and `unhush` NumPy reports nothing, and afterwards what it did before."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphad.core import ieee

NAMES = ("divide", "over", "under", "invalid")


@pytest.fixture(params=["looked up", "errstate"])
def ends(request: pytest.FixtureRequest) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    if request.param == "looked up":
        assert not isinstance(ieee.unhush, type(ieee._leave))  # NumPy's context variable was found
        return ieee.hush, ieee.unhush
    return functools.partial(ieee._enter, {"all": "ignore"}), ieee._leave


@pytest.mark.parametrize("before", ["raise", "warn", "ignore"])
def test_nothing_is_reported_in_between(ends: Any, before: str) -> None:
    hush, unhush = ends
    with np.errstate(all=before):  # type: ignore[call-overload]
        kept = np.geterr()
        token = hush()
        try:
            assert np.geterr() == dict.fromkeys(NAMES, "ignore")
            assert np.log(np.float32(0.0)) == -np.inf
        finally:
            unhush(token)
        assert np.geterr() == kept


def test_it_may_stand_inside_of_itself_and_in_any_thread(ends: Any) -> None:
    hush, unhush = ends
    found: list[Any] = []

    def work() -> None:
        outer = hush()
        inner = hush()
        unhush(inner)
        found.append(np.geterr())
        unhush(outer)
        found.append(np.geterr())

    kept = np.geterr()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    contextvars.copy_context().run(work)
    assert all(state == dict.fromkeys(NAMES, "ignore") for state in found if state["divide"] == "ignore")
    assert [state["divide"] for state in found].count("ignore") == 5
    assert np.geterr() == kept


def test_a_function_that_raises_leaves_the_settings_as_they_were() -> None:
    with np.errstate(all="raise"):
        with pytest.raises(KeyError):
            ieee.unreported(lambda: {}["x"])
        assert np.geterr()["divide"] == "raise"
        assert ieee.unreported(np.log, np.float32(0.0)) == -np.inf


def test_an_overflow_is_told_apart_from_the_other_flags() -> None:
    kept = np.geterr()
    token = ieee.guard()
    try:
        assert np.geterr() == dict.fromkeys(NAMES, "ignore") | {"over": "raise"}
        np.log(np.zeros(3)), np.exp(np.full(3, -1e3))
        for dtype in ("float32", "float64"):
            with pytest.raises(FloatingPointError):
                np.exp(np.full(17, 1e3, dtype))
        assert ieee.unreported(np.exp, np.full(3, 1e3))[0] == np.inf
    finally:
        ieee.unhush(token)
    assert np.geterr() == kept
