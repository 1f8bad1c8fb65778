"""Compiled graphs give the reference's answers, at every size, from every thread, and compile nothing for a new size."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphad.compiler.plan import buffers, tiers
from graphad.compiler.plan.executable import HOT_CALLS, Executable, executable_of, run
from graphad.core.bind import bind
from graphad.core.flags import flags
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.ops import math as m
from graphad.ops.array import transpose
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.reshape import reshape
from graphad.ops.state.variables import ASSIGN, READ
from graphad.trace.tracer import trace_flat
from tests.compiler import graphs


def traced(function: Any, *shapes: Any, dtype: str = "float32") -> Graph:
    return trace_flat(function, [TensorSpec(s, dtype) for s in shapes]).graph


def is_native(executable: Executable, values: Any) -> bool:
    return executable.sizes_of(values).native is not None


def check(graph: Graph, values: Any, native: bool = True) -> Executable:
    wanted = evaluate(graph, values)
    executable = Executable(graph)
    with np.errstate(all="ignore"):
        first = executable.run(values, False)
        compiled = executable.run(values, True)
        again = executable.run(values, True)
    for a, b, c, d in zip(wanted, first, compiled, again, strict=True):
        graphs.close(np.asarray(a), np.asarray(b))
        graphs.close(np.asarray(a), np.asarray(c))
        np.testing.assert_array_equal(c, d)
    if native:
        compilation = executable.sizes_of(values).size_class.compilation
        assert is_native(executable, values), compilation.reason
    return executable


@settings(max_examples=40)
@given(
    graphs.steps,
    graphs.sizes,
    graphs.sizes,
    graphs.sizes,
    st.integers(1, 3),
    st.booleans(),
    st.integers(0, 99),
)
def test_random_graphs_agree_with_the_reference(
    plan: Any, a: int, b: int, c: int, n_outputs: int, double: bool, seed: int
) -> None:
    dtype = "float64" if double else "float32"
    specs = [TensorSpec([None, None], dtype), TensorSpec([None, None], dtype), TensorSpec([], dtype)]
    graph = graphs.build(plan, specs, n_outputs)
    executable = Executable(graph)
    for first, second in ((a, b), (c, b)):
        values = graphs.inputs(graph, {0: first, 1: second}, seed)
        with np.errstate(all="ignore"):
            try:
                wanted = evaluate(graph, values)
            except ValueError:
                return  # an extreme of nothing
            host = executable.run(values, False)
            native = executable.run(values, True)
        for x, y, z in zip(wanted, host, native, strict=True):
            graphs.close(np.asarray(x), np.asarray(y), 50)
            graphs.close(np.asarray(x), np.asarray(z), 50)


def test_scalars_come_back_as_numpy_scalars() -> None:
    graph = traced(lambda x, y: [m.add(m.multiply(x, y), x), m.reduce_sum(x)], [], [])
    executable = check(graph, [np.float32(2), np.float32(3)])
    out = executable.run([np.float32(2), np.float32(3)])
    assert type(out[0]) is np.float32
    assert out[0] == 8


def test_a_new_size_compiles_nothing() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        h = m.tanh(m.multiply(x, w))
        return [m.reduce_mean(m.square(h)), m.reduce_sum(h, axis=0)]

    graph = traced(function, [None, 4], [4])
    executable = Executable(graph)
    counts = []
    for batch in (7, 9, 64, 33):
        values = [np.ones((batch, 4), "float32"), np.ones(4, "float32")]
        executable.run(values, True)
        assert is_native(executable, values)
        counts.append(len(executable.classes))
    assert counts == [1, 1, 1, 1]
    cls = executable.classes[0]
    assert len(cls.compilation.addresses) == len(cls.compilation.kernels())


def test_outputs_never_alias_inputs_constants_or_each_other() -> None:
    def function(x: Any) -> list[Any]:
        y = m.add(x, 1.0)
        return [x, y, y, reshape(y, [6]), transpose(y), broadcast_to(y, [2, 2, 3]), reshape(x, [3, 2])]

    graph = traced(function, [2, 3])
    x = np.arange(6, dtype="float32").reshape(2, 3)
    executable = check(graph, [x])
    for jit in (False, True):
        outputs = executable.run([x], jit)
        for k, a in enumerate(outputs):
            assert not np.shares_memory(a, x)
            for b in outputs[:k]:
                assert not np.shares_memory(a, b)


def test_results_of_one_call_survive_the_next() -> None:
    graph = traced(lambda x: [m.multiply(m.add(x, 1.0), 2.0)], [None])
    executable = Executable(graph)
    x = np.arange(100_000, dtype="float32")
    first = executable.run([x], True)[0]
    kept = first.copy()
    executable.run([x + 1], True)
    np.testing.assert_array_equal(first, kept)


def test_large_results_nobody_refers_to_are_used_again() -> None:
    pool = buffers.ResultPool()
    first = pool.take((1000, 100), np.dtype("float32"))
    where, view = first.ctypes.data, first[3:]
    del first
    assert pool.take((1000, 100), np.dtype("float32")).ctypes.data != where
    del view
    assert pool.take((1000, 100), np.dtype("float32")).ctypes.data == where


def test_storage_is_shared_only_by_values_that_do_not_live_at_once() -> None:
    rng = np.random.default_rng(5)
    lives = []
    for _ in range(200):
        first = int(rng.integers(0, 50))
        lives.append(buffers.Life(int(rng.integers(1, 500)), first, first + int(rng.integers(0, 8))))
    offsets, total = buffers.place(lives)
    assert total < sum(life.size for life in lives)
    for i, a in enumerate(lives):
        assert offsets[i] % buffers.ALIGNMENT == 0
        assert offsets[i] + a.size <= total
        for j, b in enumerate(lives[:i]):
            if a.first <= b.last and b.first <= a.last:
                assert offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]


def test_arguments_that_are_not_contiguous_are_served() -> None:
    graph = traced(lambda x: [m.add(x, x)], [None, None])
    executable = Executable(graph)
    x = np.arange(12, dtype="float32").reshape(3, 4)
    executable.run([x], True)
    np.testing.assert_array_equal(executable.run([x.T.copy().T], True)[0], x + x)
    np.testing.assert_array_equal(executable.run([np.repeat(x, 2, 1)[:, ::2]], True)[0], x + x)


def test_variables_are_read_and_assigned_in_program_order() -> None:
    def function(v: Any, x: Any) -> list[Any]:
        a = bind(READ, v)
        bind(ASSIGN, v, m.add(a, x))
        b = bind(READ, v)
        bind(ASSIGN, v, m.multiply(b, b))
        return [a, b, m.subtract(b, a)]

    specs = [HandleSpec([3], "float32"), TensorSpec([3], "float32")]
    graph = trace_flat(function, specs, keep_all=True).graph
    for jit in (False, True):
        executable = Executable(graph)
        start = np.array([1, 2, 3], "float32")
        handle = Handle(start, specs[0], True)
        x = np.array([1, 1, 2], "float32")
        a, b, c = executable.run([handle, x], jit)
        np.testing.assert_array_equal(a, [1, 2, 3])
        np.testing.assert_array_equal(b, [2, 3, 5])
        np.testing.assert_array_equal(c, [1, 1, 2])
        np.testing.assert_array_equal(handle.data, [4, 9, 25])
        np.testing.assert_array_equal(start, [1, 2, 3])
        executable.run([handle, x], jit)
        np.testing.assert_array_equal(handle.data, [25, 100, 729])
        if jit:
            assert is_native(executable, [handle, x])


def test_host_steps_stand_between_native_ones() -> None:
    from graphad.ops.math import cumsum

    def function(x: Any) -> list[Any]:
        y = cumsum(m.multiply(x, x), axis=0)
        return [m.add(y, x), m.reduce_sum(y)]

    graph = traced(function, [None, 3])
    check(graph, [np.arange(12, dtype="float32").reshape(4, 3)])


def test_integers_and_bools_agree_bit_for_bit() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        c = m.less(x, y)
        return [
            m.where(c, m.add(x, y), m.multiply(x, y)),
            m.logical_not(c),
            m.reduce_sum(x, axis=0),
            m.reduce_any(c),
        ]

    for dtype in ("int32", "int64", "uint8"):
        graph = traced(function, [None, 3], [None, 3], dtype=dtype)
        rng = np.random.default_rng(3)
        check(graph, [rng.integers(0, 100, (5, 3)).astype(dtype) for _ in range(2)])


def test_two_threads_share_one_executable() -> None:
    graph = traced(lambda x: [m.reduce_sum(m.tanh(x)), m.multiply(x, 2.0)], [None])
    executable = Executable(graph)
    x = [np.full(500, k, "float32") for k in range(4)]
    executable.run([x[0]], True)
    failures: list[Any] = []

    def work(k: int) -> None:
        for _ in range(300):
            total, twice = executable.run([x[k]])
            if not np.isclose(total, 500 * np.tanh(k), rtol=1e-5) or not (twice == 2 * k).all():
                failures.append((k, total))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_hot_plan_switches_by_itself_and_a_cold_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = traced(lambda x: [m.add(m.multiply(x, x), 1.0)], [None])
    executable = Executable(graph)
    x = [np.ones(4, "float32")]
    executable.run(x)
    compilation = executable.sizes_of(x).size_class.compilation
    assert compilation.state is None
    for _ in range(HOT_CALLS):
        executable.run(x)
    assert compilation.state is not None
    done = threading.Event()
    while compilation.state == tiers.WAITING:
        done.wait(0.01)
    assert compilation.state == tiers.READY
    np.testing.assert_array_equal(executable.run(x)[0], np.full(4, 2, "float32"))
    assert is_native(executable, x)


def test_never_means_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "jit", "never")
    executable = Executable(traced(lambda x: [m.add(x, x)], [None]))
    for _ in range(10):
        executable.run([np.ones(3, "float32")])
    assert executable.sizes_of([np.ones(3, "float32")]).size_class.compilation.state is None


def test_a_kernel_that_cannot_be_made_leaves_numpy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from graphad.compiler.cpu import build

    def broken(kernel: Any) -> Any:
        raise build.CompileError("no")

    monkeypatch.setattr(build, "find", broken)
    executable = Executable(traced(lambda x: [m.add(x, x)], [None]))
    np.testing.assert_array_equal(executable.run([np.ones(3, "float32")], True)[0], [2, 2, 2])
    assert executable.sizes_of([np.ones(3, "float32")]).size_class.compilation.state == tiers.FAILED
    (told,) = caplog.records  # who waits for compiled code is told that there is none
    assert told.levelname == "WARNING" and "runs on NumPy: CompileError: no" in told.getMessage()


def test_the_executable_goes_with_its_graph() -> None:
    import gc
    import weakref

    graph = traced(lambda x: [m.add(x, x)], [None])
    run(graph, [np.ones(3, "float32")])
    assert executable_of(graph) is executable_of(graph)
    reference = weakref.ref(executable_of(graph))
    del graph
    gc.collect()
    assert reference() is None


def test_errors_name_the_traced_line() -> None:
    graph = traced(lambda x, y: [m.add(x, y)], [None], [None])
    with pytest.raises(ValueError, match="Incompatible shapes") as caught:
        Executable(graph).run([np.ones(3, "float32"), np.ones(4, "float32")])
    assert any("test_executable" in note for note in caught.value.__notes__)
