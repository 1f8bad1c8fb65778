"""Gradients for user-defined ops: `RegisterGradient`, `no_gradient`, and `new_op`, which defines such an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.frames import user_line
from graphad.core.op import Op, OpType, define
from graphad.core.registry import find, register_gradient
from graphad.core.spec import TensorSpec
from graphad.core.tensor import read_only

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.tensor import Tensor


class RegisterGradient:
    """Decorator: the decorated function is the gradient of the op called `op_type`.

    The function is called as f(op, *upstream) and returns one gradient per input of the op; `op.inputs`, `op.outputs` and
    `op.get_attr(name)` describe the call. The table is process-wide.

    Args:
      op_type: The name of the op, as given to `new_op`.
    Raises:
      ArgumentTypeError (a TypeError): the name is not a string.
      DuplicateGradientError (a KeyError): the op has a gradient already, graphad's own ops included.
    """

    def __init__(self, op_type: object) -> None:
        if not isinstance(op_type, str):
            raise ArgumentTypeError(f"RegisterGradient: op_type must be a string, got {op_type!r}.")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        register_gradient(self._op_type, f, user_line() or "an unknown place")
        return f


def no_gradient(op_type: str) -> None:
    """Declare that the op called `op_type` has no gradient: its inputs get None.

    Args:
      op_type: The name of the op.
    Raises: ArgumentTypeError (a TypeError): the name is not a string; DuplicateGradientError (a KeyError): the op has a gradient
      already.
    """
    register_gradient(op_type, None, user_line() or "an unknown place")


def new_op(
    name: str,
    compute: Callable[..., Any],
    infer: Callable[..., Any] | None = None,
    outputs: int = 1,
) -> Callable[..., Any]:
    """A new op computed by NumPy, to be called on tensors; give it a gradient with `RegisterGradient(name)`.

    Args:
      name: The op's name, used by no other op.
      compute: Called with NumPy arrays that it cannot write to; returns an array, or a tuple of `outputs` arrays, which are
        copied. It must not keep state.
      infer: Called with TensorSpecs; returns the TensorSpec of each output. By default outputs are like the first input.
      outputs: How many outputs there are.
    Returns: A function of tensors.
    Raises: InvalidArgumentError: the name is taken, or there is no output; ArgumentTypeError (a TypeError): the name is
      not text, or `compute` or `infer` cannot be called.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"new_op: name is a {type(name).__name__}; text is needed.")
    for word, given in (("compute", compute), ("infer", infer)):
        if not callable(given) and (given is not None or word == "compute"):
            raise ArgumentTypeError(
                f"new_op: {word} of {name!r} is a {type(given).__name__}; give a function."
            )
    if not isinstance(outputs, int) or isinstance(outputs, bool) or outputs < 1:
        raise InvalidArgumentError(
            f"new_op: {name!r} has outputs={outputs!r}; give how many there are, 1 or more."
        )
    if find(name) is not None:
        raise InvalidArgumentError(f"new_op: there is an op called {name!r} already.")

    def inferred(self: Op, *specs: TensorSpec) -> Any:
        if infer is not None:
            return infer(*specs)
        return specs[0] if outputs == 1 else (specs[0],) * outputs

    body: dict[str, Any] = {
        "name": name,
        "extension": True,
        "foreign": True,
        "multiple": outputs != 1,
        "keeps": (True, True),
        "infer": inferred,
        "eval": lambda self, *values: _protected(compute, values),
        "__doc__": compute.__doc__ or f"The op {name}, added from outside.",
        "__module__": getattr(compute, "__module__", None) or type(compute).__module__,
        "__qualname__": f"{getattr(compute, '__qualname__', name)}.{name}",
    }
    op_class: Any = OpType(name, (Op,), body)
    op: Op = define(op_class)()

    def function(*inputs: Tensor) -> Tensor:
        return bind(op, *[lift(x) for x in inputs])

    function.__name__ = function.__qualname__ = name
    function.__module__ = body["__module__"]
    function.__doc__ = body["__doc__"]
    return function


def _protected(compute: Callable[..., Any], values: Sequence[Array]) -> Array | tuple[Array, ...]:
    """The results of a user's function on shared values: it can write neither to its operands nor, later, to its results."""
    out = compute(*[read_only(x) if type(x) is np.ndarray else x for x in values])
    return tuple([np.array(y) for y in out]) if isinstance(out, list | tuple) else np.array(out)
