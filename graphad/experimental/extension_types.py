"""`ExtensionType`: a base class for values that consist of tensors, with typed fields which are converted and checked.

An extension type is a record (`core/composites.py`), as a frozen dataclass is: it goes into functions, loops, branches, tapes and
saved models and comes out of them. What is added here is what the class statement says: fields from annotations, their
conversion, and `Spec`, the class of what describes such values.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, dataclass_transform
from weakref import WeakValueDictionary

from graphad.core.composites import flatten_records, made_of
from graphad.core.errors import ArgumentTypeError, FrozenFieldError, GraphadError, InvalidArgumentError
from graphad.core.nest import Form, Record
from graphad.core.shapes import TensorShape
from graphad.core.spec import TensorSpec, TypeSpec, common_supertype
from graphad.core.tensor import Tensor
from graphad.experimental.fields import MISSING, PLAIN, Field, ImmutableDict, LaterField
from graphad.ops.array.static import type_spec_from_value
from graphad.ops.math.compare import equal
from graphad.ops.math.reduce import reduce_all

# Set while the constructor of an object runs, when its fields may be assigned.
_OPEN = "_graphad_open"
# The class that was defined last under each name, by which files know it: `__name__` in the body of the class, else its own.
_named: WeakValueDictionary[str, Any] = WeakValueDictionary()


def _declared(cls: type, frame: types.FrameType) -> dict[str, Field]:
    """The fields of a class: those of its bases, then its own. `frame`, of the class statement, has what annotations that are
    strings may name; they may also name what is defined later in the module."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get("__graphad_fields__", {}))
    own = {name: kind for name, kind in inspect.get_annotations(cls).items() if not _is_of_class(kind)}
    if not own:
        return fields
    module, local = frame.f_globals, {**frame.f_locals}

    def kind_of(name: str) -> Any:
        # The class itself is known by its name only once the statement has run.
        holder: Any = types.SimpleNamespace(__annotations__={name: own[name]})
        return typing.get_type_hints(holder, {**module, **local}, {cls.__name__: cls})[name]

    for name in own:
        if name in _reserved():
            raise InvalidArgumentError(
                f"The field annotations for {cls.__name__} are invalid. Field {name!r} is reserved: all extension types or their "
                "Specs have something of that name; take another one."
            )
        default = vars(cls).get(name, MISSING)
        if inspect.isroutine(default) or isinstance(default, property):
            raise InvalidArgumentError(
                f"The field annotations for {cls.__name__} are invalid. {name} is a field and a method; rename one of them."
            )
        try:
            fields[name] = Field(name, kind_of(name), default)
        except NameError:
            fields[name] = LaterField(name, functools.partial(kind_of, name), default)
        except TypeError as cause:
            if isinstance(cause, ArgumentTypeError):
                raise
            raise ArgumentTypeError(
                f"The field annotations for {cls.__name__} are invalid: {cause}"
            ) from cause
    return fields


def _reserved() -> frozenset[str]:
    """Names that a field would hide in an extension type, in its Spec, or among the arguments of the constructor."""
    return frozenset({"self", "Spec", _OPEN, *vars(ExtensionType), *dir(ExtensionTypeSpec)})


def _is_of_class(kind: Any) -> bool:
    """Whether an annotation says that the class holds the value, not its objects."""
    return (
        kind is ClassVar
        or typing.get_origin(kind) is ClassVar
        or str(kind).startswith(("ClassVar", "typing.ClassVar"))
    )


def _check_plain_values(cls: type) -> None:
    """Refuse what looks like a field without its annotation."""
    annotations = inspect.get_annotations(cls)
    for name, value in vars(cls).items():
        if name.startswith("_") or name in annotations or name == "Spec":
            continue
        if isinstance(value, (*PLAIN, Tensor, list, tuple, dict)) and not callable(value):
            raise InvalidArgumentError(
                f"The field annotations for {cls.__name__} are invalid. Field {name} is missing a type annotation."
            )


def _signature(fields: dict[str, Field]) -> inspect.Signature:
    """The parameters of the constructor; fields without a default behind one with a default are given by keyword."""
    positional: list[inspect.Parameter] = []
    by_keyword: list[inspect.Parameter] = []
    for name, field in fields.items():
        behind = field.default is MISSING and any(p.default is not MISSING for p in positional)
        kind = inspect.Parameter.KEYWORD_ONLY if behind else inspect.Parameter.POSITIONAL_OR_KEYWORD
        (by_keyword if behind else positional).append(inspect.Parameter(name, kind, default=field.default))
    return inspect.Signature(positional + by_keyword)


