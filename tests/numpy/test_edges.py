"""What NumPy's functions give at their edges: NaN, no element, bools, scalars; at once, under a tape and traced."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

tnp = tf.numpy
_NAN, _INF = np.nan, np.inf
CALLS: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("argmax of NaN", lambda m, x: m.argmax(x), [1.0, _NAN, _INF, _NAN]),
    ("argmin of NaN", lambda m, x: m.argmin(x), [1.0, _NAN, -_INF]),
    ("argmax along", lambda m, x: m.argmax(x, axis=-1), [[1.0, _NAN], [2.0, 2.0], [_NAN, 5.0]]),
    ("argmin kept", lambda m, x: m.argmin(x, axis=0, keepdims=True), [[1.0, _NAN], [0.0, 2.0]]),
    ("argmax of all, kept", lambda m, x: m.argmax(x, keepdims=True), [[1.0, _NAN], [0.0, 2.0]]),
    ("argmax of bools", lambda m, x: m.argmax(x, axis=1), [[False, True], [False, False]]),
    ("argmax of integers", lambda m, x: m.argmax(x, axis=1), [[3, 7], [2, 2]]),
    ("max of bools from True", lambda m, x: m.max(x, initial=True), [False, False]),
    ("max of no bools", lambda m, x: m.max(x, axis=0, initial=True), np.zeros([0, 2], bool)),
    ("min of bools from False", lambda m, x: m.min(x, axis=0, initial=False), [[True, True], [True, False]]),
    (
        "max of some bools",
        lambda m, x: m.max(x, initial=False, where=np.array([False, True])),
        [True, False],
    ),
    (
        "min of some bools",
        lambda m, x: m.min(x, initial=True, where=np.array([False, True])),
        [False, True],
    ),
    ("median of nothing", lambda m, x: m.median(x, axis=0), np.zeros([0, 3])),
    ("median of nothing, kept", lambda m, x: m.nanmedian(x, keepdims=True), np.zeros([0, 3])),
    (
        "weights of two axes",
        lambda m, x: m.average(x, (0, 2), m.ones([2, 2]) + x[:, 0]),
        np.arange(8.0).reshape(2, 2, 2),
    ),
    (
        "weights of turned axes",
        lambda m, x: m.average(x, (2, 0), x[0, :, :2]),
        np.arange(12.0).reshape(2, 3, 2)[:, :2],
    ),
    (
        "weights of all axes, turned",
        lambda m, x: m.average(x, (2, 0, 1), m.transpose(x, (2, 0, 1)) ** 2),
        np.arange(24.0).reshape(2, 3, 4),
    ),
    ("covariance of nothing", lambda m, x: m.cov(x), np.zeros([2, 0])),
    ("covariance that is not free", lambda m, x: m.cov(x, ddof=5), [[0, 1, 2], [2, 1, 0]]),
    (
        "points at infinity",
        lambda m, x: m.interp([1, 2, 2.5, 3, 3.5, 4], [1, 2, 3, 4], x),
        [1.0, 2.0, _INF, 4.0],
    ),
    (
        "a point that is NaN",
        lambda m, x: m.interp([1, 2, 2.5, 3, 3.5, 4], [1, 2, 3, 4], x),
        [1.0, 2.0, _NAN, 4.0],
    ),
    ("a flat line without ends", lambda m, x: m.interp([0.5, _NAN], [-_INF, _INF], x), [10.0, 10.0]),
    ("nothing counted", lambda m, x: m.bincount([], minlength=2), [1.0]),
    ("sorted as narrow complex numbers", lambda m, x: m.sort_complex(x), np.array([2, 1], np.int16)),
    ("median of infinities", lambda m, x: m.median(x, axis=1), [[1.0, _INF], [_INF, _INF], [-_INF, _INF]]),
    ("nanmedian of an infinity", lambda m, x: m.nanmedian(x), [_NAN, _INF, 2.0]),
    (
        "quantiles by Weibull",
        lambda m, x: m.quantile(x, [0.0, 0.4, 1.0], method="weibull"),
        [3.0, 1.0, 2.0, 7.0],
    ),
    ("quantiles by Hazen", lambda m, x: m.quantile(x, 0.3, method="hazen"), [3.0, 1.0, 2.0, 7.0]),
    ("nanmax from", lambda m, x: m.nanmax(x, initial=2.0), [1.0, _NAN]),
    ("nanmin of some", lambda m, x: m.nanmin(x, initial=9.0, where=np.array([True, False])), [_NAN, 1.0]),
    ("nanmean of some", lambda m, x: m.nanmean(x, where=np.array([True, True, False])), [1.0, _NAN, 5.0]),
    (
        "nanvar of some",
        lambda m, x: m.nanvar(x, ddof=1, where=np.array([True, True, True, False])),
        [1.0, _NAN, 5.0, 7.0],
    ),
    ("nanstd corrected", lambda m, x: m.nanstd(x, correction=1, mean=np.array(2.0)), [1.0, _NAN, 5.0]),
    ("triangle of a vector", lambda m, x: m.tril(x, k=1), [1.0, 2.0, 3.0]),
    ("upper triangle of a vector", lambda m, x: m.triu(x), [1.0, 2.0, 3.0]),
    ("several shifts of no axis", lambda m, x: m.roll(x, (1, 1)), [[1.0, 2.0], [3.0, 4.0]]),
    ("several shifts of one axis", lambda m, x: m.roll(x, (1, 1), axis=0), [1.0, 2.0, 3.0]),
    ("nothing resized", lambda m, x: m.resize(x, (2, 2)), np.zeros([0])),
    ("inserted at several places", lambda m, x: m.insert(x, [1, -1, 1], [7.0, 8.0, 9.0]), [1.0, 2.0, 3.0]),
    ("inserted by a slice", lambda m, x: m.insert(x, slice(0, 2), 5.0, axis=1), [[1.0, 2.0, 3.0]]),
    ("several inserted at one place", lambda m, x: m.insert(x, [1], [[7.0, 8.0]], axis=1), [[1.0, 2.0, 3.0]]),
    ("pad with two constants", lambda m, x: m.pad(x, 1, constant_values=(1.0, 2.0)), [[1.0, 2.0]]),
    (
        "pad with constants for axes",
        lambda m, x: m.pad(x, 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
        [[1.0, 2.0]],
    ),
    ("pad with ramps", lambda m, x: m.pad(x, 2, "linear_ramp", end_values=(3.0, -5.0)), [1.0, 2.0]),
    ("pad with an integer ramp", lambda m, x: m.pad(x, 3, "linear_ramp"), [-5, 7]),
    ("pad with means of ends", lambda m, x: m.pad(x, 1, "mean", stat_length=(2, 1)), [1.0, 2.0, 6.0]),
    (
        "pad with odd reflections",
        lambda m, x: m.pad(x, (1, 2), "reflect", reflect_type="odd"),
        [1.0, 2.0, 6.0],
    ),
    (
        "pad with odd symmetry",
        lambda m, x: m.pad(x, (1, 2), "symmetric", reflect_type="odd"),
        [1.0, 2.0, 6.0],
    ),
    (
        "pad with odd reflections, over and over",
        lambda m, x: m.pad(x, (7, 8), "reflect", reflect_type="odd"),
        [1.0, 2.0, 6.0],
    ),
    (
        "pad with odd symmetry, over and over",
        lambda m, x: m.pad(x, (8, 4), "symmetric", reflect_type="odd"),
        [1.0, 2.0, 6.0],
    ),
    (
        "pad with odd reflections of one element",
        lambda m, x: m.pad(x, 2, "reflect", reflect_type="odd"),
        [3.0],
    ),
    ("pad with means of no elements", lambda m, x: m.pad(x, 1, "mean", stat_length=(1, 0)), [1.0, 2.0]),
    ("pad with medians of no elements", lambda m, x: m.pad(x, 1, "median", stat_length=(0, 2)), [1.0, 2.0]),
    (
        "distinct slices without elements",
        lambda m, x: m.unique(x, axis=0, return_inverse=True)[1],
        np.zeros([2, 0]),
    ),
    ("distinct elements of an axis", lambda m, x: m.unique(x, axis=0), [1.0, _NAN, _NAN]),
    (
        "distinct complex numbers",
        lambda m, x: m.unique(x, return_counts=True)[1],
        [1.0, complex(0, _NAN), complex(1, _NAN), complex(_NAN, 2)],
    ),
    ("distinct elements, sorted or not", lambda m, x: m.unique(x, sorted=True), [3.0, 1.0, 3.0]),
    ("a difference in its order", lambda m, x: m.setdiff1d(x, [2, 5], assume_unique=True), [3, 2, 1]),
    ("powers of small integers", lambda m, x: m.vander(x), np.array([11, -12, 13], np.int8)),
    ("powers of bools", lambda m, x: m.vander(x, 2), [True, False]),
    ("places of no elements", lambda m, x: m.unravel_index(x, (2, 1, 0))[0], np.zeros([0], np.int64)),
    (
        "places in no elements",
        lambda m, x: m.ravel_multi_index((x, x), (2, 0), mode="wrap"),
        np.zeros([0], np.int64),
    ),
    ("complex numbers in equal steps", lambda m, x: m.linspace(x, 2.0j, 5), 1.0 + 1.0j),
    ("columns inserted at one index", lambda m, x: m.insert(x, 1, [[7], [8], [9]], axis=1), [[1], [2], [3]]),
    ("one column inserted at an index", lambda m, x: m.insert(x, 1, [7, 8, 9], axis=1), [[1], [2], [3]]),
    (
        "a part inserted in the middle",
        lambda m, x: m.insert(x, 1, [7.0, 8.0, 9.0, 6.0], axis=1),
        np.ones([2, 2, 4]),
    ),
    ("zeros trimmed along axes", lambda m, x: m.trim_zeros(x), np.pad([[1.0, 0.0, 2.0]], ((1, 2), (2, 0)))),
    (
        "zeros trimmed along one axis",
        lambda m, x: m.trim_zeros(x, "f", axis=-1),
        np.pad([[1.0, 0.0, 2.0]], ((1, 2), (2, 0))),
    ),
    ("nothing but zeros trimmed", lambda m, x: m.trim_zeros(x, "b", axis=(0, 1)), np.zeros([2, 3])),
    ("argmax of a scalar", lambda m, x: m.argmax(x, axis=-1), 2.0),
    ("argmin of a scalar", lambda m, x: m.argmin(x, axis=0, keepdims=True), True),
    ("argsort of a scalar", lambda m, x: m.argsort(x), 2.0),
    ("a scalar as an array in order", lambda m, x: m.ascontiguousarray(x), 2.0),
    ("truth of a number", lambda m, x: m.logical_and(x, 2), np.array([0, 3], np.int32)),
    ("truth of a fraction", lambda m, x: m.logical_xor(1.5, x), np.array([0, 3], np.uint8)),
    ("steps to a number", lambda m, x: m.linspace(x, 3.0, 4, axis=-1), [[1.0, 2.0], [0.0, 5.0]]),
    ("steps from a vector", lambda m, x: m.linspace(x[0], x, 4), [[1.0, 2.0], [0.0, 5.0]]),
    ("progressions behind", lambda m, x: m.geomspace(x, [8.0, 9.0], 4, axis=1), [[1.0, 2.0], [3.0, 5.0]]),
    ("powers of two bases", lambda m, x: m.logspace(x, 2.0, 3, base=[2.0, 3.0], axis=-1), 1.0),
    ("choices of other shapes", lambda m, x: m.choose(x, [5.0, [1.0, 2.0]]), [[0, 1], [1, 0]]),
    ("a complex progression", lambda m, x: m.geomspace(x, 16.0j, 5), 1.0j),
    ("a spiral", lambda m, x: m.geomspace(1.0, x, 5, endpoint=False), -16.0 + 2.0j),
    ("a progression of one number", lambda m, x: m.geomspace(x, 16.0, 1), 3.0),
    ("progressions of both signs", lambda m, x: m.geomspace(x, 4 * x, 3, axis=-1), [1.0, -2.0]),
    ("a sum of products with one row", lambda m, x: m.einsum("ij,ij->j", x, x[:1]), np.ones([3, 2]) * 2),
    ("a sum of products with a column", lambda m, x: m.einsum("ij,ij", x[:, :1], x), np.ones([3, 2]) * 2),
    ("a product with one element", lambda m, x: m.einsum("ij,jk", x, x[:1, :1]), np.ones([3, 2]) * 2),
    (
        "products of one behind dots",
        lambda m, x: m.einsum("...ij,...jk->...ik", x, x[..., :1, :]),
        np.arange(18.0).reshape(2, 3, 3),
    ),
    ("a sum of products by an array", lambda m, x: m.einsum(x, np.array([0, 0])), np.eye(3)),
    ("a scalar padded", lambda m, x: m.pad(x, 1, "reflect"), 3.0),
    ("the sum of shifts", lambda m, x: m.roll(x, m.asarray([1, 1]), axis=0), [1.0, 2.0, 3.0]),
    ("one shift of two axes", lambda m, x: m.roll(x, m.asarray(1), axis=(0, 1)), [[1.0, 2.0], [3.0, 4.0]]),
    ("inner product of bools", lambda m, x: m.inner(x, x), [[True, False], [False, False]]),
    ("rounded tens", lambda m, x: m.round(x, -1), np.array([14, 15, -26], np.int8)),
    ("choices around", lambda m, x: m.choose([4, -1], [x, x + 1.0, x + 2.0], mode="wrap"), [1.0, 2.0]),
    ("column-major places", lambda m, x: m.unravel_index(x, (2, 3), order="F")[1], [5, 2]),
    ("clipped places", lambda m, x: m.ravel_multi_index((x, x), (2, 3), mode="clip"), [7, -2]),
    ("float_power of float32", lambda m, x: m.float_power(x, x), np.array([2.0, 0.5], np.float32)),
    ("reciprocals of integers", lambda m, x: m.reciprocal(x), [1, -1, 2]),
    ("complex powers of 2", lambda m, x: m.exp2(x), [1.0 + 2.0j]),
    ("complex numbers rounded", lambda m, x: m.rint(x), [1.5 - 2.4j]),
    ("norm of no rows", lambda m, x: m.linalg.norm(x, ord=np.inf), np.zeros([0, 3])),
    ("norm of no columns", lambda m, x: m.linalg.matrix_norm(x, ord=1), np.zeros([2, 3, 0])),
    ("edges of nothing", lambda m, x: m.histogram_bin_edges(x, 4), np.zeros([0])),
    ("histogram of nothing", lambda m, x: m.histogram(x, 3)[0], np.zeros([0])),
    ("points of one axis", lambda m, x: m.histogramdd(x, 3)[0], [1.0, 2.0, 4.0]),
    ("convolution with a number", lambda m, x: m.convolve(x, 3.0), [1.0, 2.0]),
]


@pytest.mark.parametrize(("call", "x"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_edges_are_numpys(call: Callable[[Any, Any], Any], x: Any) -> None:
    x = np.asarray(x)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = call(np, x)
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given) if x.dtype.kind == "f" else None
        recorded = call(tnp, given)
    for found in (call(tnp, given), recorded, tf.function(lambda x: call(tnp, x))(given)):
        assert found.shape == np.shape(wanted)
        assert found.dtype.as_numpy_dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted)


WRONG: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("max of nothing", lambda m, x: m.max(x), np.zeros([0])),
    ("min along nothing", lambda m, x: m.min(x, axis=0), np.zeros([0, 3])),
    ("ptp of nothing", lambda m, x: m.ptp(x), np.zeros([0])),
    ("max of no bools", lambda m, x: m.max(x), np.zeros([0], bool)),
    ("nanmax of nothing", lambda m, x: m.nanmax(x), np.zeros([0])),
    ("nanargmax of NaN", lambda m, x: m.nanargmax(x, axis=1), [[1.0, 2.0], [_NAN, _NAN]]),
    ("gradient of one element", lambda m, x: m.gradient(x), [1.0]),
    ("gradient along an axis twice", lambda m, x: m.gradient(x, axis=(0, 0)), np.ones([2, 2])),
    ("one axis rotated", lambda m, x: m.rot90(x, axes=(1, 1)), np.ones([2, 2])),
    ("a vector split in rows", lambda m, x: m.vsplit(x, 1), [1.0]),
    ("an index behind the end", lambda m, x: m.insert(x, 4, 1.0), [1.0]),
    ("an axis behind the last", lambda m, x: m.sum(x, axis=1), [1.0, 2.0]),
    ("a new axis behind the last", lambda m, x: m.expand_dims(x, 2), [1.0, 2.0]),
    ("an axis of a transform", lambda m, x: m.fft.fft(x, axis=1), [1.0, 2.0]),
    ("a transform of nothing", lambda m, x: m.fft.fft(x, 0), [1.0, 2.0]),
    ("deleted behind the end", lambda m, x: m.delete(x, 5), [1.0, 2.0]),
    ("partition behind the end", lambda m, x: m.partition(x, 4), [1.0, 2.0]),
    ("take_along_axis behind the end", lambda m, x: m.take_along_axis(x, np.array([4]), 0), [1.0, 2.0]),
    ("no bins", lambda m, x: m.histogram(x, 0), [1.0, 2.0]),
    ("bins that do not ascend", lambda m, x: m.histogram(x, [3.0, 1.0, 2.0]), [1.0, 2.0]),
    ("half a bin", lambda m, x: m.histogram(x, 2.5), [1.0, 2.0]),
    ("a matrix of edges", lambda m, x: m.histogram(x, [[1.0, 2.0]]), [1.0, 2.0]),
    ("an infinite range", lambda m, x: m.histogram(x, 2, range=(0.0, np.inf)), [1.0, 2.0]),
    ("a range that is NaN", lambda m, x: m.histogramdd(x, 2, range=[(np.nan, 1.0)]), [1.0, 2.0]),
    ("a range that descends", lambda m, x: m.histogram(x, 2, range=(2.0, 1.0)), [1.0, 2.0]),
    ("bounds without order", lambda m, x: m.digitize(x, [1.0, 3.0, 2.0]), [1.0, 2.0]),
    ("a negative number to count", lambda m, x: m.bincount(x), [1, -2]),
    ("a point without a value", lambda m, x: m.interp(x, [0.0, 1.0], [1.0]), [0.5]),
    ("a period of nothing", lambda m, x: m.interp(x, [0.0, 1.0], [1.0, 2.0], period=0), [0.5]),
    ("less than no counts", lambda m, x: m.bincount(x, minlength=-1), [1]),
    ("a norm of no number", lambda m, x: m.linalg.norm(x, "inf"), [1.0, 2.0]),
    ("weights without an axis", lambda m, x: m.average(x, weights=[1.0, 2.0]), np.ones([2, 2])),
    ("weights of another size", lambda m, x: m.average(x, 0, weights=[1.0, 2.0, 3.0]), np.ones([2, 2])),
    ("floats to count", lambda m, x: m.bincount(x), [1.0]),
    ("a place behind the end", lambda m, x: m.unravel_index(x, (2, 2)), [4]),
    ("an index behind an axis", lambda m, x: m.ravel_multi_index((x, x), (2, 2)), [2]),
    ("too many distances", lambda m, x: m.gradient(x, 1.0, 2.0, axis=1), np.ones([3, 3])),
    ("no letter to trim", lambda m, x: m.trim_zeros(x, ""), [1.0, 0.0]),
    ("cross products of four numbers", lambda m, x: m.cross(x, x), np.ones(4)),
    ("argmax along another axis of a scalar", lambda m, x: m.argmax(x, axis=1), 2.0),
    ("an axis rolled behind the last", lambda m, x: m.rollaxis(x, 0, 4), np.ones([2, 3])),
    ("an outer product of matrices", lambda m, x: m.linalg.outer(x, x), np.ones([2, 2])),
    ("two corrections", lambda m, x: m.std(x, ddof=1, correction=0), [1.0, 2.0]),
    ("a place in no elements", lambda m, x: m.unravel_index(x, (2, 1, 0)), [1]),
    ("several places of one element", lambda m, x: m.unravel_index(x, ()), [0]),
    ("places among too many", lambda m, x: m.unravel_index(x, (2**40, 2**40)), [1]),
    ("an index of no elements", lambda m, x: m.ravel_multi_index((x, x), (2, 0), mode="clip"), [0]),
    ("a negative width", lambda m, x: m.pad(x, -1, "linear_ramp"), [1.0, 2.0]),
    ("a negative width of an edge", lambda m, x: m.pad(x, (1, -1), "edge"), [1.0, 2.0]),
    ("a negative number of elements", lambda m, x: m.pad(x, 1, "mean", stat_length=-1), [1.0, 2.0]),
    ("the largest of no elements", lambda m, x: m.pad(x, 1, "maximum", stat_length=0), [1.0, 2.0]),
    ("edges of nothing padded", lambda m, x: m.pad(x, 1, "edge"), np.zeros([0, 2])),
    ("means of nothing padded", lambda m, x: m.pad(x, 1, "mean"), np.zeros([0, 2])),
    ("points with one coordinate", lambda m, x: m.histogram2d(x, x[:1]), [1.0, 2.0]),
    ("a geometric progression from 0", lambda m, x: m.geomspace(x, 1.0, 3), 0.0),
    ("a vector as a matrix", lambda m, x: m.matvec(x, x), [1.0, 2.0]),
    ("complex degrees", lambda m, x: m.deg2rad(x), [1.0j]),
    ("fabs of complex numbers", lambda m, x: m.fabs(x), [1.0j]),
    ("the sign bit of complex numbers", lambda m, x: m.signbit(x), [1.0j]),
]


@pytest.mark.parametrize(("call", "x"), [c[1:] for c in WRONG], ids=[c[0] for c in WRONG])
def test_what_numpy_refuses_is_refused_with_an_error_of_the_same_kind(
    call: Callable[[Any, Any], Any], x: Any
) -> None:
    with pytest.raises(Exception) as theirs:
        call(np, np.asarray(x))
    with pytest.raises(Exception) as ours:
        call(tnp, tf.constant(np.asarray(x)))
    kinds = (np.exceptions.AxisError, IndexError, ValueError, TypeError)
    kind = next(kind for kind in kinds if isinstance(theirs.value, kind))
    assert isinstance(ours.value, kind), (theirs.value, ours.value)


_SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.5, 1e-3, 65000.0, _INF, -_INF, _NAN]
)  # all pairs of which are divided


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_quotients_and_remainders_of_floats_are_numpys_to_the_sign_of_zeros(dtype: str) -> None:
    x, y = (part.ravel().astype(dtype) for part in np.meshgrid(_SPECIAL, _SPECIAL))
    with np.errstate(all="ignore"):
        # The array API standard has floor(x / y) at infinities, where NumPy has -1 or NaN.
        quotient = np.where(np.isinf(x) | np.isinf(y), np.floor(x / y), np.floor_divide(x, y))
        wanted = [quotient, np.remainder(x, y), quotient, np.remainder(x, y)]
    given = [tf.constant(x), tf.constant(y)]

    def all_of(x: Any, y: Any) -> list[Any]:
        return [tnp.floor_divide(x, y), tnp.remainder(x, y), *tnp.divmod(x, y)]

    with tf.GradientTape() as tape:
        tape.watch(given)
        recorded = all_of(*given)
    for found in (all_of(*given), recorded, tf.function(all_of)(*given)):
        for one, by_numpy in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, by_numpy)
            finite = ~np.isnan(by_numpy)
            np.testing.assert_array_equal(np.signbit(one)[finite], np.signbit(by_numpy)[finite])
    assert tape.gradient(recorded[0], given) == [None, None]


def test_the_gradient_of_fmod_goes_to_x_where_x_is_0_too() -> None:
    x, y = tf.constant([0.0, -0.0, 7.0, -7.0, 0.5]), tf.constant([3.0, 3.0, -3.0, 3.0, np.inf])
    for function in (tnp.fmod, np.fmod, tf.function(tnp.fmod), tf.function(tnp.fmod, jit_compile=True)):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = function(x, y)
        by_x, by_y = tape.gradient(z, [x, y])
        np.testing.assert_array_equal(z, np.fmod(x.numpy(), y.numpy()))
        assert by_x.numpy().tolist() == [1, 1, 1, 1, 1]
        assert by_y.numpy().tolist() == [0, 0, 2, 2, 0]


@pytest.mark.parametrize("rule", ["auto", "fd", "sturges"])
def test_rules_for_the_number_of_bins_are_numpys(rule: str) -> None:
    x = np.random.default_rng(0).normal(size=60)
    for found, wanted in zip(tnp.histogram(tf.constant(x), rule), np.histogram(x, rule), strict=True):
        np.testing.assert_allclose(found, wanted)
    with pytest.raises(ValueError, match="needs the data"):
        tf.function(lambda x: tnp.histogram(x, rule))(tf.constant(x))


def test_constants_around_a_tensor_have_gradients() -> None:
    x, value = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(value)
        y = np.pad(x, 2, constant_values=value)  # type: ignore[call-overload]
    np.testing.assert_array_equal(y, [3.0, 3.0, 1.0, 2.0, 3.0, 3.0])
    assert tape.gradient(y, value).numpy() == 4.0


@pytest.mark.parametrize("traced", [False, True])
def test_matrices_without_factors_raise_numpys_error_too(traced: bool) -> None:
    for call in (np.linalg.cholesky, np.linalg.inv, lambda x: np.linalg.solve(x, x)):
        x = tf.constant([[-1.0, 0.0], [0.0, 0.0]])
        with pytest.raises(np.linalg.LinAlgError) as found, tf.GradientTape() as tape:
            tape.watch(x)
            (tf.function(call) if traced else call)(x)
        assert isinstance(found.value, tf.errors.InvalidArgumentError)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 21, 600])
def test_polynomials_of_zeros_are_numpys_with_the_same_bits_under_a_tape(count: int) -> None:
    x = np.random.default_rng(count).uniform(-1.2, 1.2, count)
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        recorded = tnp.poly(given)
    wanted = np.poly(x)
    np.testing.assert_array_equal(recorded, tnp.poly(given))
    np.testing.assert_allclose(recorded, wanted, rtol=1e-9, atol=1e-13 * np.abs(wanted).max())
    if 0 < count < 600:
        others = [
            np.atleast_1d(np.poly(np.delete(x, k))) for k in range(count)
        ]  # the derivative by a zero is minus the product of the others
        upstream = np.cos(np.arange(count + 1.0))
        with tf.GradientTape() as tape:
            tape.watch(given)
            recorded = tnp.poly(given)
        found = tape.gradient(recorded, given, tf.constant(upstream))
        np.testing.assert_allclose(found, [-upstream[1:] @ other for other in others], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histograms_are_the_same_with_weights_under_a_tape_and_traced(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=500), [_NAN, _INF, -_INF, -2.0, 2.0, -0.0, 0.4]]).astype(dtype)
    weights = rng.normal(size=x.size).astype(dtype)
    given, w = tf.constant(x), tf.constant(weights)

    def weighted(x: Any, w: Any) -> Any:
        return tnp.histogram(x, 10, range=(-2.0, 2.0), weights=w)[0]

    counts, edges = tnp.histogram(given, 10, range=(-2.0, 2.0))
    with tf.GradientTape() as tape:
        tape.watch([given, w])
        recorded = weighted(given, w)
        np.testing.assert_array_equal(tnp.histogram(given, 10, range=(-2.0, 2.0))[0], counts)
    wanted = np.histogram(x, np.asarray(edges), weights=weights)[0]
    for found in (recorded, weighted(given, w), tf.function(weighted)(given, w)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(tape.gradient(recorded, w), ((x >= -2.0) & (x <= 2.0)).astype(dtype))


@pytest.mark.parametrize("bins", [7, 10, 11, 13])
def test_edges_and_counts_of_histograms_are_numpys_where_elements_lie_on_edges(bins: int) -> None:
    x, y = (np.random.default_rng(0).integers(0, 10, (2, 60)) * 0.1).round(1)
    for found in (tnp.histogram2d, tf.function(lambda x, y, b: tnp.histogram2d(x, y, b))):
        for part, wanted in zip(
            found(tf.constant(x), tf.constant(y), bins), np.histogram2d(x, y, bins), strict=True
        ):
            np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_steps_between_tensors_are_those_between_numbers(dtype: str) -> None:
    stop = 8.7 + (3.1j if dtype == "complex128" else 0)
    staged = tf.function(tf.linspace)
    for count in (0, 1, 2, 11, 40):
        wanted, ends = np.linspace(0.3, stop, count, dtype=dtype), tf.constant([0.3, stop], dtype)
        np.testing.assert_array_equal(tf.linspace(ends[0], ends[1], count), wanted)
        np.testing.assert_array_equal(staged(ends[0], ends[1], tf.constant(count)), wanted)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 3), (3, 2)])
def test_cross_products_take_vectors_in_the_plane(m: int, n: int) -> None:
    """As NumPy did before 2.5: the third component is 0, and alone is the product of two such vectors."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, m)), rng.normal(size=n)
    wanted = np.cross(np.pad(a, ((0, 0), (0, 3 - m))), np.pad(b, (0, 3 - n)))
    wanted = wanted[:, 2] if m == n == 2 else wanted

    def product(a: Any, b: Any) -> Any:
        return tnp.cross(a, b)

    given = tf.constant(a), tf.constant(b)
    for found in (product(*given), tf.function(product)(*given)):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(tnp.cross(given[0].T, given[1], axisa=0, axisc=0), wanted.T)
    theory, numbers = tf.test.compute_gradient(product, given)
    for one, other in zip(theory, numbers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_range_that_leads_away_is_empty() -> None:
    for ends in ((0, -3), (2.5, 1.0), (1, 5, -1)):
        found = tnp.arange(*[tf.constant(end) for end in ends])
        assert found.shape == np.arange(*ends).shape
    np.testing.assert_array_equal(tnp.arange(tf.constant(3), tf.constant(0), -1), [3, 2, 1])


def test_the_ends_of_a_geometric_progression_are_those_that_were_given() -> None:
    for ends in ((1.0, 1000.0), (-3.0, -1e5), (0.1, 7.7)):
        found = tnp.geomspace(*map(tf.constant, np.array(ends)), 7)
        np.testing.assert_array_equal(found, np.geomspace(*ends, 7))
        assert (float(found[0]), float(found[-1])) == ends
    slope = tf.jacrev(lambda stop: tnp.geomspace(1.0, stop, 4))(tf.constant(8.0, tf.float64))
    np.testing.assert_allclose(slope, [0, 1 / 12, 1 / 3, 1])


def test_size_multiplies_the_sizes_of_several_axes() -> None:
    assert tnp.size(tf.zeros([2, 3, 4]), (0, -1)) == 8
    with pytest.raises(ValueError, match="twice"):
        tnp.size(tf.zeros([2, 3]), (0, 0))


def test_shapes_are_taken_as_arrays():
    sizes = np.array([2, 3])
    for make in (tf.numpy.zeros, tf.numpy.ones, tf.numpy.empty, lambda shape: tf.numpy.full(shape, 2.0)):
        assert make(sizes).shape == (2, 3) and make(np.array([], np.int64)).shape == ()
        assert make(np.array(4)).shape == make(np.int64(4)).shape == (4,)
    assert (
        tf.numpy.reshape(np.arange(6), np.array([3, -1])).shape
        == tf.numpy.arange(6).reshape(np.array([3, 2])).shape
        == (3, 2)
    )
    assert (
        tf.numpy.broadcast_to(1, sizes).shape
        == tf.numpy.broadcast_to(1, np.array([2, 3], np.int32)).shape
        == (2, 3)
    )


def test_a_vector_in_the_order_of_memory_is_in_the_order_of_its_rows():
    for order in "CAK":
        np.testing.assert_array_equal(tf.numpy.ravel([[1, 2], [3, 4]], order=order), [1, 2, 3, 4])
    np.testing.assert_array_equal(tf.numpy.ravel([[1, 2], [3, 4]], order="F"), [1, 3, 2, 4])
    with pytest.raises(ValueError, match="order 'X' is unknown"):
        tf.numpy.ravel([1], order="X")


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: tnp.cov(np.ones((3, 3, 3))), ValueError, r"shape \(3, 3, 3\)"),
        (lambda: tnp.cov(np.ones((2, 3)), np.ones((1, 1, 3))), ValueError, r"shape \(1, 1, 3\)"),
        (lambda: tnp.corrcoef(np.ones((3, 3, 3))), ValueError, r"shape \(3, 3, 3\)"),
        (lambda: tnp.cov(np.ones(5), fweights=np.ones((5, 5), int)), ValueError, "fweights has shape"),
        (lambda: tnp.cov(np.ones((2, 3)), aweights=[1.0, 2.0]), ValueError, "of which there are 3"),
        (lambda: tnp.cov(np.ones((2, 3)), aweights=[1.0, 2.0, -1.0]), ValueError, "must not be negative"),
        (lambda: tnp.cov(np.ones((2, 3)), fweights=[1, 2, -1]), ValueError, "must not be negative"),
        (lambda: tnp.cov(np.ones((2, 3)), fweights=[1, 0.5, 1]), TypeError, "must be integers"),
        (lambda: tnp.rot90(np.ones((2, 3)), 1, (0,)), ValueError, "two are needed"),
    ],
)
def test_covariances_and_turns_refuse_what_numpy_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_covariances_of_two_bytes_lose_no_more_digits_than_rounding(dtype):
    x = np.array([[1.0, 5.0, -3.0], [2.0, -7.0, 4.0]])
    weights = np.array([3.25, 2.5, 2.75])
    for options in (
        {"aweights": weights, "ddof": 2},
        {"fweights": np.array([3, 1, 2]), "ddof": 1},
        {"ddof": 1},
    ):
        found = tnp.cov(tf.cast(x, dtype), **options)
        assert found.dtype is dtype
        np.testing.assert_allclose(tf.cast(found, tf.float64), np.cov(x, **options), rtol=0.005)


