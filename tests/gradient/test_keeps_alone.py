"""A tape that follows one operand of an op keeps what the cotangent of that one reads, and lets the rest go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.convert import lift
from graphad.core.registry import all_ops
from graphad.gradient import jacobian as jacobians
from graphad.gradient.backward import Dropped
from graphad.gradient.jacobian_plan import Plan
from tests.support.case_tables import differentiable_cases
from tests.support.op_case import OpCase

ONES = np.ones((32, 32), np.float32)


@pytest.mark.parametrize("case", [p for p in differentiable_cases() if len(p.values[0].sources) > 1])
def test_the_cotangent_of_one_operand_needs_nothing_that_was_let_go(case: OpCase) -> None:
    bars = [None if bar is None else tf.constant(bar) for bar in case.cotangents()]
    tensors = case.tensors()
    want = case.gradients(tensors, bars)
    for number, i in enumerate(case.sources):
        with tf.GradientTape() as tape:
            tape.drop_above = -1
            tape.watch(tensors[i])
            ys = case.call(*tensors)
        kept = [(y, bar) for y, bar in zip(ys, bars, strict=True) if bar is not None]
        found = tape.gradient([y for y, _ in kept], tensors[i], [bar for _, bar in kept])
        if want[number] is None or found is None:
            assert all(g is None or not np.any(lift(g).numpy()) for g in (want[number], found))
            continue
        np.testing.assert_allclose(
            lift(found).numpy(), lift(want[number]).numpy(), rtol=1e-6, atol=1e-8, equal_nan=True
        )


def _first_of_each_op() -> list[Any]:
    """For each op with `keeps_alone` the first case in which it stands."""
    found: dict[str, Any] = {}
    left = {name for name, kind in all_ops().items() if kind.keeps_alone is not None}
    for parameter in differentiable_cases():
        case = parameter.values[0]
        if len(case.sources) > 1 and case.function.__name__ in _NAMES and left:
            for name in {node.op.name for node in case.traced().nodes} & left:
                found[name] = parameter
                left.discard(name)
    return [pytest.param(parameter.values[0], id=name) for name, parameter in found.items()]


_NAMES = {
    "multiply", "divide", "multiply_no_nan", "divide_no_nan", "pow", "matmul", "solve", "triangular_solve", "conv2d",
    "convolution",
}  # fmt: skip


@pytest.mark.parametrize("case", _first_of_each_op())
def test_columns_of_a_jacobian_need_nothing_that_was_let_go(
    case: OpCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = case.tensors()
    for i in case.sources:
        with tf.GradientTape(persistent=True) as tape:
            tape.drop_above = -1
            tape.watch(tensors[i])
            (y,) = case.call(*tensors)
        rows, columns = [], []
        for forward, found in ((False, rows), (True, columns)):
            monkeypatch.setattr(jacobians, "plan_jacobian", lambda *_, forward=forward: Plan(forward, 1000))
            found.append(tape.jacobian(y, tensors[i]).numpy())
        np.testing.assert_allclose(columns, rows, rtol=1e-7, atol=1e-7)


_PAIRS: dict[str, tuple[Callable[..., Any], tuple[str, str]]] = {
    # what is held where the first operand is followed alone, and where the second is: the operands x, y and the result z
    "mul": (tf.multiply, ("y", "x")),
    "multiply_no_nan": (tf.math.multiply_no_nan, ("y", "x")),
    "div": (tf.divide, ("y", "yz")),
    "divide_no_nan": (tf.math.divide_no_nan, ("y", "yz")),
    "pow": (tf.pow, ("xy", "xz")),
    "matmul": (tf.matmul, ("y", "x")),
    "solve": (lambda x, y: tf.linalg.solve(x + 31 * tf.eye(32), y), ("xz", "x")),
    "triangular_solve": (tf.linalg.triangular_solve, ("xz", "x")),
}


@pytest.mark.parametrize("followed", [0, 1])
@pytest.mark.parametrize("name", list(_PAIRS))
def test_what_no_cotangent_reads_is_let_go(name: str, followed: int) -> None:
    function, held = _PAIRS[name]
    operands = [tf.constant(ONES), tf.constant(ONES)]
    with tf.GradientTape() as tape:
        tape.watch(operands[followed])
        function(*operands)
    (inputs, outputs) = next(entry[1:3] for entry in tape.entries if entry[0].name == name)
    outputs = outputs or (Dropped((), tf.float32),)
    found = [word for word, x in zip("xyz", (*inputs, *outputs), strict=True) if type(x) is not Dropped]
    assert "".join(found) == held[followed]


def test_ops_of_two_operands_alone_say_what_is_kept_for_each() -> None:
    for name, kind in all_ops().items():
        if kind.keeps_alone is not None:
            for inputs, outputs in kind.keeps_alone:
                assert inputs is True or set(inputs) <= (
                    {0, 1} if kind.keeps[0] is True else set(kind.keeps[0])
                ), name
                assert not outputs or kind.keeps[1], name


def test_a_second_derivative_by_the_operand_that_was_not_followed_first() -> None:
    x, y = tf.constant(ONES * 3), tf.constant(ONES * 2)
    with tf.GradientTape() as outer:
        outer.watch(y)
        with tf.GradientTape() as inner:
            inner.watch(x)
            z = x * x / y
        slope = inner.gradient(z, x)
    np.testing.assert_array_equal(outer.gradient(slope, y).numpy(), np.full_like(ONES, -2 * 3 / 4))


def test_a_function_of_a_constant_factor_keeps_one_array_for_its_gradient() -> None:
    x = tf.constant(ONES)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(10):
            y = y * 2.0
        held = [v for entry in tape.entries for v in entry[1] if type(v) is not Dropped]
    assert sum(v.numpy().nbytes for v in held) == 10 * 4
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full_like(ONES, 1024.0))
