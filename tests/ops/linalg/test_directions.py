"""Derivatives of matrix functions in a direction, by two ways."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.ops.linalg.functions import MatrixDirection

scipy_linalg = pytest.importorskip("scipy.linalg")


@pytest.mark.parametrize("of", ["sqrtm", "logm"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_direction_by_the_triangular_factor_is_the_block_of_the_matrix_of_twice_the_size(
    of: str, dtype: str
) -> None:
    rng = np.random.default_rng(5)
    n = 60
    x = (3 * np.eye(n) + rng.standard_normal((2, n, n)) / 4).astype(dtype)
    d = rng.standard_normal((2, n, n)).astype(dtype)
    if dtype == "complex128":
        x, d = x + 1j * rng.standard_normal((2, n, n)) / 4, d - 1j * rng.standard_normal((2, n, n))
    elif of == "logm":
        x, d = x.astype(np.complex128), d.astype(np.complex128)
    wide = np.zeros((2, 2 * n, 2 * n), x.dtype)
    wide[:, :n, :n] = wide[:, n:, n:] = x
    wide[:, :n, n:] = d
    function = {"sqrtm": scipy_linalg.sqrtm, "logm": scipy_linalg.logm}[of]
    expected = np.stack([function(matrix)[:n, n:] for matrix in wide])
    found = MatrixDirection(of).eval(x, d)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
