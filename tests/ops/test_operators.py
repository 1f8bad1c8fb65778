"""Python's operators on tensors: results, adoption of dtypes, equality, and NumPy on either side."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from graphad.core.convert import lift
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.tensor import EagerTensor, Tensor
from graphad.gradient.tape import GradientTape
from graphad.ops import operators  # noqa: F401

A, B = np.array([3.0, 5.0, -7.0], np.float32), np.array([2.0, -4.0, 0.5], np.float32)
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("symbol", [*ARITHMETIC, *COMPARISONS])
def test_operator_equals_numpy(symbol: Any) -> None:
    for y in (symbol(lift(A), lift(B)), symbol(lift(A), B), symbol(A, lift(B))):
        assert isinstance(y, Tensor)
        np.testing.assert_array_equal(y.numpy(), symbol(A, B))
        assert y.numpy().dtype == symbol(A, B).dtype


@pytest.mark.parametrize("symbol", ARITHMETIC)
@pytest.mark.parametrize("number", [2, 2.5, np.float64(2.5), np.float32(3)])
def test_number_next_to_a_tensor_adopts_its_dtype(symbol: Any, number: Any) -> None:
    for y, want in (
        (symbol(lift(A), number), symbol(A, np.float32(number))),
        (symbol(number, lift(A)), symbol(np.float32(number), A)),
    ):
        assert isinstance(y, Tensor)
        assert y.dtype.name == "float32"
        np.testing.assert_array_equal(y.numpy(), want)


def test_number_that_the_dtype_cannot_hold_is_refused() -> None:
    with pytest.raises(DTypeError):
        lift([1]) + 1.5
    with pytest.raises(DTypeError):
        1.5 * lift([1])
    with pytest.raises(InvalidArgumentError):
        lift(np.int8([1])) + 300
    with pytest.raises(InvalidArgumentError):
        300 - lift(np.int8([1]))


def test_tensors_of_different_dtypes_are_not_mixed() -> None:
    for symbol in (*ARITHMETIC, *COMPARISONS):
        with pytest.raises(InvalidArgumentError):
            symbol(lift([1]), lift([1.0]))
    with pytest.raises(TypeError):
        lift([True]) + lift([True])
    with pytest.raises(TypeError):
        lift([1.0]) + "a"


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
        lift([1.0, 2.0]) + lift([1.0, 2.0, 3.0])
    assert not bool(lift([1.0, 2.0]) == lift([1.0, 2.0, 3.0]))
    assert bool(lift([1.0, 2.0]) != lift([1.0, 2.0, 3.0]))


def test_nothing_equals_none() -> None:
    assert (lift([1.0]) == None) is False  # noqa: E711
    assert (lift([1.0]) != None) is True  # noqa: E711


def test_power_and_matrix_product() -> None:
    np.testing.assert_allclose((lift(A) ** 2).numpy(), A**2)
    np.testing.assert_allclose((2.0 ** lift(B)).numpy(), 2.0**B, rtol=1e-6)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for y in (lift(x) @ lift(x.T), lift(x) @ x.T, x @ lift(x.T)):
        assert isinstance(y, Tensor)
        np.testing.assert_array_equal(y.numpy(), x @ x.T)


def test_logic_is_logical_on_bools_and_bitwise_on_integers() -> None:
    p, q = lift([True, False]), lift([True, True])
    assert (p & q).numpy().tolist() == [True, False]
    assert (p | q).numpy().tolist() == [True, True]
    assert (p ^ q).numpy().tolist() == [False, True]
    assert (~p).numpy().tolist() == [False, True]
    assert (lift([6]) & 3).numpy().tolist() == [2]
    assert (~lift([6])).numpy().tolist() == [-7]


def test_signs() -> None:
    assert (-lift(A)).numpy().tolist() == (-A).tolist()
    assert (+lift(A)).numpy().tolist() == A.tolist()
    assert abs(lift(A)).numpy().tolist() == np.abs(A).tolist()


def test_scalars_stay_numpy_scalars() -> None:
    y = lift(2.0) * lift(3.0) + 1.0
    assert isinstance(y, EagerTensor) and isinstance(y.data, np.float32) and y.data == 7


def test_numpy_functions_are_recorded() -> None:
    x = lift(A)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        one = np.sin(x)
        two = np.sum(np.multiply(B, x))
        three = np.mean(np.maximum(x, 0.0))
    assert all(isinstance(y, Tensor) for y in (one, two, three))
    np.testing.assert_allclose(tape.gradient(one, x).numpy(), np.cos(A), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(two, x).numpy(), B)
    np.testing.assert_allclose(tape.gradient(three, x).numpy(), (A > 0) / np.float32(3))


def test_numpy_products_take_vectors() -> None:
    x, a = np.arange(3, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    of_matrix, of_vector = lift(a), lift(x)
    with GradientTape() as tape:
        tape.watch([of_matrix, of_vector])
        for call in (np.dot, np.matmul):
            np.testing.assert_array_equal(call(of_matrix, x).numpy(), a @ x)
            np.testing.assert_array_equal(call(x, of_vector).numpy(), x @ x)
        np.testing.assert_array_equal(np.outer(x, of_vector).numpy(), np.outer(x, x))
        np.testing.assert_allclose(
            np.linalg.norm(of_matrix, axis=1).numpy(), np.linalg.norm(a, axis=1), rtol=1e-6
        )


def test_numpy_functions_without_a_counterpart_say_so() -> None:
    for call in (np.common_type, np.min_scalar_type):
        x = lift(A)
        np.testing.assert_array_equal(call(x), call(A))
        with (
            GradientTape() as tape,
            pytest.raises(TypeError, match=r"np\.[\w.]+: graphad has no such function"),
        ):
            tape.watch(x)
            call(x)
    out = np.empty_like(A)
    assert np.add(lift(A), lift(B), out=out) is out
    np.testing.assert_array_equal(out, A + B)
    x = lift(A)
    with GradientTape() as tape, pytest.raises(TypeError, match=r"np\.add: graphad's takes no where"):
        tape.watch(x)
        np.add(x, lift(B), where=np.array([True, False, True]))
    np.testing.assert_array_equal(np.multiply.outer(lift(A), lift(B)), np.multiply.outer(A, B))


def test_numpy_functions_that_only_look_run_on_the_data() -> None:
    assert np.allclose(lift(A), A)
    assert np.shape(lift(A)) == (3,)
    assert np.array_equal(lift(A), A)


def test_every_overridable_numpy_function_is_supported_or_refused() -> None:
    """Never an array of objects, never a recursion: a tensor, a plain result, or a TypeError."""
    from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

    x = lift(A)
    functions = [(f, (x,) * f.nin) for f in get_overridable_numpy_ufuncs() if f.signature is None]
    functions += [
        (f, (x,))
        for f in get_overridable_numpy_array_functions()
        if not f.__name__.startswith(("save", "set_"))
    ]
    for function, arguments in functions:
        try:
            y = function(*arguments)
        except RecursionError:
            raise
        except Exception:  # a refusal, or an argument that the function needs
            continue
        for part in y if isinstance(y, tuple) else (y,):
            assert getattr(getattr(part, "dtype", None), "kind", "") != "O", function.__name__
