"""Operators composed of operators: diagonals and triangles of blocks, Kronecker products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from graphad.core.convert import lift_like
from graphad.core.errors import InvalidArgumentError, UnconvertibleError
from graphad.core.shapes import TensorShape, broadcast_dims, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.slice import getitem
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.array.transpose import transpose
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.operators import LinearOperator, product_of
from graphad.ops.linalg.shaped import common_stack, hints_of_all, hints_of_product, sequence_of, settled
from graphad.ops.linalg.structured import LinearOperatorFullMatrix

if TYPE_CHECKING:
    from collections.abc import Callable


def _alike(name: str, parts: list[Any], own: int) -> list[Tensor]:
    """Tensors broadcast to a common shape but for their last `own` axes, whose sizes are known."""
    lead: Any = broadcast_dims(name, *[part.dims[:-own] for part in parts]) or ()
    if None not in lead:
        return [broadcast_to(part, [*lead, *part.dims[-own:]]) for part in parts]
    lead = reduce(broadcast_dynamic_shape, [shape_of(part)[:-own] for part in parts])
    return [broadcast_to(part, concat([lead, part.dims[-own:]], 0)) for part in parts]


class _Blockwise(LinearOperator):
    """What operators of blocks share. A subclass has `diagonal`, the operators whose sizes the blocks have, and computes with
    a list of blocks; an argument may be such a list, and so is the result then, or one matrix or vector, which is split.
    """

    diagonal: list[LinearOperator]

    def _products(self, parts: list[Any], adjoint: bool) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__}._products")

    def _solutions(self, parts: list[Any], adjoint: bool) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__}._solutions")

    def _require_sizes(self, operators: list[LinearOperator]) -> None:
        if any(None in op.dims[-2:] for op in operators):
            raise InvalidArgumentError(f"{type(self).__name__}: the sizes of all operators must be known.")

    def _split(self, x: Any, sizes: list[int]) -> list[Any]:
        """The rows of x by block."""
        ends = list(accumulate(sizes))
        return [
            getitem(x, (..., slice(end - size, end), slice(None)))
            for end, size in zip(ends, sizes, strict=True)
        ]

    def _joined(self, parts: list[Any]) -> Tensor:
        """One matrix of the rows of all blocks."""
        return concat(_alike(self.name, parts, 2), -2)

    def _sizes(self, axis: int) -> list[int]:
        return [op.dims[axis] for op in self.diagonal]

    def _matmul(self, x: object, adjoint: bool) -> Any:
        return self._joined(self._products(self._split(x, self._sizes(-2 if adjoint else -1)), adjoint))

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._joined(self._solutions(self._split(b, self._sizes(-1 if adjoint else -2)), adjoint))

    def _parts(self, what: str, x: object, sizes: list[int], axis: int, rank: int) -> list[Any] | None:
        """The tensors of a list with one for each block, whose sizes along `axis` are `sizes`; None for anything else."""
        if not isinstance(x, list | tuple) or len(x) != len(self.diagonal):
            return None
        try:
            parts: list[Any] = [lift_like(what, part, self.dtype) for part in x]
        except UnconvertibleError:
            return None
        if any(part.ndim is None or part.ndim < rank for part in parts):
            return None
        given = [part.dims[axis] for part in parts]
        if all(own == size or size is None for own, size in zip(sizes, given, strict=True)):
            return parts
        if len(set(given)) == 1:
            return None  # the rows of one matrix or vector, as a list
        raise InvalidArgumentError(
            f"{type(self).__name__}.{what}: the blocks of the argument have sizes {given}; they must be {sizes}."
        )

    def _of(self, what: str, x: object, adjoint: bool, adjoint_arg: bool) -> list[Any] | None:
        """The results of `matmul` or `solve` for a list of blocks; None where x is no such list."""
        of_products = what == "matmul"
        sizes = self._sizes(-2 if adjoint == of_products else -1)
        parts = self._parts(what, x, sizes, -1 if adjoint_arg else -2, 2)
        if parts is None:
            return None
        parts = [adjoint_of(part) for part in parts] if adjoint_arg else parts
        return (self._products if of_products else self._solutions)(parts, adjoint)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:  # fmt: skip
        """The product with a matrix [..., n, k], or with a list of its blocks, which gives a list; another operator gives a
        composed operator."""
        parts = self._of("matmul", x, adjoint, adjoint_arg)
        return super().matmul(x, adjoint, adjoint_arg) if parts is None else parts

    __matmul__ = matmul

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:  # fmt: skip
        """Solve operator x = rhs for rhs [..., m, k], or for a list of its blocks, which gives a list; another operator as
        rhs gives a composed operator."""
        if self.is_non_singular is False:
            return super().solve(rhs, adjoint, adjoint_arg)
        parts = self._of("solve", rhs, adjoint, adjoint_arg)
        return super().solve(rhs, adjoint, adjoint_arg) if parts is None else parts

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The product with a vector [..., n], or with a list of its blocks, which gives a list."""
        parts = self._parts("matvec", x, self._sizes(-2 if adjoint else -1), -1, 1)
        if parts is None:
            return super().matvec(x, adjoint)
        return [squeeze(y, -1) for y in self._products([expand_dims(part, -1) for part in parts], adjoint)]

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """`solve` for a vector [..., m], or for a list of its blocks, which gives a list."""
        parts = self._parts("solvevec", rhs, self._sizes(-1 if adjoint else -2), -1, 1)
        if parts is None or self.is_non_singular is False:
            return super().solvevec(rhs, adjoint)
        return [squeeze(y, -1) for y in self._solutions([expand_dims(part, -1) for part in parts], adjoint)]

    def diag_part(self, name: str = "diag_part") -> Tensor:
        if not all(op.is_square for op in self.diagonal):
            return super().diag_part()
        return self._side_by_side([op.diag_part() for op in self.diagonal])

    def _eigvals(self) -> Tensor:
        if not all(op.is_square and op.is_self_adjoint for op in self.diagonal):
            return super()._eigvals()
        return self._side_by_side([op.eigvals() for op in self.diagonal])

    def _side_by_side(self, parts: list[Any]) -> Tensor:
        return concat(_alike(self.name, parts, 1), -1)

    def determinant(self, name: str = "det") -> Tensor:
        if not all(op.is_square for op in self.diagonal):
            return super().determinant()
        found: Any = self.diagonal[0].determinant()
        for op in self.diagonal[1:]:
            found = found * op.determinant()
        return found  # type: ignore[no-any-return]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        if not all(op.is_square for op in self.diagonal):
            return super().log_abs_determinant()
        return sum(
            [op.log_abs_determinant() for op in self.diagonal[1:]], self.diagonal[0].log_abs_determinant()
        )


