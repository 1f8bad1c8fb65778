"""Derivatives through cond, while_loop and scan, against closed forms, to third order, in functions and maps."""

from __future__ import annotations

import gc
import math
from weakref import ref

import numpy as np
import pytest

import graphad as tf
from graphad.gradient.transforms import TRANSFORMS
from graphad.graph.digest import digest
from graphad.graph.walk import sub_graphs
from graphad.ops.control.call import Call
from graphad.trace.tracer import trace_flat


def cube(x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]


def derivatives(f, x, order):
    """f and its derivatives by x, by nested tapes."""
    if order == 0:
        return [f(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        values = derivatives(f, x, order - 1)
    return [*values, tape.gradient(values[-1], x)]


def numbers(values):
    return [None if v is None else np.asarray(v).tolist() for v in values]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_cube_by_loop_to_third_order(wrap):
    assert numbers(derivatives(wrap(cube), tf.constant(2.0), 3)) == [8.0, 12.0, 12.0, 6.0]


def test_tapes_inside_of_a_function():
    @tf.function
    def f(x):
        return derivatives(cube, x, 3)

    assert numbers(f(tf.constant(2.0))) == [8.0, 12.0, 12.0, 6.0]


def test_tapes_inside_and_outside():
    @tf.function
    def first(x):
        return derivatives(cube, x, 1)[1]

    assert numbers(derivatives(first, tf.constant(2.0), 2)) == [12.0, 12.0, 6.0]


def test_one_persistent_tape_differentiates_its_own_gradient():
    x = tf.constant(2.0)
    for f in (cube, tf.function(cube)):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
            with pytest.warns(UserWarning, match="persistent"):
                first = tape.gradient(y, x)
            second = tape.gradient(first, x)
            third = tape.gradient(second, x)
        assert numbers([first, second, third]) == [12.0, 12.0, 6.0]


@pytest.mark.parametrize(("x", "n"), [(2.0, 7), (3.0, 5), (10.0, 2), (200.0, 1)])
def test_number_of_steps_depends_on_data(x, n):
    @tf.function
    def f(x):
        return tf.while_loop(lambda y: y < 100.0, lambda y: (y * x,), (tf.ones_like(x),))[0]

    want = [x**n, n * x ** (n - 1), n * (n - 1) * x ** (n - 2)]
    np.testing.assert_allclose(numbers(derivatives(f, tf.constant(x), 2)), want, rtol=1e-5)


def test_no_steps_pass_the_cotangent_on():
    @tf.function
    def f(x, w):
        return tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * w), (0, x * 3.0))[1]

    x, w = tf.constant(2.0), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch((x, w))
        y = f(x, w)
    assert numbers(tape.gradient(y, (x, w))) == [3.0, 0.0]


def test_gradient_reaches_a_captured_variable():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * v), (0, x))[1]

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = f(x)
        first = tape.gradient(y, v)
    assert numbers([y, first, outer.gradient(first, v)]) == [162.0, 216.0, 216.0]


def test_a_carry_that_only_becomes_active_in_the_body():
    @tf.function
    def f(x):
        return tf.while_loop(
            lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, b * x), (0, tf.constant(1.0), tf.constant(1.0))
        )[1]

    np.testing.assert_allclose(numbers(derivatives(f, tf.constant(3.0), 2)), [9.0, 6.0, 2.0])


def test_a_carry_that_the_body_replaces_by_a_constant():
    @tf.function
    def f(x, n):
        return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, 5.0), (0, x))[1]

    x = tf.constant(2.0)
    for n, want in ((0, 1.0), (2, 0.0)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(n))
        assert tape.gradient(y, x).numpy() == want


def test_loop_in_cond_in_loop():
    def f(x):
        def body(i, y):
            def powers():
                return tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), (0, y))[1]

            return i + 1, tf.cond(i % 2 == 1, powers, lambda: y + x)

        return tf.while_loop(lambda i, y: i < 4, body, (0, tf.ones_like(x)))[1]

    # y: 1 + x, times x, plus x, times x^3: x^5 + x^4 ... = ((1 + x) x + x) x^3 = x^5 + 2 x^4
    x = 1.5
    want = [x**5 + 2 * x**4, 5 * x**4 + 8 * x**3, 20 * x**3 + 24 * x**2, 60 * x**2 + 48 * x]
    for run in (f, tf.function(f)):
        np.testing.assert_allclose(numbers(derivatives(run, tf.constant(x), 3)), want, rtol=1e-5)


