"""Functions of square matrices: exponential, logarithm, square root, by SciPy.

The derivative of such a function in a direction d is a block of the same function of [[x, d], [0, x]] (Mathias, 1996, "A chain
rule for matrix functions"), and its adjoint is that at the conjugate transpose. The same holds for that derivative, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.op import Op, define
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import concat
from graphad.ops.array.shape import sizes_of
from graphad.ops.array.slice import getitem
from graphad.ops.linalg.diagonal import matrix_rows
from graphad.ops.linalg.matmul import adjoint, align_matrices
from graphad.ops.linalg.systems import require_matrix
from graphad.ops.rules import broadcast_specs, same_dtype, unbroadcast

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


class _OfSquare(Op):
    """What functions of square matrices share."""

    keeps = (True, False)

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_matrix(self.name, x, "input", True)
        return x

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(_DIRECTIONS[self.name], adjoint(ctx.inputs[0]), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2,))


def _each(function: Callable[..., Any], x: DeviceArray | Array) -> Any:
    """A function of one matrix for each of a stack, NaN where it has no result of the dtype of x."""
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-2]):
        y = function(x[place])
        if np.iscomplexobj(y) and x.dtype.kind != "c":
            rounding = 100 * np.finfo(x.dtype).eps * np.abs(y).max(initial=0.0)
            y = y.real if np.abs(y.imag).max(initial=0.0) <= rounding else np.nan
        out[place] = y
    return out


@define
class Expm(_OfSquare):
    """The sum of x^k / k! over k from 0, for square x [..., n, n]."""

    name = "expm"

    def eval(self, x: Array) -> Array:
        return library.linalg().expm(x) if x.size else np.array(x)


@define
class Logm(_OfSquare):
    """The matrix whose exponential is x [..., n, n], complex, with eigenvalues whose imaginary parts are in (-pi, pi]."""

    name = "logm"

    def infer(self, x: TensorSpec) -> TensorSpec:
        if not x.dtype.is_complex:
            raise DTypeError(
                f"logm: input has dtype {x.dtype.name}; complex64 or complex128 is needed. Use cast(x, ...)."
            )
        return super().infer(x)

    def eval(self, x: Array) -> Any:
        return _each(library.linalg().logm, x.astype(np.complex128)).astype(x.dtype)


@define
class Sqrtm(_OfSquare):
    """The matrix whose square is x [..., n, n], with eigenvalues whose real parts are not negative; NaN where a real x has no
    such one that is real.
    """

    name = "sqrtm"

    def eval(self, x: Array) -> Any:
        return _each(library.linalg().sqrtm, x)


def _size(x: Tensor) -> Any:
    return x.dims[-1] if x.dims is not None and isinstance(x.dims[-1], int) else getitem(sizes_of(x), -1)


@define
class MatrixDirection(Op):
    """The derivative of expm, logm or sqrtm at square x [..., n, n] in the direction d [..., n, n]: the upper right block of that
    function of [[x, d], [0, x]].
    """

    name = "matrix_direction"
    keeps = (True, False)
    of: Literal["expm", "logm", "sqrtm"]

    def infer(self, x: TensorSpec, d: TensorSpec) -> TensorSpec:
        _FUNCTIONS[self.of].infer(x)
        require_matrix(self.name, d, "direction", True)
        spec = broadcast_specs(self.name, (x, d), same_dtype(self.name, (x, d)))
        if x.dims is not None and d.dims is not None and not are_compatible(x.dims[-2:], d.dims[-2:]):
            raise InvalidArgumentError(
                f"{self.name}: direction has shape {format_dims(d.dims)}, the matrix {format_dims(x.dims)}; their last two "
                "sizes must be equal."
            )
        return spec

    def eval(self, x: Array, d: Array) -> Array:
        shape, n = np.broadcast_shapes(x.shape, d.shape), x.shape[-1]
        wide = np.zeros((*shape[:-2], 2 * n, 2 * n), x.dtype)
        wide[..., :n, :n] = wide[..., n:, n:] = x
        wide[..., :n, n:] = d
        return np.ascontiguousarray(_FUNCTIONS[self.of].eval(wide)[..., :n, n:])

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, d = ctx.inputs
        x_bar = d_bar = None
        if ctx.needs(0):
            # The same rule again, for the function of the matrix of twice the size.
            n, none = _size(x), zeros_like(x + d)
            wide = _blocks(x + none, d + none, none, x + none)
            inner = bind(self, adjoint(wide), _blocks(none, g, none, none))
            first, last = slice(0, n), slice(n, None)
            x_bar = unbroadcast(
                ctx, 0, getitem(inner, (..., first, first)) + getitem(inner, (..., last, last))
            )
        if ctx.needs(1):
            d_bar = unbroadcast(ctx, 1, bind(self, adjoint(x), g))
        return x_bar, d_bar

    def batch(self, ctx: BatchContext, x: Ranked, d: Ranked) -> Tensor:
        return bind(self, *align_matrices(ctx, (x, d)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 2))


def _blocks(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """[[a, b], [c, d]]."""
    return concat([concat([a, b], axis=-1), concat([c, d], axis=-1)], axis=-2)


_FUNCTIONS: dict[Any, Any] = {"expm": Expm(), "logm": Logm(), "sqrtm": Sqrtm()}
_DIRECTIONS = {name: MatrixDirection(name) for name in _FUNCTIONS}


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of square matrices [..., n, n].

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
    Example:
      >>> linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
      array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return bind(Expm(), lift(input))


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithm of square complex matrices [..., n, n], none singular.

    Args:
      input: Tensor [..., n, n], a complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Al-Mohy and Higham, Improved inverse scaling and squaring algorithms for the matrix logarithm, 2012.
    """
    return bind(Logm(), lift(input))


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square root of square matrices [..., n, n], none singular; NaN where it would not be real for a real one.

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Deadman, Higham and Ralha, Blocked Schur algorithms for computing the matrix square root, 2013.
    """
    return bind(Sqrtm(), lift(input))


__all__ = ["expm", "logm", "sqrtm"]
