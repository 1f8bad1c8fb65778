"""Write `docs/ops.md`: for each op its rules, its proofs by cases and oracle, and where it compiles.

python -m tests.ops.page
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import graphad.ops
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.units import (
    ASSIGN,
    BLOCKS,
    BRANCH,
    CALL,
    COPY,
    GEMM,
    HOST,
    LOOP,
    PARTS,
    REPEAT,
    ROUTINE,
    STAGES,
    Partition,
    reason_of,
)  # fmt: skip
from graphad.core.op import Op
from graphad.core.registry import all_ops
from graphad.trace.specialise import specialise
from tests.ops.proofs import ARITY, EXCUSED, PROOFS, applies, expressions, proofs
from tests.support.case_graphs import op_names
from tests.support.case_tables import all_cases

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"
HEAD = """# The ops, one by one

Written by `python -m tests.ops.page`; a test fails while it is stale.

* **gradient**: "rule" where there is one, made of other ops, so that every order is there; otherwise why there is none.
* **batch**: "rule" where stacked rows are one op; otherwise why they run one after the other.
* **rows**: whether it is known where the rows of an operand go in the result, which `batch_jacobian` asks.
* **compiled**: how compiled functions run it in those cases: as a loop over elements, a product of matrices, a copy of parts, a
  view of the storage of its operand, a routine, a loop or branch of sub-graphs, an assignment, a constant computed beforehand, or
  other ops that replace it; "NumPy" is a call of what runs it eagerly, with the numbers of the reasons below the tables.
* **cases**: how many cases of `tests/ops` run it: values, finite differences, second derivatives, rows, files, compiled code.
  A star: one at least is compared with an independent formula of NumPy or SciPy.
* **oracle**: in how many expressions whose values and derivatives TensorFlow has computed it takes part.
* **compared with**: by what its values, first and second derivatives are proved.
* **proved**: what the tests prove of it, computed from their tables (`tests/ops/proofs.py`), by the signs below. In brackets what
  graphad refuses in every case that asks for it, in words of its own; a number leads to the reason why something is not proved.

