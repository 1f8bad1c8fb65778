"""The functions of the source text on CUDA: the same instructions, as numba-cuda's intrinsics; mathematics from
the device library.

This module imports numba-cuda; it is imported where something is compiled for CUDA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from llvmlite import ir
from numba import cuda
from numba.cuda import libdevice, types
from numba.cuda.extending import intrinsic

from graphad.compiler import lowering
from graphad.compiler.cuda.emit import BUILTIN, LIBRARY
from graphad.compiler.source import NAMES

if TYPE_CHECKING:
    from numba.cuda.target import CUDATargetContext, CUDATypingContext
    from numba.cuda.typing import Signature

    from graphad.compiler.lowering import Build, Generate, Intrinsic

KINDS = {
    "b1": types.boolean,
    "f16": types.float32,
    "bf16": types.float32,
    "ptr": types.int64,
    "index": types.int64,
    "": types.void,
}
KINDS |= {code: getattr(types, NAMES[code]) for code in NAMES if code not in KINDS and code[0] in "iuf"}


def namespace(names: Iterable[str]) -> dict[str, object]:
    """The names to which a source text refers."""
    found: dict[str, object] = {"cuda": cuda}
    places = "i32" if "narrow" in names else "i64"
    for name in names:
        if name not in BUILTIN:
            found[name] = KINDS[name] if name in KINDS else _make(name, places)
    return found


@cache
def _make(name: str, places: str) -> Intrinsic:
    """A function of the text; `places` is the code of the numbers that say where something is."""
    if name in _PLACES:
        arity, build = _PLACES[name]
        return _define(
            places, ("index" if name == "ix" else places,) * arity, build(lowering.llvm_type(places))
        )
    if name in _BARE:
        result, args, plain = _BARE[name]
        return _define(result, args, plain)
    head, _, rest = name.partition("_")
    if head in ("groups2", "groups4"):
        return _define(places, ("ptr", places), _groups(int(head[-1])))
    if head in ("ld2", "ld4"):
        return _wide_load(int(head[-1]), rest)
    if head in ("st2", "st4"):
        return _wide_store(int(head[-1]), rest)
    if head == "further":
        return _define(rest, (rest, "index"), lambda b, value, reach: _further(b, value, reach))
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
    if head == "narrowed":
        return _define(rest, (rest,), lambda b, x: lowering.round_to(b, rest, x))
    if (head in _DEVICE or head in LIBRARY) and rest in lowering.FLOATS:
        device: Intrinsic = getattr(libdevice, _DEVICE.get(head, head) + ("" if rest == "f64" else "f"))
        return device
    if head in _PREDICATES and rest in lowering.FLOATS:
        return _define("b1", (rest,), _PREDICATES[head])
    portable = _PORTABLE.get(head) if rest in lowering.FLOATS else None
    if portable is not None:
        arity, build = portable
        return _define(rest, (rest,) * arity, build)
    lowered = lowering.lower(name)
    if lowered is not None:
        return _define(lowered.result, lowered.args, lowered.build)
    found: Intrinsic = getattr(math, head)
    return found


def _define(result: str, args: tuple[str, ...], build: Build) -> Intrinsic:
    return lowering.as_intrinsic(intrinsic, KINDS, result, args, build)


def _store(builder: ir.IRBuilder, code: str, pointer: ir.Value, index: ir.Value, value: ir.Value) -> None:
    builder.store(lowering.to_memory(builder, code, value), lowering.element(builder, code, pointer, index))


def _bits(builder: ir.IRBuilder, code: str, word: ir.Value) -> ir.Value:
    kind = lowering.memory_type(code)
    size = {"half": 16, "float": 32, "double": 64}.get(str(kind)) or kind.width
    narrow = builder.trunc(word, ir.IntType(size)) if size < 64 else word
    return lowering.from_memory(
        builder, code, builder.bitcast(narrow, kind) if str(kind) != str(narrow.type) else narrow
    )


# -- loads and stores of several neighbours --


def _vector(
    builder: ir.IRBuilder, many: int, code: str, pointer: ir.Value, index: ir.Value
) -> tuple[ir.Value, int]:
    """The address of a vector, and the bytes that it is a multiple of."""
    kind = lowering.memory_type(code)
    size = {"half": 2, "float": 4, "double": 8}.get(str(kind)) or kind.width // 8
    place = builder.add(pointer, builder.mul(index, index.type(size)))
    return builder.inttoptr(place, ir.VectorType(kind, many).as_pointer()), size * many


def _wide_load(many: int, code: str) -> Intrinsic:
    def load(
        typingctx: CUDATypingContext, pointer: types.Type, index: types.Type
    ) -> tuple[Signature, Generate]:
        def generate(
            context: CUDATargetContext,
            builder: ir.IRBuilder,
            signature: Signature,
            values: Sequence[ir.Value],
        ) -> ir.Value:
            place, align = _vector(builder, many, code, *values)
            whole = builder.load(place, align=align)
            number = ir.IntType(32)
            parts = [builder.extract_element(whole, number(k)) for k in range(many)]
            found = context.get_constant_undef(signature.return_type)
            for k, part in enumerate(parts):
                found = builder.insert_value(found, lowering.from_memory(builder, code, part), k)
            return found

        return types.UniTuple(KINDS[code], many)(types.int64, types.int64), generate

    found: Intrinsic = intrinsic(load)
    return found


def _wide_store(many: int, code: str) -> Intrinsic:
    def generate(
        context: CUDATargetContext, builder: ir.IRBuilder, signature: Signature, values: Sequence[ir.Value]
    ) -> ir.Value:
        place, align = _vector(builder, many, code, *values[:2])
        number, whole = (
            ir.IntType(32),
            ir.Constant(ir.VectorType(lowering.memory_type(code), many), ir.Undefined),
        )
        for k, value in enumerate(values[2:]):
            whole = builder.insert_element(whole, lowering.to_memory(builder, code, value), number(k))
        builder.store(whole, place, align=align)
        return context.get_dummy_value()

    signature = types.void(types.int64, types.int64, *[KINDS[code]] * many)

    def two(
        typingctx: CUDATypingContext, pointer: types.Type, index: types.Type, a: types.Type, b: types.Type
    ) -> tuple[Signature, Generate]:
        return signature, generate

    def four(
        typingctx: CUDATypingContext,
        pointer: types.Type,
        index: types.Type,
        a: types.Type,
        b: types.Type,
        c: types.Type,
        d: types.Type,
    ) -> tuple[Signature, Generate]:
        return signature, generate

    found: Intrinsic = intrinsic(two if many == 2 else four)
    return found


def _groups(many: int) -> Build:
    def build(builder: ir.IRBuilder, together: ir.Value, count: ir.Value) -> ir.Value:
        rest = builder.and_(together, together.type(15))
        groups = builder.udiv(count, count.type(many))
        return builder.select(builder.icmp_unsigned("==", rest, rest.type(0)), groups, count.type(0))

    return build


# -- positions, and what blocks share --

_PLACES: dict[str, tuple[int, Callable[[ir.Type], Build]]] = {
    "ix": (1, lambda kind: lambda b, x: b.trunc(x, kind) if kind.width < x.type.width else x),
    "ixadd": (2, lambda kind: lambda b, x, y: b.add(x, y, flags=("nsw",))),
    "ixsub": (2, lambda kind: lambda b, x, y: b.sub(x, y, flags=("nsw",))),
    "ixmul": (2, lambda kind: lambda b, x, y: b.mul(x, y, flags=("nsw",))),
    "ixdiv": (2, lambda kind: lambda b, x, y: b.udiv(x, y)),
    "ixmin": (2, lambda kind: lambda b, x, y: b.select(b.icmp_signed("<", x, y), x, y)),
}


def _arrive(builder: ir.IRBuilder, counter: ir.Value) -> ir.Value:
    kind = ir.IntType(32)
    return builder.atomic_rmw("add", builder.inttoptr(counter, kind.as_pointer()), kind(1), "monotonic")


def _further(builder: ir.IRBuilder, value: ir.Value, reach: ir.Value) -> ir.Value:
    """The value that the thread `reach` places further on in the warp has; all threads of the warp ask at once."""
    word, kind = ir.IntType(32), value.type
    name = "llvm.nvvm.shfl.sync.down.i32"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(word, [word] * 4), name)
    size = {"float": 32, "double": 64}.get(str(kind)) or kind.width
    bits = builder.bitcast(value, ir.IntType(size)) if str(kind) in ("float", "double") else value
    pieces = []
    for low in range(0, size, 32):
        piece = builder.trunc(builder.lshr(bits, bits.type(low)), word) if size > 32 else bits
        distance = builder.trunc(reach, word) if reach.type.width > 32 else reach
        pieces.append(builder.call(function, [word(-1), piece, distance, word(31)]))
    found = pieces[0]
    if size > 32:
        high = builder.shl(builder.zext(pieces[1], bits.type), bits.type(32))
        found = builder.or_(builder.zext(pieces[0], bits.type), high)
    return builder.bitcast(found, kind) if str(kind) in ("float", "double") else found


def _shared_base(builder: ir.IRBuilder) -> ir.Value:
    """The address of the memory that a launch gives each block."""
    name, kind = "graphad_shared", ir.ArrayType(ir.IntType(8), 0)
    memory = builder.module.globals.get(name)
    if memory is None:
        memory = ir.GlobalVariable(builder.module, kind, name, addrspace=3)
        memory.linkage = "external"
        memory.align = 16
    first = builder.bitcast(memory, ir.IntType(8).as_pointer(3))
    return builder.ptrtoint(builder.addrspacecast(first, ir.IntType(8).as_pointer()), ir.IntType(64))


_BARE: dict[str, tuple[str, tuple[str, ...], Build]] = {
    "contract": ("", (), lambda b: None),  # these two are markers for the compiler of the text
    "narrow": ("", (), lambda b: None),
    "either": ("ptr", ("ptr", "ptr"), lambda b, x, y: b.or_(x, y)),
    "arrive": ("i32", ("ptr",), _arrive),
    "zero_i32": ("i32", (), lambda b: ir.IntType(32)(0)),
    "shared_base": ("ptr", (), _shared_base),
}
# no instruction in the device compiler's older dialect of IR
_PORTABLE: dict[str, tuple[int, Build]] = {
    "neg": (1, lambda b, x: b.fsub(x.type(-0.0), x)),
}
_DEVICE = {"abs": "fabs", "round": "rint", "trunc": "trunc"}
_PREDICATES: dict[str, Build] = {
    "isinf": lambda b, x: b.or_(
        b.fcmp_ordered("==", x, x.type(math.inf)), b.fcmp_ordered("==", x, x.type(-math.inf))
    ),
    "isfinite": lambda b, x: b.fcmp_ordered("==", b.fsub(x, x), x.type(0.0)),
}
