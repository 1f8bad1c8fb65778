"""Writing to places that positions name: NumPy's values, the same bits each time, and nothing on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.devices import notes
from graphad.devices.array import DeviceArray, device_array

UFUNCS = [np.add, np.multiply, np.maximum, np.minimum]
RNG = np.random.default_rng(7)
KEYS = {
    "one axis, many times": ((5, 3), RNG.integers(0, 5, 400), (400, 3)),
    "negative ones": ((4,), np.array([-1, 0, 3, -4, -4]), (5,)),
    "two axes": ((3, 4, 2), (RNG.integers(0, 3, (6, 5)), RNG.integers(0, 4, 5)), (6, 5, 2)),
    "one value": ((6, 2), np.array([1, 1, 5, 1]), ()),
    "nothing": ((3, 2), np.zeros(0, np.int64), (0, 2)),
    "rows without elements": ((3, 0), np.array([1, 1, 2]), (3, 0)),
    "one place alone": ((2,), np.zeros(33, np.int32), (33,)),
}


def there(x: Any) -> Any:
    return tuple(map(there, x)) if type(x) is tuple else device_array(x, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
@pytest.mark.parametrize("name", KEYS)
def test_values_are_combined_at_places(name: str, ufunc: np.ufunc, dtype: Any) -> None:
    shape, key, values = KEYS[name]
    x = RNG.integers(1, 3, shape).astype(dtype)
    y = (RNG.integers(1, 3, values) if dtype == np.int32 else RNG.uniform(0.5, 1.5, values)).astype(dtype)
    want = x.copy()
    with np.errstate(over="ignore"):
        ufunc.at(want, key, y)
    before = dict(notes.runs_on_host)
    found = [there(x), there(x)]
    for target in found:
        ufunc.at(target, there(key), there(y))
    assert notes.runs_on_host == before
    np.testing.assert_allclose(found[0].host(), want, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert found[0].host().tobytes() == found[1].host().tobytes()


@pytest.mark.parametrize("name", KEYS)
def test_the_last_value_at_a_place_counts(name: str) -> None:
    shape, key, values = KEYS[name]
    x, y = RNG.normal(size=shape), RNG.normal(size=values)
    want = x.copy()
    want[key] = y
    before = dict(notes.runs_on_host)
    target = there(x)
    target[there(key)] = there(y)
    assert notes.runs_on_host == before
    np.testing.assert_array_equal(target.host(), want)


def test_a_mask_takes_one_value() -> None:
    x = RNG.normal(size=(3, 4))
    target, before = there(x), dict(notes.runs_on_host)
    target[there(x > 0)] = 1.5
    assert notes.runs_on_host == before
    np.testing.assert_array_equal(target.host(), np.where(x > 0, 1.5, x))


def test_a_view_is_written_to() -> None:
    x = there(np.zeros((3, 4)))
    np.add.at(np.moveaxis(x, 1, 0), there(np.array([2, 2])), 1.0)
    np.testing.assert_array_equal(x.host(), np.array([[0, 0, 2, 0]] * 3))


def test_a_place_that_is_not_there_is_an_error_as_on_the_cpu() -> None:
    for key in (np.array([0, 5]), np.array([-6])):
        with pytest.raises(IndexError):
            np.add.at(there(np.zeros(5)), there(key), 1.0)
        with pytest.raises(IndexError):
            there(np.zeros(5))[there(key)] = 1.0
        with pytest.raises(IndexError):
            there(np.zeros(5))[there(key)]


def test_gradients_of_gathered_rows_stay_on_the_device() -> None:
    with tf.device("cuda"):
        table, ids = tf.Variable(RNG.normal(size=(7, 3))), tf.constant([1, 1, 6, 1])
    before = dict(notes.runs_on_host)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, ids) ** 2)
    slope = tf.convert_to_tensor(tape.gradient(y, table))
    assert notes.runs_on_host == before
    want = np.zeros((7, 3))
    np.add.at(want, [1, 1, 6, 1], 2 * table.numpy()[[1, 1, 6, 1]])
    np.testing.assert_allclose(slope.numpy(), want, rtol=1e-12)
    assert isinstance(slope.array, DeviceArray)


def test_a_tensor_of_a_device_is_not_symbolic() -> None:
    with tf.device("cuda"):
        x = tf.ones([2, 2])
    assert x.location == "cuda:0" and not tf.is_symbolic_tensor(x)
    x.set_shape([2, None])
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        x.set_shape([3, 2])


def test_a_matrix_without_an_inverse_is_an_error_as_on_the_cpu() -> None:
    with tf.device("cuda"):
        flat = tf.constant(np.ones((2, 2)))
    for op in (tf.linalg.inv, tf.linalg.cholesky, lambda a: tf.linalg.solve(a, a)):
        with pytest.raises(ValueError, match=r"not |positive|decomposition|invertible"):
            op(flat * (1.0 if op is not tf.linalg.cholesky else -1.0))


def test_operators_in_place_write_into_the_array_and_numbers_stay_as_they_are() -> None:
    x = device_array(np.arange(4.0), 0)
    same, part = x, x[1:3]
    x += 1.0
    part *= 2.0
    assert same is x and x.tolist() == [1.0, 4.0, 6.0, 4.0]
    one = device_array(np.float64(1.0), 0)
    kept = one
    one -= 3.0
    assert float(kept) == 1.0 and float(one) == -2.0


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "left_shift", "right_shift"])
def test_integers_are_divided_and_shifted_as_by_numpy(name: str, dtype: Any) -> None:
    about, before = np.iinfo(dtype), dict(notes.runs_on_host)
    some = [about.min, about.max, 0, 1, 2, 3, 7, 8, 9, 31, 63, 64, 100]
    values = np.array(some + ([-1, -2, -7] if about.min < 0 else []), dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(a, b)
    found = getattr(np, name)(device_array(a, 0), device_array(b, 0))
    np.testing.assert_array_equal(found.host(), want)
    assert found.dtype == want.dtype and notes.runs_on_host == before
