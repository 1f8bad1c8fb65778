"""`Variable`: a tensor that can be given new values, watched by tapes and kept by models.

Functions capture a variable by reference. `assign` replaces the array; only `ops/state/slices.py` writes into the array itself,
if it has no other owner.
"""

from __future__ import annotations

import enum
import importlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import EagerLevel, bind
from graphad.core.convert import lift, refused_by
from graphad.core.device import along
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import (
    ArgumentTypeError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfScopeError,
    UnavailableError,
    UnconvertibleError,
)
from graphad.core.flags import flags
from graphad.core.ieee import SHORT_WAY_ENDS
from graphad.core.levels import busy, chain, current, entered, note_exit, trace_in_progress
from graphad.core.names import current_scope
from graphad.core.op import Op
from graphad.core.shapes import Dims, TensorShape, are_compatible, as_dims, format_dims
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import (
    EagerTensor,
    Handle,
    Reference,
    Tensor,
    guard_of,
    slice_assigners,
)
from graphad.core.trackable import are_waiting, settle
from graphad.eager.creators import Created
from graphad.eager.scattered import Scattered
from graphad.ops.math.arithmetic import ADD, SUB
from graphad.ops.math.cast import cast
from graphad.ops.operators import install
from graphad.ops.state.variables import ASSIGN, READ, wrong_shape

if TYPE_CHECKING:
    from graphad.core.arithmetic import Arithmetic
else:
    Arithmetic = object

