"""A kernel with stages as source text: the text of each stage, one after another, inside of a loop over blocks of rows.

    def kernel(blk):
        lo = word(blk, 0)
        ...
        for b in range(lo, hi, block):
            e = minimum_i64(b + block, hi)
            z0_lo = b                              # the range of stage 0, whose names begin with z0_
            z0_o0 = w + z0_o0_0 - b * 4            # where row 0 of a held value would be
            for z0_i0 in range(z0_lo, z0_hi):
                ...

A value that stages produce has its own alias scope, so that no access is moved past its writes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from graphad.compiler.cpu import functions
from graphad.compiler.cpu.emit import Printer
from graphad.compiler.source import Source, Text
from graphad.kernels.block import block_layout
from graphad.kernels.forms import CONTIGUOUS, Access
from graphad.kernels.stages import BLOCK, HI, LO, OUTSIDE, ROWS, WORKSPACE, Stages, bases_of

# A name that is not called; and a memory access: load or store, type, scope, pointer.
_NAME = re.compile(r"\b(?!(?:for|in|if|and|or|pass|blk)\b)[a-z]\w*\b(?!\()")
_ACCESS = re.compile(r"\b(ld|st)_([a-z]+\d+)(?:_\w+)?\((\w+),")


@lru_cache(maxsize=1024)
def emit_stages(kernel: Stages) -> Source:
    """The source of all stages, a function `kernel` of the address of its argument block."""
    library = "".join(functions.digest(stage.kernel) for stage in kernel.stages)
    return Source(str(_Printer(kernel).print()), kernel.digest(), library)


class _Printer:
    """Prints one kernel with stages."""

    def __init__(self, kernel: Stages) -> None:
        self.kernel, self.bases, self.out = kernel, bases_of(kernel), Text()

    def print(self) -> Text:
        add, stages = self.out.add, self.kernel.stages
        with self.out.block("def kernel(blk)"):
            names = {"lo": LO, "hi": HI, "w": WORKSPACE, "block": BLOCK, "rows": ROWS}
            for name, word in names.items():
                add(f"{name} = word(blk, {word})")
            for k, stage in enumerate(stages):
                if not stage.is_last:
                    self._header(k)
            with self.out.block("for b in range(lo, hi, block)"):
                add("e = minimum_i64(b + block, hi)")
                for k, stage in enumerate(stages):
                    if not stage.is_last:
                        self._stage(k)
            if self.kernel.has_last:
                with self.out.block("if hi == rows and (lo == 0 or lo == hi)"):
                    for k, stage in enumerate(stages):
                        if stage.adds:
                            printer = Printer(stage.kernel)
                            printer.combined()
                            self._add(k, printer.out)
                    for k, stage in enumerate(stages):
                        if stage.is_last:
                            self._header(k)
                            self._last(k)
        return self.out

    def _header(self, k: int) -> None:
        stage, base = self.kernel.stages[k], self.bases.stages[k]
        printer = Printer(stage.kernel.check())
        printer.header(base)
        if stage.kernel.is_full_reduction:
            printer.out.add(f"w = word(blk, {base + block_layout(stage.kernel).workspace})")
        if stage.adds:
            printer.chunks()
        self._add(k, printer.out)
        self.out.add(f"z{k}_m = word(blk, {self.bases.scales[k]})")

    def _stage(self, k: int) -> None:
        add, kernel = self.out.add, self.kernel.stages[k].kernel
        add(f"z{k}_lo = b * z{k}_m")
        add(f"z{k}_hi = e * z{k}_m")
        accesses = [*kernel.inputs, *[store.access for store in kernel.outputs]]
        renamed = {}
        for operand, (value, access) in enumerate(zip(self.kernel.stages[k].made, accesses, strict=True)):
            if value != OUTSIDE and self.kernel.held[value]:
                name = _pointer(operand, len(kernel.inputs))
                renamed[name] = name + "h"
                add(f"z{k}_{name}h = w + z{k}_{name} - b * z{k}_m * {self._step(k, operand, access)}")
        printer = Printer(kernel)
        (printer.continued if self.kernel.stages[k].adds else printer.loops)()
        self._add(k, printer.out, renamed)

    def _step(self, k: int, operand: int, access: Access) -> str:
        """Bytes from one element of the split dimension to the next."""
        size = access.dtype.itemsize
        return str(size) if access.strides[0] == CONTIGUOUS else f"z{k}_s{operand}_0 * {size}"

    def _last(self, k: int) -> None:
        add, kernel = self.out.add, self.kernel.stages[k].kernel
        add(f"z{k}_lo = 0")
        add(f"z{k}_hi = z{k}_n{kernel.split}")
        printer = Printer(kernel)
        printer.loops()
        self._add(k, printer.out)

    def _add(self, k: int, text: Text, renamed: dict[str, str] | None = None) -> None:
        """Lines of a stage, whose names get its number."""
        changed = renamed or {}
        for line in text.lines:
            line = _ACCESS.sub(lambda found: self._access(k, *found.groups()), line)
            self.out.add(_NAME.sub(lambda found: f"z{k}_{changed.get(found[0], found[0])}", line))

    def _access(self, k: int, how: str, code: str, pointer: str) -> str:
        stage = self.kernel.stages[k]
        if pointer[0] in "ao":
            operand = int(pointer[1:]) + (len(stage.kernel.inputs) if pointer[0] == "o" else 0)
            value = stage.made[operand]
            scope = "" if value == OUTSIDE else f"_m{value}"
        else:
            scope = f"_z{k}{pointer}"
        return f"{how}_{code}{scope}({pointer},"


def _pointer(operand: int, inputs: int) -> str:
    return f"a{operand}" if operand < inputs else f"o{operand - inputs}"
