"""Settings of all tests: fixed seeds and examples, a kernel cache of their own, no screen, and CUDA tests only where there is a
device."""

from __future__ import annotations

import gc
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest

from tests.support.devices import why_no_cuda

SEED = 20260101


def pytest_configure(config: pytest.Config) -> None:
    """Before anything imports graphad. Processes of pytest-xdist inherit the controller's environment, and so share its cache."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("GRAPHAD_VERIFY", "1")
    if not hasattr(config, "workerinput"):
        config.stash[_KERNELS] = os.environ["GRAPHAD_CACHE_DIR"] = tempfile.mkdtemp(
            prefix="graphad-test-kernels-"
        )


def same_examples() -> None:
    """The examples that hypothesis draws are the same in each run, however slow, and whatever the process has imported."""
    hypothesis.settings.register_profile(
        "graphad",
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),  # two of which measure time
    )
    hypothesis.settings.load_profile("graphad")
    # It would read the sources of all modules of graphad that are there by then, for five seconds, and draw what they name.
    drawing: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    if hasattr(drawing, "_get_local_constants"):
        drawing._get_local_constants = lambda: drawing._local_constants


same_examples()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _KERNELS in config.stash:
        shutil.rmtree(config.stash[_KERNELS], ignore_errors=True)


_KERNELS = pytest.StashKey[str]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("cuda")]
    reason = why_no_cuda() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What the collection of tests has made, some million objects, stays to the end: no pass of the collector walks it again."""
    gc.collect()
    gc.freeze()


_MEANINGS = {
    "skipped": "need what is not here (a package, a device, an older release); `pytest -rs` says what",
    "xfailed": "are known not to hold yet, and are kept to see when they do; `pytest -rx` lists them",
    "xpassed": "were known not to hold, and do now: take their marks away; `pytest -rX` lists them",
}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What a person who runs the tests for the first time wants to know of those that neither passed nor failed."""
    stats = terminalreporter.stats
    lines = [
        f"{len(stats[kind])} {kind}: they {words}" for kind, words in _MEANINGS.items() if stats.get(kind)
    ]
    wrong = len(stats.get("failed", ())) + len(stats.get("error", ()))
    if lines and terminalreporter.verbosity >= -1:
        terminalreporter.section("what did not run or was not to hold")
        for line in lines:
            terminalreporter.write_line(line)
    if not wrong and stats.get("passed") and terminalreporter.verbosity >= -1:
        terminalreporter.write_line(
            f"All {len(stats['passed'])} tests that ran to the end passed: nothing is wrong."
        )


@pytest.fixture(autouse=True)
def fixed_seeds() -> Iterator[None]:
    """The same random numbers whatever ran before."""
    random.seed(SEED)
    np.random.seed(SEED)
    graphad = sys.modules.get("graphad")
    if graphad is not None and hasattr(graphad, "random"):
        graphad.random.set_seed(SEED)
    yield


@pytest.fixture(autouse=True)
def same_settings() -> Iterator[None]:
    """A test leaves the settings of dtypes and of compiling as they were: with others, tests after it would fail for no reason of
    theirs."""
    before = sys.modules.get("graphad.core.flags")
    jit = None if before is None else before.flags.jit
    yield
    module = sys.modules.get("graphad.core.flags")
    if module is not None:
        flags = module.flags
        left = (flags.numpy_promotion, flags.numpy_mode, flags.prefers_float32, flags.jit)
        usual = (False, "legacy", False, jit or left[3])
        flags.numpy_promotion, flags.numpy_mode, flags.prefers_float32, flags.jit = usual
        assert left == usual


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)
