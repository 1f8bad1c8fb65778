"""Campaigns in child processes: what was compared is counted, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz import children
from tests.fuzz.campaign import Finding, Tally
from tests.fuzz.compare import Difference
from tests.fuzz.grow import grow_program

COMMAND = [sys.executable, "-m", "tests.fuzz", "--modes", "inside", "--seed", "17"]


def test_a_campaign_ends_with_its_seconds_and_says_what_it_compared() -> None:
    done = subprocess.run([*COMMAND, "--seconds", "2"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seeds from 17: " in done.stdout and " 0 comparisons" not in done.stdout


def test_a_campaign_that_compares_nothing_fails() -> None:
    done = subprocess.run([*COMMAND, "--seconds", "0"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "nothing was compared" in done.stdout


def test_a_campaign_that_is_told_to_end_counts_its_unfinished_child(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    running = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        end = time.monotonic() + 600
        while not any(json.loads(each.read_text())["comparisons"] for each in tmp_path.glob("*/diary.json")):
            assert time.monotonic() < end and running.poll() is None
            time.sleep(0.1)
        running.terminate()
        text, _ = running.communicate(timeout=600)
    finally:
        running.kill()
    assert "seeds from 17: " in text and " 0 programs" not in text and " 0 comparisons" not in text


def test_what_a_child_found_before_it_died_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next child begins behind the program that it died of."""
    begun: list[int] = []

    def run(command: list[str], env: object) -> subprocess.CompletedProcess[str]:
        seed, count = (int(command[command.index(name) + 1]) for name in ("--seed", "--programs"))
        diary = children.Diary(Path(command[command.index("--diary") + 1]))
        tally = Tally(programs=2)
        tally.comparisons["inside"] = 5
        begun.append(seed)
        if len(begun) > 1:
            tally.programs = count
            diary.end(tally)
            return subprocess.CompletedProcess(command, 0)
        tally.findings.append(Finding(grow_program(seed), Difference("inside", "y0", "other numbers")))
        diary.begin(seed + 2, tally)
        return subprocess.CompletedProcess(command, -signal.SIGSEGV)

    monkeypatch.setattr(subprocess, "run", run)
    whole = Tally()
    for record in children.run_chunks(40, 10, None, []):
        children.add(whole, record)
    assert begun == [40, 43] and whole.programs == 10 and whole.comparisons["inside"] == 10
    assert [(f.program.seed, f.difference.key) for f in whole.findings] == [(40, "y0"), (42, "crash")]
    assert "SIGSEGV" in whole.findings[1].difference.text
