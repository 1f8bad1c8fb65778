"""The results of TensorFlow's small functions and objects: shapes, specs, dtypes, nests, scopes, settings, attributes of
tensors.

The expressions stand in `expressions.txt`, one in a line; a line of several statements leaves its result in R. `seen` is a list
for what a traced function sees. Written by `python tests/oracle/expressions.py` in an environment with TensorFlow; the test
reads the data and imports no TensorFlow.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SOURCE = HERE / "expressions.txt"
FILE = HERE / "data" / "expressions.json"


class Values:
    """Things that expressions use and neither library has."""

    Pair = namedtuple("Pair", "x y")
    Twin = namedtuple("Twin", "x y")
    Ordered = OrderedDict
    Path = Path


def expressions() -> dict[str, list[str]]:
    """The lines by heading."""
    groups: dict[str, list[str]] = {}
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            lines = groups.setdefault(line.removeprefix("# "), [])
        elif line.strip():
            lines.append(line)
    return groups


def result(line: str, tf: Any) -> str:
    """The result of a line as text; for an error its built-in Python classes."""
    names = {"tf": tf, "np": np, "seen": [], "values": Values, "R": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = eval(compile(line, "<expression>", "eval"), names)
            except SyntaxError:
                exec(compile(line, "<expression>", "exec"), names)
                value = names["R"]
    except Exception as error:
        own = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        return f"raises {' '.join(own[: own.index('Exception')])}"
    return shown(value)


def shown(x: Any) -> str:
    """A value as text in which the libraries' names do not occur."""
    if type(x) in (list, tuple):
        return f"{'[' if type(x) is list else '('}{', '.join(map(shown, x))}{']' if type(x) is list else ')'}"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(value)}" for key, value in x.items()) + "}"
    if callable(getattr(x, "numpy", None)) and not isinstance(x, type):
        array = np.asarray(x)
        return f"tensor {array.tolist()} {array.dtype}"
    if isinstance(x, np.ndarray | np.generic):
        return f"array {np.asarray(x).tolist()} {x.dtype}"
    return repr(x)


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    found = {line: result(line, tf) for lines in expressions().values() for line in lines}
    lines = ",\n".join(f"{json.dumps(line)}: {json.dumps(text)}" for line, text in found.items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(found)} expressions of TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
