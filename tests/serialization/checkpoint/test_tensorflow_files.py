"""Checkpoints that TensorFlow has written: read by name, restored by structure, refused where they are damaged."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import tracemalloc

import numpy as np
import pytest

import graphad as tf
from serialization.checkpoint.foreign import saved_of_bundle
from serialization.errors import CorruptModelError, LimitExceededError, LoadError, UnsupportedModelError
from serialization.tensorflow import Bundle, nodes_of
from serialization.tensorflow.crc import crc32c, masked
from serialization.tensorflow.proto import fields
from serialization.tensorflow.slices import WHOLE, key_of
from serialization.tensorflow.snappy import uncompressed
from serialization.tensorflow.table import entries_of
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from tests.serialization.checkpoint.cases import KERAS_2, OPTIMIZERS, STEPS, train_pair
from tests.serialization.checkpoint.foreign import (
    EXPECTED,
    Small,
    close,
    in_order_of_keras,
    place,
    sequential,
    train,
)


def test_values_of_every_dtype(tmp_path):
    reader = tf.train.load_checkpoint(place("dtypes"))
    for name, expected in EXPECTED["dtypes"].items():
        value = reader.get_tensor(name)
        assert reader.get_variable_to_dtype_map()[f"{name}/.ATTRIBUTES/VARIABLE_VALUE"].name == name
        assert value.dtype.name == name and value.shape == (2, 3)
        if np.iscomplexobj(value):
            assert [value.real.tolist(), value.imag.tolist()] == expected
        else:
            assert value.tolist() == expected
    assert reader.get_tensor("empty").shape == (0, 3)
    assert reader.get_tensor("large").tolist() == list(range(1000))
    assert not reader.has_tensor("text")  # there are no strings
    with pytest.raises(KeyError, match=r"Key text in checkpoint .* holds texts, or numbers of a dtype"):
        reader.get_tensor("text")


def test_keys_are_those_of_tensorflow():
    strings = [["_CHECKPOINTABLE_OBJECT_GRAPH", []]]
    listed = [list(pair) for pair in tf.train.list_variables(place("module"))]
    assert strings + listed == EXPECTED["module"]


def test_the_state_file_of_tensorflow():
    path = tf.train.latest_checkpoint(place("module"))
    assert path == place("module", "ckpt-3")
    state = tf.train.get_checkpoint_state(place("module"))
    assert [os.path.basename(p) for p in state.all_model_checkpoint_paths] == ["ckpt-2", "ckpt-3"]
    assert len(state.all_model_checkpoint_timestamps) == 2


MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([0.0, 0.0])
        self.same = self.w
        self.parts = [tf.Variable(0.0), {"a/b.c": tf.Variable(0.0)}]
        self.pair = (tf.Variable(0), tf.Variable([0.0]))
        self.own = self


def test_a_module_is_restored_by_structure():
    net, step = Net(), tf.Variable(0, dtype="int64")
    status = tf.train.Checkpoint(net=net, step=step).restore(tf.train.latest_checkpoint(place("module")))
    status.assert_existing_objects_matched()
    assert net.w.numpy().tolist() == [1.0, 2.0] and float(net.parts[0]) == 3.0
    assert (
        float(net.parts[1]["a/b.c"]) == 4.0
        and int(net.pair[0]) == 5
        and net.pair[1].numpy().tolist() == [6.0]
    )
    assert int(step) == 7
    with pytest.raises(AssertionError, match="net/generator/_state_var"):  # another kind of generator
        status.assert_consumed()


def test_what_comes_later_is_restored_from_tensorflow_too():
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(place("module", "ckpt-3"))
    net = tf.Module()
    checkpoint.net = net
    net.parts = []
    net.parts.append(tf.Variable(0.0))
    assert float(net.variables[0]) == 3.0
    net.w = tf.Variable([0.0, 0.0])
    assert net.w.numpy().tolist() == [1.0, 2.0]
    status.assert_existing_objects_matched()


def test_our_keys_are_those_of_tensorflow(tmp_path):
    net, step = Net(), tf.Variable(7, dtype="int64")
    path = tf.train.Checkpoint(net=net, step=step).save(tmp_path / "x")
    mine = {key for key, _ in tf.train.list_variables(path)}
    theirs = {key for key, _ in EXPECTED["module"] if "generator" not in key and not key.startswith("_")}
    # which of two names of a variable comes first is for the order of attributes: by name here, by time there
    assert {key.replace("same", "w") for key in mine} == theirs


@pytest.mark.parametrize("ready", [False, True])
def test_a_training_of_keras_goes_on(ready):
    net, optimizer, step = sequential(), tf.keras.optimizers.Adam(0.5), tf.Variable(0)
    if ready:
        net(tf.zeros([1, 2]))
        optimizer.build(net.trainable_variables)
    status = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step).restore(place("sequential-1"))
    net(tf.zeros([1, 2]))
    optimizer.build(net.trainable_variables)
    status.assert_consumed()
    close(in_order_of_keras(net), EXPECTED["sequential"]["before"])
    assert int(step) == int(optimizer.iterations) == 3 and float(optimizer.learning_rate) == np.float32(0.1)
    train(net, optimizer, 3)
    close(in_order_of_keras(net), EXPECTED["sequential"]["after"], 1e-5)


def test_a_training_of_a_subclassed_model_goes_on():
    net, optimizer = Small(), tf.keras.optimizers.SGD(0.5, momentum=0.9)
    status = tf.train.Checkpoint(net=net, optimizer=optimizer).restore(place("subclassed-1"))
    net(tf.zeros([1, 2]))
    optimizer.build(net.trainable_variables)
    status.assert_consumed()
    close(net.first.get_weights() + net.last.get_weights(), EXPECTED["subclassed"]["before"])
    train(net, optimizer, 3)
    close(net.first.get_weights() + net.last.get_weights(), EXPECTED["subclassed"]["after"], 1e-5)


def test_the_variables_of_a_saved_model_of_tensorflow():
    net = tf.Module()
    net.w, net.inner = tf.Variable([0.0, 0.0]), tf.Module()
    net.inner.v = tf.Variable([[0.0]])
    tf.train.Checkpoint(net).read(place("saved_model")).assert_existing_objects_matched()
    assert net.w.numpy().tolist() == [1.0, 2.0] and net.inner.v.numpy().tolist() == [[3.0]]
    assert tf.train.load_variable(place("saved_model"), "inner/v").tolist() == [[3.0]]


def test_loading_a_saved_model_of_tensorflow_says_what_can_be_read(tmp_path):
    shutil.copytree(place("saved_model"), tmp_path / "model")
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"")
    with pytest.raises(OSError, match=r"tf\.train\.load_checkpoint read its variables"):
        tf.saved_model.load(tmp_path / "model")
    assert tf.train.load_variable(tmp_path / "model", "w").tolist() == [1.0, 2.0]


def test_names_without_objects():
    reader = tf.train.load_checkpoint(place("by_name"))
    assert reader.get_tensor("scope/w").tolist() == [1.0, 2.0]
    assert reader.get_tensor("sliced").tolist() == [[1.0, 1.0]] * 4
    with pytest.raises(
        UnsupportedModelError, match=r"by_name: it has no object graph.*'scope/w'.*load_checkpoint"
    ):
        tf.train.Checkpoint(w=tf.Variable([0.0, 0.0])).restore(place("by_name"))


def test_variables_of_these_names_take_values_without_objects():
    net = tf.Module()
    with tf.name_scope("scope"):
        net.weight = tf.Variable([0.0, 0.0], name="w")
    net.parts = [tf.Variable(tf.zeros([4, 2]), name="sliced")]
    for restored in (tf.train.Checkpoint(net), tf.train.Checkpoint(net=net)):
        net.weight.assign([0.0, 0.0])
        restored.restore(place("by_name")).assert_consumed().assert_nontrivial_match()
        assert (net.weight.numpy().tolist(), net.parts[0].numpy().tolist()) == ([1.0, 2.0], [[1.0, 1.0]] * 4)
    net.other = tf.Variable(1.0, name="other")
    status = tf.train.Checkpoint(net).read(place("by_name"))
    with pytest.raises(AssertionError, match=r"Found 1 Python objects .*\n.*named 'other:0'"):
        status.assert_existing_objects_matched()
    with pytest.raises(ValueError, match="Received incompatible tensor with shape"):
        tf.train.Checkpoint(w=tf.Variable([0.0], name="scope/w")).restore(place("by_name"))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on_where_keras_was(name):
    net, optimizer = tf.Module(), getattr(tf.keras.optimizers, name.split("_")[0])(0.1, **OPTIMIZERS[name])
    net.v, net.w = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    status = tf.train.Checkpoint(nets={name: net}, optimizers={name: optimizer}).read(place("optimizers"))
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net.v**2 * net.w) + net.w**2
        optimizer.apply_gradients(zip(tape.gradient(loss, [net.v, net.w]), [net.v, net.w]))
    status.assert_existing_objects_matched()
    close([net.v, net.w], EXPECTED["optimizers"][name], 2e-6)


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_averages_sums_of_gradients_and_moments_of_keras_go_on(name, built):
    net, optimizer = tf.Module(), getattr(tf.keras.optimizers, name.split("_")[0])(0.1, **STEPS[name])
    net.m, net.v = tf.Variable(np.zeros((3, 2), np.float32)), tf.Variable([0.0, 0.0])
    if built:
        optimizer.build([net.m, net.v])
    status = tf.train.Checkpoint(nets={name: net}, optimizers={name: optimizer}).read(place("steps"))
    train_pair(tf, net, optimizer, 3)
    optimizer.finalize_variable_values([net.m, net.v])
    close([net.m, net.v], EXPECTED["steps"][name], 1e-5)
    if "Adafactor" not in name:  # which has scalars for what a matrix, or another variable, does not need
        status.assert_existing_objects_matched()


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("name", KERAS_2)
def test_optimizers_of_keras_2_go_on_whose_files_name_no_variables(name, built):
    net, optimizer = tf.Module(), getattr(tf.keras.optimizers, name.split("_")[0])(0.01, **KERAS_2[name])
    net.m, net.v = tf.Variable(np.zeros((3, 2), np.float32)), tf.Variable([0.0, 0.0])
    if built:
        optimizer.build([net.m, net.v])
    status = tf.train.Checkpoint(nets={name: net}, optimizers={name: optimizer}).read(place("keras_2"))
    train_pair(tf, net, optimizer, 3)
    status.assert_existing_objects_matched()
    close([net.m, net.v], EXPECTED["keras_2"][name], 1e-4)


CUT = {
    "matrix": np.arange(600, dtype=np.float64).reshape(200, 3),
    "vector": np.arange(1000, dtype=np.int16),
    **{f"small/{i}": np.full((2, 2), i, np.complex64) for i in range(5)},
}


def test_values_that_are_cut_and_several_data_files():
    assert os.path.exists(place("cut") + ".data-00003-of-00005")
    reader = tf.train.load_checkpoint(place("cut"))
    for name, expected in CUT.items():
        value = reader.get_tensor(name)
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
    root = tf.Module()
    root.matrix, root.vector = tf.Variable(np.zeros((200, 3))), tf.Variable(np.zeros(1000, np.int16))
    root.small = [tf.Variable(np.zeros((2, 2), np.complex64)) for _ in range(5)]
    tf.train.Checkpoint(root=root).read(place("cut")).assert_consumed()
    np.testing.assert_array_equal(root.matrix, CUT["matrix"])
    np.testing.assert_array_equal(root.small[4], CUT["small/4"])


def copied(tmp_path, name: str) -> str:
    directory, prefix = os.path.split(place(name))
    for file in os.listdir(directory):
        if file.startswith(prefix + ".") and not file.endswith(".h5"):
            shutil.copy(os.path.join(directory, file), tmp_path / file)
    return str(tmp_path / name)


def with_changed_index(prefix: str, change) -> Bundle:
    with open(prefix + ".index", "rb") as file:
        entries = dict(entries_of(file.read(), DEFAULT_LIMITS))
    change(entries)
    with open(prefix + ".index", "wb") as file:
        file.write(table_of(sorted(entries.items())))
    return Bundle(prefix, DEFAULT_LIMITS)


def a_part(entries) -> bytes:
    return next(key for key in entries if key.startswith(b"\0") and b"matrix" in key)


def missing_part(entries):
    del entries[a_part(entries)]


def part_twice(entries):
    whole = next(key for key in entries if key.startswith(b"matrix"))
    at = entries[whole].index(b"\x3a")  # its first part, once more
    size = 2 + entries[whole][at + 1]
    entries[whole] += entries[whole][at : at + size]


def other_part(entries):
    first, second = [key for key in entries if key.startswith(b"\0") and b"vector" in key][:2]
    entries[a_part(entries)] = entries[first]


@pytest.mark.parametrize(
    ("change", "text"),
    [(missing_part, "is missing"), (part_twice, "in parts for float64"), (other_part, "is int16 of shape")],
    ids=["missing", "twice", "other"],
)
def test_parts_that_do_not_make_a_value_are_refused(tmp_path, change, text):
    bundle = with_changed_index(copied(tmp_path, "cut"), change)
    with pytest.raises(CorruptModelError, match=rf"cut\.index.*{text}"):
        bundle.array("matrix/.ATTRIBUTES/VARIABLE_VALUE")


def test_parts_that_lie_one_over_the_other_are_refused(tmp_path):
    def first_part_in_place_of_the_second(entries):
        parts = [part for number, _, part in fields(entries[b"sliced"]) if number == 7]
        assert len(parts) == 2
        head = entries[b"sliced"].split(b"\x3a")[0]
        entries[b"sliced"] = head + 2 * (b"\x3a" + bytes((len(parts[0]),)) + parts[0])

    bundle = with_changed_index(copied(tmp_path, "by_name"), first_part_in_place_of_the_second)
    with pytest.raises(CorruptModelError, match="the parts of 'sliced' lie one over the other"):
        bundle.array("sliced")


def test_keys_of_parts_sort_as_their_numbers():
    def key(*numbers):
        return key_of("x", tuple((n, 1) for n in numbers))

    several = [*range(300), 8191, 8192, 1 << 20, (1 << 20) + 1, 1 << 40, (1 << 46) - 1]
    keys = [key(n) for n in several]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    # 0 and -1, an axis that is not cut; 63 and 64, the largest number of one byte and the least of two
    assert key_of("x", ((0, WHOLE),)) == b"\0x\0\1\1\1\x80\x7f"
    assert key_of("x\0", ((63, 64),)) == b"\0x\0\xff\0\1\1\1\xbf\xc0\x40"


def read_all(prefix: str) -> None:
    """All that a reader may be asked for."""
    reader = tf.train.load_checkpoint(prefix)
    for key in reader.get_variable_to_shape_map():
        reader.get_tensor(key)
    net = sequential()
    net(tf.zeros([1, 2]))
    tf.train.Checkpoint(net=net).restore(prefix).expect_partial()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *itertools.product(["sequential-1", "dtypes"], [".index", ".data-00000-of-00001"]),
        *itertools.product(["cut"], [".index", ".data-00001-of-00005"]),
    ],
)
def test_every_damaged_byte_is_found(tmp_path, name, part):
    prefix = copied(tmp_path, name)
    whole = Bundle(prefix, DEFAULT_LIMITS)
    rng = random.Random(7)
    with open(prefix + part, "rb") as file:
        data = file.read()
    covered = range(len(data) - 48) if part == ".index" else range(len(data))
    for _ in range(150):
        changed = bytearray(data)
        changed[rng.choice(covered)] ^= 1 << rng.randrange(8)
        with open(prefix + part, "wb") as file:
            file.write(changed)
        with pytest.raises(LoadError):
            bundle = Bundle(prefix, DEFAULT_LIMITS)
            for key, entry in bundle.entries.items():
                if entry.dtype == "string":
                    bundle.string(key)
                else:
                    bundle.array(key)
            # the block of statistics, empty, stands between the entries and their index, and is read by nobody
            assert part == ".index" and bundle.entries == whole.entries
            raise CorruptModelError("unread")


def resealed(rng: random.Random, data: bytes) -> bytes:
    """An index with changes in its blocks and right checksums: what an opponent would write."""
    entries = [list(entry) for entry in entries_of(data, DEFAULT_LIMITS)]
    for _ in range(rng.randrange(1, 4)):
        entry = rng.choice(entries)
        value = bytearray(entry[1])
        kind = rng.randrange(4)
        if kind == 0 and value:
            value[rng.randrange(len(value))] = rng.randrange(256)
        elif kind == 1:
            value = value[: rng.randrange(len(value) + 1)]
        elif kind == 2:
            at = rng.randrange(len(value) + 1)
            value[at:at] = rng.choice(
                [b"\xff" * 9 + b"\x01", b"\x12\x7f", b"\x28\x80\x80\x80\x80\x10", rng.randbytes(3)]
            )
        else:
            entry[0] = entry[0][: rng.randrange(len(entry[0]) + 1)] + rng.randbytes(2)
        entry[1] = bytes(value)
    return table_of(sorted((bytes(key), value) for key, value in entries))


def number(x: int) -> bytes:
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    return bytes([*out, x])


def block_of(entries) -> bytes:
    out = b"".join(b"\0" + number(len(key)) + number(len(value)) + key + value for key, value in entries)
    return out + bytes(4) + (1).to_bytes(4, "little")


def table_of(entries) -> bytes:
    return table_of_blocks(block_of(entries))


def table_of_blocks(data: bytes) -> bytes:
    """A table with one block of entries, its checksums right."""

    def sealed(block: bytes) -> bytes:
        return block + b"\0" + masked(crc32c(block + b"\0")).to_bytes(4, "little")

    index = block_of([(b"\xff", number(0) + number(len(data)))])
    footer = number(0) + number(0) + number(len(data) + 5) + number(len(index))
    return sealed(data) + sealed(index) + footer.ljust(40, b"\0") + MAGIC


def test_hostile_indexes_are_refused_by_name(tmp_path):
    prefix = copied(tmp_path, "sequential-1")
    with open(prefix + ".index", "rb") as file:
        data = file.read()
    rng = random.Random(11)
    refused = 0
    for _ in range(250):
        with open(prefix + ".index", "wb") as file:
            file.write(resealed(rng, data))
        try:
            read_all(prefix)
        except LoadError:
            refused += 1
        except ValueError as error:  # a shape that fits its bytes but not the variable
            assert "restore" in str(error), error
    assert refused > 150


def with_graph(rng: random.Random, graph: bytes) -> bytes:
    changed = bytearray(graph)
    for _ in range(rng.randrange(1, 6)):
        kind = rng.randrange(3)
        at = rng.randrange(len(changed))
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            del changed[at : at + rng.randrange(1, 5)]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 5))
    return bytes(changed)


def test_hostile_object_graphs_are_refused_by_name(monkeypatch):
    graph = Bundle(place("sequential-1"), DEFAULT_LIMITS).string("_CHECKPOINTABLE_OBJECT_GRAPH")
    rng = random.Random(13)
    refused = 0
    for _ in range(300):
        changed = with_graph(rng, graph)
        monkeypatch.setattr(Bundle, "string", lambda self, name, changed=changed: changed)
        net = sequential()
        net(tf.zeros([1, 2]))
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build(net.trainable_variables)
        try:
            with pytest.MonkeyPatch.context() as quiet:
                quiet.setattr("serialization.checkpoint.restore.warn_user", lambda text: None)
                tf.train.Checkpoint(net=net, optimizer=optimizer).restore(
                    place("sequential-1")
                ).expect_partial()
        except LoadError:
            refused += 1
        except ValueError as error:
            assert "restore" in str(error), error
    assert refused > 100


@pytest.mark.parametrize(
    "read",
    [
        lambda data: list(fields(data)),
        lambda data: nodes_of(data, DEFAULT_LIMITS),
        lambda data: list(entries_of(data, DEFAULT_LIMITS)),
        lambda data: list(entries_of(data + MAGIC, DEFAULT_LIMITS)),
    ],
)
def test_bytes_of_no_meaning_are_refused(read):
    rng = random.Random(17)
    for _ in range(300):
        with contextlib.suppress(LoadError):
            read(rng.randbytes(rng.randrange(200)))


@pytest.mark.parametrize("shape", [(0, 2**47, 2**47), (2**31, 2**31, 0), (2**47, 0, 2**47, 2**47)])
def test_empty_values_of_shapes_that_no_array_has_are_refused(tmp_path, shape):
    sizes = b"".join(b"\x12" + number(len(size)) + size for size in [b"\x08" + number(n) for n in shape])
    entry = b"\x08\x01\x12" + number(len(sizes)) + sizes + b"\x35" + masked(crc32c(b"")).to_bytes(4, "little")
    (tmp_path / "c.index").write_bytes(table_of([(b"", b"\x08\x01"), (b"x", entry)]))
    (tmp_path / "c.data-00000-of-00001").write_bytes(b"")
    with pytest.raises(CorruptModelError, match="no array of float32"):
        tf.train.load_checkpoint(tmp_path / "c").get_tensor("x")


def test_a_long_prefix_shared_by_many_keys_is_refused_before_it_takes_memory(tmp_path):
    entries = b"\0" + number(60_000) + number(0) + b"k" * 60_000
    for i in range(1, 50_000):
        entries += number(60_000) + number(3) + number(0) + i.to_bytes(3, "big")
    file = table_of_blocks(entries + bytes(4) + (1).to_bytes(4, "little"))
    (tmp_path / "x.index").write_bytes(file)
    tracemalloc.start()
    try:
        with pytest.raises(LoadError):
            Bundle(str(tmp_path / "x"), DEFAULT_LIMITS)
        with pytest.raises(LimitExceededError, match="'manifest_bytes'"):
            for _ in entries_of(file, DEFAULT_LIMITS.replace(manifest_bytes=1 << 20)):
                pass
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


END = bytes(4) + (1).to_bytes(4, "little")  # one restart, at 0


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (block_of([(b"a", b"1"), (b"a", b"2")]), "its keys are not in order"),
        (block_of([(b"b", b"1"), (b"a", b"2")]), "its keys are not in order"),
        (number(1) + number(0) + number(0) + END, "an entry reaches beyond its block"),
        (number(0) + number(1) + number(2) + b"a1" + END, "an entry reaches beyond its block"),
        (bytes(4) + (1 << 30).to_bytes(4, "little"), "a block of 8 bytes with 1073741824 restarts"),
        (b"\0\0\0", "a block without its end"),
    ],
)
def test_tables_whose_entries_are_wrong_are_refused_by_name(block, words):
    with pytest.raises(CorruptModelError, match=words):
        list(entries_of(table_of_blocks(block), DEFAULT_LIMITS))
    whole = [(b"a", b"1"), (b"b", b"2")]
    assert list(entries_of(table_of(whole), DEFAULT_LIMITS)) == whole


def test_a_block_that_is_compressed_or_lies_outside_of_the_file_is_refused_by_name():
    data = block_of([(b"a", b"1")])

    def table(kind: bytes, size: int) -> bytes:
        index = block_of([(b"\xff", number(0) + number(size))])
        footer = number(0) + number(0) + number(len(data) + 5) + number(len(index))
        parts = [(data, kind), (index, b"\0")]
        sealed = [block + end + masked(crc32c(block + end)).to_bytes(4, "little") for block, end in parts]
        return b"".join(sealed) + footer.ljust(40, b"\0") + MAGIC

    assert list(entries_of(table(b"\0", len(data)), DEFAULT_LIMITS)) == [(b"a", b"1")]
    with pytest.raises(UnsupportedModelError, match=r"a block is compressed in a way \(kind 2\)"):
        list(entries_of(table(b"\2", len(data)), DEFAULT_LIMITS))
    size = len(table(b"\0", len(data))) - 53 + 1  # one byte more than stands before the footer
    with pytest.raises(CorruptModelError, match=f"a block at 0 of {size} bytes in a file of"):
        list(entries_of(table(b"\0", size), DEFAULT_LIMITS))


def compressed(data):
    """Snappy's format, with a copy wherever four bytes came before, at most 60 bytes of literals, and all kinds of copies."""
    out, plain, at, seen = bytearray(number(len(data))), bytearray(), 0, {}

    def flush():
        if plain:
            out.extend(bytes([len(plain) - 1 << 2]) + plain)
            plain.clear()

    while at < len(data):
        back = at - seen.get(data[at : at + 4], at)
        seen[data[at : at + 4]] = at
        count = 4
        while back and count < 64 and at + count < len(data) and data[at + count - back] == data[at + count]:
            count += 1
        if not back or at + 4 > len(data):
            plain.append(data[at])
            at += 1
            if len(plain) == 60:
                flush()
            continue
        flush()
        if count < 12 and back < 2048:
            out.extend([1 | count - 4 << 2 | back >> 8 << 5, back & 255])
        elif back % 2:
            out.extend(bytes([2 | count - 1 << 2]) + back.to_bytes(2, "little"))
        else:
            out.extend(bytes([3 | count - 1 << 2]) + back.to_bytes(4, "little"))
        at += count
    flush()
    return bytes(out)


