"""From a call's arguments to flat tensors and a trace key, and back to the structure that the Python function expects.

Tensors and objects that export an array (a data frame, a buffer) enter the key by dtype and shape; variables by dtype, shape
and which of them are the same; Python numbers, strings and None by value; other objects by identity. Containers keep their
structure, dictionaries by sorted keys.
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from graphad.core.composites import are_open, flatten_records, is_record, opened, record_of
from graphad.core.convert import exports_array, lift
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, GraphadError
from graphad.core.nest import FieldName, flatten_tree
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle, Tensor

_LITERALS = (int, float, bool, str, bytes, complex, frozenset, type(None))
_PLAIN = frozenset({int, float, bool, str, type(None)})


class Literal:
    """A Python value that is part of the trace key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return False
        mine, theirs = self.value, other.value
        if isinstance(mine, float) and isinstance(theirs, float):
            return mine.hex() == theirs.hex()  # nan is nan, 0.0 is not -0.0
        if type(mine) is not type(theirs) and not (
            isinstance(mine, _NUMBERS) and isinstance(theirs, _NUMBERS)
        ):
            return False  # a dtype compares equal to its name, but is not a string
        return bool(mine == theirs)

    def __hash__(self) -> int:
        return 0 if self.value != self.value else hash(self.value)

    def __repr__(self) -> str:
        return f"Literal[{self.value!r}]"


_NUMBERS = (int, float, complex)


class ObjectKey:
    """Any other Python object, by identity or, if its class defines them, by equality and hash; held by a weak reference where
    possible."""

    __slots__ = ("_hash", "_ident", "_reference", "label")

    def __init__(self, value: object) -> None:
        self._ident = id(value)
        self._hash = _own_hash(value)
        self.label = type(value).__name__
        try:
            self._reference: Any = weakref.ref(value)
        except TypeError:
            self._reference = lambda: value

    @property
    def value(self) -> Any:
        return self._reference()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectKey):
            return False
        mine = self._reference()
        if mine is None:
            return False
        if self._hash is None or self._hash != other._hash:
            return self._ident == other._ident
        theirs = other._reference()
        return mine is theirs or (type(mine) is type(theirs) and mine.__eq__(theirs) is True)

    def __hash__(self) -> int:
        return self._ident if self._hash is None else self._hash

    def __repr__(self) -> str:
        return f"<{self.label} object>"


def _own_hash(value: object) -> int | None:
    """The hash of an object whose class defines equality, else None."""
    kind: Any = type(value)
    if kind.__eq__ is object.__eq__ or kind.__hash__ in (None, object.__hash__):
        return None
    try:
        return hash(value)
    except Exception:  # a user's `__hash__` may raise anything, for instance for an unhashable part
        return None


class Arguments:
    """The classified arguments of one call.

    Attributes:
      leaves: What each leaf of the argument nest is: TensorSpec, HandleSpec, Literal or ObjectKey.
      values: The tensors and handles among the leaves, in order; a repeated variable occurs once.
      slots: For each leaf, the position in `values`, or -1.
      names: The names of specs, by position of the leaf.
      rebuild: Function from leaves to (args, kwargs).
      structure: The nest with its leaves numbered, for keys and messages.
    """

    __slots__ = ("leaves", "names", "rebuild", "slots", "structure", "values")

    def __init__(
        self,
        leaves: list[Any],
        values: list[Any],
        slots: list[int],
        rebuild: Callable[[list[Any]], Any],
        structure: object,
        names: dict[int, str],
    ) -> None:
        self.leaves = leaves
        self.values = values
        self.slots = slots
        self.rebuild = rebuild
        self.structure = structure
        self.names = names

    def with_leaves(self, leaves: list[Any]) -> Arguments:
        """The same arguments with other specs."""
        return Arguments(leaves, self.values, self.slots, self.rebuild, self.structure, self.names)

    def named(self, names: dict[int, str]) -> Arguments:
        """The same arguments with other names of specs."""
        return Arguments(self.leaves, self.values, self.slots, self.rebuild, self.structure, names)

    def without_values(self) -> Arguments:
        """The part that a trace keeps: without the values, so that the tensors of its first call are freed."""
        return Arguments(self.leaves, [], self.slots, self.rebuild, self.structure, self.names)

    @property
    def key(self) -> Any:
        return (self.structure, tuple(self.leaves), tuple(self.slots))

    @property
    def specs(self) -> list[TensorSpec]:
        """One spec per entry of `values`."""
        found: dict[int, TensorSpec] = {}
        for leaf, slot in zip(self.leaves, self.slots, strict=True):
            if slot >= 0:
                found.setdefault(slot, leaf)
        return [found[i] for i in range(len(found))]


