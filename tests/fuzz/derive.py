"""The measurement of a program: values, first and second derivatives, Jacobians. Written once, for both libraries."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Results = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """Which derivatives: `second`, of the weighted gradient, `jacobian`, of the first real result by the first source."""

    first: bool = True
    second: bool = True
    jacobian: bool = False
    batch_jacobian: bool = False
    by_rows: bool = False  # Jacobians by one gradient a row


def numbers_like(shape: Sequence[int], dtype: str, key: str) -> np.ndarray:
    """Numbers with absolute values from 0.25 to 1, fixed by a name."""
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    x = rng.uniform(0.25, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-1.0, 1.0, shape)
    return np.asarray(x.astype(dtype))


def is_smooth(dtype: Any) -> bool:
    return np.dtype(dtype.as_numpy_dtype).kind in "fc"


def weight(tf: Any, x: Any, key: str) -> Any:
    """Weights of the shape of `x`: a repeating pattern, so that they exist for unknown sizes too."""
    dtype = x.dtype.name
    pattern = numbers_like((13,), dtype, key)
    if x.shape.rank is not None and all(size is not None for size in x.shape.as_list()):
        return tf.constant(np.resize(pattern, tuple(x.shape.as_list())))
    places = tf.range(tf.size(x)) % 13
    return tf.reshape(tf.gather(tf.constant(pattern), places), tf.shape(x))


def as_list(y: Any) -> list[Any]:
    return list(y) if isinstance(y, (tuple, list)) else [y]


def measure(
    tf: Any, f: Callable[..., Any], inputs: Sequence[Any], variables: Sequence[Any], wanted: Wanted
) -> Results:
    """`f(*inputs)` and its derivatives by every real or complex input and variable, by name of the part."""
    sources = [x for x in [*inputs, *variables] if is_smooth(x.dtype)]
    watched = [x for x in inputs if is_smooth(x.dtype)]
    if not wanted.first or not sources:
        return {f"y{k}": y for k, y in enumerate(as_list(f(*inputs)))}
    results: Results = {}
    with tf.GradientTape() as outer:
        outer.watch(watched)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(watched)
            ys = as_list(f(*inputs))
        smooth = [(k, y) for k, y in enumerate(ys) if is_smooth(y.dtype)]
        weights = [weight(tf, y, f"y{k}") for k, y in smooth]
        first = inner.gradient([y for _, y in smooth], sources, output_gradients=weights)
        first = [None if x is None else tf.convert_to_tensor(x) for x in first]
        parts = []
        if wanted.second:
            for k, x in enumerate(first):
                if x is not None:
                    part = tf.reduce_sum(x * weight(tf, x, f"g{k}"))
                    parts.append(tf.math.real(part) if np.dtype(x.dtype.as_numpy_dtype).kind == "c" else part)
    results |= {f"y{k}": y for k, y in enumerate(ys)}
    results |= {f"g{k}": x for k, x in enumerate(first)}
    if wanted.second:
        second = outer.gradient(parts, sources) if parts else [None] * len(sources)
        results |= {f"h{k}": None if x is None else tf.convert_to_tensor(x) for k, x in enumerate(second)}
    if wanted.jacobian or wanted.batch_jacobian:
        k, y = smooth[0]
        options = {"experimental_use_pfor": False} if wanted.by_rows else {}
        if wanted.jacobian:
            found = inner.jacobian(y, sources[0], **options)
            results[f"J{k}"] = found
        if wanted.batch_jacobian:
            results[f"B{k}"] = inner.batch_jacobian(y, sources[0], **options)
    return results


def plain(results: Results) -> Results:
    """Results as NumPy arrays, or None."""
    return {key: None if x is None else np.asarray(x.numpy()) for key, x in results.items()}
