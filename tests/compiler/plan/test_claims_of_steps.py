"""What a plan reads and writes by address is compared with what is there: the reach of every step, every host step's result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import rows
from graphad.compiler.cpu.runtime import blas
from graphad.compiler.plan import host, native, places, steps, tiers
from graphad.compiler.plan.executable import executable_of
from graphad.compiler.plan.steps import Place
from graphad.core.bind import bind
from graphad.core.op import Op, define, no_batch, no_gradient, no_rows
from graphad.core.spec import TensorSpec
from graphad.errors import InternalError, InvalidArgumentError, ResourceExhaustedError, UnavailableError
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat


def test_bytes_inside_of_a_storage_may_be_reached() -> None:
    place = Place.of("slab", 0, 64, 32).shifted(8)
    place.check(-8, 24)
    place.check(24, 24)
    place.check(100, 100)  # none


@pytest.mark.parametrize(("first", "end"), [(-9, 0), (0, 25), (24, 25), (-9, 25), (100, 101)])
def test_bytes_outside_of_a_storage_may_not_be_reached(first: int, end: int) -> None:
    with pytest.raises(InternalError, match="a step reaches bytes"):
        Place.of("slab", 0, 64, 32).shifted(8).check(first, end)


def test_slices_of_a_loop_lie_inside_of_what_is_walked_along() -> None:
    stack = Place.of("slab", 0, 0, 32)
    one = stack.moved_by(0, 8, 4, False)
    one.check(0, 8)
    with pytest.raises(InternalError, match="a step reaches bytes"):
        one.check(0, 9)  # the next round's
    with pytest.raises(InternalError, match="a step reaches bytes"):
        stack.moved_by(0, 8, 5, False)


@pytest.mark.parametrize("check", [native.same, native.fit])
@pytest.mark.parametrize("found", [np.zeros(2), np.zeros((3, 1)), np.zeros(3, np.float32), np.float64(0)])
def test_a_host_steps_result_of_another_kind_is_refused(check: Any, found: Any) -> None:
    with pytest.raises(InternalError, match="a step gave shape"):
        check(found, (3,), np.dtype(np.float64))


def test_a_result_of_another_kind_does_not_leave_a_plan() -> None:
    spec = TensorSpec.of((3,), tf.float64)
    for found in (np.zeros(2), np.zeros(3, np.float32)):
        with pytest.raises(InternalError, match="a result has shape"):
            host._result(found, False, spec)
    np.testing.assert_array_equal(host._result(np.ones(3), False, spec), np.ones(3))


@define
class Short(Op):
    """Says that it keeps the shape, and gives one element less."""

    name = "short_for_a_test"

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Any) -> Any:
        return x[:-1]

    vjp = no_gradient("only a test uses it")
    batch = no_batch("only a test uses it")
    rows = no_rows("only a test uses it")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: [bind(Short(), x)],
        lambda x: [bind(Short(), x * 2.0) * 2.0 + x],
        lambda x: [bind(Short(), x), x * 2.0],
    ],
    ids=["alone", "between", "beside"],
)
def test_an_op_that_lies_about_its_shape_is_found_out_in_every_tier(function: Any, compiled: bool) -> None:
    spec = TensorSpec.of((64,), tf.float32)
    graph = specialise(trace_flat(function, [spec], "f", keep_all=True).graph, [spec])
    # On NumPy the next op may be the first to see it, and says so in its own words.
    with pytest.raises(InternalError if compiled else (InternalError, tf.errors.InvalidArgumentError)):
        executable_of(graph).run([np.ones(64, np.float32)], compiled)


def plan_of(function: Any, *values: np.ndarray) -> tuple[Any, Any]:
    """The compilation of a function of these values, and its sizes."""
    specs = [TensorSpec(x.shape, x.dtype) for x in values]
    executable = executable_of(trace_flat(lambda *xs: [function(*xs)], specs).graph)
    executable.run(values, True)
    sizes = executable.sizes_of(values)
    return sizes.size_class.compilation, sizes.numbers


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: tf.sin(x) + 1.0, (4, 6)),
        (lambda x: tf.sin(tf.transpose(x)) + tf.ones((6, 4)), (4, 6)),
        (lambda x: tf.reduce_sum(tf.sin(x), 0), (4, 6)),
        (lambda x: tf.sin(x[::-1]) * 2.0, (9,)),
    ],
    ids=["in a row", "strided", "reduced", "backwards"],
)
def test_a_kernel_that_would_walk_too_far_is_not_bound(function: Any, shape: tuple[int, ...]) -> None:
    compilation, numbers = plan_of(function, np.ones(shape, np.float32))
    native.bind(compilation.schedule, numbers, compilation.address)
    loops = [unit for unit in compilation.schedule.partition.units if unit.loop is not None]
    assert loops
    for unit in loops:
        kept = unit.loop
        for d in range(len(kept.extents)):
            extents = [extent + (k == d) for k, extent in enumerate(kept.extents)]
            unit.loop, unit.inside = kept.replaced(extents=tuple(extents)), None
            with pytest.raises(InternalError, match="a step reaches bytes"):
                native.bind(compilation.schedule, numbers, compilation.address)
        unit.loop = kept
    native.bind(compilation.schedule, numbers, compilation.address)


def looped(x: Any, y: Any) -> Any:
    """A scan beside a loop with a test, which reads what does not change."""
    z = tf.scan(lambda a, e: tf.tanh(a + e), x, y)
    return z + tf.while_loop(lambda a: tf.reduce_sum(a) < 9.0, lambda a: (a * 2.0 + tf.exp(y),), (y,))[0]


SIZED = {
    "in a row": (lambda x, y: tf.sin(x) * y, [(7, 5), (7, 5)]),
    "strided": (lambda x, y: tf.sin(tf.transpose(x)) + y, [(5, 7), (7, 5)]),
    "broadcast": (lambda x, y: tf.exp(x) * y, [(7, 5), (5,)]),
    "backwards": (lambda x, y: tf.sin(x[::-1]) * y, [(7, 5), (7, 5)]),
    "product": (lambda x, y: tf.sin(x) @ y, [(7, 5), (5, 3)]),
    "parts": (lambda x, y: tf.concat([tf.sin(x), y, x[1:]], 0), [(7, 5), (4, 5)]),
    "loop": (lambda x, y: tf.scan(lambda a, e: tf.tanh(a + e), x, y), [(7, 5), (5,)]),
    "loops": (looped, [(7, 5), (5,)]),
}


def sized_plan_of(name: str) -> tuple[Any, Any, list[np.ndarray]]:
    """The compilation of a function of unknown sizes, the numbers of a call, its values."""
    function, shapes = SIZED[name]
    values = [np.ones(shape, np.float32) for shape in shapes]
    specs = [TensorSpec((None,) * x.ndim, x.dtype) for x in values]
    executable = executable_of(trace_flat(lambda *xs: [function(*xs)], specs).graph)
    executable.run(values, True)
    sizes = executable.sizes_of(values)
    return sizes.size_class.compilation, sizes.numbers, values


def native_units(compilation: Any) -> list[Any]:
    return [unit for segment in compilation.schedule.segments if segment.is_native for unit in segment.units]


@pytest.mark.parametrize("name", SIZED)
def test_what_a_plan_reaches_is_shown_in_symbols_when_it_is_bound_to_other_numbers(name: str) -> None:
    compilation, numbers, values = sized_plan_of(name)
    units = native_units(compilation)
    assert units and numbers and all(unit.inside == numbers for unit in units)
    others = {symbol: number + 2 for symbol, number in numbers.items()}
    native.bind(compilation.schedule, others, compilation.address)
    assert all(unit.inside is True for unit in units)
    bound = native.bind(compilation.schedule, numbers, compilation.address)
    assert bound.call(values) is not None


@pytest.mark.parametrize("name", ["in a row", "strided", "broadcast", "backwards"])
def test_a_kernel_that_would_walk_too_far_is_not_bound_to_other_numbers(name: str) -> None:
    compilation, numbers, _ = sized_plan_of(name)
    others = {symbol: number + 2 for symbol, number in numbers.items()}
    for unit in native_units(compilation):
        for d in range(len(unit.loop.extents)):
            extents = [extent + int(k == d) for k, extent in enumerate(unit.loop.extents)]
            kept, unit.loop = unit.loop, unit.loop.replaced(extents=tuple(extents))
            unit.inside = numbers
            with pytest.raises(InternalError, match="a step reaches bytes"):
                native.bind(compilation.schedule, others, compilation.address)
            assert unit.inside is False
            unit.loop = kept


@pytest.mark.parametrize("offset", [1, -1])
@pytest.mark.parametrize("name", ["product", "loop"])
def test_what_reads_beside_its_storage_is_not_bound_to_other_numbers(name: str, offset: int) -> None:
    compilation, numbers, _ = sized_plan_of(name)
    others = {symbol: number + 2 for symbol, number in numbers.items()}
    (unit,) = [unit for unit in native_units(compilation) if unit.kind in ("gemm", "repeat")]
    for k, site in enumerate(unit.reads):
        unit.reads[k], unit.inside = site.replaced(offset=offset), numbers
        with pytest.raises(InternalError, match="a step reaches bytes"):
            native.bind(compilation.schedule, others, compilation.address)
        unit.reads[k] = site


def test_a_part_that_would_be_written_outside_is_not_bound_to_other_numbers() -> None:
    compilation, numbers, _ = sized_plan_of("parts")
    others = {symbol: number + 2 for symbol, number in numbers.items()}
    (unit,) = [unit for unit in native_units(compilation) if unit.kind == "parts"]
    kept = list(unit.parts)
    for k, part in enumerate(kept):
        unit.parts = list(kept)
        unit.parts[k] = part.replaced(
            target=part.target.replaced(offset=part.target.offset + numbers["n0"] * 100)
        )
        unit.inside = numbers
        with pytest.raises(InternalError, match="a step reaches bytes"):
            native.bind(compilation.schedule, others, compilation.address)


def test_a_value_outside_of_a_loop_is_as_large_as_the_value_inside() -> None:
    compilation, numbers, values = sized_plan_of("loops")
    others = {symbol: number + 2 for symbol, number in numbers.items()}
    native.bind(compilation.schedule, others, compilation.address)
    units = [unit for unit in native_units(compilation) if unit.kind == "repeat"]
    assert len(units) == 2 and all(unit.inside is True for unit in units)
    for unit in units:
        repeat = unit.repeat
        given = [(repeat.body, k) for k in (*range(len(repeat.body.graph.inputs)), *repeat.stacked)]
        if repeat.test is not None:
            given += [(repeat.test, k) for k in range(len(repeat.test.graph.inputs))]
        for part, k in given:
            kept = part.specs[k]
            part.specs[k], unit.inside = TensorSpec.of((*kept.dims, 3), kept.dtype), numbers
            with pytest.raises(InternalError, match="a step reaches bytes"):
                native.bind(compilation.schedule, others, compilation.address)
            part.specs[k] = kept
    bound = native.bind(compilation.schedule, numbers, compilation.address)
    assert bound.call(values) is not None


def test_a_product_that_would_read_too_far_is_not_bound() -> None:
    x = np.ones((4, 4), np.float32)
    compilation, numbers = plan_of(lambda a, b: tf.sin(a) @ tf.transpose(b), x, x)
    (unit,) = [unit for unit in compilation.schedule.partition.units if unit.kind == "gemm"]
    for k, site in enumerate(list(unit.reads)):
        unit.reads[k], unit.inside = site.replaced(offset=1), None
        with pytest.raises(InternalError, match="a step reaches bytes"):
            native.bind(compilation.schedule, numbers, compilation.address)
        unit.reads[k] = site
    native.bind(compilation.schedule, numbers, compilation.address)


def test_a_kernel_without_elements_reaches_nothing() -> None:
    x = np.ones((0, 3), np.float32)
    for function in (lambda x: tf.sin(tf.transpose(x)), lambda x: tf.sin(x[:, ::-1]), tf.reduce_sum):
        compilation, numbers = plan_of(function, x)
        assert native.bind(compilation.schedule, numbers, compilation.address).call([x]) is not None


# -- what cannot run natively says why ----------------------------------------------------------------------------------------


def compiled_of(function: Any, *values: np.ndarray) -> Any:
    """The compilation of a function of these values, run once."""
    specs = [TensorSpec(x.shape, x.dtype) for x in values]
    executable = executable_of(trace_flat(lambda *xs: [function(*xs)], specs).graph)
    executable.run(values, True)
    return executable.sizes_of(values).size_class.compilation


def test_a_graph_without_kernels_stays_on_numpy_and_says_so() -> None:
    compilation = compiled_of(lambda x: tf.linalg.eigvals(x), np.eye(3, dtype=np.float32))
    assert compilation.state == tiers.FAILED and "none of its nodes has a kernel" in compilation.reason
    assert compilation.schedule is None


def test_a_kernel_that_no_backend_makes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.compiler.cpu import build

    monkeypatch.setattr(build, "supports", lambda kernel: "no backend for a test")
    compilation = compiled_of(lambda x: tf.sin(x) * 3.25, np.ones((3, 7), np.float32))
    assert compilation.state == tiers.FAILED and "no backend for a test" in compilation.reason


def test_an_error_of_work_apart_from_signals_reaches_the_caller() -> None:
    def work() -> None:
        raise KeyError("of the work")

    with pytest.raises(KeyError, match="of the work"):
        tiers._apart_from_signals(work)


def test_too_little_memory_for_a_plan_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> Any:
        raise MemoryError("none left")

    executable = executable_of(trace_flat(lambda x: [tf.sin(x) * 4.5], [TensorSpec((3,), "float32")]).graph)
    monkeypatch.setattr(type(executable), "_run", none_left)
    with pytest.raises(ResourceExhaustedError, match=r"shape \(3,\) takes 12 bytes.*none left"):
        executable.run([np.ones(3, np.float32)], True)


def test_a_value_of_unknown_rank_has_no_shape_in_a_plan() -> None:
    x = np.ones((4, 6), np.float32)
    compilation, numbers = plan_of(lambda x: tf.sin(x) * 2.5, x)
    bound = native.bind(compilation.schedule, numbers, compilation.address)
    bound.partition.specs.append(TensorSpec(None))
    with pytest.raises(InternalError, match="has no definite shape"):
        bound.shape(len(bound.partition.specs) - 1)


def test_a_status_of_a_native_step_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="the number of steps that the loop was made for"):
        native.failed(rows.WRONG_STEPS)
    with pytest.raises(InvalidArgumentError, match="more steps than the stacks that it iterates over"):
        native.failed(rows.TOO_LONG)
    with pytest.raises(InternalError, match="status 1234"):
        native.failed(1234)


def test_what_is_no_native_unit_has_no_rows_and_what_is_computed_no_constant() -> None:
    x = np.ones((4, 6), np.float32)
    compilation, numbers = plan_of(lambda x: tf.sin(x) * 2.75, x)
    part = compilation.schedule.partition
    scope = steps.Scope(part, numbers, places.Binding(compilation.address, [], numbers))
    (unit,) = part.units
    kind, unit.kind = unit.kind, "host"
    with pytest.raises(InternalError, match="a native segment holds a host unit"):
        scope.make(unit, None)
    unit.kind = kind
    for root in (0, unit.writes[0]):
        with pytest.raises(InternalError, match="has no place"):
            steps.constant_of(part, root, numbers)


def test_a_product_that_no_library_takes_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((4, 4), np.float32)
    compilation, numbers = plan_of(lambda a, b: tf.sin(a @ b) * 1.75, x, x)
    monkeypatch.setattr(blas, "matmul_words", lambda *_, **options: None)
    with pytest.raises(UnavailableError, match="no BLAS takes this matrix product"):
        native.bind(compilation.schedule, numbers, compilation.address)
