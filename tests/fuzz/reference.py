"""TensorFlow as the reference, live or stored: its eager results, and the list of intended differences from them."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.compare import Difference, Failure, compare, epsilon
from tests.fuzz.derive import Results, Wanted
from tests.fuzz.program import Program
from tests.oracle.store import Reader

DATA = Path(__file__).parent / "data"

# In float64 TensorFlow rounds these ops' constants to float32 first (docs/differences.md).
SINGLE = r"leaky_relu|gelu"


@dataclass(frozen=True)
class Meant:
    """An intended difference: a pattern in the program, the first letters of the keys that it concerns, and the reason."""

    pattern: str
    keys: str
    reason: str
    extreme: bool = False  # only if an operand is infinite or NaN


# Each has a row in docs/differences.md.
MEANT = (
    Meant(r"reduce_prod", "hJ", "the second derivative of a product with a zero factor is the true one"),
    Meant(r"nn\.moments", "h", "the second derivative of the variance is the true one"),
    Meant(r"relu", "ghJB", "where relu is flat, no cotangent comes through", extreme=True),
    Meant(
        r"max_pool|cumulative_logsumexp|softmax", "yvghJB", "NaN comes out where NaN goes in", extreme=True
    ),
)


class Live:
    """TensorFlow in this process."""

    def __init__(self, tensorflow: Any) -> None:
        self.tensorflow = tensorflow

    def beside(self, case: Any) -> Any:
        """The same case for TensorFlow, Jacobians by rows."""
        w = case.wanted
        by_rows = Wanted(w.first, w.second, w.jacobian, w.batch_jacobian, by_rows=True)
        return type(case)(self.tensorflow, case.program, by_rows, epsilon(case.program, SINGLE), case.rng)


class Stored:
    """TensorFlow's stored results for a fixed set of seeds, in `data`."""

    def __init__(self) -> None:
        index = json.loads((DATA / "index.json").read_text(encoding="utf-8"))
        self._arrays = Reader(DATA / "arrays.npz")
        self._programs = {row["seed"]: row for row in index["programs"]}

    @property
    def seeds(self) -> list[int]:
        return list(self._programs)

    def results(self, program: Program) -> Results:
        row = self._programs[program.seed]
        return {key: self._arrays.get(reference) for key, reference in row["results"].items()}

    def digest(self, seed: int) -> int:
        return int(self._programs[seed]["digest"])


def digest(program: Program) -> int:
    """A digest of the program's text and numbers, to which the stored results belong."""
    drawn = "".join(f"{x.value} {x.profile} {x.seed}" for x in program.inputs)
    return zlib.crc32((program.source() + drawn).encode())


def against(case: Any, tensorflow: Live | Stored, tally: Any) -> list[Difference]:
    """The differences of graphad's eager results from TensorFlow's."""
    got = case.eager()
    if isinstance(tensorflow, Stored):
        want, spread, eps = tensorflow.results(case.program), case.spread, epsilon(case.program, SINGLE)
    else:
        beside = tensorflow.beside(case)
        want, spread, eps = beside.eager(), beside.spread, beside.eps
    if isinstance(want, Failure):
        tally.notes["both refuse" if isinstance(got, Failure) else "TensorFlow refuses"] += 1
        return []
    tally.comparisons["tensorflow"] += len(want)
    if not isinstance(got, Failure):
        want = _with_exact_zeros(got, want, tally)
        want = _with_zeros_alike(got, want, "derivative" in case.program.traits)
    differences = compare("tensorflow", got, want, eps, spread)
    return [d for d in differences if not is_meant(case.program, d, tally)]


def _with_exact_zeros(got: Results, want: Results, tally: Any) -> Results:
    """TensorFlow's results without the NaN of derivatives of finite values where graphad has a number.

    A cotangent that is exactly zero stops in graphad; in some rules of TensorFlow it meets an infinity (docs/differences.md).
    """
    if not all(np.all(np.isfinite(y)) for key, y in want.items() if key[0] == "y" and y.dtype.kind in "fc"):
        return want
    result = dict(want)
    for key, x in want.items():
        y = got.get(key)
        if key[0] in "ghJB" and x is not None and y is not None and np.shape(x) == np.shape(y):
            left = np.isnan(x) & ~np.isnan(y)
            if np.any(left):
                tally.notes["exact zeros where TensorFlow has NaN"] += 1
                result[key] = np.where(left, y, x)
    return result


def _with_zeros_alike(got: Results, want: Results, holds_tape: bool) -> Results:
    """TensorFlow's results, where they are zero, as graphad has them.

    Where the program holds a tape, what is zero is a second derivative, and how a rule is written decides whether it still hangs
    on its source. The batch Jacobian of what is not connected has the source's dtype in graphad, the target's in TensorFlow.
    """
    result = dict(want)
    for key, x in want.items():
        y = got.get(key)
        none = holds_tape and key[0] in "gJB" and (x is None) != (y is None)
        other = (
            key[0] == "B" and x is not None and y is not None and x.shape == y.shape and x.dtype != y.dtype
        )
        if key in got and (none or other) and not any(np.any(z) for z in (x, y) if z is not None):
            result[key] = y
    return result


def is_meant(program: Program, difference: Difference, tally: Any) -> bool:
    for meant in MEANT:
        if difference.key == "error" or difference.key[0] not in meant.keys:
            continue
        if meant.extreme and not any(x.profile == "extreme" for x in program.inputs):
            continue
        if re.search(meant.pattern, program.source()):
            tally.notes[meant.reason] += 1
            return True
    return False


@dataclass(frozen=True)
class Refused:
    """An error of traces that TensorFlow's have too: a pattern of the text, of the modes, and of the program."""

    error: str
    modes: str
    program: str
    reason: str


REFUSED = (
    Refused(
        r"'(p|initializer)' has shape \(.*\) before the loop, but shape (<unknown>|\(.*None.*\)) after one iteration",
        "unknown",
        "while_loop|scan|foldl|foldr",
        "a carry of known sizes or rank that takes part in arithmetic with what has none",
    ),
    Refused(
        r"unstack: the size of axis \d is not known while tracing",
        "",
        r"shape_invariants=.*None",
        "what comes out of a loop that says its sizes may change has none to unstack by",
    ),
    Refused(
        r"Need first dimension of target shape \(<unknown>\)",
        "unknown",
        r"tf\.squeeze\(\w+\)",
        "what is squeezed of unknown sizes has no rank, and a batch Jacobian asks for one",
    ),
)


def explained(case: Any, mode: Any, label: str, difference: Difference, tensorflow: Any, tally: Any) -> bool:
    """Whether an error in a mode is TensorFlow's as well: a program that cannot be traced without its sizes, for example."""
    if difference.key != "error":
        return False
    if not isinstance(tensorflow, Live):
        text, source = difference.text, case.program.source()
        for refused in REFUSED:
            if (
                mode.name.startswith(refused.modes)
                and re.search(refused.error, text)
                and re.search(refused.program, source)
            ):
                tally.notes[refused.reason] += 1
                return True
        return False
    beside = tensorflow.beside(case)
    try:
        for other, got, _, _ in mode.run(beside):
            if other == label:
                if isinstance(got, Failure):
                    tally.notes[f"TensorFlow refuses in mode {mode.name}"] += 1
                return isinstance(got, Failure)
    except Exception as error:  # a mode that TensorFlow lacks
        tally.notes[f"TensorFlow cannot run mode {mode.name}: {type(error).__name__}"] += 1
    return False
