"""A data set or an iterator of one as what a traced loop goes through: calls of the host give its elements one by one.

Each run of the loop begins the data set anew, so that what is shuffled is shuffled anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from graphad.autograph.convert import converted_here
from graphad.core.dtypes import bool_, int64
from graphad.core.errors import OutOfRangeError
from graphad.core.sparse import Sparse
from graphad.core.tensor import Tensor
from graphad.data.elements import leaves, mapped, returned
from graphad.data.sparse import SparseArray
from graphad.gradient.host import HostEffect, called
from graphad.ops.control.while_loop import repeat

_number = itertools.count()
_CURE = (
    "a data set from memory is saved with its batches, enumerate, repeat, shard, skip, take and zip; for others pass the tensors "
    "as arguments and make the data set of them in the function, where it is also mapped and shuffled"
)


class Stream:
    """Elements that a traced function asks for while it runs.

    Args:
      begin: A function that gives the iterator: a new one, or always the same.
      spec: The specs of an element.
    """

    def __init__(self, begin: Callable[[], Iterator[Any]], spec: Any) -> None:
        self._begin, self.spec = begin, spec
        self._running: dict[int, Iterator[Any]] = {}
        self._elements: dict[int, Any] = {}
        # The last run of each thread; a run that was broken off is forgotten when the next begins.
        self._latest: dict[int, int] = {}

    def start(self) -> Tensor:
        """The number of this run."""
        return _of_host(self._started, [], int64)  # type: ignore[no-any-return]

    def advance(self, run: Tensor) -> Tensor:
        """Go to the next element, and say whether there is one."""
        return _of_host(self._advanced, [run], bool_)  # type: ignore[no-any-return]

    def element(self, run: Tensor) -> Any:
        """The present element."""
        specs = [leaf.apart() if isinstance(leaf, Sparse) else None for leaf in leaves(self.spec)]
        wanted = [
            part
            for leaf, sparse in zip(leaves(self.spec), specs, strict=True)
            for part in ([leaf] if sparse is None else sparse[0])
        ]
        found = iter(_of_host(self._present, [run], wanted))
        rest = iter(specs)

        def one(_: Any) -> Any:
            sparse = next(rest)
            return next(found) if sparse is None else sparse[1]([next(found) for _ in sparse[0]])

        return mapped(one, self.spec)

    def _started(self) -> np.int64:
        number, thread = next(_number), get_ident()
        self._forget(self._latest.get(thread))
        self._latest[thread] = number
        self._running[number] = self._begin()
        return np.int64(number)

    def _advanced(self, run: Any) -> np.bool_:
        number = int(run)
        try:
            self._elements[number] = next(self._running[number])
        except StopIteration:
            self._forget(number)
            return np.False_
        return np.True_

    def _present(self, run: Any) -> Sequence[Any]:
        element = self._elements.get(int(run))
        if element is None:
            raise OutOfRangeError("get_next: End of sequence")
        return [
            part
            for leaf in leaves(element)
            for part in (leaf.parts() if isinstance(leaf, SparseArray) else [leaf])
        ]

    def _forget(self, number: int | None) -> None:
        if number is not None:
            self._running.pop(number, None)
            self._elements.pop(number, None)


def traced_reduction(stream: Stream, state: Any, function: Callable[..., Any]) -> Any:
    """The last of the states that `function(state, element)` gives, one after another, each time that the traced function runs.

    Raises: StructureError, DTypeError: a state has another structure or dtype than the first one.
    """
    run, step = stream.start(), converted_here(function)
    return repeat(
        lambda _: stream.advance(run),
        lambda before: [returned(step(before, stream.element(run)))],
        [state],
        None,
        None,
        ["the state"],
        may_change=True,
    )[0]


def _of_host(function: Callable[..., Any], inputs: list[Tensor], out: Any) -> Any:
    return called("a loop over a data set", function, inputs, out, False, HostEffect, _CURE)
