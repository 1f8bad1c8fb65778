"""Operators made of operators keep their structure; hints that contradict each other are refused; functions take operators.

Kinds, hints and errors are those of TensorFlow 2.21.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import graphad as tf

la = tf.linalg
FULL = [[1.0, 2.0], [3.0, 4.0]]
DEFINITE = {"is_self_adjoint": True, "is_positive_definite": True}
MAKERS: dict[str, Any] = {
    "Identity": lambda **k: la.LinearOperatorIdentity(2, **k),
    "ScaledIdentity": lambda **k: la.LinearOperatorScaledIdentity(2, 2.0, **k),
    "Zeros": lambda **k: la.LinearOperatorZeros(2, **k),
    "Diag": lambda **k: la.LinearOperatorDiag([1.0, 2.0], **k),
    "LowerTriangular": lambda **k: la.LinearOperatorLowerTriangular([[1.0, 7.0], [2.0, 3.0]], **k),
    "FullMatrix": lambda **k: la.LinearOperatorFullMatrix(FULL, **k),
    "Circulant": lambda **k: la.LinearOperatorCirculant([1.0, 2.0], tf.float32, **k),
    "Householder": lambda **k: la.LinearOperatorHouseholder([1.0, 2.0], **k),
    "Permutation": lambda **k: la.LinearOperatorPermutation([1, 0], **k),
    "Toeplitz": lambda **k: la.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0], **k),
    "Tridiag": lambda **k: la.LinearOperatorTridiag([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], **k),
    "BlockDiag": lambda **k: la.LinearOperatorBlockDiag(
        [la.LinearOperatorDiag([1.0], **DEFINITE), la.LinearOperatorFullMatrix([[2.0]], **DEFINITE)], **k
    ),
    "Kronecker": lambda **k: la.LinearOperatorKronecker(
        [la.LinearOperatorDiag([2.0], **DEFINITE), la.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]], **DEFINITE)], **k
    ),
    "LowRankUpdate": lambda **k: la.LinearOperatorLowRankUpdate(
        la.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True), [[1.0], [1.0]], **k
    ),
    "Composition": lambda **k: la.LinearOperatorComposition(
        [la.LinearOperatorFullMatrix(FULL, is_non_singular=True), la.LinearOperatorDiag([1.0, 2.0], is_non_singular=True)], **k
    ),
    "Inversion": lambda **k: la.LinearOperatorInversion(la.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]], **DEFINITE), **k),
    "Adjoint": lambda **k: la.LinearOperatorAdjoint(
        la.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]], is_non_singular=True, **DEFINITE), **k
    ),
}  # fmt: skip


def kind(x: Any) -> str:
    return type(x).__name__.removeprefix("LinearOperator")


# The kind of the product of an operator (first word of a row) with one of these; a composition where nothing is said.
PRODUCTS = """
ScaledIdentity: ScaledIdentity ScaledIdentity, Diag Diag
Diag: ScaledIdentity Diag, Diag Diag, LowerTriangular LowerTriangular
LowerTriangular: Diag LowerTriangular
Circulant: Circulant Circulant
BlockDiag: BlockDiag BlockDiag
"""
KNOWN = {
    (line.split(":")[0], pair.split()[0]): pair.split()[1]
    for line in PRODUCTS.strip().splitlines()
    for pair in line.split(":")[1].split(",")
}


@pytest.mark.parametrize("left", MAKERS)
@pytest.mark.parametrize("right", MAKERS)
def test_products_and_solutions_have_the_structure_of_the_result(left: str, right: str) -> None:
    a, b = MAKERS[left](), MAKERS[right]()
    wanted = KNOWN.get((left, right), "Composition")
    if "Zeros" in (left, right):
        wanted = "Zeros"
    elif "Identity" in (left, right):
        wanted = right if left == "Identity" else left
    product = a @ b
    assert kind(product) == wanted
    np.testing.assert_allclose(
        product.to_dense(), a.to_dense().numpy() @ b.to_dense().numpy(), rtol=1e-5, atol=1e-6
    )
    if left != "Zeros":
        solution = a.solve(b)
        dense = np.linalg.solve(a.to_dense(), b.to_dense())
        np.testing.assert_allclose(solution.to_dense(), dense, rtol=1e-4, atol=1e-5)
        if (left, right) in KNOWN and left != "LowerTriangular":
            assert kind(solution) == KNOWN[left, right]


def test_hints_of_products() -> None:
    known = {"is_non_singular": True, "is_self_adjoint": True, "is_positive_definite": True}
    a, b = la.LinearOperatorDiag([1.0, 2.0], **known), la.LinearOperatorDiag([3.0, 4.0], **known)
    for word in known:
        assert getattr(a @ b, word) is True and getattr(a @ la.LinearOperatorDiag([1.0, 0.0]), word) in (
            None,
            word == "is_self_adjoint",
        )
    assert (a @ la.LinearOperatorDiag([1.0, 0.0], is_non_singular=False)).is_non_singular is False
    assert (a @ MAKERS["LowerTriangular"](is_self_adjoint=True)).is_self_adjoint is None
    assert (la.LinearOperatorDiag([1j, 2.0]) @ la.LinearOperatorDiag([1j, 2.0])).is_self_adjoint is None


def test_an_identity_that_stacks_matrices_does_not_vanish() -> None:
    product = la.LinearOperatorIdentity(2, [3]) @ la.LinearOperatorDiag([1.0, 2.0])
    assert product.shape == (3, 2, 2) and product.to_dense().shape == (3, 2, 2)
    assert kind(la.LinearOperatorIdentity(2, [3]) @ la.LinearOperatorDiag(tf.ones([3, 2]))) == "Diag"
    zeros = la.LinearOperatorFullMatrix(tf.ones([3, 4, 2])) @ la.LinearOperatorZeros(2, 5)
    assert kind(zeros) == "Zeros" and zeros.shape == (3, 4, 5)
    assert la.LinearOperatorZeros(2, 3).H.shape == (3, 2)


@pytest.mark.parametrize(
    ("name", "inverse", "adjoint"),
    [
        ("Identity", "Identity", "Identity"), ("ScaledIdentity", "ScaledIdentity", "ScaledIdentity"),
        ("Diag", "Diag", "Diag"), ("LowerTriangular", "Inversion", "Adjoint"), ("FullMatrix", "Inversion", "Adjoint"),
        ("Circulant", "Circulant", "Circulant"), ("Householder", "Householder", "Householder"),
        ("Permutation", "Inversion", "Adjoint"), ("Toeplitz", "Inversion", "Adjoint"), ("Tridiag", "Inversion", "Adjoint"),
        ("BlockDiag", "BlockDiag", "BlockDiag"), ("Kronecker", "Kronecker", "Kronecker"),
        ("LowRankUpdate", "Inversion", "LowRankUpdate"), ("Composition", "Inversion", "Adjoint"),
        ("Inversion", "FullMatrix", "Inversion"), ("Adjoint", "Inversion", "FullMatrix"),
    ],
)  # fmt: skip
def test_kinds_of_inverses_and_adjoints(name: str, inverse: str, adjoint: str) -> None:
    operator = MAKERS[name]()
    assert (kind(operator.inverse()), kind(operator.H)) == (inverse, adjoint)
    np.testing.assert_allclose(
        operator.inverse().to_dense(), np.linalg.inv(operator.to_dense()), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(operator.H.to_dense(), operator.to_dense().numpy().T, rtol=1e-5)


def test_complex_operators_have_adjoints_of_their_kind() -> None:
    for operator in (
        la.LinearOperatorDiag([1j, 2.0]),
        la.LinearOperatorScaledIdentity(2, 1j),
        la.LinearOperatorCirculant(tf.constant([1j, 2.0])),
        la.LinearOperatorKronecker([la.LinearOperatorDiag([1j]), la.LinearOperatorFullMatrix([[1j, 2.0]])]),
        la.LinearOperatorBlockDiag(
            [la.LinearOperatorDiag([1j]), la.LinearOperatorFullMatrix([[1j, 2.0], [1.0, 0.0]])]
        ),
    ):
        assert type(operator.H) is type(operator)
        np.testing.assert_allclose(operator.H.to_dense(), operator.to_dense().numpy().conj().T)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: la.LinearOperatorIdentity(2), "Identity"),
        (lambda: la.LinearOperatorScaledIdentity(2, 4.0, is_positive_definite=True), "ScaledIdentity"),
        (lambda: la.LinearOperatorDiag([4.0, 9.0], is_positive_definite=True), "Diag"),
        (MAKERS["BlockDiag"], "BlockDiag"),
        (MAKERS["Kronecker"], "Kronecker"),
        (MAKERS["LowRankUpdate"], "LowerTriangular"),
        (
            lambda: la.LinearOperatorBlockDiag([la.LinearOperatorFullMatrix([[4.0]])], **DEFINITE),
            "LowerTriangular",
        ),
    ],
)
def test_factors_have_the_structure_of_the_operator(make: Any, wanted: str) -> None:
    factor = make().cholesky()
    assert kind(factor) == wanted
    np.testing.assert_allclose(factor.to_dense(), np.linalg.cholesky(make().to_dense()), rtol=1e-5, atol=1e-6)


# What is refused of is_non_singular, is_self_adjoint, is_positive_definite, is_square: T and F are the values that are.
REFUSED = """
Identity: F F F F
ScaledIdentity: - F - F
Zeros: T F T F
Diag: - F - F
LowerTriangular: - - - F
Circulant: - F - F
Householder: F F T F
Permutation: F - - F
Toeplitz: - - - F
Tridiag: - - - F
BlockDiag: F F F F
Kronecker: F F F F
LowRankUpdate: F F F F
Composition: F - - F
Inversion: F F F F
Adjoint: F F F F
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_hints_that_contradict_the_kind_are_refused(row: str) -> None:
    name, marks = row.split(":")
    words = "is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"
    for word, mark in zip(words, marks.split(), strict=True):
        for value in (True, False):
            if mark == str(value)[0]:
                with pytest.raises(tf.errors.InvalidArgumentError, match=f"{word} is {value}"):
                    MAKERS[name](**{word: value})
            elif mark != "-":
                assert getattr(MAKERS[name](**{word: value}), word) is value


