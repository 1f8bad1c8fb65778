"""Trackable objects as the object graph, and the objects that come out of a file.

Shared objects and cycles keep their identity. What a file cannot hold (plain methods, numbers, tensors as attributes) is
left out, as TensorFlow does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphad.core.errors import GraphadError
from graphad.core.spec import TensorSpec
from graphad.core.trackable import Trackable
from graphad.eager.variable import Variable
from graphad.function.concrete import ConcreteFunction
from graphad.function.polymorphic import Function
from serialization.convert.functions import FunctionReader, FunctionWriter, RestoredFunction
from serialization.convert.graphs import GraphReader, GraphWriter
from serialization.convert.unread import UnreadVariable
from serialization.convert.values import restored_tuple
from serialization.errors import CorruptModelError, SaveError, shown
from serialization.schema.model import (
    AssetNode,
    DictNode,
    FunctionNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    ObjectRecord,
    SignaturesNode,
    TupleNode,
    VariableNode,
)

FUNCTIONS = (Function, ConcreteFunction, RestoredFunction)


class Asset(Trackable):
    """A file that belongs to a model. It is copied on save; after loading, `asset_path` is the copy.

    Args:
      path: The file; checked when the model is saved.
    """

    def __init__(self, path: Any) -> None:
        import os

        self._graphad_path = os.fspath(path)

    @property
    def asset_path(self) -> str:
        return self._graphad_path


class Restored(Trackable):
    """An object from a file: its children are attributes."""

    _graphad_class_name = ""

    def __repr__(self) -> str:
        return f"<restored {self._graphad_class_name or 'object'} at {id(self):#x}>"


class RestoredCallable(Restored):
    """A restored object whose class had a saved `__call__`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["__call__"](*args, **kwargs)


