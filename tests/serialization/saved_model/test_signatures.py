"""Signatures: which there are, what their inputs and outputs are called, how they are called."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import graphad as gd
from serialization.saved_model import load, save
from tests.serialization.saved_model.generations import assert_same, reloaded

VECTOR = gd.TensorSpec([None], gd.float32)
X = np.array([1.0, 2.0], np.float32)


def module(**attributes):
    made = gd.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def described(function, *specs):
    return gd.function(function, input_signature=list(specs))


def test_the_only_function_with_a_signature_is_the_default():
    loaded = reloaded(module(f=described(lambda x: x * 2.0, VECTOR)))
    assert list(loaded.signatures) == ["serving_default"]
    assert_same(loaded.signatures["serving_default"](x=X), {"output_0": 2 * X})


def test_a_concrete_function_counts_as_one_with_a_signature():
    concrete = gd.function(lambda x: x * 2.0).get_concrete_function(VECTOR)
    assert list(reloaded(module(f=concrete)).signatures) == ["serving_default"]


def test_with_two_functions_there_is_no_default():
    f = described(lambda x: x * 2.0, VECTOR)
    loaded = reloaded(module(f=f, g=described(lambda x: x * 3.0, VECTOR)))
    assert len(loaded.signatures) == 0
    assert len(reloaded(module(f=gd.function(lambda x: x))).signatures) == 0


def test_a_lone_function_goes_under_the_default_key():
    f, g = described(lambda x: x * 2.0, VECTOR), described(lambda x: x * 3.0, VECTOR)
    for given in (g, g.get_concrete_function(), {"serving_default": g}):
        loaded = reloaded(module(f=f), signatures=given)
        assert_same(loaded.signatures["serving_default"](x=X), {"output_0": 3 * X})


def test_a_dict_of_signatures_survives_generations():
    f, g = described(lambda x: x * 2.0, VECTOR), described(lambda x: {"b": x, "a": -x}, VECTOR)
    model = module(f=f, g=g)
    with_keys = {"double": f, "both": g.get_concrete_function()}
    for loaded in (reloaded(model, 1, with_keys), reloaded(model, 3, with_keys)):
        assert sorted(loaded.signatures) == ["both", "double"]
        assert_same(loaded.signatures["both"](x=X), {"a": -X, "b": X})
        assert "f" in vars(loaded) and "x" in repr(loaded.signatures["double"])
    again = reloaded(loaded, 1, loaded.signatures)
    assert_same(again.signatures["double"](x=X), {"output_0": 2 * X})
    other = reloaded(loaded, 1, {"only": loaded.signatures["double"], "f": loaded.f})
    assert sorted(other.signatures) == ["f", "only"]


def test_outputs_are_named_by_dict_keys_or_numbered():
    model = module()
    keys = {
        "one": described(lambda x: x, VECTOR),
        "two": described(lambda x: (x, -x), VECTOR),
        "listed": described(lambda x: [x], VECTOR),
        "named": described(lambda x: {"z": x, "a": x * 2.0}, VECTOR),
        "none": described(lambda x: {}, VECTOR),
    }
    signatures = reloaded(model, 2, keys).signatures
    assert_same(signatures["one"](x=X), {"output_0": X})
    assert_same(signatures["two"](x=X), {"output_0": X, "output_1": -X})
    assert_same(signatures["listed"](x=X), {"output_0": X})
    assert_same(signatures["named"](x=X), {"z": X, "a": 2 * X})
    assert signatures["none"](x=X) == {}
    assert sorted(signatures["named"].structured_outputs) == ["a", "z"]
    assert signatures["one"].structured_outputs["output_0"].dtype is gd.float32


def test_inputs_are_named_after_parameters_or_specs():
    f = described(
        lambda a, b, c=2.0: a + b * c,
        gd.TensorSpec([], name="first"),
        gd.TensorSpec([]),
        gd.TensorSpec([]),
    )
    signature = reloaded(module(f=f)).signatures["serving_default"]
    args, kwargs = signature.structured_input_signature
    assert args == () and sorted(kwargs) == ["b", "c", "first"]
    assert float(signature(first=1.0, b=2.0, c=3.0)["output_0"]) == 7.0
    assert kwargs["first"].shape.as_list() == [] and kwargs["b"].dtype is gd.float32


def test_nested_arguments_have_names_of_their_own():
    f = gd.function(lambda d: d["x"] + d["y"])
    concrete = f.get_concrete_function({"x": gd.TensorSpec([], name="p"), "y": gd.TensorSpec([], name="q")})
    loaded = reloaded(module(), signatures=concrete)
    assert float(loaded.signatures["serving_default"](p=1.0, q=2.0)["output_0"]) == 3.0


def test_a_signature_takes_keywords_and_checks_them():
    f = described(lambda a, b: a + b, VECTOR, VECTOR)
    signature = reloaded(module(f=f)).signatures["serving_default"]
    for wrong in ({}, {"a": X}, {"a": X, "b": X, "c": X}, {"x": X, "b": X}):
        with pytest.raises(TypeError, match="keywords a, b"):
            signature(**wrong)
    with pytest.raises(TypeError, match="keywords"):
        signature(X, X)
    with pytest.raises(TypeError, match="int32"):
        signature(a=gd.constant([1]), b=X)
    with pytest.raises((TypeError, ValueError), match="shape"):
        signature(a=gd.constant([[1.0]]), b=X)
    one = reloaded(module(f=described(lambda x: x, VECTOR))).signatures["serving_default"]
    assert_same(one(X)["output_0"], X)


def test_the_map_cannot_be_changed():
    loaded = reloaded(module(f=described(lambda x: x, VECTOR)))
    with pytest.raises(TypeError):
        loaded.signatures["other"] = loaded.f
    with pytest.raises(TypeError):
        del loaded.signatures["serving_default"]
    assert "serving_default" in loaded.signatures and "other" not in loaded.signatures
    with pytest.raises(KeyError):
        loaded.signatures["other"]


@pytest.mark.parametrize("wrong", [lambda x: x, 3, gd.Module(), [1]], ids=["lambda", "int", "module", "list"])
def test_a_signature_must_be_a_function(tmp_path, wrong):
    with pytest.raises(
        ValueError, match="Expected a TensorFlow function for which to generate a signature, but got"
    ):
        save(module(), tmp_path / "m", {"key": wrong})


def test_a_signature_without_one_trace_is_refused(tmp_path):
    f = gd.function(lambda x: x * 2.0)
    with pytest.raises(ValueError, match="no input_signature and 0 traces"):
        save(module(f=f), tmp_path / "m", f)
    f(gd.constant(1.0))
    save(module(f=f), tmp_path / "m", f)
    f(gd.constant([1.0]))
    with pytest.raises(ValueError, match="2 traces"):
        save(module(f=f), tmp_path / "m", f)
    with pytest.raises(ValueError, match="not a string"):
        save(module(f=f), tmp_path / "m", {3: f.get_concrete_function(gd.TensorSpec([]))})


@pytest.mark.parametrize(
    "result",
    [
        lambda x: [x, [x]],
        lambda x: {"a": [x]},
        lambda x: None,
        lambda x: (x, None),
        lambda x: {"a": {"b": x}},
    ],
    ids=["nested list", "list in dict", "none", "none in tuple", "dict in dict"],
)
def test_outputs_must_be_flat(tmp_path, result):
    f = described(result, VECTOR)
    with pytest.raises(ValueError, match=r"Got a non-Tensor value .* for output '(a|output_[01])' of the"):
        save(module(f=f), tmp_path / "m", f)
    save(module(f=f), tmp_path / "m")  # as a function it may return what it likes


@pytest.mark.parametrize(
    "result",
    [
        lambda x: gd.IndexedSlices(x, gd.range(gd.shape(x)[0])),
        lambda x: (x, gd.sparse.from_dense(x)),
        lambda x: {"a": gd.sparse.from_dense(x)},
    ],
)
def test_a_function_whose_outputs_are_no_tensors_is_saved_without_a_signature_and_refused_as_one(
    tmp_path, result
):
    module = gd.Module()
    module.f = gd.function(result, input_signature=[gd.TensorSpec([None])])
    save(module, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert not loaded.signatures
    x = gd.constant([1.0, 0.0, 2.0])
    for got, want in zip(
        gd.nest.flatten(loaded.f(x), expand_composites=True),
        gd.nest.flatten(module.f(x), expand_composites=True),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match=r"for output '.*' of the signature 'serving_default'"):
        save(module, tmp_path / "other", signatures=module.f)


def test_an_attribute_called_signatures_is_refused(tmp_path):
    root = module(signatures=[gd.Variable(1.0)])
    with pytest.raises(ValueError, match=r"del obj\.signatures"):
        save(root, tmp_path / "m")
    del root.signatures
    save(root, tmp_path / "m")


def test_a_variable_that_a_signature_cannot_reach_is_a_key_error(tmp_path):
    v = gd.Variable(1.0)
    f = described(lambda x: x * v, VECTOR)
    with pytest.raises(KeyError, match="not reachable from root") as caught:
        save(module(), tmp_path / "m", f.get_concrete_function())
    assert isinstance(caught.value, ValueError)


def test_loaded_signatures_can_be_differentiated():
    v = gd.Variable(3.0)
    loaded = reloaded(module(v=v, f=described(lambda x: x * x * v, VECTOR)), 2)
    x = gd.constant(X)
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = loaded.signatures["serving_default"](x=x)["output_0"]
    assert_same(tape.gradient(y, [x, loaded.v]), [6 * X, np.sum(X * X)])


def test_sub_objects_may_hold_the_map_of_signatures():
    once = reloaded(module(f=described(lambda x: x * 2.0, VECTOR)))
    outer = module(inner=once, f=described(lambda x: x * 5.0, VECTOR))
    twice = reloaded(outer, 2)
    assert_same(twice.signatures["serving_default"](x=X)["output_0"], 5 * X)
    assert_same(twice.inner.f(X), 2 * X)


@pytest.mark.parametrize(
    "kind", [dict, collections.OrderedDict, lambda **items: collections.defaultdict(int, items)]
)
def test_arguments_in_a_dict_of_any_kind_are_found_by_key(kind, tmp_path):
    one, two = gd.constant(5.0), gd.constant(1.0)
    function = gd.function(lambda d: {"left": d["b"] - 2 * d["a"], "all": kind(z=d["b"], y=d["a"])})
    function(kind(b=one, a=two))
    root = gd.Module()
    root.f = function
    save(root, tmp_path / "model")
    found = load(tmp_path / "model").f
    for other in (dict, collections.OrderedDict):
        for given in (other(b=one, a=two), other(a=two, b=one)):
            result = found(given)
            assert result["left"].numpy() == 3.0
            assert (result["all"]["z"].numpy(), result["all"]["y"].numpy()) == (5.0, 1.0)


def test_a_loaded_function_raises_what_it_meets_in_a_call_like_one_before(tmp_path):
    model = gd.Module()

    @gd.function(input_signature=[gd.TensorSpec([2])])
    def f(x):
        gd.debugging.assert_positive(x, message="only what is positive")
        return gd.sqrt(x)

    model.f = f
    gd.saved_model.save(model, str(tmp_path / "model"))
    loaded = gd.saved_model.load(str(tmp_path / "model"))
    for _ in range(2):
        np.testing.assert_allclose(loaded.f(gd.constant([4.0, 9.0])), [2.0, 3.0])
        with pytest.raises(gd.errors.InvalidArgumentError, match="only what is positive"):
            loaded.f(gd.constant([4.0, -9.0]))
