"""What Python control flow on tensors means inside of a `function`: the table of behaviours, row by row."""

from __future__ import annotations

import contextlib
import logging

import numpy as np
import pytest

import graphad as tf


def both_ways(f, *args):
    """The result of a function run as Python, after checking that the traced one gives the same."""
    tensors = [tf.constant(x) if isinstance(x, np.ndarray | float | list) else x for x in args]
    plain = f(*tensors)
    traced = tf.function(f)(*tensors)
    np.testing.assert_allclose(np.asarray(traced), np.asarray(plain), rtol=1e-6)
    return traced


# -- what is converted -----------------------------------------------------------------------------------------------------


def chosen(x):
    if x > 2.0:
        y = x * 2.0
    elif x > 1.0:
        y = x * 3.0
    else:
        y = -x
    return y


@pytest.mark.parametrize("x", [3.0, 1.5, -1.0])
def test_if_elif_else_runs_the_branch_of_the_value(x):
    both_ways(chosen, x)


def halved(x):
    steps = 0
    while x > 1.0:
        x = x / 2.0
        steps += 1
    return x + tf.cast(steps, tf.float32)


@pytest.mark.parametrize("x", [0.5, 100.0])
def test_while_repeats_until_the_value_says_so(x):
    both_ways(halved, x)


def summed(x):
    total = tf.zeros_like(x[0])
    for row in x:
        total = total * 0.5 + row
    return total


def test_for_walks_along_a_tensor_of_any_length():
    both_ways(summed, np.ones((4, 2), np.float32))
    f = tf.function(summed, input_signature=[tf.TensorSpec([None, 2])])
    assert f(tf.ones([3, 2])).numpy().tolist() == [1.75, 1.75]
    assert f(tf.ones([1, 2])).numpy().tolist() == [1.0, 1.0]
    assert len(f.concrete_functions) == 1


def test_for_walks_along_ranges_of_tensors():
    @tf.function
    def f(n):
        total = 0
        for i in tf.range(n):
            total += i
        for j in range(n):
            total += 10 * j
        for k in range(n, 0, -2):
            total += 100 * k
        return total

    for n in (0, 1, 4):
        want = sum(range(n)) + 10 * sum(range(n)) + 100 * sum(range(n, 0, -2))
        assert f(tf.constant(n)).numpy() == want
    assert f.experimental_get_tracing_count() == 1


def test_range_of_a_negative_tensor_is_empty_as_pythons():
    @tf.function
    def f(n):
        total = 0
        for i in range(n):
            total += 1
        for i in range(0, n, 2):
            total += 1
        for i in range(5, 0, n):
            total += 1
        return total

    for n in (-3, -1, 2):
        assert f(tf.constant(n)).numpy() == len(range(n)) + len(range(0, n, 2)) + len(range(5, 0, n))


