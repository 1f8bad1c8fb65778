"""Products of a Jacobian with a vector, from either side, and linearisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from graphad.autograph.convert import converted_here
from graphad.core.annotations import NestLike
from graphad.core.bind import bind
from graphad.core.composites import flatten_fields, flatten_present, flatten_records, is_record
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.leaving import ASKED, DOCUMENTED, NUMBERS
from graphad.core.nest import is_nested
from graphad.core.refusal import check_function
from graphad.functional.arguments import Sources, outputs, split_aux
from graphad.gradient.backward import dense
from graphad.gradient.explain_none import lost, refuse_lost, warn_partly
from graphad.gradient.forward import ForwardAccumulator, push_forward
from graphad.gradient.tape import GradientTape
from graphad.gradient.transforms import TRANSFORMS
from graphad.ops.array.create import zeros_of
from graphad.ops.array.passing import IDENTITY

if TYPE_CHECKING:
    from typing import TypeVar

    R = TypeVar("R")


@overload
def jvp(
    f: Callable[..., R], primals: NestLike, tangents: NestLike, has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(f: Callable[..., Any], primals: NestLike, tangents: NestLike, has_aux: bool) -> tuple[Any, ...]: ...
def jvp(
    f: Callable[..., Any], primals: NestLike, tangents: NestLike, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function and its change along a direction: forward mode.

    Args:
      f: A function of tensors.
      primals: A tuple or list of its arguments, each a nest of floating or complex tensors, arrays or numbers.
      tangents: A tuple or list of nests like them: the direction.
      has_aux: Whether `f` returns a pair, of which only the first part is differentiated.
    Returns: (value, change), two nests; with `has_aux` (value, change, auxiliary).
    Raises: InvalidArgumentError: primals and tangents differ in structure or shape; NonlinearGradientError: a custom gradient
      on the way has no forward mode.

    Example:
      >>> value, change = jvp(lambda x: x**2, [3.0], [1.0])
      >>> float(value), float(change)
      (9.0, 6.0)
    """
    check_function("jvp", f)
    sources = _listed("jvp", primals)
    dots = _tangents("jvp", sources, primals, tangents)
    with ForwardAccumulator(sources.leaves, dots) as accumulator:
        value = converted_here(f)(*sources.nest(sources.leaves))
    value, aux = split_aux("jvp", value) if has_aux else (value, None)
    ys, rebuild = outputs("jvp", value)
    dots = [accumulator.jvp(y) for y in ys]
    if accumulator.exit is not None:
        way, line = accumulator.exit
        is_lost = all(dot is None for dot in dots)
        if is_lost and way not in NUMBERS:
            raise ArgumentTypeError(lost("jvp", way, line))
        if is_lost or (way not in ASKED and not way.startswith(("np.", DOCUMENTED))):
            warn_partly("jvp", way, line)
    changes = rebuild([zeros_of(y) if dot is None else dot for y, dot in zip(ys, dots, strict=True)])
    return (value, changes, aux) if has_aux else (value, changes)