def test_tables_with_compressed_blocks_are_read_as_plain_ones(tmp_path):
    """TensorFlow compressed the blocks of an index before 2.4."""
    prefix = copied(tmp_path, "sequential-1")
    with open(prefix + ".index", "rb") as file:
        entries = list(entries_of(file.read(), DEFAULT_LIMITS))
    data = compressed(block_of(entries))
    assert len(data) < len(block_of(entries))
    index = compressed(block_of([(b"\xff", number(0) + number(len(data)))]))
    footer = number(0) + number(0) + number(len(data) + 5) + number(len(index))
    sealed = [block + b"\1" + masked(crc32c(block + b"\1")).to_bytes(4, "little") for block in (data, index)]
    with open(prefix + ".index", "wb") as file:
        file.write(b"".join(sealed) + footer.ljust(40, b"\0") + MAGIC)
    with open(prefix + ".index", "rb") as file:
        assert list(entries_of(file.read(), DEFAULT_LIMITS)) == entries
    read_all(prefix)


@pytest.mark.parametrize(
    ("block", "bytes_"),
    [
        (b"\0", b""),
        (b"\5" + b"\x10abcde", b"abcde"),
        (b"\x0a" + b"\4ab" + bytes([1 | 4 << 2, 2]), b"ab" * 5),  # a copy of 8 bytes that it makes itself
        (b"\6" + b"\4ab" + bytes([2 | 3 << 2, 1, 0]), b"abbbbb"),
        (b"\5" + b"\x08abc" + bytes([3 | 1 << 2, 3, 0, 0, 0]), b"abcab"),
        (b"\x80\x02" + bytes([60 << 2, 255]) + bytes(range(256)), bytes(range(256))),
        (b"\x81\x06" + bytes([61 << 2, 0, 3]) + b"k" * 769, b"k" * 769),
    ],
)
def test_every_kind_of_element_of_a_compressed_block(block, bytes_):
    assert uncompressed(block, 1000) == bytes_
    for cut in range(1, len(block)):
        with pytest.raises(CorruptModelError):
            uncompressed(block[:cut], 1000)


