"""What survives saving: the object graph, variables, functions by their traces, assets."""

from __future__ import annotations

import collections
import functools
import os
import pathlib
import shutil

import numpy as np
import pytest

import graphad as gd
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from serialization.errors import CorruptModelError, MissingModelError, SaveError, SaveFailedError
from serialization.saved_model import Asset, LoadOptions, contains_saved_model, load, save
from serialization.wire.files import FileSystem
from tests.serialization.saved_model.generations import assert_same, gradients, reloaded

F32 = gd.float32


def module(**attributes):
    made = gd.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def double(x):
    return x * 2.0


# 8.1, 8.17 to 8.19, 8.22: what can be saved, and where


def test_save_returns_none(tmp_path):
    assert save(gd.Module(), tmp_path / "m") is None


@pytest.mark.parametrize("x", [{"v": 1}, gd.Module, 3.0, [], object(), None], ids=lambda x: type(x).__name__)
def test_only_trackables_can_be_saved(tmp_path, x):
    with pytest.raises(ValueError, match=r"Expected an object of type `Trackable`.*Got .* with type"):
        save(x, tmp_path / "m")
    with pytest.raises(ValueError, match="Trackable"):
        save(gd.constant(1.0), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_directory_is_known_as_a_model(tmp_path):
    assert not contains_saved_model(tmp_path / "m")
    save(gd.Module(), tmp_path / "m")
    assert contains_saved_model(tmp_path / "m") and contains_saved_model(os.fspath(tmp_path / "m"))
    assert not contains_saved_model(tmp_path)


def test_saving_replaces_what_was_there(tmp_path):
    save(module(v=gd.Variable([1.0] * 100)), tmp_path / "m")
    save(module(w=gd.Variable([2.0] * 100)), tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert not hasattr(loaded, "v")
    assert_same(loaded.w, [2.0] * 100)
    assert len(os.listdir(tmp_path / "m" / "variables")) == 1


def test_a_missing_path_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r"SavedModel file does not exist at: .*nothing") as caught:
        load(tmp_path / "nothing")
    assert isinstance(caught.value, MissingModelError)


def test_paths_may_be_path_like(tmp_path):
    class Path:
        def __fspath__(self):
            return os.fspath(tmp_path / "m")

    save(module(v=gd.Variable(3.0)), Path())
    assert float(load(Path()).v) == 3.0


def test_saving_inside_a_function_is_an_assertion(tmp_path):
    @gd.function
    def f():
        save(gd.Module(), tmp_path / "m")
        return gd.constant(1.0)

    with pytest.raises(
        AssertionError,
        match=r"`tf.saved_model.save` is not supported inside a traced @tf.function. Call it outside",
    ):
        f()


def test_loading_inside_a_function_works_once(tmp_path):
    v = gd.Variable(3.0)
    save(module(v=v, f=gd.function(lambda x: x * v, input_signature=[gd.TensorSpec([])])), tmp_path / "m")
    kept = []

    @gd.function
    def f(x):
        if not kept:
            kept.append(load(tmp_path / "m"))
        return kept[0].f(x)

    assert float(f(gd.constant(2.0))) == 6.0
    kept[0].v.assign(5.0)
    assert float(f(gd.constant(2.0))) == 10.0


# 8.2, 8.5: what survives


def test_numbers_strings_tensors_and_methods_are_left_out():
    class Net(gd.Module):
        def __init__(self):
            super().__init__()
            self.v = gd.Variable(1.0)
            self.number, self.text, self.tensor = 3, "text", gd.constant(2.0)

        def method(self):
            return 1

        @gd.function(input_signature=[])
        def get(self):
            return self.v * 3.0

    loaded = reloaded(Net(), 2)
    for name in ("number", "text", "tensor", "method"):
        assert not hasattr(loaded, name)
    assert float(loaded.get()) == 3.0
    assert not isinstance(loaded, Net) and not isinstance(loaded, gd.Module)
    with pytest.raises(AttributeError):
        loaded.missing


def test_what_is_loaded_finds_its_variables_as_a_module_does():
    shared, fixed = gd.Variable(1.0), gd.Variable(2.0, trainable=False)
    root = module(b=module(v=shared), a=[shared, {"w": gd.Variable(3.0)}], fixed=fixed)
    for loaded in (reloaded(root), reloaded(root, 2)):
        assert {float(v) for v in loaded.trainable_variables} == {1.0, 3.0}
        assert loaded.non_trainable_variables == (loaded.fixed,)
        assert len(loaded.variables) == len(root.variables) == 3
        assert sum(v is loaded.b.v for v in loaded.variables) == 1


def test_lists_dicts_tuples_and_named_tuples_keep_their_variables():
    Pair = collections.namedtuple("Pair", "left right")
    a, b, c = gd.Variable(1.0), gd.Variable(2.0), gd.Variable(3.0)
    root = module(
        listed=[a, [b, c]],
        named={"a": a, "inner": {"b": b}},
        keyed={1: a, ("x", 2): b, None: c},
        pair=(a, (b, [c])),
        struct=Pair(a, {"b": b}),
    )
    for loaded in (reloaded(root), reloaded(root, 2)):
        assert [float(v) for v in (loaded.listed[0], *loaded.listed[1])] == [1.0, 2.0, 3.0]
        assert loaded.named["a"] is loaded.listed[0] and loaded.named["inner"]["b"] is loaded.listed[1][0]
        assert list(loaded.keyed) == [1, ("x", 2), None] and loaded.keyed[("x", 2)] is loaded.listed[1][0]
        assert loaded.pair[1][1][0] is loaded.listed[1][1] and type(loaded.pair) is tuple
        assert loaded.struct.left is loaded.listed[0] and loaded.struct._fields == ("left", "right")
        assert loaded.struct.right["b"] is loaded.listed[1][0]


def test_items_that_cannot_be_saved_are_none_and_the_others_keep_their_places():
    v, w = gd.Variable(1.0), gd.Variable(2.0)
    Pair = collections.namedtuple("Pair", "left middle right")
    loaded = reloaded(
        module(listed=[1, v, "x", w], named={"a": 1, 3: v, "b": w}, pair=Pair(v, 5, w), none=[1, 2]), 2
    )
    assert loaded.listed[0] is loaded.listed[2] is None and len(loaded.listed) == 4
    assert [float(loaded.listed[k]) for k in (1, 3)] == [1.0, 2.0]
    assert {key: float(x) for key, x in loaded.named.items()} == {3: 1.0, "b": 2.0}
    assert loaded.pair._fields == ("left", "middle", "right") and float(loaded.pair.right) == 2.0
    assert loaded.pair.middle is None
    assert not hasattr(loaded, "none")
    empty = reloaded(module(listed=[], named={}, pair=(), nested=[[], {"a": []}]), 2)
    assert (empty.listed, empty.named, empty.pair, empty.nested) == ([], {}, (), [[], {"a": []}])


def test_a_dict_key_that_a_file_cannot_hold_is_an_error(tmp_path):
    with pytest.raises(SaveError, match="a dict has the key"):
        save(module(named={object(): gd.Variable(1.0)}), tmp_path / "m")


def test_identity_and_cycles_are_kept():
    root, child = gd.Module(), gd.Module()
    root.child, child.parent, child.me = child, root, child
    root.a = root.b = child.v = gd.Variable([1.0, 2.0])
    listed = [child]
    listed.append(listed)
    root.listed = listed
    for loaded in (reloaded(root), reloaded(root, 3)):
        assert loaded.child.parent is loaded and loaded.child.me is loaded.child
        assert loaded.a is loaded.b is loaded.child.v
        assert loaded.listed[0] is loaded.child
    loaded.a.assign_add([1.0, 1.0])
    assert_same(loaded.b, [2.0, 3.0])


def test_a_list_that_holds_itself_keeps_the_rest():
    v = gd.Variable(1.0)
    listed = [v]
    listed.append(listed)
    assert float(reloaded(module(listed=listed)).listed[0]) == 1.0


def test_deep_and_wide_object_graphs():
    root = module(v=gd.Variable(0.0))
    place = root
    for k in range(3000):
        place.next = module(v=gd.Variable(float(k)))
        place = place.next
    root.wide = [gd.Variable(float(k)) for k in range(300)]
    loaded = reloaded(root)
    for _ in range(3000):
        loaded, root = loaded.next, root.next
    assert float(loaded.v) == float(root.v) == 2999.0


def test_an_object_is_callable_if_its_call_was_a_function():
    class Callable(gd.Module):
        @gd.function(input_signature=[gd.TensorSpec([None])])
        def __call__(self, x):
            return x + 1.0

    class Plain(gd.Module):
        def __call__(self, x):
            return x + 1.0

    loaded = reloaded(module(a=Callable(), b=Plain(), v=gd.Variable(1.0)), 2)
    assert_same(loaded.a(gd.constant([1.0])), [2.0])
    with pytest.raises(TypeError, match="not callable"):
        loaded.b(gd.constant([1.0]))


def test_names_that_collide_with_methods_of_restored_objects():
    root = module(named_children=gd.Variable(1.0), _private=gd.Variable(2.0))
    loaded = reloaded(root, 3)
    assert float(loaded.named_children) == 1.0 and float(loaded._private) == 2.0


def test_variables_and_functions_can_be_roots():
    assert float(reloaded(gd.Variable(3.0), 2)) == 3.0
    f = gd.function(double, input_signature=[gd.TensorSpec([None])])
    loaded = reloaded(f, 2)
    assert_same(loaded(gd.constant([2.0])), [4.0])
    assert_same(loaded.signatures["serving_default"](x=gd.constant([2.0]))["output_0"], [4.0])
    assert_same(reloaded(f.get_concrete_function(), 2)(gd.constant([2.0])), [4.0])


# 8.6: variables


DTYPES = [
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3), (5, 7), (1, 2, 3, 4)], ids=str)
def test_values_of_every_dtype_and_shape_are_the_same_bits(dtype, shape):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    kind = gd.as_dtype(dtype) if hasattr(gd, "as_dtype") else getattr(gd, dtype)
    rng = np.random.default_rng(3)
    data = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(kind.numpy)
    if kind.is_complex:
        data = data + kind.numpy.type(2j)
    v = gd.Variable(data)
    assert v.dtype is kind
    f = gd.function(lambda: gd.identity(v), input_signature=[])
    c = gd.function(lambda: gd.constant(data), input_signature=[])
    loaded = reloaded(module(v=v, f=f, c=c), 2)
    for value in (loaded.v, loaded.f(), loaded.c()):
        assert value.dtype is kind and tuple(value.shape) == shape
        assert np.asarray(value).tobytes() == data.tobytes()


