"""What a checkpoint holds, and that a program of the same structure gets it back."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

import graphad as tf
from graphad.core.dtypes import as_dtype
from serialization.checkpoint.reader import MissingCheckpointError
from serialization.errors import SaveError

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128".split()


class Net(tf.Module):
    """Variables as attributes, in a list, a dict, a tuple; two names for one, and a cycle."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.w = tf.Variable([start, start + 1])
        self.same = self.w
        self.parts = [tf.Variable(start + 2), {"a": tf.Variable(start + 3)}, "text", tf.Variable(start + 4)]
        self.pair = (tf.Variable(start + 5), 7)
        self.number = 3
        self.own = self

    @property
    def numbers(self) -> list[float]:
        return [
            *self.w.numpy().tolist(),
            float(self.parts[0]),
            float(self.parts[1]["a"]),
            float(self.parts[3]),
            float(self.pair[0]),
        ]


def test_values_come_back_by_structure(tmp_path):
    path = tf.train.Checkpoint(net=Net(1.0), step=tf.Variable(5)).save(tmp_path / "ckpt")
    net, step = Net(0.0), tf.Variable(0)
    status = tf.train.Checkpoint(net=net, step=step).restore(path)
    status.assert_consumed().assert_existing_objects_matched().assert_nontrivial_match()
    assert net.numbers == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert int(step) == 5


def test_keys_are_paths(tmp_path):
    path = tf.train.Checkpoint(net=Net(1.0), step=tf.Variable(5)).save(tmp_path / "ckpt")
    assert tf.train.list_variables(path) == [
        ("net/pair/0/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("net/parts/0/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("net/parts/1/a/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("net/parts/3/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("net/same/.ATTRIBUTES/VARIABLE_VALUE", [2]),
        ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("step/.ATTRIBUTES/VARIABLE_VALUE", []),
    ]


def test_save_numbers_its_files_and_write_does_not(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    first, second = checkpoint.save(tmp_path / "a" / "ckpt"), checkpoint.save(str(tmp_path / "a" / "ckpt"))
    assert (first, second) == (str(tmp_path / "a" / "ckpt-1"), str(tmp_path / "a" / "ckpt-2"))
    assert os.path.exists(first) and int(checkpoint.save_counter) == 2
    assert tf.train.latest_checkpoint(tmp_path / "a") == second
    assert checkpoint.write(pathlib.Path(tmp_path) / "b") == str(tmp_path / "b")
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_numbers_go_on_after_a_restore(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "ckpt")
    checkpoint = tf.train.Checkpoint(v=tf.Variable(2.0))
    checkpoint.restore(path)
    assert checkpoint.save(tmp_path / "ckpt") == str(tmp_path / "ckpt-2")


def test_what_write_has_made_is_read_without_a_counter(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "x")
    v = tf.Variable(0.0)
    tf.train.Checkpoint(v=v).read(path).assert_consumed()
    assert float(v) == 1.0
    with pytest.raises(AssertionError, match="save_counter"):
        tf.train.Checkpoint(v=v).restore(path).assert_consumed()
    saved = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "y")
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.save_counter"):
        tf.train.Checkpoint(v=v).read(saved).assert_consumed()


def test_a_root_lends_its_children(tmp_path):
    net = Net(1.0)
    path = tf.train.Checkpoint(net, step=tf.Variable(2)).save(tmp_path / "ckpt")
    assert "w/.ATTRIBUTES/VARIABLE_VALUE" not in dict(
        tf.train.list_variables(path)
    )  # it is `same` that comes first
    other, step = Net(0.0), tf.Variable(0)
    tf.train.Checkpoint(root=other, step=step).restore(path).assert_consumed()
    assert other.numbers == net.numbers and int(step) == 2
    with pytest.raises(ValueError, match=r"keyword argument w if root\.w already exists"):
        tf.train.Checkpoint(net, w=tf.Variable(1.0))
    tf.train.Checkpoint(net, w=net.w)


def test_a_variable_may_be_the_root(tmp_path):
    path = tf.train.Checkpoint(tf.Variable([1.0, 2.0])).save(tmp_path / "ckpt")
    v = tf.Variable([0.0, 0.0])
    tf.train.Checkpoint(v).restore(path).assert_consumed()
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("wrong", [5, "x", None, tf.constant(1.0), object()])
def test_what_holds_no_variables_is_refused(wrong):
    with pytest.raises(ValueError, match="was expecting step to be a trackable object"):
        tf.train.Checkpoint(step=wrong)
    if wrong is not None:
        with pytest.raises(ValueError, match="was expecting root to be a trackable object"):
            tf.train.Checkpoint(wrong)
    with pytest.raises(ValueError, match="was expecting root"):
        tf.train.Checkpoint([tf.Variable(1.0)])


def test_every_dtype_and_rank_comes_back_bit_by_bit(tmp_path, rng):
    values = {}
    for dtype in DTYPES:
        kind = as_dtype(dtype)
        for shape in ((), (0,), (3,), (2, 0, 3), (2, 3)):
            raw = rng.integers(0, 2, shape) if dtype == "bool" else rng.normal(size=shape) * 10
            values[f"{dtype}_{len(values)}"] = tf.cast(tf.constant(np.asarray(np.abs(raw))), kind)
    path = tf.train.Checkpoint(all={k: tf.Variable(v) for k, v in values.items()}).write(tmp_path / "x")
    fresh = {k: tf.Variable(tf.zeros_like(v)) for k, v in values.items()}
    tf.train.Checkpoint(all=fresh).read(path).assert_consumed()
    for name, value in values.items():
        assert fresh[name].dtype is value.dtype
        assert fresh[name].numpy().tobytes() == value.numpy().tobytes(), name
        assert tf.train.load_variable(path, f"all/{name}").tobytes() == value.numpy().tobytes()


def test_a_variable_without_a_fixed_shape_takes_another(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0, 3.0])).write(tmp_path / "x")
    v = tf.Variable([0.0], shape=tf.TensorShape([None]))
    tf.train.Checkpoint(v=v).read(path).assert_consumed()
    assert v.numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_generator_goes_on_from_where_it_was(tmp_path):
    generator = tf.random.Generator.from_seed(3)
    generator.normal([2])
    path = tf.train.Checkpoint(g=generator).write(tmp_path / "x")
    expected = generator.normal([4]).numpy()
    other = tf.random.Generator.from_seed(4)
    tf.train.Checkpoint(g=other).read(path).assert_consumed()
    assert other.normal([4]).numpy().tolist() == expected.tolist()
    assert ("g/_state_var/.ATTRIBUTES/VARIABLE_VALUE", [2]) in tf.train.list_variables(path)


