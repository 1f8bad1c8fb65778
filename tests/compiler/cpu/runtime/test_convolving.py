"""Convolutions by native steps: NumPy's numbers, nothing written outside, the same bits for any number of threads."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphad.compiler.cpu.runtime import blas, convolving, pool
from graphad.ops.nn.convolution_ops import Convolution, ConvolutionFilterGrad, ConvolutionInputGrad

pytestmark = pytest.mark.skipif(not blas.tiles("float32"), reason="no tiles for this machine")

# images, filters
PLAIN = [
    ((2, 9, 11, 3), (3, 2, 3, 5)),
    ((3, 16, 16, 16), (3, 3, 16, 24)),
    ((2, 7, 5, 8), (1, 1, 8, 9)),
    ((1, 12, 12, 1), (5, 5, 1, 33)),
    ((2, 6, 7, 5), (1, 4, 5, 1)),
    ((2, 8, 9, 40), (2, 2, 40, 3)),
    ((2, 6, 41, 2), (3, 2, 2, 7)),
    ((1, 7, 70, 9), (3, 3, 9, 1)),
    ((2, 5, 33, 3), (2, 5, 3, 4)),
]
EACH_CHANNEL = [
    ((2, 8, 9, 6), (3, 3, 1, 6)),
    ((2, 8, 9, 70), (2, 3, 1, 70)),
    ((3, 7, 13, 129), (3, 3, 1, 129)),
    ((2, 6, 7, 9), (3, 2, 1, 27)),
]
GROUPS = [((2, 8, 8, 32), (3, 3, 16, 32)), ((2, 6, 6, 24), (1, 1, 8, 30))]


@pytest.fixture(params=["lines", "blocks"])
def way(request, monkeypatch):
    """Both ways: line by line where that pays, or blocks of windows everywhere."""
    tables = convolving._correlation, convolving.sums, convolving.transposed, convolving.spreading
    if request.param == "blocks":
        monkeypatch.setattr(convolving, "_DEEPEST", 0)
    for table in tables:
        table.cache_clear()
    yield request.param
    for table in tables:
        table.cache_clear()


class Guarded:
    """An array between numbers that nobody may change."""

    def __init__(self, shape, dtype):
        size = int(np.prod(shape))
        self.whole = np.full(size + 128, 7, dtype)
        self.array = self.whole[64:-64].reshape(shape)
        self.array[...] = np.nan

    def checked(self):
        assert (self.whole[:64] == 7).all()
        assert (self.whole[-64:] == 7).all()
        return self.array


def by_steps(op, x, kernel, g):
    """The convolution and its gradients, each made anew."""
    pads = op.pads(x.shape, kernel.shape[:-2])
    sizes = convolving.sizes_of(
        x.shape, kernel.shape, g.shape[1:-1], op.strides, op.dilations, [before for before, _ in pads]
    )
    assert sizes is not None
    y, of_x, of_kernel = (Guarded(like.shape, x.dtype) for like in (g, x, kernel))
    convolving.convolve(sizes, x, kernel, y.array)
    convolving.image_gradient(sizes, g, kernel, of_x.array)
    convolving.filter_gradient(sizes, x, g, of_kernel.array)
    return y.checked(), of_x.checked(), of_kernel.checked()


def by_numpy(op, x, kernel, g):
    x, kernel, g = (z.astype("float64") for z in (x, kernel, g))
    return (
        op.by_numpy(x, kernel),
        op.like(ConvolutionInputGrad, x.shape).by_numpy(g, kernel),
        op.like(ConvolutionFilterGrad, kernel.shape).by_numpy(x, g),
    )


def values(op, image, filters, dtype, seed=0):
    rng = np.random.default_rng(seed)
    places = op.places(image, filters[:-2])
    shapes = image, filters, (*places, filters[-1])
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def check(op, image, filters, dtype):
    given = values(op, image, filters, dtype)
    unit = 1e-5 if dtype == "float32" else 1e-13
    for found, want in zip(by_steps(op, *given), by_numpy(op, *given), strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=unit * np.abs(want).max() + 1e-30)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("image", "filters"), [*PLAIN, *EACH_CHANNEL, *GROUPS])
def test_values_and_gradients_are_those_of_products_of_all_windows(image, filters, dtype, way):
    strides = (1, 1), (2, 2), (2, 1), (3, 2)
    paddings = "SAME", "VALID", ((1, 2), (0, 3))
    every = list(itertools.product(strides, paddings, ((1, 1), (2, 1), (2, 3))))
    for stride, padding, dilation in every[dtype == "float64" :: 2]:  # each with one of the dtypes
        op = Convolution(stride, padding, dilation)
        spans = [(k - 1) * d + 1 for k, d in zip(filters, dilation, strict=False)]
        if padding == "VALID" and any(n < span for n, span in zip(image[1:-1], spans, strict=True)):
            continue
        check(op, image, filters, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_and_three_axes(dtype, way):
    check(Convolution((2,), "SAME", (1,)), (2, 20, 8), (5, 8, 7), dtype)
    check(Convolution((1,), "VALID", (3,)), (2, 20, 8), (5, 8, 7), dtype)
    check(Convolution((1, 2, 1), "SAME", (1, 1, 1)), (2, 6, 7, 8, 4), (3, 3, 3, 4, 6), dtype)
    check(Convolution((1, 1, 1), "SAME", (1, 2, 1)), (2, 6, 7, 8, 5), (2, 3, 2, 1, 5), dtype)


LARGE = [
    (Convolution((1, 1), "SAME", (1, 1)), (8, 48, 48, 16), (3, 3, 16, 32)),
    (Convolution((2, 2), "SAME", (1, 1)), (8, 64, 64, 16), (5, 5, 16, 48)),
    (Convolution((1, 1), "SAME", (1, 1)), (8, 48, 48, 64), (1, 1, 64, 64)),
    (Convolution((1, 1), "SAME", (1, 1)), (8, 48, 48, 32), (3, 3, 1, 32)),
    (Convolution((1, 1), "SAME", (1, 1)), (8, 30, 30, 70), (3, 3, 1, 140)),
    (Convolution((2, 2), "SAME", (1, 1)), (8, 64, 64, 3), (7, 7, 3, 32)),
    (Convolution((1, 1), "VALID", (1, 1)), (8, 40, 40, 1), (5, 5, 1, 32)),
    (Convolution((1, 1, 1), "SAME", (1, 1, 1)), (4, 16, 16, 16, 16), (3, 3, 3, 16, 16)),
]


@pytest.mark.parametrize(("op", "image", "filters"), LARGE)
def test_the_number_of_threads_changes_no_bit(op, image, filters, way, monkeypatch):
    check(op, image, filters, "float32")
    given = values(op, image, filters, "float32")
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(pool, "thread_count", lambda threads=threads: threads)
        found.append(by_steps(op, *given))
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


@pytest.mark.parametrize("width", range(4, 30))
def test_lines_of_any_number_of_places_are_divided_into_tiles(width):
    check(Convolution((1, 1), "SAME", (1, 1)), (1, 3, width, 2), (3, 3, 2, 40), "float32")


@pytest.mark.parametrize("outputs", range(1, 5))
def test_few_outputs_have_vectors_of_places_in_lines_of_any_length(outputs):
    for width in (4, 7, 8, 9, 16, 17, 24, 25, 31, 32, 33, 40, 41, 64, 65, 97):
        op, image, filters = Convolution((2, 1), "SAME", (1, 2)), (1, 5, width, 5), (3, 2, 5, outputs)
        sizes = convolving.sizes_for(op, image, filters)
        if width >= 16:
            assert convolving.value_rows(sizes, "float32", 1).function == convolving.FEW
        check(op, image, filters, "float32")


@pytest.mark.parametrize("outputs", [16, 2])
def test_windows_beyond_the_image_and_images_without_a_rim(outputs):
    # The window of a place is all in front of the image, or behind it; windows begin inside of it.
    x, kernel = np.ones((1, 3, 5, 2), "float32"), np.ones((2, 3, 2, outputs), "float32")
    for before, counts in (((4, 9), (11, 24)), ((-1, -2), (2, 4)), ((0, 0), (2, 4)), ((-5, -7), (4, 6))):
        sizes = convolving.sizes_of(x.shape, kernel.shape, counts, (1, 1), (1, 1), before)
        y = np.full((1, *counts, outputs), np.nan, "float32")
        convolving.convolve(sizes, x, kernel, y)
        for o0, o1 in itertools.product(*map(range, counts)):
            inside = [
                sum(0 <= o - b + k < n for k in range(w))
                for o, b, n, w in zip((o0, o1), before, (3, 5), (2, 3), strict=True)
            ]
            assert (y[0, o0, o1] == 2 * inside[0] * inside[1]).all()


def test_calls_from_several_threads_do_not_meet():
    op, image, filters = LARGE[0]
    given = [values(op, image, filters, "float32", seed) for seed in range(4)]
    alone = [by_steps(op, *each) for each in given]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda each: by_steps(op, *each), given * 2))
    for found, want in zip(together, alone * 2, strict=True):
        for one, another in zip(found, want, strict=True):
            np.testing.assert_array_equal(one, another)


def test_what_the_steps_do_not_have():
    ones = (1, 1)
    assert (
        convolving.sizes_of((2, 0, 5, 3), (1, 1, 3, 4), (0, 5), ones, ones, (0, 0)) is None
    )  # nothing in it
    assert (
        convolving.sizes_of((2, 5, 5, 8), (1, 1, 2, 8), (5, 5), ones, ones, (0, 0)) is None
    )  # narrow groups
    assert (
        convolving.sizes_of((2, *(5,) * 4, 8), (*ones, *ones, 8, 8), (5,) * 4, ones * 2, ones * 2, (0,) * 4)
        is None
    )