def with_jumps(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            continue
        if v > 10.0:
            break
        total += v
    return total


def test_break_and_continue():
    both_ways(with_jumps, np.array([1.0, -2.0, 3.0, 11.0, 5.0], np.float32))
    both_ways(with_jumps, np.array([1.0, -2.0, 3.0], np.float32))


def returned_early(x):
    if x > 0.0:
        return x
    y = x * 2.0
    if y < -10.0:
        return y
    return -y


@pytest.mark.parametrize("x", [1.0, -1.0, -6.0])
def test_early_return_with_a_value_on_both_sides(x):
    both_ways(returned_early, x)


def returned_deep(x):
    if x > 0.0:
        if x > 5.0:
            return x
        x = x + 1.0
    return x * 2.0


@pytest.mark.parametrize("x", [6.0, 1.0, -1.0])
def test_a_return_deep_inside_of_branches(x):
    both_ways(returned_deep, x)


def test_ternary_logic_and_chains():
    @tf.function
    def f(x, y):
        a = x if x > y else y
        b = 1.0 if 0.0 < x < y < 9.0 else 0.0
        c = 1.0 if x > 0.0 and y > 0.0 or not x < y else 0.0
        return a, b, c

    for x, y in ((1.0, 2.0), (2.0, 1.0), (-1.0, 3.0), (1.0, 10.0), (-2.0, -1.0)):
        want = (max(x, y), float(0 < x < y < 9), float((x > 0 and y > 0) or not x < y))
        assert tuple(map(float, f(tf.constant(x), tf.constant(y)))) == want


def test_what_stands_behind_and_is_not_evaluated_where_it_does_not_count():
    @tf.function
    def f(x, i):
        if i < 3 and x[i] > 0.0:
            return 1
        return 0

    x = tf.constant([1.0, -1.0, 1.0])
    assert [f(x, tf.constant(i)).numpy() for i in (0, 1, 2, 7)] == [1, 0, 1, 0]


def test_each_operand_of_a_chain_is_evaluated_once():
    calls = []

    def middle(x):
        calls.append(1)
        return x

    @tf.function
    def f(x):
        return 0.0 < middle(x) < 5.0

    assert f(tf.constant(1.0)).numpy()
    assert len(calls) == 1


# -- decided by type -------------------------------------------------------------------------------------------------------


def test_python_values_keep_pythons_meaning():
    seen = []

    @tf.function
    def f(x, training):
        if training:
            seen.append("training")
            x = x * 2.0
        for name in ("a", "b"):
            seen.append(name)
            x = x + 1.0
        for i, v in enumerate([1.0, 2.0]):
            assert isinstance(i, int)
            x = x + v
        k = 0
        while k < 2:
            k += 1
        assert k == 2
        squares = [i * i for i in range(3) if i % 2 == 0]
        assert squares == [0, 4]
        return x if not training else x + float(k)

    assert f(tf.constant(1.0), True).numpy() == 9.0
    assert seen == ["training", "a", "b"]
    assert f(tf.constant(1.0), False).numpy() == 6.0
    assert seen == ["training", "a", "b", "a", "b"]


def test_generators_are_iterated_by_python():
    def numbers():
        for i in range(10):
            if i % 2:
                yield float(i)

    @tf.function
    def f(x):
        for v in numbers():
            if v > 5.0:
                break
            x = x + v
        return x

    assert f(tf.constant(0.0)).numpy() == 9.0


def test_a_generator_is_not_asked_again_after_break():
    asked = []

    def numbers():
        for i in range(10):
            asked.append(i)
            yield i

    @tf.function
    def f(x):
        for i in numbers():
            if i == 2:
                break
        return x

    f(tf.constant(0.0))
    assert asked == [0, 1, 2]


def test_a_python_loop_that_a_tensor_ends():
    @tf.function
    def f(x):
        for i in range(5):
            if x > 10.0:
                break
            x = x * 2.0
        else:
            x = x + 1000.0
        return x

    assert f(tf.constant(3.0)).numpy() == 12.0
    assert f(tf.constant(0.1)).numpy() == pytest.approx(1003.2)


def test_a_loop_that_becomes_one_over_tensors_on_the_way():
    @tf.function
    def f(x):
        n = 0
        while True:
            x = x * 0.5
            n += 1
            if x < 1.0:
                break
        return x, n

    x, n = f(tf.constant(100.0))
    assert n.numpy() == 7
    assert x.numpy() == pytest.approx(100 / 2**7)


def test_a_loop_over_a_tensor_is_traced_once():
    traced = []

    @tf.function
    def f(n):
        x = 0.0
        for i in tf.range(n):
            traced.append(i)
            x += 1.0
        return x

    assert f(tf.constant(1000)).numpy() == 1000.0
    assert len(traced) == 1


# -- builtins --------------------------------------------------------------------------------------------------------------


def test_builtins_that_mean_something_for_tensors(capsys):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        print("traced", x)
        return len(x), int(x[0]), float(len(x)), abs(x[1]), sorted(x), sorted(x, reverse=True)

    n, i, g, a, s, r = f(tf.constant([2.5, -1.0, 7.0]))
    assert (n.numpy(), i.numpy(), g.numpy(), a.numpy()) == (3, 2, 3.0, 1.0)
    assert i.dtype == tf.int32
    assert s.numpy().tolist() == [-1.0, 2.5, 7.0]
    assert r.numpy().tolist() == [7.0, 2.5, -1.0]
    assert "traced Tensor(" in capsys.readouterr().out


@pytest.mark.parametrize("call", [max, min, sum, any, all, list])
def test_other_builtins_ask_python_for_what_is_not_there(call):
    f = tf.function(lambda x: call(x > 0.0), input_signature=[tf.TensorSpec([None])])
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        f(tf.constant([1.0, 2.0]))


def test_bool_in_and_unpacking_ask_python():
    for body in (
        lambda x: bool(x[0]),
        lambda x: x[0] in [1.0],
        lambda x: (lambda a, b: a)(*x),
        lambda x: [v for v in x],
    ):
        f = tf.function(body, input_signature=[tf.TensorSpec([None])])
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            f(tf.constant([1.0, 2.0]))


def test_enumerate_zip_and_map_of_tensors_are_walked_along():
    @tf.function
    def f(x, y):
        total = 0.0
        for i, (a, b) in enumerate(zip(x, y)):
            total += tf.cast(i, tf.float32) * a * b
        for v in map(lambda a, b: a + b if a > b else b, x, y):
            total += v
        return total

    x, y = np.array([1.0, 5.0, 3.0], np.float32), np.array([2.0, 4.0, 1.0, 9.0], np.float32)
    want = sum(i * a * b for i, (a, b) in enumerate(zip(x, y)))
    want += sum(a + b if a > b else b for a, b in zip(x, y))
    assert f(tf.constant(x), tf.constant(y)).numpy() == want


def test_assert_on_a_tensor_is_not_converted_unless_asked_for():
    def f(x):
        assert x > 0.0, "must be positive"
        return x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(f)(tf.constant(1.0))
    options = tf.autograph.experimental.Feature.ASSERT_STATEMENTS
    checked = tf.function(f, experimental_autograph_options=options)
    assert checked(tf.constant(1.0)).numpy() == 1.0
    with pytest.raises(ValueError, match="must be positive"):
        checked(tf.constant(-1.0))


# -- functions called ------------------------------------------------------------------------------------------------------


def helper(x):
    if x > 0.0:
        return x
    return -x


class Base:
    factor = 2.0

    def scaled(self, x):
        if x > 1.0:
            return x * self.factor
        return x

    def __call__(self, x):
        return x * 5.0 if x > 0.0 else x

    @staticmethod
    def still(x):
        return x + 1.0 if x > 0.0 else x

    @classmethod
    def classy(cls, x):
        return x + cls.factor if x > 0.0 else x


class Derived(Base):
    def __init__(self):
        self.__hidden = 3.0

    def scaled(self, x):
        if x > 10.0:
            return super().scaled(x)
        return super().scaled(x) + self.__hidden


def decorated(f):
    def wrapper(*args, **kwargs):
        value = f(*args, **kwargs)
        if value > 100.0:
            value = value * 0.0
        return value

    return wrapper


@decorated
def with_decorator(x, *, by=1.0):
    while x > 4.0:
        x = x - by
    return x


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@pytest.mark.parametrize("x", [20.0, 3.0, -2.0])
def test_functions_of_all_kinds_are_converted_where_they_are_called(x):
    derived = Derived()
    half = 0.5

    def nested(v):
        if v > half:
            v = v * half
        return v

    def f(v):
        a = helper(v) + derived.scaled(v) + derived(v) + Base.still(v) + Base.classy(v)
        b = nested(v) + (lambda w: w if w > half else half)(v) + with_decorator(v, by=0.5)
        return a + b * float(factorial(4))

    both_ways(f, x)


def test_a_function_of_the_library_is_called_as_it_is():
    import textwrap

    from graphad.autograph.call import of

    assert of(textwrap.dedent) is textwrap.dedent
    assert of(tf.reduce_sum) is tf.reduce_sum
    assert of(np.linalg.norm) is np.linalg.norm
    assert of(helper) is not helper


def test_functions_handed_to_graphads_own_loops_are_converted():
    @tf.function
    def f(x):
        mapped = tf.map_fn(helper, x)
        folded = tf.foldl(lambda a, b: a + helper(b), x)
        vectorized = tf.vectorized_map(helper, x)
        return mapped, folded, vectorized

    mapped, folded, vectorized = f(tf.constant([1.0, -2.0, 3.0]))
    assert mapped.numpy().tolist() == vectorized.numpy().tolist() == [1.0, 2.0, 3.0]
    assert folded.numpy() == 6.0


def test_a_layers_call_is_converted():
    class Clipped(tf.keras.layers.Layer):
        def call(self, x):
            if tf.reduce_sum(x) > 1.0:
                x = x / tf.reduce_sum(x)
            return x

    layer = Clipped()
    f = tf.function(layer)
    assert f(tf.constant([1.0, 3.0])).numpy().tolist() == [0.25, 0.75]
    assert f(tf.constant([0.5, 0.25])).numpy().tolist() == [0.5, 0.25]


def test_do_not_convert_leaves_a_function_and_what_it_calls_alone():
    @tf.autograph.experimental.do_not_convert
    def f(x):
        return helper(x)

    assert f(tf.constant(-1.0)).numpy() == 1.0
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(f)(tf.constant(1.0))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(lambda x: f(x) if x > 0.0 else x)(tf.constant(1.0))


# -- state -----------------------------------------------------------------------------------------------------------------


COUNT = 0.0


class Holder:
    def __init__(self):
        self.v = 0.0
        self.inner = None


def test_attributes_items_and_globals_are_carried():
    @tf.function
    def f(x):
        global COUNT
        o, d, l = Holder(), {"k": 0.0, "n": {"m": 1.0}}, [0.0, 1.0]
        COUNT = 0.0
        for v in x:
            if v > 0.0:
                o.v += v
                d["k"] = d["k"] + 2.0 * v
                d["n"]["m"] *= 2.0
            else:
                l[1] = l[1] + v
                COUNT = COUNT + 1.0
        out = o.v, d["k"], d["n"]["m"], l[1], COUNT
        COUNT = 0.0
        return out

    got = f(tf.constant([1.0, -2.0, 3.0]))
    assert [float(y) for y in got] == [4.0, 8.0, 4.0, -1.0, 1.0]


def test_variables_are_assigned_in_order():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        if x > 0.0:
            v.assign_add(x)
        else:
            v.assign(0.0)
        for i in tf.range(3):
            if i == 1:
                continue
            v.assign(v * 2.0 + tf.cast(i, tf.float32))
        return v.read_value()

    assert f(tf.constant(2.0)).numpy() == (3.0 * 2 + 0) * 2 + 2
    assert f(tf.constant(-2.0)).numpy() == 2.0
    assert v.numpy() == 2.0


# -- what is refused -------------------------------------------------------------------------------------------------------


def one_branch(x):
    if x > 0.0:
        y = x
    return y


def test_a_name_set_in_one_branch_only():
    with pytest.raises(ValueError, match=r"'y' must also be initialized in the else branch") as caught:
        tf.function(one_branch)(tf.constant(1.0))
    line = one_branch.__code__.co_firstlineno + 1
    assert any(f"test_behaviour.py:{line} in one_branch" in note for note in caught.value.__notes__)

    def other(x):
        if x > 0.0:
            pass
        else:
            y = x
        return y

    with pytest.raises(ValueError, match=r"'y' must also be initialized in the main branch"):
        tf.function(other)(tf.constant(1.0))


def test_none_on_one_side():
    def f(x):
        y = None
        if x > 0.0:
            y = x
        return y

    with pytest.raises(ValueError, match=r"'y' is None at the end of the else branch"):
        tf.function(f)(tf.constant(1.0))


def test_return_on_one_side():
    def f(x):
        if x > 0.0:
            return x

    with pytest.raises(ValueError, match=r"the else branch must also have a return statement"):
        tf.function(f)(tf.constant(1.0))


def test_dtypes_and_structures_of_the_branches():
    def dtypes(x):
        if x > 0.0:
            y = 1
        else:
            y = 1.0
        return y

    def structures(x):
        if x > 0.0:
            a = (x, x)
        else:
            a = [x]
        return a

    with pytest.raises(
        TypeError, match=r"'y' has dtype int32 in the main branch, but dtype float32 in the else branch"
    ):
        tf.function(dtypes)(tf.constant(1.0))
    with pytest.raises(
        TypeError, match=r"'a' must have the same nested structure in the main and else branches"
    ):
        tf.function(structures)(tf.constant(1.0))


def test_a_loop_variable_that_changes_its_shape_or_dtype():
    def shapes(x):
        for _ in tf.range(3):
            x = tf.concat([x, x], 0)
        return x

    def dtypes(x):
        s = 0
        while x > 0.0:
            x = x - 1.0
            s = tf.cast(s, tf.float32) + 1.0
        return s

    with pytest.raises(
        ValueError, match=r"'x' has shape \(1,\) before the loop, but shape \(2,\) after one iteration"
    ):
        tf.function(shapes)(tf.constant([1.0]))
    with pytest.raises(
        TypeError, match=r"'s' has dtype int32 before the loop, but dtype float32 after one iteration"
    ):
        tf.function(dtypes)(tf.constant(1.0))


def test_a_loop_variable_that_becomes_none_or_another_structure():
    def none(x):
        s = x
        while x > 0.0:
            x = x - 1.0
            s = None
        return s

    def structure(x):
        s = (x, x)
        while x > 0.0:
            x = x - 1.0
            s = (x, x, *s) if len(s) > 5 else (x,)
        return s

    def thing(x):
        s = Holder()
        while x > 0.0:
            x = x - 1.0
            s = Holder()
        return s.v

    with pytest.raises(ValueError, match=r"'s' is None at the end of the iteration"):
        tf.function(none)(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"'s' does not have the same nested structure after one iteration"):
        tf.function(structure)(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"'s' is .* before the loop, but .* after one iteration"):
        tf.function(thing)(tf.constant(1.0))


def test_set_loop_options_names_shapes_that_change():
    @tf.function
    def f(x, n):
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
            x = tf.concat([x, x], 0)
        return x

    assert f(tf.constant([1.0]), tf.constant(3)).numpy().tolist() == [1.0] * 8

    @tf.function
    def g(x):
        while x > 0.0:
            tf.autograph.experimental.set_loop_options(
                maximum_iterations=3, parallel_iterations=1, swap_memory=True
            )
            x = x - 1.0
        return x

    assert g(tf.constant(10.0)).numpy() == 7.0
    assert g(tf.constant(1.5)).numpy() == -0.5

    @tf.function
    def h(x):
        for _ in tf.range(3):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([7]))])
            x = x + 1.0
        return x

    with pytest.raises(
        ValueError, match=r"'x' has shape \(1,\), which its shape invariant \(7,\) does not allow"
    ):
        h(tf.constant([1.0]))


