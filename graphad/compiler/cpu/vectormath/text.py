"""A tiny expression builder that prints scalar LLVM IR.

A recipe adds and multiplies `Value`s as if they were numbers; every operation appends one line to the `Block` of its operands.
No line carries a fast-math flag and every fused multiply-add is asked for by name: the roundings are those written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from graphad.kernels.record import Record

Number = float | int


class Format(Record):
    """One binary float format and the constants that follow from its layout."""

    key: str  # suffix of function names and key of the polynomial tables
    real: str  # LLVM type of the floats
    word: str  # LLVM type of the integers of the same width
    stored: int  # explicit bits of the significand
    bias: int

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.stored

    @property
    def rounder(self) -> float:
        """Adding it rounds to an integer, which then stands in the low bits: 1.5 * 2**stored."""
        return 1.5 * 2.0**self.stored

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


F32 = Format("f32", "float", "i32", 23, 127)
F64 = Format("f64", "double", "i64", 52, 1023)
FORMATS = {"float32": F32, "float64": F64}
_WORD = {"float": "i32", "double": "i64"}
_REAL = {"i32": "float", "i64": "double"}


def to_single(value: float) -> float:
    """`value` rounded to float32, or an infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def literal(number: float) -> str:
    """A float as the bits of a double, which is how IR spells both formats."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return f"0x{bits:016X}"


class Block:
    """The lines of one function body."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.definitions: list[str] = []  # other functions and tables of the module

    def emit(self, instruction: str, kind: str) -> Value:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(self, name, kind)

    def call(self, intrinsic: str, kind: str, operands: Sequence[Value]) -> Value:
        """One of LLVM's own functions, all operands of the result's type."""
        symbol = f"@llvm.{intrinsic}.{'f32' if kind == 'float' else 'f64'}"
        self.declared[symbol] = f"declare {kind} {symbol}({', '.join([kind] * len(operands))})"
        return self.emit(f"call {kind} {symbol}({', '.join(f'{kind} {x.name}' for x in operands)})", kind)

    def constant(self, value: Number, kind: str) -> Value:
        """A literal."""
        if kind in ("i32", "i64", "i128"):
            return Value(self, str(int(value)), kind)
        return Value(self, literal(to_single(value) if kind == "float" else float(value)), kind)


class Value:
    """One SSA value or literal.  Comparisons are the ordered ones: false when an operand is NaN."""

    __slots__ = ("block", "kind", "name")

    def __init__(self, block: Block, name: str, kind: str) -> None:
        self.block, self.name, self.kind = block, name, kind

    @property
    def is_real(self) -> bool:
        return self.kind in ("float", "double")

    def lift(self, other: Value | Number) -> Value:
        return other if isinstance(other, Value) else self.block.constant(other, self.kind)

    def _binary(self, real: str, word: str, left: Value | Number, right: Value | Number) -> Value:
        a, b = self.lift(left), self.lift(right)
        return self.block.emit(f"{real if self.is_real else word} {self.kind} {a.name}, {b.name}", self.kind)

    def __add__(self, other: Value | Number) -> Value:
        return self._binary("fadd", "add", self, other)

    def __radd__(self, other: Number) -> Value:
        return self._binary("fadd", "add", other, self)

    def __sub__(self, other: Value | Number) -> Value:
        return self._binary("fsub", "sub", self, other)

    def __rsub__(self, other: Number) -> Value:
        return self._binary("fsub", "sub", other, self)

    def __mul__(self, other: Value | Number) -> Value:
        return self._binary("fmul", "mul", self, other)

    def __rmul__(self, other: Number) -> Value:
        return self._binary("fmul", "mul", other, self)

    def __truediv__(self, other: Value | Number) -> Value:
        return self._binary("fdiv", "sdiv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self._binary("fdiv", "sdiv", other, self)

    def __neg__(self) -> Value:
        return self.block.emit(f"fneg {self.kind} {self.name}", self.kind)

    def __lshift__(self, count: int) -> Value:
        return self._binary("", "shl", self, count)

    def __rshift__(self, count: int) -> Value:
        """A logical shift: zeros come in."""
        return self._binary("", "lshr", self, count)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("", "and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("", "or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("", "xor", self, other)

    def _compare(self, real: str, word: str, other: Value | Number) -> Value:
        verb = f"fcmp {real}" if self.is_real else f"icmp {word}"
        return self.block.emit(f"{verb} {self.kind} {self.name}, {self.lift(other).name}", "i1")

    def __lt__(self, other: Value | Number) -> Value:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Value | Number) -> Value:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Value | Number) -> Value:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Value | Number) -> Value:
        return self._compare("oge", "sge", other)

    def equals(self, other: Value | Number) -> Value:
        return self._compare("oeq", "eq", other)

    def differs(self, other: Value | Number) -> Value:
        """Not equal; true for NaN."""
        return self._compare("une", "ne", other)

    def bits(self) -> Value:
        """The float's bits as an integer."""
        word = _WORD[self.kind]
        return self.block.emit(f"bitcast {self.kind} {self.name} to {word}", word)

    def real(self) -> Value:
        """The float that has these bits."""
        kind = _REAL[self.kind]
        return self.block.emit(f"bitcast {self.kind} {self.name} to {kind}", kind)

    def widen(self) -> Value:
        """float32 to float64, exact."""
        return self.block.emit(f"fpext float {self.name} to double", "double")

    def narrow(self) -> Value:
        """float64 to float32, rounded once."""
        return self.block.emit(f"fptrunc double {self.name} to float", "float")

    def shorten(self) -> Value:
        """The low 32 bits of a 64-bit integer."""
        return self.block.emit(f"trunc i64 {self.name} to i32", "i32")

    def __abs__(self) -> Value:
        return self.block.call("fabs", self.kind, [self])


