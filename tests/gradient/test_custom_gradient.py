"""stop_gradient and custom_gradient: what the gradient function gets, what it must return, higher orders."""

from __future__ import annotations

import re

import numpy as np
import pytest

import graphad as tf
from graphad.core.registry import find
from graphad.gradient.registry import new_op
from tests.support.both import in_both


def gradients(f, *xs):
    """The value of f at xs and its gradients."""
    with tf.GradientTape() as tape:
        tape.watch(list(xs))
        y = f(*xs)
    return y, tape.gradient(y, list(xs))


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def backward(upstream):
        return upstream * (1.0 - 1.0 / (1.0 + e))

    return tf.math.log(1.0 + e), backward


@tf.custom_gradient
def product(a, b):
    """a * b with ten times the derivative."""

    def backward(upstream):
        return upstream * b * 10.0, upstream * a * 10.0

    return a * b, backward


# -- stop_gradient -----------------------------------------------------------------------------------------------------


@in_both
def test_stop_gradient_gives_none_below_it(run):
    def body(x, n):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            stopped = tf.stop_gradient(y)
            z = stopped * stopped + 0.0 * tf.cast(tf.stop_gradient(n), tf.float32)
        assert stopped is not y
        assert tape.gradient(z, x) is None
        assert tape.gradient(z, y) is None
        return stopped, tape.gradient(z, stopped), tf.stop_gradient(n)

    stopped, of_stopped, n = run(body, tf.constant(3.0), tf.constant(7))
    assert stopped.numpy() == 9.0
    assert of_stopped is None or of_stopped.numpy() == 18.0
    assert n.numpy() == 7


@in_both
def test_stop_gradient_takes_variables(run):
    v = tf.Variable(3.0)

    def body():
        with tf.GradientTape() as tape:
            y = tf.stop_gradient(v) * v
        return tape.gradient(y, v)

    assert run(body).numpy() == 3.0


@in_both
def test_gradient_functions_behind_a_stop_never_run(run):
    calls = []

    @tf.custom_gradient
    def noisy(x):
        def backward(upstream):
            calls.append(1)
            return upstream

        return x * 2.0, backward

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = noisy(tf.stop_gradient(x * 3.0))
        assert tape.gradient(y, x) is None
        return y

    assert run(body, tf.constant(1.0)).numpy() == 6.0
    assert calls == []


# -- values and numbers of gradients -----------------------------------------------------------------------------------


@in_both
def test_the_decorated_function_returns_its_value_and_has_its_gradient(run):
    y, (g,) = run(lambda x: gradients(log1pexp, x), tf.constant(0.0))
    np.testing.assert_allclose(y, np.log(2.0), rtol=1e-6)
    np.testing.assert_allclose(g, 0.5, rtol=1e-6)


@pytest.mark.parametrize("pack", [lambda a: a, lambda a: [a], lambda a: (a,)])
@in_both
def test_a_gradient_may_come_bare_or_in_a_list_or_tuple(run, pack):
    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda upstream: pack(upstream * 5.0)

    assert run(lambda x: gradients(f, x)[1][0], tf.constant(1.0)).numpy() == 5.0


@in_both
def test_each_input_gets_its_gradient(run):
    _, (of_a, of_b) = run(lambda a, b: gradients(product, a, b), tf.constant(2.0), tf.constant(3.0))
    assert (float(of_a), float(of_b)) == (30.0, 20.0)


@pytest.mark.parametrize(("given", "n"), [(lambda u: u, 1), (lambda u: (u, u, u), 3), (lambda u: [], 0)])
@in_both
def test_a_wrong_number_of_gradients_is_refused_when_the_gradient_is_computed(run, given, n):
    @tf.custom_gradient
    def f(a, b):
        return a * b, given

    def body(a, b):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = f(a, b)
        text = f"custom_gradient function expected to return 2 gradients, but returned {n} instead"
        with pytest.raises(ValueError, match=text):
            tape.gradient(y, a)
        return y

    assert run(body, tf.constant(2.0), tf.constant(3.0)).numpy() == 6.0