def test_hints_that_contradict_each_other_are_refused() -> None:
    for hints in (
        {"is_positive_definite": True, "is_non_singular": False},
        {"is_positive_definite": True, "is_square": False},
        {"is_non_singular": True, "is_square": False},
        {"is_self_adjoint": True, "is_square": False},
    ):
        with pytest.raises(ValueError, match=r"FullMatrix: is_.* is False"):
            la.LinearOperatorFullMatrix(FULL, **hints)
    with pytest.raises(ValueError, match="is_square is False; it has 2 rows and columns"):
        _ = la.LinearOperatorFullMatrix(FULL, is_square=False).is_square
    with pytest.raises(ValueError, match="only a square matrix has an inverse"):
        la.LinearOperatorInversion(la.LinearOperatorFullMatrix([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="square matrices are needed"):
        la.LinearOperatorLowerTriangular([[1.0, 2.0]])


def test_results_that_do_not_exist_are_not_implemented() -> None:
    wide = la.LinearOperatorFullMatrix([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    for call in (
        wide.determinant,
        wide.log_abs_determinant,
        lambda: wide.solve([[1.0], [2.0]]),
        lambda: wide.solvevec([1.0, 2.0]),
        lambda: la.LinearOperatorZeros(2).solve([[1.0], [2.0]]),
        lambda: la.LinearOperatorZeros(2).solve(MAKERS["Diag"]()),
        MAKERS["FullMatrix"]().eigvals,
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_eigenvalues_come_in_the_order_of_the_elements() -> None:
    diag = la.LinearOperatorDiag([3.0, 1.0])
    for operator, wanted in (
        (diag, [3.0, 1.0]),
        (la.LinearOperatorScaledIdentity(2, 3.0), [3.0, 3.0]),
        (la.LinearOperatorCirculant([3.0, 1.0]), [3.0, 1.0]),
        (la.LinearOperatorKronecker([diag, la.LinearOperatorDiag([2.0, 5.0, 1.0])]), [6.0, 15.0, 3.0, 2.0, 5.0, 1.0]),
        (la.LinearOperatorBlockDiag([diag, la.LinearOperatorDiag([2.0])]), [3.0, 1.0, 2.0]),
        (la.LinearOperatorInversion(la.LinearOperatorDiag([4.0, 2.0])), [0.25, 0.5]),
        (la.LinearOperatorLowerTriangular([[3.0, 0.0], [0.0, 1.0]], is_self_adjoint=True), [3.0, 1.0]),
        (la.LinearOperatorBlockDiag([la.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]])], is_self_adjoint=True), [1.0, 3.0]),
    ):  # fmt: skip
        found = operator.eigvals()
        assert found.dtype == operator.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_functions_take_operators(run: Any) -> None:
    operator, dense = MAKERS["FullMatrix"](), np.array(FULL, "float32")
    x = np.array([[1.0, -1.0], [2.0, 0.5]], "float32")
    inverse = np.linalg.inv(dense)
    pairs = [
        (lambda: tf.matmul(operator, x), dense @ x),
        (lambda: tf.linalg.matmul(operator, x, adjoint_a=True), dense.T @ x),
        (lambda: tf.matmul(operator, x, adjoint_b=True), dense @ x.T),
        (lambda: tf.matmul(x, operator), x @ dense),
        (lambda: tf.matmul(tf.constant(x), operator), x @ dense),
        (lambda: tf.matmul(x, operator, adjoint_a=True, adjoint_b=True), x.T @ dense.T),
        (lambda: tf.constant(x) @ operator, x @ dense),
        (lambda: x @ operator, x @ dense),
        (lambda: operator @ tf.constant(x), dense @ x),
        (lambda: la.matvec(operator, x[0]), dense @ x[0]),
        (lambda: la.matvec(operator, x[0], adjoint_a=True), dense.T @ x[0]),
        (lambda: la.solve(operator, x), inverse @ x),
        (lambda: la.solve(operator, x, adjoint=True), inverse.T @ x),
        (lambda: la.inv(operator).to_dense(), inverse),
        (lambda: la.inv(operator, adjoint=True).to_dense(), inverse.T),
        (lambda: la.adjoint(operator).to_dense(), dense.T),
        (lambda: la.cholesky(la.LinearOperatorDiag([4.0], is_positive_definite=True)).to_dense(), [[2.0]]),
        (lambda: la.logdet(la.LinearOperatorDiag([4.0], is_positive_definite=True)), np.log(4.0)),
        (lambda: la.det(operator), -2.0),
        (lambda: la.trace(operator), 5.0),
        (lambda: la.diag_part(operator), [1.0, 4.0]),
        (lambda: tf.matmul(operator, operator).to_dense(), dense @ dense),
        (lambda: la.solve(operator, operator).to_dense(), np.eye(2)),
    ]
    for call, wanted in pairs:
        np.testing.assert_allclose(run(call)(), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="has an adjoint and no transpose"):
        tf.matmul(operator, x, transpose_a=True)
    with pytest.raises(ValueError, match=r"logdet: the operator is .* is_self_adjoint=True"):
        la.logdet(operator)


def test_dtypes_that_differ_are_type_errors() -> None:
    other = la.LinearOperatorFullMatrix(np.ones((2, 2)))
    for call in (
        lambda: MAKERS["FullMatrix"]() @ other,
        lambda: MAKERS["Diag"]() @ other,
        lambda: la.LinearOperatorComposition([MAKERS["Diag"](), other]),
        lambda: la.LinearOperatorBlockDiag([MAKERS["Diag"](), other]),
        lambda: la.LinearOperatorKronecker([MAKERS["Diag"](), other]),
        lambda: la.LinearOperatorBlockLowerTriangular([[MAKERS["Diag"]()], [MAKERS["Diag"](), other]]),
        lambda: la.LinearOperatorFullMatrix([[1, 2], [3, 4]]),
        lambda: la.LinearOperatorPermutation([0.0, 1.0]),
        lambda: MAKERS["Diag"]().matmul(tf.ones([2, 2], "float64")),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match=r"matmul: .*\(2, 2\).*\(3, 3\)"):
        la.matmul(MAKERS["Diag"](), la.LinearOperatorDiag([1.0, 2.0, 3.0]))


def test_what_is_no_size_is_refused() -> None:
    for make in (
        la.LinearOperatorIdentity,
        la.LinearOperatorZeros,
        lambda n: la.LinearOperatorScaledIdentity(n, 1.0),
    ):
        for wrong, kind_, words in (
            (2.0, TypeError, "integer"), (tf.Variable(2), TypeError, "variable"), ([2], ValueError, "scalar"),
            (-2, ValueError, "0 or more"), (None, ValueError, "None"),
        ):  # fmt: skip
            with pytest.raises(kind_, match=words):
                make(wrong)
    for make in (la.LinearOperatorIdentity, la.LinearOperatorZeros):
        for wrong, kind_, words in (
            (2, ValueError, "vector"), ([2.0], TypeError, "integer"), ([-2], ValueError, "0 or more"),
            (tf.Variable([2]), TypeError, "variable"), (tf.constant([1.5]), TypeError, "integers"),
        ):  # fmt: skip
            with pytest.raises(kind_, match=words):
                make(2, batch_shape=wrong)
        assert make(tf.constant(2), batch_shape=tf.constant([3])).shape == (3, 2, 2)
        assert make(np.int64(2), batch_shape=tf.TensorShape([3])).shape == (3, 2, 2)


def test_sizes_may_be_known_only_at_run_time() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None, None])])
    def results(n: Any, x: Any) -> Any:
        one = la.LinearOperatorIdentity(n, batch_shape=[2], assert_proper_shapes=True)
        plain = la.LinearOperatorIdentity(n, assert_proper_shapes=True)
        two = la.LinearOperatorScaledIdentity(n, [2.0, 3.0])
        none = la.LinearOperatorZeros(n, n + 1)
        assert one.shape.as_list() == [2, None, None] and none.shape.as_list() == [None, None]
        return (
            one.matmul(x), plain.matmul(x), two.matmul(x), two.solve(x), two.to_dense(), two.diag_part(), two.trace(),
            two.determinant(), one.shape_tensor(), one.batch_shape_tensor(), none.shape_tensor(), none.to_dense(),
            none.range_dimension_tensor(), plain.log_abs_determinant(),
        )  # fmt: skip

    x = np.arange(6.0, dtype="float32").reshape(3, 2)
    scales = np.array([2.0, 3.0], "float32")[:, None, None]
    wanted = (
        np.stack([x, x]), x, scales * x, x / scales, scales * np.eye(3), scales[..., 0] * np.ones(3), [6.0, 9.0],
        [8.0, 27.0], [2, 3, 3], [2], [3, 4], np.zeros((3, 4)), 3, 0.0,
    )  # fmt: skip
    for found, value in zip(results(3, x), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-6)
    with pytest.raises(ValueError, match="other rows"):
        results(4, x)


