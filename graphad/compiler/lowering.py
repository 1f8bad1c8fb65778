"""Prints each function of the source text as LLVM instructions, for any backend for which Numba compiles.

A value of code f16 or bf16 is a float inside a kernel and is rounded after every function; b1 is an i1, a byte in
memory. Nothing here can trap or be undefined; whether a processor lacks an instruction shows as an undefined
symbol of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype
from graphad.kernels import scalars

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np

    class LoweringContext(Protocol):
        """The context that a backend of Numba passes to an intrinsic that prints its instructions."""

        def get_dummy_value(self) -> ir.Value:
            """The value of a function that returns nothing."""

    # Prints the instructions of a call, of that signature, with these arguments.
    Generate = Callable[[LoweringContext, ir.IRBuilder, object, Sequence[ir.Value]], ir.Value]
    Build = Callable[..., ir.Value]  # prints the instructions of one function, of a builder and its operands
    # A name of the source text, which Numba looks up and never calls as Python.
    Intrinsic = Callable[..., object]

FLOATS = ("f16", "bf16", "f32", "f64")
# functions that never need rounding: their result is one of their operands, or a small integer, or already rounded
EXACT = frozenset(
    ("neg", "abs", "maximum", "minimum", "sign", "select", "copy", "floor", "ceil", "round", "trunc")
)
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
REORDER = ("reassoc", "contract")  # the additions of a vectorised sum
CONTRACT = (
    "contract",
)  # lets a product fuse with a sum that has the flag too; products of maps do not have it
ANY_ZERO = ("nsz",)  # the larger of two zeros may be either


@dataclass(frozen=True)
class Lowered:
    """A function of the text: the codes of its result ("" for none) and arguments, and what prints it.

    An argument or result of code "ptr" or "index" is a 64-bit integer.
    """

    result: str
    args: tuple[str, ...]
    build: Build


def as_intrinsic(
    intrinsic: Callable[[Callable[..., object]], Intrinsic],
    kinds: dict[str, Any],
    result: str,
    args: tuple[str, ...],
    build: Build,
) -> Intrinsic:
    """An intrinsic of a backend whose arguments and result have fixed types; Numba casts literals to them.

    Args:
      intrinsic: The backend's decorator.
      kinds: Its types by code.
      result, args: Codes.
      build: Called with the builder and the arguments; returns the result.
    """
    signature = kinds[result](*(kinds[code] for code in args))

    def generate(
        context: LoweringContext, builder: ir.IRBuilder, sig: object, values: Sequence[ir.Value]
    ) -> ir.Value:
        made = build(builder, *values)
        return context.get_dummy_value() if result == "" else made

    def none(typingctx: object) -> tuple[object, Generate]:
        return signature, generate

    def one(typingctx: object, x: object) -> tuple[object, Generate]:
        return signature, generate

    def two(typingctx: object, x: object, y: object) -> tuple[object, Generate]:
        return signature, generate

    def three(typingctx: object, x: object, y: object, z: object) -> tuple[object, Generate]:
        return signature, generate

    return intrinsic((none, one, two, three)[len(args)])


def llvm_type(code: str) -> ir.Type:
    """The type of a value inside a kernel."""
    if code in ("ptr", "index"):
        return ir.IntType(64)
    if code in FLOATS:
        return ir.DoubleType() if code == "f64" else ir.FloatType()
    return ir.IntType(int(code[1:]))


def memory_type(code: str) -> ir.Type:
    """The type of an element in memory."""
    return {"b1": ir.IntType(8), "f16": ir.HalfType(), "bf16": ir.IntType(16)}.get(code) or llvm_type(code)


def lower(name: str) -> Lowered | None:
    """The function with this name in source text; None if it needs more than plain instructions."""
    head, _, rest = name.partition("_")
    if head == "identity":
        combine, code = rest.split("_")
        value = scalars.identity_of(combine, as_dtype(NAMES[code]))
        return Lowered(code, (), lambda builder: constant(code, value))
    if head == "cast":
        source, target = rest.split("_")
        return Lowered(target, (source,), lambda builder, x: cast(builder, source, target, x))
    if head == "any":
        head, _, code = rest.partition("_")
        return Lowered(code, (code, code), _FREE[head])
    if head not in scalars.TABLE:
        return None
    row = scalars.TABLE[head]
    if head == "select":
        return Lowered(rest, ("b1", rest, rest), lambda builder, c, x, y: builder.select(c, x, y))
    if head in COMPARE:
        return Lowered("b1", (rest, rest), lambda builder, x, y: compare(builder, head, rest, x, y))
    family = _FLOAT if rest in FLOATS else _BOOL if rest == "b1" else _INTEGER
    build = family.get(head)
    if build is None:
        return None
    if row.is_predicate:
        return Lowered("b1", (rest,) * row.arity, lambda builder, *xs: build(builder, rest, *xs))

    def rounded(builder: ir.IRBuilder, *xs: ir.Value) -> ir.Value:
        value = build(builder, rest, *xs)
        return value if head in EXACT else round_to(builder, rest, value)

    return Lowered(rest, (rest,) * row.arity, rounded)


# -- pieces --


def constant(code: str, value: float | np.number) -> ir.Constant:
    """A constant of a code's type."""
    return ir.Constant(llvm_type(code), float(value) if code in FLOATS else int(value))


