"""Specialisation: a graph with unknown sizes is replayed in a trace whose inputs have known specs, where shape arithmetic
folds.

Sizes are numbers or symbols of the call's size class, so one specialised graph serves every call of the class. Three things
fold: ops with a `fold` rule, integer ops whose inputs are all known (their own `eval`, run on object arrays of sizes), and calls,
which are inlined. A comparison that the symbols cannot decide pins one of them to its number, and the replay starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.bind import is_mistake
from graphad.core.dims import Choices, UndecidedSize, choosing
from graphad.core.errors import GraphadError
from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.trace.size_class import SizeKey, literal_sizes, size_class

if TYPE_CHECKING:
    from graphad.trace.specialiser import Specialiser


class Specialised:
    """A graph specialised to one size class.

    Attributes:
      graph: The definite graph.
      key: Its size class, in which pinned symbols are numbers.
      pins: The symbols of the class that were pinned; later calls are compared by their numbers too.
      literals: Numbers from which every symbol is known to differ.
      choices: The choices made by the sizes of the call, before symbols were pinned; the graph serves calls with the same
      choices.
      numbers: The number behind each symbol in the call.
    """

    __slots__ = ("choices", "graph", "key", "literals", "numbers", "pins")

    def __init__(
        self,
        graph: Graph,
        key: SizeKey,
        pins: frozenset[str],
        literals: frozenset[int],
        choices: Choices,
        numbers: dict[str, int],
    ) -> None:
        self.graph = graph
        self.key = key
        self.pins = pins
        self.literals = literals
        self.choices = choices
        self.numbers = numbers


def specialise_call(
    graph: Graph,
    shapes: Sequence[Sequence[int | None] | None],
    pins: frozenset[str] = frozenset(),
    chosen: Choices | None = None,
) -> Specialised:
    """The graph specialised to the size class of `shapes`, with symbols pinned where a comparison needs their numbers.

    Args:
      graph: The graph.
      shapes: See `size_class`.
      pins: Symbols that are pinned from the start.
      chosen: The choices made when they were pinned.
    """
    found = size_class(graph, shapes)
    choices = Choices(found[2], chosen)
    while True:
        key, specs, numbers = size_class(graph, shapes, pins) if pins else found
        try:
            with choosing(choices):
                return Specialised(
                    specialise(graph, specs), key, pins, literal_sizes(graph), choices, numbers
                )
        except UndecidedSize as undecided:
            pins |= {min(undecided.symbols & numbers.keys())}
        except GraphadError as error:
            if not numbers or is_mistake(error):
                raise
            # Where symbols fail, numbers may succeed; if they fail too, the message has the actual numbers.
            pins |= numbers.keys()


def specialise(
    graph: Graph,
    specs: Sequence[TensorSpec],
    expanding: bool = True,
    known: Sequence[Any] | None = None,
    keeps_rules: bool = False,
    shared: dict[Any, Graph] | None = None,
    making: Callable[..., Specialiser] | None = None,
) -> Graph:
    """The graph replayed with definite input specs; the same object if there is nothing to specialise.

    Args:
      graph: The graph.
      specs: The specs of its inputs, with numbers and Dims as sizes.
      expanding: Replace ops by their `expand`.
      known: The integers (and size symbols) that each input holds, None where unknown.
      keeps_rules: Keep the rules of custom gradients, for a graph that is still to be differentiated.
      shared: The sub-graphs that were specialised for the outermost graph so far.
      making: The class of the replay's trace, also for sub-graphs; a class other than `Specialiser` changes more than sizes.
    Raises: UndecidedSize: a comparison needs the number behind a symbol.
    """
    has_known = known is not None and any(value is not None for value in known)
    if not has_known and making is None and not _needs_replay(graph, specs, expanding):
        return graph
    # Imported here: a graph of definite shapes needs no replay.
    from graphad.trace.specialiser import replayed

    return replayed(graph, specs, expanding, known, keeps_rules, {} if shared is None else shared, making)


def _as_it_is(graph: Graph) -> Graph:
    return graph


_closed: Callable[[Graph], Graph] = _as_it_is


def set_rule_closing(closed: Callable[[Graph], Graph]) -> None:
    """Set the function that gives a graph without Python rules, or the graph itself where a rule cannot be traced."""
    global _closed
    _closed = closed


def with_closed_rules(graph: Graph) -> Graph:
    """The graph without Python rules. A rule refers to values by their places in the graph that it was traced with, and a replay
    gives them other places."""
    return _closed(graph)


def _needs_replay(graph: Graph, specs: Sequence[TensorSpec], expanding: bool) -> bool:
    for mine, theirs in zip(graph.inputs, specs, strict=True):
        if mine is not theirs and (mine.dims is None or None in mine.dims or mine.dims != theirs.dims):
            return True
    return any(rule_of(type(node.op)) > (PLAIN if expanding else EXPANDS) for node in graph.nodes)


# How the specialiser treats the ops of a class: it keeps them, calls `expand`, or does more.
PLAIN, EXPANDS, FOLDS, INLINES, CUSTOM = range(5)
_rules: dict[type[Op], int] = {}


def rule_of(kind: type[Op]) -> int:
    """How the specialiser treats the ops of a class."""
    found = _rules.get(kind)
    if found is None:
        found = PLAIN
        if kind.inlines:
            found = INLINES
        elif kind.hands_on:
            found = CUSTOM
        elif kind.refers or kind.fold is not Op.fold or kind.holds_sizes:
            found = FOLDS
        elif kind.expand is not Op.expand:
            found = EXPANDS
        _rules[kind] = found
    return found