def test_restored_values_are_copies(tmp_path):
    v = tf.Variable(np.arange(100_000.0))
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "x")
    checkpoint.read(path)
    tf.train.Checkpoint(v=tf.Variable(np.zeros(100_000))).write(path)  # another one in its place
    assert v.numpy()[-1] == 99_999.0
    base = v.data.base
    assert base is None or isinstance(base, np.ndarray)


def test_attribute_names_that_are_no_identifiers_are_keys_of_a_dict(tmp_path):
    names = {
        "a/b": tf.Variable(1.0),
        "c.d": tf.Variable(2.0),
        "": tf.Variable(3.0),
        "ü": tf.Variable(4.0),
        5: tf.Variable(5.0),
    }
    path = tf.train.Checkpoint(d=names).write(tmp_path / "x")
    keys = [plain for plain, _ in tf.train.list_variables(path)]
    assert "d/a.Sb/.ATTRIBUTES/VARIABLE_VALUE" in keys and "d/c..d/.ATTRIBUTES/VARIABLE_VALUE" in keys
    other = {key: tf.Variable(0.0) for key in names}
    tf.train.Checkpoint(d=other).read(path).assert_consumed()
    assert [float(v) for v in other.values()] == [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(SaveError, match="two children of the name '5'"):
        tf.train.Checkpoint(d={5: tf.Variable(1.0), "5": tf.Variable(2.0)}).write(tmp_path / "y")


def test_a_checkpoint_is_also_a_saved_model_without_functions(tmp_path):
    path = tf.train.Checkpoint(net=Net(1.0)).save(tmp_path / "ckpt")
    loaded = tf.saved_model.load(path)
    assert loaded.net.w.numpy().tolist() == [1.0, 2.0] and loaded.net.own is loaded.net


def test_a_saved_model_restores_too(tmp_path):
    tf.saved_model.save(Net(1.0), tmp_path / "model")
    net = Net(0.0)
    tf.train.Checkpoint(net).read(tmp_path / "model").assert_existing_objects_matched()
    assert net.numbers == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_restoring_does_not_show_in_a_tape(tmp_path):
    v = tf.Variable(3.0)
    path = tf.train.Checkpoint(v=v).write(tmp_path / "x")
    v.assign(5.0)
    with tf.GradientTape() as tape:
        tf.train.Checkpoint(v=v).read(path)
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0


def test_functions_see_restored_values(tmp_path):
    net = Net(1.0)
    path = tf.train.Checkpoint(net).write(tmp_path / "x")
    total = tf.function(lambda: tf.reduce_sum(net.w))
    net.w.assign([5.0, 5.0])
    assert float(total()) == 10.0
    tf.train.Checkpoint(net).read(path)
    assert float(total()) == 3.0


@pytest.mark.parametrize("call", ["save", "write", "restore", "read"])
def test_neither_saved_nor_restored_while_tracing(tmp_path, call):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    with pytest.raises(NotImplementedError, match="from a function is not supported"):
        tf.function(lambda: getattr(checkpoint, call)(str(tmp_path / "x")))()
    assert not list(tmp_path.iterdir())


def test_nothing_at_the_path(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(tmp_path / "ckpt")
    with pytest.raises(MissingCheckpointError, match=r"There is '.*ckpt-1'.*missing the checkpoint suffix"):
        checkpoint.restore(str(tmp_path / "ckpt"))
    for call in (checkpoint.restore, checkpoint.read, tf.train.list_variables, tf.train.load_checkpoint):
        for kind in (OSError, ValueError, tf.errors.NotFoundError):
            with pytest.raises(kind, match="there is no checkpoint"):
                call(str(tmp_path / "other" / "x"))
    with pytest.raises(TypeError, match="must be a string or a path"):
        checkpoint.restore(5)
    with pytest.raises(TypeError, match="options must be CheckpointOptions"):
        checkpoint.save(tmp_path / "ckpt", options=3)


def test_nothing_to_restore(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    for status in (checkpoint.restore(None), checkpoint.read(None)):
        assert status.expect_partial() is status
        status.initialize_or_restore()
        for call in (
            status.assert_consumed,
            status.assert_existing_objects_matched,
            status.assert_nontrivial_match,
        ):
            with pytest.raises(AssertionError, match="No checkpoint specified"):
                call()


def test_a_reader_gives_values_by_key_or_path(tmp_path):
    checkpoint = tf.train.Checkpoint(net=Net(1.0))
    path = checkpoint.save(tmp_path / "ckpt")
    reader = tf.train.load_checkpoint(tmp_path)  # the latest of the directory
    assert reader.has_tensor("net/parts/0") and not reader.has_tensor("net")
    assert reader.get_tensor("net/parts/1/a/.ATTRIBUTES/VARIABLE_VALUE") == 4.0
    assert reader.get_variable_to_shape_map()["net/same/.ATTRIBUTES/VARIABLE_VALUE"] == [2]
    assert reader.get_variable_to_dtype_map()["save_counter/.ATTRIBUTES/VARIABLE_VALUE"] is tf.int64
    assert b"net/same/.ATTRIBUTES/VARIABLE_VALUE (float32) [2]\n" in reader.debug_string()
    array = reader.get_tensor("net/same")
    array[:] = 9.0  # the caller's own
    assert tf.train.load_variable(path, "net/same").tolist() == [1.0, 2.0]
    with pytest.raises(KeyError, match=r"Key net/sam not found in checkpoint .*nearest: 'net/same/"):
        reader.get_tensor("net/sam")
    with pytest.raises(tf.errors.NotFoundError):
        reader.get_tensor("other")


def test_callbacks_hear_of_each_write(tmp_path):
    heard = []
    options = tf.train.CheckpointOptions(
        experimental_write_callbacks=[heard.append, lambda: heard.append("done")]
    )
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    path = checkpoint.save(tmp_path / "ckpt", options)
    other = checkpoint.write(tmp_path / "x", options)
    assert heard == [path, "done", other, "done"]
    with pytest.raises(TypeError, match="write callback"):
        tf.train.CheckpointOptions(experimental_write_callbacks=[lambda a, b: None])
    with pytest.raises(ValueError, match="experimental_sharding_callback"):
        tf.train.CheckpointOptions(experimental_sharding_callback=lambda x: x)


def test_checkpoints_hold_checkpoints(tmp_path):
    inner = tf.train.Checkpoint(a=tf.Variable(1.0))
    path = tf.train.Checkpoint(inner=inner, b=tf.Variable(2.0)).save(tmp_path / "ckpt")
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    tf.train.Checkpoint(inner=tf.train.Checkpoint(a=a), b=b).restore(path).assert_consumed()
    assert (float(a), float(b)) == (1.0, 2.0)


def test_the_root_of_a_checkpoint_is_an_attribute():
    module = tf.Module()
    assert tf.train.Checkpoint(module).root is module
    assert tf.train.Checkpoint(root=module, step=tf.Variable(1)).root is module
    with pytest.raises(AttributeError, match="'Checkpoint' object has no attribute 'root'"):
        _ = tf.train.Checkpoint(v=tf.Variable(1.0)).root
