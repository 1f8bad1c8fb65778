"""The functions that converted code calls, as `ag__`.

Each does what Python does, unless a symbolic tensor decides; then it is staged (`branches.py`, `loops.py`). `if_` and the loops
return functions that the user's own line calls, so that tracebacks of Python control flow show only the user's lines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphad.autograph.call import of as of
from graphad.autograph.journal import attribute_noted as attribute_noted
from graphad.autograph.journal import item_noted as item_noted
from graphad.autograph.state import NO_RETURN, NO_STEP, Item, Reference, decider, is_symbolic, locals_of
from graphad.autograph.state import attribute as attribute
from graphad.autograph.state import item as item
from graphad.core.errors import SymbolicValueError
from graphad.core.frames import user_line
from graphad.core.levels import trace_in_progress
from graphad.core.shapes import TensorShape, format_dims
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.sizes import known_value

if TYPE_CHECKING:
    from graphad.autograph.lists import Grown, StagedList
    from graphad.core.annotations import TensorLike


def global_(name: str, names: dict[str, Any]) -> Reference:
    """A global variable that is assigned."""
    return lambda: Item(name, names, name)


def no_return() -> Any:
    """Represents the value of a function that ends without a `return`."""
    return NO_RETURN


def no_step() -> Any:
    """As `no_return`, if the function ends with a loop of which every step returns."""
    return NO_STEP


def returned(value: object) -> Any:
    """The result of a function."""
    return None if value is NO_RETURN or value is NO_STEP else value


# -- if --------------------------------------------------------------------------------------------------------------------


def if_(
    test: TensorLike,
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    live: Sequence[str] = (),
    others: Sequence[str] = (),
    refs: Sequence[Reference] = (),
) -> Callable[[], Any]:
    """The branch to run; for a tensor both are traced here, and nothing is left to run."""
    test = decider(test)
    if not is_symbolic(test):
        return then if test else otherwise
    from graphad.autograph.branches import staged_if

    return staged_if(test, then, otherwise, live, others, refs)


def if_expression(
    test: TensorLike,
    then: Callable[[], Any],
    otherwise: Callable[[], Any],
    shared: Callable[[], Any] | None = None,
) -> Any:
    """`then() if test else otherwise()`; `shared` has the cells of the variables that these change."""
    test = decider(test)
    if not is_symbolic(test):
        return then() if test else otherwise()
    from graphad.autograph.branches import staged_value

    return staged_value(test, then, otherwise, shared)


# -- logic -----------------------------------------------------------------------------------------------------------------


def bound(cell: Callable[[], Any], value: TensorLike) -> Any:
    """`(name := value)` in an expression that became a function; `cell` has the cell of the name."""
    (place,) = locals_of((cell,)).values()
    place.cell_contents = value
    return value


def go_on(*flags: TensorLike) -> Any:
    """Whether no flag is set, so that no break, continue or return has happened."""
    open_ones = []
    for flag in flags:
        if is_symbolic(flag):
            open_ones.append(flag)
        elif flag:
            return False
    if not open_ones:
        return True
    from graphad.autograph.branches import none_of

    return none_of(open_ones)


def and_(first: TensorLike, *others: Callable[..., Any], shared: Callable[[], Any] | None = None) -> Any:
    """`first and others[0]() and ...`; `shared` has the cells of the variables that `others` change."""
    value = decider(first)
    for k, other in enumerate(others):
        if is_symbolic(value):
            from graphad.autograph.branches import staged_and

            return staged_and(value, others[k:], shared)
        if not value:
            return first if k == 0 else value
        value = decider(other())
    return value


def or_(
    first: TensorLike | None, *others: Callable[..., Any], shared: Callable[[], Any] | None = None
) -> Any:
    """`first or others[0]() or ...`; `shared` has the cells of the variables that `others` change."""
    value = decider(first)
    for k, other in enumerate(others):
        if is_symbolic(value):
            from graphad.autograph.branches import staged_or

            return staged_or(value, others[k:], shared)
        if value:
            return first if k == 0 else value
        value = decider(other())
    return value


def not_(x: object) -> Any:
    """`not x`."""
    x = decider(x)
    if not is_symbolic(x):
        return not x
    from graphad.autograph.branches import none_of

    return none_of([x])


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def compare(
    left: float, sign: str, right: Tensor, *more: Any, shared: Callable[[], Any] | None = None
) -> Any:
    """`left < right < more[1]()`: each operand is evaluated once, and only while all comparisons before it hold.

    `shared` has the cells of the variables that these operands change.
    """
    pairs = list(zip(more[::2], more[1::2], strict=True))

    def go(k: int, x: Tensor) -> Callable[[], Any]:
        def compared() -> Any:
            sign, operand = pairs[k]
            y = operand()
            held = _OPERATORS[sign](x, y)
            return and_(held, go(k + 1, y), shared=shared) if k + 1 < len(pairs) else held

        return compared

    held = _OPERATORS[sign](left, right)
    return and_(held, go(0, right), shared=shared) if pairs else held


def assert_(test: Callable[[], Any], message: Callable[[], Any]) -> None:
    """`assert test, message`; on a tensor an op of the graph (an optional feature)."""
    from graphad.ops.state.effects import Assert

    value = decider(test())
    if is_symbolic(value):
        said = message()
        Assert(value, ["assertion failed" if said is None else str(said)])
    elif not value:
        said = message()
        raise AssertionError(*(() if said is None else (said,)))


# -- where a function is suspended -----------------------------------------------------------------------------------------


def decided(test: TensorLike, statement: str, way: str) -> Any:
    """The test of a statement that contains a yield or await, so that Python must decide it."""
    return _of_python(
        test,
        lambda: (
            f"{statement}: a tensor that has no value while it is traced would decide whether the function reaches a "
            f"`{way}`, and that is Python's to decide; {_CURES[way]}"
        ),
    )


_CURES = {
    "yield": "yield the value that the tensor chooses, `yield tf.where(test, a, b)`, or return a tensor of all of them",
    "await": "await before, and choose between the results with the tensor",
}


def kept(test: bool) -> Any:
    """The test of a comprehension's `if`."""
    return _of_python(
        test,
        lambda: (
            "if of a comprehension: a tensor that has no value while it is traced would decide how many elements there are; "
            "keep all of them and choose with `tf.where`, or take rows of a tensor with `tf.boolean_mask`"
        ),
    )


