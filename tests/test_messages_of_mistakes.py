"""Mistakes of users: the last line of the error says what was done, with numbers, and what to write instead."""

from __future__ import annotations

import re
import traceback

import pytest

import graphad as tf

X = tf.constant([1.0, 2.0, 3.0])
UNKNOWN = tf.TensorSpec([None, 2, 2])


def traced(f, *specs):
    tf.function(f).get_concrete_function(*specs)


def unconverted(f, *specs):
    tf.function(f, autograph=False).get_concrete_function(*specs)


def the_larger(x):
    return max(x, 1.0)


def the_smaller(x):
    return min(x, 1.0)


def asserted(x):
    assert x > 0, "all x are positive"


def member(x):
    return 1.0 in x


def some(x):
    return any(v > 0 for v in tf.unstack(x))


def truth(x):
    return bool(x)


def positive_of_pairs(x):
    return [part for name, part in [("in", x)] if part > 0]


def positive(x):
    if x > 0:  # only in training
        raise ValueError("x is in no range")


def larger_in_lines(x):
    return max(
        x,
        1.0,
    )


def gradient_of(function, results):
    @tf.custom_gradient
    def doubled(x):
        return (x * 2 if results == 1 else (x, x)), function

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = doubled(X)
    tape.gradient(y, X)


def gradient_by(source):
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = X * 2
    tape.gradient(y, [X, source])


def rows_of_another():
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.ones([2, 3]) * X
    tape.batch_jacobian(y, X)


class Early(tf.keras.layers.Layer):
    def __init__(self):
        self.width = 1

    def call(self, x):
        return x


def generated(value):
    return list(
        tf.data.Dataset.from_generator(lambda: iter([value]), output_signature=tf.TensorSpec([], "int32"))
    )


