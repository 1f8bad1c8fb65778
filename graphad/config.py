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


def set_jacobian_budget(size: int) -> None:
    """How many bytes the largest value may take when `jacobian` and `batch_jacobian` compute rows or columns together.

    It is 2 MiB at first. The result itself comes on top, and one row or column at least is computed. Results do not depend on
    it. A function whose sizes are unknown while it is traced computes all rows together, whatever the budget.

    Raises: InvalidArgumentError: no positive whole number.
    """
    if type(size) is not int or size < 1:
        raise InvalidArgumentError(
            f"set_jacobian_budget: {size!r} is no number of bytes; give a positive whole number."
        )
    flags.jacobian_bytes = size


def jacobian_budget() -> int:
    """How many bytes the largest value of a Jacobian's computation may take; see `set_jacobian_budget`."""
    return flags.jacobian_bytes


__all__ = [
    "functions_run_eagerly",
    "jacobian_budget",
    "jit",
    "run_functions_eagerly",
    "set_jacobian_budget",
    "set_jit",
]
