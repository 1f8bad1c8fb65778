"""Options that no function takes: the error names the function, the argument, its value, and what is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.blame import blaming

X = np.ones((2, 2), np.float32)
PAIR = np.array([1, 2])
IMAGE, FILTER = np.ones((1, 4, 4, 1), np.float32), np.ones((1, 1, 1, 1), np.float32)


@pytest.mark.parametrize(
    ("call", "python", "words"),
    [
        (lambda: tf.cumsum(X, exclusive=PAIR), ValueError, r"cumsum: exclusive is array\(\[1, 2\]\) of type ndarray; a bool"),
        (lambda: tf.reduce_sum(X, 1, PAIR), ValueError, "reduce_sum: keepdims is .*; a bool is needed"),
        (lambda: tf.matmul(X, X, PAIR), ValueError, "matmul: transpose_a is .*; a bool is needed"),
        (lambda: tf.transpose(X + 1j, conjugate=PAIR), ValueError, "transpose: conjugate is .*; a bool is needed"),
        (lambda: tf.linspace(0.0, 1.0, 3, axis="x"), TypeError, "linspace: axis .*'x'"),
        (lambda: tf.linspace([0.0, 1.0], [1.0, 2.0, 3.0], 3), ValueError, r"linspace: .*\(2,\).*\(3,\)"),
        (lambda: tf.strided_slice(X, [0], [1], begin_mask=None), TypeError, "strided_slice: begin_mask is None .*; an integer"),
        (lambda: tf.signal.fftnd(X + 0j, axes=1), TypeError, "fftnd: axes is 1 of type int; a list of integers or None"),
        (lambda: tf.nn.bias_add(X, [1.0, 2.0], data_format=3), TypeError, "bias_add: data_format is 3 .*; a string or None"),
        (lambda: tf.nn.conv2d(IMAGE, FILTER, 2**70, "SAME"), ValueError, r"strides \(\d+, \d+\) has an integer of more"),
        (lambda: tf.random.normal([2], seed="a"), ValueError, "normal: seed is 'a' of type str; an integer or None"),
        (lambda: tf.norm(X, None), TypeError, "norm: ord is None of type NoneType; a string or a number"),
        (lambda: tf.numpy.amax(X, keepdims=PAIR), ValueError, "keepdims is .*; a bool"),
        (lambda: tf.numpy.rot90(X, None), TypeError, "rot90: k is None of type NoneType; an integer"),
        (lambda: tf.numpy.can_cast("int8", "int16", "bad"), ValueError, "can_cast: casting is 'bad' of type str; one of 'no'"),
        (lambda: tf.strided_slice(X, [0], [1], end_mask=1.0), TypeError, "strided_slice: end_mask is 1.0 .*; an integer"),
        (lambda: tf.numpy.histogram([1.0], range=[1, 2, 3]), ValueError, "histogram: range is .*; a list of 2 numbers or None"),
        (lambda: tf.image.adjust_gamma(X, "x"), TypeError, "adjust_gamma: gamma is 'x' of type str; a number or a tensor"),
        (lambda: tf.linalg.diag(X, num_rows="x"), TypeError, "diag: num_rows is .x. of type str; an integer or a tensor"),
        (lambda: tf.numpy.tensordot(X, X, None), TypeError, "tensordot: axes is None of type NoneType; an integer or a list"),
        (lambda: tf.compat.v1.reduce_sum(X, keep_dims=PAIR), ValueError, "reduce_sum: keep_?dims is .*; a bool"),
        (lambda: tf.nn.with_space_to_batch(X, [], "VALID", X), TypeError, "with_space_to_batch: op is .*; a function is needed"),
        (lambda: tf.signal.stft([1.0, 2.0], 2, 1, window_fn="hann"), TypeError, r"stft: window_fn is 'hann' .*; a function of"),
        (lambda: tf.signal.kaiser_window(4, beta=[1.0, 2.0]), TypeError, "kaiser_window: beta is .*; a number or a tensor"),
        (lambda: tf.image.adjust_gamma(X, PAIR), ValueError, "adjust_gamma: gamma is .*; a number or a tensor"),
        (lambda: tf.image.central_crop(IMAGE, PAIR), TypeError, "central_crop: central_fraction is .*; a number or a tensor"),
        (lambda: tf.unstack(X, [1, [2]]), ValueError, r"unstack: num is \[1, \[2\]\]"),
        (lambda: tf.broadcast_dynamic_shape(3, [2]), ValueError, r"broadcast_dynamic_shape: .*shape \(\); a vector"),
    ],
)  # fmt: skip
def test_an_option_that_does_not_fit_is_named(
    call: Callable[[], object], python: type[Exception], words: str
):
    with pytest.raises(python, match=words) as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)

    @tf.function(autograph=False)
    def traced():
        return call()

    with pytest.raises(python, match=words):
        traced()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.signal.hann_window(2**62),
        lambda: tf.linspace(0.0, 1.0, 2**62),
        lambda: tf.numpy.vander([1.0, 2.0], 2**62),
        lambda: tf.numpy.array_split(X, 2**62),
    ],
)
def test_more_than_there_is_memory_for_is_said_of_the_function(call: Callable[[], object]):
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"hann_window|linspace|vander|array_split"):
        call()


def test_differences_end_where_nothing_is_left():
    assert tf.numpy.diff([1.0, 2.0, 4.0], 2**62).shape == (0,)
    assert tf.numpy.diff([1.0, 2.0, 4.0], 2).numpy().tolist() == [1.0]


def test_an_error_of_the_users_own_stays_as_it_is():
    class Own:
        def __index__(self) -> int:
            raise TypeError("mine")

    @blaming
    def outer(x: object, n: int = 0) -> object:
        return range(n)

    with pytest.raises(TypeError, match=r"^mine$"):
        outer(X, Own())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        tf.cumsum(X, depth=1)  # type: ignore[call-arg]


def test_the_function_that_was_called_is_named_not_one_within():
    source = """
@blaming
def inner(n: int): return range(n)

@blaming
def outer(size: int): return inner(size)
"""
    space: dict[str, Any] = {"blaming": blaming}
    flags = annotations.compiler_flag
    exec(compile(source, "<graphad lines>", "exec", flags), space)  # as if the functions were graphad's
    with pytest.raises(TypeError, match="outer: size is 'a' of type str; an integer is needed"):
        space["outer"]("a")


def test_a_function_that_blames_keeps_its_name_signature_and_place():
    import inspect
    import pickle

    assert pickle.loads(pickle.dumps(tf.cumsum)) is tf.cumsum
    assert list(inspect.signature(tf.cumsum).parameters) == ["x", "axis", "exclusive", "reverse", "name"]
    assert tf.cumsum.__name__ == "cumsum"
