"""A kernel with stages as source text for CUDA: a block of threads takes a row through all of them, then its next row.

    def kernel(lo, hi, w, block, rows, first, total, z0_lo, ..., held, z):
        h = shared_base() - first if held == 0 else w + blockIdx * held
        for b in range(blockIdx, rows, gridDim):
            z0_low = b * z0_m
            for z0_t in range(tid, ..., T):
                ...
            cuda.syncthreads()

Values that only stages read are in the block's shared memory if they fit, else in the block's part of the workspace. The last
block to finish runs the last stages over all rows.
"""

from __future__ import annotations

from functools import lru_cache

from graphad.compiler.cuda.emit import Printer, arrive, word_names
from graphad.compiler.cuda.shared import arrays, threads_of
from graphad.compiler.source import Source, Text
from graphad.kernels.stages import OUTSIDE, Stages

FURTHER = ("held", "z")  # bytes that each block has in the workspace, a counter


def stage_words(kernel: Stages) -> list[str]:
    """The names of the words of the argument block of a kernel with stages, in order."""
    names = ["lo", "hi", "w", "block", "rows", "first", "total"]
    for k, stage in enumerate(kernel.stages):
        names += [f"z{k}_{name}" for name in word_names(stage.kernel)] + [f"z{k}_scale"]
    return names


@lru_cache(maxsize=1024)
def emit_stages(kernel: Stages, is_narrow: bool = True) -> Source:
    """The source of all stages, a function `kernel` of the words of its argument block and two more."""
    out = Text()
    with out.block(f"def kernel({', '.join([*stage_words(kernel), *FURTHER])})"):
        if is_narrow:
            out.add("narrow()")
        if kernel.contracts:
            out.add("contract()")
        _print(kernel, out)
    return Source(str(out), kernel.digest(), "cuda")


def _print(kernel: Stages, out: Text) -> None:
    add, stages = out.add, kernel.stages
    add("tid = ix(cuda.threadIdx.x)")
    add("T = ix(cuda.blockDim.x)")
    printers = []
    for k, stage in enumerate(stages):
        held = {
            operand: f"z{k}_h{operand}"
            for operand, value in enumerate(stage.made)
            if value != OUTSIDE and kernel.held[value] and not stage.is_last
        }
        low, size = ("", "") if stage.is_last else (f"z{k}_low", f"z{k}_m")
        printer = Printer(stage.kernel.check(), out, f"z{k}_", low, size, held)
        printer.declare()
        add(f"z{k}_m = ix(z{k}_scale)")
        printers.append(printer)
    # Stages take turns, so that all share what their reductions need.
    codes = [[printer.sum_code(j) for j in printer.reducing] for printer in printers]
    wanted = arrays(kernel)
    for place, code in enumerate(wanted):
        add(f"q{wanted[:place].count(code)}_{code} = cuda.shared.array({threads_of(kernel)}, {code})")
    for printer, each in zip(printers, codes, strict=True):
        for place, (j, code) in enumerate(zip(printer.reducing, each, strict=True)):
            add(f"{printer.prefix}q{j} = q{each[:place].count(code)}_{code}")
    if any(printer.held for printer in printers):
        with out.block("if held == 0"):
            add("h = shared_base() - first")
        with out.block("else"):
            add("h = w + cuda.blockIdx.x * held")
    for printer in printers:
        for operand, name in printer.held.items():
            own = f"a{operand}" if operand < printer.count else f"o{operand - printer.count}"
            add(f"{name} = h + {printer.prefix}{own}")
    with out.block("for b in range(ix(cuda.blockIdx.x), ix(rows), ix(cuda.gridDim.x))"):
        for printer, stage in zip(printers, stages, strict=True):
            if not stage.is_last:
                add(f"{printer.low} = ixmul(b, {printer.size})")
                _by_block(printer)
                add("cuda.syncthreads()")
    if kernel.has_last:
        add("f = cuda.shared.array(1, i32)")
        arrive(out)
        with out.block("if f[0] == cuda.gridDim.x - 1"):
            add("cuda.threadfence()")
            for printer, stage in zip(printers, stages, strict=True):
                if stage.is_last:
                    _by_block(printer)
                    add("cuda.syncthreads()")
            with out.block("if tid == 0"):
                add("st_i32(z, ix(0), zero_i32())")


def _by_block(printer: Printer) -> None:
    """A kernel over its range, by the threads of one block."""
    if not printer.reducing:
        printer.map("tid", "T")
    elif printer.kernel.rank - 1 in printer.kernel.reduced:
        printer.block_rows("tid", "T")
    else:
        printer.block_columns("tid", "T")
