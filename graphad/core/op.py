"""An op: one interned, frozen record whose fields are its attributes and whose methods are all its rules.

Equal attributes (types included) are the same object, so identity serves as equality, hash, cache key and file record.
A rule that cannot exist says so with `no_gradient`, `no_batch` or `no_rows`, and why; a derivative that is merely absent raises
`MissingGradientError`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from graphad.core.dtypes import as_dtype
from graphad.core.errors import (
    GraphadError,
    InternalError,
    InvalidArgumentError,
    MissingGradientError,
    MissingRuleError,
    ResourceExhaustedError,
    RuleError,
)
from graphad.core.interning import OpType as OpType
from graphad.core.memo import Memo
from graphad.core.references import MIXED as MIXED
from graphad.core.registry import gradient_of, register
from graphad.core.spec import TensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import BatchContext, Cotangents, RowAxes, Rows, VjpContext

READS, WRITES, IO = 1, 2, 4
_REFUSED: dict[str, Callable[[Any], Any]] = {"zero": lambda x: x == 0, "negative": lambda x: x < 0}
_HELD = 256  # ops of one class that are kept though nobody uses them
Specs = TensorSpec | tuple[TensorSpec, ...]
P = TypeVar("P", bound="Op")


class Composed(NamedTuple):
    """Ops that together do what one did that is gone.

    Attributes:
      nodes: (op, its operands): first the inputs are counted, then the outputs of the nodes.
      outputs: Those outputs of the last node that were the outputs of the op; all of them where it is None.
    """

    nodes: Sequence[tuple[Op, tuple[int, ...]]]
    outputs: tuple[int, ...] | None = None


class Op(metaclass=OpType):
    """Base class of all ops. See the module docstring; rules are listed here in the order of use.

    Class attributes:
      name, version: What a file calls the op, and the version of its meaning.
      quick: For eager speed: the value for eager inputs that need no further check, or None to go the usual way.
      multiple: `infer`, `eval` and every rule speak of a tuple of outputs; set by `TupleOp`.
      keeps: (inputs, outputs) that `vjp` reads: True for all, False for none, or a tuple of positions.
      by_value: Positions of the inputs on whose values outputs depend, not on their shapes alone; True for all.
      effects: Sum of READS, WRITES, IO. Nodes with effects keep their order and are never merged or dropped.
      aliases: {output: input} where an output is a view of an input or may overwrite it.
      transient: Made anew for each use, so it is forgotten when nobody holds it.
      per_row: Gives each row of a vectorized computation an output of its own even if no input is stacked.
      fits: The inputs fit by construction: `infer` is not asked before a run.
      structured: Holds sub-graphs.
      layered: Recorders add residual outputs before it runs: it has `augmented` and `n_outputs`.
      extension: Its `eval` or its derivative is a user's function, whose errors are the user's.
      foreign: Its derivative is the user's own: it may raise, and need not be linear. Such an op keeps its outputs.
      gradless: The derivative does not exist, for the reason given; None where it does.
      attributes: The names of the attributes, in order.
      declared: Their types, as written in the class; see `core/schema.py`.
      defaults: The values of those that need not be given.
      op_class: The class itself, also where `refers` makes another one of it.
      refers: Some of its sizes are given by inputs, or follow from the others: it has no short way and is not compiled as it is.
      given: How many inputs, the last ones, the sizes refer to.
      eval_checks: `eval` finds whatever may be wrong with numbers that inputs give, so that nothing else need look at them.
      live: It holds live objects, so no file holds it.
      inlines: It computes what its `graph` does, whose nodes may stand in its place.
      hands_on: Its outputs are inputs, from number `n_inputs` on; only the derivative is its own.
      repeats, branches: It runs its `body` again and again; its `then_graph` or its `else_graph`.
      loads, stores: It gives the value of its first input, a variable; it gives that one its second input as its value.
      guarded: It reads and writes a variable in one step, and takes the guard of the variable itself.
      infix: How Python writes it, "{} + {}"; the quickest way on NumPy scalars.
      moves: It only moves elements: where its input has known and unknown elements, so has its result, at known places.
      gives_sizes: It gives the sizes of its input, whatever that holds.
      lowers_alike: Its form depends on the dtypes of its inputs alone.
      takes_symbols: Whether `eval` also computes with symbols for sizes, in arrays of objects; or the positions of the inputs
        that may hold some.
      spreads: The elements of its result are those of its first input, in another shape.
      returns_input: `eval` may return an input as it is.
      total: Whether it gives a result whatever its inputs hold, if their shapes fit; None where other traits say it.
      refuses: "zero" or "negative": the integers as second input for which it raises all the same.
      copies: Its result holds elements of its input many times, and may be far larger.
      closes_over: A rule in Python refers to values of the trace in which it stands.
      counts: 1 for a sum and -1 for a difference, by which loops count; 0 for others.
      compares: ("<" or ">", 1 where equal numbers count too, else 0).
      known_as: What users know it as, where that is not the name.
      words: {attribute: what messages call it}, where that is another name.
      formerly: {name that is gone: what makes attributes of this op of those that files give that one}.
      formerly_like: Those names whose op took the sizes from an input, the last one, by its shape.
      composed_formerly: {name that is gone: what says the ops that do now what it did, of its attributes and how many inputs and
        outputs a node has}.
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
    guarded: ClassVar[bool] = False
    infix: ClassVar[str | None] = None
    moves: ClassVar[bool] = False
    gives_sizes: ClassVar[bool] = False
    lowers_alike: ClassVar[bool] = False
    takes_symbols: ClassVar[bool | tuple[int, ...]] = True
    spreads: ClassVar[bool] = False
    returns_input: ClassVar[bool] = False
    total: ClassVar[bool | None] = None
    refuses: ClassVar[str | None] = None
    copies: ClassVar[bool] = False
    closes_over: ClassVar[bool] = False
    counts: ClassVar[int] = 0
    compares: ClassVar[tuple[str, int] | None] = None
    known_as: ClassVar[str | None] = None
    words: ClassVar[dict[str, str]] = {}
    formerly: ClassVar[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
    formerly_like: ClassVar[frozenset[str]] = frozenset()
    composed_formerly: ClassVar[dict[str, Callable[[dict[str, Any], int, int], Composed]]] = {}
    quick: ClassVar[Any] = None
    multiple: ClassVar[bool] = False
    keeps: ClassVar[tuple[Any, Any]] = (True, False)
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
        """The attributes with which this version means what an older one meant, for an op from a file.

        Args:
          version: The version in the file, less than that of the class.
          attributes: All attributes of the op in the file, by name.
        Returns: All attributes of this version, or None where it cannot say what the older one said.
        """
        return None

    def infer(self, *specs: Any) -> Any:
        """The specs of the outputs; raises an error that names the op where the inputs do not fit."""
        raise MissingRuleError(f"{self.name}: the op has no infer rule.")

    @property
    def as_size(self) -> Any:
        """The size that its result is, a scalar; None for what is no size."""
        return None

    @property
    def evaluator(self) -> Callable[..., Any]:
        """What computes as `eval` does, by the shortest way."""
        return self.eval

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        """Raises where the inputs do not fit in ways that code which traces cannot get wrong, so that `infer` need not look.

        Asked for graphs from files. That there are as many as the schema says, and variables where it says, is known.
        """

    def check_outputs(self, specs: Sequence[TensorSpec]) -> None:
        """Raises where what a file says of the outputs cannot be, though it agrees with `infer`."""

    def takes_all(self, specs: Sequence[TensorSpec], number: Callable[[int], Any]) -> bool:
        """Whether it gives a result for all values of inputs with these specs, if their shapes fit, and does nothing else.

        What an input says of sizes may be refused, and so may integers that are positions. What is linear takes all floats.

        Args:
          specs: Those of the inputs.
          number: Gives the array that input i is known to be, None where it is not known.
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
        """What it does that calling a model from a file must not do, in words behind "the op"; None for nothing."""
        return None

    def output_count(self) -> int | None:
        """How many outputs an attribute asks for, of which a file may say anything; None where the specs say it."""
        return None

    def eval(self, *values: Any) -> Any:
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
            # The rule is the user's, who may keep what it is given; the tape's own context serves one op after the other.
            x_bars = rule(ctx.on(self, ctx.outputs), *bars)
        except Exception as error:  # raised on, marked as the user's
            _leave(error)
            raise
        x_bars = list(x_bars) if isinstance(x_bars, list | tuple) else [x_bars]
        if len(x_bars) != len(ctx.inputs):
            raise InvalidArgumentError(
                f"{self.name}: its gradient function returned {len(x_bars)} gradients for {len(ctx.inputs)} inputs; "
                "return one for each, None for an input without a gradient."
            )
        return x_bars

    def batch(self, ctx: BatchContext, *xs: Any) -> Any:
        """The same op on stacked inputs: one row after the other, unless there is a better way."""
        return ctx.rowwise(self, *xs)

    def batch_given(self, ctx: BatchContext, *xs: Any) -> Any:
        """`batch` where an input that gives a size is stacked."""
        return ctx.rowwise(self, *xs)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        """Which output axis is the row axis, None if no output depends on it, MIXED if rows interact."""
        return MIXED

    def value_rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        """`rows` where the value counts and not the derivative; they differ for custom gradients alone."""
        return self.rows(specs, axes)

    def lower(self, *operands: Any) -> Any:
        """The kernel form, or None where only `eval` can run it."""
        return None

    def views(self, sites: Sequence[Any], specs: Sequence[TensorSpec]) -> Any:
        """The outputs, of these specs, as sites of the inputs (`kernels/sites.py`), where it moves no element; else None."""
        return None

    def parts_of(self, whole: Any, sites: Sequence[Any], number: Callable[[int], Any]) -> Any:
        """What the output, the site `whole`, is put together from, where it only moves elements; else None.

        Args:
          whole: The output in C order.
          sites: Those of the inputs.
          number: Gives the number that input i is, None where that is not known.
        Returns: A list of `Part` of `kernels/sites.py`.
        """
        return None

    def expand(self, *inputs: Any) -> Any:
        """The same function bound in simpler ops, for compilers; None where there is none."""
        return None

    def fold(self, *inputs: Any) -> Any:
        """Called while specialising, with definite shapes: a simpler result, or None."""
        return None

    def index_axis(self, rank: int) -> int | None:
        """The axis from which it takes the one slice that its second input, a scalar, says; None where it does more."""
        return None

    def settled(self, ctx: Any, *inputs: Any) -> Any:
        """Called while specialising an op whose sizes were inputs and are known now: what to bind instead, None for the op."""
        return None

    def values_read(self, used: Sequence[bool]) -> Sequence[int] | None:
        """`by_value` for the outputs that are used; None for all inputs."""
        return None if self.by_value is True else self.by_value

    def changed(self: P, **attributes: Any) -> P:
        """The op with some attributes changed."""
        return self.op_class(*[attributes.get(name, getattr(self, name)) for name in self.attributes])  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self.name}: an op is shared by all who use it, so {name!r} cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{self.name}: an op is shared by all who use it, so {name!r} cannot be deleted."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self.op_class, tuple(getattr(self, field) for field in self.attributes)

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: Any) -> Op:
        return self

    def __repr__(self) -> str:
        parts = [f"{field}={getattr(self, field)!r}" for field in self.attributes]
        return f"{self.name}({', '.join(parts)})"


class TupleOp(Op):
    """An op of which `infer`, `eval`, every rule and `bind` speak as of a tuple of outputs."""

    multiple = True


O = TypeVar("O", bound=type[Op])


def define(cls: O) -> O:
    """Class decorator of every op: freezes it, interns it and puts it into the registry.

    The annotations of the class are its attributes, as in a dataclass; but no source text is made and compiled for them, which
    for some hundred ops would be half the time of `import graphad`.

    Raises: InternalError: the class lacks `infer` or `eval`.
    """
    for rule in ("infer", "eval"):
        if getattr(cls, rule) is getattr(Op, rule):
            raise InternalError(f"define: op class {cls.__name__} has no {rule} rule.")
    own = cls.__dict__
    declared = {
        name: kind
        for name, kind in own.get("__annotations__", {}).items()
        if not str(kind).startswith("ClassVar")
    }
    made: Any = cls
    if declared or cls.declared:
        made.declared = {**cls.declared, **declared}
        made.defaults = {**cls.defaults, **{name: own[name] for name in declared if name in own}}
        made.attributes = tuple(made.declared)
    # An op is shared as long as somebody holds it. The latest are held here, unless they hold graphs or a user's objects.
    made.op_class = made
    made._exactly = weakref.WeakValueDictionary()
    made._quickly = Memo(made.name, 0 if made.structured or made.transient else _HELD)
    made.gradless = getattr(made.vjp, "reason", None)
    register(made)
    return made  # type: ignore[no-any-return]


def no_gradient(reason: str) -> Callable[..., Any]:
    """A `vjp` for ops whose derivative does not exist or is zero wherever it does; such ops are not recorded."""

    def vjp(self: Op, ctx: VjpContext, *y_bars: Any) -> list[None]:
        return [None] * len(ctx.inputs)

    vjp.reason = reason  # type: ignore[attr-defined]
    return vjp


def no_batch(reason: str) -> Callable[..., Any]:
    """A `batch` for ops that cannot do better than one row after the other; the reason is given where that cannot be done."""

    def batch(self: Op, ctx: BatchContext, *xs: Any) -> Any:
        return ctx.rowwise(self, *xs)

    batch.reason = reason  # type: ignore[attr-defined]
    return batch


def no_rows(reason: str) -> Callable[..., Any]:
    """A `rows` for ops of which nobody can say where their rows go. It is no proof that rows mix."""

    def rows(self: Op, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        return None if all(axis is None for axis in axes) else MIXED

    rows.reason = reason  # type: ignore[attr-defined]
    return rows


def evaluated(op: Op, values: Sequence[Any], count: int | None = None) -> tuple[Any, ...]:
    """The outputs of `eval` as a tuple, 0-d arrays as NumPy scalars; `count` is how many the graph says there are."""
    out = op.eval(*values)
    if not op.multiple:
        out = (out,)
    if count is not None and len(out) != count:
        raise InternalError(f"{op.name}: it gave {len(out)} outputs where its graph says {count}.")
    return tuple([y[()] if type(y) is np.ndarray and not y.ndim else y for y in out])


# What NumPy and Python raise where an op does not take its operands; anything else has another cause than the op.
RAW_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


def named(error: Exception, op: Op | type[Op]) -> Exception:
    """The error of a rule in words that name the op; itself if it speaks for graphad, or comes from a user's function.

    Rules rely on what traced code cannot get wrong, but an op of a file whose operands have unknown ranks may.
    """
    if (
        isinstance(error, GraphadError)
        or not isinstance(error, RAW_ERRORS)
        or hasattr(error, "graphad_foreign")
    ):
        return error
    if op.extension:
        return _leave(error)
    kind = ResourceExhaustedError if isinstance(error, MemoryError) else RuleError
    made = kind(f"{op.name}: {str(error).rstrip('.') or type(error).__name__}.")
    made.__cause__ = error
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


def _leave(error: Exception) -> Exception:
    """Mark the error as a user's, also for the loops and branches around what raised it."""
    foreign: Any = error
    foreign.graphad_foreign = True
    return error


def explained(error: Exception, op: Op, values: Sequence[Any]) -> Exception:
    """What `infer` says of the values that an `eval` could not take; else the error with the op's name.

    While tracing with unknown ranks, `infer` may have had nothing to object to; NumPy's own words do not name the op.
    """
    if isinstance(error, GraphadError) or op.structured or op.extension:
        return named(error, op)
    try:
        specs = [
            x.spec if hasattr(x, "spec") else TensorSpec.of(np.shape(x), as_dtype(x.dtype)) for x in values
        ]
        op.infer(*specs)
    except GraphadError as said:
        said.__cause__ = error
        return said
    except RAW_ERRORS:  # infer has nothing to say
        pass
    return named(error, op)
