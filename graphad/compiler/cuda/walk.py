"""The native function that runs a plan: it writes addresses into words, then launches, multiplies and loops, row after row.

A row is two words, the address of an `i64 f(ptr state, ptr block)` and that of its block of 64-bit words, whose first says which
step of the plan it belongs to. The driver and cuBLAS are called by address. A step that fails ends the walk: its number is
stored in the state, and the walk returns the status of the driver plus `DRIVER`, or of cuBLAS plus `BLAS`.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from graphad.compiler.assembly import Function, Slot
from graphad.compiler.backend import host_code
from graphad.compiler.cuda import epilogues, products, routines
from graphad.compiler.rounds import SMAX, Moves, check_rounds
from graphad.compiler.rows import (
    ANSWER,
    BODY,
    BODY_ROWS,
    COUNT,
    FIXED,
    LIMIT,
    LIMIT_BYTES,
    TEST,
    TEST_ROWS,
)
from graphad.core import forks
from graphad.devices.library import address_of

DRIVER, BLAS, SOLVERS = 1 << 32, 2 << 32, 3 << 32
NO_ANSWER = -4  # status: a routine has none for these numbers
INTERRUPTED = 79  # status: a signal's handler raised; the exception waits in the thread
ROUNDS_UNSEEN = (
    16  # of a loop, between two looks at signals, and at the word that says that there is no answer
)

# Words of the state.
(
    STREAM,
    HANDLE,
    WORKSPACE,
    WORKSPACE_BYTES,
    LAUNCH,
    READ,
    WAIT,
    SET_32,
    REPLAY,
    SET_STREAM,
    SET_WORKSPACE,
    ENSURE,
    SIGNALS,
    RELEASE,
    SAVE,
    RESTORE,
    FAILED,
    TABLE,
    ROWS,
    PATCHES,
    PATCH_COUNT,
    ADDRESSES,
    ROUNDED,
    SOLVER,
    VERDICT,
) = range(25)
STATE_WORDS = 25
_DRIVER = {
    LAUNCH: "cuLaunchKernel",
    READ: "cuMemcpyDtoHAsync_v2",
    WAIT: "cuStreamSynchronize",
    SET_32: "cuMemsetD32Async",
    REPLAY: "cuGraphLaunch",
}
_BLAS = {SET_STREAM: "cublasSetStream_v2", SET_WORKSPACE: "cublasSetWorkspace_v2"}
_PYTHON = {
    ENSURE: "PyGILState_Ensure",
    SIGNALS: "PyErr_CheckSignals",
    RELEASE: "PyGILState_Release",
    SAVE: "PyEval_SaveThread",
    RESTORE: "PyEval_RestoreThread",
}
GEMMS = tuple([f"cublas{letter}gemmStridedBatched" for letter in "SDCZ"])  # by `WIDE`

# Words of a patch: the address of a word, the argument whose address it becomes, and bytes that are added.
PATCH_WORDS = 3
# Words of a launch, before those that the kernel takes; PARAMETERS is the address of the addresses of these.
ABOUT, FUNCTION, BLOCKS, ACROSS, DOWN, SHARED, PARAMETERS = range(7)
LAUNCH_HEAD = 7
# Words of a product, before those of `products`.
GEMM, ONE, ZERO = range(1, 4)
PRODUCT_HEAD = 4
# Words of a product with an ending, before those of `epilogues`: it has two descriptions, three layouts and four algorithms.
MATMUL, SET, ENDED_ONE, ENDED_ZERO, DESCRIBED, LAYOUTS, ALGORITHMS = 1, 2, 3, 4, 5, 7, 10
ENDED_HEAD = 14
LOOP_HEAD = 1  # before those of `rows`
GRAPH = 1  # the only word of a step that replays what was captured


def _checked(f: Function, status: str, kind: int) -> None:
    """Return the status of a call to the driver or a library if it is not 0."""
    with f.when(f.test("ne", status, 0, "i32")):
        f.ret(f.emit(f"or i64 {f.emit(f'zext i32 {status} to i64')}, {kind}"))


def _passed(f: Function, status: str) -> None:
    with f.when(f.test("ne", status, 0)):
        f.ret(status)


def _steps() -> str:
    f = Function("i64 @steps(ptr %state, ptr %table, i64 %count)", "internal")
    with f.loop(0, "%count") as row:
        place = f.at("%table", f.emit(f"shl i64 {row}, 1"))
        function, block = f.pointer(place, 0), f.pointer(place, 1)
        status = f.emit(f"call i64 {function}(ptr %state, ptr {block})")
        with f.when(f.test("ne", status, 0)):
            with f.when(f.test("slt", f.word("%state", FAILED), 0)):
                f.set_word("%state", FAILED, f.word(block, ABOUT))
            f.ret(status)
    f.ret(0)
    return f.text()


def _launch() -> str:
    f = Function("i64 @graphad_cuda_launch(ptr %state, ptr %block)")
    blocks, across, down, shared = (
        f.emit(f"trunc i64 {f.word('%block', word)} to i32") for word in (BLOCKS, ACROSS, DOWN, SHARED)
    )
    function, parameters = f.pointer("%block", FUNCTION), f.pointer("%block", PARAMETERS)
    stream = f.pointer("%state", STREAM)
    status = f.emit(
        f"call i32 {f.pointer('%state', LAUNCH)}(ptr {function}, i32 {blocks}, i32 1, i32 1, i32 {across}, i32 {down}, "
        f"i32 1, i32 {shared}, ptr {stream}, ptr {parameters}, ptr null)"
    )
    _checked(f, status, DRIVER)
    f.ret(0)
    return f.text()


def _replay() -> str:
    f = Function("i64 @graphad_cuda_replay(ptr %state, ptr %block)")
    graph, stream = f.pointer("%block", GRAPH), f.pointer("%state", STREAM)
    _checked(f, f.emit(f"call i32 {f.pointer('%state', REPLAY)}(ptr {graph}, ptr {stream})"), DRIVER)
    f.ret(0)
    return f.text()


def _use_stream() -> str:
    """The first row of a plan with products: sets cuBLAS to the plan's stream and its workspace."""
    f = Function("i64 @graphad_cuda_stream(ptr %state, ptr %block)")
    handle = f.pointer("%state", HANDLE)
    stream = f.pointer("%state", STREAM)
    _checked(f, f.emit(f"call i32 {f.pointer('%state', SET_STREAM)}(ptr {handle}, ptr {stream})"), BLAS)
    place, size = f.pointer("%state", WORKSPACE), f.word("%state", WORKSPACE_BYTES)
    call = f"call i32 {f.pointer('%state', SET_WORKSPACE)}(ptr {handle}, ptr {place}, i64 {size})"
    _checked(f, f.emit(call), BLAS)
    f.ret(0)
    return f.text()


