"""CUDA source: compiled to cubins without a device, and run on Numba's simulator against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from graphad.compiler import plain
from graphad.compiler.cuda import geometry
from graphad.compiler.cuda.compile import Cubin, compile_source, why_unavailable
from graphad.compiler.cuda.emit import COMPOSED, LIBRARY, emit, lanes, supports
from graphad.compiler.cuda.shared import THREADS
from graphad.compiler.objects import read_symbols
from graphad.compiler.source import CompileError, code_of
from graphad.core.dtypes import ALL, DType, complex64, float16, float32, float64
from graphad.kernels import forms, scalars
from graphad.kernels.collapse import Operand, collapse
from tests.support.maps import compose, merge_maps

needs_numba_cuda = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))
REAL = [dtype for dtype in ALL if not dtype.is_complex]


@needs_numba_cuda
@pytest.mark.parametrize(
    "dtype", [float16, float32, float64, *[d for d in REAL if d.name in ("bool", "int32", "uint8")]], ids=str
)
def test_every_function_compiles_for_a_device(dtype: DType) -> None:
    code = code_of(dtype)
    names = [
        name
        for name, row in scalars.TABLE.items()
        if name not in ("cast", "select") and scalars.kind_of(dtype) in row.kinds
        if plain.has_plain(name, code) or (dtype.is_floating and name in LIBRARY | set(COMPOSED))
    ]
    maps = [forms.call(name, [dtype] * scalars.TABLE[name].arity) for name in names]
    maps += [forms.cast_map(dtype, target) for target in REAL if target is not dtype]
    merged = merge_maps(maps, [["x", "y"][: len(form.inputs)] for form in maps])
    loop = collapse(merged.map, (9,), [(9,)] * len(merged.inputs))
    assert supports(loop.kernel) is None
    cubin = compile_source(emit(loop.kernel).text)
    assert cubin.code[:4] == b"\x7fELF" and cubin.entry in read_symbols(cubin.code).defined
    assert Cubin.unpack(cubin.pack()) == cubin


def test_source_of_float_kernels_names_no_double() -> None:
    chain = compose(
        [
            (forms.call("tanh", [float32]), ["x"], ["a"]),
            (forms.call("mul", [float32, float32]), ["a", "y"], ["b"]),
        ],
        ["b"],
    ).map
    text = emit(collapse(chain, (9,), [(9,), (9,)]).kernel).text
    assert "f64" not in text


@needs_numba_cuda
def test_source_that_does_not_compile_says_so() -> None:
    with pytest.raises(CompileError, match="cuda: "):
        compile_source("def kernel(a):\n    st_f32(a, 0, nothing_f32(a))\n")


def test_what_the_device_library_lacks_stays_on_the_host() -> None:
    assert "complex64" in str(
        supports(collapse(forms.call("add", [complex64] * 2), (3,), [(3,), (3,)]).kernel)
    )


def test_launches_cover_the_work() -> None:
    square = forms.call("square", [float32])
    shape = (3000, 500)

    def of(*axes: int, size: tuple[int, ...] = shape) -> geometry.Shape:
        loop = collapse(square, size, [size], axes, ["add"] if axes else None)
        return geometry.shape_of(loop.kernel, loop.words(), {})

    assert of().blocks == -(-3000 * 500 // (4 * THREADS))
    rows = of(1)
    assert (rows.blocks, rows.threads, rows.further) == (3000, (128, 1), (1,))
    columns = of(0)  # 16 tiles of 32 results, each cut into pieces of 256 rows at least
    assert columns.threads == (32, 8) and columns.further == (12,) and columns.blocks == 16 * 12
    full = of(0, 1)
    assert full.further == (-(-3000 * 500 // geometry.PIECE),) == (full.blocks,)
    assert of(0, 1, size=(10**4, 10**4)).further == (1024,)
    loop = collapse(square, shape, [shape], (0, 1), ["add"])
    assert geometry.workspace(loop.kernel, loop.numbers()) == 8 * full.blocks


def test_positions_have_64_bits_where_an_array_is_large() -> None:
    square = forms.call("square", [float32])
    for size, is_narrow in ((10**8, True), (3 * 10**9, False)):
        loop = collapse(square, (size,), [(size,)])
        assert geometry.shape_of(loop.kernel, loop.words(), {}).is_narrow is is_narrow
    apart = collapse(square, (1000, 2), [Operand((1000, 2), (2**21, 1))])
    assert not geometry.shape_of(apart.kernel, apart.words(), {}).is_narrow
    assert "narrow()" in emit(apart.kernel, True).text and "narrow()" not in emit(apart.kernel, False).text


def test_loads_are_wide_where_neighbours_are_read_by_short_bodies() -> None:
    def of(name: str, dtype: DType, *operands: Operand | tuple[int, ...]) -> int:
        return lanes(collapse(forms.call(name, [dtype] * len(operands)), (8,), operands).kernel)

    assert of("tanh", float32, (8,)) == 4 and of("add", float64, (8,), (8,)) == 2
    assert of("add", float32, (8,), Operand((8,), (2,))) == 1
    assert of("add", float32, (8,), (1,)) == 4


SIMULATION = """
import numpy as np
from graphad.compiler.cuda import geometry, simulate
from graphad.core.dtypes import float16, float32, int32
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Operand, collapse

