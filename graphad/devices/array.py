"""`DeviceArray`: an array on a device that NumPy's functions accept, so that evals written with NumPy run there.

A function or ufunc that the device's library has with the same meaning runs on the device. Any other runs on the CPU on copies
of its operands, and its results are copied back; `runs_on_host` counts it, and the first time is logged. So every op works on
every device, and a missing function costs only time.
"""

from __future__ import annotations

import functools
import itertools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dtypes import bfloat16
from graphad.core.owners import is_alone
from graphad.devices import places
from graphad.devices.faults import reported
from graphad.devices.functions import (
    ASSOCIATIVE,
    COMBINING,
    FLOATING_UFUNCS,
    FUNCTIONS,
    IN_PLACE,
    IN_PLACE_METHODS,
    LINALG,
    METHODS,
    OPTIONS,
    REDUCTIONS,
    RUNNING,
    SPECIAL,
    TRANSFORMS,
    UFUNCS,
)
from graphad.devices.library import cupyx, library
from graphad.devices.notes import noted
from graphad.devices.operators import Operators
from graphad.devices.streams import current, on, using
from graphad.devices.substitutes import SCALED, VALUES, checked, dtype_of, replaced, solve

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.interface import Held, Stream
    from graphad.devices.tensor import DeviceTensor

    Kind = tuple[int, int, tuple[int, ...], bool]


_METADATA: dict[str, Callable[[Any], Any]] = {
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size,
}
_BYTE = np.zeros((), np.int8)
_FIRST = np.zeros((), np.int64)
_CONTIGUOUS = np.empty(0).flags


def kind_of(index: int, dtype: np.dtype[Any], shape: tuple[int, ...], is_contiguous: bool = True) -> Kind:
    """The device, dtype and shape of an array as numbers, which are compared quickly, and whether it is in C order."""
    return index, dtype.num, shape, is_contiguous


def device_array(data: object, index: int) -> DeviceArray:
    """A NumPy value as an array of a device. Raises: TypeError: the device knows no such dtype."""
    array = np.asarray(data, order="C")  # as kernels read it; the device's library keeps another order
    with on(index):
        try:
            held = library().asarray(array) if _is_known(array.dtype) else None
        except ValueError:  # CuPy's, where it is older than the dtype
            held = None
        if held is None:
            raise TypeError(f"there are no arrays of dtype {array.dtype} on 'cuda:{index}'")
        return DeviceArray(held, index)


def _is_known(dtype: np.dtype[Any]) -> bool:
    """Whether the device's library has arrays of a dtype; bfloat16 is one of NumPy's without a kind of its own."""
    return dtype.kind in "biufc" or dtype == bfloat16.numpy