@in_both
def test_none_for_an_input_leaves_it_without_a_gradient(run):
    @tf.custom_gradient
    def f(a, b):
        return a * b, lambda upstream: (upstream, None)

    _, (of_a, of_b) = run(lambda a, b: gradients(f, a, b), tf.constant(2.0), tf.constant(3.0))
    assert of_a.numpy() == 1.0
    assert of_b is None


@pytest.mark.parametrize("value", [3.0, np.float32(3.0), np.float64(3.0), 3])
@in_both
def test_python_and_numpy_gradients_become_tensors(run, value):
    @tf.custom_gradient
    def f(x):
        return x * 1.0, lambda upstream: value

    _, (g,) = run(lambda x: gradients(f, x), tf.constant(2.0))
    assert isinstance(g, tf.Tensor)
    assert g.numpy() == 3.0


def test_what_is_no_tensor_is_refused_as_a_gradient():
    @tf.custom_gradient
    def f(x):
        return x * 1.0, lambda upstream: "three"

    with pytest.raises(TypeError, match=r"the gradient function of .*f' returned 'three'"):
        gradients(f, tf.constant(2.0))


@in_both
def test_python_and_numpy_inputs_and_outputs_become_tensors(run):
    @tf.custom_gradient
    def f(a, b, c):
        assert all(isinstance(x, tf.Tensor) for x in (a, b, c))
        return (a * b * c, np.float32(4.0), 5.0), lambda *upstream: (
            upstream[0],
            upstream[0] * 2.0,
            upstream[0] * 3.0,
        )

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, four, five = f(2.0, np.float32(3.0), x)
        return y, four, five, tape.gradient(y, x)

    assert [float(v) for v in run(body, tf.constant(1.0))] == [6.0, 4.0, 5.0, 3.0]


@in_both
def test_the_rule_applies_to_a_function_that_returns_its_input(run):
    @tf.custom_gradient
    def reverse(x):
        return x, lambda upstream: -upstream

    assert run(lambda x: gradients(reverse, x)[1][0], tf.constant(2.0)).numpy() == -1.0


@in_both
def test_structures_of_inputs_and_outputs_are_kept(run):
    seen = []

    @tf.custom_gradient
    def f(pair, more):
        a, b = pair
        c = more["c"]

        def backward(*upstream):
            seen.append([u.dtype for u in upstream])
            of_sum, of_product = upstream
            return of_sum, of_sum * 2.0 + of_product, of_product * 7.0

        return {"z_sum": a + b, "a": [b * c]}, backward

    def body(a, b, c):
        with tf.GradientTape() as tape:
            tape.watch([a, b, c])
            y = f((a, b), {"c": c})
        assert set(y) == {"z_sum", "a"}
        assert type(y["a"]) is list
        return tape.gradient(y, [a, b, c], output_gradients={"a": [1.0], "z_sum": 10.0})

    got = run(body, tf.constant(1.0), tf.constant(2.0), tf.constant(3.0))
    # Dictionaries flatten by sorted key: the first upstream gradient is that of "a".
    assert [float(g) for g in got] == [1.0, 12.0, 70.0]
    assert len(seen[0]) == 2


@in_both
def test_unused_outputs_have_zeros_as_upstream_gradients(run):
    @tf.custom_gradient
    def f(x):
        def backward(a_bar, b_bar):
            return a_bar * 2.0 + tf.reduce_sum(b_bar)

        return (x * 2.0, tf.stack([x, x])), backward

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a, _ = f(x)
        return tape.gradient(a, x)

    assert run(body, tf.constant(1.0)).numpy() == 2.0