def test_a_name_first_set_inside_of_a_loop():
    @tf.function
    def f(n):
        for i in tf.range(n):
            y = 2 * i
        return y

    assert f(tf.constant(4)).numpy() == 6
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="the loop must iterate at least once to initialize 'y'"
    ):
        f(tf.constant(0))

    @tf.function
    def g(n):
        for i in tf.range(n):
            i = i + 1
        return i

    assert g(tf.constant(4)).numpy() == 4
    assert g(tf.constant(0)).numpy() == 0  # as in TensorFlow, of the element of a range alone

    @tf.function
    def last_of(x):
        for v in x:
            pass
        return v

    assert last_of(tf.constant([4.0, 5.0])).numpy() == 5.0
    with pytest.raises(ValueError, match="to initialize 'v'"):
        last_of(tf.zeros([0]))

    @tf.function
    def nested(n, m):
        total = tf.constant(0.0)
        for _ in tf.range(n):
            k = m
            while k > 0:
                z = tf.cast(k, tf.float32)
                k -= 1
            total += z
        return total

    assert nested(tf.constant(2), tf.constant(3)).numpy() == 2.0
    assert nested(tf.constant(0), tf.constant(0)).numpy() == 0.0  # the loop inside is not met
    with pytest.raises(ValueError, match="to initialize 'z', and it took no step"):
        nested(tf.constant(1), tf.constant(0))

    @tf.function
    def none_before(x):
        last = None
        for v in x:
            last = v * v
        return last

    assert none_before(tf.constant([2.0, 3.0])).numpy() == 9.0
    with pytest.raises(ValueError, match="to initialize 'last'"):
        none_before(tf.zeros([0]))

    @tf.function
    def known(x):
        for _ in tf.range(3):
            y = x + 1.0
            x = y
        for v in x * tf.ones([2]):  # two elements, whatever they are
            z = v
        return y + z

    assert not any(node.op.effects for node in known.get_concrete_function(tf.constant(1.0)).graph.nodes)
    assert known(tf.constant(1.0)).numpy() == 8.0

    @tf.function
    def slope(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            for _ in tf.range(n):
                y = x * x
        return tape.gradient(y, x)

    for _ in range(3):
        assert slope(tf.constant(3.0), tf.constant(2)).numpy() == 6.0
    with pytest.raises(ValueError, match="to initialize 'y'"):
        slope(tf.constant(3.0), tf.constant(0))


def test_a_name_that_a_step_reads_must_be_defined_before_the_loop():
    def f(x):
        while x > 0.0:
            x = x - y  # noqa: F821
            y = 1.0
        return x

    with pytest.raises(ValueError, match=r"'y' must be defined before the loop"):
        tf.function(f)(tf.constant(1.0))

    def g(x):
        for i in tf.range(3):
            if x > 0.0:
                y = x
        return y

    with pytest.raises(ValueError, match=r"'y' must also be initialized in the else branch"):
        tf.function(g)(tf.constant(1.0))


def test_return_inside_of_a_loop():
    @tf.function
    def first_above(x, limit):
        for v in x:
            if v > limit:
                return v
        return -limit

    x = tf.constant([1.0, 5.0, 3.0])
    assert first_above(x, tf.constant(2.0)).numpy() == 5.0
    assert first_above(x, tf.constant(9.0)).numpy() == -9.0

    @tf.function
    def at_once(x):
        while x > 0.0:
            return x
        return 2.0 * x

    assert at_once(tf.constant(3.0)).numpy() == 3.0
    assert at_once(tf.constant(-3.0)).numpy() == -6.0

    @tf.function
    def nested(x):
        for row in x:
            for v in row:
                if v < 0.0:
                    return v
        return 1.0

    assert nested(tf.constant([[1.0, 2.0], [3.0, -4.0]])).numpy() == -4.0
    assert nested(tf.constant([[1.0, 2.0]])).numpy() == 1.0

    def no_value(x):
        for i in tf.range(3):
            if x > tf.cast(i, tf.float32):
                return x

    with pytest.raises(
        NotImplementedError, match=r"a return statement cannot be placed inside this TensorFlow loop"
    ):
        tf.function(no_value)(tf.constant(1.0))


def test_a_return_in_every_step_of_the_last_loop():
    def deep(x, n):
        if x > 0.0:
            for row in tf.range(n):
                for i in tf.range(row + 1):
                    if x > 2.0:
                        return {"y": x * x, "i": i}
                    else:
                        return {"y": x * x * x, "i": i + 7}
        else:
            return {"y": x, "i": n}

    f = tf.function(deep)
    for value, n in ((3.0, 2), (1.5, 1), (-1.0, 0)):
        x, n = tf.constant(value), tf.constant(n)
        with tf.GradientTape() as tape, tf.GradientTape() as eager:
            tape.watch(x)
            eager.watch(x)
            y, z = f(x, n), deep(x, n)
        assert y["y"].numpy() == z["y"].numpy() and y["i"].numpy() == z["i"].numpy()
        assert tape.gradient(y["y"], x).numpy() == eager.gradient(z["y"], x).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="loop must iterate at least once to initialize"):
        f(tf.constant(1.0), tf.constant(0))

    def guarded(x, n):
        with tf.name_scope("outer"):
            for _ in tf.range(n):
                try:
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        y = x * x
                        return tape.gradient(y, x)
                finally:
                    x = -x

    f = tf.function(guarded)
    assert f(tf.constant(3.0), tf.constant(2)).numpy() == 6.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="loop must iterate at least once to initialize"):
        f(tf.constant(3.0), tf.constant(0))

    @tf.function
    def skips(x):
        for i in range(0):
            return x

    assert skips(tf.constant(1.0)) is None

    @tf.function
    def procedure(v, x):
        while v < x:
            v.assign_add(x)
            return

    v = tf.Variable(0.0)
    assert procedure(v, tf.constant(2.0)) is None and v.numpy() == 2.0


