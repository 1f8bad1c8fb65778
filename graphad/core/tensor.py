"""`Tensor`, the class of all tensors, `EagerTensor`, the one that holds an array, and `Handle`, a mutable place.

A tensor is immutable. `mark` is its identity for tapes: None until a tape first follows it. Arithmetic is installed once
by `graphad.ops.operators`. A 0-d result is kept as a NumPy scalar, on which Python operators are ten times quicker.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graphad.core import dtypes
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, SymbolicConversionError, SymbolicValueError
from graphad.core.levels import busy, note_exit
from graphad.core.shapes import TensorShape, format_dims
from graphad.core.spec import HandleSpec, TensorSpec

if TYPE_CHECKING:
    from graphad.core.arithmetic import Arithmetic
else:
    Arithmetic = object

new_mark: Callable[[], int] = itertools.count(1).__next__


# Tensors that are slices of variables, by id: what `x.assign(value)` does for them. Kept in step by weak references.
slice_assigners: dict[int, Any] = {}


class Reference:
    """A hashable stand-in for a tensor or variable: equal when it refers to the same object."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        return self._target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._target is self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


class Tensor(Arithmetic):
    """An immutable array of one dtype. Made by `constant`, by `convert_to_tensor` and by every op."""

    __slots__ = ()
    __array_priority__ = 100
    mark: int | None
    spec: TensorSpec

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
    def ndim(self) -> int | None:
        dims = self.dims
        return None if dims is None else len(dims)

    rank = ndim

    def get_shape(self) -> TensorShape:
        return self.shape

    def ref(self) -> Reference:
        """A hashable reference to this tensor."""
        return Reference(self)

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

    def __iter__(self) -> Iterator[Any]:
        dims = self.dims
        if dims is not None and not dims:
            raise ArgumentTypeError("Cannot iterate over a scalar tensor.")
        if dims is None or dims[0] is None:
            raise SymbolicValueError(
                "Iterating over a symbolic `tf.Tensor` is not allowed: its first size is not known while it is traced."
            )
        return (self[i] for i in range(dims[0]))

    def __bool__(self) -> bool:
        self._no_value(
            "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed; use `cond`, `while_loop` or `where`."
        )

    def __int__(self) -> int:
        self._no_value("A symbolic tensor has no Python int; use `cast`.")

    def __float__(self) -> float:
        self._no_value("A symbolic tensor has no Python float; use `cast`.")

    def __index__(self) -> int:
        self._no_value("A symbolic tensor has no Python int.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise SymbolicConversionError(f"Cannot convert a symbolic tf.Tensor ({self!r}) to a numpy array.")

    def _no_value(self, message: str) -> NoReturn:
        raise SymbolicValueError(message)

    def assign(self, value: Any, name: str | None = None) -> Any:
        """For a slice of a variable, `v[key].assign(value)`: give that part of the variable another value."""
        assigner = slice_assigners.get(id(self))
        if assigner is None:
            raise ArgumentTypeError(
                "assign: a tensor is immutable; only a Variable, or a slice of one, can be assigned."
            )
        return assigner(value)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentTypeError(
            f"'{type(self).__name__}' object does not support item assignment: tensors are immutable; "
            "use `tensor_scatter_nd_update`, `where`, or a Variable's `v[...].assign(...)`."
        )


class EagerTensor(Tensor):
    """A tensor that has its data now: `data` is an array nobody writes to, or a NumPy scalar."""

    __slots__ = ("__weakref__", "data", "mark")
    data: Any

    def __init__(self, data: Any) -> None:
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
    def device(self) -> str:
        return "cpu:0"

    @property
    def nbytes(self) -> int:
        return self.data.nbytes  # type: ignore[no-any-return]

    def numpy(self) -> Any:
        """The data as a NumPy array of its own, or as a NumPy scalar for shape ()."""
        if busy() is not None:
            note_exit(self, "numpy()")
        return self.data.copy() if type(self.data) is np.ndarray else self.data

    def item(self) -> Any:
        """The only element as a Python number."""
        if busy() is not None:
            note_exit(self, "item()")
        return self.data.item()

    def tolist(self) -> Any:
        if busy() is not None:
            note_exit(self, "tolist()")
        return self.data.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if busy() is not None:
            note_exit(self, "NumPy")
        array = np.asarray(self.data)
        if copy or (dtype is not None and array.dtype != dtype):
            return array.astype(dtype if dtype is not None else array.dtype)
        view = array.view()
        view.flags.writeable = False
        return view

    def __dlpack__(self, **options: Any) -> Any:
        if busy() is not None:
            note_exit(self, "DLPack")
        return np.asarray(self.data).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.asarray(self.data).__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self.data)

    def __int__(self) -> int:
        if busy() is not None:
            note_exit(self, "int()")
        return int(self.data)

    def __float__(self) -> float:
        if busy() is not None:
            note_exit(self, "float()")
        return float(self.data)

    def __complex__(self) -> complex:
        if busy() is not None:
            note_exit(self, "complex()")
        return complex(self.data)

    def __index__(self) -> int:
        return self.data.__index__()  # type: ignore[no-any-return]

    def __format__(self, spec: str) -> str:
        return format(self.data, spec) if not self.data.shape else format(str(self), spec)

    def __repr__(self) -> str:
        text = repr(self.data) if self.data.shape else str(self.data)
        gap = "\n" if len(self.data.shape) > 1 else ""
        return f"<tf.Tensor: shape={format_dims(self.dims)}, dtype={self.dtype.name}, numpy={gap}{text}>"

    def __str__(self) -> str:
        gap = "\n" if len(self.data.shape) > 1 else ""
        return f"tf.Tensor({gap}{self.data}, shape={format_dims(self.dims)}, dtype={self.dtype.name})"

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return EagerTensor(self.numpy())

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return EagerTensor, (self.data,)


class Handle:
    """A place that holds an array and can be given another: what a variable is to ops, which pass it by reference.

    Assigning rebinds `data` and never writes into the old array, so every earlier read keeps its value.
    """

    __slots__ = ("__weakref__", "_spec", "_trainable", "data", "mark")

    def __init__(self, data: Any, spec: HandleSpec, trainable: bool) -> None:
        self.data = data
        self._spec = spec
        self._trainable = trainable
        self.mark: int | None = None

    @property
    def spec(self) -> HandleSpec:
        return self._spec

    @property
    def trainable(self) -> bool:
        return self._trainable


# What a tape can follow; a tuple, since a union is made anew at every use.
VALUES = (Tensor, Handle)
