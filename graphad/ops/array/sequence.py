"""range and linspace. On Python numbers they are constants, on tensors ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
from graphad.core.annotations import Array, DTypeLike, FoldContext, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind, constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, stands_for_tensor, to_numpy
from graphad.core.dims import Dim, Size, run_time_symbols
from graphad.core.dtypes import DType, as_dtype, float32, float64, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INEXACT, require_kind, require_same_dtype
from graphad.core.levels import current
from graphad.core.op import MIXED, Op, define, else_eval, no_batch, no_gradient
from graphad.core.references import AT
from graphad.core.run_sizes import Sized
from graphad.core.schema import Given, Number
from graphad.core.shapes import broadcast_dims, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.shape import shape as sizes_of
from graphad.ops.array.sizes import known_value, require_count
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.array.support import (
    WithoutInputs,
    in_memory,
    known_scalar,
    require_number,
    require_scalar,
    static_int,
)
from graphad.ops.math.arithmetic import Add, multiply_no_nan
from graphad.ops.math.cast import Cast, cast
from graphad.ops.math.rounding import ceil, rint
from graphad.ops.math.select import maximum, where

# Members of a range that a traced function makes when it runs, if it needs it: loops count through it.
_LONG = 1 << 20
_MOST = 2**47  # NumPy has no longer arrays, and makes an empty one where their size overflows


@define
class Steps(WithoutInputs):
    """start + i * delta for i = 0 to size - 1, computed in `dtype`."""

    name = "steps"
    is_prefix = True
    start: Number
    size: Size
    delta: Number
    dtype: DType

    def infer(self) -> TensorSpec:
        return TensorSpec.of((self.size,), self.dtype)

    def eval(self) -> Array:
        return _members(self.start, self.size, self.delta, self.dtype)  # type: ignore[no-any-return]


@define
class Range(Op):
    """start + i * delta for i from 0 to max(ceil((limit - start) / delta), 0) - 1, for scalars of one dtype; delta is not 0. An
    error unless there are so many as `size` says, if it does.
    """

    name, version = "range", 2
    evenly = (0, 2)
    total = False
    takes_symbols = False
    keeps = (False, False)
    size: Size | None = None

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        """A range had as many members as its limits say."""
        return {"size": None, **attributes}

    def infer(self, start: TensorSpec, limit: TensorSpec, delta: TensorSpec) -> TensorSpec:
        for spec, word in ((start, "start"), (limit, "limit"), (delta, "delta")):
            require_scalar("range", spec, word)
            require_same_dtype("range", spec, start, (word, "start"))
        return TensorSpec.of((self.size,), start.dtype)

    def eval(self, start: Array, limit: Array, delta: Array) -> Array:
        dtype = dtypes.from_numpy(start.dtype)
        numbers = start.item(), limit.item(), delta.item()
        count = _count(*numbers, dtype)
        if self.size is not None and count != self.size:
            raise InvalidArgumentError(f"range: it has {count} members and was made to have {self.size}.")
        return _members(numbers[0], count, numbers[2], dtype)  # type: ignore[no-any-return]

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """Integers are counted in 64 bits; `sized` says nothing of a negative number."""
        if self.size is not None:
            return None
        start, limit, delta = inputs
        if start.dtype in (float32, float64):
            return _with_counted_floats(sized, start, limit, delta)
        step = known_value(delta)
        if not start.dtype.is_integer or step is None or not step.item():
            return None
        first, last = cast(start, int64), cast(limit, int64)
        step = step.item()
        count = last - first
        if step != 1:
            count = (count + (step - (1 if step > 0 else -1))) // lift(np.int64(step))
        size = sized(count)
        if size is None:
            return None
        size = size if isinstance(size, Dim) else int(size)
        first = known_value(start)
        if step == 1 and first is not None and first.item() == 0:
            return Steps(0, size, 1, start.dtype), ()
        return Range(size), inputs  # which refuses numbers that lead away from the limit

    def measures(self, inputs: Sequence[TensorSpec]) -> Sequence[Any]:
        """The size of a range from 0 by 1 is that of the slice as far as its limit, which the run compares. Sums of sizes are
        compared only: other ranges find these."""
        names = run_time_symbols([self.size])
        is_one = len(names) == 1 and self.size == Dim.symbol(*names)
        return [(self.size, self.size, 1, None, (AT, 1))] if is_one else ()

    @else_eval("its numbers say how many members it has")
    def lower(self, start: TensorSpec, limit: TensorSpec, delta: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Counted()

    vjp = no_gradient("a range is made of integers, or changes its length with its limits")
    batch = no_batch("its length comes from values, of which each row has its own")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None if all(axis is None for axis in axes) else MIXED

    def fold(self, ctx: FoldContext, start: Ranked, limit: Ranked, delta: Ranked) -> Tensor | None:
        first, last, step = (known_scalar(ctx, x) for x in (start, limit, delta))
        if first is None or last is None or step is None or isinstance(step, Dim):
            return None
        if not isinstance(first, Dim) and not isinstance(last, Dim):
            count = _count(first, last, step, start.dtype)
            if count > _LONG and start.dtype.is_integer:
                return bind(Steps(first, count, step, start.dtype))
            return lift(_members(first, count, step, start.dtype))
        if step not in (1, -1):
            return None
        count = (last - first) * step
        if not isinstance(first, Dim):
            return bind(Steps(first, count, step, start.dtype))
        return bind(Steps(0, count, step, start.dtype)) + start


def _with_counted_floats(
    sized: Sized, start: Tensor, limit: Tensor, delta: Tensor
) -> tuple[Op, Sequence[Tensor]] | None:
    """The steps of `_count` and `_members`; a number that these refuse is negative, or none."""
    leads = ((delta > 0) & (start <= limit)) | ((delta < 0) & (start >= limit))
    size = sized(cast(where(leads, ceil((limit - start) / delta), -1.0), int64))
    if size is None:
        return None
    steps = bind(Steps(0, size if isinstance(size, Dim) else int(size), 1, float64))
    members = steps * cast(delta, float64), cast(start, float64)
    return (Add(), members) if start.dtype is float64 else (Cast(start.dtype), (members[0] + members[1],))


def _count(start: Any, limit: Any, delta: Any, dtype: DType) -> int:
    """The length of a range. For floats it is computed in `dtype`, in which 0.3 / 0.1 may be 3."""
    if delta == 0:
        raise InvalidArgumentError(
            "range: Requires delta != 0: 0; give a step that leads from start to limit."
        )
    if (start > limit and delta > 0) or (start < limit and delta < 0):
        sign = "<=" if delta > 0 else ">="
        raise InvalidArgumentError(
            f"range: Requires start {sign} limit when delta is {'positive' if delta > 0 else 'negative'}: {start}/{limit}."
        )
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return -((start - limit) // delta)
    with np.errstate(all="ignore"):
        first, last, step = np.array([start, limit, delta], dtype.numpy if dtype.is_floating else np.float64)
        steps = float(abs((last - first) / step))
    if not math.isfinite(steps):
        raise InvalidArgumentError(
            f"range: from {start} to {limit} by steps of {delta} there is no finite number of members; give finite numbers."
        )
    return math.ceil(steps)


def _require_room(count: int) -> None:
    if count > _MOST:
        raise MemoryError(f"Unable to allocate an array of {count} elements")


def _spaced(start: Any, stop: Any, count: int, axis: int = 0) -> Array:
    """The numbers of `linspace`; NumPy makes none where their number wraps around."""
    _require_room(count)
    return np.linspace(start, stop, count, axis=axis)


def _members(start: Any, count: int, delta: Any, dtype: DType) -> Any:
    _require_room(count)
    if type(start) is type(delta) is int and delta and dtype.is_integer:
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        if least <= start <= most and least <= start + count * delta <= most:
            return np.arange(start, start + count * delta, delta, dtype=dtype.numpy)
    if dtype.is_integer:
        return (np.arange(count, dtype=np.int64) * delta + start).astype(dtype.numpy)
    return (np.arange(count, dtype=np.float64) * delta + start).astype(dtype.numpy)


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """start, start + delta, start + 2 delta, ... as far as `limit`, which is left out.

    Args:
      start: The first member; with `limit` left out it is the limit, and 0 is the start. A vector of one number counts as the
        number, for all three.
      limit: Where to stop.
      delta: The step.
      dtype: The dtype; by default that of the arguments (float wins over int, 64 bits over 32).
    Returns: Tensor [n]. Its gradient is None.
    Raises: InvalidArgumentError: `delta` is 0 or leads away from `limit`, or a number is not finite.
    Example:
      >>> range(2, 10, 3).numpy()
      array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    arguments: tuple[Any, ...] = (start, limit, delta)
    if not any(stands_for_tensor(x) for x in arguments):
        for x, word in zip(arguments, ("start", "limit", "delta"), strict=True):
            require_number("range", x if type(x) is int else _alone(x), word)
        found = _common([to_numpy(x) for x in arguments]) if dtype is None else as_dtype(dtype)
        first, last, step = (x if type(x) is int else np.asarray(x).item() for x in arguments)
        return _range_of_numbers(first, last, step, found)
    if dtype is None:
        own = [x.dtype for x in arguments if stands_for_tensor(x)]
        found = max(own, key=_order)
        if not found.is_floating:
            others = [to_numpy(x) for x in arguments if type(x) is not int and not stands_for_tensor(x)]
            found = max(found, _common(others), key=_order) if others else found
    else:
        found = as_dtype(dtype)
    converted = [_converted(x, found) for x in arguments]
    known = None if current() is None else [known_value(x) for x in converted]
    if known is None or any(x is None or x.ndim for x in known):
        return bind(Range(), *converted)
    # Limits that are known while tracing, such as sizes, determine the length as Python numbers do.
    first, last, step = (x.item() for x in known)
    return _range_of_numbers(first, last, step, found)


