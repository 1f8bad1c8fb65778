"""Payload files: valid safetensors, aligned, mapped without copies, and any damaged byte is found and named."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import threading
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serialization.errors import CorruptModelError, LimitExceededError, SaveError, UnsupportedModelError
from serialization.schema.model import ModelRecord, ModuleNode, ObjectRecord
from serialization.storage.places import MANIFEST, VARIABLES
from serialization.storage.read import read_model
from serialization.storage.write import write_model
from serialization.wire import arrays as wire_arrays
from serialization.wire.arrays import (
    DTYPES,
    Checker,
    TensorRecord,
    byte_count,
    from_bytes,
    partition,
    plan_layout,
    storable_pieces,
)
from serialization.wire.limits import Limits
from tests.serialization.sample import read_file, write_file

EMPTY = ModelRecord("p", objects=(ObjectRecord(ModuleNode("M")),))


def save(path, arrays, **options):
    write_model(path, EMPTY, arrays, durable=False, **options)
    return str(path)


def payload_files(path):
    directory = os.path.join(path, VARIABLES)
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory))]


def every_dtype():
    generator = np.random.default_rng(0)
    found = {}
    for name in DTYPES:
        if name == "bool":
            found[name] = generator.integers(0, 2, (3, 5)).astype(bool)
        elif name == "bfloat16":
            found[name] = generator.integers(0, 2**16, 7, np.uint16).view(
                pytest.importorskip("ml_dtypes").bfloat16
            )
        else:
            found[name] = np.frombuffer(generator.bytes(5 * 48), name).copy()
    return found


def bits(array):
    return array.tobytes(), array.shape, array.dtype


def test_every_dtype_comes_back_bit_by_bit(tmp_path):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0], np.float64)
    signalling = np.array([0x7FF0000000000001, 0xFFF8DEADBEEF0001], np.uint64).view(np.float64)
    given_arrays = every_dtype() | {
        "special": special,
        "signalling": signalling,
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(3, np.int16),
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "strided": np.arange(20, dtype=np.int32)[::3],
        "reversed": np.arange(5, dtype=np.int8)[::-1],
        "read-only": np.broadcast_to(np.float32(2), (3, 4)),
    }
    _, arrays = read_model(save(tmp_path / "m", given_arrays), verify=True)
    assert set(arrays) == set(given_arrays) and len(arrays) == len(given_arrays)
    for name, array in given_arrays.items():
        assert bits(arrays[name]) == bits(np.ascontiguousarray(array).reshape(array.shape)), name
        assert arrays[name].flags.aligned and arrays[name].flags.c_contiguous


def test_big_endian_arrays_are_stored_as_their_values(tmp_path):
    _, arrays = read_model(save(tmp_path / "m", {"x": np.arange(5, dtype=">f8")}))
    assert (
        arrays["x"].dtype == np.float64
        and arrays["x"].dtype.isnative
        and arrays["x"].tolist() == [0, 1, 2, 3, 4]
    )


def test_arrays_that_do_not_lie_as_in_the_file_are_copied_in_parts(monkeypatch):
    monkeypatch.setattr(wire_arrays, "CHUNK_BYTES", 1000)
    base = np.arange(3 * 5 * 1001.0).reshape(3, 5, 1001)
    turned = {
        "t": base.T,
        "one": base.T[:1],
        "big": base.astype(">f8"),
        "steps": base[..., ::2],
        "plain": base,
    }
    for name, array in turned.items():
        pieces = list(storable_pieces(array))
        assert b"".join(pieces) == np.ascontiguousarray(array, "<f8").tobytes(), name
        assert all(len(piece) <= 1000 for piece in pieces) == (name != "plain"), name


@pytest.mark.parametrize("turned", [False, True])
def test_saving_copies_no_large_array(tmp_path, turned):
    array = np.arange(4096.0 * 4096).reshape(4096, 4096)
    array = array.T if turned else array
    tracemalloc.start()
    try:
        save(tmp_path / "m", {"w": array})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < array.nbytes / 4
    _, arrays = read_model(tmp_path / "m", verify=True)
    assert np.array_equal(arrays["w"], array)


def test_safetensors_reads_the_same_weights(tmp_path):
    library = pytest.importorskip("safetensors")
    given_arrays = every_dtype() | {
        "odd": np.arange(1027, dtype=np.uint8),
        "odd2": np.arange(333, dtype=np.float32),
        'quote"back\\slash\n\x01é☃': np.arange(3.0),
        "empty": np.zeros((0, 2), np.int64),
        "large": np.arange(512, dtype=np.float64),
    }
    path = save(tmp_path / "m", given_arrays)
    (file,) = payload_files(path)
    with library.safe_open(file, "numpy") as opened:
        names = set(opened.keys())
        assert names - set(given_arrays) == {name for name in names if name.startswith("__pad__")}
        for name, array in given_arrays.items():
            if name == "bfloat16":
                continue  # the library's NumPy front end has no such dtype
            found = opened.get_tensor(name)
            if array.dtype.kind == "c":
                found = found.reshape(-1).view(array.dtype).reshape(array.shape)
            assert bits(found) == bits(array), name


def test_large_tensors_are_aligned_and_mapped_without_a_copy(tmp_path):
    given_arrays = {f"w{k}": np.full(100_003 + k, k, np.float32) for k in range(5)} | {
        "b": np.ones(7, np.float32)
    }
    path = save(tmp_path / "m", given_arrays)
    _, arrays = read_model(path)
    for name, array in given_arrays.items():
        assert np.array_equal(arrays[name], array)
        if array.nbytes >= 1024:
            assert arrays[name].ctypes.data % 64 == 0 and not arrays[name].flags.owndata
    assert arrays["w1"] is arrays["w1"]


def test_writing_to_a_loaded_array_leaves_the_file_alone(tmp_path):
    path = save(tmp_path / "m", {"w": np.zeros(100_000), "b": np.zeros(3)})
    before = {file: read_file(file) for file in payload_files(path)}
    _, first = read_model(path)
    _, second = read_model(path)
    first["w"][:] = 1
    first["b"][:] = 1
    assert not second["w"].any() and not second["b"].any()
    assert {file: read_file(file) for file in payload_files(path)} == before


def test_saving_over_a_mapped_model_keeps_the_mapping(tmp_path):
    path = save(tmp_path / "m", {"w": np.zeros(1_000_000)})
    _, old = read_model(path, verify=False)
    save(path, {"w": np.ones(1_000_000)})
    save(path, {"w": np.ones(10)})
    assert not old["w"].any() and len(payload_files(path)) == 1


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(DTYPES)), st.lists(st.integers(0, 40), max_size=3)), max_size=12
    )
)  # fmt: skip
def test_layout_has_no_holes_and_every_tensor_is_aligned(described):
    tensors = [TensorRecord(f"t{k}", dtype, tuple(shape)) for k, (dtype, shape) in enumerate(described)]
    for group in partition(tensors):
        layout = plan_layout(group)
        assert len(layout.header) % 64 == 0
        pieces = list(layout.gaps) + [
            (start, byte_count(tensor.dtype, tensor.shape))
            for start, tensor in zip(layout.offsets, group, strict=True)
        ]
        end = len(layout.header)
        for start, size in sorted(pieces):
            assert start == end
            end += size
        assert end == layout.size
        for start, tensor in zip(layout.offsets, group, strict=True):
            size = byte_count(tensor.dtype, tensor.shape)
            assert start % (64 if size >= 1024 else DTYPES[tensor.dtype][0]) == 0
    assert sorted(t.name for group in partition(tensors) for t in group) == sorted(t.name for t in tensors)


def test_large_models_are_split_between_files(tmp_path, monkeypatch):
    monkeypatch.setattr(wire_arrays, "PAYLOAD_BYTES", 10_000)
    given_arrays = {f"w{k}": np.full(1000, k, np.float32) for k in range(10)} | {"big": np.ones(20_000)}
    path = save(tmp_path / "m", given_arrays)
    assert len(payload_files(path)) == 6
    _, arrays = read_model(path)
    assert all(np.array_equal(arrays[name], array) for name, array in given_arrays.items())


def test_checks_are_crc32_of_chunks_whatever_the_steps(monkeypatch):
    monkeypatch.setattr(wire_arrays, "CHUNK_BYTES", 100)
    data = bytes(range(256)) * 2
    for step in (1, 7, 100, 512):
        checker = Checker(sha256=True)
        for start in range(0, len(data), step):
            checker.update(memoryview(data)[start : start + step])
        checks, digest = checker.finish()
        assert checks == b"".join(
            zlib.crc32(data[k : k + 100]).to_bytes(4, "little") for k in range(0, 512, 100)
        )
        assert digest == hashlib.sha256(data).digest()


@pytest.mark.parametrize("verify", ["lazy", True])
def test_every_flipped_bit_of_a_small_payload_is_found(tmp_path, verify):
    path = save(tmp_path / "m", {"w": np.arange(16, dtype=np.float32), "b": np.ones(3, bool)})
    (file,) = payload_files(path)
    whole = read_file(file)
    for position in range(len(whole)):
        for bit in (position % 8, (position + 3) % 8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            write_file(damaged, file)
            with pytest.raises(CorruptModelError, match=os.path.basename(file)):
                read_model(path, verify=verify)


def test_damage_in_a_large_payload_is_found_when_the_tensor_is_read(tmp_path):
    given_arrays = {f"w{k}": np.random.default_rng(k).standard_normal(300_000) for k in range(4)}
    path = save(tmp_path / "m", given_arrays)
    (file,) = payload_files(path)
    whole = read_file(file)
    layout = plan_layout([TensorRecord(name, "float64", (300_000,)) for name in given_arrays])
    chooser = random.Random(1)
    for _ in range(40):
        position = chooser.randrange(len(layout.header), len(whole))
        damaged = bytearray(whole)
        damaged[position] ^= 1 << chooser.randrange(8)
        write_file(damaged, file)
        number = max(k for k, start in enumerate(layout.offsets) if start <= position)
        _, arrays = read_model(path)  # nothing has been read yet
        with pytest.raises(CorruptModelError) as caught:
            arrays[f"w{number}"]
        chunk = position >> 22 << 22
        assert str(caught.value).startswith(f"load: {file}: w{number}: bytes {chunk} to ")
        with pytest.raises(CorruptModelError):
            arrays.verify()
        with pytest.raises(CorruptModelError):
            read_model(path, verify=True)
        # a tensor in other chunks is as good as ever
        other = 3 if number < 2 else 0
        if position >> 22 not in range(
            layout.offsets[other] >> 22, (layout.offsets[other] + 2_400_000 >> 22) + 1
        ):
            assert np.array_equal(arrays[f"w{other}"], given_arrays[f"w{other}"])
        _, unchecked = read_model(path, verify=False)
        assert not np.array_equal(
            unchecked[f"w{number}"].view(np.uint64), given_arrays[f"w{number}"].view(np.uint64)
        )


def test_every_length_but_the_right_one_is_refused(tmp_path):
    path = save(tmp_path / "m", {"w": np.arange(4, dtype=np.float32)})
    (file,) = payload_files(path)
    whole = read_file(file)
    for length in range(len(whole)):
        write_file(whole[:length], file)
        with pytest.raises(CorruptModelError, match="cut short or replaced"):
            read_model(path, verify=False)
    write_file(whole + b"\0", file)
    with pytest.raises(CorruptModelError, match="cut short or replaced"):
        read_model(path, verify=False)


def test_swapped_and_missing_payloads_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(wire_arrays, "PAYLOAD_BYTES", 1 << 17)
    path = save(tmp_path / "m", {"a": np.zeros(20_000), "b": np.ones(20_000)})
    one, two = payload_files(path)
    first, second = read_file(one), read_file(two)
    write_file(second, one)
    write_file(first, two)
    with pytest.raises(CorruptModelError):
        read_model(path)
    write_file(first, one)
    os.remove(two)
    with pytest.raises(CorruptModelError, match=f"{os.path.basename(two)}: the file is missing"):
        read_model(path)
    other = save(tmp_path / "other", {"a": np.full(20_000, 2.0), "b": np.ones(20_000)})
    write_file(read_file(other, MANIFEST), path, MANIFEST)
    with pytest.raises(CorruptModelError, match="missing"):
        read_model(path)


def test_bool_bytes_other_than_zero_and_one_are_refused_even_unverified(tmp_path):
    path = save(tmp_path / "m", {"mask": np.ones(5, bool)})
    (file,) = payload_files(path)
    write_file(read_file(file)[:-1] + b"\2", file)
    _, arrays = read_model(path, verify=False)
    with pytest.raises(CorruptModelError, match="mask: a bool tensor"):
        arrays["mask"]


def test_sha256_of_payloads_is_kept_and_checked_when_asked_for(tmp_path):
    path = save(tmp_path / "m", {"w": np.arange(5.0)}, sha256=True)
    (file,) = payload_files(path)
    model, _ = read_model(path, verify=True)
    assert model.payloads[0].sha256 == hashlib.sha256(read_file(file)).digest()


def test_verifying_honours_a_limit_and_mapping_a_sparse_file_reads_nothing(tmp_path):
    path = save(tmp_path / "m", {"w": np.zeros(1_000_000)})
    with pytest.raises(LimitExceededError, match="payload_bytes"):
        read_model(path, limits=Limits(payload_bytes=1000), verify=True)
    _, arrays = read_model(path, limits=Limits(payload_bytes=1000))
    assert arrays["w"].sum() == 0


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([None]), np.array(1, "M8[s]"), np.zeros(1, "V8"), np.zeros(1, "f4,i4"), [1.0],
              np.zeros(2, np.longdouble), np.array([b"a"])]
)  # fmt: skip
def test_arrays_without_a_place_in_a_file_are_refused_on_save(tmp_path, array):
    if getattr(array, "dtype", None) == np.float64:
        pytest.skip("long double is double here")
    with pytest.raises(SaveError):
        save(tmp_path / "m", {"x": array})
    assert not (tmp_path / "m").exists()


def test_reserved_and_empty_names_are_refused_on_save(tmp_path):
    for name in ("", "__pad__0", "__metadata__"):
        with pytest.raises(SaveError, match="two underscores"):
            save(tmp_path / "m", {name: np.ones(2)})


def test_bfloat16_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = save(tmp_path / "m", {"x": np.ones(3, ml_dtypes.bfloat16), "y": np.ones(3)})
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _, arrays = read_model(path)
    assert arrays["y"].sum() == 3
    with pytest.raises(UnsupportedModelError, match="ml_dtypes"):
        arrays["x"]


def test_threads_that_read_at_once_get_one_array(tmp_path):
    path = save(tmp_path / "m", {f"w{k}": np.full(400_000, k, np.float64) for k in range(3)})
    for _ in range(20):
        _, arrays = read_model(path)
        found: list[list[int]] = []

        def work(arrays=arrays, found=found):
            found.append([id(arrays[name]) for name in arrays])

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6 and all(ids == found[0] for ids in found)


def test_loading_leaves_no_descriptor_open(tmp_path):
    path = save(tmp_path / "m", {"w": np.zeros(100_000), "b": np.zeros(3)})
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    read_model(path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        read_model(path)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_small_models_cost_few_bytes_beside_their_values(tmp_path):
    arrays = {f"w{k}": np.ones((16, 32), np.float32) for k in range(4)}
    path = save(tmp_path / "m", arrays)
    total = sum(
        os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(path) for name in names
    )
    assert total - sum(array.nbytes for array in arrays.values()) <= 1024


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16"])
@pytest.mark.parametrize("shape", [(0, 2**47, 2**47), (2**40, 2**40, 0)])
def test_an_empty_array_of_a_shape_that_none_has_is_refused(dtype, shape):
    with pytest.raises(CorruptModelError, match="no array of"):
        from_bytes(dtype, shape, b"")
