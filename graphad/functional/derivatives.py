"""Gradients, Jacobians and Hessians as functions: `grad(f)` is the function that computes the gradient of `f`.

All of them are a `GradientTape` around a call, so they can be nested in each other, in tapes, `function` and `vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from graphad.autograph.convert import converted_here
from graphad.core.annotations import NestLike
from graphad.core.refusal import check_function
from graphad.core.tensor import Tensor
from graphad.functional.arguments import (
    Argnums,
    Sources,
    chosen,
    outputs,
    require_complex,
    scalar,
    split_aux,
)
from graphad.functional.products import jvp
from graphad.gradient.backward import dense
from graphad.gradient.explain_none import refuse_lost
from graphad.gradient.recompute import recompute_grad
from graphad.gradient.tape import GradientTape
from graphad.ops.math.complexes import conj

P = ParamSpec("P")
R = TypeVar("R")


def grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """The function that computes the gradient of `f`.

    Raises (when that is called): InvalidArgumentError: the result is not a scalar, or there is no such argument; DTypeError: an
      argument has no derivatives.

    Args:
      f: A function whose result is a scalar of floating or complex dtype.
      argnums: Which positional arguments to differentiate: an int, or several. Each is a nest of floating or complex tensors,
        arrays, variables or numbers; `f` receives tensors. Other values that `f` reads are constant.
      has_aux: Whether `f` returns a pair, of which only the first part is differentiated.
      holomorphic: Whether `f` is a complex function of complex arguments with a complex derivative, which is given as it is.
        Without, the gradient of a complex result is TensorFlow's, its conjugate.
      allow_int: Whether tensors among the arguments may be integers or bools, in whose place the result has None.
    Returns: A function of the arguments of `f`: a nest like the argument, with tensors of the same shapes and dtypes (zeros
      where `f` does not depend on one); for several arguments a tuple of nests; with `has_aux` (gradient, auxiliary).
    Raises: InvalidArgumentError (a ValueError): there is no such argument. When the gradient is computed, ArgumentTypeError (a
      TypeError): the result depends on an argument only by what NumPy computed from its array.
    Example:
      >>> grad(lambda x: x**3)(2.0).numpy()
      12.0
    """
    both = _with_gradient("grad", f, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(f)
    def gradient(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, slopes = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return gradient


def value_and_grad(
    f: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """The function that computes the value of `f` and its gradient, with one evaluation of `f`.

    Args:
      f, argnums, has_aux, holomorphic, allow_int: As for `grad`.
    Returns: A function of the arguments of `f` that gives (value, gradient); with `has_aux` ((value, auxiliary), gradient).
    Raises: As `grad`.

    Example:
      >>> value, slope = value_and_grad(lambda x: x**3)(2.0)
      >>> float(value), float(slope)
      (8.0, 12.0)
    """
    return _with_gradient("value_and_grad", f, argnums, has_aux, holomorphic, allow_int)


def _with_gradient(
    name: str, f: Callable[P, Any], argnums: Argnums, has_aux: bool, holomorphic: bool, allow_int: bool
) -> Callable[P, tuple[Any, Any]]:
    """`value_and_grad`; `name` is its name in messages."""
    check_function(name, f)

    @functools.wraps(f)
    def with_gradient(*args: P.args, **kwargs: P.kwargs) -> tuple[Any, Any]:
        sources, inner = chosen(name, argnums, args, holomorphic, allow_int)
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources.leaves)
            value = converted_here(f)(*inner, **kwargs)
        value, aux = split_aux(name, value) if has_aux else (value, None)
        y = scalar(name, value)
        if holomorphic:
            require_complex(name, [y])
        refuse_lost(name, tape, [y], sources.leaves)
        slopes = tape.gradient(y, sources.leaves, unconnected_gradients="zero")
        return (value, aux) if has_aux else value, sources.nest(
            [conj(dense(slope)) if holomorphic else dense(slope) for slope in slopes]
        )

    return with_gradient


def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """The function that gives the Jacobian of `f`, for functions with fewer results than arguments.

    Rows are pulled back in stacks that fit `config.set_jacobian_budget`; with far more outputs than inputs columns are pushed
    forward instead, with the same result.

    Args:
      f: A function whose result is a nest of floating or complex tensors.
      argnums, has_aux, holomorphic, allow_int: As for `grad`.
    Returns: A function of the arguments of `f`: a nest like its result, in which each tensor of shape [*t] is replaced by a
      nest like the argument (a tuple of them for several) of tensors [*t, *s], s the shape of the source.
    Raises: As `grad`, but for scalars.
    Example:
      >>> jacrev(lambda x: x * x)(constant([1.0, 2.0])).numpy()
      array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    return _jacobian("jacrev", f, argnums, has_aux, False, holomorphic, allow_int)


