"""Weights in Keras' own files: `.weights.h5`, `.keras` (a zip with one inside) and the older `.h5`.

Only arrays are read: nothing of a model's configuration is looked at, let alone run. Newer files name weights by the
attributes that lead to them, items of lists by their class and a count, the weights of one layer by their position; older ones
list layers, and the weights of each, in order.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.trackable import PRIVATE
from graphad.eager.variable import Variable
from graphad.layers.base import Layer, kind_in_snake_case
from graphad.layers.sequential import Sequential
from graphad.module import Module
from serialization.checkpoint.restore import assign_all
from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    MissingModelError,
    UnsupportedModelError,
    shown,
)
from serialization.hdf5 import Dataset, File, Group
from serialization.saved_model.options import path_of_user
from serialization.wire.files import Directory, read_exactly
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.record import Record

_INSIDE = "model.weights.h5"
_HDF5, _ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"
_EXPANDED = 64 << 20  # accepted uncompressed size of a zip; beyond it only plausible compression ratios
_RATIO = 20
_DEEP = 64
_LISTED = 10
_OWN = "top_level_model_weights"  # where older files have the weights of the model itself, after those of its layers
_COMPILED = ("optimizer/", "metrics/")


class KerasWeights(Record):
    """The data sets of a file, by path; `layers` are the older form's: for each layer its name and its data sets in order."""

    place: str
    datasets: dict[str, Dataset]
    layers: tuple[tuple[str, tuple[Dataset, ...]], ...] | None


