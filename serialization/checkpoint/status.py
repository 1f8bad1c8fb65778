"""The result of `restore`: assertions about the matching, with paths, shapes and the nearest names in their errors."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from graphad.core.shapes import Dims, format_dims
from graphad.eager.variable import Variable
from serialization.checkpoint.restore import Restoration
from serialization.checkpoint.saved import Stored, path_of, plain_of
from serialization.errors import shown

if TYPE_CHECKING:
    from graphad.core.tensor import Handle


_LISTED = 10


class CheckpointLoadStatus:
    """The status of a checkpoint that is being restored.

    The methods check the current objects of the program, and return the status itself or raise an AssertionError that lists
    values that only the file or only the program has.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Every value of the file is in the program, and every variable of the program has received one."""
        self._ask()
        unused = self._restoration.unused()
        if unused:
            key = unused[0][0]
            raise AssertionError(
                f"Unresolved object in checkpoint {path_of(key)}: {self._stored(unused)}{self._existing()}\n"
                "assert_existing_objects_matched() allows a file to have more than the program; read() instead of restore() "
                "leaves the save_counter of a file made by save()."
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Every existing variable of the program has received a value."""
        self._ask()
        unmatched = self._restoration.unmatched()
        if unmatched:
            raise AssertionError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to changes in the "
                f"Python program. Showing {min(len(unmatched), _LISTED)} of {len(unmatched)} unmatched objects: "
                f"{self._variables(unmatched)}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Something below the root has matched."""
        self._ask()
        if not self._restoration.matched():
            names = ", ".join(self._restoration.saved.nodes[0].children) or "nothing"
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint does not "
                f"match the Python program. {self._restoration.saved.place} has, directly below its root: {names}. The following "
                f"objects have no matching checkpointed value: {self._variables(self._restoration.unmatched())}"
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Declare that values of the file may stay unused, without a warning at the end."""
        self._restoration.told()
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Does nothing: variables are initialized when they are created."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Does nothing: everything that can be restored has been."""

    def _ask(self) -> None:
        self._restoration.refresh()
        self._restoration.told()

    def _stored(self, unused: list[tuple[str, Stored]]) -> str:
        lines = [
            f"\n  {shown(key)}: {_kind(stored.dtype, stored.shape)}{self._nearest(plain_of(key))}"
            for key, stored in unused[:_LISTED]
        ]
        more = f"\n  and {len(unused) - _LISTED} more" if len(unused) > _LISTED else ""
        return f"{len(unused)} values of the file have no object in the program:" + "".join(lines) + more

    def _nearest(self, path: str) -> str:
        there = {x[0].removeprefix("(root).").replace(".", "/"): x[1] for x in self._restoration.unmatched()}
        close = difflib.get_close_matches(path, list(there), 1, 0.5)
        return f"; nearest in the program: {close[0]}, {_described(there[close[0]])}" if close else ""

    def _variables(self, unmatched: list[tuple[str, Any]]) -> str:
        left = {plain_of(key): stored for key, stored in self._restoration.unused()}
        lines = []
        for path, x in unmatched[:_LISTED]:
            close = difflib.get_close_matches(
                path.removeprefix("(root).").replace(".", "/"), list(left), 1, 0.5
            )
            hint = (
                f"; nearest in the file: {shown(close[0])}, {_kind(left[close[0]].dtype, left[close[0]].shape)}"
                if close
                else ""
            )
            lines.append(f"\n  {path}: {_described(x)}{hint}")
        more = f"\n  and {len(unmatched) - _LISTED} more" if len(unmatched) > _LISTED else ""
        return "".join(lines) + more

    def _existing(self) -> str:
        unmatched = self._restoration.unmatched()
        if not unmatched:
            return ""
        return f"\nThe program has {len(unmatched)} variables without a value from the file:{self._variables(unmatched)}"


def _described(x: Handle) -> str:
    if isinstance(x, Variable):
        return f"{_kind(x.dtype.name, x.dims)}, named {x.name!r}"
    return f"a {type(x).__name__}"


def _kind(dtype: str, dims: Dims) -> str:
    return f"{dtype} of shape {format_dims(dims)}"


class InitializationOnlyStatus(CheckpointLoadStatus):
    """The result of `restore(None)`: nothing is restored."""

    def __init__(self) -> None:
        pass

    def _refuse(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = _refuse

    def expect_partial(self) -> CheckpointLoadStatus:
        return self
