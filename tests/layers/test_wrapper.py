"""A layer around another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


class _Doubled(tf.keras.layers.Wrapper):
    def call(self, x: Any) -> Any:
        return 2.0 * self.layer(x)


def test_the_layer_inside_is_built_with_its_wrapper_and_gives_it_its_weights() -> None:
    inner = tf.keras.layers.Dense(3, name="inner")
    outer = _Doubled(inner, name="outer")
    outer.build((None, 2))
    assert inner.built and outer.built and outer.name == "outer"
    assert [w.shape for w in outer.trainable_variables] == [(2, 3), (3,)]
    np.testing.assert_allclose(outer(tf.ones([1, 2])), 2.0 * inner(tf.ones([1, 2])))


def test_a_layer_that_is_built_keeps_its_weights() -> None:
    inner = tf.keras.layers.Dense(3)
    inner.build((None, 2))
    kernel = inner.kernel
    _Doubled(inner)(tf.ones([1, 2]))
    assert inner.kernel is kernel


def test_what_is_no_layer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"_Doubled: layer is 3; give a layer, such as Dense\(3\)"):
        _Doubled(3)  # type: ignore[arg-type]
