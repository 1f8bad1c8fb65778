"""NumPy behind the names of the CUDA driver, runtime and cuBLAS that plans use: launches run the text of a kernel in Python.

A device's address is that of the memory behind it plus `OFFSET`, so no address of the host is one of the device. Every load,
store and copy is looked up among the arrays that somebody still holds; anything else is a `DeviceFault`. A block has one
thread unless `threads_of` says otherwise: the text has to give the same with any number.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import re
import threading
import types
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphad.compiler import oracle
from graphad.compiler.cuda.emit import EXCHANGED
from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype
from tests.devices import fake_cublaslt, fake_streams

OFFSET = 1 << 52
SHARED, PARAMETERS = 48 << 10, 4096  # bytes that every device gives a block, and a launch
OPT_IN = 99 << 10  # bytes that a block gets of this device if the driver is asked
threads_of: Callable[[int, int], tuple[int, int]] = lambda x, y: (1, 1)  # noqa: E731
watch: Callable[[Any, int, dict[str, Any]], None] | None = (
    None  # may change what the names of a thread's text mean
)
launches: list[str] = []  # the texts that ran
products: list[tuple[int, ...]] = []
copies: list[str] = []
_starts: list[int] = []
_live: dict[int, weakref.ref[np.ndarray]] = {}
_functions: list[Any] = []
_registry = threading.RLock()


class DeviceFault(Exception):
    """A step reaches what is not the device's, or what nobody holds any more."""


# -- memory --


def address_of(memory: np.ndarray) -> int:
    """The device's address of an array."""
    base: Any = memory
    while base.base is not None:  # a strided view has a placeholder there, whose base is the array
        base = base.base
    start = base.ctypes.data
    with _registry:
        if start not in _live:
            bisect.insort(_starts, start)
        _live[start] = weakref.ref(base)
    return memory.ctypes.data + OFFSET


def bytes_at(address: int, size: int) -> np.ndarray:
    """So many bytes at an address, all of them of one array."""
    if address < OFFSET:
        raise DeviceFault(f"a step of the device reaches address {address:#x}, which is the host's")
    real = address - OFFSET
    base, start = _holding(real)
    if base is None or real + size > start + base.nbytes:
        raise DeviceFault(f"a step of the device reaches {size} bytes at {address:#x}, which no array holds")
    flat = base.reshape(-1, copy=False) if base.flags.c_contiguous else base.ravel(order="K")
    first = real - start
    return flat.view(np.uint8)[first : first + size]


def _holding(place: int) -> tuple[Any, int]:
    """The array that begins last at or before an address, and where it begins."""
    with _registry:
        k = bisect.bisect_right(_starts, place) - 1
        while k >= 0:
            base = _live[_starts[k]]()
            if base is not None:
                return base, _starts[k]
            del _live[_starts.pop(k)]  # it is gone, and its memory may be part of another array's by now
            k -= 1
    return None, 0


def _host(address: int, size: int) -> Any:
    if address >= OFFSET:
        raise DeviceFault("the host was given an address of the device")
    return (ctypes.c_uint8 * size).from_address(address)


class Contexts(threading.local):
    """The devices whose context a thread has: calls of the runtime make it, those of the driver want it."""

    def __init__(self) -> None:
        self.made: set[int] = set()


contexts = Contexts()


def set_device(index: int) -> None:
    contexts.made.add(index)


def _in_context() -> None:
    if not contexts.made:
        raise DeviceFault("CUDA_ERROR_INVALID_CONTEXT: the driver was called in a thread without a context")


_graphs: dict[int, list[Callable[[], Any]]] = {}
graph_launches: list[int] = []


def _begin(stream: int, mode: int) -> None:
    found = fake_streams.at(stream)
    assert stream and found.captured is None and mode == 1
    found.captured = []


def _end(stream: int) -> int:
    found = fake_streams.at(stream)
    assert found.captured is not None
    _graphs[len(_graphs) + 1], found.captured = found.captured, None
    return len(_graphs)