def _product() -> str:
    f = Function("i64 @graphad_cuda_product(ptr %state, ptr %block)")

    def word(k: int) -> str:
        return f.word("%block", PRODUCT_HEAD + k)

    def number(k: int) -> str:
        return f.emit(f"trunc i64 {word(k)} to i32")

    m, n, k = number(products.M), number(products.N), number(products.K)
    turn_a, turn_b = number(products.TURN_A), number(products.TURN_B)
    lead_a, lead_b, lead_c = number(products.LEAD_A), number(products.LEAD_B), number(products.LEAD_C)
    doubled = f.emit(f"lshr i64 {f.emit(f'add i64 {word(products.WIDE)}, 1')}, 1")
    size = f.emit(f"shl i64 4, {doubled}")  # bytes of an element: 4, 8, 8, 16
    # The innermost axis is cuBLAS' own; all others are walked here, one position for each of their elements.
    axes = word(products.AXES)
    outer = f.emit(f"sub i64 {axes}, 1")
    total = f.slot("i64", 1)
    first = f.at("%block", PRODUCT_HEAD + products.AXES + 1)
    with f.loop(0, outer) as axis:
        count = f.word(first, f.emit(f"shl i64 {axis}, 2"))
        total.set(f.emit(f"mul i64 {total.get()}, {count}"))
    inner = f.at(first, f.emit(f"shl i64 {outer}, 2"))
    batch = f.emit(f"trunc i64 {f.word(inner, 0)} to i32")
    steps = [f.word(inner, k) for k in (1, 2, 3)]
    with f.loop(0, total.get()) as place:
        rest = f.slot("i64", place)
        offsets = [f.slot("i64", word(operand)) for operand in products.PLACES]
        with f.loop(0, outer) as k_axis:
            axis = f.emit(f"sub i64 {f.emit(f'sub i64 {outer}, 1')}, {k_axis}")
            at = f.at(first, f.emit(f"shl i64 {axis}, 2"))
            count = f.word(at, 0)
            index = f.emit(f"urem i64 {rest.get()}, {count}")
            rest.set(f.emit(f"udiv i64 {rest.get()}, {count}"))
            for operand, slot in enumerate(offsets):
                moved = f.emit(f"mul i64 {f.emit(f'mul i64 {index}, {f.word(at, 1 + operand)}')}, {size}")
                slot.set(f.emit(f"add i64 {slot.get()}, {moved}"))
        a, b, c = (slot.get() for slot in offsets)
        handle, one, zero = f.pointer("%state", HANDLE), f.pointer("%block", ONE), f.pointer("%block", ZERO)
        status = f.emit(
            f"call i32 {f.pointer('%block', GEMM)}(ptr {handle}, i32 {turn_b}, i32 {turn_a}, i32 {n}, i32 {m}, i32 {k}, "
            f"ptr {one}, i64 {b}, i32 {lead_b}, i64 {steps[1]}, i64 {a}, i32 {lead_a}, i64 {steps[0]}, "
            f"ptr {zero}, i64 {c}, i32 {lead_c}, i64 {steps[2]}, i32 {batch})"
        )
        _checked(f, status, BLAS)
    f.ret(0)
    return f.text()


