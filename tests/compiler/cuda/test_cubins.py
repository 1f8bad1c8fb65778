"""Kernels of every op, of its derivative too, compile for three generations of GPUs and fit what a block of threads has.

A kernel is translated once, for the oldest generation, and linked for each. Where numba-cuda is installed that is done for some
in which every function, type and kind of loop occurs that any kernel has. With `GRAPHAD_CUBINS=all`, as in continuous
integration, all others are translated too, and linked for the generation between. Processes share them in parts.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest

from graphad.compiler.cuda import build, complexes, geometry
from graphad.compiler.cuda.backend import Cuda
from graphad.compiler.cuda.compile import Cubin, compile_source, link, translate, why_unavailable
from graphad.compiler.cuda.emit import takes_parts, word_names
from graphad.compiler.cuda.emit_stages import FURTHER, stage_words
from graphad.compiler.cuda.shared import DECLARED, THREADS, UNASKED, WARP, declared, threads_of
from graphad.compiler.partition import partition
from graphad.core.dtypes import as_dtype
from graphad.kernels import forms
from graphad.kernels.forms import Kernel
from graphad.kernels.sites import row_strides
from graphad.kernels.stages import Stages
from graphad.trace.specialise import specialise
from tests.compiler.test_backend import CASES
from tests.support.case_tables import all_cases
from tests.support.cubins import resources

needs_numba_cuda = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
GENERATIONS = ((8, 0), (9, 0), (10, 0))
REGISTERS = 65536  # of a multiprocessor, which a block has to fit
WARP_REGISTERS = 256  # in which the registers of a warp are counted
STACK = 1024  # bytes of a thread, spilled registers included
PARTS = 16


@functools.cache
def kernels() -> dict[str, Kernel | Stages]:
    """The kernels of all cases by digest."""
    device, found = Cuda(0), {}
    for _, _, case in all_cases():
        for graph, _ in case.graphs():
            try:
                loops = partition(specialise(graph, graph.inputs), backend=device).loops
            except (ValueError, TypeError, RuntimeError):  # graphs that no device has plans for
                continue
            found |= {
                loop.kernel.digest(): loop.kernel for loop in loops if device.why_not(loop.kernel) is None
            }
    return dict(sorted(found.items()))


def kinds(kernel: Kernel | Stages) -> set[Any]:
    """What a kernel has in it: the names in its text, of functions, types, operands and loops, and its results."""
    parts = [stage.kernel for stage in kernel.stages] if isinstance(kernel, Stages) else [kernel]
    results = {(store.combine, store.access.dtype.name) for part in parts for store in part.outputs}
    loops = {(type(kernel), part.rank, len(part.reduced), part.contracts) for part in parts}
    return {*re.findall(r"[A-Za-z_]\w*", build.text_of(kernel).text), *results, *loops}


@functools.cache
def covering() -> dict[str, Kernel | Stages]:
    """Kernels that have all kinds which any kernel has, short ones first, by digest."""
    seen: set[Any] = set()
    found = {}
    for digest, kernel in sorted(
        kernels().items(), key=lambda item: (len(build.text_of(item[1]).text), item[0])
    ):
        if not seen.issuperset(has := kinds(kernel)):
            seen |= has
            found[digest] = kernel
    return found


def chosen(part: int) -> list[tuple[Kernel | Stages, tuple[tuple[int, int], ...]]]:
    """The kernels that a part of the run compiles, the same ones each time, and for which generations."""
    few = covering()
    every = kernels() if os.environ.get("GRAPHAD_CUBINS") == "all" else few
    return [
        (every[key], GENERATIONS if key in few else GENERATIONS[1:2]) for key in sorted(every)[part::PARTS]
    ]


def check(kernel: Kernel | Stages, cubin: Cubin) -> None:
    found = resources(cubin.code)
    assert 0 < found.registers <= 255, found
    warps = -(-THREADS // WARP)
    held = -(-found.registers * WARP // WARP_REGISTERS) * WARP_REGISTERS
    assert held * warps <= REGISTERS, f"a block of the largest launch does not fit: {found}"
    # What the text declares is less than a block has unasked; a launch adds what is left, or what it asks for.
    assert found.shared <= declared(kernel, threads_of(kernel)) <= UNASKED, found
    assert found.stack <= STACK, found
    words = stage_words(kernel) if isinstance(kernel, Stages) else word_names(kernel)
    further = len(FURTHER) if isinstance(kernel, Stages) else 2 * takes_parts(kernel)
    assert found.parameters == len(words) + further, "a launch passes what the kernel reads"
    assert 8 * found.parameters <= geometry.PARAMETER_BYTES, found


@needs_numba_cuda
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_of_the_ops_fit_three_generations(part: int) -> None:
    assert len(kernels()) > 300 and len(covering()) > 100
    wrong = []
    for kernel, generations in chosen(part):
        try:
            made = translate(build.text_of(kernel).text, GENERATIONS[0])
            for capability in generations:
                check(kernel, link(made, capability))
        except Exception as error:  # all of them are told at the end
            wrong.append(f"{error}\n{kernel.text()}")
    assert not wrong, f"{len(wrong)} of {len(chosen(part))}\n" + "\n".join(wrong[:5])


@needs_numba_cuda
def test_a_kernel_that_is_translated_for_an_older_generation_is_the_same() -> None:
    for kernel in list(kernels().values())[:: len(kernels()) // 4]:
        text = build.text_of(kernel).text
        made = translate(text, GENERATIONS[0])
        for capability in GENERATIONS[1:]:
            assert resources(link(made, capability).code) == resources(compile_source(text, capability).code)


@needs_numba_cuda
@pytest.mark.parametrize("name", ["rows of a softmax", "a normalisation"])
def test_stages_fit_the_device(name: str) -> None:
    from graphad.core.spec import TensorSpec
    from graphad.trace.tracer import trace_flat

    function, values = CASES[name]
    graph = trace_flat(function, [TensorSpec(x.shape, x.dtype) for x in values]).graph
    found: list[Any] = [loop.kernel for loop in partition(graph, backend=Cuda(0)).loops]
    assert any(isinstance(kernel, Stages) for kernel in found)
    for kernel in found:
        check(kernel, compile_source(build.text_of(kernel).text))


@needs_numba_cuda
@pytest.mark.parametrize(("fn", "dtype"), [(np.divide, "complex128"), (np.exp, "complex64")])
def test_kernels_of_complex_numbers_fit_the_device(fn: Any, dtype: str) -> None:
    form = forms.Applied(fn, as_dtype(dtype))
    given = [((3, 4), (4,))[k] for k in range(fn.nin)]
    walks = [
        (shape, [size * as_dtype(dtype).itemsize for size in row_strides(shape)])
        for shape in (*given, (3, 4))
    ]
    kept: list[Any] = []
    device = Cuda(0)
    with mock.patch.object(device, "build", lambda kernel: kept.append(kernel) or 1):
        (part,) = complexes.parts(device, form, [dtype] * len(walks), walks)
    assert len(part.step.places) == 2 * len(walks)
    check(kept[0], compile_source(build.text_of(kept[0]).text))


def many_sums(count: int, axes: tuple[int, ...]) -> Kernel:
    """A kernel that adds up so many values of one element."""
    from graphad.core.dtypes import float32
    from graphad.kernels import forms
    from graphad.kernels.collapse import collapse

    squares = tuple(
        [
            forms.Statement("mul", (("in", 0), ("tmp", k - 1) if k else ("in", 0)), float32)
            for k in range(count)
        ]
    )
    form = forms.Map((float32,), (), squares, tuple([("tmp", k) for k in range(count)]))
    return collapse(form, (50, 300), [(50, 300)], axes, ["add"] * count).kernel


@needs_numba_cuda
@pytest.mark.parametrize(
    "count, axes, threads", [(20, (0,), 128), (20, (1,), 128), (20, (0, 1), 128), (40, (1,), 64)]
)
def test_many_reductions_fit_a_block_by_fewer_threads(
    count: int, axes: tuple[int, ...], threads: int
) -> None:
    kernel = many_sums(count, axes)
    assert threads_of(kernel) == threads and declared(kernel, 2 * threads) > DECLARED[Kernel]
    check(kernel, compile_source(build.text_of(kernel).text))


def test_more_reductions_than_a_warp_has_room_for_are_refused() -> None:
    assert Cuda(0).why_not(many_sums(150, (1,))) is None
    assert "200 reductions wants more shared memory" in str(Cuda(0).why_not(many_sums(200, (1,))))


def ptx_of(fn: str, *dtypes: Any) -> str:
    """The device's assembly text of a function over rows of 64 elements."""
    from numba import cuda
    from numba.cuda import types

    from graphad.compiler.cuda import intrinsics
    from graphad.kernels import forms
    from graphad.kernels.collapse import collapse

    kernel = collapse(forms.call(fn, [*dtypes]), (64,), [(64,)] * len(dtypes)).kernel
    compile_source(build.text_of(kernel).text)  # numba-cuda takes numba.cuda's place
    scope: dict[str, Any] = {}
    exec(build.text_of(kernel).text, scope)
    function = scope["kernel"]
    scope |= intrinsics.namespace(function.__code__.co_names)
    signature = types.void(*[types.int64] * function.__code__.co_argcount)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, _ = cuda.compile(function, signature, device=False, abi="numba", cc=(9, 0), output="ptx")
    return str(text)


