"""`compute_gradient`: the Jacobians of a function by derivative rules and by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.gradient.tape import GradientTape


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The Jacobians of `f` by its derivatives, and by central differences.

    A complex number counts as two, its real and its imaginary part. See `tools.check_gradients` for a comparison that chooses its
    steps and says which elements differ.

    Args:
      f: A function of tensors that gives one tensor, of float or complex dtypes.
      x: The list of its arguments: tensors, or what becomes one.
      delta: Half of the distance of the values that are compared; 1/1024 by default.
    Returns: Two tuples with a matrix [elements of the result, elements of the argument] for each argument.
    Raises:
      ArgumentTypeError (a TypeError): `f` cannot be called, `x` is not a list, or `f` gives no tensor.
      DTypeError (a TypeError): an argument or the result is of another dtype.
      InvalidArgumentError (a ValueError): `delta` is not above 0.
    Example:
      >>> derived, measured = compute_gradient(square, [constant([1.0, 3.0])])
      >>> derived[0].tolist(), measured[0].tolist()
      ([[2.0, 0.0], [0.0, 6.0]], [[2.0, 0.0], [0.0, 6.0]])
    """
    if not callable(f):
        raise ArgumentTypeError(f"compute_gradient: f must be a function, got {f!r}.")
    if not isinstance(x, list | tuple):
        raise ArgumentTypeError(
            f"compute_gradient: x must be a list of arguments, got {type(x).__name__}; give [x]."
        )
    step = 1.0 / 1024 if delta is None else float(delta)
    if not step > 0.0:
        raise InvalidArgumentError(f"compute_gradient: delta is {delta!r}; it must be above 0.")
    xs = [_inexact(lift(value), f"argument {i}") for i, value in enumerate(x)]
    return _derived(f, xs), tuple([_measured(f, xs, i, step) for i in range(len(xs))])


def _inexact(x: Tensor, what: str) -> Tensor:
    if not x.dtype.is_differentiable:
        raise DTypeError(
            f"compute_gradient: {what} is {x.dtype.name}; float and complex dtypes have derivatives."
        )
    return x


def _value(f: Callable[..., Any], xs: Sequence[Tensor]) -> Tensor:
    y = f(*xs)
    y = lift(y) if isinstance(y, IndexedSlices | np.ndarray | np.generic) else y
    if not isinstance(y, Tensor):
        raise ArgumentTypeError(f"compute_gradient: f must give one tensor, got {y!r}.")
    return _inexact(y, "the result of f")


def _derived(f: Callable[..., Any], xs: Sequence[Tensor]) -> tuple[np.ndarray, ...]:
    with GradientTape(persistent=True) as tape:
        tape.watch(list(xs))
        y = _value(f, xs)
    unit = np.zeros(ranked(y.dims), y.dtype.numpy)
    parts = _parts(unit)
    rows: list[list[np.ndarray]] = [[] for _ in xs]
    for k in range(parts.size):
        parts[k] = 1
        upstream = lift(unit.copy())
        parts[k] = 0
        slopes = tape.gradient(y, list(xs), output_gradients=upstream, unconnected_gradients="zero")
        for row, slope in zip(rows, slopes, strict=True):
            row.append(_parts(np.array(lift(slope))).copy())
    return tuple(
        [
            np.stack(row) if row else np.zeros((0, _parts(np.array(x)).size), np.array(x).real.dtype)
            for row, x in zip(rows, xs, strict=True)
        ]
    )


def _measured(f: Callable[..., Any], xs: Sequence[Tensor], i: int, step: float) -> np.ndarray:
    columns = []
    value = np.array(xs[i])
    parts = _parts(value)
    for k in range(parts.size):
        before = parts[k]
        found = []
        for moved in (before + step, before - step):
            parts[k] = moved
            given = lift(value.copy())
            found.append(_parts(np.array(_value(f, [*xs[:i], given, *xs[i + 1 :]]))))
        parts[k] = before
        columns.append((found[0] - found[1]) / (2 * step))
    if columns:
        return np.stack(columns, axis=1)
    size = _parts(np.array(_value(f, xs))).size
    return np.zeros((size, 0), value.real.dtype)


def _parts(x: np.ndarray) -> np.ndarray:
    """The numbers of an array in one row, in the same memory; of a complex one real and imaginary parts in turns."""
    flat = x.reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
