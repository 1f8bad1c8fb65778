"""Every kind of statement in small functions, in every mode: values, two derivatives, forward mode, rows and files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import namedtuple

import numpy as np
import pytest

import graphad as tf

Pair = namedtuple("Pair", "a b")
CASES = []


@dataclasses.dataclass
class State:
    a: object
    k: int = 2


class Holder:
    pass


def case(f):
    CASES.append(f)
    return f


def halved(x, k):
    if k == 0:
        return x
    if tf.reduce_sum(x) > 1.0:
        return halved(x * 0.5, k - 1)
    return halved(x * x + 0.3, k - 1)


@case
def break_in_else(x, n, p):
    s = tf.zeros_like(x)
    for i in tf.range(10):
        if tf.reduce_sum(s) > 2.0:
            s = s + x
        elif i >= n:
            break
        else:
            s = s + x * x
    return s


@case
def continue_nested(x, n, p):
    s = tf.reduce_sum(x) * 0.0
    for i in tf.range(n + 2):
        if i % 2 == 0:
            continue
        for j in tf.range(3):
            if j == 1:
                continue
            s = s + x[j] * tf.cast(i, tf.float64)
    return s


@case
def return_in_nested_loop(x, n, p):
    for i in tf.range(5):
        for j in tf.range(5):
            if i * j > n:
                return x * tf.cast(i + j, tf.float64)
    return x


@case
def for_else_no_break(x, n, p):
    y = x
    for i in tf.range(4):
        y = y * 1.5
        if i > 10:
            break
    else:
        y = y + 1.0
    return y


@case
def for_else_break(x, n, p):
    y = x
    for i in tf.range(4):
        y = y * 1.5
        if i >= n:
            break
    else:
        y = y + 100.0
    return y


@case
def while_else(x, n, p):
    i = 0
    y = x
    while i < n:
        i += 1
        y = y * x
        if tf.reduce_sum(y) < -1.0:
            break
    else:
        y = y - 3.0
    return y


@case
def py_while_else_tensor_break(x, n, p):
    i = 0
    y = x
    while i < 4:
        i += 1
        y = y + x
        if tf.reduce_max(y) > 2.0:
            break
    else:
        y = y * 10.0
    return y


@case
def try_finally_plain(x, n, p):
    y = x
    try:
        if n > 1:
            y = y * 2.0
        else:
            y = y * 3.0
    finally:
        y = y + 1.0
    return y


@case
def try_except_in_loop(x, n, p):
    y = x
    for k in ["a", 1, 2]:
        try:
            y = y + k
        except Exception:
            y = y * 2.0
    return y


@case
def with_in_loop(x, n, p):
    y = x
    for i in tf.range(n):
        with tf.name_scope("a"):
            if i > 1:
                y = y * x
    return y


@case
def gen_sum(x, n, p):
    def gen():
        for k in range(4):
            yield x * k

    t = x * 0.0
    for g in gen():
        if tf.reduce_sum(g) > 1.0:
            t = t + g
    return t


@case
def comp_closure(x, n, p):
    fs = [lambda v, k=k: v * k for k in range(4)]
    y = x
    for f in fs:
        y = y + f(x)
    return y


@case
def lambdas_late_binding(x, n, p):
    fs = []
    for k in range(4):
        fs.append(lambda v: v * k)  # noqa: B023 - bound late, as Python does
    y = x
    for f in fs:
        y = y + f(x)
    return y


@case
def walrus_if(x, n, p):
    if (s := tf.reduce_sum(x)) > 0:
        return x * s
    return x - s


@case
def walrus_while(x, n, p):
    y = x
    i = 0
    while (s := tf.reduce_sum(y)) < 10.0 and i < 5:
        y = y * y + 1.0
        i += 1
    return y * s


@case
def walrus_comp(x, n, p):
    a = [(t := x * k) * t for k in range(3)]
    return a[0] + a[1] + a[2] + t


@case
def match_int(x, n, p):
    y = x
    for k in range(4):
        match k:
            case 0:
                y = y + 1.0
            case 1 | 2:
                y = y * x
            case _:
                y = y - 2.0
    return y


@case
def match_struct(x, n, p):
    y = x
    for s in [("mul", 2.0), {"add": 3.0}, Pair(1.0, 2.0), [1.0, 2.0, 3.0]]:
        match s:
            case ("mul", k):
                y = y * k
            case {"add": k}:
                y = y + k
            case Pair(a=a, b=b):
                y = y * a + b
            case [first, *rest]:
                y = y + first + sum(rest)
    return y


@case
def match_guard_tensor_body(x, n, p):
    mode = "b"
    match mode:
        case "a":
            y = x
        case "b" if True:
            if n > 1:
                y = x * 2.0
            else:
                y = x * 3.0
        case _:
            y = x
    return y


@case
def starred(x, n, p):
    a, *b = tf.unstack(x)
    if a > 0.0:
        a, *b = [a * 2.0, *b]
    else:
        a, *b = [a * 3.0, *b]
    return tf.stack([a, *b])


@case
def starred_in_loop(x, n, p):
    a, b = x, x * 2.0
    for i in tf.range(n):
        a, b = b, a + b
    return a * b


@case
def aug_attr(x, n, p):
    o = Holder()
    o.v = x
    o.c = 0
    for i in tf.range(n):
        o.v *= x
        o.c += 1
    return o.v + tf.cast(o.c, tf.float64)


@case
def aug_item(x, n, p):
    d = {"a": x, "b": [x, x * 2.0]}
    for i in tf.range(n):
        d["a"] += x
        d["b"][1] *= 2.0
    return d["a"] + d["b"][1]


@case
def aug_item_var_key(x, n, p):
    d = [x, x]
    k = 1
    if n > 1:
        d[k] = d[k] * 5.0
    return d[0] + d[1]


@case
def assigned_by_an_inner_function(x, n, p):
    s = x

    def add():
        nonlocal s
        s = s * 2.0

    for k in range(3):
        if k != 1:
            add()
    return s


@case
def recursion(x, n, p):
    return halved(x, 3)


@case
def dict_mutation(x, n, p):
    d = {}
    for k in range(3):
        d[k] = x * k
        if n > k:
            d[k] = d[k] + 1.0
    return sum(d.values())


@case
def dict_in_tensor_loop(x, n, p):
    d = dict(a=x, b=x * 0.0)  # noqa: C408
    for i in tf.range(n):
        d = dict(a=d["a"] * 1.1, b=d["b"] + d["a"])  # noqa: C408
    return d["b"]


@case
def list_state(x, n, p):
    l = [x, x * 2.0]
    for i in tf.range(n):
        l = [l[1], l[0] + l[1]]
    return l[0] - l[1]


@case
def ta_dynamic(x, n, p):
    ta = tf.TensorArray(tf.float64, size=0, dynamic_size=True, element_shape=[3])
    y = x
    for i in tf.range(n + 1):
        y = y * 1.1
        ta = ta.write(i, y)
    return ta.stack()


@case
def ta_read_back(x, n, p):
    ta = tf.TensorArray(tf.float64, size=5, clear_after_read=False, element_shape=[3])
    ta = ta.write(0, x)
    for i in tf.range(1, 5):
        ta = ta.write(i, ta.read(i - 1) * x)
    return ta.read(4)


@case
def ta_break(x, n, p):
    ta = tf.TensorArray(tf.float64, size=6, element_shape=[3])
    for i in tf.range(6):
        ta = ta.write(i, x * 2.0)
        if i >= n:
            break
    return ta.stack()


@case
def ta_two(x, n, p):
    a = tf.TensorArray(tf.float64, size=n + 1, element_shape=[])
    b = tf.TensorArray(tf.float64, size=n + 1, element_shape=[3])
    for i in tf.range(n + 1):
        if i % 2 == 0:
            a = a.write(i, tf.reduce_sum(x))
            b = b.write(i, x)
        else:
            a = a.write(i, tf.reduce_prod(x))
            b = b.write(i, -x)
    return tf.reduce_sum(a.stack()) * tf.reduce_sum(b.stack(), 0)


@case
def dataclass_py_loop(x, n, p):
    s = State(x)
    for k in range(3):
        s = dataclasses.replace(s, a=s.a * s.k)
    return s.a


@case
def namedtuple_state(x, n, p):
    s = Pair(x, x * 0.0)
    for i in tf.range(n):
        s = Pair(s.a * 1.2, s.b + s.a)
    return s.b


@case
def shape_change(x, n, p):
    y = x
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
        y = tf.concat([y, x[:1] * tf.cast(i, tf.float64)], 0)
    return tf.reduce_sum(y * y)


@case
def zero_trip(x, n, p):
    y = x * 2.0
    for i in tf.range(n * 0):
        y = y * x
    return y


@case
def zero_rows(x, n, p):
    y = x * 3.0
    for r in tf.zeros([0, 3], tf.float64):
        y = y + r
    return y


@case
def rows_loop(x, n, p):
    m = tf.tensordot(x, x, 0)
    y = x * 0.0
    for r in m:
        if tf.reduce_sum(r) > 0.0:
            y = y + r
    return y


@case
def enum_rows(x, n, p):
    m = tf.tensordot(x, x, 0)
    y = x * 0.0
    for i, r in enumerate(m):
        if tf.cast(i, tf.int32) == n:
            y = y + 2.0 * r
        else:
            y = y - r
    return y


@case
def zip_rows(x, n, p):
    y = tf.constant(0.0, tf.float64)
    for a, b in zip(x, x * x):
        if a > b:
            y = y + a
        else:
            y = y + b
    return y


@case
def range_step(x, n, p):
    y = x
    for i in tf.range(10, 0, -3):
        y = y + tf.cast(i, tf.float64) * x
    return y


@case
def chain_compare(x, n, p):
    if 0 <= n < 3:
        return x * 2.0
    return x * 4.0


@case
def and_or_not(x, n, p):
    if (n > 1 and not p) or tf.reduce_sum(x) > 100.0:
        return x + 1.0
    elif p or n < -5:
        return x + 2.0
    return x


@case
def short_circuit(x, n, p):
    if n > 0 and 10 // n > 2:
        return x * 2.0
    return x * 3.0


@case
def ternary_in_loop(x, n, p):
    y = x
    for i in tf.range(4):
        y = y + x if i % 2 == 0 else y * x
    return y


@case
def early_return_chain(x, n, p):
    if n == 0:
        return x
    if n == 1:
        return x * x
    if n == 2:
        return x * x * x
    return tf.sin(x)


@case
def loop_var_after(x, n, p):
    last = tf.constant(-1)
    for i in tf.range(n + 1):
        last = i
    return x * tf.cast(last, tf.float64)


@case
def inner_fn_loop_closure(x, n, p):
    w = x * 2.0

    def g(v):
        for i in tf.range(n):
            v = v + w
        return v

    return g(x)


@case
def decorated(x, n, p):
    def twice(f):
        @functools.wraps(f)
        def g(v):
            return f(f(v))

        return g

    @twice
    def h(v):
        if tf.reduce_sum(v) > 1.0:
            return v * 0.5
        return v + 1.0

    return h(x)


@case
def behind_a_partial(x, n, p):
    def f(a, b, c=1.0):
        if b > 1:
            return a * c
        return a

    return functools.partial(f, c=3.0)(x, n)


@case
def while_true_return(x, n, p):
    y = x
    i = tf.constant(0)
    while True:
        y = y * 1.1
        i += 1
        if i > n:
            return y * 2.0


@case
def two_breaks(x, n, p):
    y = x
    for i in tf.range(10):
        if tf.reduce_sum(y) > 5.0:
            break
        y = y * 2.0 + 0.1
        if i >= n:
            break
        y = y + 0.1
    return y


@case
def continue_then_return(x, n, p):
    for i in tf.range(6):
        if i < n:
            continue
        return x * tf.cast(i, tf.float64)
    return x


@case
def nested_while(x, n, p):
    s = x * 0.0
    i = 0
    while i < n:
        j = 0
        while j < i:
            s = s + x * tf.cast(i * j + 1, tf.float64)
            j += 1
        i += 1
    return s


@case
def break_inner_continue_outer(x, n, p):
    s = x * 0.0
    for i in tf.range(4):
        bad = False
        for j in tf.range(4):
            if i * j > n:
                bad = True
                break
        if bad:
            continue
        s = s + x
    return s


@case
def tuple_state(x, n, p):
    st = (x, (x * 2.0, x * 3.0))
    for i in tf.range(n):
        st = (st[1][0], (st[1][1], st[0]))
    return st[0] - st[1][1]


@case
def none_until(x, n, p):
    best = None
    for k in range(3):
        v = tf.reduce_sum(x) * k
        if best is None:
            best = v
        elif v > best:
            best = v
    return best * x


@case
def bool_state(x, n, p):
    found = False
    for e in x:
        if e < 0.0:
            found = True
    return tf.where(found, x * 2.0, x * 3.0)


@case
def newton(x, n, p):
    a = tf.abs(x) + 1.0
    y = a
    for _ in tf.range(20):
        nx = 0.5 * (y + a / y)
        if tf.reduce_max(tf.abs(nx - y)) < 1e-9:
            break
        y = nx
    return y


@case
def collatz(x, n, p):
    k = n + 6
    c = tf.constant(0)
    while k != 1:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        c += 1
    return x * tf.cast(c, tf.float64)


@case
def early_return_in_with(x, n, p):
    with tf.name_scope("s"):
        if n > 1:
            return x * 2.0
    return x * 3.0


@case
def suppress(x, n, p):
    y = x
    with contextlib.suppress(ValueError):
        y = y * 2.0
        raise ValueError
    if n > 1:
        y = y + 1.0
    return y


@case
def loop_in_branch(x, n, p):
    y = x
    if p:
        for i in tf.range(n):
            y = y * 1.3
    else:
        i = 0
        while i < 3:
            y = y + 1.0
            i += 1
    return y


@case
def branch_returns_tuple(x, n, p):
    def g(v):
        if p:
            return v, v * 2.0
        return v * 3.0, v

    a, b = g(x)
    return a * b


@case
def dict_result(x, n, p):
    def g(v):
        if n > 1:
            return {"a": v, "b": v * v}
        return {"a": v * 2.0, "b": v}

    r = g(x)
    return r["a"] + r["b"]


@case
def init_in_loop_py(x, n, p):
    for k in range(3):
        if k == 0:
            acc = x
        else:
            acc = acc * x
    return acc


@case
def except_else_finally(x, n, p):
    y = x
    for k in range(3):
        try:
            if k == 1:
                raise KeyError
        except KeyError:
            y = y * 2.0
        else:
            y = y + 1.0
        finally:
            y = y * 1.1
    return y


@case
def finally_continue(x, n, p):
    y = x
    for i in range(4):
        try:
            if i == 2:
                continue
            y = y * 2.0
        finally:
            y = y + 1.0
    return y


@case
def stop_gradient_loop(x, n, p):
    y = x
    for i in tf.range(3):
        y = tf.stop_gradient(y) * x
    return y


@case
def custom_grad_in_loop(x, n, p):
    @tf.custom_gradient
    def clip(v):
        return tf.identity(v), lambda g: g * 0.5

    y = x
    for i in tf.range(n):
        y = clip(y * 1.1)
    return y


@case
def tape_in_loop(x, n, p):
    y = x
    for i in tf.range(3):
        with tf.GradientTape() as t:
            t.watch(y)
            l = tf.reduce_sum(y**3)
        y = y - 0.01 * t.gradient(l, y)
    return y


INPUTS = [([0.7, -0.4, 1.2], 2, True), ([-0.3, 0.2, -0.9], 0, False), ([0.7, -0.4, 1.2], 3, False)]
SPECS = [tf.TensorSpec([3], tf.float64), tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.bool)]


def values(f, x, n, p):
    """The result, its derivatives of first and second order, and the one along a direction."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x, n, p)
        slope = inner.gradient(y, x, unconnected_gradients="zero")
    curve = outer.gradient(slope, x, unconnected_gradients="zero")
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, -2.0, 0.5], tf.float64)) as accumulator:
        y = f(x, n, p)
    along = accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [y, slope, curve, along]


