"""`python -m tests.devices.table`: writes into docs/devices.md which ops run on a device, from the cases of all ops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import graphad as tf
from graphad.compiler.cuda.backend import Cuda
from graphad.compiler.partition import partition
from graphad.compiler.units import HOST
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.devices import notes, run
from graphad.devices.library import set_library
from graphad.devices.transfer import moved
from graphad.trace.specialise import specialise
from tests.devices import fake_cupy
from tests.support.case_tables import all_cases

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"
START, END = "<!-- table -->\n", "<!-- end -->\n"


_SEARCH = "a search that takes one candidate after another"
# Why an op runs on the CPU, at least in part.
REASONS = {
    "banded_solve": "of complex numbers alone, of which there are no kernels",
    "linear_recurrence": "of complex numbers alone, of which there are no kernels",
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
    "logm": "Hermitian matrices stay on the device; others take Schur's factorisation, which cuSOLVER has not",
    "matrix_direction": "as `logm`; along `expm` it stays on the device",
    "non_max_suppression": _SEARCH,
    "polynomial_division": "each coefficient of the quotient needs the ones before it",
    "sqrtm": "as `logm`",
    "suppress_by_class": _SEARCH,
}
# What is said of the kernels of an op for which CuPy has no function.
KERNELS = {
    "banded_solve": "a thread for each system",
    "linear_recurrence": "a thread for each line",
    "tridiagonal_eigenvalues": "a thread for each eigenvalue",
}


class Ways(NamedTuple):
    """By the names of ops: NumPy's functions that ran on the CPU, and ops whose kernels run where CuPy has no function."""

    on_host: dict[str, set[str]]
    in_kernels: set[str]


def has_kernels(op: Any, values: Any) -> bool:
    """Whether the plan of an op for such values has no step in Python."""
    graph = run._graphs.get(run._kind(op, values))
    if graph is None:
        return False
    made = specialise(graph, [TensorSpec(x.shape, x.dtype) for x in values])
    return all(unit.kind != HOST for unit in partition(made, backend=Cuda(0), has_routines=True).units)


def ways_of_ops() -> Ways:
    """How every op of the cases and of their gradients runs. What goes to the CPU until kernels are compiled counts as theirs."""
    found = Ways(defaultdict(set), set())

    def watched(op: Any, values: Any) -> Any:
        before = dict(notes.runs_on_host)
        outputs = way(op, values)
        if not op.structured:
            names = {name for name, n in notes.runs_on_host.items() if n != before.get(name)}
            if names and not op.alone and has_kernels(op, values):
                found.in_kernels.add(op.name)
                names = set()
            found.on_host[op.name] |= names
        return outputs

    way = run._evaluated
    with mock.patch.object(run, "_evaluated", watched):
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
    found, in_kernels = ways_of_ops()
    there = sorted(name for name, functions in found.items() if not functions and name not in in_kernels)
    rows = [
        f"| `{name}` | {', '.join(f'`{function}`' for function in sorted(functions))} | {REASONS[name]} |\n"
        for name, functions in sorted(found.items())
        if functions
    ]
    kernels = ", ".join(f"`{name}` ({KERNELS[name]})" for name in sorted(in_kernels))
    return (
        f"\n{len(there)} ops run on the device alone: {', '.join(f'`{name}`' for name in there)}.\n\n"
        f"{len(in_kernels)} run by kernels of graphad once these are compiled, and on the CPU until then: {kernels}.\n\n"
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
