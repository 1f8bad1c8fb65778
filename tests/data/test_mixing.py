"""Windows, groups and mixtures of data sets; the orders are those that TensorFlow 2.21 gave."""

import numpy as np
import pytest

import graphad as tf

Dataset = tf.data.Dataset
TEN = Dataset.range(10)


def listed(dataset):
    return [tf.nest.map_structure(lambda t: t.numpy().tolist(), element) for element in dataset]


@pytest.mark.parametrize(
    ("arguments", "expected", "drops"),
    [
        ({"size": 4}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], 2),
        ({"size": 3, "shift": 4, "stride": 2}, [[0, 2, 4], [4, 6, 8], [8]], 2),
        ({"size": 2, "shift": 7}, [[0, 1], [7, 8]], 2),
        ({"size": 2, "shift": 11}, [[0, 1]], 1),
        ({"size": 9, "shift": 8, "stride": 1}, [[*range(9)], [8, 9]], 1),
    ],
)
def test_windows_begin_a_shift_apart(arguments, expected, drops):
    windows = TEN.window(**arguments)
    assert [list(window.as_numpy_iterator()) for window in windows] == expected
    assert len(windows) == len(expected)
    whole = TEN.window(**arguments, drop_remainder=True)
    assert [list(window.as_numpy_iterator()) for window in whole] == expected[:drops] and len(whole) == drops


def test_a_window_has_a_data_set_for_each_tensor():
    windows = Dataset.range(5).map(lambda x: {"a": x, "b": (x + 1, x * 2)}).window(2)
    first = next(iter(windows))
    assert listed(first["a"]) == [0, 1] and listed(first["b"][1]) == [0, 2]
    assert windows.element_spec["b"][0] == tf.data.DatasetSpec(tf.TensorSpec((), tf.int64))
    joined = windows.flat_map(lambda parts: Dataset.zip((parts["a"], parts["b"][0])).batch(2))
    assert listed(joined)[-1] == ([4], [5]) and joined.element_spec[0] == tf.TensorSpec((None,), tf.int64)
    sums = TEN.window(5).map(lambda window: window.reduce(tf.constant(0, tf.int64), lambda s, x: s + x))
    assert listed(sums) == [10, 35] and sums.element_spec == tf.TensorSpec((), tf.int64)

    @tf.function
    def total(elements):
        y = 0
        for _ in elements:
            y += 1
        return y

    with pytest.raises(ValueError, match="windows, which a traced function cannot take; make tensors"):
        total(windows)


def test_data_sets_are_read_in_turn():
    repeated = Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4
    )
    assert "".join(map(str, listed(repeated))) == "111122221122333344443344555555"
    growing = Dataset.range(1, 6).interleave(Dataset.range, cycle_length=3)
    assert "".join(map(str, listed(growing))) == "000110210213234"
    assert sorted(listed(Dataset.range(4).interleave(Dataset.range))) == [0, 0, 0, 1, 1, 2]
    assert growing.element_spec == tf.TensorSpec((), tf.int64)
    with pytest.raises(ValueError, match="interleave: cycle_length is 0; it must be positive"):
        TEN.interleave(Dataset.range, cycle_length=0)


def test_a_data_set_chooses_among_others():
    parts = [Dataset.from_tensors(i).repeat(2) for i in range(3)]
    order = Dataset.from_tensor_slices(np.array([0, 1, 2, 0, 0, 1, 2]))
    assert listed(Dataset.choose_from_datasets(parts, order)) == [0, 1, 2, 0]
    goes_on = Dataset.choose_from_datasets(parts, order, stop_on_empty_dataset=False)
    assert listed(goes_on) == [0, 1, 2, 0, 1, 2] == listed(goes_on)
    with pytest.raises(ValueError, match="a choice is 5, out of range; there are 3 data sets"):
        listed(Dataset.choose_from_datasets(parts, Dataset.from_tensors(5)))
    with pytest.raises(ValueError, match="there is no data set"):
        Dataset.choose_from_datasets([], order)


