"""The file `checkpoint` of a directory: which checkpoints it has and which is the latest, as text.

It is replaced in one step. Paths below the directory are written relative to it, so that it can be moved. The text is a list of
`name: value` lines; values are strings in quotes, with backslashes as in C, or numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from serialization.errors import CorruptModelError, LimitExceededError, LoadError
from serialization.saved_model.options import path_of_user
from serialization.storage.read import contains_model
from serialization.wire.files import Directory, FileSystem, Temporary, read_exactly
from serialization.wire.record import Record

STATE = "checkpoint"
_LARGEST = 16 << 20
_LINE = re.compile(r'(\w+)\s*:\s*("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[-+0-9.eE]+|inf|nan)\s*')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class CheckpointState(Record):
    """The contents of the state file. Paths are relative to the working directory, the oldest first."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: Sequence[str] = ()
    all_model_checkpoint_timestamps: Sequence[float] = ()
    last_preserved_timestamp: float = 0.0


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """The contents of the state file of a directory; None if there is none.

    Args:
      checkpoint_dir: The directory that checkpoints were saved in.
      latest_filename: The name of the state file, "checkpoint" by default.
    Returns: A CheckpointState, or None.
    Raises: CorruptModelError (a ValueError): it is no such file.
    """
    directory = path_of_user("get_checkpoint_state", checkpoint_dir)
    name = latest_filename or STATE
    try:
        with Directory(directory) as opened:
            descriptor, size = opened.open(name)
            try:
                if size > _LARGEST:
                    raise LimitExceededError(f"it has {size} bytes; allowed are {_LARGEST}.")
                text = bytes(read_exactly(descriptor, size))
            finally:
                os.close(descriptor)
        return _parsed(text, directory)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except LoadError as error:
        error.file = os.path.join(directory, name)
        raise


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The path of the latest checkpoint of a directory, None where it has none.

    Args:
      checkpoint_dir: The directory that checkpoints were saved in.
      latest_filename: The name of the state file, "checkpoint" by default.
    Returns: A path, or None.
    Raises: CorruptModelError (a ValueError): the state file is no such file.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    path = None if state is None else state.model_checkpoint_path
    return path if path and exists(path) else None


def exists(path: str) -> bool:
    """Whether there is a checkpoint at a path: one of this library, or one of TensorFlow's."""
    return contains_model(path) or os.path.isfile(path + ".index")


def write_state(
    directory: str, state: CheckpointState, system: FileSystem | None = None, durable: bool = True
) -> None:
    """Replace the state file of a directory in one step."""

    def relative(path: str) -> str:
        inside = os.path.relpath(path, directory)
        return os.path.abspath(path) if inside.startswith(os.pardir) or os.path.isabs(inside) else inside

    lines = [f"model_checkpoint_path: {_quoted(relative(state.model_checkpoint_path))}"]
    lines += [
        f"all_model_checkpoint_paths: {_quoted(relative(path))}" for path in state.all_model_checkpoint_paths
    ]
    lines += [f"all_model_checkpoint_timestamps: {when!r}" for when in state.all_model_checkpoint_timestamps]
    if state.last_preserved_timestamp:
        lines.append(f"last_preserved_timestamp: {state.last_preserved_timestamp!r}")
    system = system or FileSystem()
    with Temporary(system, directory, durable) as temporary:
        temporary.write(memoryview("".join(line + "\n" for line in lines).encode()))
        temporary.flush()
        temporary.commit(STATE)
    if durable:
        system.flush_directory(directory)


def _parsed(text: bytes, directory: str) -> CheckpointState:
    found: dict[str, list[str]] = {}
    try:
        rest = text.decode()
    except UnicodeDecodeError:
        raise CorruptModelError("it is not text.") from None
    position = len(rest) - len(rest.lstrip())
    while position < len(rest):
        line = _LINE.match(rest, position)
        if line is None:
            raise CorruptModelError(f"line {rest.count(chr(10), 0, position) + 1} is no `name: value`.")
        found.setdefault(line[1], []).append(line[2])
        position = line.end()

    def paths(name: str) -> list[str]:
        return [os.path.join(directory, _unquoted(value)) for value in found.get(name, ())]

    def times(name: str) -> list[float]:
        try:
            return [float(value) for value in found.get(name, ())]
        except ValueError:
            raise CorruptModelError(f"{name} is not a number.") from None

    latest, listed = paths("model_checkpoint_path"), paths("all_model_checkpoint_paths")
    if not latest:
        raise CorruptModelError("it has no model_checkpoint_path.")
    if latest[-1] not in listed:
        listed.append(latest[-1])
    return CheckpointState(
        latest[-1],
        listed,
        times("all_model_checkpoint_timestamps"),
        (times("last_preserved_timestamp") or [0.0])[-1],
    )


def _quoted(text: str) -> str:
    special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(special.get(c) or (c if c >= " " else f"\\{ord(c):03o}") for c in text) + '"'


def _unquoted(text: str) -> str:
    if len(text) < 2 or text[0] not in "\"'":
        raise CorruptModelError("a path is not a string in quotes.")

    def plain(found: re.Match[bytes]) -> bytes:
        what = found[1]
        if what[:1] == b"x" and len(what) > 1:
            return bytes([int(what[1:], 16)])
        if b"0" <= what[:1] <= b"7":
            return bytes([int(what, 8) & 255])
        return _LETTERS.get(what, what)

    try:
        path = _ESCAPE.sub(plain, text[1:-1].encode()).decode()
    except UnicodeDecodeError:
        raise CorruptModelError("a path is not UTF-8.") from None
    if "\0" in path:
        raise CorruptModelError("a path holds a zero byte.")
    return path


def without(items: Sequence[str], path: str) -> list[str]:
    """The paths that are another place."""
    return [other for other in items if os.path.abspath(other) != os.path.abspath(path)]
