"""Random programs run as plain Python and converted: the same values and the same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.random_control_flow import Box, program

PROGRAMS = 240
AT_ONCE = 8


def value_and_gradients(f, x, y, n):
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        out = f(x, y, n)
    return [out, *tape.gradient(out, [x, y], unconnected_gradients="zero")]


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_ONCE))
def test_converted_programs_agree_with_python(first):
    for seed in range(first, first + AT_ONCE):
        made = program(seed)
        flag = seed % 2 == 0

        def plain(x, y, n, made=made, flag=flag):
            return made(tf, x, y, n, flag, Box(y * 1.5))

        converted = tf.function(plain)
        random = np.random.default_rng(seed)
        for trial in range(2):
            x = tf.constant(random.normal(size=3))
            y = tf.constant(random.normal(), tf.float64)
            n = tf.constant(int(random.integers(0, 5)))
            wanted = value_and_gradients(plain, x, y, n)
            found = value_and_gradients(converted, x, y, n)
            for a, b in zip(wanted, found, strict=True):
                np.testing.assert_allclose(
                    b.numpy(), a.numpy(), rtol=1e-9, atol=1e-11, err_msg=f"program {seed}, trial {trial}"
                )
        assert converted.experimental_get_tracing_count() == 1
