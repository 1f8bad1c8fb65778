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
            TypeError,
            "slice: begin is .*; one integer for each axis",
        ),
        (
            lambda: tf.slice(GOOD, [0, 0], [1, np.nan]),
            TypeError,
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


ROW = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("call", "python", "words"),
    [
        (lambda: tf.signal.irfftnd(GOOD, []), ValueError, "irfft: rank is 0, which is less than 1"),
        (lambda: tf.numpy.fft.fft(ROW, n=np.nan), ValueError, "fft: n is nan of type float; an integer or None"),
        (lambda: tf.numpy.fft.fft2(GOOD, s=3), TypeError, "fft2: s is 3 of type int; a list of integers or None"),
        (lambda: tf.numpy.fft.irfftn(GOOD, axes=1.5), TypeError, "irfftn: axes is 1.5 of type float"),
        (lambda: tf.numpy.fft.rfft(ROW, norm=[1]), TypeError, r"rfft: norm is \[1\] of type list; a string or None"),
        (lambda: tf.numpy.fft.fftfreq(1.5), ValueError, "fftfreq: n is 1.5 of type float; an integer"),
        (lambda: tf.numpy.fft.fftshift(ROW, 1.5), TypeError, "fftshift: axes is 1.5 of type float"),
        (lambda: tf.numpy.linalg.eigh(GOOD, 3), TypeError, "eigh: UPLO is 3 of type int; a string"),
        (lambda: tf.numpy.linalg.lstsq(ROW, ROW), ValueError, r"lstsq: a has shape \(3,\); a matrix"),
        (lambda: tf.numpy.linalg.matrix_power(ROW, 2), ValueError, r"matrix_power: a has shape \(3,\); a square matrix"),
        (lambda: tf.numpy.linalg.matrix_power(GOOD, "x"), TypeError, "matrix_power: n is 'x' of type str; an integer"),
        (lambda: tf.numpy.linalg.multi_dot([GOOD]), ValueError, "multi_dot: two matrices or more"),
        (lambda: tf.numpy.linalg.tensorinv(GOOD, 1.5), TypeError, "tensorinv: ind is 1.5 of type float; an integer"),
        (lambda: tf.numpy.linalg.tensorsolve(GOOD, ROW, 1.5), TypeError, "tensorsolve: axes is 1.5 of type float; a list of"),
        (lambda: tf.numpy.block([[], [1.0]]), ValueError, "block: a list of blocks is empty"),
        (lambda: tf.linalg.matrix_rank(GOOD, object()), TypeError, "matrix_rank: Attempt to convert a value"),
        (lambda: tf.linalg.LinearOperatorAdjoint(GOOD), TypeError, "LinearOperatorAdjoint: operator is a ndarray; give a Linear"),
        (lambda: tf.linalg.LinearOperatorInversion(3), TypeError, "LinearOperatorInversion: operator is a int; give a Linear"),
        (lambda: tf.random.Generator(3), TypeError, "Generator: copy_from is a int; give another generator"),
        (lambda: tf.print(1, end=3), TypeError, "print: end is 3 of type int; a string"),
        (lambda: tf.vectorized_map(3, GOOD), TypeError, "vectorized_map: fn is 3 of type int; a function"),
        (lambda: tf.data.experimental.from_list(3), TypeError, "from_list: elements is 3 of type int; a list"),
        (lambda: tf.config.set_default_device(3.0), ValueError, "device: 3.0 is not a device"),
    ],
)  # fmt: skip
def test_options_of_what_is_less_used_are_refused_by_name(
    call: Callable[[], object], python: type[Exception], words: str
) -> None:
    with pytest.raises(python, match=words) as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.gather(GOOD, x),
        lambda x: tf.concat([GOOD], x),
        lambda x: tf.logical_and(x, True),
        lambda x: tf.random.shuffle(x),
        lambda x: tf.numpy.abs(x),
        lambda x: tf.image.non_max_suppression(np.ones((1, 4)), [1.0], x),
    ],
)
def test_a_list_that_holds_itself_is_refused_where_a_number_or_axis_is_asked_for(
    call: Callable[[Any], object],
) -> None:
    x: list[Any] = []
    x.append(x)
    with pytest.raises(ValueError, match="nested more than 64 deep, or holds itself"):
        call(x)


def test_what_python_reads_as_one_axis_is_one() -> None:
    x = np.arange(6.0).reshape(1, 6)
    assert tf.numpy.squeeze(x, np.int64(0)).shape == (6,)
    assert np.array_equal(tf.numpy.gradient(x, axis=np.int64(1)), np.gradient(x, axis=1))
    assert tf.math.bincount([1, 1], axis=np.int64(0)).numpy().tolist() == [0, 2]
