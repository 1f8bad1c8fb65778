"""Variables whose arrays are on another device than the CPU."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.device import parse
from graphad.core.errors import DeviceDataError
from graphad.core.leaving import leaves
from graphad.core.levels import entered, note_exit, trace_in_progress
from graphad.core.tensor import CPU, Handle, Tensor, export_array
from graphad.devices.array import DeviceArray, device_array
from graphad.devices.library import require
from graphad.devices.tensor import DeviceTensor
from graphad.eager.variable import Variable
from graphad.ops.state.variables import READ

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.dtypes import DType


class DeviceVariable(Variable):
    """A variable made in a block of `device`; it stays on that device. Python and NumPy receive copies.

    Attributes:
      index: The number of its device.
    """

    away = True
    index: int

    @property
    def data(self) -> Any:
        raise DeviceDataError(
            f"the data of variable {self.name!r} are on {self.location!r}; `numpy()` gives a copy."
        )

    @data.setter
    def data(self, value: DeviceArray | Array) -> None:
        # The short way of `assign` sets this, and would accept arrays of the CPU.
        if hasattr(self, "_graphad_place"):
            raise DeviceDataError(
                f"variable {self.name!r} is on {self.location!r}; `assign` gives it another value."
            )
        array = value.contiguous() if isinstance(value, DeviceArray) else device_array(value, self.index)
        self._graphad_place = Handle(array, self._spec, False)

    @property
    def guard(self) -> Any:
        """The guard of its place, which ops and compiled calls take too."""
        return self._graphad_place.guard

    @guard.setter
    def guard(self, value: Any) -> None:
        if value is not None:
            self._graphad_place.guard = value

    @property
    def location(self) -> str:  # type: ignore[override]
        return f"cuda:{self.index}"

    @property
    def place(self) -> Handle:
        return self._graphad_place

    def here(self) -> Any:
        return self._graphad_place.data.host()

    def __graphad_tensor__(self) -> Tensor:
        return bind(READ, self)

    def tensor_of(self, array: Array) -> Tensor:
        return DeviceTensor(device_array(array, self.index))

    def kin(self, value: Array, name: str) -> Variable:
        return type(self)(value, trainable=False, name=name)

    # Users and other libraries see a copy on the CPU.

    def _copy(self) -> Variable:
        with entered(None):  # leaves the block, since variables made in it are on its device
            copied = Variable.restore(self.here(), self._spec, self._trainable, self.name)
            copied.__dict__ |= self._options()
            return copied

    def numpy(self) -> Any:
        if trace_in_progress() is None:
            note_exit(self, "numpy()")
        return self._copy().numpy()

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        if trace_in_progress() is None:
            leaves(self, "NumPy", sys._getframe(1))
        return export_array(self._copy().numpy(), dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return DeviceTensor(self.place.data).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return DeviceTensor(self.place.data).__dlpack_device__()

    def __len__(self) -> int:
        return len(DeviceTensor(self.place.data))

    def __format__(self, spec: str) -> str:
        return format(self._copy(), spec)

    def __repr__(self) -> str:
        return f"{repr(self._copy())[:-1]}, device={self.location!r}>"

    def _repr_html_(self) -> str:
        return self._copy()._repr_html_()

    def __copy__(self) -> Variable:
        copied = self.restore(self.place.data, self._spec, self._trainable, self.name)
        copied.__dict__ |= self._options()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        _, arguments, options = self._copy().__reduce__()
        return _restored, (self.location, *arguments), options

    def _operand(self, value: Any) -> Any:
        operand: Any = super()._operand(value)
        if isinstance(value, Tensor | Variable) or operand.away or not operand.has_value:
            return operand
        return self.tensor_of(operand.data)


def _restored(place: str, *arguments: Any) -> Variable:
    """An unpickled variable. Raises: UnavailableError: its device is missing."""
    require(parse(place)[1])
    return variable_class(place).restore(*arguments)


@functools.cache
def variable_class(place: str) -> type[Variable]:
    """The class of variables on a device."""
    if place == CPU:
        return Variable
    return type("DeviceVariable", (DeviceVariable,), {"index": parse(place)[1], "__module__": __name__})
