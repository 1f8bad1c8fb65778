"""The rounds of a loop that Python walks: a graph that runs again and again with other values of mostly the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.graph.evaluate import place_of, run, work

if TYPE_CHECKING:
    from graphad.compiler.plan.executable import Executable, Sizes
    from graphad.graph.ir import Graph

ROUNDS = 16  # that NumPy computes without a look whether native code has come


def in_rounds(graph: Graph, executable: Executable, jit_compile: bool | None) -> Callable[..., Sequence[Any]]:
    """A function of values that runs a graph as its `executable` does; values on a device as `evaluate.run` does.

    What a call finds out of its operands and settings it finds out in the first round, then every few rounds, and where shapes
    differ. So a loop goes on in native code soon after that has come, and what a round costs is what its nodes cost.
    """
    sizes: Sizes | None = None
    shapes: tuple[Any, ...] = ()
    left, is_plain = 0, executable.is_plain

    def round_of(*values: Any) -> Sequence[Any]:
        nonlocal sizes, shapes, left
        found = tuple([x.shape for x in values]) if is_plain else executable.shapes_of(values)
        if sizes and left and found == shapes:
            left -= 1
            before = work.nodes
            outputs: Sequence[Any] = sizes.host.run_part(values)
            work.nodes += sizes.work
            sizes.size_class.work += work.nodes - before
            return outputs
        if place_of(values) is not None:
            sizes = None
            return run(graph, values)
        outputs = executable.run(values, jit_compile)
        sizes = executable.on_host(values, jit_compile)  # of these values: rounds of others look again
        shapes, left = found, ROUNDS
        return outputs

    return round_of
