"""A concrete function: one graph, the outer values it captures, and the structure of its arguments and results.

Called eagerly with nobody listening, it hands arrays straight to the executable; otherwise it binds a `call`, so that
tapes, traces and batch levels see it as one op.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from graphad.compiler import executable_of
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, GraphadError
from graphad.core.levels import busy, current
from graphad.core.nest import flatten
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.function.signature import Arguments, Literal, Signature
from graphad.graph.ir import Graph
from graphad.ops.control.call import Call

_number = itertools.count()


class Results:
    """The structure of what a function returns: a nest whose leaves are positions among the graph's outputs, or None."""

    __slots__ = ("positions", "rebuild", "single")

    def __init__(self, positions: list[int | None], rebuild: Callable[[list[Any]], Any]) -> None:
        self.positions = positions
        self.rebuild = rebuild
        self.single = positions == [0]

    def build(self, outputs: Sequence[Any]) -> Any:
        """The nest with the outputs in their places."""
        return self.rebuild([None if position is None else outputs[position] for position in self.positions])


class ConcreteFunction:
    """A traced function for one kind of arguments.

    Attributes:
      graph: Its inputs are the tensor arguments in order, then the captures.
      captured_inputs: The outer tensors and variables behind the captures.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        captures: Sequence[Any],
        arguments: Arguments,
        results: Results,
        signature: Signature,
        jit_compile: bool | None = None,
    ) -> None:
        self._name = name
        self.graph = graph
        self.captured_inputs = list(captures)
        self.arguments = arguments
        self.results = results
        self.signature = signature
        self.jit_compile = jit_compile
        self._op = Call(graph)
        self._executable: Any = None
        self._n_arguments = len(graph.inputs) - len(self.captured_inputs)
        self.serial = next(_number)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> bytes:
        return f"__inference_{self._name}_{self.serial}".encode()

    @property
    def function_name(self) -> str:
        return self._name

    @property
    def inputs(self) -> list[TensorSpec]:
        return list(self.graph.inputs)

    @property
    def outputs(self) -> list[TensorSpec]:
        return list(self.graph.output_specs)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables it captures."""
        return tuple(x for x in self.captured_inputs if isinstance(x, Handle))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(x for x in self.variables if x.trainable)

    @property
    def structured_input_signature(self) -> Any:
        """((args...), {kwargs}) with a TensorSpec for each tensor and Python values as they are."""
        shown = [leaf.value if isinstance(leaf, Literal) else leaf for leaf in self.arguments.leaves]
        return self.arguments.rebuild(shown)

    @property
    def structured_outputs(self) -> Any:
        """The nest of results with a TensorSpec for each tensor."""
        return self.results.build(self.outputs)

    @property
    def output_shapes(self) -> Any:
        return self.results.build([spec.shape for spec in self.outputs])

    @property
    def output_dtypes(self) -> Any:
        return self.results.build([spec.dtype for spec in self.outputs])

    @property
    def argument_names(self) -> list[str]:
        """The names by which the tensor arguments can be passed."""
        names = self.signature.parameter_names
        out = []
        for i, spec in enumerate(self.arguments.specs):
            out.append(spec.name or (names[i] if i < len(names) else f"arg_{i}"))
        return out

    def __repr__(self) -> str:
        first = self.pretty_printed_signature().splitlines()[1].strip()
        return f"<ConcreteFunction {self._name}: {first}>"

    def pretty_printed_signature(self) -> str:
        """Parameters, result and captures, one a line."""
        lines = ["Input Parameters:"]
        args, kwargs = self.structured_input_signature
        parameters = list(self.signature.signature.parameters.values())
        for i, value in enumerate(args):
            if i < len(parameters):
                lines.append(f"  {parameters[i].name} ({parameters[i].kind.name}): {_pretty(value)}")
            else:
                lines.append(f"  arg{i} (POSITIONAL_ONLY): {_pretty(value)}")
        for key, value in kwargs.items():
            lines.append(f"  {key} (KEYWORD_ONLY): {_pretty(value)}")
        if len(lines) == 1:
            lines.append("  None")
        lines += ["Output Type:", f"  {_pretty(self.structured_outputs)}", "Captures:"]
        captured = [f"  {i}: {x.spec!r}" for i, x in enumerate(self.captured_inputs)]
        return "\n".join(lines + (captured or ["  None"]))

    # -- calling -----------------------------------------------------------------------------------------------------

    @property
    def executable(self) -> Any:
        """The compiled form of the graph, made at first use."""
        if self._executable is None:
            self._executable = executable_of(self.graph)
        return self._executable

    def call_flat(self, values: Sequence[Any]) -> Any:
        """The structured result for the tensor arguments in order."""
        if busy() is None or current() is None:
            operands = [x.data if type(x) is EagerTensor else x for x in (*values, *self.captured_inputs)]
            for operand in operands:
                if isinstance(operand, Tensor):
                    raise operand.out_of_scope(self._op)  # type: ignore[attr-defined]
            outputs: Sequence[Any] = [EagerTensor(y) for y in self.executable.run(operands, self.jit_compile)]
        else:
            outputs = bind(self._op, *values, *self.captured_inputs)
        return self.results.build(outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call with the tensors by position or name; Python arguments fixed at trace time may be left out."""
        return self.call_flat(self._flat_arguments(args, kwargs))

    def _flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        specs = self.arguments.specs
        try:
            given = self.signature.arguments(args, kwargs)
            if given.structure == self.arguments.structure and given.slots == self.arguments.slots:
                for mine, theirs in zip(self.arguments.leaves, given.leaves, strict=True):
                    if isinstance(mine, Literal) and mine != theirs:
                        raise ArgumentTypeError(f"Can not cast {_pretty(theirs)} to {_pretty(mine)}")
                return [self._checked(value, i, specs) for i, value in enumerate(given.values)]
            reason = "the structure of the arguments differs"
        except GraphadError as error:
            if isinstance(error, DTypeError):
                raise
            reason = str(error)
        return self._by_name(args, kwargs, specs, reason)

    def _by_name(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], specs: Sequence[TensorSpec], reason: str
    ) -> list[Any]:
        names = self.argument_names
        values: list[Any] = list(flatten(list(args))[0])
        values = [
            x
            for x in values
            if not isinstance(x, int | float | str | bool | type(None)) or len(values) <= len(specs)
        ]
        for name in names[len(values) :]:
            if name not in kwargs:
                raise ArgumentTypeError(
                    f"{self._name}: {reason}. Fallback to flat signature also failed due to: {self._name}("
                    f"{', '.join(names)}): missing argument {name!r}."
                )
            values.append(kwargs[name])
        unknown = set(kwargs) - set(names)
        if len(values) > len(specs) or unknown:
            raise ArgumentTypeError(
                f"{self._name}: {reason}. Fallback to flat signature also failed due to: {self._name}({', '.join(names)}): "
                f"got {len(values)} tensors for {len(specs)} arguments"
                + (f", unknown {sorted(unknown)}" if unknown else "")
                + "."
            )
        return [self._checked(value, i, specs) for i, value in enumerate(values)]

    def _checked(self, value: Any, i: int, specs: Sequence[TensorSpec]) -> Any:
        spec = specs[i]
        if isinstance(value, list | tuple | dict | str):
            raise ArgumentTypeError(
                f"{self._name}: Fallback to flat signature also failed due to: {self._name}({', '.join(self.argument_names)}): "
                f"expected argument #{i}(zero-based) to be a Tensor; got {type(value).__name__}"
            )
        if spec.is_handle:
            return value
        tensor = (
            lift(value)
            if isinstance(value, Tensor) or hasattr(value, "__graphad_tensor__")
            else lift(value, spec.dtype)
        )
        if tensor.dtype is not spec.dtype:
            raise DTypeError(
                f"cannot compute {self.name.decode()} as input #{i}(zero-based) was expected to be a {spec.dtype.name} "
                f"tensor but is a {tensor.dtype.name} tensor"
            )
        if not spec.is_compatible_with(tensor):
            raise ArgumentTypeError(
                f"{self._name}: argument {self.argument_names[i]!r} has shape {format_dims(tensor.dims)}; this concrete "
                f"function was traced for {format_dims(spec.dims)}."
            )
        return tensor


def _pretty(x: Any) -> str:
    if isinstance(x, Literal):
        return repr(x)
    if isinstance(x, TensorSpec):
        return repr(TensorSpec(x.dims, x.dtype))
    if isinstance(x, list | tuple):
        inner = ", ".join(_pretty(item) for item in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key!r}: {_pretty(value)}" for key, value in x.items()) + "}"
    return f"Literal[{x!r}]" if isinstance(x, int | float | str | bool) else repr(x)
