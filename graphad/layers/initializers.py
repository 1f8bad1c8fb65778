"""Initial values of weights: objects that are called with a shape, and a dtype if it is not the usual one.

Glorot, He and LeCun scales after Glorot & Bengio (2010), He et al. (2015) and LeCun et al. (1998); orthogonal matrices after
Saxe et al. (2014), as the orthogonal factor of a polar decomposition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.registered import made_again, serialized
from graphad.core.shapes import as_dims
from graphad.core.tensor import Tensor
from graphad.module import snake_case
from graphad.ops.array.create import constant, fill
from graphad.ops.array.create import ones as ones_of
from graphad.ops.array.create import zeros as zeros_of
from graphad.ops.array.identity_matrix import eye
from graphad.ops.array.reshape import reshape
from graphad.ops.array.static import get_static_value
from graphad.ops.linalg.eigen import svd
from graphad.ops.linalg.matmul import matmul
from graphad.ops.random import variates as draw

_LEFT = 0.8796256610342398  # the deviation of a standard normal distribution cut off at -2 and 2


class Initializer(Configured):
    """Base class: `initializer(shape, dtype=None)` gives a tensor; subclasses define `values(shape, dtype)`.

    Two that are made with the same arguments give the same numbers, if they have a seed or draw none.
    """

    described_in_configurations = True

    _takes_any_shape: ClassVar[bool] = False  # a tensor of sizes that are not known while tracing

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
        """Initial values.

        Args:
          shape: The shape, with known sizes; one that is only known when a function runs is taken where no size matters.
          dtype: The dtype, by default that of `keras.backend.floatx`.
        Raises: ArgumentTypeError (a TypeError): another argument, `partition_shape` for instance: variables have one part here.
        """
        for word, option in options.items():
            if option is not None:
                raise ArgumentTypeError(
                    f"{type(self).__name__}: an initializer takes shape and dtype, not {word}={option!r}."
                )
        if isinstance(shape, Tensor):
            known = get_static_value(shape)
            if known is None and self._takes_any_shape:
                return self.values(shape, floatx_dtype() if dtype is None else as_dtype(dtype))
            sizes = None if known is None else as_dims(known.tolist())
        else:
            sizes = as_dims(shape)
        if sizes is None or None in sizes:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the shape must be known, got {shape!r}; build the layer with known sizes."
            )
        return self.values(list(sizes), floatx_dtype() if dtype is None else as_dtype(dtype))

    def values(self, shape: Any, dtype: DType) -> Tensor:
        """The values for a shape and a dtype that are known."""
        raise ArgumentTypeError(f"{type(self).__name__}: an initializer must define values(shape, dtype).")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.get_config().items())})"


class Zeros(Initializer):
    """Zeros."""

    _takes_any_shape = True

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        return zeros_of(shape, dtype)


class Ones(Initializer):
    """Ones."""

    _takes_any_shape = True

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        return ones_of(shape, dtype)


class Constant(Initializer):
    """One number everywhere, or an array with as many elements as the weight.

    Args:
      value: A number, list or array of any dtype that can be cast to that of the weight.
    Raises: ArgumentTypeError (a TypeError), when it is called: another number of elements than the shape has.
    """

    def __init__(self, value: TensorLike = 0.0) -> None:
        if callable(value):
            raise ArgumentTypeError(
                f"Constant: value is a {type(value).__name__}; a number, a list or an array is needed."
            )
        self.value = value

    @property
    def _takes_any_shape(self) -> bool:  # type: ignore[override]
        return np.ndim(np.asarray(self.value)) == 0

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        if np.ndim(np.asarray(self.value)) == 0:
            return fill(shape, lift(np.asarray(self.value).astype(dtype.numpy)[()]))
        return constant(self.value, dtype, shape)


class Identity(Initializer):
    """An identity matrix times `gain`, for weights of rank 2.

    Args:
      gain: A factor.
    Raises: InvalidArgumentError (a ValueError), when it is called: the shape is not a matrix.
    Example:
      >>> initializers.Identity()([2, 2]).numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) != 2:
            raise InvalidArgumentError(
                f"Identity: a weight of shape {tuple(shape)} is not a matrix; rank 2 is needed."
            )
        return eye(shape[0], shape[1], dtype=dtype) * self.gain


