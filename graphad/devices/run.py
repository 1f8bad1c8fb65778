"""Chooses the device of an op, and runs the op there.

An op runs where its operands are; `devices/level.py` brings them to the device of a block first. CPU scalars, which are mostly
Python numbers, and CPU integers, which are positions and sizes, may be combined with operands on a device. Other operands on
two devices are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import check_inputs
from graphad.core.device import TWO_DEVICES, parse
from graphad.core.dtypes import from_numpy
from graphad.core.errors import GraphadError, InvalidArgumentError
from graphad.core.ieee import heard, hush, unhush
from graphad.core.memo import Memo
from graphad.core.op import Op, evaluated, output_specs
from graphad.core.rule_errors import explained
from graphad.core.spec import TensorSpec
from graphad.core.tensor import CPU, EagerTensor, Handle
from graphad.devices.array import DeviceArray, device_array
from graphad.devices.notes import notes
from graphad.devices.tensor import DeviceTensor
from graphad.devices.transfer import moved
from graphad.graph.builder import GraphBuilder
from graphad.graph.evaluate import run, set_place_of

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.graph.ir import Graph


def common_place(op: Op, inputs: Sequence[Any]) -> str | None:
    """The common device of the operands that have one; None if none has.

    Raises: InvalidArgumentError: they are on two devices.
    """
    found: str | None = None
    first = 0
    for k, x in enumerate(inputs):
        # Such a variable takes what is on the CPU alone.
        if not x.away and not (op.stores and k == 0 and x.dims):
            if not isinstance(x, EagerTensor) or not x.data.shape or x.data.dtype.kind in "iub":
                continue
        if found is None:
            found, first = x.location, k
        elif x.location != found:
            error = InvalidArgumentError(
                f"{op.name}: operand {first} is on {found!r} and operand {k} on {x.location!r}; copy one with x.cpu() or "
                "x.gpu(). In a block of tf.device, lists and arrays are put on its device."
            )
            setattr(error, TWO_DEVICES, True)
            raise error
    return found


def evaluate(op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of an op, some of whose inputs are on a device."""
    place = common_place(op, inputs)
    if not op.fits:
        check_inputs(op, inputs)
    values = [x.place if isinstance(x, Handle) else x.array if x.away else x.data for x in inputs]
    if op.stores:
        values[1] = _held(values[1], place or CPU)
    settings = heard()
    try:
        hush()
        outputs = evaluated(op, values) if place is None else _evaluated(op, values)
    except GraphadError:
        raise
    except Exception as error:  # any error of an eval gets the op's name
        told = [x.place if isinstance(x, Handle) else x for x in inputs]
        error = explained(error, op, told)
        raise error
    finally:
        unhush(settings)
    if op.gives_sizes:
        return tuple([EagerTensor(np.asarray(y)[()]) for y in outputs])
    return tuple([as_tensor(y, place or CPU) for y in outputs])


_graphs = Memo("graphs of ops that run alone on a device", 256)
_lacking = Memo("ops for which the library of devices has lacked a function", 256)


def _evaluated(op: Op, values: Sequence[Any]) -> Sequence[Any]:
    """The outputs of an op on a device: by the device's library; where it has no function for them by kernels; else on the CPU.

    That the library has none is known once the op has run. From then on it is a graph that has nothing else, whose kernels, if
    there are some, are compiled when it is called again; until then, and where there are none, its eval runs.
    """
    if op.alone or op in _lacking:
        graph = _graphs.get(_kind(op, values))
        if graph is None and op.alone:
            graph = _alone(op, values)
        if graph is not None:
            return run(graph, values)
    before = notes.count
    outputs = evaluated(op, values)
    if notes.count != before and not (op.structured or op.effects or op.refers or op.live or op.transient):
        # A graph that cannot be made of unknown sizes leaves the op where it is.
        with suppress(GraphadError):
            _alone(op, values)
            _lacking.keep(op, True)
    return outputs


def _kind(op: Op, values: Sequence[Any]) -> tuple[Any, ...]:
    """What a graph of one op depends on. Sizes are not part of it, but where they decide which numbers are drawn."""
    return (op, *[(x.dtype, x.shape if op.alone else len(x.shape)) for x in values])


def _alone(op: Op, values: Sequence[Any]) -> Graph:
    """The graph that has nothing else than an op for such values."""
    dims = [x.shape if op.alone else (None,) * len(x.shape) for x in values]
    specs = tuple([TensorSpec.of(n, from_numpy(x.dtype)) for n, x in zip(dims, values, strict=True)])
    builder = GraphBuilder()
    inputs = [builder.add_input(spec) for spec in specs]
    outputs = output_specs(op, specs)
    start = builder.add_node(op, inputs, outputs)
    graph = builder.finish([start + k for k in range(len(outputs))], op.name)[0]
    return _graphs.keep(_kind(op, values), graph)  # type: ignore[no-any-return]


def as_tensor(y: DeviceArray | Array, place: str) -> Any:
    """A result as a tensor of a device."""
    if isinstance(y, DeviceArray):
        return DeviceTensor(y)
    return moved(EagerTensor(y), place) if isinstance(y, np.ndarray | np.generic) else EagerTensor(y)


def _held(value: Any, place: str) -> Any:
    """The array of a variable on a device, in C order as kernels need it."""
    if place == CPU:
        return value
    return value.contiguous() if isinstance(value, DeviceArray) else device_array(value, parse(place)[1])


def _place_of(values: Sequence[Any]) -> str | None:
    """The device of values that are not on the CPU; "" for several devices, None for the CPU."""
    found: str | None = None
    for x in values:
        array = x.data if isinstance(x, Handle) else x
        if isinstance(array, DeviceArray):
            place = f"cuda:{array.index}"
            if found not in (None, place):
                return ""
            found = place
    return found


set_place_of(_place_of)
