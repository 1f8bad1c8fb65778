"""`python -m tests.devices.table`: writes into docs/devices.md which ops run on a device, from the cases of all ops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest import mock

import graphad as tf
from graphad.core.tensor import EagerTensor
from graphad.devices import array, run
from graphad.devices.library import set_library
from graphad.devices.transfer import moved
from tests.devices import fake_cupy
from tests.support.case_tables import all_cases

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"
START, END = "<!-- table -->\n", "<!-- end -->\n"


def functions_on_host() -> dict[str, set[str]]:
    """For every op of the cases and of their gradients, the NumPy functions that ran on the CPU."""
    found: dict[str, set[str]] = defaultdict(set)
    evaluated = run.evaluated

    def watched(op: Any, values: Any) -> Any:
        before = dict(array.runs_on_host)
        outputs = evaluated(op, values)
        if not op.structured:
            found[op.name] |= {name for name, n in array.runs_on_host.items() if n != before.get(name)}
        return outputs

    with mock.patch.object(run, "evaluated", watched):
        for _, _, case in all_cases():
            bars = case.cotangents() if case.order and case.sources else []
            with tf.device("cuda"):
                there = [moved(EagerTensor(x), "cuda:0") for x in case.arrays]
                case.call(*there)
                if any(bar is not None for bar in bars):
                    case.gradients(
                        there, [None if bar is None else moved(EagerTensor(bar), "cuda:0") for bar in bars]
                    )
    return found


def table() -> str:
    """The part of the page between its marks."""
    found = functions_on_host()
    there = sorted(name for name, functions in found.items() if not functions)
    rows = [
        f"| `{name}` | {', '.join(f'`{function}`' for function in sorted(functions))} |\n"
        for name, functions in sorted(found.items())
        if functions
    ]
    return (
        f"\n{len(there)} ops run on the device alone: {', '.join(f'`{name}`' for name in there)}.\n\n"
        f"{len(rows)} run on the CPU, some of them in part or for some of their attributes:\n\n"
        f"| op | functions of NumPy and SciPy that run on the CPU |\n|---|---|\n{''.join(rows)}\n"
    )


def written(text: str) -> str:
    """The page with its table."""
    before, rest = text.split(START)
    return f"{before}{START}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    set_library(fake_cupy.module())
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