@pytest.mark.parametrize("x", [1.5, -0.5])
def test_cond_to_third_order(x):
    def f(x):
        return tf.cond(x > 0, lambda: tf.sin(x) * x, lambda: tf.exp(2.0 * x))

    s, c, e = math.sin(x), math.cos(x), math.exp(2 * x)
    want = [s * x, s + x * c, 2 * c - x * s, -3 * s - x * c] if x > 0 else [e, 2 * e, 4 * e, 8 * e]
    for run in (f, tf.function(f)):
        np.testing.assert_allclose(numbers(derivatives(run, tf.constant(x), 3)), want, rtol=1e-5)


def test_a_value_used_in_one_branch_only():
    @tf.function
    def f(p, x, w):
        return tf.cond(p, lambda: x * w, lambda: x)

    x, w = tf.constant(2.0), tf.constant(5.0)
    for p, want in ((True, [5.0, 2.0]), (False, [1.0, 0.0])):
        with tf.GradientTape() as tape:
            tape.watch((x, w))
            y = f(tf.constant(p), x, w)
        assert numbers(tape.gradient(y, (x, w))) == want


def test_no_nan_from_the_branch_not_taken():
    def f(x):
        return tf.cond(x > 0, lambda: tf.math.log(x) + tf.sqrt(x), lambda: x * x * x)

    xs = np.array([-2.0, -1.0, 0.0, 1.0, 4.0], np.float32)
    safe = np.maximum(xs, 1e-9)
    first = np.where(xs > 0, 1 / safe + 0.5 / np.sqrt(safe), 3 * xs**2)
    second = np.where(xs > 0, -1 / safe**2 - 0.25 * safe**-1.5, 6 * xs)

    def rows(x):
        return derivatives(f, x, 2)[1:]

    for run in (lambda xs: tf.vectorized_map(rows, xs), tf.function(lambda xs: tf.vectorized_map(rows, xs))):
        np.testing.assert_allclose(numbers(run(tf.constant(xs))), [first, second], rtol=1e-5)
    # The tape outside of the map.
    x = tf.constant(xs)
    for run in (lambda xs: tf.vectorized_map(f, xs), tf.function(lambda xs: tf.vectorized_map(f, xs))):
        np.testing.assert_allclose(numbers(derivatives(run, x, 2))[1:], [first, second], rtol=1e-5)


def power(pair):
    x, n = pair
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]


def test_number_of_steps_per_row():
    xs = np.array([2.0, 3.0, -2.0, 5.0, 1.5, 2.0], np.float32)
    ns = np.arange(6, dtype=np.int32)
    want = [xs**ns, ns * xs ** (ns - 1.0), ns * (ns - 1) * xs ** (ns - 2.0)]

    def rows(pair):
        return derivatives(lambda x: power((x, pair[1])), pair[0], 2)

    pair = (tf.constant(xs), tf.constant(ns))
    for run in (lambda p: tf.vectorized_map(rows, p), tf.function(lambda p: tf.vectorized_map(rows, p))):
        np.testing.assert_allclose(numbers(run(pair)), want, rtol=1e-5)
    for run in (
        lambda x: tf.vectorized_map(power, (x, pair[1])),
        tf.function(lambda x: tf.vectorized_map(power, (x, pair[1]))),
    ):
        np.testing.assert_allclose(numbers(derivatives(run, pair[0], 2)), want, rtol=1e-5)


def test_nested_loops_with_own_steps_and_branches_per_row():
    def f(x, n):
        def body(i, y):
            z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), (0, y))[1]
            return i + 1, tf.cond(y > 3.0, lambda: z, lambda: z + tf.sin(x))

        return tf.while_loop(lambda i, y: i < n, body, (0, x))[1]

    def rows(pair):
        return derivatives(lambda x: f(x, pair[1]), pair[0], 2)

    pairs = [(1.1, 1), (0.9, 2), (1.5, 3), (-0.7, 4), (2.0, 4)]
    want = np.array([numbers(rows((tf.constant(x), tf.constant(n)))) for x, n in pairs]).T
    stacks = tuple(tf.constant(column) for column in zip(*pairs, strict=True))
    for run in (lambda p: tf.vectorized_map(rows, p), tf.function(lambda p: tf.vectorized_map(rows, p))):
        np.testing.assert_allclose(numbers(run(stacks)), want, rtol=1e-4)


