"""What a rule of an op raises in words of NumPy or Python, at a call of a function from a file, names the op on every way to it.

Rules rely on what traced code cannot get wrong; a file may. Each rule is made to fail here as NumPy would.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core.op import output_specs
from graphad.core.registry import find
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.gradient import forward
from serialization.convert.claims import check_operands
from serialization.errors import CorruptModelError, LoadError
from tests.serialization.convert.in_memory import read, records_of
from tests.support.case_tables import cases_by_name

X = np.ones(3, np.float32)
SIZES = np.array([2, 3], np.int32)
ROWS = np.ones((4, 3), np.float32)


def restored() -> Any:
    """Functions from a file that broadcast to sizes which are values, or which follow from the shapes of a call."""

    def by_value(x: Any, sizes: Any) -> Any:
        return gd.sin(gd.broadcast_to(gd.cumsum(gd.exp(x)), sizes)) * 2.0

    def by_shape(x: Any, y: Any) -> Any:
        return gd.sin(gd.broadcast_to(gd.exp(x), gd.shape(y))) * 2.0

    root = gd.Module()
    some = gd.TensorSpec([None], gd.float32)
    root.by_value = gd.function(by_value, input_signature=[some, gd.TensorSpec([None], gd.int32)])
    root.by_shape = gd.function(by_shape, input_signature=[some, gd.TensorSpec([None, None], gd.float32)])
    return read(*records_of(root))


def evaluated(model: Any, jit: bool) -> Any:
    concrete = model.by_value.concrete_functions[0]
    concrete.jit_compile = jit
    return concrete(gd.constant(X), gd.constant(SIZES))


def folded(model: Any, jit: bool) -> Any:
    concrete = model.by_shape.concrete_functions[0]
    concrete.jit_compile = jit
    return concrete(gd.constant(X), gd.zeros([2, 3]))


def differentiated(model: Any, jit: bool) -> Any:
    concrete = model.by_value.concrete_functions[0]
    concrete.jit_compile = jit
    x = gd.constant(X)
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x, gd.constant(SIZES))
    return tape.gradient(y, x)


def pushed_forward(model: Any, jit: bool) -> Any:
    concrete = model.by_value.concrete_functions[0]
    concrete.jit_compile = jit
    x = gd.constant(X)
    with gd.autodiff.ForwardAccumulator(x, gd.ones([3])) as accumulator:
        y = concrete(x, gd.constant(SIZES))
    return accumulator.jvp(y)


def by_rows(model: Any, jit: bool) -> Any:
    concrete = model.by_value.concrete_functions[0]
    concrete.jit_compile = jit
    return gd.vectorized_map(lambda row: concrete(row, gd.constant(SIZES)), gd.constant(ROWS))


# The rule that fails, its op, and what asks for it.
WAYS: list[tuple[str, str, Callable[[Any, bool], Any]]] = [
    ("eval", "broadcast_to", evaluated),
    ("settled", "broadcast_to", folded),
    ("vjp", "broadcast_to", differentiated),
    ("vjp", "cumsum", pushed_forward),
    ("batch", "cumsum", by_rows),
]
RAW = [
    ValueError("operands could not be broadcast together"),
    IndexError("tuple index out of range"),
    TypeError("'NoneType' object is not iterable"),
    AttributeError("'int' object has no attribute 'dims'"),
    ZeroDivisionError("integer division or modulo by zero"),
    AssertionError(),
]


@pytest.mark.parametrize("jit", [False, True], ids=["numpy", "native"])
@pytest.mark.parametrize("way", [way for _, _, way in WAYS])
def test_every_way_to_a_rule_works_as_long_as_it_does(way: Any, jit: bool) -> None:
    assert np.all(np.isfinite(np.asarray(way(restored(), jit))))


@pytest.mark.parametrize("jit", [False, True], ids=["numpy", "native"])
@pytest.mark.parametrize("raw", RAW, ids=lambda raw: type(raw).__name__)
@pytest.mark.parametrize(("rule", "op", "way"), WAYS, ids=[way.__name__ for _, _, way in WAYS])
def test_a_rule_that_fails_in_raw_words_names_its_op(
    monkeypatch: Any, rule: str, op: str, way: Any, raw: Exception, jit: bool
) -> None:
    def fails(*_: Any) -> Any:
        raise type(raw)(*raw.args)

    monkeypatch.setattr(find(op), rule, fails)
    forward._derived.clear()  # it would know the rule from before
    with pytest.raises(gd.errors.InvalidArgumentError, match=rf"^{op}: ") as caught:
        way(restored(), jit)
    assert str(raw.args[0] if raw.args else "AssertionError") in str(caught.value)


@pytest.mark.parametrize("jit", [False, True], ids=["numpy", "native"])
def test_memory_that_a_rule_does_not_get_is_an_error_that_names_its_op(monkeypatch: Any, jit: bool) -> None:
    def fails(*_: Any) -> Any:
        raise MemoryError("Unable to allocate 8.00 EiB")

    monkeypatch.setattr(find("broadcast_to"), "eval", fails)
    with pytest.raises(gd.errors.ResourceExhaustedError, match=r"^broadcast_to: Unable .* EiB"):
        evaluated(restored(), jit)


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: type(raw).__name__)
def test_a_broken_rule_does_not_look_like_a_damaged_file(monkeypatch: Any, raw: Exception) -> None:
    root = gd.Module()
    root.f = gd.function(gd.cumsum, input_signature=[gd.TensorSpec([3], gd.float32)])
    records = records_of(root)

    def fails(*_: Any) -> Any:
        raise type(raw)(*raw.args)

    monkeypatch.setattr(find("cumsum"), "infer", fails)
    with pytest.raises(
        LoadError, match=f"'cumsum' cannot be checked: .*{type(raw).__name__}.*a mistake"
    ) as caught:
        read(*records)
    assert not isinstance(caught.value, CorruptModelError)


DTYPES = [
    gd.float32, gd.int32, gd.int64, gd.bool, gd.complex64, gd.float64, gd.uint8, gd.bfloat16,
]  # fmt: skip


def other_spec(spec: TensorSpec, rng: random.Random) -> TensorSpec:
    """Another spec that a file could give in place of one that fits."""
    dtype = spec.dtype if rng.random() < 0.75 else rng.choice(DTYPES)
    dims, which = spec.dims, rng.random()
    if which < 0.15:
        dims = None
    elif which < 0.7:
        dims = tuple(
            rng.choice([None, 0, 1, 2, 3, 4, 7]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5]))
        )
    return HandleSpec(dims, dtype) if rng.random() < 0.04 else TensorSpec.of(dims, dtype)


def other_inputs(specs: Sequence[TensorSpec], rng: random.Random) -> list[TensorSpec]:
    found = [other_spec(spec, rng) for spec in specs]
    if found and rng.random() < 0.1:
        found.pop()
    if rng.random() < 0.1:
        found.append(other_spec(TensorSpec((), gd.int32), rng))
    return found


def test_no_inputs_make_a_rule_fail_in_raw_words() -> None:
    """Of the loader's checks and of `infer`, which come before anything else."""
    nodes: dict[Any, list[TensorSpec]] = {}
    for case in cases_by_name().values():
        graph = case.traced()
        nodes.update((node.op, [graph.specs[i] for i in node.inputs]) for node in graph.nodes)
    rng, failed, passed = random.Random(20261130), [], 0
    for op, specs in nodes.items():
        for _ in range(12):
            inputs = other_inputs(specs, rng)
            try:
                check_operands(op, inputs)
                output_specs(op, inputs)
                passed += 1
            except (LoadError, gd.errors.GraphadError):
                continue
            except Exception as error:
                failed.append(f"{op!r} of {inputs}: {error!r}")
    assert not failed, failed[:5]
    assert passed > 2000
