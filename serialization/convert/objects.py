"""Trackable objects as the object graph, and the objects that come out of a file.

Shared objects and cycles keep their identity. Attributes that cannot be saved (plain methods, numbers, tensors) are left out,
as in TensorFlow.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import GraphadError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle
from graphad.core.trackable import PRIVATE, Trackable
from graphad.eager.variable import Variable, VariableAggregation, VariableSynchronization
from graphad.function.concrete import ConcreteFunction
from graphad.function.polymorphic import Function
from serialization.convert.functions import ALIASES, FUNCTIONS, FunctionReader, FunctionWriter
from serialization.convert.generators import is_generator
from serialization.convert.graphs import GraphReader, GraphWriter
from serialization.convert.restored import (
    Asset,
    Restored,
    RestoredCallable,
    RestoredFunction,
    SignatureFunction,
    SignatureMap,
    flat_outputs,
)
from serialization.convert.unread import UnreadVariable
from serialization.convert.values import restored_tuple
from serialization.errors import CorruptModelError, LoadError, SaveError, shown
from serialization.schema.model import (
    AssetNode,
    DictNode,
    FunctionNode,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    NoneNode,
    ObjectRecord,
    SignaturesNode,
    TupleNode,
    VariableNode,
)
from serialization.schema.values import is_key

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor
    from graphad.ops.random.generator import Generator
    from serialization.wire.record import Record


_MISSING = object()
_NONE = object()  # replaces items of lists and tuples that cannot be saved
_LEAVES = (Variable, Asset, SignatureMap, *FUNCTIONS)


class ObjectWriter:
    """Walks the object graph breadth first and collects all tables of a model."""

    def __init__(self, root: object, graphs: GraphWriter) -> None:
        self.graphs = graphs
        self.assets: list[str] = []
        me = weakref.ref(self)  # avoids a cycle, so that saved objects are freed at once
        self.functions = FunctionWriter(graphs, lambda handle: me()._handle_number(handle))  # type: ignore[union-attr]
        self._properties: dict[tuple[int, str], Any] = {}  # functions behind properties, read once
        self._walk(root)
        while self._trace():
            # The first trace of a function may create variables and assign them to attributes.
            self._walk(root)

    def _walk(self, root: object) -> None:
        self._numbers: dict[int, int] = {}
        self._objects: list[Any] = []
        self._paths: list[str] = []
        self._children: list[list[tuple[str, int]]] = []
        self._states: dict[int, int] = {}
        self._add(root, "")
        position = 0
        while position < len(self._objects):
            path = self._paths[position]
            for name, child in self._children_of(self._objects[position]):
                self._children[position].append((name, self._add(child, f"{path}.{name}" if path else name)))
            position += 1

    def _children_of(self, x: Any) -> Iterator[tuple[str, Any]]:
        """The named children of an object, and the functions of its properties, which may differ at each read."""
        seen = set()
        for name, child in _children(x):
            seen.add(name)
            yield name, child
        for name in _properties_of(x):
            if (id(x), name) not in self._properties:
                self._properties[id(x), name] = _given(x, name)
            function = self._properties[id(x), name]
            if function is not None and name not in seen:
                yield name, function

    def _trace(self) -> bool:
        """Trace the functions that have an input signature and no trace yet; returns whether there were any."""
        found = [x for x in self._objects if isinstance(x, Function)]
        new = [f for f in found if f.input_signature is not None and not f.concrete_functions]
        for function in new:
            function.get_concrete_function()
        return bool(new)

    def _add(self, x: object, path: str) -> int:
        known = self._numbers.get(id(x))
        if known is None:
            known = self._numbers[id(x)] = len(self._objects)
            self._objects.append(x)
            self._paths.append(path)
            self._children.append([])
            if is_generator(x):
                self._states[id(x.state)] = known
        return known

    def _handle_number(self, handle: Handle) -> int | None:
        """The object that holds a variable or a generator's state; the process's own generators are added when first used."""
        if isinstance(handle, Variable):
            return self._numbers.get(id(handle))
        known = self._states.get(id(handle))
        if known is None:
            from graphad.ops.random.generator import shared_generators

            for generator in shared_generators().values():
                if generator.state is handle:
                    return self._add(generator, "")
        return known

    def holds(self, handle: Handle | Tensor) -> bool:
        """Whether a captured value can be found again from the root."""
        return not isinstance(handle, Handle) or self._handle_number(handle) is not None

    def functions_of_root(self) -> list[Any]:
        """The functions that are attributes of the root, or the root."""
        found = [self._objects[0], *(self._objects[number] for _, number in self._children[0])]
        return [x for x in found if isinstance(x, FUNCTIONS)]

    def add_functions(self) -> None:
        """Fill the table of functions; those that draw from the process's generators put them at the end of the objects."""
        found = [x for x in self._objects if isinstance(x, FUNCTIONS)]
        for x in found:
            if not isinstance(x, ConcreteFunction):
                self.functions.add(x)
        for x in found:
            if isinstance(x, ConcreteFunction):
                self.functions.place_of(x)  # most belong to a function that is in the table already

    def records(self) -> tuple[ObjectRecord, ...]:
        """The table of objects, when all functions are written."""
        nodes: list[Any] = []
        while len(nodes) < len(self._objects):
            nodes.append(self._node(self._objects[len(nodes)], self._paths[len(nodes)]))
        return tuple(
            [
                ObjectRecord(node, tuple(children))
                for node, children in zip(nodes, self._children, strict=True)
            ]
        )

    def _node(self, x: object, path: str) -> Any:
        if isinstance(x, Variable):
            dims = None if x.dims is None else tuple(x.dims)
            tensor = self.graphs.arrays.store(path, np.asarray(x.here()))
            kept = x.synchronization.value, x.aggregation.value
            return VariableNode(x.name, x.dtype.name, dims, x.trainable, tensor, *kept)
        if isinstance(x, ConcreteFunction):
            function, place = self.functions.place_of(x)
            return FunctionNode(function, place)
        if isinstance(x, FUNCTIONS):
            return FunctionNode(self.functions.add(x))
        if is_generator(x):
            return self._generator(x, path)
        if isinstance(x, Asset):
            return self._asset(x)
        if isinstance(x, SignatureMap):
            return SignaturesNode()
        if isinstance(x, dict):
            kept = tuple(_kept(x))
            return DictNode(None if all(isinstance(key, str) for key in kept) else kept)
        if isinstance(x, tuple):
            names = getattr(x, "_fields", None)
            return TupleNode(None, None) if names is None else TupleNode(type(x).__name__, tuple(names))
        if isinstance(x, list):
            return ListNode()
        if x is _NONE:
            return NoneNode()
        return ModuleNode(getattr(x, "_graphad_class_name", "") or type(x).__name__)

    def _generator(self, x: Generator, path: str) -> GeneratorNode:
        from graphad.ops.random.generator import shared_generators

        for seed, generator in shared_generators().items():
            if generator.state is x.state:
                return GeneratorNode(seed, None)
        return GeneratorNode(None, self.graphs.arrays.store(path, np.asarray(x.state.data)))

    def _asset(self, x: Asset) -> AssetNode:
        path = x.asset_path
        if path not in self.assets:
            self.assets.append(path)
        return AssetNode(self.assets.index(path))


