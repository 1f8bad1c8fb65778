"""TensorFlow 1's optimizers, `compat.v1.train`: four steps in float32, whose values are TensorFlow's, stored once."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both

train = tf.compat.v1.train
# How it is made, the first and third row of `table` after the steps, `row`, the names of its slots.
STEPS = [
    (lambda: train.GradientDescentOptimizer(0.1), [-0.630008, -1.58789, -1.282151, -0.764671], [0.215676, -9.506069], []),
    (lambda: train.MomentumOptimizer(lambda: 0.1, 0.9),
     [-1.796031, -1.3, -1.75354, -1.532277], [0.108787, -21.19338], ["momentum"]),
    (lambda: train.MomentumOptimizer(tf.Variable(0.1), tf.constant(0.9), use_nesterov=True),
     [-2.481455, -1.513898, -1.810035, -1.902808], [0.085248, -222.078705], ["momentum"]),
    (lambda: train.AdamOptimizer(0.1), [0.617932, -1.602627, -1.093213, -0.187961], [-0.033525, -1.600941], ["m", "v"]),
    (lambda: train.AdamOptimizer(tf.constant(0.01), lambda: 0.8, 0.99, 1e-3),
     [0.960397, -1.960328, -0.739609, 0.160371], [0.261392, -1.240008], ["m", "v"]),
    (lambda: train.RMSPropOptimizer(0.1),
     [0.195482, -1.591368, -1.230463, -0.492364], [0.207249, -2.173296], ["momentum", "rms"]),
    (lambda: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-5),
     [0.024242, -1.477471, -1.412343, -0.680245], [0.148914, -2.339393], ["momentum", "rms"]),
    (lambda: train.RMSPropOptimizer(0.1, momentum=0.3, centered=True),
     [-0.090429, -1.52686, -1.371127, -0.720497], [0.183924, -2.621914], ["mg", "momentum", "rms"]),
    (lambda: train.AdagradOptimizer(0.1), [0.652494, -1.699352, -1.022382, -0.137041], [0.153653, -1.498534], ["accumulator"]),
    (lambda: train.AdadeltaOptimizer(0.5),
     [0.99875, -1.998751, -0.701249, 0.198751], [0.299093, -1.200909], ["accum", "accum_update"]),
    (lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.05),
     [0.355758, -1.389016, -0.745562, -0.198619], [0.0, -1.396607], ["accum", "linear"]),
    (lambda: train.FtrlOptimizer(0.1, -0.4, 0.2, beta=0.3, l2_shrinkage_regularization_strength=0.02),
     [0.001147, -0.924657, -0.555065, -0.271547], [-0.008159, -1.271502], ["accum", "linear"]),
    (lambda: train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.3),
     [-0.745793, -1.50006, -1.154076, -0.697314], [0.132301, -7.117825], []),
    (lambda: train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.2, l2_regularization_strength=0.3),
     [0.583201, -1.543081, -0.919927, -0.14261], [0.0, -1.460036], ["accumulator"]),
]  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize(("make", "rows", "others", "slots"), STEPS)
def test_four_steps_are_those_of_tensorflow(traced, make, rows, others, slots):
    optimizer = make()
    table, row = tf.Variable([[1.0, -2.0], [3.0, 0.5], [-0.7, 0.2]]), tf.Variable([0.3, -1.2])
    counted = tf.Variable(0, dtype=tf.int64)

    def step(k):
        def loss():
            return tf.reduce_sum(tf.sin(tf.gather(table, [0, 2, 0])) * k) + tf.reduce_sum(row**3)

        optimizer.minimize(loss, counted)

    run = tf.function(step) if traced else step
    for k in range(4):
        run(tf.constant(k + 1.0))
    np.testing.assert_allclose(table.numpy()[[0, 2]].ravel(), rows, atol=3e-6)
    assert table.numpy()[1].tolist() == [3.0, 0.5]  # no gradient has named it
    np.testing.assert_allclose(row.numpy(), others, rtol=1e-6, atol=3e-6)
    assert int(counted) == 4
    assert optimizer.get_slot_names() == slots
    assert [optimizer.get_slot(row, slot).shape for slot in slots] == [row.shape] * len(slots)
    assert len(optimizer.variables()) == 2 * len(slots)


@in_both
def test_dual_averaging(run):
    step, row = tf.Variable(0, dtype=tf.int64), tf.Variable([0.3, -1.2])
    optimizer = train.AdagradDAOptimizer(
        0.1, step, l1_regularization_strength=0.05, l2_regularization_strength=0.1
    )
    for _ in range(4):
        run(lambda: optimizer.minimize(lambda: tf.reduce_sum(row**3 + row * row), step, [row]))
    np.testing.assert_allclose(row.numpy(), [-0.03185963, -0.06385662], rtol=1e-6)


def test_the_loss_of_a_traced_function_may_be_a_tensor():
    row, optimizer = tf.Variable([1.0, 2.0]), train.GradientDescentOptimizer(0.25)

    @tf.function
    def step():
        loss = tf.reduce_sum(row * row)
        return optimizer.minimize(loss, var_list=row)

    step()
    assert row.numpy().tolist() == [0.5, 1.0]


def test_pairs_are_scaled_by_the_gradient_of_the_loss():
    row = tf.Variable([1.0, 2.0])
    ((gradient, variable),) = train.AdamOptimizer().compute_gradients(
        lambda: row * row, [row], grad_loss=[3.0, 0.5]
    )
    assert variable is row
    assert gradient.numpy().tolist() == [6.0, 2.0]


def test_state_comes_back_from_a_checkpoint(tmp_path):
    def trained(steps, optimizer, row):
        for _ in range(steps):
            optimizer.minimize(lambda: tf.reduce_sum(row**3), var_list=[row])
        return row.numpy()

    row, optimizer = tf.Variable([0.3, -1.2]), train.AdamOptimizer(0.1)
    trained(3, optimizer, row)
    path = tf.train.Checkpoint(row=row, optimizer=optimizer).save(str(tmp_path / "c"))
    wanted = trained(2, optimizer, row)
    again, other = tf.Variable([0.0, 0.0]), train.AdamOptimizer(0.1)
    tf.train.Checkpoint(row=again, optimizer=other).restore(path)
    assert trained(2, other, again).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda row: train.AdamOptimizer().minimize(row * row, var_list=[row]), "Adam: the loss is .*give a function"),
        (lambda row: train.AdamOptimizer().apply_gradients([]), "Adam: no variables provided"),
        (lambda row: train.AdamOptimizer().apply_gradients([(None, row)]), "none of the 1 variables has a gradient"),
        (lambda row: train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
        (lambda row: train.FtrlOptimizer(0.1, 1.0), "learning_rate_power is 1.0"),
        (lambda row: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "l1_regularization_strength is -1.0"),
        (lambda row: train.Optimizer(0.1, "Mine").minimize(lambda: row * row), "derive an optimizer of your own from"),
    ],
)  # fmt: skip
def test_what_is_refused(step, message):
    with pytest.raises((TypeError, ValueError), match=message):
        step(tf.Variable([1.0, 2.0]))
