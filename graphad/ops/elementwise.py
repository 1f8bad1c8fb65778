"""Families of elementwise ops as tables: shared rules are here, a row adds a formula and its derivative.

`elementwise` makes an op class; `unary_function` and `binary_function` make its public function, which has a short way: without
recorders, and for eager tensors of one accepted dtype, it is one NumPy call.

1/0, log(0) and overflow have an answer (inf or nan), in compiled code as here; see `core/ieee.py`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
    BatchContext,
    BinaryFunction,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    UnaryFunction,
)
from graphad.core.bind import bind
from graphad.core.convert import lift_pair, lift_truths
from graphad.core.dtypes import DType, bool_, float32
from graphad.core.kinds import BOOLEAN, kind_words
from graphad.core.op import Op, OpType, define
from graphad.core.shapes import ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.fitted import OPERATORS
from graphad.ops.choice import BESIDE, FEW, beside
from graphad.ops.rules import (
    ANY,
    NUMERIC,
    align_stacked,
    broadcast_specs,
    elementwise_rows,
    require_kind,
    same_dtype,
)
from graphad.ops.short import of_one, of_two

Steps = tuple[tuple[str, ...], ...]
F = TypeVar("F", bound=Callable[..., Any])
_LETTERS = {"float": "f", "complex": "c", "int": "i", "uint": "u", "bool": "b"}


class Pointwise(Op):
    """The base of ops whose operands are broadcast to one shape, of which each element is computed alone."""

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        return bind(self, *align_stacked(ctx, xs))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return elementwise_rows(specs, axes)


class Elementwise(Pointwise):
    """y[i] = f(x[i], ...), operands broadcast together. Subclasses are made by `elementwise`.

    Class attributes: formula, the NumPy callable; kinds, the dtype kinds it takes; scalar, its name in kernels, or the
    steps it is made of there; applied, what `forms.Applied` calls for complex numbers, with the bits of the formula; result, the
    dtype of the result where it is not that of the operands, or a function to it; into, which writes the result over its first
    operand, `out` (`ops/overwrite.py`).
    """

    total = True
    formula: ClassVar[Callable[..., Any]]
    lowers_alike = takes_spread = pointwise = carries_masks = True
    letters: ClassVar[str] = ""  # the NumPy kinds for which `quick` needs no further check
    kinds: ClassVar[frozenset[str]] = NUMERIC
    scalar: ClassVar[str | Steps | None] = None
    applied: ClassVar[Any] = None
    into: ClassVar[Callable[..., Array] | None] = None
    result: ClassVar[DType | Callable[[DType], DType] | None] = None

    def result_dtype(self, dtype: DType) -> DType:
        """The dtype of the result for operands of `dtype`."""
        result = type(self).result
        if result is None:
            return dtype
        return result if isinstance(result, DType) else result(dtype)

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        dtype = same_dtype(self.name, xs)
        require_kind(self.name, xs[0], self.kinds)
        if len(xs) == 1:
            return TensorSpec.of(xs[0].dims, self.result_dtype(dtype))
        return broadcast_specs(self.name, xs, self.result_dtype(dtype))

    def eval(self, *xs: Array) -> Array:
        return type(self).formula(*xs)  # type: ignore[no-any-return]

    @property
    def evaluator(self) -> Callable[..., Any]:
        return type(self).formula if type(self).eval is Elementwise.eval else self.eval

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        # What formulas ask of large arrays is whether all elements are one number, or how they are broadcast.
        infix = OPERATORS.get(self.infix or "")
        return None if infix is None or any(math.prod(ranked(x.dims)) > FEW for x in specs) else infix

    def quick(self, x: Tensor, y: Tensor | None = None, *more: TensorLike) -> Array | None:
        a = x.data
        dtype = a.dtype
        if dtype.kind in self.letters:
            if y is None:
                return self.formula(a)  # type: ignore[no-any-return]
            b = y.data
            if b.dtype is dtype and not more:
                if a.size != b.size and (a.size >= BESIDE or b.size >= BESIDE):
                    found = beside(self.formula, a, b)
                    if found is not None:
                        return found  # type: ignore[no-any-return]
                return self.formula(a, b)  # type: ignore[no-any-return]
        return None

    def lower(self, *xs: TensorSpec) -> kernels.forms.Form | None:
        dtypes = [x.dtype for x in xs]
        result = self.result_dtype(dtypes[0])
        if dtypes[0].is_complex or result.is_complex:
            return None if self.applied is None else kernels.forms.Applied(self.applied, result)
        steps = self.scalar
        if steps is None or isinstance(steps, str):
            return (
                kernels.forms.call(steps, dtypes, result) if steps and _kernel_takes(steps, dtypes) else None
            )
        return map_of(steps, dtypes, getattr(self.formula, "is_wide", False))

    def why_eval(self, specs: Sequence[TensorSpec]) -> str:
        if self.scalar is None:
            return "the scalar functions of kernels cannot express its formula"
        if self.refuses is not None and specs[0].dtype.is_integer:
            return (
                f"an integer that is {self.refuses} as second operand is an error, which a loop cannot raise"
            )
        return super().why_eval(specs)


def _kernel_takes(fn: str, dtypes: Sequence[DType]) -> bool:
    # `select` depends on the kind of the selected values, not of its condition.
    return kernels.scalars.kind_of(dtypes[-1]) in kernels.scalars.TABLE[fn].kinds


def map_of(steps: Steps, dtypes: Sequence[DType], is_wide: bool = False) -> kernels.forms.Map | None:
    """The kernel map of a few scalar functions, or None where one of them does not take the dtype.

    Args:
      steps: (function, argument, ...); inputs are "x", "y", "z", results of earlier steps "a", "b", ...; the function
        "nonzero" asks whether its argument differs from 0 (or from False). The last step is the result.
      dtypes: The dtypes of the inputs.
      is_wide: Compute in float32 where the inputs have two bytes, and round once; see `in_float32`.
    """
    refs: dict[str, kernels.forms.Ref] = {}
    known = dict(zip("xyz", dtypes, strict=False))
    body: list[kernels.forms.Statement] = []

    def add(name: str, fn: str, args: tuple[kernels.forms.Ref, ...], dtype: DType) -> None:
        refs[name], known[name] = (kernels.forms.TMP, len(body)), dtype
        body.append(kernels.forms.Statement(fn, args, dtype))

    rounds = is_wide and dtypes[0].itemsize == 2
    for k, name in enumerate(list(known)):
        refs[name] = (kernels.forms.IN, k)
        if rounds:
            add(name, "cast", (refs[name],), float32)
    letter = ""
    for letter, (fn, *names) in zip("abcdefghij", steps, strict=False):
        arg_dtypes = [known[name] for name in names]
        real = "cast" if fn == "nonzero" else fn
        if not _kernel_takes(real, arg_dtypes):
            return None
        dtype = bool_ if fn == "nonzero" else kernels.scalars.result_dtype(real, arg_dtypes)
        add(letter, real, tuple(refs[name] for name in names), dtype)
    if rounds:
        add(letter, "cast", (refs[letter],), dtypes[0])
    return kernels.forms.Map(tuple(dtypes), (), tuple(body), ((kernels.forms.TMP, len(body) - 1),))


def elementwise(
    name: str,
    formula: Callable[..., Any],
    *,
    vjp: Callable[..., Any],
    kinds: frozenset[str] = NUMERIC,
    scalar: str | Steps | None = None,
    result: DType | Callable[[DType], DType] | None = None,
    keeps: tuple[Any, Any] = (True, False),
    doc: str,
    **traits: Any,
) -> type[Elementwise]:
    """An elementwise op class from one row of a table.

    Args:
      name: The op's name.
      formula: NumPy values to a NumPy value; for float inputs it must keep their dtype.
      vjp: Called as vjp(ctx, g); returns one cotangent per input.
      kinds: Dtype kinds that the operands may have.
      scalar: The function's name in kernels, or its steps (see `map_of`); None runs it on the host.
      result: The result's dtype if it is not the operands', or a function from the one to the other.
      keeps: Which inputs and outputs `vjp` reads.
      doc: What it computes of x, y and z: the docstring of the class, and its meaning for whoever reads a file.
      traits: Further class attributes of `Op`.
    """

    module = getattr(formula, "__module__", "") or ""
    body = {
        "name": name,
        "formula": staticmethod(formula),
        "kinds": kinds,
        "letters": "".join(_LETTERS[kind] for kind in kinds),
        "scalar": scalar,
        "applied": formula if isinstance(formula, np.ufunc) else None,
        "result": result if result is None or isinstance(result, DType) else staticmethod(result),
        "keeps": keeps,
        "vjp": staticmethod(vjp),
        "__doc__": doc,
        "__module__": module if module.startswith("graphad.") else vjp.__module__,
        "__qualname__": class_name(name),
        **traits,
    }
    made: Any = OpType(class_name(name), (Elementwise,), body)
    op_class: type[Elementwise] = define(made)
    return op_class


def class_name(name: str) -> str:
    """The class of the op called `name`: "squared_difference" is SquaredDifference."""
    return "".join(word.capitalize() for word in name.split("_"))


def comparison(
    name: str,
    formula: Callable[..., Any],
    vjp: Callable[..., Any],
    kinds: frozenset[str] = ANY,
    scalar: str | Steps | None = None,
    *,
    doc: str,
    **traits: Any,
) -> type[Elementwise]:
    """An elementwise op class whose result is bool."""
    return elementwise(
        name,
        formula,
        vjp=vjp,
        kinds=kinds,
        scalar=scalar or name,
        result=bool_,
        keeps=(False, False),
        doc=f"{doc} The result is bool.",
        **traits,
    )


def unary_function(
    op_class: type[Elementwise],
    doc: str,
    public_name: str | None = None,
    argument: str = "x",
    example: str = "",
    source: str = "",
) -> UnaryFunction:
    """The public function f(x, name=None) of a unary elementwise op; `argument` is the name of its parameter.

    `example`: a call with its result in the next line, which the docstring shows; `source`: where its formula is published.
    """
    op = op_class()
    function = of_one(op, op_class.formula, op_class.kinds)
    return named(
        function, public_name or op.name, documented(op_class, doc, (argument,), example, source), x=argument
    )


def binary_function(
    op_class: type[Elementwise],
    doc: str,
    public_name: str | None = None,
    arguments: tuple[str, str] = ("x", "y"),
    example: str = "",
    source: str = "",
    quick: Callable[[Any, Any], Any] | None = None,
) -> BinaryFunction:
    """The public function f(x, y, name=None) of a binary elementwise op; `arguments` are the names of its parameters, `quick` is
    its formula without what only derivatives need.
    """
    op = op_class()
    truths = op_class.kinds == BOOLEAN

    def usual(x: TensorLike, y: TensorLike) -> Tensor:
        if truths:
            x, y = lift_truths(x), lift_truths(y)
        return bind(op, *lift_pair(op.name, x, y))

    shown = documented(op_class, doc, arguments, example, source)
    function = of_two(quick or op_class.formula, op_class.kinds, usual)
    return named(function, public_name or op.name, shown, x=arguments[0], y=arguments[1])


def documented(
    op_class: type[Elementwise], doc: str, arguments: Sequence[str], example: str, source: str
) -> str:
    """A docstring with the sections that follow from the schema of an elementwise op."""
    words = kind_words(op_class.kinds)
    is_pair = len(arguments) > 1
    takes = "Tensors of any shapes that broadcast together" if is_pair else "Tensor of any shape"
    result = op_class.result
    dtype = (
        f"of dtype {result.name}" if isinstance(result, DType) else "real" if result else "of the same dtype"
    )
    shape = "the shape to which they broadcast" if is_pair else f"the shape of `{arguments[0]}`"
    refused = [] if op_class.kinds == ANY else ["another dtype"]
    refused += ["dtypes that differ"] if is_pair else []
    errors = [f"DTypeError (a TypeError): {' or '.join(refused)}"] if refused else []
    errors += ["InvalidArgumentError (a ValueError): shapes that do not broadcast"] if is_pair else []
    lines = [
        doc.rstrip(),
        "",
        f"Args:\n  {', '.join(arguments)}: {takes}, {words} dtype{', the same one for both' if is_pair else ''}.",
        f"Returns: Tensor with {shape}, {dtype}.",
        f"Raises: {'; '.join(errors) or 'ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor'}.",
    ]
    lines += [f"Source: {source}"] if source else []
    return "\n".join(
        [*lines, "Example:", *[f"  {line}" for line in example.splitlines()]] if example else lines
    )


def named(function: F, name: str, doc: str, **parameters: str) -> F:
    """A generated function with its public name and docstring, and its parameters called by their public names."""
    function.__name__ = function.__qualname__ = name
    frame: Any = sys._getframe(1)
    while frame.f_globals is globals():
        frame = frame.f_back
    # The module of the table, so that the function can be pickled.
    function.__module__ = frame.f_globals["__name__"]
    function.__doc__ = doc
    code = function.__code__
    variables = tuple([parameters.get(variable, variable) for variable in code.co_varnames])
    if variables != code.co_varnames:
        function.__code__ = code.replace(co_varnames=variables)
        function.__annotations__ = {parameters.get(k, k): v for k, v in function.__annotations__.items()}
    return function


def in_float32(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of several steps, computed in float32 for operands of two bytes and rounded once."""

    def wrapped(x: Array, *rest: Any) -> Any:
        if x.dtype.itemsize != 2:
            return formula(x, *rest)
        return formula(x.astype(np.float32), *[y.astype(np.float32) for y in rest]).astype(x.dtype)

    wrapped.__module__ = formula.__module__
    wrapped.is_wide = True  # type: ignore[attr-defined]
    wrapped.nin = formula.nin if isinstance(formula, np.ufunc) else formula.__code__.co_argcount  # type: ignore[attr-defined]
    return wrapped


def as_array(x: TensorLike) -> np.ndarray:
    """A NumPy value as an array, for formulas that assign into it."""
    return np.asarray(x)
