"""`OpCase`: one call of a public function, and every agreement between its rules that can be checked from it.

A family of ops has a table `CASES` in tests/ops/<family>/cases.py; `agreements(CASES)` gives pytest one test per case and
agreement. The numbers of a case are float64 (or complex128), so that finite differences are meaningful.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from graphad.compiler.plan.executable import executable_of
from graphad.core.bind import verify_outputs
from graphad.core.convert import lift
from graphad.core.errors import OutOfRangeError
from graphad.core.nest import flatten
from graphad.core.op import MIXED, evaluated
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.gradient.forward import ForwardAccumulator
from graphad.gradient.tape import GradientTape
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.ops import operators  # noqa: F401  gives tensors their operators
from graphad.trace.numbered import with_sizes
from graphad.trace.specialise import specialise, specialise_call
from graphad.trace.tracer import trace_flat
from graphad.vectorize.vectorized_map import vectorized_map
from tests.support.bits import assert_same_bits, exact_natively

STEP = 1e-6


def run_time_shapes(graph: Graph) -> list[str]:
    """The nodes of a specialised graph that only compute shapes: they read shapes, or leave a size open that does not depend on
    a run-time value.
    """
    found = []
    specs = graph.specs
    for node in graph.nodes:
        if not all(is_definite(specs[i].dims) for i in node.inputs):
            continue  # behind a mask
        reads_shapes = bool(node.inputs) and node.op.by_value == () and not node.op.effects
        is_open = not all(is_definite(spec.dims) for spec in node.specs)
        at_run_time = [i for i in node.inputs if not len(graph.inputs) <= i < graph.first_node_value]
        decided = any(specs[i].dtype.numpy.kind in "iub" for i in at_run_time)
        if reads_shapes or (is_open and not decided and not node.op.structured):
            found.append(repr(node.op))
    return found


def _generator(*key: Any) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """Uniform float64 numbers."""
    return _array(_generator("real", shape, seed).uniform(low, high, shape))


def positive(*shape: int, seed: int = 0) -> Any:
    """Numbers between 0.3 and 2.5."""
    return real(*shape, low=0.3, high=2.5, seed=seed)


def unit(*shape: int, seed: int = 0) -> Any:
    """Numbers inside (-1, 1)."""
    return real(*shape, low=-0.9, high=0.9, seed=seed)


def complex_(*shape: int, seed: int = 0) -> Any:
    """Complex128 numbers."""
    return _array(real(*shape, seed=seed) + 1j * real(*shape, seed=seed + 1000))


def integer(*shape: int, low: int = -5, high: int = 6, dtype: Any = np.int32, seed: int = 0) -> Any:
    """Integers from low to high - 1."""
    return _array(_generator("integer", shape, seed).integers(low, high, shape).astype(dtype))


def boolean(*shape: int, seed: int = 0) -> Any:
    """True and False at random."""
    return _array(_generator("boolean", shape, seed).random(shape) < 0.5)


def _array(x: Any) -> Any:
    array = np.asarray(x)
    return array if array.ndim else array[()]


class OpCase:
    """One call, checked in every way that applies.

    Args:
      function: A public function of graphad.
      inputs: Its positional arguments. Arrays and NumPy scalars, also inside lists, become tensors; all else is passed as it is.
      expected: An independent formula: NumPy inputs to the NumPy result (or a list of results).
      order: The number of derivatives to check; 0 means that the gradient is None.
      unknown: Whether the function can be traced with unknown "sizes" and unknown "rank".
      batched: Whether rows can be stacked.
      compiled: Whether to compare with compiled code.
      float32: Whether the case also makes sense in float32.
      tolerance: Relative and absolute, for derivatives.
      label: Added to the name of the test.
      attributes: Keyword arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *inputs: Any,
        expected: Callable[..., Any] | None = None,
        order: int = 2,
        unknown: Sequence[str] = ("sizes", "rank"),
        batched: bool = True,
        compiled: bool = True,
        float32: bool = True,
        tolerance: float = 1e-5,
        label: str = "",
        **attributes: Any,
    ) -> None:
        self.function = function
        self.expected = expected
        self.order = order
        self.unknown = tuple(unknown)
        self.batched = batched
        self.compiled = compiled
        self.float32 = float32
        self.tolerance = tolerance
        self.attributes = attributes
        flat, self._rebuild = flatten(inputs)
        self._flat = flat
        self._places = [i for i, x in enumerate(flat) if isinstance(x, np.ndarray | np.generic)]
        self.arrays = [flat[i] for i in self._places]
        shown = ", ".join(f"{key}={value}" for key, value in attributes.items())
        shapes = "x".join(str(tuple(np.shape(x))) for x in self.arrays)
        self.name = (
            f"{function.__name__}-{shapes}" + (f"-{shown}" if shown else "") + (f"-{label}" if label else "")
        )

    def __repr__(self) -> str:
        return self.name

    # -- running ---------------------------------------------------------------------------------------------------

    def call(self, *tensors: Any) -> list[Any]:
        """The results, as a flat list, for tensors in place of the case's arrays."""
        flat = list(self._flat)
        for place, x in zip(self._places, tensors, strict=True):
            flat[place] = x
        out = self.function(*self._rebuild(flat), **self.attributes)
        return [lift(y) for y in flatten(out)[0]]

    def tensors(self, arrays: Sequence[Any] | None = None) -> list[EagerTensor]:
        return [EagerTensor(x) for x in (self.arrays if arrays is None else arrays)]

    def values(self, arrays: Sequence[Any] | None = None) -> list[Any]:
        """The results as NumPy values."""
        return [y.data for y in self.call(*self.tensors(arrays))]

    @property
    def sources(self) -> list[int]:
        """The arrays that can have a gradient."""
        return [i for i, x in enumerate(self.arrays) if x.dtype.kind in "fc"]

    def cotangents(self, seed: int = 0) -> list[Any]:
        """Random cotangents, None for results that cannot have any."""
        out: list[Any] = []
        for k, y in enumerate(self.values()):
            if y.dtype.kind not in "fc":
                out.append(None)
                continue
            make = complex_ if y.dtype.kind == "c" else real
            out.append(_array(np.asarray(make(*np.shape(y), seed=seed + 17 * k + 5)).astype(y.dtype)))
        return out

    def gradients(self, tensors: Sequence[Any], bars: Sequence[Any], poison: bool = False) -> list[Any]:
        """The cotangents of the source tensors, at the current level, slices as dense tensors."""
        with GradientTape() as tape:
            if poison:
                tape.drop_above = -1
            sources = [tensors[i] for i in self.sources]
            tape.watch(sources)
            outputs = self.call(*tensors)
        pairs = [(y, bar) for y, bar in zip(outputs, bars, strict=True) if bar is not None]
        if not pairs:
            return [None] * len(sources)
        found = tape.gradient([y for y, _ in pairs], sources, output_gradients=[bar for _, bar in pairs])
        return [None if x_bar is None else lift(x_bar) for x_bar in found]

    def gradient_values(self, arrays: Sequence[Any], bars: Sequence[Any], poison: bool = False) -> list[Any]:
        bars = [None if bar is None else EagerTensor(bar) for bar in bars]
        return [
            None if g is None else lift(g).data for g in self.gradients(self.tensors(arrays), bars, poison)
        ]

    def traced(self, specs: Sequence[TensorSpec] | None = None) -> Graph:
        specs = self.specs() if specs is None else specs
        return trace_flat(lambda *xs: self.call(*xs), specs, self.function.__name__).graph

    def traced_gradient(self, specs: Sequence[TensorSpec], bar_specs: Sequence[Any]) -> Graph:
        """The graph from inputs and cotangents to the gradients, zeros where there is none."""
        given = [spec for spec in bar_specs if spec is not None]

        def run(*xs: Any) -> list[Any]:
            rest = list(xs[len(specs) :])
            bars = [None if spec is None else rest.pop(0) for spec in bar_specs]
            return [g for g in self.gradients(xs[: len(specs)], bars) if g is not None]

        return trace_flat(run, [*specs, *given], "gradient").graph

    def specs(self) -> list[TensorSpec]:
        return [x.spec for x in self.tensors()]

    def second(self, xs: Sequence[Any]) -> list[Any]:
        """The gradient of the gradient by the sources and the cotangent, which comes last."""
        tensors, bar = xs[:-1], xs[-1]
        sources = [tensors[i] for i in self.sources]
        with GradientTape() as tape:
            tape.watch([*sources, bar])
            first = [g for g in self.gradients(tensors, [bar]) if g is not None]
        return [lift(g) for g in tape.gradient(first, [*sources, bar]) if g is not None] if first else []

    # -- agreements ------------------------------------------------------------------------------------------------

    def check_formula(self) -> None:
        """The result equals the independent formula."""
        want = self.expected(*self.arrays)  # type: ignore[misc]
        wanted = list(want) if isinstance(want, list | tuple) else [want]
        for y, z in zip(self.values(), wanted, strict=True):
            assert np.shape(y) == np.shape(z), f"shape {np.shape(y)}, the formula's is {np.shape(z)}"
            close(y, z, 1e-12)

    def check_infer(self) -> None:
        """`infer` and `eval` agree for every op of the call, and the graph gives what the eager call gives."""
        graph = self.traced()
        outputs = run_nodes(
            graph,
            self.arrays,
            lambda node, ins, outs: verify_outputs(node.op, [spec_of(x) for x in ins], outs),
        )
        for y, z in zip(outputs, self.values(), strict=True):
            same(y, z)

    def check_unknown_sizes(self) -> None:
        """Traced with unknown sizes the graph gives the same, and specialised to symbols it has no run-time shape op."""
        self._check_unknown([TensorSpec.of((None,) * np.ndim(x), spec_of(x).dtype) for x in self.arrays])

    def check_unknown_rank(self) -> None:
        """Traced with unknown rank the graph gives the same."""
        self._check_unknown([TensorSpec.of(None, spec_of(x).dtype) for x in self.arrays])

    def _check_unknown(self, specs: Sequence[TensorSpec]) -> None:
        self._check_graph(self.traced(specs), self.arrays, self.values())
        if not self.order:
            return
        bars = self.cotangents()
        given = [bar for bar in bars if bar is not None]
        outputs = self.traced(specs).output_specs
        bar_specs = [None if bar is None else spec for bar, spec in zip(bars, outputs, strict=True)]
        want = [g for g in self.gradient_values(self.arrays, bars) if g is not None]
        self._check_graph(self.traced_gradient(specs, bar_specs), [*self.arrays, *given], want)

    def _check_graph(self, graph: Graph, arrays: Sequence[Any], want: Sequence[Any]) -> None:
        for spec, z in zip(graph.output_specs, want, strict=True):
            assert spec.describes(np.shape(z)), f"the graph says {spec}, the result has shape {np.shape(z)}"
        for y, z in zip(evaluate(graph, arrays), want, strict=True):
            close(y, z, 1e-12)
        done = specialise_call(graph, [np.shape(x) for x in arrays])
        left = run_time_shapes(done.graph)
        assert not left, f"the specialised graph computes shapes at run time: {left}"
        numbers = _numbers(done.graph, arrays)
        for y, z in zip(_evaluate_with(done.graph, arrays, numbers), want, strict=True):
            close(y, z, 1e-10)

    def check_finite_differences(self) -> None:
        """The VJP is the transpose of the finite differences."""
        bars = self.cotangents()
        found = self.gradient_values(self.arrays, bars)
        for g, i in zip(found, self.sources, strict=True):
            x = self.arrays[i]
            want = self._difference(lambda arrays: _paired(bars, self.values(arrays)), i)
            if g is None:
                close(np.zeros_like(want), want, self.tolerance)
                continue
            assert np.shape(g) == np.shape(x), (
                f"gradient of input {i} has shape {np.shape(g)}, the input {np.shape(x)}"
            )
            assert g.dtype == x.dtype, f"gradient of input {i} has dtype {g.dtype}, the input {x.dtype}"
            close(g, want, self.tolerance)

    def _difference(self, loss: Callable[[Sequence[Any]], float], i: int) -> np.ndarray:
        """Central differences of a real loss in every element of array i; conjugated as cotangents are."""
        base = np.array(self.arrays[i])
        out = np.zeros_like(base)
        for index in np.ndindex(base.shape):
            for direction in (1.0, 1.0j) if base.dtype.kind == "c" else (1.0,):
                sides = []
                for sign in (1.0, -1.0):
                    moved = base.copy()
                    moved[index] += sign * STEP * direction
                    arrays = list(self.arrays)
                    arrays[i] = _array(moved)
                    sides.append(loss(arrays))
                out[index] += direction * (sides[0] - sides[1]) / (2 * STEP)
        return out

    def check_forward_mode(self) -> None:
        """JVP and VJP are transposes of each other."""
        bars = self.cotangents()
        tensors = self.tensors()
        dots = [_tangent(self.arrays[i], i) for i in self.sources]
        with ForwardAccumulator(
            [tensors[i] for i in self.sources], [EagerTensor(d) for d in dots]
        ) as accumulator:
            outputs = self.call(*tensors)
            y_dots = [accumulator.jvp(y) for y in outputs]
        forward = sum(
            _dot(bar, y.data)
            for bar, y in zip(bars, y_dots, strict=True)
            if bar is not None and y is not None
        )
        found = self.gradient_values(self.arrays, bars)
        backward = sum(_dot(g, d) for g, d in zip(found, dots, strict=True) if g is not None)
        close(np.float64(forward), np.float64(backward), 1e-9)

    def check_second_order(self) -> None:
        """The derivative of the gradient equals its finite differences."""
        bars = self.cotangents()
        weights = [_tangent(self.arrays[i], i + 50) for i in self.sources]

        def pairing(arrays: Sequence[Any]) -> float:
            return _paired(weights, self.gradient_values(arrays, bars))

        tensors = self.tensors()
        sources = [tensors[i] for i in self.sources]
        with GradientTape() as tape:
            tape.watch(sources)
            first = self.gradients(tensors, [None if b is None else EagerTensor(b) for b in bars])
        pairs = [(g, EagerTensor(w)) for g, w in zip(first, weights, strict=True) if g is not None]
        if not pairs:
            return
        second = tape.gradient([g for g, _ in pairs], sources, output_gradients=[w for _, w in pairs])
        for h, i in zip(second, self.sources, strict=True):
            want = self._difference(pairing, i)
            close(np.zeros_like(want) if h is None else lift(h).data, want, 20 * self.tolerance)

    def check_linear(self) -> None:
        """The VJP is linear in its cotangent."""
        one, two = self.cotangents(1), self.cotangents(2)
        both = [
            None if a is None else _array(np.asarray(2.0 * a - 3.0 * b).astype(a.dtype))
            for a, b in zip(one, two, strict=True)
        ]
        found = [self.gradient_values(self.arrays, bars) for bars in (one, two, both)]
        for a, b, c in zip(*found, strict=True):
            if a is not None:
                close(c, 2.0 * a - 3.0 * b, 1e-9)

    def check_keeps(self) -> None:
        """The VJP reads no value that `keeps` does not declare."""
        bars = self.cotangents()
        for a, b in zip(
            self.gradient_values(self.arrays, bars),
            self.gradient_values(self.arrays, bars, True),
            strict=True,
        ):
            if a is not None:
                same(a, b)

    def check_no_gradient(self) -> None:
        """The gradient is None."""
        assert self.gradient_values(self.arrays, self.cotangents()) == [None] * len(self.sources)

    def check_batch(self) -> None:
        """Stacked rows give the results of a loop over rows, whichever inputs are stacked."""
        rows = [[_other(x, (i, k)) for k in range(3)] for i, x in enumerate(self.arrays)]
        n = len(self.arrays)
        choices = [[True] * n, *([[k == i for k in range(n)] for i in range(n)] if n > 1 else [])]
        for stacked in choices:
            fixed = [None if s else EagerTensor(x) for s, x in zip(stacked, self.arrays, strict=True)]

            def row(xs: Any, fixed: Any = fixed) -> Any:
                own = iter(xs)
                return self.call(*[next(own) if x is None else x for x in fixed])

            stacks = [EagerTensor(np.stack(r)) for r, s in zip(rows, stacked, strict=True) if s]
            found = vectorized_map(row, stacks)
            for k in range(3):
                want = self.values(
                    [r[k] if s else x for r, s, x in zip(rows, stacked, self.arrays, strict=True)]
                )
                for y, z in zip(found, want, strict=True):
                    close(y.data[k], z, 1e-12)

    def check_rows(self) -> None:
        """If `rows` names an axis, changing one row of an input changes no other row of the result."""
        run_nodes(self.traced(), self.arrays, _check_rows_of_node)

    def check_float32(self) -> None:
        """float32 stays float32, forwards and backwards, with the same numbers up to rounding."""
        narrow = [_narrow(x) for x in self.arrays]
        for y, z in zip(self.values(narrow), self.values(), strict=True):
            assert y.dtype not in (np.float64, np.complex128) or (z.dtype == y.dtype and not self.sources), (
                f"result is {y.dtype}"
            )
            if z.dtype.kind in "fc":
                close(y, z.astype(y.dtype), 2e-5, True)
        bars = [None if b is None else _narrow(b) for b in self.cotangents()]
        if self.order and all(
            b is None or b.dtype == y.dtype for b, y in zip(bars, self.values(narrow), strict=True)
        ):
            for g, i in zip(self.gradient_values(narrow, bars), self.sources, strict=True):
                assert g is None or g.dtype == narrow[i].dtype, (
                    f"gradient is {g.dtype}, the input {narrow[i].dtype}"
                )

    def check_compiled(self) -> None:
        """Compiled code gives the results of `eval`, forwards and backwards, and passes change no bit of them.

        Native code gives the same bits too if every step has exactly one correct result.
        """
        for graph, arrays in self.graphs():
            graph = specialise(graph, graph.inputs)
            executable, wanted = executable_of(graph), evaluate(graph, arrays)
            native, plan = executable.run(list(arrays), True), executable.run(list(arrays), False)
            for y, z in zip(native, wanted, strict=True):
                assert np.asarray(y).dtype == z.dtype
                close(np.asarray(y), z, 1e-10 if z.dtype.itemsize >= 8 else 1e-4)
            for y, z in zip(plan, wanted, strict=True):
                assert_same_bits(y, z, f"{self.name}, passes")
            if exact_natively(executable, arrays):
                for y, z in zip(native, plan, strict=True):
                    assert_same_bits(y, z, f"{self.name}, native")

    def graphs(self) -> Iterable[tuple[Graph, list[Any]]]:
        """The graph of the call and that of its derivative, with their arguments."""
        yield self.traced(), self.arrays
        if self.order:
            bars = self.cotangents()
            specs = [None if b is None else spec_of(b) for b in bars]
            yield (
                self.traced_gradient(self.specs(), specs),
                [*self.arrays, *[b for b in bars if b is not None]],
            )

    def agreements(self) -> list[Callable[[], None]]:
        """The checks that apply."""
        out = [self.check_infer, self.check_rows]
        if self.expected is not None:
            out.append(self.check_formula)
        if "sizes" in self.unknown and any(np.ndim(x) for x in self.arrays):
            out.append(self.check_unknown_sizes)
        if "rank" in self.unknown and self.arrays:
            out.append(self.check_unknown_rank)
        if self.batched and self.arrays:
            out.append(self.check_batch)
        if self.compiled:
            out.append(self.check_compiled)
        if self.float32 and self.sources:
            out.append(self.check_float32)
        if self.sources and self.order == 0:
            out.append(self.check_no_gradient)
        if self.sources and self.order > 0:
            out += [
                self.check_finite_differences,
                self.check_linear,
                self.check_keeps,
                self.check_forward_mode,
            ]
        if self.sources and self.order > 1:
            out.append(self.check_second_order)
        return out


