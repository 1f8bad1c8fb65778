"""`Tensor`, the class of all tensors, `EagerTensor`, the one that holds an array, and `Handle`, a mutable place.

A tensor is immutable. `mark` is its identity for tapes: None until a tape first follows it. Arithmetic is installed once
by `graphad.ops.operators`. A 0-d result is kept as a NumPy scalar, on which Python operators are ten times quicker.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from graphad.core import dtypes, forks
from graphad.core.dtypes import DType
from graphad.core.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NoDataError,
    SymbolicConversionError,
    SymbolicValueError,
)
from graphad.core.frames import library_of, truth_asked
from graphad.core.leaving import leaves
from graphad.core.levels import busy, note_exit
from graphad.core.shapes import TensorShape, format_dims
from graphad.core.spec import HandleSpec, TensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import Array, TensorLike
    from graphad.core.arithmetic import Arithmetic
else:
    Arithmetic = object


CPU = "cpu:0"  # where tensors live unless they are told otherwise


def device_name(location: str) -> str:
    """TensorFlow's name of a device, by parts of which programs ask: "cuda:1" is "/job:.../device:GPU:1"."""
    kind, _, index = location.partition(":")
    return f"/job:localhost/replica:0/task:0/device:{'GPU' if kind == 'cuda' else kind.upper()}:{index}"


CPU_NAME = device_name(CPU)


class Mark:
    """The identity of a value for tapes: an object that is equal to itself only, and can be watched for its end."""

    __slots__ = ("__weakref__",)


# Tensors that are slices of variables, by id: what `x.assign(value)` does for them. Kept in step by weak references.
slice_assigners: dict[int, Any] = {}


def read_only(data: Array) -> np.ndarray:
    """A NumPy value as an array that cannot be written to, nor made writable again."""
    if type(data) is not np.ndarray:  # a NumPy scalar, of which this is a copy
        array = np.asarray(data)
        array.flags.writeable = False
        return array
    if data.dtype.kind == "V":  # bfloat16 has no code of its own in the buffer protocol
        return read_only(data.view(np.uint16)).view(data.dtype)
    return np.asarray(memoryview(data).toreadonly())  # type: ignore[arg-type]


def export_array(data: Array, dtype: Any, copy: bool | None) -> np.ndarray:
    """`__array__` of a value: the reader's own array if it asks for one or for another dtype, else a read-only one.

    Raises: ValueError: another dtype is wanted, and no copy allowed.
    """
    if dtype is not None:
        dtype = np.dtype(dtype)
        if dtype != data.dtype:
            if copy is False:
                raise ValueError(
                    f"__array__: a tensor of dtype {data.dtype} cannot be given as {dtype} without a copy; "
                    "allow the copy, or take it in its own dtype."
                )
            return np.array(data).astype(dtype)
    return np.array(data) if copy else read_only(data)


def copied_for(caller: FrameType, copy: bool | None) -> bool | None:
    """Whether `__array__` gives an array of the reader's own: SciPy's compiled code takes none that cannot be written to."""
    return True if copy is None and library_of(caller.f_code.co_filename) == "scipy" else copy


def export_dlpack(
    data: Any, stream: Any, max_version: tuple[int, ...] | None, device: Any, copy: bool | None
) -> Any:
    """`__dlpack__` of a value: marked as read-only for readers that know the mark, a copy for those that do not.

    Raises: BufferError: such a reader allows no copy.
    """
    exported = importlib.import_module("graphad.core.dlpack").exported
    options = {} if device is None else {"dl_device": device}
    knows = max_version is not None and tuple(max_version) >= (1, 0)
    if copy or not knows:
        if copy is False:
            raise BufferError(
                "__dlpack__: a tensor is immutable, and this reader knows no read-only exports; allow a copy."
            )
        return exported(np.array(data), stream=stream, max_version=max_version, **options)
    return exported(read_only(data), stream=stream, max_version=max_version, copy=copy, **options)


