"""What a traced function returns and does, what it refuses, and what its errors say."""

from __future__ import annotations

import re

import numpy as np
import pytest

import graphad as tf

# -- return values ---------------------------------------------------------------------------------------------------------


def test_return_values_keep_their_structure():
    v = tf.Variable(7.0)

    @tf.function
    def f(x):
        return {"t": (x, None), "list": [2, 2.5, [v]], "none": None, "array": np.arange(2)}

    out = f(tf.constant(1.0))
    assert out["t"][1] is None
    assert out["none"] is None
    assert type(out["t"]) is tuple
    assert type(out["list"]) is list
    assert [x.dtype for x in out["list"][:2]] == [tf.int32, tf.float32]
    assert isinstance(out["list"][2][0], tf.Tensor)
    assert out["list"][2][0].numpy() == 7.0
    np.testing.assert_array_equal(out["array"], [0, 1])
    assert tf.function(lambda: None)() is None
    assert tf.function(lambda x: x)(tf.constant(3.0)).numpy() == 3.0
    assert tf.function(lambda x: ())(tf.constant(3.0)) == ()


def test_other_return_values_are_refused():
    class Thing:
        pass

    with pytest.raises(
        TypeError, match=r"To be compatible with tf.function, Python functions must return zero or more"
    ) as caught:
        tf.function(lambda x: [x, Thing()])(tf.constant(1.0))
    assert "Thing" in str(caught.value)


def test_an_argument_may_be_returned_as_it_is_and_twice():
    a, b = tf.function(lambda x: (x, x))(tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(a, [1.0, 2.0])
    np.testing.assert_array_equal(b, [1.0, 2.0])


# -- side effects and order ------------------------------------------------------------------------------------------------


def test_python_side_effects_happen_while_tracing_only():
    calls, factor = [], [2.0]

    @tf.function
    def f(x):
        calls.append(1)
        return x * factor[0]

    assert f(tf.constant(3.0)).numpy() == 6.0
    factor[0] = 100.0
    assert f(tf.constant(3.0)).numpy() == 6.0
    assert len(calls) == 1


def test_reads_and_writes_happen_in_program_order_even_if_unused():
    v, w = tf.Variable(1.0), tf.Variable(0.0)

    @tf.function
    def f(x):
        before = v + 0.0
        v.assign(x)
        middle = v + 0.0
        v.assign_add(10.0)
        w.assign(100.0)
        return before, middle, v.value()

    assert [float(y) for y in f(tf.constant(5.0))] == [1.0, 5.0, 15.0]
    assert (v.numpy(), w.numpy()) == (15.0, 100.0)
    assert [float(y) for y in f(tf.constant(6.0))] == [15.0, 6.0, 16.0]


def test_a_value_read_before_an_assignment_keeps_its_value():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f():
        old = v.value()
        v.assign_add([10.0, 10.0])
        return old, v.value()

    for n in range(3):
        old, new = f()
        np.testing.assert_array_equal(old, np.array([1.0, 2.0]) + 10 * n)
        np.testing.assert_array_equal(new, np.array([11.0, 12.0]) + 10 * n)


def test_an_assignment_returns_the_variable_while_tracing_too():
    v = tf.Variable(1.0)
    f = tf.function(lambda x: v.assign(x) * 2.0)
    assert f(tf.constant(4.0)).numpy() == 8.0
    assert v.numpy() == 4.0


# -- captures ---------------------------------------------------------------------------------------------------------------


def test_outer_tensors_are_captured_by_value_and_variables_by_reference():
    c, v = tf.constant(3.0), tf.Variable(2.0)
    f = tf.function(lambda x: x * c * v)
    assert f(tf.constant(1.0)).numpy() == 6.0
    v.assign(5.0)
    assert f(tf.constant(1.0)).numpy() == 15.0
    concrete = f.get_concrete_function(tf.TensorSpec(()))
    assert len(concrete.captured_inputs) == 2
    assert [w.ref() for w in concrete.variables] == [v.ref()]


def test_captured_tensors_can_be_differentiated_from_outside():
    c = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(c)
        d = c * c
        f = tf.function(lambda x: x * d * c)
        y = f(tf.constant(2.0)) + f(tf.constant(5.0))
    assert y.numpy() == 7.0 * 27.0
    assert tape.gradient(y, c).numpy() == 7.0 * 27.0
    assert tape.gradient(y, d).numpy() == 21.0


def test_a_nested_function_captures_values_of_the_outer_one():
    outside = tf.constant(10.0)

    @tf.function
    def outer(x):
        y = x * 2.0

        @tf.function
        def inner(z):
            return z * y + outside

        return inner(x) + inner(y)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, outside])
        value = outer(x)
    assert value.numpy() == 3 * 6 + 6 * 6 + 20
    of_x, of_outside = tape.gradient(value, [x, outside])
    assert of_x.numpy() == 36.0
    assert of_outside.numpy() == 2.0


