"""An op that scatters a gradient back checks it: a gradient whose shape or dtype differs from the result's is refused, whether
shapes are known or not."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.core.errors import GraphadError
from graphad.core.registry import all_ops
from graphad.core.spec import TensorSpec
from graphad.ops.elementwise import Elementwise

I, B = "int32", "bool"
IMAGE = TensorSpec([2, 4, 4, 3])
POOL = {"window": (2, 2), "strides": (2, 2), "padding": "VALID", "dilations": (1, 1)}
CONVOLUTION = {"strides": (1, 1), "padding": "VALID", "dilations": (1, 1)}

# name: attributes, inputs, which input is the gradient
CASES = {
    "avg_pool_grad": (POOL | {"dims": (2, 4, 4, 3)}, [TensorSpec([2, 2, 2, 3])], 0),
    "max_pool_grad": (POOL, [IMAGE, TensorSpec([2, 2, 2, 3])], 1),
    "max_pool_pick": (POOL, [IMAGE, IMAGE], 1),
    "convolution_filter_grad": (CONVOLUTION | {"dims": (3, 3, 3, 5)}, [IMAGE, TensorSpec([2, 2, 2, 5])], 1),
    "convolution_input_grad": (
        CONVOLUTION | {"dims": (2, 4, 4, 3)},
        [TensorSpec([2, 2, 2, 5]), TensorSpec([3, 3, 3, 5])],
        0,
    ),
    "patches_sum": (
        CONVOLUTION | {"window": (3, 3), "dims": (2, 4, 4, 3)},
        [TensorSpec([2, 2, 2, 3, 3, 3])],
        0,
    ),
    "gather_grad": ({"axis": 1, "batch_dims": 0, "shape": (2, 5, 3)}, [TensorSpec([2, 4, 3]), TensorSpec([4], I)], 0),
    "gather_grad, a size given": (
        {"axis": 1, "batch_dims": 0, "shape": (2, ("at", 1, 1), 3)},
        [TensorSpec([2, 4, 3]), TensorSpec([4], I), TensorSpec([3], I)],
        0,
    ),
    "take_along_axis_grad": ({"axis": 1, "shape": (2, 5)}, [TensorSpec([2, 3]), TensorSpec([2, 3], I)], 0),
    "take_along_axis_grad, a size given": (
        {"axis": 1, "shape": (2, ("at", 1, 1))},
        [TensorSpec([2, 3]), TensorSpec([2, 3], I), TensorSpec([2], I)],
        0,
    ),
    "sparse_cross_entropy_grad": ({}, [TensorSpec([2], I), TensorSpec([2, 3]), TensorSpec([2])], 2),
    "scatter_nd": ({"shape": (5, 3), "batch_dims": 0}, [TensorSpec([4, 1], I), TensorSpec([4, 3])], 1),
    "unsorted_segment_sum": ({"num": 3, "batch_dims": 0}, [TensorSpec([4, 3]), TensorSpec([4], I)], 0),
}  # fmt: skip
# The size of their result is that of the gradient: only a count can be compared, in `eval`.
COUNTED = {
    "slice_grad",
    "repeat_grad",
    "boolean_mask_grad",
    "mirror_pad_grad",
    "pad_inner",
    "segment_gather",
    "diagonal_put",
}
# Only the gradient determines the dtype of the result.
OF_ITS_DTYPE = {
    "gather_grad",
    "gather_grad, a size given",
    "scatter_nd",
    "take_along_axis_grad",
    "take_along_axis_grad, a size given",
}
OF_ITS_DTYPE |= {"unsorted_segment_sum", "avg_pool_grad", "max_pool_grad", "max_pool_pick", "patches_sum"}
# Compared with the part at the key where a file is read, and where it runs.
BY_KEY = {"getitem_grad"}
SUMS = {"sum_to"}


def made(name):
    attributes, inputs, place = CASES[name]
    op_class = all_ops()[name.partition(",")[0]]
    return op_class(*[attributes[field] for field in op_class.attributes]), inputs, place


def test_every_op_of_a_gradient_is_here():
    def is_one(name, kind):
        words = f"{name} {kind.__doc__}"
        return not issubclass(kind, Elementwise) and (
            "_grad" in name or "transpose of" in words.replace("conjugate transpose of", "")
        )

    ours = {name: kind for name, kind in all_ops().items() if kind.__module__.startswith("graphad.")}
    found = {name for name, kind in ours.items() if is_one(name, kind)}
    known = {*CASES, *COUNTED, *BY_KEY, *SUMS, "stop_gradient", "custom_gradient"}
    assert found <= known, found - known


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_like_the_result_is_taken(name):
    op, inputs, place = made(name)
    assert op.infer(*inputs)
    for dims in (None, [None] * len(inputs[place].dims)):
        assert op.infer(*inputs[:place], TensorSpec(dims), *inputs[place + 1 :])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["larger", "one", "longer", "shorter"])
def test_a_gradient_of_another_shape_is_refused(name, how):
    op, inputs, place = made(name)
    dims = list(inputs[place].dims)
    if how == "larger":
        dims[0] += 7
    elif how == "one":  # NumPy would broadcast it
        dims = [1] * len(dims)
    elif how == "longer":
        dims = [1, *dims] if name != "unsorted_segment_sum" else [9, *dims]
    else:
        dims = dims[1:]
    with pytest.raises(GraphadError, match=r"[a-z_0-9]+: "):
        op.infer(*inputs[:place], TensorSpec(dims), *inputs[place + 1 :])


@pytest.mark.parametrize("name", sorted(CASES.keys() - OF_ITS_DTYPE))
def test_a_gradient_of_another_dtype_is_refused(name):
    op, inputs, place = made(name)
    with pytest.raises(GraphadError, match=r"[a-z_0-9]+: "):
        op.infer(*inputs[:place], TensorSpec(inputs[place].dims, "float64"), *inputs[place + 1 :])


def op_of(name, **attributes):
    op_class = all_ops()[name]
    return op_class(*[attributes[field] for field in op_class.attributes])


F = np.ones([2, 3], np.float32)


@pytest.mark.parametrize(
    "op, values",
    [
        (op_of("repeat_grad", axis=1), [F, np.array([1, 1], np.int32)]),
        (op_of("repeat_grad", axis=1), [F, np.array([-1, 4], np.int32)]),
        (op_of("boolean_mask_grad", axis=0), [F[:1], np.array([True, True])]),  # NumPy would broadcast it
        (op_of("pad_inner", paddings=(("all", 1),)), [F, np.array([[0, 0], [2, 2]], np.int32)]),
        (op_of("pad_inner", paddings=(("all", 1),)), [F, np.array([[0, 0], [-1, 0]], np.int32)]),
        (op_of("pad_inner", paddings=(("all", 1),)), [F, np.array([[0, 0]], np.int32)]),
        (op_of("split", sizes=(2, ("at", 1)), axis=1), [F, np.int32(2)]),
        (op_of("split", sizes=(("at", 1, 1),), axis=1), [F, np.array([2, 7], np.int32)]),
        (op_of("split", sizes=(("at", 1, 0), -1), axis=1), [F, np.array([4], np.int32)]),
        (op_of("split", sizes=(("at", 1, 0), -1), axis=1), [F, np.array([-1], np.int32)]),
        (op_of("split", sizes=2, axis=1), [F]),
        (op_of("getitem_grad", key=(0,), shape=(2, 3)), [F[:, :1]]),  # NumPy would broadcast it
        (op_of("getitem_grad", key=(("at", 1),), shape=(("at", 2), 3)), [F[:, :1], np.int32(0), np.int32(2)]),
        (op_of("getitem_grad", key=(2,), shape=(2, 3)), [F[0]]),
        (op_of("getitem_grad", key=(("at", 1),), shape=(2, 3)), [F[0], np.int32(2)]),
        (
            op_of("getitem_grad", key=(("slice", 0, 1, None, None),), shape=(("at", 1), 3)),
            [F[:1], np.int32(-2)],
        ),
        (op_of("slice_update", key=(0,)), [F, F[0, :1]]),  # the same
        (op_of("transpose", perm=(("at", 1), 0)), [F, np.int32(-2)]),
        (op_of("transpose", perm=(("at", 1), 0)), [F, np.int32(2)]),
    ],
)
def test_counts_are_compared_when_it_runs(op, values):
    with pytest.raises(GraphadError, match=f"{op.name}: |repeat: |getitem: "):
        op.eval(*values)


@pytest.mark.parametrize(
    "op, specs",
    [
        (op_of("mirror_pad_grad", paddings=((2, 2),), mode="reflect"), [TensorSpec([3])]),
        (op_of("mirror_pad_grad", paddings=((2, 2),), mode="reflect"), [TensorSpec([6])]),
        (op_of("mirror_pad_grad", paddings=((2, 2),), mode="reflect"), [TensorSpec([6, 6])]),
        (op_of("segment_gather", batch_dims=1), [TensorSpec([2, 3]), TensorSpec([4, 3], I)]),
        (op_of("segment_gather", batch_dims=1), [TensorSpec([2]), TensorSpec([2, 3], I)]),
        (op_of("segment_gather", batch_dims=0), [TensorSpec([2, 3]), TensorSpec([4])]),
        (op_of("boolean_mask_grad", axis=0), [TensorSpec([2]), TensorSpec([3])]),
        (op_of("boolean_mask_grad", axis=0), [TensorSpec([2]), TensorSpec([], B)]),
        (op_of("repeat_grad", axis=3), [TensorSpec([2]), TensorSpec([2], I)]),
        (op_of("repeat_grad", axis=0), [TensorSpec([2]), TensorSpec([2])]),
        (op_of("take_along_axis", axis=0), [TensorSpec([3, 5]), TensorSpec([2, 1], I)]),
    ],
)
def test_what_no_result_can_be_is_refused(op, specs):
    with pytest.raises(GraphadError, match=r"[a-z_0-9]+: "):
        op.infer(*specs)


def test_ids_in_batches_keep_their_derivative_with_unknown_sizes():
    from graphad.core.bind import bind
    from graphad.core.convert import lift
    from graphad.gradient.tape import GradientTape
    from graphad.trace.tracer import trace_flat

    op = op_of("segment_gather", batch_dims=1)
    ids = lift(np.array([[0, 0, 1], [1, 1, 1]], np.int32))

    def slope(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = bind(op, x, ids)
        return [tape.gradient(y, x)]

    graph = trace_flat(slope, [TensorSpec([2, None])]).graph
    from graphad.graph.evaluate import evaluate

    captures = [ids.data] * (len(graph.inputs) - 1)
    assert evaluate(graph, [F[:, :2], *captures])[0].tolist() == [[2, 1], [0, 3]]


@pytest.mark.parametrize(
    "sizes", [TensorSpec([3], B), TensorSpec([3]), TensorSpec([3, 1], I), TensorSpec([], I)]
)
def test_a_split_has_an_integer_for_each_output(sizes):
    with pytest.raises(GraphadError, match="split: "):
        op_of("split", sizes=tuple([("at", 1, i) for i in range(3)]), axis=0).infer(TensorSpec([6]), sizes)


def test_a_split_of_unknown_sizes_has_as_many_when_it_runs():
    with pytest.raises(GraphadError, match="split: "):
        op_of("split", sizes=tuple([("at", 1, i) for i in range(3)]), axis=0).eval(
            F[0], np.array([1, 2], np.int32)
        )


def test_an_op_gives_as_many_outputs_as_the_graph_says():
    from graphad.compiler.plan.host import HostPlan
    from graphad.core.errors import InternalError
    from graphad.graph.evaluate import evaluate
    from graphad.graph.ir import Graph, Node

    spec = TensorSpec([None])
    node = Node(op_of("unstack", num=2, axis=0), (0,), 1, (spec,), None)
    graph = Graph([TensorSpec([None, None])], [], [node], (1,))
    for run in (lambda: evaluate(graph, [F]), lambda: HostPlan(graph, {}).run([F])):
        with pytest.raises(InternalError, match="unstack: it gave 2 outputs where its graph says 1"):
            run()


def test_sizes_in_a_narrow_dtype_are_not_known_beforehand():
    from graphad.core.dtypes import as_dtype
    from graphad.graph.builder import GraphBuilder
    from graphad.trace.folded import learn

    for dtype, known in (("uint8", False), ("int32", True)):
        builder = GraphBuilder()
        serial = builder.add_input(TensorSpec([300, None]))
        learn(builder, op_of("shape", dtype=as_dtype(dtype)), [serial], [TensorSpec([2], dtype)], 7)
        assert (7 in builder.folded) is known
