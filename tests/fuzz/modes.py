"""The ways to run a program. Each yields outcomes together with those that they must equal.

The reference is eager execution with tapes outside. A mode names what it needs of a program, runs, and yields
(label, outcome, reference outcome).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.fuzz.compare import Failure, nudged, spread_of
from tests.fuzz.derive import Results, Wanted, as_list, is_smooth, measure, numbers_like, plain
from tests.fuzz.program import ROWS, Program

Yielded = Iterator["tuple[str, Any, Any, Callable[[], Results] | None]"]
USUAL_ROWS = 3
NATIVE = 0.01  # share of the programs: compiling the kernels of one takes as long as thirty programs in all other modes


@dataclass
class Case:
    """A program with its library, its numbers and its reference outcomes, computed when asked for."""

    tf: Any
    program: Program
    wanted: Wanted
    eps: float
    rng: np.random.Generator
    known: dict[int, Any] = field(default_factory=dict)
    spreads: dict[int, Results] = field(default_factory=dict)
    functions: dict[tuple[bool, bool], Any] = field(default_factory=dict)

    def arrays(self, rows: int = USUAL_ROWS) -> list[np.ndarray]:
        return [x.draw(rows) for x in self.program.arguments]

    def starts(self, rows: int = USUAL_ROWS) -> list[np.ndarray]:
        return [x.draw(rows) for x in self.program.variables]

    def variables(self) -> list[Any]:
        return [self.tf.Variable(x) for x in self.starts()]

    def bound(
        self,
        variables: Sequence[Any],
        precision: dict[str, str] | None = None,
        zeros: bool = False,
        library: Any = None,
    ) -> Callable[..., Any]:
        """The program as a function of its arguments alone; with `zeros`, with the other sign for constants that are 0."""
        key = bool(precision), zeros
        if key not in self.functions:
            self.functions[key] = self.program.function(precision, zeros)
        f, tf = self.functions[key], library or self.tf
        names = [x.value.name for x in self.program.arguments]
        held = {x.value.name: v for x, v in zip(self.program.variables, variables)}
        return lambda *xs: f(tf, **dict(zip(names, xs)), **held)

    def traceable(self, variables: Sequence[Any]) -> Callable[..., Any]:
        """The same, with its control flow converted where tensors decide."""
        f = self.bound(variables)
        return self.tf.autograph.to_graph(f) if "flow" in self.program.traits else f

    def run(
        self,
        f: Callable[..., Any],
        arrays: Sequence[Any],
        variables: Sequence[Any],
        wanted: Wanted | None = None,
    ) -> Any:
        """`measure` on arrays, with what the variables hold afterwards."""
        tf = self.tf

        def call() -> Results:
            for v, start in zip(variables, self.starts()):
                v.assign(start.astype(v.dtype.as_numpy_dtype))
            found = measure(tf, f, [tf.constant(x) for x in arrays], variables, wanted or self.wanted)
            return plain(found) | {f"v{k}": v.numpy() for k, v in enumerate(variables)}

        return attempt(call)

    def eager(self, rows: int = USUAL_ROWS) -> Any:
        if rows not in self.known:
            variables = self.variables()
            self.known[rows] = self.run(self.bound(variables), self.arrays(rows), variables)
        return self.known[rows]

    def spread(self, rows: int = USUAL_ROWS) -> Results:
        """How far rounding moves the reference."""
        if rows not in self.spreads:
            base = self.eager(rows)
            others = []
            for seed in range(3):
                variables = self.variables()
                others.append(
                    self.run(
                        self.bound(variables),
                        [nudged(x, self.eps, seed) for x in self.arrays(rows)],
                        variables,
                    )
                )
            others.append(self._in_double(rows))
            variables = self.variables()
            others.append(self.run(self.bound(variables, zeros=True), self.arrays(rows), variables))
            if self.program.has_masks:
                others.append(self._by(Unmasked, rows, base))
            if self.program.has_branches:
                others.append(self._by(Everywhere, rows, base))
            moved = spread_of(base, [x for x in others if not isinstance(x, Failure)])
            self.spreads[rows] = moved
        return self.spreads[rows]

    def _by(self, library: type[Unmasked], rows: int, base: Any) -> Any:
        """By another form of the library: where zeros for what is not taken meet a pole in a trace, NaN comes here too."""
        variables = self.variables()
        found = self.run(self.bound(variables, library=library(self.tf)), self.arrays(rows), variables)
        return connected(found, base)

    def _in_double(self, rows: int) -> Any:
        wider = {"float32": "float64", "float16": "float64", "complex64": "complex128"}
        variables = [self.tf.Variable(_wide(x)) for x in self.starts()]
        f = self.bound(variables, wider)
        return self.run(f, [_wide(x) for x in self.arrays(rows)], variables)


def connected(found: Any, base: Any) -> Any:
    """Outcomes without those that the base has not: what is not connected there says nothing about rounding."""
    if isinstance(found, Failure) or isinstance(base, Failure):
        return found
    return {key: x for key, x in found.items() if base.get(key) is not None}


class Unmasked:
    """The library with a `where` that has a gradient of its own: what is computed outside of it knows nothing of the mask."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def where(self, condition: Any, *values: Any) -> Any:
        tf = self._tf
        chosen = tf.where(condition, *values)
        if not values:
            return chosen
        shape = tf.shape(chosen)

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def choose(c: Any, x: Any, y: Any) -> Any:
            return tf.where(c, x, y), lambda g: (None, tf.where(c, g, 0), tf.where(c, 0, g))

        return choose(
            *[tf.broadcast_to(x, shape) for x in (condition, *[tf.cast(v, chosen.dtype) for v in values])]
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tf, name)


