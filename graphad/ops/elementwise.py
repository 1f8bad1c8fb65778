"""Families of elementwise ops as tables: what they share is said once here, a row adds a formula and its derivative.

`unary`, `binary` and `ternary` make an op class; `function_of` makes its public function, which has a short way: when
nothing listens and the operand is an eager tensor of a known dtype, it is one NumPy call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType, bool_
from graphad.core.levels import busy
from graphad.core.op import Op, define
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.kernels import forms
from graphad.ops.rules import (
    ANY,
    NUMERIC,
    align_stacked,
    broadcast_specs,
    elementwise_rows,
    require_kind,
    same_dtype,
)


class Elementwise(Op):
    """y[i] = f(x[i], ...), operands broadcast together. Subclasses are made by `elementwise`.

    Class attributes: formula, the NumPy callable; kinds, the dtype kinds it takes; scalar, its name in kernels;
    result, the dtype of the result where it is not that of the operands.
    """

    formula: ClassVar[Callable[..., Any]]
    kinds: ClassVar[frozenset[str]] = NUMERIC
    scalar: ClassVar[str | None] = None
    result: ClassVar[DType | None] = None

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        dtype = same_dtype(self.name, xs)
        require_kind(self.name, xs[0], self.kinds)
        if len(xs) == 1 and self.result is None:
            return xs[0]
        return broadcast_specs(self.name, xs, self.result or dtype)

    def eval(self, *xs: Any) -> Any:
        return type(self).formula(*xs)

    def batch(self, ctx: Any, *xs: Any) -> Any:
        return bind(self, *align_stacked(ctx, xs))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return elementwise_rows(specs, axes)

    def lower(self, *xs: TensorSpec) -> Any:
        if self.scalar is None:
            return None
        return forms.call(self.scalar, [x.dtype for x in xs], self.result or xs[0].dtype)


def elementwise(
    name: str,
    formula: Callable[..., Any],
    *,
    vjp: Callable[..., Any],
    kinds: frozenset[str] = NUMERIC,
    scalar: str | None = None,
    result: DType | None = None,
    keeps: tuple[Any, Any] = (True, False),
    doc: str = "",
) -> Any:
    """An elementwise op class from one row of a table.

    Args:
      name: The op's name.
      formula: NumPy values to a NumPy value; for float inputs it must keep their dtype.
      vjp: Called as vjp(ctx, g); returns one cotangent per input.
      kinds: Dtype kinds that the operands may have.
      scalar: The function's name in kernels; None runs it on the host.
      result: The result's dtype if it is not the operands'.
      keeps: Which inputs and outputs `vjp` reads.
      doc: One sentence for the class.
    """

    def rule(self: Op, ctx: Any, g: Any) -> Any:
        return vjp(ctx, g)

    if getattr(vjp, "reason", None) is not None:
        rule.reason = vjp.reason  # type: ignore[attr-defined]
    body = {
        "name": name,
        "formula": staticmethod(formula),
        "kinds": kinds,
        "scalar": scalar,
        "result": result,
        "keeps": keeps,
        "vjp": rule,
        "__doc__": doc or f"The elementwise op {name}.",
        "__module__": vjp.__module__,
        "__qualname__": name.title().replace("_", ""),
    }
    return define(type(Elementwise)(body["__qualname__"], (Elementwise,), body))


def comparison(name: str, formula: Callable[..., Any], vjp: Any, kinds: frozenset[str] = ANY, scalar: str | None = None) -> Any:
    """An elementwise op class whose result is bool."""
    return elementwise(name, formula, vjp=vjp, kinds=kinds, scalar=scalar or name, result=bool_, keeps=(False, False))


def unary_function(op_class: Any, doc: str, public_name: str | None = None) -> Callable[..., Tensor]:
    """The public function f(x, name=None) of a unary elementwise op."""
    op = op_class()
    formula = op_class.formula
    kinds = frozenset(_numpy_kinds(op_class.kinds))

    def function(x: Any, name: str | None = None) -> Tensor:
        if type(x) is EagerTensor and busy() is None and x.data.dtype.kind in kinds:
            return EagerTensor(formula(x.data))
        return bind(op, lift(x))  # type: ignore[no-any-return]

    return _named(function, public_name or op.name, doc)


def binary_function(op_class: Any, doc: str, public_name: str | None = None) -> Callable[..., Tensor]:
    """The public function f(x, y, name=None) of a binary elementwise op."""
    op = op_class()
    formula = op_class.formula
    kinds = frozenset(_numpy_kinds(op_class.kinds))

    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        if type(x) is EagerTensor and type(y) is EagerTensor and busy() is None:
            a, b = x.data, y.data
            if a.dtype is b.dtype and a.shape == b.shape and a.dtype.kind in kinds:
                return EagerTensor(formula(a, b))
        x, y = lift_pair(op.name, x, y)
        return bind(op, x, y)  # type: ignore[no-any-return]

    return _named(function, public_name or op.name, doc)


def _numpy_kinds(kinds: frozenset[str]) -> str:
    letters = {"float": "f", "complex": "c", "int": "i", "uint": "u", "bool": "b"}
    return "".join(letters[kind] for kind in kinds)


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def keeps_dtype(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula whose result is cast back to the dtype of the first operand."""

    def wrapped(x: Any, *rest: Any) -> Any:
        y = formula(x, *rest)
        return y if y.dtype == x.dtype else y.astype(x.dtype)

    return wrapped


def as_array(x: Any) -> np.ndarray:
    """A NumPy value as an array, for formulas that assign into it."""
    return np.asarray(x)
