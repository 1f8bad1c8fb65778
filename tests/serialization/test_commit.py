"""Whatever stops a save, and wherever: a reader finds the old model or the new one, whole."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from serialization.errors import LoadError, SaveError, SaveFailedError
from serialization.schema.model import AssetNode, ModelRecord, ModuleNode, ObjectRecord
from serialization.storage.places import ASSETS, MANIFEST, VARIABLES
from serialization.storage.read import read_model
from serialization.storage.write import write_model
from serialization.wire import arrays as wire_arrays
from serialization.wire.files import TEMPORARY, FileSystem

WAIT = 600.0  # until a hang counts as one


def model(name: str) -> ModelRecord:
    return ModelRecord(
        name, objects=(ObjectRecord(ModuleNode("M"), (("a", 1),)), ObjectRecord(AssetNode(0)))
    )  # fmt: skip


def values(name: str) -> dict[str, np.ndarray[Any, Any]]:
    # "shared" is in a file of its own and the same in both models: replacing it must not lose it
    return {
        "shared": np.arange(2000.0),
        "x": np.full(2000, {"old": 1.0, "new": 2.0}[name]),
        "b": np.full(3, {"old": 1.0, "new": 2.0}[name]),
    }


@pytest.fixture(autouse=True)
def several_small_payloads(monkeypatch):
    monkeypatch.setattr(wire_arrays, "PAYLOAD_BYTES", 16_100)
    # one writer at a time: the order of calls is the same in every run
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(
        "serialization.storage.write.side_by_side",
        lambda write, groups, **_: [write(group) for group in groups],
    )


@pytest.fixture
def place(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.txt").write_text(name)
    return tmp_path


def save(place, name, **options):
    write_model(str(place / "model"), model(name), values(name), [place / name / "words.txt"], **options)


def state(place) -> str:
    """ "old" or "new", after checking every byte."""
    found, arrays = read_model(place / "model", verify=True)
    name = found.producer
    for key, array in values(name).items():
        assert np.array_equal(arrays[key], array)
    with open(arrays.asset_path(0)) as file:
        assert file.read() == name
    return name


def leftovers(path) -> list[str]:
    return [
        os.path.join(root, name)
        for root, _, names in os.walk(path)
        for name in names
        if name.startswith(TEMPORARY)
    ]


class Stop(BaseException):
    """The process has died here: nothing after it happens."""


class Recorder(FileSystem):
    """Counts the calls; `act` may stop or fail one."""

    CALLS = (
        "make_directory", "create", "write", "flush", "close", "rename", "remove", "remove_directory", "flush_directory",
    )  # fmt: skip

    def __init__(self) -> None:
        self.log: list[str] = []

    def act(self, name: str, number: int) -> None:
        """Called before each call."""


def _wrapped(name: str) -> Any:
    def call(self: Recorder, *arguments: Any) -> Any:
        self.log.append(name)
        self.act(name, len(self.log))
        return getattr(FileSystem, name)(self, *arguments)

    return call


for _name in Recorder.CALLS:
    setattr(Recorder, _name, _wrapped(_name))


class DiesAt(Recorder):
    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def act(self, name, number):
        if number >= self.at:  # also every call of the clean-up: a dead process cleans nothing
            raise Stop


class FailsAt(Recorder):
    def __init__(self, at: int, code: int) -> None:
        super().__init__()
        self.at, self.code = at, code

    def act(self, name, number):
        if number == self.at:
            raise OSError(self.code, os.strerror(self.code), "somewhere")


def calls_of_a_save(place) -> int:
    recorder = Recorder()
    save(place, "new", system=recorder)
    return len(recorder.log)


def fresh(place) -> None:
    shutil.rmtree(place / "model", ignore_errors=True)
    save(place, "old", durable=False)


def test_order_of_calls_is_blobs_then_manifest_then_removal(place):
    fresh(place)
    recorder = Recorder()
    save(place, "new", system=recorder)
    log = recorder.log
    last_rename = len(log) - 1 - log[::-1].index("rename")
    first_remove = log.index("remove")
    # the manifest is flushed, then the names of all it refers to, before it gets its own
    last_flush = last_rename - 1 - log[:last_rename][::-1].index("flush")
    assert (
        set(log[last_flush + 1 : last_rename - 1]) == {"flush_directory"} and log[last_rename - 1] == "close"
    )
    assert log[last_rename + 1] == "flush_directory" and first_remove > last_rename + 1
    assert log.count("flush") == log.count("rename") == log.count("create") == 4
    assert state(place) == "new"


def test_death_at_every_call_leaves_old_or_new(place):
    fresh(place)
    count = calls_of_a_save(place)
    seen = []
    for at in range(1, count + 1):
        fresh(place)
        with pytest.raises(Stop):
            save(place, "new", system=DiesAt(at))
        seen.append(state(place))
        if at % 5 == 0:
            save(place, "new")  # the next save works and cleans up
            assert state(place) == "new" and not leftovers(place)
    assert seen == sorted(seen, reverse=True) and set(seen) == {"old", "new"}


def test_death_at_every_call_of_a_first_save_leaves_none_or_new(place):
    count = calls_of_a_save(place)
    for at in range(1, count + 1):
        shutil.rmtree(place / "model", ignore_errors=True)
        with pytest.raises(Stop):
            save(place, "new", system=DiesAt(at))
        try:
            assert state(place) == "new"
        except FileNotFoundError:
            assert not (place / "model" / MANIFEST).exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_error_at_every_call_is_a_save_error_and_leaves_nothing_behind(place, code):
    fresh(place)
    count = calls_of_a_save(place)
    for at in range(1, count + 1):
        fresh(place)
        before = sorted(os.walk(place / "model"))
        system = FailsAt(at, code)
        try:
            save(place, "new", system=system)
        except SaveFailedError as error:
            assert error.errno == code and isinstance(error, OSError) and str(error).startswith("save: ")
        else:
            assert system.log[at - 1] in ("remove", "remove_directory"), "only tidying up may fail quietly"
        if state(place) == "old":
            assert sorted(os.walk(place / "model")) == before, system.log[at - 1]
        assert not leftovers(place)


def test_error_in_a_first_save_leaves_nothing_at_all(place):
    count = calls_of_a_save(place)
    for at in range(1, count + 1):
        shutil.rmtree(place / "model", ignore_errors=True)
        system = FailsAt(at, errno.ENOSPC)
        try:
            save(place, "new", system=system)
        except SaveFailedError:
            if not (place / "model" / MANIFEST).exists():
                assert not (place / "model").exists(), (at, system.log[at - 1])


def test_interrupt_at_every_call_leaves_old_or_new(place):
    class Interrupted(FailsAt):
        def act(self, name, number):
            if number == self.at:
                raise KeyboardInterrupt

    fresh(place)
    for at in range(1, calls_of_a_save(place) + 1):
        fresh(place)
        with pytest.raises(KeyboardInterrupt):
            save(place, "new", system=Interrupted(at, 0))
        assert state(place) in ("old", "new")


def test_short_writes_are_continued(place):
    class Slow(FileSystem):
        def write(self, descriptor, data):
            return os.write(descriptor, data[: max(1, len(data) // 3)])

    save(place, "new", system=Slow())
    assert state(place) == "new"


class Journal(FileSystem):
    """Keeps what a disk may hold if power fails: flushed contents, and names in the order they were given."""

    def __init__(self) -> None:
        self.files: dict[int, tuple[str, bytearray, list[bool]]] = {}
        self.events: list[tuple[Any, ...]] = []

    def make_directory(self, path):
        super().make_directory(path)
        self.events.append(("name", path, None, None))

    def create(self, path):
        descriptor = super().create(path)
        self.files[descriptor] = (path, bytearray(), [False])
        self.events.append(("name", path, *self.files[descriptor][1:]))
        return descriptor

    def write(self, descriptor, data):
        self.files[descriptor][1].extend(data)
        return super().write(descriptor, data)

    def flush(self, descriptor):
        self.events.append(("flush", self.files[descriptor][2]))
        super().flush(descriptor)

    def rename(self, old, new):
        self.events.append(("rename", old, new))
        super().rename(old, new)

    def remove(self, path):
        super().remove(path)
        self.events.append(("remove", path))

    def flush_directory(self, path):
        self.events.append(("flush_directory", path))
        super().flush_directory(path)


def test_power_failure_at_any_time_leaves_old_or_new(place):
    """Replays prefixes of the log; names not flushed may be lost in any order, contents not flushed are any garbage."""
    fresh(place)
    start = place / "start"
    shutil.copytree(place / "model", start)
    journal = Journal()
    save(place, "new", system=journal)
    chooser = random.Random(0)
    seen = set()
    here = str(place / "model")
    for _ in range(200):
        cut = chooser.randrange(len(journal.events) + 1)
        shutil.rmtree(here)
        shutil.copytree(start, here)
        done = journal.events[:cut]
        flushed = [i for i, event in enumerate(done) if event[0] == "flush_directory"]
        contents = {id(flag) for kind, *rest in done if kind == "flush" for flag in rest}
        lose = chooser.random()
        for i, event in enumerate(done):
            if event[0] not in ("name", "rename", "remove"):
                continue
            path = event[2] if event[0] == "rename" else event[1]
            certain = any(j > i and done[j][1] == os.path.dirname(path) for j in flushed)
            if not certain and chooser.random() < lose:
                continue
            if event[0] == "remove":
                if os.path.exists(path):
                    os.remove(path)
            elif event[0] == "rename":
                if os.path.exists(event[1]):
                    os.replace(event[1], event[2])
                else:  # the creation was lost, the rename was not: the content is the file's all the same
                    source = next(e for e in done if e[0] == "name" and e[1] == event[1])
                    _put(path, source, contents, chooser)
            elif event[2] is None:
                os.makedirs(path, exist_ok=True)
            else:
                _put(path, event, contents, chooser)
        seen.add(state(place))
    assert seen == {"old", "new"}


def _put(path, event, contents, chooser):
    data = bytes(event[2])
    if id(event[3]) not in contents:  # never flushed: a prefix, zeros or nothing may be there
        data = chooser.choice([b"", data[: chooser.randrange(len(data) + 1)], bytes(len(data))])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


_CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from pathlib import Path
import serialization.storage.write as storage
from tests.serialization import test_commit
test_commit.wire_arrays.PAYLOAD_BYTES = 16_100
storage.side_by_side = lambda write, groups, **_: [write(group) for group in groups]
test_commit.save(Path(sys.argv[2]), "new")
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("call", ["rename", "fsync", "unlink"])
def test_killed_by_the_system_at_each_call(place, call):
    seen = []
    for when in range(1, 20):
        fresh(place)
        command = [
            "strace",
            "-f",
            "-qq",
            "-o",
            os.devnull,
            "-e",
            f"trace={call}",
            "-e",
            f"inject={call}:signal=KILL:when={when}",
        ]
        done = subprocess.run(
            [*command, sys.executable, "-c", _CHILD, os.getcwd(), str(place)], capture_output=True
        )
        if done.returncode == 0:
            break
        if b"ptrace" in done.stderr or b"not permitted" in done.stderr:
            pytest.skip("strace may not trace here")
        seen.append(state(place))
    assert seen and seen == sorted(seen, reverse=True)
    assert (seen[0], seen[-1]) == {
        "rename": ("old", "old"),
        "fsync": ("old", "new"),
        "unlink": ("new", "new"),
    }[call]


def test_second_writer_is_refused_while_the_first_one_writes(place):
    inside, go_on = threading.Event(), threading.Event()

    class Waiting(FileSystem):
        def flush(self, descriptor):
            inside.set()
            assert go_on.wait(WAIT)
            super().flush(descriptor)

    fresh(place)
    first = threading.Thread(target=lambda: save(place, "new", system=Waiting()))
    first.start()
    assert inside.wait(WAIT)
    try:
        with pytest.raises(SaveFailedError, match="another save"):
            save(place, "old")
        assert state(place) == "old"
    finally:
        go_on.set()
        first.join()
    assert state(place) == "new"


def _writer(place, stop, saved):
    while not stop.is_set():
        try:
            save(place, ("old", "new")[saved.value % 2], durable=False)
        except SaveFailedError:
            continue
        saved.value += 1
    os._exit(0)


def test_readers_beside_a_writer_see_whole_models_only(place):
    fresh(place)
    context = multiprocessing.get_context("fork")
    stop, saved = context.Event(), [context.Value("i", 0) for _ in range(2)]
    writers = [context.Process(target=_writer, args=(place, stop, count)) for count in saved]
    for writer in writers:
        writer.start()
    seen = {"old": 0, "new": 0}
    end = time.monotonic() + WAIT
    try:
        while min(seen.values()) < 10 or min(count.value for count in saved) < 6:
            assert time.monotonic() < end, (seen, [count.value for count in saved])
            found, arrays = read_model(place / "model", verify="lazy")
            name = found.producer
            assert all(np.array_equal(arrays[key], array) for key, array in values(name).items())
            seen[name] += 1
    finally:
        stop.set()
        for writer in writers:
            writer.join(WAIT)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert state(place) in ("old", "new") and not leftovers(place)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_directory_without_permission_is_a_save_error(place):
    fresh(place)
    os.chmod(place / "model", 0o500)
    try:
        with pytest.raises(SaveFailedError):
            save(place, "new")
    finally:
        os.chmod(place / "model", 0o700)
    assert state(place) == "old"


def test_models_that_could_not_be_loaded_are_not_saved(place):
    fresh(place)
    bad = model("new").replace(objects=(ObjectRecord(ModuleNode("M"), (("a", 7),)),))
    with pytest.raises(SaveError, match=r"objects\[0\]: child 'a' is object 7 of 1"):
        write_model(place / "model", bad, values("new"))
    assert state(place) == "old" and not leftovers(place)


def test_several_writers_of_payloads_raise_the_first_failure(place, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(wire_arrays, "PAYLOAD_BYTES", 1000)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    fresh(place)
    for at in range(1, 60, 5):
        with pytest.raises(SaveFailedError):
            save(place, "new", system=FailsAt(at, errno.ENOSPC))
            raise SaveFailedError("past the end", errno.ENOSPC)
        assert not leftovers(place)
        try:
            state(place)
        except LoadError as error:
            raise AssertionError from error


def test_layout_of_the_directory(place):
    save(place, "new")
    assert sorted(os.listdir(place / "model")) == [ASSETS, MANIFEST, VARIABLES]
    (inner,) = os.listdir(place / "model" / ASSETS)
    assert len(inner) == 32 and os.listdir(place / "model" / ASSETS / inner) == ["words.txt"]
    assert all(len(name) == 32 + len(".safetensors") for name in os.listdir(place / "model" / VARIABLES))
