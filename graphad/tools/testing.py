"""`test.TestCase`: unittest's class with comparisons of tensors, arrays and nests of them.

A comparison takes whatever becomes an array. What fails says how many elements differ, where the largest difference is, and both
values there. Imported only when it is used, since `unittest` is. What is not for those who derive a class from it is functions of
this module, since theirs may have methods of any name.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import tempfile
import threading
import unittest
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from graphad.core import errors, foreign_errors, nest_functions
from graphad.core.sparse import Sparse
from graphad.core.tensor import Tensor
from graphad.ops.random.generator import set_seed

_SEED = 87654321
_NUMBERS = itertools.count()


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the program's file, as `unittest.main` does.

    Args: argv: Words of the command line; those of the program by default.
    Raises: SystemExit: always, with a status other than 0 where a test failed.
    """
    unittest.main(argv=argv)


class _Session:
    """What a block of `session` gives: its `run` has the values of what is there already."""

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        if feed_dict:
            raise foreign_errors.UnimplementedError(
                "session.run: there is nothing to feed; give the values to the function."
            )
        return _values(fetches)


class _CheckedThread:
    """A thread whose errors are failures of the test that joins it."""

    def __init__(self, test: TestCase, call: Callable[[], Any]) -> None:
        self._test, self._call = test, call
        self._error: BaseException | None = None
        self._was_joined = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # all of them belong to the test
            self._error = error

    def start(self) -> None:
        self._was_joined = False
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()
        self._was_joined = True
        if self._error is not None:
            raise self._test.failureException(f"Error in checkedThread: {self._error}") from self._error

    def check(self) -> None:
        """Raises: AssertionError: nobody has joined it."""
        self._test.assertTrue(self._was_joined, "A checkedThread was not joined.")


class _Writes:
    """What was written to a stream within a block."""

    def __init__(self, stream: Any, kept: str) -> None:
        self._stream, self._kept = stream, kept

    def contents(self) -> str:
        self._stream.flush()
        with open(self._kept, encoding="utf-8") as file:
            return file.read()


