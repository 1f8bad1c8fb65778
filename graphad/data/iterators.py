"""Iterators of data sets: of the elements themselves, and of elements that a traced function asks for while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError, OutOfRangeError
from graphad.core.scopes import executing_eagerly
from graphad.data.elements import shown
from graphad.data.stream import Stream

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


class Elements:
    """An iterator of a data set."""

    def __init__(self, elements: Iterator[Any], spec: Callable[[], Any]) -> None:
        self._elements, self._spec = elements, spec

    @property
    def element_spec(self) -> Any:
        return self._spec()

    def __iter__(self) -> Elements:
        check_iterated()
        return self

    def __graphad_stream__(self) -> Stream:
        return Stream(lambda: self._elements, self.element_spec)

    def __next__(self) -> Any:
        return (
            shown(next(self._elements))
            if executing_eagerly()
            else next(TracedElements(self.__graphad_stream__()))
        )

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
        found = list(zip((None,), self._elements, strict=False))  # one step, or none
        return Optional(lift(bool(found)), lambda: shown(found[0][1]), self._spec)

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

    # As what a loop goes through.

    def start(self) -> Tensor:
        return self._run

    def advance(self, run: Tensor) -> Tensor:
        return self._stream.advance(run)

    def element(self, run: Tensor) -> Any:
        return self._stream.element(run)


class Optional:
    """What an iterator gave: an element or nothing.

    Args:
      has_value: Whether there is an element, bool scalar.
      get: A function that returns the element.
      spec: A function that returns the specs of an element.
    """

    def __init__(self, has_value: Tensor, get: Callable[[], Any], spec: Callable[[], Any]) -> None:
        self._has_value, self._get, self._spec = has_value, get, spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is an element, bool scalar."""
        return self._has_value

    def get_value(self, name: str | None = None) -> Any:
        """The element. Raises: InvalidArgumentError: there is none."""
        if executing_eagerly() and not self._has_value:
            raise InvalidArgumentError("get_value: there is no element; ask has_value() first.")
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
