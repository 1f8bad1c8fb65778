"""Rounding to as many values as an integer of few bits has, with the derivative of what is not rounded.

The bounds are moved so that 0 is one of the values: Jacob et al., Quantization and training of neural networks for efficient
integer-arithmetic-only inference, 2018. Derivatives pass through the rounding: an element between the moved bounds has
derivative 1, one beyond a bound gives its derivative to that bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.passing import stop_gradient
from graphad.ops.math.arithmetic import divide_no_nan
from graphad.ops.math.compare import equal, greater, less, logical_and, logical_not, logical_or
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.math.rounding import floor
from graphad.ops.math.select import clip_by_value, maximum, minimum, where


class FakeQuantWithMinMaxVarsGradient(NamedTuple):
    """The derivatives by the values and by both bounds."""

    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor


class _Grid:
    """The values to which is rounded, and where elements are beside them."""

    def __init__(
        self,
        op: str,
        x: TensorLike,
        low: TensorLike,
        high: TensorLike,
        num_bits: int,
        narrow_range: bool,
        rank: int,
    ) -> None:
        self.x = require_kind(op, lift(x), FLOATING, "inputs")
        self.low, self.high = (lift_like(op, bound, self.x.dtype) for bound in (low, high))
        for name, bound in (("min", self.low), ("max", self.high)):
            if bound.ndim not in (rank, None):
                kind = "one number for each channel, the last axis of inputs" if rank else "a scalar"
                raise InvalidArgumentError(f"{op}: {name} has shape {format_dims(bound.dims)}; it is {kind}.")
        if isinstance(num_bits, bool) or not isinstance(num_bits, int) or not 2 <= num_bits <= 16:
            raise InvalidArgumentError(f"{op}: num_bits is {num_bits!r}; it is from 2 to 16.")
        first, last = float(bool(narrow_range)), float(2**num_bits - 1)
        low, high = stop_gradient(self.low), stop_gradient(self.high)
        self.scale = (high - low) / (last - first)
        zero = floor(clip_by_value(first - divide_no_nan(low, self.scale), first, last) + 0.5)
        self.least, self.most = (first - zero) * self.scale, (last - zero) * self.scale
        # With bounds that are both 0 nothing is below or above them: everything becomes 0.
        is_open = logical_not(logical_and(equal(low, 0.0), equal(high, 0.0)))
        self.is_below = logical_and(less(self.x, self.least), is_open)
        self.is_above = logical_and(greater(self.x, self.most), is_open)

    def rounded(self) -> Any:
        """The elements on the grid; derivatives pass through."""
        x = stop_gradient(self.x)
        per = divide_no_nan(1.0, self.scale)
        shifted = maximum(minimum(x, self.most), self.least) - self.least
        y = floor(shifted * per - floor(0.5 - self.least * per) + 0.5) * self.scale
        outside = logical_or(self.is_below, self.is_above)
        for place, given in (
            (logical_not(outside), self.x),
            (self.is_below, self.low),
            (self.is_above, self.high),
        ):
            y = y + where(place, given - stop_gradient(given), 0.0)
        return y

    def pulled_back(self, g: TensorLike) -> FakeQuantWithMinMaxVarsGradient:
        """The cotangents of the inputs and the bounds."""
        zeros = zeros_like(g)
        axes = list(range((self.x.ndim or 0) - 1)) if self.low.ndim else None
        outside = logical_or(self.is_below, self.is_above)
        beyond = [reduce_sum(where(place, g, zeros), axis=axes) for place in (self.is_below, self.is_above)]
        return FakeQuantWithMinMaxVarsGradient(where(outside, zeros, g), *beyond)


def _of_numbers(op: str, x: TensorLike, low: float, high: float, num_bits: int, narrow_range: bool) -> _Grid:
    if not low < high:
        raise InvalidArgumentError(f"{op}: min is {low} and max is {high}; min must be below max.")
    return _Grid(op, x, float(low), float(high), num_bits, narrow_range, 0)


@blaming
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The inputs rounded to 2^num_bits values between two numbers.

    Args:
      inputs: Tensor of any shape, a float dtype.
      min, max: The bounds, which are moved so that 0 is a value.
      num_bits: From 2 to 16.
      narrow_range: One value fewer, so that there are as many below the middle as above it.
    Returns: Tensor of that shape and dtype. Its derivative is 1 between the bounds and 0 outside.
    Raises: DTypeError (a TypeError): no floats. InvalidArgumentError (a ValueError): another number of bits, or min >= max.
    Example:
      >>> quantization.fake_quant_with_min_max_args([-7.0, 0.1, 2.0], num_bits=3).numpy().tolist()
      [-6.857142925262451, 0.0, 1.7142857313156128]
    """
    return _of_numbers(  # type: ignore[no-any-return]
        "fake_quant_with_min_max_args", inputs, min, max, num_bits, narrow_range
    ).rounded()


