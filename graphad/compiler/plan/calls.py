"""Rows that call an op's eval: what a round of a native loop, or a plan with sizes that the run finds, does where an op has no
native code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler.plan.host import as_value
from graphad.core.dims import evaluate, run_time_symbols
from graphad.core.errors import InternalError
from graphad.core.frames import note_traced_line
from graphad.core.op import Op
from graphad.core.rule_errors import explained
from graphad.trace.numbered import run_time_sizes, with_sizes

if TYPE_CHECKING:
    from graphad.compiler.backend import Compute, Shaped, Sized
    from graphad.compiler.plan.places import Made
    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Unit
    from graphad.core.dtypes import DType

_NANOSECONDS = 5_000.0  # of a call, beside what the eval takes for each element


def call(scope: Scope, unit: Unit) -> Made:
    """The row of a call: its operands are in C order."""
    (node,) = unit.nodes
    targets = [scope.part.sites[value] for value in unit.writes]
    sites = [*unit.reads, *targets]
    walks = [scope.strided(site) for site in sites]
    dtypes = [scope.part.specs[site.root].dtype for site in sites]
    places = [
        scope.checked(site, walk, dtype.itemsize) if 0 not in walk[0] else scope.place(site)
        for site, walk, dtype in zip(sites, walks, dtypes, strict=True)
    ]
    names = sorted(run_time_symbols([size for site in sites for size in site.shape]) | run_time_sizes(node))
    sizes = [scope.numbers[name] for name in names]

    def made() -> Any:
        step, kept = scope.backend.call(_sized(scope, unit, names), len(sites), sizes)
        scope.binding.keep.append(kept)
        return step

    found = scope.once((call, scope.part, unit.index), made)
    words = [*found.words[: len(found.words) - len(sizes)], *sizes]
    work = _NANOSECONDS + sum([float(math.prod(shape)) for shape, _ in walks])
    return scope.step(found._replace(words=words), places, work)


def _sized(scope: Scope, unit: Unit, names: Sequence[str]) -> Sized:
    """What a call of a unit calls, and its operands and results, for the sizes of these symbols."""
    (node,) = unit.nodes
    numbers, is_made_again, count = scope.numbers, scope.binding.is_made_again, len(unit.reads)
    sites = [*unit.reads, *[scope.part.sites[value] for value in unit.writes]]
    kinds = [(site.shape, scope.part.specs[site.root].dtype) for site in sites]

    def sized(sizes: Sequence[int]) -> tuple[Compute, list[Shaped], list[Shaped]]:
        known = {**numbers, **dict(zip(names, sizes, strict=True))}
        found = [(tuple([evaluate(n, known) for n in dims]), dtype) for dims, dtype in kinds]
        compute = _computing(with_sizes(node.op, known), node.line, found[count:])
        shaped = [(shape, dtype.numpy) for shape, dtype in found]
        return _unanswered(compute) if is_made_again else compute, shaped[:count], shaped[count:]

    return sized


class Unanswered(Exception):
    """Raised if a called function has raised an error, so that the run has no result."""


def _unanswered(compute: Compute) -> Compute:
    def called(values: list[Any]) -> Sequence[Any]:
        try:
            return compute(values)
        except Exception as error:  # the op raises it again in the run that is made then
            raise Unanswered from error

    return called


def _computing(op: Op, line: str | None, results: Sequence[tuple[tuple[int, ...], DType]]) -> Compute:
    """The op's eval, whose errors have the same message as in every tier."""

    def failed(error: Exception, values: list[Any]) -> Exception:
        error = explained(error, op, values)
        note_traced_line(error, line)
        return error

    def several(values: list[Any]) -> Sequence[Any]:
        try:
            ys = [as_value(y) for y in op.eval(*values)]
            for y, (shape, dtype) in zip(ys, results, strict=True):
                if y.shape != shape or y.dtype is not dtype.numpy:
                    same(y, shape, dtype)
        except Exception as error:
            raise failed(error, values)  # noqa: B904 - it has its own cause
        return ys

    if op.multiple:
        return several
    evaluate, ((shape, dtype),) = op.evaluator, results
    kind = dtype.numpy

    def single(values: list[Any]) -> Sequence[Any]:
        try:
            y = evaluate(*values) if shape else as_value(evaluate(*values))
            if y.shape != shape or y.dtype is not kind:
                same(y, shape, dtype)
        except Exception as error:
            raise failed(error, values)  # noqa: B904 - it has its own cause
        return (y,)

    return single


def same(y: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Check a host step's result against the graph, since later steps access its elements by address."""
    if y.shape != shape or y.dtype != dtype:
        raise InternalError(
            f"plan: a step gave shape {y.shape} and dtype {y.dtype} where its graph says {shape} and {dtype}"
        )
    return y
