"""Opens checkpoints by path, and reads their values by name."""

from __future__ import annotations

import difflib
import os
from typing import Any

from graphad.core.dtypes import as_dtype
from graphad.core.errors import NotFoundError
from serialization.checkpoint.foreign import prefix_at, saved_of_bundle
from serialization.checkpoint.latest import latest_checkpoint
from serialization.checkpoint.saved import Saved, Stored, plain_of, saved_of_model
from serialization.errors import MissingModelError, shown
from serialization.saved_model.options import path_of_user
from serialization.storage.read import contains_model, read_model
from serialization.wire.limits import DEFAULT_LIMITS, Limits


class MissingCheckpointError(MissingModelError, NotFoundError):
    """There is no checkpoint at the path."""


class MissingKeyError(NotFoundError, KeyError):
    """The checkpoint has no value of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


def open_checkpoint(op: str, path: str, limits: Limits = DEFAULT_LIMITS) -> Saved:
    """The checkpoint, or the saved model, at a path: of this library or of TensorFlow's.

    Raises: MissingCheckpointError (an OSError): there is none. LoadError: it is damaged, too large, or unsafe.
    """
    if contains_model(path):
        model, arrays = read_model(path, limits)
        return saved_of_model(path, model, arrays, limits)
    prefix = prefix_at(path)
    if prefix is not None:
        return saved_of_bundle(prefix, limits)
    directory, name = os.path.split(path)
    try:
        there = sorted(os.listdir(directory or "."))
    except OSError:
        there = []
    found = [other for other in there if contains_model(os.path.join(directory, other))]
    found += [other.removesuffix(".index") for other in there if other.endswith(".index")]
    close = difflib.get_close_matches(name, found, 1, 0.4)
    hint = f" There is {os.path.join(directory, close[0])!r}." if close else ""
    raise MissingCheckpointError(
        f"{op}: there is no checkpoint at {path!r}: failed to find any matching files.{hint} Please double-check that the path "
        "is correct. You may be missing the checkpoint suffix (e.g. the '-1' in 'path/to/ckpt-1')."
    )


class CheckpointReader:
    """The values of a checkpoint by name.

    Names are the keys of the file, `net/kernel/.ATTRIBUTES/VARIABLE_VALUE`; the path alone, `net/kernel`, is accepted too.
    """

    def __init__(self, saved: Saved) -> None:
        self._saved = saved

    def has_tensor(self, name: str) -> bool:
        """Whether there is a value of that name."""
        return self._found(name) is not None

    def get_tensor(self, name: str) -> Any:
        """The value as an array of its own.

        Raises: MissingKeyError (a KeyError): there is none of that name. LoadError: it is damaged.
        """
        stored = self._found(name)
        if stored is None and not self._saved.left_out.isdisjoint(_keys(name)):
            raise MissingKeyError(
                f"load_variable: Key {name} in checkpoint {self._saved.place} holds texts, or numbers of a dtype that graphad "
                "does not have."
            )
        if stored is None:
            names = sorted(self._saved.values)
            plain = {plain_of(key): key for key in names}
            close = difflib.get_close_matches(plain_of(name), list(plain), 1, 0.4)
            hint = f"; nearest: {shown(plain[close[0]])}" if close else ""
            raise MissingKeyError(
                f"load_variable: Key {name} not found in checkpoint {self._saved.place}{hint}."
            )
        array = stored.read()
        return array.copy() if array.ndim else array[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each value, by its key."""
        return {key: list(stored.shape) for key, stored in self._saved.values.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtype of each value, by its key."""
        return {key: as_dtype(stored.dtype) for key, stored in self._saved.values.items()}

    def debug_string(self) -> bytes:
        """All keys with dtypes and shapes, a line each."""
        lines = [f"{key} ({stored.dtype}) {list(stored.shape)}" for key, stored in self._listed()]
        return "".join(line + "\n" for line in lines).encode()

    def _listed(self) -> list[tuple[str, Stored]]:
        return sorted(self._saved.values.items())

    def _found(self, name: str) -> Stored | None:
        return next((self._saved.values[key] for key in _keys(name) if key in self._saved.values), None)


def _keys(name: str) -> tuple[str, str]:
    """The keys that a user may mean by a name."""
    return name, f"{name}/.ATTRIBUTES/VARIABLE_VALUE"


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """A reader of a checkpoint's values by name.

    Args:
      ckpt_dir_or_file: A checkpoint, or a directory for its latest one.
    Returns: A CheckpointReader.
    Raises: MissingCheckpointError (an OSError): there is none. LoadError (a ValueError): it is damaged.
    """
    path = path_of_user("load_checkpoint", ckpt_dir_or_file)
    if os.path.isdir(path) and not contains_model(path) and prefix_at(path) is None:
        path = latest_checkpoint(path) or path
    return CheckpointReader(open_checkpoint("load_checkpoint", path))


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """The key and the shape of each value of a checkpoint, by key. See `load_checkpoint`.

    Args:
      ckpt_dir_or_file: A checkpoint, or a directory for its latest one.
    Returns: A list of (key, sizes).
    Raises: MissingCheckpointError (an OSError): there is none. LoadError (a ValueError): it is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """One value of a checkpoint, by its key or by its path without the suffix; see `load_checkpoint`.

    Args:
      ckpt_dir_or_file: A checkpoint, or a directory for its latest one.
      name: The key, or the path without its suffix.
    Returns: A NumPy array.
    Raises: MissingCheckpointError (an OSError): there is none. LoadError (a ValueError): it is damaged. NotFoundError: it has
      no such value.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
