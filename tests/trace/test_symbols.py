"""Ops that compute with symbols in the place of sizes: what `takes_symbols` says holds, and what does not is not hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import executable
from graphad.core import bind as door
from graphad.core.dims import Dim, UndecidedSize
from graphad.core.errors import GraphadError, RuleError
from graphad.core.op import Op, in_tuple, output_specs
from graphad.core.registry import find
from graphad.core.spec import TensorSpec
from graphad.trace.specialise import specialise_call
from graphad.trace.tracer import trace_flat
from tests.support.case_tables import cases_by_name


def _symbols(rank: int, k: int) -> np.ndarray:
    found = np.empty((3,) * rank, object)
    for place in np.ndindex(*found.shape):
        found[place] = Dim.symbol(f"n{k}") + sum(place)
    return found


def _ops() -> dict[Op, int]:
    """The ops of all cases, of their derivatives and of unknown ranks, with their numbers of inputs."""
    found: dict[Op, int] = {}
    for case in cases_by_name().values():
        kinds = [case.specs()]
        if "rank" in case.unknown:
            kinds.append([TensorSpec.of(None, x.dtype) for x in case.specs()])
        for specs in kinds:
            graphs = [case.traced(specs)]
            bars = [spec if spec.dtype.is_differentiable else None for spec in graphs[0].output_specs]
            if case.order and case.sources and any(bars):
                graphs.append(case.traced_gradient(specs, bars))
            found.update((node.op, len(node.inputs)) for graph in graphs for node in graph.nodes)
    return found


def test_ops_that_take_symbols_compute_with_them() -> None:
    failed, tried = [], 0
    for op, n in _ops().items():
        if op.effects or op.structured or op.extension or op.given or op.takes_symbols is False or not n:
            continue
        for rank in range(3):
            specs = [TensorSpec.of((3,) * rank, tf.int32)] * n
            try:
                outputs = output_specs(op, specs)
            except GraphadError:
                continue
            if not all(spec.dtype.kind in ("int", "uint", "bool") for spec in outputs):
                continue
            taken = range(n) if op.takes_symbols is True else op.takes_symbols
            values = [_symbols(rank, k) if k in taken else np.ones((3,) * rank, np.int32) for k in range(n)]
            tried += 1
            try:
                in_tuple(op, op.eval(*values))
            except (GraphadError, UndecidedSize):
                continue
            except Exception as error:
                failed.append(f"{op!r} of rank {rank}: {error!r}")
    assert not failed, "say `takes_symbols` or compute with them"
    assert tried > 500


def test_one_specialisation_of_a_jacobian_serves_many_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sizes are sums of three and more, which `add_n` could not compute with symbols: each size had its own."""

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def f(x: tf.Tensor, y: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.tensordot(x, y, 0)
        return tape.jacobian(z, [x, y])

    made = []

    def counted(*args: Any) -> Any:
        made.append(specialise_call(*args))
        return made[-1]

    monkeypatch.setattr(executable, "specialise_call", counted)
    for k in range(2, 12):
        x, y = tf.range(k, dtype=tf.float32), tf.range(k + 1, dtype=tf.float32) + 0.5
        by_x, by_y = f(x, y)
        np.testing.assert_array_equal(by_x, np.einsum("ik,j->ijk", np.eye(k), y.numpy()))
        np.testing.assert_array_equal(by_y, np.einsum("jk,i->ijk", np.eye(k + 1), x.numpy()))
    assert len(made) < 5


@pytest.mark.parametrize("verify", [True, False])
def test_tests_see_a_rule_that_numbers_would_save(monkeypatch: pytest.MonkeyPatch, verify: bool) -> None:
    """A rule that fails for symbols costs users specialisations, and tests an error."""
    monkeypatch.setattr(door, "VERIFY", verify)
    kind = find("add_n")
    right = kind.eval

    def fails_for_symbols(self: Any, *xs: Any) -> Any:
        if any(x.dtype == object for x in xs):
            raise AttributeError("'Dim' object has no attribute 'planted'")
        return right(self, *xs)

    monkeypatch.setattr(kind, "eval", fails_for_symbols)
    graph = trace_flat(
        lambda x: [tf.zeros([tf.add_n([tf.shape(x)[0], tf.shape(x)[1], 2])])], [TensorSpec([None, None])]
    ).graph
    if verify:
        with pytest.raises(RuleError, match=r"add_n: .*planted"):
            specialise_call(graph, [(3, 4)])
    else:
        special = specialise_call(graph, [(3, 4)])
        assert special.pins and special.graph.output_specs[0].dims == (9,)


@pytest.mark.parametrize("verify", [True, False])
def test_tests_see_a_rule_that_fails_in_a_branch(monkeypatch: pytest.MonkeyPatch, verify: bool) -> None:
    monkeypatch.setattr(door, "VERIFY", verify)

    def fails(self: Any, *args: Any) -> Any:
        raise TypeError("planted")

    def program(x: tf.Tensor) -> list[Any]:
        return [tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.reshape(x, tf.shape(x)[::-1]), lambda: x)]

    graph = trace_flat(program, [TensorSpec([None, None])]).graph
    monkeypatch.setattr(find("reshape"), "settled", fails)
    if verify:
        with pytest.raises(RuleError, match="reshape: planted"):
            specialise_call(graph, [(3, 3)])
    else:
        specialise_call(graph, [(3, 3)])
