"""What is known of a matrix without its elements: shape, dtype, and hints of what holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from graphad.core.convert import lift
from graphad.core.dimension import Dimension
from graphad.core.dtypes import DType, as_dtype, int32
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError, UndefinedResultError
from graphad.core.shapes import RawSize, TensorShape, broadcast_dims, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.linalg.held import MadeOf

if TYPE_CHECKING:
    from graphad.core.annotations import ShapeLike
    from graphad.ops.linalg.operators import LinearOperator


def settled(own: str, hint: str, given: bool | None, value: bool, why: str) -> bool:
    """The value of a hint that holds whatever was given. Raises: InvalidArgumentError: the opposite was given."""
    if given is not None and bool(given) is not value:
        raise InvalidArgumentError(f"{own}: {hint} is {given}; {why}.")
    return value


def implied(own: str, hint: str, given: bool | None, holds: bool | None, why: str) -> bool | None:
    """A hint that is True where `holds`, else what was given. Raises: InvalidArgumentError: it holds, and False was given."""
    return settled(own, hint, given, True, why) if holds else given


class Shaped(MadeOf):
    """Base class of `LinearOperator`: shape, dtype, hints."""

    def __init__(
        self,
        dtype: DType | str,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        own = type(self).__name__
        self.dtype: DType = as_dtype(dtype)
        if is_positive_definite:
            is_non_singular = settled(
                own, "is_non_singular", is_non_singular, True, "a positive definite matrix is not singular"
            )
        if is_non_singular:
            is_square = settled(own, "is_square", is_square, True, "a matrix that is not singular is square")
        if is_self_adjoint:
            is_square = settled(own, "is_square", is_square, True, "a self-adjoint matrix is square")
        self.is_non_singular = is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite
        self._is_square = is_square
        self.name = name or own
        self._parameters = parameters

    # -- shapes ------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> TensorShape:
        """[..., m, n], as far as it is known."""
        return TensorShape(self._shape())

    def _shape(self) -> ShapeLike:
        raise NotImplementedError(f"{type(self).__name__}: define `_shape`, which gives [..., m, n].")

    @property
    def dims(self) -> tuple[Any, ...]:
        """The raw shape; a rank is always known."""
        return tuple(self.shape.as_list())

    @property
    def is_square(self) -> bool | None:
        """Whether m is n, None where that is not known. Raises: InvalidArgumentError: it is, and the hint says that it is not."""
        m, n = self.dims[-2:]
        if m is None or n is None:
            return self._is_square
        if m == n:
            settled(type(self).__name__, "is_square", self._is_square, True, f"it has {m} rows and columns")
        return m == n  # type: ignore[no-any-return]

    @property
    def batch_shape(self) -> TensorShape:
        return TensorShape(self.dims[:-2])

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, n."""
        return Dimension(self.dims[-1])

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, m."""
        return Dimension(self.dims[-2])

    @property
    def tensor_rank(self) -> int:
        return len(self.dims)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as int32."""
        return lift(list(self.dims), int32) if None not in self.dims else self._shape_tensor()

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(
            f"{type(self).__name__}: define `_shape_tensor`, which gives the sizes at run time."
        )

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        return self.shape_tensor()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        return lift(self.tensor_rank, int32)

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise UndefinedResultError(
                f"{type(self).__name__}.{what}: the shape is {format_dims(self.dims)}; a square matrix is needed."
            )

    def _hints(self) -> dict[str, Any]:
        """What is known of it, as arguments of an operator of which the same holds."""
        return {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
            "is_square": self.is_square,
        }

    def __repr__(self) -> str:
        if "dtype" not in vars(self):  # marks take the place of tensors
            return f"{type(self).__name__}({', '.join(map(repr, self.parameters.values()))})"
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype.name}>"


def common_stack(name: str, operators: list[LinearOperator]) -> tuple[RawSize, ...]:
    """The shape to which the batch shapes of several operators broadcast."""
    return broadcast_dims(name, *[op.dims[:-2] for op in operators]) or ()


def all_or_unknown(values: list[bool | None]) -> bool | None:
    """True if all are True, else None (unknown)."""
    return True if all(values) else None


def all_or_none(values: list[bool | None]) -> bool | None:
    """What holds of a product: False if one of the values is False, True if all are True, else None (unknown)."""
    return False if any(x is False for x in values) else all_or_unknown(values)


def hints_of_all(
    own: str, what: str, operators: list[LinearOperator], given: dict[str, bool | None]
) -> dict[str, Any]:
    """The hints of what is made of operators and has what all of them have.

    Args: what: How it is called in a message. given: The hints that were given.
    Raises: InvalidArgumentError: a hint is False that is implied.
    """
    return {
        hint: implied(
            own, hint, value, all_or_unknown([getattr(op, hint) for op in operators]), f"it is so for {what}"
        )
        for hint, value in given.items()
    }


def hints_of_product(left: LinearOperator, right: LinearOperator, commute: bool = False) -> dict[str, Any]:
    """The hints of the product of two square operators. `commute`: whether they do."""
    pair = [left, right]
    known: dict[str, Any] = {
        "is_non_singular": all_or_none([op.is_non_singular for op in pair]),
        "is_square": True,
    }
    if commute:
        known["is_self_adjoint"] = all_or_unknown([op.is_self_adjoint for op in pair])
        known["is_positive_definite"] = all_or_unknown(
            [op.is_self_adjoint and op.is_positive_definite for op in pair]
        )
    return known


def require_operator(own: str, operator: object) -> None:
    """Raises: ArgumentTypeError: it is no operator."""
    if not hasattr(operator, "_hints"):
        raise ArgumentTypeError(f"{own}: operator is a {type(operator).__name__}; give a LinearOperator.")


def same_hints(
    own: str, operator: LinearOperator, given: tuple[bool | None, bool | None, bool | None, bool | None]
) -> tuple[bool | None, bool | None, bool | None, bool | None]:
    """The hints of an adjoint or an inverse, for which the same holds as for the operator."""
    require_operator(own, operator)
    found = []
    for (hint, known), value in zip(operator._hints().items(), given, strict=True):
        if known is None:
            found.append(value)
        else:
            found.append(settled(own, hint, value, known, f"it is {known} for the operator"))
    return found[0], found[1], found[2], found[3]


def sequence_of(name: str, operators: object) -> list[LinearOperator]:
    """The operators of a composed one. Raises: InvalidArgumentError: there are none; DTypeError: their
    dtypes differ."""
    found = list(operators) if isinstance(operators, Sequence) else []
    if not found or not all(isinstance(x, Shaped) for x in found):
        raise InvalidArgumentError(
            f"{name}: operators is {operators!r}; a list of operators is needed, at least one."
        )
    _require_same_dtype(name, found)
    return found


def _require_same_dtype(name: str, operators: list[LinearOperator]) -> None:
    dtypes = {x.dtype for x in operators}
    if len(dtypes) > 1:
        raise DTypeError(
            f"{name}: operators have dtypes {', '.join(sorted(x.name for x in dtypes))}; all must have the same."
        )


def require_fit(name: str, operators: list[LinearOperator]) -> None:
    """Raise if the product of the operators does not exist."""
    _require_same_dtype(name, operators)
    for left, right in pairwise(operators):
        if None not in (left.dims[-1], right.dims[-2]) and left.dims[-1] != right.dims[-2]:
            raise InvalidArgumentError(
                f"{name}: an operator with shape {format_dims(left.dims)} stands before one with shape "
                f"{format_dims(right.dims)}; the inner sizes must be equal."
            )
