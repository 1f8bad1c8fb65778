"""Functions of the namespace give what NumPy's give: values, dtypes, traced with unknown sizes, and derivatives."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.core.late import places_of
from tests.array_api import functions
from tests.array_api.run import VERSION

RNG = np.random.default_rng(7)
X = RNG.uniform(0.2, 0.9, (3, 4))
Y = RNG.uniform(0.2, 0.9, (3, 4))
N = np.where(X > 0.7, np.nan, X)
V = np.array([0.3, 0.9, 0.1, 0.5])
M = RNG.uniform(0.1, 1.0, (3, 3)) + 2 * np.eye(3)
I = np.array([[3, 1, 2, 1], [0, 3, 3, 2], [5, 1, 0, 2]])
B = X > 0.5
C = X + 1j * Y

Call = Callable[..., Any]


def of(name: str, *kinds: Any) -> Call:
    """The call of one function on arrays that are made by the library under test."""
    return lambda np, a: getattr(np, name)(*map(a, kinds))


def named(name: str) -> Call:
    def call(np: Any, *xs: Any) -> Any:
        return named_in(np, name)(*xs)

    return call


# Functions of floats that are differentiable: (what is called, arguments).
SMOOTH: dict[str, tuple[Call, tuple[Any, ...]]] = {
    **{
        name: (named(name), (X,))
        for name in (
            "abs absolute arccos arcsin arctan arcsinh arctanh cbrt cos cosh deg2rad degrees exp exp2 expm1 fabs log "
            "log10 log1p log2 negative positive rad2deg radians reciprocal sin sinc sinh sqrt square tan tanh cumsum "
            "cumprod mean median prod ptp std sum var max min nansum nanmean nanstd nanvar nanmax nanmin nanmedian "
            "average ravel transpose fliplr flipud diff ediff1d trapezoid sort atleast_3d copy nan_to_num cov corrcoef "
            "nancumsum nancumprod nanprod i0 tril triu gradient"
        ).split()
    },
    **{
        name: (named(name), (X, Y))
        for name in (
            "add arctan2 copysign divide hypot logaddexp logaddexp2 maximum minimum multiply power subtract fmax fmin "
            "float_power heaviside fmod inner outer kron vdot"
        ).split()
    },
    "arccosh": (lambda np, x: np.arccosh(x + 1.0), (X,)),
    "inner of matrices": (lambda np, x, y: np.inner(x, y), (X, Y)),
    "dot": (lambda np, x, y: np.dot(x, y.T), (X, Y)),
    "dot of stacks": (lambda np, x, y: np.dot(x[None], np.stack([y.T, y.T])), (X, Y)),
    "matmul of vectors": (lambda np, x, y: np.matmul(x[0], y[1]), (X, Y)),
    "matmul with a vector": (lambda np, x, y: np.matmul(x, y[1]), (X, Y)),
    "matmul of a row": (lambda np, x, y: np.matmul(x[0], y.T), (X, Y)),
    "matvec": (lambda np, x, y: np.matvec(x, y[1]), (X, Y)),
    "vecmat": (lambda np, x, y: np.vecmat(x[0], y.T), (X, Y)),
    "vecdot": (lambda np, x, y: np.vecdot(x, y, axis=0), (X, Y)),
    "tensordot": (lambda np, x, y: np.tensordot(x, y, axes=((1,), (-1,))), (X, Y)),
    "tensordot 0": (lambda np, x, y: np.tensordot(x, y, axes=0), (X, Y)),
    "einsum": (lambda np, x, y: np.einsum("ij,kj->ik", x, y), (X, Y)),
    "cross": (lambda np, x, y: np.cross(x.T, y.T), (X, Y)),
    "cross axis": (lambda np, x, y: np.cross(x, y, axis=0), (X, Y)),
    "trace": (lambda np, x: np.trace(x, 1), (X,)),
    "diagonal": (lambda np, x: np.diagonal(x, -1), (X,)),
    "diag": (lambda np, x: np.diag(x[0], 1), (X,)),
    "diag of a matrix": (lambda np, x: np.diag(x), (X,)),
    "diagflat": (lambda np, x: np.diagflat(x), (X,)),
    "convolve": (lambda np, x, y: np.convolve(x[0], y[1], "same"), (X, Y)),
    "convolve valid": (lambda np, x, y: np.convolve(x[0], y[1, :2], "valid"), (X, Y)),
    "correlate": (lambda np, x, y: np.correlate(x[0], y[1], "full"), (X, Y)),
    "sum axis": (lambda np, x: np.sum(x, 1, keepdims=True), (X,)),
    "sum where": (lambda np, x: np.sum(x, axis=0, where=B, initial=2.0), (X,)),
    "max initial": (lambda np, x: np.max(x, axis=0, initial=0.5), (X,)),
    "mean where": (lambda np, x: np.mean(x, where=X > 0.1), (X,)),
    "var ddof": (lambda np, x: np.var(x, axis=1, ddof=1), (X,)),
    "std correction": (lambda np, x: np.std(x, axis=0, correction=1), (X,)),
    "average weights": (lambda np, x, y: np.average(x, axis=1, weights=y), (X, Y)),
    "average vector": (lambda np, x: np.average(x, axis=1, weights=V), (X,)),
    "median axis": (lambda np, x: np.median(x, axis=1, keepdims=True), (X,)),
    "quantile": (lambda np, x: np.quantile(x, [0.1, 0.77], axis=0), (X,)),
    "quantile axes": (lambda np, x: np.quantile(x[None], 0.3, axis=(0, 2)), (X,)),
    "quantile midpoint": (lambda np, x: np.quantile(x, 0.3, method="midpoint"), (X,)),
    "quantile nearest": (lambda np, x: np.quantile(x, 0.35, axis=1, method="nearest"), (X,)),
    "percentile": (lambda np, x: np.percentile(x, 25), (X,)),
    "nanquantile": (lambda np, x: np.nanquantile(np.where(X.max(axis=0) == X, np.nan, x), 0.4, axis=0), (X,)),
    "nanmean axis": (lambda np, x: np.nanmean(np.where(B, np.nan, x), axis=1), (X,)),
    "nanvar axis": (lambda np, x: np.nanvar(np.where(B, np.nan, x), axis=None, ddof=1), (X,)),
    "nanmax axis": (lambda np, x: np.nanmax(np.where(B, np.nan, x), axis=None), (X,)),
    "interp": (lambda np, x, y: np.interp(x, [0.3, 0.5, 0.8], y[0, :3]), (X, Y)),
    "interp ends": (lambda np, x: np.interp(x, [0.3, 0.5, 0.8], [1.0, 2.0, 5.0], left=-1.0, right=7.0), (X,)),
    "interp period": (lambda np, x: np.interp(x * 9, [0.3, 1.5, 0.8], [1.0, 2.0, 5.0], period=2.0), (X,)),
    "clip": (lambda np, x: np.clip(x, 0.4, 0.6), (X,)),
    "clip min": (lambda np, x: np.clip(x, None, 0.6), (X,)),
    "where": (lambda np, x, y: np.where(B, x, y), (X, Y)),
    "select": (lambda np, x, y: np.select([B, Y > 0.5], [x, y], 0.1), (X, Y)),
    "choose": (lambda np, x, y: np.choose(B.astype(int), [x, y]), (X, Y)),
    "take": (lambda np, x: np.take(x, [2, -1, 0], axis=1), (X,)),
    "take wrap": (lambda np, x: np.take(x, [12, 5], mode="wrap"), (X,)),
    "take_along_axis": (lambda np, x: np.take_along_axis(x, I[:, :2] % 3, axis=1), (X,)),
    "compress": (lambda np, x: np.compress([True, False, True], x, axis=0), (X,)),
    "extract": (lambda np, x: np.extract(B, x), (X,)),
    "concatenate": (lambda np, x, y: np.concatenate([x, y], axis=1), (X, Y)),
    "concatenate None": (lambda np, x, y: np.concatenate([x, y[0]], axis=None), (X, Y)),
    "stack": (lambda np, x, y: np.stack([x, y], axis=-1), (X, Y)),
    "hstack": (lambda np, x, y: np.hstack([x, y]), (X, Y)),
    "hstack of vectors": (lambda np, x, y: np.hstack([x[0], y[1]]), (X, Y)),
    "vstack": (lambda np, x, y: np.vstack([x, y[0]]), (X, Y)),
    "dstack": (lambda np, x, y: np.dstack([x, y]), (X, Y)),
    "column_stack": (lambda np, x, y: np.column_stack([x[0], y[1]]), (X, Y)),
    "append": (lambda np, x, y: np.append(x, y, axis=0), (X, Y)),
    "block": (lambda np, x, y: np.block([[x, y], [y, x]]), (X, Y)),
    "insert": (lambda np, x: np.insert(x, 1, 5.0, axis=1), (X,)),
    "delete": (lambda np, x: np.delete(x, [0, 2], axis=1), (X,)),
    "split": (lambda np, x: np.split(x, [1, 3], axis=1)[1], (X,)),
    "split equally": (lambda np, x: np.split(x, 2, axis=1)[1], (X,)),
    "array_split": (lambda np, x: np.array_split(x, 3, axis=1)[0], (X,)),
    "hsplit": (lambda np, x: np.hsplit(x, 2)[0], (X,)),
    "moveaxis": (lambda np, x: np.moveaxis(x[None], 0, -1), (X,)),
    "rollaxis": (lambda np, x: np.rollaxis(x[None], 2), (X,)),
    "swapaxes": (lambda np, x: np.swapaxes(x, 0, -1), (X,)),
    "rot90": (lambda np, x: np.rot90(x, 3), (X,)),
    "roll": (lambda np, x: np.roll(x, (1, -2), axis=(0, 1)), (X,)),
    "tile": (lambda np, x: np.tile(x, (2, 1, 2)), (X,)),
    "repeat": (lambda np, x: np.repeat(x, [1, 0, 2], axis=0), (X,)),
    "pad": (lambda np, x: np.pad(x, ((1, 0), (2, 1)), constant_values=0.5), (X,)),
    "pad reflect": (lambda np, x: np.pad(x, 1, "reflect"), (X,)),
    "pad edge": (lambda np, x: np.pad(x, 2, "edge"), (X,)),
    "pad wrap": (lambda np, x: np.pad(x, 5, "wrap"), (X,)),
    "reshape": (lambda np, x: np.reshape(x, (2, -1)), (X,)),
    "reshape F": (lambda np, x: np.reshape(x, (2, 6), order="F"), (X,)),
    "resize": (lambda np, x: np.resize(x, (5, 3)), (X,)),
    "expand_dims": (lambda np, x: np.expand_dims(x, (0, 2)), (X,)),
    "squeeze": (lambda np, x: np.squeeze(x[None], 0), (X,)),
    "broadcast_to": (lambda np, x: np.broadcast_to(x, (2, 3, 4)), (X,)),
    "vander": (lambda np, x: np.vander(x[0], 3), (X,)),
    "linspace": (lambda np, x, y: np.linspace(x[0, 0], y[0, 0], 5, endpoint=False), (X, Y)),
    "full": (lambda np, x: np.full((2, 4), x[0]), (X,)),
    "diff twice": (lambda np, x: np.diff(x, 2, axis=1, prepend=0.5), (X,)),
    "gradient of order 2": (lambda np, x: np.gradient(x, 0.5, axis=1, edge_order=2), (X,)),
    "gradient at places": (lambda np, x: np.gradient(x, [0.0, 0.2, 0.5, 1.1], axis=1, edge_order=2), (X,)),
    "trapezoid at places": (lambda np, x: np.trapezoid(x, V, axis=1), (X,)),
    "cumulative_sum": (lambda np, x: np.cumulative_sum(x, axis=1, include_initial=True), (X,)),
    "cumulative_prod": (lambda np, x: np.cumulative_prod(x, axis=0), (X,)),
    "polyval": (lambda np, x: np.polyval([2.0, -1.0, 0.5], x), (X,)),
    "modf": (lambda np, x: np.modf(3 * x)[0], (X,)),
    "frexp": (lambda np, x: np.frexp(9 * x)[0], (X,)),
    "polyadd": (lambda np, x, y: np.polyadd(x[0], y[1, :2]), (X, Y)),
    "polysub": (lambda np, x, y: np.polysub(x[0, :2], y[1]), (X, Y)),
    "polymul": (lambda np, x, y: np.polymul(x[0], y[1, :2]), (X, Y)),
    "polydiv": (lambda np, x, y: np.polydiv(x[0], y[1, :2]), (X, Y)),
    "polyder": (lambda np, x: np.polyder(x[0], 2), (X,)),
    "polyint": (lambda np, x, y: np.polyint(x[0], 2, y[0, :2]), (X, Y)),
    "poly": (lambda np, x: np.poly(x[0]), (X,)),
    "poly of a matrix": (lambda np, x: np.poly(x), (M,)),
    "roots": (lambda np, x: np.sum(np.abs(np.roots(x[0]) - 2.0)), (X,)),
    "polyfit": (lambda np, x, y: np.polyfit(np.ravel(x), np.ravel(y), 2), (X, Y)),
    "polyfit several": (lambda np, x, y: np.polyfit(x[0], y.T, 1, w=x[1]), (X, Y)),
    "polyfit cov": (lambda np, x, y: np.polyfit(np.ravel(x), np.ravel(y), 2, cov=True), (X, Y)),
    "polyfit cov of several": (
        lambda np, x, y: np.polyfit(x[0], y.T, 1, cov="unscaled", w=x[2])[1],
        (X, Y),
    ),
    "polyfit full": (lambda np, x, y: np.polyfit(np.ravel(x), np.ravel(y), 2, full=True)[1], (X, Y)),
    "unwrap": (lambda np, x: np.unwrap(9 * x, axis=0), (X,)),
    "unwrap by a period": (lambda np, x: np.unwrap(9 * x, 1.5, period=2.0), (X,)),
    "pad mean": (lambda np, x: np.pad(x, ((1, 2), (0, 1)), "mean"), (X,)),
    "pad median": (lambda np, x: np.pad(x, 1, "median"), (X,)),
    "pad maximum": (lambda np, x: np.pad(x, 1, "maximum"), (X,)),
    "pad minimum": (lambda np, x: np.pad(x, (2, 1), "minimum"), (X,)),
    "pad linear_ramp": (lambda np, x: np.pad(x, ((2, 1), (0, 3)), "linear_ramp", end_values=0.5), (X,)),
    "trim_zeros": (lambda np, x: np.trim_zeros(np.where(x[1] < 0.6, x[1], 0.0)), (X,)),
    "unique of rows": (lambda np, x: np.unique(np.concatenate([x, x[:2]]), axis=0), (X,)),
    "unique of columns": (lambda np, x: np.unique(x, axis=-1), (X,)),
    "histogram2d weights": (lambda np, y: np.histogram2d(X[0], X[1], 3, weights=y[0])[0], (Y,)),
    "histogramdd density": (
        lambda np, y: np.histogramdd(X.T, [2, 3, [0.0, 0.5, 1.0]], density=True, weights=y[0])[0],
        (Y,),
    ),
    "piecewise": (lambda np, x: np.piecewise(x, [X < 0.4, X > 0.6], [np.sin, lambda x: x * x, 2.0]), (X,)),
    "apply_over_axes": (lambda np, x: np.apply_over_axes(np.sum, x, [0, -1]), (X,)),
    "apply_along_axis": (lambda np, x: np.apply_along_axis(lambda v: np.cumsum(v) ** 2, 0, x), (X,)),
    "apply_along_axis to scalars": (lambda np, x: np.apply_along_axis(np.ptp, 1, x), (X,)),
    "apply_along_axis to matrices": (
        lambda np, x: np.apply_along_axis(lambda v, k: k * np.outer(v, v), -1, x, 3.0),
        (X,),
    ),
    "vectorize": (lambda np, x, y: np.vectorize(lambda a, b, c=1.0: a * b + c)(x, y[:1], c=y), (X, Y)),
    "vectorize by a signature": (
        lambda np, x, y: np.vectorize(np.dot, signature="(m,n),(n)->(m)")(np.stack([x, y]), y[0]),
        (X, Y),
    ),
    "fromfunction": (lambda np, x: np.fromfunction(lambda i, j: i + j * x, (3, 4)), (X,)),
    "unique": (lambda np, x: np.unique(x), (X,)),
    "histogram weights": (lambda np, y: np.histogram(X, 4, weights=y)[0], (Y,)),
    "bincount weights": (lambda np, y: np.bincount(I.ravel(), weights=np.ravel(y)), (Y,)),
    **{
        f"linalg.{name}": (named(f"linalg.{name}"), (M,))
        for name in "det inv pinv cond norm svdvals matrix_norm vector_norm trace diagonal".split()
    },
    "linalg.cholesky": (lambda np, x: np.linalg.cholesky(x @ x.T), (M,)),
    "linalg.eigvalsh": (lambda np, x: np.linalg.eigvalsh(x + x.T), (M,)),
    "linalg.slogdet": (lambda np, x: np.linalg.slogdet(x)[1], (M,)),
    "linalg.solve": (lambda np, x, y: np.linalg.solve(x, y), (M, X)),
    "linalg.solve a vector": (lambda np, x, y: np.linalg.solve(x, y[:, 0]), (M, X)),
    "linalg.lstsq": (lambda np, x: np.linalg.lstsq(x.T, V, rcond=None)[0], (X,)),
    "linalg.matrix_power": (lambda np, x: np.linalg.matrix_power(x, 5), (M,)),
    "linalg.matrix_power -2": (lambda np, x: np.linalg.matrix_power(x, -2), (M,)),
    "linalg.multi_dot": (lambda np, x, y: np.linalg.multi_dot([x[0], y.T, x]), (X, Y)),
    "linalg.qr": (lambda np, x: abs(np.linalg.qr(x.T)[1]), (X,)),
    "linalg.svd": (lambda np, x: np.linalg.svd(x, full_matrices=False)[1], (X,)),
    "linalg.norm 1": (lambda np, x: np.linalg.norm(x, 1, axis=(0, 1)), (X,)),
    "linalg.norm nuc": (lambda np, x: np.linalg.norm(x, "nuc"), (X,)),
    "linalg.norm 3": (lambda np, x: np.linalg.norm(x, 3, axis=1, keepdims=True), (X,)),
    "linalg.norm 2": (lambda np, x: np.linalg.norm(x, -2, axis=(-1, 0), keepdims=True), (X,)),
    "linalg.tensorsolve": (lambda np, x: np.linalg.tensorsolve(x.reshape(3, 3, 1), np.ones(3)), (M,)),
    "fft": (lambda np, x: np.abs(np.fft.fft(x, 6, axis=0, norm="ortho")), (X,)),
    "ifft2": (lambda np, x: np.abs(np.fft.ifft2(x, norm="forward")), (X,)),
    "rfftn": (lambda np, x: np.abs(np.fft.rfftn(x, axes=(0, 1))), (X,)),
    "irfft": (lambda np, x: np.fft.irfft(x, 7, norm="ortho"), (X,)),
    "hfft": (lambda np, x: np.fft.hfft(x), (X,)),
    "ihfft": (lambda np, x: np.imag(np.fft.ihfft(x)), (X,)),
    "fftshift": (lambda np, x: np.fft.fftshift(x, 1), (X,)),
}

# The rest: discrete results, integers, complex numbers, NaN, dtypes by promotion.
OTHERS: dict[str, Call] = {
    **{
        f"{name} of ints": of(name, I)
        for name in (
            "sin sqrt exp floor ceil trunc rint square negative abs sign isnan isinf isfinite mean std var median sum "
            "prod cumsum max min argmax argmin all any sort argsort unique nonzero flatnonzero argwhere count_nonzero "
            "ptp average invert real imag conj signbit degrees cumprod nansum nan_to_num"
        ).split()
    },
    **{
        f"{name} of bools": of(name, B)
        for name in (
            "sin abs floor mean sum prod max min argmax any all logical_not invert sort argsort count_nonzero diff "
            "round"
        ).split()
    },
    **{
        f"{name} of complex": of(name, C)
        for name in (
            "abs angle conj real imag exp sqrt sin log10 mean var sum prod cumsum square isnan round iscomplex isreal"
        ).split()
    },
    **{
        f"{name} of mixed dtypes": of(name, I, X.astype("f4"))
        for name in (
            "add subtract multiply divide maximum less equal hypot power arctan2 logical_and floor_divide remainder"
        ).split()
    },
    **{
        f"{name} of small ints": of(name, I.astype("u1"), (I.T + 1).reshape(3, 4).astype("i1"))
        for name in "add multiply divide bitwise_and left_shift right_shift greater power remainder fmod".split()
    },
    "bincount": lambda np, a: np.bincount(a(I.ravel()), minlength=9),
    "polyadd of ints": lambda np, a: np.polyadd(a(I[0]), a(I[1, :2])),
    "polymul of ints": lambda np, a: np.polymul(a(I[0]), a(I[0, :2])),
    "polyder of ints": lambda np, a: np.polyder(a(I[0])),
    "polyder to nothing": lambda np, a: np.polyder(a(X[0]), 7),
    "polydiv by a longer one": lambda np, a: np.polydiv(a(X[0, :2]), a(Y[0])),
    "polydiv without remainder": lambda np, a: np.polydiv(a(np.array([1.0, 3.0, 2.0])), [1.0, 1.0]),
    "roots and zeros": lambda np, a: np.sort(np.abs(np.roots(a(np.array([0.0, 1.0, -3.0, 2.0, 0.0]))))),
    "frexp exponents": lambda np, a: np.frexp(a(np.array([8.0, -3.0, 0.0, np.inf, 5e-324, 1.5e-310, 1e308]))),
    "frexp of float32": lambda np, a: np.frexp(a(np.array([1e-44, 3.0, -0.0], "f4"))),
    "frexp of nan": lambda np, a: np.frexp(a(np.array([np.nan, -np.inf]))),
    "spacing": lambda np, a: np.spacing(a(np.array([1.0, -1.0, 0.0, np.inf, np.nan, 1e300]))),
    "spacing of float32": lambda np, a: np.spacing(a(np.array([1.0, -2.0], "f4"))),
    "bitwise_count": lambda np, a: np.bitwise_count(a(np.array([0, -1, 255, -(2**63), 2**63 - 1]))),
    "bitwise_count of bytes": lambda np, a: np.bitwise_count(a(np.arange(256).astype("u1"))),
    "unwrap at the edge": lambda np, a: np.unwrap(a(np.array([0.0, np.pi, 0.0, -np.pi, 7.0]))),
    "pad mean of ints": lambda np, a: np.pad(a(I), 1, "mean"),
    "pad median of ints": lambda np, a: np.pad(a(I), 1, "median"),
    "pad linear_ramp of ints": lambda np, a: np.pad(a(I), ((0, 0), (4, 3)), "linear_ramp", end_values=9),
    "trim_zeros at the front": lambda np, a: np.trim_zeros(a(np.array([0, 0, 3, 0, 4, 0])), "f"),
    "trim_zeros at the back": lambda np, a: np.trim_zeros(a(np.array([0, 0, 3, 0, 4, 0])), "b"),
    "trim_zeros of zeros": lambda np, a: np.trim_zeros(a(np.zeros(3))),
    "unique of slices": lambda np, a: np.unique(
        a(np.stack([I % 2, I, I % 2, I[::-1]])), True, True, True, axis=0
    ),
    "unique of columns of ints": lambda np, a: np.unique(a(I % 2), return_counts=True, axis=1),
    "unique of rows with nan": lambda np, a: np.unique(a(np.concatenate([N, N])), axis=0),
    "histogram2d": lambda np, a: np.histogram2d(a(X[0]), a(Y[0]), [2, [0.1, 0.5, 0.9]], [[0.2, 0.9], None]),
    "histogram2d of equal bounds": lambda np, a: np.histogram2d(a(X[0]), a(Y[0]), [0.0, 0.3, 0.6, 0.9])[0],
    "tril_indices_from": lambda np, a: np.tril_indices_from(a(X), -1),
    "triu_indices_from": lambda np, a: np.triu_indices_from(a(X), 1),
    "diag_indices_from": lambda np, a: np.diag_indices_from(a(M)),
    **{
        name: lambda np, a, name=name: getattr(np, name)(7)
        for name in "bartlett blackman hamming hanning".split()
    },
    "kaiser": lambda np, a: (np.kaiser(6, 4.5), np.kaiser(1, 2.0)),
    "piecewise with one condition": lambda np, a: np.piecewise(a(I[0]), a(I[0]) > 1, [lambda x: -x]),
    "fromfunction of ints": lambda np, a: np.fromfunction(lambda i, j: i * 2 + j, (2, 3), dtype=int),
    "nansum": lambda np, a: np.nansum(a(N), axis=0),
    "nanmax": lambda np, a: np.nanmax(a(N), axis=1),
    "nanargmin": lambda np, a: np.nanargmin(a(N)),
    "nanmean": lambda np, a: np.nanmean(a(N)),
    "nanmedian": lambda np, a: np.nanmedian(a(N)),
    "median with nan": lambda np, a: np.median(a(N), axis=1),
    "unique with nan": lambda np, a: np.unique(
        a(N), return_index=True, return_inverse=True, return_counts=True
    )[0],
    "unique counts": lambda np, a: np.unique(a(I), return_counts=True)[1],
    "unique inverse": lambda np, a: np.unique(a(I), return_inverse=True)[1],
    "unique index": lambda np, a: np.unique(a(I), return_index=True)[1],
    "unique nan counts": lambda np, a: np.unique(a(N), return_counts=True)[1],
    "unique_all": lambda np, a: np.unique_all(a(I)).inverse_indices,
    "isin": lambda np, a: np.isin(a(I), [1, 5]),
    "union1d": lambda np, a: np.union1d(a(I), [9, 1]),
    "intersect1d": lambda np, a: np.intersect1d(a(I), [9, 1, 3]),
    "intersect1d indices": lambda np, a: np.intersect1d(a(I), [9, 1, 3], return_indices=True)[1],
    "setdiff1d": lambda np, a: np.setdiff1d(a(I), [9, 1, 3]),
    "setxor1d": lambda np, a: np.setxor1d(a(I), [9, 1, 3]),
    "searchsorted": lambda np, a: np.searchsorted(a(np.sort(V)), a(X), side="right"),
    "searchsorted sorter": lambda np, a: np.searchsorted(a(V), a(X), sorter=np.argsort(V)),
    "digitize": lambda np, a: np.digitize(a(X), [0.3, 0.5, 0.8]),
    "digitize falling": lambda np, a: np.digitize(a(X), [0.8, 0.5, 0.3], right=True),
    "lexsort": lambda np, a: np.lexsort((a(I[0]), a(I[1]))),
    "histogram": lambda np, a: np.histogram(a(X), 5, (0.3, 0.8))[0],
    "histogram density": lambda np, a: np.histogram(a(X), [0.1, 0.5, 0.9], density=True)[0],
    "histogram edges": lambda np, a: np.histogram(a(X), 5)[1],
    "unravel_index": lambda np, a: np.unravel_index(a(I), (2, 4))[0],
    "ravel_multi_index": lambda np, a: np.ravel_multi_index((a(I % 2), a(I % 3)), (2, 3)),
    "isclose": lambda np, a: np.isclose(a(X), X + 1e-9),
    "allclose": lambda np, a: np.allclose(a(N), N, equal_nan=True),
    "array_equal": lambda np, a: np.array_equal(a(X), X[:2]),
    "round decimals": lambda np, a: np.round(a(X), 2),
    "round of ints to tens": lambda np, a: np.round(a(I * 7), -1),
    "clip of ints": lambda np, a: np.clip(a(I.astype("u1")), 1, 300),
    "ldexp": lambda np, a: np.ldexp(a(X), a(I)),
    "divmod": lambda np, a: np.divmod(a(X), 0.3)[1],
    "logical_or": lambda np, a: np.logical_or(a(X), a(I)),
    "isneginf": lambda np, a: np.isneginf(a(np.array([1.0, -np.inf, np.inf]))),
    "nan_to_num": lambda np, a: np.nan_to_num(a(np.array([1.0, -np.inf, np.inf, np.nan]))),
    "fmax": lambda np, a: np.fmax(a(N), 0.5),
    "fmin of nan": lambda np, a: np.fmin(0.5, a(N)),
    "signbit of -0": lambda np, a: np.signbit(a(np.array([0.0, -0.0, -1.0]))),
    "arange": lambda np, a: np.arange(2, 9, 3),
    "arange floats": lambda np, a: np.arange(0.5, 3),
    "arange down to nothing": lambda np, a: np.arange(3, 1),
    "linspace": lambda np, a: np.linspace(0, 1, 4),
    "logspace": lambda np, a: np.logspace(0, 2, 4),
    "geomspace": lambda np, a: np.geomspace(1, 8, 4),
    "zeros": lambda np, a: np.zeros(3),
    "ones of ints": lambda np, a: np.ones((2, 1), dtype=int),
    "full": lambda np, a: np.full((2,), 3),
    "full_like": lambda np, a: np.full_like(a(X), 3),
    "zeros_like": lambda np, a: np.zeros_like(a(I)),
    "eye": lambda np, a: np.eye(2, 3, k=1),
    "tri": lambda np, a: np.tri(3, 4, -1),
    "tril": lambda np, a: np.tril(a(I), -1),
    "indices": lambda np, a: np.indices((2, 3)),
    "tril_indices": lambda np, a: np.tril_indices(3)[0],
    "meshgrid": lambda np, a: np.meshgrid(a(V), a(I[0]))[1],
    "asarray of a list": lambda np, a: np.asarray([[1, 2], [3, 4]]),
    "array of floats": lambda np, a: np.array([1.0, 2]),
    "asarray of bools": lambda np, a: np.asarray([True, False]),
    "diag of bools": lambda np, a: np.diag(np.array([True, False])),
    "matmul of bools": lambda np, a: np.matmul(a(B), a(B.T)),
    "matrix_rank": lambda np, a: np.linalg.matrix_rank(a(X)),
    "eigvals": lambda np, a: np.sort(np.abs(np.linalg.eigvals(a(M)))),
    "fftfreq": lambda np, a: np.fft.fftfreq(5, 0.1),
    "atleast_2d": lambda np, a: np.atleast_2d(a(V)),
    "broadcast_arrays": lambda np, a: np.broadcast_arrays(a(X), a(V))[1],
    "can_cast": lambda np, a: np.can_cast(np.int8, np.int16),
    "iscomplexobj": lambda np, a: np.iscomplexobj(a(C)),
    "diff of bools": lambda np, a: np.diff(a(B)),
    "sum to float": lambda np, a: np.sum(a(I), dtype=np.float32),
}


def plain(value: Any) -> Any:
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value)


def same(found: Any, expected: Any, tolerance: float = 1e-11) -> None:
    """Values, shapes and dtypes, of tuples one by one."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, tolerance)
        return
    expected = np.asarray(expected)
    found = np.asarray(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    scale = 1e-5 if expected.dtype in ("f4", "c8") else 1e-2 if expected.dtype == "f2" else tolerance
    np.testing.assert_allclose(found, expected, rtol=scale, atol=scale)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_differentiable_function_is_numpy_s(name: str) -> None:
    call, arguments = SMOOTH[name]
    same(call(gnp, *map(gnp.asarray, arguments)), call(np, *arguments))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_any_other_function_is_numpy_s(name: str) -> None:
    call = OTHERS[name]
    same(call(gnp, gnp.asarray), call(np, np.asarray))


# What needs a size that is known: it decides which elements are taken, or is a Python number.
FIXED = {
    "array_split", "convolve", "convolve valid", "correlate", "pad edge", "pad wrap", "resize", "delete", "kron", "block",
    "polyadd", "polysub", "polymul", "polydiv", "polyder", "polyint", "poly", "poly of a matrix", "roots", "polyfit",
    "polyfit several", "polyfit cov", "polyfit cov of several", "polyfit full", "unique of rows", "unique of columns",
    "linalg.lstsq", "linalg.multi_dot", "linalg.tensorsolve", "linalg.pinv", "insert", "vander", "fft", "irfft",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SMOOTH if name not in FIXED])
