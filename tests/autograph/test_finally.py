"""A jump out of a `finally` takes the place of the exception or jump under way, in converted code as in Python.

The functions are text: Python warns of such jumps when it reads a file.
"""

from __future__ import annotations

import contextlib
import linecache
import random
import warnings

import numpy as np
import pytest

import graphad as tf


class Failure(Exception):
    pass


def made(text, name):
    """The function `f` of a text."""
    place = f"<finally {name}>"
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    names = {"tf": tf, "contextlib": contextlib, "Failure": Failure, "__name__": "jumps_in_finally"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, place, "exec"), names)
    return names["f"]


def outcome(f, *args):
    """What a function returns or raises, and what that was raised during."""
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error), type(error.__context__)


RETURN_OVER_EXCEPTION = """
def f(x, seen):
    try:
        if x > 0:
            return 1
        raise Failure("lost")
    finally:
        return 2
"""
CONTINUE_AND_BREAK_OVER_BOTH = """
def f(x, seen):
    n = 0
    while True:
        n += 1
        try:
            if n == 1:
                raise Failure("lost")
            return n
        finally:
            if n < 3:
                continue
            if x > 0:
                break
    return n * 100
"""
BREAK_OVER_RETURN = """
def f(x, seen):
    while True:
        try:
            if x > 0:
                return 1
            raise Failure("lost")
        finally:
            break
    else:
        seen.append("else")
    return 9
"""
CONTINUE_OVER_BREAK = """
def f(x, seen):
    for i in range(3):
        seen.append(i)
        try:
            if x > 0:
                break
        finally:
            continue
    else:
        return "not broken"
    return "broken"
"""
NESTED = """
def f(x, seen):
    for i in range(4):
        try:
            try:
                seen.append(i)
                if i == x:
                    return "inner"
                raise Failure("lost")
            finally:
                seen.append("inner finally")
                if i == 3:
                    break
        finally:
            seen.append("outer finally")
            if i < 3:
                continue
    else:
        seen.append("else")
    return "end"
"""
INNER_LOOP_KEEPS_WHAT_IS_UNDER_WAY = """
def f(x, seen):
    try:
        if x > 0:
            return 1
        raise Failure("kept")
    finally:
        for i in range(3):
            seen.append(i)
            try:
                if i == 1:
                    return 2
            finally:
                break
"""
INNER_LOOP_RETURNS = """
def f(x, seen):
    try:
        if x > 0:
            return 1
        raise Failure("lost when x is 0")
    finally:
        for i in range(3):
            seen.append(i)
            if i == 2 and x >= 0:
                return 3
"""
RAISE_BEHIND_A_JUMP = """
def f(x, seen):
    try:
        raise Failure("context")
    finally:
        try:
            if x > 0:
                return 1
        finally:
            raise KeyError("second")
"""
HANDLER_AND_FINALLY = """
def f(x, seen):
    try:
        raise Failure("caught")
    except Failure:
        if x > 0:
            return 5
        raise
    finally:
        if x < 0:
            return 6
"""
ELSE_IS_LEFT_OUT = """
def f(x, seen):
    for i in range(2):
        try:
            if x > 0:
                continue
        except Failure:
            seen.append("except")
        else:
            seen.append("else")
            raise Failure("from else")
        finally:
            seen.append("finally")
            if i == 0:
                continue
            return seen
    return "end"
"""
CASES = {name.lower(): text for name, text in globals().items() if name.isupper() and name != "CASES"}


@pytest.mark.parametrize("name", CASES)
def test_a_jump_in_finally_means_what_it_does_in_python(name):
    f = made(CASES[name], name)
    converted = tf.autograph.to_graph(f)
    for x in (2, 1, 0, -1):
        wanted, found = [], []
        assert outcome(converted, x, found) == outcome(f, x, wanted)
        assert found == wanted


