"""Functions as records, and the functions that come out of a file.

A restored function picks among its concrete functions as the original did; where none fits, it says what it has.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import GraphadError
from graphad.core.nest import flatten
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle
from graphad.function.concrete import ConcreteFunction, Results
from graphad.function.polymorphic import Function
from graphad.function.signature import Arguments, Literal, ObjectKey, Signature, sort_out
from serialization.convert.graphs import GraphReader, GraphWriter
from serialization.convert.values import (
    Output,
    Unsavable,
    array_of,
    array_record,
    output_leaf,
    spec_leaf,
    value_of,
    value_record,
)
from serialization.errors import CorruptModelError, SaveError, shown
from serialization.schema.model import (
    ConcreteRecord,
    Default,
    FunctionRecord,
    ParameterRecord,
    VariableCapture,
)
from serialization.schema.values import OutputValue, SpecValue

_KINDS = tuple(inspect._ParameterKind)


class UntrackedError(SaveError, AssertionError):
    """A function uses a variable that is not an attribute of the saved object."""


class RestoredFunction:
    """A function from a file.

    Attributes:
      concrete_functions: Its traces, in their order.
    """

    def __init__(self, name: str, signature: Signature, concretes: Sequence[ConcreteFunction]) -> None:
        self._name = name
        self.signature = signature
        self.concrete_functions = list(concretes)
        self.__name__ = name
        self._by_key = {concrete.arguments.key: concrete for concrete in concretes}

    @property
    def name(self) -> str:
        return self._name

    @property
    def input_signature(self) -> Any:
        return self.signature.input_signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self._arguments(args, kwargs)
        concrete = self._by_key.get(arguments.key)
        values: Any = arguments.values
        if concrete is None:
            concrete, values = self._fitting(arguments, args, kwargs)
        return concrete.call_flat(values)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if not self.concrete_functions:
            raise ValueError("Found zero restored functions for caller function.")
        try:
            return self.signature.arguments(args, kwargs)
        except TypeError:
            if self.signature.input_signature is not None:
                raise
            raise self._misfit(args, kwargs) from None

    def _fitting(self, arguments: Arguments, args: Any, kwargs: Any) -> tuple[ConcreteFunction, list[Any]]:
        best: tuple[int, ConcreteFunction, list[Any]] | None = None
        for concrete in self.concrete_functions:
            values = _values_for(concrete.arguments, arguments)
            if values is None:
                continue
            score = sum(_known(leaf) for leaf in concrete.arguments.leaves)
            if best is None or score > best[0]:
                best = score, concrete, values
        if best is None:
            raise self._misfit(args, kwargs)
        return best[1], best[2]

    def _misfit(self, args: Any, kwargs: Any) -> ValueError:
        options = [
            f"Option {k + 1}:\n  {concrete.structured_input_signature!r}"
            for k, concrete in enumerate(self.concrete_functions)
        ]
        got = ", ".join([_described(x) for x in args] + [f"{key}={_described(x)}" for key, x in kwargs.items()])
        return ValueError(
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
            f"  ({got})\nExpected these arguments to match one of the following {len(options)} option(s):\n"
            + "\n".join(options)
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The concrete function for these specs or values. Raises: ValueError: none fits."""
        if not self.concrete_functions:
            raise ValueError("Found zero restored functions for caller function.")
        if not args and not kwargs and self.signature.input_signature is None and len(self.concrete_functions) == 1:
            return self.concrete_functions[0]
        arguments = self.signature.placeholders(args, kwargs)
        return self._by_key.get(arguments.key) or self._fitting(arguments, args, kwargs)[0]

    def experimental_get_tracing_count(self) -> int:
        return len(self.concrete_functions)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        return "\n\n".join(concrete.pretty_printed_signature() for concrete in self.concrete_functions)

    def __repr__(self) -> str:
        return f"<restored function {self._name} with {len(self.concrete_functions)} traces>"


def _values_for(mine: Arguments, theirs: Arguments) -> list[Any] | None:
    """The tensors to pass, or None where the arguments are of another kind; Python numbers become tensors."""
    if mine.structure != theirs.structure or len(mine.leaves) != len(theirs.leaves):
        return None
    values: dict[int, Any] = {}
    for a, b, slot, given in zip(mine.leaves, theirs.leaves, mine.slots, theirs.slots, strict=True):
        if isinstance(a, TensorSpec):
            if isinstance(b, TensorSpec):
                if a.is_handle != b.is_handle or a.dtype is not b.dtype or not a.is_compatible_with(b):
                    return None
                values.setdefault(slot, theirs.values[given])
            elif isinstance(b, Literal) and isinstance(b.value, int | float | complex):
                try:
                    tensor = lift(b.value, a.dtype)
                except GraphadError:
                    return None
                if not a.is_compatible_with(tensor):
                    return None
                values.setdefault(slot, tensor)
            else:
                return None
        elif a != b:
            return None
    return [values[i] for i in range(len(values))]


