"""What NumPy's own tests ask of options, dtypes and edges; the expected results are NumPy's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as tnp


def _assert_same(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(0,), (5,), (16,), (3, 9), (2, 0), (2, 16, 3)])
@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_are_packed_and_unpacked_along_every_axis(shape: tuple[int, ...], order: Any) -> None:
    values = np.random.default_rng(3).integers(0, 256, shape)
    given, of_bytes = values % 3, values.astype(np.uint8)
    for axis in (None, *range(-len(shape), len(shape))):
        unknown = [None] * len(shape)

        @tf.function(input_signature=[tf.TensorSpec(unknown, tf.int64), tf.TensorSpec(unknown, tf.uint8)])
        def of_unknown(x: Any, y: Any, axis: Any = axis) -> Any:
            return (
                tnp.packbits(x, axis, order),
                tnp.unpackbits(y, axis, None, order),
                tnp.unpackbits(y, axis, 13, order),
            )

        packed = np.packbits(given, axis, order)
        _assert_same(tnp.packbits(given, axis, order), packed)
        _assert_same(of_unknown(given, of_bytes)[0], packed)
        counts = (
            (None, 0, 3, 13, 100) if values.size else (None,)
        )  # NumPy leaves what follows no bits uninitialised
        for count in counts:
            _assert_same(
                tnp.unpackbits(of_bytes, axis, count, order), np.unpackbits(of_bytes, axis, count, order)
            )
        if values.size:
            for part, count in zip(of_unknown(given, of_bytes)[1:], (None, 13), strict=True):
                _assert_same(part, np.unpackbits(of_bytes, axis, count, order))
    _assert_same(tf.vmap(tnp.packbits)(np.ones((3, 9), np.int64)), np.array([[255, 128]] * 3, np.uint8))


def test_bits_need_integers_an_order_and_enough_of_them() -> None:
    with pytest.raises(TypeError, match="packbits"):
        tnp.packbits([1.0])
    with pytest.raises(TypeError, match="unpackbits: a has dtype int64"):
        tnp.unpackbits([1])
    with pytest.raises(ValueError, match="bitorder is 'odd'"):
        tnp.packbits([1], None, "odd")
    with pytest.raises(ValueError, match="axis 0 has 8 bits"):
        tnp.unpackbits(np.ones(1, np.uint8), count=-9)
    _assert_same(
        tnp.unpackbits(np.full(1, 7, np.uint8), count=-1), np.unpackbits(np.full(1, 7, np.uint8), count=-1)
    )


def test_places_of_masks_and_orders_of_contractions_are_numpys() -> None:
    for k in (-1, 0, 2):
        for found, wanted in zip(
            tnp.mask_indices(4, tnp.triu, k), np.mask_indices(4, np.triu, k), strict=True
        ):
            _assert_same(found, wanted)
    matrices = [np.ones(sizes) for sizes in ((2, 9), (9, 9), (9, 3))]
    for order in ("greedy", "optimal", False):
        wanted = np.einsum_path("ij,jk,kl->il", *matrices, optimize=order)
        assert tnp.einsum_path("ij,jk,kl->il", *matrices, optimize=order) == wanted
        assert (
            tnp.einsum_path(matrices[0], [0, 1], matrices[1], [1, 2], [0, 2], optimize=order)[0][0]
            == "einsum_path"
        )
        assert np.einsum_path("ij,jk,kl->il", *map(tf.constant, matrices), optimize=order) == wanted


def test_parts_of_complex_values_are_interpolated_apart() -> None:
    values = [0.0, 10.0, np.inf, -np.inf, np.nan]
    numbers = [complex(a, b) for a, b in itertools.product(values, values)]
    x = [-1.0, 0.0, 0.5, 1.0, 2.0]
    for first, second in itertools.product(numbers, numbers):
        wanted = np.interp(x, [0.0, 1.0], [first, second])
        _assert_same(tnp.interp(x, [0.0, 1.0], [first, second]), wanted)
    wanted = np.interp(x, [0.0, 1.0], [1j, 2.0], left=3j, right=4.0, period=None)
    _assert_same(tnp.interp(x, [0.0, 1.0], [1j, 2.0], left=3j, right=4.0), wanted)
    wanted = np.interp(x, [0.0, 1.0], [1j, 2.0], period=1.5)
    np.testing.assert_allclose(tnp.interp(x, [0.0, 1.0], [1j, 2.0], period=1.5), wanted, rtol=1e-15)


def test_integers_are_unwrapped_by_whole_periods() -> None:
    for dtype in (np.int64, np.int32, np.int16):
        for period in (255, 250):
            x = np.array([0, 75, 150, 225, 50, 180, 5, 130], dtype)
            _assert_same(tnp.unwrap(x, period=period), np.unwrap(x, period=period))
            _assert_same(tnp.unwrap(x, 140, period=period), np.unwrap(x, 140, period=period))
    _assert_same(tnp.unwrap([1, 257], period=255.0), np.unwrap([1, 257], period=255.0))


@pytest.mark.parametrize("q", [0.5, np.float64(0.5), np.float32(0.5), np.array([0.25, 0.5])], ids=str)
@pytest.mark.parametrize(
    "method", ["linear", "hazen", "lower", "midpoint", "inverted_cdf", "averaged_inverted_cdf"]
)
def test_quantiles_have_the_joint_dtype_with_what_is_asked_for(q: Any, method: Any) -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int32):
        x = np.arange(6).astype(dtype)
        _assert_same(tnp.quantile(x, q, method=method), np.quantile(x, q, method=method))
        _assert_same(tnp.percentile(x, q * 100, method=method), np.percentile(x, q * 100, method=method))
        _assert_same(tnp.nanquantile(x, q, method=method), np.nanquantile(x, q, method=method))


def test_a_row_without_weight_is_refused() -> None:
    weights = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]])
    with pytest.raises(ValueError, match="all weights of a row are 0"):
        tnp.quantile(np.ones((2, 3)), 0.5, 1, weights=weights, method="inverted_cdf")


def test_histograms_refuse_edges_that_are_no_numbers() -> None:
    for bad in (np.inf, -np.inf, np.nan):
        with pytest.raises(ValueError, match="give a finite range"):
            tnp.histogram([0.4, bad])
        assert tnp.histogram([0.4, bad], range=(0.0, 1.0), bins=1)[0].numpy().tolist() == [1]
    with pytest.raises(ValueError, match="not enough numbers of dtype float64 for 10 bins"):
        tnp.histogram([1.0, np.nextafter(1.0, 2.0)])
    with pytest.raises(TypeError, match="'fd' chooses the number of bins without weights"):
        tnp.histogram([1.0, 2.0], "fd", weights=[1, 2])


def test_edges_of_histograms_have_the_joint_dtype_with_their_range() -> None:
    x, bounds = np.array([1.0], np.float16), np.array([0, 1 - 2**-24], np.float32)
    for found, wanted in zip(tnp.histogram(x, 1, bounds), np.histogram(x, 1, bounds), strict=True):
        _assert_same(found, wanted)
    points, weights = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([2, 3])
    _assert_same(
        tnp.histogramdd(points, 2, weights=weights)[0], np.histogramdd(points, 2, weights=weights)[0]
    )


def test_what_has_no_meaning_for_integers_is_refused() -> None:
    with pytest.raises(TypeError, match="to_end has dtype float64, the differences int64"):
        tnp.ediff1d([1, 2, 3], to_end=np.nan)
    with pytest.raises(TypeError, match="to_begin has dtype complex128"):
        tnp.ediff1d([1.0, 2.0], to_begin=1j)
    _assert_same(
        tnp.ediff1d(np.array([1, 2], np.int8), to_end=3), np.ediff1d(np.array([1, 2], np.int8), to_end=3)
    )
    for width in (3.4, "3", [[1.5, 2]]):
        with pytest.raises(TypeError, match="integers are needed"):
            tnp.pad(np.ones((2, 2)), width)


def test_places_are_int64_and_conditions_truth_values() -> None:
    for found, wanted in zip(
        tnp.unravel_index(np.array([9, 6], np.int32), (5, 8)),
        np.unravel_index(np.array([9, 6], np.int32), (5, 8)),
        strict=True,
    ):
        _assert_same(found, wanted)
    for conditions in ([1, 0], [np.array([1, 0])], [[1, 0]], np.array([[2, 0], [0, 3]])):
        functions = [1] if np.ndim(conditions) < 2 or len(conditions) == 1 else [1, 2]
        _assert_same(
            tnp.piecewise([5.0, 6.0], conditions, functions),
            np.piecewise(np.array([5.0, 6.0]), conditions, functions),
        )
    x = np.arange(6.0).reshape(1, 2, 3)
    _assert_same(tnp.permute_dims(x), np.permute_dims(x))


@pytest.mark.parametrize("shape", [(0,), (0, 0), (0, 1), (1, 0), (2, 1)])
@pytest.mark.parametrize("of_mask", [(), (0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (2, 1), (0, 2)])
def test_masks_of_other_sizes_are_refused_for_empty_tensors_too(
    shape: tuple[int, ...], of_mask: tuple[int, ...]
) -> None:
    x, mask = np.zeros(shape), np.ones(of_mask, bool)
    try:
        wanted = x[mask]
    except IndexError:
        with pytest.raises(IndexError, match="incompatible"):
            tf.constant(x)[mask]
    else:
        _assert_same(tf.constant(x)[mask], wanted)


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers_of_singular_matrices_are_infinite(p: Any) -> None:
    x = np.array([np.zeros((2, 2)), [[2.0, 1.0], [0.0, 1.0]], np.ones((2, 2)), np.full((2, 2), np.nan)])
    if p in (None, 2, -2):
        x = x[[0, 1, 1]]  # an exact 0 among singular values, and NaN, depend on the library
    elif p == "nuc":
        x = x[:3]  # NumPy's fails for the others
    wanted = np.linalg.cond(x, p) if p != "nuc" else [np.inf, np.linalg.cond(x[1], p), np.inf]
    for run in (tnp.linalg.cond, tf.function(tnp.linalg.cond)):
        np.testing.assert_allclose(run(x, p), wanted, rtol=1e-14)
    slope = tf.grad(lambda y: tnp.linalg.cond(y, p)[1])(tf.constant(x[:2])).numpy()
    assert np.isfinite(slope).all()
    assert not slope[0].any()


def test_empty_matrices_have_a_norm_and_powers_need_squares_and_integers() -> None:
    for ord in ("fro", "nuc", 1, 2, np.inf):
        _assert_same(tnp.linalg.matrix_norm(np.zeros((0, 2)), ord=ord), np.float64(0))
    for bad in (np.ones(1), np.ones((2, 1))):
        with pytest.raises(ValueError, match="square matrix"):
            tnp.linalg.matrix_power(bad, 1)
    with pytest.raises(TypeError, match="matrix_power"):
        tnp.linalg.matrix_power(np.eye(2), 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two names of one threshold"):
        tnp.linalg.pinv(np.eye(2), rcond=0.5, rtol=0.5)
    with pytest.raises(ValueError, match="give one of them"):
        tnp.linalg.matrix_rank(np.eye(2), 0.5, rtol=0.5)
    with pytest.raises(ValueError, match="ind is 0"):
        tnp.linalg.tensorinv(np.ones((1, 1)), 0)
    with pytest.raises(ValueError, match="nanvar: ddof is 1"):
        tnp.nanvar([1.0, 2.0], ddof=1, correction=1)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3)])
def test_a_letter_that_an_operand_has_twice_stands_for_axes_of_size_one(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, *shape)), rng.standard_normal((3, 4))
    for subscripts in ("kii,ij->kj", "...ii,ij->...j", "kii,ij->k", "kii,ij->ijk"):
        wanted = np.einsum(subscripts, a, b)
        np.testing.assert_allclose(tnp.einsum(subscripts, a, b), wanted, rtol=1e-13)
        np.testing.assert_allclose(
            tf.function(lambda x, y, s=subscripts: tnp.einsum(s, x, y))(a, b), wanted, rtol=1e-13
        )
    np.testing.assert_allclose(tnp.einsum(b, range(2), [1, 0]), b.T)


def test_the_first_of_no_elements_is_in_its_place_and_sorters_have_the_size_of_what_they_sort() -> None:
    _assert_same(tnp.partition(np.zeros((2, 0)), 0), np.partition(np.zeros((2, 0)), 0))
    _assert_same(tnp.argpartition(np.zeros(0), 0), np.argpartition(np.zeros(0), 0))
    with pytest.raises(ValueError, match="kth is 1"):
        tnp.partition(np.zeros((2, 0)), 1)
    with pytest.raises(ValueError, match="sorter has shape"):
        tnp.searchsorted([5, 2, 1, 3, 4], 0, sorter=[1, 2, 3, 4])


def test_spaced_numbers_have_the_joint_dtype_with_their_base_and_no_quantiles_a_shape() -> None:
    for dtype, base in itertools.product(
        (np.float16, np.float32), (10, 2.0, np.array([10.0]), np.float32(10))
    ):
        ends = np.array([0, 2], dtype), np.array([2, 0], dtype)
        wanted: Any = np.logspace(*ends, num=5, base=base)  # type: ignore[call-overload]
        found = tnp.logspace(*ends, num=5, base=base).numpy()
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
    _assert_same(tnp.linspace(0, 1, 0, endpoint=False, retstep=True)[1], np.float64(np.nan))
    x = np.ones((2, 3), np.float32)
    for options in (
        {},
        {"axis": 1},
        {"axis": 1, "keepdims": True},
        {"keepdims": True},
        {"axis": 0, "method": "lower"},
    ):
        wanted = np.quantile(x, [], **options)  # type: ignore[call-overload]
        found = tnp.quantile(x, [], **options).numpy()  # type: ignore[arg-type]
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)


def test_sets_of_complex_numbers_are_numpys() -> None:
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-1, 2, n) + 1j * rng.integers(-1, 2, n) for n in (12, 7))
    unknown = [tf.TensorSpec([None], tf.complex128)] * 2
    for name in ("isin", "intersect1d", "setdiff1d", "setxor1d", "union1d"):
        own = getattr(tnp, name)
        wanted = getattr(np, name)(a, b)
        _assert_same(own(a, b), wanted)
        _assert_same(tf.function(own, input_signature=unknown)(a, b), wanted)
    for found, wanted in zip(
        tnp.intersect1d(a, b, return_indices=True), np.intersect1d(a, b, return_indices=True), strict=True
    ):
        _assert_same(found, wanted)
    grid = a.reshape(3, 4)
    _assert_same(tnp.isin(grid, b, invert=True), np.isin(grid, b, invert=True))
    _assert_same(tnp.isin([1j, np.nan], [np.nan]), [False, False])


def test_integrals_and_slopes_have_the_digits_of_their_coordinates() -> None:
    path = np.exp(1j * np.linspace(0, 2, 7))
    _assert_same(tnp.trapezoid(path.real, path), np.trapezoid(path.real, path))
    _assert_same(tnp.trapezoid(path.real, dx=1j), np.trapezoid(path.real, dx=1j))  # type: ignore[call-overload]
    far = np.array([1e9, 1e9 + 1, 1e9 + 3, 1e9 + 4])
    y = np.array([1.0, 2.0, 4.0, 7.0], np.float32)
    _assert_same(tnp.trapezoid(y, far), np.trapezoid(y, far))
    _assert_same(tnp.trapezoid([True, False], np.ones(2, np.float16)), np.float16(0))
    for order in (1, 2):
        np.testing.assert_allclose(
            tnp.gradient(y, far, edge_order=order), np.gradient(y, far, edge_order=order), rtol=1e-6
        )
        np.testing.assert_allclose(
            tnp.gradient(y, far.astype(np.int64), edge_order=order),
            np.gradient(y, far, edge_order=order),
            rtol=1e-6,
        )
        assert tnp.gradient(y, far, edge_order=order).dtype == tf.float32
    slope = tf.grad(lambda x: tf.reduce_sum(tnp.gradient(y, x)))(tf.constant(far)).numpy()
    assert np.isfinite(slope).all()


def test_bools_are_convolved_to_bools() -> None:
    a, v = np.array([True, False, True, True]), np.array([False, True])
    for mode in ("full", "same", "valid"):
        _assert_same(tnp.convolve(a, v, mode), np.convolve(a, v, mode))
        _assert_same(tnp.correlate(a, v, mode), np.correlate(a, v, mode))


@pytest.mark.parametrize("name", ["isin", "intersect1d", "setdiff1d", "setxor1d", "union1d"])
def test_sets_of_unknown_sizes_may_be_empty(name: str) -> None:
    own, others = getattr(tnp, name), getattr(np, name)
    of_unknown = tf.function(own, input_signature=[tf.TensorSpec([None], tf.int64)] * 2)
    for a, b in itertools.product((np.array([3, 0, 0, -1]), np.zeros(0, np.int64)), repeat=2):
        _assert_same(of_unknown(a, b), others(a, b))
        _assert_same(own(a, b), others(a, b))


def test_arguments_that_are_checked_are_no_lost_derivatives() -> None:
    x, w, one = np.array([3.0, 1.0, 2.0]), tf.ones(3, tf.float64), tf.ones((), tf.float64)
    functions = [
        (lambda y: tnp.quantile(x, 0.5, weights=y, method="inverted_cdf"), w),
        (lambda y: tnp.quantile(x, y * 0.5, method="lower"), one),
        (lambda y: tnp.percentile(x, y * 50, method="lower"), one),
        (lambda y: tnp.interp(0.5, [0.0, 1.0], [1.0, 1.0], period=y), one),
        (lambda y: tnp.cov(np.ones((2, 3)), aweights=y)[0, 0], w),
    ]
    for function, y in functions:
        assert not tf.grad(function)(y).numpy().any()
        assert not tf.jvp(function, (y,), (y,))[1].numpy().any()


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float32", "float64", "int8", "uint64", "bool_", "complex64", "intp"]
)
def test_dtypes_of_the_namespace_convert(name: str) -> None:
    dtype = getattr(tnp, name)
    for x in (0, 1, 2.0, True, [1, 0], np.arange(3), tf.constant([0.0, 3.0])):
        found = dtype(x)
        assert found.dtype is dtype
        np.testing.assert_array_equal(found.numpy(), np.asarray(x).astype(dtype.numpy))
    assert dtype().numpy() == 0
    assert tnp.int64(3.7).numpy() == 3
    assert tf.function(lambda x: tnp.float32(x) * 2)(np.arange(3)).dtype is tf.float32
    assert tf.grad(lambda x: tnp.float32(x) ** 2)(tf.constant(3.0, tf.float64)).numpy() == 6.0
    assert tf.as_dtype(dtype) is dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_covariances_are_computed_in_the_dtype_that_is_asked_for(dtype: Any) -> None:
    x = np.random.default_rng(2).random((3, 5)).astype(np.float32)
    for name in ("cov", "corrcoef"):
        wanted, found = getattr(np, name)(x, dtype=dtype), getattr(tnp, name)(x, dtype=dtype).numpy()
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(
            found, wanted, rtol=1e-5 if found.dtype.itemsize < 8 or dtype is np.complex64 else 1e-14
        )
        assert getattr(np, name)(tf.constant(x), dtype=dtype).dtype == wanted.dtype


def _of_unknown_sizes(function: Any, *xs: np.ndarray) -> Any:
    unknown = [tf.TensorSpec([None] * x.ndim, x.dtype) for x in xs]
    return tf.function(function, input_signature=unknown)(*xs)


@pytest.mark.parametrize("size", [0, 1, 3, 20])
def test_what_depends_on_sizes_is_the_same_where_they_are_unknown(size: int) -> None:
    x = np.arange(1.0, size + 1)
    for shape in ((2, 4), 3, (0, 2), (7,)):
        _assert_same(_of_unknown_sizes(lambda y, s=shape: tnp.resize(y, s), x), np.resize(x, shape))
    _assert_same(
        _of_unknown_sizes(lambda y: tnp.resize(y, (2, 5)), np.outer(x, x)), np.resize(np.outer(x, x), (2, 5))
    )
    for increasing in (False, True):
        found = _of_unknown_sizes(lambda y, s=increasing: tnp.vander(y / 4, increasing=s), x)
        np.testing.assert_allclose(found, np.vander(x / 4, increasing=increasing), rtol=1e-13)
    _assert_same(
        _of_unknown_sizes(lambda y: tnp.linalg.vector_norm(y, ord=np.inf), x),
        np.linalg.vector_norm(x, ord=np.inf),
    )
    matrix = np.outer(x, [1.0, -2.0])
    for ord in (1, 2, np.inf, "nuc"):
        found = _of_unknown_sizes(lambda y, o=ord: tnp.linalg.matrix_norm(y, ord=o), matrix)
        np.testing.assert_allclose(found, np.linalg.matrix_norm(matrix, ord=ord), rtol=1e-13)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_least_squares_of_unknown_sizes_are_those_of_known_ones(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal(shape)
    for b in (rng.standard_normal(shape[0]), rng.standard_normal((shape[0], 2))):
        found = _of_unknown_sizes(tnp.linalg.lstsq, a, b)
        for one, wanted in zip(found, np.linalg.lstsq(a, b), strict=True):
            assert np.shape(one) == np.shape(wanted)
            np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="must be known while tracing"):
        _of_unknown_sizes(lambda y: tnp.linalg.tensorinv(y, 1), np.eye(2))
    with pytest.raises(ValueError, match="must be known while tracing"):
        _of_unknown_sizes(tnp.linalg.tensorsolve, np.eye(2), np.ones(2))
