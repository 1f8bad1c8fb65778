"""What is handed out of a tensor or variable can neither be written to nor changes afterwards."""

from __future__ import annotations

import copy
import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

DTYPES = [
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "uint64",
]


def _tensor(dtype: str, shape: tuple[int, ...] = (2, 3)) -> Any:
    return tf.constant(np.arange(6).reshape(2, 3)[tuple(slice(n) for n in shape)].astype(dtype))


WAYS: dict[str, Callable[[Any], Any]] = {
    "np.asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "np.asarray of the dtype": lambda x: np.asarray(x, x.dtype.numpy),
    "np.array without a copy": lambda x: np.array(x, copy=None),
    "from_dlpack": np.from_dlpack,
    "from_dlpack without a copy": lambda x: np.from_dlpack(x, copy=False),
    "a view": lambda x: np.asarray(x)[0:1].T,
    "memoryview": lambda x: np.asarray(memoryview(np.asarray(x))),
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("make", [lambda x: x, tf.Variable], ids=["tensor", "variable"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_exports_that_share_memory_are_read_only_and_stay_so(way: str, make: Any, dtype: str) -> None:
    source = make(_tensor(dtype))
    before = source.numpy()
    array = WAYS[way](source)
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
    np.testing.assert_array_equal(source.numpy(), before)
    np.testing.assert_array_equal(
        np.sort(array.ravel()),
        np.sort(np.resize(before, array.shape).ravel())
        if array.shape != before.shape
        else np.sort(before.ravel()),
    )


COPIES: dict[str, Callable[[Any], Any]] = {
    "numpy()": lambda x: x.numpy(),
    "np.array": np.array,
    "np.array(copy=True)": lambda x: np.array(x, copy=True),
    "__array__(copy=True)": lambda x: x.__array__(copy=True),
    "another dtype": lambda x: np.asarray(x, np.complex128),
    "from_dlpack(copy=True)": lambda x: np.from_dlpack(x, copy=True),
    "deepcopy": lambda x: copy.deepcopy(x).numpy(),
}


@pytest.mark.parametrize("way", list(COPIES))
@pytest.mark.parametrize("make", [lambda x: x, tf.Variable], ids=["tensor", "variable"])
def test_copies_are_the_readers_own(way: str, make: Any) -> None:
    source = make(_tensor("float32"))
    before = source.numpy()
    array = COPIES[way](source)
    array[...] = 9
    np.testing.assert_array_equal(source.numpy(), before)


def test_bfloat16_is_exported_read_only() -> None:
    pytest.importorskip("ml_dtypes")
    array = np.asarray(tf.constant([1.0, 2.0], tf.bfloat16))
    assert array.dtype == tf.bfloat16.numpy
    assert array.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_another_dtype_without_a_copy_is_refused() -> None:
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(_tensor("float32"), np.float64, copy=False)


class _Reader:
    """What a library that reads DLPack hands to NumPy, with arguments of its own choice."""

    def __init__(self, source: Any, **options: Any) -> None:
        self.source, self.options = source, options

    def __dlpack__(self, **asked: Any) -> Any:
        return self.source.__dlpack__(**self.options)

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()


def _capsule_name(capsule: Any) -> bytes:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


@pytest.mark.parametrize("make", [lambda x: x, tf.Variable], ids=["tensor", "variable"])
def test_readers_without_read_only_exports_get_a_copy(make: Any) -> None:
    source = make(_tensor("float32"))
    before = source.numpy()
    assert _capsule_name(source.__dlpack__()) == b"dltensor"
    assert _capsule_name(source.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert _capsule_name(source.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    array = np.from_dlpack(_Reader(source))
    address = array.__array_interface__["data"][0]
    assert address != np.asarray(source).__array_interface__["data"][0]
    ctypes.memset(address, 255, array.nbytes)  # such readers do not look at NumPy's flags
    np.testing.assert_array_equal(source.numpy(), before)
    with pytest.raises(BufferError, match="immutable"):
        source.__dlpack__(copy=False)


def test_variables_keep_their_snapshots() -> None:
    v = tf.Variable([1.0, 2.0])
    arrays = [np.asarray(v), np.from_dlpack(v), np.asarray(v.value()), v.numpy()]
    v.assign_add([5.0, 5.0])
    v[0].assign(9.0)
    assert [array.tolist() for array in arrays] == [[1.0, 2.0]] * 4
    assert v.numpy().tolist() == [9.0, 7.0]


def test_arrays_given_may_change_without_changing_tensors() -> None:
    given = np.array([1.0, 2.0])
    held = [
        tf.constant(given),
        tf.convert_to_tensor(given),
        tf.Variable(given).value(),
        tf.identity(given),
        given + tf.zeros([2], tf.float64),
        tf.stack([given])[0],
        tf.reshape(given, [2]),
    ]
    v = tf.Variable(given)
    v.assign(given)
    given[:] = 9.0
    assert all(x.numpy().tolist() == [1.0, 2.0] for x in [*held, v])
    back = pickle.loads(pickle.dumps(held[0]))
    assert back.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("run", [None, False, True])
def test_functions_from_outside_can_write_neither_to_what_they_get_nor_to_what_they_gave(
    run: bool | None,
) -> None:
    kept, buffer = [], np.zeros(3, np.float32)

    def compute(x: Any) -> Any:
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 7.0
        kept.append(x)
        buffer[:] = x * 2.0
        return buffer

    name = f"writes_{run}".lower()
    op = tf.new_op(name, compute)
    function = op if run is None else tf.function(op, jit_compile=run)
    x = tf.Variable([1.0, 2.0, 3.0])
    first = function(x.value())
    function(tf.constant([5.0, 5.0, 5.0]))
    assert first.numpy().tolist() == [2.0, 4.0, 6.0]
    assert x.numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        kept[0].flags.writeable = True


@pytest.mark.parametrize("run", [None, False, True])
def test_one_array_returned_for_two_results_is_two_tensors(run: bool | None) -> None:
    op = tf.new_op(f"twice_{run}".lower(), lambda x: (x, x[::-1]), outputs=2)
    function = op if run is None else tf.function(op, jit_compile=run)
    a, b = function(tf.constant([1.0, 2.0]))
    assert (a.numpy().tolist(), b.numpy().tolist()) == ([1.0, 2.0], [2.0, 1.0])


def test_dtypes_without_a_byte_order_are_simply_different() -> None:
    foreign = np.dtypes.StringDType()  # as the extended dtypes of other array libraries
    assert tf.float32 != foreign
    with pytest.raises(TypeError, match="cannot convert"):
        tf.as_dtype(foreign)


class OnlyDlpack:
    """A tensor of another library; `version` is the newest that it knows."""

    def __init__(self, x: Any, version: Any) -> None:
        self._x, self._version = x, version

    def __dlpack__(self, **options: Any) -> Any:
        if self._version is None:
            return self._x.__dlpack__()
        return self._x.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


@pytest.mark.parametrize("version", [None, (1, 0)], ids=["before 1.0", "1.0"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_bfloat16_goes_through_dlpack_in_both_directions(make: Any, shape: Any, version: Any) -> None:
    x = make(tf.reshape(tf.cast(tf.range(int(np.prod(shape))), tf.bfloat16) + 0.5, shape))
    for read in (tf.constant, tf.numpy.from_dlpack):
        found = read(OnlyDlpack(x, version))
        assert found.dtype is tf.bfloat16 and found.shape == shape
        assert found.numpy().tobytes() == x.numpy().tobytes()
    assert x.__dlpack_device__() == (1, 0)


def test_the_code_of_bfloat16_is_that_of_the_specification() -> None:
    from graphad.core.dlpack import _type_of

    x = tf.constant([1.0, 2.0], tf.bfloat16)
    for options in ({}, {"max_version": (1, 0)}):
        assert tuple(_type_of(x.__dlpack__(**options))) == (4, 16)
    assert tuple(_type_of(tf.constant([1, 2], tf.int64).__dlpack__())) == (0, 64)
    with pytest.raises(BufferError, match="not a DLPack capsule"):
        _type_of(__import__("datetime").datetime_CAPI)