def _of_python(test: TensorLike, refusal: Callable[[], str]) -> Any:
    """A test that Python decides: a tensor's value if it is known. Raises: SymbolicValueError: it is not."""
    test = decider(test)
    if not is_symbolic(test):
        return test
    known = known_value(test)
    if known is None:
        raise SymbolicValueError(f"{refusal()}{_here()}.")
    return bool(known)


def _here() -> str:
    line = user_line()
    return f" (at {line})" if line else ""


def counted(iterated: Any, way: str) -> Any:
    """The iterable of a loop that contains a yield or await; a tensor only if its first size is known."""
    iterated = decider(iterated)
    if is_symbolic(iterated) and (iterated.dims is None or iterated.dims[:1] == (None,)):
        raise SymbolicValueError(
            f"for: the first size of this tensor, {format_dims(iterated.dims)}, is not known while it is traced, so it would "
            f"decide how often the function reaches a `{way}`, and that is Python's to decide; give the tensor a known first "
            f"size, or collect the values in a tensor (tf.map_fn, tf.TensorArray) and return that{_here()}."
        )
    return iterated


# -- finally ---------------------------------------------------------------------------------------------------------------


class leaving:
    """A block around a `try` whose `finally` may jump: if it jumps, the exception in progress is dropped, as in Python.

    The end of the `finally` passes its flags. A flag that a tensor sets drops nothing, since an exception is raised during
    tracing, when the tensor has no value.
    """

    def __init__(self) -> None:
        self._jumps = False

    def __enter__(self) -> leaving:
        return self

    def __call__(self, *flags: object) -> None:
        self._jumps = any(not is_symbolic(flag) and bool(flag) for flag in flags)

    def __exit__(self, *error: Any) -> bool:
        return self._jumps


