"""Linear algebra where it meets its limits: errors, kinks, singular matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.indexed_slices import IndexedSlices
from graphad.ops import linalg as la

A = np.arange(24.0).reshape(8, 3)
B = np.arange(20.0).reshape(4, 5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda: la.matmul(A, B),
            r"matmul: inner sizes differ: a has shape \(8, 3\), b has shape \(4, 5\); a.shape\[-1\] must equal b.shape\[-2\].",
        ),
        (
            lambda: la.matmul(A, A, transpose_a=True, adjoint_a=True),
            "Only one of `transpose_a` and `adjoint_a`",
        ),
        (lambda: la.matmul(A, A[0]), r"matmul: b has shape \(3,\); it must be a matrix"),
        (lambda: la.matmul(tf.constant(A), tf.zeros([3, 2])), "cannot compute matmul as input #1"),
        (lambda: la.matmul(np.zeros((2, 2, 3)), np.zeros((3, 3, 2))), "Incompatible shapes"),
        (lambda: la.einsum("ij,jk", A), "has 2 operands, 1 were given"),
        (lambda: la.einsum("ij,jk->ik", A, B), "label 'j' has size 3 in one operand and 4 in another"),
        (lambda: la.einsum("ijk->i", A), "has 3 labels"),
        (lambda: la.einsum("ij->iij", A), "repeats a label"),
        (lambda: la.einsum("ij->ik", A), "label 'k' of the result"),
        (lambda: la.einsum("i1->i", A), "is not a label"),
        (
            lambda: la.einsum("...i->i", A),
            r"must hold '...' since it stands for axes of an operand with shape \(8, 3\)",
        ),
        (lambda: la.einsum("ii->i", A), "diagonal: x with shape"),
        (lambda: la.solve(A, A), r"solve: matrix has shape \(8, 3\); its last two sizes must be equal"),
        (lambda: la.solve(np.eye(3), B), "matrix.shape\\[-1\\] must equal rhs.shape\\[-2\\]"),
        (lambda: la.solve(np.ones((2, 2)), np.ones((2, 1))), "Input matrix is not invertible."),
        (lambda: la.inv(np.ones((2, 2))), "Input is not invertible."),
        (lambda: la.cholesky(-np.eye(2)), "Cholesky decomposition was not successful"),
        (lambda: la.det(np.eye(2, dtype=np.float16)), "det: input has dtype float16"),
        (lambda: la.cross(A[:, :2], A[:, :2]), "its last size must be 3"),
        (lambda: la.tensordot(A, B, [[0], [0, 1]]), "names 1 axes of a and 2 of b"),
        (lambda: la.set_diag(A, np.zeros(4)), "set_diag: diagonal has shape"),
        (lambda: la.global_norm([None]), "holds no tensor"),
    ],
)
def test_errors_name_the_op_and_the_numbers(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function()


def test_a_traced_call_fails_with_the_same_words() -> None:
    with pytest.raises(ValueError, match="matmul: inner sizes differ: a has shape"):
        tf.function(la.matmul)(tf.constant(A), tf.constant(B))


@pytest.mark.parametrize("flags", [(a, b) for a in (False, True) for b in (False, True)])
def test_the_gradient_of_a_product_transposes_by_flags_only(flags: tuple[bool, bool]) -> None:
    from graphad.core.spec import TensorSpec
    from graphad.trace.tracer import trace_flat

    ta, tb = flags

    def gradient(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = la.matmul(a, b, transpose_a=ta, transpose_b=tb)
        return tape.gradient(y, [a, b])

    specs = [TensorSpec((4, 3) if ta else (3, 4)), TensorSpec((5, 4) if tb else (4, 5))]
    names = {node.op.name for node in trace_flat(gradient, specs).graph.nodes}
    assert names <= {"matmul", "broadcast_to"}


def test_einsum_of_a_batch_of_matrices_is_one_product() -> None:
    from graphad.core.spec import TensorSpec
    from graphad.trace.tracer import trace_flat

    graph = trace_flat(
        lambda x, y: [la.einsum("bij,bjk->bik", x, y)], [TensorSpec((2, 3, 4)), TensorSpec((2, 4, 5))]
    ).graph
    assert [node.op.name for node in graph.nodes] == ["matmul"]


def test_half_precision_products_are_accumulated_in_float32() -> None:
    a = np.full((1, 4096), 1.0, np.float16)
    b = np.full((4096, 1), 0.5, np.float16)
    y = la.matmul(a, b)
    assert y.dtype == tf.float16 and float(y[0, 0]) == 2048.0


def test_clip_by_norm_never_enlarges_and_keeps_a_zero_vector() -> None:
    assert float(la.clip_by_norm(4.0, 0.5)) == 0.5
    assert float(la.clip_by_norm(0.25, 0.5)) == 0.25
    x = tf.constant([0.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = la.clip_by_norm(x, 0.5)
    assert y.numpy().tolist() == [0.0, 0.0]
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]


def test_clipping_leaves_none_and_slices_as_they_are() -> None:
    slices = IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([3, 2]))
    (first, none, second), norm = la.clip_by_global_norm([tf.constant([0.0]), None, slices], 1.0)
    assert none is None and float(norm) == 5.0 and first.numpy().tolist() == [0.0]
    np.testing.assert_allclose(tf.convert_to_tensor(second).numpy(), [[0, 0], [0.6, 0.8], [0, 0]])
    assert np.isnan(la.clip_by_global_norm([tf.constant([np.inf])], 1.0)[0][0].numpy()).all()


def test_the_norm_of_zero_has_no_finite_gradient() -> None:
    x = tf.constant([0.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = la.norm(x)
    assert np.isnan(tape.gradient(y, x).numpy()).all()


def test_newton_step_of_the_guide() -> None:
    h = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
    update = la.solve(tf.constant(h) + tf.eye(2) * 1e-3, tf.constant([[1.0], [2.0]]))
    np.testing.assert_allclose(
        update.numpy(), np.linalg.solve(h + 1e-3 * np.eye(2), [[1.0], [2.0]]), rtol=1e-5
    )


def test_solving_for_many_right_hand_sides_factors_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    solve = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: shapes.append(b.shape) or solve(a, b))
    m = tf.constant(4 * np.eye(3) + A[:3])
    tf.vectorized_map(lambda b: la.solve(m, b), tf.constant(np.ones((5, 3, 2))))
    assert shapes == [(3, 10)]


def test_singular_values_of_full_matrices_have_a_gradient_and_their_vectors_say_why_not() -> None:
    x = tf.constant([[2.0, 0.5], [0.0, 1.0], [1.0, 0.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        s, u, v = la.svd(x, full_matrices=True)
        thin = la.svd(x, compute_uv=False)
    assert u.shape == (3, 3) and v.shape == (2, 2)
    np.testing.assert_allclose(tape.gradient(s, x).numpy(), tape.gradient(thin, x).numpy(), rtol=1e-5)
    with pytest.raises(LookupError, match="full_matrices"):
        tape.gradient(u, x)


def test_a_repeated_eigenvalue_gives_finite_gradients() -> None:
    x = tf.constant(np.eye(3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        e, v = la.eigh(x)
        y = tf.reduce_sum(la.matmul(v * tf.exp(e), v, transpose_b=True))
    assert np.isfinite(tape.gradient(y, x).numpy()).all()


def test_tensordot_over_a_number_of_axes_serves_unknown_ranks() -> None:
    rng = np.random.default_rng(1)
    spec = tf.TensorSpec(None, tf.float64)
    for n, pairs in (
        (0, [((2,), (3,)), ((), (2,))]),
        (1, [((2, 3), (3,)), ((3,), (3,)), ((2, 1, 3), (3, 4)), ((0, 3), (3, 2))]),
        (2, [((2, 3, 4), (3, 4, 2))]),
    ):
        f = tf.function(lambda a, b, n=n: tf.tensordot(a, b, n), input_signature=[spec, spec])
        for left, right in pairs:
            a, b = tf.constant(rng.uniform(size=left)), tf.constant(rng.uniform(size=right))
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                y = f(a, b)
            with tf.GradientTape() as eager:
                eager.watch([a, b])
                z = tf.tensordot(a, b, n)
            np.testing.assert_allclose(y, np.tensordot(a.numpy(), b.numpy(), n))
            for found, wanted in zip(tape.gradient(y, [a, b]), eager.gradient(z, [a, b]), strict=True):
                np.testing.assert_allclose(found, wanted)
    f = tf.function(lambda a, b: tf.tensordot(a, b, 1), input_signature=[spec, spec])
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.ones([2, 3], tf.float64), tf.ones([4, 2], tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="ranks"):
        tf.function(lambda a, b: tf.tensordot(a, b, [[0], [0]]), input_signature=[spec, spec])(a, b)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...c,ch->...h", [(4,), (4, 5)]),
        ("...c,ch->...h", [(2, 3, 4), (4, 5)]),
        ("...c,ch->...h", [(0, 4), (4, 5)]),
        ("...c,...h->...hc", [(2, 1, 4), (1, 3, 5)]),
        ("...c,...h->...", [(1, 4), (3, 5)]),
        ("...c,...h->...", [(0, 4), (1, 5)]),
        ("...c,ch,...h->...", [(4,), (4, 5), (3, 5)]),
        ("...c,ch,...h->...", [(1, 4), (4, 5), (3, 5)]),
        ("ab,bc->c", [(3, 4), (4, 5)]),
    ],
)
@pytest.mark.parametrize("knows_rank", [True, False])
def test_einsum_of_unknown_shapes_has_derivatives_of_both_orders(
    equation: str, shapes: list[tuple[int, ...]], knows_rank: bool
) -> None:
    generator = np.random.default_rng(0)
    xs = [tf.constant(generator.normal(size=dims)) for dims in shapes]

    def derivatives(*xs: Any) -> list[Any]:
        with tf.GradientTape() as outer:
            outer.watch(xs)
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = tf.einsum(equation, *xs)
                loss = tf.reduce_sum(tf.sin(y))
            first = tape.gradient(loss, xs)
            total = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in first])
        return [y, *first, *outer.gradient(total, xs)]

    specs = [tf.TensorSpec([None] * len(dims) if knows_rank else None, tf.float64) for dims in shapes]
    found = tf.function(derivatives, input_signature=specs)(*xs)
    for y, z in zip(found, derivatives(*xs), strict=True):
        assert y.shape == z.shape
        np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [(-1, 1), (0, 2), (-2, 0)])
def test_diagonals_of_unknown_length_fill_matrices_of_a_given_size(k: tuple[int, int]) -> None:
    def filled(d: Any) -> Any:
        return la.diag(d, k=k, num_rows=3, num_cols=4, padding_value=2.0)

    d = tf.reshape(tf.range(18.0), [2, 3, 3])
    unknown = tf.function(filled, input_signature=[tf.TensorSpec([None, None, None], tf.float32)])
    assert np.array_equal(unknown(d), filled(d))
    one_side = tf.function(
        lambda d: la.diag(d, k=k, num_rows=3), input_signature=[tf.TensorSpec([None, None, None])]
    )
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="diag: for a range of diagonals of unknown length"
    ):
        one_side(d)


def test_factors_of_more_rows_than_columns_give_all_columns_or_a_derivative() -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(4, 2)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        q, r = la.qr(x, full_matrices=True)
    assert q.shape == (4, 4) and r.shape == (4, 2)
    np.testing.assert_allclose(q @ r, x, atol=1e-13)
    np.testing.assert_allclose(tf.transpose(q) @ q, np.eye(4), atol=1e-13)
    with pytest.raises(LookupError, match="qr: with full_matrices=True"):
        tape.gradient(q, x)


def test_inverse_by_factors_serves_stacks_and_rows_of_any_rank() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 3))
    factors, order = la.lu(x, output_idx_type=tf.int64)
    assert order.dtype == tf.int64
    np.testing.assert_allclose(
        la.lu_matrix_inverse(factors, order) @ x, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12
    )
    one = np.ones((3, 1))
    np.testing.assert_allclose(
        la.lu_solve(factors, order, one), np.linalg.solve(x, np.stack([one, one])), atol=1e-12
    )
    with pytest.raises(ValueError, match="Input is not invertible"):
        la.lu(np.ones((2, 2)))
    with pytest.raises(TypeError, match="lu: output_idx_type is float32"):
        la.lu(x, tf.float32)


def test_roots_that_are_not_real_are_nan_and_logarithms_are_complex() -> None:
    assert np.isnan(np.asarray(la.sqrtm(-np.eye(2)))).all()
    root = la.sqrtm(-np.eye(2).astype(complex))
    np.testing.assert_allclose(root @ root, -np.eye(2), atol=1e-14)
    with pytest.raises(TypeError, match="logm: input has dtype float64; complex64 or complex128 is needed"):
        la.logm(np.eye(2))
    for function in (la.expm, la.sqrtm, la.qr, la.eig, la.lu):
        assert tf.nest.flatten(function(np.zeros((0, 3, 3))))[0].shape[0] == 0
        assert tf.nest.flatten(function(np.zeros((2, 0, 0))))[0].shape[0] == 2


def test_a_product_is_computed_in_the_dtype_of_its_result():
    a, b = tf.constant([[100, 100]], tf.int8), tf.constant([[100], [100]], tf.int8)
    assert tf.matmul(a, b, output_type=tf.int32).numpy().tolist() == [[20000]]
    narrow = tf.constant([[1.0, 2.0]], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(narrow)
        y = tf.matmul(narrow, narrow, transpose_b=True, output_type=tf.float32)
    assert y.dtype is tf.float32 and y.numpy().tolist() == [[5.0]]
    slope = tape.gradient(y, narrow)
    assert slope.dtype is tf.bfloat16 and slope.numpy().tolist() == [[2.0, 4.0]]


def test_complex_vectors_are_normalized_by_their_absolute_values():
    z = np.array([1 + 1j, 2 - 3j, 0.5j])
    np.testing.assert_allclose(tf.math.l2_normalize(z), z / np.linalg.norm(z))
    derived, measured = tf.test.compute_gradient(tf.math.l2_normalize, [z])
    np.testing.assert_allclose(derived[0], measured[0], atol=1e-6)


def test_the_gradient_of_a_complex_sign_is_that_of_turning():
    with tf.GradientTape() as tape:
        z = tf.constant([1 + 1j, 2 - 3j, 0j], tf.complex128)
        tape.watch(z)
        y = tf.sign(z)
    slope = tape.gradient(y, z, output_gradients=tf.constant([1 + 2j, 3 - 1j, 1 + 0j], tf.complex128))
    # TensorFlow's numbers
    want = [-0.35355339 + 0.35355339j, 0.44802708 + 0.29868472j, 0.0]
    np.testing.assert_allclose(slope, want, atol=1e-8)


def test_add_n_takes_what_gives_tensors_one_by_one():
    assert tf.add_n(x for x in (1.0, 2.0, 4.0)).numpy() == 7.0
    with pytest.raises(TypeError, match="add_n: inputs must be a list of tensors, got float"):
        tf.add_n(1.0)


@pytest.mark.parametrize("sizes", [(2, 3, 3), (4, 3), (3, 5), (0, 2, 2)])
@pytest.mark.parametrize("known", ["nothing", "rank"])
def test_what_sizes_decide_is_decided_at_run_time_with_the_same_bits(sizes: Any, known: str) -> None:
    rng = np.random.default_rng(3)
    x = tf.constant(rng.normal(size=sizes).astype(np.float32))
    b = tf.constant(rng.normal(size=(*sizes[:-1], 2)).astype(np.float32))
    spec = tf.TensorSpec(None if known == "nothing" else [None] * len(sizes))
    for f in (
        la.pinv,
        la.matrix_rank,
        lambda a: la.lstsq(a, b),
        lambda a: la.lstsq(a, b, 0.1),
        lambda a: la.lstsq(a, b, fast=False),
    ):

        def both(a: Any, f: Any = f) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(a)
                y = f(a)
            return (y, tape.gradient(y, a)) if y.dtype.is_floating else (y,)

        for got, want in zip(tf.function(both, input_signature=[spec])(x), both(x), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axes", [(0, 1), (-1, 0), (2, 1), (1, -1)])
def test_the_norm_of_order_2_of_matrices_is_their_largest_singular_value(axes: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3, 2, 4))
    for keepdims in (False, True):
        want = np.linalg.norm(x, 2, axes, keepdims)
        np.testing.assert_allclose(la.norm(x, 2, axes, keepdims), want, rtol=1e-14)
    unknown = tf.function(
        lambda a: la.norm(a, 2, axes), input_signature=[tf.TensorSpec([None] * 3, tf.float64)]
    )
    np.testing.assert_allclose(unknown(x), np.linalg.norm(x, 2, axes), rtol=1e-14)
    a = tf.constant([[3.0, 1.0], [1.0, 2.0]], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = la.norm(a, 2, [0, 1])
    u, _, v = np.linalg.svd(a.numpy())
    np.testing.assert_allclose(tape.gradient(y, a), np.outer(u[:, 0], v[0]), rtol=1e-12)


@pytest.mark.parametrize("order", ["euclidean", 1, 2, np.inf])
def test_a_norm_over_one_axis_twice_is_refused(order: Any) -> None:
    for axes in ([0, 0], (1, -1)):
        with pytest.raises(ValueError, match="the same axis twice"):
            la.norm([[1.0, 2.0]], order, axes)


def test_the_euclidean_norm_of_complex_numbers_divides_them() -> None:
    z = tf.constant([[1 + 2j, 3 - 1j], [0.5j, 2.0]], tf.complex64)
    length = np.linalg.norm(z.numpy())
    for f in (tf.norm, tf.function(tf.norm)):
        assert [f(z, **k).dtype.name for k in ({}, {"axis": 1}, {"ord": 2})] == ["complex64"] * 3
        assert [f(z, **k).dtype.name for k in ({"ord": 1}, {"ord": np.inf}, {"ord": 2, "axis": [0, 1]})] == [
            "float32"
        ] * 3
        np.testing.assert_allclose(f(z), length, rtol=1e-6)
    unit, found = tf.linalg.normalize(z)
    np.testing.assert_allclose(unit, z.numpy() / length, rtol=1e-6)
    np.testing.assert_allclose(found, [[length]], rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.norm(z)
    np.testing.assert_allclose(tape.gradient(y, z), z.numpy() / length, rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = z / tf.norm(z)
    # TensorFlow's numbers
    wanted = [[0.15688079 - 0.14208072j, 0.01480007 + 0.07104036j], [0.22792115 - 0.03552018j, 0.08584043]]
    np.testing.assert_allclose(tape.gradient(y, z), wanted, rtol=1e-5)


def test_factors_are_named_and_stay_so_in_functions() -> None:
    m = tf.constant([[4.0, 3.0], [6.0, 3.0]])

    @tf.function
    def factors(m: tf.Tensor) -> Any:
        return tf.linalg.qr(m), tf.linalg.lu(m), tf.linalg.slogdet(m)

    for qr, lu, size in (factors(m), (tf.linalg.qr(m), tf.linalg.lu(m), tf.linalg.slogdet(m))):
        np.testing.assert_allclose(tf.matmul(qr.q, qr.r), m, rtol=1e-6)
        np.testing.assert_array_equal(lu.p, [1, 0])
        np.testing.assert_allclose(lu.lu[0], [6.0, 3.0])
        assert size.sign.numpy() == -1.0
        np.testing.assert_allclose(size.log_abs_determinant, np.log(6.0), rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("k", [-3, 2, 3, 7])
def test_a_diagonal_outside_of_unknown_sizes_has_no_elements(k: int, jit: bool):
    @tf.function(input_signature=[tf.TensorSpec([None, None, None])], jit_compile=jit)
    def part(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(tf.numpy.diagonal(x, k, 1, 2))
        return y, tape.gradient(y, x)

    x = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(2, 3, 2)
    y, slope = part(x)
    expected = np.tanh(np.diagonal(x, k, 1, 2))
    assert y.shape == expected.shape and slope.shape == x.shape
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    assert np.count_nonzero(slope) == expected.size


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_functions_of_a_matrix_that_is_not_finite_are_nan_and_those_beside_it_are_not(number: float):
    bad = np.array([[number, 1.0], [0.0, 2.0]], np.complex128)
    stack = np.stack([bad, np.eye(2)])
    for function, good in ((tf.linalg.sqrtm, np.eye(2)), (tf.linalg.logm, np.zeros((2, 2)))):
        x = tf.constant(stack)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert np.isnan(y[0].numpy()).all()
        np.testing.assert_allclose(y[1].numpy(), good, atol=1e-12)
        assert np.isfinite(tape.gradient(y, x)[1].numpy()).all()


def test_bounds_do_not_widen_what_is_clipped() -> None:
    x = tf.ones([2, 3])
    assert tf.clip_by_value(x, 0.0, tf.zeros([3])).shape == [2, 3]
    with pytest.raises(ValueError, match=r"t has shape \(2, 3\), the bounds \(\) and \(4, 2, 3\)"):
        tf.clip_by_value(x, 0.0, tf.ones([4, 2, 3]))
    with pytest.raises(ValueError, match=r"t has shape \(2, 3\), clip_norm \(4, 1, 1\)"):
        tf.clip_by_norm(x, tf.ones([4, 1, 1]))


def test_clipping_slices_by_value_keeps_their_rows() -> None:
    slices = tf.IndexedSlices(tf.constant([[2.0], [-3.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    clipped = tf.clip_by_value(slices, -1.0, 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    np.testing.assert_array_equal(clipped.values, [[1.0], [-1.0]])


def test_matmul_takes_the_hints_of_tensorflow() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    plain = tf.matmul(x, x)
    np.testing.assert_array_equal(tf.matmul(x, x, False, False, False, False, True, b_is_sparse=True), plain)


def test_tensors_clipped_by_a_norm_that_is_given_keep_their_dtypes():
    tensors = [
        tf.constant([-3.0, 0.0]),
        tf.constant([4.0, 0.0], tf.bfloat16),
        tf.constant([[1.0]], tf.float64),
    ]
    slices = IndexedSlices(tf.constant([[4.0]], tf.float16), tf.constant([0]), tf.constant([2, 1]))
    (a, b, c, d), norm = la.clip_by_global_norm([*tensors, slices], 4.0, use_norm=tf.constant(5.0))
    assert [x.dtype for x in (a, b, c, d.values)] == [tf.float32, tf.bfloat16, tf.float64, tf.float16]
    np.testing.assert_allclose(a, [-2.4, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(b.numpy().astype(np.float32), [3.203125, 0.0])
    assert (
        abs(float(c[0, 0]) - 0.8) < 1e-7 and float(d.values[0, 0]) == np.float16(3.2) and float(norm) == 5.0
    )


def test_the_result_of_einsum_leaves_out_an_ellipsis_that_stands_for_no_axes():
    for equation, plain in (
        ("...mk,...kn->mn", "mk,kn->mn"),
        ("mk,...kn->mn", "mk,kn->mn"),
        ("k...m,kn...->nm", "km,kn->nm"),
    ):
        inner = A[:4, :3].T if plain.startswith("mk") else A[:4, :3]
        x = tf.constant(inner)

        def product(x, equation=equation):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = la.einsum(equation, x, B)
            return y, tape.gradient(y, x)

        wanted = np.einsum(plain, inner, B)
        unknown = [tf.TensorSpec(None, tf.float64)]
        for f in (product, tf.function(product), tf.function(product, input_signature=unknown)):
            y, gradient = f(x)
            np.testing.assert_allclose(y, wanted, rtol=1e-14)
            assert gradient.shape == inner.shape
    np.testing.assert_array_equal(la.einsum("...->", 3.0), 3.0)
    ranked = tf.function(lambda x: la.einsum("...i->i", x), input_signature=[tf.TensorSpec(None)])
    np.testing.assert_array_equal(ranked([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(ValueError, match="einsum"):
        ranked([[1.0, 2.0]])


def test_the_older_name_of_an_axis_to_normalise_along_is_taken():
    np.testing.assert_array_equal(tf.nn.l2_normalize(A, dim=1), tf.nn.l2_normalize(A, axis=1))
    with pytest.raises(ValueError, match="axis is 0 and dim 1; dim is the older name"):
        tf.math.l2_normalize(A, 0, dim=1)


@pytest.mark.parametrize(
    "x",
    [
        np.diag(np.full(3, 1e30, np.float32)),
        np.eye(3) * 1e200,
        np.array([[np.inf, 1.0, 2.0], [1.0, np.nan, 3.0], [1.0, 2.0, 3.0]]),
    ],
)
def test_determinants_that_overflow_warn_of_nothing(x: Any) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        la.det(x), la.slogdet(x), la.logdet(x)
    assert not found


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_inverses_and_factors_of_16_bits_are_those_of_32_rounded_once(run):
    x = np.random.default_rng(4).standard_normal((3, 4, 4)).astype(np.float16)
    wide = np.linalg.inv(x.astype(np.float32))
    found = run(lambda v: tf.linalg.inv(v, adjoint=True))(tf.constant(x))
    assert found.dtype is tf.float16
    np.testing.assert_allclose(found.numpy().swapaxes(-1, -2), wide.astype(np.float16), rtol=2e-3)
    q, r = run(lambda v: tuple(tf.linalg.qr(v)))(tf.constant(x))
    assert q.dtype is r.dtype is tf.float16
    np.testing.assert_allclose(q.numpy().astype(np.float32) @ r.numpy().astype(np.float32), x, atol=5e-3)
    with tf.GradientTape() as tape:
        v = tf.constant(x)
        tape.watch(v)
        y = tf.reduce_sum(tf.linalg.inv(v) ** 2)
    slope = tape.gradient(y, v)
    inverse = wide.astype(np.float64)
    t = inverse.swapaxes(-1, -2)
    np.testing.assert_allclose(slope.numpy(), -t @ (2 * inverse) @ t, rtol=2e-2, atol=2e-2)


def test_the_logarithm_of_no_rows_has_none():
    for shape in ((0, 0), (2, 0, 0), (0, 2, 2)):
        assert tf.linalg.logm(tf.zeros(shape, tf.complex64)).shape == shape
