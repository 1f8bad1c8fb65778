"""Random numbers as a plan step, with the bits of the eager op (`ops/random/philox.py`).

The rounds of Philox are printed; what makes normal numbers of uniform ones calls NumPy's logarithm, cosine and sine. A step draws
for one key after the other. Limits that are out of order end it with NO_ANSWER.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import blas, native, numpy_loops
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.core.dtypes import as_dtype
from graphad.ops.random import philox

if TYPE_CHECKING:
    from graphad.kernels.forms import Drawn

# words of the step's block: keys, result, limits, workspace, how many keys, bytes of an integer of a key, numbers for each key
KEYS, TARGET, LOW, HIGH, WORK, ROWS, KEY_BYTES, COUNT = range(8)
LOOPS = 8  # the loops of the logarithm, the cosine and the sine, each with its data
WORD_COUNT = LOOPS + 6

_FLOATS = {"float16": "half", "float32": "float", "float64": "double"}
_DIGITS = {"float16": 11, "float32": 24, "float64": 53}
_UFUNCS = (np.log, np.cos, np.sin)
_ROOTS = "declare float @llvm.sqrt.f32(float)\ndeclare double @llvm.sqrt.f64(double)"


def _wide(dtype: str) -> str:
    """The dtype in which normal numbers are computed."""
    return "float64" if dtype == "float64" else "float32"


def _number(value: float, dtype: str) -> str:
    """A constant as LLVM writes it: the bits of the float64 of equal value."""
    return f"0x{np.float64(np.dtype(dtype).type(value)).view(np.uint64):016X}"


def _words(f: Function, counter: str, first: str, second: str) -> list[str]:
    """The four words of a block, by the rounds of Philox."""

    def product(x: str, k: int) -> tuple[str, str]:
        wide = f.emit(f"mul i128 {f.emit(f'zext i64 {x} to i128')}, {int(philox.MULTIPLIERS[k])}")
        return f.emit(f"trunc i128 {f.emit(f'lshr i128 {wide}, 64')} to i64"), f.emit(
            f"trunc i128 {wide} to i64"
        )

    x0, x1, x2, x3 = counter, "0", "0", "0"
    for k in range(philox.ROUNDS):
        if k:
            first, second = (
                f.emit(f"add i64 {key}, {int(step.astype(np.int64))}")
                for key, step in zip((first, second), philox.STEPS, strict=True)
            )
        upper, lower = product(x0, 0)
        above, below = product(x2, 1)
        x0, x1 = f.emit(f"xor i64 {f.emit(f'xor i64 {above}, {x1}')}, {first}"), below
        x2, x3 = f.emit(f"xor i64 {f.emit(f'xor i64 {upper}, {x3}')}, {second}"), lower
    return [x0, x1, x2, x3]


def _unit(f: Function, word: str, kind: str, dtype: str) -> str:
    """A uniform number from a word of a type, as `philox.uniform` makes it."""
    bits, digits = int(kind[1:]), _DIGITS[dtype]
    wide = _FLOATS[_wide(dtype)]
    whole = f.emit(f"lshr {kind} {word}, {bits - digits}")
    number = f.emit(
        f"fmul {wide} {f.emit(f'sitofp {kind} {whole} to {wide}')}, {_number(2.0**-digits, _wide(dtype))}"
    )
    return number if _FLOATS[dtype] == wide else f.emit(f"fptrunc {wide} {number} to {_FLOATS[dtype]}")


def _block(kind: str, dtype: str) -> tuple[str, int, str]:
    """`void @block(counter, first, second, low, span, to)`: its text, how many numbers it stores, and their type."""
    f = Function(
        "void @block(i64 %counter, i64 %first, i64 %second, i64 %low, i64 %span, ptr noalias %to)",
        "internal",
        "nounwind noinline",
    )
    words, numbers = _words(f, "%counter", "%first", "%second"), []
    stored = _FLOATS[dtype] if kind == "uniform" else f"i{8 * as_dtype(dtype).itemsize}"
    for word in words:
        if kind == "uniform" and dtype == "float64":
            numbers.append(_unit(f, word, "i64", dtype))
        elif kind == "uniform":
            upper = f.emit(f"lshr i64 {word}, 32")
            numbers += [_unit(f, f.emit(f"trunc i64 {half} to i32"), "i32", dtype) for half in (word, upper)]
        else:
            if kind == "integers":
                word = f.emit(f"add i64 {f.emit(f'urem i64 {word}, %span')}, %low")
            numbers.append(word if stored == "i64" else f.emit(f"trunc i64 {word} to {stored}"))
    for k, number in enumerate(numbers):
        f.do(f"store {stored} {number}, ptr {f.at('%to', k, stored)}")
    f.ret()
    return f.text(), len(numbers), stored


def _fill(each: int, stored: str) -> str:
    """`void @fill(first, second, low, span, to, count)`: the first numbers of a key."""
    f = Function("void @fill(i64 %first, i64 %second, i64 %low, i64 %span, ptr %to, i64 %count)", "internal")
    given = "i64 %first, i64 %second, i64 %low, i64 %span"
    whole, rest = f.emit(f"udiv i64 %count, {each}"), f.emit(f"urem i64 %count, {each}")
    with f.loop(0, whole) as b:
        place = f.at("%to", f.emit(f"mul i64 {b}, {each}"), stored)
        f.do(f"call void @block(i64 {f.emit(f'add i64 {b}, 1')}, {given}, ptr {place})")
    with f.when(f.test("ne", rest, 0)):
        last = f.slot(f"[{each} x {stored}]", align=16).address
        f.do(f"call void @block(i64 {f.emit(f'add i64 {whole}, 1')}, {given}, ptr {last})")
        place = f.at("%to", f.emit(f"mul i64 {whole}, {each}"), stored)
        with f.loop(0, rest) as k:
            value = f.emit(f"load {stored}, ptr {f.at(last, k, stored)}")
            f.do(f"store {stored} {value}, ptr {f.at(place, k, stored)}")
    f.ret()
    return f.text()


def _limit(f: Function, w: str, word: int, dtype: str) -> str:
    kind = f"i{8 * as_dtype(dtype).itemsize}"
    value = f.emit(f"load {kind}, ptr {f.pointer(w, word)}")
    if kind == "i64":
        return value
    return f.emit(f"{'zext' if dtype[0] == 'u' else 'sext'} {kind} {value} to i64")


def _spread(f: Function, w: str, count: str, uniform: str, target: str, dtype: str) -> None:
    """Normal numbers from uniform ones by the Box-Muller method."""
    wide = _wide(dtype)
    kind, size = _FLOATS[wide], as_dtype(wide).itemsize
    pairs = f.emit(f"lshr i64 {f.emit(f'add i64 {count}, 1')}, 1")
    angles = f.at(uniform, pairs, kind)
    found = target if wide == dtype else f.at(angles, pairs, kind)

    def apply(k: int, x: str, y: str, n: str) -> None:
        loop, data = f.pointer(w, LOOPS + 2 * k), f.pointer(w, LOOPS + 2 * k + 1)
        numpy_loops.call(f, loop, data, (x, y), (n,), (size, size))

    def each(n: str, places: Sequence[str], compute: Any) -> None:
        with f.loop(0, n) as k:
            at = [f.at(place, k, kind) for place in places]
            f.do(f"store {kind} {compute(*[f.emit(f'load {kind}, ptr {x}') for x in at])}, ptr {at[0]}")

    suffix = "f64" if size == 8 else "f32"
    each(pairs, (uniform,), lambda u: f.emit(f"fsub {kind} 1.0, {u}"))
    apply(0, uniform, uniform, pairs)

    def root(x: str) -> str:
        return f.emit(f"call {kind} @llvm.sqrt.{suffix}({kind} {x})")

    each(pairs, (uniform,), lambda u: root(f.emit(f"fmul {kind} {u}, -2.0")))
    turn = _number(2.0 * np.pi, wide)
    each(pairs, (angles,), lambda a: f.emit(f"fmul {kind} {a}, {turn}"))
    rest = f.emit(f"sub i64 {count}, {pairs}")
    for k, place, n in ((1, found, pairs), (2, f.at(found, pairs, kind), rest)):
        apply(k, angles, place, n)
        each(n, (place, uniform), lambda x, r: f.emit(f"fmul {kind} {x}, {r}"))
    if wide != dtype:
        with f.loop(0, count) as at:
            value = f.emit(f"load {kind}, ptr {f.at(found, at, kind)}")
            rounded = f.emit(f"fptrunc {kind} {value} to {_FLOATS[dtype]}")
            f.do(f"store {_FLOATS[dtype]} {rounded}, ptr {f.at(target, at, _FLOATS[dtype])}")


def text(kind: str, dtype: str) -> str:
    """`i32 graphad_draw(ret, exc, block)` for numbers of one kind and dtype."""
    is_normal = kind == "normal"
    block, each, stored = _block("uniform", _wide(dtype)) if is_normal else _block(kind, dtype)
    f = Function("i32 @graphad_draw(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    count, low, span = f.word(w, COUNT), "0", "1"
    if kind == "integers":
        low, high = (_limit(f, w, word, dtype) for word in (LOW, HIGH))
        with f.when(f.test("ult" if dtype[0] == "u" else "slt", high, low)):
            f.ret(NO_ANSWER)
        width = f.emit(f"sub i64 {high}, {low}")
        span = f.choose(f.test("eq", width, 0), "i64", 1, width)
    own = _FLOATS[dtype] if is_normal else stored
    is_short = f.test("eq", f.word(w, KEY_BYTES), 4)
    keys, target = f.pointer(w, KEYS), f.pointer(w, TARGET)
    with f.loop(0, f.word(w, ROWS)) as row:
        pair = []
        for k in range(2):
            at, value = f.emit(f"add i64 {f.emit(f'shl i64 {row}, 1')}, {k}"), f.slot("i64", 0)
            f.read_integer(value, keys, at, is_short)
            pair.append(value.get())
        to = f.at(target, f.emit(f"mul i64 {row}, {count}"), own)
        given = f"i64 {pair[0]}, i64 {pair[1]}, i64 {low}, i64 {span}"
        if is_normal:
            uniform = f.pointer(w, WORK)
            even = f.emit(f"and i64 {f.emit(f'add i64 {count}, 1')}, -2")
            f.do(f"call void @fill({given}, ptr {uniform}, i64 {even})")
            _spread(f, w, count, uniform, to, dtype)
        else:
            f.do(f"call void @fill({given}, ptr {to}, i64 {count})")
    f.ret(0)
    return "\n".join([_ROOTS, block, _fill(each, stored), f.text()])


@functools.lru_cache(maxsize=64)
def kernel(kind: str, dtype: str) -> int:
    """The address of the step kernel."""
    return native.printed(text, kind, dtype, symbols=["graphad_draw"])["graphad_draw"]


@functools.lru_cache(maxsize=64)
def has(kind: str, dtype: str) -> bool:
    """Whether there is a step for numbers of this kind and dtype, with the bits of the eager op; a few are tried."""
    if (dtype not in _FLOATS) if kind in ("uniform", "normal") else as_dtype(dtype).numpy.kind not in "iu":
        return False
    if kind == "normal" and None in _loops(dtype):
        return False
    key, kept = np.array([-5, 7]), as_dtype(dtype).numpy
    limits = [np.array(k, kept) for k in (3, 90)]
    draw = {"uniform": philox.uniform, "normal": philox.normal}.get(kind)
    count = 37
    if draw is None:
        low, high = limits if kind == "integers" else (None, None)
        want = philox.integers(key, count, low, high, kept)
    else:
        want = draw(key, count, kept)
    found, work = np.empty(count, kept), np.empty(3 * count + 3)
    words = words_of(kind, dtype, 8, (2,), (count,))
    for word, array in zip((KEYS, TARGET, LOW, HIGH, WORK), (key, found, *limits, work), strict=True):
        words[word] = array.ctypes.data
    return not blas.run_step(kernel(kind, dtype), words) and np.array_equal(found, want)


def _loops(dtype: str) -> list[tuple[int, int] | None]:
    letter = np.dtype(_wide(dtype)).char
    return [numpy_loops.find(ufunc, f"{letter}->{letter}") for ufunc in _UFUNCS]


def workspace(form: Drawn, keys: Sequence[int], shape: Sequence[int]) -> int:
    """Bytes of a step's workspace: the uniform numbers behind normal ones, and these where they are rounded at last."""
    if form.kind != "normal":
        return 0
    wide = _wide(form.dtype.name)
    pairs = (math.prod(shape[len(keys) - 1 :]) + 1) // 2
    return as_dtype(wide).itemsize * 2 * pairs * (1 if wide == form.dtype.name else 2)


def words_of(kind: str, dtype: str, key_bytes: int, keys: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The block of a step without its pointers, for keys and a result of these shapes."""
    words = [0] * WORD_COUNT
    words[ROWS], words[KEY_BYTES] = math.prod(keys[:-1]), key_bytes
    words[COUNT] = math.prod(shape[len(keys) - 1 :])
    if kind == "normal":
        for k, found in enumerate(_loops(dtype)):
            words[LOOPS + 2 * k : LOOPS + 2 * k + 2] = found or (0, 0)
    return words
