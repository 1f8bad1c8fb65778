"""`py_function` and `numpy_function`: Python code that runs each time it is reached, in traced functions too.

In eager mode the function is simply called, so that tapes see its ops. In a graph it is a node. If a derivative is needed, the
node records the function's ops on a tape and outputs the number of that tape as a residual, so that the function runs once. The
derivative is a node of the same kind; its derivative runs the function again, so that every order exists.
"""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import (
    Array,
    Cotangents,
    DTypeLike,
    NestLike,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_own
from graphad.core.dtypes import DType, as_dtype, from_numpy, int64
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.forks import lock
from graphad.core.leaving import DOCUMENTED
from graphad.core.levels import entered, note_exit
from graphad.core.op import IO, MIXED, Op, TupleOp, define
from graphad.core.schema import Kind, declare
from graphad.core.scopes import executing_eagerly
from graphad.core.shapes import ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor, read_only
from graphad.devices.transfer import copied
from graphad.gradient.tape import GradientTape
from graphad.ops.array.create import zeros_like
from graphad.ops.array.ensure import EnsureShape
from graphad.ops.control.segments import Segments

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms


_CURE = "use ops instead, or do it outside of the saved function"


class HostFunction:
    """A Python function of eager tensors, or of NumPy arrays if it is not differentiable; with its name for messages, and the
    advice for a program that tries to save it."""

    def __init__(
        self, function: Callable[..., Any], name: str, takes_tensors: bool, cure: str = _CURE
    ) -> None:
        self.function, self.cure = function, cure
        self.name = name
        self.takes_tensors = takes_tensors

    def __repr__(self) -> str:
        return f"{self.name}({getattr(self.function, '__qualname__', self.function)})"

    @property
    def pure(self) -> HostFunction:
        """The same function without the tapes of earlier calls; see `TapePullback`."""
        return self

    def results(self, values: Sequence[Any], wanted: Sequence[DType]) -> list[Any]:
        """The results for eager tensors, as tensors of the declared dtypes."""
        found = self.function(*(values if self.takes_tensors else [_array(x) for x in values]))
        if not wanted:
            return []
        listed = _listed(found, len(wanted))
        if len(listed) != len(wanted):
            raise InvalidArgumentError(
                f"{self.name}: func returned {len(listed)} values; Tout names {len(wanted)}: "
                f"{', '.join(dtype.name for dtype in wanted)}."
            )
        return [self._converted(y, dtype) for y, dtype in zip(listed, wanted, strict=True)]

    def _converted(self, y: TensorLike | None, dtype: DType) -> Tensor:
        if y is None:
            raise ArgumentTypeError(f"{self.name}: func returned None where Tout names {dtype.name}.")
        if isinstance(y, np.ndarray | np.generic) and from_numpy(y.dtype) is not dtype:
            raise DTypeError(
                f"{self.name}: func returned {y.dtype} where Tout names {dtype.name}; convert it, or name its dtype."
            )
        return lift(
            np.array(y) if isinstance(y, np.ndarray) else lift_own(y) if isinstance(y, Handle) else y, dtype
        )


PythonFunction = Any  # a `HostFunction`, or `KeptTapes` of one
declare(Kind("PythonFunction", lambda x: isinstance(x, HostFunction | KeptTapes), words="function"))


@define
class HostCall(TupleOp):
    """The results of a Python function without side effects."""

    name = "host_call"
    live = True
    transient = True
    extension = True
    foreign = True
    keeps = (True, False)
    function: PythonFunction
    dtypes: tuple[DType, ...]

    def unsafe(self) -> str | None:
        return f"is {self.function.name}, which runs Python, and a file holds no Python; {self.function.cure}"

    def infer(self, *specs: TensorSpec) -> tuple[TensorSpec, ...]:
        return tuple([TensorSpec.of(None, dtype) for dtype in self.dtypes])

    def eval(self, *values: Array) -> tuple[Array, ...]:
        with entered(None):
            results = self.function.results([_tensor(x) for x in values], self.dtypes)
        return tuple(map(_value, results))

    def vjp(self, ctx: VjpContext, *y_bars: Tensor | None) -> Cotangents:
        if not self.function.takes_tensors:
            return [None] * len(ctx.inputs)
        inputs = list(ctx.inputs)
        followed = [i for i, x in enumerate(inputs) if ctx.needs(i) and x.dtype.is_differentiable]
        bars = [ctx.zeros(k) if bar is None else bar for k, bar in enumerate(y_bars)]
        again = HostFunction(
            _pullback(self.function.pure, self.dtypes, len(inputs), followed),
            f"gradient of {self.function.name}",
            True,
        )
        return _cotangents(again, inputs, followed, [*inputs, *bars])

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return tuple([None if all(axis is None for axis in axes) else MIXED] * len(self.dtypes))


@define
class HostEffect(HostCall):
    """The results of a Python function that may have side effects, which keep the program's order."""

    name = "host_effect"
    effects = IO
    layered = True

    @property
    def n_outputs(self) -> int:
        return len(self.dtypes)

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Op:
        """The same call, keeping a tape for the derivative."""
        return HostTaped(KeptTapes(self.function), self.dtypes) if self.function.takes_tensors else self


@define
class HostTaped(HostCall):
    """The results of a Python function, and the number of the tape that recorded them."""

    name = "host_taped"
    effects = IO
    layered = True
    keeps = (True, True)

    @property
    def n_outputs(self) -> int:
        return self.outputs.total

    @property
    def outputs(self) -> Segments:
        """The segments of the op's outputs."""
        return Segments(results=len(self.dtypes), tape=1)

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Op:
        return self  # the number of the tape has no derivative

    def infer(self, *specs: TensorSpec) -> tuple[TensorSpec, ...]:
        return (*[TensorSpec.of(None, dtype) for dtype in self.dtypes], TensorSpec.of((), int64))

    def eval(self, *values: Array) -> tuple[Array, ...]:
        with entered(None):
            results, number = self.function.recorded([_tensor(x) for x in values], self.dtypes)
        return (*map(_value, results), np.int64(number))

    def vjp(self, ctx: VjpContext, *y_bars: Tensor | None) -> Cotangents:
        inputs = list(ctx.inputs)
        followed = [i for i, x in enumerate(inputs) if ctx.needs(i) and x.dtype.is_differentiable]
        outputs = self.outputs
        bars = [ctx.zeros(k) if bar is None else bar for k, bar in enumerate(outputs.results(y_bars))]
        again = TapePullback(self.function, self.dtypes, len(inputs), followed)
        return _cotangents(again, inputs, followed, [*outputs.tape(ctx.outputs), *inputs, *bars])

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return tuple([None if all(axis is None for axis in axes) else MIXED] * self.n_outputs)


def _tensor(x: Any) -> Tensor:
    """An operand of `eval` as a tensor on its device."""
    return EagerTensor(x) if isinstance(x, np.ndarray | np.generic) else x.tensor()


def _value(y: Any) -> Any:
    """A tensor as the value that `eval` returns."""
    return y.array if y.away else y.data


def _cotangents(
    again: HostFunction,
    inputs: Sequence[Tensor],
    followed: Sequence[int],
    operands: Sequence[Handle | Tensor],
) -> Sequence[Tensor | None]:
    """A cotangent for each input that is followed, by a call of a pullback."""
    found = bind(HostCall(again, tuple([inputs[i].dtype for i in followed])), *operands)
    x_bars: list[Any] = [None] * len(inputs)
    for i, x_bar in zip(followed, found, strict=True):
        dims = inputs[i].dims
        x_bars[i] = x_bar if dims is None else bind(EnsureShape(tuple(dims)), x_bar)
    return x_bars


class KeptTapes:
    """Runs a function under tapes and keeps these by number until a derivative needs them.

    It is unknown when a tape is needed for the last time. When the number of tapes, or the bytes of their inputs and results,
    exceed a limit, used tapes are dropped first, then the oldest ones. If a dropped tape is needed, the function runs again.
    """

    def __init__(self, function: HostFunction) -> None:
        self.function = function
        self.name, self.cure = function.name, function.cure
        self.takes_tensors = True
        self._lock = lock()
        self._numbers = itertools.count()
        self._kept: OrderedDict[int, tuple[Any, list[Any], list[Any], int]] = OrderedDict()
        self._used: OrderedDict[int, tuple[Any, list[Any], list[Any], int]] = OrderedDict()
        self._bytes = 0

    def __repr__(self) -> str:
        return repr(self.function)

    def recorded(self, values: list[Tensor], dtypes: Sequence[DType]) -> tuple[list[Any], int]:
        """The results, and the number of their tape."""
        with GradientTape(persistent=True) as tape:
            tape.watch([x for x in values if x.dtype.is_differentiable])
            results = self.function.results(values, dtypes)
        size = sum(x.nbytes for x in (*values, *results))
        with self._lock:
            number = next(self._numbers)
            self._kept[number] = tape, values, results, size
            self._bytes += size
            while len(self._kept) > _MOST_TAPES or (self._bytes > _MOST_BYTES and len(self._kept) > 1):
                self._bytes -= self._kept.popitem(last=False)[1][3]
        return results, number

    def tape(self, number: int) -> tuple[Any, list[Any], list[Any]] | None:
        """The tape with its inputs and results, None if it was dropped."""
        with self._lock:
            found = self._used.get(number)
            if found is None:
                found = self._kept.pop(number, None)
                if found is None:
                    return None
                self._bytes -= found[3]
                self._used[number] = found
                while len(self._used) > _USED_TAPES:
                    self._used.popitem(last=False)
        return found[:3]


# Limits on waiting tapes: each step of a loop keeps one, and a program that never differentiates must not grow.
_MOST_TAPES, _MOST_BYTES, _USED_TAPES = 65536, 2**28, 16


class TapePullback(HostFunction):
    """A function of (number of a tape, inputs, cotangents of the results) that gives the cotangents of inputs."""

    def __init__(self, tapes: KeptTapes, dtypes: Sequence[DType], n: int, followed: Sequence[int]) -> None:
        pulled, places = _pullback(tapes.function, dtypes, n, followed), Segments(inputs=n, bars=None)

        def from_tape(number: Any, *values: Any) -> Any:
            kept = tapes.tape(int(number))
            if kept is None:
                return pulled(*values)
            tape, inputs, results = kept
            return _pulled_by(tape, [inputs[i] for i in followed], results, places.bars(values))

        super().__init__(from_tape, f"gradient of {tapes.name}", True)
        self._pulled = pulled

    @property
    def pure(self) -> HostFunction:
        return HostFunction(lambda number, *values: self._pulled(*values), self.name, True)


def _pullback(
    function: HostFunction, dtypes: Sequence[DType], n: int, followed: Sequence[int]
) -> Callable[..., Any]:
    """A function of (inputs, cotangents of the results) that gives the cotangents of the inputs that are followed."""

    places = Segments(inputs=n, bars=None)

    def pulled(*values: Tensor) -> Tensor | list[Tensor]:
        inputs, bars = places.inputs(values), places.bars(values)
        sources = [inputs[i] for i in followed]
        with GradientTape() as tape:
            tape.watch(sources)
            results = function.results(inputs, dtypes)
        return _pulled_by(tape, sources, results, bars)

    return pulled


def _pulled_by(
    tape: GradientTape, sources: Sequence[Handle | Tensor], results: Sequence[Tensor], bars: Sequence[Tensor]
) -> Tensor | list[Tensor]:
    pairs = [(y, bar) for y, bar in zip(results, bars, strict=True) if y.dtype.is_differentiable]
    gradients = tape.gradient([y for y, _ in pairs], sources, [bar for _, bar in pairs])
    if gradients is None:
        gradients = [None] * len(sources)
    found = [zeros_like(x) if g is None else lift(g) for x, g in zip(sources, gradients, strict=True)]
    return found[0] if len(found) == 1 else found


def py_function(
    func: Callable[..., Any] | None = None,
    inp: NestLike = None,
    Tout: DTypeLike | None = None,
    name: str | None = None,
) -> NestLike:
    """Call `func` with eager tensors, now or each time the traced function reaches this place.

    Without `func` it is a decorator, `@py_function(Tout=float32)`: the arguments of each call are `inp`.

    Args:
      func: A function of tensors that returns tensors, arrays or numbers: one, a list of them, or None. It may have side
      effects.
      inp: The list of its arguments.
      Tout: The dtype of what it returns, or its TensorSpec, a list of these, or [] for nothing.
    Returns: A tensor, or a list of tensors if Tout is a list. In a traced function their shapes are unknown; see
      `ensure_shape`.
    Raises: InvalidArgumentError, DTypeError: `func` returned another number of values, or other dtypes, than Tout names.

    Differentiable, to every order. `func` runs once, with or without a derivative; second and higher derivatives in a traced
    function run it again. A function that was traced with it cannot be saved.
    """
    return called("py_function", func, inp, Tout, True, HostEffect)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: NestLike = None,
    Tout: DTypeLike | None = None,
    stateful: bool = True,
    name: str | None = None,
) -> NestLike:
    """Call `func` with NumPy arrays, now or each time the traced function reaches this place. The gradient is None.

    Without `func` it is a decorator, `@numpy_function(Tout=float32)`: the arguments of each call are `inp`.

    Args:
      func: A function of read-only arrays that returns arrays or numbers: one, a list of them, or None.
      inp: The list of its arguments.
      Tout: The dtype of what it returns, or its TensorSpec, a list of these, or [] for nothing.
      stateful: Whether it has side effects; if not, it may be called less often than the program says.
    Returns: A tensor, or a list of tensors if Tout is a list. In a traced function their shapes are unknown; see
      `ensure_shape`.
    Raises: InvalidArgumentError, DTypeError: `func` returned another number of values, or other dtypes, than Tout names.
    """
    return called("numpy_function", func, inp, Tout, False, HostEffect if stateful else HostCall)


