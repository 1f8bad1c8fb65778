"""When a function is traced: keys, signatures, relaxed shapes, variables made inside, reports about retracing."""

from __future__ import annotations

import collections
import functools
import inspect
import logging

import numpy as np
import pytest

import graphad as tf


def counting(f=None, **options):
    """A function, and the list of what each of its traces saw."""
    seen = []

    @tf.function(**options)
    def traced(*args, **kwargs):
        seen.append((args, kwargs))
        return tf.constant(0.0) if f is None else f(*args, **kwargs)

    return traced, seen


# -- keys ----------------------------------------------------------------------------------------------------------------


def test_what_is_not_callable_is_refused():
    with pytest.raises(TypeError, match=r"3 is not a callable object"):
        tf.function(3)


SAME_KEY = {
    "tensors": [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])],
    "tensor_and_array": [tf.constant([1.0, 2.0]), np.array([1.0, 2.0], np.float32)],
    "numpy_scalars": [np.float32(1.0), np.float32(2.0), tf.constant(3.0)],
    "python_values": [3, 3],
    "numbers_that_compare_equal": [1, True, 1.0],
    "strings": ["a", "a"],
    "none": [None, None],
    "variables": [tf.Variable(1.0), tf.Variable(2.0)],
    "dictionaries": [{"a": 1, "b": tf.constant(1.0)}, {"b": tf.constant(2.0), "a": 1}],
    "nests": [[tf.constant(1.0), (2, None)], [tf.constant(5.0), (2, None)]],
    "dtypes": [tf.float32, tf.float32],
    "nan": [float("nan"), float("nan")],
    "ranges": [range(3), range(3)],
    "data_types_of_numpy": [np.float32, np.float32],
}


@pytest.mark.parametrize("name", SAME_KEY)
def test_arguments_that_share_a_trace(name):
    f, seen = counting()
    for value in SAME_KEY[name]:
        f(value)
        f(value)
    assert len(seen) == f.experimental_get_tracing_count() == 1


class Thing:
    pass


OTHER_KEYS = {
    "shapes": [tf.constant([1.0]), tf.constant([1.0, 2.0]), tf.constant(1.0)],
    "dtypes": [tf.constant(1.0), tf.constant(1), tf.constant(1.0, tf.float64), tf.constant(True)],
    "numbers": [1, 2, 2.5],
    "signs_of_zero": [0.0, -0.0],
    "strings": ["a", "b", ""],
    "none_and_others": [None, 0, ""],
    "objects": [Thing(), Thing()],
    "lists_and_tuples": [[tf.constant(1.0)], (tf.constant(1.0),)],
    "lengths": [[tf.constant(1.0)], [tf.constant(1.0)] * 2],
    "dictionary_keys": [{"a": tf.constant(1.0)}, {"b": tf.constant(1.0)}],
    "variable_shapes": [tf.Variable(1.0), tf.Variable([1.0]), tf.Variable(1)],
    "variables_and_tensors": [tf.Variable(1.0), tf.constant(1.0)],
}


@pytest.mark.parametrize("name", OTHER_KEYS)
def test_arguments_with_traces_of_their_own(name):
    f, seen = counting()
    for value in OTHER_KEYS[name] * 2:
        f(value)
    assert len(seen) == len(OTHER_KEYS[name])


def test_the_order_of_keyword_arguments_does_not_matter():
    f, seen = counting(lambda x, y: x - y)
    one, two = tf.constant(1.0), tf.constant(2.0)
    assert f(x=one, y=two).numpy() == -1.0
    assert f(y=one, x=two).numpy() == 1.0
    assert len(seen) == 1


def test_position_and_keyword_share_a_trace():
    seen = []

    @tf.function
    def f(x, y=2.0):
        seen.append(y)
        return x * y

    x = tf.constant(3.0)
    assert [float(v) for v in (f(x), f(x, 2.0), f(x=x), f(x, y=2.0))] == [6.0] * 4
    assert len(seen) == 1


