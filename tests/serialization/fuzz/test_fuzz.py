"""Whatever a file says: no crash, no hang, no lie about a shape, no result that depends on the mode, no error in raw words.

GRAPHAD_FUZZ_MINUTES=60 goes on for an hour, from a seed of the day on.
"""

from __future__ import annotations

import os
import time

import pytest

from tests.serialization.fuzz.mutants import mutant
from tests.serialization.fuzz.run import run

MUTANTS = 320


@pytest.mark.slow
def test_mutants_are_refused_or_run_alike_in_both_modes():
    minutes = float(os.environ.get("GRAPHAD_FUZZ_MINUTES", "0"))
    jobs = min(4, os.cpu_count() or 1)
    if minutes:
        report = run(10**9, int(time.time()) // 86400 * 10**7, jobs, 60 * minutes)
    else:
        report = run(MUTANTS, jobs=jobs)
        kinds = [outcome.kind for outcome in report.outcomes]
        assert len(kinds) == MUTANTS
        assert kinds.count("ran") > MUTANTS // 8 and kinds.count("refused") > MUTANTS // 8
    print(report)
    assert not report.failures, str(report)


def test_a_number_says_what_a_mutant_is():
    tree = {
        "ops": [["sin", 1, []], ["reduce_sum", 1, [["axes", [0, 0]], ["keepdims", False]]]],
        "graphs": [],
        "specs": [],
    }
    assert [mutant(tree, k) for k in range(50)] == [mutant(tree, k) for k in range(50)]
    assert any(mutant(tree, k) != tree for k in range(50))