@pytest.mark.parametrize(
    "a, b",
    [
        ([1, 1], [1]),
        ([1, 2, 3], [1, 2]),
        ([1, 2], [1, 2]),
        ([[1, 1]], [1, 1]),
        ([], [1]),
        ([[1, 2]], [2]),
        (1, [[1], [1]]),
    ],
    ids=str,
)
def test_shapes_that_are_known_at_run_time_are_compared_too(a, b):
    x, y = tf.constant(a, tf.float32), tf.constant(b, tf.float32)

    numpy = tf.experimental.numpy

    def alike(x, y):
        return numpy.array_equal(x, y), numpy.array_equal(x, y, equal_nan=True), numpy.array_equiv(x, y)

    wanted = [np.array_equal(a, b), np.array_equal(a, b), np.array_equiv(a, b)]
    sizes = [tf.TensorSpec([None] * z.ndim, tf.float32) for z in (x, y)]
    ranks = [tf.TensorSpec(None, tf.float32)] * 2
    for specs in (sizes, ranks, [sizes[0], ranks[1]]):
        assert [bool(z) for z in tf.function(alike, input_signature=specs)(x, y)] == wanted


def test_several_results_are_a_tuple_as_in_numpy() -> None:
    x = tf.constant([1.0, 2.0])
    results = (tnp.meshgrid(x, x), tnp.meshgrid(x, x, sparse=True), tnp.meshgrid())
    assert {type(found) for found in (*results, tnp.broadcast_arrays(x, x), tnp.broadcast_arrays())} == {
        tuple
    }


