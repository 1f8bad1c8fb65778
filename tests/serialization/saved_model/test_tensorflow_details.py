"""Details of saved models that programs for TensorFlow rely on: names, places and callables after loading."""

from __future__ import annotations

import gc
import inspect
import weakref

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import ArgumentTypeError
from serialization.errors import SaveError
from serialization.saved_model import LoadOptions, SaveOptions
from tests.serialization.saved_model.generations import reloaded

SCALAR = tf.TensorSpec([])


def module(**attributes):
    made = tf.Module("saved")
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def test_synchronization_and_aggregation_of_variables_are_kept():
    when, how = tf.VariableSynchronization, tf.VariableAggregation
    root = module(
        a=tf.Variable(1.0, synchronization=when.ON_READ, aggregation=how.MEAN),
        b=tf.Variable(2.0, aggregation=how.ONLY_FIRST_REPLICA),
        c=tf.Variable(3.0),
        large=tf.Variable(np.zeros([1 << 19], np.float32), synchronization=when.NONE),
    )
    for loaded in (reloaded(root), reloaded(root, 2)):
        assert (loaded.a.synchronization, loaded.a.aggregation) == (when.ON_READ, how.MEAN)
        assert (loaded.b.synchronization, loaded.b.aggregation) == (when.AUTO, how.ONLY_FIRST_REPLICA)
        assert (loaded.c.synchronization, loaded.c.aggregation) == (when.AUTO, how.NONE)
        assert loaded.large.synchronization is when.NONE
        assert not loaded.a.trainable and float(loaded.a) == 1.0


def test_a_function_is_found_by_the_other_names_it_was_saved_under(tmp_path):
    root = module(f=tf.function(lambda x: 2.0 * x, input_signature=[SCALAR]), v=tf.Variable(3.0))
    root.g = tf.function(lambda x: root.v * x)
    concrete = root.g.get_concrete_function(SCALAR)
    aliases = {"double": root.f, "again": root.f, "by_v": concrete, "listed": [concrete]}
    tf.saved_model.save(root, tmp_path, options=SaveOptions(function_aliases=aliases))
    found = tf.saved_model.load(tmp_path, options=LoadOptions(experimental_load_function_aliases=True))
    assert set(found.function_aliases) == set(aliases)
    assert float(found.function_aliases["double"](1.5)) == 3.0
    assert found.function_aliases["again"] is found.function_aliases["double"] is found.f
    found.v.assign(5.0)
    assert float(found.function_aliases["by_v"](2.0)) == float(found.function_aliases["listed"](2.0)) == 10.0
    assert not hasattr(tf.saved_model.load(tmp_path), "function_aliases")


def test_aliases_are_of_functions_and_do_not_hide_an_attribute(tmp_path):
    f = tf.function(lambda x: x, input_signature=[SCALAR])
    root = module(f=f, function_aliases=tf.Variable(1.0))
    tf.saved_model.save(root, tmp_path, options=SaveOptions(function_aliases={"f": f}))
    assert float(tf.saved_model.load(tmp_path).function_aliases) == 1.0
    with pytest.raises(ValueError, match="Could not load with experimental_load_function_aliases"):
        tf.saved_model.load(tmp_path, options=LoadOptions(experimental_load_function_aliases=True))
    with pytest.raises(
        TypeError, match="Unsupported type for the function under 'x' in function_aliases: 'f'"
    ):
        tf.saved_model.save(root, tmp_path / "b", options=SaveOptions(function_aliases={"x": "f"}))
    for wrong in ("f", {1: f}):
        with pytest.raises(ArgumentTypeError, match="function_aliases"):
            SaveOptions(function_aliases=wrong)


def test_a_chain_of_objects_that_are_called_is_called_after_loading():
    root = module()
    root.__call__ = module()
    root.__call__.__call__ = module()
    root.__call__.__call__.__call__ = tf.function(lambda x: x * 3.0, input_signature=[SCALAR])
    for loaded in (reloaded(root), reloaded(root, 2)):
        assert callable(loaded) and float(loaded(2.0)) == 6.0
    endless = module()
    endless.__call__ = endless
    assert not callable(reloaded(endless))
    assert not callable(reloaded(module(__call__=module())))


def test_a_loaded_function_shows_its_parameters():
    root = module(f=tf.function(lambda a, b=2.0, *rest, key, **options: a))
    root.f(tf.constant(1.0), key=tf.constant(1.0))
    assert str(inspect.signature(reloaded(root, 2).f)) == "(a, b=2.0, *rest, key, **options)"


