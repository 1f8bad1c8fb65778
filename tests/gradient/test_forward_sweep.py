"""Forward mode of every op and of whole programs while sizes or ranks are unknown, to the second order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.gradient import jacobian as jacobians
from graphad.gradient.forward import dual_of
from graphad.gradient.jacobian_plan import Plan
from graphad.gradient.transforms import TRANSFORMS
from graphad.graph.evaluate import evaluate
from graphad.trace.tracer import trace_flat
from tests.support.op_case import OpCase, close, real, spec_of

Accumulator = tf.autodiff.ForwardAccumulator
FAMILIES = ("array", "linalg", "math", "nn", "random")


def _cases() -> list[Any]:
    out, seen = [], {}
    for family in FAMILIES:
        for case in importlib.import_module(f"tests.ops.{family}.cases").CASES:
            seen[case.name] = seen.get(case.name, 0) + 1
            if case.order and case.sources and any(bar is not None for bar in case.cotangents()):
                out.append(pytest.param(case, id=f"{family}-{case.name}-{seen[case.name]}"))
    return out


class Sweep:
    """A case with tangents and cotangents, and its derivatives as functions of (inputs, tangents, cotangents).

    All of them are given as lists of tensors of the current level, and give None where there is no derivative.
    """

    def __init__(self, case: OpCase) -> None:
        self.case = case
        self.arrays = case.arrays
        self.sources = [case.arrays[i] for i in case.sources]
        self.dots = [_like(x, 900 + i) for i, x in enumerate(self.sources)]
        self.bars = case.cotangents()

    def first(self, xs: Any, dots: Any, bars: Any) -> list[Any]:
        with Accumulator([xs[i] for i in self.case.sources], dots) as accumulator:
            ys = self.case.call(*xs)
        return [accumulator.jvp(y) for y in ys]

    def forward_over_forward(self, xs: Any, dots: Any, bars: Any) -> list[Any]:
        with Accumulator([xs[i] for i in self.case.sources], dots) as accumulator:
            first = self.first(xs, dots, bars)
        return [None if y_dot is None else accumulator.jvp(y_dot) for y_dot in first]

    def forward_over_reverse(self, xs: Any, dots: Any, bars: Any) -> list[Any]:
        with Accumulator([xs[i] for i in self.case.sources], dots) as accumulator:
            x_bars = self.case.gradients(xs, bars)
        return [None if x_bar is None else accumulator.jvp(x_bar) for x_bar in x_bars]

    def reverse_over_forward(self, xs: Any, dots: Any, bars: Any) -> list[Any]:
        return self._reverse_over(self.first, bars, xs, dots, bars)

    def reverse_over_reverse(self, xs: Any, dots: Any, bars: Any) -> list[Any]:
        return self._reverse_over(lambda xs, dots, bars: self.case.gradients(xs, bars), dots, xs, dots, bars)

    def _reverse_over(self, inner: Any, upstream: Any, xs: Any, dots: Any, bars: Any) -> list[Any]:
        sources = [xs[i] for i in self.case.sources]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            first = inner(xs, dots, bars)
        pairs = [(y, up) for y, up in zip(first, upstream, strict=True) if y is not None and up is not None]
        if not pairs:
            return [None] * len(sources)
        return tape.gradient([y for y, _ in pairs], sources, output_gradients=[up for _, up in pairs])  # type: ignore[no-any-return]

    def eagerly(self, derivative: Any) -> list[Any]:
        bars = [None if bar is None else EagerTensor(bar) for bar in self.bars]
        return _values(derivative(self.case.tensors(), [EagerTensor(dot) for dot in self.dots], bars))

    def check_traced(self, derivative: Any, specs: Sequence[TensorSpec], want: Sequence[Any]) -> None:
        """The derivative in a graph of inputs with `specs` is what it is eagerly."""
        dot_specs = [specs[i] for i in self.case.sources]
        outputs = self.case.traced(specs).output_specs
        bar_specs = [spec for spec, bar in zip(outputs, self.bars, strict=True) if bar is not None]
        mask: list[bool] = []

        def run(*values: Any) -> list[Any]:
            rest = iter(values[len(specs) :])
            dots = [next(rest) for _ in dot_specs]
            bars = [None if bar is None else next(rest) for bar in self.bars]
            found = derivative(values[: len(specs)], dots, bars)
            mask[:] = [y is not None for y in found]
            return [y for y in found if y is not None]

        graph = trace_flat(run, [*specs, *dot_specs, *bar_specs], "derivative").graph
        operands = [*self.arrays, *self.dots, *[bar for bar in self.bars if bar is not None]]
        found = iter(evaluate(graph, operands))
        _agree([next(found) if there else None for there in mask], want)

    def kinds(self) -> list[list[TensorSpec]]:
        """Inputs of known shapes, of unknown sizes or rank, and all but one known."""
        known = self.case.specs()
        unknown = [TensorSpec.of((None,) * np.ndim(x), spec_of(x).dtype) for x in self.arrays]
        out = [known]
        if "sizes" in self.case.unknown:
            out.append(unknown)
            if len(known) > 1:
                out += [[*known[:k], unknown[k], *known[k + 1 :]] for k in range(len(known))]
        if "rank" in self.case.unknown:
            out.append([TensorSpec.of(None, spec.dtype) for spec in known])
        return out


@pytest.mark.parametrize("case", _cases())
def test_every_op(case: OpCase) -> None:
    sweep = Sweep(case)
    derivatives = [(sweep.first, sweep.eagerly(sweep.first))]
    if case.order > 1:
        second = sweep.eagerly(sweep.reverse_over_reverse)
        for mixed in (sweep.forward_over_reverse, sweep.reverse_over_forward):
            _agree(sweep.eagerly(mixed), second)
            derivatives.append((mixed, second))
        twice = sweep.eagerly(sweep.forward_over_forward)
        close(np.float64(_paired(sweep.bars, twice)), np.float64(_paired(second, sweep.dots)), 1e-8)
        derivatives.append((sweep.forward_over_forward, twice))
    for specs in sweep.kinds():
        for derivative, want in derivatives:
            sweep.check_traced(derivative, specs, want)
        graph = case.traced(specs)
        dual, mask = dual_of(graph, [i in case.sources for i in range(len(specs))], TRANSFORMS)
        y_dots = iter(evaluate(dual, [*case.arrays, *sweep.dots])[len(graph.outputs) :])
        _agree([next(y_dots) if there else None for there in mask], derivatives[0][1])


def _like(x: Any, seed: int) -> Any:
    y = real(*np.shape(x), seed=seed)
    return np.asarray(y + 1j * real(*np.shape(x), seed=seed + 50) if x.dtype.kind == "c" else y)[()]


def _values(tensors: Sequence[Any]) -> list[Any]:
    return [None if x is None else tf.convert_to_tensor(x).numpy() for x in tensors]


def _agree(found: Sequence[Any], want: Sequence[Any]) -> None:
    for a, b in zip(found, want, strict=True):
        if a is None or b is None:
            assert not np.any(a if b is None else b)
        else:
            close(a, b, 1e-9)


def _paired(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    pairs = zip(xs, ys, strict=True)
    return sum(float(np.sum(np.real(np.conj(x) * y))) for x, y in pairs if x is not None and y is not None)


# -- programs ------------------------------------------------------------------------------------------------------------


@tf.function
def inner(x):
    return tf.sin(x) * tf.reduce_sum(x, 0, keepdims=True)


def _custom(rule: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    @tf.custom_gradient
    def custom(x):
        return tf.sin(x), lambda upstream: rule(upstream, x)

    return lambda x: custom(x) * x


@tf.function
def scaled(upstream, x):
    return upstream * tf.cos(x) + tf.reduce_sum(upstream * x, 0, keepdims=True)


def while_halved(upstream, x):
    def step(i, up):
        return i + 1, 0.5 * up * tf.cos(x) + tf.reduce_mean(up, 1, keepdims=True)

    return tf.while_loop(lambda i, up: i < 2, step, (tf.constant(0), upstream))[1]


def gradient_of_inner(upstream, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = inner(x)
    return tape.gradient(y, x, output_gradients=upstream)


def slopes(x, method):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.tanh(x) * tf.reduce_sum(x, 1, keepdims=True)
    return getattr(tape, method)(y, x)


def looped(x, more, limit=5):
    def step(i, y):
        return i + 1, 1.3 * y + tf.cos(x) * tf.reduce_sum(y, 1, keepdims=True)

    return tf.while_loop(more, step, (tf.constant(0), x), maximum_iterations=limit)[1]


PROGRAMS = {
    "broadcast": lambda x: x * tf.reduce_sum(x, 1, keepdims=True) + tf.reduce_max(x, 1, keepdims=True),
    "outer": lambda x: tf.expand_dims(x, 1) * tf.expand_dims(x, 0),
    "gram": lambda x: tf.einsum("ij,kj->ik", x, tf.sin(x)) @ tf.matmul(x, x, transpose_b=True),
    "shapes": lambda x: tf.reshape(tf.transpose(tf.reshape(x, [-1]) ** 2), tf.shape(x)),
    "pieces": lambda x: tf.concat([x[::-1, ::2], x[:, 1:] * tf.gather(x, [0, 2], axis=1)], 0),
    "tiles": lambda x: tf.pad(tf.tile(x * x, [tf.shape(x)[0], 2]), [[1, 1], [0, 2]]),
    "segments": lambda x: tf.math.unsorted_segment_sum(x * x, tf.range(tf.shape(x)[0]) % 2, 2),
    "masked": lambda x: tf.boolean_mask(x, x > 0) ** 2,
    "diagonals": lambda x: tf.linalg.diag(x * x) + tf.linalg.band_part(x[:, :, None] * x[:, None, :], 0, 1),
    "function": lambda x: inner(inner(x) + x),
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: inner(x), lambda: x * tf.cos(x)),
    "counted_loop": lambda x: looped(x, lambda i, y: i < 3),
    "loop_over_rows": lambda x: looped(x, lambda i, y: i < tf.shape(x)[0]),
    "loop_by_value": lambda x: looped(x, lambda i, y: tf.reduce_sum(y * y) < 10.0),
    "scan": lambda x: tf.scan(
        lambda a, row: a * tf.cos(row), tf.concat([x, x], 0), initializer=tf.ones([3], x.dtype)
    ),
    "vectorized_map": lambda x: tf.vectorized_map(lambda row: tf.tanh(row) * tf.reduce_sum(row), x),
    "gradient": lambda x: gradient_of_inner(x * x, x),
    "jacobian": lambda x: slopes(x, "jacobian"),
    "batch_jacobian": lambda x: slopes(x, "batch_jacobian"),
    "custom_plain": _custom(lambda upstream, x: upstream * tf.cos(x)),
    "custom_function": _custom(scaled),
    "custom_cond": _custom(
        lambda upstream, x: tf.cond(tf.reduce_sum(x) > 0, lambda: scaled(upstream, x), lambda: upstream)
    ),
    "custom_loop": _custom(while_halved),
    "custom_gradient": _custom(gradient_of_inner),
}


def _pushed(f: Any, x: Any, v: Any) -> Any:
    with Accumulator(x, v) as accumulator:
        y = f(x)
    return accumulator.jvp(y, unconnected_gradients="zero")


def _hessian_vector(f: Any, x: Any, v: Any) -> Any:
    with Accumulator(x, v) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        x_bar = tape.gradient(y, x, unconnected_gradients="zero")
    return accumulator.jvp(x_bar, unconnected_gradients="zero")


def _jacobian(f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, unconnected_gradients="zero")


@pytest.mark.parametrize("dims", [[None, 3], [None, None]], ids=["rows", "sizes"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program(name: str, dims: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = PROGRAMS[name]
    spec = tf.TensorSpec(dims, tf.float64)
    traced = tf.function(f, input_signature=[spec])
    inside = tf.function(lambda x, v: _pushed(f, x, v), input_signature=[spec, spec])
    jacobian_inside = tf.function(lambda x: _jacobian(f, x), input_signature=[spec])
    hessian_inside = tf.function(lambda x, v: _hessian_vector(f, x, v), input_signature=[spec, spec])
    for rows in (3, 1, 0):
        x, v = (tf.constant(np.asarray(real(rows, 3, seed=seed))) for seed in (rows, rows + 10))
        monkeypatch.setattr(jacobians, "plan_jacobian", lambda *_: Plan(False, 1000))
        reverse = _jacobian(f, x).numpy()
        want = np.tensordot(reverse, v.numpy(), 2)
        for y_dot in (_pushed(f, x, v), _pushed(traced, x, v), inside(x, v)):
            close(y_dot.numpy(), want, 1e-10)
        close(jacobian_inside(x).numpy(), reverse, 1e-10)
        monkeypatch.setattr(jacobians, "plan_jacobian", lambda *_: Plan(True, 1000))
        close(_jacobian(f, x).numpy(), reverse, 1e-10)
        first = _hessian_vector(f, x, v).numpy()
        for second in (_hessian_vector(traced, x, v), hessian_inside(x, v)):
            close(second.numpy(), first, 1e-10)


def test_float32_stays_float32() -> None:
    spec = tf.TensorSpec([None, None], tf.float32)
    x, v = (tf.constant(np.asarray(real(2, 3, seed=seed)), tf.float32) for seed in (0, 1))
    for name, f in PROGRAMS.items():
        traced = tf.function(f, input_signature=[spec])
        y_dot = _pushed(traced, x, v)
        assert y_dot.dtype == tf.float32, name
        wide = _pushed(f, tf.cast(x, tf.float64), tf.cast(v, tf.float64)).numpy()
        close(y_dot.numpy(), wide, 1e-4, True)


def test_a_rule_that_reads_values_of_its_upstream_gradient_is_refused() -> None:
    def steered(upstream, x):
        return tf.cond(tf.reduce_sum(upstream) > 0, lambda: upstream, lambda: 2.0 * upstream)

    def counted(upstream, x):
        return tf.while_loop(
            lambda up: tf.reduce_sum(up * up) > 1.0, lambda up: (0.5 * up,), (upstream,), maximum_iterations=9
        )[0]

    clipped = tf.function(lambda upstream, x: tf.clip_by_norm(upstream, 0.5))
    x = tf.constant(np.asarray(real(2, 3)))
    for rule in (steered, counted, clipped, lambda upstream, x: tf.where(upstream > 0, upstream, 0.0 * x)):
        f = _custom(rule)
        traced = tf.function(f, input_signature=[tf.TensorSpec([None, None], tf.float64)])
        for g in (f, traced):
            with pytest.raises(tf.errors.NonlinearGradientError, match=r"'[^:]*custom' is not linear"):
                _pushed(g, x, x)
