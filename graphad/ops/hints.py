"""Attributes of tensors in PyTorch, JAX and NumPy that have another name here: reading one raises an error with the
replacement.

`hasattr` is False for these names and `dir` does not show them; only the message differs from that of any other missing name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


_CURES = {
    "record with GradientTape, or differentiate a function with grad(f)(x)": "backward grad",
    "stop_gradient(x)": "detach detach_",
    "tensors are immutable; identity(x) is another tensor, a Variable can be assigned": "clone copy copy_",
    "GradientTape.watch(x) follows a tensor, a Variable is followed by itself": "requires_grad requires_grad_ retain_grad",
    "`with device(...)` says where ops run, gpu() copies a tensor there": "cuda to",
    "cast(x, dtype)": "double float half long int type_as",
    "expand_dims(x, axis)": "unsqueeze",
    "reshape(x, shape)": "view view_as",
    "transpose(x, perm)": "permute",
    "tile(x, multiples) or broadcast_to(x, shape)": "expand expand_as",
    "tensors are immutable; x.at[...].set(value) is a new tensor": "fill_ zero_ add_ mul_ sub_ div_ itemset",
    "x.shape": "dim",
    "functions are differentiated: see grad, jvp and vjp": "grad_fn is_leaf",
    "x.numpy()": "block_until_ready eval",
}


class _Elsewhere:
    """A missing attribute whose error names the replacement."""

    def __init__(self, name: str, cure: str) -> None:
        self._name, self._cure = name, cure

    def __get__(self, tensor: Tensor, owner: type) -> NoReturn:
        kind = "Variable" if owner.__name__.endswith("Variable") else "Tensor"
        raise AttributeError(self.sentence(kind), name=self._name)

    def sentence(self, kind: str) -> str:
        """The replacement, for a tensor or a variable."""
        return f"{kind}.{self._name}: not part of graphad; instead: {self._cure}."


HINTS = {name: _Elsewhere(name, cure) for cure, names in _CURES.items() for name in names.split()}


def listed(self: Any) -> list[str]:
    """The names that `dir` shows of a tensor or variable."""
    return [name for name in object.__dir__(self) if name not in HINTS]
