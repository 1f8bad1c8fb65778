"""Functions as records, and back: parameters with defaults, traces with their captures, the structure of results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.composites import flatten_composites
from graphad.core.convert import lift
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle
from graphad.function.concrete import ConcreteFunction, Results
from graphad.function.polymorphic import Function
from graphad.function.signature import Arguments, Literal, ObjectKey, Signature, sort_out
from serialization.convert.graphs import GraphReader, GraphWriter
from serialization.convert.living import has_records, living
from serialization.convert.restored import RestoredFunction
from serialization.convert.sparse import result_of
from serialization.convert.values import (
    Output,
    Unsavable,
    array_of,
    output_leaf,
    spec_leaf,
    value_of,
    value_record,
)
from serialization.errors import CorruptModelError, LoadError, SaveError, shown
from serialization.schema.model import (
    ConcreteRecord,
    Default,
    FunctionRecord,
    ParameterRecord,
    VariableCapture,
)
from serialization.schema.values import DictValue, OutputValue, SpecValue, StructValue

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor
    from graphad.graph.ir import Graph
    from graphad.module import Module
    from graphad.ops.sparse.tensor import SparseTensorSpec
    from serialization.saved_model.save import _Given
    from serialization.schema.model import ModelRecord
    from serialization.schema.values import InlineArray, StoredArray
    from serialization.storage.read import LoadedArrays


FUNCTIONS = (Function, ConcreteFunction, RestoredFunction)
ALIASES = "aliases"  # an option of functions: a tuple of other names
_KINDS = tuple(inspect._ParameterKind)
_EMPTY = inspect.Parameter.empty


class UntrackedError(SaveError, AssertionError):
    """A function uses a variable that is not an attribute of the saved object."""


class FunctionWriter:
    """Collects the table of functions.

    Args:
      graphs: Where the graphs go.
      number_of: The number of a variable or of a generator's state in the object graph, None if it is not there.
    Attributes:
      skipped: Why traces were left out, for a warning.
    """

    def __init__(self, graphs: GraphWriter, number_of: Callable[[Handle], int | None]) -> None:
        self._graphs = graphs
        self._number_of = number_of
        self.records: list[FunctionRecord] = []
        self.skipped: list[str] = []
        self._numbers: dict[int, int] = {}
        self._concretes: dict[int, tuple[int, int]] = {}
        self._alive: list[Any] = []

    def add(self, function: Any) -> int:
        """The number of a Function, RestoredFunction or ConcreteFunction (a function with one trace)."""
        known = self._numbers.get(id(function))
        if known is not None:
            return known
        self._alive.append(function)
        if isinstance(function, ConcreteFunction):
            concretes, signature, name = [function], function.signature, function.function_name
        else:
            concretes, signature, name = function.concrete_functions, function.signature, function.name
        number = self._numbers[id(function)] = len(self.records)
        self.records.append(None)  # type: ignore[arg-type]
        records: list[ConcreteRecord] = []
        for concrete in concretes:
            record = self._concrete(concrete, signature, name)
            if record is not None:
                self._concretes[id(concrete)] = (number, len(records))
                records.append(record)
        jit_compile = getattr(function, "jit_compile", None)
        self.records[number] = FunctionRecord(
            name=name,
            parameters=self._parameters(signature),
            input_signature=self._value(signature.input_signature, name),
            concretes=tuple(records),
            options=() if jit_compile is None else (("jit_compile", bool(jit_compile)),),
        )
        return number

    def give_names(self, names: dict[str, int]) -> None:
        """Record other names of functions."""
        for number in sorted(set(names.values())):
            mine = tuple([name for name, function in names.items() if function == number])
            record = self.records[number]
            self.records[number] = record.replace(options=(*record.options, (ALIASES, mine)))

    def place_of(self, concrete: ConcreteFunction) -> tuple[int, int]:
        """(function, position) of a concrete function, which is added if need be.

        Raises: SaveError: it was traced for arguments that a file cannot hold.
        """
        if id(concrete) not in self._concretes:
            self.add(concrete)
        if id(concrete) not in self._concretes:
            raise SaveError(f"{concrete.function_name}: {self.skipped[-1]}")
        return self._concretes[id(concrete)]

    def _concrete(self, concrete: ConcreteFunction, signature: Signature, name: str) -> ConcreteRecord | None:
        arguments = concrete.arguments
        slots = [slot for slot in arguments.slots if slot >= 0]
        if len(set(slots)) != len(slots):
            self.skipped.append(f"{name}: a trace in which one variable is passed twice")
            return None
        defaults = {id(p.default) for p in signature.signature.parameters.values() if p.default is not _EMPTY}
        leaves: list[Any] = []
        for i, leaf in enumerate(arguments.leaves):
            if i in arguments.names and not leaf.is_handle:
                leaves.append(TensorSpec(leaf.dims, leaf.dtype, arguments.names[i]))
            elif isinstance(leaf, ObjectKey):
                if leaf.value is None or id(leaf.value) not in defaults:
                    self.skipped.append(f"{name}: a trace for a Python object ({leaf.label}) as argument")
                    return None
                leaves.append(None)  # a default that cannot be saved becomes None
            else:
                leaves.append(leaf.value if isinstance(leaf, Literal) else leaf)
        args, kwargs = arguments.rebuild(leaves)
        try:
            inputs = value_record((tuple(args), dict(kwargs)), spec_leaf(self._graphs.add_spec))
        except Unsavable as cause:
            self.skipped.append(f"{name}: a trace for {cause} as argument")
            return None
        results = concrete.results
        outputs = results.rebuild([None if p is None else Output(p) for p in results.positions])
        try:
            structure = value_record(outputs, output_leaf)
        except Unsavable as cause:
            raise SaveError(f"{name}: it returns {cause}, which a file cannot hold.") from cause
        try:
            graph = self._graphs.add_graph(concrete.graph)
        except SaveError as cause:
            reason = str(cause.args[0])
            if reason.startswith(f"{concrete.graph.name}:"):
                raise
            raise SaveError(f"{name}: {reason}") from cause  # a branch or a loop of the function
        return ConcreteRecord(
            name=concrete.function_name,
            inputs=inputs,
            outputs=structure,
            graph=graph,
            captures=tuple([self._capture(x, name) for x in concrete.captured_inputs]),
        )

    def _capture(self, x: Handle | Tensor, name: str) -> InlineArray | StoredArray | VariableCapture:
        if isinstance(x, Handle):
            number = self._number_of(x)
            if number is None:
                raise UntrackedError(
                    f"Tried to export a function which references an 'untracked' resource. The function {name!r} uses what is "
                    "shown below, which is not an attribute of the saved object or of one below it; assign it to one. "
                    f"Trackable referencing this tensor = {x!r}"
                )
            return VariableCapture(number)
        if not isinstance(x, EagerTensor):
            raise SaveError(f"{name}: it captures {x!r}, which has no value.")
        return self._graphs.arrays.record(x.data)

    def _parameters(self, signature: Signature) -> tuple[ParameterRecord, ...]:
        records = []
        given = signature.input_signature or ()
        for i, parameter in enumerate(signature.signature.parameters.values()):
            default = None
            if parameter.default is not _EMPTY:
                value = parameter.default
                if i < len(given) and isinstance(given[i], TensorSpec) and isinstance(value, np.ndarray):
                    # Converted as each call does it: in a file it is a tensor, which is not converted.
                    value = lift(value, given[i].dtype)
                try:
                    default = Default(value_record(value, _no_leaf))
                except Unsavable:
                    default = Default(None)  # only the traces made with the default could use it
            records.append(ParameterRecord(parameter.name, int(parameter.kind), default))
        return tuple(records)

    def _value(self, x: tuple[SparseTensorSpec | TensorSpec, ...] | None, name: str) -> Any:
        try:
            return value_record(x, spec_leaf(self._graphs.add_spec))
        except Unsavable as cause:
            raise SaveError(f"{name}: its signature holds {cause}, which a file cannot hold.") from cause


# Results that need no graph.
_FIXED = (bool, int, float, complex, str, bytes)


def _require_outputs(record: Any) -> None:
    """Raise unless numbers and strings are only in fields; items of lists must be outputs of the graph."""
    if type(record) in _FIXED:
        raise CorruptModelError("a result is not an output of its graph.")
    for item in record if type(record) is tuple else getattr(record, "items", ()):
        if isinstance(record, DictValue):
            item = item[1]
        if not isinstance(record, StructValue):
            _require_outputs(item)


def _no_leaf(x: Module | Callable[..., Any]) -> Any:
    raise Unsavable(f"a {type(x).__name__}")


class FunctionReader:
    """Creates functions from the records of a model, each once.

    Args:
      handle: The variable or generator's state that object number n is.
    """

    def __init__(
        self,
        model: ModelRecord,
        arrays: LoadedArrays | _Given,
        graphs: GraphReader,
        handle: Callable[[int], Any],
    ) -> None:
        self._model = model
        self._arrays = arrays
        self._graphs = graphs
        self._handle = handle
        self._functions: dict[int, RestoredFunction] = {}

    def function(self, number: int) -> RestoredFunction:
        """Function number `number` of the table."""
        if number not in self._functions:
            try:
                self._functions[number] = self._read(self._model.functions[number])
            except LoadError as error:
                if not error.path:
                    error.within(number)
                    error.within("functions")
                raise
        return self._functions[number]

    def _read(self, record: FunctionRecord) -> RestoredFunction:
        signature = self._signature(record)
        jit = dict(record.options).get("jit_compile")
        jit_compile = jit if isinstance(jit, bool) else None
        concretes = [self._concrete(item, signature, jit_compile) for item in record.concretes]
        return RestoredFunction(record.name, signature, concretes, jit_compile)

    def _leaf(self, record: SpecValue) -> TensorSpec:
        return self._graphs.spec(record.spec)  # `verify` excludes everything else in a signature

    def _signature(self, record: FunctionRecord) -> Signature:
        try:
            parameters = []
            for item in record.parameters:
                default = _EMPTY if item.default is None else value_of(item.default.value, self._leaf)
                parameters.append(inspect.Parameter(item.name, _KINDS[item.kind], default=default))
            signature = inspect.Signature(parameters)
        except (ValueError, TypeError) as cause:
            if isinstance(cause, LoadError):
                raise
            raise CorruptModelError(f"its parameters make no signature: {shown(str(cause))}.") from cause
        given = value_of(record.input_signature, self._leaf)
        if given is not None and not isinstance(given, tuple):
            raise CorruptModelError("its input signature is not a tuple.")
        return Signature.restore(record.name, signature, given)

    def _concrete(
        self, record: ConcreteRecord, signature: Signature, jit_compile: bool | None
    ) -> ConcreteFunction:
        nest = value_of(record.inputs, self._leaf)
        if not (type(nest) is tuple and len(nest) == 2 and type(nest[0]) is tuple and type(nest[1]) is dict):
            raise CorruptModelError("its inputs are not (args, kwargs).")
        if not all(type(key) is str for key in nest[1]):
            raise CorruptModelError("a keyword argument has a name that is not a string.")
        arguments = sort_out(nest[0], nest[1])
        graph = self._graphs.graph(record.graph)
        captures = [self._capture(item) for item in record.captures]
        self._check(graph, arguments, captures)
        return ConcreteFunction(
            record.name, graph, captures, arguments, self._results(record, graph), signature, jit_compile
        )

    def _results(self, record: ConcreteRecord, graph: Graph) -> Results:
        _require_outputs(record.outputs)
        given = graph.output_specs

        def sparse(value: StructValue, parts: list[Any]) -> Any:
            numbers = [part.number for part in parts if isinstance(part, Output)]
            if len(numbers) < len(parts) or any(number >= len(given) for number in numbers):
                raise CorruptModelError(f"a {value.name} that is not made of outputs of its graph.")
            return result_of(value, parts, [given[number] for number in numbers])

        leaves, rebuild = flatten_composites(value_of(record.outputs, _output, sparse))
        positions: list[int | None] = []
        fixed = {}  # numbers and strings in fields of the result
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, Output) and leaf.number < len(graph.outputs):
                positions.append(leaf.number)
                continue
            if leaf is not None and type(leaf) not in _FIXED:
                raise CorruptModelError("a result is not an output of its graph.")
            positions.append(None)
            if leaf is not None:
                fixed[k] = leaf
        make = rebuild
        if fixed:
            make = lambda new: rebuild([fixed.get(k, y) for k, y in enumerate(new)])  # noqa: E731
        return Results(positions, (lambda new: living(make(new))) if has_records(record.outputs) else make)

    def _capture(self, record: InlineArray | StoredArray | VariableCapture) -> Any:
        if isinstance(record, VariableCapture):
            return self._handle(record.object)
        return EagerTensor(array_of(record, self._arrays))

    def _check(self, graph: Graph, arguments: Arguments, captures: Sequence[Handle | Tensor]) -> None:
        specs = [*arguments.specs, *(x.spec for x in captures)]
        if len(specs) != len(graph.inputs):
            raise CorruptModelError(
                f"{len(specs)} arguments and captures for a graph with {len(graph.inputs)} inputs."
            )
        for mine, theirs in zip(graph.inputs, specs, strict=True):
            if (
                mine.dtype is not theirs.dtype
                or mine.is_handle != theirs.is_handle
                or not mine.describes(theirs.dims)  # the graph's specs rely on this
            ):
                raise CorruptModelError(
                    f"its argument or capture {theirs} does not fit its graph, which takes {mine}."
                )


def _output(record: OutputValue) -> Output:
    return Output(record.output)  # `verify` excludes everything else among results
