"""The digits of `gelu` where it is small, against mpmath with 40 digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import graphad as tf

EXACT = {
    -33.69076647433631: -1.3295327298354379e-247,
    -23.715009689331055: -2.9934164768917713e-123,
    -11.586393356323242: -2.798388001945069e-30,
    -5.25: -3.992604271156575e-07,
    -0.75: -0.16997051428265114,
    0.25: 0.14967658142073093,
    3.5: 3.4991857982233756,
}
BY_TANH = {
    -16.4976024221: -4.347359668047744e-150,
    -9.931352: -5.7421215782265874e-37,
    -5.25: -3.958463821495829e-08,
    -0.262207: -0.10398777826542646,
    0.25: 0.149675350701685,
    3.5: 3.499383802344626,
}


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_digits_are_lost_with_the_exponent_alone(run: Callable[..., object], approximate: bool) -> None:
    points = BY_TANH if approximate else EXACT
    x, wanted = np.array(list(points)), np.array(list(points.values()))
    size = np.where(x < 0, np.abs(x), 0.0)
    units = 4 + (size**3 / 4 if approximate else 2 * size**2)
    call = run(lambda x: tf.nn.gelu(x, approximate))
    found = call(tf.constant(x)).numpy()  # type: ignore[operator]
    assert (np.abs(found - wanted) <= units * np.spacing(np.abs(wanted))).all()
