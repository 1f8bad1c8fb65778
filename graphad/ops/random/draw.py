"""Drawing as ops. `random_key` takes a fresh key from a generator, an effect; `draw` turns a key into numbers, a pure op.

So a traced function draws new numbers on every call, and everything computed from the key can be merged, batched and compiled
as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from graphad.core import arrays, dtypes
from graphad.core.annotations import (
    Array,
    BatchContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size, product
from graphad.core.dtypes import DType
from graphad.core.errors import FailedPreconditionError, InvalidArgumentError
from graphad.core.kinds import FLOATING, INTEGER, require_dtype, require_kind_of
from graphad.core.op import MIXED, READS, WRITES, Op, define, else_eval, no_form, no_gradient
from graphad.core.references import entries_of
from graphad.core.schema import Count, Given
from graphad.core.shapes import are_numbers, format_dims
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle, Tensor, guard_of
from graphad.kernels import forms
from graphad.ops.random import blocks, philox
from graphad.ops.state.variables import require_assignable

Distribution = Literal["bits", "integers", "normal", "truncated_normal", "uniform"]
KEY = (2,)


@define
class RandomKey(Op):
    """The current state, [2] int64; afterwards the count in the variable, its second element, is increased by `count`, the
    number of keys that are taken.
    """

    name, version = "random_key", 2
    guarded = True
    keeps = (False, False)
    effects = READS | WRITES
    per_row = True
    count: Count = 1

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"count": 1, **attributes}  # it took one key

    def infer(self, state: HandleSpec) -> TensorSpec:
        return TensorSpec.of(KEY, dtypes.int64)

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        _require_state(self.name, *specs)

    def eval(self, state: Handle) -> Array:
        with state.guard or guard_of(state):
            key = state.data
            if self.count:
                state.data = key + np.array([0, self.count])
        return key  # type: ignore[no-any-return]

    @property
    def in_steps(self) -> tuple[Op, Array, Op]:
        return RandomKey(0), np.array([0, self.count]), SET_STATE

    vjp = no_gradient("a key is an integer")

    def batch(self, ctx: BatchContext, state: Ranked) -> Tensor:
        return bind(SplitKey(ctx.size), bind(self, state))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None


@define
class SplitKey(Op):
    """`n` keys from one, int64[n, 2]: key k is the one derived with turn 64 + k. Keys [..., 2] give `n` keys each, [..., n,
    2]."""

    name = "split_key"
    keeps = (False, False)
    n: Given[Size]
    lower = no_form("keys are derived from each other by rounds of integers, which no form says")

    def infer(self, key: TensorSpec) -> TensorSpec:
        require_key(key)
        return TensorSpec.of((*(() if key.dims is None else key.dims[:-1]), self.n, 2), dtypes.int64)

    def eval(self, key: Array) -> Array:
        return philox.derived_keys(key, philox.TRIES, self.n)

    vjp = no_gradient("a key is an integer")

    def batch(self, ctx: BatchContext, key: Ranked, *given: Ranked) -> Tensor:
        return bind(self, key, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return rows_of_keys(specs, axes)


def _require_state(op: str, state: TensorSpec, *values: TensorSpec) -> None:
    if state.dtype is not dtypes.int64 or state.dims != KEY:
        raise InvalidArgumentError(f"{op}: {state} is not the state of a generator, which is two int64.")
    for value in values:
        require_assignable(op, state, value)


def lift_seed(seed: TensorLike) -> Tensor:
    """A seed of a function named stateless_* as a tensor; other integers of NumPy than int32 and int64 become int64, with the
    same bits."""
    if isinstance(seed, np.ndarray) and seed.dtype.kind in "iu" and seed.dtype not in (np.int32, np.int64):
        seed = seed.astype(np.int64)
    return lift(seed)


def require_key(key: TensorSpec) -> None:
    require_dtype("random", key, (dtypes.int32, dtypes.int64), "seed")
    if key.dims is not None and (not key.dims or key.dims[-1] not in (2, None)):
        raise InvalidArgumentError(
            f"random: seed has shape {format_dims(key.dims)}; two integers are needed."
        )


def rows_of_keys(specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
    """The row axis: each key of a stack gives its own numbers."""
    if any(axis is not None for axis in axes[1:]):
        return MIXED
    return axes[0] if axes[0] is None or axes[0] < len(specs[0].dims or ()) - 1 else MIXED


def _drawn(
    kind: str, keys: Array, shape: Sequence[int], dtype: np.dtype[Any], limits: Sequence[Array]
) -> Array:
    """A draw for each key of a stack of keys."""
    lead, count = keys.shape[:-1], product(shape)
    if not arrays.is_here(keys) and kind != "truncated_normal":
        return _row(kind, keys, count, dtype, limits).reshape((*lead, *shape))  # type: ignore[no-any-return]
    if not lead:
        return _row(kind, keys, count, dtype, limits).reshape(shape)  # type: ignore[no-any-return]
    rows = [_row(kind, key, count, dtype, limits) for key in np.reshape(keys, (-1, 2))]
    if not rows:
        return arrays.zeros((*lead, *shape), dtype, keys)
    return np.stack(rows).reshape((*lead, *shape))


def _row(kind: str, key: Array, count: int, dtype: Any, limits: Sequence[Array]) -> Any:
    """The numbers of one key, or of each key of a stack on a device."""
    if kind == "integers":
        return philox.integers(key, count, limits[0], limits[1], dtype)
    if kind == "bits":
        return philox.integers(key, count, None, None, dtype)
    return _CONTINUOUS[kind](key, count, dtype)


_CONTINUOUS = {
    "uniform": philox.uniform,
    "normal": philox.normal,
    "truncated_normal": philox.truncated_normal,
}


def _shape_was_last(attributes: dict[str, Any]) -> dict[str, Any]:
    """The `shape` is the last input, a vector of integers. If `static` is not nil, it is the known part of the shape: a tuple
    with nil for each size that only the input holds.
    """
    static = attributes["static"]
    unknown = None if static is None or None not in static else static
    return {"kind": attributes["kind"], "shape": entries_of(unknown), "dtype": attributes["dtype"]}


@define
class Draw(Op):
    """An array of `shape` and `dtype` drawn from the distribution `kind` with the key [2]; keys [..., 2] give one array each,
    stacked. `limits` are low and high, for "integers" only.
    """

    name = "draw"
    known_as = "random"
    alone = True
    keeps = (False, False)
    kind: Literal["bits", "integers", "normal", "truncated_normal", "uniform"]
    shape: Given[tuple[Size, ...]]
    dtype: DType
    formerly = {"draw_to": _shape_was_last}

    def infer(self, key: TensorSpec, *limits: TensorSpec) -> TensorSpec:
        require_key(key)
        _check(self.kind, self.dtype, limits)
        lead = () if key.dims is None else key.dims[:-1]
        return TensorSpec.of(None if self.shape is None else (*lead, *self.shape), self.dtype)

    def eval(self, key: Array, *limits: Array) -> Array:
        return _drawn(self.kind, key, self.shape, self.dtype.numpy, limits)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        draw, shape, evaluate = _CONTINUOUS.get(self.kind), self.shape, self.eval
        if draw is None or specs[0].dims != KEY or not are_numbers(shape):
            return None
        count, dtype = product(shape), self.dtype.numpy

        def numbers(key: Array) -> Any:
            return draw(key, count, dtype).reshape(shape) if type(key) is np.ndarray else evaluate(key)

        if not shape and self.kind == "uniform" and dtype.char in "fd":
            return lambda key: philox.one_uniform(key, dtype) if type(key) is np.ndarray else evaluate(key)

        def number(key: Array) -> Any:
            return draw(key, 1, dtype)[0] if type(key) is np.ndarray else evaluate(key)

        return numbers if shape else number

    def takes_all(self, specs: Sequence[TensorSpec], number: Callable[[int], Any]) -> bool:
        if self.refers or self.kind != "integers":
            return not self.refers
        low, high = number(1), number(2)
        return low is not None and high is not None and bool(low <= high)

    @else_eval("how many random numbers a sample takes is known when it is accepted")
    def lower(self, key: TensorSpec, *limits: TensorSpec) -> forms.Form | None:
        return None if self.kind == "truncated_normal" else forms.Drawn(self.kind, self.dtype)

    def expanded(self, key: Ranked, *limits: Ranked) -> Tensor | None:
        return blocks.drawn(self.kind, key, self.shape, self.dtype)

    vjp = no_gradient("random numbers are constants")

    def batch(self, ctx: BatchContext, key: Ranked, *rest: Ranked) -> Tensor:
        if any(ctx.stacked(1 + k) for k in range(len(rest))):
            return ctx.rowwise(self, key, *rest)
        return bind(self, key, *rest)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return rows_of_keys(specs, axes)


def _check(kind: str, dtype: DType, limits: Sequence[TensorSpec]) -> None:
    require_kind_of(f"random.{kind}", dtype, FLOATING if kind in _CONTINUOUS else INTEGER)
    for limit in limits:
        if limit.dims:
            raise InvalidArgumentError(
                f"random.uniform: a limit has shape {format_dims(limit.dims)}; integer limits are scalars."
            )


@define
class SetState(Op):
    """Sets the state of a generator to a new value, which is also the output."""

    name = "random_set_state"
    sets = True
    keeps = (False, False)
    effects = WRITES

    def infer(self, state: HandleSpec, value: TensorSpec) -> TensorSpec:
        return value

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        _require_state(self.name, *specs)

    def eval(self, state: Handle, value: Any) -> Array:
        with state.guard or guard_of(state):
            # On the CPU always: each call changes it, and a device would have to be waited for.
            state.data = value if arrays.is_here(value) else value.host()
        return value  # type: ignore[no-any-return]

    vjp = no_gradient("a state consists of integers")

    def batch(self, ctx: BatchContext, state: Ranked, value: Ranked) -> Tensor:
        raise FailedPreconditionError(
            "random_set_state: a generator cannot have a different state in every row of a vectorized computation; "
            "set its state outside of vectorized_map, jacobian and batch_jacobian."
        )

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[1]


RANDOM_KEY, SET_STATE = RandomKey(), SetState()
