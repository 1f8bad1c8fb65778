"""Finds the argument of a public function that caused an error of Python or NumPy, by the annotations of the function.

A call that succeeds costs a `try` and one more frame. Arguments are compared with the signature only after an error. So all
checks of options stand here, and no function repeats them. If all tensors of a call are on one device, and the function failed
because it made an array on the CPU, it is called once more in a block of that device.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from graphad.core.device import TWO_DEVICES, common_device, device
from graphad.core.errors import GraphadError, ResourceExhaustedError, RuleError
from graphad.core.frames import is_passed
from graphad.core.refusal import refuse
from graphad.core.rule_errors import RAW_ERRORS, TOO_LARGE
from graphad.core.schema import split
from graphad.core.tensor import Tensor
from graphad.core.tracebacks import of_call

F = TypeVar("F", bound=Callable[..., Any])
_MOST = 2**63


def blaming(function: F) -> F:
    """Decorator of a public function: an error of Python or NumPy in it becomes one that names the argument that does not fit."""

    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Exception as error:  # raised on, as it is or with the name of the argument
            place = common_device((args, options)) if hasattr(error, TWO_DEVICES) else None
            if place is not None:
                with device(place):
                    return function(*args, **options)
            told = blamed(called, args, options, error)
            if told is not error:
                raise of_call(told) from told.__cause__
            raise of_call(error)  # noqa: B904 - it is the same error

    return functools.update_wrapper(called, function)  # type: ignore[return-value]


def blamed(
    function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any], error: Exception
) -> Exception:
    """The error itself, or, where an argument does not fit the signature, graphad's error of the same Python class."""
    if not _is_raw(error):
        return error
    import inspect  # slow to import and rarely needed

    cause = error.__cause__ if isinstance(error, GraphadError) else error
    try:
        signature = inspect.signature(function)
        given = signature.bind(*args, **options).arguments
    except TypeError:  # too many or too few arguments: Python's own message says it
        return error
    name = function.__name__
    for part, value, needed in _unfit(signature, given):
        try:
            refuse(
                cause if isinstance(cause, RAW_ERRORS) else ValueError(str(error)),
                name, part, value, f"{needed} is needed",
            )  # fmt: skip
        except GraphadError as told:
            told.graphad_blamed = True  # type: ignore[attr-defined]
            return told
    if not isinstance(error, GraphadError) and _is_large(error):
        made = ResourceExhaustedError(f"{name}: the result would have more bytes than there is memory.")
        made.__cause__ = error
        return made
    return error


def _unfit(signature: Any, given: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """The arguments that do not fit their annotations, each with what is needed. Arguments that many functions accept although
    they do not fit come last: whole floats for integers, and objects without numbers for tensors.
    """
    for is_strict in (False, True):
        for part, value in given.items():
            declared = signature.parameters[part].annotation
            kinds = _kinds(declared) if isinstance(declared, str) else ()
            if kinds and not any(
                fits(value) and (not is_strict or fits_well(value)) for _, fits, fits_well in kinds
            ):
                yield part, value, " or ".join([words for words, _, _ in kinds])


def _is_large(error: Exception) -> bool:
    return isinstance(error, MemoryError) or str(error).startswith(TOO_LARGE)


def _is_raw(error: Exception) -> bool:
    """Whether Python or NumPy raised the error in graphad's own code, or an inner function has explained it already."""
    if hasattr(error, "graphad_blamed") or isinstance(error, RuleError):
        return True
    if (
        isinstance(error, GraphadError)
        or not isinstance(error, RAW_ERRORS)
        or hasattr(error, "graphad_foreign")
    ):
        return False
    trace = error.__traceback__
    while trace is not None:
        if not is_passed(trace.tb_frame.f_code.co_filename):
            return False  # in a function or an object of the user's
        trace = trace.tb_next
    return True


Kind = tuple[str, Callable[[Any], bool], Callable[[Any], bool]]  # words, a test, a stricter one


@functools.cache
def _kinds(declared: str) -> tuple[Kind, ...]:
    """The kinds that an annotation allows, each as words and a test; none if a kind among them cannot be tested here."""
    found: list[Kind] = []
    for option in split(declared, "|"):
        kind = _kind(option.strip())
        if kind is None:
            return ()
        found.append(kind)
    return tuple(found)


def _kind(option: str) -> Kind | None:
    if option in _PLAIN:
        return _PLAIN[option]
    head, _, rest = option.partition("[")
    items = [item.strip() for item in split(rest[:-1], ",")] if rest else []
    if head == "Literal":
        allowed = [item.strip("\"'") for item in items]
        words = f"one of {', '.join(map(repr, allowed))}"
        return words, lambda x: isinstance(x, str) and x in allowed, _any
    if head == "Callable":
        return "a function", callable, _any
    if head in ("Sequence", "list") and items == ["Any"]:
        return "a list", lambda x: _is_list(x) or isinstance(x, np.ndarray | Tensor), _any
    if head in ("Sequence", "list", "tuple") and items and items[0] in _PLAIN:
        words, fits, _ = _PLAIN[items[0]]
        count = len(items) if head == "tuple" and "..." not in items else None
        plural = f"a list of {'' if count is None else f'{count} '}{words.split(' ', 1)[1]}s"
        return (
            plural,
            lambda x: _is_list(x) and all(fits(item) for item in x),
            lambda x: count in (None, len(x)),
        )
    return None


def _any(x: object) -> bool:
    return True


def _is_list(x: object) -> bool:
    return isinstance(x, list | tuple | range) or (isinstance(x, np.ndarray | Tensor) and x.ndim == 1)


def _is_bool(x: Any) -> bool:
    if isinstance(x, np.ndarray | Tensor):
        return x.ndim == 0
    return isinstance(x, bool | np.bool_) or (isinstance(x, int) and x in (0, 1))


def _is_integer(x: Any) -> bool:
    if isinstance(x, float):
        return x.is_integer() and abs(x) < _MOST
    if isinstance(x, Tensor) and not isinstance(getattr(x, "data", None), np.ndarray | np.generic):
        return x.ndim == 0 and x.dtype.is_integer
    try:
        return -_MOST <= operator.index(x) < _MOST
    except (TypeError, ValueError):
        return False


def _is_number(x: Any) -> bool:
    if isinstance(x, np.ndarray | Tensor):
        return x.ndim == 0 and not _is_text(x)
    return isinstance(x, int | float | np.number | np.bool_)


def _is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor or may convert to one."""
    if isinstance(x, list | tuple | range):
        return all(_is_tensor(item) for item in x)
    if isinstance(x, np.ndarray):
        return not _is_text(x)
    return not isinstance(x, str | bytes | dict | type | np.dtype) and x is not None and not callable(x)


def _is_axes(x: Any) -> bool:
    return x is None or (all(map(_is_integer, x)) if _is_list(x) else _is_integer(x))


def _is_text(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind not in "biufc"


_PLAIN: dict[str, Kind] = {
    "None": ("None", lambda x: x is None, _any),
    "bool": ("a bool", _is_bool, _any),
    "int": ("an integer", _is_integer, lambda x: not isinstance(x, float)),
    "float": ("a number", _is_number, _any),
    "str": ("a string", lambda x: isinstance(x, str), _any),
    "Tensor": ("a tensor", lambda x: isinstance(x, Tensor), _any),
    "TensorLike": ("a tensor", _any, _is_tensor),
    "Window": ("a function of (length, dtype=...)", callable, _any),
    "AxisLike": ("an integer, a list of integers or None", _any, _is_axes),
}
