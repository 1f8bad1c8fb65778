"""What `GradientTape.gradient` takes and gives, as users of TensorFlow rely on it, eagerly and in functions."""

from collections import namedtuple

import numpy as np
import pytest

import graphad as tf


def plainly(f):
    return f


WAYS = pytest.mark.parametrize("way", [plainly, tf.function], ids=["eager", "function"])
Pair = namedtuple("Pair", ["a", "b"])


def slopes(way, f, *xs, **options):
    """The gradients of f by all arguments."""

    @way
    def g(*xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        return tape.gradient(y, list(xs), **options)

    return g(*[tf.constant(x) for x in xs])


@WAYS
def test_the_result_is_nested_like_the_sources(way):
    @way
    def f(x, z):
        with tf.GradientTape() as tape:
            tape.watch([x, z])
            y = x * z
        return tape.gradient(y, {"l": [x, z], "t": (x, x), "n": Pair(x, {"z": z})})

    g = f(tf.constant(2.0), tf.constant(5.0))
    assert [float(v) for v in g["l"]] == [5.0, 2.0]
    assert isinstance(g["t"], tuple) and [float(v) for v in g["t"]] == [5.0, 5.0]
    assert isinstance(g["n"], Pair) and float(g["n"].b["z"]) == 2.0


@WAYS
@pytest.mark.parametrize(
    "nest", [lambda a, b: [a, b], lambda a, b: {"a": a, "b": (b,)}], ids=["list", "dict"]
)
def test_targets_are_summed(way, nest):
    (g,) = slopes(way, lambda x: nest(x * x, 3.0 * x), 2.0)
    assert float(g) == 7.0


@WAYS
def test_a_target_with_elements_counts_as_their_sum(way):
    (g,) = slopes(way, lambda x: x * tf.constant([1.0, 2.0, 3.0]), 2.0)
    assert float(g) == 6.0


@WAYS
def test_a_target_that_is_the_source_has_ones(way):
    (g,) = slopes(way, lambda x: x, [2.0, 3.0])
    np.testing.assert_array_equal(g, [1.0, 1.0])
    (g,) = slopes(way, lambda x: [x, x], [2.0, 3.0])
    np.testing.assert_array_equal(g, [2.0, 2.0])
    (g,) = slopes(way, lambda x: [x, x * x], 2.0)
    assert float(g) == 5.0


@WAYS
def test_an_unrelated_variable_has_no_gradient(way):
    a, b = tf.Variable(1.0), tf.Variable(2.0)

    @way
    def f():
        with tf.GradientTape() as tape:
            pass
        return tape.gradient(a, [b])

    assert f() == [None]


def test_odd_targets_and_sources():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    with pytest.raises(
        TypeError, match=r"should be a list or nested structure of Tensors.*but received None"
    ):
        tape.gradient(None, x)
    assert tape.gradient([], x) is None
    assert tape.gradient(y, []) == []
    with pytest.raises(TypeError):
        tape.gradient(y, [x, None])


@WAYS
def test_integers_end_the_way_of_a_gradient(way):
    x = tf.Variable(2.5)

    @way
    def f():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0
            n = tf.cast(x, tf.int32) * 3
        return tape.gradient(y, x), tape.gradient(n, x)

    assert f() == (None, None)


@WAYS
@pytest.mark.parametrize("zero", ["zero", tf.UnconnectedGradients.ZERO], ids=["word", "enum"])
def test_zeros_where_nothing_leads(way, zero):
    a, b = tf.Variable(1.0), tf.Variable([[1.0, 2.0]])

    @way
    def f(n):
        with tf.GradientTape() as tape:
            y = a * a
        return tape.gradient(y, [a, b, n], unconnected_gradients=zero)

    da, db, dn = f(tf.constant([1, 2], tf.int32))
    assert float(da) == 2.0
    np.testing.assert_array_equal(db, [[0.0, 0.0]])
    assert dn.dtype == tf.int32 and dn.shape == (2,)


@pytest.mark.parametrize("bad", ["nonsense", "ZERO", None])
def test_other_words_for_unconnected_gradients_are_refused(bad):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, x, unconnected_gradients=bad)


@WAYS
@pytest.mark.parametrize("listed", [False, True], ids=["tensor", "list of one"])
def test_a_single_target_has_one_output_gradient(way, listed):
    upstream = tf.constant([2.0, 3.0])
    (g,) = slopes(way, lambda x: x * x, [1.0, 2.0], output_gradients=[upstream] if listed else upstream)
    np.testing.assert_array_equal(g, [4.0, 12.0])


@WAYS
def test_a_number_as_output_gradient_is_converted(way):
    (g,) = slopes(way, lambda x: x * x, 3.0, output_gradients=2.0)
    assert float(g) == 12.0


@WAYS
def test_output_gradients_belong_to_targets_by_position(way):
    (g,) = slopes(way, lambda x: {"a": x * x, "b": 3.0 * x}, 2.0, output_gradients=[10.0, 100.0])
    assert float(g) == 340.0


@pytest.mark.parametrize("bad", [[None, 1.0]])
def test_none_among_output_gradients_is_refused(bad):
    with pytest.raises(ValueError, match="None"):
        slopes(plainly, lambda x: [x * x, x], 2.0, output_gradients=bad)


def test_output_gradients_of_another_shape_are_refused():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        slopes(plainly, lambda x: x * x, [1.0, 2.0, 3.0], output_gradients=tf.constant([1.0, 2.0]))


