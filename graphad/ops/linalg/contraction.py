"""Einstein sums. The equation is parsed once; with known sizes it becomes transposes, one matrix product per pair, and sums.

Only for unknown sizes there is an op `einsum`, which becomes those when the graph is specialised. Labels that repeat
within one operand are removed first by taking diagonals, so that every label occurs once per operand afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import Dim, Size, is_one, product
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.memo import Memo
from graphad.core.op import MIXED, Op, define, output_specs
from graphad.core.schema import Kind, declare
from graphad.core.shapes import are_numbers, format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import widened
from graphad.ops.array.broadcast import sum_to_input
from graphad.ops.array.create import ones_like
from graphad.ops.array.join import lift_all
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.transpose import Transpose
from graphad.ops.linalg.diagonal import Diagonal
from graphad.ops.linalg.matmul import MatMul
from graphad.ops.math.arithmetic import MUL
from graphad.ops.math.complexes import CONJ
from graphad.ops.math.reduce import ReduceSum
from graphad.ops.rules import require_numeric, same_dtype

REST = "..."
Labels = tuple[str, ...]

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@functools.lru_cache(maxsize=4096)
def parse(equation: str) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of the operands and of the result; "..." is one label here.

    Raises: InvalidArgumentError: the equation is malformed.
    """
    text = "".join(equation.split())
    left, arrow, right = text.partition("->")
    operands = tuple(_labels(equation, part) for part in left.split(","))
    counts: dict[str, int] = {}
    for labels in operands:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    if arrow:
        result = tuple(label for label in _labels(equation, right) if label != REST or REST in counts)
    else:
        once = sorted(label for label, count in counts.items() if count == 1 and label != REST)
        result = (*([REST] if REST in counts else []), *once)
    for label in result:
        if label not in counts:
            raise InvalidArgumentError(
                f"einsum: label {label!r} of the result in {equation!r} occurs in no operand."
            )
    if len(set(result)) != len(result):
        raise InvalidArgumentError(
            f"einsum: the result in {equation!r} repeats a label; each may occur once there."
        )
    return operands, result


def _is_equation(x: str) -> bool:
    """Whether no operand of the equation repeats a label; `einsum` has taken the diagonals by then."""
    try:
        return type(x) is str and all(len(set(labels)) == len(labels) for labels in parse(x)[0])
    except InvalidArgumentError:
        return False


Equation = str
declare(
    Kind(
        "Equation",
        _is_equation,
        words="string",
        bound="an equation of einsum in which no operand has a label twice",
    )
)


def _labels(equation: str, part: str) -> Labels:
    out: list[str] = []
    k = 0
    while k < len(part):
        if part.startswith(REST, k):
            out.append(REST)
            k += 3
        elif part[k].isalpha() and part[k].isascii():
            out.append(part[k])
            k += 1
        else:
            raise InvalidArgumentError(
                f"einsum: {part[k]!r} in {equation!r} is not a label; use letters, ',', '->' and '...'."
            )
    if out.count(REST) > 1:
        raise InvalidArgumentError(f"einsum: {part!r} in {equation!r} holds '...' more than once.")
    return tuple(out)


def render(operands: Sequence[Labels], result: Labels) -> str:
    """The equation as text."""
    return ",".join("".join(labels) for labels in operands) + "->" + "".join(result)


def _spelled_out(
    equation: str, operands: Sequence[Labels], result: Labels, ranks: Sequence[int]
) -> tuple[list[Labels], Labels]:
    """The labels with every "..." replaced by unused letters, aligned on the right."""
    used = {label for labels in (*operands, result) for label in labels}
    widths = []
    for k, (labels, rank) in enumerate(zip(operands, ranks, strict=True)):
        width = rank - len(labels) + (REST in labels)
        if width < 0 or (REST not in labels and width):
            raise InvalidArgumentError(
                f"einsum: operand {k} of {equation!r} has {len(labels) - (REST in labels)} labels, its tensor has rank {rank}."
            )
        widths.append(width)
    most = max(widths)
    free = [letter for letter in LETTERS if letter not in used]
    if most > len(free):
        raise InvalidArgumentError(f"einsum: {equation!r} needs more than 52 labels.")
    letters = free[:most]

    def spelled(labels: Labels, width: int) -> Labels:
        out: list[str] = []
        for label in labels:
            out.extend(letters[most - width :] if label == REST else [label])
        return tuple(out)

    return [spelled(labels, width) for labels, width in zip(operands, widths, strict=True)], spelled(
        result, most
    )