def test_the_error_of_a_check_of_tensors_is_dropped_while_tracing():
    text = """
def f(x):
    for k in range(3):
        try:
            tf.debugging.assert_shapes([(x, [k])])
            x = x * 10.0
            break
        finally:
            if k < 2:
                continue
    try:
        tf.ensure_shape(x, [7])
        if x[0] > 100.0:
            return x + 1.0
    finally:
        return x
"""
    f = made(text, "checks")
    x = tf.constant([1.0, 2.0])
    assert outcome(tf.function(f), x).numpy().tolist() == f(x).numpy().tolist() == [10.0, 20.0]


def test_an_exception_is_not_dropped_by_a_jump_that_a_tensor_decides():
    text = """
def f(x):
    try:
        raise Failure("while tracing")
    finally:
        if x > 0.0:
            return x
"""
    with pytest.raises(Failure, match="while tracing"):
        tf.function(made(text, "undecided"))(tf.constant(1.0))


BREAK_OR_RETURN_BY_TENSORS = """
def f(x):
    total = tf.zeros([])
    for i in tf.range(4):
        total += x[0]
        try:
            if total > 3.0:
                return total
            if total > 2.0:
                break
        finally:
            total += 0.5
            if x[1] > 0.0:
                continue
            if x[2] > 0.0:
                break
    else:
        total += 100.0
    return -total
"""
RETURN_OF_TWO = """
def f(x):
    y = x[0] * 2.0
    try:
        if y > 0.0:
            return y
    finally:
        if x[1] > 0.0:
            return y * 10.0
        y += 1.0
    return y * x[2]
"""


@pytest.mark.parametrize("text", [BREAK_OR_RETURN_BY_TENSORS, RETURN_OF_TWO], ids=["loop", "returns"])
def test_tensors_decide_which_jump_is_taken(text):
    f = made(text, "tensors")
    traced = tf.function(f)
    for bits in np.ndindex(3, 2, 2):
        x = tf.constant(np.array(bits, np.float32) * 2.0 - 1.0)
        np.testing.assert_array_equal(traced(x).numpy(), f(x).numpy())
    assert traced.experimental_get_tracing_count() == 1


# -- random ones -----------------------------------------------------------------------------------------------------------


class Grower:
    """Grows a function whose every `if` asks for the next of some given answers; with `tensors`, elements of a vector."""

    def __init__(self, seed, tensors):
        self._random = random.Random(seed)
        self._tensors = tensors
        self._lines = []
        self._answers = self._names = 0
        self._budget = 14

    def text(self):
        self.block(1, 0, 0)
        head = "def f(x):\n    a = x[0] * 0.0\n" if self._tensors else "def f(ask, seen):\n"
        return head + "\n".join(self._lines) + f"\n    return {self.value()}\n"

    def add(self, depth, line):
        self._lines.append("    " * depth + line)

    def value(self):
        self._names += 1
        return f"a + {self._names}.0" if self._tensors else str(self._names)

    def note(self, depth):
        self._names += 1
        self.add(depth, f"a = a * 0.5 + {self._names}.0" if self._tensors else f"seen.append({self._names})")

    def test(self):
        self._answers += 1
        return f"x[{self._answers % 8}] > a * 0.01" if self._tensors else "ask()"

    def block(self, depth, loops, tries):
        self.note(depth)
        for _ in range(self._random.randint(1, 3)):
            self.statement(depth, loops, tries)

    def statement(self, depth, loops, tries):
        self._budget -= 1
        kind = self._random.random()
        if self._budget < 0 or depth > 7:
            self.note(depth)
        elif kind < 0.25:
            self.add(depth, f"if {self.test()}:")
            self.block(depth + 1, loops, tries)
            if self._random.random() < 0.4:
                self.add(depth, "else:")
                self.block(depth + 1, loops, tries)
        elif kind < 0.4 and loops < 2:
            many = "tf.range(3)" if self._tensors and self._random.random() < 0.5 else "range(3)"
            self.add(depth, f"for i{depth} in {many}:")
            self.block(depth + 1, loops + 1, tries)
            if self._random.random() < 0.3:
                self.add(depth, "else:")
                self.note(depth + 1)
        elif kind < 0.7 and tries < 3:
            self.try_(depth, loops, tries + 1)
        elif kind < 0.95:
            jumps = ["return"] + (["break", "continue"] if loops else [])
            jumps += [] if self._tensors else ["raise Failure"]
            jump = self._random.choice(jumps)
            if jump == "return":
                jump = f"return {self.value()}"
            if self._random.random() < 0.8 or self._tensors:
                self.add(depth, f"if {self.test()}:")
                depth += 1
            self.add(depth, jump)
        else:
            self.note(depth)

    def try_(self, depth, loops, tries):
        self.add(depth, "try:")
        self.block(depth + 1, loops, tries)
        if self._random.random() < 0.4:
            self.add(depth, "except Failure:")
            self.block(depth + 1, loops, tries)
            if self._random.random() < 0.4:
                self.add(depth, "else:")
                self.block(depth + 1, loops, tries)
        self.add(depth, "finally:")
        self.block(depth + 1, loops, tries)


