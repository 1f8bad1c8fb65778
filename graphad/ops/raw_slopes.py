"""The slopes of TensorFlow's gradients under the names of its kernels: functions of two tensors of one shape and dtype; of
shapes that broadcast where they are derivatives by a parameter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims
from graphad.ops import array, math
from graphad.ops.math.incomplete import IgammaByA
from graphad.ops.random.gammas import GammaSlope

_SCALE, _ALPHA = 1.0507009873554805, 1.6732632423543773  # of selu
_FORMULAS: dict[str, Callable[..., Any]] = {
    "EluGrad": lambda gradients, outputs: math.where(outputs < 0, gradients * (outputs + 1), gradients),
    "InvGrad": lambda y, dy: -dy * math.square(math.conj(y)),
    "LeakyReluGrad": lambda gradients, features, alpha=0.2: math.where(
        features > 0, gradients, alpha * gradients
    ),
    "ReciprocalGrad": lambda y, dy: -dy * math.square(math.conj(y)),
    "Relu6Grad": lambda gradients, features: math.where(
        math.logical_and(features > 0, features < 6), gradients, array.zeros_like(gradients)
    ),
    "ReluGrad": lambda gradients, features: math.where(features > 0, gradients, array.zeros_like(gradients)),
    "RsqrtGrad": lambda y, dy: -0.5 * dy * math.conj(y) * math.square(math.conj(y)),
    "SeluGrad": lambda gradients, outputs: (
        gradients * math.where(outputs < 0, outputs + _SCALE * _ALPHA, _SCALE * array.ones_like(outputs))
    ),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SoftplusGrad": lambda gradients, features: gradients * math.sigmoid(features),
    "SoftsignGrad": lambda gradients, features: gradients / math.square(1 + math.abs(features)),
    "SqrtGrad": lambda y, dy: 0.5 * dy / math.conj(y),
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
}


def _slope(op: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(formula)
    def slope(first: Any, second: Any, *more: Any) -> Any:
        x, y = lift_pair(op, first, second)
        if not are_compatible(x.dims, y.dims):
            raise InvalidArgumentError(
                f"raw_ops.{op}: the tensors have shapes {format_dims(x.dims)} and {format_dims(y.dims)}; one shape is needed."
            )
        return formula(x, y, *more)

    return slope


def _igamma_by_a(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) by a."""
    return bind(IgammaByA(1), *lift_pair("IgammaGradA", a, x))


def _gamma_by_alpha(alpha: Any, sample: Any) -> Any:
    """The derivative by alpha of a sample of the gamma distribution with rate 1, at a fixed probability."""
    return bind(GammaSlope(), *lift_pair("RandomGammaGrad", alpha, sample))


SLOPES: dict[str, Callable[..., Any]] = {
    **{op: _slope(op, formula) for op, formula in _FORMULAS.items()},
    "IgammaGradA": _igamma_by_a,
    "RandomGammaGrad": _gamma_by_alpha,
}