def _is_leaf(x: object) -> bool:
    """Whether an object is a node of its own kind, whose attributes are not walked."""
    return isinstance(x, _LEAVES) or is_generator(x)


def _children(x: object) -> Iterator[tuple[str, Any]]:
    """The named children of an object that a file can hold."""
    if _is_leaf(x):
        return
    if isinstance(x, dict):
        kept = _kept(x)
        by_name = all(isinstance(key, str) for key in kept)
        yield from ((key if by_name else str(i), item) for i, (key, item) in enumerate(kept.items()))
    elif isinstance(x, list | tuple):
        yield from ((str(i), item if is_savable(item) else _NONE) for i, item in enumerate(x))
    elif isinstance(x, Trackable):
        seen = set()
        # looked up on the class, since a restored object may have a child of that name
        for name, child in type(x).named_children(x):
            if is_savable(child):
                if not (isinstance(name, str) and name.isidentifier()):
                    raise SaveError(f"{type(x).__name__}: the attribute {name!r} is not an identifier.")
                seen.add(name)
                yield name, child
        for kind in type(x).__mro__:
            for name, item in vars(kind).items():
                if isinstance(item, Function) and name not in seen:
                    seen.add(name)
                    if name == "__call__" or not (name.startswith("__") and name.endswith("__")):
                        yield name, getattr(x, name)