def _free(operands: Sequence[Labels], spelled: Sequence[Labels]) -> set[str]:
    """The unused letters that replace "..."."""
    return {label for labels in spelled for label in labels}.difference(*operands)


def _check_sizes(
    operands: Sequence[Labels], shapes: Sequence[tuple[Dim | int | None, ...] | None]
) -> dict[str, Any]:
    """The size of each label where it is known. Raises: InvalidArgumentError: two sizes differ."""
    sizes: dict[str, Any] = {}
    open_: set[str] = set()  # what is 1 in one operand may be more in another
    for labels, dims in zip(operands, shapes, strict=True):
        if dims is None or REST in labels:
            continue
        if len(dims) != len(labels):
            raise InvalidArgumentError(
                f"einsum: labels {''.join(labels)!r} do not fit shape {format_dims(dims)}."
            )
        for label, size in zip(labels, dims, strict=True):
            known = sizes.get(label)
            if size is None:
                open_.add(label)
            if known is None or _is_one(known):
                sizes[label] = size if size is not None or known is None else known
            elif size is None or size == known or is_one(size):
                continue
            elif is_one(known):
                sizes[label] = size
            else:
                raise InvalidArgumentError(
                    f"einsum: label {label!r} has size {known} in one operand and {size} in another: "
                    f"shapes are {', '.join(format_dims(shape) for shape in shapes)}."
                )
    return {label: None if label in open_ and _is_one(n) else n for label, n in sizes.items()}


# -- with known sizes: ops that have kernels -------------------------------------------------------------------------------


class _Value(NamedTuple):
    """A tensor of a plan: what is known of it, and its place among the operands and the results of the steps."""

    spec: TensorSpec
    place: int

    @property
    def dims(self) -> Any:
        return self.spec.dims


class _Plan:
    """The ops of an Einstein sum in the order in which they run, and the places of their operands."""

    __slots__ = ("count", "steps")

    def __init__(self, count: int) -> None:
        self.count = count
        self.steps: list[tuple[Op, tuple[int, ...]]] = []

    def bind(self, op: Op, *xs: _Value) -> _Value:
        (spec,) = output_specs(op, [x.spec for x in xs])
        self.steps.append((op, tuple([x.place for x in xs])))
        return _Value(spec, self.count + len(self.steps) - 1)

    def run(self, xs: Sequence[Tensor]) -> Tensor:
        values = list(xs)
        for op, places in self.steps:
            values.append(bind(op, *[values[place] for place in places]))
        return values[-1] if self.steps else values[0]


_plans = Memo("plans of Einstein sums", 1024)


def contract(
    xs: Sequence[Tensor], operands: Sequence[Labels], result: Labels, loose: AbstractSet[str] = frozenset()
) -> Tensor:
    """The Einstein sum of tensors with definite shapes, by transposes, products of pairs, and sums.

    Args:
      xs: The tensors.
      operands, result: Their labels and those of the result.
      loose: Labels along which sizes of 1 are broadcast: those of "...".
    """
    return _planned([x.spec for x in xs], operands, result, loose).run(xs)


def _planned(
    specs: Sequence[TensorSpec], operands: Sequence[Labels], result: Labels, loose: AbstractSet[str]
) -> _Plan:
    """The steps of `contract`, which depend on the sizes alone."""
    plan = _Plan(len(specs))
    values = [_Value(spec, k) for k, spec in enumerate(specs)]
    left = list(zip(values, operands, strict=True))
    while len(left) > 1:
        i, j = _next_pair(left, result)
        (b, lb), (a, la) = left.pop(j), left.pop(i)
        later = set(result).union(*[labels for _, labels in left])
        left.append(_pair(plan, a, la, b, lb, later, result, loose))
    x, labels = left[0]
    x, labels = _summed(plan, x, labels, set(result))
    _ordered(plan, x, labels, result)
    return plan


def _next_pair(left: Sequence[Any], result: Labels) -> tuple[int, int]:
    """The two operands to contract next: those with the smallest product."""
    if len(left) == 2 or any(isinstance(size, Dim) for x, _ in left for size in x.dims):
        return 0, 1
    best, chosen = None, (0, 1)
    for i in range(len(left)):
        for j in range(i + 1, len(left)):
            others = [labels for k, (_, labels) in enumerate(left) if k not in (i, j)]
            later = set(result).union(*others)
            sizes = dict(zip(left[i][1], left[i][0].dims, strict=True)) | dict(
                zip(left[j][1], left[j][0].dims, strict=True)
            )
            growth = product(size for label, size in sizes.items() if label in later)
            growth -= product(left[i][0].dims) + product(left[j][0].dims)
            if best is None or growth < best:
                best, chosen = growth, (i, j)
    return chosen


