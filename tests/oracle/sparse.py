"""Expressions of `tf.sparse` and `tf.sets`: sparse results by their indices, values and shapes."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, fixed, positive, real, whole

# Two matrices of values and a third axis, put together in the expressions.
_A = "tf.SparseTensor([[0, 1], [1, 0], [1, 3], [3, 2]], x, [4, 5])"
_B = "tf.SparseTensor([[0, 1], [1, 2], [3, 2], [3, 4]], y, [4, 5])"
_C = "tf.SparseTensor([[0, 1, 1], [0, 2, 0], [1, 0, 3]], y[:3], [2, 3, 4])"
_MIXED = "tf.SparseTensor([[3, 2], [0, 1], [1, 3], [1, 0]], x, [4, 5])"
_X, _XY = {"x": real(4)}, {"x": real(4), "y": real(4)}


def _all(call: str) -> str:
    """What a sparse tensor consists of."""
    return f"(lambda s: [s.indices, s.values, s.dense_shape])({call})"


def _conversion() -> list[tuple[str, str, dict[str, Draw]]]:
    holes = fixed(np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 3.0]]))
    return [
        ("from_dense", _all("tf.sparse.from_dense(d)"), {"d": holes}),
        ("to_dense", f"tf.sparse.to_dense({_A})", _X),
        ("to_dense_default", f"tf.sparse.to_dense({_A}, 2.5)", _X),
        ("to_dense_cube", f"tf.sparse.to_dense({_C})", _XY),
        ("reorder", _all(f"tf.sparse.reorder({_MIXED})"), _X),
        ("reshape", _all(f"tf.sparse.reshape({_A}, [2, -1, 5])"), _X),
        ("transpose", _all(f"tf.sparse.transpose({_A})"), _X),
        ("transpose_cube", _all(f"tf.sparse.transpose({_C}, [2, 0, 1])"), _XY),
        ("slice", _all(f"tf.sparse.slice({_A}, [1, 0], [3, 3])"), _X),
        ("slice_beyond", _all(f"tf.sparse.slice({_A}, [3, 1], [5, 9])"), _X),
        ("concat", _all(f"tf.sparse.concat(1, [{_A}, {_B}])"), _XY),
        ("concat_rows", _all(f"tf.sparse.concat(-2, [{_A}, {_B}, {_A}])"), _XY),
        (
            "concat_expanded",
            _all(
                f"tf.sparse.concat(0, [{_A}, tf.SparseTensor([[0, 6]], y[:1], [1, 7])], expand_nonconcat_dims=True)"
            ),
            _XY,
        ),
        ("split", f"[[s.indices, s.values, s.dense_shape] for s in tf.sparse.split({_A}, 2, axis=1)]", _X),
        (
            "split_rows",
            f"[[s.indices, s.values, s.dense_shape] for s in tf.sparse.split({_A}, 3, axis=0)]",
            _X,
        ),
        ("expand_dims", _all(f"tf.sparse.expand_dims({_A}, 1)"), _X),
        ("expand_dims_last", _all(f"tf.sparse.expand_dims({_A})"), _X),
        ("retain", _all(f"tf.sparse.retain({_A}, [True, False, True, True])"), _X),
        (
            "fill_empty_rows",
            "(lambda s, e: [s.indices, s.values, s.dense_shape, e])"
            f"(*tf.sparse.fill_empty_rows({_A}, tf.constant(1.5, x.dtype)))",
            _X,
        ),
        ("eye", _all("tf.sparse.eye(3)") + " + " + _all("tf.sparse.eye(2, 4, tf.float64)"), {}),
        (
            "mask",
            "(lambda s: [s.values, s.indices])(tf.sparse.mask(tf.IndexedSlices(v, tf.constant([4, 1, 2])), [1, 7]))",
            {"v": real(3, 2)},
        ),
    ]


def _values() -> list[tuple[str, str, dict[str, Draw]]]:
    return [
        ("add", _all(f"tf.sparse.add({_A}, {_B})"), _XY),
        ("add_dense", f"tf.sparse.add({_A}, d)", {**_X, "d": real(4, 5)}),
        ("add_to_dense", f"tf.sparse.add(d, {_A})", {**_X, "d": real(4, 5)}),
        ("softmax", _all(f"tf.sparse.softmax({_A})"), _X),
        ("softmax_cube", _all(f"tf.sparse.softmax({_C})"), _XY),
        ("map_values", _all(f"tf.sparse.map_values(tf.multiply, {_A}, 3.0)"), _X),
        ("times", _all(f"{_A} * d"), {**_X, "d": real(4, 5)}),
        ("times_row", _all(f"{_A} * d"), {**_X, "d": real(5)}),
        ("over", _all(f"{_A} / d"), {**_X, "d": positive(4, 5)}),
        ("matmul", f"tf.sparse.sparse_dense_matmul({_A}, d)", {**_X, "d": real(5, 3)}),
        (
            "matmul_adjoint",
            f"tf.sparse.sparse_dense_matmul({_A}, d, adjoint_a=True)",
            {**_X, "d": real(4, 3)},
        ),
        (
            "matmul_adjoint_b",
            f"tf.sparse.sparse_dense_matmul({_A}, d, adjoint_b=True)",
            {**_X, "d": real(3, 5)},
        ),
        ("matmul_both", f"tf.sparse.sparse_dense_matmul({_A}, d, True, True)", {**_X, "d": real(3, 4)}),
        ("matmul_behind", f"tf.sparse.sparse_dense_matmul(d, {_A})", {**_X, "d": real(2, 4)}),
        (
            "matmul_behind_adjoint",
            f"tf.sparse.sparse_dense_matmul(d, {_A}, True, True)",
            {**_X, "d": real(5, 2)},
        ),
        *(
            (f"reduce_sum_{n}", f"tf.sparse.reduce_sum({_C}{rest})", _XY)
            for n, rest in (
                ("all", ""),
                ("axis", ", 1"),
                ("axes", ", [0, -1]"),
                ("kept", ", 1, keepdims=True"),
            )
        ),
        *(
            (f"segment_{n}", f"tf.sparse.segment_{n}(d, [3, 0, 0, 2], [0, 0, 1, 3])", {"d": real(4, 2)})
            for n in ("sum", "mean", "sqrt_n")
        ),
        (
            "segment_numbers",
            "[tf.sparse.segment_sum(d, [1, 2], [0, 2], 5), tf.sparse.segment_mean(d, [1, 2], [0, 0], 3)]",
            {"d": real(4, 2)},
        ),
    ]


def _valued() -> list[tuple[str, str, dict[str, Draw]]]:
    i = {"i": whole(0, 6, 3, 4)}
    words = {"i": fixed(np.int64([[1, 5, 1], [2, 2, 0]])), "j": fixed(np.int64([[5, 9, 3], [7, 2, 4]]))}
    cubes = {"i": whole(0, 5, 2, 3, 4), "j": whole(0, 5, 2, 3, 2)}
    return [
        ("maximum", _all(f"tf.sparse.maximum({_A}, {_B})"), _XY),
        ("minimum", _all(f"tf.sparse.minimum({_A}, {_B})"), _XY),
        ("add_threshold", _all(f"tf.sparse.add({_A}, {_B}, tf.constant(1.5, x.dtype))"), _XY),
        ("reset_shape", _all(f"tf.sparse.reset_shape({_A}, [6, 5])"), _X),
        ("reset_shape_tight", _all(f"tf.sparse.reset_shape({_B})"), _XY),
        ("reduce_max", f"tf.sparse.reduce_max({_C}, 1)", _XY),
        ("reduce_max_all", f"tf.sparse.reduce_max({_A}, keepdims=True)", _X),
        ("reduce_sparse", _all(f"tf.sparse.reduce_sum({_A}, 1, output_is_sparse=True)"), _X),
        ("to_indicator", "tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], i[0, :3], [3, 2]), 7)", i),
        ("bincount", _all("tf.sparse.bincount(i)"), i),
        ("bincount_rows", _all("tf.sparse.bincount(i, axis=-1)"), i),
        ("bincount_limits", _all("tf.sparse.bincount(i, axis=-1, minlength=9)") + " + "
         + _all("tf.sparse.bincount(i, maxlength=3)"), i),
        ("bincount_binary", _all("tf.sparse.bincount(i, axis=-1, binary_output=True)"), i),
        ("bincount_weights", _all("tf.sparse.bincount(i, weights=tf.cast(i, tf.float32) * 0.5, axis=-1)"), i),
        ("bincount_sparse", _all("tf.sparse.bincount(tf.sparse.from_dense(i), axis=-1)"), i),
        *((f"sets_{n}", _all(f"tf.sets.{n}(i, j)"), words) for n in ("intersection", "union", "difference")),
        ("sets_difference_back", _all("tf.sets.difference(i, j, aminusb=False)"), words),
        *((f"sets_{n}_cube", _all(f"tf.sets.{n}(i, j)"), cubes) for n in ("intersection", "union", "difference")),
        ("sets_of_sparse", _all("tf.sets.union(tf.sparse.from_dense(i), tf.sparse.from_dense(j))"), words),
        ("sets_size", "tf.sets.size(tf.sets.union(i, j))", words),
        ("sets_size_cube", "tf.sets.size(tf.sets.intersection(i, j))", cubes),
    ]  # fmt: skip


# TensorFlow has no derivative of these.
_NEVER = {"split", "split_rows", "concat", "concat_rows", "concat_expanded"}
_ONCE = {
    "fill_empty_rows",
    "softmax",
    "softmax_cube",
    "segment_sum",
    "segment_mean",
    "segment_sqrt_n",
    "segment_numbers",
}


def all_cases() -> list[Case]:
    cases = [
        Case(f"sparse.{n}", call, inputs, gradient=n not in _NEVER, second=n not in _ONCE, slack=3)
        for n, call, inputs in (*_conversion(), *_values())
    ]
    return cases + [Case(f"sparse.{n}", call, inputs, gradient=False) for n, call, inputs in _valued()]
