"""Compiled kernels against the scalar table and NumPy: every function, dtype, kind of loop and awkward size."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from graphad.compiler import lowering, plain
from graphad.compiler.cpu.functions import supports
from graphad.compiler.source import code_of
from graphad.core.dtypes import (
    ALL,
    DType,
    bfloat16,
    bool_,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint64,
)
from graphad.kernels import forms, scalars
from graphad.kernels.collapse import Loop, Operand, collapse
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Statement
from tests.compiler.cpu.kernel_runner import run_native, run_oracle, same, values
from tests.support.maps import compose, merge_maps

REAL = [dtype for dtype in ALL if not dtype.is_complex]


def outputs_of(loop: Loop, shape: tuple[int, ...]) -> list[np.ndarray]:
    return [np.zeros(shape, store.access.dtype.numpy) for store in loop.kernel.outputs]


def plain_functions(dtype: DType) -> list[str]:
    code = code_of(dtype)
    return [
        name
        for name, row in scalars.TABLE.items()
        if name not in ("cast", "select")
        and scalars.kind_of(dtype) in row.kinds
        and plain.has_plain(name, code)
    ]


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_every_plain_function_agrees_with_numpy(dtype: DType) -> None:
    names = plain_functions(dtype)
    maps = [forms.call(name, [dtype] * scalars.TABLE[name].arity) for name in names]
    maps.append(forms.call("select", [bool_, dtype, dtype]))
    keys = [["x", "y"][: scalars.TABLE[name].arity] for name in names] + [["c", "x", "y"]]
    merged = merge_maps(maps, keys)
    arrays = {"x": values(dtype, 1003, 1), "y": values(dtype, 1003, 2), "c": values(bool_, 1003, 3)}
    given = [arrays[key] for key in merged.inputs]
    loop = collapse(merged.map, (1003,), [(1003,)] * len(given))
    found = outputs_of(loop, (1003,))
    run_native(loop, given, found)
    for name, key, array in zip([*names, "select"], keys, found):
        result = scalars.result_dtype(name, [bool_, dtype, dtype] if name == "select" else [dtype] * len(key))
        expected = scalars.apply(name, [arrays[k] for k in key], result)
        assert same(array, expected), (
            name,
            [(a[array != expected][:4]) for a in map(arrays.get, key)],
            array[array != expected][:4],
            expected[array != expected][:4],
        )


@pytest.mark.parametrize("source", REAL, ids=str)
def test_every_cast_agrees_with_numpy(source: DType) -> None:
    targets = [dtype for dtype in REAL if dtype is not source]
    merged = merge_maps([forms.cast_map(source, target) for target in targets], [["x"]] * len(targets))
    x = values(source, 517)
    loop = collapse(merged.map, (517,), [(517,)])
    found = outputs_of(loop, (517,))
    run_native(loop, [x], found)
    for target, array in zip(targets, found):
        inside = np.ones(517, bool)
        if (
            source.is_floating and target.is_integer
        ):  # outside of the target's range NumPy's answer is the machine's
            wide = x.astype(np.float64)
            inside = (wide > float(target.min)) & (wide < float(target.max)) & np.isfinite(wide)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = x.astype(target.numpy)
        assert same(array[inside], expected[inside]), target


def test_double_to_half_rounds_once() -> None:
    # 1 + 2^-11 + 2^-30: rounding to float first would lose the last bit and then round down to even
    x = np.array(
        [1 + 2.0**-11 + 2.0**-30, -(1 + 2.0**-11 + 2.0**-30), 1 + 2.0**-11, 65519.999, 65520.0, 1e-8, np.nan]
    )
    loop = collapse(forms.cast_map(float64, float16), x.shape, [x.shape])
    found = np.zeros(x.shape, np.float16)
    run_native(loop, [x], [found])
    with np.errstate(over="ignore"):
        assert same(found, x.astype(np.float16))


def test_float_to_integer_out_of_range_is_the_smallest_value() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9], np.float32)
    loop = collapse(forms.cast_map(float32, int32), x.shape, [x.shape])
    found = np.zeros(x.shape, np.int32)
    run_native(loop, [x], [found])
    assert (found == np.iinfo(np.int32).min).all()


ARITHMETIC = compose(
    [
        (forms.call("mul", [float32, float32]), ["a", "b"], ["p"]),
        (forms.call("maximum", [float32, float32]), ["p", "c"], ["q"]),
    ],
    ["q"],
).map


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (), (5,), (3, 0), (0, 3), (4, 1), (1, 4), (33, 67), (2, 3, 5), (600, 3), (2, 600)]
)
@pytest.mark.parametrize(
    "kind", ["whole", "row", "column", "number", "transposed", "every second", "backwards"]
)
def test_operands_of_every_stride_class(shape: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(0)
    a, c = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    base, view = operand_of(kind, shape, rng)
    strides = tuple(step // 4 for step in view.strides)
    loop = collapse(ARITHMETIC, shape, [shape, Operand(view.shape, strides), shape])
    found = np.full(shape, -7, np.float32)
    start = (view.ctypes.data - base.ctypes.data) // 4
    run_native(loop, [a, base.reshape(-1)[start:], c], [found])
    assert np.array_equal(found, np.maximum(a * view, c))


def operand_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(flat storage, view that broadcasts to shape)."""

    def fresh(*sizes: int) -> np.ndarray:
        return rng.standard_normal(sizes).astype(np.float32)

    if kind == "row" and shape:
        base = fresh(*shape[-1:])
        return base, base
    if kind == "column" and shape:
        base = fresh(*shape[:-1], 1)
        return base, base
    if kind == "number":
        base = fresh()
        return base.reshape(1), base
    if kind == "transposed":
        base = fresh(*shape[::-1])
        return base, base.T
    if kind == "every second" and shape:
        base = fresh(*shape[:-1], 2 * shape[-1])
        return base, base[..., ::2]
    if kind == "backwards" and shape:
        base = fresh(*shape)
        return base, base[..., ::-1]
    base = fresh(*shape)
    return base, base