def test_a_return_in_the_else_of_the_last_loop():
    def f(x, n):
        for i in tf.range(n):
            if x > tf.cast(i, tf.float32):
                return x + 10.0
            x = x - 1.0
        else:
            return -x

    for x, n in ((1.0, 2), (-2.0, 2), (-2.0, 0)):
        x, n = tf.constant(x), tf.constant(n)
        assert tf.function(f)(x, n).numpy() == f(x, n).numpy()


@pytest.mark.parametrize("shape", [[None], None])
def test_a_truth_value_of_unknown_size_has_one_element_when_it_is_asked(shape):
    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def f(x):
        while x < 3.0 and not x > 7.0:
            x = x + 1.0
        return x if x else -x

    assert f(tf.constant([1.0])).numpy() == [3.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="make one truth value of many"):
        f(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("n", [-1, 0, 3, 7, 20])
def test_names_bound_where_a_tensor_decides_whether(n):
    def loop(n):
        i, y = tf.constant(0), tf.constant(-1)
        while i < n and (y := i * 2) < 10:
            i = i + 1
        return i, y

    def others(n):
        y = z = w = n - 1
        if n > 1 and (y := n * 2) < 10 and (z := y + 1) > 2:
            y = y + z
        a = (w := n + 5) if n > 3 else n
        b = 0 < n < (w := w + 1)
        rows = [n > k and (z := z + k) > 1 for k in range(3)]
        return y, z, w, a, b, rows

    for f in (loop, others):
        for x, z in zip(tf.nest.flatten(tf.function(f)(tf.constant(n))), tf.nest.flatten(f(tf.constant(n)))):
            assert np.array_equal(x, z)

    @tf.function
    def late(n):
        return y if n > 1 and (y := n * 2) < 10 else n

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        late(tf.constant(n))

    @tf.function
    def of_python(n):
        return y if n and (y := n * 2) < 10 else (lambda a: a or (w := a))(n)

    assert of_python(n) == (n * 2 if n and n < 5 else n)


def test_a_bare_return_leaves_a_procedure():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        for value in x:
            if value < 0.0:
                return
            v.assign_add(value)

    f(tf.constant([1.0, 2.0, -1.0, 5.0]))
    assert v.numpy() == 3.0


def test_a_list_that_grew_in_a_loop_over_tensors_cannot_be_used():
    def f(n):
        rows = []
        for i in tf.range(n):
            rows.append(i)
        return tf.stack(rows)

    with pytest.raises(tf.errors.InaccessibleTensorError, match="out of scope"):
        tf.function(f)(tf.constant(3))


def test_without_conversion_a_tensor_decides_nothing():
    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError,
        match=r"Using a symbolic `tf.Tensor` as a Python `bool` is not allowed",
    ):
        tf.function(chosen, autograph=False)(tf.constant(1.0))

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None])])
    def f(x):
        for v in x:
            pass
        return x

    with pytest.raises(TypeError, match=r"Iterating over a symbolic `tf.Tensor` is not allowed"):
        f(tf.constant([1.0]))


