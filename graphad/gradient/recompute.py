"""`recompute_grad` and `grad_pass_through`: two custom gradients that serve any function.

The first trades time for memory: the function's intermediate values are not kept, and its gradient runs it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graphad.autograph.convert import converted_here
from graphad.core.composites import flatten_present, flatten_records
from graphad.core.tensor import Tensor
from graphad.gradient.custom import call_with_rule, custom_gradient, require_function, unrecorded
from graphad.gradient.tape import GradientTape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphad.core.tensor import Handle
    from graphad.eager.variable import Variable


P = ParamSpec("P")
R = TypeVar("R")


def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """The same function; its gradient recomputes the intermediate values instead of keeping them.

    Args:
      f: A function of tensors without side effects. Variables that it reads get gradients too, and so do tensors that it takes
        from outside.
    Returns: A function called like `f`; `__wrapped__` is `f`. Keyword arguments are passed on and not differentiated.
    Raises: ArgumentTypeError (a TypeError): `f` is no function, or, when it is called, an argument that no tensor is made of.
    Source: Griewank and Walther, Evaluating Derivatives, 2008, chapter 12.
    """

    require_function("recompute_grad", f, "computes tensors")

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        form = None  # of a result that holds None
        run = converted_here(f)

        def once(*inner: Any) -> Any:
            nonlocal form
            with unrecorded():
                value: Any = run(*inner, **kwargs)
            leaves, rebuild = flatten_present(value)
            if len(leaves) < len(flatten_records(value)[0]):
                form, value = rebuild, leaves

            def backward(*upstream: Tensor, variables: Sequence[Handle | Tensor] | None = None) -> Any:
                xs = [x for x in flatten_records(list(inner))[0] if isinstance(x, Tensor)]
                others = [x for x in variables or () if isinstance(x, Tensor)]  # from outside of f
                followed = [x for x in (*xs, *others) if x.dtype.is_differentiable]
                with GradientTape() as tape:
                    tape.watch(followed)
                    again = flatten_present(run(*inner, **kwargs))[0]
                bars = tape.gradient(again, [*xs, *(variables or ())], output_gradients=list(upstream))
                return (bars[: len(xs)], bars[len(xs) :]) if variables else bars

            return value, backward

        result = call_with_rule(once, args, {}, captures=True)
        return result if form is None else form(result)

    return wrapper


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """The value of `f` with the gradient of the identity: the upstream gradient is passed to the arguments unchanged.

    Args:
      f: A function with as many results as arguments; variables that it reads get None.
    Returns: A function called like `f`.
    Raises: ArgumentTypeError (a TypeError): `f` is no function, or, when it is called, an argument that no tensor is made of.
    """

    require_function("grad_pass_through", f, "computes tensors")

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        @custom_gradient
        def once(*inner: Any) -> Any:
            def backward(*upstream: Tensor, variables: list[Variable] | None = None) -> Any:
                return (upstream, [None] * len(variables)) if variables else upstream

            return f(*inner, **kwargs), backward

        return once(*args)

    return wrapper
