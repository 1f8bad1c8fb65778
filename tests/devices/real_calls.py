"""Whether CuPy takes the arguments of a call, where it is installed: the names of options that its functions and methods have.

The fake device computes with NumPy, which has options that CuPy lacks.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Of a ufunc of CuPy's: it has neither `where` nor the rest of NumPy's.
_OF_UFUNCS = frozenset(("out", "dtype", "casting"))


@functools.cache
def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


@functools.cache
def _signature(name: str, home: str) -> inspect.Signature | frozenset[str] | None:
    """That of a function or method, the options of a ufunc; None where nobody can say."""
    if _cupy() is None:
        return None
    owner: Any = _cupy()
    for part in filter(None, home.split(".")):
        owner = getattr(owner, part)
    found = getattr(owner, name)
    if isinstance(found, _cupy().ufunc):
        return _OF_UFUNCS
    if home != "ndarray":
        return inspect.signature(found)
    # Methods are compiled; their documentation begins with what they take, with types of C in front of some names.
    match = re.match(r"[\w.]+\((.*)\)(?: -> .*)?$", (found.__doc__ or "").splitlines()[0])
    assert match is not None, found.__doc__
    text = re.sub(r"\b(?:_ndarray_base|Py_ssize_t|bint) (?=\w)", "", match.group(1))
    scope: dict[str, Any] = {}
    exec(f"def method({text}): pass", scope)
    return inspect.signature(scope["method"])


def check(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], home: str = "") -> None:
    """Raises: TypeError: CuPy has no such call."""
    found = _signature(name, home)
    if isinstance(found, frozenset):
        beyond = sorted(kwargs.keys() - found)
        if beyond:
            raise TypeError(f"CuPy's {name} has no {', '.join(beyond)}")
    elif found is not None:
        try:
            found.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"CuPy's {name}: {error}") from None
    if name == "argsort" and kwargs.get("kind") not in (None, "stable"):
        raise ValueError("CuPy's argsort is stable and knows no other kind")