@overload
def vjp(
    f: Callable[..., R], *primals: NestLike, has_aux: Literal[False] = False
) -> tuple[R, Callable[[NestLike], tuple[Any, ...]]]: ...
@overload
def vjp(f: Callable[..., Any], *primals: NestLike, has_aux: bool) -> tuple[Any, ...]: ...
def vjp(f: Callable[..., Any], *primals: NestLike, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and the function that pulls cotangents back: reverse mode.

    Args:
      f: A function of tensors.
      primals: Its arguments, each a nest of floating or complex tensors, arrays or numbers.
      has_aux: Whether `f` returns a pair, of which only the first part is differentiated.
    Returns: (value, pull), with `has_aux` (value, pull, auxiliary). `pull` takes a nest like the value, may be called any number
      of times, and returns a tuple with a nest like each argument. It keeps what `f` computed alive.
    Raises: DTypeError: an argument has no derivatives.

    Example:
      >>> value, pull = vjp(lambda x: x**2, 3.0)
      >>> float(pull(1.0)[0])
      6.0
    """
    check_function("vjp", f)
    sources = _listed("vjp", primals)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(sources.leaves)
        value = converted_here(f)(*sources.nest(sources.leaves))
    value, aux = split_aux("vjp", value) if has_aux else (value, None)
    ys, _ = outputs("vjp", value)
    refuse_lost("vjp", tape, ys, sources.leaves)

    def pull(cotangents: NestLike) -> Any:
        bars = _alike("vjp", value, cotangents, "the cotangents", "the function's result")
        bars = [bind(IDENTITY, lift(bar, y.dtype)) for y, bar in zip(ys, bars, strict=True)]
        found = tape.gradient(ys, sources.leaves, output_gradients=bars, unconnected_gradients="zero")
        return sources.nest([dense(bar) for bar in found])

    return (value, pull, aux) if has_aux else (value, pull)


@overload
def linearize(
    f: Callable[..., R], *primals: NestLike, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(f: Callable[..., Any], *primals: NestLike, has_aux: bool) -> tuple[Any, ...]: ...
def linearize(f: Callable[..., Any], *primals: NestLike, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and its derivative there as a linear function: `f` runs once, the derivative any number of times.

    Args:
      f: A function of tensors without writes to variables.
      primals: Its arguments, each a nest of floating or complex tensors, arrays or numbers.
      has_aux: Whether `f` returns a pair, of which only the first part is differentiated.
    Returns: (value, push), with `has_aux` (value, push, auxiliary). `push` takes tangents, one nest for each argument, and
      returns the change of the value. It keeps what `f` computed alive.
    Raises: As `jvp`; FailedPreconditionError: `f` writes variables.

    Example:
      >>> value, push = linearize(lambda x: x**2, 3.0)
      >>> [float(push(t)) for t in (1.0, 2.0)]
      [6.0, 12.0]
    """
    check_function("linearize", f)
    sources = _listed("linearize", primals)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(sources.leaves)
        value = converted_here(f)(*sources.nest(sources.leaves))
    value, aux = split_aux("linearize", value) if has_aux else (value, None)
    ys, rebuild = outputs("linearize", value)
    refuse_lost("linearize", tape, ys, sources.leaves)

    def push(*tangents: NestLike) -> Any:
        dots = _tangents("linearize", sources, primals, tangents)
        return rebuild(push_forward(tape.entries, ys, sources.leaves, dots, TRANSFORMS))

    return (value, push, aux) if has_aux else (value, push)


def _listed(name: str, primals: NestLike) -> Sources:
    if not isinstance(primals, tuple | list):
        raise InvalidArgumentError(
            f"{name}: primals is a tuple or list with one entry for each argument, not {type(primals).__name__}; write [x]."
        )
    return Sources.of(name, tuple(primals), "a primal")


def _tangents(name: str, sources: Sources, primals: Sequence[Any], tangents: Any) -> list[Any]:
    if not isinstance(tangents, tuple | list):
        raise InvalidArgumentError(
            f"{name}: tangents is a tuple or list with one entry for each primal, not {type(tangents).__name__}; write [v]."
        )
    found = _alike(name, tuple(primals), tuple(tangents), "tangents", "the primals")
    # As the leaves themselves they become values of the block around the call, on its device.
    dots = [bind(IDENTITY, lift(dot, x.dtype)) for x, dot in zip(sources.leaves, found, strict=True)]
    for k, (x, dot) in enumerate(zip(sources.leaves, dots, strict=True)):
        if not x.shape.is_compatible_with(dot.shape):
            raise InvalidArgumentError(
                f"{name}: tangent {k} has shape {dot.shape}, its primal {x.shape}; they must be equal."
            )
    return dots


def _alike(name: str, one: NestLike, other: NestLike, what: str, whose: str) -> list[Any]:
    """The leaves of `other`. Raises: InvalidArgumentError: it is not a nest like `one`."""
    leaves = flatten_present(other)[0]
    if any(is_nested(x) or is_record(x) for x in (one, other)):
        _, _, tree = flatten_fields(one)
        _, _, given = flatten_fields(other)
        if tree != given:
            raise InvalidArgumentError(
                f"{name}: {what} have another structure than {whose}: {given} instead of {tree}."
            )
        count = len(flatten_present(one)[0])
        if len(leaves) == count and _absent(one) != _absent(other):
            raise InvalidArgumentError(
                f"{name}: {what} hold None at other places than {whose}; give a tensor where there is one, and None where "
                "there is none."
            )
        if len(leaves) != count:
            raise InvalidArgumentError(
                f"{name}: {what} hold {len(leaves)} tensors, {whose} {count}; give a tensor for each."
            )
    return leaves


def _absent(value: NestLike) -> list[bool]:
    return [leaf is None for leaf in flatten_records(value)[0]]
