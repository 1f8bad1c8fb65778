"""What CONTRIBUTING.md shows of the code is the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def shown() -> list[tuple[str, str]]:
    """(path, code) of every block of Python; the path is the last one named in the text before it."""
    found, path = [], ""
    for part in re.split(r"(```python\n.*?```)", TEXT, flags=re.S):
        if part.startswith("```python"):
            found.append((path, part.removeprefix("```python\n").removesuffix("```")))
        else:
            path = ([path] + re.findall(r"`([\w/]+\.pyi?)`", part))[-1]
    return found


@pytest.mark.parametrize(
    "path, code", shown(), ids=lambda part: part if part.endswith((".py", ".pyi")) else ""
)
def test_blocks_of_code_are_those_of_the_files(path: str, code: str) -> None:
    assert f"\n{code}" in "\n" + (ROOT / path).read_text(encoding="utf-8")


def test_the_whole_class_is_shown() -> None:
    """All of the op's module but its head, so that nobody has to guess the rest."""
    path = "graphad/ops/math/cardinal_sine.py"
    text = (ROOT / path).read_text(encoding="utf-8")
    body = text[text.index("@define") :]
    for code in [code for place, code in shown() if place == path]:
        body = body.replace(code, "")
    assert not body.strip()
