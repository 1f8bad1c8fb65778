"""Sizes that only the run finds: which words of a plan depend on them, and how.

A plan with such sizes has room for the largest ones. Its rows are made for these, and again for others: a word that differs is a
number plus multiples of sizes and of products of them, as n n and n m, which the rows that find these sizes get to know
(`Row.patches`). Where a word depends on a size in another way, as a block of rows whose length is chosen by it, there is no such
plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from graphad.compiler import rows as table
from graphad.compiler.plan.places import ARENA, ARGUMENT, Made, Place
from graphad.compiler.rows import Patch, Row
from graphad.compiler.units import CALL, ROUTINE, is_contiguous
from graphad.core.dims import (
    Dim,
    Monomial,
    Relation,
    Size,
    evaluate,
    is_run_time,
    product,
    related,
    run_time_symbols,
)
from graphad.core.errors import InternalError, UnavailableError

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np

    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Partition, Unit
    from graphad.core.spec import TensorSpec

_MOST_ROOM = 1 << 28  # bytes of a workspace, and so many times those of the arguments
_TIMES_ARGUMENTS = 16
_FEW = 4
Path = tuple[Any, ...]  # numbers of rows, and between them numbers of tables
_MOST_POINTS = 32  # sets of numbers for which rows are checked
_SMALLEST_ROOM = 16  # so that there are a few smaller sizes; sizes 0 and 1 may have words of their own form


class Uneven(UnavailableError):
    """Rows depend on a size in another way than as multiples of it: those of `unit`, or the one with the number `row`, if that is
    known."""

    def __init__(self, name: str = "", row: int | None = None, unit: Unit | None = None) -> None:
        super().__init__(f"plan: a step depends on a size that only the run finds, {name}, in no simple way")
        self.row, self.unit = row, unit


def rooms(found: Mapping[str, Size], numbers: Mapping[str, int]) -> dict[str, int]:
    """The numbers with the largest number of each size that the run finds, in the order in which these are found."""
    out = dict(numbers)
    for name, size in found.items():
        out[name] = max(evaluate(size, out), _SMALLEST_ROOM)
    return out


def points(
    found: Mapping[str, Size], relations: Sequence[Relation], numbers: Mapping[str, int]
) -> list[dict[str, int]]:
    """The largest sizes that a run may find once it knows these relations, for which rows are checked to stay inside of memory.

    Where a product of sizes is said to be another one, each of them is the largest one in turn.
    Raises: UnavailableError: there are no such sizes.
    """
    most = dict(numbers)
    for name, size in found.items():
        most[name] = evaluate(size, most)
    out = [most]
    for lead, value in relations:
        sides = Dim({lead: 1}), value
        for small, large in (sides, sides[::-1]):
            every = [
                each for before in out for least in (0, 1) for each in _bounded(before, small, large, least)
            ]
            out = [dict(each) for each in dict.fromkeys([tuple(each.items()) for each in every])]
            out = out[:_MOST_POINTS]
    if not out:
        raise Uneven()
    return out


def _bounded(numbers: Mapping[str, int], size: Size, most: Size, least: int) -> Iterator[dict[str, int]]:
    """The same numbers with a size that is at most another one: each of its factors and terms is reduced last in turn, none below
    `least`."""
    limit = _largest(most, numbers)
    names = sorted(run_time_symbols([size]))
    if _largest(size, numbers) <= limit:
        yield dict(numbers)
        return
    for k in range(len(names)):
        out = dict(numbers)
        for name in (*names[k:], *names[:k]):
            low, high = min(least, out[name]), out[name]
            while low < high and _largest(size, out) > limit:
                middle = (low + high + 1) // 2
                if _largest(size, {**out, name: middle}) <= limit:
                    low = middle
                else:
                    high = middle - 1
            out[name] = low if _largest(size, out) > limit else out[name]
        if _largest(size, out) <= limit:
            yield out


def elements(dims: Sequence[Size], numbers: Mapping[str, int]) -> int:
    """How many elements an array has at most, for these largest numbers. Products of sizes that are another one are no larger."""
    count = math.prod([evaluate(size, numbers) for size in dims])
    return min(count, _largest(product(dims), numbers)) if any(run_time_symbols(dims)) else count


def _largest(size: Size, numbers: Mapping[str, int]) -> int:
    """A size for the largest numbers of its symbols, without what is taken from it."""
    terms = size.terms if isinstance(size, Dim) else {(): size}
    kept = {each: factor for each, factor in terms.items() if factor > 0 or not any(map(is_run_time, each))}
    return max(evaluate(Dim(kept), numbers), 0)


def measuring(scope: Scope, unit: Unit) -> list[Made]:
    """The rows that find the sizes of a unit."""
    out = []
    for symbol, most, step, low, high in unit.measures:
        (name,) = symbol.symbols
        words = [0] * table.MEASURED
        places: list[tuple[int, Place]] = []
        # A size that is the symbol itself has its largest value here.
        words[table.M_EXTENT] = evaluate(most, scope.binding.room) if most is symbol else scope.size(most)
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
            if scope.checks is not False:
                place.check(0, words[width] if step else words[table.M_EXTENT])
            places.append((word, place))
        if name in scope.binding.found:
            places.append((table.M_NUMBER, Place.of(ARENA, 0, scope.binding.found[name], 8)))
        made = scope.filled(scope.backend.measure(), words, places, 20)
        made.row = made.row._replace(finds=name)
        out.append(made)
    return out


def known_before(part: Partition, known: tuple[Relation, ...] = ()) -> dict[int, tuple[Relation, ...]]:
    """For each unit, by its identity, also of loops and branches, what the run has compared before it."""
    out = {}
    for unit in part.units:
        out[id(unit)] = known
        for inner in unit.partitions:
            out |= known_before(inner, known)
        relation = unit.nodes[0].op.proven if unit.nodes else None
        known = known if relation is None else (*known, relation)
    return out


def sizes_of(part: Partition) -> list[str]:
    """The sizes that the run finds in shapes of results."""
    dims = [size for value in part.outputs for size in part.specs[value].dims or ()]
    return sorted(run_time_symbols(dims))


def add_patched(builder: Any, scope: Scope, units: Sequence[Unit], first: int) -> float:
    """Add the rows of units, the first of which is at position `first`, to a builder. Returns: their work.

    A routine whose rows depend on sizes in another way, as those of a convolution on the size of images, becomes a call of its
    op.
    """
    _require_room(scope.places.values())
    try:
        rows, work = _patched_rows(scope, units, first)
    except Uneven as error:
        if error.unit is None or not _is_called(error.unit):
            raise
        return add_patched(builder, scope, units, first)
    for row in rows:
        builder.add_row(row)
    return work


def _is_called(unit: Unit) -> bool:
    """Let a plan call the op of a routine. Returns: whether that is possible."""
    if unit.kind == ROUTINE and not unit.nodes[0].op.effects and all(map(is_contiguous, unit.reads)):
        unit.kind, unit.why = (
            CALL,
            "what its routine does depends in no simple way on sizes that only the run finds",
        )
        return True
    return False


def _patched_rows(scope: Scope, units: Sequence[Unit], first: int) -> tuple[list[Row], float]:
    """The rows of units, in which rows that find sizes change words, and their work."""
    places, works = scope.places.copy(), []
    counts: dict[int, int] = {}  # how many rows each unit has

    def make(numbers: Mapping[str, int], asked: Callable[[Unit], bool] | None = None) -> list[Row]:
        each = scope.with_numbers(numbers, places, asked)
        made = [each.make(unit, each.places.get(-1 - at)) for at, unit in enumerate(units, first)]
        works.append(sum([one.work for of_unit in made for one in of_unit]))
        for unit, of_unit in zip(units, made, strict=True):
            if asked is None and counts.setdefault(unit.index, len(of_unit)) != len(of_unit):
                raise Uneven(unit=unit)
        return [one.row for of_unit in made for one in of_unit]

    known = known_before(scope.part)
    try:
        for relations in dict.fromkeys(known.values()):
            for numbers in points(scope.part.rooms, relations, scope.binding.sizes):
                make(numbers, lambda unit, relations=relations: known[id(unit)] == relations)  # type: ignore[misc]
    except InternalError as error:  # as the memory of an array that comes before what says how large it is
        raise UnavailableError("plan: an array comes before what compares its sizes") from error

    with related([]):
        products = products_of(scope.part)
    try:
        return patched(make, scope.numbers, products), works[0]
    except Uneven as error:
        if error.unit is None and error.row is not None:
            error.unit = [unit for unit in units for _ in range(counts[unit.index])][error.row]
        raise


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
                raise Uneven(name)


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


def patched(
    make: Callable[[Mapping[str, int]], list[Row]],
    numbers: Mapping[str, int],
    products: Iterable[Monomial] = (),
) -> list[Row]:
    """The rows that `make` gives for the largest sizes, in which rows that find sizes change the words that depend on them.

    Args:
      products: The products of sizes, as n n and n m, of which words may be sums, beside the sizes themselves.
    Raises: UnavailableError: a word depends on a size in another way, or on one that no row before it finds.
    """
    rows = make(numbers)
    names = [name for name in numbers if is_run_time(name)]
    finders = dict(_finders(rows, ()))
    slopes = _slopes(make, rows, numbers, [*[(name,) for name in names], *products])
    for name in names:
        mine = {each: words for each, words in slopes.items() if name in each}
        if name in finders:
            rows = _with_patches(rows, finders, name, mine)
        elif mine:
            raise Uneven(name)
    return rows


def products_of(part: Partition) -> list[Monomial]:
    """The products of sizes that the run finds of which extents, strides and offsets of a partition may be sums."""
    found: dict[Monomial, None] = {}
    for spec in part.specs:
        total = product([size for size in spec.dims or () if size is not None])
        for monomial in total.terms if isinstance(total, Dim) else ():
            factors = tuple(filter(is_run_time, monomial))
            for count in range(2, len(factors) + 1):
                found.update(dict.fromkeys(combinations(factors, count)))
    for unit in part.units:
        for inner in unit.partitions:
            found.update(dict.fromkeys(products_of(inner)))
    return list(found)


def _finders(rows: Sequence[Row], path: Path) -> Iterator[tuple[str, Path]]:
    """For each size the path to the row that finds it."""
    for at, row in enumerate(rows):
        if row.finds:
            yield row.finds, (*path, at)
        for number, (_, inner) in enumerate(row.tables):
            yield from _finders(inner, (*path, at, number))


def _slopes(
    make: Callable[[Mapping[str, int]], list[Row]],
    rows: Sequence[Row],
    numbers: Mapping[str, int],
    monomials: Sequence[Monomial],
) -> dict[Monomial, dict[tuple[Path, int], int]]:
    """For each product of sizes how much words grow with it, by path and word: the words are sums of such multiples.

    They are found from as many sets of sizes as there are products, and compared with all others.
    """
    tried = list(_tried(numbers, monomials))
    samples = [
        [_number(each, {**numbers, **sizes}) - _number(each, numbers) for each in monomials]
        for sizes in tried
    ]
    found = [dict(_differences(rows, make({**numbers, **sizes}), ())) for sizes in tried]
    chosen, inverse, whole = _solved(samples, len(monomials))
    slopes: dict[Monomial, dict[tuple[Path, int], int]] = {each: {} for each in monomials}
    for place in dict.fromkeys(place for each in found for place in each):
        (row, *_), _ = place
        changes = [each.get(place, 0) for each in found]
        factors = []
        for line in inverse:
            factor, rest = divmod(sum([a * changes[k] for a, k in zip(line, chosen, strict=True)]), whole)
            if rest:
                raise Uneven(row=row)
            factors.append(factor)
        for sample, change in zip(samples, changes, strict=True):
            if sum([a * b for a, b in zip(sample, factors, strict=True)]) != change:
                raise Uneven(row=row)
        for each, factor in zip(monomials, factors, strict=True):
            if factor:
                slopes[each][place] = factor
    return {each: words for each, words in slopes.items() if words}


def _number(monomial: Monomial, numbers: Mapping[str, int]) -> int:
    return math.prod([numbers[name] for name in monomial])


def _tried(numbers: Mapping[str, int], monomials: Sequence[Monomial]) -> Iterator[dict[str, int]]:
    """The sets of other sizes for which rows are made: each size alone, and all together.

    The bits of a float grow evenly from one power of two to the next, and what is at most, or at least, some number stays the
    same on one side of it: numbers of all orders of magnitude are tried. Those of the fewest elements have words of their own,
    which say how these are done in less time, and are not tried.
    """
    names = [name for name in numbers if is_run_time(name)]
    for name in names:
        near = 1 + max([each.count(name) for each in monomials], default=1)
        yield from ({name: numbers[name] - step} for step in range(1, near))
        other = numbers[name] - near
        while other >= _FEW:
            yield {name: other}
            other //= 3
    if len(names) > 1:
        # With steps that differ, so that products of several signs do not cancel in all.
        for first in range(1, 3 + sum([len({*each}) > 1 for each in monomials])):
            steps = {name: first + (k * first + k * k) % (numbers[name] // 2) for k, name in enumerate(names)}
            yield {name: max(numbers[name] - step, numbers[name] // 2) for name, step in steps.items()}


def _solved(samples: Sequence[Sequence[int]], count: int) -> tuple[list[int], list[list[int]], int]:
    """The numbers of samples that tell the factors of so many products; the inverse of these lines as integers, and what to
    divide them by."""
    from fractions import Fraction  # imported here: it brings decimal, and few plans have such sizes

    chosen: list[int] = []
    lines: list[tuple[int, list[Fraction]]] = []  # the place of a 1 where all others have 0; line and inverse
    for k, sample in enumerate(samples):
        line = [Fraction(x) for x in sample] + [Fraction(0)] * count
        if len(chosen) < count:
            line[count + len(chosen)] = Fraction(1)
        for place, other in lines:
            if line[place]:
                line = [x - line[place] * y for x, y in zip(line, other, strict=True)]
        place = next((i for i, x in enumerate(line[:count]) if x), count)
        if place == count:
            continue
        line = [x / line[place] for x in line]
        lines = [
            (at, [x - other[place] * y for x, y in zip(other, line, strict=True)]) for at, other in lines
        ]
        lines.append((place, line))
        chosen.append(k)
        if len(chosen) == count:
            break
    if len(chosen) < count:
        raise Uneven()
    inverse = [line[count:] for _, line in sorted(lines)]
    whole = math.lcm(*[x.denominator for line in inverse for x in line])
    return chosen, [[int(x * whole) for x in line] for line in inverse], whole


def _differences(
    rows: Sequence[Row], others: Sequence[Row], path: Path
) -> Iterator[tuple[tuple[Path, int], int]]:
    """By path and word, the difference of its number in the same rows for other sizes."""
    if len(rows) != len(others):
        raise Uneven(row=path[0] if path else None)
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
            raise Uneven(row=(*path, at)[0])
        for word, (x, y) in enumerate(zip(a.words, b.words, strict=True)):
            if x != y and not (a.finds and word == table.M_LAST):
                yield ((*path, at), word), int(y) - int(x)
        for mine, other in zip(a.arena, b.arena, strict=True):
            if mine.offset != other.offset:
                yield ((*path, at), mine.word), other.offset - mine.offset
        for number, ((_, inner), (_, theirs)) in enumerate(zip(a.tables, b.tables, strict=True)):
            yield from _differences(inner, theirs, (*path, at, number))


def _with_patches(
    rows: Sequence[Row],
    finders: Mapping[str, Path],
    name: str,
    slopes: Mapping[Monomial, Mapping[tuple[Path, int], int]],
) -> list[Row]:
    """The rows with the words that the row which finds a size changes."""
    finder = finders[name]
    *around, at = finder
    words: list[int] = []
    patches: list[Patch] = []
    for monomial, changes in slopes.items():
        others = [each for each in monomial if each != name]
        if len(others) > table.GROUP_FACTORS or not all(each in finders for each in others):
            raise Uneven(name)
        first = table.MEASURED + len(words)
        words += [0] * table.GROUP
        words[first - table.MEASURED + table.GROUP_POWER] = len(monomial) - len(others)
        words[first - table.MEASURED + table.GROUP_COUNT] = len(changes)
        for k, each in enumerate(others):
            patches.append(Patch(first + table.GROUP_FACTOR + k, finders[each], table.M_LAST))
        for (path, word), slope in changes.items():
            if list(path[: len(around)]) != around or path[len(around)] <= at:
                raise Uneven(name)
            patches.append(Patch(table.MEASURED + len(words), path, word))
            words += [0, slope]

    def changed(row: Row) -> Row:
        known = list(row.words)
        known[table.M_GROUPS] = len(slopes)
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