def _of_ufunc(function: np.ufunc) -> inspect.Signature:
    """The operands of one of NumPy's ufuncs, without its options, which are not for tensors."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(f"x{k}", kind) for k in range(1, function.nin + 1)])


class Signature:
    """The parameters of a Python function and its input signature.

    Args:
      function: The Python function.
      input_signature: A list or tuple of (nested) TensorSpecs, or None.
      skip_self: The first parameter is the object of a method.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        input_signature: TensorSpec | dict[str, Any] | list[Any] | None = None,
        skip_self: bool = False,
    ) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        try:
            signature = _of_ufunc(function) if isinstance(function, np.ufunc) else inspect.signature(function)
        except (TypeError, ValueError):
            signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        parameters = list(signature.parameters.values())
        if (
            skip_self
            and parameters
            and parameters[0].kind in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD)
        ):
            parameters = parameters[1:]
        self.signature = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
        self.input_signature = None if input_signature is None else self._checked(input_signature, parameters)
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._positional = len(parameters) if all(p.kind in plain for p in parameters) else -1

    @classmethod
    def restore(
        cls, name: str, signature: inspect.Signature, input_signature: tuple[Any, ...] | None
    ) -> Signature:
        """A signature from a file."""
        made = cls.__new__(cls)
        made.name = name
        made.signature = signature
        made.input_signature = input_signature
        made._positional = -1
        return made

    def _checked(
        self, given: TensorSpec | dict[str, Any] | list[Any], parameters: Sequence[inspect.Parameter]
    ) -> tuple[Any, ...]:
        if not isinstance(given, list | tuple):
            raise ArgumentTypeError(f"input_signature must be either a tuple or a list, got {type(given)}.")
        for leaf in flatten_records(list(given))[0]:
            if not isinstance(leaf, TensorSpec | Sparse):
                raise ArgumentTypeError(
                    f"input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args {leaf!r}."
                )
        kinds = inspect.Parameter
        positional = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        for p in parameters:
            if p.kind is kinds.KEYWORD_ONLY and p.default is kinds.empty:
                raise ArgumentTypeError(
                    f"Since input_signature is defined, keyword-only parameter `{p.name}` must have a default value"
                )
        variadic = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
        if len(given) > len(positional) and not variadic:
            raise ArgumentTypeError(
                f"input_signature contains {len(given) - len(positional)} extra type constraints."
            )
        for p in positional[len(given) :]:
            if p.default is kinds.empty:
                raise ArgumentTypeError(f"input_signature missing type constraint for {p.name}")
        return tuple(given)

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Classify the arguments of one call. Raises: ArgumentTypeError: they do not fit the parameters or the input
        signature."""
        if not kwargs and len(args) == self._positional:
            ordered: tuple[Any, ...] = args
            named: dict[str, Any] = {}
        else:
            ordered, named = self.bound(args, kwargs)
        if self.input_signature is not None:
            ordered = self._cast(ordered, args, kwargs)
        return sort_out(ordered, named)

    def placeholders(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """As `arguments`, for specs in place of tensors; with no arguments, those of the input signature."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        return self.arguments(args, kwargs)

    @property
    def parameter_names(self) -> list[str]:
        kinds = inspect.Parameter
        return [
            p.name
            for p in self.signature.parameters.values()
            if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]

    def leaf_names(self, structure: object) -> list[str]:
        """The name of each leaf of a call's arguments, for users: "x", "options['k'][0]"."""
        out = []
        for (kind, first, *rest), fields in self._paths(structure):
            root = str(first) if kind == 1 else self.positional_name(first)
            steps = [
                f".{fields.get(i, key)}" if i in fields or isinstance(key, FieldName) else f"[{key!r}]"
                for i, key in enumerate(rest)
            ]
            out.append(root + "".join(steps))
        return out

    def positional_name(self, position: int) -> str:
        """The name of the parameter that takes the argument at `position`; those of *args are numbered."""
        names = self.parameter_names
        if position < len(names):
            return names[position]
        variadic = [p.name for p in self.signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
        return f"{(variadic or ['args'])[0]}_{position - len(names)}"

    def _paths(self, structure: Any) -> list[tuple[Any, dict[int, str]]]:
        """The path of each leaf, and the fields of named tuples along it."""
        if isinstance(structure, int):
            return [((0, i), {}) for i in range(structure)]
        out = []
        for accessor in structure.accessors():
            fields = {
                i - 2: entry.field for i, entry in enumerate(accessor) if i >= 2 and hasattr(entry, "field")
            }
            out.append((accessor.path, fields))
        return out

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as cause:
            raise self.misfit(str(cause), args, kwargs) from cause
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def slot_names(self, arguments: Arguments) -> list[str]:
        """The name of each tensor argument: that of its spec, else one derived from its parameter."""
        out: dict[int, str] = {}
        labels = self.leaf_names(arguments.structure)
        for i, (label, slot) in enumerate(zip(labels, arguments.slots, strict=True)):
            if slot >= 0:
                plain = re.sub(r"\W+", "_", label).strip("_")
                out.setdefault(slot, arguments.names.get(i, plain))
        return [out[slot] for slot in range(len(out))]

    def flat_names(self, arguments: Arguments) -> list[str]:
        """The name of each tensor argument: that of its spec, else that of its parameter, with repeats numbered."""
        out: dict[int, str] = {}
        for i, (((kind, first, *_), _), slot) in enumerate(
            zip(self._paths(arguments.structure), arguments.slots, strict=True)
        ):
            if slot >= 0 and slot not in out:
                stem = arguments.names.get(i) or (str(first) if kind == 1 else self.positional_name(first))
                name, number = stem, 0
                while name in out.values():
                    number += 1
                    name = f"{stem}_{number}"
                out[slot] = name
        return [out[slot] for slot in range(len(out))]

    def _cast(
        self, ordered: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        wanted_count = len(self.input_signature or ())
        if len(ordered) < wanted_count:
            missing = self.positional_name(len(ordered))
            raise self.misfit(f"missing a required argument: {missing!r}", args, kwargs)
        if len(ordered) > max(wanted_count, len(self.parameter_names)):
            raise self.misfit("too many positional arguments", args, kwargs)
        out = list(ordered)
        for i, wanted in enumerate(self.input_signature or ()):
            try:
                out[i] = _fit(wanted, ordered[i])
            except (GraphadError, TypeError, ValueError) as cause:
                name = self.positional_name(i)
                raise self.misfit(str(cause), args, kwargs, _cure(name, wanted, ordered[i])) from cause
        return tuple(out)

    def misfit(
        self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any], cure: str = ""
    ) -> ArgumentTypeError:
        """The error for a call that does not fit."""
        return ArgumentTypeError(
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {_short(args)} and kwargs: "
            f"{_short(kwargs)} for signature: {self.shown()}.{cure}"
        )

    def shown(self) -> str:
        """The parameters in Python's notation, with what the input signature fixes for annotations."""
        fixed: dict[str, Any] = {}
        for i, spec in enumerate(self.input_signature or ()):
            fixed[self.positional_name(i)] = spec
        found = [p.replace(annotation=fixed.pop(p.name, p.empty)) for p in self.signature.parameters.values()]
        rest = [f"{name}: {spec!r}" for name, spec in fixed.items()]  # those of *args
        return str(self.signature.replace(parameters=found)) + (f" with {', '.join(rest)}" if rest else "")


def sort_out(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Classify the leaves of an argument nest."""
    flat, rebuild, structure = flatten_call(args, kwargs)
    leaves: list[Any] = []
    values: list[Any] = []
    slots: list[int] = []
    names: dict[int, str] = {}
    handles: dict[int, int] = {}
    for leaf in flat:
        kind, value = classify(leaf)
        if value is None:
            leaves.append(kind)
            slots.append(-1)
            continue
        if kind.name is not None:  # names are for reading; they are not part of the key
            names[len(leaves)] = kind.name
            kind = TensorSpec.of(kind.dims, kind.dtype)
        leaves.append(kind)
        if isinstance(value, Handle):
            known = handles.get(id(value))
            if known is not None:
                slots.append(known)
                continue
            handles[id(value)] = len(values)
        slots.append(len(values))
        values.append(value)
    return Arguments(leaves, values, slots, rebuild, structure, names)


def classify(leaf: object) -> tuple[Any, Any]:
    """The key of a leaf, and the tensor, handle or spec to pass for it (None for Python values)."""
    if type(leaf) in _PLAIN:
        return Literal(leaf), None
    if isinstance(leaf, Fitted):
        return leaf.spec, leaf.value
    if isinstance(leaf, Tensor):
        return leaf.spec, leaf
    if isinstance(leaf, Handle):
        return leaf.spec, leaf
    if isinstance(leaf, TensorSpec):
        return leaf, leaf
    if isinstance(leaf, np.character):
        return Literal(leaf.item()), None
    if isinstance(leaf, np.generic):  # np.float64 is a float too
        tensor = lift(leaf)
        return tensor.spec, tensor
    if isinstance(leaf, _LITERALS):
        return Literal(leaf), None
    if isinstance(leaf, DType):
        return Literal(leaf), None
    if hasattr(leaf, "__graphad_tensor__") or exports_array(leaf):
        tensor = lift(leaf)
        return tensor.spec, tensor
    if not has_weak_references(leaf) and isinstance(leaf, Hashable):
        return Literal(leaf), None  # these have no weak references: range(3), Ellipsis
    return ObjectKey(leaf), None


def flatten_call(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], Callable[[list[Any]], Any], Any]:
    """The leaves of a call's arguments, a function that rebuilds them from other leaves, and a comparable structure."""
    if not kwargs:
        for arg in args:
            if isinstance(arg, _NESTS) or is_record(arg):
                break
        else:
            return list(args), _by_position, len(args)
    found = flatten_tree((args, kwargs))
    return found if are_open(found[0]) else flatten_tree((args, kwargs), _opened)


_NESTS = (list, tuple, dict, Sparse)


def _by_position(new: list[Any]) -> Any:
    return tuple(new), {}


def _opened(x: object) -> Any:
    """As `opened`, but the number of values of a sparse argument is unknown, so that one trace serves all numbers."""
    record = opened(x)
    if isinstance(x, Sparse):
        record.values[:2] = [_of_any_count(part) for part in record.values[:2]]
    return record


def _of_any_count(part: Fitted | Tensor) -> Fitted:
    if isinstance(part, TensorSpec | Fitted):
        return part
    tensor = lift(part)
    dims = tensor.spec.dims
    return Fitted(tensor, TensorSpec.of(None if dims is None else (None, *dims[1:]), tensor.spec.dtype))


def _fit(wanted: Any, given: Any) -> Any:
    """`given` as tensors that the (nested) spec `wanted` describes."""
    if isinstance(wanted, TensorSpec):
        return _fit_one(wanted, given)
    if isinstance(wanted, dict):
        if isinstance(given, dict) and given.keys() == wanted.keys():
            return {key: _fit(spec, given[key]) for key, spec in wanted.items()}
    elif isinstance(given, list | tuple) and len(given) == len(wanted):
        items = [_fit(spec, item) for spec, item in zip(wanted, given, strict=True)]
        return wanted._make(items) if hasattr(wanted, "_make") else type(wanted)(items)
    elif isinstance(wanted, Sparse):
        if isinstance(given, Sparse):
            mine, theirs = wanted.record(), given.record()
            if len(mine.values) == len(theirs.values):
                return mine.form.make([_fit(*pair) for pair in zip(mine.values, theirs.values, strict=True)])
    elif is_record(wanted):
        named = record_of(wanted)
        found = record_of(given) if is_record(given) else None
        if found is not None and named.form == found.form:
            return named.form.make([_fit(*pair) for pair in zip(named.values, found.values, strict=True)])
    elif type(wanted) is type(given) and (wanted is given or bool(wanted == given)):
        return given  # a number or string in the field of a record
    raise ArgumentTypeError(f"Can not cast {_short(given)} to the structure {wanted!r}")


def _cure(name: str, wanted: object, given: object) -> str:
    """Advice for an argument that does not fit its spec."""
    dtype = getattr(given, "dtype", None)
    if not isinstance(wanted, TensorSpec) or dtype is None:
        return ""
    if dtype is not wanted.dtype and isinstance(dtype, DType):
        return f" Argument {name!r} is {dtype.name}: tf.cast it to {wanted.dtype.name}, or change the input_signature."
    return f" Argument {name!r} has another shape: give the input_signature None where sizes differ."


def _fit_one(wanted: TensorSpec, given: object) -> Fitted:
    if isinstance(given, TensorSpec):
        tensor: Any = given
    elif isinstance(given, Handle):
        tensor = lift(given)
    elif isinstance(given, Tensor):
        tensor = given
    else:
        tensor = lift(given, wanted.dtype)
    spec = tensor if isinstance(tensor, TensorSpec) else tensor.spec
    if spec.dtype is not wanted.dtype or not wanted.is_compatible_with(spec):
        raise ArgumentTypeError(
            f"Can not cast {TensorSpec(spec.dims, spec.dtype)!r} to {TensorSpec(wanted.dims, wanted.dtype)!r}"
        )
    return Fitted(tensor, wanted)


class Fitted:
    """A value together with the wider spec under which it is traced."""

    __slots__ = ("spec", "value")

    def __init__(self, value: object, spec: TensorSpec) -> None:
        self.value = value
        self.spec = spec


def _short(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 200 else text[:197] + "..."


# -- keys of traces, leaf by leaf -------------------------------------------------------------------------------------------


def accepts(mine: object, theirs: object) -> bool:
    """Whether a trace for one leaf of a key accepts a call with another."""
    if isinstance(mine, TensorSpec) and isinstance(theirs, TensorSpec):
        return (
            mine.is_handle == theirs.is_handle and mine.dtype is theirs.dtype and mine.describes(theirs.dims)
        )
    return bool(mine == theirs)


def has_weak_references(value: object) -> bool:
    return getattr(type(value), "__weakrefoffset__", 0) != 0


def sizes_known(leaf: object) -> int:
    """How much of a shape a leaf of a key fixes: 1 for the rank, and 1 for each size."""
    if not isinstance(leaf, TensorSpec) or leaf.dims is None:
        return 0
    return 1 + sum(size is not None for size in leaf.dims)


def common_leaf(a: TensorSpec, b: TensorSpec) -> TensorSpec | None:
    """The spec that covers both leaves, the leaf itself if they are equal, None if nothing covers both."""
    if a == b:
        return b
    if (
        not (isinstance(a, TensorSpec) and isinstance(b, TensorSpec))
        or a.is_handle
        or b.is_handle
        or a.dtype is not b.dtype
    ):
        return None
    if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return TensorSpec(None, b.dtype, b.name)
    return TensorSpec([x if x == y else None for x, y in zip(a.dims, b.dims, strict=True)], b.dtype, b.name)
