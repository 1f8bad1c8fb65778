"""Checks of every op's results for NaN and infinities, switched on and off.

Eager ops are seen by a recorder, as a tape sees them. While it is on, functions run node by node, without unused nodes, instead
of compiled: the results are the same, and the node that produced the first NaN is known, with its line. While it is off it
costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import EagerLevel, new_recorder
from graphad.core.errors import FailedPreconditionError, InvalidArgumentError
from graphad.core.forks import lock
from graphad.core.frames import note_traced_line, user_line
from graphad.core.levels import chain, current, remove_recorder
from graphad.core.op import Op
from graphad.core.shapes import format_dims
from graphad.core.tensor import Handle
from graphad.graph.evaluate import Runner, evaluate, set_runner
from graphad.graph.ir import Graph, Node
from graphad.ops.control.loop import run_in_steps


class _Checker:
    """A recorder that checks every op of an eager level."""

    differentiates_itself = False
    transforms: Any = None

    def __init__(self) -> None:
        self.level: Any = None

    def record(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if not op.structured:  # its nodes have been checked one by one
            given = [x if isinstance(x, Handle) else x.data for x in inputs]
            _look(op, given, [y.data for y in outputs], None)

    note_break = record

    def read(self, handle: Any, value: Any) -> None:
        pass

    def needs(self, op: Op, inputs: Sequence[Any]) -> tuple[bool, ...] | None:
        return None

    def instead(self, op: Op, inputs: Sequence[Any], younger: Sequence[Any]) -> None:
        return None

    def follows(self, x: Any) -> bool:
        return False

    def note_exit(self, x: Any, way: str) -> None:
        pass


_lock = lock()
_on = 0  # how many threads check
_before: Runner | None = None


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """From now on an op of this thread that makes a NaN or an infinity raises an error that names it and the user's line.

    It holds for eager ops, for those of functions, compiled or not, and for those of derivatives; also for what a later op would
    hide, such as 1 / infinity. What nobody reads in a function is not computed, and not looked at. Functions run node by node
    meanwhile, with the same results: expect a tenth of the speed, or less. Calling it again changes nothing.

    Args:
      stack_height_limit, path_length_limit: TensorFlow's limits on the lines that its error shows; this one shows one line.

    Raises: FailedPreconditionError (a RuntimeError): a function is being traced, or rows are vectorised.

    Example:
      >>> debugging.enable_check_numerics()
      >>> math.log(constant([1.0, 0.0]))
      Traceback (most recent call last):
      ...
      graphad.core.errors.InvalidArgumentError: log: it made 1 infinity among the 2 elements of its result, ...
      >>> debugging.disable_check_numerics()
    """
    global _on, _before
    level = current()
    if level is not None and type(level) is not EagerLevel:
        raise FailedPreconditionError(
            "enable_check_numerics: a function is being traced, or rows are vectorised; call it outside, before or after."
        )
    if _checker() is not None:
        return
    checker = _Checker()
    checker.level = new_recorder(checker)
    with _lock:
        _on += 1
        if _on == 1:
            import graphad.compiler.plan.executable  # noqa: F401 - puts its runner in place first

            _before = set_runner(_run)
            run_in_steps(True)


def disable_check_numerics() -> None:
    """End what `enable_check_numerics` has begun in this thread; where it has not, nothing happens."""
    global _on, _before
    checker = _checker()
    if checker is None:
        return
    remove_recorder(checker.level, checker)
    with _lock:
        _on -= 1
        if not _on and _before is not None:
            run_in_steps(False)
            set_runner(_before)
            _before = None


def _checker() -> _Checker | None:
    for level in chain():
        for recorder in level.recorders:
            if type(recorder) is _Checker:
                return recorder
    return None


def _run(graph: Graph, values: Sequence[Any], *place: str) -> Sequence[Any]:
    """Run a graph node by node if this thread checks, else with the previous runner."""
    if _checker() is None:
        assert _before is not None
        return _before(graph, values, *place)
    return evaluate(_read_parts(graph), values, _seen)


def _read_parts(graph: Graph) -> Graph:
    """The graph without unused nodes."""
    found: Graph | None = graph.derived.get(_read_parts)
    if found is None:
        from graphad.compiler.passes import dead

        found = dead.run(graph)
        if found is graph:  # a copy, since a graph in its own table would be a reference cycle
            found = Graph(graph.inputs, graph.constants, graph.nodes, graph.outputs, graph.name)
        graph.derived[_read_parts] = found
    return found


def _seen(node: Node, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    if not node.op.structured:
        try:
            _look(node.op, inputs, outputs, node.line)
        except InvalidArgumentError as error:
            note_traced_line(error, node.line)  # not the line of the loop around it
            raise


def _look(op: Op, inputs: Sequence[Any], outputs: Sequence[Any], line: str | None) -> None:
    """Raise if a result has an element that is not finite."""
    for k, y in enumerate(outputs):
        if _is_inexact(y) and not np.isfinite(y).all():
            raise InvalidArgumentError(
                _sentence(op, inputs, k if op.multiple else None, y, line or user_line())
            )


def _is_inexact(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fcV"


def _sentence(op: Op, inputs: Sequence[Any], k: int | None, y: Any, line: str | None) -> str:
    nans = int(np.isnan(y).sum())
    infinities = y.size - nans - int(np.isfinite(y).sum())
    found = [f"{nans} NaN"] if nans else []
    found += ["1 infinity" if infinities == 1 else f"{infinities} infinities"] if infinities else []
    result = "its result" if k is None else f"its result {k}"
    if y.ndim:
        first = [int(i) for i in np.argwhere(~np.isfinite(y))[0]]
        where = (
            f" among the {y.size} elements of {result}, shape {format_dims(y.shape)}, the first at {first}"
        )
    else:
        where = f" as {result}"
    said = [f"input {i} {_described(x)}" for i, x in enumerate(inputs) if _is_inexact(x)]
    known = [i for i, x in enumerate(inputs) if _is_inexact(x) and not np.isfinite(x).all()]
    if known:
        made = f"input {known[0]} was not finite already, and no op that was looked at has made it; it gave"
    else:
        made = "it made"
    given = f"; {', '.join(said)}" if said else ""
    place = f"; at {line}" if line else ""
    return f"{op.name}: {made} {' and '.join(found)}{where}{given}{place}."


def _described(x: Any) -> str:
    finite = np.asarray(x)[np.isfinite(x)]
    if not x.size:
        return "is empty"
    if not finite.size:
        return "has no finite element"
    if x.dtype.kind == "c":
        return f"has absolute values up to {np.abs(finite).max():.6g}"
    low, high = float(finite.min()), float(finite.max())
    text = f"is {low:.6g}" if x.size == 1 else f"lies between {low:.6g} and {high:.6g}"
    return text if finite.size == x.size else f"{text} where it is finite"
