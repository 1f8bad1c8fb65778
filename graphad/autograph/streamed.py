"""Loops whose elements the host is asked for, as those over data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.tensor import Tensor
from graphad.ops.control.branch import conditional
from graphad.ops.control.predicates import as_predicate


class Streamed:
    """The elements of an iterator on the host, which a staged `for` requests one by one until it ends.

    Shapes may change from step to step, as in TensorFlow: the elements of a data set often have sizes of their own.
    """

    may_change = True

    def __init__(self, stream: Any) -> None:
        self._stream, self._run = stream, stream.start()

    def goes_on(self, test: Callable[[], Any] | None) -> Tensor:
        """Whether there is another step: the next element is asked for only where the loop was not left."""

        def more() -> Tensor:
            return self._stream.advance(self._run)  # type: ignore[no-any-return]

        holds: Tensor = more() if test is None else conditional(as_predicate("for", test()), more, _no_more)
        return holds

    def element(self, slices: Sequence[Tensor]) -> Any:
        return self._stream.element(self._run)


def _no_more() -> Tensor:
    return lift(np.False_)
