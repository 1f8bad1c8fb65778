"""The remainders of divisions, exact as C99 has them.

The quotient of two floats, rounded and cut off, is the true one or one more, if it has no more digits than a float; then one
fused step gives the remainder without rounding. Longer quotients are rare: scalar code takes off as many digits at a time.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import rare
from graphad.compiler.cpu.vectormath.text import Format, Value, copysign, fma, literal, select, trunc


def fmod(form: Format, x: Value, y: Value) -> Value:
    """x - y trunc(x / y), of the sign of x; NaN if x is infinite or y is 0."""
    symbol = f"graphad_fmod_{form.key}_far"
    a, b = abs(x), abs(y)
    far = rare.call(symbol, form, a, b)
    _define(form, symbol, x)
    rest = _rest(a, b)
    near = select(a < b, a, select(rest < 0.0, rest + b, rest))
    return copysign(select(a < b * _limit(form), near, far), x)


def mod(form: Format, x: Value, y: Value) -> Value:
    """x - y floor(x / y), 0 or of the sign of y; a 0 has the sign of x."""
    rest = fmod(form, x, y)
    return select(rest.differs(0.0) & ((rest < 0.0) ^ (y < 0.0)), rest + y, rest)


def _limit(form: Format) -> float:
    """Quotients below it are floats when they are cut off."""
    return float(2.0 ** (form.stored + 1))


def _rest(a: Value, b: Value) -> Value:
    """a - b trunc(a / b), or less by b."""
    return fma(-trunc(a / b), b, a)


def _define(form: Format, symbol: str, x: Value) -> None:
    kind, key, limit = form.real, form.key, literal(_limit(form))

    def test(vector: str, n: int) -> list[str]:
        limits = ", ".join([f"{kind} {limit}"] * n)
        return [f"  %edge = fmul {vector} %y, <{limits}>", f"  %rare = fcmp uge {vector} %x, %edge"]

    infinity, nan, zero = literal(float("inf")), "0x7FF8000000000000", literal(0.0)
    lines = [
        "entry:",
        f"  %edge = fmul {kind} %y, {limit}",
        f"  %near = fcmp olt {kind} %x, %edge",
        "  br i1 %near, label %done, label %test",
        "test:",
        f"  %finite = fcmp olt {kind} %x, {infinity}",
        f"  %divides = fcmp ogt {kind} %y, {zero}",
        "  %has = and i1 %finite, %divides",
        "  br i1 %has, label %reduce, label %done",
        "reduce:  ; what is left, which is not below y",
        f"  %left = phi {kind} [%x, %test], [%rest, %step]",
        "  br label %scale",
        "scale:  ; y times a power of 2, so that the quotient is short",
        f"  %unit = phi {kind} [%y, %reduce], [%larger, %scale]",
        f"  %larger = fmul {kind} %unit, {limit}",
        f"  %far = fcmp ole {kind} %larger, %left",
        "  br i1 %far, label %scale, label %step",
        "step:",
        f"  %ratio = fdiv {kind} %left, %unit",
        f"  %whole = call {kind} @llvm.trunc.{key}({kind} %ratio)",
        f"  %minus = fneg {kind} %whole",
        f"  %below = call {kind} @llvm.fma.{key}({kind} %minus, {kind} %unit, {kind} %left)",
        f"  %less = fcmp olt {kind} %below, {zero}",
        f"  %above = fadd {kind} %below, %unit",
        f"  %rest = select i1 %less, {kind} %above, {kind} %below",
        f"  %more = fcmp oge {kind} %rest, %y",
        "  br i1 %more, label %reduce, label %done",
        "done:",
        f"  %result = phi {kind} [%x, %entry], [{nan}, %test], [%rest, %step]",
        f"  ret {kind} %result",
        "}",
    ]
    rare.define(x.block, symbol, form, "xy", "\n".join([rare.heading(symbol, kind, "xy"), *lines]), test)
