"""`CheckpointManager`: keeps the latest checkpoints of a directory; and an iterator over the checkpoints that others write."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from serialization.checkpoint.checkpoint import (
    Checkpoint,
    CheckpointOptions,
    _call_back,
    _require_eager,
    value_of,
)
from serialization.checkpoint.latest import (
    CheckpointState,
    exists,
    get_checkpoint_state,
    latest_checkpoint,
    write_state,
)
from serialization.errors import SaveError
from serialization.saved_model.options import options_of, path_of_user
from serialization.storage.remove import remove_model
from serialization.wire.files import FileSystem

_HOUR = 3600.0


class CheckpointManager:
    """Saves checkpoints repeatedly and removes old ones.

    The file `checkpoint` of the directory lists them, so that a later process continues with them. Only files of checkpoints
    made by managers of this name are removed.

    Args:
      checkpoint: The `Checkpoint` to save.
      directory: The target directory, created at the first save.
      max_to_keep: How many to keep; None keeps all.
      keep_checkpoint_every_n_hours: Also keep one permanently for each such number of hours.
      checkpoint_name: The prefix of names, as in "ckpt-1".
      step_counter: A variable with the number of the step, for `checkpoint_interval`.
      checkpoint_interval: Save only if at least this many steps have passed since the last save.
      init_fn: Called by `restore_or_initialize` where there is no checkpoint.
      last_checkpoint_step: The step of the last save, if there was one.
    Raises: InvalidArgumentError (a ValueError): `max_to_keep` is not positive; an interval without a counter.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: object = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise ArgumentTypeError(f"CheckpointManager: {checkpoint!r} is not a Checkpoint.")
        if max_to_keep is not None and max_to_keep <= 0:
            raise InvalidArgumentError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise InvalidArgumentError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        if not checkpoint_name or os.path.basename(checkpoint_name) != checkpoint_name:
            raise InvalidArgumentError(
                f"CheckpointManager: checkpoint_name {checkpoint_name!r} is not a name of a file."
            )
        self._checkpoint = checkpoint
        self._directory = path_of_user("CheckpointManager", directory, "directory")
        self._max_to_keep = max_to_keep
        self._keep_seconds = (
            None if keep_checkpoint_every_n_hours is None else keep_checkpoint_every_n_hours * _HOUR
        )
        self._name = checkpoint_name
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step = last_checkpoint_step
        self._system = FileSystem()
        self._kept: dict[str, float] = {}
        self._gone: list[str] = []  # listed, but not a checkpoint: remains of an interrupted removal
        self._recover()

    def _recover(self) -> None:
        now = time.time()
        self._latest: str | None = None
        self._preserved = now - 1.0
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        self._preserved = state.last_preserved_timestamp
        times = list(state.all_model_checkpoint_timestamps)
        if len(times) != len(state.all_model_checkpoint_paths):
            times = [now] * len(state.all_model_checkpoint_paths)
        for path, when in zip(state.all_model_checkpoint_paths, times, strict=True):
            if exists(path):
                self._kept[path] = min(when, now)
            else:
                self._gone.append(path)
        if exists(state.model_checkpoint_path):
            self._latest = state.model_checkpoint_path

    @property
    def directory(self) -> str:
        """The directory of the checkpoints."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint object that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The least number of steps between two saves."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, None before the first."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept for now, the oldest first."""
        return list(self._kept)

    def save(
        self,
        checkpoint_number: object = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Save with the next number, and remove the oldest beyond the limit.

        Args:
          checkpoint_number: Another number for the name.
          check_interval: Whether `checkpoint_interval` applies this time.
        Returns: The path, None where the interval has not passed, or no step since the last save.
        Raises: As `Checkpoint.save`.
        """
        _require_eager("save")
        options = options_of("CheckpointManager.save", CheckpointOptions, options)
        step = None
        if self._interval is not None:
            step = value_of(self._step_counter)
            if self._last_step is not None:
                passed = step - self._last_step
                if passed == 0 or (check_interval and passed < self._interval):
                    return None
        number = None if checkpoint_number is None else value_of(checkpoint_number)
        prefix = os.path.join(self._directory, self._name)
        path = self._checkpoint.write_numbered(prefix, number, options, self._system)
        if step is not None:
            self._last_step = step
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._record(options)
        if self._sweep():
            self._record(options)
        _call_back(options, path)
        return path

    def _record(self, options: CheckpointOptions) -> None:
        assert self._latest is not None
        state = CheckpointState(self._latest, list(self._kept), list(self._kept.values()), self._preserved)
        write_state(self._directory, state, self._system, options.durable)

    def _sweep(self) -> bool:
        """Remove checkpoints beyond the limit; returns whether the list has changed."""
        before = len(self._kept)
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            when = self._kept.pop(path)
            if self._keep_seconds is not None and when - self._keep_seconds >= self._preserved:
                self._preserved = when
                continue
            self._gone.append(path)
        for path in self._gone:
            self._remove(path)
        self._gone = []
        return len(self._kept) < before

    def _remove(self, path: str) -> None:
        """Remove a checkpoint that a manager of this name has made here; keep everything else."""
        directory, name = os.path.split(os.path.abspath(path))
        made_here = directory == os.path.abspath(self._directory) and re.fullmatch(
            re.escape(self._name) + r"-\d+", name
        )
        if made_here and path != self._latest:
            try:
                remove_model(path, self._system)
            except (OSError, SaveError):  # it costs only space
                return

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint, or call `init_fn` where there is none.

        Returns: The path of the checkpoint, None where there was none.
        """
        path = self._latest
        if path is not None:
            self._checkpoint.restore(path)
        elif self._init_fn is not None:
            self._init_fn()
        if self._interval is not None and path is not None:
            self._last_step = value_of(self._step_counter)
        return path

    def sync(self) -> None:
        """Wait for background writes of the checkpoint; a save of the manager is complete when it returns."""
        self._checkpoint.sync()


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Each new checkpoint of a directory that another process writes; only the latest counts if several are new.

    Args:
      checkpoint_dir: The directory.
      min_interval_secs: The least time between two of them.
      timeout: How many seconds to wait for the next one; None waits for ever.
      timeout_fn: Called after the timeout: True ends the iteration, otherwise the wait starts again.
    Returns: An iterator of paths.
    Raises: Nothing: a missing directory has no checkpoints yet.
    """
    path_of_user("checkpoints_iterator", checkpoint_dir, "checkpoint_dir")
    return _new_checkpoints(checkpoint_dir, min_interval_secs, timeout, timeout_fn)


def _new_checkpoints(
    directory: object, least: float, timeout: float | None, timeout_fn: Callable[[], bool] | None
) -> Iterator[str]:
    last: str | None = None
    while True:
        found = _wait_for_new(directory, last, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        last = found
        begun = time.monotonic()
        yield found
        time.sleep(max(0.0, begun + least - time.monotonic()))


def _wait_for_new(directory: Any, last: str | None, timeout: float | None) -> str | None:
    limit = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(directory)
        if found is not None and found != last:
            return found
        if limit is not None and time.monotonic() >= limit:
            return None
        time.sleep(1.0 if limit is None else max(0.0, min(1.0, limit - time.monotonic())))
