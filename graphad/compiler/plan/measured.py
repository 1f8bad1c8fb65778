"""Sizes that only the run finds: which words of a plan depend on them, and how.

A plan with such sizes has room for the largest ones. Its rows are made for these, and again for others: a word that differs is a
number plus a multiple of the size, which the row that finds the size gets to know (`Row.patches`). Where a word depends on it in
another way, as a block of rows whose length is chosen by it, there is no such plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler import rows as table
from graphad.compiler.plan.places import ARENA, ARGUMENT, Made, Place
from graphad.compiler.rows import Patch, Row
from graphad.core.dims import Dim, Size, evaluate, is_run_time, run_time_symbols
from graphad.core.errors import UnavailableError

if TYPE_CHECKING:
    import numpy as np

    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Partition, Unit
    from graphad.core.spec import TensorSpec

_MOST_ROOM = 1 << 28  # bytes of a workspace, and so many times those of the arguments
_TIMES_ARGUMENTS = 16
_FEW = 4
_SMALLEST_ROOM = 9  # so that there are a few smaller sizes; sizes 0 and 1 may have words of their own form


def rooms(found: Mapping[str, Size], numbers: Mapping[str, int]) -> dict[str, int]:
    """The numbers with the largest number of each size that the run finds, in the order in which these are found."""
    out = dict(numbers)
    for name, size in found.items():
        out[name] = max(evaluate(size, out), _SMALLEST_ROOM)
    return out


def measuring(scope: Scope, unit: Unit) -> list[Made]:
    """The rows that find the sizes of a unit."""
    out = []
    for symbol, most, step, low, high in unit.measures:
        (name,) = symbol.symbols
        words = [0] * table.MEASURED
        places: list[tuple[int, Place]] = []
        # A size that is the symbol itself has its largest value here.
        words[table.M_EXTENT] = evaluate(most, scope.room) if most is symbol else scope.size(most)
        words[table.M_STEP] = step
        words[table.M_LAST] = scope.size(symbol)
        for bound, default, word, width in (
            (low, 0, table.M_LOW, table.M_LOW_BYTES),
            (high, scope.size(most), table.M_HIGH, table.M_HIGH_BYTES),
        ):
            if bound is None or isinstance(bound, int):
                words[word] = default if bound is None else bound
                continue
            site = unit.reads[bound[1]]
            words[width] = scope.part.specs[site.root].dtype.itemsize
            at = words[width] * (bound[2] if len(bound) > 2 else 0)
            place = scope.place(site).shifted(at)
            place.check(0, words[width] if step else words[table.M_EXTENT])
            places.append((word, place))
        if name in scope.found:
            places.append((table.M_NUMBER, Place.of(ARENA, 0, scope.found[name], 8)))
        made = scope.filled(scope.backend.measure(), words, places, 20)
        made.row = made.row._replace(finds=name)
        out.append(made)
    return out


def sizes_of(part: Partition) -> list[str]:
    """The sizes that the run finds in shapes of results."""
    dims = [size for value in part.outputs for size in part.specs[value].dims or ()]
    return sorted(run_time_symbols(dims))


def add_patched(builder: Any, scope: Scope, units: Sequence[Unit], first: int) -> float:
    """Add the rows of units, the first of which is at position `first`, to a builder. Returns: their work."""
    _require_room(scope.places.values())
    places, works = scope.places.copy(), []

    def make(numbers: Mapping[str, int]) -> list[Row]:
        each = scope if numbers is scope.numbers else scope.with_numbers(numbers, places)
        made = [
            made for at, unit in enumerate(units, first) for made in each.make(unit, each.places.get(-1 - at))
        ]
        works.append(sum([each.work for each in made]))
        return [each.row for each in made]

    for row in patched(make, scope.numbers):
        builder.add_row(row)
    return works[0]


def require_rising(specs: Sequence[TensorSpec]) -> None:
    """Raise where a size falls as one that the run finds grows: its memory is planned for the largest sizes. Also where an array
    has no elements, whatever such sizes it has: no row touches it, and none would tell its shape."""
    for spec in specs:
        dims = spec.dims or ()
        for name in run_time_symbols(dims):
            falls = any(
                factor < 0 and name in monomial
                for size in dims
                if isinstance(size, Dim)
                for monomial, factor in size.terms.items()
            )
            if falls or 0 in [size for size in dims if type(size) is int]:
                raise _no_plan(name)


def _require_room(places: Iterable[Place]) -> None:
    """Raise where the largest sizes need far more memory than the arguments take: together, as those of two masks in a table of
    all pairs, they may be larger than any machine's, though what the masks take is little."""
    most = {ARENA: 0, ARGUMENT: 0}
    for place in places:
        if place.kind == ARENA:
            most[ARENA] = max(most[ARENA], place.high)
        elif place.kind == ARGUMENT:
            most[ARGUMENT] += place.high - place.low
    if most[ARENA] > _MOST_ROOM + _TIMES_ARGUMENTS * most[ARGUMENT]:
        raise UnavailableError(
            f"plan: the largest sizes that its runs may find need {most[ARENA]} bytes; its arguments have {most[ARGUMENT]}"
        )


