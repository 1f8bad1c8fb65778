"""Several savers where the file system gives no locks: whatever they do to each other, the model that is left is whole."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import shutil

import pytest

from serialization.errors import SaveFailedError
from serialization.storage.places import ASSETS, MANIFEST, VARIABLES
from serialization.wire.files import LOCK, TEMPORARY, FileSystem, Lock
from tests.serialization.test_commit import (
    DiesAt,
    FailsAt,
    Recorder,
    Stop,
    fresh,
    leftovers,
    place,
    save,
    several_small_payloads,
    state,
)

__all__ = ["place", "several_small_payloads"]  # fixtures

_flock = fcntl.flock


@pytest.fixture
def no_locks(monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


class Meets(Recorder):
    """Runs `other` just before its call number `at`, and stops as a dead process does at number `dies`."""

    def __init__(self, at, other, dies=None):
        super().__init__()
        self.at, self.other, self.dies = at, other, dies

    def act(self, name, number):
        if number == self.at:
            self.other()
        if self.dies is not None and number >= self.dies:
            raise Stop


def calls_without_locks(place):
    recorder = Recorder()
    save(place, "new", system=recorder)
    return len(recorder.log)


def test_nothing_is_removed_without_a_lock(place, no_locks):
    fresh(place)
    before = set(os.listdir(place / "model" / VARIABLES))
    (place / "model" / f"{TEMPORARY}1-1").write_text("of a save that still runs, perhaps")
    recorder = Recorder()
    save(place, "new", system=recorder)
    assert state(place) == "new" and "remove" not in recorder.log and "remove_directory" not in recorder.log
    assert before <= set(os.listdir(place / "model" / VARIABLES))
    assert len(leftovers(place)) == 1


def test_a_failed_save_without_a_lock_leaves_files_that_another_may_rely_on(place, no_locks):
    fresh(place)
    count = calls_without_locks(place)
    for at in range(1, count + 1):
        shutil.rmtree(place / "model")
        fresh(place)

        class Fails(FailsAt):
            def act(self, name, number):
                if number == self.at:
                    save(place, "new")  # the same files, which it found or replaced
                super().act(name, number)

        with pytest.raises(SaveFailedError):
            save(place, "new", system=Fails(at, errno.EIO))
        assert state(place) == "new"


@pytest.mark.parametrize("other", ["old", "new"])
def test_a_whole_save_at_any_step_of_another_leaves_a_whole_model(place, no_locks, other):
    fresh(place)
    count = calls_without_locks(place)
    for at in range(1, count + 1):
        fresh(place)
        save(place, "new", system=Meets(at, lambda: save(place, other, durable=False)))
        assert state(place) in ("new", other)


def test_two_savers_that_die_at_any_step_leave_a_whole_model(place, no_locks):
    fresh(place)
    count = calls_without_locks(place)

    def dying(step):
        with pytest.raises(Stop):
            save(place, "old", system=DiesAt(step))

    for at in range(1, count + 1):
        fresh(place)
        with pytest.raises(Stop):
            meets = Meets(at, lambda: dying(1 + at % 17), dies=at + 2 if at + 2 <= count else at)  # noqa: B023
            save(place, "new", system=meets)
        assert state(place) in ("new", "old")
        save(place, "new")
        assert state(place) == "new"


def test_a_saver_with_a_lock_beside_one_without_is_whole_or_an_error(place, monkeypatch):
    """One machine's locks work, the other's do not: both look again, the one that removes and the one that loses files."""

    def unlocked(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                Lock, "__init__", lambda lock, directory: vars(lock).update(held=False, _descriptor=-1)
            )
            save(place, name, durable=False)

    fresh(place)
    recorder = Recorder()
    save(place, "new", system=recorder)
    count, commit = len(recorder.log), max(k for k, name in enumerate(recorder.log, 1) if name == "rename")
    for other in ("old", "new"):
        for at in range(1, count + 1):
            fresh(place)
            meets = Meets(at, lambda: unlocked(other))  # noqa: B023
            try:
                save(place, "new", system=meets)
            except SaveFailedError as error:
                assert "does not keep two saves apart" in str(error) and meets.log[at - 1] == "remove"
            else:
                # the last commit counts, unless its files went while the other was removing and had to write again
                assert state(place) == other or at <= commit or meets.log[at - 1] == "remove"


def test_a_writer_whose_files_are_removed_before_its_commit_writes_them_again(place, no_locks):
    """As a second writer with a lock would, which finishes between the payloads and the manifest of the first."""
    fresh(place)

    class Robbed(FileSystem):
        def __init__(self, times):
            self.times = times

        def rename(self, old, new):
            if os.path.basename(new) == MANIFEST and self.times:
                self.times -= 1
                for folder in (VARIABLES, ASSETS):
                    shutil.rmtree(place / "model" / folder)
                    os.mkdir(place / "model" / folder)
            super().rename(old, new)

    save(place, "new", system=Robbed(2))
    assert state(place) == "new"
    with pytest.raises(SaveFailedError, match="another process removes what this one writes"):
        save(place, "old", system=Robbed(100))


def _saver(place, name, count):
    fcntl.flock = _without_locks
    for _ in range(count):
        save(place, name, durable=False)
    os._exit(0)


def _without_locks(descriptor, operation):
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def test_two_processes_without_locks_both_succeed_and_leave_a_whole_model(place):
    fresh(place)
    context = multiprocessing.get_context("fork")
    savers = [context.Process(target=_saver, args=(place, name, 30)) for name in ("old", "new")]
    for saver in savers:
        saver.start()
    while any(saver.is_alive() for saver in savers):
        assert state(place) in ("old", "new")
    assert [saver.exitcode for saver in savers] == [0, 0]
    assert state(place) in ("old", "new")
    save(place, "new")  # with a lock again: everything that is not needed goes
    assert state(place) == "new" and not leftovers(place)
    assert len(os.listdir(place / "model" / VARIABLES)) == 2


def test_the_lock_is_a_file_opened_for_writing_and_gone_afterwards(place, monkeypatch):
    modes = []

    def noted(descriptor, operation):
        modes.append(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE)
        _flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", noted)
    fresh(place)
    save(place, "new")
    assert set(modes) == {os.O_RDWR} and not (place / "model" / LOCK).exists()
    with Lock(str(place / "model")), pytest.raises(SaveFailedError, match="another save"):
        save(place, "old")
    os.symlink(place / "elsewhere", place / "model" / LOCK)
    with pytest.raises(SaveFailedError):
        save(place, "old")
    assert state(place) == "new" and not (place / "elsewhere").exists()


def test_the_lock_file_of_another_user_is_as_good_as_no_lock(place, monkeypatch):
    fresh(place)
    (place / "model" / LOCK).write_bytes(b"")
    (place / "model" / f"{TEMPORARY}1-1").write_bytes(b"")
    real = os.open

    def refuse(path, *rest, **options):
        if os.path.basename(path) == LOCK:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    save(place, "new")
    monkeypatch.undo()
    assert state(place) == "new" and (place / "model" / LOCK).exists() and len(leftovers(place)) == 1


def test_a_lock_file_that_its_owner_removes_is_no_lock(tmp_path, monkeypatch):
    """Opened by a second writer, then removed by the first: the second takes the file that stands there by then."""
    first = Lock(str(tmp_path))

    def late(descriptor, operation):
        monkeypatch.setattr(fcntl, "flock", _flock)
        first.close()
        third.append(Lock(str(tmp_path)))
        _flock(descriptor, operation)

    third = []
    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(SaveFailedError, match="another save"):
        Lock(str(tmp_path))
    assert third[0].held
    third[0].close()
    with Lock(str(tmp_path)) as lock:
        assert lock.held
