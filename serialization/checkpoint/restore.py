"""A checkpoint's values into the objects of a program, by the names of the edges between them.

One walk matches objects with nodes; no variable is assigned before all shapes and dtypes are compared and all arrays read.
Values whose objects do not exist yet stay pending: the walk continues below an object when it gets another attribute or is
built, and for lists and dicts, which do not report changes, at the next event of their owner (see `core/trackable.py`).
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections import deque
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import forks
from graphad.core.bind import bind
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.frames import warn_user
from graphad.core.levels import entered
from graphad.core.shapes import format_dims
from graphad.core.tensor import EagerTensor
from graphad.core.trackable import PENDING, RESTORED, wait_for_items
from graphad.eager.variable import Variable
from serialization.checkpoint.contents import (
    CONTAINERS,
    can_carry,
    is_state,
    is_value,
    pending_of,
    slots_of,
    state_of,
)
from serialization.checkpoint.saved import SLOTS, Node, Saved, Stored, find_child, in_order
from serialization.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphad.core.annotations import Array
    from graphad.core.tensor import Handle
    from graphad.layers.dense import Dense
    from graphad.optimizers.sgd import SGD


_lock = forks.rlock()
_serial = itertools.count(1)


class _Step:
    """The uncommitted findings of one walk."""

    def __init__(self) -> None:
        self.nodes: dict[int, Any] = {}
        self.objects: dict[int, tuple[Any, int]] = {}
        self.conflicts: list[tuple[Any, int]] = []
        self.owners: dict[int, Any] = {}


class Restoration:
    """One checkpoint that is being restored.

    Attributes:
      saved: The checkpoint.
      nodes: The object that each node was matched with.
      objects: Each object that was matched, by its id, with its node.
    """

    def __init__(self, saved: Saved, optional: Collection[int] = ()) -> None:
        self.saved = saved
        self._optional = optional  # variables, by id, that need no value
        self.nodes: dict[int, Any] = {}
        self.objects: dict[int, tuple[Any, int]] = {}
        self.is_partial = False
        self._serial = next(_serial)
        self._roots: list[tuple[Any, int]] = []
        self._told: set[tuple[int, int]] = set()
        self._useful = _useful(saved.nodes)
        self._with_slots = [number for number, node in enumerate(saved.nodes) if node.slots]

    def start(self, roots: list[tuple[Any, int]]) -> None:
        """Match these objects with these nodes, and all below them; of two objects for one node, the second only contributes
        children.

        Raises: InvalidArgumentError (a ValueError): a shape or dtype differs. Nothing has been restored then.
        """
        with _lock:
            self._roots = roots
            self.objects.update({id(x): (x, node) for x, node in roots[1:]})
            try:
                self._go([(x, node, x) for x, node in roots])
            except BaseException:
                self.is_partial = True  # the caller gets the error
                raise

    def refresh(self) -> None:
        """Continue with all objects added since."""
        with _lock:
            self._go([(x, node, x) for x, node in self._roots], again=True)

    # -- one walk --------------------------------------------------------------------------------------------------

    def go_on(self, owner: object) -> None:
        """Continue below an object that was matched before."""
        with _lock:
            known = self.objects.get(id(owner))
            if known is not None:
                self._go([(owner, known[1], owner)])

    def assigned(self, owner: object, name: str, value: object) -> None:
        """Restore a value that is about to become an attribute."""
        with _lock:
            known = self.objects.get(id(owner))
            edge = None if known is None else find_child(self.saved.nodes[known[1]], name)
            # the replacement of a restored attribute is not restored again
            if edge is not None and (isinstance(value, CONTAINERS) or edge not in self.nodes):
                self._go([(value, edge, owner)])

    def _go(self, starts: list[tuple[Any, int, Any]], again: bool = False) -> None:
        step = _Step()
        self._match(step, starts, again)
        self._match_slots(step)
        values = self._checked(step)
        self._commit(step, [x for x, _, owner in starts if x is not owner and isinstance(x, CONTAINERS)])
        for x, array in values:
            _give(x, array)
            vars(x)[RESTORED] = self._serial
        for x, node in step.conflicts:
            self._tell(x, node)

    def _match(self, step: _Step, starts: list[tuple[Any, int, Any]], again: bool) -> None:
        queue = deque(starts)
        first = {id(x) for x, _, _ in starts}
        walked: set[int] = set()
        while queue:
            x, node, owner = queue.popleft()
            known = step.objects.get(id(x)) or self.objects.get(id(x))
            if known is None:
                if not self._take(step, x, node):
                    continue
            elif known[1] != node:
                step.conflicts.append((x, node))
                continue
            elif not (again or id(x) in first or isinstance(x, CONTAINERS)):
                continue
            if is_value(x) or id(x) in walked:
                continue
            walked.add(id(x))
            mine = x if can_carry(x) else owner
            step.owners[id(mine)] = mine
            for name, child in state_of(x):
                edge = find_child(self.saved.nodes[node], name)
                if edge is not None:
                    queue.append((child, edge, mine))

    def _take(self, step: _Step, x: object, node: int) -> bool:
        """Match an object with a node, if that is possible."""
        if is_value(x) and self.saved.nodes[node].key is None:
            return False  # the file has something else of that name
        holder = step.nodes.get(node, self.nodes.get(node))
        if holder is not None and not (isinstance(x, CONTAINERS) and isinstance(holder, CONTAINERS)):
            step.conflicts.append((x, node))
            return False
        step.nodes[node] = x
        step.objects[id(x)] = x, node
        return True

    def _match_slots(self, step: _Step) -> None:
        """Slots have no path from the root: they are identified by optimizer, variable and slot name."""
        for node in self._with_slots:
            x = step.nodes.get(node, self.nodes.get(node))
            if x is None:
                continue
            listed = list(slots_of(x))
            there = {(id(variable), name): slot for name, variable, slot in listed}
            # the variables of the program's optimizer, for files that tell the place of one among them
            places = {in_order(k): one for k, one in enumerate({id(v): v for _, v, _ in listed}.values())}
            for name, variable_node, slot_node in self.saved.nodes[node].slots:
                nodes = places if variable_node < 0 else step.nodes
                variable = nodes.get(variable_node, self.nodes.get(variable_node))
                slot = there.get((id(variable), name))
                if slot is not None and id(slot) not in self.objects and id(slot) not in step.objects:
                    self._take(step, slot, slot_node)

    def _checked(self, step: _Step) -> list[tuple[Any, Any]]:
        """The variables of a step with their new values."""
        found = []
        for x, node in step.objects.values():
            key = self.saved.nodes[node].key
            if is_value(x) and key is not None and vars(x).get(RESTORED, 0) <= self._serial:
                stored = self.saved.values[key]
                _require_fit(x, key, stored, self.saved.place)
                found.append((x, stored))
        return [(x, _own(stored.read())) for x, stored in found]

    def _commit(self, step: _Step, coming: list[Any]) -> None:
        self.nodes.update(step.nodes)
        self.objects.update(step.objects)
        for owner in step.owners.values():
            self._mark(owner, coming)

    def _tell(self, x: Any, node: int) -> None:
        if isinstance(x, CONTAINERS) or (id(x), node) in self._told:
            return
        self._told.add((id(x), node))
        _, other = self.objects.setdefault(id(x), (x, node))
        here, there = self.saved.nodes[node].key, self.saved.nodes[other].key
        why = (
            f"the file has two objects where the program has one: it keeps the value of {shown(there)}"
            if other != node
            else f"the file has one object where the program has two: the value went to {_named(self.nodes.get(node))} alone"
        )
        what = f"the value of {shown(here)}" if here is not None else "what is below it"
        warn_user(f"restore: {self.saved.place}: {_named(x)} was not given {what}; {why}.")

    # -- what is pending -------------------------------------------------------------------------------------------

    def _mark(self, owner: Any, coming: list[Any]) -> None:
        """Record on an object what is pending for it; `coming` are lists and dicts that are about to become attributes."""
        if not can_carry(owner) or id(owner) not in self.objects:
            return
        watched: list[tuple[Any, list[int]]] = []
        waits = self._lacks(owner)
        for container in _containers_of(owner, coming):
            known = self.objects.get(id(container))
            if known is not None and self._lacks(container):
                watched.append((container, _items(container)))
        pending = pending_of(owner)
        if pending is None and (waits or watched):
            pending = vars(owner)[PENDING] = _Pending()
        if pending is not None:
            pending.set(owner, self, watched, waits)

    def _lacks(self, x: Any) -> bool:
        """Whether the file has children that the object lacks."""
        node = self.saved.nodes[self.objects[id(x)][1]]
        if any(slot.slot not in self.nodes for slot in node.slots):
            return True
        return any(
            child in self._useful and child not in self.nodes and not (name == SLOTS and node.slots)
            for name, child in node.children.items()
        )

    # -- what did not match ----------------------------------------------------------------------------------------

    def unused(self) -> list[tuple[str, Stored]]:
        """The values of the file that no object has received, by key."""
        nodes = self.saved.nodes
        left = {
            node.key for number, node in enumerate(nodes) if node.key is not None and number not in self.nodes
        }
        return [(key, self.saved.values[key]) for key in sorted(left)]

    def unmatched(self) -> list[tuple[str, Any]]:
        """The variables of the program that have received no value, with their paths."""
        return [
            (path, x)
            for path, x in self.program()
            if self._node_of(x) is None and id(x) not in self._optional
        ]

    def _node_of(self, x: Handle) -> int | None:
        known = self.objects.get(id(x))
        return known[1] if known is not None and self.nodes.get(known[1]) is x else None

    def program(self) -> Iterator[tuple[str, Any]]:
        """The variables below the roots, with their paths."""
        seen: dict[int, Any] = {}
        queue: deque[tuple[str, Any]] = deque(("(root)", x) for x, _ in self._roots)
        optimizers = []
        while queue:
            path, x = queue.popleft()
            if id(x) in seen:
                continue
            seen[id(x)] = x
            if is_value(x):
                yield path, x
                continue
            optimizers.append((path, x))
            queue.extend((f"{path}.{name}", child) for name, child in state_of(x))
        for path, x in optimizers:
            for name, variable, slot in slots_of(x):
                if id(variable) in seen and id(slot) not in seen:
                    seen[id(slot)] = slot
                    yield f"{path}: {name} of {variable.name}", slot

    def told(self) -> None:
        """The caller has asked about unmatched values, so that no warning is needed at the end."""
        self.is_partial = True

    def matched(self) -> list[Any]:
        """The matched objects except the root."""
        roots = {id(x) for x, _ in self._roots}
        return [x for x in self.nodes.values() if id(x) not in roots]

    def __del__(self) -> None:
        if not self.is_partial and not sys.is_finalizing():
            left = self.unused()
            if left:
                names = ", ".join(key for key, _ in left[:5])
                logging.getLogger("graphad").warning(
                    "graphad: %d values of %s were never restored (%s%s); expect_partial() on what restore returns says that "
                    "this is meant.", len(left), self.saved.place, names, ", ..." if len(left) > 5 else "",
                )  # fmt: skip


class _Pending:
    """The pending values for one object, from each checkpoint that it was matched with, the newest first."""

    def __init__(self) -> None:
        self._of: list[tuple[Restoration, list[tuple[Any, list[int]]]]] = []

    def set(self, owner: object, one: Restoration, watched: list[tuple[Any, list[int]]], waits: bool) -> None:
        others = [entry for entry in self._of if entry[0] is not one]
        if waits or watched:
            others.append((one, watched))
            others.sort(key=lambda entry: -entry[0]._serial)
        self._of = others
        if not others:
            vars(owner).pop(PENDING, None)
        wait_for_items(owner, any(watched for _, watched in others))

    def assigned(self, owner: object, name: str, value: object) -> None:
        if is_state(value):
            for one, _ in list(self._of):
                one.assigned(owner, name, value)

    def arrived(self, owner: Dense | SGD) -> None:
        for one, _ in list(self._of):
            one.go_on(owner)

    def look(self, owner: object) -> None:
        for number, (one, watched) in enumerate(list(self._of)):
            now = [(container, _items(container)) for container, _ in watched]
            if any(items != before for (_, items), (_, before) in zip(now, watched, strict=True)):
                self._of[number] = one, now
                one.go_on(owner)

    # pending values belong to this object only, not to copies and pickles

    def __deepcopy__(self, memo: object) -> None:
        return None

    def __copy__(self) -> None:
        return None

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _nothing, ()


def _nothing() -> None:
    return None


def _containers_of(owner: object, coming: list[Any]) -> Iterator[Any]:
    """The lists, tuples and dicts among the attributes of an object, and those inside of them."""
    seen = set()
    stack = coming + [child for _, child in state_of(owner) if isinstance(child, CONTAINERS)]
    while stack:
        container = stack.pop()
        if id(container) not in seen:
            seen.add(id(container))
            yield container
            stack += [child for _, child in state_of(container) if isinstance(child, CONTAINERS)]


def _items(container: Any) -> list[int]:
    return [id(item) for item in (container.values() if isinstance(container, dict) else container)]


def _useful(nodes: tuple[Node, ...]) -> set[int]:
    """The nodes with a value, or with one below them."""
    above: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for child in node.children.values():
            above[child].append(number)
    found = {number for number, node in enumerate(nodes) if node.key is not None}
    stack = list(found)
    while stack:
        for number in above[stack.pop()]:
            if number not in found:
                found.add(number)
                stack.append(number)
    return found


def _require_fit(x: Any, key: str, stored: Stored, place: str) -> None:
    """Raise unless a stored value can be given to a variable or generator."""
    spec = x.spec if isinstance(x, Variable) else x.state.spec
    name = _named(x)
    if not spec.describes(stored.shape):
        raise InvalidArgumentError(
            f"Received incompatible tensor with shape {tuple(stored.shape)} when attempting to restore variable with shape "
            f"{format_dims(spec.dims)} and name {name}: restore: {key} of {place}. Nothing has been restored; give the variable "
            f"the shape it was saved with."
        )
    if spec.dtype.name != stored.dtype:
        raise DTypeError(
            f"restore: {key} of {place} has dtype {stored.dtype}, the variable {name} {spec.dtype.name}: expected dtype "
            f"{spec.dtype.name} does not equal original dtype {stored.dtype}. Nothing has been restored."
        )


def _own(array: Array) -> Array:
    """A copy, since the file may be removed soon and a mapping would keep it."""
    array = np.array(array)
    return array if array.ndim else array[()]


def _give(x: Any, array: Any) -> None:
    with entered(None):  # assignments must not be recorded or traced
        if isinstance(x, Variable):
            x.assign(x.tensor_of(array))
        else:  # a generator, so that its module is there
            from graphad.ops.random.draw import SET_STATE

            bind(SET_STATE, x.state, EagerTensor(array))


def assign_all(values: list[tuple[Any, Any]]) -> None:
    """Assign checked values to variables."""
    with _lock:
        for x, array in values:
            _give(x, array if array.ndim else array[()])


def _named(x: object) -> str:
    return x.name if isinstance(x, Variable) else f"a {type(x).__name__}"
