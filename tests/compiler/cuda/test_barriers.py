"""No kernel waits at a place that only some threads of a block come to: a device would hang there, the fake one need not."""

from __future__ import annotations

import pytest

from graphad.compiler.cuda import build
from graphad.compiler.cuda.backend import Cuda
from graphad.compiler.partition import partition
from graphad.core.spec import TensorSpec
from graphad.trace.tracer import trace_flat
from tests.compiler.cuda.test_cubins import kernels, many_sums
from tests.compiler.test_backend import CASES
from tests.support.barriers import wrong_waits


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_programs_wait_together(name: str) -> None:
    function, values = CASES[name]
    graph = trace_flat(function, [TensorSpec(x.shape, x.dtype) for x in values]).graph
    for loop in partition(graph, backend=Cuda(0)).loops:
        assert not wrong_waits(build.text_of(loop.kernel).text)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("count", [1, 40, 150])
def test_reductions_wait_together(axes: tuple[int, ...], count: int) -> None:
    text = build.text_of(many_sums(count, axes)).text
    assert "syncthreads" in text and not wrong_waits(text)


@pytest.mark.slow
def test_kernels_of_the_ops_wait_together() -> None:
    texts = [build.text_of(kernel).text for kernel in kernels().values()]
    assert sum("syncthreads" in text for text in texts) > 100
    wrong = [f"{found}\n{text}" for text in texts if (found := wrong_waits(text))]
    assert not wrong, wrong[0]


HEAD = """
def kernel(a, n):
    tid = ix(cuda.threadIdx.x)
    q = cuda.shared.array(256, f64)
    f = cuda.shared.array(1, i32)
"""
RIGHT = {
    "in a loop of all": "for b in range(ix(cuda.blockIdx.x), n, ix(cuda.gridDim.x)):\n  cuda.syncthreads()",
    "behind a branch of some": "if tid == 0:\n  q[0] = ld_f64(a, ix(0))\ncuda.syncthreads()",
    "where the flag says": "if f[0] == cuda.gridDim.x - 1:\n  cuda.syncthreads()",
    "an exchange of the first warp": "if tid < 32:\n  k = ix(4)\n  while k > 0:\n    t = further_f64(t, k)\n    k = k - 1",
    "a number that all have again": "k = tid\nk = n\nif k > 0:\n  cuda.syncthreads()",
}
WRONG = {
    "in a branch of some": "if tid == 0:\n  cuda.syncthreads()",
    "in the other branch": "if tid == 0:\n  q[0] = n\nelse:\n  cuda.syncthreads()",
    "in a loop that ends for some": "for k in range(tid, n, ix(32)):\n  cuda.syncthreads()",
    "by what memory says": "if ld_i32(a, ix(0)) > 0:\n  cuda.syncthreads()",
    "by what a branch left": "k = n\nif tid == 0:\n  k = ix(0)\nif k > 0:\n  cuda.syncthreads()",
    "in the second round": "k = n\nwhile n > 0:\n  if k > 0:\n    cuda.syncthreads()\n  k = tid",
    "a barrier in a warp": "if tid < 32:\n  cuda.syncthreads()",
    "an exchange of some of a warp": "if tid < 16:\n  k = further_f64(q[0], ix(4))",
    "an exchange in a loop of some": "k = tid\nwhile k > 0:\n  k = ixsub(k, further_i32(k, ix(1)))",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_taken(name: str) -> None:
    assert not wrong_waits(HEAD + "    " + RIGHT[name].replace("\n", "\n    "))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    assert len(wrong_waits(HEAD + "    " + WRONG[name].replace("\n", "\n    "))) == 1
