"""`python -m tests.devices.table`: writes into docs/devices.md which ops run on a device, from the cases of all ops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
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


_SEARCH = "a search that takes one candidate after another"
# Why an op runs on the CPU, at least in part.
REASONS = {
    "banded_solve": "cuSOLVER has no solver for diagonals",
    "beta_density": "each part of its domain has a formula, for the elements that lie there",
    "cofactors": "of singular matrices alone, point by point on a circle",
    "ctc_beams": _SEARCH,
    "dawsn": "CuPy has no such function",
    "draw_classes": "draws until enough classes differ; each number depends on those before it",
    "draw_counts": "how many words a number takes depends on its parameters: none can begin before the ones in front of it",
    "draw_gamma": "as `draw_counts`",
    "eig": "cuSOLVER's eigenvalues have another order than LAPACK's",
    "fresnel_cos": "CuPy has no such function",
    "fresnel_sin": "CuPy has no such function",
    "gamma_slope": "each element decides how many terms of its series are summed",
    "isotonic_segments": "segments are merged one after another",
    "linear_recurrence": "each element needs the one before it",
    "logm": "Hermitian matrices stay on the device; others take Schur's factorisation, which cuSOLVER has not",
    "matrix_direction": "as `logm`; along `expm` it stays on the device",
    "non_max_suppression": _SEARCH,
    "polynomial_division": "each coefficient of the quotient needs the ones before it",
    "sqrtm": "as `logm`",
    "suppress_by_class": _SEARCH,
    "tridiagonal_eigenvalues": "cuSOLVER has no routine for two diagonals",
}


def functions_on_host() -> dict[str, set[str]]:
    """For every op of the cases and of their gradients, the NumPy functions that ran on the CPU."""
    found: dict[str, set[str]] = defaultdict(set)

    def watched(way: Any) -> Any:
        def evaluated(op: Any, values: Any) -> Any:
            before = dict(array.runs_on_host)
            outputs = way(op, values)
            if not op.structured:
                found[op.name] |= {name for name, n in array.runs_on_host.items() if n != before.get(name)}
            return outputs

        return evaluated

    ways = {name: watched(getattr(run, name)) for name in ("evaluated", "_alone")}
    with mock.patch.multiple(run, **ways):
        for _, _, case in all_cases():
            bars = case.cotangents() if case.order and case.sources else []
            with tf.device("cuda"):
                there = [moved(EagerTensor(x), "cuda:0") for x in case.arrays]
                case.call(*there)
                if any(bar is not None for bar in bars):
                    case.gradients(
                        there, [None if bar is None else moved(EagerTensor(bar), "cuda:0") for bar in bars]
                    )
        with tf.device("cuda"):
            for call in WITHOUT_A_CASE:
                call()
    return found


# Ops whose cases are not in the tables: they draw or change something.
WITHOUT_A_CASE: list[Callable[[], Any]] = [
    lambda: tf.random.stateless_gamma([4], [1, 2], [0.5, 1.0, 2.0, 9.0]),
    lambda: tf.random.stateless_poisson([3], [1, 2], 4.0),
    lambda: tf.random.normal([3]),
    lambda: tf.Variable(tf.ones([3, 2])).scatter_nd_add([[0], [2]], tf.ones([2, 2])),
    lambda: tf.Variable(tf.ones([3])).assign_add(tf.ones([3])),
]


def table() -> str:
    """The part of the page between its marks."""
    found = functions_on_host()
    there = sorted(name for name, functions in found.items() if not functions)
    rows = [
        f"| `{name}` | {', '.join(f'`{function}`' for function in sorted(functions))} | {REASONS[name]} |\n"
        for name, functions in sorted(found.items())
        if functions
    ]
    return (
        f"\n{len(there)} ops run on the device alone: {', '.join(f'`{name}`' for name in there)}.\n\n"
        f"{len(rows)} run on the CPU, some of them in part or for some of their attributes:\n\n"
        f"| op | functions of NumPy and SciPy that run on the CPU | why |\n|---|---|---|\n{''.join(rows)}\n"
    )


def written(text: str) -> str:
    """The page with its table."""
    before, rest = text.split(START)
    return f"{before}{START}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    set_library(fake_cupy.module())
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
