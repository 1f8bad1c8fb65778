"""`save`: an object with its variables, functions and custom gradients into a directory.

Before writing, the records are read back by the loader, so that no file is made that cannot be loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import graphad
from graphad.core.errors import ArgumentTypeError, GraphadError
from graphad.core.frames import warn_user
from graphad.core.levels import trace_in_progress
from graphad.core.progress import Progress
from graphad.core.spec import TensorSpec
from graphad.function.concrete import ConcreteFunction
from graphad.function.polymorphic import Function
from serialization.convert.graphs import GraphWriter
from serialization.convert.objects import ObjectReader, ObjectWriter, savable_root
from serialization.convert.restored import RestoredFunction, SignatureFunction, SignatureMap
from serialization.errors import LoadError, SaveError
from serialization.saved_model.options import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    SaveOptions,
    directory_of,
    options_of,
)
from serialization.schema.model import ModelRecord, SignatureRecord
from serialization.storage.write import write_model


class TracedSaveError(SaveError, AssertionError):
    """`save` was called while a function is traced."""


class UnreachableError(SaveError, KeyError):
    """A signature uses a variable that is not an attribute of the saved object."""


def save(
    obj: Any,
    export_dir: str | os.PathLike[str],
    signatures: object = None,
    options: SaveOptions | None = None,
) -> None:
    """Save an object so that another process can load it, call it, differentiate it and train it further.

    Args:
      obj: A Module or another trackable object; its variables, sub-objects, containers and functions are saved.
      export_dir: A directory; an existing model is replaced atomically.
      signatures: A function, a concrete function, or a dict of them by key. None: those of a loaded model, or the only
        function of the object that has an input_signature.
      options: See `SaveOptions`.
    Raises:
      ArgumentTypeError (a TypeError): `export_dir` is not a path, or `options` are others.
      SaveError (a ValueError): the object cannot be saved; the message says which part.
      SaveFailedError (also an OSError): the system refused; the previous model is unchanged.
    """
    if trace_in_progress() is not None:
        raise TracedSaveError(
            "`tf.saved_model.save` is not supported inside a traced @tf.function. Call it outside, where the "
            "function has returned."
        )
    export_dir, options = directory_of("save", export_dir), options_of("save", SaveOptions, options)
    root = savable_root(obj)
    own = getattr(root, "__dict__", {}).get("signatures")
    if own is not None and not isinstance(own, SignatureMap):
        raise SaveError(
            "the object has an attribute called 'signatures', a name that the loaded model needs; del obj.signatures first."
        )
    model, objects = _records(root, own if signatures is None else signatures, options)
    arrays = _Given(objects.graphs.arrays.stored)
    _rehearse(model, arrays)
    with Progress("Saving", sum(array.nbytes for array in arrays.values()), "B") as progress:
        write_model(
            export_dir, model, arrays, objects.assets, durable=options.durable, written=progress.advance
        )


def _records(root: Any, signatures: object, options: SaveOptions) -> tuple[ModelRecord, ObjectWriter]:
    graphs = GraphWriter(options.experimental_custom_gradients)
    objects = ObjectWriter(root, graphs)
    chosen = _signatures(signatures, objects)
    if signatures is not None:
        for key, function in chosen.items():
            _require_reachable(key, function, objects)
    objects.add_functions()
    objects.functions.give_names(
        {name: _aliased(name, function, objects) for name, function in options.function_aliases.items()}
    )
    listed = tuple([_signature(key, function, objects) for key, function in chosen.items()])
    records = objects.records()
    if objects.functions.skipped:
        warn_user("save: left out " + "; ".join(objects.functions.skipped) + ".")
    model = ModelRecord(
        producer=f"graphad {graphad.__version__}",
        **graphs.tables(),
        functions=tuple(objects.functions.records),
        objects=records,
        signatures=listed,
    )
    return model, objects


def _aliased(name: str, function: Any, objects: ObjectWriter) -> int:
    """The number of the function for an alias: one of the object's, or the one with the given traces."""
    if (
        isinstance(function, list | tuple)
        and function
        and all(isinstance(x, ConcreteFunction) for x in function)
    ):
        found = {objects.functions.place_of(x)[0] for x in function}
        if len(found) > 1:
            raise SaveError(
                f"function_aliases: the concrete functions under {name!r} are of several functions."
            )
        return found.pop()
    if isinstance(function, ConcreteFunction):
        return objects.functions.place_of(function)[0]
    if isinstance(function, Function | RestoredFunction):
        return objects.functions.add(function)
    raise ArgumentTypeError(
        f"Unsupported type for the function under {name!r} in function_aliases: {function!r}. Give a function, a concrete "
        "function or a list of these."
    )


