"""Settings of this process. The environment gives their first values: GRAPHAD_JIT, GRAPHAD_THREADS, GRAPHAD_CACHE_DIR."""

from __future__ import annotations

from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import flags


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether functions made by `function` run as plain Python instead of as graphs."""
    flags.run_functions_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python."""
    return flags.run_functions_eagerly


def set_jit(mode: str) -> None:
    """When functions are compiled: "auto" in the background, "always" before they first run, "never".

    Raises: InvalidArgumentError: no such mode.
    """
    if mode not in ("auto", "always", "never"):
        raise InvalidArgumentError(f"set_jit: {mode!r} is no mode; it is 'auto', 'always' or 'never'.")
    flags.jit = mode


def jit() -> str:
    """When functions are compiled; see `set_jit`."""
    return flags.jit


__all__ = ["functions_run_eagerly", "jit", "run_functions_eagerly", "set_jit"]