def test_keyword_arguments_are_passed_through_and_not_differentiated():
    @tf.custom_gradient
    def f(x, scale=1.0, *, shift):
        return x * scale + shift, lambda upstream: upstream * scale

    x, shift = tf.constant(2.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch([x, shift])
        y = f(x, scale=3.0, shift=shift)
    of_x, of_shift = tape.gradient(y, [x, shift])
    assert (y.numpy(), of_x.numpy(), of_shift) == (7.0, 3.0, None)


def test_keyword_arguments_are_refused_while_tracing():
    @tf.custom_gradient
    def f(x, scale):
        return x * scale, lambda upstream: upstream

    with pytest.raises(ValueError, match=r"currently supports keywords arguments only when eager"):
        tf.function(lambda x: f(x, scale=2.0))(tf.constant(1.0))


# -- variables ----------------------------------------------------------------------------------------------------------


@in_both
def test_variables_that_are_read_get_gradients_of_their_own(run):
    v, w = tf.Variable(3.0), tf.Variable(4.0)

    @tf.custom_gradient
    def f(x):
        def backward(upstream, variables):
            assert {u.ref() for u in variables} == {v.ref(), w.ref()}
            return upstream * v * w, [upstream * 100.0 if u is v else upstream * 1000.0 for u in variables]

        return x * v * w, backward

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, [x, v, w])

    assert [float(g) for g in run(body, tf.constant(2.0))] == [12.0, 100.0, 1000.0]


@pytest.mark.parametrize(
    "signature",
    [
        lambda v: lambda upstream, *, variables=None: (upstream * v, [upstream]),
        lambda v: lambda *upstream, variables=None: (upstream[0] * v, [upstream[0]]),
        lambda v: lambda upstream, **kwargs: (upstream * v, [upstream]),
    ],
    ids=["keyword_only", "after_args", "kwargs"],
)
def test_variables_may_be_a_keyword_of_any_form(signature):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        return x * v, signature(v)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [3.0, 1.0]


@in_both
def test_a_gradient_function_that_cannot_take_variables_is_refused_at_the_call(run):
    v = tf.Variable(3.0, name="weight")

    @tf.custom_gradient
    def f(x):
        return x * v, lambda upstream: upstream

    with pytest.raises(
        TypeError, match=r"grad_fn must accept keyword argument 'variables', since function uses"
    ) as caught:
        run(f, tf.constant(2.0))
    assert "weight:0" in str(caught.value)


@in_both
def test_a_wrong_number_of_variable_gradients_is_refused(run):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda upstream, variables: (upstream, [])

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.raises(
            ValueError, match=r"Must return gradient for each variable from @custom_gradient grad_fn"
        ):
            tape.gradient(y, x)
        return y

    assert run(body, tf.constant(2.0)).numpy() == 6.0


def test_taking_variables_without_reading_any_is_fine():
    @tf.custom_gradient
    def f(x):
        def backward(upstream, variables):
            assert variables == []
            return upstream * 5.0, []

        return x * 2.0, backward

    assert gradients(f, tf.constant(2.0))[1][0].numpy() == 5.0


@in_both
def test_a_variable_passed_as_an_argument_is_an_input(run):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda upstream: upstream * 7.0

    def body():
        with tf.GradientTape() as tape:
            y = f(v)
        return tape.gradient(y, v)

    assert run(body).numpy() == 7.0


@in_both
def test_a_variable_that_is_not_trained_is_a_constant(run):
    v = tf.Variable(3.0, trainable=False)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda upstream: upstream * 7.0

    assert run(lambda x: gradients(f, x)[1][0], tf.constant(2.0)).numpy() == 7.0


# -- higher orders ------------------------------------------------------------------------------------------------------


