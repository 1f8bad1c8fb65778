"""What every optimizer can do beside its rule: averages of variables, scaled losses, steps of several calls; and new rules.

The numbers are those of Keras 3.15 with TensorFlow 2.21 for the same gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

K = tf.keras.optimizers
SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (4,), (2, 3, 4), ())


def piecewise() -> Any:
    return K.schedules.PiecewiseConstantDecay([2, 4], [0.1, 0.05, 0.01])


CASES: dict[str, tuple[Any, float, int]] = {
    "averages": (lambda: K.SGD(0.1, use_ema=True, ema_momentum=0.9), -11.61689926829942, 7),
    "overwritten": (lambda: K.Adam(0.1, use_ema=True, ema_overwrite_frequency=3), -16.269160383329133, 7),
    "scaled": (lambda: K.Adam(0.1, loss_scale_factor=8.0), -2.749360041250846, 7),
    "two calls": (lambda: K.SGD(0.1, gradient_accumulation_steps=2), -7.385711984082206, 3),
    "three calls": (
        lambda: K.Adam(0.1, gradient_accumulation_steps=3, clipnorm=0.5, weight_decay=0.01),
        -5.338354373757345,
        2,
    ),
    "schedule of calls": (
        lambda: K.SGD(piecewise(), gradient_accumulation_steps=2, momentum=0.9),
        -5.667953815144019,
        3,
    ),
    "all": (
        lambda: K.Nadam(
            piecewise(),
            gradient_accumulation_steps=2,
            use_ema=True,
            ema_momentum=0.8,
            ema_overwrite_frequency=2,
            loss_scale_factor=2.0,
        ),
        -17.96285618325507,
        3,
    ),
    "adafactor": (lambda: K.Adafactor(0.1), -2.9428784852073835, 7),
    "adafactor, clipped": (
        lambda: K.Adafactor(piecewise(), clip_threshold=0.5, beta_2_decay=-0.5),
        -6.492110179600985,
        7,
    ),
    "adafactor, rate": (
        lambda: K.Adafactor(0.8, relative_step=False, weight_decay=0.1),
        0.27231266254520536,
        7,
    ),
    "lamb": (lambda: K.Lamb(0.1), 0.839548301444324, 7),
    "lamb, clipped": (
        lambda: K.Lamb(piecewise(), beta_1=0.5, epsilon=1e-3, clipvalue=0.5),
        0.49534249247630885,
        7,
    ),
}


def gradients(steps: int = 7) -> list[list[Any]]:
    rng = np.random.default_rng(0)
    return [[rng.normal(size=shape).astype("f") for shape in SHAPES] for _ in range(steps)]


def variables() -> list[Any]:
    starts = [np.arange(int(np.prod(shape)), dtype="f").reshape(shape) / 10 for shape in SHAPES]
    return [tf.Variable(0.5 + start) for start in starts]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_keras(name, traced):
    make, expected, steps = CASES[name]
    optimizer, vs = make(), variables()

    def step(*given: Any) -> None:
        optimizer.apply_gradients(list(zip(given, vs, strict=True)))

    run = tf.function(step) if traced else step
    for given in gradients():
        run(*[tf.constant(g) for g in given])
    values = [v.numpy() for v in vs]
    if optimizer.use_ema:
        optimizer.finalize_variable_values(vs)
        values += [v.numpy() for v in vs]
    found = sum(float(np.sum(np.cos(3 * x.astype("float64")))) for x in values)
    assert found == pytest.approx(expected, abs=1e-5)
    assert int(optimizer.iterations) == steps


@pytest.mark.parametrize("name", ["all", "adafactor", "three calls"])
def test_a_training_goes_on_from_a_checkpoint(name, tmp_path):
    given = gradients()

    def go(optimizer: Any, vs: Any, steps: Any) -> None:
        for gs in steps:
            optimizer.apply_gradients(zip(gs, vs, strict=True))

    make = CASES[name][0]
    whole, vs = make(), variables()
    go(whole, vs, given)
    first, half = make(), variables()
    go(first, half, given[:4])
    path = tf.train.Checkpoint(optimizer=first, variables=half).save(str(tmp_path / "ckpt"))
    later, rest = make(), variables()
    status = tf.train.Checkpoint(optimizer=later, variables=rest).restore(path)
    go(later, rest, given[4:])
    status.assert_consumed()
    for x, y in zip(vs, rest, strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert int(later.iterations) == int(whole.iterations)


def test_a_scaled_loss_has_the_gradients_of_the_loss():
    optimizer, v = K.SGD(0.5, loss_scale_factor=1024.0), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = optimizer.scale_loss(tf.reduce_sum(v**2))
    assert loss.numpy() == 5 * 1024
    optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    assert v.numpy().tolist() == [0.0, 0.0]
    assert K.SGD().scale_loss(3.0) == 3.0


def test_sparse_gradients_are_scaled_and_added_up():
    rows = tf.IndexedSlices(tf.constant([[2.0], [4.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    for options in ({"loss_scale_factor": 2.0}, {"gradient_accumulation_steps": 2}):
        optimizer, v = K.SGD(1.0, **options), tf.Variable(tf.zeros([3, 1]))
        for _ in range(2):
            optimizer.apply_gradients([(rows, v)])
        assert v.numpy().ravel().tolist() == [-2.0, 0.0, -4.0]


def test_constraints_hold_after_the_variables_became_their_averages():
    v = tf.Variable([3.0], constraint=lambda x: tf.clip_by_value(x, 0.0, 1.0))
    optimizer = K.SGD(1.0, use_ema=True, ema_overwrite_frequency=1)
    optimizer.apply_gradients([(tf.constant([1.0]), v)])
    assert v.numpy() == 1.0


def test_arguments_of_steps_are_configurations_and_are_checked():
    made = K.deserialize(K.serialize(K.Adafactor(0.5, gradient_accumulation_steps=4, use_ema=True)))
    assert (type(made).__name__, made.gradient_accumulation_steps, made.use_ema) == ("Adafactor", 4, True)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="gradient_accumulation_steps is 1; an integer of 2"
    ):
        K.SGD(gradient_accumulation_steps=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ema_momentum is 2\.0; 0 <= ema_momentum <= 1"):
        K.SGD(use_ema=True, ema_momentum=2.0)
    optimizer = K.SGD(use_ema=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no average; call `build`"):
        optimizer.finalize_variable_values([tf.Variable(1.0)])


def test_the_one_count_is_of_calls_and_iterations_follow():
    optimizer, v = K.Nadam(gradient_accumulation_steps=2), tf.Variable(1.0)
    for _ in range(5):
        count = optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert (int(count), int(optimizer.iterations)) == (5, 2)
    assert any(variable is count for variable in optimizer.variables)
    assert any(variable is optimizer.product for variable in optimizer.variables)


def test_the_count_can_be_replaced_by_a_variable():
    optimizer, count = K.SGD(), tf.Variable(7, dtype=tf.int64)
    optimizer.iterations = count
    optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
    assert int(count) == 8
    with pytest.raises(TypeError, match="sgd: iterations is 3; give a variable"):
        optimizer.iterations = 3


def test_averages_and_sums_have_the_shape_of_the_variable_whatever_the_slots_have():
    optimizer, v = K.Adafactor(0.1, use_ema=True, gradient_accumulation_steps=2), tf.Variable(tf.ones([2, 3]))
    for _ in range(2):
        optimizer.apply_gradients([(tf.ones([2, 3]), v)])
    optimizer.finalize_variable_values([v])
    assert v.shape == (2, 3) and float(v[0, 0]) < 1.0


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (lambda: K.SGD(0.1, momentum=0.9), [-0.96067876, -1.8103095], 0.7381521),
        (lambda: K.Adam(0.1), [0.62562406, 1.6330029], 2.7050707),
    ],
)
def test_minimize_takes_functions_or_a_tensor_with_its_tape(make, first, second):
    optimizer, v, w = make(), tf.Variable([1.0, 2.0]), tf.Variable(3.0)

    @tf.function
    def step():
        optimizer.minimize(lambda: tf.reduce_sum(v * v) * w, lambda: [v, w])

    count = optimizer.minimize(lambda: tf.reduce_sum(v * v) + w**2, [v, w])
    step()
    step()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(v))
    optimizer.minimize(loss, [v], tape=tape)
    assert int(count) == 4
    np.testing.assert_allclose(v, first, 1e-5)  # as Keras 2 on TensorFlow 2.21 computed
    np.testing.assert_allclose(w, second, 1e-5)


def test_what_minimize_is_made_of():
    optimizer, v = K.SGD(0.5), tf.Variable(3.0)
    ((gradient, variable),) = optimizer.compute_gradients(lambda: v * v, [v])
    assert float(gradient) == 6.0 and variable is v and float(v) == 3.0
    with pytest.raises(TypeError, match="a tensor without the tape that recorded it; pass tape="):
        optimizer.compute_gradients(tf.constant(1.0), [v])


@pytest.mark.parametrize("listed", [lambda v: v, lambda v: iter([v]), lambda v: lambda: v, lambda v: (v,)])
def test_variables_are_listed_in_any_way_or_a_single_one(listed):
    optimizer, v = K.SGD(0.5), tf.Variable([3.0, 1.0])
    optimizer.minimize(lambda: tf.reduce_sum(v * v) / 2, listed(v))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    ((gradient, variable),) = optimizer.compute_gradients(loss, listed(v), tape)
    assert variable is v and v.numpy().tolist() == [1.5, 0.5] and gradient.numpy().tolist() == [3.0, 1.0]


@pytest.mark.parametrize("name", ["Adagrad", "Adam", "RMSprop", "Adadelta", "Ftrl", "Nadam", "SGD"])
def test_a_row_gathered_twice_steps_as_its_dense_gradient(name):
    def stepped(as_dense):
        v = tf.Variable([1.0, 2.0, 3.0])
        optimizer = getattr(tf.keras.optimizers, name)(0.1)
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(v, [0, 0, 1]) * [1.0, 2.0, 5.0])
            gradient = tape.gradient(loss, v)
            assert isinstance(gradient, tf.IndexedSlices)
            optimizer.apply_gradients([(tf.convert_to_tensor(gradient) if as_dense else gradient, v)])
        return v.numpy()

    np.testing.assert_allclose(stepped(False), stepped(True), rtol=1e-6)
