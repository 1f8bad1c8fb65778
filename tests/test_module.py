"""Modules: which variables and modules they find, in which order, under which names."""

from __future__ import annotations

import abc
import copy
import re

import numpy as np
import pytest

import graphad as tf


def names(variables):
    return [v.name for v in variables]


class Leaf(tf.Module):
    def __init__(self, tag, name=None):
        super().__init__(name)
        self.w = tf.Variable(1.0, name=f"{tag}_w")
        self.b = tf.Variable(2.0, name=f"{tag}_b", trainable=False)


# -- what is found, in which order -----------------------------------------------------------------------------------------


def test_own_variables_come_first_then_submodules_in_sorted_order():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.z = tf.Variable(0.0, name="z")
            self.c_module = Leaf("c")
            self.a_module = Leaf("a")
            self.m = [
                tf.Variable(0.0, name="m0"),
                {"y": tf.Variable(0.0, name="my"), "x": tf.Variable(0.0, name="mx")},
            ]
            self.b = (tf.Variable(0.0, name="b0"),)

    model = Model()
    assert isinstance(model.variables, tuple)
    assert names(model.variables) == [
        "b0:0",
        "m0:0",
        "mx:0",
        "my:0",
        "z:0",
        "a_b:0",
        "a_w:0",
        "c_b:0",
        "c_w:0",
    ]
    assert names(model.trainable_variables) == ["b0:0", "m0:0", "mx:0", "my:0", "z:0", "a_w:0", "c_w:0"]
    assert names(model.non_trainable_variables) == ["a_b:0", "c_b:0"]
    assert model.submodules == (model.a_module, model.c_module)
    assert isinstance(model.submodules, tuple)


def test_submodules_are_searched_one_after_another_depth_first():
    class Node(tf.Module):
        def __init__(self, tag, *below):
            super().__init__(name=tag)
            self.v = tf.Variable(0.0, name=tag)
            self.below = list(below)

    tree = Node("root", Node("a", Node("a1"), Node("a2")), Node("b", Node("b1")))
    assert names(tree.variables) == ["root:0", "a:0", "a1:0", "a2:0", "b:0", "b1:0"]
    assert {m.name for m in tree.submodules} == {"a", "a1", "a2", "b", "b1"}


def test_everything_is_found_once_and_cycles_are_fine():
    model = Leaf("x")
    model.again = [model.w, {"k": model.w}]
    model.child = Leaf("y")
    model.child.parent = model
    model.child.shared = model.w
    model.me = model
    assert names(model.variables) == ["x_w:0", "x_b:0", "y_b:0", "y_w:0"]
    assert len(model.variables) == 4
    assert model.submodules == (model.child,)


def test_variables_added_later_are_found():
    model = tf.Module()
    assert model.variables == ()
    model.late = tf.Variable(1.0, name="late")
    model.child = Leaf("child")
    assert names(model.variables) == ["late:0", "child_b:0", "child_w:0"]
    assert model.submodules == (model.child,)


def test_keys_that_cannot_be_sorted_are_refused_by_name():
    model = tf.Module()
    model.layers = {1: tf.Variable(1.0), "a": tf.Variable(2.0)}
    with pytest.raises(ValueError, match=r"Error processing property 'layers' of"):
        model.variables


def test_variables_cannot_be_assigned():
    model = tf.Module()
    for name in ("variables", "trainable_variables", "submodules"):
        with pytest.raises(AttributeError):
            setattr(model, name, [])


def test_properties_are_not_evaluated():
    class Model(tf.Module):
        @property
        def broken(self):
            raise RuntimeError("evaluated")

    model = Model()
    model.v = tf.Variable(1.0)
    assert len(model.variables) == 1


def test_containers_stay_what_they_are():
    model = tf.Module()
    model.l, model.d, model.t = [1, 2], {"a": 1}, (3,)
    assert model.l == [1, 2]
    assert model.d == {"a": 1}
    assert model.t == (3,)
    assert isinstance(model.l, list)
    assert isinstance(model.d, dict)
    assert isinstance(model.t, tuple)
    model.l.append(tf.Variable(1.0, name="appended"))
    assert names(model.variables) == ["appended:0"]


def test_containers_are_followed_where_they_change():
    model = tf.Module()
    rows = [tf.Variable(1.0, name="b")]
    model.rows, model.table = rows, {"x": [tf.Variable(2.0, name="c")], "z": 4}
    rows.insert(0, tf.Variable(0.0, name="a"))
    model.table["y"] = (tf.Variable(3.0, name="d"),)
    assert names(model.variables) == ["a:0", "b:0", "c:0", "d:0"]
    assert model.rows + [1] == [*rows, 1]
    assert [1, *model.rows][1:] == model.rows[::1] == list(model.rows)
    assert {**model.table} == model.table | {}
    model.rows.pop(0)
    del model.table["x"]
    assert names(model.variables) == ["b:0", "d:0"]


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_containers_are_saved_with_what_they_hold(kind, tmp_path):
    model = tf.Module()
    made = {"list": lambda v: [v], "dict": lambda v: {"v": v}, "tuple": lambda v: (v,)}[kind]
    model.held = made(tf.Variable([1.0, 2.0]))
    tf.saved_model.save(model, tmp_path / "m")
    held = tf.saved_model.load(tmp_path / "m").held
    assert len(held) == 1
    np.testing.assert_array_equal(held["v" if kind == "dict" else 0], [1.0, 2.0])


