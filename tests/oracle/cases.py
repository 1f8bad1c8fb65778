"""Expressions whose values and derivatives were computed by TensorFlow.

Each case is one Python expression in `tf` and named inputs. Inputs are drawn from a seed of the case's name and rounded to
float32, so that both precisions see the same numbers; `real` keeps away from zero, where many functions have a kink.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Draw = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    """`inputs` of floating or complex dtype are differentiated; the others are given as they are."""

    name: str
    call: str
    inputs: dict[str, Draw]
    second: bool = True  # also second derivatives
    gradient: bool = True
    slack: float = 1.0  # factor on the test's tolerance, for ill-conditioned formulas
    precisions: tuple[str, ...] = (
        "float32",
        "float64",
    )  # cases that TensorFlow computes only in float32

    def draw(self, precision: str) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return {key: _cast(draw(rng), precision) for key, draw in self.inputs.items()}


def _cast(x: np.ndarray, precision: str) -> np.ndarray:
    if x.dtype.kind == "f":
        return x.astype(np.float32).astype(precision)
    if x.dtype.kind == "c":
        return x.astype(np.complex64).astype({"float32": "complex64", "float64": "complex128"}[precision])
    return x


def real(*shape: int, low: float = 0.15, high: float = 2.0) -> Draw:
    """Both signs, size between `low` and `high`."""
    return lambda rng: rng.uniform(low, high, shape) * rng.choice([-1.0, 1.0], shape)


def positive(*shape: int, low: float = 0.3, high: float = 2.5) -> Draw:
    return lambda rng: rng.uniform(low, high, shape)


def cplx(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.2, 1.5, shape) + 1j * rng.uniform(-1.5, 1.5, shape)


def whole(low: int, high: int, *shape: int) -> Draw:
    return lambda rng: rng.integers(low, high, shape).astype(np.int32)


def logical(*shape: int) -> Draw:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def spd(*shape: int) -> Draw:
    """Symmetric positive definite, well conditioned."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        a = rng.uniform(-1, 1, shape)
        return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])

    return draw


def regular(*shape: int) -> Draw:
    """A square matrix far from singular."""
    return lambda rng: rng.uniform(-1, 1, shape) + 2.5 * np.eye(shape[-1])


def fixed(values: object) -> Draw:
    return lambda rng: np.asarray(values)


def _unary() -> list[Case]:
    everywhere = (
        "abs negative square exp sin cos sinh cosh tanh sigmoid softplus erf erfc atan asinh sign".split()
    )
    cases = [Case(f"math.{f}", f"tf.math.{f}(x)", {"x": real(3, 4)}) for f in everywhere]
    above = "sqrt rsqrt log log1p expm1 reciprocal lgamma".split()
    cases += [Case(f"math.{f}", f"tf.math.{f}(x)", {"x": positive(3, 4)}) for f in above]
    cases.append(Case("math.digamma", "tf.math.digamma(x)", {"x": positive(3, 4)}, slack=5))
    cases.append(Case("math.softsign", "tf.math.softsign(x)", {"x": real(3, 4)}, second=False))
    small = "asin acos atanh".split()
    cases += [Case(f"math.{f}", f"tf.math.{f}(x)", {"x": real(3, 4, high=0.85)}) for f in small]
    cases.append(Case("math.acosh", "tf.math.acosh(x)", {"x": positive(3, 4, low=1.2)}))
    cases.append(Case("math.tan", "tf.math.tan(x)", {"x": real(3, 4, high=1.2)}))
    cases.append(Case("math.erfinv", "tf.math.erfinv(x)", {"x": real(3, 4, high=0.8)}, slack=10))
    steps = "floor ceil round rint".split()
    cases += [Case(f"math.{f}", f"tf.math.{f}(x)", {"x": real(3, 4)}) for f in steps]
    activations = "relu relu6 elu selu leaky_relu gelu silu softplus tanh sigmoid".split()
    cases += [Case(f"nn.{f}", f"tf.nn.{f}(x)", {"x": real(4, 5)}) for f in activations]
    cases.append(Case("nn.gelu_approximate", "tf.nn.gelu(x, approximate=True)", {"x": real(4, 5)}))
    cases.append(Case("nn.leaky_relu_alpha", "tf.nn.leaky_relu(x, alpha=0.05)", {"x": real(4, 5)}))
    return cases


def _binary() -> list[Case]:
    both = {"x": real(3, 4), "y": real(4)}
    cases = [
        Case(f"math.{f}", f"tf.math.{f}(x, y)", both)
        for f in "add subtract multiply divide maximum minimum".split()
    ]
    cases += [
        Case("math.operators", "(x + y) * x - y / x", both),
        Case("math.operators_reflected", "2.0 - x + 3.0 * y + 1.0 / x", both),
        Case("math.power", "x ** y", {"x": positive(3, 4), "y": real(4)}),
        Case("math.power_square", "x ** 2 + x ** 3", {"x": real(3, 4)}),
        Case("math.pow_scalar_base", "2.0 ** x", {"x": real(3, 4)}),
        Case("math.squared_difference", "tf.math.squared_difference(x, y)", both),
        Case("math.atan2", "tf.math.atan2(x, y)", both),
        Case("math.floordiv", "x // y", both),
        Case("math.floormod", "x % y", both, second=False),
        Case("math.divide_no_nan", "tf.math.divide_no_nan(x, y)", both),
        Case("math.multiply_no_nan", "tf.math.multiply_no_nan(x, y)", both),
        Case("math.xlogy", "tf.math.xlogy(x, y)", {"x": real(3, 4), "y": positive(4)}),
        Case("math.xdivy", "tf.math.xdivy(x, y)", both),
        Case("math.where", "tf.where(c, x, y)", {"c": logical(3, 4), **both}),
        Case("math.where_scalar", "tf.where(x > 0.0, x * x, 0.5)", {"x": real(3, 4)}),
        Case("math.clip_by_value", "tf.clip_by_value(x, -0.7, 0.9)", {"x": real(5, 5)}),
        Case("math.add_n", "tf.add_n([x, y, x * y])", {"x": real(3, 4), "y": real(3, 4)}),
        Case(
            "math.integer_arithmetic",
            "(i + j) * i - j // 3 + i % 4",
            {"i": whole(-9, 9, 4, 3), "j": whole(-9, 9, 3)},
        ),
        Case("math.integer_power", "i ** 3", {"i": whole(-5, 6, 7)}),
        Case("math.comparisons", "[x < y, x <= y, x > y, x >= y, tf.equal(x, y), tf.not_equal(x, y)]", both),
        Case(
            "math.logical",
            "[a & b, a | b, a ^ b, ~a, tf.logical_and(a, b)]",
            {"a": logical(6), "b": logical(6)},
        ),
        Case("math.cast", "tf.cast(x, tf.int32)", {"x": real(3, 4)}),
        Case("math.cast_back", "tf.cast(i, tf.float64) / 4.0", {"i": whole(-9, 9, 3, 4)}),
        Case(
            "math.is_finite",
            "[tf.math.is_nan(x), tf.math.is_inf(x), tf.math.is_finite(x)]",
            {"x": fixed([1.0, np.nan, np.inf, -np.inf, 0.0])},
            gradient=False,
        ),
        Case("math.broadcast_outer", "x[:, tf.newaxis] * y + x[:, tf.newaxis]", {"x": real(3), "y": real(4)}),
        Case("math.stop_gradient", "x * tf.stop_gradient(x) + x", {"x": real(3)}),
        Case(
            "math.chain",
            "tf.reduce_sum(tf.tanh(x) * tf.exp(-x * x) + tf.math.log1p(tf.abs(x)))",
            {"x": real(20)},
        ),
    ]
    return cases


