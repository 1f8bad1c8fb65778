"""Jacobians: a stack of cotangents (or of tangents, where the source is smaller) pulled through the tape at once.

The stack is cut into chunks so that the largest stacked value stays within a byte budget; results do not depend on it.
`batch_jacobian` proves by `rows` rules that rows are independent, or tries one random combination of rows, or warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import product
from graphad.core.errors import (
    ArgumentTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    MissingRuleError,
    NonlinearGradientError,
)
from graphad.core.frames import warn_user
from graphad.core.levels import current, entered
from graphad.core.nest import flatten, is_nested
from graphad.core.op import IO, WRITES
from graphad.core.shapes import TensorShape, format_dims, is_definite
from graphad.core.tensor import VALUES, Handle
from graphad.gradient.backward import backward, dense
from graphad.gradient.forward import push_entries
from graphad.gradient.independence import mixing_op
from graphad.gradient.recorder import mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.ops.array.create import eye, zeros
from graphad.ops.array.join import concat, stack
from graphad.ops.array.shape import BroadcastTo, BroadcastToShape, ReshapeTo, expand_dims, reshape, shape
from graphad.ops.array.slice import getitem
from graphad.ops.array.transpose import transpose
from graphad.ops.math.reduce import reduce_prod
from graphad.trace.tracer import RETURN, Trace
from graphad.vectorize.batch import BatchLevel, stack_rows
from graphad.vectorize.vectorize_graph import vectorize

BUDGET = 2 << 20  # bytes of the largest stacked value; 1 to 4 MB measured best
_MOST_CHUNKS_TRACED = 16


class Mode:
    """How a Jacobian is computed: the unconnected mode, the bound on rows at once, and whether to vectorise."""

    __slots__ = ("at_once", "vectorised", "zero")

    def __init__(self, zero: bool, at_once: int | None, vectorised: bool) -> None:
        self.zero = zero
        self.at_once = at_once
        self.vectorised = vectorised


def jacobian(
    tape: Any, target: Any, sources: Any, mode: Any, parallel_iterations: int | None, use_pfor: bool
) -> Any:
    """See `GradientTape.jacobian`; `mode` is the checked UnconnectedGradients."""
    if is_nested(target) or not isinstance(target, VALUES):
        raise ArgumentTypeError(
            f"tape.jacobian: the target must be a single Tensor, got {type(target).__name__}; call it once per target."
        )
    wanted, rebuild = flatten(sources)
    _check_sources("jacobian", wanted)
    _check_loop(tape, "jacobian", use_pfor, parallel_iterations)
    target = lift(target) if isinstance(target, Handle) else target
    tape._begin()
    plan = Mode(mode.value == "zero", parallel_iterations, use_pfor)
    results = _vectorising("jacobian", use_pfor, lambda: _jacobians(tape, target, wanted, plan))
    if not tape.is_persistent:
        tape._release()
    out = []
    for x, result in zip(wanted, results, strict=True):
        if result is None and plan.zero:
            result = zeros(TensorShape((*target.dims, *x.dims)), x.spec.dtype)
        out.append(result)
    return rebuild(out)


def _check_sources(name: str, sources: Sequence[Any]) -> None:
    for x in sources:
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"tape.{name}: source {x!r} of type {type(x).__name__} is neither a Tensor nor a Variable."
            )


def _check_loop(tape: Any, name: str, use_pfor: bool, parallel_iterations: int | None) -> None:
    traced = _in_trace()
    if not use_pfor:
        if not traced and not tape.is_persistent:
            raise FailedPreconditionError(
                f"GradientTape must be created with persistent=True to compute the {name} with eager execution enabled and "
                "with experimental_use_pfor set to False."
            )
        if parallel_iterations is not None and (
            not isinstance(parallel_iterations, int) or parallel_iterations < 1
        ):
            raise ArgumentTypeError("'parallel_iterations' must be a positive integer.")
    elif (
        name == "jacobian"
        and parallel_iterations is not None
        and (not tape.is_persistent or parallel_iterations <= 1)
    ):
        raise InvalidArgumentError(
            "Encountered an exception while vectorizing the jacobian computation. Vectorization can be disabled by setting "
            "experimental_use_pfor to False. (parallel_iterations needs a persistent tape and a number above 1.)"
        )


def _in_trace() -> bool:
    level = current()
    while level is not None:
        if getattr(level, "is_trace", False):
            return True
        level = level.below
    return False


def _vectorising(name: str, use_pfor: bool, compute: Any) -> Any:
    try:
        return compute()
    except MissingRuleError as cause:
        if not use_pfor or isinstance(cause, NonlinearGradientError):
            raise
        if "No gradient defined" in str(cause):
            raise
        raise InvalidArgumentError(
            f"Encountered an exception while vectorizing the {name} computation. Vectorization can be disabled by setting "
            f"experimental_use_pfor to False. {cause}"
        ) from cause


# -- full Jacobians ------------------------------------------------------------------------------------------------------


def _jacobians(tape: Any, target: Any, sources: Sequence[Any], plan: Mode) -> list[Any]:
    if not target.dtype.is_differentiable or (target.mark is None and not any(target is x for x in sources)):
        return [None] * len(sources)
    marks = [mark_of(x) if x.spec.dtype.is_differentiable else None for x in sources]
    entries = list(tape.entries)
    if not _is_static(target, entries, sources):
        return _rows_later(entries, target, sources, marks)
    count = product(target.dims)
    if not plan.vectorised:
        return _row_by_row(entries, target, marks, count)
    if _prefers_forward(entries, target, sources, count):
        try:
            return _by_columns(entries, target, sources, marks)
        except (NonlinearGradientError, MissingRuleError):
            pass  # reverse mode needs neither linear rules nor a value that the tape dropped
    return _by_rows(entries, target, marks, count, plan)


def _is_static(target: Any, entries: Sequence[Any], sources: Sequence[Any]) -> bool:
    values = [target, *sources]
    for _, inputs, outputs, _, _ in entries:
        values += [*inputs, *outputs]
    return all(is_definite(value.dims) for value in values)


def _row_by_row(entries: Sequence[Any], target: Any, marks: Sequence[Any], count: int) -> list[Any]:
    basis = reshape(eye(count, dtype=target.dtype), (count, *target.dims))
    rows = []
    for i in range(count):
        bars = {mark_of(target): getitem(basis, i)}
        backward(entries, bars, {m for m in marks if m is not None}, TRANSFORMS)
        rows.append([None if m is None else dense(bars.get(m)) for m in marks])
    return [_joined([row[k] for row in rows], target) for k in range(len(marks))]


def _joined(rows: list[Any], target: Any) -> Any:
    if not rows or all(row is None for row in rows):
        return None
    rows = [
        row if row is not None else zeros(next(r for r in rows if r is not None).shape, target.dtype)
        for row in rows
    ]
    return reshape(stack(rows), (*target.dims, *rows[0].dims))


def _by_rows(entries: Sequence[Any], target: Any, marks: Sequence[Any], count: Any, plan: Mode) -> list[Any]:
    """Reverse mode: all rows of the identity pulled back, a chunk at a time."""
    parts: list[list[Any]] = [[] for _ in marks]
    wanted = {m for m in marks if m is not None}
    for basis in _basis(target.dims, target.dtype, count, _chunk(entries, count, plan)):
        level = BatchLevel(basis.dims[0])
        with entered(level):
            bars = {mark_of(target): level.wrap(basis)}
            backward(entries, bars, wanted, TRANSFORMS)
            out = [None if m is None else dense(bars.get(m)) for m in marks]
        for part, bar in zip(parts, out, strict=True):
            part.append(None if bar is None else stack_rows(level, bar))
    results = []
    for part in parts:
        if not part or any(bar is None for bar in part):
            results.append(None)
            continue
        whole = part[0] if len(part) == 1 else concat(part, 0)
        results.append(reshape(whole, (*target.dims, *whole.dims[1:])))
    return results


def _by_columns(
    entries: Sequence[Any], target: Any, sources: Sequence[Any], marks: Sequence[Any]
) -> list[Any]:
    """Forward mode: all columns pushed through the entries, for sources smaller than the target."""
    results = []
    rank = len(target.dims)
    for x, mark in zip(sources, marks, strict=True):
        if mark is None:
            results.append(None)
            continue
        count = product(x.dims)
        basis = reshape(eye(count, dtype=x.spec.dtype), (count, *x.dims))
        level = BatchLevel(count)
        with entered(level):
            tangents = push_entries(entries, {mark: level.wrap(basis)}, TRANSFORMS)
            y_dot = tangents.get(mark_of(target))
        if y_dot is None:
            results.append(None)
            continue
        columns = stack_rows(level, y_dot)
        results.append(reshape(transpose(columns, [*range(1, rank + 1), 0]), (*target.dims, *x.dims)))
    return results


def _prefers_forward(entries: Sequence[Any], target: Any, sources: Sequence[Any], count: Any) -> bool:
    sizes = [product(x.dims) for x in sources]
    if not all(isinstance(size, int) for size in (*sizes, count)):
        return False
    if any(entry[0].effects & (WRITES | IO) or entry[0].structured for entry in entries):
        return False
    return bool(3 * sum(sizes) < count)


def _chunk(entries: Sequence[Any], count: Any, plan: Mode) -> int | None:
    """How many rows at once, None for all."""
    if not isinstance(count, int):
        return None
    largest = 8
    for _, inputs, outputs, _, _ in entries:
        for value in (*inputs, *outputs):
            size = product(value.dims)
            if isinstance(size, int):
                largest = max(largest, size * value.spec.dtype.itemsize)
    chunk = max(1, BUDGET // largest)
    if _in_trace():
        chunk = max(chunk, -(-count // _MOST_CHUNKS_TRACED))
    if plan.at_once:
        chunk = min(chunk, plan.at_once)
    return chunk


def _basis(dims: Sequence[Any], dtype: Any, count: Any, chunk: int | None) -> Any:
    """The rows of the identity in the target's shape, chunk by chunk."""
    if chunk is None or (isinstance(count, int) and count <= chunk):
        yield reshape(eye(count, dtype=dtype), (count, *dims))
        return
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        rows = np.zeros((size, count), dtype.numpy)
        rows[np.arange(size), start + np.arange(size)] = 1
        yield lift(rows.reshape(size, *dims))


