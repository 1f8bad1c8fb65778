"""Loops over what is Python's own need no source: a trace of the function as it is unrolls them."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.autograph.scan import needs_conversion

ROOT = Path(__file__).parents[2]

weights = [tf.constant(2.0), tf.constant(3.0)]
offsets = (0.5, 0.25)
table = {"first": 1.0, "second": 4.0}
rounds = 3
changing: Any = [1.0]


def over_a_list(x: Any) -> Any:
    for w in weights:
        x = tf.sin(x * w)
    return x


def over_a_dict(x: Any) -> Any:
    for name in table:
        x = x + table[name]
    return x


def over_zip(x: Any) -> Any:
    for w, b in zip(weights, offsets):
        x = x * w + b
    return tf.exp(-x)


def over_range(x: Any) -> Any:
    for i in range(2, 2 * rounds, 2):
        x = x * i
    for k in range(len(weights) - 1):
        x = x + weights[k]
    return x


def over_enumerate(x: Any) -> Any:
    for k, (w, b) in enumerate(zip(reversed(weights), offsets), 1):
        x = x + k * w + b
    return x


def nested(x: Any) -> Any:
    for w in weights:
        for b in offsets:
            x = x * w + b
        x = over_a_list(x)
    return x


def with_a_tape(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for w in weights:
            y = y * y * w
    return tape.gradient(y, x)


def left_at_once(x: Any) -> Any:
    for w in weights:
        x = x * w
        break
    else:
        x = -x
    return tf.exp(x)


def returned(x: Any) -> Any:
    for w in weights:
        return tf.cos(x * w)


def of_closures(items: Any, number: Any) -> Any:
    def f(x: Any) -> Any:
        for w in items:
            for _ in range(number):
                x = x * w
        return x

    return f


PLAIN = (
    over_a_list,
    over_a_dict,
    over_zip,
    over_range,
    over_enumerate,
    nested,
    with_a_tape,
    left_at_once,
    returned,
    of_closures([1.5, 2.0], 2),
)


@pytest.mark.parametrize("f", PLAIN, ids=lambda f: f.__name__)
def test_loops_over_what_is_pythons_own_are_traced_as_they_are(f):
    assert not needs_conversion(f)
    x = tf.constant(0.7)
    np.testing.assert_allclose(tf.function(f)(x), f(x), rtol=1e-6)


def over_an_argument(x: Any) -> Any:
    for row in x:
        chosen(row)


def over_a_size(x: Any) -> Any:
    for _ in range(x):
        pass


def over_a_shape(x: Any) -> Any:
    for _ in range(tf.shape(x)[0]):
        pass


def over_what_is_zipped(x: Any) -> Any:
    for _ in zip(weights, x):
        pass


def over_a_length(x: Any) -> Any:
    for _ in range(len(x)):
        pass


def over_an_attribute(x: Any) -> Any:
    for _ in np.e:
        pass


def with_a_choice(x: Any) -> Any:
    for w in weights:
        if x > w:
            x = x - w
    return x


def with_a_call_of_an_element(x: Any) -> Any:
    for f in functions:
        x = f(x)
    return x


def with_a_comprehension(x: Any) -> Any:
    return [chosen(x) for _ in range(2)]


def calls_with_a_loop_before(x: Any) -> Any:
    for _ in weights:
        x = x + 1.0
    return chosen(x)


def chosen(x: Any) -> Any:
    if x > 0:
        return x
    return -x


functions = [chosen]


@pytest.mark.parametrize(
    "f",
    [
        over_an_argument,
        over_a_size,
        over_a_shape,
        over_what_is_zipped,
        over_a_length,
        over_an_attribute,
        with_a_choice,
        with_a_call_of_an_element,
        with_a_comprehension,
        calls_with_a_loop_before,
        of_closures(tf.constant([1.0]), 2),
        of_closures([1.0], tf.constant(2)),
        of_closures([1.0], 2.0),
    ],
    ids=lambda f: f.__name__,
)
def test_other_loops_are_converted(f):
    assert needs_conversion(f)


def over_what_changes(x: Any) -> Any:
    for w in changing:
        x = x * w
    return x


def test_what_a_loop_goes_over_is_looked_up_again(monkeypatch):
    f = tf.function(over_what_changes)
    assert float(f(tf.constant(2.0))) == 2.0
    monkeypatch.setitem(globals(), "changing", tf.constant([3.0, 5.0]))
    assert needs_conversion(over_what_changes)
    np.testing.assert_array_equal(f(tf.constant([2.0])), [30.0])
    monkeypatch.setitem(globals(), "changing", [7.0])
    monkeypatch.setitem(globals(), "range", lambda n: tf.range(n))
    assert not needs_conversion(over_what_changes)
    assert needs_conversion(over_range)


def test_a_name_that_the_function_or_one_that_it_calls_sets_may_hold_a_tensor_by_then():
    items: Any = [1.0]

    def sets(x: Any) -> None:
        nonlocal items
        items = x

    def sets_and_loops(x: Any) -> Any:
        nonlocal items
        items = x
        y = x[0]
        for row in items:
            y = y + row
        return y

    def loops(x: Any) -> Any:
        sets(x)
        y = x[0]
        for row in items:
            y = y + row
        return y

    for f in (sets_and_loops, loops):
        items = [1.0]
        assert needs_conversion(f)
        compiled = tf.function(f, input_signature=[tf.TensorSpec([None])])
        assert float(compiled(tf.constant([1.0, 2.0, 3.0]))) == 7.0


def test_no_source_is_read_for_such_loops(tmp_path):
    """The modules that convert source are most of what the first call of a function would import."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport graphad as tf\nfactors = [2.0, 3.0]\n"
        "@tf.function\ndef f(x):\n    for w in factors:\n        x = x * w\n    return x\n"
        "print(float(f(tf.constant(1.0))), 'graphad.autograph.rewrite' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["6.0", "False"]


