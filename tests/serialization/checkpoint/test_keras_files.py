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
from serialization.hdf5.cursor import Cursor
from serialization.wire.limits import Limits
from tests.serialization.checkpoint.cases import POINTS, model_of_blocks
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


def test_weights_of_bfloat16_and_float16():
    layers = tf.keras.layers
    net = tf.keras.Sequential([layers.Dense(3, dtype="bfloat16"), layers.Dense(2, dtype="float16")])
    net(tf.zeros([1, 2]))
    net.load_weights(place("bfloat16.weights.h5"))
    assert [value.dtype.name for value in net.get_weights()] == ["bfloat16"] * 2 + ["float16"] * 2
    close([value.astype(np.float64) for value in net.get_weights()], EXPECTED["bfloat16"])
    found = tf.train.load_keras_weights(place("bfloat16.weights.h5"))
    assert {value.dtype.name for value in found.values()} == {"bfloat16", "float16"}


@pytest.mark.parametrize("name", ["compiled.keras", "compiled.weights.h5"])
def test_what_compiled_models_have_besides_is_left_out(name):
    layers = tf.keras.layers
    net = tf.keras.Sequential([layers.Dense(2), layers.Flatten(), layers.Dense(1)])
    net(tf.zeros([1, 3]))
    net.load_weights(place(name))
    close(in_order_of_keras(net), EXPECTED["compiled"])
    assert "optimizer/vars/0" in tf.train.load_keras_weights(place(name))