def test_a_function_without_source_runs_as_it_is(caplog):
    names = {}
    exec(
        "def f(x, flag):\n    if flag:\n        x = x * 2.0\n    return x if flag else (1.0 if x > 0.0 else 0.0)\n",
        names,
    )
    f = tf.function(names["f"])
    assert f(tf.constant(2.0), True).numpy() == 4.0  # no tensor meets an `if`: nothing to say
    assert "AutoGraph could not transform" not in caplog.text
    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError, match=r"AutoGraph could not transform f and ran it as it is"
    ):
        f(tf.constant(2.0), False)
    exec("def g(x, flag):\n    return x if flag else 0.0\n", names)
    tf.autograph.set_verbosity(1)
    try:
        with caplog.at_level(logging.WARNING, "graphad"):
            tf.function(names["g"])(tf.constant(1.0), True)
    finally:
        tf.autograph.set_verbosity(0)
    assert "AutoGraph could not transform" in caplog.text


def test_raise_in_a_branch_is_raised_while_tracing():
    def f(x):
        if x > 0.0:
            raise KeyError("positive")
        return x

    with pytest.raises(KeyError, match="positive"):
        tf.function(f)(tf.constant(-1.0))


# -- gradients -------------------------------------------------------------------------------------------------------------


def cubed(x):
    y = tf.ones_like(x)
    for _ in tf.range(3):
        y = y * x
    return y