def test_strided_and_shared_outputs() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 40, 700)).astype(np.float32)
    add = forms.call("add", [float32, float32])
    base = np.zeros((700, 40), np.float32)
    loop = collapse(add, x.shape, [x.shape, x.shape], outputs=[Operand(x.shape, (1, 40))])
    run_native(loop, [x, y], [base])
    assert np.array_equal(base.T, x + y)
    for strides in (None, (1, 40)):  # in place, contiguous and through the packed block
        shared = x.copy() if strides is None else np.ascontiguousarray(x.T)
        loop = collapse(
            add,
            x.shape,
            [Operand(x.shape, strides), x.shape],
            outputs=[Operand(x.shape, strides)],
            inplace=[(0, 0)],
        )
        assert loop.kernel.inplace == ((0, 0),)
        run_native(loop, [shared, y], [shared])
        assert np.array_equal(shared if strides is None else shared.T, x + y)


@pytest.mark.parametrize("dtype", [bool_, float16, bfloat16, float32, float64, int8, int64, uint64], ids=str)
def test_scalars_are_words_of_the_block(dtype: DType) -> None:
    form = Map(
        (dtype,),
        (dtype, dtype),
        (
            Statement("maximum", ((IN, 0), (SCALAR, 1)), dtype),
            Statement("add", ((TMP, 0), (SCALAR, 0)), dtype),
        ),
        ((TMP, 1),),
    )
    x = values(dtype, 100)
    loop = collapse(form, (100,), [(100,)])
    found, expected = np.zeros((2, 100), dtype.numpy)
    run_native(loop, [x], [found], scalars=[1, 0])
    run_oracle(loop, [x], [expected], scalars=[1, 0])
    assert same(found, expected)


def reduce_loop(dtype: DType, shape: tuple[int, ...], axes: tuple[int, ...], combines: list[str]) -> Loop:
    form = Map((dtype,), (), (), ((IN, 0),) * len(combines))
    return collapse(form, shape, [shape], axes, combines)


def expected_reduction(combine: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    wide = x.astype(np.float64) if x.dtype.kind in "fV" else x
    if x.dtype.kind == "b":
        name = {"add": "any", "mul": "all", "max": "any", "min": "all", "and": "all", "or": "any"}[combine]
        return getattr(np, name)(x, axis=axes)
    with np.errstate(all="ignore"):
        if combine in ("add", "mul"):
            result = getattr(np, {"add": "sum", "mul": "prod"}[combine])(wide, axis=axes, dtype=wide.dtype)
        else:
            ufunc, start = {"max": (np.maximum, "max"), "min": (np.minimum, "min")}[combine]
            identity = -np.inf if wide.dtype.kind == "f" else np.iinfo(x.dtype).min
            if start == "min":
                identity = np.inf if wide.dtype.kind == "f" else np.iinfo(x.dtype).max
            result = ufunc.reduce(wide, axis=axes, initial=identity)
        return np.asarray(result).astype(x.dtype)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_reductions_of_every_dtype(dtype: DType, axes: tuple[int, ...]) -> None:
    combines = ["add", "mul", "max", "min"] + (["and", "or"] if dtype is bool_ else [])
    for rows, columns in [(45, 530), (1, 3), (3, 2), (0, 3), (3, 0)]:
        rng = np.random.default_rng(2)
        if dtype.is_bool:
            x = rng.random((rows, columns)) < 0.9
        elif dtype.is_integer:
            x = rng.integers(0, 120, (rows, columns)).astype(dtype.numpy)
        else:
            x = (0.9 + 0.2 * rng.random((rows, columns))).astype(dtype.numpy)
        loop = reduce_loop(dtype, x.shape, axes, combines)
        shape = tuple(size for d, size in enumerate(x.shape) if d not in axes)
        found = outputs_of(loop, shape)
        run_native(loop, [x], found)
        tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 3e-6, "float64": 1e-12}.get(dtype.name, 0)
        if dtype.name == "float32":  # roundings add up like a random walk; in which order, the CPU says
            tolerance = max(
                tolerance, 4 * np.finfo(np.float32).eps * (x.size / max(math.prod(shape), 1)) ** 0.5
            )
        for combine, array in zip(combines, found):
            expected = expected_reduction(combine, x, axes)
            assert np.allclose(array.astype(float), expected.astype(float), rtol=tolerance, atol=0), (
                combine,
                x.shape,
            )