SCALAR, VECTOR = tf.TensorSpec([]), tf.TensorSpec([3])
MISTAKES = {
    # what Python asks of a tensor that has no value yet
    "max": (lambda: traced(the_larger, SCALAR), TypeError, r"as `max\(\)` asks for here; use tf.maximum"),
    "min": (lambda: traced(the_smaller, SCALAR), TypeError, r"as `min\(\)` asks for here; use tf.minimum"),
    "assert": (lambda: traced(asserted, SCALAR), TypeError, r"as `assert` asks for here; use tf.debugging"),
    "in": (lambda: traced(member, VECTOR), TypeError, r"as `in` asks for here; use tf.reduce_any\(x == y\)"),
    "any": (lambda: traced(some, VECTOR), TypeError, r"as `any\(\)` asks for here; use tf.reduce_any"),
    "bool": (lambda: traced(truth, SCALAR), TypeError, r"as `bool\(\)` asks for here; use tf.cast"),
    "pairs": (lambda: unconverted(positive_of_pairs, SCALAR), TypeError, r"is not allowed; use `cond`"),
    "comment": (lambda: unconverted(positive, SCALAR), TypeError, r"is not allowed; use `cond`"),
    "lines": (lambda: traced(larger_in_lines, SCALAR), TypeError, r"as `max\(\)` asks for here"),
    "format": (
        lambda: traced(lambda x: f"{x:.2f}", SCALAR),
        TypeError,
        r"no value to show in the format '.2f' while '<lambda>' is traced; tf.print",
    ),
    # sizes that are not known
    "zeros of a shape": (
        lambda: traced(lambda x: tf.zeros(x.shape), UNKNOWN),
        TypeError,
        r"^zeros: None is not a size; .* known at run time only: take it from tf.shape\(x\)\.",
    ),
    "reshape": (
        lambda: traced(lambda x: tf.reshape(x, [x.shape[0], 4]), UNKNOWN),
        TypeError,
        r"^reshape: None is not a size; .* from tf.shape\(x\), or let reshape find one by -1",
    ),
    # gradients
    "too few parameters of a gradient function": (
        lambda: gradient_of(lambda: 3, 1),
        TypeError,
        r"gradient function of .*doubled is called with 1 upstream gradients, .* and does not take them: ",
    ),
    "one parameter for two results": (
        lambda: gradient_of(lambda g: g, 2),
        TypeError,
        r"called with 2 upstream gradients, one for each result of .*doubled",
    ),
    "None as a source": (lambda: gradient_by(None), TypeError, r"None .* neither .*; leave it out of the"),
    "a number as a source": (lambda: gradient_by(1.0), TypeError, r"^tape.gradient: 1.0 .* by tf.constant"),
    "rows of another tensor": (
        rows_of_another,
        ValueError,
        r"\(2, 3\)\) and source shape \(\(3,\)\) to match: .*; tape.jacobian has no such rule",
    ),
    # dtypes
    "softmax of integers": (
        lambda: tf.nn.softmax([1, 2]),
        TypeError,
        r"^softmax: logits have dtype int32; .* Use tf.cast\(logits, tf.float32\)\.$",
    ),
    "indices that are floats": (
        lambda: tf.gather(X, [0.5]),
        TypeError,
        r"^gather: indices have dtype float32; .* Use tf.cast\(indices, tf.int32\)\.$",
    ),
    "a complex number for a real one": (
        lambda: tf.math.erf(tf.constant([1j])),
        TypeError,
        r"^erf: x has dtype complex128; .* Use tf.abs, tf.math.real\.$",
    ),
    "fft of floats": (
        lambda: tf.signal.fft2d(tf.ones([2, 2])),
        TypeError,
        r"complex64 or complex128 is needed. Use tf.cast\(input, tf.complex64\)\.$",
    ),
    "a fraction for an integer": (
        lambda: tf.constant(1.5, tf.int32),
        TypeError,
        r"^constant: .* or another dtype: tf.cast the tensor beside it, or dtype= where it is made",
    ),
    "an element of another dtype": (
        lambda: generated(1.5),
        TypeError,
        r"^from_generator: an element is not TensorSpec\(shape=\(\), dtype=tf.int32.*Cannot convert 1.5",
    ),
    # conditions that fail: a large tensor is not shown whole
    "one element of many": (
        lambda: tf.debugging.assert_equal(
            tf.zeros([40, 50]), tf.one_hot([30] * 40, 50) * tf.eye(40)[20][:, None]
        ),
        ValueError,
        r"It fails for 1 of 2000 elements, first at \(20, 30\): x is 0.0, y is 1.0\.$",
    ),
    "the sign of an element": (
        lambda: tf.debugging.assert_positive([[1, 2], [3, -4]]),
        ValueError,
        r"It fails for 1 of 4 elements, first at \(1, 1\): x is -4\.$",
    ),
    # layers
    "no constructor of the base class": (
        lambda: Early()(X),
        AttributeError,
        r"^Early: its __init__ must call super\(\).__init__\(\) before all else",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_cure(name):
    call, kind, said = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert re.search(said, str(caught.value)), str(caught.value)


def test_a_line_that_does_not_tell_gets_the_general_words():
    def f(x):
        if x > 0:
            return max(1, 2)

    with pytest.raises(TypeError, match="not allowed; use `cond`"):
        tf.function(f, autograph=False).get_concrete_function(SCALAR)


DEEP = {
    "a layer in a layer": lambda: tf.keras.Sequential([tf.keras.Sequential([tf.keras.layers.Dense(3)])])(X),
    "a layer that is built": lambda: tf.keras.layers.Conv2D(3, 3)(tf.ones([2, 3])),
    "a loss": lambda: tf.keras.losses.MeanSquaredError()(tf.ones([2, 3]), tf.ones([2, 4])),
    "an optimizer": lambda: tf.keras.optimizers.SGD(lr=0.1),
    "a gradient function": lambda: gradient_of(lambda g: (g, g), 1),
    "a data set": lambda: generated(1.5),
}


@pytest.mark.parametrize("name", DEEP)
def test_a_traceback_shows_the_users_lines_and_two_of_graphads_at_most(name):
    with pytest.raises(tf.errors.OpError) as caught:
        DEEP[name]()
    frames = traceback.extract_tb(caught.value.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    assert len(own) <= 2, own
    assert any(frame.name.startswith(("<lambda>", "generated", "gradient_of")) for frame in frames)
