"""Every public function that computes, at once on some 1e5 elements: beside NumPy or SciPy, TensorFlow and PyTorch, and its
gradient beside its value.

    python -m tests.benchmarks.speed [--only TEXT] [--dtype float64] [--turns 4] [--write | --replace]
        [--without-peers | --tensorflow PYTHON --torch PYTHON]

PYTHON is an interpreter that has the library, where it is not this one. Each library is a process of its own with one thread; for
each row they take turns, and the least processor time of each counts. `--write` puts the table into docs/speed.md, `--replace`
some rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "speed.md"
START, END = "<!-- table -->\n", "<!-- end -->\n"
WHY, WHY_END = "<!-- reasons -->\n", "<!-- end of reasons -->\n"
TEN, TEN_END = "<!-- slowest -->\n", "<!-- end of slowest -->\n"


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
    """A process that times one library, started anew after a call that takes too long."""

    def __init__(self, name: str, python: str, dtype: str) -> None:
        self._command = [python, str(HERE / "worker.py"), name, dtype]
        self.version = ""
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        said = self._answer(STARTING)
        self.is_there = said is not None and "version" in said
        self.version = said["version"] if said and self.is_there else self.version

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        said = self._process.stdout.readline()
        found: dict[str, Any] = json.loads(said) if said else {"why": "the process ended"}
        return found

    def least(self, expression: str, what: str, seconds: float) -> float | str:
        """Seconds, or why there are none."""
        if not self.is_there or not expression:
            return "none"
        assert self._process.stdin
        request = {"expression": expression, "what": what, "seconds": seconds}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._answer(LONGEST)
        if answer is None:
            self._process.kill()
            self._start()
            return f"longer than {LONGEST} s"
        found: float | str = answer["seconds"] if "seconds" in answer else answer["why"]
        return found

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # some libraries take long to end
            self._process.kill()


STARTING, LONGEST = 120, 20  # seconds: to import a library; for one call
VALUE, GRADIENT = "value", "gradient"
OWN, NUMPY, SLOPE, PASSES = ("graphad", VALUE), ("numpy", VALUE), ("graphad", GRADIENT), ("graphad", "passes")
PEERS = ("tensorflow", "torch")
COLUMNS = (OWN, NUMPY, SLOPE, PASSES, *((name, what) for name in PEERS for what in (VALUE, GRADIENT)))
VALUE_BAR, SLOPE_BAR = 1.5, 4
SHORT = 50e-6  # seconds: below, most of it is the call itself
CALL = 5e-6  # seconds: a function's way through Python, where the value is a view or a few microseconds of NumPy's
LIGHT = 12e-6  # seconds: NumPy's call, beside which CALL counts
BRIEF = 25e-6  # seconds: the value, or what is written, beside which the cost of a tape counts
LIGHT_VALUE = f"NumPy takes less than {LIGHT * 1e6:.0f} us, and this no more than 1.5 times as long and {CALL * 1e6:.0f} us"
WRITTEN = (
    "no more than 4 times what it writes or the value, whichever takes longer; where that is less than "
    f"{BRIEF * 1e6:.0f} us, and once a tape"
)
UNEXPLAINED = "not looked into"
Times = dict[tuple[str, str], float]


def measured(
    workers: dict[str, Worker], row: Row, turns: int, seconds: float
) -> tuple[Times, dict[tuple[str, str], str]]:
    """The least times of a row's contestants, taken in turn, and why others have none."""
    best: Times = {}
    why: dict[tuple[str, str], str] = {}
    for _ in range(turns):
        for name, what in COLUMNS:
            if (name, what) in why:
                continue
            expression = {"numpy": row.numpy, "torch": row.torch}.get(name, row.own)
            found = workers[name].least(expression, what, seconds) if name in workers else "none"
            if isinstance(found, str):
                why[name, what] = found
            else:
                best[name, what] = min(found, best.get((name, what), found))
    return best, why


def quotient(times: Times, of: tuple[str, str], by: tuple[str, str]) -> float | None:
    return times[of] / times[by] if of in times and by in times else None


def quotients(times: Times) -> list[float | None]:
    """The columns of the page."""
    beside = [quotient(times, mine, (name, mine[1])) for name in PEERS for mine in (OWN, SLOPE)]
    return [quotient(times, OWN, NUMPY), quotient(times, SLOPE, OWN), *beside]


def line(row: Row, times: Times) -> str:
    """A row of the page: quotients alone."""
    shown = ["" if x is None else f"{x:.2g}" if x < 10 else f"{x:.0f}" for x in quotients(times)]
    return f"| `{row.own}` | {' | '.join(shown)} |"


