"""Kernels that are written out: they compile for three generations, fit a block, and run on Numba's simulator."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from graphad.compiler.cuda import geometry
from graphad.compiler.cuda.compile import link, translate, why_unavailable
from graphad.compiler.cuda.launches import INDICES, NUMBERS
from graphad.compiler.cuda.ordered import SORTED
from graphad.compiler.cuda.shared import THREADS, WARP
from graphad.compiler.cuda.written import JOINS, Written, emit_written, sum_kind
from graphad.compiler.cuda.written_texts import POINTERS
from graphad.compiler.source import code_of
from graphad.core.dtypes import as_dtype
from tests.compiler.cuda.test_cubins import GENERATIONS, REGISTERS, STACK, WARP_REGISTERS
from tests.support.cubins import resources

needs_numba_cuda = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
PARTS = 4


def codes(names: frozenset[str]) -> list[str]:
    return sorted(code_of(as_dtype(name)) for name in names)


def kernels() -> list[Written]:
    """All there are, but for more than two coordinates."""
    bits = [f"u{8 * size}" for size in (1, 2, 4, 8)]
    found = [Written("rank"), Written("merge"), Written("holds"), Written("never")]
    ways = ("error", "wrap", "none")
    for index in codes(INDICES):
        found += [Written("keys", (("I", index),), depth, way) for depth in (1, 2) for way in ways]
        found += [Written("take", (("X", x), ("I", index)), 1, way) for x in bits for way in ways]
        found += [Written("take", (("X", x), ("I", index)), 2, "error") for x in bits]
        found += [Written("first", (("I", index),)), Written("rising", (("X", index),))]
        found += [Written(way, (("I", index),)) for way in ("best", "searched")]
        found += [Written("rolled", (("X", x), ("I", index))) for x in bits]
        found.append(Written("block", tuple([(letter, index) for letter in "ABC"])))
    for code in codes(NUMBERS):
        kinds = {join: (("X", code), ("S", sum_kind(code, join))) for join in JOINS}
        texts = ("segments", "crossing")
        found += [Written(way, kinds[join], join=join) for way in texts for join in JOINS]
        found += [
            Written(way, kinds[join], join=join) for way in ("totals", "running") for join in ("add", "mul")
        ]
    for code in bits:
        found += [Written(way, (("X", code), ("S", code)), join="put") for way in ("segments", "crossing")]
        found.append(Written("band", (("X", code),)))
    for way in ("ordered", "extreme"):
        found += [Written(way, (("X", x),), falls=falls) for x in codes(SORTED) for falls in (False, True)]
    found += [Written("part", (("X", x),), 2, join=join) for x in bits for join in ("take", "put")]
    found += [Written("spot", depth=depth) for depth in range(5)]
    found += [Written(way, (("X", x),)) for way in ("banded", "bisected") for x in ("f32", "f64")]
    found += [
        Written("recurrence", (("X", x), ("S", "f64" if x == "f64" else "f32")))
        for x in ("f16", "bf16", "f32", "f64")
    ]
    assert {kernel.way for kernel in found} == set(POINTERS)
    return found


def covering() -> list[Written]:
    """Kernels that have all functions, types and branches which any has; continuous integration compiles all of them."""
    if os.environ.get("GRAPHAD_CUBINS") == "all":
        return kernels()
    seen: set[str] = set()
    found = []
    for kernel in kernels():
        names = {kernel.way, *re.findall(r"[A-Za-z_]\w*", emit_written(kernel).text)}
        if not seen.issuperset(names):
            seen |= names
            found.append(kernel)
    return found


@needs_numba_cuda
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_they_fit_three_generations(part: int) -> None:
    assert len(covering()) > 20
    for k, kernel in enumerate(covering()[part::PARTS]):
        for is_narrow in (True, False):
            made = translate(emit_written(kernel, is_narrow).text, GENERATIONS[0])
            for capability in GENERATIONS if k % 4 == 0 else GENERATIONS[1:2]:
                found = resources(link(made, capability).code)
                held = -(-found.registers * WARP // WARP_REGISTERS) * WARP_REGISTERS
                assert held * (THREADS // WARP) <= REGISTERS and found.stack <= STACK, (kernel, found)
                assert found.parameters == len(kernel.words) + kernel.checks
                assert found.shared <= 1024  # what the device keeps for itself


def test_none_waits_or_adds_atomically_and_each_has_its_own_digest() -> None:
    every = kernels()
    for kernel in every:
        assert not re.search("syncthreads|shared|arrive|further", emit_written(kernel).text)
    assert len({kernel.digest() for kernel in every}) == len(every) == len(set(every))


def test_positions_have_64_bits_where_an_operand_is_large() -> None:
    words = [10, 2**30 - 1, *[0] * 3, 1, 1, 1, 1, 1]
    take = Written("take", (("X", "u32"), ("I", "i32")), 1)
    for most, is_narrow in ((2**30 - 1, True), (2**30, False)):
        words[1] = most
        shape = geometry.shape_of(take, words, {})
        assert (shape.is_narrow, shape.blocks, shape.threads, shape.checks) == (is_narrow, 1, (256, 1), True)


SIMULATION = """
import numpy as np
from graphad.compiler.cuda import simulate
from graphad.compiler.cuda.written import Written