def _summed(plan: _Plan, x: _Value, labels: Labels, kept: set[str]) -> tuple[_Value, Labels]:
    """x summed over the labels that neither the result nor another operand needs."""
    gone = [i for i, label in enumerate(labels) if label not in kept]
    if not gone:
        return x, labels
    return plan.bind(ReduceSum(tuple(gone)), x), tuple(label for label in labels if label in kept)


def _ordered(plan: _Plan, x: _Value, labels: Labels, wanted: Labels) -> _Value:
    """x with its axes in the order of `wanted`."""
    perm = tuple(labels.index(label) for label in wanted)
    return x if perm == tuple(range(len(perm))) else plan.bind(Transpose(perm), x)


def _pair(
    plan: _Plan,
    a: _Value,
    la: Labels,
    b: _Value,
    lb: Labels,
    later: set[str],
    result: Labels,
    loose: AbstractSet[str],
) -> tuple[_Value, Labels]:
    """The product of two operands, summed over the labels that are no longer needed."""
    a, la = _summed(plan, a, la, later | set(lb))
    b, lb = _summed(plan, b, lb, later | set(la))
    sizes = dict(zip(lb, b.dims, strict=True))
    # Along "..." an operand of size 1 is constant, so the other one can be summed alone.
    alone = {k for k, n in zip(la, a.dims, strict=True) if k in sizes and _is_one(n) != _is_one(sizes[k])}
    alone &= loose - later
    if alone:
        a, la = _summed(plan, a, la, {*la} - alone)
        b, lb = _summed(plan, b, lb, {*lb} - alone)
    shared = [label for label in la if label in lb]
    inner = [label for label in shared if label not in later]
    lead = [label for label in shared if label in later]
    rows = [label for label in la if label not in shared]
    columns = [label for label in lb if label not in shared]
    if not inner:
        wanted = tuple(label for label in result if label in la or label in lb)
        rest = tuple(
            label for label in (*la, *[label for label in lb if label not in la]) if label not in wanted
        )
        order = (*wanted, *rest)
        return plan.bind(MUL, _spread(plan, a, la, order), _spread(plan, b, lb, order)), order
    for label in inner:
        n, m = a.dims[la.index(label)], sizes[label]
        if type(n) is int and type(m) is int and n != m:
            raise InvalidArgumentError(
                f"einsum: label {label!r} has size {n} in one operand and {m} in another; sizes of labels that are "
                "summed must be the same."
            )
    places = {label: k for k, label in enumerate(result)}
    if rows and columns and places.get(rows[0], 0) > places.get(columns[0], 0):
        a, la, b, lb, rows, columns = b, lb, a, la, columns, rows
    heights = [a.dims[la.index(label)] for label in rows]
    widths = [b.dims[lb.index(label)] for label in columns]
    a, flip_a = _matrices(plan, a, la, lead, rows, inner)
    b, flip_b = _matrices(plan, b, lb, lead, columns, inner)
    y = plan.bind(MatMul(flip_a, not flip_b), a, b)
    if len(rows) != 1 or len(columns) != 1:
        y = plan.bind(Reshape((*ranked(y.dims)[: len(lead)], *heights, *widths)), y)
    return y, (*lead, *rows, *columns)


def _is_one(size: Size) -> bool:
    return type(size) is int and size == 1


def _spread(plan: _Plan, x: _Value, labels: Labels, order: Labels) -> _Value:
    """x with its axes in `order`, and axes of size 1 for the labels that it lacks."""
    x = _ordered(plan, x, labels, tuple(label for label in order if label in labels))
    missing = tuple(k for k, label in enumerate(order) if label not in labels)
    # Broadcasting adds leading axes of size 1.
    first = next((k for k, label in enumerate(order) if label in labels), len(order))
    inside = tuple(k - first for k in missing if k > first)
    return plan.bind(ExpandDims(inside), x) if inside else x


def _matrices(
    plan: _Plan, x: _Value, labels: Labels, lead: list[str], free: list[str], inner: list[str]
) -> tuple[_Value, bool]:
    """x as [*lead, free, inner], or with the last two axes exchanged (then True) if that saves a transpose."""
    flipped = tuple(labels) == (*lead, *inner, *free) and bool(free)
    order = (*lead, *inner, *free) if flipped else (*lead, *free, *inner)
    x = _ordered(plan, x, labels, order)
    if len(free) == 1 and len(inner) == 1:
        return x, flipped
    n = len(lead)
    split = n + (len(inner) if flipped else len(free))
    return plan.bind(Reshape((*x.dims[:n], product(x.dims[n:split]), product(x.dims[split:]))), x), flipped


