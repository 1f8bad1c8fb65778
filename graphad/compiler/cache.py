"""Object code on disk: one file per key, checksummed, written whole or not at all, bounded in size.

A file is magic, checksum, payload. The checksum is that of key and payload, and the key that of source text, platform, processor
and versions: a file under the wrong name counts as damaged. Any fault (truncated, altered, swapped, another user's) makes the
entry a miss, and the file is removed. If the directory cannot be written, or other users may write it, the cache stays in
memory. Nothing here raises, and no lock is needed between processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from typing import TYPE_CHECKING

from graphad.core import forks
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from pathlib import Path

# Paths are strings here: a process that finds all of its code spends a tenth of its first call on importing `pathlib`.

MAGIC = b"graphad-object-2\n"
SUFFIX = ".gobj"
LIMIT = 256 << 20  # bytes on disk before the oldest files are removed
SWEEP = 64  # writes between two checks of the size
_HEADER = len(MAGIC) + 32


class Entry(Record):
    """One cached file."""

    key: str
    path: Path
    size: int
    modified: float


def default_directory() -> str | None:
    """GRAPHAD_CACHE_DIR, else this platform's directory for a user's caches; None if there is none."""
    named = os.environ.get("GRAPHAD_CACHE_DIR")
    if named:
        return named
    home = os.path.expanduser("~")
    if not home or home.startswith("~"):
        return None
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(caches, "graphad", "cache")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "graphad")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "graphad")


class KernelCache:
    """Object code by key. `path` None: in memory only."""

    def __init__(self, path: str | os.PathLike[str] | None, limit: int = LIMIT) -> None:
        self._folder = None if path is None else os.fspath(path)
        self.limit = limit
        self._memory: dict[str, bytes] = {}  # entries that could not be written
        self._lock = forks.lock()
        self._writes = 0
        self._ready: bool | None = None
        self._private: bool | None = None

    @property
    def path(self) -> Path | None:
        """The directory; None where there is none."""
        from pathlib import Path

        return None if self._folder is None else Path(self._folder)

    def get(self, key: str) -> bytes | None:
        """The payload stored under `key`, None if there is none or it is damaged."""
        kept = self._memory.get(key)
        if kept is not None or self._folder is None or not self._is_private():
            return kept
        file = self._file(key)
        try:
            with open(file, "rb", opener=_open_at_once) as stream:
                if not _is_ours(os.fstat(stream.fileno())):
                    return None
                data = stream.read()
        except OSError:
            return None
        payload = data[_HEADER:]
        if data[: len(MAGIC)] == MAGIC and _checksum(key, payload) == data[len(MAGIC) : _HEADER]:
            return payload
        self.discard(key)
        return None

    def put(self, key: str, payload: bytes) -> None:
        """Store `payload`; in memory when the directory cannot be written."""
        if not self._is_writable() or not self._write(key, payload):
            with self._lock:
                self._memory[key] = payload
            return
        with self._lock:
            self._writes += 1
            due = self._writes % SWEEP == 1
        if due:
            self.sweep()

    def discard(self, key: str) -> None:
        """Remove the entry of `key`, which did not load."""
        with self._lock:
            self._memory.pop(key, None)
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._file(key))

    def entries(self) -> list[Entry]:
        """The files on disk, oldest first."""
        from pathlib import Path

        found: list[Entry] = []
        if self._folder is None:
            return found
        with contextlib.suppress(OSError):
            for item in os.scandir(self._folder):
                if item.name.endswith(SUFFIX):
                    with contextlib.suppress(OSError):
                        status = item.stat()
                        found.append(
                            Entry(
                                item.name.removesuffix(SUFFIX),
                                Path(item.path),
                                status.st_size,
                                status.st_mtime,
                            )
                        )
        return sorted(found, key=lambda entry: (entry.modified, entry.key))

    def clear(self) -> int:
        """Remove everything; returns the number of files removed."""
        with self._lock:
            self._memory.clear()
        removed = 0
        for entry in self.entries():
            with contextlib.suppress(OSError):
                entry.path.unlink()
                removed += 1
        return removed

    def sweep(self) -> None:
        """Remove the oldest files until the rest is well below the limit."""
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        if total <= self.limit:
            return
        for entry in entries:
            if total <= self.limit * 3 // 4:
                return
            with contextlib.suppress(OSError):
                entry.path.unlink()
                total -= entry.size

    def _file(self, key: str) -> str:
        assert self._folder is not None
        name = key if key.isalnum() and len(key) <= 128 else hashlib.sha256(key.encode()).hexdigest()
        return os.path.join(self._folder, name + SUFFIX)

    def _is_writable(self) -> bool:
        """Whether the directory exists or can be created, and can be written."""
        if self._ready is None:
            self._ready = False
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    _make_folder(self._folder)
                    self._ready = (
                        os.path.isdir(self._folder)
                        and os.access(self._folder, os.W_OK)
                        and self._is_private()
                    )
        return self._ready

    def _is_private(self) -> bool:
        """Whether the directory belongs to this user and only this user may write it; one that does not exist yet will."""
        if self._private is None:
            assert self._folder is not None
            try:
                status = os.stat(self._folder)
            except OSError:
                return True
            self._private = _is_ours(status)
            if not self._private:
                import logging

                logging.getLogger("graphad").warning(
                    "graphad: %s is not used as a cache of compiled code: it belongs to user %s with mode %s, so that others "
                    "could put code there that this process would run. Make it this user's own (chmod go-w), or name another in "
                    "GRAPHAD_CACHE_DIR.",
                    self._folder,
                    status.st_uid,
                    oct(status.st_mode & 0o7777),
                )
        return self._private

    def _write(self, key: str, payload: bytes) -> bool:
        temporary = ""
        try:
            name = os.path.join(self._folder or "", f".write-{os.getpid()}-{os.urandom(8).hex()}")
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            temporary = name
            with os.fdopen(handle, "wb") as stream:
                stream.write(MAGIC + _checksum(key, payload) + payload)
            os.replace(temporary, self._file(key))
        except OSError:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False
        return True


def _make_folder(path: str) -> None:
    """Create a directory for this user only; its parents may exist."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)


def _checksum(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(b"%d\n%s\n%s" % (len(key), key.encode(), payload)).digest()


def _open_at_once(path: str, how: int) -> int:
    """Opens a file; a pipe of that name does not wait for a writer."""
    return os.open(path, how | getattr(os, "O_NONBLOCK", 0))


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or directory belongs to this user and only this user may write it; always true on systems without
    owners."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


_default: KernelCache | None = None


def default_cache() -> KernelCache:
    """The cache of this process, by the environment at first use."""
    global _default
    if _default is None:
        _default = KernelCache(default_directory())
    return _default


def use_cache(cache: KernelCache | None) -> None:
    """Replace the cache of this process; None for the one that the environment names."""
    global _default
    _default = cache
