"""Every op that has a case, at once on some 1e5 elements: beside the formula that its case is checked with (NumPy, SciPy), beside
TensorFlow and PyTorch where they are installed, and its gradient beside its value. The slowest come first.

python tests/benchmarks/ops.py [families of ops, array,math by default] [part of a function's name]

The arguments of a case are made longer along their first axis, all to one length. What does not take them so is left out, and so
are results of unknown size and formulas that loop over elements in Python.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from timing import peer

import graphad as gd
from graphad.core.dtypes import as_dtype
from graphad.core.spec import TensorSpec
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase

ELEMENTS = 100_000
TURNS = 5
LONG = 0.1  # seconds
PATHS = ("", "math.", "math.special.", "linalg.", "nn.", "signal.")


class Row(NamedTuple):
    """Seconds: of the value, the formula, the gradient, TensorFlow and PyTorch; None where there is none."""

    name: str
    value: float
    formula: float | None
    gradient: float | None
    tensorflow: float | None
    torch: float | None


def enlarged(case: OpCase) -> list[Any] | None:
    """The case's arrays with one long first axis; None where they have none in common."""
    arrays = [np.asarray(x) for x in case.arrays]
    if not arrays or any(x.ndim == 0 or x.shape[0] != arrays[0].shape[0] or not x.size for x in arrays):
        return None
    times = max(1, ELEMENTS // max(x.size for x in arrays))
    return [np.concatenate([x] * times, 0) for x in arrays]


def is_small(case: OpCase, arrays: Sequence[Any]) -> bool:
    """Whether nothing on the way has many more elements than the arguments, as an outer product has."""
    graph = case.traced([TensorSpec.of(x.shape, as_dtype(x.dtype)) for x in arrays])
    return all(
        spec.dims is not None and None not in spec.dims and math.prod(spec.dims) <= 4 * ELEMENTS
        for spec in graph.specs
    )


def found_in(library: Any, name: str) -> Any:
    """The function of that name in another library, None where it has none."""
    for path in PATHS:
        place = library
        for part in f"{path}{name}".split("."):
            place = getattr(place, part, None)
        if callable(place):
            return place
    return None


def seconds(*works: Callable[[], Any] | None) -> list[float | None]:
    """The least times, taken in turn; None for what is None or fails. What takes long runs once."""
    best: list[float | None] = [None] * len(works)
    for turn in range(TURNS):
        for k, work in enumerate(works):
            last = best[k]
            if work is None or (turn and (last is None or last > LONG)):
                continue
            start = time.perf_counter()
            try:
                work()
            except Exception:
                continue  # the other library takes other arguments, or the formula only those of the case
            took = time.perf_counter() - start
            best[k] = took if last is None else min(took, last)
    return best


def rows(families: str, wanted: str) -> Iterator[Row]:
    seen = set()
    for family, _, case in all_cases():
        if family not in families:
            continue
        name = case.function.__name__
        arrays = enlarged(case)
        if arrays is None or name in seen or wanted not in name:
            continue
        tensors = [gd.constant(x) for x in arrays]
        start = time.perf_counter()
        try:
            if not is_small(case, arrays):
                continue
            case.values(arrays)
        except Exception:
            continue  # its arguments are of one size
        if time.perf_counter() - start > 10 * LONG:
            print(f"{name}: left out, it takes {time.perf_counter() - start:.1f} s", file=sys.stderr)
            continue
        seen.add(name)
        sources = [tensors[i] for i in case.sources] if case.order else []

        def gradient(case: OpCase = case, tensors: Any = tensors, sources: Any = sources) -> Any:
            with gd.GradientTape() as tape:
                tape.watch(sources)
                y = case.call(*tensors)
            return tape.gradient(y, sources)

        formula = None if case.expected is None else lambda case=case, arrays=arrays: case.expected(*arrays)
        works: list[Callable[[], Any] | None] = [
            lambda case=case, tensors=tensors: case.call(*tensors),
            None if type(case.expected) is np.vectorize else formula,
            gradient if sources else None,
        ]
        for library, convert in (("tensorflow", "constant"), ("torch", "tensor")):
            module = peer(library)
            function = None if module is None else found_in(module, name)
            works.append(None if function is None else _of(function, case, arrays, getattr(module, convert)))
        value, *rest = seconds(*works)
        if value is not None:
            yield Row(name, value, *rest)


def _of(function: Any, case: OpCase, arrays: Any, convert: Any) -> Callable[[], Any]:
    own = list(case._flat)
    for place, x in zip(case._places, arrays, strict=True):
        own[place] = convert(x)
    return lambda: function(*case._rebuild(own), **case.attributes)


def times(x: float | None, by: float | None) -> str:
    return "-" if x is None or not by else f"{x / by:.1f}"


def main(families: str = "array,math", wanted: str = "") -> None:
    warnings.simplefilter("ignore")
    table = sorted(rows(families, wanted), key=lambda row: -(row.value / (row.formula or row.value)))
    print(
        "| op | ms | by formula | gradient by value | by TensorFlow | by PyTorch |\n|---|---|---|---|---|---|"
    )
    for row in table:
        cells = [
            times(row.value, row.formula),
            times(row.gradient, row.value),
            times(row.value, row.tensorflow),
            times(row.value, row.torch),
        ]
        print(f"| {row.name} | {row.value * 1e3:.2f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