def _complex() -> list[Case]:
    z = {"z": cplx(3, 2)}
    two = {"z": cplx(3, 2), "w": cplx(2)}
    rows = [
        ("square", "z * z", z),
        ("multiply", "z * w", two),
        ("divide", "z / w", two),
        ("subtract", "z - w", two),
        ("exp", "tf.exp(z)", z),
        ("log", "tf.math.log(z)", z),
        ("sin", "tf.sin(z)", z),
        ("sqrt", "tf.sqrt(z)", z),
        ("abs", "tf.abs(z)", z),
        ("real", "tf.math.real(z)", z),
        ("imag", "tf.math.imag(z)", z),
        ("angle", "tf.math.angle(z)", z),
        ("conj", "tf.math.conj(z) * z", z),
        ("matmul", "tf.matmul(z, z, adjoint_a=True)", z),
        ("reduce_sum", "tf.reduce_sum(z, axis=0)", z),
        ("transpose", "tf.transpose(z, conjugate=True)", z),
        ("complex", "tf.complex(x, y) * tf.complex(y, x)", {"x": real(3), "y": real(3)}),
    ]
    return [Case(f"complex.{name}", call, inputs, second=False) for name, call, inputs in rows]


def _reductions() -> list[Case]:
    x = {"x": real(3, 4, 2)}
    cases = []
    for f in "sum mean max min prod logsumexp variance std euclidean_norm".split():
        module = "tf.math" if f in ("variance", "std", "euclidean_norm") else "tf"
        for label, rest in (
            ("all", ""),
            ("axis", ", axis=1"),
            ("axes_keepdims", ", axis=[0, -1], keepdims=True"),
        ):
            cases.append(Case(f"reduce.{f}_{label}", f"{module}.reduce_{f}(x{rest})", x))
    cases += [
        Case(
            "reduce.any",
            "[tf.reduce_any(a), tf.reduce_any(a, axis=1), tf.reduce_any(a, 0, keepdims=True)]",
            {"a": logical(3, 4)},
        ),
        Case(
            "reduce.all",
            "[tf.reduce_all(a), tf.reduce_all(a, axis=-1), tf.reduce_all(a, [0, 1])]",
            {"a": logical(3, 4)},
        ),
        Case(
            "reduce.integer_sum",
            "[tf.reduce_sum(i, 0), tf.reduce_mean(i, 1), tf.reduce_prod(i, 1)]",
            {"i": whole(-6, 6, 3, 4)},
        ),
        Case("reduce.empty_axis", "tf.reduce_sum(x, axis=[])", x),
        Case("reduce.count_nonzero", "tf.math.count_nonzero(i, axis=1)", {"i": whole(-1, 2, 3, 5)}),
        Case(
            "reduce.argmax", "[tf.argmax(x), tf.argmax(x, axis=-1), tf.argmin(x, axis=1)]", x, gradient=False
        ),
        Case("reduce.argmax_int32", "tf.argmax(x, axis=1, output_type=tf.int32)", x, gradient=False),
        Case(
            "reduce.prod_with_zero",
            "tf.reduce_prod(x, axis=1)",
            {"x": fixed([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]])},
            second=False,  # TensorFlow's second derivative misses the products around a single zero
        ),
        Case("scan.cumsum", "tf.cumsum(x, axis=1)", x),
        Case("scan.cumsum_options", "tf.cumsum(x, axis=-2, exclusive=True, reverse=True)", x),
        Case("scan.cumprod", "tf.math.cumprod(x, axis=1)", x),
        Case("scan.cumprod_options", "tf.math.cumprod(x, axis=0, exclusive=True, reverse=True)", x),
        Case("scan.cumulative_logsumexp", "tf.math.cumulative_logsumexp(x, axis=1)", x, second=False),
        Case("segment.sum", "tf.math.segment_sum(x, tf.constant([0, 0, 2]))", {"x": real(3, 4)}),
        Case("segment.mean", "tf.math.segment_mean(x, tf.constant([0, 0, 1]))", {"x": real(3, 4)}),
        Case(
            "segment.unsorted_sum",
            "tf.math.unsorted_segment_sum(x, tf.constant([2, 0, 2, 1]), 4)",
            {"x": real(4, 3)},
        ),
        Case("sort.sort", "tf.sort(x, axis=1)", {"x": real(3, 5)}),
        Case("sort.sort_descending", "tf.sort(x, axis=0, direction='DESCENDING')", {"x": real(3, 5)}),
        Case("sort.argsort", "tf.argsort(x, axis=-1)", {"x": real(3, 5)}, gradient=False),
        Case("sort.top_k", "tf.math.top_k(x, k=3)[0]", {"x": real(3, 6)}),
    ]
    return cases


