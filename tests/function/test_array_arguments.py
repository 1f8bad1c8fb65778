"""Whatever hands out an array of numbers is a tensor argument: converted at each call, known by dtype and shape."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest

import graphad as tf


class Exporter:
    """An object with `__array__` alone, whose numbers can be changed in place."""

    def __init__(self, data: Any) -> None:
        self.data = np.array(data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.data.astype(self.data.dtype if dtype is None else dtype, copy=bool(copy))

    def change(self) -> None:
        self.data[...] += 1


class OldExporter(Exporter):
    """Written before `__array__` had a `copy`."""

    def __array__(self, dtype: Any = None) -> np.ndarray:  # type: ignore[override]
        return self.data


class Interface:
    """An object with NumPy's older protocol alone."""

    def __init__(self, data: Any) -> None:
        self.data = np.array(data)

    @property
    def __array_interface__(self) -> Any:
        return self.data.__array_interface__

    def change(self) -> None:
        self.data[...] += 1


class Dlpack:
    """A tensor of another library, with DLPack alone."""

    def __init__(self, data: Any) -> None:
        self.data = np.array(data)

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def change(self) -> None:
        self.data[...] += 1


class Buffer:
    """Makes an object of the standard library that exports its buffer, with a way to change it."""

    def __init__(self, kind: str, data: Any) -> None:
        numbers = [float(x) for x in np.ravel(data)]
        self.array = array.array("f", numbers)
        self.exported = {
            "array": self.array,
            "memoryview": memoryview(self.array),
            "ctypes": (ctypes.c_float * len(numbers)).from_buffer(self.array),
        }[kind]


def _pandas_frame(data: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(data.copy(), columns=[f"c{i}" for i in range(np.shape(data)[1])])


def _pandas_series(data: Any) -> Any:
    return pytest.importorskip("pandas").Series(np.ravel(data).copy())


def _xarray(data: Any) -> Any:
    return pytest.importorskip("xarray").DataArray(data.copy(), dims=("row", "column"))


def _change(x: Any) -> None:
    if hasattr(x, "change"):
        x.change()
    elif hasattr(x, "iloc"):
        x.iloc[:] = np.asarray(x) + 1
    elif hasattr(x, "dims"):
        x[:] = x.values + 1
    else:
        for i in range(len(x)):
            x[i] += 1


MAKERS = {
    "exporter": Exporter,
    "old": OldExporter,
    "interface": Interface,
    "dlpack": Dlpack,
    "array": lambda data: Buffer("array", data).exported,
    "memoryview": lambda data: Buffer("memoryview", data).exported,
    "ctypes": lambda data: Buffer("ctypes", data).exported,
    "frame": _pandas_frame,
    "series": _pandas_series,
    "xarray": _xarray,
}
DATA = np.arange(6, dtype=np.float32).reshape(2, 3)
each_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@each_kind
@pytest.mark.parametrize("jit", [None, True])
def test_an_exporter_of_an_array_is_converted_at_each_call(make: Any, jit: bool | None) -> None:
    f = tf.function(lambda x: tf.reduce_sum(x * 2.0), jit_compile=jit)
    x = make(DATA)
    for k in range(3):
        assert float(f(x)) == 30.0 + 12.0 * k
        _change(x)
    assert float(f(make(DATA + 10))) == 150.0
    assert f.experimental_get_tracing_count() == 1


@each_kind
def test_in_structures_and_by_keyword_it_is_a_tensor_too(make: Any) -> None:
    @tf.function
    def f(pair: Any, *, options: Any) -> Any:
        return tf.reduce_sum(pair[0]) + tf.reduce_sum(options["k"][0])

    x = make(DATA)
    assert float(f((x, 3), options={"k": [x]})) == 30.0
    _change(x)
    assert float(f((x, 3), options={"k": [x]})) == 42.0
    assert float(f((make(DATA), 3), options={"k": [make(DATA + 1)]})) == 36.0
    assert f.experimental_get_tracing_count() == 1


@each_kind
def test_it_fits_an_input_signature_and_a_concrete_function(make: Any) -> None:
    f = tf.function(lambda x: tf.reduce_sum(x), input_signature=[tf.TensorSpec(None)])
    x = make(DATA)
    g = tf.function(lambda x: tf.reduce_sum(x)).get_concrete_function(make(DATA))
    for want in (15.0, 21.0):
        assert float(f(x)) == want
        assert float(g(x)) == want
        _change(x)


@each_kind
def test_what_was_exported_first_is_not_changed_with_its_owner(make: Any) -> None:
    x = make(DATA)
    y = tf.constant(x)
    before = y.numpy()
    _change(x)
    np.testing.assert_array_equal(y.numpy(), before)


@each_kind
def test_it_can_be_an_operand_and_an_argument_of_a_custom_gradient(make: Any) -> None:
    @tf.custom_gradient
    def double(x: Any) -> Any:
        return x * 2.0, lambda bar: bar * 2.0

    x = make(DATA)
    np.testing.assert_array_equal(np.ravel(double(x).numpy()), np.ravel(DATA * 2))
    np.testing.assert_array_equal(tf.reduce_sum(tf.add(tf.constant(1.0), x)).numpy(), 21.0)


def test_a_captured_exporter_counts_as_it_was_when_traced() -> None:
    x = Exporter(DATA.copy())
    f = tf.function(lambda y: tf.reduce_sum(y + x))
    assert float(f(tf.constant(0.0))) == 15.0
    x.change()
    assert float(f(tf.constant(0.0))) == 15.0


def test_another_shape_or_dtype_makes_a_trace_of_its_own() -> None:
    f = tf.function(lambda x: x + x)
    f(Exporter(np.zeros([2], np.float32)))
    f(Exporter(np.zeros([3], np.float32)))
    assert f(Exporter(np.zeros([3], np.int64))).dtype == tf.int64
    assert f.experimental_get_tracing_count() == 3


def test_an_exporter_that_gives_no_numbers_is_refused_in_words() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("it needs its gradient")

    f = tf.function(lambda x: x)
    with pytest.raises(TypeError, match="it needs its gradient"):
        f(Broken())
    with pytest.raises(TypeError, match="unsupported type"):
        f(Exporter(np.array(["a", "b"])))


def test_classes_and_byte_strings_are_still_python_values() -> None:
    f = tf.function(lambda kind, text: tf.constant(len(text)) + (1 if kind is np.ndarray else 0))
    assert int(f(np.ndarray, b"abc")) == 4
    assert int(f(Exporter, b"abcd")) == 4
    assert f.experimental_get_tracing_count() == 2


def test_a_ufunc_is_a_function() -> None:
    x = tf.constant([1.0, 4.0, 9.0])
    np.testing.assert_array_equal(tf.function(np.sqrt)(x), [1.0, 2.0, 3.0])
    add = tf.function(np.add)
    np.testing.assert_array_equal(add(x, x), 2.0 * x)
    np.testing.assert_array_equal(tf.function(np.divmod)(x, tf.constant(2.0))[1], [1.0, 0.0, 1.0])
    np.testing.assert_allclose(tf.grad(lambda x: tf.reduce_sum(tf.function(np.sqrt)(x)))(x), 0.5 / np.sqrt(x))
    with pytest.raises(TypeError):
        add(x)
