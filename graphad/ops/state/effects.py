"""Printing and asserting: ops with effects. They have no outputs and keep their order.

The text is assembled from a template, fixed while tracing, and the values of tensors at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from graphad.core import printed
from graphad.core.annotations import Array, BatchContext, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import BOOLEAN, require_kind
from graphad.core.nest import flatten
from graphad.core.op import IO, TupleOp, define, else_eval, no_gradient
from graphad.core.schema import Kind, Limit, Text, declare
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms

_LEVELS = {
    "log(info)": 20,
    "log(warning)": 30,
    "log(error)": 40,
}  # the numbers of `logging`, which is slow to import
_HARMLESS = sorted(["stdout", "stderr", *_LEVELS])
Stream = str  # files may use only some of them
declare(
    Kind(
        "Stream",
        lambda x: type(x) is str,
        words="string",
        bound="one of " + ", ".join(f'"{name}"' for name in _HARMLESS),
    )
)


_RELATIONS: dict[str, Any] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
Relation = str
declare(
    Kind(
        "Relation",
        lambda x: type(x) is str and (not x or x in _RELATIONS),
        words="string",
        bound='"" or one of ' + ", ".join(f'"{name}"' for name in _RELATIONS),
    )
)


@define
class Print(TupleOp):
    """No outputs. Writes the inputs between `pieces`, which are one more; `summarize` elements are shown at either end of an
    axis, all for -1. `stream` is where to.

    Attributes:
      pieces: The texts before, between and behind the inputs.
      summarize: How many elements to show at either end of an axis, -1 for all.
      stream: "stderr", "stdout", "log(info)", "log(warning)", "log(error)", or "file://" and a path.
    """

    name = "print"
    effects = IO
    prints = True
    keeps = (False, False)
    pieces: tuple[Text, ...]
    summarize: Limit
    stream: Stream

    def infer(self, *xs: TensorSpec) -> tuple[TensorSpec, ...]:
        return ()

    def unsafe(self) -> str | None:
        if self.stream in _HARMLESS:
            return None
        return f"writes to {self.stream[:80]!a}; a model may print to {', '.join(_HARMLESS)} only"

    def eval(self, *xs: Array) -> tuple[Array, ...]:
        text = self.pieces[0]
        for x, piece in zip(xs, self.pieces[1:], strict=True):
            text += formatted(x, self.summarize) + piece
        printed.once(_write, text, self.stream)
        return ()

    vjp = no_gradient("printing gives no value")

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        return ctx.rowwise(self, *xs)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return ()


@define
class Check(TupleOp):
    """No outputs. An error unless the first input is true everywhere; `pieces` and `summarize` say how the others are shown.

    Attributes:
      relation: What the first input says that holds everywhere, between the second input and the third one, or 0 where there is
        none. The error then says for how many elements it does not, and which is the first; with "" it does not.
    """

    name, version = "assert", 2
    effects = IO
    checks = True
    keeps = (False, False)
    pieces: tuple[Text, ...]
    summarize: Limit
    relation: Relation = ""

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"relation": "", **attributes}  # its errors did not look for the first element

    def infer(self, condition: TensorSpec, *data: TensorSpec) -> tuple[TensorSpec, ...]:
        require_kind("Assert", condition, BOOLEAN, "condition")
        return ()

    def eval(self, condition: Array, *data: Array) -> tuple[Array, ...]:
        if not np.all(condition):
            text = self.pieces[0]
            for x, piece in zip(data, self.pieces[1:], strict=True):
                text += formatted(x, self.summarize) + piece
            raise InvalidArgumentError(text + _first_failing(self.relation, data))
        return ()

    @else_eval("another step has acted before, so that the run could not be made again")
    def lower(self, condition: TensorSpec, *data: TensorSpec) -> forms.Form:
        return forms.Holds()

    vjp = no_gradient("asserting gives no value")

    def batch(self, ctx: BatchContext, condition: Ranked, *data: Ranked) -> tuple[Tensor, ...]:
        if ctx.stacked(0):
            return ctx.rowwise(self, condition, *data)
        return bind(self, condition, *data)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return ()


def _first_failing(relation: str, data: Sequence[Array]) -> str:
    """For how many elements a relation does not hold, and the first of them; nothing of scalars."""
    if not relation or not 1 <= len(data) <= 2:
        return ""
    given = [np.asarray(x) for x in data]
    holds = _RELATIONS[relation](given[0], given[1] if len(given) > 1 else 0)
    places = np.argwhere(~holds)
    if not np.ndim(holds) or not len(places):
        return ""
    first = tuple(places[0].tolist())
    shown = [
        f"{name} is {np.broadcast_to(x, holds.shape)[first]}" for name, x in zip("xy", given, strict=False)
    ]
    count = f"{len(places)} of {holds.size} elements"
    return f"\nIt fails for {count}, first at {first}: {', '.join(shown)}."


SLOT = "\x00"
_IN_NESTS = 4 * SLOT  # as wide as what TensorFlow puts in the places of tensors, where it breaks lines


class _Slot:
    """Represents a tensor in a structure, as a text that does not occur otherwise."""

    def __repr__(self) -> str:
        return _IN_NESTS


@blaming
def print(
    *inputs: object,
    output_stream: object = None,
    summarize: int | None = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print tensors and other values when the op runs: in a traced function at run time, in program order.

    Args:
      inputs: Tensors, variables, sparse tensors, nests of these, and other objects, which are printed as repr(x) shows them when
        traced, strings as they are.
      output_stream: sys.stderr (the default), sys.stdout, a logging level such as logging.INFO, or "file://" and a path.
      summarize: How many elements to show at either end of each axis, -1 for all.
      sep: Printed between the inputs.
      end: Printed last.
    Raises: InvalidArgumentError (a ValueError): an unknown stream.
    Example:
      >>> import sys
      >>> print("x is", constant([1.0, 2.5]), output_stream=sys.stdout)
      x is [1 2.5]
    """
    from pprint import pformat  # dicts by sorted key, long nests on several lines

    tensors: list[Any] = []
    pieces = [""]  # a text of the user's may hold what stands for a tensor, and is not split
    for k, item in enumerate(inputs):
        pieces[-1] += sep if k else ""
        if isinstance(item, list | tuple | dict):
            leaves, rebuild = flatten(item)
            first, *rest = pformat(rebuild([_slotted(leaf, tensors) for leaf in leaves])).split(_IN_NESTS)
            pieces[-1] += first
            pieces += rest
        elif _stays_sparse(item):
            first, *rest = repr(_slotted(item, tensors)).split(_IN_NESTS)
            pieces[-1] += first
            pieces += rest
        elif stands_for_tensor(item):
            tensors.append(lift(item))
            pieces.append("")
        else:
            pieces[-1] += item if isinstance(item, str) else repr(item)
    pieces[-1] += end
    limit = -1 if summarize is None else int(summarize)
    bind(Print(tuple(pieces), limit, _stream_name(output_stream)), *tensors)