def _array() -> list[Case]:
    x, pair = {"x": real(3, 4, 2)}, {"x": real(3, 4), "y": real(2, 4)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("reshape", "tf.reshape(x, [4, -1])", x),
        ("reshape_flat", "tf.reshape(x, [-1])", x),
        ("transpose", "tf.transpose(x)", x),
        ("transpose_perm", "tf.transpose(x, [1, 2, 0])", x),
        ("expand_dims", "[tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.expand_dims(x, -2)]", x),
        ("squeeze", "tf.squeeze(x)", {"x": real(1, 3, 1, 2)}),
        ("squeeze_axis", "tf.squeeze(x, [-2])", {"x": real(1, 3, 1, 2)}),
        ("concat", "tf.concat([x, y, x], 0)", pair),
        ("concat_negative", "tf.concat([x, 2.0 * x], axis=-1)", {"x": real(3, 4)}),
        ("stack", "tf.stack([x, x * x], axis=1)", {"x": real(3, 4)}),
        ("stack_last", "tf.stack([x, x], axis=-1)", {"x": real(3)}),
        ("unstack", "tf.unstack(x, axis=1)", {"x": real(3, 4)}),
        ("split", "tf.split(x, 2, axis=1)", x),
        ("split_sizes", "tf.split(x, [1, 3], axis=1)", x),
        ("split_unused", "tf.split(x, 2, axis=1)[1]", x),
        ("slice", "tf.slice(x, [1, 0, 1], [2, -1, 1])", x),
        ("strided_slice", "tf.strided_slice(x, [0, 3], [3, 0], [2, -1])", x),
        ("index_int", "x[1]", x),
        ("index_negative", "x[-1, 2]", x),
        ("index_range", "x[1:, :3]", x),
        ("index_steps", "x[::2, ::-1]", x),
        ("index_negative_step", "x[2:0:-1, -1:-4:-2]", x),
        ("index_newaxis", "x[:, tf.newaxis, 1]", x),
        ("index_ellipsis", "x[..., 0]", x),
        ("index_everything", "x[1:, ..., tf.newaxis, ::-1]", x),
        ("index_empty", "x[3:, 1:1]", x),
        ("index_tensor", "x[i]", {"x": real(3, 4), "i": fixed(np.int32(2))}),
        ("gather", "tf.gather(x, i)", {"x": real(5, 3), "i": whole(0, 5, 2, 3)}),
        ("gather_axis", "tf.gather(x, i, axis=1)", {"x": real(3, 5, 2), "i": whole(0, 5, 4)}),
        ("gather_batch", "tf.gather(x, i, batch_dims=1)", {"x": real(3, 5, 2), "i": whole(0, 5, 3, 2)}),
        (
            "gather_nd",
            "tf.gather_nd(x, i)",
            {"x": real(3, 4, 2), "i": fixed(np.int32([[0, 1], [2, 3], [0, 1]]))},
        ),
        (
            "gather_nd_full",
            "tf.gather_nd(x, i)",
            {"x": real(3, 4), "i": fixed(np.int32([[[0, 1]], [[2, 3]]]))},
        ),
        (
            "scatter_nd",
            "tf.scatter_nd(i, x, [5, 2])",
            {"i": fixed(np.int32([[1], [3], [1]])), "x": real(3, 2)},
        ),
        (
            "tensor_scatter_add",
            "tf.tensor_scatter_nd_add(x, i, y)",
            {"x": real(5), "i": fixed(np.int32([[1], [3], [1]])), "y": real(3)},
        ),
        (
            "tensor_scatter_max",
            "tf.tensor_scatter_nd_max(x, i, y)",
            {"x": real(5), "i": fixed(np.int32([[1], [3], [1]])), "y": real(3)},
        ),
        (
            "tensor_scatter_min_ties",
            "tf.tensor_scatter_nd_min(tf.floor(x) + 0.0 * x, i, tf.floor(y) + 0.0 * y) * x",
            {"x": real(3, 4), "i": fixed(np.int32([[1], [2], [1], [1]])), "y": real(4, 4)},
        ),
        (
            "tensor_scatter_update",
            "tf.tensor_scatter_nd_update(x, i, y)",
            {"x": real(5, 2), "i": fixed(np.int32([[4], [0]])), "y": real(2, 2)},
        ),
        ("tile", "tf.tile(x, [2, 1, 3])", x),
        ("repeat", "tf.repeat(x, 2, axis=1)", {"x": real(3, 2)}),
        ("pad", "tf.pad(x, [[1, 2], [0, 1]])", {"x": real(3, 2)}),
        ("pad_value", "tf.pad(x, [[1, 0], [2, 1]], constant_values=-1.5)", {"x": real(3, 2)}),
        ("pad_reflect", "tf.pad(x, [[2, 1], [1, 1]], mode='REFLECT')", {"x": real(3, 4)}),
        ("pad_symmetric", "tf.pad(x, [[2, 1], [1, 2]], mode='SYMMETRIC')", {"x": real(3, 4)}),
        ("reverse", "tf.reverse(x, [0, -1])", x),
        ("roll", "tf.roll(x, shift=[1, -2], axis=[0, 1])", x),
        ("broadcast_to", "tf.broadcast_to(x, [2, 3, 4])", {"x": real(3, 1)}),
        (
            "boolean_mask",
            "tf.boolean_mask(x, m)",
            {"x": real(4, 3), "m": fixed(np.array([True, False, True, True]))},
        ),
        (
            "boolean_mask_full",
            "tf.boolean_mask(x, m)",
            {"x": real(2, 3), "m": fixed(np.array([[1, 0, 1], [0, 0, 1]], bool))},
        ),
        ("one_hot", "tf.one_hot(i, 4)", {"i": whole(-1, 5, 3, 2)}),
        ("one_hot_options", "tf.one_hot(i, 3, on_value=2.0, off_value=-1.0, axis=0)", {"i": whole(0, 4, 5)}),
        ("meshgrid", "tf.meshgrid(x, y)", {"x": real(3), "y": real(2)}),
        ("identity", "tf.identity(x)", x),
        ("zeros_like", "[tf.zeros_like(x), tf.ones_like(x)]", x),
        ("fill", "[tf.fill([2, 3], 1.5), tf.zeros([2]), tf.ones([1, 2], tf.float64), tf.eye(3)]", {}),
        ("range", "[tf.range(5), tf.range(2, 11, 3), tf.range(1.0, 2.0, 0.25), tf.range(5, 0, -2)]", {}),
        ("linspace", "tf.linspace(-10.0, 10.0, 201)", {}),
        ("shape", "[tf.shape(x), tf.size(x), tf.rank(x)]", x),
        ("where_indices", "tf.where(m)", {"m": fixed(np.array([[1, 0, 1], [0, 0, 1]], bool))}),
        ("sequence_mask", "tf.sequence_mask(i, 5)", {"i": whole(0, 6, 4)}),
        (
            "searchsorted",
            "tf.searchsorted(x, x * 1.5)",
            {"x": fixed(np.float32([0.0, 1.0, 2.0, 3.0]))},
        ),
        ("concat_integer", "tf.concat([i, i[:1]], 0)", {"i": whole(0, 9, 3)}),
    ]
    undifferentiated = {"searchsorted", "shape"}
    return [
        Case(f"array.{name}", call, inputs, gradient=name not in undifferentiated)
        for name, call, inputs in rows
    ]


