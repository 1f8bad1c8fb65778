"""Variants of the cases of ops: the same call with no elements, with one, with scalars, with operands that broadcast, with NaN
and infinities, with negative axes, and in other dtypes.

They are derived from the case alone. A variant that graphad refuses with its own error is ignored; `tests/ops/proofs.py` checks
that each op has one left.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphad.core.dtypes import bfloat16
from tests.support.op_case import OpCase, real


def with_arrays(case: OpCase, arrays: Sequence[Any], label: str, **attributes: Any) -> OpCase:
    """The case with other arrays in the same places."""
    other = copy.copy(case)
    other._flat = list(case._flat)
    for place, x in zip(case._places, arrays, strict=True):
        other._flat[place] = x
    other.arrays = list(arrays)
    other.attributes = {**case.attributes, **attributes}
    other.name = f"{case.name}-{label}"
    return other


def _cut(case: OpCase, number: int) -> Iterator[tuple[str, list[Any]]]:
    """With `number` elements along all axes of one size, for each size that there is."""
    sizes = sorted({size for x in case.arrays for size in np.shape(x) if size > 1})
    for size in sizes:
        arrays = [
            np.ascontiguousarray(x[tuple(slice(number) if n == size else slice(None) for n in x.shape)])
            if np.ndim(x)
            else x
            for x in case.arrays
        ]
        yield f"{number} of {size}", arrays


def _numbers(case: OpCase) -> Iterator[tuple[str, list[Any]]]:
    if any(np.ndim(x) for x in case.arrays) and all(np.size(x) for x in case.arrays):
        yield "numbers", [np.ravel(x)[0] for x in case.arrays]


def _special(case: OpCase) -> Iterator[tuple[str, list[Any]]]:
    """NaN, infinities and zeros among the numbers of each array in turn."""
    for i, x in enumerate(case.arrays):
        if x.dtype.kind not in "fc" or not np.size(x):
            continue
        for k, number in enumerate((np.nan, np.inf, -np.inf)):
            y = np.array(x)
            y.reshape(-1)[:: max(2, y.size // 3)] = number
            yield f"{number} in {i}", [y if j == i else z for j, z in enumerate(case.arrays)]
            if y.ndim == 0 and k == 2:
                break


def _broadcast(case: OpCase) -> Iterator[tuple[str, list[Any]]]:
    """One operand of several has fewer axes, or one row."""
    if len(case.arrays) < 2 or len({np.shape(x) for x in case.arrays}) > 1 or not np.ndim(case.arrays[0]):
        return
    if not np.shape(case.arrays[0])[0]:
        return
    for i in range(len(case.arrays)):
        yield f"{i} without an axis", [x[0] if j == i else x for j, x in enumerate(case.arrays)]
        yield f"{i} with one row", [x[:1] if j == i else x for j, x in enumerate(case.arrays)]


def _of_dtype(real_dtype: Any, complex_dtype: Any) -> Callable[[OpCase], Iterator[tuple[str, list[Any]]]]:
    def made(case: OpCase) -> Iterator[tuple[str, list[Any]]]:
        kinds = {"f": real_dtype, "c": complex_dtype}
        if not case.sources or (any(x.dtype.kind == "c" for x in case.arrays) and complex_dtype is None):
            return
        yield (
            np.dtype(real_dtype).name,
            [x.astype(kinds[x.dtype.kind]) if x.dtype.kind in "fc" else x for x in case.arrays],
        )

    return made


def _complex(case: OpCase) -> Iterator[tuple[str, list[Any]]]:
    if not case.sources or any(x.dtype.kind == "c" for x in case.arrays):
        return
    yield (
        "complex",
        [
            (x + 0.4j * np.asarray(real(*x.shape, seed=77 + i))).astype(np.complex128)[()]
            if x.dtype.kind == "f"
            else x
            for i, x in enumerate(case.arrays)
        ],
    )


def _axes(case: OpCase) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Axes from the other end."""
    if not case.arrays:
        return
    rank = np.ndim(case.arrays[0])
    for key, given in case.attributes.items():
        if "axis" not in key and key not in ("axes", "dim"):
            continue
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            turned: Any = given - rank if given >= 0 else given + rank
        elif isinstance(given, (list, tuple)) and given and all(isinstance(k, int) for k in given):
            turned = type(given)(k - rank if k >= 0 else k + rank for k in given)
        else:
            continue
        yield f"{key}={turned}", case.arrays, {key: turned}


KINDS: dict[str, Callable[[OpCase], Iterator[tuple[Any, ...]]]] = {
    "empty": lambda case: _cut(case, 0),
    "one": lambda case: _cut(case, 1),
    "numbers": _numbers,
    "special": _special,
    "broadcast": _broadcast,
    "axes": _axes,
    "float16": _of_dtype(np.float16, None),
    "bfloat16": _of_dtype(bfloat16.numpy, None),
    "complex": _complex,
}


VARIANTS = tuple(KINDS)


def variants(case: OpCase, kind: str) -> Iterator[OpCase]:
    """The variants of a case of one kind."""
    for label, arrays, *attributes in KINDS[kind](case):
        yield with_arrays(case, arrays, label, **(attributes[0] if attributes else {}))
