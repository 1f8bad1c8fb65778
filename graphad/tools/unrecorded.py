"""Summaries of a training run where nobody records them: each call of `tf.summary` does nothing and returns False.

Programs call `summary.scalar` in a training step whether there is a writer or not. Writing event files is left to other
packages, so here there never is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.names import name_scope
from graphad.core.tensor import Tensor

_step: list[TensorLike | None] = [None]


def _unrecorded() -> Tensor:
    return lift(False)


def scalar(
    name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None
) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      data: What would be recorded.
      step: The step, an integer; not used.
      description: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def histogram(
    name: str,
    data: TensorLike,
    step: TensorLike | None = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      data: What would be recorded.
      step: The step, an integer; not used.
      buckets: Not used.
      description: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def image(
    name: str,
    data: TensorLike,
    step: TensorLike | None = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      data: What would be recorded.
      step: The step, an integer; not used.
      max_outputs: Not used.
      description: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def audio(
    name: str,
    data: TensorLike,
    sample_rate: int,
    step: TensorLike | None = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      data: What would be recorded.
      sample_rate: Not used.
      step: The step, an integer; not used.
      max_outputs: Not used.
      encoding: Not used.
      description: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def text(name: str, data: object, step: TensorLike | None = None, description: str | None = None) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      data: What would be recorded.
      step: The step, an integer; not used.
      description: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def write(
    tag: str, tensor: object, step: TensorLike | None = None, metadata: object = None, name: str | None = None
) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      tag: A name.
      tensor: What would be recorded.
      step: The step, an integer; not used.
      metadata: Not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def write_raw_pb(tensor: object, step: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Nothing, for there is no writer.

    Args:
      tensor: What would be recorded.
      step: The step, an integer; not used.
    Returns: A bool tensor, the scalar False.
    Raises: Nothing.
    """
    return _unrecorded()


def should_record_summaries() -> Tensor:
    """Whether summaries are recorded: they are not, for there is no writer.

    Returns: A bool tensor, the scalar False.
    """
    return _unrecorded()


@contextmanager
def record_if(condition: bool | Tensor | Callable[[], Any]) -> Iterator[None]:
    """A block in which summaries would be recorded if the condition holds; it is not asked, for there is no writer.

    Args:
      condition: A bool, a scalar bool tensor or a function of no arguments; not asked.
    Returns: A block.
    Raises: Nothing.
    """
    yield


@contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: object = None
) -> Iterator[tuple[str, str]]:
    """A name scope for the summaries in it. As a block it gives the tag, which has the outer scopes, and the scope.

    Args:
      default_name: The name if the other is empty.
      values: Not used.
    Returns: A block.
    Raises: Nothing.
    """
    with name_scope(name or default_name) as scope:
        yield scope.rstrip("/"), scope


def set_step(step: TensorLike | None) -> None:
    """What `get_step` gives from now on.

    Args:
      step: An integer, a variable of shape () or None.
    Raises: Nothing.
    """
    _step[0] = step


def get_step() -> TensorLike | None:
    """What `set_step` was given last, None before.

    Returns: An integer, a variable of shape () or None.
    """
    return _step[0]


class SummaryWriter:
    """A writer that records nothing; `create_noop_writer` makes one."""

    @contextmanager
    def as_default(self, step: TensorLike | None = None) -> Iterator[SummaryWriter]:
        """A block in which it is the writer; `get_step` is `step` there, if one is given."""
        outer = get_step()
        if step is not None:
            set_step(step)
        try:
            yield self
        finally:
            if step is not None:
                set_step(outer)

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """It is the writer from now on; `get_step` is `step`, if one is given."""
        if step is not None:
            set_step(step)

    def init(self) -> None:
        """Nothing."""

    def flush(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def create_noop_writer() -> SummaryWriter:
    """A writer that records nothing.

    Returns: A `SummaryWriter`.
    """
    return SummaryWriter()


def flush(writer: object = None, name: str | None = None) -> None:
    """Nothing, for nothing is waiting to be written.

    Args:
      writer: Not used.
    Raises: Nothing.
    """
