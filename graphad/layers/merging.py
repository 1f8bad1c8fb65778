"""Layers, and functions, that make one tensor of several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import TensorLike
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers.base import Layer
from graphad.layers.sizes import whole
from graphad.ops import math
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import expand_dims


def _several(layer: str, inputs: Any) -> list[Tensor]:
    if not isinstance(inputs, list | tuple) or not inputs:
        given = "an empty list" if isinstance(inputs, list | tuple) else f"one of shape {inputs.shape}"
        raise InvalidArgumentError(f"{layer}: it is called on a list of tensors, got {given}.")
    return list(inputs)


def _of_one_rank(xs: list[Tensor]) -> list[Tensor]:
    """The tensors with axes of size 1 behind the batch, as many as the one of the highest rank has more."""
    ranks = [x.ndim for x in xs if x.ndim is not None]
    if len(ranks) < len(xs):
        return xs
    lacking = [max(ranks) - rank for rank in ranks]
    return [
        functools.reduce(lambda x, _: expand_dims(x, 1), range(n), x)
        for n, x in zip(lacking, xs, strict=True)
    ]


class _Merge(Layer):
    """One result of the elements at each place. Subclasses say of two, `_join`; where the ranks differ, axes of size 1 come
    behind the batch."""

    _join: Callable[..., Any]

    if TYPE_CHECKING:

        def __call__(self, inputs: Sequence[TensorLike], *args: Any, **kwargs: Any) -> Tensor: ...

    def call(self, inputs: Any) -> Tensor:
        y: Tensor = functools.reduce(type(self)._join, _of_one_rank(_several(type(self).__name__, inputs)))
        return y


class Add(_Merge):
    """The sum of several tensors.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of tensors [batch, ...] whose shapes broadcast gives one of them.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Add()([ones([2]), ones([2])]).numpy()
      array([2., 2.], dtype=float32)
    """

    _join = staticmethod(math.add)


class Subtract(_Merge):
    """The difference of two tensors.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of two tensors [batch, ...] whose shapes broadcast gives the first less the second.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list of two, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Subtract()([ones([2]), ones([2])]).numpy()
      array([0., 0.], dtype=float32)
    """

    _join = staticmethod(math.subtract)

    def call(self, inputs: Any) -> Tensor:
        if (count := len(_several("Subtract", inputs))) != 2:
            raise InvalidArgumentError(f"Subtract: it is called on two tensors, got {count}.")
        return super().call(inputs)


class Multiply(_Merge):
    """The product of several tensors, element by element.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of tensors [batch, ...] whose shapes broadcast gives one of them.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Multiply()([[2.0] * ones([2]), ones([2])]).numpy()
      array([2., 2.], dtype=float32)
    """

    _join = staticmethod(math.multiply)


class Average(_Merge):
    """The mean of several tensors.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of tensors [batch, ...] whose shapes broadcast gives one of them.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Average()([zeros([2]), ones([2])]).numpy()
      array([0.5, 0.5], dtype=float32)
    """

    _join = staticmethod(math.add)

    def call(self, inputs: Any) -> Tensor:
        return super().call(inputs) / len(inputs)


class Maximum(_Merge):
    """The largest of several tensors at each place.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of tensors [batch, ...] whose shapes broadcast gives one of them.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Maximum()([zeros([2]), ones([2])]).numpy()
      array([1., 1.], dtype=float32)
    """

    _join = staticmethod(math.maximum)


class Minimum(_Merge):
    """The smallest of several tensors at each place.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Call: A list of tensors [batch, ...] whose shapes broadcast gives one of them.
    Raises: InvalidArgumentError (a ValueError), when it is called: no list, or shapes that do not broadcast.
    Example:
      >>> keras.layers.Minimum()([zeros([2]), ones([2])]).numpy()
      array([0., 0.], dtype=float32)
    """

    _join = staticmethod(math.minimum)


class Concatenate(Layer):
    """Several tensors behind each other.

    Args:
      axis: Along which axis, not that of the batch.
      options: Those of `Layer`.
    Call: A list of tensors [batch, ...] of the same sizes along all other axes gives one of them.
    Raises: ArgumentTypeError (a TypeError): no integer; InvalidArgumentError (a ValueError): the axis of the batch; when it is
      called: no list, or other sizes that differ.
    Example:
      >>> keras.layers.Concatenate()([ones([2, 3]), ones([2, 4])]).shape
      TensorShape([2, 7])
    """

    def __init__(self, axis: int = -1, **options: Any) -> None:
        super().__init__(**options)
        axis = whole(axis)
        if not isinstance(axis, int):
            raise ArgumentTypeError(f"Concatenate: axis must be an integer, got {axis!r}.")
        if axis == 0:
            raise InvalidArgumentError(
                "Concatenate: axis 0 is that of the batch; use another one, or tf.concat."
            )
        self.axis = axis

    if TYPE_CHECKING:

        def __call__(self, inputs: Sequence[TensorLike], *args: Any, **kwargs: Any) -> Tensor: ...

    def call(self, inputs: Any) -> Tensor:
        return concat(_several("Concatenate", inputs), self.axis)


def add(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The sum of several tensors; see `Add`.

    Args:
      inputs: Tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list, or shapes that do not broadcast.
    """
    return Add(**options)(inputs)


def subtract(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The difference of two tensors; see `Subtract`.

    Args:
      inputs: Two tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list of two, or shapes that do not broadcast.
    """
    return Subtract(**options)(inputs)


def multiply(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The product of several tensors, element by element; see `Multiply`.

    Args:
      inputs: Tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list, or shapes that do not broadcast.
    """
    return Multiply(**options)(inputs)


def average(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The mean of several tensors; see `Average`.

    Args:
      inputs: Tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list, or shapes that do not broadcast.
    """
    return Average(**options)(inputs)


def maximum(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The largest of several tensors at each place; see `Maximum`.

    Args:
      inputs: Tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list, or shapes that do not broadcast.
    """
    return Maximum(**options)(inputs)


def minimum(inputs: Sequence[TensorLike], **options: Any) -> Tensor:
    """The smallest of several tensors at each place; see `Minimum`.

    Args:
      inputs: Tensors [batch, ...] whose shapes broadcast.
      options: Those of `Layer`.
    Returns: Tensor of the shape to which they broadcast, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): no list, or shapes that do not broadcast.
    """
    return Minimum(**options)(inputs)


def concatenate(inputs: Sequence[TensorLike], axis: int = -1, **options: Any) -> Tensor:
    """Several tensors behind each other; see `Concatenate`.

    Args:
      inputs: Tensors [batch, ...] of the same sizes along all other axes.
      axis: Along which axis, not that of the batch.
      options: Those of `Layer`.
    Returns: Tensor whose size along the axis is the sum of theirs, of their dtype; floats are cast to that of the layer.
    Raises: InvalidArgumentError (a ValueError): the axis of the batch; no list, or other sizes that differ.
    """
    return Concatenate(axis, **options)(inputs)