class _Given(dict[str, Any]):
    """The arrays of an unsaved model, with the interface that the reader expects."""

    def is_ready(self, name: str) -> bool:
        return True

    def asset_path(self, number: int) -> str:
        return ""


def _rehearse(model: ModelRecord, arrays: _Given) -> None:
    """Raise a SaveError unless the model can be loaded."""
    try:
        reader = ObjectReader(model, arrays)
        reader.root()
    except LoadError as error:
        raise SaveError(f"{error.field or 'model'}: {error.reason}") from error
    except GraphadError as error:
        raise SaveError(f"the model could not be loaded: {error}") from error


def _signatures(given: object, objects: ObjectWriter) -> dict[str, ConcreteFunction | SignatureFunction]:
    if given is None:
        found = [_with_signature(f) for f in objects.functions_of_root()]
        fitting = [concrete for concrete in found if concrete is not None and _is_flat(concrete)]
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: fitting[0]} if len(fitting) == 1 else {}
    listed = dict(given) if isinstance(given, Mapping) else {DEFAULT_SERVING_SIGNATURE_DEF_KEY: given}
    for key in listed:
        if not isinstance(key, str):
            raise SaveError(f"signatures: the key {key!r} is not a string.")
    return {key: _concrete_of(function) for key, function in listed.items()}


def _with_signature(function: Any) -> ConcreteFunction | None:
    if isinstance(function, ConcreteFunction):
        return function
    return function.get_concrete_function() if function.input_signature is not None else None


def _is_flat(concrete: ConcreteFunction) -> bool:
    try:
        _output_names("", concrete)
    except SaveError:
        return False
    return True


def _concrete_of(function: object) -> ConcreteFunction | SignatureFunction:
    if isinstance(function, SignatureFunction | ConcreteFunction):
        return function
    if isinstance(function, Function | RestoredFunction):
        if function.input_signature is not None:
            return function.get_concrete_function()
        if len(function.concrete_functions) == 1:
            return function.concrete_functions[0]
        raise SaveError(
            f"signature: {function.name!r} has no input_signature and {len(function.concrete_functions)} traces; pass a "
            "concrete function (get_concrete_function)."
        )
    raise SaveError(
        f"Expected a TensorFlow function for which to generate a signature, but got {function!r}. Give a tf.function that has "
        "an input_signature, a concrete function, or a dict of them by name."
    )


def _require_reachable(
    key: str, function: ConcreteFunction | SignatureFunction, objects: ObjectWriter
) -> None:
    concrete = function.concrete if isinstance(function, SignatureFunction) else function
    for x in concrete.captured_inputs:
        if not objects.holds(x):
            raise UnreachableError(
                f"the signature {key!r} uses {x!r}, which is not reachable from root: it is not an attribute of the saved object "
                "or of one below it; assign it to one."
            )


def _signature(
    key: str, function: ConcreteFunction | SignatureFunction, objects: ObjectWriter
) -> SignatureRecord:
    concrete = function.concrete if isinstance(function, SignatureFunction) else function
    if isinstance(function, SignatureFunction):
        names = function.input_names
    else:
        names = _keywords(key, concrete.flat_names)
    place = objects.functions.place_of(concrete)
    return SignatureRecord(key, *place, names, _output_names(key, concrete))


def _keywords(key: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of specs as keywords, by which a signature is called."""
    found = []
    for name in names:
        plain = re.sub(r"\W", "_", name)
        found.append(plain if plain[:1].isalpha() else f"arg_{plain}")
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise SaveError(
            f"Name collision after sanitization. The signature {key!r} has arguments {list(names)}; as keywords, two of them are "
            f"{twice[0]!r}: give their specs other names."
        )
    return tuple(found)


def _output_names(key: str, concrete: ConcreteFunction) -> tuple[str, ...]:
    results = concrete.structured_outputs
    if isinstance(results, tuple) and hasattr(results, "_fields"):
        names, values = list(results._fields), list(results)
    elif isinstance(results, dict):
        if not all(isinstance(name, str) for name in results):
            raise SaveError(
                f"signature {key!r}: the keys of its outputs must be strings, got {list(results)}."
            )
        names = sorted(results)
        values = [results[name] for name in names]
    elif isinstance(results, list | tuple):
        values = list(results)
        names = [f"output_{i}" for i in range(len(values))]
    else:
        values, names = [results], ["output_0"]
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, TensorSpec):
            raise SaveError(
                f"Got a non-Tensor value {value!r} for output {name!r} of the signature {key!r}; a signature returns a tensor, a "
                "flat sequence of tensors, or a dict of them."
            )
    return tuple(names)
