"""Models with layers, optimizers and generators: what they learned is kept, and they go on learning."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import layers, optimizers
from serialization.saved_model import load, save
from tests.serialization.saved_model.generations import assert_same, in_fresh_process, reloaded

RNG = np.random.default_rng(5)
X = RNG.normal(size=(16, 3)).astype(np.float32)
Y = np.sin(X.sum(1, keepdims=True)).astype(np.float32)


class Trained(gd.Module):
    """A small network with its optimizer and a training step."""

    def __init__(self, optimizer):
        super().__init__()
        self.net = layers.Sequential(
            [layers.Dense(8, activation="tanh"), layers.BatchNormalization(), layers.Dense(1)]
        )
        self.net(X)
        self.optimizer = optimizer
        self.optimizer.build(self.net.trainable_variables)

    @gd.function(input_signature=[gd.TensorSpec([None, 3])])
    def __call__(self, x):
        return self.net(x)

    @gd.function(input_signature=[gd.TensorSpec([None, 3]), gd.TensorSpec([None, 1])])
    def train(self, x, y):
        with gd.GradientTape() as tape:
            loss = gd.reduce_mean((self.net(x, training=True) - y) ** 2)
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss


@pytest.mark.parametrize(
    "make",
    [
        lambda: optimizers.Adam(0.01),
        lambda: optimizers.SGD(0.05, momentum=0.9),
        lambda: optimizers.SGD(0.05),
    ],
    ids=["adam", "momentum", "sgd"],
)
def test_a_training_step_goes_on_with_the_optimizers_slots(make):
    model = Trained(make())
    for _ in range(5):
        model.train(X, Y)
    loaded = reloaded(model, 2)
    expected = [float(model.train(X, Y)) for _ in range(5)]
    assert_same([float(loaded.train(X, Y)) for _ in range(5)], expected, rtol=1e-4)
    assert_same(loaded(X), model(X), rtol=1e-4)
    assert int(loaded.optimizer.iterations) == 10
    assert len(loaded.optimizer._slot_variables) == len(model.optimizer._slot_variables)


FRESH = """
import sys
import numpy as np
import graphad as gd
m = gd.saved_model.load(sys.argv[1])
x = np.linspace(-1, 1, 48, dtype=np.float32).reshape(16, 3)
y = np.sin(x.sum(1, keepdims=True))
print([float(m.train(x, y)) for _ in range(3)])
"""


def test_training_goes_on_in_a_fresh_process(tmp_path):
    model = Trained(optimizers.Adam(0.01))
    x = np.linspace(-1, 1, 48, dtype=np.float32).reshape(16, 3)
    y = np.sin(x.sum(1, keepdims=True))
    model.train(x, y)
    save(model, tmp_path / "m")
    expected = [float(model.train(x, y)) for _ in range(3)]
    assert_same(eval_floats(in_fresh_process(FRESH, str(tmp_path / "m"))), expected, rtol=1e-4)


def eval_floats(text):
    return [float(part) for part in text.strip("[] \n").split(",")]


def test_a_loaded_model_is_trained_with_a_new_optimizer():
    model = Trained(optimizers.SGD(0.1))
    loaded = reloaded(model)
    variables = (
        [layer.kernel for layer in (loaded.net.layers[0], loaded.net.layers[2])]
        if hasattr(loaded.net, "layers")
        else []
    )
    assert variables
    optimizer = optimizers.Adam(0.02)
    losses = []
    for _ in range(20):
        with gd.GradientTape() as tape:
            loss = gd.reduce_mean((loaded(X) - Y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < losses[0]


def test_variables_made_inside_a_function_need_an_attribute(tmp_path):
    class Late(gd.Module):
        def __init__(self):
            super().__init__()
            self.v = None

        @gd.function(input_signature=[gd.TensorSpec([])])
        def f(self, x):
            if self.v is None:
                self.v = gd.Variable(2.0)
            return self.v * x

    loaded = reloaded(Late(), 2)
    assert float(loaded.f(3.0)) == 6.0


# random numbers


def drawing(**attributes):
    made = gd.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def test_functions_that_draw_from_the_global_generator(tmp_path):
    f = gd.function(lambda: gd.random.normal([4]), input_signature=[])
    save(drawing(f=f), tmp_path / "m")
    before = np.asarray(gd.random.get_global_generator().state.data)
    loaded = load(tmp_path / "m")
    assert_same(gd.random.get_global_generator().state.data, before)
    assert not np.array_equal(loaded.f(), loaded.f())
    gd.random.set_seed(3)
    first = [np.asarray(loaded.f()) for _ in range(3)]
    gd.random.set_seed(3)
    assert_same([np.asarray(f()) for _ in range(3)], first)
    gd.random.set_seed(3)
    again = reloaded(loaded)
    assert_same([np.asarray(again.f()) for _ in range(3)], first)


def test_ops_with_a_seed_of_their_own():
    f = gd.function(
        lambda: (gd.random.uniform([3], seed=11), gd.random.uniform([3], seed=12)), input_signature=[]
    )
    gd.random.set_seed(4)
    first = [np.asarray(x) for x in f()]
    loaded = reloaded(drawing(f=f), 2)
    gd.random.set_seed(4)
    assert_same([np.asarray(x) for x in loaded.f()], first)


def test_a_generator_of_the_models_own_keeps_its_state():
    rng = gd.random.Generator.from_seed(7)
    rng.normal([2])
    model = drawing(rng=rng, again=[rng], f=gd.function(lambda: rng.normal([3]), input_signature=[]))
    one, two = reloaded(model), reloaded(model, 2)
    want = [np.asarray(model.f()) for _ in range(2)]
    for loaded in (one, two):
        assert loaded.rng is loaded.again[0] and isinstance(loaded.rng, gd.random.Generator)
        assert_same([np.asarray(loaded.f()), np.asarray(loaded.rng.normal([3]))], want)


def test_the_global_generator_as_an_attribute_stays_the_global_one():
    loaded = reloaded(drawing(rng=gd.random.get_global_generator()))
    assert loaded.rng.state is gd.random.get_global_generator().state


def test_a_generator_that_is_no_attribute_is_untracked(tmp_path):
    rng = gd.random.Generator.from_seed(7)
    f = gd.function(lambda: rng.normal([3]), input_signature=[])
    with pytest.raises(AssertionError, match="untracked"):
        save(drawing(f=f), tmp_path / "m")


DRAW = """
import sys
import graphad as gd
m = gd.saved_model.load(sys.argv[1])
gd.random.set_seed(9)
print(m.f().numpy().tolist(), m.g().numpy().tolist())
"""


def test_random_functions_in_fresh_processes(tmp_path):
    rng = gd.random.Generator.from_seed(1)
    model = drawing(
        rng=rng,
        f=gd.function(lambda: gd.random.normal([2]) + gd.random.uniform([2], seed=5), input_signature=[]),
        g=gd.function(lambda: rng.uniform([2]), input_signature=[]),
    )
    save(model, tmp_path / "m")
    gd.random.set_seed(9)
    want = f"{model.f().numpy().tolist()} {model.g().numpy().tolist()}\n"
    assert in_fresh_process(DRAW, str(tmp_path / "m")) == want


def test_dropout_can_be_saved():
    class Net(gd.Module):
        def __init__(self):
            super().__init__()
            self.drop = layers.Dropout(0.5)

        @gd.function
        def __call__(self, x, training=False):
            return self.drop(x, training=training)

    net = Net()
    x = gd.ones([200])
    net(x), net(x, training=True)
    loaded = reloaded(net, 2)
    assert_same(loaded(x), np.ones(200))
    assert 0 < np.count_nonzero(np.asarray(loaded(x, training=True))) < 200