# -- symbols outside their trace ----------------------------------------------------------------------------------------


def leaked():
    kept = []

    @tf.function
    def leak(x):
        kept.append(x)
        kept.append(x * 2.0)
        return x

    leak(tf.constant([1.0, 2.0]))
    return kept


def test_a_symbol_used_outside_its_trace_names_both_lines():
    argument, product = leaked()
    for symbol in (argument, product):
        with pytest.raises(TypeError, match=r"is out of scope and cannot be used here") as caught:
            symbol + 1.0
        assert "<tf.Tensor '" in str(caught.value)
        assert "'leak'" in str(caught.value)
        assert __file__ in str(caught.value).split("used at")[1]
    assert re.search(rf"made at {re.escape(__file__)}:\d+ in leak", str(caught.value))
    assert (
        f"{__file__}:{test_a_symbol_used_outside_its_trace_names_both_lines.__code__.co_firstlineno + 4}"
        in str(caught.value)
    )


def test_a_symbol_cannot_enter_another_function():
    _, product = leaked()
    double = tf.function(lambda x: x * 2.0)
    with pytest.raises(TypeError, match=r"out of scope"):
        double(product)
    with pytest.raises(TypeError, match=r"out of scope"):
        tf.function(lambda x: x * product)(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"out of scope"):
        tf.function(lambda: product)()
    with pytest.raises(TypeError, match=r"out of scope"):
        tf.Variable([1.0, 1.0]).assign(product)


def test_a_symbol_has_no_number():
    @tf.function(autograph=False)
    def f(x):
        for call in (lambda: x.numpy(), lambda: x.item(), lambda: x.tolist()):
            with pytest.raises(AttributeError, match=r"'SymbolicTensor' object has no attribute"):
                call()
        with pytest.raises(
            NotImplementedError, match=r"Cannot convert a symbolic tf.Tensor \(.*x:0.*\) to a numpy array"
        ):
            np.asarray(x)
        for convert in (int, float, bool):
            with pytest.raises(TypeError, match=r"symbolic"):
                convert(x)
        with pytest.raises(
            TypeError, match=r"Using a symbolic `tf.Tensor` as a Python `bool` is not allowed"
        ):
            if x > 0.0:
                pass
        assert not hasattr(x, "numpy")
        assert "x:0" in repr(x)
        assert "shape=()" in repr(x)
        return x

    assert f(tf.constant(1.0)).numpy() == 1.0


def test_iterating_over_an_unknown_size_is_refused():
    @tf.function(input_signature=[tf.TensorSpec([None])], autograph=False)
    def f(x):
        with pytest.raises(TypeError, match=r"Iterating over a symbolic `tf.Tensor` is not allowed"):
            for _ in x:
                pass
        return x

    f([1.0, 2.0])
    total = tf.function(lambda x: sum(item * 2.0 for item in x))(tf.constant([1.0, 2.0]))
    assert total.numpy() == 6.0


