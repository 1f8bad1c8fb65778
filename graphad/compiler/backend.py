"""The seam between planning and a device: what it supports, emits, compiles, launches, has libraries for, and keeps in memory.

Partition and plans know a device by this class alone and import none; a device is found by its name. Addresses are 64-bit
numbers that only the device's own steps follow. Where `is_host` is False they mean nothing to the host: plans then hand arrays
to steps in Python, and take what these give, through `to_host` and `to_device`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from graphad.compiler.rows import Row, Step
from graphad.compiler.source import Source
from graphad.core.errors import UnavailableError
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import Kernel
from graphad.kernels.stages import Nest, Stages

# Which module gives the backends of a kind of device, by the name `backend_of`.
_MODULES = {"cpu": "graphad.compiler.cpu.backend", "cuda": "graphad.compiler.cuda.backend"}

Walk = tuple[Sequence[int], Sequence[int]]  # a shape, and strides in bytes
Expected = tuple[Any, Any]  # the dtype and the shape that an argument must have; None: any


class Builder(ABC):
    """Collects the rows of one native call."""

    @abstractmethod
    def add_row(self, row: Row) -> Any:
        """Append a step with the tables that it walks."""

    @abstractmethod
    def about(self, what: str, line: str | None) -> None:
        """Say which ops the rows that follow are, and the user's line, for errors that a device reports when they run."""

    @abstractmethod
    def build(self, arena_bytes: int, release_lock: bool, guard: Any) -> Any:
        """The finished image. Its `instance()` is memory that can run: `run(*arguments)` gives a status, 0 when all went well,
        and `scalar(offset, dtype)` something whose `[()]` is the value there.

        Args:
          arena_bytes: Bytes of workspace that each instance has.
          release_lock: Whether other Python threads may run meanwhile.
          guard: What `Backend.guard` gave: checked by every run; None where the arguments are known to fit.
        """


class Backend(ABC):
    """One device as plans see it.

    Attributes:
      name: Its name in `graphad.device`.
      is_host: Whether its memory is the host's: NumPy arrays are its arrays.
      runs_evals: Whether evals of ops take its arrays as they are, where its memory is not the host's.
      product_dtypes: Names of the dtypes of which it has matrix products.
      has_stages: Whether it runs kernels of several stages.
      has_blocks: Whether long chains of loops are worth running block by block: where a cache holds what they hand on.
      copied: Bytes of the elements that it can copy and fill.
      misfits: Statuses of a run which say that the arguments are not what the guard expects, and that nothing was done.
    """

    name: str
    is_host: bool
    runs_evals: bool = False
    product_dtypes: frozenset[str]
    has_stages: bool
    has_blocks: bool = False
    copied: frozenset[int]
    misfits: frozenset[int]

    # what it supports

    @abstractmethod
    def supported(self, form: Any) -> Any:
        """A form as it is, None where it has no code."""

    @abstractmethod
    def why_not(self, kernel: Kernel | Stages) -> str | None:
        """Why a kernel cannot be compiled; None when it can."""

    # emit and compile

    @abstractmethod
    def emit(self, kernel: Kernel | Stages) -> Source:
        """The source text of a kernel."""

    @abstractmethod
    def find(self, kernel: Kernel | Stages) -> int | None:
        """The address of a kernel that is loaded or in the cache; None when it would have to be compiled."""

    @abstractmethod
    def build(self, kernel: Kernel | Stages) -> int:
        """The address of a kernel, compiled now if need be."""

    @abstractmethod
    def request(self, kernel: Kernel | Stages, callback: Callable[[int | None, str | None], None]) -> bool:
        """Have a kernel compiled in the background: `callback(address, why not)`. False: nothing compiles there."""

    # launch rows

    @abstractmethod
    def work(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> float:
        """An estimate of the nanoseconds that a kernel takes; no result ever depends on it."""

    @abstractmethod
    def workspace(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> int:
        """Bytes that the workspace word of a kernel must point to."""

    @abstractmethod
    def block_rows(self, nest: Nest, numbers: Mapping[str, int]) -> int:
        """How many rows a kernel of several stages takes at a time."""

    @abstractmethod
    def launch(
        self, builder: Any, loop: Loop | Nest, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        """Append what runs a kernel over its whole range; `row` does so in one step.

        Returns: How many regions shared among threads that made.
        """

    def block_elements(self, count: int, itemsize: int) -> int:
        """How many of `count` elements a chain of loops takes at a time, which holds `itemsize` bytes for each of them."""
        return count

    def ranges(self, count: int, nanoseconds: float) -> list[tuple[int, int]]:
        """How so much work of `count` equal parts is shared, as ranges of these parts."""
        return [(0, count)] if count else []

    def share(self, builder: Any, rows: Sequence[Row]) -> int:
        """Append rows that may run at once. Returns: How many regions shared among threads that made."""
        for row in rows:
            builder.add_row(row)
        return 0

    # library steps

    @abstractmethod
    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        """Copy elements; strides in bytes. Operands: source, target."""

    @abstractmethod
    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        """Store one value all over. Operands: target."""

    @abstractmethod
    def product(self, dtype: str, a: Walk, b: Walk, c: Walk) -> Step | None:
        """A matrix product, batched over leading axes, None where it has none. Operands: a, b, c."""

    @abstractmethod
    def repeat(self) -> int:
        """The address of the function of a loop's step, whose block is laid out in `rows`."""

    @abstractmethod
    def poll(self) -> int:
        """The word POLL of a loop that may take long."""

    # memory

    @abstractmethod
    def plan(self, arguments: int) -> Any:
        """A `Builder` of a native call with so many arguments."""

    @abstractmethod
    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        """The address of an array's content for as long as the second result is referred to."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array with unspecified content."""

    @abstractmethod
    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """`empty` for a large one, from a pool of those that nobody refers to any more."""

    @abstractmethod
    def strided(self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        """A view of one of its arrays in C order."""

    @abstractmethod
    def to_host(self, array: Any) -> Any:
        """One of its arrays as a NumPy array, or a NumPy scalar where its shape is ()."""

    @abstractmethod
    def to_device(self, array: Any) -> Any:
        """A NumPy array or scalar as one of its arrays."""

    # arguments

    @abstractmethod
    def guard(self, expected: Sequence[Expected]) -> Any:
        """What `Builder.build` and `bind_check` take to check arguments."""

    @abstractmethod
    def bind_check(self, guard: Any) -> Callable[..., Any]:
        """A function of the arguments which says whether they are what a guard expects."""

    @abstractmethod
    def fitted(self, value: Any) -> Any:
        """An argument as its native code reads it: C order, aligned, its own array; handles as they are."""

    @abstractmethod
    def register_holder(self, kind: type, attribute: str) -> Any:
        """Have runs take objects of a class for the array that is their attribute."""

    @abstractmethod
    def prepare(self, dtypes: Iterable[Any]) -> None:
        """Called before a plan with values of these dtypes is bound."""


def host_code(text: str, symbols: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of a module of LLVM's text, compiled for the host: what drives a device from there."""
    build = import_module("graphad.compiler.cpu.runtime.native").build
    found: dict[str, int] = build(text, symbols)
    return found


@cache
def backend_of(device: str) -> Backend:
    """The backend of a device. Raises: UnavailableError: there is none."""
    module = _MODULES.get(device.partition(":")[0])
    if module is None:
        raise UnavailableError(
            f"device: {device!r} runs no compiled functions; {' and '.join(map(repr, _MODULES))} do."
        )
    found: Backend = import_module(module).backend_of(device)
    return found
