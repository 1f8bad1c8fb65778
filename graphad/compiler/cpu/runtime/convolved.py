"""Convolutions and pools as steps of a plan: the rows of `convolving`, and steps for what it does in NumPy around them.

Filters are copied to the workspace where rows want them elsewhere or turned around, sums over places have their parts there.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, SECOND, WORK, Part
from graphad.compiler.cpu.runtime import blas, convolving, movement, numpy_loops, ufuncs
from graphad.compiler.cpu.runtime import convolving_text as t
from graphad.compiler.cpu.runtime.convolving import Rows
from graphad.compiler.cpu.runtime.convolving_sizes import Sizes
from graphad.compiler.rows import Step
from graphad.core.light import NamedTuple
from graphad.kernels.forms import Convolved

Shape = Sequence[int]
_MOST_BLOCKS = 64  # of equal counts, each filled in by a step
_THREADS = 4  # for which work is divided: the workspace must not depend on a setting that may change


class Steps(NamedTuple):
    """The steps of a convolution, and the bytes of their workspace."""

    parts: list[Part]
    workspace: int


def steps(form: Convolved, dtype: str, shapes: Sequence[Shape], is_shared: bool) -> Steps | None:
    """The steps for operands and a result of these shapes; None where `convolving` has none.

    The workspace of those that threads share is the larger one.
    """
    threads = _THREADS if is_shared else 1
    if form.way in _MADE:
        image, kernel, _ = form.parts([tuple(shape) for shape in shapes])
        s = convolving.sizes_for(form.windows, image, kernel)
        return None if s is None or s.times > 1 else _MADE[form.way](s, kernel, dtype, threads)
    if form.way in ("means", "of_means"):
        return _means(form, dtype, shapes, threads)
    x = tuple(shapes[0])
    s = convolving.pool_sizes_for(form.windows.near(x), x)
    if s is None:
        return None
    spread = form.way == "at_maxima"
    rows = convolving.maxima_rows(s, dtype, threads, spread)
    before = [_zeros(dtype, math.prod(x), RESULT)] if spread else []
    return Steps(
        [*before, *_run(rows, dtype, (FIRST, 0), (SECOND if spread else FIRST, 0), (RESULT, 0), 0)], 0
    )


Place = tuple[int, int]  # what it is, and bytes behind its start


def _run(rows: Rows, dtype: str, image: Place, other: Place, result: Place, work: int) -> list[Part]:
    """The rows of a region, which threads may share, for operands at these places and a workspace behind so many bytes."""
    function, product = convolving.step(dtype, rows.function), blas.tiles(dtype)
    found = []
    for row in rows.words.tolist():
        places = [
            (place, at + row[word])
            for word, (place, at) in ((t.IMAGES, image), (t.OTHER, other), (t.RESULT, result))
        ]
        words = [t.IMAGES, t.OTHER, t.RESULT]
        if rows.workspace:
            places.append((WORK, work + row[t.WORK]))
            words.append(t.WORK)
        for word in (t.IMAGES, t.OTHER, t.RESULT, t.WORK):
            row[word] = 0
        row[t.PRODUCT] = product
        found.append(Part(Step(function, row, tuple(words)), tuple(places), True))
    return found


def _zeros(dtype: str, count: int, place: int, at: int = 0) -> Part:
    kind = np.dtype(dtype)
    words = movement.fill_words(kind.type(0), (count,), (kind.itemsize,))
    return Part(Step(movement.fill_kernel(kind.itemsize), words, (movement.TARGET,)), ((place, at),))


def _copied(
    kernel: Shape, dtype: str, seen: Callable[[np.ndarray], np.ndarray], columns: int, at: int
) -> tuple[list[Part], int]:
    """Steps that copy filters, as `seen`, to byte `at` of the workspace, with zeros behind each row; and where they end."""
    base = np.empty(tuple(kernel), dtype)
    view = seen(base)
    size = base.itemsize
    start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    wide = columns or view.shape[-1]
    count = math.prod(view.shape[:-1]) * wide
    target = [size]
    for n in (wide, *view.shape[:0:-1][1:]):
        target.insert(0, target[0] * n)
    words = movement.copy_words(size, view.shape, target[-view.ndim :], view.strides)
    step = Step(movement.copy_kernel(size), words, (movement.SOURCE, movement.TARGET))
    before = [_zeros(dtype, count, WORK, at)] if wide > view.shape[-1] else []
    return [*before, Part(step, ((SECOND, start), (WORK, at)))], at + -(-count * size // 64) * 64


def _values(s: Sizes, kernel: Shape, dtype: str, threads: int) -> Steps:
    rows = convolving.value_rows(s, dtype, threads)
    if not rows.columns:
        return Steps(_run(rows, dtype, (FIRST, 0), (SECOND, 0), (RESULT, 0), 0), rows.workspace)
    parts, end = _copied(kernel, dtype, lambda filters: filters, rows.columns, 0)
    return Steps([*parts, *_run(rows, dtype, (FIRST, 0), (WORK, 0), (RESULT, 0), end)], end + rows.workspace)


def _images(s: Sizes, kernel: Shape, dtype: str, threads: int) -> Steps:
    total = s.batch * math.prod(s.size) * s.inputs
    rows = convolving.spreading(s, dtype, threads)
    if rows is not None:
        parts, end = _copied(kernel, dtype, lambda filters: filters.reshape(-1, s.outputs).T, 0, 0)
        found = _run(rows, dtype, (FIRST, 0), (WORK, 0), (RESULT, 0), end)
        return Steps([_zeros(dtype, total, RESULT), *parts, *found], end + rows.workspace)
    complete, phases = convolving.transposed(s, dtype, threads)
    before, found = [] if complete else [_zeros(dtype, total, RESULT)], []
    end, starts = 0, []
    for taken, rows, _ in phases:
        starts.append(end)
        view = functools.partial(convolving.turned, s, taken=taken)
        parts, end = _copied(kernel, dtype, view, rows.columns, end)
        before += parts
    for (_, rows, start), at in zip(phases, starts, strict=True):
        found += _run(rows, dtype, (FIRST, 0), (WORK, at), (RESULT, start), end)
        end += rows.workspace
    return Steps([*before, *found], end)


def _filters(s: Sizes, kernel: Shape, dtype: str, threads: int) -> Steps:
    rows, parts = convolving.sums(s, dtype)
    given: Place = (SECOND, 0)
    before: list[Part] = []
    start = 0
    if rows.columns:
        given = WORK, 0
        before, start = _copied((s.batch, *s.counts, s.outputs), dtype, lambda g: g, rows.columns, 0)
    if parts == 1 and not s.single:
        found = _run(rows, dtype, (FIRST, 0), given, (RESULT, 0), start)
        return Steps([*before, *found], start + rows.workspace)
    count, size = math.prod(kernel), np.dtype(dtype).itemsize
    end = start + -(-parts * count * size // 64) * 64
    before += [_zeros(dtype, parts * count, WORK)] if s.single else []
    words = [0] * t.WORD_COUNT
    words[t.LENGTH], words[t.BLOCK] = count, parts
    added = Step(convolving.step(dtype, convolving.ADDED), words, (t.IMAGES, t.RESULT))
    found = _run(rows, dtype, (FIRST, 0), given, (WORK, start), end)
    return Steps([*before, *found, Part(added, ((WORK, start), (RESULT, 0)))], end + rows.workspace)


_MADE = {"values": _values, "images": _images, "filters": _filters}


def has_means(dtype: str) -> bool:
    """Whether NumPy's loop is found that divides sums by counts."""
    return _quotients(dtype) is not None


