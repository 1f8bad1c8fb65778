"""An op: one interned, frozen record whose fields are its attributes and whose methods are all its rules.

Equal attributes (types included) are the same object, so identity serves as equality, hash, cache key and file record.
A rule that cannot exist is declared by `no_gradient`, `no_batch` or `no_rows`; a derivative that is absent raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from graphad.core.errors import (
    InternalError,
    InvalidArgumentError,
    MissingGradientError,
    MissingRuleError,
    mark_foreign,
)
from graphad.core.inputs import checking
from graphad.core.interning import OpType as OpType
from graphad.core.memo import Memo
from graphad.core.references import MIXED as MIXED
from graphad.core.registry import gradient_of, register
from graphad.core.run_sizes import FindsSizes
from graphad.core.shapes import require_possible
from graphad.core.spec import TensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import (
        Array,
        BatchContext,
        Cotangents,
        FoldContext,
        RowAxes,
        Rows,
        Value,
        VjpContext,
    )
    from graphad.core.composed import Composed
    from graphad.core.row_access import RowAccess
    from graphad.core.tensor import Tensor
    from graphad.kernels.forms import Form

READS, WRITES, IO = 1, 2, 4
_REFUSED: dict[str, Callable[[Any], Any]] = {"zero": lambda x: x == 0, "negative": lambda x: x < 0}
_HELD = 256  # unused ops of one class that are kept alive
P = TypeVar("P", bound="Op")
T = TypeVar("T")


class Op(FindsSizes, metaclass=OpType):
    """Base class of all ops. See the module docstring; rules are listed here in the order of use.

    Class attributes:
      name, version: What a file calls the op, and the version of its meaning.
      quick: For eager speed: the value from eager inputs that need no further check; None to take the usual way.
      quick_vjp: The same for `vjp`, where no recorder follows the cotangents: those of the inputs, from the array of the output's
        cotangent.
      pull_into: For eager speed: adds the cotangent of the first input in place to the sum so far, an array that nobody else
      holds. It is called with the context, the array of the output's cotangent, and that sum; it returns False if it has not
      added.
      touching: Of an op that mixes elements along axes only, called with context and cotangent: a tensor that broadcasts with the
      operand and is 0 exactly for the elements whose results all have cotangents of 0.
      multiple: `infer`, `eval` and every rule use a tuple of outputs; set by `TupleOp`.
      keeps: The inputs and the outputs that `vjp` reads: for each True for all, False for none, or a tuple of positions.
      keeps_alone: Of an op with two operands: `keeps` if a tape follows only the first operand, and if it follows only the
        second.
      by_value: Positions of the inputs whose values, not only shapes, the outputs depend on; True for all.
      effects: Sum of READS, WRITES, IO. Nodes with effects keep their order and are never merged or dropped.
      aliases: {output: input} where an output is a view of an input or may overwrite it.
      transient: A new op is made for each use, so unused ops of the class are not kept.
      per_row: Gives each row of a vectorized computation an output of its own even if no input is stacked.
      fits: The inputs fit by construction: `infer` is not called before a run.
      structured: Holds sub-graphs.
      layered: Recorders add residual outputs before it runs: it has `augmented` and `n_outputs`.
      extension: Its `eval` or its derivative is a user's function, whose errors are the user's.
      foreign: Its derivative is the user's own: it may raise, and need not be linear. Such an op keeps its outputs.
      gradless: The reason why there is no derivative; None if there is one.
      attributes, declared: The names of the attributes, in order; their types, as in the class (`core/schema.py`).
      defaults: The values of those that need not be given.
      op_class: The class itself; for the class that `refers` derives, the original class.
      refers: Inputs give some of its sizes, or sizes follow from others: no short way, and specialised before compiling.
      given: How many of the last inputs give sizes.
      eval_checks: `eval` checks sizes that only the run knows, so that no other check is needed.
      live: It holds live objects, so it cannot be saved.
      inlines: It computes what its `graph` computes, and may be replaced by the nodes of the graph.
      hands_on: Its outputs are its inputs from number `n_inputs` on; only the derivative is its own.
      repeats: It runs its `body` repeatedly.
      branches: It runs its `then_graph` or its `else_graph`.
      loads: It returns the value of its first input, a variable.
      stores: It assigns its second input to the variable that is its first.
      sets: Like `stores`, but a plan must call its `eval` for it.
      checks: Its only effect is that it may raise.
      prints: Its only effect is that it prints. A repeated run does not print again (`core/printed.py`).
      guarded: It reads and writes a variable in one step, and takes the variable's guard itself.
      infix: Its Python operator, "{} + {}"; the fastest way to compute it on NumPy scalars.
      moves: It only moves elements, so that known elements of an input are known elements of the result.
      gives_sizes: It returns sizes of its input, whatever the elements are.
      holds_sizes: The elements of its result are its `dims`: numbers, and symbols until sizes are known.
      lowers_alike: Its form depends on the dtypes of its inputs alone.
      pointwise: Each element of its result depends on one element of each operand, that of its place.
      masks: The cotangents by its rule are 0 for elements that it did not take, as those of `where`.
      carries_masks: If the cotangents of its results are 0, its rule gives 0 for the elements from which they were computed.
      tells_taken: Its result says which elements of a cotangent a `where` took. Only elements that are not finite depend on it,
      so a rule that reads it is still linear.
      takes_spread: Its rule is not slower for a cotangent of ones that is one broadcast element than for an array in memory.
      takes_symbols: Whether `eval` also computes with symbols for sizes, in arrays of objects; or the positions of the inputs
        that may hold some.
      spreads: The elements of its result are those of its first input, in another shape.
      returns_input: `eval` may return an input unchanged.
      rounds_once: It computes float16 and bfloat16 in float32, and rounds the result.
      total: Whether it has a result for all values of inputs whose shapes fit; None to derive this from other traits.
      refuses: "zero" or "negative": which integers as second input are an error although `total` holds.
      copies: Its result repeats elements of its input and may be far larger.
      closes_over: It has a Python rule that refers to values of the trace that contains it.
      evenly: For an op whose elements are evenly spaced: the positions of the inputs that hold the first and the distance.
      counts: 1 for a sum and -1 for a difference, which advance loop counters; 0 for other ops.
      compares: For a comparison: ("<" or ">", 1 if equality is included, else 0).
      alone: A device's library has no function for it. An eager one runs on the device as a graph with one node, which is
        compiled once hot.
      known_as: The public name, if it differs from `name`.
      words: {attribute or input: its name in messages}, if that differs.
      formerly: {name of a removed op: function from its attributes to those of this op}.
      formerly_like: The names in `formerly` whose op took its sizes from the shape of its last input.
      composed_formerly: {name of a removed op: function from its attributes and the numbers of inputs and outputs to a
      `Composed`}.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    attributes: ClassVar[tuple[str, ...]] = ()
    declared: ClassVar[dict[str, str]] = {}
    defaults: ClassVar[dict[str, Any]] = {}
    op_class: ClassVar[Any]
    refers: ClassVar[bool] = False
    given: ClassVar[int] = 0
    eval_checks: ClassVar[bool] = False
    live: ClassVar[bool] = False
    inlines: ClassVar[bool] = False
    hands_on: ClassVar[bool] = False
    repeats: ClassVar[bool] = False
    branches: ClassVar[bool] = False
    loads: ClassVar[bool] = False
    stores: ClassVar[bool] = False
    sets: ClassVar[bool] = False
    checks: ClassVar[bool] = False
    prints: ClassVar[bool] = False
    rounds_once: ClassVar[bool] = False
    guarded: ClassVar[bool] = False
    infix: ClassVar[str | None] = None
    moves: ClassVar[bool] = False
    gives_sizes: ClassVar[bool] = False
    holds_sizes: ClassVar[bool] = False
    lowers_alike: ClassVar[bool] = False
    takes_spread: ClassVar[bool] = False
    pointwise: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    carries_masks: ClassVar[bool] = False
    tells_taken: ClassVar[bool] = False
    takes_symbols: ClassVar[bool | tuple[int, ...]] = True
    spreads: ClassVar[bool] = False
    returns_input: ClassVar[bool] = False
    total: ClassVar[bool | None] = None
    refuses: ClassVar[str | None] = None
    copies: ClassVar[bool] = False
    closes_over: ClassVar[bool] = False
    evenly: ClassVar[tuple[int, int] | None] = None
    counts: ClassVar[int] = 0
    compares: ClassVar[tuple[str, int] | None] = None
    alone: ClassVar[bool] = False
    known_as: ClassVar[str | None] = None
    words: ClassVar[dict[str, str]] = {}
    formerly: ClassVar[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
    formerly_like: ClassVar[frozenset[str]] = frozenset()
    composed_formerly: ClassVar[dict[str, Callable[[dict[str, Any], int, int], Composed]]] = {}
    quick: ClassVar[Any] = None
    quick_vjp: ClassVar[Any] = None
    pull_into: ClassVar[Any] = None
    pulls_alone: ClassVar[bool] = True  # not structured, without masks and pull_into; `define` tells
    touching: ClassVar[Any] = None
    multiple: ClassVar[bool] = False
    keeps: ClassVar[tuple[Any, Any]] = (True, False)
    keeps_alone: ClassVar[tuple[tuple[Any, Any], tuple[Any, Any]] | None] = None
    by_value: ClassVar[Any] = True
    effects: ClassVar[int] = 0
    aliases: ClassVar[dict[int, int]] = {}
    structured: ClassVar[bool] = False
    layered: ClassVar[bool] = False
    fits: ClassVar[bool] = False
    per_row: ClassVar[bool] = False
    transient: ClassVar[bool] = False
    extension: ClassVar[bool] = False
    foreign: ClassVar[bool] = False
    gradless: ClassVar[str | None] = None
    _exactly: ClassVar[Any]
    _quickly: ClassVar[Any]

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any] | None:
        """The attributes of this version that mean the same as those of an older version in a file.

        Args:
          version: The version in the file, less than that of the class.
          attributes: All attributes of the op in the file, by name.
        Returns: All attributes of this version, or None if this version cannot express the older meaning.
        """
        return None

    def infer(self, *specs: Any) -> TensorSpec | tuple[TensorSpec, ...]:
        """The specs of the outputs; raises an error that names the op if the inputs do not fit."""
        raise MissingRuleError(f"{self.name}: the op has no infer rule.")

    @property
    def caller(self) -> str:
        """The function that messages name."""
        return self.known_as or self.name

    @property
    def stays(self) -> bool:
        """Whether it runs even if nothing reads its results: it writes or prints, or finds or checks a size."""
        return self.is_kept or bool(self.effects & (WRITES | IO))

    @property
    def as_size(self) -> Any:
        """The size that its scalar result holds; None if the result is not a size."""
        return None

    @property
    def evaluator(self) -> Callable[..., Any]:
        """The fastest function that computes the same as `eval`."""
        return self.eval

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        """The same for operands of these specs, if that saves looks (`graph/fitted.py`)."""
        return None

    def evaluator_given(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        """`evaluator_of` where inputs give sizes or indices."""
        return None

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        """Raises if the inputs are wrong in a way that is impossible in traced code, which `infer` therefore does not check.

        Called for graphs from files. The number of inputs, and which are variables, agree with the schema already.
        """

    def check_outputs(self, specs: Sequence[TensorSpec]) -> None:
        """Raises if the outputs declared in a file are impossible although they agree with `infer`."""

    def takes_all(self, specs: Sequence[TensorSpec], number: Callable[[int], Any]) -> bool:
        """Whether it has a result for all values of inputs with these specs, if their shapes fit, and has no effect.

        Inputs that give sizes or positions may be refused, so such ops do not take all values. Linear ops take all floats.

        Args:
          specs: Those of the inputs.
          number: Returns the array that input i is known to be, None if it is unknown.
        """
        if self.effects or self.structured or self.transient or self.extension or self.foreign or self.refers:
            return False
        if self.total is False or any(spec.is_handle for spec in specs):
            return False
        if self.refuses is not None and specs[1].dtype.is_integer:
            second = number(1)
            return second is not None and not np.any(_REFUSED[self.refuses](second))
        if self.total or self.moves or self.by_value == ():
            return True
        return not any(self.keeps) and not any(spec.dtype.is_integer for spec in specs)

    def unsafe(self) -> str | None:
        """What makes it unsafe to run from a file, as words that follow "the op"; None if it is safe."""
        return None

    def output_count(self) -> int | None:
        """The number of outputs that an attribute asks for, which may be anything in a file; None if the specs determine it."""
        return None

    def eval(self, *values: Any) -> Array | tuple[Array, ...]:
        """The outputs as NumPy values: the plain reference."""
        raise MissingRuleError(f"{self.name}: the op has no eval rule.")

    def vjp(self, ctx: VjpContext, *y_bars: Any) -> Cotangents:
        """The cotangents of the inputs, None for those without one."""
        rule = gradient_of(self.name)
        if rule is None:
            raise MissingGradientError(
                f"No gradient defined for operation '{self.name}' (op type: {self.name}). Define one with "
                f"@RegisterGradient({self.name!r}), or save the model with its custom gradients."
            )
        bars = [ctx.zeros(k) if bar is None else bar for k, bar in enumerate(y_bars)]
        try:
            # A user's rule may keep its context, and the tape reuses its own context for the next op; so the rule gets a new
            # one.
            x_bars = rule(ctx.on(self, ctx.outputs), *bars)
        except Exception as error:  # raised again, marked as the user's
            mark_foreign(error)
            raise
        x_bars = list(x_bars) if isinstance(x_bars, list | tuple) else [x_bars]
        if len(x_bars) != len(ctx.inputs):
            raise InvalidArgumentError(
                f"{self.name}: its gradient function returned {len(x_bars)} gradients for {len(ctx.inputs)} inputs; "
                "return one for each, None for an input without a gradient."
            )
        return x_bars

    def batch(self, ctx: BatchContext, *xs: Any) -> Tensor | tuple[Tensor, ...]:
        """The same op on stacked inputs; row by row unless overridden."""
        return ctx.rowwise(self, *xs)

    def batch_given(self, ctx: BatchContext, *xs: Any) -> Tensor | tuple[Tensor, ...]:
        """`batch` for a stacked input that gives a size."""
        return ctx.rowwise(self, *xs)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        """Which output axis is the row axis, None if no output depends on it, MIXED if rows interact."""
        return MIXED

    def value_rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        """`rows` for the value rather than the derivative; they differ for custom gradients only."""
        return self.rows(specs, axes)

    def lower(self, *operands: Any) -> Form | None:
        """The kernel form, or None if only `eval` can run it."""
        return None

    def why_eval(self, specs: Sequence[TensorSpec]) -> str:
        """Why compiled functions call `eval` for inputs of these specs, for which `lower` gives no form; "" if unknown."""
        return getattr(self.lower, "reason", "")

    def lower_given(self, *operands: Any) -> Form | None:
        """`lower` where inputs give numbers that attributes refer to."""
        return None

    def expanded(self, *inputs: Any) -> Tensor | tuple[Tensor, ...] | None:
        """The same computation by ops that have kernel forms, for devices on which these are faster than `eval`; None if there is
        none.

        Called while tracing, with inputs of definite shapes, whose sizes may be symbols.
        """
        return None

    @property
    def in_steps(self) -> tuple[Op, Array, Op] | None:
        """For an op that reads the variable that is its first input and then adds a constant to it: the op that only reads, the
        constant, and the op that assigns the sum. None for other ops.
        """
        return None

    def views(self, sites: Sequence[Any], specs: Sequence[TensorSpec]) -> Any:
        """The outputs, whose specs are given, as sites in the storage of the inputs (`kernels/sites.py`); None if elements must
        be moved."""
        return None

    def parts_of(self, whole: Any, sites: Sequence[Any], number: Callable[[int], Any]) -> Any:
        """The parts from which the output, at the site `whole`, is assembled if the op only moves elements; else None.

        Args:
          whole: The output in C order.
          sites: The sites of the inputs.
          number: Returns the number that input i holds, None if it is unknown.
        Returns: A list of `Part` of `kernels/sites.py`.
        """
        return None

    def expand(self, *inputs: Any) -> Tensor | tuple[Tensor, ...] | None:
        """The same function bound with simpler ops, for compilers; None if there is none."""
        return None

    def fold(self, *inputs: Any) -> Tensor | tuple[Tensor, ...] | None:
        """Called while specialising, with definite shapes: a simpler result, or None."""
        return None

    def logarithm(self) -> Op | None:
        """The op that gives the logarithm of its result from the same inputs, more exactly; None if there is none."""
        return None

    def row_access(self, rank: int) -> RowAccess | None:
        """The single slice that it takes, puts or spreads, of a tensor of this rank; None if it does more."""
        return None

    def settled(self, ctx: FoldContext, *inputs: Any) -> Op | Tensor | tuple[Tensor, ...] | None:
        """Called while specialising an op whose sizes were inputs and are known: what to bind instead, None for the op
        itself."""
        return None

    def values_read(self, used: Sequence[bool], but_masks: bool = False) -> Sequence[int] | None:
        """`by_value` for the outputs that are used, None for all inputs; with `but_masks` an op that `tells_taken` reads no
        value."""
        if but_masks and self.tells_taken:
            return ()
        return None if self.by_value is True else self.by_value

    def changed(self: P, **attributes: Any) -> P:
        """The op with some attributes changed."""
        return self.op_class(*[attributes.get(name, getattr(self, name)) for name in self.attributes])  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.name}: an op is shared by all who use it, so {name!r} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{self.name}: an op is shared by all who use it, so {name!r} cannot be deleted."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self.op_class, tuple(getattr(self, field) for field in self.attributes)

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: object) -> Op:
        return self

    def __repr__(self) -> str:
        parts = [f"{field}={getattr(self, field)!r}" for field in self.attributes]
        return f"{self.name}({', '.join(parts)})"


