"""Programs of the fields in which TensorFlow is used give TensorFlow's numbers, eagerly and as functions, unchanged."""

import json

import numpy as np
import pytest

import graphad as tf
from tests.programs import generate

STORED = json.loads((generate.HERE / "data.json").read_text(encoding="utf-8"))
PROGRAMS = {f"{field}.{name}": program for field, name, program in generate.programs()}


def test_each_program_has_stored_numbers() -> None:
    assert list(PROGRAMS) == list(STORED)


@pytest.mark.filterwarnings("ignore:Calling GradientTape.gradient on a persistent tape")
@pytest.mark.parametrize("mode", [generate.plainly, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_the_numbers_of_tensorflow(name, mode) -> None:
    results = generate.numbers(PROGRAMS[name](tf, mode))
    assert list(results) == list(STORED[name])
    for key, (dtype, shape, values) in STORED[name].items():
        result, wanted = results[key], np.array(values).reshape(shape)
        assert (str(result.dtype), list(result.shape)) == (dtype, shape), key
        step = 2e-4 if dtype in ("float32", "complex64") else 1e-7
        scale = float(np.max(np.abs(wanted), initial=0.0))
        np.testing.assert_allclose(result, wanted, rtol=step, atol=step * max(scale, 1e-3), err_msg=key)