def _quotients(dtype: str) -> tuple[int, int] | None:
    char = np.dtype(dtype).char
    return numpy_loops.find(np.divide, f"{char}{char}->{char}")


def _means(form: Convolved, dtype: str, shapes: Sequence[Shape], threads: int) -> Steps | None:
    """Sums of windows are a convolution with ones, one filter for each channel; eager calls compute them so too."""
    spreads = form.way == "of_means"
    image, given = [tuple(shape) for shape in (shapes[::-1] if spreads else shapes)]
    channels, kind = image[-1], np.dtype(dtype)
    if channels < 2 or 0 in image or 0 in given:  # of one channel eager calls add otherwise
        return None
    op = form.windows.near(image)
    kernel = (*op.window, 1, channels)
    s = convolving.sizes_for(op, image, kernel)
    if s is None or s.times > 1:
        return None
    counts = op.divisors(image, kind)
    ones = _filled(kind.type(1), (math.prod(kernel),), (kind.itemsize,), 0)
    parts, end = [ones], _behind(0, math.prod(kernel), kind)
    if np.ndim(counts):
        fills = _counted(counts.reshape(counts.shape[1:-1]), kind, end)
        if fills is None:
            return None
        parts += fills
    at_counts, end = end, _behind(end, np.size(counts) if np.ndim(counts) else 0, kind)
    if not spreads:
        made = _MADE["values"](s, kernel, dtype, threads)
        where = {SECOND: (WORK, 0), WORK: (WORK, end)}
        quotient = _divided(given, counts, kind, (RESULT, 0), at_counts)
        return Steps([*parts, *_elsewhere(made.parts, where), quotient], end + made.workspace)
    start, end = end, _behind(end, math.prod(given), kind)
    made = _MADE["images"](s, kernel, dtype, threads)
    where = {FIRST: (WORK, start), SECOND: (WORK, 0), WORK: (WORK, end)}
    quotient = _divided(given, counts, kind, (FIRST, 0), at_counts, (WORK, start))
    return Steps([*parts, quotient, *_elsewhere(made.parts, where)], end + made.workspace)


