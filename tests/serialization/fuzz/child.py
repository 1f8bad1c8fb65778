"""A process that tries mutants: loads each one, calls all its functions in both modes, differentiates them, and compares.

One line of JSON before each mutant and one after, so that whoever reads knows which one a process died of. It runs as production
does (nothing verified but what always is), with the memory that malloc hands out filled with another pattern in every run.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np

import graphad as gd
import serialization
from graphad.compiler.plan import buffers, host
from graphad.compiler.plan.executable import Executable
from graphad.core.nest import flatten
from graphad.core.tensor import EagerTensor, Handle
from graphad.errors import GraphadError
from graphad.ops.elementwise import Elementwise
from serialization.convert.objects import ObjectReader
from serialization.errors import LoadError
from tests.serialization.convert.in_memory import records_of
from tests.serialization.convert.mutations import model_of, tree_of
from tests.serialization.fuzz.mutants import mutant
from tests.serialization.fuzz.programs import Program, programs
from tests.support.memory import most_resident

MEMORY = 6 << 30  # bytes of address space
RESIDENT = 2 << 30
SECONDS = 10  # of processor time for one mutant; whoever reads looks after one that sleeps
TOGETHER = 16  # mutants in a row that come from one program

_libc = ctypes.CDLL(None)


class Long(BaseException):
    """A mutant takes longer than it may."""


class Found(Exception):
    """A failure: (kind, what)."""


def _alarm(*_: Any) -> None:
    raise Long


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# NumPy keeps up to seven blocks of each size below a kilobyte; most results here are smaller than this.
_SMALL = [*range(1, 8), *range(8, 257, 4)]


def dirty(pattern: int) -> None:
    """Have fresh memory hold a pattern: what malloc gives, what NumPy keeps of small arrays, what the pool of results keeps."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(-6, pattern)
    for size in _SMALL:
        kept = [np.empty(size, np.uint8) for _ in range(4)]
        for array in kept:
            array.fill(pattern)
    for row in list(buffers.results._kept.values()):
        for array in row.arrays:
            if sys.getrefcount(array) <= 3:
                array.view(np.uint8).fill(pattern)


# -- plans -------------------------------------------------------------------------------------------------------------------

_executables: list[weakref.ref[Executable]] = []
_make_executable = Executable.__init__


def _noted(self: Executable, *given: Any) -> None:
    _make_executable(self, *given)
    _executables.append(weakref.ref(self))


def unbind() -> None:
    """Have every plan bound anew when it runs next, in fresh memory; its schedule and its kernels stay."""
    for each in _executables:
        executable = each()
        if executable is not None:
            executable._last = None
            for sizes in executable._sizes.values():
                sizes.native = sizes.bound = None


# -- rounding ----------------------------------------------------------------------------------------------------------------

# What every tier computes to the same bits. Other elementwise functions, and sums, differ in their last ones.
_EXACT = frozenset(
    "abs add cast ceil clip_by_value complex conj div div_zero divide_no_nan floor floordiv identity imag maximum minimum mod "
    "mul mul_zero multiply_no_nan neg real reciprocal reciprocal_grad relu relu_grad round select sigmoid_grad sign sqrt square "
    "squared_difference sub tanh_grad trunc".split()
)
_SUMS = (
    "avg_pool", "conv", "cum", "einsum", "log_softmax", "matmul", "reduce_", "softmax", "sum_of_products", "sum_to",
    "unsorted_segment_sum",
)  # fmt: skip


def _is_rounded(op: Any) -> bool:
    return (isinstance(op, Elementwise) and op.name not in _EXACT) or op.name.startswith(_SUMS)


def _moved(y: Any, rng: np.random.Generator) -> Any:
    """A result with its last bits changed."""
    if y.dtype.kind not in "fc":
        return y
    eps = np.finfo(y.real.dtype).eps
    with np.errstate(all="ignore"):
        found = (y * (1 + eps * rng.integers(-1, 2, np.shape(y)))).astype(y.dtype)
    return found if np.ndim(found) else found[()]


@contextmanager
def roundings_moved() -> Iterator[None]:
    """Have the plans of NumPy calls that are made now change the last bits of what they round."""
    step, rng = host._step, np.random.default_rng(11)

    def shaken(node: Any, op: Any, *more: Any) -> Any:
        count, f, *rest = step(node, op, *more)
        if op.multiple or not _is_rounded(op):
            return count, f, *rest
        return count, lambda *values: _moved(f(*values), rng), *rest

    host._step = shaken  # type: ignore[assignment]
    try:
        yield
    finally:
        host._step = step


