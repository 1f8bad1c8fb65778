"""Every case of every op gives on a device what it gives on the CPU, its gradient and direction too; all of it stays there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.tensor import EagerTensor
from graphad.devices.tensor import DeviceTensor
from graphad.devices.transfer import moved
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase, close

CASES = [pytest.param(case, id=f"{family}-{number}-{case.name}") for family, number, case in all_cases()]


def _there(arrays: list[Any]) -> list[Any]:
    return [moved(EagerTensor(x), "cuda:0") for x in arrays]


@pytest.mark.parametrize("case", CASES)
def test_values(case: OpCase) -> None:
    with tf.device("cuda"):
        outputs = case.call(*_there(case.arrays))
    for y, z in zip(outputs, case.values(), strict=True):
        assert y.shape == np.shape(z) and y.dtype.numpy == z.dtype
        close(y.numpy(), z, 1e-12)


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].order > 0 and p.values[0].sources])
def test_gradients(case: OpCase) -> None:
    bars = case.cotangents()
    want = case.gradient_values(case.arrays, bars)
    with tf.device("cuda"):
        given = [None if bar is None else _there([bar])[0] for bar in bars]
        found = case.gradients(_there(case.arrays), given)
    for g, z in zip(found, want, strict=True):
        assert (g is None) == (z is None)
        if g is not None:
            g = tf.convert_to_tensor(g)
            assert isinstance(g, DeviceTensor), "a gradient is where its source is"
            close(g.numpy(), z, 1e-12)


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].order > 0 and p.values[0].sources])
def test_directions(case: OpCase) -> None:
    """Forward mode makes numbers and zeros of its own: they are where the operands are."""
    numbers = np.random.default_rng(7)
    dots = [
        np.asarray(numbers.normal(size=case.arrays[i].shape)).astype(case.arrays[i].dtype)
        for i in case.sources
    ]

    def pushed(xs: list[Any], dots: list[Any]) -> list[Any]:
        with tf.autodiff.ForwardAccumulator([xs[i] for i in case.sources], dots) as accumulator:
            ys = case.call(*xs)
        return [accumulator.jvp(y) for y in ys]

    want = pushed(case.tensors(), case.tensors(dots))
    with tf.device("cuda"):
        found = pushed(_there(case.arrays), _there(dots))
    for y, z in zip(found, want, strict=True):
        assert (y is None) == (z is None)
        if y is not None:
            assert isinstance(y, DeviceTensor)
            close(y.numpy(), z.numpy(), 1e-12)