# -- errors while tracing ----------------------------------------------------------------------------------------------------


def all_text(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def test_an_error_while_tracing_keeps_its_type_and_names_the_users_line():
    class Odd(Exception):
        pass

    @tf.function
    def f(x):
        raise Odd("for a reason")

    with pytest.raises(Odd, match=r"for a reason") as caught:
        f(tf.constant(1.0))
    text = all_text(caught.value)
    assert "in user code:" in text
    line = f.python_function.__code__.co_firstlineno + 2
    assert f"{__file__}:{line} in f" in text


def test_a_shape_error_names_op_shapes_and_the_users_line():
    @tf.function
    def f(a, b):
        c = a + 1.0
        return tf.matmul(c, b)

    with pytest.raises(ValueError, match=r"matmul: .*\(2, 3\).*\(4, 5\)") as caught:
        f(tf.constant(np.ones((2, 3), np.float32)), tf.constant(np.ones((4, 5), np.float32)))
    line = f.python_function.__code__.co_firstlineno + 3
    assert f"{__file__}:{line} in f" in all_text(caught.value)


def test_nested_functions_each_add_their_line():
    @tf.function
    def inner(x):
        return x + tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def outer(x):
        return inner(x)

    with pytest.raises(ValueError, match=r"\(2,\)") as caught:
        outer(tf.constant([1.0, 2.0]))
    text = all_text(caught.value)
    assert "while tracing inner" in text
    assert "while tracing outer" in text


def test_an_error_in_a_gradient_function_names_its_line():
    def backward(upstream):
        return tf.constant(upstream.numpy() * 2.0)

    f = tf.function(tf.custom_gradient(lambda x: (x * 1.0, backward)))
    x = tf.constant(2.0)
    assert f(x).numpy() == 2.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(AttributeError, match=r"no attribute 'numpy'") as caught:
            f(x)
    text = all_text(caught.value)
    assert (
        f"{__file__}:{backward.__code__.co_firstlineno + 1} in backward, while tracing the gradient function of"
        in text
    )


def test_a_failed_trace_leaves_nothing_behind():
    fail = [True]
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        y = v * x
        if fail[0]:
            raise RuntimeError("once")
        return y

    x = tf.constant(2.0)
    with pytest.raises(RuntimeError, match=r"once"):
        f(x)
    assert f.pretty_printed_concrete_signatures() == ""
    assert (x + 1.0).numpy() == 3.0
    fail[0] = False
    with tf.GradientTape() as tape:
        y = f(x)
    assert (y.numpy(), tape.gradient(y, v).numpy()) == (2.0, 2.0)


def test_an_error_at_run_time_is_not_sticky():
    @tf.function
    def f(x, i):
        return tf.gather(x, i)

    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match=r"gather"):
        f(x, tf.constant(5))
    assert f(x, tf.constant(1)).numpy() == 2.0


# -- modified inputs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (lambda l: l.append(tf.constant(1.0)), [tf.constant(1.0)]),
        (lambda l: l.pop(), [tf.constant(1.0), tf.constant(2.0)]),
        (lambda l: l.__setitem__(0, l[1]), [tf.constant(1.0), tf.constant(2.0)]),
        (lambda l: l.update(new=1), {"a": tf.constant(1.0)}),
        (lambda l: l.pop("a"), {"a": tf.constant(1.0), "b": 2}),
        (lambda l: l["a"].append(3), {"a": [1, 2]}),
        (lambda l: l[0]["k"].reverse(), ({"k": [1, 2]},)),
    ],
)
def test_changing_an_input_structure_is_refused(change, value):
    @tf.function
    def f(other, l):
        change(l)
        return other

    text = r"f\(other, l\) should not modify its Python input arguments. Modifying a copy is allowed. " + (
        r"The following parameter\(s\) were modified: l"
    )
    with pytest.raises(ValueError, match=text):
        f(tf.constant(1.0), value)


