"""Sparse tensors as elements of data sets: sliced, mapped, stacked and described as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]], "float32")
SPARSE = tf.sparse.from_dense(DENSE)


def slices() -> Any:
    return tf.data.Dataset.from_tensor_slices(SPARSE)


def dense(elements: Any) -> list[Any]:
    return [tf.sparse.to_dense(x).numpy().tolist() for x in elements]


def test_slices_are_rows_whatever_the_order_of_the_values() -> None:
    assert dense(slices()) == DENSE.tolist() and len(slices()) == 3
    mixed = tf.SparseTensor([[2, 0], [0, 2], [1, 2], [0, 0]], [4.0, 2.0, 3.0, 1.0], [3, 3])
    rows = list(tf.data.Dataset.from_tensor_slices((mixed, [7, 8, 9])))
    assert [tf.sparse.to_dense(x, validate_indices=False).numpy().tolist() for x, _ in rows] == DENSE.tolist()
    assert [int(y) for _, y in rows] == [7, 8, 9]
    cube = np.arange(12.0).reshape(2, 3, 2) % 3
    assert dense(tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(cube))) == cube.tolist()
    assert dense(tf.data.Dataset.from_tensors(SPARSE)) == [DENSE.tolist()]


def test_steps_take_and_give_sparse_tensors() -> None:
    rows = DENSE.tolist()
    for found, wanted in (
        (slices().batch(2), [rows[:2], rows[2:]]),
        (slices().batch(2).unbatch(), rows),
        (slices().batch(2).rebatch(1), [[row] for row in rows]),
        (slices().map(lambda x: x * 2.0), (2 * DENSE).tolist()),
        (tf.data.Dataset.from_tensor_slices(DENSE).map(tf.sparse.from_dense).batch(3), [rows]),
        (slices().filter(lambda x: tf.sparse.reduce_sum(x) > 3.0), rows[2:]),
        (slices().skip(1).take(1), rows[1:2]),
        (slices().concatenate(slices()), rows + rows),
        (slices().cache().prefetch(1), rows),
        (slices().repeat(2).unique(), rows),
        (slices().batch(2).flat_map(tf.data.Dataset.from_tensor_slices), rows),
    ):
        assert dense(found) == wanted
    assert sorted(dense(slices().shuffle(3))) == sorted(rows)
    assert [x.numpy().tolist() for x in slices().map(tf.sparse.to_dense)] == rows
    assert float(slices().reduce(0.0, lambda total, x: total + tf.sparse.reduce_sum(x))) == 10.0
    pairs = list(tf.data.Dataset.zip((slices(), tf.data.Dataset.range(3))).batch(3))
    assert dense([pairs[0][0]]) == [rows] and pairs[0][1].numpy().tolist() == [0, 1, 2]
    named = next(iter(tf.data.Dataset.from_tensor_slices({"a": SPARSE, "b": [1, 2, 3]}).batch(3)))
    assert dense([named["a"]]) == [rows]
    assert [x.tolist() for x in slices().as_numpy_iterator()] == rows


def test_rows_of_several_sizes_have_the_largest_together() -> None:
    data = tf.data.Dataset.from_tensor_slices([1, 3, 2]).map(lambda n: tf.sparse.eye(n)).batch(3)
    (found,) = dense(data)
    assert found == [np.pad(np.eye(n), (0, 3 - n)).tolist() for n in (1, 3, 2)]


def test_elements_are_described() -> None:
    of = tf.SparseTensorSpec
    for data, wanted in (
        (slices(), of([3])),
        (tf.data.Dataset.from_tensors(SPARSE), of([3, 3])),
        (slices().batch(2), of([None, 3])),
        (slices().batch(2, drop_remainder=True), of([2, 3])),
        (slices().batch(2).unbatch(), of([3])),
        (slices().map(lambda x: x * 2.0), of([3])),
        (tf.data.Dataset.from_tensor_slices(DENSE).map(tf.sparse.from_dense), of([3])),
        (slices().concatenate(slices()), of([3])),
        (
            slices().concatenate(tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(DENSE[:, :2]))),
            of([None]),
        ),
    ):
        assert data.element_spec == wanted
    with pytest.raises(TypeError, match="differ in structure"):
        _ = slices().concatenate(tf.data.Dataset.from_tensor_slices(DENSE)).element_spec


def test_traced_loops_take_sparse_elements() -> None:
    @tf.function
    def total(data: Any) -> Any:
        found = tf.zeros([3])
        for x, weight in data:
            found += tf.sparse.to_dense(x) * weight
        return found

    data = tf.data.Dataset.from_tensor_slices((SPARSE, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(total(data), [1.0, 2.0, 3.0] @ DENSE)


def test_generators_may_give_sparse_tensors() -> None:
    make = tf.data.Dataset.from_generator
    spec = tf.SparseTensorSpec([None, 3], tf.float32)
    assert dense(make(lambda: iter([SPARSE]), output_signature=spec)) == [DENSE.tolist()]
    for wrong in (DENSE, tf.sparse.from_dense(DENSE[:, :2])):
        with pytest.raises(TypeError, match=r"from_generator: an element is .* the signature says"):
            list(make(lambda x=wrong: iter([x]), output_signature=spec))


def test_what_sparse_elements_cannot_do_is_refused() -> None:
    with pytest.raises(TypeError, match="padded_batch: the elements hold sparse tensors"):
        list(slices().padded_batch(2))
    with pytest.raises(ValueError, match="a sparse vector has no sparse slices"):
        tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense([1.0, 0.0]))
    several = tf.data.Dataset.from_generator(
        lambda: iter([SPARSE, tf.sparse.from_dense([1.0])]), output_signature=tf.SparseTensorSpec(None, tf.float32)
    )  # fmt: skip
    with pytest.raises(ValueError, match="their ranks must be equal"):
        list(several.batch(2))

    @tf.function
    def inside(x: Any) -> Any:
        return next(iter(tf.data.Dataset.from_tensors(x)))

    with pytest.raises(ValueError, match="belongs to a function that is being traced"):
        inside(SPARSE)
