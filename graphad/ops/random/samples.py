"""Numbers from distributions with parameters, by NumPy's methods on the stream of a key; of these here the counts, Poisson and
binomial, which have no derivative. Those of the gamma distribution are in `gammas.py`, with the special functions of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    DTypeLike,
    Ranked,
    RowAxes,
    RowAxis,
)
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind_of
from graphad.core.op import Op, define, no_form, no_gradient
from graphad.core.schema import Given
from graphad.core.shapes import are_compatible, broadcast_dims, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.sizes import requested, require_sizes
from graphad.ops.array.support import as_stacked
from graphad.ops.random import philox
from graphad.ops.random.draw import require_key, rows_of_keys
from graphad.ops.rules import FLOATING, elementwise_rows, require_kind, same_dtype


def drawn(
    kind: str, keys: Array, shape: Sequence[int], parameters: Sequence[Array], dtype: np.dtype[Any]
) -> Array:
    """A draw for each key of a stack of keys; the parameters are broadcast against all of them.

    Numbers that are the same for all elements are handed on as such: NumPy draws the same from them, more quickly.
    """
    # How many words a number takes depends on them, so that no number can be drawn before those in front of it.
    name = f"random.Generator.{'standard_gamma' if kind == 'gamma' else kind}"
    keys, *parameters = [arrays.here(x, name) for x in (keys, *parameters)]
    lead = keys.shape[:-1]
    wide = [np.asarray(p, np.float64) for p in parameters]
    if any(p.size != 1 for p in wide):
        wide = [np.broadcast_to(p, (*lead, *shape)) for p in wide]
    out = np.empty((*lead, *shape), dtype)
    for place in np.ndindex(lead):
        source = np.random.Generator(philox.stream(keys[place]))
        given = [p.reshape(()) if p.size == 1 else p[place] for p in wide]
        found = _METHODS[kind](source, shape, *given)
        out[place] = np.where(np.isfinite(found), found, -1) if out.dtype.kind in "iu" else found
    return out


def _where(fits: Array | bool, found: Any, otherwise: Array | float) -> Any:
    return found if np.all(fits) else np.where(fits, found, otherwise)


def _gamma(source: Any, shape: tuple[int, ...], alpha: Any) -> Any:
    fits = alpha >= 0
    return _where(fits, source.standard_gamma(_where(fits, alpha, 1.0), shape), np.nan)


def _poisson(source: Any, shape: tuple[int, ...], rate: Array) -> Any:
    fits = (rate >= 0) & (rate < 2.0**62)
    found = _where(fits, np.asarray(source.poisson(_where(fits, rate, 1.0), shape), np.float64), -1.0)
    return _where(rate != np.inf, found, np.inf)


def _binomial(source: Any, shape: tuple[int, ...], counts: Array, probabilities: Array) -> Any:
    none, every = (counts <= 0) | (probabilities <= 0), probabilities >= 1
    fits = (counts < 2.0**62) & (none | every | (probabilities < 1))
    number = np.asarray(_where(fits & ~none, counts, 0.0)).astype(np.int64)
    p = _where(fits & ~none & ~every, probabilities, 0.5)
    found = _where(none | ~every, np.asarray(source.binomial(number, p, shape), np.float64), number)
    return _where(none | fits, found, np.nan)


_METHODS: dict[str, Callable[..., Any]] = {"gamma": _gamma, "poisson": _poisson, "binomial": _binomial}


class Sample(Op):
    """An array of `shape` for each key of a stack of keys, drawn with parameters that are broadcast to the shape."""

    known_as = "random"
    parameters: ClassVar[int]
    shape: Given[tuple[Size, ...]]
    lower = no_form("how many random numbers a sample takes is known when it is accepted")

    def checked(self, key: TensorSpec, parameters: Sequence[TensorSpec], dtype: DType) -> TensorSpec:
        """The spec of the result. Raises: InvalidArgumentError: the parameters do not broadcast to the shape."""
        require_key(key)
        same_dtype(self.name, parameters)
        for parameter in parameters:
            require_kind(self.name, parameter, FLOATING, "parameter")
        if self.shape is None or key.dims is None:
            return TensorSpec.of(None, dtype)
        dims = (*key.dims[:-1], *self.shape)
        for parameter in parameters:
            if parameter.dims is None:
                continue
            found = broadcast_dims(self.name, dims, parameter.dims)
            if found is not None and not are_compatible(found, dims):
                raise InvalidArgumentError(
                    f"{self.name}: a parameter has shape {format_dims(parameter.dims)}, the result {format_dims(dims)}, to which "
                    "it must be broadcast."
                )
        return TensorSpec.of(dims, dtype)

    def batch(self, ctx: BatchContext, key: Ranked, *rest: Ranked) -> Tensor:
        given = len(rest) - self.parameters
        if self.shape is None or any(ctx.stacked(1 + self.parameters + k) for k in range(given)):
            return ctx.rowwise(self, key, *rest)
        rank = len(key.dims) - 1 - ctx.stacked(0) + len(self.shape)
        aligned = []
        for k, x in enumerate(rest[: self.parameters], 1):
            missing = rank - (len(x.dims) - 1) if ctx.stacked(k) else 0
            aligned.append(bind(ExpandDims(tuple(range(1, 1 + missing))), x) if missing else x)
        return bind(self, as_stacked(ctx, 0, key), *aligned, *rest[self.parameters :])

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is not None or self.shape is None:
            return rows_of_keys(specs, axes)
        whole = TensorSpec.of((*(specs[0].dims or (0,))[:-1], *self.shape), specs[1].dtype)
        return elementwise_rows([whole, *specs[1:]], [None, *axes[1:]])

    def value_rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        # The number of words that an element consumes depends on its parameter, and so does the start of the next element.
        return rows_of_keys(specs, axes)


@define
class DrawCounts(Sample):
    """Samples of `dtype` of the Poisson distribution with a rate, or of the binomial distribution with a number of trials and a
    probability. A rate that is invalid gives -1, an infinite one infinity; trials of which no number is known give NaN. Integers
    hold -1 for both. The key is two integers; see `Draw`. NumPy's `Generator.poisson` and `binomial` draw them from the words of
    the key.
    """

    name = "draw_counts"
    keeps = (False, False)
    shape: Given[tuple[Size, ...]]
    kind: Literal["binomial", "poisson"]
    dtype: DType

    @property
    def parameters(self) -> int:  # type: ignore[override]
        return 1 if self.kind == "poisson" else 2

    def infer(self, key: TensorSpec, *parameters: TensorSpec) -> TensorSpec:
        if len(parameters) != self.parameters:
            raise InvalidArgumentError(
                f"draw_counts: {len(parameters)} parameters were given; {self.kind} takes {self.parameters}."
            )
        require_kind_of(f"random.{self.kind}", self.dtype, REAL)
        return self.checked(key, parameters, self.dtype)

    def eval(self, key: Array, *parameters: Array) -> Array:
        return drawn(self.kind, key, self.shape, parameters, self.dtype.numpy)

    vjp = no_gradient("counts are integers")


def counts_of(
    op: str, kind: Any, key: Tensor, size: object, parameters: Sequence[Any], dtype: DTypeLike
) -> Tensor:
    """Samples of a distribution of counts, drawn with a key; the parameters are float64."""
    sizes, given = requested(op, size)
    require_sizes(op, sizes)
    return bind(DrawCounts(sizes, kind, as_dtype(dtype)), key, *parameters, *given)
