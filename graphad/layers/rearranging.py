"""Layers without weights that move or repeat what is at each place: padding, larger images, other orders of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import members
from graphad.core.tensor import Tensor
from graphad.layers.base import TensorLayer
from graphad.layers.sizes import format_of, sizes_of, whole
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape
from graphad.ops.array.tiling import repeat
from graphad.ops.array.transpose import transpose
from graphad.ops.image.resizing import resize


class Permute(TensorLayer):
    """Another order of the axes behind that of the batch.

    Args:
      dims: The axes in their new order, counted from 1.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): an axis is missing or named twice; when it is called, an input of another rank.
    Example:
      >>> keras.layers.Permute((2, 1))(ones([5, 3, 4])).shape
      TensorShape([5, 4, 3])
    """

    def __init__(self, dims: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise InvalidArgumentError(
                f"Permute: dims is {self.dims}; it must name each axis from 1 to {len(self.dims)} once."
            )

    def call(self, inputs: Tensor) -> Tensor:
        return transpose(inputs, [0, *self.dims])


class RepeatVector(TensorLayer):
    """[batch, features] to [batch, n, features], n times the same.

    Args:
      n: How often.
      options: Those of `Layer`.
    Raises: ArgumentTypeError (a TypeError): no integer; InvalidArgumentError (a ValueError), when it is called: the input is no
      matrix.
    Example:
      >>> keras.layers.RepeatVector(4)(ones([2, 3])).shape
      TensorShape([2, 4, 3])
    """

    def __init__(self, n: int, **options: Any) -> None:
        super().__init__(**options)
        n = whole(n)
        if not isinstance(n, int):
            raise ArgumentTypeError(f"RepeatVector: n must be an integer, got {n!r}.")
        self.n = n

    def call(self, inputs: Tensor) -> Tensor:
        if inputs.ndim not in (None, 2):
            raise InvalidArgumentError(
                f"RepeatVector: the input must be [batch, features], got shape {inputs.shape}."
            )
        return repeat(expand_dims(inputs, 1), self.n, 1)


def _edges_of(layer: str, padding: Any, rank: int) -> list[list[int]]:
    """What is added before and behind, along each axis: from a number, one for each axis, or two for each."""
    words = "give a number, or one or two for each axis"
    each = [padding] * rank if isinstance(padding, int) else members(layer, "padding", padding, words)
    if rank == 1 and len(each) == 2:
        each = [each]
    edges = [[x, x] if isinstance(x, int) else members(layer, "padding", x, words) for x in each]
    if len(edges) != rank or any(
        len(pair) != 2 or not all(isinstance(x, int) and x >= 0 for x in pair) for pair in edges
    ):
        several = "or two" if rank == 1 else f"{rank} of them, or {rank} pairs of them"
        raise InvalidArgumentError(
            f"{layer}: padding is {padding!r}; it must be an integer from 0, {several}."
        )
    return edges


class ZeroPadding1D(TensorLayer):
    """Zeros before and behind a sequence.

    Args:
      padding: How many, a number or two.
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, width + before + behind, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.ZeroPadding1D((1, 0))(ones([2, 3, 4])).shape
      TensorShape([2, 4, 4])
    """

    _rank = 1

    def __init__(self, padding: Any = 1, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.padding = _edges_of(name, padding, self._rank)
        self.data_format = format_of(name, data_format)

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, -1, None, self._rank + 2)
        none = [[0, 0]]
        is_last = self.data_format == "channels_last"
        return pad(inputs, none + self.padding + none if is_last else none * 2 + self.padding)


class ZeroPadding2D(ZeroPadding1D):
    """Zeros around an image.

    Args:
      padding: How many: a number, one for each axis, or two for each, ((top, bottom), (left, right)).
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, height + top + bottom, width + left + right, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.ZeroPadding2D(((1, 0), 2))(ones([2, 3, 3, 4])).shape
      TensorShape([2, 4, 7, 4])
    """

    _rank = 2


class UpSampling1D(TensorLayer):
    """Each element of a sequence several times.

    Args:
      size: How often.
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, size * width, channels].
    Raises: InvalidArgumentError (a ValueError): a size below 1; an input of lower rank.
    Example:
      >>> keras.layers.UpSampling1D(3)(ones([2, 3, 4])).shape
      TensorShape([2, 9, 4])
    """

    def __init__(self, size: int = 2, **options: Any) -> None:
        super().__init__(**options)
        (self.size,) = sizes_of("UpSampling1D", "size", size, 1)

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, -1, None, 3)
        return repeat(inputs, self.size, 1)


_METHODS = ("bicubic", "bilinear", "lanczos3", "lanczos5", "nearest")


class UpSampling2D(TensorLayer):
    """A larger image.

    Args:
      size: How many times as high and as wide, a number or two.
      data_format: "channels_last", the default, or "channels_first".
      interpolation: "nearest", which repeats pixels, or "bilinear", "bicubic", "lanczos3" or "lanczos5"; see `image.resize`.
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, size[0] * height, size[1] * width, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.UpSampling2D((2, 3))(ones([1, 2, 2, 4])).shape
      TensorShape([1, 4, 6, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int] = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.size = sizes_of("UpSampling2D", "size", size, 2)
        self.data_format = format_of("UpSampling2D", data_format)
        self.interpolation = interpolation.lower()
        if self.interpolation not in _METHODS:
            raise InvalidArgumentError(
                f"UpSampling2D: interpolation is {interpolation!r}; it must be one of {', '.join(_METHODS)}."
            )

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, -1, None, 4)
        is_last = self.data_format == "channels_last"
        if self.interpolation == "nearest":
            rows = 1 if is_last else 2
            return repeat(repeat(inputs, self.size[0], rows), self.size[1], rows + 1)
        x = inputs if is_last else transpose(inputs, [0, 2, 3, 1])
        sizes: Any = x.shape.as_list()[1:3]
        large = shape(x)[1:3] * list(self.size) if None in sizes else np.multiply(sizes, self.size)
        y: Tensor = resize(x, large, self.interpolation)
        return y if is_last else transpose(y, [0, 3, 1, 2])