def _linalg() -> list[Case]:
    ab, batch = {"a": real(3, 4), "b": real(4, 2)}, {"a": real(2, 3, 4), "b": real(2, 4, 5)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("matmul", "tf.matmul(a, b)", ab),
        ("matmul_operator", "a @ b", ab),
        ("matmul_transpose_a", "tf.matmul(a, b, transpose_a=True)", {"a": real(4, 3), "b": real(4, 2)}),
        ("matmul_transpose_b", "tf.matmul(a, b, transpose_b=True)", {"a": real(3, 4), "b": real(2, 4)}),
        ("matmul_transpose_both", "tf.matmul(a, b, True, True)", {"a": real(4, 3), "b": real(2, 4)}),
        ("matmul_batch", "tf.matmul(a, b)", batch),
        ("matmul_broadcast", "tf.matmul(a, b)", {"a": real(2, 3, 4), "b": real(4, 5)}),
        ("matmul_broadcast_batch", "tf.matmul(a, b)", {"a": real(2, 1, 3, 4), "b": real(3, 4, 2)}),
        ("matmul_integer", "tf.matmul(i, i)", {"i": whole(-5, 5, 3, 3)}),
        ("matvec", "tf.linalg.matvec(a, v)", {"a": real(3, 4), "v": real(4)}),
        ("tensordot", "tf.tensordot(a, b, axes=1)", ab),
        (
            "tensordot_axes",
            "tf.tensordot(a, b, axes=[[0, 2], [2, 0]])",
            {"a": real(2, 3, 4), "b": real(4, 5, 2)},
        ),
        ("einsum_matmul", "tf.einsum('ij,jk->ik', a, b)", ab),
        ("einsum_trace", "tf.einsum('ii->', a)", {"a": real(4, 4)}),
        ("einsum_diagonal", "tf.einsum('bxby->bxy', j)", {"j": real(3, 2, 3, 4)}),
        ("einsum_outer", "tf.einsum('i,j->ij', v, w)", {"v": real(3), "w": real(4)}),
        ("einsum_batch", "tf.einsum('bij,bkj->bik', a, b)", {"a": real(2, 3, 4), "b": real(2, 5, 4)}),
        ("einsum_ellipsis", "tf.einsum('...ij,...jk->...ik', a, b)", batch),
        ("einsum_three", "tf.einsum('ij,jk,k->i', a, b, v)", {**ab, "v": real(2)}),
        ("einsum_implicit", "tf.einsum('ij,jk', a, b)", ab),
        ("einsum_sum", "tf.einsum('ijk->j', a)", {"a": real(2, 3, 4)}),
        ("solve", "tf.linalg.solve(a, b)", {"a": regular(4, 4), "b": real(4, 2)}),
        ("solve_adjoint", "tf.linalg.solve(a, b, adjoint=True)", {"a": regular(4, 4), "b": real(4, 2)}),
        ("solve_batch", "tf.linalg.solve(a, b)", {"a": regular(2, 3, 3), "b": real(2, 3, 2)}),
        ("triangular_solve", "tf.linalg.triangular_solve(a, b)", {"a": regular(4, 4), "b": real(4, 2)}),
        (
            "triangular_solve_upper",
            "tf.linalg.triangular_solve(a, b, lower=False, adjoint=True)",
            {"a": regular(4, 4), "b": real(4, 2)},
        ),
        ("inv", "tf.linalg.inv(a)", {"a": regular(2, 3, 3)}),
        ("det", "tf.linalg.det(a)", {"a": regular(2, 3, 3)}),
        ("logdet", "tf.linalg.logdet(a)", {"a": spd(4, 4)}),
        ("slogdet", "tf.linalg.slogdet(a)[1]", {"a": regular(3, 3)}),
        ("cholesky", "tf.linalg.cholesky(a)", {"a": spd(2, 3, 3)}),
        ("eye", "[tf.eye(3), tf.eye(2, 4), tf.eye(2, batch_shape=[3])]", {}),
        ("diag", "tf.linalg.diag(v)", {"v": real(2, 3)}),
        ("diag_part", "tf.linalg.diag_part(a)", {"a": real(2, 3, 4)}),
        ("trace", "tf.linalg.trace(a)", {"a": real(2, 3, 3)}),
        ("band_part", "tf.linalg.band_part(a, 1, 0)", {"a": real(4, 4)}),
        ("norm", "tf.norm(a)", {"a": real(3, 4)}),
        ("norm_axis", "tf.norm(a, axis=1)", {"a": real(3, 4)}),
        ("norm_one", "tf.norm(a, ord=1, axis=0, keepdims=True)", {"a": real(3, 4)}),
        ("norm_inf", "tf.norm(a, ord=np.inf, axis=-1)", {"a": real(3, 4)}),
        ("norm_three", "tf.norm(a, ord=3, axis=1)", {"a": real(3, 4)}),
        ("norm_frobenius", "tf.norm(a, ord='fro', axis=[-2, -1])", {"a": real(2, 3, 4)}),
        ("clip_by_norm", "tf.clip_by_norm(a, 0.5)", {"a": real(3, 4)}),
        ("clip_by_norm_inactive", "tf.clip_by_norm(a, 500.0)", {"a": real(3, 4)}),
        ("clip_by_norm_axis", "tf.clip_by_norm(a, 1.5, axes=[1])", {"a": real(3, 4)}),
        ("clip_by_global_norm", "tf.clip_by_global_norm([a, b], 1.0)[0]", {"a": real(3), "b": real(2, 2)}),
        ("l2_normalize", "tf.math.l2_normalize(a, axis=1)", {"a": real(3, 4)}),
        ("adjoint", "tf.linalg.adjoint(a)", {"a": real(2, 3, 4)}),
        ("cross", "tf.linalg.cross(a, b)", {"a": real(2, 3), "b": real(2, 3)}),
        ("eigvalsh", "tf.linalg.eigvalsh(a)", {"a": spd(4, 4)}),
        ("singular_values", "tf.linalg.svd(a, compute_uv=False)", {"a": regular(3, 3)}),
        ("qr", "tf.linalg.qr(a)", {"a": real(2, 4, 3)}),
        ("qr_wide", "tf.linalg.qr(a)", {"a": real(3, 5)}),
        ("lu", "tf.linalg.lu(a)", {"a": regular(2, 3, 3)}),
        ("lu_solve", "tf.linalg.lu_solve(*tf.linalg.lu(a), b)", {"a": real(3, 3), "b": real(3, 2)}),
        ("lu_reconstruct", "tf.linalg.lu_reconstruct(*tf.linalg.lu(a))", {"a": real(2, 3, 3)}),
        ("lu_matrix_inverse", "tf.linalg.lu_matrix_inverse(*tf.linalg.lu(a))", {"a": regular(3, 3)}),
        ("expm", "tf.linalg.expm(a)", {"a": real(2, 3, 3)}),
        ("expm_complex", "tf.linalg.expm(z)", {"z": cplx(3, 3)}),
        ("logm", "tf.linalg.logm(z + 5.0 * tf.eye(3, dtype=z.dtype))", {"z": cplx(3, 3)}),
        (
            "sqrtm",
            "tf.linalg.sqrtm(tf.matmul(a, a, transpose_b=True) + tf.eye(3, dtype=a.dtype))",
            {"a": real(3, 3)},
        ),
        ("eigvals", "tf.math.abs(tf.math.reduce_prod(tf.linalg.eigvals(a), -1))", {"a": regular(2, 3, 3)}),
        ("eig", "tf.sort(tf.math.real(tf.linalg.eig(a)[0]), -1)", {"a": spd(3, 3)}),
    ]
    slack = {
        "eigvalsh": 20,
        "singular_values": 20,
        "cholesky": 5,
        "inv": 5,
        "solve": 5,
        "det": 5,
        "triangular_solve_upper": 5,
        "expm": 10,
        "expm_complex": 10,
        "sqrtm": 10,
        "qr": 10,
        "qr_wide": 10,
        "eigvals": 20,
        "eig": 20,
    }
    # TensorFlow has no derivative of logarithms of matrices and of LU factors, and no second one of most factors.
    valued = {"logm", "lu", "lu_solve", "lu_reconstruct", "lu_matrix_inverse"}
    once = {
        "eigvalsh",
        "singular_values",
        "qr",
        "qr_wide",
        "lu",
        "lu_solve",
        "lu_reconstruct",
        "lu_matrix_inverse",
        "eigvals",
        "eig",
    }
    once |= {"sqrtm"}
    return [
        Case(
            f"linalg.{n}", call, inputs, second=n not in once, gradient=n not in valued, slack=slack.get(n, 2)
        )
        for n, call, inputs in rows
    ]


