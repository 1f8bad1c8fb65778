"""Convolutions of arrays by native routines, and by NumPy where there are none: both the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.core.errors import UnavailableError
from graphad.ops.linalg import direct as products
from graphad.ops.nn import direct
from graphad.ops.nn.convolution_ops import Convolution, ConvolutionFilterGrad, ConvolutionInputGrad
from graphad.ops.nn.pooling_ops import AvgPool, AvgPoolGrad, MaxPool, MaxPoolGrad

SHAPES = [
    ((2, 9, 8, 3), (3, 3, 3, 10)),
    ((2, 9, 8, 16), (3, 3, 16, 8)),
    ((2, 9, 8, 12), (3, 3, 1, 12)),
    ((2, 9, 8, 12), (3, 3, 2, 12)),
    ((2, 9, 8, 4), (3, 3, 1, 8)),
]


def _gradients(op, x, kernel, g):
    return (
        op.eval(x, kernel),
        op.like(ConvolutionInputGrad, x.shape).eval(g, kernel),
        op.like(ConvolutionFilterGrad, kernel.shape).eval(x, g),
    )


@pytest.mark.parametrize(("image", "filters"), SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numpy_and_routines_agree(image, filters, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    op = Convolution((2, 1), "SAME", (1, 1))
    shapes = image, filters, (*op.places(image, filters[:2]), filters[-1])
    given = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    found = _gradients(op, *given)
    monkeypatch.setattr(direct, "has_tiles", lambda dtype: False)
    unit = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-13}[dtype]
    for one, another in zip(found, _gradients(op, *given), strict=True):
        assert one.dtype == another.dtype == dtype
        np.testing.assert_allclose(one, another, rtol=0, atol=unit * float(np.abs(another).max()))


def test_images_in_another_order_are_convolved_too():
    rng = np.random.default_rng(4)
    op = Convolution((1, 1), "SAME", (1, 1))
    x = rng.standard_normal((4, 9, 8, 2)).astype("float32").transpose(3, 1, 2, 0)
    kernel = rng.standard_normal((10, 4, 3, 3)).astype("float32").transpose(2, 3, 1, 0)
    np.testing.assert_array_equal(op.eval(x, kernel), op.eval(x.copy(), kernel.copy()))
    np.testing.assert_allclose(op.eval(x, kernel), op.by_numpy(x, kernel), atol=1e-4)


@pytest.mark.parametrize("error", [UnavailableError, ModuleNotFoundError])
def test_without_a_compiler_numpy_convolves(error, monkeypatch):
    def missing(dtype):
        raise error("llvmlite cannot be imported")

    monkeypatch.setattr(products._routines(), "has_tiles", missing)
    products._tiles.clear()
    try:
        y = gd.nn.conv2d(gd.ones([1, 3, 3, 1]), gd.ones([3, 3, 1, 1]), 1, "SAME")
        assert not products.has_tiles(np.dtype("float32"))
    finally:
        products._tiles.clear()
    np.testing.assert_array_equal(y.numpy()[0, :, :, 0], [[4, 6, 4], [6, 9, 6], [4, 6, 4]])


def test_a_function_has_the_bits_of_its_eager_call():
    rng = np.random.default_rng(5)
    x, kernel = (
        gd.constant(rng.standard_normal(shape).astype("float32")) for shape in ((2, 8, 8, 8), (3, 3, 8, 4))
    )

    def gradients(x, kernel):
        with gd.GradientTape() as tape:
            tape.watch([x, kernel])
            y = gd.nn.conv2d_transpose(gd.nn.conv2d(x, kernel, 2, "SAME"), kernel, x.shape, 2, "SAME")
        return [y, *tape.gradient(y, [x, kernel])]

    step = gd.function(gradients)
    want = gradients(x, kernel)
    for _ in range(20):
        for found, one in zip(step(x, kernel), want, strict=True):
            np.testing.assert_array_equal(found.numpy(), one.numpy())


@pytest.mark.parametrize("outputs", [5, 15])
def test_what_devices_compute_for_channels_alone_is_the_same(outputs):
    rng = np.random.default_rng(6)
    op = Convolution((2, 1), "SAME", (1, 1))
    image, filters = (2, 7, 6, 5), (3, 2, 1, outputs)
    shapes = image, filters, (*op.places(image, filters[:2]), outputs)
    x, kernel, g = (rng.standard_normal(shape) for shape in shapes)
    whole = [gd.constant(z) for z in (x, kernel, g)]
    found = [
        op.expanded(whole[0], whole[1]),
        op.like(ConvolutionInputGrad, image).expanded(whole[2], whole[1]),
        op.like(ConvolutionFilterGrad, filters).expanded(whole[0], whole[2]),
    ]
    for one, want in zip(found, _gradients(op, x, kernel, g), strict=True):
        np.testing.assert_allclose(one.numpy(), want, atol=1e-13)


def test_a_convolution_of_each_channel_is_one_op():
    x, kernel = gd.ones([2, 8, 8, 5]), gd.ones([3, 3, 5, 2])

    def gradients(x, kernel):
        with gd.GradientTape() as tape:
            tape.watch([x, kernel])
            y = gd.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        return tape.gradient(y, [x, kernel])

    graph = gd.function(gradients).get_concrete_function(x, kernel).graph
    names = {node.op.name for node in graph.nodes}
    assert names >= {"convolution_input_grad", "convolution_filter_grad"}
    assert not names & {"patches", "patches_sum", "matmul"}


@pytest.mark.parametrize(
    "dims",
    [None, [None, None, None, None], [None, 6, 6, 4], [2, 6, 6, None]],
    ids=["rank", "all", "batch", "channels"],
)
def test_each_channel_is_convolved_where_sizes_are_unknown(dims):
    rng = np.random.default_rng(9)
    x, kernel = (gd.constant(rng.standard_normal(shape)) for shape in ((2, 6, 6, 4), (3, 3, 4, 2)))

    def convolve(x):
        return gd.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")

    found = gd.function(convolve, input_signature=[gd.TensorSpec(dims, "float64")])(x)
    np.testing.assert_allclose(found.numpy(), convolve(x).numpy(), atol=1e-13)


POOLS = [
    ((2, 2), (2, 2), "VALID", (1, 1)),
    ((3, 3), (2, 2), "SAME", (1, 1)),
    ((3, 2), (1, 1), ((1, 1), (1, 0)), (1, 1)),
    ((2, 2), (1, 1), "VALID", (2, 3)),
    ((3,), (2,), "SAME", (1,)),
    ((2, 3, 2), (1, 2, 2), "SAME", (1, 1, 1)),
]


@pytest.mark.skipif(not products.has_tiles(np.dtype("float32")), reason="no tiles for this machine")
@pytest.mark.parametrize("settings", POOLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maxima_go_where_numpy_has_them(settings, dtype):
    rng = np.random.default_rng(7)
    op = MaxPool(*settings)
    for channels in (5, 16, 70):
        image = (3, *(8, 9, 7)[: len(settings[0])], channels)
        x = rng.integers(0, 4, image).astype(dtype)  # many ties
        x[rng.random(image) < 0.05] = np.nan
        x[rng.random(image) < 0.3] = -np.inf
        x[0] = -np.inf
        g = rng.integers(-5, 6, op.infer(gd.TensorSpec(image, dtype)).dims).astype(dtype)
        back = op.like(MaxPoolGrad)
        np.testing.assert_array_equal(direct.maxima(op, x), op.by_numpy(x))
        np.testing.assert_array_equal(direct.at_maxima(back, x, g), back.by_numpy(x, g))


@pytest.mark.parametrize("settings", POOLS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_means_are_those_of_numpy(settings, dtype, monkeypatch):
    rng = np.random.default_rng(8)
    op = AvgPool(*settings)
    image = (3, *(8, 9, 7)[: len(settings[0])], 6)
    back = AvgPoolGrad(*settings, image)
    x = rng.standard_normal(image).astype(dtype)
    g = rng.standard_normal(op.infer(gd.TensorSpec(image, dtype)).dims).astype(dtype)
    found = op.eval(x), back.eval(g)
    monkeypatch.setattr(direct, "has_tiles", lambda dtype: False)
    np.testing.assert_array_equal(found[0], op.eval(x))  # elements are added in the same order
    unit = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-15}[dtype]
    np.testing.assert_allclose(found[1], back.eval(g), rtol=0, atol=8 * unit)


@pytest.mark.skipif(not products.has_tiles(np.dtype("float32")), reason="no tiles for this machine")
def test_pools_of_images_have_steps():
    op = MaxPool((2, 2), (2, 2), "VALID", (1, 1))
    x = np.ones((2, 4, 4, 4), "float32")
    assert direct.maxima(op, x) is not None
    assert direct.at_maxima(op, x, x[:, :2, :2]) is not None
    assert direct.sums(op, x) is not None
    assert direct.maxima(op, x[..., :3]) is None  # vectors would be empty
    assert direct.maxima(op, x.astype("int32")) is None
    assert direct.maxima(op, x[:0]) is None


@pytest.mark.parametrize("run", [lambda f: f, gd.function], ids=["eager", "function"])
@pytest.mark.parametrize(("steps", "dilation", "taken"), [(1, 1, 4), (2, 1, 2), (1, 2, 2), (2, 2, 4)])
def test_convolutions_of_integers_wrap_around_as_their_products_do(run, steps, dilation, taken):
    rng = np.random.default_rng(steps + 2 * dilation)
    x = rng.integers(-(2**31), 2**31, (2, 6, 7, 4)).astype(np.int32)
    k = rng.integers(-(2**31), 2**31, (3, 2, taken, 6)).astype(np.int32)
    around = [[0, 0], [1, 2], [0, 1], [0, 0]]
    wide, out = np.pad(x, around).astype(object), 6 * taken // 4
    rows, columns = ((n - (m - 1) * dilation - 1) // steps + 1 for n, m in ((9, 3), (8, 2)))
    want = np.zeros((2, rows, columns, 6), object)
    for i in range(rows):
        for j in range(columns):
            seen = wide[:, i * steps :, j * steps :][
                :, : 2 * dilation + 1 : dilation, : dilation + 1 : dilation
            ]
            for group in range(4 // taken):
                to = slice(group * out, (group + 1) * out)
                part = seen[..., group * taken : (group + 1) * taken]
                want[:, i, j, to] = np.tensordot(part, k[..., to].astype(object), 3)
    want = ((want + 2**31) % 2**32 - 2**31).astype(np.int32)
    convolve = run(lambda x, k: gd.nn.conv2d(x, k, steps, around, dilations=dilation))
    found = convolve(gd.constant(x), gd.constant(k))
    assert found.dtype is gd.int32
    np.testing.assert_array_equal(found.numpy(), want)
    turned = run(lambda x, k: gd.nn.conv2d(x, k, steps, "SAME", "NCHW", dilation if steps == 1 else 1))
    plain = run(lambda x, k: gd.nn.conv2d(x, k, steps, "SAME", "NHWC", dilation if steps == 1 else 1))
    np.testing.assert_array_equal(
        turned(gd.constant(x.transpose(0, 3, 1, 2)), gd.constant(k)).numpy().transpose(0, 2, 3, 1),
        plain(gd.constant(x), gd.constant(k)).numpy(),
    )


@pytest.mark.parametrize("run", [lambda f: f, lambda f: gd.function(f, jit_compile=True)])
def test_a_transposed_convolution_of_integers_is_exact_and_wraps_around(run) -> None:
    rng = np.random.default_rng(3)
    for top in (100, 2**31 - 1):
        x = rng.integers(-top, top, (2, 3, 4, 3), np.int32)
        k = rng.integers(-top, top, (2, 3, 5, 3), np.int32)
        want = np.zeros((2, 6, 9, 5), np.int64)  # as in int32: products wrap around
        with np.errstate(over="ignore"):
            for i, j, p, q in np.ndindex(3, 4, 2, 3):
                want[:, 2 * i + p, 2 * j + q] += np.einsum(
                    "nc,oc->no", *np.int64([x[:, i, j]]), np.int64(k[p, q])
                )
        found = run(lambda x, k: gd.nn.conv2d_transpose(x, k, [2, 6, 9, 5], 2, "VALID"))(
            gd.constant(x), gd.constant(k)
        )
        assert found.dtype is gd.int32
        np.testing.assert_array_equal(found.numpy(), want.astype(np.int32))


def test_a_convolution_of_integers_has_filters_of_its_dtype():
    for filters in (np.ones((1, 1, 1, 1), np.int64), np.ones((1, 1, 1, 1), np.float32)):
        with pytest.raises(TypeError, match=r"^conv2d: filters have dtype"):
            gd.nn.conv2d(gd.ones([1, 2, 2, 1], gd.int32), gd.constant(filters), 1, "VALID")


def test_integers_are_added_over_all_but_the_outputs_of_the_filters() -> None:
    one, many = np.zeros([1, 1, 1, 1], np.int32), 2**21 + 1
    flat, tall = np.zeros([1, 1, 1, many], np.int32), np.zeros([1, 1, many, 1], np.int32)
    assert gd.nn.conv2d(one, flat, 1, "SAME").shape == flat.shape
    assert gd.nn.conv2d_transpose(one, tall, flat.shape, 1, "SAME").shape == flat.shape
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"conv2d: .* too large for int32"):
        gd.nn.conv2d(flat, tall, 1, "SAME")
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"conv2d_transpose: .* too large for int32"):
        gd.nn.conv2d_transpose(flat, flat, one.shape, 1, "SAME")
