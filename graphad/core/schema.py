"""The schema of an op: what its inputs and attributes may be, derived from its class at first use.

Inputs are the parameters of `infer`: their names, which are optional, which are variables (`HandleSpec`), which hold integers
(`IntegerSpec`), and which of these are positions (`IndexSpec`). Attributes are the annotated fields. Annotations are plain
types (`bool`, `DType`), types with bounds (`Count`, `Axes`, `Literal[...]`), and `Given[...]` around sizes that inputs may
give; see `references.py`.

Attributes are checked when a new op is interned, so that a repeated op costs nothing. The same check serves ops from files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from graphad.core import references as refs
from graphad.core.dims import Dim
from graphad.core.dtypes import DType
from graphad.core.errors import InternalError
from graphad.core.inputs import Input, inputs_of
from graphad.core.shapes import MOST_AXES
from graphad.core.spec import TensorSpec

if TYPE_CHECKING:
    from graphad.core.dims import Size


T = TypeVar("T")
Given = Annotated[T, "may be given by inputs"]
Axis = int  # negative counts from the end
Axes = tuple[int, ...]  # no duplicates
Permutation = tuple[Any, ...]  # each of the numbers from 0 once
Count = int  # from 0
Positive = int  # from 1
Offset = int  # any sign
Limit = int  # negative means no limit
Step = int  # not 0
Number = int | float  # finite
Bound = float  # may be infinite, but not NaN
Places = tuple[int, ...]  # counted from 0, no duplicates
Text = str
Pieces = tuple[Any, ...]  # sizes, or -1 for the rest
Padding = Any  # "SAME", "VALID", or (before, after) for each axis

# Inputs of an integer dtype; those of the second kind are positions along an axis, and `eval` refuses one that is outside.
IntegerSpec = TensorSpec
IndexSpec = TensorSpec
_INTS, _BOOLS, _OTHER, _NONE = frozenset({int}), frozenset({bool}), frozenset({object}), frozenset[Any]()


class Kind:
    """What one attribute may be.

    Args:
      name: Its name in annotations.
      test: Whether a value is valid.
      made_of: The types of number in it: int, bool or object.
      words: Its description for readers of files.
      bound: Further conditions, in words.
      complaint: What is wrong with an invalid value, as words that follow "which".
    """

    refers = False

    def __init__(
        self,
        name: str,
        test: Callable[[Any], bool],
        made_of: frozenset[Any] = _OTHER,
        words: str = "",
        bound: str = "",
        complaint: str = "",
    ) -> None:
        self.name = name
        self.fits = test
        self.made_of = made_of
        self.words = words or name
        self.bound = bound
        self._complaint = complaint

    def complaint(self, x: float | str | tuple[int, ...] | None) -> str:
        """What is wrong with an invalid value, as words that follow "which"."""
        return self._complaint or f"is not {'an' if self.name[0] in 'AEIOUaeiou' else 'a'} {self.name}"

    def text(self, x: object, given: Sequence[str]) -> str:
        """A value as text; `given` are the names of the inputs that its sizes may refer to."""
        return refs.text_of(x, given)

    @property
    def numbers(self) -> type | None:
        """int or bool if values consist of such numbers, to which NumPy's types are converted; else None."""
        return next(iter(self.made_of)) if self.made_of in (_INTS, _BOOLS) else None


# Loops rather than generators, for speed: every new op is checked here.


