"""A loop as one plan step: walk a table of steps again and again, moving pointers from slice to slice.

The block holds two tables (the test and the body), where the limit and the test's answer are, and a list of
moves: before the first round the word at `target` becomes `base` (its last slice when the loop runs
backwards), after each round it advances by `stride`. STEPS is the number of rounds that somebody relies on, -1 for none.
"""

from __future__ import annotations

from graphad.compiler.cpu.runtime import driver, native
from graphad.compiler.cpu.runtime.assembly import Function

# words of the step's block
BODY, BODY_ROWS, TEST, TEST_ROWS, ANSWER, LIMIT, LIMIT_BYTES, FIXED, MOST, STEPS, REVERSE, COUNT, MOVES = (
    range(13)
)
MOVE = 13  # (target, base, stride) for each move
MOVE_WORDS = 3
TOO_LONG = 77  # status: more rounds than the stacks have slices
WRONG_STEPS = 78  # status: another limit than the number of steps that the loop was made for


def text() -> str:
    """`i32 graphad_repeat(ret, exc, block)`."""
    f = Function("i32 @graphad_repeat(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    limit = f.slot("i64", f.word(w, FIXED))
    place = f.pointer(w, LIMIT)
    with f.when(f.test("ne", place, "null", "ptr")):
        width = f.word(w, LIMIT_BYTES)
        with f.when(f.test("eq", width, 4)):
            limit.set(f.emit(f"sext i32 {f.emit(f'load i32, ptr {place}, align 4')} to i64"))
        with f.when(f.test("eq", width, 8)):
            limit.set(f.emit(f"load i64, ptr {place}, align 8"))
    most = f.word(w, MOST)
    steps = f.word(w, STEPS)
    rounds = f.emit(f"call i64 @llvm.smax.i64(i64 {limit.get()}, i64 0)")
    with f.when(f.emit(f"and i1 {f.test('sge', steps, 0)}, {f.test('ne', rounds, steps)}")):
        f.ret(WRONG_STEPS)
    above = f.emit(f"and i1 {f.test('sge', most, 0)}, {f.test('sgt', limit.get(), most)}")
    with f.when(above):
        f.ret(TOO_LONG)
    end = limit.get()
    last = f.emit(f"sub i64 {f.emit(f'call i64 @llvm.smax.i64(i64 {end}, i64 1)')}, 1")
    backwards = f.word(w, REVERSE)
    moves = f.word(w, MOVES)

    def each_move(step: bool) -> None:
        with f.loop(0, moves) as k:
            row = f.at(w, f.emit(f"add i64 {f.emit(f'mul i64 {k}, {MOVE_WORDS}')}, {MOVE}"))
            target, stride = f.pointer(row, 0), f.word(row, 2)
            if step:
                value = f.emit(f"load i64, ptr {target}, align 8")
                f.do(f"store i64 {f.emit(f'add i64 {value}, {stride}')}, ptr {target}, align 8")
            else:
                start = f.slot("i64", f.word(row, 1))
                with f.when(f.test("ne", backwards, 0)):  # the stride is negative then
                    start.set(f.emit(f"sub i64 {start.get()}, {f.emit(f'mul i64 {last}, {stride}')}"))
                f.do(f"store i64 {start.get()}, ptr {target}, align 8")

    each_move(False)
    body, body_rows = f.pointer(w, BODY), f.word(w, BODY_ROWS)
    test, test_rows = f.pointer(w, TEST), f.word(w, TEST_ROWS)
    answer = f.pointer(w, ANSWER)
    count, status = f.slot("i64", 0), f.slot("i64", 0)
    with f.forever() as done:
        f.leave(done, f.test("sge", count.get(), end))
        with f.when(f.test("ne", answer, "null", "ptr")):
            status.set(f.emit(f"call i64 @graphad_steps(ptr {test}, i64 {test_rows})"))
        f.leave(done, f.test("ne", status.get(), 0))
        going = f.slot("i8", 1)
        with f.when(f.test("ne", answer, "null", "ptr")):
            going.set(f.emit(f"load i8, ptr {answer}, align 1"))
        f.leave(done, f.test("eq", going.get(), 0, "i8"))
        status.set(f.emit(f"call i64 @graphad_steps(ptr {body}, i64 {body_rows})"))
        f.leave(done, f.test("ne", status.get(), 0))
        each_move(True)
        count.set(f.emit(f"add i64 {count.get()}, 1"))
    counted = f.emit(f"trunc i64 {count.get()} to i32")
    f.do(f"store i32 {counted}, ptr {f.pointer(w, COUNT)}, align 4")
    f.ret(f.emit(f"trunc i64 {status.get()} to i32"))
    steps = driver.text().replace("define i64", "define internal i64", 1)
    return "\n".join(["declare i64 @llvm.smax.i64(i64, i64)", steps, f.text()])


_addresses: dict[str, int] = {}


def kernel() -> int:
    """The address of the loop's step kernel."""
    with native.lock:
        if not _addresses:
            _addresses.update(native.build(text(), ["graphad_repeat"]))
        return _addresses["graphad_repeat"]