# -- loops -----------------------------------------------------------------------------------------------------------------


def while_(
    test: Callable[[], Any],
    body: Callable[[], Any],
    carried: Sequence[str] = (),
    after: Sequence[str] = (),
    others: Sequence[str] = (),
    refs: Sequence[Reference] = (),
    options: Callable[[], Any] | None = None,
) -> bool:
    """Whether Python runs the body (again). Once the test is a tensor, the rest of the loop is staged here."""
    trace = trace_in_progress()
    start = 0 if trace is None else len(trace.builder.nodes)
    holds = decider(test())
    if not is_symbolic(holds):
        return bool(holds)
    from graphad.autograph.acting import Tested, acts
    from graphad.autograph.loops import staged_loop

    first = Tested(holds, test) if acts(trace, start) else None
    staged_loop(None, test, body, carried, after, others, refs, options, first)
    return False


def for_(
    iterated: object,
    test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    carried: Sequence[str] = (),
    after: Sequence[str] = (),
    others: Sequence[str] = (),
    refs: Sequence[Reference] = (),
    options: Callable[[], Any] | None = None,
) -> Any:
    """The elements for which Python shall run the body; a loop over a tensor is staged here, and leaves none."""
    is_tensor = isinstance(iterated, Tensor | Handle)
    if (is_tensor or hasattr(iterated, "__graphad_elements__")) and trace_in_progress() is not None:
        # Imported here: Python's own loops do not need it.
        from graphad.autograph.loops import elements_of, staged_loop

        elements = elements_of(iterated)
        if elements is not None:
            staged_loop(elements, test, body, carried, after, others, refs, options)
            return ()
    if hasattr(iterated, "__graphad_stream__") and trace_in_progress() is not None:
        from graphad.autograph.loops import staged_loop
        from graphad.autograph.streamed import Streamed

        staged_loop(
            Streamed(iterated.__graphad_stream__()), test, body, carried, after, others, refs, options
        )
        return ()
    if test is None:
        return iterated
    return _while_open(iterated, test, body, carried, after, others, refs)


def _while_open(
    iterated: Any,
    test: Callable[[], Any],
    body: Callable[[Any], Any],
    carried: Sequence[str],
    after: Sequence[str],
    others: Sequence[str],
    refs: Sequence[Reference],
) -> Iterator[Any]:
    """The elements of a loop with `break` until it ends; once a tensor decides that, each further step is conditional."""
    iterator = iter(iterated)
    while True:
        holds = test()
        if not is_symbolic(holds) and not holds:
            return
        try:
            element = next(iterator)
        except StopIteration:
            return
        if not is_symbolic(holds):
            yield element
            continue
        from graphad.autograph.loops import guarded_step

        guarded_step(holds, body, element, carried, after, others, refs)


def options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: int | None = None,
    shape_invariants: list[tuple[TensorShape | Tensor, ...]] | None = None,
) -> dict[str, Any]:
    """Record the options of `set_loop_options` for the enclosing loop."""
    return {"maximum_iterations": maximum_iterations, "shape_invariants": shape_invariants}


def append(items: Grown | StagedList | list[Tensor], x: Tensor) -> Any:
    """`items.append(x)` where lists may become stacks: what `items` is afterwards."""
    import graphad.autograph.lists as lists

    return lists.append(items, x)


def pop(items: Grown | StagedList) -> tuple[Any, Any]:
    """`items.pop()` where lists may become stacks: what `items` is afterwards, and the element."""
    import graphad.autograph.lists as lists

    return lists.pop(items)
