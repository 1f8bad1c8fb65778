"""The base of all data sets: a function that begins an iteration, the number of elements, and their specs."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.tensor import Tensor
from graphad.data.elements import DatasetSpec, called, is_traced, leaves, mapped, shown
from graphad.data.iterators import Elements, TracedElements, check_iterated
from graphad.data.resumed import each
from graphad.data.rows import walked
from graphad.data.sparse import SparseArray
from graphad.data.stream import Stream
from graphad.ops.random import uniform

if TYPE_CHECKING:
    from graphad.core.annotations import NestLike
    from graphad.data.rows import Rows, Walked

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

INFINITE, UNKNOWN = -1, -2
SEEDS = 2**31 - 1


def _refuse(cls: type, name: str) -> NoReturn:
    """Raises: AttributeError: data sets have no such method; it says which one to use."""
    if name.startswith("_"):
        raise AttributeError(f"{cls.__name__!r} has no attribute {name!r}", name=name)
    from graphad.core.absent import refusal_of_member

    members = [member for member in dir(cls) if not member.startswith("_")]
    raise AttributeError(refusal_of_member("data.Dataset", name, members), name=name)


class _Named(type):
    """The class of data sets, whose error for a name that is not there says what to use."""

    if not TYPE_CHECKING:
        __getattr__ = _refuse


class Described(metaclass=_Named):
    """Elements that can be gone through; see `Dataset`."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            _refuse(type(self), name)

    def __init__(
        self,
        make: Callable[[], Iterator[Any]],
        count: int,
        spec: Callable[[], Any],
        rows: Callable[[], Rows] | None = None,
    ) -> None:
        self._make, self._count, self._spec, self._rows = make, count, spec, rows

    def _lowered(self, step: Callable[[Rows], Rows]) -> Callable[[], Rows] | None:
        """The elements behind a further step, as ops; None where the host gives them."""
        before = self._rows
        return None if before is None else lambda: step(before())

    def __graphad_elements__(self) -> Walked | None:
        return None if self._rows is None else walked(self._rows())

    def __iter__(self) -> Elements:
        check_iterated()
        return Elements(self._make, self._spec)

    def __graphad_stream__(self) -> Stream:
        spec = self.element_spec
        if any(isinstance(leaf, DatasetSpec) for leaf in leaves(spec)):
            raise InvalidArgumentError(
                "Dataset: its elements are windows, which a traced function cannot take; make tensors of them by flat_map."
            )
        return Stream(self._make, spec)

    def __graphad_iterator__(self) -> TracedElements:
        return TracedElements(self.__graphad_stream__())

    def as_numpy_iterator(self) -> Iterator[Any]:
        """An iterator of elements as NumPy scalars and read-only arrays. Raises: ArgumentTypeError: they are windows."""
        return each(lambda element: mapped(_plain, element), self._make())

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element. Raises: InvalidArgumentError: there is none, or more than one."""
        found = list(itertools.islice(self._make(), 2))
        if len(found) != 1:
            raise InvalidArgumentError(
                f"get_single_element: there is {'no' if not found else 'more than one'} element; there must be one."
            )
        return shown(found[0])

    @property
    def element_spec(self) -> Any:
        """The spec of each tensor of an element, in the element's structure."""
        return self._spec()

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are, int64: -1 for infinitely many, -2 where it is not known."""
        return lift(self._count, int64)

    def __len__(self) -> int:
        if self._count < 0:
            what = "infinite" if self._count == INFINITE else "not known"
            raise ArgumentTypeError(f"Dataset: the number of elements is {what}.")
        return self._count

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Dataset element_spec={self.element_spec}>"


def _plain(x: Any) -> Any:
    """A leaf as an array or a NumPy scalar."""
    if isinstance(x, SparseArray):
        return x.dense()
    if isinstance(x, Described):
        raise ArgumentTypeError(
            "as_numpy_iterator: the elements are windows, data sets of their own; make tensors of them by flat_map."
        )
    if x.ndim == 0:
        return x[()]
    shown = x.view()
    shown.flags.writeable = False  # the data set has this very array, and gives it again
    return shown


def require_dataset(method: str, made: Any) -> Described:
    """The result of a function, if it is a data set. Raises: ArgumentTypeError: it is not."""
    if not isinstance(made, Described):
        raise ArgumentTypeError(
            f"{method}: the function returned {made!r:.100}, of type {type(made).__name__}; it must return a Dataset, such as "
            "Dataset.from_tensor_slices of it."
        )
    return made


def truth_by(method: str, predicate: Callable[..., Any], element: NestLike) -> bool:
    """Whether `predicate` is true of an element. Raises: InvalidArgumentError: it gives no truth value."""
    found = called(predicate, element)
    if not isinstance(found, bool):
        found = lift(found)
        if not found.dtype.is_bool or found.dims != ():
            raise InvalidArgumentError(
                f"{method}: the predicate must return a bool scalar; it gave one of shape {found.shape} and dtype "
                f"{found.dtype.name}."
            )
    return bool(found)


def counted(method: MethodT) -> MethodT:
    """A method that takes numbers: where a traced function computes one, its data set is one of the function's tensors."""
    name = method.__name__

    @functools.wraps(method)
    def call(self: Described, *args: Any, **options: Any) -> Any:
        if any(map(is_traced, (*args, *options.values()))):
            of_traced = importlib.import_module("graphad.data.traced")
            return getattr(of_traced.of_dataset(name, self), name)(*args, **options)
        return method(self, *args, **options)

    return call  # type: ignore[return-value]


def cardinality(dataset: Described) -> Tensor:
    """How many elements there are; see `Dataset.cardinality`.

    Args: dataset: A data set.
    Returns: int64 scalar; -1 for infinitely many, -2 where it is not known.
    Raises: AttributeError: it is not a data set.
    Example:
      >>> int(data.experimental.cardinality(data.Dataset.range(5)))
      5
    """
    return dataset.cardinality()


def made_by(method: str, function: Callable[..., Any], element: NestLike) -> Described:
    """The data set that `function` makes of an element."""
    return require_dataset(method, called(function, element))


def positive(method: str, argument: str, given: Any) -> int:
    """A size as an int. Raises: InvalidArgumentError: it is none, or not positive."""
    try:
        size = int(given)
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(cause, method, argument, given, "a positive integer is needed")
    if size < 1:
        raise InvalidArgumentError(f"{method}: {argument} is {size}; it must be positive.")
    return size


def seeds_of(seed: int | None, is_new_each_time: bool | None) -> Iterator[list[int]]:
    """The seed of each iteration, in turn."""
    first = int(uniform((), maxval=SEEDS, dtype="int32")) if seed is None else int(seed)
    changes = seed is None if is_new_each_time is None else is_new_each_time
    return ([abs(first), i if changes else 0] for i in itertools.count())