def test_special_numbers_are_the_same_bits():
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 0x00000001, 0x7F800001], np.uint32).view(np.float32)
    assert np.asarray(reloaded(module(v=gd.Variable(bits)), 2).v).tobytes() == bits.tobytes()


def test_memory_order_and_strides_do_not_matter():
    data = np.arange(24.0).reshape(2, 3, 4)
    for array in (
        np.asfortranarray(data),
        data[:, ::-1, ::2],
        data.transpose(2, 0, 1),
        np.broadcast_to(data, (2, 2, 3, 4)),
    ):
        assert_same(reloaded(module(v=gd.Variable(array))).v, array)


def test_name_trainable_dtype_and_shape_are_kept():
    v = gd.Variable([1.0], name="kernel", trainable=False, shape=gd.TensorShape([None]), dtype=gd.float64)
    w = gd.Variable([[1.0]], shape=gd.TensorShape(None))
    for loaded in (reloaded(module(v=v, w=w)), reloaded(module(v=v, w=w), 2)):
        assert loaded.v.name == "kernel:0" and loaded.v.trainable is False and loaded.v.dtype is gd.float64
        assert loaded.v.shape.as_list() == [None] and loaded.w.shape.rank is None and loaded.w.trainable
        loaded.v.assign([1.0, 2.0, 3.0])
        loaded.w.assign(5.0)
        with pytest.raises(ValueError, match="Shape mismatch"):
            loaded.v.assign([[1.0]])


