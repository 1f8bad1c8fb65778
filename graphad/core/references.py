"""Sizes in attributes that inputs give: an entry of an attribute is a number, a symbol, or a reference to an input.

    ("at", k) given input k, an integer scalar
    ("at", k, i) entry i of given input k, a vector (row i of a matrix)
    ("all", k) all entries of given input k, whose length is unknown while tracing

Given inputs follow the inputs that the op always has and are numbered from 1. An op with references belongs to a class derived
from its own by `Referring`: name and attributes are the same, but compilers and short ways, which need numbers, skip it. Its
rules call the rules of the op with numbers, so that no rule is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphad.core.dims import Dim, Size
from graphad.core.dtypes import from_numpy
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.shapes import format_dims, require_possible
from graphad.core.spec import TensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.run_sizes import Sized
    from graphad.core.tensor import Tensor
    from graphad.devices.array import DeviceArray
    from graphad.gradient.backward import Context
    from graphad.ops.control.stacks import RaggedStack
    from graphad.vectorize.batch import BatchContext


MIXED: Final = "mixed"  # the result of `rows` for rows that interact
AT, ALL = "at", "all"
MOST_GIVEN = 1000  # limit for the given inputs of one op: several for each axis that an array can have
MOST_AXES = 64  # NumPy's limit
Reference = tuple[Any, ...]
_SCALARS = frozenset((np.int32, np.int64))
_WHOLE = (int, np.integer)


def is_reference(x: object) -> bool:
    """Whether an entry of an attribute is a reference to an input."""
    return type(x) is tuple and len(x) > 1 and (x[0] == AT or x[0] == ALL)


def well_formed(x: object, depth: int) -> bool:
    """Whether a value is a valid reference to one number (`depth` 0) or to entries of a vector."""
    return (
        type(x) is tuple
        and len(x) in (2, 3)
        and all(type(n) is int for n in x[1:])
        and 1 <= x[1] <= MOST_GIVEN
        and (x[0] == AT if depth == 0 else x[0] in (AT, ALL))
        and (len(x) == 2 or (x[0] == AT and x[2] >= 0))
    )


def references(x: object) -> list[Reference]:
    """Every reference in an attribute."""
    if type(x) is not tuple or not x:
        return []
    if is_reference(x):
        return [x]
    return [found for item in x if type(item) is tuple for found in references(item)]


def entries_of(dims: Any, k: int = 1) -> Any:
    """Sizes that given input `k` holds: numbers where they are known, references elsewhere."""
    if dims is None:
        return ((ALL, k),)
    return tuple([(AT, k, i) if size is None else size for i, size in enumerate(dims)])


def spelled(x: Any, specs: Sequence[TensorSpec]) -> tuple[Any, ...] | None:
    """Sizes with "all" replaced by one reference for each entry. None if the length of an input is unknown or more than a shape
    can have; such a shape fails when it is used.
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
    """The number that a reference means; `values` are the given inputs, arrays of numbers or of symbols."""
    value = values[reference[1] - 1]
    if len(reference) == 2:
        if type(value) in _SCALARS:  # NumPy scalars, in eager and in compiled code
            return int(value)
        return _plain(np.reshape(np.asarray(value), (-1,))[0] if isinstance(value, np.ndarray) else value)
    if reference[2] >= len(_vector(value, op)):
        raise InvalidArgumentError(
            f"{op}: it asks for entry {reference[2]} of {len(value)} sizes; give as many as the result has axes."
        )
    return _plain(value[reference[2]])


def _vector(value: Any, op: str) -> Any:
    """A given input that has entries. Raises: InvalidArgumentError: it is a scalar, which a spec of unknown rank allows."""
    if isinstance(value, Dim) or np.shape(value) == ():
        raise InvalidArgumentError(
            f"{op}: it asks for entries of the number {value}; a vector of sizes is needed."
        )
    return value


def _plain(x: DeviceArray | Array | Size) -> Any:
    if isinstance(x, Dim):
        return x
    if isinstance(x, _WHOLE):
        return int(x)
    return tuple([_plain(item) for item in x]) if np.ndim(x) else int(x)


def filled(x: object, values: Sequence[Any], op: str) -> Any:
    """An attribute, or a part of one, with its references replaced by numbers.

    Args:
      values: The given inputs. References to those that are None stay and are renumbered among these.
    """
    if type(x) is not tuple:
        return x
    if is_reference(x):
        return _renumbered(x, values) if values[x[1] - 1] is None else number(x, values, op)
    out: list[Any] = []
    for item in x:
        if type(item) is not tuple:
            out.append(item)
        elif item and item[0] == ALL and values[item[1] - 1] is not None:
            out += [_plain(entry) for entry in _vector(values[item[1] - 1], op)]
        else:
            out.append(filled(item, values, op))
    return tuple(out)