def jacfwd(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """The function that gives the Jacobian of `f`, for functions with more results than arguments.

    Columns are pushed forward in stacks that fit `config.set_jacobian_budget`; if an op has no forward mode, rows are pulled
    back instead, with the same result.

    Args:
      f, argnums, has_aux, holomorphic: As for `jacrev`.
    Returns: As `jacrev`.
    Raises: As `jacrev`.
    """
    return _jacobian("jacfwd", f, argnums, has_aux, True, holomorphic)


def _jacobian(
    name: str,
    f: Callable[P, Any],
    argnums: Argnums,
    has_aux: bool,
    forward: bool,
    holomorphic: bool,
    allow_int: bool = False,
) -> Callable[P, Any]:
    check_function(name, f)

    @functools.wraps(f)
    def jacobian(*args: P.args, **kwargs: P.kwargs) -> Any:
        sources, inner = chosen(name, argnums, args, holomorphic, allow_int)
        with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(sources.leaves)
            value = converted_here(f)(*inner, **kwargs)
        value, aux = split_aux(name, value) if has_aux else (value, None)
        ys, rebuild = outputs(name, value)
        if holomorphic:
            require_complex(name, ys)
        refuse_lost(name, tape, ys, sources.leaves)
        found = [_all_of(tape, y, sources, forward) for y in ys]
        rows = rebuild(
            [sources.nest([conj(part) if holomorphic else part for part in parts]) for parts in found]
        )
        return (rows, aux) if has_aux else rows

    return jacobian


def _all_of(tape: GradientTape, y: Tensor, sources: Sources, forward: bool) -> list[Any]:
    from graphad.gradient import jacobian as jacobians

    return jacobians.jacobian_of(tape, y, sources.leaves, forward)


def hessian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """The function that gives all second derivatives of `f`.

    Args:
      f, argnums, has_aux, holomorphic: As for `jacrev`; usually the result is a scalar.
    Returns: A function of the arguments of `f`: a nest like its result, in which each tensor [*t] is replaced by a nest like
      the argument, and each tensor of that by a nest of tensors [*t, *s1, *s2].
    Raises: As `jacrev`.
    Example:
      >>> hessian(lambda x: reduce_sum(x**3))(constant([1.0, 2.0])).numpy()
      array([[ 6.,  0.],
             [ 0., 12.]], dtype=float32)
    """
    check_function("hessian", f)
    first = _jacobian("hessian", f, argnums, has_aux, False, holomorphic)
    return _jacobian("hessian", first, argnums, has_aux, False, holomorphic)


def hvp(f: Callable[..., Any], primals: NestLike, tangents: NestLike) -> NestLike:
    """The product of the Hessian of a scalar function with a vector, without the Hessian.

    Args:
      f: A function whose result is a scalar.
      primals: A tuple or list of the arguments of `f`.
      tangents: A tuple or list like it: the vector.
    Returns: The product, a nest like the argument; for several arguments a tuple of nests.
    Raises: As `grad` and `jvp`.

    Example:
      >>> hvp(lambda x: x[0] * x[1] ** 2, [constant([1.0, 2.0])], [constant([1.0, 0.0])]).numpy()
      array([0., 4.], dtype=float32)
    """
    count = len(primals) if isinstance(primals, tuple | list) else 1
    slopes = grad(f, 0 if count == 1 else tuple(range(count)))
    return jvp(slopes, primals, tangents)[1]


checkpoint = recompute_grad