def _rows_later(
    entries: Sequence[Any], target: Any, sources: Sequence[Any], marks: Sequence[Any]
) -> list[Any]:
    """While shapes are unknown: one row of the pullback as a graph, vectorised over the identity once they are known."""
    trace = Trace("jacobian_row")
    with entered(trace):
        bar = trace.input(target.spec)
        bars = {mark_of(target): bar}
        backward(entries, bars, {m for m in marks if m is not None}, TRANSFORMS)
        out = [None if m is None else dense(bars.get(m)) for m in marks]
        graph = trace.finish([y for y in out if y is not None], RETURN, True, [bar])
    if not graph.outputs:
        return [None] * len(sources)
    sizes = shape(target)
    rows = iter(_all_rows(graph, trace.captures, sizes, target.dims, target.dtype))
    results = []
    for y in out:
        if y is None:
            results.append(None)
            continue
        row = next(rows)
        static = None if target.dims is None or row.dims is None else (*target.dims, *row.dims[1:])
        results.append(bind(ReshapeTo(static), row, concat([sizes, getitem(shape(row), slice(1, None))], 0)))
    return results


def _all_rows(graph: Any, captures: Sequence[Any], sizes: Any, dims: Any, dtype: Any) -> Sequence[Any]:
    """The outputs of a graph of (cotangent, captures...) for every row of the identity in the shape `sizes`."""
    count = reduce_prod(sizes)
    static = None if dims is None else (None, *dims)
    basis = bind(ReshapeTo(static), eye(count, dtype=dtype), concat([expand_dims(count, 0), sizes], 0))
    return vectorize(graph, [True, *[False] * len(captures)], [basis, *captures])