@pytest.mark.parametrize(
    ("block", "error", "words"),
    [
        (b"\x80\x80\x80\x80\x0f", LimitExceededError, "a compressed block of 4026531840 bytes"),
        (b"\4" + bytes([1, 1]), CorruptModelError, "a copy from 1 bytes back where 0 have been made"),
        (b"\5\x10ab", CorruptModelError, "a literal of 5 bytes where a compressed block has 2 left"),
        (b"\5a", CorruptModelError, "ends in the middle of an element"),
        (b"\5\0a" + bytes([1, 0]), CorruptModelError, "a copy from 0 bytes back"),
        (b"\2\0a\0b\0c", CorruptModelError, "does not have the 2 bytes that it claims"),
    ],
)
def test_damaged_compressed_blocks_are_refused_by_name(block, error, words):
    with pytest.raises(error, match=words):
        uncompressed(block, 1 << 20)


def test_blocks_that_lie_one_over_the_other_are_refused():
    """Each would be summed up again: a small file that takes hours."""

    def sealed(block):
        return block + b"\0" + masked(crc32c(block + b"\0")).to_bytes(4, "little")

    restarts = bytes(4 * 1000) + (1000).to_bytes(4, "little")  # and no entry
    index = block_of([(bytes([k]), number(0) + number(len(restarts))) for k in range(100)])
    footer = number(0) + number(0) + number(len(restarts) + 5) + number(len(index))
    file = sealed(restarts) + sealed(index) + footer.ljust(40, b"\0") + MAGIC
    with pytest.raises(CorruptModelError, match="one over the other"):
        list(entries_of(file, DEFAULT_LIMITS))


