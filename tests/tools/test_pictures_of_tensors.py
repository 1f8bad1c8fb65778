"""matplotlib draws of tensors and variables what it draws of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

matplotlib = pytest.importorskip("matplotlib")

X = np.random.default_rng(0).normal(size=(40, 3))
T = np.arange(40.0)
DRAWN: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "bar": (lambda ax, x, y: ax.bar(x, y), (T, X[:, 0])),
    "boxplot": (lambda ax, x: ax.boxplot(x), (X,)),
    "violinplot": (lambda ax, x: ax.violinplot(x), (X,)),
    "hist": (lambda ax, x: ax.hist(x, 5), (X,)),
    "plot": (lambda ax, x, y: ax.plot(x, y), (T, X)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_tensor_is_drawn_as_its_array(name: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    draw, arguments = DRAWN[name]

    def picture(make: Callable[[np.ndarray], Any]) -> Any:
        figure = Figure(figsize=(2, 2))
        canvas = FigureCanvasAgg(figure)
        draw(figure.add_subplot(), *map(make, arguments))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba()).copy()

    wanted = picture(np.asarray)
    for make in (tf.constant, tf.Variable):
        np.testing.assert_array_equal(picture(make), wanted)


def test_the_array_of_a_tensor_is_its_own() -> None:
    for x in (tf.constant(X), tf.Variable(X)):
        found = x.to_numpy()
        found[0, 0] = 7.0
        np.testing.assert_array_equal(x.numpy(), X)


def test_broadcasting_with_none_does_not_end_a_derivative_silently() -> None:
    x = tf.constant([1.0, 2.0])
    assert np.broadcast_arrays(x, None)[0].tolist() == [1.0, 2.0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TypeError, match="broadcast_arrays: graphad's takes no None"):
            np.broadcast_arrays(x, None)
