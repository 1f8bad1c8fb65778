"""Ops whose names are gone load as the ops that do now what they did, and compute and differentiate as they did."""

from __future__ import annotations

import numpy as np
import pytest

from serialization.saved_model import load, save
from tests.golden import older_names


def compare(model):
    found = older_names.observed(model)
    with np.load(older_names.HERE / "expected.npz") as expected:
        # That release had None where a slope does not change, which is zeros now.
        more = found.keys() - set(expected.files)
        assert more == {"max_pool2d_grad_63.gradient.0", "max_pool2d_pick_64.gradient.0"}
        assert not any(found[key].any() for key in more)
        for key in expected.files:
            assert found[key].dtype == expected[key].dtype and found[key].shape == expected[key].shape, key
            # Sums in another order differ by roundings of their largest numbers.
            atol = 1e-6 * np.abs(expected[key]).max(initial=1.0) if expected[key].dtype.kind in "fc" else 0
            np.testing.assert_allclose(found[key], expected[key], rtol=3e-6, atol=atol, err_msg=key)


@pytest.fixture(scope="module")
def model():
    return load(older_names.HERE / "model")


def test_every_function_computes_what_it_computed(model):
    compare(model)


def test_what_is_loaded_can_be_saved_again_under_the_names_of_today(model, tmp_path):
    save(model, tmp_path / "again")
    compare(load(tmp_path / "again"))