@needs_numba_cuda
def test_four_neighbours_are_one_load_and_one_store() -> None:
    from graphad.core.dtypes import float32

    text = ptx_of("add", float32, float32)
    assert text.count("ld.v4.f32") >= 2 and text.count("st.v4.f32") >= 1


@needs_numba_cuda
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_numbers_of_every_size_are_rounded_to_whole_ones(name: str) -> None:
    """Of two bytes they were only rounded to what two bytes hold: both had one name in the text."""
    from graphad.core.dtypes import as_dtype

    assert "cvt.rni" in ptx_of("round", as_dtype(name))


@needs_numba_cuda
def test_the_worker_makes_cubins_too() -> None:
    """It runs without `site`, so it finds neither numba-cuda's hook nor the toolkit's libraries by itself."""
    from graphad.compiler.cuda.compile import Cubin
    from graphad.compiler.service import CompileService
    from graphad.core.dtypes import float32
    from graphad.kernels import forms
    from graphad.kernels.collapse import collapse

    kernel = collapse(forms.call("tanh", [float32]), (9,), [(9,)]).kernel
    worker, answers, done = CompileService(), [], threading.Event()
    try:
        assert worker.request(
            "one", build.text_of(kernel).text, lambda *answer: (answers.append(answer), done.set()), "cuda:90"
        )
        assert done.wait(600)
        _, payload, error = answers[0]
        assert error is None and resources(Cubin.unpack(payload).code).registers > 0
    finally:
        worker.close()


REMOVED = """
import numpy as np
if "row_stack" in vars(np):  # which NumPy 2.5 has no more
    vars(np).pop("row_stack")
    np.__all__.remove("row_stack")
from graphad.compiler.cuda.compile import compile_source
print(len(compile_source("def kernel(a, n):\\n    pass\\n").code), "row_stack" in vars(np))
"""


@needs_numba_cuda
def test_a_name_that_newer_numpys_have_no_more_is_not_missed() -> None:
    done = subprocess.run([sys.executable, "-c", REMOVED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    size, is_left = done.stdout.split()
    assert int(size) > 1000 and is_left == "False"
