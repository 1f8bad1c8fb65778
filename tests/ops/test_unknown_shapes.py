"""Traced with unknown sizes or unknown rank, derivatives of every case are what they are eagerly, for other batches too.

Value, gradient, second gradient, Jacobian, the gradient of the Jacobian and the Jacobian of the gradient, inside one function,
for the rows that the case has and for other numbers of them. The first case of a function takes all of them; its others, which
have other axes, options or dtypes, take turns with the numbers of rows and with the two mixed second derivatives.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import GraphadError
from tests.support.op_case import OpCase

S = tf.TensorSpec
Program = Callable[..., list[Any]]
FAMILIES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/cases.py"))
# With rows repeated these have singular values that coincide: their second derivatives are infinite, and differ by rounding.
DEGENERATE = {"rotation", "right_only", "qr"}


def _loss(values: Sequence[Any]) -> Any:
    """A scalar whose derivatives of both orders depend on every element."""
    total = tf.constant(0.0, tf.float64)
    for y in values:
        if y.dtype.is_complex:
            y = tf.math.real(y * y * (0.3 + 0.1j) + y)
        elif not y.dtype.is_floating:
            continue
        total += tf.reduce_sum(tf.cast(tf.sin(y * y * 0.3 + 0.2 * y), tf.float64))
    return total


def _gradient(program: Program, sources: Sequence[int]) -> Program:
    def run(*xs: Any) -> list[Any]:
        wanted = [xs[i] for i in sources]
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            loss = _loss(program(*xs))
        return list(tape.gradient(loss, wanted, unconnected_gradients="zero"))

    return run


def _jacobian(program: Program, sources: Sequence[int]) -> Program:
    def run(*xs: Any) -> list[Any]:
        wanted = [xs[i] for i in sources]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(wanted)
            targets = [y for y in program(*xs) if y.dtype.is_floating]
        return [j for y in targets for j in tape.jacobian(y, wanted, unconnected_gradients="zero")]

    return run


# Numbers of rows beside the case's own. A size that a trace has taken for a constant shows with any other number; with no row and
# with one, shapes are special too. Second derivatives, which take most of the time, are not computed for three rows.
ROWS = {0: (0, 1, 3), 1: (0, 1, 3), 2: (0, 1)}
ROWS_OF_UNKNOWN_RANK = {**ROWS, 2: (0,)}
# Each with the number of derivatives it takes.
MODES: dict[str, tuple[int, Callable[[Program, Sequence[int]], Program]]] = {
    "value": (0, lambda p, s: p),
    "gradient": (1, _gradient),
    "jacobian": (1, _jacobian),
    "second_gradient": (2, lambda p, s: _gradient(_gradient(p, s), s)),
    "gradient_of_jacobian": (2, lambda p, s: _gradient(_jacobian(p, s), s)),
    "jacobian_of_gradient": (2, lambda p, s: _jacobian(_gradient(p, s), s)),
}
MIXED = ("gradient_of_jacobian", "jacobian_of_gradient")


def _resized(arrays: Sequence[Any], n: int | None) -> list[Any] | None:
    """The arrays with n rows each, None where they have that many anyway."""
    if n is None:
        return list(arrays)
    rows = np.shape(arrays[0])[0] if np.ndim(arrays[0]) else n
    if rows == n:
        return None
    return [
        np.ascontiguousarray(np.concatenate([x] * max(n, 1))[:n]) if np.ndim(x) and len(x) == rows else x
        for x in arrays
    ]


def _cases() -> list[Any]:
    """Each case and which of its function it is, 0 for the first; functions without a name count as one each."""
    out, seen, turns = [], Counter(), Counter()
    for family in FAMILIES:
        for case in importlib.import_module(f"tests.ops.{family}.cases").CASES:
            if case.unknown and any(np.ndim(x) for x in case.arrays):
                seen[case.name] += 1
                function = case.function.__name__
                turn = 0 if function == "<lambda>" else turns[family, function]
                turns[family, function] += 1
                out.append(pytest.param(case, turn, id=f"{family}-{case.name}#{seen[case.name]}"))
    return out


def _other_rows(rows: tuple[int, ...], turn: int) -> tuple[int, ...]:
    return rows if turn == 0 else (rows[turn % len(rows)],)


@pytest.mark.parametrize("case, turn", _cases())
def test_derivatives_with_unknown_shapes_are_those_of_eager_calls(case: OpCase, turn: int) -> None:
    order = case.order if case.sources else 0
    for mode, (derivatives, make) in MODES.items():
        if derivatives > order or (turn and mode == MIXED[turn % 2]):
            continue
        program = make(case.call, case.sources)
        kinds = {
            "sizes": [S([None] * np.ndim(x), x.dtype) for x in case.arrays],
            "rank": [S(None, x.dtype) for x in case.arrays],
        }
        functions = {
            kind: tf.function(program, input_signature=specs, jit_compile=False)
            for kind, specs in kinds.items()
            if kind in case.unknown
        }
        for n in (None, *_other_rows(ROWS[derivatives], turn)):
            arrays = _resized(case.arrays, n)
            if arrays is None or (n is not None and case.function.__name__ in DEGENERATE):
                continue
            try:
                want = [y.numpy() for y in program(*map(tf.constant, arrays))]
            except GraphadError:
                continue  # the case does not make sense for so many rows
            for kind, f in functions.items():
                if kind == "rank" and n not in (None, *ROWS_OF_UNKNOWN_RANK[derivatives]):
                    continue
                found = [y.numpy() for y in f(*map(tf.constant, arrays))]
                assert len(found) == len(want)
                for y, z in zip(found, want, strict=True):
                    shown = f"{mode}, {n} rows, unknown {kind}"
                    assert (y.shape, y.dtype) == (z.shape, z.dtype), shown
                    np.testing.assert_allclose(y, z, rtol=1e-6, atol=1e-8, err_msg=shown)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(p.values[0], id=p.id)
        for p in _cases()
        if len(p.values[0].arrays) > 1 and p.values[0].sources
    ],
)
def test_operands_that_are_let_go_while_others_have_unknown_shapes_leave_their_shapes(case: OpCase) -> None:
    """Each operand unknown in turn, the others values that the tape need not keep."""
    tensors = [tf.constant(x) for x in case.arrays]

    def gradient(*xs: Any) -> list[Any]:
        sources = [xs[i] for i in case.sources]
        with tf.GradientTape() as tape:
            tape.drop_above = -1
            tape.watch(sources)
            loss = _loss(case.call(*xs))
        return list(tape.gradient(loss, sources, unconnected_gradients="zero"))

    want = [y.numpy() for y in gradient(*tensors)]
    for i, x in enumerate(tensors):
        if not x.ndim:
            continue
        for sizes in ([None] * x.ndim, *([None] if "rank" in case.unknown else [])):
            run = tf.function(
                lambda y, i=i: gradient(*tensors[:i], y, *tensors[i + 1 :]),
                input_signature=[S(sizes, x.dtype)],
            )
            for y, z in zip(run(x), want, strict=True):
                np.testing.assert_allclose(y, z, rtol=1e-6, atol=1e-8)