def is_keras_file(path: str) -> bool:
    """Whether a path is a file that begins as Keras' files do."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError:
        return False
    return start == _HDF5 or start.startswith(_ZIP)


def load_keras_weights(
    path: str | os.PathLike[str], limits: Limits | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """All weights of a file that Keras has written, by path: "layers/dense/vars/0", or "dense/kernel" in the older form.

    Args:
      path: A `.weights.h5`, `.keras` or `.h5` file.
      limits: Bounds on sizes and counts, see `serialization.wire.limits.Limits`.
    Returns: Arrays with memory of their own.
    Raises:
      MissingModelError (an OSError): there is no such file.
      LoadError (a ValueError): it is damaged, too large, or stored in a way that Keras does not use.
    """
    weights = open_keras_weights(path_of_user("load_keras_weights", path), limits or DEFAULT_LIMITS)
    found = {}
    for name, dataset in weights.datasets.items():
        found[name] = _read(weights, name, dataset)
    return found


def open_keras_weights(path: str, limits: Limits = DEFAULT_LIMITS) -> KerasWeights:
    """The weights of a file, opened."""
    try:
        data = _contents(path, limits)
        file = File(data, limits)
        weights = _weights(path, file)
        total = sum(dataset.size for dataset in weights.datasets.values())
        if total > len(data):
            # in a file written by a library no two overlap
            raise CorruptModelError(f"weights of {total} bytes in a file of {len(data)}.")
    except LoadError as error:
        error.file = error.file or path
        raise
    return weights


def _contents(path: str, limits: Limits) -> Any:
    directory, name = os.path.split(path)
    try:
        with Directory(directory or os.curdir, follow=True) as opened:
            descriptor, size = opened.open(name)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingModelError(f"load_weights: there is no file at {path!r}.") from None
    try:
        start = bytes(read_exactly(descriptor, min(size, 8)))
        if start.startswith(_ZIP):
            with open(descriptor, "rb", closefd=False) as file:
                file.seek(0)
                return _unpacked(file, limits)
        if start != _HDF5:
            raise CorruptModelError("it is neither HDF5 nor a .keras file, by its first bytes.")
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def _unpacked(file: io.BufferedReader, limits: Limits) -> bytes:
    """The weights inside of a .keras file."""
    try:
        with zipfile.ZipFile(file) as archive:
            if _INSIDE not in archive.namelist():
                raise UnsupportedModelError(
                    f"there is no {_INSIDE} in it: it is not a .keras file, or its weights are spread out."
                )
            entry = archive.getinfo(_INSIDE)
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise UnsupportedModelError(
                    f"{_INSIDE} is compressed in a way (number {entry.compress_type}) that Keras does not use."
                )
            size = entry.file_size
            if size > limits.payload_bytes or size > max(_EXPANDED, _RATIO * entry.compress_size):
                raise LimitExceededError(f"{size} bytes of weights packed into {entry.compress_size}.")
            with archive.open(entry) as inside:
                data = inside.read(size)
                if len(data) != size or inside.read(1):
                    raise CorruptModelError(f"{_INSIDE} is not as long as it says.")
            return data
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OverflowError,
    ) as error:
        raise CorruptModelError(f"the zip is damaged: {shown(str(error))}.") from None
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, LoadError):
            raise
        raise CorruptModelError(f"the zip is damaged: {shown(str(error))}.") from None


def _weights(place: str, file: File) -> KerasWeights:
    top = dict(file.root.items())
    inner = top.get("model_weights")
    group = inner if isinstance(inner, Group) else file.root
    names = _strings(group, "layer_names")
    if names is None:
        return KerasWeights(place, dict(_walk(file.root)), None)
    below = dict(group.items())
    layers = []
    datasets = {}
    for name in [*names, _OWN] if isinstance(below.get(_OWN), Group) else names:
        layer = below.get(name)
        if not isinstance(layer, Group):
            raise CorruptModelError(f"there is no group of the layer {shown(name)}.")
        found = dict(_walk(layer))
        listed = []
        for weight in _strings(layer, "weight_names") or []:
            if weight not in found:
                raise CorruptModelError(f"the layer {shown(name)} has no weight {shown(weight)}.")
            listed.append(found[weight])
            datasets[weight if weight not in datasets else f"{name}/{weight}"] = found[weight]
        layers.append((name, tuple(listed)))
    return KerasWeights(place, datasets, tuple(layers))


def _strings(group: Group, name: str) -> list[str] | None:
    """A list of names; a long one is split over several attributes."""
    found = group.strings(name)
    if found is not None:
        return found
    parts: list[str] = []
    number = 0
    while (part := group.strings(f"{name}{number}")) is not None:
        parts += part
        number += 1
    return parts if number else None


def _walk(group: Group) -> Iterator[tuple[str, Dataset]]:
    """The data sets of numbers below a group, by path."""
    stack = [("", group, 0)]
    while stack:
        path, outer, depth = stack.pop()
        if depth > _DEEP:
            raise LimitExceededError(f"groups nested deeper than {_DEEP}; one may be inside of itself.")
        for name, found in outer.items():
            inner = f"{path}/{name}" if path else name
            group.file.count(len(inner))  # every path below repeats a long name
            if isinstance(found, Group):
                stack.append((inner, found, depth + 1))
            else:
                yield inner, found


def _read(weights: KerasWeights, name: str, dataset: Dataset) -> np.ndarray[Any, Any]:
    try:
        return dataset.read()
    except LoadError as error:
        error.file = error.file or weights.place
        error.within(shown(name))
        raise


# -- into a model ------------------------------------------------------------------------------------------------------


def load_into(
    model: Module, weights: KerasWeights, skip_mismatch: bool = False, by_name: bool = False
) -> None:
    """Load the weights of a file into a built model, all or none.

    Args:
      skip_mismatch: Load those that fit, and warn of the others.
      by_name: Load into layers whose names are in an older file, and leave the others.
    Raises: InvalidArgumentError (a ValueError): they do not fit; the message lists weights that only the file or only the model
    has, and shapes that differ.
    """
    if by_name and weights.layers is None:
        raise InvalidArgumentError(
            f"load_weights: by_name is for older .h5 files, which list layers by name; {weights.place} does not."
        )
    if by_name:
        mine, theirs = dict(_named(model)), _named_in(weights)
        known = {path.rpartition(",")[0] for path in mine} & {path.rpartition(",")[0] for path in theirs}
        mine = {path: variable for path, variable in mine.items() if path.rpartition(",")[0] in known}
        theirs = {path: dataset for path, dataset in theirs.items() if path.rpartition(",")[0] in known}
    elif weights.layers is None:
        mine = _by_path(model, weights.datasets)
        theirs = _of_model(weights.datasets, mine)
    else:
        mine, theirs = dict(_by_order(model)), _ordered(weights)
    wrong = []
    for path in sorted({*mine, *theirs}):
        variable, dataset = mine.get(path), theirs.get(path)
        if variable is None:
            assert dataset is not None
            wrong.append(
                f"{shown(path)}: {dataset.dtype} of shape {dataset.shape} in the file, nothing in the model"
            )
        elif dataset is None:
            wrong.append(
                f"{shown(path)}: {variable.name} of shape {format_dims(variable.dims)} in the model, nothing in the file"
            )
        elif not variable.spec.describes(dataset.shape):
            wrong.append(
                f"{shown(path)}: shape {dataset.shape} in the file, {format_dims(variable.dims)} for {variable.name} in the model"
            )
    listed = "\n  ".join(wrong[:_LISTED]) + (
        f"\n  and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
    )
    if wrong and not skip_mismatch:
        raise InvalidArgumentError(
            f"load_weights: {len(wrong)} weights of {weights.place} do not fit the model; nothing has been loaded. "
            f"A model must be built, by a call or by build(), before weights of Keras are loaded:\n  {listed}"
        )
    values = []
    for path, variable in mine.items():
        dataset = theirs.get(path)
        if dataset is not None and variable.spec.describes(dataset.shape):
            array = _read(weights, path, dataset)
            values.append((variable, array.astype(variable.data.dtype, copy=False)))
    assign_all(values)
    if wrong:
        warnings.warn(
            f"load_weights: {len(wrong)} weights of {weights.place} do not fit the model and were left out:\n  {listed}",
            stacklevel=4,
        )


def _of_model(datasets: dict[str, Dataset], mine: dict[str, Variable]) -> dict[str, Dataset]:
    """The weights of a file without what compiled models of Keras have besides: an optimizer, metrics, and states of random
    generators."""
    return {
        path: dataset
        for path, dataset in datasets.items()
        if path in mine or not (path.startswith(_COMPILED) or "/seed_generator/" in f"/{path}")
    }


def _ordered(weights: KerasWeights) -> dict[str, Dataset]:
    with_weights = [(name, listed) for name, listed in weights.layers or () if listed]
    return {
        f"layer {i}, weight {k}": one
        for i, (_, listed) in enumerate(with_weights)
        for k, one in enumerate(listed)
    }


def _by_order(model: Module) -> Iterator[tuple[str, Variable]]:
    with_weights = [listed for _, listed in _listed(model) if listed]
    for i, listed in enumerate(with_weights):
        for k, variable in enumerate(listed):
            yield f"layer {i}, weight {k}", variable


def _listed(model: Module) -> Iterator[tuple[str, list[Variable]]]:
    """The names of layers with their weights in the order of older files, and last the weights of the model itself."""
    for layer in _layers(model):
        yield layer.name, [*layer.trainable_weights, *layer.non_trainable_weights]
    yield _OWN, [] if isinstance(model, Sequential) else _own(model)


def _layers(model: Module) -> list[Layer]:
    """The layers of a model in Keras' order: those of its attributes, and in lists and dicts that are attributes, each once."""
    if isinstance(model, Sequential):
        return [x for x in model.layers if isinstance(x, Layer)]
    found: dict[int, Layer] = {}

    def collect(x: Any) -> None:
        if isinstance(x, Layer):
            found.setdefault(id(x), x)
        elif isinstance(x, dict):
            for key in sorted(x, key=str):
                collect(x[key])
        elif isinstance(x, list | tuple):
            for item in x:
                collect(item)

    for _, child in _children(model):
        collect(child)
    return list(found.values())


