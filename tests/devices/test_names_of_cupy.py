"""The names that graphad uses of CuPy are there in an installed one, and mean what the lists say; no device is needed."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphad.compiler.cuda import epilogues
from graphad.devices import functions, substitutes
from tests.devices import fake_cupy, fake_driver, real_calls
from tests.support import cuda_headers


@pytest.fixture(scope="module")
def cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        pytest.skip(f"CuPy is not installed: {error}")


def test_ufuncs_take_as_many_operands(cupy: Any) -> None:
    for name in sorted(
        functions.UFUNCS | functions.FLOATING_UFUNCS | {*substitutes.INTEGER, *substitutes.FLOATING}
    ):
        mine, theirs = getattr(np, name), getattr(cupy, name)
        if isinstance(theirs, cupy.ufunc):
            assert (theirs.nin, theirs.nout) == (mine.nin, mine.nout), name
        else:
            assert callable(theirs), name


def test_functions_and_methods_are_there(cupy: Any) -> None:
    missing = [name for name in sorted(functions.FUNCTIONS) if not callable(getattr(cupy, name, None))]
    missing += [name for name in functions.REDUCTIONS.values() if not callable(getattr(cupy, name, None))]
    missing += [name for name in functions.RUNNING.values() if not callable(getattr(cupy, name, None))]
    missing += [f"fft.{name}" for name in sorted(functions.TRANSFORMS) if not hasattr(cupy.fft, name)]
    missing += [f"ndarray.{name}" for name in sorted(functions.METHODS) if not hasattr(cupy.ndarray, name)]
    missing += [name for name in fake_cupy.MORE if not hasattr(cupy, name)]
    assert not missing


def test_the_sources_of_factorisations_and_of_special_functions_have_them(cupy: Any) -> None:
    """Their modules want a driver or libraries when they are imported: their texts say what they define."""
    home = Path(cupy.__file__).parent
    linalg = (home / "linalg" / "__init__.py").read_text(encoding="utf-8")
    special = (home.parent / "cupyx" / "scipy" / "special" / "__init__.py").read_text(encoding="utf-8")
    for text, names in (
        (linalg, functions.LINALG),
        (special, [*functions.SPECIAL.values(), *functions.DEVICE_SPECIAL]),
    ):
        missing = [name for name in names if not re.search(rf"import (?:\w+ as )?{name}\b", text)]
        assert not missing
    assert "def errstate" in (home.parent / "cupyx" / "_ufunc_config.py").read_text(encoding="utf-8")


def test_what_the_fake_device_has_the_real_one_has(cupy: Any) -> None:
    fake, wrong = fake_cupy.module(), []

    def compare(mine: Any, theirs: Any, place: str) -> None:
        for name in vars(mine):
            if not hasattr(theirs, name):
                wrong.append(f"{place}.{name}")

    del fake.cupyx  # a package beside it
    linalg = importlib.import_module("cupy._core._routines_linalg")
    compare(fake.precision, linalg, "cupy._core._routines_linalg")
    assert {name: getattr(linalg, name) for name in vars(fake.precision) if name.isupper()} == {
        name: value for name, value in vars(fake.precision).items() if name.isupper()
    }
    del fake.precision
    compare(fake, cupy, "cupy")
    compare(fake.cuda, cupy.cuda, "cupy.cuda")
    compare(fake.cuda.runtime, cupy.cuda.runtime, "cupy.cuda.runtime")
    for home, names in {
        cupy.cuda.driver: (
            "moduleLoadData",
            "moduleGetFunction",
            "occupancyMaxActiveBlocksPerMultiprocessor",
            "check_status",
            "funcSetAttribute",
        ),
        cupy.cuda.cusolver: ("setStream", "check_status"),
        cupy.cuda.device: ("get_cublas_handle", "get_cusolver_handle"),
    }.items():
        wrong += [f"{home.__name__}.{name}" for name in names if not hasattr(home, name)]
        assert all(hasattr(fake_driver, name) for name in names)
    assert not wrong


def test_calls_take_the_operands_that_plans_give(cupy: Any) -> None:
    """As far as compiled modules say it: the number of parameters in the first line of their documentation."""
    for call, count in (
        (cupy.cuda.runtime.setDevice, 1),
        (cupy.cuda.runtime.streamBeginCapture, 2),
        (cupy.cuda.runtime.streamEndCapture, 1),
        (cupy.cuda.runtime.graphInstantiate, 1),
        (cupy.cuda.runtime.graphLaunch, 2),
        (cupy.cuda.runtime.graphDestroy, 1),
        (cupy.cuda.runtime.graphExecDestroy, 1),
        (cupy.cuda.driver.moduleLoadData, 1),
        (cupy.cuda.driver.moduleGetFunction, 2),
        (cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor, 3),
    ):
        assert len(str(call.__doc__).splitlines()[0].split(",")) == count, call.__doc__


def test_what_is_called_by_address_is_exported(cupy: Any) -> None:
    """cuBLAS is installed without a device too, the driver is not."""
    from graphad.devices.library import address_of
    from graphad.devices.library import set_library as use

    before = use(None)
    try:
        try:
            cupy.cuda.cublas
        except ImportError as error:
            pytest.skip(f"cuBLAS is not installed: {error}")
        names = [name for name in fake_driver._NATIVE if name.startswith("cu") and not name[2].isupper()]
        assert len(names) == 27 and all(address_of(name) for name in names)
    finally:
        use(before, fake_driver.function_at)


DECLARED = {
    "cusolverDnSpotrf": "piipipip",
    "cusolverDnSgetrf": "piipippp",
    "cusolverDnSgetrs": "piiipippip",
    "cusolverDnDgetrf_bufferSize": "piipip",
    "cusolverDnDpotrf": "piipipip",
    "cusolverDnSpotrf_bufferSize": "piipip",
    **epilogues.DECLARED,
    "cublasLtMatmul": "ppppppppppppp" + "plp",
    "cuLaunchKernel": "piiiiiiippp",
    "cuMemcpyDtoHAsync": "pllp",
    "cuStreamSynchronize": "p",
    "cuMemsetD32Async": "lilp",
    "cuGraphLaunch": "pp",
    "cublasSetStream_v2": "pp",
    "cublasSetWorkspace_v2": "ppl",
    "cublasSgemmStridedBatched": "piiiiippilpilppili",
}


@pytest.mark.parametrize("name", DECLARED)
def test_the_headers_declare_what_the_walk_calls(name: str) -> None:
    """As far as the toolkit's headers are installed."""
    kinds = cuda_headers.parameters(name)
    if kinds is None:
        pytest.skip("the toolkit's headers are not installed")
    assert kinds == DECLARED[name]


@pytest.mark.parametrize(
    ("name", "options", "home"),
    [
        ("sum", {"where": True}, ""),
        ("exp", {"where": True}, ""),
        ("all", {"where": True}, "ndarray"),
        ("fft", {"length": 2}, "fft"),
        ("solve", {"assume_a": "pos"}, "linalg"),
    ],
)
def test_an_option_that_cupy_lacks_is_refused_by_the_fake_device(
    cupy: Any, name: str, options: dict[str, Any], home: str
) -> None:
    with pytest.raises(TypeError, match="CuPy's"):
        real_calls.check(name, (1,), options, home)
