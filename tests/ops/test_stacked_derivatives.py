"""Second and third derivatives under stacked cotangents, of every op: vectorising gives the results of a loop over rows.

In the derivative of a Jacobian some operands of a derivative rule carry the axis of rows and others do not, so every rule has
to sum back what was broadcast. That is seen only when such rules are differentiated again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.support.case_tables import differentiable_cases
from tests.support.op_case import OpCase

_MOST = 400  # elements of the largest Jacobian that is taken


def _derivatives(case: OpCase, of: int, vectorised: bool, has_third: bool) -> list[Any]:
    """Of every output: its Jacobian, the gradient of a sum over that Jacobian, and perhaps the Jacobian of that gradient."""
    tensors = case.tensors()
    x = tensors[of]
    found = []
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            ys = case.call(*tensors)
        for y in ys:
            if not y.dtype.is_differentiable or int(np.prod(y.shape)) * int(np.prod(x.shape)) > _MOST:
                continue
            jacobian = tape.jacobian(y, x, experimental_use_pfor=vectorised)
            if jacobian is None:
                continue
            found.append(jacobian)
            if case.order > 1:
                weights = np.random.default_rng(3).uniform(0.5, 1.5, jacobian.shape)
                total = tf.reduce_sum(jacobian * tf.cast(weights, jacobian.dtype))
                gradient = outer.gradient(total, x)
                if gradient is not None:
                    found.append(tf.convert_to_tensor(gradient))
                    if has_third and not x.dtype.is_complex:
                        third = outer.jacobian(found[-1], x, experimental_use_pfor=vectorised)
                        if third is not None:
                            found.append(third)
    return found


def _cases() -> list[Any]:
    """Each case, and whether it takes third derivatives: the first two of a function do, which is most of the time."""
    seen: Counter[str] = Counter()
    out = []
    for given in differentiable_cases():
        (case,) = given.values
        name = f"{given.id.partition('-')[0]} {case.function.__name__}"
        seen[name] += 1
        out.append(pytest.param(case, seen[name] <= 2 or name.endswith("<lambda>"), id=given.id))
    return out


@pytest.mark.filterwarnings("ignore:Calling GradientTape.gradient on a persistent tape")
@pytest.mark.parametrize("case, has_third", _cases())
def test_derivatives_of_jacobians_are_those_of_loops_over_rows(case: OpCase, has_third: bool) -> None:
    for of in case.sources:
        stacked, looped = (_derivatives(case, of, vectorised, has_third) for vectorised in (True, False))
        assert len(stacked) == len(looped)
        for found, want in zip(stacked, looped, strict=True):
            assert found.shape == want.shape and found.dtype is want.dtype
            np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-7, atol=1e-7, equal_nan=True)
