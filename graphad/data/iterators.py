"""Iterators of data sets: of the elements themselves, and of elements that a traced function asks for while it runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import GraphadError, InvalidArgumentError, OutOfRangeError
from graphad.core.scopes import executing_eagerly
from graphad.core.tensor import Tensor
from graphad.core.tracebacks import of_call
from graphad.core.trackable import Trackable
from graphad.data.elements import mapped, shown, spec_of
from graphad.data.stream import Stream
from graphad.eager.variable import Variable


class Taken:
    """The elements of one iteration, and how many of them were taken: a number that a checkpoint may set."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._begin, self._elements, self._count = begin, begin(), 0
        self._known: Variable | None = None  # the count, from when a checkpoint asks for it

    def __iter__(self) -> Taken:
        return self

    def __next__(self) -> Any:
        if self._known is None:
            element = next(self._elements)
            self._count += 1
            return element
        self._go_to(int(self._known.numpy()))
        element = next(self._elements)
        self._count += 1
        self._known.assign(self._count)
        return element

    def _go_to(self, count: int) -> None:
        if count < self._count:
            self._elements, self._count = self._begin(), 0
        for _ in range(count - self._count):
            next(self._elements)
            self._count += 1

    def position(self) -> Variable:
        """How many elements were taken, as a variable; the iterator goes on behind the number that is assigned to it."""
        if self._known is None:
            self._known = Variable(self._count, trainable=False, name="position", dtype="int64")
        return self._known


class Elements(Trackable):
    """An iterator of a data set. A checkpoint keeps how many elements were taken; restored, it passes over as many."""

    def __init__(self, begin: Callable[[], Iterator[Any]], spec: Callable[[], Any]) -> None:
        self._elements, self._spec = Taken(begin), spec

    def named_children(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        yield "position", self._elements.position()

    @property
    def element_spec(self) -> Any:
        return self._spec()

    def __iter__(self) -> Elements:
        check_iterated()
        return self

    def __graphad_stream__(self) -> Stream:
        return Stream(lambda: self._elements, self.element_spec)

    def __next__(self) -> Any:
        if not executing_eagerly():
            return next(TracedElements(self.__graphad_stream__()))
        try:
            return shown(next(self._elements))
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error

    def next(self) -> Any:
        """The next element, as `next(iterator)`. Raises: StopIteration: there is none."""
        return next(self)

    def get_next(self, name: str | None = None) -> Any:
        """The next element. Raises: OutOfRangeError: there is none."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("get_next: End of sequence") from None

    def get_next_as_optional(self) -> Optional:
        """The next element, or none, without an error."""
        if not executing_eagerly():
            return TracedElements(self.__graphad_stream__()).get_next_as_optional()
        found = list(itertools.islice(self._elements, 1))
        return Optional(lift(bool(found)), lambda: shown(found[0]), self._spec)

    def __graphad_iterator__(self) -> Elements:
        return self


class TracedElements:
    """An iterator of a data set in a traced function: `next` and `for` go on where it was left."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._run = stream, stream.start()

    def __graphad_stream__(self) -> TracedElements:
        return self

    def __graphad_iterator__(self) -> TracedElements:
        return self

    def __iter__(self) -> TracedElements:
        check_iterated()
        return self

    def __next__(self) -> Any:
        self.advance(self._run)
        return self.element(self._run)

    get_next = __next__

    def get_next_as_optional(self) -> Optional:
        """The next element, or none, without an error."""
        has_value = self.advance(self._run)
        return Optional(has_value, lambda: self.element(self._run), lambda: self._stream.spec)

    # The methods that a traced loop calls.

    def start(self) -> Tensor:
        return self._run

    def advance(self, run: Tensor) -> Tensor:
        return self._stream.advance(run)

    def element(self, run: Tensor) -> Any:
        return self._stream.element(run)


class Optional:
    """A value or nothing, such as what an iterator gave; made by `from_value`, `empty` and `get_next_as_optional`.

    Args:
      has_value: Whether there is an element, bool scalar.
      get: A function that returns the element.
      spec: A function that returns the specs of an element.
    Raises: TypeError: an argument is missing.
    Example:
      >>> x = experimental.Optional.from_value([1.0, 2.0])
      >>> bool(x.has_value()), x.get_value().numpy()
      (True, array([1., 2.], dtype=float32))
    """

    def __init__(self, has_value: Tensor, get: Callable[[], Any], spec: Callable[[], Any]) -> None:
        self._has_value, self._get, self._spec = has_value, get, spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """A value: a tensor or a nest of tensors."""
        found = mapped(lift, value)
        return Optional(lift(True), lambda: found, lambda: spec_of(found))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Nothing, where a value of that spec might be."""
        return Optional(lift(False), lambda: None, lambda: element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is an element, bool scalar."""
        return self._has_value

    def get_value(self, name: str | None = None) -> Any:
        """The element. Raises: InvalidArgumentError: there is none."""
        if executing_eagerly() and not self._has_value:
            raise InvalidArgumentError(
                "get_value: the Optional has no value: there is no element; ask has_value() first."
            )
        return self._get()

    @property
    def element_spec(self) -> Any:
        """The spec of each tensor of an element, in the element's structure."""
        return self._spec()


def check_iterated() -> None:
    if not executing_eagerly():
        raise InvalidArgumentError(
            "Dataset: only a `for` statement that tf.function converts goes through a data set in a traced function; otherwise "
            "iterate outside, and call the function with each element."
        )
