"""The contents of a checkpoint in a common form: nodes with named children, some with a value, some with slots.

Nodes are those of the file; they may be shared and form cycles. The key of a value is the path on which a breadth-first walk
from the root reaches it: `net/l1/kernel/.ATTRIBUTES/VARIABLE_VALUE`. In names on the path `/` is `.S` and `.` is `..`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from serialization.errors import LimitExceededError
from serialization.schema.model import (
    DictNode,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    TupleNode,
    VariableNode,
)
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.record import Record

SLOTS = "slot_variables"
_VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
_SLOT = ".OPTIMIZER_SLOT"


class Slot(Record):
    """A variable that an optimizer keeps for another one; both are nodes, the other one perhaps a place, `in_order`."""

    name: str
    variable: int
    slot: int


def in_order(place: int) -> int:
    """What stands for a node where a file tells only at which place among the variables of its optimizer a variable was."""
    return ~place


class Node(Record):
    """One object of a checkpoint; `key` names its value if it has one."""

    children: dict[str, int]
    key: str | None = None
    slots: tuple[Slot, ...] = ()


class Stored(Record):
    """One value of a checkpoint: `read` gives the array, checked."""

    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], Any]


class Saved(Record):
    """A checkpoint, open.

    If a file was not made from objects, `values` has more than the nodes name. `left_out` are the keys of values whose dtypes
    graphad does not have.
    """

    place: str
    nodes: tuple[Node, ...]
    values: Mapping[str, Stored]
    left_out: frozenset[str] = frozenset()


def saved_of_model(
    place: str, model: ModelRecord, arrays: Mapping[str, Any], limits: Limits = DEFAULT_LIMITS
) -> Saved:
    """A checkpoint, or a saved model, of this library."""
    slots = {number: _slots_of(model, number) for number in range(len(model.objects))}
    keys = _keys(model, slots, limits)
    tensors = {tensor.name: tensor for payload in model.payloads for tensor in payload.tensors}
    nodes, values = [], {}
    for number, record in enumerate(model.objects):
        tensor = getattr(record.node, "tensor", None)
        key = keys[number] if tensor is not None else None
        if key is not None and tensor is not None:
            while key in values:  # an empty name, which only a manipulated file has
                key += "#"
            known = tensors[tensor]
            values[key] = Stored(known.dtype, known.shape, partial(arrays.__getitem__, tensor))
        nodes.append(Node(dict(record.children), key, slots[number]))
    return Saved(place, tuple(nodes), values)


def _slots_of(model: ModelRecord, number: int) -> tuple[Slot, ...]:
    """The slots of an optimizer: its child `slot_variables`, a dict by name of lists of pairs (variable, slot)."""
    found = []
    objects = model.objects
    place = dict(objects[number].children).get(SLOTS)
    if (
        place is None
        or type(objects[number].node) is not ModuleNode
        or type(objects[place].node) is not DictNode
    ):
        return ()
    for name, listed in objects[place].children:
        if type(objects[listed].node) is not ListNode:
            return ()
        for _, pair in objects[listed].children:
            parts = [child for _, child in objects[pair].children]
            if type(objects[pair].node) is not TupleNode or len(parts) != 2:
                return ()
            if any(type(objects[part].node) is not VariableNode for part in parts):
                return ()
            found.append(Slot(name, *parts))
    return tuple(found)


def _keys(model: ModelRecord, slots: Mapping[int, tuple[Slot, ...]], limits: Limits) -> list[str | None]:
    """The key of each object that has a value."""
    length = 0
    paths: list[str | None] = [None] * len(model.objects)
    paths[0] = ""
    queue = [0]

    def visit(number: int, path: str) -> None:
        nonlocal length
        if paths[number] is None:
            paths[number] = path
            length += len(path)
            if length > limits.manifest_bytes:  # long names in long chains
                raise LimitExceededError(
                    f"its paths have more letters than the limit 'manifest_bytes' allows, {limits.manifest_bytes}."
                )
            queue.append(number)

    position = 0
    later: list[int] = []
    while position < len(queue):
        number = queue[position]
        position += 1
        for name, child in model.objects[number].children:
            if not (name == SLOTS and slots[number]):
                visit(child, joined(paths[number] or "", name))
        if slots[number]:
            later.append(number)
        if position == len(queue):
            for number in later:
                for name, variable, slot in slots[number]:
                    if paths[variable] is not None:
                        visit(slot, f"{paths[variable]}/{_SLOT}/{paths[number]}/{escaped(name)}")
            later = []
    return [
        None if path is None else _key_of(model.objects[number].node, path)
        for number, path in enumerate(paths)
    ]


def _key_of(node: Record, path: str) -> str | None:
    if isinstance(node, GeneratorNode):
        return f"{path}/_state_var/{_VALUE}".lstrip("/")
    return f"{path}/{_VALUE}".lstrip("/") if isinstance(node, VariableNode) else None


def joined(path: str, name: str) -> str:
    return f"{path}/{escaped(name)}" if path else escaped(name)


def escaped(name: str) -> str:
    """A name as a part of a key."""
    return name.replace(".", "..").replace("/", ".S")


def plain_of(key: str) -> str:
    """The path without the suffix of keys."""
    return key.removesuffix("/" + _VALUE)


def path_of(key: str) -> str:
    """A key as an expression for messages: `(root).net.l1.kernel`."""
    parts = plain_of(key).split("/")
    return ".".join(["(root)", *(part.replace(".S", "/").replace("..", ".") for part in parts)])


def find_child(node: Node, name: str) -> int | None:
    """The child for the attribute `name`; other writers may use the name with an underscore."""
    for alias in (name, f"_{name}", *_OTHER_NAMES.get(name, ())):
        child = node.children.get(alias)
        if child is not None:
            return child
    return None


# Names of optimizers' attributes in graphad's saved models and in Keras' files.
_OTHER_NAMES = {"learning_rate": ("_rate",), "iterations": ("iter",), "product": ("_u_product",)}