def _behind(start: int, count: int, kind: np.dtype[Any]) -> int:
    """The address in the workspace after this many numbers."""
    return start + -(-count * kind.itemsize // 64) * 64


def _filled(value: Any, shape: Shape, strides: Shape, at: int) -> Part:
    words = movement.fill_words(value, shape, strides)
    return Part(Step(movement.fill_kernel(value.itemsize), words, (movement.TARGET,)), ((WORK, at),))


def _counted(counts: np.ndarray, kind: np.dtype[Any], at: int) -> list[Part] | None:
    """Steps that fill the counts in, a block of equal ones each; None for too many blocks."""
    bounds = []
    for axis in range(counts.ndim):
        rows = np.moveaxis(counts, axis, 0).reshape(counts.shape[axis], -1)
        changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
        bounds.append([0, *changes.tolist(), counts.shape[axis]])
    if math.prod(len(each) - 1 for each in bounds) > _MOST_BLOCKS:
        return None
    found = []
    for block in itertools.product(*[itertools.pairwise(each) for each in bounds]):
        first = tuple([low for low, _ in block])
        offset = sum(low * stride for low, stride in zip(first, counts.strides, strict=True))
        found.append(
            _filled(
                kind.type(counts[first]), [high - low for low, high in block], counts.strides, at + offset
            )
        )
    return found


def _divided(
    shape: Shape, counts: Any, kind: np.dtype[Any], x: Place, at: int, into: Place | None = None
) -> Part:
    """The step that divides sums [batch, places..., channels] by the counts of the places, in place unless `into` another one."""
    loop = _quotients(kind.name)
    assert loop is not None  # as `has_means` has seen
    size, into = kind.itemsize, into or x
    if not np.ndim(counts):
        made = ufuncs.step(
            loop, (1, 1), [0] * 3, [0] * 3, [math.prod(shape)], [size, 0, size], np.asarray(counts, kind), 1
        )
        return Part(made, (x, into))
    batch, channels = shape[0], shape[-1]
    places = math.prod(shape[1:-1])
    outer = [places * channels * size, 0, places * channels * size]
    along, within = [channels * size, size, channels * size], [size, 0, size]
    middle, inner = (places, along), (channels, within)
    if places > channels:  # fewer calls of longer loops
        middle, inner = inner, middle
    made = ufuncs.step(loop, (batch, middle[0]), outer, middle[1], [inner[0]], inner[1])
    return Part(made, (x, (WORK, at), into))


def _elsewhere(parts: Sequence[Part], where: dict[int, Place]) -> list[Part]:
    """The same steps with other addresses for some of their arrays."""

    def moved(place: Place) -> Place:
        there, begin = where.get(place[0], (place[0], 0))
        return there, begin + place[1]

    return [part._replace(places=tuple(map(moved, part.places))) for part in parts]
