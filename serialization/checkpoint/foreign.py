"""TensorFlow's checkpoints as nodes and values, with Keras' names translated to graphad's.

Keras keeps the layers of a Sequential below `_functional`, after the input, or as `layer-0`, `layer-1`, ..., and an optimizer's
slots in parallel lists. These become children and slots; Keras' names stay beside them.
"""

from __future__ import annotations

import os
from functools import partial

from serialization.checkpoint.saved import Node, Saved, Slot, Stored, in_order
from serialization.errors import LimitExceededError, LoadError
from serialization.tensorflow import GRAPH, INDEX, STRING, Bundle, ObjectNode, nodes_of
from serialization.wire.limits import Limits

_VARIABLES = "_trainable_variables"
_INDEX = "_index_dict"  # of optimizers of Keras 2: the slots are in the order of the variables, which are not named
# Keras' lists of an optimizer's slots, with the names that graphad's optimizers may have for them.
_LISTS: dict[str, tuple[str, ...]] = {
    "_momentums": ("m", "momentum"),
    "momentums": ("momentum",),
    "_m": ("m",),
    "_u": ("u",),
    "_velocities": ("v", "velocity"),
    "_velocity_hats": ("largest_v",),
    "_average_gradients": ("average_gradient",),
    "_accumulators": ("accumulator",),
    "_linears": ("linear",),
    "_accumulated_grads": ("accumulated_grad",),
    "_accumulated_delta_vars": ("accumulated_delta",),
    "_model_variables_moving_average": ("average",),
    "_accumulated_gradients": ("accumulated",),
}
# Lists that Keras keeps from TensorFlow: of each variable these slots stand in turn at the end of `_variables`. Those that only
# stand for others, by whether it is a matrix, have no use.
_IN_TURN = {"_r": ("r", True), "_c": ("c", True), "_v": ("v", False)}
# Older files name slots one by one; where the name is another, it is one of these.
_OLDER = {
    "v": ("v", "u"),
    "vhat": ("largest_v",),
    "rms": ("velocity",),
    "mg": ("average_gradient",),
    "accum_grad": ("accumulated_grad",),
    "accum_var": ("accumulated_delta",),
}


def prefix_at(path: str) -> str | None:
    """The prefix of the TensorFlow checkpoint at a path: the path itself, or the checkpoint inside a SavedModel."""
    for prefix in (path, os.path.join(path, "variables", "variables")):
        if path and os.path.isfile(prefix + INDEX):
            return prefix
    return None


def saved_of_bundle(prefix: str, limits: Limits) -> Saved:
    """A TensorFlow checkpoint. One written by names only, as in TensorFlow 1, has no nodes."""
    bundle = Bundle(prefix, limits)
    values = {}
    for key, entry in bundle.entries.items():
        if entry.dtype is not None and entry.dtype != STRING:
            values[key] = Stored(entry.dtype, entry.shape, partial(bundle.array, key))
    left_out = frozenset(bundle.entries) - frozenset(values) - {GRAPH}
    if GRAPH not in bundle.entries:
        return Saved(prefix, (), values, left_out)
    try:
        listed = nodes_of(bundle.string(GRAPH), limits)
    except LoadError as error:
        error.file = error.file or prefix + INDEX
        raise
    nodes = []
    total = 0
    for node in listed:
        slots, looked_at = _slots(node, listed, values)
        total += looked_at
        _require_few(total, limits, prefix)
        nodes.append(Node(dict(node.children), _key(node, values), slots))
    for number, node in enumerate(listed):
        layers = _layers(node, listed)
        total += len(layers)
        _require_few(total, limits, prefix)
        if layers and "layers" not in node.children:
            nodes[number] = nodes[number].replace(children={**nodes[number].children, "layers": len(nodes)})
            nodes.append(Node({str(i): layer for i, layer in enumerate(layers)}))
    return Saved(prefix, tuple(nodes), values, left_out)


def _require_few(total: int, limits: Limits, prefix: str) -> None:
    """Raise where lists that many objects name would be written out too often."""
    if total > limits.items:
        raise LimitExceededError(
            f"its lists have more than {limits.items} entries where they are written out, which the limit 'items' allows.",
            file=prefix + INDEX,
        )


def _key(node: ObjectNode, values: dict[str, Stored]) -> str | None:
    key = node.keys.get("VARIABLE_VALUE")
    return key if key in values else None


def _slots(
    node: ObjectNode, listed: tuple[ObjectNode, ...], values: dict[str, Stored]
) -> tuple[tuple[Slot, ...], int]:
    """An optimizer's slots, and how many list entries were read for them."""
    looked_at = 0
    slots = [Slot(kind, *places) for name, *places in node.slots for kind in _OLDER.get(name, (name,))]
    variables = node.children.get(_VARIABLES)
    if variables is None and _INDEX in node.children:
        for name, kinds in _LISTS.items():
            kept = node.children.get(name)
            there = {} if kept is None else listed[kept].children
            looked_at += len(kinds) * len(there)
            found = [(k, there.get(str(k))) for k in range(len(there))]
            slots += [
                Slot(kind, in_order(k), slot) for k, slot in found if slot is not None for kind in kinds
            ]
    if variables is not None:
        of = listed[variables].children
        for name, kinds in _LISTS.items():
            kept = node.children.get(name)
            if kept is not None:
                there = listed[kept].children
                looked_at += len(kinds) * len(there)
                slots += [
                    Slot(kind, of[place], there[place]) for place in there if place in of for kind in kinds
                ]
        if all(name in node.children and not listed[node.children[name]].children for name in _IN_TURN):
            looked_at += len(_IN_TURN) * len(of)
            slots += _in_turn(node, listed, list(of.values()), values)
    return tuple(slots), looked_at


def _in_turn(
    node: ObjectNode, listed: tuple[ObjectNode, ...], variables: list[int], values: dict[str, Stored]
) -> list[Slot]:
    every = node.children.get("_variables")
    made = {} if every is None else listed[every].children
    place = len(made) - len(_IN_TURN) * len(variables)
    slots = []
    for variable in variables:
        key = _key(listed[variable], values)
        is_matrix = key is not None and len(values[key].shape) >= 2
        for name, of_matrices in _IN_TURN.values():
            slot = made.get(str(place))
            place += 1
            if slot is not None and of_matrices == is_matrix:
                slots.append(Slot(name, variable, slot))
    return slots


def _layers(node: ObjectNode, listed: tuple[ObjectNode, ...]) -> list[int]:
    """The layers of a Sequential in order."""
    functional = node.children.get("_functional")
    if functional is not None:
        operations = listed[functional].children.get("_operations")
        if operations is not None:
            return _in_order(listed[operations].children, "")[1:]
    return _in_order(node.children, "layer-")


def _in_order(children: dict[str, int], prefix: str) -> list[int]:
    found: list[int] = []
    while f"{prefix}{len(found)}" in children:
        found.append(children[f"{prefix}{len(found)}"])
    return found
