"""What ops say of sizes that only a run of native code finds; the compiler asks while it assumes sizes (`passes/assume.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from graphad.core.op import Op
    from graphad.core.spec import TensorSpec
    from graphad.core.tensor import Tensor


class FindsSizes:
    """The part of every op that is about such sizes.

    Class attributes:
      is_kept: Its node stays where nothing reads it: it finds a size, or checks one. Set for single ops, not for classes.
      is_prefix: What it computes from its attributes for a smaller size is the beginning of what it computes for a larger one.
      refers_to_sizes: What inputs give, where it refers to some, are sizes, of each of which any number from 0 has a meaning.
    """

    is_kept: ClassVar[bool] = False
    is_prefix: ClassVar[bool] = False
    refers_to_sizes: ClassVar[bool] = True

    def with_likely_sizes(self, difference: Callable[[int, int], Any]) -> Op:
        """The op with sizes that its inputs probably imply, which it checks. `difference`: of two inputs, None if not known."""
        return self  # type: ignore[return-value]

    def with_measured_sizes(self, inputs: Sequence[TensorSpec], symbol: Callable[..., Any]) -> Op:
        """The op with symbols for sizes that only the run finds; `symbol` gives one for how it is measured."""
        return self  # type: ignore[return-value]

    def measures(self, inputs: Sequence[TensorSpec]) -> Sequence[Any]:
        """How (symbol, most, step, low, high): the size of a slice; with step 0 of what the mask `low` takes."""
        return ()

    def measurable(self, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """An op and inputs with the same result, whose `with_measured_sizes` has symbols where that of this one has none; None if
        there is none, or it has them itself."""
        return None

    def with_counts(
        self, sized: Callable[[Tensor], Any], *inputs: Tensor
    ) -> tuple[Op, Sequence[Tensor]] | None:
        """An op and inputs with the same result, whose sizes are what `sized` says of integers that are inputs: numbers, symbols,
        or None. Called for inputs of definite shapes, if that of a result depends on values, and for ops with attributes that are
        such symbols already. None if there is no such op.
        """
        return None
