"""Conversion between a nest of tensors and one float64 vector for SciPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.composites import flatten_present
from graphad.core.dims import product
from graphad.core.dtypes import float64
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, UnavailableError
from graphad.core.levels import chain, entered, trace_in_progress, unwatched
from graphad.core.shapes import is_definite
from graphad.function.decorator import function
from graphad.functional.arguments import outputs, tensor
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.slice import getitem
from graphad.ops.math.cast import cast
from graphad.vectorize.batch import BatchedTensor, BatchLevel

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.tensor import Tensor


class Packing:
    """The layout of the leaves of a nest in a vector.

    Attributes:
      start: The vector of the nest itself.
    """

    __slots__ = ("dtypes", "rebuild", "shapes", "size", "start")

    def __init__(self, name: str, value: object) -> None:
        leaves, self.rebuild = flatten_present(value)
        found = [tensor(name, leaf, "the starting point") for leaf in leaves]
        for x in found:
            if not x.dtype.is_floating:
                cure = "in real and imaginary parts" if x.dtype.is_complex else "as float (1.0 instead of 1)"
                raise ArgumentTypeError(
                    f"{name}: the starting point has dtype {x.dtype.name}; give it {cure}."
                )
            if not is_definite(x.dims):
                raise InvalidArgumentError(
                    f"{name}: the starting point has shape {x.shape}; its sizes have to be known."
                )
        self.shapes = [tuple(x.dims or ()) for x in found]
        self.dtypes = [x.dtype for x in found]
        self.size = sum(int(product(shape)) for shape in self.shapes)
        self.start = packed(name, found)

    @property
    def rounding(self) -> float:
        """The unit of rounding of the coarsest dtype."""
        return max(float(np.finfo(np.promote_types(d.numpy, np.float16)).eps) for d in self.dtypes)

    def unpacked(self, vector: object) -> Any:
        """The nest of tensors for a float64 vector."""
        leaves, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            stop = start + int(product(shape))
            leaves.append(cast(reshape(getitem(vector, slice(start, stop)), shape), dtype))
            start = stop
        return self.rebuild(leaves)


def as_float64(name: str, y: Tensor) -> Tensor:
    """A result of a function in float64. Raises: DTypeError: it is complex."""
    if y.dtype.is_complex:
        raise DTypeError(
            f"{name}: the function returned {y.dtype.name}; solvers work with real numbers. Return tf.math.real(y) and "
            "tf.math.imag(y), or tf.abs(y)."
        )
    return cast(y, float64)


def packed(name: str, value: object) -> Tensor:
    """The float64 vector for a nest of tensors."""
    ys, _ = outputs(name, value)
    parts = [reshape(as_float64(name, y), (-1,)) for y in ys]
    if not parts:
        raise InvalidArgumentError(f"{name}: expected at least one tensor, got an empty nest.")
    return parts[0] if len(parts) == 1 else concat(parts, 0)


def compiled(f: Callable[..., Any]) -> Callable[..., list[np.ndarray]]:
    """A traced function of float64 vectors that takes arrays and returns writable arrays."""
    # A partial object has a history of traces of its own.
    traced = function(functools.partial(f), autograph=False)

    def run(*vectors: TensorLike) -> list[np.ndarray]:
        return [on_host(y) for y in traced(*[np.asarray(v, np.float64) for v in vectors])]

    return run


def on_host(y: Tensor) -> np.ndarray:
    """A writable array of a tensor. Raises: InvalidArgumentError: it differs from row to row of a batch."""
    if isinstance(y, BatchedTensor):
        raise InvalidArgumentError(
            "optimize: SciPy's solver steers the calls of the function for one problem at a time, so it cannot be part of vmap; "
            "call it for one row after the other, or vmap optimize.root or optimize.fixed_point."
        )
    return np.array(y.numpy())


def library(name: str) -> tuple[Any, Any]:
    """`scipy.optimize` and `scipy.integrate`. Raises: UnavailableError: SciPy is not installed."""
    try:
        import scipy.integrate
        import scipy.optimize
    except ImportError:
        raise UnavailableError(
            f"optimize.{name} runs SciPy's solvers, and the package scipy is not installed; pip install graphad[scipy]"
        ) from None
    return scipy.optimize, scipy.integrate


def refuse_traces(name: str) -> None:
    """Raises: InvalidArgumentError: a function is being traced, in which SciPy cannot run."""
    if trace_in_progress() is not None:
        raise InvalidArgumentError(
            f"optimize.{name}: SciPy's solver steers the calls of the function, so it cannot be part of a traced function; call "
            "it outside (the function that it is given is traced and compiled anyway)."
        )


def parted(name: str, args: object) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """The tensors among the arguments, and a function that gives the arguments with others in their place.

    Python's numbers take the dtype of what they meet, so they are handed on as they are; nothing can be derived by them.
    """
    leaves, rebuild = flatten_present(as_tuple(args))

    def given(values: Sequence[Any]) -> tuple[Any, ...]:
        rest = iter(values)
        return tuple(rebuild([leaf if _is_number(leaf) else next(rest) for leaf in leaves]))

    return [tensor(name, leaf, "an argument") for leaf in leaves if not _is_number(leaf)], given


def _is_number(leaf: object) -> bool:
    return type(leaf) in (bool, int, float, complex)


@contextmanager
def steered() -> Iterator[None]:
    """Around the calls of a solver: tapes see none of its steps. In a batch, what differs from row to row is refused."""
    if any(isinstance(level, BatchLevel) for level in chain()):
        yield
        return
    with entered(unwatched()):
        yield


def is_recorded() -> bool:
    """Whether a tape or an accumulator may follow something, so that the solution needs a derivative."""
    return any(level.recorders for level in chain())


def as_tuple(args: object) -> tuple[Any, ...]:
    """SciPy's `args`: a tuple, or one argument."""
    return tuple(args) if isinstance(args, tuple) else (args,)
