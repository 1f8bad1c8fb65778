"""Units: what is fused, what is kept apart, and what is only another walk over the same storage."""

from __future__ import annotations

import random
from typing import Any

from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.units import Partition, describe
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.ops import math as m
from graphad.ops.array import concat, reverse, roll, split, transpose
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.linalg import matmul
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat


def units_of(function: Any, *shapes: Any) -> Partition:
    graph: Graph = trace_flat(function, [TensorSpec(s) for s in shapes]).graph
    return partition(optimise(specialise(graph, graph.inputs)))


def kinds(found: Partition) -> list[str]:
    return [unit.kind for unit in found.units]


def test_an_elementwise_chain_with_reductions_at_its_end_is_one_loop() -> None:
    found = units_of(
        lambda x, y: [m.reduce_sum(m.tanh(m.multiply(x, y))), m.negative(m.multiply(x, y))], [4, 5], [5]
    )
    assert kinds(found) == ["loop"]
    assert found.units[0].reduced == (0, 1)


def test_what_reads_a_reduction_is_another_loop() -> None:
    found = units_of(lambda x: [m.subtract(x, m.reduce_max(x, axis=1, keepdims=True))], [4, 5])
    assert kinds(found) == ["loop", "loop"]


def test_reductions_over_different_axes_are_two_loops() -> None:
    found = units_of(lambda x: [m.reduce_sum(m.exp(x), axis=0), m.reduce_sum(m.exp(x), axis=1)], [4, 5])
    assert kinds(found) == ["loop", "loop"]


def test_loops_over_the_same_operands_are_merged() -> None:
    found = units_of(lambda x: [m.reduce_sum(x), m.reduce_sum(m.multiply(x, x)), m.exp(x)], [4, 5])
    assert kinds(found) == ["loop"]


def test_loops_that_share_little_of_what_they_read_are_not_merged_without_end() -> None:
    def function(w: Any, scale: Any, *xs: Any) -> list[Any]:
        return [m.multiply(matmul(x, w), scale) for x in xs]

    found = units_of(function, [5, 5], [4, 5], *[[4, 5]] * 10)
    loops = [unit for unit in found.units if unit.kind == "loop"]
    assert len(loops) == 2
    assert all(len(unit.reads) <= 6 for unit in loops)
    assert loops[0].loop.kernel == loops[1].loop.kernel  # type: ignore[union-attr]


def test_loops_over_the_same_many_operands_are_merged() -> None:
    def function(*xs: Any) -> list[Any]:
        return [m.reduce_sum(m.add_n(xs), axis=0), m.exp(m.add_n(xs[:7]))]

    found = units_of(function, *[[4, 5]] * 8)
    assert kinds(found) == ["loop"]


def test_no_loop_depends_on_itself_through_a_product() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        h = m.tanh(x)
        return [m.add(matmul(h, w), m.multiply(h, 2.0))]

    found = units_of(function, [4, 4], [4, 4])
    assert kinds(found) == ["loop", "gemm", "loop"]


def test_views_are_read_in_place() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        return [
            m.add(transpose(x), reshape(y, [5, 4])),
            m.multiply(reverse(x, [0]), broadcast_to(expand_dims(x[0], 0), [4, 5])),
            matmul(x, transpose(x)),
        ]

    found = units_of(function, [4, 5], [20])
    assert "copy" not in kinds(found)
    assert kinds(found).count("gemm") == 1


def test_a_view_that_is_returned_is_copied() -> None:
    assert kinds(units_of(lambda x: [transpose(m.exp(x))], [4, 5])) == ["loop", "copy"]


def test_arrays_are_put_together_and_taken_apart_without_the_host() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        z = concat([x, y], 1)
        a, b = split(z, [2, 8], 1)
        return [m.reduce_sum(a), m.exp(b)]

    assert "host" not in kinds(units_of(function, [4, 5], [4, 5]))


def test_a_region_is_cut_where_it_weighs_too_much() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        for _ in range(70):
            x = m.add(m.multiply(x, y), y)
        return [x]

    found = units_of(function, [4], [4])
    assert kinds(found) == ["loop"] * 2
    assert "loop over (4,)" in describe(found)


def test_a_long_chain_needs_only_a_handful_of_kernels() -> None:
    def chain(length: int) -> Any:
        def function(x: Any, y: Any) -> list[Any]:
            z = x
            for k in range(length):
                z = m.tanh(m.add(m.multiply(z, float(k % 5)), y)) if k % 3 else m.sin(z)
            return [z]

        return function

    for length in (200, 1000):
        loops = units_of(chain(length), [4], [4]).loops
        assert len(loops) > length / 10
        assert len({loop.kernel for loop in loops}) <= 10
        assert all(len(loop.kernel.body) <= 100 for loop in loops)


