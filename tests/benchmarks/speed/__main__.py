"""Every public function that computes, at once on some 1e5 elements: beside NumPy or SciPy, TensorFlow and PyTorch, and its gradient
beside its value.

    python -m tests.benchmarks.speed [--only TEXT] [--dtype float64] [--tensorflow PYTHON] [--torch PYTHON] [--write] [--turns 3]

PYTHON is an interpreter that has the library, where it is not this one. Each library is a process of its own with one thread; for each row
they take turns, and the least time of each counts. `--write` puts the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "speed.md"
START, END = "<!-- table -->\n", "<!-- end -->\n"


class Row(NamedTuple):
    """Expressions; empty where there is none."""

    own: str
    numpy: str
    torch: str


def rows() -> Iterator[Row]:
    """The rows of rows.txt."""
    prefix = ""
    for line in (HERE / "rows.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            prefix = line[1:-1]
        elif line and not line.startswith("#"):
            own, *others = line.split(" | ")
            expression = f"{prefix}.{own}"
            numpy, torch = others if others else (expression, "-")
            yield Row(expression, *("" if text == "-" else text for text in (numpy, torch)))


class Worker:
    """A process that times one library; None where it has it not."""

    def __init__(self, name: str, python: str, dtype: str) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), name, dtype],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.is_there = bool(self.process.stdout and self.process.stdout.readline())

    def least(self, expression: str, gradient: bool, seconds: float) -> float | str:
        """Seconds, or why there are none."""
        if not self.is_there or not expression:
            return "none"
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(
            json.dumps({"expression": expression, "gradient": gradient, "seconds": seconds}) + "\n"
        )
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"why": "the process ended"}')
        return answer.get("seconds", answer.get("why"))

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(10)


COLUMNS = (("graphad", False), ("numpy", False), ("graphad", True), ("tensorflow", False), ("tensorflow", True), ("torch", False),
           ("torch", True))  # fmt: skip
Times = dict[tuple[str, bool], float]


def measured(
    workers: dict[str, Worker], row: Row, turns: int, seconds: float
) -> tuple[Times, dict[tuple[str, bool], str]]:
    """The least times of a row's contestants, taken in turn, and why others have none."""
    best: Times = {}
    why: dict[tuple[str, bool], str] = {}
    for _ in range(turns):
        for name, gradient in COLUMNS:
            if (name, gradient) in why:
                continue
            expression = {"numpy": row.numpy, "torch": row.torch}.get(name, row.own)
            found = workers[name].least(expression, gradient, seconds) if name in workers else "none"
            if isinstance(found, str):
                why[name, gradient] = found
            else:
                best[name, gradient] = min(found, best.get((name, gradient), found))
    return best, why


def quotient(times: Times, of: tuple[str, bool], by: tuple[str, bool]) -> float | None:
    return times[of] / times[by] if of in times and by in times else None


def line(row: Row, times: Times) -> str:
    """A row of the page: quotients alone."""
    own, slope = ("graphad", False), ("graphad", True)
    cells = [
        quotient(times, own, ("numpy", False)), quotient(times, slope, own), quotient(times, own, ("tensorflow", False)),
        quotient(times, slope, ("tensorflow", True)), quotient(times, own, ("torch", False)), quotient(times, slope, ("torch", True)),
    ]  # fmt: skip
    shown = ["" if x is None else f"{x:.2g}" if x < 10 else f"{x:.0f}" for x in cells]
    return f"| `{row.own}` | {' | '.join(shown)} |"


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--only", default="")
    asked.add_argument("--dtype", default="float32")
    asked.add_argument("--tensorflow", default=sys.executable)
    asked.add_argument("--torch", default=sys.executable)
    asked.add_argument("--without-peers", action="store_true")
    asked.add_argument("--turns", type=int, default=4)
    asked.add_argument("--seconds", type=float, default=0.004)
    asked.add_argument("--raw", default="")
    options = asked.parse_args()
    pythons = {"graphad": sys.executable, "numpy": sys.executable}
    if not options.without_peers:
        pythons |= {"tensorflow": options.tensorflow, "torch": options.torch}
    workers = {name: Worker(name, python, options.dtype) for name, python in pythons.items()}
    raw = []
    for row in rows():
        if options.only not in row.own:
            continue
        times, why = measured(workers, row, options.turns, options.seconds)
        print(line(row, times), {k: v for k, v in times.items() if k[0] == "graphad"}, flush=True)
        for key, text in why.items():
            if (key == ("graphad", False) or key == ("numpy", False)) and text != "none":
                print("    ", key, text)
        raw.append([row.own, [[*key, seconds] for key, seconds in times.items()]])
    if options.raw:
        Path(options.raw).write_text(json.dumps(raw))
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    main()
