"""Loops that NumPy walks: what a round costs, and how they go on in native code."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cache import KernelCache, use_cache
from graphad.compiler.plan import executable as executables
from graphad.compiler.plan import host, known, rounds, tiers
from graphad.compiler.plan.executable import HOT_WORK, Executable
from graphad.compiler.plan.host import RUNS, HostPlan
from graphad.compiler.plan.rounds import ROUNDS, in_rounds
from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate, work
from graphad.graph.ir import Graph
from graphad.ops import math as m
from graphad.trace.tracer import trace_flat
from tests.support.work import calls_in

LINES = 30  # ops of a round, more than a short one has


def _long_round(x: Any) -> Any:
    for _ in range(LINES):
        x = m.add(m.multiply(x, 0.5), 1.0)
    return x


def _graph(*dims: Any) -> Graph:
    return trace_flat(lambda x: [_long_round(x)], [TensorSpec(dims, "float64")]).graph


@pytest.fixture(autouse=True)
def used_devices() -> None:
    """As after the first use of a device: rounds of values on the CPU cost no more than before."""
    importlib.import_module("graphad.devices.run")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the graphs for which compiling was requested; nothing is compiled."""
    found: list[str] = []
    monkeypatch.setattr(tiers.Compilation, "ask", lambda self, numbers: found.append(self.graph.name))
    return found


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A mark for each round that NumPy computes without a look."""
    found: list[int] = []
    run = HostPlan.run_part

    def noted(self: HostPlan, values: Any) -> Any:
        found.append(1)
        return run(self, values)

    monkeypatch.setattr(HostPlan, "run_part", noted)
    return found


def _calls_of_rounds(function: Any, *more: Any) -> float:
    """The calls that one round of a loop makes, after both lengths have run before."""
    few, many = tf.constant(400), tf.constant(800)
    for _ in range(2):
        function(few, *more), function(many, *more)
    return (calls_in(lambda: function(many, *more)) - calls_in(lambda: function(few, *more))) / 400


def test_a_round_of_few_ops_makes_a_call_for_each(asked: list[str]) -> None:
    @tf.function
    def collatz(n: Any, x: Any) -> Any:
        for i in tf.range(n):
            if x > 1.0:
                x = x * 0.5
            else:
                x = x + 3.0 * tf.cast(i, tf.float64)
        return x

    assert _calls_of_rounds(collatz, tf.constant(7.0, tf.float64)) <= 3  # a cast, and nothing for the `if`


def test_a_round_of_many_ops_makes_a_few_calls_besides(asked: list[str]) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            x = tf.sqrt(_long_round(x))
        return x

    # the root, its round, the walk over the nodes with NumPy's settings asked for, put and put back, and shares of the looks
    assert _calls_of_rounds(f, tf.ones([3], tf.float64)) <= 13


def test_a_short_branch_in_a_long_round_is_no_run_of_a_graph(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    run = Executable.run

    def noted(self: Executable, *arguments: Any) -> Any:
        runs.append(1)
        return run(self, *arguments)

    monkeypatch.setattr(Executable, "run", noted)

    @tf.function
    def f(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            if tf.reduce_sum(x) > 5.0:
                x = tf.math.cumsum(x) * 0.25
            x = _long_round(x)
        return x

    x = tf.ones([3], tf.float64)
    f(tf.constant(100), x)
    runs.clear()
    y = f(tf.constant(100), x)
    assert len(runs) < 20  # the looks
    wanted = x
    for _ in range(100):
        wanted = _long_round(tf.math.cumsum(wanted) * 0.25 if float(tf.reduce_sum(wanted)) > 5.0 else wanted)
    np.testing.assert_array_equal(y.numpy(), wanted.numpy())


def test_a_branch_that_gives_back_an_operand_gives_a_copy() -> None:
    @tf.function
    def f(x: Any, more: Any) -> Any:
        return tf.cond(more, lambda: x, lambda: tf.reshape(x, [3])), _long_round(x)

    x = tf.constant(np.arange(3.0))
    for more in (True, False) * 20:
        y = f(x, tf.constant(more))[0]
        np.testing.assert_array_equal(y.numpy(), np.arange(3.0))
        assert not np.shares_memory(y.data, x.data)


def test_a_short_branch_in_long_rounds_gives_a_copy_of_an_operand(asked: list[str]) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        y = z = x
        for i in tf.range(n):
            y = _long_round(y)
            z = x if i % 2 > 0 else tf.math.cumsum(y)
        return tf.math.cumsum(y), z

    x = tf.constant(np.arange(3.0))
    for n in range(30, 60):
        y, z = f(tf.constant(n), x)
        wanted = x if n % 2 == 0 else y
        np.testing.assert_array_equal(z.numpy(), wanted.numpy())
        assert not np.shares_memory(z.data, x.data)


def test_rounds_compute_what_runs_compute_and_go_over_to_a_function(
    asked: list[str], parts: list[int]
) -> None:
    def long_round(x: Any) -> list[Any]:
        size = m.cast(tf.size(x), "float64")  # computed once for each size
        return [_long_round(x) + size]

    graph = trace_flat(long_round, [TensorSpec((None,), "float64")]).graph
    executable = Executable(graph)
    run = in_rounds(executable.graph, executable, None)
    rng = np.random.default_rng(0)
    for k in range(2 * RUNS + 40):
        x = rng.normal(size=2 if k % 40 == 39 else 3)  # now and then of another shape
        np.testing.assert_array_equal(run(x)[0], evaluate(graph, [x])[0])
    assert len(parts) > RUNS
    sizes = executable.sizes_of([np.ones(3)])
    assert sizes.host._function is not None


def test_rounds_of_shapes_of_which_one_has_native_code(parts: list[int]) -> None:
    executable = Executable(_graph(None))
    run = in_rounds(executable.graph, executable, None)
    small, large = np.ones(2), np.ones(3)
    wanted = [run(x)[0] for x in (small, large)]
    sizes = executable.sizes_of([small])
    executable.run([small], True)  # compiled in this call
    assert sizes.native is not None or sizes.size_class.requested is not None
    assert executable.on_host([small], None) is None
    for _ in range(3):
        for x, y in zip(
            (large, small, large, large), (wanted[1], wanted[0], wanted[1], wanted[1]), strict=True
        ):
            np.testing.assert_array_equal(run(x)[0], y)
            for size_class in executable.classes:
                size_class.work = 0
    assert parts


def test_a_loop_goes_on_in_native_code_once_it_is_there(parts: list[int]) -> None:
    executable = Executable(_graph(4))
    run = in_rounds(executable.graph, executable, None)
    x = np.ones(4)
    for _ in range(5):
        wanted = run(x)[0]
    assert len(parts) == 4
    assert executable.sizes_of([x]).size_class.compilation.wait()
    for _ in range(ROUNDS + 1):
        np.testing.assert_array_equal(run(x)[0], wanted)
    parts.clear()
    for _ in range(50):
        np.testing.assert_array_equal(run(x)[0], wanted)
    assert not parts


def test_rounds_of_other_settings_look_each_time(parts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "ROUNDS", 0)  # as a profile does
    executable = Executable(_graph(4))
    run = in_rounds(executable.graph, executable, None)
    for _ in range(40):
        run(np.ones(4))
    assert not parts
    monkeypatch.undo()
    variable = tf.Variable(np.zeros(4))

    @tf.function
    def f(n: Any) -> Any:
        for _ in tf.range(n):
            variable.assign(_long_round(variable + tf.numpy_function(np.sort, [variable], tf.float64)))
        return variable.read_value()

    f(tf.constant(50))
    assert not parts  # what assigns is guarded in each round


def test_an_error_of_a_late_round_names_the_op_and_the_line() -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        for i in tf.range(n):
            x = _long_round(x)
            x = x + tf.gather(tf.constant([1.0, 2.0], tf.float64), tf.maximum(i - 900, 0))  # of two
        return x

    f(tf.constant(10), tf.ones([3], tf.float64))
    with pytest.raises(InvalidArgumentError, match=r"gather: .*\n?(.*\n)*.*test_rounds.py:\d+ in f"):
        f(tf.constant(1000), tf.ones([3], tf.float64))


def test_work_is_counted_in_nodes_and_asks_for_code(asked: list[str]) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            x = x * 0.5 + 1.0
        return x

    x = tf.ones([3], tf.float64)
    before = work.nodes
    f(tf.constant(1000), x)
    assert 2000 <= work.nodes - before <= 4000
    assert asked == []
    f(tf.constant(HOT_WORK), x)
    assert asked == ["f"]


def test_parts_ask_by_their_work_and_not_by_the_number_of_rounds(asked: list[str]) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            x = tf.sqrt(_long_round(x))
        return x

    x = tf.ones([3], tf.float64)
    f(tf.constant(100), x)
    f(tf.constant(100), x)
    assert asked == []
    f(tf.constant(HOT_WORK // LINES), x)
    assert "body" in asked


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[KernelCache]:
    found = KernelCache(tmp_path)
    use_cache(found)
    yield found
    use_cache(None)


def _looping() -> Graph:
    def f(x: Any) -> list[Any]:
        return list(tf.while_loop(lambda i, x: i < 2000, lambda i, x: (i + 1, x * 0.5 + 1.0), (0, x)))

    return trace_flat(f, [TensorSpec((3,), "float64")]).graph


def test_a_second_call_waits_for_a_plan_whose_code_is_known(cache: KernelCache) -> None:
    graph, x = _looping(), np.ones(3)
    first = Executable(graph)
    wanted = first.run([x])
    first.run([x])
    sizes = first.sizes_of([x])
    assert sizes.size_class.requested is None  # nobody has compiled it before
    first.run([x], True)
    assert known.is_marked(sizes.size_class.graph, first.options, first.place)

    again = Executable(graph)
    again.run([x])
    assert again.sizes_of([x]).size_class.requested is None
    found = again.run([x])
    assert again.sizes_of([x]).native is not None
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_plan_that_does_not_come_is_not_waited_for(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, x = _looping(), np.ones(3)
    assert Executable(graph).run([x], True)
    monkeypatch.setattr(tiers, "_background", lambda task: None)
    monkeypatch.setattr(tiers, "_MOST_FOR_A_PLAN", 0.0)
    again = Executable(graph)
    for _ in range(2):
        found = again.run([x])
    np.testing.assert_array_equal(found[0], 2000)
    assert again.sizes_of([x]).native is None


def test_a_plan_that_costs_more_than_the_call_is_not_begun(
    cache: KernelCache, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, x = _looping(), np.ones(3)
    assert Executable(graph).run([x], True)
    monkeypatch.setattr(known, "NODES", 1_000_000)
    again = Executable(graph)
    for _ in range(2):
        again.run([x])
    monkeypatch.setattr(known, "NODES", 1)
    monkeypatch.setattr(executables, "LOOPING", 1_000_000)
    again = Executable(graph)
    for _ in range(2):
        again.run([x])
    assert asked == []


def test_large_constants_are_not_read_for_a_mark() -> None:
    numbers = np.ones(1 << 18)
    graph = trace_flat(lambda x: [m.add(x, numbers)], [TensorSpec((1 << 18,), "float64")]).graph
    assert known._key(graph, executables.Options(), "cpu:0") is None


def test_slices_of_unknown_number_do_not_hold_what_they_are_views_of() -> None:
    from graphad.ops.control.stacks import apart_from

    whole = np.ones((1000, 10))
    part = apart_from(whole[3])
    assert part.base is None
    np.testing.assert_array_equal(part, np.ones(10))
    assert apart_from(whole) is whole
    same = whole.reshape(-1)
    assert apart_from(same) is same


def test_printed_steps_have_the_bits_of_the_walk() -> None:
    graph = trace_flat(
        lambda x, y: [m.divide(m.negative(x), y), m.where(m.less(x, y), x, y), *tf.math.top_k(x, 2)],
        [TensorSpec((5,), "float64"), TensorSpec((5,), "float64")],
    ).graph
    plan = host.HostPlan(graph, {})
    x, y = np.array([1.0, -0.0, np.nan, np.inf, 2.0]), np.array([0.0, 0.0, 1.0, -np.inf, 3.0])
    with np.errstate(all="ignore"):
        found = plan._printed(2)(x, y)
    for a, b in zip(found, plan.run([x, y]), strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()


def test_printed_steps_read_again_in_the_next_run_what_depends_only_on_sizes() -> None:
    def steps(x: Any) -> list[Any]:
        ramp = tf.range(tf.shape(x)[0])
        return [x + tf.cast(ramp, x.dtype), tf.cast(ramp * 2, x.dtype)]

    graph = trace_flat(steps, [TensorSpec((None,), "float64")]).graph
    executable = Executable(graph)
    plan = executable.sizes_of([np.ones(3)]).host
    function, x = plan._printed(1), np.ones(3)
    for _ in range(3):
        for a, b in zip(function(x), plan.run([x]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_native_code_may_come_in_any_round() -> None:
    graph = _graph(4)
    x = np.linspace(-1.0, 1.0, 4)
    wanted = evaluate(graph, [x])[0]
    for arrival in range(ROUNDS + 4):
        executable = Executable(graph)
        run = in_rounds(executable.graph, executable, None)
        for k in range(2 * ROUNDS + 4):
            if k == arrival:
                assert executable.sizes_of([x]).size_class.compilation.wait()
            np.testing.assert_array_equal(run(x)[0], wanted)
        assert executable.sizes_of([x]).native is not None


@pytest.mark.parametrize("jit_compile", [True, False])
def test_what_the_user_asks_for_holds_in_each_round(jit_compile: bool, parts: list[int]) -> None:
    executable = Executable(_graph(4))
    run = in_rounds(executable.graph, executable, jit_compile)
    x = np.linspace(-1.0, 1.0, 4)
    wanted = evaluate(executable.graph, [x])[0]
    for k in range(ROUNDS + 4):
        if k == 3:
            executable.sizes_of([x]).size_class.compilation.wait()
        np.testing.assert_array_equal(run(x)[0], wanted)
    assert bool(parts) is not jit_compile


def test_rounds_look_again_where_a_variable_has_another_shape() -> None:
    variable = tf.Variable(np.ones(3), shape=[None])

    @tf.function(input_signature=[tf.TensorSpec([4], "float64")])
    def f(x: Any) -> Any:
        ramp = tf.range(1.0, tf.cast(tf.size(variable), "float64") + 1.0, dtype="float64")
        return _long_round(x) + tf.reduce_sum(variable * ramp)

    graph = f.get_concrete_function().graph
    run = in_rounds(graph, Executable(graph), False)
    x = np.linspace(-1.0, 1.0, 4)
    for size in (3, 3, 2, 2, 5, 3):
        variable.assign(np.ones(size))
        found = run(*[variable if spec.is_handle else x for spec in graph.inputs])[0]
        np.testing.assert_array_equal(found, f(tf.constant(x)).numpy())


def test_a_round_that_is_interrupted_leaves_the_function_as_it_was(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            x = tf.sqrt(_long_round(x))
        return x

    x, settings = tf.ones([3], tf.float64), np.geterr()
    wanted = [f(tf.constant(n), x).numpy() for n in (40, 60)]
    left, run_part = [0], HostPlan.run_part

    def interrupted(self: HostPlan, values: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return run_part(self, values)

    with monkeypatch.context() as patch:
        patch.setattr(HostPlan, "run_part", interrupted)
        for k in (1, 2, ROUNDS, 35):
            left[0] = k
            with pytest.raises(KeyboardInterrupt):
                f(tf.constant(60), x)
    assert np.geterr() == settings
    for n, y in zip((40, 60), wanted, strict=True):
        np.testing.assert_array_equal(f(tf.constant(n), x).numpy(), y)