def agree(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_traced_is_eager(f):
    traced = tf.function(f)
    for x, n, p in INPUTS:
        x, n, p = tf.constant(x, tf.float64), tf.constant(n), tf.constant(p)
        agree(values(traced, x, n, p), values(f, x, n, p))
    rows = tf.stack([x, 0.5 * x, -x])
    found = tf.vectorized_map(lambda row: traced(row, n, p), rows)
    agree([found], [tf.stack([f(row, n, p) for row in rows])])


@pytest.mark.parametrize("f", CASES[::3], ids=lambda f: f.__name__)
def test_loaded_is_eager(f, tmp_path):
    model = tf.Module()
    model.f = tf.function(f, input_signature=SPECS)
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path).f
    x, n, p = INPUTS[0]
    x, n, p = tf.constant(x, tf.float64), tf.constant(n), tf.constant(p)
    agree(values(loaded, x, n, p), values(f, x, n, p))


def test_rows_of_a_tensor_are_sorted_by_a_key():
    def ordered(x):
        return sorted(x, key=lambda v: -v), sorted(x, key=lambda v: v % 2, reverse=True)

    x = [3, 1, 2, 4]
    found = tf.function(ordered)(tf.constant(x))
    assert [y.numpy().tolist() for y in found] == list(ordered(x))

    rows = [[3, 1], [2, 5], [0, 3]]
    by_last = tf.function(lambda x: sorted(x, key=lambda row: row[1]))
    assert by_last(tf.constant(rows)).numpy().tolist() == sorted(rows, key=lambda row: row[1])
    for refused in (lambda x: sorted(x), lambda x: sorted(x, key=lambda row: row)):
        with pytest.raises(ValueError, match="sorted: a tensor of shape"):
            tf.function(refused)(tf.constant(rows))


def test_a_data_set_of_numbers_may_be_made_where_a_function_is_traced():
    @tf.function
    def total(x):
        for i, v in enumerate(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])):
            x += v * float(i)
        for v in tf.data.Dataset.from_tensors(tf.constant([4.0, 5.0])):
            x += tf.reduce_sum(v)
        return x

    assert float(total(tf.constant(0.5))) == 17.5
    with pytest.raises(ValueError, match="only a `for` statement"):
        tf.function(lambda x: [*tf.data.Dataset.from_tensors(x)])(tf.constant(1.0))