| sign | what is proved |
|---|---|
SIGNS
"""
SIGNS = {
    "value": "v", "shapes": "s", "sizes": "u", "rank": "r", "first": "1", "second": "2", "forward": "f", "batch": "b",
    "compiled": "c", "file": "m", "empty": "e", "numbers": "n", "one": "o", "broadcast": "w", "axes": "a", "special": "x",
    "float32": "32", "float16": "16", "bfloat16": "b16", "complex": "z",
}  # fmt: skip
WAYS = {
    LOOP: "loop", STAGES: "loop", BLOCKS: "loop", GEMM: "product", COPY: "parts", PARTS: "parts", REPEAT: "native loop",
    BRANCH: "native branch", ROUTINE: "routine", CALL: "NumPy", HOST: "NumPy", ASSIGN: "assignment",
}  # fmt: skip
SHORT = {"formula": "NumPy", "TensorFlow": "TF", "differences": "differences", "known shapes": "eager"}


def ops() -> dict[str, Any]:
    """The ops of graphad by name."""
    for module in pkgutil.walk_packages(graphad.ops.__path__, "graphad.ops."):
        importlib.import_module(module.name)
    return {name: op for name, op in sorted(all_ops().items()) if op.__module__.startswith("graphad.ops.")}


def rules(op: Any) -> tuple[str, str, str]:
    """The columns of rules of an op."""
    gradient = op.gradless or ("rule" if op.vjp is not Op.vjp or op.layered else "none")
    batch = getattr(op.batch, "reason", None) or ("rule" if op.batch is not Op.batch else "row by row")
    rows = "not known" if getattr(op.rows, "reason", None) else "rule" if op.rows is not Op.rows else "mixed"
    return gradient, batch, rows


class Found(NamedTuple):
    """The results of the cases, by name of op."""

    count: Counter[str]
    compared: set[str]
    ways: dict[str, set[str]]
    reasons: dict[str, set[str]]


@functools.cache
def cases() -> Found:
    """The number of cases that run each op, the ops checked by a formula, how each is compiled, and why where by NumPy."""
    found = Found(Counter(), set(), defaultdict(set), defaultdict(set))
    for _, _, case in all_cases():
        names = op_names(case)
        found.count.update(names)
        if case.expected is not None:
            found.compared.update(names)
        if not case.compiled:
            continue
        for graph, _ in case.graphs():
            graph, before = optimise(specialise(graph, graph.inputs)), graph
            compiled_ways(partition(graph, has_routines=True), found)
            for name in {node.op.name for node in before.nodes} - {node.op.name for node in graph.nodes}:
                found.ways[name].add("other ops")
    return found


def compiled_ways(whole: Partition, found: Found) -> None:
    """Add how each op of a partition is compiled, and the reasons of those that NumPy runs."""
    in_units = {node.start for unit in whole.units for node in unit.nodes}
    for node in whole.graph.nodes:
        if node.start not in in_units:
            found.ways[node.op.name].add("constant" if node.start in whole.given else "view")
    for unit in whole.units:
        for node in unit.nodes:
            found.ways[node.op.name].add(WAYS[unit.kind])
            if unit.kind in (HOST, CALL):
                reason = reason_of(whole, unit)
                found.reasons[node.op.name].add(re.sub(r"has shape \S.*?, of", "has a shape of", reason))
        for inside in unit.partitions:
            compiled_ways(inside, found)


def proved(name: str, op: Any, notes: dict[str, int]) -> tuple[str, str]:
    """The proofs of the values and derivatives of an op, and the signs of all of its proofs."""
    found, refused = proofs()
    by = []
    for what, sign in (("value", ""), ("first", "1st "), ("second", "2nd ")):
        known = sorted(SHORT[x] for x in found[what].get(name, ()) if applies(what, op, ARITY[name]))
        by += [f"{sign}{', '.join(known)}"] if known else []
    signs, turned, reasons = [], [], []
    for what, sign in SIGNS.items():
        if name in found[what]:
            signs += [sign] if applies(what, op, ARITY[name]) else []
        elif what in EXCUSED.get(name, {}):
            reason = EXCUSED[name][what]
            reasons.append(notes.setdefault(reason, len(notes) + 1))
        elif name in refused[what] and applies(what, op, ARITY[name]):
            turned.append(sign)
    cell = " ".join(signs) + (f" ({' '.join(turned)})" if turned else "")
    return "; ".join(by) or "-", " ".join([cell, *(f"[{k}]" for k in dict.fromkeys(reasons))]).strip()


def text() -> str:
    """The page."""
    found = cases()
    asked = Counter(name for expression in expressions() for name in expression.outer)
    notes: dict[str, int] = {}
    lines = [
        HEAD.replace("SIGNS", "\n".join(f"| {SIGNS[what]} | {words} |" for what, words in PROOFS.items()))
    ]
    family = ""
    for name, op in sorted(ops().items(), key=lambda item: (_family(item[1]), item[0])):
        if _family(op) != family:
            family = _family(op)
            lines += [
                f"\n## {family}\n",
                "| op | gradient | batch | rows | compiled | cases | oracle | compared with | proved |",
                "|---|---|---|---|---|---|---|---|---|",
            ]
        why = [notes.setdefault(reason, len(notes) + 1) for reason in sorted(found.reasons[name])]
        ways = [
            f"{way} {''.join(f'[{k}]' for k in why)}" if way == "NumPy" else way
            for way in sorted(found.ways[name])
        ]
        star = "*" if name in found.compared else ""
        cells = [*rules(op), ", ".join(ways) or "-", f"{found.count[name]}{star}", str(asked[name])]
        cells += proved(name, op, notes)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += ["\n## Reasons: what is not proved, and what NumPy runs in compiled functions\n"]
    lines += [f"{k}. {reason[0].upper()}{reason[1:]}." for reason, k in notes.items()]
    return "\n".join(lines) + "\n"


def _family(op: Any) -> str:
    return str(op.__module__.split(".")[2])


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE)
