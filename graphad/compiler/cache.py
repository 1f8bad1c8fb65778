"""Object code on disk: one file per key, checksummed, written whole or not at all, bounded in size.

A file is magic, checksum, payload. The checksum is that of key and payload, and the key that of source text, platform, processor
and versions: a file that stands under another's name is no better than a damaged one. Whatever is wrong with one (truncated,
altered, swapped, not this user's) makes it a miss and it goes away. A directory that cannot be written, or that others may
write, leaves the cache in memory. Nothing here raises, and no lock is needed between processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
from pathlib import Path

from graphad.core import forks
from graphad.kernels.record import Record

MAGIC = b"graphad-object-2\n"
SUFFIX = ".gobj"
LIMIT = 256 << 20  # bytes on disk before the oldest files go
SWEEP = 64  # writes between two looks at the size
_HEADER = len(MAGIC) + 32


class Entry(Record):
    """One cached file."""

    key: str
    path: Path
    size: int
    modified: float


def default_directory() -> Path | None:
    """GRAPHAD_CACHE_DIR, else the place where this platform keeps a user's caches; None when there is none."""
    named = os.environ.get("GRAPHAD_CACHE_DIR")
    if named:
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "graphad" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "graphad"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "graphad"


class KernelCache:
    """Object code by key. `path` None: in memory only."""

    def __init__(self, path: str | os.PathLike[str] | None, limit: int = LIMIT) -> None:
        self.path = None if path is None else Path(path)
        self.limit = limit
        self._memory: dict[str, bytes] = {}  # what could not be written
        self._lock = forks.lock()
        self._writes = 0
        self._ready: bool | None = None
        self._private: bool | None = None

    def get(self, key: str) -> bytes | None:
        """The payload stored under `key`, None when there is none that is whole."""
        kept = self._memory.get(key)
        if kept is not None or self.path is None or not self._is_private():
            return kept
        file = self._file(key)
        try:
            with open(file, "rb") as stream:
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
        """Forget what is stored under `key`: it did not load."""
        with self._lock:
            self._memory.pop(key, None)
        if self.path is not None:
            with contextlib.suppress(OSError):
                self._file(key).unlink()

    def entries(self) -> list[Entry]:
        """What is on disk, oldest first."""
        found: list[Entry] = []
        if self.path is None:
            return found
        with contextlib.suppress(OSError):
            for item in os.scandir(self.path):
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
        """Remove the oldest files until the rest fits the limit, with some room to spare."""
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

    def _file(self, key: str) -> Path:
        assert self.path is not None
        name = key if key.isalnum() and len(key) <= 128 else hashlib.sha256(key.encode()).hexdigest()
        return self.path / (name + SUFFIX)

    def _is_writable(self) -> bool:
        """Whether the directory is there, or could be made, and takes files."""
        if self._ready is None:
            self._ready = False
            if self.path is not None:
                with contextlib.suppress(OSError):
                    self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                    self._ready = os.access(self.path, os.W_OK) and self._is_private()
        return self._ready

    def _is_private(self) -> bool:
        """Whether the directory is this user's and only this user may write it; one that is not there yet will be."""
        if self._private is None:
            assert self.path is not None
            try:
                status = os.stat(self.path)
            except OSError:
                return True
            self._private = _is_ours(status)
            if not self._private:
                logging.getLogger("graphad").warning(
                    "graphad: %s is not used as a cache of compiled code: it belongs to user %s with mode %s, so that others "
                    "could put code there that this process would run. Make it this user's own (chmod go-w), or name another in "
                    "GRAPHAD_CACHE_DIR.",
                    self.path,
                    status.st_uid,
                    oct(status.st_mode & 0o7777),
                )
        return self._private

    def _write(self, key: str, payload: bytes) -> bool:
        temporary = ""
        try:
            name = os.path.join(self.path or "", f".write-{os.getpid()}-{os.urandom(8).hex()}")
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


def _checksum(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(b"%d\n%s\n%s" % (len(key), key.encode(), payload)).digest()


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or directory belongs to this user and only this user may write it; always so where there are no owners."""
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
    """Replace the cache of this process; None: decide again from the environment."""
    global _default
    _default = cache
