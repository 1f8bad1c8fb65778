"""The repr of functions with several traces; `printing.py` is imported only when one is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Printed:
    """Base class of functions with `concrete_functions`: lists them below its repr, and with their graphs in notebooks."""

    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], *[f"  {c.pretty_printed_signature(False)}" for c in self._all()]])

    def _repr_html_(self) -> str:
        from graphad.function.printing import page

        return page(repr(self)[1:-1], self._all())

    def _all(self) -> Sequence[Any]:
        concretes: Sequence[Any] = self.concrete_functions  # type: ignore[attr-defined]
        return concretes
