"""The interface between planning and a device: supported forms, source text, compiling, launching, libraries, memory.

Partition and plans use a device only through this class and import none; a device is looked up by its name. Addresses are
64-bit numbers that only the device's own steps dereference. If `is_host` is False they mean nothing to the host: plans then
convert arrays for steps in Python, and their results, with `to_host` and `to_device`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.rows import About, Row, Step
from graphad.compiler.source import Source
from graphad.core.errors import UnavailableError
from graphad.core.light import NamedTuple
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import Form, Kernel, Routine
from graphad.kernels.stages import Nest, Stages

# The module with `backend_of` for each kind of device.
_MODULES = {"cpu": "graphad.compiler.cpu.backend", "cuda": "graphad.compiler.cuda.backend"}

Walk = tuple[Sequence[int], Sequence[int]]  # shape, strides in bytes
Expected = tuple[Any, Any]  # dtype and shape of an argument; None: any

# What a step of a routine may point to: operands by number, the result, the workspace, and where a lower triangle is, as bools.
FIRST, SECOND, THIRD = range(3)
RESULT, WORK, MASK = range(64, 67)
RESULTS = RESULT, MASK + 1, MASK + 2  # of a routine with several results


class Part(NamedTuple):
    """A step of a routine or of a product, and where its places are: the number of what it is, and bytes behind it.

    Neighbouring steps of a routine that are `apart` may run in parallel.
    """

    step: Step
    places: tuple[tuple[int, int], ...]
    apart: bool = False


if TYPE_CHECKING:
    from typing import Protocol, TypeAlias

    from graphad.compiler.endings import Ending
    from graphad.core.spec import TensorSpec
    from graphad.devices.array import DeviceArray

    Held: TypeAlias = np.ndarray | DeviceArray  # an array in the memory of the device
    Shaped: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]
    Compute: TypeAlias = Callable[[list[Any]], Sequence[Any]]
    Sized: TypeAlias = Callable[[Sequence[int]], tuple[Compute, Sequence[Shaped], Sequence[Shaped]]]

    class Instance(Protocol):
        """Memory that can run a plan."""

        def run(self, *arguments: Any) -> int:
            """A status, 0 for success."""

    class Image(Protocol):
        """A plan before it has memory of its own."""

        def instance(self) -> Instance:
            """Fresh memory that runs the plan."""


class Builder(ABC):
    """Collects the rows of one native call."""

    @abstractmethod
    def add_row(self, row: Row) -> object:
        """Append a step, with the tables that it walks."""

    @abstractmethod
    def build(self, arena_bytes: int, release_lock: bool, guard: Any) -> Image:
        """The finished image. Its `instance()` is memory that can run: `run(*arguments)` returns a status, 0 for success, and
        `scalar(offset, dtype)` an object whose `[()]` is the value there.

        Args:
          arena_bytes: Bytes of workspace that each instance has.
          release_lock: Whether other Python threads may run during the call.
          guard: The result of `Backend.guard`, checked by every run; None if the arguments are known to fit.
        """


class Backend(ABC):
    """One device as plans see it.

    Attributes:
      name: Its name in `graphad.device`.
      is_host: Whether its memory is the host's: NumPy arrays are its arrays.
      expands: Whether graphs run in terms of the ops that `Op.expanded` gives.
      runs_evals: Whether evals of ops accept its arrays, if its memory is not the host's.
      product_dtypes: Names of the dtypes of which it has matrix products.
      has_endings: Whether products may do at their end what loops would do (`ends`).
      has_stages: Whether it runs kernels of several stages.
      stages_add: Whether a stage may add up all rows.
      has_blocks: Whether long chains of loops should run block by block, so that a cache holds their intermediate values.
      has_routines_in_loops: Whether native loops may have routines.
      has_calls: Whether native loops, and plans with sizes that the run finds, may call evals of ops (`call`).
      has_branches: Whether plans and native loops may have branches (`branch`).
      has_growing: Whether native loops may collect slices and walk along stacks of which only the run knows how many there are.
      has_measures: Whether a run may find sizes of slices on which rows behind depend (`measure`).
      copied: The element sizes, in bytes, that it can copy and fill.
      misfits: Statuses of a run that did nothing because the arguments do not fit the guard.
    """

    name: str
    is_host: bool
    expands: bool = False
    runs_evals: bool = False
    product_dtypes: frozenset[str]
    has_endings: bool = False
    has_stages: bool
    stages_add: bool = False
    has_blocks: bool = False
    has_routines_in_loops: bool = False
    has_calls: bool = False
    has_branches: bool = False
    has_growing: bool = False
    has_measures: bool = False
    copied: frozenset[int]
    misfits: frozenset[int]

    # what it supports

    @abstractmethod
    def supported(self, form: Form) -> Form | None:
        """Returns the form, None if it has no code."""

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
        """The address of a kernel, compiled now if necessary."""

    @abstractmethod
    def request(self, kernel: Kernel | Stages, callback: Callable[[int | None, str | None], None]) -> bool:
        """Compile a kernel in the background and call `callback(address, why not)`. Returns False if there is no worker."""

    # launch rows

    @abstractmethod
    def work(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> float:
        """An estimate of a kernel's time in nanoseconds; results never depend on it."""

    @abstractmethod
    def workspace(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> int:
        """Bytes that the workspace word of a kernel must point to."""

    @abstractmethod
    def block_rows(self, nest: Nest, numbers: Mapping[str, int]) -> int:
        """The rows in one block of a kernel with several stages."""

    @abstractmethod
    def launch(
        self, builder: object, loop: Loop | Nest, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        """Append the rows that run a kernel over its whole range; `row` does so in one step.

        Returns: How many regions shared among threads that made.
        """

    def chain_rows(self, count: int, held: int, inside: int) -> int:
        """The rows, of `count`, in one block of a chain of loops; a row has `inside` elements and holds `held` bytes."""
        return count

    def ranges(self, count: int, nanoseconds: float) -> list[tuple[int, int]]:
        """Split work of `count` equal parts among threads, as ranges of these parts."""
        return [(0, count)] if count else []

    def share(self, builder: Builder, rows: Sequence[Row]) -> int:
        """Append rows that may run in parallel. Returns: How many regions shared among threads were added."""
        for row in rows:
            builder.add_row(row)
        return 0

    # library steps

    @abstractmethod
    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        """Copy elements; strides in bytes. Operands: source, target."""

    @abstractmethod
    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        """Fill with one value. Operands: target."""

    @abstractmethod
    def products(
        self, dtype: str, a: Walk, b: Walk, c: Walk, is_shared: bool, has_sizes: bool = False
    ) -> Sequence[Part]:
        """A matrix product, batched over leading axes, in parts that threads may share if `is_shared`; empty if unsupported.
        `has_sizes`: runs find sizes of it; only backends with `has_measures` are told so.

        The places of a part are those of a, b and c.
        """

    def ends(self, ending: Ending) -> bool:
        """Whether its library has products with an ending (`endings.Ending`), for some numbers at least."""
        return False

    def ended(self, dtype: str, a: Walk, b: Walk, c: Walk, ending: Ending) -> Step | None:
        """A matrix product with an ending, None if there is none for these numbers. Operands: a, b, c, and the vector that is
        added or receives the sums, if there is one."""
        return None

    def has_routine(self, form: Routine, dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
        """Whether it has a routine for operands of these dtypes and ranks.

        A run whose routine has no answer returns one of `misfits`, so it must not have acted by then.
        """
        return False

    def routine_workspace(self, form: Routine, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
        """Bytes of the workspace of a routine with a result of this dtype, for the shapes of operands and result."""
        return 0

    def routine(
        self, form: Routine, dtypes: Sequence[str], walks: Sequence[Walk], is_shared: bool
    ) -> Sequence[Part] | None:
        """The steps of a routine, in parts that threads may share if `is_shared`; none where there is nothing to do, None where
        there is no routine for these sizes. Dtypes and walks are those of the operands, then of the result."""
        raise NotImplementedError

    def call(self, made: Sized, places: int, sizes: Sequence[int]) -> tuple[Step, object]:
        """A step that calls a function for its operands and stores what it gives. Operands: those, then the results, in C order,
        `places` of them. `made` gives for the sizes, which are the last words of the step, the function and the shapes and dtypes
        of operands and results.

        Returns: The step, and what must be referenced as long as it may run.
        """
        raise NotImplementedError

    @abstractmethod
    def repeat(self) -> int:
        """The address of the function that runs a loop; `rows` defines the layout of its block."""

    def branch(self) -> int:
        """The address of the function that runs one of two tables; `rows` defines the layout of its block."""
        raise NotImplementedError

    def growing(
        self, slices: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], walked: int, about: About
    ) -> tuple[list[int], Callable[[], object]]:
        """The words STACKS of a loop (see `rows`) that collects such slices and walks along so many stacks; and what makes the
        object that makes room, for each instance."""
        raise NotImplementedError

    def part(self, itemsize: int) -> Step:
        """A step that finds one slice of a stack of stacks with slices of so many bytes. Operands: the pair of numbers, the word
        with the address of the long stack, the cell of the slice."""
        raise NotImplementedError

    def leaving(self, cell: Any, spec: TensorSpec, shape: tuple[int, ...], is_nested: bool) -> Any:
        """A function that gives the stack whose cell is `cell` as an array of its own. `shape` is that of a slice, or where it
        `is_nested` of the slices of a slice; `spec` is that of a slice."""
        raise NotImplementedError

    def entering(self, cell: Any, dtype: np.dtype[Any], shape: tuple[int, ...], is_nested: bool) -> Any:
        """A function that puts an array into a cell, and gives what has to stay as long as it is read."""
        raise NotImplementedError

    def measure(self) -> int:
        """The address of the function that finds the size of a slice, if it `has_measures`; `rows` defines the layout of its
        block."""
        raise NotImplementedError

    @abstractmethod
    def poll(self) -> int:
        """The word POLL of a loop that may run for long."""

    # memory

    @abstractmethod
    def plan(self, arguments: int) -> Builder:
        """A `Builder` of a native call with this many arguments."""

    @abstractmethod
    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        """The address of an array's data, valid while the second result is referenced."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Held:
        """An array with unspecified content."""

    def several(
        self, arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> Callable[[], Sequence[Held]]:
        """A function that makes arrays of these shapes and dtypes with unspecified content, for the results of a native call."""
        return lambda: [self.empty(shape, dtype) for shape, dtype in arrays]

    @abstractmethod
    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Held:
        """`empty` for a large array, from a pool of unreferenced ones."""

    @abstractmethod
    def strided(self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Held:
        """A view of one of its arrays in C order."""

    @abstractmethod
    def to_host(self, array: object) -> Any:
        """One of its arrays as a NumPy array, or as a NumPy scalar for shape ()."""

    @abstractmethod
    def to_device(self, array: object) -> Any:
        """A NumPy array or scalar as one of its arrays."""

    # arguments

    @abstractmethod
    def guard(self, expected: Sequence[Expected]) -> Any:
        """The guard with which `Builder.build` and `bind_check` check arguments."""

    @abstractmethod
    def bind_check(self, guard: Any) -> Callable[..., bool]:
        """A function that returns whether its arguments fit a guard."""

    @abstractmethod
    def fitted(self, value: object) -> Any:
        """An argument in the form that native code needs: C order, aligned, a device array; handles unchanged."""

    @abstractmethod
    def register_holder(self, kind: type, attribute: str) -> object:
        """Let runs accept objects of a class in place of the array in one of their attributes."""

    @abstractmethod
    def prepare(self, dtypes: Iterable[Any]) -> None:
        """Called before a plan with values of these dtypes is bound."""


def host_code(text: str, symbols: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of an LLVM module, compiled for the host, which drive a device."""
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