def _any_of(tests: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    def fits(x: object) -> bool:
        for test in tests:  # noqa: SIM110
            if test(x):
                return True
        return False

    return fits


def _once(x: tuple[int, ...]) -> bool:
    return len(set(x)) == len(x)


def _is_permutation(x: tuple[int, ...]) -> bool:
    return sorted([axis + len(x) if axis < 0 else axis for axis in x]) == list(range(len(x)))


def _all_are(test: Callable[[Any], bool], most: int | None) -> Callable[[Any], bool]:
    def fits(x: str | tuple[Any, ...] | None) -> bool:
        if type(x) is not tuple or (most is not None and len(x) > most):
            return False
        for item in x:  # noqa: SIM110
            if not test(item):
                return False
        return True

    return fits


class Union(Kind):
    """One of several kinds."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        made_of = _NONE.union(*[kind.made_of for kind in kinds])
        names, words = (" | ".join(k.name for k in kinds), " or ".join(k.words for k in kinds))
        bound = ", ".join(k.bound for k in kinds if k.bound)
        super().__init__(names, _any_of([kind.fits for kind in kinds]), made_of, words, bound)
        self.kinds = tuple(kinds)

    def complaint(self, x: Any) -> str:
        part = next((k for k in self.kinds if isinstance(k, Many)), None)
        return super().complaint(x) if part is None or type(x) is not tuple else part.complaint(x)


class Many(Kind):
    """A tuple of any length with items of one kind.

    Args:
      once: The test of a tuple without duplicates; None if duplicates are allowed.
      by_axis: Whether it has an entry for each axis of a tensor, of which there are at most `MOST_AXES`.
    """

    def __init__(
        self,
        item: Kind,
        name: str = "",
        words: str = "",
        once: Callable[[Any], bool] | None = None,
        by_axis: bool = False,
    ) -> None:
        fit = _all_are(item.fits, MOST_AXES if by_axis else None)
        whole = "each axis once" if once is _is_permutation else "none twice"
        super().__init__(
            name or f"tuple[{item.name}, ...]",
            fit if once is None else lambda x: fit(x) and once(x),
            item.made_of,
            words or f"tuple[{item.words}, ...]",
            whole if once else item.bound,
            f"is not one {'place' if item.fits(0) and not item.fits(-1) else 'axis'} after the other, {whole}"
            if once
            else "",
        )
        self.item = item
        self.once = once
        self.by_axis = by_axis

    def complaint(self, x: Any) -> str:
        if self.by_axis and type(x) is tuple and len(x) > MOST_AXES:
            return too_many_axes(len(x))
        if self.item is _PAIR and _has_negative(x):
            return "has a negative number; numbers are 0 or more"
        if self.once is _is_permutation and type(x) is tuple and all(type(n) is int for n in x):
            return f"is not a permutation of 0 to {len(x) - 1}"
        if self.once is None and self.item.fits(0) and not self.item.fits(-2) and type(x) is tuple:
            if any(type(n) is int and n < 0 for n in x) and all(type(n) in (int, tuple, Dim) for n in x):
                return "has a negative size; sizes are 0 or more"
        return super().complaint(x)


def _row(items: Sequence[Kind]) -> Kind:
    """A tuple with one item of each of the given kinds."""
    return Kind(
        f"tuple[{', '.join(k.name for k in items)}]",
        lambda x: type(x) is tuple and len(x) == len(items) and all(k.fits(i) for k, i in zip(items, x)),
        _NONE.union(*[k.made_of for k in items]),
        f"tuple[{', '.join(k.words for k in items)}]",
        next((k.bound for k in items if k.bound), ""),
        next((k._complaint for k in items if k._complaint), ""),
    )


def _choice(values: Sequence[Any]) -> Kind:
    shown = " or ".join(f'"{x}"' if isinstance(x, str) else str(x) for x in sorted(values, key=str))
    listed = ", ".join(f'"{x}"' if isinstance(x, str) else str(x) for x in sorted(values, key=str))
    number = all(type(x) is int for x in values)
    return Kind(
        listed,
        lambda x: any(type(x) is type(v) and x == v for v in values),
        _INTS if number else _NONE,
        shown if number else "string",
        "" if number else f"one of {listed}",
        f"is none of {listed}",
    )


class Referring(Kind):
    """A kind of sizes that inputs may give.

    Args:
      inner: The kind of the sizes.
    """

    refers = True

    def __init__(self, inner: Kind) -> None:
        parts = inner.kinds if isinstance(inner, Union) else (inner,)
        self.many = next((part for part in parts if isinstance(part, Many)), None)
        self.inner = inner
        # The rank of an input that gives all sizes: 1 for a vector of sizes, 2 for a matrix of pairs.
        self.rank = 0 if self.many is None else 2 if self.many.item.fits((0, 0)) else 1
        item = None if self.many is None else self.many.item
        self._leaves_open = item is not None and item.fits(-1) and not item.fits(-2)
        super().__init__(inner.name, self._fits, inner.made_of, inner.words, inner.bound)

    def complaint(self, x: Any) -> str:
        return "has more than one -1" if self._rests(x) > 1 else self.inner.complaint(x)

    def _rests(self, x: object) -> int:
        """How many sizes are -1, which means that the other sizes determine them."""
        if not self._leaves_open or type(x) is not tuple:
            return 0
        return sum([type(item) is int and item == -1 for item in x])

    def _fits(self, x: Size | str | tuple[Size | str | tuple[int | str, ...], ...]) -> bool:
        if self.many is None:
            return self.inner.fits(x) or refs.well_formed(x, 0)
        if type(x) is not tuple:
            return self.inner.fits(x)
        if self.many.by_axis and len(x) > MOST_AXES:
            return False
        test = self.many.item.fits
        for item in x:
            if not test(item) and not refs.well_formed(item, 1):
                return False
        if self.many.once is not None:
            return len(set(x)) == len(x) if tuple in map(type, x) else self.many.fits(x)
        return not self._leaves_open or self._rests(x) < 2

    def asked(
        self, x: Size | str | tuple[Size | str | tuple[int | str, ...], ...]
    ) -> list[refs.Reference] | None:
        """The references in a value; None if all sizes are numbers and none is -1."""
        if type(x) is not tuple:
            return [] if type(x) is int and self.many is not None else None
        if self.many is None:
            return [x]
        if tuple in map(type, x):
            return refs.references(x) or None
        return [] if self._rests(x) else None

    def seen(self, x: Any, given: Sequence[TensorSpec]) -> Any:
        """The sizes, with None for unknown ones."""
        if self.many is None or type(x) is not tuple:
            return None if refs.is_reference(x) else x
        x = refs.spelled(x, given)
        if x is None:
            return None
        seen = [None if refs.is_reference(item) else item for item in x]
        if self._leaves_open:
            seen = [None if type(item) is int and item == -1 else item for item in seen]
        return tuple(seen)

    def written_out(
        self, x: tuple[int | str | tuple[int | str, ...], ...], given: Sequence[TensorSpec]
    ) -> Any:
        return x if self.many is None or type(x) is not tuple else refs.spelled(x, given)

    def filled(
        self, x: int | tuple[int | str | tuple[int | str, ...], ...], values: Sequence[Any], op: str
    ) -> Any:
        """The sizes with references replaced by numbers from the given inputs."""
        return refs.filled(x, values, op)

    def rank_of(self, reference: refs.Reference) -> int:
        """The rank of the input that a reference names."""
        return 0 if self.many is None else self.rank - (len(reference) == 2 and reference[0] == refs.AT)


def _has_negative(x: object) -> bool:
    return any(_has_negative(n) for n in x) if type(x) is tuple else type(x) is int and x < 0


def _is_size(x: Size | str | tuple[int | str, ...] | None) -> bool:
    return (type(x) is int and x >= 0) or isinstance(x, Dim)


def _fits_64_bits(x: object) -> bool:
    return type(x) is int and -_MOST <= x < _MOST


def _is_beyond_64_bits(x: object) -> bool:
    """Whether it is, or holds, an integer of more than 64 bits."""
    if type(x) is tuple:
        return any(_is_beyond_64_bits(item) for item in x)
    return type(x) is int and not -_MOST <= x < _MOST


def _is_offset(x: object) -> bool:
    return _fits_64_bits(x) or isinstance(x, Dim)


def _is_number(x: float) -> bool:
    return _is_offset(x) or (type(x) is float and math.isfinite(x))


def _at_least(name: str, least: int) -> Kind:
    return Kind(
        name,
        lambda x: type(x) is int and least <= x < _MOST,
        _INTS,
        "integer",
        f"at least {least}",
        f"is less than {least}",
    )


def between(name: str, least: int, most: int) -> Kind:
    """A kind of integers from a range. Larger ones would take too long, or have no formula."""
    return Kind(
        name,
        lambda x: type(x) is int and least <= x <= most,
        _INTS,
        "integer",
        f"from {least} to {most}",
        f"is not from {least} to {most}",
    )


def too_many_axes(count: int) -> str:
    """The error for a shape, or a tuple with an entry for each axis, with this many axes, as words that follow "which"."""
    return f"has {count} entries; a tensor has at most {MOST_AXES} axes"


SIZE = Kind("Size", _is_size, _INTS, "integer from 0", "", "is not a Size: sizes are 0 or more")
_INT = Kind("int", lambda x: type(x) is int or isinstance(x, Dim), _INTS, "integer")
_AXIS = Kind("Axis", lambda x: type(x) is int, _INTS, "integer")
_COUNT = _at_least("Count", 0)
_MOST = 2**63
_NO_INTEGER = "is not an integer of 64 bits"
_PAIR = Kind("pair", lambda x: type(x) is tuple and len(x) == 2 and all(map(_is_size, x)), _INTS)
_PAIRS = Many(_PAIR, "Pairs", "tuple of pairs of integers from 0", by_axis=True)
_PIECE = Kind("Piece", lambda x: _is_size(x) or (type(x) is int and x == -1), _INTS, "integer from 0 or -1")
_KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        SIZE,
        _INT,
        _PAIRS,
        Kind("None", lambda x: x is None, _NONE, "nil"),
        Kind("bool", lambda x: type(x) is bool, _BOOLS),
        Kind("float", lambda x: type(x) is float),
        Kind("str", lambda x: type(x) is str, _NONE, "string"),
        Kind("DType", lambda x: isinstance(x, DType), words="dtype"),
        Kind("Any", lambda x: True, words="see the meaning"),
        _AXIS,
        Many(_AXIS, "Axes", once=_once, by_axis=True),
        Many(_AXIS, "Permutation", once=_is_permutation, by_axis=True),
        Many(_COUNT, "Places", "tuple of integers from 0", _once),
        Many(_PIECE, "Pieces", "tuple[integer from 0 or -1, ...]"),
        _COUNT,
        _at_least("Positive", 1),
        Kind("Offset", _is_offset, _INTS, "integer", "of 64 bits", "is not an integer of 64 bits"),
        Kind(
            "Limit", _fits_64_bits, _INTS, "integer", "of 64 bits; below 0 there is no limit", "is not an integer of 64 bits",
        ),
        Kind("Step", lambda x: type(x) is int and x != 0, _INTS, "integer", "not 0", "is not an integer other than 0"),
        Kind("Number", _is_number, _OTHER, "integer of 64 bits or float", "finite", "is not a finite number of 64 bits"),
        Kind("Bound", lambda x: type(x) is float and x == x, _OTHER, "float", "not NaN", "is NaN, or no float"),
        Kind("Text", lambda x: type(x) is str, _NONE, "string"),
        Kind(
            "Padding",
            lambda x: x in ("SAME", "VALID") or _PAIRS.fits(x),
            _INTS, '"SAME", "VALID", or ((before, after), ...) of integers from 0',
        ),
    )
}  # fmt: skip


def declare(kind: Kind) -> Kind:
    """Register a kind under its name in annotations."""
    _KINDS[kind.name] = kind
    return kind


# What a tuple holds, if it has an entry for each axis.
_BY_AXIS = frozenset({"Size", "Size | Literal[-1]", "Count | None", "Positive", "Step"})


def kind_of(declared: str) -> Kind:
    """The kind of an annotation: a name, a union with |, a tuple, Literal[...] or Given[...]."""
    found = _KINDS.get(declared)
    if found is None:
        found = _KINDS[declared] = _parsed(declared)
    return found


def _parsed(declared: str) -> Kind:
    options = split(declared, "|")
    if len(options) > 1:
        return Union([kind_of(option) for option in options])
    if declared != declared.strip():
        return kind_of(declared.strip())
    head, _, rest = declared.partition("[")
    items = [item.strip() for item in split(rest[:-1], ",")] if rest else []
    if head == "Given":
        return Referring(kind_of(rest[:-1]))
    if head == "Literal":
        return _choice([item[1:-1] if item[0] in "\"'" else int(item) for item in items])
    if head == "tuple" and len(items) == 2 and items[1] == "...":
        return Many(kind_of(items[0]), by_axis=items[0] in _BY_AXIS)
    if head == "tuple" and rest:
        return _row([kind_of(item) for item in items])
    raise InternalError(
        f"schema: {declared!r} is not a kind of attribute; core/schema.py lists what there is."
    )


def split(text: str, separator: str) -> list[str]:
    """Split an annotation at a separator outside all brackets."""
    if separator not in text:
        return [text]
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


class Schema:
    """The schema of one op class.

    Attributes:
      inputs: The inputs that the op always has, without those that give sizes.
      attributes: The kind of each attribute, by its name.
      places: (name, position, kind) of the attributes that may refer to inputs.
      least, most: The range of the number of inputs, without those that give sizes.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.attributes = {name: kind_of(str(text)) for name, text in kind.declared.items()}
        self.numbers = tuple([each.numbers for each in self.attributes.values()])
        self.referring = tuple([name for name, each in self.attributes.items() if each.refers])
        kinds = enumerate(self.attributes.items())
        self.places: list[Any] = [(name, i, each) for i, (name, each) in kinds if each.refers]
        self._checked = tuple([(name, each, each.fits) for name, each in self.attributes.items()])
        self._inputs: tuple[Input, ...] | None = None
        self._referring_class: Any = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        if self._inputs is None:
            self._inputs = tuple(inputs_of(self.kind))
        return self._inputs

    @property
    def least(self) -> int:
        return sum(not x.optional and not x.variadic for x in self.inputs)

    @property
    def most(self) -> float:
        return math.inf if any(x.variadic for x in self.inputs) else len(self.inputs)

    def is_handle(self, i: int) -> bool | None:
        """Whether input i is a variable; None if it may be either."""
        inputs = self.inputs
        if i >= len(inputs):
            return None if inputs and inputs[-1].variadic and inputs[-1].either else False
        return None if inputs[i].either else inputs[i].is_handle

    def wrong(self, values: Sequence[Any]) -> tuple[str, Any, str] | None:
        """The first attribute that does not fit, its value, and what is wrong with it."""
        for (name, each, fits), value in zip(self._checked, values, strict=True):
            if not fits(value):
                if _is_beyond_64_bits(value):
                    is_one = type(value) is int
                    return name, value, _NO_INTEGER if is_one else "has an integer of more than 64 bits"
                return name, value, each.complaint(value)
        return None

    def fault(self, values: Sequence[Any]) -> str | None:
        """The same as a message, with public names."""
        found = self.wrong(values)
        if found is None:
            return None
        name, value, complaint = found
        text = repr(value)
        text = text if len(text) <= 200 else f"{text[:100]}..."
        if type(value) is int and complaint == SIZE.complaint(value):
            said = f"is {text}; it must be 0 or more"
        else:
            said = f"{text} {complaint}" if complaint.startswith("has ") else f"is {text}, which {complaint}"
        return f"{self.kind.known_as or self.kind.name}: {self.kind.words.get(name, name)} {said}."

    def asked(self, values: Sequence[Any]) -> list[tuple[str, Referring, refs.Reference]] | None:
        """Every reference in the attributes, with its attribute and kind; None if all sizes are numbers."""
        found = None
        for name, place, kind in self.places:
            asked = kind.asked(values[place])
            if asked is not None:
                found = (found or []) + [(name, kind, reference) for reference in asked]
        return found

    def referring_class(self) -> Any:
        """The class of this op with references, created at first use."""
        if self._referring_class is None:
            kind = self.kind
            body = {name: getattr(kind, name) for name in ("__doc__", "__module__", "__qualname__")}
            self._referring_class = type(kind)(
                kind.__name__, (refs.Referring, kind), body | {"op_class": kind}
            )
        return self._referring_class


def schema_of(kind: Any) -> Schema:
    """The schema of an op class, created at first use."""
    found: Schema | None = kind.__dict__.get("schema")
    if found is None:
        found = Schema(kind)
        kind.schema = found
    return found