def test_a_traced_function_of_unknown_sizes_is_numpy_s(name: str) -> None:
    call, arguments = SMOOTH[name]
    specs = [tf.TensorSpec([None] * np.ndim(x), tf.float64) for x in arguments]
    traced = tf.function(lambda *xs: call(gnp, *xs), input_signature=specs)
    same(traced(*map(tf.constant, arguments)), call(np, *arguments))


@pytest.mark.parametrize("name", SMOOTH)
def test_the_derivative_is_that_of_differences(name: str) -> None:
    call, arguments = SMOOTH[name]
    directions = [np.random.default_rng(k).normal(size=x.shape) for k, x in enumerate(arguments)]

    def total(np: Any, *xs: Any) -> Any:
        found = call(np, *xs)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(np.sin(part) * (k + 1.0)) for k, part in enumerate(parts))

    _, slope = tf.jvp(lambda *xs: total(gnp, *xs), arguments, tuple(directions))
    step = 1e-6
    ends = [
        total(np, *[x + s * step * d for x, d in zip(arguments, directions, strict=True)]) for s in (1, -1)
    ]
    np.testing.assert_allclose(float(slope), (ends[0] - ends[1]) / (2 * step), rtol=2e-6, atol=2e-7)
    slopes = tf.grad(lambda *xs: total(gnp, *xs), argnums=tuple(range(len(arguments))))(*arguments)
    back = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(slopes, directions, strict=True))
    np.testing.assert_allclose(back, float(slope), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("space", ["graphad.numpy", "graphad.numpy.linalg", "graphad.numpy.fft"])
def test_every_name_is_found_and_says_what_it_is(space: str) -> None:
    for name in places_of(space):
        found = getattr(importlib.import_module(space), name)
        assert not callable(found) or found.__doc__, name


def test_the_page_of_numpy_s_functions_lists_as_recorded_what_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "numpy-functions.md").read_text(encoding="utf-8")
    (version,) = re.findall(r"with NumPy ([\d.]+)\.", page)
    assert page == functions.page().replace(f"with NumPy {np.__version__}.", f"with NumPy {version}.")
    recorded = re.findall(r"`([\w.]+)`", page[page.index("## Recorded") : page.index("## Only looking")])
    assert len(recorded) >= 288
    assert [name for name in recorded if not callable(named_in(gnp, name))] == []
    plain = re.findall(r"`([\w.]+)`", page[page.index("## Refused") : page.index("## Recorded of")])
    assert [name for name in plain if name in gnp.__all__] == [
        "apply_along_axis"
    ]  # called once, not for each slice


