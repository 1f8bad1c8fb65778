"""Variables of large models: loading reads none of their bytes, and the first look at one checks it."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest

import graphad as tf
from serialization.convert.unread import UnreadVariable
from serialization.errors import CorruptModelError
from serialization.saved_model import LoadOptions, load, save
from serialization.wire.payloads import CHUNK_BYTES, Payload

SIZE = 600_000


class Pair(tf.Module):
    def __init__(self):
        self.one = tf.Variable(np.arange(SIZE, dtype=np.float32), name="one")
        self.two = tf.Variable(np.ones(SIZE, np.float32), name="two", trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def scaled(self, x):
        return x * tf.reduce_sum(self.one)


@pytest.fixture
def path(tmp_path):
    save(Pair(), tmp_path / "m")
    return tmp_path / "m"


def damage(path, position):
    (name,) = os.listdir(path / "variables")
    with open(path / "variables" / name, "r+b") as file:
        file.seek(position)
        byte = file.read(1)
        file.seek(position)
        file.write(bytes([byte[0] ^ 1]))


def test_what_a_variable_is_can_be_asked_without_reading_it(path):
    loaded = load(path)
    assert type(loaded.one) is UnreadVariable and isinstance(loaded.one, tf.Variable)
    assert loaded.one.shape == (SIZE,) and loaded.one.dtype == tf.float32 and loaded.one.name == "one:0"
    assert loaded.one.trainable and not loaded.two.trainable
    assert type(loaded.one) is UnreadVariable


@pytest.mark.parametrize(
    "look",
    [
        lambda v: v.numpy(),
        lambda v: np.asarray(v),
        lambda v: v.value().numpy(),
        lambda v: (v + 0.0).numpy(),
        lambda v: copy.deepcopy(v).numpy(),
        lambda v: pickle.loads(pickle.dumps(v)).numpy(),
    ],
)
def test_first_look_gives_the_value_and_a_plain_variable(path, look):
    loaded = load(path)
    assert np.array_equal(look(loaded.one), np.arange(SIZE, dtype=np.float32))
    assert type(loaded.one) is tf.Variable and type(loaded.two) is UnreadVariable


def test_functions_gradients_and_training_read_it_by_themselves(path):
    loaded, original = load(path), Pair()
    two = tf.constant(2.0)
    assert loaded.scaled(two).numpy() == original.scaled(two).numpy()
    loaded = load(path)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(loaded.one * loaded.one)
    assert np.array_equal(tape.gradient(y, loaded.one).numpy(), 2 * original.one.numpy())
    loaded = load(path)
    loaded.one.assign_add(tf.ones([SIZE]))
    assert loaded.one.numpy()[:2].tolist() == [1, 2] and load(path).one.numpy()[:2].tolist() == [0, 1]


def test_assigning_before_the_first_look_keeps_what_was_assigned(path):
    loaded = load(path)
    loaded.one.assign(np.zeros(SIZE, np.float32))
    assert type(loaded.one) is tf.Variable and not loaded.one.numpy().any()


def test_damage_is_named_at_every_look_until_another_value_is_assigned(path):
    damage(path, SIZE * 4 + 1000)
    loaded = load(path)
    for _ in range(2):
        with pytest.raises(CorruptModelError, match=r"safetensors: .*: bytes 0 to .* are damaged"):
            loaded.one.numpy()
        with pytest.raises(CorruptModelError):
            loaded.scaled(tf.constant(1.0))
    loaded.one.assign(np.ones(SIZE, np.float32))
    assert loaded.one.numpy().sum() == SIZE
    with pytest.raises(CorruptModelError):
        load(path, options=LoadOptions(verify=True))
    unchecked = load(path, options=LoadOptions(verify=False))
    assert type(unchecked.one) is tf.Variable


def test_unread_model_is_saved_again(path, tmp_path):
    save(load(path), tmp_path / "again")
    assert np.array_equal(load(tmp_path / "again").one.numpy(), np.arange(SIZE, dtype=np.float32))
    # over itself: what is mapped is the old file
    loaded = load(path)
    loaded.two.assign(np.zeros(SIZE, np.float32))
    save(loaded, path)
    assert not load(path).two.numpy().any() and load(path).one.numpy()[5] == 5


def test_threads_that_look_and_assign_at_once_lose_no_assignment(path):
    wanted = np.full(SIZE, 7, np.float32)
    for _ in range(10):
        loaded = load(path)
        threads = [threading.Thread(target=lambda v=loaded.one: v.data) for _ in range(4)]
        threads.insert(2, threading.Thread(target=lambda v=loaded.one: v.assign(wanted)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.array_equal(loaded.one.numpy(), wanted)


def test_loading_reads_nothing_of_the_values(tmp_path, monkeypatch):
    module = tf.Module()
    for k in range(4):
        setattr(module, f"w{k}", tf.Variable(np.full(8 << 20, k, np.float32)))
    save(module, tmp_path / "m", options=tf.saved_model.SaveOptions(durable=False))
    checked = []
    is_damaged = Payload._is_damaged

    def noted(self, chunk):
        checked.append(chunk)
        return is_damaged(self, chunk)

    monkeypatch.setattr(Payload, "_is_damaged", noted)
    loaded = load(tmp_path / "m")
    assert not checked  # nothing of the 128 MB is read
    assert loaded.w3.numpy()[-1] == 3
    assert 0 < len(checked) < 4 * (32 << 20) // CHUNK_BYTES  # and then what is asked for