def test_variables_are_independent_of_the_originals():
    v = gd.Variable([1.0, 2.0])
    loaded = reloaded(module(v=v))
    loaded.v.assign([5.0, 6.0])
    assert_same(v, [1.0, 2.0])


def test_variables_of_unknown_shape_inside_functions():
    v = gd.Variable([1.0, 2.0], shape=gd.TensorShape([None]))
    f = gd.function(lambda x: gd.reduce_sum(v) * x, input_signature=[gd.TensorSpec([])])
    loaded = reloaded(module(v=v, f=f), 2)
    assert float(loaded.f(2.0)) == 6.0
    loaded.v.assign([1.0, 2.0, 3.0])
    assert float(loaded.f(2.0)) == 12.0


def test_tapes_watch_loaded_variables_and_training_goes_on():
    v = gd.Variable([1.0, 2.0])
    loaded = reloaded(
        module(v=v, f=gd.function(lambda x: gd.reduce_sum(v * x), input_signature=[gd.TensorSpec([None])]))
    )
    with gd.GradientTape() as tape:
        y = loaded.f(gd.constant([3.0, 4.0]))
    g = tape.gradient(y, loaded.v)
    assert_same(g, [3.0, 4.0])
    loaded.v.assign_sub(0.1 * g)
    assert float(loaded.f(gd.constant([3.0, 4.0]))) == pytest.approx(11.0 - 0.9 - 1.6)


