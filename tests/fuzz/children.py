"""Long campaigns in child processes: a crash or a hang is a finding and ends one program alone."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Finding, Tally
from tests.fuzz.compare import Difference
from tests.fuzz.grow import grow_program

CHUNK = 1000  # a child takes as long to start as fifty programs, with the compile workers that it starts
PATIENCE = 300  # seconds for one program, a thousand times what one takes


def crowd() -> float:
    """How many others wait for each processor: a program that waits with them does not hang."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Diary:
    """The file that a child writes: before each program its seed and the tally so far, which outlives the child."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, seed: int, tally: Tally) -> None:
        faulthandler.dump_traceback_later(PATIENCE * crowd(), exit=True)
        self._write(seed, tally)

    def end(self, tally: Tally) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._write(None, tally)

    def _write(self, seed: int | None, tally: Tally) -> None:
        found = [
            [f.program.seed, f.difference.mode, f.difference.key, f.difference.text] for f in tally.findings
        ]
        record = {
            "at": seed,
            "programs": tally.programs,
            "refused": tally.refused,
            "comparisons": tally.comparisons,
            "notes": tally.notes,
            "findings": found,
        }
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(record), encoding="utf-8")
        new.replace(self.path)  # a reader never finds half of one


def add(tally: Tally, record: dict[str, Any]) -> list[Finding]:
    """Add a child's record to the whole tally, and return its findings."""
    tally.programs += record["programs"]
    tally.refused += record["refused"]
    tally.comparisons += Counter(record["comparisons"])
    tally.notes += Counter(record["notes"])
    found = [Finding(grow_program(seed), Difference(*rest)) for seed, *rest in record["findings"]]
    tally.findings += found
    return found


def run_chunks(
    first: int, programs: int | None, seconds: float | None, arguments: list[str]
) -> Iterator[dict[str, Any]]:
    """The records of the children, one after the other, until the programs or the seconds are used up.

    A child that dies is a finding at its current seed; what it had compared until then counts, and so does that of a child which
    was running when this process was told to end.
    """
    seed, start = first, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="graphad-fuzz-") as place:
        diary = Path(place) / "diary.json"
        while programs is None or seed < first + programs:
            left = None if seconds is None else seconds - (time.monotonic() - start)
            if left is not None and left <= 0:
                return
            count = CHUNK if programs is None else min(CHUNK, first + programs - seed)
            command = [sys.executable, "-m", "tests.fuzz", "--seed", str(seed), "--programs", str(count)]
            command += [] if left is None else ["--seconds", str(left)]
            try:
                status = subprocess.run(
                    [*command, "--diary", str(diary), *arguments], env=os.environ
                ).returncode
            except (SystemExit, KeyboardInterrupt):
                if diary.exists():
                    yield json.loads(diary.read_text(encoding="utf-8"))
                raise
            if not diary.exists():
                sys.exit(f"a child ended with status {status} before its first program")
            record = json.loads(diary.read_text(encoding="utf-8"))
            diary.unlink()
            if record["at"] is None:
                seed += record["programs"]
                yield record
                continue
            what = f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            record["findings"].append([record["at"], "process", "crash", f"the process {what}"])
            record["programs"] = record["at"] - seed + 1
            seed = record["at"] + 1
            yield record
