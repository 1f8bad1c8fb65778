"""What an op refuses eagerly it refuses when the value turns up at run time only, and what it takes gives the same.

From every case of the op tables: each integer argument is changed in many ways and given as a tensor to a traced function.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import GraphadError
from graphad.core.nest import flatten
from tests.support.op_case import OpCase

S = tf.TensorSpec
FAMILIES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/cases.py"))
# A difference that is meant to be one, see docs/differences.md.
NAN_INSTEAD = {"sparse_softmax_cross_entropy_with_logits"}


def _is_integer(x: Any) -> bool:
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "iu"
    if isinstance(x, list | tuple):
        return bool(x) and all(isinstance(i, int | list | tuple) and _is_integer(i) for i in x)
    return isinstance(x, int) and not isinstance(x, bool)


def _variants(given: Any) -> Iterator[Any]:
    """The numbers themselves, and the same with one or all of them changed, in another order, fewer and more."""
    base = np.asarray(given)
    base = base if isinstance(given, np.ndarray | np.generic) else base.astype(np.int32)
    wide = base.astype(np.int64)
    found = [wide, np.zeros_like(wide)]
    for step in (-1, 1, -2, 7, -9):
        found.append(wide + step)
        for place in (0, -1) if wide.ndim and wide.size else ():
            moved = wide.copy()
            moved[place : place + 1 or None] += step  # of an array, which may wrap around
            found.append(moved)
    if wide.ndim == 1 and wide.size:
        found += [wide[::-1], wide[:-1], np.concatenate([wide, wide[-1:]])]
    for x in found:
        if base.dtype.kind == "i" or (x >= 0).all():
            yield x.astype(base.dtype)[()]


class Slot:
    """One integer argument of a case, with the case's other arrays beside it."""

    def __init__(self, case: OpCase, place: Any) -> None:
        self.case = case
        self.place = place
        self.arguments = list(case._rebuild(list(case._flat)))
        self.beside = [
            i for i, x in enumerate(self.arguments) if isinstance(x, np.ndarray | np.generic) and i != place
        ]
        self.given = case.attributes[place] if isinstance(place, str) else self.arguments[place]
        self.name = f"{case.name}-{place}"

    def arrays(self, number: Any) -> list[Any]:
        return [number, *[self.arguments[i] for i in self.beside]]

    def call(self, number: Any, *beside: Any) -> list[Any]:
        arguments, attributes = list(self.arguments), dict(self.case.attributes)
        for i, x in zip(self.beside, beside, strict=True):
            arguments[i] = x
        if isinstance(self.place, str):
            attributes[self.place] = number
        else:
            arguments[self.place] = number
        return [tf.convert_to_tensor(y) for y in flatten(self.case.function(*arguments, **attributes))[0]]


def _slots() -> list[Any]:
    out, seen = [], {}
    for family in FAMILIES:
        for case in importlib.import_module(f"tests.ops.{family}.cases").CASES:
            arguments = list(case._rebuild(list(case._flat)))
            places = [i for i, x in enumerate(arguments) if _is_integer(x)]
            places += [key for key, x in case.attributes.items() if _is_integer(x)]
            for place in places:
                slot = Slot(case, place)
                seen[slot.name] = seen.get(slot.name, 0) + 1
                out.append(pytest.param(slot, id=f"{slot.name}#{seen[slot.name]}"))
    return out


def _outcome(call: Callable[..., Any], arrays: Any) -> Any:
    try:
        return [y.numpy() for y in call(*[tf.constant(x) for x in arrays])]
    except GraphadError as error:
        return error


KINDS = {
    "known": lambda x: S(np.shape(x), x.dtype),
    "sizes": lambda x: S([None] * np.ndim(x), x.dtype),
    "rank": lambda x: S(None, x.dtype),
}


@pytest.mark.parametrize("slot", _slots())
def test_a_number_known_at_run_time_only_is_checked_as_eagerly(slot: Slot) -> None:
    wrong = None
    for number in _variants(slot.given):
        arrays = slot.arrays(number)
        want = _outcome(slot.call, arrays)
        for kind, spec_of in KINDS.items():
            specs = [spec_of(x) for x in arrays]
            f = tf.function(slot.call, input_signature=specs, jit_compile=False)
            try:
                f.get_concrete_function()
            except GraphadError:
                continue  # it must be known while tracing, and the error says so
            _compare(slot, kind, number, _outcome(f, arrays), want)
            if isinstance(want, GraphadError) and wrong is None:
                wrong = (number, specs, want)
    if wrong is not None:
        number, specs, want = wrong
        f = tf.function(slot.call, input_signature=specs, jit_compile=True)
        _compare(slot, "compiled", number, _outcome(f, slot.arrays(number)), want)


def _compare(slot: Slot, kind: str, number: Any, found: Any, want: Any) -> None:
    shown = f"{kind}, {np.asarray(number).tolist()}"
    if isinstance(want, GraphadError):
        if slot.case.function.__name__ in NAN_INSTEAD and not isinstance(found, GraphadError):
            assert any(np.isnan(y).any() for y in found), shown
            return
        assert isinstance(found, GraphadError), f"{shown}: eagerly it raises {want}; traced it gives {found}"
        return
    assert not isinstance(found, GraphadError), f"{shown}: {found}"
    for y, z in zip(found, want, strict=True):
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-6, atol=1e-12, err_msg=shown)