# -- one program -------------------------------------------------------------------------------------------------------------


class Base:
    """A program as a tree and arrays, ready to be changed."""

    def __init__(self, program: Program) -> None:
        gd.random.set_seed(1)
        model, self.arrays = records_of(program.build())
        self.tree = tree_of(model)
        self.arguments = program.arguments


def arguments_for(specs: Any, given: list[Any], rng: np.random.Generator) -> list[Any]:
    """Values for the arguments of a trace: the program's own where they fit, else random ones."""
    out = []
    for k, spec in enumerate(specs):
        if spec.is_handle:
            dims = [2 if size is None else size for size in spec.dims or ()]
            out.append(gd.Variable(np.zeros(dims, spec.dtype.numpy), shape=gd.TensorShape(spec.dims)))
            continue
        own = given[k] if k < len(given) else None
        if own is not None and spec.dtype.numpy == own.dtype and spec.describes(np.shape(own)):
            out.append(own)
            continue
        dims = [
            int(rng.choice((3, 2, 4, 1, 0))) if size is None else size
            for size in (spec.dims if spec.dims is not None else (3,) * int(rng.integers(3)))
        ]
        if np.prod(dims, dtype=float) > 1e6:
            raise Skip
        out.append(_random(dims, spec.dtype.numpy, rng))
    return out


class Skip(Exception):
    """Nothing to be tried here."""


def _random(dims: list[int], dtype: Any, rng: np.random.Generator) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        x = rng.random(dims) < 0.5
    elif kind in "iu":
        x = rng.integers(0, 5, dims)
    else:
        x = rng.uniform(-2, 2, dims)
    x = np.asarray(x).astype(dtype)
    return x if x.ndim else x[()]


class Trial:
    """A mutant that is a well-formed model; every run starts from a freshly loaded one."""

    def __init__(self, tree: Any, base: Base, seed: int) -> None:
        self.model = model_of(tree)
        self.base = base
        self.seed = seed
        self.counts = {"calls": 0, "gradients": 0, "errors": 0}

    def fresh(self) -> Any:
        reader = ObjectReader(self.model, self.base.arrays)
        reader.root()
        return reader

    def functions(self, reader: Any) -> list[Any]:
        return [
            concrete
            for number in range(len(self.model.functions))
            for concrete in reader._functions.function(number).concrete_functions
        ]

    def run(self) -> None:
        count = len(self.functions(self.fresh()))
        for place in range(count):
            for differentiate in (False, True):
                self.compare(place, differentiate)

    def compare(self, place: int, differentiate: bool) -> None:
        """Run one function in both modes, twice each, and compare what comes out."""
        numpy, native = Loaded(self, place, differentiate, False), Loaded(self, place, differentiate, True)
        if not numpy.has_work:
            return
        one, compiled, again = numpy.run(0x11), native.run(0x5B), native.run(0xC6)
        one_again = numpy.run(0x7F)
        self.counts["gradients" if differentiate else "calls"] += 1
        self.counts["errors"] += isinstance(one, Exception)
        what = f"function {place}{' differentiated' if differentiate else ''}"
        for kind, a, b in (
            ("unstable", compiled, again),
            ("unstable", one, one_again),
            ("differs", one, compiled),
        ):
            exact = kind == "unstable"
            reason = difference(a, b, exact, numpy.scale)
            if reason is not None and (exact or not numpy.is_chaotic(a, b)):
                raise Found(kind, f"{what}: {reason}")