# -- batch Jacobians -----------------------------------------------------------------------------------------------------


def batch_jacobian(
    tape: Any, target: Any, source: Any, mode: Any, parallel_iterations: int | None, use_pfor: bool
) -> Any:
    """See `GradientTape.batch_jacobian`; `mode` is the checked UnconnectedGradients."""
    for word, x in (("target", target), ("source", source)):
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"tape.batch_jacobian: {word} must be a single Tensor, got {type(x).__name__}."
            )
    _check_shapes(target.dims, source.dims)
    _check_loop(tape, "batch_jacobian", use_pfor, parallel_iterations)
    target = lift(target) if isinstance(target, Handle) else target
    batch, row = target.dims[0], target.dims[1:]
    if parallel_iterations is not None and use_pfor and not tape.is_persistent:
        if is_definite(row) and parallel_iterations < product(row):
            raise FailedPreconditionError(
                "GradientTape must be created with persistent=True to compute the batch_jacobian with parallel_iterations."
            )
    tape._begin()
    plan = Mode(True, parallel_iterations, use_pfor)
    result = _vectorising(
        "batch_jacobian", use_pfor, lambda: _batch_jacobian(tape, target, source, batch, row, plan)
    )
    if not tape.is_persistent:
        tape._release()
    return result


def _check_shapes(target: Any, source: Any) -> None:
    first = (None if not target else target[0], None if not source else source[0])
    unknown = target is None or source is None
    if unknown or (
        target and source and first[0] is not None and first[1] is not None and first[0] != first[1]
    ):
        raise InvalidArgumentError(
            f"Need first dimension of target shape ({format_dims(target)}) and source shape ({format_dims(source)}) to match."
        )
    for dims in (target, source):
        if len(dims) < 2:
            raise InvalidArgumentError(f"Shape {format_dims(dims)} must have rank at least 2")