# -- with unknown sizes ----------------------------------------------------------------------------------------------------


@define
class Einsum(Op):
    """The Einstein sum of an `equation` such as "ij,jk->ik": over all labels that are missing after the arrow. "..."
    stands for broadcast axes; if it is missing after the arrow, the sum is over those too. No operand repeats a label.
    """

    name = "einsum"
    total = True
    equation: Equation

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        operands, result = parse(self.equation)
        if len(xs) != len(operands):
            raise InvalidArgumentError(
                f"einsum: {self.equation!r} takes {len(operands)} operands, it is given {len(xs)}."
            )
        dtype = same_dtype("einsum", xs)
        require_numeric("einsum", xs[0], "an operand")
        if any(REST in labels for labels in operands):
            if any(x.dims is None for x in xs):
                return TensorSpec.of(None if REST in result else (None,) * len(result), dtype)
            operands, result = _spelled_out(self.equation, operands, result, [len(x.dims or ()) for x in xs])  # type: ignore[assignment]
        shapes = [x.dims for x in xs]
        sizes = _check_sizes(operands, shapes)
        if all(dims is not None and are_numbers(dims) for dims in shapes):
            # Labels that are summed have one size: NumPy would broadcast.
            _planned(xs, operands, result, _free(parse(self.equation)[0], operands))
        return TensorSpec.of(tuple(sizes.get(label) for label in result), dtype)

    def eval(self, *xs: Array) -> Array:
        equation = self.equation
        operands, result = parse(equation)
        if REST not in result and any(REST in labels for labels in operands):
            equation = render(*_spelled_out(equation, operands, result, [np.ndim(x) for x in xs]))
        y = np.einsum(equation, *map(widened, xs), optimize=len(xs) > 1)
        return np.asarray(y).astype(xs[0].dtype, copy=False)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        operands, result = parse(self.equation)
        bars: list[Any] = []
        for i, labels in enumerate(operands):
            if not ctx.needs(i):
                bars.append(None)
                continue
            others = [k for k in range(len(operands)) if k != i]
            values = [bind(CONJ, ctx.inputs[k]) if g.dtype.is_complex else ctx.inputs[k] for k in others]
            given = [result, *[operands[k] for k in others]]
            if not set(labels).issubset([label for part in given for label in part]):
                # A label that only this operand has: the cotangent is constant along it.
                given.append(labels)
                values.append(ones_like(ctx.inputs[i]))
            bars.append(sum_to_input(ctx, i, summed_product(given, labels, [g, *values])))
        return bars

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        operands, result = parse(self.equation)
        ranks = [len(x.dims) - ctx.stacked(i) for i, x in enumerate(xs)]
        spelled, out = _spelled_out(self.equation, operands, result, ranks)
        used = {label for labels in spelled for label in labels}
        loop = next(letter for letter in LETTERS if letter not in used)
        stacked = [(loop, *labels) if ctx.stacked(i) else labels for i, labels in enumerate(spelled)]
        return contract(xs, stacked, (loop, *out), _free(operands, spelled))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        operands, result = parse(self.equation)
        if any(spec.dims is None for spec in specs):
            return MIXED
        spelled, out = _spelled_out(self.equation, operands, result, [len(spec.dims or ()) for spec in specs])
        found = {labels[axis] for labels, axis in zip(spelled, axes, strict=True) if axis is not None}
        if not found:
            return None
        label = found.pop()
        return out.index(label) if not found and label in out else MIXED

    def fold(self, ctx: FoldContext, *xs: Ranked) -> Tensor | None:
        if any(ctx.known(x) is not None for x in xs):
            return None
        operands, result = parse(self.equation)
        spelled, out = _spelled_out(self.equation, operands, result, [len(x.dims) for x in xs])
        _check_sizes(spelled, [x.dims for x in xs])
        return contract(xs, spelled, out, _free(operands, spelled))


