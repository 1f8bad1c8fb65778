"""Views of a checkpoint and of a program as graphs of named children, which can be compared."""

from __future__ import annotations

import os
from typing import Any

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from serialization.checkpoint.contents import is_state, state_of
from serialization.checkpoint.reader import open_checkpoint
from serialization.saved_model.options import path_of_user


class TrackableView:
    """The objects of a program that a checkpoint of `root` would name.

    Args: root: A module, layer, optimizer, metric, variable, or another object that checkpoints keep.
    Raises: ArgumentTypeError (a TypeError): it is no such object.
    Example:
      >>> net = Module()
      >>> net.w = Variable(1.0)
      >>> list(train.TrackableView(net).children(net))
      ['w']
    """

    def __init__(self, root: Any) -> None:
        if not is_state(root):
            raise ArgumentTypeError(
                f"TrackableView: root is {root!r}; a module, layer, optimizer, metric or variable is needed."
            )
        self.root = root

    @classmethod
    def children(cls, obj: Any) -> dict[str, Any]:
        """The objects directly below one, by name."""
        return dict(state_of(obj))

    def descendants(self) -> list[Any]:
        """The root and all objects below it, breadth first, each once."""
        found, known = [self.root], {id(self.root)}
        for x in found:
            for child in self.children(x).values():
                if id(child) not in known:
                    known.add(id(child))
                    found.append(child)
        return found


class CheckpointView:
    """The objects of a checkpoint by number; the root is 0.

    Args: save_path: The path of a checkpoint, of graphad or of TensorFlow.
    Raises: MissingCheckpointError (an OSError): there is none.
    Example:
      >>> from tempfile import mkdtemp
      >>> path = train.Checkpoint(w=Variable(1.0)).save(mkdtemp() + "/of")
      >>> sorted(train.CheckpointView(path).children(0))
      ['save_counter', 'w']
    """

    def __init__(self, save_path: str | os.PathLike[str]) -> None:
        self._nodes = open_checkpoint("CheckpointView", path_of_user("CheckpointView", save_path)).nodes

    def children(self, node_id: int) -> dict[str, int]:
        """The numbers of the objects directly below one, by name. Raises: InvalidArgumentError: there is no such number."""
        if not 0 <= node_id < len(self._nodes):
            raise InvalidArgumentError(
                f"CheckpointView: node_id is {node_id}; the checkpoint has {len(self._nodes)} objects, from 0."
            )
        return dict(self._nodes[node_id].children)

    def descendants(self) -> list[int]:
        """The numbers of all objects below the root, breadth first, with the root's."""
        found, known = [0], {0}
        for number in found:
            for child in self._nodes[number].children.values():
                if child not in known:
                    known.add(child)
                    found.append(child)
        return found

    def match(self, obj: Any) -> dict[int, Any]:
        """The objects that stand at the same place below `obj` as one of the checkpoint below its root, by number."""
        TrackableView(obj)
        found, order = {0: obj}, [0]
        for number in order:
            mine = TrackableView.children(found[number])
            for name, child in self._nodes[number].children.items():
                if name in mine and child not in found:
                    found[child] = mine[name]
                    order.append(child)
        return found

    def diff(self, obj: Any) -> tuple[dict[int, Any], list[int], list[Any]]:
        """`match` of `obj`, the numbers of the checkpoint's other objects, and the other objects of `obj`."""
        both = self.match(obj)
        matched = {id(x) for x in both.values()}
        missing = [number for number in self.descendants() if number not in both]
        return both, missing, [x for x in TrackableView(obj).descendants() if id(x) not in matched]
