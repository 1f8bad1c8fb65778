"""When two results are the same: shape and dtype exactly, NaN and infinities exactly, numbers within what rounding explains.

First a tight bound from the coarsest dtype that the program names. Where that is not enough the reference is asked how much
rounding moves it: its inputs are changed in their last digits (equal numbers alike, so that ties stay), and a float32
program is run in float64. What moves as much as it differs is ill-conditioned, not wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.program import Program

TIGHT = 16.0  # units in the last place of the largest entry; derivatives may have four times as many
LOOSE = 8.0  # times the effect of changing the inputs by up to 16 units in the last place
JUMP = 0.01  # as a part of the largest entry: an entry that moves further is judged alone
EPSILON = {
    "float16": 2.0**-10,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}


@dataclass(frozen=True)
class Failure:
    """A run that raised."""

    kind: str
    text: str
    builtin: str = ""

    @staticmethod
    def of(error: BaseException) -> Failure:
        builtin = next((c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"), "")
        return Failure(type(error).__name__, str(error)[:500], builtin)


@dataclass(frozen=True)
class Difference:
    """One result of one mode that differs from the reference."""

    mode: str
    key: str
    text: str

    def sort(self) -> tuple[str, str]:
        """The key by which two differences count as the same kind while a program is shrunk."""
        return self.mode, re.sub(r"\d", "", self.key)


def epsilon(program: Program, loose: str | None = None) -> float:
    text = program.source() + " ".join(x.value.dtype for x in program.inputs)
    found = [e for name, e in EPSILON.items() if re.search(rf"\b{name}\b", text)]
    if loose and re.search(loose, text):
        found.append(EPSILON["float32"])
    return max(found, default=EPSILON["float32"])


def compare(
    mode: str,
    got: Any,
    want: Any,
    eps: float,
    spread: Callable[[], dict[str, Any]] | None = None,
    branches: bool = False,
) -> list[Difference]:
    """The differences of one outcome from the reference's.

    Args:
      spread: Gives how far rounding moves the reference, by key.
      branches: Whether a trace may see more of the program than runs.
    """
    if isinstance(want, Failure):
        if isinstance(got, Failure) and got.builtin == want.builtin:
            return []
        said = f"{got.kind}: {got.text}" if isinstance(got, Failure) else "a value"
        return [Difference(mode, "error", f"{said}, the reference raises {want.kind}: {want.text[:200]}")]
    if isinstance(got, Failure):
        return [Difference(mode, "error", f"{got.kind}: {got.text}")]
    found = []
    for key in got:
        if key in want:
            text = _differs(mode, key, got[key], want[key], eps, spread, branches)
            if text:
                found.append(Difference(mode, key, text))
    return found


def _differs(
    mode: str,
    key: str,
    got: Any,
    want: Any,
    eps: float,
    spread: Callable[[], dict[str, Any]] | None,
    branches: bool,
) -> str:
    if got is None or want is None:
        if got is None and want is None:
            return ""
        # A trace sees every branch, so zeros may come where the branch that runs is not connected, and NaN where these zeros meet
        # a pole; never None for zeros. Whether the zero of a second derivative still hangs on its source differs with how
        # TensorFlow's rules are written.
        given = np.asarray(want if got is None else got)
        zeros = not np.any(given if mode == "tensorflow" else np.where(np.isnan(given), 0.0, given))
        if zeros and (key.startswith("h") if mode == "tensorflow" else branches and got is not None):
            return ""
        if spread is not None and np.all(np.isinf(spread().get(key, 0.0))):
            return ""  # rounding decides which branch runs
        return "None, the reference has a value" if got is None else "a value, the reference has None"
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, the reference has {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, the reference has {want.dtype}"
    if want.dtype.kind not in "fc":
        wrong = got != want
        allowed: Any = None
    else:
        with np.errstate(all="ignore"):
            allowed = TIGHT * eps * (1.0 if key[0] in "yv" else 4.0) * _scale(want)
            wrong = _apart(got, want, allowed)
        if key[0] in "JB" and np.any(np.isinf(want)):
            # In reverse mode the zeros for other rows times an infinite slope are NaN; forward mode has no such zeros.
            wrong = wrong & (np.isnan(got) == np.isnan(want))
        if key[0] in "JB" and np.any(np.isnan(got)):
            # The same zeros times a slope that is NaN; where rows are known not to depend on each other there are none.
            wrong = wrong & ~((got == 0) & np.isnan(want))
    if not np.any(wrong):
        return ""
    moved = None
    if spread is not None:
        moved = spread().get(key)
        if moved is not None:
            if want.dtype.kind not in "fc":
                wrong = wrong & ~moved
            else:
                with np.errstate(all="ignore"):
                    wrong = wrong & _apart(got, want, allowed + LOOSE * moved)
            if not np.any(wrong):
                return ""
    places = np.argwhere(wrong)[:3]
    shown = "; ".join(f"{[int(i) for i in p]}: {got[tuple(p)]} instead of {want[tuple(p)]}" for p in places)
    return f"{int(np.sum(wrong))} of {wrong.size} entries: {shown}"


def _scale(x: np.ndarray) -> float:
    finite = np.abs(x[np.isfinite(x)])
    return max(float(finite.max()) if finite.size else 0.0, 0.05)


def _apart(got: np.ndarray, want: np.ndarray, allowed: Any) -> Any:
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    near = np.isfinite(got) & np.isfinite(want) & (np.abs(got - want) <= allowed)
    return ~(same | near | np.isinf(allowed + np.zeros(want.shape)))


def spread_of(base: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """By key how far the others lie from the base: for each entry of an array what all entries move smoothly, or its own jump.

    An entry jumps where a branch, an order or a sign is decided by rounding, infinitely far where NaN or infinities move. The
    others beside it are held to what moves them.
    """
    moved: dict[str, Any] = {}
    for key, x in base.items():
        if x is None:
            if any(other.get(key) is not None for other in others):
                moved[key] = np.inf
            continue
        x = np.asarray(x)
        for other in others:
            y = other.get(key)
            if y is None or np.shape(y) != x.shape:
                moved[key] = np.full(x.shape, np.inf) if x.dtype.kind in "fc" else np.ones(x.shape, bool)
                continue
            y = np.asarray(y)
            if x.dtype.kind not in "fc":
                moved[key] = moved.get(key, np.zeros(x.shape, bool)) | (x != y)
                continue
            with np.errstate(all="ignore"):
                apart = np.abs(x.astype(np.complex128) - y)
                both = ((x == y) & ~np.isfinite(x)) | (np.isnan(x) & np.isnan(y))
                apart = np.where(both, 0.0, np.where(np.isnan(apart), np.inf, apart))
                smooth = apart[apart <= max(JUMP, 64.0 * float(np.finfo(x.dtype).eps)) * _scale(x)]
                apart = np.maximum(apart, smooth.max() if smooth.size else 0.0)
            moved[key] = np.maximum(moved.get(key, 0.0), apart)
    return moved


def nudged(x: np.ndarray, eps: float, seed: int) -> np.ndarray:
    """Each number changed by up to 16 units in its last place, the same number always in the same way."""
    if x.dtype.kind not in "fc":
        return x
    with np.errstate(all="ignore"):
        phase = np.real(x) * 1237.0 + np.imag(x) * 733.0 + seed * 2.1
        step = np.where(np.isfinite(phase), np.sin(phase), 0.0) * (16.0 * eps)
        return np.asarray((x * (1.0 + step)).astype(x.dtype))