def test_data_sets_are_drawn_by_their_weights():
    zeros, ones = Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()
    drawn = Dataset.sample_from_datasets([zeros, ones], weights=[0.2, 0.8], seed=3).take(2000)
    assert 0.76 < np.mean(listed(drawn)) < 0.84
    assert listed(drawn) == listed(drawn)
    both = Dataset.sample_from_datasets([Dataset.range(3), Dataset.range(5, 9)], seed=1)
    assert sorted(listed(both)) == [0, 1, 2, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="weights are"):
        Dataset.sample_from_datasets([zeros, ones], weights=[1.0, -1.0])


def test_elements_of_one_key_come_together():
    groups = TEN.group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), window_size=3)
    assert listed(groups) == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
    sized = TEN.group_by_window(
        lambda x: x % 2,
        lambda key, group: group.map(lambda x: (key, x)),
        window_size_func=lambda key: key + 1,
    )
    assert listed(sized)[:4] == [(0, 0), (0, 2), (1, 1), (1, 3)]
    assert sized.element_spec == (tf.TensorSpec((), tf.int64),) * 2
    with pytest.raises(ValueError, match="only one of them"):
        TEN.group_by_window(lambda x: x, lambda key, group: group)


def test_batches_of_similar_lengths():
    rows = Dataset.from_generator(
        lambda: ([1] * n for n in range(1, 8)), output_signature=tf.TensorSpec([None], tf.int64)
    )
    lengths = {"element_length_func": lambda x: tf.shape(x)[0]}
    close = rows.bucket_by_sequence_length(bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2, 2], **lengths)
    assert [x.shape.as_list() for x in close] == [[2, 2], [2, 4], [2, 6], [1, 7]]
    up = rows.bucket_by_sequence_length(
        bucket_boundaries=[3, 5, 8], bucket_batch_sizes=[2] * 4, pad_to_bucket_boundary=True, **lengths
    )
    assert [x.shape.as_list() for x in up] == [[2, 2], [2, 4], [2, 7], [1, 7]]
    with pytest.raises(ValueError, match="2 batch sizes for 2 boundaries"):
        rows.bucket_by_sequence_length(bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2], **lengths)