def test_real_if_close_asks_about_the_numbers_and_not_about_the_tape() -> None:
    """What checks arguments for being complex does so under a tape too; the real part has a derivative."""
    x = tf.constant([1.0 + 1e-15j, -2.0], tf.complex128)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = np.real_if_close(tf.sin(x))
        assert y.dtype == tf.float64
        assert not np.iscomplex(y).any()
    np.testing.assert_allclose(y, np.sin([1.0, -2.0]))
    np.testing.assert_allclose(tape.gradient(y, x), np.cos([1.0, -2.0]), rtol=1e-12)
    for tol, is_real in ((100, False), (1e-4, True), (1e13, True)):
        for array in (np.array([1.0 + 1e-6j]), np.zeros([0], np.complex64)):
            kind = np.real_if_close(array, tol).dtype
            assert tf.numpy.real_if_close(array, tol).dtype == kind
        assert np.real_if_close(np.array([1.0 + 1e-6j]), tol).dtype.kind == "fc"[not is_real]
    assert tf.numpy.real_if_close(tf.constant([1, 2])).dtype == tf.int32


def test_real_if_close_needs_the_numbers() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"real_if_close: whether the result is real depends on the numbers",
    ):
        tf.function(tf.numpy.real_if_close)(tf.constant([1.0j]))
