"""`raw_ops` has TensorFlow's names, arguments, defaults and results, eagerly and in functions."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.ops import raw_cases

STORED = json.loads(raw_cases.FILE.read_text(encoding="utf-8"))


def test_each_op_has_a_case_and_stored_results() -> None:
    assert dir(tf.raw_ops) == sorted({**raw_cases.CASES, **raw_cases.DRAWN}) == list(STORED)


@pytest.mark.parametrize("op", STORED)
def test_arguments_and_defaults_are_those_of_tensorflow(op: str) -> None:
    shown = str(inspect.signature(getattr(tf.raw_ops, op)))
    wanted = STORED[op]["signature"]
    for before, after in (
        ("[]", "()"),
        ("=[1, 1, 1, 1]", "=(1, 1, 1, 1)"),
        ("=[1, 1, 1, 1, 1]", "=(1, 1, 1, 1, 1)"),
    ):
        shown, wanted = shown.replace(before, after), wanted.replace(before, after)
    assert shown == wanted


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("op", raw_cases.CASES)
def test_results_are_those_of_tensorflow(op: str, traced: bool) -> None:
    given = raw_cases.CASES[op]
    if traced:
        arrays = {key: value for key, value in given.items() if isinstance(value, np.ndarray)}
        others = {key: value for key, value in given.items() if key not in arrays}
        call = tf.function(
            lambda **tensors: tf.nest.flatten(getattr(tf.raw_ops, op)(**tensors, **_dtypes(others)))
        )
        results = [np.asarray(y) for y in call(**{key: tf.constant(value) for key, value in arrays.items()})]
    else:
        results = raw_cases.result(tf, op, given)
    assert len(results) == len(STORED[op]["results"])
    for y, (dtype, shape, values) in zip(results, STORED[op]["results"], strict=True):
        assert (str(y.dtype), list(y.shape)) == (dtype, shape)
        parts = np.stack([y.real, y.imag], -1) if y.dtype.kind == "c" else y
        found, wanted = parts.ravel().astype(np.float64), np.array(values)
        if op in ("Qr", "SelfAdjointEigV2"):  # the signs of a column are not determined
            found, wanted = np.abs(found), np.abs(wanted)
        np.testing.assert_allclose(found, wanted, rtol=3e-5, atol=3e-6)


def _dtypes(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: getattr(tf, value) if value in ("int32", "float32", "float64") else value
        for key, value in given.items()
    }


@pytest.mark.parametrize("op", raw_cases.DRAWN)
def test_what_is_drawn_has_the_shape_and_dtype_of_tensorflow(op: str) -> None:
    (y,) = raw_cases.result(tf, op, raw_cases.DRAWN[op])
    ((dtype, shape, _),) = STORED[op]["results"]
    assert (str(y.dtype), list(y.shape)) == (dtype, shape)


def test_seeds_of_ops_are_those_of_functions() -> None:
    def two(**seeds: int) -> list[bool]:
        tf.random.set_seed(5)
        a = tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, **seeds)
        tf.random.set_seed(5)
        return [np.array_equal(a, tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, **other)) for other in
                (seeds, {"seed": 2}, {"seed2": 2})]  # fmt: skip

    assert two(seed=1, seed2=7) == [True, False, False]
    y = tf.raw_ops.RandomUniformInt(shape=[500], minval=2, maxval=9).numpy()
    assert (y.min(), y.max()) == (2, 8)


def test_given_means_and_variances_normalise_outside_of_training() -> None:
    """TensorFlow leaves what is for the gradient unwritten then."""
    given = raw_cases.CASES["FusedBatchNorm"]
    y, *kept = tf.raw_ops.FusedBatchNorm(**given, is_training=False)
    root = np.sqrt(given["variance"] + 1e-4)
    wanted = (given["x"] - given["mean"]) / root * given["scale"] + given["offset"]
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
    for found, name in zip(kept, ["mean", "variance"] * 2, strict=True):
        np.testing.assert_array_equal(found, given[name])


def test_ops_are_differentiated_as_the_functions_that_they_are() -> None:
    x = tf.Variable([[1.0, 2.0], [3.0, 5.0]])
    with tf.GradientTape() as tape:
        y = tf.raw_ops.Sum(input=tf.raw_ops.Square(x=tf.raw_ops.MatMul(a=x, b=x)), axis=[0, 1])
    with tf.GradientTape() as other:
        z = tf.reduce_sum(tf.square(x @ x))
    np.testing.assert_array_equal(tape.gradient(y, x), other.gradient(z, x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.Add(1.0, 2.0), TypeError, r"raw_ops.Add only takes keyword args \(possible keys: \['x', 'y', 'name'\]\)"),
        (lambda r: r.Add(x=1.0), TypeError, "raw_ops.Add: argument 'y' is missing; it takes x, y, name"),
        (lambda r: r.Add(x=1.0, y=2.0, z=3), TypeError, "raw_ops.Add: there is no argument 'z'; it takes x, y"),
        (lambda r: r.AddV3, AttributeError, "raw_ops.AddV3: not part of graphad; the nearest name is raw_ops.AddV2"),
        (lambda r: r.Qqqq, AttributeError, r"raw_ops.Qqqq: not part of graphad; dir\(raw_ops\) lists what is"),
        (lambda r: r.ResizeBilinear(images=raw_cases.IMAGE, size=[2, 2]), TypeError, "half_pixel_centers=False is not included"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tf.raw_ops)
    assert tf.raw_ops.Add(x=1.0, y=2.0, name="sum") == 3.0


def test_lists_are_tensors_for_each_op_that_takes_such() -> None:
    """A list adopts the dtype of the other argument, as in TensorFlow."""
    for op, given in raw_cases.CASES.items():
        options = _dtypes({key: x for key, x in given.items() if not isinstance(x, np.ndarray)})
        arrays = {key: x for key, x in given.items() if isinstance(x, np.ndarray) and x.dtype == np.float32}
        if len(arrays) + len(options) < len(given):
            continue  # of dtypes that lists do not have
        found = tf.nest.flatten(
            getattr(tf.raw_ops, op)(**{key: x.tolist() for key, x in arrays.items()}, **options)
        )
        for y, wanted in zip(found, raw_cases.result(tf, op, given), strict=True):
            np.testing.assert_array_equal(np.asarray(y), wanted, err_msg=op)


# TensorFlow 2.21's, for y = 1 + i and dy = 1 + 2i.
_OF_COMPLEX = {"InvGrad": -4 + 2j, "ReciprocalGrad": -4 + 2j, "RsqrtGrad": -1 + 3j, "SigmoidGrad": 3 + 1j,
               "SqrtGrad": -0.25 + 0.75j, "TanhGrad": 5}  # fmt: skip


@pytest.mark.parametrize("op", _OF_COMPLEX)
def test_slopes_of_complex_numbers_are_those_of_tensorflow(op: str) -> None:
    y = getattr(tf.raw_ops, op)(y=tf.constant([1 + 1j]), dy=tf.constant([1 + 2j]))
    np.testing.assert_allclose(y, [_OF_COMPLEX[op]], rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.ReluGrad(gradients=[1.0, 2.0], features=[1.0]), ValueError, r"ReluGrad: the tensors have shapes \(2"),
        (lambda r: r.TanhGrad(y="a", dy="b"), TypeError, "unsupported type"),
        (lambda r: r.Conv2D(input=raw_cases.IMAGE, filter=raw_cases.KERNEL, strides=[1] * 4, padding="SAME", explicit_paddings=3),
         TypeError, "Conv2D: explicit_paddings is 3 of type int; a list of integers is needed"),
        (lambda r: r.BiasAddGrad(out_backprop=raw_cases.IMAGE, data_format=3), TypeError, "BiasAddGrad: data_format is 3"),
        (lambda r: r.BiasAddGrad(out_backprop=1.0), ValueError, "BiasAddGrad: out_backprop has shape ()"),
        (lambda r: r.RandomUniform(shape=[2], dtype=tf.float32, seed="a"), TypeError, "RandomUniform: seed is 'a'"),
        (lambda r: r.Einsum(inputs=3, equation="ij->i"), TypeError, "Einsum: inputs is 3 of type int; a list is needed"),
        (lambda r: r.ShapeN(input=3), TypeError, "shape_n"),
        (lambda r: r.FusedBatchNorm(x=1.0, scale=[1.0], offset=[0.0], mean=[], variance=[]), ValueError, "x has shape ()"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        call(tf.raw_ops)
    assert isinstance(raised.value, tf.errors.GraphadError)


def test_ops_are_pickled_by_name_and_copied_as_they_are() -> None:
    op = tf.raw_ops.AddV2
    assert pickle.loads(pickle.dumps(op)) is op
    assert pickle.loads(pickle.dumps(tf.raw_ops)) is tf.raw_ops
    assert copy.deepcopy(tf.raw_ops) is tf.raw_ops


def test_indices_out_of_range_may_be_ignored() -> None:
    at, zeros, two = [[5], [1]], np.zeros(3, np.float32), np.array([1.0, 2.0], np.float32)
    raw = tf.raw_ops
    found = raw.GatherNd(params=[1.0, 2.0, 3.0], indices=at, bad_indices_policy="IGNORE")
    assert found.numpy().tolist() == [0.0, 2.0]
    found = raw.ScatterNd(indices=at, updates=two, shape=[3], bad_indices_policy="IGNORE")
    assert found.numpy().tolist() == [0.0, 2.0, 0.0]
    for op, wanted in {"Update": 2.0, "Add": 2.0, "Sub": -2.0, "Max": 2.0, "Min": 0.0}.items():
        scatter = getattr(raw, f"TensorScatter{op}")
        found = scatter(tensor=zeros, indices=at, updates=two, bad_indices_policy="IGNORE")
        assert found.numpy().tolist() == [0.0, wanted, 0.0]