def _signal() -> list[Case]:
    x, z = {"x": real(3, 8)}, {"z": cplx(2, 6)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("fft", "tf.signal.fft(z)", z),
        ("ifft", "tf.signal.ifft(z)", z),
        ("fft2d", "tf.signal.fft2d(z)", {"z": cplx(2, 3, 4)}),
        ("ifft2d", "tf.signal.ifft2d(z)", {"z": cplx(2, 3, 4)}),
        ("fft3d", "tf.signal.fft3d(z)", {"z": cplx(2, 3, 4)}),
        ("ifft3d", "tf.signal.ifft3d(z)", {"z": cplx(2, 3, 4)}),
        ("rfft", "tf.signal.rfft(x)", x),
        ("rfft_odd", "tf.signal.rfft(x)", {"x": real(2, 7)}),
        ("rfft_cut", "tf.signal.rfft(x, [6])", x),
        ("rfft_continued", "tf.signal.rfft(x, [11])", x),
        ("rfft2d", "tf.signal.rfft2d(x)", {"x": real(2, 3, 4)}),
        ("rfft3d", "tf.signal.rfft3d(x)", {"x": real(2, 3, 4)}),
        ("irfft", "tf.signal.irfft(z)", z),
        ("irfft_odd", "tf.signal.irfft(z, [9])", z),
        ("irfft_cut", "tf.signal.irfft(z, [6])", z),
        ("irfft2d", "tf.signal.irfft2d(z)", {"z": cplx(2, 3, 4)}),
        ("irfft3d", "tf.signal.irfft3d(z)", {"z": cplx(2, 3, 4)}),
        ("fftshift", "[tf.signal.fftshift(x), tf.signal.ifftshift(x, axes=[0])]", {"x": real(3, 5)}),
        ("dct", "tf.signal.dct(x)", x),
        ("dct_ortho", "tf.signal.dct(x, norm='ortho')", x),
        ("dct_one", "tf.signal.dct(x, type=1)", x),
        ("dct_three", "tf.signal.dct(x, type=3, n=6)", x),
        ("dct_four", "tf.signal.dct(x, type=4, n=10, norm='ortho')", x),
        ("idct", "tf.signal.idct(x, norm='ortho')", x),
        ("frame", "tf.signal.frame(x, 4, 3, pad_end=True, pad_value=2.0)", x),
        ("frame_axis", "tf.signal.frame(x, 3, 2, axis=1)", {"x": real(2, 7, 3)}),
        ("overlap_and_add", "tf.signal.overlap_and_add(x, 3)", {"x": real(2, 4, 5)}),
        ("stft", "tf.signal.stft(x, 8, 4)", {"x": real(2, 25)}),
        (
            "stft_plain",
            "tf.signal.stft(x, 6, 4, fft_length=9, window_fn=None, pad_end=True)",
            {"x": real(15)},
        ),
        ("inverse_stft", "tf.signal.inverse_stft(z, 8, 4)", {"z": cplx(3, 5)}),
        (
            "stft_and_back",
            "tf.signal.inverse_stft(tf.signal.stft(x, 8, 2), 8, 2, window_fn=tf.signal.inverse_stft_window_fn(2))",
            {"x": real(20)},
        ),
        ("mdct", "tf.signal.mdct(x, 8)", {"x": real(24)}),
        ("mdct_ortho", "tf.signal.mdct(x, 8, norm='ortho', window_fn=None)", {"x": real(2, 20)}),
        ("inverse_mdct", "tf.signal.inverse_mdct(x)", {"x": real(3, 4)}),
        ("mfcc", "tf.signal.mfccs_from_log_mel_spectrograms(x)", x),
        (
            "windows",
            "[tf.signal.hann_window(8), tf.signal.hann_window(7), tf.signal.hamming_window(6, periodic=False), "
            "tf.signal.hann_window(1), tf.signal.vorbis_window(8), tf.signal.kaiser_window(7, 5.0), "
            "tf.signal.kaiser_bessel_derived_window(8)]",
            {},
        ),
        ("mel", "tf.signal.linear_to_mel_weight_matrix(6, 17)", {}),
    ]
    # TensorFlow has no derivative of these: three axes, and inputs that are cut.
    valued = {"rfft_cut", "irfft_odd", "irfft_cut", "rfft3d", "irfft3d"}
    return [Case(f"signal.{n}", call, inputs, gradient=n not in valued, slack=5) for n, call, inputs in rows]


