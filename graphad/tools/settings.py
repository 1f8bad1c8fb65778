"""Settings of this process.

GRAPHAD_JIT and GRAPHAD_RELAXED_ARITHMETIC in the environment give the first values of `jit` and `relaxed_arithmetic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphad.core.errors import InvalidArgumentError
from graphad.core.flags import JIT_MODES, flags

if TYPE_CHECKING:
    from graphad.compiler.plan.buffers import ResultPool


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether functions made by `function` run as plain Python instead of as graphs.

    Args:
      run_eagerly: True or False.
    Raises: Nothing.
    """
    flags.run_functions_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python.

    Returns: True or False.
    """
    return flags.run_functions_eagerly


def set_jit(mode: str) -> None:
    """When functions are compiled: "auto" in the background, "always" before they run, "never" (also those compiled before).

    It holds for functions that do not say it themselves, by `jit_compile`.

    Args:
      mode: "auto", "always" or "never".
    Raises: InvalidArgumentError: no such mode.
    """
    if mode not in JIT_MODES:
        raise InvalidArgumentError(f"set_jit: {mode!r} is not a mode; use 'auto', 'always' or 'never'.")
    flags.jit = mode


def jit() -> str:
    """When functions are compiled; see `set_jit`.

    Returns: "auto", "always" or "never".
    """
    return flags.jit


def set_progress(mode: str) -> None:
    """When bars show how far compiling, Jacobians and saves have come that take longer than a second.

    They are drawn by tqdm, where it is installed, on the error output.

    Args:
      mode: "auto", in notebooks and terminals; "always", everywhere; "never", nowhere.
    Raises: InvalidArgumentError (a ValueError): no such mode.
    Example:
      >>> config.set_progress("never")
      >>> config.progress()
      'never'
      >>> config.set_progress("auto")
    """
    if mode not in JIT_MODES:
        raise InvalidArgumentError(f"set_progress: {mode!r} is not a mode; use 'auto', 'always' or 'never'.")
    flags.progress = mode


def progress() -> str:
    """When bars show how far something has come; see `set_progress`.

    Returns: "auto", "always" or "never".
    """
    return flags.progress


def set_jacobian_budget(size: int) -> None:
    """How many bytes the largest value may take when `jacobian` and `batch_jacobian` compute rows or columns together.

    It is 2 MiB at first. The result itself comes on top, and one row or column at least is computed. Results do not depend on
    it. A function whose sizes are unknown while it is traced computes all rows together, whatever the budget.

    Args:
      size: A number of bytes.
    Raises: InvalidArgumentError: no positive whole number.
    """
    if type(size) is not int or size < 1:
        raise InvalidArgumentError(
            f"set_jacobian_budget: {size!r} is not a number of bytes; give a positive whole number."
        )
    flags.jacobian_bytes = size


def jacobian_budget() -> int:
    """How many bytes the largest value of a Jacobian's computation may take; see `set_jacobian_budget`.

    Returns: A number of bytes.
    """
    return flags.jacobian_bytes


def set_pool_budget(size: int) -> None:
    """How many bytes of large results (256 KiB and more each) compiled functions may keep to write later results into.

    Fresh memory costs several times what such a result costs to compute. It is 256 MiB at first; 0 keeps nothing. Only memory
    that nobody refers to any more is written to. Shapes that are not asked for during half a minute are let go with the next
    large result, all of it at once by `empty_pool`.

    Args:
      size: A number of bytes, 0 for none.
    Raises: InvalidArgumentError: no whole number from 0.
    """
    if type(size) is not int or size < 0:
        raise InvalidArgumentError(
            f"set_pool_budget: {size!r} is not a number of bytes; give a whole number from 0."
        )
    flags.pool_bytes = size
    _pool().trim()


def pool_budget() -> int:
    """How many bytes of large results may be kept for later ones; see `set_pool_budget`.

    Returns: A number of bytes.
    """
    return flags.pool_bytes


def empty_pool() -> None:
    """Give back the memory that is kept for later results; see `set_pool_budget`."""
    _pool().clear()


def _pool() -> ResultPool:
    from graphad.compiler.plan.buffers import results  # importing graphad needs no compiler

    return results


def set_relaxed_arithmetic(relaxed: bool) -> None:
    """Whether compiling functions may change the last bits of their results, for speed and for range; at first it may not.

    Without it every step of a compiled function gives what the eager op gives, bit for bit; only the functions listed in
    docs/accuracy.md and the order of sums differ, within bounds. With it a product may go into a sum unrounded, so that
    x * x - y * y need not be 0 where x equals y; and formulas may be replaced by others of the same meaning: log(1 + x) by
    log1p(x), exp(x) - 1 by expm1(x), log(softmax(x)) by log_softmax(x), sqrt(x * x) by |x|, x / sqrt(y) by x * rsqrt(y).

    It takes effect with the next call, also for functions that were compiled before.

    Args:
      relaxed: True or False.
    Raises: Nothing.
    """
    flags.relaxed_arithmetic = bool(relaxed)


def relaxed_arithmetic() -> bool:
    """Whether compiling functions may change the last bits of their results; see `set_relaxed_arithmetic`.

    Returns: True or False.
    """
    return flags.relaxed_arithmetic


def enable_traceback_filtering() -> None:
    """Leave graphad's own lines out of the tracebacks of what is raised in functions; it is so by default."""
    flags.filter_tracebacks = True


def disable_traceback_filtering() -> None:
    """Show every line in tracebacks."""
    flags.filter_tracebacks = False


def is_traceback_filtering_enabled() -> bool:
    """Whether graphad's own lines are left out of tracebacks.

    Returns: True or False.
    """
    return flags.filter_tracebacks
