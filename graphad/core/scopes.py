"""Whether ops run eagerly or are traced, and how to leave a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from graphad.core.annotations import NestLike
from graphad.core.errors import ArgumentTypeError
from graphad.core.levels import entered, trace_in_progress, unwatched
from graphad.core.names import current_scope, get_current_name_scope
from graphad.core.nest import leaves_of
from graphad.core.tensor import VALUES


def executing_eagerly() -> bool:
    """Whether ops run eagerly: False while a function, a loop body or a branch is traced.

    Returns: True or False.
    Example:
      >>> executing_eagerly()
      True
    """
    return trace_in_progress() is None


def inside_function() -> bool:
    """Whether a function is being traced.

    Returns: True or False.
    """
    return trace_in_progress() is not None


_OUTSIDE = executing_eagerly  # stands for the trace where there is none
_used: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # the unique names that each trace has given


class DefaultGraph:
    """What a program may read of the graph into which a function is traced; outside of functions it stands for no graph.

    Attributes:
      building_function: Whether a function is being traced.
      name: The name of that function; empty where there is none.
      seed: None: what `random.set_seed` sets is not part of a graph.
    """

    seed = None

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self.building_function = trace is not None
        self.name: str = "" if trace is None else trace.name

    def as_default(self) -> AbstractContextManager[DefaultGraph]:
        """A block in which it is the default graph, which it is anyway."""
        return nullcontext(self)

    def get_name_scope(self) -> str:
        """The current name scope, as `get_current_name_scope` has it."""
        return get_current_name_scope()

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name within the current scope that this graph has not returned before; upper and lower case do not count as
        different.

        Args:
          name: The name; where it has been given, `_1`, `_2` and so on stand behind it.
          mark_as_used: Whether later calls avoid the name.
        """
        used = _used.setdefault(_OUTSIDE if self._trace is None else self._trace, set())
        whole = found = current_scope() + name
        number = 0
        while found.lower() in used:
            number += 1
            found = f"{whole}_{number}"
        if mark_as_used:
            used.add(found.lower())
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultGraph) and other._trace is self._trace

    def __hash__(self) -> int:
        return hash((DefaultGraph, id(self._trace)))

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"get_default_graph().{name}: there is no graph of operations to look at; `explain` shows what a function does.",
            name=name,
        )


def get_default_graph() -> DefaultGraph:
    """The graph that is being traced into.

    Returns: An object that says whether that is the graph of a function, and of which; two of one graph are equal.
    Example:
      >>> get_default_graph().building_function
      False
    """
    return DefaultGraph(trace_in_progress())


@contextmanager
def init_scope() -> Iterator[None]:
    """Leave all traces: ops in the block run eagerly, and no tape records them.

    Returns: A context manager.
    Example:
      >>> @function
      ... def f():
      ...     with init_scope():
      ...         return constant(executing_eagerly())
      >>> bool(f())
      True
    """
    with entered(unwatched()):
        yield


@contextmanager
def control_dependencies(control_inputs: NestLike) -> Iterator[None]:
    """A block whose ops run after `control_inputs`. It changes nothing, since effects always keep the program's order.

    Args:
      control_inputs: A list of tensors, variables or what `group` gives, or None. In eager mode, functions in it are called.
    Returns: A context manager.
    Raises: ArgumentTypeError (a TypeError): it is not a list.
    """
    if control_inputs is not None and not isinstance(control_inputs, list | tuple):
        raise ArgumentTypeError(
            f"control_dependencies: control_inputs is {control_inputs!r}; give a list of tensors, or None."
        )
    for x in control_inputs or ():
        if callable(x) and not isinstance(x, VALUES) and executing_eagerly():
            x()
    yield


def no_op(name: str | None = None) -> None:
    """Does nothing; the result of `group`."""


def group(*inputs: NestLike, name: str | None = None) -> None:
    """An op that waits for all `inputs`. It does nothing, since effects always keep the program's order.

    Args:
      inputs: Tensors, variables, None, or nests of these.
    Raises: ArgumentTypeError (a TypeError): one of them is not a tensor, variable or None.
    """
    for x in leaves_of(list(inputs)):
        if x is not None and not isinstance(x, VALUES):
            raise ArgumentTypeError(f"group: {x!r} is not a tensor; give tensors, variables or None.")
