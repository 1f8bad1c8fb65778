"""Words for annotations: what public functions take and what generated ones look like.

Unions are made once, here. Protocols are for type checkers alone, since making them would cost import time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dtypes import DType
from graphad.core.shapes import Dims, TensorShape
from graphad.core.tensor import Handle, Tensor

if TYPE_CHECKING:
    from array import array
    from typing import Literal, Protocol, overload

    from graphad.core.indexed_slices import IndexedSlices
    from graphad.core.op import Op, TupleOp
    from graphad.core.spec import TensorSpec

    class Transforms(Protocol):
        """What rules of ops that hold graphs may ask for them. The graphs are those of `graph/ir.py`, one floor up."""

        def pullback_of(self, graph: Any, needs: Sequence[bool], fixed: frozenset[int] = ...) -> Any:
            """The pullback for cotangents of the inputs that `needs` names."""

        def closed(self, graph: Any) -> Any:
            """The graph with the Python rules of its custom gradients turned into graphs, one level deep."""

    class VjpContext(Protocol):
        """What a derivative rule may ask about the call that it differentiates."""

        @property
        def op(self) -> Any: ...
        @property
        def inputs(self) -> Sequence[Tensor]: ...
        @property
        def outputs(self) -> Sequence[Tensor]: ...
        @property
        def transforms(self) -> Transforms: ...

        def needs(self, i: int) -> bool:
            """Whether a cotangent of input i is asked for."""

        def shape(self, i: int) -> Dims:
            """The raw shape of input i, even where its value was dropped."""

        def zeros(self, k: int) -> Tensor:
            """Zeros like output k, for an output whose cotangent is None."""

        def first(self, n: int) -> VjpContext:
            """The same context as seen by an op that has only the first n outputs."""

        def on(self, op: Op, outputs: Sequence[Tensor]) -> VjpContext:
            """The same context for another op on the same inputs."""

    class DualContext(VjpContext, Protocol):
        """What the JVP rule of an op that holds graphs may ask."""

        def dual_of(self, graph: Any, which: Sequence[bool]) -> tuple[Any, tuple[bool, ...]]:
            """The graph that computes outputs and their tangents, and which of these there are."""

    class BatchContext(Protocol):
        """What a batching rule may ask: stacked inputs carry the loop axis first. Its size is a number or a symbol."""

        @property
        def level(self) -> Any: ...  # the batch level, of `vectorize/batch.py`
        @property
        def size(self) -> Any: ...

        def stacked(self, i: int) -> bool:
            """Whether input i carries the loop axis."""

        def stack(self, x: Tensor) -> Ranked:
            """An unstacked value repeated for every row."""

        def unstacked(self, value: Any) -> Ranked:
            """An output that is the same in every row."""

        @overload
        def rowwise(self, op: TupleOp, *xs: Any) -> tuple[Ranked, ...]: ...  # type: ignore[overload-overlap]
        @overload
        def rowwise(self, op: Op, *xs: Any) -> Ranked: ...
        def rowwise(self, op: Op, *xs: Any) -> Any:
            """The op run once per row."""

        def row(self, i: int) -> Any:
            """Input i as the user's code sees it."""

        def row_spec(self, i: int) -> TensorSpec:
            """The spec of input i as the user's code sees it."""

        def operand(self, i: int) -> Any:
            """Input i if it is the same in every row, else its spec."""

        def slice_operand(self, i: int) -> Any:
            """What is known of a slice of input i, a stack that a loop walks along."""

        def lasting(self, graph: Any, operands: Sequence[Any], n: int) -> list[Any]:
            """The operands of a loop's body, its n carries with the sizes that they keep through all steps."""

        def batched_graph(
            self,
            graph: Any,
            stacked: Sequence[bool] | None = ...,
            all_stacked: bool = ...,
            operands: Sequence[Any] | None = ...,
        ) -> tuple[Any, tuple[bool, ...]]:
            """The graph on stacks, and which of its outputs are stacked."""

        def batched_later(self, graph: Any, stacked: Sequence[bool]) -> Callable[[], Any]:
            """What gives the graph on stacks, all of its outputs stacked, for one that may hold itself."""

    class FoldContext(Protocol):
        """What `fold` and `settled` may ask of the specialiser: what is known of a value, and nodes that fold no further."""

        def known(self, x: Any) -> list[Any] | None:
            """The sizes that an integer tensor holds, in a list; None where they are not known."""

        def known_operand(self, x: Any) -> Any:
            """What is known of a value that a sub-graph takes."""

        def number_of(self, x: Any) -> Any:
            """The NumPy value of a constant, None for other values."""

        def mask_of(self, x: Any) -> Any:
            """The booleans of a mask whose values are known, None for other values."""

        def sizes(self, dims: Sequence[Any], dtype: DType) -> Tensor:
            """Numbers and symbols as a vector."""

        def size(self, dim: Any, dtype: DType) -> Tensor:
            """A number or a symbol as a scalar."""

        def node(self, op: Op, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
            """The outputs of an op as it is."""

        def inline(self, graph: Any, inputs: Sequence[Any]) -> list[Tensor]:
            """The outputs of a graph whose nodes stand in the place of the op."""

        def specialised(self, graph: Any, operands: Sequence[Any]) -> Any:
            """A sub-graph for operands that are values of the trace, or specs."""

        def require_fit(self, graph: Any, given: Sequence[Any]) -> None:
            """Raises: InvalidArgumentError: values or specs have other sizes than a graph takes."""

        def slice_of(self, x: Any) -> Any:
            """A slice of a stack as an operand of `specialised`."""

        def note_slices(self, stack: Any, graph: Any, value: int) -> None:
            """Remember what every slice of a stack holds."""

        def note_stack(self, stack: Any, graph: Any, value: int) -> None:
            """Remember what the slices of an output of a sub-graph hold."""

        def integers_of(self, graph: Any, value: int) -> Any:
            """The integers that a value of a specialised sub-graph holds whatever its operands are."""

    class Ranked(Tensor):
        """A tensor whose rank is known: what rules are given that batch, or specialise."""

        @property
        def dims(self) -> tuple[Any, ...]: ...
        @property
        def ndim(self) -> int: ...

    class ExportsArray(Protocol):
        """An array, a data frame, a tensor of another library."""

        def __array__(self) -> Any: ...

    class BecomesTensor(Protocol):
        """A variable, the slices that are the gradient of a lookup."""

        def __graphad_tensor__(self) -> Any: ...

    class UnaryFunction(Protocol):
        """A public function of one tensor."""

        def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...

    class BinaryFunction(Protocol):
        """A public function of two tensors."""

        def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...

    class ComparisonFunction(Protocol):
        """`equal` and `not_equal`."""

        def __call__(
            self,
            x: TensorLike,
            y: TensorLike,
            name: str | None = None,
            incompatible_shape_error: bool = True,
        ) -> Tensor: ...

    class ReductionFunction(Protocol):
        """A public function that reduces axes."""

        def __call__(
            self,
            input_tensor: TensorLike,
            axis: AxisLike = None,
            keepdims: bool = False,
            name: str | None = None,
        ) -> Tensor: ...

    # What `lift` makes a tensor of. Lists and tuples nest; a text would be a Sequence too, and is none of them.
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
    # What `vjp` gives: one for each input. None is zero; a lookup gives slices.
    Cotangents = Sequence[Tensor | IndexedSlices | None]
    VjpRule = Callable[[VjpContext, Tensor], Cotangents]  # of an op with one output
    # Where the rows of a value are: its axis, None where they are all the same, MIXED where each depends on others.
    RowAxis = int | Literal["mixed"] | None
    Rows = RowAxis | tuple[RowAxis, ...]  # one answer for all outputs, or one for each
else:
    ComparisonFunction = ReductionFunction = UnaryFunction = BinaryFunction = Callable[..., Tensor]
    TensorLike = Tensor | Handle | np.ndarray | np.generic | complex | list | tuple | range | TensorShape
    # Rules are checked by type checkers alone.
    BatchContext = Cotangents = DualContext = FoldContext = Ranked = RowAxis = Rows = object
    Transforms = VjpContext = VjpRule = object

# What `eval` computes with. For shape () it is a NumPy scalar, which has the attributes and methods of an array.
Array = np.ndarray
RowAxes = Sequence[int | None]
DTypeLike = DType | np.dtype[Any] | type | str
ShapeLike = TensorShape | Tensor | np.ndarray | int | Iterable[Any]
AxisLike = int | Sequence[int] | np.ndarray | np.integer[Any] | Tensor | None
# A tensor, or lists, tuples, dicts, named tuples and dataclasses of them: type checkers have no word for what nests without end.
NestLike = Any
