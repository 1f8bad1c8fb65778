"""Keeps processes of `child` going until all mutants are tried, and counts what became of them."""

from __future__ import annotations

import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CHILD = "tests.serialization.fuzz.child"
HANG = 120.0  # seconds without a word from a process
IN_A_ROW = 2000  # mutants for one process
BAD = ("crash", "hang", "memory", "raw", "lie", "differs", "unstable", "harness")


class Outcome(NamedTuple):
    """What became of one mutant."""

    number: int
    program: str
    kind: str
    what: str


class Report:
    """The outcomes of a run."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.seconds = 0.0

    @property
    def failures(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.kind in BAD]

    def __str__(self) -> str:
        kinds = collections.Counter(each.kind for each in self.outcomes)
        programs = len({each.program for each in self.outcomes})
        lines = [f"{len(self.outcomes)} mutants of {programs} programs in {self.seconds:.0f} s"]
        lines += [
            f"  {kind:9} {kinds[kind]}" for kind in ("unusable", "refused", "ran", "error", "long", *BAD)
        ]
        lines.append("  " + ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items())))
        shown = [each for each in self.outcomes if each.kind in (*BAD, "long")]
        lines += [f"{each.kind}: mutant {each.number} of {each.program}: {each.what}" for each in shown]
        return "\n".join(lines)


def run(
    mutants: int,
    first: int = 0,
    jobs: int = 2,
    seconds: float | None = None,
    log: Any = None,
    cache: str | None = None,
) -> Report:
    """Try mutants `first` and following; stop after `seconds` if they are given. `cache` keeps the kernels for the next run."""
    if cache is None:
        with tempfile.TemporaryDirectory(prefix="graphad-fuzz-kernels-") as made:
            return run(mutants, first, jobs, seconds, log, made)
    report, start = Report(), time.monotonic()
    lock = threading.Lock()

    def over() -> bool:
        return seconds is not None and time.monotonic() - start > seconds

    def work(job: int) -> None:
        following = first + job
        while following < first + mutants and not over():
            left = -(-(first + mutants - following) // jobs)
            for message in _talk(following, min(left, IN_A_ROW), jobs, cache, over):
                if "done" in message:
                    following = message["done"] + jobs
                    with lock:
                        report.outcomes.append(
                            Outcome(message["done"], message["program"], message["outcome"], message["what"])
                        )
                        report.counts.update(message["counts"])
                        if log is not None and message["outcome"] in (*BAD, "long"):
                            print(report.outcomes[-1], file=log, flush=True)
                        if log is not None and len(report.outcomes) % 500 == 0:
                            counted = collections.Counter(each.kind for each in report.outcomes)
                            print(f"{len(report.outcomes)}: {dict(counted)}", file=log, flush=True)
                elif "died" in message:
                    following = message["number"] + jobs
                    if message["died"] == "harness":
                        following = first + mutants  # the next process would end the same way
                    with lock:
                        report.outcomes.append(
                            Outcome(message["number"], "", message["died"], message["what"])
                        )
                        if log is not None:
                            print(report.outcomes[-1], file=log, flush=True)

    threads = [threading.Thread(target=work, args=(job,)) for job in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.seconds = time.monotonic() - start
    report.outcomes.sort()
    return report


def _talk(first: int, count: int, step: int, cache: str, over: Any) -> Any:
    """The messages of one process, and a last one that says how it died, if it did."""
    environment = os.environ | {
        "GRAPHAD_VERIFY": "0",
        "GRAPHAD_CACHE_DIR": cache,
        "PYTHONPATH": ROOT,
        "GRAPHAD_THREADS": "2",
        "GRAPHAD_WORKER": "0",  # a process of its own for each would mostly be waited for
    }
    command = [sys.executable, "-W", "ignore", "-X", "faulthandler", "-m", CHILD]
    child = subprocess.Popen(
        [*command, str(first), str(count), str(step)],
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []

    def listen() -> None:
        for line in child.stdout or ():
            lines.put(line)
        lines.put(None)

    def listen_to_errors() -> None:
        errors.append(child.stderr.read() if child.stderr else "")

    readers = [threading.Thread(target=each, daemon=True) for each in (listen, listen_to_errors)]
    for reader in readers:
        reader.start()
    number = None
    try:
        while True:
            try:
                patience = HANG * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # others wait too
                line = lines.get(timeout=patience)
            except queue.Empty:
                child.kill()
                yield {
                    "died": "hang",
                    "number": first if number is None else number,
                    "what": f"nothing for {patience:.0f} s",
                }
                return
            if line is None:
                break
            if not line.startswith("{"):
                continue  # what a mutant prints
            message = json.loads(line)
            number = message.get("start")
            yield message
            if over():
                return
    finally:
        child.kill()
        status = child.wait()
        for reader, pipe in zip(readers, (child.stdout, child.stderr), strict=True):
            reader.join(5.0)
            if pipe is not None:
                pipe.close()
    if number is not None or status not in (0, -9):
        # Before it has begun with a mutant, it died of nothing but itself.
        yield {
            "died": "harness" if number is None else "crash", "number": first if number is None else number,
            "what": f"the process ended with status {status}: {''.join(errors)[-400:]}",
        }  # fmt: skip
