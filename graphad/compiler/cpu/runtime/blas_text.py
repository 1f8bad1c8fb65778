"""The matrix product's step kernel and the limit on BLAS threads, as LLVM IR text.

The kernel reads sizes, strides and pointers from its block, loops over up to four batch dimensions and calls
gemm or gemv by address with references into the block. Word numbers live here; `blas` fills them in.
"""

from __future__ import annotations

from graphad.compiler.assembly import Function

BATCH_RANK = 4
# words of the step's block
GEMM, GEMV, M, N, K, LDA, LDB, LDC, TRANS_A, TRANS_B, ALPHA, BETA, A, B, C, CONTROL, LIMIT = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    12,
    14,
    15,
    16,
    17,
    18,
)
# the words of the left and right factor: A and B, or B and A
FIRST, SECOND = 19, 20
# four words each; strides in bytes, A the left factor
BATCH, STRIDE_A, STRIDE_B, STRIDE_C = 21, 25, 29, 33
WORD_COUNT = 37

SET, GET, LOCK, COUNT, SAVED, YIELD = range(6)  # words of the thread limit's control block
ONE_THREAD_BELOW = 512**3  # multiplications of one product
GEMM_ALONE, GEMV_ALONE = 1 << 17, 1 << 13  # below this BLAS uses one thread by itself

SYMBOLS = ("graphad_gemm",)


def _enter(name: str) -> str:
    """The first one in stores the thread count and sets it to `wanted`; a lock, since callers come without
    the interpreter's.
    """
    f = Function(f"void @{name}_threads_enter(ptr %control, i32 %wanted)", attributes="nounwind noinline")
    _acquire(f)
    count = f.word("%control", COUNT)
    with f.when(f.test("eq", count, 0)):
        current = f.emit(f"call i32 {f.pointer('%control', GET)}()")
        f.set_word("%control", SAVED, f.emit(f"sext i32 {current} to i64"))
        f.do(f"call void {f.pointer('%control', SET)}(i32 %wanted)")
    f.set_word("%control", COUNT, f.emit(f"add i64 {count}, 1"))
    _unlock(f)
    f.ret()
    return f.text()


def _leave(name: str) -> str:
    f = Function(f"void @{name}_threads_leave(ptr %control)", attributes="nounwind noinline")
    _acquire(f)
    count = f.emit(f"sub i64 {f.word('%control', COUNT)}, 1")
    f.set_word("%control", COUNT, count)
    with f.when(f.test("eq", count, 0)):
        saved = f.emit(f"trunc i64 {f.word('%control', SAVED)} to i32")
        f.do(f"call void {f.pointer('%control', SET)}(i32 {saved})")
    _unlock(f)
    f.ret()
    return f.text()


def limit(name: str) -> str:
    """The functions that begin and end a limit on the threads of BLAS, whose names begin with `name`."""
    return "\n".join([_enter(name), _leave(name)])


