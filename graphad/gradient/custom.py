"""`custom_gradient`: a function with a derivative of its own.

The function returns its value and a gradient function. Its ops are recorded as usual; its results then pass one op, which gives
them new marks and carries the rule. Variables that it reads are passed to the gradient function as `variables`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from graphad.autograph.convert import converted_here
from graphad.core.annotations import BatchContext
from graphad.core.bind import bind, new_recorder
from graphad.core.composites import flatten_records, is_record
from graphad.core.convert import exports_array, lift, lift_own
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import chain, current, entered, is_trace, remove_recorder, trace_in_progress
from graphad.core.nest import is_nested
from graphad.core.op import READS, Op
from graphad.core.recursion import CURE, explained_recursion
from graphad.core.shapes import format_dims
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.core.trackable import Trackable
from graphad.gradient import closing  # noqa: F401 -- closes graphs with custom gradients before they are batched
from graphad.gradient.function_key import function_key
from graphad.gradient.rules_in_process import remember
from graphad.ops.array.create import ones_like
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.passing import IDENTITY, told_apart
from graphad.ops.control.custom import CustomGradient
from graphad.ops.math.arithmetic import multiply
from graphad.ops.random.generator import Generator
from graphad.ops.state.variables import READ
from graphad.trace.tracer import Trace, is_symbolic
from graphad.vectorize.batch import BatchedTensor

if TYPE_CHECKING:
    from graphad.ops.control.custom import ClosedRule
    from graphad.ops.control.segments import Segments


class Rule:
    """One gradient function with the state of its call.

    Attributes:
      name: The function's qualified name, under which this process remembers the rule for models loaded later.
      trace: The trace in which the rule was made, None if eager.
    """

    __slots__ = (
        "__weakref__",
        "_function",
        "_key_text",
        "_n_arguments",
        "_variables",
        "keywords",
        "name",
        "trace",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        n_arguments: int,
        variables: Sequence[Handle | Tensor],
        trace: Trace | None,
    ) -> None:
        self._function = function
        self._n_arguments = n_arguments
        self._variables = list(variables)
        self.name = name
        self.trace = trace
        self._key_text: str | None = None
        self.keywords: tuple[str, ...] = ()  # the keyword arguments of the call, which are constants

    @property
    def _key(self) -> str:
        if self._key_text is None:
            self._key_text = function_key(self._function)
        return self._key_text

    @property
    def digest_key(self) -> str:
        return f"rule:{self.name}:{self._key}"

    def cotangents(self, bars: Sequence[Tensor], xs: Sequence[Any]) -> list[Any]:
        """The cotangents of the arguments and then of the variables; `xs` has their dtypes."""
        try:
            if self._variables:
                out = self._function(*bars, variables=list(self._variables))
            elif _takes_variables(self._function, required=True):
                out = self._function(*bars, variables=[])
            else:
                out = self._function(*bars)
        except RecursionError as error:  # raised on, with the function that calls itself
            raise explained_recursion(error, self.name, "while its gradient is computed", CURE)  # noqa: B904
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # in the function, which was entered
            raise ArgumentTypeError(
                f"custom_gradient: the gradient function of {self.name} is called with {len(bars)} upstream gradients, one for "
                f"each result of {self.name}, and does not take them: {error}."
            ) from error
        of_variables: list[Any] = []
        if self._variables or _takes_variables(self._function, required=True):
            if not (isinstance(out, tuple | list) and len(out) == 2):
                raise ArgumentTypeError(
                    f"custom_gradient: the gradient function of {self.name!r} takes `variables` and must return "
                    "(gradients, gradients of the variables)."
                )
            out, given = out
            of_variables = list(given) if given is not None else []
            if len(of_variables) != len(self._variables):
                raise InvalidArgumentError(
                    f"Must return gradient for each variable from @custom_gradient grad_fn. {self.name} reads "
                    f"{len(self._variables)}, and {len(of_variables)} were returned; None stands for one without."
                )
        listed = flatten_records(out)[0] if is_nested(out) or is_record(out) else [out]
        if len(listed) != self._n_arguments:
            named = f" (Keyword arguments are constants: {', '.join(self.keywords)}.)"
            raise InvalidArgumentError(
                f"custom_gradient function expected to return {self._n_arguments} gradients, but returned {len(listed)} instead: "
                f"{self.name} takes {self._n_arguments} tensors; return a gradient for each in their order, None for one without."
                + (named if self.keywords else "")
            )
        given = enumerate(zip([*listed, *of_variables], xs, strict=True))
        return [_as_cotangent(bar, x, self._place(k), self.name) for k, (bar, x) in given]

    def _place(self, k: int) -> str:
        """What cotangent k belongs to, for messages."""
        if k < self._n_arguments:
            return f"argument {k}"
        variable = self._variables[k - self._n_arguments]
        return f"variable {getattr(variable, 'name', k - self._n_arguments)!r}"

    def stacked(self, ctx: BatchContext, places: Segments) -> StackedRule:
        """The rule for stacked values at the level below."""
        return StackedRule(self, ctx, places)

    def register(self, closed_rule: ClosedRule) -> None:
        """Make the rule known to models that are loaded later in this process without it."""
        remember(closed_rule)


class StackedRule:
    """A rule of a batch level as seen from the level below: it re-enters the batch level to run the rule."""

    __slots__ = ("__weakref__", "_ctx", "_places", "_rule", "name", "trace")

    def __init__(self, rule: Any, ctx: BatchContext, places: Segments) -> None:
        self._rule = rule
        self._ctx = ctx
        self._places = places
        self.name = rule.name
        below = ctx.level.below
        self.trace = below if is_trace(below) else None

    def cotangents(self, bars: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        level, ctx = self._ctx.level, self._ctx
        below = current()
        before, level.below = level.below, below
        try:
            with entered(level):
                rows = [level.wrap(bar, ctx.stacked(self._places.ys[k])) for k, bar in enumerate(bars)]
                row_specs = [ctx.row_spec(k) for k in self._places.xs]
                out = self._rule.cotangents(rows, row_specs)
            with entered(below):
                return [
                    None if bar is None else level.lower_to(bar, ctx.stacked(k), ctx)
                    for k, bar in enumerate(out)
                ]
        finally:
            level.below = before

    def stacked(self, ctx: BatchContext, places: Segments) -> StackedRule:
        return StackedRule(self, ctx, places)

    def register(self, closed_rule: object) -> None:
        """Does nothing: a stacked rule belongs to no user's function by itself."""


