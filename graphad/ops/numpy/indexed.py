"""NumPy's objects that make arrays when they are indexed: `r_`, `c_`, `mgrid` and `ogrid`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape as sizes_of
from graphad.ops.numpy.joining import concatenate
from graphad.ops.numpy.promotion import NUMBERS, of_numpys, tensor_of


class _Joined:
    """Parts joined along an axis, as `r_` and `c_` do.

    Attributes:
      axis: The axis.
      rank: The least rank of a part; one of a lower rank gets axes of size 1.
      place: Where the axes of a part come among these: at 0 it keeps the first, at -1 the last.
    """

    def __init__(self, name: str, axis: int, rank: int, place: int, doc: str) -> None:
        self.__doc__ = doc
        self._name, self._axis, self._rank, self._place = name, axis, rank, place

    def __getitem__(self, key: Any) -> Tensor:
        parts = key if isinstance(key, tuple) else (key,)
        axis, rank, place = self._axis, self._rank, self._place
        if isinstance(parts[0], str):
            axis, rank, place = self._told(parts[0])
            parts = parts[1:]
        weak = [x for x in parts if type(x) in NUMBERS]
        tensors = {
            i: tensor_of(np.r_[x] if isinstance(x, slice) else x)
            for i, x in enumerate(parts)
            if type(x) not in NUMBERS
        }
        known = [x.dtype.numpy for x in tensors.values()]
        dtype = of_numpys(known, weak)
        made = [tensors[i] if i in tensors else lift(x, dtype) for i, x in enumerate(parts)]
        return concatenate([_of_rank(x, rank, place) for x in made], axis, dtype=dtype)

    def _told(self, text: str) -> tuple[int, int, int]:
        """The axis, the rank and the place that a string gives: "axis", "axis,rank" or "axis,rank,place"."""
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise UnsupportedOptionError(
                f"{self._name}: {text!r} asks for a matrix of numpy.matrix; give axis, rank and place as '0,2'."
            ) from None
        if len(numbers) > 3:
            raise InvalidArgumentError(
                f"{self._name}: {text!r} has {len(numbers)} numbers; it has three at most: axis, rank, place."
            )
        axis, rank, place = (*numbers, *(self._axis, self._rank, self._place)[len(numbers) :])
        return axis, rank, place

    def __repr__(self) -> str:
        return f"graphad.numpy.{self._name}"

    def __reduce__(self) -> str:
        return self._name  # of this module: it is pickled, and copied, as itself


def _of_rank(x: Tensor, rank: int, place: int) -> Tensor:
    missing = rank - len(ranked(x.dims))
    if missing <= 0:
        return x
    before = place if place >= 0 else place + missing + 1
    ones = np.ones(missing, np.int32)
    return reshape(x, concatenate([ones[:before], sizes_of(x), ones[before:]]))


class _Grid:
    """Coordinates of a grid by slices, as `mgrid` and `ogrid` give them."""

    def __init__(self, name: str, source: Any, doc: str) -> None:
        self.__doc__ = doc
        self._name, self._source = name, source

    def __getitem__(self, key: slice | Sequence[slice]) -> Tensor | tuple[Tensor, ...]:
        found = self._source[key]
        return tuple([lift(x) for x in found]) if isinstance(found, tuple) else lift(found)

    def __repr__(self) -> str:
        return f"graphad.numpy.{self._name}"

    def __reduce__(self) -> str:
        return self._name  # of this module: it is pickled, and copied, as itself


r_ = _Joined(
    "r_",
    0,
    1,
    -1,
    """Tensors, numbers and slices joined along axis 0.

    Example:
      >>> numpy.r_[numpy.asarray([1.0, 2.0]), 0.5, 0:1:3j].numpy()
      array([1. , 2. , 0.5, 0. , 0.5, 1. ])
    """,
)
c_ = _Joined(
    "c_",
    -1,
    2,
    0,
    """Tensors, numbers and slices joined along the last axis; vectors are columns.

    Example:
      >>> numpy.c_[[1, 2], [3, 4]].numpy()
      array([[1, 3],
             [2, 4]])
    """,
)
mgrid = _Grid(
    "mgrid",
    np.mgrid,
    """The coordinates of a dense grid, one slice for each axis; an imaginary step counts the points.

    Example:
      >>> numpy.mgrid[0:2, 0:2].numpy()
      array([[[0, 0],
              [1, 1]],
             [[0, 1],
              [0, 1]]])
    """,
)
ogrid = _Grid(
    "ogrid",
    np.ogrid,
    """The coordinates of a grid as tensors that broadcast together, one slice for each axis.

    Example:
      >>> [x.shape for x in numpy.ogrid[0:2, 0:3]]
      [TensorShape([2, 1]), TensorShape([1, 3])]
    """,
)
