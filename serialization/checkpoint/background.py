"""Writing a checkpoint in the background.

Values are copied first, so the program may assign to its variables at once. A checkpoint has one write at a time, and errors
are raised by the next call that saves, restores or waits. The thread is not a daemon: the interpreter waits for it. Where there
can be no further thread, the write is made at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from graphad.core import forks


class Writer:
    """One write, in progress or done."""

    def __init__(self, path: str, write: Callable[[], None]) -> None:
        self._path = path
        self._write = write
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._run, name="graphad-checkpoint")
        if not forks.started(self._thread):
            self._thread = None
            self._run()

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:  # raised when the checkpoint is waited for
            import logging  # imported here: slow to import and rarely needed

            self._error = error
            logging.getLogger("graphad").error("Checkpoint: %s could not be written: %s", self._path, error)

    def wait(self) -> None:
        """Wait until the write is done. Raises: the error of the write."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            self._error.add_note(f"while the checkpoint {self._path} was written in the background")
            raise self._error


_writers: WeakKeyDictionary[object, Writer] = WeakKeyDictionary()


def start(owner: object, path: str, write: Callable[[], None]) -> None:
    """Write in the background. `finish` comes first."""
    _writers[owner] = Writer(path, write)


def finish(owner: object) -> None:
    """Wait for the write in progress, if there is one. Raises: its error, once."""
    writer = _writers.get(owner)
    if writer is not None and writer._thread is not threading.current_thread():
        _writers.pop(owner, None)
        writer.wait()
