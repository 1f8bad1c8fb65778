"""NumPy's own function in one pass gives the same bits as the ops that a tape sees, and as a traced function."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as gd
import graphad.numpy as gnp
from graphad.ops import directly as way

RNG = np.random.default_rng(3)
FLOATS = (np.float16, np.float32, np.float64)
EDGES = np.array([0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf, 0.5, 6e-8, 2.0, -3.0, 1e4])
_ALL = (*FLOATS, np.int32, np.int64, np.uint8, bool, np.complex64)


def _values(dtype: Any, *shape: int, edges: bool = True) -> Any:
    if np.dtype(dtype).kind == "f" and edges:
        return RNG.choice(EDGES, shape).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        return RNG.standard_normal(shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return RNG.random(shape) < 0.5
    return RNG.integers(0 if np.dtype(dtype).kind == "u" else -7, 9, shape).astype(dtype)


def _flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [y for part in result for y in _flat(part)]
    return [np.asarray(result.numpy() if isinstance(result, gd.Tensor) else result)]


def _agree(call: Callable[..., Any], *arrays: Any, traced: bool = True) -> None:
    tensors = [gd.constant(x) for x in arrays]
    with np.errstate(all="ignore"):
        short = _flat(call(*tensors))
        with gd.GradientTape() as tape:
            tape.watch([x for x in tensors if x.dtype.is_differentiable])
            long = _flat(call(*tensors))
        results = [long, _flat(gd.function(call)(*tensors))] if traced else [long]
    for other in results:
        assert len(short) == len(other)
        for a, b in zip(short, other, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            same = a == b
            assert (same | ((a != a) & (b != b))).all()
            if a.dtype.kind == "f":
                is_number = ~np.isnan(a)
                assert (np.signbit(a) == np.signbit(b))[is_number].all()


_MOVES: dict[str, Callable[..., Any]] = {
    "ravel": lambda x: gnp.ravel(x),
    "ravel F": lambda x: gnp.ravel(x, "F"),
    "flip": lambda x: gnp.flip(x),
    "flip of an axis": lambda x: gnp.flip(x, -1),
    "flip of axes": lambda x: gnp.flip(x, [0, -1]),
    "rollaxis": lambda x: gnp.rollaxis(x, 1, 0),
    "rollaxis backwards": lambda x: gnp.rollaxis(x, -1),
    "rot90": lambda x: gnp.rot90(x),
    "rot90 twice": lambda x: gnp.rot90(x, 2),
    "rot90 back": lambda x: gnp.rot90(x, -1, (1, 0)),
    "diagonal": lambda x: gnp.diagonal(x),
    "diagonal above": lambda x: gnp.diagonal(x, 1),
    "no diagonal": lambda x: gnp.diagonal(x, 40),
    "diag": lambda x: gnp.diag(x, -1),
    "diag of a vector": lambda x: gnp.diag(x[0], 2),
    "tril": lambda x: gnp.tril(x, 1),
    "triu": lambda x: gnp.triu(x, -1),
    "block": lambda x: gnp.block([[x, x], [x, x]]),
    "column_stack": lambda x: gnp.column_stack([x[0], x[1]]),
    "append": lambda x: gnp.append(x, x),
    "append along": lambda x: gnp.append(x, x, 1),
    "pad edge": lambda x: gnp.pad(x, 2, "edge"),
    "pad wrap": lambda x: gnp.pad(x, ((1, 2), (0, 3)), "wrap"),
    "pad far": lambda x: gnp.pad(x, 30, "edge"),
    "delete": lambda x: gnp.delete(x, 1),
    "delete slices": lambda x: gnp.delete(x, [0, -1], 1),
    "insert": lambda x: gnp.insert(x, 2, 1),
    "insert along": lambda x: gnp.insert(x, 1, 0, axis=1),
    "take": lambda x: gnp.take(x, np.array([[0, -1], [3, 2]])),
    "take along": lambda x: gnp.take(x, [1, 0], axis=1),
    "take round": lambda x: gnp.take(x, [40, -50], mode="wrap"),
    "take at ends": lambda x: gnp.take(x, [40, -50], mode="clip"),
    "compress": lambda x: gnp.compress([True, False, True, True], x, 0),
    "compress short": lambda x: gnp.compress([True, False, True], x),
    "nonzero": lambda x: gnp.nonzero(x),
    "flatnonzero": lambda x: gnp.flatnonzero(x),
    "array_equal": lambda x: gnp.array_equal(x, x),
}


@pytest.mark.parametrize("name", list(_MOVES))
def test_moved_elements_are_the_same_by_both_ways(name: str) -> None:
    for dtype in _ALL:
        _agree(_MOVES[name], _values(dtype, 4, 5))


_REAL: dict[str, Callable[..., Any]] = {
    "nanmax": lambda x: gnp.nanmax(x, 1),
    "nanmin of all": lambda x: gnp.nanmin(x, keepdims=True),
    "nanargmax": lambda x: gnp.nanargmax(x, 0),
    "nanargmin": lambda x: gnp.nanargmin(x, keepdims=True),
    "nansum": lambda x: gnp.nansum(x, 1),
    "nanmean": lambda x: gnp.nanmean(x, [0]),
    "nanvar": lambda x: gnp.nanvar(x, 1, ddof=1),
    "nanstd": lambda x: gnp.nanstd(x),
    "ediff1d": lambda x: gnp.ediff1d(x),
    "ediff1d with ends": lambda x: gnp.ediff1d(x, 1, 2),
    "gradient": lambda x: gnp.gradient(x),
    "gradient of an axis": lambda x: gnp.gradient(x, 0.3, axis=1),
    "clip": lambda x: gnp.clip(x, -1.5, 2.5),
    "clip at zero": lambda x: gnp.clip(x, 0.0, 1.0),
    "clip by integers": lambda x: gnp.clip(x, -1, 3),
    "signbit": lambda x: gnp.signbit(x),
    "full_like": lambda x: gnp.full_like(x, 2.5),
    "isin": lambda x: gnp.isin(x, np.array([1.0, 0.0, np.nan, 7.0], x.dtype.as_numpy_dtype)),
    "isin, inverted": lambda x: gnp.isin(x, np.array([1.0, 0.0], x.dtype.as_numpy_dtype), invert=True),
    "isin nothing": lambda x: gnp.isin(x, np.zeros(0, x.dtype.as_numpy_dtype)),
}


@pytest.mark.parametrize("name", list(_REAL))
def test_chosen_and_counted_elements_are_the_same_by_both_ways(name: str) -> None:
    for dtype in FLOATS:
        for edges in (False, True):
            _agree(_REAL[name], _values(dtype, 6, 5, edges=edges))


def test_extremes_that_skip_nan_choose_the_same_zero() -> None:
    for dtype in FLOATS:
        for size in (1, 3, 8, 33, 200):
            x, y = _values(dtype, size), _values(dtype, size)
            for a, b in ((x, y), (np.nan_to_num(x), np.nan_to_num(y)), (x, y[:1])):
                _agree(gnp.fmax, a, b)
                _agree(gnp.fmin, a, b)
    _agree(gnp.fmax, np.float32(np.nan), np.float32(2.0))
    _agree(gnp.fmin, np.zeros(0, np.float32), np.zeros(0, np.float32))


def test_ldexp_is_rounded_once_by_both_ways() -> None:
    for dtype in FLOATS:
        info = np.finfo(dtype)
        x = np.array(
            [1.0, -1.9, 0.0, -0.0, np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max, 1.7], dtype
        )
        x = np.concatenate([x, _values(dtype, 40, edges=False)])[:, None]
        far = 2 * (info.maxexp - info.minexp + info.nmant)
        for kind in (np.int32, np.int64):
            powers = np.concatenate(
                [np.arange(-far, far, max(1, far // 150)), [np.iinfo(kind).min, np.iinfo(kind).max]]
            )
            with np.errstate(all="ignore"):
                expected = np.ldexp(x, powers.astype(kind))
            _agree(gnp.ldexp, x, powers.astype(kind))
            np.testing.assert_array_equal(gnp.ldexp(gd.constant(x), powers.astype(kind)).numpy(), expected)


def test_ldexp_has_the_power_as_its_slope() -> None:
    x = gd.constant([1.0, 3.0, 0.0, 5.0])
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = gnp.ldexp(x, gd.constant([3, -2, 40, 0]))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [8.0, 0.25, 2.0**40, 1.0])


def test_lcm_of_all_integers_is_the_same_by_both_ways() -> None:
    for dtype in (np.int8, np.int32, np.int64, np.uint16):
        x, y = _values(dtype, 60), _values(dtype, 60)
        _agree(gnp.lcm, x, y)
        x[3] = np.iinfo(dtype).min
        _agree(gnp.lcm, x, y)


def test_sets_of_integers_are_the_same_by_both_ways() -> None:
    for dtype in (np.int32, np.uint8, np.int64, bool):
        x, y = _values(dtype, 5, 8), _values(dtype, 11)
        for call in (gnp.unique_counts, gnp.bincount):
            if call is gnp.unique_counts or np.dtype(dtype).kind != "b":
                _agree(call, abs(x.ravel()) if np.dtype(dtype).kind != "b" else x, traced=False)
        _agree(gnp.setxor1d, x, y, traced=False)
        _agree(gnp.isin, x, y)
    _agree(lambda x: gnp.bincount(x, minlength=20), np.array([3, 1, 3], np.int32), traced=False)


def test_histograms_count_at_their_bounds_as_a_search_does(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[Any, Any]] = []
    for dtype in (np.float32, np.float64, np.int64):
        x = (RNG.standard_normal(3000) * 3).astype(dtype)
        bounds = np.asarray(gnp.histogram(gd.constant(x), 37)[1])
        near = np.concatenate([x, bounds, np.nextafter(bounds, -9), np.nextafter(bounds, 9)]).astype(dtype)
        for y in (x, near):
            cases += [(y, {"bins": 37}), (y, {"bins": 10, "range": (-1.0, 2.0)}), (y, {"bins": 1})]
        cases += [(x[:1], {"bins": 5}), (np.append(x, x.max()), {"bins": 2000})]
    cases += [
        (np.float32([1e8, 1e8 + 8, 1e8 + 16]), {"bins": 2}),
        (np.float32([0, np.nan, 1]), {"range": (0.0, 1.0)}),
    ]
    short = [gnp.histogram(gd.constant(x), **options) for x, options in cases]
    monkeypatch.setattr("graphad.ops.numpy.histograms.directly", lambda *args: None)
    for (x, options), (counts, edges) in zip(cases, short, strict=True):
        other, bounds = gnp.histogram(gd.constant(x), **options)
        np.testing.assert_array_equal(counts.numpy(), other.numpy())
        np.testing.assert_array_equal(edges.numpy(), bounds.numpy())
        assert counts.dtype == other.dtype


def test_quantiles_are_the_same_by_both_ways() -> None:
    for dtype in (np.float32, np.float64):
        for x in (_values(dtype, 5, 300, edges=False), _values(dtype, 5, 300)):
            for call in (
                lambda x: gnp.median(x),
                lambda x: gnp.nanmedian(x, 1),
                lambda x: gnp.quantile(x, [0.1, 0.9], 1),
                lambda x: gnp.nanpercentile(x, 30),
            ):
                _agree(call, x, traced=False)


def test_running_results_and_those_of_slices_are_the_same_by_both_ways() -> None:
    for dtype in (np.float32, np.float64, np.int32, np.uint8, bool):
        x = _values(dtype, 9, 5)
        _agree(np.divide.accumulate, x)
        _agree(np.logical_and.accumulate, x)
        for ufunc in (np.maximum, np.minimum):
            _agree(lambda x, ufunc=ufunc: ufunc.reduceat(x, [0, 4, 2, 7], 0), x)
        for ufunc in (np.gcd, np.bitwise_xor, np.add) if np.dtype(dtype).kind in "iu" else ():
            _agree(lambda x, ufunc=ufunc: ufunc.accumulate(x, 1), x)
            _agree(lambda x, ufunc=ufunc: ufunc.reduceat(x, [1, 3, 2], 1), x)


def test_integers_are_divided_one_after_the_other_as_floats() -> None:
    x = np.array([[7, 2, 3], [5, 4, 2]])
    t = gd.constant(x)
    for call in (lambda x: np.divide.accumulate(x, 1), lambda x: np.divide.reduceat(x, [0, 1], 1)):
        np.testing.assert_array_equal(call(t), call(x))
        np.testing.assert_array_equal(gd.function(call)(t), call(x))


def test_bins_of_equal_width_are_the_same_by_both_ways() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x = np.append(_values(dtype, 300, edges=False) * dtype(4), [-3.0, 3.0, 0.0, -0.0, 2.9999]).astype(
            dtype
        )
        for values in (x, np.append(x, [np.inf, -np.inf, 1e4]).astype(dtype), x[:0], np.abs(x)):
            for ends, count in (([-3.0, 3.0], 100), ([0.0, 0.1], 7), ([-1.0, 1.0], 1)):
                pair = np.array(ends, dtype)
                _agree(lambda x, ends=pair, n=count: gd.histogram_fixed_width_bins(x, ends, n), values)
    for small in (
        gd.int8,
        gd.int16,
    ):  # as a traced call, whose ops limit a number before they make it a small integer
        values = np.array([0.5, 1000.0, -700.0, 1e5, -1e6], np.float32)
        _agree(lambda x, d=small: gd.histogram_fixed_width_bins(x, [0.0, 5.0], 5, d), values)
    with pytest.raises(ValueError, match="first end must be below"):
        gd.histogram_fixed_width_bins(gd.constant([1.0]), [2.0, 2.0])


def test_cross_products_are_the_same_by_both_ways() -> None:
    for dtype in (*FLOATS, np.int32, np.complex64):
        x, y = _values(dtype, 9, 3, edges=False), _values(dtype, 9, 3, edges=False)
        _agree(gnp.cross, x, y)
        _agree(lambda x, y: gnp.cross(x, y, axis=0), x.T.copy(), y.T.copy())


def test_elements_at_arrays_of_indices_are_the_same_by_both_ways() -> None:
    x = _values(np.float32, 4, 5, 3)
    i, j, mask = np.array([[0, -1], [3, 2]]), np.array([1, -3]), np.array([True, False, True, True])
    keys: list[Any] = [
        i,
        j,
        (i, j),
        (slice(None), j),
        (i, slice(1, 4)),
        (0, j),
        (j, slice(None), 1),
        (..., j % 3),
        (None, j),
    ]
    keys += [
        (slice(None), j, j % 3),
        (mask, 0),
        (mask, slice(None), j[:1]),
        (np.int8(1) * i,),
        (np.zeros(0, np.int64),),
    ]
    for key in keys:
        _agree(lambda y, key=key: y[key], x, traced=False)
    for key in (np.array([4]), (i, np.array([0, 1, 2])), (mask, mask), np.array([0.5])):
        with pytest.raises(
            (gd.errors.InvalidArgumentError, gd.errors.OutOfRangeError, TypeError),
            match=r"getitem|gather|integers",
        ):
            gd.constant(x)[key]


def test_bfloat16_takes_the_usual_way() -> None:
    x = gd.cast(gd.constant([1.0, -2.0, 3.0]), gd.bfloat16)
    assert not way.is_free(x)
    assert gnp.flip(x).dtype is gd.bfloat16
    np.testing.assert_array_equal(gd.cast(gnp.flip(x), gd.float32).numpy(), [3.0, -2.0, 1.0])


def test_what_numpy_refuses_is_refused_in_graphads_words() -> None:
    x = gd.zeros([3, 4])
    with pytest.raises(ValueError, match="flip"):
        gnp.flip(x, 5)
    with pytest.raises((IndexError, ValueError), match="12"):
        gnp.take(x, [12])
    with pytest.raises(ValueError, match="diagonal"):
        gnp.diagonal(gd.zeros([3]))
    with pytest.raises(ValueError, match="cross"):
        gnp.cross(x, x)
    with pytest.raises(TypeError, match="ldexp: x2 has dtype float32"):
        gnp.ldexp(x, x)


def test_a_tape_follows_the_usual_way() -> None:
    x = gd.constant([[1.0, 2.0], [3.0, 4.0]])
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = gnp.flip(x) * gnp.diag(gnp.diagonal(x))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [[8.0, 0.0], [0.0, 2.0]])


def test_bits_exponents_and_distances_are_the_same_by_both_ways() -> None:
    for dtype in (np.int8, np.int32, np.int64, np.uint16):
        x = np.append(_values(dtype, 30), [np.iinfo(dtype).min, np.iinfo(dtype).max]).astype(dtype)
        _agree(gnp.bitwise_count, x)
    for dtype in FLOATS:
        info = np.finfo(dtype)
        for x in (
            _values(dtype, 60),
            _values(dtype, 60, edges=False),
            np.array([info.tiny, info.smallest_subnormal, info.max, 0.0, -0.0, -info.tiny], dtype),
        ):
            _agree(gnp.frexp, x)
            if dtype is not np.float16:
                _agree(gnp.spacing, x)


def test_polynomials_are_the_same_by_both_ways() -> None:
    for dtype in (*FLOATS, np.complex64, np.int32):
        x, y, short = (
            _values(dtype, 9, edges=False),
            _values(dtype, 9, edges=False),
            _values(dtype, 4, edges=False),
        )
        short[0], x[0] = 2, 3  # what is divided by
        for a, b in ((x, y), (x, short), (short, x)):
            _agree(gnp.polyadd, a, b)
            _agree(gnp.polysub, a, b)
        if (
            dtype is not np.float16 and dtype is not np.int32
        ):  # a remainder in full has leading zeros in a trace
            _agree(gnp.polydiv, x, short, traced=False)
        for p, q in ((x, short), (x, x[:1] + 1), (short, x)):
            np.testing.assert_allclose(
                gnp.polydiv(gd.constant(p), gd.constant(q))[0].numpy(),
                np.polydiv(p.astype(np.result_type(p, np.float32)), q)[0],
                rtol=2e-2 if dtype is np.float16 else 1e-4,
                atol=1e-2 if dtype is np.float16 else 1e-4,
            )
        _agree(gnp.polyint, x)
        _agree(lambda p: gnp.polyint(p, 3), x)
        _agree(gnp.poly, short)
        np.testing.assert_allclose(
            gnp.poly(gd.constant(short)).numpy(),
            np.poly(short),
            rtol=1e-2 if dtype is np.float16 else 1e-4,
            atol=1e-2,
        )
    _agree(gnp.poly, np.zeros(0))
    _agree(gnp.poly, np.array([np.inf, 1.0, 0.0]))


def test_convolutions_of_many_sizes_are_numpys() -> None:
    for n, m in ((1, 1), (5, 1), (5, 3), (70, 70), (300, 299), (1000, 40)):
        x, y = (_values(np.float64, size, edges=False) for size in (n, m))
        for mode in ("full", "same", "valid"):
            np.testing.assert_allclose(
                gnp.convolve(gd.constant(x), gd.constant(y), mode).numpy(),
                np.convolve(x, y, mode),
                rtol=1e-11,
                atol=1e-11,
            )


def test_remainders_are_the_same_by_both_ways() -> None:
    for dtype in FLOATS:
        x, y = np.meshgrid(EDGES.astype(dtype), EDGES.astype(dtype))
        _agree(gnp.remainder, x, y)
        _agree(gnp.remainder, _values(dtype, 300, edges=False), _values(dtype, 300, edges=False))
        _agree(gnp.remainder, x, dtype(0.7))


def test_places_between_bounds_are_the_same_by_both_ways() -> None:
    for dtype in (np.float32, np.float64, np.int32):
        x = _values(dtype, 50)
        for bounds in ([-1, 0, 2], [3, 1, 0, -2], [1, 1, 1], [2]):
            for right in (False, True):
                _agree(lambda x, b, r=right: gnp.digitize(x, b, r), x, np.array(bounds, dtype))
                with gd.GradientTape():
                    found = gnp.digitize(gd.constant(x), gd.constant(np.array(bounds, dtype)), right).numpy()
                np.testing.assert_array_equal(found, np.digitize(x, bounds, right))


def test_numbers_and_empty_axes_are_the_same_by_both_ways() -> None:
    _agree(lambda x, b: gnp.digitize(x, b), np.float32(1.5), np.array([0, 1, 2], np.float32))
    _agree(lambda x, b: gnp.digitize(x, b), _values(np.float32, 3), np.zeros(0, np.float32))
    for offset in (-1, 0, 5):
        _agree(lambda x, k=offset: gnp.diagonal(x, k), np.zeros((0, 3), np.float32))
        _agree(lambda x, k=offset: gnp.diagonal(x, k, 0, 2), np.zeros((0, 4, 3), np.float32))
    for find in (gnp.nanargmax, gnp.nanargmin):
        _agree(find, np.float32(1.5))
        _agree(lambda x, find=find: find(x, 0), np.float32(1.5))  # NumPy has a scalar for a vector here
        with pytest.raises(ValueError, match="axis 1"):
            find(gd.constant(1.5), 1)


def test_products_of_complex_numbers_are_the_same_by_both_ways() -> None:
    for size in (3, 7, 16):
        x = (RNG.standard_normal(size) + 1j * RNG.standard_normal(size)).astype(np.complex64)
        _agree(gnp.poly, x, traced=False)
        _agree(lambda x: gnp.polydiv(x, x[:3]), x, traced=False)


def test_no_warning_of_numpys_is_seen_by_whoever_calls() -> None:
    bad = gd.constant([np.inf, np.inf, np.inf])
    with warnings.catch_warnings(record=True) as seen:
        warnings.filterwarnings("always", module=r"numpy\.")
        for function in (gnp.ediff1d, gnp.gradient, gnp.polyint, lambda x: gnp.cross(x, x[::-1] * 0.0)):
            function(bad)
    assert not seen


@pytest.mark.parametrize("is_watched", [False, True])
def test_what_neither_way_takes_is_refused_in_graphads_words(is_watched: bool) -> None:
    with gd.GradientTape() if is_watched else contextlib.nullcontext():
        with pytest.raises(TypeError, match=r"lcm: .* complex64"):
            gnp.lcm(gd.constant([1j], gd.complex64), gd.constant([1j], gd.complex64))
        with pytest.raises(TypeError, match=r"lcm: .* float32"):
            gnp.lcm(gd.constant([np.nan]), gd.constant([1.0]))
        with pytest.raises(gd.errors.InvalidArgumentError, match=r"pad: .*empty axis"):
            gnp.pad(gd.zeros([0]), 2, "edge")
        for u, v in (([], [1.0]), ([1.0], [])):
            with pytest.raises(gd.errors.InvalidArgumentError, match="polydiv: u has"):
                gnp.polydiv(gd.constant(u, gd.float32), gd.constant(v, gd.float32))


def test_the_product_of_two_vectors_is_the_same_by_both_ways() -> None:
    for dtype in _ALL:
        for size in (1, 3, 1000, 20_001):
            x, y = _values(dtype, size, edges=False), _values(dtype, size, edges=False)
            for product in (gnp.dot, gnp.inner, gnp.vdot):
                _agree(product, x, y)
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"size 3, .* size 4"):
        gnp.vdot(gd.ones(3), gd.ones(4))


def test_the_product_of_two_vectors_is_one_product_of_matrices() -> None:
    trace = gd.function(gnp.vdot).get_concrete_function(gd.ones(5), gd.ones(5))
    assert [node.op.name for node in trace.graph.nodes].count("matmul") == 1
    assert len(trace.graph.nodes) <= 4


def test_quotient_and_remainder_at_once_are_those_of_both_functions() -> None:
    for dtype in FLOATS:
        x, y = (part.ravel() for part in np.meshgrid(EDGES.astype(dtype), EDGES.astype(dtype)))
        _agree(gnp.divmod, x, y)
        _agree(lambda x, y: (gnp.floor_divide(x, y), gnp.remainder(x, y)), x, y)
        both = gnp.divmod(gd.constant(x), gd.constant(y))
        for found, wanted in zip(both, (gnp.floor_divide(x, y), gnp.remainder(x, y)), strict=True):
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