def _range_of_numbers(first: Any, last: Any, step: Any, dtype: DType) -> Tensor:
    count = _count(first, last, step, dtype)
    numbers = first, last, step
    if _LONG < count <= _MOST and current() is not None and all(_fits(x, dtype) for x in numbers):
        operands = [lift(dtype.numpy.type(x)) for x in numbers]
        return bind(Range(count), *operands)
    return constant_here(in_memory("range", _members, first, count, step, dtype))


def _fits(number: float, dtype: DType) -> bool:
    """Whether integers of a dtype have this number; range(0.5, n, dtype=int32) rounds its members down, not its limits."""
    if not dtype.is_integer or number != int(number):
        return False
    limits = np.iinfo(dtype.numpy)
    return bool(limits.min <= number <= limits.max)


def _order(dtype: DType) -> tuple[bool, int]:
    return dtype.is_floating, dtype.itemsize


def _common(values: Sequence[Array]) -> DType:
    return max([dtypes.from_numpy(x.dtype) for x in values], key=_order)


def _alone(x: Any) -> Any:
    """The number in a vector of one, which stands for it; anything else itself."""
    is_vector = len(x) == 1 if isinstance(x, list | tuple) else getattr(x, "shape", ()) == (1,)
    return x[0] if is_vector else x


def _converted(x: TensorLike, dtype: DType) -> Any:
    if not stands_for_tensor(x):
        x = lift(x, dtype)
    else:
        x = lift(x)
        if x.dtype is not dtype:
            x = bind(Cast(dtype), x)
    return bind(Reshape(()), x) if x.dims == (1,) else x


