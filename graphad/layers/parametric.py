"""`PReLU`: a rectifier whose slope below zero is learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, normalize_axis
from graphad.core.tensor import Tensor
from graphad.layers.base import TensorLayer
from graphad.layers.sizes import axes_of
from graphad.ops.nn import relu


class PReLU(TensorLayer):
    """x where it is positive, else alpha * x with a weight alpha for each element of a sample, or for a part of its axes.

    Args:
      alpha_initializer: Name or function of (shape, dtype).
      shared_axes: An axis or axes along which all elements have the same alpha, as [1, 2] for images with an alpha for each
        channel; not the axis of the batch, 0. None shares none.
      options: Those of `Layer`.
    Call: x [batch, ...] gives the same shape. `alpha` has the shape of a sample, with 1 for the axes that are shared.
    Raises: InvalidArgumentError (a ValueError): an axis is shared that the input has not, or that of the batch; a size that is
      not shared is unknown when the layer is built, or changed.
    Example:
      >>> keras.layers.PReLU("ones")([[-1.0, 2.0]]).numpy()
      array([[-1.,  2.]], dtype=float32)
    """

    _weights_told: ClassVar[dict[str, str]] = {"alpha": "alpha"}

    def __init__(
        self,
        alpha_initializer: Callable[..., Any] | str = "zeros",
        shared_axes: int | Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.shared_axes = [] if shared_axes is None else axes_of(shared_axes)
        self._graphad_initializer = alpha_initializer

    def build(self, input_shape: TensorShape) -> None:
        rank = input_shape.rank
        if not rank:
            raise InvalidArgumentError(
                f"PReLU: the input {input_shape} must have an axis of the batch, and a known rank, to make the alpha of "
                f"{self.name!r}."
            )
        shared = {normalize_axis("PReLU: shared_axes", axis, rank) for axis in self.shared_axes}
        if 0 in shared:
            raise InvalidArgumentError("PReLU: axis 0 is that of the batch; it is always shared.")
        sizes = [1 if axis in shared else input_shape[axis] for axis in range(1, rank)]
        if None in sizes:
            raise InvalidArgumentError(
                f"PReLU: axis {sizes.index(None) + 1} of the input {input_shape} must have a known size to make the alpha of "
                f"{self.name!r}, or be one of shared_axes."
            )
        self.alpha = self.add_weight(sizes, self._graphad_initializer, name="alpha")

    def call(self, inputs: Tensor) -> Tensor:
        sizes = self.alpha.shape.as_list()
        for axis, size in enumerate(sizes, 1):
            # The last axis is checked in any case, since it determines the rank.
            if size != 1 or axis == len(sizes):
                self.require_axis(inputs.shape, axis, None if size == 1 else size, len(sizes) + 1)
        return relu(inputs) - self.alpha * relu(-inputs)
