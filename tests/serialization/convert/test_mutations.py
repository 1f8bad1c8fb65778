"""Whatever is changed in a model, loading it ends with the model or with a LoadError: soon, and without much memory."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serialization.convert.objects import ObjectReader
from serialization.errors import LoadError
from tests.serialization.convert.in_memory import records_of
from tests.serialization.convert.mutations import model_of, mutated, paths, tree_of
from tests.serialization.rich import Rich, signatures
from tests.support.memory import least_peak
from tests.support.work import calls_in

QUIETLY = settings(max_examples=400)


@pytest.fixture(scope="module")
def rich():
    original = Rich()
    model, arrays = records_of(original, signatures(original))
    tree = tree_of(model)
    return tree, paths(tree), arrays


def attempt(tree, arrays):
    """Load a changed tree: True if it is still a model."""
    try:
        model = model_of(tree)
    except OverflowError:
        return False  # msgpack itself has no such integer
    except LoadError as error:
        assert str(error).isascii() and len(str(error)) < 2000
        return False
    try:
        ObjectReader(model, arrays).root()
    except LoadError as error:
        assert str(error).isascii() and len(str(error)) < 4000
        return False
    return True


def test_the_unchanged_model_loads(rich):
    tree, _, arrays = rich
    assert attempt(tree, arrays)


@QUIETLY
@given(data=st.data())
def test_one_to_three_changes_by_hypothesis(rich, data):
    tree, every, arrays = rich
    for _ in range(data.draw(st.integers(1, 3))):
        tree = mutated(tree, every, lambda n: data.draw(st.integers(0, n - 1)))
    attempt(tree, arrays)


def test_thousands_of_changes_by_chance(rich):
    tree, every, arrays = rich
    rng = random.Random(20260101)
    plain = calls_in(lambda: attempt(tree, arrays))
    loaded, most = 0, 0

    def try_one(changed):
        nonlocal loaded
        loaded += attempt(changed, arrays)

    for _ in range(1000):
        changed = tree
        for _ in range(rng.randint(1, 3)):
            changed = mutated(changed, every, rng.randrange)
        most = max(most, calls_in(lambda changed=changed: try_one(changed)))
    assert 5 < loaded < 500  # the changes reach the inner checks, and the checks see most of them
    assert most < 5 * plain


def test_no_change_takes_much_memory(rich):
    tree, every, arrays = rich
    rng = random.Random(3)
    changes = [mutated(tree, every, rng.randrange) for _ in range(150)]
    attempt(tree, arrays)
    for changed in changes:
        assert least_peak(lambda changed=changed: attempt(changed, arrays), 8 << 20) < 8 << 20
