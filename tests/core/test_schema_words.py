"""Every attribute of every op has a word of the schema that says what it may be, and the words say it right."""

from __future__ import annotations

import re

import pytest

import graphad as gd
from graphad.core.dims import Dim
from graphad.core.registry import all_ops
from graphad.core.schema import kind_of, schema_of
from graphad.gradient.host import HostFunction

BARE = {"int", "float", "complex", "str", "bytes", "object", "Any"}  # types that say nothing of what is meant
OPS = sorted(name for name, kind in all_ops().items() if kind.__module__.startswith("graphad."))


def words_of(declared: str) -> set[str]:
    """The words in an annotation, without the choices of a Literal."""
    return set(re.findall(r"\w+", re.sub(r"Literal\[[^\]]*\]", "", declared)))


@pytest.mark.parametrize("name", OPS)
def test_no_attribute_is_of_a_bare_type(name):
    kind = all_ops()[name]
    bare = {field: text for field, text in kind.declared.items() if words_of(str(text)) & BARE}
    assert not bare, "say what may be there with a word of core/schema.py, or declare one"


@pytest.mark.parametrize("name", OPS)
def test_a_reader_of_files_is_told_what_each_attribute_is(name):
    for field, kind in schema_of(all_ops()[name]).attributes.items():
        assert kind.words, field
        assert not words_of(kind.words) & {"int", "str", "Any"}, f"{field}: {kind.words} is no word of OPS.md"


@pytest.mark.parametrize(
    "declared",
    ["int", "Count | int", "tuple[int, ...]", "tuple[Count, str]", "Given[tuple[int, ...] | None]", "Any"],
)
def test_the_walk_finds_a_bare_type(declared):
    assert words_of(declared) & BARE


@pytest.mark.parametrize("declared", ["Count", "Literal['int', 'str']", "tuple[Literal[1, 2], ...] | None"])
def test_the_walk_passes_words_and_choices(declared):
    assert not words_of(declared) & BARE


@pytest.mark.parametrize(
    ("word", "fitting", "others"),
    [
        ("Offset", [0, -5, 2**63 - 1, -(2**63), Dim.symbol("n")], [2**63, 1.0, None, "1", True, (1,)]),
        ("Limit", [0, -1, -7, 3], [2**63, -(2**63) - 1, 1.5, None, False]),
        ("Step", [1, -1, 10**30], [0, 1.0, None]),
        ("Number", [0, -3, 2.5, -0.0, 2**63 - 1], [2**63, float("inf"), float("nan"), 1j, "1", True, None]),
        ("Places", [(), (0,), (2, 0)], [(1, 1), (-1,), [0], (0.0,), None]),
        ("Text", ["", "x"], [b"x", 1, None, ("x",)]),
        ("Equation", ["ij,jk->ik", "i", "...i->..."], ["i->j", "i,j->ii", "i1", "....", 3, None]),
        ("ClosedRule", [], [3, "rule", None]),
        ("PythonRule", [], [3, "rule", None]),
        ("PythonFunction", [HostFunction(abs, "abs", True)], [3, "abs", None, abs]),
        ("Count | Literal[-1]", [0, 4, -1], [-2, None]),
        ("Bound", [0.5, float("-inf")], [float("nan"), 1, None]),
    ],
)  # fmt: skip
def test_a_word_takes_what_it_says_and_nothing_else(word, fitting, others):
    kind = kind_of(word)
    assert [x for x in fitting if not kind.fits(x)] == []
    assert [x for x in others if kind.fits(x)] == []
    assert all(kind.complaint(x) for x in others)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: gd.print(1.0, summarize=2**70), r"print: summarize is 1180591620717411303424, which is not an integer of"),
        (lambda: gd.linalg.band_part(gd.ones([2, 2]), -(2**70), 0), r"band_part: num_lower is -1180591620717411303424"),
    ],
)  # fmt: skip
def test_an_attribute_out_of_bounds_is_refused_with_its_number(make, text):
    with pytest.raises(gd.errors.InvalidArgumentError, match=text):
        make()