def test_the_shape_of_an_identity_is_told_without_making_ones(monkeypatch: Any) -> None:
    def unasked(*args: Any) -> Any:
        raise AssertionError("ones were made")

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def sizes(n: Any) -> Any:
        operator = la.LinearOperatorIdentity(n, batch_shape=[n, 2])
        assert operator.shape.as_list() == [None, 2, None, None] and operator.is_square
        return operator.shape_tensor()

    monkeypatch.setattr(importlib.import_module("graphad.ops.linalg.identities"), "ones", unasked)
    np.testing.assert_array_equal(sizes(3), [3, 2, 3, 3])
    assert la.LinearOperatorIdentity(2, [3]).shape == (3, 2, 2)


def test_permutations_are_checked_and_stacked() -> None:
    perm = np.array([[2, 0, 1], [0, 2, 1]])
    operator = la.LinearOperatorPermutation(perm)
    x = np.arange(12.0, dtype="float32").reshape(2, 3, 2)
    assert operator.shape == (2, 3, 3)
    dense = operator.to_dense().numpy()
    np.testing.assert_allclose(operator.matmul(x), np.take_along_axis(x, perm[..., None], 1))
    np.testing.assert_allclose(operator.solve(x), np.linalg.solve(dense, x))
    np.testing.assert_allclose(
        operator.matvec(x[0, :, 0], adjoint=True), np.swapaxes(dense, 1, 2) @ x[0, :, 0]
    )
    for wrong in ([1, 1], [1, 3], [-1, 0]):
        with pytest.raises(ValueError, match="must hold each number from 0 to 1 once"):
            la.LinearOperatorPermutation(wrong)