class _Random(Initializer):
    """Numbers that are drawn: with a seed the same ones at every call, else new ones from the global generator."""

    seed: int | None

    def _drawn(self, kind: str, shape: list[int], dtype: DType, a: float, b: float) -> Tensor:
        if self.seed is None:
            return getattr(draw, kind)(shape, a, b, dtype)  # type: ignore[no-any-return]
        return getattr(draw, f"stateless_{kind}")(shape, [self.seed, 0], a, b, dtype)  # type: ignore[no-any-return]


class RandomNormal(_Random):
    """Normal numbers.

    Args:
      mean, stddev: The mean and the standard deviation.
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    """

    _takes_any_shape = True

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        return self._drawn("normal", shape, dtype, self.mean, self.stddev)


class TruncatedNormal(RandomNormal):
    """Normal numbers without those beyond two standard deviations; see `RandomNormal`.

    Args:
      mean, stddev: The mean and the standard deviation.
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    """

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        return self._drawn("truncated_normal", shape, dtype, self.mean, self.stddev)


class RandomUniform(_Random):
    """Numbers spread evenly from `minval` to `maxval`.

    Args:
      minval, maxval: The limits.
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    """

    _takes_any_shape = True

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        return self._drawn("uniform", shape, dtype, self.minval, self.maxval)


class VarianceScaling(_Random):
    """Numbers whose variance is `scale` over the number of inputs or outputs of a unit.

    Args:
      scale: A positive number.
      mode: "fan_in" for inputs, "fan_out" for outputs, "fan_avg" for the mean of both.
      distribution: "truncated_normal", "untruncated_normal" or "uniform".
      seed: An integer for the same numbers at every call.
    Raises: InvalidArgumentError (a ValueError): any other.
    Source: He, Zhang, Ren and Sun, Delving deep into rectifiers, 2015.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        if not scale > 0.0:
            raise InvalidArgumentError(f"VarianceScaling: scale must be positive, got {scale}.")
        for word, value, allowed in (
            ("mode", mode, ("fan_in", "fan_out", "fan_avg")),
            ("distribution", distribution, ("truncated_normal", "untruncated_normal", "uniform")),
        ):
            if value not in allowed:
                raise InvalidArgumentError(
                    f"VarianceScaling: {word} is {value!r}; it is one of {', '.join(allowed)}."
                )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        inputs, outputs = fans(shape)
        units = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}[self.mode]
        variance = self.scale / max(1.0, units)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self._drawn("uniform", shape, dtype, -limit, limit)
        if self.distribution == "untruncated_normal":
            return self._drawn("normal", shape, dtype, 0.0, math.sqrt(variance))
        # Cutting off makes the deviation smaller, so the distribution that is cut is wider.
        return self._drawn("truncated_normal", shape, dtype, 0.0, math.sqrt(variance) / _LEFT)


class GlorotNormal(VarianceScaling):
    """Truncated normal numbers of variance 2 / (inputs + outputs); with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


class GlorotUniform(VarianceScaling):
    """Numbers spread evenly up to sqrt(6 / (inputs + outputs)) on both sides of 0; with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    Example:
      >>> initializers.GlorotUniform(seed=1)([3, 4]).shape
      TensorShape([3, 4])
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)


class HeNormal(VarianceScaling):
    """Truncated normal numbers of variance 2 / inputs; with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: He, Zhang, Ren and Sun, Delving deep into rectifiers, 2015.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class HeUniform(VarianceScaling):
    """Numbers spread evenly up to sqrt(6 / inputs) on both sides of 0; with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: He, Zhang, Ren and Sun, Delving deep into rectifiers, 2015.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed)


class LecunNormal(VarianceScaling):
    """Truncated normal numbers of variance 1 / inputs; with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: LeCun, Bottou, Orr and Mueller, Efficient BackProp, 1998.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "truncated_normal", seed)


