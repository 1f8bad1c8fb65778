"""Variables that only a gradient function reads, seen in its code while the function around it is traced."""

from __future__ import annotations

import functools

import pytest

import graphad as gd
from tests.serialization.saved_model.generations import reloaded

SHARED = gd.Variable(4.0)


class Reversal(gd.Module):
    """x, with a gradient that is turned around and scaled."""

    def __init__(self):
        super().__init__()
        self.scale = gd.Variable(2.0, trainable=False)

    def __call__(self, x):
        @gd.custom_gradient
        def turned(x):
            return gd.identity(x), lambda upstream: -self.scale * upstream

        return turned(x)


class Block(gd.keras.layers.Layer):
    """A layer of the user's own with one inside."""

    def __init__(self, layer, scale):
        super().__init__()
        self.layer, self.by = layer, scale

    def call(self, x):
        return self.layer(x) * self.by


def by_helper(upstream):
    return upstream * SHARED


class Model(gd.Module):
    """Ways to a variable: nested attributes, items, a method, a property, a traced function, a layer, a global."""

    def __init__(self, way):
        super().__init__()
        self.shared, self.w = SHARED, gd.Variable(3.0)
        self.parts = [gd.Variable(5.0), {"a": gd.Variable(6.0)}]
        self.inner = Reversal()
        self.layer = gd.keras.layers.Dense(1, kernel_initializer=gd.keras.initializers.Constant(7.0))
        self.layer(gd.ones([1, 1]))
        self.block = Block(self.layer, self.w)
        self.traced = gd.function(lambda upstream: upstream * self.w)

        @gd.custom_gradient
        def f(x):
            return x * 2.0, getattr(self, way)()

        self.f = gd.function(lambda x: f(x) + 1.0, input_signature=[gd.TensorSpec([1, 1])])

    def scaled(self, upstream):
        return upstream * self.w

    @property
    def first(self):
        return self.parts[0]

    def by_attribute(self):
        return lambda upstream: upstream * self.inner.scale

    def by_item(self):
        return lambda upstream: upstream * self.parts[1]["a"]

    def by_method(self):
        return self.scaled

    def by_partial(self):
        return functools.partial(lambda by, upstream: upstream * by.scale, self.inner)

    def by_inner_method(self):
        return lambda upstream: self.scaled(upstream)

    def by_property(self):
        return lambda upstream: upstream * self.first

    def by_traced(self):
        return lambda upstream: self.traced(upstream)

    def by_layer(self):
        return lambda upstream: self.layer(upstream)

    def by_block(self):
        return lambda upstream: self.block(upstream)

    def by_global(self):
        return lambda upstream: by_helper(upstream)


def slope(f):
    x = gd.Variable([[1.0]])
    with gd.GradientTape() as tape:
        y = f(x)
    return float(tape.gradient(y, x)[0, 0])


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("by_attribute", 2.0), ("by_item", 6.0), ("by_method", 3.0), ("by_inner_method", 3.0),
        ("by_partial", 2.0), ("by_property", 5.0),
        ("by_traced", 3.0), ("by_layer", 7.0), ("by_block", 21.0), ("by_global", 4.0),
    ],
)  # fmt: skip
def test_a_gradient_function_reads_variables_that_its_function_does_not(way, expected):
    model = Model(way)
    loaded = reloaded(model, 2)
    assert slope(model.f) == slope(loaded.f) == expected


def test_the_variable_is_read_when_the_gradient_is_computed():
    model = gd.Module()
    model.turn = Reversal()
    model.f = gd.function(lambda x: model.turn(x) * 3.0, input_signature=[gd.TensorSpec([1, 1])])
    assert slope(model.f) == -6.0
    loaded = reloaded(model)
    loaded.turn.scale.assign(5.0)
    model.turn.scale.assign(7.0)
    assert (slope(loaded.f), slope(model.f)) == (-15.0, -21.0)


def test_a_generator_in_a_gradient_function_draws_on():
    model = gd.Module()
    model.generator = gd.random.Generator.from_seed(3)

    @gd.custom_gradient
    def noisy(x):
        return x * 1.0, lambda upstream: upstream + model.generator.normal([1, 1])

    model.f = gd.function(lambda x: noisy(x) + 0.0, input_signature=[gd.TensorSpec([1, 1])])
    loaded = reloaded(model)
    drawn = [slope(model.f) for _ in range(2)]
    assert drawn[0] != drawn[1] and drawn == [slope(loaded.f) for _ in range(2)]


def test_in_loops_branches_and_functions_inside_of_functions():
    w = gd.Variable(0.5)
    holder = gd.Module()
    holder.w = w

    @gd.custom_gradient
    def halved(x):
        return x * 2.0, lambda upstream: upstream * holder.w

    @gd.function
    def looped(x):
        for _ in gd.range(3):
            x = halved(x)
        return x

    @gd.function
    def branched(x):
        return halved(x) if gd.reduce_sum(x) > 0.0 else x

    inner = gd.function(halved)
    outer = gd.function(lambda x: inner(x) + inner(x))
    assert [slope(f) for f in (looped, branched, outer)] == [0.125, 0.5, 1.0]