class Exports:
    """NumPy's and DLPack's ways to the numbers of what has `data`."""

    __slots__ = ()
    data: Any

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        caller = sys._getframe(1)
        if busy() is not None:
            leaves(self, "NumPy", caller)
        return export_array(self.data, dtype, copied_for(caller, copy))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, ...] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        note_exit(self, "DLPack")
        return export_dlpack(self.data, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()  # that of all of NumPy's arrays, those of bfloat16 too


class Reference:
    """A hashable stand-in for a tensor or variable: equal when it refers to the same object."""

    __slots__ = ("__weakref__", "_target")

    def __init__(self, target: Handle | Tensor) -> None:
        self._target = target

    def deref(self) -> Handle | Tensor:
        return self._target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._target is self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


_NO_GRAPHS = "there is no graph of operations to look at; `explain` shows what a function does"


def _undefined(name: str, why: str) -> Any:
    """A property that TensorFlow's tensors have while a graph is built, and graphad's never."""

    def refuse(self: Any) -> NoReturn:
        raise AttributeError(f"Tensor.{name}: {why}.", name=name)

    return property(refuse)


class Tensor(Arithmetic):
    """An immutable array of one dtype. Made by `constant`, by `convert_to_tensor` and by every op."""

    __slots__ = ()
    __array_priority__ = 100
    mark: Mark | None
    spec: TensorSpec
    has_value: ClassVar[bool] = False  # whether it has its data now, wherever they are
    away: ClassVar[bool] = False  # whether they are on another device than the CPU
    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]]  # names, for classes that act as tensors

    @property
    def data(self) -> Any:
        """The NumPy value of a tensor that has it at hand. The error for another one ends the short way of an op."""
        raise NoDataError(f"Tensor.data: {self!r} has no data yet.")

    @property
    def known(self) -> Any:
        """The NumPy value where it is known now, else None."""
        return None

    def out_of_scope(self, op: Any) -> Exception:
        """The error for a use of this tensor where it has no meaning."""
        raise NotImplementedError

    def beside(self, other: EagerTensor) -> Tensor:
        """A tensor just made of a Python or NumPy value as one that an op may take together with this one."""
        return other

    @property
    def dims(self) -> tuple[Any, ...] | None:
        """The raw shape."""
        return self.spec.dims

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dims)

    @property
    def location(self) -> str:
        """The short name of the device that has the data, "cpu:0" or "cuda:1"; empty where there are none yet."""
        return ""

    @property
    def device(self) -> str:
        """TensorFlow's name of that device; empty where there are no data yet."""
        return ""

    @property
    def ndim(self) -> int | None:
        dims = self.dims
        return None if dims is None else len(dims)

    rank = ndim

    def get_shape(self) -> TensorShape:
        return self.shape

    def ref(self) -> Reference:
        """A hashable reference to this tensor."""
        return Reference(self)

    experimental_ref = ref

    op = _undefined("op", _NO_GRAPHS)
    graph = _undefined("graph", _NO_GRAPHS)
    value_index = _undefined("value_index", _NO_GRAPHS)
    consumers = _undefined("consumers", _NO_GRAPHS)
    eval = _undefined("eval", "there are no sessions; `numpy()` gives the value of a tensor that has one")

    def __hash__(self) -> int:
        raise ArgumentTypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __len__(self) -> int:
        dims = self.dims
        if dims is None or (dims and dims[0] is None):
            raise SymbolicValueError(
                "len: the first size of this tensor is not known while it is traced; use shape(x)[0]."
            )
        if not dims:
            raise ArgumentTypeError("Scalar tensor has no `len()`")
        return dims[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Tensor]:
        dims = self.dims
        if dims is not None and not dims:
            raise ArgumentTypeError("Cannot iterate over a scalar tensor.")
        if dims is None or dims[0] is None:
            raise SymbolicValueError(
                "Iterating over a symbolic `tf.Tensor` is not allowed: its first size is not known while it is traced. Loop "
                "over it with `for row in x` in a function that `tf.function` converts, use tf.map_fn, take it apart with "
                "tf.unstack(x, num=n), or give it a known size with x.set_shape or in the input_signature."
            )
        return (self[i] for i in range(dims[0]))

    def __bool__(self) -> bool:
        self._no_value(f"Using a symbolic `tf.Tensor` as a Python `bool` is not allowed{truth_asked()}")

    def __nonzero__(self) -> bool:  # an older name, which classes that act as tensors copy
        return self.__bool__()

    def __int__(self) -> int:
        self._no_value(
            "A symbolic tensor has no Python int while a function is traced; use `tf.cast(x, tf.int32)`."
        )

    def __float__(self) -> float:
        self._no_value(
            "A symbolic tensor has no Python float while a function is traced; use `tf.cast(x, tf.float32)`."
        )

    def __index__(self) -> int:
        self._no_value(
            "A symbolic tensor is not an index of a Python sequence, since its value is not known while a function is traced; "
            "make the sequence a tensor (tf.constant, tf.stack) and use `tf.gather` or `x[i]`."
        )

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        raise SymbolicConversionError(f"Cannot convert a symbolic tf.Tensor ({self!r}) to a numpy array.")

    def _no_value(self, message: str) -> NoReturn:
        raise SymbolicValueError(message)

    def assign(self, value: TensorLike, name: str | None = None) -> Any:
        """For a slice of a variable, `v[key].assign(value)`: give that part of the variable another value."""
        assigner = slice_assigners.get(id(self))
        if assigner is None:
            raise ArgumentTypeError(
                "assign: a tensor is immutable; only a Variable, or a slice of one, can be assigned."
            )
        return assigner(value)

    def __setitem__(self, key: int, value: float) -> NoReturn:
        raise ArgumentTypeError(
            f"'{type(self).__name__}' object does not support item assignment: tensors are immutable; "
            "use `x.at[key].set(value)`, which gives a new "
            "one, or a Variable's `v[...].assign(...)`."
        )

    def __delitem__(self, key: int) -> NoReturn:
        raise ArgumentTypeError(
            f"'{type(self).__name__}' object doesn't support item deletion; use tf.concat of slices, or tf.boolean_mask."
        )


