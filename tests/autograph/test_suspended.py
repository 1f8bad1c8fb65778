"""Generators and coroutines in traced functions.

What lies between two yields is converted; whether there is a yield is Python's to decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import linecache
import random
import re

import numpy as np
import pytest

import graphad as tf
from tests.support.random_control_flow import Box, Writer, helper

x3 = np.array([1.0, 2.0, 3.0], np.float32)


def larger(rows):
    for row in tf.unstack(rows):
        if row > 1.5:
            y = row * row
        else:
            y = -row
        yield y


def doubled(x):
    while x < 10.0:
        x = x * 2.0
    yield x
    total = 0.0
    for k in tf.range(3):
        if k == 2:
            break
        total = total + x
    yield total


def test_branches_and_loops_between_yields_are_staged():
    @tf.function
    def f(x, start):
        return [*larger(x), *doubled(start)]

    found = f(tf.constant(x3), tf.constant(1.0))
    np.testing.assert_allclose([y.numpy() for y in found], [-1.0, 4.0, 9.0, 16.0, 32.0])
    found = f(tf.constant(-x3), tf.constant(3.0))
    np.testing.assert_allclose([y.numpy() for y in found], [1.0, 2.0, 3.0, 12.0, 24.0])
    assert f.experimental_get_tracing_count() == 1


def test_derivatives_pass_through_generators():
    @tf.function
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.add_n(list(larger(x)))
            slope = tape.gradient(y, x)
        return slope, outer.gradient(slope, x)

    slope, second = f(tf.constant(x3))
    np.testing.assert_allclose(slope, [-1.0, 4.0, 6.0])
    np.testing.assert_allclose(second, [0.0, 2.0, 2.0])


def test_a_generator_within_a_saved_function(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: tf.stack(list(larger(x))), input_signature=[tf.TensorSpec([3])])
    tf.saved_model.save(module, str(tmp_path / "m"))
    again = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_allclose(again.f(tf.constant(x3)), [-1.0, 4.0, 9.0])


def test_send_throw_return_and_close():
    log = []

    def running(scale):
        total = 0.0
        try:
            while True:
                value = yield total
                if value is None:
                    return total * scale
                if value > 1.5:
                    total = total + value
        finally:
            log.append("closed")

    def outer(x):
        result = yield from running(2.0)
        yield result + x[0]

    @tf.function
    def f(x):
        steps = outer(x)
        next(steps)
        for row in tf.unstack(x):
            steps.send(row)
        return steps.send(None)

    assert f(tf.constant(x3)).numpy() == 11.0
    assert log == ["closed"]

    @tf.function
    def g(x):
        steps = running(1.0)
        next(steps)
        steps.send(x[1])
        try:
            steps.throw(KeyError("k"))
        except KeyError:
            return x * 3.0
        return x

    np.testing.assert_allclose(g(tf.constant(x3)), 3.0 * x3)
    assert log == ["closed"] * 2


def test_methods_inner_generators_and_expressions():
    class Counter:
        def __init__(self):
            self.seen = 0.0

        def rows(self, x):
            for row in x:
                if row > 1.5:
                    self.seen = self.seen + 1.0
                yield (row if row > 2.5 else -row), self.seen

    @tf.function
    def f(x):
        counter = Counter()

        def squares():
            for value, seen in counter.rows(x):
                low = value < 0.0
                if low:
                    value = value * 10.0
                yield value + seen

        rows = (y if not y > 4.0 else y + 100.0 for y in squares())
        return tf.stack(list(rows))

    np.testing.assert_allclose(f(tf.constant(x3)), [-10.0, -19.0, 105.0])


def branch(x):
    for row in tf.unstack(x):
        if row > 1.5:
            yield row  # in the branch


def either(x):
    if x[0] > 0.0:
        yield x
    else:
        yield -x


def leaves(x):
    yield x
    if x[0] > 0.0:
        return
    yield -x


def skips(x):
    for row in tf.unstack(x):
        if row > 1.5:
            continue
        yield row


def repeats(x):
    while x[0] < 10.0:
        x = x * 2.0
        yield x


def steps(x):
    for k in range(tf.cast(x[0], tf.int32)):
        yield x[k]


def stops(x):
    for k in range(3):
        yield x[k]
        if x[k] > 1.5:
            break


@pytest.mark.parametrize(
    "generator, said",
    [
        (branch, "^if: .*`yield tf.where"),
        (either, "^if: "),
        (leaves, "^if: "),
        (skips, "^if: "),
        (repeats, "^while: "),
        (steps, r"^for: the first size of this tensor, \(None,\)"),
        (stops, "^break: "),
    ],
)
def test_a_tensor_that_would_decide_about_a_yield_is_refused(generator, said):
    @tf.function
    def f(x):
        return list(generator(x))

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=said) as caught:
        f(tf.constant(x3))
    first = generator.__code__.co_firstlineno
    line = int(re.search(r"test_suspended.py:(\d+) in " + generator.__name__, str(caught.value))[1])
    assert first < line <= first + 5
    assert len(list(generator(tf.constant(x3)))) > 0  # with values it runs


def test_filters_of_comprehensions_name_the_cure():
    @tf.function
    def f(x):
        return [row for row in tf.unstack(x) if row > 1.5]

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="boolean_mask"):
        f(tf.constant(x3))


@tf.function
def context_function(x):
    @contextlib.contextmanager
    def scaled(y):
        if y[0] > 0.0:
            y = y * 2.0
        yield y

    with scaled(x) as y:
        return y


def test_context_managers_made_of_generators():
    np.testing.assert_allclose(context_function(tf.constant(x3)), 2.0 * x3)
    np.testing.assert_allclose(context_function(tf.constant(-x3)), -x3)


def driven(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


def test_coroutines_that_a_traced_function_drives():
    class Pause:
        def __await__(self):
            yield

    async def clipped(x):
        if x[0] > 1.0:
            x = x / x[0]
        await Pause()
        while x[1] < 4.0:
            x = x * 2.0
        return x if x[2] > 0.0 else -x

    async def both(x):
        async with contextlib.AsyncExitStack():
            return await clipped(x) + await clipped(x + 1.0)

    @tf.function
    def f(x):
        return driven(both(x))

    wanted = driven(both(tf.constant(x3)))
    np.testing.assert_allclose(f(tf.constant(x3)), wanted)
    np.testing.assert_allclose(f(tf.constant(-x3[::-1] + 7.0)), driven(both(tf.constant(-x3[::-1] + 7.0))))

    async def late(x):
        if x[0] > 0.0:
            await Pause()
        return x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"^if: .*`await`"):
        tf.function(lambda x: driven(late(x)))(tf.constant(x3))


def test_a_traced_function_is_no_generator_and_no_coroutine(recwarn):
    @tf.function
    def rows(x):
        yield x

    @tf.function
    async def later(x):
        return x

    @tf.function
    async def steps(x):
        yield x

    for f, kind in ((rows, "generator"), (later, "coroutine"), (steps, "asynchronous generator")):
        with pytest.raises(TypeError, match=f"is .*{kind}.*def") as caught:
            f(tf.constant(x3))
        assert "test_suspended.py" in str(caught.value)
    assert not recwarn.list  # no coroutine was made and forgotten


# -- conversion keeps what Python means ---------------------------------------------------------------------------------


def with_yields(seed, kind):
    """A random program that yields, or awaits, before some of its statements."""
    draw = random.Random(seed + 1000)
    lines = []
    for number, line in enumerate(Writer(seed).source().splitlines()):
        indent = line[: len(line) - len(line.lstrip())]
        if number > 4 and not line.lstrip().startswith(("elif", "else")) and draw.random() < 0.3:
            target = draw.choice(["a", "b", "c"])
            if kind == "generator":
                lines.append(f"{indent}{target} = yield {target}")
            elif kind == "coroutine":
                lines.append(f"{indent}{target} = await pause({target})")
            else:
                lines.append(f"{indent}yield {target}")
                lines.append(f"{indent}await pause({target})")
        if kind == "asynchronous" and line.lstrip().startswith("return"):
            line = f"{indent}return"
        lines.append(line)
    if kind != "generator":
        lines[0] = f"async {lines[0]}"
    elif not any("yield" in line for line in lines):
        lines.append("    yield a")
    if kind == "asynchronous":
        lines.append("    yield b")
    source = "\n".join(lines) + "\n"
    name = f"<random {kind} {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"helper": helper, "pause": Pause, "__name__": "random_suspended"}
    exec(compile(source, name, "exec"), names)
    return names["program"]


class Pause:
    """What is awaited: hands its value out, and what it is sent back."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value)


