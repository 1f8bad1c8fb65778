"""What the toolkit's headers declare, as far as they are installed: functions, numbers, structures."""

from __future__ import annotations

import functools
import re
from importlib.util import find_spec
from pathlib import Path

_FILES = ("cuda.h", "driver_types.h", "library_types.h", "cublas_api.h", "cublasLt.h", "cusolverDn.h")
_HANDLES = {
    "CUfunction",
    "CUgraphExec",
    "CUstream",
    "cublasHandle_t",
    "cudaStream_t",
    "cublasLtHandle_t",
    "cusolverDnHandle_t",
    "cublasLtMatmulDesc_t",
    "cublasLtMatrixLayout_t",
    "cublasLtMatmulPreference_t",
}
_LONG = {"CUdeviceptr", "size_t", "uint64_t", "int64_t"}


@functools.cache
def texts() -> tuple[str, ...]:
    """The headers without their comments; nothing where the toolkit is not installed."""
    found = find_spec("nvidia")
    places = (
        [Path(place) / "cu13" / "include" for place in (found.submodule_search_locations or ())]
        if found
        else []
    )
    paths = [place / name for place in places for name in _FILES]
    plain = [path.read_text(errors="replace") for path in paths if path.exists()]
    return tuple([re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL) for text in plain])


def parameters(name: str) -> str | None:
    """A letter for each parameter of a function: p for pointers, l and i for numbers of 64 and 32 bits."""
    for text in texts():
        match = re.search(rf"\b(?:CUDAAPI|CUBLASWINAPI|CUSOLVERAPI)\s+{name}\(([^)]*)\);", text)
        if match is not None:
            return "".join(map(_kind, match.group(1).split(",")))
    return None


def _kind(part: str) -> str:
    words = part.replace("*", " * ").split()
    if "*" in words or "[" in part or any(word in _HANDLES for word in words):
        return "p"
    return "l" if words and (words[0] in _LONG or words.count("long") == 2) else "i"


def number(name: str) -> int | None:
    """The value of a constant of an enumeration."""
    for text in texts():
        match = re.search(rf"\b{name}\s*=\s*(0x[0-9a-fA-F]+|\d+)\b", text)
        if match is not None:
            return int(match.group(1), 0)
    return None


def fields(name: str) -> list[tuple[str, str]] | None:
    """The types and names of a structure's fields."""
    for text in texts():
        match = re.search(rf"typedef struct \{{([^}}]*)\}}\s*{name};", text)
        if match is not None:
            parts = [part.split() for part in match.group(1).split(";") if part.strip()]
            return [(" ".join(part[:-1]), part[-1]) for part in parts]
    return None