def test_a_model_saved_over_the_one_it_was_loaded_from(tmp_path):
    data = np.arange(400_000, dtype=np.float32)
    save(module(v=gd.Variable(data), w=gd.Variable(-data)), tmp_path / "m")
    loaded = load(tmp_path / "m")
    loaded.v.assign_add(gd.ones([400_000]))
    save(loaded, tmp_path / "m")
    again = load(tmp_path / "m")
    assert_same(again.v, data + 1)
    assert_same(again.w, -data)
    assert_same(loaded.w, -data)
    save(module(v=gd.Variable(1.0)), tmp_path / "m")
    assert_same(again.w, -data)
    assert_same(loaded.v, data + 1)


# 8.3, 8.4, 8.21: traces and calls


def test_a_function_of_a_shape_is_called_with_a_shape_again():
    f = gd.function(lambda x, shape: x * float(shape.rank))
    f(gd.constant(2.0), gd.TensorShape([None, 5]))
    loaded = reloaded(module(f=f), 2)
    assert float(loaded.f(gd.constant(3.0), gd.TensorShape([None, 5]))) == 6.0
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(gd.constant(3.0), gd.TensorShape([None, 4]))
    f = gd.function(lambda x, shape: x)
    f(gd.constant(2.0), gd.TensorShape(None))
    with pytest.warns(UserWarning, match="a trace for a TensorShape of unknown rank as argument"):
        loaded = reloaded(module(f=f))
    with pytest.raises(ValueError, match="only called with arguments that a file cannot hold"):
        loaded.f(gd.constant(2.0), gd.TensorShape(None))