class _Reads:
    """A recorder of the trainable variables that are read and, on request, of tensors from outside."""

    differentiates_itself = False
    transforms = None
    has_rule = True

    def __init__(self, arguments: Sequence[Tensor] | None = None) -> None:
        self.found: dict[int, Any] = {}
        self._takes = None if arguments is None else {id(x) for x in arguments}
        self._hidden: list[Any] | None = None
        self._first: dict[Any, int] = {}  # trace in progress -> its next serial number

    def hide(self, levels: Sequence[Any]) -> None:
        """The levels whose recorders are hidden from now on; not repeated inside."""
        if self._hidden is not None:
            return
        self._hidden = [r for level in levels for r in level.recorders if r is not self]
        self._first = {level: len(level.builder.specs) for level in levels if is_trace(level)}

    def record(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        reads = op.effects & READS
        for x in inputs:
            if isinstance(x, Handle):
                if reads and x.trainable:
                    self.found.setdefault(id(x), x)
            elif self._takes is not None and id(x) not in self.found and self._is_captured(x):
                self.found[id(x)] = x

    def read(self, handle: Handle, value: EagerTensor) -> None:
        if handle.trainable:
            self.found.setdefault(id(handle), handle)

    def needs(self, op: Op, inputs: Sequence[Any]) -> None:
        return None

    def instead(self, op: Op, inputs: Sequence[Any], younger: Sequence[Any]) -> None:
        """Ops run as they are."""

    def note_break(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        return None

    def follows(self, x: object) -> bool:
        if isinstance(x, Handle):
            return x.trainable
        return self._takes is not None and any(recorder.follows(x) for recorder in self._hidden or ())

    def note_exit(self, x: object, way: str) -> None:
        return None

    def _is_captured(self, x: Tensor) -> bool:
        """Whether a tensor that an op reads comes from outside the function and may have a gradient there."""
        return id(x) not in self._takes and x.dtype.is_differentiable and self._is_outside(x)  # type: ignore[operator]

    def _is_outside(self, x: Any) -> bool:
        if type(x) is BatchedTensor:
            return self.follows(x) or self._is_outside(x.stacked)
        if is_symbolic(x):
            first = self._first.get(x.trace)
            return first is None or x.index < first
        # An eager value that is not followed yet never will be; a captured value of a graph may be followed later.
        return bool(self._first) or self.follows(x)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Inside a function with a custom gradient: hide the block from tapes, but record what it reads."""
    levels = list(chain())
    before = [level.recorders for level in levels]
    # The level of a device has no recorders; see `levels.add_recorder`.
    top = next(level for level in levels if not getattr(level, "is_place", False))
    for reads in top.recorders:
        if isinstance(reads, _Reads):
            reads.hide(levels)
    for level in levels:
        level.recorders = tuple([recorder for recorder in level.recorders if isinstance(recorder, _Reads)])
    try:
        yield
    finally:
        for level, recorders in zip(levels, before, strict=True):
            level.recorders = recorders
    for reads in top.recorders:
        if isinstance(reads, _Reads):
            for x in list(reads.found.values()):
                if isinstance(x, Handle):
                    bind(READ, x)  # tapes follow a variable when they see it read


P = ParamSpec("P")
R = TypeVar("R")


@overload
def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]: ...
@overload
def custom_gradient(
    f: None = None,
) -> Callable[[Callable[P, tuple[R, Callable[..., Any]]]], Callable[P, R]]: ...
def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Decorator: give a function a gradient of its own.

    Args:
      f: Called with tensors, in eager code with Python's integers and bools as they are; returns (value, gradient function).
        The gradient function gets one upstream gradient per flattened output and returns one gradient (or None) per
        flattened input. If `f` reads trainable variables, it must take `variables` too and return (gradients, gradients of
        the variables).
    Returns: A function that returns the value alone.
    Raises:
      InvalidArgumentError (a ValueError): a wrong number of gradients, when the gradient is computed.
      ArgumentTypeError (a TypeError): `f` is no function; the gradient function cannot take `variables` although variables
        are read.
    Example:
      >>> @custom_gradient
      ... def clipped(x):
      ...     return x * 1.0, lambda upstream: clip_by_norm(upstream, 0.5)
      >>> grad(clipped)(2.0).numpy()
      np.float32(0.5)
    """
    if f is None:
        return custom_gradient
    require_function(custom_gradient.__name__, f, "returns a value and its gradient function")

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return call_with_rule(f, args, kwargs)
        except RecursionError as error:  # raised on, with the function that calls itself
            raise explained_recursion(error, custom_gradient.__name__, "while its value is computed", CURE)  # noqa: B904

    return wrapper


def require_function(op: str, f: object, what: str) -> None:
    """Raises: ArgumentTypeError (a TypeError): what is decorated cannot be called."""
    if not callable(f):
        raise ArgumentTypeError(
            f"{op}: {' '.join(repr(f).split())} is not a callable object; decorate a function that {what}."
        )


def call_with_rule(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], captures: bool = False
) -> Any:
    """Call `f`, which returns a value and a gradient function, and give the value that derivative.

    Args:
      f: As for `custom_gradient`.
      args: Its arguments, which have derivatives.
      kwargs: Its arguments without derivatives.
      captures: Whether tensors from outside count as variables that it reads.
    """
    trace = trace_in_progress()
    if kwargs and trace is not None:
        raise InvalidArgumentError(
            "The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled."
        )
    bound_self, args = _split_self(args)
    leaves, rebuild = flatten_records(list(args))
    # Fresh tensors, so that a tape inside distinguishes arguments from variables and from each other.
    xs = told_apart([lift_own(leaf) if _is_tensor_like(leaf) else leaf for leaf in leaves])
    # On the device on which the function computes with them.
    if any(getattr(each, "is_place", False) for each in chain()):
        xs = [bind(IDENTITY, x) if isinstance(x, Tensor) and x.has_value else x for x in xs]
    # Eager code gets Python's integers and truth values as they are: it counts with them, and hands them to other libraries.
    plain = (
        xs if trace is not None else [a if isinstance(a, int) else x for a, x in zip(leaves, xs, strict=True)]
    )
    arguments = [x for x in xs if isinstance(x, Tensor)]
    reads = _Reads(arguments if captures else None)
    level = new_recorder(reads)
    try:
        pair = converted_here(f)(*bound_self, *rebuild(plain), **kwargs)
    finally:
        remove_recorder(level, reads)
    name = getattr(f, "__qualname__", type(f).__name__)
    try:
        value, gradient_function = pair
    except (TypeError, ValueError) as cause:
        raise ArgumentTypeError(
            f"custom_gradient: {name} must return (value, gradient function), it returned {pair!r}."
        ) from cause
    if not callable(gradient_function):
        raise ArgumentTypeError(
            f"custom_gradient: the gradient function that {name} returned is not callable: {gradient_function!r}."
        )
    variables = list(reads.found.values())
    if variables and not _takes_variables(gradient_function):
        raise ArgumentTypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: "
            f"{[getattr(v, 'name', '?') for v in variables]}. Write {name} so that its gradient function is `def grad(*upstream, "
            "variables=None)` and returns (gradients of the arguments, gradients of the variables)."
        )
    if trace is not None:
        _References(trace).capture(gradient_function)
    flat, rebuild_value = flatten_records(value)
    ys = [lift(y) for y in flat]
    module = getattr(f, "__module__", "")
    rule = Rule(gradient_function, f"{module}.{name}", len(arguments), variables, trace)
    rule.keywords = tuple(kwargs)
    inputs = [*arguments, *variables]
    outputs = bind(CustomGradient(rule, len(inputs)), *inputs, *ys)
    return rebuild_value(list(outputs))


