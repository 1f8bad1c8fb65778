"""Elementwise ops compute one number as they compute it in an array, with the same dtype and without an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
