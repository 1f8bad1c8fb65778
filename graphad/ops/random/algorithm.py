"""The algorithm that turns a key into random bits: always Philox."""

from __future__ import annotations

from enum import Enum

import numpy as np

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor


class Algorithm(Enum):
    """The algorithm that turns a key into random bits. It is always Philox here; Threefry is refused.

    Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_NAMES = {"philox": 1, "threefry": 2, "auto_select": 3}


def check_algorithm(caller: str, alg: object) -> None:
    """Raises: ArgumentTypeError, InvalidArgumentError: `alg`, an argument of `caller`, is not supported."""
    if alg is None:
        return
    number = alg
    if isinstance(alg, Tensor | np.ndarray | np.generic):
        value = np.asarray(alg)
        number = int(value) if not value.ndim and value.dtype.kind in "iu" else None
    elif isinstance(alg, Enum):
        number = alg.value
    elif isinstance(alg, str):
        number = _NAMES.get(alg.lower(), 0)
    if not isinstance(number, int):
        raise ArgumentTypeError(f"{caller}: alg is {alg!r}; it is 'philox' or 'auto_select'.")
    if number not in (1, 3):
        raise InvalidArgumentError(
            f"{caller}: alg is {alg!r}; only Philox is supported: 'philox' or 'auto_select'."
        )
