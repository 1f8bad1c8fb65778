"""`test.TestCase`: comparisons of tensors, arrays and nests."""

from __future__ import annotations

import os
import unittest

import numpy as np
import pytest

import graphad as tf

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def case():
    return tf.test.TestCase("assertAllClose")


def test_close_takes_tensors_arrays_and_nests(case):
    case.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-6])
    case.assertAllClose(
        {"a": (tf.constant([1.0, NAN]), 3), "b": [tf.Variable(2.0)]}, {"b": [2.0], "a": [[1.0, NAN], 3.0]}
    )
    case.assertAllClose([tf.constant([1.0]), tf.constant([2.0, 3.0])], ([1.0], np.array([2.0, 3.0])))
    case.assertAllClose([tf.constant(1.0), 2.0], np.array([1.0, 2.0]))
    case.assertAllClose(INF, tf.constant(INF))
    case.assertAllClose([1.0], [1.1], atol=0.2)
    case.assertAllCloseAccordingToType(tf.constant([1.0], tf.float16), [1.0005])
    case.assertAllCloseAccordingToType(tf.constant([1.0], tf.bfloat16), [1.008])


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            [1.0, 2.0, 3.0],
            [1.0, 2.5, 3.1],
            r"2 of 3 elements differ; the first at \(1,\): 2.0 and 2.5; the largest",
        ),
        ([1.0], [[1.0]], r"shapes differ: \(1,\) and \(1, 1\)"),
        ({"a": [1.0]}, {"b": [1.0]}, "other structures"),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 3.0]}, r"1 of 2 elements at \['a'\] differ"),
        ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 4.0]], r"elements at \[1\] differ"),
        ([[1.0], [2.0, 3.0]], [[1.0]], "other structures"),
        ([NAN], [1.0], "differ"),
        ([INF], [-INF], "differ"),
    ],
)
def test_what_is_not_close_is_named(case, a, b, words):
    with pytest.raises(AssertionError, match=words):
        case.assertAllClose(a, b)
    case.assertNotAllClose(a, b)


def test_half_precision_is_no_excuse_for_float32(case):
    with pytest.raises(AssertionError):
        case.assertAllCloseAccordingToType(tf.constant([1.0]), [1.0005])


def test_equal_elements(case):
    case.assertAllEqual(tf.constant([1, 2]), [1, 2])
    case.assertAllEqual([NAN, 1.0], tf.constant([NAN, 1.0]))
    case.assertAllEqual(tf.constant([True, False]), [True, False])
    case.assertAllEqual(["a", "b"], np.array(["a", "b"]))
    with pytest.raises(AssertionError, match=r"1 of 2 elements differ; the first at \(1,\): 2 and 3"):
        case.assertAllEqual([1, 2], [1, 3])
    with pytest.raises(AssertionError, match="all elements are the same"):
        case.assertNotAllEqual([1, 2], [1, 2])
    with pytest.raises(AssertionError, match="all elements are close"):
        case.assertNotAllClose([1.0], [1.0])


def test_nan_is_as_nan_in_16_bits_too(case):
    for dtype in (tf.bfloat16, tf.float16):
        x = tf.constant([NAN, INF, 1.0], dtype)
        case.assertAllEqual(x, tf.identity(x))
        with pytest.raises(AssertionError, match="1 of 3 elements differ"):
            case.assertAllEqual(x, tf.constant([NAN, INF, NAN], dtype))


def test_bounds_of_all_elements(case):
    x = tf.constant([1.0, 2.0])
    case.assertAllGreater(x, 0)
    case.assertAllLess(x, 3)
    case.assertAllGreaterEqual(x, 1)
    case.assertAllLessEqual(x, 2)
    case.assertAllInRange(x, 1, 2)
    case.assertAllInSet(tf.constant([1, 2, 1]), {1, 2})
    for check, words in (
        (
            lambda: case.assertAllGreater(x, 1),
            r"1 of 2 elements are not greater than 1; the first is 1.0 at \(0,\)",
        ),
        (lambda: case.assertAllInRange(x, 1, 2, open_upper_bound=True), r"not in \[1, 2\)"),
        (lambda: case.assertAllInRange(x, 1, 2, open_lower_bound=True), r"not in \(1, 2\]"),
        (lambda: case.assertAllLessEqual([NAN], 2), "at most 2"),
        (lambda: case.assertAllInSet([1, 3], [1, 2]), "the first is 3"),
    ):
        with pytest.raises(AssertionError, match=words):
            check()


