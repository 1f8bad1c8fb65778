"""Large products of eager tensors are those of compiled functions; small ones are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.core.errors import UnavailableError
from graphad.ops.linalg import direct

needs_tiles = pytest.mark.skipif(
    not direct.has_tiles(np.dtype("float32")), reason="no tiles for this machine"
)


def _random(*shape, dtype="float32"):
    return gd.constant(np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype))


@needs_tiles
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((80, 70), (70, 60)),
        ((300, 200), (200, 1)),
        ((1, 200), (200, 300)),
        ((9, 40, 30), (9, 30, 20)),
        ((2, 1, 50, 40), (3, 40, 50)),
        ((5, 60, 50), (50, 60)),
    ],
)
def test_eager_products_have_the_bits_of_compiled_ones(a, b, dtype):
    x, y = _random(*a, dtype=dtype), _random(*b, dtype=dtype)

    def value_and_gradients(x, y):
        with gd.GradientTape() as tape:
            tape.watch([x, y])
            z = gd.matmul(x, y)
        return z, tape.gradient(
            z, [x, y], gd.sin(gd.cast(gd.reshape(gd.range(gd.size(z)), gd.shape(z)), z.dtype))
        )

    eager = gd.nest.flatten(value_and_gradients(x, y))
    compiled = gd.nest.flatten(gd.function(value_and_gradients, jit_compile=True)(x, y))
    for one, other in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@needs_tiles
def test_flags_transpose_large_products_too():
    x, y = _random(200, 150), _random(100, 200)
    expected = gd.matmul(gd.transpose(x), gd.transpose(y))
    np.testing.assert_array_equal(gd.matmul(x, y, transpose_a=True, transpose_b=True), expected)
    np.testing.assert_allclose(expected, x.numpy().T @ y.numpy().T, atol=1e-3)


@pytest.mark.parametrize("call", [gd.matmul, lambda a, b: a @ b])
def test_inner_sizes_of_large_products_must_agree(call):
    with pytest.raises(gd.errors.InvalidArgumentError, match="matmul: inner sizes differ"):
        call(gd.ones([300, 200]), gd.ones([300, 200]))
    with pytest.raises(gd.errors.InvalidArgumentError, match="matmul"):
        call(gd.ones([3, 300, 200]), gd.ones([4, 200, 300]))


@pytest.mark.parametrize("error", [UnavailableError, ModuleNotFoundError])
def test_without_a_compiler_numpy_multiplies(error, monkeypatch):
    def missing(dtype):
        raise error("llvmlite cannot be imported")

    monkeypatch.setattr(direct._routines(), "has_tiles", missing)
    direct._tiles.clear()
    try:
        x, y = _random(100, 100), _random(100, 50)
        np.testing.assert_array_equal(gd.matmul(x, y), x.numpy() @ y.numpy())
    finally:
        direct._tiles.clear()


def test_dtypes_without_tiles_are_numpys():
    for dtype in ("int32", "int64", "complex64", "complex128"):
        x = gd.cast(gd.reshape(gd.range(100 * 60) % 7, [100, 60]), dtype)
        np.testing.assert_array_equal(gd.matmul(x, x, transpose_b=True), x.numpy() @ x.numpy().T)


@pytest.mark.skipif(not direct._can_limit(), reason="the number of threads of BLAS cannot be set here")
@pytest.mark.parametrize("name", ["cholesky", "det", "eigh", "eigvalsh", "svd", "qr", "slogdet", "logdet"])
def test_matrices_of_moderate_size_are_factorised_on_one_thread(name, monkeypatch):
    seen = []
    routine = "cholesky" if name == "logdet" else name
    numpys = getattr(np.linalg, routine)
    monkeypatch.setattr(
        np.linalg, routine, lambda *args: seen.append(direct._library().threads()) or numpys(*args)
    )
    before = direct._library().threads()
    for size in (8, 100):
        x = _random(size, size, dtype="float64")
        getattr(gd.linalg, name)(gd.matmul(x, x, transpose_b=True) + gd.eye(size, dtype="float64"))
    assert seen == [before, 1]
    assert direct._library().threads() == before


@pytest.mark.skipif(not direct._can_limit(), reason="the number of threads of BLAS cannot be set here")
@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_functions_of_scipy_have_one_thread_for_small_matrices_too(name, monkeypatch):
    linalg = pytest.importorskip("scipy.linalg")
    seen, scipys = [], getattr(linalg, name)
    monkeypatch.setattr(linalg, name, lambda *args: seen.append(direct._library().threads()) or scipys(*args))
    before = direct._library().threads()
    x = 0.1 * _random(3, 3, dtype="float64") + gd.eye(3, dtype="float64")
    getattr(gd.linalg, name)(gd.cast(x, "complex128"))
    assert not seen or seen == [1]
    assert seen or name != "expm"  # the others have ways of their own
    assert direct._library().threads() == before


def test_a_singular_matrix_of_moderate_size_leaves_the_threads_as_they_were():
    before = direct._library().threads() if direct._can_limit() else None
    with pytest.raises(gd.errors.InvalidArgumentError, match="not invertible"):
        gd.linalg.inv(gd.zeros([64, 64]))
    assert before is None or direct._library().threads() == before
