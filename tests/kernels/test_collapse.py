"""Collapsing: which kernel a loop becomes, and that kernel, numbers and text together compute the right thing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphad.core.dims import Dim, UndecidedSize, at_most, evaluate, product
from graphad.core.dtypes import float32, float64, int32
from graphad.core.errors import InternalError
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop, Operand, collapse
from graphad.kernels.forms import Access, Kernel, Store
from graphad.kernels.sites import reach, row_strides
from tests.compiler.cpu.kernel_runner import run_oracle

ADD = forms.call("add", [float32, float32])
SQUARE = forms.call("square", [float32])
N, M = Dim.symbol("n"), Dim.symbol("m")


def add(shape: tuple[object, ...], *operands: tuple[object, ...]) -> Loop:
    return collapse(ADD, shape, operands)


def test_contiguous_dimensions_become_one() -> None:
    loop = add((N, M, 3), (N, M, 3), (N, M, 3))
    assert loop.kernel.rank == 1 and loop.extents == (N * M * 3,) and loop.strides == {}


def test_the_kernel_does_not_depend_on_the_batch_size() -> None:
    by_symbol = add((N, 5), (N, 5), (5,)).kernel
    assert {add((n, 5), (n, 5), (5,)).kernel for n in (0, 2, 3, 1000)} == {by_symbol}
    reduced = collapse(SQUARE, (N, 5), [(N, 5)], (0,), ["add"]).kernel
    assert {collapse(SQUARE, (n, 5), [(n, 5)], (0,), ["add"]).kernel for n in (0, 2, 3, 1000)} == {reduced}


def test_sizes_of_one_are_dropped_and_numbers_use_the_kernel_of_vectors() -> None:
    vector = add((7,), (7,), (7,)).kernel
    assert (
        add((), (), ()).kernel
        == add((1, 1), (1, 1), ()).kernel
        == add((1, 7, 1), (1, 7, 1), (7, 1)).kernel
        == vector
    )


def test_broadcast_operands_are_classed_by_dimension() -> None:
    column = add((4, 6), (4, 6), (4, 1)).kernel
    row = add((4, 6), (4, 6), (6,)).kernel
    number = add((4, 6), (4, 6), ()).kernel
    assert [access.strides for access in column.inputs] == [("s", "1"), ("s", "0")]
    assert [access.strides for access in row.inputs] == [("s", "1"), ("0", "1")]
    assert [access.strides for access in number.inputs] == [("1",), ("0",)]


def test_reduced_dimensions_stand_between_kept_ones() -> None:
    outer = collapse(SQUARE, (N, 3, M, 4), [(N, 3, M, 4)], (0, 2), ["add"])
    assert outer.extents == (3, N, M, 4) and outer.kernel.reduced == (1, 2) and outer.kernel.split == 0
    rows = collapse(SQUARE, (N, 4), [(N, 4)], (0,), ["add"])
    assert rows.kernel.reduced == (0,) and rows.kernel.split == 1
    assert collapse(SQUARE, (N, M), [(N, M)], (0, 1), ["add"]).kernel.is_full_reduction


def test_reducing_an_axis_of_size_one_is_a_map() -> None:
    assert collapse(SQUARE, (N, 1), [(N, 1)], (1,), ["add"]).kernel == collapse(SQUARE, (N,), [(N,)]).kernel


def test_a_reduction_walks_its_input_in_memory_order() -> None:
    loop = collapse(SQUARE, (N, 5), [Operand((N, 5), (1, N))], (1,), ["add"])
    assert loop.extents == (5, N) and loop.kernel.inputs[0].strides == ("s", "1")


def test_words_of_a_block_have_their_numbers() -> None:
    loop = add((N, 5), (N, 5), (5,))
    layout = block_layout(loop.kernel)
    block = loop.words({"n": 9})
    assert len(block) == layout.count and [block[w] for w in layout.extents] == [9, 5]
    assert (block[layout.lo], block[layout.hi]) == (0, 9)
    assert {place: block[word] for place, word in layout.strides.items()} == {(0, 0): 5, (2, 0): 5}


def test_in_place_pairs_need_equal_strides() -> None:
    same = collapse(ADD, (4, 6), [(4, 6), (6,)], inplace=[(0, 0), (1, 0)])
    assert same.kernel.inplace == ((0, 0),)


def test_digest_is_the_same_in_every_process() -> None:
    kernel = add((N, 5), (N, 5), (5,)).kernel
    program = (
        "from graphad.core.dtypes import float32; from graphad.kernels import forms\n"
        "from graphad.kernels.collapse import collapse\n"
        "print(collapse(forms.call('add', [float32, float32]), (7, 5), [(7, 5), (5,)]).kernel.digest())"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == kernel.digest()
    other = collapse(forms.call("add", [float64, float64]), (7, 5), [(7, 5), (5,)]).kernel
    assert other.digest() != kernel.digest() and hash(other) != hash(kernel)


def test_malformed_kernels_are_refused() -> None:
    vector, one = Access(float32, ("1",)), Access(float32, ("0",))
    good = Kernel(1, (vector,), (), (), (Store(("in", 0), vector),))
    good.check()
    for bad in (
        Kernel(0, (), (), (), ()),
        Kernel(1, (vector,), (), (), (Store(("in", 0), one),)),
        Kernel(1, (vector,), (), (), (Store(("in", 0), one, "median"),)),
        Kernel(1, (vector,), (), (), (Store(("in", 0), Access(int32, ("1",))),)),
        Kernel(2, (vector,), (), (), (Store(("in", 0), vector),)),
        Kernel(1, (one,), (), (), (Store(("in", 0), vector),), ((0, 0),)),
    ):
        with pytest.raises(InternalError):
            bad.check()


@st.composite
def loops(
    draw: st.DrawFn,
) -> tuple[tuple[int, ...], list[tuple[np.ndarray, tuple[int, ...]]], tuple[int, ...]]:
    """A shape, two operands (view, axes permuted or sliced) and reduced axes."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    operands = []
    for _ in range(2):
        skip = draw(st.integers(0, len(shape)))
        own = [1 if draw(st.booleans()) else size for size in shape[skip:]]
        order = draw(st.permutations(range(len(own))))
        steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in own]
        stored = [own[d] * abs(steps[d]) for d in order]
        base = np.arange(1, 1 + int(np.prod(stored)), dtype=np.float32).reshape(stored)
        view = base.transpose(np.argsort(order)) if own else base
        view = view[tuple(slice(None, None, step) for step in steps)] if own else view
        operands.append((base, view))
    axes = tuple(d for d in range(len(shape)) if draw(st.booleans()))
    return shape, operands, axes