class Everywhere(Unmasked):
    """The library with branches that are all run, one result selected, and loops whose steps all hang on those before.

    So a derivative comes to what a trace's comes to, with zeros where the program on its own is not connected.
    """

    def cond(self, pred: Any, true_fn: Any, false_fn: Any) -> Any:
        return self.where(pred, true_fn(), false_fn())

    def case(self, pairs: Any, default: Any) -> Any:
        y = default()
        for pred, branch in reversed(pairs):
            y = self.where(pred, branch(), y)
        return y

    def switch_case(self, index: Any, branches: Any) -> Any:
        *first, y = [branch() for branch in branches]
        for k, x in reversed(list(enumerate(first))):
            y = self.where(self._tf.equal(index, k), x, y)
        return y

    def while_loop(self, test: Any, body: Any, start: Any, **options: Any) -> Any:
        def step(*before: Any) -> Any:
            return tuple(map(self._hung, before, body(*before)))

        once = body(*start)  # a trace also contains the body of a loop that makes no step
        return tuple(map(self._hung, once, self._tf.while_loop(test, step, start, **options)))

    def scan(self, f: Any, *rows: Any, **options: Any) -> Any:
        return self._tf.scan(lambda a, b: self._hung(a, f(a, b)), *rows, **options)

    def foldl(self, f: Any, *rows: Any, **options: Any) -> Any:
        return self._tf.foldl(lambda a, b: self._hung(a, f(a, b)), *rows, **options)

    def foldr(self, f: Any, *rows: Any, **options: Any) -> Any:
        return self._tf.foldr(lambda a, b: self._hung(a, f(a, b)), *rows, **options)

    def _hung(self, before: Any, after: Any) -> Any:
        """`after`, with zeros for the slope by `before`."""
        if before.shape != after.shape:
            return after
        return self.where(self._tf.zeros_like(after, dtype=self._tf.bool), before, after)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


def attempt(call: Callable[[], Results]) -> Any:
    """The results, or the failure. What must never happen passes through."""
    try:
        return call()
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        return Failure.of(error)


