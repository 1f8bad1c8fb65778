"""CUDA graphs: what a plan puts on a stream is captured once for its addresses, and launched as one from then on.

A captured launch has its words inside, so a graph serves the addresses that it was captured with. CuPy's pool gives a program
that does the same again the same addresses; those that came often enough have a graph, of the latest ones some are kept. A plan
is captured whole where nothing in it waits for the device. Where a loop does, to know how far it goes, each of its rounds is a
graph, if no address moves from round to round. Whether a plan has an answer is looked at behind its graph. Nothing is captured
while CUDA_LAUNCH_BLOCKING=1 looks for a fault.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from graphad.compiler import rows as table
from graphad.compiler.cuda import products, walk
from graphad.compiler.cuda.routines import ANSWER
from graphad.compiler.rows import Row
from graphad.core.light import NamedTuple
from graphad.core.logs import get_logger
from graphad.devices.library import library
from graphad.devices.streams import capturing

SEEN = 3  # runs with the same addresses, of which the last is captured
KEPT, NOTED = 8, 32  # graphs of an instance, addresses whose runs are counted
MOST_NODES = 4096  # of a graph
NEVER = MOST_NODES + 1
PRODUCT, REPEAT, ENDED, BRANCH = -1, -2, -3, -6  # addresses of what is no kernel


def nodes(rows: Sequence[Row]) -> int:
    """The number of launches in a graph of rows; `NEVER` if a row cannot be captured or there are too many."""
    total = 0
    for row in rows:
        if row.function == PRODUCT:
            count = 1
            for axis in range(row.words[products.AXES] - 1):
                count *= row.words[products.AXES + 1 + 4 * axis]
            total += count
        elif row.function in (ANSWER, BRANCH):  # which the host reads
            return NEVER
        elif row.function == REPEAT:
            if waits(row):
                return NEVER
            total += 1 + max(row.words[table.FIXED], 0) * nodes(row.tables[0][1])
        else:
            total += 1
    return min(total, NEVER)


def waits(row: Row) -> bool:
    """Whether a loop reads on the device how far it goes."""
    given = {place.word for place in row.arguments} | {place.word for place in row.arena}
    return any(word in given or row.words[word] for word in (table.LIMIT, table.ANSWER))


def has_own_body(row: Row) -> bool:
    """Whether a row is a loop each of whose rounds may be one graph."""
    if row.function != REPEAT or not waits(row) or row.words[table.MOVES]:
        return False
    return 2 <= nodes(row.tables[0][1]) < NEVER


Table = tuple[int, int]  # its address, and how many rows it has


class Replay(NamedTuple):
    """The launch of a captured graph, in place of its rows.

    Attributes:
      block: The words of the step that replays them.
      rows: The table of this step, and of what comes behind it.
    """

    block: Any
    rows: Table


class Body(NamedTuple):
    """A loop whose rounds may be a graph.

    Attributes:
      block: Its words.
      rows: The table of its body.
      whole: The same with what rows want that are walked alone.
      replay: What takes their place.
    """

    block: Any
    rows: Table
    whole: Table
    replay: Replay


class Captures:
    """The graphs of an instance of a plan.

    Args:
      size: How many launches its rows are.
      state: Its state.
      loops: Those of its rows.
      rows: The table that is captured as a whole.
      replay: What takes its place where the host reads something behind it.
    """

    def __init__(
        self, size: int, state: Any, loops: Sequence[Body], rows: Table, replay: Replay | None
    ) -> None:
        self._is_whole, self._rows, self._replay = 2 <= size < NEVER, rows, replay
        self._loops = [] if self._is_whole else loops
        self._is_off = (
            not (self._is_whole or self._loops) or os.environ.get("CUDA_LAUNCH_BLOCKING", "0") != "0"
        )
        self._state = state
        self._counts: OrderedDict[tuple[int, ...], int] = OrderedDict()
        self._graphs: OrderedDict[tuple[int, ...], Sequence[_Graph]] = OrderedDict()

    def replays(self, key: tuple[int, ...], stream: Any) -> bool:
        """Put a plan on a stream by its graph, if there is one for these addresses that is all of it."""
        found = self._graphs.get(key) if self._is_whole and self._replay is None else None
        if found is None:
            return False
        library().cuda.runtime.graphLaunch(found[0].place, stream.ptr)
        self._graphs.move_to_end(key)
        return True

    def run(
        self, key: tuple[int, ...], index: int, stream: Any, call: Callable[[int], int], place: int
    ) -> int:
        """Put a plan on a stream, whose loops may run by graphs, or capture it: the status of the walk."""
        if self._is_off:
            return call(place)
        found = self._graphs.get(key)
        if found is None:
            count = self._counts.pop(key, 0) + 1
            if count < SEEN:
                self._counts[key] = count
                if len(self._counts) > NOTED:
                    self._counts.popitem(last=False)
                self._put_back()
                return call(place)
            found = self._captured(index, call, place)
            if found is None:
                return call(place)
            self._graphs[key] = found
            if len(self._graphs) > KEPT:
                self._graphs.popitem(last=False)
        if self.replays(key, stream):
            return 0
        self._graphs.move_to_end(key)
        if self._is_whole:
            assert self._replay is not None
            self._replay.block[walk.GRAPH] = found[0].place
            with self._walking(self._replay.rows):
                return call(place)
        for loop, graph in zip(self._loops, found, strict=True):
            loop.replay.block[walk.GRAPH] = graph.place
            loop.block[_BODY : _BODY + 2] = loop.replay.rows
        return call(place)

    @contextmanager
    def _walking(self, rows: Table) -> Iterator[None]:
        """A block in which calls walk another table."""
        state = self._state
        whole = state[walk.TABLE], state[walk.ROWS]
        state[walk.TABLE], state[walk.ROWS] = rows
        try:
            yield
        finally:
            state[walk.TABLE], state[walk.ROWS] = whole

    def _put_back(self) -> None:
        """Let the bodies of loops be their rows."""
        for loop in self._loops:
            loop.block[_BODY : _BODY + 2] = loop.rows

    def _captured(self, index: int, call: Callable[[int], int], place: int) -> Sequence[_Graph] | None:
        """Graphs of what the addresses of this moment are, None where the driver refuses: then nothing is captured any more."""
        self._put_back()
        found = []
        try:
            for rows in [self._rows] if self._is_whole else [loop.whole for loop in self._loops]:
                with self._walking(rows):
                    found.append(self._graph(index, call, place))
            return found
        except Exception as cause:  # CuPy's own; what is refused there runs step by step
            get_logger().info("cuda: a plan is not captured as a graph (%s)", cause)
            self._is_off = True
            return None

    def _graph(self, index: int, call: Callable[[int], int], place: int) -> _Graph:
        before = self._state[walk.STREAM]
        with _capture(capturing(index)) as captured:
            self._state[walk.STREAM] = captured.stream.ptr
            status = call(place)
        self._state[walk.STREAM] = before
        if status:
            raise RuntimeError(f"status {status & 0xFFFFFFFF}")
        return _Graph(captured.graph)


_BODY = walk.LOOP_HEAD + table.BODY


class _Captured:
    def __init__(self, stream: Any) -> None:
        self.stream, self.graph = stream, 0


@contextmanager
def _capture(stream: Any) -> Iterator[_Captured]:
    """A block in which nothing runs that is put on a stream: it becomes a graph."""
    runtime, found = library().cuda.runtime, _Captured(stream)
    runtime.streamBeginCapture(stream.ptr, runtime.streamCaptureModeThreadLocal)
    try:
        yield found
    finally:
        found.graph = runtime.streamEndCapture(stream.ptr)


class _Graph:
    """A graph that can be launched; it is destroyed when nobody refers to it, after its last run."""

    def __init__(self, graph: int) -> None:
        runtime = library().cuda.runtime
        try:
            self.place = int(runtime.graphInstantiate(graph))
        finally:
            runtime.graphDestroy(graph)
        self._destroy = runtime.graphExecDestroy

    def __del__(self) -> None:
        place = getattr(self, "place", 0)
        if place:
            with suppress(Exception):  # of a device that a fault has lost, which was reported
                self._destroy(place)
