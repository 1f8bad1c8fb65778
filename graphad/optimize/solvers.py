"""SciPy's `minimize`, `least_squares` and `solve_ivp`, with gradients, Jacobians and Hessians of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import float64
from graphad.core.refusal import check_function
from graphad.functional.arguments import scalar
from graphad.functional.batching import vmap
from graphad.functional.derivatives import hessian, hvp, jacfwd, jacrev, value_and_grad
from graphad.ops.math.cast import cast
from graphad.optimize.packing import (
    Packing,
    as_tuple,
    compiled,
    library,
    on_host,
    packed,
    refuse_traces,
)

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


_TAKES_GRADIENTS = {
    "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "slsqp", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"
}  # fmt: skip
_TAKES_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_TAKES_HESSIANS = {"dogleg", "trust-exact"}


def minimize(
    fun: Callable[..., Any],
    x0: NestLike,
    args: NestLike = (),
    method: str | None = None,
    bounds: object = None,
    constraints: object = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """`scipy.optimize.minimize` for a function of tensors, with the derivatives that the method needs.

    Args:
      fun: A function `fun(x, *args)` of a nest like `x0` with a scalar result; it is traced and compiled once.
      x0: The starting point: a nest of floating tensors, arrays or numbers.
      args: A tuple of further arguments, constant in this run.
      method: As SciPy's. Methods that take second derivatives get products with the Hessian ('Newton-CG', 'trust-ncg',
        'trust-krylov', 'trust-constr') or the Hessian itself ('dogleg', 'trust-exact'); methods without gradients get none.
      bounds: As SciPy's, over the leaves of `x0` one after the other as one vector.
      constraints: As SciPy's; of those given as dicts, 'fun' is a function of a nest like `x0` and gets its Jacobian.
      tol, callback, options: As SciPy's; `callback` gets vectors.
    Returns: SciPy's OptimizeResult; its `x` is a nest like `x0` of tensors, `jac` and the like are vectors of all leaves.
    Raises: UnavailableError: SciPy is not installed; ArgumentTypeError, InvalidArgumentError: the starting point or the
      result of `fun` is not what is described above.

    Source: Nocedal and Wright, Numerical Optimization, 2006.
    Example:
      >>> minimize(lambda x: (x["a"] - 1.0) ** 2 + x["b"] ** 2, {"a": 0.0, "b": 3.0}).x["a"].numpy()
      1.0
    """
    refuse_traces("minimize")
    check_function("optimize.minimize", fun)
    optimize, _ = library("minimize")
    space, rest = Packing("minimize", x0), as_tuple(args)

    def objective(v: TensorLike) -> Any:
        return cast(scalar("minimize", fun(space.unpacked(v), *rest)), float64)

    chosen = (method or ("slsqp" if constraints else "l-bfgs-b" if bounds is not None else "bfgs")).lower()
    extra: dict[str, Any] = {}
    start = on_host(space.start)
    if chosen in _TAKES_GRADIENTS:
        run = compiled(value_and_grad(objective))
        extra["jac"] = True
    else:
        run = compiled(lambda v: [objective(v)])

    def called(v: np.ndarray) -> Any:
        value, *slope = run(v)
        return (float(value), *slope) if slope else float(value)

    if chosen in _TAKES_PRODUCTS:
        product = compiled(lambda v, p: [hvp(objective, [v], [p])])
        extra["hessp"] = lambda v, p: product(v, p)[0]
    elif chosen in _TAKES_HESSIANS:
        whole = compiled(lambda v: [hessian(objective)(v)])
        extra["hess"] = lambda v: whole(v)[0]
    found = optimize.minimize(
        called, start, method=method, bounds=bounds, tol=tol, callback=callback, options=options,
        constraints=_constraints(constraints, space), **extra,
    )  # fmt: skip
    found.x = space.unpacked(lift(np.asarray(found.x, np.float64)))
    return found


def least_squares(
    fun: Callable[..., Any],
    x0: NestLike,
    args: NestLike = (),
    bounds: object = (-np.inf, np.inf),
    method: str = "trf",
    **options: object,
) -> Any:
    """`scipy.optimize.least_squares` for a function of tensors, with its Jacobian.

    Args:
      fun: A function `fun(x, *args)` of a nest like `x0` that gives a nest of residuals; it is traced and compiled once.
      x0: The starting point: a nest of floating tensors, arrays or numbers.
      args: A tuple of further arguments, constant in this run.
      bounds: As SciPy's, over the leaves of `x0` one after the other as one vector.
      method: 'trf', 'dogbox' or 'lm'.
      options: Further arguments of SciPy's function (`loss`, `f_scale`, `max_nfev`, ...).
    Returns: SciPy's OptimizeResult; its `x` is a nest like `x0` of tensors.
    Raises: As `minimize`.
    Source: Branch, Coleman and Li, A subspace, interior, and conjugate gradient method for large-scale bound-constrained
      minimization problems, 1999: "trf".
    """
    refuse_traces("least_squares")
    check_function("optimize.least_squares", fun)
    optimize, _ = library("least_squares")
    space, rest = Packing("least_squares", x0), as_tuple(args)

    def residuals(v: TensorLike) -> Any:
        return packed("least_squares", fun(space.unpacked(v), *rest))

    value = compiled(lambda v: [residuals(v)])
    start = on_host(space.start)
    rows = value(start)[0].size
    slopes = compiled(lambda v: [(jacfwd if space.size < rows else jacrev)(residuals)(v)])
    found = optimize.least_squares(
        lambda v: value(v)[0], start, jac=lambda v: slopes(v)[0], bounds=bounds, method=method, **options
    )
    found.x = space.unpacked(lift(np.asarray(found.x, np.float64)))
    return found


def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[float, float],
    y0: NestLike,
    method: str = "RK45",
    t_eval: object = None,
    args: NestLike = (),
    **options: object,
) -> Any:
    """`scipy.integrate.solve_ivp` for a function of tensors; implicit methods get its Jacobian.

    Args:
      fun: A function `fun(t, y, *args)` that gives dy/dt, a nest like `y0`; it is traced and compiled once.
      t_span: The first and the last time.
      y0: The state at the first time: a nest of floating tensors, arrays or numbers.
      method: As SciPy's; 'Radau', 'BDF' and 'LSODA' take the Jacobian.
      t_eval: The times of the solution, or None for the solver's own.
      args: A tuple of further arguments, constant in this run.
      options: Further arguments of SciPy's function (`rtol`, `atol`, `max_step`, ...); functions among them get vectors.
    Returns: SciPy's result; its `y` is a nest like `y0` of tensors with the times as an additional last axis.
    Raises: As `minimize`.
    Source: Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980: "RK45".
    """
    refuse_traces("solve_ivp")
    check_function("optimize.solve_ivp", fun)
    _, integrate = library("solve_ivp")
    space, rest = Packing("solve_ivp", y0), as_tuple(args)

    def slope(t: Tensor, v: TensorLike) -> Any:
        return packed("solve_ivp", fun(t, space.unpacked(v), *rest))

    run = compiled(lambda t, v: [slope(t, v)])
    if method in ("Radau", "BDF", "LSODA"):
        slopes = compiled(lambda t, v: [jacrev(slope, 1)(t, v)])
        options = {"jac": lambda t, v: slopes(t, v)[0], **options}
    found = integrate.solve_ivp(
        lambda t, v: run(t, v)[0],
        t_span,
        on_host(space.start),
        method=method,
        t_eval=t_eval,
        **options,
    )
    found.y = vmap(space.unpacked, in_axes=1, out_axes=-1)(np.asarray(found.y, np.float64))
    return found


def _constraints(given: object, space: Packing) -> Any:
    if isinstance(given, dict):
        return _constraint(given, space)
    if isinstance(given, list | tuple):
        return [_constraint(one, space) if isinstance(one, dict) else one for one in given]
    return given


def _constraint(given: dict[str, Any], space: Packing) -> dict[str, Any]:
    fun, rest = given["fun"], as_tuple(given.get("args", ()))

    def values(v: TensorLike) -> Any:
        return packed("minimize", fun(space.unpacked(v), *rest))

    value, slopes = compiled(lambda v: [values(v)]), compiled(lambda v: [jacrev(values)(v)])
    made = {key: item for key, item in given.items() if key != "args"}
    return {**made, "fun": lambda v: value(v)[0], "jac": lambda v: slopes(v)[0]}


__all__ = ["least_squares", "minimize", "solve_ivp"]