def test_constants_become_words_of_the_block() -> None:
    found = units_of(lambda x: [m.add(m.multiply(x, 2.5), 3.5)], [4])
    (unit,) = found.units
    assert len(unit.scalars) == 2
    assert len(unit.reads) == 1


def test_a_roll_by_a_known_shift_is_two_copies() -> None:
    found = units_of(lambda x: [m.tanh(roll(m.exp(x), -7, 1))], [4, 5])
    assert kinds(found) == ["loop", "parts", "loop"]
    assert [part.target.shape for part in found.units[1].parts] == [(4, 2), (4, 3)]
    assert len(units_of(lambda x: [roll(x, 10, 1)], [4, 5]).units[0].parts) == 1


def test_the_units_say_why_an_op_is_a_numpy_call() -> None:
    found = units_of(lambda x: [m.tanh(m.cumulative_logsumexp(m.exp(x)))], [4, 5])
    assert kinds(found) == ["loop", "host", "loop"]
    assert "as a NumPy call: each element continues the one before it" in describe(found)


def grown(seed: int) -> Any:
    """A function of two matrices whose steps take any earlier values: loops that products and reductions read and feed."""
    rng = random.Random(seed)

    def function(x: Any, w: Any) -> list[Any]:
        values = [x, w]
        for _ in range(rng.randint(4, 14)):
            a, b = (values[-1 - min(int(rng.expovariate(0.5)), len(values) - 1)] for _ in range(2))
            step = rng.choice((m.add, m.add, m.multiply, matmul, m.tanh, m.exp, summed, turned))
            values.append(step(a, b) if step in (m.add, m.multiply, matmul) else step(a))
        return [*rng.sample(values[2:], min(3, len(values) - 2)), values[-1]]

    return function


def summed(x: Any) -> Any:
    return broadcast_to(m.reduce_sum(x, axis=1, keepdims=True), [4, 4])


def turned(x: Any) -> Any:
    return transpose(x)


def test_no_loop_of_a_grown_graph_depends_on_itself_and_all_run_after_what_they_read() -> None:
    fused = 0
    for seed in range(400):
        found = units_of(grown(seed), [4, 4], [4, 4])  # raises where units form a cycle
        made: set[int] = set()
        for unit in found.units:
            for site in unit.reads:
                assert site.root < found.graph.first_node_value or site.root in made, (seed, describe(found))
            made.update(unit.writes)
            fused += len(unit.nodes) > 2
    assert fused > 250


def test_a_loop_that_is_read_takes_on_nothing_that_could_come_to_depend_on_its_reader() -> None:
    def function(x: Any, w: Any, y: Any) -> list[Any]:
        u, o = m.tanh(x), m.exp(y)
        v = matmul(u, w)
        # In the loop of u the first would make v depend on o, and in that of o the second would make o depend on v.
        return [m.add(u, transpose(o)), m.multiply(o, v)]

    found = units_of(function, [4, 4], [4, 4], [4, 4])
    assert sorted(kinds(found)) == ["gemm", *["loop"] * (len(found.units) - 1)]


def test_loops_of_which_one_is_read_are_merged_only_if_it_depends_on_as_much() -> None:
    def function(x: Any, w: Any, y: Any) -> list[Any]:
        u = m.tanh(x)
        v = matmul(u, w)
        o = m.exp(y)
        other = m.sin(transpose(o))
        # Merging the loops of u and other would make v depend on o, merging those of tanh(v) and o would make o depend on v.
        return [m.add(u, other), m.multiply(m.tanh(v), o)]

    found = units_of(function, [4, 4], [4, 4], [4, 4])
    assert sorted(kinds(found)) == ["gemm", *["loop"] * (len(found.units) - 1)]


def test_loops_that_were_merged_are_read_if_one_of_them_was() -> None:
    def function(x: Any, y: Any, z: Any, w: Any) -> list[Any]:
        u, read = m.tanh(x), m.exp(y)
        v = matmul(read, w)
        first, o, turned_one = m.add(u, read), m.sin(z), m.cosh(z * 2.0)
        second = m.add(first, transpose(turned_one))
        return [second, m.multiply(m.multiply(o, turned_one), v)]

    found = units_of(function, *[[4, 4]] * 4)
    assert sorted(kinds(found)) == ["gemm", *["loop"] * (len(found.units) - 1)]
