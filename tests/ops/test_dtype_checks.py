"""A dtype that does not fit is refused by one class of error, in one wording, whichever op it is."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import DTypeError

ROOT = Path(__file__).parents[2]
F, D = np.ones([2, 2], np.float32), np.ones([2, 2], np.float64)
I = np.zeros([1, 1], np.int32)

DIFFERENT: dict[str, Any] = {
    "concat: tensor 0 has dtype float32, tensor 1 has float64": lambda f, d, i: tf.concat([f, d], 0),
    "stack: tensor 0 has dtype float32, tensor 1 has float64": lambda f, d, i: tf.stack([f, d]),
    "pad: constant_values have dtype float64, tensor has float32": lambda f, d, i: tf.pad(
        f, [[1, 1], [0, 0]], constant_values=d[0, 0]
    ),
    "tensor_scatter_nd_update: updates have dtype float64, tensor has float32": (
        lambda f, d, i: tf.tensor_scatter_nd_update(f, i, d[:1])
    ),
    "set_diag: diagonal has dtype float64, input has float32": lambda f, d, i: tf.linalg.set_diag(f, d[0]),
}
NEEDED: dict[str, Any] = {
    "where: condition has dtype float32; a bool dtype is needed": lambda f, d, i: tf.where(f, f, f),
    "indices have dtype float32; an integer dtype is needed": lambda f, d, i: tf.gather(f, f),
    "sin: x has dtype int32; a float or complex dtype is needed": lambda f, d, i: tf.sin(i),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("words", [*DIFFERENT, *NEEDED])
def test_what_is_refused_is_a_dtype_error_in_the_same_words(words: str, traced: bool) -> None:
    call = (DIFFERENT | NEEDED)[words]
    with pytest.raises(DTypeError) as caught:
        (tf.function(call) if traced else call)(tf.constant(F), tf.constant(D), tf.constant(I))
    said = str(caught.value)
    assert words in said
    assert ("; cast one of them." if words in DIFFERENT else "Use tf.cast(") in said


def test_infer_rules_compare_no_dtypes_themselves() -> None:
    """`core/kinds.py` does; what is left compares specs as a whole."""
    wrong = []
    for path in sorted((ROOT / "graphad" / "ops").rglob("*.py")):
        if path.parent.name == "control":
            continue  # loops say what a value was before and after a step
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare | ast.UnaryOp)):
                continue
            raises = any(
                isinstance(inner, ast.Raise) and "has dtype" in ast.unparse(inner) for inner in node.body
            )
            compares = "dtype is not" in ast.unparse(node.test) or "dtype.is_bool" in ast.unparse(node.test)
            if raises and compares:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def test_the_dtype_that_is_needed_is_told_in_one_place() -> None:
    """Whatever the check is: of an input, of a dtype that is asked for, in a rule or in a public function."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "graphad").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise)
        and "DTypeError(" in (said := ast.unparse(node))
        and "is needed" in said
    ]
    assert {place.split(":")[0] for place in found} == {"graphad/core/kinds.py"}