def agreements(cases: Iterable[OpCase]) -> list[Any]:
    """pytest parameters: every agreement of every case."""
    out, seen = [], {}
    for case in cases:
        seen[case.name] = seen.get(case.name, 0) + 1
        number = f"#{seen[case.name]}" if seen[case.name] > 1 else ""
        out += [
            pytest.param(check, id=f"{case.name}{number}-{check.__name__.removeprefix('check_')}")
            for check in case.agreements()
        ]
    return out


# -- pieces ------------------------------------------------------------------------------------------------------------


def close(found: Any, want: Any, tolerance: float, relative_to_largest: bool = False) -> None:
    """Equal up to a relative and absolute tolerance; nan equals nan."""
    scale = 1.0
    if relative_to_largest and np.size(want):
        scale = max(1.0, float(np.max(np.abs(np.nan_to_num(want)))))
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def same(found: Any, want: Any) -> None:
    """Equal bit for bit, in dtype and shape too; nan equals nan."""
    assert np.shape(found) == np.shape(want)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


def spec_of(x: Any) -> TensorSpec:
    return EagerTensor(x).spec


def run_nodes(
    graph: Graph, arrays: Sequence[Any], look: Callable[[Any, list[Any], tuple[Any, ...]], None]
) -> list[Any]:
    """The outputs of a graph; `look(node, inputs, outputs)` sees every op."""
    known: list[Any] = [*arrays, *graph.constants]
    for node in graph.nodes:
        inputs = [known[i] for i in node.inputs]
        outputs = evaluated(node.op, inputs)
        look(node, inputs, outputs)
        known.extend(outputs)
    return [known[i] for i in graph.outputs]