def _special() -> list[Case]:
    x, p = {"x": positive(2, 4)}, {"x": positive(2, 4, low=0.05, high=0.95)}
    names = "i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e y0 y1".split()
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        *[(f"bessel_{n}", f"tf.math.special.bessel_{n}(x)", x) for n in names],
        *[
            (n, f"tf.math.special.{n}(x)", x)
            for n in ("dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence")
        ],
        ("ndtri", "tf.math.ndtri(x)", p),
        ("erfcinv", "tf.math.erfcinv(x)", p),
        ("igamma", "tf.math.igamma(a, x)", {"a": positive(2, 4), **x}),
        ("igammac", "tf.math.igammac(a, x)", {"a": positive(4), **x}),
        ("betainc", "tf.math.betainc(tf.constant(1.3, x.dtype), tf.constant(0.7, x.dtype), x)", p),
        ("zeta", "tf.math.zeta(tf.constant(2.5, x.dtype), x)", x),
        ("polygamma", "tf.math.polygamma(tf.constant(2.0, x.dtype), x)", x),
        ("nextafter", "tf.math.nextafter(x, x + 1.0)", x),
    ]
    # TensorFlow's igamma has no second derivative, and its K and Y have none of order 1.
    once = {"igamma", "igammac", "betainc", "zeta", "polygamma", "nextafter"}
    return [Case(f"special.{n}", call, inputs, second=n not in once, slack=10) for n, call, inputs in rows]


