"""Initializers as TensorFlow 1 has them: each has a dtype of its own, and normal numbers have a deviation of 1.

`compat.v1` lists them as `zeros_initializer` and so on, and `compat.v1.initializers` as `zeros`.
"""

from __future__ import annotations

from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.dtypes import as_dtype
from graphad.core.tensor import Tensor
from graphad.layers import initializers


class _OfDtype(initializers.Initializer):
    """Makes values of its own dtype unless a call names one."""

    dtype: DTypeLike = dtypes.float32

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: object = None, **options: Any
    ) -> Tensor:
        """Initial values; see `Initializer`. `partition_info` is accepted for compatibility."""
        return super().__call__(shape, self.dtype if dtype is None else dtype, **options)

    def get_config(self) -> dict[str, Any]:
        """The arguments with which an object like this one is made."""
        made_with = self._graphad_made_with().arguments
        return {**made_with, "dtype": as_dtype(self.dtype).name}


class Zeros(_OfDtype, initializers.Zeros):
    """Zeros."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)


class Ones(_OfDtype, initializers.Ones):
    """Ones."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)


class Constant(_OfDtype, initializers.Constant):
    """One number everywhere, or an array with as many elements as the weight.

    Args:
      value: A number, list or array.
      dtype: The dtype of the values.
      verify_shape: Accepted for compatibility: an array must have the right number of elements.
    """

    def __init__(
        self, value: TensorLike = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False
    ) -> None:
        super().__init__(value)
        self.dtype = as_dtype(dtype)


class RandomUniform(_OfDtype, initializers.RandomUniform):
    """Numbers spread evenly from `minval` to `maxval`, from 0 to 1 by default."""

    def __init__(
        self,
        minval: float = 0.0,
        maxval: float | None = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(minval, 1.0 if maxval is None else maxval, seed)
        self.dtype = as_dtype(dtype)


class RandomNormal(_OfDtype, initializers.RandomNormal):
    """Normal numbers, by default of mean 0 and deviation 1."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(mean, stddev, seed)
        self.dtype = as_dtype(dtype)


class TruncatedNormal(RandomNormal, initializers.TruncatedNormal):
    """Normal numbers, by default of mean 0 and deviation 1, without those beyond two deviations."""


class VarianceScaling(_OfDtype, initializers.VarianceScaling):
    """Numbers whose variance is `scale` over the number of inputs or outputs of a unit."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(scale, mode, "truncated_normal" if distribution == "normal" else distribution, seed)
        self.dtype = as_dtype(dtype)


class UniformUnitScaling(_OfDtype, initializers.VarianceScaling):
    """Numbers spread evenly up to factor * sqrt(3 / inputs) on both sides of 0."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        super().__init__(factor * factor, "fan_in", "uniform", seed)
        self.dtype = as_dtype(dtype)


class GlorotUniform(_OfDtype, initializers.GlorotUniform):
    """Numbers spread evenly up to sqrt(6 / (inputs + outputs)) on both sides of 0."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(seed)
        self.dtype = as_dtype(dtype)


class GlorotNormal(_OfDtype, initializers.GlorotNormal):
    """Truncated normal numbers of variance 2 / (inputs + outputs)."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(seed)
        self.dtype = as_dtype(dtype)


class Orthogonal(_OfDtype, initializers.Orthogonal):
    """Orthogonal rows or columns times `gain`."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(gain, seed)
        self.dtype = as_dtype(dtype)


class Identity(_OfDtype, initializers.Identity):
    """An identity matrix times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(gain)
        self.dtype = as_dtype(dtype)
