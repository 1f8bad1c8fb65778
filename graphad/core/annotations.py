"""Types for annotations: the arguments of public functions and the signatures of generated ones.

Unions are built once, here. Protocols exist for type checkers only, since creating the classes would cost import time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import shapes, spec, tensor
from graphad.core.dtypes import DType
from graphad.core.shapes import Dims, TensorShape
from graphad.core.tensor import Handle, Tensor

if TYPE_CHECKING:
    from array import array
    from typing import Literal, Protocol, TypeAlias, TypeVar, overload

    from graphad.core.dims import Size
    from graphad.core.indexed_slices import IndexedSlices
    from graphad.core.op import Op, TupleOp
    from graphad.core.spec import TensorSpec
    from graphad.graph.ir import Graph

    Value: TypeAlias = Tensor | Handle  # an operand of an op
    Cotangent: TypeAlias = Tensor | IndexedSlices | None  # None is zero; a lookup gives slices

    class BackwardGraph(Protocol):
        """See `gradient/reverse.py`."""

        call: Op | None

        @property
        def graph(self) -> Graph: ...
        @property
        def inputs(self) -> Sequence[int]: ...
        @property
        def residuals(self) -> Sequence[int]: ...
        @property
        def places(self) -> Mapping[int, int]: ...
        @property
        def masked(self) -> Sequence[int]: ...

    class Pullback(Protocol):
        """See `gradient/reverse.py`."""

        call: Op | None

        @property
        def forward(self) -> Graph: ...
        @property
        def full(self) -> BackwardGraph: ...
        @property
        def needs(self) -> Sequence[bool]: ...
        @property
        def differentiable(self) -> Sequence[bool]: ...
        def backward(
            self, given: Sequence[bool], masked: Sequence[int] = ...
        ) -> tuple[BackwardGraph, Sequence[bool]]: ...

    class Transforms(Protocol):
        """The transforms of sub-graphs that rules may use. The graphs are those of `graph/ir.py`, one floor up."""

        def pullback_of(self, graph: Graph, needs: Sequence[bool], fixed: frozenset[int] = ...) -> Pullback:
            """The pullback for cotangents of the inputs that `needs` names."""

        def closed(self, graph: Graph) -> Graph:
            """The graph with the Python rules of its custom gradients replaced by graphs, one level deep."""

    class Masks(Protocol):
        """See `gradient/backward.py`."""

        inputs: list[int]

        @property
        def outputs(self) -> Sequence[bool]: ...

    class VjpContext(Protocol):
        """What a derivative rule may query about the call that it differentiates."""

        @property
        def op(self) -> Any: ...
        @property
        def inputs(self) -> Sequence[Tensor]: ...
        @property
        def outputs(self) -> Sequence[Tensor]: ...
        @property
        def transforms(self) -> Transforms: ...
        @property
        def is_free(self) -> bool:
            """Whether no recorder follows what the rule computes, and the only cotangent and the inputs have their data, or their
            shape."""

        @property
        def is_forward(self) -> bool:
            """Whether tangents are pulled back through a rule, in forward mode, whose own cotangents are ones."""

        @property
        def is_masked(self) -> bool:
            """Whether every zero of the given cotangents is an element that a `where` did not take."""

        @property
        def masks(self) -> Masks | None:
            """For an op with sub-graphs, the masks of its outputs, from which it computes those of its inputs; None for other
            ops."""

        def needs(self, i: int) -> bool:
            """Whether a cotangent of input i is needed."""

        def shape(self, i: int) -> Dims:
            """The raw shape of input i, even if its value was dropped."""

        def zeros(self, k: int) -> Tensor:
            """Zeros like output k, for an output whose cotangent is None."""

        def first(self, n: int) -> VjpContext:
            """The same context as seen by an op that has only the first n outputs."""

        def on(self, op: Op, outputs: Sequence[Tensor]) -> VjpContext:
            """The same context for another op on the same inputs."""

    class DualContext(VjpContext, Protocol):
        """What the JVP rule of an op with sub-graphs may query."""

        def dual_of(self, graph: Graph, which: Sequence[bool]) -> tuple[Graph, tuple[bool, ...]]:
            """The graph that computes the outputs and their tangents, and which outputs have a tangent."""

    class BatchContext(Protocol):
        """What a batching rule may query. The loop axis of a stacked input is axis 0; its size is a number or a symbol."""

        @property
        def level(self) -> Any: ...  # the batch level, of `vectorize/batch.py`
        @property
        def size(self) -> Any: ...

        def stacked(self, i: int) -> bool:
            """Whether input i carries the loop axis."""

        def stack(self, x: Tensor) -> Ranked:
            """An unstacked value repeated for every row."""

        def unstacked(self, value: Tensor) -> Ranked:
            """Marks an output as the same in every row."""

        def waiting(self, op: TupleOp, *xs: Value) -> tuple[Ranked, ...]:
            """The op, batched when it runs: its batching rule depends on values."""

        @overload
        def rowwise(self, op: TupleOp, *xs: Value) -> tuple[Ranked, ...]: ...  # type: ignore[overload-overlap]
        @overload
        def rowwise(self, op: Op, *xs: Value) -> Ranked: ...
        def rowwise(self, op: Op, *xs: Value) -> Ranked | tuple[Ranked, ...]:
            """The op run once per row."""

        def row(self, i: int) -> Tensor:
            """Input i as the user's code sees it."""

        def row_spec(self, i: int) -> TensorSpec:
            """The spec of input i as the user's code sees it."""

        def operand(self, i: int) -> Any:
            """Input i if it is the same in every row, else its spec."""

        def slice_operand(self, i: int) -> Any:
            """What is known of one slice of input i, a stack that a loop iterates over."""

        def lasting(self, graph: Graph, operands: Sequence[Any], n: int) -> list[Any]:
            """The operands of a loop's body. The first n, the carries, have the sizes that are the same in all steps."""

        def batched_graph(
            self,
            graph: Graph,
            stacked: Sequence[bool] | None = ...,
            operands: Sequence[Any] | None = ...,
        ) -> tuple[Graph, tuple[bool, ...]]:
            """The graph batched over its inputs, and which of its outputs are stacked."""

        def batched_later(self, graph: Graph, stacked: Sequence[bool]) -> Callable[[], Graph]:
            """A function that returns the batched graph with all outputs stacked, for a graph that may be recursive."""

    class FoldContext(Protocol):
        """What `fold` and `settled` may query from the specialiser: known values, and nodes to bind in place of the op."""

        def known(self, x: Value) -> list[Size] | None:
            """The sizes that an integer tensor holds, in a list; None where they are not known."""

        def known_operand(self, x: Any) -> Any:
            """What is known of an operand of a sub-graph."""

        def number_of(self, x: Tensor) -> Any:
            """The NumPy value of a constant, None for other values."""

        def mask_of(self, x: Value) -> np.ndarray | None:
            """The booleans of a mask or a predicate whose values are known, None for other values."""

        def sizes(self, dims: Sequence[Size], dtype: DType) -> Tensor:
            """Numbers and symbols as a vector."""

        def size(self, dim: Size, dtype: DType) -> Tensor:
            """A number or a symbol as a scalar."""

        def node(self, op: Op, inputs: Sequence[Value]) -> tuple[Tensor, ...]:
            """The outputs of an op that is bound without folding it."""

        def inline(self, graph: Graph, inputs: Sequence[Value]) -> list[Tensor]:
            """The outputs of a graph whose nodes replace the op."""

        def specialised(self, graph: Graph, operands: Sequence[Any]) -> Graph:
            """A sub-graph for operands that are values of the trace, or specs."""

        def require_fit(self, graph: Graph, given: Sequence[Any]) -> None:
            """Raises: InvalidArgumentError: values or specs have other sizes than a graph takes."""

        def slice_of(self, x: Any) -> Any:
            """A slice of a stack as an operand of `specialised`."""

        def note_slices(self, stack: Tensor, graph: Graph, value: int) -> None:
            """Record what is known of every slice of a stack."""

        def note_stack(self, stack: Tensor, graph: Graph, value: int) -> None:
            """Record what is known of the slices of a sub-graph's output."""

        def integers_of(self, graph: Graph, value: int) -> Any:
            """The integers that a value of a specialised sub-graph holds for all operands."""

    class Ranked(Tensor):
        """A tensor of known rank: what batching and specialising rules receive."""

        @property
        def dims(self) -> tuple[Any, ...]: ...
        @property
        def ndim(self) -> int: ...

    Numbers = TypeVar("Numbers", Tensor, np.ndarray)  # what a formula for tensors and arrays goes through

    class Functions(Protocol[Numbers]):
        """Functions that `numpy` and `graphad.ops.math` have under one name."""

        def abs(self, x: Numbers, /) -> Numbers: ...
        def maximum(self, x: Numbers, y: Numbers, /) -> Numbers: ...
        def sign(self, x: Numbers, /) -> Numbers: ...
        def sqrt(self, x: Numbers, /) -> Numbers: ...
        def square(self, x: Numbers, /) -> Numbers: ...

    class ExportsArray(Protocol):
        """An object that exports an array: a NumPy array, a data frame, a tensor of another library."""

        def __array__(self) -> Any: ...

    class BecomesTensor(Protocol):
        """An object that can become a tensor: a variable, or the slices that are the gradient of a lookup."""

        def __graphad_tensor__(self) -> Any: ...

    class UnaryFunction(Protocol):
        """A public function of one tensor."""

        def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...

    class BinaryFunction(Protocol):
        """A public function of two tensors."""

        def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...

    class ReductionFunction(Protocol):
        """A public function that reduces axes."""

        def __call__(
            self,
            input_tensor: TensorLike,
            axis: AxisLike = None,
            keepdims: bool = False,
            name: str | None = None,
        ) -> Tensor: ...

    # What `lift` accepts. Lists and tuples may nest. `Sequence` would also accept strings, which are refused.
    TensorLike = (
        Tensor
        | Handle
        | np.ndarray
        | np.generic
        | complex  # so are bool, int and float
        | list[Any]
        | tuple[Any, ...]
        | range
        | TensorShape
        | ExportsArray
        | BecomesTensor
        | array[Any]
        | memoryview
    )
    Cotangents = Sequence[Cotangent]  # what `vjp` gives: one for each input
    VjpRule = Callable[[VjpContext, Tensor], Cotangents]  # of an op with one output
    # The row axis of a value, None where all rows are the same, MIXED where rows depend on each other.
    RowAxis = int | Literal["mixed"] | None
    Rows = RowAxis | tuple[RowAxis, ...]  # one answer for all outputs, or one for each
