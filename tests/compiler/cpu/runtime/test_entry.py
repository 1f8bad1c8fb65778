"""The entry: right numbers, right refusals, no leaks, and the ctypes form means the same."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, entry, native
from graphad.compiler.cpu.runtime.plan_block import Arena, Argument, PlanBuilder
from graphad.core.errors import InvalidArgumentError


def step(name: str, body) -> int:
    f = Function(f"i32 @{name}(ptr %ret, ptr %exc, i64 %block)")
    body(f, f.emit("inttoptr i64 %block to ptr"))
    return native.build(f.text(), [name])[name]


def _add(f, w):  # word 2 points to an int64 that becomes *word 0 + word 1
    total = f.emit(f"add i64 {f.word(f.pointer(w, 0), 0)}, {f.word(w, 1)}")
    f.set_word(f.pointer(w, 2), 0, total)
    f.ret(0)


def _fail(f, w):
    f.ret(f.emit(f"trunc i64 {f.word(w, 0)} to i32"))


def _slow(f, w):  # counts to word 1, one by one, in the int64 at word 0
    with f.loop(0, f.word(w, 1)):
        place = f.pointer(w, 0)
        value = f.emit(f"load volatile i64, ptr {place}")
        f.do(f"store volatile i64 {f.emit(f'add i64 {value}, 1')}, ptr {place}")
    f.ret(0)


@pytest.fixture(scope="module")
def add() -> int:
    return step("t_add", _add)


@pytest.fixture(scope="module")
def fail() -> int:
    return step("t_fail", _fail)


@pytest.fixture(scope="module")
def slow() -> int:
    return step("t_slow", _slow)


@pytest.fixture(params=["active", "ctypes"])
def which(request, monkeypatch) -> str:
    if request.param == "ctypes":
        monkeypatch.setattr(entry, "_entry", entry.load(force_ctypes=True))
        # What is told to it alone is not known to the other, which later tests use.
        monkeypatch.setattr(entry, "_holders", list(entry._holders))
        monkeypatch.setattr(entry, "_scalars", list(entry._scalars))
    return request.param


def sum_plan(add: int, release: bool = False, guard=None):
    """c = a + 5 + 7 through the workspace."""
    builder = PlanBuilder(2)
    builder.add_step(add, [0, 5, 0], [Argument(0, 0)], [Arena(2, 64)])
    builder.add_step(add, [0, 7, 0], [Argument(2, 1)], [Arena(0, 64)])
    return builder.build(arena_bytes=128, release_lock=release, guard=guard)


def test_the_builtin_is_active_here():
    assert entry.active() == "builtin"


@pytest.mark.parametrize("release", [False, True])
def test_run_fills_in_pointers_and_runs_every_step(which, add, release):
    plan = sum_plan(add, release).instance()
    a, c = np.array([30, 1]), np.zeros(3, np.int64)
    assert plan.run(a, c) == 0 and c[0] == 42
    assert entry.run(plan.address, np.array(1), c) == 0 and c[0] == 13
    assert plan.run(np.int64(88), c) == 0 and c[0] == 100


def test_byte_offsets_of_patches_count_from_the_first_element(which, add):
    builder = PlanBuilder(1)
    builder.add_step(add, [0, 1, 0], [Argument(0, 0, 8), Argument(2, 0, 16)])
    a = np.array([1, 2, 3])
    assert builder.build().instance().run(a) == 0
    assert a.tolist() == [1, 2, 3]


def test_status_and_step_of_a_failure_are_reported(which, add, fail):
    for status in (1, -7, 3):
        builder = PlanBuilder(1)
        builder.add_step(add, [0, 1, 0], [Argument(0, 0), Argument(2, 0)])
        builder.add_step(fail, [status])
        builder.add_step(add, [0, 1, 0], [Argument(0, 0), Argument(2, 0)])
        plan, a = builder.build().instance(), np.array([1])
        assert plan.run(a) == status and plan.failed_step == 1
        assert a[0] == 2  # what follows the failure did not run


def test_a_step_without_function_is_not_ready_until_it_gets_one(which, add):
    builder = PlanBuilder(1)
    builder.add_step(0, [0, 1, 0], [Argument(0, 0), Argument(2, 0)])
    image, a = builder.build(), np.array([1])
    plan = image.instance()
    assert not image.is_ready and plan.run(a) == entry.NOT_READY
    image.set_function(0, add)
    assert image.is_ready and plan.run(a) == 0 and image.instance().run(a) == 0 and a[0] == 3


class Sub(np.ndarray):
    pass


def test_wrong_arguments_give_a_sentinel_and_never_an_exception(which, add):
    plan = sum_plan(add).instance()
    c = np.zeros(1, np.int64)
    for wrong in ([1], 1, 1.0, None, "x", np.zeros(1).view(Sub), object(), np.float64, np.str_("s"), (1, 2)):
        if which == "ctypes" and isinstance(wrong, np.generic):
            continue
        assert plan.run(wrong, c) == entry.WRONG_TYPE
    assert plan.run() == plan.run(c) == plan.run(c, c, c) == entry.WRONG_COUNT
    assert entry.run(np.zeros(32, np.int64).ctypes.data, c) == entry.NO_INSTANCE
    for wrong in ("x", None, 0, 12, -8, 1.5, c):
        with pytest.raises(TypeError, match="address"):
            entry.run(wrong, c)
        with pytest.raises(TypeError, match="address"):
            entry.check(wrong, c)
    with pytest.raises((TypeError, OverflowError)):
        entry.run(1 << 80, c)
    with pytest.raises(TypeError):
        entry.load().run()


def test_array_pointer_of_arrays_and_scalars():
    a = np.arange(10.0)
    pointer = entry.load().array_pointer
    assert pointer(a) == a.ctypes.data and pointer(a[3:]) == a.ctypes.data + 24
    for kind in (
        np.float32,
        np.float64,
        np.float16,
        np.int8,
        np.uint16,
        np.int32,
        np.int64,
        np.complex64,
        np.complex128,
        np.bool_,
    ):
        value = kind(1)
        assert ctypes.string_at(pointer(value), value.nbytes) == value.tobytes()
    for wrong in ([1], None, 1.0, a.view(Sub)):
        with pytest.raises(TypeError, match="array_pointer"):
            pointer(wrong)
    with pytest.raises(TypeError):
        pointer(a, a)


def test_check_accepts_exactly_what_the_guard_says(which):
    f32 = np.dtype(np.float32)
    check = entry.bind_check(entry.make_guard([(f32, (2, None)), (f32, ()), (None, None)]))
    a, s, x = np.zeros((2, 5), f32), np.float32(1), np.zeros((3, 4, 5), np.int8)
    assert (
        check(a, s, x) == 1
        and check(a, np.zeros((), f32), x) == 1
        and check(np.zeros((2, 0), f32), s, s) == 1
    )
    assert check(pickle.loads(pickle.dumps(a)), s, x) == 1 and check(copy.deepcopy(a), s, x) == 1
    bad = [
        np.zeros((3, 5), f32),
        np.zeros(2, f32),
        np.zeros((2, 5, 1), f32),
        np.zeros((2, 5)),
        np.zeros((2, 5), np.int32),
        a.T,
        np.zeros((2, 10), f32)[:, ::2],
        a.astype(">f4"),
        a.view(Sub),
        a.tolist(),
        None,
        s,
        np.frombuffer(bytearray(41), np.uint8)[1:].view(f32).reshape(2, 5),
    ]
    for wrong in bad:
        assert check(wrong, s, x) == 0, wrong
    for wrong in (np.float64(1), 1.0, 1, np.zeros(1, f32), None):
        assert check(a, wrong, x) == 0
    assert check(a, s) == check() == 0


def test_check_compares_sizes_of_different_arguments(which):
    f64 = np.dtype(np.float64)
    check = entry.bind_check(
        entry.make_guard([(f64, (None, None)), (f64, (3, (0, 1))), (f64, ((1, 1), (0, 0)))])
    )
    assert check(np.zeros((2, 4)), np.zeros((3, 4)), np.zeros((4, 2))) == 1
    assert check(np.zeros((2, 4)), np.zeros((3, 5)), np.zeros((5, 2))) == 0
    assert check(np.zeros((2, 4)), np.zeros((3, 4)), np.zeros((4, 3))) == 0
    for size in ((1, 0), (0, 7), (-1, 0)):
        with pytest.raises(InvalidArgumentError, match="make_guard"):
            entry.make_guard([(f64, (None,)), (f64, (size,))])


def test_check_of_written_arguments_refuses_read_only_memory(which):
    f64 = np.dtype(np.float64)
    check = entry.bind_check(entry.make_guard([(f64, None)], writeable=[0]))
    a = np.zeros(3)
    assert check(a) == 1
    a.flags.writeable = False
    assert check(a) == 0 and check(np.float64(1)) == 0
    strided = entry.bind_check(entry.make_guard([(f64, (None,))], contiguous=False))
    assert strided(np.zeros(6)[::2]) == 1


def test_a_guarded_run_answers_guard_miss_and_leaves_everything_alone(which, add):
    i64 = np.dtype(np.int64)
    plan = sum_plan(add, guard=entry.make_guard([(i64, ()), (i64, (None,))])).instance()
    c = np.zeros(2, np.int64)
    assert plan.run(np.int64(1), c) == 0 and c[0] == 13
    assert plan.run(np.int32(1), c) == entry.GUARD_MISS and plan.run(c, c) == entry.GUARD_MISS and c[0] == 13


class Holder:
    __slots__ = ("__weakref__", "name", "value")


def test_a_registered_holder_stands_for_the_array_in_its_slot(which, add):
    assert entry.register_holder(Holder, "value")
    plan = sum_plan(add).instance()
    h, c = Holder(), np.zeros(1, np.int64)
    assert plan.run(h, c) == entry.WRONG_TYPE  # the slot is still empty
    h.value = np.array([8])
    assert plan.run(h, c) == 0 and c[0] == 20
    h.value = np.int64(9)
    assert plan.run(h, c) == 0 and c[0] == 21
    h.value = 3
    assert plan.run(h, c) == entry.WRONG_TYPE
    check = entry.bind_check(entry.make_guard([(np.dtype(np.int64), (2,))]))
    h.value = np.zeros(2, np.int64)
    assert check(h) == 1 and check(c) == 0


def test_no_reference_is_lost_or_kept(add):
    for release in (False, True):
        plan = sum_plan(add, release).instance()
        a, c, h = np.array([1]), np.zeros(1, np.int64), Holder()
        h.value = a
        entry.register_holder(Holder, "value")
        check = entry.bind_check(entry.make_guard([(a.dtype, (1,))] * 2))
        before = [sys.getrefcount(x) for x in (a, c, h, plan.words, a.dtype)]
        for _ in range(2000):
            plan.run(a, c), plan.run(h, c), plan.run(a), plan.run(a, None), check(a, c), check(h, 1)
            entry.load().array_pointer(a), entry.load().run(plan.address, a, c)
        after = [sys.getrefcount(x) for x in (a, c, h, plan.words, a.dtype)]
        assert all(abs(x - y) <= 1 for x, y in zip(before, after, strict=True)), (before, after)


def test_the_callable_keeps_the_plan_alive_and_lets_it_go(add):
    class Witness:
        pass

    def made():
        witness = Witness()
        builder = PlanBuilder(2)
        builder.add_step(add, [0, 5, 0], [Argument(0, 0)], [Arena(2, 64)], keep=[witness])
        builder.add_step(add, [0, 7, 0], [Argument(2, 1)], [Arena(0, 64)])
        return builder.build(128).instance().run, weakref.ref(witness)

    run, witness = made()
    gc.collect()
    junk = [np.full(64, -1) for _ in range(100)]
    c = np.zeros(1, np.int64)
    assert run(np.array(1), c) == 0 and c[0] == 13 and witness() is not None and junk
    del run
    gc.collect()
    assert witness() is None


def test_threads_with_their_own_instances_share_nothing(add):
    image, errors = sum_plan(add, release=True), []

    def work(k):
        c = np.zeros(1, np.int64)
        for i in range(2000):
            plan = image.acquire()
            status = plan.run(np.array(k * 10000 + i), c)
            image.release(plan)
            if status or c[0] != k * 10000 + i + 12:
                errors.append((status, c[0]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_a_second_caller_of_one_instance_is_told_that_it_is_busy(which, slow):
    builder = PlanBuilder(1)
    builder.add_step(slow, [0, 300_000_000], [Argument(0, 0)])
    image = builder.build(release_lock=True)
    plan, a, b, answers = image.instance(), np.zeros(1, np.int64), np.zeros(1, np.int64), []
    thread = threading.Thread(target=lambda: answers.append(plan.run(a)))
    thread.start()
    while a[0] == 0 and thread.is_alive():
        pass
    assert plan.run(b) == entry.BUSY and b[0] == 0
    thread.join()
    assert answers == [0] and a[0] == 300_000_000
    plan.set_word(0, 1, 5)
    assert plan.run(b) == 0 and b[0] == 5


def test_an_array_taken_from_its_holder_during_a_run_stays_alive(slow):
    entry.register_holder(Holder, "value")
    builder = PlanBuilder(1)
    builder.add_step(slow, [0, 100_000_000], [Argument(0, 0)])
    plan, h, ended = builder.build(release_lock=True).instance(), Holder(), []
    h.value = np.zeros(100_000, np.int64)
    array = weakref.ref(h.value)
    thread = threading.Thread(target=lambda: ended.append(plan.run(h)))
    thread.start()
    while array()[0] == 0 and thread.is_alive():
        pass
    h.value = None
    assert array() is not None and not ended
    thread.join()
    assert ended == [0] and array() is None


def test_table_runs_through_ctypes(add, fail):
    a = np.array([1])
    block = np.array([a.ctypes.data, 4, a.ctypes.data])
    code = np.array([5])
    table = np.array(
        [
            [add, block.ctypes.data],
            [add, block.ctypes.data],
            [fail, code.ctypes.data],
            [add, block.ctypes.data],
        ]
    )
    assert driver.run_table(table) == (5, 2) and a[0] == 9
    assert driver.run_table(table[:2]) == (0, -1) and a[0] == 17


def test_plan_refuses_words_and_arguments_that_do_not_exist():
    builder = PlanBuilder(1)
    for arguments, arena in (([Argument(3, 0)], ()), ([Argument(0, 1)], ()), ((), [Arena(9, 0)])):
        with pytest.raises(InvalidArgumentError, match="plan"):
            builder.add_step(0, [0, 0, 0], arguments, arena)


class Memory:
    def __init__(self):
        self.entries = {}

    def get(self, key):
        return self.entries.get(key)

    def put(self, key, data):
        self.entries[key] = data


def test_objects_come_from_the_cache_and_damage_is_a_miss(monkeypatch):
    memory = Memory()
    monkeypatch.setattr(native, "default_cache", lambda: memory)
    text = "define i64 @t_seven() { ret i64 7 }"

    def seven():
        monkeypatch.setattr(native, "_loaded", {})
        return ctypes.CFUNCTYPE(ctypes.c_int64)(native.build(text, ["t_seven"])["t_seven"])()

    assert seven() == 7 and len(memory.entries) == 1
    compiled = native.compile_text
    monkeypatch.setattr(native, "compile_text", lambda *a: pytest.fail("compiled again"))
    assert seven() == 7
    monkeypatch.setattr(native, "compile_text", compiled)
    key = next(iter(memory.entries))
    for damage in (b"", b"garbage", memory.entries[key][:100]):
        memory.entries[key] = damage
        assert seven() == 7 and len(memory.entries[key]) > 100


def test_scalars_of_an_extension_dtype_can_be_registered():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    assert entry.register_scalar(bfloat16) and entry.register_scalar(bfloat16)
    value = bfloat16(1.5)
    assert ctypes.string_at(entry.array_pointer(value), 2) == value.tobytes()
    check = entry.bind_check(entry.make_guard([(np.dtype(bfloat16), ())]))
    assert check(value) == 1 and check(np.float16(1.5)) == 0 and check(np.zeros((), bfloat16)) == 1