class TupleOp(Op):
    """An op whose `infer`, `eval`, rules and `bind` use a tuple of outputs."""

    multiple = True


O = TypeVar("O", bound=type[Op])


def define(cls: O) -> O:
    """Class decorator of every op: freezes it, interns it and puts it into the registry.

    The annotations of the class are its attributes, as in a dataclass; but no source text is generated and compiled for them,
    which for hundreds of ops would take half the time of `import graphad`.

    Raises: InternalError: the class lacks `infer` or `eval`.
    """
    for rule in ("infer", "eval"):
        if getattr(cls, rule) is getattr(Op, rule):
            raise InternalError(f"define: op class {cls.__name__} has no {rule} rule.")
    own = cls.__dict__
    said = own.get("__annotations__", {})
    declared = {name: kind for name, kind in said.items() if not str(kind).startswith("ClassVar")}
    made: Any = cls
    made.infer = checking(made.infer)
    if declared or cls.declared:
        made.declared = {**cls.declared, **declared}
        made.defaults = {**cls.defaults, **{name: own[name] for name in declared if name in own}}
        made.attributes = tuple(made.declared)
    # An op is shared as long as it is referenced. The latest ops are kept alive here, unless they hold graphs or a user's
    # objects.
    made.op_class = made
    made._exactly = None
    made._quickly = Memo(made.name, 0 if made.structured or made.transient else _HELD)
    made.gradless = getattr(made.vjp, "reason", None)
    made.pulls_alone = not (made.structured or made.masks or made.pull_into is not None)
    register(made)
    return made  # type: ignore[no-any-return]