def test_which_variables_are_the_same_is_part_of_the_key():
    seen = []

    @tf.function
    def f(a, b):
        seen.append(1)
        a.assign_add(1.0)
        return a + b

    u, v, w = tf.Variable(1.0), tf.Variable(10.0), tf.Variable(20.0)
    assert f(u, v).numpy() == 12.0
    assert f(u, w).numpy() == 23.0
    assert f(w, w).numpy() == 42.0
    assert f(v, v).numpy() == 22.0
    assert len(seen) == 2


# -- shapes -----------------------------------------------------------------------------------------------------------


def test_each_shape_has_its_trace():
    f, seen = counting()
    for n in (1, 2, 3, 2):
        f(tf.constant(np.zeros(n, np.float32)))
    assert len(seen) == 3


def test_relaxed_shapes_need_two_traces():
    f, seen = counting(lambda x: x * 2.0, reduce_retracing=True)
    for n in (1, 2, 3, 7):
        np.testing.assert_array_equal(f(tf.constant(np.arange(n, dtype=np.float32))), 2.0 * np.arange(n))
    assert len(seen) == 2
    assert seen[1][0][0].shape.as_list() == [None]


def test_a_rank_that_changes_is_relaxed_to_an_unknown_rank():
    f, seen = counting(lambda x: x * 2.0, reduce_retracing=True)
    for shape in ((2,), (2, 3), (), (1, 1, 4)):
        assert f(tf.constant(np.zeros(shape, np.float32))).shape == shape
    assert len(seen) == 2
    assert seen[1][0][0].shape.rank is None


def test_the_most_specific_trace_is_used():
    traced = []

    @tf.function
    def f(x):
        traced.append(x.shape)
        return tf.constant(len(traced))

    for spec in (tf.TensorSpec([3]), tf.TensorSpec([None]), tf.TensorSpec(None)):
        f.get_concrete_function(spec)
    for shape, wanted in (((3,), 1), ((2,), 2), ((), 3), ((2, 2), 3), ((3,), 1)):
        assert f(tf.constant(np.zeros(shape, np.float32))).numpy() == wanted
    assert len(traced) == 3
    assert f(tf.constant(1)).numpy() == 4


