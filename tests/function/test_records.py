"""Dataclasses and attrs classes as nests: through functions, control flow, derivatives and files."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.array([1.0, 2.0], np.float32)


@dataclasses.dataclass
class Plain:
    x: Any
    y: Any = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    n: int = 2
    label: str = "adam"


@dataclasses.dataclass
class Derived(Plain):
    """Has a field that no constructor takes, and an attribute that is not a field."""

    size: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.size = len(self.x)
        self.cached = self.x * 2


@dataclasses.dataclass(eq=False)
class Identity:
    x: Any


@dataclasses.dataclass
class OwnWay:
    x: Any
    unit: str

    def __tf_flatten__(self):
        return (self.unit,), (self.x,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(components[0], metadata[0])


def attrs_class():
    attrs = pytest.importorskip("attrs")

    @attrs.define
    class Attrs:
        x: Any
        y: Any = 2

    return Attrs


def equal(found, wanted):
    assert type(found) is type(wanted)
    for a, b in zip(vars_of(found), vars_of(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


def vars_of(x):
    return (
        list(vars(x).values())
        if hasattr(x, "__dict__")
        else [getattr(x, name) for name in type(x).__slots__[:2]]
    )


@pytest.mark.parametrize("kind", [Plain, Frozen, Derived, OwnWay, "attrs"])
def test_a_record_is_argument_and_result_with_one_trace(kind):
    kind = attrs_class() if kind == "attrs" else kind
    traces = []

    @tf.function
    def f(d):
        traces.append(d)
        return d, d.x * 2

    for scale in (1.0, 3.0):
        d = kind(tf.constant(X * scale), "m") if kind is OwnWay else kind(tf.constant(X * scale))
        same, doubled = f(d)
        assert type(same) is kind
        np.testing.assert_array_equal(same.x, X * scale)
        np.testing.assert_array_equal(doubled, 2 * X * scale)
    assert len(traces) == 1
    if kind is Derived:
        assert same.size == 2
        np.testing.assert_array_equal(same.cached, 6 * X)
    if kind is OwnWay:
        assert same.unit == "m"


def test_numbers_and_strings_of_a_record_are_python_values_in_the_trace():
    seen = []

    @tf.function
    def f(d):
        seen.append((d.n, d.label))
        return Frozen(tf.reshape(d.x, [d.n, -1]), d.n + 1, d.label + "!")

    found = f(Frozen(tf.ones([4])))
    assert (found.x.shape, found.n, found.label) == ([2, 2], 3, "adam!")
    f(Frozen(tf.zeros([4])))
    assert f(Frozen(tf.ones([4]), 4)).x.shape == [4, 1]
    assert seen == [(2, "adam"), (4, "adam")]
    assert f.explain_retrace() == (
        "f: argument 'd.n' was Literal[2], is now Literal[4]; pass a tensor if its value changes from call to call."
    )


def test_variables_and_nests_in_records_are_arguments():
    v, w = tf.Variable(1.0), tf.Variable(5.0)

    @tf.function
    def f(d):
        d.x["v"].assign_add(1.0)
        return d.x["v"] * d.y[0]

    assert f(Plain({"v": v}, [tf.constant(3.0)])).numpy() == 6
    assert f(Plain({"v": w}, [tf.constant(3.0)])).numpy() == 18
    assert f.experimental_get_tracing_count() == 1 and v.numpy() == 2


def test_an_object_that_compares_by_identity_stays_itself():
    d = Identity(tf.constant(X))
    found = []
    tf.function(lambda d: found.append(d))(d)
    assert found[0] is d


def test_fields_that_a_function_changes_are_refused_by_name():
    @tf.function
    def f(state):
        state.x = state.x + 1.0
        return state.x

    with pytest.raises(ValueError, match=r"f\(state\) should not modify its Python input arguments.*: state"):
        f(Plain(tf.constant(1.0)))


@pytest.mark.parametrize("traced", [False, True])
def test_records_go_through_control_flow(traced):
    def run(f, *args):
        return (tf.function(f) if traced else f)(*args)

    start = Plain(tf.constant(1.0), tf.constant(2.0))
    found = run(lambda d: tf.while_loop(lambda d: d.x < 5.0, lambda d: [Plain(d.x + 1, d.y)], [d])[0], start)
    equal(found, Plain(5.0, 2.0))
    found = run(lambda d: tf.cond(d.x > 0, lambda: Frozen(d.x, 3), lambda: Frozen(d.y, 3)), start)
    assert (float(found.x), found.n) == (1.0, 3)
    rows = Plain(tf.constant(X), tf.constant(X + 1))
    equal(run(lambda d: tf.vectorized_map(lambda r: Plain(r.x + 1, r.y), d), rows), Plain(X + 1, X + 1))
    np.testing.assert_array_equal(
        run(lambda d: tf.map_fn(lambda r: r.x + r.y, d, fn_output_signature=tf.float32), rows), 2 * X + 1
    )
    sums = run(
        lambda x: tf.scan(lambda a, b: Plain(a.x + b, a.y), x, Plain(tf.constant(0.0), tf.constant(1.0))),
        tf.constant(X),
    )
    equal(sums, Plain(np.cumsum(X), np.ones(2)))


def test_records_go_through_converted_loops_and_branches():
    @tf.function
    def f(d, n):
        history = Plain(d.x, tf.zeros([]))
        for i in tf.range(n):
            if i > 0:
                history = Plain(history.x * 2.0, history.y + 1.0)
            else:
                history = Plain(history.x, history.y - 5.0)
        return history

    d, n = Plain(tf.constant(X)), tf.constant(4)
    equal(f(d, n), Plain(X * 8, -2.0))
    with tf.GradientTape() as tape:
        tape.watch(d.x)
        y = f(d, n).x
    np.testing.assert_array_equal(tape.gradient(y, d.x), [8, 8])


def test_branches_that_differ_in_a_number_are_refused_with_both_sides():
    sides = r"Frozen\(x=float32\(\), n=2, label='adam'\)\nfalse_fn output: Frozen\(x=float32\(\), n=3"
    with pytest.raises(TypeError, match=sides):
        tf.function(lambda x: tf.cond(x > 0, lambda: Frozen(x, 2), lambda: Frozen(x, 3)))(tf.constant(1.0))


def test_derivatives_have_the_form_of_their_sources():
    d = Frozen(tf.constant(X), 3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(d)
        y = d.x**d.n
    found = tape.gradient(y, d)
    assert isinstance(found, Frozen) and found.n == 3
    np.testing.assert_array_equal(found.x, 3 * X**2)
    np.testing.assert_array_equal(tape.jacobian(y, d).x, np.diag(3 * X**2))
    assert isinstance(tf.function(lambda d: tf.gradients(d.x**2, d))(d), Frozen)
    with tf.autodiff.ForwardAccumulator(d, Frozen(tf.constant([1.0, 0.0]))) as accumulator:
        y = d.x * d.x
    np.testing.assert_array_equal(accumulator.jvp(y), [2, 0])


@pytest.mark.parametrize("traced", [False, True])
def test_custom_gradients_take_and_give_records(traced):
    @tf.custom_gradient
    def f(d):
        return Plain(d.x * 2, d.y), lambda dx, dy: Plain(dx * 5, dy * 7)

    x, y = tf.constant(1.0), tf.constant(2.0)

    def run(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(Plain(x, y))
            z = z.x + z.y
        return tape.gradient(z, [x, y])

    found = (tf.function(run) if traced else run)(x, y)
    assert [g.numpy() for g in found] == [5, 7]


def test_a_signature_may_hold_records():
    @tf.function(input_signature=[Frozen(tf.TensorSpec([None], tf.float32), 3)])
    def f(d):
        return d.x * d.n

    np.testing.assert_array_equal(f(Frozen([1, 2], 3)), 3 * X)
    with pytest.raises(TypeError, match="Can not cast 4 to the structure 3"):
        f(Frozen(X, 4))
    with pytest.raises(TypeError, match="Can not cast"):
        f(Plain(X))


@pytest.mark.parametrize("kind", [Plain, Frozen, "attrs"])
def test_saved_functions_take_the_class_and_give_its_fields(kind, tmp_path):
    kind = attrs_class() if kind == "attrs" else kind

    class Model(tf.Module):
        @tf.function
        def f(self, d):
            return kind(d.x * 2), [d.x]

    model = Model()
    model.f(kind(tf.constant(X)))
    tf.saved_model.save(model, tmp_path / "1")
    loaded = tf.saved_model.load(tmp_path / "1")
    tf.saved_model.save(loaded, tmp_path / "2")
    for again in (loaded, tf.saved_model.load(tmp_path / "2")):
        found, _ = again.f(kind(tf.constant(X)))
        np.testing.assert_array_equal(found.x, 2 * X)
        assert found[1] == 2 and type(found).__name__ == kind.__name__
    with pytest.raises(ValueError, match=rf"Got:\n  \({kind.__name__}\(x=TensorSpec\(shape=\(3,\)"):
        loaded.f(kind(tf.ones([3])))


def test_nests_see_dataclasses_as_tensorflow_does():
    nest = tf.nest
    d = Plain(tf.constant(1.0), [2, 3])
    assert nest.flatten([d]) == [d] and not nest.is_nested(d)
    assert nest.flatten(d, expand_composites=True) == [d.x]
    assert nest.map_structure(lambda x: x + 1, d, expand_composites=True).x.numpy() == 2
    assert nest.flatten(OwnWay(1, "m")) == [1] and nest.is_nested(OwnWay(1, "m"))
    assert nest.map_structure(lambda x: x + 1, OwnWay(1, "m")) == OwnWay(2, "m")
    Attrs = attrs_class()
    assert nest.flatten(Attrs(1, [2, 3])) == [1, 2, 3] and nest.is_nested(Attrs(1))
    assert nest.map_structure(lambda x: x + 1, Attrs(1, 2)) == Attrs(2, 3)
    with pytest.raises(TypeError, match="sequence type"):
        nest.assert_same_structure(Attrs(1, 2), [1, 2])


def test_nests_take_other_sequences_and_mappings():
    import collections
    import types

    nest = tf.nest
    assert nest.flatten(range(3)) == [0, 1, 2] and nest.flatten({"b": 1, "a": 2}.values()) == [1, 2]
    assert nest.flatten(collections.UserDict(b=1, a=2)) == [2, 1]
    assert nest.map_structure(lambda x: -x, collections.deque([1, 2])) == collections.deque([-1, -2])
    assert nest.map_structure(lambda x: -x, types.MappingProxyType({"b": 1})) == {"b": -1}
    assert not any(map(nest.is_nested, ("ab", b"ab", {1}, np.ones(2), tf.ones(2), None)))
    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    assert len(nest.flatten(rows, expand_composites=True)) == 3 and nest.flatten(rows) == [rows]
    assert isinstance(nest.map_structure(lambda x: x, rows, expand_composites=True), tf.IndexedSlices)
    assert nest.map_structure(lambda x: x + 1, range(2)) == [1, 2]


@dataclasses.dataclass
class Walk:
    step: object
    place: object


@pytest.mark.parametrize("loop", [tf.while_loop, tf.compat.v1.while_loop], ids=["loop", "first version"])
@pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["eager", "traced"])
@pytest.mark.parametrize("made", [Walk, lambda step, place: (step, place)], ids=["object", "tuple"])
def test_the_fields_of_a_record_are_loop_variables(loop, way, made):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            walk = loop(lambda i, y: i < 3, lambda i, y: made(i + 1, y * x), Walk(tf.constant(0), x))
        return walk, tape.gradient(walk.place, x)

    walk, slope = f(tf.constant(2.0))
    assert isinstance(walk, Walk)
    assert (int(walk.step), float(walk.place), float(slope)) == (3, 16.0, 32.0)


def test_a_record_says_which_shapes_change_in_a_loop():
    walk = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: Walk(i + 1, tf.concat([y, y], 0)),
        Walk(tf.constant(0), tf.ones([1])),
        shape_invariants=Walk(tf.TensorShape([]), tf.TensorShape([None])),
    )
    assert walk.place.shape == (8,)
