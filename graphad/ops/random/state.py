"""The state of a generator, and what becomes of a generator that is made while a function is traced.

A function may keep a generator that its first call makes, `if self.rng is None: self.rng = ...`, and draw on from it later; and
it may make one in each call, or in each step of a loop, whose numbers then begin anew every time. Which of the two is meant is
seen in a second trace: what is made there once more is made in each call, and the graph sets its state at that place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes, forks
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import DType
from graphad.core.levels import trace_in_progress
from graphad.core.shapes import TensorShape
from graphad.core.spec import HandleSpec
from graphad.core.tensor import Handle, Tensor
from graphad.ops.random.draw import SET_STATE
from graphad.ops.state.variables import READ


class State(Handle):
    """The state of a generator: [2] int64, a seed and the number of keys taken so far."""

    __slots__ = ()
    within = True

    def __init__(self, data: object, spec: HandleSpec, trainable: bool) -> None:
        super().__init__(data, spec, trainable)
        self.guard = forks.rlock()  # never that of variables, which a whole call may hold

    @classmethod
    def of(cls, data: np.ndarray) -> State:
        """A state that lasts, wherever it is made."""
        return cls(data, HandleSpec.of((2,), dtypes.int64), False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (np.array(self.data), self._spec, self._trainable)

    @property
    def shape(self) -> TensorShape:
        return TensorShape((2,))

    @property
    def dtype(self) -> DType:
        return dtypes.int64

    def numpy(self) -> np.ndarray:
        """A copy of the current state; `Generator.from_state` and `Generator.reset` accept it."""
        return np.array(self.data)

    def read_value(self) -> Tensor:
        """The state now, as a tensor."""
        return bind(READ, self)

    value = read_value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.data, dtype)

    def __repr__(self) -> str:
        return f"<state of a generator, shape=(2,), dtype=int64, numpy={self.data!r}>"


def made(data: np.ndarray, value: Tensor | None = None) -> State:
    """The state of a generator that the user's code makes here.

    Args:
      data: What it begins with.
      value: The same as a tensor, where a trace knows no number.
    """
    state = State.of(data)
    level = trace_in_progress()
    while level is not None and getattr(level, "creation", None) is None:
        level = level.below
    if level is not None and not level.creation.sees_again():
        bind(SET_STATE, state, lift(data) if value is None else value)
    return state