def _require_all(cls: Any, held: dict[str, Any]) -> None:
    missing = cls.__graphad_fields__.keys() - held.keys()
    if missing:
        raise InvalidArgumentError(f"Missing required fields: {missing}")


def _constructing(own: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a `Spec` whose class defines one: it assigns the fields, which are checked afterwards."""

    @functools.wraps(own)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        held = self.__dict__
        held[_OPEN] = True
        own(self, *args, **kwargs)
        del held[_OPEN]
        _require_all(self.value_type, held)
        for name, field in self.value_type.__graphad_fields__.items():
            held[name] = field.described(held[name])

    return construct


class _ExtensionTypes(ABCMeta):
    """Declares the fields of each class, and converts and checks those of each object when its constructor has ended."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if not any(isinstance(base, _ExtensionTypes) for base in bases):
            return
        _check_plain_values(cls)
        fields = _declared(cls, sys._getframe(1))
        cls.__graphad_fields__ = fields
        signature = _signature(fields)
        cls._constructor = signature
        if "__init__" not in namespace and all(
            "__init__" not in vars(base) for base in cls.__mro__[1:-1] if base is not ExtensionType
        ):
            cls.__signature__ = signature
        for field in fields:
            if field in namespace:
                delattr(cls, field)
        title = namespace.get("__name__")
        _named[title if isinstance(title, str) else name] = cls
        given = namespace.get("Spec")
        spec = {"value_type": cls, "__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec"}
        if given is not None and "__init__" in vars(given):
            spec["__init__"] = _constructing(given.__init__)
        cls.Spec = type("Spec", (ExtensionTypeSpec,) if given is None else (given, ExtensionTypeSpec), spec)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(cls)  # type: ignore[arg-type]
        held = made.__dict__
        held[_OPEN] = True
        made.__init__(*args, **kwargs)
        _require_all(cls, held)
        for name, field in cls.__graphad_fields__.items():
            held[name] = field.convert(held[name], name)
        del held[_OPEN]
        made.__validate__()
        return made


@dataclass_transform(eq_default=True, frozen_default=True)
class ExtensionType(metaclass=_ExtensionTypes):
    """Base class for values that consist of tensors and other typed fields.

    A subclass declares its fields by annotations, with defaults where it likes; it gets a constructor that converts each value to
    the kind of its field, `repr`, comparison, and `Spec`, by which signatures describe it. A constructor of its own assigns each
    field; afterwards they cannot be changed. `__validate__`, where it is defined, is called for each new object.

    Fields may be `Tensor` (any shape and dtype), `int`, `float`, `bool`, `str`, `bytes`, `None`, `DType`, `TensorShape`,
    `TypeSpec`, sparse tensors, `TensorArray`, other extension types, `tuple[...]`, `Mapping[str, ...]`, and unions of these.

    Objects go into functions and come out of them, through branches, loops, `map_fn`, tapes, data sets and saved models, as the
    tensors in their fields; numbers and strings belong to the structure: a call with other ones is traced anew.

    Args:
      *args, **kwargs: The values of the fields, in the order of their declaration or by name.
    Raises: ArgumentTypeError (a TypeError): a value that cannot be converted to the kind of its field, or an annotation of
      another kind; FrozenFieldError (an AttributeError): a field was assigned outside of the constructor.
    Example:
      >>> class Interval(experimental.ExtensionType):
      ...     low: Tensor
      ...     high: Tensor
      ...     def width(self):
      ...         return self.high - self.low
      >>> Interval(1.0, [2.0, 4.0]).width().numpy().tolist()
      [1.0, 3.0]
    """

    __graphad_fields__: ClassVar[dict[str, Field]] = {}
    _constructor: ClassVar[inspect.Signature]
    Spec: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = type(self)._constructor.bind(*args, **kwargs)
        except TypeError as cause:
            raise ArgumentTypeError(f"{type(self).__name__}: {cause}") from None
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    def __validate__(self) -> None:
        """Check the fields of a new object; subclasses override it."""

    def __setattr__(self, name: str, value: object) -> None:
        if _OPEN not in self.__dict__ or name not in self.__graphad_fields__:
            raise FrozenFieldError(
                f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType."
                if name in self.__graphad_fields__
                else f"{type(self).__name__} has no field {name!r}; its fields are {', '.join(self.__graphad_fields__)}."
            )
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenFieldError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType."
        )

    def __repr__(self) -> str:
        return _shown(type(self).__qualname__, self)

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        """Whether both are of one class with equal fields: a Tensor, bool []; False where their structure differs."""
        if type(other) is not type(self):
            return False
        pairs = _paired(self, other)
        if pairs is None:
            return False
        same = []
        for a, b in pairs:
            if isinstance(a, Tensor) and isinstance(b, Tensor):
                if a.dtype != b.dtype or not a.shape.is_compatible_with(b.shape):
                    return False
                same.append(reduce_all(equal(a, b)))
            elif not bool(a == b):
                return False
        return reduce_all(same) if same else True

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return not same if isinstance(same, bool) else ~same

    @property
    def _type_spec(self) -> Any:
        return self.__graphad_spec__()

    def __graphad_spec__(self) -> Any:
        """What describes this value: its `Spec`."""
        leaves, rebuild = flatten_records(self)
        fields = _fields_of(
            rebuild([leaf if isinstance(leaf, TensorSpec) else type_spec_from_value(leaf) for leaf in leaves])
        )
        return made_of(self.Spec, tuple(fields), list(fields.values()))

    def __graphad_record__(self) -> Record:
        """The values of the fields."""
        return _record(type(self), self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), tuple(_fields_of(self).items()))

    def __copy__(self) -> ExtensionType:
        return self


