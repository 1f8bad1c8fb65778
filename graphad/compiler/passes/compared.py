"""Sizes that the run finds and compares: quotients, and sizes that an op needs to be equal.

before:  %3 = reshape(%0, [%1, -1]), of shape [?, ?]
after:   %3 = reshape(%0, [~0, ~1]), and a range from ~0 ~1 to the number of elements, which must have no members

From then on a product of sizes is the other size (`core/dims.py`, `related`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import is_mistake
from graphad.core.convert import lift
from graphad.core.dims import (
    Dim,
    Relations,
    Size,
    UndecidedSize,
    divide_exactly,
    is_one,
    is_run_time,
    reduced,
    run_time_symbols,
)
from graphad.core.dtypes import float64, int64
from graphad.core.errors import GraphadError
from graphad.core.op import Op, output_specs
from graphad.core.references import AT
from graphad.core.shapes import is_definite, ranked
from graphad.ops.array.keys import FULL
from graphad.ops.array.sequence import Range
from graphad.ops.array.slice import GetItem
from graphad.ops.math.cast import cast
from graphad.ops.math.select import maximum
from graphad.trace.specialiser import Specialiser

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor

DEEP = 8  # ops that are looked through, and relations that are tried for one
_FEW = 9  # sizes of operands
_PAIRS = 12  # sizes that may have to be equal for an op


class Comparing(Specialiser):
    """A replay in which sizes that the run finds are compared; what it needs besides is in `assume`."""

    _rooms: dict[str, Size] | None  # the largest of each size that the run finds; None if it finds none
    _relations: Relations
    _found: set[str]  # the symbols of sizes that this trace finds
    _symbols: dict[Hashable, Dim]
    most: Callable[[Size], Size]
    sized: Callable[[Tensor], Any]
    _symbol: Callable[..., Dim]
    _note_count: Callable[[Tensor, Size], None]
    _checking: Callable[[Op, Hashable], Op]
    _same: Callable[[Tensor], Hashable]

    def _fitting(self, op: Op, inputs: Sequence[Any], tries: int = DEEP) -> tuple[Any, ...]:
        """The outputs; where an op takes its operands only if sizes that the run finds are equal, the run compares them."""
        try:
            return super().process(op, inputs)
        except GraphadError as error:
            fitting = None
            if tries and self._rooms is not None and not is_mistake(error):
                fitting = self._made_equal(op, inputs)
            if fitting is None:
                raise
        return self._fitting(op, fitting, tries - 1)

    def _made_equal(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any] | None:
        """Operands that fit since two of their sizes are equal, which the run checks from now on; None if that is not enough."""
        specs = [x.spec for x in inputs]
        if op.structured or not all(is_definite(spec.dims) for spec in specs):
            return None
        sizes = [size for spec in specs for size in spec.dims]
        found = [*dict.fromkeys([size for size in sizes if run_time_symbols([size])])][:_FEW]
        sizes += [size for name in op.attributes for size in _sizes_in(getattr(op, name))]
        for a, b in [(a, b) for a in found for b in dict.fromkeys(sizes) if a != b and not is_one(b)][
            :_PAIRS
        ]:
            alike = [
                spec.with_dims(tuple([b if size == a else size for size in spec.dims])) for spec in specs
            ]
            try:
                output_specs(op, alike)
            except (GraphadError, UndecidedSize):
                continue
            if self.require_equal(a, b):
                return inputs
            return [self._again(x, a, b) for x in inputs]
        return None

    def _again(self, x: Tensor, a: Size, b: Size) -> Tensor:
        """An operand, or, in place of its axes of size `a`, which a trace around this one has found, those of another size that
        the run finds here: it is the same, and equal to `b` only where this is computed."""
        dims = ranked(x.dims)
        if not any(size == a for size in dims):
            return x
        key = "again", a, b
        number = self._symbols.get(key)
        if number is None:
            number = self._symbols[key] = self._symbol(self.most(a), 1, None, key)
        end = lift(self.size(a, int64))
        part = GetItem(
            tuple([("slice", None, (AT, 1), None, number) if size == a else FULL for size in dims])
        )
        found: Tensor = self.node(self._checking(part, (key, self._same(x))), [x, end])[0]
        self.require_equal(number, b)
        return found

    def share(self, total: Size | None, by: Size) -> Size | None:
        """See `Sized.share`; `by` is a product of sizes and of a number."""
        if not isinstance(by, Dim) or len(by.terms) != 1 or self._rooms is None:
            return None
        ((monomial, factor),) = by.terms.items()
        total, names = divide_exactly(total, factor), [*monomial]
        for name in monomial:  # where that is 0, the others divide what is left, as they do without elements
            less = None if total is None else divide_exactly(total, Dim.symbol(name))
            if less is not None:
                total = less
                names.remove(name)
        if total is None or not names:
            return None
        by = functools.reduce(lambda a, b: a * b, map(Dim.symbol, names))
        key = "share", total, by
        if key not in self._symbols:
            whole, part = (lift(self.size(size, int64)) for size in (total, by))
            # An exact quotient is one of floats too; what is not exact is found out below.
            found = cast(cast(whole, float64) / cast(maximum(part, 1), float64), int64)
            number = self._symbols[key] = self._symbol(self.most(total), 1, None, key)
            self._note_count(found, number)
            self._relate(tuple(sorted((*names, *number.symbols))), total, (found * part, whole, part))
        return self._symbols[key]

    def require_equal(self, a: Size, b: Size) -> bool:
        """See `Sized.require_equal`: one product of sizes in their difference is replaced."""
        difference = reduced(a - b)
        if not isinstance(difference, Dim) or self._rooms is None or _is_zero(a) or _is_zero(b):
            return False  # strides of arrays without elements are those of others
        common = math.gcd(*difference.terms.values())
        difference = Dim({names: factor // common for names, factor in difference.terms.items()})
        for lead, factor in sorted(difference.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            rest = [each for each in difference.terms if each != lead]
            is_part = any(all(name in each for name in lead) for each in rest)
            if abs(factor) == 1 and not is_part and self._found & {*filter(is_run_time, lead)}:
                ends = [lift(self.size(size, int64)) for size in (b, a)]
                product = Dim({lead: 1})
                self._relate(lead, product - factor * difference, (*ends, lift(np.int64(1))))
                return True
        return False

    def _relate(self, lead: tuple[str, ...], value: Size, limits: Sequence[Tensor]) -> None:
        """Note that a product of sizes is another size; the run compares it by a range that has no members then."""
        op = self._checking(Range(0), ("relation", lead, value))
        op.__dict__["relates"] = frozenset(filter(is_run_time, (*lead, *run_time_symbols([value]))))
        op.__dict__["proven"] = lead, value
        self.node(op, limits)
        self._relations.append((lead, value))


def _is_zero(size: Size) -> bool:
    return type(size) is int and size == 0


def _sizes_in(x: object) -> list[Any]:
    """The sizes in an attribute: numbers from 0 on, and what the run finds."""
    if type(x) is tuple:
        return [size for each in x for size in _sizes_in(each)]
    return [x] if isinstance(x, Dim) or (type(x) is int and x >= 0) else []


class AsSized:
    """A `Sized` of a trace."""

    def __init__(self, trace: Comparing) -> None:
        self.share, self.require_equal = trace.share, trace.require_equal
        self._sized = trace.sized

    def __call__(self, x: Tensor) -> Any:
        return self._sized(x)