@in_both
def test_the_second_derivative_is_that_of_the_gradient_function(run):
    def body(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = log1pexp(x)
            g = inner.gradient(y, x)
        return outer.gradient(g, x)

    for x in (-2.0, 0.0, 1.5):
        s = 1.0 / (1.0 + np.exp(-x))
        np.testing.assert_allclose(run(body, tf.constant(x)), s * (1 - s), rtol=1e-5)


@in_both
def test_third_derivatives_through_a_custom_gradient(run):
    def body(x):
        tapes = [tf.GradientTape() for _ in range(3)]
        for tape in tapes:
            tape.__enter__()
            tape.watch(x)
        y = log1pexp(x)
        for tape in reversed(tapes):
            tape.__exit__(None, None, None)
            y = tape.gradient(y, x)
        return y

    x = 0.7
    s = 1.0 / (1.0 + np.exp(-x))
    np.testing.assert_allclose(run(body, tf.constant(x)), s * (1 - s) * (1 - 2 * s), rtol=1e-4)


@in_both
def test_the_gradient_function_may_have_a_gradient_of_its_own(run):
    @tf.custom_gradient
    def f(x):
        @tf.custom_gradient
        def first(upstream):
            return upstream * x * 2.0, lambda second: second * 1000.0

        return x * x, first

    def body(x):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                up = x * 1.0
                y = f(x)
            g = inner.gradient(y, x, output_gradients=up)
        return g, outer.gradient(g, up)

    g, of_up = run(body, tf.constant(3.0))
    assert g.numpy() == 18.0
    assert of_up.numpy() == 1000.0


@in_both
def test_nested_custom_gradients_use_each_its_own_rule(run):
    @tf.custom_gradient
    def outer_rule(x):
        y = product(x, x)

        def backward(upstream):
            inner = gradients(lambda a: product(a, a), x)[1][0]
            return upstream * inner * 2.0

        return y, backward

    y, (g,) = run(lambda x: gradients(outer_rule, x), tf.constant(3.0))
    assert y.numpy() == 9.0
    assert g.numpy() == 120.0  # (10 * 3 + 10 * 3) * 2


@in_both
def test_an_exception_of_the_gradient_function_passes_through(run):
    class Broken(Exception):
        pass

    @tf.custom_gradient
    def f(x):
        def backward(upstream):
            raise Broken("on purpose")

        return x * 2.0, backward

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with pytest.raises(Broken, match=r"on purpose"):
            tape.gradient(y, x)
        return y

    assert run(body, tf.constant(2.0)).numpy() == 4.0


# -- ways of decorating -------------------------------------------------------------------------------------------------


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @tf.custom_gradient
    def double(self, x):
        return x * 2.0, lambda upstream: upstream * self.factor

    @tf.custom_gradient()
    def with_parentheses(self, x):
        return x * 2.0, lambda upstream: upstream * self.factor


@pytest.mark.parametrize("name", ["double", "with_parentheses"])
@in_both
def test_methods_can_be_decorated(run, name):
    method = getattr(Scaled(7.0), name)
    y, (g,) = run(lambda x: gradients(method, x), tf.constant(3.0))
    assert (y.numpy(), g.numpy()) == (6.0, 7.0)


def test_the_decorated_function_keeps_its_name_and_text():
    assert product.__name__ == "product"
    assert "ten times" in product.__doc__
    assert callable(product.__wrapped__)


def test_a_function_that_returns_no_pair_is_refused():
    with pytest.raises(TypeError, match=r"must return \(value, gradient function\)"):
        tf.custom_gradient(lambda x: x * 2.0)(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"is not callable: 3"):
        tf.custom_gradient(lambda x: (x * 2.0, 3))(tf.constant(1.0))


# -- recompute_grad, grad_pass_through ----------------------------------------------------------------------------------


@in_both
def test_recompute_grad_runs_the_function_again_for_the_gradient(run):
    v = tf.Variable(3.0)
    calls = []

    def f(x):
        calls.append(1)
        return tf.sin(x * v) * x

    again = tf.recompute_grad(f)
    assert again.__wrapped__ is f

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = again(x)
        before = len(calls)
        out = tape.gradient(y, [x, v])
        assert (before, len(calls)) == (1, 2)
        return y, out

    y, (of_x, of_v) = run(body, tf.constant(2.0))
    np.testing.assert_allclose(y, np.sin(6.0) * 2, rtol=1e-6)
    np.testing.assert_allclose(of_x, np.sin(6.0) + 6 * np.cos(6.0), rtol=1e-5)
    np.testing.assert_allclose(of_v, 4 * np.cos(6.0), rtol=1e-5)


@in_both
def test_recompute_grad_has_higher_orders_and_takes_integers_and_empty_tensors(run):
    f = tf.recompute_grad(lambda x, n: x**3 * tf.cast(n, tf.float32))

    def body(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x, n)
            g = inner.gradient(y, x)
        return outer.gradient(g, x)

    assert run(body, tf.constant(2.0), tf.constant(2)).numpy() == 24.0
    assert run(body, tf.constant(np.zeros((0, 3), np.float32)), tf.constant(2)).shape == (0, 3)


@in_both
def test_grad_pass_through_has_the_identity_as_gradient(run):
    v = tf.Variable(3.0)
    rounded = tf.grad_pass_through(lambda x: tf.round(x * v))

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = rounded(x) * 2.0
        return y, tape.gradient(y, [x, v])

    y, (of_x, of_v) = run(body, tf.constant(1.4))
    assert (y.numpy(), of_x.numpy(), of_v) == (8.0, 2.0, None)


# -- the registry of gradients ------------------------------------------------------------------------------------------

_names = iter(f"TestOp{i}" for i in range(1000))


def cube_op():
    name = next(_names)
    return name, new_op(name, lambda x: x * x * x)


@in_both
def test_an_op_from_outside_gets_a_registered_gradient(run):
    name, cube = cube_op()

    @tf.RegisterGradient(name)
    def gradient(op, upstream):
        (x,) = op.inputs
        return 3.0 * x * x * upstream

    assert callable(gradient)

    def body(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            g = inner.gradient(y, x)
        return y, g, outer.gradient(g, x)

    assert [float(v) for v in run(body, tf.constant(2.0))] == [8.0, 12.0, 12.0]


def test_register_gradient_returns_the_function_unchanged():
    name, _ = cube_op()

    def gradient(op, upstream):
        return upstream

    assert tf.RegisterGradient(name)(gradient) is gradient


def test_an_op_without_a_registered_gradient_is_a_lookup_error_when_the_gradient_is_computed():
    name, cube = cube_op()
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube(x)
    with pytest.raises(LookupError, match=name):
        tape.gradient(y, x)


def test_no_gradient_gives_none():
    name, cube = cube_op()
    tf.no_gradient(name)
    y, (g,) = gradients(cube, tf.constant(2.0))
    assert y.numpy() == 8.0
    assert g is None


def test_names_must_be_strings():
    with pytest.raises(TypeError, match=r"op_type must be a string"):
        tf.RegisterGradient(3)(lambda op, upstream: upstream)
    with pytest.raises(TypeError, match=r"op_type must be a string"):
        tf.no_gradient(3)


@pytest.mark.parametrize("first", [lambda n: tf.RegisterGradient(n)(lambda op, u: u), tf.no_gradient])
def test_a_second_gradient_under_one_name_is_refused(first):
    name, _ = cube_op()
    first(name)
    text = re.escape(f"Registering two gradient with name '{name}'! (Previous registration was in {__file__}")
    with pytest.raises(KeyError, match=text):
        tf.RegisterGradient(name)(lambda op, upstream: upstream)
    with pytest.raises(KeyError, match=text):
        tf.no_gradient(name)


@pytest.mark.parametrize("name", ["MatMul", "Add", "matmul", "Sin"])
def test_gradients_of_graphads_own_ops_cannot_be_replaced(name):
    with pytest.raises(KeyError, match=r"Registering two gradient with name"):
        tf.RegisterGradient(name)(lambda op, upstream: upstream)


def test_a_registered_gradient_must_return_one_gradient_for_each_input():
    name = next(_names)
    add = new_op(name, lambda a, b: a + b)
    tf.RegisterGradient(name)(lambda op, upstream: upstream)
    with pytest.raises(ValueError, match=rf"{name}: its gradient function returned 1 gradients for 2 inputs"):
        gradients(add, tf.constant(1.0), tf.constant(2.0))


def test_a_gradient_of_a_shape_that_only_the_run_tells_is_compared_then():
    @tf.custom_gradient
    def f(x, ends):
        return 2.0 * x, lambda upstream: (tf.reshape(upstream, ends), None)

    @tf.function(input_signature=[tf.TensorSpec([2, 3]), tf.TensorSpec(None, tf.int32)])
    def gradient(x, ends):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, ends)
        return tape.gradient(y, x)

    assert gradient(tf.ones([2, 3]), [2, 3]).numpy().tolist() == [[1.0] * 3] * 2
    for ends in ([1, 2, 3], [3, 2], [6]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible with the expected shape"):
            gradient(tf.ones([2, 3]), ends)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (np.ones(2),),
            tf.errors.ArgumentTypeError,
            "compute of 'never_an_op' is a ndarray; give a function",
        ),
        ((None,), tf.errors.ArgumentTypeError, "compute of 'never_an_op' is a NoneType"),
        ((abs, 3), tf.errors.ArgumentTypeError, "infer of 'never_an_op' is a int"),
        ((abs, None, 0), tf.errors.InvalidArgumentError, "outputs=0; give how many there are"),
        ((abs, None, 1.5), tf.errors.InvalidArgumentError, "outputs=1.5"),
    ],
)
def test_what_cannot_be_an_op_from_outside_is_refused_and_the_name_stays_free(arguments, error, message):
    with pytest.raises(error, match=message):
        new_op("never_an_op", *arguments)
    assert find("never_an_op") is None


