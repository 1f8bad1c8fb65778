"""Ops whose sizes, lengths or positions are values: stacks of rows give what a loop over the rows gives, in every mode.

The ops are bound as they are: in user code most of them stand only in graphs with unknown sizes.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind, bind_all
from graphad.core.op import Op
from graphad.core.registry import all_ops, lookup
from graphad.errors import FailedPreconditionError, MissingRuleError
from tests.support.op_case import _check_rows_of_node

N = 3


def real(*shape: int) -> Any:
    return np.sin(1.0 + np.arange(np.prod(shape, dtype=int)) ** 2.0).reshape(shape).astype(np.float32)


def ints(*values: Any) -> Any:
    return np.array(values, np.int32)


def op(name: str, *attributes: Any) -> Op:
    return lookup(name)(*attributes)  # type: ignore[no-any-return]


AT = ("at", 1)
ALL = ("slice", None, None, None, None)
F32, I32 = tf.float32, tf.int32
ids = ints(1, 0, 2)
# Each op with the inputs of one row. Those named `stacked` get rows of their own; by default every floating one.
PLAIN: list[tuple[Any, list[Any]]] = [
    (op("broadcast_to", (("all", 1),)), [real(2, 1), ints(3, 2, 4)]),
    (op("broadcast_to", (("at", 1, 0), 3)), [real(2, 1), ints(2, 3)]),
    (op("reshape", (("all", 1),)), [real(2, 3), ints(3, -1)]),
    (op("reshape", (("at", 1, 0), 2)), [real(2, 3), ints(3, 2)]),
    (op("sum_to", (("all", 1),)), [real(4, 2, 3), ints(2, 1)]),
    (op("sum_to", (("all", 1),)), [real(2, 3), ints(2, 3)]),
    (op("sum_to", (("all", 1),)), [real(2, 3), np.zeros(0, np.int32)]),
    (op("transpose", (("all", 1),)), [real(2, 3, 4), ints(2, 0, -2)]),
    (op("transpose", (("at", 1, 0), ("at", 2), 1)), [real(2, 3, 4), ints(-1, 7), np.int32(0)]),
    (op("split", (("at", 1, 0), ("at", 2, 0)), 0), [real(5, 2), ints(2, 2), ints(3, 2)]),
    (op("split", (1, ("at", 1)), -1), [real(5, 3), np.int32(2)]),
    (op("split", 2, 0), [real(4, 3)]),
    (op("split", (("at", 1, 0), ("at", 1, 1)), -1), [real(4, 3), ints(1, -1)]),
    (op("split", (-1, ("at", 1)), -1), [real(4, 3), np.int32(2)]),
    (op("gather_grad", 0, 0, (("all", 1),)), [real(3, 2), ids, ints(4, 2)]),
    (op("gather_grad", 1, 1, (2, ("at", 1, 1))), [real(2, 3), ints([1, 0, 2], [0, 0, 1]), ints(2, 4)]),
    (op("gather_grad", -1, 0, (("all", 1),)), [real(2, 3), ids, ints(2, 4)]),
    (op("scatter_nd", (("all", 1),), 0), [ints([1], [0]), real(2, 3), ints(4, 3)]),
    (op("scatter_nd", (2, ("at", 1, 1)), 1), [ints([[1]], [[0]]), real(2, 1), ints(2, 3)]),
    (op("take_along_axis_grad", 0, (("all", 1),)), [real(2, 3), ints([1, 0, 2], [0, 0, 1]), ints(4, 3)]),
    (op("take_along_axis_grad", -1, (("all", 1),)), [real(2, 3), ints([1, 0, 2], [0, 0, 1]), ints(2, 4)]),
    (op("unsorted_segment_sum", ("at", 1), 0), [real(3, 2), ids, np.int32(4)]),
    (op("unsorted_segment_sum", ("at", 1), 1), [real(2, 3, 2), ints([1, 0, -1], [0, 0, 1]), np.int32(3)]),
    (op("getitem_grad", (1,), (("all", 1),)), [real(3), ints(2, 3)]),
    (op("getitem_grad", (("slice", 1, 3, None, None),), (("at", 1, 0), 3)), [real(2, 3), ints(4, 3)]),
    (op("getitem_grad", (AT,), (("all", 2),)), [real(3), np.int32(1), ints(2, 3)]),
    (op("getitem_grad", (AT,), (2, 3)), [real(3), np.int32(1)]),
    (op("getitem", (AT,)), [real(4, 3), np.int32(2)]),
    (op("getitem", (ALL, AT)), [real(4, 3), np.int32(-1)]),
    (op("getitem", (("slice", ("at", 1, 0), ("at", 1, 1), None, 2),)), [real(4, 3), ints(1, 3)]),
    (op("slice_update", (1,)), [real(2, 3), real(3)]),
    (op("slice_update", (AT,)), [real(2, 3), real(3), np.int32(1)]),
    (op("pad", (("all", 1),)), [real(2, 3), np.float32(0.5), ints([1, 0], [0, 2])]),
    (op("pad_inner", (("all", 1),)), [real(4, 3), ints([1, 0], [0, 2])]),
    (op("tile", (("all", 1),)), [real(2, 3), ints(2, 3)]),
    (op("tensor_scatter_nd_update", 0), [real(4, 2), ints([2], [0]), real(2, 2)]),
    (op("tensor_scatter_nd_update", 1), [real(2, 3), ints([[1]], [[0]]), real(2, 1)]),
    (op("one_hot", ("at", 1), 0), [ints(1, 0, 2), real(), np.float32(0.25), np.int32(3)]),
    (op("one_hot", ("at", 1), -1), [ints([1, 0]), real(), np.float32(0.25), np.int32(3)]),
    (op("eye", ("at", 1), ("at", 2), F32), [np.int32(2), np.int32(3)]),
    (op("range"), [np.int32(1), np.int32(7), np.int32(2)]),
    (op("unit_steps", ("at", 1), F32), [np.int32(3)]),
    (op("split_key", 2), [np.array([5, 6], np.int64)]),
    (op("split_key", ("at", 1)), [np.array([5, 6], np.int64), np.int32(2)]),
    (op("top_indices", ("at", 1), I32), [real(2, 5), np.int32(3)]),
    (op("draw", "uniform", (("all", 1),), F32), [np.array([5, 6], np.int64), ints(2, 3)]),
    (op("draw", "normal", (2, 3), F32), [np.array([5, 6], np.int64)]),
    (op("block_bounds"), [ints(4, 5), ints(1, 2), ints(-1, 2)]),
]  # fmt: skip


def stacks_of(inputs: list[Any]) -> list[Any]:
    """Every input with N rows: other numbers where they are real, else the same ones, so that the shapes stay the same."""
    return [
        np.stack([x * (1 + 0.25 * k) if x.dtype.kind == "f" else x for k in range(N)]).astype(x.dtype)
        for x in inputs
    ]


def choices(inputs: list[Any]) -> list[tuple[int, ...]]:
    """Which inputs have rows: each of them alone, and all; the first and the second too."""
    n = len(inputs)
    return sorted({*[(i,) for i in range(n)], tuple(range(n)), tuple(range(min(2, n)))})


CASES = [
    pytest.param(made, inputs, chosen, id=f"{made.name}-{k}-{''.join(map(str, chosen))}")
    for k, (made, inputs) in enumerate(PLAIN)
    for chosen in choices(inputs)
]


def looped(made: Any, inputs: list[Any], chosen: tuple[int, ...]) -> list[Any]:
    stacks = stacks_of(inputs)
    rows = [
        bind_all(
            made, [tf.constant(s[k] if i in chosen else x) for i, (s, x) in enumerate(zip(stacks, inputs))]
        )
        for k in range(N)
    ]
    return [np.stack([np.asarray(row[j]) for row in rows]) for j in range(len(rows[0]))]


def mapped(made: Any, given: list[Any], chosen: tuple[int, ...]) -> Any:
    def row(own: Any) -> Any:
        left = iter(own)
        return bind_all(made, [next(left) if i in chosen else x for i, x in enumerate(given)])

    return tf.vectorized_map(row, tuple(given[i] for i in chosen))


def given_for(inputs: list[Any], chosen: tuple[int, ...]) -> list[Any]:
    stacks = stacks_of(inputs)
    return [tf.constant(stacks[i] if i in chosen else x) for i, x in enumerate(inputs)]


@pytest.mark.parametrize(("made", "inputs", "chosen"), CASES)
def test_rows_at_once_agree_with_a_loop_in_every_mode(made: Any, inputs: list[Any], chosen: Any) -> None:
    want = looped(made, inputs, chosen)
    given = given_for(inputs, chosen)
    specs = [
        tf.TensorSpec([None, *x.shape] if i in chosen else x.shape, tf.constant(x).dtype)
        for i, x in enumerate(inputs)
    ]
    unknown = [
        tf.TensorSpec([None] * (np.ndim(x) + (i in chosen)), tf.constant(x).dtype)
        for i, x in enumerate(inputs)
    ]
    modes = [
        lambda *xs: mapped(made, list(xs), chosen),
        tf.function(lambda *xs: mapped(made, list(xs), chosen)),
        tf.function(lambda *xs: mapped(made, list(xs), chosen), input_signature=specs),
        tf.function(lambda *xs: mapped(made, list(xs), chosen), input_signature=unknown),
    ]
    for mode in modes:
        for found, wanted in zip(mode(*given), want, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("made", "inputs", "chosen"), CASES)
def test_gradients_of_rows_at_once_agree_with_a_loop(made: Any, inputs: list[Any], chosen: Any) -> None:
    sources = [i for i in chosen if inputs[i].dtype.kind == "f"]
    if made.gradless is not None or not sources:
        pytest.skip("no derivative")
    given, stacks = given_for(inputs, chosen), stacks_of(inputs)
    with tf.GradientTape() as tape:
        tape.watch([given[i] for i in sources])
        outputs = mapped(made, given, chosen)
        loss = tf.add_n([tf.reduce_sum(y * tf.sin(y)) for y in outputs])
    found = tape.gradient(loss, [given[i] for i in sources])
    for k in range(N):
        row = [tf.constant(stacks[i][k] if i in chosen else x) for i, x in enumerate(inputs)]
        with tf.GradientTape() as tape:
            tape.watch([row[i] for i in sources])
            loss = tf.add_n([tf.reduce_sum(y * tf.sin(y)) for y in bind_all(made, row)])
        for g, wanted in zip(found, tape.gradient(loss, [row[i] for i in sources]), strict=True):
            assert (g is None) == (wanted is None)
            if g is not None:
                np.testing.assert_allclose(g[k], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("made", "inputs"), [pytest.param(*c, id=f"{c[0].name}-{k}") for k, c in enumerate(PLAIN)]
)
def test_rows_that_are_named_depend_on_their_own_row_alone(made: Any, inputs: list[Any]) -> None:
    given = [np.asarray(x)[()] for x in inputs]
    outputs = made.eval(*given)
    _check_rows_of_node(types.SimpleNamespace(op=made), given, outputs if made.multiple else (outputs,))


def test_keys_of_rows_in_rows_give_numbers_of_their_own() -> None:
    tf.random.set_seed(7)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x: Any) -> Any:
        return tf.vectorized_map(lambda r: tf.vectorized_map(lambda e: e + tf.random.uniform([]), r), x)

    drawn = np.asarray(f(tf.zeros([4, 5])))
    assert len(np.unique(drawn)) == 20


def test_what_each_row_would_set_differently_is_refused() -> None:
    state = tf.random.Generator.from_seed(1)._state
    with pytest.raises(FailedPreconditionError, match="a different state in every row"):
        tf.vectorized_map(
            lambda key: bind(lookup("random_set_state")(), state, key),
            tf.constant(np.zeros((2, 2), np.int64)),
        )


def test_whole_numbers_between_limits_of_each_row() -> None:
    low = tf.constant([0, 10, 20])

    def row(r: Any) -> Any:
        return tf.random.stateless_uniform([4], [1, 2], r, r + 5, tf.int32)

    np.testing.assert_array_equal(tf.vectorized_map(row, low), np.stack([row(r) for r in low]))


def test_a_reason_for_no_batch_rule_is_given_where_rows_cannot_be_run_one_by_one() -> None:
    from graphad.core.dims import Dim
    from graphad.vectorize.batch import BatchContext, BatchLevel

    rules = [(name, rule) for name, made in all_ops().items() for rule in (made.batch, made.batch_given)]
    reasons = {name: rule.reason for name, rule in rules if hasattr(rule, "reason")}
    assert {"eye", "range", "unit_steps", "read"} <= set(reasons)
    made = lookup("unit_steps")(("at", 1), F32)
    context = BatchContext(BatchLevel(Dim.symbol("rows")), made, [tf.constant(3)], [True])
    with pytest.raises(MissingRuleError, match=f"unit_steps: .*{reasons['unit_steps']}"):
        made.batch(context, tf.constant([3, 3]))


def test_variables_are_read_once_for_all_rows() -> None:
    v = tf.Variable([1.0, 2.0])
    made = tf.function(lambda x: tf.vectorized_map(lambda r: r * v, x)).get_concrete_function(
        tf.TensorSpec([None, 2])
    )
    np.testing.assert_array_equal(made(tf.ones([3, 2])), [[1.0, 2.0]] * 3)
    assert not _reads_batched(lambda: tf.vectorized_map(lambda r: r * v, tf.ones([3, 2])))


def _reads_batched(run: Any) -> list[Any]:
    """What reaches the batch rule of `read` meanwhile."""
    seen: list[Any] = []
    read = lookup("read")
    kept = read.batch
    read.batch = lambda self, ctx, *xs: seen.append(ctx)
    try:
        run()
    finally:
        read.batch = kept
    return seen
