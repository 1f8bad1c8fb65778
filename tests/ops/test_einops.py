"""`einops` on tensors: the same values as on arrays, recorded by tapes, with sizes that a trace does not know."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as gd

einops = pytest.importorskip("einops")
rearrange, reduce, repeat, einsum = einops.rearrange, einops.reduce, einops.repeat, einops.einsum

X = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
CALLS: dict[str, Callable[[Any], Any]] = {
    "joined": lambda t: rearrange(t, "b h w c -> b (h w) c"),
    "split": lambda t: rearrange(t, "b h (w k) c -> b w (c k) h", k=2),
    "ones": lambda t: rearrange(t, "b h w c -> b 1 h w c"),
    "ellipsis": lambda t: rearrange(t, "b ... -> ... b"),
    "stacked": lambda t: rearrange([t, t], "n b h w c -> b h w c n"),
    "sum": lambda t: reduce(t, "b h w c -> b c", "sum"),
    "mean": lambda t: reduce(t, "b h (w k) c -> b h w", "mean", k=2),
    "max": lambda t: reduce(t, "b h w c -> h", "max"),
    "min": lambda t: reduce(t, "b h w c -> 1 h 1 1", "min"),
    "prod": lambda t: reduce(t, "b h w c -> h", "prod"),
    "repeated": lambda t: repeat(t, "b h w c -> b h (w 2) c"),
    "new axis": lambda t: repeat(t, "b h w c -> b n h w c", n=3),
    "einsum": lambda t: einsum(t, t, "b h w c, b h w d -> b c d"),
    "packed": lambda t: einops.pack([t, t[..., 0]], "b h w *")[0],
    "unpacked": lambda t: einops.unpack(t, [[2], [3]], "b h w *")[1],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", ["tensor", "variable", "traced", "unknown sizes"])
def test_values_are_those_of_arrays(name: str, given: str) -> None:
    call = CALLS[name]
    unknown = [None, None, 4, 5] if given == "unknown sizes" else None
    work = (
        gd.function(call, input_signature=[gd.TensorSpec(unknown, gd.float64)])
        if unknown
        else gd.function(call)
    )
    y = {"tensor": call, "variable": lambda x: call(gd.Variable(x))}.get(given, work)(gd.constant(X))
    assert isinstance(y, gd.Tensor)
    np.testing.assert_allclose(y.numpy(), call(X), rtol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_central_differences(name: str) -> None:
    call, x = CALLS[name], gd.constant(X)
    with gd.GradientTape() as tape:
        tape.watch(x)
        loss = gd.reduce_sum(call(x) ** 2)
    direction = np.random.default_rng(1).normal(size=X.shape)
    step = 1e-6
    slope = sum(sign * (call(X + sign * step * direction) ** 2).sum() for sign in (1, -1)) / (2 * step)
    np.testing.assert_allclose((tape.gradient(loss, x).numpy() * direction).sum(), slope, rtol=1e-5)


def test_sizes_of_one_trace_are_not_those_of_the_next() -> None:
    @gd.function(input_signature=[gd.TensorSpec([None, None], gd.float32)])
    def halves(x: gd.Tensor) -> gd.Tensor:
        return rearrange(x, "(k b) c -> b (k c)", k=2)

    for rows in (2, 4, 6):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        np.testing.assert_array_equal(halves(x).numpy(), rearrange(x, "(k b) c -> b (k c)", k=2))


def test_an_unknown_rank_is_refused_in_words() -> None:
    @gd.function(input_signature=[gd.TensorSpec(None, gd.float32)])
    def flat(x: gd.Tensor) -> gd.Tensor:
        return rearrange(x, "a b -> (a b)")

    with pytest.raises(ValueError, match="rank is not known"):
        flat(np.ones((2, 3), np.float32))


def test_masks_and_whole_numbers() -> None:
    mask = gd.constant(X > 0)
    assert reduce(mask, "b h w c -> b", "any").dtype == gd.bool
    assert reduce(gd.cast(mask, "int32"), "b h w c -> b", "sum").numpy().sum() == (X > 0).sum()
    assert einops.parse_shape(mask, "a b _ c") == {"a": 2, "b": 3, "c": 5}
    np.testing.assert_array_equal(einops.asnumpy(mask), X > 0)
