"""What a trace takes, returns and captures, as data: `ConcreteFunction.function_type`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.spec import TensorSpec
from graphad.function.printing import line, typed_parameters
from graphad.function.signature import Arguments, Signature


class Parameter(inspect.Parameter):
    """A parameter of a trace.

    Attributes:
      type_constraint: A TensorSpec, a Python value that the trace is bound to, or a nest of these.
      optional: Whether a call may leave it out: the trace is bound to Python values alone.
    """

    def __init__(self, name: str, kind: Any, type_constraint: Any, optional: bool) -> None:
        super().__init__(name, kind)
        self.type_constraint = type_constraint
        self.optional = optional


class FunctionType(inspect.Signature):
    """The parameters of a trace, with what is fixed about each.

    Attributes:
      output: The nest of results with a TensorSpec for each tensor.
      captures: By the identity of what is captured its TensorSpec.
    """

    def __init__(
        self, signature: Signature, arguments: Arguments, output: Any, captured: Sequence[Any]
    ) -> None:
        typed = typed_parameters(signature, arguments)
        super().__init__(
            [
                Parameter(name, getattr(inspect.Parameter, kind), value, not _has_specs(value))
                for name, kind, value in typed
            ]
        )
        self.output = output
        self.captures = {id(x): x.spec for x in captured}
        self._shown = line(signature, arguments, output)

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"<FunctionType {self._shown}>"


def _has_specs(x: Any) -> bool:
    if isinstance(x, dict):
        return any(map(_has_specs, x.values()))
    return any(map(_has_specs, x)) if isinstance(x, list | tuple) else isinstance(x, TensorSpec)
