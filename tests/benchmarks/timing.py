"""How the workloads here are timed: warm-up apart, contestants in turn, medians, and everything relative to one reference.

Contestants run A B C A B C ..., so that a busy moment of the machine hits all of them; only ratios within one table count.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

Workload = Callable[[], Any]


def peer(name: str) -> Any | None:
    """The module where it is installed, else None."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def measure(
    contestants: dict[str, Workload], repeats: int = 15, target: float = 0.02
) -> dict[str, tuple[float, float]]:
    """Seconds per call: (first call, median of the steady state) by contestant."""
    first, loops = {}, {}
    for name, workload in contestants.items():
        first[name] = _seconds(workload, 1)
        deadline = time.perf_counter() + 10 * target
        while time.perf_counter() < deadline:  # warm-up: caches fill, background compilation lands
            workload()
        loops[name] = max(1, int(target / max(_seconds(workload, 1), 1e-9)))
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, workload in contestants.items():
            samples[name].append(_seconds(workload, loops[name]) / loops[name])
    return {name: (first[name], statistics.median(samples[name])) for name in contestants}


def _seconds(workload: Workload, loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        workload()
    return time.perf_counter() - start


def report(title: str, rows: dict[str, dict[str, Workload]], repeats: int = 15) -> None:
    """Measure and print one table; `graphad` is given as a multiple of the best other contestant of its row."""
    print(f"\n{title}")
    for row, contestants in rows.items():
        found = measure(contestants, repeats)
        others = [steady for name, (_, steady) in found.items() if not name.startswith("graphad")]
        cells = []
        for name, (first, steady) in found.items():
            ratio = f" ({steady / min(others):.2f}x)" if name.startswith("graphad") and others else ""
            cells.append(f"{name} {show(steady)}{ratio}, first {show(first)}")
        print(f"  {row:<28} " + " | ".join(cells))


def show(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