def test_states_repeats_and_counters():
    assert listed(TEN.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s * x))) == [
        0, 0, 2, 9, 24, 50, 90, 147, 224, 324,
    ]  # fmt: skip
    assert TEN.scan(tf.constant(0, tf.int64), lambda s, x: (s, (x, 1.0))).element_spec[1].dtype == tf.float32
    assert listed(Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()) == [1, 37, 2]
    assert listed(TEN.batch(4).rebatch(3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert listed(TEN.batch(4).rebatch([1, 2])) == [[0], [1, 2], [3], [4, 5], [6], [7, 8], [9]]
    assert listed(TEN.batch(4).rebatch(3, drop_remainder=True)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert listed(Dataset.counter(2, 3).take(3)) == [2, 5, 8]
    assert Dataset.counter(0.5, dtype=tf.float32).element_spec == tf.TensorSpec((), tf.float32)
    random = Dataset.random(seed=4).take(3)
    assert listed(random) == listed(random) != listed(Dataset.random(seed=5).take(3))


def test_an_iterator_may_have_no_more():
    elements = iter(Dataset.range(2))
    found = [elements.get_next_as_optional() for _ in range(3)]
    assert [bool(one.has_value()) for one in found] == [True, True, False]
    assert int(found[1].get_value()) == 1 and found[0].element_spec == tf.TensorSpec((), tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no element; ask has_value"):
        found[2].get_value()

    @tf.function
    def total(elements):
        y = tf.constant(0, tf.int64)
        while True:
            found = elements.get_next_as_optional()
            if not found.has_value():
                break
            y += found.get_value()
        return y

    assert int(total(iter(Dataset.range(5)))) == 10 and int(total(iter(Dataset.range(0)))) == 0


def test_what_cannot_be_computed_is_left_out():
    rows = Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0]).map(
        lambda x: tf.debugging.check_numerics(1.0 / x, "")
    )
    assert [float(x) for x in rows.ignore_errors()] == [1.0, 0.5, 0.25]
    assert [float(x) for x in rows.apply(tf.data.experimental.ignore_errors())] == [1.0, 0.5, 0.25]
    assert [x.numpy().tolist() for x in rows.batch(2).ignore_errors()] == [[1.0, 0.5], [0.25]]
    assert rows.ignore_errors().element_spec == tf.TensorSpec([], tf.float32)
    with pytest.raises(ZeroDivisionError):  # a mistake of the program is no such error
        list(Dataset.range(1).map(lambda x: 1 / int(0 * x)).ignore_errors())


def test_classes_get_the_shares_that_are_asked_for():
    numbers = np.random.default_rng(0).choice(2, 2000, p=[0.8, 0.2])
    for initial in ([0.8, 0.2], None):
        found = Dataset.from_tensor_slices(numbers).rejection_resample(
            lambda x: x, [0.5, 0.5], initial, seed=1
        )
        kinds = [(int(kind), int(x)) for kind, x in found]
        assert all(kind == x for kind, x in kinds)
        assert 600 < len(kinds) < 1000 and abs(np.mean(kinds) - 0.5) < 0.06
    assert found.element_spec == (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.int64))
    for wrong, message in (([0.5, 0.5], "has class 2"), ([1.0], "has class 1")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            list(Dataset.range(3).rejection_resample(lambda x: x, wrong))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"initial_dist \(1,\)"):
        Dataset.range(3).rejection_resample(lambda x: x, [0.5, 0.5], [1.0])


def test_a_checkpoint_keeps_how_far_an_iterator_has_gone(tmp_path):
    numbers = Dataset.range(10).map(lambda x: x * 2)
    elements = iter(numbers)
    checkpoint = tf.train.Checkpoint(elements=elements)
    assert [int(elements.next()) for _ in range(2)] == [0, 2]
    path = checkpoint.save(tmp_path / "of")
    assert int(next(elements)) == 4
    checkpoint.restore(path).assert_consumed()
    assert int(next(elements)) == 4
    other = iter(numbers)
    tf.train.Checkpoint(elements=other).restore(path).expect_partial()
    assert int(tf.function(lambda elements: next(elements))(other)) == 4
    assert [int(x) for x in other] == [6, 8, 10, 12, 14, 16, 18]


def test_values_that_may_be_missing():
    some = tf.experimental.Optional.from_value({"a": [1.0, 2.0]})
    none = tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32))
    assert bool(some.has_value()) and some.get_value()["a"].numpy().tolist() == [1.0, 2.0]
    assert some.element_spec == {"a": tf.TensorSpec([2], tf.float32)}
    assert not none.has_value() and none.element_spec == tf.TensorSpec([], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no value"):
        none.get_value()


def test_structures_are_told_of_data_sets_and_their_iterators():
    numbers = Dataset.range(3)
    for x in (numbers, iter(numbers)):
        assert tf.data.experimental.get_structure(x) == tf.TensorSpec([], tf.int64)
    with pytest.raises(TypeError, match="neither a data set"):
        tf.data.experimental.get_structure([1])
    spec = tf.data.DatasetSpec.from_value(numbers)
    assert spec == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)) and spec.is_compatible_with(numbers)
    assert not spec.is_compatible_with(Dataset.zip(numbers, numbers))
    assert isinstance(spec, tf.TypeSpec) and spec.value_type is Dataset


def test_older_functions_are_for_apply():
    e = tf.data.experimental
    for function, expected in (
        (e.enumerate_dataset(3), [(3 + i, i) for i in range(10)]),
        (e.take_while(lambda i: i < 3), [0, 1, 2]),
        (e.scan(tf.constant(0, tf.int64), lambda s, i: (s + i, s)), [0, 0, 1, 3, 6, 10, 15, 21, 28, 36]),
        (e.map_and_batch(lambda i: -i, 4, drop_remainder=True), [[0, -1, -2, -3], [-4, -5, -6, -7]]),
        (
            e.group_by_window(lambda i: i % 2, lambda _, rows: rows.batch(9), 9),
            [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]],
        ),
        (e.parallel_interleave(lambda i: Dataset.from_tensors(i), 2), list(range(10))),
        (e.assert_cardinality(10), list(range(10))),
    ):
        assert listed(TEN.apply(function)) == expected
    assert sorted(listed(TEN.apply(e.shuffle_and_repeat(10, 2)))) == sorted([*range(10), *range(10)])
    assert listed(TEN.batch(3).apply(e.unbatch())) == list(range(10))
    assert listed(TEN.map(lambda i: i // 4).apply(e.unique())) == [0, 1, 2]
    rows = TEN.map(lambda i: tf.fill([i % 4], i)).apply(e.bucket_by_sequence_length(tf.size, [2], [5, 5]))
    assert [row.shape.as_list() for row in rows] == [[5, 1], [1, 1], [4, 3]]
    assert listed(e.Counter(2, 3, tf.int32).take(2)) == [2, 5]
    assert len(listed(e.RandomDataset(1).take(2))) == 2
    assert listed(
        e.choose_from_datasets([TEN.take(1), TEN], Dataset.from_tensor_slices(np.array([0, 0, 1])))
    ) == [0, 0]
    assert sorted(listed(e.sample_from_datasets([TEN, TEN], seed=1))) == sorted([*range(10), *range(10)])
    assert listed(e.from_list([(1, 0.5), (2, 1.5)])) == [(1, 0.5), (2, 1.5)]
    assert int(e.get_single_element(TEN.take(1))) == 0 and bool(e.get_next_as_optional(iter(TEN)).has_value())
    for count in (9, 11):
        with pytest.raises(tf.errors.FailedPreconditionError, match=f"{count} elements were expected"):
            list(TEN.apply(e.assert_cardinality(count)))
    with pytest.raises(ValueError, match="there is no element"):
        e.from_list([])


def _reciprocals() -> Dataset:
    return Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0]).map(
        lambda x: tf.debugging.check_numerics(1.0 / x, "")
    )


