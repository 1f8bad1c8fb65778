"""sin, cos and tan of arguments beyond the plain reduction's reach, at almost no cost to all others.

m 2**e times 2/pi modulo 4 takes 192 bits of 2/pi, from a place that e gives, and one product of integers (Payne, Hanek 1983):
scalar code for arguments that are rare.
"""

from __future__ import annotations

from collections.abc import Callable

from graphad.compiler.cpu.vectormath import rare
from graphad.compiler.cpu.vectormath.text import F64, Block, Format, Value, fma, literal, select

REACH = 2.0**47
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
TWO_OVER_PI = (  # 64 zeros, then the first 1216 bits
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip

Reduction = tuple[Value, Value, Value]  # r, rest, quadrant: x = quadrant pi/2 + r + rest
Finish = Callable[[Format, Value, Value, Value, Value], Value]


def everywhere(
    name: str, form: Format, x: Value, reduce: Callable[[Format, Value], Reduction], finish: Finish
) -> Value:
    """finish(form, x, *reduction), by `reduce` up to `REACH` and by the function for large arguments beyond."""
    symbol = f"graphad_{name}_{form.key}_far"
    # first of all: nothing but x then has to survive the call where it is not inlined
    far = rare.call(symbol, form, x)
    _define(x.block, symbol, form, finish)
    return select(abs(x) > REACH, far, finish(form, x, *reduce(form, x)))


def _define(block: Block, symbol: str, form: Format, finish: Finish) -> None:
    """The function of large arguments and the table that it reads."""
    words = ", ".join(f"i64 {word}" for word in TWO_OVER_PI)
    table = f"@{symbol}_bits = private unnamed_addr constant [{len(TWO_OVER_PI)} x i64] [{words}]"
    block.definitions.append(table)
    body = Block()
    x = Value(body, "%x", form.real)
    result = finish(form, x, *_reduce(symbol, form, x))
    block.declared |= body.declared

    def test(vector: str, n: int) -> list[str]:
        suffix = f"v{n}{form.key}"
        block.declared[suffix] = f"declare {vector} @llvm.fabs.{suffix}({vector})"
        reach = ", ".join([f"{form.real} {literal(REACH)}"] * n)
        return [
            f"  %size = call {vector} @llvm.fabs.{suffix}({vector} %x)",
            f"  %rare = fcmp ogt {vector} %size, <{reach}>",
        ]

    rare.define(block, symbol, form, "x", _scalar(symbol, form, body, result), test)


def _scalar(symbol: str, form: Format, body: Block, result: Value) -> str:
    """The function of one large argument; any other comes back as it is, for it is not used."""
    return "\n".join(
        [
            rare.heading(symbol, form.real, "x"),
            "entry:",
            f"  %size = call {form.real} @llvm.fabs.{form.key}({form.real} %x)",
            f"  %far = fcmp ogt {form.real} %size, {literal(REACH)}",
            "  br i1 %far, label %large, label %done",
            "large:",
            *body.lines,
            "  br label %done",
            "done:",
            f"  %result = phi {form.real} [%x, %entry], [{result.name}, %large]",
            f"  ret {form.real} %result",
            "}",
        ]
    )


def _reduce(symbol: str, form: Format, x: Value) -> Reduction:
    """The reduction of one large argument, r + rest off by less than 2**-64 of r; NaN for an infinity."""
    wide = x if form.key == "f64" else x.widen()
    bits = wide.bits()
    significand = (bits & ((1 << 52) - 1)) | (1 << 52)
    # |x| = significand 2**e; bit e + 62 of the table is the first that is worth less than a whole turn
    high, low = _product(significand, _window(symbol, ((bits >> 52) & 2047) - (1075 - 62)))
    quadrant = (high + (1 << 61)) >> 62
    # what is left has a sign and the unit 2**-128; its high word is not 0: no float64 is that near to k pi/2
    high, low = _funnel(high, low, high.lift(2)), low << 2
    below = high < 0
    high, low = select(below, high ^ -1, high), select(below, low ^ -1, low)  # a unit short of the negation
    zeros = _leading_zeros(high)
    high, low = _funnel(high, low, zeros), _funnel(low, low.lift(0), zeros)
    scale = ((zeros.lift(F64.bias - 53) - zeros) << 52).real()
    part = _to_double(high >> 11) * scale
    part_rest = _to_double(((high & 2047) << 42) | (low >> 22)) * (scale * 2.0**-53)
    product = part * HALF_PI[0]
    product_rest = fma(part, HALF_PI[1], fma(part_rest, HALF_PI[0], fma(part, HALF_PI[0], -product)))
    negative = bits < 0
    side = select(below, -1.0, 1.0, product) * select(negative, -1.0, 1.0, product)
    r = (product + product_rest) * side + (wide - wide)
    rest = fma(product, side, -r) + product_rest * side
    quadrant = select(negative, quadrant.lift(0) - quadrant, quadrant)
    if form.key == "f64":
        return r, rest, quadrant
    return r.narrow(), (r - r.narrow().widen()).narrow(), quadrant.shorten()


def _window(symbol: str, place: Value) -> list[Value]:
    """192 bits of the table from bit number `place`, the most significant word first."""
    block, words = place.block, []
    for k in range(4):
        index = (place >> 6) + k
        address = block.emit(f"getelementptr inbounds i64, ptr @{symbol}_bits, i64 {index.name}", "ptr")
        words.append(block.emit(f"load i64, ptr {address.name}, align 8", "i64"))
    shift = place & 63
    return [_funnel(words[k], words[k + 1], shift) for k in range(3)]


def _product(factor: Value, words: list[Value]) -> tuple[Value, Value]:
    """The 128 bits below the binary point of factor * words, where words is a fraction of three words."""
    emit = factor.block.emit

    def wide(word: Value) -> Value:
        return emit(f"zext i64 {word.name} to i128", "i128")

    def high_word(number: Value) -> Value:
        return emit(f"trunc i128 {(number >> 64).name} to i64", "i64")

    least = high_word(wide(factor) * wide(words[2]))
    middle = wide(factor) * wide(words[1]) + wide(least)
    return factor * words[0] + high_word(middle), emit(f"trunc i128 {middle.name} to i64", "i64")


def _funnel(high: Value, low: Value, count: Value) -> Value:
    """The high word of high:low shifted left by count modulo 64."""
    high.block.declared["@llvm.fshl.i64"] = "declare i64 @llvm.fshl.i64(i64, i64, i64)"
    return high.block.emit(
        f"call i64 @llvm.fshl.i64(i64 {high.name}, i64 {low.name}, i64 {count.name})", "i64"
    )


def _leading_zeros(word: Value) -> Value:
    word.block.declared["@llvm.ctlz.i64"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
    return word.block.emit(f"call i64 @llvm.ctlz.i64(i64 {word.name}, i1 false)", "i64")


def _to_double(word: Value) -> Value:
    """A word below 2**63 as a float64."""
    return word.block.emit(f"sitofp i64 {word.name} to double", "double")
