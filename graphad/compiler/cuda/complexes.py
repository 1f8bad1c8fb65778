"""Steps of complex numbers: kernels of their parts, which are pairs of floats beside each other in memory.

A function of complex numbers is a map with two inputs for each operand and two outputs, whose walks skip the other part. So the
emitter, its grids and reductions serve complex numbers too. The formulas are NumPy's, step by step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, WORK, Part, Walk
from graphad.compiler.rows import Step
from graphad.core.dtypes import DType, as_dtype, bool_
from graphad.kernels import forms, scalars
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop, Operand, collapse
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Ref, Statement
from graphad.kernels.sites import row_strides

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

Form = forms.Applied | forms.Accumulated
PARTS = {"complex64": "float32", "complex128": "float64"}
_REAL = frozenset(("bool", "int32", "int64", "float32", "float64"))  # that become complex
Pair = tuple[Ref, ...]  # the parts of a number, or a real one


class _Body:
    """Collects the statements of a map."""

    def __init__(self, dtypes: Sequence[str]) -> None:
        self.inputs: list[DType] = []
        self.statements: list[Statement] = []
        self.scalars: list[DType] = []
        self.numbers: list[float] = []
        self.operands: list[Pair] = []
        for name in dtypes:
            parts = 2 if name in PARTS else 1
            self.operands.append(tuple([(IN, len(self.inputs) + k) for k in range(parts)]))
            self.inputs += [as_dtype(PARTS.get(name, name))] * parts

    def dtype_of(self, ref: Ref) -> DType:
        kind, k = ref
        return (
            self.inputs[k] if kind == IN else self.scalars[k] if kind == SCALAR else self.statements[k].dtype
        )

    def number(self, value: float, like: Ref) -> Ref:
        """A constant of the dtype of another value."""
        self.scalars.append(self.dtype_of(like))
        self.numbers.append(value)
        return SCALAR, len(self.scalars) - 1

    def __call__(self, fn: str, *given: Ref, dtype: DType | None = None) -> Ref:
        dtypes = [self.dtype_of(ref) for ref in given]
        self.statements.append(Statement(fn, given, scalars.result_dtype(fn, dtypes, dtype)))
        return TMP, len(self.statements) - 1


def _add(do: _Body, x: Pair, y: Pair) -> Pair:
    return tuple([do("add", a, b) for a, b in zip(x, y, strict=True)])


def _subtract(do: _Body, x: Pair, y: Pair) -> Pair:
    return tuple([do("sub", a, b) for a, b in zip(x, y, strict=True)])


def _multiply(do: _Body, x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return do("sub", do("mul", a, c), do("mul", b, d)), do("add", do("mul", a, d), do("mul", b, c))


def _divide(do: _Body, x: Pair, y: Pair) -> Pair:
    """By Smith's way: the smaller part of the divisor in relation to the larger one."""
    (a, b), (c, d) = x, y
    sizes = do("abs", c), do("abs", d)
    is_real = do("ge", *sizes)
    large, small = do("select", is_real, c, d), do("select", is_real, d, c)
    ratio = do("div", small, large)
    scale = do("div", do.number(1.0, a), do("add", large, do("mul", small, ratio)))
    first, second = do("select", is_real, a, b), do("select", is_real, b, a)
    real = do("mul", do("add", first, do("mul", second, ratio)), scale)
    # (b - a r) s for a larger real part, (b r - a) s for a larger imaginary one
    left = do("select", is_real, b, do("mul", b, ratio))
    right = do("select", is_real, do("mul", a, ratio), a)
    imaginary = do("mul", do("sub", left, right), scale)
    is_zero = do("eq", do("maximum", *sizes), do.number(0.0, a))
    return (
        do("select", is_zero, do("div", a, sizes[0]), real),
        do("select", is_zero, do("div", b, sizes[0]), imaginary),
    )


def _equal(do: _Body, x: Pair, y: Pair) -> Pair:
    return (do("and", *[do("eq", a, b) for a, b in zip(x, y, strict=True)]),)


