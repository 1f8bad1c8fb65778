"""Sizes that are not numbers yet: polynomials in symbols, compared only where the answer is certain.

While a graph is specialised, each unknown size is a symbol of its size class. Two different symbols stand for
different sizes, and every symbol is at least 2 (0 and 1 are always numbers). A comparison that this cannot decide raises
`UndecidedSize`, and the specialiser pins one of the symbols to its number and starts again.

Symbols of a native plan may also stand for sizes that only the run finds (`run_time`), which may be any number from 0 on. Such a
size is known to be equal to itself only. A plan never depends on whether it equals another size, even 0 or 1; where an op
requires two such sizes to be equal, there is no native plan. Where a run checks that a product of them is a certain size, this
is a relation (`related`): that product is then never part of a polynomial. A quotient or minimum of them that is no polynomial is
a size that the run finds too (`computed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import combinations
from typing import TYPE_CHECKING, Any

Monomial = tuple[str, ...]
SMALLEST_SYMBOL = 2
_RUN_TIME = "~"  # the first letter of the symbols of sizes that only the run finds
UNKNOWN = -(2**31) + 1  # stands for an unknown number among known integers; no size is as small
# Numbers that no symbol equals: the literal sizes of the graph whose size class is being compiled.
_literals: ContextVar[frozenset[int]] = ContextVar("graphad_literal_sizes", default=frozenset())


@contextmanager
def apart_from(literals: frozenset[int]) -> Iterator[None]:
    """Inside the block every symbol is known to differ from each of `literals`, as the definition of size classes says."""
    token = _literals.set(_literals.get() | literals)
    try:
        yield
    finally:
        _literals.reset(token)


Relation = tuple[Monomial, Any]  # a product of sizes that the run finds, and the size that it is
_relations: ContextVar[list[Relation] | None] = ContextVar("graphad_relations", default=None)

QUOTIENT, LEAST = "quotient", "least"  # what is no polynomial in sizes: a // b and min(a, b)


class Relations(list[Relation]):
    """What a run knows of the sizes that it finds, beside which products are other sizes.

    Attributes:
      computed: The symbols of sizes that are QUOTIENT or LEAST of two others, by these.
      compute: Gives the symbol of a further one, or None; None where the graph is complete.
    """

    def __init__(self, of: Iterable[Relation] = ()) -> None:
        super().__init__(of)
        self.computed: dict[tuple[str, Any, Any], Dim] = {}
        self.compute: Callable[[str, Any, Any], Dim | None] | None = None


def computed(way: str, a: Size, b: Size) -> Any:
    """The symbol of a size that the run computes of others that it finds; None if there is none."""
    relations = _relations.get()
    if not isinstance(relations, Relations) or not run_time_symbols((a, b)):
        return None
    found = relations.computed.get((way, a, b))
    if found is None and relations.compute is not None:
        found = relations.compute(way, a, b)
        if found is not None:
            relations.computed[way, a, b] = found
    return found


def least(a: Size, b: Size) -> Any:
    """The smaller one of two sizes."""
    try:
        return a if a == b or a < b else b
    except UndecidedSize:
        found = computed(LEAST, a, b)
        if found is None:
            raise
        return found


@contextmanager
def related(relations: list[Relation]) -> Iterator[None]:
    """Inside the block products of sizes are replaced by what they are; the list may get more of them meanwhile."""
    token = _relations.set(relations)
    try:
        yield
    finally:
        _relations.reset(token)


class UndecidedSize(Exception):
    """A comparison of sizes that needs the number behind one of `symbols`."""

    def __init__(self, symbols: frozenset[str]) -> None:
        super().__init__(f"the answer depends on the sizes {sorted(symbols)}")
        self.symbols = symbols


class Choices:
    """Choices made by the sizes of one call; they serve every call with the same choices.

    Attributes:
      numbers: The number behind each symbol of the call.
      made: The answer of each call of `within`, by its sizes and its limit.
      asked: How many calls of `within` there were, repeated ones included.
    """

    __slots__ = ("asked", "made", "numbers")

    def __init__(self, numbers: Mapping[str, int], before: Choices | None = None) -> None:
        self.numbers = dict(numbers)
        self.made: dict[tuple[tuple[Any, ...], int], bool] = {} if before is None else dict(before.made)
        self.asked = 0

    def hold_for(self, numbers: Mapping[str, int]) -> bool:
        """Whether other sizes lead to the same choices."""
        return all(
            (max(evaluate(size, numbers) for size in sizes) <= limit) is answer
            for (sizes, limit), answer in self.made.items()
        )


_choices: ContextVar[Choices | None] = ContextVar("graphad_choices", default=None)


@contextmanager
def choosing(choices: Choices) -> Iterator[None]:
    """Inside the block `within` can also decide for symbols."""
    token = _choices.set(choices)
    try:
        yield
    finally:
        _choices.reset(token)


def questions() -> int:
    """The number of choices so far. If it grows during a computation, the result is valid for a part of the size class only."""
    choices = _choices.get()
    return 0 if choices is None else choices.asked


def within(sizes: Iterable[Any], limit: int) -> bool:
    """Whether all sizes are at most the limit. Only for choices between two ways with the same result.

    Where symbols do not decide it, the sizes of the current call do; the specialised graph then serves only calls of the size
    class with the same answer. Raises: UndecidedSize: no call is in progress.
    """
    open_ = []
    for size in dict.fromkeys(sizes):
        try:
            if size > limit:
                return False
        except UndecidedSize:
            open_.append(size)
    if not open_:
        return True
    choices = _choices.get()
    if choices is None:
        raise UndecidedSize(frozenset().union(*[size.symbols for size in open_]))
    choices.asked += 1
    question = tuple(open_), limit
    found = choices.made.get(question)
    if found is None:
        found = choices.made[question] = max(size.evaluate(choices.numbers) for size in open_) <= limit
    return found


class Dim:
    """An integer polynomial in size symbols; arithmetic with ints gives Dims or, where all symbols cancel, ints."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = dict(terms)
        self._hash = hash(frozenset(self.terms.items()))

    @staticmethod
    def symbol(name: str) -> Dim:
        return Dim({(name,): 1})

    @staticmethod
    def run_time(number: int) -> Dim:
        """The symbol of a size that only the run finds; different numbers give different symbols."""
        return Dim.symbol(f"{_RUN_TIME}{number}")

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset(name for monomial in self.terms for name in monomial)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The value of this polynomial for the values of the symbols in `sizes`."""
        total = 0
        for monomial, factor in self.terms.items():
            for name in monomial:
                factor *= sizes[name]
            total += factor
        return total

    def __add__(self, other: Size) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        out = dict(self.terms)
        for monomial, factor in terms.items():
            out[monomial] = out.get(monomial, 0) + factor
        return _simplest(out)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return -self if _is_negative(self) else self

    def __sub__(self, other: Size) -> Any:
        return NotImplemented if _terms(other) is None else self + (-1 * other)

    def __rsub__(self, other: int) -> Any:
        return -self + other

    def __mul__(self, other: Size) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        out: dict[Monomial, int] = {}
        for a, x in self.terms.items():
            for b, y in terms.items():
                key = tuple(sorted(a + b))
                out[key] = out.get(key, 0) + x * y
        return reduced(_simplest(out))

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Dim | int | None:
        quotient = divide_exactly(self, other)
        if quotient is None and type(other) is int and other > 0:
            if at_most(self, 0):  # as -(-n // 2), which rounds up
                quotient = computed(QUOTIENT, other - 1 - self, other)
                quotient = None if quotient is None else -quotient
            else:
                quotient = computed(QUOTIENT, self, other)
        if quotient is None:
            raise UndecidedSize(self.symbols | (other.symbols if isinstance(other, Dim) else frozenset()))
        return quotient

    def __rfloordiv__(self, other: Any) -> Dim | int | None:
        quotient = divide_exactly(other, self)
        if quotient is None:
            raise UndecidedSize(self.symbols)
        return quotient

    def __mod__(self, other: Size) -> int:
        if divide_exactly(self, other) is None:
            raise UndecidedSize(self.symbols)
        return 0

    def __rmod__(self, other: Any) -> int:
        if divide_exactly(other, self) is None:
            raise UndecidedSize(self.symbols)
        return 0

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False  # as is often asked of a shape: whether a size in it is unknown
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        if terms == self.terms:
            return True
        if run_time_symbols((self, other)):
            # Sizes that only the run knows are equal if their difference is certainly 0.
            return type(reduced(self - other)) is int and reduced(self - other) == 0
        if _is_symbol(self.terms) and _is_symbol(terms):
            return False  # one class, two symbols: two sizes
        if (_is_symbol(self.terms) and _number(terms) in _literals.get()) or (
            _is_symbol(terms) and _number(self.terms) in _literals.get()
        ):
            return False
        low, high = _bounds(self - other)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        raise UndecidedSize(self.symbols | Dim(terms).symbols)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Size) -> bool:
        return _is_negative(self - other)

    def __gt__(self, other: Size) -> bool:
        return _is_negative(other - self)

    def __le__(self, other: Size) -> bool:
        return not _is_negative(other - self)

    def __ge__(self, other: Size) -> bool:
        return not _is_negative(self - other)

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        raise UndecidedSize(self.symbols)

    __int__ = __index__
    __float__ = __index__

    def __repr__(self) -> str:
        parts = []
        for monomial, factor in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            names = "*".join(monomial)
            parts.append(str(factor) if not names else names if factor == 1 else f"{factor}*{names}")
        return "+".join(parts).replace("+-", "-")


if TYPE_CHECKING:
    # `eval` sees a number here, `infer` also None, other rules also a symbol or a reference; no union type expresses that.
    Size = Any
else:
    Size = int | Dim


def reduced(size: Any) -> Any:
    """A polynomial without the products that relations replace."""
    relations = _relations.get()
    if not relations or not isinstance(size, Dim):
        return size
    for lead, value in relations:
        if any(_remove(monomial, lead) is not None for monomial in size.terms):
            out: Any = 0
            for monomial, factor in size.terms.items():
                rest = _remove(monomial, lead)
                term = Dim({monomial: 1}) if rest is None else product([value, *map(Dim.symbol, rest)])
                out = out + _plus(term, factor)
            return reduced(out)
    return size


def _plus(term: Any, factor: int) -> Any:
    """A multiple of a size, without replacing anything."""
    return term * factor if type(term) is int else Dim({key: n * factor for key, n in term.terms.items()})


def divide_exactly(a: Size, b: Size) -> Dim | int | None:
    """a / b if that is a polynomial with integer coefficients, else None."""
    found = _divided(a, b)
    divisor = _terms(b) or {}
    if found is not None or len(divisor) != 1 or not _relations.get():
        return found
    ((monomial, factor),) = divisor.items()
    for lead, value in _relations.get() or ():
        rest = _remove(lead, monomial)
        times = None if rest is None else _divided(a, _plus(value, factor))
        if rest is not None and times is not None:
            return times * product(map(Dim.symbol, rest))  # type: ignore[no-any-return]
    return None


def _divided(a: Size, b: Size) -> Dim | int | None:
    """The same without relations."""
    numerator, divisor = _terms(a), _terms(b)
    if numerator is None or divisor is None or not divisor:
        return None
    quotient: dict[Monomial, int] = {}
    lead, factor = max(divisor.items(), key=lambda item: (len(item[0]), item[0]))
    rest = dict(numerator)
    while rest:
        top, value = max(rest.items(), key=lambda item: (len(item[0]), item[0]))
        monomial = _remove(top, lead)
        if monomial is None or value % factor:
            return None
        quotient[monomial] = quotient.get(monomial, 0) + value // factor
        for key, other in divisor.items():
            product = tuple(sorted(monomial + key))
            left = rest.get(product, 0) - (value // factor) * other
            if left:
                rest[product] = left
            else:
                rest.pop(product, None)
    return _simplest(quotient)


def is_one(size: object) -> bool:
    """Whether a size is 1, which broadcasts with every other. Raises: UndecidedSize: it is a polynomial that may be 1, such as
    n - 1."""
    return (type(size) is int or isinstance(size, Dim)) and size == 1


def at_most(a: Any, b: Any) -> bool:
    """Whether a <= b for certain."""
    try:
        return bool(a <= b)
    except UndecidedSize:
        return _never_negative(b - a)


def _never_negative(x: Dim) -> bool:
    """Whether all coefficients are non-negative when `x` is expanded in (symbol - SMALLEST_SYMBOL).

    This proves n * m - m >= 0, which bounds on each product alone cannot.
    """
    found: dict[Monomial, int] = {}
    for monomial, factor in x.terms.items():
        for k in range(len(monomial) + 1):
            for kept in combinations(monomial, k):
                found[kept] = found.get(kept, 0) + factor * _smallest(_remove(monomial, kept) or ())
    return all(factor >= 0 for factor in found.values())


def _smallest(monomial: Monomial) -> int:
    """The smallest product of these symbols."""
    return 0 if any(map(is_run_time, monomial)) else SMALLEST_SYMBOL ** len(monomial)


def is_run_time(name: str) -> bool:
    """Whether a symbol is that of a size that only the run finds."""
    return name.startswith(_RUN_TIME)


def run_time_symbols(sizes: Iterable[Any]) -> frozenset[str]:
    """The symbols of sizes that only the run finds among those of some sizes."""
    found = [size.symbols for size in sizes if isinstance(size, Dim)]
    return frozenset([name for names in found for name in names if is_run_time(name)])


def product(sizes: Any) -> Any:
    """The product of sizes, 1 for none."""
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def evaluate(size: Size, numbers: Mapping[str, int]) -> int:
    """The value of a size; a number is its own value."""
    return size.evaluate(numbers) if isinstance(size, Dim) else size


def _terms(x: Any) -> dict[Monomial, int] | None:
    if isinstance(x, Dim):
        return x.terms
    if isinstance(x, bool):
        return None
    try:
        number = x.__index__()
    except (AttributeError, TypeError):
        return None  # arrays have the method too, and raise: they handle the operator elementwise
    return {(): number} if number else {}


def _simplest(terms: dict[Monomial, int]) -> Dim | int:
    terms = {key: factor for key, factor in terms.items() if factor}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Dim(terms)


def _is_symbol(terms: Mapping[Monomial, int]) -> bool:
    return len(terms) == 1 and next(iter(terms.items()))[1] == 1 and len(next(iter(terms))) == 1


def _number(terms: Mapping[Monomial, int]) -> int | None:
    return terms[()] if len(terms) == 1 and () in terms else None


def _bounds(x: Size) -> tuple[int | None, int | None]:
    """A lower and an upper bound of `x`, None for no bound."""
    if not isinstance(x, Dim):
        return x, x
    low: int | None = 0
    high: int | None = 0
    for monomial, factor in x.terms.items():
        smallest = factor * _smallest(monomial)
        low = None if low is None or (factor < 0 and monomial) else low + smallest
        high = None if high is None or (factor > 0 and monomial) else high + smallest
    return low, high


def _is_negative(x: Any) -> bool:
    low, high = _bounds(x)
    if low is not None and low >= 0:
        return False
    if high is not None and high < 0:
        return True
    raise UndecidedSize(x.symbols)


def _remove(monomial: Monomial, part: Monomial) -> Monomial | None:
    left = list(monomial)
    for name in part:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)
