"""`DeviceTensor`: a tensor whose data are in the memory of another device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graphad.core import dtypes
from graphad.core.dlpack import read_only
from graphad.core.dtypes import DType
from graphad.core.errors import DeviceDataError
from graphad.core.leaving import leaves
from graphad.core.levels import note_exit
from graphad.core.spec import TensorSpec
from graphad.core.tensor import CPU, EagerTensor, Tensor, copied_for, device_name, export_array
from graphad.devices.array import DeviceArray, device_array
from graphad.devices.library import library, require
from graphad.devices.streams import on, using

if TYPE_CHECKING:
    from graphad.core.annotations import Array


class DeviceTensor(Tensor):
    """A tensor with its data on another device than the CPU.

    Python and NumPy receive copies. Ops run on the device of their operands; see `devices/run.py`.
    """

    __slots__ = ("__weakref__", "array", "mark")
    has_value = True
    away = True

    def __init__(self, array: DeviceArray) -> None:
        self.array = array
        self.mark = None

    @property
    def data(self) -> NoReturn:
        # Code that computes with NumPy reads this: the ValueError ends the short way of an op, and the usual way handles
        # devices.
        raise DeviceDataError(
            f"the data of this tensor are on {self.location!r}; `numpy()` and `cpu()` give copies."
        )

    @property
    def dims(self) -> tuple[Any, ...]:
        return self.array.shape

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self.array.dtype)

    @property
    def spec(self) -> TensorSpec:  # type: ignore[override]
        return TensorSpec.of(self.array.shape, self.dtype)

    @property
    def location(self) -> str:
        return f"cuda:{self.array.index}"

    @property
    def device(self) -> str:
        return device_name(self.location)

    backing_device = device

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def cpu(self) -> Any:
        """A copy on the CPU, as an op: derivatives pass through it."""
        return _copied(self, CPU)

    def gpu(self, gpu_index: int = 0) -> Any:
        """A copy on a CUDA device; itself where it is there already."""
        return _copied(self, f"cuda:{gpu_index}")

    def here(self) -> EagerTensor:
        """A copy of the data on the CPU that is not recorded."""
        return EagerTensor(self.array.host())

    def beside(self, other: EagerTensor) -> Tensor:
        # While tracing, numbers are constants of the graph.
        if other.away or not other.has_value or not other.data.shape:
            return other
        return DeviceTensor(device_array(other.data, self.array.index))

    def _leaves(self, way: str) -> EagerTensor:
        note_exit(self, way)
        return self.here()

    def numpy(self) -> Any:
        """A copy of the data as a NumPy array, or as a NumPy scalar for shape ()."""
        return self._leaves("numpy()").data

    def item(self) -> Any:
        """The only element as a Python number."""
        return self._leaves("item()").data.item()

    def tolist(self) -> Any:
        return self._leaves("tolist()").data.tolist()

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"__array__: this tensor is on {self.location!r}; NumPy takes a copy of it.")
        caller = sys._getframe(1)
        leaves(self, "NumPy", caller)
        return export_array(self.here().data, dtype, copied_for(caller, copy))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        note_exit(self, "DLPack")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            return self.here().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
        # As on the CPU: readers of the protocol's old form know no mark for what must not be written to.
        knows = max_version is not None and tuple(max_version) >= (1, 0)
        if copy is False and not knows:
            raise BufferError(
                "__dlpack__: a tensor is immutable, and this reader knows no read-only exports; allow a copy."
            )
        with using(self.array.index, (self.array,)):
            if copy or not knows:
                return library().array(self.array.held).__dlpack__(stream=stream, max_version=max_version)
            return read_only(self.array.held.__dlpack__(stream=stream, max_version=max_version))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.held.__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self.here())

    def __int__(self) -> int:
        return int(self._leaves("int()").data)

    def __float__(self) -> float:
        return float(self._leaves("float()").data)

    def __complex__(self) -> complex:
        return complex(self._leaves("complex()").data)

    def __index__(self) -> int:
        return self.here().__index__()

    def __format__(self, spec: str) -> str:
        return format(self.here(), spec)

    def __repr__(self) -> str:
        return f"{repr(self.here())[:-1]}, device={self.location!r}>"

    def __str__(self) -> str:
        return f"{str(self.here())[:-1]}, device={self.location})"

    def _repr_html_(self) -> str:
        return self.here()._repr_html_()

    def __copy__(self) -> DeviceTensor:
        return self

    def __deepcopy__(self, memo: object) -> DeviceTensor:
        return DeviceTensor(self.array)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return placed, (self.here().data, self.array.index)


def placed(data: Array, index: int) -> DeviceTensor:
    """A NumPy value as a tensor on a CUDA device. Raises: UnavailableError: there is no such device."""
    require(index)
    return DeviceTensor(device_array(data, index))


def taken(x: Any) -> DeviceTensor:
    """A copy of another library's array, which exports it by DLPack, on the CUDA device where it is.

    Raises: UnavailableError: there is no such device here.
    """
    index = int(x.__dlpack_device__()[1])
    require(index)
    with on(index):
        return DeviceTensor(DeviceArray(library().array(library().from_dlpack(x)), index))


def _copied(x: DeviceTensor, place: str) -> Any:
    from graphad.devices.transfer import copied  # imported here: it depends on this class

    return copied(x, place)
