"""The objects of a program for checkpoints: which have a value, and the names of their children.

A checkpoint is a saved model without functions: the same records in the same directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

import graphad
from graphad.core.trackable import PENDING, PRIVATE, Trackable
from graphad.eager.variable import Variable
from serialization.checkpoint.saved import SLOTS, Node, Saved
from serialization.convert.generators import is_generator
from serialization.convert.values import ArrayWriter
from serialization.errors import SaveError, UnsupportedModelError, shown
from serialization.schema.model import (
    DictNode,
    FeatureRecord,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    ObjectRecord,
    TupleNode,
    VariableNode,
)
from serialization.schema.versions import CHECKPOINT

if TYPE_CHECKING:
    from graphad.ops.random.generator import Generator

CONTAINERS = (list, tuple, dict)


def is_value(x: object) -> TypeGuard[Variable | Generator]:
    """Whether an object has a value of its own, which a checkpoint keeps."""
    return isinstance(x, Variable) or is_generator(x)


def is_state(x: object) -> bool:
    """Whether a checkpoint has a node for this object."""
    return isinstance(x, (Trackable, Variable, *CONTAINERS)) or is_generator(x)


def state_of(x: object) -> Iterator[tuple[str, Any]]:
    """The children of an object by the names that a checkpoint gives them."""
    if isinstance(x, Trackable):
        # Looked up on the class, since a restored object may have a child of any name.
        found = type(x)._graphad_state(x)
    elif isinstance(x, dict):
        found = ((str(key), item) for key, item in x.items())
    elif isinstance(x, list | tuple):
        found = ((str(i), item) for i, item in enumerate(x))
    else:
        return
    for name, child in found:
        if is_state(child):
            yield name, child


def slots_of(x: Any) -> Iterator[tuple[str, Any, Any]]:
    """The slots of an optimizer: name, variable, slot."""
    if hasattr(type(x), "_graphad_slots_by_name"):
        yield from type(x)._graphad_slots_by_name(x)


def can_carry(x: Any) -> bool:
    """Whether pending values can be recorded on an object."""
    return isinstance(x, Trackable) and hasattr(x, "__dict__")


def pending_of(x: object) -> Any:
    return vars(x).get(PENDING) if can_carry(x) else None


def records_of(root: Trackable, lender: Any = None) -> tuple[ModelRecord, dict[str, np.ndarray[Any, Any]]]:
    """The records and arrays of a checkpoint; `lender` is an object whose children are those of the root."""
    walk = _Walk()
    walk.add(root, "")
    if lender is not None:
        walk.numbers[id(lender)] = 0
    walk.finish()
    for x in list(walk.objects):
        slots: dict[str, list[Any]] = {}
        for name, variable, slot in slots_of(x):
            if id(variable) in walk.numbers:
                slots.setdefault(name, []).append((variable, slot))
        if slots:
            walk.add_child(walk.numbers[id(x)], SLOTS, slots)
    walk.finish()
    arrays = ArrayWriter()
    records = [
        ObjectRecord(_node(x, path, list(children), arrays), tuple(children.items()))
        for x, path, children in zip(walk.objects, walk.paths, walk.children, strict=True)
    ]
    model = ModelRecord(
        producer=f"graphad {graphad.__version__}",
        features=(FeatureRecord(CHECKPOINT, False, b""),),
        objects=tuple(records),
    )
    return model, arrays.stored


def with_nodes_of_program(saved: Saved, root: Trackable, lender: Any = None) -> Saved:
    """A checkpoint that has only names, as in TensorFlow 1, with nodes as the program has objects; the names are of variables.

    Raises: UnsupportedModelError (a ValueError): no variable of the program has a name of the file.
    """
    walk = _Walk()
    walk.add(root, "")
    if lender is not None:
        walk.numbers[id(lender)] = 0
    walk.finish()
    nodes = []
    for x, children in zip(walk.objects, walk.children, strict=True):
        name = x.name.partition(":")[0] if isinstance(x, Variable) else None
        nodes.append(Node(dict(children), name if name in saved.values else None))
    if not any(node.key for node in nodes):
        here = sorted({x.name.partition(":")[0] for x in walk.objects if isinstance(x, Variable)})
        raise UnsupportedModelError(
            f"it has no object graph, only names, and none is that of a variable. The file has {_few(sorted(saved.values))}, "
            f"the program {_few(here)}. Make the variables, or build the model, before; or read the values with "
            "tf.train.load_checkpoint and assign them.",
            file=saved.place,
        )
    return saved.replace(nodes=tuple(nodes))


def _few(names: list[str]) -> str:
    return (", ".join(map(shown, names[:5])) or "nothing") + (", ..." if len(names) > 5 else "")


class _Walk:
    """The objects of a program, breadth first, each once."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.paths: list[str] = []
        self.children: list[dict[str, int]] = []
        self._done = 0

    def add(self, x: object, path: str) -> int:
        known = self.numbers.get(id(x))
        if known is None:
            known = self.numbers[id(x)] = len(self.objects)
            self.objects.append(x)
            self.paths.append(path)
            self.children.append({})
        return known

    def add_child(self, number: int, name: str, child: object) -> None:
        if name in self.children[number]:
            raise SaveError(f"{self.paths[number] or 'the object'} has two children of the name {name!r}.")
        path = f"{self.paths[number]}.{name}" if self.paths[number] else name
        self.children[number][name] = self.add(child, path)

    def finish(self) -> None:
        """Continue the walk below the objects added last."""
        while self._done < len(self.objects):
            for name, child in state_of(self.objects[self._done]):
                if _holds_state(child):
                    self.add_child(self._done, name, child)
            self._done += 1


def _holds_state(x: Any) -> bool:
    """Whether a child is an object, or a list, tuple or dict that contains one at any depth."""
    seen: set[int] = set()
    stack = [x]
    while stack:
        item = stack.pop()
        if isinstance(item, Trackable) or is_value(item):
            return True
        if isinstance(item, CONTAINERS) and id(item) not in seen:
            seen.add(id(item))
            stack.extend(item.values() if isinstance(item, dict) else item)
    return False


def _node(x: object, path: str, names: list[str], arrays: ArrayWriter) -> Any:
    if isinstance(x, Variable):
        dims = None if x.dims is None else tuple(x.dims)
        tensor = arrays.store(path, np.asarray(x.here()))
        kept = x.synchronization.value, x.aggregation.value
        return VariableNode(x.name, x.dtype.name, dims, x.trainable, tensor, *kept)
    if is_generator(x):
        return GeneratorNode(None, arrays.store(path, np.asarray(x.state.data)))
    if isinstance(x, list | tuple) and names == [str(i) for i in range(len(names))]:
        return TupleNode() if isinstance(x, tuple) else ListNode()
    if isinstance(x, CONTAINERS) or not all(map(_is_attribute, names)):
        return DictNode()
    return ModuleNode(getattr(x, "_graphad_class_name", "") or type(x).__name__)


def _is_attribute(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return name.isidentifier() and not dunder and not name.startswith(PRIVATE)
