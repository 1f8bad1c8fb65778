"""Lines and ops of each room of the tree at some commits, and lines of the class of each op, for decision 0025.

    python -m tests.support.rooms fa080daa^ 3144a291 HEAD

The first is the commit before the first op with a schema, the second that which removed the last of the twins.
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
from io import BytesIO
from itertools import pairwise
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


def lines_of(tree: Path) -> Counter[str]:
    """The lines of each room."""
    lines: Counter[str] = Counter()
    for path in [*tree.glob("graphad/**/*.py"), *tree.glob("serialization/**/*.py")]:
        lines[room_of(path.relative_to(tree))] += path.read_text(encoding="utf-8").count("\n")
    return lines


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


def main(*commits: str) -> None:
    lines, ops, classes = [], [], []
    for commit in commits:
        with tempfile.TemporaryDirectory() as folder:
            tree = tree_of(commit, Path(folder))
            lines.append(lines_of(tree))
            ops.append(ops_of(tree))
            classes.append(lines_of_classes(tree))
    counts = [
        Counter(room_of(Path(*module.split(".")).with_suffix(".py")) for module in found.values())
        for found in ops
    ]
    print(
        f"| room | {' | '.join(f'lines {c}' for c in commits)} | {' | '.join(f'ops {c}' for c in commits)} |"
    )
    print("|---" * (1 + 2 * len(commits)) + "|")
    for room in sorted(set().union(*lines)):
        row = [table[room] for table in (*lines, *counts)]
        print(f"| `{room}` | " + " | ".join(f"{n:,}" if n else "" for n in row) + " |")
    totals = [table.total() for table in (*lines, *counts)]
    print("| all | " + " | ".join(f"{n:,}" for n in totals) + " |")
    for before, after in pairwise(ops):
        print(
            f"\ngone: {', '.join(sorted({*before} - {*after}))}\nnew: {', '.join(sorted({*after} - {*before}))}"
        )
    for name in sorted(set().union(*classes)):
        print(name, *[found.get(name, "-") for found in classes])


if __name__ == "__main__":
    main(*sys.argv[1:])
