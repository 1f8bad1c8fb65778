"""Optimizers against closed forms, losses and metrics against NumPy, eager and inside traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both

keras = tf.keras


def steps(optimizer, gradients, start, traced):
    """The variable after each step with the given gradients."""
    v = tf.Variable(np.asarray(start, np.float64))

    def step(g):
        optimizer.apply_gradients([(g, v)])

    run = tf.function(step) if traced else step
    if traced:
        optimizer.build([v])
    out = []
    for g in gradients:
        run(tf.constant(np.asarray(g, np.float64)))
        out.append(v.numpy())
    return np.array(out)


G = np.array([[1.0, -2.0], [0.5, 0.5], [-3.0, 1.0], [2.0, 2.0]])


@pytest.mark.parametrize("traced", [False, True])
def test_sgd(traced):
    got = steps(keras.optimizers.SGD(0.1), G, [1.0, 1.0], traced)
    np.testing.assert_allclose(got, 1.0 - 0.1 * np.cumsum(G, 0), rtol=1e-6)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum(traced, nesterov):
    got = steps(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=nesterov), G, [1.0, 1.0], traced)
    w, velocity, wanted = np.ones(2), np.zeros(2), []
    for g in G:
        velocity = 0.9 * velocity - 0.1 * g
        w = w + (0.9 * velocity - 0.1 * g if nesterov else velocity)
        wanted.append(w)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("traced", [False, True])
def test_adam(traced):
    got = steps(keras.optimizers.Adam(0.1, beta_1=0.8, beta_2=0.9, epsilon=1e-7), G, [1.0, 1.0], traced)
    w, m, v, wanted = np.ones(2), np.zeros(2), np.zeros(2), []
    for t, g in enumerate(G, 1):
        m = 0.8 * m + 0.2 * g
        v = 0.9 * v + 0.1 * g * g
        w = w - 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.8**t) * m / (np.sqrt(v) + 1e-7)
        wanted.append(w)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_the_first_step_of_adam_is_the_learning_rate():
    v = tf.Variable([1.0, 1.0, 1.0])
    keras.optimizers.Adam(0.01).apply_gradients([(tf.constant([1e-3, -5.0, 100.0]), v)])
    np.testing.assert_allclose(v, [0.99, 1.01, 0.99], rtol=1e-4)


def test_sgd_on_a_quadratic_follows_the_closed_form():
    v = tf.Variable(1.0, dtype=tf.float64)
    optimizer = keras.optimizers.SGD(0.1)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = 1.5 * v * v
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    for _ in range(20):
        step()
    np.testing.assert_allclose(v, 0.7**20, rtol=1e-6)
    assert optimizer.iterations.numpy() == 20


@pytest.mark.parametrize(
    "make", [keras.optimizers.Adam, lambda rate: keras.optimizers.SGD(rate, momentum=0.9)]
)
def test_slots_may_be_made_in_the_first_call_of_a_function(make):
    v = tf.Variable([1.0, 2.0])
    optimizer = make(0.1)

    @tf.function
    def step(g):
        optimizer.apply_gradients([(g, v)])

    eager_v, eager = tf.Variable([1.0, 2.0]), make(0.1)
    for _ in range(3):
        g = tf.constant([1.0, -1.0])
        step(g)
        eager.apply_gradients([(g, eager_v)])
    np.testing.assert_allclose(v, eager_v, rtol=1e-6)
    assert optimizer.iterations.numpy() == 3
    assert step.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize(
    "make",
    [keras.optimizers.SGD, keras.optimizers.Adam, lambda rate: keras.optimizers.SGD(rate, momentum=0.9)],
)
def test_a_function_may_take_the_variables_that_it_trains_as_arguments(make, jit):
    def step(optimizer, variable, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable * variable * x)
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])

    def trained(run):
        optimizer = make(0.1)
        variables = [tf.Variable([1.0, 2.0]), tf.Variable([3.0, -4.0])]
        call = run(lambda variable, x: step(optimizer, variable, x))
        for i in (0, 0, 1, 0, 1, 1, 1, 0):
            call(variables[i], tf.constant([1.0, 0.5]))
        return [*variables, *optimizer.variables]

    def nested(f):
        inner = tf.function(f, jit_compile=jit)
        return tf.function(lambda variable, x: inner(variable, x), jit_compile=jit)

    want = trained(lambda f: f)
    for run in (lambda f: tf.function(f, jit_compile=jit), nested):
        for found, wanted in zip(trained(run), want, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_variable_made_in_the_first_call_may_start_from_an_argument_that_is_a_variable():
    made = []

    @tf.function
    def f(variable, unused):
        variable.assign(variable * 1.0)
        if not made:
            made.append(tf.Variable(tf.zeros_like(variable) + 3.0))
        return made[0] + variable

    np.testing.assert_allclose(f(tf.Variable([1.0, 2.0]), tf.constant(1.0)), [4.0, 5.0])


def test_the_learning_rate_can_be_changed_without_retracing_and_may_be_a_function():
    v = tf.Variable(0.0)
    optimizer = keras.optimizers.SGD(1.0)
    step = tf.function(lambda g: optimizer.apply_gradients([(g, v)]))
    step(tf.constant(1.0))
    optimizer.learning_rate = 0.5
    step(tf.constant(1.0))
    assert v.numpy() == -1.5
    assert step.experimental_get_tracing_count() == 1
    rates = iter([1.0, 10.0])
    scheduled = keras.optimizers.SGD(lambda: next(rates))
    v.assign(0.0)
    for _ in range(2):
        scheduled.apply_gradients([(tf.constant(1.0), v)])
    assert v.numpy() == -11.0


def test_pairs_without_a_gradient_are_skipped():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.apply_gradients([(None, v), (tf.constant(1.0), w)])
    assert (v.numpy(), w.numpy()) == (1.0, 0.5)
    with pytest.raises(ValueError, match=r"none of the 2 variables has a gradient"):
        optimizer.apply_gradients([(None, v), (None, w)])
    with pytest.raises(TypeError, match=r"is not a Variable"):
        optimizer.apply_gradients([(v, tf.constant(1.0))])


@in_both
def test_sparse_gradients_are_applied(run):
    table = tf.Variable([[1.0], [2.0], [3.0]])
    optimizer = keras.optimizers.SGD(1.0)

    def body():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [0, 2, 0]))
        optimizer.apply_gradients([(tape.gradient(y, table), table)])

    run(body)
    np.testing.assert_array_equal(table, [[-1.0], [2.0], [2.0]])


@pytest.mark.parametrize(
    "gradient", [(tf.ones([1, 2]), [0], [2, 2]), [[1.0, 2.0], [3.0]], "slope", {"slope": 1.0}]
)
def test_a_gradient_that_is_no_tensor_is_refused_with_its_variable(gradient):
    rows = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="rows")
    with pytest.raises(TypeError, match=r"sgd: the gradient of variable 'rows:0' is no tensor\."):
        tf.optimizers.SGD(0.1).apply_gradients([(gradient, rows)])


def test_optimizers_keep_their_state_in_variables():
    v = tf.Variable([1.0, 2.0], name="weight")
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([v])
    optimizer.build([v])
    assert [w.name for w in optimizer.variables] == [
        "iterations:0",
        "learning_rate:0",
        "weight/m:0",
        "weight/v:0",
    ]
    assert not any(w.trainable for w in optimizer.variables)


@pytest.mark.parametrize("momentum", [-0.1, 1.5])
def test_momentum_lies_between_0_and_1(momentum):
    with pytest.raises(ValueError, match=rf"momentum {momentum} is out of range"):
        keras.optimizers.SGD(0.1, momentum=momentum)


def test_an_optimizer_without_a_rule_is_refused():
    with pytest.raises(TypeError, match="an optimizer must define update"):
        keras.optimizers.Optimizer(0.1).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


# -- losses ----------------------------------------------------------------------------------------------------------------


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


LOGITS = np.array([[2.0, -1.0, 0.5], [0.1, 0.2, 3.0]], np.float32)
LABELS = np.array([0, 1])
HOT = np.eye(3, dtype=np.float32)[LABELS]


@in_both
def test_losses(run):
    cross = -np.log(softmax(LOGITS)[np.arange(2), LABELS])
    p = softmax(LOGITS)
    a, b = LOGITS, HOT
    losses = keras.losses
    cases = [
        (lambda z: losses.SparseCategoricalCrossentropy(from_logits=True)(LABELS, z), LOGITS, cross.mean()),
        (lambda z: losses.SparseCategoricalCrossentropy()(LABELS, z), p, cross.mean()),
        (lambda z: losses.CategoricalCrossentropy(from_logits=True)(HOT, z), LOGITS, cross.mean()),
        (lambda z: losses.CategoricalCrossentropy()(HOT, z), p, cross.mean()),
        (lambda z: losses.MeanSquaredError()(HOT, z), LOGITS, ((a - b) ** 2).mean()),
        (lambda z: losses.MeanAbsoluteError()(HOT, z), LOGITS, np.abs(a - b).mean()),
        (lambda z: losses.sparse_categorical_crossentropy(LABELS, z, from_logits=True), LOGITS, cross),
        (lambda z: losses.mean_squared_error(HOT, z), LOGITS, ((a - b) ** 2).mean(-1)),
    ]
    for f, z, wanted in cases:
        np.testing.assert_allclose(run(f, tf.constant(z)), wanted, rtol=1e-5)


def test_the_gradient_of_a_cross_entropy_is_softmax_minus_label():
    z = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(z)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(LABELS, z)
    np.testing.assert_allclose(tape.gradient(loss, z), (softmax(LOGITS) - HOT) / 2, rtol=1e-5)


def test_a_column_beside_a_vector_is_no_table():
    y, column = np.array([1.0, 2.0, 3.0], np.float32), np.array([[1.5], [2.0], [2.0]], np.float32)
    for one, other in ((y, column), (column, y)):
        np.testing.assert_allclose(keras.losses.MeanSquaredError()(one, other), 1.25 / 3)
        np.testing.assert_allclose(keras.losses.MeanAbsoluteError()(one, other), 0.5)
    p = softmax(LOGITS)
    vector = keras.losses.sparse_categorical_crossentropy(LABELS, p)
    np.testing.assert_array_equal(keras.losses.sparse_categorical_crossentropy(LABELS[:, None], p), vector)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    assert accuracy(LABELS[:, None], p).numpy() == 0.5
    f = tf.function(
        lambda a, b: keras.losses.mean_squared_error(a, b),
        input_signature=[tf.TensorSpec([None, 1]), tf.TensorSpec([None])],
    )
    np.testing.assert_allclose(f(column, y), [0.25, 0.0, 1.0])


def test_losses_of_integers_are_real_numbers():
    loss = keras.losses.MeanSquaredError()([[1, 2]], [[1, 3]])
    assert loss.dtype is tf.float32
    assert loss.numpy() == 0.5


def test_sure_predictions_have_no_gradient():
    z = tf.constant([[1.0, 0.0], [0.5, 0.5]])
    for loss, labels in (
        (keras.losses.SparseCategoricalCrossentropy(reduction="sum"), [1, 0]),
        (keras.losses.CategoricalCrossentropy(reduction="sum"), [[0.0, 1.0], [1.0, 0.0]]),
    ):
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = loss(labels, z)
        np.testing.assert_allclose(tape.gradient(y, z), [[0.0, 0.0], [-1.0, 1.0]])


def test_weights_and_reductions():
    y, p = np.array([[1.0], [2.0], [3.0]], np.float32), np.array([[1.5], [2.0], [2.0]], np.float32)
    weights = [1.0, 0.0, 2.0]
    for reduction, wanted in (
        ("sum_over_batch_size", 0.75),
        ("mean", 0.75),
        ("mean_with_sample_weight", 0.75),
        ("sum", 2.25),
        ("none", [0.25, 0.0, 2.0]),
        (None, [0.25, 0.0, 2.0]),
    ):
        loss = keras.losses.MeanSquaredError(reduction=reduction)
        np.testing.assert_allclose(loss(y, p, sample_weight=weights), wanted)
    by_weight = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    assert by_weight(y, p).numpy() == np.float32(1.25 / 3)
    assert by_weight(y, p, sample_weight=[1.0, 0.0, 4.0]).numpy() == np.float32(4.25 / 5)
    assert by_weight(y, p, sample_weight=[0.0, 0.0, 0.0]).numpy() == 0.0
    with pytest.raises(ValueError, match=r"MeanSquaredError: there is no reduction 'average'; there are"):
        keras.losses.MeanSquaredError(reduction="average")


def test_losses_take_lists_and_arrays_as_predictions():
    assert keras.losses.MeanSquaredError()([[1.0, 2.0]], [[0.0, 0.0]]).numpy() == 2.5
    assert keras.losses.MeanAbsoluteError()(np.array([[1.0, 2.0]]), np.zeros((1, 2))).numpy() == 1.5
    np.testing.assert_allclose(
        keras.losses.SparseCategoricalCrossentropy()([0], [[0.5, 0.5]]), np.log(2), rtol=1e-6
    )


# -- metrics ---------------------------------------------------------------------------------------------------------------


@in_both
def test_running_means(run):
    mean = keras.metrics.Mean()
    assert mean.result().numpy() == 0.0

    def body(x):
        mean.update_state(x)

    run(body, tf.constant([1.0, 2.0]))
    run(body, tf.constant(6.0))
    assert mean.result().numpy() == 3.0
    assert mean([0.0]).numpy() == 2.25
    mean.reset_state()
    assert mean.result().numpy() == 0.0


@in_both
def test_a_sample_counts_by_its_mean_and_its_weight(run):
    mean = keras.metrics.Mean()
    run(lambda x: mean.update_state(x), tf.constant([[1.0, 3.0], [5.0, 7.0]]))
    assert [v.numpy() for v in mean.variables] == [8.0, 2.0]
    run(lambda x: mean.update_state(x, sample_weight=[1.0, 3.0]), tf.constant([[1.0, 3.0], [5.0, 7.0]]))
    assert [v.numpy() for v in mean.variables] == [28.0, 6.0]
    run(lambda x: mean.update_state(x), tf.zeros([0, 2]))
    assert [v.numpy() for v in mean.variables] == [28.0, 6.0]


@pytest.mark.parametrize("dims", [None, [None, None]])
def test_means_of_values_whose_sizes_are_unknown(dims):
    mean = keras.metrics.Mean()
    tf.function(lambda x: mean.update_state(x), input_signature=[tf.TensorSpec(dims)])(
        np.ones((2, 3), np.float32)
    )
    assert [v.numpy() for v in mean.variables] == [2.0, 2.0]
    weighted = tf.function(lambda x: mean.update_state(x, 2.0), input_signature=[tf.TensorSpec(None)])
    with pytest.raises(ValueError, match="ranks of values and sample_weight must be known"):
        weighted(np.ones((2, 3), np.float32))


@in_both
def test_accuracy(run):
    accuracy = keras.metrics.SparseCategoricalAccuracy()

    def body(labels, predictions):
        accuracy.update_state(labels, predictions)

    run(body, tf.constant([0, 2]), tf.constant(LOGITS))
    run(body, tf.constant([1, 1]), tf.constant(LOGITS))
    assert accuracy.result().numpy() == 0.5


def test_an_optimizer_says_its_rate_and_how_far_it_is():
    v = tf.Variable([1.0, 2.0])
    adam = tf.optimizers.Adam(0.01)
    assert repr(adam) == "<Adam: learning rate 0.01, not used yet>"
    adam.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    assert repr(adam) == "<Adam: learning rate 0.01, step 1>"

    def rate():
        return 0.5

    assert repr(tf.optimizers.SGD(rate)) == "<SGD: learning rate rate, not used yet>"


def test_arguments_that_an_optimizer_does_not_have_are_named_with_those_that_it_has():
    class Own(tf.keras.optimizers.SGD):
        def __init__(self, share=0.5, **options):
            super().__init__(**options)

    with pytest.raises(
        TypeError, match=r"SGD: there is no argument 'lr'; it takes learning_rate, momentum, .*clipnorm"
    ):
        tf.keras.optimizers.SGD(lr=0.1)
    with pytest.raises(
        TypeError, match=r"Own: there is no argument 'decay'; it takes share, learning_rate, momentum"
    ):
        Own(decay=0.1)


def test_a_step_returns_the_counter_of_steps() -> None:
    w = tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.SGD(0.1)
    assert optimizer.apply_gradients([(tf.ones(2), w)]) is optimizer.iterations
    assert int(tf.function(lambda: optimizer.apply_gradients([(tf.ones(2), w)]))()) == 2


@pytest.mark.parametrize(
    ("arguments", "precision", "recall"),  # those of Keras 3
    [
        ({"top_k": 1}, 0.3333333432674408, 0.20000000298023224),
        (
            {"top_k": 2, "thresholds": [0.3, 0.7]},
            [0.6000000238418579, 0.5],
            [0.6000000238418579, 0.4000000059604645],
        ),
        ({"top_k": 3, "class_id": 1}, 0.3333333432674408, 1.0),
    ],
)
def test_the_largest_predictions_alone_count(arguments: Any, precision: Any, recall: Any) -> None:
    labels = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]], np.float32)
    guesses = np.array([[0.9, 0.8, 0.1, 0.4], [0.2, 0.35, 0.6, 0.71], [0.3, 0.3, 0.3, 0.9]], np.float32)
    for kind, expected in ((tf.keras.metrics.Precision, precision), (tf.keras.metrics.Recall, recall)):
        metric = kind(**arguments)
        metric.update_state(labels, guesses)
        np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="top_k is 0; a positive integer is needed"):
        tf.keras.metrics.Precision(top_k=0)


@pytest.mark.parametrize("make", [tf.keras.optimizers.SGD, tf.keras.optimizers.legacy.SGD])
def test_lr_is_the_learning_rate(make) -> None:
    """An optimizer keeps the rate that `lr` is set to, in functions that are traced already too."""
    v, optimizer = tf.Variable(1.0), make(0.1)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant(1.0), v)])

    step()
    optimizer.lr = 0.5
    step()
    np.testing.assert_allclose(v, 1.0 - 0.1 - 0.5, rtol=1e-6)
    np.testing.assert_allclose([optimizer.lr, optimizer.learning_rate], 0.5)
    optimizer.lr.assign(0.25)
    np.testing.assert_allclose(optimizer.learning_rate, 0.25)
