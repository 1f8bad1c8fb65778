"""OPS.md: the meaning of every op that a file may name, generated from the registry. `python -m serialization.inspect.ops`
writes it.

Names, versions, attributes, inputs and dtypes come from the classes, meanings from their docstrings; `OPS_HEAD.md` holds what
they share.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from graphad.core.op import IO, READS, WRITES
from graphad.core.registry import all_ops
from graphad.core.schema import schema_of
from graphad.ops.elementwise import Elementwise

HERE = Path(__file__).resolve().parents[1]
DOCUMENT = HERE / "OPS.md"
HEAD = Path(__file__).resolve().parent / "OPS_HEAD.md"
_KINDS = ("bool", "int", "uint", "float", "complex")
_EFFECTS = ((READS, "reads a variable"), (WRITES, "writes a variable"), (IO, "acts on the outside"))


def document() -> str:
    """The whole text."""
    families: dict[str, list[Any]] = {}
    for _, kind in sorted(all_ops().items()):
        if not kind.live and kind.__module__.startswith("graphad."):
            families.setdefault(_family(kind), []).append(kind)
    parts = [HEAD.read_text(encoding="utf-8").rstrip()]
    for family, kinds in sorted(families.items()):
        parts.append(f"## {family}")
        entries = {kind.name: _entry(kind) for kind in kinds}
        entries |= {
            old: _older(old, kind, said)
            for kind in kinds
            for old, said in {**kind.formerly, **kind.composed_formerly}.items()
        }
        parts += [entry for _, entry in sorted(entries.items())]
    return "\n\n".join(parts) + "\n"


def _family(kind: object) -> str:
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
        declared = schema_of(kind).attributes[field]
        bound = declared.bound
        given = ", or given by inputs" if declared.refers else ""
        lines.append(f"* `{field}`: {declared.words}{given}{f', {bound}' if bound else ''}")
    lines += ["", meaning(kind)]
    return "\n".join(lines)


def _older(name: str, kind: Any, said: Any) -> str:
    return f"### {name}\n\nVersion 1. An older name of `{kind.name}`. {inspect.cleandoc(said.__doc__)}"


def meaning(kind: Any) -> str:
    """The meaning of an op for readers of files: its docstring."""
    return inspect.cleandoc(kind.__doc__ or "")


def _inputs(kind: object) -> str:
    shown = []
    for each in schema_of(kind).inputs:
        name = f"any number of `{each.name}`" if each.variadic else f"`{each.name}`"
        name += " (a variable)" if each.is_handle else ""
        name += " (positions, none outside)" if each.is_index else " (integers)" if each.is_integer else ""
        shown.append(name + (" (may be left out)" if each.optional else ""))
    return ", ".join(shown) or "none"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"{DOCUMENT}: {DOCUMENT.stat().st_size} bytes")
