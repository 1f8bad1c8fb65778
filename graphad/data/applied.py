"""Functions that TensorFlow has in `data.experimental`: functions for `Dataset.apply`, and older names of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphad.core.annotations import DTypeLike, NestLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.errors import ArgumentTypeError, FailedPreconditionError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.data.dataset import Dataset
from graphad.data.iterators import Elements, Optional
from graphad.data.resumed import END, Resumed

Transformation = Callable[[Dataset], Dataset]


def get_structure(dataset_or_iterator: Any) -> Any:
    """The specs of the elements of a data set or of an iterator of one.

    Args: dataset_or_iterator: A data set or `iter` of one.
    Returns: A nest of specs in the structure of an element.
    Raises: ArgumentTypeError (a TypeError): it is neither.
    Example:
      >>> data.experimental.get_structure(data.Dataset.range(3))
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    if not isinstance(dataset_or_iterator, Dataset | Elements):
        raise ArgumentTypeError(
            f"get_structure: {dataset_or_iterator!r} is neither a data set nor an iterator of one."
        )
    return dataset_or_iterator.element_spec


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """A function for `Dataset.apply`; see `Dataset.ignore_errors`.

    Args: log_warning: Whether what is left out is told in the log.
    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    Example:
      >>> rows = data.Dataset.range(3).map(lambda i: debugging.check_numerics(1 / i, ""))
      >>> len(list(rows.apply(data.experimental.ignore_errors())))
      2
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Callable[[Dataset], Dataset]:
    """A function for `Dataset.apply`; see `Dataset.rejection_resample`.

    Args:
      class_func: A function of an element, which returns its class.
      target_dist: The shares of the classes [classes].
      initial_dist: Their shares before.
      seed: A seed for what is left out.
    Returns: A function of a data set that gives a data set of classes and elements.
    Raises: InvalidArgumentError (a ValueError), where it is applied: the two have other lengths.
    Example:
      >>> half = data.experimental.rejection_resample(lambda i: i % 2, [0.0, 1.0], [0.5, 0.5])
      >>> [int(i) for _, i in data.Dataset.range(6).apply(half)]
      [1, 3, 5]
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


