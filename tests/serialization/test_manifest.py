"""The manifest file: whatever is wrong with its bytes is found, and named, quickly and in little memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    MissingModelError,
    UnsupportedModelError,
)
from serialization.schema.model import MODEL, FeatureRecord, ModelRecord, ModuleNode, ObjectRecord
from serialization.storage.places import MANIFEST
from serialization.storage.read import read_model
from serialization.storage.write import write_model
from serialization.wire.codec import decode
from serialization.wire.header import HEADER_BYTES, MAGIC, seal, unseal
from serialization.wire.limits import Limits
from tests.serialization.sample import read_file, rewrite_body, sample, save_sample, write_file
from tests.support.work import calls_in


@pytest.fixture
def saved(tmp_path):
    return save_sample(tmp_path)


pytestmark = pytest.mark.filterwarnings("ignore:load. .* ignoring optional features")


def test_sample_comes_back(saved):
    model, _ = read_model(saved)
    assert model.replace(payloads=(), assets=()) == sample()


def test_same_model_saved_twice_is_the_same_bytes(saved, tmp_path):
    (tmp_path / "again").mkdir()
    again = save_sample(tmp_path / "again")
    for root, _, names in os.walk(saved):
        for name in names:
            path = os.path.join(root, name)
            assert read_file(path) == read_file(again, os.path.relpath(path, saved))


def test_every_prefix_is_refused(saved):
    whole = read_file(saved, MANIFEST)
    for length in range(len(whole)):
        with pytest.raises(CorruptModelError):
            unseal(whole[:length])
    for length in (0, 1, 23, 24, 55, 56, len(whole) // 2, len(whole) - 1):
        write_file(whole[:length], saved, MANIFEST)
        with pytest.raises(CorruptModelError, match=MANIFEST):
            read_model(saved)


def test_every_flipped_bit_is_refused(saved):
    whole = read_file(saved, MANIFEST)
    damaged = bytearray(whole)
    for position in range(len(whole)):
        for bit in range(8):
            damaged[position] ^= 1 << bit
            with pytest.raises(LoadError):
                unseal(bytes(damaged))
            damaged[position] = whole[position]


def test_every_replaced_byte_is_refused(saved):
    whole = read_file(saved, MANIFEST)
    for position in range(len(whole)):
        for byte in (0x00, 0x7F, 0x80, 0xFF, 0xC1):
            if whole[position] != byte:
                with pytest.raises(LoadError):
                    unseal(whole[:position] + bytes([byte]) + whole[position + 1 :])


def test_trailing_bytes_are_refused(saved):
    whole = read_file(saved, MANIFEST)
    for tail in [bytes(n) for n in range(1, 65)] + [bytes(4096), whole]:
        with pytest.raises(CorruptModelError, match="cut short or added to"):
            unseal(whole + tail)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PK\x03\x04", "zip"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x93NUMPY\x01\x00", "npy"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x1f\x8b\x08", "gzip"),
        (b'{"a": 1}', "JSON"),
        (b"GGUF", "GGUF"),
        (b"\x08\x01\x12", "protocol buffer"),
        (MAGIC.replace(b"\r\n", b"\n"), "text mode"),
        (bytes(8), "all zeros"),
        (MAGIC[::-1], "not a graphad model"),
    ],
)
def test_other_kinds_of_file_are_named(saved, start, kind):
    write_file(start + bytes(100), saved, MANIFEST)
    with pytest.raises(CorruptModelError, match=kind):
        read_model(saved)


def test_newer_version_says_what_to_do(saved):
    _, body = unseal(read_file(saved, MANIFEST))
    write_file(seal(7, body), saved, MANIFEST)
    with pytest.raises(UnsupportedModelError, match="format version 7, this release reads 1 to 1; upgrade"):
        read_model(saved)
    flagged = bytearray(seal(1, body)[:-32])
    flagged[12] = 1
    import hashlib

    write_file(bytes(flagged) + hashlib.sha256(flagged).digest(), saved, MANIFEST)
    with pytest.raises(UnsupportedModelError, match="unknown flags"):
        read_model(saved)


@pytest.mark.filterwarnings("default")
def test_unknown_optional_feature_warns_and_required_one_is_refused(tmp_path):
    plain = ModelRecord("test", objects=(ObjectRecord(ModuleNode("M")),))
    path = str(tmp_path / "m")
    write_model(path, plain.replace(features=(FeatureRecord("colour", False, b""),)), {}, durable=False)
    with pytest.warns(UserWarning, match="colour"):
        read_model(path)
    rewrite_body(path, lambda tree: tree | {"features": [["warp\n", True, b""]]})
    with pytest.raises(UnsupportedModelError, match="needs the features 'warp\\\\n'"):
        read_model(path)
    with pytest.raises(ValueError, match="needs the features"):
        write_model(path, plain.replace(features=(FeatureRecord("warp", True, b""),)), {}, durable=False)


def test_missing_model_is_an_os_error_that_names_the_file(tmp_path):
    for path in (tmp_path / "nothing", tmp_path, str(tmp_path / "a" / "b")):
        with pytest.raises(
            OSError, match=r"SavedModel file does not exist at: .*saved_model.msgpack"
        ) as caught:
            read_model(path)
        assert isinstance(caught.value, MissingModelError) and isinstance(caught.value, LoadError)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(OSError, match="TensorFlow SavedModel"):
        read_model(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="does not exist"):
        read_model(tmp_path / "file")


def test_manifest_size_is_limited_on_load_and_on_save(saved):
    with pytest.raises(LimitExceededError, match="'manifest_bytes' allows 100"):
        read_model(saved, limits=Limits(manifest_bytes=100))
    with pytest.raises(ValueError, match="'manifest_bytes'"):
        write_model(
            saved,
            ModelRecord("x" * 200, objects=(ObjectRecord(ModuleNode("M")),)),
            {},
            limits=Limits(manifest_bytes=99),
        )
    assert read_model(saved)[0].producer == "graphad 0.0.test"
    with pytest.raises(ValueError, match="'nodes_per_graph' allows 1"):
        write_model(saved, sample(), {}, limits=Limits(nodes_per_graph=1))


def test_duplicate_missing_and_reordered_sections_are_refused(saved):
    _, body = unseal(read_file(saved, MANIFEST))
    tree = msgpack.unpackb(body, strict_map_key=False)
    items = [(key, msgpack.packb(value)) for key, value in tree.items()]

    def packed(pairs):
        packer = msgpack.Packer(autoreset=False)
        packer.pack_map_header(len(pairs))
        return packer.bytes() + b"".join(msgpack.packb(key) + value for key, value in pairs)

    assert decode(MODEL, packed(items)) is not None
    for wrong in (
        items[:-1],
        items + items[-1:],
        items[:-1] + items[:1],
        items[::-1],
        [(key.encode(), value) for key, value in items],
        [(number, value) for number, (_, value) in enumerate(items)],
        [(None, items[0][1]), *items[1:]],
    ):
        with pytest.raises(CorruptModelError):
            decode(MODEL, packed(wrong))


def _bombs():
    for size in (1 << 10, 1 << 16, 1 << 20, 16 << 20):
        nested = (b"\xdd" + (size - 16).to_bytes(4, "big")) * 500
        yield f"nested-{size}", (nested + b"\xc0" * size)[:size]
        yield f"lists-{size}", b"\xdd" + (size - 5).to_bytes(4, "big") + b"\x90" * (size - 5)
    # 16 and 32 bit headers of arrays, maps, strings, binaries and extensions
    for code, width in [(c, 2) for c in (0xDC, 0xDE, 0xDA, 0xC5, 0xC8)] + [
        (c, 4) for c in (0xDD, 0xDF, 0xDB, 0xC6, 0xC9)
    ]:
        for count in (2**31 - 1, 2**32 - 1):
            yield (
                f"{code:x}-{count}",
                bytes([code]) + (count & (256**width - 1)).to_bytes(width, "big") + bytes(100),
            )


_MEMORY = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.support.memory import most_resident
from tests.support.work import calls_in
from serialization.errors import LoadError
from serialization.storage.read import read_model
from serialization.wire.limits import Limits
limits = Limits(manifest_bytes=64 << 20)
read_model(sys.argv[2])
for path in sys.argv[3:]:
    before = most_resident()
    verdict = "loaded"
    def read():
        global verdict
        try:
            read_model(path, limits)
        except LoadError as error:
            verdict = type(error).__name__
    steps = calls_in(read)
    after = most_resident()
    print(path.split("/")[-1], (after - before) >> 20, steps, verdict)
"""