def summary(found: list[tuple[Row, Times]]) -> str:
    """How many rows keep the bars, and which are farthest from them."""
    parts = []
    for column, bar, words in (
        (0, VALUE_BAR, "times as long as NumPy or SciPy"),
        (1, SLOPE_BAR, "times as long with their gradient as without"),
    ):
        values = [(x, times[OWN]) for _, times in found if (x := quotients(times)[column]) is not None]
        above = [seconds for x, seconds in values if x > bar]
        long = sum(seconds > SHORT for seconds in above)
        parts.append(
            f"{len(above)} of {len(values)} take more than {bar} {words}; {long} of these take more than {SHORT * 1e6:.0f} us."
        )
    for column, name in ((2, "TensorFlow"), (4, "PyTorch")):
        values, slopes = (
            sorted([x for _, times in found if (x := quotients(times)[k]) is not None])
            for k in (column, column + 1)
        )
        if values and slopes:
            parts.append(
                f"{sum(x > 1 for x in values)} of {len(values)} take longer than {name}'s, and so do "
                f"{sum(x > 1 for x in slopes)} of {len(slopes)} gradients; in the middle the quotients are "
                f"{values[len(values) // 2]:.2g} and {slopes[len(slopes) // 2]:.2g}."
            )
    return "\n".join(parts)


def reasons() -> dict[tuple[str, str], str]:
    """Why a function is above a bar, by section and name."""
    known: dict[tuple[str, str], str] = {}
    section = ""
    for text in (HERE / "reasons.txt").read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            section = text[1:-1]
        elif text and not text.startswith("#"):
            why, names = text.split(" | ")
            known |= {(section, name): why for name in names.split()}
    return known


Groups = dict[str, list[tuple[float, str]]]
SECTIONS = (
    ("values", 0, VALUE_BAR, LIGHT_VALUE, "Values above 1.5 times NumPy or SciPy"),
    ("gradients", 1, SLOPE_BAR, WRITTEN, "Gradients above 4 times the value"),
)


def above(found: list[tuple[Row, Times]], section: str, column: int, bar: float, light: str) -> Groups:
    """The calls above a bar, by reason."""
    known, tape = reasons(), cost_of_tape(found)
    groups: Groups = {}
    for row, times in found:
        x = quotients(times)[column]
        if x is None or x <= bar:
            continue
        is_light = is_light_value(times) if section == "values" else is_written(times, tape)
        why = light if is_light else known.get((section, row.own.split("(")[0]), UNEXPLAINED)
        groups.setdefault(why, []).append((x, row.own))
    return groups


def listed(title: str, groups: Groups, light: str) -> str:
    """The text of a section."""
    counted = sum(len(calls) for why, calls in groups.items() if why != light)
    parts = [
        f"### {title}\n\n{counted} calls, and {len(groups.get(light, []))} counted apart.\n\n| why | calls |\n|---|---|"
    ]
    for why, calls in sorted(groups.items(), key=lambda item: (item[0] == light, -max(item[1])[0])):
        shown = ", ".join(
            f"`{own}` {x:.2g}" if x < 10 else f"`{own}` {x:.0f}" for x, own in sorted(calls)[::-1]
        )
        parts.append(f"| {why} | {shown} |")
    return "\n".join([*parts, ""])


def explained(found: list[tuple[Row, Times]]) -> str:
    """The calls above each bar, by reason."""
    return "\n".join(
        listed(title, above(found, section, column, bar, light), light)
        for section, column, bar, light, title in SECTIONS
    )


def explained_anew(text: str, found: list[tuple[Row, Times]]) -> str:
    """What `explained` gave, with some rows measured once more."""
    parts, again = [], {row.own for row, _ in found}
    for old, (section, column, bar, light, title) in zip(text.split("### ")[1:], SECTIONS, strict=True):
        groups: Groups = {}
        for line in old.splitlines():
            if line.startswith("| ") and not line.startswith("| why |"):
                why, calls = line[2:-2].split(" | ", 1)
                kept = [
                    (float(x), own) for own, x in re.findall(r"`([^`]*)` ([\d.]+)", calls) if own not in again
                ]
                groups |= {why: kept} if kept else {}
        for why, new in above(found, section, column, bar, light).items():
            groups.setdefault(why, []).extend(new)
        parts.append(listed(title, groups, light))
    return "\n".join(parts)


def is_light_value(times: Times) -> bool:
    """Whether NumPy takes so little time that a function's way through Python counts."""
    return times[NUMPY] < LIGHT and times[OWN] <= VALUE_BAR * times[NUMPY] + CALL


def is_written(times: Times, tape: float) -> bool:
    """Whether a gradient keeps the bar beside what it has to write, which may take longer than the value."""
    least = max(times[OWN], times.get(PASSES, 0.0))
    return times[SLOPE] <= SLOPE_BAR * least + (tape if least < BRIEF else 0.0)


def cost_of_tape(found: list[tuple[Row, Times]]) -> float:
    """Seconds that value and gradient take where neither computes anything: a tape, its ones, and one rule."""
    slopes = [times.get(SLOPE, 0.0) for row, times in found if row.own == "tf.identity(x)"]
    return max(slopes, default=0.0)


