"""Data sets give the elements that are asked for, in order, each time anew; what they cannot do they refuse."""

import collections
import dataclasses
import itertools

import numpy as np
import pytest

import graphad as tf

Dataset = tf.data.Dataset


def listed(dataset):
    return [tf.nest.map_structure(lambda t: t.numpy().tolist(), element) for element in dataset]


def test_slices_of_a_nest_go_together():
    x, y = np.arange(6.0, dtype=np.float32).reshape(3, 2), [1, 2, 3]
    dataset = Dataset.from_tensor_slices({"x": x, "y": (tf.constant(y), tf.Variable(y))})
    assert listed(dataset)[1] == {"x": [2.0, 3.0], "y": (2, 2)}
    assert len(dataset) == int(dataset.cardinality()) == 3
    assert dataset.element_spec["x"] == tf.TensorSpec((2,), tf.float32)
    assert listed(Dataset.from_tensors({"x": x})) == [{"x": x.tolist()}]
    point = collections.namedtuple("point", "a b")
    assert listed(Dataset.from_tensor_slices(point([1], [2]))) == [point(1, 2)]


@pytest.mark.parametrize("drop", [False, True])
def test_a_batch_is_stacked_and_the_last_may_be_smaller(drop):
    dataset = Dataset.from_tensor_slices((np.ones((5, 2), np.float32), range(5))).batch(
        2, drop_remainder=drop
    )
    assert [x.shape[0] for x, _ in dataset] == ([2, 2] if drop else [2, 2, 1])
    assert len(dataset) == (2 if drop else 3)
    assert dataset.element_spec[0] == tf.TensorSpec((2 if drop else None, 2), tf.float32)
    assert listed(dataset.unbatch().map(lambda x, i: i)) == list(range(4 if drop else 5))


def test_functions_see_tensors_and_their_results_have_a_spec():
    dataset = Dataset.from_tensor_slices(([1.0, 2.0], [3, 4])).map(lambda x, n: {"s": x * 2.0, "n": [n, n]})
    assert listed(dataset) == [{"s": 2.0, "n": [3, 3]}, {"s": 4.0, "n": [4, 4]}]
    assert Dataset.range(3).map(lambda i: (i, i + 1)).element_spec == (tf.TensorSpec((), tf.int64),) * 2
    assert listed(Dataset.range(10).filter(lambda i: i % 3 == 0)) == [0, 3, 6, 9]
    assert listed(Dataset.range(10).take_while(lambda i: i < 3)) == [0, 1, 2]
    assert listed(Dataset.range(3).flat_map(Dataset.range)) == [0, 0, 1]
    assert int(Dataset.range(5).reduce(tf.constant(0, tf.int64), lambda total, i: total + i)) == 10


def test_counts_order_and_repetition():
    five = Dataset.range(5)
    assert listed(five.repeat(2).skip(3).take(4)) == [3, 4, 0, 1]
    assert len(five.repeat(2).skip(3).take(4)) == 4
    assert listed(Dataset.range(1, 9, 3).concatenate(five.take(1))) == [1, 4, 7, 0]
    assert listed(five.shard(2, 1)) == [1, 3]
    assert listed(five.skip(-1)) == [] and listed(five.take(-1)) == [0, 1, 2, 3, 4]
    assert listed(Dataset.zip((five, Dataset.range(7, 9)))) == [(0, 7), (1, 8)]
    assert listed(Dataset.zip(five, five.enumerate(2)).take(1)) == [(0, (2, 0))]
    assert int(five.repeat().cardinality()) == tf.data.INFINITE_CARDINALITY
    assert int(tf.data.experimental.cardinality(five.filter(bool))) == tf.data.UNKNOWN_CARDINALITY
    assert listed(five.prefetch(tf.data.AUTOTUNE).apply(lambda dataset: dataset.batch(3))) == [
        [0, 1, 2],
        [3, 4],
    ]
    assert listed(Dataset.range(0).repeat()) == []
    assert five and int(five.take(1).get_single_element()) == 0


