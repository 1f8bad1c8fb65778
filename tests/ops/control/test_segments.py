"""Places by name: which of a loop's operands and results are which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphad as tf
from graphad.core.op import Op
from graphad.ops.control.cond import Cond
from graphad.ops.control.loop import Loop
from graphad.ops.control.segments import Segments
from graphad.trace.tracer import trace_flat

ROOT = Path(__file__).parents[3]


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


def test_the_last_segment_may_have_no_end() -> None:
    places = Segments(predicate=1, operands=None)
    assert places.predicate("abc") == "a" and places.operands("abc") == "bc" and places.operands("a") == ""
    assert places.operands[4] == 5 and places.operands.number(5) == 4 and 0 not in places.operands
    assert 10**9 in places.operands and places.total == 1
    for of_all in (len, list):
        with pytest.raises(tf.errors.InternalError, match="without an end"):
            of_all(places.operands)


def test_branches_take_what_stands_behind_the_predicate() -> None:
    def program(x, y):
        return [tf.cond(x > 0.0, lambda: x * y, lambda: y)]

    graph = trace_flat(program, [tf.TensorSpec([]), tf.TensorSpec([3])]).graph
    (node,) = [node for node in graph.nodes if isinstance(node.op, Cond)]
    op = node.op
    assert [graph.specs[i] for i in op.passed(node.inputs)] == list(op.then_graph.inputs)
    assert [graph.specs[i].dtype for i in op.inputs.predicate(node.inputs)] == [tf.bool]


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
    assert len(op.passed(node.inputs)) == len(op.body.inputs) == op.operands.total
    for k, result in zip(op.outputs.ys, op.results.ys, strict=True):
        assert op.stack_of(result) == k and op.slice_in(k) == result


def test_a_changed_op_is_the_one_with_these_attributes() -> None:
    a = trace_flat(lambda x: [x * 2.0], [tf.TensorSpec([3])]).graph
    op = Loop(None, a, 1, 0, 0, False, 4, -1)
    assert op.changed(reverse=True) is Loop(None, a, 1, 0, 0, True, 4, -1)
    assert op.changed() is op and isinstance(op, Op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="n_carry"):
        op.changed(n_carry=-1)


# What an op's rule, and a pass that rewrites ops with graphs, has for each operand or result.
SEQUENCES = {
    "axes",
    "inputs",
    "needs",
    "operands",
    "outputs",
    "reads",
    "results",
    "specs",
    "values",
    "x_dots",
    "y_bars",
}
ASKED = {"needs", "operand", "row_spec", "shape", "slice_operand", "stacked", "zeros"}


def counted_places(text: str) -> Iterator[int]:
    """The lines that cut such a sequence at a number, or compute a place in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript):
            name = getattr(node.value, "attr", getattr(node.value, "id", None))
            if name in SEQUENCES and isinstance(node.slice, ast.Slice | ast.BinOp):
                yield node.lineno
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in ASKED and node.args:
            if isinstance(node.args[0], ast.BinOp):
                yield node.lineno


def test_ops_with_graphs_have_names_for_their_places() -> None:
    paths = [path for path in (ROOT / "graphad/ops/control").glob("*.py") if path.name != "segments.py"]
    passes = "branches counters hoist lengths variables walks windows".split()
    paths += [ROOT / f"graphad/compiler/passes/{name}.py" for name in passes]
    paths += [ROOT / "graphad/vectorize/vectorize_graph.py", ROOT / "graphad/gradient/host.py"]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        for line in counted_places(path.read_text(encoding="utf-8"))
    ]
    assert not found, "declare the segments of the op, as `Segments`"


@pytest.mark.parametrize(
    "text",
    ["specs[1:]", "ctx.inputs[k + 1]", "node.inputs[: op.n_inputs]", "ctx.stacked(n + k)", "y_bars[:-1]"],
)
def test_such_places_are_found(text: str) -> None:
    assert list(counted_places(text)) == [1]


def test_names_are_not_taken_for_such_places() -> None:
    assert not list(counted_places("op.passed(specs); ctx.inputs[places.xs[0]]; ctx.stacked(op.passed[k])"))
