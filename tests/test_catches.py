"""Whoever catches every exception says why: a broken rule must not look like one that has no answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROAD = {"Exception", "BaseException"}
# What a mistake in a rule raises. A handler that names one of these and nothing else catches it silently.
MISTAKES = {"AttributeError", "KeyError", "IndexError", "LookupError", "TypeError", "NameError"}


def broad_catches(text: str) -> Iterator[int]:
    """The lines of the handlers that catch everything, do not end by raising the same again, and do not say why in a comment."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler) and (
            node.type is None or getattr(node.type, "id", "") in BROAD
        ):
            last = node.body[-1]
            again = isinstance(last, ast.Raise) and last.exc is None
            if not again and "#" not in lines[node.lineno - 1]:
                yield node.lineno


def caught_around_rules(text: str) -> Iterator[int]:
    """The lines of the handlers that catch what a mistake raises, around a call of a rule."""
    rules = {
        "vjp",
        "jvp",
        "batch",
        "batch_given",
        "rows",
        "infer",
        "fold",
        "settled",
        "expand",
        "lower",
        "augmented",
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Try):
            called = {
                x.func.attr
                for part in node.body
                for x in ast.walk(part)
                if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)
            }
            for handler in node.handlers:
                kinds = (
                    {x.id for x in ast.walk(handler.type) if isinstance(x, ast.Name)}
                    if handler.type
                    else set()
                )
                raises = any(isinstance(x, ast.Raise) for x in ast.walk(handler))
                if called & rules and kinds & MISTAKES and not raises:
                    yield handler.lineno


def _sources() -> Iterator[tuple[str, str]]:
    for room in ("graphad", "serialization"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if not path.is_relative_to(
                ROOT / "graphad" / "compiler"
            ):  # which runs on without what it could not compile
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_who_catches_everything_says_why():
    found = [f"{path}:{line}" for path, text in _sources() for line in broad_catches(text)]
    assert not found, "catch what is meant, or say in a comment of that line why it may be anything"


def test_no_mistake_in_a_rule_is_taken_for_an_answer():
    found = [f"{path}:{line}" for path, text in _sources() for line in caught_around_rules(text)]
    assert not found, "raise UnansweredError or RuleError where there is no answer, and catch that"


def test_such_handlers_are_found():
    assert list(broad_catches("try:\n    f()\nexcept Exception:\n    pass\n")) == [3]
    assert list(broad_catches("try:\n    f()\nexcept Exception:  # code of others\n    pass\n")) == []
    assert list(caught_around_rules("try:\n    op.rows(a)\nexcept (TypeError, E):\n    y = None\n")) == [3]
    assert list(caught_around_rules("try:\n    op.rows(a)\nexcept UnansweredError:\n    y = None\n")) == []
