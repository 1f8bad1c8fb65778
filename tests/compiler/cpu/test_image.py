"""Object code loaded without LLVM: the same answers as from LLVM's linker, and LLVM for all that is of another kind."""

import contextlib
import ctypes
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphad.compiler import cache
from graphad.compiler.cpu import image, target
from graphad.compiler.cpu.load import Registry
from graphad.compiler.cpu.runtime import blas_text, entry_text, layout, movement, native, pool, repeat

pytest.importorskip("llvmlite")
needs_loader = pytest.mark.skipif(not image._supported(), reason="this system's code is LLVM's to load")
ROOT = Path(__file__).resolve().parents[3]

KERNEL = """
@table = private constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
define i32 @graphad_kernel(ptr %ret, ptr %exc, i64 %block) {
  %p = inttoptr i64 %block to ptr
  %k = load i64, ptr %p
  %inside = icmp ult i64 %k, 4
  br i1 %inside, label %look, label %other
look:
  %place = getelementptr inbounds double, ptr @table, i64 %k
  %v = load double, ptr %place
  %x = fmul double %v, 3.25
  store double %x, ptr %p
  ret i32 0
other:
  ret i32 7
}
"""
SWITCH = """
define i64 @graphad_chosen(i64 %k, ptr %p) {
  switch i64 %k, label %rest [i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e]
a: store volatile i64 1, ptr %p
  ret i64 11
b: store volatile i32 2, ptr %p
  ret i64 7
c: store volatile i16 3, ptr %p
  ret i64 900
d: store volatile i8 4, ptr %p
  ret i64 -3
e: store volatile double 5.0, ptr %p
  ret i64 0
rest: ret i64 1
}
"""
COPY = """
declare ptr @memcpy(ptr, ptr, i64)
define i64 @graphad_copy_far(ptr %to, ptr %from, i64 %n) {
  %a = call ptr @memcpy(ptr %to, ptr %from, i64 %n)
  %b = call ptr @memcpy(ptr %to, ptr %from, i64 1)
  ret i64 %n
}
"""


@needs_loader
def test_constants_of_a_kernel_are_found() -> None:
    found = image.load(native.compile_text(KERNEL), ["graphad_kernel"], {})
    assert found is not None
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        found["graphad_kernel"]
    )
    for k, value in enumerate((1.5, 2.5, 3.5, 4.5)):
        block = np.array([k])
        assert call(0, 0, block.ctypes.data) == 0 and block.view(np.float64)[0] == 3.25 * value
    assert call(0, 0, np.array([4]).ctypes.data) == 7


@needs_loader
def test_jump_tables_lead_where_they_should() -> None:
    found = image.load(native.compile_text(SWITCH), ["graphad_chosen"], {})
    assert found is not None
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(found["graphad_chosen"])
    place = np.zeros(1)
    assert [call(k, place.ctypes.data) for k in range(7)] == [11, 7, 900, -3, 0, 1, 1]


@needs_loader
def test_functions_anywhere_in_memory_can_be_called() -> None:
    data = native.compile_text(COPY)
    found = image.load(data, ["graphad_copy_far"], native._libc())
    assert found is not None
    to, source = np.zeros(1000), np.arange(1000.0)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        found["graphad_copy_far"]
    )
    assert call(to.ctypes.data, source.ctypes.data, 8000) == 8000 and np.array_equal(to, source)
    assert image.load(data, ["graphad_copy_far"], {}) is None  # nobody says where it is


@needs_loader
def test_every_module_of_the_runtime_is_of_the_kind_that_is_loaded() -> None:
    found = layout.probe()
    assert found is not None
    modules = [
        (entry_text.text(found), entry_text.SYMBOLS),
        (blas_text.text(), blas_text.SYMBOLS),
        (movement.text(4), ("graphad_copy", "graphad_fill")),
        (pool.text(), pool.SYMBOLS),
        (repeat.text(), ("graphad_repeat",)),
    ]
    for text, symbols in modules:
        addresses = image.load(native.compile_text(text, False), symbols, native._libc())
        assert addresses is not None and set(addresses) == set(symbols)


@needs_loader
@pytest.mark.parametrize(
    "text",
    [
        "@n = global i64 0\ndefine i64 @graphad_f() { %a = load i64, ptr @n store i64 %a, ptr @n ret i64 %a }",
        "@n = global i64 5\ndefine i64 @graphad_f() { %a = load i64, ptr @n ret i64 %a }",
        "@n = external global i64\ndefine i64 @graphad_f() { %a = load i64, ptr @n ret i64 %a }",
        "@n = thread_local global i64 5\ndefine i64 @graphad_f() { %a = load i64, ptr @n ret i64 %a }",
        "@n = constant ptr @graphad_f\ndefine ptr @graphad_f() { %a = load volatile ptr, ptr @n ret ptr %a }",
        "define i64 @graphad_other() { ret i64 7 }",
    ],
)
def test_what_is_of_another_kind_is_left_to_llvm(text: str) -> None:
    assert image.load(native.compile_text(text), ["graphad_f"], {}) is None


