"""Optional features, `do_not_convert`, and options of loops."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from graphad.autograph.convert import converting


class Feature(enum.Enum):
    """Optional features, for `function(experimental_autograph_options=...)`, `to_graph` and `to_code`.

    ASSERT_STATEMENTS makes `assert` on a tensor a check at run time, LISTS makes lists that grow in a loop over tensors
    stacks. The others are always on or without meaning, and are accepted for compatibility.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """All features but ALL."""
        return tuple([feature for feature in cls if feature is not cls.ALL])

    @classmethod
    def all_but(cls, exclude: Feature) -> tuple[Feature, ...]:
        """All features but ALL and those given."""
        left_out = exclude if isinstance(exclude, list | tuple | set | frozenset) else (exclude,)
        return tuple([feature for feature in cls.all() if feature not in left_out])


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Exclude a function from conversion, and the functions that it calls.

    Args:
      func: The function; without it a decorator is returned.
    Returns: The function, marked; or the decorator.
    Raises: Nothing.
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        with converting(False):
            return func(*args, **kwargs)

    return unconverted


def set_loop_options(
    parallel_iterations: object = None,
    swap_memory: object = None,
    maximum_iterations: object = None,
    shape_invariants: object = None,
) -> None:
    """Set options of the enclosing loop, as a statement at its top; it has no effect elsewhere or in a loop that Python runs.

    Args:
      parallel_iterations, swap_memory: Accepted for compatibility.
      maximum_iterations: The largest number of steps.
      shape_invariants: Pairs (variable, shape), for variables whose shape changes from step to step; None in a shape means a
      size that may change.
    Raises: InvalidArgumentError (a ValueError): the loop is traced, and a variable is not one of the loop or does not have the
    shape.
    Example:
      >>> @function
      ... def doubled(n):
      ...     x = zeros([1])
      ...     for _ in range(n):
      ...         autograph.experimental.set_loop_options(shape_invariants=[(x, [None])])
      ...         x = concat([x, x], 0)
      ...     return x
    """