def _known(leaf: Any) -> int:
    if not isinstance(leaf, TensorSpec) or leaf.dims is None:
        return 0
    return 1 + sum(size is not None for size in leaf.dims)


def _described(x: Any) -> str:
    spec = getattr(x, "spec", None)
    return repr(spec) if isinstance(spec, TensorSpec) else repr(x)[:80]


# -- writing -------------------------------------------------------------------------------------------------------------


class FunctionWriter:
    """Collects the table of functions.

    Args:
      graphs: Where the graphs go.
      objects: id of a variable -> its number in the object graph, filled in before functions are written.
    """

    def __init__(self, graphs: GraphWriter, objects: dict[int, int]) -> None:
        self._graphs = graphs
        self._objects = objects
        self.records: list[FunctionRecord] = []
        self._numbers: dict[int, int] = {}
        self._concretes: dict[int, tuple[int, int]] = {}
        self.skipped: list[str] = []

    def add(self, function: Any) -> int:
        """The number of a Function, RestoredFunction or ConcreteFunction (a function with one trace)."""
        known = self._numbers.get(id(function))
        if known is not None:
            return known
        if isinstance(function, ConcreteFunction):
            concretes, signature, name, options = [function], function.signature, function.function_name, {}
        else:
            if isinstance(function, Function) and function.input_signature is not None:
                function.get_concrete_function()
            concretes, signature, name = function.concrete_functions, function.signature, function.name
            options = {"jit_compile": getattr(function, "jit_compile", None)}
        number = self._numbers[id(function)] = len(self.records)
        self.records.append(None)  # type: ignore[arg-type]
        records = []
        for concrete in concretes:
            record = self._concrete(concrete, name)
            if record is not None:
                self._concretes[id(concrete)] = (number, len(records))
                records.append(record)
        self.records[number] = FunctionRecord(
            name=name,
            parameters=self._parameters(signature, name),
            input_signature=self._value(signature.input_signature, name),
            concretes=tuple(records),
            options=tuple((key, value) for key, value in options.items() if value is not None),
        )
        return number

    def place_of(self, concrete: ConcreteFunction) -> tuple[int, int]:
        """(function, position) of a concrete function, which is added if need be."""
        if id(concrete) not in self._concretes:
            self.add(concrete)
        return self._concretes[id(concrete)]

    def _concrete(self, concrete: ConcreteFunction, name: str) -> ConcreteRecord | None:
        arguments = concrete.arguments
        if len({slot for slot in arguments.slots if slot >= 0}) != sum(slot >= 0 for slot in arguments.slots):
            self.skipped.append(f"{name}: a trace in which one variable is passed twice")
            return None
        if any(isinstance(leaf, ObjectKey) for leaf in arguments.leaves):
            self.skipped.append(f"{name}: a trace for a Python object as argument")
            return None
        shown_leaves = [leaf.value if isinstance(leaf, Literal) else leaf for leaf in arguments.leaves]
        args, kwargs = arguments.rebuild(shown_leaves)
        results = concrete.results
        outputs = results.rebuild([None if p is None else Output(p) for p in results.positions])
        return ConcreteRecord(
            name=concrete.function_name,
            inputs=self._value((tuple(args), dict(kwargs)), name),
            outputs=value_record(outputs, output_leaf),
            graph=self._graphs.add_graph(concrete.graph),
            captures=tuple([self._capture(x, name) for x in concrete.captured_inputs]),
        )

    def _capture(self, x: Any, name: str) -> Any:
        if isinstance(x, Handle):
            number = self._objects.get(id(x))
            if number is None:
                raise UntrackedError(
                    f"Tried to export a function which references an 'untracked' resource. The function {name!r} uses the "
                    f"variable below, which is no attribute of the saved object or of one below it; assign it to one. "
                    f"Trackable referencing this tensor = {x!r}"
                )
            return VariableCapture(number)
        if not isinstance(x, EagerTensor):
            raise SaveError(f"{name}: it captures {x!r}, which has no value.")
        return array_record(x.data, self._graphs.stored)

    def _parameters(self, signature: Signature, name: str) -> tuple[ParameterRecord, ...]:
        records = []
        for parameter in signature.signature.parameters.values():
            default = None
            if parameter.default is not inspect.Parameter.empty:
                default = Default(self._value(parameter.default, name))
            records.append(ParameterRecord(parameter.name, int(parameter.kind), default))
        return tuple(records)

    def _value(self, x: Any, name: str) -> Any:
        try:
            return value_record(x, spec_leaf(self._graphs.add_spec))
        except Unsavable as cause:
            raise SaveError(f"{name}: its signature holds {cause}, which a file cannot hold.") from cause


