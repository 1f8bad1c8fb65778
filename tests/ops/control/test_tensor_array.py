"""`TensorArray`: a list eagerly, a stacked tensor in loops and branches of a graph, with gradients through both."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


def test_elements_are_written_read_and_stacked():
    ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    for i in range(3):
        ta = ta.write(i, [float(i), 1.0])
    assert ta.read(1).numpy().tolist() == [1.0, 1.0]
    assert ta.stack().numpy().tolist() == [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    assert ta.gather([2, 0]).numpy().tolist() == [[2.0, 1.0], [0.0, 1.0]]
    assert ta.concat().numpy().tolist() == [0.0, 1.0, 1.0, 1.0, 2.0, 1.0]
    assert ta.size().numpy() == 3
    assert ta.dtype == tf.float32
    assert ta.element_shape.as_list() == [2]
    assert not ta.dynamic_size


def test_an_eager_array_is_changed_by_writing():
    ta = tf.TensorArray(tf.int32, size=1)
    ta.write(0, 7)
    assert ta.read(0).numpy() == 7


def test_an_element_is_read_once_unless_it_may_be_read_again():
    ta = tf.TensorArray(tf.int32, size=1).write(0, 7)
    assert ta.read(0).numpy() == 7
    with pytest.raises(
        ValueError, match=r"Could not read index 0 twice because it was cleared after a previous read"
    ):
        ta.read(0)


def test_parts_of_a_tensor_become_elements():
    ta = tf.TensorArray(tf.float32, size=3).unstack(tf.constant([[1.0], [2.0], [3.0]]))
    assert ta.read(2).numpy().tolist() == [3.0]
    ta = tf.TensorArray(tf.float32, size=4).scatter([3, 1], tf.constant([1.0, 2.0]))
    ta = ta.scatter([0, 2], tf.constant([5.0, 6.0]))
    assert ta.stack().numpy().tolist() == [5.0, 2.0, 6.0, 1.0]
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(tf.constant([1.0, 2.0, 3.0]), [1, 2])
    assert ta.read(1).numpy().tolist() == [2.0, 3.0]
    assert ta.read(0).numpy().tolist() == [1.0]
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(tf.constant([1.0, 2.0, 3.0]), [1, 2])
    assert ta.concat().numpy().tolist() == [1.0, 2.0, 3.0]
    same = ta.identity()
    assert same is not ta
    assert same.concat().numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_dynamic_array_grows():
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    ta = ta.write(2, 3.0)
    assert ta.size().numpy() == 3
    assert ta.stack().numpy().tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            lambda: tf.TensorArray(tf.float32, 2).write(2, 1.0),
            ValueError,
            "Tried to write to index 2 .* size is: 2",
        ),
        (
            lambda: tf.TensorArray(tf.float32, 2).read(5),
            ValueError,
            "Tried to read from index 5 but array size is: 2",
        ),
        (lambda: tf.TensorArray(tf.float32, 2).read(0), ValueError, "it has not been written to"),
        (
            lambda: tf.TensorArray(tf.float32, 2).write(0, tf.constant(1)),
            TypeError,
            "dtype is float32 .* dtype int32",
        ),
        (
            lambda: tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0]),
            ValueError,
            r"Incompatible shape for value \(\(2,\)\), expected \(\(1,\)\)",
        ),
        (
            lambda: tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0, 3.0]),
            ValueError,
            "does not match the leading dimension",
        ),
        (
            lambda: tf.TensorArray(tf.float32, 1).write(0, 1.0).concat(),
            ValueError,
            "the elements are scalars",
        ),
        (lambda: tf.TensorArray(tf.float32, -1), ValueError, "size is -1"),
        (
            lambda: tf.TensorArray(tf.float32, 2).split([1.0, 2.0], [1, 2]),
            ValueError,
            "Expected sum of lengths",
        ),
        (lambda: tf.TensorArray(tf.float32, 2).grad("x"), TypeError, "GradientTape"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def squares(x):
    n = tf.shape(x)[0]
    ta = tf.TensorArray(tf.float32, size=n)
    for i in tf.range(n):
        ta = ta.write(i, x[i] * x[i])
    return ta.stack()


def recursion(x):
    """Each element from the one before it."""
    ta = tf.TensorArray(tf.float32, size=5, clear_after_read=False)
    ta = ta.write(0, x)
    for i in tf.range(1, 5):
        ta = ta.write(i, tf.sin(ta.read(i - 1)) + x)
    return ta.stack()


def growing(x):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    n = 0
    for v in x:
        if v[0] > 0.0:
            ta = ta.write(n, v * v)
            n += 1
    return ta.stack()


def in_while_loop(x):
    ta = tf.TensorArray(tf.float32, size=4)
    _, ta, _ = tf.while_loop(
        lambda i, ta, y: i < 4, lambda i, ta, y: (i + 1, ta.write(i, y), y * x), (tf.constant(0), ta, x)
    )
    return ta.stack()


@pytest.mark.parametrize(
    ("f", "shape"),
    [(squares, (3,)), (recursion, (2,)), (growing, (4, 2)), (in_while_loop, (2,)), (recursion, ())],
)
@pytest.mark.parametrize("known", [True, False])
def test_traced_arrays_give_what_eager_ones_give_and_so_do_their_gradients(f, shape, known):
    if not known and shape == ():
        pytest.skip("a scalar has no sizes")
    random = np.random.default_rng(3)
    x = tf.constant(random.normal(size=shape), tf.float32)
    signature = None if known else [tf.TensorSpec([None, *shape[1:]])]
    traced = tf.function(f, input_signature=signature)
    for _ in range(2):
        results = []
        for run in (f, traced):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = run(x)
                loss = tf.reduce_sum(y * y)
            results.append((y.numpy(), tape.gradient(loss, x).numpy()))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5)


def test_second_derivatives_and_rows():
    x = tf.constant([0.3, -0.7])
    traced = tf.function(recursion)

    def hessian(f):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(f(x) ** 2)
            g = inner.gradient(y, x)
        return outer.jacobian(g, x)

    np.testing.assert_allclose(hessian(traced).numpy(), hessian(recursion).numpy(), rtol=1e-5)
    rows = tf.constant([[0.1, 0.2], [0.5, -0.3], [2.0, 1.0]])
    wanted = np.stack([recursion(row).numpy() for row in rows])
    np.testing.assert_allclose(tf.vectorized_map(traced, rows).numpy(), wanted, rtol=1e-5)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = traced(x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as plain:
        z = recursion(x)
    np.testing.assert_allclose(accumulator.jvp(y).numpy(), plain.jvp(z).numpy(), rtol=1e-5)


def test_branches_write_into_arrays():
    @tf.function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=2)
        if x > 0.0:
            ta = ta.write(0, x)
        else:
            ta = ta.write(1, -x)
        return ta.stack()

    assert f(tf.constant(2.0)).numpy().tolist() == [2.0, 0.0]
    assert f(tf.constant(-2.0)).numpy().tolist() == [0.0, 2.0]

    @tf.function
    def g(x):
        ta = tf.TensorArray(tf.float32, size=2)
        ta = tf.cond(x > 0.0, lambda: ta.write(0, x * 2.0), lambda: ta)
        if x < -5.0:
            pass
        else:
            ta = ta.write(1, 7.0)
        return ta.stack()

    assert g(tf.constant(2.0)).numpy().tolist() == [4.0, 7.0]
    assert g(tf.constant(-2.0)).numpy().tolist() == [0.0, 7.0]
    assert g(tf.constant(-6.0)).numpy().tolist() == [0.0, 0.0]


def test_an_array_is_an_element_of_nests_and_a_result():
    @tf.function
    def f(x):
        state = {"ta": tf.TensorArray(tf.float32, size=3), "n": 0}
        for v in x:
            state = {"ta": state["ta"].write(state["n"], v), "n": state["n"] + 1}
        return state

    out = f(tf.constant([1.0, 2.0, 3.0]))
    assert out["n"].numpy() == 3
    assert isinstance(out["ta"], tf.TensorArray)
    assert out["ta"].stack().numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_traced_write_leaves_the_old_array_as_it_is():
    @tf.function
    def f(x):
        first = tf.TensorArray(tf.float32, size=1).write(0, x)
        second = first.write(0, x * 2.0)
        return first.stack(), second.stack()

    a, b = f(tf.constant(3.0))
    assert (a.numpy().item(), b.numpy().item()) == (3.0, 6.0)


def test_two_loops_one_inside_the_other_fill_two_arrays():
    @tf.function
    def f(n, m):
        rows = tf.TensorArray(tf.int32, size=n)
        for i in tf.range(n):
            row = tf.TensorArray(tf.int32, size=m)
            for j in tf.range(m):
                row = row.write(j, 10 * i + j)
            rows = rows.write(i, tf.reduce_sum(row.stack()))
        return rows.stack()

    assert f(tf.constant(3), tf.constant(2)).numpy().tolist() == [1, 21, 41]
    assert f(tf.constant(0), tf.constant(2)).numpy().tolist() == []


def every_row(x, n):
    ta = tf.TensorArray(tf.float32, size=n, element_shape=[])
    for i in tf.range(n):
        x = tf.sin(x) + 1.0
        ta = ta.write(i, x)
    return ta.stack()


def rows_from_one(x, n):
    ta = tf.TensorArray(tf.float32, size=n + 1, element_shape=[])
    for i in tf.range(1, n + 1):
        x = tf.sin(x) + 1.0
        ta = ta.write(i, x)
    return ta.stack()


def rows_behind_what_is_there(x, n):
    ta = tf.TensorArray(tf.float32, size=8).unstack(tf.range(8.0) * x)
    for i in tf.range(n):
        x = tf.sin(x) + 1.0
        ta = ta.write(i, x)
    return ta.stack()


def rows_until_break(x, n):
    ta = tf.TensorArray(tf.float32, size=8).unstack(tf.range(8.0) * x)
    for i in tf.range(n):
        x = tf.sin(x) + 1.0
        ta = ta.write(i, x)
        if i > 1:
            break
    return ta.stack()


def reads_what_it_wrote(x, n):
    ta = tf.TensorArray(tf.float32, size=n + 1, clear_after_read=False, element_shape=[]).write(0, x)
    for i in tf.range(n):
        ta = ta.write(i, x + 1.0)
        x = x + ta.read(i)
    return ta.stack()


def written_twice(x, n):
    ta = tf.TensorArray(tf.float32, size=n, clear_after_read=False, element_shape=[])
    for i in tf.range(n):
        ta = ta.write(i, x)
        ta = ta.write(0, ta.read(i) + x)
    return ta.stack()


def grows(x, n):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    for i in tf.range(n):
        ta = ta.write(i, x)
        x = x * 2.0
    return ta.stack()


def enumerated(x, n):
    ta, other = tf.TensorArray(tf.float32, size=n), tf.TensorArray(tf.float32, size=n)
    for i, v in enumerate(tf.range(1.0, tf.cast(n + 1, tf.float32))):
        ta = ta.write(i, v * x)
        other = other.write(n - 1 - i, v)
        x = x + v
    return ta.stack() - other.stack()


@pytest.mark.parametrize(
    "f",
    [
        every_row,
        rows_from_one,
        rows_behind_what_is_there,
        rows_until_break,
        reads_what_it_wrote,
        written_twice,
        grows,
        enumerated,
    ],
)
def test_rows_written_in_loops(f):
    traced = tf.function(f)
    for n in (1, 3, 6):
        x, results = tf.constant(0.4), []
        for run in (f, traced):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = run(x, n if run is f else tf.constant(n))
                loss = tf.reduce_sum(y * y)
            results.append((y.numpy(), tape.gradient(loss, x).numpy()))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5)
    if f is not enumerated:
        assert traced(tf.constant(0.4), tf.constant(0)).numpy().shape == f(tf.constant(0.4), 0).numpy().shape


def test_rows_written_by_every_step_do_not_go_through_the_loop():
    concrete = tf.function(every_row).get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([], tf.int32))
    (loop,) = [node.op for node in concrete.graph.nodes if node.op.name == "loop"]
    assert (loop.n_carry, loop.n_ys) == (2, 1)  # the state and the counter; the rows


@pytest.mark.parametrize("size", [2, "tensor"])
def test_a_loop_with_more_steps_than_elements_is_refused(size):
    @tf.function
    def f(n, m):
        ta = tf.TensorArray(tf.float32, size=m if size == "tensor" else size)
        for i in tf.range(n):
            ta = ta.write(i, 1.0)
        return ta.stack()

    assert f(tf.constant(2), tf.constant(2)).numpy().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError):
        f(tf.constant(5), tf.constant(2))


def test_elements_that_were_not_written_are_zeros_of_the_shape_of_the_others_when_it_is_known():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x):
        ta = tf.TensorArray(tf.float32, 3).write(1, x[0])
        return ta.stack(), ta.read(0), ta.concat()

    stacked, first, joined = f(tf.constant([[1.0, 2.0]]))
    np.testing.assert_array_equal(stacked, [[0, 0], [1, 2], [0, 0]])
    np.testing.assert_array_equal(first, [0, 0])
    np.testing.assert_array_equal(joined, [0, 0, 1, 2, 0, 0])


def test_an_array_is_split_by_lengths_that_come_at_run_time():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        ta = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, 2, tf.size(x) - 3])
        return ta.read(1), ta.read(2) * 2.0, ta.concat()

    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    middle, last, joined = f(x)
    np.testing.assert_array_equal(middle, [2, 3])
    np.testing.assert_array_equal(last, [8, 10])
    np.testing.assert_array_equal(joined, x)
    with pytest.raises(ValueError, match="split"):
        f(x[:2])

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)])
    def unknown(x, lengths):
        return tf.TensorArray(tf.float32, 3).split(x, lengths).concat()

    with pytest.raises(ValueError, match="how many lengths"):
        unknown(x, [2, 2, 1])


def test_the_shape_of_the_elements_holds_where_shapes_differ():
    ta = tf.TensorArray(tf.float32, size=2, infer_shape=False, element_shape=[None, 2])
    ta = ta.write(0, tf.ones([5, 2]))
    with pytest.raises(
        ValueError, match=r"Incompatible shape for value \(\(1, 3\)\), expected \(\(None, 2\)\)"
    ):
        ta.write(1, tf.ones([1, 3]))
    ta = ta.write(1, tf.zeros([1, 2]))
    assert ta.element_shape.as_list() == [None, 2]
    assert ta.concat().shape == (6, 2)


UNRANKED = [tf.TensorSpec(None, tf.float32), tf.TensorSpec([], tf.int32)]


@pytest.mark.parametrize("x", [3.0, [3.0, 1.0], [[1.0, 2.0], [3.0, 4.0]]])
@pytest.mark.parametrize("size", [0, 3])
def test_elements_of_unknown_rank_are_stacked_by_a_converted_loop(x, size):
    @tf.function(input_signature=UNRANKED)
    def f(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, size=size, dynamic_size=size == 0)
            for i in tf.range(n):
                array = array.write(n - 1 - i if size else i, x * tf.cast(i + 1, tf.float32))
            stacked = array.stack()
            y = tf.reduce_sum(stacked * stacked)
        return stacked, array.read(0), tape.gradient(y, x)

    x = np.array(x, np.float32)
    factors = [3.0, 2.0, 1.0] if size else [1.0, 2.0, 3.0]
    stacked, first, slope = f(x, 3)
    np.testing.assert_array_equal(stacked, np.stack([k * x for k in factors]))
    np.testing.assert_array_equal(first, factors[0] * x)
    np.testing.assert_allclose(slope, 28.0 * x)


@pytest.mark.parametrize("x", [3.0, [3.0, 1.0]])
def test_what_no_step_wrote_is_zeros_whatever_the_rank(x):
    @tf.function(input_signature=UNRANKED)
    def f(x, n):
        array = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(n):
            if i > 1:
                array = array.write(i, x)
        return array.stack()

    x = np.array(x, np.float32)
    np.testing.assert_array_equal(f(x, 3), np.stack([0 * x, 0 * x, x, 0 * x]))


def test_values_from_python_are_collected_until_a_step_leaves_the_loop():
    @tf.function
    def f(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(n):
            value = tf.numpy_function(lambda i: np.float32(i), [i], tf.float32)
            array = array.write(i, value)
            if value > 2.0:
                break
        return array.stack()

    np.testing.assert_array_equal(f(tf.constant(9)), [0.0, 1.0, 2.0, 3.0])


def test_elements_of_two_sizes_are_refused_where_sizes_come_at_run_time():
    @tf.function
    def f(n, least):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
        for i in tf.range(n):
            array = array.write(i, tf.ones([tf.maximum(n - i, least)]))
        return array.stack()

    np.testing.assert_array_equal(f(tf.constant(3), tf.constant(3)), np.ones([3, 3]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"^TensorArray has inconsistent shapes: .*\[2\]\s*\[1\]"
    ):
        f(tf.constant(2), tf.constant(1))  # not the one number twice
