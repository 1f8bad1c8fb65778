"""The sizes of a convolution or pool: all that its steps need to know of an op and its operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphad.core.light import NamedTuple

MOST_AXES = 3
_VECTORS = 4  # channels of a pool: of fewer, most of a vector would be empty


class Sizes(NamedTuple):
    """A convolution: sizes of three axes each, of the image without batch and channels."""

    batch: int
    size: tuple[int, ...]
    counts: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    inputs: int
    outputs: int
    groups: int
    times: int  # how many such convolutions there are; several for filters that map each channel to several outputs

    @property
    def places(self) -> int:
        return self.batch * math.prod(self.counts)

    @property
    def single(self) -> bool:
        """Whether each channel is mapped to one output."""
        return self.groups > 1 and self.groups == self.inputs


def sizes_of(
    image: Sequence[int],
    kernel: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
) -> Sizes | None:
    """The sizes for shapes [batch, ..., channels] and [..., channels, outputs]; None if they are not for the steps here."""
    rank = len(strides)
    if not 0 < rank <= MOST_AXES or 0 in (*image, *kernel, *counts):
        return None
    groups = image[-1] // kernel[-2]
    if 1 < groups < image[-1] and min(kernel[-2], kernel[-1] // groups) < 8:
        return None  # products of few rows or columns
    times = kernel[-1] // groups if groups > 1 and kernel[-2] == 1 else 1

    def filled(values: Sequence[int], value: int) -> tuple[int, ...]:
        return (*(value,) * (MOST_AXES - rank), *values)

    return Sizes(
        image[0],
        filled(image[1:-1], 1),
        filled(counts, 1),
        filled(kernel[:-2], 1),
        filled(strides, 1),
        filled(dilations, 1),
        filled(before, 0),
        image[-1],
        kernel[-1] // times,
        groups,
        times,
    )


def sizes_for(windows: Any, image: Sequence[int], kernel: Sequence[int]) -> Sizes | None:
    """`sizes_of` for an op on windows, filters of the shape [..., channels, outputs], and images of this shape."""
    if 0 in (*image, *kernel):
        return None
    counts = windows.places(image, kernel[:-2])[1:]
    before = [first for first, _ in windows.pads(image, kernel[:-2])]
    return sizes_of(image, kernel, counts, windows.strides, windows.dilations, before)


def pool_sizes_for(windows: Any, image: Sequence[int]) -> Sizes | None:
    """`sizes_of` for a pool of maxima."""
    if image[-1] < _VECTORS:
        return None
    return sizes_for(windows, image, (*windows.window, 1, image[-1]))
