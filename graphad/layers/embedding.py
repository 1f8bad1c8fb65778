"""`Embedding`: rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Tensor
from graphad.layers.base import TensorLayer
from graphad.layers.sizes import whole
from graphad.ops.array.gather import gather
from graphad.ops.math.cast import cast


class Embedding(TensorLayer):
    """The rows of a trained table under integer numbers.

    Args:
      input_dim: How many rows there are.
      output_dim: Their size.
      embeddings_initializer: A name or a function of (shape, dtype).
      mask_zero: False; masks are not part of graphad.
      weights: The table itself, or a list of it, to begin with.
      options: Those of `Layer`.
    Call: Numbers [...] from 0 to input_dim - 1 give [..., output_dim]; floats are cut off. Weights: embeddings [input_dim,
      output_dim]; its gradient is one of rows.
    Raises: InvalidArgumentError (a ValueError): a size is not positive, a mask, a table of another shape; OutOfRangeError or the
      like of `gather`: a number out of range.
    Example:
      >>> keras.layers.Embedding(10, 3)([[1, 2], [2, 0]]).shape
      TensorShape([2, 2, 3])
    """

    _weights_told: ClassVar[dict[str, str]] = {"embeddings": "embeddings"}

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Callable[..., Any] | str = "uniform",
        *,
        mask_zero: bool = False,
        weights: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if mask_zero:
            raise InvalidArgumentError(
                "Embedding: mask_zero is True; graphad's layers hand no masks on. Leave it out, and weight what follows with "
                "tf.not_equal(numbers, 0)."
            )
        input_dim, output_dim = whole(input_dim), whole(output_dim)
        for name, size in (("input_dim", input_dim), ("output_dim", output_dim)):
            if not isinstance(size, int) or size <= 0:
                raise InvalidArgumentError(f"Embedding: {name} is {size!r}; it must be a positive integer.")
        self.input_dim = input_dim
        self.output_dim = output_dim
        self._graphad_initializers = embeddings_initializer
        if weights is not None:
            self.build(TensorShape(None))
            self.built = True
            self.set_weights(weights if isinstance(weights, list | tuple) else [weights])

    def build(self, input_shape: TensorShape | None = None) -> None:
        self.embeddings = self.add_weight(
            (self.input_dim, self.output_dim), self._graphad_initializers, name="embeddings"
        )

    def _cast(self, inputs: TensorLike) -> Any:
        numbers = lift(inputs)
        return numbers if numbers.dtype.is_integer else cast(numbers, dtypes.int32)

    def call(self, inputs: Tensor) -> Tensor:
        return gather(self.embeddings, inputs)
