"""The table of scalar functions: dtypes of results, refusals, identities."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.core.dtypes import ALL, bool_, complex64, float16, float32, int32
from graphad.core.errors import InternalError
from graphad.kernels import scalars


def test_every_reference_keeps_the_declared_dtype() -> None:
    for name, row in scalars.TABLE.items():
        for dtype in ALL:
            if scalars.kind_of(dtype) not in row.kinds or name == "cast":
                continue
            dtypes = [bool_, dtype, dtype] if name == "select" else [dtype] * row.arity
            args = [np.ones(3, d.numpy) for d in dtypes]
            result = scalars.result_dtype(name, dtypes)
            assert scalars.apply(name, args, result).dtype == result.numpy, (name, dtype)


@pytest.mark.parametrize(
    "fn, dtypes",
    [
        ("add", [float32]),
        ("add", [float32, int32]),
        ("div", [int32, int32]),
        ("sub", [bool_, bool_]),
        ("lt", [complex64, complex64]),
        ("select", [int32, float32, float32]),
        ("no such function", [float32]),
        ("cast", [float32]),
    ],
)
def test_wrong_arguments_are_refused(fn: str, dtypes: list[object]) -> None:
    with pytest.raises(InternalError):
        scalars.result_dtype(fn, dtypes)


def test_identities_leave_values_alone() -> None:
    functions = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for dtype in ALL:
        if dtype.is_complex:
            continue
        x = np.ones(2, dtype.numpy)
        for combine, function in functions.items():
            start = np.asarray(scalars.identity_of(combine, dtype)).astype(dtype.numpy)
            assert (function(start, x) == x).all(), (combine, dtype)


def test_half_precision_rounds_once_per_function() -> None:
    x = np.array([1.2345], np.float16)
    assert scalars.apply("sigmoid", [x], float16) == np.float16(1 / (1 + np.exp(-np.float64(x[0]))))
