"""What a graph from a file must be before anything runs it: attributes of the declared types, operands that fit sub-graphs.

An op's own `infer` says most of it. Here is what `infer` takes for granted, since code that traces cannot get it wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.dtypes import DType, bool_, int64
from graphad.core.errors import GraphadError
from graphad.core.schema import schema_of
from graphad.core.shapes import are_compatible
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.ops.array.keys import indexed_dims, is_at, is_slice
from graphad.ops.control.custom import ClosedCustom, ClosedRule, UnsavedCustom
from serialization.errors import CorruptModelError, LimitExceededError, UnsafeModelError, shown

SPEC_LIMIT = 1 << 40  # elements of a tensor that a graph in a file may ask for
CALL_DEPTH = 100  # graphs within graphs

_STREAMS = frozenset({"stdout", "stderr", "log(info)", "log(warning)", "log(error)"})

# Inputs that take a variable by reference, of ops whose `infer` does not say so yet.
_HANDLES: dict[str, tuple[int, ...]] = {
    "read": (0,),
    "assign": (0,),
    "random_key": (0,),
    "random_set_state": (0,),
}
_KINDS = frozenset({"uniform", "normal", "truncated_normal", "bits", "integers"})
_MIRRORS = frozenset({"reflect", "symmetric"})
_CHOICES: dict[tuple[str, str], frozenset[str]] = {
    ("draw", "kind"): _KINDS,
    ("draw_to", "kind"): _KINDS,
    ("mirror_pad", "mode"): _MIRRORS,
    ("mirror_pad_grad", "mode"): _MIRRORS,
}

# The least value of numbers, or of each of several, of ops whose annotations do not say so yet.
_LEAST = {"batch_dims": 0, "num": 0, "window": 1, "strides": 1, "dilations": 1}
_LEAST_OF = {("polygamma", "n"): 0, ("split_at", "n"): 0, ("concat_part", "k"): 0}
_NUMBERS = ("int", "tuple[int, int]")
_ONCE = frozenset({"axes", "perm"})  # no axis is named twice

# How many tensors stand before the scalars to which a key refers.
_BEFORE_NUMBERS = {"getitem": 1, "getitem_at": 1, "getitem_grad": 1, "getitem_grad_to": 2, "slice_update": 2}

# Inputs that are sizes known at run time: vectors of integers.
_VECTORS: dict[str, tuple[int, ...]] = {
    "tile_to": (1,),
    "getitem_grad_to": (1,),
    "gather_grad_to": (2,),
    "scatter_nd_to": (2,),
    "take_along_axis_grad_to": (2,),
}

# -- attributes ----------------------------------------------------------------------------------------------------------


def check_attributes(op_class: Any, values: Sequence[Any]) -> None:
    """Raise unless every attribute is what the op's schema says, and is nothing that a file must not ask for."""
    wrong = schema_of(op_class).wrong(values)
    if wrong is not None:
        field, value, complaint = wrong
        raise CorruptModelError(
            f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which {complaint}."
        )
    for field, value in zip(op_class.attributes, values, strict=True):
        if not _is_plain(value):
            raise CorruptModelError(
                f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which is nothing plain."
            )
        declared = op_class.declared[field]
        least = _LEAST_OF.get((op_class.name, field), _LEAST.get(field)) if declared in _NUMBERS else None
        numbers = value if type(value) is tuple else (value,)
        if (least is not None and min(numbers) < least) or (
            field in _ONCE and len(set(numbers)) < len(numbers)
        ):
            raise CorruptModelError(
                f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which it cannot be."
            )
        choices = _CHOICES.get((op_class.name, field))
        if choices is not None and value not in choices:
            raise CorruptModelError(
                f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}; allowed are {', '.join(sorted(choices))}."
            )
    if op_class.name == "print":
        check_stream(values[op_class.attributes.index("stream")])


