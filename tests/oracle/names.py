"""The public names of TensorFlow in the namespaces that graphad has too, and the page that lists the missing ones.

python tests/oracle/names.py --tensorflow     writes the names, in an environment with TensorFlow
python -m tests.oracle.names                  writes the lists of docs/not-there.md
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

FILE = Path(__file__).parent / "data" / "names.json"
PAGE = Path(__file__).parents[2] / "docs" / "not-there.md"
BEGIN, END = "<!-- names: written by python -m tests.oracle.names -->\n", "<!-- end of names -->\n"


def ours(path: str) -> str:
    """Where graphad has a namespace of TensorFlow's."""
    return f"graphad.{path}".rstrip(".").replace("graphad.experimental.numpy", "graphad.numpy")


def is_there(path: str, name: str) -> bool:
    return name in importlib.import_module(ours(path)).__all__


def left_out() -> dict[str, dict[str, list[str]]]:
    """The missing names, by reason and namespace."""
    found: dict[str, dict[str, list[str]]] = {}
    for path, names in json.loads(FILE.read_text(encoding="utf-8")).items():
        for name in names:
            if not is_there(path, name):
                reason = _reason(ours(path), name) or ""
                found.setdefault(reason, {}).setdefault(path, []).append(name)
    return found


def _reason(package: str, name: str) -> str | None:
    """Why `package.name` is left out; None where neither it nor its namespace has a reason."""
    from graphad.core import absent

    path = f"{package}.{name}"
    return absent._REASONS.get(path) or absent._REASONS.get(name) or absent.reason_of_space(package)


def text() -> str:
    """The lists of the page."""
    lines = []
    for reason, spaces in sorted(left_out().items()):
        lines.append(f"\n**{reason[0].upper()}{reason[1:]}**\n" if reason else "\n**No reason**\n")
        for path, names in spaces.items():
            shown = ", ".join(f"`{name}`" for name in names)
            lines.append(f"* {f'`{path}`' if path else 'the root'}: {shown}")
    return "\n".join(lines) + "\n\n"


def page() -> str:
    """The page with its lists written anew."""
    whole = PAGE.read_text(encoding="utf-8")
    before, _, rest = whole.partition(BEGIN)
    return before + BEGIN + text() + END + rest.partition(END)[2]


def _of_tensorflow() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    import tensorflow as tf

    from tests.oracle.signatures import found, namespaces

    data = {}
    for path in [*namespaces(), "experimental.numpy", "experimental.numpy.random"]:
        if path == "compat.v2":
            continue  # the root again
        try:
            names = dir(found(tf, path))
        except (AttributeError, ImportError):
            continue
        data[path] = [name for name in names if not name.startswith("_")]
    lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(data[path])}" for path in data)
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{sum(map(len, data.values()))} names of TensorFlow {tf.__version__}")


if __name__ == "__main__":
    if "--tensorflow" in sys.argv:
        _of_tensorflow()
    else:
        PAGE.write_text(page(), encoding="utf-8")