ALIASES = "byte cdouble csingle double half int_ intc intp longlong short single ubyte uint uintc uintp ulonglong ushort"


@pytest.mark.parametrize("name", ALIASES.split())
def test_numpy_s_other_names_of_dtypes(name: str) -> None:
    assert np.dtype(getattr(gnp, name).as_numpy_dtype) == np.dtype(getattr(np, name))
    assert gnp.zeros(2, getattr(gnp, name)).dtype is getattr(gnp, name)


def test_tensorflow_s_other_names_of_dtypes() -> None:
    assert gnp.float_ is gnp.float64 and gnp.complex_ is gnp.complex128


def test_numpy_s_error_of_linear_algebra_catches_graphad_s() -> None:
    with pytest.raises(gnp.linalg.LinAlgError, match="singular"):
        gnp.linalg.inv(np.zeros([2, 2]))


def named_in(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part)
    return space


def test_it_is_the_namespace_of_tensors_also_under_tensorflow_s_path() -> None:
    x = tf.constant([1.0])
    assert x.__array_namespace__() is gnp is tf.numpy is tf.experimental.numpy
    assert x.__array_namespace__(api_version="2023.12") is gnp
    with pytest.raises(ValueError, match=r"api_version is '1999.1'; it is one of 2021.12"):
        x.__array_namespace__(api_version="1999.1")
    assert x.__array_namespace__(api_version=gnp.__array_api_version__) is gnp
    assert gnp.__array_api_version__ == VERSION  # which the public suite runs
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match=r"to_device: device is 'cuda:0'; tensors live on 'cpu:0'"):
        x.to_device("cuda:0")