def launch(loop, inputs, outputs, threads, blocks=1, scalars=()):
    layout = block_layout(loop.kernel)
    words = list(loop.words(scalars=[0] * len(loop.kernel.scalars)))
    shape = geometry.shape_of(loop.kernel, words, {})
    for word, array in zip((*layout.inputs, *layout.outputs), (*inputs, *outputs)):
        words[word] = array.reshape(-1)
    for word, value in zip(layout.scalars, scalars):
        words[word] = value
    words[layout.workspace] = np.zeros(max(1, geometry.workspace(loop.kernel, loop.numbers()) // 8))
    counter = [np.zeros(1, np.int32)] if shape.has_counter else []
    simulate.run(loop.kernel, [*words, *shape.further, *counter], blocks, threads)
    assert not counter or counter[0][0] == 0

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 3, 5)).astype(np.float32)

found = np.zeros((3, 5), np.float32)
launch(collapse(forms.call("sigmoid", [float32]), x.shape, [x.shape]), [x], [found], 4)
assert np.allclose(found, 1 / (1 + np.exp(-x)))

launch(collapse(forms.call("maximum", [float32] * 2), x.shape, [x.shape, Operand((3, 5), (1, 3))]), [x, y], [found], 4)
assert np.array_equal(found, np.maximum(x, y.reshape(5, 3).T))

half = x.astype(np.float16)
found = np.zeros((3, 5), np.float16)
launch(collapse(forms.call("softplus", [float16]), x.shape, [x.shape]), [half], [found], 4)
assert np.allclose(found.astype(float), np.log1p(np.exp(half.astype(float))), rtol=2e-3)

square = forms.call("square", [float32])
columns = np.zeros(5, np.float32)
launch(collapse(square, x.shape, [x.shape], (0,), ["add"]), [x], [columns], (4, 2))
assert np.allclose(columns, (x * x).sum(0))

tall = rng.standard_normal((300, 2)).astype(np.float32)
columns = np.zeros(2, np.float32)
launch(collapse(square, tall.shape, [tall.shape], (0,), ["add"]), [tall], [columns], (2, 4), blocks=2)
assert np.allclose(columns, (tall * tall).sum(0))

rows = np.zeros(3, np.float32)
launch(collapse(square, x.shape, [x.shape], (1,), ["add"]), [x], [rows], 8)
assert np.allclose(rows, (x * x).sum(1))

long = rng.integers(-9, 9, 9000).astype(np.int32)
least, total = np.zeros((2, 1), np.int32)
form = forms.Map((int32,), (), (), (("in", 0), ("in", 0)))
launch(collapse(form, long.shape, [long.shape], (0,), ["min", "add"]), [long], [least, total], 16, blocks=2)
assert least[0] == long.min() and total[0] == long.sum()
print("simulated")
"""


@needs_numba_cuda
def test_kernels_on_the_simulator_compute_what_numpy_does() -> None:
    environment = {
        **os.environ,
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run([sys.executable, "-c", SIMULATION], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "simulated" in done.stdout