def _named(model: Module) -> Iterator[tuple[str, Variable]]:
    for name, listed in _listed(model):
        for k, variable in enumerate(listed):
            yield f"layer {name!r}, weight {k}", variable


def _named_in(weights: KerasWeights) -> dict[str, Dataset]:
    return {
        f"layer {name!r}, weight {k}": one
        for name, listed in weights.layers or ()
        for k, one in enumerate(listed)
    }


def _by_path(model: Module, datasets: dict[str, Dataset]) -> dict[str, Variable]:
    """The variables of a model by Keras' path, the first one on which it reaches each layer.

    It visits attributes by name, every version in an order of its own, which shows in the paths of the file alone.
    """
    tried: list[dict[str, Variable]] = []
    for visits in (_private_last, _plainly, _backwards):
        mine = dict(_paths(model, datasets, visits))
        reached = {id(variable) for variable in mine.values()}
        mine |= {f"({x.name})": x for x in model.variables if id(x) not in reached}  # to which no path leads
        if mine.keys() == _of_model(datasets, mine).keys():
            return mine
        tried.append(mine)
    return min(tried, key=lambda mine: len(mine.keys() ^ _of_model(datasets, mine).keys()))


def _private_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.startswith("_"), name))


def _plainly(names: Iterable[str]) -> list[str]:
    return sorted(names)