def test_compressed_blocks_share_one_limit(tmp_path):
    """Blocks of zeros are a twentieth as large in the file."""

    def sealed(block, kind):
        return block + kind + masked(crc32c(block + kind)).to_bytes(4, "little")

    zeros = 500 * 64
    blocks = []
    for k in range(10):
        entry = number(0) + number(2) + number(zeros) + bytes([0, k])
        end = (0).to_bytes(4, "little") + (1).to_bytes(4, "little")
        elements = [bytes([(len(entry) - 1) << 2]) + entry, bytes([60 << 2, 63]) + bytes(64)]
        elements += [bytes([63 << 2 | 2, 64, 0])] * 499 + [bytes([7 << 2]) + end]
        blocks.append(sealed(number(len(entry) + zeros + 8) + b"".join(elements), b"\1"))
    starts = list(itertools.accumulate(map(len, blocks), initial=0))
    index = block_of(
        [(bytes([k]), number(start) + number(len(b) - 5)) for k, (start, b) in enumerate(zip(starts, blocks))]
    )
    footer = number(0) + number(0) + number(starts[-1]) + number(len(index))
    file = b"".join(blocks) + sealed(index, b"\0") + footer.ljust(40, b"\0") + MAGIC
    assert len(list(entries_of(file, DEFAULT_LIMITS))) == 10
    with pytest.raises(
        LimitExceededError,
        match=r"a compressed block of 320\d\d bytes where the limit 'manifest_bytes' leaves",
    ):
        list(entries_of(file, Limits(manifest_bytes=9 * zeros)))


