"""The base of loss classes: values per sample from a function, weights, and the sum or mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.nest import leaves_of, map_leaves
from graphad.core.tensor import Tensor
from graphad.core.tracebacks import of_call
from graphad.module import snake_case
from graphad.ops.array import broadcast_to, shape
from graphad.ops.math import cast, divide_no_nan, reduce_mean, reduce_sum
from graphad.ops.nn.ranks import same_rank

_BY_WEIGHT = "mean_with_sample_weight"
_REDUCTIONS = {
    "sum_over_batch_size": reduce_mean,
    "mean": reduce_mean,
    "sum": reduce_sum,
    _BY_WEIGHT: reduce_mean,
    "none": None,
    None: None,
}


class Reductions:
    """The base of lists of names of reductions."""

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All names."""
        return ()

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises: InvalidArgumentError (a ValueError): there is no such name."""
        if key not in cls.all():
            raise InvalidArgumentError(
                f"Reduction: there is none called {key!r}; there are {', '.join(cls.all())}."
            )


class Reduction(Reductions):
    """Names of reductions. AUTO is one of older programs; no loss takes it."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)


class Loss(Configured):
    """Base class of losses; subclasses define `call(y_true, y_pred)`, a value per sample.

    Args:
      name: Name.
      reduction: "sum_over_batch_size" or "mean" for the mean of all values, "mean_with_sample_weight" for their sum over the
        sum of the weights, "sum", or "none".
      dtype: The dtype of labels and predictions; that of the predictions by default.
      function: A function of (labels, predictions), float tensors [batch, ...], to a value per sample.
    Call: (y_true, y_pred, sample_weight=None); weights multiply the values.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: DTypeLike | None = None,
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise InvalidArgumentError(
                f"{type(self).__name__}: there is no reduction {reduction!r}; there are "
                f"{', '.join(repr(name) for name in _REDUCTIONS if name)}."
            )
        self.reduction = reduction
        self.name = name or snake_case(type(self).__name__)
        self._dtype = None if dtype is None else as_dtype(dtype)

    def base_config(self) -> dict[str, Any]:
        """The name, the reduction, and the dtype where one was given."""
        config: dict[str, Any] = {"name": self.name, "reduction": self.reduction}
        return config if self._dtype is None else {**config, "dtype": self._dtype.name}

    @property
    def dtype(self) -> str:
        return (self._dtype or floatx_dtype()).name

    # A subclass says what it takes, which `Any` alone allows.
    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """A value per sample."""
        raise NotImplementedError(f"{type(self).__name__}: a loss must define call(y_true, y_pred).")

    def __call__(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Tensor:
        try:
            return self._reduced(y_true, y_pred, sample_weight)
        except Exception as error:  # raised on
            raise of_call(error)  # noqa: B904 - it is the same error

    def _reduced(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None) -> Tensor:
        values = lift(self._values(y_true, y_pred))
        if sample_weight is not None:
            values, weights = same_rank(values, cast(lift(sample_weight), values.dtype))
            values = values * weights
            if self.reduction == _BY_WEIGHT:
                return divide_no_nan(reduce_sum(values), reduce_sum(broadcast_to(weights, shape(values))))
        reduce = _REDUCTIONS[self.reduction]
        return values if reduce is None else reduce(values)

    def _values(self, y_true: TensorLike, y_pred: Any) -> Tensor:
        predictions = map_leaves(self._in_dtype, y_pred)
        first = next(iter(leaves_of(predictions)), None)
        dtype = floatx_dtype() if first is None else first.dtype
        return self.call(map_leaves(lambda part: cast(lift(part), dtype), y_true), predictions)

    def _in_dtype(self, x: Tensor) -> Tensor:
        x = floating(x)
        return x if self._dtype is None or x.dtype is self._dtype else cast(x, self._dtype)


class LossFunction(Loss):
    """A loss whose values come from the class's `function` of (labels, predictions, options)."""

    function: Callable[..., Tensor]

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, reduction, dtype)
        self._options = options
        vars(self).update(options)

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
        return type(self).function(y_true, y_pred, **self._options)

    def _values(self, y_true: TensorLike, y_pred: Any) -> Tensor:
        return self.call(y_true, y_pred if self._dtype is None else self._in_dtype(y_pred))


def floating(x: TensorLike) -> Tensor:
    """Predictions as a tensor; integers get the dtype of `keras.backend.floatx`."""
    x = lift(x)
    return x if x.dtype.is_differentiable else cast(x, floatx_dtype())


def targets(name: str, y_true: TensorLike, y_pred: Tensor) -> Tensor:
    """Labels as a tensor of the predictions' dtype, whatever theirs is: tables of NumPy are float64, networks float32."""
    y_true = lift_like(name, y_true, y_pred.dtype)
    return y_true if y_true.dtype is y_pred.dtype else cast(y_true, y_pred.dtype)
