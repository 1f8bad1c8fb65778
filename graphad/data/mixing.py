"""Orders of elements that come from several iterators, or go to several data sets."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.errors import ArgumentTypeError, GraphadError, InvalidArgumentError
from graphad.core.logs import get_logger
from graphad.core.tensor import Tensor
from graphad.data.described import INFINITE, UNKNOWN, Described, made_by, positive, require_dataset, seeds_of
from graphad.data.elements import Alike, DatasetSpec, applied, called, joint_specs, mapped, on_host, spec_of
from graphad.data.resumed import END, Resumed, each, flattened, grouped, in_turn

if TYPE_CHECKING:
    from graphad.core.annotations import NestLike, TensorLike


class Mixtures(Described):
    """The orders of `Dataset` that several data sets, windows and groups make."""

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Described],
        weights: TensorLike | None = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """The elements of several data sets, each from one that is drawn with probabilities in proportion to `weights`.

        Raises: InvalidArgumentError (a ValueError): no data set, another number of weights, a negative weight, or only zeros.
        """
        parts = _some("sample_from_datasets", datasets)
        shares = np.ones(len(parts)) if weights is None else np.asarray(lift(weights).numpy(), np.float64)
        if shares.shape != (len(parts),) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
            raise InvalidArgumentError(
                f"sample_from_datasets: weights are {shares.tolist()}; a number that is not negative is needed for each of "
                f"{len(parts)} data sets, and one above 0."
            )
        rounds = seeds_of(seed, rerandomize_each_iteration)
        return cls(
            lambda: chosen(
                begun("sample_from_datasets", parts), drawn(shares, next(rounds)), stop_on_empty_dataset
            ),
            UNKNOWN,
            lambda: joint_spec_of("sample_from_datasets", parts),
        )

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Described], choice_dataset: Described, stop_on_empty_dataset: bool = True
    ) -> Self:
        """The elements of several data sets in the order of their numbers in `choice_dataset`.

        Raises: InvalidArgumentError (a ValueError): no data set, or, while it iterates, a number that none has;
          ArgumentTypeError (a TypeError): `choice_dataset` is none, or, while it iterates, has other elements than integers.
        """
        parts = _some("choose_from_datasets", datasets)

        if not isinstance(choice_dataset, Described):
            raise ArgumentTypeError(
                f"choose_from_datasets: choice_dataset is {choice_dataset!r:.100}, of type {type(choice_dataset).__name__}; a "
                "Dataset of int64 scalars is needed."
            )

        def checked(number: Any) -> int:
            kind = getattr(number, "dtype", None)
            if kind is None or kind.kind not in "iu" or number.ndim:
                raise ArgumentTypeError(
                    "choose_from_datasets: choice_dataset must have scalar integers, as tf.int64, for elements; one is "
                    f"{number!r:.100}."
                )
            chosen_one = int(number)
            if not 0 <= chosen_one < len(parts):
                raise InvalidArgumentError(
                    f"choose_from_datasets: a choice is {chosen_one}, out of range; there are {len(parts)} data sets."
                )
            return chosen_one

        return cls(
            lambda: chosen(
                begun("choose_from_datasets", parts),
                each(checked, choice_dataset._make()),
                stop_on_empty_dataset,
            ),
            UNKNOWN,
            lambda: joint_spec_of("choose_from_datasets", parts),
        )

    def interleave(
        self,
        map_func: Callable[..., Described],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | Tensor | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """`block_length` elements, by default one, of each of `cycle_length` data sets that `map_func` returns, in turn.

        Without `cycle_length` there are as many as this process has processors, or `num_parallel_calls` where that is less.
        """
        cycle = (
            _processors(num_parallel_calls)
            if cycle_length in (None, -1)
            else positive("interleave", "cycle_length", cycle_length)
        )
        block = 1 if block_length is None else positive("interleave", "block_length", block_length)
        return type(self)(
            lambda: in_turn(
                each(lambda element: made_by("interleave", map_func, element)._make(), self._make()),
                cycle,
                block,
            ),
            UNKNOWN,
            lambda: made_by("interleave", map_func, next(self._make()))._spec(),
        )

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Data sets of `size` elements, every `stride`-th; each begins `shift` elements, by default `size`, after the one before.

        A window is a nest as the elements are, with a data set for each tensor; `flat_map` with `batch` makes tensors of them.
        """
        n, step = positive("window", "size", size), positive("window", "stride", stride)
        further = n if shift is None else positive("window", "shift", shift)

        def make() -> Iterator[Any]:
            return each(
                lambda rows: mapped(
                    lambda spec, *parts: type(self)(lambda: iter(parts), len(parts), lambda: spec),
                    self._spec(),
                    *rows,
                ),
                windows(self._make(), n, further, step, bool(drop_remainder)),
            )

        count = self._count
        if count >= 0:
            whole = max(count - (n - 1) * step, 0) if drop_remainder else count
            count = -(-whole // further)
        return type(self)(make, count, lambda: mapped(DatasetSpec, self._spec()))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Tensor, Self], Described],
        window_size: Any = None,
        window_size_func: Callable[[Tensor], Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """`reduce_func(key, group)` of groups of elements with one `key_func`, concatenated.

        A group has `window_size` elements, or as many as `window_size_func` says for its key; the last one of each key may have
        fewer. Raises: InvalidArgumentError (a ValueError): not exactly one of the two is given.
        """
        if (window_size is None) == (window_size_func is None):
            raise InvalidArgumentError(
                "group_by_window: give window_size or window_size_func, and only one of them."
            )

        def size_of(key: int) -> int:
            size = window_size if window_size_func is None else window_size_func(lift(key, int64))
            return positive("group_by_window", "window_size", size)

        def made(key: int, rows: list[Any]) -> Described:
            group = type(self)(lambda: iter(rows), len(rows), self._spec)
            return require_dataset("group_by_window", applied(reduce_func, lift(key, int64), group))

        def make() -> Iterator[Any]:
            groups = grouped(self._make(), lambda element: int(called(key_func, element)), size_of)
            return flattened(each(lambda group: made(*group)._make(), groups))

        def spec() -> Any:
            first = list(itertools.islice(self._make(), 1))
            return made(int(called(key_func, first[0])), first)._spec() if first else self._spec()

        return type(self)(make, INFINITE if self._count == INFINITE else UNKNOWN, spec)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: NestLike = None,
        padding_values: NestLike = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Batches of elements of similar lengths: those below the first boundary, those from there below the second, and so on.

        Each range of lengths has its own batch size; batches are filled up to their longest element, or, with
        `pad_to_bucket_boundary`, to one less than their upper boundary. Raises: InvalidArgumentError (a ValueError): not one
        batch size more than boundaries; while it iterates, an element that no boundary is above, where it is to be filled up to
        one.
        """
        bounds, sizes = [int(b) for b in bucket_boundaries], [int(n) for n in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1:
            raise InvalidArgumentError(
                f"bucket_by_sequence_length: there are {len(sizes)} batch sizes for {len(bounds)} boundaries; one more than "
                "boundaries is needed."
            )

        def bucket(*element: Any) -> int:
            return int(np.searchsorted(bounds, int(element_length_func(*element)), side="right"))

        def batch(key: Tensor, group: Any) -> Described:
            number, shapes = int(key), padded_shapes
            if pad_to_bucket_boundary and not no_padding:
                if number == len(bounds):
                    raise InvalidArgumentError(
                        f"bucket_by_sequence_length: an element is not shorter than the last boundary, {bounds[-1:]}, to "
                        "which it should be filled up."
                    )
                shapes = mapped(
                    lambda spec: [bounds[number] - 1 if n is None else n for n in spec.shape], group._spec()
                )
            made: Described = (
                group.batch(sizes[number], drop_remainder)
                if no_padding
                else group.padded_batch(sizes[number], shapes, padding_values, drop_remainder)
            )
            return made

        return self.group_by_window(bucket, batch, window_size_func=lambda key: sizes[int(key)])

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: TensorLike,
        initial_dist: TensorLike | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Self:
        """Tuples of `class_func(element)` and the element, of which some are left out so that the classes have the shares
        `target_dist`.

        `initial_dist` are the shares of the classes before; without it they are those of the elements so far.
        Raises: InvalidArgumentError (a ValueError): the two have other lengths, or, while it iterates, a class that they do not
        have.
        """
        wanted = np.asarray(lift(target_dist).numpy(), np.float64)
        known = None if initial_dist is None else np.asarray(lift(initial_dist).numpy(), np.float64)
        if wanted.ndim != 1 or (known is not None and known.shape != wanted.shape):
            raise InvalidArgumentError(
                f"rejection_resample: target_dist has shape {wanted.shape}"
                f"{'' if known is None else f', initial_dist {known.shape}'}; vectors with one share for each class are needed."
            )
        rounds = seeds_of(seed, None)

        def kind(element: NestLike) -> Any:
            return on_host(called(class_func, element))

        return type(self)(
            lambda: resampled(self._make(), kind, wanted, known, next(rounds)),
            UNKNOWN,
            lambda: (spec_of(kind(next(self._make()))), self._spec()),
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """The elements that can be computed; those for which graphad raises an error are left out, and logged if asked."""
        return type(self)(lambda: computable(self._make(), log_warning), UNKNOWN, self._spec)


def _processors(calls: int | Tensor | None) -> int:
    """How many iterators one reads in turn who names no number, as TensorFlow counts."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if calls is None:
        return known
    return min(int(calls), known) if int(calls) > 0 else (known + 2) // 3


def _some(method: str, datasets: Sequence[Described]) -> list[Described]:
    parts = list(datasets)
    if not parts:
        raise InvalidArgumentError(f"{method}: there is no data set.")
    return parts


def begun(method: str, parts: Sequence[Described]) -> list[Iterator[Any]]:
    """An iterator for each data set, whose first elements are checked to have one structure."""
    alike = Alike(method)
    return [alike.of(part._make()) for part in parts]


def joint_spec_of(method: str, parts: Sequence[Described]) -> Any:
    """The spec of the elements of all of them."""
    return functools.reduce(lambda x, y: joint_specs(method, x, y), [part.element_spec for part in parts])


def windows(elements: Iterator[Any], size: int, shift: int, stride: int, drop: bool) -> Iterator[list[Any]]:
    """Lists of `size` elements, every `stride`-th, each beginning `shift` elements after the one before."""
    reach = (size - 1) * stride + 1
    waiting: list[Any] = []
    passed = 0  # how many elements between two windows are still to be passed over

    def rest() -> Iterator[list[Any]]:
        nonlocal passed
        while True:
            while passed:
                if next(elements, END) is END:
                    return
                passed -= 1
            while len(waiting) < reach and (element := next(elements, END)) is not END:
                waiting.append(element)
            found = waiting[::stride]
            if not found or (drop and len(found) < size):
                return
            yield found
            passed = max(shift - len(waiting), 0)
            del waiting[:shift]

    return Resumed(rest)


def chosen(parts: Sequence[Iterator[Any]], choices: Iterator[int], stops_when_empty: bool) -> Iterator[Any]:
    """The next element of the iterator that each number chooses; one that has ended is passed over, or ends it all."""
    open_parts: list[Iterator[Any] | None] = list(parts)

    def rest() -> Iterator[Any]:
        for number in choices:
            part = open_parts[number]
            if part is None:
                continue
            element = next(part, END)
            if element is not END:
                yield element
            elif stops_when_empty:
                return
            else:
                open_parts[number] = None
                if not any(open_parts):
                    return

    return Resumed(rest)


def drawn(shares: np.ndarray, seed: Sequence[int]) -> Iterator[int]:
    """Numbers with probabilities in proportion to `shares`, for ever."""
    draw, shares = np.random.default_rng(seed), shares / shares.sum()
    while True:
        yield int(draw.choice(len(shares), p=shares))


def resampled(
    elements: Iterator[Any],
    kind: Callable[[Any], Any],
    wanted: np.ndarray,
    known: np.ndarray | None,
    seed: Sequence[int],
) -> Iterator[tuple[Any, Any]]:
    """Classes and elements; one of class c stays with probability in proportion to wanted[c] / share[c]."""
    draw = np.random.default_rng(seed)
    counts = np.ones(wanted.shape)  # of the elements so far; every class counts as seen once

    def rest() -> Iterator[tuple[Any, Any]]:
        for element in elements:
            number = kind(element)
            if not 0 <= number < len(wanted):
                raise InvalidArgumentError(
                    f"rejection_resample: an element has class {number}; there are shares of {len(wanted)} classes."
                )
            counts[number] += 1
            shares = counts / counts.sum() if known is None else known
            ratios = np.divide(wanted, shares, out=np.zeros_like(wanted), where=shares > 0)
            ratio = ratios[number] if shares[number] > 0 else np.inf * wanted[number]
            if draw.random() * ratios.max() < ratio:
                yield number, element

    return Resumed(rest)


def computable(elements: Iterator[Any], logs: bool) -> Iterator[Any]:
    """The elements of an iterator that goes on behind an error, without those that an op has refused."""

    def rest() -> Iterator[Any]:
        while True:
            try:
                element = next(elements, END)
            except GraphadError as error:
                if logs:
                    get_logger().warning("ignore_errors: an element was left out: %s", error)
                continue
            if element is END:
                return
            yield element

    return Resumed(rest)