@pytest.mark.parametrize(
    "axes", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1), (0, 1, 2), (1, 3), (0, 3), (0, 1, 2, 3)]
)
def test_reductions_over_any_axes(axes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((5, 6, 7, 40)).astype(np.float32)
    for view, strides in ((x, None), (x.transpose(3, 1, 0, 2), (1, 280, 1680, 40))):
        loop = collapse(
            forms.call("square", [float32]), view.shape, [Operand(view.shape, strides)], axes, ["add"]
        )
        found = np.zeros([size for d, size in enumerate(view.shape) if d not in axes], np.float32)
        run_native(loop, [x], [found])
        assert np.allclose(found, (view.astype(float) ** 2).sum(axes), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_extremes_propagate_nan(axes: tuple[int, ...]) -> None:
    x = np.zeros((40, 50), np.float32)
    x[17, 23] = np.nan
    loop = reduce_loop(float32, x.shape, axes, ["add", "mul", "max", "min"])
    shape = tuple(size for d, size in enumerate(x.shape) if d not in axes)
    found = outputs_of(loop, shape)
    run_native(loop, [x], found)
    for array, ufunc in zip(found, (np.add, np.multiply, np.maximum, np.minimum)):
        assert np.array_equal(np.isnan(array), np.isnan(ufunc.reduce(x, axis=axes)))


def test_sum_of_many_floats_is_accurate() -> None:
    x = np.random.default_rng(4).random(1_000_003).astype(np.float32)
    loop = reduce_loop(float32, x.shape, (0,), ["add"])
    found = np.zeros((), np.float32)
    run_native(loop, [x], [found])
    assert abs(float(found) / float(x.sum(dtype=np.float64)) - 1) < 1e-7


@pytest.mark.parametrize("shape", [(300_000,), (300, 1000)])
def test_full_reduction_has_the_same_bits_however_it_is_shared_out(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape[-1:]).astype(np.float32)
    form = forms.call("mul", [float32, float32])
    loop = collapse(form, shape, [shape, shape[-1:] if len(shape) > 1 else shape], range(len(shape)), ["add"])
    given = [x, y if len(shape) > 1 else x]
    whole, pieces = np.zeros((), np.float32), np.zeros((), np.float32)
    run_native(loop, given, [whole])
    chunk, extent = loop.chunk(), loop.extents[0]
    ranges = [(lo, min(lo + 2 * chunk, extent)) for lo in range(0, extent, 2 * chunk)]
    run_native(loop, given, [pieces], ranges=[*reversed(ranges), (extent, extent)])
    assert len(ranges) > 1 and whole.tobytes() == pieces.tobytes()
    assert np.isclose(whole, (x.astype(float) * given[1]).sum(), rtol=1e-4)


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_kept_dimensions_may_be_shared_out(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(6).standard_normal((700, 900)).astype(np.float32)
    loop = reduce_loop(float32, x.shape, axes, ["add"])
    extent = loop.extents[loop.kernel.split]
    whole, pieces = np.zeros((2, extent), np.float32)
    run_native(loop, [x], [whole])
    run_native(loop, [x], [pieces], ranges=[(500, extent), (0, 3), (3, 500)])
    assert whole.tobytes() == pieces.tobytes()
    assert np.allclose(whole, x.sum(axes), rtol=1e-3, atol=1e-3)


def test_a_kernel_may_store_and_reduce() -> None:
    x = np.random.default_rng(7).standard_normal((30, 500)).astype(np.float32)
    form = Map((float32,), (), (Statement("square", ((IN, 0),), float32),), ((TMP, 0), (TMP, 0)))
    for axes in ((0,), (1,), (0, 1)):
        loop = collapse(form, x.shape, [x.shape], axes, [None, "add"])
        found = [
            np.zeros_like(x),
            np.zeros([size for d, size in enumerate(x.shape) if d not in axes], np.float32),
        ]
        run_native(loop, [x], found)
        assert np.array_equal(found[0], x * x) and np.allclose(found[1], (x * x).sum(axes), rtol=1e-5)


def test_plain_table_matches_the_lowering() -> None:
    for name in scalars.TABLE:
        for dtype in REAL:
            row = scalars.TABLE[name]
            code = code_of(dtype)
            if name == "cast" or scalars.kind_of(dtype) not in row.kinds:
                continue
            assert plain.has_plain(name, code) == (lowering.lower(f"{name}_{code}") is not None), (name, code)


def test_supports_names_what_stays_on_the_host() -> None:
    loop = collapse(forms.call("pow", [uint8, uint8]), (3,), [(3,), (3,)])
    assert "pow of uint8" in str(supports(loop.kernel))
    loop = collapse(forms.call("add", [complex64, complex64]), (3,), [(3,), (3,)])
    assert "complex64" in str(supports(loop.kernel))
    loop = collapse(forms.call("mod", [uint8, uint8]), (3,), [(3,), (3,)])
    assert supports(loop.kernel) is None
