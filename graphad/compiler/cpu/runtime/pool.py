"""Threads that sleep in native code and share the rows of a parallel region.

A region is a driver table (function, block). Rows are claimed one by one with a compare-and-swap on a word
that holds (generation << 32 | next row), so a sleeper that wakes late cannot claim a row of an older region. The caller works
too and waits only for claimed rows, so a worker that never wakes delays nothing. Every row runs whatever the others return, and
the status is that of the lowest failing row, so results do not depend on which thread ran what. A caller that finds the pool
taken, and a region inside a region, run their
rows themselves.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native
from graphad.compiler.cpu.runtime.driver import call_row
from graphad.core import forks
from graphad.core.flags import flags
from graphad.core.frames import warn_user

# words of the control block; words written by different threads are on different cache lines
WAIT, POST, WAKE, DONE, TABLE, ROWS, STOP = range(7)  # WAKE, DONE: handles of the two semaphores
TAKEN, TICKET, IDLE, FINISHED, WORST = 8, 16, 24, 32, 40
STORAGE = 48  # room for two semaphores
CONTROL_WORDS = 96
CLOSED = 0x7FFFFFFF  # a next row that no table has
NO_STATUS = (1 << 63) - 1

SYMBOLS = ("graphad_region", "graphad_worker")


def _atomic(f: Function, operation: str, address: str, value: str | int) -> str:
    return f.emit(f"atomicrmw {operation} ptr {address}, i64 {value} acq_rel, align 8")


def _load(f: Function, address: str) -> str:
    return f.emit(f"load atomic i64, ptr {address} acquire, align 8")


def _store(f: Function, address: str, value: str | int) -> None:
    f.do(f"store atomic i64 {value}, ptr {address} release, align 8")


def _wait(f: Function, semaphore: str) -> None:
    """Sleep until the semaphore is posted; a signal may end the sleep early, so ask again."""
    with f.forever() as done:
        answer = f.emit(f"call i32 {f.pointer('%control', WAIT)}(ptr {semaphore}, i64 -1)")
        f.leave(done, f.test("eq", answer, 0, "i32"))


def _post(f: Function, semaphore: int) -> None:
    post, handle = f.pointer("%control", POST), f.pointer("%control", semaphore)
    f.do(f"call i32 {post}(ptr {handle}, i64 1, i64 0)")


def _drain() -> str:
    """Claim and run rows until none is left; answers how many of the current region's rows were run here.

    Everything read before the claim belongs to the claimed generation: the ticket would have changed
    otherwise.
    """
    f = Function("i64 @drain(ptr %control, i1 %is_worker)", "internal", "nounwind noinline")
    scratch = f.slot("[2 x i64]", align=16).address
    own, ticket = f.slot("i64", 0), f.at("%control", TICKET)
    with f.forever() as done:
        seen = _load(f, ticket)
        row = f.emit(f"and i64 {seen}, {0xFFFFFFFF}")
        rows, table = _load(f, f.at("%control", ROWS)), _load(f, f.at("%control", TABLE))
        f.leave(done, f.test("sge", row, rows))
        pair = f.emit(f"cmpxchg ptr {ticket}, i64 {seen}, i64 {f.emit(f'add i64 {seen}, 1')} acq_rel acquire")
        with f.when(f.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")):
            status = call_row(f, f.emit(f"inttoptr i64 {table} to ptr"), row, scratch)
            with f.when(f.test("ne", status, 0, "i32")):
                low = f.emit(f"zext i32 {status} to i64")
                _atomic(
                    f, "min", f.at("%control", WORST), f.emit(f"or i64 {f.emit(f'shl i64 {row}, 32')}, {low}")
                )
            own.set(f.emit(f"add i64 {own.get()}, 1"))
            # the one that completes the count wakes the caller, exactly once
            with f.when("%is_worker"):
                before = _atomic(f, "add", f.at("%control", FINISHED), 1)
                with f.when(f.test("eq", before, rows)):
                    _post(f, DONE)
    f.ret(own.get())
    return f.text()


def _worker() -> str:
    f = Function("void @graphad_worker(ptr %control)")
    with f.forever() as done:
        _atomic(f, "add", f.at("%control", IDLE), 1)
        _wait(f, f.pointer("%control", WAKE))
        f.leave(done, f.test("ne", _load(f, f.at("%control", STOP)), 0))
        f.do("call i64 @drain(ptr %control, i1 true)")
    f.ret()
    return f.text()


def _wake() -> str:
    """Post once for each sleeper that is wanted; sleepers already called are no longer counted, so posts
    never pile up.
    """
    f = Function("void @wake(ptr %control, i64 %wanted)", "internal", "nounwind noinline")
    idle, count = f.at("%control", IDLE), f.slot("i64", 0)
    with f.forever() as done:
        seen = _load(f, idle)
        count.set(f.emit(f"call i64 @llvm.smin.i64(i64 {seen}, i64 %wanted)"))
        f.leave(done, f.test("sle", count.get(), 0))
        left = f.emit(f"sub i64 {seen}, {count.get()}")
        pair = f.emit(f"cmpxchg ptr {idle}, i64 {seen}, i64 {left} acq_rel acquire")
        f.leave(done, f.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"))
    with f.loop(0, count.get()):
        _post(f, WAKE)
    f.ret()
    return f.text()


def _serial() -> str:
    """Every row in order; the status of the first that fails."""
    f = Function("i32 @serial(ptr %table, i64 %rows)", "internal", "nounwind noinline")
    scratch, first = f.slot("[2 x i64]", align=16).address, f.slot("i32", 0)
    with f.loop(0, "%rows") as row:
        status = call_row(f, "%table", row, scratch)
        first.set(f.choose(f.test("eq", first.get(), 0, "i32"), "i32", status, first.get()))
    f.ret(first.get())
    return f.text()


def _region() -> str:
    """The step kernel; its block is (table, rows, control), control 0 for no pool."""
    f = Function("i32 @graphad_region(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    table, rows, control = f.pointer(w, 0), f.word(w, 1), f.pointer(w, 2)
    alone = f.emit(f"or i1 {f.test('eq', control, 'null', 'ptr')}, {f.test('slt', rows, 2)}")
    with f.when(alone):
        f.ret(f.emit(f"call i32 @serial(ptr {table}, i64 {rows})"))
    f.ret(f.emit(f"call i32 @share(ptr {table}, i64 {rows}, ptr {control})"))
    share = Function("i32 @share(ptr %table, i64 %rows, ptr %control)", "internal", "nounwind noinline")
    _share(share)
    return share.text() + f.text()


def _share(f: Function) -> None:
    c = "%control"
    taken = f.emit(f"cmpxchg ptr {f.at(c, TAKEN)}, i64 0, i64 1 acq_rel acquire")
    with f.when(f.emit(f"xor i1 {f.emit(f'extractvalue {{ i64, i1 }} {taken}, 1')}, true")):
        f.ret(f.emit("call i32 @serial(ptr %table, i64 %rows)"))
    ticket = f.at(c, TICKET)
    generation = f.emit(f"lshr i64 {_load(f, ticket)}, 32")
    closed = f.emit(f"shl i64 {f.emit(f'add i64 {generation}, 1')}, 32")
    # close the old generation before its table changes, or a late worker could claim with the new row count
    f.do(f"store atomic i64 {f.emit(f'or i64 {closed}, {CLOSED}')}, ptr {ticket} seq_cst, align 8")
    f.do("fence seq_cst")
    _store(f, f.at(c, TABLE), f.emit("ptrtoint ptr %table to i64"))
    _store(f, f.at(c, ROWS), "%rows")
    _store(f, f.at(c, FINISHED), 0)
    _store(f, f.at(c, WORST), NO_STATUS)
    _store(f, ticket, f.emit(f"shl i64 {f.emit(f'add i64 {generation}, 2')}, 32"))
    f.do(f"call void @wake(ptr {c}, i64 {f.emit('sub i64 %rows, 1')})")
    # the full count is rows + 1: the caller adds one more than its rows, so nobody else can complete it
    # before the caller is here
    own = f.emit(f"add i64 {f.emit(f'call i64 @drain(ptr {c}, i1 false)')}, 1")
    before = _atomic(f, "add", f.at(c, FINISHED), own)
    with f.when(f.test("sle", f.emit(f"add i64 {before}, {own}"), "%rows")):
        _wait(f, f.pointer(c, DONE))  # the worker that completes the count posts
    worst = _load(f, f.at(c, WORST))
    _store(f, f.at(c, TAKEN), 0)
    status = f.emit(f"trunc i64 {worst} to i32")
    f.ret(f.choose(f.test("eq", worst, NO_STATUS), "i32", 0, status))


def text() -> str:
    """`graphad_region`, a step kernel, and `graphad_worker(control)`, which returns when the pool is stopped."""
    return "\n".join(
        ["declare i64 @llvm.smin.i64(i64, i64)", _drain(), _worker(), _wake(), _serial(), _region()]
    )


_addresses: dict[str, dict[str, int]] = {}


def _native(symbol: str) -> int:
    return native.once(_addresses, "pool", lambda: native.printed(text, symbols=SYMBOLS))[symbol]


def region_kernel() -> int:
    """The address of the step kernel that runs a region; its block is (table, rows, control)."""
    return _native("graphad_region")


MOST = 1024  # threads: the stacks of many more leave no room to map anything else


def thread_count() -> int:
    """How many threads a region may use, the caller included: what `set_intra_op_parallelism_threads` or GRAPHAD_THREADS
    says, at most `MOST`, else the processors given to this process.
    """
    if flags.threads:
        return min(flags.threads, MOST)
    asked = os.environ.get("GRAPHAD_THREADS", "").strip()
    if asked.isdigit() and int(asked) > 0:
        return min(int(asked), MOST)
    if asked:
        warn_user(
            f"GRAPHAD_THREADS: {asked!r} is not a number of threads; all processors given to this process are used."
        )
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _semaphores(block: ctypes.Array[ctypes.c_int64]) -> bool:
    """Put two semaphores at zero, and the functions that wait and post, into a control block; False where
    there are none.

    The kernels call wait(handle, -1) and post(handle, 1, null): each platform's function takes as many of
    these as it has.
    """
    if sys.platform == "win32":
        kernel32 = ctypes.CDLL("kernel32")
        kernel32.CreateSemaphoreW.restype = ctypes.c_void_p
        handles = [kernel32.CreateSemaphoreW(None, 0, 0x7FFFFFFF, None) or 0 for _ in range(2)]
        wait, post = kernel32.WaitForSingleObject, kernel32.ReleaseSemaphore
    elif sys.platform == "darwin":
        system = ctypes.CDLL(None)
        system.dispatch_semaphore_create.restype = ctypes.c_void_p
        system.dispatch_semaphore_create.argtypes = [ctypes.c_ssize_t]
        handles = [system.dispatch_semaphore_create(0) or 0 for _ in range(2)]
        wait, post = system.dispatch_semaphore_wait, system.dispatch_semaphore_signal
    else:
        system = ctypes.CDLL(None)
        handles = [ctypes.addressof(block) + 8 * (STORAGE + 16 * k) for k in range(2)]
        if any(system.sem_init(ctypes.c_void_p(handle), 0, 0) != 0 for handle in handles):
            return False
        wait, post = system.sem_wait, system.sem_post
    block[WAIT], block[POST], block[WAKE], block[DONE] = _address(wait), _address(post), *handles
    return all(block[word] for word in (WAIT, POST, WAKE, DONE))


class Pool:
    """A control block and the daemon threads that sleep on it. One per process is enough: see `control`."""

    def __init__(self, workers: int) -> None:
        self._block = (ctypes.c_int64 * CONTROL_WORDS)()
        native.keep_for_ever(self._block)  # threads sleep on it until the process ends
        self.control = ctypes.addressof(self._block)
        self._block[TICKET] = CLOSED
        self.workers = 0
        self._threads: list[threading.Thread] = []
        try:
            self._ready = _semaphores(self._block)
        except (AttributeError, OSError):
            self._ready = False
        if self._ready:
            self._start(workers)

    def _start(self, workers: int) -> None:
        work = ctypes.CFUNCTYPE(None, ctypes.c_int64)(_native("graphad_worker"))
        for k in range(workers):
            thread = threading.Thread(target=work, args=(self.control,), name=f"graphad-{k + 1}", daemon=True)
            if not forks.started(thread):  # use fewer
                break
            self._threads.append(thread)
            self.workers += 1

    def stop(self, timeout: float = 5.0) -> bool:
        """End the threads; no region may be running. True when all have ended."""
        self._block[STOP] = 1
        post = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
            self._block[POST]
        )
        for _ in self._threads:
            post(self._block[WAKE], 1, 0)
        for thread in self._threads:
            thread.join(timeout)
        ended = not any(thread.is_alive() for thread in self._threads)
        self.workers = 0
        return ended

    def forget_threads(self) -> None:
        """In a forked child: the threads are gone, and whatever region was running is not running here."""
        self._threads, self.workers = [], 0
        self._block[TAKEN] = self._block[IDLE] = self._block[STOP] = 0
        self._block[TICKET] = (((self._block[TICKET] >> 32) + 1) & 0x7FFFFFFF) << 32 | CLOSED
        self._ready = _semaphores(self._block)

    def restart(self, workers: int) -> None:
        """Start threads again after a fork."""
        if self._ready and not self.workers:
            self._start(workers)

    def run(self, table: np.ndarray | Sequence[Sequence[int]]) -> int:
        """Run a region from Python; returns the status of the lowest failing row, or 0."""
        rows = np.ascontiguousarray(table, np.int64)
        block = np.array([rows.ctypes.data, len(rows), self.control], np.int64)
        step = np.array([[region_kernel(), block.ctypes.data]], np.int64)
        return driver.run_table(step)[0]


def is_started() -> bool:
    """Whether the threads were started; their number no longer changes."""
    return _pool is not None


_pool: Pool | None = None
_forked = False


def control() -> int:
    """The address of the process's pool for the third word of a region's block, its threads started; 0 for
    one thread.
    """
    global _pool, _forked
    workers = thread_count() - 1
    if workers < 1:
        return 0
    _native("graphad_worker")  # compiled before the lock is taken
    with native.lock:
        if _pool is None:
            _pool = Pool(workers)
        elif _forked:
            _pool.restart(workers)
        _forked = False
        return _pool.control if _pool.workers else 0


@forks.in_child
def _forget_threads() -> None:
    global _forked
    if _pool is not None:
        _pool.forget_threads()
        _forked = True
