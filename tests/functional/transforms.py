"""Programs of functional transforms, loops over nests and implicit derivatives, written once for JAX and graphad.

Each takes a `World` (`test_against_jax.py`, `generate_jax.py`) and returns (function, arguments). Those of `SOLVERS` run solvers
that steer the function from outside: eagerly only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Program = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
PROGRAMS: dict[str, Program] = {}
SOLVERS: set[str] = set()

RNG = np.random.default_rng(71)
X = RNG.normal(size=5)
V = RNG.normal(size=5)
W = RNG.normal(size=(5, 4)) * 0.5
XS = RNG.normal(size=(6, 5))
Q = RNG.normal(size=(3, 3)) * 0.2
S = np.array([1.5, 2.0, 0.7])
BARS, CUBE, MATRICES = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 5, 6)), RNG.normal(size=(4, 5, 5))


class Cell(NamedTuple):
    w: Any
    b: Any


PARAMS = {
    "hidden": Cell(W, np.array([0.1, -0.2, 0.3, 0.0])),
    "out": (RNG.normal(size=4), np.array(0.3)),
    "none": None,
}


def program(made: Program) -> Program:
    PROGRAMS[made.__name__] = made
    return made


def solver(made: Program) -> Program:
    SOLVERS.add(made.__name__)
    return program(made)


def leaves(value: Any, path: str = "") -> dict[str, np.ndarray]:
    """The arrays of a nest by their places; None holds none."""
    if value is None:
        return {}
    if isinstance(value, dict):
        parts: Any = sorted(value.items())
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", range(len(value)))
        parts = list(zip(names, value, strict=True))
    else:
        return {path: np.asarray(value)}
    found: dict[str, np.ndarray] = {}
    for key, part in parts:
        found |= leaves(part, f"{path}.{key}")
    return found


def network(m: Any) -> Callable[..., Any]:
    def loss(p: Any, x: Any) -> Any:
        h = m.np.tanh(m.np.matmul(x, p["hidden"].w) + p["hidden"].b)
        return m.np.sum((m.np.matmul(h, p["out"][0]) + p["out"][1]) ** 2)

    return loss


def mixed(m: Any) -> Callable[[Any], Any]:
    return lambda x: m.np.sum(m.np.sin(x) * m.np.exp(0.3 * x[::-1])) + m.np.prod(m.np.cos(x))


def field(m: Any) -> Callable[[Any], Any]:
    return lambda x: m.np.tanh(m.np.matmul(x, W)) * m.np.sum(x**2)


# Transforms of a nest, and in each other.


@program
def gradient_of_a_nest(m):
    return m.grad(network(m)), (PARAMS, X)


@program
def value_gradient_and_aux_of_two(m):
    def f(p, x):
        y = network(m)(p, x)
        return y, {"double": 2 * y, "x": x}

    return m.value_and_grad(f, argnums=(0, 1), has_aux=True), (PARAMS, X)


@program
def direction_of_a_nest(m):
    dots = {"hidden": Cell(W * 0.1, np.ones(4)), "out": (np.ones(4), np.array(2.0)), "none": None}
    return lambda p, q: m.jvp(lambda p: network(m)(p, X), (p,), (q,)), (PARAMS, dots)


@program
def pulled_to_a_nest(m):
    def f(p, x):
        def both(p, x):
            return Cell(m.np.tanh(m.np.matmul(x, p["hidden"].w)), {"b": p["out"][1] * x, "n": None})

        value, pull = m.vjp(both, p, x)
        return value, pull(value)

    return f, (PARAMS, X)


@program
def jacobian_forward_of_a_nest(m):
    return m.jacfwd(lambda p: {"h": m.np.tanh(m.np.matmul(X, p.w) + p.b), "s": m.np.sum(p.b**2)}), (
        PARAMS["hidden"],
    )


@program
def jacobian_reverse_of_two(m):
    return m.jacrev(lambda x, p: (m.np.sin(x) * p["a"], p["a"] ** 2), argnums=(0, 1)), (
        X,
        {"a": np.array(0.7)},
    )


@program
def hessian_of_a_nest(m):
    f = lambda p: m.np.sum(m.np.sin(p["a"]) * p["b"] ** 2)  # noqa: E731
    return m.hessian(f), ({"a": X[:3], "b": np.array(1.3)},)


@program
def hessian_of_two_arguments(m):
    return m.hessian(lambda x, y: m.np.sum(m.np.exp(x * y)), argnums=(0, 1)), (X[:3], V[:3])


@program
def forward_over_reverse_and_reverse_over_forward(m):
    f = mixed(m)
    return lambda x: (m.jacfwd(m.jacrev(f))(x), m.jacrev(m.jacfwd(f))(x), m.jacfwd(m.jacfwd(f))(x)), (X,)


@program
def hessian_product_of_a_nest(m):
    dots = {"hidden": Cell(W * 0.1, np.ones(4)), "out": (np.ones(4), np.array(2.0)), "none": None}
    return lambda p, q: m.hvp(lambda p: network(m)(p, X), (p,), (q,)), (PARAMS, dots)


@program
def third_derivatives(m):
    f = lambda x: m.np.sum(m.np.tanh(x) * x[::-1] ** 2)  # noqa: E731
    return lambda x: (
        m.jacfwd(m.hessian(f))(x),
        m.grad(lambda x: m.np.matmul(m.hvp(f, (x,), (V[:3],)), V[1:4]))(x),
    ), (X[:3],)


@program
def derivatives_one_by_one(m):
    def f(x):
        found, g = [], lambda x: m.np.sin(x) * m.np.exp(-x * x)
        for _ in range(5):
            g = m.grad(g)
            found.append(g(x))
        return found

    return f, (np.array(0.4),)


@program
def pushes_within_pushes(m):
    def f(x, v):
        once = lambda x: m.jvp(field(m), (x,), (v,))[1]  # noqa: E731
        twice = lambda x: m.jvp(once, (x,), (v,))[1]  # noqa: E731
        return m.jvp(twice, (x,), (v * 0.5,))

    return f, (X, V)


@program
def linear_part_and_its_rows(m):
    def f(x):
        value, push = m.linearize(field(m), x)
        return value, m.vmap(push)(XS), push(V)

    return f, (X,)


@program
def linear_part_of_a_gradient(m):
    def f(x, v):
        slope, push = m.linearize(m.grad(mixed(m)), x)
        return slope, push(v), push(slope)

    return f, (X, V)


@program
def gradient_of_a_linear_part(m):
    return m.grad(lambda x: m.np.sum(m.linearize(field(m), x)[1](x) ** 2)), (X,)


@program
def gradients_per_example(m):
    return m.vmap(m.grad(network(m)), in_axes=(None, 0)), (PARAMS, XS)


@program
def gradient_of_a_batch(m):
    return m.grad(lambda p, xs: m.np.sum(m.vmap(lambda x: network(m)(p, x))(xs) ** 2)), (PARAMS, XS)


@program
def hessians_per_example(m):
    return m.vmap(lambda x: (m.hessian(mixed(m))(x), m.jacfwd(field(m))(x))), (XS,)


@program
def rows_of_pulls(m):
    def f(x, bars):
        _, pull = m.vjp(field(m), x)
        return m.vmap(pull)(bars)

    return f, (X, BARS)


@program
def rows_in_rows_with_axes(m):
    f = lambda a, b: {"dot": m.np.matmul(a, b), "both": (a * b, m.np.sum(a))}  # noqa: E731
    inner = m.vmap(f, in_axes=(None, 1), out_axes={"dot": 0, "both": (1, None)})
    return m.vmap(inner, in_axes=(0, None)), (XS, W)


@program
def rows_of_a_nest_with_axes(m):
    def f(p, x):
        return m.np.matmul(p.w, x) + p.b

    return m.vmap(f, in_axes=(Cell(2, None), 0), out_axes=-1), (Cell(CUBE, np.ones(3)), XS)


@program
def jacobian_of_rows(m):
    return m.jacrev(m.vmap(lambda x: m.np.sum(m.np.sin(x) * V))), (XS[:3],)


@program
def checkpoint_in_everything(m):
    f = m.checkpoint(field(m))
    total = lambda x: m.np.sum(f(f(x)[0] * x) ** 2)  # noqa: E731
    return (
        lambda x: (m.grad(total)(x), m.hessian(total)(x), m.vmap(m.grad(total))(XS), m.jvp(f, (x,), (V,))),
        (X,),
    )


@program
def checkpoint_of_a_nest(m):
    return m.value_and_grad(m.checkpoint(network(m)), argnums=(0, 1)), (PARAMS, X)


@program
def stopped_gradients(m):
    f = lambda x: m.np.sum(m.stop_gradient(m.np.sin(x)) * x**2)  # noqa: E731
    return lambda x: (m.grad(f)(x), m.hessian(f)(x), m.jvp(f, (x,), (V,))), (X,)


# Loops over nests.


def rolled(m: Any) -> Callable[[Any, Any], Any]:
    def step(carry: Any, x: Any) -> Any:
        h = m.np.tanh(carry["h"] * 0.5 + x["u"]) + carry["c"].b
        return {"h": h, "c": Cell(carry["c"].w + 1.0, carry["c"].b * m.np.cos(x["s"]))}

    start = {"c": Cell(np.array(0.0), np.array(0.3))}
    return lambda h, xs: m.scan(step, {"h": h, **start}, xs)


SEQUENCE = {"u": XS, "s": V[:1].repeat(6) * np.arange(6)}


@program
def states_of_a_scan(m):
    return rolled(m), (X, SEQUENCE)


@program
def scan_backwards(m):
    step = lambda c, x: c * m.np.sin(x) + x  # noqa: E731
    return (
        lambda x, xs: (m.scan(step, x, xs, reverse=True), m.grad(lambda x: m.np.sum(m.scan(step, x, xs, reverse=True) ** 2))(x)),
        (X, XS),
    )  # fmt: skip


@program
def gradient_of_a_scan(m):
    def f(h, xs):
        states = rolled(m)(h, xs)
        return m.np.sum(states["h"] ** 2) + states["c"].b[-1] * states["c"].w[2]

    return m.grad(f, argnums=(0, 1)), (X, SEQUENCE)


@program
def hessian_of_a_scan(m):
    f = lambda h: m.np.sum(rolled(m)(h, SEQUENCE)["h"][-1] ** 2)  # noqa: E731
    return lambda h: (m.hessian(f)(h), m.hvp(f, (h,), (V,))), (X,)


@program
def scan_in_rows(m):
    f = lambda h: m.np.sum(rolled(m)(h, SEQUENCE)["h"] ** 2)  # noqa: E731
    return lambda hs: (m.vmap(m.grad(f))(hs), m.vmap(lambda h: rolled(m)(h, SEQUENCE))(hs)), (XS,)


@program
def direction_of_a_scan(m):
    return lambda h, v: m.jvp(lambda h: rolled(m)(h, SEQUENCE), (h,), (v,)), (X, V)


@program
def scan_in_a_scan(m):
    def outer(c, x):
        return c + m.np.sum(m.scan(lambda a, b: a * m.np.cos(b), x[0], x))

    f = lambda xs: m.scan(outer, xs[0, 0], xs)  # noqa: E731
    return lambda xs: (f(xs), m.grad(lambda xs: f(xs)[-1])(xs), m.jacfwd(f)(xs)), (XS[:4, :3],)


@program
def scan_of_checkpoints(m):
    step = m.checkpoint(lambda c, x: m.np.tanh(c * x + m.np.sin(c)))
    f = lambda c, xs: m.np.sum(m.scan(step, c, xs)[-1])  # noqa: E731
    return lambda c: (m.grad(f)(c, XS), m.grad(lambda c: m.np.sum(m.grad(f)(c, XS) ** 2))(c)), (X,)


@program
def map_of_gradients(m):
    f = lambda e: {"g": m.grad(mixed(m))(e[0]), "s": e[1]["k"] * m.np.sum(e[0])}  # noqa: E731
    return lambda xs, k: m.map(f, (xs, {"k": k})), (XS, np.arange(6.0))


@program
def gradient_of_a_map(m):
    f = lambda xs: m.np.sum(m.map(lambda x: m.np.outer(x, m.np.sin(x)), xs) ** 2)  # noqa: E731
    return lambda xs: (m.grad(f)(xs), m.hvp(f, (xs,), (xs[::-1],))), (XS,)


@program
def fold_of_a_nest(m):
    def f(x, ms):
        last = m.fold(
            lambda c, a: (m.np.tanh(m.np.matmul(a, c[0])), c[1] + m.np.sum(c[0])), (x, m.np.sum(x)), ms
        )
        return last[1] * m.np.sum(last[0])

    return lambda x, ms: (m.value_and_grad(f, argnums=(0, 1))(x, ms), m.hessian(f)(x, ms)), (X, MATRICES)


@program
def loop_of_unknown_length_forward(m):
    def f(x):
        end = m.loop(
            lambda s: m.np.sum(s["x"] ** 2) > 0.01,
            lambda s: {"x": s["x"] * (0.6 + 0.1 * m.np.sin(s["x"])), "k": s["k"] + 1.0},
            {"x": x, "k": m.np.sum(x * 0.0)},
        )
        return end

    return lambda x, v: (f(x), m.jvp(f, (x,), (v,)), m.jacfwd(lambda x: f(x)["x"])(x)), (X, V)


@program
def loops_of_unequal_lengths_in_rows(m):
    def f(x):
        cell = m.loop(
            lambda c: c.b < 3.0, lambda c: Cell(c.w * 1.1, c.b + m.np.abs(c.w[0]) + 0.3), Cell(x, x[1] ** 2)
        )
        return cell

    return lambda xs: (m.vmap(f)(xs), m.vmap(lambda x: m.jvp(f, (x,), (V,)))(xs)), (XS,)


@program
def products_and_sums_in_order(m):
    def f(x):
        return m.np.cumsum(x) * m.np.cumprod(m.np.cos(x)), m.cumlogsumexp(x)

    return lambda x: (f(x), m.jacrev(f)(x), m.jacfwd(m.jacrev(f))(x), m.vmap(f)(XS)), (X,)


@program
def branches_in_rows(m):
    f = lambda x: m.cond(x[0] > 0.0, lambda x: m.np.sum(x**3), lambda x: m.np.prod(m.np.sin(x)), x)  # noqa: E731
    return lambda xs: (m.vmap(m.value_and_grad(f))(xs), m.vmap(m.hessian(f))(xs), m.grad(f)(xs[0])), (XS,)


# Solutions, and their derivatives.


def equations(m: Any) -> Callable[..., Any]:
    return lambda x, a: x + 0.1 * x**3 + m.np.matmul(Q, m.np.sin(x)) - a


@program
def root_and_its_jacobian(m):
    f = lambda a: m.root(equations(m), np.zeros(3), (a,))  # noqa: E731
    return lambda a: (f(a), m.jacrev(f)(a)), (S,)


@program
def second_derivatives_of_a_root(m):
    f = lambda a: m.np.sum(m.root(equations(m), np.zeros(3), (a,)) ** 3)  # noqa: E731
    return lambda a: m.grad(lambda a: m.np.sum(m.grad(f)(a) ** 2))(a), (S,)


@program
def direction_of_a_root(m):
    f = lambda a: m.root(equations(m), np.zeros(3), (a,))  # noqa: E731
    return lambda a: (m.jvp(f, (a,), (np.ones(3),)), m.jacfwd(f)(a)), (S,)


@program
def hessian_of_a_root(m):
    f = lambda a: m.np.sum(m.root(equations(m), np.zeros(3), (a,)) ** 3)  # noqa: E731
    return lambda a: (m.hessian(f)(a), m.hvp(f, (a,), (np.ones(3),))), (S,)


@program
def roots_in_rows(m):
    f = lambda a: m.root(equations(m), np.zeros(3), (a,))  # noqa: E731
    rows = np.stack([S, S * 0.5, -S, S + 1.0])
    return lambda rows: (m.vmap(f)(rows), m.vmap(m.grad(lambda a: m.np.sum(f(a) ** 2)))(rows)), (rows,)


@program
def root_of_a_nest(m):
    def f(x, a, k):
        return {"u": x["u"] * 2 + m.np.sin(x["v"]) - a["p"], "v": x["v"] ** 3 + x["v"] + m.np.sum(x["u"]) * k}

    start = {"u": np.zeros(3), "v": np.array(0.1)}
    total = lambda a, k: m.np.sum(m.root(f, start, (a, k))["u"] ** 2)  # noqa: E731
    return lambda a, k: (m.root(f, start, (a, k)), m.grad(total, argnums=(0, 1))(a, k)), (
        {"p": S},
        np.array(0.2),
    )


def settled(m: Any) -> Callable[..., Any]:
    return lambda x, a: {
        "h": m.np.tanh(m.np.matmul(Q, x["h"]) + a["u"]),
        "s": 0.5 * m.np.cos(x["s"] + m.np.sum(x["h"]) * a["k"]),
    }


REST = {"h": np.zeros(3), "s": np.array(0.0)}
INPUT = {"u": S * 0.3, "k": np.array(0.1)}


@program
def fixed_point_of_a_nest(m):
    f = lambda a: m.fixed_point(settled(m), REST, (a,))  # noqa: E731
    total = lambda a: m.np.sum(f(a)["h"] ** 2) * f(a)["s"]  # noqa: E731
    return lambda a: (f(a), m.grad(total)(a), m.jacrev(f)(a)), (INPUT,)


@program
def second_derivatives_of_a_fixed_point(m):
    f = lambda u: m.np.sum(m.fixed_point(settled(m), REST, ({"u": u, "k": 0.1},))["h"] ** 2)  # noqa: E731
    return lambda u: m.hessian(f)(u), (S * 0.3,)


@program
def directions_of_a_fixed_point(m):
    f = lambda u: m.fixed_point(settled(m), REST, ({"u": u, "k": 0.1},))  # noqa: E731
    return lambda u: (m.jvp(f, (u,), (np.ones(3),)), m.jacfwd(f)(u)), (S * 0.3,)


@program
def fixed_points_in_rows(m):
    f = lambda u: m.fixed_point(settled(m), REST, ({"u": u, "k": 0.1},))  # noqa: E731
    total = lambda u: m.np.sum(f(u)["h"] ** 2)  # noqa: E731
    return lambda us: (m.vmap(f)(us), m.vmap(m.grad(total))(us)), (np.stack([S * 0.3, S * 0.1, -S * 0.5]),)


def bowl(m: Any) -> Callable[..., Any]:
    return lambda p, a: m.np.sum(m.np.cosh(p["x"] - a)) + p["y"] ** 4 + (p["y"] - m.np.sum(p["x"])) ** 2


@program
def derivative_of_a_minimum(m):
    f = lambda a: m.root(lambda p, a: m.grad(bowl(m))(p, a), {"x": np.ones(3), "y": np.array(1.0)}, (a,))  # noqa: E731
    return lambda a: (f(a), m.jacrev(f)(a)), (S * 0.5,)


@solver
def minimum_by_gradients(m):
    return lambda a: m.minimize(bowl(m), {"x": np.ones(3), "y": np.array(1.0)}, (a,), "BFGS"), (S * 0.5,)


@solver
def minimum_by_products(m):
    return lambda a: m.minimize(bowl(m), {"x": np.ones(3), "y": np.array(1.0)}, (a,), "trust-ncg"), (S * 0.5,)


@solver
def minimum_by_hessians(m):
    return lambda a: m.minimize(bowl(m), {"x": np.ones(3), "y": np.array(1.0)}, (a,), "trust-exact"), (
        S * 0.5,
    )


@solver
def least_squares_of_a_nest(m):
    t = np.linspace(0.0, 2.0, 9)
    y = 1.3 * np.exp(-0.8 * t) + 0.2 + 0.01 * np.cos(9 * t)
    f = lambda p, y: {"r": p["a"] * m.np.exp(-p["k"] * t) + p["c"] - y, "small": 0.1 * p["c"]}  # noqa: E731
    start = {"a": np.array(1.0), "k": np.array(1.0), "c": np.array(0.0)}
    return lambda y: m.least_squares(f, start, (y,)), (y,)


@solver
def orbit_of_a_nest(m):
    f = lambda t, s, k: Cell(s.b, -k * m.np.sin(s.w) - 0.1 * s.b + 0.2 * m.np.cos(t))  # noqa: E731
    return lambda s, k: m.solve_ivp(f, np.linspace(0.0, 3.0, 7), s, (k,)), (Cell(S, -S), np.array(1.7))