def _nn() -> list[Case]:
    logits = {"x": real(4, 5)}
    image, kernel = {"x": real(2, 6, 5, 3)}, {"k": real(3, 2, 3, 4)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("softmax", "tf.nn.softmax(x)", logits),
        ("softmax_axis", "tf.nn.softmax(x, axis=0)", logits),
        ("log_softmax", "tf.nn.log_softmax(x)", logits),
        ("log_softmax_axis", "tf.nn.log_softmax(x, axis=1)", {"x": real(2, 3, 4)}),
        (
            "softmax_cross_entropy",
            "tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(t), logits=x)",
            {"t": real(4, 5), **logits},
        ),
        (
            "sparse_softmax_cross_entropy",
            "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x)",
            {"i": whole(0, 5, 4), **logits},
        ),
        (
            "sigmoid_cross_entropy",
            "tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=x)",
            {"t": positive(4, 5, low=0.1, high=0.9), **logits},
        ),
        ("l2_loss", "tf.nn.l2_loss(x)", logits),
        ("bias_add", "tf.nn.bias_add(x, b)", {"x": real(2, 3, 4), "b": real(4)}),
        ("moments", "tf.nn.moments(x, axes=[0])", logits),
        ("moments_keepdims", "tf.nn.moments(x, axes=[0, 1], keepdims=True)", {"x": real(2, 3, 4)}),
        (
            "batch_normalization",
            "tf.nn.batch_normalization(x, m, v, b, s, 1e-3)",
            {"x": real(4, 3), "m": real(3), "v": positive(3), "b": real(3), "s": real(3)},
        ),
        ("embedding_lookup", "tf.nn.embedding_lookup(x, i)", {"x": real(5, 3), "i": whole(0, 5, 2, 2)}),
        ("conv2d_valid", "tf.nn.conv2d(x, k, strides=1, padding='VALID')", {**image, **kernel}),
        ("conv2d_same", "tf.nn.conv2d(x, k, strides=1, padding='SAME')", {**image, **kernel}),
        ("conv2d_strides", "tf.nn.conv2d(x, k, strides=[1, 2, 2, 1], padding='SAME')", {**image, **kernel}),
        (
            "conv2d_dilations",
            "tf.nn.conv2d(x, k, strides=1, padding='VALID', dilations=2)",
            {**image, **kernel},
        ),
        (
            "conv2d_transpose",
            "tf.nn.conv2d_transpose(x, k, [2, 12, 10, 2], strides=2, padding='SAME')",
            {"x": real(2, 6, 5, 3), "k": real(3, 3, 2, 3)},
        ),
        ("conv1d", "tf.nn.conv1d(x, k, stride=1, padding='SAME')", {"x": real(2, 6, 3), "k": real(3, 3, 2)}),
        (
            "depthwise_conv2d",
            "tf.nn.depthwise_conv2d(x, k, strides=[1, 1, 1, 1], padding='SAME')",
            {**image, "k": real(3, 3, 3, 2)},
        ),
        ("max_pool2d", "tf.nn.max_pool2d(x, 2, 2, 'VALID')", image),
        ("max_pool2d_same", "tf.nn.max_pool2d(x, 3, 2, 'SAME')", image),
        ("avg_pool2d", "tf.nn.avg_pool2d(x, 2, 2, 'VALID')", image),
        ("avg_pool2d_same", "tf.nn.avg_pool2d(x, 3, 2, 'SAME')", image),
        (
            "conv1d_batches",
            "tf.nn.conv1d(x, k, stride=2, padding='SAME')",
            {"x": real(2, 2, 6, 3), "k": real(3, 3, 2)},
        ),
        (
            "conv3d",
            "tf.nn.conv3d(x, k, strides=[1, 2, 1, 2, 1], padding='SAME')",
            {"x": real(2, 4, 3, 5, 2), "k": real(2, 2, 3, 2, 3)},
        ),
        (
            "convolution_dilations",
            "tf.nn.convolution(x, k, padding='SAME', dilations=[2, 1])",
            {**image, **kernel},
        ),
        (
            "conv1d_transpose",
            "tf.nn.conv1d_transpose(x, k, [2, 7, 2], strides=2, padding='SAME')",
            {"x": real(2, 4, 3), "k": real(3, 2, 3)},
        ),
        (
            "conv3d_transpose",
            "tf.nn.conv3d_transpose(x, k, [1, 4, 6, 3, 2], strides=[2, 2, 1], padding='SAME')",
            {"x": real(1, 2, 3, 3, 3), "k": real(3, 2, 2, 2, 3)},
        ),
        (
            "conv_transpose",
            "tf.nn.conv_transpose(x, k, [1, 5, 6, 2], strides=1, padding='VALID')",
            {"x": real(1, 3, 5, 3), "k": real(3, 2, 2, 3)},
        ),
        (
            "depthwise_conv2d_strides",
            "tf.nn.depthwise_conv2d(x, k, strides=[1, 2, 2, 1], padding='VALID')",
            {**image, "k": real(3, 3, 3, 2)},
        ),
        (
            "depthwise_conv2d_dilations",
            "tf.nn.depthwise_conv2d(x, k, strides=[1, 1, 1, 1], padding='SAME', dilations=[2, 2])",
            {**image, "k": real(3, 3, 3, 2)},
        ),
        (
            "separable_conv2d",
            "tf.nn.separable_conv2d(x, k, p, strides=[1, 1, 1, 1], padding='SAME')",
            {**image, "k": real(3, 3, 3, 2), "p": real(1, 1, 6, 4)},
        ),
        ("max_pool1d", "tf.nn.max_pool1d(x, 3, 2, 'SAME')", {"x": real(2, 7, 3)}),
        ("avg_pool1d", "tf.nn.avg_pool1d(x, 3, 2, 'SAME')", {"x": real(2, 7, 3)}),
        (
            "max_pool3d",
            "tf.cast(tf.nn.max_pool3d(tf.cast(x, tf.float32), 2, 2, 'SAME'), x.dtype)",
            {"x": real(1, 3, 4, 5, 2)},
        ),
        ("max_pool", "tf.nn.max_pool(x, 2, 1, 'VALID')", {"x": real(2, 7, 3)}),
        ("avg_pool", "tf.nn.avg_pool(x, 2, 1, 'VALID', data_format='NWC')", {"x": real(2, 7, 3)}),
        ("pool_dilations", "tf.nn.pool(x, [2, 2], 'MAX', dilations=[2, 3])", image),
        ("pool_mean_dilations", "tf.nn.pool(x, [2, 2], 'AVG', dilations=[2, 3])", image),
    ]
    undifferentiated = {
        "conv2d_dilations",
        "conv3d_dilations",
        "depthwise_conv2d_dilations",
    }  # TensorFlow has no gradient of it on the CPU
    return [
        Case(f"nn.{n}", call, inputs, gradient=n not in undifferentiated, slack=2) for n, call, inputs in rows
    ]


