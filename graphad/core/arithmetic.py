"""The operators of tensors and variables, for type checkers; `graphad.ops.operators` installs them.

Also `numpy`, which a tensor has only outside traces, and `set_shape`, which needs an op.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.tensor import Tensor


class Arithmetic:
    """The operators of tensors and variables. It is a base class for type checkers only."""

    __slots__ = ()

    def _unary(self) -> Tensor:
        raise NotImplementedError

    def _binary(self, other: TensorLike) -> Tensor:
        raise NotImplementedError

    def numpy(self) -> Any:
        raise NotImplementedError

    def set_shape(self, shape: Any) -> None:
        raise NotImplementedError

    def __getitem__(self, key: object) -> Tensor:
        raise NotImplementedError

    __neg__ = __pos__ = __abs__ = __invert__ = _unary
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = (
        _binary
    )
    __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = _binary
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _binary
    __lt__ = __le__ = __gt__ = __ge__ = _binary
    __eq__ = __ne__ = _binary  # type: ignore[assignment]
