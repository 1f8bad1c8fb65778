"""`GradientTape.gradient`: structures, several targets, upstream gradients, unconnected sources, values at kinks."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both

Pair = namedtuple("Pair", "left right")


def slope(f, *values, run=None, dtype=np.float32):
    """The gradients of f at these values."""

    def body(*xs):
        with tf.GradientTape() as tape:
            tape.watch(list(xs))
            y = f(*xs)
        return tape.gradient(y, list(xs))

    xs = [tf.constant(np.asarray(v, dtype)) for v in values]
    out = body(*xs) if run is None else run(body, *xs)
    return out[0] if len(values) == 1 else out


# -- structures ------------------------------------------------------------------------------------------------------


@in_both
def test_the_result_has_the_nesting_of_the_sources(run):
    def body(a, b):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([a, b])
            y = a * b
        sources = [a, (a, b), {"deep": [b], "pair": Pair(a, b)}]
        return (
            tape.gradient(y, sources),
            tape.gradient(y, Pair(a, b)),
            tape.gradient(y, a),
            tape.gradient(y, (b,)),
        )

    nested, pair, bare, single = run(body, tf.constant(2.0), tf.constant(3.0))
    assert type(nested) is list
    assert type(nested[1]) is tuple
    assert float(nested[0]) == 3.0
    assert [float(g) for g in nested[1]] == [3.0, 2.0]
    assert float(nested[2]["deep"][0]) == 2.0
    assert isinstance(nested[2]["pair"], Pair)
    assert float(nested[2]["pair"].right) == 2.0
    assert isinstance(pair, Pair)
    assert (float(pair.left), float(pair.right)) == (3.0, 2.0)
    assert float(bare) == 3.0
    assert type(single) is tuple


@in_both
def test_repeated_sources_give_repeated_gradients(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, [x, x, x])

    assert [float(g) for g in run(body, tf.constant(3.0))] == [6.0, 6.0, 6.0]


@pytest.mark.parametrize(
    "pack", [lambda a, b: [a, b], lambda a, b: {"a": a, "b": [b]}, lambda a, b: ((a,), b)]
)
@in_both
def test_gradients_of_several_targets_are_added(run, pack):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            targets = pack(x * x, x * 5.0)
        return tape.gradient(targets, x)

    assert run(body, tf.constant(3.0)).numpy() == 11.0


@in_both
def test_a_target_with_many_elements_counts_as_their_sum(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * tf.constant([1.0, 2.0, 3.0])
        return tape.gradient(y, x)

    assert run(body, tf.constant(2.0)).numpy() == 6.0


@in_both
def test_targets_of_one_shape_may_have_several_dtypes(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(x, tf.float32)
        return tape.gradient([x, y], [x, y])

    wide, narrow = run(body, tf.constant([2.0, 3.0], tf.float64))
    assert wide.dtype == tf.float64 and wide.numpy().tolist() == [2, 2]
    assert narrow.dtype == tf.float32 and narrow.numpy().tolist() == [1, 1]


@in_both
def test_a_target_that_is_the_source_gives_ones(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
        return tape.gradient(x, x), tape.gradient([x, x], x), tape.gradient([x, x], [x, x])

    once, twice, both = run(body, tf.constant([2.0, 3.0]))
    np.testing.assert_array_equal(once, [1.0, 1.0])
    np.testing.assert_array_equal(twice, [2.0, 2.0])
    np.testing.assert_array_equal(both[1], [2.0, 2.0])


@in_both
def test_a_source_among_the_targets_adds_one(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient([x, y], x)

    assert run(body, tf.constant(2.0)).numpy() == 5.0


@in_both
def test_variables_as_targets(run):
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    def body():
        with tf.GradientTape(persistent=True) as tape:
            y = v * 1.0
        assert tape.gradient(v, w) is None
        assert y is not None
        return tape.gradient(v, v)

    assert run(body).numpy() == 1.0


def test_empty_targets_and_sources():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient([], x) is None
    assert tape.gradient([], [x, {"x": x}]) == [None, {"x": None}]
    assert tape.gradient([], [x], unconnected_gradients="zero")[0].numpy() == 0
    assert tape.gradient(y, []) == []
    assert tape.gradient(y, {}) == {}


@pytest.mark.parametrize(
    ("target", "sources", "text"),
    [
        (None, "x", "Argument `target` should be a list or nested structure of Tensors.*but received None"),
        ("y", None, "None of type NoneType is neither a Tensor nor a Variable"),
        ("y", ["x", None], "None of type NoneType is neither a Tensor nor a Variable"),
        ("y", np.float32(1.0), "of type float32 is neither a Tensor nor a Variable"),
        (3.0, "x", "3.0 of type float is neither a Tensor nor a Variable"),
        (np.ones(2), "x", "of type ndarray is neither a Tensor nor a Variable"),
    ],
)
def test_other_objects_as_targets_or_sources_are_refused_and_leave_the_tape_usable(target, sources, text):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x

    def named(value):
        if isinstance(value, list):
            return [named(item) for item in value]
        return {"x": x, "y": y}[value] if isinstance(value, str) else value

    with pytest.raises(TypeError, match=text):
        tape.gradient(named(target), named(sources))
    assert tape.gradient(y, x).numpy() == 4.0


# -- what has no gradient ------------------------------------------------------------------------------------------------


@in_both
def test_integers_have_no_gradient_on_either_end_or_on_the_way(run):
    def body(x, n):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            k = tf.cast(x, tf.int32)
            y = tf.cast(k, tf.float32) * 2.0
            z = x * tf.cast(n, tf.float32)
        return [tape.gradient(k, x), tape.gradient(y, x), tape.gradient(z, n)]

    assert run(body, tf.constant(2.5), tf.constant(3)) == [None, None, None]


FLAT = {
    "round": tf.round,
    "floor": tf.floor,
    "ceil": tf.math.ceil,
    "argmax": lambda x: tf.cast(tf.argmax(x), tf.float32),
    "comparison": lambda x: tf.cast(x > 1.0, tf.float32),
    "shape": lambda x: tf.cast(tf.shape(x), tf.float32),
    "zeros_like": tf.zeros_like,
    "ones_like": tf.ones_like,
    "bitcast": lambda x: tf.cast(tf.bitcast(x, tf.int32), tf.float32),
}


@pytest.mark.parametrize("name", FLAT)
@in_both
def test_ops_without_a_derivative_give_none(run, name):
    assert slope(FLAT[name], [1.5, 0.5], run=run) is None


@in_both
def test_sign_gives_zeros(run):
    np.testing.assert_array_equal(slope(tf.sign, [1.5, -2.0], run=run), [0.0, 0.0])


@in_both
def test_unconnected_gradients(run):
    def body(x, n):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.constant(1.0) * 2.0
        zero = tf.UnconnectedGradients.ZERO
        assert tape.gradient(y, x) is None
        assert tape.gradient(y, x, unconnected_gradients="none") is None
        assert tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.NONE) is None
        return tape.gradient(y, [x, n], unconnected_gradients="zero"), tape.gradient(
            y, x, unconnected_gradients=zero
        )

    (of_x, of_n), again = run(body, tf.constant(np.ones((2, 3))), tf.constant([1, 2]))
    assert of_x.dtype is tf.float64
    np.testing.assert_array_equal(of_x, np.zeros((2, 3)))
    assert of_n.dtype is tf.int32
    np.testing.assert_array_equal(of_n, [0, 0])
    np.testing.assert_array_equal(again, np.zeros((2, 3)))


def test_unconnected_variables_get_zeros_of_their_shape():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    with tf.GradientTape() as tape:
        y = v * 2.0
    of_v, of_w = tape.gradient(y, [v, w], unconnected_gradients="zero")
    np.testing.assert_array_equal(of_v, [2.0, 2.0])
    np.testing.assert_array_equal(of_w, [[0.0]])


@pytest.mark.parametrize("value", ["nonsense", "ZERO", "None", None, 0])
def test_other_modes_for_unconnected_gradients_are_refused(value):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match=rf"Unknown value for unconnected_gradients: {value!r};"):
        tape.gradient(y, x, unconnected_gradients=value)
    assert tape.gradient(y, x).numpy() == 4.0


# -- upstream gradients ----------------------------------------------------------------------------------------------


@in_both
def test_upstream_gradients_belong_to_targets_by_position(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * x, x * 3.0
        return [
            tape.gradient(y, x, output_gradients=tf.constant(10.0)),
            tape.gradient(y, x, output_gradients=[tf.constant(10.0)]),
            tape.gradient([y], x, output_gradients=tf.constant(10.0)),
            tape.gradient([y, z], x, output_gradients=[2.0, 100.0]),
            tape.gradient({"b": z, "a": y}, x, output_gradients={"a": 2.0, "b": 100.0}),
        ]

    assert [float(g) for g in run(body, tf.constant(2.0))] == [40.0, 40.0, 40.0, 308.0, 308.0]


@pytest.mark.parametrize(
    "upstream",
    [[1.0, 2.0, 3.0], [[1.0, 2.0, 3.0]], np.array([1, 2, 3]), ((1, 2, 3),), tf.constant([1.0, 2.0, 3.0])],
    ids=["list", "list_in_list", "array", "tuple", "tensor"],
)
def test_upstream_gradients_are_converted(upstream):
    x = tf.constant([1.0, 1.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=upstream), [2.0, 4.0, 6.0])


@in_both
def test_scalar_upstream_gradients_are_repeated(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reshape(x, [3, 1])
        return tape.gradient(y, x, output_gradients=2.0)

    np.testing.assert_array_equal(run(body, tf.constant([1.0, 2.0, 3.0])), [2.0, 2.0, 2.0])


@in_both
def test_the_upstream_gradient_may_depend_on_a_source_of_an_outer_tape(run):
    def body(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x
            g = inner.gradient(y, x, output_gradients=x)
        return outer.gradient(g, x)

    assert run(body, tf.constant(3.0)).numpy() == 12.0


@in_both
def test_bad_upstream_gradients_are_refused(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * 2.0, x * 3.0
        with pytest.raises(ValueError, match=r"1 output_gradients for 2 targets"):
            tape.gradient([y, z], x, output_gradients=[1.0])
        with pytest.raises(ValueError, match=r"Attempt to convert a value \(None\) with an unsupported type"):
            tape.gradient([y, z], x, output_gradients=[None, 1.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: .*\(3,\).*\(2,\)"):
            tape.gradient(y, x, output_gradients=tf.constant([1.0, 2.0, 3.0]))
        with pytest.raises(TypeError, match=r"float64"):
            tape.gradient(y, x, output_gradients=tf.constant([1.0, 1.0], tf.float64))
        return tape.gradient(y, x)

    np.testing.assert_array_equal(run(body, tf.constant([1.0, 2.0])), [2.0, 2.0])


# -- variables that change -----------------------------------------------------------------------------------------------


@in_both
def test_the_backward_pass_uses_values_read_at_forward_time(run):
    x = tf.Variable(2.0)

    def body():
        with tf.GradientTape() as tape:
            y = x * x
            x.assign(5.0)
        return tape.gradient(y, x)

    assert run(body).numpy() == 4.0
    assert x.numpy() == 5.0


def test_reads_before_and_after_an_assignment_are_added():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        x.assign(5.0)
        y = y + x * x
    assert tape.gradient(y, x).numpy() == 14.0


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
@in_both
def test_assigned_values_have_no_gradient(run, method):
    v = tf.Variable(1.0)

    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            updated = getattr(v, method)(x * 3.0)
            y = updated * 2.0
        assert tape.gradient(y, x) is None
        return tape.gradient(y, v)

    assert run(body, tf.constant(4.0)).numpy() == 2.0


# -- sparse gradients, multi-output ops, complex numbers ------------------------------------------------------------------


def test_the_gradient_of_gather_is_a_set_of_slices():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(v, [0, 2, 0]) * 2.0
    g = tape.gradient(y, v)
    assert isinstance(g, tf.IndexedSlices)
    np.testing.assert_array_equal(g.indices, [0, 2, 0])
    np.testing.assert_array_equal(g.values, np.full((3, 2), 2.0))
    np.testing.assert_array_equal(g.dense_shape, [3, 2])
    np.testing.assert_array_equal(tf.convert_to_tensor(g), [[4.0, 4.0], [0.0, 0.0], [2.0, 2.0]])


@in_both
def test_slices_and_dense_gradients_are_added(run):
    v = tf.Variable([[1.0], [3.0], [5.0]])

    def body():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(v, [0, 0])) + tf.reduce_sum(v * v)
        return tf.convert_to_tensor(tape.gradient(y, v))

    np.testing.assert_array_equal(run(body), [[4.0], [6.0], [10.0]])


KEYS = [
    (slice(1, None), slice(None, -1)),
    (slice(0, 2), slice(2, 4), 3),
    (0, slice(None), -1),
    (slice(None, None, 2), slice(1, 3), slice(None, None, -1)),
    ((slice(1, 3), 2), (Ellipsis, slice(0, 2)), (None, 1)),
    (slice(2, 2), slice(1, 3), (3, 1)),
]


@pytest.mark.parametrize("keys", KEYS, ids=range(len(KEYS)))
@pytest.mark.parametrize("first", [False, True], ids=["slices", "behind-a-product"])
@pytest.mark.parametrize("lines", [4, 1500])
def test_cotangents_of_slices_are_added_in_place_with_the_bits_of_a_sum(keys, first, lines):
    x = np.arange(3.0 * lines).reshape(lines, 3)
    factors = [np.resize([-0.0, 0.0, 1.5, -0.0, -2.0], x[key].shape) for key in keys]
    with tf.GradientTape(persistent=True) as tape:
        a = tf.constant(x)
        tape.watch(a)
        parts = [tf.reduce_sum(a[key] * f) for key, f in zip(keys, factors, strict=True)]
        parts += [tf.reduce_sum(a * -0.0)] * first
        y = tf.add_n(parts)
    expected = np.full_like(x, -0.0) if first else None
    for key, f in reversed(list(zip(keys, factors, strict=True))):
        bar = np.zeros_like(x)
        bar[key] = f
        expected = bar if expected is None else expected + bar
    for _ in range(2):
        assert tape.gradient(y, a).numpy().tobytes() == expected.tobytes()


def test_a_cotangent_that_others_hold_stays_as_it_is():
    x = tf.constant(np.arange(4.0))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[1:]
        z = tf.reduce_sum(tf.identity(x) + x) + tf.reduce_sum(y * 3.0)
    bars = tape.gradient(z, [x, y])
    assert bars[0].numpy().tolist() == [2, 5, 5, 5] and bars[1].numpy().tolist() == [3, 3, 3]


@in_both
def test_unused_outputs_count_as_zeros(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            left, right = tf.split(x, 2)
            y = right * right
        assert left is not None
        return tape.gradient(y, x)

    np.testing.assert_array_equal(run(body, tf.constant([1.0, 2.0, 3.0, 4.0])), [0.0, 0.0, 6.0, 8.0])


@in_both
def test_complex_gradients_are_conjugates(run):
    g = slope(lambda x: x * x, 2 + 1j, run=run, dtype=np.complex64)
    assert g.numpy() == 4 - 2j


# -- kinks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "expected"), [(3.0, 1.0), (20.0, 40.0)])
@in_both
def test_only_the_chosen_branch_of_where_contributes(run, x, expected):
    assert slope(lambda x: tf.where(x < 10.0, x, x * x), x, run=run).numpy() == expected


POLES = {"log": tf.math.log, "reciprocal": lambda x: 1.0 / x, "power": lambda x: x**0.5, "sqrt": tf.sqrt}


@pytest.mark.parametrize("name", POLES)
@in_both
def test_an_infinite_derivative_of_the_other_branch_adds_nothing(run, name):
    assert slope(lambda x: tf.where(x > 0.0, POLES[name](x), 0.0), 0.0, run=run).numpy() == 0.0


KINKS = {
    "relu": (tf.nn.relu, 0.0, 0.0),
    "elu": (tf.nn.elu, 0.0, 1.0),
    "abs": (tf.abs, 0.0, 0.0),
    "sqrt": (tf.sqrt, 0.0, np.inf),
    "power": (lambda x: x**0.5, 0.0, np.inf),
    "norm": (tf.norm, [0.0, 0.0], [np.nan, np.nan]),
    "maximum": (lambda x: tf.maximum(x, 0.0), 0.0, 1.0),
    "minimum": (lambda x: tf.minimum(x, 0.0), 0.0, 1.0),
    "maximum_second": (lambda x: tf.maximum(0.0, x), 0.0, 0.0),
    "clip_low": (lambda x: tf.clip_by_value(x, 0.0, 1.0), 0.0, 1.0),
    "clip_high": (lambda x: tf.clip_by_value(x, 0.0, 1.0), 1.0, 1.0),
    "reduce_max": (tf.reduce_max, [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    "divide_no_nan": (lambda x: tf.math.divide_no_nan(1.0, x), 0.0, 0.0),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 1.0), [0.0, 0.0], [1.0, 1.0]),
}


@pytest.mark.parametrize("name", KINKS)
@in_both
def test_derivatives_at_kinks(run, name):
    f, x, expected = KINKS[name]
    np.testing.assert_array_equal(slope(f, x, run=run), np.asarray(expected, np.float32))


def test_python_max_of_variables():
    v1, v2 = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = max([v1, v2]) * 1.0
    of_v1, of_v2 = tape.gradient(loss, [v1, v2])
    assert of_v1 is None
    assert of_v2.numpy() == 1.0


def test_a_lookup_along_an_axis_counted_from_the_end_has_a_dense_gradient():
    """As in TensorFlow, where only axis 0 given as such leaves slices; a program may go on computing with the gradient."""
    for source in (tf.Variable([1.0, 2.0, 3.0]), tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])):
        with tf.GradientTape(persistent=True) as tape:
            from_the_end = tf.reduce_sum(tf.gather(source, [0, 2, 0], axis=-len(source.shape)) ** 2)
            from_the_start = tf.reduce_sum(tf.gather(source, [0, 2, 0], axis=0) ** 2)
        dense, slices = tape.gradient(from_the_end, source), tape.gradient(from_the_start, source)
        assert isinstance(slices, tf.IndexedSlices) and not isinstance(dense, tf.IndexedSlices)
        np.testing.assert_array_equal((dense * 2).numpy(), 2 * tf.convert_to_tensor(slices).numpy())
