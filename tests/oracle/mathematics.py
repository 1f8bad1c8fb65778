"""Cases of segments, elements by place, bands of matrices, and small functions of numbers."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, cplx, fixed, positive, real, regular, whole

_IDS = np.array([2, -1, 0, 2, 4, 0], np.int32)


def _segments() -> list[Case]:
    data: dict[str, Draw] = {"x": real(6, 2), "i": fixed(_IDS)}
    tied: dict[str, Draw] = {"x": fixed([3.0, 1.0, 3.0, 7.0, 3.0, 1.0]), "i": fixed(_IDS)}
    zeros: dict[str, Draw] = {"x": fixed([0.0, 2.0, 3.0, 0.0, 5.0, 0.5]), "i": fixed(_IDS)}
    matrix: dict[str, Draw] = {"x": real(2, 3, 2), "i": fixed(np.int32([[0, 1, 1], [2, 1, 0]]))}
    rising: dict[str, Draw] = {"x": real(5, 2), "i": fixed(np.int32([0, 0, 2, 2, 3]))}
    cases = []
    for kind in ("max", "min", "prod", "sum", "mean", "sqrt_n"):
        f = f"tf.math.unsorted_segment_{kind}"
        # The ends of the dtype in empty segments are put aside: nothing is near them.
        call = f"{f}(x, i, 5)" if kind not in ("max", "min") else f"tf.gather({f}(x, i, 5), [0, 2, 4])"
        cases += [
            Case(f"segment.unsorted_{kind}", call, data),
            Case(f"segment.unsorted_{kind}_ties", call, tied),
            Case(f"segment.unsorted_{kind}_zeros", call, zeros, second=kind != "prod"),
            Case(f"segment.unsorted_{kind}_of_matrix", f"{f}(x, i, 3)", matrix),
        ]
    for kind in ("max", "min", "prod", "sum", "mean"):
        cases.append(Case(f"segment.{kind}", f"tf.math.segment_{kind}(x, i)", rising))
        whole_numbers: dict[str, Draw] = {"j": whole(-9, 9, 5), "i": rising["i"]}
        cases.append(Case(f"segment.{kind}_of_integers", f"tf.math.segment_{kind}(j, i)", whole_numbers))
    cases.append(
        Case(
            "segment.prod_complex", "tf.math.unsorted_segment_prod(x, i, 5)", {"x": cplx(6), "i": fixed(_IDS)}
        )
    )
    return cases


def _places() -> list[Case]:
    numbers: dict[str, Draw] = {"i": whole(0, 6, 20)}
    values: dict[str, Draw] = {"x": real(4, 5)}
    both: dict[str, Draw] = {"i": whole(-20, 20, 12), "j": fixed(np.int32([3, -3, 7, -7] * 3))}
    wanted = {
        "unique": ("list(tf.unique(i))", numbers),
        "unique_with_counts": ("list(tf.unique_with_counts(i, out_idx=tf.int64))", numbers),
        "unique_of_floats": (
            "[tf.unique(x).y, tf.unique(x).idx]",
            {"x": fixed([1.5, 0.0, np.nan, 1.5, -0.0, np.nan, 2.0])},
        ),
        "histogram": ("tf.histogram_fixed_width(x, tf.cast([-1.0, 1.5], x.dtype), 7)", values),
        "histogram_bins": ("tf.histogram_fixed_width_bins(x, tf.cast([-1.0, 1.5], x.dtype), 7)", values),
        "histogram_of_integers": ("tf.histogram_fixed_width(i, [1, 5], 3, dtype=tf.int64)", numbers),
        "truncatediv": ("[tf.truncatediv(i, j), tf.truncatemod(i, j)]", both),
        "truncatediv_of_floats": (
            "[tf.truncatediv(x, y), tf.truncatemod(x, y)]",
            {"x": real(6, low=0.5, high=9.0), "y": real(6)},
        ),
        "unravel_index": ("tf.unravel_index(i, [2, 3])", numbers),
        "sobol_sample": (
            "[tf.math.sobol_sample(5, 9), tf.math.sobol_sample(3, 4, skip=6, dtype=tf.float64)]",
            {},
        ),
    }
    cases = [Case(f"place.{name}", call, inputs, gradient=False) for name, (call, inputs) in wanted.items()]
    cases += [
        Case(
            "place.approx_max_k",
            "list(tf.math.approx_max_k(x, 3))",
            {"x": real(4, 7)},
            precisions=("float32",),
        ),
        Case("place.scalar_mul", "tf.scalar_mul(y, x)", {"x": real(3, 2), "y": real()}),
        Case("place.realdiv", "tf.realdiv(x, y)", {"x": real(3, 2), "y": real(2)}),
    ]
    return cases


def _bands() -> list[Case]:
    middle = lambda rng: rng.uniform(-1, 1, (2, 3, 5)) + np.array([[0.0], [4.0], [0.0]])  # noqa: E731
    first = lambda rng: rng.uniform(-1, 1, (3, 5)) + np.array([[4.0], [0.0], [0.0]])  # noqa: E731
    wide = lambda rng: rng.uniform(-1, 1, (3, 5)) + 1j * rng.uniform(-1, 1, (3, 5)) + [[0], [5], [0]]  # noqa: E731
    many: dict[str, Draw] = {"d": middle, "b": real(2, 5, 3)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("tridiagonal_solve", "tf.linalg.tridiagonal_solve(d, b)", many),
        ("tridiagonal_solve_vector", "tf.linalg.tridiagonal_solve(d, b)", {"d": middle, "b": real(2, 5)}),
        (
            "tridiagonal_solve_turned",
            "tf.linalg.tridiagonal_solve(d, b, transpose_rhs=True, conjugate_rhs=True)",
            {"d": wide, "b": cplx(2, 5)},
        ),
        (
            "tridiagonal_solve_sequence",
            "tf.linalg.tridiagonal_solve([u, m, l], b, diagonals_format='sequence')",
            {"u": real(4), "m": positive(5, low=4.0, high=6.0), "l": real(4), "b": real(5)},
        ),
        (
            "tridiagonal_solve_matrix",
            "tf.linalg.tridiagonal_solve(a, b, diagonals_format='matrix')",
            {"a": regular(4, 4), "b": real(4, 2)},
        ),
        ("tridiagonal_matmul", "tf.linalg.tridiagonal_matmul(d, b)", many),
        ("banded", "tf.linalg.banded_triangular_solve(d, b)", {"d": first, "b": real(5, 2)}),
        (
            "banded_adjoint",
            "tf.linalg.banded_triangular_solve(d, b, adjoint=True)",
            {"d": first, "b": real(5, 2)},
        ),
        (
            "banded_upper",
            "tf.linalg.banded_triangular_solve(tf.reverse(d, [0]), b, lower=False)",
            {"d": first, "b": real(5, 2)},
        ),
    ]
    cases = [Case(f"band.{name}", call, inputs, slack=4) for name, call, inputs in rows]
    cases.append(
        Case(
            "band.eigh_tridiagonal",
            "tf.linalg.eigh_tridiagonal(m, u)",
            {"m": real(5), "u": real(4)},
            gradient=False,
            slack=10,
        )
    )
    return cases


def all_cases() -> list[Case]:
    return [*_segments(), *_places(), *_bands()]