class TestCase(unittest.TestCase):
    """`unittest.TestCase` that compares tensors, arrays and nests of them; each test begins with the same seeds.

    Args: methodName: The name of the method that is the test, "runTest" by default, as unittest's loader gives it.
    Raises: ValueError: there is no method of that name.
    Example:
      >>> class Sums(TestCase):
      ...     def test_sum(self):
      ...         self.assertAllClose(reduce_sum(constant([1.0, 2.0])), 3.0)
      >>> Sums("test_sum").run().wasSuccessful()
      True
    """

    __test__ = False  # pytest collects the classes made of it, which have True
    maxDiff = None

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if "__test__" not in cls.__dict__:
            cls.__test__ = True

    def setUp(self) -> None:
        super().setUp()
        random.seed(_SEED)
        np.random.seed(_SEED)
        set_seed(_SEED)

    def get_temp_dir(self) -> str:
        """A directory of this test alone, deleted after it."""
        found: str | None = self.__dict__.get("_graphad_directory")
        if found is None:
            found = self._graphad_directory = tempfile.mkdtemp()
            self.addCleanup(_forget_directory, self)
        return found

    def evaluate(self, tensors: Any) -> Any:
        """The nest of `tensors` with a NumPy value for each tensor and variable; a function is called first."""
        return _values(tensors)

    @contextmanager
    def session(self, *_: Any, **__: Any) -> Iterator[_Session]:
        """A block as programs of TensorFlow 1 have it: ops compute at once, `run` gives their values."""
        yield _Session()

    cached_session = session

    def test_session(self, *_: Any, **__: Any) -> Any:
        """`session` under an older name, which unittest takes for a test: as one it is skipped."""
        if self._testMethodName == "test_session":
            self.skipTest("test_session is a name of session")
        return self.session()

    # What is the same

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Nests of one structure, whose arrays have one shape and |a - b| <= atol + rtol |b|; NaN is as NaN."""
        _compare(self, _values(a), _values(b), lambda x, y: _apart(x, y, rtol, atol), msg, "")

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose` with the widest of the tolerances of both dtypes."""

        def apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            rel, least = rtol, atol
            names = {x.dtype.name, y.dtype.name}
            for kinds, r, t in (
                ({"float32", "complex64"}, float_rtol, float_atol),
                ({"float16"}, half_rtol, half_atol),
                ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
            ):
                if names & kinds:
                    rel, least = max(rel, r), max(least, t)
            return _apart(x, y, rel, least)

        _compare(self, _values(a), _values(b), apart, msg, "")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Arrays of one shape with equal elements; NaN is as NaN."""
        _compare(self, _array(a), _array(b), _unequal, msg, "")

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """At least one element is not close."""
        _differ(self, lambda: self.assertAllClose(a, b, rtol, atol), msg, "close")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """At least one element differs."""
        _differ(self, lambda: self.assertAllEqual(a, b), msg, "the same")

    # Bounds of all elements

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Every element is above the number."""
        _all(self, a, lambda x: x > comparison_target, f"greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Every element is below the number."""
        _all(self, a, lambda x: x < comparison_target, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """No element is below the number, or NaN."""
        _all(self, a, lambda x: x >= comparison_target, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """No element is above the number, or NaN."""
        _all(self, a, lambda x: x <= comparison_target, f"at most {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Every element is between the bounds, which count unless they are open."""
        signs = ("(" if open_lower_bound else "[") + f"{lower_bound}, {upper_bound}"
        signs += ")" if open_upper_bound else "]"

        def inside(x: np.ndarray) -> Any:
            above = x > lower_bound if open_lower_bound else x >= lower_bound
            return above & (x < upper_bound if open_upper_bound else x <= upper_bound)

        _all(self, target, inside, f"in {signs}")

    def assertAllInSet(self, target: Any, expected_set: Collection[Any]) -> None:
        """Every element is one of the set."""
        _all(self, target, lambda x: np.isin(x, list(expected_set)), f"in {set(expected_set)}")

    # Numbers, shapes, dtypes

    def assertNear(self, f1: Any, f2: Any, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err; of two NaN too, and of two equal infinities."""
        same = f1 == f2 or abs(f1 - f2) <= err or (np.isnan(f1) and np.isnan(f2))
        self.assertTrue(same, self._formatMessage(msg, f"{f1!r} is not within {err} of {f2!r}."))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """Sequences of one length whose elements are near in turn."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """The norm of the difference is below `err`."""
        found = float(np.linalg.norm(_array(ndarray1) - _array(ndarray2)))
        self.assertTrue(found < err, self._formatMessage(msg, f"the distance is {found}, not below {err}."))

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Tensors or arrays of one shape."""
        self.assertEqual(tuple(_array(input_a).shape), tuple(_array(input_b).shape), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The dtype of a tensor or array."""
        self.assertEqual(
            _array(target).dtype, np.dtype(getattr(expected_dtype, "as_numpy_dtype", expected_dtype))
        )

    # Errors

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """The block raises the error, whose message has the pattern, or of which the function is True."""
        wanted = expected_err_re_or_predicate
        if not callable(wanted):
            with self.assertRaisesRegex(exception_type, wanted):
                yield
            return
        with self.assertRaises(exception_type) as caught:
            yield
        self.assertTrue(wanted(caught.exception), f"the error is another: {caught.exception}")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """`assertRaisesWithPredicateMatch` for the errors of ops."""
        return self.assertRaisesWithPredicateMatch(errors.GraphadError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(
        self, exception_type: Any = errors.InvalidArgumentError
    ) -> AbstractContextManager[None]:
        """The block raises the error of operands whose shapes do not fit each other."""
        return self.assertRaisesWithPredicateMatch(
            exception_type, "Incompatible shapes|do not broadcast|must be equal"
        )

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """The call, or without one the block, raises the error with this very message."""
        raised = self.assertRaisesRegex(expected_exception, rf"\A{re.escape(expected_exception_message)}\Z")
        if callable_obj is None:
            return raised
        with raised:
            callable_obj(*args, **kwargs)
        return None

    # Threads and what is printed

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> _CheckedThread:
        """A thread with `start`, `is_alive` and `join`, which fails with what its function raised; each has to be joined."""
        thread = _CheckedThread(self, lambda: target(*args, **(kwargs or {})))
        self.addCleanup(thread.check)
        return thread

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[_Writes]:
        """A block that keeps what is written to a stream with a file descriptor, such as `sys.stdout`; `contents()` gives it."""
        kept = os.path.join(self.get_temp_dir(), f"writes{next(_NUMBERS)}")
        stream.flush()
        place = stream.fileno()
        before = os.dup(place)
        try:
            with open(kept, "wb") as file:
                os.dup2(file.fileno(), place)
            yield _Writes(stream, kept)
        finally:
            stream.flush()
            os.dup2(before, place)
            os.close(before)

    # Containers

    def assertItemsEqual(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None
    ) -> None:
        """`assertCountEqual` under an older name."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """The number of elements."""
        text = f"it has {len(container)} elements, not {expected_len}: {container!r}"
        self.assertEqual(len(container), expected_len, self._formatMessage(msg, text))

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """No elements."""
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """One element at least."""
        self.assertTrue(len(container), self._formatMessage(msg, f"it is empty: {container!r}"))

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """The same elements, however often and in whatever order."""
        missing = [x for x in expected_seq if x not in actual_seq]
        more = [x for x in actual_seq if x not in expected_seq]
        self.assertFalse(
            missing or more, self._formatMessage(msg, f"missing: {missing!r}, unexpected: {more!r}")
        )

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Any, msg: str | None = None
    ) -> None:
        """Every element of the first is in the second."""
        missing = [x for x in expected_subset if x not in actual_set]
        self.assertFalse(missing, self._formatMessage(msg, f"missing: {missing!r}"))

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Any,
        actual_seq: Any,
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
    ) -> None:
        """Sequences of one length whose elements `assertAlmostEqual` in turn."""
        self.assertLen(actual_seq, len(expected_seq), msg)
        near: Any = self.assertAlmostEqual  # its types say which of the two may be None
        for one, other in zip(expected_seq, actual_seq, strict=True):
            near(one, other, places=places, msg=msg, delta=delta)

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """minv <= value <= maxv."""
        self.assertTrue(
            minv <= value <= maxv, self._formatMessage(msg, f"{value!r} is not in [{minv}, {maxv}]")
        )

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:  # type: ignore[override, unused-ignore]
        """A text, or a value printed as one, begins so."""
        found = str(actual)
        self.assertTrue(
            found.startswith(expected_start), self._formatMessage(msg, f"{found!r} begins otherwise")
        )

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:  # type: ignore[override, unused-ignore]
        """A text ends so."""
        found = str(actual)
        self.assertTrue(found.endswith(expected_end), self._formatMessage(msg, f"{found!r} ends otherwise"))


def _forget_directory(test: TestCase) -> None:
    shutil.rmtree(test._graphad_directory, ignore_errors=True)
    del test._graphad_directory


def _differ(test: TestCase, check: Callable[[], None], msg: str | None, word: str) -> None:
    try:
        check()
    except test.failureException:
        return
    test.fail(test._formatMessage(msg, f"all elements are {word}; at least one should not be."))


def _compare(
    test: TestCase, a: Any, b: Any, wrong: Callable[[np.ndarray, np.ndarray], np.ndarray], msg: Any, path: str
) -> None:
    if hasattr(a, "_asdict") and hasattr(b, "_asdict"):
        a, b = a._asdict(), b._asdict()
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        if not (isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys()):
            test.fail(test._formatMessage(msg, f"other structures{_at(path)}: {a!r} and {b!r}."))
        for key in a:
            _compare(test, a[key], b[key], wrong, msg, f"{path}[{key!r}]")
        return
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        x, y = _as_array(a), _as_array(b)
        if x is None or y is None:
            if not (isinstance(a, Sequence) and isinstance(b, Sequence) and len(a) == len(b)):
                test.fail(test._formatMessage(msg, f"other structures{_at(path)}: {a!r} and {b!r}."))
            for i, (one, other) in enumerate(zip(a, b, strict=True)):
                _compare(test, one, other, wrong, msg, f"{path}[{i}]")
            return
        a, b = x, y
    _compare_arrays(test, np.asarray(a), np.asarray(b), wrong, msg, path)


def _compare_arrays(
    test: TestCase,
    a: np.ndarray,
    b: np.ndarray,
    wrong: Callable[[np.ndarray, np.ndarray], np.ndarray],
    msg: Any,
    path: str,
) -> None:
    if a.shape != b.shape:
        test.fail(test._formatMessage(msg, f"shapes{_at(path)} differ: {a.shape} and {b.shape}."))
    where = wrong(a, b)
    if where.any():
        test.fail(test._formatMessage(msg, _difference(a, b, where, path)))


def _all(test: TestCase, a: Any, holds: Callable[[np.ndarray], Any], words: str) -> None:
    x = _array(a)
    where = ~np.asarray(holds(x), bool)
    if where.any():
        first = tuple(int(i) for i in np.argwhere(where)[0])
        value = x[first]
        test.fail(
            f"{int(where.sum())} of {x.size} elements are not {words}; the first is {value} at {first}."
        )


def _values(x: Any) -> Any:
    if callable(x) and not isinstance(x, Tensor):
        x = x()
    return nest_functions.map_structure(_value, x)


def _value(leaf: Any) -> Any:
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf


def _array(x: Any) -> np.ndarray:
    if isinstance(x, Sparse):
        raise errors.ArgumentTypeError(
            f"TestCase: {x!r} is no array; compare its parts, or what it is when dense."
        )
    return np.asarray(_values(x))


def _as_array(x: Any) -> np.ndarray | None:
    """A list as an array of numbers, None where its parts have shapes of their own."""
    try:
        found = np.asarray(x)
    except ValueError:
        return None
    return None if found.dtype.kind == "O" else found


def _unequal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    where = np.asarray(a != b)
    return where & ~((a != a) & (b != b)) if a.dtype.kind in "fcV" else where  # NaN differs from itself


def _apart(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    if a.dtype.kind not in "biufcV" or b.dtype.kind not in "biufcV":
        return _unequal(a, b)
    a, b = (x.astype(np.float64) if x.dtype.kind in "biuV" else x for x in (a, b))
    return ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def _difference(a: np.ndarray, b: np.ndarray, where: np.ndarray, path: str) -> str:
    first = tuple(int(i) for i in np.argwhere(where)[0])
    text = f"{int(where.sum())} of {where.size} elements{_at(path)} differ; the first at {first}: {a[first]} and {b[first]}"
    if a.dtype.kind in "fc" and np.isfinite(a).all() and np.isfinite(b).all():
        distance = np.abs(a - b)
        worst = tuple(int(i) for i in np.unravel_index(int(distance.argmax()), distance.shape))
        text += f"; the largest difference is {distance[worst]} at {worst}: {a[worst]} and {b[worst]}"
    return text + "."


def _at(path: str) -> str:
    return f" at {path}" if path else ""