def _renumbered(reference: Reference, values: Sequence[Any]) -> Reference:
    before = [value for value in values[: reference[1] - 1] if value is None]
    return (reference[0], len(before) + 1, *reference[2:])


def text_of(x: Any, given: Sequence[str]) -> str:
    """An attribute as text; `given` are the names of the inputs that it may refer to."""
    if is_reference(x) and 1 <= x[1] <= len(given):
        name = given[x[1] - 1]
        return f"*{name}" if x[0] == ALL else f"{name}[{x[2]}]" if len(x) == 3 else name
    if type(x) is tuple:
        return f"[{', '.join([text_of(item, given) for item in x])}]"
    return repr(x) if isinstance(x, str) else str(getattr(x, "name", x))


def unheld(kind: Any, values: Sequence[Any]) -> Any:
    """An op outside the table of interned ops, for one call of a rule; unknown sizes may be None."""
    made = object.__new__(kind)
    made.__dict__.update(zip(kind.attributes, values, strict=True))
    return made


class Referring:
    """The rules of ops with references: they call the rules of the op with numbers.

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
        """Record how many inputs are given, their ranks, and that the op depends on their values.

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
        variadic = any(each.variadic for each in self.schema.inputs)  # given inputs have no fixed position
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
        """The op with "all" replaced by one reference for each entry, None if a length is unknown."""
        values = self._changed(lambda kind, value: kind.written_out(value, given))
        if any(
            value is None and getattr(self, name) is not None
            for name, value in zip(self.attributes, values, strict=True)
        ):
            return None
        return self.op_class(*values)

    def with_numbers(self, values: Sequence[Any]) -> list[Any]:
        """The attributes with references replaced by numbers or symbols from the given inputs."""
        out = [getattr(self, name) for name in self.attributes]
        for _, place, kind in self.schema.places:
            out[place] = kind.filled(out[place], values, self.name)
        return out

    def with_counts(self, sized: Sized, *inputs: Tensor) -> Any:
        if not self.op_class.refers_to_sizes:
            return None
        own, given = self.split(inputs)
        if not given:  # a size of it is what the others leave
            return self.op_class.with_counts(self, sized, *own)
        values = [sized(x) for x in given]
        if any(value is None for value in values):
            return None
        return self.op_class(*self.with_numbers(values)), own

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

    def eval(self, *values: DeviceArray | RaggedStack | Array) -> Any:
        own, given = self.split(values)
        attributes = self.with_numbers(given)
        if self.op_class.eval_checks:
            return self.op_class.eval(unheld(self.op_class, attributes), *own)
        fault = self.schema.fault(attributes)
        if fault is not None:
            raise InvalidArgumentError(fault)
        specs = [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in own]
        found = self.op_class.infer(unheld(self.op_class, self._seen_in(attributes, ())), *specs)
        for spec in found if self.op_class.multiple else (found,):
            require_possible(self.op_class.known_as or self.name, spec.dims)
        return self.op_class.eval(unheld(self.op_class, attributes), *own)

    def vjp(self, ctx: Context, *y_bars: Tensor | None) -> Sequence[Any]:
        bars = self.op_class.vjp(self, ctx, *y_bars)
        return (*bars, *[None] * (len(ctx.inputs) - len(bars)))

    def batch(self, ctx: BatchContext, *xs: Tensor) -> Any:
        own, given = self.split(xs)
        if any(ctx.stacked(len(own) + k) for k in range(len(given))):
            return self.op_class.batch_given(self, ctx, *xs)
        op = self.written_out([x.spec for x in given])
        if op is None:
            return self.op_class.batch(self, ctx, *xs)
        # An empty vector of sizes leaves no reference to it.
        return self.op_class.batch(op, ctx, *own, *given[: op.given])

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if all(axis is None for axis in axes):
            return None
        (own, given), (mine, others) = self.split(specs), self.split(axes)
        op = self.written_out(given)
        if op is None or any(axis is not None for axis in others):
            return MIXED
        return self.op_class.rows(op, own, mine)

    def evaluator_of(self, *specs: TensorSpec) -> Any:
        if self.given:  # its numbers come with each call
            return self.op_class.evaluator_given(self, *specs)
        return self.op_class.evaluator_of(self, *specs)

    def lower(self, *operands: TensorSpec) -> Any:
        return self.op_class.lower_given(self, *operands)

    def expand(self, *inputs: object) -> Any:
        return None

    def views(self, *sites: object) -> Any:
        return None

    def parts_of(self, *sites: object) -> Any:
        return None


def _no_sizes(op: str, word: str, spec: TensorSpec, rank: int) -> Exception:
    """The error for a given input that does not hold integers or has the wrong rank."""
    require_kind(op, spec, INTEGER, word)
    needed = ("a scalar is needed", "a vector of sizes is needed", "a matrix [rank, 2] is needed")[rank]
    return InvalidArgumentError(f"{op}: {word} has shape {format_dims(spec.dims)}; {needed}.")