else:
    ReductionFunction = UnaryFunction = BinaryFunction = Callable[..., Tensor]
    TensorLike = Tensor | Handle | np.ndarray | np.generic | complex | list | tuple | range | TensorShape
    # These types of rules are for type checkers only.
    BackwardGraph = BatchContext = Cotangent = Cotangents = DualContext = FoldContext = Pullback = object
    Functions = Numbers = Ranked = RowAxis = Rows = Transforms = Value = VjpContext = VjpRule = object

# What `eval` computes with. For shape () it is a NumPy scalar, which has the attributes and methods of an array.
Array = np.ndarray
RowAxes = Sequence[int | None]
DTypeLike = DType | np.dtype[Any] | type | str
ShapeLike = TensorShape | Tensor | np.ndarray | int | Iterable[Any]
# A learning rate: a number, a tensor, a schedule, a function of no arguments.
RateLike = TensorLike | Callable[..., Any]
AxisLike = int | Sequence[int] | np.ndarray | np.integer[Any] | Tensor | None
# A tensor, or lists, tuples, dicts, named tuples and dataclasses of them: type checkers cannot express unbounded nesting.
NestLike = Any

# The modules below this one name these types in annotations, where `typing.get_type_hints` looks for them.
for _module in (shapes, spec, tensor):
    vars(_module).update(ShapeLike=ShapeLike, DTypeLike=DTypeLike, TensorLike=TensorLike)
