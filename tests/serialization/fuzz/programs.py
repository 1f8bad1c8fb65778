"""Models to start from: each a module with one function, and arguments for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphad as gd
from graphad.core.nest import flatten
from tests.ops.array import cases as array
from tests.ops.linalg import cases as linalg
from tests.ops.math import cases as math
from tests.ops.nn import cases as nn
from tests.ops.random import cases as random

CASES = [*array.CASES, *linalg.CASES, *math.CASES, *nn.CASES, *random.CASES]


def _float32(x: Any) -> Any:
    return x.astype({"float64": "float32", "complex128": "complex64"}.get(x.dtype.name, x.dtype.name))


def _continued(y: Any) -> Any:
    """What native steps make of a result, so that they read what a step on the host gave."""
    if y.dtype.is_floating:
        return gd.tanh(y) * 0.5 + y
    return y + y if y.dtype.is_integer else y


class Program:
    """A function, its specs and its arguments; traced and saved when it is first asked for."""

    def __init__(self, name: str, build: Callable[[], Any], arguments: list[Any]) -> None:
        self.name = name
        self.build = build
        self.arguments = arguments

    def __repr__(self) -> str:
        return self.name


def _of_case(case: Any, sizes: bool, gradient: bool) -> Program:
    arrays = [_float32(x) if case.float32 else x for x in case.arrays]

    def call(*xs: Any) -> Any:
        if not gradient:
            return [_continued(y) for y in case.call(*xs)]
        sources = [x for x in xs if x.dtype.is_differentiable]
        with gd.GradientTape() as tape:
            tape.watch(sources)
            outputs = [y for y in case.call(*xs) if y.dtype.is_differentiable]
        found = tape.gradient(outputs, sources)
        return [_continued(gd.convert_to_tensor(g)) for g in found if g is not None]

    def build() -> Any:
        root = gd.Module()
        specs = [gd.TensorSpec([None] * x.ndim if sizes else x.shape, x.dtype.name) for x in arrays]
        root.f = gd.function(call, input_signature=specs)
        return root

    kind = f"{'sizes' if sizes else 'known'}{'-gradient' if gradient else ''}"
    return Program(f"{case.name}-{kind}", build, arrays)


def _of_cases() -> list[Program]:
    found = []
    for case in CASES:
        for sizes in (False, True):
            if sizes and "sizes" not in case.unknown:
                continue
            found.append(_of_case(case, sizes, False))
            if case.order and case.sources and any(x.dtype.kind in "fc" for x in case.arrays):
                found.append(_of_case(case, sizes, True))
    return found


# -- control flow, keys, variables, custom gradients -----------------------------------------------------------------------

F = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3)
V = np.linspace(0.5, 1.5, 4, dtype=np.float32)
N = np.int32(3)


def _while(x: Any, n: Any) -> Any:
    return gd.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, gd.sin(y) + x), (0, x))[1]


def _scan(x: Any) -> Any:
    return gd.scan(lambda s, row: gd.tanh(s * 0.5 + row), x, initializer=gd.zeros_like(x[0]))


def _scan_back(x: Any) -> Any:
    return gd.scan(lambda s, row: s * 0.5 + row, x, reverse=True)


def _map(x: Any) -> Any:
    return gd.map_fn(lambda row: gd.cumsum(row) * row[0], x)


def _fold(x: Any, n: Any) -> Any:
    return gd.foldl(lambda s, row: gd.cond(s[0] > 0.0, lambda: s + row, lambda: s - row), x) + gd.cast(
        n, gd.float32
    )


def _branches(x: Any, n: Any) -> Any:
    def grown() -> Any:
        return gd.while_loop(lambda y: gd.reduce_sum(y) < 10.0, lambda y: (y + 1.0,), (x,))[0]

    return gd.cond(n > 2, lambda: gd.exp(-x * x), grown)


def _keys(x: Any, n: Any) -> Any:
    return (
        gd.exp(x[n - 2 : n, ::2]),
        x[n - 1],
        gd.sin(gd.slice(x, [0, n - 3], [2, 2])),
        x[gd.newaxis, ..., :n],
    )


def _shapes(x: Any, n: Any) -> Any:
    a = gd.reshape(x, [n + 1, -1])
    b = gd.broadcast_to(x[0], [n, 3])
    c = gd.zeros([n, 2]) + 1.0
    d = gd.reshape(gd.range(n * 2), [n, 2])
    return gd.exp(a) * 2.0, gd.sin(b) + 1.0, c * 3.0, d + 1


def _taken(x: Any, n: Any) -> Any:
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = gd.gather(x, [0, n - 2, 0]) * x[n - 1] + gd.reduce_mean(x[:n], axis=0)
    return tape.gradient(y, x)


def _gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(x: Any, *rest: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = function(x, *rest)
        return y, tape.gradient(y, x)

    return gradient


def _masks(x: Any) -> Any:
    return gd.boolean_mask(x, x[:, 0] > 0.0) * 2.0, gd.where(x > 0.0, gd.sqrt(gd.abs(x)), x)


def _rows(x: Any) -> Any:
    return gd.vectorized_map(lambda row: gd.reduce_sum(row * row) * row, x)


def _draws(n: Any) -> Any:
    return gd.random.uniform([n, 2], seed=3) + 1.0, gd.random.normal([3], seed=4)


class _Stateful(gd.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = gd.Variable(F[:3].copy(), name="w")
        self.count = gd.Variable(0, trainable=False)
        self.free = gd.Variable(V.copy(), shape=gd.TensorShape(None))

    @gd.function(input_signature=[gd.TensorSpec([None, 3])])
    def f(self, x: Any) -> Any:
        self.count.assign_add(1)
        y = gd.matmul(x, self.w) + gd.cast(self.count, gd.float32)
        self.free.assign(y[0])
        gd.debugging.assert_greater(self.count, 0)
        return y, self.free * 2.0, gd.reduce_sum(y)


class _Custom(gd.Module):
    @gd.function(input_signature=[gd.TensorSpec([None, 3])])
    def f(self, x: Any) -> Any:
        @gd.custom_gradient
        def scaled(x: Any) -> Any:
            return x * gd.sin(x), lambda g: g * gd.cos(x) * 3.0

        with gd.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x) + x
        return y, tape.gradient(y, x)


def _signed(function: Callable[..., Any], *arrays: Any, sizes: bool = True) -> Program:
    def build() -> Any:
        root = gd.Module()
        specs = [gd.TensorSpec([None] * np.ndim(x) if sizes else np.shape(x), x.dtype.name) for x in arrays]
        root.f = gd.function(function, input_signature=specs)
        return root

    name = getattr(function, "title", function.__name__)
    return Program(f"{name}-{'sizes' if sizes else 'known'}", build, list(arrays))


def _written() -> list[Program]:
    found = []
    for function, arrays in (
        (_while, (V, N)), (_scan, (F,)), (_scan_back, (F,)), (_map, (F,)), (_fold, (F, N)), (_branches, (V, N)), (_keys, (F, N)),
        (_shapes, (F, N)), (_taken, (F, N)), (_masks, (F,)), (_rows, (F,)), (_draws, (N,)),
    ):  # fmt: skip
        for sizes in (True, False):
            found.append(_signed(function, *arrays, sizes=sizes))
            if function in (_while, _scan, _scan_back, _map, _fold, _branches, _rows, _keys):
                gradient: Any = _gradient_of(lambda x, *rest, f=function: flatten(f(x, *rest))[0])
                gradient.title = f"{function.__name__}-gradient"
                found.append(_signed(gradient, *arrays, sizes=sizes))
    found.append(Program("variables", _Stateful, [F]))
    found.append(Program("custom", _Custom, [F]))
    return found


def programs() -> list[Program]:
    """All of them, the written ones several times: there is more in them to get wrong."""
    return [*_written() * 8, *_of_cases()]
