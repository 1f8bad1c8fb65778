"""Activation functions. relu'(0) = 0, elu'(0) = 1.

Each has its own backward op, which for relu and elu reads the output; `expand` rewrites it in simpler ops that the compiler
fuses. Where a slope is constant, its derivative is zeros and not None, so that the second derivative of such a network is a
number.
"""

from __future__ import annotations

import math
import numbers

import numpy as np

from graphad.core.annotations import Array, Cotangents, Ranked, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import float32
from graphad.core.op import define
from graphad.core.schema import Number
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_of
from graphad.ops.choice import chosen, larger, limited, product
from graphad.ops.directly import directly
from graphad.ops.elementwise import Elementwise, unary_function
from graphad.ops.math import cast, erfc, expm1, maximum, minimum, sigmoid, where
from graphad.ops.math.arithmetic import MUL_ZERO
from graphad.ops.math.native_loops import MANY, many
from graphad.ops.rules import FLOATING, REAL, unbroadcast

# Klambauer et al. (2017), "Self-Normalizing Neural Networks"
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _zero(x: Tensor) -> Tensor:
    return lift(0, x.dtype)


@define
class Relu(Elementwise):
    """max(x, 0); NaN for NaN."""

    name = "relu"
    kinds = REAL
    letters = "fiu"
    keeps = (False, (0,))
    formula = staticmethod(lambda x: larger(x, x.dtype.type(0)))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(RELU_GRAD, g, ctx.outputs[0]),)

    def expand(self, x: Ranked) -> Tensor | None:
        return maximum(x, _zero(x))


@define
class ReluGrad(Elementwise):
    """g where y > 0, else 0."""

    name = "relu_grad"
    kinds = REAL
    letters = "fiu"
    keeps = ((1,), False)
    formula = staticmethod(lambda g, y: chosen(y > 0, g, g.dtype.type(0)))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        y = ctx.inputs[1]
        of_g = unbroadcast(ctx, 0, bind(RELU_GRAD, h, y)) if ctx.needs(0) else None
        return (of_g, zeros_of(y) if ctx.needs(1) else None)

    def expand(self, g: Ranked, y: Ranked) -> Tensor | None:
        return where(y > _zero(y), g, _zero(g))


@define
class Relu6(Elementwise):
    """min(max(x, 0), 6); NaN for NaN."""

    name = "relu6"
    kinds = REAL
    letters = "fiu"
    keeps = (False, (0,))
    formula = staticmethod(lambda x: limited(x, x.dtype.type(0), x.dtype.type(6)))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        y = ctx.outputs[0]
        found = directly(_between, y, g)
        if found is not None:
            return (found,)
        return (bind(RELU_GRAD, where(y < lift(6, y.dtype), g, _zero(g)), y),)

    def expand(self, x: Ranked) -> Tensor | None:
        return minimum(maximum(x, _zero(x)), lift(6, x.dtype))


def _between(y: Array, g: Array) -> Array | None:
    """The cotangent of many elements by the result of relu6."""
    if type(y) is not np.ndarray:
        return None
    inside = y > 0
    inside &= y < 6
    return chosen(inside, g, g.dtype.type(0))


@define
class LeakyRelu(Elementwise):
    """x where x > 0, else alpha * x."""

    name = "leaky_relu"
    kinds = FLOATING
    keeps = (True, False)
    alpha: Number
    infer = Elementwise.infer

    def eval(self, x: Array) -> Array:  # type: ignore[override]
        alpha = x.dtype.type(self.alpha)
        scaled = x * alpha
        if not 0 < alpha <= 1:
            return chosen(x > 0, x, scaled)
        # The larger one, in one pass: of two zeros both have the sign of x, and an infinity stays one.
        return np.maximum(x, scaled, out=scaled if type(scaled) is np.ndarray else None)  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(LeakyReluGrad(self.alpha), g, ctx.inputs[0]),)

    def expand(self, x: Ranked) -> Tensor | None:
        return where(x > _zero(x), x, x * lift(self.alpha, x.dtype))


@define
class LeakyReluGrad(Elementwise):
    """g where x > 0, else alpha * g."""

    name = "leaky_relu_grad"
    kinds = FLOATING
    keeps = ((1,), False)
    alpha: Number
    infer = Elementwise.infer

    def eval(self, g: Array, x: Array) -> Array:  # type: ignore[override]
        return chosen(x > 0, g, product(g, g.dtype.type(self.alpha)))

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        x = ctx.inputs[1]
        of_g = unbroadcast(ctx, 0, bind(self, h, x)) if ctx.needs(0) else None
        return (of_g, zeros_of(x) if ctx.needs(1) else None)

    def expand(self, g: Ranked, x: Ranked) -> Tensor | None:
        return where(x > _zero(x), g, g * lift(self.alpha, g.dtype))


@define
class Elu(Elementwise):
    """x where x > 0, else e^x - 1."""

    name = "elu"
    kinds = FLOATING
    letters = "f"
    keeps = (False, (0,))
    formula = staticmethod(lambda x: chosen(x > 0, x, np.expm1(np.minimum(x, x.dtype.type(0)))))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(ELU_GRAD, g, ctx.outputs[0]),)

    def expand(self, x: Ranked) -> Tensor | None:
        return where(x > _zero(x), x, expm1(minimum(x, _zero(x))))


