"""NumPy behind the names of CuPy that graphad uses: arrays that NumPy is not given unasked, and that take none of NumPy's.

Anything that CuPy lacks, or that graphad is not meant to use, is not there. What mixes up the two kinds of memory fails.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.devices import fake_driver, fake_streams
from tests.devices.fake_driver import address_of

DEVICES = 2
_current = 0


class ndarray:
    """An array on a device. As CuPy's, it refuses to become a NumPy array unasked, and NumPy arrays as operands."""

    __array_ufunc__ = None

    def __init__(self, memory: np.ndarray, device: int) -> None:
        assert type(memory) is np.ndarray, type(memory)
        self._memory = memory
        self._device = device

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    nbytes = property(lambda self: self._memory.nbytes)
    strides = property(lambda self: self._memory.strides)
    flags = property(lambda self: self._memory.flags)
    data = property(lambda self: SimpleNamespace(ptr=address_of(self._memory)))
    T = property(lambda self: ndarray(self._memory.T, self._device))
    real = property(
        lambda self: _wrap(self._memory.real), lambda self, y: setattr(self._memory, "real", _raw(y))
    )
    imag = property(
        lambda self: _wrap(self._memory.imag), lambda self, y: setattr(self._memory, "imag", _raw(y))
    )

    def __len__(self) -> int:
        return len(self._memory)

    def get(self) -> np.ndarray:
        return self._memory.copy()

    def __getitem__(self, key: Any) -> Any:
        return _wrap(self._memory[_raw(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._memory[_raw(key)] = _raw(value)

    def __dlpack__(self, stream: Any = None) -> Any:
        return self._memory.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device


def _raw(x: Any) -> Any:
    """What NumPy computes with behind a device's operand."""
    if isinstance(x, ndarray):
        if x._device != _current:
            raise ValueError(f"an array of device {x._device} was given to device {_current}")
        return x._memory
    if isinstance(x, np.ndarray) and x.ndim:
        raise TypeError(f"Unsupported type {type(x)}: memory of the host was given to the device")
    if type(x) in (list, tuple):
        return type(x)(_raw(item) for item in x)
    return x


def _wrap(y: Any) -> Any:
    if isinstance(y, np.ndarray | np.generic):
        return ndarray(np.asarray(y), _current)
    return type(y)(_wrap(item) for item in y) if type(y) in (list, tuple) else y


MORE = "take zeros ascontiguousarray".split()


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """Memory in which nothing is 0, so that what nobody wrote shows."""
    calls.append("empty")
    made = np.empty(shape, dtype)
    made.reshape(-1).view(np.uint8)[...] = 0xCB
    return ndarray(made, _current)


def _as_strided(x: ndarray, shape: Any, strides: Any) -> ndarray:
    assert x._memory.flags.c_contiguous
    return ndarray(np.lib.stride_tricks.as_strided(x._memory, shape, strides), x._device)


def _function(name: str, home: Any = np) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        with np.errstate(all="ignore"):
            return _wrap(getattr(home, name)(*map(_raw, args), **{key: _raw(x) for key, x in kwargs.items()}))

    return run


def _method(name: str) -> Any:
    def run(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        with np.errstate(all="ignore"):
            return _wrap(
                getattr(self._memory, name)(*map(_raw, args), **{key: _raw(x) for key, x in kwargs.items()})
            )

    return run


calls: list[str] = []  # what ran on the device


class Device:
    """A block in which a device is the current one."""

    compute_capability = "90"
    attributes = {"MultiProcessorCount": 2}

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        global _current
        self._before, _current = _current, self.index

    def __exit__(self, *_: Any) -> None:
        global _current
        _current = self._before
        fake_driver.set_device(_current)


def asarray(a: Any) -> Any:
    return a if isinstance(a, ndarray) else ndarray(np.array(a), _current)


def array(a: Any) -> Any:
    return ndarray(np.array(a._memory if isinstance(a, ndarray) else a), _current)


def asnumpy(a: Any) -> np.ndarray:
    return a.get()


def module() -> Any:
    """What stands in the place of `cupy`."""
    from graphad.devices.array import FLOATING_UFUNCS, FUNCTIONS, METHODS, TRANSFORMS, UFUNCS

    for name in METHODS:
        setattr(ndarray, name, _method(name))
    runtime = SimpleNamespace(getDeviceCount=lambda: DEVICES, **fake_driver.RUNTIME)
    return SimpleNamespace(
        ndarray=ndarray,
        asarray=asarray,
        array=array,
        empty=empty,
        asnumpy=asnumpy,
        cuda=SimpleNamespace(
            Device=Device,
            runtime=runtime,
            driver=fake_driver,
            cublas=fake_driver,
            device=fake_driver,
            get_current_stream=fake_streams.current,
            Stream=fake_streams.Stream,
        ),
        lib=SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided)),
        fft=SimpleNamespace(**{name: _function(name, np.fft) for name in TRANSFORMS}),
        **{name: _function(name) for name in (*UFUNCS, *FLOATING_UFUNCS, *FUNCTIONS, *MORE)},
    )