def test_changing_a_copy_is_fine_and_inputs_stay_what_they_were():
    @tf.function
    def f(items):
        copy = list(items)
        copy.append(copy[0] * 2.0)
        return copy

    given = [tf.constant(1.0)]
    assert [float(x) for x in f(given)] == [1.0, 2.0]
    assert len(given) == 1


# -- recursion -------------------------------------------------------------------------------------------------------------


def test_recursion_that_a_python_value_ends():
    @tf.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = power(x, 5)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (32.0, 80.0)


def test_recursion_without_an_end_is_an_error():
    @tf.function
    def forever(x):
        return forever(x) + 1.0

    with pytest.raises(RecursionError, match=r"maximum recursion depth exceeded|forever"):
        forever(tf.constant(1.0))
    assert (tf.constant(1.0) + 1.0).numpy() == 2.0


def test_a_python_function_that_calls_itself_for_ever_is_named_with_its_line():
    def countdown(n, x):
        return tf.cond(n > 0, lambda: countdown(n - 1, x * 2.0), lambda: x)

    def endless(x):
        return endless(x + 1.0) * 2.0

    for call, name in ((lambda x: countdown(tf.cast(x, tf.int32), x), "countdown"), (endless, "endless")):
        f = tf.function(call)
        with pytest.raises(
            RecursionError, match=f"{name} calls itself while it is traced, [0-9]+ calls deep"
        ) as caught:
            f(tf.constant(1.0))
        assert isinstance(caught.value, tf.errors.FailedPreconditionError)
        assert any(note.startswith(f"in user code: {__file__}:") for note in caught.value.__notes__)
    assert tf.function(lambda x: x + 1.0)(tf.constant(1.0)) == 2.0


# -- concrete functions --------------------------------------------------------------------------------------------------


def test_concrete_functions_by_spec_tensor_or_value():
    @tf.function
    def f(x, n=2):
        return x * float(n)

    a = f.get_concrete_function(tf.TensorSpec([2]), 3)
    assert a is f.get_concrete_function(tf.constant([5.0, 6.0]), 3)
    assert a is f.get_concrete_function(x=tf.TensorSpec([2]), n=3)
    assert f.get_concrete_function(tf.TensorSpec([2])) is not a
    np.testing.assert_array_equal(a(tf.constant([1.0, 2.0])), [3.0, 6.0])
    assert f.experimental_get_tracing_count() == 2


def test_without_arguments_a_signature_or_defaults_are_needed():
    with pytest.raises(
        TypeError, match=r"Binding inputs to tf.function failed due to `missing a required argument: 'x'`"
    ):
        tf.function(lambda x: x).get_concrete_function()
    assert tf.function(lambda x=2.0: tf.constant(x)).get_concrete_function()().numpy() == 2.0
    signed = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None])])
    concrete = signed.get_concrete_function()
    assert concrete is signed.get_concrete_function()
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0])), [2.0, 4.0])


@pytest.fixture
def concrete():
    @tf.function
    def f(x, n, y):
        return x * float(n) + y

    return f.get_concrete_function(tf.TensorSpec([2]), 2, tf.TensorSpec([2]))


X, Y = tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])


def test_tensors_by_position_are_what_the_signature_would_make_of_them():
    v = tf.Variable(2.0)

    @tf.function
    def f(x, y):
        return {"sum": x + y, "product": [x * y * v]}

    narrow = f.get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([2]))
    open_ = f.get_concrete_function(tf.TensorSpec([None]), tf.TensorSpec([None]))
    longer = tf.constant([1.0, 2.0, 3.0])
    for concrete, x in ((narrow, X), (open_, X), (open_, longer)):
        y = x + 1.0
        assert concrete._takes((x, y))
        for found in (concrete(x, y), concrete(x, y=y), concrete(y=y, x=x)):
            np.testing.assert_array_equal(found["sum"], x.numpy() + y.numpy())
            np.testing.assert_array_equal(found["product"][0], x.numpy() * y.numpy() * 2.0)
    for others in (
        (X,),
        (X, X, X),
        (X, [1.0, 2.0]),
        (X, v),
        (X, tf.cast(X, tf.float64)),
        (X, tf.ones([2, 1])),
    ):
        assert not narrow._takes(others)
        assert not open_._takes(others)
    assert not narrow._takes((X, longer))
    nested = tf.function(lambda d: d["a"]).get_concrete_function({"a": X})
    assert not nested._takes((X,))
    assert not tf.function(lambda w, x: w + x).get_concrete_function(v, X)._takes((X, X))