class DeviceArray(Operators):
    """An array on a device, with the part of NumPy's array interface that rules use. It is read-only once an op has returned
    it.

    Attributes:
      held: The array of the device's library.
      index: The number of the device.
      stream: The stream on which its memory was asked for.
      place, kind: Its address, and what `kind_of` says of it, once they were asked for.
    """

    __slots__ = ("held", "index", "kind", "place", "stream")
    __array_priority__ = 1000

    def __init__(self, held: np.ndarray, index: int, stream: Stream | None = None) -> None:
        self.held: Held = held  # type: ignore[assignment]  # views and copies of `Held` are NumPy's to type checkers
        self.index = index
        self.stream = current() if stream is None else stream
        self.place = 0
        self.kind: Kind | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def ndim(self) -> int:
        return self.held.ndim

    @property
    def size(self) -> int:
        return self.held.size

    @property
    def nbytes(self) -> int:
        return self.held.nbytes

    @property
    def itemsize(self) -> int:
        return self.held.dtype.itemsize

    @property
    def flags(self) -> object:
        return _CONTIGUOUS

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of the copies that NumPy receives."""
        if not self.shape:
            return ()
        return tuple(itertools.accumulate((self.itemsize, *self.shape[:0:-1]), operator.mul))[::-1]

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.held)

    @property
    def T(self) -> DeviceArray:
        return self._like(self.held.T)

    @property
    def real(self) -> DeviceArray:
        return self._like(self.held.real)

    @real.setter
    def real(self, value: Any) -> None:
        with using(self.index, _arrays((self, value))):
            self.held.real = _given(value, self.index)

    @property
    def imag(self) -> DeviceArray:
        return self._like(self.held.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        with using(self.index, _arrays((self, value))):
            self.held.imag = _given(value, self.index)

    def located(self) -> int:
        """Its address, which calls of plans read from `place` afterwards."""
        self.place = place = self.held.data.ptr
        return place

    def described(self) -> Kind:
        """What plans compare, which they read from `kind` afterwards."""
        held = self.held
        self.kind = kind = kind_of(self.index, held.dtype, held.shape, held.flags.c_contiguous)
        return kind

    def _like(self, held: np.ndarray) -> DeviceArray:
        return DeviceArray(held, self.index, self.stream)

    def tensor(self) -> DeviceTensor:
        """The array as a tensor."""
        from graphad.devices.tensor import DeviceTensor  # imported here: it depends on this class

        return DeviceTensor(self)

    def host(self) -> Any:
        """A copy as a NumPy array, a NumPy scalar for shape ()."""
        with using(self.index, (self,)), reported(f"cuda:{self.index}"):
            return library().asnumpy(self.held)[()]

    def for_host(self, function: str) -> Any:
        """A copy as a NumPy value for a function that runs on the CPU."""
        noted(function)
        return self.host()

    def item(self, *key: Any) -> Any:
        return self.host().item(*key)

    def tolist(self) -> Any:
        return self.host().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        noted("asarray")
        return np.asarray(self.host(), dtype)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.host())

    def __int__(self) -> int:
        return int(self.host())

    def __float__(self) -> float:
        return float(self.host())

    def __complex__(self) -> complex:
        return complex(self.host())

    def __index__(self) -> int:
        return operator.index(self.host())

    def __str__(self) -> str:
        return str(self.host())

    def __format__(self, spec: str) -> str:
        return format(self.host(), spec)

    def __repr__(self) -> str:
        return f"DeviceArray({self.host()!r}, 'cuda:{self.index}')"

    def __getitem__(self, key: Any) -> Any:
        if _is_plain(key) or _is_inside(key, self.shape):
            with using(self.index, _arrays((self, key))) as others:
                return _taken(self.held[_given(key, self.index)], self.index, (self,) if others else ())
        return _on_host("getitem", operator.getitem, (self, key), {}, self.index)

    def __setitem__(self, key: Any, value: Any) -> None:
        # The device does not report positions out of range, and writes repeated ones in any order.
        if not _is_plain(key) and places.put_at(self, key, value):
            return
        if _is_plain(key):
            with using(self.index, _arrays((self, value))):
                self.held[key] = _given(value, self.index)
            return
        _in_place("setitem", operator.setitem, (self, key, value), {})

    if TYPE_CHECKING:  # to which `__getattr__` would have any name
        all: Callable[..., DeviceArray]
        astype: Callable[..., DeviceArray]
        max: Callable[..., DeviceArray]
        min: Callable[..., DeviceArray]
        reshape: Callable[..., DeviceArray]
        view: Callable[..., DeviceArray]
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not hasattr(np.ndarray, name):
                raise AttributeError(f"'DeviceArray' object has no attribute {name!r}", name=name, obj=self)
            return functools.partial(_method, self, name)

    def made(self, how: str, *args: object) -> DeviceArray:
        """A new array on the same device: "zeros" or "empty"."""
        with on(self.index):
            return DeviceArray(getattr(library(), how)(*args), self.index)

    def given(self, x: Any) -> DeviceArray:
        """An operand on the same device."""
        return x if isinstance(x, DeviceArray) else device_array(x, self.index)

    def special(self, name: str) -> DeviceArray:
        """One of SciPy's functions by CuPy, which asks the device's own library; float16 goes through float32."""
        wide = self if self.itemsize > 2 else self.astype(np.float32)
        y = _on_device(getattr(cupyx().scipy.special, name), (wide,), {}, self.index)
        if name == "gammaln":  # which is -inf for -inf
            y = np.where(np.isinf(wide), wide.dtype.type(np.inf), y)
        found: DeviceArray = y if wide is self else y.astype(self.dtype)
        return found

    def factored(self) -> tuple[DeviceArray, DeviceArray]:
        """The triangular factors of a square matrix in one array, and its pivots, by cuSOLVER."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a singular matrix, which the factors tell
            factors, pivots = _on_device(
                cupyx("linalg").scipy.linalg.lu_factor, (self,), {"check_finite": False}, self.index
            )
        return factors, pivots

    def picked(self, positions: DeviceArray) -> DeviceArray:
        """Elements along the first axis, at positions that there are."""
        found: DeviceArray = _on_device(library().take, (self, positions), {"axis": 0}, self.index)
        return found

    def at(self, key: Any) -> DeviceArray:
        """`self[key]` for positions that there are."""
        found: DeviceArray = _on_device(operator.getitem, (self, key), {}, self.index)
        return found

    def put(self, key: Any, value: Any) -> None:
        """`self[key] = value` for positions that there are, none of them twice."""
        with using(self.index, _arrays((self, key, value))):
            self.held[_given(key, self.index)] = _given(value, self.index)

    def contiguous(self) -> DeviceArray:
        """Itself if it is in C order, else a copy that is."""
        if self.held.flags.c_contiguous:
            return self
        with using(self.index, (self,)):
            return DeviceArray(library().ascontiguousarray(self.held), self.index)

    def is_whole(self) -> bool:
        """Whether nobody but this object has its memory: no view, no export, no other array of it."""
        return self.held.base is None and is_alone(self, "held")

    def strided(self, shape: Sequence[int], strides: Sequence[int]) -> DeviceArray:
        """A view of the elements in the order of their indices, with its steps in bytes."""
        whole = self.contiguous()
        return whole._like(library().lib.stride_tricks.as_strided(whole.held, shape, strides))

    # -- NumPy's protocols -------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc.__name__ == "matmul":
            return self.__array_function__(np.matmul, (), inputs, options)
        out = options.pop("out", None)
        y = _ufunc(ufunc, method, inputs, options, self.index)
        if out is None:
            return y
        if len(out) != 1:
            return NotImplemented
        return _written(out[0], y)

    def __array_function__(
        self, function: Any, types: tuple[Any, ...], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        name = function.__name__
        about = _METADATA.get(name)
        if about is not None and len(args) == 1 and not kwargs:
            return about(args[0])
        if name == "result_type":
            return np.result_type(*[x.dtype if isinstance(x, DeviceArray) else x for x in args])
        if name in IN_PLACE:
            return _in_place(name, function, args, kwargs)
        if name == "copyto" and isinstance(self, DeviceArray):
            return _copied_to(*args, **kwargs)
        if kwargs.get("out") is not None:
            rest = {key: x for key, x in kwargs.items() if key != "out"}
            return _written(kwargs["out"], function(*args, **rest))
        if name == "take" and len(args) > 1 and _takes_inside(*args, **kwargs):
            return _on_device(library().take, args, kwargs, self.index)
        if name in TRANSFORMS and function.__module__.startswith("numpy.fft"):
            return _on_device(getattr(library().fft, name), args, kwargs, self.index)
        if name in VALUES and function.__module__.startswith("numpy.linalg"):
            return _on_device(checked(VALUES[name]), args, kwargs, self.index)
        if name in LINALG and function.__module__.startswith("numpy.linalg"):
            function = solve if name == "solve" else getattr(library().linalg, name)
            return _on_device(checked(function), args, kwargs, self.index)
        if name == "take_along_axis" and _is_along(*args, **kwargs):
            return _on_device(library().take_along_axis, args, kwargs, self.index)
        if name in FUNCTIONS:
            return _on_device(getattr(library(), name), args, kwargs, self.index)
        return _on_host(name, function, args, kwargs, self.index)


def _ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any], index: int) -> Any:
    # The second operand of `at` is a key.
    inputs = [x if method == "at" and k == 1 else _array_of(x) for k, x in enumerate(inputs)]
    way = _WAYS.get(method)
    y = NotImplemented if way is None else way(ufunc, inputs, options, index)
    if y is not NotImplemented:
        return y
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return _on_host(name, getattr(ufunc, method), inputs, options, index)