def called(
    name: str,
    func: object,
    inp: list[Tensor] | None,
    Tout: Any,
    takes_tensors: bool,
    op_class: Any,
    cure: str = _CURE,
) -> Any:
    """What `func` returns, now or each time the traced function reaches this place; `name` says in messages who calls it."""
    if func is None and inp is None:

        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def call(*inputs: Any) -> Any:
                return called(name, function, list(inputs), Tout, takes_tensors, op_class, cure)

            return call

        return decorated
    if not callable(func):
        raise ArgumentTypeError(f"{name}: func must be callable, got {func!r}.")
    if Tout is None:
        raise ArgumentTypeError(
            f"{name}: Missing required argument: 'Tout', the dtype of what func returns, or []."
        )
    several = isinstance(Tout, list | tuple)
    named = list(Tout) if several else [Tout]
    wanted = tuple([as_dtype(x.dtype if isinstance(x, TensorSpec) else x) for x in named])
    inputs = [lift_own(x) for x in (inp if isinstance(inp, list | tuple) else [inp])]
    function = HostFunction(func, name, takes_tensors, cure)
    if all(type(x) is EagerTensor or x.away for x in inputs) and executing_eagerly():
        place = next((x.location for x in inputs if x.away), None)
        results = function.results(inputs, wanted)
        if place is not None:
            results = [copied(y, place) for y in results]
        return _shaped(name, results, named, several)
    return _shaped(name, list(bind(op_class(function, wanted), *inputs)), named, several)