def test_numbers_shapes_and_dtypes(case):
    case.assertNear(1.0, tf.constant(1.1), 0.2)
    case.assertNear(INF, INF, 0.0)
    case.assertArrayNear([1.0, 2.0], tf.constant([1.0, 2.1]), 0.2)
    case.assertNDArrayNear(np.ones(2), np.ones(2) + 0.1, 0.2)
    case.assertShapeEqual(tf.ones([2, 3]), np.zeros((2, 3)))
    for dtype in (tf.float32, np.float32, "float32"):
        case.assertDTypeEqual(tf.ones([2]), dtype)
    for check in (
        lambda: case.assertNear(1.0, 1.3, 0.2),
        lambda: case.assertArrayNear([1.0], [1.0, 2.0], 0.2),
        lambda: case.assertNDArrayNear(np.ones(2), np.zeros(2), 0.2),
        lambda: case.assertShapeEqual(tf.ones([2, 3]), np.zeros((3, 2))),
        lambda: case.assertDTypeEqual(tf.ones([2]), tf.int32),
    ):
        with pytest.raises(AssertionError):
            check()
    with pytest.raises(TypeError, match="compare its parts"):
        case.assertAllEqual(tf.sparse.from_dense([1.0]), [1.0])


def test_errors_of_ops(case):
    with case.assertRaisesOpError("reshape"):
        tf.reshape([1.0, 2.0], [3])
    with case.assertRaisesWithPredicateMatch(ValueError, lambda e: "reshape" in str(e)):
        tf.reshape([1.0, 2.0], [3])
    with pytest.raises(AssertionError), case.assertRaisesWithPredicateMatch(ValueError, lambda e: False):
        raise ValueError
    with pytest.raises(AssertionError), case.assertRaisesOpError("reshape"):
        pass


def test_containers(case):
    case.assertLen([1, 2], 2)
    case.assertEmpty({})
    case.assertNotEmpty("a")
    case.assertSameElements([1, 2, 2], (2, 1))
    case.assertContainsSubset({1}, [1, 2])
    case.assertSequenceAlmostEqual([1.0, 2.0], [1.0, 2.0 + 1e-9])
    case.assertBetween(1, 0, 2)
    case.assertStartsWith("abc", "ab")
    case.assertEndsWith("abc", "bc")
    for check in (
        lambda: case.assertLen([1, 2], 3),
        lambda: case.assertEmpty([1]),
        lambda: case.assertNotEmpty([]),
        lambda: case.assertSameElements([1], [1, 2]),
        lambda: case.assertContainsSubset([3], [1, 2]),
        lambda: case.assertSequenceAlmostEqual([1.0], [2.0]),
        lambda: case.assertBetween(3, 0, 2),
        lambda: case.assertStartsWith("abc", "b"),
        lambda: case.assertEndsWith("abc", "b"),
    ):
        with pytest.raises(AssertionError):
            check()


def test_values_and_blocks_of_older_programs(case):
    found = case.evaluate({"a": tf.constant(1.0), "b": [tf.Variable([2]), 3, None]})
    assert found["a"] == 1.0 and type(found["a"]) is np.float32
    assert found["b"][0].tolist() == [2] and found["b"][1:] == [3, None]
    assert case.evaluate(lambda: tf.constant(2)) == 2
    for block in (case.session, case.cached_session, case.test_session):
        with block() as session:
            assert session.run(tf.constant(1) + 1) == 2
            with pytest.raises(NotImplementedError, match="nothing to feed"):
                session.run(tf.constant(1), feed_dict={1: 2})


