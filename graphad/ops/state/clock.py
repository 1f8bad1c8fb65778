"""`timestamp`: the current time, read when the op runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Array, BatchContext, RowAxes, RowAxis
from graphad.core.bind import bind
from graphad.core.op import IO, Op, define, no_gradient
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor


@define
class Timestamp(Op):
    """The seconds since 1970, UTC, by the machine's clock when the op runs."""

    name = "timestamp"
    keeps = (False, False)
    effects = IO

    def infer(self) -> TensorSpec:
        return TensorSpec.of((), dtypes.float64)

    def eval(self) -> Array:
        return np.float64(time.time())  # type: ignore[return-value]

    vjp = no_gradient("the time is not a function of values")

    def batch(self, ctx: BatchContext) -> Tensor:
        return ctx.unstacked(bind(self))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None


def timestamp(name: str | None = None) -> Tensor:
    """The seconds since 1970 as a float64 scalar, at the time when the op runs.

    Returns: float64 scalar.
    """
    return bind(Timestamp())
