"""What a function and its traces take, return and capture, as data: `function_type` and `function_spec`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.composites import flatten_records
from graphad.core.spec import TensorSpec
from graphad.function.printing import line, pretty, typed_parameters
from graphad.function.signature import Arguments, Signature


class Parameter(inspect.Parameter):
    """A parameter of a function or of a trace.

    Attributes:
      type_constraint: A TensorSpec, a Python value that the trace is bound to, or a nest of these; None where nothing is fixed.
      optional: Whether a call may leave it out: it has a default, or the trace is bound to Python values alone.
    """

    def __init__(
        self,
        name: str,
        kind: Any,
        type_constraint: Any,
        optional: bool,
        default: Any = inspect.Parameter.empty,
    ) -> None:
        super().__init__(name, kind, default=default)
        self.type_constraint = type_constraint
        self.optional = optional

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.type_constraint == getattr(other, "type_constraint", None)

    __hash__ = inspect.Parameter.__hash__


class FunctionType(inspect.Signature):
    """The parameters of a function or of a trace, with what is fixed about each.

    Attributes:
      output: The nest of results with a TensorSpec for each tensor; None for a function.
      captures: By the identity of what is captured its TensorSpec.
      flat_inputs, flat_outputs, flat_captures: Lists of the TensorSpecs of arguments, results and captures.
    """

    def __init__(
        self, parameters: Sequence[Parameter], shown: str, output: Any = None, captured: Sequence[Any] = ()
    ) -> None:
        super().__init__(parameters)
        self.output = output
        self.captures = {id(x): x.spec for x in captured}
        self.flat_inputs = [spec for p in parameters for spec in _specs(p.type_constraint)]
        self.flat_outputs = _specs(output)
        self.flat_captures = list(self.captures.values())
        self._shown = shown

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"<FunctionType {self._shown}>"


class FunctionSpec:
    """What a function declares about its arguments: `Function.function_spec`.

    Attributes:
      function_type: The parameters with what the input signature fixes.
      arg_names: The names of the positional parameters.
      default_values: The defaults by name.
      fullargspec: The parameters as those of `inspect.getfullargspec`.
      input_signature, flat_input_signature: The input signature as it was given, and its TensorSpecs in a row.
      jit_compile: As it was given to `function`.
      is_pure: False: a function may have effects.
    """

    is_pure = False

    def __init__(self, signature: Signature, jit_compile: bool | None) -> None:
        self.function_type = declared(signature)
        self.input_signature = signature.input_signature
        self.jit_compile = jit_compile
        found = signature.signature.parameters.values()
        self.arg_names = signature.parameter_names
        self.default_values = {p.name: p.default for p in found if p.default is not p.empty}
        self.flat_input_signature = tuple(_specs(self.input_signature))

        def names(kind: Any) -> list[str]:
            return [p.name for p in found if p.kind is kind]

        kinds = inspect.Parameter
        defaults = tuple(self.default_values[name] for name in self.arg_names if name in self.default_values)
        keywords = names(kinds.KEYWORD_ONLY)
        self.fullargspec = inspect.FullArgSpec(
            self.arg_names,
            next(iter(names(kinds.VAR_POSITIONAL)), None),
            next(iter(names(kinds.VAR_KEYWORD)), None),
            defaults or None,
            keywords,
            {k: self.default_values[k] for k in keywords if k in self.default_values} or None,
            {},
        )

    def signature_summary(self, default_values: bool = False) -> str:
        """The parameters, one a line, as `pretty_printed_signature` shows them."""
        lines = ["Input Parameters:"]
        for p in self.function_type.parameters.values():
            fixed = "None" if p.type_constraint is None else pretty(p.type_constraint)  # type: ignore[attr-defined]
            lines.append(f"  {p.name} ({p.kind.name}): {fixed}")
        lines += ["Output Type:", "  None", "Captures:", "  None"]
        if default_values and self.default_values:
            lines.append("Defaults:")
            lines += [f"  {name}: {value!r}" for name, value in self.default_values.items()]
        return "\n".join(lines)


def declared(signature: Signature) -> FunctionType:
    """What a function declares."""
    given = dict(zip(signature.parameter_names, signature.input_signature or (), strict=False))
    found = [
        Parameter(p.name, p.kind, given.get(p.name), p.default is not p.empty, p.default)
        for p in signature.signature.parameters.values()
    ]
    return FunctionType(found, signature.shown())


def traced(signature: Signature, arguments: Arguments, output: Any, captured: Sequence[Any]) -> FunctionType:
    """What a trace takes, returns and captures."""
    found = [
        Parameter(name, getattr(inspect.Parameter, kind), value, not _specs(value))
        for name, kind, value in typed_parameters(signature, arguments)
    ]
    return FunctionType(found, line(signature, arguments, output), output, captured)


def _specs(x: Any) -> list[TensorSpec]:
    return [leaf for leaf in flatten_records(x)[0] if isinstance(leaf, TensorSpec)]