@in_both
def test_the_same_tensor_given_twice_is_two_arguments(run):
    @tf.custom_gradient
    def product(a, b):
        def gradient(upstream):
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                y = a * a * b
            return tape.gradient(y, [a, b], output_gradients=upstream)

        return a * a * b, gradient

    again = tf.recompute_grad(lambda a, b: a * a * b)

    def body(x):
        found = []
        for f in (product, again):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = f(x, x)
                slope = tape.gradient(y, x)
            found += [slope, outer.gradient(slope, x)]
        return found

    assert [float(y) for y in run(body, tf.constant(2.0))] == [12.0, 12.0] * 2


@in_both
def test_arguments_in_a_nest_are_told_apart(run):
    f = tf.recompute_grad(lambda pair, c: pair["a"] * pair["b"] * c)

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f({"a": x, "b": x}, x)
        return tape.gradient(y, x)

    assert float(run(body, tf.constant(2.0))) == 12.0


@in_both
def test_a_variable_and_what_was_read_from_it_are_different_arguments(run):
    v = tf.Variable(2.0)
    f = tf.recompute_grad(lambda a, b: a * b * v)

    def body():
        found = []
        for arguments in (
            lambda: (v, v),
            lambda: (v, tf.convert_to_tensor(v)),
            lambda: (tf.convert_to_tensor(v),) * 2,
        ):
            with tf.GradientTape() as tape:
                y = f(*arguments())
            found.append(tape.gradient(y, v))
        return found

    assert [float(y) for y in run(body)] == [12.0] * 3