def _differ(do: _Body, x: Pair, y: Pair) -> Pair:
    return (do("or", *[do("ne", a, b) for a, b in zip(x, y, strict=True)]),)


def _select(do: _Body, condition: Pair, x: Pair, y: Pair) -> Pair:
    return tuple([do("select", condition[0], a, b) for a, b in zip(x, y, strict=True)])


def _square(do: _Body, x: Pair) -> Pair:
    return _multiply(do, x, x)


# From where on e^x is the square of e^(x / 2), by bytes of a part: times a small cosine it is a number where e^x is none.
_HALF_FROM = {4: 80.0, 8: 700.0}


def _exp(do: _Body, x: Pair) -> Pair:
    a, b = x
    zero = do.number(0.0, a)
    is_large = do("gt", a, do.number(_HALF_FROM[do.dtype_of(a).itemsize], a))
    half = do("exp", do("select", is_large, do("mul", a, do.number(0.5, a)), a))
    again = do("select", is_large, half, do.number(1.0, a))
    parts = [do("mul", do("mul", half, do(fn, b)), again) for fn in ("cos", "sin")]
    # e^-inf is 0 in every direction, and a real number stays one where it overflows.
    is_gone = do("eq", a, do.number(-np.inf, a))
    real, imaginary = (do("select", is_gone, zero, part) for part in parts)
    return real, do("select", do("eq", b, zero), b, imaginary)


# By the function of `forms.Applied`.
_FORMULAS: dict[Any, Callable[..., Pair]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.divide: _divide,
    np.negative: lambda do, x: tuple([do("neg", part) for part in x]),
    np.conjugate: lambda do, x: (x[0], do("neg", x[1])),
    np.square: _square,
    np.absolute: lambda do, x: (do("hypot", *x),),
    np.exp: _exp,
    np.equal: _equal,
    np.not_equal: _differ,
    np.isfinite: lambda do, x: (do("and", *[do("isfinite", part) for part in x]),),
    np.isnan: lambda do, x: (do("or", *[do("isnan", part) for part in x]),),
    np.isinf: lambda do, x: (do("or", *[do("isinf", part) for part in x]),),
    "real": lambda do, x: (x[0],),
    "imag": lambda do, x: (x[1],),
    "complex": lambda do, x, y: (x[0], y[0]),
    "select": _select,
}


@functools.lru_cache(maxsize=256)
def _map(form: forms.Applied, dtypes: tuple[str, ...]) -> tuple[Map, tuple[int, ...]]:
    """The map of a function of operands of these dtypes, and the words of its constants."""
    do = _Body(dtypes)
    operands, result = list(do.operands), form.dtype.name
    if len(operands) == 1 and isinstance(form.fn, np.ufunc) and form.fn.nin == 2:
        operands *= 2
    if form.fn == "cast":
        part = as_dtype(PARTS.get(result, result))
        found = [do("cast", ref, dtype=part) if do.dtype_of(ref) is not part else ref for ref in operands[0]]
        if result in PARTS and len(found) == 1:
            found.append(do.number(0.0, found[0]))
    else:
        found = list(_FORMULAS[form.fn](do, *operands))
    refs = tuple(found[: 2 if result in PARTS else 1])
    made = Map(tuple(do.inputs), tuple(do.scalars), tuple(do.statements), refs).check()
    words = [forms.scalar_word(np.asarray(x), dtype) for x, dtype in zip(do.numbers, do.scalars, strict=True)]
    return made, tuple(words)


def has(form: Form, dtypes: Sequence[str]) -> bool:
    """Whether operands of these dtypes have such steps."""
    if isinstance(form, forms.Accumulated):
        return form.way == "add" and dtypes[0] in PARTS
    result = form.dtype.name
    if form.fn == "cast":
        return all(name in PARTS or name in _REAL for name in (*dtypes, result))
    if form.fn == "select":
        return dtypes[0] == "bool" and result in PARTS and {*dtypes[1:]} == {result}
    if form.fn == "complex":
        return result in PARTS and {*dtypes} == {PARTS[result]}
    parts = {PARTS.get(name) for name in dtypes}
    is_one = len(parts) == 1 and None not in parts
    return is_one and form.fn in _FORMULAS and (result in dtypes or result in parts or result == bool_.name)