def test_an_array_as_default_is_what_the_signature_makes_of_it():
    start = np.array([5.0, 6.0])
    root = module(f=tf.function(lambda x=start: x, input_signature=[tf.TensorSpec([2])]))
    for found in (root, reloaded(root), reloaded(root, 2)):
        assert found.f().dtype is tf.float32 and found.f().numpy().tolist() == [5.0, 6.0]
        assert found.f(np.array([7.0, 8.0])).numpy().tolist() == [7.0, 8.0]


def test_names_of_specs_are_names_of_arguments_after_loading():
    @tf.function
    def f(*args):
        x, y = args
        return x * (y + 1.0)

    specs = [tf.TensorSpec([], name="x"), tf.TensorSpec([], name="y")]
    root = module(f=f.get_concrete_function(*specs))
    for found in (root, reloaded(root), reloaded(root, 2)):
        assert float(found.f(y=tf.constant(3.0), x=tf.constant(2.0))) == 8.0
        assert found.f.structured_input_signature == (tuple(specs), {})


def test_keywords_of_signatures_are_identifiers():
    names = ("A-b", "A/D", "Bar", "1x")
    f = tf.function(lambda a, b, c, d: a + 2 * b + 3 * c + 4 * d)
    f = tf.function(f.python_function, input_signature=[tf.TensorSpec([], tf.int32, name=n) for n in names])
    found = reloaded(module(f=f), 2).signatures["serving_default"]
    assert list(found.structured_input_signature[1]) == ["A_b", "A_D", "Bar", "arg_1x"]
    given = {name: tf.constant(k) for k, name in enumerate(["A_b", "A_D", "Bar", "arg_1x"])}
    assert int(found(**given)["output_0"]) == 2 + 6 + 12
    twice = tf.function(
        lambda a, b: a + b, input_signature=[tf.TensorSpec([], name="a-b"), tf.TensorSpec([], name="a/b")]
    )
    with pytest.raises(SaveError, match=r"Name collision after sanitization.*'a-b', 'a/b'"):
        reloaded(module(f=twice))


def test_signatures_of_several_arguments_take_none_by_position():
    f = tf.function(lambda x, y: x - y, input_signature=[SCALAR, SCALAR])
    g = tf.function(lambda x: -x, input_signature=[SCALAR])
    one = tf.constant(1.0)
    loaded = reloaded(module(f=f, g=g), signatures={"f": f, "g": g})
    assert float(loaded.signatures["g"](one)["output_0"]) == -1.0
    for args, given in (((one,), {"y": one}), ((one, one), {})):
        with pytest.raises(TypeError, match=r"it takes the keywords x, y; got .* by position"):
            loaded.signatures["f"](*args, **given)


def test_saving_and_loading_leave_no_cycle_that_keeps_variables_alive():
    gc.collect()
    gc.disable()
    try:
        first = tf.Variable(1.0)
        root = module(v=first, f=tf.function(lambda x: x * 2.0, input_signature=[SCALAR]))
        before = weakref.ref(first)
        root = reloaded(root)
        del first
        assert before() is None
        after = weakref.ref(root.v)
        assert float(root.f(2.0)) == 4.0
        del root
        assert after() is None
    finally:
        gc.enable()


def test_options_that_change_nothing_are_taken_and_their_values_checked(tmp_path):
    root = module(f=tf.function(lambda x: 2 * x, input_signature=[SCALAR]))
    for number, given in enumerate(
        (
            {"experimental_image_format": True},
            {"experimental_skip_saver": True},
            {"experimental_debug_stripper": True},
            {"experimental_variable_policy": "save_variable_devices"},
            {"experimental_variable_policy": "EXPAND_DISTRIBUTED_VARIABLES"},
            {"namespace_whitelist": "Mine"},
        )
    ):
        tf.saved_model.save(root, tmp_path / str(number), options=SaveOptions(**given))
        assert float(tf.saved_model.load(tmp_path / str(number)).f(1.5)) == 3.0
    with pytest.raises(
        ValueError, match="'zzz'; Received invalid VariablePolicy value, it may be None, 'save_v"
    ):
        SaveOptions(experimental_variable_policy="zzz")
    with pytest.raises(ValueError, match="Whitelisted namespace must be a string"):
        SaveOptions(namespace_whitelist=["a", 1])