def intrinsic(builder: ir.IRBuilder, name: str, *xs: ir.Value, flags: tuple[str, ...] = ()) -> ir.Value:
    """A call of an llvm.* function whose operands and result have one type."""
    kind = xs[0].type
    suffix = {"float": "f32", "double": "f64"}.get(str(kind), str(kind))
    full = f"llvm.{name}.{suffix}"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(xs)), full)
    return builder.call(function, xs, fastmath=flags)


def round_to(builder: ir.IRBuilder, code: str, value: ir.Value) -> ir.Value:
    """A float rounded to what `code` can hold."""
    if code == "f16":
        return builder.fpext(builder.fptrunc(value, ir.HalfType()), ir.FloatType())
    if code == "bf16":
        return bfloat_to_float(builder, float_to_bfloat(builder, value))
    return value


def float_to_bfloat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The upper half of a float, rounded to even, by integer arithmetic: right for subnormals on every processor."""
    word = ir.IntType(32)
    bits = builder.bitcast(value, word)
    odd = builder.and_(builder.lshr(bits, word(16)), word(1))
    rounded = builder.lshr(builder.add(bits, builder.add(odd, word(0x7FFF))), word(16))
    quiet = builder.or_(builder.and_(builder.lshr(bits, word(16)), word(0x8000)), word(0x7FC0))
    half = builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)
    return builder.trunc(half, ir.IntType(16))


def bfloat_to_float(builder: ir.IRBuilder, half: ir.Value) -> ir.Value:
    word = ir.IntType(32)
    return builder.bitcast(builder.shl(builder.zext(half, word), word(16)), ir.FloatType())


def from_memory(builder: ir.IRBuilder, code: str, value: ir.Value) -> ir.Value:
    """A loaded element as a value."""
    if code == "b1":
        return builder.icmp_unsigned("!=", value, value.type(0))
    if code == "f16":
        return builder.fpext(value, ir.FloatType())
    return bfloat_to_float(builder, value) if code == "bf16" else value


def to_memory(builder: ir.IRBuilder, code: str, value: ir.Value) -> ir.Value:
    """A value as the element that is stored."""
    if code == "b1":
        return builder.zext(value, ir.IntType(8))
    if code == "f16":
        return builder.fptrunc(value, ir.HalfType())
    return float_to_bfloat(builder, value) if code == "bf16" else value


def element(builder: ir.IRBuilder, code: str, pointer: ir.Value, index: ir.Value) -> ir.Value:
    """The address of element `index` of a buffer."""
    kind = memory_type(code)
    base = builder.inttoptr(pointer, kind.as_pointer())
    return builder.gep(base, [index], inbounds=True, source_etype=kind)


def compare(builder: ir.IRBuilder, fn: str, code: str, x: ir.Value, y: ir.Value) -> ir.Value:
    sign = COMPARE[fn]
    if code in FLOATS:
        return builder.fcmp_unordered(sign, x, y) if fn == "ne" else builder.fcmp_ordered(sign, x, y)
    return builder.icmp_signed(sign, x, y) if code[0] == "i" else builder.icmp_unsigned(sign, x, y)


def cast(builder: ir.IRBuilder, source: str, target: str, x: ir.Value) -> ir.Value:
    """A conversion with NumPy's meaning; floats that do not fit an integer become its smallest value."""
    kind = llvm_type(target)
    if source == target:
        return x
    if target == "b1":
        return compare(builder, "ne", source, x, constant(source, 0))
    if source in FLOATS:
        if target in FLOATS:
            return _float_to_float(builder, source, target, x)
        return _float_to_integer(builder, target, x)
    if target in FLOATS:
        convert = builder.sitofp if source[0] == "i" else builder.uitofp
        return round_to(builder, target, convert(x, kind))
    bits, width = x.type.width, kind.width
    if width <= bits:
        return builder.trunc(x, kind) if width < bits else x
    return builder.sext(x, kind) if source[0] == "i" else builder.zext(x, kind)


