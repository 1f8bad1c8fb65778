"""The kernel cache: damage is a miss, writing is atomic, size is bounded, nothing raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphad.compiler import cache as module
from graphad.compiler.cache import MAGIC, KernelCache
from graphad.compiler.source import Source, named_key

KEY = "ab" * 32


def file_of(cache: KernelCache) -> Path:
    (entry,) = cache.entries()
    return entry.path


def test_what_is_put_is_got_by_another_process(tmp_path: Path) -> None:
    KernelCache(tmp_path).put(KEY, b"code")
    assert KernelCache(tmp_path).get(KEY) == b"code"
    assert KernelCache(tmp_path).get("cd" * 32) is None


@pytest.mark.parametrize(
    "damage", ["truncated", "empty", "header only", "flipped", "longer", "foreign", "other magic"]
)
def test_a_damaged_file_is_a_miss_and_goes_away(tmp_path: Path, damage: str) -> None:
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code" * 100)
    path = file_of(cache)
    data = path.read_bytes()
    flipped = data[:-7] + bytes([data[-7] ^ 4]) + data[-6:]
    path.write_bytes(
        {
            "truncated": data[:-1],
            "empty": b"",
            "header only": data[: len(MAGIC) + 10],
            "flipped": flipped,
            "longer": data + b"x",
            "foreign": b"\x7fELF" + data,
            "other magic": b"graphad-object-0\n" + data[len(MAGIC) :],
        }[damage]
    )
    assert KernelCache(tmp_path).get(KEY) is None
    assert not path.exists()
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_in_place_of_a_file_is_a_miss_that_waits_for_nobody(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code")
    path = file_of(cache)
    path.unlink()
    os.mkfifo(path, 0o600)
    code = (
        f"from graphad.compiler.cache import KernelCache; print(KernelCache({str(tmp_path)!r}).get({KEY!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.strip() == "None"
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_files_that_others_may_write_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code")
    file_of(cache).chmod(0o666)
    assert cache.get(KEY) is None
    file_of(cache).chmod(0o600)
    assert cache.get(KEY) == b"code"
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache.get(KEY) is None


def test_a_file_under_another_key_is_a_miss_and_goes_away(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    other = "cd" * 32
    cache.put(KEY, b"code of one")
    one = file_of(cache)
    cache.put(other, b"code of another")
    two = one.with_name(other + one.suffix)
    swapped = one.with_name("swapped")
    one.rename(swapped)
    two.rename(one)
    swapped.rename(two)
    assert KernelCache(tmp_path).get(KEY) is None and KernelCache(tmp_path).get(other) is None
    assert KernelCache(tmp_path).entries() == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="directories have no owners here")
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777, None])
def test_a_directory_that_others_may_write_is_not_used_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mode: int | None
) -> None:
    KernelCache(tmp_path).put(KEY, b"planted")
    if mode is None:
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    else:
        tmp_path.chmod(mode)
    cache = KernelCache(tmp_path)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    cache.put("cd" * 32, b"more")
    assert cache.get(KEY) == b"code" and [path.name for path in tmp_path.iterdir()] == [f"{KEY}.gobj"]
    assert [record.message.count("not used as a cache") for record in caplog.records] == [1]
    monkeypatch.undo()
    tmp_path.chmod(0o700)
    assert KernelCache(tmp_path).get(KEY) == b"planted"


def test_a_directory_that_is_made_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        KernelCache(tmp_path / "a" / "cache").put(KEY, b"code")
    finally:
        os.umask(before)
    assert KernelCache(tmp_path / "a" / "cache").get(KEY) == b"code"


def test_a_place_that_cannot_be_written_is_memory_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "cache", None):
        cache = KernelCache(path)
        assert cache.get(KEY) is None and cache.entries() == []
        cache.put(KEY, b"code")
        assert cache.get(KEY) == b"code"
        assert cache.clear() == 0 and cache.get(KEY) is None


def test_a_directory_made_read_only_is_memory_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(module.os, "open", refuse)
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code" and KernelCache(tmp_path).get(KEY) is None


def test_the_oldest_files_go_first(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, limit=10_000)
    for k in range(20):
        cache.put(f"{k:064x}", bytes(900))
        os.utime(tmp_path / f"{k:064x}.gobj", (k, k))
    cache.sweep()
    left = cache.entries()
    assert sum(entry.size for entry in left) <= 10_000
    assert [entry.key for entry in left] == [f"{k:064x}" for k in range(20 - len(left), 20)] and left


def test_clear_removes_files_and_only_the_cache_s_own(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(KEY, b"code")
    (tmp_path / "precious.txt").write_text("keep")
    assert cache.clear() == 1 and cache.get(KEY) is None
    assert [item.name for item in tmp_path.iterdir()] == ["precious.txt"]


def test_keys_cannot_leave_the_directory(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache")
    cache.put("../../evil", b"code")
    assert cache.get("../../evil") == b"code"
    assert [item.name for item in tmp_path.iterdir()] == ["cache"]


def test_the_directory_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHAD_CACHE_DIR", str(tmp_path))
    assert module.default_directory() == str(tmp_path)
    monkeypatch.delenv("GRAPHAD_CACHE_DIR")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert module.default_directory() == str(tmp_path / "graphad")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(module.os.path, "expanduser", lambda path: path)  # there is no home
    assert module.default_directory() is None


def test_sixteen_processes_may_fill_one_directory_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, hashlib; from graphad.compiler.cache import KernelCache\n"
        "cache = KernelCache(sys.argv[1])\n"
        "for k in range(40):\n"
        "    key = hashlib.sha256(bytes([k])).hexdigest()\n"
        "    found = cache.get(key)\n"
        "    assert found in (None, bytes([k]) * 5000), 'torn'\n"
        "    cache.put(key, bytes([k]) * 5000)\n"
        "    assert cache.get(key) == bytes([k]) * 5000\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE)
        for _ in range(16)
    ]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert len(KernelCache(tmp_path).entries()) == len(list(tmp_path.iterdir())) == 40


def test_keys_tell_every_part_apart() -> None:
    source = Source("def kernel(blk):\n    pass\n", "digest")
    keys = {
        source.key({"cpu": "a"}),
        source.key({"cpu": "b"}),
        source.key({"cpu": "a", "numba": "1"}),
        Source(source.text + "\n", "digest").key({"cpu": "a"}),
        Source(source.text, "other").key({"cpu": "a"}),
        Source(source.text, "digest", "library").key({"cpu": "a"}),
    }
    assert len(keys) == 6
    assert named_key({"a": "1", "b": "2"}) == named_key({"b": "2", "a": "1"}) != named_key({"a": "1\nb=2"})
