"""The arguments of a differentiated function: which are sources, and each source leaf as a distinct tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.bind import bind
from graphad.core.composites import flatten_present, is_record
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, GraphadError, InvalidArgumentError
from graphad.core.nest import Rebuild
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.passing import IDENTITY

if TYPE_CHECKING:
    from graphad.core.annotations import NestLike


Argnums = int | Sequence[int]


class Sources:
    """The leaves with respect to which a function is differentiated.

    Attributes:
      leaves: The leaves, each a new tensor object, so that a value that is passed twice has two derivatives.
    """

    __slots__ = ("_others", "_rebuild", "leaves")

    def __init__(
        self, leaves: list[Tensor], rebuild: Rebuild, others: dict[int, Tensor] | None = None
    ) -> None:
        self.leaves = leaves
        self._rebuild = rebuild
        self._others = others or {}  # by place in the nest: integers, which have no derivative

    @classmethod
    def of(cls, name: str, value: NestLike, what: str) -> Sources:
        """The sources in a nest. Raises: DTypeError, ArgumentTypeError: a leaf that has no derivative."""
        leaves, rebuild = _leaves(name, value, what)
        return cls([_own(name, leaf, what) for leaf in leaves], rebuild)

    def nest(self, leaves: Sequence[Any]) -> Any:
        """The nest rebuilt with other leaves; None in place of integers."""
        return self._rebuild(self._beside(leaves, dict.fromkeys(self._others)))

    def values(self) -> Any:
        """The nest of the leaves themselves, and of integers."""
        return self._rebuild(self._beside(self.leaves, self._others))

    def _beside(self, leaves: Sequence[Any], others: dict[int, Any]) -> list[Any]:
        if not others:
            return list(leaves)
        rest = iter(leaves)
        return [others[k] if k in others else next(rest) for k in range(len(leaves) + len(others))]


def chosen(
    name: str,
    argnums: Argnums,
    args: tuple[Any, ...],
    holomorphic: bool = False,
    allow_int: bool = False,
) -> tuple[Sources, list[Any]]:
    """The sources that `argnums` chooses, and all arguments with them in place.

    Args:
      holomorphic: Whether all sources must be complex.
      allow_int: Whether integers and bools may be among them.
    Raises: InvalidArgumentError: there is no such argument, or one is chosen twice; DTypeError: of another dtype.
    """
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    places = []
    for number in numbers:
        if not isinstance(number, int) or not -len(args) <= number < len(args):
            raise InvalidArgumentError(
                f"{name}: argnums={argnums!r} asks for argument {number!r}, and the function was called with {len(args)} "
                "positional ones; keyword arguments cannot be differentiated."
            )
        places.append(number % len(args))
    if not places or len(set(places)) != len(places):
        raise InvalidArgumentError(
            f"{name}: argnums={argnums!r} names no argument, or one of them twice; give an int, or different ones."
        )
    leaves, rebuild = flatten_present(
        args[places[0]] if isinstance(argnums, int) else tuple([args[k] for k in places])
    )
    whose = [
        f"argument {place}"
        for place in places
        if args[place] is not None or isinstance(argnums, int)
        for _ in _leaves(name, args[place], f"argument {place}")[0]
    ]
    others: dict[int, Tensor] = {}
    found = []
    for k, (leaf, what) in enumerate(zip(leaves, whose, strict=True)):
        x = tensor(name, leaf, what) if allow_int or holomorphic else leaf
        if allow_int and (x.dtype.is_integer or x.dtype.is_bool):
            others[k] = x
            continue
        if holomorphic and not x.dtype.is_complex:
            raise DTypeError(
                f"{name}: {what} has dtype {x.dtype.name}; with holomorphic=True all are complex: cast it to complex64, or "
                "leave holomorphic out."
            )
        found.append(_own(name, x, what))
    sources = Sources(found, rebuild, others)
    own = sources.values()
    inner = list(args)
    for place, value in zip(places, [own] if isinstance(argnums, int) else own, strict=True):
        inner[place] = value
    return sources, inner


def _leaves(name: str, value: NestLike, what: str) -> tuple[list[Any], Rebuild]:
    """The leaves of a nest. Raises: ArgumentTypeError: it is a record without tensors."""
    leaves, rebuild = flatten_present(value)
    if not leaves and is_record(value):
        raise ArgumentTypeError(
            f"{name}: {what} is {value!r}, which holds no tensor; numbers in the fields of an object belong to its form: make "
            "those tensors that are to be differentiated."
        )
    return leaves, rebuild


def _own(name: str, leaf: object, what: str) -> Tensor:
    x = tensor(name, leaf, what)
    if not x.dtype.is_differentiable:
        raise DTypeError(
            f"{name}: {what} has dtype {x.dtype.name}, which has no derivatives; pass it as float (3.0 instead of 3), or choose "
            "other arguments with argnums."
        )
    own: Tensor = bind(IDENTITY, x)
    return own


def tensor(name: str, leaf: object, what: str) -> Tensor:
    """A leaf as a tensor. Raises: ArgumentTypeError: it cannot become one."""
    try:
        found: Tensor = lift(leaf)
        return found
    except GraphadError as cause:
        raise ArgumentTypeError(
            f"{name}: {what} is or holds {leaf!r} of type {type(leaf).__name__}, which is not a tensor; nests of tensors, arrays "
            "and numbers can be differentiated."
        ) from cause


def outputs(name: str, value: NestLike) -> tuple[list[Tensor], Rebuild]:
    """The results of a function as flat tensors, and a function that rebuilds their structure."""
    leaves, rebuild = flatten_present(value)
    return [tensor(name, y, "the function's result") for y in leaves], rebuild


def scalar(name: str, value: NestLike) -> Tensor:
    """The result of a function, which must be a scalar. Raises: InvalidArgumentError: it is not."""
    leaves, _ = flatten_present(value)
    if len(leaves) != 1:
        raise InvalidArgumentError(
            f"{name}: the function returned {len(leaves)} tensors; it has to return one scalar (with has_aux=True: a scalar and "
            "whatever else)."
        )
    y = tensor(name, leaves[0], "the function's result")
    if y.dims is not None and y.dims != ():
        raise InvalidArgumentError(
            f"{name}: the function returned a tensor of shape {format_dims(y.dims)}; only a scalar has a gradient: sum it, or "
            "use jacrev for all of its derivatives."
        )
    if not y.dtype.is_differentiable:
        raise DTypeError(
            f"{name}: the function returned {y.dtype.name}, which has no derivatives; return a float."
        )
    return y


def require_complex(name: str, ys: Sequence[Tensor]) -> None:
    """Raises: DTypeError: a result of a function that is called holomorphic is not complex."""
    for y in ys:
        if not y.dtype.is_complex:
            raise DTypeError(
                f"{name}: the function returned {y.dtype.name}; with holomorphic=True it returns complex numbers: leave "
                "holomorphic out for a real result."
            )


def split_aux(name: str, value: NestLike) -> tuple[Any, Any]:
    """(result, auxiliary) of a function called with `has_aux`. Raises: InvalidArgumentError: it is not a pair."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise InvalidArgumentError(
            f"{name}: with has_aux=True the function returns a pair (result, auxiliary), not {type(value).__name__}."
        )
    result, auxiliary = value
    return result, auxiliary
