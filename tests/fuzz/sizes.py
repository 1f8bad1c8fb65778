"""Random programs whose sizes only the run finds: each is compared with eager code, call after call with other sizes.

A program is a list of statements over an array `x` [rows, 3], a vector `v`, counts `c`, and two integers `n` and `k`. Each adds
a value of one kind; sizes do not always fit, so that errors are compared as well as results. Statements that no result needs
are left out: a compiled function does not make them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad as tf

Outcome = tuple[str, Any]

# The kind of the result and what computes it, with @kind for an earlier value, & for one vector throughout, # and % for numbers
OPS = """
vector: tf.boolean_mask(&, & > #)
vector: tf.boolean_mask(@vector, @vector > #)
vector: tf.boolean_mask(x, x > #)
vector: tf.gather_nd(x, tf.where(x > #))
vector: @vector[:@size]
vector: @vector[@size:]
vector: @vector[-@size:]
vector: @vector[:@size:2]
vector: tf.sin(@vector)
vector: @vector + @scalar
vector: @vector * @vector
vector: @vector * tf.ones([@size])
vector: tf.cast(tf.range(@size), tf.float32)
vector: tf.repeat(@vector, @size)
vector: tf.repeat(@vector, @counts)
vector: tf.zeros([@size])
vector: tf.fill([@size], @scalar)
vector: tf.math.segment_sum(@vector, tf.sort(@counts))
vector: tf.math.segment_max(v, tf.sort(c))
vector: tf.math.segment_prod(v, tf.sort(c))
vector: tf.math.unsorted_segment_sum(@vector, @counts, @size)
vector: tf.math.unsorted_segment_min(v, c, tf.reduce_max(c) + 1)
vector: tf.gather(@vector, @counts)
vector: tf.gather(&, tf.argsort(&))
vector: tf.cumsum(@vector)
vector: tf.math.top_k(@vector, @size)[0]
vector: tf.concat([@vector, @vector], 0)
vector: tf.reshape(@rows, [-1])
vector: tf.reshape(@rows, [@size])
vector: tf.reduce_sum(@rows, 1)
vector: tf.nn.softmax(@vector)
vector: tf.linalg.matvec(@rows, x[0])
vector: tf.linspace(0.0, 1.0, @size)
vector: tf.reduce_sum(tf.matmul(@rows, @rows, transpose_b=True), 1)
vector: tf.pad(@vector, [[1, @size]])
vector: tf.tile(@vector, [@size])
vector: tf.broadcast_to(@vector, [@size])
vector: tf.broadcast_to(@scalar, [@size])
vector: tf.scatter_nd(@counts[:, None], @vector, [@size])
vector: tf.roll(@vector, @size, 0)
vector: tf.where(& > #, &, & * 2.0)
vector: tf.cond(@scalar > #, lambda: tf.sin(@vector), lambda: @vector[:2])
vector: tf.cond(@size > 1, lambda: tf.zeros([@size]), lambda: v)
vector: grown(@vector, %)
vector: tf.add_n([@vector, @vector])
vector: tf.reshape(@vector[:, None] - @vector, [-1])
vector: tf.reduce_sum(tf.eye(@size), 1)
vector: tf.reduce_sum(tf.eye(@size, %), 0)
vector: tf.linalg.matvec(tf.eye(tf.size(@vector)), @vector)
vector: tf.range(0.0, @scalar, 0.25)
vector: tf.gather(@vector, tf.math.top_k(@vector, tf.minimum(@size, 3))[1])
vector: tf.linalg.matvec(tf.cast(tf.range(@size)[:, None] > tf.range(@size), tf.float32), @vector)
vector: tf.linalg.solve(gram(@rows), @rows)[:, 0]
vector: tf.linspace(@scalar, 1.0, @size)
vector: tf.reshape(tf.sin(tf.reshape(@vector, [@size, -1])), [-1])
vector: tf.reduce_sum(tf.reshape(@rows, [@size, -1]), 0)
vector: tf.reduce_max(tf.reshape(@vector, [-1, @size]), 1)
vector: tf.reduce_sum(tf.reshape(@rows, [@size, @size]), 1)
vector: tf.reduce_sum(tf.reshape(@rows, [@size * @size, -1]), 1)
vector: tf.reduce_sum(tf.linalg.band_part(gram(@rows), @size, %), 1)
vector: tf.cond(@scalar > #, lambda: @vector, lambda: tf.concat([@vector, @vector], 0))
vector: doubled(@vector, %)
vector: tf.pad(@vector, [[@size, %]], "SYMMETRIC")
vector: tf.abs(tf.signal.rfft(@vector))
vector: tf.signal.irfft(tf.signal.rfft(@vector))
vector: tf.math.real(tf.signal.fft(tf.cast(@vector, tf.complex64)))
vector: tf.signal.dct(@vector)
vector: tf.reduce_sum(tf.signal.frame(@vector, 3, 2), 1)
vector: tf.reduce_sum(tf.reshape(@vector, [-1, 2]), 1)
vector: tf.nn.max_pool1d(@rows[None], 2, 2, "SAME")[0, :, 0]
vector: tf.nn.avg_pool1d(@rows[None], 3, 2, "VALID")[0, :, 1]
vector: tf.nn.conv1d(@rows[None], tf.ones([2, 3, 1]), 2, "VALID")[0, :, 0]
vector: tf.nn.conv1d(@rows[None], tf.ones([3, 3, 1]), 1, "VALID")[0, :, 0]
vector: tf.nn.conv1d(@rows[None], tf.ones([3, 3, 2]), 1, "SAME")[0, :, 1]
vector: tf.linalg.svd(@rows, compute_uv=False)
vector: tf.linalg.pinv(gram(@rows))[0]
vector: tf.abs(tf.linalg.diag_part(tf.linalg.qr(@rows)[1]))
vector: tf.linalg.diag_part(tf.linalg.lu(gram(@rows))[0])
vector: tf.linalg.diag_part(tf.linalg.expm(0.1 * gram(@rows)))
vector: tf.math.cumulative_logsumexp(@vector)
vector: stacked(@vector, @size)
vector: stacked(&, tf.minimum(@size, tf.size(&)))
vector: sloped(lambda y: tf.reduce_sum(tf.abs(tf.signal.rfft(y)) ** 2), @vector)
vector: sloped(lambda y: tf.reduce_sum(stacked(y, tf.size(y)) ** 2), @vector)
vector: sloped(lambda y: tf.reduce_sum(tf.nn.max_pool1d(y[None, :, None], 2, 2, "SAME") ** 2), @vector)
vector: sloped(lambda y: tf.reduce_sum(tf.nn.conv1d(y[None, :, None], y[:2, None, None], 2, "VALID") ** 2), @vector)
rows: sloped(lambda y: tf.reduce_sum(tf.linalg.logdet(gram(y))), @rows)
rows: tf.matmul(gram(@rows), @rows)
rows: tf.boolean_mask(x, x[:, 1] > #)
rows: tf.boolean_mask(@rows, @rows[:, 0] > #)
rows: @rows[:@size]
rows: @rows[@size:]
rows: tf.tanh(@rows)
rows: @rows * @scalar
rows: @rows * @rows
rows: tf.repeat(@rows, %, 0)
rows: tf.ones([@size, 3]) * x[:1]
rows: tf.gather(@rows, @counts)
rows: tf.concat([@rows, @rows], 0)
rows: tf.reshape(@vector, [-1, 3])
rows: tf.reshape(@vector, [@size, 3])
rows: tf.cond(@scalar > 0.0, lambda: @rows[1:], lambda: @rows * 2.0)
counts: tf.cast(tf.where(@vector > #)[:, 0], tf.int32)
counts: tf.range(@size)
counts: tf.range(@size, @size)
counts: tf.range(@size, 0, -1)
counts: tf.math.bincount(@counts)
counts: tf.unique(@counts)[0]
counts: tf.unique(@counts)[1]
counts: @counts[:@size]
counts: tf.boolean_mask(@counts, @counts > %)
counts: tf.repeat(@counts, @counts)
counts: tf.sort(@counts)
counts: tf.reduce_sum(tf.cast(tf.sequence_mask(@counts), tf.int32), 1)
size: tf.shape(@vector)[0]
size: tf.shape(@rows)[0]
size: tf.size(@rows)
size: tf.reduce_sum(tf.cast(@vector > #, tf.int32))
size: @size - 1
size: @size + @size
size: tf.maximum(@size - 2, 0)
size: tf.minimum(@size, 4)
size: @size // 2
size: tf.reduce_max(@counts)
scalar: tf.reduce_sum(@vector)
scalar: tf.reduce_max(@vector)
scalar: tf.cast(@size, tf.float32) * 0.5
scalar: tf.reduce_sum(tf.exp(-tf.square(@vector[:, None] - @vector)))
scalar: tf.reduce_sum(tf.tanh(@vector[:, None, None] * @vector[:, None] * @vector))
scalar: looped(lambda i: tf.reduce_sum(tf.sin(@vector[:i, None] * @vector)), 4)
scalar: looped(lambda i: tf.reduce_sum(&[:i]), 4)
scalar: looped(lambda i: tf.reduce_sum(@vector[i:i + 2]), @size)
scalar: looped(lambda i: tf.reduce_sum(tf.boolean_mask(&, & > 0.5)), 2)
scalar: looped(lambda i: tf.reduce_sum(tf.cond(i > 1, lambda: @vector[:i], lambda: tf.sin(@vector))), 4)
scalar: looped(lambda i: tf.reduce_max(tf.reduce_sum(tf.reshape(@vector, [@size, -1]), 0)), 3)
"""
GIVEN = {
    "vector": ["v", "x[:, 0]"],
    "rows": ["x"],
    "counts": ["c"],
    "size": ["n", "k"],
    "scalar": ["tf.reduce_sum(x) * 0.1"],
}
SPECS = [
    tf.TensorSpec([None, 3]),
    tf.TensorSpec([None]),
    tf.TensorSpec([None], tf.int32),
    *[tf.TensorSpec([], tf.int32)] * 2,
]


def _looped(f: Callable[[Any], Any], n: Any) -> Any:
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + f(i)), (0, tf.zeros([])))[1]


def _grown(x: Any, n: int) -> Any:
    def more(i: Any, y: Any) -> Any:
        return i + 1, tf.concat([y, x[:1]], 0)

    shapes = tf.TensorShape([]), tf.TensorShape([None])
    return tf.while_loop(lambda i, y: i < n, more, (0, x), shape_invariants=shapes)[1]


def _doubled(x: Any, n: int) -> Any:
    def more(i: Any, y: Any) -> Any:
        return i + 1, tf.concat([y, tf.sin(y)], 0)

    shapes = tf.TensorShape([]), tf.TensorShape([None])
    return tf.while_loop(lambda i, y: i < n, more, (0, x), shape_invariants=shapes)[1]


def _gram(x: Any) -> Any:
    return tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(tf.shape(x)[0])


def _stacked(x: Any, n: Any) -> Any:
    def more(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, tf.sin(x[i]))

    start = 0, tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    return tf.while_loop(lambda i, array: i < n, more, start)[1].stack()


def _sloped(f: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def text(seed: int) -> str:
    """The source of a program."""
    rng = random.Random(seed)
    known = {kind: list(names) for kind, names in GIVEN.items()}
    table = [line.split(": ", 1) for line in OPS.strip().splitlines()]
    lines: list[str] = []
    for number in range(rng.choice([2, 3, 4, 5, 7])):
        kind, op = rng.choice(table)
        one = rng.choice(known["vector"][-4:])
        for pattern, draw in (
            (r"@(\w+)", lambda found: rng.choice(known[found[1]][-4:])),
            ("&", lambda found, one=one: one),
            ("#", lambda found: repr(rng.choice([-1.0, 0.0, 0.3, 5.0]))),
            ("%", lambda found: repr(rng.choice([0, 1, 2]))),
        ):
            op = re.sub(pattern, draw, op)
        known[kind].append(f"y{number}")
        lines.append(f"    y{number} = {op}\n")
    needed = {f"y{k}" for k in rng.sample(range(len(lines)), min(len(lines), 2))}
    kept = [f"    return {', '.join(sorted(needed))},\n"]
    for number, line in reversed([*enumerate(lines)]):
        if f"y{number}" in needed:
            needed.update(re.findall(r"\by\d\b", line))
            kept.append(line)
    return "".join(["def f(x, v, c, n, k):\n", *reversed(kept)])


def program(seed: int) -> Callable[..., Any]:
    names = {"tf": tf, "looped": _looped, "grown": _grown, "doubled": _doubled, "gram": _gram}
    names |= {"stacked": _stacked, "sloped": _sloped}
    exec(text(seed), names)
    return names["f"]  # type: ignore[return-value]


def arguments(seed: int) -> list[list[Any]]:
    """Those of several calls, some of them with arrays without elements and with numbers that are refused."""
    rng = random.Random(seed)
    calls = []
    for sizes, numbers in (
        ((5,), (3,)),
        ((4, 0, 1, 6, 9), (2, 0, 1, -1, 7)),
        ((4, 0, 1, 6, 9), (2, 0, 1, 4, 7)),
    ):
        rows = rng.choice(sizes)
        length = rng.choice([rows, rows, rng.choice(sizes)])
        draw = np.random.default_rng(rng.randrange(2**31))
        x, v = draw.normal(size=(rows, 3)).astype(np.float32), draw.normal(size=length).astype(np.float32)
        c = draw.integers(0, rng.choice([1, 2, 4]), length).astype(np.int32)
        calls.append(
            [tf.constant(a) for a in (x, v, c, np.int32(rng.choice(numbers)), np.int32(rng.choice(numbers)))]
        )
    return calls


def outcome(f: Callable[..., Any], given: Sequence[Any]) -> Outcome:
    """The results, or the class of an error."""
    try:
        return "results", [y.numpy() for y in f(*given)]
    except tf.errors.GraphadError as error:
        return "error", type(error)


def differs(found: Outcome, wanted: Outcome) -> bool:
    """Whether results differ by more than rounding. Which of two errors comes first is open."""
    if found[0] != wanted[0]:
        return True
    if found[0] == "error":
        return issubclass(found[1], tf.errors.InternalError)
    return any(
        a.shape != b.shape
        or a.dtype != b.dtype
        or not np.allclose(a, b, 2e-4, 2e-4 * max(1, *np.abs(np.ravel(b)), 1), True)
        for a, b in zip(found[1], wanted[1], strict=True)
    )
