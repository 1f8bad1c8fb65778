"""The outcomes of a native plan's steps: results of host steps in the memory order that later steps read, and errors that name
the op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler import rows
from graphad.compiler.plan.calls import same
from graphad.core.dtypes import DType
from graphad.core.errors import InternalError, InvalidArgumentError
from graphad.core.frames import note_traced_line
from graphad.core.light import NamedTuple
from graphad.core.op import Op
from graphad.core.rule_errors import explained


def fit(y: object, shape: tuple[int, ...], dtype: DType) -> Any:
    """`same` for a result that a native step reads, which needs C order or a NumPy scalar."""
    same(y, shape, dtype)
    if shape and (type(y) is not np.ndarray or not y.flags.c_contiguous or not y.flags.aligned):
        return np.array(y, order="C")
    return y


def failed(status: int, misfits: frozenset[int] = frozenset()) -> None:
    """Handle a status other than 0: None if it is one of `misfits`, so that the call is made again; else raise an error."""
    if status in misfits:
        return
    if status == rows.WRONG_STEPS:
        raise InvalidArgumentError(
            "loop: the limit differs from the number of steps that the loop was made for."
        )
    if status == rows.TOO_LONG:
        raise InvalidArgumentError(
            "loop: it would run more steps than the stacks that it iterates over have slices."
        )
    raise InternalError(f"plan: a native step returned status {status}")


class Asked(NamedTuple):
    """A host step for error messages: its op, the expression of its inputs, its traced line."""

    op: Op
    inputs: str
    line: str | None


def blame(
    error: Exception, hosts: Sequence[Asked], at: int, names: dict[str, Any], known: dict[str, Any]
) -> Exception:
    """The error of a host step, with the same message as in every tier and its traced line."""
    known.pop("error", None)  # a frame may keep these variables, and the error's traceback that frame
    if at < 0:
        return error
    op, inputs, line = hosts[at]
    error = explained(error, op, eval(inputs, names, known))
    note_traced_line(error, line)
    return error
