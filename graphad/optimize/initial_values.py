"""SciPy's `solve_ivp` for functions of tensors, and derivatives of its solution.

SciPy chooses the steps. The derivative is that of a one-step method over these steps, written with ops: the Runge-Kutta formula
of the solver itself where it is explicit, otherwise Radau's of order 5 (Hairer and Wanner, Solving Ordinary Differential
Equations II, section IV.5). The ends of the steps are constants; the times that were asked for are ends of steps too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import float64, int64
from graphad.core.errors import InvalidArgumentError, MissingGradientError
from graphad.core.levels import trace_in_progress
from graphad.core.refusal import check_function
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.function.decorator import function
from graphad.functional.batching import vmap
from graphad.functional.derivatives import jacrev
from graphad.gradient.custom import call_with_rule, unrecorded
from graphad.gradient.host import numpy_function
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, stack
from graphad.ops.array.passing import IDENTITY, stop_gradient
from graphad.ops.array.reshape import reshape
from graphad.ops.control.scan import scan
from graphad.ops.control.while_loop import while_loop
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.systems import solve
from graphad.ops.math.arithmetic import abs as absolute
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import logical_and
from graphad.ops.math.reduce import reduce_max
from graphad.ops.state.effects import Assert
from graphad.optimize.implicit import attached, closed, pulled
from graphad.optimize.packing import Packing, is_recorded, library, on_host, packed, parted, steered


def solve_ivp(
    fun: Callable[..., Any],
    t_span: tuple[float, float],
    y0: NestLike,
    method: str | type = "RK45",
    t_eval: TensorLike | None = None,
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
      options: Further arguments of SciPy's function (`rtol`, `atol`, `max_step`, ...); functions among them get vectors, and no
        `args`.
    Returns: SciPy's result; its `y` is a nest like `y0` of tensors [..., times] with the times as an additional last axis. For a
      tape or an accumulator, `y` has derivatives of any order with respect to `y0`, `args`, all that `fun` reads, `t_span` and
      `t_eval`; the solver's own steps, `sol` and the events are constants. The derivatives of an explicit Runge-Kutta method are
      those of its steps, to the last digits; those of another one are of Radau's formula over its steps, as exact as the
      tolerances. In a traced function the result has the tensors `t` and `y` alone.
    Raises: As `minimize`; MissingGradientError, when it is differentiated: an event ended it. InvalidArgumentError: events or
      `dense_output` in a traced function, or the solver failed there.
    Source: Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980: "RK45".
    Example:
      >>> grad(lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), 1.0).y[-1])(1.0).numpy()
      np.float32(-0.3665676)
    """
    check_function("optimize.solve_ivp", fun)
    optimize, integrate = library("solve_ivp")
    space = Packing("solve_ivp", y0)
    theta, given = parted("solve_ivp", args)
    if not isinstance(t_span, tuple | list | np.ndarray | Tensor) or len(t_span) != 2:
        raise InvalidArgumentError(
            f"optimize.solve_ivp: t_span is {t_span!r}; give the first and the last time."
        )
    is_traced = trace_in_progress() is not None
    if is_traced and (options.get("events") is not None or options.get("dense_output")):
        raise InvalidArgumentError(
            "optimize.solve_ivp: events and dense_output give Python's objects, which a traced function cannot hold; call it "
            "outside (the function that it is given is traced and compiled anyway)."
        )

    def slope(t: TensorLike, v: TensorLike, *values: Any) -> Any:
        return packed("solve_ivp", fun(t, space.unpacked(v), *given(values)))

    specs = [TensorSpec.of((), float64), TensorSpec.of((space.size,), float64)]
    slope, theta, reads = closed(slope, specs, theta)
    ends = _time([t_span[0], t_span[1]])
    asked = [] if t_eval is None else [_time(t_eval)]
    problem = [space.start, ends, *asked, *theta]
    solver = _Solver(integrate, method, slope, len(asked), options, space.rounding**0.5)
    if is_traced:
        found = optimize.OptimizeResult()
        n = asked[0].dims[0] if asked and asked[0].dims is not None else None
        shapes: Any = [[n], [n, space.size], [None], [None, space.size]]
        kinds: Any = [*[TensorSpec(shape, float64) for shape in shapes], *[TensorSpec([None], int64)] * 2]
        found.t, *way = numpy_function(solver.finished, problem, kinds, reads)
    else:
        with steered():
            found, (_, *arrays) = solver.run(*[on_host(x) for x in problem])
        way = [lift(x) for x in arrays]
    y = way[0]
    if is_traced or is_recorded():
        refusal = None
        if not is_traced and found.status == 1:
            refusal = (
                "optimize.solve_ivp: an event ended this solution, and its time is a constant here; end t_span at that time, "
                "found by optimize.root from the equation that holds there, or make the solution a constant with stop_gradient."
            )
        y = _derived(solver, way, problem, refusal)
    found.y = vmap(space.unpacked, in_axes=0, out_axes=-1)(y)
    return found


