"""graphad's own `NamedTuple` does what its records need as `typing.NamedTuple` does it, and a tape is of a plain class."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any

import pytest

from graphad import nest
from graphad.compiler.rows import About, Argument, Row
from graphad.core.light import NamedTuple
from graphad.gradient.tape import GradientTape
from tests.support.work import calls_in


class Ours(NamedTuple):
    """Two fields and one with a default."""

    a: int
    b: str
    c: float = 2.5

    @property
    def twice(self) -> int:
        return 2 * self.a


class Theirs(typing.NamedTuple):
    """The same."""

    a: int
    b: str
    c: float = 2.5

    @property
    def twice(self) -> int:
        return 2 * self.a


@pytest.mark.parametrize(
    ("args", "named"),
    [((1, "x"), {}), ((1, "x", 3.0), {}), ((1,), {"b": "y"}), ((), {"c": 1.0, "b": "y", "a": 7})],
)
def test_a_named_tuple_is_that_of_python(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = Ours(*args, **named), Theirs(*args, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.a, ours.b, ours.c, ours.twice) == (theirs.a, theirs.b, theirs.c, theirs.twice)
    assert ours == tuple(theirs)
    assert hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._fields == theirs._fields
    assert ours._replace(b="z") == Ours(ours.a, "z", ours.c)
    a, b, c = ours
    assert (a, b, c) == theirs
    assert not hasattr(ours, "__dict__")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        ((1,), {}),
        ((1, "x", 2.0, 3), {}),
        ((1, "x"), {"a": 2}),
        ((1, "x"), {"d": 2}),
        ((1,), {"c": 2.0}),
    ],
)
def test_wrong_fields_are_refused(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*args, **named)


def test_fields_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError):
        Ours(1, "x").a = 2  # type: ignore[misc]


def test_copies_and_pickles_are_equal() -> None:
    row = Row(1, [2, 3], (Argument(0, 1),), about=About("add", None))
    for again in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert type(again) is Row
        assert again == row
        assert type(again.arguments[0]) is Argument


class OursFurther(Ours):
    """A class with the fields of another one."""

    def thrice(self) -> int:
        return 3 * self.a


class TheirsFurther(Theirs):
    """The same."""

    def thrice(self) -> int:
        return 3 * self.a


@pytest.mark.parametrize(("ours", "theirs"), [(Ours, Theirs), (OursFurther, TheirsFurther)])
def test_what_programs_ask_of_named_tuples_is_answered_alike(ours: Any, theirs: Any) -> None:
    a, b = ours(1, "x"), theirs(1, "x")
    assert tuple(a) == tuple(b)
    assert a._asdict() == b._asdict()
    assert ours._fields == theirs._fields
    assert ours.__match_args__ == theirs.__match_args__
    assert type(ours._make(iter([3, "y", 1.0]))) is ours
    assert ours._make(iter([3, "y", 1.0])) == theirs._make(iter([3, "y", 1.0]))
    match a:
        case Ours(first, second):
            assert (first, second) == (1, "x")
        case _:
            pytest.fail("the fields are not those of a pattern")
    for wrong in ([1, "x"], [1, "x", 2.0, 3]):
        for kind in (ours, theirs):
            with pytest.raises(TypeError):
                kind._make(wrong)
    assert pickle.loads(pickle.dumps(a)) == a


def test_nests_of_named_tuples_are_rebuilt_with_all_fields() -> None:
    assert nest.map_structure(lambda x: 2 * x, Ours(1, "x")) == Ours(2, "xx", 5.0)


def test_a_definition_takes_few_steps() -> None:
    def define(base: Any) -> Any:
        return lambda: type(base)(
            "Made", (base,), {"__annotations__": {"a": "int", "b": "int"}, "__module__": "m"}
        )

    assert calls_in(define(NamedTuple)) < 20  # `typing.NamedTuple` makes hundreds


def test_a_tape_is_a_plain_class() -> None:
    assert type(GradientTape) is type
