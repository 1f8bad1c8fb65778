"""Weights in Keras' own files: read by name, loaded into models of the same structure, refused where they do not fit."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import graphad as tf
from serialization.checkpoint.keras import _walk
from serialization.errors import CorruptModelError, LimitExceededError, LoadError, UnsupportedModelError
from serialization.hdf5 import File
from serialization.wire.limits import Limits
from tests.serialization.checkpoint.foreign import (
    DATA,
    EXPECTED,
    Mixed,
    Model,
    close,
    in_order_of_keras,
    place,
    sequential,
)

FILES = ["sequential.weights.h5", "sequential.keras", "sequential.h5", "weights_alone.h5"]


def built(net):
    net(tf.zeros([1, 2]))
    return net


@pytest.mark.parametrize("name", FILES)
def test_a_sequential_takes_weights_of_keras(name):
    net = built(sequential())
    assert net.load_weights(place(name)) is None
    close(in_order_of_keras(net), EXPECTED["sequential"]["before"])


@pytest.mark.parametrize("name", FILES)
def test_weights_by_name(name):
    found = tf.train.load_keras_weights(place(name))
    assert len(found) == len(EXPECTED["sequential"]["before"])
    sizes = sorted(array.size for array in found.values())
    assert sizes == sorted(np.asarray(x).size for x in EXPECTED["sequential"]["before"])
    key = "layers/dense/vars/0" if name in FILES[:2] else "sequential_1/first/kernel"
    close([found[key]], EXPECTED["sequential"]["before"][:1])
    found[key][:] = 0.0  # the caller's own


@pytest.mark.parametrize("name", ["compiled.keras", "compiled.weights.h5"])
def test_what_compiled_models_have_besides_is_left_out(name):
    layers = tf.keras.layers
    net = tf.keras.Sequential([layers.Dense(2), layers.Flatten(), layers.Dense(1)])
    net(tf.zeros([1, 3]))
    net.load_weights(place(name))
    close(in_order_of_keras(net), EXPECTED["compiled"])
    assert "optimizer/vars/0" in tf.train.load_keras_weights(place(name))


@pytest.mark.parametrize("kind", [Model, Mixed])
def test_a_model_with_attributes_takes_weights_of_keras(kind):
    net = built(kind())
    name = {Model: "with_list", Mixed: "mixed"}[kind]
    net.load_weights(place(f"{name}.weights.h5"))
    close(net.weights_in_order(), EXPECTED[name])


def test_weights_that_do_not_fit_change_nothing():
    net = built(tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(7)]))
    before = net.get_weights()
    with pytest.raises(ValueError) as error:
        net.load_weights(place("sequential.weights.h5"))
    text = str(error.value)
    assert "'layers/dense_1/vars/0': shape (2, 1) in the file, (4, 7) for dense" in text
    assert (
        "'layers/batch_normalization/vars/0': float32 of shape (4,) in the file, nothing in the model" in text
    )
    with pytest.raises(
        ValueError, match=r"'layer 1, weight 2': float32 of shape .4,. in the file, nothing in the model"
    ):
        net.load_weights(place("sequential.h5"))
    close(net.get_weights(), before)


def test_a_model_must_be_built():
    with pytest.raises(ValueError, match="A model must be built"):
        sequential().load_weights(place("sequential.weights.h5"))


def test_ones_own_weights(tmp_path):
    net = built(sequential())
    net.load_weights(place("sequential.keras"))
    net.save_weights(tmp_path / "weights")
    other = sequential()  # built later
    status = other.load_weights(tmp_path / "weights")
    built(other)
    status.assert_consumed()
    close(in_order_of_keras(other), EXPECTED["sequential"]["before"])
    net.save_weights(str(tmp_path / "weights"))
    with pytest.raises(ValueError, match="overwrite is False"):
        net.save_weights(tmp_path / "weights", overwrite=False)
    for name in ("a.h5", "a.weights.h5", "a.keras"):
        with pytest.raises(ValueError, match="read but not written"):
            net.save_weights(tmp_path / name)
    with pytest.raises(OSError, match="there is no checkpoint"):
        net.load_weights(tmp_path / "none")


def test_a_checkpoint_of_tensorflow_as_weights():
    layer = tf.keras.layers.Dense(1)
    net = tf.keras.Sequential([layer])
    with pytest.raises(AssertionError, match="save_counter"):
        net.load_weights(place("sequential-1")).assert_consumed()


@pytest.mark.parametrize("form", ["earliest", "latest"])
def test_data_sets_of_every_dtype(form):
    found = tf.train.load_keras_weights(place(f"{form}.h5"))
    for name, array in found.items():
        if "/" in name:
            assert array.dtype.name == name.rpartition("/")[2]
            assert array.real.astype(int).tolist() == [[1, 0, 1], [0, 1, 1]]
    assert len(found) == 16 and found["scalar"] == 2.5 and found["empty"].shape == (0, 3)


def test_what_keras_does_not_write_is_refused_by_name():
    with open(place("odd.h5"), "rb") as file:
        root = File(file.read()).root
    found = {}
    refused = {}
    for name, address in root._links():
        try:
            found[name] = dict(root._file.object_at(address).items())
        except LoadError as error:
            refused[name] = str(error)
    assert "soft" not in found and list(found["linked"]) == ["x"]
    assert [found["many"][f"{i:03}"].read() for i in range(200)] == list(range(200))
    for name, reason in (("chunked", "in chunks"), ("packed", "compressed"), ("text", "holds strings")):
        with pytest.raises(UnsupportedModelError, match=reason):
            found[name]["x"].read()
    assert "big-endian" in refused["big_endian"] and "records" in refused["record"]
    with pytest.raises(LoadError, match=r"odd\.h5"):
        tf.train.load_keras_weights(place("odd.h5"))


def test_a_group_inside_of_itself_ends(tmp_path):
    with open(place("odd.h5"), "rb") as file:
        root = File(file.read()).root
    loop = root._file.object_at(dict(root._links())["loop"])
    with pytest.raises(LimitExceededError, match="nested deeper"):
        list(_walk(loop))


def mutated(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(4)
        # the structure is in the first half and between the arrays: small numbers are addresses and sizes
        at = rng.randrange(len(changed))
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            changed[at : at + 8] = rng.choice(
                [b"\xff" * 8, bytes(8), rng.randrange(len(data)).to_bytes(8, "little")]
            )
        elif kind == 2:
            del changed[at:]
            changed += b"\0"
        else:
            other = rng.randrange(len(changed))
            changed[at : at + 40] = changed[other : other + 40]
    return bytes(changed)


@pytest.mark.parametrize("name", [*FILES, "latest.h5", "odd.h5"])
def test_damaged_and_hostile_files_are_refused_by_name(tmp_path, name):
    with open(place(name), "rb") as file:
        data = file.read()
    rng = random.Random(name)
    net = built(sequential())
    refused = 0
    for _ in range(150):
        path = tmp_path / name
        path.write_bytes(mutated(rng, data))
        try:
            tf.train.load_keras_weights(path)
            net.load_weights(path)
        except LoadError:
            refused += 1
        except ValueError as error:
            assert "load_weights" in str(error), error
    assert refused > 5


def test_hostile_files_take_little_memory_and_time():
    """In a process of its own, with the largest of what its mutants ask for measured."""
    code = (
        "import random, sys, time, tracemalloc\n"
        "from tests.serialization.checkpoint import test_keras_files as t\n"
        "import graphad as tf\n"
        "data = open(t.place('sequential.weights.h5'), 'rb').read()\n"
        "rng = random.Random(3)\n"
        "path = sys.argv[1]\n"
        "tracemalloc.start()\n"
        "for _ in range(300):\n"
        "    open(path, 'wb').write(t.mutated(rng, data))\n"
        "    start = time.monotonic()\n"
        "    try:\n        tf.train.load_keras_weights(path)\n"
        "    except t.LoadError:\n        pass\n"
        "    assert time.monotonic() - start < 5\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(DATA))))
    import tempfile

    with tempfile.TemporaryDirectory() as place_for_it:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, os.path.join(place_for_it, "x.h5")],
            cwd=root, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 32 << 20


def zipped(path, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def test_a_zip_that_is_packed_or_hostile(tmp_path):
    with open(place("sequential.weights.h5"), "rb") as file:
        data = file.read()
    net = built(sequential())
    packed = zipped(
        tmp_path / "a.keras", {"config.json": "{", "model.weights.h5": data}, zipfile.ZIP_DEFLATED
    )
    net.load_weights(packed)
    close(in_order_of_keras(net), EXPECTED["sequential"]["before"])
    bomb = zipped(tmp_path / "b.keras", {"model.weights.h5": bytes(80 << 20)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(LimitExceededError, match="packed into"):
        net.load_weights(bomb)
    with pytest.raises(UnsupportedModelError, match=r"there is no model\.weights\.h5"):
        net.load_weights(zipped(tmp_path / "c.keras", {"../model.weights.h5": data}))
    with pytest.raises(LimitExceededError, match="packed into"):
        tf.train.load_keras_weights(packed, Limits(payload_bytes=100))
    (tmp_path / "d.keras").write_bytes(b"PK\x03\x04")
    with pytest.raises(CorruptModelError, match="the zip is damaged"):
        net.load_weights(tmp_path / "d.keras")


def test_no_file_and_no_plain_file(tmp_path):
    with pytest.raises(OSError, match="there is no file"):
        tf.train.load_keras_weights(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("some text that is long enough")
    with pytest.raises(CorruptModelError, match="neither HDF5 nor"):
        tf.train.load_keras_weights(tmp_path / "text.h5")
    (tmp_path / "empty.h5").write_bytes(b"")
    with pytest.raises(CorruptModelError, match="neither HDF5 nor"):
        sequential().load_weights(tmp_path / "empty.h5")
    os.mkfifo(tmp_path / "pipe.h5")
    with pytest.raises(LoadError, match="no plain file"):
        tf.train.load_keras_weights(tmp_path / "pipe.h5")
    shutil.copy(place("sequential.keras"), tmp_path / "copy.keras")
    os.symlink(tmp_path / "copy.keras", tmp_path / "link.keras")
    assert tf.train.load_keras_weights(tmp_path / "link.keras")
