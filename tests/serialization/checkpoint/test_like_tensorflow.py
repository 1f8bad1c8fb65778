"""The same small programs here and on TensorFlow, whose answers are stored."""

from __future__ import annotations

import pytest

import graphad as tf
from tests.serialization.checkpoint.cases import CASES, Program, plain
from tests.serialization.checkpoint.foreign import EXPECTED

# TensorFlow takes these for matched, though a value of the file, or a variable of the program, has been left out.
STRICTER = {
    "two_objects_that_became_one": [1.0, ["AssertionError", None, None]],
    "a_module_that_became_a_variable": [0.0, ["AssertionError", "AssertionError", None]],
}


@pytest.mark.filterwarnings("ignore:restore:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_case(name):
    program = Program(tf)
    with program.folder:
        found = plain(CASES[name](program))
    expected = EXPECTED["cases"][name]
    assert found == STRICTER.get(name, expected)
    assert name not in STRICTER or found != expected


def test_all_answers_are_stored():
    assert set(EXPECTED["cases"]) == set(CASES)