class LinearOperatorBlockDiag(_Blockwise):
    """The block diagonal matrix of operators. Its products take and return one matrix, or a list with one for each block.

    Args:
      operators: A list of operators.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    Example:
      >>> full, ones = linalg.LinearOperatorFullMatrix([[3.0]]), linalg.LinearOperatorDiag([1.0, 2.0])
      >>> blocks = linalg.LinearOperatorBlockDiag([full, ones])
      >>> blocks.matvec([1.0, 2.0, 3.0]).numpy()
      array([3., 2., 6.], dtype=float32)
    """

    _sliced = ()

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = True, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = self.diagonal = sequence_of(type(self).__name__, operators)
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        hints = hints_of_all(type(self).__name__, "all operators", self.operators, given)
        self._require_sizes(self.operators)
        super().__init__(
            self.operators[0].dtype,
            None,
            hints["is_non_singular"],
            hints["is_self_adjoint"],
            hints["is_positive_definite"],
            is_square,
            name or "_ds_".join(op.name for op in self.operators),
        )

    @property
    def shape(self) -> TensorShape:
        sizes = [sum(self._sizes(axis)) for axis in (-2, -1)]
        return TensorShape([*common_stack(self.name, self.operators), *sizes])

    def _products(self, parts: list[Any], adjoint: bool) -> list[Any]:
        return [op.matmul(part, adjoint=adjoint) for op, part in zip(self.operators, parts, strict=True)]

    def _solutions(self, parts: list[Any], adjoint: bool) -> list[Any]:
        return [op.solve(part, adjoint=adjoint) for op, part in zip(self.operators, parts, strict=True)]

    def _of_each(self, operators: list[LinearOperator]) -> LinearOperatorBlockDiag:
        return LinearOperatorBlockDiag(operators, **self._hints())

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self if self.is_self_adjoint else self._of_each([op.adjoint() for op in self.operators])

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False or not all(op.is_square for op in self.operators):
            return super().inverse()
        return self._of_each([op.inverse() for op in self.operators])

    def _factor(self) -> LinearOperator:
        if not all(op.is_self_adjoint and op.is_positive_definite for op in self.operators):
            return super()._factor()
        return LinearOperatorBlockDiag(
            [op.cholesky() for op in self.operators], is_non_singular=True, is_square=True
        )

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        if not isinstance(right, LinearOperatorBlockDiag) or self._sizes(-1) != right._sizes(-2):
            return None
        blocks = [product_of(a, b) for a, b in zip(self.operators, right.operators, strict=True)]
        square = all(op.is_square for op in [*self.operators, *right.operators])
        return LinearOperatorBlockDiag(
            blocks, **hints_of_product(self, right) if square else {"is_square": None}
        )


