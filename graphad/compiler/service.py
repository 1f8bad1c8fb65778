"""The compile service of a process: the client of the compile worker, and compilation in the process if there is no worker.

`CompileService.request` returns at once and calls back from a reader thread; `compile_now` waits. The worker starts with the
first request, is replaced after 500 kernels (Numba never frees compiled code) and given up, with one line in the log, after
three deaths. If many requests wait, a second worker takes its share and then ends.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import Any

from graphad.compiler import launch
from graphad.compiler.source import CompileError
from graphad.compiler.worker import HELLO, compiled
from graphad.core import forks
from graphad.core.flags import switch_of_environment

Callback = Callable[[str, bytes | None, str | None], None]  # key, object code or None, error or None
LIFETIME = 500  # kernels that one worker compiles
HANDSHAKE = 60.0  # seconds within which a worker must report: a busy machine starts it late
DEATHS = 3
QUEUE = 3  # waiting requests of the first worker that start a second one
IDLE = 10.0  # seconds without work after which the second one ends
_services: weakref.WeakSet[CompileService] = weakref.WeakSet()


class CompileService:
    """Compiles source text in a worker process. One per process is enough; all methods may be called from any
    thread."""

    def __init__(self, idle: float = 0.0) -> None:
        """Args: idle: Seconds without work after which the worker ends until the next request; 0 keeps it."""
        self._idle = idle
        self._reset()
        _services.add(self)

    def _reset(self) -> None:
        self._lock = forks.lock()
        self._waiting: dict[str, tuple[dict[str, str], list[Callback]]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._sent = 0
        self._deaths = 0

    @property
    def is_forbidden(self) -> bool:
        """Whether no worker may be started, or starting has failed for good."""
        return (
            self._deaths >= DEATHS
            or not switch_of_environment("GRAPHAD_WORKER", True)
            or launch.interpreter() is None
        )

    @property
    def pid(self) -> int | None:
        """The worker's process id while there is one."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    @property
    def pending(self) -> int:
        """The number of unanswered requests."""
        return len(self._waiting)

    def waits_for(self, key: str) -> bool:
        """Whether a request for this key is unanswered."""
        return key in self._waiting

    def request(self, key: str, source: str, callback: Callback, target: str = "cpu") -> bool:
        """Compile `source` in the worker; `callback(key, object or None, error or None)` runs in another thread.

        Returns: False if there is no worker; then the callback never runs.
        """
        with self._lock:
            if self.is_forbidden:
                return False
            if key in self._waiting:
                self._waiting[key][1].append(callback)
                return True
            message = {"key": key, "source": source, "target": target}
            self._waiting[key] = (message, [callback])
            if self._process is None and not self._start():
                self._waiting.pop(key, None)
                return False
            self._send(message)
        return True

    def start(self) -> bool:
        """Start the worker ahead of the first request; it takes a quarter of a second to be ready."""
        with self._lock:
            return self._process is not None or (not self.is_forbidden and self._start())

    def compile_now(self, key: str, source: str, target: str = "cpu") -> bytes:
        """Object code of `source`, from the worker or, without one, compiled in this process.

        Raises: CompileError: the source does not compile.
        """
        done = threading.Event()
        answer: list[Any] = [None, None]

        def receive(_: str, data: bytes | None, error: str | None) -> None:
            answer[:] = [data, error]
            done.set()

        if self.request(key, source, receive, target):
            done.wait()
            data, error = answer
            if data is not None:
                return bytes(data)
            if error is not None:
                raise CompileError(error)
        return compiled(source, target)

    def close(self) -> None:
        """End the worker; unanswered requests are called back with neither object nor error."""
        with self._lock:
            process, self._process = self._process, None
            waiting = self._take_all()
        if process is not None:
            _end(process)
        _tell(waiting)

    # -- with the lock held --

    def _start(self) -> bool:
        # the parent-death signal refers to the starting thread, so it is used only from a thread that lives as long as the
        # process
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        try:
            process = launch.start(parent, self._idle)
        except OSError as error:
            self._give_up(f"cannot be started ({error})")
            return False
        is_late = threading.Event()

        def expire() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(HANDSHAKE, expire)
        timer.daemon = True
        reader = threading.Thread(
            target=self._listen, args=(process, timer, is_late), name="graphad-compile-reader", daemon=True
        )
        if not (forks.started(timer) and forks.started(reader)):
            timer.cancel()
            _end(process)
            self._give_up("cannot be listened to (no further thread can be started)")
            return False
        self._process, self._sent = process, 0
        return True

    def _send(self, message: dict[str, str]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        self._sent += 1
        data = memoryview((json.dumps(message) + "\n").encode())
        with contextlib.suppress(OSError, ValueError):  # a dead worker: the reader thread handles its end
            while data:
                data = data[process.stdin.write(data) or 0 :]

    def _give_up(self, reason: str) -> None:
        if self._deaths < DEATHS:
            import logging  # not above: it has hooks of forks, and another thread imports this module while one may fork

            logging.getLogger("graphad").warning(
                "graphad: the compile worker %s; kernels are compiled in the process when waited for, else not at all.",
                reason,
            )
        self._deaths = DEATHS

    def _take_all(self) -> list[tuple[str, Callback]]:
        taken = [(key, callback) for key, (_, callbacks) in self._waiting.items() for callback in callbacks]
        self._waiting.clear()
        return taken

    # -- the reader thread --

    def _listen(
        self, process: subprocess.Popen[bytes], timer: threading.Timer, is_late: threading.Event
    ) -> None:
        """Read answers until the worker ends, by `timer` unless it says hello; then decide what to do."""
        assert process.stdout is not None
        is_over = False
        try:  # in any case the waiting threads must be woken
            with (
                contextlib.suppress(OSError, ValueError),
                open(process.stdout.fileno(), "rb", closefd=False) as lines,
            ):
                for line in lines:
                    try:
                        answer = json.loads(line)
                    except ValueError:
                        continue
                    if "hello" not in answer:
                        with forks.settled:
                            self._receive(process, answer)
                    elif answer["hello"] == HELLO:
                        timer.cancel()
            with contextlib.suppress(subprocess.TimeoutExpired):
                is_over = self._idle > 0 and process.wait(1.0) == 0
        finally:
            timer.cancel()
            _end(process)
            self._ended(process, is_late.is_set(), is_over)

    def _receive(self, process: subprocess.Popen[bytes], answer: dict[str, str]) -> None:
        data = base64.b64decode(answer["object"]) if "object" in answer else None
        with self._lock:
            _, callbacks = self._waiting.pop(answer.get("key", ""), ({}, []))
            self._deaths = 0
            if self._sent >= LIFETIME and not self._waiting and self._process is process:
                self._process = None  # the next request starts a fresh one
                if process.stdin is not None:
                    with contextlib.suppress(OSError):
                        process.stdin.close()
        for callback in callbacks:
            callback(answer["key"], data, answer.get("error"))

    def _ended(self, process: subprocess.Popen[bytes], is_mute: bool, is_over: bool) -> None:
        with self._lock:
            if self._process is not process:  # closed, or replaced on purpose
                return
            self._process = None
            self._deaths += not is_over
            if is_over and not self._waiting:
                return
            if is_mute:
                self._give_up(f"did not answer within {HANDSHAKE:.0f} s")
            elif self._deaths >= DEATHS:
                self._deaths = 0
                self._give_up(f"died {DEATHS} times in a row")
            elif self._waiting and self._start():
                for message, _ in self._waiting.values():
                    self._send(message)
                return
            waiting = self._take_all()
        _tell(waiting)

    def _forget(self) -> None:
        """In a forked child: the worker belongs to the parent, and its pipes must not be used."""
        process = self._process
        if process is not None:
            process.returncode = 0  # it is not this process's child
            _close_pipes(process)
        self._reset()


def _tell(waiting: list[tuple[str, Callback]]) -> None:
    for key, callback in waiting:
        callback(key, None, None)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()
    with contextlib.suppress(OSError):
        process.wait()
    _close_pipes(process)


@atexit.register
def _close_all() -> None:
    for service in tuple(_services):
        service.close()


@forks.in_child
def _forget_workers() -> None:
    for service in tuple(_services):
        service._forget()


_default: CompileService | None = None
_second: CompileService | None = None


def default_service() -> CompileService:
    """The service of this process; its worker starts with the first request."""
    global _default
    if _default is None:
        _default = CompileService()
    return _default


def request(key: str, source: str, callback: Callback, target: str = "cpu") -> bool:
    """`CompileService.request` of the service with the fewest requests."""
    first = default_service()
    chosen = _least_busy(first, key)
    return chosen.request(key, source, callback, target) or first.request(key, source, callback, target)


def request_address(
    key: str,
    source: str,
    keep: Callable[[str, bytes], int],
    callback: Callable[[int | None, str | None], None],
    target: str = "cpu",
) -> bool:
    """`request` for callers that need the address of the code.

    Args:
      keep: Called with the key and the object code in another thread; loads and caches the code, and returns its address.
      callback: Called with (address, None), or with (None, error) if the code was not compiled or `keep` has raised.
    Returns: False if there is no worker; then the callback never runs.
    """

    def receive(key: str, data: bytes | None, error: str | None) -> None:
        if data is None:
            callback(None, error or "the compile worker died")
            return
        try:
            address = keep(key, data)
        except (CompileError, OSError, RuntimeError) as failure:
            callback(None, str(failure))
        else:
            callback(address, None)

    return request(key, source, receive, target)


def _least_busy(first: CompileService, key: str) -> CompileService:
    global _second
    if first.pending < QUEUE or first.waits_for(key) or (os.cpu_count() or 1) < 2:
        return first
    if _second is None:
        _second = CompileService(IDLE)
    second = _second
    if second.waits_for(key):
        return second
    # Requests that the first compiles while the second starts.
    head_start = QUEUE if second.pid is None else 0
    return second if second.pending + head_start < first.pending else first