def test_shuffled_elements_are_the_same_ones_in_an_order_of_the_seed():
    dataset = Dataset.range(20).shuffle(6, seed=3)
    first, second = listed(dataset), listed(dataset)
    assert sorted(first) == list(range(20)) and first != second
    assert first == listed(Dataset.range(20).shuffle(6, seed=3))
    assert max(first[:1]) < 6  # it is drawn from the first six
    kept = Dataset.range(20).shuffle(6, seed=3, reshuffle_each_iteration=False)
    assert listed(kept) == listed(kept)
    tf.random.set_seed(5)
    by_global = listed(Dataset.range(20).shuffle(20))
    tf.random.set_seed(5)
    assert listed(Dataset.range(20).shuffle(20)) == by_global


def test_a_cache_runs_what_is_before_it_once():
    calls = []
    dataset = Dataset.range(3).map(lambda i: calls.append(1) or i).cache()
    next(iter(dataset))
    assert listed(dataset) == listed(dataset) == [0, 1, 2]
    assert len(calls) == 1 + 3


def test_dataclasses_with_plain_fields_are_padded():
    @dataclasses.dataclass
    class Row:
        values: tf.Tensor
        number: tf.Tensor
        label: str = "a"

    rows = Dataset.range(2).map(lambda n: Row(tf.ones([n + 1], tf.int32), n))
    for given, expected in (
        ({}, [[1, 0], [1, 1]]),
        ({"padded_shapes": ([3], [])}, [[1, 0, 0], [1, 1, 0]]),
        ({"padding_values": (7, None)}, [[1, 7], [1, 1]]),
    ):
        (batch,) = rows.padded_batch(2, **given)
        assert batch.values.numpy().tolist() == expected
        assert batch.number.numpy().tolist() == [0, 1] and batch.label == "a"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"padded_batch: .* has another structure"):
        next(iter(rows.padded_batch(2, padded_shapes=([3], [], []))))


def test_padded_batches_tell_the_sizes_that_are_known():
    rows = Dataset.range(5).map(lambda n: tf.fill([n], n))
    for shape in (5, [5], (5,), tf.TensorShape([5]), np.array([5])):
        batches = rows.padded_batch(4, padded_shapes=shape)
        assert listed(batches)[1] == [[4, 4, 4, 4, 0]]
        assert batches.element_spec == tf.TensorSpec([None, 5], tf.int64)
    assert rows.padded_batch(4, 5, drop_remainder=True).element_spec.shape == (4, 5)
    pairs = Dataset.zip(rows, rows.map(lambda _: tf.ones([3, 2])))
    for shapes, expected in (
        (None, [[None, None], [None, 3, 2]]),
        ((5, [4, None]), [[None, 5], [None, 4, None]]),
        (([None], [-1, 2]), [[None, None], [None, None, 2]]),
    ):
        assert [spec.shape.as_list() for spec in pairs.padded_batch(2, shapes).element_spec] == expected
    for wrong, message in (
        (2, r"has shape \(3,\), padded_shapes says \(2,\)"),
        ([2, 5], "as many sizes are needed"),
        (-1, "size -1 is negative"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            list(rows.padded_batch(4, wrong))


def test_data_sets_of_other_elements_are_not_joined():
    class Row(tf.experimental.ExtensionType):
        x: tf.Tensor
        label: int = 3

    numbers = Dataset.range(4)
    first = Dataset.from_tensors(Row(tf.ones(2), 3))
    for one, other in (
        (first, Dataset.from_tensors(Row(tf.ones(2), 4))),
        (numbers, Dataset.range(3, output_type=tf.int32)),
        (numbers, Dataset.zip(numbers, numbers)),
        (Dataset.from_tensors({"a": 1}), Dataset.from_tensors({"b": 1})),
    ):
        for joined in (
            one.concatenate(other),
            Dataset.choose_from_datasets([one, other], Dataset.range(2)),
            Dataset.sample_from_datasets([one, other]),
        ):
            with pytest.raises(TypeError, match="differ in structure, dtype or plain fields"):
                list(joined)
            with pytest.raises(TypeError, match="differ in structure, dtype or plain fields"):
                joined.element_spec
    joined = first.concatenate(Dataset.from_tensors(Row(tf.ones(3), 3)))
    assert len(list(joined)) == 2 and joined.element_spec.x.shape.as_list() == [None]
    assert numbers.batch(4, True).concatenate(numbers.batch(2)).element_spec.shape.as_list() == [None]


def test_a_data_set_of_a_traced_tensor_refuses_what_a_graph_does_not_take():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="filter: the data set is of tensors that the function"
    ):
        tf.function(lambda x: Dataset.from_tensor_slices(x).filter(lambda e: e > 0))(tf.ones(2))


def test_generators_are_checked_against_their_signature():
    def rows():
        for n in range(1, 3):
            yield n, [0.5] * n

    signature = (tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32))
    dataset = Dataset.from_generator(rows, output_signature=signature)
    assert listed(dataset) == listed(dataset) == [(1, [0.5]), (2, [0.5, 0.5])]
    assert listed(dataset.padded_batch(2)) == [([1, 2], [[0.5, 0.0], [0.5, 0.5]])]
    sizes = dataset.map(lambda n, row: row).padded_batch(2, padded_shapes=[3], padding_values=9.0)
    assert listed(sizes) == [[[0.5, 9.0, 9.0], [0.5, 0.5, 9.0]]]
    typed = Dataset.from_generator(rows, output_types=(tf.int64, tf.float64), output_shapes=((), (None,)))
    assert next(iter(typed))[1].dtype == tf.float64
    wrong = Dataset.from_generator(rows, output_signature=(signature[0], tf.TensorSpec((1,), tf.float32)))
    with pytest.raises(
        ValueError, match=r"from_generator: an element has shape \(2,\), the signature says \(1,\)"
    ):
        list(wrong)