def played(made, kind, x, y, n, flag):
    """All that a generator or coroutine hands out, and its result."""
    out = []
    if kind == "asynchronous":

        async def collected():
            return [value async for value in made(tf, x, y, n, flag, Box(y * 1.5))]

        running = collected()
    else:
        running = made(tf, x, y, n, flag, Box(y * 1.5))
    try:
        value = running.send(None)
        while True:
            out.append(value)
            value = running.send(value * 0.5)
    except StopIteration as end:
        return [*out, *(end.value if isinstance(end.value, list) else [end.value])]


@pytest.mark.parametrize("kind", ["generator", "coroutine", "asynchronous"])
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_converted_generators_and_coroutines_do_what_python_does(first, kind):
    refused = 0
    for seed in range(first, first + 20):
        made = with_yields(seed, kind)
        converted = tf.autograph.to_graph(made)
        draw = np.random.default_rng(seed)
        flag = seed % 2 == 0
        x, y = tf.constant(draw.normal(size=3)), tf.constant(draw.normal(), tf.float64)
        n = tf.constant(int(draw.integers(0, 4)))
        wanted = [None if v is None else v.numpy() for v in played(made, kind, x, y, n, flag)]
        found = [None if v is None else v.numpy() for v in played(converted, kind, x, y, n, flag)]
        assert found == wanted, f"{kind} {seed}"
        try:  # and while it is traced: the same, or refused by name
            traced = tf.function(lambda x, y, n, made=made, flag=flag: played(made, kind, x, y, n, flag))(
                x, y, n
            )
        except tf.errors.OperatorNotAllowedInGraphError as error:
            assert re.match(r"(if|while|for|break): ", str(error)), f"{kind} {seed}: {error}"
            refused += 1
            continue
        assert len(traced) == len(wanted), f"{kind} {seed}"
        for a, b in zip(traced, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=f"{kind} {seed}")
    assert refused < 20


