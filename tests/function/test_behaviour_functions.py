"""What users of TensorFlow rely on in `function`, beside what the other files here hold."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import namedtuple

import numpy as np
import pytest

import graphad as tf

Pair = namedtuple("Pair", "first second")
SCALAR = tf.TensorSpec([])


# -- trace keys ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float


class Loud:
    """Equal to whatever has its name, but only as far as its class can say."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


@pytest.mark.parametrize(
    ("one", "two", "traces"),
    [
        (Settings(0.1), Settings(0.1), 1),
        (Settings(0.1), Settings(0.2), 2),
        (Loud("a"), Loud("a"), 1),
        (Loud("a"), Loud("b"), 2),
        (frozenset([1, 2]), frozenset([2, 1]), 1),
        (object(), object(), 2),
        (np.str_("a"), "a", 1),
        (np.bytes_(b"a"), np.bytes_(b"b"), 2),
    ],
)
def test_objects_that_are_equal_by_their_class_share_a_trace(one, two, traces):
    f = tf.function(lambda x, option: x * 2.0)
    for option in (one, two):
        assert f(tf.constant(2.0), option).numpy() == 4.0
    assert f.experimental_get_tracing_count() == traces


def test_an_object_that_is_gone_is_equal_to_nothing():
    f = tf.function(lambda x, option: x * len(option.name))
    assert f(tf.constant(2.0), Loud("a")).numpy() == 2.0
    assert f(tf.constant(2.0), Loud("a")).numpy() == 2.0
    assert f.experimental_get_tracing_count() == 2


def test_equal_dataclasses_share_a_trace_though_the_first_is_gone():
    f = tf.function(lambda x, option: x * option.rate)
    assert f(tf.constant(2.0), Settings(0.5)).numpy() == 1.0
    assert f(tf.constant(2.0), Settings(0.5)).numpy() == 1.0
    assert f.experimental_get_tracing_count() == 1


def test_a_trace_that_failed_is_not_counted():
    calls = []

    @tf.function
    def f(x):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("the first time")
        return x

    with pytest.raises(ValueError, match="the first time"):
        f(tf.constant(1.0))
    assert f.experimental_get_tracing_count() == 0
    assert f(tf.constant(1.0)).numpy() == 1.0
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [(lambda x: len(), "len"), (lambda x: sorted(), "sorted"), (lambda x: float(x, x), "float")],
)
def test_errors_of_builtins_call_them_by_their_names(call, name):
    def f(x):
        if x > 0.0:
            x = x + 1.0
        return call(x)

    with pytest.raises(TypeError, match=rf"^{name}\(\) "):
        tf.function(f)(tf.constant(1.0))


# -- signatures -------------------------------------------------------------------------------------------------------------


def test_a_signature_of_any_number_of_arguments_says_how_many_there_are():
    f = tf.function(lambda *parts: parts[0] + parts[1], input_signature=[SCALAR, SCALAR])
    assert f(1.0, 2.0).numpy() == 3.0
    with pytest.raises(TypeError, match="missing a required argument: 'parts_1'"):
        f(1.0)
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(1.0, 2.0, 3.0)


def test_a_range_is_a_row_of_small_integers():
    row = tf.constant(range(3))
    assert row.dtype is tf.int32
    assert row.numpy().tolist() == [0, 1, 2]
    assert tf.gather(tf.constant([5.0, 6.0, 7.0]), range(2)).numpy().tolist() == [5.0, 6.0]
    assert tf.constant(range(2), tf.float32).dtype is tf.float32
    assert tf.function(lambda: range(2))().dtype is tf.int32


# -- names ---------------------------------------------------------------------------------------------------------------------


