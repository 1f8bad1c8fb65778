"""Convolutions of NumPy arrays and their two gradients by native steps, shared among the threads of the pool.

The gradient by the image is convolutions too: the elements of the image whose distance is a multiple of the strides see the same
elements of a window, so each such phase is a convolution of the cotangents with a part of the filters, turned around. Rows of a
result are the same whichever thread computes them, and sums over places have parts that depend on sizes alone: the number of
threads changes no bit.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.cpu.runtime import (
    blas,
    convolving_few,
    convolving_lines,
    convolving_text,
    driver,
    native,
    pool,
    tiles_text,
)
from graphad.compiler.cpu.runtime import convolving_lines as by_line
from graphad.compiler.cpu.runtime import convolving_text as t
from graphad.compiler.cpu.runtime.convolving_sizes import MOST_AXES, Sizes
from graphad.compiler.cpu.runtime.convolving_sizes import pool_sizes_for as pool_sizes_for
from graphad.compiler.cpu.runtime.convolving_sizes import sizes_for as sizes_for
from graphad.compiler.cpu.runtime.convolving_sizes import sizes_of as sizes_of
from graphad.compiler.cpu.runtime.plan_block import ALIGNMENT, aligned_bytes
from graphad.compiler.cpu.target import host
from graphad.core.errors import InternalError
from graphad.core.light import NamedTuple

_BLOCK_BYTES = 1 << 18  # of the rows of a block, which stay in the second-level cache
_DEPTH = 256  # places whose products are added up at once for filters
_LIGHT = 1 << 20  # multiplications for which waking a thread does not pay
_HEAVY = 1 << 23  # multiplications from which sums over places have parts
_PARTS = 4
_LONG = 48  # elements of a part of a window for which a product of its own pays

_FEW = 8  # channels of an image up to which cotangents are spread by one product for all of a window

_COPIED_BYTES = 1 << 17  # of lines with zeros on both sides, which stay in the second-level cache
_MOST_BYTES = 1 << 19  # of them where a single line of results has many
_FEWEST = 4  # places of a line: fewer leave most of a tile empty
_DEEPEST = 1152  # elements of a window whose products are added up in registers at once
_MANY = 512  # places for which it pays to copy filters to whole lines of the cache
_LINES = 16  # lines of results of a heavy convolution that threads can share

CORRELATE, FILTERS, SINGLE, SINGLE_FILTERS, SPREAD, AT_MAXIMA, MAXIMA, LINES, LINE_FILTERS, ADDED, FEW = (
    range(11)
)
_TEXTS = {
    CORRELATE: convolving_text,
    LINES: convolving_lines,
    FEW: convolving_few,
}  # by the first function of each
_NAMES = {
    "f": "float32",
    "d": "float64",
}  # of dtypes by their letters, in a tenth of the time of `dtype.name`
_functions: dict[tuple[str, int], list[int]] = {}


def _shape(dtype: str) -> tiles_text.Shape | None:
    shapes = tiles_text.shapes(host().features)
    return next((shape for shape in shapes if shape.letter == blas.LETTERS[dtype]), None)


def _steps(dtype: str, first: int) -> list[int]:
    """The addresses of the functions of a text, from its first one on; none where this processor has no tiles."""
    return native.once(_functions, (dtype, first), lambda: _compiled(dtype, first))


def _compiled(dtype: str, first: int) -> list[int]:
    shape, text = _shape(dtype), _TEXTS[first]
    if shape is None or not blas.tiles(dtype):
        return []
    names = text.symbols(shape)
    made = native.printed(text.text, shape, symbols=names)
    return [made[name] for name in names]


def step(dtype: str, function: int) -> int:
    first = max(k for k in _TEXTS if k <= function)
    return _steps(dtype, first)[function - first]


_at_hand: dict[tuple[str, int], None] = {}  # functions that eager calls have found compiled


def _ready(dtype: str, function: int) -> None:
    """Load what an eager call of a function needs. Raises: NotCompiledError: some of it is not compiled yet."""
    what = f"convolution {dtype} {function}"
    native.soon(
        what, lambda: blas.tiles(dtype), lambda: step(dtype, function), driver.load, pool.region_kernel
    )


class Rows(NamedTuple):
    """The blocks of a region, whose words IMAGES to WORK are offsets in bytes, and the bytes of all workspaces.

    `columns`: As many numbers has each row of filters, or of cotangents, that the step reads, zeros behind its own, the first at
    a multiple of a vector; 0 if it reads them as they are.
    """

    function: int
    words: np.ndarray
    workspace: int
    columns: int = 0


def _words(s: Sizes, result_image: int, result_steps: Sequence[int], itemsize: int) -> list[int]:
    channels, outputs = s.inputs // s.groups, s.outputs // s.groups
    words = [0] * t.WORD_COUNT
    for first, values in (
        (t.COUNT, s.counts),
        (t.SIZE, s.size),
        (t.WINDOW, s.window),
        (t.STRIDE, s.strides),
        (t.DILATION, s.dilations),
        (t.BEFORE, s.before),
        (t.RESULT_STEPS, result_steps),
        (t.LAST, s.window[:2]),
    ):
        words[first : first + len(values)] = values
    words[t.CHANNELS], words[t.PIXEL], words[t.OUTPUTS] = channels, s.inputs, outputs
    words[t.OTHER_PIXEL] = s.outputs
    alone = set(s.window) == {1} and set(s.strides) == {1} and not any(s.before) and s.counts == s.size
    words[t.ALONE] = int(alone)
    words[t.RESULT_IMAGE], words[t.RESULT_PIXEL] = result_image, result_steps[2]
    words[t.LENGTH] = math.prod(s.window) * channels
    words[t.ALPHA] = blas.bits(np.dtype(f"f{itemsize}"), 1)[0]
    words[t.PLAIN], words[t.TURNED] = ord("N"), ord("T")
    tight = (*s.counts, 1)
    steps = (result_image, *result_steps)
    words[t.TIGHT] = int(all(steps[k] == steps[k + 1] * tight[k] for k in range(3)))
    return words


def _ranges(total: int, work: float, least: int, threads: int) -> list[tuple[int, int]]:
    """Ranges of places, a few for each thread, none of little work or few places."""
    many = max(1, min(4 * threads if threads > 1 else 1, int(work / _LIGHT), total // max(least, 1)))
    size = -(-total // many)
    return [(low, min(low + size, total)) for low in range(0, total, size)]


def _each_range(words: list[int], ranges: Sequence[tuple[int, int]], each: int, step: int = 1) -> np.ndarray:
    """A row for each range, in units of `step`, with a workspace of so many bytes of its own."""
    found = np.array([words] * len(ranges), np.int64)
    found[:, [t.LOW, t.HIGH]] = np.array(ranges) * step
    found[:, t.WORK] = np.arange(len(ranges)) * each
    return found


def _lines_at_once(s: Sizes, line: int) -> tuple[int, int]:
    """For how many lines of results lines of the image, of so many bytes, are copied at once; and how many these are."""
    reach = (s.window[1] - 1) * s.dilations[1] + 1
    fit = _COPIED_BYTES // (line * s.window[0])
    many = min(max((fit - reach) // s.strides[1] + 1, 1), s.counts[1])
    return many, s.window[0] * (s.strides[1] * (many - 1) + reach)


def _in_lines(s: Sizes, words: list[int], itemsize: int) -> int:
    """Add the words of a step that goes line by line, if that pays. Returns: the bytes of its workspace, 0 where it does not."""
    length, lines = words[t.LENGTH], s.batch * s.counts[0] * s.counts[1]
    if s.groups > 1 or s.dilations[2] > 1 or words[t.ALONE] or length > _DEEPEST or s.counts[2] < _FEWEST:
        return 0
    if lines < _LINES and float(s.places) * length * s.outputs > _HEAVY:
        return 0
    padded = (s.strides[2] * (s.counts[2] - 1) + s.window[2]) * s.inputs
    is_direct = s.before[2] <= 0 and padded - s.before[2] * s.inputs <= s.size[2] * s.inputs
    many, copies = _lines_at_once(s, padded * itemsize)
    if padded * itemsize * copies > _MOST_BYTES:
        return 0
    table, line = -(-copies * 8 // 64) * 64, -(-padded * itemsize // 64) * 64
    words += [0] * (by_line.WORD_COUNT - t.WORD_COUNT)
    words[by_line.LINES], words[by_line.PADDED], words[by_line.DIRECT] = many, padded, int(is_direct)
    words[by_line.ZEROS], words[by_line.COPIES] = table // itemsize, (table + line) // itemsize
    return table + line + (0 if is_direct else -(-copies * padded * itemsize // 64) * 64)


def _correlation_of_lines(s: Sizes, words: list[int], each: int, dtype: str, threads: int) -> Rows:
    """The rows of a convolution that goes line by line, with workspaces of so many bytes."""
    shape = _shape(dtype)
    assert shape is not None
    words[t.OTHER_PIXEL] = columns = -(-s.outputs // shape.lanes) * shape.lanes
    rows = _each_range(words, _ranges_of_lines(s, words, threads), each)
    is_placed = columns > s.outputs or s.places >= _MANY
    return Rows(LINES, rows, len(rows) * each, columns if is_placed else 0)


def _ranges_of_lines(s: Sizes, words: list[int], threads: int) -> list[tuple[int, int]]:
    work = float(s.places) * words[t.LENGTH] * s.outputs
    return _ranges(s.batch * s.counts[0] * s.counts[1], work, 1, threads)


def _of_few(s: Sizes, words: list[int], dtype: str, threads: int) -> Rows | None:
    """The rows of a convolution with few outputs, whose vectors are of places; None where another way is quicker."""
    shape = _shape(dtype)
    if shape is None or s.groups > 1 or s.strides[2] > 1 or words[t.ALONE]:
        return None
    itemsize, lanes = np.dtype(dtype).itemsize, shape.lanes
    if (
        s.outputs > min(convolving_few.MOST, lanes // 2)
        or s.counts[2] < lanes // 2
        or words[t.LENGTH] > _DEEPEST
    ):
        return None
    reach = (s.window[2] - 1) * s.dilations[2]
    padded = (-(-(s.counts[2] + reach) // lanes) + 1) * lanes
    line = padded * s.inputs * itemsize
    many, copies = _lines_at_once(s, line)
    if line * copies > _MOST_BYTES:
        return None
    table, sums = -(-copies * 8 // 64) * 64, convolving_few.MOST * convolving_few.VECTORS * lanes * itemsize
    words += [0] * (convolving_few.WORD_COUNT - t.WORD_COUNT)
    words[by_line.LINES], words[by_line.PADDED] = many, padded
    words[convolving_few.SUMS], words[by_line.COPIES] = table // itemsize, (table + sums) // itemsize
    each = table + sums + -(-line * copies // 64) * 64
    rows = _each_range(words, _ranges_of_lines(s, words, threads), each)
    return Rows(FEW, rows, len(rows) * each)


@functools.lru_cache(maxsize=512)
def _correlation(
    s: Sizes, result_image: int, result_steps: tuple[int, ...], dtype: str, threads: int, packed: bool
) -> Rows:
    """The rows of a convolution. If `packed`, filters of a group are stored behind each other; otherwise beside each other."""
    itemsize = np.dtype(dtype).itemsize
    words = _words(s, result_image, result_steps, itemsize)
    rows = []
    if s.single:
        work = float(s.places * math.prod(s.window) * s.inputs)
        return Rows(SINGLE, _each_range(words, _ranges(s.places, work, 1, threads), 0), 0)
    few = _of_few(s, words, dtype, threads)
    if few is not None:
        return few
    each = _in_lines(s, words, itemsize)
    if each:
        return _correlation_of_lines(s, words, each, dtype, threads)
    length, outputs = words[t.LENGTH], words[t.OUTPUTS]
    block = min(max(_BLOCK_BYTES // (length * itemsize) // 12 * 12, 96), 480)
    # Rows of the windows, and behind them those of results that are not written in place.
    kept = 0 if words[t.TIGHT] else length + outputs
    each = block * max(kept, 0 if words[t.ALONE] else length) * itemsize
    words[t.BLOCK] = block
    if packed:
        words[t.OTHER_PIXEL] = outputs
    workspace = 0
    for group in range(s.groups):
        for low, high in _ranges(s.places, float(s.places) * length * outputs, 24, threads):
            row = list(words)
            row[t.LOW], row[t.HIGH] = low, high
            row[t.IMAGES] = group * words[t.CHANNELS] * itemsize
            row[t.OTHER] = group * (length * outputs if packed else outputs) * itemsize
            row[t.RESULT] = group * outputs * itemsize
            row[t.WORK] = workspace
            workspace += -(-each // 64) * 64
            rows.append(row)
    return Rows(CORRELATE, np.array(rows, np.int64), workspace)


@functools.lru_cache(maxsize=512)
def sums(s: Sizes, dtype: str) -> tuple[Rows, int]:
    """The rows of a gradient by the filters, and into how many parts the sums are split."""
    itemsize = np.dtype(dtype).itemsize
    words = _words(s, 0, (0, 0, s.outputs), itemsize)
    work = s.places * math.prod(s.window) * (s.inputs // s.groups) * s.outputs
    rows: list[list[int]] = []
    if s.single:
        parts = min(_PARTS if work >= _LIGHT else 1, s.batch)
        size = -(-s.batch // parts)
        parts = -(-s.batch // size)
        of_image, of_given = math.prod(s.size) * s.inputs, math.prod(s.counts) * s.inputs
        for part in range(parts):
            low = part * size
            row = list(words)
            row[t.BLOCK] = min(low + size, s.batch) - low
            row[t.HIGH] = s.inputs
            row[t.IMAGES], row[t.OTHER] = low * of_image * itemsize, low * of_given * itemsize
            row[t.RESULT] = part * math.prod(s.window) * s.inputs * itemsize
            rows.append(row)
        return Rows(SINGLE_FILTERS, np.array(rows, np.int64), 0), parts
    shape = _shape(dtype)
    assert shape is not None
    room = _in_lines(s, words, itemsize)
    # The cotangents of a place are read in whole vectors.
    wide = -(-s.outputs // shape.lanes) * shape.lanes if room else s.outputs
    words[t.OTHER_PIXEL] = wide
    channels, outputs = words[t.CHANNELS], words[t.OUTPUTS]
    axis = 0 if s.window[0] > 1 else 1
    inside = math.prod(s.window[axis + 1 :]) * channels
    pieces = s.window[axis] if inside >= _LONG and not words[t.ALONE] else 1
    tasks = pieces * s.groups
    parts = 1 if work < _HEAVY else 2 if tasks > 1 else _PARTS
    count = s.places // s.counts[2] if room else s.places
    size = -(-count // parts)
    size = size if room else -(-size // _DEPTH) * _DEPTH
    parts = -(-count // size)
    workspace, total = 0, words[t.LENGTH] * s.outputs
    for part, group, piece in itertools.product(range(parts), range(s.groups), range(pieces)):
        row = list(words)
        if pieces > 1:
            row[t.FIRST + axis], row[t.LAST + axis], row[t.LENGTH] = piece, piece + 1, inside
        row[t.LOW], row[t.HIGH] = part * size, min(part * size + size, count)
        row[t.BLOCK] = _DEPTH if row[t.LENGTH] <= 1024 else _DEPTH // 2
        row[t.IMAGES] = group * channels * itemsize
        row[t.OTHER] = group * outputs * itemsize
        at = part * total + (piece * inside if pieces > 1 else 0) * s.outputs + group * outputs
        row[t.RESULT], row[t.WORK] = at * itemsize, workspace
        if room:
            workspace += room
        elif not words[t.ALONE]:
            workspace += -(-row[t.BLOCK] * row[t.LENGTH] * itemsize // 64) * 64
        rows.append(row)
    columns = wide if wide > s.outputs else 0
    return Rows(LINE_FILTERS if room else FILTERS, np.array(rows, np.int64), workspace, columns), parts


def _placed(filters: np.ndarray, columns: int) -> np.ndarray:
    """Filters, with zeros behind each row, where rows begin at multiples of a vector if they can: a vector that lies in two lines
    of the cache is loaded twice."""
    shape = (*filters.shape[:-1], columns)
    found = aligned_bytes(math.prod(shape) * filters.itemsize).view(filters.dtype).reshape(shape)
    found[..., : filters.shape[-1]] = filters
    found[..., filters.shape[-1] :] = 0
    return found


def _run(dtype: str, given: Sequence[tuple[Rows, np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Run the rows of several regions as one: (rows, images, the other operand, result) each."""
    for rows, *_ in given:
        native.once(_at_hand, (dtype, rows.function), functools.partial(_ready, dtype, rows.function))
    product = blas.tiles(dtype)
    tables: list[np.ndarray] = []
    held: list[np.ndarray] = []
    for rows, images, other, result in given:
        words, room = rows.words.copy(), 0
        if rows.workspace:
            work = np.empty(rows.workspace, np.uint8)
            room = work.ctypes.data
            held.append(work)
        if rows.columns > other.shape[-1] or (rows.columns and other.ctypes.data % ALIGNMENT):
            other = _placed(other, rows.columns)
            held.append(other)
        first = images.ctypes.data
        second = first if other is images else other.ctypes.data
        words[:, : t.PRODUCT + 1] += np.array([first, second, result.ctypes.data, room, product], np.int64)
        start, size, function = words.ctypes.data, words.strides[0], step(dtype, rows.function)
        table = np.array([(function, start + k * size) for k in range(len(words))], np.int64)
        tables.append(table)
        held.append(words)
    table = np.concatenate(tables) if len(tables) > 1 else tables[0]
    if len(table) > 1:
        block = np.array([table.ctypes.data, len(table), pool.control()], np.int64)
        held += [table, block]
        table = np.array([[pool.region_kernel(), block.ctypes.data]], np.int64)
    status, _ = driver.run_table(table)
    if status:
        raise InternalError(f"convolution: a step ended with status {status}")