@pytest.mark.parametrize(
    "stage, expected",
    [
        (lambda rows: rows.enumerate(), [(0, 1.0), (1, 0.5), (2, 0.25)]),
        (lambda rows: rows.repeat(2), [1.0, 0.5, 0.25] * 2),
        (lambda rows: rows.unique(), [1.0, 0.5, 0.25]),
        (lambda rows: rows.apply(tf.data.experimental.assert_cardinality(3)), [1.0, 0.5, 0.25]),
        (lambda rows: rows.apply(tf.data.experimental.assert_cardinality(2)), [1.0, 0.5]),
        (lambda rows: rows.apply(tf.data.experimental.assert_cardinality(4)), [1.0, 0.5, 0.25]),
        (
            lambda rows: Dataset.choose_from_datasets(
                [Dataset.range(9)], rows.map(lambda x: tf.cast(x - x, tf.int64))
            ),
            [0, 1, 2],
        ),
        (lambda rows: rows.take(3), [1.0, 0.5, 0.25]),
        (lambda rows: rows.take(2), [1.0, 0.5]),
        (lambda rows: rows.skip(1), [0.5, 0.25]),
        (lambda rows: rows.skip(3), []),
        (lambda rows: rows.shard(2, 0), [1.0, 0.25]),
        (lambda rows: rows.shard(2, 1), [0.5]),
        (lambda rows: rows.cache(), [1.0, 0.5, 0.25]),
        (lambda rows: rows.scan(0.0, lambda s, x: (s + x, s + x)), [1.0, 1.5, 1.75]),
        (lambda rows: rows.concatenate(Dataset.from_tensors(7.0)), [1.0, 0.5, 0.25, 7.0]),
        (lambda rows: Dataset.from_tensors(7.0).concatenate(rows), [7.0, 1.0, 0.5, 0.25]),
        (
            lambda rows: rows.flat_map(lambda x: Dataset.from_tensors(x).repeat(2)),
            [1, 1, 0.5, 0.5, 0.25, 0.25],
        ),
        (lambda rows: Dataset.range(2).flat_map(lambda _: rows), [1.0, 0.5, 0.25] * 2),
        (lambda rows: rows.interleave(Dataset.from_tensors, 2), [1.0, 0.5, 0.25]),
        (lambda rows: Dataset.range(2).interleave(lambda _: rows, 2, 2), [1, 0.5, 1, 0.5, 0.25, 0.25]),
        (lambda rows: rows.batch(1).unbatch(), [1.0, 0.5, 0.25]),
        (lambda rows: rows.batch(1).rebatch(1), [[1.0], [0.5], [0.25]]),
        (lambda rows: rows.window(2).flat_map(lambda x: x), [1.0, 0.5, 0.25]),
        (lambda rows: rows.window(1, 2).flat_map(lambda x: x), [1.0, 0.25]),
        (
            lambda rows: rows.group_by_window(lambda x: tf.constant(0), lambda _, group: group.batch(2), 2),
            [[1.0, 0.5], [0.25]],
        ),
        (
            lambda rows: Dataset.choose_from_datasets(
                [rows, Dataset.range(9).map(float)], Dataset.from_tensor_slices([0, 1, 0, 0, 1, 0])
            ),
            [1.0, 0.0, 0.5, 1.0, 0.25],
        ),
        (
            lambda rows: Dataset.zip((rows, Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0]))),
            [(1.0, 1.0), (0.5, 2.0), (0.25, 4.0)],
        ),
    ],
)
def test_no_stage_ends_a_data_set_at_an_element_that_cannot_be_computed(stage, expected):
    found = [
        tf.nest.map_structure(lambda x: x.numpy().tolist(), x) for x in stage(_reciprocals()).ignore_errors()
    ]
    assert found == expected