def _batch_jacobian(tape: Any, target: Any, source: Any, batch: Any, row: Any, plan: Mode) -> Any:
    source_dims = source.dims
    empty = [size if size is not None else -1 for size in (batch, *row, *source_dims[1:])]
    dtype = source.spec.dtype
    if not target.dtype.is_differentiable or target.mark is None or not dtype.is_differentiable:
        return _zeros_like_rows(target, source, empty)
    entries = list(tape.entries)
    mark = mark_of(source)
    mixing = mixing_op(entries, source, target)
    if mixing is not None:
        warn_user(
            f"batch_jacobian: the rows of the target are not independent: {mixing.name} mixes rows"
            + (f" (at {mixing.line})" if mixing.line else "")
            + ". The result is the Jacobian summed over the target's rows; use jacobian for all of it."
        )
    if not _is_static(target, entries, [source]):
        return _batch_rows_later(entries, target, source, mark)
    count = product(row)
    pieces = []
    wanted = {mark}
    chunk = _chunk(entries, count, plan) if plan.vectorised else 1
    for basis in _basis((1, *row), target.dtype, count, chunk):
        size = basis.dims[0]
        spread = bind(BroadcastTo((size, batch, *row)), basis)
        level = BatchLevel(size)
        with entered(level):
            bars = {mark_of(target): level.wrap(spread)}
            backward(entries, bars, wanted, TRANSFORMS)
            bar = dense(bars.get(mark))
        if bar is None:
            return _zeros_like_rows(target, source, empty)
        pieces.append(stack_rows(level, bar))
    if not pieces:
        return _zeros_like_rows(target, source, empty)
    whole = pieces[0] if len(pieces) == 1 else concat(pieces, 0)
    rank = len(source_dims)
    swapped = transpose(whole, [1, 0, *range(2, rank + 1)])
    return reshape(swapped, (batch, *row, *source_dims[1:]))


def _zeros_like_rows(target: Any, source: Any, sizes: Sequence[Any]) -> Any:
    if -1 not in sizes:
        return zeros(TensorShape(tuple(sizes)), source.spec.dtype)
    of_target, of_source = shape(target), shape(source)
    return zeros(concat([of_target, getitem(of_source, slice(1, None))], 0), source.spec.dtype)


def _batch_rows_later(entries: Sequence[Any], target: Any, source: Any, mark: Any) -> Any:
    """With sizes unknown: the pullback of one row of cotangents spread over the batch, vectorised over the identity."""
    trace = Trace("batch_jacobian_row")
    with entered(trace):
        spec = target.spec
        bar = trace.input(spec.with_dims(spec.dims[1:]))
        bars = {mark_of(target): _spread(bar, target)}
        backward(entries, bars, {mark}, TRANSFORMS)
        x_bar = dense(bars.get(mark))
        graph = None if x_bar is None else trace.finish([x_bar], RETURN, True, [bar])
    if graph is None:
        return _zeros_like_rows(target, source, [-1])
    of_target, of_source = shape(target), shape(source)
    sizes = getitem(of_target, slice(1, None))
    (columns,) = _all_rows(graph, trace.captures, sizes, target.dims[1:], target.dtype)
    rows = transpose(columns, [1, 0, *range(2, len(source.dims) + 1)])
    static = (*target.dims, *source.dims[1:])
    return bind(ReshapeTo(static), rows, concat([of_target, getitem(of_source, slice(1, None))], 0))


def _spread(bar: Any, target: Any) -> Any:
    """One row repeated for every row of the target, whose sizes may be unknown."""
    return bind(BroadcastToShape(target.dims), bar, shape(target))