def select(condition: Value, yes: Value | Number, no: Value | Number, like: Value | None = None) -> Value:
    """`yes` where the condition holds; `like` gives the type when both are numbers."""
    model = next(v for v in (yes, no, like) if isinstance(v, Value))
    a, b = model.lift(yes), model.lift(no)
    return model.block.emit(
        f"select i1 {condition.name}, {model.kind} {a.name}, {model.kind} {b.name}", model.kind
    )


def fma(a: Value, b: Value | Number, c: Value | Number) -> Value:
    """a * b + c, rounded once."""
    return a.block.call("fma", a.kind, [a, a.lift(b), a.lift(c)])


def copysign(magnitude: Value, sign: Value) -> Value:
    return magnitude.block.call("copysign", magnitude.kind, [magnitude, sign])


def sqrt(x: Value) -> Value:
    return x.block.call("sqrt", x.kind, [x])


def rint(x: Value) -> Value:
    """Nearest integer, ties to even."""
    return x.block.call("rint", x.kind, [x])


def trunc(x: Value) -> Value:
    """The integer next to it towards 0."""
    return x.block.call("trunc", x.kind, [x])


def floor(x: Value) -> Value:
    """The largest integer not above it."""
    return x.block.call("floor", x.kind, [x])


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial with these coefficients, low order first: fewest instructions, smallest error."""
    total = x.lift(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    return total


def sum_error(a: Value, b: Value | Number, total: Value) -> Value:
    """a + b - total, exactly, whichever of the two is larger (Knuth)."""
    b = a.lift(b)
    other = total - a
    return (a - (total - other)) + (b - other)


def divide(top: Value, top_rest: Value, bottom: Value, bottom_rest: Value) -> tuple[Value, Value]:
    """Quotient of two sums of two floats, again as such a sum, by one division."""
    inverse = 1.0 / bottom
    quotient = top * inverse
    return quotient, (fma(-quotient, bottom, top) + fma(-quotient, bottom_rest, top_rest)) * inverse


def at_most(x: Value, limit: Number) -> Value:
    """min(x, limit); NaN stays NaN."""
    return select(x > limit, limit, x)


def at_least(x: Value, limit: Number) -> Value:
    """max(x, limit); NaN stays NaN."""
    return select(x < limit, limit, x)


def module_text(symbol: str, form: Format, block: Block, parameters: Sequence[Value], result: Value) -> str:
    """The module that defines `symbol` and the functions that it calls."""
    arguments = ", ".join(f"{form.real} {p.name}" for p in parameters)
    return "\n".join(
        [
            f"define weak_odr {form.real} @{symbol}({arguments}) alwaysinline nounwind willreturn memory(none) {{",
            *block.lines,
            f"  ret {form.real} {result.name}",
            "}",
            *block.definitions,
            *sorted(block.declared.values()),
            "",
        ]
    )
