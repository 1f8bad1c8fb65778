"""`debugging.assert_*` and `check_numerics`: checks that run with the program, eagerly or in a traced function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    DTypeLike,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType, as_dtype, float32
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.kinds import FLOATING, require_dtype, require_kind_of
from graphad.core.op import IO, Op, define, no_form
from graphad.core.refusal import members, refuse
from graphad.core.schema import Text
from graphad.core.shapes import format_dims
from graphad.core.sparse import Sparse, values_of
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.join import stack
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.shape import rank as rank_of
from graphad.ops.array.sizes import known_value
from graphad.ops.math.arithmetic import abs
from graphad.ops.math.compare import equal, greater, greater_equal, is_finite, less, less_equal, not_equal
from graphad.ops.math.reduce import reduce_all, reduce_any
from graphad.ops.rules import INEXACT, require_kind
from graphad.ops.state.effects import SLOT, require


def _lead(message: object) -> str:
    """What an error begins with: the user's message, any object as TensorFlow takes it, in which no tensor is shown."""
    text = "" if message is None else str(message).replace(SLOT, "\\x00")
    return text and f"{text} "


@define
class CheckNumerics(Op):
    """x; an error with `message` if an element is infinite or NaN."""

    name = "check_numerics"
    effects = IO
    keeps = (False, False)
    message: Text
    lower = no_form(
        "the error says whether it found NaN or infinity, and kernels only tell that a check failed"
    )

    def infer(self, x: TensorSpec) -> TensorSpec:
        return require_kind("check_numerics", x, INEXACT)

    def eval(self, x: Array) -> Array:
        if not np.isfinite(x).all():
            found = [word for word, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(x).any()]
            raise InvalidArgumentError(f"{self.message} : Tensor had {' and '.join(found)} values")
        return x

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (
            bind(
                CheckNumerics(
                    f"Not a number (NaN) or infinity (Inf) values detected in gradient. {self.message}"
                ),
                g,
            ),
        )

    def jvp(self, ctx: VjpContext, x_dots: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        # The transpose of the rule above would check zeros too, an effect that no result reads.
        check = CheckNumerics(
            f"Not a number (NaN) or infinity (Inf) values detected in tangent. {self.message}"
        )
        return [None if dot is None else bind(check, dot) for dot in x_dots]

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tensor`, whose elements must all be finite; so must those of its gradient.

    Args:
      tensor: Float or complex tensor.
      message: What the error begins with.
    Returns: `tensor`, of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): there is a NaN or an infinity.
    """
    return bind(CheckNumerics(str(message)), lift(tensor))


def _comparison(name: str, symbol: str, compare: Callable[..., Any]) -> Callable[..., None]:
    def check(
        x: TensorLike,
        y: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None:
        a, b = lift_pair(check.__name__, x, y)
        text = f"{_lead(message)}Condition x {symbol} y did not hold element-wise:\n"
        require(reduce_all(compare(a, b)), f"{text}x = {SLOT}\ny = {SLOT}", [a, b], summarize, symbol)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless x {symbol} y for every element; x and y broadcast together.

    Args:
      x, y: Tensors of one dtype.
      message: What the error begins with.
      summarize: How many elements of each to show at either end of an axis; 3 by default.
    Raises: InvalidArgumentError (a ValueError): it does not hold, at run time.
    """
    return check


assert_equal = _comparison("assert_equal", "==", equal)
_assert_none_equal = _comparison("assert_none_equal", "!=", not_equal)
assert_less = _comparison("assert_less", "<", less)
assert_less_equal = _comparison("assert_less_equal", "<=", less_equal)
assert_greater = _comparison("assert_greater", ">", greater)
assert_greater_equal = _comparison("assert_greater_equal", ">=", greater_equal)


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless x != y for every element; as `assert_equal`, with the arguments in another order.

    Args:
      x, y: Tensors of one dtype that broadcast together.
      summarize: How many elements the error shows.
      message: What the error begins with.
    Raises: InvalidArgumentError (a ValueError): it does not hold; at once where that is known, else at run time.
    """
    _assert_none_equal(x, y, message, summarize)


def _sign(name: str, symbol: str, compare: Callable[..., Any]) -> Callable[..., None]:
    def check(
        x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        a = lift(x)
        text = f"{_lead(message)}Condition x {symbol} 0 did not hold element-wise:\n"
        require(reduce_all(compare(a, 0)), f"{text}x = {SLOT}", [a], summarize, symbol)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise unless x {symbol} 0 for every element, at run time.

Args:
  x: Tensor of any shape, a real dtype.
  message: What the error begins with.
  summarize: How many elements the message shows; 3 by default.
Raises: InvalidArgumentError (a ValueError): it does not hold for an element.
"""
    return check


assert_positive = _sign("assert_positive", ">", greater)
assert_negative = _sign("assert_negative", "<", less)
assert_non_negative = _sign("assert_non_negative", ">=", greater_equal)
assert_non_positive = _sign("assert_non_positive", "<=", less_equal)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless |x - y| <= atol + rtol * |y| for every element.

    Args:
      x, y: Float or complex tensors of one dtype that broadcast together.
      rtol, atol: By default 10 times the machine epsilon of the dtype.
      message: What the error begins with.
      summarize: How many elements the error shows.
    Raises: InvalidArgumentError (a ValueError): it does not hold, at run time.
    """
    a, b = lift_pair("assert_near", x, y)
    require_kind("assert_near", a, INEXACT)
    require_kind("assert_near", b, INEXACT, "y")
    near, real = 10 * float(a.dtype.info.eps), b.dtype.real_dtype
    relative = lift(near if rtol is None else rtol, None if isinstance(rtol, Tensor) else real)
    absolute = lift(near if atol is None else atol, None if isinstance(atol, Tensor) else real)
    holds = less_equal(abs(a - b), absolute + relative * abs(b))
    lead = _lead(message)
    text = f"{lead}x and y not equal to tolerance rtol = {SLOT}, atol = {SLOT}\nx = {SLOT}\ny = {SLOT}"
    require(reduce_all(holds), text, [relative, absolute, a, b], summarize)


def assert_all_finite(x: TensorLike, message: str | None = None, name: str | None = None) -> Tensor:
    """`x`, whose elements must all be finite.

    Args:
      x: Tensor of any shape, a float or complex dtype.
      message: What the error begins with.
    Returns: `x`.
    Raises: InvalidArgumentError (a ValueError): it does not hold; at once where that is known, else at run time.
    """
    a = lift(x)
    require(
        reduce_all(is_finite(a)),
        f"{_lead(message)}x has elements that are not finite: {SLOT}",
        [a],
    )
    return a


def assert_rank(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise unless x has the given rank; at once where it is known, else at run time.

    Args:
      x: Tensor of any dtype.
      rank: An integer scalar.
      message: What the error begins with.
    Raises: InvalidArgumentError (a ValueError): the rank is another one.
    """
    _check_rank("assert_rank", x, rank, message, equal, "equal to", lambda a, b: a == b)


def assert_rank_at_least(
    x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless x has at least the given rank.

    Args:
      x: Tensor of any dtype.
      rank: An integer scalar.
      message: What the error begins with.
    Raises: InvalidArgumentError (a ValueError): the rank is lower.
    """
    _check_rank("assert_rank_at_least", x, rank, message, greater_equal, "at least", lambda a, b: a >= b)


def assert_rank_in(
    x: TensorLike, ranks: Sequence[TensorLike], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless the rank of x is one of some; at once where it is known, else at run time.

    Args:
      x: Tensor of any dtype.
      ranks: Integer scalars.
      message: What the error begins with.
    Raises: InvalidArgumentError (a ValueError): it is none of them.
    """
    wanted = [lift(rank) for rank in members("assert_rank_in", "ranks", ranks, "give a list of integers")]
    for rank in wanted:
        _check_number("assert_rank_in", rank)
    a, known = lift(x), [known_value(rank) for rank in wanted]
    lead = _lead(message)
    if a.dims is not None and not any(rank is None for rank in known):
        allowed = [int(rank) for rank in known]
        if len(a.dims) not in allowed:
            raise InvalidArgumentError(
                f"assert_rank_in: {lead}x has shape {format_dims(a.dims)} of rank {len(a.dims)}; it must be one of {allowed}."
            )
        return
    found, numbers = rank_of(a), stack(wanted)
    require(
        reduce_any(equal(found, numbers)),
        f"assert_rank_in: {lead}x has rank {SLOT}; it must be one of {SLOT}.",
        [found, numbers],
    )


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """The common float dtype of tensors, ignoring None; float32 for none.

    Args:
      tensors: Tensors, or None among them.
      dtype: The dtype that they must have.
    Returns: The dtype.
    Raises: DTypeError (a TypeError and a ValueError): they differ, or their dtype is not a float one.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    listed = [] if tensors is None else tensors
    for k, tensor in enumerate(
        members("assert_same_float_dtype", "tensors", listed, "give a list of tensors")
    ):
        if tensor is None:
            continue
        x = lift(values_of(tensor))
        if wanted is not None:
            require_dtype("assert_same_float_dtype", x, (wanted,), f"tensors[{k}]")
        wanted = x.dtype
    wanted = float32 if wanted is None else wanted
    return require_kind_of("assert_same_float_dtype", wanted, FLOATING, "the dtype")


def assert_proper_iterable(values: object) -> None:
    """Raise unless `values` is iterable and not a single value such as a tensor, an array or a string.

    Args:
      values: A list, tuple or other iterable; no tensor, array or text.
    Raises: ArgumentTypeError (a TypeError): it is not.
    """
    if isinstance(values, Tensor | np.ndarray | str | bytes | IndexedSlices):
        raise ArgumentTypeError(
            f"assert_proper_iterable: values is a {type(values).__name__}, a single value; give a list or a tuple."
        )
    if not hasattr(values, "__iter__"):
        raise ArgumentTypeError(
            f"assert_proper_iterable: values is a {type(values).__name__}, which is not iterable; give a list or a tuple."
        )


def _check_number(op: str, rank: Tensor) -> None:
    if rank.dims or not rank.dtype.is_integer:
        raise ArgumentTypeError(
            f"{op}: rank must be an integer, got {rank.dtype.name} of shape {format_dims(rank.dims)}."
        )


def _check_rank(
    op: str,
    x: object,
    rank: TensorLike,
    message: str | None,
    compare: Callable[..., Any],
    words: str,
    holds: Callable[[int, int], bool],
) -> None:
    a, wanted = lift(x), lift(rank)
    _check_number(op, wanted)
    known = known_value(wanted)
    lead = _lead(message)
    if a.dims is not None and known is not None:
        if not holds(len(a.dims), int(known)):
            raise InvalidArgumentError(
                f"{op}: {lead}x has shape {format_dims(a.dims)} of rank {len(a.dims)}; it must be {words} {int(known)}."
            )
        return
    found = rank_of(a)
    require(
        compare(found, wanted), f"{op}: {lead}x has rank {SLOT}; it must be {words} {SLOT}.", [found, wanted]
    )


def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> Tensor:
    """`tensor`, which must be a scalar.

    Args:
      tensor: Tensor of any dtype.
      message: What the error begins with.
    Returns: `tensor`.
    Raises: InvalidArgumentError (a ValueError): it has axes.
    """
    x = lift(tensor)
    if x.dims:
        raise InvalidArgumentError(
            f"{_lead(message)}Expected scalar shape, saw shape: {format_dims(x.dims)}."
        )
    return bind(IDENTITY, x)


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless `tensor` has the dtype `tf_type`.

    Args:
      tensor: Tensor of any shape.
      tf_type: The dtype.
      message: What the error begins with.
    Raises: DTypeError (a TypeError): another dtype.
    """
    x, wanted = lift(values_of(tensor)), as_dtype(tf_type)
    if x.dtype is not wanted:
        raise DTypeError(f"{_lead(message)}tensor must be of type {wanted.name}; got {x.dtype.name}.")


def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless tensors have the shapes given for them.

    Args:
      shapes: Pairs (tensor of any dtype, dense or sparse, and shape), or a dict by `tensor.ref()`; a shape holds numbers, names
        (equal names are equal sizes), and None or "." for any size. `...` or "*" as its first entry stands for any number of
        axes. A scalar is as good as a vector of size 1. A string such as "*N3" has one symbol in each character.
      data: What the message shows; none is shown.
      summarize: Is taken as TensorFlow takes it.
      message: What the error begins with.
    Raises: InvalidArgumentError (a ValueError): a shape is another one, or unknown while tracing.
    Example:
      >>> debugging.assert_shapes([(ones([2, 3]), ["n", 3]), (ones([2]), ["n"])])
    """
    words = "give pairs (tensor, shape), or a dict"
    pairs = members("assert_shapes", "shapes", shapes.items() if isinstance(shapes, dict) else shapes, words)
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            refuse(TypeError(), "assert_shapes", "one of shapes", pair, words)
    sizes: dict[str, Any] = {}
    lead = _lead(message)
    for tensor, wanted in pairs:
        x = tensor.deref() if hasattr(tensor, "deref") else tensor
        dims = x.dims if isinstance(x, Sparse) else lift(x).dims
        symbols = tuple(map(_size_of, wanted)) if isinstance(wanted, Iterable) else (wanted,)
        sized: Any = dims or (1,)  # a scalar is a vector of size 1
        if any(symbol is ... or symbol == "*" for symbol in symbols[1:]):
            raise InvalidArgumentError(
                f"{lead}assert_shapes: {symbols} is expected; `...` or '*', any number of axes, may only come first."
            )
        if symbols[:1] in ((...,), ("*",)):
            given = symbols[1:]
            fits = dims is not None and len(sized) >= len(given)
            sized = sized[len(sized) - len(given) :]
        else:
            given = symbols or (1,)
            fits = dims is not None and len(sized) == len(given)
        for symbol, size in zip(given, sized, strict=False):
            symbol = None if symbol == "." else symbol
            if isinstance(symbol, str) and size is not None:
                symbol = sizes.setdefault(symbol, size)
            fits = fits and (size is None or symbol is None or isinstance(symbol, str) or symbol == size)
        if not fits:
            known = f", where earlier tensors gave {sizes}" if sizes else ""
            raise InvalidArgumentError(
                f"{lead}assert_shapes: a tensor has shape {format_dims(dims)}; {symbols} is expected{known}."
            )


def _size_of(symbol: Any) -> Any:
    """A symbol of a shape; digits are a size, so that "*N3" is a shape."""
    return int(symbol) if isinstance(symbol, str) and symbol.isdecimal() else symbol


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Whether `tensor` is a tensor of numbers.

    Args:
      tensor: A tensor of any shape and dtype, or anything else.
    Returns: True or False.
    Raises: Nothing.
    """
    return isinstance(tensor, Tensor) and not tensor.dtype.is_bool


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise unless x has an integer dtype.

    Args:
      x: Tensor of any shape.
      message: What the error begins with.
    Raises: ArgumentTypeError (a TypeError): another dtype.
    """
    a = lift(x)
    if not a.dtype.is_integer:
        raise ArgumentTypeError(f"{_lead(message)}Expected 'x' to be integer type.  Found: {a.dtype.name}")
