"""Activation functions as Keras calls them and their arguments, and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import get_registered_object, made_again, serialized
from graphad.core.tensor import Tensor
from graphad.ops import nn
from graphad.ops.array import ones_like, reshape, shape, sort, split, stop_gradient, zeros_like
from graphad.ops.math import (
    abs,
    cast,
    clip_by_value,
    cumsum,
    exp,
    expm1,
    hypot,
    is_inf,
    maximum,
    minimum,
    reduce_max,
    reduce_sum,
    sqrt,
    square,
    where,
)
from graphad.ops.nn.logits import note_logits

_X = TypeVar("_X")


def relu(
    x: TensorLike, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """x where x > `threshold`, from 0 to `max_value` if that is given, and negative_slope * (x - threshold) below.

    Args:
      x: Tensor of any shape, a real dtype.
      negative_slope: The slope below the threshold.
      max_value: The largest result; None for none.
      threshold: Where it begins.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Nair and Hinton, Rectified linear units improve restricted Boltzmann machines, 2010.
    """
    x = lift(x)
    if not threshold and not negative_slope:
        y = nn.relu(x)
        return y if max_value is None else minimum(y, max_value)
    if not threshold and max_value is None:
        return nn.leaky_relu(x, negative_slope)
    zero = lift(0, x.dtype)
    above = x if max_value is None else clip_by_value(x, zero, cast(max_value, x.dtype))
    below = where(x < threshold, negative_slope * (x - threshold), zero) if negative_slope else zero
    return where(x > threshold, above, below)


def leaky_relu(x: TensorLike, negative_slope: float = 0.2) -> Tensor:
    """x where x > 0, else negative_slope * x.

    Args:
      x: Tensor of any shape, a real dtype.
      negative_slope: The slope of negative numbers.
    Returns: Tensor of the same shape and dtype; float32 for integers.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Source: Maas, Hannun and Ng, Rectifier nonlinearities improve neural network acoustic models, 2013.
    """
    return nn.leaky_relu(x, negative_slope)


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1).

    Args:
      x: Tensor of any shape, a float dtype.
      alpha: What the function tends to below.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Clevert, Unterthiner and Hochreiter, Fast and accurate deep network learning by exponential linear units, 2016.
    """
    y = nn.elu(x)
    return y if alpha == 1.0 else where(y > 0.0, y, alpha * y)


def selu(x: TensorLike) -> Tensor:
    """The scaled exponential linear unit; see `nn.selu`.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks, 2017.
    """
    return nn.selu(x)


def gelu(x: TensorLike, approximate: bool = False) -> Tensor:
    """x times the probability that a standard normal is below x; see `nn.gelu`.

    Args:
      x: Tensor of any shape, a float dtype.
      approximate: Use the formula with tanh.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Hendrycks and Gimpel, Gaussian error linear units, 2016.
    """
    return nn.gelu(x, approximate)


def silu(x: TensorLike) -> Tensor:
    """x * sigmoid(x).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Elfwing, Uchibe and Doya, Sigmoid-weighted linear units for neural network function approximation in
      reinforcement learning, 2018.
    """
    return nn.silu(x)