def no_gradient(reason: str) -> Callable[..., Any]:
    """A `vjp` for ops whose derivative does not exist or is zero wherever it exists; such ops are not recorded."""

    def vjp(self: Op, ctx: VjpContext, *y_bars: object) -> list[None]:
        return [None] * len(ctx.inputs)

    vjp.reason = reason  # type: ignore[attr-defined]
    return vjp


def no_batch(reason: str) -> Callable[..., Any]:
    """A `batch` for ops that can only run row by row; the reason is part of the error where even that is impossible."""

    def batch(self: Op, ctx: BatchContext, *xs: Value) -> Tensor | tuple[Tensor, ...]:
        return ctx.rowwise(self, *xs)

    batch.reason = reason  # type: ignore[attr-defined]
    return batch


def no_rows(reason: str) -> Callable[..., Any]:
    """A `rows` for ops whose row axis cannot be determined. It does not prove that rows mix."""

    def rows(self: Op, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        return None if all(axis is None for axis in axes) else MIXED

    rows.reason = reason  # type: ignore[attr-defined]
    return rows


def no_form(reason: str) -> Callable[..., Any]:
    """A `lower` for ops that no loop can carry, so that `eval` runs between native steps; `explain` gives the reason."""

    def lower(self: Op, *operands: object) -> None:
        return None

    lower.reason = reason  # type: ignore[attr-defined]
    return lower


def else_eval(reason: str) -> Callable[[T], T]:
    """Decorator of a `lower` whose form some backends do not support for all dtypes: the reason given for those, as by
    `no_form`."""

    def reasoned(lower: T) -> T:
        lower.reason = reason  # type: ignore[attr-defined]
        return lower

    return reasoned


def output_specs(op: Op, specs: Iterable[TensorSpec]) -> tuple[TensorSpec, ...]:
    """What `infer` says, in a tuple also where there is one output."""
    return possible(op, in_tuple(op, op.infer(*specs)))


def possible(op: Op, outputs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    """The specs. Raises: InvalidArgumentError: no array can have one of them."""
    for spec in outputs:
        require_possible(op.caller, spec.dims)
    return outputs


def in_tuple(op: Op, outputs: T | tuple[T, ...]) -> tuple[T, ...]:
    """What a rule of the op gives, in a tuple also where there is one output."""
    return tuple(outputs) if op.multiple else (outputs,)  # type: ignore[arg-type, return-value]


def evaluated(op: Op, values: Sequence[Any], count: int | None = None) -> tuple[Any, ...]:
    """The outputs of `eval` as a tuple, 0-d arrays as NumPy scalars; `count` is the number that the graph declares."""
    out = in_tuple(op, op.eval(*values))
    if count is not None and len(out) != count:
        raise InternalError(f"{op.name}: it gave {len(out)} outputs where its graph says {count}.")
    return tuple([y[()] if type(y) is np.ndarray and not y.ndim else y for y in out])
