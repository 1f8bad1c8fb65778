"""The modes of `experimental_enable_numpy_behavior`: the dtypes that TensorFlow gives in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp

COLUMNS = ("int8 int32 int64 uint8 float16 bfloat16 float32 float64 complex64", "int float complex")
# What TensorFlow 2.21 gives for `x + y` in the mode "all"; "!" where "safe" refuses it.
GIVEN = {
    "bool": "int8 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 int32 float32 complex128",
    "int8": "int8 int32 int64 int16! float16 bfloat16 float32 float64 complex64 int8 float64! complex128",
    "int32": "int32 int32 int64 int32 float16! bfloat16! float32! float64 complex64! int32 float64! complex128",
    "int64": "int64 int64 int64 int64 float16! bfloat16! float32! float64! complex64! int64 float64! complex128!",
    "uint8": "int16! int32 int64 uint8 float16 bfloat16 float32 float64 complex64 uint8 float64! complex128",
    "float16": "float16 float16! float16! float16 float16 float32! float32 float64 complex64 float16 float16 complex64!",
    "bfloat16": "bfloat16 bfloat16! bfloat16! bfloat16 float32! bfloat16 float32 float64 complex64 bfloat16 bfloat16 complex64!",
    "float32": "float32 float32! float32! float32 float32 float32 float32 float64 complex64 float32 float32 complex64!",
    "float64": "float64 float64 float64! float64 float64 float64 float64 float64 complex128! float64 float64 complex128",
    "complex64": "complex64 complex64! complex64! complex64 complex64 complex64 complex64 complex128! complex64 complex64 "
    "complex64 complex64",
}
NUMBERS: dict[str, Any] = {"int": 3, "float": 1.5, "complex": 2j}


@pytest.fixture
def mode() -> Iterator[Callable[..., None]]:
    yield gnp.experimental_enable_numpy_behavior
    gnp.experimental_enable_numpy_behavior(dtype_conversion_mode="off")


@pytest.mark.parametrize("is_safe", [False, True], ids=["all", "safe"])
@pytest.mark.parametrize("first", GIVEN)
def test_operands_of_two_dtypes_give_that_of_tensorflow(
    mode: Callable[..., None], first: str, is_safe: bool
) -> None:
    mode(dtype_conversion_mode="safe" if is_safe else "all")
    x = tf.cast(tf.constant([1, 2]), first)
    names = " ".join(COLUMNS).split()
    for second, wanted in zip(names, GIVEN[first].split(), strict=True):
        y = NUMBERS[second] if second in NUMBERS else tf.cast(tf.constant([1, 2]), second)
        for call in (lambda x, y: x + y, lambda x, y: y + x, gnp.add, tf.function(lambda x, y=y: x + y)):
            if is_safe and wanted.endswith("!"):
                with pytest.raises(TypeError, match="may lose digits"):
                    call(x, y)
            else:
                assert call(x, y).dtype.name == wanted.rstrip("!"), second


def test_lists_of_numbers_are_as_weak_as_numbers(mode: Callable[..., None]) -> None:
    mode(dtype_conversion_mode="all")
    assert (tf.constant([1, 2], tf.int8) + [1, 2]).dtype == tf.int8
    assert (tf.constant([1.0, 2.0], tf.float16) + [1.5, 2]).dtype == tf.float16
    assert (tf.constant([1, 2]) + np.array([1.5, 2.5])).dtype == tf.float64
    assert gnp.concatenate([tf.constant([1], tf.int64), tf.constant([1.0])]).dtype == tf.float32


def test_what_has_no_dtype_is_four_bytes_wide(mode: Callable[..., None]) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: gnp.array([1.0, 2]), lambda: gnp.arange(3.0), lambda: gnp.linspace(0, 1, 3), lambda: gnp.ones(2),
        lambda: gnp.eye(2), lambda: gnp.tri(2), lambda: gnp.sqrt(4), lambda: gnp.mean([1, 2]), lambda: gnp.random.rand(2),
    ]  # fmt: skip
    for name in ("all", "safe"):
        mode(dtype_conversion_mode=name)
        assert [made().dtype.name for made in makers] == ["float32"] * len(makers)
        assert gnp.array([1, 2]).dtype == gnp.arange(3).dtype == gnp.full(2, 3).dtype == tf.int32
        assert gnp.array([2**40]).dtype == tf.int64
        assert gnp.array(np.ones(2)).dtype == tf.float64
    mode()
    assert [made().dtype.name for made in makers] == ["float64"] * len(makers)


def test_floats_of_python_may_be_float32(mode: Callable[..., None]) -> None:
    mode(prefer_float32=True)
    for made in (
        gnp.array([1.0, 2]),
        gnp.asarray(1.5),
        gnp.arange(3.0),
        gnp.linspace(0, 1, 3),
        gnp.hypot(3.0, 4.0),
    ):
        assert made.dtype == tf.float32
    assert gnp.array([1j]).dtype == tf.complex64
    assert gnp.array([1, 2]).dtype == tf.int64
    assert gnp.array(np.ones(2)).dtype == tf.float64
    assert (tf.constant([1, 2], tf.int8) + 1.5).dtype == tf.float32
    assert (tf.constant([1, 2]) + 1.5).dtype == tf.float64
    assert (tf.constant([1, 2], tf.uint8) + 1).dtype == tf.uint8
    assert (tf.ones(2, tf.float64) + 1.5).dtype == tf.float64


def test_derivatives_pass_through_the_conversions(mode: Callable[..., None]) -> None:
    mode(dtype_conversion_mode="all")
    x, k = tf.constant([1.0, 2.0]), tf.constant([3, 4], tf.int64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * k
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 4.0])


def test_an_unknown_mode_is_refused(mode: Callable[..., None]) -> None:
    with pytest.raises(ValueError, match="'strict'; it is one of 'off', 'legacy', 'all', 'safe'"):
        mode(dtype_conversion_mode="strict")


def test_variables_take_values_whose_joint_dtype_is_theirs(mode):
    mode(dtype_conversion_mode="all")
    v = tf.Variable(1.0)
    v.assign_add(tf.constant(2))
    assert v.numpy() == 3.0
    v.assign(tf.constant(5))
    assert tf.function(lambda x: v.assign_sub(x) + 0.0)(tf.constant(2)).numpy() == 3.0
    w = tf.Variable(1.0, dtype=tf.float64)
    assert w.assign_add(v).numpy() == 4.0
    for u, x in ((v, tf.constant(2.0, tf.float64)), (tf.Variable(1), tf.constant(2.5))):
        with pytest.raises(TypeError, match="Cannot assign to variable"):
            u.assign_add(x)
    mode(dtype_conversion_mode="safe")
    with pytest.raises(TypeError, match="may lose digits"):
        v.assign_add(tf.constant(2))


JOINT_WITH_BFLOAT16 = {
    "bool": "bfloat16", "int8": "bfloat16", "uint8": "bfloat16", "int16": "float32", "uint16": "float32", "int32": "float64",
    "int64": "float64", "uint64": "float64", "float16": "float32", "float32": "float32", "complex64": "complex64",
}  # fmt: skip


@pytest.mark.parametrize("name", JOINT_WITH_BFLOAT16)
def test_bfloat16_has_a_joint_dtype_with_every_other(name: str) -> None:
    narrow, other, wanted = tf.ones([2], tf.bfloat16), tf.ones([2], name), JOINT_WITH_BFLOAT16[name]
    assert gnp.result_type(narrow, other).name == wanted
    assert gnp.where([True, False], narrow, other).dtype.name == wanted
    assert gnp.concatenate([other, narrow]).dtype.name == gnp.r_[narrow, other].dtype.name == wanted
    if name != "bool":
        assert gnp.add(narrow, other).dtype.name == wanted


def test_ranges_between_bfloat16_keep_it() -> None:
    ends = tf.constant([1.0, 3.0], tf.bfloat16).numpy()
    for f in (gnp.linspace, gnp.geomspace, gnp.logspace):
        assert f(*ends, 3).dtype == f(*tf.constant(ends), 3).dtype == tf.bfloat16
    assert gnp.arange(*ends).dtype == tf.bfloat16


def test_equality_takes_lists_and_numbers_out_of_range(mode: Callable[..., None]) -> None:
    mode()
    x = tf.constant([1, 2, 44], tf.int8)
    np.testing.assert_array_equal(x == [1, 2, 3], [True, True, False])
    np.testing.assert_array_equal(x != [1, 2, 3], [False, False, True])
    np.testing.assert_array_equal(x == (1.0, 2.5, 44), [True, False, True])
    np.testing.assert_array_equal(x == 300, [False] * 3)  # 44 and 256
    np.testing.assert_array_equal(tf.constant([255], tf.uint8) != -1, [True])
    assert (x != [1, 2]) and x != "a"