def _shaped(name: str, results: list[Any], named: list[Any], several: bool) -> Any:
    """The results with the shapes that specs in Tout declare."""
    for k, (y, wanted) in enumerate(zip(results, named, strict=True)):
        if isinstance(wanted, TensorSpec) and wanted.dims is not None:
            if y.has_value and not wanted.describes(y.dims):
                raise InvalidArgumentError(
                    f"{name}: func returned a result of shape {y.dims} where Tout names {wanted.shape}; return that shape, or "
                    "name None for sizes that change."
                )
            results[k] = bind(EnsureShape(ranked(wanted.dims)), y)
    return results if several else results[0]


def _array(x: Tensor) -> Any:
    if type(x) is not EagerTensor:
        return x.numpy() if x.has_value else x
    note_exit(x, DOCUMENTED)
    value = x.data.copy()
    return read_only(value) if type(value) is np.ndarray else value


def _listed(found: TensorLike | None, n: int) -> list[Any]:
    """The results of a function as a list of values; a single value may be a list of numbers, or be in a list."""
    if found is None:
        return []
    if not isinstance(found, list | tuple):
        return [found]
    is_one = n == 1 and not (
        len(found) == 1 and isinstance(found[0], Tensor | Handle | np.ndarray | np.generic)
    )
    return [found] if is_one else list(found)