def _replay(graph: int, stream: int) -> None:
    graph_launches.append(len(_graphs[graph]))
    for action in _graphs[graph]:
        fake_streams.at(stream).put(action)


def _synchronize() -> None:
    for stream in list(fake_streams._streams.values()):
        stream.synchronize()


RUNTIME = {
    "setDevice": set_device,
    "deviceSynchronize": _synchronize,
    "streamBeginCapture": _begin,
    "streamEndCapture": _end,
    "streamCaptureModeThreadLocal": 1,
    "graphInstantiate": lambda graph: graph,
    "graphDestroy": lambda graph: None,
    "graphExecDestroy": lambda graph: _graphs[graph].clear(),
    "graphLaunch": _replay,
}


# -- kernels --


def moduleLoadData(code: bytes) -> Any:
    _in_context()
    scope: dict[str, Any] = {}
    exec(compile(code.decode(), "<fake device>", "exec"), scope)
    return scope["kernel"], code.decode()


def moduleGetFunction(module: Any, name: str) -> int:
    assert name == "kernel"
    _functions.append(module)
    return len(_functions)


def occupancyMaxActiveBlocksPerMultiprocessor(function: int, threads: int, shared: int) -> int:
    _in_context()
    assert 32 <= threads <= 1024 and shared >= 0
    return 2 if _is_shared(function, shared) else 0


_asked: dict[int, int] = {}  # bytes of dynamic shared memory by function


def funcSetAttribute(function: int, attribute: int, value: int) -> None:
    _in_context()
    assert attribute == 8 and 0 <= value + _fixed_shared(_functions[function - 1][1]) <= OPT_IN
    _asked[function] = value


def _is_shared(function: int, shared: int) -> bool:
    """Whether a block gets so much dynamic shared memory."""
    fixed = _fixed_shared(_functions[function - 1][1])
    assert fixed <= SHARED, "a text declares more than it may"
    return shared + fixed <= SHARED or shared <= _asked.get(function, 0)


def launchKernel(
    function: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    shared: int,
    stream: int,
    words: int,
    extra: int,
) -> None:
    _in_context()
    kernel, text = _functions[function - 1]
    assert (gy, gz, bz, extra or 0) == (1, 1, 1, 0) and 1 <= gx < 1 << 31 and 32 <= bx * by <= 1024
    assert _is_shared(function, shared), "more shared memory than a block has without being asked"
    count = kernel.__code__.co_argcount
    assert 8 * count <= PARAMETERS
    launches.append(text)
    places = (ctypes.c_void_p * count).from_address(words)
    given = [ctypes.c_int64.from_address(int(place or 0)).value for place in places]
    threads = threads_of(bx, by)
    fake_streams.at(stream).put(lambda: run_text(kernel, given, gx, threads, shared))


@functools.cache
def _fixed_shared(text: str) -> int:
    """Bytes of shared memory that a kernel's text asks for itself."""
    asked = re.findall(r"shared\.array\((\d+), (\w+)\)", text)
    return sum(int(count) * _numpy(code).itemsize for count, code in asked)


def run_text(kernel: Any, words: list[int], blocks: int, threads: tuple[int, int], shared: int = 0) -> None:
    """A launch: one block after another, the threads of a block side by side."""
    for block in range(blocks):
        _Block(kernel, words, block, blocks, threads, shared).run()


