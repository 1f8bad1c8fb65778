"""Long campaigns in child processes: a crash or a hang is a finding and ends one program alone."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Finding, Tally
from tests.fuzz.compare import Difference
from tests.fuzz.grow import grow_program

CHUNK = 1000  # a child takes as long to start as fifty programs, with the compile workers that it starts
PATIENCE = 300  # seconds for one program, a thousand times what one takes


class Diary:
    """The file that a child writes: the current seed, and at the end its tally."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, seed: int) -> None:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        self.path.write_text(json.dumps({"seed": seed}), encoding="utf-8")

    def end(self, tally: Tally) -> None:
        faulthandler.cancel_dump_traceback_later()
        found = [
            [f.program.seed, f.difference.mode, f.difference.key, f.difference.text] for f in tally.findings
        ]
        record = {
            "programs": tally.programs,
            "refused": tally.refused,
            "comparisons": tally.comparisons,
            "notes": tally.notes,
            "findings": found,
        }
        self.path.write_text(json.dumps(record), encoding="utf-8")


def add(tally: Tally, record: dict[str, Any]) -> list[Finding]:
    """Add a child's record to the whole tally, and return its findings."""
    tally.programs += record["programs"]
    tally.refused += record["refused"]
    tally.comparisons += Counter(record["comparisons"])
    tally.notes += Counter(record["notes"])
    found = [Finding(grow_program(seed), Difference(*rest)) for seed, *rest in record["findings"]]
    tally.findings += found
    return found


def run_chunks(first: int, programs: int | None, arguments: list[str]) -> Iterator[dict[str, Any]]:
    """The records of the children, one after the other. A child that dies is a finding at its current seed."""
    seed = first
    with tempfile.TemporaryDirectory(prefix="graphad-fuzz-") as place:
        diary = Path(place) / "diary.json"
        while programs is None or seed < first + programs:
            count = CHUNK if programs is None else min(CHUNK, first + programs - seed)
            command = [sys.executable, "-m", "tests.fuzz", "--seed", str(seed), "--programs", str(count)]
            status = subprocess.run([*command, "--diary", str(diary), *arguments], env=os.environ).returncode
            record = json.loads(diary.read_text(encoding="utf-8")) if diary.exists() else {}
            if "programs" in record:
                yield record
                seed += count
                continue
            if "seed" not in record:
                sys.exit(f"a child ended with status {status} before its first program")
            at = record["seed"]
            what = f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            finding = [at, "process", "crash", f"the process {what}"]
            yield {
                "programs": at - seed + 1,
                "refused": 0,
                "comparisons": {},
                "notes": {},
                "findings": [finding],
            }
            seed = at + 1
            diary.unlink()
