"""All checks of operand dtypes, with one error class and one wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from graphad.core.dtypes import DType
from graphad.core.errors import DTypeError
from graphad.core.spec import HandleSpec, TensorSpec

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor

S = TypeVar("S", "TensorSpec", "Tensor")
NUMERIC = frozenset({"float", "complex", "int", "uint"})
REAL = frozenset({"float", "int", "uint"})
INEXACT = frozenset({"float", "complex"})
FLOATING = frozenset({"float"})
INTEGER = frozenset({"int", "uint"})
BOOLEAN = frozenset({"bool"})
ANY = frozenset({"float", "complex", "int", "uint", "bool"})
_KIND_WORDS = {
    NUMERIC: "a numeric",
    REAL: "a real",
    INEXACT: "a float or complex",
    FLOATING: "a float",
    INTEGER: "an integer",
    BOOLEAN: "a bool",
    REAL | BOOLEAN: "a real or bool",
    INTEGER | BOOLEAN: "an integer or bool",
    frozenset({"complex"}): "a complex",
}


def kind_words(kinds: frozenset[str]) -> str:
    """The name of some kinds of dtypes, with its article: "a real"."""
    return "any" if kinds == ANY else _KIND_WORDS[kinds]


def require_kind(op: str, spec: S, kinds: frozenset[str], name: str = "x", why: str = "") -> S:
    """`spec`, or the tensor, itself if its dtype is of one of `kinds`; `why` is added to the error. Raises: DTypeError."""
    if spec.dtype.kind not in kinds:
        raise _has(op, name, spec.dtype, f"{kind_words(kinds)} dtype", _example(kinds), why)
    return spec


def require_dtype(op: str, spec: S, dtypes: Sequence[DType], name: str = "x") -> S:
    """`spec`, or the tensor, itself if its dtype is one of `dtypes`. Raises: DTypeError."""
    if spec.dtype not in dtypes:
        raise _has(op, name, spec.dtype, _listed(dtypes), dtypes[0].name)
    return spec


def require_kind_of(op: str, dtype: DType, kinds: frozenset[str], name: str = "dtype") -> DType:
    """A dtype that is asked for, itself if it is of one of `kinds`. Raises: DTypeError."""
    if dtype.kind not in kinds:
        raise DTypeError(f"{op}: {name} is {dtype.name}; {kind_words(kinds)} dtype is needed.")
    return dtype


def require_one_of(op: str, dtype: DType, dtypes: Sequence[DType], name: str = "dtype") -> DType:
    """A dtype that is asked for, itself if it is one of `dtypes`. Raises: DTypeError."""
    if dtype not in dtypes:
        raise DTypeError(f"{op}: {name} is {dtype.name}; {_listed(dtypes)} is needed.")
    return dtype


def _example(kinds: frozenset[str]) -> str:
    """The name of a dtype of these kinds."""
    usual = {"float": "float32", "int": "int32", "complex": "complex64", "bool": "bool"}
    return next(name for kind, name in usual.items() if kind in kinds)


def _has(op: str, name: str, dtype: DType, needed: str, example: str, why: str = "") -> DTypeError:
    cure = "tf.abs, tf.math.real" if dtype.kind == "complex" else f"tf.cast({name}, tf.{example})"
    return DTypeError(f"{op}: {_has_dtype(name, dtype)}; {needed} is needed{why}. Use {cure}.")


def _has_dtype(name: str, dtype: DType) -> str:
    several = name.endswith("s") and not name.endswith(("as", "is", "ss"))
    return f"{name} {'have' if several else 'has'} dtype {dtype.name}"


def _listed(dtypes: Sequence[DType]) -> str:
    *names, last = [dtype.name for dtype in dtypes]
    return f"{', '.join(names)} or {last}" if names else last


def require_numeric(op: str, spec: TensorSpec, name: str = "x") -> TensorSpec:
    return require_kind(op, spec, NUMERIC, name)


def same_dtype(op: str, specs: Sequence[TensorSpec]) -> DType:
    """The one dtype that all operands have. Raises: DTypeError: they differ; there is no silent promotion."""
    dtype = specs[0].dtype
    for k, spec in enumerate(specs):
        if spec.dtype is not dtype:
            raise DTypeError(
                f"cannot compute {op} as input #{k}(zero-based) was expected to be a {dtype.name} tensor but is a "
                f"{spec.dtype.name} tensor; cast one of them: tensors of different dtypes are not mixed."
            )
    return dtype


def require_same_dtype(
    op: str, x: TensorSpec | Tensor, y: TensorSpec | HandleSpec | Tensor, names: tuple[str, str]
) -> None:
    """Raises: DTypeError: two operands of different roles differ in dtype; `names` are their names in messages."""
    if x.dtype is not y.dtype:
        raise DTypeError(
            f"{op}: {_has_dtype(names[0], x.dtype)}, {names[1]} has {y.dtype.name}; cast one of them."
        )
