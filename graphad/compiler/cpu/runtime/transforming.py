"""Fourier transforms as plan steps, by the loops that `numpy.fft` calls along one axis after the other.

A loop keeps the factors of its sizes in a table behind a lock of its own, and needs no interpreter. Adjoints double or halve the
numbers that have a mirror image, by NumPy's loop for products, so that infinities and signs of zeros are those of the eager op.

NumPy transforms float32 numbers in float64 unless it divides them by the size, whose reciprocal it makes a float32 number. So do
the steps, one axis at a time.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, WORK, Part
from graphad.compiler.cpu.runtime import blas, factorising, movement, numpy_loops, ufuncs
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Transformed

_LETTERS = {"complex64": "F", "complex128": "D", "float32": "f", "float64": "d"}
_REAL = {"F": "f", "D": "d"}
Place = tuple[int, int]


def _loop(name: str, letters: str) -> tuple[int, int] | None:
    try:  # not imported by programs without transforms
        loops = importlib.import_module("numpy.fft._pocketfft_umath")
    except ImportError:  # before NumPy 2
        return None
    ufunc = getattr(loops, name, None)
    return numpy_loops.find(ufunc, letters) if isinstance(ufunc, np.ufunc) else None


def _real(dtype: str) -> str:
    """The letter of the real numbers beside a dtype."""
    letter = _LETTERS[dtype]
    return _REAL.get(letter, letter)


@functools.lru_cache(maxsize=4)
def _loops(dtype: str) -> dict[str, tuple[int, int] | None]:
    """The loops of transforms between numbers of the precision of a dtype."""
    r = _real(dtype)
    c = r.upper()
    found = {name: _loop(name, f"{c}{r}->{c}") for name in ("fft", "ifft")}
    found |= {name: _loop(name, f"{r}{r}->{c}") for name in ("rfft_n_even", "rfft_n_odd")}
    return found | {
        "irfft": _loop("irfft", f"{c}{r}->{r}"),
        "mul": numpy_loops.find(np.multiply, f"{c}{c}->{c}"),
    }


@functools.lru_cache(maxsize=32)
def has(form: Transformed, dtype: str) -> bool:
    """Whether there are steps for operands of a dtype, with the bits of the eager op; small ones are tried."""
    if dtype not in _LETTERS or form.rank > 3:
        return False
    if None in _loops(dtype).values() or None in _loops("complex128").values():
        return False
    rng = np.random.default_rng(3)
    for n in (6, 5):
        shape = (2, 3, 4)[: form.rank] + (n,)
        half = (*shape[:-1], n // 2 + 1)
        given, gives = {"fft": (shape, shape), "rfft": (shape, half), "irfft": (half, shape)}[form.way]
        x: Any = rng.normal(size=given)
        if form.way != "rfft":
            x = x + 1j * rng.normal(size=given)
        x = np.ascontiguousarray(x, as_dtype(dtype).numpy)
        want = _wanted(form, x, n)
        found = np.empty(gives, want.dtype)
        work = np.empty(workspace(form, dtype, [given, gives]), np.uint8)
        arrays = {FIRST: x, RESULT: found, WORK: work}
        made = parts(form, dtype, [given, gives]) or ()
        if not blas.run_parts(made, arrays) or found.tobytes() != want.tobytes():
            return False
    return True


def _wanted(form: Transformed, x: np.ndarray, n: int) -> np.ndarray:
    """The result of the eager op for x, which is `n` real numbers or half of their spectrum."""
    axes = tuple(range(-form.rank, 0))
    if form.way == "fft":
        function = np.fft.ifftn if form.inverse else np.fft.fftn
        return function(x, axes=axes, norm="backward" if form.scaled is form.inverse else "forward")
    ends = [0, n // 2] if n % 2 == 0 else [0]
    if form.way == "rfft":
        y = np.fft.rfftn(x, axes=axes, norm="forward" if form.adjoint else "backward")
        if form.adjoint:
            once = y[..., ends]
            y *= 2
            y[..., ends] = once
        return y
    sizes = (*x.shape[-form.rank : -1], n)
    if not form.adjoint:
        return np.fft.irfftn(x, sizes, axes=axes)
    half = x * x.dtype.type(0.5)
    half[..., ends] = x[..., ends]
    return np.fft.irfftn(half, sizes, axes=axes, norm="forward")


def workspace(form: Transformed, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
    """Bytes for what a transform to real numbers changes before its last axis, and for numbers in float64."""
    made = _made(form, dtype, shapes)
    return 0 if made is None else made.work


def parts(form: Transformed, dtype: str, shapes: Sequence[Sequence[int]]) -> list[Part] | None:
    """The steps for an operand and a result in C order, of these shapes; None where the eager op refuses them."""
    made = _made(form, dtype, shapes)
    return None if made is None else made.found


def _made(form: Transformed, dtype: str, shapes: Sequence[Sequence[int]]) -> _Steps | None:
    given, gives = shapes[0], shapes[-1]
    made, end = _Steps(dtype), len(given) - 1
    if 0 in gives:
        return made
    if 0 in given:
        made.found.append(_zeros(dtype, form, gives))
        return made
    others = range(len(given) - form.rank, end)
    source, target = (FIRST, 0), (RESULT, 0)
    if form.way == "fft":
        name = "ifft" if form.inverse else "fft"
        for axis in (end, *reversed(others)):
            made.transform(name, gives, axis, form.scaled, source, target)
            source = target
    elif form.way == "rfft":
        n = given[-1]
        name = "rfft_n_odd" if n % 2 else "rfft_n_even"
        made.transform(name, given, end, form.adjoint, source, target, (n, n // 2 + 1))
        for axis in reversed(others):
            made.transform("fft", gives, axis, form.adjoint, target, target)
        if form.adjoint:
            made.scale(gives, n, 2.0, target)
    else:
        n = gives[-1]
        if given[-1] != n // 2 + 1:
            return None
        if form.adjoint or form.rank > 1:
            made.hold(given)
        if form.adjoint:
            made.copy(given, source, (WORK, 0))
            source = WORK, 0
            made.scale(given, n, 0.5, source)
        for axis in others:
            made.transform("ifft", given, axis, not form.adjoint, source, (WORK, 0))
            source = WORK, 0
        made.transform("irfft", given, end, not form.adjoint, source, target, (n // 2 + 1, n))
    return made


def _zeros(dtype: str, form: Transformed, shape: Sequence[int]) -> Part:
    size = np.dtype(_real(dtype)).itemsize * (1 if form.way == "irfft" else 2)
    count = math.prod(shape)
    words = movement.fill_words(
        np.zeros((), f"V{size}") if size == 16 else np.zeros((), f"i{size}"), (count,), (size,)
    )
    return Part(Step(movement.fill_kernel(size), words, (movement.TARGET,)), ((RESULT, 0),))


class _Steps:
    """Collects the steps of one transform of numbers of the precision of a dtype. Attributes: work: Bytes of their workspace."""

    def __init__(self, dtype: str) -> None:
        self.found: list[Part] = []
        self.work = self._held = 0
        self._dtype = dtype
        self._real = np.dtype(_real(dtype))
        self._size = 2 * self._real.itemsize  # of a complex number

    def hold(self, shape: Sequence[int]) -> None:
        """Complex numbers of this shape begin the workspace."""
        self.work = self._held = math.prod(shape) * self._size

    def transform(
        self,
        name: str,
        shape: Sequence[int],
        axis: int,
        is_scaled: bool,
        source: Place,
        target: Place,
        sizes: tuple[int, int] | None = None,
    ) -> None:
        """One axis of an operand of this shape; `sizes` are those of operand and result. `is_scaled` divides by the size."""
        sizes = sizes or (shape[axis], shape[axis])
        if is_scaled:
            number = np.asarray(np.reciprocal(sizes[name == "irfft"], dtype=self._real))
            self._loop(name, self._dtype, shape, axis, source, target, sizes, number)
            return
        number = np.ones((), np.float64)
        if self._real.itemsize == 8:
            self._loop(name, self._dtype, shape, axis, source, target, sizes, number)
            return
        before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        counts = [
            before * behind * size * width for size, width in zip(sizes, self._widths(name, 1), strict=True)
        ]
        begin = -(-self._held // 64) * 64
        wide = (WORK, begin), (WORK, begin + 8 * counts[0])
        self.work = max(self.work, begin + 8 * sum(counts))
        self.found.append(Part(factorising.widened(counts[0]), (source, wide[0])))
        self._loop(name, "complex128", shape, axis, *wide, sizes, number)
        self.found.append(Part(factorising.rounded(counts[1]), (wide[1], target)))

    @staticmethod
    def _widths(name: str, real: int) -> tuple[int, int]:
        """The sizes of elements of operand and result, where a real number has this one."""
        return real if name.startswith("rfft") else 2 * real, real if name == "irfft" else 2 * real

    def _loop(
        self,
        name: str,
        dtype: str,
        shape: Sequence[int],
        axis: int,
        source: Place,
        target: Place,
        sizes: tuple[int, int],
        number: np.ndarray,
    ) -> None:
        widths = self._widths(name, number.itemsize)
        before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        within = [width * behind for width in widths]
        rows = [step * size for step, size in zip(within, sizes, strict=True)]
        # A loop goes from transform to transform itself: from row to row, or within rows that do not hold one number each.
        calls, each, count, step = (
            (1, [0, 0], before, rows) if behind == 1 else (before, rows, behind, widths)
        )
        loop = _loops(dtype)[name]
        assert loop is not None  # as `has` has seen
        made = ufuncs.step(
            loop,
            (1, calls),
            [0, 0, 0],
            [each[0], 0, each[1]],
            [count, *sizes],
            [step[0], 0, step[1], *within],
            number,
            1,
        )
        self.found.append(Part(made, (source, target)))

    def scale(self, shape: Sequence[int], n: int, by: float, place: Place) -> None:
        """Multiply the numbers of half spectra of `n` that have a mirror image, in place."""
        count = (n - 1) // 2
        if not count:
            return
        rows, step = math.prod(shape[:-1]), shape[-1] * self._size
        loop = _loops(self._dtype)["mul"]
        assert loop is not None  # as `has` has seen
        number = np.asarray(by, np.result_type(self._real, np.complex64))
        first = place[0], place[1] + self._size
        made = ufuncs.step(
            loop, (1, rows), [0, 0, 0], [step, 0, step], [count], [self._size, 0, self._size], number, 1
        )
        self.found.append(Part(made, (first, first)))

    def copy(self, shape: Sequence[int], source: Place, target: Place) -> None:
        words = movement.copy_words(self._size, (math.prod(shape),), (self._size,), (self._size,))
        step = Step(movement.copy_kernel(self._size), words, (movement.SOURCE, movement.TARGET))
        self.found.append(Part(step, (source, target)))
