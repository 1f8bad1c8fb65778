"""Helpers of array ops: uniformly stacked operands, static values, sizes known while specialising."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from graphad.core.annotations import BatchContext, FoldContext, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import array_of, is_empty_list, lift, stands_for_tensor
from graphad.core.dimension import Dimension
from graphad.core.dims import Dim, Size
from graphad.core.dtypes import DType, int32
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, ResourceExhaustedError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.op import MIXED, Op, no_batch, no_gradient, output_specs
from graphad.core.references import AT
from graphad.core.rule_errors import NO_MEMORY, TOO_LARGE
from graphad.core.shapes import are_compatible, format_dims, no_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.sizes import known_value, require_count, whole_numbers


class WithoutInputs(Op):
    """Base class of ops that compute a value from their attributes only."""

    vjp = no_gradient("it depends on its attributes alone")
    batch_given = no_batch("its sizes come from values, of which each row has its own")

    def batch(self, ctx: BatchContext, *given: Ranked) -> Tensor:
        return ctx.unstacked(bind(self, *given))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None


def in_memory(op: str, function: Any, *values: Any, **named: Any) -> Any:
    """function(*values, **named), which returns an array. Raises: ResourceExhaustedError: there is too little memory."""
    try:
        return function(*values, **named)
    except MemoryError as cause:
        raise ResourceExhaustedError(f"{op}: {cause}.") from cause
    except ValueError as cause:
        if not str(cause).startswith(TOO_LARGE):
            raise
        raise ResourceExhaustedError(f"{op}: {NO_MEMORY}.") from cause


def as_stacked(ctx: BatchContext, i: int, x: Any) -> Tensor:
    """Input i of a batching rule with the loop axis in front, repeated along it if it is the same in every row."""
    return x if ctx.stacked(i) else bind(BroadcastTo((ctx.size, *x.dims)), x)


def all_stacked(ctx: BatchContext, xs: Sequence[Tensor]) -> list[Any]:
    """All inputs of a batching rule with the loop axis in front."""
    return [as_stacked(ctx, i, x) for i, x in enumerate(xs)]


def shifted(axis: int, rank: int) -> int:
    """An axis of a row of rank `rank` as an axis of the stacked value."""
    return axis % rank + 1 if rank else axis + 1


def same_row(axes: Sequence[RowAxis]) -> RowAxis:
    """The row axis of a result whose axes are those of the operands, or that is one of them: None if none has one, MIXED if they
    differ."""
    found = {axis for axis in axes if axis is not None}
    return None if not found else found.pop() if len(found) == 1 else MIXED


def row_beside(row: RowAxis, spec: TensorSpec, *combined: int) -> RowAxis:
    """The row axis of a result with the axes of `spec` that combines elements along some: `row`, MIXED if it is one of these."""
    if row is None:
        return None
    rank = len(spec.dims or (0,))
    return MIXED if row in [axis % rank for axis in combined] else row


def batch_along(ctx: BatchContext, op: Op, axis: int, x: Ranked, given: Ranked) -> Tensor:
    """The batching rule of an op with only an axis, of x, and an operand for that axis: where all rows have the same one, it
    runs along the axis behind; else row by row."""
    if ctx.stacked(1):
        return ctx.rowwise(op, x, given)
    along: Any = type(op)
    return bind(along(axis % (len(x.dims) - 1) + 1), x, given)  # type: ignore[no-any-return]


INTEGERS = frozenset({int})


def static_array(x: object) -> Any:
    """An integer argument (list, array, tensor) as a NumPy array where its value is known now, else None."""
    try:
        return _static_array(x)
    except RecursionError:
        lift(x)  # says that it is too deep
        raise


def _static_array(x: object) -> Any:
    if stands_for_tensor(x):
        value = known_value(lift(x))
        return None if value is None else np.asarray(value)
    if isinstance(x, list | tuple):
        if x and INTEGERS.issuperset(map(type, x)):
            return array_of(x)
        if x and all(type(item) is list and item and INTEGERS.issuperset(map(type, item)) for item in x):
            return array_of(x)
        items = [_static_array(item) for item in x]
        if any(item is None for item in items):
            return None
        return array_of(items) if items else np.zeros((0,), np.int32)
    return array_of(x.value if isinstance(x, Dimension) else x)


def static_here(x: Any) -> Any:
    """`static_array` of axes, places and what else decides a shape: tensors on a device, also in a list, are copied here."""
    return static_array(_here(x))


def _here(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return [_here(item) for item in x]
    is_there = isinstance(x, Tensor) and x.away and x.has_value
    return x.here() if is_there else x


def static_integers(x: object) -> Any:
    """The same, with an array of NumPy whose floats are whole as integers; a float of Python stays one."""
    found = static_array(x)
    if found is None or (found.dtype.kind == "f" and not isinstance(x, np.ndarray | np.floating)):
        return found
    return whole_numbers(found)


def require_number(op: str, x: Any, name: str) -> None:
    """Raises: ArgumentTypeError: an argument is neither a real number nor convertible to a tensor."""
    if type(x) is not int and not stands_for_tensor(x):
        known = array_of(x)
        if known.ndim or known.dtype.kind not in "iuf":
            shown = " ".join(repr(x).split())
            raise ArgumentTypeError(f"{op}: {name} must be a number, got {shown[:60]}.")


def static_int(op: str, x: object, name: str) -> Size | None:
    """An integer scalar argument as a Python int where its value is known now, else None."""
    if type(x) is int:
        return x
    if isinstance(x, Dim):
        return x
    value = static_integers(x)
    if value is None:
        return None
    if value.ndim or value.dtype.kind not in "iu":
        raise (
            no_axis(op, x)
            if name == "axis"
            else ArgumentTypeError(f"{op}: {name} must be an integer, got {x!r}.")
        )
    return int(value)


def is_open(axis: object) -> TypeGuard[Tensor | Sequence[Any]]:
    """Whether an `axis` argument is a tensor whose value is not known while tracing, or has one among several."""
    if type(axis) is list or type(axis) is tuple:
        return any(map(is_open, axis))
    return isinstance(axis, Tensor) and axis.known is None


def over_open_axes(
    op: str, axis: Any, x: Tensor, function: Callable[[Any], Tensor], several: bool = True
) -> Tensor:
    """`function` of the axes that a tensor names which is not known: see `ops/control/axes.py`, which few programs need."""
    module = importlib.import_module("graphad.ops.control.axes")
    return module.for_each(op, lift(axis), x, function, several)  # type: ignore[no-any-return]


def requested_size(op: str, size: TensorLike, word: str) -> tuple[Any, tuple[Any, ...]]:
    """The same for one size."""
    known = static_int(op, size, word)
    if known is not None:
        require_count(op, known, word)
        return known, ()
    return (AT, 1), (lift(size),)


def index_tensor(op: str, x: object, name: str) -> Tensor:
    """An index argument as a tensor of integers; a list without numbers, which says no dtype, as int32."""
    x = lift(x, int32 if is_empty_list(x) else None)
    require_kind(op, x, INTEGER, name)
    return x


def require_gradient(op: str, g: TensorSpec, result: TensorSpec) -> None:
    """Raises: InvalidArgumentError: `g` is not a cotangent of a result like this one."""
    if g.dtype is not result.dtype or not are_compatible(g.dims, result.dims):
        raise InvalidArgumentError(
            f"{op}: g has shape {format_dims(g.dims)} and dtype {g.dtype.name}; it is the gradient of a result with shape "
            f"{format_dims(result.dims)} and dtype {result.dtype.name}, and must have the same."
        )


def put_back(
    op: Op, forward: Op, g: TensorSpec, dims: tuple[Any, ...] | None, *rest: TensorSpec
) -> TensorSpec:
    """The spec of shape `dims` into which `op` puts `g`; `g` must have the spec of `forward` on it and `rest`."""
    found = g.with_dims(dims)
    require_gradient(op.name, g, output_specs(forward, (found, *rest))[0])
    return found


def require_scalar(op: str, spec: TensorSpec, word: str) -> None:
    """Raises: InvalidArgumentError: the tensor is known not to be a scalar."""
    if spec.dims is not None and len(spec.dims) != 0:
        raise InvalidArgumentError(f"{op}: {word} has shape {format_dims(spec.dims)}; a scalar is needed.")


def merge_sizes(op: str, shapes: Sequence[Any], axis: int) -> Any:
    """The size that all `shapes` have at `axis`, as far as it is known. Raises: InvalidArgumentError: they differ."""
    size = None
    for dims in shapes:
        mine = dims[axis]
        if size is None:
            size = mine
        elif mine is not None and mine != size:
            listed = ", ".join(format_dims(other) for other in shapes)
            raise InvalidArgumentError(
                f"{op}: shapes {listed} differ at axis {axis}: sizes {size} and {mine} must be equal."
            )
    return size


def merge_dims(
    op: str, shapes: Sequence[tuple[Dim | int | None, ...] | None], joined: int | None = None
) -> Any:
    """The shape that all of `shapes` describe, with None for the axis `joined`, along which they may differ.

    Raises: InvalidArgumentError: ranks or sizes differ.
    """
    known = [dims for dims in shapes if dims is not None]
    if not known:
        return None
    if len({len(dims) for dims in known}) > 1:
        listed = ", ".join(format_dims(dims) for dims in known)
        raise InvalidArgumentError(f"{op}: shapes {listed} have different ranks; all must have the same.")
    return tuple(None if axis == joined else merge_sizes(op, known, axis) for axis in range(len(known[0])))


def known_scalar(ctx: FoldContext, x: Tensor) -> Dim | int | None:
    """A scalar size known while specialising (a number or a symbol), else None."""
    known = ctx.known(x)
    return known[0] if known is not None and len(known) == 1 else None


def sizes(ctx: FoldContext, values: TensorLike, dtype: DType) -> Tensor:
    """Sizes computed while specialising, as data again: a list as a vector, one size as a scalar."""
    if isinstance(values, list | tuple):
        return ctx.sizes(tuple(values), dtype)
    if isinstance(values, Dim):
        return bind(SizeVector((values,), dtype, True))  # type: ignore[arg-type]  # a symbol
    return lift(dtype.numpy.type(values))