def _ended() -> str:
    """A product of cuBLASLt's, which is told the address of its vector before, with the algorithm for these addresses."""
    f = Function("i64 @graphad_cuda_ended(ptr %state, ptr %block)")
    handle, rounded = f.pointer("%state", HANDLE), f.word("%state", ROUNDED)
    described = f.pointer("%block", f.emit(f"add i64 {rounded}, {DESCRIBED}"))
    vector = f.at("%block", ENDED_HEAD + epilogues.VECTOR)
    call = f"call i32 {f.pointer('%block', SET)}(ptr {described}, i32 {epilogues.BIAS_POINTER}, ptr {vector}, i64 8)"
    _checked(f, f.emit(call), BLAS)
    places = [f.word("%block", ENDED_HEAD + k) for k in epilogues.PLACES]
    bits = places[0]
    for place in places[1:]:
        bits = f.emit(f"or i64 {bits}, {place}")
    odd = f.test("ne", f.emit(f"and i64 {bits}, {epilogues.ALIGNED - 1}"), 0)
    which = f.emit(f"add i64 {f.emit(f'shl i64 {rounded}, 1')}, {f.emit(f'zext i1 {odd} to i64')}")
    algorithm = f.pointer("%block", f.emit(f"add i64 {which}, {ALGORITHMS}"))
    a, b, c = (f.pointer("%block", LAYOUTS + k) for k in range(3))
    one, zero = f.pointer("%block", ENDED_ONE), f.pointer("%block", ENDED_ZERO)
    memory, size, stream = (f.word("%state", k) for k in (WORKSPACE, WORKSPACE_BYTES, STREAM))
    status = f.emit(
        f"call i32 {f.pointer('%block', MATMUL)}(ptr {handle}, ptr {described}, ptr {one}, i64 {places[1]}, ptr {a}, "
        f"i64 {places[0]}, ptr {b}, ptr {zero}, i64 {places[2]}, ptr {c}, i64 {places[2]}, ptr {c}, ptr {algorithm}, "
        f"i64 {memory}, i64 {size}, i64 {stream})"
    )
    _checked(f, status, BLAS)
    f.ret(0)
    return f.text()


