"""Lines as users of NumPy write them give its values, dtypes, shapes and slopes, by its functions and by `graphad.numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as own

RNG = np.random.default_rng(3)
GIVEN = {
    "a": RNG.normal(size=(4, 5)),
    "b": RNG.normal(size=(5, 3)),
    "t": RNG.normal(size=(2, 3, 4)),
    "v": RNG.normal(size=7),
    "w": RNG.uniform(0.2, 2.0, 7),
}
LINES = """
np.argsort(a, axis=None)
np.sort(a, axis=None)
np.concatenate((a, t[0].T), axis=None)
np.cumsum(a, axis=None)
np.cumsum(a, axis=None, dtype=None)
np.argmax(a, axis=None)
np.take(a, [1, 7], axis=None)
np.repeat(a, 2, axis=None)
np.roll(a, 3, axis=None)
np.flip(a, axis=None)
np.quantile(a, 0.3, axis=None)
np.median(a, axis=None, keepdims=True)
np.var(a, where=a > 0)
np.var(a, axis=1, where=a > -1, ddof=1)
np.std(a, axis=0, where=a > -1, keepdims=True)
np.std(np.where(a > -1, a, np.nan), axis=0, where=a > -1, mean=np.zeros((1, 5)))
np.cov(a, aweights=w[:5])
np.cov(a, fweights=np.array([1, 2, 1, 3, 1]))
np.cov(a, fweights=np.array([1, 2, 1, 3, 1]), aweights=w[:5], ddof=0)
np.cov(a, bias=True, aweights=w[:5])
np.einsum(a, [0, 1], b, [1, 2], [0, 2])
np.einsum(a, [1, 0], b, [0, 2])
np.einsum(t, [..., 30, 4], a, [4, 2])
np.ldexp(w, 2)
np.ldexp(w, [1, 2, 0, -1, 3, 4, 5])
a.reshape(5, 4, order="F")
a.reshape((2, -1), order="F")
a.ravel(order="F")
a.flatten("F")
a[:, None, 1:3]
a[[[0], [2]], [1, 3]]
a[np.ix_([0, 2], [1, 3])]
t[..., None, [0, 2]]
t[[0, 1], :, [1, 2]]
np.max(a, axis=1, initial=0.5, where=a > 0)
np.percentile(a, [10, 90], axis=(0, 1))
np.interp(w, np.arange(7.0), v, left=-1)
np.average(a, axis=1, weights=w[:5])
np.linalg.norm(t, axis=(1, 2), ord="nuc")
np.gradient(a, 0.5, axis=1, edge_order=2)
np.pad(v, 2, mode="reflect")
np.corrcoef(a, rowvar=False)
np.convolve(v, w[:3], mode="same")
np.tensordot(t, a, axes=([2], [0]))
""".strip().splitlines()


def result(line: str, space: Any, given: dict[str, Any]) -> Any:
    return eval(line, {"np": space, **given})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINES)
def test_a_line_of_numpy(line: str) -> None:
    wanted = np.asarray(result(line, np, GIVEN))
    for space in (np, own):
        with tf.GradientTape() as tape:
            given = {name: tf.constant(x) for name, x in GIVEN.items()}
            tape.watch(list(given.values()))
            found = result(line, space, given)
            assert isinstance(found, tf.Tensor) or wanted.dtype.kind != "f"
            weights = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
            loss = tf.reduce_sum(found * weights) if wanted.dtype.kind == "f" else None
        assert (np.shape(found), np.asarray(found).dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
        if loss is None:
            continue
        slopes = tape.gradient(loss, given, unconnected_gradients="zero")
        for name, x in GIVEN.items():
            direction = RNG.normal(size=x.shape)
            ends = [
                np.sum(result(line, np, {**GIVEN, name: x + step * direction}) * weights)
                for step in (1e-6, -1e-6)
            ]
            np.testing.assert_allclose(
                np.sum(slopes[name] * direction), (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6
            )


def test_an_element_is_taken_by_its_index() -> None:
    a = tf.constant(GIVEN["a"])
    assert (a.item(3), a.item(1, 2), a.item((1, 2))) == tuple(
        [GIVEN["a"].item(*k) for k in ((3,), (1, 2), ((1, 2),))]
    )
    with pytest.raises(ValueError, match="size 1"):
        a.item()


def test_integers_of_einsum_are_checked() -> None:
    a = tf.constant(GIVEN["a"])
    for wrong in ((a, 3), (a, [0, "x"]), (a, [0, 99]), (a,)):
        with pytest.raises(ValueError, match="einsum: subscripts"):
            own.einsum(*wrong)


def test_counts_and_places_of_numpys_functions_are_numpys() -> None:
    scores = tf.constant([[1.0, 3.0], [4.0, 2.0], [5.0, 6.0]])
    labels = np.array([1, 0, 0])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        right = np.sum(np.argmax(scores, 1) == labels)
        places = np.where(scores > 2.5)
        values, first = np.unique(scores, return_index=True)
    assert right / 2.0 == 1.0 and 100.0 * right / 3 == pytest.approx(200 / 3)
    assert [type(x) for x in (*places, first, np.argmax(scores, 1))] == [np.ndarray] * 4
    assert places[0].tolist() == [0, 1, 2, 2] and isinstance(values, tf.Tensor)
    assert tape.gradient(values, scores) is not None
    whole = tf.constant([[1, 2]])
    np.reshape(whole, [-1])[0] = 7
    assert whole.numpy().tolist() == [[1, 2]]
    assert isinstance(own.argmax(scores, 1), tf.Tensor) and isinstance(scores.argmax(1), tf.Tensor)

    @tf.function
    def traced(x):
        return np.argmax(x, 1)

    assert traced(scores).numpy().tolist() == [1, 0, 1]
