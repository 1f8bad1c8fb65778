"""NumPy's arrays have at most 64 axes: what would have more is refused by name, before NumPy is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as gd

ONES = np.ones([1] * 40, np.float32)
FULL = np.ones([1] * 64, np.float32)
PLACES = np.zeros([1] * 40, np.int32)
REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "ones": (lambda: gd.ones([1] * 65), (), "ones: shape has 65 entries; a tensor has at most 64 axes"),
    "normal": (lambda: gd.random.normal([1] * 65), (), "random.normal: shape has 65 entries"),
    "reshape": (lambda x: gd.reshape(x, [1] * 65), (ONES,), "reshape: shape .* has 65 entries; a tensor has at most 64 axes"),
    "fill": (lambda n: gd.fill(n, 1.0), (np.ones(65, np.int32),), "shape has 65 entries"),
    "gather": (lambda x, i: gd.gather(x, i), (ONES, PLACES), "gather: the result would have 79 axes; a tensor has at most 64"),
    "gather_nd": (lambda x, i: gd.gather_nd(x, i), (ONES, PLACES), "gather_nd: the result would have 78 axes"),
    "one_hot": (lambda i: gd.one_hot(i, 3), (FULL.astype(np.int32),), "one_hot: the result would have 65 axes"),
    "stack": (lambda x: gd.stack([x]), (FULL,), "stack: the result would have 65 axes"),
    "expand_dims": (lambda x: gd.expand_dims(x, 0), (FULL,), "expand_dims: the result would have 65 axes"),
    "newaxis": (lambda x: x[None, ...], (FULL,), "the result would have 65 axes|has 65 entries"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("way", ["eager", "known", "unknown rank"])
def test_more_axes_than_64_are_refused_with_their_number(name: str, way: str) -> None:
    call, given, words = REFUSED[name]
    arguments = [gd.constant(x) for x in given]
    if way != "eager":
        unknown = way == "unknown rank"
        specs = [gd.TensorSpec(None if unknown and x.ndim > 1 else x.shape, x.dtype) for x in arguments]
        call = gd.function(call, input_signature=specs)
    with pytest.raises(ValueError, match=words):
        call(*arguments)


def test_tensors_of_64_axes_are_computed_with() -> None:
    x = gd.constant(FULL * 3)
    assert gd.transpose(x).ndim == gd.tile(x, [1] * 64).ndim == gd.reshape(3.0, [1] * 64).ndim == 64
    assert float(gd.reduce_sum(x * x)) == 9.0
    assert len(gd.split(gd.ones([100]), [1] * 100)) == 100


LARGE = 2**62
TOO_LARGE: dict[str, tuple[Callable[..., Any], str]] = {
    "reshape beside 0": (lambda x: gd.reshape(x[:0], [LARGE, 2, 0]), r"reshape: .*\(4611686018427387904, 2, 0\)"),
    "tile": (lambda x: gd.tile(x, [LARGE, LARGE]), r"tile: .*\(9223372036854775808, 13835058055282163712\)"),
    "tile nothing": (lambda x: gd.tile(x[:0], [LARGE, LARGE]), "tile: the result would have shape"),
    "broadcast_to": (lambda x: gd.broadcast_to(1.0, [LARGE, 8]), "broadcast_to: the result would have shape"),
    "fill": (lambda x: gd.fill([LARGE, 8], 1.0), r"fill: .*\(4611686018427387904, 8\)"),
    "zeros": (lambda x: gd.zeros([2**40, 2**40, 0]), r"zeros: .*\(1099511627776, 1099511627776, 0\)"),
    "one_hot": (lambda x: gd.one_hot([1, 2], LARGE), r"one_hot: .*\(2, 4611686018427387904\)"),
    "pad": (lambda x: gd.pad(x, [[LARGE, LARGE], [LARGE, LARGE]]), "pad: the result would have shape"),
    "uniform": (lambda x: gd.random.uniform([LARGE, 8]), "random.uniform: the result would have shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("way", ["eager", "known", "unknown rank"])
def test_sizes_that_multiply_to_too_much_are_refused_with_their_shape(name: str, way: str) -> None:
    call, words = TOO_LARGE[name]
    x = gd.constant(np.ones((2, 3), np.float32))
    if way != "eager":
        call = gd.function(call, input_signature=[gd.TensorSpec(None if way != "known" else [2, 3])])
    with pytest.raises(gd.errors.InvalidArgumentError, match=f"{words}(.|\n)*"):
        call(x)


@pytest.mark.parametrize("way", ["eager", "traced"])
def test_sizes_from_a_tensor_that_multiply_to_too_much_are_refused_with_their_shape(way: str) -> None:
    calls = {
        "reshape": lambda n: gd.reshape(gd.zeros([0]), n),
        "tile": lambda n: gd.tile(gd.zeros([1, 1, 0]), n),
        "zeros|broadcast_to": lambda n: gd.zeros(n),
    }
    for name, call in calls.items():
        f = call if way == "eager" else gd.function(call, input_signature=[gd.TensorSpec([None], gd.int64)])
        with pytest.raises(gd.errors.InvalidArgumentError, match=rf"({name}): the result would have shape"):
            f(gd.constant([2**40, 2**40, 0], gd.int64))


def test_what_takes_more_bytes_than_there_are_is_a_lack_of_memory() -> None:
    for call in (
        lambda: gd.eye(2**31),
        lambda: gd.linspace(0.0, 1.0, LARGE),
        lambda: gd.ones([LARGE]),
        lambda: gd.range(LARGE),
    ):
        with pytest.raises(MemoryError, match=r"eye|linspace|ones|range"):
            call()