def patched(make: Callable[[Mapping[str, int]], list[Row]], numbers: Mapping[str, int]) -> list[Row]:
    """The rows that `make` gives for the largest sizes, in which rows that find sizes change the words that depend on them.

    Raises: UnavailableError: a word depends on a size in another way, or on one that no row before it finds.
    """
    rows = make(numbers)
    finders = dict(_finders(rows, ()))
    changes = {name: _changes(make, rows, numbers, name) for name in numbers if is_run_time(name)}
    _require_sum(make, rows, numbers, changes)
    for name, found in changes.items():
        if name in finders:
            rows = _with_patches(rows, finders[name], found)
        elif found:
            raise _no_plan(name)
    return rows


def _require_sum(
    make: Callable[[Mapping[str, int]], list[Row]],
    rows: Sequence[Row],
    numbers: Mapping[str, int],
    changes: Mapping[str, Mapping[tuple[tuple[Any, ...], int], int]],
) -> None:
    """Raise where sizes together change a word by another number than the sum of what each does, as products of them do."""
    names = list(changes)
    if len(names) < 2:
        return
    # The second time with other steps, so that products of several signs do not cancel in both.
    for first in (1, 2):
        steps = {name: min(first + k * first, numbers[name] - 1) for k, name in enumerate(names)}
        others = {**numbers, **{name: numbers[name] - step for name, step in steps.items()}}
        want: dict[tuple[tuple[Any, ...], int], int] = {}
        for name, step in steps.items():
            for place, slope in changes[name].items():
                want[place] = want.get(place, 0) - slope * step
        if dict(_differences(rows, make(others), ())) != {place: n for place, n in want.items() if n}:
            raise _no_plan(", ".join(names))