def _result_steps(sizes: Sequence[int], channels: int) -> tuple[int, tuple[int, ...]]:
    """Strides of images with these sizes, in elements: of the batch, and of the three axes."""
    h, w = sizes[1] * sizes[2] * channels, sizes[2] * channels
    return sizes[0] * h, (h, w, channels)


def _each(s: Sizes, array: np.ndarray) -> list[np.ndarray]:
    """The operands of several convolutions that are stored side by side: [..., channels * times], each [..., channels]."""
    if s.times == 1:
        return [array]
    apart = array.reshape(*array.shape[:-1], s.outputs, s.times)
    return [np.ascontiguousarray(apart[..., k]) for k in range(s.times)]


def _put_together(s: Sizes, made: Sequence[np.ndarray], array: np.ndarray) -> None:
    """The inverse of `_each`, into `array`; what was made in place is there already."""
    if s.times > 1:
        np.stack(made, -1, out=array.reshape(*array.shape[:-1], s.outputs, s.times))


def _room(s: Sizes, array: np.ndarray) -> list[np.ndarray]:
    """Where each convolution writes what goes into `array` in the end."""
    if s.times == 1:
        return [array]
    return [np.empty((*array.shape[:-1], s.outputs), array.dtype) for _ in range(s.times)]


def value_rows(s: Sizes, dtype: str, threads: int) -> Rows:
    """The rows of the convolution itself."""
    return _correlation(s, *_result_steps(s.counts, s.outputs), dtype, threads, False)


