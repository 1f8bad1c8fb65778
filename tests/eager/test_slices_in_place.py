"""Writing slices of a variable: in its own array where it is the only owner, and never seen by whoever has read it."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import graphad as tf

KINDS = ["update", "add", "sub", "mul", "div", "max", "min"]
FORMULA = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "max": np.maximum, "min": np.minimum,
}  # fmt: skip


def expected(kind, table, rows, values):
    """What NumPy makes of the table, one row after the other."""
    out = table.copy()
    for row, value in zip(rows, values, strict=True):
        out[row] = value if kind == "update" else FORMULA[kind](out[row], value)
    return out


def written(variable, kind, rows, values):
    return getattr(variable, f"scatter_{kind}")(tf.IndexedSlices(values, rows))


def in_function(variable, kind, rows, values, jit_compile):
    @tf.function(jit_compile=jit_compile)
    def step(rows, values):
        written(variable, kind, rows, values)

    step(rows, values)


def eagerly(variable, kind, rows, values):
    written(variable, kind, rows, values)


WAYS = {
    "eager": eagerly,
    "NumPy": lambda *call: in_function(*call, False),
    "native": lambda *call: in_function(*call, True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32"])
@pytest.mark.parametrize("kind", KINDS)
def test_repeated_rows_combine_as_one_after_the_other(kind, dtype, way):
    if (dtype == "int32" and kind == "div") or (dtype == "complex64" and kind in ("max", "min")):
        pytest.skip("another formula")
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, (5, 3)).astype(dtype)
    rows, values = np.array([4, 0, 4, 2], np.int32), rng.integers(1, 5, (4, 3)).astype(dtype)
    variable = tf.Variable(table)
    WAYS[way](variable, kind, tf.constant(rows), tf.constant(values))
    np.testing.assert_allclose(variable.numpy(), expected(kind, table, rows, values), rtol=2e-3)


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_that_owns_its_array_keeps_it(way):
    variable = tf.Variable(np.zeros((6, 2), np.float32))
    rows, values = tf.constant([1, 3]), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    WAYS[way](variable, "add", rows, values)
    address = variable.data.ctypes.data
    for _ in range(3):
        WAYS[way](variable, "add", rows, values)
    assert variable.data.ctypes.data == address
    np.testing.assert_array_equal(variable.numpy()[[1, 3]], [[4, 8], [12, 16]])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "reader",
    [
        lambda v: v.read_value(),
        tf.convert_to_tensor,
        tf.identity,
        lambda v: v.numpy(),
        np.asarray,
        lambda v: v[1:3],
        lambda v: tf.reshape(v, [-1]),
        lambda v: tf.transpose(v),
        lambda v: memoryview(np.asarray(v)),
        lambda v: np.from_dlpack(tf.convert_to_tensor(v)),
        lambda v: tf.Variable(v),
        lambda v: tf.Variable(tf.convert_to_tensor(v)),
    ],
)
def test_what_was_read_before_stays(reader, way):
    variable = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
    written(variable, "add", tf.constant([0]), tf.constant([[0.0, 0.0]]))  # it owns its array now
    read = reader(variable)
    before = np.array(read)
    WAYS[way](variable, "mul", tf.constant([0, 1, 2, 3]), tf.constant(np.full((4, 2), 7.0, np.float32)))
    np.testing.assert_array_equal(np.array(read), before)
    np.testing.assert_array_equal(variable.numpy(), 7 * np.arange(8, dtype=np.float32).reshape(4, 2))


def test_the_array_that_a_variable_was_made_of_stays():
    mine = np.ones((3, 2), np.float32)
    tensor = tf.constant(mine)
    a, b = tf.Variable(mine), tf.Variable(tensor)
    for variable in (a, b):
        variable.scatter_nd_add([[0]], [[5.0, 5.0]])
        variable.scatter_nd_add([[0]], [[5.0, 5.0]])
    np.testing.assert_array_equal(mine, np.ones((3, 2)))
    np.testing.assert_array_equal(tensor, np.ones((3, 2)))


@pytest.mark.parametrize("jit_compile", [None, False, True])
def test_reads_keep_the_order_of_the_program(jit_compile):
    variable = tf.Variable(np.ones((4, 2), np.float32))

    @tf.function(jit_compile=jit_compile)
    def f(rows, x):
        before = variable * 2.0
        whole = variable.read_value()
        variable.scatter_add(tf.IndexedSlices(x, rows))
        between = tf.reduce_sum(variable)
        variable.scatter_sub(tf.IndexedSlices(2.0 * x, rows))
        return before, whole, between, whole + variable

    for _ in range(4):
        variable.assign(np.ones((4, 2), np.float32))
        before, whole, between, after = f(tf.constant([0, 0]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        np.testing.assert_array_equal(before, np.full((4, 2), 2.0))
        np.testing.assert_array_equal(whole, np.ones((4, 2)))
        assert float(between) == 18.0
        np.testing.assert_array_equal(after.numpy()[0], [-2.0, -4.0])


def test_residuals_of_a_tape_are_those_of_the_forward_pass():
    variable = tf.Variable(np.arange(1, 7, dtype=np.float32).reshape(3, 2))

    def gradient():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(variable**3)
            variable.scatter_update(tf.IndexedSlices(tf.zeros([3, 2]), tf.constant([0, 1, 2])))
        return tape.gradient(y, variable).numpy()

    want = 3 * np.arange(1, 7, dtype=np.float32).reshape(3, 2) ** 2
    variable.scatter_nd_add([[0]], [[0.0, 0.0]])
    np.testing.assert_array_equal(gradient(), want)
    variable.assign(np.arange(1, 7, dtype=np.float32).reshape(3, 2))
    variable.scatter_nd_add([[0]], [[0.0, 0.0]])
    np.testing.assert_array_equal(gradient(), want)


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_leaves_the_variable_as_it_is(way):
    variable = tf.Variable(np.ones((3, 2), np.float32))
    with pytest.raises(ValueError, match=r"scatter_add: .*3"):
        WAYS[way](variable, "add", tf.constant([0, 3]), tf.constant([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(variable.numpy(), np.ones((3, 2)))


def test_no_rows_and_whole_variables():
    variable = tf.Variable(np.ones((3, 2), np.float32))
    variable.scatter_add(tf.IndexedSlices(tf.zeros([0, 2]), tf.zeros([0], tf.int32)))
    variable.scatter_nd_add(tf.zeros([2, 0], tf.int32), tf.ones([2, 3, 2]))
    np.testing.assert_array_equal(variable.numpy(), np.full((3, 2), 3.0))
    scalar = tf.Variable(1.0)
    scalar.scatter_nd_add(tf.zeros([1, 0], tf.int32), [2.0])
    assert float(scalar) == 3.0


def test_shapes_and_dtypes_that_do_not_fit_are_refused_with_both():
    variable = tf.Variable(np.ones((3, 2), np.float32))
    with pytest.raises(
        ValueError, match=r"scatter_add: updates has shape \(1, 3\).*\(3, 2\).*must be \(1, 2\)"
    ):
        variable.scatter_add(tf.IndexedSlices(tf.zeros([1, 3]), tf.constant([0])))
    with pytest.raises(TypeError, match="float64"):
        variable.scatter_add(tf.IndexedSlices(tf.zeros([1, 2], tf.float64), tf.constant([0])))
    with pytest.raises(RuntimeError, match="cannot be changed by every row"):
        tf.vectorized_map(lambda x: [variable.scatter_nd_add([[0]], x[None]), x][1], tf.ones([4, 2]))


def test_steps_of_two_threads_are_not_lost():
    variable = tf.Variable(np.zeros((50, 4), np.float32))
    step = tf.function(lambda rows, x: variable.scatter_add(tf.IndexedSlices(x, rows)) is None)
    rows, x = tf.constant(np.arange(0, 50, 2)), tf.ones([25, 4])
    step(rows, x)
    threads = [threading.Thread(target=lambda: [step(rows, x) for _ in range(200)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(variable.numpy()[::2], np.full((25, 4), 401.0))


def test_a_saved_step_writes_slices(tmp_path):
    class Table(tf.Module):
        def __init__(self):
            super().__init__()
            self.table = tf.Variable(np.zeros((4, 2), np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 2], tf.float32)])
        def step(self, rows, x):
            self.table.scatter_sub(tf.IndexedSlices(x, rows))
            return tf.reduce_sum(self.table)

    tf.saved_model.save(Table(), tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    assert float(loaded.step(tf.constant([1, 1]), tf.ones([2, 2]))) == -4.0
    assert float(loaded.step(tf.constant([3]), tf.ones([1, 2]))) == -6.0


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_arithmetic_of_slices_raises_nothing(kind):
    variable = tf.Variable(np.full((3, 2), 3e38, np.float32))
    value = {"add": 3e38, "sub": -3e38, "mul": 10.0, "div": 0.0}[kind]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        written(variable, kind, tf.constant([0, 0]), tf.fill([2, 2], np.float32(value)))
    assert np.isinf(variable.numpy()[0]).all()
    assert np.isfinite(variable.numpy()[1:]).all()


# -- optimizers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.optimizers.SGD(0.3),
        lambda: tf.optimizers.SGD(0.3, momentum=0.9),
        lambda: tf.optimizers.SGD(0.3, clipnorm=0.5),
        lambda: tf.optimizers.SGD(0.3, weight_decay=0.1),
        lambda: tf.optimizers.Adagrad(0.3),
        lambda: tf.optimizers.Adagrad(0.3, global_clipnorm=0.5),
    ],
)
def test_slices_train_as_the_whole_gradient_does(make, traced):
    rng = np.random.default_rng(1)
    table, rows = rng.normal(size=(7, 3)).astype(np.float32), tf.constant([5, 1, 5, 0])
    tables = []
    for dense in (False, True):
        variable, optimizer = tf.Variable(table), make()

        def step(variable=variable, optimizer=optimizer, dense=dense):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sin(tf.gather(variable, rows)) ** 2)
            gradient = tape.gradient(loss, variable)
            assert isinstance(gradient, tf.IndexedSlices)
            optimizer.apply_gradients([(tf.convert_to_tensor(gradient) if dense else gradient, variable)])

        run = tf.function(step) if traced else step
        for _ in range(5):
            run()
        tables.append(variable.numpy())
    np.testing.assert_allclose(*tables, rtol=2e-6, atol=1e-7)


def test_an_optimizer_of_ones_own_is_given_the_whole_gradient():
    class Mine(tf.optimizers.SGD):
        def update(self, variable, gradient, slots):
            variable.assign_sub(tf.sign(gradient) * self.rate(variable))

    variable = tf.Variable(np.ones((4, 2), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(variable, [1, 1]))
    Mine(0.5).apply_gradients([(tape.gradient(loss, variable), variable)])
    np.testing.assert_array_equal(variable.numpy(), [[1, 1], [0.5, 0.5], [1, 1], [1, 1]])


READS = {
    "read": lambda v: v.read_value(),
    "value + 0": lambda v: v + 0.0,
    "concat": lambda v: tf.concat([v, v], 0),
    "numpy": lambda v: tf.constant(v.numpy()),
    "function": tf.function(lambda v: v * 1.0),
}


@pytest.mark.parametrize("read", READS)
def test_other_threads_read_all_of_the_rows_or_none(read):
    variable = tf.Variable(np.zeros((1000, 64), np.float32))
    rows, ones = tf.reshape(tf.range(1000), [1000, 1]), tf.ones((1000, 64))
    torn, changed, is_over = [], [], threading.Event()

    def look():
        while not is_over.is_set():
            seen = READS[read](variable).numpy()
            first = seen.copy()
            # `concat` reads the variable twice, and it may be written between
            torn.append(any((part != part[0, 0]).any() for part in np.split(first, len(first) // 1000)))
            changed.append((seen != first).any())

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            variable.scatter_nd_add(rows, ones)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert torn and not any(torn) and not any(changed)
    np.testing.assert_array_equal(variable.numpy(), np.full((1000, 64), 60.0))


def test_a_handler_that_reads_in_the_midst_of_writing_gets_a_copy():
    from graphad.core.owners import rewrite

    variable = tf.Variable([1.0, 2.0])
    seen = []

    def write(into):
        seen.append(variable.read_value())
        into[0] = 5.0

    rewrite(variable, lambda _: True, write)
    np.testing.assert_array_equal(seen[0].numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(variable.numpy(), [5.0, 2.0])


def test_a_write_that_fails_leaves_the_variable_its_array():
    from graphad.core.owners import rewrite

    variable = tf.Variable([1.0, 2.0])

    def fail(into):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rewrite(variable, lambda _: True, fail)
    np.testing.assert_array_equal(variable.numpy(), [1.0, 2.0])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        variable.nothing