def bounds_of(op_class: Any, field: str) -> str:
    """What an attribute must be besides its type, in words; empty for nothing."""
    declared, key = op_class.declared[field], (op_class.name, field)
    kind = schema_of(op_class).attributes[field]
    found = [kind.bound] if kind.bound else []
    least = _LEAST_OF.get(key, _LEAST.get(field)) if declared in _NUMBERS else None
    if least is not None:
        found.append(f"at least {least}")
    if field in _ONCE:
        found.append("none twice")
    choices = _STREAMS if key == ("print", "stream") else _CHOICES.get(key)
    if choices is not None:
        found.append("one of " + ", ".join(f'"{choice}"' for choice in sorted(choices)))
    return ", ".join(found)


def check_stream(stream: str) -> None:
    """Raise if a `print` op writes anywhere but to the screen or the log: calling a model must not write files."""
    if stream not in _STREAMS:
        raise UnsafeModelError(
            f"a print op writes to {shown(stream)}; a model may print to {', '.join(sorted(_STREAMS))} only."
        )


def _is_plain(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, str) or isinstance(x, DType | Graph)


def handle_inputs(op_class: Any) -> tuple[int, ...]:
    """The inputs that are variables."""
    declared = tuple([i for i, x in enumerate(schema_of(op_class).inputs) if x.is_handle])
    return declared or _HANDLES.get(op_class.name, ())


# -- specs ---------------------------------------------------------------------------------------------------------------


def check_spec(spec: TensorSpec) -> None:
    """Raise for sizes that no array has, or that nobody could mean."""
    total = 1
    for size in spec.dims or ():
        if size is None:
            continue
        if type(size) is not int or size < 0:
            raise CorruptModelError(f"{shown(size)} is no size.")
        total *= size
    if total > SPEC_LIMIT:
        raise LimitExceededError(f"a tensor of {shown(total)} elements; a graph may ask for {SPEC_LIMIT}.")


def sound_spec(claimed: TensorSpec, inferred: TensorSpec, op: str) -> TensorSpec:
    """The spec of an output: what the file claims, or what was inferred where the file claims to know more.

    A claim that says more than the op promises is never believed: compiled code would trust it.
    """
    fits = type(claimed) is TensorSpec and isinstance(inferred, TensorSpec) and not inferred.is_handle
    if not fits or claimed.dtype is not inferred.dtype or not are_compatible(claimed.dims, inferred.dims):
        raise CorruptModelError(f"op {shown(op)} gives {inferred}, the file says {claimed}.")
    check_spec(inferred)
    return claimed if claimed.describes(inferred.dims) else inferred


def _fit(mine: TensorSpec, theirs: TensorSpec) -> bool:
    return (
        mine.dtype is theirs.dtype
        and mine.is_handle == theirs.is_handle
        and are_compatible(mine.dims, theirs.dims)
    )


# -- nodes ---------------------------------------------------------------------------------------------------------------


def check_operands(op: Any, inputs: Sequence[TensorSpec]) -> None:
    """Raise unless the operands are what the op's sub-graphs take, and variables stand only where they may."""
    check = _CHECKS.get(op.name)
    if check is not None:
        check(op, inputs)
        return
    schema = schema_of(op.op_class)
    least = schema.least + op.given
    if not least <= len(inputs) <= schema.most + op.given:
        raise CorruptModelError(f"op {shown(op.name)} takes {least} inputs, the file gives {len(inputs)}.")
    allowed = handle_inputs(op.op_class)
    for i, spec in enumerate(inputs):
        if spec.is_handle != (i in allowed):
            raise CorruptModelError(
                f"op {shown(op.name)} takes a {'variable' if i in allowed else 'tensor'} as input {i}, the file says {spec}."
            )
    for i in _VECTORS.get(op.name, ()):
        sizes = inputs[i]
        _require(
            sizes.dtype.is_integer and (sizes.dims is None or len(sizes.dims) == 1),
            op,
            f"{sizes} is no shape",
        )
    before = _BEFORE_NUMBERS.get(op.name)
    if before is not None:
        _check_numbers(op, inputs[before:])
    if op.name == "getitem_grad":
        _check_part(op, inputs[0])
    if op.name in ("assign", "random_key", "random_set_state"):
        of_generator = op.name == "assign" or (inputs[0].dtype is int64 and inputs[0].dims == (2,))
        if not (of_generator and all(_assignable(inputs[0], value) for value in inputs[1:])):
            raise CorruptModelError(f"op {shown(op.name)} does not take {', '.join(map(str, inputs))}.")


