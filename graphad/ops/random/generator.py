"""Generators of random numbers, among them the global one and those of seeds.

A generator's state is a seed and the number of keys taken so far. Functions capture it by reference, so they draw new numbers
on every call, and `set_seed` affects functions that are already traced.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes, forks
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, FailedPreconditionError, InvalidArgumentError
from graphad.core.levels import trace_in_progress
from graphad.core.refusal import refuse
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import stack
from graphad.ops.array.sizes import require_count
from graphad.ops.math.cast import cast
from graphad.ops.random import philox
from graphad.ops.random.algorithm import Algorithm, check_algorithm
from graphad.ops.random.draw import RANDOM_KEY, SET_STATE, RandomKey
from graphad.ops.random.keyed import drawn, normal_of, shuffled, uniform_of
from graphad.ops.random.samples import counts_of
from graphad.ops.random.state import State, made
from graphad.ops.state.variables import READ

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def _state_of(caller: str, state: TensorLike) -> Array:
    """A given state as a new array."""
    data = np.array(state)
    if data.shape != (2,) or data.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"{caller}: state has shape {data.shape} and dtype {data.dtype}; two integers are needed: a seed and a count."
        )
    return data.astype(np.int64)


def _state_of_key(caller: str, key: TensorLike, counter: TensorLike) -> np.ndarray:
    """The state made of a seed and a count, which may be a vector whose other elements are 0."""
    seed, count = np.asarray(key), np.atleast_1d(np.asarray(counter))
    if seed.size != 1 or not count.size or seed.dtype.kind not in "iu" or count.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"{caller}: key has shape {seed.shape} and dtype {seed.dtype}, counter {count.shape} and {count.dtype}; integers are "
            "needed, one as key."
        )
    if count[1:].any():
        raise InvalidArgumentError(
            f"{caller}: counter is {count.tolist()}; counts are below 2**63, so all but the first element must be 0."
        )
    return np.array([seed.reshape(()).astype(np.int64), count[0].astype(np.int64)])


class Generator:
    """A source of random numbers with its own state.

    Create one with `Generator.from_seed` or `Generator.from_non_deterministic_state`.

    Args:
      copy_from: A generator whose state is copied.
      state: The state of another generator, [2] integers: a seed and a count.
      alg: Accepted for compatibility: there is one algorithm.
    Raises: InvalidArgumentError (a ValueError): the state has another shape; ArgumentTypeError (a TypeError): `copy_from` is no
      generator.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    Example:
      >>> g = random.Generator.from_seed(1)
      >>> g.normal([2]).shape
      TensorShape([2])
    """

    def __init__(self, copy_from: Any = None, state: TensorLike | None = None, alg: object = None) -> None:
        check_algorithm("Generator", alg)
        if copy_from is not None:
            if not isinstance(copy_from, Generator):
                raise ArgumentTypeError(
                    f"Generator: copy_from is a {type(copy_from).__name__}; give another generator."
                )
            self._state: Handle = made(copy_from.state.data, bind(READ, copy_from.state))
            return
        if isinstance(state, Handle):
            self._state = state
            return
        if state is None:
            raise ArgumentTypeError("Generator: give a state, or use Generator.from_seed(seed).")
        self._state = made(_state_of("Generator", state))

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """A generator that always gives the same numbers for the same seed."""
        try:
            number = int(seed)
        except (TypeError, ValueError, OverflowError) as cause:
            refuse(cause, "Generator.from_seed", "seed", seed, "a number is needed, such as from_seed(1)")
        return cls(state=philox.key_of_seed(number), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator seeded by the operating system."""
        return cls(state=State.of(philox.key_of_seed(_entropy())), alg=alg)

    @classmethod
    def from_state(cls, state: TensorLike, alg: str | int | None = None) -> Generator:
        """A generator that continues from a state."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike, alg: str | int | None) -> Generator:
        """A generator with the seed `key` of which `counter` keys have been taken: an integer, or a vector that begins with
        it."""
        return cls(state=_state_of_key("Generator.from_key_counter", key, counter), alg=alg)

    @property
    def state(self) -> Handle:
        """The state: a seed and the number of keys taken so far."""
        return self._state

    @property
    def key(self) -> Tensor:
        """The seed, int64."""
        return bind(READ, self._state)[0]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1, Philox."""
        return Algorithm.PHILOX.value

    def reset_from_seed(self, seed: int) -> None:
        """Start again from a seed."""
        self.reset(philox.key_of_seed(int(seed)))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Set the state as `from_key_counter` does."""
        self.reset(_state_of_key("Generator.reset_from_key_counter", key, counter))

    def reset(self, state: TensorLike) -> None:
        """Continue from another state."""
        bind(SET_STATE, self._state, lift(_state_of("Generator.reset", state)))

    def next_key(self) -> Tensor:
        """A key for the stateless functions, [2] int64, a new one every time."""
        return bind(RANDOM_KEY, self._state)

    def skip(self, delta: int) -> Tensor:
        """Advance the state as if `delta` keys had been taken; returns the new state."""
        require_count("Generator.skip", delta, "delta")
        return bind(RandomKey(int(delta)), self._state) + lift(np.array([0, delta], np.int64))

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for the stateless functions, [2, count] int64; each column is a seed."""
        require_count("Generator.make_seeds", count, "count")
        bits = drawn("bits", self.next_key(), [count], dtypes.int64)
        return stack([bits, zeros_like(bits)])

    def split(self, count: int = 1) -> list[Generator]:
        """New generators with seeds drawn from this one."""
        require_count("Generator.split", count, "count")
        if trace_in_progress() is not None:
            raise FailedPreconditionError(
                "Generator.split: new generators are made outside of traced functions, which would make them in each call; "
                "split it before, or pass `make_seeds(count)` to the functions of tf.random named stateless_*."
            )
        return [
            Generator.from_seed(int(philox.derived(np.asarray(self.next_key()), 0)[0])) for _ in range(count)
        ]

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike | None = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normal numbers. See `random.normal`."""
        return normal_of("normal", self.next_key(), shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike | None = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normal numbers within two standard deviations of the mean."""
        return normal_of("truncated_normal", self.next_key(), shape, mean, stddev, dtype)

    def uniform(
        self,
        shape: TensorLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniform numbers from `minval`, included, to `maxval`, excluded. See `random.uniform`."""
        return uniform_of(self.next_key(), shape, minval, maxval, dtype)

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Integers over the whole range of the dtype."""
        return uniform_of(self.next_key(), shape, None, None, dtype)

    def binomial(
        self,
        shape: TensorLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """Samples of the binomial distribution. See `random.stateless_binomial`."""
        parameters = [cast(lift(counts), dtypes.float64), cast(lift(probs), dtypes.float64)]
        return counts_of("Generator.binomial", "binomial", self.next_key(), shape, parameters, dtype)

    def shuffle(self, value: TensorLike, name: str | None = None) -> Tensor:
        """`value` with its slices along axis 0 in random order."""
        return shuffled(self.next_key(), value)

    def __repr__(self) -> str:
        return f"<Generator state={np.asarray(self._state.data).tolist()}>"


def _entropy() -> int:
    return int.from_bytes(os.urandom(8), "little")


_global: Generator | None = None
_by_seed: dict[int, Generator] = {}
_set_seed: int | None = None
# A thread that loads data may be the first to draw while another sets the seed.
_shared = forks.rlock()


def get_global_generator() -> Generator:
    """The generator that `random.normal` and similar functions draw from.

    Returns: The Generator.
    """
    global _global
    if _global is None:
        with _shared:
            _global = _global or Generator.from_non_deterministic_state()
    return _global


def set_global_generator(generator: Generator) -> None:
    """Make `random.normal` and similar functions draw from another generator; functions that are already traced keep theirs.

    Args:
      generator: The generator.
    Raises: ArgumentTypeError (a TypeError): it is not a Generator.
    """
    global _global
    if not isinstance(generator, Generator):
        raise ArgumentTypeError(
            f"random.set_global_generator: {generator!r} is not a Generator; make one with Generator.from_seed."
        )
    _global = generator


def set_seed(seed: float | None) -> None:
    """Restart the global generator from a seed, so that later draws are reproducible, also in functions that are already
    traced.

    Args:
      seed: An int or a float; of a float that is not integral the bits are used. None for a seed by the operating system, with
        which the draws of later runs differ.
    Raises: ArgumentTypeError (a TypeError): it is not a number.
    Example:
      >>> random.set_seed(7)
      >>> a = random.uniform([2])
      >>> random.set_seed(7)
      >>> reduce_all(a == random.uniform([2])).numpy()
      np.True_
    """
    global _set_seed
    if seed is None:
        whole = None
    elif not isinstance(seed, int | float | np.integer | np.floating):
        raise ArgumentTypeError(
            f"random.set_seed: seed is {seed!r}; a number is needed, such as set_seed(1)."
        )
    elif isinstance(seed, int | np.integer) or float(seed).is_integer():
        whole = int(seed)
    else:
        whole = int(np.float64(seed).view(np.int64))
    with _shared:
        _set_seed = whole
        get_global_generator().reset_from_seed(_entropy() if whole is None else whole)
        for own, generator in _by_seed.items():
            generator.reset(_seeded_state(own))


def _seeded_state(own: int) -> np.ndarray:
    """The initial state of the stream of an op with a seed of its own, given the global seed."""
    return np.array([philox.derived(philox.key_of_seed(own), _set_seed or 0)[0], 0], np.int64)


def fresh_key(seed: int | None) -> Tensor:
    """A new key, from the global generator or from the stream of a seed."""
    return shared_generator(None if seed is None else int(seed)).next_key()


def shared_generator(seed: int | None) -> Generator:
    """The process's generator for ops with this seed; the global one for None."""
    if seed is None:
        return get_global_generator()
    generator = _by_seed.get(seed)
    if generator is None:
        with _shared:
            generator = _by_seed.get(seed)
            if generator is None:
                generator = _by_seed[seed] = Generator(state=State.of(_seeded_state(seed)))
    return generator


def shared_generators() -> dict[int | None, Generator]:
    """The generators of the process by the seed of the ops; the global one under None."""
    found: dict[int | None, Generator] = {None: get_global_generator()}
    with _shared:
        found.update(_by_seed.items())
    return found