def test_gradient_of_a_shared_value_in_a_map_with_own_steps():
    w = tf.constant(2.0)
    ns = tf.constant([0, 1, 2, 3])

    def row(n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), (0, tf.constant(1.0)))[1]

    for run in (lambda ns: tf.vectorized_map(row, ns), tf.function(lambda ns: tf.vectorized_map(row, ns))):
        with tf.GradientTape() as outer:
            outer.watch(w)
            with tf.GradientTape() as tape:
                tape.watch(w)
                y = run(ns)
            first = tape.gradient(y, w)
        assert numbers([y, first, outer.gradient(first, w)]) == [
            [1.0, 2.0, 4.0, 8.0],
            0 + 1 + 4 + 12.0,
            2 + 12.0,
        ]


def test_the_same_number_of_steps_in_all_rows():
    def row(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]

    x = tf.constant([1.0, 2.0, -3.0])
    for run in (lambda x: tf.vectorized_map(row, x), tf.function(lambda x: tf.vectorized_map(row, x))):
        y, first, second = numbers(derivatives(run, x, 2))
        np.testing.assert_allclose(first, 3 * x.numpy() ** 2)
        np.testing.assert_allclose(second, 6 * x.numpy())


def test_cond_in_two_maps():
    def cell(x):
        return tf.cond(x > 0, lambda: tf.sqrt(x), lambda: x * x)

    xs = np.array([[1.0, -2.0], [4.0, 0.0], [-1.0, 9.0]], np.float32)

    def f(x):
        return tf.vectorized_map(lambda row: tf.vectorized_map(cell, row), x)

    for run in (f, tf.function(f)):
        y, first = derivatives(run, tf.constant(xs), 1)
        np.testing.assert_allclose(y, np.where(xs > 0, np.sqrt(np.abs(xs)), xs * xs))
        np.testing.assert_allclose(
            first, np.where(xs > 0, 0.5 / np.sqrt(np.maximum(xs, 1e-9)), 2 * xs), rtol=1e-6
        )


def test_jacobian_and_hessian_through_a_loop():
    w = np.array([[0.5, 0.2], [-0.3, 0.8]], np.float32)

    def f(x):
        return tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.linalg.matvec(tf.constant(w), y))), (0, x)
        )[1]

    x = tf.constant([0.3, -0.7])
    found = []
    for run in (f, tf.function(f)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = run(x)
            jacobian = tape.jacobian(y, x)
        found.append((jacobian.numpy(), outer.jacobian(jacobian, x).numpy()))
    want, a = np.eye(2), x.numpy()
    for _ in range(3):
        a = np.tanh(w @ a)
        want = np.diag(1 - a**2) @ w @ want
    for jacobian, hessian in found:
        np.testing.assert_allclose(jacobian, want, rtol=1e-5)
        np.testing.assert_allclose(hessian, found[0][1], rtol=1e-5)
        assert hessian.shape == (2, 2, 2)


def test_scan_to_second_order():
    def f(x):
        return tf.reduce_sum(tf.scan(lambda a, b: a * b, x) ** 2)

    x = tf.constant([1.5, -2.0, 0.5])
    found = []
    for run in (f, tf.function(f)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = run(x)
            first = tape.gradient(y, x)
        found.append((first.numpy(), outer.jacobian(first, x).numpy()))
    a, b, c = x.numpy()
    # y = a^2 + a^2 b^2 + a^2 b^2 c^2
    want = [2 * a * (1 + b * b * (1 + c * c)), 2 * b * a * a * (1 + c * c), 2 * c * a * a * b * b]
    cross = [[want[0] / a, 4 * a * b * (1 + c * c), 4 * a * b * b * c]]
    for first, hessian in found:
        np.testing.assert_allclose(first, want, rtol=1e-5)
        np.testing.assert_allclose(hessian[0], cross[0], rtol=1e-5)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-5)


def test_reverse_scan_map_and_folds_agree_with_eager():
    def f(x):
        total = tf.reduce_sum(tf.scan(lambda a, b: tf.sin(a) + b * b, x, reverse=True) * x)
        return total + tf.foldr(lambda a, b: a * b, x) + tf.reduce_sum(tf.map_fn(lambda b: b**3, x))

    x = tf.constant([1.5, -2.0, 0.5, 0.1])
    a, b = derivatives(f, x, 2), derivatives(tf.function(f), x, 2)
    for u, v in zip(a, b, strict=True):
        np.testing.assert_allclose(u, v, rtol=1e-5)


def test_scan_of_unknown_length_to_second_order():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        return tf.scan(lambda a, b: a * b, x)[-1]

    for n in (2, 4):
        x = tf.constant(np.arange(1.0, n + 1, dtype=np.float32))
        y, first, second = derivatives(f, x, 2)
        product = math.factorial(n)
        np.testing.assert_allclose(first, product / x.numpy())
        # The gradient of the sum of the first derivatives.
        want = [
            sum(product / (a * b) for j, b in enumerate(x.numpy()) if j != i) for i, a in enumerate(x.numpy())
        ]
        np.testing.assert_allclose(second, want, rtol=1e-5)


def test_unknown_batch_size_to_second_order():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]

    for rows in (1, 3):
        x = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
        _, first, second = derivatives(f, tf.constant(x), 2)
        np.testing.assert_allclose(first, 3 * x**2, rtol=1e-5)
        np.testing.assert_allclose(second, 6 * x, rtol=1e-5)