@WAYS
def test_a_variable_given_a_new_value_keeps_the_old_for_the_gradient(way):
    x = tf.Variable(2.0)

    @way
    def f():
        x.assign(2.0)
        with tf.GradientTape() as tape:
            y = x * x
            x.assign(5.0)
            z = y + x * 3.0
        return tape.gradient(z, x)

    assert float(f()) == 7.0


@WAYS
def test_nothing_flows_through_assignments(way):
    v, x = tf.Variable(0.0), tf.Variable(2.0)

    @way
    def f():
        with tf.GradientTape(persistent=True) as tape:
            v.assign(x * 3.0)
            v.assign_add(x)
            y = v * 2.0
        return tape.gradient(y, x), tape.gradient(y, v)

    none, g = f()
    assert none is None
    assert float(g) == 2.0


@WAYS
def test_the_gradient_of_a_lookup_is_slices_with_repeats(way):
    v = tf.Variable([[1.0], [2.0], [3.0]])

    @way
    def f():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(v, [0, 2, 0]) * tf.constant([[1.0], [2.0], [4.0]]))
        return tape.gradient(y, v)

    g = f()
    assert isinstance(g, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(g), [[5.0], [0.0], [2.0]])


FLAT = {
    "round": tf.round,
    "floor": tf.floor,
    "ceil": tf.math.ceil,
    "argmax": lambda x: tf.cast(tf.argmax(x), tf.float32),
    "less": lambda x: tf.cast(x < 2.0, tf.float32),
    "shape": lambda x: tf.cast(tf.shape(x), tf.float32),
    "zeros_like": tf.zeros_like,
    "ones_like": tf.ones_like,
    "bitcast": lambda x: tf.bitcast(tf.bitcast(x, tf.int32), tf.float32),
}


@WAYS
@pytest.mark.parametrize("name", FLAT)
def test_ops_without_a_slope_give_none(way, name):
    assert slopes(way, FLAT[name], [1.5, 2.5]) == [None]


@WAYS
def test_sign_has_a_slope_of_zero(way):
    (g,) = slopes(way, tf.sign, [1.5, -2.5])
    np.testing.assert_array_equal(g, [0.0, 0.0])


def test_an_op_without_a_registered_gradient_says_so():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.raw_ops.Bucketize(input=x, boundaries=[0.5]) if hasattr(tf, "raw_ops") else None
    if y is not None:
        with pytest.raises(LookupError):
            tape.gradient(y, x)


@WAYS
def test_a_complex_gradient_is_the_conjugate(way):
    (g,) = slopes(way, lambda x: x * x, 2 + 1j)
    assert complex(g) == 4 - 2j


@WAYS
def test_outputs_that_nobody_uses_count_as_zero(way):
    (g,) = slopes(way, lambda x: tf.split(x, 3)[1] * 2.0, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(g, [0.0, 2.0, 0.0])


@WAYS
def test_third_derivatives(way):
    @way
    def f(x):
        with tf.GradientTape() as a:
            a.watch(x)
            with tf.GradientTape() as b:
                b.watch(x)
                with tf.GradientTape() as c:
                    c.watch(x)
                    y = x**4
                first = c.gradient(y, x)
            second = b.gradient(first, x)
        return first, second, a.gradient(second, x)

    assert [float(g) for g in f(tf.constant(2.0))] == [32.0, 48.0, 48.0]


@WAYS
@pytest.mark.parametrize(
    ("f", "x", "wanted"),
    [
        (lambda x: tf.where(x < 10.0, x, x * x), [4.0, 20.0], [1.0, 40.0]),
        (lambda x: tf.where(x > 0.0, tf.math.log(x), 0.0), [0.0], [np.nan]),
        (lambda x: tf.where(x > 0.0, 1.0 / x, 0.0), [0.0], [np.nan]),
        (lambda x: tf.where(x > 0.0, x**0.5, 0.0), [0.0], [np.nan]),
        (lambda x: tf.where(x > 0.0, tf.sqrt(x), 0.0), [0.0], [0.0]),
        (tf.nn.relu, [0.0], [0.0]),
        (tf.nn.elu, [0.0], [1.0]),
        (tf.abs, [0.0], [0.0]),
        (tf.sqrt, [0.0], [np.inf]),
        (lambda x: x**0.5, [0.0], [np.inf]),
        (tf.norm, [0.0, 0.0], [np.nan, np.nan]),
        (lambda x: tf.maximum(x, 0.0), [0.0], [1.0]),
        (lambda x: tf.minimum(x, 0.0), [0.0], [1.0]),
        (lambda x: tf.maximum(0.0, x), [0.0], [0.0]),
        (lambda x: tf.clip_by_value(x, 0.0, 1.0), [0.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
        (tf.reduce_max, [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
        (lambda x: tf.math.divide_no_nan(1.0, x), [0.0], [0.0]),
        (lambda x: tf.clip_by_norm(x, 0.5), [0.0, 0.0], [1.0, 1.0]),
    ],
)
def test_slopes_at_kinks_and_edges(way, f, x, wanted):
    (g,) = slopes(way, f, x)
    np.testing.assert_array_equal(g, np.float32(wanted))


def test_pythons_max_of_variables_takes_the_larger():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = max([a, b]) * 2.0
    da, db = tape.gradient(y, [a, b])
    assert da is None and float(db) == 2.0
