"""OPS.md: what every op that a file may name means, written from the registry. `python -m serialization.inspect.ops` writes it.

Names, versions, attributes, inputs and dtypes come from the classes, meanings from their docstrings; `OPS_HEAD.md` holds what
they share.
"""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np

from graphad.core.op import IO, READS, WRITES
from graphad.core.registry import all_ops
from graphad.ops.elementwise import Elementwise
from serialization.convert.graphs import LIVE
from serialization.convert.soundness import arity, bounds_of, handle_inputs

HERE = Path(__file__).resolve().parents[1]
DOCUMENT = HERE / "OPS.md"
HEAD = Path(__file__).resolve().parent / "OPS_HEAD.md"
_KINDS = ("bool", "int", "uint", "float", "complex")
_EFFECTS = ((READS, "reads a variable"), (WRITES, "writes a variable"), (IO, "acts on the outside"))


def document() -> str:
    """The whole text."""
    families: dict[str, list[Any]] = {}
    for name, kind in sorted(all_ops().items()):
        if name not in LIVE and kind.__module__.startswith("graphad."):
            families.setdefault(_family(kind), []).append(kind)
    parts = [HEAD.read_text(encoding="utf-8").rstrip()]
    for family, kinds in sorted(families.items()):
        parts.append(f"## {family}")
        parts += map(_entry, kinds)
    return "\n\n".join(parts) + "\n"


def _family(kind: Any) -> str:
    """The part of the tree an op is in, such as `math`."""
    parts = _module(kind).split(".")
    return parts[2] if parts[1] == "ops" else parts[1]


def _module(kind: Any) -> str:
    if issubclass(kind, Elementwise) and not kind.__module__.startswith("graphad.ops"):
        return "graphad.ops.math"
    return kind.__module__  # type: ignore[no-any-return]


def _entry(kind: Any) -> str:
    lines = [f"### {kind.name}", "", f"Version {kind.version}. Inputs: {_inputs(kind)}."]
    if issubclass(kind, Elementwise):
        lines[-1] += f" Dtypes: {', '.join(k for k in _KINDS if k in kind.kinds)}."
    if type(kind.effects) is int and kind.effects:
        lines[-1] += f" It {' and '.join(what for bit, what in _EFFECTS if kind.effects & bit)}."
    for field in kind.attributes:
        bound = bounds_of(kind, field)
        lines.append(f"* `{field}`: {_type(kind.declared[field])}{f', {bound}' if bound else ''}")
    lines += ["", meaning(kind)]
    return "\n".join(lines)


def meaning(kind: Any) -> str:
    """What a file's reader has to know of an op: its docstring."""
    return inspect.cleandoc(kind.__doc__ or "")


def _inputs(kind: Any) -> str:
    least, most = arity(kind)
    names: list[str] = []
    rest = ""
    for rule in (kind.eval, kind.infer):
        for p in list(inspect.signature(rule).parameters.values())[1:]:
            if p.kind is p.VAR_POSITIONAL:
                rest = rest or p.name
            elif p.name not in names and rule is kind.eval:
                names.append(p.name)
    if issubclass(kind, Elementwise):
        formula = getattr(kind, "formula", np.add)
        named = [] if isinstance(formula, np.ufunc) else list(inspect.signature(formula).parameters)
        names = named if len(named) == most and "rest" not in named else ["x", "y", "z"][: int(most)]
    shown = [f"`{name}`" for name in names[: None if most == math.inf else int(most)]]
    for i in handle_inputs(kind):
        shown[i] += " (a variable)"
    if len(shown) > least:
        shown[least:] = [f"{name} (may be left out)" for name in shown[least:]]
    if most == math.inf:
        shown.append(f"any number of `{rest}`" if rest else "any number")
    return ", ".join(shown) or "none"


_TYPES = {
    "Size": "integer from 0",
    "int": "integer",
    "str": "string",
    "DType": "dtype",
    "Graph": "graph",
    "Key": "key",
    "Any": "see the meaning",
    "Pairs": "tuple of pairs of integers from 0",
    "Padding": '"SAME", "VALID", or ((before, after), (before, after)) of integers from 0',
}


def _type(declared: str) -> str:
    text = declared
    for name, words in _TYPES.items():
        text = _replaced(text, name, words)
    return text.replace(" | ", " or ").replace("None", "nil")


def _replaced(text: str, name: str, words: str) -> str:
    out, word = "", ""
    for letter in text + " ":
        if letter.isalnum() or letter == "_":
            word += letter
            continue
        out += (words if word == name else word) + letter
        word = ""
    return out[:-1]


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"{DOCUMENT}: {DOCUMENT.stat().st_size} bytes")