def softmax(x: TensorLike, axis: int | None = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`; Keras' cross-entropies of it compute from x.

    Args:
      x: Tensor of any shape, a float dtype.
      axis: The axis; None for all of them together.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
    """
    if axis is None:
        x = lift(x)
        return reshape(nn.softmax(reshape(x, [-1])), shape(x))
    logits = lift(x)
    return note_logits(nn.softmax(logits, axis), logits, axis)


def log_softmax(x: TensorLike, axis: int | None = -1) -> Tensor:
    """log(softmax(x)) along `axis`.

    Args:
      x: Tensor of any shape, a float dtype.
      axis: The axis; None for all of them together.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
    """
    if axis is None:
        x = lift(x)
        return reshape(nn.log_softmax(reshape(x, [-1])), shape(x))
    return nn.log_softmax(x, axis)


def softplus(x: TensorLike) -> Tensor:
    """log(1 + exp(x)).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Dugas, Bengio, Belisle, Nadeau and Garcia, Incorporating second-order functional knowledge for better option
      pricing, 2001.
    """
    return nn.softplus(x)


def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x)); Keras' cross-entropies of it compute from x.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    logits = lift(x)
    return note_logits(nn.sigmoid(logits), logits, None)


def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    return nn.tanh(x)


def relu6(x: TensorLike) -> Tensor:
    """x between 0 and 6, else the nearer of them.

    Args:
      x: Tensor of any shape, a real dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.
    """
    return nn.relu6(x)


def softsign(x: TensorLike) -> Tensor:
    """x / (1 + |x|).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    """
    return nn.softsign(x)


def log_sigmoid(x: TensorLike) -> Tensor:
    """log(sigmoid(x)).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    return nn.log_sigmoid(x)


def hard_sigmoid(x: TensorLike) -> Tensor:
    """x / 6 + 1/2 between -3 and 3, 0 below and 1 above.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Courbariaux, Bengio and David, BinaryConnect: training deep neural networks with binary weights during
      propagations, 2015, with another slope.
    """
    return nn.relu6(lift(x) + 3.0) / 6.0


def hard_silu(x: TensorLike) -> Tensor:
    """x * hard_sigmoid(x).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Howard and others, Searching for MobileNetV3, 2019.
    """
    x = lift(x)
    return x * hard_sigmoid(x)


def mish(x: TensorLike) -> Tensor:
    """x * tanh(softplus(x)).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Misra, Mish: a self regularized non-monotonic activation function, 2019.
    """
    x = lift(x)
    return x * nn.tanh(nn.softplus(x))


@blaming
def celu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1), whose slope is 1 at 0 for every alpha.

    Args:
      x: Tensor of any shape, a float dtype.
      alpha: What the function tends to below.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Barron, Continuously differentiable exponential linear units, 2017.
    """
    x = lift(x)
    return where(x > 0.0, x, alpha * expm1(minimum(x, lift(0, x.dtype)) / alpha))


@blaming
def glu(x: TensorLike, axis: int = -1) -> Tensor:
    """The first half of x along `axis`, times the sigmoid of the second half.

    Args:
      x: Tensor of rank 1 or more, a float dtype, whose size along `axis` is even.
      axis: The axis.
    Returns: Tensor of the same dtype and rank, half as large along `axis`.
    Raises: InvalidArgumentError (a ValueError): an odd size; AxisError: there is no such axis; DTypeError (a TypeError): another
      dtype.
    Source: Dauphin, Fan, Auli and Grangier, Language modeling with gated convolutional networks, 2017.
    """
    x = lift(x)
    first, second = split(x, 2, axis)
    return first * nn.sigmoid(second)


@blaming
def hard_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """x where |x| > threshold, else 0.

    Args:
      x: Tensor of any shape, a float dtype.
      threshold: The largest size that becomes 0.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Donoho and Johnstone, Ideal spatial adaptation by wavelet shrinkage, 1994.
    """
    x = lift(x)
    return where(abs(x) > threshold, x, lift(0, x.dtype))


@blaming
def soft_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """x moved by `threshold` towards 0, and 0 where |x| is not larger than that.

    Args:
      x: Tensor of any shape, a float dtype.
      threshold: The largest size that becomes 0.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Donoho and Johnstone, Ideal spatial adaptation by wavelet shrinkage, 1994.
    """
    x = lift(x)
    below = where(x < -threshold, x + threshold, lift(0, x.dtype))
    return where(x > threshold, x - threshold, below)


def hard_tanh(x: TensorLike) -> Tensor:
    """x between -1 and 1, else the nearer of them.

    Args:
      x: Tensor of any shape, a real dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Collobert, Large scale machine learning, 2004.
    """
    x = lift(x)
    return clip_by_value(x, lift(-1, x.dtype), lift(1, x.dtype))


def tanh_shrink(x: TensorLike) -> Tensor:
    """x - tanh(x).

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    x = lift(x)
    return x - nn.tanh(x)


@blaming
def threshold(x: TensorLike, threshold: float, default_value: float) -> Tensor:
    """x where x > `threshold`, else `default_value`.

    Args:
      x: Tensor of any shape, a real dtype.
      threshold: The largest number that is replaced.
      default_value: What stands for it.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype, or a number that does not fit it.
    """
    x = lift(x)
    return where(x > threshold, x, lift(default_value, x.dtype))


@blaming
def squareplus(x: TensorLike, b: float = 4) -> Tensor:
    """(x + sqrt(x^2 + b)) / 2, without a loss of digits for negative x.

    Args:
      x: Tensor of any shape, a float dtype.
      b: How far the function is bent, 0 or more: it is sqrt(b) / 2 at 0.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Barron, Squareplus: a softplus-like algebraic rectifier, 2021.
    """
    x = lift(x)
    bend = cast(b, x.dtype)
    is_infinite = is_inf(x)
    near = where(is_infinite, zeros_like(x), x)
    is_negative = near < 0.0
    far = hypot(near, sqrt(bend)) + where(is_negative, -near, near)
    return where(is_infinite, relu(x), where(is_negative, bend / far, far) / 2.0)


def sparse_plus(x: TensorLike) -> Tensor:
    """0 up to -1, (x + 1)^2 / 4 up to 1, and x from there on: what has `sparse_sigmoid` as its slope.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Martins and Astudillo, From softmax to sparsemax, 2016, whose function of two classes it integrates.
    """
    x = lift(x)
    bend = where(x < 1.0, square(x + 1.0) / 4.0, x)
    return where(x <= -1.0, lift(0, x.dtype), bend)


def sparse_sigmoid(x: TensorLike) -> Tensor:
    """(x + 1) / 2 between -1 and 1, 0 below and 1 above; the slope is 0 at both ends.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Martins and Astudillo, From softmax to sparsemax, 2016, whose function of two classes it is.
    """
    x = lift(x)
    rising = where(x >= 1.0, lift(1, x.dtype), (x + 1.0) / 2.0)
    return where(x <= -1.0, lift(0, x.dtype), rising)


@blaming
def sparsemax(x: TensorLike, axis: int = -1) -> Tensor:
    """The probabilities nearest to x along `axis`, most of which are 0.

    They are max(x - t, 0), with the t for which they sum to 1: that of the most largest elements which all stay above it.

    Args:
      x: Tensor of rank 1 or more, a float dtype.
      axis: The axis.
    Returns: Tensor of the same shape and dtype.
    Raises: AxisError: there is no such axis; DTypeError (a TypeError): another dtype.
    Source: Martins and Astudillo, From softmax to sparsemax, 2016.
    """
    x = lift(x)
    none = lift(0, x.dtype)
    # Only differences matter; sums of differences from the largest element lose fewer digits.
    x = x - stop_gradient(reduce_max(x, axis, keepdims=True))
    ranked = sort(x, axis, "DESCENDING")
    sums = cumsum(ranked, axis)
    places = cumsum(ones_like(ranked), axis)
    stays = 1.0 + places * ranked > sums
    above = reduce_sum(where(stays, ranked, none), axis, keepdims=True)
    number = reduce_sum(cast(stays, x.dtype), axis, keepdims=True)
    return maximum(x - (above - 1.0) / number, none)


def exponential(x: TensorLike) -> Tensor:
    """exp(x).

    Args:
      x: Tensor of any shape, a float or complex dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    return exp(x)


def linear(x: _X) -> _X:
    """x itself.

    Args:
      x: Anything.
    Returns: The same.
    Raises: Nothing.
    """
    return x


_BY_NAME: dict[str, Callable[..., Any]] = {
    "celu": celu,
    "elu": elu,
    "exponential": exponential,
    "gelu": gelu,
    "glu": glu,
    "hard_shrink": hard_shrink,
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": hard_silu,
    "hard_tanh": hard_tanh,
    "leaky_relu": leaky_relu,
    "linear": linear,
    "log_sigmoid": log_sigmoid,
    "log_softmax": log_softmax,
    "mish": mish,
    "relu": relu,
    "relu6": relu6,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": silu,
    "soft_shrink": soft_shrink,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": softsign,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "sparsemax": sparsemax,
    "squareplus": squareplus,
    "tanh": tanh,
    "tanh_shrink": tanh_shrink,
    "threshold": threshold,
    "hard_swish": hard_silu,
    "swish": silu,
}


def get(identifier: Callable[..., Any] | str | Mapping[str, Any] | None) -> Callable[..., Tensor]:
    """The function that a name or a callable stands for.

    Args:
      identifier: A name such as "relu", a function, or None, which stands for `linear`.
    Returns: A function of a tensor of any shape and float dtype.
    Raises: InvalidArgumentError (a ValueError): no such name.
    """
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    if isinstance(identifier, Mapping):
        return deserialize(identifier)  # type: ignore[no-any-return]
    found = get_registered_object(identifier, None, _BY_NAME)
    if found is None:
        raise InvalidArgumentError(
            f"activation: there is none called {identifier!r}; there are {', '.join(_BY_NAME)}."
        )
    return found


def serialize(activation: object) -> dict[str, Any] | str:
    """An activation as a dict of the name of its class and its arguments; of a function its name.

    Args: activation: A function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> keras.activations.serialize(keras.activations.relu)
      'relu'
    """
    return serialized(activation)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """An activation that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> keras.activations.deserialize("relu")([-1.0, 2.0]).numpy()
      array([0., 2.], dtype=float32)
    """
    return made_again("activation", config, _BY_NAME.get, custom_objects)
