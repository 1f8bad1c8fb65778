"""Between `hush` and `unhush` NumPy reports nothing, and afterwards what it did before."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphad.compiler.plan import host
from graphad.core import ieee
from graphad.core.spec import TensorSpec
from graphad.ops import math as m
from graphad.trace.tracer import trace_flat

NAMES = ("divide", "over", "under", "invalid")


@pytest.fixture(params=["looked up", "asked for"])
def ends(request: pytest.FixtureRequest) -> Any:
    """`heard`, `hush`, `guard` and `unhush`."""
    if request.param == "looked up":
        assert ieee._variable() is not None  # NumPy's context variable was found
        return ieee.heard, ieee.hush, ieee.guard, ieee.unhush
    return ieee._ends(None)


@pytest.mark.parametrize("before", ["raise", "warn", "ignore"])
def test_nothing_is_reported_in_between(ends: Any, before: str) -> None:
    heard, hush, _, unhush = ends
    with np.errstate(all=before):  # type: ignore[call-overload]
        kept = np.geterr()
        settings = heard()
        try:
            hush()
            assert np.geterr() == dict.fromkeys(NAMES, "ignore")
            assert np.log(np.float32(0.0)) == -np.inf
        finally:
            unhush(settings)
        assert np.geterr() == kept


def test_it_may_stand_inside_of_itself_and_in_any_thread(ends: Any) -> None:
    heard, hush, _, unhush = ends
    found: list[Any] = []

    def work() -> None:
        outer = heard()
        hush()
        inner = heard()
        hush()
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


def test_an_overflow_is_told_apart_from_the_other_flags(ends: Any) -> None:
    heard, _, guard, unhush = ends
    kept = np.geterr()
    settings = heard()
    try:
        guard()
        assert np.geterr() == dict.fromkeys(NAMES, "ignore") | {"over": "raise"}
        np.log(np.zeros(3)), np.exp(np.full(3, -1e3))
        for dtype in ("float32", "float64"):
            with pytest.raises(FloatingPointError):
                np.exp(np.full(17, 1e3, dtype))
        assert ieee.unreported(np.exp, np.full(3, 1e3))[0] == np.inf
    finally:
        unhush(settings)
    assert np.geterr() == kept


@pytest.mark.parametrize("name", ["heard", "hush", "unhush"])
@pytest.mark.parametrize("place", [ieee, host])
def test_a_signal_behind_any_of_the_calls_leaves_the_settings_as_they_were(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    graph = trace_flat(lambda x: [m.sqrt(x)], [TensorSpec((), "float64")]).graph
    plan = host.HostPlan(graph, {})
    call = getattr(place, name)

    def interrupted(*values: Any) -> None:
        call(*values)
        raise KeyboardInterrupt  # as a handler of Python's does between two instructions

    run: Callable[[], Any]
    for run in (lambda: plan.run([np.float64(4.0)]), lambda: plan.run_part([np.float64(4.0)])):
        run = run if place is host else lambda: ieee.unreported(np.sqrt, np.float64(4.0))
        for _ in range(host.RUNS + 2):
            run()  # the part becomes a function of its own
        with np.errstate(all="raise"):
            kept = np.geterr()
            monkeypatch.setattr(place, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                run()
            monkeypatch.undo()
            assert np.geterr() == kept
