"""Maps composed by name, for tests of kernels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from graphad.kernels.forms import Map, Ref
from graphad.kernels.fuse import Composed, Composer


def compose(
    maps: Sequence[tuple[Map, Sequence[Hashable], Sequence[Hashable]]], outputs: Sequence[Hashable]
) -> Composed:
    """One map from several: each entry is a map, the names of its inputs, and the names it gives to its outputs.

    A name defined by an earlier entry means that value, any other an input of the result. All scalars stay separate.
    """
    composer = Composer()
    values: dict[Hashable, Ref] = {}
    for number, (form, names, results) in enumerate(maps):
        args = [
            values[name] if name in values else composer.input(name, dtype)
            for name, dtype in zip(names, form.inputs, strict=True)
        ]
        scalars = [composer.scalar((number, k), dtype) for k, dtype in enumerate(form.scalars)]
        values |= dict(zip(results, composer.apply(form, args, scalars), strict=True))
    return composer.finish([values[name] for name in outputs])


def merge_maps(forms: Sequence[Map], names: Sequence[Sequence[Hashable]]) -> Composed:
    """Independent maps over one shape as a single map of several outputs; equal names are one input."""
    return compose(
        [
            (form, inputs, [(number, k) for k in range(len(form.outputs))])
            for number, (form, inputs) in enumerate(zip(forms, names, strict=True))
        ],
        [(number, k) for number, form in enumerate(forms) for k in range(len(form.outputs))],
    )
