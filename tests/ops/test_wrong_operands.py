"""What an op says of operands that `infer` could not see, as in a function from a file without shapes: in graphad's words."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core.bind import bind
from graphad.core.errors import MissingGradientError, RuleError
from graphad.core.op import evaluated
from graphad.core.registry import find
from graphad.core.rule_errors import explained
from graphad.errors import GraphadError, InvalidArgumentError, ResourceExhaustedError
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Node
from graphad.ops import native_steps
from tests.support.case_tables import all_cases

NUMBERS = (-1, -2, -7, 5, 100, 1000)
TRIES = 4


def nodes() -> list[tuple[Node, list[np.ndarray]]]:
    """The nodes of the cases and of their derivatives, one of each op and kinds of operands, with its operands."""
    met: dict[Any, tuple[Node, list[np.ndarray]]] = {}

    def seen(node: Node, values: Any, outputs: Any) -> None:
        if all(isinstance(x, np.ndarray | np.generic) for x in values) and not node.op.structured:
            kinds = tuple([(x.dtype.name, np.ndim(x)) for x in values])
            met.setdefault((type(node.op), kinds), (node, [np.array(x) for x in values]))

    for _, _, case in all_cases():
        for graph, arrays in case.graphs():
            evaluate(graph, arrays, seen)
    return list(met.values())


def wrong(x: np.ndarray, rng: random.Random) -> np.ndarray:
    """The operand with another number in it, or another shape."""
    kind = rng.randrange(8)
    if kind < 4 and x.dtype.kind in "iu" and x.size:
        y = x.copy().reshape(-1)
        y[rng.randrange(y.size)] = np.array(rng.choice(NUMBERS)).astype(y.dtype)
        return y.reshape(x.shape)
    if kind == 4 and x.ndim:
        return x[:-1]
    if kind == 5 and x.ndim:
        return x[0] if len(x) else x.reshape(-1)
    if kind == 6:
        return np.concatenate([x, x], rng.randrange(x.ndim)) if x.ndim else x.reshape(1)
    if kind == 7 and x.dtype.kind in "fc":
        return np.full_like(x, np.nan)
    return x[None] if kind % 2 else x.T


def said(op: Any, values: list[Any]) -> Exception | None:
    try:
        evaluated(op, values, len(op.infer(*[])) if not values and op.multiple else 1)
    except Exception as error:
        return explained(error, op, values)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("by_step", [False, True])
def test_no_op_answers_wrong_operands_in_the_words_of_numpy(by_step, monkeypatch):
    if by_step:  # which reads and writes memory without looking at shapes
        monkeypatch.setattr(native_steps, "_MANY", 0)
        monkeypatch.setattr(native_steps, "_left", 0)
    warnings.simplefilter("ignore")  # as NumPy's are where it computes for an op
    rng, found = random.Random(3), []
    for node, values in nodes():
        for _ in range(TRIES if values else 0):
            changed = list(values)
            place = rng.randrange(len(values))
            changed[place] = wrong(values[place], rng)
            try:
                evaluated(node.op, changed, len(node.specs))
            except Exception as error:
                error = explained(error, node.op, changed)
                if isinstance(error, RuleError) or not isinstance(error, GraphadError):
                    found.append(f"{node.op} of {[(x.dtype.name, x.shape) for x in changed]}: {error}")
    assert not found, "\n".join(found)


X = np.arange(6.0).reshape(2, 3)
PAIR = np.array([0, 1], np.int32)


def cases() -> Iterator[Any]:
    """(op, operands, what it says of them)."""
    take = find("take_along_axis")(1)
    for at, words in ((3, r"indices\[1,0\] = 3 is not in \[-3, 3\)"), (-4, r"indices\[1,0\] = -4 is not in")):
        yield take, [X, np.array([[0], [at]], np.int32)], words
        yield find("take_along_axis_grad")(1, (2, 3)), [X[:, :1], np.array([[0], [at]], np.int32)], words
    wide = np.zeros((2, 4096))
    yield take, [wide, np.array([[0], [4096]], np.int32)], r"indices\[1,0\] = 4096 is not in \[-4096, 4096\)"
    yield (
        find("segment_gather")(0),
        [X, np.array([0, 2], np.int32)],
        r"segment_gather: ids\[1\] = 2 is not below 2",
    )
    yield find("segment_gather")(0), [X[:0], np.array([0, -1], np.int32)], r"ids\[0\] = 0 is not below 0"
    yield (
        find("repeat_grad")(1),
        [X, PAIR[None]],
        r"repeat_grad: repeats has shape \(1, 2\); a vector is needed",
    )
    yield find("repeat_grad")(1), [X, np.int32(3)], r"repeat_grad: repeats has shape \(\); a vector is needed"
    yield (
        find("boolean_mask_grad")(1),
        [X[0], X > 2],
        r"boolean_mask_grad: g has shape \(3,\); axis 1 is to hold",
    )
    yield (
        find("one_hot")(3, -1),
        [PAIR, X[0, :2], X[0, :2]],
        r"one_hot: on_value has shape \(2,\); a scalar is needed",
    )
    yield find("linear_recurrence")(1), [X, X[0]], r"linear_recurrence: a has shape \(2, 3\), b \(3,\)"
    yield find("linear_recurrence")(1), [X, X[:1]], r"linear_recurrence: a has shape \(2, 3\), b \(1, 3\)"
    seed = np.array([1, 2], np.int64)
    low, high = np.int32(3), np.int32(1)
    yield find("draw")("integers", (4,), gd.int32), [seed, low, high], "Need minval < maxval, got 3 >= 1"
    yield find("draw_classes")("uniform", 2, 5, False), [seed[None]], r"seed has shape \(1, 2\)"
    yield find("draw_gamma")((2, 1)), [seed, X[0]], r"a parameter has shape \(3,\), the result \(2, 1\)"
    starts = np.array([0, 0], np.int32)
    yield (
        find("sparse_product")(False, 2),
        [X[0, 0], PAIR, starts, X],
        r"a part has shape \(\); it must have rank 1",
    )
    yield (
        find("sizes")((-2,), gd.uint8),
        [],
        r"sizes: the sizes are \(-2,\), of which uint8 does not hold one",
    )


@pytest.mark.parametrize(("op", "values", "words"), list(cases()), ids=lambda x: getattr(x, "name", None))
def test_an_op_says_which_operand_is_wrong(op: Any, values: list[Any], words: str):
    error = said(op, values)
    assert isinstance(error, InvalidArgumentError) and not isinstance(error, RuleError)
    with pytest.raises(InvalidArgumentError, match=words):
        raise error


def test_a_reference_to_an_entry_of_a_number_is_refused_by_name():
    from graphad.core.references import filled

    for reference in (("at", 1, 0), ("all", 1)):
        with pytest.raises(InvalidArgumentError, match="eye: it asks for entries of the number 3"):
            filled((reference,), [np.int32(3)], "eye")


def test_an_array_larger_than_all_addresses_is_a_lack_of_memory():
    error = said(find("eye")(2**40, 2**22, gd.float64), [])
    assert isinstance(error, ResourceExhaustedError)
    assert "more bytes than there are addresses" in str(error)


def test_the_derivative_of_a_division_of_polynomials_asks_for_known_sizes():
    @gd.function(input_signature=[gd.TensorSpec([None]), gd.TensorSpec([None])])
    def slope(u: Any, v: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(u)
            quotient = bind(find("polynomial_division")(), u, v)[0]
        return tape.gradient(quotient, u)

    with pytest.raises(InvalidArgumentError, match="polynomial_division: the derivative needs to know"):
        slope(gd.constant([1.0, 2.0, 3.0]), gd.constant([1.0, 1.0]))


def test_the_derivative_of_a_banded_system_asks_for_the_rank_of_its_diagonals():
    @gd.function(input_signature=[gd.TensorSpec(None), gd.TensorSpec([None, None])])
    def slope(bands: Any, b: Any) -> Any:
        with gd.GradientTape() as tape:
            tape.watch(b)
            x = bind(find("banded_solve")(1, 1), bands, b)
        return tape.gradient(x, b)

    with pytest.raises(
        MissingGradientError, match="banded_solve: the gradient needs a rank of the diagonals"
    ):
        slope(gd.ones([3, 4]), gd.ones([4, 1]))
