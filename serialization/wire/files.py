"""Files: written beside their place and renamed, opened only if they are plain files inside the model's
directory.

All system calls of a save go through `FileSystem`, so that tests can make each of them fail, stop or be
recorded. Opening is relative to descriptors of directories already opened, so that no link swapped in between
leads outside.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from serialization.errors import CorruptModelError, SaveFailedError, UnsafeModelError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TEMPORARY = ".graphad-tmp-"
LOCK = ".graphad-lock"
STEP_BYTES = 4 << 20  # so many per system call, and so many after which the disk may begin

_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_READ = (
    os.O_RDONLY
    | _NO_LINKS
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_WRITE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | _NO_LINKS
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_LOCKED = (
    os.O_RDWR
    | os.O_CREAT
    | _NO_LINKS
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_numbers = itertools.count(1)  # taken by several threads: next() is atomic
_RELATIVE = os.open in os.supports_dir_fd


class FileSystem:
    """The system calls that a save makes; tests subclass it."""

    def make_directory(self, path: str) -> None:
        os.mkdir(path)

    def create(self, path: str) -> int:
        return os.open(path, _WRITE, 0o666)

    def write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def start_flush(self, descriptor: int, start: int, size: int) -> None:
        """Let the disk begin with these bytes, without waiting for it."""
        # On Linux this advice writes dirty pages back, and forgets only those that are on the disk by then.
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(descriptor, start, size, os.POSIX_FADV_DONTNEED)

    def flush(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def flush_directory(self, path: str) -> None:
        if sys.platform == "win32":
            return
        descriptor = os.open(path, os.O_RDONLY | _DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Temporary:
    """A new file beside its final place: nobody sees it before `commit`, nothing is left of it otherwise."""

    def __init__(self, system: FileSystem, directory: str, durable: bool = True) -> None:
        self.path = os.path.join(
            directory, f"{TEMPORARY}{os.getpid()}-{next(_numbers)}-{os.urandom(4).hex()}"
        )
        self._directory = directory
        self._system = system
        self._durable = durable
        self._committed = False
        self._started = 0
        self.size = 0
        self._descriptor = system.create(self.path)

    def write(self, data: memoryview) -> None:
        while len(data):
            count = self._system.write(self._descriptor, data[:STEP_BYTES])
            self.size += count
            data = data[count:]
            # whole steps of the file only: a page that is on its way to the disk would make the next write to it wait
            end = self.size - self.size % STEP_BYTES
            if self._durable and end > self._started:
                self._system.start_flush(self._descriptor, self._started, end - self._started)
                self._started = end

    def flush(self) -> None:
        """Wait until the disk has it all, if this file is to be durable."""
        if self._durable:
            self._system.flush(self._descriptor)

    def commit(self, name: str) -> str:
        """Give the file its name."""
        descriptor, self._descriptor = self._descriptor, -1
        self._system.close(descriptor)
        final = os.path.join(self._directory, name)
        self._system.rename(self.path, final)
        self._committed = True
        return final

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        if not self._committed:
            remove_quietly(self._system, [self.path])


def remove_quietly(system: FileSystem, paths: Iterable[str]) -> None:
    """Remove what can be removed: what is left costs only space, and the next save tries again."""
    for path in paths:
        try:
            system.remove(path)
        except OSError:
            continue


class Lock:
    """Keeps other writers away from a directory until closed, or until this process dies.

    What is locked is a file opened for writing: network file systems give no lock on a directory.

    Attributes:
      held: Whether it does. Some file systems have no locks at all; then whoever writes must spare what others may need.
    """

    def __init__(self, directory: str) -> None:
        self.held = False
        self._path = os.path.join(directory, LOCK)
        self._descriptor = -1
        while True:
            try:
                self._descriptor = os.open(self._path, _LOCKED, 0o666)
            except PermissionError:
                return  # another user's, left behind or not: as if there were no locks
            try:
                _lock(self._descriptor)
            except BlockingIOError as error:
                self._descriptor = _closed(self._descriptor)
                raise SaveFailedError(
                    f"{directory}: another save into this directory is running.", error.errno
                ) from None
            except OSError:
                return
            if self._is_in_place():
                self.held = True
                return
            # Its owner has just removed it: there may be another by now.
            self._descriptor = _closed(self._descriptor)

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self._path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        if self.held and sys.platform != "win32":  # where an open file cannot be removed, it stays
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        self.held = False
        self._descriptor = _closed(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock(descriptor: int) -> None:
    """Raises: BlockingIOError: somebody else has it; OSError: this file system has no locks."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                raise BlockingIOError(error.errno, "locked") from error
            raise


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1


class Directory:
    """A directory being read: opens plain files in it, and nothing else.

    Args:
      follow: Links lead to them as well: for stores that keep a model's files elsewhere.
    """

    def __init__(
        self, path: str, parent: Directory | None = None, name: str = "", *, follow: bool = False
    ) -> None:
        self.path = path
        self.follow = follow
        self.descriptor = -1
        if not _RELATIVE:
            if parent is not None and not follow and os.path.islink(path):
                raise UnsafeModelError(_IS_LINK)
            return
        if parent is None:
            self.descriptor = os.open(path, os.O_RDONLY | _DIRECTORY)
            return
        try:
            links = 0 if follow else _NO_LINKS
            self.descriptor = os.open(name, os.O_RDONLY | _DIRECTORY | links, dir_fd=parent.descriptor)
        except OSError as error:
            raise _refusal(path, error) from error

    def inner(self, name: str) -> Directory:
        return Directory(os.path.join(self.path, name), self, name, follow=self.follow)

    def open(self, name: str) -> tuple[int, int]:
        """Descriptor and size of the plain file `name`."""
        path = os.path.join(self.path, name)
        flags = _READ & ~_NO_LINKS if self.follow else _READ
        try:
            if self.descriptor >= 0:
                descriptor = os.open(name, flags, dir_fd=self.descriptor)
            else:
                if not self.follow and os.path.islink(path):
                    raise UnsafeModelError(_IS_LINK)
                descriptor = os.open(path, flags)
        except OSError as error:
            raise _refusal(path, error) from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnsafeModelError("it is not a plain file (a pipe, device or directory).")
            if status.st_nlink > 1 and not self.follow:
                raise UnsafeModelError(
                    "it has more than one hard link; copy the model instead of linking it, or load it with links='follow'."
                )
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, status.st_size

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_IS_LINK = "it is a link; a model's files must be plain files, unless it is loaded with links='follow'."


def _refusal(path: str, error: OSError) -> Exception:
    if isinstance(error, FileNotFoundError | PermissionError):
        # with the whole path: the system call had only the name
        return type(error)(error.errno, os.strerror(error.errno or 0), path)
    if os.path.islink(path):
        return UnsafeModelError(_IS_LINK)
    if isinstance(error, NotADirectoryError):
        return CorruptModelError("it is not a directory.")
    return UnsafeModelError(f"it is not a plain file ({os.strerror(error.errno or 0)}).")


def read_exactly(descriptor: int, size: int) -> bytearray:
    """`size` bytes from the start of a file that is at least that long."""
    data = bytearray(size)
    view = memoryview(data)
    done = 0
    while done < size:
        count = (
            os.readv(descriptor, [view[done:]])
            if hasattr(os, "readv")
            else _read_into(descriptor, view[done:])
        )
        if not count:
            raise CorruptModelError(f"the file ends after {done} bytes where {size} were announced.")
        done += count
    return data


def _read_into(descriptor: int, view: memoryview) -> int:
    part = os.read(descriptor, len(view))
    view[: len(part)] = part
    return len(part)
