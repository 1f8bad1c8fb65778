"""The operators and NumPy's methods of tensors and variables, for type checkers.

`graphad.ops.operators` installs them, and `ops/methods.py` defines the methods. Declared here too are `numpy` and `device`, which
only tensors outside of traces have, and methods that bind ops: `set_shape` and the steps of conversions in `core`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from graphad.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike
    from graphad.core.dtypes import DType
    from graphad.core.indexed_slices import IndexedSlices
    from graphad.core.tensor import Tensor


class Place(Protocol):
    """The part of a tensor that `x.at[key]` names."""

    def get(self) -> Tensor: ...
    def set(self, y: TensorLike) -> Tensor: ...
    def add(self, y: TensorLike) -> Tensor: ...
    def subtract(self, y: TensorLike) -> Tensor: ...
    def multiply(self, y: TensorLike) -> Tensor: ...
    def divide(self, y: TensorLike) -> Tensor: ...
    def min(self, y: TensorLike) -> Tensor: ...
    def max(self, y: TensorLike) -> Tensor: ...


class At(Protocol):
    """`x.at`."""

    def __getitem__(self, key: object) -> Place: ...


class Arithmetic:
    """The operators and methods of tensors and variables. It is a base class for type checkers only."""

    __slots__ = ()

    def _unary(self) -> Tensor:
        raise NotImplementedError

    def _binary(self, other: TensorLike) -> Tensor:
        raise NotImplementedError

    def numpy(self) -> np.ndarray:
        raise NotImplementedError

    def set_shape(self, shape: ShapeLike) -> None:
        raise NotImplementedError

    # what conversions in `core` need of the ops

    def _cast(self, dtype: DType) -> Tensor:
        """The tensor converted to another dtype."""
        raise NotImplementedError

    def _stacked(self, others: Sequence[Tensor]) -> Tensor:
        """The tensor and others along a new first axis."""
        raise NotImplementedError

    def _added_up(self, slices: IndexedSlices) -> Tensor:
        """The dense tensor of the slices whose values the tensor holds."""
        raise NotImplementedError

    def __getitem__(self, key: object) -> Tensor:
        raise NotImplementedError

    __neg__ = __pos__ = __abs__ = __invert__ = _unary
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = (
        _binary
    )
    __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = _binary
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _binary
    __lt__ = __le__ = __gt__ = __ge__ = _binary

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        raise NotImplementedError

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        raise NotImplementedError

    def __divmod__(self, other: TensorLike) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def __rdivmod__(self, other: TensorLike) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def __round__(self, ndigits: int | None = None) -> Tensor:
        raise NotImplementedError

    @property
    def T(self) -> Tensor:
        raise NotImplementedError

    @property
    def mT(self) -> Tensor:
        raise NotImplementedError

    @property
    def real(self) -> Tensor:
        raise NotImplementedError

    @property
    def imag(self) -> Tensor:
        raise NotImplementedError

    @property
    def at(self) -> At:
        raise NotImplementedError

    @property
    def size(self) -> int | None:
        raise NotImplementedError

    @property
    def device(self) -> str:
        raise NotImplementedError

    @property
    def itemsize(self) -> int:
        raise NotImplementedError

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Tensor:
        raise NotImplementedError

    def copy(self) -> Tensor:
        raise NotImplementedError

    def flatten(self) -> Tensor:
        raise NotImplementedError

    def ravel(self) -> Tensor:
        raise NotImplementedError

    def reshape(self, *shape: ShapeLike) -> Tensor:
        raise NotImplementedError

    def transpose(self, *axes: int | Sequence[int] | None) -> Tensor:
        raise NotImplementedError

    def all(
        self, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
    ) -> Tensor:
        raise NotImplementedError

    def any(
        self, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
    ) -> Tensor:
        raise NotImplementedError

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        raise NotImplementedError

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        raise NotImplementedError

    def argpartition(self, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
        raise NotImplementedError

    def argsort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: str | None = None,
        *,
        descending: bool = False,
        stable: bool = True,
    ) -> Tensor:
        raise NotImplementedError

    def choose(self, choices: TensorLike) -> Tensor:
        raise NotImplementedError

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        raise NotImplementedError

    def compress(self, condition: TensorLike, axis: int | None = None) -> Tensor:
        raise NotImplementedError

    def conj(self) -> Tensor:
        raise NotImplementedError

    def conjugate(self) -> Tensor:
        raise NotImplementedError

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        raise NotImplementedError

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        raise NotImplementedError

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        raise NotImplementedError

    def dot(self, b: TensorLike) -> Tensor:
        raise NotImplementedError

    def max(
        self,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def min(
        self,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def mean(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        where: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def nonzero(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def partition(self, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
        raise NotImplementedError

    def prod(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def sum(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def ptp(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        raise NotImplementedError

    def repeat(self, repeats: int | TensorLike, axis: int | None = None) -> Tensor:
        raise NotImplementedError

    def round(self, decimals: int = 0) -> Tensor:
        raise NotImplementedError

    def searchsorted(self, x2: TensorLike, /, side: str = "left", sorter: TensorLike | None = None) -> Tensor:
        raise NotImplementedError

    def sort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: str | None = None,
        *,
        descending: bool = False,
        stable: bool = True,
    ) -> Tensor:
        raise NotImplementedError

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        raise NotImplementedError

    def std(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        ddof: TensorLike = 0,
        keepdims: bool = False,
        *,
        correction: TensorLike | None = None,
        mean: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def var(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        ddof: TensorLike = 0,
        keepdims: bool = False,
        *,
        correction: TensorLike | None = None,
        mean: TensorLike | None = None,
    ) -> Tensor:
        raise NotImplementedError

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        raise NotImplementedError

    def take(self, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> Tensor:
        raise NotImplementedError

    def to_device(self, device: str, /, *, stream: None = None) -> Tensor:
        raise NotImplementedError