class Loaded:
    """A function of a freshly loaded mutant in one mode; every run starts from the values that its variables had in the file."""

    def __init__(self, trial: Trial, place: int, differentiate: bool, jit: bool) -> None:
        self.trial = trial
        self.place = place
        self.differentiate = differentiate
        self.jit = jit
        gd.random.set_seed(7)
        self.concrete = trial.functions(trial.fresh())[place]
        self.concrete.jit_compile = jit
        handles = [x for x in self.concrete.captured_inputs if isinstance(x, Handle)]
        self.start = [(handle, np.copy(handle.data)) for handle in handles]
        self.scale = 0.0  # the largest number that the last run started from

    @property
    def has_work(self) -> bool:
        """Whether there is something to be run; a derivative needs what it can be taken of."""
        graph = self.concrete.graph
        return not self.differentiate or (
            any(spec.dtype.is_differentiable for spec in graph.inputs)
            and any(spec.dtype.is_differentiable for spec in graph.output_specs)
        )

    def run(self, pattern: int, noise: float = 0.0) -> Any:
        """The results as arrays, or the error in graphad's words."""
        unbind()
        dirty(pattern)
        gd.random.set_seed(7)
        for handle, value in self.start:
            handle.data = value.copy() if value.ndim else value[()]
        gd.config.set_jit("always" if self.jit else "never")
        rng = np.random.default_rng(self.trial.seed)
        concrete = self.concrete
        try:
            with own():
                values = arguments_for(concrete.arguments.specs, self.trial.base.arguments, rng)
        except Skip:
            return []
        if noise:
            values = [
                x * x.dtype.type(1 + noise) if not isinstance(x, Handle) and x.dtype.kind in "fc" else x
                for x in values
            ]
        inputs = [x if isinstance(x, Handle) else EagerTensor(x) for x in values]
        self.scale = max([_largest(x) for x in [*values, *[value for _, value in self.start]]], default=0.0)
        try:
            if self.differentiate:
                found = self.gradients(concrete, inputs)
            else:
                captures = [x if isinstance(x, Handle) else x.data for x in concrete.captured_inputs]
                found = concrete.executable.run([*values, *captures], self.jit)
                self.check_specs(concrete, found)
        except (GraphadError, LoadError) as error:
            return error
        except MemoryError as error:
            raise Found("memory", describe(error)) from error
        return [np.array(y) for y in found]

    def check_specs(self, concrete: Any, values: Any) -> None:
        for k, (spec, y) in enumerate(zip(concrete.graph.output_specs, values, strict=True)):
            if y.dtype != spec.dtype.numpy or not spec.describes(np.shape(y)):
                raise Found("lie", f"output {k} is {y.dtype}{list(np.shape(y))}, the graph says {spec}")

    def gradients(self, concrete: Any, inputs: list[Any]) -> list[Any]:
        sources = [x for x in inputs if not isinstance(x, Handle) and x.dtype.is_differentiable]
        sources += [
            x for x in concrete.captured_inputs if isinstance(x, gd.Variable) and x.dtype.is_differentiable
        ]
        with gd.GradientTape() as tape:
            tape.watch([x for x in sources if not isinstance(x, Handle)])
            outputs = [y for y in flat(concrete.call_flat(inputs)) if y.dtype.is_differentiable]
        if not outputs or not sources:
            return []
        found = tape.gradient(outputs, sources)
        for source, g in zip(sources, found, strict=True):
            if g is not None and not isinstance(g, gd.IndexedSlices):
                if g.dtype is not source.dtype or tuple(g.shape) != tuple(source.shape):
                    raise Found(
                        "lie",
                        f"a gradient of {g.dtype}{list(g.shape)} for {source.dtype}{list(source.shape)}",
                    )
        return [gd.convert_to_tensor(g).data for g in found if g is not None]

    def is_chaotic(self, one: Any, other: Any) -> bool:
        """Whether results differ no more than they do when inputs, or what is rounded on the way, differ in the last bits."""
        if isinstance(one, Exception) or isinstance(other, Exception) or len(one) != len(other):
            return False
        moved = [self.run(0x11, noise) for noise in (1e-6, -1e-6, 3e-6)]
        with roundings_moved():
            shaken = Loaded(self.trial, self.place, self.differentiate, False)
            moved += [shaken.run(0x11) for _ in range(8)]  # one in three hits what is on an edge
        for k, (x, y) in enumerate(zip(one, other)):
            if difference([x], [y], False, self.scale) is None:
                continue
            if x.shape != y.shape or x.dtype != y.dtype:
                return False
            if all(
                isinstance(z, Exception) or k >= len(z) or difference([x], [z[k]], True) is None
                for z in moved
            ):
                return False
        return True


def flat(result: Any) -> list[Any]:
    return [y for y in flatten(result)[0] if y is not None]