def _properties_of(x: object) -> list[str]:
    """The properties that users' classes have; graphad's own give no functions."""
    if not isinstance(x, Trackable) or _is_leaf(x):
        return []
    kinds = [
        kind
        for kind in type(x).__mro__
        if kind.__module__.partition(".")[0] not in ("graphad", "serialization")
    ]
    names = (name for kind in kinds for name, item in vars(kind).items() if isinstance(item, property))
    return list(dict.fromkeys(names))


def _given(x: object, name: str) -> Any:
    """The function that a property gives, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(x, name)
    except Exception:  # a property may raise anything before its object is ready
        return None
    return value if isinstance(value, FUNCTIONS) else None


def _kept(x: dict[Any, Any]) -> dict[Any, Any]:
    """The items of a dict that a file can hold."""
    kept = {key: item for key, item in x.items() if is_savable(item)}
    for key in kept:
        if not is_key(key):
            raise SaveError(
                f"a dict has the key {key!r}, a {type(key).__name__}; allowed are str, int, float, bool, None and tuples of them."
            )
    return kept


def is_savable(x: Any) -> bool:
    """Whether a value is a savable object, or a container that has one, or an empty container, at any depth."""
    seen: set[int] = set()
    stack = [x]
    while stack:
        item = stack.pop()
        if isinstance(item, Trackable) or _is_leaf(item):
            return True
        if isinstance(item, list | tuple | dict) and id(item) not in seen:
            if not item:
                return True
            seen.add(id(item))
            stack.extend(item.values() if isinstance(item, dict) else item)
    return False


class ObjectReader:
    """Creates the objects of a model."""

    def __init__(self, model: ModelRecord, arrays: Any) -> None:
        self._model = model
        self._arrays = arrays
        self._objects: list[Any] = [_MISSING] * len(model.objects)
        self.graphs = GraphReader(model, arrays)
        me = weakref.ref(self)
        self._functions = FunctionReader(model, arrays, self.graphs, lambda number: me()._handle(number))  # type: ignore[union-attr]

    def root(self) -> Any:
        """The root object with everything below it."""
        records = self._model.objects
        for number, record in enumerate(records):
            if isinstance(record.node, VariableNode | GeneratorNode):
                self._each(number, lambda node: self._make_handle(node), record.node)
        signatures = SignatureMap(self._signatures())
        for number, record in enumerate(records):
            if self._objects[number] is _MISSING:
                self._each(number, lambda record: self._make(record, signatures), record)
        for number in _tuples_first(records):
            self._fill(number, records[number])
        self.graphs.finish_rules()
        root = self._objects[0]
        if isinstance(root, Restored | RestoredFunction):
            vars(root)["signatures"] = signatures
        return root

    def aliases(self) -> dict[str, RestoredFunction]:
        """The functions by their aliases."""
        found = {}
        for number, record in enumerate(self._model.functions):
            names = dict(record.options).get(ALIASES)
            for name in names if type(names) is tuple else ():
                if type(name) is str:
                    found[name] = self._functions.function(number)
        return found

    def check(self) -> None:
        """Read everything in the tables, whether or not the root needs it.

        Raises: LoadError: something of it is not sound; a model that passes here loads.
        """
        try:
            self.root()
            for number in range(len(self._model.functions)):
                self._functions.function(number)
            for number in range(len(self._model.ops)):
                self.graphs.sub_graphs(number)
                self.graphs.check_op(number)
            for number in range(len(self._model.graphs)):
                self.graphs.graph(number)
            for number, record in enumerate(self._model.rules):
                if record.graph is not None:
                    self.graphs.rule(number)
            self.graphs.finish_rules()
        except GraphadError as error:
            raise as_load_error(error) from error

    def _each(self, number: int, make: Callable[..., Any], record: Record) -> None:
        try:
            self._objects[number] = make(record)
        except LoadError as error:
            if not error.path:
                error.within(number)
                error.within("objects")
            raise

    def _handle(self, number: int) -> Any:
        found = self._objects[number]  # `verify` guarantees a variable or a generator
        if is_generator(found):
            return found.state
        return found

    def _make_handle(self, node: Any) -> Generator | Variable:
        """A variable or a generator; `verify` has compared the node with its tensor's shape and dtype."""
        if isinstance(node, GeneratorNode):
            from graphad.ops.random.generator import Generator, shared_generator

            if node.tensor is None:
                return shared_generator(node.seed)
            return Generator(state=self._arrays[node.tensor])
        if node.shape is not None and any(type(size) is str for size in node.shape):
            raise CorruptModelError(f"variable {shown(node.name)} has named sizes.")
        spec = TensorSpec(node.shape, node.dtype)
        if not self._arrays.is_ready(node.tensor):
            variable = UnreadVariable.waiting(self._arrays, node.tensor, spec, node.trainable, node.name)
        else:
            array = self._arrays[node.tensor]
            variable = Variable.restore(array if array.ndim else array[()], spec, node.trainable, node.name)
        if node.synchronization or node.aggregation:
            variable.synchronization = VariableSynchronization(node.synchronization)
            variable.aggregation = VariableAggregation(node.aggregation)
        return variable

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
        if isinstance(node, TupleNode | NoneNode):
            return None  # a tuple is created after its items
        names = dict(record.children)
        for name in names:
            if name.startswith(PRIVATE):
                raise CorruptModelError(
                    f"{shown(name)} is not a name of an attribute: {PRIVATE}... is never saved."
                )
        restored = RestoredCallable() if self._is_callable(record) else Restored()
        restored._graphad_class_name = node.class_name  # type: ignore[union-attr]
        return restored

    def _is_callable(self, record: ObjectRecord) -> bool:
        """Whether the `__call__` of an object is a function, or another object of which that is true."""
        seen: set[int] = set()
        while True:
            number = dict(record.children).get("__call__")
            if number is None or number in seen:
                return False
            seen.add(number)
            record = self._model.objects[number]
            if isinstance(record.node, FunctionNode):
                return True
            if not isinstance(record.node, ModuleNode):
                return False

    def _fill(self, number: int, record: ObjectRecord) -> None:
        node, mine = record.node, self._objects[number]
        items = [(name, self._objects[child]) for name, child in record.children]
        values = [item for _, item in items]  # `verify` guarantees the order of a sequence
        if isinstance(node, ListNode):
            mine.extend(values)
        elif isinstance(node, DictNode):
            mine.update(items if node.keys is None else zip(node.keys, values, strict=True))
        elif isinstance(node, TupleNode):
            named = node.names is not None
            made = restored_tuple(node.class_name or "Tuple", node.names, values) if named else tuple(values)  # type: ignore[arg-type]
            self._objects[number] = made
        elif isinstance(node, ModuleNode):
            vars(mine).update(items)

    def _signatures(self) -> dict[str, SignatureFunction]:
        found: dict[str, SignatureFunction] = {}
        for number, record in enumerate(self._model.signatures):
            concrete = self._functions.function(record.function).concrete_functions[record.concrete]
            try:
                given = flat_outputs(concrete.structured_outputs)
            except TypeError:  # keys that cannot be sorted
                given = [None]
            if len(given) != len(record.outputs) or not all(isinstance(spec, TensorSpec) for spec in given):
                error = CorruptModelError(
                    "it returns something else than a tensor, a flat sequence or a dict of tensors."
                )
                error.within(number)
                error.within("signatures")
                raise error
            found[record.key] = SignatureFunction(concrete, record.inputs, record.outputs)
        return found


