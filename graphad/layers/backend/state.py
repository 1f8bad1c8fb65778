"""Variables, random numbers, and what is said of a session, as `keras.backend` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.gradient.of_graph import gradients as gradients_of
from graphad.layers.backend.arrays import to_dense
from graphad.layers.backend.formats import LAST, dtype_of
from graphad.ops import array, math, nn, random
from graphad.ops.sparse.tensor import SparseTensor

_uids: Counter[str] = Counter()


def backend() -> str:
    """The library whose names these are: "tensorflow".

    Returns: A string.
    """
    return "tensorflow"


def image_data_format() -> str:
    """Where images have their channels by default: "channels_last".

    Returns: A string.
    """
    return LAST


def get_uid(prefix: str = "") -> int:
    """1 for the first call with that prefix, 2 for the second, and so on.

    Args:
      prefix: Text.
    Returns: An integer.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    _uids[prefix] += 1
    return _uids[prefix]


# -- variables ---------------------------------------------------------------------------------------------------------------


def variable(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
) -> Variable:
    """As `graphad.Variable`, of dtype `floatx` by default.

    Args:
      value: Anything that converts to a tensor, of any shape.
      dtype: The dtype; `floatx` for None.
      constraint: A function that optimizers apply to the new value.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return Variable(value, dtype=dtype_of(dtype), name=name, constraint=constraint)


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """A variable of zeros.

    Args:
      shape: The shape.
      dtype: The dtype; `floatx` for None.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return variable(array.zeros(shape, dtype_of(dtype)), dtype, name)