def test_custom_gradients_in_branch_and_body():
    @tf.custom_gradient
    def twice_the_slope(x):
        return x * x, lambda g: g * 4.0 * x

    def f(x):
        y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, twice_the_slope(y)), (0, x))[1]
        return tf.cond(y > 0.0, lambda: twice_the_slope(y), lambda: y)

    x = tf.constant(1.5)
    eager, traced = derivatives(f, x, 2), derivatives(tf.function(f), x, 2)
    # y = x^8 with slopes 4y: 64 x^7
    np.testing.assert_allclose(numbers(eager)[:2], [1.5**8, 64 * 1.5**7], rtol=1e-5)
    np.testing.assert_allclose(numbers(traced), numbers(eager), rtol=1e-5)


def test_forward_mode_through_loop_cond_and_call():
    @tf.function
    def f(x, w):
        def body(i, y):
            return i + 1, tf.cond(i % 2 == 0, lambda: y * x, lambda: y + w * x)

        return tf.while_loop(lambda i, y: i < 5, body, (0, x))[1]

    x, w = tf.constant(1.2), tf.constant(0.7)
    with tf.GradientTape() as tape:
        tape.watch((x, w))
        y = f(x, w)
    dx, dw = tape.gradient(y, (x, w))
    with tf.autodiff.ForwardAccumulator((x, w), (tf.constant(2.0), tf.constant(-3.0))) as accumulator:
        y = f(x, w)
    np.testing.assert_allclose(accumulator.jvp(y), 2.0 * dx - 3.0 * dw, rtol=1e-5)


def test_forward_mode_through_scan():
    x = tf.constant([1.0, 2.0, -1.5])
    t = tf.constant([0.5, -1.0, 2.0])
    f = tf.function(lambda x: tf.scan(lambda a, b: a * b + tf.sin(b), x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    jacobian = tape.jacobian(y, x).numpy()
    with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
        y = f(x)
    np.testing.assert_allclose(accumulator.jvp(y), jacobian @ t.numpy(), rtol=1e-5)


def test_two_tapes_with_different_sources():
    @tf.function
    def f(x, w):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w), (0, x * x))[1]

    x, w = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as of_w:
        of_w.watch(w)
        with tf.GradientTape() as of_x:
            of_x.watch(x)
            y = f(x, w)
        dx = of_x.gradient(y, x)  # 2 x w^3
    assert dx.numpy() == 108.0
    assert of_w.gradient(dx, w).numpy() == 2 * 2.0 * 3 * 9.0


def test_complex_state():
    @tf.function
    def f(x):
        z = tf.complex(x, tf.constant(1.0))
        z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * z), (0, z))[1]
        return tf.math.real(z)

    # (x + i)^4 real part: x^4 - 6 x^2 + 1
    y, first = derivatives(f, tf.constant(2.0), 1)
    np.testing.assert_allclose(numbers([y, first]), [16 - 24 + 1.0, 32 - 24.0], rtol=1e-5)


def test_residuals_of_what_never_changes_are_not_stacked():
    w = tf.Variable(np.eye(3, dtype=np.float32))

    @tf.function
    def f(x):
        return tf.while_loop(
            lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(tf.linalg.matvec(tf.exp(w), y))), (0, x)
        )[1]

    loops = []
    with tf.GradientTape() as tape:
        y = f(tf.constant([0.1, 0.2, 0.3]))
    assert tape.gradient(y, w).shape == (3, 3)
    graph = f.get_concrete_function(tf.TensorSpec([3])).graph
    forward = TRANSFORMS.pullback_of(graph, [True] * len(graph.inputs)).forward
    loops = [node for node in forward.nodes if node.op.name == "loop"]
    assert loops and not any(spec.dims[1:] == (3, 3) for node in loops for spec in node.specs)


