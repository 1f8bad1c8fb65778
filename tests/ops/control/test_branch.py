"""`cond`, `case` and `switch_case`: which function runs, what comes back, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest

import graphad as tf


def test_eager_cond_runs_one_function_only():
    ran = []
    tf.cond(tf.constant(True), lambda: ran.append("then"), lambda: ran.append("else"))
    assert ran == ["then"]


@pytest.mark.parametrize("x", [2.0, -3.0])
def test_traced_cond_keeps_nested_structures(x):
    def f(x):
        return tf.cond(x > 0, lambda: {"a": [x, x * 2], "b": (x,)}, lambda: {"a": [-x, x * 3], "b": (x - 1,)})

    eager, traced = f(tf.constant(x)), tf.function(f)(tf.constant(x))
    assert set(traced) == {"a", "b"} and isinstance(traced["a"], list) and isinstance(traced["b"], tuple)
    np.testing.assert_array_equal(traced["a"][1], eager["a"][1])
    np.testing.assert_array_equal(traced["b"][0], eager["b"][0])


def test_numbers_serve_as_predicates():
    @tf.function
    def f(n):
        return tf.cond(n, lambda: 1.0, lambda: 2.0)

    assert f(tf.constant(3)).numpy() == 1.0
    assert f(tf.constant(0)).numpy() == 2.0


def test_shapes_that_differ_between_branches_become_unknown():
    @tf.function
    def f(p, x):
        y = tf.cond(p, lambda: x, lambda: x[:2])
        assert y.shape.as_list() == [None]
        return y

    x = tf.constant([1.0, 2.0, 3.0])
    assert f(tf.constant(True), x).shape == (3,)
    assert f(tf.constant(False), x).shape == (2,)


def test_results_of_other_structure_are_refused():
    @tf.function
    def f(p):
        return tf.cond(p, lambda: (1.0, 2.0), lambda: 1.0)

    with pytest.raises(
        TypeError, match="must have the same number, type, and overall structure of return values"
    ):
        f(tf.constant(True))


@dataclasses.dataclass
class Labelled:
    """A tensor beside what is not one."""

    label: Any
    x: tf.Tensor


@pytest.mark.parametrize(
    ("first", "second"),
    [((1, 2.0), (1, 3.0)), ([[1], None], [[2], None]), ({"a": [1]}, {"a": [1, 2]}), (1, 2)],
)
def test_what_is_no_tensor_in_a_field_must_be_equal(first, second):
    x = tf.constant(1.0)

    @tf.function
    def chosen(flag, other):
        return tf.cond(flag, lambda: Labelled(first, x), lambda: Labelled(other.label, x + 1.0)).x

    @tf.function
    def carried(n, other):
        one = Labelled(first, x)
        for _ in tf.range(n):
            one = Labelled(other.label, one.x + 1.0)
        return one.x

    for function, given in ((chosen, False), (carried, 2)):
        assert function(tf.constant(given), Labelled(copy.deepcopy(first), x)).numpy() > 1.0
        with pytest.raises(TypeError, match=r"structure(?s:.)*Labelled\("):
            function(tf.constant(given), Labelled(second, x))


def test_results_of_other_dtype_are_refused():
    @tf.function
    def f(p):
        return tf.cond(p, lambda: 1, lambda: 1.0)

    with pytest.raises(
        TypeError,
        match=r"overall structure.*int32 from true_fn and float32 from false_fn",
    ):
        f(tf.constant(True))


def test_named_results_are_named_in_messages():
    from graphad.ops.control.branch import conditional

    def run(then_value, else_value):
        return tf.function(lambda p: conditional(p, lambda: (then_value,), lambda: (else_value,), ["y"]))(
            tf.constant(True)
        )

    with pytest.raises(
        TypeError, match="'y' has dtype int32 in the main branch, but dtype float32 in the else branch"
    ):
        run(1, 1.0)
    with pytest.raises(
        TypeError, match="'y' must have the same nested structure in the main and else branches"
    ):
        run([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="'y' is None at the end of the else branch"):
        run(1.0, None)


def test_functions_are_needed_and_a_scalar_predicate():
    with pytest.raises(TypeError, match="true_fn must be callable"):
        tf.cond(True, 1, lambda: 2)
    with pytest.raises(ValueError, match=r"predicate has shape \(2,\)"):
        tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)


def test_variables_cannot_be_made_in_a_branch():
    with pytest.raises(ValueError, match="cannot be made inside a traced branch"):
        tf.function(lambda p: tf.cond(p, lambda: tf.Variable(1.0).value(), lambda: tf.constant(1.0)))(
            tf.constant(True)
        )


def test_a_branch_writes_a_variable_only_if_taken():
    v = tf.Variable(0.0)

    @tf.function
    def f(p):
        def then():
            v.assign_add(1.0)
            return v.value()

        return tf.cond(p, then, lambda: v.value() - 5.0)

    assert f(tf.constant(True)).numpy() == 1.0
    assert f(tf.constant(False)).numpy() == -4.0
    assert v.numpy() == 1.0


def test_a_predicate_known_while_tracing_leaves_no_cond():
    @tf.function
    def f(x):
        return tf.cond(tf.constant(True), lambda: x + 1.0, lambda: x - 1.0)

    concrete = f.get_concrete_function(tf.TensorSpec([]))
    assert [node.op.name for node in concrete.graph.nodes] == ["add"]


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_switch_case_picks_by_index_and_takes_the_last_as_default(index):
    def f(i):
        return tf.switch_case(i, [lambda: 10.0, lambda: 20.0, lambda: 30.0])

    want = {0: 10.0, 1: 20.0}.get(index, 30.0)
    assert float(f(tf.constant(index))) == want
    assert float(tf.function(f)(tf.constant(index))) == want


@pytest.mark.parametrize("has_default", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
@pytest.mark.parametrize("count", [8, 9, 10, 100])
def test_switch_case_of_many_functions_picks_as_eagerly(count, dtype, has_default):
    traced = []

    def f(x, index):
        def branch(k):
            def run():
                traced.append(k)
                return tf.sin(x) + 0.5 * k

            return run

        return tf.switch_case(index, [branch(k) for k in range(count)], branch(-7) if has_default else None)

    x, g = tf.constant([0.5, -1.0]), tf.function(f)
    for index in (0, 1, count // 2, count - 1, count, count + 5, -1, -100):
        given = tf.constant(np.array(index).astype(dtype))
        traced.clear()
        found = g(x, given)
        assert len(traced) in (0, count + has_default), "each function is traced once"
        np.testing.assert_array_equal(found, f(x, given))


def test_switch_case_takes_more_functions_than_branches_within_each_other_could():
    @tf.function
    def f(x, index):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.switch_case(index, [lambda k=k: x**2 * float(k) for k in range(300)])
        return y, tape.gradient(y, x)

    for index in (3, 150, 299, 5000):
        y, slope = f(tf.constant(3.0), tf.constant(index))
        assert (y.numpy(), slope.numpy()) == (9.0 * min(index, 299), 6.0 * min(index, 299))


@pytest.mark.parametrize("has_default", [False, True])
@pytest.mark.parametrize("count", [8, 10, 150])
def test_case_of_many_pairs_takes_the_first_that_holds(count, has_default):
    def f(x, bounds):
        with tf.GradientTape() as tape:
            tape.watch(x)
            pairs = [(x < bounds[k], lambda k=k: x**2 * float(k)) for k in range(count)]
            y = tf.case(pairs, (lambda: -x) if has_default else None)
        return y, tape.gradient(y, x)

    bounds = tf.constant(np.arange(count, dtype=np.float32))
    g = tf.function(f)
    for x in (-1.0, 0.5, 3.5, count // 2 - 0.5, count // 2 + 0.5, count - 1.5, count + 1.0):
        k = max(int(np.floor(x)) + 1, 0)
        given = tf.constant(np.float32(x))
        if k >= count and not has_default:
            with pytest.raises(tf.errors.InvalidArgumentError, match="none of the predicates holds"):
                g(given, bounds)
            continue
        y, slope = g(given, bounds)
        wanted = (-x, -1.0) if k >= count else (x * x * k, 2 * x * k)
        np.testing.assert_allclose((y.numpy(), slope.numpy()), wanted, rtol=1e-6)


def test_case_does_not_trace_what_comes_after_a_predicate_known_to_hold():
    traced = []

    def branch(k):
        return lambda: traced.append(k) or tf.constant(k)

    @tf.function
    def f(x):
        known = {3: False, 15: True}
        return tf.case([(known.get(k, x > k), branch(k)) for k in range(20)], branch(20))

    assert int(f(tf.constant(-1))) == 15
    assert sorted(traced) == [k for k in range(16) if k != 3]


def test_switch_case_with_a_dict_and_a_default():
    def f(i):
        return tf.switch_case(i, {1: lambda: 1.0, 0: lambda: 2.0}, default=lambda: -1.0)

    for index, want in ((1, 1.0), (0, 2.0), (4, -1.0), (-1, -1.0)):
        assert float(tf.function(f)(tf.constant(index))) == want
        assert float(f(tf.constant(index))) == want


def test_the_indices_of_switch_case_are_those_from_0_each_once():
    one = lambda: 1.0  # noqa: E731
    for wrong in ({0: one, 2: one}, {1: one}, [(0, one), (0, one)], {-1: one, 0: one}):
        with pytest.raises(ValueError, match=r"must form contiguous range of \[0 to \d\) but found"):
            tf.switch_case(tf.constant(0), wrong)


def test_case_takes_the_first_that_holds():
    def f(x):
        return tf.case([(x < 0.0, lambda: x * 0.0), (x < 10.0, lambda: x + 100.0)], default=lambda: x)

    for x, want in ((-1.0, 0.0), (5.0, 105.0), (20.0, 20.0)):
        assert float(f(tf.constant(x))) == want
        assert float(tf.function(f)(tf.constant(x))) == want


def test_exclusive_case_refuses_two():
    with pytest.raises(ValueError, match="exclusive"):
        tf.case([(True, lambda: 1), (True, lambda: 2)], exclusive=True)


@pytest.mark.parametrize("way", ["eager", "traced", "in rows"])
def test_a_case_without_a_default_refuses_that_none_holds_and_an_exclusive_one_that_two_do(way):
    """In a function whose predicates have no value while it is traced, it used to take the last of them, or the first."""

    def f(a, b, x):
        return tf.case([(a, lambda: x * 2.0), (b, lambda: x * 3.0)], exclusive=True)

    def in_rows(*given):
        return tf.vectorized_map(lambda row: f(*row), tuple(x[tf.newaxis] for x in given))[0]

    g = {"eager": f, "traced": tf.function(f), "in rows": in_rows}[way]
    yes, no, x = tf.constant(True), tf.constant(False), tf.constant(5.0)
    assert float(g(yes, no, x)) == 10.0
    assert float(g(no, yes, x)) == 15.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="none of the predicates holds"):
        g(no, no, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="of the 2 predicates 2 hold"):
        g(yes, yes, x)


def test_a_case_without_a_default_checks_only_where_it_ends():
    @tf.function
    def f(x):
        return tf.case([(x < 0.0, lambda: x * 0.0), (x < 10.0, lambda: x + 100.0)])

    assert float(f(tf.constant(-3.0))) == 0.0
    assert float(f(tf.constant(3.0))) == 103.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="none of the predicates"):
        f(tf.constant(30.0))


def test_unused_results_and_operands_are_pruned():
    from graphad.ops.control.cond import BOTH, Cond
    from graphad.trace.tracer import trace_flat

    specs = [tf.TensorSpec([]), tf.TensorSpec([])]
    then_graph = trace_flat(lambda a, b: [a + 1.0, b * 2.0], specs).graph
    else_graph = trace_flat(lambda a, b: [a, b], specs).graph
    op, inputs, outputs = Cond(then_graph, else_graph, (BOTH, BOTH)).pruned([False, True])
    assert inputs == [0, 2] and outputs == [1] and op.n_outputs == 1
    assert op.eval(np.bool_(True), np.float32(3.0)) == (6.0,)
    assert op.eval(np.bool_(False), np.float32(3.0)) == (3.0,)


def test_unequal_structures_are_shown_with_dtypes_and_shapes():
    @tf.function
    def f(p, x):
        return tf.cond(p, lambda: (x,), lambda: [x, {"a": 1, "b": None}])

    with pytest.raises(TypeError) as caught:
        f(tf.constant(True), tf.ones([2, 3]))
    assert "true_fn output: (float32(2, 3),)\n" in str(caught.value)
    assert "false_fn output: [float32(2, 3), {'a': int32(), 'b': None}]" in str(caught.value)


@pytest.mark.parametrize("value", [[2.0], [-2.0], [[1.0]], [[-1.0]]])
def test_a_predicate_of_one_element_decides_as_it_does_in_python(value):
    def choose(x):
        if x > 0:  # the same as `if bool(x > 0)`
            x = x * 3.0
        while x < 2.0 and not x < 0.0:
            x = x + 1.0
        return x, tf.cond(x > 4.0, lambda: 1, lambda: 2), tf.reduce_sum(x * 2.0 if x > 0 else x)

    x = tf.constant(value)
    eager, traced = choose(x), tf.function(choose)(x)
    for found, expected in zip(traced, eager, strict=True):
        np.testing.assert_array_equal(found, expected)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(choose)(x)[0]
    np.testing.assert_array_equal(
        tape.gradient(y, x), np.full_like(value, 3.0 if np.ravel(value)[0] > 0 else 1.0)
    )
    rows = tf.vectorized_map(
        lambda r: tf.cond(r > 0.0, lambda: r * 2.0, lambda: r), tf.constant([[1.0], [-1.0]])
    )
    np.testing.assert_array_equal(rows, [[2.0], [-1.0]])


def test_results_of_another_structure_are_an_error_of_both_kinds():
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="overall structure"):
            tf.function(lambda p: tf.cond(p, lambda: None, lambda: 1))(tf.constant(True))
