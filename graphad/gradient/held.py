"""A description of a tape: the number of ops by kind, what it follows, and the memory that it keeps alive."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from graphad.core.tensor import EagerTensor
from graphad.core.tree import in_bytes

if TYPE_CHECKING:
    from graphad.gradient.tape import GradientTape


MOST_KINDS = 6


def in_words(recorder: GradientTape) -> str:
    """`3 ops (2 mul, add), 2 leaves followed, 24 B held`."""
    entries = list(recorder.entries)
    kinds = Counter(entry[0].name for entry in entries).most_common()
    named = [name if count == 1 else f"{count} {name}" for name, count in kinds[:MOST_KINDS]]
    more = sum(count for _, count in kinds[MOST_KINDS:])
    named += [f"{more} more"] if more else []
    ops = "1 op" if len(entries) == 1 else f"{len(entries)} ops"
    listed = f" ({', '.join(named)})" if named else ""
    leaves = len(recorder.leaves)
    followed = "1 leaf" if leaves == 1 else f"{leaves} leaves"
    return f"{ops}{listed}, {followed} followed, {in_bytes(_held(entries))} held"


def _held(entries: list[Any]) -> int:
    """Bytes of the arrays that the entries refer to, each counted once."""
    arrays: dict[int, int] = {}
    for _, inputs, outputs, _, _ in entries:
        for x in (*inputs, *outputs):
            if type(x) is EagerTensor:
                arrays[id(x.data)] = x.data.nbytes
    return sum(arrays.values())
