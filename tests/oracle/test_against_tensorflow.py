"""The cases and programs of the oracle, computed by graphad: values, first and second derivatives, at once and traced.

A deliberate difference stands in DIFFERENCES with its reason; a case listed there must really differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.oracle.derive import run_case
from tests.oracle.programs import PROGRAMS, to_plain
from tests.oracle.store import DATA, Reader, arrays_of
from tests.oracle.volumes import VOLUMES

INDEX = {name: json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")) for name in VOLUMES}
ARRAYS = {name: Reader(arrays_of(name)) for name in VOLUMES}
CASES = [{**record, "volume": name} for name, index in INDEX.items() for record in index["cases"]]

# Relative to the size of the number and of the largest one beside it: two libraries sum in different orders.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-11, "complex64": 1e-5, "complex128": 1e-11}

_SINGLE = "TensorFlow rounds the constant to float32 first"
_CONJUGATE = "TensorFlow does not conjugate the complex derivative"
_MOMENTS = "TensorFlow holds the mean fixed in the second derivative of the variance"

# By the name of a case or program, or by its name and precision. Each has a row in docs/differences.md.
_POLE = "a branch that is not taken adds 0 at a pole, where TensorFlow has NaN"
DIFFERENCES: dict[str, str] = {
    **{
        f"{case}-{dtype}": _POLE
        for case in (
            "kink.where_log_leak",
            "kink.where_reciprocal_leak",
            "kink.where_power_leak",
            "poles.masked_log",
        )
        for dtype in ("float32", "float64")
    },
    "nn.leaky_relu-float64": _SINGLE,
    "nn.leaky_relu_alpha-float64": _SINGLE,
    "kink.leaky_relu-float64": _SINGLE,
    "nn.gelu-float64": _SINGLE,
    "nn.gelu_approximate-float64": _SINGLE,
    "nn.moments": _MOMENTS,
    "nn.moments_keepdims": _MOMENTS,
    "segment.prod_complex": _CONJUGATE,
    "band.tridiagonal_solve_turned": _CONJUGATE,
    "nn.softmax_cross_entropy": "TensorFlow's mixed second derivative by labels and logits lacks a term",
}


def _marks(*names: str) -> list[Any]:
    reasons = [DIFFERENCES[name] for name in names if name in DIFFERENCES]
    return [pytest.mark.xfail(strict=True, reason=reasons[0])] if reasons else []


def _case_parameters(precisions: tuple[str, ...] = ("float32", "float64")) -> list[Any]:
    parameters = []
    for record in CASES:
        if record["precision"] in precisions:
            name = f"{record['name']}-{record['precision']}"
            parameters.append(pytest.param(record, id=name, marks=_marks(record["name"], name)))
    return parameters


def _tensors(record: dict[str, Any]) -> tuple[list[str], list[Any], list[Any] | None, list[Any] | None]:
    """Names and tensors of the inputs, then the fixed cotangents and weights (None inside where nothing is derived)."""

    def several(key: str) -> list[Any] | None:
        if key not in record:
            return None
        return [None if r is None else tf.constant(arrays.get(r)) for r in record[key]]

    names, arrays = list(record["inputs"]), ARRAYS[record["volume"]]
    return (
        names,
        [tf.constant(arrays.get(record["inputs"][name])) for name in names],
        several("cotangents"),
        several("weights"),
    )


def _check(record: dict[str, Any], found: dict[str, list[Any]]) -> None:
    for part in ("outputs", "first", "second"):
        if part not in record:
            continue
        assert len(found[part]) == len(record[part])
        for position, (value, reference) in enumerate(zip(found[part], record[part], strict=True)):
            wanted = ARRAYS[record["volume"]].get(reference)
            where = f"{record['call']}: {part}[{position}]"
            if part == "second" and (value is None or wanted is None):
                # Whether a gradient that is constant still hangs on its source differs with how the rule is written.
                for present in (value, wanted):
                    assert present is None or not np.any(to_plain(present)), where
                continue
            assert (value is None) == (wanted is None), f"{where} is {value}, TensorFlow has {wanted}"
            if wanted is not None:
                compare(to_plain(value), wanted, record["slack"], where)


def compare(value: Any, wanted: np.ndarray, slack: float, where: str) -> None:
    value = np.asarray(value)
    assert value.shape == wanted.shape, f"{where}: shape {value.shape}, TensorFlow has {wanted.shape}"
    assert value.dtype == wanted.dtype, f"{where}: dtype {value.dtype}, TensorFlow has {wanted.dtype}"
    tolerance = TOLERANCE.get(wanted.dtype.name, 0.0) * slack
    if not tolerance:
        np.testing.assert_array_equal(value, wanted, err_msg=where)
        return
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(
        value, wanted, rtol=tolerance, atol=tolerance * scale, equal_nan=True, err_msg=where
    )


@pytest.fixture(autouse=True)
def quiet_numpy() -> Iterator[None]:
    """Cases go to infinity and beyond on purpose; here it is the numbers that count, not NumPy's warnings."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("volume", VOLUMES)
