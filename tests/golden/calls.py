"""What every function of a golden model computes, for readers that do not run graphad: `calls.npz` beside the model.

    f.c.in.k       argument k of concrete function c of function f
    f.c.out.k      its result k
    f.c.before.n   object n before the call, a variable or generator that it reads and the file does not hold
    f.c.after.n    object n after the call, where it is another value than before

Each call begins with the model as it is in the file.
"""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import graphad as gd
from serialization.convert.objects import ObjectReader
from serialization.schema.model import VariableCapture
from serialization.storage.read import read_model
from tests.golden import wide

UNKNOWN_SIZE = 3
# Arguments that have to be more than numbers of a dtype: by model and function.
GIVEN: dict[tuple[str, str], list[Any]] = {
    ("rich", "draw"): [np.int32(3)],
    ("arrays", "parts"): [None, np.int32(1)],
    ("arrays", "lookups"): [None, np.array([2, 0], np.int32)],
    ("arrays", "made"): [np.int32(3)],
    ("draws", "sized"): [np.array([7, -8], np.int32), np.int32(5)],
    ("draws", "kinds"): [np.array([2**40 + 5, -3], np.int64)],
    ("elementwise", "integers"): [np.array([-7, 0, 9], np.int32), np.int32(3)],
    ("images", "net"): [None, None, np.array([2, 0, 1], np.int32)],
}
GIVEN |= {("references", name): inputs for name, inputs in wide.referring_calls().items()}
GIVEN |= {("samples", name): inputs for name, inputs in wide.referring_calls(wide.MORE_REFERRING).items()}
SIZES: dict[tuple[str, str], list[tuple[int, ...]]] = {
    ("arrays", "shapes"): [(4, 3)],
    ("arrays", "lookups"): [(4, 3), (2,)],
}


def observed_calls(model: Path) -> dict[str, np.ndarray]:
    """All calls of the model in a directory."""
    records, _ = read_model(model)
    found: dict[str, np.ndarray] = {}
    for f, function in enumerate(records.functions):
        for c, concrete in enumerate(function.concretes):
            found |= _call(model, f, c, concrete)
    return found


def _call(model: Path, f: int, c: int, record: Any) -> dict[str, np.ndarray]:
    records, arrays = read_model(model)
    reader = ObjectReader(records, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gd.random.set_seed(11)
        reader.root()
    concrete = reader._functions.function(f).concrete_functions[c]
    name, place = f"{f}.{c}", (model.parent.name, records.functions[f].name)
    specs = concrete.graph.inputs[: len(concrete.graph.inputs) - len(record.captures)]
    given = [_argument(place, name, k, spec) for k, spec in enumerate(specs)]
    handles = {
        capture.object: value
        for capture, value in zip(record.captures, concrete.captured_inputs, strict=True)
        if isinstance(capture, VariableCapture)
    }
    before = {number: np.array(handle.data) for number, handle in handles.items()}
    outputs = concrete.executable.run([*given, *[_raw(x) for x in concrete.captured_inputs]], False)
    found = {f"{name}.in.{k}": np.asarray(x) for k, x in enumerate(given)}
    found |= {f"{name}.out.{k}": np.asarray(y) for k, y in enumerate(outputs)}
    for number, handle in handles.items():
        node = records.objects[number].node
        if getattr(node, "tensor", None) is None:
            found[f"{name}.before.{number}"] = before[number]
        if not np.array_equal(handle.data, before[number]):
            found[f"{name}.after.{number}"] = np.asarray(handle.data)
    return found


def _raw(x: Any) -> Any:
    return x.data if type(x) is gd.Tensor or type(x).__name__ == "EagerTensor" else x


def _argument(place: tuple[str, str], name: str, k: int, spec: Any) -> Any:
    given = GIVEN.get(place, [])
    if k < len(given) and given[k] is not None:
        return given[k]
    if place in SIZES:
        shape = SIZES[place][k]
    else:
        dims = (None,) if spec.dims is None else spec.dims
        shape = tuple([UNKNOWN_SIZE if size is None else size for size in dims])
    chooser = np.random.RandomState(zlib.crc32(f"{place}{name}{k}".encode()))
    dtype = spec.dtype.numpy
    if dtype.kind in "fc":
        return np.asarray(np.round(chooser.uniform(-2, 2, shape), 3)).astype(dtype)[()]
    return np.asarray(chooser.randint(0, 2 if dtype.kind == "b" else 5, shape)).astype(dtype)[()]
