"""A short branch as one function of Python, for loops that NumPy walks: no graph is run for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import Array
from graphad.graph.prepare import Emitter

if TYPE_CHECKING:
    from graphad.ops.control.cond import Cond

_TRUTH: Any = np.bool_
_RUNS = 16  # after which a branch of a loop is worth a function of its own


def in_line(op: Cond) -> Callable[..., tuple[Array, ...]]:
    """The op as one function of Python, made when it has run some times."""
    left, function = _RUNS, None

    def run(predicate: Array, *operands: Array) -> tuple[Array, ...]:
        nonlocal left, function
        if type(predicate) is not _TRUTH:
            return op.eval(predicate, *operands)
        if function is None:
            left -= 1
            if left > 0:
                return op.eval(predicate, *operands)
            function = _function_of(op)
        return function(predicate, *operands)  # type: ignore[no-any-return]

    return run


def _function_of(op: Cond) -> Callable[..., Any]:
    emitter = Emitter()
    names = [emitter.fresh("x") for _ in range(len(op.then_graph.inputs) + 1)]
    outputs = emitter.choice(op, names, op.n_outputs)
    emitter.names["owned"] = _owned
    results = [f"owned({output}, {', '.join(names)})" for output in outputs]
    emitter.line(f"return ({', '.join(results)}{',' if len(results) == 1 else ''})")
    return emitter.compiled(f"def cond_({', '.join(names)}):", "cond_", type(op))


def _owned(y: Any, *operands: Any) -> Any:
    """A result that is no operand, constant or view: a copy where it is one."""
    if type(y) is not np.ndarray:
        return y
    is_own = y.base is None and y.flags.writeable and not any(y is x for x in operands)
    return y if is_own else y.copy()