def test_models_of_keras_2_give_the_same_outputs():
    layers = tf.keras.layers

    class Lists(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.table = {"b": layers.Dense(1), "a": layers.Dense(3)}
            self.blocks = [layers.Dense(3), [layers.Dense(3)]]
            self.last = layers.BatchNormalization()

        def call(self, x):
            x = self.blocks[1][0](self.blocks[0](self.table["a"](x)))
            return self.table["b"](self.last(x))

    points = np.array(POINTS, np.float32)
    of_lists, of_compiled = EXPECTED["models_of_keras_2"]
    net = built(Lists())
    net.load_weights(place("lists_of_keras_2.h5"))
    close(net(points), of_lists, 1e-6)
    net = built(tf.keras.Sequential([layers.Dense(2), layers.Dense(1)]))
    net.load_weights(place("compiled_of_keras_2.keras"))
    close(net(points), of_compiled, 1e-6)


@pytest.mark.parametrize("name", EXPECTED["blocks"])
def test_a_model_of_blocks_gives_the_same_outputs(name):
    net = model_of_blocks(tf.keras, deep="keras_2" not in name)
    points = np.array(POINTS, np.float32)
    net(points)
    net.load_weights(place(name))
    close(net(points), EXPECTED["blocks"][name], 1e-5)


def test_a_weight_to_which_no_path_leads_is_told():
    net = model_of_blocks(tf.keras, deep=False)
    net(tf.zeros([1, 2]))
    extra = tf.keras.layers.Dense(1)
    extra(tf.zeros([1, 1]))
    net.more = [[extra]]  # a list in a list, which Keras 2 passes over
    with pytest.raises(ValueError, match=r"load_weights: 2 weights (.*\n.*)*nothing in the file"):
        net.load_weights(place("blocks_of_keras_2.weights.h5"))


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


@pytest.mark.parametrize("name", ["sequential.weights.h5", "sequential.h5"])
def test_what_fits_is_loaded_and_the_rest_is_told_if_asked_for(name):
    layers = tf.keras.layers
    net = built(tf.keras.Sequential([layers.Dense(4), layers.BatchNormalization(), layers.Dense(7)]))
    last = net.layers[2].get_weights()
    with pytest.warns(UserWarning, match=r"do not fit the model and were left out") as caught:
        net.load_weights(place(name), skip_mismatch=True)
    assert len(caught) == 1
    assert "(4, 7)" in str(caught[0].message)
    assert caught[0].filename == __file__
    close(net.layers[0].get_weights(), EXPECTED["sequential"]["before"][:2])
    close(net.layers[1].get_weights(), EXPECTED["sequential"]["before"][2:6])
    close(net.layers[2].get_weights(), last)


def test_layers_are_found_by_name_in_older_files():
    layers = tf.keras.layers
    net = built(tf.keras.Sequential([layers.Dense(4, name="new"), layers.Dense(1, name="dense_2")]))
    before = net.layers[0].get_weights()
    with pytest.raises(ValueError, match=r"layer .dense_2., weight 0.: shape \(2, 1\) in the file, \(4, 1\)"):
        net.load_weights(place("sequential.h5"), by_name=True)
    other = built(tf.keras.Sequential([layers.Dense(2, name="new"), layers.Dense(1, name="dense_2")]))
    other.load_weights(place("sequential.h5"), by_name=True)
    close(other.layers[1].get_weights(), EXPECTED["sequential"]["before"][-2:])
    close(net.layers[0].get_weights(), before)
    with pytest.raises(ValueError, match=r"by_name is for older \.h5 files"):
        net.load_weights(place("sequential.weights.h5"), by_name=True)


def test_a_checkpoint_takes_no_options_of_keras_files(tmp_path):
    net = built(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
    net.save_weights(tmp_path / "own")
    with pytest.raises(ValueError, match="are for files of Keras"):
        net.load_weights(tmp_path / "own", skip_mismatch=True)


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
            found[name] = dict(root.file.object_at(address).items())
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
    loop = root.file.object_at(dict(root._links())["loop"])
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


def test_hostile_files_take_little_memory_and_few_steps():
    """In a process of its own, with the largest of what its mutants ask for measured."""
    code = (
        "import random, sys, tracemalloc\n"
        "from tests.serialization.checkpoint import test_keras_files as t\n"
        "from tests.support.work import calls_in\n"
        "import graphad as tf\n"
        "def load(path):\n"
        "    try:\n        tf.train.load_keras_weights(path)\n"
        "    except t.LoadError:\n        pass\n"
        "data = open(t.place('sequential.weights.h5'), 'rb').read()\n"
        "rng = random.Random(3)\n"
        "path = sys.argv[1]\n"
        "tracemalloc.start()\n"
        "for _ in range(300):\n"
        "    open(path, 'wb').write(t.mutated(rng, data))\n"
        "    assert calls_in(lambda: load(path)) < 20_000\n"
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


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_packed_as_keras_does_or_refused(tmp_path, method):
    path = zipped(tmp_path / "a.keras", {"model.weights.h5": bytes(1000)}, method)
    with pytest.raises(UnsupportedModelError, match="compressed in a way"):
        tf.train.load_keras_weights(path)
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(b"\xff" * 9)
    with pytest.raises(LoadError):
        tf.train.load_keras_weights(path)


class Layout:
    """An HDF5 file put together by hand."""

    def __init__(self):
        self.data = bytearray(96)

    def add(self, data):
        """Where the data are put."""
        self.data += bytes(-len(self.data) % 8)
        self.data += data
        return len(self.data) - len(data)

    def group(self, *messages):
        """A group of messages (kind, body), with as many as there are."""
        body = b"".join(bytes([kind]) + le(len(text), 2) + b"\0" + text for kind, text in messages)
        return self.add(b"OHDR\2\2" + le(len(body), 4) + body)

    def dataset(self):
        """An empty one of float32."""
        floats = b"\x11\x20\x1f\0" + le(4, 4) + le(0, 2) + le(32, 2) + b"\x17\x08\0\x17" + le(127, 4)
        return self.group((1, b"\2\1\0\1" + le(0, 8)), (3, floats), (8, b"\3\1" + b"\xff" * 8 + le(0, 8)))

    def file(self, root):
        head = b"\x89HDF\r\n\x1a\n" + bytes(5) + b"\x08\x08" + bytes(9) + le(0, 8) + bytes(32) + le(root, 8)
        self.data[: len(head)] = head
        return bytes(self.data)


def le(number, size):
    return number.to_bytes(size, "little")


def link(name, address):
    return 6, b"\1\1" + le(len(name), 2) + name + le(address, 8)


def strings(name, *values):
    """An attribute that holds strings of 8 bytes."""
    kind, space = b"\x13\0\0\0" + le(8, 4), b"\2\1\0\1" + le(len(values), 8)
    head = b"\3\0" + le(len(name) + 1, 2) + le(len(kind), 2) + le(len(space), 2) + b"\0"
    return 12, head + name + b"\0" + kind + space + b"".join(value.ljust(8, b"\0") for value in values)


def weights_in(tmp_path, data, limits=None):
    path = tmp_path / "x.h5"
    path.write_bytes(data)
    return tf.train.load_keras_weights(path, limits)


def test_a_file_put_together_by_hand_is_read(tmp_path):
    layout = Layout()
    layer = layout.group(link(b"w", layout.dataset()), strings(b"weight_names", b"w"))
    data = layout.file(layout.group(link(b"a", layer), strings(b"layer_names", b"a")))
    assert list(weights_in(tmp_path, data)) == ["w"]
    assert list(weights_in(tmp_path, layout.file(layout.group(link(b"a", layer))))) == ["a/w"]


def test_one_long_name_that_many_objects_share_is_refused(tmp_path):
    layout = Layout()
    empty = layout.group()
    names = layout.add(b"n" * (1 << 18))
    heap = layout.add(b"HEAP" + bytes(4) + le(1 << 18, 8) + bytes(8) + le(names, 8))
    symbols = b"".join(le(0, 8) + le(empty, 8) + bytes(24) for _ in range(1000))
    table = layout.add(b"SNOD" + bytes(2) + le(1000, 2) + symbols)
    tree = layout.add(b"TREE" + bytes(2) + le(1, 2) + bytes(24) + le(table, 8))
    data = layout.file(layout.group((17, le(tree, 8) + le(heap, 8))))
    with pytest.raises(LimitExceededError, match="'manifest_bytes'"):
        weights_in(tmp_path, data)


def test_all_that_is_below_long_names_is_refused_before_it_takes_memory(tmp_path):
    layout = Layout()
    inner = layout.group(*[link(b"%d" % k, layout.dataset()) for k in range(100)])
    for _ in range(30):
        inner = layout.group(link(b"n" * 30_000, inner))
    data = layout.file(inner)
    with pytest.raises(LimitExceededError, match="'manifest_bytes'"):
        weights_in(tmp_path, data)


def test_names_that_many_layers_repeat_are_refused(tmp_path):
    layout = Layout()
    layer = layout.group(link(b"w", layout.dataset()), strings(b"weight_names", *[b"w"] * 100))
    data = layout.file(layout.group(link(b"a", layer), strings(b"layer_names", *[b"a"] * 100)))
    assert list(weights_in(tmp_path, data)) == ["w", "a/w"]
    with pytest.raises(LimitExceededError, match="'items'"):
        weights_in(tmp_path, data, Limits(items=2000))


def test_names_spread_over_many_attributes_are_read_in_linear_time(tmp_path, monkeypatch):
    calls = []
    number = Cursor.number
    monkeypatch.setattr(Cursor, "number", lambda self, size: calls.append(0) or number(self, size))
    counts = []
    for many in (200, 400):
        layout = Layout()
        names = [strings(b"layer_names%d" % k, b"a") for k in range(many)]
        calls.clear()
        weights_in(tmp_path, layout.file(layout.group(link(b"a", layout.group()), *names)))
        counts.append(len(calls))
    assert counts[1] < 2.5 * counts[0]


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
    with pytest.raises(LoadError, match="not a plain file"):
        tf.train.load_keras_weights(tmp_path / "pipe.h5")
    shutil.copy(place("sequential.keras"), tmp_path / "copy.keras")
    os.symlink(tmp_path / "copy.keras", tmp_path / "link.keras")
    assert tf.train.load_keras_weights(tmp_path / "link.keras")
