"""What users of TensorFlow rely on in saved models, beside what the other files here hold."""

from __future__ import annotations

import os
from collections import namedtuple

import numpy as np
import pytest

import graphad as tf

SCALAR = tf.TensorSpec([])
Pair = namedtuple("Pair", "left right")


def module(**attributes):
    made = tf.Module("saved")
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def through(tmp_path):
    """What a model is after it was saved and loaded, twice."""

    def go(model, **options):
        for i in range(2):
            tf.saved_model.save(model, tmp_path / str(i), **options)
            model = tf.saved_model.load(tmp_path / str(i))
            options = {"signatures": dict(model.signatures)} if model.signatures else {}
        return model

    return go


# -- calls after load ----------------------------------------------------------------------------------------------------------


def test_a_list_of_numbers_fits_where_a_trace_took_a_tensor(through):
    f = tf.function(lambda x, scale=1.0, *, shift: x * scale + shift)
    f(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), shift=tf.constant([0.5, 0.5]))
    loaded = through(module(f=f)).f
    np.testing.assert_array_equal(loaded([1, 2], (3.0, 4.0), shift=[0.5, 0.5]), [3.5, 8.5])
    np.testing.assert_array_equal(
        loaded(np.float32([1, 2]), tf.constant([3.0, 4.0]), shift=[0, 0]), [3.0, 8.0]
    )
    for wrong in ([1.0, 2.0, 3.0], [[1.0], [2.0, 3.0]], ["a", "b"], [1j, 2j]):
        with pytest.raises(ValueError, match="Could not find matching concrete function"):
            loaded(wrong, [3.0, 4.0], shift=[0.5, 0.5])


def test_a_list_stays_a_list_where_a_trace_took_one(through):
    f = tf.function(lambda pair: pair[0] - pair[1])
    f([tf.constant(1.0), tf.constant(2.0)])
    f(tf.constant([1.0, 2.0, 3.0]))
    loaded = through(module(f=f)).f
    assert loaded([5.0, 2.0]).numpy() == 3.0
    assert loaded([5.0, 2.0, 1.0]).numpy() == 3.0


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1.0, 2.0), {}, "too many positional arguments"),
        ((1.0,), {"y": 2.0}, "unexpected keyword argument 'y'"),
    ],
)
def test_arguments_that_the_parameters_do_not_take_are_a_type_error(through, args, kwargs, reason):
    f = tf.function(lambda x: x * 2.0)
    f(tf.constant(1.0))
    loaded = through(module(f=f)).f
    with pytest.raises(TypeError, match=reason):
        loaded(*args, **kwargs)
    if args:  # without any, the one trace there is
        with pytest.raises(TypeError, match=reason):
            loaded.get_concrete_function(*args, **kwargs)


# -- signatures ------------------------------------------------------------------------------------------------------------------


def test_tensors_of_a_structure_are_keywords_numbered_by_their_parameter(through):
    f = tf.function(
        lambda pair, x: pair["a"] - pair["b"] * x,
        input_signature=[{"a": SCALAR, "b": SCALAR}, tf.TensorSpec([], name="factor")],
    )
    serve = through(module(), signatures=f).signatures["serving_default"]
    assert list(serve.structured_input_signature[1]) == ["pair", "pair_1", "factor"]
    got = serve(pair=tf.constant(7.0), pair_1=tf.constant(2.0), factor=tf.constant(3.0))
    assert got["output_0"].numpy() == 1.0


def test_arguments_of_one_name_are_numbered(through):
    named = tf.TensorSpec([], name="z")
    f = tf.function(lambda x, y: x - y, input_signature=[named, named])
    serve = through(module(), signatures=f).signatures["serving_default"]
    assert serve(z=tf.constant(1.0), z_1=tf.constant(5.0))["output_0"].numpy() == -4.0


def test_the_fields_of_a_named_tuple_are_the_names_of_the_outputs(through):
    f = tf.function(lambda x: Pair(x * 2.0, x * 3.0), input_signature=[SCALAR])
    got = through(module(), signatures=f).signatures["serving_default"](x=tf.constant(1.0))
    assert {key: value.numpy() for key, value in got.items()} == {"left": 2.0, "right": 3.0}


