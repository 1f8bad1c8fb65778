"""How samples of the gamma distribution move with alpha, where alpha or the sample is large."""

import numpy as np
import pytest

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.ops.random.gammas import GammaSlope


@pytest.mark.parametrize("alpha", [2e5, 1e8, 1e12])
@pytest.mark.parametrize("z", [-3.0, 0.0, 2.0, 6.0])
def test_large_samples_move_as_quantiles_do(alpha, z):
    """y = alpha + sqrt(alpha) z + (z**2 - 1) / 3 + ... at a fixed probability."""
    root = np.sqrt(alpha)
    y = alpha + root * z + (z**2 - 1) / 3 + (z**3 - 7 * z) / (36 * root)
    found = bind(GammaSlope(), lift(np.float64(alpha)), lift(np.float64(y))).numpy()
    np.testing.assert_allclose(found, 1 + z / (2 * root) - (z**3 - 7 * z) / (72 * root**3), rtol=2e-9)


def test_numbers_of_every_size_have_an_answer_at_once():
    alpha = lift(np.array([1e30, 1e300, 1.0, 1e-300, 3.0]))
    y = lift(np.array([1e30, 1e300, 1e30, 1e308, 2e4]))
    assert np.all(np.isfinite(bind(GammaSlope(), alpha, y).numpy()))