def test_operators_convert_dtypes_where_it_is_asked_for() -> None:
    x, y = tf.constant([1, 2]), tf.constant([0.5, 1.5], tf.float64)
    with pytest.raises(TypeError):
        x + y
    gnp.experimental_enable_numpy_behavior()
    try:
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = x * y
        np.testing.assert_array_equal(tape.gradient(z, y), [1.0, 2.0])
        for found in (
            x + y,
            y + x,
            tf.function(lambda a, b: a + b)(x, y),
            x + np.asarray(y),
            x + 0.5 + y - 0.5,
        ):
            np.testing.assert_array_equal(found, [1.5, 3.5])
            assert found.dtype is tf.float64
        assert (x // tf.constant([1, 2], tf.int8)).dtype is tf.int32
        assert np.asarray(x == tf.constant([1.0, 3.0])).tolist() == [True, False]
        assert (x > 0.5).numpy().all()
        assert (x / 2).dtype is tf.float64
    finally:
        gnp.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    with pytest.raises(TypeError):
        x + y


def test_what_has_as_many_elements_as_the_values_say_is_traced() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64)])
    def count(x: Any) -> Any:
        found = gnp.unique_all(x)
        return *found, *gnp.nonzero(x), gnp.isin(x, [1, 2])

    expected = np.unique_all(I)
    for found, wanted in zip(
        count(tf.constant(I)), (*expected, *np.nonzero(I), np.isin(I, [1, 2])), strict=True
    ):
        same(found, wanted)