class SignatureMap(Mapping[str, ConcreteFunction]):
    """The signatures of a loaded model: a read-only mapping."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions

    def __getitem__(self, key: str) -> Any:
        return self._functions[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"<signatures: {', '.join(self._functions)}>"


# -- writing -------------------------------------------------------------------------------------------------------------


class ObjectWriter:
    """Walks the object graph breadth first and collects all tables of a model."""

    def __init__(self, root: Any, graphs: GraphWriter) -> None:
        self._graphs = graphs
        self.arrays: dict[str, Any] = {}
        self.assets: list[str] = []
        self._numbers: dict[int, int] = {}
        self._objects: list[Any] = []
        self._children: list[list[tuple[str, int]]] = []
        self._add(root)
        position = 0
        while position < len(self._objects):
            for name, child in _children(self._objects[position]):
                if _is_savable(child):
                    self._children[position].append((name, self._add(child)))
            position += 1
        self.functions = FunctionWriter(graphs, self._numbers)

    def _add(self, x: Any) -> int:
        known = self._numbers.get(id(x))
        if known is None:
            known = self._numbers[id(x)] = len(self._objects)
            self._objects.append(x)
            self._children.append([])
        return known

    def functions_of_root(self) -> list[Any]:
        """The functions that are attributes of the root."""
        return [self._objects[number] for _, number in self._children[0] if isinstance(self._objects[number], FUNCTIONS)]

    def records(self) -> tuple[ObjectRecord, ...]:
        """The table of objects."""
        return tuple(
            [ObjectRecord(self._node(x), tuple(children)) for x, children in zip(self._objects, self._children, strict=True)]
        )

    def _node(self, x: Any) -> Any:
        if isinstance(x, Variable):
            name = f"variable/{len(self.arrays)}"
            self.arrays[name] = np.asarray(x.data)
            dims = None if x.dims is None else tuple(x.dims)
            return VariableNode(x.name, x.dtype.name, dims, x.trainable, name)
        if isinstance(x, ConcreteFunction):
            function, place = self.functions.place_of(x)
            return FunctionNode(function, place)
        if isinstance(x, FUNCTIONS):
            return FunctionNode(self.functions.add(x))
        if isinstance(x, Asset):
            return self._asset(x)
        if isinstance(x, SignatureMap):
            return SignaturesNode()
        if isinstance(x, dict):
            return DictNode(None if all(isinstance(key, str) for key in x) else tuple(x))
        if isinstance(x, tuple):
            names = getattr(x, "_fields", None)
            return TupleNode(type(x).__name__ if names else None, names)
        if isinstance(x, list):
            return ListNode()
        return ModuleNode(getattr(x, "_graphad_class_name", "") or type(x).__name__)

    def _asset(self, x: Asset) -> AssetNode:
        path = x.asset_path
        if path not in self.assets:
            self.assets.append(path)
        return AssetNode(self.assets.index(path))


def _children(x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, (Variable, Asset, SignatureMap, *FUNCTIONS)):
        return
    if isinstance(x, dict):
        keyed = all(isinstance(key, str) for key in x)
        yield from ((key if keyed else str(i), item) for i, (key, item) in enumerate(x.items()))
    elif isinstance(x, list | tuple):
        yield from ((str(i), item) for i, item in enumerate(x))
    elif isinstance(x, Trackable):
        seen = set()
        for name, child in x.named_children():
            seen.add(name)
            yield name, child
        for kind in type(x).__mro__:
            for name, item in vars(kind).items():
                if isinstance(item, Function) and name not in seen:
                    seen.add(name)
                    yield name, getattr(x, name)


def _is_savable(x: Any) -> bool:
    if isinstance(x, (Variable, Trackable, SignatureMap, *FUNCTIONS)):
        return True
    if isinstance(x, dict):
        return any(_is_savable(item) for item in x.values())
    if isinstance(x, list | tuple):
        return any(_is_savable(item) for item in x)
    return False


# -- reading -------------------------------------------------------------------------------------------------------------


class ObjectReader:
    """Makes the objects of a model."""

    def __init__(self, model: ModelRecord, arrays: Any) -> None:
        self._model = model
        self._arrays = arrays
        self._objects: dict[int, Any] = {}
        self.graphs = GraphReader(model, arrays)
        self._functions = FunctionReader(model, arrays, self.graphs, self._variable)

    def root(self) -> Any:
        """The root object with everything below it."""
        records = self._model.objects
        for number, record in enumerate(records):
            if isinstance(record.node, VariableNode):
                self._objects[number] = self._make_variable(record.node)
        signatures = SignatureMap(self._signatures())
        for number, record in enumerate(records):
            if number not in self._objects:
                self._objects[number] = self._make(record, signatures)
        for number in _children_first(records):
            self._fill(number, records[number])
        self.graphs.finish_rules()
        root = self._objects[0]
        if isinstance(root, Restored):
            vars(root)["signatures"] = signatures
        return root

    def _variable(self, number: int) -> Any:
        found = self._objects.get(number)
        if not isinstance(found, Variable):
            raise CorruptModelError(f"object {number} is captured as a variable, but is none.")
        return found

    def _make_variable(self, node: VariableNode) -> Variable:
        if node.shape is not None and any(type(size) is str for size in node.shape):
            raise CorruptModelError(f"variable {shown(node.name)} has named sizes.")
        spec = TensorSpec(node.shape, node.dtype)
        if not self._arrays.is_ready(node.tensor):
            return UnreadVariable.waiting(self._arrays, node.tensor, spec, node.trainable, node.name)
        array = self._arrays[node.tensor]
        if spec.dtype.numpy != array.dtype or not spec.describes(array.shape):
            raise CorruptModelError(f"variable {shown(node.name)} of {spec} holds {array.dtype}{list(array.shape)}.")
        return Variable.restore(array if array.ndim else array[()], spec, node.trainable, node.name)

    def _make(self, record: ObjectRecord, signatures: SignatureMap) -> Any:
        node = record.node
        if isinstance(node, FunctionNode):
            function = self._functions.function(node.function)
            return function if node.concrete is None else function.concrete_functions[node.concrete]
        if isinstance(node, AssetNode):
            return Asset(self._arrays.asset_path(node.asset))
        if isinstance(node, SignaturesNode):
            return signatures
        if isinstance(node, ListNode):
            return []
        if isinstance(node, DictNode):
            return {}
        if isinstance(node, TupleNode):
            return None  # made when its items are there
        callable_ = any(
            name == "__call__" and isinstance(self._model.objects[child].node, FunctionNode)
            for name, child in record.children
        )
        restored = RestoredCallable() if callable_ else Restored()
        restored._graphad_class_name = node.class_name  # type: ignore[union-attr]
        return restored

    def _fill(self, number: int, record: ObjectRecord) -> None:
        node, mine = record.node, self._objects[number]
        items = [(name, self._objects[child]) for name, child in record.children]
        if isinstance(node, ListNode):
            mine.extend(item for _, item in _in_order(items))
        elif isinstance(node, DictNode):
            if node.keys is None:
                mine.update(items)
            else:
                mine.update(zip(node.keys, (item for _, item in _in_order(items)), strict=True))
        elif isinstance(node, TupleNode):
            values = [item for _, item in _in_order(items)]
            names = node.names
            made = tuple(values) if names is None else restored_tuple(node.class_name or "Tuple", names, values)
            self._objects[number] = made
        elif isinstance(node, ModuleNode):
            vars(mine).update(items)

    def _signatures(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for record in self._model.signatures:
            function = self._functions.function(record.function)
            concrete = function.concrete_functions[record.concrete]
            found[record.key] = SignatureFunction(concrete, record.inputs, record.outputs)
        return found


class SignatureFunction:
    """One entry of `loaded.signatures`: called by keyword, it gives a dict."""

    def __init__(self, concrete: ConcreteFunction, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.concrete = concrete
        self.input_names = inputs
        self.output_names = outputs

    @property
    def structured_input_signature(self) -> Any:
        specs = self.concrete.arguments.specs
        named = [TensorSpec(s.dims, s.dtype, n) for s, n in zip(specs, self.input_names, strict=True)]
        return (), dict(zip(self.input_names, named, strict=True))

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        return dict(zip(self.output_names, self.concrete.outputs, strict=True))

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        given = dict(zip(self.input_names, args, strict=False)) | kwargs
        if len(args) > 1 or set(given) != set(self.input_names):
            raise TypeError(
                f"signature: it takes the keywords {', '.join(self.input_names) or '(none)'}; got {', '.join(given) or 'none'}."
            )
        specs = self.concrete.arguments.specs
        values = [self.concrete._checked(given[name], i, specs) for i, name in enumerate(self.input_names)]
        flat = self.concrete.call_flat(values)
        return dict(zip(self.output_names, _flat_outputs(flat), strict=True))

    def __repr__(self) -> str:
        return f"<signature ({', '.join(self.input_names)}) -> ({', '.join(self.output_names)})>"


def _flat_outputs(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list | tuple) else [value]


def _in_order(items: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    try:
        return sorted(items, key=lambda item: int(item[0]))
    except ValueError as cause:
        raise CorruptModelError("the items of a sequence have names that are no numbers.") from cause


def _children_first(records: tuple[ObjectRecord, ...]) -> list[int]:
    """An order in which every tuple comes after the tuples it holds; a tuple cannot hold itself."""
    order: list[int] = []
    state: dict[int, int] = {}
    for start in range(len(records)):
        stack = [(start, False)]
        while stack:
            number, leaving = stack.pop()
            if leaving:
                state[number] = 2
                order.append(number)
                continue
            if state.get(number):
                if state[number] == 1 and isinstance(records[number].node, TupleNode):
                    raise CorruptModelError(f"object {number} is a tuple that holds itself.")
                continue
            state[number] = 1
            stack.append((number, True))
            if isinstance(records[number].node, TupleNode):
                stack.extend((child, False) for _, child in records[number].children)
    return order


def savable_root(obj: Any) -> Any:
    """`obj` itself. Raises: SaveError: it is no trackable object."""
    if isinstance(obj, (Trackable, Variable, *FUNCTIONS)):
        return obj
    raise SaveError(
        f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for export. "
        f"Got {obj!r} with type {type(obj)}."
    )


def as_load_error(error: GraphadError) -> CorruptModelError:
    """A graphad error met while reading, as an error of this package."""
    return CorruptModelError(shown(str(error)))
