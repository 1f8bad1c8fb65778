"""`Dataset`: a description of elements, which are computed one by one in each iteration.

Elements are computed on the calling thread when they are needed, as NumPy arrays between two steps; mapped functions see
tensors and run eagerly. A `for` statement of a traced function goes through a data set while the function runs (`stream.py`).
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, NestLike
from graphad.core.composites import of_slice, of_stack
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, int64
from graphad.core.errors import ArgumentTypeError, GraphadError, InvalidArgumentError
from graphad.core.scopes import executing_eagerly
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.data import rows
from graphad.data.described import INFINITE, UNKNOWN, counted, made_by, positive, seeds_of, truth_by
from graphad.data.elements import (
    Alike,
    DatasetSpec,
    all_slices,
    applied,
    at,
    called,
    copied,
    is_traced,
    joint_specs,
    leaves,
    like,
    mapped,
    on_host,
    padded,
    padded_specs,
    require_like,
    require_state,
    reranked_each,
    returned,
    shown,
    spec_of,
    stacked,
)
from graphad.data.mixing import Mixtures
from graphad.data.options import Options
from graphad.data.resumed import Resumed, again, each, flattened, picked, shuffled, side_by_side
from graphad.data.sparse import SparseArray, sparse_spec
from graphad.data.stream import traced_reduction
from graphad.function.decorator import function
from graphad.ops.sparse.tensor import SparseTensorSpec


class Dataset(Mixtures):
    """Elements, each a tensor or a tuple or dict of tensors.

    Made by `from_tensor_slices`, `from_tensors`, `from_generator`, `range` and `zip`; the methods give new data sets.

    Args:
      make: A function that returns a new iterator over the elements.
      count: The number of elements, or `INFINITE_CARDINALITY` or `UNKNOWN_CARDINALITY`.
      spec: A function that returns the specs of an element.
      rows: A function that returns the elements as ops of a traced function (`rows.py`), if these need no host.
    Raises: TypeError: an argument is missing; use the functions that create data sets.
    Example:
      >>> numbers = data.Dataset.from_tensor_slices([1, 2, 3, 4]).map(lambda x: x * x).batch(2)
      >>> [x.numpy().tolist() for x in numbers]
      [[1, 4], [9, 16]]
    """

    # Sources of elements.

    @staticmethod
    def from_tensor_slices(tensors: NestLike, name: str | None = None) -> Dataset:
        """One element for each index of the first axis of all tensors of a nest.

        Raises: InvalidArgumentError (a ValueError): a scalar, or first axes of different sizes.
        """
        if any(is_traced(leaf) for leaf in leaves(tensors)):
            return _of_traced().of_slices(tensors)  # type: ignore[no-any-return]
        arrays = on_host(tensors)
        sizes = [array.shape[0] if array.ndim else None for array in leaves(arrays)]
        if not sizes or None in sizes:
            raise InvalidArgumentError("from_tensor_slices: a scalar has no slices; use from_tensors.")
        if any(isinstance(array, SparseArray) and array.ndim == 1 for array in leaves(arrays)):
            raise InvalidArgumentError(
                "from_tensor_slices: a sparse vector has no sparse slices; use sparse.to_dense."
            )
        if len(set(sizes)) > 1:
            raise InvalidArgumentError(
                f"from_tensor_slices: the first axes have sizes {', '.join(map(str, sizes))}; they must be equal."
            )
        return Dataset(
            lambda: all_slices(arrays, sizes[0] or 0),
            sizes[0] or 0,
            lambda: reranked_each(mapped(lambda array: like(array, array.shape[1:]), arrays), of_slice),
            _plain_only(arrays, lambda: rows.slices(mapped(lift, arrays))),
        )

    @staticmethod
    def from_tensors(tensors: NestLike, name: str | None = None) -> Dataset:
        """One element: the nest of tensors itself."""
        if any(is_traced(leaf) for leaf in leaves(tensors)):
            return _of_traced().of_one(tensors)  # type: ignore[no-any-return]
        arrays = on_host(tensors)
        lowered = _plain_only(arrays, lambda: rows.single(mapped(lift, arrays)))
        return Dataset(lambda: iter([arrays]), 1, lambda: spec_of(arrays), lowered)

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: NestLike = None,
        output_shapes: NestLike = None,
        args: tuple[Any, ...] = (),
        output_signature: NestLike = None,
        name: str | None = None,
    ) -> Dataset:
        """The items of the iterable that a function returns, checked against `output_signature` or converted to
        `output_types`."""
        if not callable(generator):
            raise ArgumentTypeError(f"from_generator: generator must be callable, got {generator!r}.")
        if output_signature is None:
            if output_types is None:
                raise ArgumentTypeError("from_generator: output_signature or output_types must be given.")
            output_signature = (
                mapped(lambda dtype: TensorSpec(None, dtype), output_types)
                if output_shapes is None
                else mapped(lambda dtype, shape: TensorSpec(shape, dtype), output_types, output_shapes)
            )

        def fitted(spec: Any, value: Any) -> Any:
            if isinstance(spec, SparseTensorSpec):
                if not spec.is_compatible_with(value):
                    raise ArgumentTypeError(
                        f"from_generator: an element is {sparse_spec(value) or type(value).__name__}, the signature says {spec}."
                    )
                return on_host(value)
            try:
                found = lift(value, spec.dtype)
            except GraphadError as cause:
                raise type(cause)(f"from_generator: an element is not {spec}: {cause}") from cause
            if not spec.shape.is_compatible_with(found.shape):
                raise InvalidArgumentError(
                    f"from_generator: an element has shape {found.shape}, the signature says {spec.shape}."
                )
            return found.numpy()

        def element(item: Any) -> Any:
            require_like("from_generator", output_signature, item)
            return mapped(fitted, output_signature, tuple(item) if type(output_signature) is tuple else item)

        return Dataset(
            lambda: map(element, generator(*args)),
            UNKNOWN,
            lambda: output_signature,
        )

    @staticmethod
    def range(*args: Any, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """The numbers of Python's range, int64."""
        if any(is_traced(x) for x in args):
            return _of_traced().of_range(args, as_dtype(output_type))  # type: ignore[no-any-return]
        if len(args) > 2 and int(args[2]) == 0:
            raise InvalidArgumentError("Dataset.range: the step is 0; it must be a non-zero integer.")
        numbers = range(*[int(x) for x in args])
        kind = as_dtype(output_type)
        return Dataset(
            lambda: (np.asarray(lift(i, kind).numpy()) for i in numbers),
            len(numbers),
            lambda: TensorSpec((), kind),
            (lambda: rows.counted(numbers, kind)) if rows.holds(kind, numbers) else None,
        )

    @staticmethod
    def zip(*args: Any, datasets: NestLike = None, name: str | None = None) -> Dataset:
        """Elements of several data sets side by side, in a tuple or the nest given, until the shortest ends."""
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = leaves(nest)
        for part in parts:
            if not isinstance(part, Dataset):
                raise ArgumentTypeError(f"zip: {part!r:.100} is no Dataset, of type {type(part).__name__}.")
        if any(type(part) is not Dataset for part in parts):
            return _of_traced().zipped(nest)  # type: ignore[no-any-return]
        known = [part._count for part in parts if part._count != INFINITE]
        count = INFINITE if not known else UNKNOWN if UNKNOWN in known else min(known)

        def joined(row: list[Any]) -> Any:
            items = iter(row)
            return mapped(lambda part: next(items), nest)

        def make() -> Iterator[Any]:
            return map(joined, side_by_side([part._make() for part in parts]))

        def lowered() -> rows.Rows:
            return rows.together(mapped(lambda part: part._rows(), nest))

        return Dataset(
            make,
            count,
            lambda: mapped(lambda part: part._spec(), nest),
            lowered if parts and all(part._rows is not None for part in parts) else None,
        )

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: DTypeLike = "int64", name: str | None = None
    ) -> Dataset:
        """The numbers `start`, `start + step` and so on, for ever."""
        kind = as_dtype(dtype)
        first, by = np.asarray(start, kind.numpy)[()], np.asarray(step, kind.numpy)[()]
        return Dataset(
            lambda: (np.asarray(first + by * i, kind.numpy) for i in itertools.count()),
            INFINITE,
            lambda: TensorSpec((), kind),
        )

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Random numbers, int64 below 2^32, for ever; without a seed or with `rerandomize_each_iteration` others each time."""
        rounds = seeds_of(seed, rerandomize_each_iteration)

        def make() -> Iterator[Any]:
            draw = np.random.default_rng(next(rounds))
            while True:
                yield draw.integers(2**32, size=(), dtype=np.int64)

        return Dataset(make, INFINITE, lambda: TensorSpec((), int64))

    # Transformations.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | Tensor | None = None,
        deterministic: bool | None = None,
        **options: Any,
    ) -> Dataset:
        """`map_func` of each element; the parts of a tuple are its arguments."""

        def spec() -> Any:
            inner = self._spec()
            if any(isinstance(leaf, DatasetSpec) for leaf in leaves(inner)):
                return spec_of(image(next(self._make())))
            given = inner if type(inner) is tuple else (inner,)
            traced = function(lambda *parts: returned(map_func(*copied(parts)))).get_concrete_function(*given)
            outputs = traced.structured_outputs
            return mapped(lambda leaf: sparse_spec(leaf) or leaf, outputs)

        def image(element: NestLike) -> Any:
            return on_host(returned(called(map_func, element)))

        return Dataset(lambda: map(image, self._make()), self._count, spec)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true."""
        return Dataset(
            lambda: filter(lambda element: truth_by("filter", predicate, element), self._make()),
            UNKNOWN,
            self._spec,
        )

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` is false."""
        return Dataset(
            lambda: itertools.takewhile(
                lambda element: truth_by("take_while", predicate, element), self._make()
            ),
            UNKNOWN,
            self._spec,
        )

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the data sets that `map_func` returns, concatenated."""
        return Dataset(
            lambda: flattened(
                each(lambda element: made_by("flat_map", map_func, element)._make(), self._make())
            ),
            UNKNOWN,
            lambda: made_by("flat_map", map_func, next(self._make()))._spec(),
        )

    @counted
    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: int | Tensor | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` consecutive elements stacked along a new first axis; the last batch may be smaller."""
        size = positive("batch", "batch_size", batch_size)
        lowered = self._lowered(lambda before: rows.batched(before, size, drop_remainder))
        return self._batched(size, drop_remainder, stacked, lambda specs: specs, lowered)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: NestLike = None,
        padding_values: NestLike = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """As `batch`, with elements filled up to the largest sizes of their batch, or to `padded_shapes`.

        Those are a shape for each tensor of an element, None or -1 for the largest size; one number is the size of a vector.
        """
        return self._batched(
            batch_size,
            drop_remainder,
            lambda rows: padded(rows, padded_shapes, padding_values),
            lambda specs: padded_specs(specs, padded_shapes),
        )

    def _batched(
        self,
        batch_size: int,
        drop: bool,
        join: Callable[[list[Any]], Any],
        rows_of: Callable[[Any], Any],
        lowered: Any = None,
    ) -> Dataset:
        """Batches that `join` makes of lists of elements; `rows_of` gives the specs of the rows."""
        size = positive("batch", "batch_size", batch_size)

        def make() -> Iterator[Any]:
            elements = self._make()
            parts = iter(lambda: list(itertools.islice(elements, size)), [])
            return map(join, filter(lambda rows: len(rows) == size, parts) if drop else parts)

        def spec(row: Any) -> Any:
            dims = row.dims
            return like(row, None if dims is None else [size if drop else None, *dims])

        count = self._count if self._count < 0 else self._count // size if drop else -(-self._count // size)
        stacks = of_stack(size if drop else None)
        return Dataset(
            make, count, lambda: reranked_each(mapped(spec, rows_of(self._spec())), stacks), lowered
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of each element as elements."""

        def slices(element: NestLike) -> Iterator[Any]:
            return (at(i, element) for i in range(leaves(element)[0].shape[0]))

        def make() -> Iterator[Any]:
            return flattened(map(slices, self._make()))

        def spec(rows: Any) -> Any:
            return like(rows, rows.shape[1:])

        return Dataset(make, UNKNOWN, lambda: reranked_each(mapped(spec, self._spec()), of_slice))

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Batches cut anew, to `batch_size` rows, or to the sizes of a list in turn; the last may be smaller."""
        given = np.ravel(np.asarray(lift(batch_size).numpy())).tolist()
        sizes = [positive("rebatch", "batch_size", size) for size in given]
        rows = self.unbatch()

        def make() -> Iterator[Any]:
            elements, turns = rows._make(), itertools.cycle(sizes)

            def rest() -> Iterator[Any]:
                for size in turns:
                    found = list(itertools.islice(elements, size))
                    if found and (len(found) == size or not drop_remainder):
                        yield stacked(found)
                    if len(found) < size:
                        return

            return Resumed(rest)

        size = sizes[0] if drop_remainder and len(set(sizes)) == 1 else None
        return Dataset(
            make,
            UNKNOWN,
            lambda: reranked_each(
                mapped(lambda spec: like(spec, [size, *spec.shape]), rows._spec()), of_stack(size)
            ),
        )

    def scan(
        self, initial_state: NestLike, scan_func: Callable[..., tuple[Any, Any]], name: str | None = None
    ) -> Dataset:
        """The second results of `scan_func(state, element)`, whose first is the state for the next element."""
        begin = mapped(lift, initial_state)

        def make() -> Iterator[Any]:
            state = begin

            def step(element: NestLike) -> Any:
                nonlocal state
                pair = returned(applied(scan_func, state, shown(element)))
                if type(pair) is not tuple or len(pair) != 2:
                    raise ArgumentTypeError(
                        f"scan: the function must return a pair of the new state and the result; it gave {pair!r:.100}."
                    )
                after = mapped(lift, pair[0])
                require_state("scan", state, after, state is begin)
                state = after
                return on_host(pair[1])

            return map(step, self._make())

        return Dataset(
            make,
            self._count,
            lambda: (
                function(lambda *parts: returned(scan_func(*copied(parts)))[1])
                .get_concrete_function(spec_of(begin), self._spec())
                .structured_outputs
            ),
        )

    def unique(self, name: str | None = None) -> Dataset:
        """The elements, each of them when it comes first; they are single tensors."""

        def make() -> Iterator[Any]:
            seen: set[Any] = set()

            def is_new(element: NestLike) -> bool:
                array = leaves(element)[0]
                key, before = (array.shape, array.tobytes()), len(seen)
                seen.add(key)
                return len(seen) > before

            return filter(is_new, self._make())

        return Dataset(make, UNKNOWN, self._spec)

    @counted
    def shuffle(
        self,
        buffer_size: int | Tensor,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Draws each element from a buffer of the next `buffer_size` elements, of all for `UNKNOWN_CARDINALITY`; the same seed
        gives the same order."""
        size = sys.maxsize if buffer_size == UNKNOWN else positive("shuffle", "buffer_size", buffer_size)
        rounds = seeds_of(seed, reshuffle_each_iteration in (None, True))

        def make() -> Iterator[Any]:
            return shuffled(self._make(), size, np.random.default_rng(next(rounds)))

        return Dataset(make, self._count, self._spec)

    @counted
    def repeat(self, count: int | Tensor | None = None, name: str | None = None) -> Dataset:
        """The data set `count` times; for ever for None or -1."""
        times = -1 if count is None else int(count)

        def make() -> Iterator[Any]:
            return again(self._make, itertools.repeat(None) if times < 0 else itertools.repeat(None, times))

        if times < 0:
            return Dataset(make, INFINITE if self._count else 0, self._spec)
        known = self._count * times if self._count >= 0 else self._count
        lowered = None if known > int64.max else self._lowered(lambda before: rows.repeated(before, times))
        return Dataset(make, known, self._spec, lowered)

    @counted
    def take(self, count: int | Tensor, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1."""
        n = int(count)
        if n < 0:
            return self
        known = n if self._count == INFINITE else UNKNOWN if self._count == UNKNOWN else min(n, self._count)
        lowered = self._lowered(lambda before: rows.taken(before, n))
        return Dataset(lambda: picked(self._make(), 0, n), known, self._spec, lowered)

    @counted
    def skip(self, count: int | Tensor, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1."""
        n = int(count)
        if n < 0:
            return Dataset(lambda: iter(()), 0, self._spec)
        known = self._count if self._count < 0 else max(self._count - n, 0)
        lowered = self._lowered(lambda before: rows.skipped(before, n))
        return Dataset(lambda: picked(self._make(), n), known, self._spec, lowered)

    @counted
    def shard(self, num_shards: int | Tensor, index: int | Tensor, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from number `index` on."""
        step, start = int(num_shards), int(index)
        if not 0 <= start < step:
            raise InvalidArgumentError(f"shard: index is {start}; 0 <= index < num_shards, which is {step}.")
        known = self._count if self._count < 0 else len(range(start, self._count, step))
        lowered = self._lowered(lambda before: rows.sharded(before, step, start))
        return Dataset(lambda: picked(self._make(), start, None, step), known, self._spec, lowered)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this data set, then those of the other.

        Raises: ArgumentTypeError (a TypeError), when elements or their specs are asked for: they differ in structure or dtype.
        """
        counts = (self._count, dataset._count)
        known = INFINITE if INFINITE in counts else UNKNOWN if UNKNOWN in counts else sum(counts)

        def make() -> Iterator[Any]:
            alike = Alike("concatenate")
            return itertools.chain(alike.of(self._make()), alike.of(dataset._make()))

        return Dataset(
            make, known, lambda: joint_specs("concatenate", self.element_spec, dataset.element_spec)
        )

    @counted
    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Tuples of a number, int64, and an element."""
        first = int(start)

        def make() -> Iterator[Any]:
            numbers = itertools.count(first)  # an element that fails takes no number
            return each(lambda element: (np.asarray(next(numbers), np.int64), element), self._make())

        return Dataset(
            make,
            self._count,
            lambda: (TensorSpec((), "int64"), self._spec()),
            self._lowered(lambda before: rows.numbered(before, first)),
        )

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements, kept in memory after the first complete iteration."""
        if filename:
            raise InvalidArgumentError(
                f"cache: filename is {filename!r}; elements are kept in memory only, leave it out."
            )
        kept: list[list[Any]] = []

        def make() -> Iterator[Any]:
            if kept:
                return iter(kept[0])
            seen: list[Any] = []
            elements = self._make()

            def rest() -> Iterator[Any]:
                for element in elements:
                    seen.append(element)
                    if len(seen) == self._count:  # all are there, even if nobody asks for one more
                        kept[:] = [seen]
                    yield element
                kept[:] = [seen]

            return Resumed(rest)

        return Dataset(make, self._count, self._spec)

    def prefetch(self, buffer_size: int | Tensor | None = None, name: str | None = None) -> Dataset:
        """The data set itself: elements are computed when they are needed."""
        return self

    def options(self) -> Options:
        """Options that nobody has set."""
        return Options()

    def with_options(self, options: object, name: str | None = None) -> Dataset:
        """The data set itself: options change nothing here."""
        return self

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """The result of a function of the data set."""
        return transformation_func(self)

    def reduce(
        self, initial_state: NestLike, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The final state of `reduce_func(state, element)` over all elements; in a traced function, of each run of it."""
        state = mapped(lift, initial_state)
        if not executing_eagerly():
            if self._rows is not None:
                return rows.reduced(self._rows(), state, reduce_func)
            return traced_reduction(self.__graphad_stream__(), state, reduce_func)
        for i, element in enumerate(self._make()):
            after = mapped(lift, returned(applied(reduce_func, state, shown(element))))
            require_state("reduce", state, after, i == 0)
            state = after
        return state


def _plain_only(arrays: Any, lowered: Callable[[], rows.Rows]) -> Callable[[], rows.Rows] | None:
    """The elements as ops, if all leaves are dense arrays."""
    return lowered if all(type(leaf) is np.ndarray for leaf in leaves(arrays)) else None


def _of_traced() -> Any:
    """The data sets of traced tensors, which derive from the class above."""
    return importlib.import_module("graphad.data.traced")