@define
class EluGrad(Elementwise):
    """g * (y + 1) where y < 0, else g."""

    name = "elu_grad"
    kinds = FLOATING
    letters = "f"
    keeps = (True, False)
    formula = staticmethod(lambda g, y: chosen(y < 0, g * (y + y.dtype.type(1)), g))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        # If only one of g and y is stacked, h is stacked too: each cotangent is summed back to its input.
        g, y = ctx.inputs
        of_g = unbroadcast(ctx, 0, bind(ELU_GRAD, h, y)) if ctx.needs(0) else None
        # Strictly below: at 0 both derivatives are those from above, so the second one is 0.
        of_y = (
            unbroadcast(ctx, 1, where(y < _zero(y), bind(MUL_ZERO, g, h), _zero(y))) if ctx.needs(1) else None
        )
        return (of_g, of_y)

    def expand(self, g: Ranked, y: Ranked) -> Tensor | None:
        return where(y < _zero(y), g * (y + lift(1.0, y.dtype)), g)


RELU_GRAD, ELU_GRAD = ReluGrad(), EluGrad()
relu = unary_function(
    Relu,
    "max(x, 0), elementwise, any real dtype. The gradient at 0 is 0.",
    argument="features",
    example=">>> nn.relu([-1.0, 2.0]).numpy()\narray([0., 2.], dtype=float32)",
    source="Nair and Hinton, Rectified linear units improve restricted Boltzmann machines, 2010.",
)
elu = unary_function(
    Elu,
    "x where x > 0, else exp(x) - 1, elementwise. The gradient at 0 is 1 (Clevert et al., 2016).",
    argument="features",
    example=">>> nn.elu([-1.0, 2.0]).numpy()\narray([-0.63212055,  2.        ], dtype=float32)",
    source="Clevert, Unterthiner and Hochreiter, Fast and accurate deep network learning by exponential linear units, 2016.",
)


relu6 = unary_function(
    Relu6,
    "min(max(x, 0), 6), elementwise. The gradient at 0 and at 6 is 0.",
    argument="features",
    source="Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.",
    example=">>> nn.relu6([-1.0, 3.0, 9.0]).numpy()\narray([0., 3., 6.], dtype=float32)",
)


@blaming
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Tensor:
    """x where x > 0, else alpha * x, elementwise; integers become float32. The gradient at 0 is alpha.

    Args:
      features: Tensor of any shape, a real dtype.
      alpha: The slope for negative numbers; a tensor is differentiable.
    Returns: Tensor of the same shape and dtype; float32 for integers.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Source: Maas, Hannun and Ng, Rectifier nonlinearities improve neural network acoustic models, 2013.
    Example:
      >>> nn.leaky_relu([-1.0, 2.0]).numpy()
      array([-0.2,  2. ], dtype=float32)
    """
    x = lift(features)
    if x.dtype.is_integer:
        x = cast(x, float32)
    if isinstance(alpha, numbers.Real) and math.isfinite(alpha):
        return bind(LeakyRelu(float(alpha)), x)
    return where(x > _zero(x), x, x * alpha)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Scaled elu: scale * (x where x >= 0, else alpha * (exp(x) - 1)) (Klambauer et al., 2017). The gradient at 0 is scale.

    Args:
      features: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks, 2017.
    Example:
      >>> nn.selu([-1.0, 1.0]).numpy().round(4)
      array([-1.1113,  1.0507], dtype=float32)
    """
    x = lift(features)
    found = directly(_selu, x)
    return where(x < _zero(x), elu(x) * _SELU_ALPHA, x) * _SELU_SCALE if found is None else found


def _selu(x: Array) -> Array | None:
    if x.dtype.char not in "fd":
        return None
    kind = x.dtype.type
    found: Array = chosen(x < 0, Elu.formula(x) * kind(_SELU_ALPHA), x) * kind(_SELU_SCALE)
    return found


@blaming
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the probability that a standard normal number is below x; `approximate` uses tanh (Hendrycks & Gimpel, 2016).

    Args:
      features: Tensor of any shape, a float dtype.
      approximate: Whether to use the formula with tanh.
    Returns: Tensor of the same shape and dtype, within 4 units in the last place above 0. Below, where x ** 2 is rounded in the
      exponent, within 4 + 2 x ** 2 of them, and with `approximate` within 4 + abs(x) ** 3 / 4. As in TensorFlow, -inf and the
      slopes at infinities give NaN, those of `approximate` also where a power of x is infinite.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Hendrycks and Gimpel, Gaussian error linear units, 2016.
    Example:
      >>> nn.gelu([0.0, 1.0]).numpy().round(4)
      array([0.    , 0.8413], dtype=float32)
    """
    x = lift(features)
    # The tail has none of the digits that its argument lacks.
    if x.dtype.is_floating and x.dtype.itemsize == 2:
        return cast(gelu(cast(x, float32), approximate), x.dtype)
    if approximate:
        # (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps its digits far below 0
        return x * sigmoid((x + x * x * x * 0.044715) * math.sqrt(8.0 / math.pi))
    found = directly(_gelu, x) if x.has_value and not x.away and x.data.size >= MANY else None
    return x * 0.5 * erfc(x * -math.sqrt(0.5)) if found is None else found


def _gelu(x: Array) -> Array | None:
    """Many numbers in one pass, with the bits of the steps."""
    found: Array | None = many("gelu", x)
    return found


@blaming
def silu(features: TensorLike, beta: float = 1.0) -> Tensor:
    """x * sigmoid(beta * x), elementwise (Ramachandran et al., 2017).

    Args:
      features: Tensor of any shape, a float or complex dtype.
      beta: The factor in the sigmoid.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Elfwing, Uchibe and Doya, Sigmoid-weighted linear units for neural network function approximation in
      reinforcement learning, 2018.
    Example:
      >>> nn.silu([0.0, 1.0]).numpy().round(4)
      array([0.    , 0.7311], dtype=float32)
    """
    x = lift(features)
    return x * sigmoid(x if type(beta) is float and beta == 1.0 else x * beta)
