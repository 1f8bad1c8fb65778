"""Builtins that accept tensors and data sets inside converted functions: see `OVERLOADS`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphad.autograph.state import decider, is_symbolic
from graphad.core import dtypes
from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import trace_in_progress
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.sequence import range as tensor_range
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.select import maximum, minimum, where

if TYPE_CHECKING:
    from graphad.autograph.lists import StagedList
    from graphad.autograph.loops import Elements


def _len(x: StagedList | Tensor) -> Any:
    """The first size: a number where it is known, else a tensor."""
    if not isinstance(x, Tensor):
        elements: Any = x
        if hasattr(x, "__graphad_len__"):  # a data set whose length the function computes
            return elements.__graphad_len__()
        return elements.size() if hasattr(x, "__graphad_elements__") and hasattr(x, "size") else len(elements)
    if not is_symbolic(x) or (x.dims and x.dims[0] is not None):
        return len(x)
    if x.dims == ():
        raise InvalidArgumentError("len: it requires a non-scalar tensor, got one of rank 0.")
    return shape(x)[0]


def _int(x: Any = 0, *base: Any, **options: Any) -> Any:
    x = decider(x)
    return cast(x, dtypes.int32) if is_symbolic(x) and not base and not options else int(x, *base, **options)


def _float(x: Any = 0.0) -> Any:
    x = decider(x)
    return cast(x, dtypes.float32) if is_symbolic(x) else float(x)


def _range(*bounds: Any) -> Any:
    """As in Python, the range is empty if the bounds have passed each other."""
    bounds = tuple(map(decider, bounds))
    if not any(map(is_symbolic, bounds)):
        return range(*bounds)
    start, stop = bounds[:2] if len(bounds) > 1 else (0, bounds[0])
    step = bounds[2] if len(bounds) > 2 else 1
    if is_symbolic(step):
        stop = where(step > 0, maximum(stop, start), minimum(stop, start))
    else:
        stop = (maximum if step > 0 else minimum)(stop, start)
    return tensor_range(start, stop, step)


def _sorted(x: Tensor, /, *, key: Any = None, reverse: bool = False) -> Any:
    if not is_symbolic(x):
        return sorted(x, key=key, reverse=reverse)
    from graphad.ops.array.gather import gather
    from graphad.ops.array.sorting import argsort, sort

    direction = "DESCENDING" if reverse else "ASCENDING"
    keys = x
    if key is not None:
        from graphad.ops.control.scan import map_fn

        keys = map_fn(key, x)
    if keys.dims is not None and len(keys.dims) != 1:
        raise InvalidArgumentError(
            f"sorted: a tensor of shape {format_dims(keys.dims)} has no order of rows; sort one number for each row, by a key."
        )
    return (
        sort(x, direction=direction)
        if key is None
        else gather(x, argsort(keys, direction=direction, stable=True))
    )


class Staged:
    """Elements computed from those of tensors: the traced result of `enumerate`, `zip` and `map`."""

    def __init__(self, nest: object, make: Callable[[Any], Any] | None, plain: Callable[[], Any]) -> None:
        self._nest = nest
        self._make = make
        self._plain = plain

    def __iter__(self) -> Iterator[Any]:
        return iter(self._plain())

    def __next__(self) -> Any:
        self._plain = _once(self._plain)
        return next(self._plain())

    def __graphad_elements__(self) -> Elements:
        return _elements(self._nest, self._make)

    def made(self, element: tuple[Tensor, ...]) -> Any:
        return element if self._make is None else self._make(element)


def _elements(nest: object, make: Callable[[Any], Any] | None = None) -> Elements:
    from graphad.autograph.loops import Elements  # imported here: Python's own loops do not need it

    return Elements(nest, make)


def _once(plain: Callable[[], Any]) -> Callable[[], Any]:
    found = iter(plain())
    return lambda: found


def _stacks(iterables: Any) -> bool:
    """Whether a loop over these together is staged: all are tensors, or computed from tensors."""
    return (
        trace_in_progress() is not None
        and iterables
        and all(isinstance(x, Staged) or (isinstance(x, Tensor) and x.dims != ()) for x in iterables)
    )


def _streams(iterables: Any) -> bool:
    """Whether these are data sets, of which one is made while a function is traced."""
    return (
        trace_in_progress() is not None
        and iterables
        and all(hasattr(x, "__graphad_stream__") and hasattr(x, "enumerate") for x in iterables)
    )


def _enumerate(iterable: Any, start: int = 0) -> Any:
    if _streams([iterable]):
        return iterable.enumerate(start)
    if not _stacks([iterable]):
        return enumerate(iterable, start)
    nest = iterable._nest if isinstance(iterable, Staged) else iterable
    length = _elements(nest).walk.limit()
    made = iterable.made if isinstance(iterable, Staged) else _same
    return Staged(
        (tensor_range(start, start + length), nest),
        lambda pair: (pair[0], made(pair[1])),
        lambda: enumerate(iterable, start),
    )


def _zip(*iterables: Any, strict: bool = False) -> Any:
    if _streams(iterables) and not strict:
        return iterables[0].zip(*iterables)
    if strict or not _stacks(iterables):
        return zip(*iterables, strict=strict)
    nests = [x._nest if isinstance(x, Staged) else x for x in iterables]
    walks = [_elements(nest).walk for nest in nests]
    if len({walk.length for walk in walks}) > 1 or walks[0].length is None:
        least = walks[0].limit()
        for walk in walks[1:]:
            least = minimum(least, walk.limit())
        nests = [walk.nest.build([x[:least] for x in walk.xs]) for walk in walks]
    makers = [x.made if isinstance(x, Staged) else _same for x in iterables]
    return Staged(
        tuple(nests),
        lambda items: tuple([made(item) for made, item in builtins.zip(makers, items, strict=True)]),
        lambda: zip(*iterables),
    )


def _map(function: Callable[..., Any], *iterables: Any) -> Any:
    from graphad.autograph.call import of

    function = of(function, settled=False)
    if not _stacks(iterables):
        return map(function, *iterables)
    zipped = _zip(*iterables)
    return Staged(
        zipped._nest, lambda items: function(*zipped.made(items)), lambda: map(function, *iterables)
    )


def _iter(x: Any, *sentinel: Any) -> Any:
    if not sentinel and trace_in_progress() is not None and hasattr(x, "__graphad_iterator__"):
        return x.__graphad_iterator__()
    return iter(x, *sentinel)


def _same(x: Tensor) -> Any:
    return x


OVERLOADS: dict[Any, Any] = {
    len: _len,
    int: _int,
    float: _float,
    range: _range,
    sorted: _sorted,
    enumerate: _enumerate,
    zip: _zip,
    map: _map,
    iter: _iter,
}
for _builtin, _mine in OVERLOADS.items():  # for Python's own error on wrong arguments
    _mine.__name__ = _mine.__qualname__ = _builtin.__name__
