"""A plan step that runs one of two tables of steps, chosen by a byte.

The block is that of a loop (`compiler/rows.py`): its BODY is the first branch, its TEST the second, and ANSWER the predicate.
"""

from __future__ import annotations

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native
from graphad.compiler.rounds import SMAX, Moves
from graphad.compiler.rows import ANSWER, BODY, BODY_ROWS, TEST, TEST_ROWS


def text() -> str:
    """`i32 graphad_branch(ret, exc, block)`."""
    f = Function("i32 @graphad_branch(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    Moves(f, w, "1").begin()
    holds = f.test("ne", f.emit(f"load i8, ptr {f.pointer(w, ANSWER)}, align 1"), 0, "i8")
    table = f.choose(holds, "ptr", f.pointer(w, BODY), f.pointer(w, TEST))
    rows = f.choose(holds, "i64", f.word(w, BODY_ROWS), f.word(w, TEST_ROWS))
    status = f.emit(f"call i64 @graphad_steps(ptr {table}, i64 {rows})")
    f.ret(f.emit(f"trunc i64 {status} to i32"))
    steps = driver.text().replace("define i64", "define internal i64", 1)
    return "\n".join([SMAX, steps, f.text()])


_addresses: dict[str, int] = {}


def kernel() -> int:
    """The address of the step kernel."""
    return native.once(
        _addresses,
        "graphad_branch",
        lambda: native.printed(text, symbols=["graphad_branch"])["graphad_branch"],
    )
