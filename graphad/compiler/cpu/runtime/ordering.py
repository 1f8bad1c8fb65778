"""The places of elements in order along an axis as plan steps: stable sorts, the first few of them, and extremes.

The operand is [outer, count, inner] in C order. To sort, each element becomes a 64-bit key in whose order unsigned numbers come
like the elements do: 0.0 and -0.0 have one key, NaN the largest; descending, all bits are inverted, so that equal elements keep
their order too. A few keys are inserted one after the other; more are sorted byte by byte, from the last one on. Where there are
fewer elements than places to find, the step ends with NO_ANSWER.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER

if TYPE_CHECKING:
    from graphad.kernels.forms import Ordered

# words of the step's block; KEPT is how many places are stored
SOURCE, TARGET, WORK, OUTER, COUNT, INNER, KEPT, DESCENDING, WIDE = range(9)

# dtype: the type of its elements, its bits, and how it is ordered
KINDS = {
    "float32": ("float", 32, "float"),
    "float64": ("double", 64, "float"),
    "int32": ("i32", 32, "signed"),
    "int64": ("i64", 64, "signed"),
    "uint8": ("i8", 8, "unsigned"),
    "bool": ("i8", 8, "unsigned"),
}
PLACES = frozenset({"int32", "int64"})  # dtypes of places
_BUCKETS = 256
_INSERTED = 48  # elements, or elements that are kept, up to which they are inserted
_PAIR = 16  # bytes of a key and its place


def workspace(count: int) -> int:
    """Bytes of the workspace for one sequence: two arrays of keys with places, and counts of bytes."""
    return 2 * _PAIR * count + 8 * _BUCKETS * 8


def _key(dtype: str) -> str:
    """`i64 @key(x, descending)`, the latter 0 or -1."""
    kind, bits, how = KINDS[dtype]
    f = Function(f"i64 @key({kind} %x, i64 %descending)", "internal", "nounwind alwaysinline")
    low, mask = f"i{bits}", (1 << bits) - 1
    if how == "float":
        # Adding 0.0 makes 0.0 of -0.0. Negative numbers are in the reverse order of their bits.
        pattern = f.emit(f"bitcast {kind} {f.emit(f'fadd {kind} %x, 0.0')} to {low}")
        sign = f.emit(f"ashr {low} {pattern}, {bits - 1}")
        flip = f.emit(f"or {low} {sign}, {-(1 << (bits - 1))}")
        ordered = f.emit(f"xor {low} {pattern}, {flip}")
        ordered = f.choose(f.emit(f"fcmp uno {kind} %x, %x"), low, -1, ordered)
    elif how == "signed":
        ordered = f.emit(f"xor {low} %x, {-(1 << (bits - 1))}")
    else:
        ordered = "%x"
    wide = ordered if bits == 64 else f.emit(f"zext {low} {ordered} to i64")
    turned = f.emit(f"xor i64 {wide}, %descending")
    f.ret(turned if bits == 64 else f.emit(f"and i64 {turned}, {mask}"))
    return f.text()


def _store_place() -> str:
    f = Function(
        "void @store_place(ptr %to, i64 %at, i64 %place, i64 %wide)", "internal", "nounwind alwaysinline"
    )
    is_wide = f.test("ne", "%wide", 0)
    with f.when(is_wide):
        f.do(f"store i64 %place, ptr {f.at('%to', '%at')}, align 8")
    with f.when(f.emit(f"xor i1 {is_wide}, true")):
        f.do(f"store i32 {f.emit('trunc i64 %place to i32')}, ptr {f.at('%to', '%at', 'i32')}, align 4")
    f.ret()
    return f.text()


def _pair(f: Function, base: str, i: str) -> str:
    return f.at(base, f.emit(f"shl i64 {i}, 1"))


def _put_pair(f: Function, base: str, i: str, key: str, place: str) -> None:
    at = _pair(f, base, i)
    f.do(f"store i64 {key}, ptr {at}")
    f.do(f"store i64 {place}, ptr {f.at(at, 1)}")


def _insert() -> str:
    """Insert a pair into `%held` sorted ones, of which `%most` are kept; equal keys keep their order."""
    f = Function(
        "void @insert(ptr %pairs, i64 %held, i64 %most, i64 %key, i64 %place)",
        "internal",
        "nounwind alwaysinline",
    )
    at = f.slot("i64", "%held")
    with f.when(f.test("eq", "%held", "%most")):
        last = f.emit("sub i64 %most, 1")
        # An element is kept only if it comes before the last of those kept so far.
        with f.when(f.test("uge", "%key", f.word(_pair(f, "%pairs", last), 0))):
            f.ret()
        at.set(last)
    with f.forever() as done:
        f.leave(done, f.test("eq", at.get(), 0))
        before = f.emit(f"sub i64 {at.get()}, 1")
        place = _pair(f, "%pairs", before)
        key = f.word(place, 0)
        f.leave(done, f.test("ule", key, "%key"))
        _put_pair(f, "%pairs", at.get(), key, f.word(place, 1))
        at.set(before)
    _put_pair(f, "%pairs", at.get(), "%key", "%place")
    f.ret()
    return f.text()


def _by_bytes(bits: int) -> str:
    """`ptr @by_bytes(pairs, other, counts, n)`: sort the pairs by their keys; where they are then."""
    passes = bits // 8
    f = Function("ptr @by_bytes(ptr %pairs, ptr %other, ptr %counts, i64 %n)", "internal", "nounwind")
    f.do(f"call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 {8 * _BUCKETS * passes}, i1 false)")
    with f.loop(0, "%n") as i:
        key = f.word(_pair(f, "%pairs", i), 0)
        for k in range(passes):
            byte = f.emit(f"and i64 {f.emit(f'lshr i64 {key}, {8 * k}')}, 255")
            cell = f.at("%counts", f.emit(f"add i64 {byte}, {_BUCKETS * k}"))
            f.do(f"store i64 {f.emit(f'add i64 {f.word(cell, 0)}, 1')}, ptr {cell}")
    here, there = f.slot("ptr", "%pairs"), f.slot("ptr", "%other")
    with f.loop(0, passes) as number:
        shift = f.emit(f"shl i64 {number}, 3")
        counts = f.at("%counts", f.emit(f"mul i64 {number}, {_BUCKETS}"))
        first = f.emit(f"and i64 {f.emit(f'lshr i64 {f.word(here.get(), 0)}, {shift}')}, 255")
        # A pass is skipped if this byte is the same in all keys.
        with f.when(f.test("ne", f.word(counts, first), "%n")):
            total = f.slot("i64", 0)
            with f.loop(0, _BUCKETS) as b:
                cell = f.at(counts, b)
                count = f.word(cell, 0)
                f.do(f"store i64 {total.get()}, ptr {cell}")
                total.set(f.emit(f"add i64 {total.get()}, {count}"))
            source, target = here.get(), there.get()
            with f.loop(0, "%n") as i:
                pair = _pair(f, source, i)
                key, place = f.word(pair, 0), f.word(pair, 1)
                byte = f.emit(f"and i64 {f.emit(f'lshr i64 {key}, {shift}')}, 255")
                cell = f.at(counts, byte)
                to = f.word(cell, 0)
                _put_pair(f, target, to, key, place)
                f.do(f"store i64 {f.emit(f'add i64 {to}, 1')}, ptr {cell}")
            here.set(target)
            there.set(source)
    f.ret(here.get())
    return f.text()


def _first(f: Function, o: str, count: str, inner: str, k: str) -> str:
    """The number of the first element of a sequence."""
    row = f.emit(f"mul i64 {o}, {count}")
    return f.emit(f"add i64 {f.emit(f'mul i64 {row}, {inner}')}, {k}")


def _sort(dtype: str) -> str:
    """`graphad_order`: of each sequence the places of the first `KEPT` elements in order."""
    kind, _, _ = KINDS[dtype]
    f = Function("i32 @graphad_order(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    count, inner, kept, wide = (f.word(w, word) for word in (COUNT, INNER, KEPT, WIDE))
    source, target, pairs = (f.pointer(w, word) for word in (SOURCE, TARGET, WORK))
    turn = f.emit(f"sub i64 0, {f.word(w, DESCENDING)}")
    other = f.at(pairs, f.emit(f"mul i64 {count}, {_PAIR}"), "i8")
    counts = f.at(other, f.emit(f"mul i64 {count}, {_PAIR}"), "i8")
    with f.when(f.test("sgt", kept, count)):
        f.ret(NO_ANSWER)
    is_short = f.test("sle", kept, _INSERTED)
    with f.loop(0, f.word(w, OUTER)) as o:
        with f.loop(0, inner) as k:
            first = _first(f, o, count, inner, k)
            to = _first(f, o, kept, inner, k)
            found = f.slot("ptr", pairs)
            with f.loop(0, count) as i:
                at = f.emit(f"add i64 {first}, {f.emit(f'mul i64 {i}, {inner}')}")
                x = f.emit(f"load {kind}, ptr {f.at(source, at, kind)}")
                key = f.emit(f"call i64 @key({kind} {x}, i64 {turn})")
                with f.when(is_short):
                    held = f.choose(f.test("slt", i, kept), "i64", i, kept)
                    given = f"ptr {pairs}, i64 {held}, i64 {kept}, i64 {key}, i64 {i}"
                    f.do(f"call void @insert({given})")
                with f.when(f.emit(f"xor i1 {is_short}, true")):
                    _put_pair(f, pairs, i, key, i)
            with f.when(f.emit(f"xor i1 {is_short}, true")):
                given = f"ptr {pairs}, ptr {other}, ptr {counts}, i64 {count}"
                found.set(f.emit(f"call ptr @by_bytes({given})"))
            with f.loop(0, kept) as i:
                place = f.word(_pair(f, found.get(), i), 1)
                at = f.emit(f"add i64 {to}, {f.emit(f'mul i64 {i}, {inner}')}")
                f.do(f"call void @store_place(ptr {target}, i64 {at}, i64 {place}, i64 {wide})")
    f.ret(0)
    return f.text()


_LANES = 32  # bytes that are compared at once


def _less(dtype: str, descending: bool) -> tuple[str, str]:
    """How elements are compared, and what none of them comes behind; NaN comes before nothing."""
    _, bits, how = KINDS[dtype]
    if how == "float":
        return ("fcmp ogt", "0xFFF0000000000000") if descending else ("fcmp olt", "0x7FF0000000000000")
    if how == "signed":
        most = (1 << (bits - 1)) - 1
        return ("icmp sgt", str(-most - 1)) if descending else ("icmp slt", str(most))
    return ("icmp ugt", "0") if descending else ("icmp ult", str((1 << bits) - 1))


def _first_extreme(dtype: str, descending: bool) -> str:
    """`i64 @first_largest(x, n, step)` or `first_smallest`: of n elements, `step` apart."""
    kind, bits, how = KINDS[dtype]
    less, last = _less(dtype, descending)
    name = "first_largest" if descending else "first_smallest"
    f = Function(f"i64 @{name}(ptr %x, i64 %n, i64 %step)", "internal", "nounwind")
    lanes = _LANES * 8 // bits
    vector, equal = f"<{lanes} x {kind}>", "fcmp oeq" if how == "float" else "icmp eq"
    best = f.slot(kind, last)

    def improve(value: str) -> None:
        best.set(f.choose(f.emit(f"{less} {kind} {value}, {best.get()}"), kind, value, best.get()))

    is_dense = f.test("eq", "%step", 1)
    whole = f.choose(is_dense, "i64", f.emit(f"and i64 %n, {-2 * lanes}"), 0)
    with f.when(f.test("sgt", whole, 0)):
        splat = "<" + ", ".join([f"{kind} {last}"] * lanes) + ">"
        held = [f.slot(vector, splat), f.slot(vector, splat)]
        with f.loop(0, whole, 2 * lanes) as i:
            for k, each in enumerate(held):
                at = f.at("%x", f.emit(f"add i64 {i}, {k * lanes}"), kind)
                x = f.emit(f"load {vector}, ptr {at}, align {max(bits // 8, 1)}")
                mask = f.emit(f"{less} {vector} {x}, {each.get()}")
                each.set(f.emit(f"select <{lanes} x i1> {mask}, {vector} {x}, {vector} {each.get()}"))
        for each in held:
            value = each.get()
            for k in range(lanes):
                improve(f.emit(f"extractelement {vector} {value}, i64 {k}"))
    with f.loop(whole, "%n") as i:
        improve(f.emit(f"load {kind}, ptr {f.at('%x', f.emit(f'mul i64 {i}, %step'), kind)}"))
    # Where none comes before the last there is, all are it, or NaN, which counts as it.
    found = best.get()
    with f.when(f.emit(f"{equal} {kind} {found}, {last}")):
        f.ret(0)
    start = f.slot("i64", 0)
    splat = f.emit(f"insertelement {vector} poison, {kind} {found}, i64 0")
    splat = f.emit(f"shufflevector {vector} {splat}, {vector} poison, <{lanes} x i32> zeroinitializer")
    with f.forever() as done:
        f.leave(done, f.test("sge", start.get(), whole))
        x = f.emit(f"load {vector}, ptr {f.at('%x', start.get(), kind)}, align {max(bits // 8, 1)}")
        mask = f.emit(f"bitcast <{lanes} x i1> {f.emit(f'{equal} {vector} {x}, {splat}')} to i{lanes}")
        f.leave(done, f.test("ne", mask, 0, f"i{lanes}"))
        start.set(f.emit(f"add i64 {start.get()}, {lanes}"))
    with f.loop(start.get(), "%n") as i:
        x = f.emit(f"load {kind}, ptr {f.at('%x', f.emit(f'mul i64 {i}, %step'), kind)}")
        with f.when(f.emit(f"{equal} {kind} {x}, {found}")):
            f.ret(i)
    f.ret(0)
    return f.text()


def _extreme(dtype: str) -> str:
    """`graphad_extreme`: of each sequence the place of its first largest or smallest element, NaN counted as the other end."""
    kind, _, _ = KINDS[dtype]
    f = Function("i32 @graphad_extreme(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    count, inner, wide = (f.word(w, word) for word in (COUNT, INNER, WIDE))
    source, target = f.pointer(w, SOURCE), f.pointer(w, TARGET)
    descends = f.test("ne", f.word(w, DESCENDING), 0)
    with f.when(f.test("eq", count, 0)):
        f.ret(NO_ANSWER)
    place = f.slot("i64", 0)
    with f.loop(0, f.word(w, OUTER)) as o:
        with f.loop(0, inner) as k:
            x = f.at(source, _first(f, o, count, inner, k), kind)
            for is_this, name in (
                (descends, "first_largest"),
                (f.emit(f"xor i1 {descends}, true"), "first_smallest"),
            ):
                with f.when(is_this):
                    place.set(f.emit(f"call i64 @{name}(ptr {x}, i64 {count}, i64 {inner})"))
            at = f.emit(f"add i64 {f.emit(f'mul i64 {o}, {inner}')}, {k}")
            f.do(f"call void @store_place(ptr {target}, i64 {at}, i64 {place.get()}, i64 {wide})")
    f.ret(0)
    return f.text()


def text(dtype: str) -> str:
    """The step kernels for elements of one dtype."""
    memory = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    keys = _key(dtype), _store_place(), _insert(), _by_bytes(KINDS[dtype][1])
    extremes = [_first_extreme(dtype, descending) for descending in (False, True)]
    return "\n".join([memory, *keys, _sort(dtype), *extremes, _extreme(dtype)])


_addresses: dict[str, dict[str, int]] = {}
_SYMBOLS = ("graphad_order", "graphad_extreme")


def _kernels(dtype: str) -> dict[str, int]:
    return native.once(_addresses, dtype, lambda: native.printed(text, dtype, symbols=_SYMBOLS))


def ordered(form: Ordered, dtype: str, shapes: Sequence[Sequence[int]]) -> tuple[int, list[int]]:
    """The step kernel and its block without pointers, for the shapes of operand and result."""
    shape = shapes[0]
    axis = form.axis % len(shape)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    kept = 0 if form.way == "extreme" else shapes[1][axis]
    words = [0, 0, 0, outer, shape[axis], inner, kept, int(form.descending), int(form.dtype.itemsize == 8)]
    return _kernels(dtype)[f"graphad_{form.way}"], words
