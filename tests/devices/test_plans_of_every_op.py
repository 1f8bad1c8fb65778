"""Every case of every op, with its gradient, as the plan of a function on a device: what the eager ops of the CPU give."""

from __future__ import annotations

from typing import Any

import pytest

import graphad as tf
from graphad.core.tensor import EagerTensor
from graphad.devices.tensor import DeviceTensor
from graphad.devices.transfer import moved
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase, close

CASES = [pytest.param(case, id=f"{family}-{number}-{case.name}") for family, number, case in all_cases()]


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: OpCase) -> None:
    count = len(case.arrays)
    bars = case.cotangents() if case.order and case.sources else []
    given = [bar for bar in bars if bar is not None]

    def run(*tensors: Any) -> list[Any]:
        found, rest = case.call(*tensors[:count]), iter(tensors[count:])
        if given:
            found += case.gradients(tensors[:count], [None if bar is None else next(rest) for bar in bars])
        return found

    want = [*case.values(), *(case.gradient_values(case.arrays, bars) if given else [])]
    f = tf.function(run, jit_compile=True)
    for y, z in zip(f(*[moved(EagerTensor(x), "cuda:0") for x in (*case.arrays, *given)]), want, strict=True):
        assert (y is None) == (z is None)
        if y is not None:
            y = tf.convert_to_tensor(y)
            assert isinstance(y, DeviceTensor) and y.dtype.numpy == z.dtype
            close(y.numpy(), z, 1e-12)
