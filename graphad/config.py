"""Settings of this process. GRAPHAD_JIT in the environment gives the first value of `jit`."""

from __future__ import annotations

from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import JIT_MODES, flags


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether functions made by `function` run as plain Python instead of as graphs."""
    flags.run_functions_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python."""
    return flags.run_functions_eagerly


def set_jit(mode: str) -> None:
    """When functions are compiled: "auto" in the background, "always" before they run, "never" (also those compiled before).

    It holds for functions that do not say it themselves, by `jit_compile`.

    Raises: InvalidArgumentError: no such mode.
    """
    if mode not in JIT_MODES:
        raise InvalidArgumentError(f"set_jit: {mode!r} is no mode; it is 'auto', 'always' or 'never'.")
    flags.jit = mode


def jit() -> str:
    """When functions are compiled; see `set_jit`."""
    return flags.jit


__all__ = ["functions_run_eagerly", "jit", "run_functions_eagerly", "set_jit"]
