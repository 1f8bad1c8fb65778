"""One seed for all generators of random numbers."""

from __future__ import annotations

import random

import numpy as np

from graphad.core.errors import InvalidArgumentError
from graphad.ops.random import set_seed


def set_random_seed(seed: int) -> None:
    """Set the seeds of Python's `random`, of NumPy's global generator and of `graphad.random`.

    Args: seed: An integer, 0 <= seed < 2^32.
    Raises: InvalidArgumentError (a ValueError): another value.
    Example:
      >>> keras.utils.set_random_seed(7)
      >>> first = random.normal([2])
      >>> keras.utils.set_random_seed(7)
      >>> bool(reduce_all(first == random.normal([2])))
      True
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise InvalidArgumentError(
            f"set_random_seed: seed is {seed!r}; an integer, 0 <= seed < 2^32, is needed."
        )
    random.seed(int(seed))
    np.random.seed(int(seed))
    set_seed(int(seed))
