"""All checks of operand dtypes, with one error class and one wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from graphad.core.dtypes import DType
from graphad.core.errors import DTypeError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor

S = TypeVar("S", TensorSpec, Tensor)
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
}


def kind_words(kinds: frozenset[str]) -> str:
    """The name of some kinds of dtypes, with its article: "a real"."""
    return "any" if kinds == ANY else _KIND_WORDS.get(kinds, "another")


def require_kind(op: str, spec: S, kinds: frozenset[str], name: str = "x") -> S:
    """`spec`, or the tensor, itself if its dtype is of one of `kinds`. Raises: DTypeError."""
    if spec.dtype.kind not in kinds:
        words = _KIND_WORDS.get(kinds, "another")
        raise DTypeError(
            f"{op}: {name} has dtype {spec.dtype.name}; {words} dtype is needed. Use cast(x, ...)."
        )
    return spec


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
    op: str, x: TensorSpec | Tensor, y: TensorSpec | Tensor, names: tuple[str, str]
) -> None:
    """Raises: DTypeError: two operands that play different parts differ in dtype; `names` are what users call them."""
    if x.dtype is not y.dtype:
        raise DTypeError(
            f"{op}: {names[0]} has dtype {x.dtype.name}, {names[1]} has {y.dtype.name}; cast one of them."
        )