def test_a_copy_that_is_refused_is_an_error_and_items_are_set_with_at() -> None:
    x = gnp.asarray([1.0, 2.0])
    assert gnp.asarray(x, copy=False) is x
    with pytest.raises(ValueError, match=r"asarray: tensors are immutable.*omit copy=False"):
        gnp.asarray([1.0], copy=False)
    with pytest.raises(TypeError, match=r"x\.at\[key\]\.set"):
        x[0] = 3.0
    np.testing.assert_array_equal(x.at[0].set(3.0), [3.0, 2.0])
    x += 1.0
    np.testing.assert_array_equal(x, [2.0, 3.0])
    np.testing.assert_array_equal(gnp.from_dlpack(np.arange(3)), [0, 1, 2])


def test_masks_of_any_rank_choose_as_numpy_s_do() -> None:
    x = gnp.asarray(X)
    for mask in (np.array(True), np.array(False), X[:, 0] > 0.5, np.zeros((0, 4), bool)):
        expected = np.zeros((0,)) if mask.shape == (0, 4) else X[mask]
        np.testing.assert_array_equal(x[gnp.asarray(mask)], expected)
    with pytest.raises(IndexError, match="are incompatible"):
        x[gnp.asarray([True, False])]


def test_shifts_are_operators() -> None:
    x = tf.constant([1, 2, 3])
    np.testing.assert_array_equal(x << 2, [4, 8, 12])
    np.testing.assert_array_equal(x >> 1, [0, 1, 1])
    np.testing.assert_array_equal(1 << x, [2, 4, 8])


