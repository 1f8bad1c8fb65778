"""`TensorArray`: tensors by index, written one after another and read or stacked later.

While indices are known it is a list of tensors. With a symbolic index, or inside a loop or branch of a graph, it is one stacked
tensor, [size, ...], and a write updates one row; with elements of several sizes, where `infer_shape` is False, it is padded,
beside the sizes (`varied.py`). While tracing, an array is a value: `write` returns a new one and does not change the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.device import along
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.levels import trace_in_progress
from graphad.core.shapes import Dims, RawSize, TensorShape, are_compatible, as_dims, format_dims, is_definite
from graphad.core.tensor import VALUES, Tensor
from graphad.ops.array.create import zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, split, stack, unstack
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.scatter import tensor_scatter_nd_update
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.array.slice import getitem
from graphad.ops.control.again import NotWrittenError
from graphad.ops.control.branch import conditional
from graphad.ops.control.varied import Varied
from graphad.ops.math import cast, equal, maximum, reduce_max, reduce_prod

_CLEARED = object()
AT_END = object()  # stands for the index after the last element


class TensorArray:
    """Tensors of one dtype under the numbers 0 to size - 1.

    Args:
      dtype: The dtype of the elements.
      size: How many there are, a number or an integer scalar; with `dynamic_size` how many at first.
      dynamic_size: Whether writing behind the end makes it longer.
      clear_after_read: Whether an element may be read only once, in eager mode. True by default.
      tensor_array_name, colocate_with_first_write_call, name: Accepted for compatibility.
      handle, flow: Not supported.
      infer_shape: Whether all elements must have one shape.
      element_shape: The shape of the elements, as far as it is known.
    Raises: InvalidArgumentError (a ValueError): an element of another shape, or a number out of range; DTypeError (a
      TypeError): an element of another dtype.
    Example:
      >>> ta = TensorArray(float32, size=3)
      >>> for i in [0, 1, 2]:
      ...     ta = ta.write(i, constant(float(i)))
      >>> ta.stack().numpy()
      array([0., 1., 2.], dtype=float32)
    """

    def __init__(
        self,
        dtype: object,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: None = None,
        flow: None = None,
        infer_shape: bool = True,
        element_shape: TensorLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None or flow is not None:
            raise ArgumentTypeError(
                "TensorArray: handle and flow belong to TensorFlow's graphs; give dtype and size."
            )
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clear = True if clear_after_read is None else bool(clear_after_read)
        self._infer_shape = bool(infer_shape)
        self._required: Dims = as_dims(element_shape)  # of all elements, whatever infer_shape says
        self._dims = self._required
        self._may_vary = False  # whether elements of several sizes are expected, which are padded
        self._unranked = False  # whether elements are expected whose rank is known only at run time
        self._items: list[Any] | None = None
        self._buffer: Tensor | Varied | None = None
        self._size: Any = None
        # In a step of a loop: the stacked tensor at its start, and the element written since, None if it is more than one.
        self._origin: Any = None
        self._writes: list[tuple[Any, Any]] | None = None
        self._asked_size: Any = None  # what `size` returned for the present elements
        number = 0 if size is None else _number(size)
        if number is None:
            self._size = lift(size)
        elif number < 0:
            raise InvalidArgumentError(f"TensorArray: size is {number}; it must be 0 or more.")
        else:
            self._items = [None] * number

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The known shape of the elements."""
        return TensorShape(self._dims)

    @property
    def flow(self) -> Tensor:
        """A scalar, for programs that hand the flow on."""
        return lift(np.float32(0.0))

    @property
    def handle(self) -> None:
        return None

    def __repr__(self) -> str:
        return f"<TensorArray dtype={self._dtype.name} element_shape={format_dims(self._dims)}>"

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, int32."""
        if self._items is not None:
            return lift(np.int32(len(self._items)))
        if self._buffer is None:
            size: Tensor = self._size
            return size
        self._asked_size = getitem(shape(_rows(self._buffer)), 0)
        return self._asked_size  # type: ignore[no-any-return]

    # -- one element -----------------------------------------------------------------------------------------------

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """The element under a number. One that was never written is zeros, where the shape of the elements is known."""
        number = _number(index)
        if self._items is None or number is None:
            whole = self._whole()
            return whole.read(index) if isinstance(whole, Varied) else gather(whole, index)
        self._check_index(number, False)
        item: Any = self._items[number]
        if item is _CLEARED:
            raise InvalidArgumentError(
                f"Could not read index {number} twice because it was cleared after a previous read (perhaps try setting "
                "clear_after_read = false?)"
            )
        if item is None:
            return self._empty("read", number)
        if self._clear and trace_in_progress() is None:
            self._items[number] = _CLEARED
        element: Tensor = item
        return element

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with another element under a number."""
        value = self._checked("write", value, None)
        number = _number(index)
        dims = self._merged(value.dims)
        if self._items is None or number is None:
            made = self._with(buffer=self._updated(index, value, dims), dims=dims)
            made._origin = self._origin
            place = AT_END if self._dynamic and index is self._asked_size is not None else index
            made._writes = None if self._writes is None else [*self._writes, (place, value)]
            return made
        if self._dynamic and number >= len(self._items):
            missing = number + 1 - len(self._items)
        else:
            self._check_index(number, True)
            missing = 0
        items = self._items if trace_in_progress() is None else list(self._items)
        items += [None] * missing
        items[number] = value
        return self._with(items=items, dims=dims)

    # -- all of them -----------------------------------------------------------------------------------------------

    def stack(self, name: str | None = None) -> Tensor:
        """The elements along a new first axis, [size, ...]."""
        if self._items is None:
            whole = self._whole()
            return whole.stacked() if isinstance(whole, Varied) else whole
        items = [
            self._empty("stack", k) if x is None or x is _CLEARED else x for k, x in enumerate(self._items)
        ]
        if not items and self._dims is None and trace_in_progress() is None:
            return zeros((0,), self._dtype)
        if not items:
            return zeros((0, *self._definite("stack")), self._dtype)
        return stack(items)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements under several numbers along a new first axis."""
        if self._items is None and isinstance(self._buffer, Varied):
            return self._buffer.gathered(indices)
        numbers = None if self._items is None or self._infer_shape else known_value(lift(indices))
        if numbers is not None and numbers.ndim == 1 and numbers.size:
            # Only these elements need to have one shape.
            return self._with(items=[self._item(int(number)) for number in numbers], copy=True).stack()
        return gather(self.stack(), indices)

    def concat(self, name: str | None = None) -> Tensor:
        """The elements joined along their first axis."""
        if self._items is None:
            rows = self._whole()
            if isinstance(rows, Varied):
                return rows.joined()
            if rows.dims is not None and len(rows.dims) < 2:
                raise InvalidArgumentError("TensorArray.concat: the elements are scalars; use stack.")
            sizes = shape(rows)
            return reshape(
                rows,
                concat(
                    [
                        getitem(sizes, slice(0, 1)) * getitem(sizes, slice(1, 2)),
                        getitem(sizes, slice(2, None)),
                    ],
                    0,
                ),
            )
        items = [
            self._empty("concat", k) if x is None or x is _CLEARED else x for k, x in enumerate(self._items)
        ]
        if any(x.dims == () for x in items):
            raise InvalidArgumentError("TensorArray.concat: the elements are scalars; use stack.")
        return concat(items, 0) if items else zeros((0, *self._definite("concat")[1:]), self._dtype)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with the slices of a tensor as its elements."""
        value = self._checked("unstack", value, 1)
        dims = self._merged(None if value.dims is None else tuple(value.dims[1:]))
        length = None if value.dims is None else value.dims[0]
        if length is None or self._items is None:
            return self._with(buffer=value, dims=dims)
        if not self._dynamic and length != len(self._items):
            raise InvalidArgumentError(
                f"Size of tensor array {len(self._items)} does not match the leading dimension of values {length}."
            )
        return self._with(items=list(unstack(value)), dims=dims)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with the slices of a tensor under several numbers."""
        value = self._checked("scatter", value, 1)
        indices = lift(indices)
        numbers = known_value(indices)
        if numbers is not None and value.dims and value.dims[0] is not None and self._items is not None:
            made = self
            for number, item in zip(np.ravel(numbers), unstack(value), strict=True):
                made = made.write(int(number), item)
            return made
        dims = self._merged(None if value.dims is None else tuple(value.dims[1:]))
        buffer = tensor_scatter_nd_update(self._grown(value, indices), reshape(indices, [-1, 1]), value)
        return self._with(buffer=buffer, dims=dims)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """The array with the parts of a tensor along its first axis as its elements."""
        value = self._checked("split", value, 1)
        lengths = lift(lengths)
        known = known_value(lengths)
        if known is not None:
            items = self._parts_of(value, [int(n) for n in np.ravel(known)])
        else:
            if lengths.dims is None or lengths.dims[0] is None:
                raise InvalidArgumentError(
                    "TensorArray.split: how many lengths there are must be known while the function is traced."
                )
            items = list(split(value, lengths, 0))
        if self._items is None or (len(items) != len(self._items) and not self._dynamic):
            have = "unknown" if self._items is None else len(self._items)
            raise InvalidArgumentError(
                f"TensorArray's size is not equal to the size of lengths ({have} vs. {len(items)}), and the TensorArray is "
                "not marked as dynamically resizeable."
            )
        dims: Dims = self._dims
        for item in items:
            dims = item.dims if dims is None or not self._infer_shape else dims
        return self._with(items=items, dims=dims if len({x.dims for x in items}) < 2 else None)

    def _parts_of(self, value: Tensor, sizes: list[int]) -> list[Tensor]:
        if value.dims and value.dims[0] is not None and sum(sizes) != value.dims[0]:
            raise InvalidArgumentError(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and value's shape "
                f"is: {format_dims(value.dims)}."
            )
        return list(split(value, sizes, 0)) if sizes else []

    def identity(self) -> TensorArray:
        """An array with the same elements."""
        return self._with(
            items=None if self._items is None else list(self._items), buffer=self._buffer, copy=True
        )

    def close(self, name: str | None = None) -> None:
        """Forget the elements."""
        if trace_in_progress() is None:
            self._items, self._buffer = [], None

    def grad(self, source: object, flow: object = None, name: str | None = None) -> TensorArray:
        """Not supported: tapes differentiate through arrays."""
        raise ArgumentTypeError(
            "TensorArray.grad: gradients go through a TensorArray by themselves; use a GradientTape."
        )

    # -- in loops and branches -----------------------------------------------------------------------------------------

    @property
    def __graphad_complete__(self) -> bool:
        """Whether the rank of its elements is known, so that they can be stacked."""
        return self._buffer is not None or self._dims is not None or self._unranked

    def __graphad_supposed__(self) -> TensorArray:
        """The same array with elements of any rank."""
        return self._allocated(None)

    def __graphad_claims__(self, other: TensorArray) -> bool:
        """Whether its elements have one shape, and those of `other`, which takes its place in a loop or branch, may have more."""
        return other._varies() and not self._varies()

    def __graphad_like__(self, other: TensorArray) -> TensorArray:
        """The same array with the other's element shape; unknown sizes are 0 until an element is written."""
        if other._varies():
            made = self._allocated(other._dims)
            made._may_vary = True
            return made
        if other._dims is not None or other._unranked:
            return self._allocated(other._dims)
        like = other._written()[0].dims if other._buffer is None else other._buffer.dims  # type: ignore[union-attr]
        if like is None:
            return self._allocated(None)
        return self._allocated((None,) * (len(like) - (other._buffer is not None)))

    def _allocated(self, dims: Dims) -> TensorArray:
        """The array with room for elements of this shape; None stands for a rank that the first one determines."""
        made = self._with(items=self._items, buffer=self._buffer, dims=dims, copy=True)
        made._unranked = dims is None
        return made

    def __graphad_parts__(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        """Its stacked tensor, or the padded one and the sizes, and a function that rebuilds the array from others."""
        dims = self._dims
        whole = self._whole()
        if isinstance(whole, Varied):
            return list(whole), lambda parts: self._with(buffer=Varied(*parts), dims=dims, copy=True)

        def made_of(parts: list[Tensor | None]) -> TensorArray:
            made = self._with(buffer=parts[0], dims=dims, copy=True)
            made._origin, made._writes = parts[0], []
            return made

        return [whole], made_of

    def __graphad_mapped__(self, of: Callable[[Tensor], Tensor]) -> TensorArray:
        """The array with `of` applied to each element."""
        items, buffer = self._items, self._buffer
        mapped = items and [x if x is None or x is _CLEARED else of(x) for x in items]
        if isinstance(buffer, Varied):
            return self._with(buffer=buffer._replace(rows=of(buffer.rows)), copy=True)
        return self._with(items=mapped, buffer=None if buffer is None else of(buffer), copy=True)

    def __graphad_loop_dims__(self) -> Sequence[Any]:
        """The shapes of its parts as far as they stay the same from step to step of a loop."""
        whole = self._whole()
        buffer = _rows(whole)
        length = None if self._dynamic or not buffer.dims else buffer.dims[0]
        if isinstance(whole, Varied):
            dims = self._dims or ()
            return [(length, *dims), (length, len(dims))]
        return [None if self._dims is None else (length, *self._dims)]

    def __graphad_loop_writes__(self) -> Sequence[Any]:
        """For each part (value at the start of the step, index or AT_END, written value, whether it may grow) if the step wrote
        one element; else None."""
        if self._varies():
            return [None, None]
        if self._writes is None or len(self._writes) != 1:
            return [None]
        return [(self._origin, *self._writes[0], self._dynamic)]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _with(
        self,
        items: list[Any] | None = None,
        buffer: Tensor | Varied | None = None,
        dims: Any = ...,
        copy: bool = False,
    ) -> TensorArray:
        """The array with other elements: itself in eager mode, else a new one."""
        made = self
        if copy or trace_in_progress() is not None:
            made = object.__new__(type(self))
            made.__dict__.update(self.__dict__)
        made._items, made._buffer = items, buffer
        made._origin = made._writes = made._asked_size = None
        if dims is not ...:
            made._dims = dims
        return made

    def _item(self, number: int) -> Any:
        self._check_index(number, False)
        return self._items[number]  # type: ignore[index]

    def _written(self) -> list[Any]:
        return [x for x in self._items or () if x is not None and x is not _CLEARED]

    def _varies(self) -> bool:
        """Whether its elements may differ in shape, so that they are padded in loops and branches."""
        if self._may_vary or isinstance(self._buffer, Varied):
            return True
        if self._infer_shape or not self._dims or is_definite(self._dims):
            return False
        return len({x.dims for x in self._written()}) > 1 or any(
            not is_definite(x.dims) for x in self._written()
        )

    def _apart(self, dims: Sequence[RawSize]) -> Varied:
        """Its elements as those of several sizes."""
        if isinstance(self._buffer, Varied):
            return self._buffer
        if self._buffer is not None:
            return Varied.alike(self._buffer)
        if self._items is None:
            return Varied.blank(self._size, dims, self._dtype)
        return Varied.of([None if x is _CLEARED else x for x in self._items], dims, self._dtype)

    def _whole(self) -> Tensor | Varied:
        """All elements, as one tensor or as those of several sizes."""
        return self._apart(self._dims or ()) if self._varies() else self._stacked()

    def _stacked(self) -> Tensor:
        """All elements as one tensor."""
        if self._buffer is not None:
            return self._buffer if not isinstance(self._buffer, Varied) else self._buffer.stacked()
        if self._items is not None and self._written():
            like = self._written()[0]
            blank = zeros(like.dims if is_definite(like.dims) else shape(like), self._dtype)
            return stack([blank if x is None or x is _CLEARED else x for x in self._items])
        if self._dims is None and not self._unranked:
            raise NotWrittenError(
                "TensorArray: no element was written yet, so their shape is not known; give element_shape."
            )
        # Unknown sizes are 0; if not even the rank of the elements is known, the array has no elements.
        sizes = [0] if self._dims is None else [0 if size is None else size for size in self._dims]
        if self._items is not None:
            return zeros([len(self._items), *sizes], self._dtype)
        return zeros(stack([self._size, *sizes]) if sizes else reshape(self._size, [1]), self._dtype)

    def _allocated_for(self, value: Tensor) -> Tensor:
        """The stacked tensor, with room for elements like `value`."""
        if self._buffer is None and not self._written() and not is_definite(self._dims):
            return self._allocated(value.dims)._room_for(value)
        return self._room_for(value)

    def _room_for(self, value: Tensor) -> Tensor:
        buffer = self._stacked()
        if is_definite(self._dims):
            return buffer
        # The first element determines unknown sizes; until then the tensor has no elements.
        wanted = concat([reshape(getitem(shape(buffer), 0), [1]), shape(value)], 0)
        is_blank = equal(reduce_prod(shape(buffer)), 0)
        room: Tensor = conditional(is_blank, lambda: zeros(wanted, self._dtype), lambda: buffer)
        return room

    def _grown(self, value: Tensor, indices: Tensor, is_element: bool = False) -> Tensor:
        element = value if is_element else getitem(value, 0)
        buffer = self._allocated_for(element)
        if not self._dynamic:
            return buffer
        from_size = getitem(shape(buffer), 0)
        last = indices if is_element else reduce_max(indices)
        missing = maximum(last + 1 - from_size, 0)
        more = concat([reshape(missing, [1]), getitem(shape(buffer), slice(1, None))], 0)
        return concat([buffer, zeros(more, self._dtype)], 0)

    def _updated(self, index: TensorLike, value: Tensor, dims: Dims) -> Tensor | Varied:
        index = lift(index)
        if index.dtype is not dtypes.int32 and index.dtype.is_integer:
            index = cast(index, dtypes.int32)
        if dims and not self._infer_shape and (self._varies() or not is_definite(dims)):
            return self._apart(dims).written(index, value, self._dynamic, dims)
        buffer = self._grown(value, index, True)
        return tensor_scatter_nd_update(buffer, reshape(index, [1, 1]), expand_dims(value, 0))

    def _checked(self, op: str, value: TensorLike, least_rank: int | None) -> Tensor:
        try:
            value = lift_like(f"TensorArray.{op}", value, self._dtype)
        except DTypeError:
            value = lift(value)
        if value.dtype is not self._dtype:
            raise DTypeError(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {value.dtype.name}."
            )
        if least_rank is not None and value.dims == ():
            raise InvalidArgumentError(f"TensorArray.{op}: the value must have a first axis; it is a scalar.")
        return value

    def _merged(self, dims: Dims) -> Dims:
        """What is known of the shape of the elements with one more. Raises: it has another shape."""
        if self._dims is None:
            return dims
        if not self._infer_shape and dims is not None and len(dims) == len(self._dims):
            if are_compatible(self._required, dims) and (self._varies() or self._dims != self._required):
                return tuple([a if a == b else None for a, b in zip(self._dims, dims, strict=True)])
        if not are_compatible(self._dims, dims):
            if not self._infer_shape and are_compatible(self._required, dims):
                return self._required
            expected = self._dims if self._infer_shape else self._required
            raise InvalidArgumentError(
                f"Incompatible shape for value ({format_dims(dims)}), expected ({format_dims(expected)}): all elements of a "
                "TensorArray have one shape, or with infer_shape=False shapes that element_shape describes."
            )
        if dims is None:
            return self._dims
        return tuple([b if a is None else a for a, b in zip(self._dims, dims, strict=True)])

    def _check_index(self, number: int, writing: bool) -> None:
        length = len(self._items or ())
        if not 0 <= number < length:
            if writing:
                raise OutOfRangeError(
                    f"Tried to write to index {number} but array is not resizeable and size is: {length}"
                )
            raise OutOfRangeError(f"Tried to read from index {number} but array size is: {length}")

    def _definite(self, op: str) -> tuple[Any, ...]:
        if not is_definite(self._dims):
            raise NotWrittenError(
                f"TensorArray.{op}: there are no elements, and their shape {format_dims(self._dims)} is not known; give "
                "element_shape."
            )
        return self._dims

    def _empty(self, op: str, number: int) -> Tensor:
        """The value of an element that was not written: zeros of the common shape."""
        dims, written = self._dims, self._written()
        sizes: Any = dims
        if not is_definite(dims) and dims is not None and self._infer_shape and written:
            sizes = shape(written[0])
        elif not is_definite(dims):
            raise NotWrittenError(
                f"Could not {op} index {number} of the TensorArray because it has not been written to, and the shape of its "
                "elements is not known."
            )
        with along(written[0]) if written else nullcontext():
            return zeros(sizes, self._dtype)


def _rows(whole: Tensor | Varied) -> Tensor:
    return whole.rows if isinstance(whole, Varied) else whole


def _number(x: TensorLike) -> int | None:
    """An index or size as a number; None while it is unknown."""
    if hasattr(x, "__index__") and not isinstance(x, VALUES):
        return int(x.__index__())  # type: ignore[union-attr]
    x = require_kind("TensorArray", lift(x), INTEGER, "an index or size")
    return int(x) if x.has_value else None
