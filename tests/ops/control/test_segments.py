"""Places by name: which of a loop's operands and results are which."""

from __future__ import annotations

import pytest

import graphad as tf
from graphad.core.op import Op
from graphad.ops.control.loop import Loop
from graphad.ops.control.segments import Segments
from graphad.trace.tracer import trace_flat


def test_segments_follow_each_other() -> None:
    places = Segments(limit=1, carries=2, xs=0, ys=3)
    values = list("abcdef")
    assert (places.limit(values), places.carries(values), places.xs(values), places.ys(values)) == (
        ["a"],
        ["b", "c"],
        [],
        ["d", "e", "f"],
    )
    assert list(places.carries) == [1, 2] and len(places.xs) == 0 and places.ys[1] == 4 and places.total == 6
    assert 2 in places.carries and 3 not in places.carries and 3 not in places.xs
    with pytest.raises(AttributeError, match="no segment 'tails', only carries, limit, total, xs, ys"):
        places.tails


def test_a_loop_knows_its_own() -> None:
    def program(x, rows):
        step = lambda y, row: tf.tanh(y + tf.matmul(row[None], tf.transpose(x))[0])  # noqa: E731
        return [tf.scan(step, rows, initializer=tf.zeros([2]))]

    graph = trace_flat(program, [tf.TensorSpec([2, 3]), tf.TensorSpec([5, 3])]).graph
    (node,) = [node for node in graph.nodes if isinstance(node.op, Loop)]
    op: Loop = node.op
    assert op.inputs.total == len(node.inputs) and op.outputs.total == len(node.specs) == op.n_outputs
    assert op.operands.total == len(op.body.inputs) and op.results.total == len(op.body.outputs)
    assert [graph.specs[i].dims for i in op.inputs.xs(node.inputs)] == [(5, 3)]
    assert [spec.dims for spec in op.outputs.ys(node.specs)] == [(5, 2)]
    assert [spec.dtype for spec in op.outputs.count(node.specs)] == [tf.int32]
    assert [spec.dims for spec in op.operands.carries(op.body.inputs)] == [(2,)]


def test_a_changed_op_is_the_one_with_these_attributes() -> None:
    a = trace_flat(lambda x: [x * 2.0], [tf.TensorSpec([3])]).graph
    op = Loop(None, a, 1, 0, 0, False, 4, -1)
    assert op.changed(reverse=True) is Loop(None, a, 1, 0, 0, True, 4, -1)
    assert op.changed() is op and isinstance(op, Op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="n_carry"):
        op.changed(n_carry=-1)
