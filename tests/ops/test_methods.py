"""NumPy's methods on tensors and variables, compared with NumPy's on arrays; indexing with arrays; `at`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as gd

X = np.random.default_rng(3).normal(size=(4, 5, 6))
N = (X * 10).astype(np.int32)

METHODS: dict[str, Any] = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "all": lambda x: x.all(),
    "all_axis": lambda x: x.all(axis=(0, 1)),
    "any": lambda x: x.any(1, keepdims=True),
    "argmax": lambda x: x.argmax(),
    "argmax_axis": lambda x: x.argmax(axis=1),
    "argmin_keepdims": lambda x: x.argmin(axis=-1, keepdims=True),
    "argmin_all_keepdims": lambda x: x.argmin(keepdims=True),
    "argsort": lambda x: x.argsort(axis=1),
    "astype": lambda x: x.astype(np.float32),
    "clip": lambda x: x.clip(0, 2),
    "compress": lambda x: x.compress([True, False, True]),
    "compress_axis": lambda x: x.compress(np.arange(x.shape[1]) % 2 == 0, axis=1),
    "copy": lambda x: x.copy(),
    "cumprod": lambda x: x[:, :2].cumprod(axis=1),
    "cumsum": lambda x: x.cumsum(),
    "cumsum_axis": lambda x: x.cumsum(axis=-1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal_axes": lambda x: x.diagonal(offset=1, axis1=2, axis2=0),
    "dot": lambda x: x[0].dot(x[1].T),
    "dot_vectors": lambda x: x[0, 0].dot(x[1, 1]),
    "flatten": lambda x: x.flatten(),
    "max": lambda x: x.max(axis=1),
    "mean": lambda x: x.mean(),
    "mean_axis": lambda x: x.mean(axis=(0, 2), keepdims=True),
    "min": lambda x: x.min(),
    "ndim": lambda x: x.ndim,
    "prod": lambda x: x[0].prod(axis=0),
    "ravel": lambda x: x.ravel(),
    "repeat": lambda x: x.repeat(2, axis=1),
    "reshape": lambda x: x.reshape(5, -1),
    "reshape_tuple": lambda x: x.reshape((6, 20)),
    "round": lambda x: x.round(),
    "round_decimals": lambda x: x.round(2),
    "round_tens": lambda x: x.round(-1),
    "size": lambda x: x.size,
    "squeeze": lambda x: x[:1].squeeze(),
    "std": lambda x: x.std(axis=0),
    "std_ddof": lambda x: x.std(ddof=1),
    "sum": lambda x: x.sum(),
    "sum_axis": lambda x: x.sum(0),
    "sum_dtype": lambda x: x.sum(axis=1, dtype=np.float32),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "take": lambda x: x.take([3, 0, -1]),
    "take_axis": lambda x: x.take(np.array([[1, 0], [2, 2]]), axis=1),
    "transpose": lambda x: x.transpose(),
    "transpose_axes": lambda x: x.transpose(2, 0, 1),
    "transpose_tuple": lambda x: x.transpose((1, 2, 0)),
    "var": lambda x: x.var(axis=1),
}
KINDS = {"float": X, "int": N, "bool": X > 0}
NOT_FOR = {
    "bool": {"clip", "cumprod", "dot", "dot_vectors", "round", "round_decimals", "round_tens", "argsort", "argmax", "argmax_axis",
             "argmin_keepdims", "argmin_all_keepdims", "max", "min"},
    "int": {"argsort", "round_decimals", "round_tens"},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_numpys(name, kind):
    if name in NOT_FOR.get(kind, ()):
        pytest.skip("NumPy or graphad has no such method for this dtype, or the order of ties differs")
    use, x = METHODS[name], KINDS[kind]
    expected = use(x)
    for made in (gd.constant(x), gd.Variable(x)):
        found = use(made)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        if isinstance(found, gd.Tensor):
            assert found.shape == np.shape(expected)
            if name != "dot":
                assert found.dtype.as_numpy_dtype == np.asarray(expected).dtype
    if isinstance(expected, int):
        return
    np.testing.assert_allclose(gd.function(use)(gd.constant(x)), expected, rtol=1e-6, atol=1e-9)


def test_nonzero_and_parts_of_complex_numbers():
    for ours, theirs in zip(gd.constant(N).nonzero(), N.nonzero(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    z = np.array([1 + 2j, -3j])
    t = gd.constant(z)
    np.testing.assert_array_equal(t.real, z.real)
    np.testing.assert_array_equal(t.imag, z.imag)
    np.testing.assert_array_equal(t.conj(), z.conj())


def test_gradients_go_through_methods():
    def f(x):
        return (x.T.reshape(-1, 4).mean(axis=1) * x.sum(axis=(0, 1)).repeat(5)).std()

    x = X.copy()
    found = gd.grad(f)(x)
    e = np.zeros_like(x)
    e[1, 2, 3] = 1e-6
    difference = (float(f(gd.constant(x + e))) - float(f(gd.constant(x - e)))) / 2e-6
    np.testing.assert_allclose(found[1, 2, 3], difference, rtol=1e-6)


def test_the_size_is_none_while_it_is_not_known():
    seen = []

    @gd.function(input_signature=[gd.TensorSpec([None, 3])])
    def f(x):
        seen.append(x.size)
        return x

    f(np.ones((2, 3), np.float32))
    assert seen == [None]


@pytest.mark.parametrize("way", [np.sum, np.add.reduce, np.prod, np.cumsum, np.mean, np.std, np.any, np.all])
def test_numpys_functions_widen_small_integers_as_numpy_does(way):
    x = np.array([100, 100, 27], np.int8)
    found, expected = way(gd.constant(x)), way(x)
    np.testing.assert_allclose(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


M = X[:, :, 0] > 0
KEYS: dict[str, Any] = {
    "list": [0, 2],
    "matrix": np.array([[0, 1], [2, -1]]),
    "behind_slice": (slice(None), [1, 2]),
    "pairs": ([0, 1], [2, 3]),
    "apart": ([0, 1], slice(None), [2, 3]),
    "at_the_end": (slice(None), [0, 1], [2, 3]),
    "ellipsis": (..., [0, 1]),
    "broadcast": ([[0], [1]], [0, 1, 2]),
    "int_and_list": (0, [1, 2]),
    "int_apart": (0, slice(None), [1, 2]),
    "slice_and_int": (slice(1, 3), [0, -1], 2),
    "new_axis_between": ([0, 1], None, [2, 3]),
    "new_axis_first": (None, [0, 1], ..., [1, 2]),
    "empty": [],
    "mask_of_all": X > 0,
    "mask_of_rows": M,
    "mask_and_int": (M, 0),
    "mask_and_slice": (np.array([True, False, True, True]), slice(0, 2)),
    "mask_in_the_middle": (slice(None), np.array([True, False, True, True, False]), 1),
    "list_of_bools": ([True, False, True, False],),
    "steps": (slice(None, None, -2), [0, 1], ..., None),
    "numpy_int": (np.int64(1), [0, 1]),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("mode", ["eager", "traced", "compiled", "unknown"])
def test_indexing_with_arrays_is_numpys(name, mode):
    key = KEYS[name]
    options = {
        "unknown": {"input_signature": [gd.TensorSpec([None] * 3, gd.float64)]},
        "compiled": {"jit_compile": True},
    }
    f = (lambda x: x[key]) if mode == "eager" else gd.function(lambda x: x[key], **options.get(mode, {}))
    found = f(gd.constant(X))
    assert found.shape == X[key].shape
    np.testing.assert_array_equal(found, X[key])


@pytest.mark.parametrize("name", KEYS)
def test_the_gradient_of_indexing_with_arrays_adds_up(name):
    key = KEYS[name]
    expected = np.zeros_like(X)
    np.add.at(expected, key, 2 * X[key])
    np.testing.assert_allclose(gd.grad(lambda x: gd.reduce_sum(x[key] ** 2))(X), expected)


def test_index_tensors_may_be_known_at_run_time_only():
    @gd.function
    def f(x, i, j):
        return x[i, :, j]

    i, j = np.array([0, 1, -1]), np.array([2, 3, 0])
    np.testing.assert_array_equal(f(gd.constant(X), i, j), X[i, :, j])
    np.testing.assert_array_equal(gd.vmap(lambda row, k: row[k])(X, np.array([[0, 1]] * 4)), X[:, [0, 1]])
    with pytest.raises(gd.errors.GraphadError, match=r"not in \[0, 4\)"):
        f(gd.constant(X), np.array([4]), np.array([0]))


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "key", [1, (0, 2), slice(1, 3), (..., slice(None, None, 2)), [0, 2], ([0, 1], [2, 3]), M], ids=str
)
def test_a_part_is_changed(key, traced):
    y = 2.0

    def use(x):
        at = x.at[key]
        return [
            at.set(y),
            at.add(y),
            at.subtract(y),
            at.multiply(y),
            at.divide(y),
            at.min(y),
            at.max(y),
            at.get(),
        ]

    found = (gd.function(use) if traced else use)(gd.constant(X))
    ways: list[Any] = [
        lambda p: y, lambda p: p + y, lambda p: p - y, lambda p: p * y, lambda p: p / y,
        lambda p: np.minimum(p, y), lambda p: np.maximum(p, y),
    ]  # fmt: skip
    for result, way in zip(found, ways, strict=False):
        expected = X.copy()
        expected[key] = way(expected[key])
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(found[-1], X[key])


def test_what_is_added_twice_counts_twice_and_gradients_reach_both():
    x = gd.constant([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.at[[0, 0, 2]].add([1.0, 2.0, 5.0]), [4.0, 2.0, 8.0])
    by_x, by_y = gd.grad(lambda x, y: gd.reduce_sum(x.at[[0, 2]].set(y) ** 2), (0, 1))(
        x, gd.constant([5.0, 6.0])
    )
    np.testing.assert_array_equal(by_x, [0.0, 4.0, 0.0])
    np.testing.assert_array_equal(by_y, [10.0, 12.0])


def test_no_method_has_the_name_of_what_a_symbol_holds():
    from graphad.ops.methods import METHODS
    from graphad.trace.tracer import SymbolicTensor

    held = {name for base in SymbolicTensor.__mro__ for name in getattr(base, "__slots__", ())}
    assert "trace" in held and not held & METHODS.keys()


def test_a_branch_of_rows_in_a_function_is_traced():
    row = lambda x: gd.cond(gd.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: -x)  # noqa: E731
    f = gd.function(lambda x: gd.vectorized_map(row, x))
    np.testing.assert_array_equal(f(gd.constant([[1.0, 2.0], [-1.0, -2.0]])), [[2.0, 4.0], [1.0, 2.0]])


NAMED_TWICE = [np.array([0, 0, 2]), ([1, 0, 1], slice(0, 2)), (slice(None), [2, 2, 2])]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("key", NAMED_TWICE, ids=str)
@pytest.mark.parametrize("way", ["set", "add", "subtract", "multiply", "divide", "min", "max"])
def test_of_elements_that_are_named_twice_all_count_or_the_last(way, key, unknown):
    x = np.random.default_rng(1).uniform(0.5, 2.0, (3, 4))
    y = np.random.default_rng(2).uniform(0.5, 2.0, x[key].shape)
    ufuncs = {"min": np.minimum, "max": np.maximum}

    def plain(x, y):
        out = x.copy()
        if way == "set":
            out[key] = y
        else:
            ufuncs.get(way, getattr(np, way, None)).at(out, key, y)
        return out

    def use(x, y):
        return getattr(x.at[key], way)(y)

    signature = [gd.TensorSpec([None] * x.ndim, gd.float64), gd.TensorSpec([None] * y.ndim, gd.float64)]
    f = gd.function(use, input_signature=signature) if unknown else use
    np.testing.assert_allclose(f(gd.constant(x), gd.constant(y)), plain(x, y), rtol=1e-12)
    weights = np.random.default_rng(3).standard_normal(x.shape)
    slopes = gd.grad(lambda x, y: gd.reduce_sum(gd.sin(f(x, y)) * weights), (0, 1))
    found = slopes(gd.constant(x), gd.constant(y))
    for k, slope in enumerate(found):
        for place in np.ndindex(*slope.shape):
            moved = [[x.copy(), y.copy()] for _ in range(2)]
            moved[0][k][place] += 1e-6
            moved[1][k][place] -= 1e-6
            above, below = (np.sum(np.sin(plain(*both)) * weights) for both in moved)
            np.testing.assert_allclose(slope.numpy()[place], (above - below) / 2e-6, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("way", ["min", "max"])
def test_what_is_equally_far_out_shares_the_derivative(way):
    x, y = gd.constant([1.0, 2.0, 3.0]), gd.constant([1.0, 1.0, 3.0])
    by_x, by_y = gd.jacrev(lambda x, y: getattr(x.at[[0, 0, 2]], way)(y), (0, 1))(x, y)
    np.testing.assert_allclose(by_x, np.diag([1 / 3, 1.0, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(by_y, [[1 / 3, 1 / 3, 0], [0, 0, 0], [0, 0, 0.5]], rtol=1e-6)
    mask = np.array([True, False, True])
    by_x = gd.jacrev(lambda x: getattr(x.at[mask], way)(1.0))(x)
    np.testing.assert_allclose(by_x, np.diag([0.5, 1.0, float(way == "max")]))


def test_the_derivative_of_updates_goes_to_the_last_of_each_place():
    i, y = gd.constant([[1], [0], [1]]), gd.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    x = gd.ones([2, 2])
    slope = gd.grad(lambda y: gd.reduce_sum(gd.tensor_scatter_nd_update(x, i, y) ** 2))(y)
    np.testing.assert_array_equal(slope, [[0.0, 0.0], [6.0, 8.0], [10.0, 12.0]])


@pytest.mark.parametrize("way", ["set", "add", "subtract", "multiply", "divide", "min", "max"])
def test_a_part_given_by_a_mask_may_differ_from_row_to_row(way):
    x = np.linspace(-1.0, 2.0, 12).reshape(3, 4)

    def use(row):
        return getattr(row.at[row > 0.5], way)(0.75)

    wanted = np.stack([use(gd.constant(row)).numpy() for row in x])
    np.testing.assert_array_equal(gd.vmap(use)(x), wanted)
    unknown = gd.function(use, input_signature=[gd.TensorSpec([None, None], gd.float64)])
    np.testing.assert_array_equal(unknown(gd.constant(x)), wanted)
    slopes = gd.vmap(gd.grad(lambda row: gd.reduce_sum(use(row) ** 2)))(x)
    alone = [gd.grad(lambda row: gd.reduce_sum(use(row) ** 2))(gd.constant(row)) for row in x]
    np.testing.assert_array_equal(slopes, np.stack(alone))


def test_a_mask_with_other_sizes_than_its_axes_is_refused():
    x = gd.constant(X)
    for key in ([True, False], (0, [True, False]), (slice(None), [[True]]), (..., [True])):
        with pytest.raises(gd.errors.GraphadError, match=r"their sizes must be equal|incompatible"):
            x[key]
        with pytest.raises(gd.errors.GraphadError, match=r"their sizes must be equal|incompatible"):
            x.at[key].set(gd.ones([7]))


def test_whole_numbers_are_not_divided_in_place():
    with pytest.raises(gd.errors.DTypeError, match=r"int32; divide takes float and complex"):
        gd.constant([1, 2]).at[0].divide(2)


def test_a_mask_that_is_no_tensor_has_a_part_of_known_size() -> None:
    f = gd.function(lambda x: x[..., [True, False, True]], input_signature=[gd.TensorSpec([None, 3])])
    assert f.get_concrete_function().structured_outputs.shape.as_list() == [None, 2]
    np.testing.assert_array_equal(f(np.arange(6.0, dtype=np.float32).reshape(2, 3)), [[0.0, 2.0], [3.0, 5.0]])
