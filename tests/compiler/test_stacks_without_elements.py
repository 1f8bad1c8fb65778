"""Arrays of many rows of size 0 take no time: neither NumPy's functions nor the rows of a plan walk them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import graphad as tf
N = 2 ** 33
rows, matrices, slices = tf.zeros([N, 0]), tf.zeros([N, 0, 0]), tf.zeros([N, 5, 0])
thin, wide, places = tf.zeros([N, 0, 2]), tf.zeros([N, 2, 0]), tf.zeros([N, 0], tf.int32)
L = tf.linalg
CASES = [
    (L.inv, matrices), (L.cholesky, matrices), (L.solve, matrices, thin), (lambda x: L.qr(x)[1], matrices),
    (lambda x: L.svd(x)[1], matrices), (lambda x: L.eigh(x)[1], matrices), (L.triangular_solve, matrices, thin),
    (L.matmul, thin, wide), (lambda x: L.matmul(x, tf.zeros([2, 0])), thin), (lambda x: L.band_part(x, 0, -1) + 1.0, matrices),
    (lambda x: tf.gather(x, [1, 2], axis=1), slices), (lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), slices, places),
    (tf.sort, rows), (tf.argsort, rows), (tf.cumsum, rows), (lambda x: tf.cumsum(x, 1), rows),
    (lambda x: tf.math.top_k(x, 0)[0], rows),
    (lambda x: tf.concat([x, x], 1) + 1.0, rows), (lambda x: tf.roll(x, 1, 0) + 1.0, rows),
    (lambda x: tf.pad(x, [[1, 0], [0, 0]]) + 1.0, rows), (lambda x: tf.add_n([x, x, x]), rows),
    (lambda x: tf.stack([x, x * 2.0], 2), rows), (lambda x: L.global_norm([x, x]), rows),
    (lambda x: tf.clip_by_global_norm([x, x], 1.0)[0][0], rows), (lambda x: tf.tanh(x) + 1.0, rows),
    (lambda x: tf.math.unsorted_segment_sum(tf.transpose(x, [1, 0, 2]), [0, 1, 1, 0, 1], 2), slices),
    (lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.gather(x, i, axis=1)), [0, rows])[1], slices),
]
for f, *given in CASES:
    if sys.argv[1] == "native":
        f = tf.function(f, jit_compile=True)
    y = f(*given)
    assert tf.size(y, tf.int64) == 0 or y.shape == (), y.shape
    assert y.shape == () or N in y.shape or N + 1 in y.shape, y.shape
try:
    tf.function(lambda x, i: tf.gather(x, i, axis=1), jit_compile=sys.argv[1] == "native")(slices, tf.constant([1, 5]))
except tf.errors.InvalidArgumentError as error:
    assert "5" in str(error)
else:
    raise AssertionError("an index out of range")
print("done")
"""


@pytest.mark.parametrize("way", ["eager", "native"])
def test_arrays_of_many_empty_rows_are_not_walked(way: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, way], capture_output=True, text=True, timeout=600)
    assert done.stdout == "done\n", done.stderr[-2000:]


def test_results_of_empty_matrices_are_those_of_each() -> None:
    import numpy as np

    from graphad.ops.linalg.direct import lapack

    for shape in ((3, 2, 0), (2, 1, 0, 0)):
        x = np.zeros(shape)
        for function, more in ((np.linalg.qr, ("complete",)), (np.linalg.svd, (True,))):
            for got, want in zip(lapack(function, x, *more), function(x, *more), strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
    for b in (np.zeros((3, 0, 2)), np.zeros((1, 0, 2)), np.zeros((4, 3, 0, 1)), np.zeros((0, 3, 0, 1))):
        a = np.zeros((3, 0, 0))
        np.testing.assert_array_equal(lapack(np.linalg.solve, a, b), np.linalg.solve(a, b))
    np.testing.assert_array_equal(lapack(np.linalg.det, np.zeros((3, 0, 0))), np.ones(3))
