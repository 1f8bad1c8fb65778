"""`Function`: traces a Python function once per kind of arguments, keeps the traces, and picks the one that fits.

Variables may be made in the first call only. The function is then traced twice, and the second trace is kept.
"""

from __future__ import annotations

import functools
import importlib
import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from graphad.autograph.convert import converted, converting
from graphad.core.collector import paused
from graphad.core.composites import flatten_composites
from graphad.core.convert import lift
from graphad.core.errors import (
    ArgumentTypeError,
    EndlessRecursionError,
    FailedPreconditionError,
    GraphadError,
    InvalidArgumentError,
)
from graphad.core.flags import flags
from graphad.core.frames import note_user_line
from graphad.core.levels import busy, entered, leave_traces, trace_in_progress
from graphad.core.tensor import EagerTensor, Handle
from graphad.core.turns import Turn
from graphad.eager.variable import pin
from graphad.function.concrete import ConcreteFunction, Results
from graphad.function.printed import Printed
from graphad.function.retracing import History, difference, history_of, made_anew
from graphad.function.signature import (
    Arguments,
    ObjectKey,
    Signature,
)
from graphad.function.traces import Traces
from graphad.function.watched import Creation, is_same, snapshot
from graphad.trace.tracer import RETURN, SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor
    from graphad.function.described import FunctionSpec, FunctionType


