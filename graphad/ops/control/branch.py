"""`cond`, `case` and `switch_case`: Python functions of which one runs, chosen by the value of a tensor.

A predicate with a value now (eager, or known while tracing) just calls its function. Otherwise both functions are traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, StructureError
from graphad.core.escapes import Deciding
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.refusal import members
from graphad.core.tensor import Tensor
from graphad.ops.array.join import stack
from graphad.ops.array.sizes import known_value
from graphad.ops.control.cond import BOTH, Cond
from graphad.ops.control.parts import Nest, Part, common, completed, lacks, same_structure, spec_of
from graphad.ops.control.predicates import as_predicate, at_hand
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import logical_and
from graphad.ops.math.reduce import reduce_any
from graphad.ops.math.select import where
from graphad.ops.state.effects import require

R = TypeVar("R")


def cond(
    pred: TensorLike,
    true_fn: Callable[[], R] | None = None,
    false_fn: Callable[[], R] | None = None,
    name: str | None = None,
) -> R:
    """The result of `true_fn()` if `pred` holds, else that of `false_fn()`.

    Args:
      pred: A scalar; a number counts as true unless it is 0.
      true_fn, false_fn: Functions of no arguments. While tracing, or in a vectorized function, both are traced, and must return
        the same structure of tensors with the same dtypes; None stands for no value.
    Returns: A nest like that of the functions' results.
    Raises:
      ArgumentTypeError (a TypeError): a function is not callable.
      StructureError (a TypeError and a ValueError): the structures of the results differ.
      DTypeError (a TypeError): the dtypes of the results differ.
    Example:
      >>> cond(constant(3) > 2, lambda: constant(1.0), lambda: constant(2.0)).numpy()
      np.float32(1.0)
    """
    for argument, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(fn):
            raise ArgumentTypeError(f"cond: {argument} must be callable, got {fn!r}.")
    result: R = conditional(pred, true_fn, false_fn)  # type: ignore[arg-type]
    return result


def conditional(
    predicate: Tensor,
    then_fn: Callable[[], Any],
    else_fn: Callable[[], Any],
    names: Sequence[str] | None = None,
) -> Any:
    """`cond`; with `names` the functions return one value for each name, and messages speak of these."""
    test = as_predicate("cond", predicate)
    known = known_value(test)
    if known is not None:
        return then_fn() if known else else_fn()
    found: dict[str, Any] = {}
    nests: dict[str, Nest] = {}

    def traced(function: Callable[[], Any], side: str, like: object) -> Part:
        def run() -> list[Any]:
            found[side] = completed(function(), like)
            nests[side] = Nest(found[side])  # here, because it may split values of the branch
            return nests[side].tensors()

        return Part("cond", run, (), side)

    with Deciding():
        then_part = traced(then_fn, "then", None)
        else_part = traced(else_fn, "else", found["then"])
        if lacks(found["then"], found["else"]):
            then_part = traced(then_fn, "then", found["else"])
        then_nest, else_nest = nests["then"], nests["else"]
        _check_same(then_nest, else_nest, then_part, else_part, names)
    return then_nest.build(bind_cond(test, then_part, else_part))


def bind_cond(test: Tensor, then_part: Part, else_part: Part) -> tuple[Tensor, ...]:
    """Bind a `cond` of two traced functions whose outputs correspond one by one."""
    outer = common((then_part, else_part))
    specs = [spec_of(x) for x in outer]
    place = {id(x): k for k, x in enumerate(outer)}
    then_graph, else_graph = then_part.with_inputs(specs, (), place), else_part.with_inputs(specs, (), place)
    op = Cond(then_graph, else_graph, (BOTH,) * len(then_graph.outputs))
    return bind(op, test, *outer)


def _check_same(
    then_nest: Nest, else_nest: Nest, then_part: Part, else_part: Part, names: Sequence[str] | None
) -> None:
    if names is not None:
        for k, name in enumerate(names):
            a, b = then_nest.shape[k], else_nest.shape[k]
            for mine, side in ((a, "main"), (b, "else")):
                if mine is None and (a is not None or b is not None):
                    raise InvalidArgumentError(f"'{name}' is None at the end of the {side} branch.")
            if not same_structure(a, b):
                raise ArgumentTypeError(
                    f"'{name}' must have the same nested structure in the main and else branches."
                )
    elif not same_structure(then_nest.shape, else_nest.shape):
        raise StructureError(
            "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of return "
            f"values.\n\ntrue_fn output: {then_nest}\nfalse_fn output: {else_nest}"
        )
    places = [k for k, leaf in enumerate(then_nest.leaves) if not then_nest.is_fixed(leaf)]
    specs = zip(then_part.graph.output_specs, else_part.graph.output_specs, strict=True)
    for k, (a, b) in zip(places, specs, strict=True):
        if a.dtype is b.dtype:
            continue
        if names is not None:
            label = _label(then_nest, names, k)
            raise DTypeError(
                f"'{label}' has dtype {a.dtype.name} in the main branch, but dtype {b.dtype.name} in the else branch."
            )
        raise DTypeError(
            "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of return "
            f"values: result {k} has dtype {a.dtype.name} from true_fn and {b.dtype.name} from false_fn."
        )


def _label(nest: Nest, names: Sequence[str], leaf: int) -> str:
    """The name to which a leaf belongs."""
    for name, part in zip(names, nest.shape, strict=True):
        if leaf in Nest(part).leaves:
            return name
    return names[0]


def case(
    pred_fn_pairs: Sequence[tuple[TensorLike, Callable[[], R]]],
    default: Callable[[], R] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> R:
    """The result of the first function whose predicate holds.

    Args:
      pred_fn_pairs: Pairs (predicate, function of no arguments); a predicate is a scalar [] of dtype bool.
      default: Called when none holds; without it one must hold.
      exclusive: Raise if more than one predicate holds.
      strict: Accepted for compatibility.
    Returns: The result of the function chosen; while tracing all must return the same structure.
    Raises: InvalidArgumentError (a ValueError): no predicate holds and there is no `default`; `exclusive`, and more than
      one holds. In a traced function at run time.
    """
    pairs = members("case", "pred_fn_pairs", pred_fn_pairs, "give a list of pairs (predicate, function)")
    if not pairs:
        raise InvalidArgumentError(
            "case: pred_fn_pairs is empty; give at least one pair (predicate, function)."
        )
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not callable(pair[1]):
            raise ArgumentTypeError(
                f"case: each of pred_fn_pairs must be a pair (predicate, function), got {pair!r}."
            )
    predicates = [as_predicate("case", pair[0]) for pair in pairs]
    if exclusive:
        _check_exclusive(predicates)
    rest = list(zip(predicates, [pair[1] for pair in pairs], strict=True))
    otherwise = _last(*rest.pop()) if default is None else default
    undecided: list[tuple[Tensor, Callable[[], R]]] = []
    for predicate, function in rest:
        known = known_value(predicate)
        if known:
            otherwise = function
            break
        if known is None:
            undecided.append((predicate, function))
    result: R = _first_that_holds(undecided, otherwise)()
    return result


def _first_that_holds(
    pairs: Sequence[tuple[Tensor, Callable[[], R]]], otherwise: Callable[[], R]
) -> Callable[[], R]:
    """The function of the first predicate that holds, else `otherwise`: by halves where there are many, as in `_halves`."""
    if len(pairs) > _CHAIN:
        half = len(pairs) // 2
        left = pairs[:half]
        is_left = reduce_any(stack([predicate for predicate, _ in left]))
        return _either(
            is_left, _first_that_holds(left[:-1], left[-1][1]), _first_that_holds(pairs[half:], otherwise)
        )
    result = otherwise
    for predicate, function in reversed(pairs):
        result = _either(predicate, function, result)
    return result


def _either(
    predicate: Tensor, function: Callable[[], Any], otherwise: Callable[[], Any]
) -> Callable[[], Any]:
    return lambda: conditional(predicate, function, otherwise)


def _last(predicate: Any, function: Callable[[], Any]) -> Callable[[], Any]:
    """The last function of a `case` without default: its predicate must hold."""

    def checked() -> Any:
        require(predicate, "case: none of the predicates holds, and there is no default; give one.", ())
        return function()

    return checked


def _check_exclusive(predicates: Sequence[Any]) -> None:
    holding = cast(predicates[0], dtypes.int32)
    for predicate in predicates[1:]:
        holding = holding + cast(predicate, dtypes.int32)
    message = f"case: exclusive=True, but of the {len(predicates)} predicates \x00 hold; at most one may."
    require(holding <= 1, message, [holding])


def switch_case(
    branch_index: TensorLike,
    branch_fns: Sequence[Callable[[], R]]
    | Mapping[int, Callable[[], R]]
    | Sequence[tuple[int, Callable[[], R]]],
    default: Callable[[], R] | None = None,
    name: str = "switch_case",
) -> R:
    """The result of branch_fns[branch_index]().

    Args:
      branch_index: An integer scalar.
      branch_fns: Functions of no arguments: a list, a dict by integer, or a list of pairs (integer, function); the integers are
        those from 0, each once.
      default: Called for an index without a function; by default the function with the largest index is.
    Returns: What the function returns: a nest of tensors.
    Raises: ArgumentTypeError (a TypeError): something else than functions; InvalidArgumentError (a ValueError): none at all,
      their results differ in structure, or the index is not a scalar.
    Example:
      >>> switch_case(constant(1), [lambda: constant(10), lambda: constant(20)]).numpy()
      np.int32(20)
    """
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = members(
            "switch_case", "branch_fns", branch_fns, "give a list of functions, or a dict of them"
        )
        if not all(isinstance(item, list | tuple) and len(item) == 2 for item in pairs):
            pairs = list(enumerate(pairs))
    if not all(isinstance(key, int) for key, _ in pairs):
        raise ArgumentTypeError(
            f"switch_case: the keys of branch_fns must be integers, got {[key for key, _ in pairs]}."
        )
    table = dict(pairs)
    if not table:
        raise InvalidArgumentError("switch_case: branch_fns is empty; give at least one function.")
    for key, fn in table.items():
        if not callable(fn):
            raise ArgumentTypeError(
                f"switch_case: branch_fns must hold functions of no arguments, got {fn!r} for {key}; write `lambda: value`."
            )
    if sorted(key for key, _ in pairs) != list(range(len(pairs))):
        raise InvalidArgumentError(
            f"switch_case: branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{sorted(key for key, _ in pairs)}; give one function for each index, and `default` for the others."
        )
    index = require_kind("switch_case", at_hand(lift(branch_index)), INTEGER, "branch_index")
    otherwise: Callable[[], R] = table[max(table)] if default is None else default
    if index.dims:
        raise InvalidArgumentError(f"switch_case: branch_index has shape {index.dims}; a scalar is needed.")
    if index.has_value:
        chosen: Callable[[], R] = table.get(int(index), otherwise)
        return chosen()
    others: list[tuple[int, Callable[[], R]]] = [
        (key, table[key]) for key in sorted(table) if table[key] is not otherwise
    ]
    if len(others) <= _CHAIN:
        return _first_of(index, others, otherwise)()
    ordered: list[tuple[int, Callable[[], R]]] = sorted(table.items())
    if otherwise is not ordered[-1][1]:
        ordered.append((len(ordered), otherwise))
    # Numbers above those of int64 become negative ones, which have no function either.
    wide = cast(index, dtypes.int64)
    place = where(logical_and(wide >= 0, wide < len(table)), wide, ordered[-1][0])
    return _halves(place, ordered)()


_CHAIN = 8  # branches that are compared one after the other


def _first_of(
    index: Tensor, pairs: Sequence[tuple[int, Callable[[], R]]], otherwise: Callable[[], R]
) -> Callable[[], R]:
    """The function of the index, or `otherwise`: one branch within the other."""
    return _first_that_holds([(index == key, function) for key, function in pairs], otherwise)


def _halves(place: Tensor, pairs: Sequence[tuple[int, Callable[[], R]]]) -> Callable[[], R]:
    """The function of a number that certainly has one. Many branches within each other would be more calls than Python
    allows: halves are as deep as the logarithm of their number."""
    if len(pairs) <= _CHAIN:
        return _first_of(place, pairs[:-1], pairs[-1][1])
    half = len(pairs) // 2
    return _either(place < pairs[half][0], _halves(place, pairs[:half]), _halves(place, pairs[half:]))
