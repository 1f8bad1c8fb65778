"""Functions of neural networks that are short compositions of others."""

from __future__ import annotations

import math
from typing import Any

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, lift_pair
from graphad.core.dtypes import int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.refusal import refuse
from graphad.core.shapes import are_numbers, format_dims, is_definite, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.transpose import transpose
from graphad.ops.math.arithmetic import MUL, divide_no_nan, square
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import is_finite
from graphad.ops.math.exponential import exp, log, softplus
from graphad.ops.math.reduce import reduce_all, reduce_sum
from graphad.ops.math.select import where
from graphad.ops.nn.activation import relu
from graphad.ops.nn.arguments import channels_first, in_order, per_axis
from graphad.ops.nn.windows import layout
from graphad.ops.overwrite import overwrite
from graphad.ops.rules import require_same_shape


def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """[relu(x), relu(-x)] concatenated along `axis`.

    Args:
      features: Tensor [..., n, ...] of a real dtype.
      axis: The axis, the last by default.
    Returns: Tensor of the same dtype, twice as long along the axis.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Source: Shang, Sohn, Almeida and Lee, Understanding and improving convolutional neural networks via concatenated
      rectified linear units, 2016.
    Example:
      >>> nn.crelu([1.0, -2.0]).numpy()
      array([1., 0., 0., 2.], dtype=float32)
    """
    x = lift(features)
    return relu(concat([x, -x], axis))


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """-pos_weight * labels * log(sigmoid(x)) - (1 - labels) * log(1 - sigmoid(x)), elementwise, for large |x| too.

    Args:
      labels: Tensor of any shape, a float dtype: probabilities.
      logits: Tensor x of the same shape and dtype.
      pos_weight: A number or tensor that broadcasts: the weight of positive labels.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes differ; DTypeError (a TypeError): the dtypes differ.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """
    x, z = lift_pair("weighted_cross_entropy_with_logits", logits, labels)
    require_same_shape("weighted_cross_entropy_with_logits", z, x, ("labels", "logits"))
    weight = 1 + (lift_like("weighted_cross_entropy_with_logits", pos_weight, z.dtype) - 1) * z
    return (1 - z) * x + weight * softplus(-x)


@blaming
def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(c) - z * c, for the log of a rate c and counts z; optionally with Stirling's approximation of log(z!) for counts
    above 1.

    Args:
      targets: The counts z, a float tensor of any shape.
      log_input: The logarithms c, of the same shape and dtype.
      compute_full_loss: Whether to add Stirling's approximation.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes differ; DTypeError (a TypeError): the dtypes differ.
    Source: Cameron and Trivedi, Regression analysis of count data, 1998, with Stirling's approximation for the factorial.
    """
    c, z = lift_pair("log_poisson_loss", log_input, targets)
    require_same_shape("log_poisson_loss", z, c, ("targets", "log_input"))
    loss = exp(c) - z * c
    if not compute_full_loss:
        return loss
    small = (z >= lift(0, z.dtype)) & (z <= lift(1, z.dtype))
    inside = where(small, ones_like(z), z)
    half_log = 0.9189385332046727 + 0.5 * log(inside)  # log(2 pi) / 2
    return loss + where(small, 0 * z, z * log(inside) - z + half_log)


def in_top_k(targets: TensorLike, predictions: TensorLike, k: int, name: str | None = None) -> Tensor:
    """Whether fewer than k of a row's predictions [batch, classes] are above that of its target [batch]. A tie counts as being
    in the top k; a row with NaN or infinity does not, nor a target that is none of the classes.

    Args:
      targets: Integers [batch]: the classes.
      predictions: Tensor [batch, classes] of a float dtype.
      k: The number of top classes.
    Returns: Bool tensor [batch].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    rows, labels = lift(predictions), cast(targets, int64)
    is_class = (labels >= 0) & (labels < cast(shape(rows)[-1], int64))
    own = gather(rows, where(is_class, labels, 0)[:, None], batch_dims=1)
    above = reduce_sum(cast(rows > own, int32), axis=-1)
    try:
        inside = above < k
    except TypeError as cause:
        refuse(cause, "in_top_k", "k", k, "an integer is needed")
    return inside & is_class & reduce_all(is_finite(rows), axis=-1)


def _sizes(images: Tensor) -> list[Tensor] | tuple[Any, ...]:
    dims = images.dims
    return dims if is_definite(dims) else [shape(images)[k] for k in range(4)]


