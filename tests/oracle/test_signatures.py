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

# Deliberate: what is different, and why. A name counts wherever it stands.
_OPTIONS = "graphad's files are its own, and so are their options"
_MADE = "made by graphad alone; `as_dtype` gives them"
_LAST = "the newer function, which takes what was added later by name or last"
DIFFERENCES = {
    "DType": _MADE,
    **dict.fromkeys(
        ("fftnd", "ifftnd", "rfftnd", "irfftnd"), "those of `signal`; TensorFlow has its bare ops there"
    ),
    "saved_model.LoadOptions": _OPTIONS,
    "saved_model.SaveOptions": _OPTIONS,
    "data.Dataset": "made by `from_tensor_slices` and its kin",
    **dict.fromkeys(
        ("compat.v1.Variable",),
        _LAST,
    ),
    **dict.fromkeys(("compat.v1.gradients", "compat.v1.hessians"), _LAST),
    "compat.v1.device": _LAST,
}
_ERRORS = "an error is made with its message"
# Parameters of TensorFlow's with a default that are not taken, or whose default is written otherwise.
NOT_TAKEN = {
    "layout": "there are no distributed tensors",
    "bad_indices_policy": "an index out of range is an error",
    "a_is_sparse": "a hint for one kernel", "b_is_sparse": "a hint for one kernel",
    "grad_a": "for its own derivative", "grad_b": "for its own derivative",
    "var": "what a variable is assigned is said by `assign`",
    "support_partition": "variables are whole", "partitioner": "variables are whole",
    "input_axes": "new in Keras; the fans follow from the shape", "output_axes": "new in Keras; the fans follow from the shape",
    "verify_shape": "shapes are always compared",
    "use_resource": "all variables are resources",
    "collections": "there are no collections",
    "expected_shape": "shapes are inferred",
    "dim": "an older name of `axis`",
    "from_sorted_ids": "predictions are numbers of classes",
    "data_format": "channels stand last",
    "sparse": "only dense tensors are inputs", "ragged": "only dense tensors are inputs", "tensor": "made of shapes alone",
    "input_tensor": "made of shapes alone", "optional": "every input is given",
    "dataset_shape": "windows stand one by one",
}  # fmt: skip
MUST_BE_GIVEN = {
    (path, name)
    for path in (
        "nn.sigmoid_cross_entropy_with_logits",
        "compat.v1.nn.sigmoid_cross_entropy_with_logits",
        "compat.v1.nn.sparse_softmax_cross_entropy_with_logits",
    )
    for name in ("labels", "logits")
}  # None is refused there
SAME_MEANING = {  # (the default here, TensorFlow's): what None stands for there, or another way to write it
    "keepdims": ("False", "None"), "axis": ("-1", "None"), "value": ("0.0", "0"), "label_smoothing": ("0.0", "0"),
    "bias": ("1.0", "1"), "max_value": ("2.0", "2"), "alpha": ("1.0", "1"), "conjugate": ("False", "None"),
}  # fmt: skip
POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def _misplaced(path: str) -> list[str]:
    """What an argument given as TensorFlow takes it would go to instead, or where it would not be taken."""
    ours, theirs = parameters(found(tf, path)), THEIRS[path]
    if ours is None or theirs is None:
        return []
    wrong = []
    anything = {kind for _, kind, *_ in theirs} >= {"VAR_POSITIONAL", "VAR_KEYWORD"}
    places = [name for name, kind, *_ in theirs if kind in POSITIONAL]
    keywords = {name for name, kind, *_ in theirs if kind != "VAR_POSITIONAL"}
    for position, (name, kind, has_default, _) in enumerate(ours):
        if kind in ("VAR_POSITIONAL", "VAR_KEYWORD") or anything:
            continue
        if kind in POSITIONAL and position < len(places) and places[position] != name:
            wrong.append(f"{name} is argument {position}, where TensorFlow has {places[position]}")
        if name not in keywords and not has_default:
            wrong.append(f"{name} must be given, and TensorFlow has none")
    mine = {name for name, *_ in ours}
    open_ended = any(kind == "VAR_KEYWORD" for _, kind, *_ in ours)
    wrong += [
        f"{name} must be given in TensorFlow, and is not taken"
        for name, kind, has_default, _ in theirs
        if kind in POSITIONAL and not has_default and name not in mine and not open_ended
    ]
    return wrong


def _difference(path: str) -> str | None:
    if path.rpartition(".")[0].endswith("errors") or path == "compat.v1.OpError":
        return _ERRORS
    return DIFFERENCES.get(path) or DIFFERENCES.get(path.rpartition(".")[2])


@pytest.mark.parametrize("path", sorted(THEIRS))
def test_parameters_have_tensorflows_names_and_order(path: str) -> None:
    wrong = _misplaced(path)
    assert not wrong or _difference(path), "; ".join(wrong)


def test_what_is_listed_as_different_is() -> None:
    assert [path for path in DIFFERENCES if path in THEIRS and not _misplaced(path)] == []


@pytest.mark.parametrize("path", sorted(THEIRS))
def test_defaults_are_tensorflows_and_no_parameter_is_left_out_without_a_reason(path: str) -> None:
    ours, theirs = parameters(found(tf, path)), THEIRS[path]
    if ours is None or theirs is None or _difference(path):
        return
    mine = {name: (has, default) for name, _, has, default in ours}
    open_ended = any(kind == "VAR_KEYWORD" for _, kind, *_ in ours)
    wrong = []
    for name, kind, has, default in theirs:
        if kind.startswith("VAR") or name in ("name", "self"):
            continue
        if name not in mine:
            if not open_ended and name not in NOT_TAKEN:
                wrong.append(f"{name} is not taken")
        elif has and mine[name][0] and None not in (default, mine[name][1]) and default != mine[name][1]:
            if SAME_MEANING.get(name) != (mine[name][1], default):
                wrong.append(f"{name} is {mine[name][1]}, TensorFlow's {default}")
        elif has and not mine[name][0] and (path, name) not in MUST_BE_GIVEN:
            wrong.append(f"{name} must be given, TensorFlow's is {default}")
    assert not wrong or path.endswith(".add_weight"), "; ".join(
        wrong
    )  # regularizers and constraints are left out


def test_every_public_name_that_tensorflow_has_is_looked_at() -> None:
    """Names that are not in the data are graphad's own; a function of TensorFlow's must not be a module here."""
    own = set(names(tf)) - set(THEIRS)
    assert own, "graphad has names of its own"
    for path in ("nn.pool", "nn.convolution"):
        assert not inspect.ismodule(found(tf, path))
