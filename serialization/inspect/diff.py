"""The differences between two saved models: objects, variables with their values, functions and graphs. Nothing is executed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from serialization.inspect.describe import describe
from serialization.inspect.text import lines_of, plain
from serialization.storage.read import read_model


def differences(
    one: str | os.PathLike[str], other: str | os.PathLike[str], links: str = "refuse"
) -> Iterator[str]:
    """Lines that say how two models differ; none where they do not.

    Args:
      one, other: The models' directories.
      links: "refuse" or "follow" files that are links.
    Raises: LoadError: one of them is no sound model.

    First a unified diff of `show --graphs` without source lines and file layout; then, for variables of the same place, dtype
    and shape, how much their values differ.
    """
    before, after = _lines(one, links), _lines(other, links)
    yield from difflib.unified_diff(
        before, after, fromfile=plain(os.fspath(one)), tofile=plain(os.fspath(other)), lineterm="", n=1
    )
    (a, values_a), (b, values_b) = (_variables(path, links) for path in (one, other))
    for name in [name for name in a if name in b]:
        x, y = values_a[a[name]], values_b[b[name]]
        if x.dtype == y.dtype and x.shape == y.shape and x.tobytes() != y.tobytes():
            yield f"values of {plain(name)}: {_apart(np.asarray(x), np.asarray(y))}"


def _lines(path: str | os.PathLike[str], links: str) -> list[str]:
    found = describe(path, True, links)
    found["payloads"] = []
    for graph in found["graphs"]:
        for node in graph["nodes"]:
            node["line"] = None
    found["manifest"], found["path"] = {"bytes": 0, "sha256": ""}, ""
    lines = list(lines_of(found))
    return lines[1:2] + lines[4:]  # the header concerns the file only


def _variables(path: str | os.PathLike[str], links: str) -> tuple[dict[str, str], Any]:
    """The stored tensor of each variable by its place in the model, and the arrays."""
    _, arrays = read_model(path, links=links)
    return {v["tensor"]: v["tensor"] for v in describe(path, False, links)["variables"]}, arrays


def _apart(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> str:
    if x.dtype.kind == "V":  # bfloat16 as it is stored: the upper half of a float32
        x, y = (np.frombuffer(a.tobytes(), np.uint16).astype(np.uint32) << 16 for a in (x, y))
        x, y = x.view(np.float32), y.view(np.float32)
    differ = int((x != y).sum())
    if x.dtype.kind == "b":
        return f"{differ} of {x.size} differ"
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    gap = np.abs(x.astype(wide) - y.astype(wide))
    return f"{differ} of {x.size} differ, by at most {np.nanmax(gap, initial=0.0):.6g}"