def test_functions_bring_the_traces_made_before():
    f = gd.function(lambda x: x * 2.0)
    f(gd.constant(1.0))
    f(gd.constant([1.0, 2.0]))
    loaded = reloaded(module(f=f), 2)
    assert float(loaded.f(gd.constant(4.0))) == 8.0
    assert_same(loaded.f(gd.constant([4.0, 5.0])), [8.0, 10.0])
    assert float(loaded.f(4.0)) == float(loaded.f(4)) == 8.0
    with pytest.raises(ValueError) as caught:
        loaded.f(gd.constant([1.0, 2.0, 3.0]))
    text = str(caught.value)
    assert "Could not find matching concrete function to call loaded from the SavedModel. Got:" in text
    assert "one of the following 2 option(s):" in text and "Option 1:" in text and "Option 2:" in text
    assert text.splitlines()[-1].startswith(
        "A file holds no Python to trace for other arguments. Before saving"
    )
    for wrong in (gd.constant(1), "x", None, [1.0], gd.constant([[1.0]])):
        with pytest.raises(ValueError, match="Could not find matching"):
            loaded.f(wrong)
    with pytest.raises(
        ValueError,
        match=r"Got:\n  \(\{'x': \[TensorSpec\(shape=\(40, 40\), dtype=tf.float32, name=None\)\]\}\)",
    ):
        loaded.f({"x": [gd.zeros([40, 40])]})
    with pytest.raises(TypeError, match="too many positional arguments"):
        loaded.f(gd.constant(1.0), gd.constant(1.0))


def test_a_function_without_traces_loads_and_cannot_be_called():
    loaded = reloaded(module(f=gd.function(double)), 2)
    with pytest.raises(ValueError, match="Found zero restored functions for caller function"):
        loaded.f(gd.constant(1.0))
    with pytest.raises(ValueError, match="Found zero restored functions"):
        loaded.f.get_concrete_function()


def test_an_input_signature_is_traced_when_saving_and_checked_when_called():
    f = gd.function(double, input_signature=[gd.TensorSpec([None, 2])])
    loaded = reloaded(module(f=f), 2)
    assert_same(loaded.f(gd.constant([[1.0, 2.0]])), [[2.0, 4.0]])
    assert_same(loaded.f([[1.0, 2.0], [3.0, 4.0]]), [[2.0, 4.0], [6.0, 8.0]])
    for wrong in (gd.constant([1.0]), gd.constant([[1, 2]]), "x"):
        with pytest.raises(TypeError, match=r"Binding inputs to tf.function failed"):
            loaded.f(wrong)
    with pytest.raises(TypeError):
        loaded.f()


def test_what_an_input_signature_leaves_out_keeps_its_default():
    def scaled(x, by=2.0, *, plus=1.0):
        return x * by + plus

    loaded = reloaded(module(f=gd.function(scaled, input_signature=[gd.TensorSpec([])])))
    assert_same(loaded.f(3.0), 7.0)
    assert_same(loaded.f(3.0, 2.0, plus=1.0), 7.0)
    for args, kwargs in (((3.0, 4.0), {}), ((3.0,), {"plus": 0.0}), ((3.0, gd.constant(2.0)), {})):
        with pytest.raises(
            TypeError, match=r"Binding inputs to tf.function failed.*leaves out have the values"
        ):
            loaded.f(*args, **kwargs)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_unknown_rank(rank):
    f = gd.function(lambda x: gd.reduce_sum(gd.sin(x) * x), input_signature=[gd.TensorSpec(None)])
    model = module(f=f)
    x = np.random.default_rng(1).normal(size=(2, 3, 2)[:rank]).astype(np.float32)
    before = [f(x), *gradients(f, x, order=2)]
    loaded = reloaded(model, 2)
    assert_same([loaded.f(x), *gradients(loaded.f, x, order=2)], before, rtol=1e-5)


def test_the_most_specific_trace_is_taken():
    f = gd.function(lambda x: gd.reduce_sum(gd.ones_like(x)) + (100.0 if x.shape.rank is None else 0.0))
    f.get_concrete_function(gd.TensorSpec([3]))
    f.get_concrete_function(gd.TensorSpec(None))
    loaded = reloaded(module(f=f), 2)
    assert float(loaded.f(gd.constant([1.0, 2.0, 3.0]))) == 3.0
    assert float(loaded.f(gd.constant([1.0, 2.0]))) == 102.0