@blaming
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The derivative by the inputs of `fake_quant_with_min_max_args`: `gradients` between the bounds, 0 outside.

    Args:
      gradients: Tensor of the shape and dtype of the inputs.
      inputs, min, max, num_bits, narrow_range: As for that function.
    Returns: Tensor of that shape and dtype.
    Raises: As that function.
    """
    grid = _of_numbers("fake_quant_with_min_max_args_gradient", inputs, min, max, num_bits, narrow_range)
    return grid.pulled_back(lift(gradients)).backprops_wrt_input


@blaming
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The inputs rounded to 2^num_bits values between two scalars, which have derivatives.

    Args:
      inputs: Tensor of any shape, a float dtype.
      min, max: Scalars of that dtype: the bounds, which are moved so that 0 is a value. Both 0 make everything 0.
      num_bits, narrow_range: As for `fake_quant_with_min_max_args`.
    Returns: Tensor of the shape and dtype of `inputs`. An element beyond a bound gives its derivative to that bound.
    Raises: DTypeError (a TypeError): no floats. InvalidArgumentError (a ValueError): another number of bits, bounds that are no
      scalars.
    """
    return _Grid("fake_quant_with_min_max_vars", inputs, min, max, num_bits, narrow_range, 0).rounded()  # type: ignore[no-any-return]


@blaming
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantWithMinMaxVarsGradient:
    """The derivatives of `fake_quant_with_min_max_vars`.

    Args:
      gradients: Tensor of the shape and dtype of the inputs.
      inputs, min, max, num_bits, narrow_range: As for that function.
    Returns: A named tuple of those by the inputs, by `min` and by `max`, each of the shape of its argument.
    Raises: As that function.
    """
    grid = _Grid("fake_quant_with_min_max_vars_gradient", inputs, min, max, num_bits, narrow_range, 0)
    return grid.pulled_back(lift(gradients))


@blaming
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The same as `fake_quant_with_min_max_vars`, with bounds of their own for each channel.

    Args:
      inputs: Tensor [..., channels], a float dtype.
      min, max: Tensors [channels] of that dtype.
      num_bits, narrow_range: As for `fake_quant_with_min_max_args`.
    Returns: Tensor of the shape and dtype of `inputs`.
    Raises: As that function.
    """
    op = "fake_quant_with_min_max_vars_per_channel"
    return _Grid(op, inputs, min, max, num_bits, narrow_range, 1).rounded()  # type: ignore[no-any-return]


@blaming
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantWithMinMaxVarsGradient:
    """The derivatives of `fake_quant_with_min_max_vars_per_channel`.

    Args:
      gradients: Tensor of the shape and dtype of the inputs, of known rank.
      inputs, min, max, num_bits, narrow_range: As for that function.
    Returns: A named tuple of those by the inputs, by `min` and by `max`, each of the shape of its argument.
    Raises: As that function.
    """
    op = "fake_quant_with_min_max_vars_per_channel_gradient"
    return _Grid(op, inputs, min, max, num_bits, narrow_range, 1).pulled_back(lift(gradients))
