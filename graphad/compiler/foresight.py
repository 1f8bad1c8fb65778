"""The compile worker starts while a function is traced that will wait for it.

A worker takes about a second to import its compiler. Which kernels a function has is known when it is traced and planned; that
it will have some that no cache holds is likely where this code was not traced before. So the cache has a mark for each.
"""

from __future__ import annotations

from types import CodeType

from graphad.compiler import cache
from graphad.compiler.source import named_key, version_parts


def foresee(function: object) -> None:
    """Start the worker, unless the cache says that code compiled for this function has been waited for before."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType):
        return
    store = cache.default_cache()
    mark = named_key(
        {**version_parts(), "traced": f"{code.co_filename} {code.co_qualname}", "code": code.co_code.hex()}
    )
    if store.get(mark) is not None:
        return
    store.put(mark, b"traced")
    # Imported here: not needed if the cache has the code.
    from graphad.compiler.service import default_service

    default_service().start()
