"""Copies and fills against NumPy's assignment over random shapes, layouts and item sizes."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.compiler.cpu.runtime import blas, movement
from graphad.compiler.cpu.runtime.plan_block import Argument, PlanBuilder
from graphad.core.errors import InvalidArgumentError


def copy(target, source):
    words = movement.copy_words(target.itemsize, target.shape, target.strides, source.strides)
    words[movement.TARGET], words[movement.SOURCE] = target.ctypes.data, source.ctypes.data
    assert blas.run_step(movement.copy_kernel(target.itemsize), words) == 0


def fill(target, value):
    words = movement.fill_words(value, target.shape, target.strides)
    words[movement.TARGET] = target.ctypes.data
    assert blas.run_step(movement.fill_kernel(target.itemsize), words) == 0


def operand(rng, shape, dtype):
    """A view of random order and steps, inside a larger base with values around it; returns (view, base)."""
    if not shape:
        base = np.asarray(rng.integers(0, 100), dtype)
        return base, base
    order = rng.permutation(len(shape))
    steps = rng.choice([1, 1, 2], size=len(shape))
    base = rng.integers(0, 100, size=[shape[p] * steps[p] + 1 for p in order]).astype(dtype)
    view = base.transpose(np.argsort(order))
    view = view[tuple(slice(0, n * s, s) for n, s in zip(shape, steps, strict=True))]
    assert view.shape == tuple(shape)
    return view, base


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_copy_and_fill_match_assignment(dtype):
    rng = np.random.default_rng(5)
    for _ in range(250):
        shape = tuple(
            int(n)
            for n in rng.choice(
                [0, 1, 2, 3, 5, 8, 17, 66],
                size=rng.integers(0, 6),
                p=[0.03, 0.12, 0.2, 0.25, 0.2, 0.1, 0.06, 0.04],
            )
        )
        if np.prod(shape, dtype=int) > 100_000:
            continue
        (source, _), (target, base) = operand(rng, shape, dtype), operand(rng, shape, dtype)
        if shape and rng.random() < 0.3:  # a repeated axis
            axis = int(rng.integers(len(shape)))
            if shape[axis]:
                source = np.broadcast_to(np.take(source, [0], axis), shape)
        if shape and rng.random() < 0.3:
            source = source[::-1]
        if not shape:
            source = np.asarray(source)
        expected = base.copy()
        same = np.ndarray(
            target.shape, dtype, expected.data, target.ctypes.data - base.ctypes.data, target.strides
        )
        same[...] = source
        copy(target, source)
        np.testing.assert_array_equal(base, expected)  # around the view nothing changed
        same[...] = 7
        fill(target, np.asarray(7).astype(dtype))
        np.testing.assert_array_equal(base, expected)


@pytest.mark.parametrize("size", movement.SIZES)
def test_transposes_of_every_remainder_are_right(size):
    dtype = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}[size]
    rng = np.random.default_rng(size)
    for m, n in [(1, 1), (4, 4), (16, 16), (15, 17), (64, 64), (65, 63), (130, 7), (5, 200)]:
        x = rng.integers(0, 255, size=(3, m, n)).astype(dtype)
        y = np.empty((3, n, m), dtype)
        copy(y, x.transpose(0, 2, 1))
        np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


def test_concatenation_is_copies_into_slices_of_a_plan():
    a, b, out = np.ones((3, 2), np.float32), np.full((3, 4), 2, np.float32), np.zeros((3, 6), np.float32)
    builder, at = PlanBuilder(3), 0
    for k, part in enumerate((a, b)):
        view = out[:, at : at + part.shape[1]]
        builder.add_step(
            movement.copy_kernel(4),
            movement.copy_words(4, part.shape, view.strides, part.strides),
            [Argument(movement.SOURCE, k), Argument(movement.TARGET, 2, 4 * at)],
        )
        at += part.shape[1]
    assert builder.build().instance().run(a, b, out) == 0
    np.testing.assert_array_equal(out, np.concatenate([a, b], axis=1))


def test_layouts_that_cannot_be_served_are_named():
    with pytest.raises(InvalidArgumentError, match="elements of 3 bytes"):
        movement.copy_words(3, (2,), (3,), (3,))
    with pytest.raises(InvalidArgumentError, match="differ in length"):
        movement.copy_words(4, (2, 2), (8, 4), (4,))
    with pytest.raises(InvalidArgumentError, match="at most 8"):
        movement.copy_words(4, (2,) * 9, [4 * 3**k for k in range(9)], [4 * 5**k for k in range(9)])
    assert (
        movement.copy_words(
            4, (2,) * 12, [4 << (11 - k) for k in range(12)], [4 << (11 - k) for k in range(12)]
        )[movement.WAY]
        == 0
    )