def test_python_arguments_choose_among_traces():
    f = gd.function(lambda x, training=False, scale=2: x * scale if training else x)
    f(gd.constant(3.0))
    f(gd.constant(3.0), training=True)
    f(gd.constant(3.0), True, scale=5)
    loaded = reloaded(module(f=f), 2)
    x = gd.constant(3.0)
    assert [float(y) for y in (loaded.f(x), loaded.f(x, True), loaded.f(x, training=True, scale=5))] == [
        3.0,
        6.0,
        15.0,
    ]
    assert float(loaded.f(scale=2, x=x)) == 3.0
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(x, scale=7)


def test_keyword_only_and_variable_arguments():
    def g(a, *rest, key, **named):
        return a + sum(rest) * key + named.get("more", 0.0)

    f = gd.function(g)
    x = gd.constant(1.0)
    f(x, x, x, key=x)
    f(x, key=x, more=x)
    loaded = reloaded(module(f=f), 2)
    two = gd.constant(2.0)
    assert float(loaded.f(two, two, two, key=two)) == 10.0
    assert float(loaded.f(two, key=two, more=two)) == 4.0
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(two, key=two, other=two)


def test_partials_keep_what_they_hold():
    def g(x, y, z=3.0):
        return x * y + z

    f = gd.function(functools.partial(g, z=4.0))
    h = gd.function(functools.partial(g, gd.constant(10.0)))
    x = gd.constant(2.0)
    f(x, x), h(x)
    loaded = reloaded(module(f=f, h=h), 2)
    assert float(loaded.f(x, x)) == 8.0 and float(loaded.h(x)) == 23.0


def test_structured_arguments_and_results():
    Pair = collections.namedtuple("Pair", "left right")

    @gd.function
    def f(pair, nest):
        return Pair(pair.left + nest["a"][0], {"sum": pair.right, "both": (nest["a"][1], None)}), [pair.left]

    one, two = gd.constant(1.0), gd.constant(2.0)
    f(Pair(one, two), {"a": [one, two]})
    loaded = reloaded(module(f=f), 2)
    pair, listed = loaded.f(Pair(two, one), {"a": [two, one]})
    assert float(pair.left) == 4.0 and float(pair.right["sum"]) == 1.0
    assert float(pair.right["both"][0]) == 1.0 and pair.right["both"][1] is None
    assert type(listed) is list and float(listed[0]) == 2.0
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(Pair(two, one), {"b": [two, one]})
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f((two, one), {"a": [two, one]})


def test_defaults_that_a_file_cannot_hold_are_left_to_their_traces():
    f = gd.function(lambda x, act=gd.sin: act(x))
    x = gd.constant(1.0)
    f(x)
    assert float(reloaded(module(f=f), 2).f(x)) == pytest.approx(np.sin(1.0))
    f(x, gd.cos)
    with pytest.warns(UserWarning, match="a trace for a Python object"):
        loaded = reloaded(module(f=f))
    assert float(loaded.f(x)) == pytest.approx(np.sin(1.0))


def test_variables_as_arguments():
    f = gd.function(lambda v, x: v * x)
    a, b = gd.Variable(2.0), gd.Variable(3.0)
    f(a, gd.constant(1.0))
    loaded = reloaded(module(f=f, a=a))
    assert float(loaded.f(loaded.a, gd.constant(5.0))) == 10.0
    assert float(loaded.f(b, gd.constant(5.0))) == 15.0
    g = gd.function(lambda x: x * 2.0)
    g(gd.constant(1.0))
    assert float(reloaded(module(g=g)).g(gd.Variable(4.0))) == 8.0


def test_a_function_that_assigns_to_variables():
    count = gd.Variable(0)

    @gd.function(input_signature=[])
    def step():
        count.assign_add(1)
        return count * 10

    loaded = reloaded(module(count=count, step=step), 2)
    assert [int(loaded.step()) for _ in range(3)] == [10, 20, 30]
    assert int(loaded.count) == 3 and int(count) == 0


