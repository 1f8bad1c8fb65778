"""Functions of eager float32 arrays whose steps round as NumPy's loops and the C library's functions do, bit by bit."""

from __future__ import annotations

from graphad.compiler.cpu.vectormath.remainders import fmod
from graphad.compiler.cpu.vectormath.special import erfc
from graphad.compiler.cpu.vectormath.text import F64, Format, Value, copysign, floor, select


def nextafter(form: Format, x: Value, y: Value) -> Value:
    """The bits count up away from 0; from 0 on the sign is that of y."""
    grows = (x < y) ^ (x < 0.0)
    bits = x.bits()
    moved = select(grows, bits + 1, bits - 1).real()
    moved = select(x.equals(0.0), copysign((bits.lift(1)).real(), y), moved)
    found = select(x.equals(y), y, moved)
    return select(x.differs(x) | y.differs(y), x + y, found)


def copy_sign(form: Format, x: Value, y: Value) -> Value:
    return copysign(x, y)


def heaviside(form: Format, x: Value, y: Value) -> Value:
    return select(x < 0.0, 0.0, select(x > 0.0, 1.0, select(x.equals(0.0), y, x)))


def floor_divide(form: Format, x: Value, y: Value) -> Value:
    """The quotient without the remainder, which is exact, as Python's `//` has it."""
    rest = fmod(form, x, y)
    whole = (x - rest) / y
    is_less = rest.differs(0.0) & ((rest < 0.0) ^ (y < 0.0))
    whole = select(is_less, whole - 1.0, whole)
    below = floor(whole)
    rounded = select((whole - below) > 0.5, below + 1.0, below)
    ratio = x / y
    found = select(whole.equals(0.0), copysign(x.lift(0.0), ratio), rounded)
    return select(y.equals(0.0), ratio, found)


def gelu(form: Format, x: Value) -> Value:
    """x / 2 times erfc(-x sqrt(1/2)), whose argument and result are rounded."""
    tail = erfc(F64, (x * -0.7071067811865476).widen()).narrow()
    return (x * 0.5) * tail