def _split_self(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Splits the leading `self` of a method from the arguments that can be differentiated."""
    if args and not (_is_tensor_like(args[0]) or is_nested(args[0]) or is_record(args[0])):
        return args[:1], args[1:]
    return (), args


def _is_tensor_like(x: object) -> bool:
    return (
        isinstance(x, Tensor | int | float | complex | bool)
        or hasattr(x, "__graphad_tensor__")
        or exports_array(x)
    )


def _takes_variables(function: Callable[..., Any], required: bool = False) -> bool:
    """Whether a gradient function can take `variables`, or (`required`) names it without a default."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return not required
    named = parameters.get("variables")
    if required:
        return named is not None and named.default is inspect.Parameter.empty
    return named is not None or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


_FAR = 3  # calls away from a gradient function


class _References:
    """Captures the outer tensors and variables to which a gradient function refers, while a trace is in progress.

    References are found in its code: names of enclosing functions and of its module, attributes of the objects with these names,
    and the references of the functions and methods that it calls.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._seen: set[tuple[int, int]] = set()
        # (function, objects that it gets, calls away).
        self._waiting: list[tuple[Any, tuple[Any, ...], int]] = []

    def capture(self, function: Callable[..., Any]) -> None:
        self._waiting.append((function, (), 0))
        while self._waiting:
            self._read(*self._waiting.pop())

    def _read(self, reader: Any, owner: tuple[Any, ...], depth: int) -> None:
        """Read one function: capture the values to which it refers, and add the functions that it calls to the list."""
        if isinstance(reader, functools.partial):
            self._waiting.append((reader.func, (*owner, *reader.args, *reader.keywords.values()), depth))
            return
        if inspect.ismethod(reader):
            owner = (*owner, reader.__self__)
            reader = reader.__func__
        key = id(reader), id(owner[0]) if owner else 0
        code = getattr(reader, "__code__", None)
        if code is None or depth > _FAR or key in self._seen:
            return
        self._seen.add(key)
        globals_ = reader.__globals__
        items = [*owner, *_cells(reader), *[globals_[name] for name in code.co_names if name in globals_]]
        objects: set[int] = set()
        while items:
            item = items.pop()
            for leaf in flatten_records(item)[0] if is_nested(item) or is_record(item) else [item]:
                if self._is_captured(leaf):
                    continue
                if isinstance(leaf, functools.partial) or inspect.ismethod(leaf):
                    self._waiting.append((leaf, (), depth + 1))
                elif inspect.isfunction(leaf):
                    if leaf.__closure__ or leaf.__globals__ is globals_:
                        self._waiting.append((leaf, (), depth + 1))
                elif id(leaf) not in objects and not isinstance(leaf, type):
                    objects.add(id(leaf))
                    items += self._parts(leaf, code.co_names, depth)

    def _is_captured(self, leaf: object) -> bool:
        """Whether a value is captured: variables, generators, and tensors of outer traces are."""
        if isinstance(leaf, Tensor) and getattr(leaf, "trace", self._trace) is self._trace:
            return True
        if isinstance(leaf, Handle | Tensor | Generator):
            self._trace.serial(leaf.state if isinstance(leaf, Generator) else leaf, _CLOSURE)
            return True
        return False

    def _parts(self, owner: Any, names: Sequence[str], depth: int) -> list[Any]:
        """The attributes of an object or module that code with these names may read; methods are looked at later."""
        held = getattr(owner, "__dict__", {})
        found = [held[name] for name in names if name in held]
        if inspect.ismodule(owner):
            return [x for x in found if not inspect.isroutine(x) and not inspect.ismodule(x)]
        methods = _methods(owner, names)
        self._waiting += [(x, (owner,), depth + 1) for x in methods if not _is_own(x)]
        if isinstance(owner, Trackable) and any(map(_is_own, methods)):
            return list(held.values())  # a layer, whose code need not be looked at
        return found


def _cells(function: Callable[..., Any]) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # not bound yet


def _methods(x: object, names: Sequence[str]) -> list[Any]:
    """The methods of an object that code with these names may call; for a decorated function what it runs."""
    inner = getattr(x, "__wrapped__", None)
    if inspect.isfunction(inner):
        return [inner]
    kind = type(x)
    found = [getattr(kind, name, None) for name in {*names, "__call__", "call"}]
    found = [method.fget if isinstance(method, property) else method for method in found]
    return [method for method in found if inspect.isfunction(method)]


def _is_own(function: Any) -> bool:
    """Whether a function is one of this library."""
    return str(function.__globals__.get("__name__")).startswith(_OWN)


_OWN = f"{__name__.partition('.')[0]}."


class _Closure:
    name = "custom_gradient"


_CLOSURE: Any = _Closure()


def _as_cotangent(bar: Any, x: Any, place: str, name: str) -> Tensor | None:
    if bar is None:
        return None
    if isinstance(bar, IndexedSlices):
        return lift(bar)
    spec = getattr(x, "spec", x)
    try:
        found = lift(bar, None if isinstance(bar, Tensor) else spec.dtype)
    except (DTypeError, ArgumentTypeError) as cause:
        raise ArgumentTypeError(
            f"custom_gradient: the gradient function of {name!r} returned {bar!r}, which is not a tensor: {cause}"
        ) from cause
    dims = found.dims
    if isinstance(bar, int | float) and not dims and spec.dims:
        return multiply(ones_like(x), found)  # a scalar is the gradient of every element
    if dims is not None and spec.dims is not None and _differ(dims, spec.dims):
        raise InvalidArgumentError(
            f"custom_gradient: the gradient that {name!r} returned for its {place} has shape {format_dims(dims)}, and the "
            f"{place} has shape {format_dims(spec.dims)}; they must be equal (where an operand was broadcast, sum over the axes "
            "that were added)."
        )
    if spec.dims is not None and (
        dims is None or any(n is None is not m for m, n in zip(spec.dims, dims, strict=True))
    ):
        return ensure_shape(found, spec.dims)  # only the run tells
    return found


def _differ(a: Sequence[int | None], b: Sequence[int | None]) -> bool:
    """Whether two shapes differ for all values of their unknown sizes."""
    return len(a) != len(b) or any(type(m) is type(n) is int and m != n for m, n in zip(a, b, strict=True))
