"""`while_loop`: repeat a Python function on tensors while a condition holds.

On eager values it is a Python loop. While tracing, condition and body are traced once and become one `loop`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import NestLike, TensorLike
from graphad.core.bind import bind
from graphad.core.composites import flatten_records, is_complete, is_composite, is_record, record_of
from graphad.core.convert import lift, lift_like, lift_own
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, StructureError
from graphad.core.escapes import Deciding
from graphad.core.levels import trace_in_progress
from graphad.core.light import NamedTuple
from graphad.core.shapes import TensorShape, are_compatible, as_dims, common_dims, format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.passing import told_apart
from graphad.ops.array.sizes import known_value
from graphad.ops.control.again import Again, supposing
from graphad.ops.control.loop import Loop
from graphad.ops.control.operands import require_count
from graphad.ops.control.parts import (
    Nest,
    Part,
    common,
    completed,
    constants,
    loop_dims,
    loop_writes,
    prepare_for_loop,
    same_structure,
    spec_of,
)
from graphad.ops.control.predicates import as_predicate, at_hand
from graphad.ops.control.segments import Segments
from graphad.ops.control.written import Row, collected, rows_of
from graphad.ops.math.cast import cast

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


NO_LIMIT = int(np.iinfo(np.int32).max)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: NestLike,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
) -> NestLike:
    """Repeat `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` holds.

    Args:
      cond: Takes the loop variables, returns a bool scalar.
      body: Takes the loop variables, returns their next values in the same structure.
      loop_vars: A list or tuple of tensors, or of nests of tensors; or a dataclass or attrs class, whose fields are passed one
        by one.
      shape_invariants: Shapes (or TensorSpecs) like `loop_vars`, for variables whose shape changes from step to step; None in a
        shape stands for a size that may change.
      parallel_iterations, swap_memory: Accepted for compatibility.
      back_prop: False makes the result a constant for derivatives.
      maximum_iterations: The largest number of steps.
    Returns: The loop variables after the last step, structured as `loop_vars`.
    Raises:
      ArgumentTypeError (a TypeError): `cond` or `body` is not callable.
      StructureError (a TypeError and a ValueError): the body returns another structure.
      InvalidArgumentError (a ValueError): a variable changes its shape without a shape invariant.
      DTypeError (a TypeError): a variable changes its dtype.
    Example:
      >>> while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * 2.0), (0, 1.0))[1].numpy()
      8.0
    """
    if not callable(cond):
        raise ArgumentTypeError("'cond' must be callable.")
    if not callable(body):
        raise ArgumentTypeError("'body' must be callable.")
    if is_record(loop_vars):
        form = record_of(loop_vars).form
        fields, shapes = _fields(loop_vars), _fields(shape_invariants)
        found = while_loop(
            cond, lambda *xs: _fields(body(*xs)), fields, shapes, parallel_iterations, back_prop, swap_memory,
            maximum_iterations, name,
        )  # fmt: skip
        return form.make(list(found))
    if not isinstance(loop_vars, list | tuple):
        raise ArgumentTypeError(
            f"while_loop: loop_vars must be a list or tuple, got {type(loop_vars).__name__}."
        )
    if not loop_vars:
        raise InvalidArgumentError("'loop_vars' is empty; give at least one loop variable.")
    out = repeat(cond, body, loop_vars, shape_invariants, maximum_iterations, _names(body, len(loop_vars)))
    return out if back_prop else constants(out)


def _fields(x: Any) -> Any:
    """A dataclass or attrs instance replaced by its fields."""
    return record_of(x).values if is_record(x) else x


def repeat(
    test: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    maximum: TensorLike | None,
    names: Sequence[str],
    may_change: bool = False,
) -> Any:
    """`while_loop` with names of the loop variables for messages. With `may_change`, shapes may change without a shape
    invariant."""
    while True:
        try:
            return _repeated(test, body, loop_vars, shape_invariants, maximum, names, may_change)
        except Again as again:  # a step determined the shapes of an array's elements, or gave a sparse tensor other sizes
            if again.owner is not loop_vars:
                raise
            loop_vars = again.value  # ends, since each repetition knows more sizes or claims fewer


def _repeated(
    test: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Sequence[TensorShape] | None,
    maximum: TensorLike | None,
    names: Sequence[str],
    may_change: bool,
) -> Any:
    limit = None if maximum is None else step_limit(maximum)
    apart = trace_in_progress() is not None or not (limit is None or limit.has_value)
    nest = Nest(loop_vars, apart)
    values = nest.tensors(lift_own)
    labels = _labels(loop_vars, names, apart)
    if apart:
        return _traced(test, body, loop_vars, nest, values, shape_invariants, limit, labels, may_change)
    left = None if limit is None else int(limit)
    values = told_apart(values)
    while left is None or left > 0:
        holds = as_predicate("while_loop", test(*nest.build(values)))
        if not holds.has_value:
            # From here on the rows of a vectorized function may differ.
            limit = None if left is None else lift(np.int32(left))
            present = nest.build(values)
            nest = Nest(present)
            values, labels = nest.tensors(), _labels(present, names, True)
            return _traced(test, body, present, nest, values, shape_invariants, limit, labels, may_change)
        if not holds.data:
            break
        values = told_apart(_next(nest, values, body(*nest.build(values)), labels))
        left = None if left is None else left - 1
    return nest.build(values)


def _traced(
    test: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    nest: Nest,
    values: Sequence[Tensor],
    shape_invariants: Sequence[TensorShape] | None,
    limit: Tensor | None,
    labels: Sequence[str],
    may_change: bool,
) -> Any:
    values, specs = _carried(loop_vars, values, shape_invariants)
    rows: dict[int, Row] = {}

    def run_test(*carry: Tensor) -> list[Any]:
        return [as_predicate("while_loop", test(*nest.build(carry)))]

    def run_body(*carry: Tensor) -> list[Any]:
        result = body(*nest.build(carry))
        more = completed(loop_vars, result)
        if more is not loop_vars:
            raise Again(more, loop_vars)
        after = _next(nest, carry, result, labels)
        rows.clear()
        writes = zip(loop_writes(result), nest.leaves, strict=True)
        rows.update(rows_of([write for write, leaf in writes if not nest.is_fixed(leaf)], specs, carry, ()))
        return [*after, *[row.value for row in rows.values()]]

    with Deciding(), supposing(loop_vars, loop_vars):
        while True:
            test_part = Part("while_loop", run_test, specs, "test")
            body_part = Part("while_loop", run_body, specs, "body")
            wider = _common(specs, body_part.graph.output_specs) if may_change else specs
            if wider == specs:
                break
            specs = wider
        check_carry(specs, body_part.graph.output_specs, labels)
    stacked = collected(test_part, body_part, rows, values, ())
    kept = [k for k in range(len(values)) if k not in stacked]
    found = bind_loop(test_part, body_part, limit, [values[k] for k in kept], (), [specs[k] for k in kept])
    last = dict(zip(kept, found.carry, strict=True))
    for k, y in zip(stacked, found.ys, strict=True):
        last[k] = rows[k].joined(values[k], y, found.steps, None, True)
    return nest.build([last[k] for k in range(len(values))])


class Looped(NamedTuple):
    """What a loop gives: the last carry, the number of steps, and the ys."""

    carry: Sequence[Tensor]
    steps: Tensor
    ys: Sequence[Tensor]


def bind_loop(
    test: Part | None,
    body: Part,
    limit: Tensor | None,
    carry: Sequence[Tensor],
    xs: Sequence[Tensor],
    specs: Sequence[TensorSpec],
    reverse: bool = False,
    steps: int | None = None,
    unread: int = 0,
) -> Looped:
    """Bind a `loop` whose parts are traced. The parts' own inputs are the carry, and for the body the slices of the xs.

    Args:
      test, body: The parts.
      limit: The largest number of steps, None for no limit.
      carry: The first carry.
      xs: Stacks.
      specs: The carry in every step, then the slices.
      reverse: Go through the stacks from the end.
      steps: The number of steps where it is known.
      unread: How many of the last carries are results of the body only, and not inputs of the parts.
    """
    prepare_for_loop([body] if test is None else [test, body])
    outer = common([body] if test is None else [test, body])
    given = Segments(carries=len(carry), xs=len(xs))
    places = Segments(carries=len(carry), invariants=len(outer), xs=len(xs))
    tested = [*given.carries(specs), *map(spec_of, outer)]
    place = dict(zip(map(id, outer), places.invariants, strict=True))
    own = list(places.carries)[: len(carry) - unread]
    body_graph = body.with_inputs([*tested, *given.xs(specs)], [*own, *places.xs], place)
    test_graph = None if test is None else test.with_inputs(tested, own, place)
    op = Loop(test_graph, body_graph, len(carry), len(outer), len(xs), reverse, steps)
    limit = lift(np.int32(NO_LIMIT)) if limit is None else limit
    results, outputs = bind(op, limit, *carry, *outer, *xs), op.outputs
    (count,) = outputs.count(results)
    return Looped(outputs.carries(results), count, outputs.ys(results))


def _common(specs: Sequence[TensorSpec], after: Sequence[TensorSpec]) -> list[TensorSpec]:
    """The specs that cover both."""
    return [
        a if a.describes(b.dims) else a.with_dims(common_dims(a.dims, b.dims))
        for a, b in zip(specs, after, strict=False)
    ]


def check_carry(specs: Sequence[TensorSpec], after: Sequence[TensorSpec], labels: Sequence[str]) -> None:
    """Raise unless every loop variable keeps the shape it may have."""
    for a, b, label in zip(specs, after, labels, strict=False):
        if not a.describes(b.dims):
            raise InvalidArgumentError(
                f"'{label}' has shape {format_dims(a.dims)} before the loop, but shape {format_dims(b.dims)} after one "
                "iteration. Use shape_invariants to name the sizes that may change."
            )


def _next(
    nest: Nest, values: Sequence[Tensor], result: Tensor | Sequence[Any], labels: Sequence[str]
) -> list[Any]:
    """The next loop variables as tensors, after checking structure and dtypes."""
    if isinstance(result, list | tuple) and len(result) == len(values) == len(nest.shape):
        for x, y in zip(values, result, strict=True):
            if type(y) is not EagerTensor or type(x) is not EagerTensor or y.data.dtype != x.data.dtype:
                break
        else:
            return list(result)  # flat tensors of the right dtypes
    if len(nest.shape) == 1 and not (isinstance(result, list | tuple) and len(result) == 1):
        result = (result,)
    if isinstance(result, list | tuple) and type(result) is not type(nest.shape):
        result = nest.shape._make(result) if hasattr(nest.shape, "_make") else type(nest.shape)(result)
    found = Nest(result, nest.apart)
    if not same_structure(found.shape, nest.shape):
        raise StructureError(
            f"while_loop: the body returned {found}, the loop variables are structured as {nest}; "
            "the number of elements and the structure must be the same."
        )
    out = []
    for x, leaf, label in zip(values, found.given(), labels, strict=True):
        if is_composite(leaf):
            out.append(leaf)
            continue
        try:
            y = lift_like("while_loop", leaf, x.dtype)
        except DTypeError:
            y = lift(leaf)
        if y.dtype is not x.dtype:
            raise DTypeError(
                f"'{label}' has dtype {x.dtype.name} before the loop, but dtype {y.dtype.name} after one iteration."
            )
        out.append(y)
    return out


def _carried(
    loop_vars: Sequence[Any], values: Sequence[Any], shape_invariants: Sequence[TensorShape] | None
) -> tuple[list[Any], list[TensorSpec]]:
    """The first values, and their specs in every step. A shape invariant that is more precise than the first value is checked
    at run time."""
    specs = [TensorSpec.of(x.dims, x.dtype) for x in values]
    nest = Nest(loop_vars)
    own = [
        dims for dims, leaf in zip(loop_dims(loop_vars), nest.leaves, strict=True) if not nest.is_fixed(leaf)
    ]
    given: list[Any] = [...] * len(specs)
    if shape_invariants is not None:
        given = _for_parts(loop_vars, list(_shapes(shape_invariants)))
    if len(given) != len(specs):
        raise InvalidArgumentError(
            f"while_loop: shape_invariants has {len(given)} shapes for {len(specs)} loop variables; give one for each."
        )
    first, out = list(values), []
    for k, (spec, shape, free) in enumerate(zip(specs, given, own, strict=True)):
        if free is not ...:  # the array itself declares which of its shapes change
            out.append(spec.with_dims(free))
            continue
        if shape is ...:
            out.append(spec)
            continue
        dims = shape.dims if isinstance(shape, TensorSpec) else as_dims(shape)
        if isinstance(shape, TensorSpec) and shape.dtype is not spec.dtype:
            raise DTypeError(
                f"while_loop: a loop variable has dtype {spec.dtype.name}, its shape invariant has dtype {shape.dtype.name}; "
                "they must be equal."
            )
        wide = spec.with_dims(dims)
        if not are_compatible(spec.dims, dims):
            raise InvalidArgumentError(
                f"while_loop: a loop variable has shape {format_dims(spec.dims)}, which its shape invariant "
                f"{format_dims(dims)} does not allow."
            )
        if not wide.describes(spec.dims):
            first[k] = ensure_shape(values[k], TensorShape(dims))
        out.append(wide)
    return first, out


def _for_parts(loop_vars: Sequence[Any], shapes: list[Any]) -> list[Any]:
    """The shapes of loop variables as those of their parts. Sparse tensors and slices have several parts and declare themselves
    what may change: all but the rank. Arrays of tensors do so too; before an element is written they have no parts."""
    leaves = flatten_records(loop_vars)[0]
    if len(leaves) != len(shapes):
        return shapes
    out: list[Any] = []
    for leaf, shape in zip(leaves, shapes, strict=True):
        if not isinstance(leaf, Sparse):
            if is_composite(leaf):
                out += [...] * (len(loop_dims(leaf)) if is_complete(leaf) else 0)
            else:
                out.append(shape)
            continue
        out += [...] * len(loop_dims(leaf))
        rank = shape.shape.rank if isinstance(shape, TensorSpec) else shape.rank
        if None not in (rank, leaf.shape.rank) and rank != leaf.shape.rank:
            raise InvalidArgumentError(
                f"while_loop: a loop variable, a {type(leaf).__name__}, has shape {leaf.shape}, which its shape invariant "
                f"{shape} does not allow."
            )
    return out


def _shapes(shape_invariants: Sequence[TensorShape] | dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Any:
    """The shapes in a nest of shapes; a TensorShape or TensorSpec is a leaf, other containers are entered."""
    for item in shape_invariants.values() if isinstance(shape_invariants, dict) else shape_invariants:
        if isinstance(item, list | tuple | dict):
            yield from _shapes(item)
        else:
            yield item if isinstance(item, TensorSpec) else TensorShape(item)


def step_limit(maximum: Any) -> Tensor:
    limit = at_hand(lift(maximum))
    require_count("while_loop", limit.spec, "maximum_iterations")
    if limit.dtype is dtypes.int32:
        return limit
    value = known_value(limit)
    return cast(limit, dtypes.int32) if value is None else lift(np.int32(min(int(value), NO_LIMIT)))


def _names(body: Callable[..., Any], count: int) -> list[str]:
    """The body's names of the loop variables."""
    try:
        parameters = list(inspect.signature(body).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [named[k] if k < len(named) else f"loop_vars[{k}]" for k in range(count)]


def _labels(loop_vars: Sequence[Any], names: Sequence[str], apart: bool) -> list[str]:
    """For each tensor among the loop variables the name of its variable."""
    return [name for name, part in zip(names, loop_vars, strict=True) for _ in Nest(part, apart).given()]