@pytest.mark.parametrize(
    "walk",
    [
        lambda x: tf.map_fn(lambda r: r * r, x),
        lambda x: tf.map_fn(lambda r: tf.reduce_sum(r * r * r), x),
        lambda x: tf.scan(lambda total, r: total + r * r, x, initializer=tf.zeros([2])),
        lambda x: tf.foldl(lambda total, r: total + r * r, x, initializer=tf.zeros([2])),
        lambda x: tf.foldr(lambda total, r: total * r * r, x, initializer=tf.zeros([2])),
    ],
    ids=["map", "map_to_scalars", "scan", "foldl", "foldr"],
)
@pytest.mark.parametrize("jit", [False, True])
def test_the_gradient_of_a_walk_over_no_rows_has_the_shape_of_what_is_walked(walk, jit):
    f = tf.function(walk, input_signature=[tf.TensorSpec([None, None])], jit_compile=jit)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    inside = tf.function(gradient, input_signature=[tf.TensorSpec([None, None])], jit_compile=jit)
    for run in (gradient, inside):
        assert run(tf.zeros([0, 2])).shape == [0, 2]
        assert run(tf.ones([3, 2])).shape == [3, 2]


_SHRINKING = {
    "shrink": lambda x: tf.while_loop(
        lambda y, total: tf.shape(y)[0] > 0,
        lambda y, total: (y[1:], total + tf.sin(tf.reduce_sum(y * y))),
        (x, tf.constant(0.0)),
        shape_invariants=(tf.TensorShape([None, None]), tf.TensorShape([])),
    )[1],
    "grow": lambda x: tf.while_loop(
        lambda i, y: i < tf.shape(x)[0],
        lambda i, y: (i + 1, tf.concat([y * y, tf.sin(x[i : i + 1])], 0)),
        (0, x[:0]),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, None])),
    )[1],
    "branches": lambda x: tf.cond(
        tf.reduce_sum(x) > 0.5, lambda: tf.tanh(x), lambda: tf.concat([x * x, tf.sin(x)], 0)
    ),
    "three_branches": lambda x: tf.switch_case(
        tf.minimum(tf.shape(x)[0], 2),
        [lambda: tf.sin(x), lambda: tf.concat([x * x, x], 0), lambda: x[1:] * x[:1] * x[1:]],
    ),
}


@pytest.mark.parametrize("name", _SHRINKING)
@pytest.mark.parametrize("jit", [False, None, True])
def test_gradients_through_shapes_that_change_are_those_of_eager_calls(name, jit):
    program = _SHRINKING[name]
    specs = [tf.TensorSpec([None, None])]
    f = tf.function(program, input_signature=specs, jit_compile=jit)

    def gradient(run):
        def of(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = run(x)
            return tape.gradient(y, x)

        return of

    inside = tf.function(gradient(program), input_signature=specs, jit_compile=jit)
    for n in (3, 1, 0, 2):
        for sign in (1.0, -1.0):
            x = tf.constant(sign * np.random.default_rng(n).uniform(0.2, 1.0, (n, 2)).astype(np.float32))
            want = gradient(program)(x)
            for found in (gradient(f)(x), inside(x)):
                if want is None:  # the eager loop never ran
                    want = tf.zeros_like(x)
                np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [None, [None, None], [None, 2]])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_jacobian_of_rows_with_their_own_number_of_steps_is_there_for_any_number_of_rows(sizes, rows):
    def row(r):
        return tf.while_loop(lambda i, y: tf.reduce_sum(y) < 10.0, lambda i, y: (i + 1, y * y), (0, r))[1]

    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.map_fn(row, x)
        return tape.jacobian(y, x)

    x = tf.constant(np.arange(1.2, 1.2 + 2 * rows).reshape(rows, 2) / 2, tf.float32)
    found = tf.function(jacobian, input_signature=[tf.TensorSpec(sizes)])(x)
    assert found.shape == [rows, 2, rows, 2]
    if rows:
        np.testing.assert_allclose(found, jacobian(x), rtol=1e-6)