class Net:
    """A user's object: attributes that Python's own loops and tests ask."""

    def __init__(self, activation: Any = None) -> None:
        self.lib = tf
        self.weights = [tf.constant(2.0), tf.constant(3.0)]
        self.activation = activation
        self.rate: Any = 0.5

    def through(self, params: Any, x: Any, power: int = 2) -> Any:
        lib = self.lib
        for i in range(1, len(params)):
            x = lib.sin(x * params[i])
        for k, w in enumerate(self.weights):
            if k > 0 and self.activation is not None:
                x = lib.tanh(x)
            x = x * w if power == 2 else x
        return x

    def chosen_by(self, x: Any) -> Any:
        return -x if self.rate else x

    def __call__(self, x: Any) -> Any:
        return self.through(self.weights, x)

    @property
    def given(self) -> Any:
        return self.rate


def with_methods(net: Any, params: Any, power: Any = 2) -> Any:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net.through(params, x, power=power) + net(x)
        return tape.gradient(y, x)

    return f


def by_a_default(x: Any, flag: Any = True) -> Any:
    return x if flag else -x


def by_default(x: Any) -> Any:
    return by_a_default(x)


def with_tests_of_numbers(coefficients: Any) -> Any:
    def f(x: Any) -> Any:
        z = x
        for i in range(len(coefficients)):
            k = i % 4
            if k == 0:
                z = z * coefficients[i]
            elif k == 1 or not i < 100:
                z = z + x
            else:
                z = tf.sin(z)
        if isinstance(z, tf.Tensor) and coefficients:
            z = tf.cos(z)
        return z

    return f


@pytest.mark.parametrize(
    "f",
    [
        with_methods(Net(), [tf.constant(0.5), tf.constant(0.25)]),
        with_methods(Net("tanh"), (tf.constant(0.5),), power=3),
        with_tests_of_numbers([1.0, 0.9, 1.1, 1.2, 0.8]),
        by_default,
    ],
)
def test_methods_and_tests_of_what_is_pythons_own_are_traced_as_they_are(f):
    assert not needs_conversion(f)
    x = tf.constant(0.7)
    np.testing.assert_allclose(tf.function(f)(x), f(x), rtol=1e-6)


def by_an_argument(x: Any, flag: Any) -> Any:
    return x if flag else -x


partly = partial(by_a_default, flag=tf.constant(1.0))


def by_a_partial(x: Any) -> Any:
    return partly(x)


def by_a_call(x: Any) -> Any:
    return by_an_argument(x, x)


def by_a_name_set_twice(x: Any) -> Any:
    n: Any = 0
    n = x
    if n == 0:
        x = -x
    return x


def by_an_item(x: Any) -> Any:
    for i in range(2):
        if weights[i] > i:
            x = -x
    return x


def by_a_part_of_a_pair(x: Any) -> Any:
    for _, w in enumerate(weights):
        if w > 0:
            x = -x
    return x


def of_net(net: Any, how: str) -> Any:
    """A function that asks what an attribute of an object holds, in one of several ways."""

    def reads(x: Any) -> Any:
        return net.chosen_by(x)

    def sets(x: Any) -> Any:
        net.rate = x
        return net.chosen_by(x)

    def sets_by_name(x: Any) -> Any:
        setattr(net, "rate", x)  # noqa: B010
        return net.chosen_by(x)

    def by_property(x: Any) -> Any:
        return -x if net.given else x

    return {"reads": reads, "sets": sets, "sets_by_name": sets_by_name, "property": by_property}[how]


@pytest.mark.parametrize(
    "f",
    [
        by_a_call,
        by_a_default,
        by_a_partial,
        by_a_name_set_twice,
        by_an_item,
        by_a_part_of_a_pair,
        with_methods(Net(), tf.constant([0.5, 0.25])),
        with_methods(Net(), [1.0, 2.0], power=tf.constant(2)),
        with_tests_of_numbers(tf.constant([2.0])),
        of_net(Net(), "sets"),
        of_net(Net(), "sets_by_name"),
        of_net(Net(), "property"),
    ],
)
def test_tests_of_what_may_be_a_tensor_are_converted(f):
    assert needs_conversion(f)
    x = tf.constant(0.7)
    np.testing.assert_allclose(tf.function(f)(x), f(x), rtol=1e-6)


def test_what_an_attribute_holds_is_looked_up_again():
    net = Net()
    f = of_net(net, "reads")
    assert not needs_conversion(f)
    net.rate = tf.Variable(1.0)
    assert needs_conversion(f)


def test_a_method_is_known_with_its_object():
    net = Net()
    assert not needs_conversion(Net.chosen_by, net)
    assert needs_conversion(Net.chosen_by)
    traced = tf.function(net.chosen_by)
    assert float(traced(tf.constant(2.0))) == -2.0
    net.rate = tf.constant(0.0)
    assert float(tf.function(net.chosen_by)(tf.constant(2.0))) == 2.0


class Chain:
    """Objects that hold each other, further than is looked."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def run(self, x: Any) -> Any:
        return x if self.inner is None else self.inner.run(x) + 1.0


def test_a_long_chain_of_objects_ends_the_look():
    chain: Any = None
    for _ in range(300):
        chain = Chain(chain)
    f = lambda x: chain.run(x)  # noqa: E731
    assert needs_conversion(f)
    assert float(tf.function(f)(tf.constant(0.0))) == 299.0