def test_numpy_arrays_and_python_lists_as_arguments():
    f = gd.function(double, input_signature=[gd.TensorSpec([None])])
    loaded = reloaded(module(f=f))
    assert_same(loaded.f(np.array([1.0, 2.0], np.float32)), [2.0, 4.0])
    assert_same(loaded.f([1.0, 2.0]), [2.0, 4.0])


def test_one_function_under_two_names_and_functions_that_call_each_other():
    v = gd.Variable(2.0)
    inner = gd.function(lambda x: x * v)
    outer = gd.function(lambda x: inner(x) + inner(x * 2.0), input_signature=[gd.TensorSpec([])])
    loaded = reloaded(module(v=v, inner=inner, outer=outer, again=outer), 2)
    assert loaded.outer is loaded.again
    assert float(loaded.outer(3.0)) == 18.0 and float(loaded.inner(gd.constant(3.0))) == 6.0
    loaded.v.assign(1.0)
    assert float(loaded.outer(3.0)) == 9.0


def test_a_concrete_function_as_attribute():
    f = gd.function(lambda x, y=2.0: x * y)
    concrete = f.get_concrete_function(gd.TensorSpec([None]), y=gd.TensorSpec([]))
    loaded = reloaded(module(c=concrete), 2)
    assert_same(loaded.c(gd.constant([1.0, 2.0]), gd.constant(3.0)), [3.0, 6.0])
    assert_same(loaded.c(x=gd.constant([1.0]), y=gd.constant(3.0)), [3.0])
    assert [spec.dtype for spec in loaded.c.inputs] == [F32, F32]


def test_no_directory_of_the_authors_is_in_the_file(tmp_path):
    save(module(f=gd.function(double, input_signature=[gd.TensorSpec([])])), tmp_path / "m")
    manifest = (tmp_path / "m" / "saved_model.msgpack").read_bytes()
    assert b"test_objects.py:" in manifest
    assert os.fsencode(pathlib.Path(__file__).parent) not in manifest and b"/test_objects.py" not in manifest


def test_functions_called_deep_in_functions():
    f = gd.function(lambda x: x + 1.0)
    for _ in range(30):
        f = gd.function(lambda x, g=f: g(x) * 1.0)
    f.get_concrete_function(gd.TensorSpec([]))
    loaded = reloaded(module(f=f), 2)
    assert float(loaded.f(1.0)) == 2.0


# 8.9, 8.10: captures


def test_a_variable_that_is_no_attribute_is_an_assertion(tmp_path):
    v = gd.Variable(1.0, name="lost")
    f = gd.function(lambda x: x * v, input_signature=[gd.TensorSpec([])])
    with pytest.raises(
        AssertionError, match="Tried to export a function which references an 'untracked' resource"
    ) as caught:
        save(module(f=f), tmp_path / "m")
    assert "Trackable referencing this tensor = <tf.Variable 'lost:0'" in str(caught.value)


def test_captured_constants_are_stored_with_the_function():
    big, small = gd.constant(np.arange(1000.0)), gd.constant([1.0, 2.0])
    f = gd.function(
        lambda i: big[i] * gd.cast(small[0], gd.float64), input_signature=[gd.TensorSpec([], gd.int32)]
    )
    loaded = reloaded(module(f=f), 2)
    assert float(loaded.f(7)) == 7.0


def test_the_same_constant_is_stored_once(tmp_path):
    table = gd.constant(np.arange(10_000, dtype=np.float32))
    spec = [gd.TensorSpec([], gd.int32)]
    save(
        module(f=gd.function(lambda i: table[i], spec), g=gd.function(lambda i: table[i + 1], spec)),
        tmp_path / "m",
    )
    stored = sum(p.stat().st_size for p in (tmp_path / "m" / "variables").iterdir())
    assert stored < 45_000


# 8.20: assets


