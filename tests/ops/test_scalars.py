"""Elementwise ops compute one number as they compute it in an array, with the same dtype and without an axis."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.graph.evaluate import evaluated
from graphad.ops.elementwise import Elementwise
from tests.ops.test_every_op import all_cases
from tests.support.op_case import run_nodes, same

FAMILIES = sorted({family for family, _, _ in all_cases()})


@pytest.mark.parametrize("family", FAMILIES)
def test_one_number_is_computed_as_in_an_array(family: str) -> None:
    seen = set()

    def look(node: Any, inputs: list[Any], outputs: tuple[Any, ...]) -> None:
        dtypes = tuple(np.asarray(x).dtype for x in inputs)
        if not isinstance(node.op, Elementwise) or (node.op, dtypes) in seen or not np.size(outputs[0]):
            return
        seen.add((node.op, dtypes))
        firsts = [np.asarray(x).reshape(-1)[:1] for x in inputs]
        array, number = evaluated(node.op, firsts)[0], evaluated(node.op, [x[0] for x in firsts])[0]
        assert np.shape(number) == (), node.op.name
        found = np.asarray(number).reshape(1)
        assert found.dtype == array.dtype, node.op.name
        if array.dtype.kind in "fc":  # NumPy rounds complex numbers otherwise than arrays of them
            np.testing.assert_allclose(found, array, rtol=8 * np.finfo(array.dtype).eps, err_msg=node.op.name)
        else:
            same(found, array)

    for found, _, case in all_cases():
        if found == family:
            for graph, arrays in case.graphs():
                run_nodes(graph, arrays, look)
    assert seen


NUMBERS = [tf.constant(0.5), tf.constant(0.5, tf.float64), tf.constant(0.5, tf.float16), tf.constant(3)]


@pytest.mark.parametrize("namespace", [tf.math, tf.nn, tf.math.special, tf.experimental.numpy], ids=str)
@pytest.mark.parametrize("is_watched", [False, True], ids=["alone", "watched"])
def test_what_is_computed_of_numbers_is_a_number(namespace: Any, is_watched: bool) -> None:
    seen = 0
    for name in dir(namespace):
        function = getattr(namespace, name)
        if name.startswith(("_", "experimental_")) or isinstance(function, type) or not callable(function):
            continue
        for arguments in [*[(x,) for x in NUMBERS], *[(x, x) for x in NUMBERS], (NUMBERS[0], 0.25)]:
            found: Any = []
            tape = tf.GradientTape(persistent=True)
            with tape if is_watched else contextlib.nullcontext(), contextlib.suppress(Exception):
                if is_watched:
                    tape.watch([x for x in NUMBERS if x.dtype.is_floating])
                found = function(*arguments)  # many take no numbers
            for y in tf.nest.flatten(found):
                if isinstance(y, tf.Tensor) and y.shape == ():
                    assert isinstance(y.numpy(), np.generic), (name, arguments)
                    seen += 1
    assert seen > 15
