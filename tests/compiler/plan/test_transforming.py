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


@pytest.mark.parametrize("dtype", COMPLEX)
def test_sums_products_and_selections_are_rows(dtype: str) -> None:
    x, y, v = number(5, 4, 6, dtype=dtype), number(6, 3, dtype=dtype), number(6, dtype=dtype)
    zeros = tf.where(tf.math.real(x) > 0.5, x, tf.constant(-0.0, dtype))

    def f(x: Any, y: Any, v: Any, zeros: Any) -> Any:
        sums = [tf.reduce_sum(x, axes) for axes in (0, 1, 2, [0, 1], [0, 2], [1, 2], None)]
        sums += [tf.reduce_sum(zeros, 1, keepdims=True), tf.reduce_prod(x, 1), tf.reduce_mean(x, [0, 2])]
        products = [
            x @ y,
            tf.matmul(x, x, adjoint_b=True),
            tf.matmul(y, x[0], transpose_a=True, transpose_b=True),
        ]
        products += [tf.linalg.matvec(x, v), tf.einsum("i,jki->jk", v, x), tf.tensordot(v, v, 1)]
        is_large = tf.math.real(x) > 0.0
        chosen = [
            tf.where(is_large, x, v),
            tf.where(is_large[:, :, :1], v, x),
            tf.where(is_large, x, zeros[0]),
        ]
        casts = [
            tf.cast(tf.math.real(x), dtype),
            tf.cast(is_large, dtype),
            tf.cast(x, COMPLEX[dtype == "complex64"]),
        ]
        casts += [tf.cast(tf.cast(tf.math.real(x) * 1e3, kind), dtype) for kind in ("int32", "int64")]
        return sums, products, chosen, casts

    is_native(f, x, y, v, zeros)
    is_native(lambda x: (tf.reduce_sum(x[:0], 0), tf.reduce_prod(x[:0], 0), x[0, :, :0] @ x[1, :0]), x)


def test_derivatives_of_functions_in_several_steps_are_rows() -> None:
    x = tf.concat([number(3, 7), tf.zeros([1, 7], "complex64")], 0)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (
                tf.tanh(x)
                + tf.sigmoid(x) * 0.0
                + tf.math.divide_no_nan(x, x * x)
                + tf.math.multiply_no_nan(x, x)
            )
            loss = tf.reduce_sum(tf.abs(y) ** 2.0)
        return tape.gradient(loss, x)

    compiled = tf.function(slope, jit_compile=True)
    np.testing.assert_allclose(compiled(x), slope(x), rtol=1e-5, atol=1e-6)
    units = explain(compiled)(x).units
    assert all(
        f"host: {name}" not in units for name in ("tanh_grad", "mul_zero", "divide_no_nan", "multiply_no_nan")
    )


def test_a_loop_of_sums_and_products_is_native() -> None:
    h, psi = number(6, 6), number(6)

    def f(h: Any, psi: Any) -> Any:
        total = tf.zeros([6])
        for k in tf.range(7):
            psi = tf.where(tf.abs(psi) > 0.2, tf.linalg.matvec(h, psi) * 0.1, psi)
            psi = psi + tf.cast(
                tf.reduce_sum(tf.reshape(psi, [2, 3]), 0, keepdims=True)[0, 0] * 0.0, psi.dtype
            )
            total = total + tf.math.real(psi) * tf.cast(k, tf.float32)
        return total, psi

    assert "repeat" in explain(is_native(f, h, psi))(h, psi).units


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_products_of_integers_are_rows(dtype: str) -> None:
    a = tf.constant(_rng.integers(0, 99, (3, 4, 5)).astype(dtype))
    b = tf.constant(_rng.integers(0, 99, (5, 2)).astype(dtype))
    is_native(
        lambda a, b: (
            a @ b,
            tf.matmul(a, a, transpose_b=True),
            tf.matmul(b, a[0], transpose_a=True, transpose_b=True),
        ),
        a,
        b,
    )


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32"])
def test_matrices_of_a_diagonal_are_rows(dtype: str) -> None:
    x = tf.cast(tf.reshape(tf.range(24.0), [2, 3, 4]), dtype)
    is_native(lambda x: (tf.linalg.diag(x), tf.linalg.diag(x[0, 0]), tf.linalg.diag(tf.transpose(x))), x)


@pytest.mark.parametrize("special", [np.nan, complex(np.inf, -0.0), complex(1.0, np.nan)])
def test_a_product_over_an_axis_of_one_has_the_bits_of_the_eager_op(special: complex) -> None:
    """NumPy multiplies by 1 there, which makes both parts NaN."""
    x = tf.constant([[1.0 + 2.0j], [special]])
    found = tf.function(lambda x: tf.reduce_prod(x + x, 1), jit_compile=True)(x)
    assert found.numpy().tobytes() == tf.reduce_prod(x + x, 1).numpy().tobytes()
