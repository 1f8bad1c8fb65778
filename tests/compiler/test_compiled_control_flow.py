"""Control flow of unknown sizes, compiled: every structure with every kind of step, values and first and second derivatives.

Each function is called with three rows, none, one, and three again, so that what one call leaves behind would show in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.fuzz.derive import Wanted, measure, plain

WIDTH = 3
ROWS = (3, 0, 1, 3)
W = np.linspace(-0.9, 1.1, WIDTH * WIDTH).reshape(WIDTH, WIDTH)
Step = Callable[[Any, Any], Any]

# Steps keep the shape of p, which may be rows or one row; w is a variable.
STEPS: dict[str, Step] = {
    "elementwise": lambda p, w: tf.sin(p) * tf.exp(w[0]) + 0.5 * p,
    "product": lambda p, w: tf.tanh(tf.tensordot(p, tf.sin(w), 1)) + p,
    "reduced": lambda p, w: tf.sin(p) + tf.reduce_sum(p * w[1], -1, keepdims=True),
    "host": lambda p, w: tf.cumsum(tf.sort(p, -1) * w[2], -1) * 0.3 + p,
    "branching": lambda p, w: tf.cond(
        tf.reduce_sum(p) > 0.4, lambda: tf.sin(p) * w[0], lambda: 0.3 * tf.tanh(p) - w[1]
    ),
    "sized": lambda p, w: tf.sin(p) * tf.cast(tf.size(p) + 1, p.dtype) * 0.1 + w[0],
}


def _converted_branch(step: Step, x: Any, w: Any) -> Any:
    if tf.reduce_sum(x) > 0.3:
        y = step(x, w)
    elif tf.shape(x)[0] < 1:
        y = x * 2.0
    else:
        y = step(x, w) * 0.5 - x
    return y


def _converted_loop(step: Step, x: Any, w: Any) -> Any:
    n = tf.shape(x)[0]
    for _ in tf.range(n):
        x = tf.tanh(step(x, w))
    return x


def _converted_break(step: Step, x: Any, w: Any) -> Any:
    k = tf.constant(0)
    while k < 5:
        if tf.reduce_sum(tf.abs(x)) > 4.0:
            break
        x = 1.25 * tf.tanh(step(x, w)) + 0.1
        k += 1
    return x


def _converted_rows(step: Step, x: Any, w: Any) -> Any:
    total = tf.zeros([WIDTH], tf.float64)
    for row in x:
        if row[0] > 2.0:
            continue
        total = tf.tanh(step(row, w)) + 0.5 * total
    return total


def _converted_array(step: Step, x: Any, w: Any) -> Any:
    made = tf.TensorArray(tf.float64, size=tf.shape(x)[0], element_shape=[WIDTH])
    for k in tf.range(tf.shape(x)[0]):
        made = made.write(k, step(x[k], w))
    return made.stack()


def _growing(step: Step, x: Any, w: Any) -> Any:
    shapes = (tf.TensorShape([]), tf.TensorShape([None, WIDTH]))
    return tf.while_loop(
        lambda i, p: i < 2,
        lambda i, p: (i + 1, tf.concat([tf.tanh(step(p, w)), p[:1]], 0)),
        (tf.constant(0), x),
        shape_invariants=shapes,
    )[1]


STRUCTURES: dict[str, Callable[[Step, Any, Any], Any]] = {
    "cond_by_value": lambda step, x, w: tf.cond(
        tf.reduce_sum(x) > 0.3, lambda: step(x, w), lambda: tf.cos(x) * 2.0
    ),
    "cond_by_size": lambda step, x, w: tf.cond(tf.shape(x)[0] > 1, lambda: step(x, w), lambda: x * w[0]),
    "switch_case": lambda step, x, w: tf.switch_case(
        tf.shape(x)[0], [lambda: x + w[0], lambda: step(x, w), lambda: x * x, lambda: step(tf.sin(x), w)]
    ),
    "while_known": lambda step, x, w: tf.while_loop(
        lambda i, p: i < 3, lambda i, p: (i + 1, tf.tanh(step(p, w))), (0, x)
    )[1],
    "while_by_size": lambda step, x, w: tf.while_loop(
        lambda i, p: i < tf.shape(x)[0], lambda i, p: (i + 1, tf.tanh(step(p, w))), (0, x)
    )[1],
    "while_by_value": lambda step, x, w: tf.while_loop(
        lambda i, p: tf.logical_and(i < 4, tf.reduce_sum(tf.abs(p)) < 6.0),
        lambda i, p: (i + 1, tf.tanh(step(p, w)) + 1.2 * p),
        (0, x),
    )[1],
    "growing": _growing,
    "map_fn": lambda step, x, w: tf.map_fn(lambda row: step(row, w), x),
    "scan": lambda step, x, w: tf.scan(
        lambda a, row: tf.tanh(step(a, w) + row), x, initializer=tf.zeros([WIDTH], tf.float64)
    ),
    "foldr": lambda step, x, w: tf.foldr(
        lambda a, row: tf.tanh(step(row, w) + a), x, initializer=tf.zeros([WIDTH], tf.float64)
    ),
    "vectorized_map": lambda step, x, w: tf.vectorized_map(lambda row: tf.sin(step(row, w)), x),
    "converted_branch": _converted_branch,
    "converted_loop": _converted_loop,
    "converted_break": _converted_break,
    "converted_rows": _converted_rows,
    "converted_array": _converted_array,
}
ONE_ROW_AT_LEAST = {"map_fn"}  # eagerly it does not know what a row of none would be


def _ways(structure: str, step: str) -> tuple[bool, bool]:
    """Whether tapes are inside of what is compiled, and outside of it. Every structure has two kinds of steps both ways, and each
    of the others one way: those of the same kind take turns, so that every kind is in half of the structures each way."""
    place = (list(STRUCTURES).index(structure) + list(STEPS).index(step)) % 2
    both = step in ("product", "host")
    return both or place == 0, both or place == 1


@pytest.fixture(autouse=True)
def only_what_asks_is_compiled() -> Iterator[None]:
    before = tf.config.jit()
    tf.config.set_jit("never")
    yield
    tf.config.set_jit(before)


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("step", STEPS)
def test_compiled_control_flow_of_unknown_sizes_gives_what_eager_calls_give(
    structure: str, step: str
) -> None:
    w = tf.Variable(W)
    build, body = STRUCTURES[structure], STEPS[step]

    def program(x: Any) -> Any:
        return build(body, x, w)

    def inside(x: Any) -> Any:
        return measure(tf, traced, [x], [w], Wanted())

    specs = [tf.TensorSpec([None, WIDTH], tf.float64)]
    traced = tf.function(program)
    outer = tf.function(program, input_signature=specs, jit_compile=True)
    whole = tf.function(inside, input_signature=specs, jit_compile=True)
    inside_too, outside_too = _ways(structure, step)
    for call, rows in enumerate(ROWS):
        if not rows and structure in ONE_ROW_AT_LEAST:
            continue
        x = tf.constant(np.random.default_rng(call).uniform(-1.0, 1.0, (rows, WIDTH)))
        want = plain(measure(tf, program, [x], [w], Wanted()))
        found = {}
        if outside_too:
            found["tapes outside"] = plain(measure(tf, outer, [x], [w], Wanted()))
        if inside_too:
            found["tapes inside"] = plain(whole(x))
        for name, got in found.items():
            for key, y in want.items():
                where = f"{name}, call {call} with {rows} rows, {key}"
                if y is None:  # a trace sees the branch that does not run
                    assert got[key] is None or not np.any(got[key]), where
                    continue
                assert got[key] is not None and got[key].shape == y.shape, where
                np.testing.assert_allclose(got[key], y, 1e-11, 1e-13, err_msg=where)
