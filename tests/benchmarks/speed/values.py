"""The arguments that rows.txt speaks of, some 1e5 elements each, from one seed: the same in every process."""

from __future__ import annotations

from typing import Any

import numpy as np

N = 100_000


def values(dtype: str = "float32") -> dict[str, Any]:
    """Names to NumPy arrays; floats are `dtype`, indices int32."""
    rng = np.random.default_rng(7)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(dtype)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return rng.uniform(low, high, shape).astype(dtype)

    x, y = normal(N), normal(N)
    M = normal(316, 316)
    S = (M @ M.T / 316 + np.eye(316)).astype(dtype)
    L = np.linalg.cholesky(S)
    tall = normal(1000, 100)
    ids = rng.integers(0, 1000, N, np.int32)
    order = rng.permutation(N).astype(np.int32)
    few = rng.integers(1, 8, N, np.int32)
    rows = np.arange(100, dtype=np.int32)
    picture = uniform(0, 1, 1, 180, 180, 3)
    kernel, kernel1 = normal(3, 3, 3, 8), normal(3, 10, 10)
    kernel_dw = normal(3, 3, 3, 1)
    found = np.sort(rng.choice(1000 * 10000, N, replace=False))
    corners = uniform(0, 0.5, 20, 2)
    x_complex = (x + 1j * y).astype(np.result_type(dtype, np.complex64))
    pairs = np.stack([order // 1000, order % 1000], -1).astype(np.int32)
    p, q = uniform(0.1, 5, N), uniform(0.1, 5, N)
    short = {
        "x1000": x[:1000], "y1000": y[:1000], "p1000": p[:1000], "q1000": q[:1000], "x316": x[:316], "y316": y[:316],
        "y315": y[:315], "x300": x[:300], "x100": x[:100], "y100": y[:100], "y50": y[:50], "y4": y[:4], "x50000": x[:50000],
        "y50000": y[:50000], "row316": M[0], "m316": M[:, :1], "M30": M[:30, :30], "M11": M[:11, :11],
        "x_column": x[:, None], "x_row": x[None],
    }  # fmt: skip
    return {
        **{name: part.copy() for name, part in short.items()},
        "x": x, "y": y, "p": p, "q": q, "u": uniform(0.001, 0.999, N),
        "v": uniform(-0.99, 0.99, N), "z": x_complex, "i": rng.integers(-1000, 1000, N, np.int32),
        "j": rng.integers(0, 1000, N, np.int32), "few": few, "b": rng.random(N) < 0.5, "c": rng.random(N) < 0.5,
        "X": normal(100, 1000), "U": uniform(0.5, 1.5, 100, 1000), "P": uniform(0.1, 5, 10_000, 10),
        "Z": x_complex.reshape(100, 1000), "Z3": x_complex.reshape(20, 50, 100), "X3": normal(20, 50, 100),
        "M": M, "S": S, "L": L, "Sz": S.astype(np.complex64), "tall": tall, "tall1": tall[:, :1].copy(),
        "T3": normal(33_333, 3), "T3b": normal(33_333, 3),
        "bands": np.stack([2 + uniform(0, 1, 316), normal(316), normal(316)]), "three": np.stack([y, 4 + abs(x), y]),
        "ids": ids, "small": rng.integers(0, 1000, 100, np.int32),
        "other": rng.integers(0, 1000, 100, np.int32), "small4": rng.integers(0, 4, N, np.int32),
        "order": order, "evens": np.arange(0, N, 2, dtype=np.int32), "odds": np.arange(1, N, 2, dtype=np.int32),
        "octets": np.packbits(x > 0), "pairs": pairs, "sorted_x": np.sort(x), "lengths": rng.integers(1, 1000, 100, np.int32),
        "rows": rows, "starts": rows, "counts": np.ones((100, 1), dtype), "list1000": [float(k) for k in x[:1000]],
        "picture": picture, "picture2": uniform(0, 1, 1, 180, 180, 3), "gray": uniform(0, 1, 1, 316, 316, 1),
        "big_picture": uniform(0, 1, 1, 192, 192, 3), "channels": np.ascontiguousarray(picture.transpose(0, 3, 1, 2)),
        "space": normal(4, 90, 90, 3), "deep": normal(1, 90, 90, 12), "deep_channels": normal(1, 12, 90, 90),
        "sound": normal(10, 1000, 10), "sound_channels": normal(10, 10, 1000), "cube": normal(1, 40, 40, 40, 2),
        "kernel": kernel, "kernel_oihw": np.ascontiguousarray(kernel.transpose(3, 2, 0, 1)),
        "kernelt": normal(3, 3, 8, 3), "kernel1": kernel1, "kernel1t": normal(3, 10, 10),
        "kernel1_oiw": np.ascontiguousarray(kernel1.transpose(2, 1, 0)), "kernel3": normal(3, 3, 3, 2, 2),
        "kernel_dw": kernel_dw, "kernel_dw_oihw": np.ascontiguousarray(kernel_dw.transpose(2, 3, 0, 1)),
        "kernel_pw": normal(1, 1, 3, 8), "kernel_m": normal(3, 3, 3), "yiq": normal(3, 3),
        "weights90": normal(90, 180), "weights256": normal(256, 180),
        "nearest256": ((np.arange(256) + 0.5) * 180 / 256).astype(np.int32),
        "boxes": np.concatenate([corners, corners + uniform(0.1, 0.5, 20, 2)], -1), "box_of": np.zeros(20, np.int32),
        "many_boxes": uniform(0, 1, 1000, 4), "logits": normal(500, 10, 20), "frames": normal(10, 10, 1000),
        "spectra": (normal(780, 129) + 1j * normal(780, 129)).astype(x_complex.dtype),
        "half_zero": np.where(rng.random((100, 1000)) < 0.5, 0, normal(100, 1000)).astype(dtype),
        "thick": normal(10_000, 8), "thick2": normal(1000, 8),
        "places": np.stack([found // 10_000, found % 10_000], -1).astype(np.int64),
    }  # fmt: skip