def _read(f: Function, source: str, size: str | int, target: str) -> None:
    """Copy a number to the host after all earlier work on the stream."""
    stream = f.pointer("%state", STREAM)
    call = f"call i32 {f.pointer('%state', READ)}(ptr {target}, i64 {source}, i64 {size}, ptr {stream})"
    _checked(f, f.emit(call), DRIVER)
    _checked(f, f.emit(f"call i32 {f.pointer('%state', WAIT)}(ptr {stream})"), DRIVER)


def _set_32(f: Function, place: str, number: str) -> None:
    """Store a number of 32 bits on the device, behind all earlier work on the stream."""
    stream = f.pointer("%state", STREAM)
    call = f"call i32 {f.pointer('%state', SET_32)}(i64 {place}, i32 {number}, i64 1, ptr {stream})"
    _checked(f, f.emit(call), DRIVER)


def _call() -> str:
    """A routine of cuSOLVER's. Arguments are words of 64 bits; where C declares an int, x86-64 and ARM take the low half."""
    f = Function("i64 @graphad_cuda_call(ptr %state, ptr %block)")
    given = ", ".join(f"i64 {f.word('%block', 2 + k)}" for k in range(routines.ARGUMENTS - 1))
    handle = f.pointer("%state", SOLVER)
    _checked(f, f.emit(f"call i32 {f.pointer('%block', 1)}(ptr {handle}, {given})"), SOLVERS)
    f.ret(0)
    return f.text()


def _look(f: Function, place: str, held: Slot) -> None:
    """Return a status if the word at an address is not 0, which it is then for the next run."""
    held.set(0)
    _read(f, place, 4, held.address)
    with f.when(f.test("ne", held.get(), 0)):
        _set_32(f, place, "0")
        f.ret(NO_ANSWER)


def _answer() -> str:
    """Whether the word at an address is 0."""
    f = Function("i64 @graphad_cuda_answer(ptr %state, ptr %block)")
    _look(f, f.word("%block", 1), f.slot("i64", 0))
    f.ret(0)
    return f.text()


def _loop() -> str:
    f = Function("i64 @graphad_cuda_loop(ptr %state, ptr %block)")
    w = f.at("%block", LOOP_HEAD)
    held = f.slot("i64", 0)
    limit = f.slot("i64", f.word(w, FIXED))
    place = f.word(w, LIMIT)
    with f.when(f.test("ne", place, 0)):
        width = f.word(w, LIMIT_BYTES)
        _read(f, place, width, held.address)
        limit.set(held.get())
        with f.when(f.test("eq", width, 4)):
            limit.set(f.emit(f"sext i32 {f.emit(f'trunc i64 {held.get()} to i32')} to i64"))
    end = limit.get()
    check_rounds(f, w, end)
    moves = Moves(f, w, end)
    moves.begin()
    body, body_rows = f.pointer(w, BODY), f.word(w, BODY_ROWS)
    test, test_rows = f.pointer(w, TEST), f.word(w, TEST_ROWS)
    answer = f.word(w, ANSWER)
    count = f.slot("i64", 0)
    going = f.slot("i8", 1)
    with f.forever() as done:
        f.leave(done, f.test("sge", count.get(), end))
        seen = f.emit(f"and i64 {f.emit(f'add i64 {count.get()}, 1')}, {ROUNDS_UNSEEN - 1}")
        with f.when(f.test("eq", seen, 0)):
            thread = f.emit(f"call i32 {f.pointer('%state', ENSURE)}()")
            came = f.emit(f"call i32 {f.pointer('%state', SIGNALS)}()")
            f.do(f"call void {f.pointer('%state', RELEASE)}(i32 {thread})")
            with f.when(f.test("ne", came, 0, "i32")):
                f.ret(INTERRUPTED)
            # A result that was not computed may be any bits, and a loop that tests it might never end.
            verdict = f.word("%state", VERDICT)
            waits = f.test("ne", f.emit(f"or i64 {answer}, {place}"), 0)
            with f.when(f.emit(f"and i1 {waits}, {f.test('ne', verdict, 0)}")):
                _look(f, verdict, held)
        with f.when(f.test("ne", answer, 0)):
            _passed(f, f.emit(f"call i64 @steps(ptr %state, ptr {test}, i64 {test_rows})"))
            _read(f, answer, 1, going.address)
        f.leave(done, f.test("eq", going.get(), 0, "i8"))
        _passed(f, f.emit(f"call i64 @steps(ptr %state, ptr {body}, i64 {body_rows})"))
        moves.advance()
        count.set(f.emit(f"add i64 {count.get()}, 1"))
    _set_32(f, f.word(w, COUNT), f.emit(f"trunc i64 {count.get()} to i32"))
    f.ret(0)
    return f.text()


