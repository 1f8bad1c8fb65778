"""Where arrays are: on the device that was asked for, the second one too, and copied where a program leaves it, nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.tensor import EagerTensor
from graphad.devices.array import DeviceArray
from graphad.devices.tensor import DeviceTensor
from graphad.ops.numpy.creation import from_dlpack
from tests.devices import fake_cupy, fake_driver

PLACES = ["cpu", "cuda:0", "cuda:1"]
DATA = np.random.default_rng(2).normal(size=(8, 3)).astype(np.float32)


class Model(tf.Module):
    """A layer, and what an optimizer keeps of it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(np.linspace(-1, 1, 6).reshape(3, 2).astype(np.float32))
        self.b = tf.Variable(tf.zeros([2]))
        self.rule: Any = tf.keras.optimizers.Adam(0.1)

    @tf.function
    def __call__(self, x: Any) -> Any:
        return tf.nn.softmax(tf.tanh(x @ self.w + self.b))

    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self(x)[:, 0] ** 2) + tf.reduce_mean(tf.nn.dropout(x, 0.5, seed=3))
        slopes = tape.gradient(loss, [self.w, self.b])
        self.rule.apply_gradients(zip(slopes, [self.w, self.b]))
        return loss


def trained(place: str, compiled: bool) -> tuple[Model, list[float]]:
    tf.random.set_seed(4)
    with tf.device(place):
        model, x = Model(), tf.constant(DATA)
        step = tf.function(model.step, jit_compile=True) if compiled else model.step
        losses = [step(x) for _ in range(4)]
        assert {loss.location for loss in losses} == {name(place)}
        assert {v.location for v in (model.w, model.b, *model.rule.variables) if v.shape.rank} == {
            name(place)
        }
    return model, [float(loss) for loss in losses]


def name(place: str) -> str:
    return "cpu:0" if place == "cpu" else place


@pytest.mark.parametrize("compiled", [False, True])
def test_a_program_runs_on_the_second_device(compiled: bool) -> None:
    fake_driver.launches.clear()
    _, losses = trained("cuda:1", compiled)
    np.testing.assert_allclose(losses, trained("cpu", compiled)[1], rtol=1e-5)
    assert bool(fake_driver.launches) or not compiled
    with tf.device("cuda:1"):
        x = tf.constant(DATA)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.matmul(x, x, transpose_a=True)
        assert tape.jacobian(y, x).location == "cuda:1"
        assert (
            tf.linalg.inv(y).location
            == tf.random.normal([2]).location
            == tf.signal.fft(tf.complex(x, x)).location
        )
        assert tf.gather(x, [1, 1]).location == "cuda:1"


@pytest.mark.parametrize("loaded_on", PLACES)
@pytest.mark.parametrize("saved_on", PLACES)
def test_what_one_device_saves_another_loads(saved_on: str, loaded_on: str, tmp_path: Path) -> None:
    model, _ = trained(saved_on, False)
    with tf.device(saved_on):
        want = model(tf.constant(DATA)).numpy()
    tf.saved_model.save(model, tmp_path / "model")
    tf.train.Checkpoint(model=model).write(tmp_path / "checkpoint")
    with tf.device(loaded_on):
        loaded = tf.saved_model.load(tmp_path / "model")
        other = Model()
        tf.train.Checkpoint(model=other).read(tmp_path / "checkpoint")
        for each in (loaded, other):
            y = each(tf.constant(DATA))
            assert {y.location, each.w.location, each.b.location} == {name(loaded_on)}
            np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)
        other.step(tf.constant(DATA))  # with the optimizer's slots, which are loaded later
        moments = [v for v in other.rule.variables if v.shape.rank]
        assert moments and {v.location for v in moments} == {name(loaded_on)}


def _refused(call: Callable[[], Any], first: str, second: str) -> None:
    with pytest.raises(ValueError, match=rf"'{first}'.*'{second}'|'{second}'.*'{first}'"):
        call()


def test_operands_on_two_devices_are_refused_with_both_names() -> None:
    with tf.device("cuda:0"):
        a, v = tf.constant(DATA), tf.Variable(DATA)
    with tf.device("cuda:1"):
        b = tf.constant(DATA)
    here = tf.constant(DATA)
    _refused(lambda: a + b, "cuda:0", "cuda:1")
    _refused(lambda: here * b, "cpu:0", "cuda:1")
    _refused(lambda: tf.concat([a, b], 0), "cuda:0", "cuda:1")
    _refused(lambda: tf.linalg.matmul(a, b, transpose_b=True), "cuda:0", "cuda:1")
    _refused(lambda: v.assign(b), "cuda:0", "cuda:1")
    _refused(lambda: v.assign_add(here), "cuda:0", "cpu:0")
    _refused(lambda: v.scatter_nd_add(tf.constant([[1]]), b[:1]), "cuda:0", "cuda:1")
    _refused(lambda: tf.where(a > 0, a, b), "cuda:0", "cuda:1")


