"""Every operator does what its dense matrix does: products, systems, determinants, adjoints, inverses, derivatives, stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

la = tf.linalg
RNG = np.random.default_rng(0)


def real(*shape: int) -> Any:
    return tf.constant(RNG.uniform(-1, 1, shape))


def regular(*shape: int) -> Any:
    return tf.constant(RNG.uniform(-1, 1, shape) + 3 * np.eye(shape[-1]))


def spectra(rank: int, *shape: int) -> Any:
    """Of signals of so many axes."""
    kernel = RNG.uniform(-1, 1, shape)
    kernel[..., 0, 0] += 4.0
    return tf.constant(np.fft.fftn(kernel, axes=range(-rank, 0)))


A, B, D = regular(4, 4), regular(2, 3, 3), tf.constant([2.0, -1.5, 3.0, 1.0], "float64")
SPECTRUM = tf.constant(np.fft.fft([4.0, 1.0, 0.5, -1.0]))
COMPLEX = tf.constant(RNG.uniform(-1, 1, (3, 3)) + 1j * RNG.uniform(-1, 1, (3, 3)) + 3 * np.eye(3))
FULL = la.LinearOperatorFullMatrix
OPERATORS: dict[str, Callable[[], Any]] = {
    "full": lambda: FULL(A),
    "full stacked": lambda: FULL(B),
    "full complex": lambda: FULL(COMPLEX),
    "definite": lambda: FULL(A @ tf.transpose(A), is_self_adjoint=True, is_positive_definite=True),
    "lower": lambda: la.LinearOperatorLowerTriangular(A),
    "diagonal": lambda: la.LinearOperatorDiag(D),
    "diagonal complex": lambda: la.LinearOperatorDiag(tf.cast(D, "complex128") * (1 + 0.5j)),
    "scaled": lambda: la.LinearOperatorScaledIdentity(3, tf.constant([2.0, 0.5], "float64")),
    "identity": lambda: la.LinearOperatorIdentity(3, dtype="float64"),
    "identities": lambda: la.LinearOperatorIdentity(3, [2], dtype="float64"),
    "tridiagonal": lambda: la.LinearOperatorTridiag(real(3, 4) + np.array([[0.0], [4.0], [0.0]])),
    "reflection": lambda: la.LinearOperatorHouseholder(real(2, 4)),
    "permutation": lambda: la.LinearOperatorPermutation([2, 0, 1, 3], "float64"),
    "toeplitz": lambda: la.LinearOperatorToeplitz([4.0, 1.0, -1.0], tf.constant([4.0, 0.5, 2.0])),
    "circulant": lambda: la.LinearOperatorCirculant(SPECTRUM, "complex128"),
    "circulant real": lambda: la.LinearOperatorCirculant(SPECTRUM, "float64"),
    "circulant blocks": lambda: la.LinearOperatorCirculant2D(spectra(2, 2, 2, 3), "float64"),
    "circulant blocks complex": lambda: la.LinearOperatorCirculant2D(spectra(2, 2, 3) + 1j, "complex128"),
    "nested circulant blocks": lambda: la.LinearOperatorCirculant3D(spectra(3, 2, 1, 3), "float64"),
    "adjoint": lambda: la.LinearOperatorAdjoint(FULL(COMPLEX)),
    "inverse": lambda: la.LinearOperatorInversion(FULL(A)),
    "product": lambda: la.LinearOperatorComposition([FULL(A), la.LinearOperatorDiag(D), la.LinearOperatorLowerTriangular(A)]),
    "blocks": lambda: la.LinearOperatorBlockDiag([FULL(B), la.LinearOperatorDiag(D)]),
    "lower blocks": lambda: la.LinearOperatorBlockLowerTriangular(
        [[FULL(B)], [FULL(real(4, 3)), la.LinearOperatorDiag(D)], [FULL(real(2, 2, 3)), FULL(real(2, 4)), FULL(regular(2, 2))]]
    ),
    "lower blocks complex": lambda: la.LinearOperatorBlockLowerTriangular(
        [[FULL(COMPLEX)], [FULL(tf.cast(real(2, 3), "complex128")), FULL(tf.cast(regular(2, 2), "complex128"))]]
    ),
    "kronecker": lambda: la.LinearOperatorKronecker([FULL(B), FULL(regular(2, 2)), la.LinearOperatorDiag(D)]),
    "updated": lambda: la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(D), real(4, 2), [0.5, -0.25], real(4, 2)),
    "raised": lambda: la.LinearOperatorLowRankUpdate(
        la.LinearOperatorDiag(tf.abs(D), is_positive_definite=True), real(4, 1)
    ),
}  # fmt: skip
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(params=list(OPERATORS))
def operator(request: Any) -> Any:
    return OPERATORS[request.param]()


def _dense(operator: Any) -> np.ndarray:
    return np.asarray(operator.to_dense())


def test_products_and_systems_are_those_of_the_matrix(operator: Any) -> None:
    full = _dense(operator)
    assert full.shape == operator.shape and full.dtype == operator.dtype.as_numpy_dtype
    x = RNG.uniform(-1, 1, (full.shape[-1], 2)).astype(full.dtype)
    for adjoint in (False, True):
        own = np.conj(np.swapaxes(full, -1, -2)) if adjoint else full
        np.testing.assert_allclose(operator.matmul(x, adjoint=adjoint), own @ x, **TOLERANCE)
        np.testing.assert_allclose(operator.solve(x, adjoint=adjoint), np.linalg.solve(own, x), **TOLERANCE)
        np.testing.assert_allclose(operator.matvec(x[:, 0], adjoint=adjoint), own @ x[:, 0], **TOLERANCE)
    np.testing.assert_allclose(operator.matmul(x.T, adjoint_arg=True), full @ np.conj(x), **TOLERANCE)
    np.testing.assert_allclose(
        operator.solvevec(x[:, 0]), np.linalg.solve(full, x[:, :1])[..., 0], **TOLERANCE
    )


def test_numbers_are_those_of_the_matrix(operator: Any) -> None:
    full = _dense(operator)
    for found, wanted in (
        (operator.determinant(), np.linalg.det(full)),
        (operator.log_abs_determinant(), np.log(np.abs(np.linalg.det(full)))),
        (operator.trace(), np.trace(full, axis1=-2, axis2=-1)),
        (operator.diag_part(), np.diagonal(full, axis1=-2, axis2=-1)),
        (operator.cond(), np.linalg.cond(full)),
        (operator.add_to_tensor(np.ones_like(full)), full + 1),
        (operator.shape_tensor(), full.shape),
    ):
        np.testing.assert_allclose(found, wanted, **TOLERANCE)
    operator.assert_non_singular()


def test_operators_of_operators_are_those_of_matrices(operator: Any) -> None:
    full = _dense(operator)
    np.testing.assert_allclose(_dense(operator.H), np.conj(np.swapaxes(full, -1, -2)), **TOLERANCE)
    np.testing.assert_allclose(_dense(operator.inverse()), np.linalg.inv(full), **TOLERANCE)
    np.testing.assert_allclose(_dense(operator.inverse().inverse()), full, **TOLERANCE)
    np.testing.assert_allclose(
        _dense(operator @ operator.H), full @ np.conj(np.swapaxes(full, -1, -2)), **TOLERANCE
    )
    np.testing.assert_allclose(
        _dense(operator.solve(operator)), full * 0 + np.eye(full.shape[-1]), **TOLERANCE
    )


def test_derivatives_go_through_operators_at_once_and_traced() -> None:
    u, d = real(4, 2), tf.constant([1.0, 2.0, 3.0, 4.0], "float64")

    def value(u: Any, d: Any) -> Any:
        operator = la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(d, is_positive_definite=True), u)
        return operator.log_abs_determinant() + tf.reduce_sum(operator.solvevec(tf.ones([4], "float64")) ** 2)

    def dense(u: Any, d: Any) -> Any:
        full = la.diag(d) + u @ tf.transpose(u)
        return la.slogdet(full)[1] + tf.reduce_sum(la.solve(full, tf.ones([4, 1], "float64")) ** 2)

    found, wanted = tf.grad(value, (0, 1))(u, d), tf.grad(dense, (0, 1))(u, d)
    traced = tf.function(lambda u, d: tf.grad(value, (0, 1))(u, d))(u, d)
    for x, y, z in zip(found, wanted, traced, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)
        np.testing.assert_allclose(z, y, rtol=1e-9)


def test_factors_and_eigenvalues_of_what_is_definite() -> None:
    operator = OPERATORS["definite"]()
    np.testing.assert_allclose(operator.eigvals(), np.linalg.eigvalsh(_dense(operator)))
    np.testing.assert_allclose(_dense(operator.cholesky()), np.linalg.cholesky(_dense(operator)))
    operator.assert_positive_definite()
    with pytest.raises(ValueError, match="not positive definite"):
        FULL(-A).assert_positive_definite()
    with pytest.raises(ValueError, match="not self-adjoint"):
        FULL(A).assert_self_adjoint()
    with pytest.raises(ValueError, match="is_self_adjoint=True"):
        FULL(A).eigvals()


def test_conjugate_gradients_solve_and_are_differentiated() -> None:
    full = A @ tf.transpose(A)
    operator = FULL(full, is_self_adjoint=True, is_positive_definite=True)
    b = real(2, 4)
    near = la.LinearOperatorDiag(1.0 / la.diag_part(full), is_positive_definite=True)
    for preconditioner in (None, near):
        found = la.experimental.conjugate_gradient(operator, b, preconditioner, tol=1e-10)
        np.testing.assert_allclose(
            found.x, np.linalg.solve(full, np.asarray(b)[..., None])[..., 0], rtol=1e-6
        )
        assert 0 < int(found.i) <= 20
    with pytest.raises(ValueError, match="conjugate_gradient: operator"):
        la.experimental.conjugate_gradient(FULL(A), b)


@pytest.mark.parametrize("kind", ["blocks", "lower blocks", "lower blocks complex"])
@pytest.mark.parametrize("adjoint", [False, True])
def test_a_list_of_blocks_gives_a_list_of_blocks(kind: str, adjoint: bool) -> None:
    operator = OPERATORS[kind]()
    sizes = [op.dims[-1] for op in operator.diagonal]
    x = real(sum(sizes), 2)
    x = tf.cast(x, operator.dtype)
    blocks = tf.split(x, sizes)
    columns = [block[:, 0] for block in blocks]
    rows = [tf.linalg.adjoint(block) for block in blocks]
    for wanted, found in (
        (operator.matmul(x, adjoint=adjoint), operator.matmul(blocks, adjoint=adjoint)),
        (operator.solve(x, adjoint=adjoint), operator.solve(blocks, adjoint=adjoint)),
        (operator.matmul(x, adjoint=adjoint), operator.matmul(rows, adjoint=adjoint, adjoint_arg=True)),
        (operator.solve(x, adjoint=adjoint), operator.solve(rows, adjoint=adjoint, adjoint_arg=True)),
        (operator.solve(x), operator.inverse().matmul(blocks)),
        (operator.matmul(x), operator @ blocks),
    ):
        assert isinstance(found, list) and [part.shape[-2] for part in found] == sizes
        lead = wanted.shape[:-2]
        parts = [tf.broadcast_to(part, [*lead, *part.shape[-2:]]) for part in found]
        np.testing.assert_allclose(tf.concat(parts, -2), wanted, **TOLERANCE)
    for wanted, found in (
        (operator.matvec(x[:, 0], adjoint=adjoint), operator.matvec(columns, adjoint=adjoint)),
        (operator.solvevec(x[:, 0], adjoint=adjoint), operator.solvevec(columns, adjoint=adjoint)),
    ):
        parts = [tf.broadcast_to(part, [*wanted.shape[:-1], part.shape[-1]]) for part in found]
        np.testing.assert_allclose(tf.concat(parts, -1), wanted, **TOLERANCE)


def test_derivatives_of_solutions_with_lower_blocks_are_those_of_the_dense_matrix() -> None:
    a, b, c, right = regular(2, 2), real(3, 2), regular(3, 3), real(5, 1)

    def of_blocks(a: Any, b: Any, c: Any) -> Any:
        operator = la.LinearOperatorBlockLowerTriangular([[FULL(a)], [FULL(b), FULL(c)]])
        return tf.reduce_sum(operator.solve(right) ** 2) + operator.log_abs_determinant()

    def dense(a: Any, b: Any, c: Any) -> Any:
        full = tf.concat([tf.concat([a, tf.zeros([2, 3], "float64")], 1), tf.concat([b, c], 1)], 0)
        return tf.reduce_sum(la.solve(full, right) ** 2) + la.slogdet(full)[1]

    for wanted, found in zip(
        tf.grad(dense, (0, 1, 2))(a, b, c), tf.grad(of_blocks, (0, 1, 2))(a, b, c), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FULL(A).matmul(np.ones((3, 2))), "LinearOperatorFullMatrix.matmul: the shape is .*4 rows"),
        (lambda: FULL(real(3, 4)).solve(np.ones((3, 2))), "a square matrix is needed"),
        (lambda: la.LinearOperatorComposition([]), "a list of operators"),
        (lambda: la.LinearOperatorComposition([FULL(A), FULL(B)]), "the inner sizes must be equal"),
        (lambda: la.LinearOperatorBlockDiag([FULL(A), FULL(COMPLEX)]), "dtypes complex128, float64"),
        (lambda: la.LinearOperatorBlockLowerTriangular([]), "a list of lists of operators is needed"),
        (
            lambda: la.LinearOperatorBlockLowerTriangular([[FULL(A)], [FULL(A)]]),
            r"operators\[1\] has 1 blocks.* must have 2",
        ),
        (
            lambda: la.LinearOperatorBlockLowerTriangular(
                [[FULL(A)], [FULL(real(3, 3)), FULL(regular(3, 3))]]
            ),
            r"operators\[1\]\[0\] has shape \(3, 3\).*must have shape \(3, 4\)",
        ),
        (lambda: la.LinearOperatorBlockLowerTriangular([[FULL(real(3, 4))]]), "operators.*has shape"),
        (lambda: la.LinearOperatorBlockLowerTriangular([[FULL(A)]], is_square=False), "the matrix is square"),
        (
            lambda: la.LinearOperatorBlockDiag([FULL(A), FULL(regular(2, 2))]).matmul(
                [real(2, 1), real(4, 1)]
            ),
            r"LinearOperatorBlockDiag.matmul: .*sizes \[2, 4\]; they must be \[4, 2\]",
        ),
        (lambda: la.LinearOperatorZeros(3).inverse(), "the operator has the hint is_non_singular=False"),
        (lambda: la.LinearOperatorPermutation([0.5]), "integers are needed"),
        (lambda: FULL(A, is_non_singular=False, is_positive_definite=True), "a positive definite matrix"),
        (lambda: la.LinearOperatorDiag([1.0, 0.0]).assert_non_singular(), "the diagonal holds a 0"),
    ],
)
def test_wrong_operators_are_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.linalg.LinearOperatorHouseholder(x),
        lambda x: tf.linalg.LinearOperatorCirculant(tf.complex(x, x)),
        lambda x: tf.linalg.LinearOperatorInversion(tf.linalg.LinearOperatorDiag(x)),
        lambda x: tf.linalg.LinearOperatorAdjoint(tf.linalg.LinearOperatorHouseholder(x)),
        lambda x: tf.linalg.LinearOperatorComposition(
            [tf.linalg.LinearOperatorDiag(x), tf.linalg.LinearOperatorHouseholder(x)]
        ),
        lambda x: tf.linalg.LinearOperatorLowRankUpdate(tf.linalg.LinearOperatorDiag(x), x[..., tf.newaxis]),
    ],
)
def test_a_stack_of_unknown_size_is_a_stack_of_matrices(make):
    x = tf.constant([[1.0, 2.0, 3.0], [0.5, 4.0, 1.0]])

    def both(x):
        operator = make(x)
        return operator.to_dense(), operator.diag_part(), operator.trace()

    unknown = tf.function(both, input_signature=[tf.TensorSpec([None, 3])])
    for got, want in zip(unknown(x), both(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_how_many_columns_a_matrix_has_must_be_known():
    f = tf.function(
        lambda x: tf.linalg.LinearOperatorHouseholder(x).to_dense(), input_signature=[tf.TensorSpec([None])]
    )
    with pytest.raises(ValueError, match="the number of columns must be known"):
        f(tf.constant([1.0, 2.0]))


# What TensorFlow gives for the spectrum of cos(k^2), k = 0 to 5, as a signal of this shape.
AS_TENSORFLOW = {
    "matvec": [
        -1.261038134238,
        -0.756580823027,
        -1.158023150363,
        0.856056604181,
        1.360513915392,
        0.959071588056,
    ],
    "solvevec": [
        -0.116046886498,
        -1.020185225389,
        0.115966008154,
        0.56413051599,
        -0.3400078229,
        0.796143410642,
    ],
    "numbers": [0.08063044251, 6.0],
    "slope": [0j, 0.0824119871 + 0.4184171201j, 0.0824119871 - 0.4184171201j, 7.6215410583, 0j, 0j],
}


@pytest.mark.parametrize(
    ("name", "shape"), [("LinearOperatorCirculant2D", (2, 3)), ("LinearOperatorCirculant3D", (2, 1, 3))]
)
def test_circulant_blocks_are_those_of_tensorflow(name: str, shape: tuple[int, ...]) -> None:
    make = getattr(la, name)
    spectrum = tf.constant(np.fft.fftn(np.cos(np.arange(6.0) ** 2).reshape(shape)))
    operator, x = make(spectrum, tf.float64), np.linspace(-1.0, 1.0, 6)
    np.testing.assert_allclose(operator.matvec(x), AS_TENSORFLOW["matvec"], rtol=1e-10)
    np.testing.assert_allclose(operator.solvevec(x), AS_TENSORFLOW["solvevec"], rtol=1e-9)
    found = [operator.determinant(), operator.trace()]
    np.testing.assert_allclose(found, AS_TENSORFLOW["numbers"], rtol=1e-9)
    value = lambda s: tf.reduce_sum(make(s, tf.float64).matvec(x) ** 2)  # noqa: E731
    for slope in (tf.grad(value), tf.function(tf.grad(value))):
        np.testing.assert_allclose(np.ravel(slope(spectrum)), AS_TENSORFLOW["slope"], atol=1e-9)
    assert operator.block_depth == len(shape) and operator.block_shape == shape and operator.shape == (6, 6)
    np.testing.assert_allclose(operator.convolution_kernel(), np.cos(np.arange(6.0) ** 2).reshape(shape))
    operator.assert_hermitian_spectrum()
    with pytest.raises(ValueError, match="not real"):
        make(spectrum * 1j, tf.float64).assert_hermitian_spectrum()
    with pytest.raises(ValueError, match="holds a 0"):
        make(spectrum * 0, tf.float64).assert_non_singular()
    with pytest.raises(ValueError, match="is_self_adjoint is False"):
        make(tf.math.real(spectrum), is_self_adjoint=False)


@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_circulant_operators_are_definite_if_all_of_their_spectrum_is_positive(dtype: str) -> None:
    for spectrum, is_definite in (
        ([6.0, 4.0, 3.0, 4.0], True),
        ([6.0, 0.0, 3.0, 0.0], False),
        ([6.0, 1.0, -3.0, 1.0], False),
    ):
        operators = [
            la.LinearOperatorCirculant(spectrum, dtype),
            la.LinearOperatorCirculant(tf.cast(spectrum, "complex128"), dtype),
        ]
        for operator in operators:
            if is_definite:
                operator.assert_positive_definite()
            elif dtype == "complex128" or -3.0 in spectrum:  # real ones are known but for rounding
                with pytest.raises(ValueError, match="not positive definite"):
                    operator.assert_positive_definite()
    blocks = la.LinearOperatorCirculant2D(tf.constant([[6.0 + 0j, 4.0], [2j, 3.0]]), "complex128")
    with pytest.raises(ValueError, match="not positive definite"):
        blocks.assert_positive_definite()


def test_eigenvalues_have_the_dtype_of_the_operator() -> None:
    a = np.array([[2.0, 1j], [-1j, 3.0]])
    want = np.linalg.eigvalsh(a)
    found = [la.eigh(a)[0], la.eigvalsh(a), la.LinearOperatorFullMatrix(a, is_self_adjoint=True).eigvals()]
    for values in found:
        assert values.dtype == tf.complex128
        np.testing.assert_allclose(values, want)
    values, vectors = la.eigh(a)
    np.testing.assert_allclose(vectors @ la.diag(values) @ la.adjoint(vectors), a, atol=1e-12)
    assert tf.numpy.linalg.eigh(a)[0].dtype == tf.numpy.linalg.eigvalsh(a).dtype == tf.float64
    assert la.eigh_tridiagonal(tf.constant([2.0 + 0j, 3.0]), tf.constant([1j])).dtype == tf.float64


def test_the_columns_of_circulant_blocks_are_turned_images() -> None:
    image = np.arange(6.0).reshape(2, 3)
    full = _dense(la.LinearOperatorCirculant2D(np.fft.fft2(image), "float64"))
    for k in range(6):
        turned = np.roll(image, (k // 3, k % 3), (0, 1))
        np.testing.assert_allclose(full[:, k], turned.ravel(), atol=1e-12)


class _Arrow(tf.linalg.LinearOperator):
    """diag(d) + u u^H, of which only the two vectors are kept."""

    def __init__(self, d: Any, u: Any, calls: list[str]) -> None:
        self.d, self.u, self.calls = d, u, calls
        super().__init__(dtype=d.dtype, is_self_adjoint=True, is_positive_definite=True)

    def _shape(self) -> Any:
        return [self.d.shape[0], self.d.shape[0]]

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        assert not adjoint_arg
        return self.d[:, None] * x + self.u[:, None] * tf.matmul(self.u[None], x)


class _Quicker(_Arrow):
    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        self.calls.append("matvec")
        return self.d * x + self.u * tf.reduce_sum(self.u * x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        self.calls.append("solve")
        a, b = rhs / self.d[:, None], self.u / self.d
        return a - b[:, None] * tf.matmul(self.u[None], a) / (1.0 + tf.reduce_sum(self.u * b))

    def _to_dense(self) -> Any:
        self.calls.append("dense")
        return tf.linalg.diag(self.d) + self.u[:, None] * self.u

    def _diag_part(self) -> Any:
        self.calls.append("diag")
        return self.d + self.u**2

    def _log_abs_determinant(self) -> Any:
        self.calls.append("logdet")
        return tf.reduce_sum(tf.math.log(self.d)) + tf.math.log(1.0 + tf.reduce_sum(self.u**2 / self.d))


@pytest.mark.parametrize("kind", [_Arrow, _Quicker])
def test_an_operator_of_ones_own_needs_its_shape_and_its_product(kind: type[_Arrow]) -> None:
    d, u, b = np.array([1.0, 2.0, 4.0]), np.array([0.5, -1.0, 0.25]), np.array([1.0, 2.0, 3.0])
    dense, calls = np.diag(d) + np.outer(u, u), []

    def results(d: Any, u: Any, b: Any) -> Any:
        op = kind(d, u, calls)
        assert (op.shape.as_list(), op.domain_dimension, op.tensor_rank, op.is_square) == ([3, 3], 3, 2, True)
        assert (op.domain_dimension.value, op.range_dimension.value) == (3, 3)
        return (
            op.matvec(b), op @ b[:, None], op.solvevec(b), op.solve(b[:, None], adjoint=True), op.to_dense(), op.diag_part(),
            op.trace(), op.determinant(), op.log_abs_determinant(), op.eigvals(), op.cond(),
            op.add_to_tensor(tf.eye(3, dtype=b.dtype)),
            op.shape_tensor(), op.inverse().to_dense(), op.matmul(b[None], adjoint_arg=True),
            tf.linalg.experimental.conjugate_gradient(op, b, max_iter=10, tol=1e-12).x,
        )  # fmt: skip

    x = np.linalg.solve(dense, b)
    values = np.linalg.eigvalsh(dense)
    wanted = (
        dense @ b, (dense @ b)[:, None], x, x[:, None], dense, np.diag(dense), np.trace(dense), np.linalg.det(dense),
        np.log(np.linalg.det(dense)), values, values[-1] / values[0], dense + np.eye(3), [3, 3], np.linalg.inv(dense),
        (dense @ b)[:, None], x,
    )  # fmt: skip
    for f in (results, tf.function(results)):
        for got, y in zip(f(tf.constant(d), tf.constant(u), tf.constant(b)), wanted, strict=True):
            np.testing.assert_allclose(got, y, rtol=1e-9)
    used = {"matvec", "solve", "dense", "diag", "logdet"} if kind is _Quicker else set()
    assert set(calls) == used
    slope = tf.grad(lambda d: kind(d, tf.constant(u), calls).log_abs_determinant())(tf.constant(d))
    np.testing.assert_allclose(slope, np.diag(np.linalg.inv(dense)), rtol=1e-9)


def test_an_operator_of_ones_own_says_what_it_lacks() -> None:
    class Shapeless(tf.linalg.LinearOperator):
        pass

    class Empty(Shapeless):
        def _shape(self) -> Any:
            return [2, 2]

    with pytest.raises(NotImplementedError, match=r"Shapeless: define `_shape`, which gives \[..., m, n\]"):
        Shapeless(tf.float32).matvec([1.0, 2.0])
    with pytest.raises(NotImplementedError, match="Empty: define `_matmul`, the product with a matrix"):
        Empty(tf.float32).matvec([1.0, 2.0])


def test_operators_of_batches_of_unknown_size_are_computed_with() -> None:
    linalg, rng = tf.linalg, np.random.default_rng(4)
    d, c, s = (tf.constant(rng.uniform(1.0, 2.0, shape)) for shape in ((2, 3), (2, 3), (2,)))
    m = tf.constant(rng.uniform(0.5, 1.5, (2, 3, 3)) + 3 * np.eye(3))
    made = {
        "toeplitz": lambda d, c, s, m: linalg.LinearOperatorToeplitz(c, c),
        "scaled": lambda d, c, s, m: linalg.LinearOperatorScaledIdentity(3, s),
        "blocks": lambda d, c, s, m: linalg.LinearOperatorBlockDiag(
            [linalg.LinearOperatorDiag(d[0]), linalg.LinearOperatorFullMatrix(m)]
        ),
        "triangle": lambda d, c, s, m: linalg.LinearOperatorBlockLowerTriangular(
            [[linalg.LinearOperatorDiag(d)], [linalg.LinearOperatorFullMatrix(m)] * 2]
        ),
        "kronecker": lambda d, c, s, m: linalg.LinearOperatorKronecker(
            [linalg.LinearOperatorFullMatrix(m), linalg.LinearOperatorFullMatrix(m[:1, :2, :2])]
        ),
    }
    specs = [tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in (d, c, s, m)]
    for make in made.values():

        def results(*given: Any, make: Any = make) -> list[Any]:
            operator = make(*given)
            b = tf.ones([int(operator.dims[-1]), 2], tf.float64)
            return [
                operator.to_dense(), operator.matmul(b), operator.solve(b), operator.diag_part(), operator.trace(),
                operator.log_abs_determinant(),
            ]  # fmt: skip

        found = tf.function(results, input_signature=specs)(d, c, s, m)
        for got, wanted in zip(found, results(d, c, s, m), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)