class _SparseSlot:
    """Represents a sparse tensor, by a slot for each tensor that it consists of."""

    def __init__(self, x: Sparse) -> None:
        names = ["shape" if name == "dense_shape" else name for name in x.fields]
        self._text = f"{x.title}({', '.join(f'{name}={_IN_NESTS}' for name in names)})"

    def __repr__(self) -> str:
        return self._text


def _stays_sparse(item: object) -> TypeGuard[Sparse]:
    """Whether nothing makes a dense tensor of it unasked."""
    return isinstance(item, Sparse) and item.sizes is not None


def _slotted(item: object, tensors: list[Any]) -> Any:
    if _stays_sparse(item):
        tensors.extend(item.apart()[0])
        return _SparseSlot(item)
    if stands_for_tensor(item):
        tensors.append(lift(item))
        return _Slot()
    return item


def _stream_name(stream: object) -> str:
    if stream is None or stream is sys.stderr or stream is sys.__stderr__ or stream == "stderr":
        return "stderr"
    if stream is sys.stdout or stream is sys.__stdout__ or stream == "stdout":
        return "stdout"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    for label, level in _LEVELS.items():
        if stream == level or getattr(stream, "__name__", None) == label[4:-1]:
            return label
    raise InvalidArgumentError(
        f"Unknown output stream, print, or logging level: {stream!r}. Allowed are sys.stdout, sys.stderr, logging.INFO, "
        "logging.WARNING, logging.ERROR, and 'file://' with a path."
    )