def test_dtypes_are_asked_as_the_standard_says() -> None:
    assert gnp.isdtype(gnp.float32, "real floating") and gnp.isdtype(gnp.int8, ("bool", "integral"))
    assert not gnp.isdtype(gnp.uint8, "signed integer") and gnp.isdtype(gnp.uint8, gnp.uint8)
    with pytest.raises(ValueError, match="isdtype: kind 'float' is unknown"):
        gnp.isdtype(gnp.float32, "float")
    assert gnp.result_type(gnp.int8, gnp.asarray([1.0], dtype=gnp.float32)) is gnp.float32
    assert gnp.result_type(gnp.int32, gnp.float32, 1.0) is gnp.float64
    assert gnp.finfo(gnp.complex64).bits == 32 and gnp.iinfo(gnp.asarray([1], dtype=gnp.int16)).max == 32767
    info = gnp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is gnp.float64 and info.devices() == (
        info.default_device(),
    )
    assert "bfloat16" not in info.dtypes() and set(info.dtypes(kind="bool")) == {"bool"}


def test_einops_takes_tensors() -> None:
    einops = pytest.importorskip("einops.array_api")
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = einops.reduce(einops.rearrange(x, "a (b c) -> c (a b)", c=2), "c n -> n", "sum")
    np.testing.assert_allclose(y, X.reshape(3, 2, 2).sum(2).ravel())
    np.testing.assert_array_equal(tape.gradient(y, x), np.ones_like(X))
    assert einops.repeat(x, "a b -> a b k", k=2).shape == (3, 4, 2)