@settings(max_examples=150)
@given(loops())
def test_any_loop_computes_what_numpy_does(case: tuple) -> None:
    shape, operands, axes = case
    described, buffers = [], []
    for base, view in operands:
        described.append(Operand(view.shape, tuple(step // 4 for step in view.strides)))
        buffers.append(_from(base, view))
    full = np.broadcast_to(operands[0][1] + operands[1][1], shape)
    loop = collapse(ADD, shape, described)
    found = np.full(shape, -1, np.float32)
    run_oracle(loop, buffers, [found])
    assert np.array_equal(found, full)

    for combine, function in (("add", np.add), ("max", np.maximum)):
        loop = collapse(ADD, shape, described, axes, [combine])
        found = np.full([size for d, size in enumerate(shape) if d not in axes], -1, np.float32)
        run_oracle(loop, buffers, [found])
        start = 0 if combine == "add" else -np.inf
        assert np.allclose(
            found, function.reduce(full, axis=axes, initial=start) if axes else full, rtol=1e-6
        )


class _Shifted:
    """A buffer whose element 0 is in its middle, as a pointer to a view's first element is."""

    def __init__(self, data: np.ndarray, start: int) -> None:
        self.data, self.start = data, start

    def reshape(self, _: int) -> _Shifted:
        return self

    def __getitem__(self, index: int) -> np.float32:
        assert 0 <= self.start + index < len(self.data)
        return self.data[self.start + index]


def _from(base: np.ndarray, view: np.ndarray) -> _Shifted:
    return _Shifted(base.reshape(-1), (view.ctypes.data - base.ctypes.data) // 4 if base.size else 0)


# -- how far a walk reaches ------------------------------------------------------------------------------------------------


def touched(extents, strides, size):
    """The places that a walk touches, one by one."""
    return [int(np.dot(place, strides)) + k for place in np.ndindex(*extents) for k in range(size)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=3), st.sampled_from((1, 2, 4)))
def test_a_walk_reaches_from_the_first_place_it_touches_to_the_last(axes, size):
    extents, strides = [extent for extent, _ in axes], [size * stride for _, stride in axes]
    places = touched(extents, strides, size)
    assert reach(extents, strides, size) == ((min(places), max(places) + 1) if places else (0, 0))


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from((None, 0, 2, 5, -1, -3))), max_size=3))
def test_a_kernel_reaches_as_far_as_what_it_walks_along(axes):
    shape = tuple(extent for extent, _ in axes)
    rows = row_strides(shape)
    strides = tuple(rows[k] if stride is None else stride for k, (_, stride) in enumerate(axes))
    loop = collapse(SQUARE, shape, [Operand(shape, strides)])
    layout, words = block_layout(loop.kernel), loop.words()
    for walk, (extents, steps, itemsize) in zip(layout.walks, loop.walks(), strict=True):
        assert walk.reach(words) == tuple(4 * place for place in reach(extents, steps)) and itemsize == 4
    assert layout.walks[0].reach(words) == tuple(4 * place for place in reach(shape, strides))


@given(st.integers(2, 9), st.integers(2, 9))
def test_a_walk_in_symbols_reaches_as_far_as_in_numbers(n, m):
    numbers = {"n": n, "m": m}
    for extents, strides in (
        ((N, M), (M, 1)), ((M, N), (1, M)), ((N, M), (0, 1)), ((N - 1, M), (M, 1)),
        ((N,), (-1,)), ((N, M), (-1 * M, 1)), ((), ()),
    ):  # fmt: skip
        known = [[evaluate(size, numbers) for size in sizes] for sizes in (extents, strides)]
        assert [evaluate(place, numbers) for place in reach(extents, strides)] == [*reach(*known)]
    with pytest.raises(UndecidedSize):
        reach((N,), (N - M,))


@given(st.lists(st.tuples(st.sampled_from(((), ("n",), ("m",), ("m", "n"), ("n", "n"))), st.integers(-6, 6))))
def test_a_size_at_most_another_is_so_for_all_numbers(terms):
    size = sum((factor * product([Dim.symbol(name) for name in names]) for names, factor in terms), 0)
    if at_most(0, size):
        assert all(evaluate(size, {"n": n, "m": m}) >= 0 for n in range(2, 12) for m in range(2, 12))


def test_part_of_a_product_is_at_most_the_whole():
    assert at_most(M, N * M) and at_most(N * M - M, N * M) and at_most(2 * N, N * M) and at_most(4, N * M)
    assert not at_most(N * M, M) and not at_most(3 * N, N * M) and not at_most(5, N * M)