def _called(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], index: int) -> Any:
    name = ufunc.__name__
    if "where" in options:
        return NotImplemented
    is_floating = name in FLOATING_UFUNCS and all(
        dtype_of(x).kind in "fc" for x in inputs if hasattr(x, "dtype")
    )
    if name in UFUNCS or is_floating:
        return _on_device(getattr(library(), name), inputs, options, index)
    own = None if options else replaced(name, inputs)
    if own is not None:
        return _on_device(own, inputs, {}, index)
    if name in SPECIAL and ufunc.nout == 1:
        special = SCALED.get(name) or getattr(cupyx().scipy.special, SPECIAL[name])
        return _on_device(special, inputs, options, index)
    return NotImplemented


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], index: int) -> None:
    name = ufunc.__name__
    if not (name in COMBINING and places.combine_at(ufunc, *inputs)):
        if not places.combine_by_turns(ufunc, *inputs):
            _in_place(f"{name}.at", ufunc.at, inputs, options)


def _reduced_at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], index: int) -> Any:
    if ufunc.__name__ not in COMBINING or any(options.values()):
        return NotImplemented
    y = places.reduce_at(ufunc, inputs[0], inputs[0].given(inputs[1]))
    return NotImplemented if y is None else y


def _reduced(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], index: int) -> Any:
    name, given = ufunc.__name__, _without_none(options)
    if name not in REDUCTIONS or not given.keys() <= OPTIONS.get(name, {"axis", "keepdims"}):
        return NotImplemented
    start = given.pop("initial", None)
    if start is not None and not inputs[0].size:
        shape = ufunc.reduce(np.broadcast_to(_BYTE, inputs[0].shape), **{"initial": 0, **given}).shape
        return inputs[0].made("full", shape, start, inputs[0].dtype)
    y = _on_device(getattr(library(), REDUCTIONS[name]), inputs, {"axis": 0, **given}, index)
    return y if start is None else _ufunc(ufunc, "__call__", (y, y.dtype.type(start)), {}, index)