def ones(shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """A variable of ones.

    Args:
      shape: The shape.
      dtype: The dtype; `floatx` for None.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return variable(array.ones(shape, dtype_of(dtype)), dtype, name)


def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """A variable, the identity matrix.

    Args:
      size: The number of rows.
      dtype: The dtype; `floatx` for None.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return variable(array.eye(size, dtype=dtype_of(dtype)), dtype, name)


def random_normal_variable(
    shape: ShapeLike,
    mean: float,
    scale: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable of normal numbers.

    Args:
      shape: The shape.
      mean: The mean: a number or a tensor.
      scale: The standard deviation.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return variable(random_normal(shape, mean, scale, dtype, seed), dtype, name)


def random_uniform_variable(
    shape: ShapeLike,
    low: float,
    high: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable of uniform numbers.

    Args:
      shape: The shape.
      low: The lower bound.
      high: The upper bound.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return variable(random_uniform(shape, low, high, dtype, seed), dtype, name)


def get_value(x: object) -> object:
    """The value of a tensor or variable as an array; all else stays.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return x.numpy() if isinstance(x, Tensor | Variable) else x


def eval(x: TensorLike | SparseTensor) -> object:
    """As `get_value`, of a sparse tensor too.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return get_value(to_dense(x))


def batch_get_value(tensors: Iterable[Any]) -> list[Any]:
    """The values of several tensors or variables as arrays.

    Args:
      tensors: Tensors that are equal but for the size along the axis.
    Returns: A list of arrays.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return [x.numpy() for x in tensors]


def set_value(x: Variable, value: TensorLike) -> None:
    """Assign a value, as an array of the variable's dtype.

    Args:
      x: A variable.
      value: Anything that converts to a tensor of the variable's shape.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x.assign(np.asarray(value, x.dtype.numpy))


def batch_set_value(tuples: Iterable[tuple[Variable, Any]]) -> None:
    """Assign values to variables, pair by pair.

    Args:
      tuples: Pairs of a variable and its new value.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    for x, value in tuples:
        set_value(x, value)


def update(x: Variable, new_x: TensorLike) -> Variable:
    """As `Variable.assign`.

    Args:
      x: A variable.
      new_x: A tensor of the shape and dtype of x.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return x.assign(new_x)


def update_add(x: Variable, increment: TensorLike) -> Variable:
    """As `Variable.assign_add`.

    Args:
      x: A variable.
      increment: A tensor of the shape and dtype of x.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return x.assign_add(increment)


def update_sub(x: Variable, decrement: TensorLike) -> Variable:
    """As `Variable.assign_sub`.

    Args:
      x: A variable.
      decrement: A tensor of the shape and dtype of x.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return x.assign_sub(decrement)


def moving_average_update(x: Variable, value: TensorLike, momentum: TensorLike) -> Variable:
    """x becomes momentum x + (1 - momentum) value.

    Args:
      x: A variable.
      value: A tensor of the shape and dtype of x.
      momentum: How much of x is kept, 0 to 1.
    Returns: The variable.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    kept, new = (math.cast(lift(part), x.dtype) for part in (momentum, value))
    return x.assign_sub((x - new) * (1 - kept))


def cast_to_floatx(x: TensorLike) -> Tensor | np.ndarray:
    """A tensor or an array in dtype `floatx`.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    dtype = dtype_of(None)
    return math.cast(x, dtype) if isinstance(x, Tensor | Variable) else np.asarray(x, dtype.numpy)


# -- derivatives -------------------------------------------------------------------------------------------------------------


def gradients(loss: TensorLike, variables: Variable | Tensor | Sequence[Variable | Tensor]) -> Any:
    """As `graphad.gradients`, inside of a function that is being traced.

    Args:
      loss: Tensor of any shape, a float dtype.
      variables: Tensors or variables, one or a list.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return gradients_of(loss, variables)


def stop_gradient(
    variables: TensorLike | list[TensorLike] | tuple[TensorLike, ...],
) -> Tensor | Iterator[Tensor]:
    """As `graphad.stop_gradient`, of each of a list too.

    Args:
      variables: Tensors or variables of any shape and dtype, one or a list.
    Returns: A tensor of its shape and dtype, or an iterator over those of a list.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    if isinstance(variables, list | tuple):
        return map(array.stop_gradient, variables)
    return array.stop_gradient(variables)


# -- random numbers ----------------------------------------------------------------------------------------------------------


def _seed(seed: int | None) -> int:
    """A seed that `np.random.seed` determines, as in Keras."""
    return int(np.random.randint(10_000_000)) if seed is None else seed


def dropout(
    x: TensorLike, level: float, noise_shape: ShapeLike | None = None, seed: int | None = None
) -> Tensor:
    """As `graphad.nn.dropout`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      level: The part that becomes 0.
      noise_shape: The shape of what is drawn; sizes of 1 are shared.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return nn.dropout(x, level, noise_shape, _seed(seed))


def random_bernoulli(
    shape: ShapeLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """1 with probability p, else 0.

    Args:
      shape: The shape.
      p: The probability of 1.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: Tensor of that shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.cast(random_uniform(shape, 0.0, 1.0, dtype, seed) <= p, dtype_of(dtype))


def random_normal(
    shape: ShapeLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """As `graphad.random.normal`, of dtype `floatx` by default.

    Args:
      shape: The shape.
      mean: The mean: a number or a tensor.
      stddev: The standard deviation.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: Tensor of that shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return random.normal(shape, mean, stddev, dtype_of(dtype), _seed(seed))


def random_uniform(
    shape: ShapeLike,
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """As `graphad.random.uniform`, of dtype `floatx` by default.

    Args:
      shape: The shape.
      minval: The lower bound.
      maxval: The upper bound.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: Tensor of that shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return random.uniform(shape, minval, maxval, dtype_of(dtype), _seed(seed))


def truncated_normal(
    shape: ShapeLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """As `graphad.random.truncated_normal`, of dtype `floatx` by default.

    Args:
      shape: The shape.
      mean: The mean: a number or a tensor.
      stddev: The standard deviation.
      dtype: The dtype; `floatx` for None.
      seed: An integer, or None for a number of NumPy's generator.
    Returns: Tensor of that shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return random.truncated_normal(shape, mean, stddev, dtype_of(dtype), _seed(seed))
