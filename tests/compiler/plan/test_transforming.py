"""Fourier transforms and functions of complex numbers are rows of plans, with the bits of eager ops, in loops and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import transforming, ufuncs
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Applied, Transformed
from graphad.tools.explain import explain

_rng = np.random.default_rng(23)
COMPLEX = ("complex64", "complex128")


def number(*shape: int, dtype: str = "complex64") -> Any:
    x = _rng.normal(size=shape) + 1j * _rng.normal(size=shape)
    return tf.constant((x if dtype[0] == "c" else x.real).astype(dtype))


def is_native(f: Any, *given: Any) -> Any:
    """The compiled function, with the bits of eager calls and nothing called in Python."""
    compiled = tf.function(f, jit_compile=True)
    wants = tf.nest.flatten(f(*given))
    for _ in range(2):
        for want, got in zip(wants, tf.nest.flatten(compiled(*given)), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_array_equal(got.numpy(), want.numpy())
            is_number = ~np.isnan(want.numpy())
            assert got.numpy()[is_number].tobytes() == want.numpy()[is_number].tobytes()
    units = explain(compiled)(*given).units
    assert units and "host" not in units and "calls NumPy" not in units, units
    return compiled


def transforms(x: Any, rank: int) -> list[Any]:
    """All transforms of complex x along the last axes, and those of its real part, with their derivatives."""
    s = tf.signal
    names = {1: ("fft", "rfft"), 2: ("fft2d", "rfft2d"), 3: ("fft3d", "rfft3d")}[rank]
    forward, backward = getattr(s, names[0]), getattr(s, f"i{names[0]}")
    half, whole = getattr(s, names[1]), getattr(s, f"i{names[1]}")
    sizes = [n if n is not None else 1 for n in x.shape[-rank:]]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        real = tf.math.real(x)
        ys = [forward(x), backward(x), half(real), whole(half(real) * half(tf.math.imag(x)), sizes)]
        parts = [
            tf.reduce_sum(tf.math.real(y) ** 2 + (tf.math.imag(y) if y.dtype.is_complex else 0.0)) for y in ys
        ]
    return [*ys, *[tape.gradient(part, x) for part in parts]]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    ("rank", "shape"), [(1, (16,)), (1, (3, 15)), (1, (1,)), (2, (2, 6, 5)), (2, (1, 8)), (3, (2, 3, 4, 6))]
)
def test_transforms_and_their_derivatives_have_the_bits_of_eager_ops(
    rank: int, shape: tuple[int, ...], dtype: str
) -> None:
    is_native(lambda x: transforms(x, rank), number(*shape, dtype=dtype))


def test_a_loop_of_transforms_is_native() -> None:
    wave = number(17)

    def walk(u: Any) -> Any:
        for _ in tf.range(5):
            h = tf.signal.rfft(u)
            u = tf.signal.irfft(wave * h) * 0.1 - u * tf.signal.irfft(tf.math.conj(wave) * h)
        return u

    u = number(32, dtype="float32")
    assert "repeat" in explain(is_native(walk, u))(u).units

    def slope(u: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = tf.reduce_sum(walk(u) ** 2)
        return tape.gradient(y, u)

    want, got = slope(u), tf.function(slope, jit_compile=True)(u)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert "calls NumPy" not in explain(tf.function(slope))(u).units


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    "name",
    "add subtract multiply divide equal not_equal pow square negative abs exp log sqrt sin cos tan sinh cosh tanh asin "
    "acos atan asinh acosh atanh is_finite is_inf is_nan conj real imag".split(),
)
def test_functions_of_complex_numbers_have_the_bits_of_eager_ops(name: str, dtype: str) -> None:
    f = getattr(tf.math, name, None) or getattr(tf, name)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 1.0])
    special = np.empty((8, 8), dtype)
    special.real, special.imag = odd[:, None], odd
    x = tf.constant(np.concatenate([special.ravel(), number(9, dtype=dtype).numpy()]))
    is_two = name in ("add", "subtract", "multiply", "divide", "equal", "not_equal", "pow")
    with np.errstate(all="ignore"):
        if not is_two:
            is_native(f, x)
            is_native(lambda x: f(tf.transpose(x)), tf.reshape(x[:72], [9, 8]))
            return
        is_native(f, x, tf.reverse(x, [0]))
        for a, b in (
            ((3, 1, 5), (4, 1)),
            ((2, 5), (5,)),
            ((2, 3), (1, 1)),
            ((2, 1, 2, 1, 2), (1, 3, 1, 2, 1)),
        ):
            is_native(f, number(*a, dtype=dtype), number(*b, dtype=dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_arrays_of_one_number_have_the_bits_of_eager_ops(shape: tuple[int, ...], dtype: str) -> None:
    """NumPy rounds a product otherwise where an operand's stride is 0, and in one of some numbers that is seen."""
    compiled = tf.function(lambda x, y: (x * y, x * x, tf.square(y)), jit_compile=True)
    for _ in range(40):
        x, y = number(*shape, dtype=dtype), number(*shape, dtype=dtype)
        for want, got in zip((x * y, x * x, tf.square(y)), compiled(x, y), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_are_joined(dtype: str) -> None:
    is_native(tf.complex, number(3, 4, dtype=dtype), number(4, dtype=dtype))
    is_native(
        lambda x, y: tf.complex(x, y) * tf.complex(y, x), number(4, dtype=dtype), number(1, dtype=dtype)
    )


def test_numbers_of_shape_empty_ones_and_many_axes_agree() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y + tf.exp(x) / y
        return z, tf.abs(z), tf.signal.fft(tf.reshape(z, [-1]))

    compiled = tf.function(f, jit_compile=True)
    for a, b in (((), ()), ((0,), ()), ((2, 0), (0,)), ((3,), ()), ((2, 1, 2, 1, 2), (2, 1, 2, 1))):
        given = number(*a), number(*b)
        for want, got in zip(f(*given), compiled(*given), strict=True):
            assert got.shape == want.shape and got.numpy().tobytes() == want.numpy().tobytes()
    spectrum = tf.function(
        lambda x: (tf.signal.rfft(x, [6]), tf.signal.irfft(tf.signal.rfft(x), [3])), jit_compile=True
    )
    for n in (0, 3, 8):
        x = number(2, n, dtype="float32") if n else tf.zeros([2, 0])
        want = tf.signal.rfft(x, [6]), tf.signal.irfft(tf.signal.rfft(x), [3])
        for mine, theirs in zip(spectrum(x), want, strict=True):
            assert mine.numpy().tobytes() == theirs.numpy().tobytes()


def test_every_form_has_steps_here() -> None:
    for dtype, real in zip(COMPLEX, ("float32", "float64"), strict=True):
        for rank in (1, 2, 3):
            for yes in (False, True):
                assert all(
                    transforming.has(Transformed("fft", rank, yes, scaled), dtype) for scaled in (False, True)
                )
                assert transforming.has(Transformed("irfft", rank, adjoint=yes), dtype)
                assert transforming.has(Transformed("rfft", rank, adjoint=yes), real)
        assert ufuncs.has(Applied(np.multiply, as_dtype(dtype)), (dtype, dtype))
        assert ufuncs.has(Applied(np.multiply, as_dtype(dtype)), (dtype,))
        assert not ufuncs.has(Applied(np.logaddexp, as_dtype(dtype)), (dtype, dtype))
    assert not transforming.has(Transformed("fft", 4), "complex64")
