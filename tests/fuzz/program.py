"""What a program is: inputs, and statements that each name new values once. It prints as Python source.

In a statement's text `$0` is the first operand, `%0` the first result, `@0` the function made of the first block. Without `%`
the text is an expression. A size is a number or a name; "B" is the number of rows, which a run chooses.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

ROWS = "B"
Dims = tuple["int | str", ...]


@dataclass(frozen=True)
class Value:
    """A named tensor: its sizes, dtype, and about how large its entries are."""

    name: str
    dims: Dims
    dtype: str
    bound: float = 2.0

    @property
    def kind(self) -> str:
        """One letter as NumPy's: f, c, i, b."""
        return np.dtype(self.dtype).kind

    def same_type(self, other: Value) -> bool:
        return self.dims == other.dims and self.dtype == other.dtype


@dataclass(frozen=True)
class Input:
    """An input, with the way its numbers are drawn. A variable is an input that keeps state."""

    value: Value
    profile: str
    seed: int
    variable: bool = False

    def draw(self, rows: int, copies: int = 0) -> np.ndarray:
        """Its numbers for that many rows; with `copies`, several different ones stacked."""
        if copies:
            return np.stack([replace(self, seed=self.seed + 7919 * k).draw(rows) for k in range(copies)])
        shape = tuple(rows if size == ROWS else int(size) for size in self.value.dims)
        rng = np.random.default_rng(self.seed)
        return PROFILES[self.profile](rng, shape).astype(self.value.dtype)


def _plain(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-2.0, 2.0, shape)


def _grid(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Multiples of a half: ties, kinks and exact zeros."""
    return rng.integers(-4, 5, shape) / 2.0


def _extreme(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    special = np.array([0.0, -0.0, 1.0, -1.0, 1e-3, 30.0, -30.0, np.inf, -np.inf, np.nan])
    x = rng.uniform(-2.0, 2.0, shape)
    return np.where(rng.uniform(size=shape) < 0.3, rng.choice(special, shape), x)


PROFILES: dict[str, Any] = {
    "plain": _plain,
    "grid": _grid,
    "extreme": _extreme,
    "complex": lambda rng, shape: rng.uniform(-1.5, 1.5, shape) + 1j * rng.uniform(-1.5, 1.5, shape),
    "whole": lambda rng, shape: rng.integers(-4, 5, shape),
    "logical": lambda rng, shape: rng.integers(0, 2, shape),
}


@dataclass(frozen=True)
class Block:
    """A function: its parameters, statements, and what it returns. It sees all values from outside."""

    params: tuple[Value, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    results: tuple[Value, ...]
    text: str
    operands: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    signature: str = ""
    traits: frozenset[str] = field(default_factory=frozenset)

    def names_used(self) -> set[str]:
        """The operands, and the outer values that the blocks use."""
        used = set(self.operands)
        for block in self.blocks:
            inside = {value.name for value in block.params}
            for statement in block.statements:
                used |= statement.names_used()
                inside |= {value.name for value in statement.results}
            used |= set(block.results)
            used -= inside
        return used


@dataclass(frozen=True)
class Program:
    """`traits` are those of all statements: "effect" (it assigns), "dynamic" (sizes from values), "kinked", "chosen" (a
    derivative that is not the function's), "sharp" (a result that jumps), "nonlinear" (a gradient that is not linear in what
    comes in), "rowful" (it needs a row), "sized", "ranked" (sizes, a rank are needed while it is traced), "jacobian",
    "flow" (Python decides by tensors, and is converted where it is traced)."""

    seed: int
    inputs: tuple[Input, ...]
    body: Block

    @property
    def traits(self) -> frozenset[str]:
        return frozenset(trait for statement in self.statements() for trait in statement.traits)

    def statements(self) -> Iterator[Statement]:
        def walk(block: Block) -> Iterator[Statement]:
            for statement in block.statements:
                yield statement
                for inner in statement.blocks:
                    yield from walk(inner)

        return walk(self.body)

    @property
    def arguments(self) -> tuple[Input, ...]:
        return tuple(x for x in self.inputs if not x.variable)

    @property
    def variables(self) -> tuple[Input, ...]:
        return tuple(x for x in self.inputs if x.variable)

    @property
    def has_rows(self) -> bool:
        return any(ROWS in x.value.dims for x in self.inputs)

    @property
    def has_branches(self) -> bool:
        """Whether a trace may contain more than what runs: a branch that is not taken, a loop without steps."""
        structures = r"tf\.(cond|case|switch_case|while_loop|scan|foldl|foldr|map_fn)\("
        return "flow" in self.traits or re.search(structures, self.source()) is not None

    @property
    def has_masks(self) -> bool:
        """Whether a `where` chooses; derivatives of a function know nothing of one outside of it."""
        return "tf.where(" in self.source()

    def source(self) -> str:
        """`def program(tf, ...)` as text."""
        names = ", ".join(["tf", *(x.value.name for x in self.inputs)])
        lines = [f"def program({names}):", *_indented(_block_lines(self.body))]
        return "\n".join(lines) + "\n"

    def function(self, precision: dict[str, str] | None = None, zeros: bool = False) -> Any:
        """The compiled function; `precision` replaces dtype names in its text, `zeros` the sign of constants that are 0.

        The sign of a sum of zeros is a matter of rounding.
        """
        text = self.source()
        if zeros:
            constants = r"tf\.constant\(\[.*?\], tf\."
            text = re.sub(constants, lambda m: re.sub(r"(?<![\w.])0\.0(?!\d)", "-0.0", m[0]), text)
        for old, new in (precision or {}).items():
            text = re.sub(rf"\b{old}\b", f"\0{new}", text)
        text = text.replace("\0", "")
        name = f"<program {self.seed}{' in double' if precision else ''}{' with -0' if zeros else ''}>"
        if "flow" in self.traits:  # the conversion of control flow reads the source
            linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        space: dict[str, Any] = {"case": _case}
        exec(compile(text, name, "exec"), space)
        return space["program"]


def _case(*given: Any) -> Any:
    from tests.fuzz.cases import run_case

    return run_case(*given)


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _block_lines(block: Block) -> list[str]:
    lines: list[str] = []
    for statement in block.statements:
        lines += _statement_lines(statement)
    results = ", ".join(block.results)
    return [*lines, f"return {results}" if len(block.results) == 1 else f"return ({results})"]


def _statement_lines(statement: Statement) -> list[str]:
    lines = []
    tag = statement.results[0].name if statement.results else "_".join(statement.operands)
    functions = []
    for number, block in enumerate(statement.blocks):
        functions.append(f"f{number}_{tag}")
        params = ", ".join(value.name for value in block.params)
        lines += [f"def {functions[-1]}({params}):", *_indented(_block_lines(block))]
    text = re.sub(r"@(\d)", lambda m: functions[int(m[1])], statement.text)
    text = re.sub(r"\$(\d)", lambda m: statement.operands[int(m[1])], text)
    named = re.sub(r"%(\d)", lambda m: statement.results[int(m[1])].name, text)
    if named == text and statement.results:
        named = ", ".join(value.name for value in statement.results) + " = " + text
    return lines + named.split("\n")