def test_a_function_of_unknown_rank_serves_every_rank():
    seen = []

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x):
        seen.append(x.shape)
        return tf.sin(x) * x + tf.reduce_sum(x)

    for shape in ((), (3,), (2, 2), (2, 0), (1, 2, 3)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(f(x), np.sin(x) * x + x.sum(), rtol=1e-5)
        v = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = tf.reduce_sum(f(v))
        np.testing.assert_allclose(tape.gradient(y, v), np.cos(x) * x + np.sin(x) + x.size, rtol=1e-4)
    (shape,) = seen
    assert shape.rank is None
    assert str(shape) == "<unknown>"
    assert not shape
    with pytest.raises(ValueError, match=r"Cannot take the length of shape with unknown rank"):
        len(shape)
    with pytest.raises(ValueError, match=r"as_list\(\) is not defined on an unknown TensorShape"):
        shape.as_list()


def test_the_default_spec_is_float32():
    assert tf.TensorSpec(None).dtype is tf.float32
    assert repr(tf.TensorSpec(None).shape) == "TensorShape(None)"


# -- input signatures ---------------------------------------------------------------------------------------------------

SPEC = tf.TensorSpec([2], tf.float32)


def two(x, y):
    return x + y


@pytest.mark.parametrize(
    ("f", "signature", "text"),
    [
        (two, SPEC, "input_signature must be either a tuple or a list, got"),
        (two, {"x": SPEC}, "input_signature must be either a tuple or a list, got"),
        (
            two,
            [SPEC, 3],
            "input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args",
        ),
        (
            two,
            [SPEC, [SPEC, "a"]],
            "must be a possibly nested sequence of TensorSpec objects, got invalid args",
        ),
        (two, [SPEC, SPEC, SPEC], "input_signature contains 1 extra type constraints"),
        (two, [SPEC], "input_signature missing type constraint for y"),
        (lambda x, *, k: x, [SPEC], "keyword-only parameter `k` must have a default value"),
    ],
)
def test_signatures_that_do_not_fit_are_refused_when_decorating(f, signature, text):
    with pytest.raises(TypeError, match=text):
        tf.function(f, input_signature=signature)


def test_parameters_with_defaults_may_be_left_out_of_a_signature():
    @tf.function(input_signature=[SPEC])
    def f(x, factor=3.0, *, shift=1.0):
        return x * factor + shift

    np.testing.assert_array_equal(f([1.0, 2.0]), [4.0, 7.0])


def test_a_signature_may_be_nested():
    @tf.function(input_signature=[[SPEC, (SPEC,)], {"k": tf.TensorSpec((), tf.int32)}])
    def f(pair, options):
        return pair[0] - pair[1][0], options["k"]

    difference, k = f([[1.0, 2.0], (np.array([3.0, 5.0], np.float32),)], {"k": 7})
    np.testing.assert_array_equal(difference, [-2.0, -3.0])
    assert k.numpy() == 7


def test_a_signature_of_a_method_skips_self():
    class Model:
        @tf.function(input_signature=[SPEC])
        def call(self, x):
            return x * self.factor

    model = Model()
    model.factor = 3.0
    np.testing.assert_array_equal(model.call([1.0, 2.0]), [3.0, 6.0])


FITS = tf.function(
    lambda x, n: x * tf.cast(n, tf.float32), input_signature=[SPEC, tf.TensorSpec((), tf.int32)]
)


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        (
            (tf.constant([1.0, 2.0, 3.0]), 1),
            {},
            r"Can not cast TensorSpec\(shape=\(3,\), dtype=tf.float32, name=None\) to TensorSpec\(shape=\(2,\), "
            r"dtype=tf.float32, name=None\)",
        ),
        ((tf.constant([1, 2]), 1), {}, r"Can not cast TensorSpec\(shape=\(2,\), dtype=tf.int32, name=None\)"),
        (([1.0, 2.0],), {}, "missing a required argument: 'n'"),
        (([1.0, 2.0], 1, 2), {}, "too many positional arguments"),
        (([1.0, 2.0],), {"m": 1}, "missing a required argument: 'n'"),
        (([1.0, 2.0], 3.5), {}, "Cannot convert 3.5 to EagerTensor of dtype int32"),
    ],
)
def test_calls_that_do_not_fit_say_what_was_passed(args, kwargs, reason):
    with pytest.raises(TypeError, match=rf"Binding inputs to tf.function failed due to `{reason}") as caught:
        FITS(*args, **kwargs)
    assert "Received args: (" in str(caught.value)
    assert "and kwargs: {" in str(caught.value)
    assert "for signature: (x: TensorSpec(shape=(2,), dtype=tf.float32, name=None), n: TensorSpec(" in str(
        caught.value
    )


def test_values_are_converted_to_the_dtype_of_the_signature():
    f = tf.function(lambda x: x, input_signature=[tf.TensorSpec(None, tf.float64)])
    for value in (1, 1.5, [1, 2], np.array([1, 2]), np.float32(2.0), [[1.0]]):
        assert f(value).dtype is tf.float64
        np.testing.assert_array_equal(f(value), value)
    with pytest.raises(TypeError, match=r"Can not cast"):
        f(tf.constant(1.0))
    assert f.experimental_get_tracing_count() == 1


# -- variables made inside ------------------------------------------------------------------------------------------------