class _Tableau(NamedTuple):
    """The coefficients of a Runge-Kutta method."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


_ROOT = 6**0.5
_RADAU = _Tableau(
    np.array(
        [
            [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
            [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
            [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
        ]
    ),
    np.array([(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9]),
    np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0]),
)


class _Solver:
    """One problem for SciPy's function, and the same solution again as ops over its steps."""

    def __init__(
        self,
        integrate: Any,
        method: Any,
        slope: Callable[..., Any],
        n_asked: int,
        options: dict[str, Any],
        tolerance: float,
    ) -> None:
        self._solve = integrate.solve_ivp
        self._method = method
        self._class: Any = getattr(integrate, method, None) if isinstance(method, str) else method
        self._options = options
        self._run = function(functools.partial(slope), autograph=False)
        self._jacobian = None
        if self._class in (integrate.Radau, integrate.BDF, integrate.LSODA):
            self._jacobian = function(functools.partial(jacrev(slope, 1)), autograph=False)
        self._tableau: _Tableau | None = None
        explicit = integrate.RK23, integrate.RK45, integrate.DOP853
        solver: Any = self._class
        if isinstance(solver, type) and issubclass(solver, explicit):
            self._tableau = _Tableau(solver.A, solver.B, solver.C)  # type: ignore[attr-defined]
        self._tolerance = tolerance
        self.n_times = 1 + n_asked
        self.slope = slope

    def run(self, start: np.ndarray, *rest: Any) -> tuple[Any, list[np.ndarray]]:
        """SciPy's result; and as arrays its times and states, and the `way` of `rebuilt`."""
        (ends, *asked), values = rest[: self.n_times], [lift(x) for x in rest[self.n_times :]]

        def called(f: Callable[..., Any]) -> Callable[..., np.ndarray]:
            return lambda t, v: on_host(f(np.asarray(t, np.float64), v, *values))

        options = (
            self._options if self._jacobian is None else {"jac": called(self._jacobian), **self._options}
        )
        taken: list[tuple[float, np.ndarray]] = []
        method = self._method
        if isinstance(self._class, type) and not options.get("dense_output"):
            method = _noting(self._class, taken)
        found = self._solve(
            called(self._run), tuple(ends.tolist()), start, method, asked[0] if asked else None, **options
        )
        if found.sol is not None:
            taken = [(t, found.sol(t)) for t in found.sol.ts[1:]]
        inner = np.array([t for t, _ in taken], np.float64)
        between = np.array([v for _, v in taken], np.float64).reshape(-1, start.size)
        t, y = np.asarray(found.t, np.float64), np.asarray(found.y, np.float64).T.reshape(-1, start.size)
        # The times, in the order of `rebuilt`: both ends, those asked for, and the ends of the steps.
        first = 2 + (asked[0].size if asked else 0)
        steps = np.arange(first, first + inner.size)
        if asked:
            order = np.array([0, *steps, *range(2, 2 + t.size)], np.int64)
            all_times = np.concatenate([ends[:1], inner, t])
            places = np.argsort(all_times if ends[0] <= ends[1] else -all_times, kind="stable")
            states = np.concatenate([start[None], between, y])[places]
            picks = np.argsort(places)[1 + inner.size :]
            n = 1 + picks.max(initial=0)
            order, states = order[places][:n], states[:n]
        else:
            if found.status == 0 and steps.size:
                steps[-1] = 1
            order = np.array([0, *steps], np.int64)
            states, picks = np.concatenate([start[None], between]), np.arange(1 + steps.size)
        return found, [t, np.ascontiguousarray(y), inner, states, order, picks.astype(np.int64)]

    def finished(self, *problem: np.ndarray) -> list[np.ndarray]:
        """The arrays of `run`. Raises: InvalidArgumentError: the solver failed."""
        found, arrays = self.run(*problem)
        if not found.success:
            raise InvalidArgumentError(
                f"optimize.solve_ivp: the solver stopped at {float(arrays[0].max(initial=0.0))!r}: {found.message}"
            )
        return arrays

    def rebuilt(self, way: Sequence[Tensor], problem: Sequence[Tensor]) -> Any:
        """The states [times, size] as a function of start, times and arguments, by a step from each time to the next.

        Args:
          way: The ends of the solver's steps, the states at all times, the order of the times, which states are wanted.
          problem: The start, the times and the arguments.
        """
        inner, states, order, picks = [stop_gradient(x) for x in way]
        start, *times = problem[: 1 + self.n_times]
        values = problem[1 + self.n_times :]
        t = gather(concat([*times, inner], 0), order)
        step = self._implicit if self._tableau is None else self._explicit

        def following(y: Tensor, given: tuple[Any, ...]) -> Any:
            t, h, left, right = given
            return step(y, t, h, left, right, values)

        before, after = slice(None, -1), slice(1, None)
        found = scan(following, (t[before], t[after] - t[before], states[before], states[after]), start)
        return gather(concat([start[None], found], 0), picks)

    def _explicit(self, y: Any, t: Any, h: Any, _: Tensor, __: Tensor, values: Sequence[Tensor]) -> Any:
        a, b, c = self._tableau  # type: ignore[misc]
        slopes: list[Any] = []
        for row, part in zip(a, c, strict=True):
            slopes.append(self.slope(t + part * h, _moved(y, h, row, slopes), *values))
        return _moved(y, h, b, slopes)

    def _implicit(self, y: Any, t: Any, h: Any, left: Any, right: Any, values: Sequence[Tensor]) -> Any:
        a, _, c = _RADAU
        size = y.dims[0]

        def residual(z: Any, y: Any, t: Any, h: Any, *values: Any) -> Any:
            moves = reshape(z, (3, size))
            slopes = [self.slope(t + part * h, y + moves[k], *values) for k, part in enumerate(c)]
            return z - h * reshape(matmul(a, stack(slopes)), (-1,))

        specs = [TensorSpec.of((3 * size,), float64)]
        residual, theta, _ = closed(residual, specs, [y, t, h, *values])

        def goes_on(k: Any, z: Any, change: Any) -> Any:
            return logical_and(k < _MOST_STEPS, change > self._tolerance)

        def after(k: Any, z: Any, change: Any) -> Any:
            move = solve(jacrev(lambda v: residual(v, *theta))(z), residual(z, *theta)[:, None])[:, 0]
            return k + 1, z - move, reduce_max(absolute(move)) / (1.0 + reduce_max(absolute(y)))

        guess = reshape(c[:, None] * (right - left)[None], (-1,))
        _, z, change = while_loop(goes_on, after, (0, guess, lift(np.inf, float64)))
        Assert(
            change <= self._tolerance,
            [
                "optimize.solve_ivp: a step of the derivative did not settle; ask for smaller tolerances. Last change:",
                change,
            ],
        )
        z = attached(residual, stop_gradient(z), theta)
        return y + reshape(z, (3, size))[2]


