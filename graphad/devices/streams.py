"""Which stream a thread's work goes to, and how threads hand each other arrays.

The main thread works on CuPy's default stream, so that a program's own calls of CuPy come in turn with graphad's. Every other
thread has a stream of its own, unless the program has chosen one in CuPy. An array belongs to the stream on which its memory was
asked for: CuPy's pool gives that memory away again in the order of that stream. So who uses an array on another stream waits for
all that is on the array's stream by then, and has that stream wait until this use is over.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from graphad.devices.library import library

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray
    from graphad.devices.interface import Device, Held, Stream

    # The exception with which a block ends.
    Raised = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

WORKSPACE_BYTES = 32 << 20  # of cuBLAS on a stream, as NVIDIA advises for its newest devices


class _Thread(threading.local):
    """The state of this thread.

    Attributes:
      is_main: Whether it keeps CuPy's default stream.
      ready: The devices whose context it has.
      own: Its streams by device.
      current: The stream of its last block of `on`; the first one sets it.
      workspaces: Memory of cuBLAS by device, with the stream that it belongs to, and its address.
      capturing: Streams by device, on which nothing runs: what is put there is captured.
    """

    current: Stream

    def __init__(self) -> None:
        self.is_main = threading.current_thread() is threading.main_thread()
        self.ready: set[int] = set()
        self.own: dict[int, Stream] = {}
        self.workspaces: dict[int, tuple[Stream, Held, int]] = {}
        self.capturing: dict[int, Stream] = {}


_thread = _Thread()


class on:
    """A block in which a device is the current one; gives the stream that this thread's work goes to."""

    __slots__ = ("_device", "_entered", "_index")

    def __init__(self, index: int) -> None:
        self._index = index

    def __enter__(self) -> Stream:
        cuda, mine = library().cuda, _thread
        self._device: Device | None = None
        if self._index not in mine.ready or cuda.runtime.getDevice() != self._index:
            self._device = cuda.Device(self._index)
            self._device.__enter__()
            if self._index not in mine.ready:
                # The driver's functions want a context, which calls of the runtime make. A block of `Device` makes no such call
                # where the device is the thread's first.
                cuda.runtime.setDevice(self._index)
                mine.ready.add(self._index)
        stream = cuda.get_current_stream()
        self._entered: Stream | None = None
        if not (mine.is_main or stream.ptr):
            if self._index not in mine.own:
                mine.own[self._index] = cuda.Stream(non_blocking=True)
            stream = self._entered = mine.own[self._index]
            stream.__enter__()
        mine.current = stream
        return stream

    def __exit__(self, *error: *Raised) -> None:
        if self._entered is not None:
            self._entered.__exit__(*error)
        if self._device is not None:
            self._device.__exit__(*error)


def settled(index: int) -> Stream | None:
    """The stream of this thread's work where a block of `on` would change nothing, which is most often; None elsewhere."""
    mine = _thread
    if index not in mine.ready:
        return None
    cuda = library().cuda
    if cuda.runtime.getDevice() != index:
        return None
    stream = cuda.get_current_stream()
    if not (mine.is_main or stream.ptr):
        return None
    mine.current = stream
    return stream


class using:
    """`on`, in which arrays are used that may belong to other streams. Gives these streams."""

    __slots__ = ("_arrays", "_on", "_others", "_stream")

    def __init__(self, index: int, arrays: Iterable[DeviceArray]) -> None:
        self._on, self._arrays = on(index), arrays

    def __enter__(self) -> list[Stream]:
        self._stream = self._on.__enter__()
        self._others = others(self._stream, self._arrays)
        for other in self._others:
            wait_for(self._stream, other)
        return self._others

    def __exit__(self, *error: *Raised) -> None:
        if self._others:
            waited_for(self._stream, self._others)
        self._on.__exit__(*error)


def others(stream: Stream, arrays: Iterable[DeviceArray]) -> list[Stream]:
    """The streams of arrays that belong to another one."""
    found: list[Stream] = []
    for x in arrays:
        if x.stream is not stream and not any(x.stream is other for other in found):
            found.append(x.stream)
    return found


def current() -> Stream:
    """The stream of this thread's last block of `on`, in which arrays are made."""
    return _thread.current


def wait_for(stream: Stream, other: Stream) -> None:
    """Have what comes on a stream wait for what is on another one by now."""
    stream.wait_event(other.record())


def waited_for(stream: Stream, others: Iterable[Stream]) -> None:
    """Have what comes on other streams wait for what is on this one by now."""
    event = stream.record()
    for other in others:
        other.wait_event(event)


def workspace(index: int, stream: Stream) -> int:
    """The address of `WORKSPACE_BYTES` for cuBLAS in this thread: its own would be shared by streams, and sums might differ from
    run to run."""
    known = _thread.workspaces.get(index)
    if known is None or known[0] is not stream:
        made = library().empty((WORKSPACE_BYTES,), "u1")
        known = _thread.workspaces[index] = stream, made, made.data.ptr
    return known[2]


def capturing(index: int) -> Stream:
    """A stream of this thread for captures."""
    found = _thread.capturing.get(index)
    if found is None:
        found = _thread.capturing[index] = library().cuda.Stream(non_blocking=True)
    return found