def convolve(s: Sizes, x: np.ndarray, kernel: np.ndarray, y: np.ndarray) -> None:
    """Write the convolution of images `x` with filters `kernel` to `y`; all in C order."""
    name, made = x.dtype.name, _room(s, y)
    rows = value_rows(s, name, pool.thread_count())
    _run(name, [(rows, x, part, to) for part, to in zip(_each(s, kernel), made, strict=True)])
    _put_together(s, made, y)


@functools.lru_cache(maxsize=512)
def spreading(s: Sizes, dtype: str, threads: int) -> Rows | None:
    """The rows of a gradient by the image that adds up where windows lie, of whole images each; None where phases are quicker."""
    lanes = 64 // np.dtype(dtype).itemsize
    run = s.window[2] * s.inputs
    short = run <= t.SHORT * lanes // (1 if "+avx512f" in host().features else 2)
    if s.groups > 1 or s.inputs > _FEW or s.dilations[2] > 1 or not short or set(s.window) == {1}:
        return None
    if set(s.strides) == {1} and transposed(s, dtype, threads)[1][0][1].function == FEW:
        return None
    itemsize = np.dtype(dtype).itemsize
    words = _words(s, 0, (0, 0, s.inputs), itemsize)
    length, each = words[t.LENGTH], math.prod(s.counts)
    words[t.OTHER_PIXEL] = length
    words[t.BLOCK] = block = min(max(_BLOCK_BYTES // (length * itemsize) // 12 * 12, 96), 480)
    size = -(-block * length * itemsize // 64) * 64
    rows = _each_range(words, _ranges(s.batch, float(s.places) * length * s.outputs, 1, threads), size, each)
    return Rows(SPREAD, rows, len(rows) * size)


class _Phase(NamedTuple):
    """Elements of an image along one axis that see the same elements of windows."""

    start: int
    step: int
    many: int
    taken: tuple[int, ...]  # elements of a window, last first
    dilation: int
    before: int


def _phases(size: int, window: int, stride: int, dilation: int, before: int) -> list[_Phase]:
    found = []
    for start in range(min(stride, size)):
        at = start + before
        taken = [k for k in range(window) if (at - k * dilation) % stride == 0][::-1]
        apart = (taken[0] - taken[1]) * dilation // stride if len(taken) > 1 else 1
        first = (at - taken[0] * dilation) // stride if taken else 0
        found.append(_Phase(start, stride, -(-(size - start) // stride), tuple(taken), apart, -first))
    return found


def _last_first(taken: Sequence[int]) -> slice:
    """Elements with equal distances, last first."""
    step = taken[0] - taken[1] if len(taken) > 1 else 1
    return slice(taken[0], taken[-1] - step if taken[-1] >= step else None, -step)


@functools.lru_cache(maxsize=512)
def transposed(s: Sizes, dtype: str, threads: int) -> tuple[bool, list[tuple[Any, Rows, int]]]:
    """Whether all elements of the image are written; and for each phase which elements of windows it sees, its rows, and where
    it starts in the image, in bytes.
    """
    itemsize = np.dtype(dtype).itemsize
    image, steps = _result_steps(s.size, s.inputs)
    axes = [_phases(*given) for given in zip(s.size, s.window, s.strides, s.dilations, s.before, strict=True)]
    complete, found = True, []
    for phases in itertools.product(*axes):
        if not all(phase.taken for phase in phases):
            complete = False
            continue
        turned = Sizes(
            s.batch,
            s.counts,
            tuple([phase.many for phase in phases]),
            tuple([len(phase.taken) for phase in phases]),
            (1,) * MOST_AXES,
            tuple([phase.dilation for phase in phases]),
            tuple([phase.before for phase in phases]),
            s.outputs,
            s.inputs,
            s.groups,
            1,
        )
        apart = tuple([step * phase.step for step, phase in zip(steps, phases, strict=True)])
        start = sum([step * phase.start for step, phase in zip(steps, phases, strict=True)])
        rows = _correlation(turned, image, apart, dtype, threads, True)
        found.append((tuple([_last_first(phase.taken) for phase in phases]), rows, start * itemsize))
    return complete, found


def image_gradient(s: Sizes, g: np.ndarray, kernel: np.ndarray, x: np.ndarray) -> None:
    """Write the gradient by the images to `x`, for cotangents `g`; all in C order."""
    each, filters = _each(s, g), _each(s, kernel)
    _image_gradient(s, each[0], filters[0], x)
    if s.times > 1:
        part = np.empty_like(x)
        for one, other in zip(each[1:], filters[1:], strict=True):
            _image_gradient(s, one, other, part)
            x += part


def turned(s: Sizes, kernel: np.ndarray, taken: tuple[slice, ...]) -> np.ndarray:
    """A view of the filters of a phase, turned around; those of several groups behind each other."""
    filters = kernel.reshape(*s.window, s.inputs // s.groups, s.groups, s.outputs // s.groups)
    part = filters.transpose(0, 1, 2, 4, 5, 3)[taken]
    if s.groups == 1:
        return part[:, :, :, 0]
    return part if s.single else np.moveaxis(part, 3, 0)


def _image_gradient(s: Sizes, g: np.ndarray, kernel: np.ndarray, x: np.ndarray) -> None:
    name, threads = g.dtype.name, pool.thread_count()
    spread = spreading(s, name, threads)
    if spread is not None:
        x[...] = 0
        columns = np.ascontiguousarray(kernel.reshape(-1, s.outputs).T)
        _run(name, [(spread, g, columns, x)])
        return
    complete, phases = transposed(s, name, threads)
    if not complete:
        x[...] = 0
    flat, given = x.reshape(-1).view(np.uint8), []
    for taken, rows, start in phases:
        part = turned(s, kernel, taken)
        part = _placed(part, rows.columns) if rows.columns else np.ascontiguousarray(part)
        given.append((rows, g, part, flat[start:]))
    if given:
        _run(name, given)


def filter_gradient(s: Sizes, x: np.ndarray, g: np.ndarray, kernel: np.ndarray) -> None:
    """Write the gradient by the filters to `kernel`, for images `x` and cotangents `g`; all in C order."""
    rows, parts = sums(s, x.dtype.name)
    made = _room(s, kernel)
    for each, to in zip(_each(s, g), made, strict=True):
        if parts == 1 and not s.single:
            _run(x.dtype.name, [(rows, x, each, to)])
            continue
        apart = (np.zeros if s.single else np.empty)((parts, *to.shape), x.dtype)
        _run(x.dtype.name, [(rows, x, each, apart)])
        np.add(apart[0], apart[1], out=to) if parts > 1 else np.copyto(to, apart[0])
        for part in apart[2:]:
            to += part
    _put_together(s, made, kernel)


@functools.lru_cache(maxsize=512)
def maxima_rows(s: Sizes, dtype: str, threads: int, spread: bool) -> Rows:
    """The rows of maxima, or of their gradient, which are whole images each."""
    words, each = _words(s, 0, (0, 0, s.inputs), np.dtype(dtype).itemsize), math.prod(s.counts)
    total, step = (s.batch, each) if spread else (s.places, 1)
    ranges = _ranges(total, 2.0 * s.places * math.prod(s.window) * s.inputs, 1, threads)
    return Rows(AT_MAXIMA if spread else MAXIMA, _each_range(words, ranges, 0, step), 0)


def at_maxima(s: Sizes, x: np.ndarray, g: np.ndarray, to: np.ndarray) -> None:
    """Add the elements of `g` to the zeros `to`, each where its window of `x` has the first maximum; all in C order."""
    name = _NAMES[x.dtype.char]
    _run(name, [(maxima_rows(s, name, pool.thread_count(), True), x, g, to)])


def maxima(s: Sizes, x: np.ndarray, y: np.ndarray) -> None:
    """Write the maximum of each window and channel of `x` to `y`; both in C order."""
    name = _NAMES[x.dtype.char]
    _run(name, [(maxima_rows(s, name, pool.thread_count(), False), x, x, y)])