def _backwards(names: Iterable[str]) -> list[str]:
    """The order of Keras 2, which looks into no list inside of a list, and does not count what it has visited."""
    return sorted(names, reverse=True)


def _paths(
    model: Module, datasets: dict[str, Dataset], visits: Callable[[Iterable[str]], list[str]]
) -> Iterator[tuple[str, Variable]]:
    """The variables of a model by path, with attributes in the order that `visits` gives.

    A model of Keras has an attribute `layers` besides, a list of all of them; whether what is a layer here was a model there
    shows in the file.
    """
    seen = {id(model)}
    is_older = visits is _backwards
    groups = {path[: at.start()] for path in datasets for at in re.finditer("/", path)}

    def visit(x: Module, path: str) -> Iterator[tuple[str, Variable]]:
        for position, variable in enumerate(_own(x)):
            yield _join(path, f"vars/{position}"), variable
        children = dict(_children(x))
        if "layers" not in children and _join(path, "layers") in groups:
            layers = {id(part): part for part in x._graphad_parts() if isinstance(part, Layer)}  # each once
            children["layers"] = list(layers.values())
        for name in visits(children):
            yield from reach(children[name], _join(path, name))

    def reach(x: Any, path: str) -> Iterator[tuple[str, Variable]]:
        if isinstance(x, Module):
            if id(x) not in seen:
                seen.add(id(x))
                yield from visit(x, path)
            return
        used: Counter[str] = Counter()
        for item in x.values() if isinstance(x, dict) else x:
            if not isinstance(item, Module) and (is_older or not isinstance(item, list | tuple | dict)):
                continue
            if is_older and id(item) in seen:
                continue
            kind = kind_in_snake_case(type(item).__name__) if isinstance(item, Module) else "container"
            count = used[kind]
            used[kind] += 1
            yield from reach(item, f"{path}/{kind}_{count}" if count else f"{path}/{kind}")

    return visit(model, "")


def _own(x: Module) -> list[Variable]:
    """The variables of a layer itself, those that are trained first."""
    if isinstance(x, Layer):
        trained = {id(variable) for variable in x._graphad_trained}
        return sorted(x._graphad_weights, key=lambda variable: id(variable) not in trained)
    return [value for _, value in sorted(vars(x).items()) if isinstance(value, Variable)]


def _children(x: Module) -> Iterator[tuple[str, Any]]:
    for name, child in vars(x).items():
        if not name.startswith(PRIVATE) and isinstance(child, Module | list | tuple | dict):
            yield name, child


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
