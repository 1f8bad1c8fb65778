"""Layers, losses, metrics, optimizers and schedules made with what they cannot take: the error names class and argument."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import graphad as tf

SPACES = (
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.optimizers",
    "keras.optimizers.schedules",
    "distribute",
)
BAD = [
    None, "text", b"b", object(), -1, -(2**40), 2**70, float("nan"), 1.5, [[1, 2], [3]], [], {"a": 1}, np.ones(0),
    np.array(["a"]), lambda *x: 1, int, [None], slice(1),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_a_wrong_option_is_refused_in_words_of_graphads(space: str) -> None:
    raw, made = [], 0
    module = importlib.import_module(f"graphad.{space}")
    for name in module.__all__:
        kind = getattr(module, name)
        if not inspect.isclass(kind) or name == "ReduceOp":  # an enumeration of Python's
            continue
        parameters = [
            p for p in inspect.signature(kind).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]  # fmt: skip
        needed = {p.name: 2 for p in parameters if p.default is p.empty}
        for p in parameters:
            for bad in BAD:
                made += 1
                try:
                    kind(**(needed | {p.name: bad}))
                except Exception as error:  # whatever it is, its class is what counts
                    if not type(error).__module__.startswith("graphad"):
                        raw.append(f"{name}({p.name}={bad!r}): {type(error).__name__}: {error}")
    assert not raw, "\n".join(raw[:20])
    assert made > 10


@pytest.mark.parametrize(
    ("call", "python", "words"),
    [
        (lambda: tf.keras.layers.Conv2D(3, None), TypeError, "Conv2D: kernel_size is None of type NoneType; "),
        (lambda: tf.keras.layers.Dense("a"), ValueError, "`units`, expected a positive integer"),
        (lambda: tf.keras.layers.ZeroPadding1D(None), TypeError, "ZeroPadding1D: padding is None .*two for each axis"),
        (lambda: tf.keras.layers.Flatten(input_shape=object()), TypeError, "Flatten: input_shape is .*; give a list"),
        (lambda: tf.keras.metrics.AUC(2**70), ValueError, f"AUC: num_thresholds is {2**70}; it is 2 at least and"),
        (lambda: tf.keras.layers.GRUCell(2, dropout=0.5, seed="x"), ValueError, "GRUCell: seed is 'x'; it must be an"),
        (lambda: tf.keras.activations.hard_shrink([1.0], None), TypeError, "hard_shrink: threshold is None of type"),
        (lambda: tf.keras.activations.soft_shrink([1.0], "a"), TypeError, "soft_shrink: threshold is 'a' of type str"),
        (lambda: tf.keras.activations.glu([1.0, 2.0], 0.5), TypeError, "axis"),
        (lambda: tf.keras.losses.Huber(reduction=[]), TypeError, r"Huber: reduction is \[\] of type list; a string or"),
        (lambda: tf.distribute.MirroredStrategy([3]), TypeError, "MirroredStrategy: one of devices is 3 of type int"),
        (lambda: tf.keras.optimizers.schedules.PiecewiseConstantDecay(None, [1.0]), TypeError, "boundaries is None"),
        (lambda: tf.keras.optimizers.schedules.ExponentialDecay(0.1, None, 0.5), TypeError, "decay_steps is None"),
    ],
)  # fmt: skip
def test_refusals_name_class_and_argument(call: Any, python: type[Exception], words: str) -> None:
    with pytest.raises(python, match=words) as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)


def test_errors_of_a_users_own_class_stay_as_they_are() -> None:
    class Own(tf.keras.layers.Layer):
        def __init__(self, units: int) -> None:
            super().__init__()
            self.units = [0.0][units]

    with pytest.raises(IndexError) as caught:
        Own(3)
    assert type(caught.value) is IndexError


def test_a_kernel_that_does_not_fit_into_the_input_is_refused():
    layer = tf.keras.layers.Conv2D(3, 3)
    for run in (layer, tf.function(layer)):
        with pytest.raises(
            ValueError, match=r"Computed output size would be zero or negative: .*\(1, 2, 2, 1\)"
        ):
            run(tf.ones([1, 2, 2, 1]))
    assert layer(tf.ones([0, 4, 4, 1])).shape == [0, 2, 2, 3]
    of_any = tf.function(layer, input_signature=[tf.TensorSpec(None)])
    assert of_any(tf.ones([1, 4, 4, 1])).shape == [1, 2, 2, 3]