def _finders(rows: Sequence[Row], path: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """For each size the path to the row that finds it: numbers of rows, and between them numbers of tables."""
    for at, row in enumerate(rows):
        if row.finds:
            yield row.finds, (*path, at)
        for number, (_, inner) in enumerate(row.tables):
            yield from _finders(inner, (*path, at, number))


def _changes(
    make: Callable[[Mapping[str, int]], list[Row]], rows: Sequence[Row], numbers: Mapping[str, int], name: str
) -> dict[tuple[tuple[Any, ...], int], int]:
    """For each word, by its path and number, how much it grows with a size."""
    room = numbers[name]
    # The bits of a float grow evenly from one power of two to the next, and what is at most, or at least, some number stays the
    # same on one side of it: numbers of all orders of magnitude are tried. Sizes of the fewest
    # elements have other words, which choose a faster way, and are not tried.
    others = [room - 1, room - 2]
    while others[-1] >= 3 * _FEW:
        others.append(others[-1] // 3)
    found: dict[tuple[tuple[Any, ...], int], int] = {}
    for k, other in enumerate(others):
        differences = dict(_differences(rows, make({**numbers, name: other}), ()))
        slopes = {}
        for place, difference in differences.items():
            slope, rest = divmod(difference, other - room)
            if rest:
                raise _no_plan(name)
            slopes[place] = slope
        if k and slopes != found:
            raise _no_plan(name)
        found = slopes
    return found


def _differences(
    rows: Sequence[Row], others: Sequence[Row], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[tuple[Any, ...], int], int]]:
    """By path and word, the difference of its number in the same rows for other sizes."""
    if len(rows) != len(others):
        raise _no_plan()
    for at, (a, b) in enumerate(zip(rows, others, strict=True)):
        alike = (
            a.function == b.function
            and len(a.words) == len(b.words)
            and list(a.arguments) == list(b.arguments)
            and [each.word for each in a.arena] == [each.word for each in b.arena]
            and list(a.pointers) == list(b.pointers)
            and [word for word, _ in a.tables] == [word for word, _ in b.tables]
        )
        if not alike:
            raise _no_plan()
        for word, (x, y) in enumerate(zip(a.words, b.words, strict=True)):
            if x != y and not (a.finds and word == table.M_LAST):
                yield ((*path, at), word), int(y) - int(x)
        for mine, other in zip(a.arena, b.arena, strict=True):
            if mine.offset != other.offset:
                yield ((*path, at), mine.word), other.offset - mine.offset
        for number, ((_, inner), (_, theirs)) in enumerate(zip(a.tables, b.tables, strict=True)):
            yield from _differences(inner, theirs, (*path, at, number))


def _with_patches(
    rows: Sequence[Row], finder: tuple[Any, ...], changes: Mapping[tuple[tuple[Any, ...], int], int]
) -> list[Row]:
    """The rows with the words that the row at the path `finder` changes."""
    *around, at = finder
    words: list[int] = []
    patches: list[Patch] = []
    for (path, word), slope in changes.items():
        within = path[len(around) :]
        if list(path[: len(around)]) != around or within[0] <= at:
            raise _no_plan()
        steps = iter(within[1:])
        k = table.MEASURED + table.MEASURED_WORDS * len(patches)
        patches.append(Patch(k, (within[0], *zip(steps, steps, strict=True)), word))
        words += [0, slope]

    def changed(row: Row) -> Row:
        known = list(row.words)
        known[table.M_COUNT] = len(patches)
        return row._replace(words=[*known, *words], patches=patches)

    return _replaced(rows, finder, changed)


def _replaced(rows: Sequence[Row], path: Sequence[Any], change: Callable[[Row], Row]) -> list[Row]:
    """The rows with one of them, or of their tables, changed."""
    at, *rest = path
    out = list(rows)
    if not rest:
        out[at] = change(out[at])
        return out
    number, *inner = rest
    tables = list(out[at].tables)
    tables[number] = tables[number][0], _replaced(tables[number][1], inner, change)
    out[at] = out[at]._replace(tables=tables)
    return out


def _no_plan(name: str = "") -> UnavailableError:
    return UnavailableError(
        f"plan: a step depends on a size that only the run finds, {name}, in no simple way"
    )


def cuts(
    part: Partition,
    roots: Sequence[int],
    found: Sequence[str],
    numbers: Mapping[str, int],
    names: dict[str, Any],
) -> list[str]:
    """Lines of a plan's text that copy the results with these roots; `found` are the sizes, in order."""
    lines = []
    sizes = ", ".join([f"{name!r}: size{k}" for k, name in enumerate(found)])
    for k, value in enumerate(part.outputs):
        site = part.site(value)
        if site.root in roots:
            names[f"cut_{k}"] = Cut(part.specs[value], site.offset, numbers)
            lines.append(f"cut{k} = cut_{k}(part{site.root}, {{{sizes}}})")
    return lines


class Cut:
    """Calls give an array of its own, with the shape that the run has found, of what begins `offset` elements behind the start of
    a part of the arena."""

    __slots__ = ("_numbers", "_offset", "_spec")

    def __init__(self, spec: TensorSpec, offset: Size, numbers: Mapping[str, int]) -> None:
        self._spec, self._offset, self._numbers = spec, offset, numbers

    def __call__(self, part: np.ndarray, found: Mapping[str, np.ndarray]) -> np.ndarray:
        sizes = {**self._numbers, **{name: int(words[0]) for name, words in found.items()}}
        shape = tuple([evaluate(size, sizes) for size in self._spec.dims or ()])
        first = evaluate(self._offset, sizes)
        return part.view(self._spec.dtype.numpy)[first : first + math.prod(shape)].reshape(shape).copy()
