"""Runs programs one after another in some modes; collects, shrinks and reports the differences."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.compare import Difference, Failure, compare, epsilon
from tests.fuzz.counters import counted
from tests.fuzz.derive import Wanted
from tests.fuzz.grow import grow_program
from tests.fuzz.modes import MODES, Case
from tests.fuzz.program import Program
from tests.fuzz.reference import against, explained


@dataclass
class Tally:
    """The counts and the findings of a campaign."""

    programs: int = 0
    refused: int = 0  # programs that the reference cannot run
    comparisons: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Finding:
    program: Program
    difference: Difference


def wanted_of(program: Program, rng: np.random.Generator) -> Wanted:
    """Which derivatives this program is measured with."""
    sources = [x.value for x in program.arguments if x.value.kind in "fc"]
    full = bool(sources) and rng.uniform() < 0.25
    first = sources[0] if sources else None
    batch = full and first is not None and len(first.dims) > 0 and _same_rows(program)
    heavy = "jacobian" in program.traits
    return Wanted(
        first=True,
        second=bool(rng.uniform() < 0.6) and not heavy,
        jacobian=full and not heavy,
        batch_jacobian=batch and not heavy,
    )


def _same_rows(program: Program) -> bool:
    """Whether the first real result has as many rows as the first real argument, for any number of rows."""
    known = {value.name: value for statement in program.body.statements for value in statement.results}
    known |= {x.value.name: x.value for x in program.inputs}
    first = next((known[name] for name in program.body.results if known[name].kind in "fc"), None)
    source = next((x.value for x in program.arguments if x.value.kind in "fc"), None)
    return bool(
        first and source and min(len(first.dims), len(source.dims)) > 1 and first.dims[0] == source.dims[0]
    )


def case_of(program: Program, tf: Any, wanted: Wanted | None = None) -> Case:
    rng = np.random.default_rng([7, program.seed])
    wanted = wanted or wanted_of(program, rng)
    return Case(tf, program, wanted, epsilon(program), rng)


def check(
    program: Program,
    tf: Any,
    modes: Iterable[str] | None = None,
    tensorflow: Any = None,
    tally: Tally | None = None,
    wanted: Wanted | None = None,
) -> list[Difference]:
    """The differences of one program in some modes: those named, or a choice that its seed makes."""
    tally = tally or Tally()
    case = case_of(program, tf, wanted)
    tally.programs += 1
    found: list[Difference] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = case.eager()
        if tensorflow is not None and (modes is None or "tensorflow" in modes):
            found += against(case, tensorflow, tally)
        if isinstance(reference, Failure):
            tally.refused += 1
            if tensorflow is None:
                found.append(Difference("eager", "error", f"{reference.kind}: {reference.text}"))
            return found
        for mode in MODES.values():
            if modes is None:
                chosen = case.rng.uniform() < mode.share
            else:
                chosen = mode.name in modes
            if not chosen or not mode.applies(program):
                continue
            for label, got, want, spread in mode.run(case):
                name = f"{mode.name}[{label}]" if label else mode.name
                tally.comparisons[mode.name] += (
                    sum(k in want for k in got) if isinstance(got, dict) and isinstance(want, dict) else 1
                )
                # With an unknown rank, a trace contains reductions that do nothing for a scalar.
                sees_more = program.has_branches or mode.name.startswith("unknown_rank")
                differences = compare(name, got, want, case.eps, spread, sees_more)
                found += [d for d in differences if not explained(case, mode, label, d, tensorflow, tally)]
    return found


def campaign(
    tf: Any,
    seeds: Iterable[int],
    seconds: float | None = None,
    modes: Iterable[str] | None = None,
    tensorflow: Any = None,
    begin: Callable[[int, Tally], None] | None = None,
) -> Tally:
    """Check the programs of these seeds until the time is over; `begin` is called with each seed and the tally so far."""
    tally = Tally()
    names = None if modes is None else list(modes)
    with counted() as passes:
        start = time.monotonic()  # behind those imports, so that one program runs however slow they were
        for seed in seeds:
            if seconds is not None and time.monotonic() - start > seconds:
                break
            if begin is not None:
                begin(seed, tally)
            program = grow_program(seed)
            found = check(program, tf, names, tensorflow, tally)
            tally.findings += [Finding(program, difference) for difference in found]
            tally.notes.update(f"programs {name}" for name in passes)
            passes.clear()
    return tally