def test_leaves_of_a_structure_are_named_after_keys_fields_and_numbers():
    @tf.function
    def f(pair, *rest, **options):
        return pair.first

    concrete = f.get_concrete_function(Pair(SCALAR, {"k": SCALAR}), SCALAR, [SCALAR], scale=SCALAR)
    args, kwargs = concrete.structured_input_signature
    assert args[0].first.name == "pair_first"
    assert args[0].second["k"].name == "pair_second_k"
    assert args[1].name == "rest_0"
    assert args[2][0].name == "rest_1_0"
    assert kwargs["scale"].name == "scale"


def test_tensors_of_a_structure_can_be_passed_by_the_numbered_name_of_their_parameter():
    f = tf.function(lambda pair, x: pair["a"] - pair["b"] * x)
    concrete = f.get_concrete_function({"a": SCALAR, "b": SCALAR}, SCALAR)
    one, two, three = (tf.constant(float(n)) for n in (1, 2, 3))
    assert concrete(pair=one, pair_1=two, x=three).numpy() == -5.0
    assert concrete(pair_a=one, pair_b=two, x=three).numpy() == -5.0
    assert concrete(one, two, three).numpy() == -5.0
    with pytest.raises(TypeError, match="pair_2"):
        concrete(pair=one, pair_2=two, x=three)


def test_the_name_of_a_spec_is_a_keyword_whoever_traced_first():
    f = tf.function(lambda x, y: x - y)
    plain = f.get_concrete_function(SCALAR, SCALAR)
    named = f.get_concrete_function(tf.TensorSpec([], name="left"), tf.TensorSpec([], name="right"))
    assert f.experimental_get_tracing_count() == 1
    one, two = tf.constant(1.0), tf.constant(2.0)
    assert named(left=one, right=two).numpy() == -1.0
    assert named(x=one, y=two).numpy() == -1.0
    assert [spec.name for spec in named.structured_input_signature[0]] == ["left", "right"]
    assert [spec.name for spec in plain.structured_input_signature[0]] == ["x", "y"]
    assert f.get_concrete_function(tf.TensorSpec([], name="left"), tf.TensorSpec([], name="right")) is named
    with pytest.raises(TypeError, match="left"):
        plain(left=one, right=two)


def test_two_specs_of_one_name_are_numbered():
    named = tf.TensorSpec([], name="z")
    concrete = tf.function(lambda x, y: x - y).get_concrete_function(named, named)
    assert concrete(z=tf.constant(1.0), z_1=tf.constant(5.0)).numpy() == -4.0


# -- printed forms ---------------------------------------------------------------------------------------------------------


def printed(f, *args, **kwargs):
    made = tf.function(f)
    made.get_concrete_function(*args, **kwargs)
    return made.pretty_printed_concrete_signatures().splitlines()


def test_containers_are_printed_by_kind():
    lines = printed(lambda a, b: a[0], (SCALAR, [1, None]), Pair(tf.TensorSpec([2], tf.int32), {"k": "v"}))
    spec = "TensorSpec(shape=(), dtype=tf.float32, name=None)"
    row = "TensorSpec(shape=(2,), dtype=tf.int32, name=None)"
    assert lines[1] == f"  a (POSITIONAL_OR_KEYWORD): Tuple[{spec}, List[Literal[1], Literal[None]]]"
    assert (
        lines[2]
        == f"  b (POSITIONAL_OR_KEYWORD): Pair[['first', {row}], ['second', Dict[['k', Literal['v']]]]]"
    )


def test_results_are_printed_by_kind():
    lines = printed(lambda x: {"out": (x, [None])}, SCALAR)
    spec = "TensorSpec(shape=(), dtype=tf.float32, name=None)"
    assert lines[3] == f"  Dict[['out', Tuple[{spec}, List[Literal[None]]]]]"
    assert printed(lambda: None) == [
        "Input Parameters:",
        "Output Type:",
        "  Literal[None]",
        "Captures:",
        "  None",
    ]


