"""Masks of dropout in cells of recurrent networks: drawn at the first step of a sequence and the same in those that follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import current, trace_in_progress
from graphad.core.tensor import EagerTensor, Tensor
from graphad.layers.base import Layer
from graphad.ops.array.create import ones_like
from graphad.ops.array.join import concat, split
from graphad.ops.linalg import matmul
from graphad.ops.nn import dropout as drawn


class DroppingCell(Layer):
    """What cells with dropout share.

    A mask drawn while a function is traced belongs to that trace, another trace or eager code draws its own; one for a batch of
    another shape is drawn anew. Masks drawn in the body of a loop are drawn in each step: ask for them before the loop.
    """

    _masks_per_input = 1  # with `recurrent_dropout`: one for each gate

    def _set_dropout(self, dropout: float, recurrent_dropout: float, seed: int | None) -> None:
        for name, rate in (("dropout", dropout), ("recurrent_dropout", recurrent_dropout)):
            if not isinstance(rate, int | float):
                raise InvalidArgumentError(f"{type(self).__name__}: {name} is {rate!r}; it must be a number.")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise InvalidArgumentError(
                f"{type(self).__name__}: seed is {seed!r}; it must be an integer or None."
            )
        self.dropout = min(1.0, max(0.0, float(dropout)))
        self.recurrent_dropout = min(1.0, max(0.0, float(recurrent_dropout)))
        self.seed = seed
        self._graphad_masks: dict[str, tuple[Any, list[Tensor]]] = {}

    def get_dropout_mask(self, step_input: Tensor) -> Any:
        """What steps in training multiply the input by: a tensor, or a list of one for each gate; None without dropout."""
        return self._mask("dropout", step_input)

    def get_recurrent_dropout_mask(self, step_input: Tensor) -> Any:
        """The same for the state."""
        return self._mask("recurrent_dropout", step_input)

    def reset_dropout_mask(self) -> None:
        """Forget the mask of the input, so that the next step in training draws another one."""
        self._graphad_masks.pop("dropout", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Forget the mask of the state, so that the next step in training draws another one."""
        self._graphad_masks.pop("recurrent_dropout", None)

    def _mask(self, which: str, x: Tensor) -> Any:
        rate = getattr(self, which)
        if not rate:
            return None
        level, masks = self._graphad_masks.get(which, (None, []))
        if not masks or masks[0].shape.as_list() != x.shape.as_list() or not _is_here(level, masks[0]):
            count = self._masks_per_input if self.recurrent_dropout else 1
            masks = [drawn(ones_like(x), rate, seed=self.seed) for _ in range(count)]
            self._graphad_masks[which] = (current(), masks)
        return masks if len(masks) > 1 else masks[0]

    def _dropped(self, which: str, x: Tensor, training: bool | None) -> Any:
        """The input or the state of a step, times its mask: a tensor, or one for each gate."""
        if not training or not 0 < getattr(self, which) < 1:
            return x
        mask = self._mask(which, x)
        return [x * part for part in mask] if isinstance(mask, list) else x * mask


def product(x: Any, kernel: Any) -> Tensor:
    """x @ kernel, where x may be a list with a tensor for each gate, whose kernels stand side by side."""
    if not isinstance(x, list):
        return matmul(x, kernel)
    return concat([matmul(part, k) for part, k in zip(x, split(kernel, len(x), -1), strict=True)], -1)


def _is_here(made_at: Any, mask: Tensor) -> bool:
    """Whether a mask is of the call that is here: of eager code in eager code, else of a level that is still entered."""
    if type(mask) is EagerTensor and not trace_in_progress():
        return True
    level = current()
    while level is not None:
        if level is made_at:
            return True
        level = level.below
    return False