def test_array_api_compat_takes_tensors() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = tf.constant(X)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, gnp.ones(2)) is gnp
    assert compat.size(x) == 12 and compat.device(x) == x.device
    assert compat.to_device(x, "cpu:0") is x


def test_integers_have_divisors_and_multiples_as_in_numpy() -> None:
    a, b = np.array([12, -18, 0, 7, 0], np.int32), np.array([18, 12, 5, -7, 0], np.int64)
    for name in ("gcd", "lcm"):
        found, wanted = getattr(gnp, name)(a, b), getattr(np, name)(a, b)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
        assert np.array_equal(getattr(np, name)(gnp.asarray(a), b), wanted)
    with pytest.raises(TypeError, match="gcd"):
        gnp.gcd(1.5, 2)


def test_vectors_index_together_and_dtypes_are_compared() -> None:
    x = np.arange(12).reshape(3, 4)
    key = gnp.ix_([2, 0], [True, False, True, False])
    assert np.array_equal(gnp.asarray(x)[key], x[np.ix_([2, 0], [True, False, True, False])])
    with pytest.raises(ValueError, match="ix_: argument 1"):
        gnp.ix_([1], [[1]])
    assert gnp.promote_types("int32", gnp.float32) == gnp.float64
    assert gnp.issubdtype(gnp.float32, np.floating) and not gnp.issubdtype("int8", np.unsignedinteger)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_remainder_of_zero_has_the_sign_of_the_divisor(dtype: str) -> None:
    values = np.array([0.0, -0.0, 3.0, -3.0, 6.0, -6.0, 1.0, -1.0, np.nan, 5.5, np.inf], dtype)
    x, y = np.tile(values, 3), np.repeat(np.array([3.0, -3.0, np.inf], dtype), len(values))
    with np.errstate(all="ignore"):
        want = np.remainder(x, y)
    a, b = tf.constant(x), tf.constant(y)
    for function in (gnp.remainder, tf.function(gnp.remainder), tf.function(gnp.remainder, jit_compile=True)):
        found = function(a, b).numpy()
        assert np.array_equal(found, want, equal_nan=True)
        there = ~np.isnan(want)
        assert np.array_equal(np.signbit(found)[there], np.signbit(want)[there])
    with tf.GradientTape() as tape:
        tape.watch(a)
        z = gnp.remainder(a, b)
    assert (tape.gradient(z, a).numpy() == 1).all()


def test_expm1_of_complex_numbers_that_are_not_finite_is_that_of_exp() -> None:
    inf, nan = np.inf, np.nan
    for x, real, imag in (
        (complex(inf, 0), inf, 0.0), (complex(-inf, 2.0), -1.0, 0.0), (complex(-inf, inf), -1.0, 0.0),
        (complex(inf, inf), inf, nan), (complex(-inf, nan), -1.0, 0.0), (complex(inf, nan), inf, nan),
        (complex(nan, 0), nan, 0.0), (complex(nan, 2), nan, nan), (complex(1e-10, 0), float(np.expm1(1e-10)), 0.0),
        (complex(0, inf), nan, nan), (complex(0, nan), nan, nan),
    ):  # fmt: skip
        found = gnp.expm1(tf.constant(x, tf.complex128)).numpy()
        np.testing.assert_array_equal(
            [abs(found.real) if real == inf else found.real, found.imag], [real, imag]
        )