def _tuples_first(records: tuple[ObjectRecord, ...]) -> Iterator[int]:
    """The objects with children: every tuple after the tuples that it holds, then the rest. A tuple cannot hold itself."""
    is_tuple = [type(record.node) is TupleNode for record in records]
    entered, left = 1, 2
    state = bytearray(len(records))
    for start in range(len(records)):
        stack = [start] if is_tuple[start] and not state[start] else []
        while stack:
            number = stack[-1]
            if state[number]:
                stack.pop()
                if state[number] == entered:
                    state[number] = left
                    yield number
                continue
            state[number] = entered
            for _, child in records[number].children:
                if is_tuple[child] and state[child] != left:
                    if state[child] == entered:
                        raise CorruptModelError(f"object {child} is a tuple that holds itself.")
                    stack.append(child)
    for number, record in enumerate(records):
        if record.children and not is_tuple[number]:
            yield number


def savable_root(obj: object) -> Any:
    """`obj` itself. Raises: SaveError: it is not a trackable object."""
    if isinstance(obj, (Trackable, Variable, *FUNCTIONS)):
        return obj
    raise SaveError(
        f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for export. "
        f"Got {obj!r} with type {type(obj)}. Put it on a module: `m = tf.Module(); m.x = ...`."
    )


def as_load_error(error: GraphadError) -> CorruptModelError:
    """A graphad error met while reading, as an error of this package."""
    return CorruptModelError(shown(str(error)))