# -- names ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MyHTTPModule2", "my_http_module2"),
        ("Model", "model"),
        ("Conv2D", "conv2_d"),
        ("lower", "lower"),
        ("TwoWords", "two_words"),
    ],
)
def test_the_default_name_is_the_class_in_snake_case(name, expected):
    assert type(name, (tf.Module,), {})().name == expected


@pytest.mark.parametrize("name", ["1 bad", "", "a-b", "a/b"])
def test_names_must_be_identifiers(name):
    text = re.escape(
        f"'{name}' is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
    )
    with pytest.raises(ValueError, match=text):
        tf.Module(name=name)


class Scoped(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        with self.name_scope:
            self.v = tf.Variable(1.0, name="mushroom")

    @tf.Module.with_name_scope
    def make(self):
        self.late = tf.Variable(1.0, name="late")
        return self.late

    @tf.Module.with_name_scope
    def fail(self):
        raise KeyError("on purpose")


def test_variables_made_in_the_scope_of_a_module_carry_its_name():
    badger = Scoped("badger")
    assert badger.v.name == "badger/mushroom:0"
    assert badger.make().name == "badger/late:0"
    assert tf.Variable(1.0).name == "Variable:0"
    with tf.name_scope("outer"):
        inner = Scoped("inner")
        assert inner.v.name == "outer/inner/mushroom:0"
    assert inner.make().name == "outer/inner/late:0"


def test_the_scope_of_a_module_has_a_name_and_is_not_numbered():
    first, second = Scoped("twin"), Scoped("twin")
    assert first.v.name == second.v.name == "twin/mushroom:0"
    with first.name_scope as prefix:
        assert prefix == "twin/"


def test_scopes_are_closed_when_a_method_or_constructor_raises():
    class Broken(tf.Module):
        def __init__(self):
            super().__init__(name="broken")
            with self.name_scope:
                raise KeyError("on purpose")

    module = Scoped("fine")
    for call in (module.fail, Broken):
        with pytest.raises(KeyError, match=r"on purpose"):
            call()
        assert tf.Variable(1.0).name == "Variable:0"


def test_a_class_that_skips_the_constructor_works_but_has_no_name():
    class Careless(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0, name="v")
            self.child = Leaf("c")

    module = Careless()
    assert names(module.variables) == ["v:0", "c_b:0", "c_w:0"]
    with pytest.raises(AttributeError, match=r"super"):
        module.name


# -- as a Python object -----------------------------------------------------------------------------------------------------


def test_abstract_modules():
    class Abstract(tf.Module, metaclass=abc.ABCMeta):
        @abc.abstractmethod
        def __call__(self, x):
            """Must be defined."""

    class Concrete(Abstract):
        def __call__(self, x):
            return x * 2.0

    with pytest.raises(TypeError, match=r"Can't instantiate abstract"):
        Abstract()
    assert Concrete()(tf.constant(1.0)).numpy() == 2.0


def test_modules_can_be_deep_copied():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(2.0)
            self.shared = [self.v]
            self.child = Leaf("c")
            self.f = tf.function(lambda x: x * 3.0)

        @tf.function
        def __call__(self, x):
            return self.v * x

    model = Model()
    assert model(tf.constant(1.0)).numpy() == 2.0
    other = copy.deepcopy(model)
    assert other.v is other.shared[0]
    other.v.assign(10.0)
    assert model(tf.constant(1.0)).numpy() == 2.0
    assert other(tf.constant(1.0)).numpy() == 10.0
    assert other.f(tf.constant(1.0)).numpy() == 3.0
    assert len(other.variables) == 3


def test_a_module_trains():
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = tf.Variable(0.0), tf.Variable(0.0)

        @tf.function
        def __call__(self, x):
            return self.w * x + self.b

    line = Line()
    x = tf.constant(np.linspace(-1, 1, 20, dtype=np.float32))
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((line(x) - (3.0 * x + 2.0)) ** 2)
        for v, g in zip(line.trainable_variables, tape.gradient(loss, line.trainable_variables), strict=True):
            v.assign_sub(0.3 * g)
    np.testing.assert_allclose([line.w, line.b], [3.0, 2.0], rtol=1e-4)


def test_a_module_has_its_name_and_scope_where_libraries_of_modules_look_for_them():
    class Plain(tf.Module):
        def __init__(self):
            self.w = tf.Variable(1.0)

    module = tf.Module("net")
    assert (module._name, module._name_scope) == ("net", module.name_scope)
    module._name = "other"
    assert module.name == "other"
    assert not hasattr(Plain(), "_name_scope")


def test_lists_that_lists_share_many_times_over_and_lists_that_hold_themselves_are_gone_into_once(tmp_path):
    made, shared = tf.Module(), [tf.Variable(1.0)]
    for _ in range(60):
        shared = [shared, {"again": shared}]
    made.shared = shared
    made.own = [tf.Variable(2.0)]
    made.own.append(made.own)
    tf.saved_model.save(made, tmp_path)
    for each in (made, tf.saved_model.load(tmp_path)):
        assert [float(v) for v in each.variables] == [2.0, 1.0] if each is made else [1.0, 2.0]
        assert "2 parameters" in repr(each) and str(each).count("float32()") == 2
