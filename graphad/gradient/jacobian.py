"""Jacobians: a stack of cotangents, or of tangents if the source is smaller, goes through the tape at once.

`jacobian_plan` decides the direction and the chunks of the stack. For complex numbers both directions agree with TensorFlow:
each row is the gradient of the real part of one element of the target, and has the dtype of the source.
`batch_jacobian` proves by `rows` rules that rows are independent, or tries one random combination of rows, or warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphad.core.bind import bind
from graphad.core.composites import flatten_records
from graphad.core.convert import lift
from graphad.core.device import along
from graphad.core.dims import product
from graphad.core.dtypes import DType
from graphad.core.errors import (
    ArgumentTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnansweredError,
)
from graphad.core.frames import warn_user
from graphad.core.levels import entered, trace_in_progress
from graphad.core.nest import is_nested
from graphad.core.progress import Progress
from graphad.core.shapes import TensorShape, format_dims, is_definite, ranked
from graphad.core.sparse import values_of
from graphad.core.tensor import VALUES, Handle, Mark, Tensor
from graphad.gradient.backward import backward, dense
from graphad.gradient.forward import push_entries
from graphad.gradient.independence import mixing_op
from graphad.gradient.jacobian_plan import costs, path_between, plan_jacobian, plan_rows
from graphad.gradient.jacobian_rows import (
    all_of,
    column_graphs,
    directions,
    of_columns,
    of_sizes,
    row_graph,
    traced_row,
)
from graphad.gradient.recorder import mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.create import zeros
from graphad.ops.array.identity_matrix import eye
from graphad.ops.array.join import concat, stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import joined
from graphad.ops.array.transpose import transpose
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import COMPLEX, real
from graphad.vectorize.batch import BatchLevel, stack_rows

if TYPE_CHECKING:
    from graphad.core.annotations import Value
    from graphad.core.dims import Size
    from graphad.core.shapes import Dims
    from graphad.gradient.backward import Bars, Entry, Marks
    from graphad.gradient.tape import GradientTape
    from graphad.gradient.unconnected import UnconnectedGradients


T = TypeVar("T")


class Mode:
    """The caller's options: zeros for unconnected sources, the bound on rows at once, whether to vectorise, and whether to
    prefer pushing columns forward."""

    __slots__ = ("at_once", "forward", "vectorised", "zero")

    def __init__(self, zero: bool, at_once: int | None, vectorised: bool, forward: bool = False) -> None:
        self.zero = zero
        self.at_once = at_once
        self.vectorised = vectorised
        self.forward = forward

    @property
    def most_at_once(self) -> int:
        """The bound on rows at once, 0 where the budget alone decides."""
        return (self.at_once or 0) if self.vectorised else 1


def jacobian(
    tape: GradientTape,
    target: Value,
    sources: object,
    mode: UnconnectedGradients,
    parallel_iterations: int | None,
    use_pfor: bool,
) -> Any:
    """See `GradientTape.jacobian`; `mode` is the checked UnconnectedGradients."""
    if is_nested(target) or not isinstance(target, VALUES):
        raise ArgumentTypeError(
            f"tape.jacobian: the target must be a single Tensor, got {type(target).__name__}; call it once per target."
        )
    given, rebuild = flatten_records(sources)
    wanted = [values_of(x) for x in given]
    _check_sources("jacobian", wanted)
    _check_loop(tape, "jacobian", use_pfor, parallel_iterations)
    target = _as_target(target)
    asked = Mode(mode.value == "zero", parallel_iterations, use_pfor)
    with tape.computing(), along(target):
        results = _vectorising("jacobian", use_pfor, lambda: _jacobians(tape, target, wanted, asked))
        _warn("GradientTape.jacobian", tape, target, wanted, results)
    out = []
    for x, result in zip(wanted, results, strict=True):
        if result is None and asked.zero:
            result = _zeros(target, x)
        out.append(result)
    return rebuild(out)


def _warn(
    name: str, tape: GradientTape, target: Tensor, sources: Sequence[Value], results: Sequence[Tensor | None]
) -> None:
    if any(result is None for result in results):
        from graphad.gradient.explain_none import warn_of_unconnected  # which few programs need

        warn_of_unconnected(name, tape, (target,), sources, results)


def jacobian_of(tape: GradientTape, target: Tensor, sources: Sequence[Value], forward: bool) -> list[Tensor]:
    """The Jacobians of one target, zeros for unconnected sources; `forward` prefers columns."""
    target = _as_target(target)
    with tape.computing(), along(target):
        found = _jacobians(tape, target, sources, Mode(True, None, True, forward))
        _warn("jacobian", tape, target, sources, found)
    return [_zeros(target, x) if result is None else result for x, result in zip(sources, found, strict=True)]


def _zeros(target: Tensor, x: Value) -> Tensor:
    """A Jacobian of zeros, whose sizes may be known only at run time."""
    with along(target):
        if is_definite(target.dims) and is_definite(x.dims):
            return zeros(TensorShape((*target.dims, *x.dims)), x.spec.dtype)
        return zeros(concat([shape(target), shape(x)], 0), x.spec.dtype)


def _check_sources(name: str, sources: Sequence[Value]) -> None:
    for x in sources:
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"tape.{name}: source {x!r} of type {type(x).__name__} is neither a Tensor nor a Variable."
            )


def _check_loop(tape: GradientTape, name: str, use_pfor: bool, parallel_iterations: int | None) -> None:
    traced = trace_in_progress() is not None
    if parallel_iterations is not None and not isinstance(parallel_iterations, int):
        raise ArgumentTypeError("'parallel_iterations' must be a positive integer.")
    if not use_pfor:
        if not traced and not tape.is_persistent:
            raise FailedPreconditionError(
                f"GradientTape must be created with persistent=True to compute the {name} with eager execution enabled and "
                "with experimental_use_pfor set to False."
            )
        if parallel_iterations is not None and parallel_iterations < 1:
            raise ArgumentTypeError("'parallel_iterations' must be a positive integer.")
    elif parallel_iterations is not None and (
        parallel_iterations <= 1 or (name == "jacobian" and not tape.is_persistent)
    ):
        needs = "a persistent tape and a number above 1" if name == "jacobian" else "to be above 1"
        raise InvalidArgumentError(
            f"Encountered an exception while vectorizing the {name} computation. Vectorization can be disabled by setting "
            f"experimental_use_pfor to False. (parallel_iterations needs {needs}.)"
        )


def _vectorising(name: str, use_pfor: bool, compute: Callable[[], T]) -> T:
    try:
        return compute()
    except UnansweredError as cause:
        if not use_pfor:
            raise
        raise InvalidArgumentError(
            f"Encountered an exception while vectorizing the {name} computation. Vectorization can be disabled by setting "
            f"experimental_use_pfor to False. {cause}"
        ) from cause


def _as_target(target: Value) -> Tensor:
    """The target as a tensor; the value read from a variable represents the variable."""
    if not isinstance(target, Handle):
        return target
    value: Any = lift(target)
    value.mark = mark_of(target)
    return value  # type: ignore[no-any-return]


# -- full Jacobians ------------------------------------------------------------------------------------------------------


def _jacobians(
    tape: GradientTape, target: Tensor, sources: Sequence[Value], mode: Mode
) -> list[Tensor | None]:
    if not target.dtype.is_differentiable or target.mark is None:
        if not any(target is x for x in sources):
            return [None] * len(sources)
    end = mark_of(target)
    marks = [mark_of(x) if x.spec.dtype.is_differentiable else None for x in sources]
    path = path_between(tape.entries, {m for m in marks if m is not None}, end)
    if not _is_static(target, path, sources):
        return _later(path, target, sources, marks, mode)
    results: list[Tensor | None] = [None] * len(sources)
    wanted: dict[int, Mark] = {}
    for k, mark in enumerate(marks):
        if mark is not None and (mark is end or any(mark in entry[3] for entry in path)):
            wanted[k] = mark
    if not wanted:
        return results
    chosen, ends = [sources[k] for k in wanted], list(wanted.values())
    if not mode.vectorised and product(target.dims):
        found = _row_by_row(path, target, chosen, ends)
    else:
        plan = plan_jacobian(
            path, target, chosen, mode.at_once, trace_in_progress() is not None, mode.forward
        )
        engine = _by_columns if plan.forward else _by_rows
        found = engine(path, target, chosen, ends, plan.chunk)
    for k, result in zip(wanted, found, strict=True):
        results[k] = result
    return results


def _is_static(target: Tensor, entries: list[Entry], sources: Sequence[Value]) -> bool:
    values = [target, *sources]
    for _, inputs, outputs, _, _ in entries:
        values += [*inputs, *outputs]
    return all(is_definite(value.dims) for value in values)


def _row_by_row(
    path: list[Entry], target: Tensor, sources: Sequence[Value], marks: Sequence[Mark]
) -> list[Tensor | None]:
    basis = reshape(eye(product(target.dims), dtype=target.dtype), (-1, *ranked(target.dims)))
    rows = []
    for i in range(product(target.dims)):
        bars: Bars = {mark_of(target): basis[i]}
        backward(path, bars, set(marks), TRANSFORMS)
        rows.append([dense(bars.get(m)) for m in marks])
    return [_joined([row[k] for row in rows], target, x) for k, x in enumerate(sources)]


def _joined(rows: list[Tensor | None], target: Tensor, x: Value) -> Tensor | None:
    if all(row is None for row in rows):
        return None
    filled = [zeros(ranked(x.dims), x.spec.dtype) if row is None else row for row in rows]
    return reshape(stack(filled), (*ranked(target.dims), *ranked(x.dims)))


def _by_rows(
    path: list[Entry], target: Tensor, sources: Sequence[Value], marks: Sequence[Mark], chunk: int
) -> list[Tensor | None]:
    """Reverse mode: the rows of the identity pulled back, a chunk at a time."""
    parts: list[list[Tensor | None]] = [[] for _ in marks]
    for basis in _basis(ranked(target.dims), target.dtype, product(target.dims), chunk):
        level = BatchLevel(ranked(basis.dims)[0])
        with entered(level):
            bars: Bars = {mark_of(target): level.wrap(basis)}
            backward(path, bars, set(marks), TRANSFORMS)
            out = [dense(bars.get(m)) for m in marks]
        for part, bar in zip(parts, out, strict=True):
            part.append(None if bar is None else stack_rows(level, bar))
    results: list[Tensor | None] = []
    for part, x in zip(parts, sources, strict=True):
        bars_of = [bar for bar in part if bar is not None]
        if len(bars_of) < len(part):
            results.append(None)
            continue
        whole = bars_of[0] if len(part) == 1 else concat(bars_of, 0)
        results.append(reshape(whole, (*ranked(target.dims), *ranked(x.dims))))
    return results


def _by_columns(
    path: list[Entry], target: Tensor, sources: Sequence[Value], marks: Sequence[Mark], chunk: int
) -> list[Tensor | None]:
    """Forward mode: columns pushed through the entries, for sources smaller than the target.

    A row of the Jacobian is the gradient of the real part of an element of the target, in either mode. Its real part comes from
    a real tangent, its imaginary part from an imaginary one.
    """
    results: list[Tensor | None] = []
    for x, mark in zip(sources, marks, strict=True):
        found = [_columns(path, target, x, mark, chunk, one) for one in directions(x.spec.dtype)]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            results.append(None)
            continue
        whole = parts[0] if len(parts) == 1 else bind(COMPLEX, *parts)
        results.append(reshape(cast(whole, x.spec.dtype), (*ranked(target.dims), *ranked(x.dims))))
    return results


def _columns(
    path: list[Entry], target: Tensor, x: Value, mark: Mark, chunk: int, one: complex
) -> Tensor | None:
    """The real parts of all columns for tangents `one`, as [*target, elements of x]; None if they are zero."""
    rank = len(ranked(target.dims))
    columns = []
    for basis in _basis(ranked(x.dims), x.spec.dtype, product(x.dims), chunk, one):
        level = BatchLevel(ranked(basis.dims)[0])
        with entered(level):
            tangents = push_entries(path, {mark: level.wrap(basis)}, TRANSFORMS, {mark_of(target)})
            y_dot = tangents.get(mark_of(target))
        if y_dot is None:
            return None
        stacked = real(stack_rows(level, y_dot))
        columns.append(transpose(stacked, [*range(1, rank + 1), 0]))
    return columns[0] if len(columns) == 1 else concat(columns, rank)


def _basis(dims: Sequence[Size], dtype: DType, count: int, chunk: int, one: complex = 1) -> Iterator[Tensor]:
    """The rows of `one` times the identity, each in the shape `dims`, chunk by chunk."""
    if count <= chunk and one == 1:
        yield reshape(eye(count, dtype=dtype), (count, *dims))
        return
    with Progress("Jacobian", count, "row") as progress:
        for start in range(0, count, chunk):
            size = min(chunk, count - start)
            rows = np.zeros((size, count), dtype.numpy)
            rows[np.arange(size), start + np.arange(size)] = one
            yield lift(rows.reshape(size, *dims))
            progress.advance(size)


def _later(
    path: list[Entry], target: Tensor, sources: Sequence[Value], marks: Marks, mode: Mode
) -> list[Tensor | None]:
    """For unknown sizes: a graph of one row or column, which is planned and vectorised once the sizes are known."""
    at_once = mode.most_at_once
    rows = row_graph(path, target, marks)
    connected = [k for k, has in enumerate(rows.present) if has]
    results: list[Tensor | None] = [None] * len(sources)
    if not connected:
        return results
    wanted = [sources[k] for k in connected]

    def by_rows() -> list[Tensor | None]:
        return [
            of_sizes(row, (target, 0), (x, 0)) for row, x in zip(all_of(rows, at_once), wanted, strict=True)
        ]

    ends = [mark for k in connected if (mark := marks[k]) is not None]
    choice = costs(path, target, wanted, mode.forward) if mode.vectorised else False
    columns = None if choice is False else column_graphs(path, target, wanted, ends)
    if columns is None:
        found = by_rows()
    else:
        graphs = columns

        def by_columns() -> list[Tensor | None]:
            return [of_columns(parts, target, x, at_once) for parts, x in zip(graphs, wanted, strict=True)]

        found = by_columns() if isinstance(choice, bool) else _either(choice, by_rows, by_columns)
    for k, result in zip(connected, found, strict=True):
        results[k] = result
    return results


def _either(
    costs: Sequence[Tensor],
    by_rows: Callable[[], list[Tensor | None]],
    by_columns: Callable[[], list[Tensor | None]],
) -> list[Tensor | None]:
    """One op that selects the results by columns where these cost less."""
    from graphad.ops.control.either import Either  # only sizes that the run finds need it
    from graphad.ops.control.parts import Part, common, spec_of

    parts = [
        Part("jacobian", compute, (), word) for compute, word in ((by_rows, "rows"), (by_columns, "columns"))
    ]
    outer = common(parts)
    place = {id(x): k for k, x in enumerate(outer)}
    graphs = [part.with_inputs([spec_of(x) for x in outer], (), place) for part in parts]
    return list(bind(Either(*graphs), *costs, *outer))


# -- batch Jacobians -----------------------------------------------------------------------------------------------------


def batch_jacobian(
    tape: GradientTape,
    target: Tensor,
    source: Value,
    mode: object,
    parallel_iterations: int | None,
    use_pfor: bool,
) -> Tensor:
    """See `GradientTape.batch_jacobian`; `mode` is the checked UnconnectedGradients."""
    for word, x in (("target", target), ("source", source)):
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"tape.batch_jacobian: {word} must be a single Tensor, got {type(x).__name__}."
            )
    _check_shapes(target.dims, source.dims)
    _check_loop(tape, "batch_jacobian", use_pfor, parallel_iterations)
    target = _as_target(target)
    batch, *rest = ranked(target.dims)
    row = tuple(rest)
    if parallel_iterations is not None and use_pfor and not tape.is_persistent:
        if is_definite(row) and parallel_iterations < product(row):
            raise FailedPreconditionError(
                "GradientTape must be created with persistent=True to compute the batch_jacobian with parallel_iterations."
            )
    asked = Mode(True, parallel_iterations, use_pfor)
    with tape.computing(), along(target):
        return _vectorising(
            "batch_jacobian", use_pfor, lambda: _batch_jacobian(tape, target, source, batch, row, asked)
        )


def _check_shapes(target: Dims, source: Dims) -> None:
    first = (None if not target else target[0], None if not source else source[0])
    unknown = target is None or source is None
    if unknown or (
        target and source and first[0] is not None and first[1] is not None and first[0] != first[1]
    ):
        raise InvalidArgumentError(
            f"Need first dimension of target shape ({format_dims(target)}) and source shape ({format_dims(source)}) to match: "
            "batch_jacobian is for rows that are computed apart; tape.jacobian has no such rule."
        )
    for dims in (target, source):
        if len(ranked(dims)) < 2:
            raise InvalidArgumentError(f"Shape {format_dims(dims)} must have rank at least 2")


def _batch_jacobian(
    tape: GradientTape,
    target: Tensor,
    source: Value,
    batch: Size | None,
    row: tuple[Size | None, ...],
    mode: Mode,
) -> Tensor:
    source_dims = ranked(source.dims)
    empty = [size if size is not None else -1 for size in (batch, *row, *source_dims[1:])]
    dtype = source.spec.dtype
    if not target.dtype.is_differentiable or target.mark is None or not dtype.is_differentiable:
        return _zeros_like_rows(target, source, empty)
    mark = mark_of(source)
    path = path_between(tape.entries, {mark}, target.mark)
    mixing = mixing_op(path, source, target)
    if mixing is not None:
        warn_user(
            f"batch_jacobian: the rows of the target are not independent: {mixing.name} mixes rows"
            + (f" (at {mixing.line})" if mixing.line else "")
            + ". The result is the Jacobian summed over the target's rows; use jacobian for all of it."
        )
    if not _is_static(target, path, [source]):
        return _batch_rows_later(path, target, source, mark, mode)
    count = product(row)
    plan = plan_rows(
        path, [target, source], count, mode.at_once if mode.vectorised else 1, trace_in_progress() is not None
    )
    pieces = []
    wanted = {mark}
    for basis in _basis((1, *row), target.dtype, count, plan.chunk):
        size = ranked(basis.dims)[0]
        spread = bind(BroadcastTo((size, batch, *row)), basis)
        level = BatchLevel(size)
        with entered(level):
            bars: Bars = {mark_of(target): level.wrap(spread)}
            backward(path, bars, wanted, TRANSFORMS)
            bar = dense(bars.get(mark))
        if bar is None:
            return _zeros_like_rows(target, source, empty)
        pieces.append(stack_rows(level, bar))
    whole = pieces[0] if len(pieces) == 1 else concat(pieces, 0)
    rank = len(source_dims)
    swapped = transpose(whole, [1, 0, *range(2, rank + 1)])
    return reshape(swapped, (batch, *row, *source_dims[1:]))


def _zeros_like_rows(target: Tensor, source: Value, sizes: Sequence[Size]) -> Tensor:
    if -1 not in sizes:
        return zeros(TensorShape(tuple(sizes)), source.spec.dtype)
    of_target, of_source = shape(target), shape(source)
    return zeros(concat([of_target, of_source[1:]], 0), source.spec.dtype)


def _batch_rows_later(path: list[Entry], target: Tensor, source: Value, mark: Mark, mode: Mode) -> Tensor:
    """With sizes unknown: the pullback of one row of cotangents spread over the batch, vectorised over the identity."""

    def pull(bar: Tensor) -> list[Tensor | None]:
        bars: Bars = {mark_of(target): _spread(bar, target)}
        backward(path, bars, {mark}, TRANSFORMS)
        return [dense(bars.get(mark))]

    sizes = shape(target)[1:]
    row = traced_row("batch_jacobian_row", sizes, ranked(target.dims)[1:], target.dtype, pull)
    if not row.present[0]:
        return _zeros_like_rows(target, source, [-1])
    (columns,) = all_of(row, mode.most_at_once)
    rows = transpose(columns, [1, 0, *range(2, len(ranked(source.dims)) + 1)])
    return of_sizes(rows, (target, 0), (source, 1))


def _spread(bar: Tensor, target: Tensor) -> Tensor:
    """One row repeated for every row of the target, whose sizes may be unknown."""
    sizes, given = joined((target.dims, shape(target)))
    return bind(BroadcastTo(sizes), bar, *given)