def summed_product(operands: Sequence[Labels], result: Labels, xs: Sequence[Any]) -> Tensor:
    """The Einstein sum of tensors whose labels do not repeat."""
    shapes = tuple([x.dims for x in xs])
    key = (tuple(operands), result, shapes)
    plan = _plans.get(key)
    if plan is None:
        if not all(is_definite(dims) for dims in shapes):
            return bind(Einsum(render(operands, result)), *xs)
        spelled, out = _spelled_out(
            render(operands, result), operands, result, [len(dims) for dims in shapes]
        )
        _check_sizes(spelled, shapes)
        plan = _planned([x.spec for x in xs], spelled, out, _free(operands, spelled))
        if all(type(size) is int for dims in shapes for size in dims):
            _plans.keep(key, plan)
    return plan.run(xs)


def einsum(equation: str, *inputs: TensorLike, name: str | None = None, **options: object) -> Tensor:
    """The Einstein sum of an equation such as "ij,jk->ik".

    Args:
      equation: One label (a letter) for each axis of each operand, and for each axis of the result. Labels left out of the
        result are summed over; a label repeated in one operand takes its diagonal; "..." stands for any further axes, which
        broadcast; the result may leave it out where there are none. Without "->" the labels of the result are those that
        occur once, in alphabetical order.
      inputs: The operands, of one numeric dtype.
      options: `optimize` is accepted; the order of contraction is chosen by size.
    Returns: Tensor of the dtype of the operands, with an axis for each label of the result.
    Raises: InvalidArgumentError: the equation is malformed or does not fit the shapes.
    Example:
      >>> einsum("bxby->bxy", ones([2, 3, 2, 4])).shape
      TensorShape([2, 3, 4])
    """
    unknown = set(options) - {"optimize", "greedy"}
    if unknown:
        raise InvalidArgumentError(f"einsum: unknown options {sorted(unknown)}; there is 'optimize'.")
    if not isinstance(equation, str):
        raise ArgumentTypeError(
            f'einsum: the equation is a {type(equation).__name__}; text such as "ij,jk->ik" comes first.'
        )
    operands, result = parse(equation)
    items = (
        inputs[0]
        if len(inputs) == 1 and isinstance(inputs[0], list | tuple) and len(operands) > 1
        else inputs
    )
    if len(items) != len(operands):
        raise InvalidArgumentError(
            f"einsum: the equation {equation!r} has {len(operands)} operands, {len(items)} were given."
        )
    xs = lift_all("einsum", list(items))
    specs = [x.spec for x in xs]
    same_dtype("einsum", specs)
    require_numeric("einsum", specs[0], "an operand")
    labels, result = _rest_named(equation, operands, result, xs)
    for i, one in enumerate(labels):
        if xs[i].ndim is not None and REST not in one and len(one) != xs[i].ndim:
            raise InvalidArgumentError(
                f"einsum: operand {i} of {equation!r} has {len(one)} labels, its tensor has shape {format_dims(xs[i].dims)}."
            )
        xs[i], labels[i] = _without_repeats(xs[i], one)
    y = summed_product(labels, result, xs)
    return bind(IDENTITY, y) if y is xs[0] else y


def _rest_named(
    equation: str, operands: Sequence[Labels], result: Labels, xs: Sequence[Tensor]
) -> tuple[list[Labels], Labels]:
    """The labels with "..." left out where it stands for no axes, and spelled out where all shapes are known."""
    labels = list(operands)
    if REST not in result and any(REST in one for one in labels):
        for one, x in zip(labels, xs, strict=True):
            if REST in one and x.ndim is not None and x.ndim >= len(one):
                raise InvalidArgumentError(
                    f"einsum: the result in {equation!r} must hold '...' since it stands for axes of an operand with shape "
                    f"{format_dims(x.dims)}."
                )
        labels = [tuple(label for label in one if label != REST) for one in labels]
    if any(REST in one for one in labels):
        if all(is_definite(x.dims) for x in xs):
            return _spelled_out(equation, labels, result, [len(ranked(x.dims)) for x in xs])
        if any(x.ndim is None for x in xs) and len(xs) > 1 and any(REST in one[1:] for one in labels):
            raise InvalidArgumentError(
                "einsum: with a tensor of unknown rank '...' must come first in every operand."
            )
    return labels, result


def _without_repeats(x: Tensor, labels: Labels) -> tuple[Any, Labels]:
    """x with the diagonal taken for each repeated label."""
    while len(set(labels)) != len(labels):
        second = next(k for k, label in enumerate(labels) if label in labels[:k])
        first = labels.index(labels[second])
        rest = labels.index(REST) if REST in labels else len(labels)
        a, b = (k if k < rest else k - len(labels) for k in (first, second))
        x = bind(Diagonal(a, b), x)
        labels = labels[:second] + labels[second + 1 :]
    return x, labels
