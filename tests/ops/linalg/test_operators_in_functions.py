"""Linear operators as arguments and results of functions, and as variables of branches and loops."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

linalg = tf.linalg
X = tf.constant([1.0, 2.0])
DIAG = linalg.LinearOperatorDiag


@tf.function
def applied(operator, x):
    return operator.matvec(x), operator.solvevec(x)


@pytest.mark.parametrize(
    "operator",
    [
        DIAG(tf.Variable([3.0, 4.0])),
        linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]]),
        linalg.LinearOperatorComposition([DIAG(X), linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]])]),
        linalg.LinearOperatorScaledIdentity(2, 3.0),
        linalg.LinearOperatorLowRankUpdate(DIAG(X), tf.ones([2, 1])),
    ],
    ids=lambda operator: type(operator).__name__,
)  # fmt: skip
def test_an_operator_is_an_argument_and_a_result(operator):
    for got, want in zip(applied(operator, X), (operator.matvec(X), operator.solvevec(X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    back = tf.function(lambda o: {"operator": o, "x": X})(operator)["operator"]
    assert type(back) is type(operator)
    np.testing.assert_allclose(back.to_dense(), operator.to_dense())


def test_operators_of_one_form_share_a_trace():
    @tf.function
    def product(operator):
        return operator.matvec(X)

    for k in range(3):
        assert product(DIAG(X * float(k))).numpy().tolist() == [k * 1.0, k * 4.0]
    assert product.experimental_get_tracing_count() == 1
    product(DIAG(X, is_positive_definite=True))
    assert product.experimental_get_tracing_count() == 2


def test_gradients_go_through_an_operator():
    v = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(applied(DIAG(v), X)[0])
    assert tape.gradient(y, v).numpy().tolist() == [1.0, 2.0]

    made = tf.function(lambda x: DIAG(x * x))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = made(X).log_abs_determinant()
    assert tape.gradient(y, X).numpy().tolist() == [2.0, 1.0]


def test_a_tensor_chooses_between_operators():
    @tf.function
    def chosen(flag, x):
        operator = DIAG(x, name="d") if flag else DIAG(x * 2.0, name="d")
        if flag:
            other = DIAG(operator.diag_part() + 1.0)
        else:
            other = DIAG(operator.diag_part() - 1.0)
        return tf.cond(flag, lambda: operator, lambda: operator), other

    first, second = chosen(tf.constant(False), X)
    assert first.diag_part().numpy().tolist() == [2.0, 4.0]
    assert second.diag_part().numpy().tolist() == [1.0, 3.0]
    first, second = chosen(tf.constant(True), X)
    assert second.diag_part().numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: DIAG([x, 2.0]),
        lambda x: linalg.LinearOperatorScaledIdentity(2, x),
        lambda x: linalg.LinearOperatorFullMatrix([[x, 1.0], [1, 3.0]]),
        lambda x: linalg.LinearOperatorComposition([DIAG([x, 2.0]), DIAG([1.0, 2.0])]),
        lambda x: DIAG([x + 1j, 2.0]),
        lambda x: linalg.LinearOperatorTridiag([[1.0, 0.0], [x, 2.0], [0.0, 1.0]]),
        lambda x: linalg.LinearOperatorTridiag([[1.0], [x, 2.0], [1.0]], "sequence"),
        lambda x: linalg.LinearOperatorTridiag(([1.0, 0.0], [x, 2.0], tf.ones([2])), "sequence"),
    ],
    ids=["diagonal", "scaled", "matrix", "composition", "complex", "compact", "sequence", "tuple"],
)
def test_operators_of_numbers_of_python_are_chosen_and_carried(make):
    @tf.function
    def chosen(flag):
        operator = make(3.0) if flag else make(4.0)
        return tf.cond(flag, lambda: make(5.0), lambda: operator).to_dense()

    @tf.function
    def carried(n):
        operator = make(3.0)
        for _ in tf.range(n):
            operator = make(4.0)
        return operator.to_dense()

    for k, (flag, n) in enumerate([(True, 0), (False, 2)]):
        np.testing.assert_array_equal(chosen(tf.constant(flag)), make((5.0, 4.0)[k]).to_dense())
        np.testing.assert_array_equal(carried(tf.constant(n)), make((3.0, 4.0)[k]).to_dense())
    product = tf.function(lambda operator: operator.to_dense())
    for x in (1.0, 2.0):
        np.testing.assert_array_equal(product(make(x)), make(x).to_dense())
    assert product.experimental_get_tracing_count() == 1


def test_an_operator_of_a_number_of_python_is_one_with_an_operator_of_a_tensor():
    chosen = tf.function(lambda flag: tf.cond(flag, lambda: DIAG(X), lambda: DIAG([5.0, 6.0])).diag_part())
    assert chosen(tf.constant(False)).numpy().tolist() == [5.0, 6.0]


def test_a_loop_carries_an_operator():
    @tf.function
    def doubled(n, x):
        operator = DIAG(x)
        for _ in tf.range(n):
            operator = DIAG(operator.diag_part() * 2.0)
        return operator

    for n in (0, 3):
        assert doubled(tf.constant(n), X).diag_part().numpy().tolist() == [2.0**n, 2.0 ** (n + 1)]


def test_operators_of_other_kinds_in_two_branches_are_refused():
    with pytest.raises(
        TypeError, match=r"(?s)LinearOperatorDiag\(float32\(2,\).*LinearOperatorScaledIdentity"
    ):
        tf.function(
            lambda flag: tf.cond(flag, lambda: DIAG(X), lambda: linalg.LinearOperatorScaledIdentity(2, X[0]))
        )(tf.constant(True))


@pytest.mark.parametrize(
    "made",
    [
        lambda a, b: linalg.LinearOperatorComposition([a, b]),
        lambda a, b: linalg.LinearOperatorKronecker([a, a]),
        lambda a, b: linalg.LinearOperatorBlockDiag([b, a]),
        lambda a, b: linalg.LinearOperatorLowRankUpdate(a, tf.ones([2, 1])),
        lambda a, b: a.adjoint(),
        lambda a, b: a.inverse(),
        lambda a, b: b.matmul(a),
    ],
)
def test_an_operator_of_arguments_that_were_given_as_lists(made):
    a = linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [1.0, 3.0]])
    b = linalg.LinearOperatorFullMatrix([[2.0, 5.0], [1.0, 3.0]])
    found, want = tf.function(made)(a, b), made(a, b)
    assert type(found) is type(want)
    np.testing.assert_allclose(found.to_dense(), want.to_dense(), rtol=1e-6)
    back = tf.function(lambda o: o)(want)
    np.testing.assert_allclose(back.to_dense(), want.to_dense(), rtol=1e-6)


NUMBERS = {
    "diagonal": lambda: DIAG([1.0, 2.0]),
    "matrix": lambda: linalg.LinearOperatorFullMatrix(np.array([[1.0, 2.0], [3.0, 4.0]])),
    "triangle": lambda: linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [3.0, 4.0]]),
    "scaled": lambda: linalg.LinearOperatorScaledIdentity(2, 3.0),
    "toeplitz": lambda: linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]),
    "circulant": lambda: linalg.LinearOperatorCirculant([1.0, 2.0], tf.float32),
    "compact": lambda: linalg.LinearOperatorTridiag([[1.0, 2.0], [5.0, 3.0], [1.0, 1.0]]),
    "sequence": lambda: linalg.LinearOperatorTridiag([[1.0], [5.0, 3.0], [4.0]], "sequence"),
    "update": lambda: linalg.LinearOperatorLowRankUpdate(DIAG([1.0, 2.0]), [[1.0], [2.0]], [3.0]),
    "kronecker": lambda: linalg.LinearOperatorKronecker([DIAG([1.0, 2.0]), DIAG([3.0, 5.0])]),
    "composition": lambda: linalg.LinearOperatorComposition([DIAG([1.0, 2.0]), DIAG([3.0, 5.0])]),
}


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
def test_a_tape_follows_an_operator_of_numbers(make):
    operator = make()

    def size(own):
        return tf.reduce_sum(own.to_dense() ** 3)

    with tf.GradientTape() as tape:
        tape.watch(operator)
        y = size(operator)
    slope = tape.gradient(y, operator)
    assert type(slope) is type(operator)
    parts, slopes = (tf.nest.flatten(x, expand_composites=True) for x in (operator, slope))
    again = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
    for k, (part, found) in enumerate(zip(parts, slopes, strict=True)):
        for place in np.ndindex(part.numpy().shape):
            step = np.zeros(part.shape, part.dtype.as_numpy_dtype)
            step[place] = 1e-2
            ends = []
            for sign in (1, -1):
                moved = [*parts[:k], part + sign * step, *parts[k + 1 :]]
                ends.append(size(tf.nest.pack_sequence_as(again, moved, expand_composites=True)).numpy())
            np.testing.assert_allclose((ends[0] - ends[1]) / 2e-2, found.numpy()[place], rtol=2e-2, atol=2e-2)


def test_the_gradient_of_an_axis_of_a_reflection():
    operator = linalg.LinearOperatorHouseholder(np.array([1.0, 2.0]))
    with tf.GradientTape() as tape:
        tape.watch(operator)
        y = tf.reduce_sum(operator.to_dense() ** 3)
    found = tape.gradient(y, operator).reflection_axis

    def size(v):
        return np.sum((np.eye(2) - 2 * np.outer(v, v) / (v @ v)) ** 3)

    v, h = np.array([1.0, 2.0]), 1e-6
    steps = h * np.eye(2)
    np.testing.assert_allclose(found, [(size(v + s) - size(v - s)) / (2 * h) for s in steps], rtol=1e-6)


def test_parts_of_an_operator_that_nothing_reads_have_no_gradient_or_zeros():
    a, b = DIAG([1.0, 2.0]), linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    both = linalg.LinearOperatorKronecker([a, b])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, b, both])
        y = tf.reduce_sum(a.to_dense() ** 2)
    first, second = tape.gradient(y, [a, b])
    assert second is None
    assert first.diag_part().numpy().tolist() == [2.0, 4.0]
    product = tape.gradient(y, both)
    assert product.operators[0].diag_part().numpy().tolist() == [2.0, 4.0]
    assert product.operators[1].to_dense().numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_tridiagonal_operator_tells_its_diagonals():
    operator = linalg.LinearOperatorTridiag([[1.0], [5.0, 3.0], [4.0]], diagonals_format="sequence")
    assert operator.diagonals_format == "sequence"
    assert [x.numpy().tolist() for x in operator.diagonals] == [[1.0], [5.0, 3.0], [4.0]]


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_a_step_of_a_loop_may_make_an_operator_of_the_parameters_of_the_one_before(run) -> None:
    made = [
        tf.linalg.LinearOperatorCirculant([1.0, 2.0]),
        tf.linalg.LinearOperatorCirculant2D([[1.0, 2.0]], name="own"),
        tf.linalg.LinearOperatorTridiag(np.ones([3, 2]), "compact"),
        tf.linalg.LinearOperatorHouseholder([1.0, 2.0]),
    ]
    for operator in made:

        def step(x):
            return (type(x)(**x.parameters),)

        def loop(operator=operator, step=step):
            return tf.while_loop(lambda _: True, step, (operator,), maximum_iterations=3)[0]

        np.testing.assert_array_equal(run(loop)().to_dense(), operator.to_dense())
