"""The inputs of an op: the parameters of its rules, and what their annotations say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graphad.core.kinds import INTEGER, require_kind
from graphad.core.spec import TensorSpec

_INTEGERS = ("IndexSpec", "IntegerSpec")


def checking(infer: Callable[..., Any]) -> Callable[..., Any]:
    """The `infer` of a class, preceded by a check that the inputs declared as integers have an integer dtype.

    All callers of `infer` get this check: the first eager call with such dtypes, the trace, the specialiser and the loader of
    files.
    """
    declared = getattr(infer, "__annotations__", {})
    integers = [name for name in declared if declared[name] in _INTEGERS]
    if not integers:
        return infer
    taken = _parameters(infer)[0]
    places = [(taken.index(name), name) for name in integers]

    def checked(self: Any, *specs: TensorSpec) -> Any:
        for place, name in places:
            if place < len(specs):
                require_kind(self.caller, specs[place], INTEGER, self.words.get(name, name))
        return infer(self, *specs)

    checked.written = infer  # type: ignore[attr-defined]
    return checked


class Input:
    """One input of an op.

    Attributes:
      name: Its name in rules and messages.
      is_handle: It is a variable, passed by reference.
      either: It may be a tensor or a variable, as an operand of a sub-graph may.
      is_integer: Its dtype must be an integer one.
      is_index: Its numbers are positions along an axis; one outside is an error.
      optional: It may be omitted.
      variadic: It stands for any number of inputs.
    """

    __slots__ = ("either", "is_handle", "is_index", "is_integer", "name", "optional", "variadic")

    def __init__(self, name: str, declared: str | None, optional: bool, variadic: bool) -> None:
        self.name = name
        self.is_handle = declared == "HandleSpec"
        self.either = declared == "TensorSpec | HandleSpec"
        self.is_integer = declared in _INTEGERS
        self.is_index = declared == "IndexSpec"
        self.optional = optional
        self.variadic = variadic


def inputs_of(kind: Any) -> Iterator[Input]:
    """The inputs of an op, from the parameters of its rules or, for ops of a table, of their formula."""
    infer = getattr(kind.infer, "written", kind.infer)
    names, defaults, rest = _parameters(infer)
    declared = getattr(infer, "__annotations__", {})
    of_rest = declared.get(rest)
    formula = getattr(kind, "formula", None)
    if rest and formula is not None:
        # A NumPy function would take an extra operand as its `out` array.
        count = getattr(formula, "nin", None)  # of a ufunc, or set by the wrapper of a function
        if count is None and kind.infix is not None and not hasattr(formula, "__code__"):
            # Python's own function of an operator: its signature is slow to read.
            count = kind.infix.count("{}")
        if count is not None:
            names = ["x", "y", "z"][:count]
        else:
            taken, optional, more = _parameters(formula, 0)
            needed = len(taken) - optional
            names = ["x", "y", "z"][:needed] if optional or more else taken
        for name in names:
            yield Input(name, None, False, False)
        return
    if rest:  # `eval` may name more of them
        names, defaults, rest = _parameters(kind.eval)
    for i, name in enumerate(names):
        yield Input(name, declared.get(name, of_rest), i >= len(names) - defaults, False)
    if rest:
        yield Input(rest, of_rest, False, True)


def _parameters(rule: Callable[..., Any], skipped: int = 1) -> tuple[list[str], int, str | None]:
    """The names of a function's parameters, how many have defaults, and the name of its *args."""
    code = getattr(rule, "__code__", None)
    if code is None or hasattr(rule, "__wrapped__"):
        import inspect  # slow to import and rarely needed

        found = list(inspect.signature(rule).parameters.values())[skipped:]
        plain = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        more = next((p.name for p in found if p.kind is p.VAR_POSITIONAL), None)
        return [p.name for p in plain], sum(p.default is not p.empty for p in plain), more
    count = code.co_argcount
    after = code.co_varnames[count + code.co_kwonlyargcount :]
    return (
        list(code.co_varnames[skipped:count]),
        len(rule.__defaults__ or ()),
        after[0] if code.co_flags & 4 else None,
    )
