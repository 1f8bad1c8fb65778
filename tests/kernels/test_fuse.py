"""Fusion: what a composed map computes, and that equal structures become equal maps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphad.core.dtypes import bool_, float32
from graphad.core.errors import InternalError
from graphad.kernels import forms, scalars
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Statement
from graphad.kernels.fuse import Composer
from tests.support.maps import compose, merge_maps

TANH = forms.call("tanh", [float32])
MUL = forms.call("mul", [float32, float32])


def evaluate(form: Map, *xs: np.ndarray, numbers: tuple[np.float32, ...] = ()) -> list[np.ndarray]:
    found: dict[tuple[str, int], object] = {(IN, k): x for k, x in enumerate(xs)}
    found |= {(SCALAR, k): x for k, x in enumerate(numbers)}
    for k, statement in enumerate(form.check().body):
        found[TMP, k] = scalars.apply(statement.fn, [found[ref] for ref in statement.args], statement.dtype)
    return [found[ref] for ref in form.outputs]


def test_fused_map_computes_the_composition() -> None:
    fused = compose([(TANH, ["y"], ["tanh(y)"]), (MUL, ["x", "tanh(y)"], ["z"])], ["z"])
    x, y = np.float32([1, 2]), np.float32([3, 4])
    given = {"x": x, "y": y}
    (found,) = evaluate(fused.map, *(given[name] for name in fused.inputs))
    assert np.array_equal(found, x * np.tanh(y))


def test_equal_statements_and_inputs_are_merged() -> None:
    both = compose([(TANH, ["x"], ["a"]), (TANH, ["x"], ["b"]), (MUL, ["a", "b"], ["c"])], ["c"])
    assert len(both.map.body) == 2 and both.inputs == ("x",)
    assert both.map.body[1].args == ((TMP, 0), (TMP, 0))


def test_unused_statements_inputs_and_scalars_are_dropped() -> None:
    shifted = Map((float32,), (float32,), (Statement("add", ((IN, 0), (SCALAR, 0)), float32),), ((TMP, 0),))
    composed = compose([(shifted, ["x"], ["a"]), (TANH, ["y"], ["b"])], ["b"])
    assert composed.map == TANH and composed.inputs == ("y",) and composed.scalars == ()


def test_order_of_collection_does_not_show() -> None:
    first, second = Composer(), Composer()
    second.input("unused", float32)
    second.input("y", float32)
    results = []
    for composer in (first, second):
        x, y = composer.input("x", float32), composer.input("y", float32)
        results.append(composer.finish([composer.statement("sub", (x, y), float32)]))
    assert results[0] == results[1] and results[0].inputs == ("x", "y")


def test_several_maps_become_one_with_several_outputs() -> None:
    merged = merge_maps([TANH, MUL, forms.call("lt", [float32, float32])], [["x"], ["x", "y"], ["y", "x"]])
    x, y = np.float32([1, -2]), np.float32([3, -4])
    a, b, c = evaluate(merged.map, *({"x": x, "y": y}[name] for name in merged.inputs))
    assert np.array_equal(a, np.tanh(x)) and np.array_equal(b, x * y) and np.array_equal(c, y < x)
    assert merged.map.dtype_of(merged.map.outputs[2]) is bool_


def test_output_may_be_an_input() -> None:
    composed = compose([(forms.identity_map(float32), ["x"], ["y"])], ["y", "y"])
    assert composed.map.outputs == ((IN, 0), (IN, 0)) and composed.map.body == ()


def test_long_chains_need_no_recursion() -> None:
    names = [f"v{k}" for k in range(3000)]
    chain = compose([(TANH, [a], [b]) for a, b in itertools.pairwise(names)], [names[-1]])
    assert len(chain.map.body) == 2999


def test_malformed_maps_are_refused() -> None:
    with pytest.raises(InternalError, match="tmp3"):
        Map((float32,), (), (Statement("tanh", ((TMP, 3),), float32),), ((TMP, 0),)).check()
    with pytest.raises(InternalError, match="is bool"):
        Map((float32,), (), (Statement("lt", ((IN, 0), (IN, 0)), float32),), ((TMP, 0),)).check()
