"""Growing a program: pick values that exist, apply a signature of the tables, until the program is large enough.

A signature is a function of the `Grower`. It picks operands by what it needs (`pick` raises `NoFit` where there are none) and
emits a statement; sizes named by letters stay unknown, so its statement must be valid for any number of rows.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.program import ROWS, Block, Dims, Input, Program, Statement, Value

WIDE = 10**13  # programs of seeds from here on are grown from all tables, others without the newer ones
NEWER = frozenset(["flow", "wide"])
LARGE = 64.0  # values with a larger bound are squashed before they are used further
MOST_ELEMENTS = 64


class NoFit(Exception):
    """No value fits what a signature needs; another signature is tried."""


@dataclass(frozen=True)
class Signature:
    name: str
    family: str
    weight: float
    make: Callable[[Grower], None]


TABLE: dict[str, Signature] = {}


def signature(family: str, weight: float = 1.0, name: str | None = None) -> Callable[[Any], Any]:
    """Enter a function into the table."""

    def enter(make: Callable[[Grower], None]) -> Callable[[Grower], None]:
        label = name or make.__name__
        if label in TABLE:
            raise ValueError(f"two signatures are named {label}")
        TABLE[label] = Signature(label, family, weight, make)
        return make

    return enter


@dataclass
class Style:
    """The choices for a whole program: its dtypes, and the kinds of values it may hold."""

    real: str
    complex: str
    depth: int = 0  # the number of blocks around the next statement
    is_wide: bool = False


class Grower:
    """A program, or one block of it, while it grows."""

    def __init__(self, rng: np.random.Generator, style: Style, outer: Grower | None = None) -> None:
        self.rng = rng
        self.style = style
        self.outer = outer
        self.values: list[Value] = [] if outer is None else list(outer.values)
        self.inherited = len(self.values)
        self.statements: list[Statement] = []
        self.inputs: list[Input] = [] if outer is None else outer.inputs
        self.counter: list[int] = [0] if outer is None else outer.counter
        self.depth = 0 if outer is None else outer.depth + 1
        self.current = ""

    # chance

    def chance(self, p: float) -> bool:
        return bool(self.rng.uniform() < p)

    def choice(self, options: Sequence[Any]) -> Any:
        if not len(options):
            raise NoFit
        return options[int(self.rng.integers(len(options)))]

    def whole(self, low: int, high: int) -> int:
        """low <= number < high."""
        return int(self.rng.integers(low, high))

    def number(self) -> float:
        return float(self.rng.integers(-8, 9)) / 4.0 or 0.75

    def name(self, prefix: str = "t") -> str:
        self.counter[0] += 1
        return f"{prefix}{self.counter[0]}"

    # values

    def pick(
        self,
        kind: str = "f",
        rank: int | None = None,
        low: int = 0,
        high: int = 4,
        fits: Callable[[Value], bool] | None = None,
        tame: float | None = None,
    ) -> Value:
        """A value of a dtype kind and rank, recent ones first; `tame`: squashed to about that bound where it is larger."""
        found = [
            x
            for x in self.values
            if x.kind in kind
            and (x.dtype in (self.style.real, self.style.complex) or x.kind in "ib")
            and (len(x.dims) == rank if rank is not None else low <= len(x.dims) <= high)
            and (fits is None or fits(x))
        ]
        if not found:
            raise NoFit
        weights = np.array([1.0 + 2.0 * k / len(found) for k in range(len(found))])
        value = found[int(self.rng.choice(len(found), p=weights / weights.sum()))]
        limit = LARGE if tame is None else tame
        if value.kind in "fc" and value.bound > limit:
            return self.squashed(value, limit)
        return value

    def squashed(self, value: Value, limit: float) -> Value:
        if value.kind == "c":
            scale = 2.0 ** -math.ceil(math.log2(min(value.bound, 1e6) / limit))
            return self.emit(f"$0 * {scale!r}", [value], bound=limit, name="squash")
        return self.emit("tf.tanh($0)", [value], bound=1.0, name="squash")

    def partner(self, value: Value, kind: str | None = None, same: bool = False) -> Value:
        """Another value that broadcasts against `value` without making it larger, or a constant."""

        def fits(x: Value) -> bool:
            if x.dtype != value.dtype if kind is None else x.kind not in kind:
                return False
            return x.dims == value.dims if same else broadcast(x.dims, value.dims) == value.dims

        try:
            return self.pick(kind or value.kind, fits=fits)
        except NoFit:
            dims = value.dims if same else tuple(d for d in value.dims[-1:] if not isinstance(d, str))
            if any(isinstance(d, str) for d in dims):
                return self.emit("tf.ones_like($0)", [value], bound=1.0, name="ones_like")
            return self.constant(dims, value.dtype)

    def constant(self, dims: Dims, dtype: str | None = None) -> Value:
        dtype = dtype or self.style.real
        kind = np.dtype(dtype).kind
        shape = tuple(int(d) for d in dims)
        numbers: Any = self.rng.integers(-8, 9, shape) / 4.0
        if kind == "i":
            numbers = self.rng.integers(-3, 4, shape)
        elif kind == "b":
            numbers = self.rng.integers(0, 2, shape) > 0
        elif kind == "c":
            numbers = numbers + 0.5j
        return self.emit(
            f"tf.constant({numbers.tolist()!r}, tf.{dtype}, shape={list(shape)!r})",
            [],
            dims=dims,
            dtype=dtype,
            name="constant",
        )

    def emit(
        self,
        text: str,
        operands: Sequence[Value],
        *,
        dims: Dims | None = None,
        dtype: str | None = None,
        bound: float | None = None,
        blocks: Sequence[Block] = (),
        traits: Sequence[str] = (),
        name: str | None = None,
        results: Sequence[tuple[Dims, str, float]] | None = None,
    ) -> Any:
        """Emit one statement. Its result has the type of the first operand, except where arguments say otherwise."""
        first = operands[0] if operands else None
        if results is None:
            results = [
                (
                    first.dims if dims is None and first else dims or (),
                    dtype or (first.dtype if first else self.style.real),
                    bound if bound is not None else (max(x.bound for x in operands) if operands else 2.0),
                )
            ]
        for shape, _, _ in results:
            if count(shape) > MOST_ELEMENTS or len(shape) > 5:
                raise NoFit
        made = tuple(Value(self.name(), tuple(d), t, float(b)) for d, t, b in results)
        self.statements.append(
            Statement(
                made,
                text,
                tuple(x.name for x in operands),
                tuple(blocks),
                name or self.current,
                frozenset(traits),
            )
        )
        self.values += made
        return made[0] if len(made) == 1 else made

    # sizes

    def axis(self, value: Value, fits: Callable[[int | str], bool] | None = None) -> int:
        """An axis as a number, sometimes counted from the end."""
        axes = [k for k, d in enumerate(value.dims) if fits is None or fits(d)]
        k = self.choice(axes)
        return k - len(value.dims) if self.chance(0.4) else k

    # blocks

    def block(
        self,
        params: Sequence[Value],
        want: Sequence[Value],
        size: int = 2,
        families: frozenset[str] | None = None,
        closed: bool = False,
    ) -> Block:
        """A function of `params` whose results have the types of `want`; a closed one uses nothing else."""
        if self.depth >= 2:
            raise NoFit
        inner = Grower(self.rng, self.style, self)
        if closed:
            inner.values = []
        inner.values += params
        inner.inherited = len(inner.values)
        inner.grow(self.whole(1, size + 1), families or INSIDE)
        results = []
        for wanted in want:
            results.append(inner.shaped_like(wanted, params).name)
        return Block(tuple(params), tuple(inner.statements), tuple(results))

    def shaped_like(self, wanted: Value, params: Sequence[Value]) -> Value:
        """A value of a wanted type, computed from existing values, from a parameter if possible."""
        fresh = [x for x in self.values[self.inherited :] if x.same_type(wanted) and x.bound <= LARGE]
        if fresh:
            return self.choice(fresh[-3:])
        own = [x for x in [*self.values[self.inherited :], *params] if x.dtype == wanted.dtype]
        fitting = [x for x in own if broadcast(x.dims, wanted.dims) == wanted.dims and x.bound <= LARGE]
        base = [x for x in [*params, *self.values] if x.same_type(wanted)]
        if wanted.kind not in "fc" or not base:
            if base:
                return self.choice(base)
            raise NoFit
        self.current = "shaped_like"
        if fitting:
            return self.emit(
                "$0 * $1", [self.choice(base), self.choice(fitting)], dims=wanted.dims, bound=4.0
            )
        if own:
            return self.emit(
                "$0 * tf.tanh(tf.reduce_sum($1))" if wanted.kind == "f" else "$0 * tf.reduce_sum($1)",
                [self.choice(base), own[-1]],
                dims=wanted.dims,
                bound=4.0,
            )
        return self.emit("$0 * 0.5", [self.choice(base)])

    def grow(self, steps: int, families: frozenset[str] | None = None) -> None:
        rows = [
            s
            for s in TABLE.values()
            if (families is None or s.family in families) and (self.style.is_wide or s.family not in NEWER)
        ]
        weights = np.array([s.weight for s in rows])
        weights = weights / weights.sum()
        made = tries = 0
        while made < steps and tries < 40 * steps:
            tries += 1
            chosen = rows[int(self.rng.choice(len(rows), p=weights))]
            values, statements, self.current = len(self.values), len(self.statements), chosen.name
            inputs = len(self.inputs)
            try:
                chosen.make(self)
                made += 1
            except NoFit:
                del self.values[values:], self.statements[statements:], self.inputs[inputs:]


INSIDE = frozenset("elementwise select reduction array algebra activation wide".split())


def broadcast(a: Dims, b: Dims) -> Dims | None:
    """The common shape, or None. A named size goes with itself and with 1."""
    result: list[int | str] = []
    for k in range(1, max(len(a), len(b)) + 1):
        x = a[-k] if k <= len(a) else 1
        y = b[-k] if k <= len(b) else 1
        if x != y and 1 not in (x, y):
            return None
        result.append(y if x == 1 else x)
    return tuple(reversed(result))


def count(dims: Dims, rows: int = 3) -> int:
    return int(np.prod([rows if isinstance(d, str) else d for d in dims], dtype=np.int64))


_SHAPES: tuple[Dims, ...] = (
    (),
    (3,),
    (2, 3),
    (3, 3),
    (4, 2),
    (2, 3, 2),
    (ROWS,),
    (ROWS, 3),
    (ROWS, 2),
    (ROWS, 3, 2),
    (ROWS, 1),
    (1, 3),
    (2, 4, 3, 1),
    (ROWS, 3, 3),
)


def table() -> dict[str, Signature]:
    """The table with all of its signatures."""
    _load_tables()
    return TABLE


def grow_program(seed: int, steps: int | None = None) -> Program:
    """The program of a seed."""
    _load_tables()
    rng = np.random.default_rng([20260101, seed])
    real = str(rng.choice(["float32", "float64", "float16"], p=[0.58, 0.38, 0.04]))
    style = Style(real, "complex128" if real == "float64" else "complex64", is_wide=seed >= WIDE)
    g = Grower(rng, style)
    profile = str(rng.choice(["plain", "grid", "extreme"], p=[0.62, 0.33, 0.05]))

    def add(dims: Dims, dtype: str, profile: str, variable: bool = False) -> None:
        bound = 30.0 if profile == "extreme" else 4.0 if profile == "whole" else 2.0
        value = Value(g.name("v" if variable else "x"), dims, dtype, bound)
        g.inputs.append(Input(value, profile, zlib.crc32(f"{seed} {value.name}".encode()), variable))
        g.values.append(value)

    add(g.choice(_SHAPES), real, profile)
    for _ in range(g.whole(0, 3)):
        add(g.choice(_SHAPES), real, profile)
    if g.chance(0.12):
        add(g.choice(_SHAPES[1:4] + _SHAPES[7:9]), style.complex, "complex")
    if g.chance(0.15):
        add(g.choice(_SHAPES), "int32" if g.chance(0.8) else "int64", "whole")
    if g.chance(0.08):
        add(g.choice(_SHAPES), "bool", "logical")
    if g.chance(0.15):
        add(g.choice(_SHAPES[:5]), real, "plain", variable=True)
    g.grow(steps or g.whole(2, 9))
    used = {name for s in g.statements for name in s.operands}
    ends = [x for x in g.values[len(g.inputs) :] if x.name not in used and x.kind in "fc"]
    others = [x for x in g.values[len(g.inputs) :] if x.name not in used and x.kind in "ib"]
    ends = ends[-3:] + others[-1:]
    if not any(x.kind in "fc" for x in ends):
        made = [x for x in g.values if x.kind in "fc"]
        ends.append(made[-1])
    body = Block((), tuple(g.statements), tuple(x.name for x in ends))
    return without_dead(Program(seed, tuple(g.inputs), body))


def without_dead(program: Program) -> Program:
    """The program without unused statements and inputs."""
    used = set(program.body.results)
    kept = []
    for statement in reversed(program.body.statements):
        if "effect" in statement.traits or used & {value.name for value in statement.results}:
            kept.append(statement)
            used |= statement.names_used()
    inputs = tuple(x for x in program.inputs if x.value.name in used)
    return Program(program.seed, inputs, Block((), tuple(reversed(kept)), program.body.results))


def _load_tables() -> None:
    from tests.fuzz import (  # noqa: F401
        algebra,
        arrays,
        elementwise,
        networks,
        reductions,
        structures,
    )

    _load_newer()


def _load_newer() -> None:
    """Add entries at the end of the table, since its order decides what a seed grows."""
    from tests.fuzz import cases, flow, wide  # noqa: F401
