"""`if`, the ternary, `and`, `or` and `not` where a tensor decides: both sides are traced and become one `cond`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.autograph.journal import Journal
from graphad.autograph.state import (
    MARKS,
    NO_RETURN,
    NO_STEP,
    UNBOUND,
    Local,
    Parts,
    Place,
    Reference,
    bound_references,
    locals_of,
)
from graphad.core.convert import lift, lift_own
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, MissingReturnError
from graphad.core.escapes import Deciding
from graphad.core.light import NamedTuple
from graphad.core.tensor import Tensor
from graphad.ops.array.sizes import known_value
from graphad.ops.control.branch import bind_cond, conditional
from graphad.ops.control.parts import Part, completed, lacks, same_structure
from graphad.ops.control.predicates import as_predicate
from graphad.ops.math import logical_and, logical_not
from graphad.ops.state.effects import require

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike

_NUMBERS = (bool, int, float, complex, str, bytes)


def done() -> None:
    """Nothing is left to run of a statement that has been staged."""


def staged_if(
    test: TensorLike,
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    live: Sequence[str],
    others: Sequence[str],
    refs: Sequence[Reference],
    cells: dict[str, Any] | None = None,
) -> Callable[[], Any]:
    """Trace both branches, and assign the values that the predicate selects to the variables that are needed later."""
    predicate = as_predicate("if", test)
    known = known_value(predicate)
    if known is not None:
        return then if known else otherwise
    cells = locals_of((then, otherwise)) if cells is None else cells
    kinds = [(name.rstrip(MARKS), name[-1:]) for name in live]
    places: list[Place] = [Local(name, cells[name]) for name, _ in kinds if name in cells]
    marks = [mark for name, mark in kinds if name in cells]
    references = bound_references(refs)
    places += references
    marks += [""] * len(references)
    hidden = [Local(name, cells[name]) for name in others if name in cells]
    every = [*places, *hidden]
    before = [place.read() for place in every]
    journal = Journal()

    def back() -> None:
        for place, value in zip(every, before, strict=True):
            place.write(value)

    sides: dict[str, list[Side]] = {}
    kept = _keeper(sides)

    def traced(side: str, branch: Callable[[], Any], like: Sequence[Side]) -> Part:
        def run() -> list[Any]:
            back()
            branch()
            return kept(side, [place.read() for place in places], like)

        return Part("if", run, (), side)

    def found() -> bool:
        """Whether the branches have variables of which their code does not tell; these are restored, and count from now on."""
        more = journal.changed(places, same_shape=False)
        for place, value in more:
            place.write(value)
        end = len(places)
        places.extend(place for place, _ in more)
        marks.extend("" for _ in more)
        every[end:end] = [place for place, _ in more]
        before[end:end] = [value for _, value in more]
        return bool(more)

    with Deciding(), journal:
        try:
            parts = _both(traced, then, otherwise, sides, found)
            now = [
                growing(old, a.value, b.value)
                for old, a, b in zip(before, sides["then"], sides["else"], strict=False)
            ]
            if any(x is not old for x, old in zip(now, before, strict=False)):  # lists of different lengths
                before[: len(now)] = now
                parts = _both(traced, then, otherwise, sides)
        finally:
            back()
        merged = Merge(
            [_label(place.name, mark) for place, mark in zip(places, marks, strict=True)],
            marks,
            sides["then"],
            sides["else"],
        )
        chosen = merged.finish(predicate, parts)
    for place, value in zip(places, chosen, strict=True):
        place.write(value)
    for place in hidden:
        place.write(UNBOUND)
    return done


def staged_value(
    test: TensorLike,
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    shared: Callable[[], Any] | None = None,
) -> Any:
    """The ternary: the value of the side that the predicate selects; `shared` has the cells of variables that they change."""
    if shared is not None:
        return _value_of_statement(test, then, otherwise, locals_of((shared,)))
    predicate = as_predicate("if", test)
    known = known_value(predicate)
    if known is not None:
        return then() if known else otherwise()
    sides: dict[str, list[Side]] = {}
    kept = _keeper(sides)

    def traced(side: str, branch: Callable[[], Any], like: Sequence[Side]) -> Part:
        def run() -> list[Any]:
            return kept(side, [branch()], like)

        return Part("if", run, (), side)

    journal = Journal()
    changed: list[Any] = []

    def found() -> bool:
        more = journal.changed((), same_shape=False)
        for place, value in more:
            place.write(value)
        changed.extend(more)
        return False

    with Deciding(), journal:
        parts = _both(traced, then, otherwise, sides, found)
        if changed:  # its sides assign what their code does not show
            return _value_of_statement(test, then, otherwise, {})
        merged = Merge([_VALUE], [""], sides["then"], sides["else"])
        return merged.finish(predicate, parts)[0]


_VALUE = "the value of the conditional expression"


def _value_of_statement(
    test: TensorLike, then: Callable[[], Any], otherwise: Callable[[], Any], cells: dict[str, CellType]
) -> Any:
    """The ternary as an `if`: its value is one more variable."""
    value = CellType()

    def giving(side: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            value.cell_contents = side()

        return run

    chosen = staged_if(
        test, giving(then), giving(otherwise), [*cells, _VALUE], (), (), {**cells, _VALUE: value}
    )
    chosen()
    return value.cell_contents


def growing(before: object, *after: Any) -> Any:
    """A list whose length a tensor decides, as a StagedList (an optional feature); anything else unchanged."""
    if not isinstance(before, list):
        return before
    from graphad.autograph.lists import staged

    return staged(before, *after)


class Side(NamedTuple):
    """A variable at the end of a branch: its value and the parts of that."""

    value: Any
    parts: Parts


def _keeper(sides: dict[str, list[Side]]) -> Callable[[str, list[Any], Sequence[Side]], list[Any]]:
    """A function that records the values at the end of a branch and returns their leaves that go into the graph."""

    def keep(side: str, values: list[Any], like: Sequence[Side]) -> list[Any]:
        if like:
            values = [completed(x, other.value) for x, other in zip(values, like, strict=True)]
        sides[side] = [Side(value, Parts(value)) for value in values]
        return [
            lift_own(leaf)
            for _, parts in sides[side]
            for leaf, dynamic in zip(parts.leaves, parts.dynamic, strict=True)
            if dynamic
        ]

    return keep


def _both(
    traced: Callable[..., Part],
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    sides: dict[str, list[Side]],
    found: Callable[[], bool] = lambda: False,
) -> list[Part]:
    """Trace both sides; again with the variables that were `found`; the first again if the second determined the parts of an
    incomplete value."""
    first = traced("then", then, ())
    has_more = found()
    second = traced("else", otherwise, () if has_more else sides["then"])
    if found() or has_more:
        # Not repeated until nothing is found: objects that are made inside bring new variables each time.
        return _both(traced, then, otherwise, sides)
    if any(lacks(a.value, b.value) for a, b in zip(sides["then"], sides["else"], strict=True)):
        first = traced("then", then, sides["else"])
    return [first, second]


class Merge:
    """Merges the values of variables at the end of two branches.

    Args:
      names: The names of the variables.
      marks: See `state.MARKS`.
      then, otherwise: Their values at the end of the branches.
    """

    def __init__(
        self,
        names: Sequence[str],
        marks: Sequence[str],
        then: Sequence[Side],
        otherwise: Sequence[Side],
    ) -> None:
        self._names = names
        self._marks = marks
        self._then = then
        self._otherwise = otherwise

    def finish(self, predicate: Tensor, parts: Sequence[Part]) -> list[Any]:
        """The values after the branches."""
        chosen: tuple[list[int], list[int]] = [], []  # outputs of the two graphs, -1 for zeros
        starts = [0, 0]
        plans: list[Any] = []
        part_outputs: list[list[Any]] = []
        for name, mark, (a, ours), (b, theirs) in zip(
            self._names, self._marks, self._then, self._otherwise, strict=True
        ):
            offsets = [_offsets(ours, starts[0]), _offsets(theirs, starts[1])]
            starts = [starts[0] + sum(ours.dynamic), starts[1] + sum(theirs.dynamic)]
            if a is UNBOUND and b is UNBOUND:
                plans.append((UNBOUND, None))
                continue
            gap = self._gap(mark, a, b)
            if gap is not None:
                if (a, b)[gap] is NO_STEP and (a, b)[1 - gap] is not None:
                    require(predicate if gap else logical_not(predicate), _NEEDS_STEP, ())
                plans.append(self._with_gap(gap, ours, theirs, offsets, chosen))
                continue
            if mark == "?" and (a is UNBOUND or b is UNBOUND):
                plans.append((UNBOUND, None))
                continue
            self._check(name, a, b, ours, theirs)
            leaves: list[Any] = []
            for k, (x, y) in enumerate(zip(ours.leaves, theirs.leaves, strict=True)):
                if x is y or (
                    type(x) is type(y) and isinstance(x, _NUMBERS) and x == y and repr(x) == repr(y)
                ):
                    leaves.append((False, x))
                    continue
                if not (ours.dynamic[k] and theirs.dynamic[k]):
                    raise ArgumentTypeError(
                        f"'{name}' is {_shown(x)} at the end of the main branch, but {_shown(y)} at the end of the else "
                        "branch; where a tensor decides, values that differ must be tensors."
                    )
                i, j = offsets[0][k], offsets[1][k]
                first, second = (
                    part.graph.output_specs[n].dtype for part, n in zip(parts, (i, j), strict=True)
                )
                if first is not second:
                    raise DTypeError(
                        f"'{name}' has dtype {first.name} in the main branch, but dtype {second.name} in the else branch. "
                        "A tensor decides, so both need one dtype: tf.cast one of them."
                    )
                leaves.append((True, len(chosen[0])))
                chosen[0].append(i)
                chosen[1].append(j)
            plans.append((ours, leaves))
        for side in (0, 1):
            other = parts[1 - side].graph.output_specs
            part_outputs.append(
                [other[chosen[1 - side][k]] if i < 0 else i for k, i in enumerate(chosen[side])]
            )
        for part, wanted in zip(parts, part_outputs, strict=True):
            part.choose(wanted)
        outputs = bind_cond(predicate, *parts)
        return [
            plan if leaves is None else plan.build([outputs[x] if into else x for into, x in leaves])
            for plan, leaves in plans
        ]

    def _gap(self, mark: str, a: object, b: object) -> int | None:
        """The side that has no return value, because it does not return yet."""
        if mark != "!":
            return None
        if (a is NO_STEP) != (b is NO_STEP):
            other = b if a is NO_STEP else a
            return int((a is NO_STEP) == (other is UNBOUND))
        if a is NO_RETURN and b is not NO_RETURN:
            if b is not None and b is not UNBOUND:
                raise MissingReturnError(_NO_RETURN)
            return 0 if b is None else 1
        if b is NO_RETURN and a is not NO_RETURN:
            if a is not None and a is not UNBOUND:
                raise MissingReturnError(
                    "the else branch must also have a return statement. A tensor decides whether the function returns here, so "
                    "it returns a value on every way through it."
                )
            return 1 if a is None else 0
        return 0 if a is UNBOUND else 1 if b is UNBOUND else None

    def _with_gap(
        self,
        gap: int,
        ours: Parts,
        theirs: Parts,
        offsets: Sequence[list[int]],
        chosen: tuple[list[int], list[int]],
    ) -> tuple[Parts, list[Any]]:
        """A value that only one side has; on the other side zeros replace it, which nothing reads."""
        there = theirs if gap == 0 else ours
        leaves: list[Any] = []
        for k, leaf in enumerate(there.leaves):
            if not there.dynamic[k]:
                leaves.append((False, leaf))
                continue
            leaves.append((True, len(chosen[0])))
            chosen[1 - gap].append(offsets[1 - gap][k])
            chosen[gap].append(-1)
        return there, leaves

    def _check(self, name: str, a: object, b: object, ours: Parts, theirs: Parts) -> None:
        for mine, side in ((a, "main"), (b, "else")):
            if mine is UNBOUND:
                raise InvalidArgumentError(
                    f"'{name}' must also be initialized in the {side} branch. A tensor decides, so both are traced: give "
                    f"'{name}' a value before the `if`, or in both."
                )
        for mine, side in ((a, "main"), (b, "else")):
            if mine is None and not (a is None and b is None):
                raise InvalidArgumentError(
                    f"'{name}' is None at the end of the {side} branch. A tensor decides, so both give tensors of one dtype."
                )
        if not same_structure(ours.structure, theirs.structure):
            raise ArgumentTypeError(
                f"'{name}' must have the same nested structure in the main and else branches: it is {_nest(ours)} in the "
                f"main branch and {_nest(theirs)} in the else branch."
            )


_NO_RETURN = (
    "the function returns a value on one path and none on the other, and a tensor decides which: the else branch must "
    "also have a return statement (a return statement cannot be placed inside this TensorFlow loop unless a value is "
    "returned after the loop too)."
)


_NEEDS_STEP = (
    "assertion failed: the loop must iterate at least once to initialize the function return value; it took no step, and "
    "nothing is returned behind it."
)


def _label(name: str, mark: str) -> str:
    return "the return value" if mark == "!" else name


def _offsets(parts: Parts, start: int) -> list[int]:
    """The output number of each leaf in a branch."""
    out = []
    for dynamic in parts.dynamic:
        out.append(start if dynamic else -1)
        start += dynamic
    return out


def _nest(parts: Parts) -> str:
    from graphad.ops.control.parts import Nest

    return str(Nest(parts.build(parts.leaves)))


def _shown(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 60 else f"a {type(x).__name__}"


# -- logic -----------------------------------------------------------------------------------------------------------------


def none_of(flags: Sequence[Any]) -> Tensor:
    """Whether no flag is set."""
    out = logical_not(as_predicate("not", flags[0]))
    for flag in flags[1:]:
        out = logical_and(out, logical_not(as_predicate("not", flag)))
    return out


def staged_and(
    first: Tensor, others: Sequence[Callable[[], Any]], shared: Callable[[], Any] | None = None
) -> Any:
    """`first and ...`: the other operands run only if the first is true."""
    from graphad.autograph.operators import and_

    return _decided(
        as_predicate("and", first),
        lambda: as_predicate("and", and_(others[0](), *others[1:], shared=shared)),
        lambda: lift(np.False_),
        shared,
    )


def staged_or(
    first: Tensor, others: Sequence[Callable[[], Any]], shared: Callable[[], Any] | None = None
) -> Any:
    """`first or ...`: the other operands run only if the first is false."""
    from graphad.autograph.operators import or_

    return _decided(
        as_predicate("or", first),
        lambda: lift(np.True_),
        lambda: as_predicate("or", or_(others[0](), *others[1:], shared=shared)),
        shared,
    )


def _decided(
    test: Tensor,
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    shared: Callable[[], Any] | None,
) -> Any:
    return (
        conditional(test, then, otherwise) if shared is None else staged_value(test, then, otherwise, shared)
    )
