"""Small functions and objects give what TensorFlow's give, and raise where they raise."""

from __future__ import annotations

import json

import pytest

import graphad as tf
from graphad.core.flags import flags
from tests.oracle.expressions import FILE, expressions, result

THEIRS = json.loads(FILE.read_text(encoding="utf-8"))
LINES = [line for lines in expressions().values() for line in lines]

# Deliberate: what is different, and why.
DIFFERENCES: dict[str, str] = {
    "tf.Variable(1.0).trainable, tf.Variable(1).trainable, tf.Variable(1.0, trainable=False).trainable": (
        "integers are not trained"
    ),
    "tf.TensorSpec([2]).rank": "a spec has its shape's rank, too",
    "tf.function(lambda x: (x.set_shape([2]), seen.append(x.shape.rank), x * 2.0)[2], "
    "input_signature=[tf.TensorSpec([None])])(tf.ones([3]))": "what `set_shape` says is checked at run time",
}


@pytest.mark.parametrize("line", LINES)
def test_expressions_give_what_tensorflow_gives(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "jit", flags.jit)  # which one of them sets
    ours, theirs = result(line, tf), THEIRS[line]
    if line in DIFFERENCES:
        assert DIFFERENCES[line]
        assert ours != theirs, "listed as different, but it is not"
    elif theirs.startswith("raises"):  # who catches TensorFlow's error catches ours
        assert set(theirs.split()) <= set(ours.split())
    else:
        assert ours == theirs


def test_every_stored_result_has_its_expression() -> None:
    assert set(THEIRS) == set(LINES)
    assert len(set(LINES)) == len(LINES)
    assert set(DIFFERENCES) <= set(LINES)
