"""Random programs with sizes that only the run finds have the results and errors of eager code, whichever call it is."""

from __future__ import annotations

import pytest

import graphad as tf
from tests.fuzz.sizes import SPECS, arguments, differs, outcome, program, text

BATCHES, EACH = 4, 25


@pytest.mark.filterwarnings("ignore")  # of NumPy, which eager code computes with
@pytest.mark.parametrize("batch", range(BATCHES))
def test_programs_are_what_eager_code_is(batch: int) -> None:
    for seed in range(batch * EACH, (batch + 1) * EACH):
        f = program(seed)
        compiled = tf.function(f, jit_compile=True if seed % 5 == 0 else None, input_signature=SPECS)
        for given in arguments(seed):
            wanted = outcome(f, given)
            for call in range(3):
                found = outcome(compiled, given)
                assert not differs(found, wanted), (
                    f"{text(seed)}call {call} of {given}: {found}, eager code: {wanted}"
                )