class LecunUniform(VarianceScaling):
    """Numbers spread evenly up to sqrt(3 / inputs) on both sides of 0; with a `seed` the same ones at every call.

    Args:
      seed: An integer for the same numbers at every call.
    Raises: DTypeError (a TypeError), when it is called: no float dtype.
    Source: LeCun, Bottou, Orr and Mueller, Efficient BackProp, 1998.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "uniform", seed)


class Orthogonal(_Random):
    """A matrix of orthogonal rows or columns, whichever are fewer, times `gain`; leading axes count as rows.

    Args:
      gain: A factor.
      seed: An integer for the same numbers at every call.
    Raises: InvalidArgumentError (a ValueError), when it is called: the shape has fewer than two axes.
    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
      networks, 2014.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def values(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise InvalidArgumentError(
                f"Orthogonal: a weight of shape {tuple(shape)} has no rows and columns; rank 2 or more is needed."
            )
        flat = [math.prod(shape[:-1]), shape[-1]]
        _, u, v = svd(self._drawn("normal", flat, dtype, 0.0, 1.0))
        return reshape(matmul(u, v, adjoint_b=True) * self.gain, shape)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a unit of a weight of this shape has; leading axes are a receptive field."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


_KINDS = (
    Zeros,
    Ones,
    Constant,
    GlorotUniform,
    GlorotNormal,
    HeUniform,
    HeNormal,
    LecunUniform,
    LecunNormal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    VarianceScaling,
    Orthogonal,
    Identity,
)
_BY_NAME: dict[str, Any] = {snake_case(kind.__name__): kind for kind in _KINDS}


_SHORT = {"uniform": "random_uniform", "normal": "random_normal", "one": "ones", "zero": "zeros"}


def get(identifier: object) -> Callable[..., Any] | None:
    """The initializer that a name, a class or a function of (shape, dtype) stands for; None for None.

    Args:
      identifier: A name such as "glorot_uniform", an Initializer or its class, a dict with class_name and config, a function, or
        None.
    Returns: A function of (shape, dtype), or None.
    Raises: InvalidArgumentError (a ValueError): no such name.
    """
    if isinstance(identifier, Mapping):
        return deserialize(identifier)  # type: ignore[no-any-return]
    if identifier is None or isinstance(identifier, Initializer):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if callable(identifier):
        return lambda shape, dtype=None: (
            identifier(shape, dtype=floatx_dtype() if dtype is None else dtype)
            if _takes_dtype(identifier)
            else identifier(shape)
        )
    found = _class_of(str(identifier))
    if found is None:
        raise InvalidArgumentError(
            f"initializer: there is none called {identifier!r}; there are {', '.join(_BY_NAME)}."
        )
    return found()  # type: ignore[no-any-return]


def _class_of(name: str) -> Any:
    short = _SHORT.get(name, name)
    return _BY_NAME.get(short.lower()) or _BY_NAME.get(snake_case(short))


def serialize(initializer: object) -> dict[str, Any] | str:
    """An initializer as a dict of the name of its class and its arguments; of a function its name.

    Args: initializer: An initializer or a function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> keras.initializers.serialize(keras.initializers.Zeros())["class_name"]
      'Zeros'
    """
    return serialized(initializer)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """An initializer that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: An initializer, or a function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> keras.initializers.deserialize({"class_name": "Constant", "config": {"value": 3.0}})([2]).numpy()
      array([3., 3.], dtype=float32)
    """
    return made_again("initializer", config, _class_of, custom_objects)


def _takes_dtype(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or "dtype" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
