"""Ops that only move elements: some are views of their input, the others an array put together from parts.

    split, unstack                  sites of the input, nothing is copied
    concat, stack, tile, pad, ...   a new array; each part is copied to the place that strides describe, the rest is filled

The storage of the new array is site 0 of the parts' targets: C order in the shape of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.compiler.units import Site
from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Node
from graphad.kernels.collapse import row_strides, same_size
from graphad.kernels.record import Record


class Part(Record):
    """`source` (a site, or a number for every element) goes where `target` says."""

    source: Any
    target: Site


Number = Callable[[int], Any]


def is_view(op: Op) -> bool:
    """Whether the outputs are parts of the input."""
    return op.name in ("split", "unstack")


def is_moved(op: Op) -> bool:
    """Whether an op only moves elements in one of these ways, where its shapes are definite."""
    return is_view(op) or op.name in _RULES


def views_of(node: Node, sites: Sequence[Site]) -> list[Site] | None:
    """The outputs as sites of the inputs, None for other ops."""
    op: Any = node.op
    if op.name == "split":
        (x,) = sites
        axis, start, found = op.axis % len(x.shape), 0, []
        for size, spec in zip(op.sizes, node.specs, strict=True):
            found.append(Site(x.root, tuple(spec.dims or ()), x.strides, x.offset + start * x.strides[axis]))
            start = start + size
        return found
    if op.name == "unstack":
        (x,) = sites
        axis = op.axis % len(x.shape)
        strides = (*x.strides[:axis], *x.strides[axis + 1 :])
        step = x.strides[axis]
        return [
            Site(x.root, tuple(spec.dims or ()), strides, x.offset + k * step)
            for k, spec in enumerate(node.specs)
        ]
    return None


def parts_of(node: Node, sites: Sequence[Site], number: Number) -> list[Part] | None:
    """What an output is put together from, None for other ops; `number` gives the constant that an input is, or None."""
    rule = _RULES.get(node.op.name)
    return None if rule is None else rule(node, sites, number)


def _whole(node: Node) -> Site:
    dims = tuple(node.specs[0].dims or ())
    return Site(node.start, dims, row_strides(dims))


def _concat(node: Node, sites: Sequence[Site], number: Number) -> list[Part]:
    whole, op = _whole(node), node.op
    axis = op.axis % len(whole.shape)  # type: ignore[attr-defined]
    start: Any = 0
    parts = []
    for site in sites:
        parts.append(Part(site, Site(whole.root, site.shape, whole.strides, start * whole.strides[axis])))
        start = start + site.shape[axis]
    return parts


def _stack(node: Node, sites: Sequence[Site], number: Number) -> list[Part]:
    whole, op = _whole(node), node.op
    axis = op.axis % len(whole.shape)  # type: ignore[attr-defined]
    strides = (*whole.strides[:axis], *whole.strides[axis + 1 :])
    return [
        Part(site, Site(whole.root, site.shape, strides, k * whole.strides[axis]))
        for k, site in enumerate(sites)
    ]


def _slice_grad(node: Node, sites: Sequence[Site], number: Number) -> list[Part]:
    whole, op = _whole(node), node.op
    offset: Any = 0
    for start, stride in zip(op.starts, whole.strides, strict=True):  # type: ignore[attr-defined]
        offset = offset + start * stride
    strides = tuple([a * b for a, b in zip(whole.strides, op.strides, strict=True)])  # type: ignore[attr-defined]
    return [Part(0, whole), Part(sites[0], Site(whole.root, sites[0].shape, strides, offset))]


def _pad(node: Node, sites: Sequence[Site], number: Number) -> list[Part] | None:
    fill = number(node.inputs[1])
    if fill is None or isinstance(fill, Node):
        return None
    whole, op = _whole(node), node.op
    offset: Any = 0
    for (low, _), stride in zip(op.paddings, whole.strides, strict=True):  # type: ignore[attr-defined]
        offset = offset + low * stride
    return [Part(fill, whole), Part(sites[0], Site(whole.root, sites[0].shape, whole.strides, offset))]


def _tile(node: Node, sites: Sequence[Site], number: Number) -> list[Part]:
    x, op = sites[0], node.op
    shape: list[Any] = []
    strides: list[Any] = []
    for size, step, count in zip(x.shape, x.strides, op.multiples, strict=True):  # type: ignore[attr-defined]
        shape += [count, size]
        strides += [0, step]
    target = Site(node.start, tuple(shape), row_strides(shape))
    return [Part(Site(x.root, tuple(shape), tuple(strides), x.offset), target)]


def _eye(node: Node, sites: Sequence[Site], number: Number) -> list[Part] | None:
    whole = _whole(node)
    if not same_size(*whole.shape):
        return None
    return [Part(0, whole), Part(1, Site(whole.root, whole.shape[:1], (whole.shape[0] + 1,)))]


_RULES: dict[str, Callable[[Node, Sequence[Site], Number], list[Part] | None]] = {
    "concat": _concat,
    "stack": _stack,
    "slice_grad": _slice_grad,
    "pad": _pad,
    "tile": _tile,
    "eye_of": _eye,
}


def moves(spec: TensorSpec) -> bool:
    """Whether elements of this dtype can be copied by a native step."""
    return spec.dtype.itemsize in (1, 2, 4, 8, 16)