def _kinks() -> list[Case]:
    """Ties, kinks and edges: where a derivative is a choice, or where a zero meets an infinity."""
    zero = {"x": fixed([-1.0, 0.0, 1.0])}
    edge = {"x": fixed([0.0, 1.0])}
    tied = {"x": fixed([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("relu", "tf.nn.relu(x)", zero),
        ("relu6", "tf.nn.relu6(x)", {"x": fixed([0.0, 3.0, 6.0])}),
        ("elu", "tf.nn.elu(x)", zero),
        ("selu", "tf.nn.selu(x)", zero),
        ("leaky_relu", "tf.nn.leaky_relu(x)", zero),
        ("abs", "tf.abs(x)", zero),
        ("sign", "tf.sign(x)", zero),
        ("sqrt", "tf.sqrt(x)", edge),
        ("power_half", "x ** 0.5", edge),
        ("power_two", "x ** 2.0", zero),
        ("power_of_zero", "x ** y", {"x": fixed([0.0, 0.0, 2.0]), "y": fixed([1.0, 2.0, 0.0])}),
        ("square_at_zero", "tf.square(x)", zero),
        ("norm", "tf.norm(x)", {"x": fixed([0.0, 0.0])}),
        ("euclidean_norm", "tf.math.reduce_euclidean_norm(x)", {"x": fixed([0.0, 0.0])}),
        ("maximum_constant", "tf.maximum(x, 0.0)", zero),
        ("minimum_constant", "tf.minimum(x, 0.0)", zero),
        ("maximum_tie", "tf.maximum(x, y)", {"x": fixed([1.0, 2.0]), "y": fixed([1.0, 3.0])}),
        ("minimum_tie", "tf.minimum(x, y)", {"x": fixed([1.0, 2.0]), "y": fixed([1.0, 3.0])}),
        ("clip_on_bound", "tf.clip_by_value(x, -1.0, 1.0)", {"x": fixed([-2.0, -1.0, 0.5, 1.0, 2.0])}),
        (
            "clip_crossed_bounds",
            "tf.clip_by_value(x, y, 1.0)",
            {"x": fixed([-2.0, 0.5, 1.5, 3.0]), "y": fixed([2.0, 2.0, 2.0, 2.0])},
        ),
        (
            "reduce_logsumexp_of_large_numbers",
            "tf.reduce_logsumexp(x, axis=1)",
            {"x": fixed([[3e4, 3e4, -3.0], [1e30, 1e30, 1e30]])},
        ),
        (
            "cumulative_logsumexp_of_none",
            "tf.math.cumulative_logsumexp(x, exclusive=True)",
            {"x": fixed([1.0, 2.0, 3.0])},
        ),
        ("linspace_to_infinity", "tf.linspace(x[0], x[1], 4)", {"x": fixed([-1.0, np.inf])}),
        (
            "saturate_cast_of_infinities",
            "tf.saturate_cast(x, tf.int32)",
            {"x": fixed([-np.inf, -5.7, np.inf])},
        ),
        (
            "saturate_cast_to_float",
            "tf.cast(tf.saturate_cast(x, tf.float64), tf.float64)",
            {"x": fixed([-np.inf, 2.0, np.inf])},
        ),
        ("reduce_max_ties", "tf.reduce_max(x, axis=1)", tied),
        ("reduce_min_ties", "tf.reduce_min(x, axis=0)", tied),
        ("reduce_max_all", "tf.reduce_max(x)", tied),
        (
            "divide_no_nan",
            "tf.math.divide_no_nan(x, y)",
            {"x": fixed([1.0, 2.0, 0.0]), "y": fixed([0.0, 4.0, 0.0])},
        ),
        ("clip_by_norm_zero", "tf.clip_by_norm(x, 1.0)", {"x": fixed([0.0, 0.0])}),
        ("where_square", "tf.where(x < 10.0, x, x * x)", {"x": fixed([1.0, 10.0, 11.0])}),
        ("where_log_leak", "tf.where(x > 0.0, tf.math.log(x), 0.0)", edge),
        ("where_reciprocal_leak", "tf.where(x > 0.0, 1.0 / x, 0.0)", edge),
        ("where_power_leak", "tf.where(x > 0.0, x ** 0.5, 0.0)", edge),
        ("where_sqrt_no_leak", "tf.where(x > 0.0, tf.sqrt(x), 0.0)", edge),
        ("xlogy_zero", "tf.math.xlogy(x, y)", {"x": fixed([0.0, 1.0]), "y": fixed([0.0, 2.0])}),
        (
            "max_pool_ties",
            "tf.nn.max_pool2d(tf.reshape(x, [1, 2, 2, 1]), 2, 2, 'VALID')",
            {"x": fixed([1.0, 2.0, 2.0, 0.0])},
        ),
        (
            "floor_whole",
            "[tf.floor(x), tf.math.ceil(x), tf.round(x)]",
            {"x": fixed([-1.5, -0.5, 0.5, 1.5, 2.5, 2.0])},
        ),
        (
            "floordiv_signs",
            "[i // j, i % j]",
            {"i": fixed(np.int32([7, -7, 7, -7])), "j": fixed(np.int32([2, 2, -2, -2]))},
        ),
        ("softplus_extremes", "tf.math.softplus(x)", {"x": fixed([-100.0, -20.0, 0.0, 20.0, 80.0])}),
        ("sigmoid_extremes", "tf.sigmoid(x)", {"x": fixed([-80.0, -20.0, 0.0, 20.0, 80.0])}),
        ("logsumexp_extremes", "tf.reduce_logsumexp(x)", {"x": fixed([1000.0, 1000.5, -1000.0])}),
        ("log_softmax_extremes", "tf.nn.log_softmax(x)", {"x": fixed([1000.0, 0.0, -1000.0])}),
        (
            "sigmoid_cross_entropy_extremes",
            "tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=x)",
            {"t": fixed([0.0, 1.0, 0.0, 1.0]), "x": fixed([-200.0, -200.0, 200.0, 200.0])},
        ),
        ("empty_sum", "[tf.reduce_sum(x), tf.reduce_prod(x)]", {"x": fixed(np.zeros([0, 3]))}),
    ]
    return [Case(f"kink.{name}", call, inputs, second=False) for name, call, inputs in rows]


def _poles() -> list[Case]:
    """Zeros, infinities and numbers far out: where exact zeros win, and what the rest is."""
    everywhere = fixed(np.array([0.0, -1.0, 1.0, -2.0, 0.5, 3.0, np.inf, -np.inf, 1e20]))
    cases = [
        Case(
            f"poles.masked_{f}",
            f"tf.where(x > 0.7, tf.math.{f}(x), 0.0 * tf.ones_like(x))",
            {"x": everywhere},
            second=False,
        )
        for f in "sqrt rsqrt reciprocal log exp tanh".split()
    ]
    cases += [
        Case(f"poles.{f}", f"tf.math.{f}(x)", {"x": everywhere}, second=False)
        for f in "asinh acosh rsqrt reciprocal softsign tanh sigmoid atan".split()
    ]
    pairs = np.array(
        [[a, b] for a in (0.0, 1.0, -6.0, np.inf, 2.0) for b in (1e-3, 3.0, -np.inf, np.inf, -3.0)]
    )
    both = {"x": fixed(pairs[:, 0]), "y": fixed(pairs[:, 1])}
    cases += [
        Case("poles.floordiv", "x // y", both, gradient=False),
        Case("poles.floormod", "x % y", both, gradient=False),
        Case("poles.diag_range", "tf.linalg.diag(v, k=(-1, 1), padding_value=2.0)", {"v": real(2, 3, 4)}),
        Case(
            "poles.diag_part_range",
            "tf.linalg.diag_part(a, k=(-1, 2), align='LEFT_RIGHT')",
            {"a": real(3, 4)},
        ),
        Case(
            "poles.argmax_nan",
            "[tf.argmax(x), tf.argmin(x)]",
            {"x": fixed(np.array([np.nan, 1.0, 3.0, -2.0]))},
            gradient=False,
        ),
    ]
    return cases


def all_cases() -> list[Case]:
    families = (
        _unary,
        _binary,
        _complex,
        _reductions,
        _array,
        _linalg,
        _signal,
        _special,
        _nn,
        _kinks,
        _poles,
    )
    cases = [case for family in families for case in family()]
    seen: dict[str, Case] = {}
    for case in cases:
        if case.name in seen:
            raise ValueError(f"two cases are named {case.name}")
        seen[case.name] = case
    return cases
