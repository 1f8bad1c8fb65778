"""Whatever stops a save: the old checkpoint or the new one is there, and the program's counter fits. And damaged files."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import pathlib
import random
import shutil
import threading
import warnings

import numpy as np
import pytest

import graphad as tf
from serialization.errors import LoadError, SaveFailedError
from serialization.storage.places import MANIFEST
from serialization.wire.files import TEMPORARY
from tests.serialization.sample import rewrite_body
from tests.serialization.test_commit import DiesAt, FailsAt, Recorder, Stop


def make(place, value: float = 0.0):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(np.full(2000, value)), w=tf.Variable(value))
    return tf.train.CheckpointManager(checkpoint, place, max_to_keep=2)


def fill(manager, value: float) -> None:
    manager.checkpoint.v.assign(np.full(2000, value))
    manager.checkpoint.w.assign(value)


def restored(place) -> float:
    """The value that the latest checkpoint holds, after checking that it is whole."""
    manager = make(place)
    path = manager.restore_or_initialize()
    assert path is not None
    value = float(manager.checkpoint.w)
    assert np.array_equal(manager.checkpoint.v.numpy(), np.full(2000, value))
    for listed in manager.checkpoints:
        tf.train.load_checkpoint(listed).get_tensor("v")
    return value


def calls_of_the_third_save(place) -> int:
    manager = three(place)
    manager._system = recorder = Recorder()
    manager.save()
    return len(recorder.log)


def three(place):
    """A manager after two saves of 1.0 and 2.0, about to save 3.0 and to remove the first."""
    shutil.rmtree(place, ignore_errors=True)
    manager = make(place)
    for value in (1.0, 2.0):
        fill(manager, value)
        manager.save()
    fill(manager, 3.0)
    return manager


def test_a_process_may_die_at_any_call(tmp_path):
    place = tmp_path / "m"
    total = calls_of_the_third_save(place)
    assert total > 20
    seen = set()
    for at in range(1, total + 1):
        manager = three(place)
        manager._system = DiesAt(at)
        with pytest.raises(Stop):
            manager.save()
        seen.add(restored(place))
        later = make(place)
        later.restore_or_initialize()
        fill(later, 4.0)
        later.save()
        later.save()
        assert restored(place) == 4.0
        left = [name for name in os.listdir(place) if name.startswith("ckpt-")]
        # what died between its manifest and the state file is not a checkpoint of the list; the next of that number replaces it
        assert len(left) <= 3, left
    assert seen == {2.0, 3.0}


def test_the_system_may_refuse_any_call(tmp_path):
    place = tmp_path / "m"
    total = calls_of_the_third_save(place)
    for at in range(1, total + 1):
        manager = three(place)
        manager._system = FailsAt(at, errno.ENOSPC)
        before = int(manager.checkpoint.save_counter)
        try:
            path = manager.save()
        except OSError:
            assert int(manager.checkpoint.save_counter) in (before, before + 1)
        else:
            assert path == manager.latest_checkpoint
        assert restored(place) in (2.0, 3.0)
        names = [name for _, _, found in os.walk(place) for name in found if name.startswith(TEMPORARY)]
        assert len(names) <= 1, names  # removing it is what failed


def test_a_save_that_fails_counts_nothing(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    (tmp_path / "file").write_text("x")
    with pytest.raises(SaveFailedError):
        checkpoint.save(tmp_path / "file" / "ckpt")
    assert int(checkpoint.save_counter) == 0
    (tmp_path / "ckpt-1").write_text("x")
    with pytest.raises(OSError, match="is a file"):
        checkpoint.save(tmp_path / "ckpt")
    assert int(checkpoint.save_counter) == 0 and tf.train.latest_checkpoint(tmp_path) is None


def test_damage_is_found_and_nothing_restored(tmp_path):
    rng = random.Random(5)
    checkpoint = tf.train.Checkpoint(a=tf.Variable(np.arange(3000.0)), b=tf.Variable(1.0), l=[tf.Variable(2)])
    path = checkpoint.write(tmp_path / "x")
    files = [os.path.join(root, name) for root, _, names in os.walk(path) for name in names]
    contents = {file: pathlib.Path(file).read_bytes() for file in files}
    for number in range(60):
        file = rng.choice(files)
        data = bytearray(contents[file])
        if number % 3 == 0:
            data = data[: rng.randrange(len(data))]
        else:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with open(file, "wb") as out:
            out.write(data)
        a, b = tf.Variable(np.zeros(3000)), tf.Variable(0.0)
        with pytest.raises(LoadError):
            tf.train.Checkpoint(a=a, b=b, l=[tf.Variable(0)]).read(path)
        assert float(b) == 0.0 and not np.any(a.numpy())
        with open(file, "wb") as out:
            out.write(contents[file])
    tf.train.Checkpoint(a=a, b=b, l=[tf.Variable(0)]).read(path).assert_consumed()


def forged(rng: random.Random, body: dict) -> dict:
    """The body of a manifest with other children, names, kinds and keys of objects."""
    objects = body["objects"]
    for _ in range(rng.randrange(1, 4)):
        node, children = rng.choice(objects)
        kind = rng.randrange(6)
        if kind == 0 and children:
            rng.choice(children)[1] = rng.randrange(len(objects) + 2)
        elif kind == 1 and children:
            rng.choice(children)[0] = rng.choice(
                ["", "0", "slot_variables", "v", "m", "kernel", "a/b", "x" * 300, "_graphad_x"]
            )
        elif kind == 2:
            children.append(
                [rng.choice(["slot_variables", "layers", "9", "opt"]), rng.randrange(len(objects))]
            )
        elif kind == 3:
            node[:] = rng.choice([[3], [4, None], [5, None, None], [0, "X", []], [7]])
        elif kind == 4 and children:
            children.pop(rng.randrange(len(children)))
        else:
            body["features"] = []
    return body


def test_forged_manifests_are_refused_by_name_or_restored_in_part(tmp_path):
    def make():
        net = tf.keras.Sequential([tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)])
        net(tf.zeros([1, 3]))
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build(net.trainable_variables)
        return tf.train.Checkpoint(net=net, opt=optimizer, all=[tf.Variable(1.0), (tf.Variable(2.0),)])

    path = make().write(tmp_path / "x")
    manifest = os.path.join(path, MANIFEST)
    whole = pathlib.Path(manifest).read_bytes()
    rng = random.Random(23)
    refused = read = 0
    for _ in range(300):
        pathlib.Path(manifest).write_bytes(whole)
        rewrite_body(path, lambda body: forged(rng, body))
        checkpoint = make()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status = checkpoint.read(path).expect_partial()
                checkpoint.more = []
                checkpoint.net.add(tf.keras.layers.Dense(1))
                checkpoint.net(tf.zeros([1, 3]))
            with contextlib.suppress(AssertionError):
                status.assert_consumed()
            tf.train.load_checkpoint(path).debug_string()
            read += 1
        except LoadError:
            refused += 1
        except ValueError as error:
            assert "restore" in str(error), error
    assert refused > 30 and read > 30


def test_long_names_in_long_chains_are_refused_before_they_take_memory(tmp_path):
    from serialization.checkpoint.saved import saved_of_model
    from serialization.errors import LimitExceededError
    from serialization.schema.model import DictNode, ModelRecord, ObjectRecord

    name = "n" * 1000
    objects = tuple(ObjectRecord(DictNode(), ((name, i + 1),) if i < 9999 else ()) for i in range(10_000))
    with pytest.raises(LimitExceededError, match="paths have more letters"):
        saved_of_model("x", ModelRecord("p", objects=objects), {})


def test_deep_structures_are_no_recursion(tmp_path):
    def chain(value):
        first = last = tf.Module()
        for _ in range(3000):
            last.inner = tf.Module()
            last = last.inner
        last.v = tf.Variable(value)
        return first, last

    first, _ = chain(5.0)
    path = tf.train.Checkpoint(first).write(tmp_path / "x")
    second, last = chain(0.0)
    tf.train.Checkpoint(second).read(path).assert_consumed()
    assert float(last.v) == 5.0


def test_threads_save_and_restore_at_once(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(np.full(3000, 0.0)))
    first = checkpoint.write(tmp_path / "start")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(5):
                other = tf.train.Checkpoint(v=tf.Variable(np.full(3000, float(number))))
                path = other.write(tmp_path / f"{number}-{i}")
                fresh = tf.train.Checkpoint()
                fresh.read(path)
                fresh.v = tf.Variable(np.zeros(3000))
                assert fresh.v.numpy()[0] == number
                checkpoint.read(first if i % 2 else path)
                assert len(set(checkpoint.v.numpy().tolist())) == 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def _save_often(place: str, value: float, count: int) -> None:
    manager = make(place, value)
    for _ in range(count):
        try:
            manager.save()
        except SaveFailedError as error:
            assert "another save" in str(error) or "another process" in str(error), error


def test_two_processes_save_into_one_directory(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_save_often, args=(str(tmp_path), value, 12)) for value in (1.0, 2.0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    path = tf.train.latest_checkpoint(tmp_path)
    assert path is not None
    v = tf.Variable(np.zeros(2000))
    tf.train.Checkpoint(v=v).restore(path).expect_partial()
    assert set(v.numpy().tolist()) in ({1.0}, {2.0})


def test_no_manifest_is_no_checkpoint(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "ckpt")
    os.unlink(os.path.join(path, MANIFEST))
    assert tf.train.latest_checkpoint(tmp_path) is None
    with pytest.raises(OSError, match="there is no checkpoint"):
        tf.train.load_checkpoint(path)
