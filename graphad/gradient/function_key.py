"""A key for what a Python function computes: its code and the plain values it closes over.

Rules of custom gradients nest without end if a rule uses its own function. Rules with equal keys are the same rule, which keeps
the table of rules in a file finite. Tensors are left out, since in a graph they are operands.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from graphad.core.tensor import EagerTensor, Handle, Tensor

_DEPTH = 6


def function_key(function: Callable[..., Any]) -> str:
    """16 hex digits, equal for functions with the same code and the same plain values in their closures."""
    import hashlib  # imported here: it loads a library that few programs need

    hasher = hashlib.sha256()
    _add(hasher, function, 0)
    return hasher.hexdigest()[:16]


def _add(hasher: Any, x: Any, depth: int) -> None:
    if x is None or isinstance(x, bool | int | float | complex | str | bytes):
        hasher.update(f"{type(x).__name__}:{x!r};".encode())
    elif isinstance(x, EagerTensor | np.ndarray | np.generic):
        array = np.asarray(x.data if isinstance(x, EagerTensor) else x)
        hasher.update(f"{array.dtype.str}{array.shape};".encode())
        hasher.update(array.tobytes())
    elif isinstance(x, Tensor):
        hasher.update(f"tensor:{x.spec!r};".encode())
    elif isinstance(x, Handle):
        hasher.update(f"handle:{id(x)};".encode())
    elif isinstance(x, CodeType):
        hasher.update(x.co_code)
        hasher.update(repr(x.co_names).encode())
        for constant in x.co_consts:
            _add(hasher, constant, depth + 1)
    elif isinstance(x, list | tuple):
        for item in x:
            _add(hasher, item, depth + 1)
    elif isinstance(x, dict):
        for key in sorted(x, key=str):
            _add(hasher, key, depth + 1)
            _add(hasher, x[key], depth + 1)
    elif hasattr(x, "__code__") and depth < _DEPTH:
        hasher.update(x.__qualname__.encode())
        _add(hasher, x.__code__, depth + 1)
        for cell in x.__closure__ or ():
            try:
                _add(hasher, cell.cell_contents, depth + 1)
            except ValueError:
                hasher.update(b"empty;")  # a name that is not bound yet
    else:
        hasher.update(
            f"{type(x).__module__}.{type(x).__qualname__}:{id(x) if depth < _DEPTH else 0};".encode()
        )
