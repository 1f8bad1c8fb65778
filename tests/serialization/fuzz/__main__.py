"""`python -m tests.serialization.fuzz`: as many mutants as there is time for."""

from __future__ import annotations

import argparse
import sys

from tests.serialization.fuzz.run import run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="the number of the first one; a number alone says what a mutant is",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--cache", help="a directory that keeps the kernels for the next run")
    given = parser.parse_args()
    report = run(
        given.mutants, given.first, given.jobs, 60 * given.minutes, log=sys.stderr, cache=given.cache
    )
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
