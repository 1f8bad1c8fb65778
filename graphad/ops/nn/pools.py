"""The public pools; all are made of the ops in `pooling`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.nn import arguments
from graphad.ops.nn.pooling import AvgPool, MaxPool


def _pool(
    op: str, kind: Any, x: Any, rank: int, window: Any, strides: Any, padding: Any, dilations: Any = None
) -> Any:
    pads = arguments.padding_of(op, padding, rank, kind is MaxPool)
    window = arguments.per_axis(op, "ksize", window, rank)
    steps, apart = (
        arguments.per_axis(op, name, value, rank)
        for name, value in (("strides", strides), ("dilations", dilations))
    )
    if not isinstance(pads, str) and any(max(side) >= size for side, size in zip(pads, window, strict=True)):
        raise InvalidArgumentError(
            f"{op}: padding {padding!r} is not smaller than the window {window}; a window must meet the input."
        )
    return bind(kind(window, steps, pads, apart), x)


def max_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of a real tensor [batch, width, channels].

    Args:
      ksize, strides: One number, or three with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [left, right], [0, 0]]; padding is smaller than any number.
      data_format: "NWC".
    """
    arguments.require_format("max_pool1d", data_format, 1)
    return _pool("max_pool1d", MaxPool, lift(input), 1, ksize, strides, padding)  # type: ignore[no-any-return]


def max_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of a real tensor [batch, height, width, channels].

    Args:
      ksize, strides: One number, two, or four with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]; padding is smaller than any number.
      data_format: "NHWC".
    """
    arguments.require_format("max_pool2d", data_format, 2)
    return _pool("max_pool2d", MaxPool, lift(input), 2, ksize, strides, padding)  # type: ignore[no-any-return]


def max_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of a real tensor [batch, depth, height, width, channels].

    Args:
      ksize, strides: One number, three, or five with 1 at both ends.
      padding: "SAME", "VALID", or five pairs (before, after), the first and the last of zeros; padding is smaller than any
        number.
      data_format: "NDHWC".
    """
    arguments.require_format("max_pool3d", data_format, 3)
    return _pool("max_pool3d", MaxPool, lift(input), 3, ksize, strides, padding)  # type: ignore[no-any-return]


def avg_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, width, channels]; padding ("SAME" or "VALID") does not count."""
    arguments.require_format("avg_pool1d", data_format, 1)
    return _pool("avg_pool1d", AvgPool, lift(input), 1, ksize, strides, padding)  # type: ignore[no-any-return]


def avg_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, height, width, channels]; padding ("SAME" or "VALID") does not count."""
    arguments.require_format("avg_pool2d", data_format, 2)
    return _pool("avg_pool2d", AvgPool, lift(input), 2, ksize, strides, padding)  # type: ignore[no-any-return]


def avg_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, depth, height, width, channels]; padding ("SAME" or "VALID") does not
    count.
    """
    arguments.require_format("avg_pool3d", data_format, 3)
    return _pool("avg_pool3d", AvgPool, lift(input), 3, ksize, strides, padding)  # type: ignore[no-any-return]


def max_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool1d`, `max_pool2d` or `max_pool3d`; the rank of `input`, which must be known, says which."""
    return _by_rank("max_pool", MaxPool, lift(input), ksize, strides, padding, data_format)  # type: ignore[no-any-return]


def avg_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool1d`, `avg_pool2d` or `avg_pool3d`; the rank of `input`, which must be known, says which."""
    return _by_rank("avg_pool", AvgPool, lift(input), ksize, strides, padding, data_format)  # type: ignore[no-any-return]


def _by_rank(
    op: str, kind: Any, x: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None
) -> Any:
    if x.ndim is None:
        raise InvalidArgumentError(f"{op}: the rank of input must be known; use {op}1d, {op}2d or {op}3d.")
    rank = x.ndim - 2
    arguments.require_axes(op, x, rank)
    arguments.require_format(op, data_format, rank)
    return _pool(op, kind, x, rank, ksize, strides, padding)


def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] = "VALID",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest element or the mean of each window, along one axis to three.

    Args:
      input: Tensor [batch, width, channels], [batch, height, width, channels] or [batch, depth, height, width, channels].
      window_shape: One number for each of the axes in between; their number says how many there are.
      pooling_type: "MAX" or "AVG".
      strides: Likewise, or one number for all; 1 by default.
      padding: "SAME", "VALID", or for "MAX" pairs of numbers for all axes, as for `max_pool2d`.
      data_format: "NWC", "NHWC" or "NDHWC".
      dilations: How far apart the elements of a window are, like `strides`.
    Raises: InvalidArgumentError: the window has no place in the input, or something is not available.
    """
    kind = {"MAX": MaxPool, "AVG": AvgPool}.get(pooling_type)
    if kind is None:
        raise InvalidArgumentError(f"pool: pooling_type {pooling_type!r} is neither 'MAX' nor 'AVG'.")
    x, rank = lift(input), arguments.axes_of("pool", "window_shape", window_shape)
    arguments.require_axes("pool", x, rank)
    arguments.require_format("pool", data_format, rank)
    return _pool("pool", kind, x, rank, window_shape, strides, padding, dilations)  # type: ignore[no-any-return]