def test_gradients_from_tapes_inside_and_outside():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(cubed)(x)
    assert tape.gradient(y, x).numpy() == 12.0

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cubed(x)
        return tape.gradient(y, x)

    assert inside(x).numpy() == 12.0


def first_number(texts, x):
    for text in texts:
        with contextlib.suppress(ValueError):
            n = int(text)
            break
        if text == "stop":
            with contextlib.suppress(ValueError):
                return x * int(text)
        x = x + 1.0
    else:
        return -x
    return x * n


@pytest.mark.parametrize("texts", [["a", "4"], ["stop", "a"], ["stop", "2"]])
def test_an_exception_that_a_with_swallows_goes_on_behind_it(texts):
    both_ways(lambda x: first_number(texts, x), 2.0)


def one_of_two(x):
    if x > 0.0:
        with tf.name_scope("above"):
            return x * 2.0
    with tf.name_scope("below"):
        return -x


@pytest.mark.parametrize("x", [3.0, -3.0])
def test_a_return_inside_of_with_on_one_side(x):
    both_ways(one_of_two, x)


def named_in_the_test(x):
    while (total := tf.reduce_sum(x)) < 10.0:
        x = x * 2.0
        if total > 7.0:
            break
        if total > 6.0:
            continue
        x = x + 1.0
    else:
        x = -x
    return x * total


@pytest.mark.parametrize("x", [[1.0, 2.0], [1.0, 0.5], [3.0, 4.5], [9.0, 9.0]])
def test_a_while_whose_test_names_a_tensor(x):
    both_ways(named_in_the_test, x)


def read_to_the_end(x):
    asked = []
    numbers = iter([1, 2, 0, 4])

    def following():
        asked.append(next(numbers))
        return asked[-1]

    while number := following():
        x = x + number
    while (number := following()) > 1:
        if number == 4:
            break
    return x * number * len(asked)


def test_a_while_whose_test_names_a_python_value_asks_once_per_step():
    both_ways(read_to_the_end, 2.0)


def test_a_shape_invariant_that_does_not_hold_is_named():
    @tf.function
    def f(n):
        rows = tf.constant([1])
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(rows, tf.TensorShape([1]))])
            rows = tf.concat([rows, [1]], 0)
        return rows

    message = (
        r"'rows' has shape \(2,\) after one iteration, which does not conform with its shape invariant \(1,\)"
    )
    with pytest.raises(ValueError, match=message):
        f(tf.constant(2))
