"""Transforms in each other and over nests, loops and solutions give JAX's numbers and forms, eagerly and in functions."""

from __future__ import annotations

import json
import types

import numpy as np
import pytest

import graphad as gd
import graphad.numpy as gnp
from graphad import optimize
from tests.functional.generate_jax import DATA
from tests.functional.transforms import PROGRAMS, SOLVERS, leaves

STORED = json.loads(DATA.read_text(encoding="utf-8"))
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def _solve_ivp(f, times, y0, args):
    span = (times[0], times[-1])
    return optimize.solve_ivp(f, span, y0, "DOP853", t_eval=times, args=args, **TIGHT).y


WORLD = types.SimpleNamespace(
    np=gnp, grad=gd.grad, value_and_grad=gd.value_and_grad, jvp=gd.jvp, vjp=gd.vjp, jacfwd=gd.jacfwd, jacrev=gd.jacrev,
    hessian=gd.hessian, linearize=gd.linearize, vmap=gd.vmap, checkpoint=gd.checkpoint, stop_gradient=gd.stop_gradient,
    hvp=gd.hvp,
    scan=lambda f, start, xs, reverse=False: gd.scan(f, xs, start, reverse=reverse),
    map=lambda f, xs: gd.map_fn(f, xs, fn_output_signature=None),
    fold=lambda f, start, xs: gd.foldl(f, xs, start),
    cond=lambda p, yes, no, x: gd.cond(p, lambda: yes(x), lambda: no(x)),
    loop=lambda goes_on, body, state: gd.while_loop(goes_on, lambda s: (body(s),), (state,))[0],
    cumlogsumexp=gd.math.cumulative_logsumexp,
    root=lambda f, x0, args: optimize.root(f, x0, args, tol=1e-13),
    fixed_point=lambda f, x0, args: optimize.fixed_point(f, x0, args, tol=1e-15),
    minimize=lambda f, x0, args, method: optimize.minimize(f, x0, args, method=method, tol=1e-10).x,
    least_squares=lambda f, x0, args: optimize.least_squares(f, x0, args, ftol=1e-15, xtol=1e-15, gtol=1e-15).x,
    solve_ivp=_solve_ivp,
)  # fmt: skip


IN_FUNCTIONS = {"orbit_of_a_nest"}  # its solver is part of traced functions


def test_each_program_has_stored_numbers():
    assert list(PROGRAMS) == list(STORED)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_the_numbers_of_jax(name, traced):
    if name in SOLVERS:
        pytest.importorskip("scipy")
    f, args = PROGRAMS[name](WORLD)
    args = gd.nest.map_structure(lambda x: x if x is None else gd.constant(x), args)
    if traced and name in SOLVERS - IN_FUNCTIONS:
        with pytest.raises(gd.errors.InvalidArgumentError, match="cannot be part of a traced function"):
            gd.function(f)(*args)
        return
    found = leaves((gd.function(f) if traced else f)(*args))
    assert list(found) == list(STORED[name])
    for path, (shape, numbers) in STORED[name].items():
        wanted = np.array(numbers).reshape(shape)
        assert (found[path].dtype, found[path].shape) == (np.float64, wanted.shape), path
        scale = float(np.max(np.abs(wanted), initial=0.0))
        step = 1e-6 if name in SOLVERS else 1e-8
        np.testing.assert_allclose(found[path], wanted, rtol=step, atol=step * max(scale, 1e-2), err_msg=path)
