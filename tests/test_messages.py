"""Wrong uses and what is said of them: what was done, what is allowed, what to try."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import graphad as tf
from graphad import numpy as gnp

X = tf.constant([1.0, 2.0, 3.0])


def traced(f, *args, **options):
    return tf.function(f, **options)(*args)


def unset(x):
    if x[0] > 0.0:
        y = x
    return y


def none(x):
    if x[0] > 0.0:
        y = x
    else:
        y = None
    return y


def branch(x):
    if x[0] > 0.0:
        return x
    return -x


def taken_apart(x):
    first, _ = x
    return first


def appended(x):
    rows = []
    for row in tf.range(tf.shape(x)[0]):
        rows.append(row)
    return rows


def one_gradient():
    @tf.custom_gradient
    def product(x, y):
        return x * y, lambda g: g

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = product(X, X)
    return tape.gradient(y, X)


def no_variables():
    v = tf.Variable(2.0, name="scale")

    @tf.custom_gradient
    def scaled(x):
        return x * v, lambda g: g * v

    return scaled(X)


def too_few_variables():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(g, variables=None):
            return g * v, []

        return x * v, grad

    with tf.GradientTape() as tape:
        y = scaled(X)
    return tape.gradient(y, v)


def used_tape():
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    tape.gradient(y, X)
    tape.gradient(y, X)


def no_gradients():
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b")
    tf.optimizers.SGD(0.1).apply_gradients([(None, w), (None, b)])


def changed_shape():
    concrete = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([2]))
    concrete(tf.constant([1, 2]))


WRONG = [
    # what becomes a tensor
    (lambda: X + None, ValueError, r"^add: .*\(None\).*tape.why_none"),
    (lambda: X * "a", ValueError, r"^mul: .*\('a'\).*tensors of numbers only"),
    (lambda: tf.constant([1, 2]) + 0.5, TypeError, r"^add: Cannot convert 0.5 to .*int32.*tf.cast"),
    (lambda: tf.reduce_sum([1.0, None]), ValueError, r"Item 1 is None, of type NoneType"),
    (lambda: tf.constant([[1.0], [1.0, 2.0]]), ValueError, r"Item 0 has length 1, item 1 has length 2"),
    (
        lambda: tf.constant([[[1.0], [2.0]], [[1.0], 2.0]]),
        ValueError,
        r"Item 0 has length 1, item 1 is a number",
    ),
    (lambda: tf.cast(X, "flot32"), TypeError, r"'flot32' to a dtype; the nearest name is 'float32'"),
    (lambda: tf.zeros([2], "qqq"), TypeError, r"'qqq' to a dtype; names are bfloat16"),
    (
        lambda: tf.constant(np.array([[1], [1, 2]], dtype=object)),
        ValueError,
        r"an array of objects \(list\), as of rows .*by astype",
    ),
    (lambda: X + np.array(["a", "b"]), ValueError, r"^add: .*Its dtype is <U1; .*tensors of numbers only"),
    # variables
    (
        lambda: tf.Variable([1.0], name="w").assign(tf.constant([1])),
        ValueError,
        r"variable 'w:0' of dtype float32 and shape \(1,\): .*int32.*use cast",
    ),
    (lambda: tf.Variable([1.0], name="w").assign(None), ValueError, r"variable 'w:0' .*\(None\)"),
    # shapes and axes
    (lambda: tf.stack([X, X[:2]]), ValueError, r"sizes 3 and 2 must be equal"),
    (
        lambda: tf.concat(0, [X]),
        TypeError,
        r"axis must be an integer, got \[<tf.Tensor.*of type list; the tensor or the list",
    ),
    (lambda: tf.random.normal(3.5), TypeError, r"3.5 is not a shape; give integers"),
    (lambda: tf.cond(X > 0.0, lambda: 1.0, lambda: 2.0), ValueError, r"shape \(3,\).*tf.where chooses"),
    (lambda: tf.linalg.cholesky(-tf.eye(2)), ValueError, r"^cholesky: .*positive definite.*tf.eye"),
    (lambda: tf.keras.layers.Dense(3)(X), ValueError, r"\(3,\); an example alone .*tf.newaxis"),
    (
        lambda: tf.tensordot(tf.ones([3, 4]), tf.ones([5, 2]), 1),
        ValueError,
        r"^tensordot: axis 1 of a with shape \(3, 4\) has size 4, axis 0 of b .* has size 5",
    ),
    (lambda: tf.tensordot(tf.ones([3, 1]), tf.ones([5, 2]), 1), ValueError, r"^tensordot: .*of one size"),
    (
        lambda: tf.Variable([1.0, 2.0])[0].assign([1.0, 2.0]),
        ValueError,
        r"^assign: a value with shape \(2,\) does not fit the slice, which has shape \(\)",
    ),
    (lambda: tf.linalg.inv(tf.ones([2, 2])), ValueError, r"^inv: Input is not invertible: .*tf.linalg.pinv"),
    (lambda: int(X), TypeError, r"^int\(\): a tensor with shape \(3,\) and dtype float32 .*x.numpy\(\)"),
    (lambda: tf.cast(X, "foo"), TypeError, r"cannot convert 'foo' to a dtype; names are bfloat16"),
    # optimizers
    (lambda: tf.keras.optimizers.Adam("x"), TypeError, r"^adam: learning_rate is 'x'; give a number"),
    (
        lambda: tf.keras.optimizers.SGD().apply_gradients([tf.Variable(1.0)]),
        TypeError,
        r"^sgd: .*pairs \(gradient, variable\), as zip",
    ),
    # layers
    (lambda: tf.keras.Sequential([3]), TypeError, r"^Sequential: 3 is neither a layer nor a function"),
    (
        lambda: tf.keras.Sequential(tf.keras.layers.Dense(2)),
        TypeError,
        r"are one Dense; give a list, \[layer\]",
    ),
    (lambda: tf.keras.Sequential([]).fit, AttributeError, r"'fit'. Keras' training is not .*GradientTape"),
    (
        lambda: tf.keras.layers.Dense(2).kernel,
        AttributeError,
        r"not built yet: if it is a weight, .*first call",
    ),
    # seeds, sizes, paths, rows
    (
        lambda: tf.random.Generator.from_seed("a"),
        ValueError,
        r"^Generator.from_seed: seed is 'a' of type str",
    ),
    (
        lambda: tf.data.Dataset.range(3).batch("a"),
        ValueError,
        r"^batch: batch_size is 'a' of type str; .*integer",
    ),
    (lambda: tf.saved_model.Asset(3), TypeError, r"^Asset: path is 3; a string or a path"),
    (
        lambda: tf.vectorized_map(lambda x: x.numpy(), X),
        AttributeError,
        r"'numpy': all rows are computed together",
    ),
    (lambda: tf.keras.optimizers.SGD().get_gradients, AttributeError, r"compute_gradients.*GradientTape"),
    (lambda: tf.keras.optimizers.SGD().minimize(tf.constant(1.0), []), TypeError, "without the tape.*tape="),
    # gradients
    (
        one_gradient,
        ValueError,
        r"return 2 gradients, but returned 1 instead: .*product takes 2 tensors; .*None for one without",
    ),
    (no_variables, TypeError, r"'scale:0'.*def grad\(\*upstream, variables=None\)"),
    (too_few_variables, ValueError, r"scaled reads 1, and 0 were returned"),
    (used_tape, RuntimeError, r"Ask for all sources in one call, or make it with persistent=True"),
    (no_gradients, ValueError, r"none of the 2 variables has a gradient: 'w:0', 'b:0'; tape.why_none"),
    # functions
    (lambda: tf.function(3), TypeError, r"^function: 3 is not a callable object; .*`@tf.function`"),
    (
        lambda: traced(lambda x: x, X, input_signature=[tf.TensorSpec([2])]),
        TypeError,
        r"\(x: TensorSpec.*\)\. Argument 'x' has another shape: .*None",
    ),
    (
        lambda: traced(lambda x: x, tf.constant([1, 2]), input_signature=[tf.TensorSpec([2])]),
        TypeError,
        r"Argument 'x' is int32: tf.cast it to float32",
    ),
    (changed_shape, ValueError, r"as input #0.*argument 'x' of .*tf.cast, or trace it for int32"),
    # while a function is traced
    (lambda: traced(unset, X), ValueError, r"'y' must also .* give 'y' a value before the `if`, or in both"),
    (lambda: traced(none, X), ValueError, r"'y' is None .* both give tensors"),
    (
        lambda: traced(branch, X, autograph=False),
        TypeError,
        r"autograph=True.*the tensor was made at .*test_messages.py:",
    ),
    (lambda: traced(lambda x: any(r > 2.0 for r in tf.unstack(x)), X), TypeError, r"use tf.reduce_any"),
    (
        lambda: traced(taken_apart, X, input_signature=[tf.TensorSpec([None])]),
        TypeError,
        r"tf.map_fn.*tf.unstack\(x, num=n\)",
    ),
    (lambda: traced(appended, X), TypeError, r"belongs to one step of a loop over tensors\. .*TensorArray"),
    (lambda: traced(lambda x: np.array(x), X), NotImplementedError, r"while .* is traced.*tf.numpy_function"),
    (lambda: traced(lambda x: x.numpy(), X), AttributeError, r"has no value while .* is traced.*tf.print"),
    # files
    (lambda: tf.saved_model.load("/nowhere/at/all"), OSError, r"no such directory, nor /nowhere/at"),
    (lambda: tf.saved_model.load(__file__), OSError, r"test_messages.py is a file, a model is a directory"),
    (lambda: tf.saved_model.save({"a": 1}, "/tmp/never"), ValueError, r"Put it on a module"),
]


@pytest.mark.parametrize("call, kind, said", WRONG)
def test_a_wrong_use_is_told_what_was_done_and_what_to_try(call, kind, said):
    with pytest.raises(kind) as caught:
        call()
    assert re.search(said, str(caught.value).replace("\n", " ")), str(caught.value)


THING = object()
UNCONVERTIBLE = [
    (lambda: tf.reduce_sum(THING), "reduce_sum"),
    (lambda: tf.math.reduce_mean({1.0}), "reduce_mean"),
    (lambda: tf.exp(None), "exp"),  # functions of one table share their code
    (lambda: tf.tanh("a"), "tanh"),
    (lambda: tf.math.lgamma({"a": 1}), "lgamma"),
    (lambda: tf.maximum(X, THING), "maximum"),
    (lambda: tf.math.divide(X, None), "divide"),
    (lambda: tf.matmul([[1.0], [1.0, 2.0]], X), "matmul"),
    (lambda: tf.linalg.inv(THING), "inv"),
    (lambda: tf.linalg.matvec(THING, X), "matvec"),
    (lambda: tf.reshape(THING, [3]), "reshape"),
    (lambda: tf.stack([X, None]), "stack"),
    (lambda: tf.concat([X, [THING]], 0), "concat"),
    (lambda: tf.where(X > 1.0, X, THING), "where"),
    (lambda: tf.cast("1", tf.int32), "cast"),
    (lambda: tf.constant([X, None]), "constant"),
    (lambda: tf.constant(1.5, tf.int32), "constant"),
    (lambda: tf.constant(300, tf.uint8), "constant"),
    (lambda: tf.constant(1e39), "constant"),
    (lambda: tf.convert_to_tensor(X, tf.int32), "convert_to_tensor"),
    (lambda: tf.constant([True, 1]), "constant"),
    (lambda: tf.reduce_sum(np.array([None])), "reduce_sum"),
    (lambda: X * np.array([1.0], np.longdouble), "multiply"),
    (lambda: gnp.mean(np.array(["2026-01-01"], "datetime64[D]")), "mean"),
    (lambda: tf.data.Dataset.from_tensor_slices(THING), "from_tensor_slices"),
    (lambda: tf.nn.relu(THING), "relu"),
    (lambda: tf.nn.softmax([None]), "softmax"),
    (lambda: tf.signal.fft(THING), "fft"),
    (lambda: tf.image.flip_left_right(THING), "flip_left_right"),
    (lambda: tf.random.shuffle(THING), "shuffle"),
    (lambda: tf.Variable(THING), "Variable"),
    (lambda: tf.Variable([1.0]).assign(None), "assign"),
    (lambda: tf.Variable([1.0]).assign_add("a"), "assign_add"),
    (lambda: tf.keras.layers.Dense(2)(THING), "Dense"),
    (lambda: tf.keras.losses.MeanSquaredError()(THING, X), "MeanSquaredError"),
    (lambda: tf.map_fn(tf.exp, THING), "map_fn"),
    (lambda: gnp.sum(THING), "sum"),
    (lambda: gnp.sum(None), "sum"),
    (lambda: gnp.amax([THING]), "amax"),
    (lambda: gnp.add(X, THING), "add"),
    (lambda: gnp.concatenate([X, [THING]]), "concatenate"),
    (lambda: traced(lambda x: tf.reduce_max(THING) + x, X), "reduce_max"),
    (lambda: traced(lambda: tf.square([[1.0], [1.0, 2.0]]), autograph=False), "square"),
    (lambda: X + THING, "add"),
    (lambda: None @ X, "matmul"),
]


@pytest.mark.parametrize("call, name", UNCONVERTIBLE)
def test_a_value_that_cannot_be_a_tensor_is_refused_in_the_name_of_the_function_that_was_called(call, name):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    said = str(caught.value)
    assert re.match(
        rf"{name}: \S.*( to a Tensor| to Tensor| to EagerTensor|conversion requested|no dtype for)", said
    ), said
    assert said.count(f"{name}: ") == 1


def test_of_several_names_of_a_function_the_written_one_is_told():
    for call, name in ((lambda: gnp.max([THING]), "max"), (lambda: gnp.amax([THING]), "amax")):
        with pytest.raises(ValueError, match=f"^{name}: "):
            call()


def test_a_missing_attribute_of_a_loaded_object_says_what_there_is(tmp_path):
    module = tf.Module()
    module.scale, module.v = 3, tf.Variable(1.0)
    path = tmp_path / "models"
    tf.saved_model.save(module, str(path / "first"))
    loaded = tf.saved_model.load(str(path / "first"))
    with pytest.raises(
        AttributeError, match=r"no attribute 'scale'\. It has .*v\. A file holds variables.*numbers"
    ):
        _ = loaded.scale
    assert not hasattr(loaded, "__len__")
    with pytest.raises(OSError, match=r"the directory holds the models first: load one of them"):
        tf.saved_model.load(str(path))
    (path / "second").mkdir()
    with pytest.raises(OSError, match=r"the directory is empty"):
        tf.saved_model.load(str(path / "second"))


def test_every_error_is_an_op_error_with_a_message():
    with pytest.raises(tf.errors.OpError) as raised:
        tf.reshape(tf.ones([3]), [2])
    assert raised.value.message == str(raised.value)
    assert "3 elements" in raised.value.message


def test_all_of_tensorflows_errors_are_there_with_their_codes():
    kinds = {
        "CANCELLED": 1,
        "UNKNOWN": 2,
        "INVALID_ARGUMENT": 3,
        "DEADLINE_EXCEEDED": 4,
        "NOT_FOUND": 5,
        "ALREADY_EXISTS": 6,
        "PERMISSION_DENIED": 7,
        "RESOURCE_EXHAUSTED": 8,
        "FAILED_PRECONDITION": 9,
        "ABORTED": 10,
        "OUT_OF_RANGE": 11,
        "UNIMPLEMENTED": 12,
        "INTERNAL": 13,
        "UNAVAILABLE": 14,
        "DATA_LOSS": 15,
        "UNAUTHENTICATED": 16,
    }
    assert tf.errors.OK == 0
    for name, code in kinds.items():
        kind = getattr(tf.errors, name.title().replace("_", "") + "Error")
        assert getattr(tf.errors, name) == code
        made = kind(None, None, "what was wrong")  # as TensorFlow's are made: node, op, message
        assert str(made) == made.message == "what was wrong" == str(kind("what was wrong"))
        named = kind(node_def=None, op=None, message="what was wrong")
        copied = pickle.loads(pickle.dumps(named))
        assert (type(copied), str(copied)) == (kind, "what was wrong")
        assert (made.error_code, made.op, made.node_def, made.experimental_payloads) == (code, None, None, {})
        assert isinstance(made, tf.errors.OpError)
        with pytest.raises(kind, match="what was wrong"):
            raise made


def test_errors_that_an_op_raises_have_a_code():
    with pytest.raises(tf.errors.OpError) as raised:
        tf.ones([2]) + tf.ones([3])
    assert raised.value.error_code == tf.errors.INVALID_ARGUMENT
