"""The object graph that a checkpoint of TensorFlow's holds: nodes with named children, keys of values, slots of optimizers."""

from __future__ import annotations

from serialization.errors import CorruptModelError, LimitExceededError, LoadError
from serialization.tensorflow.proto import BYTES, VARINT, message, signed, text
from serialization.wire.limits import Limits
from serialization.wire.record import Record

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


class ObjectNode(Record):
    """One object: children by name, keys of its values by what they are, slots as (name, variable, slot)."""

    children: dict[str, int]
    keys: dict[str, str]
    slots: tuple[tuple[str, int, int], ...]


def nodes_of(data: bytes, limits: Limits) -> tuple[ObjectNode, ...]:
    """The nodes, the root first."""
    nodes = []
    total = 0
    for _, part in message(data, {1: BYTES}):
        assert isinstance(part, bytes)
        try:
            nodes.append(_node(part))
        except LoadError as error:
            error.within(len(nodes))
            error.within("nodes")
            raise
        total += len(nodes[-1].children) + len(nodes[-1].slots)
        if len(nodes) > limits.objects or total > limits.items:
            raise LimitExceededError(
                f"{len(nodes)} objects with {total} edges where the limits 'objects' and 'items' allow {limits.objects} and "
                f"{limits.items}."
            )
    for node in nodes:
        for number in (*node.children.values(), *(place for slot in node.slots for place in slot[1:])):
            if not 0 <= number < len(nodes):
                raise CorruptModelError(f"object {number} of {len(nodes)}.")
    if not nodes:
        raise CorruptModelError("an object graph without objects.")
    return tuple(nodes)


def _node(data: bytes) -> ObjectNode:
    children: dict[str, int] = {}
    keys: dict[str, str] = {}
    slots = []
    for number, part in message(data, {1: BYTES, 2: BYTES, 3: BYTES}):
        assert isinstance(part, bytes)
        if number == 1:
            place, name = 0, ""
            for inner, value in message(part, {1: VARINT, 2: BYTES}):
                if inner == 1:
                    place = signed(value)
                else:
                    name = text(value)
            children[name] = place
        elif number == 2:
            named = {inner: text(value) for inner, value in message(part, {1: BYTES, 3: BYTES})}
            keys[named.get(1, "")] = named.get(3, "")
        else:
            variable = slot = 0
            name = ""
            for inner, value in message(part, {1: VARINT, 2: BYTES, 3: VARINT}):
                if inner == 1:
                    variable = signed(value)
                elif inner == 2:
                    name = text(value)
                else:
                    slot = signed(value)
            slots.append((name, variable, slot))
    return ObjectNode(children, keys, tuple(slots))
