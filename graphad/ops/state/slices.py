"""Writing some slices of a variable, in its own array where nobody else can see that.

Otherwise a variable's array is never written into, so that whoever has read it keeps what was read. Where the variable is the
only owner of its array there is no such reader: a step that changes a few rows of a large table costs those rows alone. Python
counts the owners: a tensor, a view, a residual of a tape or an export of the array each hold a reference. Another thread that
reads the variable while rows are written waits, with or without the guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Ranked, RowAxes, RowAxis
from graphad.core.errors import FailedPreconditionError, InvalidArgumentError
from graphad.core.ieee import unreported
from graphad.core.kinds import REAL, require_kind, require_numeric, require_same_dtype
from graphad.core.op import WRITES, TupleOp, define, no_form, no_gradient
from graphad.core.owners import rewrite
from graphad.core.schema import IndexSpec
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle, guard_of
from graphad.ops.accumulate import added_at
from graphad.ops.array.combine import COMBINE, EXTREME, require_quotients
from graphad.ops.array.gather import check_nd, nd_index

Change = Literal["add", "div", "floordiv", "max", "min", "mul", "sub", "update"]


@define
class AssignSlices(TupleOp):
    """No outputs. Changes the slices of a variable at `indices`, as gather_nd reads them, by `updates`: "update" replaces them,
    of repeated indices the last counts; "add" and "sub" take the sum of the updates of each slice; "mul", "div", "floordiv" (for
    integers), "max" and "min" combine one after the other where indices repeat. An index out of range changes nothing.
    """

    name = "assign_slices"
    keeps = (False, False)
    effects = WRITES
    lower = no_form(
        "Python counts who holds the variable's array: alone, slices are written into it, else into a copy"
    )
    kind: Literal["add", "div", "floordiv", "max", "min", "mul", "sub", "update"]

    @property
    def caller(self) -> str:
        """The function that messages name."""
        return f"scatter_{'div' if self.kind == 'floordiv' else self.kind}"

    def infer(self, handle: HandleSpec, indices: IndexSpec, updates: TensorSpec) -> tuple[TensorSpec, ...]:
        require_same_dtype(self.caller, updates, handle, ("updates", "the variable"))
        if self.kind in EXTREME:
            require_kind(self.caller, updates, REAL, "updates")
        elif self.kind != "update":
            require_numeric(self.caller, updates, "updates")
        require_quotients(self.caller, updates.dtype, self.kind)
        want = check_nd(self.caller, handle.dims, indices.dims, 0)
        if not are_compatible(want, updates.dims):
            raise InvalidArgumentError(
                f"{self.caller}: updates has shape {format_dims(updates.dims)}; for a variable with shape "
                f"{format_dims(handle.dims)} and indices with shape {format_dims(indices.dims)} it must be {format_dims(want)}."
            )
        return ()

    def eval(self, handle: Handle, indices: Array, updates: Array) -> tuple[Array, ...]:
        with handle.guard or guard_of(handle):
            dims = handle.data.shape
            want = check_nd(self.caller, dims, indices.shape, 0)
            if want != updates.shape:
                raise InvalidArgumentError(
                    f"{self.caller}: updates has shape {updates.shape}; for a variable with shape {dims} and indices with shape "
                    f"{indices.shape} it must be {want}."
                )
            place = nd_index(self.caller, indices, dims, 0)
            if not updates.size:
                return ()
            if self.kind == "floordiv" and not np.all(updates):
                raise InvalidArgumentError(f"{self.caller}: Integer division by zero.")
            # A report would come when some slices are written.
            unreported(self._change, handle, place, updates)
        return ()

    def _change(self, handle: Handle, place: tuple[Array, ...], updates: Array) -> None:
        is_here = arrays.is_here(handle.data)
        if self.kind in ("add", "sub") and (is_here or not place):
            place, updates = _summed(place, updates, handle.data.shape)
        write = self._write if is_here or not place else self._write_there
        rewrite(handle, _is_whole, lambda into: write(into, place, updates))

    def _write_there(self, into: Any, place: tuple[Array, ...], updates: Array) -> None:
        """On a device, whose ways of combining take repeated places."""
        if self.kind == "update":
            into[place] = updates
        elif self.kind in ("add", "sub"):
            np.add.at(into, place, updates if self.kind == "add" else -updates)
        else:
            formula = EXTREME.get(self.kind) or COMBINE[self.kind]
            formula.at(into, place, updates)

    def _write(self, into: Array, place: tuple[Array, ...], updates: Array) -> None:
        if self.kind == "update":
            into[place] = updates
        elif self.kind == "add":
            into[place] += updates
        elif self.kind == "sub":
            into[place] -= updates
        else:
            formula = EXTREME.get(self.kind) or COMBINE[self.kind]
            formula.at(into, place, updates)

    vjp = no_gradient("assigning is not differentiable; later reads of the variable are constants")

    def batch(
        self, ctx: BatchContext, handle: Ranked, indices: Ranked, updates: Ranked
    ) -> tuple[Ranked, ...]:
        raise FailedPreconditionError(
            f"{self.caller}: a variable cannot be changed by every row of a vectorized computation; change it outside of "
            "vectorized_map, jacobian and batch_jacobian."
        )

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None if all(axis is None for axis in axes) else "mixed"


def _summed(
    place: tuple[Array, ...], updates: Array, dims: tuple[int, ...]
) -> tuple[tuple[Array, ...], Array]:
    """Each place once, with the sum of its updates in their order."""
    if not place:  # the whole variable, once for each update
        return (), added_at(
            (1, *dims), np.zeros(updates.shape[: updates.ndim - len(dims)], np.int64), updates
        )[0]
    lead = dims[: len(place)]
    number = place[0].astype(np.int64)
    for part, count in zip(place[1:], lead[1:], strict=True):
        number = number * count + part
    number = number.reshape(-1)
    rows = updates.reshape(-1, *dims[len(place) :])
    once, which = np.unique(number, return_inverse=True)
    if len(once) < len(number):
        number, rows = once, added_at((len(once), *rows.shape[1:]), which.reshape(-1), rows)
    return np.unravel_index(number, lead), rows


def _is_whole(data: Any) -> bool:
    """Whether an array has memory of its own that may be written: a NumPy array's, or what only this array holds on a device."""
    if type(data) is np.ndarray:
        return data.base is None and data.flags.writeable
    return not arrays.is_here(data) and data.is_whole()