def test_kinds_of_parameters_are_printed():
    def f(x, /, y, *rest, flag=True, **more):
        return x

    lines = printed(f, SCALAR, 2, 3.5, 4.5, k=SCALAR)
    shown = [line.strip().split(":")[0] for line in lines[1:7]]
    assert shown == [
        "x (POSITIONAL_ONLY)",
        "y (POSITIONAL_ONLY)",  # by name it could stand before `rest` only
        "rest_0 (POSITIONAL_ONLY)",
        "rest_1 (POSITIONAL_ONLY)",
        "flag (KEYWORD_ONLY)",
        "k (KEYWORD_ONLY)",
    ]


def test_variables_and_captures_are_printed():
    v, c = tf.Variable(1.0, name="weight"), tf.constant([5.0, 6.0])
    lines = printed(lambda w: w * v * c, v)
    assert lines[1] == "  w (POSITIONAL_OR_KEYWORD): VariableSpec(shape=(), dtype=tf.float32)"
    assert lines[-1] == "  0: TensorSpec(shape=(2,), dtype=tf.float32, name=None)"
    lines = printed(lambda: v * 2.0)
    assert lines[-1] == "  0: VariableSpec(shape=(), dtype=tf.float32) of 'weight:0'"


def test_a_signature_in_one_line():
    f = tf.function(lambda x, n, *, k: x)
    concrete = f.get_concrete_function(SCALAR, 2, k=tf.TensorSpec([None], name="kk"))
    spec = "TensorSpec(shape=(), dtype=tf.float32, name=None)"
    line = (
        f"(x: {spec}, n: Literal[2], *, k: TensorSpec(shape=(None,), dtype=tf.float32, name='kk')) -> {spec}"
    )
    assert concrete.pretty_printed_signature(verbose=False) == line
    assert f.pretty_printed_concrete_signatures(verbose=False) == line
    f.get_concrete_function(SCALAR, 3, k=SCALAR)
    assert len(f.pretty_printed_concrete_signatures(verbose=False).splitlines()) == 2
    assert repr(concrete) == f"<ConcreteFunction <lambda>{line}>"
    assert str(concrete).startswith("ConcreteFunction Input Parameters:\n  x (POSITIONAL_OR_KEYWORD)")
    rest = tf.function(lambda *parts: parts[0]).get_concrete_function(SCALAR)
    assert rest.pretty_printed_signature(verbose=False) == f"(parts_0: {spec}, /) -> {spec}"


def test_numbers_that_are_equal_share_a_trace():
    f = tf.function(lambda n: n * 2)
    assert [int(f(n)) for n in (1, True, 1.0)] == [2, 2, 2]
    assert f.experimental_get_tracing_count() == 1


def test_among_traces_that_fit_the_most_specific_is_called():
    f = tf.function(lambda x: tf.constant(-1 if x.shape.rank is None else x.shape[0] or 0))
    for shape in ([3], [None], None):
        f.get_concrete_function(tf.TensorSpec(shape))
    assert f.experimental_get_tracing_count() == 3
    assert [int(f(tf.ones(shape))) for shape in ([3], [4], [3, 3])] == [3, 0, -1]
    assert f.experimental_get_tracing_count() == 3


def test_the_type_of_a_trace_says_what_it_takes_returns_and_captures():
    captured = tf.constant([1.0, 2.0])

    @tf.function
    def f(x, n, *rest, k=None):
        return {"sum": x * n + captured, "rest": list(rest)}

    pair = tf.TensorSpec([2])
    found = f.get_concrete_function(pair, 3, SCALAR, k={"a": pair}).function_type
    rows = [(p.name, p.kind.name, p.type_constraint, p.optional) for p in found.parameters.values()]
    assert rows == [
        ("x", "POSITIONAL_ONLY", pair, False),
        ("n", "POSITIONAL_ONLY", 3, True),
        ("rest_0", "POSITIONAL_ONLY", SCALAR, False),
        ("k", "KEYWORD_ONLY", {"a": pair}, False),
    ]
    assert found.output == {"sum": pair, "rest": [SCALAR]}
    assert found.captures == {id(captured): pair}
    plain = tf.function(lambda x, n=2: x).get_concrete_function(SCALAR).function_type
    assert [p.kind.name for p in plain.parameters.values()] == ["POSITIONAL_OR_KEYWORD"] * 2
    assert str(plain) == f"(x: {SCALAR}, n: Literal[2]) -> {SCALAR}"


