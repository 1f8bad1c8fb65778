"""The entry's native code, as LLVM IR text.

`graphad_run(self, args, n)`, `graphad_bound_run`, `graphad_check`, `graphad_bound_check` and
`graphad_pointer` are METH_FASTCALL functions: they read arguments' memory by the verified layout, and
everything of CPython that they need is a word of the context table, so that the object code refers to no
symbol. Word numbers of the tables live here; `entry` and `plan_block` fill them in.
"""

from __future__ import annotations

from graphad.compiler.assembly import Function, Slot
from graphad.compiler.cpu.runtime import driver
from graphad.compiler.cpu.runtime.layout import Layout

MAGIC = 0x6772_6170_6861_6431

# context table
(
    ARRAY_TYPE,
    SAVE,
    RESTORE,
    FROM_INT,
    AS_INT,
    INT_TYPE,
    RAISE,
    TYPE_ERROR,
    KEEP,
    DROP,
    OCCURRED,
    HOLDERS,
    SCALARS,
) = range(13)
# first words of the (type, offset) and (type, offset, dtype number) rows
HOLDER_ROWS, SCALAR_ROWS = 16, 48
HOLDER_LIMIT, SCALAR_LIMIT = 16, 48
CONTEXT_WORDS = SCALAR_ROWS + 3 * SCALAR_LIMIT

# instance header
(
    H_MAGIC,
    H_CONTEXT,
    H_FLAGS,
    H_STEPS,
    H_TABLE,
    H_BLOCK,
    H_PATCHES,
    H_PATCH_TABLE,
    H_ARGUMENTS,
    H_GUARD,
    H_HELD,
    H_BUSY,
    H_FAILED,
    H_MESSAGES,
) = range(14)
HEADER_WORDS = 16
# flag: the work is long enough to let other Python threads run
RELEASE_LOCK = 1
# flag beside it: steps of the plan run Python, where other threads get their turns; the lock is kept in between
KEEP_LOCK = 2
PATCH_WORDS = 3  # argument, block word, byte offset

# guard: context, count, then for each argument dtype number, flags, rank, sizes
G_CONTEXT, G_COUNT, G_ROWS = range(3)
ANY = -1  # any dtype, any rank, any size
# size -(SAME + argument * 64 + axis): equal to that axis of an earlier argument
SAME = 2
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400

# answers of `run` that are not a kernel's status
WRONG_TYPE, BUSY, WRONG_COUNT, GUARD_MISS, NOT_READY, NO_INSTANCE = (
    -1001,
    -1002,
    -1003,
    -1004,
    driver.NOT_READY,
    -1006,
)

SYMBOLS = ("graphad_run", "graphad_bound_run", "graphad_check", "graphad_bound_check", "graphad_pointer")


