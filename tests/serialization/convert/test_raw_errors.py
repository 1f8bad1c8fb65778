"""What a rule of an op raises in words of NumPy or Python, at a call of a function from a file, names the op on every way to it.

Rules rely on what traced code cannot get wrong; a file may. Each rule is made to fail here as NumPy would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core.registry import find
from graphad.gradient import forward
from tests.serialization.convert.in_memory import read, records_of

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