def _leaving(way: str, give: Callable[[Any], Any]) -> Any:
    """A method that gives the number of a tensor to Python."""

    def method(self: Any) -> Any:
        if busy() is not None:
            leaves(self, way, sys._getframe(1))
        try:
            return give(self.data)
        except TypeError as cause:
            raise ArgumentTypeError(
                f"{way}: a tensor with shape {self.data.shape} and dtype {self.dtype.name} is not one number of Python; "
                "x.numpy() gives an array, tf.cast another dtype."
            ) from cause

    method.__name__ = f"__{give.__name__}__"
    return method


class EagerTensor(Exports, Tensor):
    """A tensor that has its data now: `data` is an array nobody writes to, or a NumPy scalar."""

    __slots__ = ("__weakref__", "data", "mark")
    has_value = True
    data: Any

    def __init__(self, data: object) -> None:
        self.data = data
        self.mark = None

    @property
    def dims(self) -> tuple[Any, ...]:
        return self.data.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self.data.dtype)

    @property
    def spec(self) -> TensorSpec:  # type: ignore[override]
        return TensorSpec.of(self.data.shape, dtypes.from_numpy(self.data.dtype))

    @property
    def location(self) -> str:
        return CPU

    @property
    def device(self) -> str:
        return CPU_NAME

    backing_device = device

    def cpu(self) -> EagerTensor:
        """The tensor with its data on the CPU, where they are."""
        return self

    def gpu(self, gpu_index: int = 0) -> Any:
        """A copy on a CUDA device. Raises: UnavailableError: there is none."""
        return importlib.import_module("graphad.devices.transfer").copied(self, f"cuda:{gpu_index}")

    @property
    def nbytes(self) -> int:
        return self.data.nbytes  # type: ignore[no-any-return]

    @property
    def strides(self) -> tuple[int, ...]:
        """Those of the array that `np.asarray` gives."""
        return self.data.strides  # type: ignore[no-any-return]

    def numpy(self) -> np.ndarray:
        """The data as a NumPy array of its own, or as a NumPy scalar for shape ()."""
        if busy() is not None:
            note_exit(self, "numpy()")
        return self.data.copy() if type(self.data) is np.ndarray else self.data

    def to_numpy(self) -> np.ndarray:
        """The same, by the name by which matplotlib and kin ask for the data: without it they read a matrix as a list of rows."""
        return self.numpy()

    def item(self, *index: Any) -> Any:
        """The only element as a Python number, or that at an index; one number counts all elements."""
        if busy() is not None:
            note_exit(self, "item()")
        return self.data.item(*index)

    def tolist(self) -> Any:
        if busy() is not None:
            note_exit(self, "tolist()")
        return self.data.tolist()

    __int__ = _leaving("int()", int)
    __float__ = _leaving("float()", float)
    __complex__ = _leaving("complex()", complex)

    def __bool__(self) -> bool:
        if self.data.size != 1:
            raise InvalidArgumentError(
                f"The truth value of an array with {'no' if not self.data.size else 'more than one'} element is ambiguous: this "
                f"tensor has shape {self.data.shape}; ask tf.reduce_any(x) or tf.reduce_all(x)."
            )
        return bool(self.data)

    def __index__(self) -> int:
        return self.data.__index__()  # type: ignore[no-any-return]

    @property
    def known(self) -> Any:
        return self.data

    def __format__(self, spec: str) -> str:
        if self.data.shape:
            if spec:
                raise ArgumentTypeError(
                    f"format: unsupported format string {spec!r} for a tensor of shape {format_dims(self.dims)}; it is for one "
                    "number. Format its elements, or print it within numpy.printoptions."
                )
            return str(self.numpy())
        return format(self.data, spec) if spec else str(self.data)  # in as few digits as tell it apart

    def __repr__(self) -> str:
        text = repr(self.data) if self.data.shape else str(self.data)
        gap = "\n" if "\n" in text else ""
        return f"<tf.Tensor: shape={format_dims(self.dims)}, dtype={self.dtype.name}, numpy={gap}{text}>"

    def __str__(self) -> str:
        text = str(self.data)
        gap = "\n" if "\n" in text else ""
        return f"tf.Tensor({gap}{text}, shape={format_dims(self.dims)}, dtype={self.dtype.name})"

    def _repr_html_(self) -> str:
        return importlib.import_module("graphad.core.html").of_tensor(self)  # type: ignore[no-any-return]

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict[str, Any]) -> EagerTensor:
        # No `note_exit`: whoever calls this wants another tensor, so no value has left by mistake.
        return EagerTensor(self.data.copy())

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return EagerTensor, (self.data,)


