"""`distribute`: what a training program that is written against a strategy sees where there is one replica."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphad as tf

dist = tf.distribute
MAKE = {
    "default": dist.get_strategy,
    "one device": lambda: dist.OneDeviceStrategy("/cpu:0"),
    "mirrored": dist.MirroredStrategy,
    "mirrored on a device": lambda: dist.MirroredStrategy(["/cpu:0"]),
}


@pytest.mark.parametrize("kind", MAKE)
def test_a_training_step_is_a_call(kind):
    strategy = MAKE[kind]()
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
        data = tf.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32)).batch(2)
    assert strategy.num_replicas_in_sync == 1

    def replica(x):
        context = dist.get_replica_context()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * x)
        gradient = context.all_reduce(dist.ReduceOp.SUM, tape.gradient(loss, v))
        v.assign_add(gradient)
        return loss, gradient

    @tf.function
    def step(x):
        loss, gradient = strategy.run(replica, args=(x,))
        return strategy.reduce(dist.ReduceOp.SUM, loss, axis=None), strategy.reduce("MEAN", gradient, axis=0)

    found = [[float(y) for y in step(x)] for x in strategy.experimental_distribute_dataset(data)]
    assert found == [[2.0, 0.5], [11.0, 2.5]]


@pytest.mark.parametrize("kind", MAKE)
def test_what_is_around(kind):
    strategy = MAKE[kind]()
    is_default = kind == "default"

    def told():
        return dist.has_strategy(), dist.in_cross_replica_context(), dist.get_strategy() is strategy

    def inside():
        merged = dist.get_replica_context().merge_call(lambda s, x: (s is strategy, x, *told()), args=(3,))
        return told(), merged, int(dist.get_replica_context().replica_id_in_sync_group)

    with strategy.scope():
        assert told() == (not is_default, not is_default, True)
    has = not is_default
    assert strategy.run(inside) == ((has, False, True), (True, 3, has, True, True), 0)
    assert told() == (False, False, is_default)
    with pytest.raises(ZeroDivisionError):
        strategy.run(lambda: 1 / 0)
    assert not dist.has_strategy()


def test_a_scope_is_that_of_its_thread():
    found = []
    with dist.MirroredStrategy().scope():
        thread = threading.Thread(target=lambda: found.append(dist.has_strategy()))
        thread.start()
        thread.join()
    assert found == [False]


def test_data_sets_and_values_of_the_only_replica():
    strategy = dist.MirroredStrategy()
    data = strategy.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))
    )
    assert [x.numpy().tolist() for x in data] == [[0, 1], [2, 3]]
    value = strategy.experimental_distribute_values_from_function(lambda c: c.num_replicas_in_sync)
    assert strategy.experimental_local_results(value) == (1,)
    assert strategy.reduce("sum", {"a": tf.constant([1.0, 2.0]), "b": None}, axis=None)[
        "a"
    ].numpy().tolist() == [1.0, 2.0]
    assert strategy.gather(tf.constant([1.0]), axis=0).numpy().tolist() == [1.0]
    assert strategy.extended.worker_devices == (tf.constant(0.0).device,)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: dist.MirroredStrategy(["/cpu:0", "/cpu:1"]), NotImplementedError, "2 devices, /cpu:0, /cpu:1; a program runs"),
        (lambda: dist.get_strategy().reduce("PROD", 1.0, None), ValueError, "reduce_op is 'PROD'; give ReduceOp.SUM"),
        (lambda: dist.get_strategy().run(3), TypeError, "run: fn is a int; give a function"),
        (lambda: dist.InputContext(1, 0, 2).get_per_replica_batch_size(3), ValueError, "batch of 3 is not divisible by 2"),
        (lambda: dist.ParameterServerStrategy, AttributeError, "a program runs as one replica on one device"),
    ],
)  # fmt: skip
def test_what_is_refused(use, error, message):
    with pytest.raises(error, match=message):
        use()


def test_libraries_derive_from_the_strategy_of_tpus_and_none_is_made():
    class Derived(tf.distribute.TPUStrategy):
        pass

    for strategy in (tf.distribute.TPUStrategy, Derived):
        with pytest.raises(
            NotImplementedError, match=f"{strategy.__name__}: there are no TPUs; a program runs as one"
        ):
            strategy("resolver", experimental_device_assignment=None)
    assert not isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy)