class ExtensionTypeSpec(TypeSpec):
    """Describes values of an extension type: for each field a spec in place of a tensor, and other values as they are.

    Args:
      *args, **kwargs: All fields of the type, in order or by name.
    """

    value_type: ClassVar[Any] = ExtensionType

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.value_type.__graphad_fields__
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        try:
            bound = inspect.Signature(parameters).bind(*args, **kwargs)
        except TypeError as cause:
            raise ArgumentTypeError(f"{type(self).__qualname__}: {cause}") from None
        for name, value in bound.arguments.items():
            self.__dict__[name] = names[name].described(value)

    def __setattr__(self, name: str, value: object) -> None:
        if _OPEN not in self.__dict__ or name not in self.value_type.__graphad_fields__:
            raise FrozenFieldError(f"Cannot mutate attribute `{name}` of {type(self).__qualname__}.")
        self.__dict__[name] = value

    def __repr__(self) -> str:
        return _shown(type(self).__qualname__, self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _fields_of(self) == _fields_of(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(_fields_of(self))))

    def __graphad_record__(self) -> Record:
        """The values of the fields, of a record of the class that is described."""
        return _record(self.value_type, self)

    def __graphad_reranked__(self, change: Callable[[TensorShape], TensorShape]) -> Any:
        return _reranked(self, change)

    @classmethod
    def from_value(cls, value: ExtensionType) -> Any:
        """The spec of a value of the type."""
        return value.__graphad_spec__()

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or another spec, has this structure, with tensors that these specs describe."""
        return self._compares(spec_or_value, lambda mine, theirs: mine.is_compatible_with(theirs))

    def is_subtype_of(self, other: Any) -> bool:
        """Whether another spec describes whatever this one does."""
        return isinstance(other, ExtensionTypeSpec) and other._compares(
            self, lambda theirs, mine: mine.is_subtype_of(theirs)
        )

    def _compares(self, other: Any, fits: Callable[[Any, Any], bool]) -> bool:
        if isinstance(other, ExtensionType):
            other = other.__graphad_spec__()
        if type(other) is not type(self):
            return False
        pairs = _paired(self, other)
        return pairs is not None and all(
            isinstance(b, TensorSpec) and fits(a, b) if isinstance(a, TensorSpec) else bool(a == b)
            for a, b in pairs
        )

    def most_specific_common_supertype(self, others: Any) -> Any:
        """The narrowest spec that describes what this one and all of `others` do; None if there is none."""
        others = list(others)
        rows = [_leaves(spec) for spec in (self, *others)]
        if any(type(spec) is not type(self) for spec in others) or any(
            row.keys() != rows[0].keys() for row in rows
        ):
            return None
        common = []
        for where, mine in rows[0].items():
            theirs = [row[where] for row in rows[1:]]
            if isinstance(mine, TensorSpec) and all(isinstance(spec, TensorSpec) for spec in theirs):
                found = mine.most_specific_common_supertype(theirs)
                if found is None:
                    return None
                common.append(found)
            elif any(mine != value for value in theirs):
                return None
        return flatten_records(self)[1](common)

    def most_specific_compatible_type(self, other: Any) -> Any:
        """As `most_specific_common_supertype` of two, but an error if there is none."""
        return common_supertype(self, other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.value_type, tuple(_fields_of(self).items()))


class BatchableExtensionType(ExtensionType):
    """An extension type whose values can be stacked: its tensors have a common first axis where several are put together.

    Every extension type of graphad is batched by its tensors, in `map_fn`, `vectorized_map` and data sets; in one of this class
    fields of kind `TensorShape` are the shapes of such stacks and lose or gain their first size.
    """

    def __graphad_reranked__(self, change: Callable[[TensorShape], TensorShape]) -> Any:
        return _reranked(self, change)


def _reranked(x: Any, change: Callable[[TensorShape], TensorShape]) -> Any:
    """`x` with `change` applied to all shapes in fields, also those of values of this kind in its fields."""
    if isinstance(x, TensorShape):
        return change(x)
    if isinstance(x, tuple):
        return tuple([_reranked(part, change) for part in x])
    if isinstance(x, ImmutableDict):
        return ImmutableDict({key: _reranked(part, change) for key, part in x.items()})
    kind = x.value_type if isinstance(x, ExtensionTypeSpec) else type(x)
    if not issubclass(kind, BatchableExtensionType):
        return x
    fields = {name: _reranked(value, change) for name, value in _fields_of(x).items()}
    return made_of(type(x), tuple(fields), list(fields.values()))


def _fields_of(x: Any) -> dict[str, Any]:
    """The values of the fields of an extension type or a spec, in order."""
    kind = x.value_type if isinstance(x, ExtensionTypeSpec) else type(x)
    return {name: x.__dict__[name] for name in kind.__graphad_fields__}


def _leaves(x: Any, described: bool = True) -> dict[tuple[Any, ...], Any]:
    """What the fields of an extension type or a spec hold, by path; with `described`, fields that always hold a spec too."""
    found: dict[tuple[Any, ...], Any] = {}

    def walk(value: Any, where: tuple[Any, ...]) -> None:
        if isinstance(value, ExtensionType | ExtensionTypeSpec):
            parts = _fields_of(value)
            value = parts if described else {name: parts[name] for name in _open_fields(value)}
        if isinstance(value, dict):
            for key, part in value.items():
                walk(part, (*where, key))
        elif isinstance(value, tuple):
            for i, part in enumerate(value):
                walk(part, (*where, i))
        else:
            found[where] = value

    walk(x, ())
    return found


def _open_fields(x: Any) -> tuple[str, ...]:
    """The names of the fields that may hold tensors."""
    kind = x.value_type if isinstance(x, ExtensionTypeSpec) else type(x)
    return tuple([name for name, field in kind.__graphad_fields__.items() if not field.describes])


def _paired(x: Any, y: Any) -> list[tuple[Any, Any]] | None:
    """What two hold at the same paths; None if they have other paths."""
    mine, theirs = _leaves(x), _leaves(y)
    return [(mine[where], theirs[where]) for where in mine] if mine.keys() == theirs.keys() else None


def _shown(title: str, x: Any) -> str:
    return f"{title}({', '.join(f'{name}={value!r}' for name, value in _fields_of(x).items())})"


def _record(kind: Any, x: Any) -> Record:
    """The fields of an extension type or a spec; those that always hold a spec belong to the form."""
    fields, names = _fields_of(x), _open_fields(x)
    fixed = {name: value for name, value in fields.items() if name not in names}

    def again(values: list[Any]) -> Any:
        held = {**fixed, **dict(zip(names, values, strict=True))}
        return _rebuilt(kind, tuple(fields), [held[name] for name in fields])

    key = (kind, *fixed.items()) if fixed else kind
    return Record(Form(key, names, again), [fields[name] for name in names])


def _rebuilt(kind: Any, names: tuple[str, ...], values: list[Any]) -> Any:
    """An object with these fields, without conversion; its `Spec` where specs stand for the tensors."""
    held = made_of(kind, names, values)
    if any(isinstance(leaf, TypeSpec) for leaf in _leaves(held, described=False).values()):
        return made_of(kind.Spec, names, values)
    return held


def named(name: str) -> Any:
    """The extension type of a name; None where the program has none."""
    return _named.get(name)


def with_fields(kind: Any, fields: dict[str, Any]) -> Any:
    """An object of the class with these values, which come from a file; None where it has other fields, or of other kinds."""
    declared = kind.__graphad_fields__
    if fields.keys() != declared.keys():
        return None
    values = []
    for name, field in declared.items():
        value = fields[name]
        if isinstance(value, Tensor | ExtensionType | bool | int | float | str | bytes | None):
            try:
                value = field.convert(value, name)
            except GraphadError:  # in a file
                return None
        values.append(value)
    return _rebuilt(kind, tuple(declared), values)


def _restored(kind: Any, fields: tuple[tuple[str, Any], ...]) -> Any:
    """For `pickle` and `copy`."""
    return _rebuilt(kind, tuple(name for name, _ in fields), [value for _, value in fields])
