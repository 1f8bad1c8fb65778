"""A derivative that ends at an array of NumPy is an error, not zeros."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd

X = gd.constant([0.3, 0.7])


def by_numpy(x):
    return gd.reduce_sum(np.asarray(x) * 2.0)


WAYS = {
    "grad": lambda f: gd.grad(f)(X),
    "value_and_grad": lambda f: gd.value_and_grad(f)(X),
    "jacrev": lambda f: gd.jacrev(f)(X),
    "jacfwd": lambda f: gd.jacfwd(f)(X),
    "hessian": lambda f: gd.hessian(f)(X),
    "vjp": lambda f: gd.vjp(f, X),
    "jvp": lambda f: gd.jvp(f, (X,), (X,)),
    "linearize": lambda f: gd.linearize(f, X),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_derivative_that_ends_at_an_array_is_an_error_with_the_users_line(way):
    with pytest.raises(TypeError, match=rf"^{way}: the derivative is lost: .*test_lost\.py:\d+ in by_numpy"):
        WAYS[way](by_numpy)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("leave", [lambda x: x.numpy(), np.array, lambda x: np.asarray(x * 2.0)])
def test_every_way_out_counts(way, leave):
    with pytest.raises(TypeError, match="the derivative is lost"):
        WAYS[way](lambda x: gd.reduce_sum(leave(x)))


@pytest.mark.parametrize("way", WAYS)
def test_what_depends_on_nothing_has_zeros(way):
    WAYS[way](lambda x: gd.constant(1.0))
    WAYS[way](lambda x: gd.constant(float(x[0])))  # a number of Python decides and prints
    WAYS[way](lambda x: (np.asarray(gd.stop_gradient(x)), gd.constant(1.0))[1])
    WAYS[way](lambda x: (np.asarray(x), gd.reduce_sum(x**2))[1])


def test_one_lost_argument_of_two_is_an_error():
    with pytest.raises(TypeError, match="the derivative is lost"):
        gd.grad(lambda a, b: gd.reduce_sum(np.asarray(a)) * b, argnums=(0, 1))(X, 2.0)
    np.testing.assert_array_equal(
        gd.grad(lambda a, b: gd.reduce_sum(np.asarray(a)) * b, argnums=1)(X, 2.0), 1.0
    )


def test_a_library_between_is_not_the_users_line():
    stats = pytest.importorskip("scipy.stats")

    def density(x):
        return gd.reduce_sum(stats.norm.pdf(x))

    with pytest.raises(TypeError, match=r"left by NumPy at \S*test_lost\.py:\d+ in density"):
        gd.grad(density)(X)
