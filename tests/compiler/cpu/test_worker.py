"""Compilation as a service: in the worker, without it, when it dies; and loading without Numba."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from graphad.compiler import cache, service
from graphad.compiler.cpu import build, functions, load, target
from graphad.compiler.cpu.compile import compile_source
from graphad.compiler.cpu.emit import emit
from graphad.compiler.objects import ObjectError, check_kernel, read_symbols
from graphad.compiler.service import CompileService
from graphad.compiler.source import CompileError
from graphad.core.dtypes import float32, float64
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import collapse
from tests.compiler.cpu.kernel_runner import call

ADD = collapse(forms.call("add", [float32, float32]), (5,), [(5,), (5,)]).kernel
MUL = collapse(forms.call("mul", [float32, float32]), (5,), [(5,), (5,)]).kernel
WAIT = 600.0  # until a hang counts as one


@pytest.fixture
def worker() -> Iterator[CompileService]:
    made = CompileService()
    yield made
    made.close()


def test_request_calls_back_and_close_ends_the_worker(worker: CompileService) -> None:
    assert worker.pid is None
    done, found = threading.Event(), []

    def receive(*answer: object) -> None:
        found.append(answer)
        if len(found) == 3:
            done.set()

    text = emit(ADD).text
    assert worker.request("one", text, receive) and worker.request("one", text, receive)
    assert worker.request("bad", "def kernel(blk):\n    return nothing_of_that_name_f32(blk)\n", receive)
    assert done.wait(WAIT) and worker.pending == 0
    assert [(key, data is not None) for key, data, _ in found] == [
        ("one", True),
        ("one", True),
        ("bad", False),
    ]
    assert "nothing" in str(found[2][2])
    check_kernel(found[0][1], "graphad_kernel")
    pid = worker.pid
    assert pid is not None
    worker.close()
    assert worker.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_worker_is_replaced_and_its_requests_repeated(worker: CompileService) -> None:
    assert worker.start()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)  # it cannot answer before it is killed
    done, found = threading.Event(), []
    worker.request("one", emit(ADD).text, lambda *answer: (found.append(answer), done.set()))
    os.kill(worker.pid, signal.SIGKILL)
    assert done.wait(WAIT) and found[0][1] is not None


@pytest.mark.skipif(sys.platform == "win32", reason="no /bin/false")
def test_a_worker_outlives_the_thread_that_started_it(worker: CompileService) -> None:
    begun, ready = threading.Event(), threading.Event()

    def ask() -> None:
        assert worker.request("first", emit(ADD).text, lambda *_: ready.set())
        begun.set()
        assert ready.wait(WAIT)  # by then the worker has asked for its signals

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(WAIT)
    pid = worker.pid
    thread.join()
    assert worker.compile_now("second", emit(MUL).text) and worker.pid == pid


def test_three_deaths_are_enough(
    worker: CompileService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    (tmp_path / "python").symlink_to("/bin/false")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    done, found = threading.Event(), []
    with caplog.at_level(logging.WARNING, "graphad"):
        assert worker.request("one", "", lambda *answer: (found.append(answer), done.set()))
        assert done.wait(WAIT)
    assert found == [("one", None, None)]
    assert len(caplog.records) == 1 and "three" not in caplog.text and "3 times" in caplog.text
    assert worker.is_forbidden and not worker.request("two", "", lambda *_: None)


def test_without_a_worker_compilation_happens_here(
    worker: CompileService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHAD_WORKER", "0")
    assert not worker.request("one", emit(ADD).text, lambda *_: None)
    check_kernel(worker.compile_now("one", emit(ADD).text), "graphad_kernel")
    assert worker.pid is None


def test_worker_and_process_make_the_same_code(worker: CompileService) -> None:
    assert worker.compile_now("one", emit(MUL).text) == compile_source(emit(MUL).text)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_worker_dies_with_its_parent() -> None:
    program = (
        "import sys; from graphad.compiler.service import CompileService\n"
        "s = CompileService(); s.start(); print(s.pid, flush=True); sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    os.kill(pid, 0)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + WAIT
    while _is_running(pid):
        assert time.monotonic() < deadline, "the worker outlived its parent"
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_worker_and_leaves_the_parent_s_alone(worker: CompileService) -> None:
    assert worker.start()
    pid = worker.pid
    child = os.fork()
    if child == 0:
        os._exit(0 if worker.pid is None and worker.pending == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.pid == pid
    assert worker.compile_now("one", emit(ADD).text)


def test_a_worker_is_replaced_after_its_share(
    worker: CompileService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LIFETIME", 1)
    assert worker.compile_now("one", emit(ADD).text)
    first = worker.pid
    assert worker.compile_now("two", emit(ADD).text)
    assert first is None or worker.pid != first


def test_a_warm_cache_needs_neither_numba_nor_a_worker() -> None:
    build.build(ADD)
    program = (
        "import sys\n"
        "from graphad.compiler.cpu import build\n"
        "from graphad.compiler.service import default_service\n"
        "from graphad.core.dtypes import float32; from graphad.kernels import forms\n"
        "from graphad.kernels.collapse import collapse\n"
        "kernel = collapse(forms.call('add', [float32, float32]), (5,), [(5,), (5,)]).kernel\n"
        "assert 'llvmlite' not in sys.modules\n"
        "assert build.find(kernel) and build.build(kernel) == build.find(kernel)\n"
        "assert 'numba' not in sys.modules and default_service().pid is None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_code_that_does_not_link_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = cache.KernelCache(tmp_path)
    monkeypatch.setattr(cache, "_default", store)
    monkeypatch.setattr(build, "registry", load.Registry())
    key = build.key_of(ADD)
    store.put(key, b"\x7fELF not an object at all")
    assert build.find(ADD) is None and store.get(key) is None
    assert build.build(ADD) == build.find(ADD) and store.get(key) is not None


def test_requests_for_what_is_there_answer_at_once() -> None:
    address = build.build(ADD)
    found: list[object] = []
    assert build.request(ADD, lambda *answer: found.append(answer))
    assert found == [(address, None)]


def test_loading_the_same_key_twice_gives_one_address() -> None:
    registry, data = load.Registry(), compile_source(emit(ADD).text)
    assert registry.load("k", data) == registry.load("k", b"") == registry.address_of("k")
    assert registry.load("other", data[:100]) is None and registry.address_of("other") is None


def test_code_that_needs_a_symbol_is_refused() -> None:
    text = "def kernel(blk):\n    st_f64_o0(word(blk, 0), 0, (word(blk, 1) + 0.5) % 2.5)\n"
    with pytest.raises(CompileError, match="needs fmod"):
        compile_source(text)


def test_library_functions_are_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = (
        "define weak_odr float @graphad_cbrt_f32(float %x) alwaysinline {\n"
        "  %y = fadd float %x, %x\n  ret float %y\n}\n"
    )
    library = SimpleNamespace(function_ir=lambda fn, dtype: twice)
    cached = (functions.module, functions.supports, emit)
    monkeypatch.setattr(functions, "_vectormath", lambda: library)
    monkeypatch.setattr(functions.vectormath, "SUPPORTED", {"cbrt": ("float32",)})
    for cache_ in cached:
        cache_.cache_clear()
    try:
        kernel = collapse(forms.call("cbrt", [float32]), (5,), [(5,)]).kernel
        wide = collapse(forms.call("cbrt", [float64]), (5,), [(5,)]).kernel
        assert functions.supports(kernel) is None and "cbrt of float64" in str(functions.supports(wide))
        source = emit(kernel)
        assert source.library and "wide()" in source.text
        address = load.Registry().load("cbrt", compile_source(source.text))
        assert address is not None
        x, found = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
        layout = block_layout(kernel)
        block = np.zeros(layout.count, np.int64)
        block[[layout.inputs[0], layout.outputs[0]]] = x.ctypes.data, found.ctypes.data
        block[[layout.hi, layout.extents[0]]] = 5
        assert call(address, block) == 0 and np.array_equal(found, 2 * x)
    finally:
        for cache_ in cached:
            cache_.cache_clear()
        intrinsics = sys.modules["graphad.compiler.cpu.intrinsics"]
        intrinsics._make.cache_clear()


def test_symbols_of_every_object_format_are_read() -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = "declare void @needed()\ndefine void @offered() {\n  call void @needed()\n  ret void\n}\n"
    for triple in (
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "x86_64-apple-macosx11.0",
        "arm64-apple-macosx11.0",
        "x86_64-pc-windows-msvc",
    ):
        try:
            machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="default")
        except RuntimeError:  # this build of LLVM has no such target
            continue
        symbols = read_symbols(machine.emit_object(llvm.parse_assembly(text)))
        assert symbols.defined == {"offered"} and symbols.undefined - {"_GLOBAL_OFFSET_TABLE_"} == {
            "needed"
        }, triple
    for damaged in (
        b"",
        b"\x7fELF",
        b"\x7fELF\x02\x01" + bytes(58),
        b"\xcf\xfa\xed\xfe" + bytes(8),
        b"garbage" * 20,
    ):
        with pytest.raises(ObjectError):
            check_kernel(damaged, "graphad_kernel")


def test_the_key_names_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    host = target.host()
    assert host.cpu and "," in host.features
    other = target.Target(host.triple, host.cpu, host.features + ",+more")
    assert other.parts != host.parts