@pytest.mark.parametrize("jit_compile", [None, True])
def test_functions_refuse_them_too(jit_compile: bool | None) -> None:
    with tf.device("cuda:0"):
        a, v = tf.constant(DATA), tf.Variable(DATA)
    with tf.device("cuda:1"):
        b = tf.constant(DATA)
    f = tf.function(lambda x, y: tf.exp(x) + y, jit_compile=jit_compile)
    of_v = tf.function(lambda x: x * v, jit_compile=jit_compile)
    for _ in range(2):
        _refused(lambda: f(a, b), "cuda:0", "cuda:1")
        _refused(lambda: f(tf.constant(DATA), b), "cpu:0", "cuda:1")
        _refused(lambda: of_v(b), "cuda:0", "cuda:1")
    assert f(b, b).location == "cuda:1" and of_v(a).location == "cuda:0"


def test_programs_copy_only_where_they_enter_and_leave_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = {"up": 0, "down": 0}

    def counted(function: Any, way: str) -> Any:
        def run(x: Any) -> Any:
            copies[way] += bool(x.ndim or way == "down")  # numbers of the program are given along
            return function(x)

        return run

    from graphad.devices.library import library

    monkeypatch.setattr(library(), "asarray", counted(fake_cupy.asarray, "up"))
    monkeypatch.setattr(library(), "asnumpy", counted(fake_cupy.asnumpy, "down"))
    with tf.device("cuda:1"):
        x = tf.constant(DATA)
        assert copies == {"up": 1, "down": 0}
        y = tf.reduce_sum(tf.exp(x) * 2.0 + tf.tanh(x) * x)
        z = tf.reshape(x[1:], [-1])
    assert copies == {"up": 1, "down": 0}
    assert isinstance(float(y), float) and copies["down"] == 1
    got = z.numpy()
    assert copies["down"] == 2 and got.flags.writeable
    got[...] = 0
    np.testing.assert_array_equal(z.numpy(), DATA[1:].reshape(-1))
    source = DATA.copy()
    with tf.device("cuda"):
        x = tf.constant(source)
    source[...] = 0
    np.testing.assert_array_equal(x.numpy(), DATA)


# -- DLPack --


class Reader:
    """What another library does with what it is given: NumPy reads the capsule in its place."""

    def __init__(self, x: Any, **options: Any) -> None:
        self.x, self.options = x, options

    def __dlpack__(self, **_: Any) -> Any:
        return self.x.__dlpack__(**self.options)

    def __dlpack_device__(self) -> tuple[int, int]:
        assert self.x.__dlpack_device__() == (2, 1)
        return 1, 0


def made() -> tuple[Any, Any]:
    with tf.device("cuda:1"):
        return tf.constant(DATA), tf.Variable(DATA)


def test_an_export_shares_memory_and_may_not_be_written_to() -> None:
    x, v = made()
    for each, array in ((x, x.array), (v, v.place.data)):
        shared = np.from_dlpack(Reader(each, max_version=(1, 0)))
        assert np.shares_memory(shared, array.held._memory) and not shared.flags.writeable
        np.testing.assert_array_equal(shared, DATA)
        without = np.from_dlpack(Reader(each, max_version=(1, 0), copy=False))
        assert np.shares_memory(without, array.held._memory)
        copied = np.from_dlpack(Reader(each, max_version=(1, 0), copy=True))
        assert not np.shares_memory(copied, array.held._memory)
    held = v.place.data.held._memory
    shared = np.from_dlpack(Reader(v, max_version=(1, 0)))
    v.scatter_nd_update([[0]], [[9.0, 9.0, 9.0]])
    np.testing.assert_array_equal(shared, DATA)  # an export keeps what it was given
    assert np.shares_memory(shared, held) and v.numpy()[0, 0] == 9.0


def test_readers_of_the_old_protocol_get_a_copy() -> None:
    x, _ = made()
    copied = np.from_dlpack(Reader(x))
    assert not np.shares_memory(copied, x.array.held._memory)
    with pytest.raises(BufferError, match="allow a copy"):
        x.__dlpack__(copy=False)


def test_arrays_of_another_library_come_to_the_device_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cupy.Device(1):
        theirs = fake_cupy.asarray(DATA)
    monkeypatch.setattr(fake_cupy.ndarray, "get", None)  # nothing may come to the CPU
    x: Any = from_dlpack(theirs)
    monkeypatch.undo()
    assert isinstance(x, DeviceTensor) and x.location == "cuda:1" and isinstance(x.array, DeviceArray)
    theirs._memory[...] = 0
    np.testing.assert_array_equal(x.numpy(), DATA)
    assert isinstance(x.cpu(), EagerTensor)
