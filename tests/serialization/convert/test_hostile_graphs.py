"""Graphs that no writer makes: each is refused by name, before anything runs or is allocated."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.core.dtypes import float32
from graphad.core.registry import all_ops
from graphad.core.schema import schema_of
from graphad.core.spec import TensorSpec
from graphad.function.concrete import ConcreteFunction
from graphad.graph.ir import Graph, Node
from graphad.ops.control.call import Call
from serialization.convert.objects import ObjectReader
from serialization.errors import (
    LimitExceededError,
    LoadError,
    SaveError,
    UnsafeModelError,
    UnsupportedModelError,
)
from serialization.saved_model import save
from serialization.schema.graph import OpRecord, RuleRecord
from serialization.schema.model import VariableCapture
from serialization.schema.values import (
    DictValue,
    DTypeValue,
    GraphValue,
    InlineArray,
    ListValue,
    RuleValue,
    SpecRecord,
)
from serialization.schema.versions import FORMAT_VERSION, model_from_body, model_to_body
from serialization.wire.limits import Limits
from tests.serialization.convert.hostile import (
    ADD,
    ARRAYS,
    SIN,
    SPECS,
    Arrays,
    graph,
    loaded,
    model,
    node,
    op,
    refused,
)
from tests.serialization.convert.in_memory import records_of, through_bytes
from tests.support.work import calls_in


def test_the_helper_makes_good_models():
    found = loaded(model([node(0, [0])]))
    np.testing.assert_allclose(found.f(gd.ones([3]))[0], np.sin(np.ones(3)), rtol=1e-6)


# G1: where inputs may come from


@pytest.mark.parametrize("value", [1, 2, 2**30])
def test_forward_references_are_refused(value):
    error = refused(model([node(0, [value])]), text="not defined before the node")
    assert error.field == "graphs[0].nodes[0]"


def test_outputs_that_do_not_exist_are_refused():
    refused(model([node(0, [0])], outputs=(2,)), text="output 2 is none of the 2 values")


def test_what_a_function_returns_its_graph_computes():
    records = model([node(0, [0])])
    (function,) = records.functions
    (concrete,) = function.concretes
    for wrong in (DTypeValue("float32"), True, 1, "y", (1.5,)):
        changed = function.replace(concretes=(concrete.replace(outputs=(wrong,)),))
        refused(records.replace(functions=(changed,)), text="not an output of its graph")


# G2: ops


def test_unknown_ops_are_named():
    error = refused(
        model([node(0, [0])], [OpRecord("frobnicate", 3)]), UnsupportedModelError, "no op 'frobnicate'"
    )
    assert "ops[0]" in error.field


def test_newer_versions_of_an_op_are_refused():
    refused(
        model([node(0, [0])], [OpRecord("sin", 2)]), UnsupportedModelError, "version 2, this release has 1"
    )


@pytest.mark.parametrize("version", [0, -1, 2**40])
def test_odd_versions_of_an_op_are_refused(version):
    with pytest.raises((LoadError, SaveError)):
        loaded(model([node(0, [0])], [OpRecord("sin", version)]))


@pytest.mark.parametrize(
    "made",
    [
        op("reduce_sum"),
        op("reduce_sum", axes=(0,)),
        op("reduce_sum", axes=(0,), keepdims=False, more=1),
        op("reduce_sum", axes=(0,), keep=False),
        op("reduce_sum", axes=ListValue((0,)), keepdims=False),
        op("reduce_sum", axes=0, keepdims=False),
        op("reduce_sum", axes=(0.0,), keepdims=False),
        op("reduce_sum", axes=(True,), keepdims=False),
        op("reduce_sum", axes=("0",), keepdims=False),
        op("reduce_sum", axes=(0,), keepdims=0),
        op("reduce_sum", axes=(0,), keepdims=None),
        op("reduce_sum", axes=(5,), keepdims=False),
        op("reduce_sum", axes=(0, 0), keepdims=False),
        op("reduce_sum", axes=(2**62,), keepdims=False),
        op("cast", dtype="float32"),
        op("cast", dtype=4),
        op("cast", dtype=ListValue((DTypeValue("float32"),))),
        op("sin", more=None),
        op("reshape", shape=(4,)),
        op("reshape", shape=(-1, -1)),
        op("reshape", shape=(2**62, 2**62)),
        op("reshape", shape="3"),
        op("transpose", perm=(1,)),
        op("broadcast_to", shape=(-5,)),
        op("getitem", key=DictValue(())),
        op("getitem", key=(1.5,)),
        op("getitem", key=(None,)),
        op("getitem", key=((0,),)),
        op("getitem", key=(True,)),
        op("getitem", key=("x",)),
        op("getitem", key=("...", "...")),
        op("getitem", key=(("at", 1),)),
        op("getitem", key=(("slice", None, None, 0, None),)),
        op("getitem", key=(("slice", 1.5, None, None, None),)),
        op("getitem", key=(("slice", None, None, None, -1),)),
        op("getitem", key=(("slice", None, None, None),)),
        op("getitem", key=(("slice", None, ("at", 1), None, None),)),
        op("getitem_grad", key=(1.5,), shape=(3,)),
        op("getitem_grad", key=(0,), shape=(None,)),
        op("getitem_grad", key=(5,), shape=(3, 3)),
        op("getitem_grad", key=(0,), shape=(3, 4)),
        op("reshape", shape=(3.0,)),
        op("reshape", shape=(True, 3)),
        op("broadcast_to", shape=(None,)),
        op("broadcast_to", shape=((3,),)),
        op("sum_to", shape=(1.5,)),
        op("tile", multiples=(1.5,)),
        op("split", sizes=(1.5, 1.5), axis=0),
        op("slice", starts=(1,), strides=(1,), sizes=(3,)),
        op("slice", starts=(0,), strides=(0,), sizes=(3,)),
        op("slice", starts=(2**40,), strides=(1,), sizes=(1,)),
        op("slice", starts=(-1,), strides=(1,), sizes=(1,)),
        op("slice", starts=(0,), strides=(1.5,), sizes=(2,)),
        op("slice_grad", starts=(1,), strides=(1,), shape=(3,)),
        op("top_indices", k=1.5, dtype=DTypeValue("int32")),
        op("avg_pool", window=(1, 1), strides=(1, 1), padding=None, dilations=(1, 1)),
        op("mirror_pad", paddings=((1, 1),), mode="wrap"),
        op("polygamma", n=-1),
        op("squeeze", axes=(0, 0)),
        op("expand_dims", axes=(1, -1, 1)),
        op("max_pool", window=(0, 1), strides=(1, 1), padding="SAME", dilations=(1, 1)),
        op("max_pool2d", window=(1, 1), strides=(1, 0), padding="SAME"),
        op("mirror_pad", paddings=((1.5, 1),), mode="reflect"),
        op("one_hot", depth=-1, axis=0),
        op("polygamma", n=1.5),
    ],
    ids=lambda made: f"{made.name}{dict(made.attributes)}"[:60],
)
def test_attributes_that_do_not_fit_are_refused(made):
    refused(model([node(0, [0], (1,))], [made]))


@pytest.mark.parametrize(
    ("name", "inputs"), [("sin", ()), ("sin", (0, 0)), ("add", (0,)), ("add", (0, 0, 0))]
)
def test_wrong_arity_is_refused(name, inputs):
    refused(model([node(0, inputs)], [op(name)]), text="takes [12] inputs, the file gives")


@pytest.mark.parametrize("specs", [(), (0, 0)])
def test_wrong_counts_of_outputs_are_refused(specs):
    refused(model([node(0, [0], specs)], outputs=(0,)), text="outputs")


def test_every_op_has_a_schema_whose_kinds_refuse_what_they_are_not():
    for each in all_ops().values():
        schema = schema_of(each)
        assert tuple(schema.attributes) == each.attributes
        for field, kind in schema.attributes.items():
            assert kind.name == "Any" or not kind.fits(object()), (
                f"{each.name}.{field}: {each.declared[field]}"
            )


@pytest.mark.parametrize("name", sorted(all_ops()))
def test_no_op_takes_odd_attributes_and_inputs(name):
    """Each op with attributes of every wrong kind: a LoadError or a sound graph, never another error."""
    kinds = [
        0,
        -1,
        2**62,
        True,
        None,
        "x",
        1.5,
        (),
        (0,),
        (-1, 2**62),
        (None,),
        ((0, 1),),
        DTypeValue("bool"),
        GraphValue(0),
    ]
    fields = all_ops()[name].attributes
    callee = graph([])
    for inputs in ((0,), (2, 0, 1), (3, 0, 0, 0)):
        for shift in range(len(kinds)):
            values = [kinds[(shift + 5 * k) % len(kinds)] for k in range(len(fields))]
            made = OpRecord(name, all_ops()[name].version, tuple(zip(fields, values, strict=True)))
            records = model([node(0, range(len(inputs)), (1,))], [made], [callee], inputs or (0,))
            try:
                loaded(records)
            except LoadError as error:
                assert str(error).isascii()


def test_keys_refer_to_integers_that_are_there():
    made = op("getitem", key=(("at", 1),))
    assert loaded(
        model([node(0, [0, 1], (8,))], [made], inputs=(0, 3), specs=(*SPECS, SpecRecord("float32", ())))
    )
    refused(model([node(0, [0])], [made]), text="takes 2 inputs")
    refused(model([node(0, [0, 1])], [made], inputs=(0, 5)), text="key has")
    refused(model([node(0, [0, 1])], [op("getitem", key=(("at", 2),))], inputs=(0, 3)), text="takes 3 inputs")
    for name in ("getitem", "getitem_at"):
        refused(
            model([node(0, [0, 1])], [op(name, key=(("at", 0),))], inputs=(0, 3)), text="which is not a Key"
        )


def test_shapes_that_are_inputs_are_vectors_of_integers():
    for wrong in (0, 3):
        refused(model([node(0, [0, 1], (1,))], [op("tile_to")], inputs=(0, wrong)))
        refused(
            model([node(0, [0, 1], (1,))], [op("getitem_grad_to", key=(0,))], inputs=(0, wrong)),
            text="shape has",
        )


def test_an_older_op_that_is_several_now_is_compared_as_one():
    vector = (*SPECS, SpecRecord("int32", (2,)))

    def one(made, inputs, outputs=(0,), given=(0, 8, 8), nodes=None):
        return model([node(0, inputs, outputs)], [made], inputs=given, specs=vector)

    part = op("concat_part", axis=0, k=1)
    assert loaded(one(part, [0, 1, 2], (1,)))
    refused(one(op("concat_part", axis=0, k=2), [0, 1, 2], (1,)), text="split")
    refused(one(op("concat_part", axis=0, k=-1), [0, 1, 2], (1,)), text="split")
    refused(one(op("concat_part", axis="0", k=0), [0, 1, 2], (1,)), text="does not have the attributes")
    refused(one(op("concat_part", axis=0), [0, 1, 2], (1,)), text="does not have the attributes")
    refused(one(part, [0, 1, 2], (3,)), text="split")
    refused(one(part, [0, 1, 2], (1, 1)), text="split")
    refused(one(part, []), text="takes more inputs")
    refused(one(op("split_at", n=2, axis=0), [0, 1], (1, 1), given=(0, 0)), text="ensure_shape")
    refused(one(op("transpose_by", inverse=False), [0], (1,)), text="takes more inputs")
    refused(one(op("transpose_by", inverse=True), [0, 1], (1,), given=(0, 0)), text="argsort|cast|transpose")
    newer = OpRecord("concat_part", 2, part.attributes)
    refused(one(newer, [0, 1, 2], (1,)), UnsupportedModelError, "there was only version 1")


@pytest.mark.parametrize(
    ("then_branch", "else_branch", "claim"),
    [
        (graph([], (0, 7), (1,)), graph([], (0, 7), (0,)), 0),
        (graph([], (0, 7), (0,)), graph([], (0, 7), (1,)), 0),
        (graph([], (0, 7), (1,)), graph([], (0, 7), (1,)), 0),
        (graph([], (0, 7), (0,)), graph([], (0, 7), (0,)), 5),
        (graph([], (0, 7), (0, 0)), graph([], (0, 7), (0,)), 0),
        (graph([], (0, 7), (0,)), graph([], (0, 7), ()), 0),
    ],
)
def test_branches_must_give_what_the_file_says(then_branch, else_branch, claim):
    cond = op("cond", then_graph=GraphValue(0), else_graph=GraphValue(1), kinds=("both",), depth=0, full=())

    def made(one, other, claim):
        return model([node(0, [2, 0, 1], (claim,))], [cond], [one, other], inputs=(0, 7, 2))

    same, five = graph([], (0, 7), (0,)), graph([], (0, 7), (1,))
    assert loaded(made(same, same, 0)) and loaded(made(same, five, 6))
    refused(made(then_branch, else_branch, claim), text="op 'cond'")


# G3: what is claimed of values


def test_claims_that_contradict_inference_are_refused():
    for spec in (5, 7, 3, 4):
        refused(model([node(0, [0], (spec,))]), text="the file says")


def test_claims_that_go_beyond_inference_are_not_believed():
    mask = InlineArray("bool", (3,), b"\1\0\1")
    specs = (*SPECS, SpecRecord("bool", (3,)))
    ops = [op("boolean_mask", axis=0), SIN]
    records = model(
        [node(0, [0, 1], (7,)), node(1, [2], (7,))], ops, inputs=(0, 8), specs=specs, captures=(mask,)
    )
    found = loaded(records).f
    for made in found.concrete_functions[0].graph.nodes:
        assert made.specs[0].dims == (None,)
    np.testing.assert_allclose(found(gd.constant([1.0, 2.0, 3.0]))[0], np.sin([1.0, 3.0]), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64"])
def test_places_are_integers(dtype):
    for name, attributes in (
        ("argmin", {"axis": 0}),
        ("argsort", {"axis": 0, "descending": True}),
        ("top_indices", {"k": 1}),
    ):
        specs = (*SPECS, SpecRecord(dtype, None))
        records = model([node(0, [0], (8,))], [op(name, **attributes, dtype=DTypeValue(dtype))], specs=specs)
        refused(records, text="an integer dtype is needed")


def test_claims_that_say_less_hide_nothing():
    found = loaded(model([node(0, [0], (6,))])).f
    assert found.concrete_functions[0].graph.nodes[0].specs[0].dims == (3,)
    tiled = op("tile", multiples=(2, 2))
    refused(model([node(0, [0], (1,)), node(1, [1], (1,))], [SIN, tiled]), text="tile")


# G4: calls


def test_calls_need_callees_that_stand_before_them():
    call = op("call", graph=GraphValue(0))
    refused(model([node(0, [0])], [call]), text="does not stand before")
    refused(model([node(0, [0])], [op("call", graph=GraphValue(9))]), text="graph 9 is not in the table")
    refused(
        model(
            [node(0, [0])],
            [op("call", graph=GraphValue(1)), op("call", graph=GraphValue(0))],
            [graph([node(0, [0])]), graph([node(1, [0])])],
        ),
        text="does not stand before",
    )


@pytest.mark.parametrize("inputs", [(), (0, 0), (1,), (2,)])
def test_calls_need_the_operands_of_their_callees(inputs):
    call, callee = op("call", graph=GraphValue(0)), graph([node(1, [0])])
    records = model([node(0, inputs)], [call, SIN], [callee], (0, 5, 4), captures=())
    if inputs == (1,) or inputs == (2,):
        refused(records, text="takes TensorSpec.*as operand 0")
    else:
        refused(records, text="operands")


def test_calls_a_hundred_deep_load_and_deeper_ones_are_refused():
    def deep(n):
        ops = [SIN, *[op("call", graph=GraphValue(k)) for k in range(n)]]
        return model([node(n, [0])], ops, [graph([node(k, [0])]) for k in range(n)])

    assert loaded(deep(99)).f is not None
    refused(deep(100), LimitExceededError, "more than 100 deep")
    refused(deep(1000), LimitExceededError, "more than 100 deep")


def test_functions_too_deep_to_load_cannot_be_saved(tmp_path):
    spec = TensorSpec.of((3,), float32)
    inner = Graph([spec], [], [], [0])
    for _ in range(3000):
        inner = Graph([spec], [], [Node(Call(inner), (0,), 1, (spec,), None)], [1])
    shallow = gd.function(lambda x: x).get_concrete_function(spec)
    concrete = ConcreteFunction("deep", inner, [], shallow.arguments, shallow.results, shallow.signature)
    with pytest.raises(SaveError, match="functions call functions more than 100 deep"):
        save(concrete, tmp_path / "m")


HOLDERS = {
    "call": ({"graph": None}, (0,), (0,)),
    "cond": ({"then_graph": None, "else_graph": None, "kinds": ("both",), "depth": 0, "full": ()}, (1, 0), (0,)),
    "loop": (
        {"test": None, "body": None, "n_carry": 1, "n_invariant": 0, "n_xs": 0, "reverse": False, "steps": None, "uniform": -1},
        (2, 0),
        (0, 3),
    ),
    "vectorize": ({"graph": None, "stacked": (True,), "uniform": (), "at_once": None}, (0,), (0,)),
    "either": ({"graph": None, "other": None}, (2, 2, 0), (0,)),
}  # fmt: skip


def test_every_op_that_holds_graphs_is_tried_in_circles():
    holders = {name for name, kind in all_ops().items() if "Graph" in str(kind.declared)}
    assert holders == {*HOLDERS}


def holder(name, number, field):
    """An op that holds graph `number` in one field, and the last graph of the table but one in the others."""
    fields, inputs, outputs = HOLDERS[name]
    held = {key: GraphValue(0) for key, value in fields.items() if key.endswith(("graph", "body", "other"))}
    return op(name, **(fields | held | {field: GraphValue(number)})), inputs, outputs


GRAPH_FIELDS = [
    (name, field)
    for name, (fields, _, _) in HOLDERS.items()
    for field in fields
    if field.endswith(("graph", "body", "test", "other"))
]


@pytest.mark.parametrize(("name", "field"), GRAPH_FIELDS)
def test_no_graph_holds_itself_be_it_by_way_of_others(name, field):
    arguments = (0, 2, 3)
    plain = graph([node(0, [0])], arguments)
    for other, other_field in GRAPH_FIELDS:
        first, inputs, outputs = holder(name, 2, field)
        second, other_inputs, other_outputs = holder(other, 1, other_field)
        around = [
            plain,
            graph([node(1, inputs, outputs)], arguments, (3,)),
            graph([node(2, other_inputs, other_outputs)], arguments, (3,)),
        ]
        for number, places, gives in ((1, inputs, outputs), (2, other_inputs, other_outputs)):
            nodes = [node(number, places, gives)]
            refused(
                model(nodes, [SIN, first, second], around, arguments, outputs=(3,)),
                text="does not stand before",
            )
    own, inputs, outputs = holder(name, 1, field)
    records = model(
        [node(1, inputs, outputs)],
        [SIN, own],
        [plain, graph([node(1, inputs, outputs)], arguments, (3,))],
        arguments,
        outputs=(3,),
    )
    refused(records, text="does not stand before")


# G5: custom gradients


def custom(
    rule, nodes=None, inputs=(0, 1), n_inputs=1, n_outputs=1, rules=(), graphs=(), more_ops=(), outputs=(0,)
):
    ops = [op("closed_custom", rule=RuleValue(rule), n_inputs=n_inputs, n_outputs=n_outputs), SIN, *more_ops]
    return model([node(1, [0]), node(0, inputs, outputs)], ops, graphs, rules=rules)


RULE = RuleRecord("r", 0, (("outputs", 1),), (True,), ())


def test_custom_gradients_of_the_helper_work():
    found = loaded(custom(0, rules=(RULE,), graphs=(graph([node(1, [0])]),))).f
    x = gd.ones([3])
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = found(x)[0]
    np.testing.assert_allclose(tape.gradient(y, x), np.sin(np.ones(3)), rtol=1e-6)


@pytest.mark.parametrize(
    ("rule", "callee", "use"),
    [
        (RULE.replace(present=()), graph([node(1, [0])]), {}),
        (RULE.replace(present=(True, True)), graph([node(1, [0])]), {}),
        (RULE.replace(present=(False,)), graph([node(1, [0])]), {}),
        (RULE, graph([node(1, [0])], inputs=(0, 0)), {}),
        (RULE, graph([], inputs=(), outputs=()), {}),
        (RULE, graph([node(1, [0], (5,))], inputs=(5,)), {}),
        (RULE, graph([node(1, [0], (7,))], inputs=(7,)), {}),
        (RULE, graph([], inputs=(4,), outputs=(0,)), {}),
        (RULE, graph([node(1, [0])]), {"n_inputs": 2}),
        (RULE, graph([node(1, [0])]), {"n_inputs": -1}),
        (RULE, graph([node(1, [0])]), {"n_outputs": -1}),
        (RULE, graph([node(1, [0])]), {"n_outputs": 2}),
        (RULE, graph([node(1, [0])]), {"n_inputs": True}),
        (RULE, graph([node(1, [0])]), {"inputs": (0,)}),
        (RULE, graph([node(1, [0])]), {"inputs": (0, 1, 1)}),
        (RULE, graph([node(1, [0])]), {"outputs": ()}),
    ],
)
def test_rules_that_do_not_fit_their_use_are_refused(rule, callee, use):
    if use.get("outputs") == ():
        records = custom(0, rules=(rule,), graphs=(callee,), **use)
        records = records.replace(graphs=(records.graphs[0], records.graphs[1].replace(outputs=(1,))))
    else:
        records = custom(0, rules=(rule,), graphs=(callee,), **use)
    refused(records)


def test_missing_rules_and_live_objects_are_refused():
    refused(custom(3, rules=(RULE,), graphs=(graph([]),)), text="rule 3 is not in the table")
    refused(custom(0, rules=(RULE.replace(graph=7),), graphs=(graph([]),)), text="graph 7")
    for name in ("custom_gradient", "unsaved_custom"):
        fields = dict.fromkeys(all_ops()[name].attributes)
        refused(model([node(0, [0])], [op(name, **fields)]), UnsafeModelError, "live objects")


def test_rules_may_use_themselves_and_each_other():
    ops = [op("closed_custom", rule=RuleValue(0), n_inputs=1, n_outputs=1), SIN]
    own = graph([node(1, [0]), node(0, [0, 1])])
    records = model([node(0, [0, 0])], ops, [own], rules=(RULE.replace(rules=(0,)),))
    found = loaded(records).f
    x = gd.ones([3])
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = found(x)[0]
    assert tape.gradient(y, x) is not None
    refused(model([node(0, [0, 0])], ops, [own], rules=(RULE,)), text="not listed")


def circle_of_rules(count):
    """f(x) = sin(x); each rule gives g sin(x), that sine with the next rule, the last with the first."""
    ops = [op("closed_custom", rule=RuleValue(k), n_inputs=1, n_outputs=1) for k in range(count)]
    ops += [SIN, op("mul")]
    graphs = [
        graph([node(count, [1]), node((k + 1) % count, [1, 2, 1]), node(count + 1, [3, 0])], (0, 0))
        for k in range(count)
    ]
    parts = (("outputs", 1), ("closed", 1))
    rules = [RuleRecord(f"r{k}", k, parts, (True,), tuple(range(count))) for k in range(count)]
    return model([node(count, [0]), node(0, [0, 1, 0])], ops, graphs, rules=rules)


@pytest.mark.parametrize("count", [1, 2, 30])
def test_whatever_is_asked_of_a_circle_of_rules_ends(count):
    f = loaded(circle_of_rules(count)).f
    x = np.array([1.0, 2.0, 3.0], np.float32)

    def slope(x, order):
        if not order:
            return f(x)[0]
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = slope(x, order - 1)
        return tape.gradient(y, x)

    def everything():
        for order in range(5):
            np.testing.assert_allclose(slope(gd.constant(x), order), np.sin(x), rtol=1e-6)
        stack = gd.constant(np.stack([x, x + 1]))
        for order in range(3):
            rows = gd.vectorized_map(lambda x, order=order: slope(x, order), stack)
            np.testing.assert_allclose(rows, np.sin(stack), rtol=1e-6)
        for mode in (gd.jacfwd, gd.jacrev):
            np.testing.assert_allclose(mode(lambda x: f(x)[0])(gd.constant(x)), np.diag(np.sin(x)), rtol=1e-6)
        compiled = gd.function(lambda x: slope(x, 2))
        np.testing.assert_allclose(compiled(gd.constant(x)), np.sin(x), rtol=1e-6)

    assert calls_in(everything) < 500_000


def test_an_unsaved_rule_is_a_warning_and_an_error_later():
    reader = ObjectReader(
        through_bytes(custom(0, rules=(RuleRecord("nobody.knows:this", None),))), Arrays(ARRAYS)
    )
    found = reader.root()
    assert reader.graphs.unsaved == {"nobody.knows:this"}
    np.testing.assert_allclose(found.f(gd.ones([3]))[0], np.sin(np.ones(3)), rtol=1e-6)


def test_a_rule_of_this_process_is_taken_only_where_it_fits():
    @gd.custom_gradient
    def f(x, y):
        return x * y, lambda dy: (dy, dy)

    original = gd.Module()
    original.f = gd.function(f, input_signature=[gd.TensorSpec([3])] * 2)
    records, _ = records_of(original, options=gd.saved_model.SaveOptions(experimental_custom_gradients=False))
    refused(custom(0, rules=(RuleRecord(records.rules[0].name, None),)), text="gradients for other inputs")


# G6: branches and loops


def cond(then_graph, else_graph, inputs=(1, 0), kinds=("both",), depth=0, full=(), outputs=(0,)):
    made = op("cond", then_graph=GraphValue(0), else_graph=GraphValue(1), kinds=kinds, depth=depth, full=full)
    return model([node(0, inputs, outputs)], [made, SIN], [then_graph, else_graph], (0, 2, 5, 4))


SAME = graph([node(1, [0])])


def test_branches_of_the_helper_work():
    assert loaded(cond(SAME, SAME)).f is not None


@pytest.mark.parametrize(
    "records",
    [
        cond(SAME, graph([node(1, [0], (5,))], inputs=(5,))),
        cond(SAME, graph([], outputs=())),
        cond(SAME, graph([], outputs=(0, 0))),
        cond(SAME, graph([node(1, [0])], inputs=(0, 0))),
        cond(SAME, SAME, inputs=(0, 0)),
        cond(SAME, SAME, inputs=()),
        cond(SAME, SAME, inputs=(1,)),
        cond(SAME, SAME, inputs=(1, 2)),
        cond(SAME, SAME, inputs=(1, 3)),
        cond(SAME, SAME, inputs=(3, 0)),
        cond(SAME, SAME, kinds=()),
        cond(SAME, SAME, kinds=("both", "both")),
        cond(SAME, SAME, kinds=("neither",)),
        cond(SAME, SAME, kinds=("then",)),
        cond(SAME, SAME, depth=-1),
        cond(SAME, SAME, depth=1),
        cond(SAME, SAME, full=(True,)),
    ],
)
def test_branches_that_do_not_fit_are_refused(records):
    refused(records)


def test_branches_that_take_nothing_still_need_a_predicate():
    made = graph([], inputs=(), constants=(InlineArray("float32", (3,), bytes(12)),))
    assert loaded(cond(made, made, inputs=(1,))).f is not None
    refused(cond(made, made, inputs=()), text="takes 1 or more inputs")


@pytest.mark.parametrize("shape", [(2**47, 2**47, 0), (2**31, 2**31, 0), (2**40, 0, 2**40)])
def test_empty_constants_of_shapes_that_no_array_has_are_refused(shape):
    empty = graph([], inputs=(), constants=(InlineArray("float32", shape, b""),))
    refused(model([node(0, [0])], graphs=[empty]), text="no array")


def test_a_graph_gives_no_variable_out():
    captured = {"inputs": (4,), "captures": (VariableCapture(2),)}
    assert loaded(model([node(0, [0])], [op("read")], **captured)).f is not None
    refused(model([], outputs=(0,), **captured), text="is a variable")


def loop(body, test=None, inputs=(1, 0), outputs=(0, 3), **changes):
    fields = {
        "test": None if test is None else GraphValue(1), "body": GraphValue(0), "n_carry": 1, "n_invariant": 0, "n_xs": 0,
        "reverse": False, "steps": None, "uniform": -1,
    } | changes  # fmt: skip
    graphs = [body] if test is None else [body, test]
    return model(
        [node(0, inputs, outputs)], [op("loop", **fields), SIN, ADD], graphs, (0, 3, 5, 4), outputs=(4,)
    )


YES = InlineArray("bool", (), b"\1")


def test_loops_of_the_helper_work():
    assert loaded(loop(SAME)).f is not None
    assert loaded(loop(SAME, test=graph([], inputs=(0,), outputs=(1,), constants=(YES,)))).f is not None


@pytest.mark.parametrize(
    "records",
    [
        loop(graph([], inputs=(0, 5), outputs=(1,)), n_carry=1, n_invariant=1, inputs=(1, 0, 2)),
        loop(graph([], outputs=())),
        loop(SAME, inputs=(0, 0)),
        loop(SAME, inputs=(1,)),
        loop(SAME, inputs=(1, 2)),
        loop(SAME, inputs=(1, 3)),
        loop(SAME, inputs=(1, 0, 0)),
        loop(SAME, n_carry=0),
        loop(SAME, n_carry=2),
        loop(SAME, n_carry=-1, n_xs=2),
        loop(SAME, n_invariant=2**40),
        loop(SAME, n_carry=0, n_invariant=1, uniform=2),
        loop(SAME, uniform=-2),
        loop(SAME, steps=-1),
        loop(SAME, steps="3"),
        loop(SAME, steps=(1,)),
        loop(SAME, test=SAME),
        loop(SAME, test=graph([], inputs=(0,), outputs=(1,), constants=(YES,)), steps=3),
        loop(SAME, test=graph([], inputs=(0, 2), outputs=(1,))),
        loop(SAME, test=graph([], inputs=(2,), outputs=(0,))),
    ],
)
def test_loops_that_do_not_fit_are_refused(records):
    refused(records)


# G10: what ops may ask for


@pytest.mark.parametrize(
    ("made", "inputs"),
    [
        (op("eye_of", rows_=2**60, columns=2**60, dtype=DTypeValue("float32")), ()),
        (op("eye_of", rows_=2**30, columns=2**30, dtype=DTypeValue("float32")), ()),
        (op("broadcast_to", shape=(2**45, 3)), (0,)),
        (op("one_hot", depth=2**45, axis=-1), (3,)),
        (op("tile", multiples=(2**50,)), (0,)),
        (op("draw", kind="uniform", shape=(2**50,), dtype=DTypeValue("float32")), ()),
        (op("reshape", shape=(2**45,)), (1,)),
    ],
    ids=lambda x: x.name if isinstance(x, OpRecord) else "",
)
def test_huge_sizes_are_refused_before_anything_is_made(made, inputs):
    keys = InlineArray("int64", (2,), bytes(16))
    specs = (*SPECS, SpecRecord("int64", (2,)))
    if made.name == "draw":
        refused(model([node(0, [1], (1,))], [made], inputs=(0, 8), captures=(keys,), specs=specs), LoadError)
    else:
        refused(model([node(0, range(len(inputs)), (1,))], [made], inputs=inputs or (0,)), LoadError)


def test_specs_of_too_many_elements_are_refused():
    specs = (*SPECS, SpecRecord("float32", (2**21, 2**21)))
    refused(model([node(0, [0])], inputs=(8,), specs=specs), LimitExceededError, "elements")


@pytest.mark.parametrize("count", [2**40, 10**9, -1, 0])
def test_counts_of_outputs_make_no_specs_before_they_are_compared(count):
    words = f"has {count} outputs" if count >= 0 else "which is less than 0"
    refused(model([node(0, [0], (1,))], [op("unstack", num=count, axis=0)], inputs=(1,)), text=words)
    words = f"n is {count}" if count != 1 else ""
    refused(model([node(0, [0], (1,))], [op("split_at", n=count, axis=0)], inputs=(1,)), text=words)
    words = f"has {count} outputs" if count > 0 else "which"
    refused(model([node(0, [0], (1,))], [op("split", sizes=count, axis=0)], inputs=(1,)), text=words)


@pytest.mark.parametrize("stream", ["file:///owned", "file://x", "socket", ""])
def test_printing_into_files_is_refused(tmp_path, stream):
    made = op("print", pieces=("x", "y"), summarize=3, stream=stream)
    refused(model([node(0, [0], ())], [made], outputs=(0,)), UnsafeModelError, "op 'print' writes to")


def test_printing_into_files_cannot_be_saved(tmp_path):
    @gd.function(input_signature=[gd.TensorSpec([])])
    def f(x):
        gd.print(x, output_stream=f"file://{tmp_path}/out")
        return x

    root = gd.Module()
    root.f = f
    with pytest.raises(SaveError, match="f: op 'print' writes to"):
        save(root, tmp_path / "m")


# G11: limits


def test_limits_are_named():
    body = model_to_body(model([node(0, [0]), node(0, [1])]))
    for name, allowed in (
        ("nodes_per_graph", 1),
        ("nodes", 1),
        ("graphs", 0),
        ("functions", 0),
        ("objects", 1),
        ("tensors", 0),
    ):
        with pytest.raises(LimitExceededError, match=name):
            model_from_body(FORMAT_VERSION, body, Limits(**{name: allowed}))


def test_one_node_with_very_many_inputs_takes_as_many_steps_as_it_has_inputs():
    def steps(count):
        records = model([node(0, [0] * count, (1,))], [op("concat", axis=0)])
        return calls_in(lambda: loaded(records).f)

    assert steps(50_000) < 11 * steps(5_000)
