"""Every op has every proof that the tests know, or a reason why not; nobody says so, the tables do (`tests/ops/proofs.py`)."""

from __future__ import annotations

import pytest

from tests.ops.page import ops
from tests.ops.proofs import EXCUSED, PROOFS, holes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_proof_is_missing_without_a_reason() -> None:
    missing, needless = holes(ops())
    assert not missing, "add a case to tests/ops/<family>/cases.py, or a reason to EXCUSED"
    assert not needless, "these are proved: take the reasons away"


def test_reasons_are_given_for_ops_and_proofs_that_there_are() -> None:
    assert set(EXCUSED) <= set(ops())
    for reasons in EXCUSED.values():
        assert set(reasons) <= set(PROOFS) and all(reasons.values())