def _float_to_float(builder: ir.IRBuilder, source: str, target: str, x: ir.Value) -> ir.Value:
    if source == "f64" and target == "f16":
        return round_to(builder, target, _round_to_odd(builder, x))
    if source == "f64":
        x = builder.fptrunc(x, ir.FloatType())
    elif target == "f64":
        return builder.fpext(x, ir.DoubleType())
    return round_to(builder, target, x)


def _round_to_odd(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """A double as a float that a second rounding cannot harm: inexact results get an odd last bit."""
    word = ir.IntType(32)
    near = builder.fptrunc(x, ir.FloatType())
    back = builder.fpext(near, ir.DoubleType())
    bits = builder.bitcast(near, word)
    above = builder.and_(builder.fcmp_ordered(">", x, x.type(0.0)), builder.fcmp_ordered(">", back, x))
    below = builder.and_(builder.fcmp_ordered("<", x, x.type(0.0)), builder.fcmp_ordered("<", back, x))
    too_far = builder.or_(above, below)
    toward_zero = builder.select(too_far, builder.sub(bits, word(1)), bits)
    inexact = builder.fcmp_ordered("!=", back, x)
    return builder.bitcast(builder.select(inexact, builder.or_(toward_zero, word(1)), bits), ir.FloatType())


def _float_to_integer(builder: ir.IRBuilder, target: str, x: ir.Value) -> ir.Value:
    width = 64 if target in ("i64", "u64", "u32") else 32
    signed, kind = _guarded(builder, x, width), llvm_type(target)
    if target != "u64":
        return builder.trunc(signed, kind) if width > kind.width else signed
    high = builder.and_(
        builder.fcmp_ordered(">=", x, x.type(2.0**63)), builder.fcmp_ordered("<", x, x.type(2.0**64))
    )
    unsigned = builder.fptoui(builder.select(high, x, x.type(0.0)), kind)
    return builder.select(high, unsigned, signed)


def _guarded(builder: ir.IRBuilder, x: ir.Value, width: int) -> ir.Value:
    kind, limit = ir.IntType(width), 2.0 ** (width - 1)
    # in float, -limit - 1 is -limit: everything above it and below limit fits once cut off
    low = x.type(-limit) if str(x.type) == "float" or width == 64 else x.type(-limit - 1)
    above = builder.fcmp_ordered(">=" if str(x.type) == "float" or width == 64 else ">", x, low)
    fits = builder.and_(above, builder.fcmp_ordered("<", x, x.type(limit)))
    return builder.select(
        fits, builder.fptosi(builder.select(fits, x, x.type(0.0)), kind), kind(-(2 ** (width - 1)))
    )


# -- tables: float, integer and bool functions, called as f(builder, code, *values) --


def _is_signed(code: str) -> bool:
    return code[0] == "i"


def _extreme(builder: ir.IRBuilder, sign: str, code: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """The larger or smaller one, NaN if either is; of two zeros the second, and the first for float16: as NumPy does on x86."""
    first = builder.fcmp_ordered(sign + "=" if code == "f16" else sign, x, y)
    return builder.select(builder.or_(first, builder.fcmp_unordered("uno", x, x)), x, y)


def _float_sign(builder: ir.IRBuilder, code: str, x: ir.Value) -> ir.Value:
    # NaN, or 0: of either sign as 0, but in bfloat16 it keeps its sign.
    rest = x if code == "bf16" else builder.fadd(x, x.type(0.0))
    negative = builder.select(builder.fcmp_ordered("<", x, x.type(0.0)), x.type(-1.0), rest)
    return builder.select(builder.fcmp_ordered(">", x, x.type(0.0)), x.type(1.0), negative)


def _divide(
    builder: ir.IRBuilder, code: str, x: ir.Value, y: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """(quotient, remainder, y == 0), towards minus infinity, with a divisor that cannot trap."""
    zero = builder.icmp_unsigned("==", y, y.type(0))
    if not _is_signed(code):
        safe = builder.select(zero, y.type(1), y)
        quotient = builder.udiv(x, safe)
        return quotient, builder.sub(x, builder.mul(quotient, safe)), zero
    smallest = builder.icmp_signed("==", x, x.type(-(2 ** (x.type.width - 1))))
    overflow = builder.and_(smallest, builder.icmp_signed("==", y, y.type(-1)))
    safe = builder.select(builder.or_(zero, overflow), y.type(1), y)
    quotient = builder.sdiv(x, safe)
    rest = builder.sub(x, builder.mul(quotient, safe))
    differ = builder.icmp_signed("<", builder.xor(rest, safe), y.type(0))
    wrong = builder.and_(builder.icmp_unsigned("!=", rest, y.type(0)), differ)
    quotient = builder.select(wrong, builder.sub(quotient, y.type(1)), quotient)
    return quotient, builder.select(wrong, builder.add(rest, safe), rest), zero


def _floordiv(builder: ir.IRBuilder, code: str, x: ir.Value, y: ir.Value) -> ir.Value:
    quotient, _, zero = _divide(builder, code, x, y)
    return builder.select(zero, y.type(0), quotient)


def _mod(builder: ir.IRBuilder, code: str, x: ir.Value, y: ir.Value) -> ir.Value:
    _, rest, zero = _divide(builder, code, x, y)
    return builder.select(zero, y.type(0), rest)


def _shift(builder: ir.IRBuilder, code: str, x: ir.Value, y: ir.Value, is_left: bool) -> ir.Value:
    """NumPy's shifts: by the width or more (or a negative number) gives what shifting one by one would."""
    width = x.type.width
    fits = builder.icmp_unsigned("<", y, y.type(width))
    safe = builder.select(fits, y, y.type(0))
    if is_left:
        return builder.select(fits, builder.shl(x, safe), x.type(0))
    if _is_signed(code):
        return builder.ashr(x, builder.select(fits, y, y.type(width - 1)))
    return builder.select(fits, builder.lshr(x, safe), x.type(0))


def _mul_high(builder: ir.IRBuilder, code: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """The upper half of a product of integers."""
    width = x.type.width
    wide = ir.IntType(2 * width)
    both = [(builder.sext if _is_signed(code) else builder.zext)(z, wide) for z in (x, y)]
    return builder.trunc(builder.lshr(builder.mul(*both), wide(width)), x.type)


def _absolute(builder: ir.IRBuilder, code: str, x: ir.Value) -> ir.Value:
    if not _is_signed(code):
        return x
    return builder.select(builder.icmp_signed("<", x, x.type(0)), builder.sub(x.type(0), x), x)


def _integer_sign(builder: ir.IRBuilder, code: str, x: ir.Value) -> ir.Value:
    positive = builder.zext(builder.icmp_unsigned("!=", x, x.type(0)), x.type)
    return (
        builder.select(builder.icmp_signed("<", x, x.type(0)), x.type(-1), positive)
        if _is_signed(code)
        else positive
    )


def _pick(fn: str) -> Build:
    return lambda builder, code, x, y: builder.select(compare(builder, fn, code, x, y), x, y)


_FLOAT: dict[str, Build] = {
    "add": lambda b, c, x, y: b.fadd(x, y),
    "sub": lambda b, c, x, y: b.fsub(x, y),
    "mul": lambda b, c, x, y: b.fmul(x, y, flags=CONTRACT),
    "div": lambda b, c, x, y: b.fdiv(x, y),
    "floordiv": lambda b, c, x, y: intrinsic(b, "floor", round_to(b, c, b.fdiv(x, y))),
    "neg": lambda b, c, x: b.fneg(x),
    "abs": lambda b, c, x: intrinsic(b, "fabs", x),
    "sign": _float_sign,
    "square": lambda b, c, x: b.fmul(x, x, flags=CONTRACT),
    "reciprocal": lambda b, c, x: b.fdiv(x.type(1.0), x),
    "sqrt": lambda b, c, x: intrinsic(b, "sqrt", x),
    "complement": lambda b, c, x: b.fsub(x.type(1.0), x),
    "rsqrt": lambda b, c, x: b.fdiv(x.type(1.0), intrinsic(b, "sqrt", x)),
    "floor": lambda b, c, x: intrinsic(b, "floor", x),
    "ceil": lambda b, c, x: intrinsic(b, "ceil", x),
    "round": lambda b, c, x: intrinsic(b, "rint", x),
    "trunc": lambda b, c, x: intrinsic(b, "trunc", x),
    "maximum": lambda b, c, x, y: _extreme(b, ">", c, x, y),
    "minimum": lambda b, c, x, y: _extreme(b, "<", c, x, y),
    "isnan": lambda b, c, x: b.fcmp_unordered("uno", x, x),
    "isinf": lambda b, c, x: b.fcmp_ordered("==", intrinsic(b, "fabs", x), x.type(float("inf"))),
    "isfinite": lambda b, c, x: b.fcmp_ordered("<", intrinsic(b, "fabs", x), x.type(float("inf"))),
    "copy": lambda b, c, x: x,
}

# Where the order is free: sums, and extremes, which vectorise as intrinsics.
_FREE: dict[str, Build] = {
    "add": lambda b, x, y: b.fadd(x, y, flags=REORDER),
    "mul": lambda b, x, y: b.fmul(x, y, flags=REORDER),
    "maximum": lambda b, x, y: intrinsic(b, "maximum", x, y, flags=ANY_ZERO),
    "minimum": lambda b, x, y: intrinsic(b, "minimum", x, y, flags=ANY_ZERO),
}

_INTEGER: dict[str, Build] = {
    "add": lambda b, c, x, y: b.add(x, y),
    "sub": lambda b, c, x, y: b.sub(x, y),
    "mul": lambda b, c, x, y: b.mul(x, y),
    "floordiv": _floordiv,
    "mod": _mod,
    "neg": lambda b, c, x: b.sub(x.type(0), x),
    "abs": _absolute,
    "sign": _integer_sign,
    "square": lambda b, c, x: b.mul(x, x),
    "maximum": _pick("gt"),
    "minimum": _pick("lt"),
    "and": lambda b, c, x, y: b.and_(x, y),
    "or": lambda b, c, x, y: b.or_(x, y),
    "xor": lambda b, c, x, y: b.xor(x, y),
    "not": lambda b, c, x: b.xor(x, x.type(-1)),
    "shl": lambda b, c, x, y: _shift(b, c, x, y, True),
    "shr": lambda b, c, x, y: _shift(b, c, x, y, False),
    "mulhigh": _mul_high,
    "copy": lambda b, c, x: x,
}

_BOOL: dict[str, Build] = {
    "add": lambda b, c, x, y: b.or_(x, y),
    "mul": lambda b, c, x, y: b.and_(x, y),
    "abs": lambda b, c, x: x,
    "maximum": lambda b, c, x, y: b.or_(x, y),
    "minimum": lambda b, c, x, y: b.and_(x, y),
    "and": lambda b, c, x, y: b.and_(x, y),
    "or": lambda b, c, x, y: b.or_(x, y),
    "xor": lambda b, c, x, y: b.xor(x, y),
    "not": lambda b, c, x: b.xor(x, x.type(1)),
    "copy": lambda b, c, x: x,
}