@needs_loader
def test_damage_is_no_crash() -> None:
    data = native.compile_text(KERNEL)
    for length in range(0, len(data), 7):
        assert image.load(data[:length], ["graphad_kernel"], {}) is None
    draw = random.Random(0)
    # a damaged object may still be well-formed; it is not run here, and elsewhere its checksum would be wrong
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(len(data))] = draw.randrange(256)
        with contextlib.suppress(image.OtherKindError):
            image.arrange(bytes(damaged), {})
    for other in (b"", b"\x7fELF", b"garbage" * 30, b"\xcf\xfa\xed\xfe" + bytes(100)):
        assert image.load(other, ["graphad_kernel"], {}) is None


def _changed(data: bytes, place: int, form: str, value: int) -> bytes:
    out = bytearray(data)
    struct.pack_into(form, out, place, value)
    return bytes(out)


def _sections(data: bytes) -> list[tuple[int, tuple[int, ...]]]:
    """Where each section's header stands, and the header."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return [(start + k * size, image._SECTION.unpack_from(data, start + k * size)) for k in range(count)]


@needs_loader
def test_other_machines_kinds_and_sizes_of_objects_are_not_read() -> None:
    data = native.compile_text(KERNEL)
    image.arrange(data, {})
    for place, form, value in (
        (4, "B", 1),
        (5, "B", 2),
        (16, "<H", 2),
        (18, "<H", 183),
        (58, "<H", 63),
        (0, "B", 0),
    ):
        with pytest.raises(image.OtherKindError):
            image.arrange(_changed(data, place, form, value), {})


@needs_loader
def test_an_address_is_written_inside_of_its_section_alone_and_in_a_known_way() -> None:
    data = native.compile_text(KERNEL)
    headers = [header for _, header in _sections(data)]
    loaded = {k for k, h in enumerate(headers) if h[2] & image.ALLOC}
    table = next(h for h in headers if h[1] == image.RELA and h[7] in loaded)
    first, length = table[4], headers[table[7]][5]
    for where in (length - 3, length, length + 4096, 2**40):
        with pytest.raises(image.OtherKindError):
            image.arrange(_changed(data, first, "<Q", where), {})
    for how in (0, 1, 10, 24):  # none, whole addresses, one of 32 bits, through a table
        with pytest.raises(image.OtherKindError):
            image.arrange(_changed(data, first + 8, "<I", how), {})


@needs_loader
def test_data_elsewhere_is_no_function_to_call() -> None:
    data = native.compile_text(COPY)
    headers = [header for _, header in _sections(data)]
    loaded = {k for k, h in enumerate(headers) if h[2] & image.ALLOC}
    table = next(h for h in headers if h[1] == image.RELA and h[7] in loaded)
    image.arrange(data, native._libc())
    with pytest.raises(image.OtherKindError):
        image.arrange(_changed(data, table[4] + 8, "<I", image.PC32), native._libc())


@needs_loader
def test_a_part_that_ends_behind_the_object_is_not_read() -> None:
    data = native.compile_text(KERNEL)
    for place, header in _sections(data):
        if header[2] & image.ALLOC and header[5]:
            with pytest.raises(image.OtherKindError):
                image.arrange(_changed(data, place + 32, "<Q", len(data)), {})


def test_where_no_page_may_become_executable_llvm_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(made: bytes) -> int:
        raise PermissionError("mprotect")

    monkeypatch.setattr(image, "_executable", forbidden)
    data = native.compile_text(KERNEL)
    address = native.link(data, ["graphad_kernel"])["graphad_kernel"]
    other = Registry().load("key", data)
    assert other is not None
    for place in (address, other):
        block = np.array([2])
        call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(place)
        assert call(0, 0, block.ctypes.data) == 0 and block.view(np.float64)[0] == 3.25 * 3.5


WARM = """
import sys
import graphad as tf
w = tf.Variable([[0.5, -1.0], [2.0, 0.25]])
@tf.function(jit_compile=True)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(tf.matmul(x, w)) ** 2)
    return loss, tape.gradient(loss, w)
loss, slope = step(tf.constant([[1.0, 2.0]]))
print(float(loss), slope.numpy().tolist(), "llvmlite" in sys.modules)
"""


@needs_loader
@pytest.mark.skipif(target._identity() is None, reason="the system does not describe the processor")
def test_a_warm_start_does_without_llvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHAD_CACHE_DIR", str(tmp_path))

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", WARM], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    cold, warm = run(), run()
    assert cold.endswith("True") and warm.endswith("False")
    assert cold.removesuffix("True") == warm.removesuffix("False")
    for file in tmp_path.glob("*.gobj"):
        file.write_bytes(file.read_bytes()[:-1])
    assert run() == cold  # made again, with LLVM
    assert run() == warm


def test_what_llvm_says_of_the_processor_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = cache.KernelCache(None)
    monkeypatch.setattr(target, "default_cache", lambda: memory)
    identity = target._identity()
    ask = target.host.__wrapped__
    first = ask()
    assert first == target.host() and ask() == first
    if identity is not None:
        for damage in (b"", b"\xff\xfe", b"one\ntwo", b"a\nb\nc\nd"):
            memory._memory[identity] = damage
            assert ask() == first
    monkeypatch.setattr(target, "_identity", lambda: None)
    assert ask() == first