class _Block:
    def __init__(
        self, kernel: Any, words: list[int], block: int, blocks: int, threads: tuple[int, int], shared: int
    ) -> None:
        self.kernel, self.words, self.block, self.blocks, self.threads = kernel, words, block, blocks, threads
        self.memory = np.full(
            -(-max(shared, 1) // 8), -0x34343434, np.int64
        )  # aligned as every word wants it
        self.arrays: dict[int, np.ndarray] = {}
        count = threads[0] * threads[1]
        self.barrier = threading.Barrier(count, timeout=600) if count > 1 else None
        self.errors: list[BaseException] = []
        self.held: list[Any] = [None] * count  # what threads of a warp show each other
        sizes = [min(32, count - first) for first in range(0, count, 32)]
        self.warps = [threading.Barrier(size, timeout=600) for size in sizes]

    def run(self) -> None:
        if self.barrier is None:
            self._thread(0, 0)
            return
        places = [(x, y) for y in range(self.threads[1]) for x in range(self.threads[0])]
        workers = [threading.Thread(target=self._guarded, args=place) for place in places]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if self.errors:
            raise self.errors[0]

    def _guarded(self, x: int, y: int) -> None:
        try:
            self._thread(x, y)
        except BaseException as error:
            self.errors.append(error)
            assert self.barrier is not None
            for each in (self.barrier, *self.warps):
                each.abort()

    def _thread(self, x: int, y: int) -> None:
        asked = [0]

        def array(count: int, dtype: Any) -> np.ndarray:
            asked[0] += 1
            return self.arrays.setdefault(asked[0], np.zeros(count, dtype))

        cuda = SimpleNamespace(
            blockIdx=SimpleNamespace(x=self.block),
            gridDim=SimpleNamespace(x=self.blocks),
            blockDim=SimpleNamespace(x=self.threads[0], y=self.threads[1]),
            threadIdx=SimpleNamespace(x=x, y=y),
            shared=SimpleNamespace(array=array),
            syncthreads=self.barrier.wait if self.barrier is not None else lambda: None,
            threadfence=lambda: None,
        )
        tid = y * self.threads[0] + x
        warp = self.warps[tid // 32]

        def further(value: Any, reach: int) -> Any:
            self.held[tid] = value
            warp.wait()
            found = self.held[tid + reach] if tid % 32 + reach < warp.parties else value
            warp.wait()
            return found

        names: dict[str, Any] = {"cuda": cuda, "shared_base": lambda: address_of(self.memory)}
        names |= dict.fromkeys([f"further_{code}" for code in EXCHANGED], further)
        for name in self.kernel.__code__.co_names:
            if name not in names and name not in ("range", *_CUDA):
                names[name] = _meaning(name)
        if watch is not None:
            watch(self, tid, names)
        types.FunctionType(self.kernel.__code__, {**names, "range": range})(*self.words)


_CUDA = "blockIdx blockDim gridDim threadIdx x y shared array syncthreads threadfence".split()
_meanings: dict[str, Any] = {
    "narrow": lambda: None,
    "contract": lambda: None,
    "ix": int,
    "ixadd": lambda a, b: a + b,
    "ixsub": lambda a, b: a - b,
    "ixmul": lambda a, b: a * b,
    "ixdiv": lambda a, b: a // b,
    "ixmin": min,
    "either": lambda a, b: a | b,
    "groups2": lambda together, n: 0 if together % 16 else n // 2,
    "groups4": lambda together, n: 0 if together % 16 else n // 4,
    "zero_i32": lambda: np.int32(0),
}
_counting = threading.Lock()


def _arrive(counter: int) -> int:
    with _counting:
        place = bytes_at(counter, 4).view(np.int32)
        place += 1
        return int(place[0]) - 1


_meanings["arrive"] = _arrive


def _meaning(name: str) -> Any:
    found = _meanings.get(name)
    if found is None:
        found = _meanings[name] = _made(name)
    return found


def _aligned(address: int, size: int) -> int:
    if address % size:
        raise DeviceFault(f"CUDA_ERROR_MISALIGNED_ADDRESS: {size} bytes at {address:#x}")
    return address


def _numpy(code: str) -> np.dtype[Any]:
    return as_dtype(NAMES[code]).numpy


def _made(name: str) -> Any:
    if name in NAMES:
        return _numpy(name)
    head, _, rest = name.partition("_")
    if head in ("ld", "st", "ld2", "ld4", "st2", "st4", "bits") or head == "narrowed":
        dtype = _numpy(rest)
        size = dtype.itemsize
        if head == "ld":
            return lambda p, i: bytes_at(_aligned(p + i * size, size), size).view(dtype)[0]
        if head == "st":

            def store(p: int, i: int, value: Any) -> None:
                bytes_at(_aligned(p + i * size, size), size).view(dtype)[0] = value

            return store
        if head == "bits":
            return lambda word: np.array([word], np.int64).view(np.uint8)[:size].view(dtype)[0]
        if head == "narrowed":
            return lambda x: np.asarray(x).astype(dtype)[()]
        many = int(head[-1])
        if head[:2] == "ld":
            return lambda p, i: tuple(
                bytes_at(_aligned(p + i * size, size * many), size * many).view(dtype).copy()
            )

        def spread(p: int, i: int, *values: Any) -> None:
            bytes_at(_aligned(p + i * size, size * many), size * many).view(dtype)[...] = values

        return spread
    plain = oracle.meaning(name)
    if rest not in ("f32", "f64"):
        return plain
    return lambda *xs: plain(
        *[np.asarray(x, _numpy(rest))[()] if np.asarray(x).dtype.kind in "fV" else x for x in xs]
    )


# -- cuBLAS --


def get_cublas_handle() -> int:
    return 1


_handle = threading.local()
modes: dict[int, int] = {}
TF32, CUBLAS_DEFAULT_MATH = 3, 0


def setMathMode(handle: int, mode: int) -> None:
    assert handle == 1 and mode in (CUBLAS_DEFAULT_MATH, TF32)
    modes[handle] = mode


def _tensor_float(x: np.ndarray) -> np.ndarray:
    """Numbers with 10 bits behind the point."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def _set_stream(handle: int, stream: int) -> None:
    assert handle == 1
    _handle.stream = fake_streams.at(stream)


def _set_workspace(handle: int, place: int, size: int) -> None:
    assert handle == 1 and place % 16 == 0
    bytes_at(place, size)


def _gemm(dtype: Any) -> Any:
    size = np.dtype(dtype).itemsize

    def matrix(address: int, turn: int, rows: int, columns: int, lead: int) -> np.ndarray:
        """A matrix that counts columns first."""
        down, across = (columns, rows) if turn else (rows, columns)
        assert lead >= max(down, 1)
        if not rows or not columns:
            return np.zeros((rows, columns), dtype)
        flat = bytes_at(address, ((across - 1) * lead + down) * size).view(dtype)
        whole = np.lib.stride_tricks.as_strided(flat, (down, across), (size, lead * size))
        return whole.T if turn else whole

    # fmt: off
    def call(
        handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, sa: int, b: int, ldb: int, sb: int,
        beta: int, c: int, ldc: int, sc: int, count: int,
    ) -> None:
        # fmt: on
        assert handle == 1 and min(lda, ldb, ldc) >= 1 and k > 0
        is_rounded = size == 4 and modes.get(handle) == TF32
        one = np.frombuffer(_host(alpha, size), dtype)[0]
        assert one == 1 and np.frombuffer(_host(beta, size), dtype)[0] == 0
        products.append((m, n, k, count))

        def run() -> None:
            for i in range(count):
                x = matrix(a + i * sa * size, ta, m, k, lda)
                y = matrix(b + i * sb * size, tb, k, n, ldb)
                if is_rounded:
                    x, y = _tensor_float(x), _tensor_float(y)
                matrix(c + i * sc * size, 0, m, n, ldc)[...] = x @ y

        _handle.stream.put(run)

    return call


# -- cuSOLVER --


def get_cusolver_handle() -> int:
    return 2


factorisations: list[tuple[int, str]] = []


def setStream(handle: int, stream: int) -> None:
    assert handle == 2
    _handle.solver = fake_streams.at(stream)


def _potrf_size(handle: int, upper: int, n: int, a: int, lead: int, wanted: int) -> None:
    """Another number than that of `_getrf_size`: each factorisation asks its own function."""
    assert handle == 2 and upper == 1 and lead >= n > 0
    bytes_at(a, 1)
    ctypes.c_int32.from_address(wanted).value = 5 * n + 2


def _getrf_size(handle: int, m: int, n: int, a: int, lead: int, wanted: int) -> None:
    assert handle == 2 and m == n and lead >= n > 0
    bytes_at(a, 1)
    ctypes.c_int32.from_address(wanted).value = 3 * n + 1


def _potrf(dtype: Any) -> Any:
    size = np.dtype(dtype).itemsize

    def call(handle: int, upper: int, n: int, a: int, lead: int, work: int, count: int, info: int) -> None:
        assert handle == 2 and upper == 1 and lead >= n > 0 and count >= 5 * n + 2
        bytes_at(work, count * size)
        factorisations.append((n, np.dtype(dtype).name))

        def run() -> None:
            whole = np.lib.stride_tricks.as_strided(
                bytes_at(a, ((n - 1) * lead + n) * size).view(dtype), (n, n), (lead * size, size)
            )
            answer = bytes_at(_aligned(info, 4), 4).view(np.int32)
            try:
                factor = np.linalg.cholesky(whole)
                np.copyto(whole, factor, where=np.tri(n, dtype=bool))
                answer[0] = 0
            except np.linalg.LinAlgError:
                answer[0] = 1

        _handle.solver.put(run)

    return call


def _columns(place: int, rows: int, columns: int, lead: int, dtype: Any) -> np.ndarray:
    """A matrix that counts rows first in memory."""
    size = np.dtype(dtype).itemsize
    flat = bytes_at(_aligned(place, size), ((columns - 1) * lead + rows) * size).view(dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (size, lead * size))


def _getrf(dtype: Any) -> Any:
    """Leaves the matrix as it is, for `_getrs` to solve with; pivots say that it was here."""

    def call(handle: int, m: int, n: int, a: int, lead: int, work: int, pivots: int, info: int) -> None:
        assert handle == 2 and m == n and lead >= n > 0
        bytes_at(work, (3 * n + 1) * np.dtype(dtype).itemsize)
        factorisations.append((n, np.dtype(dtype).name))

        def run() -> None:
            answer = bytes_at(_aligned(info, 4), 4).view(np.int32)
            try:
                np.linalg.solve(_columns(a, n, n, lead, dtype), np.eye(n, dtype=dtype))
                answer[0] = 0
            except np.linalg.LinAlgError:
                answer[0] = n
            bytes_at(_aligned(pivots, 4), 4 * n).view(np.int32)[...] = np.arange(1, n + 1)

        _handle.solver.put(run)

    return call


def _getrs(dtype: Any) -> Any:
    # fmt: off
    def call(
        handle: int, turn: int, n: int, k: int, a: int, lead: int, pivots: int, b: int, lead_b: int, info: int
    ) -> None:
        # fmt: on
        assert handle == 2 and turn == 0 and lead >= n > 0 and lead_b >= n and k > 0

        def run() -> None:
            assert (bytes_at(pivots, 4 * n).view(np.int32) == np.arange(1, n + 1)).all(), "nothing is factored"
            side = _columns(b, n, k, lead_b, dtype)
            side[...] = np.linalg.solve(_columns(a, n, n, lead, dtype), side.copy())
            bytes_at(_aligned(info, 4), 4).view(np.int32)[0] = 0

        _handle.solver.put(run)

    return call


# -- the same as functions that native code calls by address --


def _set_32(place: int, value: int, count: int, stream: int) -> None:
    def run() -> None:
        bytes_at(_aligned(place, 4), 4 * count).view(np.int32)[...] = np.uint32(value).astype(np.int32)

    fake_streams.at(stream).put(run)


def _read_from(target: int, source: int, size: int, stream: int) -> None:
    assert fake_streams.at(stream).captured is None, "the host waits for what is being captured"

    def run() -> None:
        np.frombuffer(_host(target, size), np.uint8)[...] = bytes_at(source, size)

    copies.append("down")
    fake_streams.at(stream).put(run)


def _launch(*given: Any) -> None:
    launchKernel(*[x or 0 for x in given])


_faults: list[BaseException] = []  # of calls by address, which can only answer a status
FAULT, REFUSED = 719, 701  # of a kernel, of a launch for want of resources


def check_status(status: int) -> None:
    """What CuPy raises for a status: here what really went wrong."""
    raise _faults.pop() if _faults else RuntimeError(f"status {status}")


def _native(what: Callable[..., Any], kinds: str) -> Any:
    """A function of C: p and l are addresses and 64-bit numbers, u and i 32-bit ones without and with a sign."""
    letters = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "u": ctypes.c_uint32, "i": ctypes.c_int32}

    def call(*given: Any) -> int:
        try:
            found = what(*[0 if x is None else x for x in given])
        except BaseException as error:
            _faults.append(error)
            return FAULT if isinstance(error, DeviceFault) else REFUSED
        return found or 0

    return ctypes.CFUNCTYPE(ctypes.c_int32, *[letters[kind] for kind in kinds])(call)


_GEMM_KINDS = "piiiii" + "p" + "pil" * 2 + "p" + "pil" + "i"
# By name: how the header declares the parameters, and what they do here. Looked up late, so that tests can put others there.
_NATIVE = {
    "cuLaunchKernel": _native(_launch, "p" + "u" * 7 + "ppp"),
    "cuMemcpyDtoHAsync_v2": _native(_read_from, "pllp"),
    "cuStreamSynchronize": _native(lambda stream: fake_streams.at(stream).synchronize(), "p"),
    "cuMemsetD32Async": _native(_set_32, "lulp"),
    "cuGraphLaunch": _native(_replay, "pp"),
    "cublasSetStream_v2": _native(_set_stream, "pp"),
    "cublasSetWorkspace_v2": _native(_set_workspace, "ppl"),
    **{
        f"cublas{letter}gemmStridedBatched": _native(_gemm(dtype), _GEMM_KINDS)
        for letter, dtype in zip("SDCZ", (np.float32, np.float64, np.complex64, np.complex128), strict=True)
    },
    "cusolverDnSpotrf_bufferSize": _native(_potrf_size, "piipip"),
    "cusolverDnDpotrf_bufferSize": _native(_potrf_size, "piipip"),
    "cusolverDnSgetrf_bufferSize": _native(_getrf_size, "piipip"),
    "cusolverDnDgetrf_bufferSize": _native(_getrf_size, "piipip"),
    "cusolverDnSgetrf": _native(_getrf(np.float32), "piipippp"),
    "cusolverDnDgetrf": _native(_getrf(np.float64), "piipippp"),
    "cusolverDnSgetrs": _native(_getrs(np.float32), "piiipippip"),
    "cusolverDnDgetrs": _native(_getrs(np.float64), "piiipippip"),
    "cusolverDnSpotrf": _native(_potrf(np.float32), "piipipip"),
    "cusolverDnDpotrf": _native(_potrf(np.float64), "piipipip"),
    **{
        name: _native(what, kinds)
        for name, (what, kinds) in fake_cublaslt.functions(bytes_at, _host, _tensor_float).items()
    },
}


def function_at(name: str) -> int:
    """The address of a function of the driver or of cuBLAS."""
    return ctypes.cast(_NATIVE[name], ctypes.c_void_p).value or 0


# -- the compiler --


class Toolchain:
    """What the compile worker is for CUDA, without numba-cuda: a payload is the text itself."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def request(self, key: str, text: str, callback: Any, target: str = "cpu") -> bool:
        callback(key, self.compile_now(key, text, target), None)
        return True

    def compile_now(self, key: str, text: str, target: str) -> bytes:
        assert target == "cuda:90", target
        self.keys.append(key)
        return b"kernel\n" + text.encode()