def _check_rows_of_node(node: Any, inputs: list[Any], outputs: tuple[Any, ...]) -> None:
    specs = [spec_of(x) for x in inputs]
    for i, x in enumerate(inputs):
        for axis in range(np.ndim(x)):
            axes = [axis if k == i else None for k in range(len(inputs))]
            claimed = node.op.value_rows(specs, axes)
            claims = claimed if isinstance(claimed, tuple) and node.op.multiple else [claimed] * len(outputs)
            if all(claim == MIXED for claim in claims) or x.shape[axis] == 0:
                continue
            moved = np.array(x)
            place = [slice(None)] * x.ndim
            place[axis] = slice(0, 1)
            moved[tuple(place)] = np.asarray(_other(x, ("rows", i)))[tuple(place)]
            try:
                changed = evaluated(node.op, [moved if k == i else y for k, y in enumerate(inputs)])
            except OutOfRangeError:  # coordinates along axes of several sizes stay in their order
                mixed = np.random.default_rng(i).permutation(x.reshape(-1, x.shape[-1])).reshape(x.shape)
                moved[tuple(place)] = mixed[tuple(place)]
                changed = evaluated(node.op, [moved if k == i else y for k, y in enumerate(inputs)])
            for y, z, claim in zip(outputs, changed, claims, strict=True):
                if claim == MIXED:
                    continue
                if claim is None:
                    np.testing.assert_array_equal(
                        y, z, f"{node.op}: rows says that the result does not depend on input {i}"
                    )
                    continue
                assert y.shape[claim] == x.shape[axis], (
                    f"{node.op}: rows names axis {claim} of {y.shape} for axis {axis} of {x.shape}"
                )
                rest = [slice(None)] * y.ndim
                rest[claim] = slice(1, None)
                np.testing.assert_array_equal(
                    y[tuple(rest)], z[tuple(rest)], f"{node.op}: rows of input {i}, axis {axis}, are mixed"
                )