def _check_numbers(op: Any, numbers: Sequence[TensorSpec]) -> None:
    """Raise unless the scalars that a key refers to are there, and are integers."""
    bounds = [bound for entry in op.key for bound in (entry[1:3] if is_slice(entry) else (entry,))]
    for bound in bounds:
        _require(not is_at(bound) or bound[1] <= len(numbers), op, f"its key refers to {shown(bound)}")
    for number in numbers:
        _require(
            number.dtype.is_integer and number.dims in ((), None), op, f"{number} is no index in its key"
        )


def _check_part(op: Any, part: TensorSpec) -> None:
    """Raise unless what is put at a key has the shape of that part."""
    try:
        want = indexed_dims(op.key, op.shape)
    except GraphadError as cause:
        raise CorruptModelError(f"op {shown(op.name)}: {shown(str(cause))}.") from cause
    _require(are_compatible(want, part.dims), op, f"{part} is no part of {shown(op.shape)}")


def _assignable(handle: TensorSpec, value: TensorSpec) -> bool:
    return handle.dtype is value.dtype and are_compatible(handle.dims, value.dims)


def _require(holds: bool, op: Any, reason: str) -> None:
    if not holds:
        raise CorruptModelError(f"op {shown(op.name)}: {reason}.")


def _takes(op: Any, graph: Graph, operands: Sequence[TensorSpec], what: str) -> None:
    _require(
        len(graph.inputs) == len(operands),
        op,
        f"{what} takes {len(graph.inputs)} operands, the file gives {len(operands)}",
    )
    for i, (mine, theirs) in enumerate(zip(graph.inputs, operands, strict=True)):
        _require(_fit(mine, theirs), op, f"{what} takes {mine} as operand {i}, the file gives {theirs}")


def _check_call(op: Any, inputs: Sequence[TensorSpec]) -> None:
    _takes(op, op.graph, inputs, "the graph")


def _check_cond(op: Any, inputs: Sequence[TensorSpec]) -> None:
    _require(len(inputs) >= 1, op, "there is no predicate")
    _require(set(op.kinds) <= {"both", "then", "else", "sum"}, op, "an output is marked by an unknown word")
    _require(
        op.depth >= 0 and (len(op.full) == len(inputs) - 1 if op.depth else not op.full),
        op,
        "its marks of rows are wrong",
    )
    for graph, other, what in (
        (op.then_graph, "else", "the first branch"),
        (op.else_graph, "then", "the second branch"),
    ):
        _takes(op, graph, inputs[1:], what)
        _require(
            len(graph.outputs) == sum(kind != other for kind in op.kinds),
            op,
            f"{what} has another number of outputs",
        )


def check_branches(op: Any, claimed: Sequence[TensorSpec]) -> None:
    """Raise unless the outputs of both branches of a cond are what the file says of its own outputs."""
    if op.name != "cond":
        return
    for graph, other, what in ((op.then_graph, "else", "first"), (op.else_graph, "then", "second")):
        mine = [spec for spec, kind in zip(claimed, op.kinds, strict=True) if kind != other]
        for k, (a, b) in enumerate(zip(graph.output_specs, mine, strict=True)):
            _require(_fit(a, b), op, f"output {k} of the {what} branch is {a}, the file says {b}")


