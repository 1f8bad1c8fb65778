"""The command line; see the package's docstring."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random programs, compared.")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--programs", type=int, help="stop after this many programs")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; otherwise a fresh one")
    parser.add_argument(
        "--wide", action="store_true", help="programs of wide seeds: with Python control flow and newer ops"
    )
    parser.add_argument(
        "--verify", action="store_true", help="every eval is checked against infer (GRAPHAD_VERIFY)"
    )
    parser.add_argument("--modes", help="comma-separated; otherwise a choice for each program")
    parser.add_argument("--tensorflow", action="store_true", help="compare with TensorFlow too")
    parser.add_argument(
        "--program", type=int, help="show the program of this seed, made small where it differs"
    )
    parser.add_argument("--diary", type=Path, help=argparse.SUPPRESS)  # a child of a campaign
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    if options.verify:
        os.environ["GRAPHAD_VERIFY"] = "1"
    os.environ.setdefault("GRAPHAD_CACHE_DIR", os.path.join(tempfile.gettempdir(), "graphad-fuzz-kernels"))
    if options.program is not None:
        return show(options)
    if options.diary is not None:
        return child(options)
    return parent(options)


def libraries(options: Any) -> tuple[Any, Any]:
    """The libraries to compare: graphad, and TensorFlow if the command line asks for it."""
    import graphad

    logging.disable(logging.WARNING)  # every program makes functions anew, of which retracing warns
    graphad.config.set_jit(
        "never"
    )  # functions with `jit_compile` are compiled; nothing is compiled in the background
    if not options.tensorflow:
        return graphad, None
    import tensorflow

    from tests.fuzz.reference import Live

    return graphad, Live(tensorflow)


def show(options: Any) -> int:
    from tests.fuzz.campaign import check
    from tests.fuzz.grow import grow_program
    from tests.fuzz.shrink import smaller

    graphad, tensorflow = libraries(options)
    program = grow_program(options.program)
    found = check(program, graphad, options.modes and options.modes.split(","), tensorflow)
    print(program.source())
    for difference in found:
        print(f"{difference.mode} {difference.key}: {difference.text}")
    if found:
        small, difference = smaller(program, found[0], graphad, tensorflow)
        print(f"\nmade small: {difference.mode} {difference.key}: {difference.text}")
        for x in small.inputs:
            print(f"# {x.value.name}: {x.value.dtype}{list(x.value.dims)} {x.profile}, {x.draw(3).tolist()}")
        print(small.source())
    return 1 if found else 0


def child(options: Any) -> int:
    from tests.fuzz.campaign import campaign
    from tests.fuzz.children import Diary

    graphad, tensorflow = libraries(options)
    diary = Diary(options.diary)
    seeds = range(options.seed, options.seed + options.programs)
    modes = options.modes.split(",") if options.modes else None
    tally = campaign(graphad, seeds, options.seconds, modes, tensorflow, diary.begin)
    diary.end(tally)
    return 0


def parent(options: Any) -> int:
    from tests.fuzz.campaign import Tally
    from tests.fuzz.children import add, run_chunks
    from tests.fuzz.grow import WIDE

    first = options.seed if options.seed is not None else time.time_ns() % 10**9 * 1000
    first += WIDE if options.wide and first < WIDE else 0
    passed = ["--tensorflow"] if options.tensorflow else []
    passed += ["--modes", options.modes] if options.modes else []
    tally, start = Tally(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for record in run_chunks(first, options.programs, options.seconds, passed):
            for finding in add(tally, record):
                d = finding.difference
                print(f"seed {finding.program.seed}: {d.mode} {d.key}: {d.text}")
            spent = time.monotonic() - start
            print(f"{tally.programs} programs, {spent:.0f} s, {len(tally.findings)} differences")
            # One line on what was compared so far, for runs that are cut off.
            by_mode = ", ".join(f"{name} {number}" for name, number in sorted(tally.comparisons.items()))
            print(f"  {sum(tally.comparisons.values())} comparisons: {by_mode}", flush=True)
    finally:
        summary(first, tally)
    if not tally.comparisons:
        print("nothing was compared: no program came to a mode")
    return 1 if tally.findings or not tally.comparisons else 0


def summary(first: int, tally: Any) -> None:
    """What was compared, by mode, and what differs, by mode and result."""
    print(f"\nseeds from {first}: {tally.programs} programs, {sum(tally.comparisons.values())} comparisons")
    for name, number in sorted(tally.comparisons.items()):
        print(f"  {name:24} {number}")
    for name, number in tally.notes.most_common():
        print(f"  ({name}: {number})")
    for (mode, key), number in Counter(f.difference.sort() for f in tally.findings).most_common():
        print(f"  different: {mode} {key}: {number}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