@pytest.mark.parametrize("traced", [False, True])
def test_a_gradient_of_another_shape_than_its_argument_is_refused(traced: bool) -> None:
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda up: (up * y, up * x)  # y is broadcast, and nothing sums up again

    def slopes(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(x, y)
        return tape.gradient(z, [x, y])

    run = tf.function(slopes) if traced else slopes
    run(tf.ones([3]), tf.ones([3]))
    message = (
        r"custom_gradient: .*returned for its argument 1 has shape \(3,\), and the argument 1 has shape \(\)"
    )
    with pytest.raises(ValueError, match=message):
        run(tf.ones([3]), tf.ones([]))


def test_the_gradient_of_a_variable_has_its_shape_too() -> None:
    v = tf.Variable([1.0, 2.0], name="weights")

    @tf.custom_gradient
    def f(x):
        return tf.reduce_sum(v) * x, lambda up, variables: (up, [up])

    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"for its variable 'weights:0' has shape \(\)"):
        tape.gradient(y, v)


def test_a_python_number_as_gradient_stands_for_all_elements() -> None:
    @tf.custom_gradient
    def f(x):
        return x * 1.0, lambda up: 2.0

    x = tf.ones([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy().tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("name", ["custom_gradient", "recompute_grad", "grad_pass_through"])
def test_what_is_decorated_must_be_a_function(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: 3 is not a callable object; decorate a function that "):
        getattr(tf, name)(3)


def test_a_step_of_a_loop_may_apply_a_rule_and_write_into_an_array():
    def f(x):
        state, rows = x[0], tf.TensorArray(tf.float64, 3, element_shape=[2])
        for i in tf.range(3):

            @tf.custom_gradient
            def twice(y, row=x[i]):
                return tf.sin(y) * row, lambda g: 2.0 * g * tf.cos(y) * row

            state = twice(state)
            rows = rows.write(i, state * x[i])
        return rows.stack()

    x = tf.constant([[0.5, -0.25], [1.0, 2.0], [0.75, -1.5]], tf.float64)
    values, (slopes,) = gradients(f, x)
    traced, (traced_slopes,) = gradients(tf.function(f), x)
    np.testing.assert_allclose(traced, values, rtol=1e-14)
    np.testing.assert_allclose(traced_slopes, slopes, rtol=1e-14)


def test_rules_may_share_what_the_first_of_them_computes_when_it_is_asked():
    class Loss:
        def __init__(self, x):
            self.x, self.slope = x, None

        def slopes(self):
            if self.slope is None:
                self.slope = 2.0 * tf.sin(self.x)
            return self.slope

        @tf.custom_gradient
        def value(self, x):
            return tf.reduce_sum(tf.cos(self.x), 1), lambda g: g[:, None] * self.first(x)

        @tf.custom_gradient
        def first(self, x):
            return tf.identity(self.slopes()), lambda g: g * self.slopes()

    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = Loss(tf.stop_gradient(x)).value(x)
            slopes = inner.gradient(y, x)
        return outer.batch_jacobian(slopes, x)

    x = tf.constant([[0.1, 0.2], [0.3, 0.4]], tf.float64)
    for f in (second, tf.function(second)):
        np.testing.assert_allclose(f(x), [np.diag(2.0 * np.sin(row)) for row in x.numpy()], rtol=1e-14)


def test_a_rule_in_a_loop_cannot_use_what_is_computed_after_it():
    @tf.function
    def f(x):
        state = x[0]
        with tf.GradientTape() as tape:
            tape.watch(x)
            for i in tf.range(3):

                @tf.custom_gradient
                def bent(y, row=x[i]):
                    return tf.sin(y) * row, lambda g: g * state  # noqa: B023 -- the name with a new value

                state = bent(state)
        return tape.gradient(state, x)

    with pytest.raises(tf.errors.FailedPreconditionError, match="computed after the call it belongs to"):
        f(tf.ones([3, 2]))


def test_eager_code_gets_integers_as_they_are() -> None:
    """A size, a flag and a shape are handed on to what takes Python's numbers alone; each still has a gradient."""
    seen = []

    @tf.custom_gradient
    def powers(x, n, reversed_too, shape):
        seen.append((type(n), type(reversed_too), type(shape), type(shape[0])))
        value = tf.reshape(tf.stack([x**k for k in range(n)]), shape)
        return value, lambda g: (tf.reduce_sum(g) * n, None, None, None, None)

    x = tf.constant(2.0)
    y, (slope,) = gradients(lambda x: powers(x, 4, True, (2, 2)), x)
    np.testing.assert_allclose(y, [[1.0, 2.0], [4.0, 8.0]])
    np.testing.assert_allclose(slope, 16.0)
    assert seen == [(int, bool, tuple, int)]