@blaming
def assert_cardinality(expected_cardinality: int) -> Transformation:
    """A function for `Dataset.apply`: the same elements, whose number is then known.

    Args: expected_cardinality: How many elements there are.
    Returns: A function of a data set that gives a data set.
    Raises: FailedPreconditionError, when its elements are gone through: there are more or fewer.
    Example:
      >>> even = data.Dataset.range(4).filter(lambda i: i % 2 == 0)
      >>> len(even.apply(data.experimental.assert_cardinality(2)))
      2
    """
    expected = int(expected_cardinality)

    def checked(dataset: Dataset) -> Dataset:
        def make() -> Iterator[Any]:
            elements, count, is_over = dataset._make(), 0, False

            def rest() -> Iterator[Any]:
                nonlocal count, is_over
                while not is_over:
                    element = next(elements, END)
                    count += element is not END
                    is_over = element is END or 0 <= expected < count
                    if not is_over:
                        yield element
                if 0 <= expected != count:
                    # Later calls find the number that there is.
                    found, count = (
                        "more" if count > expected else count,
                        expected,
                    )
                    raise FailedPreconditionError(
                        f"assert_cardinality: {expected} elements were expected, there are {found}."
                    )

            return Resumed(rest)

        return Dataset(make, expected, dataset._spec)

    return checked


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: NestLike = None,
    padding_values: NestLike = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.bucket_by_sequence_length`.

    Args:
      element_length_func, bucket_boundaries, bucket_batch_sizes: What is the length, and the bounds and batch sizes of buckets.
      padded_shapes, padding_values, pad_to_bucket_boundary, no_padding, drop_remainder: As there.
    Returns: A function of a data set that gives a data set.
    Raises: InvalidArgumentError (a ValueError), where it is applied: not one batch size more than boundaries.
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """As `Dataset.choose_from_datasets`, which stops at the end of a data set unless it is told otherwise; this does not.

    Args:
      datasets: Data sets.
      choice_dataset: Numbers of data sets.
      stop_on_empty_dataset: Whether the end of one of them is the end of all.
    Returns: A data set.
    Raises: InvalidArgumentError (a ValueError): there is no data set.
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def Counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = "int64") -> Dataset:
    """As `Dataset.counter`.

    Args:
      start, step: The first number, and what is added for each next one.
      dtype: The dtype.
    Returns: A data set without end.
    Raises: ArgumentTypeError (a TypeError): no dtype.
    """
    return Dataset.counter(start, step, dtype)


def enumerate_dataset(start: Any = 0) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.enumerate`.

    Args: start: The first number.
    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    """
    return lambda dataset: dataset.enumerate(start)


@blaming
def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """A data set of the elements of a list, which are nests of one structure.

    Args: elements: Nests of tensors.
    Returns: A data set.
    Raises: InvalidArgumentError (a ValueError): there are none, or they do not stack.
    Example:
      >>> [(int(x), float(y)) for x, y in data.experimental.from_list([(1, 0.5), (2, 1.5)])]
      [(1, 0.5), (2, 1.5)]
    """
    if not elements:
        raise InvalidArgumentError(
            "from_list: there is no element; at least one is needed, which tells the structure."
        )
    parts = [Dataset.from_tensors(element) for element in elements]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.concatenate(part)
    return Dataset(
        lambda: iter([element for part in parts for element in part._make()]), len(parts), whole._spec
    )


def get_next_as_optional(iterator: Any) -> Optional:
    """As the method of that name of an iterator.

    Args: iterator: `iter` of a data set.
    Returns: An Optional.
    Raises: AttributeError: it is no such iterator.
    """
    return iterator.get_next_as_optional()  # type: ignore[no-any-return]


def get_single_element(dataset: Dataset) -> Any:
    """As `Dataset.get_single_element`.

    Args: dataset: A data set of one element.
    Returns: The element.
    Raises: InvalidArgumentError (a ValueError): there is none, or more than one.
    """
    return dataset.get_single_element()


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Tensor, Dataset], Dataset],
    window_size: Any = None,
    window_size_func: Callable[[Tensor], Any] | None = None,
) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.group_by_window`.

    Args:
      key_func: A function of an element, its key.
      reduce_func: A function of a key, int64 [], and a data set of elements with it.
      window_size, window_size_func: How many elements make a group.
    Returns: A function of a data set that gives a data set.
    Raises: InvalidArgumentError (a ValueError), where it is applied: not exactly one of the last two is given.
    """
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """A function for `Dataset.apply`: `map`, then `batch`.

    Args:
      map_func: A function of an element.
      batch_size, drop_remainder: As for `Dataset.batch`.
      num_parallel_batches, num_parallel_calls: Accepted for compatibility.
    Returns: A function of a data set that gives a data set.
    Raises: InvalidArgumentError (a ValueError), where it is applied: the batch size is not positive.
    """
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Dataset],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.interleave`.

    Args:
      map_func: A function of an element that gives a data set.
      cycle_length, block_length: From how many data sets elements come in turn, and how many from each.
      sloppy, buffer_output_elements, prefetch_input_elements: Accepted for compatibility.
    Returns: A function of a data set that gives a data set.
    Raises: InvalidArgumentError (a ValueError), where it is applied: a length is not positive.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def RandomDataset(
    seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
) -> Dataset:
    """As `Dataset.random`.

    Args: seed, rerandomize_each_iteration: As there.
    Returns: A data set without end.
    Raises: ValueError: the seed is no integer.
    """
    return Dataset.random(seed, rerandomize_each_iteration)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: TensorLike | None = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """As `Dataset.sample_from_datasets`.

    Args:
      datasets: Data sets.
      weights: Numbers [datasets] of a real dtype, how often each of them is drawn.
      seed, stop_on_empty_dataset: As there.
    Returns: A data set.
    Raises: InvalidArgumentError (a ValueError): no data set, or weights that are none.
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def scan(initial_state: NestLike, scan_func: Callable[..., tuple[Any, Any]]) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.scan`.

    Args:
      initial_state: The first state.
      scan_func: A function of a state and an element that gives the next state and a result.
    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Transformation:
    """A function for `Dataset.apply`: `shuffle`, then `repeat`.

    Args: buffer_size, count, seed: As for these.
    Returns: A function of a data set that gives a data set.
    Raises: InvalidArgumentError (a ValueError), where it is applied: the buffer size is not positive.
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.take_while`.

    Args: predicate: A function of an element.
    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    """
    return lambda dataset: dataset.take_while(predicate)


def unbatch() -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.unbatch`.

    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    """
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """A function for `Dataset.apply`; see `Dataset.unique`.

    Returns: A function of a data set that gives a data set.
    Raises: Nothing itself.
    """
    return lambda dataset: dataset.unique()