def test_assets_are_copied_move_with_the_model_and_are_stored_once(tmp_path):
    class Named:
        def __fspath__(self):
            return os.fspath(tmp_path / "words.txt")

    first, twin = Asset(Named()), Asset(tmp_path / "words.txt")
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    save(module(first=first, twin=twin, inner=module(deep=[first])), tmp_path / "m")
    os.remove(tmp_path / "words.txt")
    shutil.move(tmp_path / "m", tmp_path / "moved")
    loaded = load(tmp_path / "moved")
    assert pathlib.Path(loaded.first.asset_path).read_text() == "one\ntwo\n"
    assert loaded.first.asset_path.startswith(os.fspath(tmp_path / "moved" / "assets"))
    assert pathlib.Path(os.fsdecode(loaded.first.asset_path.numpy())).read_text() == "one\ntwo\n"
    assert loaded.first.asset_path == loaded.twin.asset_path and loaded.inner.deep[0] is loaded.first
    assert sum(len(files) for _, _, files in os.walk(tmp_path / "moved" / "assets")) == 1
    save(loaded, tmp_path / "again")
    shutil.rmtree(tmp_path / "moved")
    assert pathlib.Path(load(tmp_path / "again").twin).read_text() == "one\ntwo\n"


def test_an_asset_must_exist_when_it_is_saved(tmp_path):
    asset = Asset(tmp_path / "late.txt")
    with pytest.raises(SaveError, match="does not exist") as caught:
        save(module(asset=asset), tmp_path / "m")
    assert isinstance(caught.value, OSError)
    (tmp_path / "late.txt").write_text("here")
    save(module(asset=asset), tmp_path / "m")
    (next((tmp_path / "m" / "assets").iterdir()) / "late.txt").write_text("gone")
    with pytest.raises(CorruptModelError, match="digest"):
        load(tmp_path / "m")


@pytest.mark.parametrize("compiled", [False, True])
def test_variable_that_changes_while_it_is_saved_is_saved_as_it_was(tmp_path, monkeypatch, compiled):
    module = gd.Module()
    module.v = gd.Variable(gd.zeros([3_000_000]))  # large enough to be checked and written by two threads

    def step():
        module.v.assign_add(gd.ones([3_000_000]))

    change = gd.function(step, jit_compile=True) if compiled else step
    change()
    write = FileSystem.write

    def change_and_write(self, descriptor, data):
        change()
        return write(self, descriptor, data)

    monkeypatch.setattr(FileSystem, "write", change_and_write)
    save(module, tmp_path / "m")
    monkeypatch.undo()
    loaded = load(tmp_path / "m", options=LoadOptions(verify=True))
    assert np.asarray(module.v)[0] > 3 and np.all(np.asarray(loaded.v) == 1)


@pytest.mark.parametrize("path", [None, 3, ["m"]])
def test_what_is_no_path_is_refused_by_name(path):
    for name, call in (
        ("save", lambda: save(gd.Module(), path)),
        ("load", lambda: load(path)),
        ("contains_saved_model", lambda: contains_saved_model(path)),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: export_dir must be a string or a path"):
            call()


def test_paths_that_no_system_has_are_refused_in_words():
    for call in (save, lambda _, path: load(path)):
        with pytest.raises(
            InvalidArgumentError, match=r"export_dir is 'm\\x00n'; no path holds a null character"
        ):
            call(gd.Module(), "m\0n")
    with pytest.raises(SaveFailedError, match=r"^save: the path is empty; '\.' is the current directory"):
        save(gd.Module(), "")


def test_what_are_no_options_is_refused_by_name(tmp_path):
    with pytest.raises(ArgumentTypeError, match="save: options must be SaveOptions or None, got 3"):
        save(gd.Module(), tmp_path / "m", options=3)
    assert not (tmp_path / "m").exists()
    with pytest.raises(ArgumentTypeError, match="load: options must be LoadOptions or None, got 3"):
        load(tmp_path / "m", options=3)
