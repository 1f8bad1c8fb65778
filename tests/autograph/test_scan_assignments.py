"""What a loop or test asks may get a tensor while the function is traced: then it is converted, wherever that happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.autograph.scan import needs_conversion

WAYS: dict[str, Any] = {}
_flag: Any = True


def way(make: Any) -> Any:
    WAYS[make.__name__] = make
    return make


def branching(x: Any) -> Any:
    if x > 0:
        return x
    return -2.0 * x


class Net:
    def __init__(self) -> None:
        self.rate: Any = 1
        self.act: Any = tf.sin
        self.last: Any = None

    def chosen(self, x: Any) -> Any:
        return x if self.rate else -x

    def set_rate(self, x: Any) -> Any:
        self.rate = x > 0
        return x

    def set_act(self) -> None:
        self.act = branching


class Setter:
    def __init__(self, net: Any, x: Any) -> None:
        net.rate = x > 0


class Layer(tf.keras.layers.Layer):
    """A layer whose call keeps what it found."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net

    def call(self, x: Any) -> Any:
        self.net.rate = x > 0
        return x * 1.0


@way
def what_is_called(net: Net) -> Any:
    def f(x: Any) -> Any:
        net.act = branching
        return net.act(x)

    return f


@way
def what_is_called_by_a_method(net: Net) -> Any:
    def f(x: Any) -> Any:
        net.set_act()
        return net.act(x)

    return f


@way
def through_the_dict(net: Net) -> Any:
    def f(x: Any) -> Any:
        net.__dict__["rate"] = x > 0
        return net.chosen(x)

    return f


@way
def through_the_dict_by_name(net: Net) -> Any:
    def f(x: Any) -> Any:
        attributes = getattr(net, "__dict__")  # noqa: B009
        attributes["rate"] = x > 0
        return x if net.rate else -x

    return f


@way
def through_defaults(net: Net) -> Any:
    def chosen(x: Any, flag: Any = 1) -> Any:
        return x if flag else -x

    def f(x: Any) -> Any:
        chosen.__defaults__ = (x > 0,)
        return chosen(x)

    return f


class Made:
    def __new__(cls, net: Net, x: Any) -> Any:
        net.rate = x > 0
        return object.__new__(cls)


@way
def where_an_object_is_made(net: Net) -> Any:
    def f(x: Any) -> Any:
        Made(net, x)
        return net.chosen(x)

    return f


@way
def through_vars(net: Net) -> Any:
    def f(x: Any) -> Any:
        attributes = vars(net)
        attributes["rate"] = x > 0
        return net.chosen(x)

    return f


@way
def through_globals(net: Net) -> Any:
    def f(x: Any) -> Any:
        globals()["_flag"] = x > 0
        y = x if _flag else -x
        globals()["_flag"] = True
        return y

    return f


@way
def in_a_new_object(net: Net) -> Any:
    def f(x: Any) -> Any:
        Setter(net, x)
        return net.chosen(x)

    return f


@way
def in_a_layer(net: Net) -> Any:
    layer = Layer(net)

    def f(x: Any) -> Any:
        y = layer(x)
        return y if net.rate else -y

    return f


@way
def in_a_function_that_is_given(net: Net) -> Any:
    def f(x: Any) -> Any:
        tf.nest.map_structure(net.set_rate, [x])
        return net.chosen(x)

    return f


@way
def in_a_function_that_runs_as_it_is(net: Net) -> Any:
    @tf.autograph.experimental.do_not_convert
    def sets(x: Any) -> None:
        net.rate = x > 0

    def f(x: Any) -> Any:
        sets(x)
        return net.chosen(x)

    return f


def either(a: Any, b: Any) -> Any:
    return 1.0 if a else b + 2.0


def named_first(b: Any, /, **more: Any) -> Any:
    return -1.0 if b else float(len(more))


@way
def arguments_in_another_order(net: Net) -> Any:
    def f(x: Any) -> Any:
        return either(a=1, b=x) + either(b=1, a=x > 0)

    return f


@way
def an_argument_with_the_name_of_another(net: Net) -> Any:
    def f(x: Any) -> Any:
        return x * named_first(x > 0, b=1)

    return f


@way
def parts_of_pairs(net: Net) -> Any:
    tensors = [tf.Variable(1.0), tf.Variable(-1.0)]

    def f(x: Any) -> Any:
        for pair in enumerate(tensors):
            for part in pair:
                if part > 0:
                    x = x + 1.0
        return x

    return f


def closure_over(flag: Any) -> Any:
    def f(x: Any) -> Any:
        return x if flag else -3.0 * x

    return f


@way
def functions_of_one_code(net: Net) -> Any:
    one, other = closure_over(1), closure_over(tf.Variable(0.0))

    def f(x: Any) -> Any:
        return one(x) + other(x)

    return f


@way
def in_an_argument(net: Net) -> Any:
    def f(x: Any) -> Any:
        if x > 5.0:  # so that it is converted itself
            x = x - 5.0
        return net.chosen(net.set_rate(x))

    return f


@way
def before_a_wrapped_function_is_called(net: Net) -> Any:
    def f(x: Any) -> Any:
        if x > 5.0:
            x = x - 5.0
        again = tf.recompute_grad(net.chosen)
        net.rate = x > 0
        return again(x)

    return f


@way
def while_a_generator_waits(net: Net) -> Any:
    def rates(x: Any) -> Any:
        yield x
        yield x if net.rate else -x

    def f(x: Any) -> Any:
        if x > 5.0:
            x = x - 5.0
        made = rates(x)
        y = next(made)
        net.rate = x > 0
        return y + next(made)

    return f


def keeps(net: Net) -> Any:
    def f(x: Any) -> Any:
        net.last = x
        return net.chosen(x)

    return f


@pytest.mark.parametrize("name", WAYS)
def test_what_is_assigned_while_tracing_is_converted(name: str) -> None:
    f = WAYS[name](Net())
    assert needs_conversion(f)
    compiled = tf.function(WAYS[name](Net()), input_signature=[tf.TensorSpec([])])
    for x in (tf.constant(0.7), tf.constant(-0.7)):
        np.testing.assert_allclose(compiled(x), WAYS[name](Net())(x), rtol=1e-6)


def test_names_that_no_test_asks_may_get_values() -> None:
    f = keeps(Net())
    assert not needs_conversion(f)
    assert float(tf.function(f)(tf.constant(2.0))) == 2.0
