"""Labels as losses take them."""

from __future__ import annotations

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.indicators import one_hot
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.static import get_static_value


def to_categorical(x: TensorLike, num_classes: int | None = None) -> Tensor | np.ndarray:
    """Rows with a one at the place of each class and zeros elsewhere.

    Args:
      x: Classes, integers of any shape; a last axis of size 1 is left out.
      num_classes: The number of classes, by default one more than the largest.
    Returns: float32 [..., num_classes]; a tensor for a tensor, else an array.
    Raises: DTypeError (a TypeError): the classes are no whole numbers. InvalidArgumentError (a ValueError): a class is not in
      [0, num_classes), or their number is needed and not known while tracing.
    Example:
      >>> keras.utils.to_categorical([0, 2])
      array([[1., 0., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    classes = x if isinstance(x, Tensor) else lift(np.asarray(x))
    if classes.ndim is not None and classes.ndim > 1 and classes.shape[-1] == 1:
        classes = squeeze(classes, -1)
    known = get_static_value(classes)
    if known is None:
        if num_classes is None:
            raise InvalidArgumentError("to_categorical: num_classes must be given while tracing.")
        return one_hot(classes, num_classes)
    numbers = np.asarray(known)
    if numbers.dtype.kind not in "iub" and not (numbers == np.floor(numbers)).all():
        raise DTypeError(
            f"to_categorical: the classes have dtype {numbers.dtype}, and not all are whole numbers."
        )
    indices = numbers.astype(np.int64)
    count = int(num_classes) if num_classes is not None else int(indices.max(initial=-1)) + 1
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        odd = indices.min() if indices.min() < 0 else indices.max()
        raise InvalidArgumentError(f"to_categorical: class {odd} is not in [0, {count}).")
    rows = np.zeros((*indices.shape, count), np.float32)
    np.put_along_axis(rows, indices[..., None], 1.0, -1)
    return lift(rows) if isinstance(x, Tensor) else rows
