"""Public functions called with what they cannot take: errors are graphad's, with a reason, none of NumPy's or Python's own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf

SPACES = (
    "",
    "math",
    "linalg",
    "nn",
    "signal",
    "image",
    "sparse",
    "sets",
    "bitwise",
    "random",
    "losses",
    "metrics",
    "numpy",
)
GOOD = np.ones((2, 2), np.float32)
BAD = [
    np.float64(np.nan), None, "text", np.ones((2, 3), np.complex64), np.ones((2, 3), bool), np.ones((2, 3), np.int32),
    np.ones((0,)), [[1, 2], [3]], object(), -1, tf.constant([1.0, 2.0]),
]  # fmt: skip
AXES = [7, -9, "x", 1.5, float("nan"), [0, 0], np.ones(3)]
# They call or keep what they are given, or run for long.
LEFT_OUT = set(
    "function py_function numpy_function Variable device print custom_gradient recompute_grad explain profile GradientTape "
    "Module init_scope name_scope control_dependencies scan map_fn foldl foldr while_loop cond case "
    "switch_case vectorized_map".split()
)
# Raw errors that are left, by function; the list may only become shorter.
RAW = set(
    """
    identity_n image.adjust_hue linalg.tensordot losses.categorical_crossentropy losses.sparse_categorical_crossentropy
    math.bincount math.in_top_k metrics.categorical_crossentropy metrics.sparse_categorical_crossentropy
    nn.batch_normalization nn.compute_accidental_hits nn.in_top_k numpy.choose numpy.corrcoef numpy.correlate numpy.cov
    numpy.einsum numpy.expand_dims numpy.full_like numpy.gradient numpy.lexsort numpy.permute_dims
    numpy.ravel_multi_index numpy.resize numpy.roll numpy.select numpy.size numpy.squeeze numpy.unravel_index
    numpy.vander random.create_rng_state range reverse roll shape_n signal.dct signal.idct
    signal.mfccs_from_log_mel_spectrograms slice sparse.bincount sparse.concat tensordot
    """.split()
)


def functions(space: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"graphad.{space}".rstrip("."))
    for name in module.__all__:
        value = getattr(module, name)
        if name not in LEFT_OUT and callable(value) and not inspect.isclass(value):
            yield f"{space}.{name}".lstrip("."), value


def calls(function: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments of which one is bad."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.default is p.empty and p.kind in kinds for p in parameters)
    for k in range(count):
        for bad in BAD:
            yield [bad if i == k else GOOD for i in range(count)], {}
    if any(p.name == "axis" and p.default is not p.empty for p in parameters):
        for axis in AXES:
            yield [GOOD] * count, {"axis": axis}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_wrong_arguments_are_refused_in_words_of_graphads(space: str) -> None:
    raw: dict[str, list[str]] = {}
    for name, function in functions(space):
        if name in RAW:
            continue
        for positional, named in calls(function):
            try:
                function(*positional, **named)
            except Exception as error:  # whatever it is, its class is what counts
                if not type(error).__module__.startswith("graphad"):
                    raw.setdefault(name, []).append(f"{positional} {named}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(line for lines in raw.values() for line in lines[:2])