def _acquire(f: Function) -> None:
    with f.forever() as done:
        pair = f.emit(f"cmpxchg ptr {f.at('%control', LOCK)}, i64 0, i64 1 acquire monotonic")
        f.leave(done, f.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"))
        give_way = f.pointer("%control", YIELD)
        with f.when(f.test("ne", give_way, "null", "ptr")):
            f.do(f"call void {give_way}()")


def _unlock(f: Function) -> None:
    f.do(f"store atomic i64 0, ptr {f.at('%control', LOCK)} release, align 8")


def _call_gemm(f: Function, w: str, pointers: tuple[str, str, str], lds: tuple[str, str, str]) -> None:
    a, b, c = pointers
    arguments = [
        f.at(w, TRANS_B),
        f.at(w, TRANS_A),
        f.at(w, N),
        f.at(w, M),
        f.at(w, K),
        f.at(w, ALPHA),
        b,
        lds[1],
        a,
        lds[0],
        f.at(w, BETA),
        c,
        lds[2],
    ]
    f.do(f"call void {f.pointer(w, GEMM)}(" + ", ".join(f"ptr {x}" for x in arguments) + ", i64 1, i64 1)")


def _call_gemv(
    f: Function, w: str, pointers: tuple[str, str, str], lds: tuple[str, str, str], one: str, is_column: bool
) -> None:
    """C has one column (op(A) times a vector) or one row (a vector times op(B))."""
    a, b, c = pointers
    matrix, ld, vector, vector_ld = (a, lds[0], b, lds[1]) if is_column else (b, lds[1], a, lds[0])
    trans_matrix, trans_vector = (TRANS_A, TRANS_B) if is_column else (TRANS_B, TRANS_A)
    size = M if is_column else N
    # the stored matrix, read column-major, is transposed; for a row times B the product is transposed once
    # more
    stored_as_is = f.test("eq", f.word(w, trans_matrix), ord("N") if not is_column else ord("T"))
    letter = f.slot("i64", f.choose(stored_as_is, "i64", ord("N"), ord("T")))
    k_first = f.emit(f"xor i1 {stored_as_is}, true")
    rows = f.choose(k_first, "ptr", f.at(w, K), f.at(w, size))
    columns = f.choose(k_first, "ptr", f.at(w, size), f.at(w, K))
    vector_plain = f.test("eq", f.word(w, trans_vector), ord("N"))
    step_is_ld = vector_plain if is_column else f.emit(f"xor i1 {vector_plain}, true")
    step = f.choose(step_is_ld, "ptr", vector_ld, one)
    out_step = lds[2] if is_column else one
    arguments = [
        letter.address,
        rows,
        columns,
        f.at(w, ALPHA),
        matrix,
        ld,
        vector,
        step,
        f.at(w, BETA),
        c,
        out_step,
    ]
    f.do(f"call void {f.pointer(w, GEMV)}(" + ", ".join(f"ptr {x}" for x in arguments) + ", i64 1)")


def text() -> str:
    """`i32 graphad_gemm(ret, exc, block)`."""
    f = Function("i32 @graphad_gemm(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    m, n, k = f.word(w, M), f.word(w, N), f.word(w, K)
    with f.when(f.test("eq", f.emit(f"mul i64 {m}, {n}"), 0)):
        f.ret(0)
    one = f.slot("i64", 1).address
    lds = []
    for word in (LDA, LDB, LDC):  # BLAS insists on at least 1, also for empty operands
        lds.append(f.slot("i64", f.emit(f"call i64 @llvm.smax.i64(i64 {f.word(w, word)}, i64 1)")).address)
    # gemv is 3 to 9 times quicker for one row or column; without inner elements it would leave C unscaled
    has_gemv = f.emit(f"and i1 {f.test('ne', f.pointer(w, GEMV), 'null', 'ptr')}, {f.test('sgt', k, 0)}")
    is_column = f.emit(f"and i1 {has_gemv}, {f.test('eq', n, 1)}")
    is_row = f.emit(f"and i1 {has_gemv}, {f.test('eq', m, 1)}")
    is_vector = f.emit(f"or i1 {is_column}, {is_row}")
    work = f.emit(f"mul i64 {f.emit(f'mul i64 {m}, {n}')}, {k}")
    control = f.pointer(w, CONTROL)
    some = f.test("sge", work, f.choose(is_vector, "i64", GEMV_ALONE, GEMM_ALONE))
    bounded = f.emit(f"and i1 {some}, {f.test('slt', work, f.word(w, LIMIT))}")
    limited = f.emit(f"and i1 {bounded}, {f.test('ne', control, 'null', 'ptr')}")
    with f.when(limited):
        f.do(f"call void @graphad_gemm_threads_enter(ptr {control}, i32 1)")
    a, b, c = f.pointer(w, f.word(w, FIRST)), f.pointer(w, f.word(w, SECOND)), f.pointer(w, C)
    _batch_loop(f, w, 0, (a, b, c), (lds[0], lds[1], lds[2]), one, (is_column, is_row))
    with f.when(limited):
        f.do(f"call void @graphad_gemm_threads_leave(ptr {control})")
    f.ret(0)
    return "\n".join(["declare i64 @llvm.smax.i64(i64, i64)", limit("graphad_gemm"), f.text()])


def _batch_loop(
    f: Function,
    w: str,
    depth: int,
    pointers: tuple[str, str, str],
    lds: tuple[str, str, str],
    one: str,
    vector: tuple[str, str],
) -> None:
    if depth == BATCH_RANK:
        is_column, is_row = vector
        with f.when(is_column):
            _call_gemv(f, w, pointers, lds, one, True)
        only_row = f.emit(f"and i1 {is_row}, {f.emit(f'xor i1 {is_column}, true')}")
        with f.when(only_row):
            _call_gemv(f, w, pointers, lds, one, False)
        matrix = f.emit(f"xor i1 {f.emit(f'or i1 {is_column}, {is_row}')}, true")
        with f.when(matrix):
            _call_gemm(f, w, pointers, lds)
        return
    steps = [f.word(w, first + depth) for first in (STRIDE_A, STRIDE_B, STRIDE_C)]
    with f.loop(0, f.word(w, BATCH + depth)) as i:
        moved = [
            f.at(p, f.emit(f"mul i64 {i}, {step}"), "i8") for p, step in zip(pointers, steps, strict=True)
        ]
        _batch_loop(f, w, depth + 1, (moved[0], moved[1], moved[2]), lds, one, vector)