def difference(one: Any, other: Any, exact: bool, scale: float = 0.0) -> str | None:
    """Why two outcomes are not the same, None if they are: the same class of error, or arrays that are (nearly) equal."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        if isinstance(one, Exception) and isinstance(other, Exception):
            return None
        return f"{describe(one)} against {describe(other)}"
    if len(one) != len(other):
        return f"{len(one)} results against {len(other)}"
    for k, (x, y) in enumerate(zip(one, other)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {k} is {x.dtype}{list(x.shape)} against {y.dtype}{list(y.shape)}"
        if not (_same(x, y) if exact else _near(x, y, scale)):
            return f"result {k}: {_shown(x)} against {_shown(y)}"
    return None


def _same(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))


def _largest(x: Any) -> float:
    """The largest finite size of a number in an array; 0.0 where there is none."""
    if isinstance(x, Handle) or x.dtype.kind not in "fc":
        return 0.0
    sizes = np.abs(x)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def _near(x: Any, y: Any, scale: float) -> bool:
    """Whether results are equal up to rounding: of themselves, and of numbers as large as those that they were computed of."""
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y))
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    width = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-8}.get(width, 1e-4)
    rounding = {2: 1e-3, 4: 1.2e-7, 8: 2.3e-16}.get(width, 1e-3)
    floor = max(tolerance * _largest(x), 4 * rounding * scale)
    return bool(np.allclose(x.astype(wide), y.astype(wide), rtol=tolerance, atol=floor, equal_nan=True))


def _shown(x: Any) -> str:
    return np.array2string(np.ravel(x)[:8], precision=6)


def describe(error: Any) -> str:
    return f"{type(error).__name__}: {error}"[:300] if isinstance(error, BaseException) else "a result"


# -- the process -------------------------------------------------------------------------------------------------------------


class Fault(Exception):
    """The harness itself failed, and says nothing of what it was to try."""


@contextmanager
def own() -> Iterator[None]:
    """Around the harness's own work: what is raised there is no word of what it tries."""
    try:
        yield
    except (Found, Skip):
        raise
    except Exception as error:
        raise Fault(described_with_place(error)) from error


def described_with_place(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{describe(error)} at {os.path.basename(where.filename)}:{where.lineno}"


def is_raised_by_what_is_tried(error: BaseException) -> bool:
    """Whether an error went through graphad or serialization on its way."""
    tried = tuple(os.path.dirname(package.__file__) + os.sep for package in (gd, serialization))
    return any(frame.filename.startswith(tried) for frame in traceback.extract_tb(error.__traceback__))


def attempt(base: Base, seed: int) -> tuple[str, str, dict[str, int]]:
    """(outcome, what happened, counts) of one mutant."""
    counts: dict[str, int] = {}
    _executables[:] = [each for each in _executables if each() is not None]
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with own():
                tree = mutant(base.tree, seed)
            try:
                msgpack.packb(tree)
            except OverflowError:
                return "refused", "", counts  # msgpack has no such integer: it is not a file
            try:
                trial = Trial(tree, base, seed)
                trial.fresh()
            except LoadError:
                return "refused", "", counts
            counts = trial.counts
            trial.run()
    except Long:
        return "long", "", counts
    except Found as found:
        return (*found.args, counts)  # type: ignore[return-value]
    except Fault as fault:
        return "harness", str(fault), counts
    except (GraphadError, LoadError) as error:
        return "error", describe(error), counts
    except Exception as error:
        kind = "raw" if is_raised_by_what_is_tried(error) else "harness"
        return kind, described_with_place(error), counts
    return "ran", "", counts


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def main(first: int, count: int, step: int) -> None:
    """Try mutants first, first + step, ...; their numbers alone decide what they are."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Executable.__init__ = _noted  # type: ignore[method-assign]
    every = programs()
    bases: dict[int, Base] = {}
    for number in range(first, first + count * step, step):
        which = (number // TOGETHER * 7919) % len(every)
        say(start=number)
        if which in bases:
            outcome, what, counts = attempt(bases[which], number)
        else:
            bases.clear()
            outcome, what, counts = "", "", {}
            try:
                bases[which] = Base(every[which])
            except GraphadError as error:
                outcome, what = "unusable", describe(error)
            except Exception as error:
                outcome, what = "harness", described_with_place(error)
            else:
                outcome, what, counts = attempt(bases[which], number)
        used = most_resident()
        say(done=number, program=every[which].name, outcome=outcome, what=what, counts=counts, bytes=used)
        if used > RESIDENT:
            return  # a new process goes on from here


if __name__ == "__main__":
    main(*[int(x) for x in sys.argv[1:4]])
