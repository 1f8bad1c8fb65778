"""What a file claims of its own values is compared with what is computed: in both modes, before a native step relies on it."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.errors import GraphadError, InvalidArgumentError
from serialization.schema.graph import NodeRecord
from serialization.schema.values import GraphValue, InlineArray, SpecRecord
from tests.serialization.convert.hostile import SPECS, graph, loaded, model, node, op, refused

VECTOR = SpecRecord("int32", (None,))  # spec 8
WIDE = SpecRecord("float32", (1000,))  # spec 9
LARGE = (*SPECS, VECTOR, WIDE)
CHAIN = [op("exp"), op("mul"), op("sin")]  # what native steps do with a value


def outcomes(records, *arguments, calls=1):
    """What each mode makes of a call: arrays, or the class of the error."""
    found = []
    for jit in (False, True):
        f = loaded(records).f
        f.jit_compile = jit
        for concrete in f.concrete_functions:
            concrete.jit_compile = jit
        for _ in range(calls):
            try:
                result = [np.asarray(y) for y in f(*arguments)]
            except GraphadError as error:
                result = type(error)
            found.append(result)
    return found


def all_refuse(records, *arguments, text=""):
    """No mode gives a result, and both say why in the same class of error."""
    for jit in (False, True):
        f = loaded(records).f
        for concrete in f.concrete_functions:
            concrete.jit_compile = jit
        with pytest.raises(InvalidArgumentError, match=text):
            f(*arguments)


def followed(made, inputs, claim, arguments, graphs=()):
    """A node, and native steps that read its result."""
    first = len(arguments)
    nodes = [
        NodeRecord(0, tuple(inputs), (claim,)),
        NodeRecord(1, (first,), (claim,)),
        NodeRecord(2, (first + 1, first), (claim,)),
    ]
    return model(nodes, [made, *CHAIN], graphs, inputs=arguments, specs=LARGE)


X = np.arange(6, dtype=np.float32)
SIX = np.array([6], np.int32)


FIXED = (1000,)
SIZED = ("at", 1, 0)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (op("reshape", shape=FIXED), "has 6 elements"),
        (op("broadcast_to", shape=FIXED), "does not broadcast to"),
    ],
    ids=lambda x: x.name if hasattr(x, "attributes") else "",
)
def test_a_size_that_a_file_gives_is_the_size_and_what_does_not_fit_is_refused(made, text):
    all_refuse(followed(made, (0,), 9, (6,)), X, text=text)


@pytest.mark.parametrize(
    "made",
    [
        op("gather_grad", axis=0, batch_dims=0, shape=FIXED),
        op("take_along_axis_grad", axis=0, shape=FIXED),
    ],
    ids=lambda made: made.name,
)
def test_zeros_of_a_size_that_a_file_gives_have_that_size_in_both_modes(made):
    records = followed(made, (0, 1), 9, (6, 8))
    numpy, native = outcomes(records, X, np.arange(6, dtype=np.int32))
    assert numpy[0].shape == native[0].shape == FIXED
    np.testing.assert_allclose(numpy[0], native[0], rtol=1e-6)


@pytest.mark.parametrize("wrong", [5, -1, 7])
def test_a_size_that_an_input_gives_is_compared_when_it_runs(wrong):
    records = followed(op("sum_to", shape=(SIZED,)), (0, 1), 1, (6, 8))
    all_refuse(records, X, np.array([wrong], np.int32), text="broadcast_to: |negative size")


def test_a_size_that_an_input_gives_is_the_same_in_both_modes():
    records = followed(op("reshape", shape=(SIZED,)), (0, 1), 1, (6, 8))
    numpy, native = outcomes(records, X, SIX)
    np.testing.assert_allclose(numpy[0], native[0], rtol=1e-6)


def test_an_input_that_gives_fewer_sizes_than_are_asked_for_is_refused():
    records = followed(op("reshape", shape=(SIZED, ("at", 1, 1))), (0, 1), 1, (6, 8))
    all_refuse(records, X, SIX, text="entry 1 of 1 sizes")


@pytest.mark.parametrize(("static", "works"), [(None, True), ((None,), True), ((6,), True), ((1000,), False)])
def test_what_an_older_release_claimed_of_a_shape_is_the_shape(static, works):
    records = followed(op("reshape_to", static=static), (0, 1), 1, (6, 8))
    if works:
        numpy, native = outcomes(records, X, SIX)
        np.testing.assert_allclose(numpy[0], native[0], rtol=1e-6)
    else:
        all_refuse(records, X, SIX, text="has 6 elements")


@pytest.mark.parametrize(
    "shape",
    [
        (("at", 0),), (("at", 1, -1),), (("at", 1, 0, 0),), (("all", 1, 0),), (("all",),), (("every", 1),),
        (("at", 1001),), (("at", 5 * 10**9),), (("at", 2**62, 0),), (("all", 2**40),),
        (("at", 1.0),), (("at", True),), ("at", 1), ("all", 1), ((("at", 1),),), (-2,), (None,),
    ],
)  # fmt: skip
def test_references_that_are_none_are_refused(shape):
    refused(followed(op("reshape", shape=shape), (0, 1), 1, (6, 8)), text="'shape' of op 'reshape'")


@pytest.mark.parametrize("name", ["reshape", "broadcast_to", "sum_to"])
def test_a_shape_longer_than_any_is_not_written_out(name):
    """A size for each of 2**39 entries would take all memory."""
    specs = (*SPECS, SpecRecord("int32", (2**39,)))
    records = model([node(0, [0, 1], (1,))], [op(name, shape=(("all", 1),))], inputs=(6, 8), specs=specs)
    assert loaded(records).f.concrete_functions[0].graph.output_specs[0].dims is None


@pytest.mark.parametrize("perm", [(0, 0), (0, 2), (-1, -3), (1, -1), (1, 0.0), (0, True)])
def test_a_permutation_names_each_axis_once(perm):
    specs = (*SPECS, SpecRecord("float32", (3, 3)), SpecRecord("float32", (None, None)))
    for spec in (8, 9, 1):
        records = model([node(0, [0], (1,))], [op("transpose", perm=perm)], inputs=(spec,), specs=specs)
        refused(records, text="'perm' of op 'transpose'")


def test_new_axes_are_different_ones_whatever_the_rank():
    made = op("expand_dims", axes=(0, -3))
    all_refuse(model([node(0, [0], (1,))], [made], inputs=(1,)), np.ones(1, np.float32), text="twice")


@pytest.mark.parametrize("inputs", [(0,), (0, 1, 1)])
def test_there_are_as_many_inputs_as_sizes_refer_to(inputs):
    refused(followed(op("reshape", shape=(SIZED,)), inputs, 1, (6, 8)), text="takes 2 inputs")


@pytest.mark.parametrize(
    ("shape", "spec"), [((SIZED,), 0), ((SIZED,), 3), ((("at", 1),), 8), ((("all", 1),), 2)]
)
def test_an_input_that_gives_sizes_holds_integers_of_the_right_rank(shape, spec):
    refused(followed(op("reshape", shape=shape), (0, 1), 1, (6, spec)), text="reshape: shape has")


def test_a_size_inside_a_key_is_compared_with_the_slice():
    key = (("slice", ("at", 1), ("at", 2), None, 1000),)
    made = op("getitem", key=key)
    records = followed(made, (0, 1, 2), 9, (6, 3, 3))
    all_refuse(records, X, np.int32(0), np.int32(3), text="was made to have 1000")


def test_a_size_inside_a_key_of_numbers_is_computed():
    made = op("getitem", key=(("slice", 0, 3, None, 1000),))
    refused(followed(made, (0,), 9, (0,)), text="the file says")
    all_refuse(followed(made, (0,), 1, (6,)), X, text="was made to have 1000")


@pytest.mark.parametrize("start", [5, 900, 2**33])
def test_a_block_outside_of_a_value_of_unknown_size_is_never_read(start):
    made = op("slice", starts=(start,), strides=(1,), sizes=(1000,))
    all_refuse(followed(made, (0,), 9, (6,)), X, text="do not lie inside")


@pytest.mark.parametrize("start", [5, 900, 2**33])
def test_a_block_outside_of_a_result_is_never_written(start):
    made = op("slice_grad", starts=(start,), strides=(1,), shape=(8,))
    nodes = [NodeRecord(0, (0,), (1,)), NodeRecord(1, (1,), (1,))]
    all_refuse(model(nodes, [made, *CHAIN], inputs=(6,), specs=LARGE), X, text="do not lie inside")


@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, 0), (0, 2), (-1, -2), (-3, 1)])
def test_diagonals_need_two_axes_in_order(first, second):
    specs = (*SPECS, SpecRecord("float32", (3, 3)), SpecRecord("float32", None))
    made = op("diagonal", first=first, second=second)
    refused(model([node(0, [0], (1,))], [made], inputs=(8,), specs=specs), text="does not take its inputs")
    all_refuse(
        model([node(0, [0], (1,))], [made], inputs=(9,), specs=specs),
        np.ones((3, 3), np.float32),
        text="diagonal: axes",
    )


@pytest.mark.parametrize(("width", "works"), [(2, True), (1, False), (3, False)])
@pytest.mark.parametrize("adjoint", [False, True])
def test_half_a_spectrum_is_as_wide_as_the_size_says_when_it_is_known_late(adjoint, width, works):
    specs = (*SPECS, SpecRecord("complex64", (None, None)))
    made = op("irfft", rank=1, size=2, adjoint=adjoint)
    records = model([node(0, [0], (1,))], [made], inputs=(8,), specs=specs)
    x = np.ones((2, width), np.complex64)
    if works:
        assert [found[0].shape for found in outcomes(records, x)] == [(2, 2)] * 2
    else:
        all_refuse(records, x, text="its last size must be 2")


@pytest.mark.parametrize("equation", ["ii->i", "ii->", "ij,kjj->ik", "...ii->...", "aa"])
def test_no_operand_of_an_equation_has_a_label_twice(equation):
    specs = (*SPECS, SpecRecord("float32", (3, 3)))
    records = model([node(0, [0], (1,))], [op("einsum", equation=equation)], inputs=(8,), specs=specs)
    refused(records, text="'equation' of op 'einsum'")


def test_diagonals_of_unequal_axes_are_refused_when_the_sizes_are_known():
    specs = (*SPECS, SpecRecord("float32", (None, None)))
    made = op("diagonal", first=0, second=1)
    all_refuse(
        model([node(0, [0], (1,))], [made], inputs=(8,), specs=specs),
        np.ones((2, 3), np.float32),
        text="they must be equal",
    )


@pytest.mark.parametrize("spec", [0, 7])
def test_a_signature_lets_in_what_its_graph_takes(spec):
    """The signature would let anything in, the graph says (3,) or (5,) and promises as much of its result."""
    for wider in (1, 6):
        records = model(
            [NodeRecord(0, (0,), (spec,))], [op("exp")], inputs=(spec,), arguments=(wider,), specs=LARGE
        )
        refused(records, text="does not fit its graph")


@pytest.mark.parametrize("spec", [0, 7])
def test_a_call_is_run_for_the_shapes_that_it_takes(spec):
    callee = graph([node(1, [0], (spec,))], inputs=(spec,))
    nodes = [NodeRecord(0, (0,), (spec,)), NodeRecord(1, (1,), (spec,))]
    records = model(nodes, [op("call", graph=GraphValue(0)), *CHAIN], [callee], inputs=(6,), specs=LARGE)
    all_refuse(records, X, text="the graph takes")


@pytest.mark.parametrize("n", [21, 65_536, 2**62])
def test_a_derivative_of_an_order_that_takes_for_ever_is_refused(n):
    made = op("igamma_by_a", n=n)
    refused(
        model([node(0, [0, 0])], [made]),
        text=f"attribute 'n' of op 'igamma_by_a' is {n}, which is not from 1 to 20",
    )
    assert loaded(model([node(0, [0, 0])], [op("igamma_by_a", n=20)])).f is not None


@pytest.mark.parametrize(("name", "attributes"), [
    ("reshape", {"shape": (1,) * 65}),
    ("broadcast_to", {"shape": (3,) * 20_000}),
    ("transpose", {"perm": tuple(range(100))}),
    ("pad", {"paddings": ((0, 0),) * 65}),
    ("getitem", {"key": ("new",) * 200}),
    ("avg_pool", {"window": (1,) * 70, "strides": (1,) * 70, "padding": "SAME", "dilations": (1,) * 70}),
])  # fmt: skip
def test_more_axes_than_a_tensor_may_have_are_refused(name, attributes):
    refused(
        model([node(0, [0])], [op(name, **attributes)]), text="has .* entries; a tensor has at most 64 axes"
    )


def test_a_result_of_more_axes_than_a_tensor_may_have_is_refused():
    made = op("getitem", key=("new",) * 62)
    refused(
        model([node(0, [0], (1,))], [made.replace(attributes=(("key", ("new",) * 64),))]),
        text="65 axes; a tensor has at most 64",
    )
    assert loaded(model([node(0, [0], (1,))], [made])).f is not None


def test_what_a_function_gives_has_no_more_axes_than_a_tensor_may_have():
    specs = (*SPECS, SpecRecord("float32", (1,) * 32), SpecRecord("int32", None))
    twice = [NodeRecord(0, (0, 1), (1,)), NodeRecord(0, (2, 1), (1,))]
    gather = op("gather", axis=0, batch_dims=0, sparse=False)
    arguments = (np.ones((1,) * 32, np.float32), np.zeros((1,) * 32, np.int32))
    all_refuse(model(twice, [gather], inputs=(8, 9), specs=specs), *arguments, text="would have 94 axes")


HELD = {
    "loop": op("loop", test=None, body=GraphValue(0), n_carry=1, n_invariant=0, n_xs=0, reverse=False, steps=None, uniform=-1),
    "cond": op("cond", then_graph=GraphValue(0), else_graph=GraphValue(0), kinds=("both",), depth=0, full=()),
}  # fmt: skip


@pytest.mark.parametrize(("name", "first", "claims"), [("loop", 3, (0, 3)), ("cond", 2, (0,))])
def test_what_an_op_holds_is_run_for_the_shapes_that_it_takes(name, first, claims):
    """Its graph says (3,) of what it takes and gives, and the value has a size that is not known."""
    nodes = [NodeRecord(0, (0, 1), claims)]
    held = graph([node(1, [0])])
    records = model(nodes, [HELD[name], *CHAIN], [held], inputs=(first, 6), specs=LARGE, outputs=(2,))
    given = np.int32(2) if first == 3 else np.bool_(True)
    for found in outcomes(records, given, np.zeros(3, np.float32)):
        assert found[0].shape == (3,)
    all_refuse(records, given, X, text="the graph takes")


# loops


def a_loop(body, inputs, arguments, specs_of_node, outputs, specs=LARGE, **changes):
    fields = {
        "test": None, "body": GraphValue(0), "n_carry": 0, "n_invariant": 0, "n_xs": 0, "reverse": False, "steps": None,
        "uniform": -1,
    } | changes  # fmt: skip
    first = len(arguments)
    nodes = [NodeRecord(0, tuple(inputs), tuple(specs_of_node))]
    return model(
        nodes,
        [op("loop", **fields), *CHAIN],
        [body],
        inputs=arguments,
        specs=specs,
        outputs=tuple(first + k for k in outputs),
    )


SCALAR = SpecRecord("float32", ())  # spec 10
MATRIX = SpecRecord("float32", (None, 3))  # spec 11
LOOPS = (*LARGE, SCALAR, MATRIX)


@pytest.mark.parametrize(("limit", "steps"), [(3, 1000), (3, 0), (5, 3), (0, 3), (-1, 3)])
def test_the_number_of_steps_is_the_limit(limit, steps):
    body = graph([node(1, [0], (10,))], inputs=(10,), outputs=(1,))  # the invariant's exponential, collected
    records = a_loop(body, (0, 1), (3, 10), (3, 1), (1,), LOOPS, n_invariant=1, steps=steps)
    all_refuse(records, np.int32(limit), np.float32(1.0), text="was made for")


@pytest.mark.parametrize("limit", [3, 0, -2])
def test_slices_of_steps_that_did_not_run_are_zero(limit):
    body = graph([node(1, [0], (0,))], inputs=(0,), outputs=(1,))
    records = a_loop(body, (0, 1), (3, 11), (3, 1), (1,), LOOPS, n_xs=1)
    xs = np.ones((5, 3), np.float32)
    np.full((5, 3), 777, np.float32)  # what freed memory would hold
    for found in outcomes(records, np.int32(limit), xs, calls=3):
        assert found[0].shape == (5, 3)
        np.testing.assert_allclose(found[0][: max(limit, 0)], np.e, rtol=1e-6)
        assert not found[0][max(limit, 0) :].any()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("first", "second"), [(5, 2), (2, 5), (100_000, 2), (2, 100_000)])
def test_stacks_of_different_lengths_are_walked_to_the_end_of_the_shortest(first, second, reverse):
    body = graph([node(2, [0, 1], (0,))], inputs=(0, 0), outputs=(2,))
    records = a_loop(body, (0, 1, 2), (3, 11, 11), (3, 1), (1,), LOOPS, n_xs=2, reverse=reverse)
    xs = [np.ones((n, 3), np.float32) for n in (first, second)]
    all_refuse(records, np.int32(max(first, second)), *xs, text="slices")
    for found in outcomes(records, np.int32(2), *xs):
        assert found[0].shape == (first, 3)
        np.testing.assert_array_equal(found[0], np.arange(first)[:, None].repeat(3, 1) < 2)


# what sub-graphs are given

TRUE = InlineArray("bool", (), b"\1")
SAME = graph([node(1, [0], (0,))])


@pytest.mark.parametrize(
    ("made", "inputs", "text"),
    [
        (
            op("vectorize", graph=GraphValue(0), stacked=(False,), uniform=()),
            (0,),
            "marks of stacked inputs are wrong",
        ),
        (
            op("vectorize", graph=GraphValue(0), stacked=(True, True), uniform=()),
            (0,),
            "marks of stacked inputs are wrong",
        ),
        (op("vectorize", graph=GraphValue(0), stacked=(True,), uniform=()), (1,), "has no rows"),
    ],
)
def test_rows_are_those_of_values_that_have_rows(made, inputs, text):
    refused(model([node(0, inputs)], [made, *CHAIN], [SAME], inputs=(0, 3)), text=text)


@pytest.mark.parametrize(
    ("fields", "inputs", "test", "text"),
    [
        ({"n_carry": 1}, (2, 0), None, "takes a tensor as input 0"),
        ({"n_xs": 1}, (1, 1), None, "has no rows"),
        (
            {"n_carry": 1, "reverse": True},
            (1, 0),
            graph([], (0,), (1,), (TRUE,)),
            "runs backwards has no test",
        ),
        ({"n_carry": 3, "n_invariant": -2}, (1, 0), None, "which is less than 0"),
    ],
)
def test_loops_walk_along_what_can_be_walked(fields, inputs, test, text):
    every = {
        "test": None if test is None else GraphValue(1), "body": GraphValue(0), "n_carry": 0, "n_invariant": 0, "n_xs": 0,
        "reverse": False, "steps": None, "uniform": -1,
    } | fields  # fmt: skip
    graphs = [SAME] if test is None else [SAME, test]
    records = model(
        [node(0, inputs, (0, 3))], [op("loop", **every), *CHAIN], graphs, inputs=(0, 3, 4), outputs=(3,)
    )
    refused(records, text=text)


PER_LABEL = op("sparse_cross_entropy_grad")


@pytest.mark.parametrize(
    ("labels", "g", "text"),
    [
        (0, 10, "labels have dtype float32"),
        (8, 10, "labels with shape"),  # as many labels as classes
        (3, 0, "sparse_cross_entropy_grad: "),  # as many gradients as classes
        (3, 9, "sparse_cross_entropy_grad: "),  # of another dtype
    ],
)
def test_the_gradient_of_a_loss_per_label_is_one_number_per_label(labels, g, text):
    scalars = (SpecRecord("int32", (3,)), SpecRecord("float64", ()), SpecRecord("float32", ()))
    refused(
        model([node(0, [1, 0, 2])], [PER_LABEL], inputs=(0, labels, g), specs=(*SPECS, *scalars)), text=text
    )


def test_the_gradient_of_a_loss_per_label_is_one_number_per_label_when_the_ranks_are_known():
    specs = (*SPECS, SpecRecord("int32", None))
    records = model([node(0, [1, 0, 2], (1,))], [PER_LABEL], inputs=(1, 8, 1), specs=specs)
    x, label, g = np.zeros(20, np.float32), np.int32(3), np.float32(1)
    assert outcomes(records, x, label, g)[0][0].shape == (20,)
    all_refuse(records, x, np.full(20, 30, np.int32), g, text="labels with shape")
    all_refuse(records, x, label, x, text="is not a cotangent of")


@pytest.mark.parametrize("k", [-(2**31), 2**31 - 1, -(2**62), 2**40, -4, 3])
def test_a_diagonal_far_outside_of_a_matrix_has_no_elements(k):
    specs = (*SPECS, SpecRecord("float32", (None, None)))
    records = model([node(0, [0], (6,))], [op("diag_part", k=k)], inputs=(8,), specs=specs)
    for result in outcomes(records, np.ones((4, 3), np.float32)):
        assert result[0].shape == (0,)


@pytest.mark.parametrize("axis", [-(2**63), -2, 1, 2**40])
@pytest.mark.parametrize("rank", ["known", "unknown"])
def test_a_mask_lies_over_axes_that_are_there(axis, rank):
    some = (None,) if rank == "known" else None
    specs = (*SPECS, SpecRecord("float32", some), SpecRecord("bool", some))
    records = model([node(0, [0, 1], (8,))], [op("boolean_mask", axis=axis)], inputs=(8, 9), specs=specs)
    if rank == "known":
        refused(records, text="boolean_mask: axis")
    else:
        all_refuse(records, np.ones(3, np.float32), np.array([True, False, True]), text="no such axis")