def test_variables_may_be_made_in_the_first_call():
    class Lazy:
        v = None
        traces = 0

        @tf.function
        def call(self, x):
            self.traces += 1
            if self.v is None:
                self.v = tf.Variable(x * 2.0, name="made")
            return self.v.assign_add(1.0) + x

    lazy = Lazy()
    assert lazy.call(tf.constant(3.0)).numpy() == 10.0
    assert lazy.traces == 2
    assert lazy.v.numpy() == 7.0
    assert lazy.call(tf.constant(5.0)).numpy() == 13.0
    assert lazy.traces == 2
    assert lazy.call(tf.constant([5.0])).numpy() == [14.0]
    assert lazy.traces == 3
    assert [v.name for v in lazy.call.variables] == ["made:0"]


def test_variables_made_at_every_call_are_refused():
    @tf.function
    def f(x):
        return tf.Variable(2.0, name="again") * x

    with pytest.raises(
        ValueError, match=r"only supports singleton tf.Variables created on the first call"
    ) as caught:
        f(tf.constant(1.0))
    assert "'again'" in str(caught.value)
    assert __file__ in str(caught.value)


def test_variables_made_in_a_later_trace_are_refused():
    made = []

    @tf.function
    def f(x, make):
        if make:
            made.append(tf.Variable(1.0))
        return x

    f(tf.constant(1.0), False)
    with pytest.raises(ValueError, match=r"only supports singleton tf.Variables"):
        f(tf.constant(1.0), True)


def test_variables_may_be_made_by_a_nested_function_or_through_get_concrete_function():
    holder = []

    @tf.function
    def inner(x):
        if not holder:
            holder.append(tf.Variable([1.0, 2.0]))
        return x * holder[0]

    @tf.function
    def outer(x):
        return inner(x) + 1.0

    concrete = outer.get_concrete_function(tf.TensorSpec([2]))
    np.testing.assert_array_equal(concrete(tf.constant([3.0, 3.0])), [4.0, 7.0])
    assert len(holder) == 1
    assert [v.ref() for v in concrete.variables] == [holder[0].ref()]


def test_an_initial_value_may_depend_on_arguments_and_on_a_function():
    holder = {}

    @tf.function
    def f(x):
        if not holder:
            holder["a"] = tf.Variable(tf.reduce_sum(x) * 2.0)
            holder["b"] = tf.Variable(lambda: tf.ones([2]))
        return holder["a"] + holder["b"]

    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), [7.0, 7.0])


