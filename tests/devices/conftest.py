"""The fake device for all tests of this folder. With GRAPHAD_REAL_DEVICE=1 in the environment they run on the device of this
machine instead, but for those that look at what the fake one wrote down, or want two.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from graphad.compiler import cache, service
from graphad.compiler.cuda import backend, build, epilogues
from graphad.compiler.plan import tiers
from graphad.devices import faults
from graphad.devices.library import set_library
from tests.devices import fake_cublaslt, fake_cupy, fake_driver, fake_streams
from tests.support.devices import IS_REAL

_FAKES = frozenset(
    "fake_cublaslt fake_cupy fake_driver fake_streams late_streams set_library _memory".split()
)


def _wants_fakes(item: Any) -> bool:
    """Whether a test names the fakes, a second device, or a helper of its file that does."""
    if item.get_closest_marker("fake_device"):
        return True
    parameters = getattr(item, "callspec", None)
    if _FAKES & {*item.fixturenames} or "cuda:1" in str(parameters and parameters.params):
        return True
    home, seen, rest = vars(item.module), set(), [item.function.__code__]
    while rest:
        code = rest.pop()
        if _FAKES & {*code.co_names, *code.co_freevars} or "cuda:1" in str(code.co_consts):
            return True
        rest += [each for each in code.co_consts if hasattr(each, "co_names")]
        for name in {*code.co_names} - seen:
            seen.add(name)
            found = home.get(name)
            if getattr(found, "__module__", None) == item.module.__name__:
                rest += [
                    each.__code__ for each in (found, *vars(found).values()) if hasattr(each, "__code__")
                ]
    return False


def _until_nothing_is_prepared() -> None:
    """Wait for the thread that prepares plans behind a call which no longer needs them."""
    if tiers._thread is not None:
        done = threading.Event()
        tiers._background(done.set)  # one thread does all tasks, in their order
        assert done.wait(600)


@pytest.fixture(autouse=True)
def fake_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`cuda:0` and `cuda:1` are NumPy behind CuPy's names; what is compiled for them is the text of kernels, run by Python."""
    if IS_REAL:
        if _wants_fakes(request.node):
            pytest.skip("looks at what the fake device wrote down, or wants two devices")
        yield
        return
    before = set_library(fake_cupy.module(), fake_driver.function_at)
    tools, request, default = fake_driver.Toolchain(), service.request, service.default_service

    def asked(key: str, text: str, callback: Any, target: str = "cpu") -> bool:
        return (request if target == "cpu" else tools.request)(key, text, callback, target)

    class Service:
        def compile_now(self, key: str, text: str, target: str = "cpu") -> bytes:
            return (default() if target == "cpu" else tools).compile_now(key, text, target)

        def __getattr__(self, name: str) -> Any:
            return getattr(default(), name)

    monkeypatch.setattr(service, "request", asked)
    monkeypatch.setattr(service, "default_service", Service)
    monkeypatch.setattr(backend, "why_unavailable", lambda: None)
    kept = cache._default
    cache.use_cache(cache.KernelCache(None))  # a text must never be taken for a cubin
    logs = [
        fake_cupy.calls,
        fake_driver.launches,
        fake_driver.products,
        fake_driver.copies,
        fake_cublaslt.calls,
    ]
    for log in logs:
        log.clear()
    monkeypatch.setattr(faults, "_reported", [])
    yield
    _until_nothing_is_prepared()  # it would find the fakes gone
    build.forget()
    epilogues._algorithms.cache_clear()
    cache.use_cache(kept)
    set_library(before)


@pytest.fixture
def late_streams(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Streams do their work as late as they may; see `fake_streams`."""
    monkeypatch.setattr(fake_streams, "deferred", True)
    yield
    for stream in list(fake_streams._streams.values()):
        stream.synchronize()
    fake_streams.free.clear()