def supported(form: forms.Map | forms.Reduce) -> forms.Form | None:
    """The routine for a loop of numbers of which there are no kernels: a cast, a selection, a sum."""
    if isinstance(form, forms.Reduce):
        is_sum = not form.source.body and form.combine == "add" and form.source.inputs[0].is_complex
        return forms.Accumulated("add", form.axes) if is_sum else None
    if len(form.body) != 1 or form.scalars:
        return None
    (step,) = form.body
    return forms.Applied(step.fn, step.dtype) if step.fn in ("cast", "select") else None


def workspace(backend: Cuda, form: Form, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
    """Bytes for the shapes of operands and result."""
    if isinstance(form, forms.Applied) or 0 in shapes[0]:
        return 0
    return backend.workspace(_sum(form, dtype, shapes[0]), {})


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result, all in C order."""
    shapes = [tuple(shape) for shape, _ in walks]
    if isinstance(form, forms.Accumulated):
        return _summed(backend, form, dtypes[0], shapes)
    if 0 in shapes[-1]:
        return []
    made, words = _map(form, tuple(dtypes[:-1]))
    operands, places = [], []
    for k, (shape, name) in enumerate(zip(shapes, dtypes, strict=True)):
        place = RESULT if k == len(shapes) - 1 else FIRST + k
        for walk, at in _walks(shape, name):
            operands.append(walk)
            places.append((place, at))
    inputs = len(made.inputs)
    loop = collapse(made, shapes[-1], operands[:inputs], outputs=operands[inputs:])
    return [_launch(backend, loop, places, words)]


def _walks(shape: Sequence[int], name: str) -> list[tuple[Operand, int]]:
    """The walks over the parts of an array, each with the byte at which it begins."""
    if name not in PARTS:
        return [(Operand(tuple(shape), tuple(row_strides(shape))), 0)]
    strides = tuple([2 * step for step in row_strides(shape)])
    return [(Operand(tuple(shape), strides), k * as_dtype(PARTS[name]).itemsize) for k in range(2)]


def _launch(
    backend: Cuda, loop: Loop, places: Sequence[tuple[int, int]], numbers: Sequence[int], work: bool = False
) -> Part:
    layout = block_layout(loop.kernel)
    pointers = [*layout.inputs, *layout.outputs, *([layout.workspace] if work else [])]
    found = [*places, *([(WORK, 0)] if work else [])]
    return Part(Step(backend.build(loop.kernel), loop.words({}, numbers), tuple(pointers)), tuple(found))


def _sum(form: forms.Accumulated, dtype: str, shape: Sequence[int]) -> Loop:
    """The sums of both parts by one kernel."""
    part = as_dtype(PARTS[dtype])
    axes = {axis % len(shape) for axis in form.axes}
    kept = tuple([1 if axis in axes else n for axis, n in enumerate(shape)])
    both = Map((part, part), (), (), ((IN, 0), (IN, 1)))
    walks = [walk for walk, _ in _walks(shape, dtype)]
    left = tuple([n for axis, n in enumerate(kept) if axis not in axes])
    target = Operand(left, tuple([2 * step for step in row_strides(left)]))
    return collapse(both, shape, walks, sorted(axes), ["add", "add"], [target, target])


def _summed(
    backend: Cuda, form: forms.Accumulated, dtype: str, shapes: Sequence[Sequence[int]]
) -> list[Part]:
    size = as_dtype(PARTS[dtype]).itemsize
    if 0 in shapes[-1]:
        return []
    if 0 in shapes[0]:
        steps = [2 * size * step for step in row_strides(shapes[-1])]
        return [Part(backend.fill(np.zeros((), dtype), shapes[-1], steps), ((RESULT, 0),))]
    loop = _sum(form, dtype, shapes[0])
    places = [(FIRST, 0), (FIRST, size), (RESULT, 0), (RESULT, size)]
    return [_launch(backend, loop, places, (), bool(backend.workspace(loop, {})))]