def launch(kernel, n, pointers, sizes, blocks=2, threads=3):
    flag = np.zeros(1, np.int32)
    simulate.run(kernel, [n, n, *pointers, *sizes, *([flag] if kernel.checks else [])], blocks, threads)
    return flag[0]

rng = np.random.default_rng(0)
x = rng.standard_normal((5, 3)).astype(np.float32)
ids = np.array([4, 0, 4, 2, 4, 4, 0], np.int32)
y = np.zeros((7, 3), np.float32)
take = Written("take", (("X", "f32"), ("I", "i32")), 1, "error")
assert launch(take, 21, [x.reshape(-1), ids, y.reshape(-1)], [1, 7, 3, 5, 5]) == 0 and (y == x[ids]).all()
assert launch(take, 21, [x.reshape(-1), ids + 1, y.reshape(-1)], [1, 7, 3, 5, 5]) == 1

keys, order = np.zeros((2, 2, 7), np.int64)
launch(Written("keys", (("I", "i32"),), 1, "error"), 7, [ids, keys[0]], [7, 5, 1, 5])
launch(Written("rank"), 7, [keys[0], keys[1], order[1]], [7, 2])
width, at = 2, 1
while width < 7:
    launch(Written("merge"), 7, [keys[at], order[at], keys[1 - at], order[1 - at]], [7, width])
    width, at = 2 * width, 1 - at
assert (order[at] == np.argsort(ids, kind="stable")).all() and (keys[at] == np.sort(ids)).all()

kinds, heads, tails = (("X", "f32"), ("S", "f64")), np.zeros(12), np.zeros(12)
rows, found = rng.standard_normal((7, 3)).astype(np.float32), np.zeros((5, 3), np.float32)
sizes = [1, 3, 5, 7, 5, 2]
segments, crossing = (Written(way, kinds, join="add") for way in ("segments", "crossing"))
given = [keys[at], order[at], rows.reshape(-1), found.reshape(-1), heads, tails]
launch(segments, 12, given, [1, 7, *sizes[1:]])
launch(crossing, 12, [keys[at], found.reshape(-1), heads, tails], sizes)
want = np.zeros((5, 3))
np.add.at(want, ids, rows.astype(float))
assert (found == want.astype(np.float32)).all()

line, sums, out = rng.standard_normal(10).astype(np.float32), np.zeros(4), np.zeros(10, np.float32)
launch(Written("totals", kinds, join="add"), 4, [line, sums], [1, 10, 1, 3, 0])
launch(Written("running", kinds, join="add"), 4, [line, sums, out], [1, 10, 1, 3, 0, 0])
assert np.allclose(out, np.cumsum(line.astype(float)), rtol=1e-6)
print("simulated")
"""


@needs_numba_cuda
def test_on_the_simulator_they_compute_what_numpy_does() -> None:
    environment = {
        **os.environ,
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", SIMULATION], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "simulated" in done.stdout