def test_shapes_of_updates_are_checked_when_they_are_made() -> None:
    base = la.LinearOperatorDiag(np.ones((2, 3), "float32"))
    u = np.ones((2, 3, 2), "float32")
    make = la.LinearOperatorLowRankUpdate
    for call in (
        lambda: make(base, np.ones((4, 3, 2), "float32")),
        lambda: make(base, np.ones((2, 4, 2), "float32")),
        lambda: make(base, u, v=np.ones((2, 4, 2), "float32")),
        lambda: make(base, u, v=np.ones((5, 3, 2), "float32")),
        lambda: make(base, u, diag_update=np.ones(3, "float32")),
        lambda: make(base, u, diag_update=np.ones((5, 2), "float32")),
    ):
        with pytest.raises(ValueError, match="LinearOperatorLowRankUpdate: "):
            call()
    operator = make(base, u, diag_update=np.ones((4, 2, 2), "float32"))
    assert operator.shape == (4, 2, 3, 3) and operator.to_dense().shape == (4, 2, 3, 3)
    plain = make(base, u)
    assert kind(plain.diag_operator) == "Identity" and plain.is_diag_update_positive


def test_operators_that_depend_on_nothing_else_are_of_no_other_kind() -> None:
    identity = la.LinearOperatorIdentity(2)
    assert not isinstance(identity, la.LinearOperatorDiag | la.LinearOperatorScaledIdentity)
    assert not isinstance(la.LinearOperatorScaledIdentity(2, 1.0), la.LinearOperatorDiag)
    infinite = np.full((2, 1), np.inf, "float32")
    np.testing.assert_array_equal(la.LinearOperatorZeros(2).matmul(infinite), np.zeros((2, 1)))


def test_a_product_with_its_own_adjoint_is_positive_definite():
    x, y = (
        tf.linalg.LinearOperatorFullMatrix([[11.0, 0.0], [1.0, k]], is_non_singular=True) for k in (8.0, 3.0)
    )
    for parts in ([x, x.H], [x.H, x], [x, y, y.H, x.H]):
        product = tf.linalg.LinearOperatorComposition(parts)
        assert product.is_self_adjoint
        assert product.is_positive_definite
        for hint in ("is_self_adjoint", "is_positive_definite", "is_non_singular"):
            with pytest.raises(ValueError, match=hint):
                tf.linalg.LinearOperatorComposition(parts, **{hint: False})
    maybe = tf.linalg.LinearOperatorFullMatrix([[1.0, 0.0], [1.0, 0.0]])
    product = tf.linalg.LinearOperatorComposition([maybe, maybe.H])
    assert (product.is_self_adjoint, product.is_positive_definite) == (True, None)
    for parts in ([x, y], [x, y.H], [x, y, x.H], [x, y, x.H, y.H]):
        assert tf.linalg.LinearOperatorComposition(parts).is_self_adjoint is None