# -- reading -------------------------------------------------------------------------------------------------------------


class FunctionReader:
    """Makes functions of the records of a model, each once; variables must exist before they are called."""

    def __init__(self, model: Any, arrays: Any, graphs: GraphReader, variables: Any) -> None:
        self._model = model
        self._arrays = arrays
        self._graphs = graphs
        self._variables = variables
        self._functions: dict[int, RestoredFunction] = {}

    def function(self, number: int) -> RestoredFunction:
        """Function number `number` of the table."""
        if number not in self._functions:
            record = self._model.functions[number]
            signature = self._signature(record)
            concretes = [self._concrete(item, signature, dict(record.options)) for item in record.concretes]
            self._functions[number] = RestoredFunction(record.name, signature, concretes)
        return self._functions[number]

    def _leaf(self, record: Any) -> Any:
        if isinstance(record, SpecValue):
            return self._graphs.spec(record.spec)
        raise CorruptModelError(f"a {type(record).__name__} has no place in a signature.")

    def _signature(self, record: FunctionRecord) -> Signature:
        parameters = []
        for item in record.parameters:
            default = inspect.Parameter.empty if item.default is None else value_of(item.default.value, self._leaf)
            try:
                parameters.append(inspect.Parameter(item.name, _KINDS[item.kind], default=default))
            except ValueError as cause:
                raise CorruptModelError(f"function {shown(record.name)}: {shown(str(cause))}.") from cause
        try:
            signature = inspect.Signature(parameters)
        except ValueError as cause:
            raise CorruptModelError(f"function {shown(record.name)}: {shown(str(cause))}.") from cause
        given = value_of(record.input_signature, self._leaf)
        if given is not None and not isinstance(given, tuple):
            raise CorruptModelError(f"function {shown(record.name)}: its input signature is no tuple.")
        return Signature.restore(record.name, signature, given)

    def _concrete(self, record: ConcreteRecord, signature: Signature, options: dict[str, Any]) -> ConcreteFunction:
        nest = value_of(record.inputs, self._leaf)
        if not (isinstance(nest, tuple) and len(nest) == 2 and isinstance(nest[0], tuple) and isinstance(nest[1], dict)):
            raise CorruptModelError(f"concrete function {shown(record.name)}: its inputs are no (args, kwargs).")
        arguments = sort_out(nest[0], nest[1])
        graph = self._graphs.graph(record.graph)
        captures = [self._capture(item) for item in record.captures]
        self._check(record, graph, arguments, captures)
        outputs = value_of(record.outputs, _output)
        leaves, rebuild = flatten(outputs)
        positions = []
        for leaf in leaves:
            if leaf is not None and not (isinstance(leaf, Output) and leaf.number < len(graph.outputs)):
                raise CorruptModelError(f"concrete function {shown(record.name)}: a result that is no output of its graph.")
            positions.append(None if leaf is None else leaf.number)
        jit = options.get("jit_compile")
        return ConcreteFunction(
            record.name,
            graph,
            captures,
            arguments,
            Results(positions, rebuild),
            signature,
            jit if isinstance(jit, bool) else None,
        )

    def _capture(self, record: Any) -> Any:
        if isinstance(record, VariableCapture):
            return self._variables(record.object)
        return EagerTensor(array_of(record, self._arrays))

    def _check(self, record: ConcreteRecord, graph: Any, arguments: Arguments, captures: Sequence[Any]) -> None:
        specs = [*arguments.specs, *(x.spec for x in captures)]
        if len(specs) != len(graph.inputs):
            raise CorruptModelError(
                f"concrete function {shown(record.name)}: {len(specs)} inputs for a graph of {len(graph.inputs)}."
            )
        for mine, theirs in zip(graph.inputs, specs, strict=True):
            fits = mine.dtype is theirs.dtype and mine.is_handle == theirs.is_handle and mine.is_compatible_with(theirs)
            if not fits:
                raise CorruptModelError(f"concrete function {shown(record.name)}: input {theirs} for a graph that takes {mine}.")


def _output(record: Any) -> Any:
    if isinstance(record, OutputValue):
        return Output(record.output)
    raise CorruptModelError(f"a {type(record).__name__} has no place among results.")