def _accumulated(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], index: int) -> Any:
    name, given = ufunc.__name__, _without_none(options)
    if name in RUNNING:
        return _on_device(getattr(library(), RUNNING[name]), inputs, given, index)
    if name in ASSOCIATIVE and not given.keys() - {"axis"}:
        return places.running(ufunc, *inputs, **given)
    return NotImplemented


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are given; None is an axis."""
    return {key: x for key, x in options.items() if x is not None or key == "axis"}


# How the device computes the methods of ufuncs; NotImplemented where NumPy has to.
_WAYS: dict[str, Callable[..., Any]] = {
    "__call__": _called, "accumulate": _accumulated, "at": _at, "reduce": _reduced, "reduceat": _reduced_at,
}  # fmt: skip


def _copied_to(target: Any, source: Any, where: Any = True) -> None:
    """`np.copyto`."""
    _written(target, source if where is True else np.where(where, source, target))


def _method(array: DeviceArray, name: str, *args: Any, **kwargs: Any) -> Any:
    if name in IN_PLACE_METHODS:
        return _in_place(
            name, lambda a, *rest, **more: getattr(a, name)(*rest, **more), (array, *args), kwargs
        )
    if name in METHODS and "out" not in kwargs:
        return _on_device(getattr(array.held, name), args, kwargs, array.index, array)
    return _on_host(
        name, lambda a, *rest, **more: getattr(a, name)(*rest, **more), (array, *args), kwargs, array.index
    )


def _on_device(
    function: Callable[..., object],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    index: int,
    bound: DeviceArray | None = None,
) -> Any:
    """A function of the device's library, or a method of an array that it is `bound` to."""
    arrays = list(_arrays((bound, *args, *kwargs.values())))
    with using(index, arrays) as others:
        y = function(
            *[_given(x, index) for x in args], **{key: _given(x, index) for key, x in kwargs.items()}
        )
        return _taken(y, index, arrays if others else ())


def _arrays(things: Iterable[Any]) -> Iterator[DeviceArray]:
    """The arrays of a device among arguments."""
    for x in things:
        if isinstance(x, DeviceArray):
            yield x
        elif type(x) in (list, tuple):
            yield from _arrays(x)


def _on_host(
    name: str, function: Callable[..., object], args: Sequence[Any], kwargs: dict[str, Any], index: int
) -> Any:
    noted(name)
    y = function(*[_read(x) for x in args], **{key: _read(x) for key, x in kwargs.items()})
    return _placed(y, index)


