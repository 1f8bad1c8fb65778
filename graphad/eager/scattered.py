"""Methods of variables on some of their slices: assign, add, multiply, maximum, minimum, read.

Each is atomic, keeps the program's order, and has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind, bind_all
from graphad.core.convert import lift_like
from graphad.core.errors import ArgumentTypeError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.support import index_tensor

if TYPE_CHECKING:
    from graphad.ops.state.slices import Change


class Scattered:
    """The methods of `Variable` that change some of its slices."""

    __slots__ = ()

    if TYPE_CHECKING:

        def rewrite(self, change: Callable[[Any], Any]) -> Any:
            """Assign `change(value)` atomically. Returns: The variable."""
            raise NotImplementedError

    def _scatter(self, kind: Change, slices: IndexedSlices) -> Any:
        indices = _positions(f"scatter_{kind}", slices)
        return self._changed(kind, indices, slices.values)

    def _changed(self, kind: Change, indices: TensorLike, updates: TensorLike) -> Any:
        """Change slices in place."""
        variable: Any = self  # `Variable` inherits from this class
        from graphad.ops.state.slices import AssignSlices  # imported here, since few programs need it

        exact: Change = "floordiv" if kind == "div" and variable.dtype.is_integer else kind
        op = AssignSlices(exact)
        given = lift_like(op.caller, updates, variable.dtype)
        if variable.away and given.has_value and not (given.away or isinstance(updates, Tensor | Handle)):
            given = variable.tensor_of(given.data)
        bind_all(op, (variable, index_tensor(op.caller, indices, "indices"), given))
        return variable

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace the rows `sparse_delta.indices` by `sparse_delta.values`; the last of repeated indices counts.

        Args:
          sparse_delta: IndexedSlices with indices [n] and values [n, ...].
        Returns: The variable.
        Raises: ArgumentTypeError (a TypeError): no IndexedSlices. InvalidArgumentError: an index is out of range.
        """
        return self._scatter("update", sparse_delta)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add to rows, repeats adding up; see `scatter_update`."""
        return self._scatter("add", sparse_delta)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract from rows, repeats adding up; see `scatter_update`."""
        return self._scatter("sub", sparse_delta)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiply rows, once for each repeat; see `scatter_update`."""
        return self._scatter("mul", sparse_delta)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Divide rows, once for each repeat, integers rounding down; see `scatter_update`."""
        return self._scatter("div", sparse_delta)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """The larger of rows and values, element by element; see `scatter_update`."""
        return self._scatter("max", sparse_delta)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """The smaller of rows and values, element by element; see `scatter_update`."""
        return self._scatter("min", sparse_delta)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace rows of each batch: with indices [b, n] row indices[i, j] of batch i becomes values[i, j].

        Args:
          sparse_delta: IndexedSlices with indices [*batch, n] and values [*batch, n, ...].
        Returns: The variable.
        """

        from graphad.ops.array.scatter import TensorScatterUpdate  # which few programs need

        def change(x: Tensor, indices: Tensor, updates: TensorLike) -> Any:
            op = TensorScatterUpdate(len(indices.shape) - 2)
            return bind(op, x, indices, lift_like(op.name, updates, x.dtype))

        indices = _positions("batch_scatter_update", sparse_delta)
        return self.rewrite(lambda x: change(x, indices, sparse_delta.values))

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replace the slices at `indices` [..., depth], as `tensor_scatter_nd_update` does. Returns: The variable."""
        return self._changed("update", indices, updates)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Add `updates` to the slices at `indices` [..., depth]; repeats add up. Returns: The variable."""
        return self._changed("add", indices, updates)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Subtract `updates` from the slices at `indices` [..., depth]; repeats add up. Returns: The variable."""
        return self._changed("sub", indices, updates)

    def scatter_nd_max(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """The larger of `updates` and the slices at `indices` [..., depth]. Returns: The variable."""
        return self._changed("max", indices, updates)

    def scatter_nd_min(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """The smaller of `updates` and the slices at `indices` [..., depth]. Returns: The variable."""
        return self._changed("min", indices, updates)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows at `indices`, as `gather` gives them."""
        variable: Any = self  # `Variable` inherits from this class
        from graphad.ops.array.gather import gather  # imported here, as below, since few programs need it

        return gather(variable, indices)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices at `indices` [..., depth], as `gather_nd` gives them."""
        variable: Any = self
        from graphad.ops.array.gather import gather_nd

        return gather_nd(variable, indices)


def _positions(name: str, slices: IndexedSlices) -> Tensor:
    """The indices of slices, each a list of one coordinate."""
    if not isinstance(slices, IndexedSlices):
        raise ArgumentTypeError(
            f"{name}: Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {slices!r}"
        )
    return expand_dims(index_tensor(name, slices.indices, "indices"), -1)