def test_data_belongs_to_the_cases(volume):
    cases, programs = VOLUMES[volume]
    written = {(record["name"], record["call"]) for record in INDEX[volume]["cases"]}
    again = f"run tests/oracle/generate.py --volume {volume} again"
    assert written == {(case.name, case.call) for case in cases()}, again
    assert set(INDEX[volume]["programs"]) == set(programs), again


def test_differences_are_those_of_cases():
    names = {record["name"] for record in CASES} | set(PROGRAMS)
    names |= {f"{record['name']}-{record['precision']}" for record in CASES}
    assert set(DIFFERENCES) <= names


@pytest.mark.parametrize("record", _case_parameters())
def test_eager_case_matches_tensorflow(record):
    names, inputs, cotangents, weights = _tensors(record)
    named = dict(zip(names, inputs, strict=True))
    _check(record, run_case(tf, record["call"], named, record.get("sources", []), cotangents, weights))


def _traced(record: dict[str, Any], **options: Any) -> dict[str, list[Any]]:
    """Everything inside one traced function, tapes included."""
    names, inputs, cotangents, weights = _tensors(record)

    def whole(
        inputs: list[Any], cotangents: list[Any] | None, weights: list[Any] | None
    ) -> dict[str, list[Any]]:
        named = dict(zip(names, inputs, strict=True))
        return run_case(tf, record["call"], named, record.get("sources", []), cotangents, weights)

    return tf.function(whole, autograph=False, **options)(inputs, cotangents, weights)


@pytest.mark.parametrize("record", _case_parameters())
def test_traced_case_matches_tensorflow(record):
    _check(record, _traced(record))


@pytest.mark.slow
@pytest.mark.parametrize("record", _case_parameters(("float32",)))
def test_compiled_case_matches_tensorflow(record):
    _check(record, _traced(record, jit_compile=True))


def _widest() -> list[Any]:
    last = {record["name"]: record["precision"] for record in CASES}
    return [p for p in _case_parameters() if p.values[0]["precision"] == last[p.values[0]["name"]]]


@pytest.mark.parametrize("record", _widest())
def test_gradient_through_a_function_matches_tensorflow(record):
    """The tapes stay outside; the function's own backward graph is used, and differentiated again."""
    names, inputs, cotangents, weights = _tensors(record)
    code = compile(record["call"], record["call"], "eval")

    @tf.function(autograph=False)
    def body(*inputs: Any) -> Any:
        return eval(code, {"tf": tf, "np": np, **dict(zip(names, inputs, strict=True))})

    named = {**dict(zip(names, inputs, strict=True)), "body": body}
    call = f"body({', '.join(names)})"
    _check(record, run_case(tf, call, named, record.get("sources", []), cotangents, weights))


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in PROGRAMS])
def test_program_matches_tensorflow(name):
    found, wanted = PROGRAMS[name](tf), INDEX["index"]["programs"][name]
    assert list(found) == list(wanted)
    for key, reference in wanted.items():
        expected = ARRAYS["index"].get(reference)
        value = to_plain(found[key])
        assert (value is None) == (expected is None), f"{name}[{key}] is {value}, TensorFlow has {expected}"
        if expected is not None:
            compare(value, expected, 10, f"{name}[{key}]")
