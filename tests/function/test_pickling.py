"""Pickles and deep copies of functions, ops and what programs are made of."""

import concurrent.futures
import copy
import importlib
import multiprocessing
import pickle
import types

import numpy as np
import pytest

import graphad as tf
from graphad.core.absent import _listed, _namespaces
from tests.function import pickled_programs as programs

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def again(x, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(x, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_function_of_a_module_is_pickled_as_its_name(protocol):
    assert again(programs.doubled, protocol) is programs.doubled
    assert again(programs.traced, protocol) is programs.traced
    assert again(programs.named_lambda, protocol) is programs.named_lambda
    assert again(programs.Model.__call__, protocol) is programs.Model.__call__


def test_every_public_name_is_pickled_as_itself():
    for space in _namespaces():
        module = importlib.import_module(space)
        for name in _listed(space):
            x = getattr(module, name)
            if not isinstance(x, types.ModuleType):
                y = again(x)
                same = y is x or y == x or (x != x and y != y)  # numpy.nan equals nothing
                if not same and type(x).__module__.startswith("numpy."):  # NumPy's own index_exp and s_
                    same = type(y) is type(x) and y.maketuple == x.maketuple
                assert same, f"{space}.{name}"


@pytest.mark.parametrize("how", [again, copy.deepcopy])
def test_a_model_with_functions_goes_on_from_where_it_was(how):
    model, optimizer = programs.fitted()
    x = tf.constant([[1.0, 3.0]])
    step = tf.constant([1.0, 1.0])
    model.step(step)
    twin, its_optimizer = how((model, optimizer))
    np.testing.assert_array_equal(twin(x), model(x))
    np.testing.assert_array_equal(its_optimizer.variables[2], optimizer.variables[2])
    before = model.scale.numpy()
    np.testing.assert_array_equal(twin.step(step), before + 1)  # the function belongs to the twin
    np.testing.assert_array_equal(model.scale, before)
    np.testing.assert_array_equal(twin.private()(x), twin.scale * x)
    its_optimizer.apply_gradients([(step, twin.scale)])
    assert not np.array_equal(twin.scale, before + 1)


@pytest.mark.parametrize("how", [again, copy.deepcopy, copy.copy])
def test_a_bound_method_belongs_to_the_object_that_comes_with_it(how):
    model = programs.Model()
    model(tf.ones((1, 2)))
    method, owner = (
        how([model.private(), model]) if how is not copy.copy else (copy.copy(model.private()), model)
    )
    owner.scale.assign([5.0, 6.0])
    np.testing.assert_array_equal(method(tf.constant([1.0, 1.0])), [5.0, 6.0])


def test_a_function_of_a_partial_object_keeps_its_options():
    import functools

    spec = [tf.TensorSpec([None], tf.float32)]
    f = tf.function(
        functools.partial(programs.plain), input_signature=spec, jit_compile=False, autograph=False
    )
    g = again(f)
    assert g.input_signature == f.input_signature and g.jit_compile is False and g.autograph is False
    np.testing.assert_array_equal(g([1.0, 2.0]), [2.0, 3.0])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tf.function(lambda x: x), r"is a lambda; define it at the top level"),
        (
            lambda: local_function(),
            r"local_function.<locals>.inside is made inside another function; define it",
        ),
        (
            lambda: programs.doubled.get_concrete_function(tf.constant(1.0)),
            "pickle the tf.function it comes from",
        ),
    ],
)
def test_what_no_process_could_find_is_refused_with_the_cure(make, why):
    with pytest.raises(pickle.PicklingError, match=why) as caught:
        pickle.dumps(make())
    assert "tf.saved_model.save" in str(caught.value)


def local_function():
    @tf.function
    def inside(x):
        return x

    return inside


def test_a_loaded_function_is_refused_and_can_be_copied(tmp_path):
    model = programs.Model()
    model(tf.ones((1, 2)))
    tf.saved_model.save(model, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    with pytest.raises(pickle.PicklingError, match="pass the path of the model"):
        pickle.dumps(loaded.__call__)
    twin = copy.deepcopy(loaded)
    twin.scale.assign([0.0, 0.0])
    assert np.all(twin(tf.ones((1, 2))).numpy() == 0)
    assert np.all(loaded(tf.ones((1, 2))).numpy() == 3)


def test_a_deep_copied_concrete_function_has_variables_of_its_own():
    v = tf.Variable(2.0)
    concrete = tf.function(lambda x: x * v).get_concrete_function(tf.TensorSpec([]))
    twin, its_v = copy.deepcopy((concrete, v))
    its_v.assign(5.0)
    assert twin(tf.constant(1.0)).numpy() == 5 and concrete(tf.constant(1.0)).numpy() == 2


def test_functions_and_tensors_go_to_worker_processes():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        jobs = [
            pool.submit(programs.in_other_process, f, tf.constant([1.0, 2.0]))
            for f in (programs.doubled, programs.traced, tf.exp, tf.nn.relu)
        ]
        found = [job.result(120).numpy() for job in jobs]
    np.testing.assert_allclose(found, [[2, 4], [2, 3], np.exp([1, 2]), [1, 2]], rtol=1e-6)


@pytest.mark.parametrize("how", [again, copy.deepcopy, copy.copy])
def test_specs_shapes_dtypes_and_values_survive(how):
    for x in (
        tf.TensorSpec([None, 2], tf.bfloat16, "x"),
        tf.TensorShape([None, 3]),
        tf.float16,
        tf.random.Generator.from_seed(3).state.numpy().tolist(),
    ):
        assert how(x) == x
    assert how(tf.TensorShape(None)).rank is None
    generator = tf.random.Generator.from_seed(3)
    twin = how(generator)
    np.testing.assert_array_equal(twin.normal([2]), tf.random.Generator.from_seed(3).normal([2]))
    rows = how(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2])))
    np.testing.assert_array_equal(tf.convert_to_tensor(rows), [[0, 0], [1, 1], [0, 0]])


def test_a_module_that_pickles_code_does_not_have_to_be_at_work(monkeypatch):
    import sys
    import types

    monkeypatch.setitem(sys.modules, "cloudpickle", types.ModuleType("cloudpickle"))
    with pytest.raises(pickle.PicklingError, match="made inside another function"):
        pickle.dumps(local_function())