def test_what_a_signature_says_of_itself(through):
    v = tf.Variable(2.0)
    f = tf.function(lambda x: {"y": x * v}, input_signature=[tf.TensorSpec([None], name="x")])
    loaded = through(module(v=v), signatures=f)
    serve = loaded.signatures["serving_default"]
    assert serve.structured_outputs == {"y": tf.TensorSpec([None], tf.float32, "y")}
    assert serve.output_shapes["y"].as_list() == [None]
    assert serve.output_dtypes == {"y": tf.float32}
    assert serve.variables[0] is loaded.v
    assert serve.trainable_variables[0] is loaded.v
    assert isinstance(serve.name, bytes)
    assert str(serve) == f"ConcreteFunction {serve.pretty_printed_signature()}"
    lines = serve.pretty_printed_signature().splitlines()
    spec = "TensorSpec(shape=(None,), dtype=tf.float32, name={})"
    assert lines[1] == f"  x (KEYWORD_ONLY): {spec.format(repr('x'))}"
    assert lines[3] == f"  Dict[['y', {spec.format(repr('y'))}]]"
    assert serve.pretty_printed_signature(verbose=False).startswith(
        f"(*, x: {spec.format(repr('x'))}) -> Dict["
    )


# -- arguments of save and load ----------------------------------------------------------------------------------------------


def test_paths_may_be_bytes(tmp_path):
    path = os.fsencode(tmp_path / "model")
    tf.saved_model.save(module(v=tf.Variable(3.0)), path)
    assert tf.saved_model.contains_saved_model(path)
    assert os.path.isdir(tmp_path / "model" / tf.saved_model.VARIABLES_DIRECTORY)
    assert tf.saved_model.load(path).v.numpy() == 3.0


def test_tags_name_the_one_version_there_is(tmp_path):
    tf.saved_model.save(module(v=tf.Variable(3.0)), tmp_path)
    for tags in (None, tf.saved_model.SERVING, ["serve"], {"serve"}):
        assert tf.saved_model.load(tmp_path, tags=tags).v.numpy() == 3.0
    with pytest.raises(ValueError, match=r"incompatible argument to `tags`: \['train'\]"):
        tf.saved_model.load(tmp_path, tags="train")


def test_options_about_what_no_file_holds_are_taken(tmp_path):
    f = tf.function(lambda x: x * 2.0, input_signature=[SCALAR])
    options = tf.saved_model.SaveOptions(
        function_aliases={"double": f}, namespace_whitelist=["Mine"], experimental_io_device="/job:localhost"
    )
    tf.saved_model.save(module(f=f), tmp_path, options=options)
    loaded = tf.saved_model.load(
        tmp_path, options=tf.saved_model.LoadOptions(experimental_io_device="/job:localhost")
    )
    assert loaded.f(2.0).numpy() == 4.0
    assert list(loaded.signatures) == [tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]


# -- functions behind properties -----------------------------------------------------------------------------------------------


class Counted(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(2.0)
        self.asked = 0

    @property
    def alias(self):
        return self._scale

    @tf.function(input_signature=[SCALAR])
    def _scale(self, x):
        return x * self.factor

    @property
    def fresh(self):
        self.asked += 1
        return tf.function(lambda x: x + self.factor, input_signature=[SCALAR])

    @property
    def number(self):
        return 3

    @property
    def broken(self):
        raise KeyError("not ready")


def test_functions_behind_properties_are_saved_and_each_property_is_asked_once(through):
    model = Counted()
    loaded = through(model)
    assert float(loaded.alias(3.0)) == 6.0
    assert loaded.alias is loaded._scale
    assert float(loaded.fresh(3.0)) == 5.0
    assert model.asked == 1
    assert not hasattr(loaded, "number") and not hasattr(loaded, "broken")


def test_a_partial_checkpoint_is_allowed_where_none_is_partial(tmp_path):
    tf.saved_model.save(Counted(), tmp_path)
    options = tf.saved_model.LoadOptions(allow_partial_checkpoint=True, experimental_skip_checkpoint=True)
    assert float(tf.saved_model.load(tmp_path, options=options).factor) == 2.0