_serial = itertools.count()


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several devices are synchronized. It has no effect, since a variable is on one device."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How assignments from several devices are combined. It has no effect, since a variable is on one device."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class Variable(Scattered, Handle, Arithmetic, metaclass=Created):
    """A mutable tensor.

    Args:
      initial_value: A tensor, number, array or nested list, or a function of no arguments that gives one.
      trainable: Whether tapes watch it by themselves and optimizers train it.
      name: Its name; the name scope is prepended and ":0" appended.
      dtype: The dtype; by default that of the initial value (floats are float32, ints int32).
      constraint: A function of the value that gives an allowed one; optimizers apply it after each update.
      synchronization, aggregation: Kept for compatibility; a variable is on one device. A variable that is synchronized ON_READ
      is not trainable by default.
      shape: The shapes that its values may have, by default the known part of the initial value's shape; `TensorShape(None)`
      allows every shape.
      validate_shape: Accepted for compatibility; the shape is always checked.
      caching_device, variable_def, import_scope, experimental_enable_variable_lifting: Accepted for compatibility.
    Raises:
      InvalidArgumentError (a ValueError): no initial value, one that `shape` does not allow, a constraint that cannot be called,
        an unknown synchronization or aggregation.
    Example:
      >>> v = Variable([1.0, 2.0])
      >>> v.assign_add([0.5, 0.5]).numpy()
      array([1.5, 2.5], dtype=float32)
    """

    # Attributes that few variables have are kept in `__dict__`.
    constraint: Callable[[Any], Any] | None = None
    synchronization = VariableSynchronization.AUTO
    aggregation = VariableAggregation.NONE
    initializer = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Variable:
        if cls is Variable and (place := _place_of_block()) is not None:
            elsewhere: type[Variable] = importlib.import_module("graphad.eager.elsewhere").variable_class(
                place
            )
            return object.__new__(elsewhere)
        return object.__new__(cls)

    def __init__(
        self,
        initial_value: object = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: str | None = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike | None = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if variable_def is not None or import_scope is not None:
            raise UnavailableError(
                "Variable: variable_def and import_scope belong to graphs that are built by hand; give an initial value."
            )
        if initial_value is None:
            raise InvalidArgumentError(
                "The `initial_value` arg to `tf.Variable` must be specified: a number, an array, a tensor, or a function of no "
                "arguments that returns one."
            )
        settle()  # its owner may be in a list that waits for values of a restored checkpoint
        trace = trace_in_progress()
        creation = None if trace is None else trace.creation
        if trace is not None and creation is None:
            raise InvalidArgumentError(
                "Variable: a variable cannot be made inside a traced branch, loop body or gradient function; make it before."
            )
        if creation is not None:
            creation.check(name or "Variable")
        if (
            constraint is not None
            or synchronization is not Variable.synchronization
            or (aggregation is not Variable.aggregation)
        ):
            trainable = self._set_options(constraint, synchronization, aggregation, trainable)
        wanted = None if dtype is None else as_dtype(dtype)
        value, known = _initial(initial_value, wanted, creation)
        dims = known if shape is None else as_dims(shape)
        mine = as_dtype(value.dtype)
        spec = HandleSpec.of(dims, mine)
        if not spec.describes(value.shape):
            raise InvalidArgumentError(
                f"Variable: the initial value has shape {value.shape}, which shape={format_dims(dims)} does not allow."
            )
        super().__init__(value, spec, mine.is_differentiable if trainable is None else bool(trainable))
        self._name = f"{current_scope()}{name or 'Variable'}"
        self.serial = next(_serial)
        if creation is not None:
            creation.made(self)
        if are_waiting() and type(self) is Variable:
            self.__class__ = importlib.import_module("graphad.eager.awaited").AwaitedVariable

    def _set_options(
        self,
        constraint: Callable[..., Any] | None,
        synchronization: object,
        aggregation: object,
        trainable: bool | None,
    ) -> bool | None:
        """Keep the rarely used options; returns whether the variable is trainable by default."""
        if constraint is not None and not callable(constraint):
            raise InvalidArgumentError(
                f"Variable: constraint must be None or a callable, got {constraint!r}."
            )
        synchronization = synchronization or VariableSynchronization.AUTO
        aggregation = aggregation or VariableAggregation.NONE
        if not isinstance(synchronization, VariableSynchronization):
            raise InvalidArgumentError(f"Variable: {synchronization!r} is not a VariableSynchronization.")
        if not isinstance(aggregation, VariableAggregation):
            raise InvalidArgumentError(f"Variable: {aggregation!r} is not a VariableAggregation.")
        self.constraint, self.synchronization, self.aggregation = constraint, synchronization, aggregation
        return (
            False if trainable is None and synchronization is VariableSynchronization.ON_READ else trainable
        )

    @classmethod
    def restore(cls, data: object, spec: TensorSpec, trainable: bool, name: str) -> Variable:
        """A variable from the description in a file; `data` is not copied."""
        variable = cls.__new__(cls)
        Handle.__init__(variable, data, HandleSpec.of(spec.dims, spec.dtype), trainable)
        variable._name = name.removesuffix(":0")
        variable.serial = next(_serial)
        return variable

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return f"{self._name}:0"

    @property
    def dtype(self) -> DType:
        return self._spec.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._spec.dims)

    @property
    def ndim(self) -> int | None:
        return self._spec.rank

    def tensor_of(self, array: Array) -> Tensor:
        """An array that is never written to, as a tensor on the variable's device."""
        return EagerTensor(array)

    def kin(self, value: Array, name: str) -> Variable:
        """A new variable that is not trainable, on the same device."""
        return Variable(value, trainable=False, name=name)

    def follow_by_default(self, trainable: bool) -> None:
        """Set `trainable`, as freezing and unfreezing a layer does."""
        self._trainable = trainable

    def get_shape(self) -> TensorShape:
        return self.shape

    def ref(self) -> Reference:
        """A hashable reference to this variable."""
        return Reference(self)

    experimental_ref = ref

    def set_shape(self, shape: ShapeLike) -> None:
        """Narrow the declared shape. Raises: InvalidArgumentError (a ValueError): it contradicts the shape of the variable."""
        self.shape.assert_is_compatible_with(shape)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool scalar, always true."""
        return lift(True)

    @property
    def initial_value(self) -> NoReturn:
        """Raises an error: the initial value is not kept."""
        raise FailedPreconditionError(
            "Variable.initial_value: the initial value is not kept; keep it yourself, or save a checkpoint."
        )

    # -- reading ---------------------------------------------------------------------------------------------------

    def __graphad_tensor__(self) -> Any:
        # What an op reads when its operand is the variable itself. This tensor is never visible elsewhere, so recorders treat
        # it as the variable and need no entry for the read.
        level = busy()
        if level is None:
            return EagerTensor(self.data)
        if type(level) is EagerLevel and (level.owner == get_ident() or current() is level):
            value = EagerTensor(self.data)
            for recorder in level.recorders:
                recorder.read(self, value)
            return value
        return bind(READ, self)

    def value(self) -> Tensor:
        """The value now, as a tensor."""
        return bind(READ, self)

    def read_value(self) -> Tensor:
        """The value now, as a tensor."""
        return bind(READ, self)

    def numpy(self) -> np.ndarray:
        """The current value as a new NumPy array. Raises: InvalidArgumentError: called while tracing."""
        if busy() is not None:
            if trace_in_progress() is not None:
                raise FailedPreconditionError(
                    "numpy() is only available when eager execution is enabled, not while tracing."
                )
            note_exit(self, "numpy()")
        return self.data.copy() if type(self.data) is np.ndarray else self.data

    def to_numpy(self) -> np.ndarray:
        """The same, by the name by which matplotlib and kin ask for the data."""
        return self.numpy()

    def __getitem__(self, key: Any) -> Tensor:
        part: Tensor = bind(READ, self)[key]
        ident = id(part)
        slice_assigners[ident] = lambda value: self._assign_slice(key, value)
        weakref.finalize(part, slice_assigners.pop, ident, None)
        return part

    def __len__(self) -> int:
        return len(EagerTensor(self.data))

    def __iter__(self) -> Iterator[Tensor]:
        return iter(bind(READ, self))

    def __bool__(self) -> bool:
        return bool(bind(READ, self))

    def __int__(self) -> int:
        return int(bind(READ, self))

    def __float__(self) -> float:
        return float(bind(READ, self))

    def __complex__(self) -> complex:
        return complex(bind(READ, self))

    def __index__(self) -> int:
        return bind(READ, self).__index__()

    def __format__(self, spec: str) -> str:
        return format(EagerTensor(self.data), spec) if spec else str(self)

    def __hash__(self) -> int:
        raise ArgumentTypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __repr__(self) -> str:
        text = repr(self.data) if self.data.shape else str(self.data)
        gap = "\n" if "\n" in text else ""
        return f"<tf.Variable '{self.name}' shape={format_dims(self.dims)} dtype={self.dtype.name}, numpy={gap}{text}>"

    def _repr_html_(self) -> str:
        from graphad.core.html import of_variable  # used in notebooks only

        return of_variable(self)

    # -- writing ---------------------------------------------------------------------------------------------------

    @overload
    def assign(
        self,
        value: TensorLike,
        use_locking: bool = ...,
        name: str | None = ...,
        read_value: Literal[True] = ...,
    ) -> Variable: ...
    @overload
    def assign(
        self, value: TensorLike, use_locking: bool = ..., name: str | None = ..., *, read_value: bool
    ) -> Variable | None: ...
    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | None:
        """Give the variable another value.

        Args:
          value: A value of the variable's dtype whose shape `Variable.shape` allows.
          read_value: Return None if False.
        Returns: The variable itself, which can be used as a tensor.
        Raises: InvalidArgumentError (a ValueError): another dtype, or a shape that is not allowed.
        """
        value = self._fitting(value)
        if busy() is None and type(value) is EagerTensor and not self.away:
            with self.guard or guard_of(self):
                self.data = value.data
        else:
            bind(ASSIGN, self, value)
        return self if read_value else None

    @overload
    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = ...,
        name: str | None = ...,
        read_value: Literal[True] = ...,
    ) -> Variable: ...
    @overload
    def assign_add(
        self, delta: TensorLike, use_locking: bool = ..., name: str | None = ..., *, read_value: bool
    ) -> Variable | None: ...
    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | None:
        """Add `delta` atomically; see `assign`."""
        self._update(ADD, np.add, delta)
        return self if read_value else None

    @overload
    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = ...,
        name: str | None = ...,
        read_value: Literal[True] = ...,
    ) -> Variable: ...
    @overload
    def assign_sub(
        self, delta: TensorLike, use_locking: bool = ..., name: str | None = ..., *, read_value: bool
    ) -> Variable | None: ...
    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | None:
        """Subtract `delta` atomically; see `assign`."""
        self._update(SUB, np.subtract, delta)
        return self if read_value else None

    def _update(self, op: Op, formula: Callable[[Any, Any], Any], delta: Any) -> None:
        """Assign what `op` gives for the value and `delta`; `formula` is the same for arrays of one shape and dtype."""
        delta = self._operand(delta)  # a user's code may run here, so without the guard
        with self.guard or self._first_guard():
            if busy() is None and type(delta) is EagerTensor and not self.away:
                x, y = self.data, delta.data
                if x.shape == y.shape and x.dtype is y.dtype and x.dtype.kind in "ficu":
                    try:
                        self.data = formula(x, y)
                        return
                    except SHORT_WAY_ENDS:
                        pass
            value = bind(READ, self)
            self._check_update(value, delta)
            bind(ASSIGN, self, self._fitting(bind(op, value, delta)))

    def _check_update(self, value: Tensor, delta: Tensor) -> None:
        mine, given = value.dims, delta.dims
        if mine != given and not are_compatible(mine, given):
            raise InvalidArgumentError(
                f"Cannot update variable {self.name!r} with shape {format_dims(mine)} using a tensor with shape "
                f"{format_dims(given)}: shapes must be equal; use v.assign(v + x), which broadcasts."
            )

    def rewrite(self, change: Callable[[Any], Any]) -> Variable:
        """Assign `change(value)` atomically."""
        with self.guard or self._first_guard(), along(self):
            changed: Variable = self.assign(change(bind(READ, self)))
            return changed

    def _first_guard(self) -> Any:
        """Create the guard. A variable that is only traced needs none yet: the function creates one for all variables that it
        writes."""
        return guard_of(self) if trace_in_progress() is None else nullcontext()

    def _operand(self, value: TensorLike) -> Tensor:
        if type(value) is EagerTensor and value.data.dtype is self._spec.dtype.numpy:
            return value
        if flags.numpy_mode != "legacy" and isinstance(value, Tensor | Handle):
            value = _by_mode(value, self.dtype)
        try:
            return lift(value, self.dtype)
        except (DTypeError, UnconvertibleError) as cause:
            what = (
                f"Cannot assign to variable {self.name!r} of dtype {self.dtype.name} and shape {self.shape}: "
            )
            raise refused_by("assign", cause, what) from cause

    def _fitting(self, value: TensorLike) -> Tensor:
        value = self._operand(value)
        spec = self._spec
        dims = value.dims
        if value.has_value and dims == spec.dims:
            return value
        fits = (
            spec.describes(dims) if dims is not None and None not in dims else spec.is_compatible_with(value)
        )
        if not fits:
            raise wrong_shape(self, dims)
        return value

    def _assign_slice(self, key: int | slice | tuple[int | slice, ...], value: TensorLike) -> Variable:
        update = importlib.import_module("graphad.ops.array.slice").slice_update  # few programs need it
        value = self._operand(value)
        return self.rewrite(lambda x: update(x, key, value))

    def __setitem__(self, key: int, value: TensorLike) -> NoReturn:
        raise ArgumentTypeError(
            "'ResourceVariable' object does not support item assignment; use v[...].assign(value)."
        )

    def __delitem__(self, key: int) -> NoReturn:
        raise ArgumentTypeError("'ResourceVariable' object doesn't support item deletion; use v.assign(...).")

    # -- copies ----------------------------------------------------------------------------------------------------

    def __copy__(self) -> Variable:
        copied = Variable.restore(self.data, self._spec, self._trainable, self.name)
        copied.__dict__ |= self._options()
        return copied

    def __deepcopy__(self, memo: Any) -> Variable:
        copied = self.__copy__()
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        spec = TensorSpec.of(self.dims, self.dtype)
        return Variable.restore, (self.data, spec, self._trainable, self.name), self._options() or None

    def _options(self) -> dict[str, Any]:
        """The rarely used options."""
        return {
            name: vars(self)[name]
            for name in ("constraint", "synchronization", "aggregation")
            if name in vars(self)
        }


# The parameters are those of __init__; help and editors look at __new__ first.
Variable.__new__.__wrapped__ = Variable.__init__  # type: ignore[attr-defined]


def _refused(symbol: str, method: str) -> Callable[..., Any]:
    def operator(self: Variable, other: float) -> NoReturn:
        raise FailedPreconditionError(
            f"`variable {symbol} value` with `tf.Variable`s is not supported. Use `variable.{method}` to modify "
            f"the variable or `out = variable {symbol[:-1]} value` if you need to get a new output Tensor."
        )

    return operator


install(Variable)
for _symbol, _slot, _method in (
    ("+=", "__iadd__", "assign_add(value)"),
    ("-=", "__isub__", "assign_sub(value)"),
    ("*=", "__imul__", "assign(variable * value)"),
    ("/=", "__itruediv__", "assign(variable / value)"),
    ("**=", "__ipow__", "assign(variable ** value)"),
):
    setattr(Variable, _slot, _refused(_symbol, _method))


def pin(variable: Variable) -> None:
    """Bind the current traces to this variable: a function that takes it as an argument and is being traced will need another
    trace for another variable, even of the same shape."""
    for level in chain():
        creation = getattr(level, "creation", None)
        if creation is not None:
            creation.pin(variable)


def _by_mode(value: Any, dtype: DType) -> Any:
    """A tensor cast to the dtype of the variable to which it is assigned, if promotion of both gives that dtype; else the tensor
    itself."""
    value = lift(value)
    if value.dtype is dtype:
        return value
    combined = importlib.import_module("graphad.ops.numpy.modes").combined
    return (
        cast(value, dtype) if combined([dtype, value.dtype], flags.numpy_mode == "safe") is dtype else value
    )


def _here(x: Any) -> Any:
    """A tensor with its data on the CPU."""
    return x.here() if x.away else x


def _place_of_block() -> str | None:
    """The device of the innermost block of `device`, None where that is the CPU."""
    return next((level.place for level in chain() if getattr(level, "is_place", False)), None)


def _initial(value: object, dtype: DType | None, creation: Any) -> tuple[Any, Dims]:
    """The initial value as a NumPy value, computed outside any trace, and the part of its shape that is the same in every
    call."""
    if isinstance(value, Tensor) and value.away:
        value = _here(value)
    if callable(value) and not isinstance(value, Tensor):
        value = _called(value, creation)
    symbol = value if isinstance(value, Tensor) and not value.has_value else None
    if symbol is not None:
        if creation is None:
            raise InvalidArgumentError(f"Variable: the initial value {value!r} has no value here.")
        found = creation.number_of(symbol)
        value = EagerTensor(found if arrays.is_here(found) else found.host())
    with entered(None):
        tensor: Any = lift(lift(value, dtype))
        data = _here(tensor).data
    return data, data.shape if symbol is None else as_dims(symbol.shape)


def _called(function: Callable[[], Any], creation: object) -> Any:
    """The result of a function without arguments, called outside the trace unless it uses traced tensors."""
    try:
        with entered(None):
            return function()
    except OutOfScopeError:
        if creation is None:
            raise
    return function()
