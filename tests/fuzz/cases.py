"""Every op by its cases: a row of the tables of `tests/ops/*/cases.py` whose real inputs depend on a value of the program.

So every op with a case is automatically in programs of wide seeds. Its inputs stay in their domain, since they are only scaled
down slightly: [-1, 1], positive, symmetric, definite, triangular and sorted ones remain what they are.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.grow import LARGE, Grower, NoFit, signature
from tests.fuzz.program import Dims

MOST = 16  # how many elements of a result are used


@dataclass(frozen=True)
class Row:
    """A case, with the shapes and kinds of the results that programs use."""

    name: str
    results: tuple[tuple[Dims, str, float], ...]
    traits: tuple[str, ...]
    is_float32: bool


@functools.cache
def rows() -> tuple[Row, ...]:
    """The cases with a derivative, in the order of the tables."""
    from tests.support.case_tables import cases_by_name

    found = []
    for name, case in cases_by_name().items():
        if case.order == 0 or not case.sources or re.search(r"[$@%\n]", name):
            continue
        try:
            values = [np.asarray(y) for y in case.values()]
        except (ArithmeticError, ValueError, TypeError, RuntimeError):
            continue  # a case that raises
        if not any(y.dtype.kind in "fc" and y.size for y in values):
            continue
        results = []
        for y in values:
            with np.errstate(all="ignore"):
                bound = float(np.max(np.abs(y), initial=1.0, where=np.isfinite(y)))
            dims: Dims = y.shape if y.size <= MOST else (len(range(0, y.size, -(-y.size // MOST))),)
            results.append((dims, y.dtype.name, bound * 1.5))
        # The tests of the case itself check that its derivative is the function's, and continuous.
        traits = ["chosen", "kinked", "sharp"]
        traits += [] if "sizes" in case.unknown else ["sized", "ranked"]
        traits += [] if "rank" in case.unknown else ["ranked"]
        traits += [] if case.batched else ["dynamic"]
        found.append(Row(name, tuple(results), tuple(dict.fromkeys(traits)), case.float32))
    return tuple(found)


def run_case(tf: Any, name: str, x: Any, dtype: Any) -> Any:
    """The results of a case, one or a tuple, for inputs that depend on `x`; floats have `dtype`."""
    from tests.support.case_tables import cases_by_name

    if tf.__name__ != "graphad":
        raise AttributeError("cases call graphad's functions")
    case = cases_by_name()[name]
    wide = dtype is tf.float64
    less = 1.0 - 0.125 * tf.sigmoid(tf.reduce_mean(tf.sin(x)))
    given = []
    for k, array in enumerate(case.arrays):
        if k not in case.sources:
            given.append(tf.constant(array))
            continue
        held = {"f": tf.float64 if wide else tf.float32, "c": tf.complex128 if wide else tf.complex64}
        own = (
            tf.constant(array)
            if array.dtype.itemsize == 2
            else tf.cast(tf.constant(array), held[array.dtype.kind])
        )
        given.append(own * tf.cast(less, own.dtype))
    # The sizes are those of the case's own values, since a trace may not know them.
    taken = [
        y if size <= MOST else _some(tf, y) for y, size in zip(case.call(*given), _sizes(name), strict=True)
    ]
    return taken[0] if len(taken) == 1 else tuple(taken)


@functools.cache
def _sizes(name: str) -> tuple[int, ...]:
    """The numbers of elements of a case's results."""
    import graphad
    from tests.support.case_tables import cases_by_name

    with graphad.init_scope():  # a trace may ask first
        return tuple([np.asarray(y).size for y in cases_by_name()[name].values()])


def _some(tf: Any, y: Any) -> Any:
    """Some elements of a large result, evenly spread."""
    flat = tf.reshape(y, [-1])
    return flat[:: -(-tf.size(flat) // MOST)]


@signature("wide", 12.0)
def a_case(g: Grower) -> None:
    x = g.pick(tame=8.0, fits=lambda x: x.dtype != "float16")
    row = g.choice(rows())
    if x.dtype == "float32" and not row.is_float32:
        raise NoFit
    kinds = {"float64": g.style.real, "complex128": g.style.complex}
    results = [(dims, kinds.get(dtype, dtype), min(bound, 1e6)) for dims, dtype, bound in row.results]
    if any(dtype in ("float32", "complex64", "float16", "bfloat16") for _, dtype, _ in row.results):
        raise NoFit  # a result that has the dtype of the case for inputs of any dtype
    g.emit(
        f"case(tf, {row.name!r}, $0, tf.{x.dtype})", [x], results=results, traits=row.traits, name="a_case"
    )
    if any(bound > LARGE for _, _, bound in results):
        return