class _Printer:
    """Prints the entry for one layout."""

    def __init__(self, layout: Layout) -> None:
        self.at = layout

    def unwrap(self) -> str:
        """An argument that holds its array in a slot stands for that array; null when the slot is empty."""
        f = Function("ptr @unwrap(ptr %object, ptr %context)", "internal", "nounwind alwaysinline")
        kind = f.field("%object", self.at.kind, "ptr")
        array_type = f.pointer("%context", ARRAY_TYPE)
        with f.when(f.test("eq", kind, array_type, "ptr")):
            f.ret("%object")
        count = f.word("%context", HOLDERS)
        with f.loop(0, count) as k:
            row = f.at("%context", f.emit(f"add i64 {HOLDER_ROWS}, {f.emit(f'shl i64 {k}, 1')}"))
            with f.when(f.test("eq", kind, f.pointer(row, 0), "ptr")):
                f.ret(f.emit(f"load ptr, ptr {f.at('%object', f.word(row, 1), 'i8')}"))
        f.ret("%object")
        return f.text()

    def data(self) -> str:
        """Address of the first element of an exact ndarray or of a scalar's value; null for anything else."""
        f = Function("ptr @data(ptr %wrapped, ptr %context)", "internal", "nounwind alwaysinline")
        thing = f.emit("call ptr @unwrap(ptr %wrapped, ptr %context)")
        with f.when(f.test("eq", thing, "null", "ptr")):
            f.ret("null")
        kind = f.field(thing, self.at.kind, "ptr")
        with f.when(f.test("eq", kind, f.pointer("%context", ARRAY_TYPE), "ptr")):
            f.ret(f.field(thing, self.at.data, "ptr"))
        f.ret(f.emit(f"call ptr @scalar(ptr {thing}, ptr {kind}, ptr %context, i64 {ANY})"))
        return f.text()

    def scalar(self) -> str:
        """Address of the value of a NumPy scalar whose dtype number is `number` (or any); null for anything
        else.
        """
        f = Function("ptr @scalar(ptr %object, ptr %kind, ptr %context, i64 %number)", "internal")
        any_number = f.test("eq", "%number", ANY)
        with f.loop(0, f.word("%context", SCALARS)) as k:
            row = f.at("%context", f.emit(f"add i64 {SCALAR_ROWS}, {f.emit(f'mul i64 {k}, 3')}"))
            with f.when(f.test("eq", "%kind", f.pointer(row, 0), "ptr")):
                same = f.test("eq", f.word(row, 2), "%number")
                with f.when(f.emit(f"or i1 {same}, {any_number}")):
                    f.ret(f.at("%object", f.word(row, 1), "i8"))
                f.ret("null")
        f.ret("null")
        return f.text()

    def guard(self) -> str:
        """1 when every argument is what its record of the guard says."""
        f = Function("i1 @guard(ptr %guard, ptr %args, i64 %count)", "internal")
        context = f.pointer("%guard", G_CONTEXT)
        array_type = f.pointer(context, ARRAY_TYPE)
        with f.when(f.test("ne", "%count", f.word("%guard", G_COUNT))):
            f.ret("false")
        record = f.slot("i64", G_ROWS)
        with f.loop(0, "%count") as k:
            thing = f.emit(f"call ptr @unwrap(ptr {f.pointer('%args', k)}, ptr {context})")
            with f.when(f.test("eq", thing, "null", "ptr")):
                f.ret("false")
            row = f.at("%guard", record.get())
            number, flags, rank = f.word(row, 0), f.word(row, 1), f.word(row, 2)
            kind = f.field(thing, self.at.kind, "ptr")
            is_array = f.test("eq", kind, array_type, "ptr")
            with f.when(f.emit(f"xor i1 {is_array}, true")):
                self.guard_scalar(f, thing, kind, context, number, flags, rank)
            with f.when(is_array):
                self.guard_array(f, thing, number, flags, rank, row, context)
            known = f.emit(f"call i64 @llvm.smax.i64(i64 {rank}, i64 0)")
            record.set(f.emit(f"add i64 {record.get()}, {f.emit(f'add i64 {known}, 3')}"))
        f.ret("true")
        return f.text()

    def guard_scalar(
        self, f: Function, thing: str, kind: str, context: str, number: str, flags: str, rank: str
    ) -> None:
        with f.when(f.test("sgt", rank, 0)):
            f.ret("false")
        with f.when(f.test("ne", f.emit(f"and i64 {flags}, {WRITEABLE}"), 0)):
            f.ret("false")
        value = f.emit(f"call ptr @scalar(ptr {thing}, ptr {kind}, ptr {context}, i64 {number})")
        with f.when(f.test("eq", value, "null", "ptr")):
            f.ret("false")

    def guard_array(
        self, f: Function, thing: str, number: str, flags: str, rank: str, row: str, context: str
    ) -> None:
        dtype = f.field(thing, self.at.dtype, "ptr")
        actual = f.emit(f"sext i32 {f.field(dtype, self.at.number, 'i32')} to i64")
        wrong_number = f.test("ne", actual, number)
        with f.when(f.emit(f"and i1 {wrong_number}, {f.test('ne', number, ANY)}")):
            f.ret("false")
        with f.when(f.test("eq", f.field(dtype, self.at.order, "i8"), ord(">"), "i8")):
            f.ret("false")
        actual_flags = f.emit(f"zext i32 {f.field(thing, self.at.flags, 'i32')} to i64")
        with f.when(f.test("ne", f.emit(f"and i64 {actual_flags}, {flags}"), flags)):
            f.ret("false")
        actual_rank = f.emit(f"sext i32 {f.field(thing, self.at.rank, 'i32')} to i64")
        wrong_rank = f.test("ne", actual_rank, rank)
        with f.when(f.emit(f"and i1 {wrong_rank}, {f.test('ne', rank, ANY)}")):
            f.ret("false")
        sizes = f.field(thing, self.at.sizes, "ptr")
        with f.loop(0, rank) as axis:
            expected = f.slot("i64", f.word(f.at(row, axis), 3))
            actual = f.word(sizes, axis)
            with f.when(f.test("sle", expected.get(), -SAME)):
                self.earlier_size(f, expected, context)
            differs = f.test("ne", actual, expected.get())
            with f.when(f.emit(f"and i1 {differs}, {f.test('ne', expected.get(), ANY)}")):
                f.ret("false")

    def earlier_size(self, f: Function, expected: Slot, context: str) -> None:
        """Replace a coded size by the actual one of an earlier argument, whose record has already been
        accepted.
        """
        code = f.emit(f"sub i64 {-SAME}, {expected.get()}")
        argument, axis = f.emit(f"lshr i64 {code}, 6"), f.emit(f"and i64 {code}, 63")
        thing = f.emit(f"call ptr @unwrap(ptr {f.pointer('%args', argument)}, ptr {context})")
        sizes = f.field(thing, self.at.sizes, "ptr")
        expected.set(f.word(sizes, axis))

    def execute(self) -> str:
        """Guard, patch, run; the answer of `run`."""
        f = Function("i64 @execute(ptr %header, ptr %args, i64 %count)", "internal")
        h = "%header"
        with f.when(f.test("ne", f.word(h, H_MAGIC), MAGIC)):
            f.ret(NO_INSTANCE)
        with f.when(f.test("ne", "%count", f.word(h, H_ARGUMENTS))):
            f.ret(WRONG_COUNT)
        with f.when(f.test("ne", f.word(h, H_BUSY), 0)):
            f.ret(BUSY)
        guard = f.pointer(h, H_GUARD)
        with f.when(f.test("ne", guard, "null", "ptr")):
            with f.when(
                f.emit(f"xor i1 {f.emit(f'call i1 @guard(ptr {guard}, ptr %args, i64 %count)')}, true")
            ):
                f.ret(GUARD_MISS)
        context, block = f.pointer(h, H_CONTEXT), f.pointer(h, H_BLOCK)
        patches, argument, address = f.pointer(h, H_PATCH_TABLE), f.slot("i64", -1), f.slot("ptr", "null")
        with f.loop(0, f.word(h, H_PATCHES)) as k:
            row = f.at(patches, f.emit(f"mul i64 {k}, {PATCH_WORDS}"))
            wanted = f.word(row, 0)
            # rows are sorted by argument
            with f.when(f.test("ne", wanted, argument.get())):
                argument.set(wanted)
                address.set(f.emit(f"call ptr @data(ptr {f.pointer('%args', wanted)}, ptr {context})"))
                with f.when(f.test("eq", address.get(), "null", "ptr")):
                    f.ret(WRONG_TYPE)
            value = f.at(address.get(), f.word(row, 2), "i8")
            f.do(f"store ptr {value}, ptr {f.at(block, f.word(row, 1))}, align 8")
        result = f.slot("i64")
        table, steps = f.pointer(h, H_TABLE), f.word(h, H_STEPS)
        f.set_word(h, H_BUSY, 1)  # read and written only under the interpreter's lock
        release = f.test("ne", f.emit(f"and i64 {f.word(h, H_FLAGS)}, {RELEASE_LOCK}"), 0)
        with f.when(release):
            result.set(f.emit("call i64 @release_and_run(ptr %header, ptr %args, i64 %count)"))
        with f.when(f.emit(f"xor i1 {release}, true")):
            result.set(f.emit(f"call i64 @graphad_steps(ptr {table}, i64 {steps})"))
        f.set_word(h, H_BUSY, 0)
        with f.when(f.test("eq", result.get(), 0)):
            f.ret(0)
        f.set_word(h, H_FAILED, f.emit(f"sub i64 {f.emit(f'lshr i64 {result.get()}, 32')}, 1"))
        f.ret(f.emit(f"sext i32 {f.emit(f'trunc i64 {result.get()} to i32')} to i64"))
        return f.text()

    def release_and_run(self) -> str:
        """Run without the interpreter's lock. A holder may be given another array meanwhile: the arrays in
        use are kept alive.
        """
        f = Function(
            "i64 @release_and_run(ptr %header, ptr %args, i64 %count)", "internal", "nounwind noinline"
        )
        h = "%header"
        context, held = f.pointer(h, H_CONTEXT), f.pointer(h, H_HELD)
        with f.loop(0, "%count") as k:
            thing = f.emit(f"call ptr @unwrap(ptr {f.pointer('%args', k)}, ptr {context})")
            f.do(f"store ptr {thing}, ptr {f.at(held, k)}")
            f.do(f"call void {f.pointer(context, KEEP)}(ptr {thing})")
        free = f.test("eq", f.emit(f"and i64 {f.word(h, H_FLAGS)}, {KEEP_LOCK}"), 0)
        state = f.slot("ptr", "null")
        with f.when(free):
            state.set(f.emit(f"call ptr {f.pointer(context, SAVE)}()"))
        result = f.emit(f"call i64 @graphad_steps(ptr {f.pointer(h, H_TABLE)}, i64 {f.word(h, H_STEPS)})")
        with f.when(free):
            f.do(f"call void {f.pointer(context, RESTORE)}(ptr {state.get()})")
        with f.loop(0, "%count") as k:
            f.do(f"call void {f.pointer(context, DROP)}(ptr {f.pointer(held, k)})")
        f.ret(result)
        return f.text()

    def address_argument(self, f: Function, context: str, message: str) -> str:
        """The first argument as an integer; anything else raises TypeError."""
        with f.when(f.test("slt", "%count", 1)):
            self.fail(f, context, message)
        number = f.pointer("%args", 0)
        with f.when(f.test("ne", f.field(number, self.at.kind, "ptr"), f.pointer(context, INT_TYPE), "ptr")):
            self.fail(f, context, message)
        value = f.emit(f"call i64 {f.pointer(context, AS_INT)}(ptr {number})")
        with f.when(f.test("eq", value, -1)):
            with f.when(f.test("ne", f.emit(f"call ptr {f.pointer(context, OCCURRED)}()"), "null", "ptr")):
                f.ret("null")
        # a table is aligned and not at zero
        with f.when(f.test("eq", f.emit(f"and i64 {value}, 7"), 0)):
            with f.when(f.test("sgt", value, 4096)):
                f.ret(self.answer(f, context, f.emit(f"inttoptr i64 {value} to ptr")))
        self.fail(f, context, message)
        return f.text()

    def fail(self, f: Function, context: str, message: str) -> None:
        error = f.pointer(context, TYPE_ERROR)
        f.do(f"call void {f.pointer(context, RAISE)}(ptr {error}, ptr {message})")
        f.ret("null")

    def answer(self, f: Function, context: str, table: str) -> str:
        """The result object of a call whose table address came as the first argument."""
        rest = f.at("%args", 1)
        count = f.emit("sub i64 %count, 1")
        if self.what == "run":
            value = f.emit(f"call i64 @execute(ptr {table}, ptr {rest}, i64 {count})")
            self.raised(f, value)
        else:
            fine = f.emit(f"call i1 @guard(ptr {table}, ptr {rest}, i64 {count})")
            value = f.emit(f"zext i1 {fine} to i64")
        return f.emit(f"call ptr {f.pointer(context, FROM_INT)}(i64 {value})")

    def raised(self, f: Function, value: str) -> None:
        """Return as a function that raised, where a signal's handler did while the plan ran."""
        with f.when(f.test("eq", value, driver.INTERRUPTED)):
            f.ret("null")

    def by_address(self, what: str) -> str:
        """`run(instance_address, *arrays)` and `check(guard_address, *arrays)`; self is the context array."""
        self.what = what
        f = Function(f"ptr @graphad_{what}(ptr %self, ptr %args, i64 %count)")
        context = f.field("%self", self.at.data, "ptr")
        return self.address_argument(f, context, f"@message_{what}")

    def bound(self, what: str) -> str:
        """The same for one table; self is a tuple whose first item is the array that begins with the table."""
        f = Function(f"ptr @graphad_bound_{what}(ptr %self, ptr %args, i64 %count)")
        table = f.field(f.field("%self", self.at.item, "ptr"), self.at.data, "ptr")
        context = f.pointer(table, H_CONTEXT if what == "run" else G_CONTEXT)
        if what == "run":
            value = f.emit(f"call i64 @execute(ptr {table}, ptr %args, i64 %count)")
            self.raised(f, value)
        else:
            value = f.emit(f"zext i1 {f.emit(f'call i1 @guard(ptr {table}, ptr %args, i64 %count)')} to i64")
        f.ret(f.emit(f"call ptr {f.pointer(context, FROM_INT)}(i64 {value})"))
        return f.text()

    def pointer(self) -> str:
        """`array_pointer(array)`: the address of its first element; self is the context array."""
        f = Function("ptr @graphad_pointer(ptr %self, ptr %args, i64 %count)")
        context = f.field("%self", self.at.data, "ptr")
        with f.when(f.test("eq", "%count", 1)):
            address = f.emit(f"call ptr @data(ptr {f.pointer('%args', 0)}, ptr {context})")
            with f.when(f.test("ne", address, "null", "ptr")):
                number = f.emit(f"ptrtoint ptr {address} to i64")
                f.ret(f.emit(f"call ptr {f.pointer(context, FROM_INT)}(i64 {number})"))
        self.fail(f, context, "@message_pointer")
        return f.text()


MESSAGES = {
    "run": "run: the first argument must be the address of a plan instance, an int",
    "check": "check: the first argument must be the address of a guard, an int",
    "pointer": "array_pointer: takes exactly one numpy.ndarray or NumPy scalar",
}


def text(layout: Layout) -> str:
    """The whole module."""
    printer = _Printer(layout)
    strings = [
        f'@message_{name} = internal constant [{len(message) + 1} x i8] c"{message}\\00"'
        for name, message in MESSAGES.items()
    ]
    steps = driver.text().replace("define i64", "define internal i64", 1)
    functions = [
        printer.unwrap(),
        printer.scalar(),
        printer.data(),
        printer.guard(),
        printer.execute(),
        printer.release_and_run(),
        printer.by_address("run"),
        printer.by_address("check"),
        printer.bound("run"),
        printer.bound("check"),
        printer.pointer(),
    ]
    return "\n".join([*strings, "declare i64 @llvm.smax.i64(i64, i64)", steps, *functions])