# `y = blank(EagerTensor); y.data, y.mark = data, None` is `EagerTensor(data)` without the call of `__init__`, a quarter of it.
# It is written out where every eager op passes: the operators, the short ways of functions of one op, and `bind`.
blank: Callable[[type[EagerTensor]], EagerTensor] = object.__new__


class Handle(Exports):
    """A place that holds an array and can be given another: what a variable is to ops, which pass it by reference.

    Assigning rebinds `data` and never writes into an array that somebody has read, so every earlier read keeps its value. Who
    gives it a value does so under its guard, who makes that value of the old one holds the guard in between. Who writes
    into the array itself, which has no other owner then, takes it out meanwhile (`core/owners.py`): readers wait.

    Attributes:
      guard: The lock of those who give it a value, which a thread may take again; None until `guard_of` is first asked.
    """

    __slots__ = ("__weakref__", "_spec", "_trainable", "data", "guard", "mark")
    away: ClassVar[bool] = False  # whether its array is on another device than the CPU
    within: ClassVar[bool] = (
        False  # whether single ops take its guard while a call holds others, so it comes behind these
    )
    location = CPU

    def __init__(self, data: object, spec: HandleSpec, trainable: bool) -> None:
        self._spec = spec
        self.data = data
        self._trainable = trainable
        self.guard: Any = None
        self.mark = Mark()  # at birth, since any number of threads may read a variable at once

    @property
    def spec(self) -> HandleSpec:
        return self._spec

    @property
    def dims(self) -> tuple[Any, ...] | None:
        """The raw shape."""
        return self._spec.dims

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def device(self) -> str:
        """TensorFlow's name of the device that has the data."""
        return device_name(self.location)

    @property
    def place(self) -> Handle:
        """What `eval` is given: itself, or what holds the array of another device."""
        return self

    def here(self) -> Any:
        """The array on the CPU, a copy of one that is elsewhere."""
        return self.data


_guards = forks.lock()


def guards_of(handles: Sequence[Handle]) -> list[Any]:
    """The guard of each handle. Those that have none yet share a new one: what is written together is guarded together."""
    with _guards:
        missing = [handle for handle in handles if handle.guard is None]
        if missing:
            shared = forks.rlock()
            for handle in missing:
                handle.guard = shared
    return [handle.guard for handle in handles]


def guard_of(handle: Handle) -> Any:
    """The guard of one handle."""
    return handle.guard or guards_of((handle,))[0]


# What a tape can follow; a tuple, since a union is made anew at every use.
VALUES = (Tensor, Handle)
