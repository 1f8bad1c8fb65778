"""Differentiable solutions of equations, by the implicit function theorem and independent of the solver.

With f(x, a) = 0, dx = -(df/dx)^-1 (df/da) da; the gradient solves with the transposed Jacobian and pulls back through f once
(Griewank and Walther, Evaluating Derivatives, 2nd ed., section 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import Array, NestLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import float64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, MissingGradientError
from graphad.core.levels import chain, entered, is_trace, unwatched
from graphad.core.refusal import check_function
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle
from graphad.functional.derivatives import jacrev
from graphad.gradient.custom import call_with_rule, unrecorded
from graphad.gradient.host import numpy_function
from graphad.gradient.tape import GradientTape
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.reshape import reshape
from graphad.ops.control.call import Call
from graphad.ops.control.while_loop import while_loop
from graphad.ops.linalg.systems import solve
from graphad.ops.math.arithmetic import abs as absolute
from graphad.ops.math.compare import logical_and
from graphad.ops.math.reduce import reduce_max
from graphad.ops.state.effects import Assert
from graphad.optimize.packing import Packing, library, packed, parted
from graphad.trace.tracer import trace_flat
from graphad.vectorize.batch import BatchLevel

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


def root(
    f: Callable[..., Any],
    x0: NestLike,
    args: NestLike = (),
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """x with f(x, *args) = 0, by `scipy.optimize.root`; x has derivatives with respect to `args` and to all that f reads.

    Args:
      f: A function of a nest like `x0` and of `args` that gives as many numbers as `x0` has. It may read variables and tensors
        from outside.
      x0: The starting point: a nest of floating tensors, arrays or numbers of known sizes. x does not depend on it.
      args: A tuple of nests of tensors, arrays or numbers; Python's numbers are handed on as they are.
      method, tol, options: As SciPy's; methods that take one get the Jacobian.
    Returns: x, a nest of tensors like `x0`. Its gradients, of any order, are those of the exact solution.
    Raises: InvalidArgumentError: the solver found no root, or f gives another number of equations; UnavailableError: SciPy is not
      installed.

    Source: Griewank and Walther, Evaluating Derivatives, 2008, chapter 15: derivatives of solutions by the implicit
      function theorem.
    Example:
      >>> root(lambda x, a: x * x - a, 1.0, (2.0,)).numpy()
      1.4142135
    """
    check_function("optimize.root", f)
    if not isinstance(method, str):
        raise ArgumentTypeError(
            f"optimize.root: method is {method!r}; give the name of one of SciPy's, 'hybr' or another."
        )
    optimize, _ = library("root")
    space, theta, residual = _equations("root", f, x0, args)
    residual, theta, reads = closed(residual, [TensorSpec.of((space.size,), float64)], theta)
    takes_jacobian = method in ("hybr", "lm")

    def solved(start: np.ndarray, *values: np.ndarray) -> np.ndarray:
        fixed = [lift(value) for value in values]

        def equations(v: np.ndarray) -> np.ndarray:
            return np.array(residual(lift(v), *fixed).numpy())

        def slopes(v: np.ndarray) -> np.ndarray:
            return np.array(jacrev(lambda x: residual(x, *fixed))(v).numpy())

        with entered(unwatched()):  # what tapes follow from outside would be recorded in every step
            try:
                found = optimize.root(
                    equations,
                    start,
                    jac=slopes if takes_jacobian else None,
                    method=method,
                    tol=tol,
                    options=options,
                )
            except OverflowError as cause:  # Python's, of a norm: the steps grow without bound
                raise InvalidArgumentError(
                    f"optimize.root: method {method!r} found no root: its steps left the range of float64. Start nearer to a "
                    "root, or choose another method."
                ) from cause
        if not found.success:
            left = float(np.max(np.abs(found.fun), initial=0.0))
            raise InvalidArgumentError(
                f"optimize.root: method {method!r} found no root: {' '.join(str(found.message).split())} The largest residual is "
                f"{left:.3g}; start nearer to a root, or choose another method."
            )
        if not np.all(np.isfinite(found.fun)):  # which some methods take for the end of their steps
            raise InvalidArgumentError(
                f"optimize.root: method {method!r} stopped where f is not finite, at {found.x}; start nearer to a root."
            )
        return np.asarray(found.x, np.float64).reshape(-1)

    point = ensure_shape(numpy_function(solved, [space.start, *theta], float64, reads), [space.size])
    return space.unpacked(attached(residual, point, theta))


def fixed_point(
    f: Callable[..., Any],
    x0: NestLike,
    args: NestLike = (),
    tol: float | None = None,
    max_iterations: int = 1000,
) -> Any:
    """x with f(x, *args) = x, by iterating f; x has derivatives with respect to `args` and to all that f reads.

    The iteration is a loop of the graph in traced functions; its gradient does not walk back through the steps.

    Args:
      f: A function of a nest like `x0` and of `args` that gives a nest like `x0`, and is a contraction. It may read variables
        and tensors from outside.
      x0: The starting point: a nest of floating tensors, arrays or numbers of known sizes.
      args: A tuple of nests of tensors, arrays or numbers; Python's numbers are handed on as they are.
      tol: How much the last step may change the largest entry, relative to 1 + that entry; None for 100 units of rounding of
        the coarsest dtype in `x0`.
      max_iterations: The most steps.
    Returns: x, a nest of tensors like `x0`. Its gradients, of any order, are those of the exact fixed point.
    Raises: InvalidArgumentError: it did not converge, or f gives another number of entries.

    Source: Griewank and Walther, Evaluating Derivatives, 2008, chapter 15: derivatives of solutions by the implicit
      function theorem.
    Example:
      >>> fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, (2.0,)).numpy()
      1.4142135
    """
    check_function("optimize.fixed_point", f)
    space, theta, equations = _equations("fixed_point", f, x0, args)
    if tol is None:
        tol = 100.0 * space.rounding

    def goes_on(step: Any, x: object, change: Any) -> Tensor:
        return logical_and(step < max_iterations, change > tol)

    def after(step: Any, x: object, change: object) -> tuple[Any, Any, Tensor]:
        y = equations(x, *theta)
        change = reduce_max(absolute(y - x)) / (1.0 + reduce_max(absolute(y)))
        return step + 1, y, change

    steps, point, change = while_loop(goes_on, after, (0, space.start, lift(np.inf, float64)))
    Assert(
        change <= tol,
        ["optimize.fixed_point: f did not settle; steps, last relative change:", steps, change],
    )

    def residual(x: TensorLike, *values: TensorLike) -> Any:
        return equations(x, *values) - x

    residual, theta, _ = closed(residual, [TensorSpec.of((space.size,), float64)], theta)
    return space.unpacked(attached(residual, point, theta))


def _equations(
    name: str,
    f: Callable[..., Any],
    x0: Array | dict[str, Any] | float,
    args: tuple[Tensor | dict[str, Any] | float, ...],
) -> tuple[Packing, list[Any], Callable[..., Any]]:
    """The packing of x, the leaves of the arguments, and f as a function of the packed vector and these leaves."""
    space = Packing(name, x0)
    theta, given = parted(name, args)

    def equations(v: TensorLike, *values: TensorLike) -> Tensor:
        y = packed(name, f(space.unpacked(v), *given(values)))
        if is_definite(y.dims) and y.dims != (space.size,):
            raise InvalidArgumentError(
                f"optimize.{name}: f gives {y.dims[0]} numbers for {space.size} unknowns; there have to be as many."
            )
        return ensure_shape(y, [space.size])

    return space, theta, equations


def closed(
    f: Callable[..., Any], specs: Sequence[TensorSpec], theta: list[Any]
) -> tuple[Callable[..., Any], list[Any], bool]:
    """The function with the tensors from outside that it reads as further arguments, all arguments, whether it reads variables.

    In traces and batches such tensors have no values that the solver could read. Elsewhere nothing is to be done, and asked.

    Args:
      f: A function of tensors with `specs`, and then of the arguments.
      specs: What is known of the tensors in front of the arguments.
      theta: The arguments.
    """
    if not any(is_trace(level) or isinstance(level, BatchLevel) for level in chain()):
        return f, theta, False
    given = [*specs, *[x.spec for x in theta]]
    traced = trace_flat(lambda *inner: [f(*inner)], given, "equations", keep_all=True)
    captures: list[Any] = traced.captures
    outer = [x for x in captures if not isinstance(x, Handle)]
    reads = len(outer) < len(captures)
    if not outer:
        return f, theta, reads
    call, n = Call(traced.graph), len(given)

    def equations(*values: Any) -> Any:
        further = iter(values[n:])
        (y,) = bind(call, *values[:n], *[x if isinstance(x, Handle) else next(further) for x in captures])
        return y

    return equations, [*theta, *outer], reads


def attached(
    residual: Callable[..., Any],
    point: Tensor,
    theta: list[Any],
    refusal: str | Callable[[], str | None] | None = None,
) -> Any:
    """The solution as a function of the arguments and of what the residual reads: its value is given, its derivative follows
    from the residual, or is refused in these words, which a function finds when a derivative is asked for."""

    def solution(_: Tensor, *values: Any) -> Any:
        with unrecorded():
            residual(point, *values)  # so that what it reads is known

        def backward(bar: Any, variables: Any = None) -> Any:
            words = refusal() if callable(refusal) else refusal
            if words is not None:
                raise MissingGradientError(words)
            x = attached(residual, point, list(values))  # depends on the arguments too, for the next order
            slopes = jacrev(lambda v: residual(v, *values))(x)
            try:
                w = reshape(solve(slopes, reshape(-bar, (-1, 1)), adjoint=True), (-1,))
            except InvalidArgumentError as cause:
                raise InvalidArgumentError(
                    "optimize: the Jacobian of the equations at the solution (of a minimum the Hessian) is singular, so the "
                    f"solution has no derivative: {cause} Take out unknowns that nothing determines, or make the solution a "
                    "constant with stop_gradient."
                ) from cause
            own, *rest = pulled(lambda *given: residual(x, *given), w, values, variables)
            return ([None, *own], *rest) if rest else [None, *own]

        return bind(IDENTITY, point), backward

    return call_with_rule(solution, (point, *theta), {}, captures=True)


def pulled(f: Callable[..., Any], bar: Any, values: Sequence[Any], variables: Any) -> tuple[list[Any], ...]:
    """The cotangents of the arguments of f and, if there are any, those of the variables that it reads."""
    floats = [value for value in values if value.dtype.is_differentiable]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([*floats, *(variables or ())])
        y = f(*values)
    bars = iter(tape.gradient(y, [*floats, *(variables or ())], output_gradients=bar))
    own = [next(bars) if value.dtype.is_differentiable else None for value in values]
    return (own, list(bars)) if variables else (own,)
