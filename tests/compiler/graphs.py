"""Random graphs for the tests of the compiler: elementwise, broadcast, reduce, view and matmul nodes over a few shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.ops import math as m
from graphad.ops.array import concat, pad, reverse, stack, tile, transpose, unstack
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.shape import shape
from graphad.ops.linalg import matmul
from graphad.trace.tracer import trace_flat

UNARY = ("negative", "abs", "square", "tanh", "exp_small", "sqrt_abs", "sigmoid", "relu_like", "floor")
BINARY = ("add", "multiply", "subtract", "maximum", "select", "divide_safe")
REDUCE = ("reduce_sum", "reduce_max", "reduce_mean", "reduce_min")
VIEWS = ("transpose", "flatten", "expand", "outer", "reverse_shape")


def unary(name: str, x: Any) -> Any:
    if name == "exp_small":
        return m.exp(m.tanh(x))
    if name == "sqrt_abs":
        return m.sqrt(m.abs(x))
    if name == "relu_like":
        return m.maximum(x, 0.0)
    return getattr(m, name)(x)


def binary(name: str, x: Any, y: Any) -> Any:
    if name == "select":
        return m.where(m.less(x, y), x, y)
    if name == "divide_safe":
        return m.divide(x, m.add(m.abs(y), 1.0))
    return getattr(m, name)(x, y)


def view(name: str, x: Any) -> Any:
    if name == "transpose":
        return transpose(x)
    if name == "flatten":
        return reshape(x, [-1])
    if name == "expand":
        return expand_dims(x, 0)
    if name == "outer":
        return m.add(expand_dims(x, 0), x)
    return reshape(x, shape(transpose(x)))


def moved(which: int, x: Any, y: Any, axis: int) -> list[Any]:
    """Ops that put arrays together or take them apart."""
    if which == 0 and x.dims == y.dims and x.dtype is y.dtype:
        return [concat([x, m.negative(y), x], axis)]
    if which == 1 and x.dims == y.dims and x.dtype is y.dtype and x.ndim < 3:
        return [stack([x, y], axis)]
    if which == 2:
        return [pad(x, [[1, 2] if k == axis else [0, 1] for k in range(x.ndim)], constant_values=0.5)]
    if which == 3:
        return [tile(x, [2 if k == axis else 1 for k in range(x.ndim)])]
    if which == 4:
        return [reverse(x, [axis])]
    if which == 5 and x.ndim < 3:
        return unstack(stack([x, m.square(x)], axis), 2, axis)
    return []


steps = st.lists(
    st.tuples(
        st.sampled_from(("unary", "binary", "binary", "reduce", "view", "move", "matmul")),
        st.integers(0, 8),
        st.integers(0, 63),
        st.integers(0, 63),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=14,
)
sizes = st.sampled_from((0, 1, 2, 3, 5, 8))


def build(plan: Any, specs: list[TensorSpec], n_outputs: int) -> Graph:
    """A graph of the steps; a step that does not fit the shapes it meets is left out."""

    def function(*inputs: Any) -> list[Any]:
        values = list(inputs)
        for kind, which, a, b, axis in plan:
            x, y = values[a % len(values)], values[b % len(values)]
            rank = x.ndim or 0
            if kind == "unary":
                values.append(unary(UNARY[which % len(UNARY)], x))
            elif kind == "binary" and (x.dims == y.dims or not rank or not y.ndim):
                values.append(binary(BINARY[which % len(BINARY)], x, y))
            elif kind == "reduce" and rank:
                name = REDUCE[which % len(REDUCE)]
                values.append(getattr(m, name)(x, axis=axis % rank, keepdims=bool(which % 2)))
            elif kind == "view" and 0 < rank < 3:
                values.append(view(VIEWS[which % len(VIEWS)], x))
            elif kind == "move" and rank:
                values.extend(moved(which % 6, x, y, axis % rank))
            elif kind == "matmul" and rank == 2:
                values.append(matmul(x, x, transpose_a=bool(which % 2), transpose_b=not which % 2))
        return values[-n_outputs:]

    return trace_flat(function, specs).graph


def inputs(graph: Graph, numbers: dict[int, int], seed: int) -> list[Any]:
    """Values for the inputs; `numbers` gives each unknown size by its place in the first input's shape."""
    rng = np.random.default_rng(seed)
    out = []
    for spec in graph.inputs:
        dims = [numbers[k] if size is None else size for k, size in enumerate(spec.dims or ())]
        value = rng.normal(size=dims).astype(spec.dtype.numpy)
        out.append(
            value if dims else value[()] if isinstance(value, np.ndarray) else spec.dtype.numpy.type(value)
        )
    return out


def close(a: Any, b: Any, scale: float = 1.0) -> None:
    """Equal shapes, dtypes and values, up to a few roundings of the largest element."""
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    if a.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
        return
    finite = np.abs(np.where(np.isfinite(a), a, 0))
    largest = float(finite.max()) if a.size else 0.0
    bound = 1e-5 if a.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(b, a, rtol=bound, atol=bound * max(largest, 1.0) * scale)
