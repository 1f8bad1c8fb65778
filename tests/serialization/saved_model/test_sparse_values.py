"""Sparse tensors and slices as arguments and results of loaded functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as gd
from serialization.convert.sparse import parts_of, result_of
from serialization.errors import CorruptModelError
from serialization.schema.values import SPARSE, StructValue
from tests.serialization.saved_model.generations import reloaded


class Table(gd.Module):
    """A table whose rows are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = gd.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))

    @gd.function(input_signature=[gd.TensorSpec([None], gd.int32)])
    def slope(self, ids: Any) -> Any:
        with gd.GradientTape() as tape:
            y = gd.reduce_sum(gd.gather(self.rows, ids) ** 2)
        return {"slope": tape.gradient(y, self.rows)}

    @gd.function(input_signature=[gd.SparseTensorSpec([3, None])])
    def twice(self, x: Any) -> Any:
        return x * 2.0, [gd.sparse.reduce_sum(x)]

    @gd.function(input_signature=[gd.TensorSpec([None, 2])])
    def without_a_shape(self, x: Any) -> Any:
        return gd.IndexedSlices(x, gd.range(gd.shape(x)[0]))


SPARSE_X = gd.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 2])


@pytest.mark.parametrize("generations", [1, 2])
def test_a_gradient_by_looked_up_rows_trains_the_loaded_table(generations):
    model = Table()
    loaded = reloaded(model, generations)
    slope = loaded.slope([1, 1, 3])["slope"]
    assert isinstance(slope, gd.IndexedSlices)
    expected = model.slope([1, 1, 3])["slope"]
    np.testing.assert_array_equal(gd.convert_to_tensor(slope), gd.convert_to_tensor(expected))
    for table, by in ((model.rows, expected), (loaded.rows, slope)):
        gd.optimizers.SGD(0.1).apply_gradients([(by, table)])
    np.testing.assert_array_equal(loaded.rows, model.rows)


@pytest.mark.parametrize("generations", [1, 2])
def test_a_sparse_tensor_comes_back_as_one_with_what_is_known_of_its_shape(generations):
    loaded = reloaded(Table(), generations)
    doubled, (total,) = loaded.twice(SPARSE_X)
    assert isinstance(doubled, gd.SparseTensor) and total.numpy() == 3.0
    np.testing.assert_array_equal(gd.sparse.to_dense(doubled), [[2, 0], [0, 4], [0, 0]])

    @gd.function
    def outer(x: Any) -> Any:
        found = loaded.twice(x)[0]
        assert found.shape.as_list() == [3, None]
        return found

    np.testing.assert_array_equal(outer(SPARSE_X).values, [2, 4])


def test_slices_of_an_unknown_whole_stay_so():
    slices = reloaded(Table(), 1).without_a_shape(gd.ones([3, 2]))
    assert isinstance(slices, gd.IndexedSlices) and slices.dense_shape is None
    np.testing.assert_array_equal(slices.indices, [0, 1, 2])


def test_a_loaded_function_is_differentiated_through_its_sparse_result():
    loaded = reloaded(Table(), 1)
    values = gd.constant([1.0, 2.0])
    with gd.GradientTape() as tape:
        tape.watch(values)
        y = gd.reduce_sum(loaded.twice(SPARSE_X.with_values(values))[0].values ** 2)
    np.testing.assert_array_equal(tape.gradient(y, values), [8, 16])


FIELDS = ("indices", "values", "dense_shape", "shape")
PLACES = (gd.TensorSpec([None, 2], gd.int64), gd.TensorSpec([None]), gd.TensorSpec([2], gd.int64))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (StructValue(SPARSE, "Ragged", FIELDS, (0, 1, 2, None)), "no kind of sparse value"),
        (StructValue(SPARSE, "SparseTensor", FIELDS[:3], (0, 1, 2)), "are not the fields"),
        (StructValue(SPARSE, "IndexedSlices", FIELDS, (0, 1, 2, None)), "are not the fields"),
        (StructValue(SPARSE, "SparseTensor", FIELDS, (0, 1, 2, (3, -1))), "is not the shape"),
        (StructValue(SPARSE, "SparseTensor", FIELDS, (0, 1, 2, "wide")), "is not the shape"),
    ],
)
def test_a_record_of_another_form_is_refused(record, words):
    with pytest.raises(CorruptModelError, match=words):
        parts_of(record)
        result_of(record, (0, 1, 2), PLACES)


@pytest.mark.parametrize("place", range(3))
def test_tensors_of_another_rank_or_dtype_are_refused(place):
    record = StructValue(SPARSE, "SparseTensor", FIELDS, (0, 1, 2, (3, None)))
    assert isinstance(result_of(record, (0, 1, 2), PLACES), gd.SparseTensor)
    other = [*PLACES]
    other[place] = gd.TensorSpec([1, 2, 3], gd.int64)
    with pytest.raises(CorruptModelError, match=FIELDS[place]):
        result_of(record, (0, 1, 2), other)
    if FIELDS[place] != "values":
        other[place] = gd.TensorSpec(PLACES[place].shape, gd.float32)
        with pytest.raises(CorruptModelError, match=FIELDS[place]):
            result_of(record, (0, 1, 2), other)