def test_python_arguments_are_left_out_or_equal(concrete):
    for call in (
        lambda: concrete(X, 2, Y),
        lambda: concrete(X, Y),
        lambda: concrete(X, y=Y),
        lambda: concrete(x=X, y=Y),
        lambda: concrete(y=Y, x=X, n=2),
    ):
        np.testing.assert_array_equal(call(), [12.0, 24.0])
    with pytest.raises(TypeError, match=r"Can not cast 3 to Literal\[2\]"):
        concrete(X, 3, Y)


def test_a_list_where_a_tensor_is_due_becomes_one(concrete):
    for call in (
        lambda: concrete([1.0, 2.0], 2, Y),
        lambda: concrete([1, 2], y=(10.0, 20.0)),
        lambda: concrete([X[0], 2.0], Y),
    ):
        np.testing.assert_array_equal(call(), [12.0, 24.0])
    nested = tf.function(lambda d, e: d["a"] + e[0] * e[1])
    nested = nested.get_concrete_function({"a": tf.TensorSpec([2])}, [tf.TensorSpec([2]), tf.TensorSpec([2])])
    np.testing.assert_array_equal(nested({"a": [1.0, 2.0]}, [X, [3.0, 4.0]]), [4.0, 10.0])
    text = r"got dict"
    with pytest.raises(TypeError, match=text):
        concrete({"a": 1.0}, 2, Y)
    with pytest.raises(TypeError, match=r"\(3,\); this concrete function was traced for \(2,\).*None"):
        concrete([1.0, 2.0, 3.0], Y)
    with pytest.raises(TypeError, match=r"'d' is \{'b': TensorSpec.*it was traced for \{'a': TensorSpec"):
        nested({"b": X}, [X, X])


def test_tensors_of_other_shapes_run_a_trace_for_these_shapes():
    @tf.function
    def f(x, n):
        return tf.reduce_mean(x) * x.shape[0] * float(n), tf.shape(x), x * 2.0

    concrete = f.get_concrete_function(tf.TensorSpec([2]), 3)
    for x in (tf.constant([1.0, 2.0, 3.0]), tf.ones([4, 1])):
        for call in (lambda x=x: concrete(x), lambda x=x: concrete(x=x), lambda x=x: concrete(x, 3)):
            total, sizes, doubled = call()
            assert total.numpy() == 3.0 * float(tf.reduce_sum(x))
            np.testing.assert_array_equal(sizes, x.shape)
            np.testing.assert_array_equal(doubled, 2.0 * x)
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x)[0]
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 3.0, 3.0])
    signed = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([2])]).get_concrete_function()
    np.testing.assert_array_equal(signed(x), [2.0, 3.0, 4.0])


def test_a_concrete_function_from_a_file_keeps_to_its_shapes(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([2]))
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m")).f
    np.testing.assert_array_equal(loaded(X), [2.0, 4.0])
    with pytest.raises((TypeError, ValueError), match=r"\(3,\)"):
        loaded(tf.constant([1.0, 2.0, 3.0]))


def test_a_wrong_dtype_is_refused(concrete):
    text = r"cannot compute __inference_f_\d+ as input #0\(zero-based\) was expected to be a float32 tensor but is a int32 tensor"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        concrete(tf.constant([1, 2]), 2, Y)


