"""A concrete function: one graph, the outer values it captures, and the structure of its arguments and results.

Called eagerly without recorders, it passes arrays directly to the executable; otherwise it binds a `call`, so that tapes,
traces and batch levels see one op.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler import executable_of
from graphad.core.bind import bind
from graphad.core.composites import flatten_records
from graphad.core.convert import exports_array, lift, stands_for_tensor
from graphad.core.errors import ArgumentTypeError, DTypeError
from graphad.core.levels import current, trace_in_progress
from graphad.core.nest import only
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import VALUES, EagerTensor, Handle, Tensor
from graphad.function.signature import Arguments, Fitted, Signature, classify, flatten_call, sort_out
from graphad.graph.ir import JIT_COMPILE, Graph

if TYPE_CHECKING:
    from graphad.function.described import FunctionType
    from graphad.ops.control.call import Call

_number = itertools.count()


class Results:
    """The structure of what a function returns: a nest whose leaves are positions among the graph's outputs, or None."""

    __slots__ = ("is_one", "positions", "rebuild")

    def __init__(self, positions: list[int | None], rebuild: Callable[[list[Any]], Any]) -> None:
        self.positions = positions
        self.rebuild = rebuild
        self.is_one = positions == [0] and rebuild is only  # one tensor that is in no container

    def build(self, outputs: Sequence[Any]) -> Any:
        """The nest filled with the outputs."""
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
        self.jit_compile = graph.derived[JIT_COMPILE] = jit_compile
        self._op: Call | None = None
        self._executable: Any = None
        self._names: list[str] | None = None
        self._flat_names: list[str] | None = None
        self._n_arguments = len(graph.inputs) - len(self.captured_inputs)
        self._specs = arguments.specs
        # Whether the arguments are tensors by position.
        self._is_flat = arguments.structure == len(self._specs) and not any(
            spec.is_handle for spec in self._specs
        )
        # The variables that a call must pass, by slot, if the trace depends on their identity.
        self.pinned: dict[int, Any] = {}
        self.serial = next(_number)
        # Returns the function of which it is a trace; None for a function from a file.
        self.origin: Callable[[], Any] | None = None

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> bytes:
        return f"__inference_{self._name}_{self.serial}".encode()

    @property
    def function_name(self) -> str:
        return self._name

    @property
    def inputs(self) -> list[Any]:
        """The specs of the graph's inputs: of tensor arguments, named as tensors are ("x:0"), then of what it captures."""
        specs: list[Any] = list(self.graph.inputs)
        for k, name in enumerate(self.flat_names[: len(specs) - len(self.captured_inputs)]):
            if not specs[k].is_handle:
                specs[k] = TensorSpec(specs[k].dims, specs[k].dtype, f"{name}:0")
        return specs

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
    def captures_elsewhere(self) -> bool:
        """Whether it captures a value on another device than the CPU, which its executable cannot read."""
        return any(x.away for x in self.captured_inputs)

    @property
    def structured_input_signature(self) -> Any:
        """((args...), {kwargs}) with a TensorSpec for each tensor, and the Python values."""
        names = self.argument_names
        shown = [
            leaf.value
            if slot < 0
            else leaf
            if leaf.is_handle
            else TensorSpec(leaf.dims, leaf.dtype, names[slot])
            for leaf, slot in zip(self.arguments.leaves, self.arguments.slots, strict=True)
        ]
        return self.arguments.rebuild(shown)

    @property
    def function_type(self) -> FunctionType:
        """Parameters, result and captures as data: an `inspect.Signature` whose parameters have a `type_constraint`."""
        from graphad.function.described import traced  # which few programs ask for

        return traced(self.signature, self.arguments, self.structured_outputs, self.captured_inputs)

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
        if self._names is None:
            self._names = self.signature.slot_names(self.arguments)
        return self._names

    def __copy__(self) -> ConcreteFunction:
        return self._with_captures(self.captured_inputs)

    def __deepcopy__(self, memo: Any) -> ConcreteFunction:
        """The same graph with copies of the variables and tensors it captured."""
        from copy import deepcopy  # whose caller has it

        return self._with_captures(deepcopy(self.captured_inputs, memo))

    def _with_captures(self, captures: Sequence[Any]) -> ConcreteFunction:
        made = ConcreteFunction(
            self._name, self.graph, captures, self.arguments, self.results, self.signature, self.jit_compile
        )
        made.pinned = dict(self.pinned)
        made.origin = self.origin if captures is self.captured_inputs else None
        return made

    def __reduce__(self) -> Any:
        from graphad.function.pickling import graph_refused

        raise graph_refused(self._name)

    @property
    def flat_names(self) -> list[str]:
        """Argument names after the parameter only; tensors of one structure are numbered: "x", "x_1"."""
        if self._flat_names is None:
            self._flat_names = self.signature.flat_names(self.arguments)
        return self._flat_names

    def named(self, arguments: Arguments) -> ConcreteFunction:
        """The same trace with the tensor names of `arguments`."""
        made = self._with_captures(self.captured_inputs)
        made.arguments = self.arguments.named(arguments.names)
        return made

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self._name}{self.pretty_printed_signature(verbose=False)}>"

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def _repr_html_(self) -> str:
        from graphad.function.printing import page

        return page(f"ConcreteFunction {self._name}", [self])

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Parameters, result and captures, one a line; if not verbose, parameters and result in one line."""
        from graphad.function.printing import block, line

        if not verbose:
            return line(self.signature, self.arguments, self.structured_outputs)
        return block(self.signature, self.arguments, self.structured_outputs, self.captured_inputs)

    # -- calling -----------------------------------------------------------------------------------------------------

    def add_to_graph(self, g: object = None, overwrite: bool = False) -> None:
        """Nothing: TensorFlow keeps functions in a graph by name, here a call holds its function."""

    def add_gradient_functions_to_graph(self, g: object = None) -> None:
        """Nothing, as `add_to_graph`."""

    @property
    def op(self) -> Call:
        """The call as an op, for tapes, traces and batch levels."""
        if self._op is None:
            from graphad.ops.control.call import Call  # imported here, since calls without a level are none

            self._op = Call(self.graph)
        return self._op

    @property
    def executable(self) -> Any:
        """The compiled form of the graph, made at first use."""
        if self._executable is None:
            self._executable = executable_of(self.graph)
        return self._executable

    def call_flat(self, values: Sequence[Any]) -> Any:
        """The structured result for the tensor arguments in order."""
        if current() is None:
            operands: list[Any] = []
            outputs: Sequence[Any]
            for x in (*values, *self.captured_inputs):
                if type(x) is EagerTensor:
                    operands.append(x.data)
                elif isinstance(x, Tensor) or (isinstance(x, Handle) and x.away):
                    # on another device, or out of scope
                    outputs = bind(self.op, *values, *self.captured_inputs)
                    break
                else:
                    operands.append(x)
            else:
                outputs = [EagerTensor(y) for y in self.executable.run(operands, self.jit_compile)]
        else:
            operands = [*values, *self.captured_inputs]
            outputs = bind(self.op, *operands)
            if trace_in_progress() is not None:
                # Imported here, since it loads the specialiser.
                from graphad.function.refined import refined

                outputs = refined(self.graph, operands, outputs)
        return self.results.build(outputs)

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        """Call with the tensors by position or name; Python arguments fixed at trace time may be left out.

        Lists and numbers become tensors where the trace has a tensor. Tensors of other shapes run another trace of the function,
        unless it comes from a file.
        """
        try:
            if not kwargs and self._takes(args):
                return self.call_flat(args)
            values = self._flat_arguments(args, kwargs)
            concrete = self if self._fits(values) else self._for_shapes_of(values)
            return concrete.call_flat(values)
        except Exception as error:  # raised again, with a traceback that ends in the user's code
            from graphad.core.tracebacks import for_user

            raise for_user(error)  # noqa: B904 - it is the same error

    def _takes(self, args: tuple[Any, ...]) -> bool:
        """Whether the arguments are exactly the tensors of the trace, in order, with its dtypes and shapes."""
        specs = self._specs
        if len(args) != len(specs) or not self._is_flat:
            return False
        for x, spec in zip(args, specs, strict=True):
            if type(x) is not EagerTensor:
                return False
            data = x.data
            if data.dtype is not spec.dtype.numpy or not (
                data.shape == spec.dims or spec.describes(data.shape)
            ):
                return False
        return True

    def flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The tensor arguments of a call in the order of the graph's inputs. Raises: ArgumentTypeError: one has another shape."""
        values = self._flat_arguments(args, kwargs)
        self._require_shapes(values)
        return values

    def _fits(self, values: Sequence[Any]) -> bool:
        return all(
            spec.is_handle or spec.is_compatible_with(x) for x, spec in zip(values, self._specs, strict=True)
        )

    def _require_shapes(self, values: Sequence[Any]) -> None:
        for i, x in enumerate(values):
            self._require_shape(i, x)

    def _require_shape(self, i: int, x: Tensor) -> None:
        spec = self._specs[i]
        if not spec.is_handle and not spec.is_compatible_with(x):
            raise ArgumentTypeError(
                f"{self._name}: argument {self.argument_names[i]!r} has shape {format_dims(x.dims)}; this concrete function "
                f"was traced for {format_dims(spec.dims)}, and its result depends on these sizes. Trace it for a "
                "tf.TensorSpec with None where sizes differ, or call the function itself."
            )

    def _for_shapes_of(self, values: Sequence[Any]) -> ConcreteFunction:
        """The trace of the same function for the shapes of these tensors; this graph has its own sizes folded in."""
        if self.origin is None:
            self._require_shapes(values)
            return self
        leaves = [
            values[slot] if slot >= 0 else leaf.value
            for leaf, slot in zip(self.arguments.leaves, self.arguments.slots, strict=True)
        ]
        found: ConcreteFunction = self.origin().concrete_for(sort_out(*self.arguments.rebuild(leaves)))
        return found

    def _flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """As `flat_arguments`, for any shapes."""
        try:
            ordered, named = self._completed(args, kwargs)
            given, _, structure = flatten_call(ordered, named)
            if structure != self.arguments.structure:
                raise ArgumentTypeError(self._difference(ordered, named))
            values: dict[int, Any] = {}
            for mine, slot, x in zip(self.arguments.leaves, self.arguments.slots, given, strict=True):
                if slot >= 0:
                    values.setdefault(slot, self.checked(x.value if isinstance(x, Fitted) else x, slot))
                elif classify(x)[0] != mine:
                    from graphad.function.printing import pretty

                    raise ArgumentTypeError(f"Can not cast {x!r} to {pretty(mine)}")
            return [values[slot] for slot in range(len(values))]
        except ArgumentTypeError as cause:
            return self._by_name(args, kwargs, str(cause), cause)

    def _difference(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """How the structure of arguments differs from that of the trace, by the first parameter where it does."""
        traced, traced_by_name = self.structured_input_signature
        if len(args) > len(traced):
            return (
                f"too many positional arguments: it was traced for {len(traced)}, and {len(args)} are given"
            )
        for name in kwargs:
            if name not in traced_by_name:
                return f"got an unexpected keyword argument {name!r}: it was traced without one"
        pairs = [
            *(
                (self.signature.positional_name(i), *pair)
                for i, pair in enumerate(zip(args, traced, strict=False))
            ),
            *((name, x, traced_by_name[name]) for name, x in kwargs.items()),
        ]
        for name, given, wanted in pairs:
            if flatten_call((given,), {})[2] != flatten_call((wanted,), {})[2]:
                return f"argument {name!r} is {_shown(given)}, and it was traced for {_shown(wanted)}"
        return "the structure of the arguments is not the one that it was traced for"

    def _completed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with omitted Python values filled in from the trace."""
        try:
            bound = self.signature.signature.bind_partial(*args, **kwargs)
        except TypeError as cause:
            raise ArgumentTypeError(str(cause)) from cause
        traced_args, traced_kwargs = self.structured_input_signature
        traced = self.signature.signature.bind_partial(*traced_args, **traced_kwargs).arguments
        for name in self.signature.signature.parameters:
            if name in bound.arguments or name not in traced:
                continue
            if _has_tensors(traced[name]):
                raise ArgumentTypeError(
                    f"missing a required argument: {self._first_of(name, traced[name])!r}"
                )
            bound.arguments[name] = traced[name]
        bound.arguments = {
            name: with_tensors_for_lists(traced.get(name), bound.arguments[name])
            for name in self.signature.signature.parameters
            if name in bound.arguments
        }
        return bound.args, bound.kwargs

    def _first_of(self, name: str, traced: Any) -> str:
        """The name of a parameter's first argument with tensors."""
        kind = self.signature.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            return str(next(key for key, x in traced.items() if _has_tensors(x)))
        return f"{name}_0" if kind is inspect.Parameter.VAR_POSITIONAL else name

    def _by_name(
        self, args: tuple[Tensor, ...], kwargs: dict[str, Any], reason: str, cause: Exception
    ) -> list[Tensor]:
        """The tensor arguments alone, by position and then by name: the calling convention that always works."""
        names = self.argument_names
        if not set(kwargs).issubset(names) and set(kwargs).issubset(self.flat_names):
            names = self.flat_names
        values: list[Any] = list(args)
        wrong = None
        for i, x in enumerate(values):
            if (
                not isinstance(x, (*VALUES, list, tuple))
                and not stands_for_tensor(x)
                and not exports_array(x)
            ):
                wrong = f"expected argument #{i}(zero-based) to be a Tensor; got {type(x).__name__}"
                break
        if wrong is None:
            for name in names[len(values) :]:
                if name not in kwargs:
                    wrong = f"missing argument {name!r}"
                    break
                values.append(kwargs[name])
        unknown = sorted(set(kwargs) - set(names[len(args) :]))
        if wrong is None and len(values) > len(names):
            wrong = f"got {len(values)} tensors for {len(names)} arguments"
        if wrong is None and unknown:
            wrong = f"unknown {unknown}"
        if wrong is not None:
            reason = reason.removeprefix(f"{self._name}: ").rstrip(".")
            fallback = (
                ""
                if reason == wrong
                else f" Fallback to flat signature also failed due to: {self._name}({', '.join(names)}): {wrong}."
            )
            raise ArgumentTypeError(f"{self._name}: {reason}.{fallback}") from cause
        return [self.checked(value, i) for i, value in enumerate(values)]

    def checked(self, value: object, i: int) -> Any:
        """`value` as tensor argument i. Raises: DTypeError, ArgumentTypeError: it does not fit."""
        spec = self._specs[i]
        if isinstance(value, dict | str):
            raise ArgumentTypeError(
                f"expected argument #{i}(zero-based) to be a Tensor; got {type(value).__name__}"
            )
        if spec.is_handle:
            if not isinstance(value, Handle) or value.spec != spec:
                raise ArgumentTypeError(
                    f"argument {self.argument_names[i]!r} must be a variable like {spec!r}"
                )
            return value
        tensor = lift(value) if stands_for_tensor(value) else lift(value, spec.dtype)
        if tensor.dtype is not spec.dtype:
            raise DTypeError(
                f"cannot compute {self.name.decode()} as input #{i}(zero-based) was expected to be a {spec.dtype.name} "
                f"tensor but is a {tensor.dtype.name} tensor: argument {self.argument_names[i]!r} of {self._name}; use tf.cast, "
                f"or trace it for {tensor.dtype.name}."
            )
        if not stands_for_tensor(value):
            self._require_shape(i, tensor)
        return tensor


def _shown(x: Any) -> str:
    """An argument for messages: tensors as dtype and shape, other values as their repr."""
    leaves, rebuild = flatten_records(x)
    return repr(rebuild([_Words(_in_words(leaf)) for leaf in leaves]))


def _in_words(leaf: Any) -> str:
    if isinstance(leaf, Sparse):
        return f"{leaf.title}(shape={format_dims(leaf.dims)}, dtype={leaf.dtype!r})"
    from graphad.function.printing import pretty

    return pretty(_nameless(classify(leaf)[0]))


def _nameless(x: Any) -> Any:
    return TensorSpec.of(x.dims, x.dtype) if isinstance(x, TensorSpec) and not x.is_handle else x


def _has_tensors(x: Any) -> bool:
    return any(isinstance(leaf, TensorSpec) for leaf in flatten_records(x)[0])


class _Words(str):
    __slots__ = ()
    __repr__ = str.__str__


def with_tensors_for_lists(traced: Any, given: Any) -> Any:
    """An argument with lists of numbers converted to tensors where the trace has a tensor, and with no more sizes of sparse
    values known than in the trace."""
    if isinstance(traced, TensorSpec):
        if traced.is_handle or not isinstance(given, list | tuple):
            return given
        tensor = lift(given, traced.dtype)
        return tensor if traced.is_compatible_with(tensor) else given
    if isinstance(traced, Sparse) and isinstance(given, Sparse):
        mine, theirs = traced.record(), given.record()
        is_same = len(mine.values) == len(theirs.values) and traced.dtype is given.dtype
        return mine.form.make(theirs.values) if is_same and are_compatible(traced.dims, given.dims) else given
    if isinstance(traced, dict) and isinstance(given, dict):
        return {key: with_tensors_for_lists(traced.get(key), x) for key, x in given.items()}
    if type(traced) in (list, tuple) and type(given) is type(traced) and len(given) == len(traced):
        return type(given)([with_tensors_for_lists(*pair) for pair in zip(traced, given, strict=True)])
    return given
