"""Parameters have TensorFlow's names and stand where TensorFlow has them.

A parameter that TensorFlow does not have at its place must be given by name, so that no argument is taken for another one.
"""

from __future__ import annotations

import inspect
import json

import pytest

import graphad as tf
from tests.oracle.signatures import FILE, found, names, parameters

THEIRS = json.loads(FILE.read_text(encoding="utf-8"))

# Deliberate: what is different, and why.
_OPTIONS = "graphad's files are its own, and so are their options"
DIFFERENCES = {
    "DType": "made by graphad alone; `as_dtype` gives them",
    "dtypes.DType": "made by graphad alone; `as_dtype` gives them",
    **dict.fromkeys(
        ("fftnd", "ifftnd", "rfftnd", "irfftnd"), "those of `signal`; TensorFlow has its bare ops there"
    ),
    "saved_model.LoadOptions": _OPTIONS,
    "saved_model.SaveOptions": _OPTIONS,
}
POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def _misplaced(path: str) -> list[str]:
    """What an argument given as TensorFlow takes it would go to instead, or where it would not be taken."""
    ours, theirs = parameters(found(tf, path)), THEIRS[path]
    if ours is None or theirs is None:
        return []
    wrong = []
    anything = {kind for _, kind, _ in theirs} >= {"VAR_POSITIONAL", "VAR_KEYWORD"}
    places = [name for name, kind, _ in theirs if kind in POSITIONAL]
    keywords = {name for name, kind, _ in theirs if kind != "VAR_POSITIONAL"}
    for position, (name, kind, has_default) in enumerate(ours):
        if kind in ("VAR_POSITIONAL", "VAR_KEYWORD") or anything:
            continue
        if kind in POSITIONAL and position < len(places) and places[position] != name:
            wrong.append(f"{name} is argument {position}, where TensorFlow has {places[position]}")
        if name not in keywords and not has_default:
            wrong.append(f"{name} must be given, and TensorFlow has none")
    mine = {name for name, _, _ in ours}
    open_ended = any(kind == "VAR_KEYWORD" for _, kind, _ in ours)
    wrong += [
        f"{name} must be given in TensorFlow, and is not taken"
        for name, kind, has_default in theirs
        if kind in POSITIONAL and not has_default and name not in mine and not open_ended
    ]
    return wrong


@pytest.mark.parametrize("path", sorted(THEIRS))
def test_parameters_have_tensorflows_names_and_order(path: str) -> None:
    wrong = _misplaced(path)
    if path in DIFFERENCES:
        assert DIFFERENCES[path]
        assert wrong, "listed as different, but it is not"
    else:
        assert not wrong, "; ".join(wrong)


def test_every_public_name_that_tensorflow_has_is_looked_at() -> None:
    """Names that are not in the data are graphad's own; a function of TensorFlow's must not be a module here."""
    own = set(names(tf)) - set(THEIRS)
    assert own, "graphad has names of its own"
    for path in ("nn.pool", "nn.convolution"):
        assert not inspect.ismodule(found(tf, path))