def test_a_string_is_not_read_before_its_size_is_looked_at():
    bundle = Bundle(place("sequential-1"), DEFAULT_LIMITS)
    name = "_CHECKPOINTABLE_OBJECT_GRAPH"
    bundle.entries[name] = bundle.entries[name].replace(size=1 << 40)
    with pytest.raises(LimitExceededError, match="'manifest_bytes'"):
        bundle.string(name)


def field(number_of, value) -> bytes:
    if isinstance(value, int):
        return number(number_of << 3) + number(value)
    return number(number_of << 3 | 2) + number(len(value)) + value


def objects(*nodes) -> bytes:
    """An object graph of nodes, each a dict of children."""
    return b"".join(
        field(1, b"".join(field(1, field(1, k) + field(2, name.encode())) for name, k in node.items()))
        for node in nodes
    )


@pytest.mark.parametrize(
    "sharing",
    [
        {"_functional": 2},
        {"_trainable_variables": 3, "_momentums": 3},
        {"_trainable_variables": 4, "_velocities": 3},
    ],
    ids=["layers", "slots", "slots of none"],
)
def test_a_list_that_many_objects_name_is_not_written_out_for_each(monkeypatch, sharing):
    long = {str(k): 1 for k in range(100)}
    graph = objects({"a": 1}, {}, {"_operations": 3}, long, {}, *[sharing] * 100)
    monkeypatch.setattr(Bundle, "string", lambda self, name: graph)
    saved_of_bundle(place("sequential-1"), DEFAULT_LIMITS)
    with pytest.raises(LimitExceededError, match="'items'"):
        saved_of_bundle(place("sequential-1"), Limits(items=5000))