def test_each_test_has_the_same_seeds_and_a_directory_of_its_own():
    seen = []

    class Two(tf.test.TestCase):
        def test_a(self):
            self.directory = self.get_temp_dir()
            seen.append((float(tf.random.normal([])), float(np.random.normal()), self.directory))
            assert self.get_temp_dir() == self.directory and os.path.isdir(self.directory)

        test_b = test_a

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Two).run(result)
    assert result.wasSuccessful() and result.testsRun == 3 and len(result.skipped) == 1
    assert seen[0][:2] == seen[1][:2] and seen[0][2] != seen[1][2]
    assert not os.path.exists(seen[0][2])
    assert Two.__test__ and not tf.test.TestCase.__test__


def test_main_runs_the_tests_of_a_program():
    with pytest.raises(SystemExit) as end:
        tf.test.main(argv=["program", "tests.tools.no_such_module"])
    assert end.value.code not in (0, None)


def test_what_tensorflow_was_built_with():
    assert not tf.test.is_built_with_xla() and not tf.test.is_built_with_rocm()
    assert tf.test.is_built_with_gpu_support() == tf.test.is_built_with_cuda()


def test_methods_of_derived_classes_have_any_name():
    """`_compare` and `_all` of a class of tests used to be taken for TestCase's own."""

    class Sums(tf.test.TestCase):
        def _compare(self):
            raise AssertionError("never called")

        _all = _differ = _directory = _compare_arrays = _compare

        def test_all(self):
            self.assertAllClose([1.0], tf.constant([1.0]))
            self.assertAllEqual([1], [1])
            self.assertNotAllClose([1.0], [2.0])
            self.assertAllGreater([1.0], 0.0)
            self.assertTrue(self.get_temp_dir())

    result = Sums("test_all").run()
    assert result is not None
    assert result.wasSuccessful(), result.errors + result.failures


def test_messages_and_shapes_of_errors(case):
    with case.assertRaisesIncompatibleShapesError():
        tf.ones([2]) + tf.ones([3])
    with pytest.raises(AssertionError), case.assertRaisesIncompatibleShapesError(ValueError):
        tf.gather([1, 2], 5)

    def fails(words):
        raise ValueError(words)

    case.assertRaisesWithLiteralMatch(ValueError, "a.b", fails, "a.b")
    with case.assertRaisesWithLiteralMatch(ValueError, "a.b"):
        fails("a.b")
    for other in ("axb", "a.b c", "c a.b"):
        with pytest.raises(AssertionError), case.assertRaisesWithLiteralMatch(ValueError, "a.b"):
            fails(other)
    case.assertItemsEqual([1, 2, 2], [2, 1, 2])
    with pytest.raises(AssertionError):
        case.assertItemsEqual([1, 2, 2], [2, 1, 1])


def test_a_thread_hands_its_error_to_the_test(case):
    seen = []
    thread = case.checkedThread(lambda x, y=0: seen.append((x, y)), args=(1,), kwargs={"y": 2})
    thread.start()
    thread.join()
    assert seen == [(1, 2)]
    assert not thread.is_alive()
    wrong = case.checkedThread(lambda: tf.reshape(tf.ones([2]), [3]))
    wrong.start()
    with pytest.raises(AssertionError, match=r"Error in checkedThread: reshape: x with shape \(2,\)"):
        wrong.join()


def test_a_thread_that_is_not_joined_is_a_failure():
    class Threads(tf.test.TestCase):
        def test_it(self):
            self.checkedThread(lambda: None).start()

    result = Threads("test_it").run()
    assert result is not None
    assert [text.splitlines()[-1] for _, text in result.failures] == [
        "AssertionError: False is not true : A checkedThread was not joined."
    ]


def test_what_is_printed_can_be_looked_at(case, tmp_path):
    with open(tmp_path / "out", "w", encoding="utf-8") as stream:
        stream.write("before ")
        with case.captureWritesToStream(stream) as first:
            stream.write("1 2")
            case.assertEqual(first.contents(), "1 2")
            os.write(stream.fileno(), b"by number")
        with case.captureWritesToStream(stream) as second:
            stream.write("more")
        stream.write("after")
        assert first.contents() == "1 2by number"
        assert second.contents() == "more"
    assert (tmp_path / "out").read_text() == "before after"
    case.doCleanups()
