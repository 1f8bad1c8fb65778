"""`vmap`: a function of single examples as a function of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from graphad.autograph.convert import converted
from graphad.core.annotations import NestLike, TensorLike
from graphad.core.composites import flatten_present
from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import current
from graphad.core.nest import is_nested
from graphad.core.refusal import check_function
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.functional.arguments import tensor
from graphad.ops.array.sequence import range as arange
from graphad.ops.array.transpose import transpose
from graphad.vectorize.batch import BatchedTensor, BatchLevel
from graphad.vectorize.vectorized_map import vectorized_map

P = ParamSpec("P")
R = TypeVar("R")


Axes = Any
"""An int, None, or a nest of these that is a prefix of the value's structure."""


def vmap(
    f: Callable[P, R], in_axes: Axes = 0, out_axes: Axes = 0, axis_size: int | None = None
) -> Callable[P, R]:
    """The function that applies `f` to every entry of a batch, computed for all at once.

    Args:
      f: A function of nests of tensors; it is called once, and captured values are the same for all entries. Its control flow is
        converted as that of a `function`.
      in_axes: The batch axis of each positional argument: an int for all tensors of all arguments, or a tuple or list with an
        int, None (not batched: the same for all entries) or a nest of these for each argument. Keyword arguments are
        batched along axis 0.
      out_axes: The batch axis of each result: an int for all, None for a result that is the same for all entries, or a nest
        like the result.
      axis_size: The number of entries, where no argument has it; else it is that of the arguments.
    Returns: A function of batches.
    Raises: Nothing until it is called.
    Raises (when it is called): InvalidArgumentError: nothing is batched, sizes of the batch differ, an axis is not there.
    Example:
      >>> vmap(lambda row, bias: reduce_sum(row) + bias, in_axes=(0, None))(ones([3, 2]), 1.0).numpy()
      array([3., 3., 3.], dtype=float32)
    """
    check_function("vmap", f)

    @functools.wraps(f)
    def batched(*args: P.args, **kwargs: P.kwargs) -> Any:
        axes = _axes_of_arguments(in_axes, args)
        leaves, rebuild = flatten_present((args, kwargs))
        kinds = _spread("in_axes", axes, args) + [0] * len(flatten_present(kwargs)[0])
        if axis_size is None and not any(axis is not None for axis in kinds):
            raise InvalidArgumentError(
                f"vmap: in_axes={in_axes!r} batches nothing; at least one axis has to be a number, or axis_size given."
            )
        stacks = [_to_front(x, axis) for x, axis in zip(leaves, kinds, strict=True) if axis is not None]
        if axis_size is not None:
            stacks.append(arange(axis_size))  # which `one` does not look at
        _check_sizes(stacks, "" if axis_size is None else " (the last is axis_size)")

        same: dict[int, Any] = {}
        rebuilds: list[Any] = []

        def one(rows: list[Any]) -> list[Any]:
            entries = iter(rows)
            inner = [x if axis is None else next(entries) for x, axis in zip(leaves, kinds, strict=True)]
            inner_args, inner_kwargs = rebuild(inner)
            result = converted(f)(*inner_args, **inner_kwargs)
            ys, rebuild_result = flatten_present(result)
            axes_out = _spread("out_axes", out_axes, result)
            rebuilds.append((rebuild_result, axes_out))
            same.update({k: _same(y) for k, y in enumerate(ys) if axes_out[k] is None})
            return [y for k, y in enumerate(ys) if k not in same]

        stacked = iter(vectorized_map(one, stacks))
        rebuild_result, axes_out = rebuilds[-1]
        return rebuild_result(
            [same[k] if axis is None else _from_front(next(stacked), axis) for k, axis in enumerate(axes_out)]
        )

    return batched


def _axes_of_arguments(in_axes: Axes, args: tuple[Any, ...]) -> Axes:
    if isinstance(in_axes, list | tuple):
        if len(in_axes) != len(args):
            raise InvalidArgumentError(
                f"vmap: in_axes={in_axes!r} has {len(in_axes)} entries, and the function was called with {len(args)} positional "
                "arguments; give one entry for each, or an int for all."
            )
        return tuple(in_axes)
    return in_axes


def _spread(name: str, axes: Axes, value: object, within: bool = False) -> list[int | None]:
    """One axis for each leaf of `value`, from a nest of axes that is a prefix of it; none for None `within` a nest."""
    if value is None and within:
        return []
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * len(flatten_present(value)[0])
    if isinstance(axes, dict) and isinstance(value, dict) and axes.keys() == value.keys():
        parts = [(axes[key], value[key]) for key in sorted(value)]
    elif isinstance(axes, list | tuple) and isinstance(value, list | tuple) and len(axes) == len(value):
        parts = list(zip(axes, value, strict=True))
    else:
        raise InvalidArgumentError(
            f"vmap: {name} holds {axes!r} where the value is {_described(value)}; give an int, None, or a nest of the same form."
        )
    return [axis for part in parts for axis in _spread(name, *part, within=True)]


def _described(value: NestLike) -> str:
    if is_nested(value):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def _to_front(leaf: TensorLike, axis: int) -> Tensor:
    x = tensor("vmap", leaf, "a batched argument")
    if axis == 0 and (x.dims is None or len(x.dims) > 0):
        return x
    rank = _rank(x)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"vmap: in_axes asks for axis {axis} of a tensor of shape {format_dims(x.dims)}, which has {rank} axes; use None for "
            "what is not batched."
        )
    first = axis % rank
    return transpose(x, [first, *(k for k in range(rank) if k != first)])


def _rank(x: Tensor) -> int:
    if x.dims is None:
        raise InvalidArgumentError("vmap: an axis other than 0 needs a tensor of known rank; set its shape.")
    return len(x.dims)


def _check_sizes(stacks: Sequence[Any], last: str) -> None:
    sizes = [None if x.dims is None else x.dims[0] for x in stacks]
    known = {size for size in sizes if isinstance(size, int)}
    if len(known) > 1:
        raise InvalidArgumentError(
            f"vmap: batched arguments have {sizes} entries along their axes{last}; these have to be equal."
        )


def _same(y: Tensor) -> Tensor:
    """A result that is the same for all entries. Raises: InvalidArgumentError: it is not."""
    level = current()
    if not isinstance(level, BatchLevel):
        raise InvalidArgumentError(
            "vmap: out_axes=None needs a batch of known size; give the result an axis and take its first entry."
        )
    if isinstance(y, BatchedTensor) and y.level is level:
        raise InvalidArgumentError(
            f"vmap: out_axes is None for a result of shape {format_dims(y.dims)} that depends on batched arguments; give it an "
            "axis."
        )
    return y


def _from_front(y: Tensor, axis: int) -> Tensor:
    if axis == 0:
        return y
    rank = _rank(y)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"vmap: out_axes asks for axis {axis} of a result of shape {format_dims(y.dims)} with the batch, which has "
            f"{rank} axes."
        )
    last = axis % rank
    order = list(range(1, rank))
    order.insert(last, 0)
    return transpose(y, order)
