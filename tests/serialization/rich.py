"""A model with one of everything that a file can hold."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

import graphad as gd

Pair = collections.namedtuple("Pair", "left right")


@gd.custom_gradient
def scaled(x: Any) -> Any:
    """x with the gradient 3 sin(x), which has a rule of its own."""
    return x * 1.0, lambda dy: dy * 3.0 * slanted(x)


@gd.custom_gradient
def slanted(x: Any) -> Any:
    """sin(x) with the gradient 2 cos(x)."""
    return gd.sin(x), lambda dy: dy * 2.0 * gd.cos(x)


class Rich(gd.Module):
    """See the module docstring."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = gd.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), name="kernel")
        self.count = gd.Variable(0, name="count", trainable=False)
        self.free = gd.Variable([1.0, 2.0], shape=gd.TensorShape(None))
        self.shared = self.kernel
        self.layers = [gd.Module(), {"inner": self.free, "twin": [self.kernel]}]
        self.layers[0].parent = self
        self.keyed = {1: self.kernel, ("a", 2): self.count}
        self.pair = Pair(self.kernel, (self.count,))
        self.rng = gd.random.Generator.from_seed(5)
        self.table = gd.constant(np.arange(200, dtype=np.float32) / 200)
        self.concrete = self.branch.get_concrete_function(gd.TensorSpec([3]))
        self.described(gd.constant([1.0]), mode="twice")
        self.described(gd.constant([1.0]), Pair(gd.constant(1.0), [gd.constant(2.0)]))

    @gd.function(input_signature=[gd.TensorSpec([None, 3])])
    def __call__(self, x: Any) -> Any:
        return scaled(gd.matmul(x, self.kernel)) + self.table[:4]

    @gd.function(input_signature=[gd.TensorSpec([None])])
    def loop(self, x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, gd.cond(i % 2 == 0, lambda: scaled(y) * 0.5, lambda: y + gd.sin(x))

        return gd.while_loop(lambda i, y: i < 4, body, [0, x])[1]

    @gd.function(input_signature=[gd.TensorSpec(None)])
    def branch(self, x: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.cond(gd.reduce_sum(x) > 0.0, lambda: gd.exp(-x), lambda: x * x)
        return y, {"gradient": tape.gradient(y, x), "none": None}

    @gd.function(input_signature=[])
    def step(self) -> Any:
        self.count.assign_add(1)
        gd.debugging.assert_positive(self.count, message="no steps")
        return self.count * 2

    @gd.function(input_signature=[gd.TensorSpec([], gd.int32)])
    def draw(self, n: Any) -> Any:
        return self.rng.normal([n]) + gd.random.uniform([n]) + gd.random.normal([n], seed=3)

    @gd.function(input_signature=[gd.TensorSpec([None, 4])])
    def parts(self, x: Any) -> Any:
        a, b = gd.split(x, 2, axis=1)
        rows = gd.scan(lambda s, row: s * 0.5 + row, a, initializer=gd.zeros([2]))
        folded = gd.reduce_max(gd.transpose(b), axis=1)
        return {"rows": rows, "folded": folded, "first": x[0, ::2], "picked": gd.gather(x, [0, 0])}

    @gd.function
    def described(self, x: Any, pair: Any = None, *, mode: str = "once") -> Any:
        y = x * 2.0 if mode == "twice" else x
        return y if pair is None else [y * pair.left, Pair(y, pair.right)]


def signatures(model: Rich) -> dict[str, Any]:
    """Signatures of a rich model."""
    return {
        "serving_default": model.__call__,
        "parts": model.parts,
        "loop": model.loop.get_concrete_function(),
    }
