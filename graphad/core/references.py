"""Sizes in attributes that are inputs: an entry of an attribute is a number, a symbol, or a reference to what an input holds.

    ("at", k)       the integer scalar that is given input k
    ("at", k, i)    entry i of the vector (row i of the matrix) that is given input k
    ("all", k)      all its entries: of an input whose length is not known while tracing

Given inputs come behind those that the op always has and count from 1. An op with references is of the class `referring` makes
of its own: the same op to all who look at its name and attributes, but compilers and short ways, which want numbers, pass it by.
Its rules ask those of the op with numbers, so that no op says twice what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphad.core.dims import Dim
from graphad.core.dtypes import from_numpy
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec

MIXED: Final = "mixed"  # what `rows` says of rows that interact
AT, ALL = "at", "all"
MOST_GIVEN = (
    1000  # inputs that the sizes of one op may refer to: several for each axis that an array can have
)
MOST_AXES = 64  # as NumPy has it
Reference = tuple[Any, ...]
_SCALARS = frozenset((np.int32, np.int64))
_WHOLE = (int, np.integer)


def is_reference(x: Any) -> bool:
    """Whether an entry of an attribute stands for what an input holds."""
    return type(x) is tuple and len(x) > 1 and (x[0] == AT or x[0] == ALL)


def well_formed(x: Any, depth: int) -> bool:
    """Whether a value is a reference to a number (`depth` 0), or to some of several."""
    return (
        type(x) is tuple
        and len(x) in (2, 3)
        and all(type(n) is int for n in x[1:])
        and 1 <= x[1] <= MOST_GIVEN
        and (x[0] == AT if depth == 0 else x[0] in (AT, ALL))
        and (len(x) == 2 or (x[0] == AT and x[2] >= 0))
    )


def references(x: Any) -> list[Reference]:
    """Every reference in an attribute."""
    if type(x) is not tuple or not x:
        return []
    if is_reference(x):
        return [x]
    return [found for item in x if type(item) is tuple for found in references(item)]


def entries_of(dims: Any, k: int = 1) -> Any:
    """Sizes of which some are not known, all of which given input `k` holds: what is known, and references."""
    if dims is None:
        return ((ALL, k),)
    return tuple([(AT, k, i) if size is None else size for i, size in enumerate(dims)])


def spelled(x: Any, specs: Sequence[TensorSpec]) -> Any:
    """Sizes with "all" written out, one reference for each entry; None where the length of an input is not known, or is none of a
    shape: what such a shape asks for fails when it is asked for.
    """
    out: list[Any] = []
    for item in x:
        if type(item) is not tuple or item[0] != ALL:
            out.append(item)
            continue
        dims = specs[item[1] - 1].dims
        if dims is None or type(dims[0]) is not int or dims[0] > MOST_AXES:
            return None
        out += [(AT, item[1], i) for i in range(dims[0])]
    return tuple(out)


def number(reference: Reference, values: Sequence[Any], op: str) -> Any:
    """What a reference to one number stands for; `values` are those of the given inputs, arrays of numbers or of symbols."""
    value = values[reference[1] - 1]
    if len(reference) == 2:
        if type(value) in _SCALARS:  # what eager code and compiled code give
            return int(value)
        return _plain(np.reshape(np.asarray(value), (-1,))[0] if isinstance(value, np.ndarray) else value)
    if reference[2] >= len(value):
        raise InvalidArgumentError(
            f"{op}: it asks for entry {reference[2]} of {len(value)} sizes; give as many as the result has axes."
        )
    return _plain(value[reference[2]])


def _plain(x: Any) -> Any:
    if isinstance(x, Dim):
        return x
    if isinstance(x, _WHOLE):
        return int(x)
    return tuple([_plain(item) for item in x]) if np.ndim(x) else int(x)


def filled(x: Any, values: Sequence[Any], op: str) -> Any:
    """An attribute, or a part of one, with numbers for its references.

    Args:
      values: Those of the given inputs. A reference to one that is None stays, counted among those that are None.
    """
    if type(x) is not tuple:
        return x
    if is_reference(x):
        return _renumbered(x, values) if values[x[1] - 1] is None else number(x, values, op)
    out: list[Any] = []
    for item in x:
        if type(item) is tuple and item and item[0] == ALL and values[item[1] - 1] is not None:
            out += [_plain(entry) for entry in values[item[1] - 1]]
        else:
            out.append(filled(item, values, op))
    return tuple(out)


def _renumbered(reference: Reference, values: Sequence[Any]) -> Reference:
    before = [value for value in values[: reference[1] - 1] if value is None]
    return (reference[0], len(before) + 1, *reference[2:])


def text_of(x: Any, given: Sequence[str]) -> str:
    """An attribute as people read it; `given` are the names of the inputs that it may refer to."""
    if is_reference(x) and 1 <= x[1] <= len(given):
        name = given[x[1] - 1]
        return f"*{name}" if x[0] == ALL else f"{name}[{x[2]}]" if len(x) == 3 else name
    if type(x) is tuple:
        return f"[{', '.join([text_of(item, given) for item in x])}]"
    return repr(x) if isinstance(x, str) else str(getattr(x, "name", x))


def unheld(kind: Any, values: Sequence[Any]) -> Any:
    """An op that is nowhere kept, for a rule to be asked once; it may have None where sizes are not known."""
    made = object.__new__(kind)
    made.__dict__.update(zip(kind.attributes, values, strict=True))
    return made


class Referring:
    """What an op with references does: it asks the rules of the op with numbers.

    Class attributes:
      op_class: The class of the op with numbers.
    """

    op_class: Any
    schema: Any
    attributes: tuple[str, ...]
    name: str
    multiple: bool
    refers = True
    quick = None
    given: int
    _asked: tuple[tuple[int, str, int], ...]
    _seen: Any = None

    def refer(self, asked: Sequence[tuple[str, Any, Reference]]) -> None:
        """Note which inputs are given, what they must be, and that their values count.

        Args:
          asked: (attribute, its kind, reference) of every reference.
        """
        ranks: dict[tuple[int, str, int], None] = {}
        given, spread = 0, False
        for field, kind, reference in asked:
            ranks[reference[1] - 1, field, kind.rank_of(reference)] = None
            given = max(given, reference[1])
            spread = spread or reference[0] == ALL
        noted: dict[str, Any] = {"given": given, "_asked": tuple(ranks)}
        if not spread:
            noted["_seen"] = self.seen(())
        inputs, outputs = self.op_class.keeps
        variadic = any(each.variadic for each in self.schema.inputs)  # its given inputs have no fixed place
        first = len(self.schema.inputs)
        further = tuple(range(first, first + given))
        if type(inputs) is tuple or inputs is False:
            noted["keeps"] = True if variadic else (inputs or ()) + further, outputs
        if type(self.op_class.by_value) is tuple:
            noted["by_value"] = True if variadic else self.op_class.by_value + further
        self.__dict__.update(noted)

    def split(self, inputs: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The inputs that the op always has, and the given ones."""
        own = len(inputs) - self.given
        if own < 0:
            raise InvalidArgumentError(f"{self.name}: {len(inputs)} inputs; its sizes refer to more.")
        return inputs[:own], inputs[own:]  # type: ignore[return-value]

    def _changed(self, change: Callable[[Any, Any], Any]) -> list[Any]:
        kinds = self.schema.attributes
        return [
            change(kinds[name], getattr(self, name)) if kinds[name].refers else getattr(self, name)
            for name in self.attributes
        ]

    def seen(self, given: Sequence[TensorSpec]) -> Any:
        """The op with None for each size that an input holds."""
        if self._seen is not None:
            return self._seen
        own = [getattr(self, name) for name in self.attributes]
        return unheld(self.op_class, self._seen_in(own, given))

    def _seen_in(self, values: Sequence[Any], given: Sequence[TensorSpec]) -> list[Any]:
        kinds = self.schema.attributes.values()
        return [kind.seen(x, given) if kind.refers else x for kind, x in zip(kinds, values, strict=True)]

    def written_out(self, given: Sequence[TensorSpec]) -> Any:
        """The op with one reference for each entry of the vectors, None where their lengths are not known."""
        values = self._changed(lambda kind, value: kind.written_out(value, given))
        if any(
            value is None and getattr(self, name) is not None
            for name, value in zip(self.attributes, values, strict=True)
        ):
            return None
        return self.op_class(*values)

    def with_numbers(self, values: Sequence[Any]) -> list[Any]:
        """The attributes with numbers (or symbols) for the references, from the values of the given inputs."""
        out = [getattr(self, name) for name in self.attributes]
        for _, place, kind in self.schema.places:
            out[place] = kind.filled(out[place], values, self.name)
        return out

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        own, given = self.split(specs)
        self._require_sizes(given)
        self.op_class.check_operands(self.seen(given), own)

    def _require_sizes(self, given: Sequence[TensorSpec]) -> None:
        for k, field, rank in self._asked:
            dims = given[k].dims
            if not given[k].dtype.is_integer or (dims is not None and len(dims) != rank):
                kind = self.op_class
                raise _no_sizes(kind.known_as or self.name, kind.words.get(field, field), given[k], rank)

    def infer(self, *specs: TensorSpec) -> Any:
        own, given = self.split(specs)
        self._require_sizes(given)
        return self.op_class.infer(self._seen or self.seen(given), *own)

    def eval(self, *values: Any) -> Any:
        own, given = self.split(values)
        attributes = self.with_numbers(given)
        if self.op_class.eval_checks:
            return self.op_class.eval(unheld(self.op_class, attributes), *own)
        fault = self.schema.fault(attributes)
        if fault is not None:
            raise InvalidArgumentError(fault)
        specs = [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in own]
        self.op_class.infer(unheld(self.op_class, self._seen_in(attributes, ())), *specs)
        return self.op_class.eval(unheld(self.op_class, attributes), *own)

    def vjp(self, ctx: Any, *y_bars: Any) -> Sequence[Any]:
        bars = self.op_class.vjp(self, ctx, *y_bars)
        return (*bars, *[None] * (len(ctx.inputs) - len(bars)))

    def batch(self, ctx: Any, *xs: Any) -> Any:
        own, given = self.split(xs)
        if any(ctx.stacked(len(own) + k) for k in range(len(given))):
            return self.op_class.batch_given(self, ctx, *xs)
        op = self.written_out([x.spec for x in given])
        if op is None:
            return self.op_class.batch(self, ctx, *xs)
        return self.op_class.batch(op, ctx, *own, *given[: op.given])  # of no sizes at all no input is left

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if all(axis is None for axis in axes):
            return None
        (own, given), (mine, others) = self.split(specs), self.split(axes)
        op = self.written_out(given)
        if op is None or any(axis is not None for axis in others):
            return MIXED
        return self.op_class.rows(op, own, mine)

    def lower(self, *operands: Any) -> Any:
        return None

    def expand(self, *inputs: Any) -> Any:
        return None

    def views(self, *sites: Any) -> Any:
        return None

    def parts_of(self, *sites: Any) -> Any:
        return None


def _no_sizes(op: str, word: str, spec: TensorSpec, rank: int) -> Exception:
    """What to raise of a given input that holds no integers, or is known to have another rank."""
    if not spec.dtype.is_integer:
        return DTypeError(f"{op}: {word} has dtype {spec.dtype.name}; int32 or int64 is needed.")
    needed = ("a scalar is needed", "a vector of sizes is needed", "a matrix [rank, 2] is needed")[rank]
    return InvalidArgumentError(f"{op}: {word} has shape {format_dims(spec.dims)}; {needed}.")
