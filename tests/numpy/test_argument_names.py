"""What NumPy's functions take by name, `graphad.numpy` takes by the same name, at the same place."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf

tnp = tf.numpy


def _common() -> Iterator[tuple[str, Any, Any]]:
    for path in ("", "linalg.", "fft."):
        theirs, mine = (getattr(root, path[:-1]) if path else root for root in (np, tnp))
        for name in mine.__all__:
            function = getattr(theirs, name, None)
            if callable(function) and not inspect.isclass(function) and not isinstance(function, np.ufunc):
                try:
                    inspect.signature(function)
                except ValueError:
                    continue  # Python does not know its arguments
                yield path + name, function, getattr(mine, name)


COMMON = {name: (theirs, mine) for name, theirs, mine in _common()}


@pytest.mark.parametrize("name", COMMON)
def test_what_must_be_given_has_numpys_name_and_place(name: str) -> None:
    theirs, mine = (list(inspect.signature(f).parameters.values()) for f in COMMON[name])
    for place, wanted in enumerate(theirs):
        if wanted.kind is wanted.POSITIONAL_OR_KEYWORD and wanted.default is wanted.empty:
            named = {p.name: k for k, p in enumerate(mine) if p.kind is p.POSITIONAL_OR_KEYWORD}
            open_ended = any(p.kind is p.VAR_KEYWORD for p in mine)
            assert named.get(wanted.name) == place or (open_ended and not named), (
                f"{wanted.name} is argument {place} of NumPy's, here {inspect.signature(COMMON[name][1])}"
            )


def test_most_functions_are_looked_at() -> None:
    assert len(COMMON) > 200


_MATRIX = [[4.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("sort", {"a": [3.0, 1.0]}),
        ("argsort", {"a": [3.0, 1.0]}),
        ("clip", {"a": [3.0, 1.0], "a_min": 2.0, "a_max": 4.0}),
        ("pad", {"array": [3.0, 1.0], "pad_width": 1, "mode": "edge"}),
        ("broadcast_to", {"array": [3.0, 1.0], "shape": (3, 2)}),
        ("ones_like", {"a": _MATRIX}),
        ("full_like", {"a": _MATRIX, "fill_value": 2.0}),
        ("tensordot", {"a": _MATRIX, "b": _MATRIX, "axes": 1}),
        ("searchsorted", {"a": [1.0, 2.0, 4.0], "v": [3.0, 0.0]}),
        ("eye", {"N": 2, "M": 3}),
        ("linalg.solve", {"a": _MATRIX, "b": [1.0, 2.0]}),
        ("linalg.det", {"a": _MATRIX}),
        ("linalg.matrix_rank", {"A": _MATRIX}),
        ("linalg.matrix_power", {"a": _MATRIX, "n": 3}),
        ("fft.rfft", {"a": [1.0, 2.0, 0.5]}),
        ("fft.ifftn", {"a": _MATRIX}),
        ("fft.fftshift", {"x": [1.0, 2.0, 3.0]}),
        ("fft.fftfreq", {"n": 4, "d": 0.5}),
    ],
)
def test_arguments_by_name_give_numpys_numbers(function: str, arguments: dict[str, Any]) -> None:
    theirs, mine = COMMON[function]
    wanted = theirs(**arguments)
    np.testing.assert_allclose(mine(**arguments), wanted, rtol=1e-12)
    tensors = {k: tf.constant(v, "float64") if isinstance(v, list) else v for k, v in arguments.items()}
    np.testing.assert_allclose(mine(**tensors), wanted, rtol=1e-12)
    followed = [v for v in tensors.values() if isinstance(v, tf.Tensor)]
    if followed:
        np.testing.assert_allclose(theirs(**tensors), wanted, rtol=1e-12)
        with tf.GradientTape() as tape:
            tape.watch(followed)
            found = theirs(**tensors)
        assert isinstance(found, tf.Tensor) or np.asarray(found).dtype.kind in "biu"
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sizes", [(), (3,), (3, 2), (3, 2, 4), (2, 0, 3)])
def test_sparse_grids_are_numpys(sizes: tuple[int, ...], indexing: Any) -> None:
    vectors = [np.arange(1.0, n + 1) for n in sizes]
    for sparse in (False, True):
        found = tnp.meshgrid(*vectors, indexing=indexing, sparse=sparse, copy=False)
        wanted = np.meshgrid(*vectors, indexing=indexing, sparse=sparse)
        assert [x.shape.as_list() for x in found] == [list(x.shape) for x in wanted]
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
    with pytest.raises(ValueError, match="indexing is 'yx'"):
        tnp.meshgrid([1.0], indexing="yx")


def test_tensorflows_names_of_arguments_are_taken() -> None:
    np.testing.assert_array_equal(tnp.array(val=[1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(tnp.abs(x=[-1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(tnp.add(x1=[1.0], x2=[2.0]), [3.0])
    np.testing.assert_array_equal(tnp.where([True, False], x=[1.0, 1.0], y=[2.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(tnp.arange(start=1, stop=3), [1, 2])
    with pytest.raises(TypeError, match="must be given once"):
        tnp.array([1.0], val=[1.0])


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
def test_statistics_take_their_arguments_at_numpys_places(name: str) -> None:
    x = np.array([[1.0, 2.0, 4.0], [3.0, 7.0, 5.0]])
    arguments = (0, None, None, True) if name.endswith("mean") else (0, None, None, 1, True)
    wanted = getattr(np, name)(x, *arguments)
    found = getattr(tnp, name)(x, *arguments)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = getattr(np, name)(given, *arguments)
    assert isinstance(y, tf.Tensor)
    np.testing.assert_allclose(y, wanted, rtol=1e-12)
    with pytest.raises(ValueError, match=f"{name}: out is .*; it must be None"):
        getattr(tnp, name)(x, 0, None, np.zeros(3))
