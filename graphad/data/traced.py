"""Data sets of tensors that a traced function computes: they are gone through by its `for` statements, and by `reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from graphad.core.convert import lift
from graphad.core.dtypes import DType, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.data import rows
from graphad.data.dataset import Dataset
from graphad.data.described import SEEDS, UNKNOWN, positive
from graphad.data.elements import is_traced, leaves, mapped
from graphad.function.decorator import function
from graphad.ops.math import logical_or
from graphad.ops.math.cast import cast
from graphad.ops.random import uniform
from graphad.ops.state.effects import require

if TYPE_CHECKING:
    from graphad.core.annotations import NestLike
    from graphad.data.rows import Rows

_OF_TENSORS = (
    "the data set is of tensors that the function computes; a for statement goes through such data sets, through their batch, "
    "enumerate, map, reduce, repeat, shard, shuffle, skip, take and zip. Make another one outside of the function."
)


class TracedDataset(Dataset):
    """Elements that are computed in the graph of a traced function.

    Args: lowered: A function that gives the elements, as ops of the function that is being traced.
    Raises: InvalidArgumentError (a ValueError): an iteration other than by a `for` statement of a traced function, or a step that
      a graph does not take.
    """

    _rows: Callable[[], Rows]

    def __init__(self, lowered: Callable[[], Rows]) -> None:
        super().__init__(self._elsewhere, UNKNOWN, self._specs, lowered)
        self._as_rows = lowered

    def _elsewhere(self) -> NoReturn:
        raise InvalidArgumentError(f"Dataset: {_OF_TENSORS}")

    def _specs(self) -> Any:
        """The specs of an element, from a trace of any."""
        traced = function(lambda number: self._as_rows().at(number)).get_concrete_function(
            TensorSpec((), int64)
        )
        return traced.structured_outputs

    def _then(self, step: Callable[[Rows], Rows]) -> TracedDataset:
        return TracedDataset(lambda: step(self._as_rows()))

    def __graphad_stream__(self) -> Any:
        self._elsewhere()

    def __graphad_iterator__(self) -> Any:
        self._elsewhere()

    def __len__(self) -> int:
        raise ArgumentTypeError("Dataset: the number of elements is not known before the function runs.")

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are, int64."""
        return self._as_rows().count

    __graphad_len__ = cardinality  # for `len` in converted code

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | Tensor | None = None,
        deterministic: bool | None = None,
        **options: Any,
    ) -> TracedDataset:
        """`map_func` of each element; the parts of a tuple are its arguments."""
        return self._then(lambda before: rows.each(map_func, before))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: int | Tensor | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> TracedDataset:
        """`batch_size` consecutive elements stacked along a new first axis; the last batch may be smaller."""
        size = number("batch", "batch_size", batch_size, 1)
        return self._then(lambda before: rows.batched(before, size, drop_remainder))

    def shuffle(
        self,
        buffer_size: int | Tensor,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> TracedDataset:
        """The elements in an order that each iteration draws from all of them, for any `buffer_size` but 1; one order for all
        iterations where `reshuffle_each_iteration` is False."""
        size = number("shuffle", "buffer_size", buffer_size)
        if isinstance(size, int) and (size != UNKNOWN and positive("shuffle", "buffer_size", size) == 1):
            return self
        key = None
        if reshuffle_each_iteration is not None and not reshuffle_each_iteration:
            key = (
                uniform((2,), maxval=SEEDS, dtype="int32")
                if seed is None
                else lift([abs(int(seed)), 0], int64)
            )
        if not isinstance(size, int):
            is_size = logical_or(size > 0, size == UNKNOWN)
            require(is_size, "shuffle: buffer_size is \x00; it must be positive.", [size])
        return self._then(lambda before: rows.reordered(before, size, seed, key))

    def repeat(self, count: int | Tensor | None = None, name: str | None = None) -> TracedDataset:
        """The data set `count` times."""
        times = number("repeat", "count", -1 if count is None else count)
        return self._then(lambda before: rows.repeated(before, times))

    def take(self, count: int | Tensor, name: str | None = None) -> TracedDataset:
        """The first `count` elements; all for -1."""
        n = number("take", "count", count)
        return self._then(lambda before: rows.taken(before, n))

    def skip(self, count: int | Tensor, name: str | None = None) -> TracedDataset:
        """All but the first `count` elements; none for -1."""
        n = number("skip", "count", count)
        return self._then(lambda before: rows.skipped(before, n))

    def shard(self, num_shards: int | Tensor, index: int | Tensor, name: str | None = None) -> TracedDataset:
        """Every `num_shards`-th element, from number `index` on."""
        step, start = number("shard", "num_shards", num_shards), number("shard", "index", index)
        if isinstance(step, int) and isinstance(start, int) and not 0 <= start < step:
            raise InvalidArgumentError(f"shard: index is {start}; 0 <= index < num_shards, which is {step}.")
        return self._then(lambda before: rows.sharded(before, step, start))

    def enumerate(self, start: Any = 0, name: str | None = None) -> TracedDataset:
        """Tuples of a number, int64, and an element."""
        first = number("enumerate", "start", start)
        return self._then(lambda before: rows.numbered(before, first))

    def prefetch(self, buffer_size: int | Tensor | None = None, name: str | None = None) -> TracedDataset:
        """The data set itself."""
        return self

    def cache(self, filename: str = "", name: str | None = None) -> TracedDataset:
        """The data set itself: its elements are in memory."""
        return self


def number(method: str, argument: str, given: Any, least: int | None = None) -> rows.Number:
    """A number of Python's, or one that the function computes, int64.

    Raises: InvalidArgumentError (a ValueError): it is no integer scalar, or is known to be less than `least`.
    """
    if not is_traced(given):
        if isinstance(given, Tensor) and not given.has_value:
            given = given.known  # the size of a tensor whose shape is known
        return int(given) if least is None else positive(method, argument, given)
    found = lift(given)
    if not found.dtype.is_integer or found.dims not in ((), None):
        raise InvalidArgumentError(
            f"{method}: {argument} has shape {found.shape} and dtype {found.dtype.name}; an integer scalar is needed."
        )
    return cast(found, int64)


def of_range(ends: tuple[Any, ...], dtype: DType) -> TracedDataset:
    """The numbers of a range, of which some ends or the step are traced."""
    if not 1 <= len(ends) <= 3:
        raise ArgumentTypeError(f"Dataset.range: it takes one to three numbers, got {len(ends)}.")
    found = [number("Dataset.range", "an argument", end) for end in ends]
    start, stop = (0, found[0]) if len(found) == 1 else found[:2]
    step = found[2] if len(found) > 2 else 1
    return TracedDataset(lambda: rows.ranged(start, stop, step, dtype))


def of_dataset(method: str, dataset: Dataset) -> TracedDataset:
    """A data set from memory, a step of which takes a number that the function computes.

    Raises: InvalidArgumentError (a ValueError): the host gives its elements.
    """
    lowered = dataset._rows
    if lowered is None:
        raise InvalidArgumentError(
            f"{method}: an argument is a tensor that the function computes, and the host gives the elements of {dataset!r:.200}; "
            f"call {method} before map, shuffle and their like, or with a number of Python's."
        )
    return TracedDataset(lowered)


def of_slices(tensors: NestLike) -> TracedDataset:
    """The slices of tensors, of which some are traced."""
    given = mapped(lift, tensors)  # now, since a variable may change before a loop begins
    return TracedDataset(lambda: rows.slices(given))


def of_one(tensors: NestLike) -> TracedDataset:
    """One element, of tensors of which some are traced."""
    given = mapped(lift, tensors)
    return TracedDataset(lambda: rows.single(given))


def zipped(nest: NestLike) -> TracedDataset:
    """Elements of data sets side by side, of which some are traced. Raises: InvalidArgumentError: the host gives another's."""
    for part in leaves(nest):
        if part._rows is None:
            raise InvalidArgumentError(f"zip: {part!r:.100} has elements that the host gives; {_OF_TENSORS}")
    return TracedDataset(lambda: rows.together(mapped(lambda part: part._rows(), nest)))


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: TracedDataset, *args: Any, **options: Any) -> NoReturn:
        raise InvalidArgumentError(f"{name}: {_OF_TENSORS}")

    return refuse


_KEPT = {"apply", "element_spec", "options", "reduce", "with_options", *vars(TracedDataset)}
for _name in [name for name in dir(Dataset) if not name.startswith("_") and name not in _KEPT]:
    if not isinstance(vars(Dataset).get(_name), staticmethod | classmethod):
        setattr(TracedDataset, _name, _refusing(_name))
