"""The base class of metrics: variables that each batch updates, a result, and a reset; sums and means of values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from graphad.core.annotations import DTypeLike, NestLike, TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.levels import chain
from graphad.core.tensor import CPU, Tensor
from graphad.core.trackable import Trackable
from graphad.eager.variable import Variable
from graphad.layers import initializers
from graphad.module import snake_case
from graphad.ops.array import broadcast_to
from graphad.ops.array.shape import shape, size
from graphad.ops.math import cast, divide_no_nan, reduce_mean, reduce_prod, reduce_sum
from graphad.ops.nn.ranks import same_rank

F = TypeVar("F", bound=Callable[..., Any])


def beside_state(update: F) -> F:
    """A decorator of `update_state`, which runs on the device of the variables, with copies of what is elsewhere."""

    @functools.wraps(update)
    def updated(self: Any, *args: Any, **options: Any) -> Any:
        kept = self.variables[0].location
        here = next((level.place for level in chain() if getattr(level, "is_place", False)), CPU)
        if here == kept and all(_is_at(x, kept) for x in (*args, *options.values())):
            return update(self, *args, **options)
        from graphad.devices.level import on  # which programs without devices do not need
        from graphad.devices.transfer import copied

        with on(kept):
            args = tuple([x if _is_at(x, kept) else copied(x, kept) for x in args])
            return update(
                self,
                *args,
                **{name: x if _is_at(x, kept) else copied(x, kept) for name, x in options.items()},
            )

    return updated  # type: ignore[return-value]


def _is_at(x: object, place: str) -> bool:
    return not (isinstance(x, Tensor) and x.has_value) or x.location == place


class Metric(Configured, Trackable):
    """Base class. Subclasses make variables with `add_weight`, and define `update_state` and `result`.

    Args:
      dtype: The dtype of the variables; `keras.backend.floatx` by default.
      name: Name.
    Raises: NotImplementedError: a subclass lacks `update_state` or `result`, when it is called.
    """

    def __init__(self, dtype: DTypeLike | None = None, name: str | None = None) -> None:
        self._graphad_name = name or snake_case(type(self).__name__)
        self._graphad_dtype = floatx_dtype() if dtype is None else as_dtype(dtype)
        self._graphad_variables: list[Variable] = []

    def base_config(self) -> dict[str, Any]:
        """The name and the dtype."""
        return {"name": self.name, "dtype": self.dtype}

    @property
    def name(self) -> str:
        return self._graphad_name

    @property
    def dtype(self) -> str:
        return self._graphad_dtype.name

    @property
    def variables(self) -> list[Variable]:
        """The variables of this metric, then those of metrics among its attributes."""
        inner = [value for name, value in self.named_children() if isinstance(value, Metric)]
        return [*self._graphad_variables, *[variable for metric in inner for variable in metric.variables]]

    def add_variable(
        self,
        shape: Any = (),
        initializer: str = "zeros",
        dtype: DTypeLike | None = None,
        aggregation: str | None = "sum",
        name: str | None = None,
    ) -> Variable:
        """A new variable of this metric; `aggregation` has no effect, since a variable is on one device."""
        make: Callable[..., Any] = initializers.get(initializer) or initializers.Zeros()
        kept = self._graphad_dtype if dtype is None else as_dtype(dtype)
        made = Variable(lambda: make(list(shape), kept), trainable=False, name=name or "variable", dtype=kept)
        self._graphad_variables.append(made)
        return made

    def add_weight(
        self,
        shape: Any = (),
        initializer: Any = "zeros",
        dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> Variable:
        """The same as `add_variable`; a name may come first."""
        if isinstance(shape, str):
            shape, name = (), shape
        return self.add_variable(shape, initializer, dtype, name=name)

    def update_state(self, *args: Any, **options: Any) -> Any:
        """Take a batch into account."""
        raise NotImplementedError(f"{type(self).__name__}: a metric must define update_state.")

    def result(self) -> Tensor:
        """The value for all batches since the last reset."""
        raise NotImplementedError(f"{type(self).__name__}: a metric must define result.")

    def reset_state(self) -> None:
        """Forget all batches: all variables become 0."""
        for variable in self.variables:
            variable.assign(
                0.0 * variable.value() if variable.dtype.is_differentiable else variable.value() * 0
            )

    def __call__(self, *args: NestLike, **options: Any) -> Tensor:
        self.update_state(*args, **options)
        return self.result()


class Sum(Metric):
    """The sum of all values seen since the last reset.

    `update_state` takes a tensor of any shape and numeric dtype, and `sample_weight`, which broadcasts.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given weights that do not broadcast.
    Example:
      >>> metric = keras.metrics.Sum()
      >>> _ = metric.update_state([1.0, 2.0])
      >>> float(metric.result())
      3.0
    """

    def __init__(self, name: str = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable(name="total")

    def update_state(self, values: Any, sample_weight: TensorLike | None = None) -> None:
        """Take more values into account, each times its weight: a number, or weights of samples or values."""
        values = cast(lift(values), self._graphad_dtype)
        if sample_weight is not None:
            values, weights = self.weighted(values, sample_weight)
            if values.ndim > weights.ndim:
                values = reduce_sum(values, axis=list(range(weights.ndim, values.ndim)))
            values = values * weights
        self.total.assign_add(reduce_sum(values))

    def weighted(self, values: Tensor, sample_weight: TensorLike | None) -> tuple[Any, Any]:
        """Values and weights whose ranks fit. Raises: InvalidArgumentError: a rank is not known."""
        values, weights = same_rank(values, cast(lift(sample_weight), self._graphad_dtype))
        if values.ndim is None or weights.ndim is None:
            raise InvalidArgumentError(f"{self.name}: the ranks of values and sample_weight must be known.")
        return values, weights

    def result(self) -> Tensor:
        return lift(self.total)


class Mean(Sum):
    """The mean of all samples seen since the last reset.

    `update_state` takes a tensor of any shape and numeric dtype, and `sample_weight`, which broadcasts.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given weights that do not broadcast.
    Example:
      >>> metric = keras.metrics.Mean()
      >>> _ = metric.update_state([1.0, 2.0])
      >>> _ = metric.update_state(6.0)
      >>> float(metric.result())
      3.0
    """

    def __init__(self, name: str = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.count = self.add_variable(name="count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Take more values into account.

        Args:
          values: Tensor [samples, ...], of which each sample counts by its mean, or a scalar.
          sample_weight: How much each counts: a number for all, or weights of samples or of the values themselves.
        """
        dtype = self._graphad_dtype
        values = cast(lift(values), dtype)
        if sample_weight is None:
            samples = cast(reduce_prod(shape(values)[:1]), dtype)
            each = divide_no_nan(cast(size(values), dtype), samples)
            self.total.assign_add(divide_no_nan(reduce_sum(values), each))
            self.count.assign_add(samples)
            return
        values, weights = self.weighted(values, sample_weight)
        values = _mean_from(values, weights.ndim)
        weights = broadcast_to(weights, shape(values))
        self.total.assign_add(reduce_sum(_mean_from(values * weights, 1)))
        self.count.assign_add(reduce_sum(_mean_from(weights, 1)))

    def result(self) -> Tensor:
        """The mean, 0 before any value."""
        return divide_no_nan(self.total.value(), self.count.value())


def _mean_from(x: Any, axis: int) -> Any:
    """The mean over the axes from this one on."""
    return x if x.ndim <= axis else reduce_mean(x, axis=list(range(axis, x.ndim)))


class MeanMetricWrapper(Mean):
    """The mean of what `fn(y_true, y_pred, **options)` gives for each sample.

    Args:
      fn: A function of labels and predictions, tensors of any shapes and dtypes, that gives a float tensor.
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      options: Further arguments of `fn`.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given weights that do not broadcast.
    Example:
      >>> metric = keras.metrics.MeanMetricWrapper(lambda labels, guesses: abs(constant(labels) - guesses))
      >>> _ = metric.update_state([1.0, 2.0], [2.0, 4.0])
      >>> float(metric.result())
      1.5
    """

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **options: Any
    ) -> None:
        super().__init__(name or snake_case(type(self).__name__), dtype)
        self._graphad_function, self._graphad_options = fn, options

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Take a batch of labels and predictions into account."""
        super().update_state(self._graphad_function(y_true, y_pred, **self._graphad_options), sample_weight)
