"""The specialised graphs of the cases of all ops, as text: `python -m tests.support.specialised FILE`.

A change of the ops' schema must not change them. Two such files, written before and after it, are compared with `--compare A
B`; `--renamed old=new` says that an op has another name now, and versions are left out.
"""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphad.core.spec import TensorSpec
from graphad.graph.digest import digest
from graphad.graph.ir import Graph
from graphad.graph.text import print_graph
from graphad.trace.specialise import specialise_call
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase


def graphs_of(case: OpCase) -> Iterator[tuple[str, Graph, list[Any]]]:
    """The graphs of a case and of its derivatives, traced with sizes or ranks unknown, and what they are called with."""
    kinds = {"known": case.specs()}
    if "sizes" in case.unknown:
        kinds["sizes"] = [
            TensorSpec.of((None,) * np.ndim(x), s.dtype) for x, s in zip(case.arrays, case.specs())
        ]
    if "rank" in case.unknown:
        kinds["rank"] = [TensorSpec.of(None, spec.dtype) for spec in case.specs()]
    bars = case.cotangents()
    given = [bar for bar in bars if bar is not None]
    for kind, specs in kinds.items():
        graph = case.traced(specs)
        yield f"{kind} value", graph, case.arrays
        if case.order and case.sources and given:
            bar_specs = [
                None if bar is None else spec for bar, spec in zip(bars, graph.output_specs, strict=True)
            ]
            yield f"{kind} gradient", case.traced_gradient(specs, bar_specs), [*case.arrays, *given]


def texts() -> Iterator[tuple[str, str]]:
    """(name, printed graph) of every specialised graph."""
    for family, number, case in all_cases():
        for kind, graph, arrays in graphs_of(case):
            done = specialise_call(graph, [np.shape(x) for x in arrays]).graph
            text = print_graph(done)
            constants = hashlib.sha256(b"".join(np.asarray(c).tobytes() for c in done.constants)).hexdigest()[
                :16
            ]
            yield (
                f"{family} {number} {case.name} {kind}",
                f"{text}\n  constants {constants}\n  digest {digest(done)}",
            )


def write(path: Path) -> None:
    with warnings.catch_warnings(), path.open("w", encoding="utf-8") as file:
        warnings.simplefilter("ignore")
        for name, text in texts():
            file.write(f"== {name}\n{text}\n")


def read(path: Path, renamed: dict[str, str]) -> dict[str, str]:
    found = {}
    for block in path.read_text(encoding="utf-8").split("== ")[1:]:
        name, _, text = block.partition("\n")
        lines = [line for line in text.splitlines() if not line.startswith("  digest ")]
        text = "\n".join(lines)
        for old, new in renamed.items():
            text = re.sub(rf"= {old}\(", f"= {new}(", text)
        found[name] = text
    return found


def compare(before: Path, after: Path, renamed: dict[str, str]) -> int:
    """Print the differences; returns the number of graphs that differ."""
    old, new = read(before, renamed), read(after, renamed)
    different = [name for name in old if old[name] != new.get(name)]
    for name in different:
        print(f"== {name}\n-- before\n{old[name]}\n-- after\n{new.get(name)}")
    print(f"{len(old)} graphs before, {len(new)} after, {len(different)} differ")
    return len(different)


def main(arguments: list[str]) -> int:
    if arguments[0] != "--compare":
        write(Path(arguments[0]))
        return 0
    renamed = dict(pair.split("=") for pair in arguments[3:] if "=" in pair)
    return compare(Path(arguments[1]), Path(arguments[2]), renamed)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