def test_limits_are_named(tmp_path):
    with pytest.raises(LimitExceededError, match="'tensors'"):
        Bundle(place("dtypes"), Limits(tensors=3))
    with pytest.raises(LimitExceededError, match="'manifest_bytes'"):
        Bundle(place("dtypes"), Limits(manifest_bytes=100))
    with pytest.raises(LimitExceededError, match="'objects'"):
        options = tf.train.CheckpointOptions(limits=Limits(objects=3))
        tf.train.Checkpoint().read(place("module", "ckpt-3"), options)


def test_missing_and_short_parts(tmp_path):
    prefix = copied(tmp_path, "dtypes")
    with open(prefix + ".data-00000-of-00001", "r+b") as file:
        file.truncate(100)
    with pytest.raises(CorruptModelError, match=r"data-00000-of-00001: .*cut short"):
        tf.train.load_variable(prefix, "large")
    os.unlink(prefix + ".data-00000-of-00001")
    with pytest.raises(OSError, match="the file is missing"):
        tf.train.load_variable(prefix, "large")
    os.mkfifo(prefix + ".data-00000-of-00001")
    with pytest.raises(LoadError, match="not a plain file"):
        tf.train.load_variable(prefix, "large")


def test_checksums_are_those_of_the_definition(rng):
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0 and crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43

    def bit_by_bit(data: bytes) -> int:
        register = 0xFFFFFFFF
        for byte in data:
            register ^= byte
            for _ in range(8):
                register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
        return register ^ 0xFFFFFFFF

    for size in (1, 511, 512, 513, 1023, 4096, 5000, 70_001):
        data = rng.bytes(size)
        assert crc32c(data) == bit_by_bit(data)
        assert crc32c(data[size // 3 :], crc32c(data[: size // 3])) == crc32c(data)