def test_iterators_end():
    elements = iter(Dataset.range(1))
    assert int(elements.get_next()) == 0
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        elements.get_next()
    assert list(Dataset.range(2).as_numpy_iterator()) == [0, 1]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: Dataset.from_tensor_slices(3.0),
            "from_tensor_slices: a scalar has no slices; use from_tensors",
        ),
        (
            lambda: Dataset.from_tensor_slices(([1], [1, 2])),
            "the first axes have sizes 1, 2; they must be equal",
        ),
        (lambda: Dataset.range(3).batch(0), "batch: batch_size is 0; it must be positive"),
        (lambda: Dataset.range(3).shuffle(0), "shuffle: buffer_size is 0; it must be positive"),
        (lambda: Dataset.range(3).shard(2, 2), "shard: index is 2; 0 <= index < num_shards, which is 2"),
        (lambda: len(Dataset.range(3).repeat()), "the number of elements is infinite"),
        (lambda: len(Dataset.range(3).filter(bool)), "the number of elements is not known"),
        (lambda: Dataset.from_generator(3), "generator must be callable"),
        (lambda: Dataset.from_generator(list), "output_signature or output_types must be given"),
        (lambda: Dataset.range(2).cache("file"), "elements are kept in memory only"),
        (lambda: Dataset.range(2).get_single_element(), "there is more than one element"),
        (
            lambda: list(Dataset.range(1, 3).map(lambda n: tf.ones(n)).batch(2)),
            r"batch: the elements have shapes \(1,\) and \(2,\); padded_batch fills up the smaller ones",
        ),
    ],
)
def test_what_cannot_be_is_refused(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use()


SCALAR = tf.TensorSpec([], tf.int32)


@pytest.mark.parametrize(
    ("signature", "item"),
    [
        ((SCALAR, SCALAR), 3),
        ((SCALAR, SCALAR), (1, 2, 3)),
        ({"a": SCALAR}, {"b": 1}),
        ({"a": (SCALAR,)}, {"a": 1}),
    ],
)
def test_an_element_of_another_structure_than_the_signature_is_refused(signature, item):
    dataset = Dataset.from_generator(lambda: iter([item]), output_signature=signature)
    with pytest.raises(ValueError, match=r"from_generator: an element is .*, the signature is"):
        list(dataset)


def test_a_list_that_a_function_returns_is_a_tuple_and_a_list_inside_one_tensor():
    spec = tf.TensorSpec((), tf.int64)
    pairs = Dataset.range(2).map(lambda n: [n, n + 1])
    assert pairs.element_spec == (spec, spec)
    assert listed(pairs.map(lambda n, m: 10 * n + m)) == [1, 12]
    halves = Dataset.range(2).map(lambda n: tf.py_function(lambda m: [m, m / 2], [n], [tf.int64, tf.float64]))
    assert listed(halves) == [(0, 0.0), (1, 0.5)]
    inside = Dataset.range(2).map(lambda n: {"a": [n, n], "b": ([n],)})
    assert inside.element_spec == {"a": tf.TensorSpec((2,), tf.int64), "b": (tf.TensorSpec((1,), tf.int64),)}
    assert listed(inside)[1] == {"a": [1, 1], "b": ([1],)}
    again = Dataset.range(2).map(lambda n: [[n] * 2]).flat_map(Dataset.from_tensor_slices)
    assert listed(again) == [0, 0, 1, 1]


def test_lists_that_steps_return_are_tuples():
    begin = (np.int64(0), np.int64(1))
    total, last = Dataset.range(4).reduce(begin, lambda state, n: [state[0] + n, n])
    assert (int(total), int(last)) == (6, 3)
    steps = Dataset.range(3).scan(np.int64(0), lambda state, n: [state + n, [state, n]])
    assert steps.element_spec == tf.TensorSpec((2,), tf.int64)
    assert listed(steps) == [[0, 0], [0, 1], [1, 2]]


def test_a_list_of_arrays_keeps_their_dtype():
    small = [np.array([1], np.int16), np.array([2], np.int16)]
    assert Dataset.from_tensor_slices(small).element_spec == tf.TensorSpec((1,), tf.int16)
    assert Dataset.from_tensors({"a": [np.array(3), np.array(4)]}).element_spec["a"].dtype == tf.int64
    assert Dataset.from_tensor_slices([np.int64(1), 2]).element_spec.dtype == tf.int32


def test_functions_may_change_the_dicts_that_they_are_given():
    def without(features, n):
        features["twice"] = 2 * features.pop("x")
        return features, n

    dataset = Dataset.from_tensor_slices(({"x": [1, 2]}, [3, 4])).map(without)
    assert dataset.element_spec == ({"twice": tf.TensorSpec((), tf.int32)}, tf.TensorSpec((), tf.int32))
    assert listed(dataset) == [({"twice": 2}, 3), ({"twice": 4}, 4)]


def test_none_is_a_part_of_an_element_without_tensors():
    numbers = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
    pairs = numbers.map(lambda x: (x, {"none": None})).shuffle(2).repeat(2).batch(4)
    (x, rest), *more = list(pairs)
    assert sorted(x.numpy().tolist()) == [1.0, 1.0, 2.0, 2.0] and rest == {"none": None} and not more
    assert pairs.element_spec[1] == {"none": None}
    assert [
        b for _, b in tf.data.Dataset.from_tensors((3.0, None)).concatenate(numbers.map(lambda x: (x, None)))
    ] == [None] * 3

    @tf.function
    def total():
        s = 0.0
        for x, nothing in numbers.map(lambda x: (x, None)):
            s += x if nothing is None else -x
        return s

    assert total().numpy() == 3.0
    with pytest.raises(TypeError, match="an element is None, as a function without `return` gives it"):
        list(numbers.map(lambda x: None))


def test_a_range_needs_a_step():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Dataset.range: the step is 0"):
        tf.data.Dataset.range(0, 5, 0)


def test_arrays_of_elements_are_read_only():
    """Who wrote into one used to change the elements of later iterations."""
    for numbers in (
        Dataset.from_tensors([1, 2, 3]),
        Dataset.from_tensor_slices([[1, 2, 3]]),
        Dataset.range(1, 4).batch(3).cache(),
    ):
        found = next(numbers.as_numpy_iterator())
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 7
        assert next(iter(numbers)).numpy().tolist() == [1, 2, 3]


def test_all_elements_are_kept_once_all_were_taken():
    """The end of the iteration need not be asked for."""
    numbers = Dataset.range(10).shuffle(10, reshuffle_each_iteration=True).cache()
    first = [int(x) for x in itertools.islice(numbers, 10)]
    assert [int(x) for x in numbers] == first
    part = Dataset.range(10).shuffle(10, seed=1).cache()
    next(iter(part))
    assert sorted(int(x) for x in part) == list(range(10))


@pytest.mark.parametrize("wrong", [lambda x: x, lambda x: [x > 0], lambda x: 1.0, lambda x: 1])
@pytest.mark.parametrize("method", ["filter", "take_while"])
def test_a_predicate_gives_a_truth_value(method, wrong):
    with pytest.raises(
        ValueError, match=rf"^{method}: the predicate must return a bool scalar; it gave one of"
    ):
        list(getattr(Dataset.range(2), method)(wrong))
    for right in (lambda x: x < 1, lambda x: bool(x < 1), lambda x: np.bool_(int(x) < 1)):
        assert listed(getattr(Dataset.range(2), method)(right)) == [0]


def test_a_state_keeps_its_structure_and_dtypes():
    for call in (
        lambda: Dataset.range(2).reduce(0, lambda state, _: 1.0),
        lambda: Dataset.range(2).reduce((0, 0), lambda state, _: 1),
        lambda: list(Dataset.range(2).scan(0, lambda state, x: (1.0, x))),
        lambda: Dataset.range(3).reduce(0, lambda state, x: 1 if x < 2 else 1.0),
    ):
        with pytest.raises(
            TypeError, match="the new state must match the initial state in structure and dtype"
        ):
            call()
    with pytest.raises(TypeError, match="scan: the function must return a pair"):
        list(Dataset.range(2).scan(0, lambda state, x: x))
    grown = Dataset.range(3).reduce(tf.zeros([0], tf.int64), lambda state, x: tf.concat([state, [x]], 0))
    assert grown.numpy().tolist() == [0, 1, 2]


def test_parts_of_a_zip_and_choices_are_data_sets():
    two = [Dataset.range(2), Dataset.range(2)]
    for call, words in (
        (lambda: Dataset.zip(Dataset.range(2), 3), "zip: 3 is no Dataset"),
        (lambda: Dataset.choose_from_datasets(two, None), "choice_dataset is None, of type NoneType"),
        (
            lambda: list(Dataset.choose_from_datasets(two, Dataset.from_tensors(0.5))),
            "must have scalar integers, as tf.int64",
        ),
        (
            lambda: list(Dataset.choose_from_datasets(two, Dataset.range(1).batch(1))),
            "must have scalar integers, as tf.int64",
        ),
    ):
        with pytest.raises(TypeError, match=words):
            call()


def test_groups_of_infinitely_many_elements_have_no_end():
    groups = Dataset.range(3).repeat().group_by_window(lambda x: x % 2, lambda key, rows: rows.batch(2), 2)
    assert int(groups.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_a_buffer_of_unknown_size_holds_all_elements():
    numbers = Dataset.range(40).filter(lambda x: x < 30)
    for size in (tf.data.UNKNOWN_CARDINALITY, tf.constant(-2, tf.int64)):
        found = listed(numbers.shuffle(size, seed=1))
        assert found != sorted(found) == list(range(30))
        assert found == listed(numbers.shuffle(30, seed=1))
    for wrong in (-1, -3, 0):
        with pytest.raises(ValueError, match="it must be positive"):
            numbers.shuffle(wrong)


def test_a_method_that_data_sets_do_not_have_says_what_to_use() -> None:
    with pytest.raises(
        AttributeError, match=r"^graphad.data.Dataset.list_files: not part of graphad; .*glob"
    ):
        tf.data.Dataset.list_files("*.npy")
    with pytest.raises(AttributeError, match=r"Dataset.save: not part of graphad; .* in a file"):
        tf.data.Dataset.range(3).save("here")
    with pytest.raises(AttributeError, match=r"Dataset.ragged_batch: .*use padded_batch"):
        tf.data.Dataset.range(3).ragged_batch(2)
    with pytest.raises(AttributeError, match=r"Dataset.shufle: .*the nearest name is shuffle"):
        tf.data.Dataset.range(3).shufle(2)
    assert not hasattr(tf.data.Dataset.range(3), "__array__")
