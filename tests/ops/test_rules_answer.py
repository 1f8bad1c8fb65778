"""Rules answer where sizes are unknown or are symbols: an error that one raises is a fault of that rule, and nobody catches it.

The nodes of every case are asked again: `rows` with sizes unknown, `eval` of integers with symbols among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.dims import Dim, UndecidedSize, apart_from
from graphad.core.op import MIXED
from graphad.core.spec import TensorSpec
from graphad.ops.control.rows import rows_of
from graphad.ops.math.arithmetic import Add
from graphad.trace.specialise import specialise
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase, run_nodes, spec_of

CASES: dict[str, list[OpCase]] = {}
for _family, _, _case in all_cases():
    CASES.setdefault(_family, []).append(_case)


def _vaguer(spec: TensorSpec) -> Iterator[TensorSpec]:
    """The spec, and the same with sizes unknown."""
    yield spec
    if not spec.is_handle and spec.dims:
        yield spec.with_dims((None,) * len(spec.dims))


def _claims(found: Any, count: int) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found] * count


def _ask_rows(node: Any, inputs: list[Any], outputs: tuple[Any, ...]) -> None:
    specs = [spec_of(x) for x in inputs]
    for i, x in enumerate(inputs):
        for axis in range(np.ndim(x)):
            axes = [axis if k == i else None for k in range(len(inputs))]
            for vague in product(*map(_vaguer, specs)):
                found = _claims(node.op.rows(vague, axes), len(outputs))
                ranks = zip(found, map(np.ndim, outputs), strict=True)
                shown = f"{node.op}: rows of axis {axis} of input {i} with {list(vague)}: {found}"
                assert all(claim in (None, MIXED) or 0 <= claim < rank for claim, rank in ranks), shown


@pytest.mark.parametrize("family", CASES)
def test_rows_are_an_axis_or_mixed_where_sizes_are_unknown(family: str) -> None:
    for case in CASES[family]:
        run_nodes(case.traced(), case.arrays, _ask_rows)


def test_rows_beside_an_operand_of_unknown_rank_are_mixed() -> None:
    f = tf.function(lambda x, y: x + y)
    graph = f.get_concrete_function(tf.TensorSpec([None, 3]), tf.TensorSpec(None)).graph
    assert rows_of(graph, [0, None]) == [MIXED]
    assert rows_of(graph, [None, None]) == [None]
    known = tf.function(lambda x, y: x + y).get_concrete_function(
        tf.TensorSpec([None, 3]), tf.TensorSpec([None])
    )
    assert rows_of(known.graph, [0, None]) == [0]


def _with_symbols(x: Any, number: int) -> Any:
    out = np.empty(np.shape(x), object)
    for k in range(out.size):
        out.flat[k] = int(np.ravel(x)[k]) if k % 2 else Dim.symbol(f"n{number}_{k}")
    return out


def _ask_eval(node: Any, inputs: list[Any], outputs: tuple[Any, ...]) -> None:
    op = node.op
    taken = range(len(inputs) - op.given) if op.takes_symbols is True else op.takes_symbols or ()
    if not taken or op.effects or op.structured or op.refers or any(not hasattr(x, "dtype") for x in inputs):
        return
    numbers = []
    for x in inputs:
        x = np.asarray(x)
        if x.dtype.kind == "f":
            x = np.nan_to_num(np.clip(np.abs(x), 0, 5)).astype(np.int64) + 2
        numbers.append(x if x.ndim else x[()])
    try:
        inferred = op.infer(*[spec_of(x) for x in numbers])
    except tf.errors.InvalidArgumentError:
        return  # it takes no integers
    specs: Sequence[TensorSpec] = inferred if op.multiple else (inferred,)
    if any(x.dtype.kind not in "iu" for x in numbers) or any(s.dtype.kind == "float" for s in specs):
        return
    for chosen in ([i] for i in taken):
        values = [_with_symbols(x, i) if i in chosen else x for i, x in enumerate(numbers)]
        with suppress(UndecidedSize):  # the answer where numbers have to be known
            op.eval(*values)


@pytest.mark.parametrize("family", CASES)
def test_what_takes_symbols_computes_with_them_or_says_which_have_to_be_known(family: str) -> None:
    with apart_from(frozenset()):
        for case in CASES[family]:
            run_nodes(case.traced(), case.arrays, _ask_eval)


def test_an_eval_that_fails_on_sizes_is_not_taken_for_one_that_cannot_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f = tf.function(lambda x: tf.reshape(x, [tf.shape(x)[0] + tf.shape(x)[1], -1]))
    graph = f.get_concrete_function(tf.TensorSpec([None, None])).graph

    def broken(self: Any, x: Any, y: Any) -> Any:
        raise TypeError("a fault in the rule")

    monkeypatch.setattr(Add, "eval", broken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="add: a fault in the rule"):
        specialise(graph, [TensorSpec.of((Dim.symbol("m"), Dim.symbol("n")), graph.inputs[0].dtype)])


def test_a_rows_rule_with_a_fault_raises_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, specs: Any, axes: Any) -> Any:
        raise IndexError("a fault in the rule")

    def ask(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.transpose(tf.transpose(x) + 1.0) * x
        return tape.batch_jacobian(y, x)

    monkeypatch.setattr(Add, "rows", broken)
    with pytest.raises(IndexError, match="a fault in the rule"):
        ask(tf.ones([2, 3]))
    with pytest.raises(IndexError, match="a fault in the rule"):
        tf.function(ask, input_signature=[tf.TensorSpec([None, 3])])(tf.ones([2, 3]))


def test_an_infer_rule_with_a_fault_is_not_taken_for_sizes_that_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`batch_jacobian` tries sizes for unknown ones; only a refusal in the op's own words says that they do not fit."""
    was = Add.infer

    def broken(self: Any, x: Any, y: Any) -> Any:
        if any(isinstance(size, Dim) for size in x.dims or ()):
            raise KeyError("a fault in the rule")
        return was(self, x, y)

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def ask(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (x + x) * x
        return tape.batch_jacobian(y, x)

    monkeypatch.setattr(Add, "infer", broken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="add: 'a fault in the rule'"):
        ask.get_concrete_function()


def test_a_batch_rule_with_a_fault_is_not_taken_for_one_that_waits_for_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Any, ctx: Any, x: Any, y: Any) -> Any:
        raise LookupError("a fault in the rule")

    monkeypatch.setattr(Add, "batch", broken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="add: a fault in the rule"):
        tf.vectorized_map(lambda x: x + 1.0, tf.ones([2, 3]))
    f = tf.function(lambda x: tf.vectorized_map(lambda row: row + 1.0, x))
    with pytest.raises(tf.errors.InvalidArgumentError, match="add: a fault in the rule"):
        f.get_concrete_function(tf.TensorSpec([None, None]))(tf.ones([2, 3]))
