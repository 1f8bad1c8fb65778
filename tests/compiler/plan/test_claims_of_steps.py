"""What a plan reads and writes by address is compared with what is there: the reach of every step, every host step's result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import native, tiers
from graphad.compiler.plan.executable import executable_of
from graphad.compiler.plan.steps import Place
from graphad.core.bind import bind
from graphad.core.op import Op, define, no_batch, no_gradient, no_rows
from graphad.core.spec import TensorSpec
from graphad.errors import InternalError
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
            tiers._result(found, False, spec)
    np.testing.assert_array_equal(tiers._result(np.ones(3), False, spec), np.ones(3))


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
            unit.loop = kept.replaced(extents=tuple(extents))
            with pytest.raises(InternalError, match="a step reaches bytes"):
                native.bind(compilation.schedule, numbers, compilation.address)
        unit.loop = kept
    native.bind(compilation.schedule, numbers, compilation.address)


def test_a_product_that_would_read_too_far_is_not_bound() -> None:
    x = np.ones((4, 4), np.float32)
    compilation, numbers = plan_of(lambda a, b: tf.sin(a) @ tf.transpose(b), x, x)
    (unit,) = [unit for unit in compilation.schedule.partition.units if unit.kind == "gemm"]
    for k, site in enumerate(list(unit.reads)):
        unit.reads[k] = site.replaced(offset=1)
        with pytest.raises(InternalError, match="a step reaches bytes"):
            native.bind(compilation.schedule, numbers, compilation.address)
        unit.reads[k] = site
    native.bind(compilation.schedule, numbers, compilation.address)


def test_a_kernel_without_elements_reaches_nothing() -> None:
    x = np.ones((0, 3), np.float32)
    for function in (lambda x: tf.sin(tf.transpose(x)), lambda x: tf.sin(x[:, ::-1]), tf.reduce_sum):
        compilation, numbers = plan_of(function, x)
        assert native.bind(compilation.schedule, numbers, compilation.address).call([x]) is not None