def test_an_error_that_is_not_left_out_does_not_end_a_data_set():
    def refuse(x):
        if int(x) == 1:
            raise ValueError("one")
        return x

    elements = iter(Dataset.range(3).map(refuse).ignore_errors())
    assert int(next(elements)) == 0
    with pytest.raises(ValueError, match="one"):
        next(elements)
    assert [int(x) for x in elements] == [2]


def test_a_shuffle_keeps_what_waits_when_an_element_fails():
    assert sorted(float(x) for x in _reciprocals().shuffle(2, seed=1).ignore_errors()) == [0.25, 0.5, 1.0]
    assert sorted(float(x) for x in _reciprocals().shuffle(9, seed=1).ignore_errors()) == [0.25, 0.5, 1.0]


def test_a_generator_goes_on_behind_an_element_that_does_not_fit():
    rows = iter(
        Dataset.from_generator(
            lambda: iter([[1, 1], [2, 2, 2], [3, 3]]), output_signature=tf.TensorSpec([2], tf.int64)
        )
    )
    assert next(rows).numpy().tolist() == [1, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"has shape \(3,\)"):
        next(rows)
    assert next(rows).numpy().tolist() == [3, 3]
    assert next(rows, None) is None


def test_a_function_that_asks_an_empty_iterator_does_not_end_the_data_set_in_silence():
    nothing = iter(())
    for rows in (
        Dataset.range(3).map(lambda x: next(nothing)),
        Dataset.range(3).scan(0, lambda s, x: next(nothing)),
        Dataset.range(3).group_by_window(lambda x: 0, lambda _, group: next(nothing), 2),
    ):
        with pytest.raises(tf.errors.OutOfRangeError, match="there is none"):
            next(rows._make())


def test_functions_that_must_return_a_data_set_are_told_so():
    for rows in (
        Dataset.range(3).flat_map(lambda x: [x]),
        Dataset.range(3).interleave(lambda x: [x]),
        Dataset.range(3).group_by_window(lambda x: 0, lambda _, group: [1], 2),
    ):
        with pytest.raises(TypeError, match="of type list; it must return a Dataset"):
            next(rows._make())
    with pytest.raises(TypeError, match="windows"):
        next(Dataset.range(3).window(2).as_numpy_iterator())


def test_interleave_counts_the_calls_in_parallel_where_no_cycle_is_given():
    rows = Dataset.from_tensor_slices([2, 3]).interleave(
        lambda x: Dataset.from_tensors(x).repeat(2), num_parallel_calls=1
    )
    assert [int(x) for x in rows] == [2, 2, 3, 3]


def test_parts_of_a_data_set_go_on_behind_an_error():
    """An element that fails is not counted, as in TensorFlow."""
    rows = Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0, 5.0]).map(
        lambda x: tf.debugging.check_numerics(1.0 / x, "one")
    )

    def drained(data):
        found, elements = [], iter(data)
        while True:
            try:
                found.append(round(1 / float(next(elements))))
            except StopIteration:
                return found
            except tf.errors.InvalidArgumentError:
                found.append(None)

    assert drained(rows.take(3)) == [1, 2, None, 4]
    assert drained(rows.take(2)) == [1, 2]
    assert drained(rows.skip(1)) == [2, None, 4, 5]
    assert drained(rows.skip(3)) == [None, 5]
    assert drained(rows.shard(2, 1)) == [2, None, 5]
    assert drained(rows.take(0)) == [] == drained(rows.skip(9).take(1))[1:]