def test_variables_made_in_the_first_call_have_gradients():
    class Lazy:
        v = None

        @tf.function
        def call(self, x):
            if self.v is None:
                self.v = tf.Variable(3.0)
            return x * self.v

    lazy, x = Lazy(), tf.constant(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = lazy.call(x)
        assert [float(g) for g in tape.gradient(y, [x, lazy.v])] == [3.0, 2.0]


# -- retracing ---------------------------------------------------------------------------------------------------------


def test_retracing_is_explained():
    f, _ = counting()
    assert "nothing was retraced" in f.explain_retrace()

    @tf.function
    def g(x, step):
        return x

    x = tf.constant([1.0])
    g(x, 1)
    g(x, 2)
    assert "argument 'step' was Literal[1], is now Literal[2]; pass a tensor" in g.explain_retrace()
    g(tf.constant([1.0, 2.0]), 2)
    assert (
        "argument 'x' had shape (1,), has now (2,); give an input_signature with None" in g.explain_retrace()
    )
    g(tf.constant([1, 2]), 2)
    assert "argument 'x' had dtype float32, has now int32; cast it before the call" in g.explain_retrace()
    g(tf.constant([1, 2]), Thing())
    g(tf.constant([1, 2]), Thing())
    assert (
        "argument 'step' is another object (<Thing object>, <Thing object>); make it once"
        in g.explain_retrace()
    )
    g([tf.constant([1, 2])], 1)
    assert "the structure of the arguments changed" in g.explain_retrace()


def test_frequent_retracing_is_logged_twice_with_argument_and_cure(caplog):
    @tf.function
    def f(x, step):
        return x

    x = tf.constant(1.0)
    with caplog.at_level(logging.WARNING, logger="graphad"):
        for step in range(4):
            f(x, step)
        assert not caplog.records
        f(x, 4)
        (record,) = caplog.records
        text = record.getMessage()
        assert record.levelno == logging.WARNING
        assert "5 out of the last 5 calls to <function" in text
        assert "triggered tf.function retracing. Tracing is expensive." in text
        assert "argument 'step' was Literal[3], is now Literal[4]; pass a tensor if its value changes" in text
        for step in range(5, 20):
            f(x, step)
    assert len(caplog.records) == 2


def test_retracing_that_is_rare_is_not_logged(caplog):
    f, _ = counting()
    with caplog.at_level(logging.WARNING, logger="graphad"):
        for n in range(1, 8):
            x = tf.constant(np.zeros(n, np.float32))
            for _ in range(4):
                f(x)
    assert not caplog.records


def test_calls_inside_of_traces_and_asked_for_traces_are_not_counted(caplog):
    @tf.function
    def inner(x, step):
        return x

    @tf.function
    def outer(x, first):
        return sum(inner(x, step) for step in range(first, first + 4))

    x = tf.constant(1.0)
    with caplog.at_level(logging.WARNING, logger="graphad"):
        for first in range(0, 16, 4):
            outer(x, first)
        for step in range(100, 120):
            inner.get_concrete_function(x, step)
        assert not caplog.records
        outer(x, 16)
    (record,) = caplog.records
    assert "outer: argument 'first' was Literal[12], is now Literal[16]" in record.getMessage()


def test_a_function_made_anew_in_a_loop_is_noticed(caplog):
    def body(x):
        return x * 2.0

    with caplog.at_level(logging.WARNING, logger="graphad"):
        for _ in range(8):
            tf.function(body)(tf.constant(1.0))
    assert 1 <= len(caplog.records) <= 2
    assert "make the function once" in caplog.records[0].getMessage()


# -- other -------------------------------------------------------------------------------------------------------------


def test_wrapping_a_function_again_wraps_the_same_python_function():
    f, seen = counting(lambda x: x * 3.0)
    again = tf.function(f)
    assert again(tf.constant(2.0)).numpy() == 6.0
    assert f(tf.constant(2.0)).numpy() == 6.0
    assert len(seen) in (1, 2)


def test_partial_objects_can_be_traced():
    def f(x, y, z=1.0):
        return x + 10.0 * y + 100.0 * z

    g = tf.function(functools.partial(f, tf.constant(1.0), z=3.0))
    assert g(tf.constant(2.0)).numpy() == 321.0
    assert g(y=tf.constant(4.0)).numpy() == 341.0
    assert g(tf.constant(2.0), z=0.0).numpy() == 21.0


def test_callable_objects_can_be_traced():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

    assert tf.function(Scale(3.0))(tf.constant(2.0)).numpy() == 6.0


def test_each_object_has_traces_of_its_own():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def call(self, x):
            return x * self.factor

    a, b = Model(2.0), Model(3.0)
    x = tf.constant(5.0)
    assert (a.call(x).numpy(), b.call(x).numpy(), a.call(x).numpy()) == (10.0, 15.0, 10.0)
    assert a.call.experimental_get_tracing_count() == b.call.experimental_get_tracing_count() == 1
    a.call(tf.constant([5.0]))
    assert (a.call.experimental_get_tracing_count(), b.call.experimental_get_tracing_count()) == (2, 1)
    assert a.call is a.call


def test_an_object_with_traced_methods_can_be_freed():
    import gc
    import weakref

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(2.0)

        @tf.function
        def call(self, x):
            return x * self.v

    model = Model()
    model.call(tf.constant(1.0))
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_functions_can_be_run_as_python():
    f, seen = counting(lambda x: x * 2.0)
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        for _ in range(3):
            assert f(tf.constant(2.0)).numpy() == 4.0
        assert len(seen) == 3
        assert isinstance(seen[0][0][0].numpy(), np.float32)
    finally:
        tf.config.run_functions_eagerly(False)
    f(tf.constant(2.0))
    f(tf.constant(2.0))
    assert len(seen) == 4


def test_the_wrapped_function_keeps_its_name_and_text():
    @tf.function
    def named(x):
        """What it does."""
        return x

    assert named.__name__ == "named"
    assert named.__doc__ == "What it does."
    assert named.python_function.__name__ == "named"


Point = collections.namedtuple("Point", "x y")


def test_named_tuples_come_and_go():
    @tf.function
    def f(p):
        return Point(p.y, p.x * 2.0)

    out = f(Point(tf.constant(1.0), tf.constant(5.0)))
    assert isinstance(out, Point)
    assert (out.x.numpy(), out.y.numpy()) == (5.0, 2.0)


def test_tensors_and_variables_are_unhashable():
    for x, name in ((tf.constant(1.0), "Tensor"), (tf.Variable(1.0), "Variable")):
        with pytest.raises(TypeError, match=rf"{name} is unhashable. Instead, use {name.lower()}.ref"):
            hash(x)

    @tf.function
    def f(x):
        with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key"):
            hash(x)
        return x

    f(tf.constant(1.0))


@pytest.mark.parametrize(
    "initial", [lambda x: x * 2.0, lambda x: lambda: x * 2.0], ids=["tensor", "function"]
)
def test_a_variable_made_of_an_argument_of_unknown_size_takes_every_size(initial):
    class Keeper(tf.Module):
        def __init__(self):
            super().__init__()
            self.kept = None

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def __call__(self, x):
            if self.kept is None:
                self.kept = tf.Variable(initial(x), trainable=False)
            before = self.kept + 0.0
            self.kept.assign(x)
            return before

    keeper = Keeper()
    np.testing.assert_array_equal(keeper(tf.ones([3, 2])), np.full([3, 2], 2.0))
    assert keeper.kept.shape.as_list() == [None, 2]
    np.testing.assert_array_equal(keeper(tf.zeros([5, 2])), np.ones([3, 2]))
    np.testing.assert_array_equal(keeper(tf.zeros([1, 2])), np.zeros([5, 2]))


def test_a_function_as_initial_value_is_called_once_where_it_needs_no_traced_tensor():
    calls = []

    def initial():
        calls.append(tf.executing_eagerly())
        return tf.zeros([2])

    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(initial))
        return made[0] + x

    f(tf.ones([2]))
    f(tf.ones([2]))
    assert calls == [True]


