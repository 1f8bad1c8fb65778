"""Arguments that are rare, in scalar code, at almost no cost to all others.

The code is a function of its own. Its call names forms for several lanes, so that the loop around it is vectorised all the same;
each form asks once whether any lane has such arguments, and does nothing if none has.
"""

from __future__ import annotations

from collections.abc import Callable

from graphad.compiler.cpu.vectormath.text import Block, Format, Value

LANES = (2, 4, 8, 16)  # whatever the loop vectoriser may choose
Test = Callable[[str, int], list[str]]  # of a type and its number of lanes: lines that define %rare


def call(symbol: str, form: Format, *operands: Value) -> Value:
    """The value of the function for rare arguments; for others it may be any number."""
    mappings = ",".join(f"_ZGV_LLVM_N{n}{'v' * len(operands)}_{symbol}({symbol}{n})" for n in LANES)
    given = ", ".join(f"{form.real} {x.name}" for x in operands)
    return operands[0].block.emit(
        f'call {form.real} @{symbol}({given}) "vector-function-abi-variant"="{mappings}"', form.real
    )


def define(block: Block, symbol: str, form: Format, letters: str, scalar: str, test: Test) -> None:
    """Add the scalar function and its forms for several lanes; and the list that keeps the forms until they are called:
    they are named in an attribute only, and must not change their calling convention before that."""
    forms = ", ".join(f"ptr @{symbol}{n}" for n in LANES)
    for n in LANES:
        block.declared[f"or{n}"] = f"declare i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1>)"
    block.definitions += [
        f'@llvm.compiler.used = appending global [{len(LANES)} x ptr] [{forms}], section "llvm.metadata"',
        scalar,
        *(_lanes(symbol, form, letters, n, test) for n in LANES),
    ]


def heading(symbol: str, kind: str, letters: str) -> str:
    """The first line of such a function."""
    given = ", ".join(f"{kind} %{letter}" for letter in letters)
    return f"define weak_odr {kind} @{symbol}({given}) noinline nounwind willreturn memory(none) {{"


def _lanes(symbol: str, form: Format, letters: str, n: int, test: Test) -> str:
    """The function of n arguments: lane by lane, if any of them is rare."""
    vector, first = f"<{n} x {form.real}>", letters[0]
    taken = [f"  %one{letter} = extractelement {vector} %{letter}, i64 %i" for letter in letters]
    given = ", ".join(f"{form.real} %one{letter}" for letter in letters)
    return "\n".join(
        [
            heading(f"{symbol}{n}", vector, letters),
            "entry:",
            *test(vector, n),
            f"  %some = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %rare)",
            "  br i1 %some, label %lane, label %done",
            "lane:",
            "  %i = phi i64 [0, %entry], [%next, %lane]",
            f"  %before = phi {vector} [%{first}, %entry], [%after, %lane]",
            *taken,
            f"  %result = call {form.real} @{symbol}({given})",
            f"  %after = insertelement {vector} %before, {form.real} %result, i64 %i",
            "  %next = add nuw nsw i64 %i, 1",
            f"  %more = icmp ult i64 %next, {n}",
            "  br i1 %more, label %lane, label %done",
            "done:",
            f"  %all = phi {vector} [%{first}, %entry], [%after, %lane]",
            f"  ret {vector} %all",
            "}",
        ]
    )
