"""Every agreement of every case in `cases.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ops.control.cases import CASES
from tests.support.op_case import agreements


@pytest.mark.parametrize("check", agreements(CASES))
def test_rules_agree(check: Callable[[], None]) -> None:
    check()
