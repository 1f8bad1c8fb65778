"""The exceptions of saving and loading.

Message form: `load: file: field: what was wrong, with the numbers; what to try.` Text from a file passes through `shown`, so
that a hostile name can neither flood a terminal nor send control characters.
"""

from __future__ import annotations


def shown(text: object, limit: int = 80) -> str:
    """`text` from a file, escaped to ASCII and cut, for use in a message."""
    if isinstance(text, str):
        escaped = ascii(text[: limit + 1])
    elif isinstance(text, bytes):
        escaped = repr(text[: limit + 1])
    else:
        # an integer of a file fits 64 bits; containers are only named, never printed
        plain = text is None or isinstance(text, bool | int | float | complex)
        escaped = repr(text) if plain else f"a {type(text).__name__}"
    return escaped if len(escaped) <= limit else escaped[: limit - 3] + "..."


class LoadError(ValueError):
    """A model that cannot be loaded. Knows the file and the field, filled in on the way out of nested readers."""

    verb = "load"

    def __init__(self, reason: str, *, file: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.path: list[str | int] = []

    def within(self, part: str | int) -> None:
        """Prepend `part` (a field's name or an item's number) to the place of the error."""
        self.path.insert(0, part)

    @property
    def field(self) -> str:
        """The place in the file, such as `graphs[3].nodes[17].inputs[0]`; empty for the file as a whole."""
        text = ""
        for part in self.path:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += f".{part}" if text else part
        return text

    def __str__(self) -> str:
        return ": ".join(part for part in (self.verb, self.file, self.field, self.reason) if part)


class CorruptModelError(LoadError):
    """The bytes are not a valid model: damaged, truncated or forged."""


class LimitExceededError(LoadError):
    """The model is larger than a limit allows. The message names the limit; `limits=` raises it."""


class UnsupportedModelError(LoadError):
    """A model this installation cannot read: a newer version, an unknown feature, a missing package."""


class UnsafeModelError(LoadError):
    """A model directory that reaches outside itself: links, pipes, devices, odd names."""


class MissingModelError(LoadError, FileNotFoundError):
    """There is no model at the path."""

    def __str__(self) -> str:
        return self.reason


class SaveError(ValueError):
    """A model that cannot be saved as it is."""

    def __str__(self) -> str:
        return f"save: {self.args[0]}" if self.args else "save"


class SaveFailedError(SaveError, OSError):
    """The system refused to write; `errno` says why. The previous model at the path is unchanged."""

    def __init__(self, reason: str, errno: int | None = None) -> None:
        super().__init__(reason)
        self.errno = errno

    def __str__(self) -> str:
        return f"save: {self.args[0]}"
