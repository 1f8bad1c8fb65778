"""`graphad.plot`: what is drawn, and that matplotlib is imported by the first picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphad as tf

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def figures():
    yield
    pyplot.close("all")


def drawn(ax):
    ax.figure.canvas.draw()
    return ax


def lines_of(ax, vertical):
    """Where lines through the whole picture stand."""
    pick = (lambda line: line.get_xdata()) if vertical else (lambda line: line.get_ydata())
    return sorted(float(pick(line)[0]) for line in ax.lines if pick(line)[0] == pick(line)[1])


def test_a_graph_has_a_box_for_every_node():
    @tf.function
    def program(x):
        return tf.reduce_sum(tf.sin(x) * 2.0)

    ax = drawn(tf.plot.graph(program, tf.TensorSpec([None, 3])))
    texts = [text.get_text() for text in ax.texts]
    for name in ("sin", "mul", "reduce_sum", "result", "float32[None, 3]"):
        assert name in texts
    concrete = program.get_concrete_function(tf.TensorSpec([None, 3]))
    assert [t.get_text() for t in tf.plot.graph(concrete).texts] == texts
    with pytest.raises(TypeError, match=r"plot.graph: .* has no graph"):
        tf.plot.graph(lambda x: x)


def test_a_jacobian_is_a_matrix_with_its_blocks():
    x, w = tf.random.normal([5, 3]), tf.random.normal([3, 4])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = tf.tanh(x @ w)
    by_x, by_w = tape.jacobian(y, x), tape.jacobian(y, w)
    ax = drawn(tf.plot.jacobian([by_x, by_w], y, names=["x", "$w"]))
    (image,) = ax.images
    matrix = image.get_array()
    wanted = np.concatenate([by_x.numpy().reshape(20, 15), by_w.numpy().reshape(20, 12)], 1)
    np.testing.assert_allclose(matrix.filled(0.0), wanted, rtol=1e-6)
    assert matrix.mask[:4, 3:15].all() and not matrix.mask[:4, :3].any()
    assert lines_of(ax, vertical=False) == [3.5, 7.5, 11.5, 15.5]
    assert lines_of(ax, vertical=True) == [2.5, 5.5, 8.5, 11.5, 14.5, 18.5, 22.5]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", r"\$w"]
    again = tf.plot.jacobian(by_x)
    np.testing.assert_allclose(again.images[0].get_array().filled(0.0), wanted[:, :15], rtol=1e-6)


def test_a_hessian_of_several_variables_is_put_together():
    h = tf.hessian(lambda a, b: tf.reduce_sum(a**3.0) * tf.reduce_sum(b**2.0), argnums=(0, 1))
    blocks = h(tf.constant([1.0, 2.0]), tf.constant([[1.0, 2.0, 3.0]]))
    ax = drawn(tf.plot.hessian(blocks, names=["a", "b"]))
    matrix = ax.images[0].get_array().filled(0.0)
    assert matrix.shape == (5, 5)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[0, 0] == 6.0 * 14.0 and matrix[0, 1] == 0.0 and matrix[0, 2] == 3.0 * 2.0
    assert lines_of(ax, vertical=True) == lines_of(ax, vertical=False) == [1.5]
    assert tf.plot.hessian(np.eye(3)).images[0].get_array().shape == (3, 3)


def test_numbers_that_are_none_are_marked():
    ax = drawn(tf.plot.jacobian(np.array([[1.0, np.nan], [0.0, np.inf]])))
    assert [text.get_position() for text in ax.texts] == [(1, 0), (1, 1)]


def test_curves_are_drawn_and_their_ends_named():
    ax = drawn(tf.plot.history({"loss": [tf.constant(1.0), 0.1, 0.001], "val": [1.0, np.nan, np.nan]}))
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().texts] == ["loss", "val, not finite from step 1"]
    assert list(ax.lines[0].get_ydata()) == pytest.approx([1.0, 0.1, 0.001])
    plain = drawn(tf.plot.history([3.0, 2.0, -1.0]))
    assert plain.get_yscale() == "linear" and plain.get_legend() is None


def test_pictures_are_drawn_where_they_are_told():
    _, axes = pyplot.subplots(1, 4)
    f = tf.function(lambda x: x + 1.0)
    assert tf.plot.graph(f, tf.ones([2]), ax=axes[0]) is axes[0]
    assert tf.plot.jacobian(np.eye(2), ax=axes[1]) is axes[1]
    assert tf.plot.hessian(np.eye(2), ax=axes[2]) is axes[2]
    assert tf.plot.history([1.0], ax=axes[3]) is axes[3]
    assert len(pyplot.get_fignums()) == 1


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: tf.plot.jacobian(np.ones([2, 3, 4])), "which of the 3 axes"),
        (
            lambda: tf.plot.jacobian(np.ones([2, 3]), [3]),
            r"a target of shape \(3,\) has no Jacobian of shape \(2, 3\)",
        ),
        (lambda: tf.plot.jacobian([np.ones([2, 3]), np.ones([4, 3])], 1), "Jacobians of one target"),
        (lambda: tf.plot.jacobian(None), "a Jacobian is None"),
        (lambda: tf.plot.jacobian(np.ones([2, 3]), names=["a", "b"]), "2 names for 1 parts"),
        (lambda: tf.plot.jacobian(np.ones([0, 3])), "nothing to draw"),
        (lambda: tf.plot.hessian([[np.eye(2)], [np.eye(2)]]), "as many blocks in each row"),
        (
            lambda: tf.plot.hessian([[np.eye(2), np.ones([2, 2])], [np.ones([3, 2]), np.eye(3)]]),
            r"block \[0\]\[1\]",
        ),
        (lambda: tf.plot.history({}), "no number to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_matplotlib_is_imported_by_the_first_picture_and_asked_for_by_name():
    code = (
        "import sys, graphad as tf; tf.plot.history; assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "try: tf.plot.history([1.0])\n"
        "except RuntimeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "plot: matplotlib is not installed" in done.stdout, done.stderr