def _in_place(name: str, function: Callable[..., object], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Have NumPy write into its first argument, which may be a view of another array of the device."""
    noted(name)
    target = args[0]
    whole = np.array(_read(target)) if isinstance(target, DeviceArray) else target
    function(whole, *[_read(x) for x in args[1:]], **{key: _read(x) for key, x in kwargs.items()})
    if isinstance(target, DeviceArray):
        _written(target, whole)


def _written(target: DeviceArray | Array, value: DeviceArray | Array) -> Array | DeviceArray:
    """Write a result computed elsewhere into an array on the CPU or a device."""
    target[...] = value if isinstance(target, DeviceArray) else _read(value)
    return target


def _given(x: Any, index: int) -> Any:
    """An operand for the device's library; host arrays are copied there."""
    if isinstance(x, DeviceArray):
        return x.held
    if isinstance(x, np.ndarray):
        return device_array(x, index).held
    if type(x) in (list, tuple) and any(isinstance(item, DeviceArray | np.ndarray) for item in x):
        return type(x)(_given(_array_of(item), index) for item in x)
    return x


def _array_of(x: Any) -> Any:
    """A list of numbers as NumPy's array of them, for functions of the library that take none; anything else as it is."""
    is_list = type(x) in (list, tuple) and next(_arrays(x), None) is None
    return np.asarray(x) if is_list else x


def _taken(y: Any, index: int, of: Iterable[DeviceArray]) -> Any:
    """What the device's library gave. A view belongs to the stream of its base, which is one of the arrays `of`."""
    if isinstance(y, library().ndarray):
        base = y.base
        whose = () if base is None else [x for x in of if x.held is base or x.held.base is base]
        return DeviceArray(y, index, whose[0].stream if whose else None)
    return [_taken(item, index, of) for item in y] if isinstance(y, list | tuple) else y


def _read(x: Any) -> Any:
    """An operand for NumPy; device arrays are copied to the host."""
    if isinstance(x, DeviceArray):
        return x.host()
    return type(x)(_read(item) for item in x) if type(x) in (list, tuple) else x


def _placed(y: Any, index: int) -> Any:
    if isinstance(y, np.ndarray | np.generic) and _is_known(y.dtype):
        return device_array(y, index)
    return type(y)(_placed(item, index) for item in y) if type(y) in (list, tuple) else y


def _is_plain(key: object) -> bool:
    """Whether a key is made of numbers and slices alone."""
    parts = key if type(key) is tuple else (key,)
    return all(
        part is None or part is Ellipsis or isinstance(part, slice | int | np.integer) for part in parts
    )


def _is_inside(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether a key with position arrays or masks is within range, which the device does not check."""
    parts = key if type(key) is tuple else (key,)
    light, axis = [], 0
    for part in parts:
        if part is Ellipsis or getattr(part, "dtype", None) == np.bool_:
            light = [_read(each) for each in parts]
            break
        if isinstance(part, DeviceArray):  # only its shape counts from here on; the positions stay there
            low, high = places.ends(part)
            if axis >= len(shape) or low < -shape[axis] or high >= shape[axis]:
                return False
            part = np.broadcast_to(_FIRST, part.shape)
        light.append(part)
        axis += part is not None
    try:
        np.broadcast_to(_BYTE, shape)[tuple(light) if type(key) is tuple else light[0]]
    except (IndexError, ValueError):
        return False
    return True


def _takes_inside(a: Any, indices: Any, axis: Any = None, **options: Any) -> bool:
    """Whether `np.take` with these arguments names elements that there are."""
    found = indices if isinstance(indices, DeviceArray) else np.asarray(indices)
    size = np.size(a) if axis is None else np.shape(a)[axis]
    low, high = places.ends(found)
    return not options and low >= -size and high < size


def _is_along(a: Any, indices: Any, axis: Any = -1) -> bool:
    """Whether `np.take_along_axis` with these arguments names elements that there are."""
    return (
        isinstance(indices, DeviceArray)
        and axis is not None
        and a.ndim == indices.ndim
        and _takes_inside(a, indices, axis)
    )
