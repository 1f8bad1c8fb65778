"""What ops declare about sizes that only a run of native code finds; `passes/assume.py` reads it while it assumes sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from graphad.core.dims import Relation
    from graphad.core.op import Op
    from graphad.core.spec import TensorSpec
    from graphad.core.tensor import Tensor


class Sized(Protocol):
    """What a rule asks for the sizes that the run finds."""

    def __call__(self, x: Tensor) -> Any:
        """The sizes that integers are: numbers, symbols; None where the run cannot compare them."""

    def share(self, total: Any, by: Any) -> Any:
        """The size total / by, of which the run checks that there is no rest; None if it cannot."""

    def require_equal(self, a: Any, b: Any) -> bool:
        """Let the run check that two sizes are equal, and take them for equal; False if it cannot."""


class FindsSizes:
    """The attributes and methods of an op about such sizes; a base class of `Op`.

    Class attributes:
      is_kept: Its node is kept although nothing reads it, since it finds or checks a size. Set for single ops, not for classes.
      is_prefix: Its result for a smaller size is the beginning of its result for a larger size.
      refers_to_sizes: The inputs that its attributes refer to are sizes, and every number from 0 on is valid.
      relates: The symbols of sizes that it compares: what has them comes behind it. Set for single ops, as is the next.
      proven: What a run knows once it has compared them, a `core.dims.Relation`.
    """

    is_kept: ClassVar[bool] = False
    relates: ClassVar[frozenset[str]] = frozenset()
    proven: ClassVar[Relation | None] = None
    is_prefix: ClassVar[bool] = False
    refers_to_sizes: ClassVar[bool] = True

    def with_likely_sizes(self, difference: Callable[[int, int], Any]) -> Op:
        """The op with the sizes that its inputs probably imply, and which it checks. `difference(i, j)` is that of two inputs,
        None if unknown."""
        return self  # type: ignore[return-value]

    def with_measured_sizes(self, inputs: Sequence[TensorSpec], symbol: Callable[..., Any]) -> Op:
        """The op with symbols for sizes that only the run finds; `symbol` gives one for how it is measured."""
        return self  # type: ignore[return-value]

    def measures(self, inputs: Sequence[TensorSpec]) -> Sequence[Any]:
        """How (symbol, most, step, low, high): the size of a slice; with step 0 of what the mask `low` takes."""
        return ()

    def measurable(self, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """An equivalent op and its inputs, for which `with_measured_sizes` returns symbols although it returns none for this op.
        None if there is none, or if this op has symbols itself."""
        return None

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """An equivalent op and its inputs, with the sizes that `sized` returns for integer inputs: a number, a symbol or None.
        Called for inputs of definite shapes if the shape of a result depends on values, and for ops with attributes that are such
        symbols already. None if there is no such op.
        """
        return None
