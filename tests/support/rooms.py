"""Lines and ops of each room of the tree at two commits, and of the class of each op, for decision 0025.

    python -m tests.support.rooms BEFORE [AFTER]

BEFORE is the commit before the first op with a schema, AFTER the work tree if it is left out.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPS = """
import json
import graphad
from graphad.core import registry
print(json.dumps({name: kind.__module__ for name, kind in registry.all_ops().items() if kind.__module__.startswith("graphad.")}))
"""


def tree_of(commit: str, folder: Path) -> Path:
    """The files of a commit in an empty folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def room_of(path: Path) -> str:
    """The room of a file, by its path within the tree: families of ops are rooms of their own."""
    parts = path.parts[:-1]
    if parts[0] == "serialization":
        return "serialization"
    return "/".join(parts[1 : 3 if parts[1:2] == ("ops",) else 2]) or "(files of the root)"


def lines_of(tree: Path) -> tuple[Counter[str], Counter[str]]:
    """The lines of each room, and those that are neither empty, nor comments, nor docstrings."""
    lines: Counter[str] = Counter()
    code: Counter[str] = Counter()
    for path in [*tree.glob("graphad/**/*.py"), *tree.glob("serialization/**/*.py")]:
        text, room = path.read_text(encoding="utf-8"), room_of(path.relative_to(tree))
        lines[room] += text.count("\n")
        code[room] += len(set(_code_lines(text)))
    return lines, code


def _code_lines(text: str) -> Iterator[int]:
    told = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#") and number not in told:
            yield number


def ops_of(tree: Path) -> dict[str, str]:
    """name -> module of every op."""
    done = subprocess.run(
        [sys.executable, "-c", OPS],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines_of_classes(tree: Path) -> dict[str, int]:
    """name -> lines of the class of every op that is written as a class."""
    found = {}
    for path in tree.glob("graphad/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and (name := _name_of(node)) is not None:
                found[name] = (node.end_lineno or node.lineno) - node.lineno + 1 + len(node.decorator_list)
    return found


def _name_of(node: ast.ClassDef) -> str | None:
    """The op's name in a class: `name = "reshape"` or `name, version = "reshape", 2`."""
    for line in node.body:
        if isinstance(line, ast.Assign):
            targets, value = line.targets[0], line.value
            if isinstance(targets, ast.Tuple) and isinstance(value, ast.Tuple):
                targets, value = targets.elts[0], value.elts[0]
            if isinstance(targets, ast.Name) and targets.id == "name" and isinstance(value, ast.Constant):
                return str(value.value)
    return None


def main(before: str, after: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        trees = tree_of(before, Path(one)), ROOT if after is None else tree_of(after, Path(two))
        lines = [lines_of(tree) for tree in trees]
        ops = [ops_of(tree) for tree in trees]
        rooms = [
            Counter(room_of(Path(*module.split(".")).with_suffix(".py")) for module in found.values())
            for found in ops
        ]
        classes = [lines_of_classes(tree) for tree in trees]
    print("| room | lines before | after | of these code | ops before | after |")
    print("|---|---|---|---|---|---|")
    for room in sorted({*lines[0][0], *lines[1][0]}):
        row = [lines[0][0][room], lines[1][0][room], lines[1][1][room], rooms[0][room], rooms[1][room]]
        print(f"| `{room}` | " + " | ".join(f"{n:,}" if n else "" for n in row) + " |")
    totals = [lines[0][0].total(), lines[1][0].total(), lines[1][1].total(), len(ops[0]), len(ops[1])]
    print("| all | " + " | ".join(f"{n:,}" for n in totals) + " |")
    gone, new = sorted({*ops[0]} - {*ops[1]}), sorted({*ops[1]} - {*ops[0]})
    print(f"\nops that are gone ({len(gone)}): {', '.join(gone)}\nnew ones ({len(new)}): {', '.join(new)}\n")
    for name in sorted({*classes[0], *classes[1]}):
        print(name, *[found.get(name, "-") for found in classes])


if __name__ == "__main__":
    main(*sys.argv[1:3])