@blaming
def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Blocks of [batch, height, width, channels] moved to the channels: [batch, height / b, width / b, channels * b * b].

    Args:
      input: Tensor [batch, height, width, channels] of any dtype.
      block_size: b, at least 2.
      data_format: "NHWC", or "NCHW": channels follow the batch.
    Returns: Tensor [batch, height / b, width / b, channels * b * b] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): height or width is not a multiple of b, or `data_format` is unknown.
    """
    x, b = _image("space_to_depth", input, block_size, data_format)

    def into_channels(images: Tensor) -> Tensor:
        n, h, w, c = _sizes(images)
        y = reshape(images, [n, h // b, b, w // b, b, c])
        return reshape(transpose(y, [0, 1, 3, 2, 4, 5]), [n, h // b, w // b, c * b * b])

    return in_order("space_to_depth", into_channels, x, 2, data_format == "NCHW")


def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The inverse of `space_to_depth`: [batch, height, width, channels] gives [batch, height * b, width * b, channels / b / b].

    Args:
      input: Tensor [batch, height, width, channels] of any dtype.
      block_size: b, at least 2.
      data_format: "NHWC", or "NCHW": channels follow the batch.
    Returns: Tensor [batch, height * b, width * b, channels / b / b] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the channels are not a multiple of b * b, or `data_format` is unknown.
    """
    x, b = _image("depth_to_space", input, block_size, data_format)

    def out_of_channels(images: Tensor) -> Tensor:
        n, h, w, c = _sizes(images)
        y = reshape(images, [n, h, w, b, b, c // (b * b)])
        return reshape(transpose(y, [0, 1, 3, 2, 4, 5]), [n, h * b, w * b, c // (b * b)])

    return in_order("depth_to_space", out_of_channels, x, 2, data_format == "NCHW")


def _image(op: str, input: object, block_size: int, data_format: str) -> tuple[Any, int]:
    """The image, of known rank, and the block size. Raises: InvalidArgumentError: known sizes are not multiples of the
    block."""
    x, first = lift(input), channels_first(op, data_format, 2)
    (block_size,) = per_axis(op, "block_size", block_size, 1)
    if x.dims is None:
        x = ensure_shape(x, (None,) * 4)
    if x.ndim != 4 or block_size < 2:
        raise InvalidArgumentError(
            f"{op}: shape {x.shape}, block_size {block_size!r}; {layout(2, first)} and an int of at least 2 are allowed."
        )
    *sizes, channels = (*ranked(x.dims)[2:], ranked(x.dims)[1]) if first else ranked(x.dims)[1:]
    asked = sizes if op == "space_to_depth" else [channels]
    unit = block_size if op == "space_to_depth" else block_size * block_size
    if any(type(size) is int and size % unit for size in asked):
        what = "height and width" if op == "space_to_depth" else "the channels"
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; {what} of {layout(2, first)} must be multiples of {unit}."
        )
    return x, block_size


@blaming
def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """x / (bias + alpha * s)**beta, where s is the sum of squares of the channels up to `depth_radius` away.

    Args:
      input: Float tensor [batch, height, width, channels].
      depth_radius: The number of channels on each side that are summed.
      bias, alpha, beta: The constants of the formula.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is not 4; DTypeError (a TypeError): another dtype.
    Source: Krizhevsky, Sutskever and Hinton, ImageNet classification with deep convolutional neural networks, 2012.
    """
    x = lift(input)
    leading = 3 if x.dims is None else len(x.dims) - 1  # a tensor of unknown rank must be an image
    channels, squares, around = shape(x)[-1], square(x), [[depth_radius, depth_radius]]
    count = None if x.dims is None else x.dims[-1]
    is_few = type(count) is int and count <= _FEW_CHANNELS  # so few in a row leave most of a vector empty
    if is_few and not (are_numbers(ranked(x.dims)) and math.prod(ranked(x.dims)) < _SMALL):
        squares = pad(transpose(squares, [leading, *range(leading)]), around + [[0, 0]] * leading)
        total = squares[:channels]
        for k in range(1, 2 * depth_radius + 1):
            total = total + squares[k : k + channels]
        total = transpose(total, [*range(1, leading + 1), 0])
    else:
        squares = pad(squares, [[0, 0]] * leading + around)
        total = squares[..., :channels]
        for k in range(1, 2 * depth_radius + 1):
            total = total + squares[..., k : k + channels]
    return x / (bias + alpha * total) ** beta


_FEW_CHANNELS = 16
_SMALL = 1100  # elements; to transpose fewer takes longer than it saves


@blaming
def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Weighted mean and variance along `axes`.

    Args:
      x: Tensor [...], a float dtype.
      axes: The axis or axes of the means, a list.
      frequency_weights: The weights of the elements, which broadcast with `x`.
      keepdims: Keep the axes with size 1.
    Returns: (mean, variance), both without these axes, of the same dtype; 0 where the weights sum to 0.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or shapes that do not broadcast.
    """
    x = lift(x)
    weights = cast(frequency_weights, x.dtype)
    every = weights if is_definite(x.dims) and weights.dims == x.dims else weights * ones_like(x)
    total = reduce_sum(every, axes, keepdims=True)
    mean = divide_no_nan(reduce_sum(every * x, axes, keepdims=True), total)
    squares = overwrite(MUL, square(x - mean), every)
    variance = divide_no_nan(reduce_sum(squares, axes, keepdims=True), total)
    return (mean, variance) if keepdims else (squeeze(mean, axes), squeeze(variance, axes))


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The weighted sum of losses divided by the number of examples.

    Args:
      per_example_loss: Tensor [examples, ...] of a float dtype.
      sample_weight: Numbers that broadcast with it; ones by default.
      global_batch_size: The number of examples, an integer scalar, 0 or more; by default the number of losses.
    Returns: Scalar of the same dtype; 0 if the number of examples is 0.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit, a number of examples that is negative or no scalar;
      DTypeError (a TypeError): it is no integer.
    """
    losses = lift(per_example_loss)
    if sample_weight is not None:
        losses = losses * cast(sample_weight, losses.dtype)
    count = shape(losses)[0] if global_batch_size is None else _number_of_examples(global_batch_size)
    return divide_no_nan(reduce_sum(losses), cast(count, losses.dtype))


def _number_of_examples(given: TensorLike) -> Tensor:
    count = require_kind("compute_average_loss", lift(given), INTEGER, "global_batch_size")
    if count.dims:
        raise InvalidArgumentError(
            f"compute_average_loss: global_batch_size has shape {format_dims(count.dims)}; a scalar is needed, the number of "
            "examples of the whole batch."
        )
    number = known_value(count)
    if number is not None and number < 0:
        raise InvalidArgumentError(
            f"compute_average_loss: global_batch_size is {number}; the number of examples is 0 or more."
        )
    return count


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of a regularization loss. It is not divided among replicas, since programs run on one device.

    Args:
      regularization_loss: Float tensor of any shape.
    Returns: Scalar of the same dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return reduce_sum(regularization_loss)