def test_bombs_cost_neither_memory_nor_steps(tmp_path):
    plain = str(tmp_path / "plain")
    write_model(plain, ModelRecord("p", objects=(ObjectRecord(ModuleNode("M")),)), {}, durable=False)
    paths, sizes = [], {}
    # each bomb stands where a list, a value and a whole model belong
    prefix = b"\x8c\xa8producer\xa0\xa8features"
    for name, bomb in sorted(_bombs(), key=lambda item: len(item[1])):
        for place, body in (("root", bomb), ("list", prefix + bomb)):
            path = tmp_path / f"{name}-{place}"
            path.mkdir()
            write_file(seal(1, body), str(path), MANIFEST)
            paths.append(str(path))
            sizes[path.name] = len(body)
    output = subprocess.run(
        [sys.executable, "-c", _MEMORY, os.getcwd(), plain, *paths],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [line.split() for line in output.splitlines()]
    assert len(lines) == len(paths)
    for name, megabytes, steps, verdict in lines:
        size = sizes[name]
        assert verdict in ("CorruptModelError", "LimitExceededError"), (name, verdict)
        # a file is read, and msgpack's buffer holds its body once more
        assert int(megabytes) <= 8 + 4 * size / 2**20, (name, megabytes)
        assert int(steps) <= 500, (name, steps)


def test_valid_but_wasteful_manifests_stay_within_forty_bytes_per_byte(tmp_path):
    plain = str(tmp_path / "plain")
    write_model(plain, ModelRecord("p", objects=(ObjectRecord(ModuleNode("M")),)), {}, durable=False)
    count = 100_000
    wasteful = {
        "lines": {"lines": [""] * 500_000},
        "lists": {"functions": [["f", [], [0] + [[1]] * count, [], []]]},
        "objects": {"objects": [[[0, "", []], []]] + [[[3], []]] * count},
        "rules": {"rules": [["", None, [], [], []]] * (count // 2)},
        "nodes": {"ops": [["a", 1, []]], "graphs": [[None, [], [], [[0, [], [], None]] * 80_000, []]]},
    }
    paths = []
    for name, sections in wasteful.items():
        path = str(tmp_path / name)
        write_model(path, ModelRecord("p", objects=(ObjectRecord(ModuleNode("M")),)), {}, durable=False)
        rewrite_body(path, lambda tree, sections=sections: tree | sections)
        paths.append(path)
    for path in paths:  # one process each: the peak never falls
        output = subprocess.run(
            [sys.executable, "-c", _MEMORY, os.getcwd(), plain, path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        _, megabytes, _, verdict = output.split()
        size = os.path.getsize(os.path.join(path, MANIFEST))
        assert verdict == "loaded", path
        assert int(megabytes) <= 16 + 40 * size / 2**20, (path, megabytes, size)


def _nodes(tree):
    """All (container, key) places of a tree."""
    stack = [(tree, key) for key in tree]
    while stack:
        container, key = stack.pop()
        yield container, key
        inner = container[key]
        if isinstance(inner, list):
            stack.extend((inner, index) for index in range(len(inner)))


junk = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.integers(-2, 12), st.floats(), st.text(max_size=8),
    st.binary(max_size=40), st.just([]), st.lists(st.integers(0, 10), max_size=4), st.just({}), st.just("__class__"),
    st.sampled_from(["../x", "w", "x", "float32", "bool", "complex128", "__call__"]),
)  # fmt: skip


@settings(max_examples=400)
@given(data=st.data())
def test_mutated_models_with_right_digests_load_or_raise_a_load_error(data, tmp_path_factory):
    path = _mutable(tmp_path_factory)
    original = read_file(path, MANIFEST)
    version, body = unseal(original)
    tree = msgpack.unpackb(body, strict_map_key=False)
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(_nodes(tree))
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        action = data.draw(st.sampled_from(["replace", "replace", "delete", "repeat", "swap", "wrap"]))
        if action == "replace":
            container[key] = data.draw(junk)
        elif action == "wrap":
            container[key] = [container[key]]
        elif isinstance(container, list) and action == "delete":
            del container[key]
        elif isinstance(container, list) and action == "repeat":
            container.insert(key, container[key])
        elif isinstance(container, list):
            container[key], container[-1] = container[-1], container[key]
    write_file(seal(version, msgpack.packb(tree)), path, MANIFEST)
    try:
        model, arrays = read_model(path, verify=True)
    except LoadError as error:
        assert str(error).startswith("load: ") and "\n" not in str(error)
        assert len(str(error)) < 700
    else:
        assert isinstance(model, ModelRecord) and all(arrays[name] is not None for name in arrays)
    finally:
        write_file(original, path, MANIFEST)


_PATHS: list[str] = []


def _mutable(factory) -> str:
    if not _PATHS:
        _PATHS.append(save_sample(factory.mktemp("mutable")))
    return _PATHS[0]


@settings(max_examples=300)
@given(body=st.binary(max_size=200), keep=st.integers(0, 400))
def test_random_bodies_raise_a_load_error(body, keep):
    start = bytes(_VALID[:keep])
    with contextlib.suppress(LoadError):
        decode(MODEL, start + body)


_VALID = b""


def setup_module():
    global _VALID
    from serialization.wire.codec import encode

    _VALID = encode(MODEL, sample())


def test_refusing_a_damaged_file_takes_a_small_part_of_reading_it(saved):
    read_model(saved)
    reading = calls_in(lambda: read_model(saved))
    whole = read_file(saved, MANIFEST)
    write_file(whole[:-1] + b"\0", saved, MANIFEST)

    def refuse():
        with pytest.raises(CorruptModelError, match="digest"):
            read_model(saved)

    assert calls_in(refuse) < reading / 4
    assert HEADER_BYTES == 24
