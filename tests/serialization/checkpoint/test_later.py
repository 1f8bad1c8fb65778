"""Objects that come after `restore` get their values as they come, wherever they are put."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import graphad as tf
from graphad.core import trackable


@pytest.fixture(autouse=True)
def without_garbage_of_other_tests():
    """What waits is counted here; objects in cycles that another test left wait until they are collected."""
    gc.collect()


def trained(steps: int = 3, optimizer: str = "Adam"):
    tf.random.set_seed(1)
    net = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
    opt = getattr(tf.keras.optimizers, optimizer)(0.1, **({"momentum": 0.9} if optimizer == "SGD" else {}))
    train(net, opt, steps)
    return net, opt


def train(net, opt, steps: int) -> None:
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - tf.reduce_sum(x, axis=1, keepdims=True)) ** 2)
        variables = net.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))

    for _ in range(steps):
        step()


def fresh(optimizer: str = "Adam"):
    tf.random.set_seed(2)
    net = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
    opt = getattr(tf.keras.optimizers, optimizer)(0.5, **({"momentum": 0.9} if optimizer == "SGD" else {}))
    return net, opt


def weights(net) -> list[list[float]]:
    return [v.numpy().tolist() for v in net.variables]


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
@pytest.mark.parametrize("ready", ["nothing", "net", "all"])
def test_an_interrupted_training_goes_on_as_if_it_had_not_been(tmp_path, ready, optimizer):
    net, opt = trained(3, optimizer)
    path = tf.train.Checkpoint(net=net, opt=opt).save(tmp_path / "ckpt")
    train(net, opt, 3)
    other, other_opt = fresh(optimizer)
    if ready != "nothing":
        other(tf.zeros([1, 2]))
    if ready == "all":
        other_opt.build(other.trainable_variables)
    status = tf.train.Checkpoint(net=other, opt=other_opt).restore(path)
    train(other, other_opt, 3)
    status.assert_consumed()
    assert weights(other) == weights(net)
    assert float(other_opt.learning_rate) == np.float32(0.1) and int(other_opt.iterations) == 6


def test_slots_are_found_by_their_variable_whatever_the_order(tmp_path):
    net, opt = trained()
    path = tf.train.Checkpoint(net=net, opt=opt).save(tmp_path / "ckpt")
    other, other_opt = fresh()
    other(tf.zeros([1, 2]))
    other_opt.build(reversed(other.trainable_variables))
    tf.train.Checkpoint(net=other, opt=other_opt).restore(path).assert_consumed()
    slots = {name + v.name: slot for name, v, slot in opt._graphad_slots_by_name()}
    for i, (mine, theirs) in enumerate(zip(net.trainable_variables, other.trainable_variables)):
        for name in ("m", "v"):
            a = next(s for n, v, s in opt._graphad_slots_by_name() if v is mine and n == name)
            b = next(s for n, v, s in other_opt._graphad_slots_by_name() if v is theirs and n == name)
            assert a.numpy().tolist() == b.numpy().tolist() and np.any(a.numpy()), (i, name)
    keys = dict(tf.train.list_variables(path))
    assert "net/layers/0/kernel/.OPTIMIZER_SLOT/opt/m/.ATTRIBUTES/VARIABLE_VALUE" in keys
    assert len(slots) == 8


def test_slots_of_variables_that_come_after_them(tmp_path):
    net, opt = trained()
    path = tf.train.Checkpoint(net=net, opt=opt).save(tmp_path / "ckpt")
    other, other_opt = fresh()
    other(tf.zeros([1, 2]))
    other_opt.build(other.trainable_variables)
    checkpoint = tf.train.Checkpoint(opt=other_opt)
    status = checkpoint.restore(path)
    checkpoint.net = other
    status.assert_consumed()


def test_options_leave_slots_alone(tmp_path):
    net, opt = trained()
    path = tf.train.Checkpoint(net=net, opt=opt).save(tmp_path / "ckpt")
    other, other_opt = fresh()
    other(tf.zeros([1, 2]))
    other_opt.build(other.trainable_variables)
    options = tf.train.CheckpointOptions(experimental_skip_slot_variables=True)
    tf.train.Checkpoint(net=other, opt=other_opt).restore(path, options)
    assert int(other_opt.iterations) == 3
    assert not any(np.any(slot.numpy()) for _, _, slot in other_opt._graphad_slots_by_name())


def test_a_layer_is_restored_by_its_first_call(tmp_path):
    layer = tf.keras.layers.Dense(3)
    layer(tf.ones([1, 2]))
    path = tf.train.Checkpoint(layer=layer).write(tmp_path / "x")
    other = tf.keras.layers.Dense(3)
    status = tf.train.Checkpoint(layer=other).read(path)
    with pytest.raises(AssertionError, match="layer/kernel"):
        status.assert_consumed()
    assert np.array_equal(other(tf.ones([1, 2])), layer(tf.ones([1, 2])))
    status.assert_consumed()


def test_variables_made_in_a_traced_function_are_restored(tmp_path):
    class Made(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = None

        @tf.function
        def __call__(self):
            if self.v is None:
                self.v = tf.Variable([1.0, 2.0])
            return tf.reduce_sum(self.v * self.v)

    first = Made()
    first()
    first.v.assign([3.0, 4.0])
    path = tf.train.Checkpoint(m=first).write(tmp_path / "x")
    second = Made()
    status = tf.train.Checkpoint(m=second).read(path)
    assert float(second()) == 25.0
    status.assert_consumed()


def test_attributes_items_and_keys_that_come_later(tmp_path):
    def block(value):
        module = tf.Module()
        module.v = tf.Variable(value)
        return module

    net = tf.Module()
    net.blocks, net.table, net.deep = [block(1.0), block(2.0)], {"a": block(3.0)}, [[], {"x": [block(4.0)]}]
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    other.blocks, other.table, other.deep = [], {}, [[], {"x": []}]
    status = tf.train.Checkpoint(other).read(path)
    other.blocks.append(block(0.0))
    other.table["a"] = block(0.0)
    other.deep[1]["x"].append(block(0.0))
    assert [float(v) for v in other.variables] == [1.0, 4.0, 3.0]  # asking for the variables looks
    other.blocks.append(block(0.0))
    tf.Variable(0.0)  # so does making one
    assert float(other.blocks[1].v) == 2.0
    status.assert_consumed()


def test_a_module_in_a_list_makes_its_variable_later(tmp_path):
    class Lazy(tf.Module):
        def __call__(self):
            if not hasattr(self, "v"):
                self.v = tf.Variable(0.0)
            return float(self.v)

    net = tf.Module()
    net.parts = [Lazy()]
    net.parts[0]()
    net.parts[0].v.assign(5.0)
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    other.parts = []
    tf.train.Checkpoint(other).read(path)
    other.parts.append(Lazy())
    assert other.parts[0]() == 5.0


def test_weights_that_are_no_attributes(tmp_path):
    class Plain(tf.keras.layers.Layer if hasattr(tf.keras.layers, "Layer") else object):
        def build(self, shape):
            self.w = self.add_weight((2,), "ones")
            self.add_weight((3,), "ones", name="hidden")

        def call(self, x):
            return x * self.w

    layer = Plain()
    layer(tf.ones([2]))
    layer.set_weights([[1.0, 2.0], [3.0, 4.0, 5.0]])
    path = tf.train.Checkpoint(layer=layer).write(tmp_path / "x")
    other = Plain()
    status = tf.train.Checkpoint(layer=other).read(path)
    other(tf.ones([2]))
    assert [w.tolist() for w in other.get_weights()] == [[1.0, 2.0], [3.0, 4.0, 5.0]]
    status.assert_consumed()


def test_sequential_gets_layers_later(tmp_path):
    net, _ = trained()
    path = tf.train.Checkpoint(net=net).write(tmp_path / "x")
    other = tf.keras.Sequential([])
    status = tf.train.Checkpoint(net=other).read(path)
    other.add(tf.keras.layers.Dense(4, activation="tanh"))
    other.add(tf.keras.layers.Dense(1))
    x = tf.ones([2, 2])
    assert np.array_equal(other(x), net(x))
    status.assert_consumed()


def test_a_wrong_shape_is_refused_when_it_comes(tmp_path):
    net = tf.Module()
    net.v = tf.Variable([1.0, 2.0])
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    tf.train.Checkpoint(other).read(path)
    with pytest.raises(
        ValueError, match=r"shape \(2,\) when attempting to restore variable with shape \(3,\)"
    ):
        other.v = tf.Variable([0.0, 0.0, 0.0])
    assert not hasattr(other, "v")
    other.v = tf.Variable([0.0, 0.0])
    assert other.v.numpy().tolist() == [1.0, 2.0]


def test_a_layer_keeps_what_it_had_where_the_new_attribute_is_refused(tmp_path):
    layer = tf.keras.Sequential([])
    layer.parts = [tf.Variable([1.0, 2.0]), tf.Variable(1.0)]
    path = tf.train.Checkpoint(layer).write(tmp_path / "x")
    other = tf.keras.Sequential([])
    old = other.parts = [tf.Variable([0.0, 0.0])]
    tf.train.Checkpoint(other).read(path).expect_partial()
    with pytest.raises(ValueError, match="incompatible tensor"):
        other.parts = [old[0], tf.Variable([5.0])]
    assert other.parts is old


def test_what_was_restored_once_is_not_restored_again(tmp_path):
    net = tf.Module()
    net.v, net.w = tf.Variable(1.0), tf.Variable(2.0)
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    other.v = tf.Variable(0.0)
    tf.train.Checkpoint(other).read(path)
    other.v = tf.Variable(7.0)  # a new head, made on purpose
    other.v = tf.Variable(8.0)
    assert float(other.v) == 8.0
    other.w = tf.Variable(0.0)
    assert float(other.w) == 2.0


def test_the_later_restore_wins(tmp_path):
    def saved(value, name):
        net = tf.Module()
        net.v, net.w = tf.Variable(value), tf.Variable(-value)
        return tf.train.Checkpoint(net).write(tmp_path / name)

    one, two = saved(1.0, "one"), saved(2.0, "two")
    net = tf.Module()
    first, second = tf.train.Checkpoint(net).read(one), tf.train.Checkpoint(net).read(two)
    net.v = tf.Variable(0.0)
    assert float(net.v) == 2.0
    net.w = tf.Variable(0.0)
    first.assert_consumed()
    second.assert_consumed()
    assert (float(net.v), float(net.w)) == (2.0, -2.0)
    net.v.assign(5.0)
    first.assert_consumed()
    assert float(net.v) == 5.0


def test_nothing_is_marked_where_nothing_is_pending(tmp_path):
    net, opt = trained()
    checkpoint = tf.train.Checkpoint(net=net, opt=opt)
    checkpoint.restore(checkpoint.save(tmp_path / "ckpt"))
    for x in (net, opt, *net.layers, checkpoint):
        assert trackable.PENDING not in vars(x), x
    assert not trackable._waiting


def test_copies_and_pickles_wait_for_nothing(tmp_path):
    net = tf.Module()
    net.v = tf.Variable(1.0)
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    tf.train.Checkpoint(other).read(path)
    for twin in (copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        twin.v = tf.Variable(0.0)
        assert float(twin.v) == 0.0
    other.v = tf.Variable(0.0)
    assert float(other.v) == 1.0


def test_owners_of_waiting_lists_go_when_nobody_needs_them(tmp_path):
    net = tf.Module()
    net.parts = [tf.Variable(1.0)]
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    before = len(trackable._waiting)
    other = tf.Module()
    other.parts = []
    tf.train.Checkpoint(other).read(path).expect_partial()
    assert len(trackable._waiting) > before
    del other
    gc.collect()
    assert len(trackable._waiting) == before


@pytest.mark.parametrize("use", ["operator", "numpy", "function", "compiled", "assign"])
def test_a_variable_put_into_a_list_is_restored_before_it_is_used(tmp_path, use):
    net = tf.Module()
    net.parts, net.named = [tf.Variable([3.0])], {"a": tf.Variable([4.0])}
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    other = tf.Module()
    tf.train.Checkpoint(other).read(path)
    other.parts, other.named = [], {}
    v, w = tf.Variable([0.0]), tf.Variable([0.0])
    assert v.numpy() == 0.0 and isinstance(v, tf.Variable)
    read = {
        "operator": lambda x: x + 0.0,
        "numpy": lambda x: x.numpy(),
        "function": tf.function(lambda x: x + 0.0),
        "compiled": tf.function(lambda x: x + 0.0, jit_compile=True),
        "assign": lambda x: x.assign_add([0.0]),
    }[use]
    assert read(w) == 0.0
    other.parts.append(v)
    assert read(v) == 3.0 and read(w) == 0.0
    other.named["a"] = w
    v.assign([5.0])
    assert read(w) == 4.0 and read(v) == 5.0
    assert type(w) is tf.Variable and type(pickle.loads(pickle.dumps(v))) is tf.Variable
