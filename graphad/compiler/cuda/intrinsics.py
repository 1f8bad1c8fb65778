"""The functions of the source text on CUDA: the same instructions, as numba-cuda's intrinsics; mathematics from
the device library.

This module imports numba-cuda; it is imported where something is compiled for CUDA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import libdevice, types
from numba.cuda.extending import intrinsic

from graphad.compiler import lowering
from graphad.compiler.cuda.emit import BUILTIN
from graphad.compiler.source import NAMES

KINDS = {
    "b1": types.boolean,
    "f16": types.float32,
    "bf16": types.float32,
    "ptr": types.int64,
    "index": types.int64,
    "": types.void,
}
KINDS |= {code: getattr(types, NAMES[code]) for code in NAMES if code not in KINDS and code[0] in "iuf"}


def namespace(names: Iterable[str]) -> dict[str, Any]:
    """What a source text refers to."""
    found: dict[str, Any] = {"cuda": cuda}
    for name in names:
        if name not in BUILTIN:
            found[name] = KINDS[name] if name in KINDS else _make(name)
    return found


@cache
def _make(name: str) -> Any:
    head, _, rest = name.partition("_")
    if head == "ld":
        return _define(
            rest,
            ("ptr", "index"),
            lambda b, p, i: lowering.from_memory(b, rest, b.load(lowering.element(b, rest, p, i))),
        )
    if head == "st":
        return _define("", ("ptr", "index", rest), lambda b, p, i, v: _store(b, rest, p, i, v))
    if head == "bits":
        return _define(rest, ("index",), lambda b, word: _bits(b, rest, word))
    if head == "contract":
        return _define("", (), lambda b: None)  # it says so to who compiles the text
    if head == "round" and rest in ("f16", "bf16"):
        return _define(rest, (rest,), lambda b, x: lowering.round_to(b, rest, x))
    if head in _DEVICE and rest in lowering.FLOATS:
        return getattr(libdevice, _DEVICE[head] + ("" if rest == "f64" else "f"))
    if head in _PREDICATES and rest in lowering.FLOATS:
        return _define("b1", (rest,), _PREDICATES[head])
    portable = _PORTABLE.get(head) if rest in lowering.FLOATS else None
    if portable is not None:
        arity, build = portable
        return _define(rest, (rest,) * arity, build)
    lowered = lowering.lower(name)
    if lowered is not None:
        return _define(lowered.result, lowered.args, lowered.build)
    return getattr(math, head)


def _define(result: str, args: tuple[str, ...], build: Callable[..., Any]) -> Any:
    return lowering.as_intrinsic(intrinsic, KINDS, result, args, build)


def _store(builder: Any, code: str, pointer: Any, index: Any, value: Any) -> None:
    builder.store(lowering.to_memory(builder, code, value), lowering.element(builder, code, pointer, index))


def _bits(builder: Any, code: str, word: Any) -> Any:
    kind = lowering.memory_type(code)
    size = {"half": 16, "float": 32, "double": 64}.get(str(kind)) or kind.width
    narrow = builder.trunc(word, ir.IntType(size)) if size < 64 else word
    return lowering.from_memory(
        builder, code, builder.bitcast(narrow, kind) if str(kind) != str(narrow.type) else narrow
    )


# what the device compiler's older dialect of IR has no instruction for
_PORTABLE: dict[str, tuple[int, Callable[..., Any]]] = {
    "neg": (1, lambda b, x: b.fsub(x.type(-0.0), x)),
}
_DEVICE = {"abs": "fabs", "round": "rint", "trunc": "trunc"}
_PREDICATES: dict[str, Callable[..., Any]] = {
    "isinf": lambda b, x: b.or_(
        b.fcmp_ordered("==", x, x.type(math.inf)), b.fcmp_ordered("==", x, x.type(-math.inf))
    ),
    "isfinite": lambda b, x: b.fcmp_ordered("==", b.fsub(x, x), x.type(0.0)),
}