def test_asyncio_runs_converted_coroutines_outside_of_traces():
    async def doubled(x):
        await asyncio.sleep(0)
        return x * 2.0 if x > 0.0 else x

    made = tf.autograph.to_graph(doubled)
    assert asyncio.run(made(tf.constant(3.0))).numpy() == 6.0


def test_an_event_loop_in_a_traced_function_runs_in_the_trace():
    async def doubled(x):
        await asyncio.sleep(0)
        if x > 0.0:
            x = x * 2.0
        return x

    async def both(x):
        return sum(await asyncio.gather(doubled(x), doubled(-x)))

    @tf.function
    def f(x):
        return asyncio.run(both(x))

    for x in (3.0, -4.0):
        assert f(tf.constant(x)).numpy() == abs(x)
    with tf.GradientTape() as tape:
        x = tf.constant(3.0)
        tape.watch(x)
        y = asyncio.run(both(x * x))
    assert tape.gradient(y, x).numpy() == 6.0
    assert tf.vectorized_map(
        lambda r: asyncio.run(doubled(r)), tf.constant([1.0, -1.0])
    ).numpy().tolist() == [2.0, -1.0]


def test_a_task_that_outlives_the_trace_it_was_made_in_is_not_in_it():
    loop = asyncio.new_event_loop()
    tasks = []

    async def later(event):
        await event.wait()
        return tf.executing_eagerly(), tf.constant(1.0) + 1.0

    async def start(event):
        tasks.append(asyncio.ensure_future(later(event)))
        await asyncio.sleep(0)
        return tf.executing_eagerly()

    async def finish(event):
        event.set()
        return await tasks[0]

    event = asyncio.Event()
    inside = []

    @tf.function
    def f(x):
        inside.append(loop.run_until_complete(start(event)))
        return x

    f(tf.constant(1.0))
    eagerly, y = loop.run_until_complete(finish(event))
    loop.close()
    assert inside == [False] and eagerly and y.numpy() == 2.0
