"""The fields of extension types: the kinds that annotations may name, and how values are converted to them."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from graphad.core.convert import lift
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError
from graphad.core.shapes import TensorShape
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec, TypeSpec
from graphad.core.tensor import Tensor

MISSING = inspect.Parameter.empty
PLAIN = (int, float, bool, str, bytes, type(None))

# Converts the value of a field; `where` is the path to it for messages.
Converter = Callable[[Any, str], Any]


class ImmutableDict(dict[str, Any]):
    """A dict that cannot be changed: what a field of kind `Mapping` holds."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise ArgumentTypeError(
            "A mapping in a field of an extension type cannot be changed; make another value with dict(old, key=new)."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __repr__(self) -> str:
        return f"ImmutableDict({super().__repr__()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ImmutableDict, (dict(self),)


def _name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _expected(where: str, kind: Any, value: object) -> ArgumentTypeError:
    return ArgumentTypeError(f"{where}: expected {_name_of(kind)!r}, got {type(value).__name__!r}")


def _converter(kind: Any) -> Converter:
    """How the values of a field with the annotation `kind` are converted."""
    if kind is None:
        kind = type(None)
    if kind is Tensor:
        return _tensor
    if kind is TensorShape:
        return lambda value, where: (
            value if isinstance(value, TensorShape) else _by(TensorShape, value, where)
        )
    if kind is DType:
        return lambda value, where: value if isinstance(value, DType) else _by(as_dtype, value, where)
    if hasattr(kind, "__graphad_record__") or hasattr(kind, "__graphad_parts__"):
        return _instance(kind)
    if isinstance(kind, type) and issubclass(kind, (*PLAIN, Sparse, TypeSpec)):
        return _instance(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(kind, [_converter(part) for part in arguments])
    if origin is tuple and arguments:
        return _tuple(kind, arguments)
    if (
        isinstance(origin, type)
        and issubclass(origin, Mapping)
        and origin is not dict
        and arguments[0] is str
    ):
        return _mapping(kind, _converter(arguments[1]))
    raise ArgumentTypeError(
        f"Unsupported type annotation {_name_of(kind)!r}; fields are tensors, numbers, strings, dtypes, shapes, extension types, "
        "sparse tensors, tuple[...], Mapping[str, ...], and unions of these."
    )


def _by(function: Callable[[Any], Any], value: object, where: str) -> Any:
    try:
        return function(value)
    except (TypeError, ValueError) as cause:
        raise ArgumentTypeError(f"{where}: {cause}") from cause


def _tensor(value: Any, where: str) -> Any:
    if isinstance(value, Tensor | TensorSpec):
        return value
    try:
        return lift(value)
    except (TypeError, ValueError) as cause:
        raise ArgumentTypeError(f"{where}: expected a Tensor, got {value!r}: {cause}") from cause


def _instance(kind: type) -> Converter:
    def converted(value: Any, where: str) -> Any:
        if isinstance(value, kind):
            return value
        if isinstance(value, TypeSpec) and issubclass(getattr(value, "value_type", object), kind):
            return value
        raise _expected(where, kind, value)

    return converted


def _one_of(kind: Any, converters: list[Converter]) -> Converter:
    def converted(value: Any, where: str) -> Any:
        for convert in converters:
            # A tensor is what any number could be converted to: only a kind of its own is taken as it is.
            if convert is not _tensor:
                try:
                    return convert(value, where)
                except ArgumentTypeError:
                    continue
        if _tensor in converters and not isinstance(value, str | bytes | None | bool):
            return _tensor(value, where)
        raise _expected(where, kind, value)

    return converted


def _tuple(kind: Any, arguments: tuple[Any, ...]) -> Converter:
    repeated = len(arguments) == 2 and arguments[1] is Ellipsis
    parts = [_converter(part) for part in (arguments[:1] if repeated else arguments)]

    def converted(value: Any, where: str) -> Any:
        if not isinstance(value, list | tuple) or not (repeated or len(value) == len(parts)):
            raise _expected(where, kind, value)
        each = parts * len(value) if repeated else parts
        return tuple(
            [convert(x, f"{where}[{i}]") for i, (convert, x) in enumerate(zip(each, value, strict=True))]
        )

    return converted


def _mapping(kind: Any, part: Converter) -> Converter:
    def converted(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise _expected(where, kind, value)
        return ImmutableDict({key: part(x, f"{where}[{key!r}]") for key, x in value.items()})

    return converted


class Field:
    """A field as its class declares it.

    Attributes:
      convert: Converts a value to the kind of the field; `where`, the path to it, is for messages.
      default: The default, or `MISSING`.
      describes: Whether the values are specs, which stand for no tensor of the object.
    """

    def __init__(self, name: str, kind: Any, default: Any) -> None:
        try:
            self.convert = _converter(kind)
        except ArgumentTypeError as cause:
            raise ArgumentTypeError(f"In field {name!r}: {cause}") from None
        self._name, self.default = name, default
        self.describes = isinstance(kind, type) and issubclass(kind, TypeSpec)
        if default is not MISSING and self.convert is not _tensor:
            self.convert(default, f"default value for {name}")

    def described(self, value: Any) -> Any:
        """The value of the field in a `Spec`: the spec of a tensor, or what is no tensor, converted."""
        if isinstance(value, TypeSpec):
            return value
        found = self.convert(value, self._name)
        if isinstance(found, Tensor):
            raise ArgumentTypeError(
                f"{self._name}: expected a TensorSpec, got {value!r} of type {type(value).__name__!r}."
            )
        return found


class LaterField(Field):
    """A field whose annotation names what is not defined yet: its kind is found when it is first needed."""

    def __init__(self, name: str, find: Callable[[], Any], default: Any) -> None:
        self._name, self.default, self._find = name, default, find

    def __getattr__(self, name: str) -> Any:
        if name not in ("convert", "describes"):
            raise AttributeError(f"a field has no attribute {name!r}")
        try:
            kind = self._find()
        except NameError as cause:
            raise ArgumentTypeError(f"In field {self._name!r}: {cause}") from cause
        super().__init__(self._name, kind, self.default)
        return getattr(self, name)