def test_missing_and_unknown_arguments_of_a_concrete_function_are_named(concrete):
    with pytest.raises(TypeError, match=r"missing argument 'y'"):
        concrete(X)
    with pytest.raises(TypeError, match=r"unknown"):
        concrete(X, y=Y, z=Y)
    with pytest.raises(TypeError, match=r"3 tensors for 2 arguments"):
        concrete(X, Y, Y)


SCALAR = tf.TensorSpec([])
MANY = tf.function(lambda x, *rest, **more: x).get_concrete_function(SCALAR, SCALAR, c=SCALAR)
NESTED = tf.function(lambda d, pair, n=2: d["a"]).get_concrete_function({"a": SCALAR}, [SCALAR, SCALAR])


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda x: MANY(x), "missing a required argument: 'rest_0'"),
        (lambda x: MANY(x, x), "missing a required argument: 'c'"),
        (lambda x: MANY(x, x, c=x, d=x), "got an unexpected keyword argument 'd'"),
        (lambda x: MANY(x, x, x, c=x), "too many positional arguments: it was traced for 2, and 3 are given"),
        (
            lambda x: NESTED(x, [x, x]),
            r"argument 'd' is TensorSpec\(.*\), and it was traced for \{'a': TensorSpec",
        ),
        (lambda x: NESTED({"b": x}, [x, x]), r"argument 'd' is \{'b': TensorSpec.*traced for \{'a': Tensor"),
        (lambda x: NESTED({"a": x}, [x]), r"argument 'pair' is \[TensorSpec\([^)]*\)[^)]*\)\], and it was"),
        (lambda x: NESTED({"a": x}, [x, x], 3), r"Can not cast 3 to Literal\[2\]"),
    ],
)
def test_the_first_argument_that_does_not_fit_a_trace_is_named(call, said):
    with pytest.raises(TypeError, match=said) as caught:
        call(tf.constant(1.0))
    assert str(caught.value).startswith("<lambda>: ")


def test_what_a_concrete_function_says_of_itself():
    v, c = tf.Variable(1.0, name="weight"), tf.constant([5.0])

    @tf.function
    def f(x, n, *, scale):
        return {"y": x * v * c * scale, "n": tf.constant(n)}

    concrete = f.get_concrete_function(tf.TensorSpec([None]), 3, scale=tf.TensorSpec(()))
    (args, kwargs) = concrete.structured_input_signature
    assert args == (tf.TensorSpec([None], tf.float32, name="x"), 3)
    assert kwargs == {"scale": tf.TensorSpec((), tf.float32, name="scale")}
    assert args[0].name == "x"
    assert concrete.structured_outputs["n"] == tf.TensorSpec((), tf.int32)
    assert concrete.output_shapes["y"].as_list() == [None]
    assert concrete.output_dtypes == {"y": tf.float32, "n": tf.int32}
    assert len(concrete.inputs) == 4
    assert len(concrete.outputs) == 2
    assert re.fullmatch(rb"__inference_f_\d+", concrete.name)
    assert [w.ref() for w in concrete.variables] == [v.ref()]
    assert {type(x).__name__ for x in concrete.captured_inputs} == {"Variable", "EagerTensor"}


def test_printed_signatures():
    @tf.function
    def f(x, n):
        return x * 2.0

    f(tf.constant([1.0, 2.0]), 2)
    f.get_concrete_function(tf.TensorSpec([None]), 3)
    blocks = f.pretty_printed_concrete_signatures().split("\n\n")
    assert blocks[1] == "\n".join(
        [
            "Input Parameters:",
            "  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(None,), dtype=tf.float32, name=None)",
            "  n (POSITIONAL_OR_KEYWORD): Literal[3]",
            "Output Type:",
            "  TensorSpec(shape=(None,), dtype=tf.float32, name=None)",
            "Captures:",
            "  None",
        ]
    )
    assert len(blocks) == 2


