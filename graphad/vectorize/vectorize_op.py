"""Rows of a pullback while shapes are unknown: an op that becomes a batched graph once the sizes are known.

Batching rules need definite shapes. Until there are any, a Jacobian is this one op; specialising the graph expands it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.dims import product
from graphad.core.levels import entered
from graphad.core.op import MIXED, Op, define
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.ops.array.create import EyeOf
from graphad.ops.array.shape import Reshape
from graphad.vectorize.batch import BatchLevel, stack_rows


@define
class JacobianRows(Op):
    """(target, captures...) -> for each output [*s] of `graph`(cotangent of the target, captures...) all rows, [*t, *s]."""

    name = "jacobian_rows"
    multiple = True
    transient = True
    keeps = (True, False)
    graph: Graph

    def infer(self, target: TensorSpec, *captures: TensorSpec) -> tuple[TensorSpec, ...]:
        return tuple(
            [
                TensorSpec.of(
                    None if target.dims is None or spec.dims is None else target.dims + spec.dims, spec.dtype
                )
                for spec in self.graph.output_specs
            ]
        )

    def eval(self, target: Any, *captures: Any) -> tuple[Any, ...]:
        basis = np.eye(target.size, dtype=target.dtype).reshape(target.size, *target.shape)
        rows = [run(self.graph, [bar if bar.ndim else bar[()], *captures]) for bar in basis]
        if not rows:
            probe = run(self.graph, [np.zeros(target.shape, target.dtype), *captures])
            return tuple([np.zeros(target.shape + np.shape(y), y.dtype) for y in probe])
        return tuple(
            [
                np.stack([row[k] for row in rows]).reshape(target.shape + np.shape(rows[0][k]))
                for k in range(len(rows[0]))
            ]
        )

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None if all(axis is None for axis in axes) else MIXED

    def fold(self, ctx: Any, target: Any, *captures: Any) -> Any:
        if not is_definite(target.dims) or not all(is_definite(x.dims) for x in captures):
            return None
        count = product(target.dims)
        basis = bind(Reshape((count, *target.dims)), bind(EyeOf(count, count, target.dtype)))
        # Batching rules want definite shapes, so the row's own shape arithmetic has to fold away first.
        graph = ctx.specialised(self.graph, [TensorSpec.of(target.dims, target.dtype), *captures])
        level = BatchLevel(count)
        with entered(level):
            outputs = replay(graph, [level.wrap(basis), *captures])
        stacked = [stack_rows(level, y) for y in outputs]
        return tuple([bind(Reshape((*target.dims, *y.dims[1:])), y) for y in stacked])
