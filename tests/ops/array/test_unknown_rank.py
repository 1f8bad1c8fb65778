"""What a function traced for every rank does with arrays as indices, and with axes that are given."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd

_I, _J = np.array([0, -1]), np.array([[1, 2], [-2, 0]])
_KEYS = [
    _I, np.s_[:, _I], np.s_[..., _I], np.s_[_I, 1], np.s_[_I, _I], _J, np.s_[..., _I, :], np.s_[1:, _J], np.s_[None, _I],
    np.s_[_I, ..., 1:3], [0, 2], np.s_[_I, _I, _I], np.s_[_I, None],
]  # fmt: skip


@pytest.mark.parametrize("key", _KEYS, ids=str)
def test_arrays_index_a_tensor_whose_rank_is_unknown(key):
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    f = gd.function(lambda x: x[key], input_signature=[gd.TensorSpec(None, gd.float64)])
    given = gd.constant(x)
    with gd.GradientTape() as tape:
        tape.watch(given)
        y = f(given)
        loss = gd.reduce_sum(y * y)
    np.testing.assert_array_equal(y, x[key])
    slope = np.zeros_like(x)
    np.add.at(slope, key, 2 * x[key])
    np.testing.assert_allclose(tape.gradient(loss, given), slope)


def test_several_arrays_behind_other_indices_need_a_known_rank():
    f = gd.function(lambda x: x[:, _I, _I], input_signature=[gd.TensorSpec(None, gd.float64)])
    with pytest.raises(
        ValueError, match="several index arrays after other indices need a tensor of known rank"
    ):
        f(np.zeros((2, 3, 3)))


@pytest.mark.parametrize("axes", [0, -1, [0, -1], [1]], ids=str)
def test_frequencies_are_shifted_along_given_axes_whatever_the_rank(axes):
    x = np.random.default_rng(0).standard_normal((3, 4))
    for f in (gd.signal.fftshift, gd.signal.ifftshift, np.fft.fftshift):
        shifted = gd.function(
            lambda x, f=f: f(x, axes=axes), input_signature=[gd.TensorSpec(None, gd.float64)]
        )
        np.testing.assert_array_equal(shifted(x), getattr(np.fft, f.__name__)(x, axes))
    every = gd.function(gd.signal.fftshift, input_signature=[gd.TensorSpec(None, gd.float64)])
    with pytest.raises(ValueError, match="or the axes must be given"):
        every(x)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("counts", [None, [None]], ids=str)
def test_one_count_of_repeats_known_at_run_time_counts_for_all_elements(axis, counts):
    x = np.random.default_rng(0).standard_normal((2, 3))
    whole = gd.TensorSpec(None if axis is None else [None, None], gd.float64)

    @gd.function(input_signature=[whole, gd.TensorSpec(counts, gd.int32)])
    def repeated(x, repeats):
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.repeat(x, repeats, axis)
            z = gd.reduce_sum(y * y)
        return y, tape.gradient(z, x)

    size = x.size if axis is None else x.shape[axis]
    for repeats in ([2], [0], list(range(size))):
        y, gradient = repeated(x, repeats)
        np.testing.assert_array_equal(y, np.repeat(x, repeats, axis))
        each = np.broadcast_to(repeats, size)
        along = each.reshape(x.shape) if axis is None else each.reshape([-1, 1] if axis == 0 else [1, -1])
        np.testing.assert_allclose(gradient, 2 * x * along, rtol=1e-14)
    with pytest.raises(ValueError, match=r"shape \(7,\) does not broadcast"):
        repeated(x, [1] * 7)