def test_the_type_of_a_function_says_what_it_declares():
    class Model:
        @tf.function(input_signature=[tf.TensorSpec([None]), {"a": SCALAR}])
        def step(self, x, d, n=2, *rest, k=3, **options):
            return x * d["a"] * n

    step = Model().step
    found = step.function_type
    rows = [(p.name, p.kind.name, p.type_constraint, p.optional) for p in found.parameters.values()]
    assert rows == [
        ("x", "POSITIONAL_OR_KEYWORD", tf.TensorSpec([None]), False),
        ("d", "POSITIONAL_OR_KEYWORD", {"a": SCALAR}, False),
        ("n", "POSITIONAL_OR_KEYWORD", None, True),
        ("rest", "VAR_POSITIONAL", None, False),
        ("k", "KEYWORD_ONLY", None, True),
        ("options", "VAR_KEYWORD", None, False),
    ]
    assert (found.output, found.captures, found.flat_inputs) == (None, {}, [tf.TensorSpec([None]), SCALAR])
    assert found == step.function_type != tf.function(lambda x, d, n=2: x).function_type
    assert str(tf.function(lambda x, /, y, *, k=3: x).function_type) == "(x, /, y, *, k=3)"

    spec = step.function_spec
    assert (spec.arg_names, spec.default_values) == (["x", "d", "n"], {"n": 2, "k": 3})
    assert spec.input_signature == step.input_signature == (tf.TensorSpec([None]), {"a": SCALAR})
    assert spec.flat_input_signature == (tf.TensorSpec([None]), SCALAR)
    assert (spec.jit_compile, spec.is_pure) == (None, False)
    assert spec.fullargspec == inspect.FullArgSpec(
        ["x", "d", "n"], "rest", "options", (2,), ["k"], {"k": 3}, {}
    )
    assert spec.signature_summary(default_values=True).splitlines() == [
        "Input Parameters:",
        f"  x (POSITIONAL_OR_KEYWORD): {tf.TensorSpec([None])}",
        f"  d (POSITIONAL_OR_KEYWORD): Dict[['a', {SCALAR}]]",
        "  n (POSITIONAL_OR_KEYWORD): None",
        "  rest (VAR_POSITIONAL): None",
        "  k (KEYWORD_ONLY): None",
        "  options (VAR_KEYWORD): None",
        "Output Type:",
        "  None",
        "Captures:",
        "  None",
        "Defaults:",
        "  n: 2",
        "  k: 3",
    ]


def test_types_of_traces_differ_in_what_is_fixed():
    f = tf.function(lambda x, n=1: x * n)
    types = [
        f.get_concrete_function(tf.TensorSpec(shape), n).function_type
        for shape, n in (([2], 1), ([3], 1), ([2], 4))
    ]
    assert len({str(t) for t in types}) == 3
    assert types[0] == f.get_concrete_function(tf.TensorSpec([2])).function_type
    assert types[0] != types[1]
    assert types[0] != types[2]
    assert types[0].flat_outputs == types[0].flat_inputs == [tf.TensorSpec([2])]


def test_a_call_that_does_not_fit_a_partial_function_shows_which_arguments_are_for_keywords():
    f = tf.function(functools.partial(lambda a, b, c=3: a + b * c, 1.0, c=5.0))
    with pytest.raises(
        TypeError, match=r"too many positional arguments.* for signature: \(b, \*, c=5\.0\)\."
    ):
        f(1.0, 2.0)