class LinearOperatorBlockLowerTriangular(_Blockwise):
    """A lower triangular matrix of blocks, each of them an operator. Its products take and return one matrix, or a list with
    one for each block; a system is solved block by block.

    Args:
      operators: A list of rows, each of them a list of operators: one in the first row, two in the second, and so on. Those at
        the ends of the rows are square; those below have as many rows and columns as they.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    Example:
      >>> full, ones = linalg.LinearOperatorFullMatrix([[3.0, 4.0]]), [linalg.LinearOperatorDiag([1.0] * n) for n in (2, 1)]
      >>> lower = linalg.LinearOperatorBlockLowerTriangular([[ones[0]], [full, ones[1]]])
      >>> lower.matvec([1.0, 2.0, 5.0]).numpy()
      array([ 1.,  2., 16.], dtype=float32)
    """

    _sliced = ()

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:  # fmt: skip
        own = type(self).__name__
        rows = list(operators) if isinstance(operators, Sequence) else []
        if not rows:
            raise InvalidArgumentError(
                f"{own}: operators is {operators!r}; a list of lists of operators is needed, at least one."
            )
        self.operators = [sequence_of(own, row) for row in rows]
        every = sequence_of(own, [op for row in self.operators for op in row])
        self._require_sizes(every)
        for i, row in enumerate(self.operators):
            if len(row) != i + 1:
                raise InvalidArgumentError(
                    f"{own}: operators[{i}] has {len(row)} blocks; row {i} must have {i + 1}."
                )
        self.diagonal = [row[-1] for row in self.operators]
        for i, row in enumerate(self.operators):
            for j, op in enumerate(row):
                wanted = self.diagonal[i].dims[-2], self.diagonal[j].dims[-2]
                if op.dims[-2:] != wanted:
                    raise InvalidArgumentError(
                        f"{own}: operators[{i}][{j}] has shape {format_dims(op.dims)}; its matrices must have shape {wanted}, "
                        "as many rows as all in its row and as many columns as the square one in its column."
                    )
        settled(own, "is_square", is_square, True, "the matrix is square")
        known = hints_of_all(
            own, "all operators on the diagonal", self.diagonal, {"is_non_singular": is_non_singular}
        )
        super().__init__(
            every[0].dtype,
            None,
            known["is_non_singular"],
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def shape(self) -> TensorShape:
        size = sum(self._sizes(-1))
        return TensorShape(
            [*common_stack(self.name, [op for row in self.operators for op in row]), size, size]
        )

    def _below(self, parts: list[Any], k: int, adjoint: bool) -> list[Any]:
        """The products of the blocks beside the diagonal that the row k reads, or, of the adjoint, the column k."""
        if adjoint:
            rows = range(k + 1, len(self.operators))
            return [self.operators[i][k].matmul(parts[i], adjoint=True) for i in rows]
        return [self.operators[k][j].matmul(parts[j]) for j in range(k)]

    def _products(self, parts: list[Any], adjoint: bool) -> list[Any]:
        return [
            sum(self._below(parts, k, adjoint), op.matmul(parts[k], adjoint=adjoint))
            for k, op in enumerate(self.diagonal)
        ]

    def _solutions(self, parts: list[Any], adjoint: bool) -> list[Any]:
        found = list(parts)
        order = range(len(parts))
        for k in reversed(order) if adjoint else order:
            rest = parts[k]
            for product in self._below(found, k, adjoint):
                rest = rest - product
            found[k] = self.diagonal[k].solve(rest, adjoint=adjoint)
        return found

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False:
            return super().inverse()
        rows: list[list[LinearOperator]] = []
        for i, own in enumerate(self.diagonal):
            row: list[LinearOperator] = []
            for j in range(i):
                terms: list[Any] = [self.operators[i][k].matmul(rows[k][j].to_dense()) for k in range(j, i)]
                row.append(LinearOperatorFullMatrix(-own.solve(sum(terms[1:], terms[0]))))
            rows.append([*row, own.inverse()])
        return LinearOperatorBlockLowerTriangular(rows, True, self.is_self_adjoint, self.is_positive_definite)


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators whose sizes are known; those of their batches need not be.

    Args:
      operators: A list of operators.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = ()

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = sequence_of(type(self).__name__, operators)
        if any(None in op.dims[-2:] for op in self.operators):
            raise InvalidArgumentError(f"{type(self).__name__}: the sizes of all operators must be known.")
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        hints = hints_of_all(type(self).__name__, "all operators", self.operators, given)
        super().__init__(
            self.operators[0].dtype,
            None,
            hints["is_non_singular"],
            hints["is_self_adjoint"],
            hints["is_positive_definite"],
            is_square,
            name or "_x_".join(op.name for op in self.operators),
        )

    @property
    def shape(self) -> TensorShape:
        m = n = 1
        for op in self.operators:
            m, n = m * op.dims[-2], n * op.dims[-1]
        return TensorShape([*common_stack(self.name, self.operators), m, n])

    def _each(self, x: Any, axis: int, function: Callable[[Any, Any], Any]) -> Any:
        """Each operator applied along its own axis of the rows of x, which are numbered with the first operator's axis
        outermost."""
        lead: Any = broadcast_dims(self.name, common_stack(self.name, self.operators), x.dims[:-2]) or ()
        k, after, before = len(lead), self.dims[axis], 1
        columns = shape_of(x)[-1] if x.dims[-1] is None else x.dims[-1]
        if None in lead:
            stacks = [op.batch_shape_tensor() for op in self.operators]
            lead = reduce(broadcast_dynamic_shape, [*stacks, shape_of(x)[:-2]])

        def sizes(*tail: Any) -> Any:
            return [*lead, *tail] if isinstance(lead, tuple) else concat([lead, list(tail)], 0)

        x = broadcast_to(x, sizes(after, columns))
        for op in self.operators:
            own, new = op.dims[axis], op.dims[-1 if axis == -2 else -2]
            after //= own or 1
            # [lead, before, own, after, columns], with the operator's own axis moved to the front of the rows.
            split = reshape(x, sizes(before, own, after * columns))
            turn = [*range(k), k + 1, k, k + 2]
            rows = function(op, reshape(transpose(split, turn), sizes(own, before * after * columns)))
            back = transpose(reshape(rows, sizes(new, before, after * columns)), turn)
            x = reshape(back, sizes(before * new * after, columns))
            before *= new
        return x

    def _of_each(self, operators: list[LinearOperator], **hints: Any) -> LinearOperator:
        return LinearOperatorKronecker(operators, **hints)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        if self.is_self_adjoint:
            return self
        return self._of_each([op.adjoint() for op in self.operators], **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False or not all(op.is_square for op in self.operators):
            return super().inverse()
        return self._of_each([op.inverse() for op in self.operators], **self._hints())

    def _factor(self) -> LinearOperator:
        if not all(op.is_self_adjoint and op.is_positive_definite for op in self.operators):
            return super()._factor()
        return self._of_each([op.cholesky() for op in self.operators], is_square=True)

    def _eigvals(self) -> Tensor:
        if not all(op.is_square and op.is_self_adjoint for op in self.operators):
            return super()._eigvals()
        found: Any = self.operators[0].eigvals()
        for op in self.operators[1:]:
            products = expand_dims(found, -1) * expand_dims(op.eigvals(), -2)
            found = reshape(products, concat([shape_of(products)[:-2], [-1]], 0))
        return found  # type: ignore[no-any-return]

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self._each(x, -2 if adjoint else -1, lambda op, part: op.matmul(part, adjoint=adjoint))

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._each(b, -1 if adjoint else -2, lambda op, part: op.solve(part, adjoint=adjoint))

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().log_abs_determinant()
        n = self.dims[-1]
        first, *rest = [(n / op.dims[-1]) * op.log_abs_determinant() for op in self.operators]
        return sum(rest, first)  # type: ignore[no-any-return]

    def determinant(self, name: str = "det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().determinant()
        n = self.dims[-1]
        found: Any = None
        for op in self.operators:
            part = op.determinant() ** (n // op.dims[-1])
            found = part if found is None else found * part
        return found  # type: ignore[no-any-return]