def test_concrete_functions_work_under_a_tape_and_in_other_functions(concrete):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = concrete(x, Y)
        return tape.gradient(y, x)

    for call in (body, tf.function(body)):
        np.testing.assert_array_equal(call(X), [2.0, 2.0])


@pytest.mark.parametrize("jit", [None, True, False])
def test_a_variable_keeps_its_shape_when_sizes_are_unknown(jit):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([[1.0], [2.0]])
    free = tf.Variable([1.0], shape=tf.TensorShape(None))
    give = tf.function(lambda x: v.assign(x * 2.0), input_signature=[tf.TensorSpec([None])], jit_compile=jit)
    take = tf.function(lambda x: w.assign_sub(x), input_signature=[tf.TensorSpec(None)], jit_compile=jit)
    form = tf.function(
        lambda x: free.assign(x * 2.0), input_signature=[tf.TensorSpec([None])], jit_compile=jit
    )
    wrong = r"Shape mismatch\. The variable shape \(2,\), and the assigned value shape \(4,\)"
    with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
        give(tf.ones([4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"value shape \(2, 2\)"):
        take(tf.ones([1, 2]))
    assert v.numpy().tolist() == [1.0, 2.0] and w.numpy().tolist() == [[1.0], [2.0]]
    give(tf.ones([2]))
    form(tf.ones([3]))
    assert v.numpy().tolist() == [2.0, 2.0] and free.numpy().tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
        give(tf.ones([4]))
    assert v.numpy().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("divide", [lambda x, y: x // y, lambda x, y: x % y], ids=["floordiv", "mod"])
def test_dividing_integers_by_zero_raises_on_every_tier(divide, jit):
    f = tf.function(lambda x, y: divide(x, y) * 2, jit_compile=jit)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        f(tf.constant([7, 8]), tf.constant([2, 0]))
    np.testing.assert_array_equal(
        f(tf.constant([7, -7]), tf.constant([2, 2])), divide(np.array([7, -7]), 2) * 2
    )
    by_three = tf.function(lambda x: divide(x, 3) * 2, jit_compile=jit)
    np.testing.assert_array_equal(by_three(tf.constant([7, -7])), divide(np.array([7, -7]), 3) * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        tf.function(lambda x: divide(x, 0) * 2, jit_compile=jit)(tf.constant([7]))


def test_a_function_has_the_attributes_of_what_it_was_made_of():
    class Scale:
        def __init__(self):
            self.factor = 3.0

        def __call__(self, x):
            return self.factor * x

    scale = tf.function(Scale())
    assert scale.factor == 3.0
    assert float(scale(2.0)) == 6.0

    def noted(x):
        return x

    noted.note = "kept"
    assert tf.function(noted).note == "kept"
    with pytest.raises(AttributeError, match="'Function' object has no attribute 'missing'"):
        tf.function(noted).missing


def test_the_python_function_of_a_method_is_bound():
    class Model(tf.Module):
        @tf.function
        def double(self, x):
            return 2 * x

    model = Model()
    assert model.double.python_function(4) == 8
    assert Model.double.python_function(model, 4) == 8
    assert float(tf.function(model.double.python_function)(4.0)) == 8.0


def test_inputs_of_a_concrete_function_are_named_as_tensors() -> None:
    scalar, v = tf.TensorSpec([]), tf.Variable(1.0)

    @tf.function
    def f(x, d, *rest, k):
        return x + d["a"] + d["b"][0] * v + rest[0] + rest[1] + k

    concrete = f.get_concrete_function(
        scalar, {"a": scalar, "b": [scalar]}, scalar, tf.constant(1.0), k=scalar
    )
    names = [spec.name for spec in concrete.inputs]
    assert names == ["x:0", "d:0", "d_1:0", "rest_0:0", "rest_1:0", "k:0", None]  # and v
    assert concrete.inputs[0].shape == ()
