"""Loops over the first axis: `scan`, `map_fn`, `foldl` and `foldr`.

On eager values they are Python loops. While tracing they become one `loop`, whose body is traced once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, NestLike, TensorLike
from graphad.core.composites import keeps_shapes, of_slice, of_stack, reranked
from graphad.core.convert import lift, lift_like
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, StructureError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import trace_in_progress
from graphad.core.nest import leaves_of, map_leaves
from graphad.core.shapes import are_compatible, format_dims, ranked
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat, stack
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape
from graphad.ops.array.slice import getitem
from graphad.ops.control.parts import Nest, Part, constants, same_structure
from graphad.ops.control.segments import Segments
from graphad.ops.control.while_loop import bind_loop, check_carry

R = TypeVar("R")


def _dense(value: object) -> Any:
    """`value` with dense tensors for IndexedSlices; a loop would iterate over the rows of their values otherwise."""
    return map_leaves(lambda leaf: lift(leaf) if isinstance(leaf, IndexedSlices) else leaf, value)


class Walk:
    """Tensors that a loop walks together along their first axis."""

    def __init__(self, op: str, elems: object) -> None:
        if any(isinstance(leaf, Sparse) and leaf.holds_values for leaf in leaves_of(elems)):
            raise ArgumentTypeError(
                f"{op}: elems holds a SparseTensor, whose rows are not stored one after another; use sparse.to_dense, or "
                "sparse.map_values for a function of its values."
            )
        self.nest = Nest(_dense(elems))
        self._keeps_shapes = keeps_shapes(elems)
        self.xs = self.nest.tensors()
        if not self.xs:
            raise InvalidArgumentError(
                f"{op}: elems must be a Tensor or (possibly nested) sequence of Tensors; it is empty."
            )
        self.length: int | None = None
        for x in self.xs:
            if x.dims == ():
                raise InvalidArgumentError(
                    f"{op}: elements in elems must be 1+ dimensional Tensors, not scalars"
                )
            size = None if x.dims is None else x.dims[0]
            if size is not None and self.length is not None and size != self.length:
                raise InvalidArgumentError(
                    f"{op}: the first sizes of elems differ: {self.length} and {size}."
                )
            self.length = size if self.length is None else self.length

    def element(self, slices: Sequence[Any]) -> Any:
        """Slices of the tensors, structured as elems."""
        nest = self.nest.build(slices)
        return reranked(nest, of_slice) if self._keeps_shapes else nest

    def specs(self) -> list[TensorSpec]:
        return [TensorSpec.of(None if x.dims is None else tuple(x.dims[1:]), x.dtype) for x in self.xs]

    def limit(self) -> Any:
        """The number of elements as a tensor."""
        return lift(np.int32(self.length)) if self.length is not None else getitem(shape(self.xs[0]), 0)

    def without(self, reverse: bool) -> Walk:
        """All elements but the first, or the last."""
        return Walk(
            "scan",
            self.nest.build([getitem(x, slice(None, -1) if reverse else slice(1, None)) for x in self.xs]),
        )


def scan(
    fn: Callable[[Any, Any], Any],
    elems: NestLike,
    initializer: NestLike = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> NestLike:
    """All intermediate results of folding `fn` over the first axis: y[i] = fn(y[i - 1], elems[i]).

    Args:
      fn: Called with the result so far and an element; returns the next result, structured as `initializer`.
      elems: A tensor [n, ...] or a nest of such tensors.
      initializer: What comes before the first element; without it the first element is the first result.
      parallel_iterations, swap_memory, infer_shape: Accepted for compatibility.
      back_prop: False makes the result a constant for derivatives.
      reverse: Go from the last element to the first; y[i] then depends on elems[i:].
    Returns: A nest like the results of `fn`, each tensor with a new first axis of size n.
    Raises:
      InvalidArgumentError (a ValueError): no elements and no initializer, or a result changes its shape.
    Example:
      >>> scan(lambda total, x: total + x, constant([1, 2, 3])).numpy()
      array([1, 3, 6], dtype=int32)
    """
    _require_callable("scan", fn)
    walk = Walk("scan", elems)
    out = _fold("scan", fn, walk, initializer, reverse, True)
    if not back_prop:
        out = constants(out)
    return out


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: NestLike,
    initializer: NestLike = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> NestLike:
    """`fn(... fn(fn(initializer, elems[0]), elems[1]) ..., elems[-1])`; arguments as for `scan`.

    Args:
      fn: Called with what has been accumulated and an element; returns what is accumulated next.
      elems: A tensor [n, ...] or a nest of such tensors.
      initializer: What is there before the first element; by default the first element itself.
      parallel_iterations, swap_memory: Accepted for compatibility.
      back_prop: False makes the result a constant for derivatives.
    Returns: What `fn` gave last: a nest of tensors.
    Raises: InvalidArgumentError (a ValueError): there are no elements and no `initializer`, or what `fn` gives changes its
      structure, shape or dtype.
    Example:
      >>> foldl(lambda total, x: 2 * total + x, constant([1, 0, 1])).numpy()
      np.int32(5)
    """
    _require_callable("foldl", fn)
    out = _fold("foldl", fn, Walk("foldl", elems), initializer, False, False)
    return out if back_prop else constants(out)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: NestLike,
    initializer: NestLike = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> NestLike:
    """`fn(... fn(fn(initializer, elems[-1]), elems[-2]) ..., elems[0])`; arguments as for `scan`.

    Args:
      fn: Called with what has been accumulated and an element; returns what is accumulated next.
      elems: A tensor [n, ...] or a nest of such tensors.
      initializer: What is there before the last element; by default the last element itself.
      parallel_iterations, swap_memory: Accepted for compatibility.
      back_prop: False makes the result a constant for derivatives.
    Returns: What `fn` gave last: a nest of tensors.
    Raises: InvalidArgumentError (a ValueError): there are no elements and no `initializer`, or what `fn` gives changes its
      structure, shape or dtype.
    """
    _require_callable("foldr", fn)
    out = _fold("foldr", fn, Walk("foldr", elems), initializer, True, False)
    return out if back_prop else constants(out)


def map_fn(
    fn: Callable[[Any], R],
    elems: NestLike,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: object = None,
) -> R:
    """`fn` of each element along the first axis, one after another, stacked.

    Args:
      fn: Called with an element (a nest like `elems`); returns a tensor or a nest of tensors.
      elems: A tensor [n, ...] or a nest of such tensors.
      dtype, fn_output_signature: A nest of dtypes or TensorSpecs like the result of `fn`; needed only where there are no
        elements and nothing is traced: by default each result is then [0], of the dtype of the elements.
      parallel_iterations, swap_memory, infer_shape: Accepted for compatibility.
      back_prop: False makes the result a constant for derivatives.
    Returns: A nest like the result of `fn`, each tensor with a new first axis of size n.
    Raises: InvalidArgumentError (a ValueError): the tensors have different numbers of elements.
    Example:
      >>> map_fn(lambda x: x * x, constant([1.0, 2.0, 3.0])).numpy()
      array([1., 4., 9.], dtype=float32)
    """
    _require_callable("map_fn", fn)
    walk = Walk("map_fn", elems)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    out: R = _map(fn, walk, signature)
    return out if back_prop else constants(out)


def _map(fn: Callable[[Any], Any], walk: Walk, signature: Any) -> Any:
    found: list[Nest] = []

    def run(*slices: TensorLike) -> list[Any]:
        found[:] = [Nest(_dense(fn(walk.element(slices))))]
        return found[0].tensors()

    if trace_in_progress() is not None:
        specs = walk.specs()
        body = Part("map_fn", run, specs, "map")
        _check_signature(body.graph.output_specs, found[0], signature)
        looped = bind_loop(None, body, walk.limit(), (), walk.xs, specs, False, walk.length)
        return reranked(found[0].build(looped.ys), of_stack(walk.length))
    length = walk.length or 0
    if not length:
        if signature is None:  # as if `fn` kept the dtypes
            signature = walk.nest.build([TensorSpec((), spec.dtype) for spec in walk.specs()])
        return _empty(signature)
    rows = [run(*[getitem(x, i) for x in walk.xs]) for i in range(length)]
    _check_signature([y.spec for y in rows[0]], found[0], signature)
    stacks = [stack([row[k] for row in rows]) for k in range(len(rows[0]))]
    return reranked(found[0].build(stacks), of_stack(length))


def _fold(
    op: str, fn: Callable[[Any, Any], Any], walk: Walk, initializer: object, reverse: bool, all_results: bool
) -> Any:
    """The last result of a fold, or all of them along a new first axis."""
    first = None
    if initializer is None:
        if walk.length == 0:
            raise InvalidArgumentError(f"{op}: there are no elements and no initializer; give one of them.")
        first = [getitem(x, -1 if reverse else 0) for x in walk.xs]
        nest, start = walk.nest, first
        walk = walk.without(reverse)
    else:
        nest = Nest(_dense(initializer))
        start = nest.tensors()

    given = Segments(carries=len(start), slices=None)

    def step(*values: TensorLike) -> list[Any]:
        result = fn(nest.build(given.carries(values)), walk.element(given.slices(values)))
        found = Nest(_dense(result))
        if not same_structure(found.shape, nest.shape):
            raise StructureError(
                f"{op}: fn returned a result structured as {found}, the initializer is structured as {nest}."
            )
        return [_same_dtype(op, x, leaf) for x, leaf in zip(start, found.given(), strict=True)]

    if trace_in_progress() is not None:
        last, ys = _traced_fold(op, step, walk, start, reverse, all_results)
    else:
        last, rows = list(start), []
        indices = range(walk.length or 0)
        for i in reversed(indices) if reverse else indices:
            last = step(*last, *[getitem(x, i) for x in walk.xs])
            rows.append(last)
        if not all_results:
            return nest.build(last)
        rows = rows[::-1] if reverse else rows
        if not rows:
            ys = [zeros((0, *ranked(x.dims)), x.dtype) for x in start]
        else:
            ys = [stack([row[k] for row in rows]) for k in range(len(start))]
    if not all_results:
        return nest.build(last)
    if first is not None:
        ends = [expand_dims(x, 0) for x in first]
        ys = [concat([y, end] if reverse else [end, y], 0) for y, end in zip(ys, ends, strict=True)]
    return nest.build(ys)


def _traced_fold(
    op: str,
    step: Callable[..., list[Any]],
    walk: Walk,
    start: Sequence[Any],
    reverse: bool,
    all_results: bool,
) -> tuple[list[Any], list[Any]]:
    n, carried = len(start), [TensorSpec.of(x.dims, x.dtype) for x in start]
    specs = carried + walk.specs()

    def run(*values: TensorLike) -> list[Any]:
        results = step(*values)
        return [*results, *results] if all_results else results

    body = Part(op, run, specs, op)
    check_carry(
        carried,
        body.graph.output_specs,
        [f"initializer[{k}]" for k in range(n)] if n > 1 else ["initializer"],
    )
    looped = bind_loop(None, body, walk.limit(), start, walk.xs, specs, reverse, walk.length)
    return list(looped.carry), list(looped.ys)


def _same_dtype(op: str, x: Tensor, leaf: Tensor) -> Tensor:
    try:
        y = lift_like(op, leaf, x.dtype)
    except DTypeError:
        y = lift(leaf)
    if y.dtype is not x.dtype:
        raise DTypeError(
            f"{op}: fn returned dtype {y.dtype.name}, the initializer has dtype {x.dtype.name}; they must be equal."
        )
    return y


def _check_signature(specs: Sequence[TensorSpec], found: Nest, signature: Any) -> None:
    if signature is None:
        return
    nest = Nest(signature)
    wanted = [leaf if isinstance(leaf, TensorSpec) else TensorSpec(None, leaf) for leaf in nest.leaves]
    if len(wanted) != len(specs):
        raise InvalidArgumentError(
            f"map_fn: fn returned {len(specs)} tensors, fn_output_signature names {len(wanted)}."
        )
    if not same_structure(found.shape, nest.shape):
        raise StructureError(
            f"map_fn: The two structures don't have the same nested structure: fn returned {found}, the signature is {nest}."
        )
    for spec, want in zip(specs, wanted, strict=True):
        if spec.dtype is not want.dtype or not are_compatible(spec.dims, want.dims):
            raise DTypeError(
                f"map_fn: fn returned dtype {spec.dtype.name} and shape {format_dims(spec.dims)}, fn_output_signature says "
                f"{want.dtype.name} and {format_dims(want.dims)}."
            )


def _empty(signature: object) -> Any:
    if signature is None:
        return zeros((0,), dtypes.float32)
    nest = Nest(signature)
    specs = [leaf if isinstance(leaf, TensorSpec) else TensorSpec((), leaf) for leaf in nest.leaves]
    return nest.build([zeros((0, *[size or 0 for size in spec.dims or ()]), spec.dtype) for spec in specs])


def _require_callable(op: str, fn: Callable[..., Any]) -> None:
    if not callable(fn):
        raise ArgumentTypeError(f"{op}: fn must be callable, got {fn!r}; the function comes first.")