@define
class UnitSteps(WithoutInputs):
    """i / (n - 1) for i = 0 to n - 1; 0 for n = 1."""

    name, version = "unit_steps", 2
    known_as, words = "linspace", {"n": "num"}
    n: Given[Size]
    dtype: DType

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"n": (AT, 1), **attributes}  # it was an input

    @staticmethod
    def _n_was_number(attributes: dict[str, Any]) -> dict[str, Any]:
        """Its `n` is always a number."""
        return attributes

    formerly = {"unit_steps_of": _n_was_number}

    def infer(self) -> TensorSpec:
        return TensorSpec.of((self.n,), self.dtype)

    def eval(self) -> Array:
        steps: Array = in_memory(self.caller, _spaced, 0.0, 1.0, self.n)
        return steps.astype(self.dtype.numpy)

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """In the steps of NumPy, for a number that the run finds."""
        if not run_time_symbols([self.n]):
            return None
        most = maximum(cast(bind(SizeVector((self.n,), int64, True)), float64) - 1.0, 1.0)
        places = bind(Steps(0, self.n, 1, float64))
        return Cast(self.dtype), (where(places == most, 1.0, places * (1.0 / most)),)


@blaming
def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis: int = 0
) -> Tensor:
    """`num` values in equal steps from `start` to `stop`, both included.

    Args:
      start, stop: Numbers or float or complex tensors that broadcast together; differentiable. Integers become floats as by `/`.
      num: How many, 0 or more: an int, or an integer scalar tensor.
      axis: Where the new axis goes in the result, for `start` and `stop` that are not scalars.
    Returns: Tensor [num] for scalars.
    Raises: InvalidArgumentError (a ValueError): `num` is negative, or the shapes do not fit.
    Example:
      >>> linspace(0.0, 1.0, 5).numpy()
      array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = static_int("linspace", num, "num")
    require_count("linspace", count, "num")
    fixed = not any(stands_for_tensor(x) for x in (start, stop))
    if fixed and count is not None:
        dtype = _common([to_numpy(start), to_numpy(stop)])
        if dtype.is_integer:
            dtype = float32 if dtype.itemsize < 4 else float64
        shape = broadcast_dims("linspace", np.shape(to_numpy(start)), np.shape(to_numpy(stop))) or ()
        place = normalize_axis("linspace", axis, len(shape) + 1)
        return lift(in_memory("linspace", _spaced, start, stop, count, place).astype(dtype.numpy))
    first: Any = (
        lift(start)
        if isinstance(start, Tensor) or not isinstance(stop, Tensor)
        else lift_like("linspace", start, stop.dtype)
    )
    last: Any = lift_like("linspace", stop, first.dtype)
    if first.dtype.is_integer and last.dtype is first.dtype:
        wide = float32 if first.dtype.itemsize < 4 else float64
        first, last = bind(Cast(wide), first), bind(Cast(wide), last)
    require_kind("linspace", first, INEXACT, "start")
    # float16 ends at 65504, and has no whole numbers from 2049.
    inner = float32 if first.dtype.itemsize == 2 else first.dtype
    places, most = _places(count, num, inner)
    if first.dims != last.dims:
        common = broadcast_dynamic_shape(sizes_of(first), sizes_of(last))
        first, last = broadcast_to(first, common), broadcast_to(last, common)
    if first.ndim == 0 and last.ndim == 0:
        return _between(first, last, places, most)
    if first.ndim is None:
        raise InvalidArgumentError("linspace: the rank of start must be known.")
    place = normalize_axis("linspace", axis, first.ndim + 1)
    first, last = bind(ExpandDims((place,)), first), bind(ExpandDims((place,)), last)
    after = first.ndim - 1 - place
    places = bind(ExpandDims(tuple(np.arange(1, after + 1).tolist())), places) if after else places
    return _between(first, last, places, most)


def _places(count: int | Dim | None, num: TensorLike, dtype: DType) -> tuple[Tensor, Tensor]:
    """0, 1, ... to the last place, and the last place, which counts as 1 where there is no second one."""
    if isinstance(count, int):
        found = in_memory("linspace", np.arange, count).astype(dtype.numpy)
        return lift(found), lift(np.asarray(max(count - 1, 1)).astype(dtype.numpy))
    real = dtype.real_dtype if dtype.is_complex else dtype
    unit = bind(UnitSteps((AT, 1), real), lift(num)) if count is None else bind(UnitSteps(count, real))
    most = maximum(bind(Cast(real), lift(num)) - 1.0, lift(1.0, real))
    places = rint(unit * most)
    return (bind(Cast(dtype), places), bind(Cast(dtype), most)) if dtype.is_complex else (places, most)


def _between(start: Tensor, stop: Tensor, places: Tensor, most: Tensor) -> Tensor:
    """From start at place 0 to stop at place `most`, which are exact, in the steps and with the rounding of NumPy."""
    first, last = (bind(Cast(places.dtype), x) if x.dtype is not places.dtype else x for x in (start, stop))
    inner = first + multiply_no_nan((last - first) / most, places)
    found = where(places == most, last, inner)
    return found if found.dtype is start.dtype else bind(Cast(start.dtype), found)