def _check_loop(op: Any, inputs: Sequence[TensorSpec]) -> None:
    n = op.n_carry
    _require(min(n, op.n_invariant, op.n_xs) >= 0, op, "a count is negative")
    _require(
        len(inputs) == 1 + n + op.n_invariant + op.n_xs,
        op,
        f"its counts do not add up to {len(inputs)} inputs",
    )
    _require(not inputs[0].is_handle, op, "the limit is a variable")
    _require(
        len(op.body.outputs) >= n, op, f"the body gives {len(op.body.outputs)} values for {n} carried ones"
    )
    _require(-1 <= op.uniform <= len(op.body.outputs) - n, op, f"uniform is {op.uniform}")
    _require(op.steps is None or (type(op.steps) is int and op.steps >= 0), op, f"steps is {shown(op.steps)}")
    carry, invariants, xs = op.parts(inputs[1:])
    slices = []
    for x in xs:
        _require(not x.is_handle and x.dims != (), op, f"it cannot walk along {x}")
        slices.append(TensorSpec.of(None if x.dims is None else tuple(x.dims[1:]), x.dtype))
    _takes(op, op.body, [*carry, *invariants, *slices], "the body")
    for k, result in enumerate(op.body.output_specs[:n]):
        fits = not carry[k].is_handle and result.dtype is carry[k].dtype
        _require(fits, op, f"carried value {k} is {carry[k]} and becomes {result}")
    if op.test is not None:
        _require(not op.reverse, op, "a loop that runs backwards has no test")
        _takes(op, op.test, [*carry, *invariants], "the test")
        results = op.test.output_specs
        _require(
            len(results) == 1 and results[0].dtype is bool_ and results[0].dims in ((), None),
            op,
            "the test gives no bool",
        )


def _check_vectorize(op: Any, inputs: Sequence[TensorSpec]) -> None:
    _require(len(op.stacked) == len(inputs) and any(op.stacked), op, "its marks of rows are wrong")
    rows = []
    for spec, stacked in zip(inputs, op.stacked, strict=True):
        if stacked:
            _require(not spec.is_handle and spec.dims != (), op, f"it cannot take rows of {spec}")
            spec = TensorSpec.of(None if spec.dims is None else tuple(spec.dims[1:]), spec.dtype)
        rows.append(spec)
    _takes(op, op.graph, rows, "the graph")


def _check_custom(op: ClosedCustom | UnsavedCustom, inputs: Sequence[TensorSpec]) -> None:
    first = op.n_inputs
    _require(
        op.n_outputs >= 0 and len(inputs) >= first + op.n_outputs, op, f"{len(inputs)} inputs are too few"
    )
    _require(
        not any(spec.is_handle for spec in inputs[first : first + op.n_outputs]),
        op,
        "a variable is no output",
    )


_CHECKS: dict[str, Callable[[Any, Sequence[TensorSpec]], None]] = {
    "call": _check_call,
    "cond": _check_cond,
    "loop": _check_loop,
    "vectorize": _check_vectorize,
    "closed_custom": _check_custom,
    "unsaved_custom": _check_custom,
}


def output_count(op: Any) -> int | None:
    """How many outputs an attribute asks for: compared with the file before `infer` makes that many specs."""
    if op.name == "unstack":
        return int(op.num)
    if op.name == "split_at":
        return int(op.n)
    return None


def check_rule(
    rule: ClosedRule, op: ClosedCustom, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> None:
    """Raise unless a custom gradient fits where it is used; its graph is there by now."""
    graph = rule.graph
    assert graph is not None
    _require(
        len(rule.positions) == op.n_inputs, op, f"the rule {shown(rule.name)} has gradients for other inputs"
    )
    given = sum(position >= 0 for position in rule.positions)
    what = f"the rule {shown(rule.name)}"
    _require(
        given == len(graph.outputs), op, f"{what} gives {len(graph.outputs)} gradients for {given} inputs"
    )
    _takes(op, graph, [*outputs, *inputs[op.n_inputs + op.n_outputs :]], what)
