"""`vectorized_map`: a function of one row applied to all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from graphad.autograph.convert import converted
from graphad.core.annotations import NestLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.composites import flatten_records, of_slice, of_stack, reranked
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import entered
from graphad.core.nest import Rebuild
from graphad.core.recursion import CURE, explained_recursion
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.ops.array.passing import IDENTITY
from graphad.trace.tracer import trace_flat
from graphad.vectorize.batch import BatchLevel, stack_rows
from graphad.vectorize.vectorize_graph import vectorize

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


R = TypeVar("R")


@blaming
def vectorized_map(
    fn: Callable[[Any], R], elems: NestLike, fallback_to_while_loop: bool = True, warn: bool = True
) -> R:
    """`fn` applied to each row of `elems`, computed for all rows at once.

    Args:
      fn: A function of one row (a nest like `elems`), called once; its control flow is converted as that of a `function`.
      elems: A tensor [rows, ...] or a nest of such tensors; a single row is combined with all rows of the others.
      fallback_to_while_loop: Accepted for compatibility: an op without a batching rule is always run row by row.
      warn: Accepted for compatibility.
    Returns: A nest like the result of `fn`, each tensor stacked along a new first axis; None stays None.
    Raises: InvalidArgumentError: the tensors have different numbers of rows, or none.
    Example:
      >>> vectorized_map(lambda row: reduce_sum(row * row), constant([[1.0, 2.0], [3.0, 4.0]])).numpy()
      array([ 5., 25.], dtype=float32)
    """
    try:
        return _mapped(converted(fn), elems)  # type: ignore[no-any-return]
    except RecursionError as error:  # raised on, with the function that calls itself
        raise explained_recursion(error, "vectorized_map", "while its rows are computed", CURE)  # noqa: B904


def _mapped(fn: Callable[[Any], Any], elems: NestLike) -> Any:
    """The function applied to all rows at once."""
    leaves, rebuild = flatten_records(elems)
    stacks = [lift(leaf) for leaf in leaves]
    sizes = []
    for x in stacks:
        if x.dims == ():
            raise InvalidArgumentError("vectorized_map: elems must have a leading axis, got a scalar.")
        sizes.append(None if x.dims is None else x.dims[0])
    counts = {size for size in sizes if size != 1}
    if not sizes or len(counts - {None}) > 1:
        raise InvalidArgumentError(f"vectorized_map: the numbers of rows differ or are missing: {sizes}.")
    is_shared = [size == 1 and bool(counts) for size in sizes]
    stacks = [x[0] if shared else x for x, shared in zip(stacks, is_shared, strict=True)]
    if not all(is_definite(x.dims) for x in stacks):
        return _unknown(fn, stacks, is_shared, rebuild)
    level = BatchLevel(counts.pop() if counts else 1)
    with entered(level):
        rows_of = rebuild([x if s else level.wrap(x) for x, s in zip(stacks, is_shared, strict=True)])
        try:
            out = fn(reranked(rows_of, of_slice))
        except Exception:
            level.escapes.hand_on(level.below)
            raise
        level.escapes.check("vectorized_map")
        flat, rebuild_out = _of_result(out)
    rows = [stack_rows(level, y) for y in flat]
    rows = [bind(IDENTITY, y) if any(y is x for x in stacks) else y for y in rows]
    return reranked(rebuild_out(rows), of_stack(level.size))


def _of_result(out: Any) -> tuple[list[Tensor], Rebuild]:
    """The tensors in what a function returned, and what makes its like of others; None stays in its place."""
    leaves, rebuild = flatten_records(out)

    def with_none(tensors: Iterable[Any]) -> Any:
        given = iter(tensors)
        return rebuild([None if leaf is None else next(given) for leaf in leaves])

    return [lift(leaf) for leaf in leaves if leaf is not None], with_none


def _unknown(fn: Callable[[Any], Any], stacks: list[Tensor], is_shared: list[bool], rebuild: Rebuild) -> Any:
    """For unknown sizes: the function of one row as a graph, which is batched when they are known."""
    found: list[Rebuild] = []

    def run(*rows: Tensor) -> list[Any]:
        flat, rebuild_out = _of_result(fn(reranked(rebuild(list(rows)), of_slice)))
        found.append(rebuild_out)
        return flat

    specs = [
        TensorSpec.of(None if x.dims is None else tuple(x.dims[0 if shared else 1 :]), x.dtype)
        for x, shared in zip(stacks, is_shared, strict=True)
    ]
    traced = trace_flat(run, specs, "vectorized_map", keep_all=True)
    stacked = [not shared for shared in is_shared] + [False] * len(traced.captures)
    out = found[0](list(vectorize(traced.graph, stacked, [*stacks, *traced.captures])))
    return reranked(out, of_stack(None))