def _branch() -> str:
    """Walks the first table where the byte on the device is not 0, else the second."""
    f = Function("i64 @graphad_cuda_branch(ptr %state, ptr %block)")
    w = f.at("%block", LOOP_HEAD)
    Moves(f, w, "1").begin()
    held = f.slot("i8", 0)
    _read(f, f.word(w, ANSWER), 1, held.address)
    holds = f.test("ne", held.get(), 0, "i8")
    found = f.choose(holds, "ptr", f.pointer(w, BODY), f.pointer(w, TEST))
    rows = f.choose(holds, "i64", f.word(w, BODY_ROWS), f.word(w, TEST_ROWS))
    _passed(f, f.emit(f"call i64 @steps(ptr %state, ptr {found}, i64 {rows})"))
    f.ret(0)
    return f.text()


def _run() -> str:
    """The whole run, without the interpreter's lock."""
    f = Function("i64 @graphad_cuda_run(ptr %state)")
    thread = f.emit(f"call ptr {f.pointer('%state', SAVE)}()")
    f.set_word("%state", FAILED, -1)
    addresses, patches = f.pointer("%state", ADDRESSES), f.pointer("%state", PATCHES)
    with f.loop(0, f.word("%state", PATCH_COUNT)) as k:
        patch = f.at(patches, f.emit(f"mul i64 {k}, {PATCH_WORDS}"))
        value = f.emit(f"add i64 {f.word(addresses, f.word(patch, 1))}, {f.word(patch, 2)}")
        f.do(f"store i64 {value}, ptr {f.pointer(patch, 0)}, align 8")
    table, rows = f.pointer("%state", TABLE), f.word("%state", ROWS)
    status = f.emit(f"call i64 @steps(ptr %state, ptr {table}, i64 {rows})")
    f.do(f"call void {f.pointer('%state', RESTORE)}(ptr {thread})")
    f.ret(status)
    return f.text()


SYMBOLS = (
    "graphad_cuda_run",
    "graphad_cuda_launch",
    "graphad_cuda_product",
    "graphad_cuda_ended",
    "graphad_cuda_call",
    "graphad_cuda_answer",
    "graphad_cuda_loop",
    "graphad_cuda_branch",
    "graphad_cuda_stream",
    "graphad_cuda_replay",
)


def text() -> str:
    """The module."""
    return "\n".join(
        [
            SMAX,
            _steps(),
            _launch(),
            _replay(),
            _use_stream(),
            _product(),
            _ended(),
            _call(),
            _answer(),
            _loop(),
            _branch(),
            _run(),
        ]
    )


_lock = forks.lock()


@functools.cache
def addresses() -> dict[str, int]:
    """The addresses of the functions of rows, by the last word of their names."""
    with _lock:
        found = host_code(text(), SYMBOLS)
    return {name.rpartition("_")[2]: address for name, address in found.items()}


@functools.cache
def entry() -> Any:
    """The function that runs a state. An exception from a signal handler during the run is raised."""
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses()["run"])


def new_state(has_products: bool) -> ctypes.Array[ctypes.c_int64]:
    """A state with the addresses of all called functions."""
    words = (ctypes.c_int64 * STATE_WORDS)()
    for word, name in _PYTHON.items():
        words[word] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    for word, name in {**_DRIVER, **(_BLAS if has_products else {})}.items():
        words[word] = address_of(name)
    return words


def gemm(wide: int) -> int:
    """The address of cuBLAS' product of one of `products.DTYPES`."""
    return address_of(GEMMS[wide])
