"""The traces of one function, and which of them serves a call.

A call with exactly the arguments of a trace finds it by their key. Otherwise the traces for arguments of the same kind are
searched: tensors of the same dtypes in the same places, and the same Python values. So a look-up takes no longer if there are
traces for other Python values, or for other shapes of known sizes.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.function.signature import ObjectKey, accepts, common_leaf, has_weak_references, sizes_known

if TYPE_CHECKING:
    from graphad.function.concrete import ConcreteFunction
    from graphad.function.signature import Arguments


class Traces:
    """Traces in the order in which they were made. One thread at a time adds to them; any may look up."""

    def __init__(self) -> None:
        self._by_key: dict[Any, ConcreteFunction] = {}
        self._by_kind: dict[Any, _Kind] = {}
        self._watched: dict[Any, tuple[_Kind, list[Any]]] = {}  # weak references to the objects in a key
        self._gone: list[Any] = []  # keys with an object that no longer exists, which no call can match

    def __len__(self) -> int:
        return len(self._by_key)

    def all(self) -> list[ConcreteFunction]:
        return list(self._by_key.values())

    def get(self, key: Any) -> ConcreteFunction | None:
        """The trace for exactly these arguments."""
        return self._by_key.get(key)

    def add(self, key: Any, trace: ConcreteFunction) -> None:
        """Keep a trace, and forget those of objects that no longer exist."""
        while self._gone:
            self._forget(self._gone.pop())
        kind = _kind_of(trace.arguments)
        traces = self._by_kind.setdefault(kind, _Kind(kind))
        self._by_key[key] = trace
        traces.add(key, trace)
        forget = self._gone.append
        objects = [leaf.value for leaf in (*key[1], *key[3:]) if isinstance(leaf, ObjectKey)]
        watched = [weakref.ref(x, lambda _: forget(key)) for x in objects if has_weak_references(x)]
        if watched:
            self._watched[key] = traces, watched

    def most_specific(self, arguments: Arguments) -> ConcreteFunction | None:
        """The trace with the most specific specs among those that accept the arguments."""
        traces = self._by_kind.get(_kind_of(arguments))
        best, best_score = None, -1
        for trace in () if traces is None else tuple(traces.wide.values()):
            leaves = trace.arguments.leaves
            if not all(accepts(a, b) for a, b in zip(leaves, arguments.leaves, strict=True)):
                continue
            if any(key.value is not arguments.values[slot] for slot, key in trace.pinned.items()):
                continue
            score = sum(sizes_known(leaf) for leaf in leaves)
            if score > best_score:
                best, best_score = trace, score
        return best

    def common(self, arguments: Arguments) -> Sequence[Any] | None:
        """Leaves that cover both the arguments and the leaves of a trace: of the latest trace for which such leaves exist."""
        traces = self._by_kind.get(_kind_of(arguments))
        for trace in () if traces is None else reversed(tuple(traces.all.values())):
            merged = [
                common_leaf(a, b) for a, b in zip(trace.arguments.leaves, arguments.leaves, strict=True)
            ]
            if all(leaf is not None for leaf in merged):
                return merged
        return None

    def _forget(self, key: Any) -> None:
        """Forget a trace. A key with an object that no longer exists equals only itself, so that the tables find no other
        entry."""
        traces, _ = self._watched.pop(key, (None, None))
        self._by_key.pop(key, None)
        if traces is not None:
            traces.all.pop(key, None)
            traces.wide.pop(key, None)
            if not traces.all:
                self._by_kind.pop(traces.kind, None)


class _Kind:
    """The traces for arguments of one kind, by key.

    Attributes:
      kind: See `_kind_of`.
      all: All of them.
      wide: Those that also serve calls with another key.
    """

    __slots__ = ("all", "kind", "wide")

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.all: dict[Any, ConcreteFunction] = {}
        self.wide: dict[Any, ConcreteFunction] = {}

    def add(self, key: Any, trace: ConcreteFunction) -> None:
        self.all[key] = trace
        specs = [leaf for leaf in trace.arguments.leaves if isinstance(leaf, TensorSpec)]
        if trace.pinned or not all(is_definite(spec.dims) for spec in specs):
            self.wide[key] = trace


def _kind_of(arguments: Arguments) -> Any:
    """What the arguments of a trace and of the calls that it serves have in common."""
    leaves = [
        (leaf.is_handle, leaf.dtype) if isinstance(leaf, TensorSpec) else leaf for leaf in arguments.leaves
    ]
    return arguments.structure, tuple(leaves), tuple(arguments.slots)
