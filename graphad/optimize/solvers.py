"""SciPy's `minimize` and `least_squares`, with gradients, Jacobians and Hessians of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.composites import flatten_present
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import check_function
from graphad.core.tensor import Tensor
from graphad.functional.arguments import scalar
from graphad.functional.derivatives import grad, hessian, hvp, jacfwd, jacrev, value_and_grad
from graphad.ops.math.exponential import log1p
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.math.select import maximum, where
from graphad.ops.math.trigonometric import atan
from graphad.optimize.implicit import attached
from graphad.optimize.packing import (
    Packing,
    as_float64,
    as_tuple,
    compiled,
    is_recorded,
    library,
    on_host,
    packed,
    parted,
    refuse_traces,
    steered,
)

_TAKES_GRADIENTS = {
    "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "slsqp", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"
}  # fmt: skip
_TAKES_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_TAKES_HESSIANS = {"dogleg", "trust-exact"}


def minimize(
    fun: Callable[..., Any],
    x0: NestLike,
    args: NestLike = (),
    method: str | Callable[..., Any] | None = None,
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
      constraints: As SciPy's; 'fun' of those given as dicts, and of a NonlinearConstraint without derivatives of its own, is a
        function of a nest like `x0`, and the solver gets its derivatives.
      tol, callback, options: As SciPy's; `callback` gets vectors.
    Returns: SciPy's OptimizeResult; its `x` is a nest like `x0` of tensors, `jac` and the like are vectors of all leaves. For a
      tape or an accumulator, `x` and `fun` (a tensor then) have the derivatives of the exact minimum with respect to `args` and
      to all that `fun` reads, of any order; entries at a bound stay there, and the start does not matter. They are taken at the
      point that was found, so they are as exact as it is.
    Raises: UnavailableError: SciPy is not installed; ArgumentTypeError, InvalidArgumentError: the starting point or the
      result of `fun` is not what is described above; MissingGradientError, when it is differentiated: with constraints, or
      where the solver ended without success far from a minimum (Newton's step says how far).

    Source: Nocedal and Wright, Numerical Optimization, 2006.
    Example:
      >>> minimize(lambda x: (x["a"] - 1.0) ** 2 + x["b"] ** 2, {"a": 0.0, "b": 3.0}).x["a"].numpy()
      1.0
    """
    refuse_traces("minimize")
    check_function("optimize.minimize", fun)
    if method is not None and not isinstance(method, str) and not callable(method):
        raise ArgumentTypeError(
            f"optimize.minimize: method is {method!r}; give the name of one of SciPy's, 'BFGS' or another, or a function."
        )
    optimize, _ = library("minimize")
    space = Packing("minimize", x0)
    if not space.size:
        raise InvalidArgumentError(
            "optimize.minimize: the starting point has no elements; give at least one."
        )
    theta, given = parted("minimize", args)

    def objective(v: TensorLike, *values: Any) -> Tensor:
        return as_float64("minimize", scalar("minimize", fun(space.unpacked(v), *given(values or theta))))

    default = "slsqp" if constraints else "l-bfgs-b" if bounds is not None else "bfgs"
    chosen = method.lower() if isinstance(method, str) else default if method is None else method
    extra: dict[str, Any] = {}
    if callable(chosen) or chosen in _TAKES_GRADIENTS:
        run = compiled(value_and_grad(objective))
        extra["jac"] = True
    else:
        run = compiled(lambda v: [objective(v)])

    def called(v: np.ndarray) -> tuple[object, ...] | float:
        value, *slope = run(v)
        return (float(value), *slope) if slope else float(value)

    if callable(chosen) or chosen in _TAKES_PRODUCTS:
        product = compiled(lambda v, p: [hvp(objective, [v], [p])])
        extra["hessp"] = lambda v, p: product(v, p)[0]
    elif chosen in _TAKES_HESSIANS:
        whole = compiled(lambda v: [hessian(objective)(v)])
        extra["hess"] = lambda v: whole(v)[0]
    with steered():
        found = optimize.minimize(
            called, on_host(space.start), method=method, bounds=bounds, tol=tol, callback=callback, options=options,
            constraints=_constraints(constraints, space, chosen == "trust-constr"), **extra,
        )  # fmt: skip
    x = point = lift(np.asarray(found.x, np.float64).reshape(-1))
    if is_recorded():
        ends = _ends(bounds)
        slope = _held(grad(objective), point, theta, bounds)
        refusal = _refusal("minimize", constraints, ends) or _doubt("minimize", found, slope, point, theta)
        x = attached(slope, point, [*theta, *ends], refusal)
        found.fun = objective(x, *theta)
    found.x = space.unpacked(x)
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
    Returns: SciPy's OptimizeResult; its `x` is a nest like `x0` of tensors. For a tape or an accumulator, `x`, `fun` and `cost`
      (tensors then) have the derivatives of the exact minimum, as those of `minimize`.
    Raises: As `minimize`; MissingGradientError, when it is differentiated: `loss` is a function, or the solver ended without
      success far from a minimum.
    Source: Branch, Coleman and Li, A subspace, interior, and conjugate gradient method for large-scale bound-constrained
      minimization problems, 1999: "trf".
    """
    refuse_traces("least_squares")
    check_function("optimize.least_squares", fun)
    optimize, _ = library("least_squares")
    space = Packing("least_squares", x0)
    theta, given = parted("least_squares", args)
    more: dict[str, Any] = options
    loss, scale = more.get("loss", "linear"), more.get("f_scale", 1.0)

    def residuals(v: TensorLike, *values: Any) -> Tensor:
        return packed("least_squares", fun(space.unpacked(v), *given(values or theta)))

    def cost(v: TensorLike, *values: Any) -> Any:
        squares = (residuals(v, *values) / scale) ** 2
        # A loss that is not in the table is refused when the result is differentiated.
        weigh = _LOSSES.get(loss) if isinstance(loss, str) else None
        return 0.5 * scale**2 * reduce_sum(weigh(squares) if weigh else squares)

    value = compiled(lambda v: [residuals(v)])
    with steered():
        start = on_host(space.start)
        rows = value(start)[0].size
        slopes = compiled(lambda v: [(jacfwd if space.size < rows else jacrev)(residuals)(v)])
        found = optimize.least_squares(
            lambda v: value(v)[0], start, jac=lambda v: slopes(v)[0], bounds=bounds, method=method, **options
        )
    x = point = lift(np.asarray(found.x, np.float64))
    if is_recorded():
        ends = [*_ends(bounds), *_ends(list(options.values()))]
        slope = _held(grad(cost), point, theta, bounds, pairs=False)
        refusal = _refusal("least_squares", callable(loss), ends) or _doubt(
            "least_squares", found, slope, point, theta
        )
        x = attached(slope, point, [*theta, *ends], refusal)
        found.fun, found.cost = residuals(x, *theta), cost(x, *theta)
    found.x = space.unpacked(x)
    return found


# Of the squares of residuals, as SciPy's `loss` names them.
_LOSSES: dict[str, Callable[[Any], Any]] = {
    "soft_l1": lambda z: 2.0 * (sqrt(1.0 + z) - 1.0),
    "huber": lambda z: where(z <= 1.0, z, 2.0 * sqrt(maximum(z, 1.0)) - 1.0),
    "cauchy": log1p,
    "arctan": atan,
}


def _ends(bounds: Any) -> list[Any]:
    """The tensors among bounds, which would have derivatives too."""
    if hasattr(bounds, "lb"):
        bounds = [bounds.lb, bounds.ub]
    leaves = flatten_present(bounds)[0] if isinstance(bounds, list | tuple) else [bounds]
    return [x for x in leaves if isinstance(x, Tensor)]


def _refusal(name: str, is_missing: object, ends: list[Any]) -> str | None:
    """Why a minimum has no derivative, None if it has one."""
    if not is_missing and not ends:
        return None
    what = "`loss` is a function" if name == "least_squares" else "it has constraints"
    if ends:
        what = "its bounds or options are tensors"
    return (
        f"optimize.{name}: the derivative of this minimum is not known, for {what}; give the equations that hold at the "
        "minimum to optimize.root, or make it a constant with stop_gradient."
    )


def _doubt(
    name: str, found: Any, slope: Callable[..., Any], point: Tensor, theta: list[Any]
) -> Callable[[], str | None] | None:
    """For a solver that did not succeed: why the point is no minimum whose derivative could be known, or None if it is one.

    Solvers also give up where rounding keeps them from a last step, so the length of Newton's step decides. It takes the
    second derivatives, so it is computed when a derivative is asked for.
    """
    if found.success:
        return None

    def words() -> str | None:
        with steered():
            far = np.linalg.lstsq(
                on_host(jacrev(lambda v: slope(v, *theta))(point)), on_host(slope(point, *theta)), rcond=None
            )[0]
        step, size = float(np.max(np.abs(far))), 1.0 + float(np.max(np.abs(np.asarray(point))))
        if step <= _CLOSE * size:
            return None
        return (
            f"optimize.{name}: the solver ended without success ({' '.join(str(found.message).split())}), and Newton's step "
            f"from its point is {step:.3g} long, so a derivative would be that of a wrong point; allow more iterations "
            "(`maxiter` in options, `max_nfev`), start nearer, choose another method, or make it a constant with stop_gradient."
        )

    return words


_CLOSE = 1e-4  # relative to the largest entry: as far from the minimum, a solver without derivatives calls it found


def _held(
    slope: Callable[..., Any], point: Tensor, theta: list[Any], bounds: Any, pairs: bool = True
) -> Callable[..., Any]:
    """The equations of a minimum: the slope is 0, but entries that a bound holds stay where they are."""
    if bounds is None:
        return slope
    x = np.asarray(point)
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        low, high = zip(*bounds, strict=True) if pairs else bounds
    lower, upper = [
        np.asarray([end], np.float64) if np.ndim(end) == 0 else np.asarray(end, np.float64)
        for end in (low, high)
    ]
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    with steered():
        down = on_host(slope(point, *theta))
    # A step down the slope would leave the bounds; methods of interior points stop a little before them.
    is_held = (x - down <= lower) | (x - down >= upper) | (lower == upper)
    return lambda v, *values: where(is_held, v - x, slope(v, *values)) if is_held.any() else slope(v, *values)


def _constraints(given: object, space: Packing, takes_hessians: bool) -> Any:
    if isinstance(given, list | tuple):
        return [_constraints(one, space, takes_hessians) for one in given]
    if isinstance(given, dict):
        return _constraint(given, space)
    if isinstance(getattr(given, "jac", None), str) and hasattr(given, "fun"):
        return _nonlinear(given, space, takes_hessians)
    return given


def _constraint(given: dict[str, Any], space: Packing) -> dict[str, Any]:
    if "fun" not in given:
        raise InvalidArgumentError(
            f"optimize.minimize: a constraint names {', '.join(map(repr, given)) or 'nothing'}; it needs 'type' and 'fun'."
        )
    fun, rest = given["fun"], as_tuple(given.get("args", ()))

    def values(v: TensorLike) -> Any:
        return packed("minimize", fun(space.unpacked(v), *rest))

    value, slopes = compiled(lambda v: [values(v)]), compiled(lambda v: [jacrev(values)(v)])
    made = {key: item for key, item in given.items() if key != "args"}
    return {**made, "fun": lambda v: value(v)[0], "jac": lambda v: slopes(v)[0]}


def _nonlinear(given: Any, space: Packing, takes_hessians: bool) -> Any:
    """SciPy's NonlinearConstraint with the derivatives of its function."""

    def values(v: TensorLike) -> Any:
        return packed("minimize", given.fun(space.unpacked(v)))

    value, slopes = compiled(lambda v: [values(v)]), compiled(lambda v: [jacrev(values)(v)])
    if not takes_hessians:
        return type(given)(
            lambda v: value(v)[0],
            given.lb,
            given.ub,
            lambda v: slopes(v)[0],
            keep_feasible=given.keep_feasible,
        )
    curves = compiled(lambda v, weights: [hessian(lambda x: reduce_sum(weights * values(x)))(v)])
    return type(given)(
        lambda v: value(v)[0], given.lb, given.ub, lambda v: slopes(v)[0], lambda v, weights: curves(v, weights)[0],
        given.keep_feasible,
    )  # fmt: skip