def _other(x: Any, key: Any) -> Any:
    """Another array like x with numbers in the same range: the elements of x permuted and slightly perturbed."""
    flat = np.ravel(np.array(x))
    generator = _generator("other", key, flat.shape)
    mixed = flat[generator.permutation(flat.size)] if flat.size else flat
    if flat.dtype.kind in "fc":
        mixed = (mixed * (1.0 - 0.01 * generator.random(flat.size))).astype(flat.dtype)
    return _array(mixed.reshape(np.shape(x)))


def _tangent(x: Any, seed: int) -> Any:
    make = complex_ if x.dtype.kind == "c" else real
    return _array(np.asarray(make(*np.shape(x), seed=900 + seed)).astype(x.dtype))


def _dot(a: Any, b: Any) -> float:
    """The real inner product, in which cotangents act on tangents."""
    return float(np.sum(np.real(np.conj(a) * b)))


def _paired(bars: Sequence[Any], values: Sequence[Any]) -> float:
    return sum(_dot(bar, y) for bar, y in zip(bars, values, strict=True) if bar is not None and y is not None)


def _narrow(x: Any) -> Any:
    return (
        x.astype(np.float32)
        if x.dtype == np.float64
        else x.astype(np.complex64)
        if x.dtype == np.complex128
        else x
    )


def _numbers(graph: Graph, arrays: Sequence[Any]) -> dict[str, int]:
    """The number for each size symbol of a specialised graph."""
    numbers: dict[str, int] = {}
    for spec, x in zip(graph.inputs, arrays, strict=True):
        for size, number in zip(spec.dims or (), np.shape(x), strict=True):
            for name in getattr(size, "symbols", ()):
                numbers[name] = number
    return numbers


def _evaluate_with(graph: Graph, arrays: Sequence[Any], numbers: dict[str, int]) -> list[Any]:
    known: list[Any] = [*arrays, *graph.constants]
    for node in graph.nodes:
        known.extend(evaluated(with_sizes(node.op, numbers), [known[i] for i in node.inputs]))
    return [known[i] for i in graph.outputs]