def _write(text: str, stream: str) -> None:
    if stream in _LEVELS:
        import logging

        logging.getLogger("graphad").log(_LEVELS[stream], "%s", text.removesuffix("\n"))
    elif stream.startswith("file://"):
        with open(stream[len("file://") :], "a", encoding="utf-8") as file:
            file.write(text)
    else:
        out = sys.stdout if stream == "stdout" else sys.stderr
        out.write(text)
        out.flush()


def formatted(x: Array, summarize: int) -> str:
    """An array as `print` shows it: [1 2 3 ... 8 9 10], rows on lines of their own."""
    array = np.asarray(x)
    return _number(array[()]) if not array.ndim else _listed(array, summarize, 1)


def _listed(array: np.ndarray, summarize: int, depth: int) -> str:
    n = len(array)
    shortened = summarize >= 0 and n > 2 * summarize
    places: Sequence[int] = [*range(summarize), *range(n - summarize, n)] if shortened else range(n)
    parts = [
        _number(array[i]) if array.ndim == 1 else _listed(array[i], summarize, depth + 1) for i in places
    ]
    if shortened:
        parts.insert(summarize, "...")
    gap = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    return f"[{gap.join(parts)}]"


def _number(x: Any) -> str:
    """The shortest standard notation that reads back as the same number."""
    kind = x.dtype.kind
    if kind == "b":
        return "1" if x else "0"
    if kind == "c":
        return f"({_number(x.real)},{_number(x.imag)})"
    if kind in "iu":
        return str(int(x))
    if x.dtype.itemsize == 2 and kind not in "iu":
        x = np.float32(x)
    if not np.isfinite(x):
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    digits, more = (15, 17) if x.dtype.itemsize == 8 else (6, 9)
    short = f"{float(x):.{digits}g}"
    return short if x.dtype.type(short) == x else f"{float(x):.{more}g}"


def Assert(
    condition: TensorLike, data: TensorLike, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless `condition` holds, at run time and in program order.

    Args:
      condition: Bool scalar, or a bool tensor [...] of which all elements are to be true.
      data: A list of tensors of any dtypes and other objects to show in the message.
      summarize: How many elements of each to show at either end of an axis; 3 by default.
    Raises: InvalidArgumentError (a ValueError): `condition` is false.
    """
    condition = lift(condition)
    tensors: list[Any] = []
    texts = [_shown(item, tensors) for item in (data if isinstance(data, list | tuple) else [data])]
    message = "assertion failed: Expected the condition to be true. Summarized data: " + "\n".join(texts)
    require(condition, message, tensors, summarize)


def _shown(item: object, tensors: list[Any]) -> str:
    return SLOT if isinstance(_slotted(item, tensors), _Slot) else str(item).replace(SLOT, "\\x00")


def require(
    condition: Tensor,
    message: str,
    data: Sequence[Tensor],
    summarize: int | None = None,
    relation: str = "",
) -> None:
    """Bind a check whose message has one "\x00" for each tensor of `data`; `relation`: see `Check`."""
    pieces = tuple(message.split("\x00"))
    bind(Check(pieces, 3 if summarize is None else summarize, relation), condition, *data)