DEEPEST = 32  # nested traces of one function for the same arguments
SUSPENDING = 0x20 | 0x80 | 0x200  # flags of the code of generators, coroutines and asynchronous generators


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class Function(Printed, Generic[P, R]):
    """A Python function that runs as a graph; made by `function`.

    Attributes:
      python_function: The Python function; that of a method is bound to the object.
      jit_compile: True waits for compiled code, False never compiles, None compiles in the background.
      autograph: Whether Python control flow on tensors is converted.
    """

    def __init__(
        self,
        python_function: Callable[P, R],
        input_signature: Any = None,
        jit_compile: bool | None = None,
        reduce_retracing: bool = False,
        name: str | None = None,
        instance: object = None,
        autograph: bool = True,
        autograph_options: Any = None,
    ) -> None:
        self._python = python_function
        self.autograph = autograph
        self._autograph_options = autograph_options
        self.jit_compile = jit_compile
        self.reduce_retracing = reduce_retracing
        self._given_signature = input_signature
        self._instance = None if instance is None else _reference(instance)
        self._name = name or getattr(python_function, "__name__", None) or type(python_function).__name__
        self.signature = Signature(python_function, input_signature, self._skips_self(instance))
        self._traces = Traces()
        self._turn = Turn()
        self._renamed: dict[Any, ConcreteFunction] = {}
        self._open: dict[Any, int] = {}  # (thread, trace key) -> how many such traces are in progress
        self._fast: dict[Any, Any] = {}
        self._away: Any = None  # the same for tensors of other devices, from the first such call on
        self._variables: list[Any] | None = None
        self._trace_count = 0
        self._latest: deque[Any] = deque(maxlen=2)
        self._history = History() if instance is not None else history_of(python_function)
        self._quick_calls = 0  # calls by the short way since the last other call
        self._bound: dict[int, tuple[Any, Function[..., Any]]] = {}
        self._attribute = self._name  # its name in the class that it is a method of
        self._origin = Origin(self)
        functools.update_wrapper(self, python_function, updated=())
        if instance is not None:  # else `inspect` would show the parameters of the unbound function
            self.__signature__ = self.signature.signature

    @property
    def python_function(self) -> Callable[P, R]:
        if self._instance is None:
            return self._python
        return MethodType(self._python, self._with_self(())[0])

    # Hidden from type checkers, which should report names that the class does not have.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """An attribute of the Python function, or of the callable object."""
            try:
                return vars(vars(self)["_python"])[name]
            except (KeyError, TypeError):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                ) from None

    def _skips_self(self, instance: object) -> bool:
        if instance is not None:
            return True
        if self._given_signature is None or isinstance(self._python, MethodType):
            return False  # the object of a bound method is not a parameter
        code = getattr(self._python, "__code__", None)
        return code is not None and code.co_varnames[:1] == ("self",) and code.co_argcount > 0

    def __set_name__(self, owner: object, name: str) -> None:
        self._attribute = name

    @overload
    def __get__(self, instance: None, owner: object = None) -> Function[P, R]: ...
    @overload
    def __get__(
        self: Function[Concatenate[S, Q], R], instance: S, owner: object = None
    ) -> Function[Q, R]: ...
    def __get__(self, instance: object, owner: object = None) -> Any:
        """A method: traces are kept per object."""
        if instance is None:
            return self
        key = id(instance)
        entry = self._bound.get(key)
        if entry is not None and entry[0]() is instance:
            return entry[1]
        made = Function(
            self._python,
            self._given_signature,
            self.jit_compile,
            self.reduce_retracing,
            self._name,
            instance,
            self.autograph,
            self._autograph_options,
        )
        made._attribute = self._attribute
        bound = self._bound
        self._bound[key] = (_reference(instance, lambda _: bound.pop(key, None)), made)
        return made

    @property
    def _options(self) -> tuple[Any, ...]:
        return (
            self._given_signature,
            self.jit_compile,
            self.reduce_retracing,
            self._name,
            self.autograph,
            self._autograph_options,
        )

    def __deepcopy__(self, memo: Any) -> Function[P, R]:
        """The method of the copied object, else a function of the copied Python function, without traces."""
        from copy import deepcopy  # whose caller has it

        if self._instance is not None:
            return getattr(deepcopy(self._with_self(())[0], memo), self._attribute)  # type: ignore[no-any-return]
        again: Any = _again(deepcopy(self._python, memo), *self._options)
        return again  # type: ignore[no-any-return]

    def __copy__(self) -> Function[P, R]:
        again: Any = self if self._instance is not None else _again(self._python, *self._options)
        return again  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        """By reference: see `function/pickling.py`."""
        from graphad.function.pickling import reduced

        instance = None if self._instance is None else self._with_self(())[0]
        return reduced(self, instance, self._attribute, _again, self._options)

    # -- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        level = busy()
        try:
            if not kwargs:
                key = []
                for x in args:
                    if type(x) is not EagerTensor:
                        break
                    data = x.data
                    key.append(data.shape)
                    key.append(data.dtype.num)
                else:
                    found = self._fast.get(tuple(key))
                    if found is not None and not flags.run_functions_eagerly:
                        self._quick_calls += 1
                        run, captures, jit, guards, results, concrete = found
                        if level is not None:  # a tape is recording: it sees the call as an op
                            return concrete.call_flat(args)  # type: ignore[no-any-return]
                        outputs = run([x.data for x in args] + captures, jit, guards)  # type: ignore[attr-defined]
                        if results.is_one:
                            return EagerTensor(outputs[0])  # type: ignore[return-value]
                        return results.build([EagerTensor(y) for y in outputs])  # type: ignore[no-any-return]
            return self._call(args, kwargs)  # type: ignore[no-any-return]
        except BaseException as error:  # raised on, with a traceback that ends in the user's code
            leave_traces(level)
            if not isinstance(error, Exception):
                raise
            from graphad.core.tracebacks import for_user

            if isinstance(error, RecursionError) and not isinstance(error, EndlessRecursionError):
                from graphad.core.recursion import explained_nesting

                error = explained_nesting(error, self._name, "when it is called")
            raise for_user(error)  # noqa: B904 - it is the same error

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if flags.run_functions_eagerly:
            return self._python(*self._with_self(args), **kwargs)
        if self._away is not None and not kwargs:
            known = self._away.known(args)
            if known is not None:
                self._quick_calls += 1
                return known(args)
        arguments = self.signature.arguments(args, kwargs)
        made = self._trace_count
        concrete = self.concrete_for(arguments)
        if made != self._trace_count and trace_in_progress() is None:
            self._report()  # a call inside of a traced function is counted by that function
        result = concrete.call_flat(arguments.values)
        if not kwargs and args and getattr(args[0], "away", False) and len(args) == len(arguments.values):
            self._keep_away(args, concrete)
        if not kwargs and all(type(x) is EagerTensor for x in args) and len(args) == len(arguments.values):
            if len(self._fast) < 64 and trace_in_progress() is None and not concrete.captures_elsewhere:
                key: list[Any] = []
                for x in args:
                    key += [x.data.shape, x.data.dtype.num]
                captures = [x.data if type(x) is EagerTensor else x for x in concrete.captured_inputs]
                executable = concrete.executable
                guards = executable.guards([x.data for x in args] + captures)  # no argument is a variable
                self._fast[tuple(key)] = (
                    executable.run,
                    captures,
                    self.jit_compile,
                    guards,
                    concrete.results,
                    concrete,
                )
        return result

    def _keep_away(self, args: tuple[Any, ...], concrete: ConcreteFunction) -> None:
        if self._away is None:
            self._away = importlib.import_module("graphad.function.away").Away()
        self._away.keep(args, concrete)

    def _with_self(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._instance is None:
            return args
        instance = self._instance()
        if instance is None:
            raise FailedPreconditionError(
                f"{self._name}: the object of this method no longer exists; keep a reference to the object, "
                "not only to the method."
            )
        return (instance, *args)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The concrete function for specs, tensors or Python values; it is traced if need be.

        Raises: ArgumentTypeError (a TypeError): the arguments do not fit, or none are given and there is no signature.
        """
        try:
            arguments = self.signature.placeholders(args, kwargs)
            found = self.concrete_for(arguments)
        except Exception as error:  # raised on, with a traceback that ends in the user's code
            from graphad.core.tracebacks import for_user

            raise for_user(error)  # noqa: B904 - it is the same error
        if not arguments.names or found.arguments.names == arguments.names:
            return found
        key = found.serial, *arguments.names.items()  # a trace does not depend on names of specs
        return self._renamed.setdefault(key, found.named(arguments))

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces made so far, in their order."""
        return self._traces.all()

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        return self.signature.input_signature

    @property
    def function_type(self) -> FunctionType:
        """The parameters, with what the input signature fixes: an `inspect.Signature`."""
        return self.function_spec.function_type

    @property
    def function_spec(self) -> FunctionSpec:
        """Names, defaults, input signature and options as data."""
        from graphad.function.described import FunctionSpec  # which few programs ask for

        return FunctionSpec(self.signature, self.jit_compile)

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Any]:
        """Variables that were made inside the function."""
        return list(self._variables or ())

    def experimental_get_tracing_count(self) -> int:
        """How many traces have been made."""
        return self._trace_count

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """One block per trace; if not verbose, one line."""
        from graphad.function.printing import listing

        return listing(self.concrete_functions, verbose)

    def explain_retrace(self) -> str:
        """Why the latest trace was necessary: the argument, its old and new value, and how to avoid it."""
        if len(self._latest) < 2:
            return f"{self._name}: traced {len(self._latest)} time(s); nothing was retraced."
        return f"{self._name}: {difference(self.signature, *self._latest)}"

    # -- tracing -----------------------------------------------------------------------------------------------------

    def concrete_for(self, arguments: Arguments) -> ConcreteFunction:
        """The trace for classified arguments, made if necessary."""
        found = self._traces.get(arguments.key)
        if found is not None:
            self._quick_calls += 1
            return found
        return self._turn.take(functools.partial(self._found_or_traced, arguments))

    def _found_or_traced(self, arguments: Arguments) -> ConcreteFunction:
        found = self._traces.get(arguments.key) or self._traces.most_specific(arguments)
        if found is not None:
            self._quick_calls += 1
        else:
            arguments = self._relaxed(arguments)
            found = self._trace_new(arguments)
            key = (*arguments.key, *found.pinned.values())
            self._traces.add(key, found)
            self._latest.append(key)
        for slot in found.pinned:
            pin(arguments.values[slot])
        return found

    def _explain_recursion(self, error: RecursionError) -> None:
        """Raises: EndlessRecursionError: a Python function calls itself too deeply while this function is traced, or branches
        stand too deeply within each other."""
        from graphad.core.recursion import explained_recursion

        made = explained_recursion(
            error,
            self._name,
            "while it is traced",
            "let a Python value that changes end the recursion (a branch on a tensor is traced on both sides), or use "
            "tf.while_loop",
        )
        if made is error:
            return
        note_user_line(made, self._name, _where(self._python))
        raise made from error

    def _relaxed(self, arguments: Arguments) -> Arguments:
        """With reduce_retracing: sizes that have differed between calls become None."""
        if not self.reduce_retracing or self.signature.input_signature is not None:
            return arguments
        common = self._traces.common(arguments)
        return arguments if common is None else arguments.with_leaves(list(common))

    def _trace_new(self, arguments: Arguments) -> ConcreteFunction:
        key = get_ident(), arguments.key
        depth = self._open.get(key, 0)
        if depth >= DEEPEST:
            raise EndlessRecursionError(
                f"{self._name}: it calls itself with the same kind of arguments while it is traced, and again inside that "
                f"call, {DEEPEST} times so far; let a Python value that changes end the recursion, or use tf.while_loop."
            )
        self._open[key] = depth + 1
        try:
            return self._trace_and_make_variables(arguments)
        finally:
            if depth:
                self._open[key] = depth
            else:
                del self._open[key]

    def _trace_and_make_variables(self, arguments: Arguments) -> ConcreteFunction:
        first = self._variables is None
        if self.jit_compile and trace_in_progress() is None:
            from graphad.compiler.foresight import foresee

            foresee(self.python_function)
        concrete, creation = paused(functools.partial(self._trace_once, arguments, first))
        if first:
            self._variables = creation.variables
        if creation.variables or creation.again:
            concrete, _ = paused(functools.partial(self._trace_once, arguments, False, is_last=True))
        return concrete

    def _trace_once(
        self, arguments: Arguments, creating: bool, is_last: bool = False
    ) -> tuple[ConcreteFunction, Creation]:
        if getattr(getattr(self._python, "__code__", None), "co_flags", 0) & SUSPENDING:
            from graphad.function.suspended import refuse  # few functions are

            refuse(self._python)
        trace = Trace(self._name)
        specs = arguments.specs
        handles: dict[int, Any] = {}
        with entered(trace):
            inputs: list[Any] = []
            numbers: dict[int, Any] = {}
            names = self.signature.slot_names(arguments)
            for value, spec, name in zip(arguments.values, specs, names, strict=True):
                if isinstance(value, Handle):
                    serial = trace.capture(value)
                    trace.captures.pop()
                    trace.capture_serials.pop()
                    handles[len(inputs)] = numbers[serial] = value
                    inputs.append(SymbolicTensor(trace, serial, trace.builder.specs[serial], None))
                    continue
                symbol = trace.input(spec, name)
                if isinstance(value, EagerTensor | SymbolicTensor) or getattr(value, "away", False):
                    numbers[symbol.index] = value
                inputs.append(symbol)
            creation = Creation(creating, trace, numbers, is_last)
            trace.creation = creation
            leaves = [
                (handles.get(slot, inputs[slot]) if slot >= 0 else leaf.value)
                for leaf, slot in zip(arguments.leaves, arguments.slots, strict=True)
            ]
            args, kwargs = arguments.rebuild(leaves)
            before = snapshot(args, kwargs)
            try:
                with converting(self.autograph):
                    traced = self._python
                    if self.autograph:
                        traced = converted(traced, self._autograph_options)
                    value = traced(*self._with_self(tuple(args)), **kwargs)
            except Exception as error:  # raised on, with the user's line
                if isinstance(error, RecursionError) and not isinstance(error, EndlessRecursionError):
                    self._explain_recursion(error)
                note_user_line(error, self._name, _where(self._python))
                trace.escapes.hand_on(trace.below)
                raise
            self._check_unmodified(before, args, kwargs)
            flat, rebuild = flatten_composites(value)
            positions: list[int | None] = []
            outputs: list[Any] = []
            for leaf in flat:
                if leaf is None:
                    positions.append(None)
                    continue
                positions.append(len(outputs))
                outputs.append(self._output(leaf))
            graph = trace.finish(outputs, RETURN, True, inputs)
        concrete = ConcreteFunction(
            self._name,
            graph,
            trace.captures,
            arguments.without_values(),
            Results(positions, rebuild),
            self.signature,
            self.jit_compile,
        )
        concrete.origin = self._origin
        trace.creation = None  # it refers to the trace, whose graph is freed with the last reference to it
        concrete.pinned = {
            slot: ObjectKey(value)
            for slot, value in handles.items()
            if any(value is variable for variable in creation.pinned)
        }
        self._trace_count += 1
        return concrete, creation

    def _output(self, leaf: object) -> Tensor:
        try:
            return lift(leaf)
        except GraphadError as cause:
            raise ArgumentTypeError(
                "To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes "
                f"or None values; in compilation of {self._name}, found return value of type {type(leaf).__name__}, which "
                "is not a Tensor or ExtensionType."
            ) from cause

    def _check_unmodified(
        self, before: list[Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if before is None:
            return
        names = self.signature.parameter_names
        keys = [
            *map(self.signature.positional_name, range(len(args))),
            *kwargs,
        ]
        pairs = zip(keys, before, (*args, *kwargs.values()), strict=True)
        changed = [key for key, old, new in pairs if not is_same(old, new)]
        if not changed:
            return
        raise InvalidArgumentError(
            f"{self._name}({', '.join(names)}) should not modify its Python input arguments. Modifying a copy is allowed. "
            f"The following parameter(s) were modified: {', '.join(changed)}"
        )

    def _report(self) -> None:
        traces = self._history.traced(self._quick_calls)
        self._quick_calls = 0
        if traces:
            cure = self.explain_retrace() if len(self._latest) > 1 else made_anew(self._name)
            import logging  # imported here: slow to import and rarely needed

            logging.getLogger("graphad").warning(
                "%d out of the last %d calls to %s triggered tf.function retracing. Tracing is expensive. %s",
                traces,
                len(self._history.recent),
                self._python,
                cure,
            )

    def __repr__(self) -> str:
        from graphad.function.printing import counted, head

        return f"<graphad function {self._name}{head(self.signature)} with {counted(len(self._traces), 'trace')}>"


class Origin:
    """Gives the traces their function by a weak reference, so that the function is freed with the program's last reference to it.

    A trace that outlives its function gets a new one, made of the same Python function.
    """

    def __init__(self, function: Function[..., Any]) -> None:
        self._function = weakref.ref(function)
        self._python_function, self._instance = function._python, function._instance
        self._options = function._options
        self._made: Function[..., Any] | None = None

    def __call__(self) -> Function[..., Any]:
        found = self._function() or self._made
        if found is None:
            signature, jit_compile, reduce_retracing, name, *how = self._options
            instance = None if self._instance is None else self._instance()
            found = Function(
                self._python_function, signature, jit_compile, reduce_retracing, name, instance, *how
            )
            self._made = found
        return found


def _again(python_function: Any, *options: Any) -> Function[..., Any]:
    """A function without traces, with these options."""
    input_signature, jit_compile, reduce_retracing, name, *how = options
    made: Any = Function(python_function, input_signature, jit_compile, reduce_retracing, name, None, *how)
    return made  # type: ignore[no-any-return]


def _reference(x: object, callback: Callable[..., Any] | None = None) -> Any:
    """A weak reference, or a strong one where weak ones are not possible."""
    try:
        return weakref.ref(x, callback)
    except TypeError:
        return lambda: x


def _where(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)
