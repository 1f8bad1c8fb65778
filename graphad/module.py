"""`Module`: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.names import current_scope, name_scope
from graphad.core.trackable import PRIVATE, Trackable, settle
from graphad.eager.variable import Variable


class Module(Trackable):
    """Base class of models: variables and modules assigned to attributes are found, trained and saved.

    A subclass may name attributes that are not to be searched in `_TF_MODULE_IGNORED_PROPERTIES`, a set that holds its base's.

    Args:
      name: A Python identifier; by default the class name in snake case.
    Raises: InvalidArgumentError (a ValueError): the name is not an identifier.
    Example:
      >>> class Net(Module):
      ...     def __init__(self):
      ...         super().__init__()
      ...         self.w = Variable([1.0, 2.0])
      >>> [v.shape for v in Net().trainable_variables]
      [TensorShape([2])]
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        name = snake_case(type(self).__name__) if name is None else name
        self._check_name(name)
        # named as in TensorFlow's class, since libraries of modules use them
        self._name = name
        self._name_scope = name_scope(f"{current_scope()}{name}/" if name else current_scope())

    @classmethod
    def _check_name(cls, name: object) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgumentError(
                f"'{name}' is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )

    @property
    def name(self) -> str:
        """The name of the module. Raises: AttributeError: the constructor of Module was not called."""
        try:
            return self._name
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__} has no name: its constructor must call super().__init__() first."
            ) from None

    @property
    def name_scope(self) -> name_scope:
        """The scope in which names of variables are prefixed with this module's name, within the scope of its creation."""
        try:
            return self._name_scope
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__} has no name scope: its constructor must call super().__init__() first."
            ) from None

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator of a method that runs in the module's name scope."""

        @wraps(method)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapper

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables: this module's own first, then those of its submodules, each once."""
        return tuple(self._found(lambda x: isinstance(x, Variable)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules below this one, each once."""
        return tuple(x for x in self._found(lambda x: isinstance(x, Module)) if x is not self)

    def _found(self, wanted: Callable[[Any], bool]) -> Iterator[Any]:
        settle()
        seen: set[int] = {id(self)}
        queue: list[Module] = [self]
        while queue:
            module = queue.pop(0)
            below: list[Module] = []
            for leaf in module._graphad_parts():
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                if wanted(leaf):
                    yield leaf
                if isinstance(leaf, Module):
                    below.append(leaf)
            queue[:0] = below

    def _graphad_parts(self) -> Iterable[Variable | Module]:
        """The variables and modules among the attributes, also in containers, in the order in which they are listed."""
        for name in self._searched():
            try:
                yield from parts_of(vars(self)[name], sorted)
            except TypeError as cause:
                raise self._unsorted(name) from cause

    def _searched(self) -> list[str]:
        """The attributes in which parts are looked for, in order."""
        ignored = self._TF_MODULE_IGNORED_PROPERTIES
        return [name for name in sorted(vars(self)) if not name.startswith(PRIVATE) and name not in ignored]

    def _unsorted(self, name: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"Error processing property '{name}' of {self!r}: its keys cannot be sorted."
        )

    def __repr__(self) -> str:
        from graphad.core.tree import short  # imported here since few programs need it

        return f"<{short(self)}>"

    def __str__(self) -> str:
        from graphad.core.tree import text_of, tree_of

        return text_of(tree_of(self))

    def _repr_html_(self) -> str:
        from graphad.core.html import of_module

        return of_module(self)

    def summary(
        self,
        line_length: int | None = None,
        positions: object = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: object = None,
    ) -> None:
        """Print the tree of modules and variables, with shapes and numbers of parameters, and the totals.

        A variable that several modules share is shown where it is first met and counted once. Layers that have not been called
        or built have no variables yet.

        Args:
          print_fn: Called once with the whole text, in place of `print`.
          line_length, positions, expand_nested, show_trainable, layer_range: Accepted for compatibility; the tree is
            whole, and as wide as its names.

        Example:
          >>> layer = Dense(3)
          >>> layer.build((None, 4))
          >>> layer.summary()
          Dense 'dense': 15 parameters
          ├─ kernel: float32(4, 3), 12
          └─ bias: float32(3,), 3
          <BLANKLINE>
          Total parameters: 15 (60 B)
          Trainable parameters: 15
          Non-trainable parameters: 0
        """
        from graphad.core.tree import summary

        (print_fn or print)(summary(self))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        attributes_to_ignore: Iterable[str] = (),
        with_path: bool = False,
    ) -> Iterator[Any]:
        """The values in the attributes and in containers there: first this module's, then those of its submodules.

        Args:
          recursive: Whether modules are gone into.
          predicate: Which values count; all, if it is not given.
          attribute_traversal_key: By what the names of attributes are sorted.
          attributes_to_ignore: Names of attributes to pass over.
          with_path: Give (path, value), the path being a tuple of names, keys and numbers; a value comes once for each path.
            Otherwise each value comes once.
        Raises: InvalidArgumentError (a ValueError): the keys of a dictionary cannot be sorted.
        """
        ignored = set(attributes_to_ignore)
        seen: set[int] = set()
        queue: list[tuple[tuple[Any, ...], Module, tuple[int, ...]]] = [((), self, (id(self),))]
        while queue:
            path, module, above = queue.pop(0)
            below = []
            for name in sorted(module._searched(), key=attribute_traversal_key):
                if name in ignored:
                    continue
                try:
                    leaves = list(_leaves(vars(module)[name], (*path, name)))
                except TypeError as cause:
                    raise module._unsorted(name) from cause
                for where, leaf in leaves:
                    if not with_path:
                        if id(leaf) in seen:
                            continue
                        seen.add(id(leaf))
                    if predicate is None or predicate(leaf):
                        yield (where, leaf) if with_path else leaf
                    if recursive and isinstance(leaf, Module) and id(leaf) not in above:
                        below.append((where, leaf, (*above, id(leaf))))
            queue[:0] = below


def _leaves(
    x: object, path: tuple[Any, ...], around: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """What is in a container, with paths; a container that holds itself, being one of those `around` it, is gone into once."""
    items: Iterable[tuple[Any, Any]]
    if isinstance(x, dict):
        items = [(key, x[key]) for key in sorted(x)]
    elif isinstance(x, tuple) and hasattr(x, "_fields"):
        items = zip(x._fields, x, strict=True)
    elif isinstance(x, list | tuple | deque):
        items = enumerate(x)
    else:
        yield path, x
        return
    if id(x) not in around:
        for key, item in items:
            yield from _leaves(item, (*path, key), (*around, id(x)))


def parts_of(
    x: object, in_order: Callable[[dict[Any, Any]], Iterable[Any]], seen: set[int] | None = None
) -> Iterator[Variable | Module]:
    """The variables and modules in a value; `in_order` gives the keys of a dictionary. A container that lists share, or that
    holds itself, is gone into once: `seen` are those that were."""
    if isinstance(x, Variable | Module):
        yield x
    elif hasattr(type(x), "__graphad_variables__"):  # such as a linear operator
        operator: Any = x
        yield from operator.__graphad_variables__
    elif isinstance(x, dict | list | tuple | deque):
        seen = set() if seen is None else seen
        if id(x) not in seen:
            seen.add(id(x))
            for item in [x[key] for key in in_order(x)] if isinstance(x, dict) else x:
                yield from parts_of(item, in_order, seen)


def snake_case(name: str) -> str:
    """A class name as an attribute would be spelled."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
