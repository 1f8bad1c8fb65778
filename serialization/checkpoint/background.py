"""A checkpoint that is written while the program goes on.

What is written was copied before: the program may assign to its variables at once. A checkpoint writes one at a time, and what
goes wrong is raised by the next call that saves, restores or waits. The thread is not a daemon: the interpreter ends after it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary


class Writer:
    """One write that is under way or done."""

    def __init__(self, path: str, write: Callable[[], None]) -> None:
        self._path = path
        self._write = write
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="graphad-checkpoint")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:  # said when the checkpoint is waited for
            import logging  # which is slow to import, and this is rare

            self._error = error
            logging.getLogger("graphad").error("Checkpoint: %s could not be written: %s", self._path, error)

    def wait(self) -> None:
        """Come back when the write is done. Raises what the write raised."""
        self._thread.join()
        if self._error is not None:
            self._error.add_note(f"while the checkpoint {self._path} was written in the background")
            raise self._error


_writers: WeakKeyDictionary[object, Writer] = WeakKeyDictionary()


def start(owner: object, path: str, write: Callable[[], None]) -> None:
    """Write in the background. `finish` comes first."""
    _writers[owner] = Writer(path, write)


def finish(owner: object) -> None:
    """Wait for the write that is under way, if there is one. Raises: what it raised, once."""
    writer = _writers.get(owner)
    if writer is not None and writer._thread is not threading.current_thread():
        _writers.pop(owner, None)
        writer.wait()
