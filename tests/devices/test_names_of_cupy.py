"""The names that graphad uses of CuPy are there in an installed one, and mean what the lists say; no device is needed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from graphad.devices import array
from tests.devices import fake_cupy, fake_driver


@pytest.fixture(scope="module")
def cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        pytest.skip(f"CuPy is not installed: {error}")


def test_ufuncs_take_as_many_operands(cupy: Any) -> None:
    for name in sorted(array.UFUNCS | array.FLOATING_UFUNCS):
        mine, theirs = getattr(np, name), getattr(cupy, name)
        if isinstance(theirs, cupy.ufunc):
            assert (theirs.nin, theirs.nout) == (mine.nin, mine.nout), name
        else:
            assert callable(theirs), name


def test_functions_and_methods_are_there(cupy: Any) -> None:
    missing = [name for name in sorted(array.FUNCTIONS) if not callable(getattr(cupy, name, None))]
    missing += [name for name in array.REDUCTIONS.values() if not callable(getattr(cupy, name, None))]
    missing += [name for name in array.RUNNING.values() if not callable(getattr(cupy, name, None))]
    missing += [f"fft.{name}" for name in sorted(array.TRANSFORMS) if not hasattr(cupy.fft, name)]
    missing += [f"ndarray.{name}" for name in sorted(array.METHODS) if not hasattr(cupy.ndarray, name)]
    missing += [name for name in fake_cupy.MORE if not hasattr(cupy, name)]
    assert not missing


def test_what_the_fake_device_has_the_real_one_has(cupy: Any) -> None:
    fake, wrong = fake_cupy.module(), []

    def compare(mine: Any, theirs: Any, place: str) -> None:
        for name in vars(mine):
            if not hasattr(theirs, name):
                wrong.append(f"{place}.{name}")

    compare(fake, cupy, "cupy")
    compare(fake.cuda, cupy.cuda, "cupy.cuda")
    compare(fake.cuda.runtime, cupy.cuda.runtime, "cupy.cuda.runtime")
    for home, names in {
        cupy.cuda.driver: (
            "moduleLoadData",
            "moduleGetFunction",
            "launchKernel",
            "occupancyMaxActiveBlocksPerMultiprocessor",
        ),
        cupy.cuda.cublas: ("setStream", "sgemmStridedBatched", "dgemmStridedBatched"),
        cupy.cuda.device: ("get_cublas_handle",),
    }.items():
        wrong += [f"{home.__name__}.{name}" for name in names if not hasattr(home, name)]
        assert all(hasattr(fake_driver, name) for name in names)
    assert not wrong


def test_calls_take_the_operands_that_plans_give(cupy: Any) -> None:
    """As far as compiled modules say it: the number of parameters in the first line of their documentation."""
    for call, count in (
        (cupy.cuda.driver.launchKernel, 11),
        (cupy.cuda.cublas.sgemmStridedBatched, 18),
        (cupy.cuda.cublas.dgemmStridedBatched, 18),
        (cupy.cuda.runtime.memcpyAsync, 5),
        (cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor, 3),
    ):
        assert len(str(call.__doc__).splitlines()[0].split(",")) == count, call.__doc__