_WALKS = {
    "map": lambda x: tf.map_fn(lambda r: tf.concat([r * r, tf.ones([3])], 0) ** 2, x),
    "scan": lambda x: tf.scan(lambda y, r: y * r + tf.sin(r), x, tf.ones(tf.shape(x)[1:])),
    "scan_from_the_first": lambda x: tf.scan(
        lambda y, r: y * r + tf.sin(r), tf.concat([tf.ones([1, 3]), x], 0)
    ),
    "foldl": lambda x: tf.foldl(lambda y, r: y * r + tf.sin(r), x, tf.ones(tf.shape(x)[1:])),
    "while": lambda x: tf.while_loop(
        lambda i, y: i < tf.shape(x)[0], lambda i, y: (i + 1, y * y * 0.5), (0, x)
    )[1],
    "cond": lambda x: tf.cond(tf.shape(x)[0] > 2, lambda: tf.map_fn(tf.sin, x) * x, lambda: x * x * x),
}


@pytest.mark.parametrize("sizes", [None, [None, None]])
@pytest.mark.parametrize("name", _WALKS)
def test_steps_that_did_not_run_leave_every_derivative_of_a_function_of_unknown_sizes(name, sizes):
    """Differentiated outside: what a loop without steps left behind has no sizes of its own."""
    program = _WALKS[name]
    f = tf.function(program, input_signature=[tf.TensorSpec(sizes)])

    def derivatives(run, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(run(x) ** 2)
            first = tape.gradient(loss, x, unconnected_gradients="zero")
            total = tf.reduce_sum(tf.sin(first))
        second = outer.gradient(total, x, unconnected_gradients="zero")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(run(x), 0)
        with tf.autodiff.ForwardAccumulator(x, tf.cos(x)) as accumulator:
            z = run(x)
        tangent = accumulator.jvp(z, unconnected_gradients="zero")
        return first, second, tape.jacobian(y, x, unconnected_gradients="zero"), tangent

    for rows in (0, 1, 3):
        x = tf.constant(np.linspace(0.3, 1.2, 3 * rows).reshape(rows, 3), tf.float32)
        for k, (ours, theirs) in enumerate(zip(derivatives(f, x), derivatives(program, x), strict=True)):
            if rows or k < 2:
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
                assert ours.shape == theirs.shape


def _with_gradient(program):
    """A traced function that differentiates a function, so that its graph holds what leaves residuals."""
    inner = tf.function(program)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(inner(x))
        return y, tape.gradient(y, x)

    return step


_HOLDERS = {
    "call": lambda x: tf.tanh(x) * x,
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x) * x, lambda: tf.sin(x)),
    "loop": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y) * x), (0, x))[1],
    "vectorize": lambda x: tf.vectorized_map(lambda row: tf.exp(row) * row, x),
}


def _traced_with_gradient(name):
    return _with_gradient(_HOLDERS[name]).get_concrete_function(tf.TensorSpec([None, 2])).graph


def _held(graph):
    for node in graph.nodes:
        yield node.op
        for inner in sub_graphs(node.op):
            yield from _held(inner)


@pytest.mark.parametrize("name", _HOLDERS)
def test_what_leaves_residuals_is_an_op_like_any_other(name):
    """Nothing in a graph of a gradient is alive, so two traces of it are one program: for caches, and in files."""
    graph = _traced_with_gradient(name)
    assert name in {op.name for op in _held(graph)}
    assert not any(op.live for op in _held(graph))
    assert digest(graph) == digest(_traced_with_gradient(name))


@pytest.mark.parametrize("name", _HOLDERS)
def test_a_layer_goes_with_its_op(name):
    """An op with residuals that is bound again finds what they are for; without one it says so."""
    graph = trace_flat(lambda x: [_HOLDERS[name](x)], [tf.TensorSpec([None, 2])]).graph
    (node,) = [node for node in graph.nodes if node.op.structured] or [None]
    if node is None:
        op = Call(graph)
        needs = [True] * len(graph.inputs)
    else:
        op, needs = node.op, [graph.specs[i].dtype.is_differentiable for i in node.inputs]
    assert op.layer is None
    with pytest.raises(tf.errors.InternalError, match="recorded without residuals"):
        op.vjp(None)
    forward = op.augmented(TRANSFORMS, needs)
    assert type(forward) is type(op) and forward.layer.base is op and forward.n_outputs > op.n_outputs
    again = type(forward)(*[getattr(forward, field) for field in forward.attributes])
    assert again is forward and again.layer is forward.layer
    above = forward.augmented(TRANSFORMS, needs)
    assert above.layer.base is forward
    gone = ref(forward)
    del graph, node, op, forward, again, above
    gc.collect()
    assert gone() is None, "a layer outlives its graphs"