def slowest(found: list[tuple[Row, Times]]) -> str:
    """The ten calls farthest from NumPy among those that are no short ones, with the reasons."""
    known = reasons()
    far = [
        (x, row.own, known.get(("values", row.own.split("(")[0]), UNEXPLAINED))
        for row, times in found
        if (x := quotients(times)[0]) is not None and x > VALUE_BAR and times[OWN] > SHORT
    ]
    shown = [f"| `{own}` | {x:.2g} | {why} |" for x, own, why in sorted(far)[::-1][:10]]
    return "\n".join(["| call | quotient | why |", "|---|---|---|", *shown])


def write(found: list[tuple[Row, Times]], versions: str, dtype: str) -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(START)
    tail = rest.split(END)[1]
    table = (
        f"\nOn {date.today():%d %B %Y}, {machine()}, Python {platform.python_version()}, {versions}; {dtype}, one thread "
        "each.\n\n"
        f"{summary(found)}\n\n"
        "| call | by NumPy or SciPy | gradient by value | by TensorFlow | its gradient by TensorFlow's | by PyTorch "
        "| its gradient by PyTorch's |\n|---|---|---|---|---|---|---|\n"
    )
    body = "\n".join(line(row, times) for row, times in found)
    head = f"{head.split(WHY)[0]}{WHY}\n{explained(found)}\n{WHY_END}{head.split(WHY_END)[1]}"
    head = f"{head.split(TEN)[0]}{TEN}\n{slowest(found)}\n\n{TEN_END}{head.split(TEN_END)[1]}"
    PAGE.write_text(f"{head}{START}{table}{body}\n{END}{tail}", encoding="utf-8")


def replace(found: list[tuple[Row, Times]]) -> None:
    """Put rows that were measured once more into the table and the lists; totals are left to the next whole run."""
    new = {f"| `{row.own}` |": line(row, times) for row, times in found}
    head, rest = PAGE.read_text(encoding="utf-8").split(START)
    table, tail = rest.split(END)
    lines = [
        next((text for start, text in new.items() if old.startswith(start)), old)
        for old in table.splitlines()
    ]
    before, rest = head.split(WHY)
    old, behind = rest.split(WHY_END)
    head = f"{before}{WHY}\n{explained_anew(old, found)}\n{WHY_END}{behind}"
    PAGE.write_text(f"{head}{START}{chr(10).join(lines)}\n{END}{tail}", encoding="utf-8")


def machine() -> str:
    """The processor's name, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--only", default="", help="a part of the rows' text, or several with ; between")
    asked.add_argument("--behind", default="", help="only what stands behind the first row with this part")
    asked.add_argument("--dtype", default="float32")
    asked.add_argument("--tensorflow", default=sys.executable, help="an interpreter that has it")
    asked.add_argument("--torch", default=sys.executable, help="an interpreter that has it")
    asked.add_argument("--without-peers", action="store_true")
    asked.add_argument("--turns", type=int, default=4)
    asked.add_argument("--seconds", type=float, default=0.004, help="how long one turn repeats a call")
    asked.add_argument(
        "--raw", default="", help="a file to which each row's times are added as a line of JSON"
    )
    asked.add_argument("--again", default="", help="such a file, whose rows are not measured")
    asked.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    asked.add_argument("--replace", action="store_true", help="put these rows alone into it")
    options = asked.parse_args()
    pythons = {"graphad": sys.executable, "numpy": sys.executable}
    if not options.without_peers:
        pythons |= {"tensorflow": options.tensorflow, "torch": options.torch}
    workers = {name: Worker(name, python, options.dtype) for name, python in pythons.items()}
    found = []
    waiting = bool(options.behind)
    kept = {}
    if options.again:
        lines = Path(options.again).read_text(encoding="utf-8").splitlines()
        kept = {own: {(name, what): s for name, what, s in times} for own, times in map(json.loads, lines)}
    for row in rows():
        if row.own in kept:
            found.append((row, kept[row.own]))
            continue
        if waiting:
            waiting = options.behind not in row.own
            continue
        if not any(part in row.own for part in options.only.split(";")):
            continue
        times, why = measured(workers, row, options.turns, options.seconds)
        print(line(row, times), f"{times.get(OWN, 0) * 1e3:.3f} ms", flush=True)
        if options.raw:  # so that what was measured is there whatever happens
            with Path(options.raw).open("a", encoding="utf-8") as file:
                file.write(json.dumps([row.own, [[*key, seconds] for key, seconds in times.items()]]) + "\n")
        for key, text in why.items():
            if key in (OWN, NUMPY) and text != "none":
                print("    ", key, text)
        found.append((row, times))
    print(summary(found))
    if options.write:
        versions = ", ".join(
            f"{name} {worker.version}" for name, worker in workers.items() if worker.is_there
        )
        write(found, versions, options.dtype)
    if options.replace:
        replace(found)
    for worker in workers.values():
        worker.close()


if __name__ == "__main__":
    main()