def asked(f, seed):
    """The outcome of a grown function, and what it noted on its way."""
    answers = random.Random(seed)
    seen = []
    return outcome(f, lambda: answers.random() < 0.4, seen), seen


def test_random_jumps_in_finally_are_those_of_python():
    jumping = 0
    for seed in range(150):
        f = made(Grower(seed, False).text(), seed)
        converted = tf.autograph.to_graph(f)
        jumping += "leaving" in tf.autograph.to_code(f)
        for answers in range(12):
            assert asked(converted, answers) == asked(f, answers), f"program {seed}, answers {answers}"
    assert jumping > 25


@pytest.mark.parametrize("first", range(0, 24, 4))
def test_random_jumps_in_finally_that_tensors_decide(first):
    for seed in range(first, first + 4):
        f = made(Grower(1000 + seed, True).text(), f"tensors {seed}")
        traced = tf.function(f)
        for trial in range(4):
            x = tf.constant(np.random.default_rng(trial).normal(size=8).astype(np.float32))
            np.testing.assert_allclose(
                traced(x).numpy(), f(x).numpy(), rtol=1e-6, err_msg=f"program {seed}, trial {trial}"
            )


# -- what is read where an exception ends ------------------------------------------------------------------------------------

READ_BEHIND_A_HANDLER = """
def f(x):
    y = x
    try:
        if x > 0.0:
            y = x * 2.0
        else:
            y = x * 3.0
        raise Failure
    except Failure:
        pass
    return y
"""
READ_IN_A_HANDLER = """
def f(x):
    y = x
    try:
        if x > 0.0:
            y = x * 2.0
        raise Failure
        y = x * 5.0
    except Failure:
        if x > 1.0:
            return y
    return -y
"""
READ_BEHIND_A_WITH = """
def f(x):
    y = x
    with contextlib.suppress(Failure):
        for i in tf.range(3):
            z = y * 1.0
            y = y * 2.0
        if x > 0.0:
            z = y * 2.0
        else:
            z = y * 3.0
        raise Failure
    return z + y
"""
NAMED_ON_ONE_SIDE_ONLY = """
def f(x):
    try:
        if x > 0.0:
            y = x * 2.0
            x = x + y
        y = x * 3.0
    except Failure:
        y = x
    return y
"""


@pytest.mark.parametrize(
    "text",
    [READ_BEHIND_A_HANDLER, READ_IN_A_HANDLER, READ_BEHIND_A_WITH, NAMED_ON_ONE_SIDE_ONLY],
    ids=["behind", "handler", "with", "one side"],
)
def test_what_a_tensor_decided_is_seen_where_an_exception_ends(text):
    f = made(text, "read")
    for x in (2.0, 0.5, -1.0):
        assert tf.function(f)(tf.constant(x)).numpy() == f(tf.constant(x)).numpy()