class Scaled:
    def __init__(self):
        self.factor = tf.constant(3.0)

    @tf.function
    def traced(self, x, y=1.0):
        return x * y * self.factor

    def plain(self, x):
        return x * self.factor


def test_a_bound_method_takes_a_signature_of_its_own_parameters():
    scaled, spec = Scaled(), tf.TensorSpec([])
    assert float(tf.function(scaled.plain, input_signature=[spec])(2)) == 6.0
    assert float(tf.function(scaled.traced, input_signature=[spec, spec])(2, 5)) == 30.0


def test_a_traced_method_can_be_traced_again():
    scaled, x = Scaled(), tf.constant(2.0)
    again = tf.function(scaled.traced)
    assert float(again(x)) == 6.0
    assert float(again(y=x, x=x)) == 12.0
    assert float(tf.function(functools.partial(scaled.traced, y=x))(x)) == 12.0
    assert list(inspect.signature(scaled.traced).parameters) == ["x", "y"]
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        again(y=x)


def test_tensors_of_a_trace_have_names():
    seen = []

    @tf.function
    def scale(x, w):
        y = x * w
        seen.append((x.name, y.name, str(y)))
        return y

    scale(tf.constant(1.0), 2)
    (of_argument, of_result, shown), *_ = seen
    assert of_argument == "x:0"
    assert of_result.startswith("scale/") and of_result.endswith(":0")
    assert f'Tensor("{of_result}"' in shown