_MOST_STEPS = 20


def _moved(y: Any, h: Any, weights: np.ndarray, slopes: list[Any]) -> Any:
    """y + h times the weighted sum of slopes."""
    parts = [weight * slope for weight, slope in zip(weights.tolist(), slopes, strict=False) if weight]
    return y + h * functools.reduce(lambda x, part: x + part, parts) if parts else y


def _noting(solver: Any, taken: list[tuple[float, np.ndarray]]) -> Any:
    """The class of a solver that notes where its steps end."""

    class Noting(solver):  # type: ignore[misc]
        def step(self) -> Any:
            said = super().step()
            if self.status != "failed":
                taken.append((self.t, self.y))
            return said

    return Noting


def _derived(solver: _Solver, way: Sequence[Tensor], problem: Sequence[Tensor], refusal: str | None) -> Any:
    """The solution: SciPy's states, `way[0]`, with the derivative of the rebuilt ones, or a refusal of it in these words."""
    n = len(way)

    def solution(y: Tensor, *given: Any) -> Any:
        start, ends, *rest = given[n - 1 :]
        with unrecorded():
            solver.slope(ends[0], start, *rest[solver.n_times - 1 :])  # so that what it reads is known

        def backward(bar: Any, variables: Any = None) -> Any:
            if refusal is not None:
                raise MissingGradientError(refusal)
            own, *others = pulled(
                lambda *problem: solver.rebuilt(given[: n - 1], problem), bar, given[n - 1 :], variables
            )
            bars = [*[None] * n, *own]
            return (bars, *others) if others else bars

        return bind(IDENTITY, y), backward

    return call_with_rule(solution, (*way, *problem), {}, captures=True)


def _time(value: Any) -> Any:
    """Times in float64."""
    if isinstance(value, list | tuple) and any(isinstance(x, Tensor | Handle) for x in value):
        return stack([_time(x) for x in value])
    return cast(value, float64) if isinstance(value, Tensor | Handle) else lift(value, float64)
