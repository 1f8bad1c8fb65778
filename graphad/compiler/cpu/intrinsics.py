"""The functions of the source text as Numba intrinsics: each prints its instructions where it is called, with
fixed types.

Every buffer has an alias scope of its own (all pure inputs share one), so that loops vectorise without run-time
overlap checks. This module imports Numba; it is imported where something is compiled, never by `import graphad`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from graphad.compiler import lowering
from graphad.compiler.cpu import functions
from graphad.compiler.source import NAMES

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as TypingContext

    from graphad.compiler.lowering import Build, Generate, Intrinsic

INPUTS = ""  # the scope of everything that is only read
KINDS = {
    "b1": types.boolean,
    "f16": types.float32,
    "bf16": types.float32,
    "ptr": types.int64,
    "index": types.int64,
    "": types.void,
}
KINDS |= {code: getattr(types, NAMES[code]) for code in NAMES if code not in KINDS and code[0] in "iuf"}
NO_BUILTINS = '"no-builtins"'  # a copy loop must not become a call of memcpy
WIDE = '"prefer-vector-width"="512"'
NO_PROBE = '"no-stack-arg-probe"'  # Windows: a frame above 4 kB must not call __chkstk


def namespace(names: Iterable[str]) -> dict[str, object]:
    """An intrinsic for every name that a source text uses."""
    wanted = [name for name in names if name != "range"]
    scopes = tuple(
        sorted(
            {
                name.split("_")[2] if name.count("_") == 2 else INPUTS
                for name in wanted
                if name[:3] in ("ld_", "st_")
            }
        )
    )
    return {name: _make(name, scopes if name[:3] in ("ld_", "st_") else ()) for name in wanted}


@cache  # registering an intrinsic with Numba costs a millisecond
def _make(name: str, scopes: tuple[str, ...]) -> Intrinsic:
    head, _, rest = name.partition("_")
    if head in ("ld", "st"):
        code, _, scope = rest.partition("_")
        return _load(code, scope, scopes) if head == "ld" else _store(code, scope, scopes)
    if head == "word":
        return _define(
            "index", ("ptr", "index"), lambda b, blk, k: b.load(lowering.element(b, "i64", blk, k), align=8)
        )
    if head == "scalar":
        return _define(rest, ("ptr", "index"), lambda b, blk, k: _scalar(b, rest, blk, k))
    if head == "wide":
        return _define("", (), _wide)
    if head == "contract":
        return _define("", (), lambda b: None)  # a marker for the compiler of the text
    if head == "stack":
        return _stack(rest)
    lowered = lowering.lower(name)
    if lowered is not None:
        return _define(lowered.result, lowered.args, lowered.build)
    return _function(head, rest)


def _define(result: str, args: tuple[str, ...], build: Build) -> Intrinsic:
    return lowering.as_intrinsic(intrinsic, KINDS, result, args, build)


def _wide(builder: ir.IRBuilder) -> None:
    set.add(builder.function.attributes, WIDE)  # llvmlite's own check knows no attributes with values


def _scalar(builder: ir.IRBuilder, code: str, block: ir.Value, word: ir.Value) -> ir.Value:
    place = builder.inttoptr(
        builder.ptrtoint(lowering.element(builder, "i64", block, word), ir.IntType(64)),
        lowering.memory_type(code).as_pointer(),
    )
    return lowering.from_memory(builder, code, builder.load(place, align=8, typ=lowering.memory_type(code)))


def _alias(
    builder: ir.IRBuilder, instruction: ir.Instruction, scope: str, scopes: tuple[str, ...]
) -> ir.Instruction:
    module = builder.module
    domain = module.add_metadata(["graphad"])
    nodes = {name: module.add_metadata([f"graphad.{name or 'inputs'}", domain]) for name in scopes}
    instruction.set_metadata("alias.scope", module.add_metadata([nodes[scope]]))
    others = [nodes[name] for name in scopes if name != scope]
    if others:
        instruction.set_metadata("noalias", module.add_metadata(others))
    return instruction


def _load(code: str, scope: str, scopes: tuple[str, ...]) -> Intrinsic:
    kind = lowering.memory_type(code)
    size = _size(code)

    def build(builder: ir.IRBuilder, pointer: ir.Value, index: ir.Value) -> ir.Value:
        loaded = builder.load(lowering.element(builder, code, pointer, index), align=size, typ=kind)
        return lowering.from_memory(builder, code, _alias(builder, loaded, scope, scopes))

    return _define(code, ("ptr", "index"), build)


def _store(code: str, scope: str, scopes: tuple[str, ...]) -> Intrinsic:
    size = _size(code)

    def build(builder: ir.IRBuilder, pointer: ir.Value, index: ir.Value, value: ir.Value) -> ir.Value:
        set.add(builder.function.attributes, NO_BUILTINS)
        place = lowering.element(builder, code, pointer, index)
        return _alias(
            builder, builder.store(lowering.to_memory(builder, code, value), place, align=size), scope, scopes
        )

    return _define("", ("ptr", "index", code), build)


def _size(code: str) -> int:
    return {"b1": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}.get(code) or int(code[1:]) // 8


def _stack(code: str) -> Intrinsic:
    """Memory of the function's own frame; the count is a literal."""

    @intrinsic  # type: ignore[untyped-decorator]
    def stack(typingctx: TypingContext, count: types.Type) -> tuple[Signature, Generate] | None:
        if not isinstance(count, types.IntegerLiteral):
            return None
        length = count.literal_value

        def generate(
            context: BaseContext, builder: ir.IRBuilder, sig: Signature, values: Sequence[ir.Value]
        ) -> ir.Value:
            set.add(builder.function.attributes, NO_PROBE)
            with builder.goto_entry_block():
                place = builder.alloca(ir.ArrayType(lowering.memory_type(code), length))
            place.align = 64
            return builder.ptrtoint(place, ir.IntType(64))

        return types.int64(count), generate

    found: Intrinsic = stack
    return found


def _function(name: str, code: str) -> Intrinsic:
    """A vector function: its module is added to the code being compiled and the call inlined."""
    inner = "f64" if code == "f64" else "f32"
    symbol, arity, text = functions.module(name, code)

    def build(builder: ir.IRBuilder, *xs: ir.Value) -> ir.Value:
        kind = lowering.llvm_type(inner)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * arity), symbol
        )
        return lowering.round_to(builder, code, builder.call(function, xs))

    kind = KINDS[code]

    def generate(
        context: BaseContext, builder: ir.IRBuilder, sig: Signature, values: Sequence[ir.Value]
    ) -> ir.Value:
        library = context.active_code_library
        added = library.__dict__.setdefault("graphad_functions", set())
        if symbol not in added:
            added.add(symbol)
            library.add_llvm_module(llvm.parse_assembly(text))
        return build(builder, *values)

    def one(typingctx: TypingContext, x: types.Type) -> tuple[Signature, Generate]:
        return kind(kind), generate

    def two(typingctx: TypingContext, x: types.Type, y: types.Type) -> tuple[Signature, Generate]:
        return kind(kind, kind), generate

    found: Intrinsic = intrinsic((one, two)[arity - 1])
    return found
