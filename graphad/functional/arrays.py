"""NumPy's functions that apply a function to slices or elements, computed for all of them at once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import check_function
from graphad.core.shapes import normalize_axis
from graphad.core.tensor import Tensor
from graphad.functional.batching import vmap
from graphad.ops import array
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.numpy import moveaxis
from graphad.ops.numpy.promotion import rank_of, tensor_of

_CORE = re.compile(r"\(\s*([\w\s,]*?)\s*\)")


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: TensorLike, *args: Any, **kwargs: Any
) -> Tensor:
    """A function of vectors, applied to all slices of a tensor along an axis, computed for all at once.

    Args:
      func1d: A function of a vector and of `args`, to a tensor of any rank; it is called once.
      axis: The axis that the vectors lie along.
      arr: Tensor of rank 1 or more, any dtype.
      args, kwargs: Further arguments, the same for all slices.
    Returns: Tensor of the dtype of the results, with their axes where `axis` was.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.apply_along_axis(numpy.ptp, 0, [[1.0, 5.0], [4.0, 2.0]]).numpy()
      array([3., 3.])
    """
    check_function("apply_along_axis", func1d)
    x = tensor_of(arr)
    axis = normalize_axis("apply_along_axis", axis, rank_of("apply_along_axis", x))
    x = moveaxis(x, axis, -1)
    lead = array.shape(x)[:-1]
    rows = array.reshape(x, array.concat([[-1], array.shape(x)[-1:]], 0))
    found = vmap(lambda row: tensor_of(func1d(row, *args, **kwargs)))(rows)
    own = rank_of("apply_along_axis", found) - 1
    found = array.reshape(found, array.concat([lead, array.shape(found)[1:]], 0))
    rank = rank_of("apply_along_axis", x) - 1
    return moveaxis(found, tuple(range(rank, rank + own)), tuple(range(axis, axis + own)))


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = (), signature: str | None = None
) -> Callable[..., Any]:
    """A function of scalars, or of the slices that a signature names, as a function of tensors that are broadcast together.

    Args:
      pyfunc: A function of scalars; of tensors where there is a signature. It is called once for all elements.
      excluded: Positions and names of arguments that are handed on as they are.
      signature: The axes of each argument and result, such as "(n),(m,n)->(m)".
    Returns: A function of tensors; numbers and lists become tensors as in `asarray`.
    Raises: InvalidArgumentError (a ValueError): the signature cannot be read. When it is called: shapes do not broadcast, or
      ranks are too small for the signature.
    Example:
      >>> numpy.vectorize(lambda x, y: x * y + 1)([1.0, 2.0], [[1.0], [10.0]]).numpy()
      array([[ 2.,  3.],
             [11., 21.]])
    """
    check_function("vectorize", pyfunc)
    ranks = None if signature is None else _core_ranks(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        free = [k for k in range(len(args)) if k not in excluded]
        named = [key for key in kwargs if key not in excluded]
        given = [args[k] for k in free] + [kwargs[key] for key in named]
        if not given:
            return pyfunc(*args, **kwargs)
        if ranks is not None and len(ranks) != len(given):
            raise InvalidArgumentError(
                f"vectorize: {len(given)} arguments for the signature {signature!r}; it has {len(ranks)}."
            )
        xs = [tensor_of(x) for x in given]
        inner = ranks or [0] * len(xs)
        outer = [rank_of("vectorize", x) - n for x, n in zip(xs, inner, strict=True)]
        if min(outer) < 0:
            raise InvalidArgumentError(
                f"vectorize: arguments of ranks {[x.ndim for x in xs]} are too small for {signature!r}."
            )
        lead = functools.reduce(
            broadcast_dynamic_shape, [array.shape(x)[:k] for x, k in zip(xs, outer, strict=True)]
        )
        flat = [
            array.reshape(
                array.broadcast_to(x, array.concat([lead, array.shape(x)[k:]], 0)),
                array.concat([[-1], array.shape(x)[k:]], 0),
            )
            for x, k in zip(xs, outer, strict=True)
        ]

        def one(*rows: Any) -> Tensor | tuple[Tensor, ...]:
            whole, options = list(args), dict(kwargs)
            for k, row in zip(free, rows, strict=False):
                whole[k] = row
            options.update(zip(named, rows[len(free) :], strict=True))
            found = pyfunc(*whole, **options)
            return tuple(tensor_of(y) for y in found) if isinstance(found, tuple) else tensor_of(found)

        found = vmap(one)(*flat)

        def back(y: Tensor) -> Tensor:
            return array.reshape(y, array.concat([lead, array.shape(y)[1:]], 0))

        return tuple(back(y) for y in found) if isinstance(found, tuple) else back(found)

    return vectorized


def _core_ranks(signature: str) -> list[int]:
    before, arrow, _ = signature.partition("->")
    groups = _CORE.findall(before)
    if not arrow or _CORE.sub("", before).strip(" ,"):
        raise InvalidArgumentError(
            f"vectorize: the signature {signature!r} cannot be read; write it as '(n),(m)->()'."
        )
    return [len([name for name in group.split(",") if name.strip()]) for group in groups]
