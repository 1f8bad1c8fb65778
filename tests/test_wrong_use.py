"""Public functions called with what they cannot take: errors are graphad's, with a reason, none of NumPy's or Python's own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf

SPACES = (
    "",
    "math",
    "linalg",
    "nn",
    "signal",
    "image",
    "sparse",
    "sets",
    "bitwise",
    "random",
    "losses",
    "metrics",
    "numpy",
    "debugging",
)
GOOD = np.ones((2, 2), np.float32)
BAD = [
    np.float64(np.nan), None, "text", np.ones((2, 3), np.complex64), np.ones((2, 3), bool), np.ones((2, 3), np.int32),
    np.ones((0,)), [[1, 2], [3]], object(), -1, tf.constant([1.0, 2.0]),
]  # fmt: skip
AXES = [7, -9, "x", 1.5, float("nan"), [0, 0], np.ones(3)]
# They call or keep what they are given, or run for long.
LEFT_OUT = set(
    "function py_function numpy_function Variable device print custom_gradient recompute_grad explain profile GradientTape "
    "Module init_scope name_scope control_dependencies scan map_fn foldl foldr while_loop cond case "
    "switch_case vectorized_map".split()
)


def functions(space: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"graphad.{space}".rstrip("."))
    for name in module.__all__:
        value = getattr(module, name)
        if name not in LEFT_OUT and callable(value) and not inspect.isclass(value):
            yield f"{space}.{name}".lstrip("."), value


def calls(function: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments of which one is bad."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.default is p.empty and p.kind in kinds for p in parameters)
    for k in range(count):
        for bad in BAD:
            yield [bad if i == k else GOOD for i in range(count)], {}
    if any(p.name == "axis" and p.default is not p.empty for p in parameters):
        for axis in AXES:
            yield [GOOD] * count, {"axis": axis}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_wrong_arguments_are_refused_in_words_of_graphads(space: str) -> None:
    raw: dict[str, list[str]] = {}
    for name, function in functions(space):
        for positional, named in calls(function):
            try:
                function(*positional, **named)
            except Exception as error:  # whatever it is, its class is what counts
                if not type(error).__module__.startswith("graphad"):
                    raw.setdefault(name, []).append(f"{positional} {named}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(line for lines in raw.values() for line in lines[:2])


@pytest.mark.parametrize(
    ("call", "python", "words"),
    [
        (lambda: tf.identity_n(3.0), TypeError, "identity_n: input is 3.0 of type float; give a list"),
        (
            lambda: tf.reverse(GOOD, None),
            TypeError,
            "reverse: axis is None of type NoneType; an integer or a list",
        ),
        (
            lambda: tf.reverse(GOOD, np.nan),
            ValueError,
            "reverse: axis is nan of type float; an integer or a list",
        ),
        (lambda: tf.roll(GOOD, 1, "x"), ValueError, "roll: axis is 'x' of type str; an integer or a list"),
        (lambda: tf.range(np.nan), ValueError, "range: from 0 to nan by steps of 1 .*; give finite numbers"),
        (lambda: tf.range(np.inf), ValueError, "range: from 0 to inf by steps of 1 .*; give finite numbers"),
        (
            lambda: tf.slice(GOOD, [0, np.nan], [1, 1]),
            ValueError,
            "slice: begin is .*; one integer for each axis",
        ),
        (
            lambda: tf.slice(GOOD, [0, 0], [1, np.nan]),
            ValueError,
            "slice: size is .*; one integer for each axis",
        ),
        (
            lambda: tf.tensordot(GOOD, GOOD, [1]),
            ValueError,
            r"tensordot: axes is \[1\] of type list; a number of axes",
        ),
        (
            lambda: tf.tensordot(GOOD, GOOD, None),
            TypeError,
            "tensordot: axes is None of type NoneType; a number",
        ),
        (
            lambda: tf.math.bincount([1], axis=np.ones(3)),
            ValueError,
            "bincount: axis is .*; None, 0 and -1 are",
        ),
        (
            lambda: tf.image.adjust_hue(GOOD, tf.constant([0.1, 0.2])),
            ValueError,
            r"adjust_hue: delta has shape \[2\]",
        ),
        (
            lambda: tf.math.in_top_k([0, 1], GOOD, None),
            TypeError,
            "in_top_k: k is None of type NoneType; an integer",
        ),
        (
            lambda: tf.numpy.full_like(GOOD, "text"),
            ValueError,
            "full: fill_value is 'text' of type str; .*float32",
        ),
        (
            lambda: tf.numpy.asarray("text", "float32"),
            ValueError,
            "asarray: a is 'text' of type str; .*float32",
        ),
        (
            lambda: tf.numpy.size(GOOD, 7),
            IndexError,
            r"size: axis is 7 of type int; the tensor has shape \(2, 2\)",
        ),
        (
            lambda: tf.numpy.select([True], [1, 2]),
            ValueError,
            "select: condlist holds 1 conditions, choicelist 2",
        ),
        (
            lambda: tf.numpy.ravel_multi_index([1], [2, 3]),
            ValueError,
            "multi_index holds indices for 1 axes, dims 2",
        ),
        (lambda: tf.numpy.lexsort([]), IndexError, "lexsort: keys is empty"),
        (lambda: tf.numpy.cov(None), IndexError, "cov: m is None"),
        (lambda: tf.numpy.correlate(1.0, [1.0]), IndexError, r"correlate: a has shape \[\]; a vector"),
        (lambda: tf.numpy.einsum("i"), ValueError, "einsum: subscripts are 'i', and there are no operands"),
        (
            lambda: tf.math.confusion_matrix([1], [5], num_classes=2),
            ValueError,
            r"confusion_matrix: `predictions` out of bound.* num_classes is 2, predictions \[5\]",
        ),
        (
            lambda: tf.debugging.assert_shapes([(tf.zeros([2, 3]), (3, 3))]),
            ValueError,
            r"assert_shapes: a tensor has shape \(2, 3\); \(3, 3\) is expected\.$",
        ),
        (lambda: tf.gather(tf.zeros([2]), 5), ValueError, r"gather: indices = 5 is not in \[0, 2\)"),
        (
            lambda: tf.expand_dims(tf.zeros([2, 3]), 7),
            ValueError,
            "axis 7 is out of range for the result of rank 3",
        ),
        (lambda: tf.numpy.resize(GOOD, None), TypeError, "resize: new_shape is None of type NoneType"),
    ],
)
def test_refusals_name_function_argument_and_what_is_allowed(
    call: Callable[[], object], python: type[Exception], words: str
) -> None:
    """Each is also the class of Python's that NumPy or Python has for the case."""
    with pytest.raises(python, match=words) as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)


def test_what_python_reads_as_one_axis_is_one() -> None:
    x = np.arange(6.0).reshape(1, 6)
    assert tf.numpy.squeeze(x, np.int64(0)).shape == (6,)
    assert np.array_equal(tf.numpy.gradient(x, axis=np.int64(1)), np.gradient(x, axis=1))
    assert tf.math.bincount([1, 1], axis=np.int64(0)).numpy().tolist() == [0, 2]
