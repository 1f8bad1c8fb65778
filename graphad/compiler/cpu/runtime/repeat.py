"""A loop as one plan step: walk a table of steps again and again, moving pointers from slice to slice.

The block is laid out in `compiler/rows.py`.

A loop may run for ever. So one that is not known to be short reads the clock from time to time, and each second it calls a
function of Python's that does nothing: before that the interpreter handles signals, and exceptions that other threads raise in
this one. A handler that raises, as that of Ctrl-C does, ends the loop, and so does such an exception.
"""

from __future__ import annotations

import ctypes
import sys

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, growing, native
from graphad.compiler.rounds import SMAX, Moves, check_rounds
from graphad.compiler.rows import (
    ANSWER,
    BODY,
    BODY_ROWS,
    COUNT,
    FIXED,
    LIMIT,
    LIMIT_BYTES,
    POLL,
    S_CAPACITY,
    S_FIRST,
    S_GROWN,
    STACKS,
    TEST,
    TEST_ROWS,
)

# words of the table at `poll`: the clock in seconds, and what calls a function of Python's under the interpreter's lock
CLOCK, ENSURE, CALL, FUNCTION, DROP, RELEASE = range(6)
MOST_UNSEEN = 1024  # rounds between two reads of the clock


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
    end = limit.get()
    check_rounds(f, w, end)
    # The stacks of a loop of unknown length, null where there are none, and the round before which they need more room.
    at_stacks, room = f.word(w, STACKS), f.slot("i64", (1 << 63) - 1)
    has_stacks, stacks = f.test("ne", at_stacks, 0), f.at(w, at_stacks)
    with f.when(has_stacks):
        begun = f.emit(f"call i64 @stacks_begin(ptr {stacks}, i64 {end})")
        with f.when(f.test("ne", begun, 0)):
            f.ret(f.emit(f"trunc i64 {begun} to i32"))
        with f.when(f.test("ne", f.word(stacks, S_GROWN), 0)):
            room.set(f.emit(f"sub i64 {f.word(stacks, S_CAPACITY)}, {f.word(stacks, S_FIRST)}"))
    moves = Moves(f, w, end)
    moves.begin()
    body, body_rows = f.pointer(w, BODY), f.word(w, BODY_ROWS)
    test, test_rows = f.pointer(w, TEST), f.word(w, TEST_ROWS)
    answer = f.pointer(w, ANSWER)
    count, status = f.slot("i64", 0), f.slot("i64", 0)
    # The next round to stop at or to read the clock; the distance doubles while the second is unchanged.
    stop, apart, second = f.slot("i64", end), f.slot("i64", 1), f.slot("i64", 0)
    poll = f.pointer(w, POLL)
    with f.when(f.test("ne", poll, "null", "ptr")):
        second.set(f.emit(f"call i64 {f.pointer(poll, CLOCK)}(ptr null)"))
        stop.set(f.emit(f"call i64 @llvm.smin.i64(i64 {end}, i64 1)"))
    with f.forever() as done:
        with f.when(f.test("sge", count.get(), stop.get())):
            f.leave(done, f.test("sge", count.get(), end))
            now = f.emit(f"call i64 {f.pointer(poll, CLOCK)}(ptr null)")
            is_same = f.test("eq", now, second.get())
            with f.when(f.emit(f"xor i1 {is_same}, true")):
                state = f.emit(f"call i32 {f.pointer(poll, ENSURE)}()")
                result = f.emit(f"call ptr {f.pointer(poll, CALL)}(ptr {f.pointer(poll, FUNCTION)})")
                is_raised = f.test("eq", result, "null", "ptr")
                with f.when(f.emit(f"xor i1 {is_raised}, true")):
                    f.do(f"call void {f.pointer(poll, DROP)}(ptr {result})")
                f.do(f"call void {f.pointer(poll, RELEASE)}(i32 {state})")
                status.set(f.choose(is_raised, "i64", driver.INTERRUPTED, 0))
            f.leave(done, f.test("ne", status.get(), 0))
            second.set(now)
            longer = f.emit(
                f"call i64 @llvm.smin.i64(i64 {f.emit(f'shl i64 {apart.get()}, 1')}, i64 {MOST_UNSEEN})"
            )
            apart.set(f.choose(is_same, "i64", longer, 1))
            ahead = f.emit(f"add i64 {count.get()}, {apart.get()}")
            stop.set(f.emit(f"call i64 @llvm.smin.i64(i64 {end}, i64 {ahead})"))
        with f.when(f.test("ne", answer, "null", "ptr")):
            status.set(f.emit(f"call i64 @graphad_steps(ptr {test}, i64 {test_rows})"))
        f.leave(done, f.test("ne", status.get(), 0))
        going = f.slot("i8", 1)
        with f.when(f.test("ne", answer, "null", "ptr")):
            going.set(f.emit(f"load i8, ptr {answer}, align 1"))
        f.leave(done, f.test("eq", going.get(), 0, "i8"))
        with f.when(f.test("sge", count.get(), room.get())):
            first = f.word(stacks, S_FIRST)
            wanted = f.emit(f"add i64 {f.emit(f'add i64 {first}, {count.get()}')}, 1")
            status.set(f.emit(f"call i64 @stacks_ask(ptr {stacks}, i64 {wanted})"))
            f.leave(done, f.test("ne", status.get(), 0))
            room.set(f.emit(f"sub i64 {f.word(stacks, S_CAPACITY)}, {first}"))
            moves.follow(count.get())
        status.set(f.emit(f"call i64 @graphad_steps(ptr {body}, i64 {body_rows})"))
        f.leave(done, f.test("ne", status.get(), 0))
        moves.advance()
        count.set(f.emit(f"add i64 {count.get()}, 1"))
    with f.when(has_stacks):
        f.do(f"call void @stacks_end(ptr {stacks}, i64 {count.get()})")
    counted = f.emit(f"trunc i64 {count.get()} to i32")
    f.do(f"store i32 {counted}, ptr {f.pointer(w, COUNT)}, align 4")
    f.ret(f.emit(f"trunc i64 {status.get()} to i32"))
    steps = driver.text().replace("define i64", "define internal i64", 1)
    return "\n".join([SMAX, "declare i64 @llvm.smin.i64(i64, i64)", *growing.functions(), steps, f.text()])


def _nothing() -> None:
    """What a loop calls for the interpreter to handle what waits for it."""


_poll: ctypes.Array[ctypes.c_int64] | None = None


def poll() -> int:
    """The word POLL of a loop that signals and other threads may end; 0 for a short loop."""
    global _poll
    with native.lock:
        if _poll is None:
            clock = ctypes.CDLL("msvcrt")._time64 if sys.platform == "win32" else ctypes.CDLL(None).time
            api = ctypes.pythonapi
            functions = {
                CLOCK: clock,
                ENSURE: api.PyGILState_Ensure,
                CALL: api.PyObject_CallNoArgs,
                DROP: api.Py_DecRef,
                RELEASE: api.PyGILState_Release,
            }
            _poll = (ctypes.c_int64 * 6)()
            for word, function in functions.items():
                _poll[word] = ctypes.cast(function, ctypes.c_void_p).value or 0
            _poll[FUNCTION] = id(_nothing)
            native.keep_for_ever((_poll, _nothing))  # plans hold their addresses
        return ctypes.addressof(_poll)


_addresses: dict[str, int] = {}


def kernel() -> int:
    """The address of the loop's step kernel."""
    return native.once(
        _addresses,
        "graphad_repeat",
        lambda: native.printed(text, symbols=["graphad_repeat"])["graphad_repeat"],
    )
