"""Writes what JAX computes for the programs of `transforms.py` to jax.json. Run it where JAX is installed."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import numpy as np

DATA = Path(__file__).with_name("jax.json")


def world():
    """The names that the programs use, by JAX; solutions by Newton steps, with derivatives by the implicit function theorem."""
    import jax
    from jax import lax
    from jax import numpy as jnp
    from jax.experimental.ode import odeint
    from jax.flatten_util import ravel_pytree

    jax.config.update("jax_enable_x64", True)

    def tree(x):
        return jax.tree.map(jnp.asarray, x)

    def scan(f, start, xs, reverse=False):
        return lax.scan(lambda c, x: (f(c, x),) * 2, tree(start), tree(xs), reverse=reverse)[1]

    def newton(f, x0):
        """One `custom_root` over a vector."""

        def solve(g, start):
            return lax.fori_loop(0, 60, lambda _, x: x - jnp.linalg.solve(jax.jacfwd(g)(x), g(x)), start)

        return lax.custom_root(f, x0, solve, lambda g, y: jnp.linalg.solve(jax.jacfwd(g)(y), y))

    def root(f, x0, args):
        start, back = ravel_pytree(tree(x0))
        return back(newton(lambda v: ravel_pytree(f(back(v), *args))[0], start))

    def minimize(f, x0, args, method):
        return root(jax.grad(f), x0, args)

    def least_squares(f, x0, args):
        return root(jax.grad(lambda p: jnp.sum(ravel_pytree(f(p, *args))[0] ** 2)), x0, ())

    def solve_ivp(f, times, y0, args):
        ys = odeint(lambda y, t: f(t, y, *args), tree(y0), times, rtol=1e-12, atol=1e-12)
        return jax.tree.map(lambda y: jnp.moveaxis(y, 0, -1), ys)

    return types.SimpleNamespace(
        np=jnp, grad=jax.grad, value_and_grad=jax.value_and_grad, jvp=jax.jvp, vjp=jax.vjp, jacfwd=jax.jacfwd, jacrev=jax.jacrev,
        hessian=jax.hessian, linearize=jax.linearize, vmap=jax.vmap, checkpoint=jax.checkpoint, stop_gradient=lax.stop_gradient,
        hvp=lambda f, xs, vs: jax.jvp(jax.grad(f), xs, vs)[1],
        scan=scan, map=lax.map, cond=lax.cond, cumlogsumexp=lax.cumlogsumexp, loop=lax.while_loop,
        fold=lambda f, start, xs: lax.scan(lambda c, x: (f(c, x), None), start, xs)[0],
        root=root, fixed_point=lambda f, x0, args: root(lambda x, *a: jax.tree.map(jnp.subtract, f(x, *a), x), x0, args),
        minimize=minimize, least_squares=least_squares, solve_ivp=solve_ivp,
        start=tree, jit=jax.jit,
    )  # fmt: skip


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import transforms

    m, lines = world(), []
    for name, made in transforms.PROGRAMS.items():
        f, args = made(m)
        try:
            found = transforms.leaves(m.jit(f)(*m.start(args)))
        except Exception as error:
            raise SystemExit(f"{name}: {type(error).__name__}: {error}") from error
        stored = {}
        for path, x in found.items():
            assert x.dtype == np.float64 and np.isfinite(x).all(), (name, path, x)
            stored[path] = [list(x.shape), [float(f"{n:.10g}") for n in x.ravel().tolist()]]
        lines.append(f"{json.dumps(name)}: {json.dumps(stored)}")
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(len(lines), "programs")


if __name__ == "__main__":
    main()
