"""The part of CuPy that graphad uses, as types: the type checker reports any other name.

Only type checkers read this. CuPy's arrays have the attributes and methods of NumPy's, so `Held` is derived from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np


class Memory(Protocol):
    """The memory of an array."""

    ptr: int


class Held(np.ndarray):
    """An array of the device's library."""

    data: Memory  # type: ignore[assignment]
    base: Held | None


Operand: TypeAlias = np.ndarray | np.generic
Function: TypeAlias = Callable[..., Held]


class Event(Protocol):
    """The work that was put on a stream up to some moment."""


class Stream(AbstractContextManager[Any], Protocol):
    """A stream of a device; as a block, the one that the library's functions work on."""

    ptr: int

    def record(self) -> Event: ...
    def wait_event(self, event: Event) -> None: ...
    def synchronize(self) -> None: ...


class Device(AbstractContextManager[Any], Protocol):
    """A device; as a block, the current one."""

    compute_capability: str
    attributes: Mapping[str, int]


class Runtime(Protocol):
    """`cupy.cuda.runtime`."""

    streamCaptureModeThreadLocal: int

    def getDevice(self) -> int: ...
    def setDevice(self, index: int) -> None: ...
    def getDeviceCount(self) -> int: ...
    def streamBeginCapture(self, stream: int, mode: int) -> None: ...
    def streamEndCapture(self, stream: int) -> int: ...
    def graphInstantiate(self, graph: int) -> int: ...
    def graphLaunch(self, graph: int, stream: int) -> None: ...
    def graphDestroy(self, graph: int) -> None: ...
    def graphExecDestroy(self, graph: int) -> None: ...


class Driver(Protocol):
    """`cupy.cuda.driver`."""

    def check_status(self, status: int) -> None: ...
    def moduleLoadData(self, image: bytes) -> object: ...
    def moduleGetFunction(self, module: object, name: str) -> int: ...
    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None: ...
    def occupancyMaxActiveBlocksPerMultiprocessor(self, function: int, threads: int, shared: int) -> int: ...


class Cublas(Protocol):
    """`cupy.cuda.cublas`."""

    CUBLAS_DEFAULT_MATH: int

    def check_status(self, status: int) -> None: ...
    def setMathMode(self, handle: int, mode: int) -> None: ...


class Cusolver(Protocol):
    """`cupy.cuda.cusolver`."""

    def check_status(self, status: int) -> None: ...
    def setStream(self, handle: int, stream: int) -> None: ...


class Handles(Protocol):
    """`cupy.cuda.device`."""

    def get_cublas_handle(self) -> int: ...
    def get_cusolver_handle(self) -> int: ...


class Cuda(Protocol):
    """`cupy.cuda`."""

    runtime: Runtime
    driver: Driver
    cublas: Cublas
    cusolver: Cusolver
    device: Handles

    def get_current_stream(self) -> Stream: ...
    def Device(self, index: int) -> Device: ...
    def Stream(self, *, non_blocking: bool) -> Stream: ...


class Linalg(Protocol):
    """`cupy.linalg`; functions that NumPy's callers name are looked up by their names."""

    slogdet: Callable[..., tuple[Held, Held]]
    solve: Function
    svd: Function  # of the singular values alone


class Strides(Protocol):
    """`cupy.lib.stride_tricks`."""

    def as_strided(self, x: Held, shape: Sequence[int], strides: Sequence[int]) -> Held: ...


class Lib(Protocol):
    """`cupy.lib`."""

    stride_tricks: Strides


class Precision(Protocol):
    """The part of `cupy._core._routines_linalg` that chooses how products of float32 are made."""

    COMPUTE_TYPE_DEFAULT: int
    COMPUTE_TYPE_TF32: int

    def set_compute_type(self, dtype: np.dtype, chosen: int) -> None: ...


class SpecialFunctions(Protocol):
    """`cupyx.scipy.special`, whose functions are looked up by their names."""


class Factors(Protocol):
    """`cupyx.scipy.linalg`."""

    lu_factor: Function


class Scipy(Protocol):
    """`cupyx.scipy`."""

    special: SpecialFunctions
    linalg: Factors


class Beside(Protocol):
    """`cupyx`."""

    scipy: Scipy

    def errstate(self, *, linalg: str) -> AbstractContextManager[Any]: ...


class Library(Protocol):
    """`cupy`."""

    __name__: str
    ndarray: type[Held]
    cuda: Cuda
    linalg: Linalg
    lib: Lib
    fft: object  # whose functions are looked up by their names
    cupyx: Beside  # of what stands in CuPy's place
    precision: Precision  # of the same

    def asarray(self, a: object) -> Held:
        """A copy of a NumPy array on the current device."""

    def asnumpy(self, a: object) -> np.ndarray:
        """A copy of a device array for NumPy, after its computation has finished."""

    # As in NumPy.
    absolute: Function
    add: Function
    array: Function
    ascontiguousarray: Function
    broadcast_to: Function
    copysign: Function
    divide: Function
    empty: Function
    equal: Function
    exp: Function
    floor: Function
    floor_divide: Function
    fmod: Function
    from_dlpack: Function
    full_like: Function
    greater: Function
    less: Function
    logical_and: Function
    logical_or: Function
    multiply: Function
    negative: Function
    not_equal: Function
    power: Function
    sqrt: Function
    subtract: Function
    take: Function
    take_along_axis: Function
    where: Function
    zeros: Function
