"""`save`: an object with its variables, functions and custom gradients into a directory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import graphad
from graphad.core.levels import current
from graphad.core.tensor import Tensor
from graphad.function.concrete import ConcreteFunction
from graphad.function.polymorphic import Function
from serialization.convert.functions import RestoredFunction
from serialization.convert.graphs import GraphWriter
from serialization.convert.objects import ObjectWriter, SignatureFunction, savable_root
from serialization.errors import SaveError
from serialization.saved_model.options import SaveOptions
from serialization.schema.model import ModelRecord, SignatureRecord
from serialization.storage import write_model

DEFAULT_KEY = "serving_default"


class TracedSaveError(SaveError, AssertionError):
    """`save` was called while a function is traced."""


def save(obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: SaveOptions | None = None) -> None:
    """Save an object so that another process can load it, call it, differentiate it and train it further.

    Args:
      obj: A Module or another trackable object; its variables, sub-objects, containers and functions are saved.
      export_dir: A directory; a model that is there is replaced in one step.
      signatures: A function, a concrete function, or a dict of them by key.
      options: See `SaveOptions`.
    Raises:
      SaveError (a ValueError): the object cannot be saved; the message says which part.
      SaveFailedError (also an OSError): the system refused; what was there before is still there.
    """
    level = current()
    while level is not None:
        if getattr(level, "is_trace", False):
            raise TracedSaveError("`tf.saved_model.save` is not supported inside a traced @tf.function.")
        level = level.below
    options = options or SaveOptions()
    root = savable_root(obj)
    if "signatures" in getattr(root, "__dict__", {}) and not _is_own_signatures(root):
        raise SaveError(
            "the object has an attribute called 'signatures', a name that the loaded model needs; del obj.signatures first."
        )
    graphs = GraphWriter(options.experimental_custom_gradients, {})
    objects = ObjectWriter(root, graphs)
    chosen = _signatures(signatures, objects)
    records = objects.records()
    signature_records = [_signature(key, function, objects) for key, function in chosen.items()]
    if objects.functions.skipped:
        warnings.warn("save: left out " + "; ".join(objects.functions.skipped) + ".", stacklevel=2)
    model = ModelRecord(
        producer=f"graphad {graphad.__version__}",
        specs=tuple(graphs.specs),
        ops=tuple(graphs.ops),
        lines=tuple(graphs.lines),
        graphs=tuple(graphs.graphs),
        rules=tuple(graphs.rules),
        functions=tuple(objects.functions.records),
        objects=records,
        signatures=tuple(signature_records),
    )
    write_model(export_dir, model, objects.arrays | graphs.stored, objects.assets, durable=options.durable)


def _is_own_signatures(root: Any) -> bool:
    return type(vars(root)["signatures"]).__name__ == "SignatureMap"


def _signatures(given: Any, objects: ObjectWriter) -> dict[str, ConcreteFunction]:
    if given is None:
        candidates = [
            f
            for f in objects.functions_of_root()
            if isinstance(f, Function | RestoredFunction) and f.input_signature is not None
        ]
        if len(candidates) != 1:
            return {}
        concrete = candidates[0].get_concrete_function()
        return {DEFAULT_KEY: concrete} if _is_flat(concrete) else {}
    listed = dict(given) if isinstance(given, Mapping) else {DEFAULT_KEY: given}
    return {key: _concrete_of(function) for key, function in listed.items()}


def _is_flat(concrete: ConcreteFunction) -> bool:
    try:
        _output_names("", concrete)
    except SaveError:
        return False
    return True


def _concrete_of(function: Any) -> ConcreteFunction:
    if isinstance(function, SignatureFunction):
        return function.concrete
    if isinstance(function, ConcreteFunction):
        return function
    if isinstance(function, Function | RestoredFunction):
        if function.input_signature is None and len(function.concrete_functions) != 1:
            raise SaveError(
                f"signature: {function.name!r} has no input_signature and {len(function.concrete_functions)} traces; pass a "
                "concrete function (get_concrete_function)."
            )
        if function.input_signature is None:
            return function.concrete_functions[0]
        return function.get_concrete_function()
    raise SaveError(f"Expected a TensorFlow function for which to generate a signature, but got {function!r}.")


def _signature(key: str, concrete: ConcreteFunction, objects: ObjectWriter) -> SignatureRecord:
    function, place = objects.functions.place_of(concrete)
    return SignatureRecord(key, function, place, tuple(concrete.argument_names), _output_names(key, concrete))


def _output_names(key: str, concrete: ConcreteFunction) -> tuple[str, ...]:
    results = concrete.structured_outputs
    if isinstance(results, dict):
        names = sorted(results)
        values = [results[name] for name in names]
    elif isinstance(results, list | tuple):
        values = list(results)
        names = [f"output_{i}" for i in range(len(values))]
    else:
        values, names = [results], ["output_0"]
    for value in values:
        if value is None or isinstance(value, list | tuple | dict | Tensor):
            raise SaveError(
                f"Got a non-Tensor value {value!r} for an output of the signature {key!r}; a signature returns a tensor, a "
                "flat sequence of tensors, or a dict of them."
            )
    return tuple(names)
