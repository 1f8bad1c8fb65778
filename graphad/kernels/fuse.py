"""Fusion of forms: a producer's body is merged into its consumer's, each value computed once.

`Composer` collects the maps of a whole region. What it returns is canonical: equal statements merged, unused ones
dropped, inputs and scalars in order of first use, so that regions of equal structure give equal maps.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from graphad.core.dtypes import DType
from graphad.core.errors import InternalError
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Ref, Statement
from graphad.kernels.record import Record


class Composed(Record):
    """A map, the composer's input or scalar behind each of its own, and the origin of each statement."""

    map: Map
    inputs: tuple[Hashable, ...]
    scalars: tuple[Hashable, ...]
    origins: tuple[Any, ...] = ()


class Composer:
    """Collects maps that read each other's results; `finish` returns them as one.

    Attributes: origin: The origin of the following statements.
    """

    def __init__(self) -> None:
        self.origin: Any = None
        self._origins: list[Any] = []
        self._inputs: dict[Hashable, tuple[Ref, DType]] = {}
        self._scalars: dict[Hashable, tuple[Ref, DType]] = {}
        self._body: dict[Statement, Ref] = {}

    def input(self, key: Hashable, dtype: DType) -> Ref:
        """The operand with this key, the same reference each time."""
        return self._inputs.setdefault(key, ((IN, len(self._inputs)), dtype))[0]

    def scalar(self, key: Hashable, dtype: DType) -> Ref:
        """The scalar with this key, a word of the block at run time."""
        return self._scalars.setdefault(key, ((SCALAR, len(self._scalars)), dtype))[0]

    def statement(self, fn: str, args: Sequence[Ref], dtype: DType) -> Ref:
        """One scalar function; equal functions of equal arguments share a value."""
        if fn == "copy":
            return args[0]
        found = self._body.setdefault(Statement(fn, tuple(args), dtype), (TMP, len(self._body)))
        if len(self._body) > len(self._origins):
            self._origins.append(self.origin)
        return found

    def apply(self, form: Map, args: Sequence[Ref], scalars: Sequence[Ref] = ()) -> tuple[Ref, ...]:
        """The outputs of a map whose inputs are the values `args`."""
        if len(args) != len(form.inputs) or len(scalars) != len(form.scalars):
            raise InternalError(
                f"fuse: a map of {len(form.inputs)} inputs and {len(form.scalars)} scalars was given "
                f"{len(args)} and {len(scalars)}"
            )
        values: dict[Ref, Ref] = {(IN, k): ref for k, ref in enumerate(args)}
        values |= {(SCALAR, k): ref for k, ref in enumerate(scalars)}
        for k, statement in enumerate(form.body):
            values[TMP, k] = self.statement(
                statement.fn, [values[ref] for ref in statement.args], statement.dtype
            )
        return tuple(values[ref] for ref in form.outputs)

    def finish(self, outputs: Sequence[Ref]) -> Composed:
        """One map with these outputs."""
        body = list(self._body)
        needed: set[Ref] = set(outputs)
        for k in range(len(body) - 1, -1, -1):
            if (TMP, k) in needed:
                needed.update(body[k].args)
        names: dict[Ref, Ref] = {}
        counts = {IN: 0, SCALAR: 0, TMP: 0}

        def name(ref: Ref) -> Ref:
            if ref not in names:
                names[ref] = (ref[0], counts[ref[0]])
                counts[ref[0]] += 1
            return names[ref]

        kept, origins = [], []
        for k, statement in enumerate(body):
            if (TMP, k) in needed:
                origins.append(self._origins[k])
                kept.append(
                    Statement(statement.fn, tuple(name(ref) for ref in statement.args), statement.dtype)
                )
                name((TMP, k))
        roots = tuple(name(ref) for ref in outputs)
        inputs = sorted(
            (names[ref], key, dtype) for key, (ref, dtype) in self._ordered(self._inputs) if ref in names
        )
        scalars = sorted(
            (names[ref], key, dtype) for key, (ref, dtype) in self._ordered(self._scalars) if ref in names
        )
        form = Map(
            tuple(entry[2] for entry in inputs), tuple(entry[2] for entry in scalars), tuple(kept), roots
        )
        return Composed(
            form,
            tuple(self._key(self._inputs, entry[1]) for entry in inputs),
            tuple(self._key(self._scalars, entry[1]) for entry in scalars),
            tuple(origins),
        )

    @staticmethod
    def _ordered(entries: dict[Hashable, tuple[Ref, DType]]) -> list[tuple[int, tuple[Ref, DType]]]:
        return list(enumerate(entries.values()))

    @staticmethod
    def _key(entries: dict[Hashable, tuple[Ref, DType]], position: int) -> Hashable:
        return list(entries)[position]
