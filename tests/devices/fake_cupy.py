"""NumPy behind the names of CuPy that graphad uses: arrays that NumPy is not given unasked, and that take none of NumPy's.

Anything that CuPy lacks, or that graphad is not meant to use, is not there. What mixes up the two kinds of memory fails. What
CuPy means otherwise than NumPy is so here too (`fake_meanings`).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from tests.devices import fake_driver, fake_meanings, fake_streams, real_calls
from tests.devices.fake_driver import address_of

DEVICES = 2


class _Local(threading.local):
    """The current device of a thread."""

    current = 0


_local = _Local()


class ndarray:
    """An array on a device. As CuPy's, it refuses to become a NumPy array unasked, and NumPy arrays as operands."""

    __array_ufunc__ = None

    def __init__(
        self, memory: np.ndarray, device: int, base: ndarray | None = None, block: Any = None
    ) -> None:
        if type(memory) is tuple:  # a shape and a dtype, as CuPy's own
            vars(self).update(vars(empty(memory, device)))
            return
        assert type(memory) is np.ndarray, type(memory)
        self._memory = memory
        self._device = device
        self.base = base if base is None or base.base is None else base.base
        self._block = block if base is None else base._block

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
    T = property(lambda self: ndarray(self._memory.T, self._device, self))
    real = property(lambda self: self._part("real"), lambda self, y: self._set_part("real", y))
    imag = property(lambda self: self._part("imag"), lambda self, y: self._set_part("imag", y))

    def _part(self, name: str) -> Any:
        return _done(lambda x: getattr(x, name), [self], {})

    def _set_part(self, name: str, y: Any) -> None:
        memory, value = self._memory, _raw(y)
        fake_streams.current().put(lambda: setattr(memory, name, value))

    def __len__(self) -> int:
        return len(self._memory)

    def get(self) -> np.ndarray:
        fake_streams.current().synchronize()
        return self._memory.copy()

    def __getitem__(self, key: Any) -> Any:
        return _done(fake_meanings.get, [self, key], {})

    def __setitem__(self, key: Any, value: Any) -> None:
        memory, place, given = self._memory, _raw(key), _raw(value)
        fake_streams.current().put(lambda: fake_meanings.put(memory, place, given))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        assert self._device == _local.current
        fake_streams.current().synchronize()
        return self._memory.__dlpack__(max_version=max_version, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device


def _raw(x: Any) -> Any:
    """What NumPy computes with behind a device's operand."""
    if isinstance(x, ndarray):
        if x._device != _local.current:
            raise ValueError(f"an array of device {x._device} was given to device {_local.current}")
        return x._memory
    if isinstance(x, np.ndarray) and x.ndim:
        raise TypeError(f"Unsupported type {type(x)}: memory of the host was given to the device")
    if type(x) in (list, tuple):
        return type(x)(_raw(item) for item in x)
    return x


def _done(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function gives, when its stream comes to it."""
    given, named = [_raw(x) for x in args], {key: _raw(x) for key, x in kwargs.items()}
    with np.errstate(all="ignore"):
        y = function(*given, **named)  # deferred: for its shape, or for the view that it is

    def again() -> Any:
        with np.errstate(all="ignore"):
            return function(*given, **named)

    return _settled(y, again, list(_flat(args)))


def _settled(y: Any, again: Any, among: Any) -> Any:
    """A result, a view of one `among` the operands or what is computed `again` by then."""
    if isinstance(y, list | tuple):
        return [_settled(item, lambda k=k: again()[k], among) for k, item in enumerate(y)]
    if not isinstance(y, np.ndarray | np.generic):
        return y
    for x in among:
        if isinstance(y, np.ndarray) and np.may_share_memory(y, x._memory):
            return ndarray(y, _local.current, x)
    if not fake_streams.deferred:
        return ndarray(np.asarray(y), _local.current)
    block = fake_streams.Block(y.nbytes)
    target = block.array(y.shape, y.dtype)
    fake_streams.current().put(lambda: target.__setitem__(..., again()))
    return ndarray(target, _local.current, None, block)


def _flat(things: Any) -> Any:
    for x in things:
        if isinstance(x, ndarray):
            yield x
        elif type(x) in (list, tuple):
            yield from _flat(x)


MORE = "take take_along_axis zeros ones arange full ascontiguousarray".split()


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """Memory in which nothing is 0, so that what nobody wrote shows."""
    calls.append("empty")
    if fake_streams.deferred:
        block = fake_streams.Block(int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize)
        return ndarray(block.array(shape, dtype), _local.current, None, block)
    made = np.empty(shape, dtype)
    made.reshape(-1).view(np.uint8)[...] = 0xCB
    return ndarray(made, _local.current)


def _as_strided(x: ndarray, shape: Any, strides: Any) -> ndarray:
    assert x._memory.flags.c_contiguous
    made = ndarray(np.lib.stride_tricks.as_strided(x._memory, shape, strides), x._device)
    made._block = x._block  # CuPy's has no base
    return made


def _refuse_lists(operands: Any) -> None:
    """CuPy takes no list of numbers for an array."""
    for x in operands:
        if type(x) in (list, tuple):
            raise TypeError(f"Unsupported type {type(x)}")


_PLACES = {np: "", np.linalg: "linalg", np.fft: "fft"}  # in CuPy, of what NumPy has there


def _function(name: str, home: Any = np) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        if home in _PLACES and name != "svdvals":
            real_calls.check(name, args, kwargs, _PLACES[home])
        if name in ("concatenate", "stack"):
            _refuse_lists(args[0])
        elif isinstance(getattr(home, name), np.ufunc):
            _refuse_lists(args)
        return _done(meaning, args, kwargs)

    meanings = {np: fake_meanings.FUNCTIONS, scipy.special._ufuncs: fake_meanings.SPECIAL}.get(home, {})
    meaning = meanings.get(name) or getattr(home, name)
    return run


def _special(name: str) -> Any:
    """A function of SciPy's; CuPy has float32 and float64 of it."""
    function = _function(name, scipy.special)

    def run(x: Any) -> Any:
        assert x.dtype in (np.float32, np.float64), x.dtype
        return function(x)

    return run


_raises = [False]


@contextmanager
def _errstate(linalg: str) -> Iterator[None]:
    assert linalg == "raise"
    _raises.append(True)
    try:
        yield
    finally:
        _raises.pop()


def _linalg(name: str) -> Any:
    function = _function(name, np.linalg)

    def run(*args: Any, **kwargs: Any) -> Any:
        assert _raises[-1], "CuPy gives numbers for matrices without an answer, unless it is told to look"
        if name == "solve" and args[0].shape[:-1] != args[1].shape[:-1]:
            raise ValueError(
                "a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b"
            )
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError:
            raise fake_meanings.refused(name, 1) from None

    return run


def _lu_factor(a: ndarray, check_finite: bool = True) -> Any:
    """As CuPy's, which takes one matrix and warns of a singular one."""
    assert a.ndim == 2 and a.dtype.char in "fdFD" and not check_finite
    calls.append("lu_factor")

    def run(x: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            factors, pivots = scipy.linalg.lu_factor(x, check_finite=False)
        if not np.diagonal(factors).all():
            warnings.warn("Diagonal number is exactly zero. Singular matrix.", RuntimeWarning, stacklevel=2)
        return factors, pivots

    return tuple(_done(run, [a], {}))


def _method(name: str) -> Any:
    def run(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        real_calls.check(name, (self, *args), kwargs, "ndarray")
        other = fake_meanings.FUNCTIONS.get(name)
        plain = other or (lambda x, *more, **named: getattr(x, name)(*more, **named))
        return _done(plain, [self, *args], kwargs)

    return run


calls: list[str] = []  # what ran on the device
precision: dict[str, int] = {}  # of CuPy's own products


class Device:
    """A block in which a device is the current one."""

    compute_capability = "90"
    attributes = {"MultiProcessorCount": 2, "MaxSharedMemoryPerBlockOptin": fake_driver.OPT_IN}

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        self._before, _local.current = _local.current, self.index

    def __exit__(self, *_: Any) -> None:
        _local.current = self._before
        fake_driver.set_device(_local.current)


def asarray(a: Any) -> Any:
    if isinstance(a, ndarray):
        return a
    given = np.array(a)  # what is copied is read at once
    if not fake_streams.deferred:
        return ndarray(given, _local.current)
    made = empty(given.shape, given.dtype)
    memory = made._memory
    fake_streams.current().put(lambda: memory.__setitem__(..., given))
    return made


class _Exporter:
    """What NumPy takes instead of an exporter of the device's memory."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__(max_version=options.get("max_version"), copy=options.get("copy"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(x: Any) -> ndarray:
    assert x.__dlpack_device__() == (2, _local.current)
    calls.append("from_dlpack")
    return ndarray(np.from_dlpack(_Exporter(x)), _local.current)


def array(a: Any) -> Any:
    return _done(np.array, [a], {})


def asnumpy(a: Any) -> np.ndarray:
    return a.get()


def module() -> Any:
    """What stands in the place of `cupy`."""
    from graphad.devices.functions import (
        DEVICE_SPECIAL,
        FLOATING_UFUNCS,
        FUNCTIONS,
        LINALG,
        METHODS,
        SPECIAL,
        TRANSFORMS,
        UFUNCS,
    )
    from graphad.devices.substitutes import FLOATING, INTEGER

    for name in METHODS:
        setattr(ndarray, name, _method(name))
    runtime = SimpleNamespace(
        getDeviceCount=lambda: DEVICES, getDevice=lambda: _local.current, **fake_driver.RUNTIME
    )
    return SimpleNamespace(
        __name__="fake",
        precision=SimpleNamespace(
            COMPUTE_TYPE_DEFAULT=1,
            COMPUTE_TYPE_TF32=7,
            set_compute_type=lambda dtype, chosen: precision.update({dtype.name: chosen}),
        ),
        cupyx=SimpleNamespace(
            errstate=_errstate,
            scipy=SimpleNamespace(
                linalg=SimpleNamespace(lu_factor=_lu_factor),
                special=SimpleNamespace(
                    **{
                        **{
                            theirs: _function(name, scipy.special._ufuncs) for name, theirs in SPECIAL.items()
                        },
                        **{name: _special(name) for name in DEVICE_SPECIAL},
                    }
                ),
            ),
        ),
        linalg=SimpleNamespace(**{name: _linalg(name) for name in LINALG}),
        ndarray=ndarray,
        asarray=asarray,
        array=array,
        empty=empty,
        asnumpy=asnumpy,
        from_dlpack=from_dlpack,
        cuda=SimpleNamespace(
            Device=Device,
            runtime=runtime,
            driver=fake_driver,
            cublas=fake_driver,
            cusolver=fake_driver,
            device=fake_driver,
            get_current_stream=fake_streams.current,
            Stream=fake_streams.Stream,
        ),
        lib=SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided)),
        fft=SimpleNamespace(**{name: _function(name, np.fft) for name in TRANSFORMS}),
        **{
            name: _function(name)
            for name in (*UFUNCS, *FLOATING_UFUNCS, *FUNCTIONS, *INTEGER, *FLOATING, *MORE)
        },
    )