def _compiled(case: Case, inside: bool, variables: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The program as a function; with `inside` the tapes are traced too and it returns all results."""
    tf, f, wanted = case.tf, case.traceable(variables), case.wanted
    if not inside:
        return tf.function(f, autograph=False, **options)
    if any(spec.shape.rank is None for spec in options.get("input_signature", ())):
        wanted = replace(wanted, batch_jacobian=False)  # these ask for the rank while they are traced
    return tf.function(lambda *xs: measure(tf, f, xs, variables, wanted), autograph=False, **options)


def _call(case: Case, fn: Callable[..., Any], inside: bool, variables: Sequence[Any], rows: int) -> Any:
    if not inside:
        return case.run(fn, case.arrays(rows), variables)

    def whole() -> Results:
        for v, start in zip(variables, case.starts()):
            v.assign(start)
        found = fn(*[case.tf.constant(x) for x in case.arrays(rows)])
        return plain(found) | {f"v{k}": v.numpy() for k, v in enumerate(variables)}

    return attempt(whole)


def _traced(inside: bool, **options: Any) -> Callable[[Case], Yielded]:
    def run(case: Case) -> Yielded:
        variables = case.variables()
        fn = _compiled(case, inside, variables, **options)
        yield "", _call(case, fn, inside, variables, USUAL_ROWS), case.eager(), case.spread

    return run


def _unknown(inside: bool, what: str, **options: Any) -> Callable[[Case], Yielded]:
    """One trace for all sizes: rows ("rows"), every size ("sizes"), or the rank as well ("rank") stay unknown."""

    def run(case: Case) -> Yielded:
        tf, variables = case.tf, case.variables()
        specs = []
        for x in case.program.arguments:
            shape: Any = [None if d == ROWS or what == "sizes" else d for d in x.value.dims]
            specs.append(tf.TensorSpec(None if what == "rank" else shape, tf.as_dtype(x.value.dtype)))
        fn = _compiled(case, inside, variables, input_signature=specs, **options)
        for rows in (USUAL_ROWS, 1, 0) if case.program.has_rows else (USUAL_ROWS,):
            if not rows and "rowful" in case.program.traits:
                continue
            yield (
                f"rows={rows}",
                _call(case, fn, inside, variables, rows),
                case.eager(rows),
                lambda r=rows: case.spread(r),
            )

    return run


def _batches(case: Case) -> Yielded:
    """One function without a signature, called with one row and with none."""
    variables = case.variables()
    fn = _compiled(case, False, variables)
    for rows in (1, 0, 2):
        if not rows and "rowful" in case.program.traits:
            continue
        yield (
            f"rows={rows}",
            _call(case, fn, False, variables, rows),
            case.eager(rows),
            lambda r=rows: case.spread(r),
        )


def _by_rows(case: Case) -> Yielded:
    variables = case.variables()
    wanted = Wanted(
        second=False, jacobian=case.wanted.jacobian, batch_jacobian=case.wanted.batch_jacobian, by_rows=True
    )
    yield "", case.run(case.bound(variables), case.arrays(), variables, wanted), case.eager(), case.spread


def _rows_of_jacobian(case: Case) -> Yielded:
    """batch_jacobian is the Jacobian summed over the target's rows, but where another row's 0 meets an infinite slope."""
    want = case.eager()
    if isinstance(want, Failure):
        return
    for key, full in want.items():
        batch = want.get("B" + key[1:])
        if key.startswith("J") and full is not None and batch is not None:
            rank = len(case.eager()["y" + key[1:]].shape)
            summed = np.moveaxis(full.sum(axis=0), rank - 1, 0)
            if summed.shape == batch.shape:
                numbers = np.moveaxis(np.nansum(full, axis=0), rank - 1, 0)
                # Numbers of every program may be poles (of `xdivy`, in TensorFlow as here); others need extreme ones.
                extreme = any(x.profile == "extreme" for x in case.program.inputs)
                met = np.isnan(summed) & ~np.isnan(batch) & (extreme | np.isinf(numbers))
                summed = np.where(met, numbers, summed)
            yield "", {"B" + key[1:]: batch}, {"B" + key[1:]: summed.astype(batch.dtype)}, case.spread


def _vectorised(case: Case) -> Yielded:
    """The program as a function of one row, mapped over stacked inputs, beside a loop over the rows."""
    tf, variables = case.tf, case.variables()
    f = case.bound(variables)
    stacks = [x.draw(USUAL_ROWS, copies=2) for x in case.program.arguments]
    wanted = Wanted(second=case.rng.uniform() < 0.3)

    def mapped(*xs: Any) -> list[Any]:
        return as_list(tf.vectorized_map(lambda rows: f(*rows), list(xs)))

    def looped(*xs: Any, f: Any = f) -> list[Any]:
        rows = [as_list(f(*[x[k] for x in xs])) for k in range(2)]
        return [tf.stack(list(ys)) for ys in zip(*rows)]

    want = case.run(looped, stacks, variables, wanted)

    def spread() -> Results:
        others = [
            case.run(looped, [nudged(x, case.eps, seed) for x in stacks], variables, wanted)
            for seed in range(3)
        ]
        if case.program.has_branches:
            everywhere = case.bound(variables, library=Everywhere(tf))
            others.append(
                connected(case.run(lambda *xs: looped(*xs, f=everywhere), stacks, variables, wanted), want)
            )
        return spread_of(want, [x for x in others if not isinstance(x, Failure)])

    yield "", case.run(mapped, stacks, variables, wanted), want, spread
    if case.rng.uniform() < 0.3:
        fn = tf.function(mapped, autograph=False)
        yield "traced", case.run(fn, stacks, variables, wanted), want, spread


def _forward(case: Case) -> Yielded:
    """Forward mode against reverse mode: the same number, <weights, J tangents> and <J' weights, tangents>."""
    tf, want = case.tf, case.eager()
    if isinstance(want, Failure):
        return
    variables = case.variables()
    f = case.bound(variables)
    constants = [tf.constant(x) for x in case.arrays()]
    smooth = [x for x in constants if is_smooth(x.dtype)] + list(variables)
    tangents = [numbers_like(tuple(x.shape.as_list()), x.dtype.name, f"d{k}") for k, x in enumerate(smooth)]

    def call(function: Callable[..., Any]) -> Results:
        with tf.autodiff.ForwardAccumulator(smooth, [tf.constant(t) for t in tangents]) as accumulator:
            ys = as_list(function(*constants))
        dots = [accumulator.jvp(y) if is_smooth(y.dtype) else None for y in ys]
        return plain({f"d{k}": dot for k, dot in enumerate(dots)})

    def total(pairs: Sequence[tuple[Any, Any]]) -> tuple[float, float]:
        with np.errstate(all="ignore"):
            parts = [
                np.real(np.conj(np.asarray(a, np.complex128)) * b)
                for a, b in pairs
                if a is not None and b is not None
            ]
            flat = np.concatenate([np.ravel(p) for p in parts]) if parts else np.zeros(1)
            return float(flat.sum()), float(np.abs(flat).sum())

    backward, size = total([(want.get(f"g{k}"), t) for k, t in enumerate(tangents)])
    names = ["eager"] + (["traced"] if case.rng.uniform() < 0.4 else [])
    for name in names:
        function = f if name == "eager" else tf.function(case.traceable(variables), autograph=False)
        found = attempt(lambda function=function: call(function))
        if isinstance(found, Failure):
            yield name, found, want, None
            continue
        ys = [want[f"y{k}"] for k in range(len(found))]
        weights = [numbers_like((13,), y.dtype.name, f"y{k}") for k, y in enumerate(ys)]
        pairs = [
            (np.resize(w, y.shape), found[f"d{k}"])
            for k, (w, y) in enumerate(zip(weights, ys))
            if y.dtype.kind in "fc"
        ]
        forward, other = total(pairs)
        sizes = size + other
        moved = np.inf if not math.isfinite(sizes) else 64.0 * case.eps * sizes

        def spread(moved: float = moved) -> Results:
            ill = [
                float(np.max(v, initial=0.0))
                for k, v in case.spread().items()
                if k[0] in "gy" and np.asarray(v).dtype.kind == "f"
            ]
            return {"dot": np.float64(moved + 10.0 * max(ill, default=0.0))}

        yield name, {"dot": np.float64(forward)}, {"dot": np.float64(backward)}, spread


def _differences(case: Case) -> Yielded:
    """First derivatives compared with finite differences along one direction, where the differences from both sides agree."""
    want = case.eager()
    if isinstance(want, Failure) or case.eps > 1e-10:
        return
    arrays, starts = case.arrays(), case.starts()
    smooth = [k for k, x in enumerate(arrays) if x.dtype.kind in "fc"]
    directions = {k: numbers_like(arrays[k].shape, arrays[k].dtype.name, f"e{k}") for k in smooth}

    def value(step: float) -> Any:
        moved = [x + step * directions[k] if k in directions else x for k, x in enumerate(arrays)]
        variables = case.variables()
        found = case.run(case.bound(variables), moved, variables, Wanted(first=False))
        if isinstance(found, Failure):
            return math.nan
        total = 0.0
        for key, y in found.items():
            if key.startswith("y") and y.dtype.kind in "fc":
                weights = np.resize(numbers_like((13,), y.dtype.name, key), y.shape)
                with np.errstate(all="ignore"):
                    total += float(np.real(np.conj(weights) * y).sum())
        return total

    h = 1e-5
    low, middle, high = value(-h), value(0.0), value(h)
    half_low, half_high = value(-h / 2), value(h / 2)
    central, half = (high - low) / (2 * h), (half_high - half_low) / h
    # If there is a derivative, the differences from both sides agree as the step shrinks; at a kink they do not.
    sides = abs((high - middle) - (middle - low)) / h
    half_sides = abs((half_high - middle) - (middle - half_low)) / (h / 2)
    expected = sum(
        float(np.real(np.conj(want[f"g{i}"]) * directions[k]).sum())
        for i, k in enumerate(smooth)
        if want[f"g{i}"] is not None
    )
    size = abs(central) + abs(middle) + 1.0
    calm = half_sides < 0.6 * sides + 1e-7 * size and abs(central - half) < 1e-7 * size
    if calm and math.isfinite(central) and math.isfinite(expected) and not starts:
        yield (
            "",
            {"slope": np.float64(expected)},
            {"slope": np.float64(half)},
            lambda: {"slope": np.float64(1e-7 * size)},
        )


def _layouts(case: Case) -> Yielded:
    """The same numbers in arrays with other strides: transposed, reversed, with gaps."""
    variables = case.variables()
    f = case.bound(variables)
    odd = [odd_layout(x, case.rng) for x in case.arrays()]
    yield "eager", case.run(f, odd, variables), case.eager(), case.spread
    fn = case.tf.function(case.traceable(variables), autograph=False)

    def values() -> Results:
        for v, start in zip(variables, case.starts()):
            v.assign(start)
        return plain({f"y{k}": y for k, y in enumerate(as_list(fn(*odd)))})

    yield "function", attempt(values), case.eager(), case.spread


def odd_layout(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An equal array with other strides."""
    kind = int(rng.integers(4))
    if not x.ndim:
        return np.stack([x, x])[1:].reshape(())
    if kind == 0:
        return np.asfortranarray(x)
    if kind == 1:
        return np.ascontiguousarray(x[::-1])[::-1]
    if kind == 2:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    return np.pad(x, [(1, 1)] * x.ndim)[(slice(1, -1),) * x.ndim]


def _saved(case: Case) -> Yielded:
    tf, variables = case.tf, case.variables()
    specs = [
        tf.TensorSpec([None if d == ROWS else d for d in x.value.dims], tf.as_dtype(x.value.dtype))
        for x in case.program.arguments
    ]
    model = tf.Module()
    model.variables_of_program = list(variables)
    model.run = tf.function(case.traceable(variables), input_signature=specs, autograph=False)
    with tempfile.TemporaryDirectory() as place:

        def load() -> Any:
            tf.saved_model.save(model, place, options=tf.saved_model.SaveOptions(durable=False))
            return {"model": tf.saved_model.load(place)}

        found = attempt(load)
        if isinstance(found, Failure):
            yield "", found, case.eager(), None
            return
        loaded = found["model"]
        for rows in (USUAL_ROWS, 1) if case.program.has_rows else (USUAL_ROWS,):
            got = case.run(loaded.run, case.arrays(rows), list(loaded.variables_of_program))
            yield f"rows={rows}", got, case.eager(rows), lambda r=rows: case.spread(r)


def _nested(case: Case) -> Yielded:
    """A function that calls the program's function and differentiates it, with a tape outside of both."""
    tf, variables = case.tf, case.variables()
    inner = tf.function(case.traceable(variables), autograph=False)
    outer = tf.function(lambda *xs: inner(*xs), autograph=False)
    yield "", case.run(outer, case.arrays(), variables), case.eager(), case.spread


def _recomputed(case: Case) -> Yielded:
    """Run again for its gradient. Results that a Jacobian does not ask for give zeros there, where the program on its own is not
    connected, and a pole makes NaN of them."""
    tf, variables, want = case.tf, case.variables(), case.eager()
    f = tf.recompute_grad(lambda *xs: tuple(as_list(case.bound(variables)(*xs))))
    got = case.run(f, case.arrays(), variables)
    if len(case.program.body.results) > 1 and not isinstance(got, Failure) and not isinstance(want, Failure):
        for key, x in got.items():
            if key[0] not in "JB" or x is None:
                continue
            if want[key] is None:
                got[key] = x if np.any(np.where(np.isnan(x), 0.0, x)) else None
            elif x.shape == want[key].shape:
                got[key] = np.where(np.isnan(x), want[key], x)
    yield "", got, want, case.spread


def _converted(case: Case) -> Yielded:
    """With its control flow converted, and no tensor without a value: the same as without; then traced, converted as a whole."""
    variables = case.variables()
    f = case.tf.autograph.to_graph(case.bound(variables))
    yield "eager", case.run(f, case.arrays(), variables), case.eager(), case.spread
    fn = case.tf.function(case.bound(variables))
    yield "traced", case.run(fn, case.arrays(), variables), case.eager(), case.spread


@dataclass(frozen=True)
class Mode:
    """`cost` says how much dearer than an eager run, `share` of the programs that get it; `without` names traits."""

    name: str
    run: Callable[[Case], Yielded]
    share: float
    without: frozenset[str] = frozenset()

    def applies(self, program: Program) -> bool:
        return bool(program.arguments) and not self.without & program.traits


def _mode(name: str, run: Callable[[Case], Yielded], share: float, without: str = "") -> Mode:
    return Mode(name, run, share, frozenset(without.split()))


MODES = {
    mode.name: mode
    for mode in (
        _mode("outside", _traced(False), 0.3),
        _mode("inside", _traced(True), 0.3),
        _mode("nested", _nested, 0.08),
        _mode("native_outside", _traced(False, jit_compile=True), NATIVE),
        _mode("native_inside", _traced(True, jit_compile=True), NATIVE),
        _mode(
            "unknown_rows",
            _unknown(False, "rows"),
            0.25,
        ),
        _mode("unknown_sizes", _unknown(False, "sizes"), 0.08, "sized"),
        _mode("unknown_rank", _unknown(False, "rank"), 0.06, "sized ranked"),
        _mode(
            "unknown_rows_inside",
            _unknown(True, "rows"),
            0.12,
        ),
        _mode("unknown_sizes_inside", _unknown(True, "sizes"), 0.06, "sized"),
        _mode("unknown_rank_inside", _unknown(True, "rank"), 0.04, "sized ranked"),
        _mode(
            "native_unknown",
            _unknown(False, "rows", jit_compile=True),
            NATIVE,
        ),
        _mode("batches", _batches, 0.1),
        _mode("by_rows", _by_rows, 0.3),
        _mode("rows_of_jacobian", _rows_of_jacobian, 1.0),
        _mode("vectorised", _vectorised, 0.2, "effect dynamic flow"),
        _mode("forward", _forward, 0.25, "nonlinear effect"),
        _mode("differences", _differences, 0.6, "chosen effect"),
        _mode("layouts", _layouts, 0.1),
        _mode("saved", _saved, 0.06),
        _mode("recomputed", _recomputed, 0.06, "effect"),
        _mode("converted", _converted, 0.05),
    )
}
