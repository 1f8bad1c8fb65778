"""What the tests prove about each op, computed from the tables that they run: cases of ops, their variants, and TensorFlow's
expressions.

Nothing is claimed here. A check of `OpCase` counts for the ops of the graphs that it runs; a variant counts if graphad takes it;
an expression counts for the values and derivatives that TensorFlow's data hold of it. What is missing has a reason in `EXCUSED`.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import graphad as tf
from graphad.core.errors import GraphadError
from graphad.core.spec import TensorSpec
from graphad.ops.elementwise import Elementwise
from tests.oracle.store import DATA, Reader, arrays_of
from tests.oracle.volumes import VOLUMES
from tests.support.case_graphs import Graphs, graphs_of, names, unknown
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase
from tests.support.variants import KINDS, variants

# The kinds of proof, in the order of the page, with their descriptions.
PROOFS = {
    "value": "its values are those of a formula of NumPy or SciPy, of TensorFlow, or, for an op that derivatives are made of, "
    "those of finite differences",
    "shapes": "what `infer` says is what `eval` gives, in shape and dtype",
    "sizes": "the same with unknown sizes",
    "rank": "the same with unknown rank",
    "first": "its gradient is that of finite differences in float64, or TensorFlow's",
    "second": "so is the gradient of its gradient",
    "forward": "forward mode is the transpose of reverse mode",
    "batch": "stacked rows give what a loop over rows gives",
    "compiled": "eager, tier 0 and compiled code agree",
    "file": "its graphs are the same after a file",
    "empty": "with no elements",
    "numbers": "with numbers for arrays",
    "one": "with one element along an axis",
    "broadcast": "with operands that broadcast",
    "axes": "with axes counted from the other end",
    "special": "with NaN and infinities",
    "float32": "in float32",
    "float16": "in float16",
    "bfloat16": "in bfloat16",
    "complex": "in complex numbers",
}
VARIANTS = tuple(KINDS)
Found = dict[str, dict[str, set[str]]]


def _of_case(case: OpCase, found: Found) -> None:
    """What the checks of one case prove."""

    def proved(what: str, ops: Iterable[str], by: str) -> None:
        for name in ops:
            found[what][name].add(by)

    graphs = graphs_of(case)
    checks = {check.__name__ for check in case.agreements()}
    both = graphs.of_value | graphs.of_first
    if "check_formula" in checks:
        proved("value", graphs.of_value, "formula")
    proved("shapes", both, "infer")
    for kind, _ in unknown(case):
        other = graphs_of(case, kind)
        further = other.of_value | other.of_first
        proved(kind, both | further, "known shapes")
        for what in ("value", "shapes", "file"):
            proved(what, further - both, "known shapes")
    if "check_finite_differences" in checks:
        proved("value", graphs.of_first - graphs.of_value, "differences")
        proved("first", graphs.of_value, "differences")
    if "check_second_order" in checks:
        proved("value", graphs.of_second - graphs.of_value, "differences")
        proved("first", graphs.of_first, "differences")
        proved("second", graphs.of_value, "differences")
    if "check_forward_mode" in checks:
        proved("forward", graphs.of_value, "reverse mode")
    if "check_batch" in checks:
        proved("batch", graphs.of_value, "rows")
        if case.order and case.sources:
            proved("batch", graphs.of_first, "rows")
    if "check_compiled" in checks:
        proved("compiled", both, "tiers")
    if "custom_gradient" not in both:
        proved("file", both | graphs.of_second, "a file")
    if "check_float32" in checks:
        proved("float32", both, "float64")
    if any(x.dtype.kind == "c" for x in case.arrays):
        proved("complex", both, "all checks")
    if "check_formula" in checks:
        for node in graphs.value.nodes:
            for spec in [*[graphs.value.specs[i] for i in node.inputs], *node.specs]:
                if spec.dtype.name in ("float32", "float16", "bfloat16"):
                    proved(spec.dtype.name, [node.op.name], "formula")
                elif spec.dtype.is_complex:
                    proved("complex", [node.op.name], "formula")
        if any(x.dtype.kind in "fc" and not np.isfinite(x).all() for x in case.arrays):
            proved("special", graphs.of_value, "formula")
    # Properties that the arrays of the case have already.
    for node in graphs.value.nodes:
        ARITY[node.op.name] = max(ARITY[node.op.name], len(node.inputs))
        dims = [graphs.value.specs[i].dims for i in node.inputs]
        if any(d is not None and 0 in d for d in dims):
            found["empty"][node.op.name].add("case")
        if dims and all(d == () for d in dims):
            found["numbers"][node.op.name].add("case")
        if any(d is not None and 1 in d for d in dims):
            found["one"][node.op.name].add("case")
        if len(set(dims)) > 1 and isinstance(node.op, Elementwise):
            found["broadcast"][node.op.name].add("case")
        for key in ("axis", "axes"):
            if hasattr(node.op, key) and any("-" in str(v) for k, v in case.attributes.items() if "ax" in k):
                found["axes"][node.op.name].add("case")


def graphs_if_taken(case: OpCase) -> Graphs | None:
    """The graphs of a case, None if graphad refuses its arguments, as `tests/ops/test_variants.py` sees it.

    A function of the tables may use what is not public, and raise what it will.
    """
    try:
        case.values()
        graphs = Graphs(case)
        graphs.of_first  # traces the gradient
        return graphs
    except GraphadError:
        return None
    except (IndexError, ArithmeticError):
        if not case.function.__module__.startswith("tests."):
            raise
        return None


def _of_variants(case: OpCase, found: Found, refused: Found) -> None:
    own = graphs_of(case).of_value
    for kind in VARIANTS:
        for variant in variants(case, kind):
            graphs = graphs_if_taken(variant)
            if graphs is None:
                for name in own:
                    refused[kind][name].add(variant.name)
                continue
            for name in graphs.of_value | graphs.of_first:
                found[kind][name].add("variant")


class Expression(NamedTuple):
    """An expression that TensorFlow has computed: its record in the data, its ops, and these with the ops of the graphs in it."""

    record: dict[str, Any]
    outer: set[str]
    all: set[str]


@functools.cache
def expressions() -> tuple[Expression, ...]:
    """The expressions of all volumes that can be traced."""
    made = []
    for volume in VOLUMES:
        index = json.loads((DATA / f"{volume}.json").read_text(encoding="utf-8"))
        arrays, seen = Reader(arrays_of(volume)), set()
        for record in index["cases"]:
            if record["name"] in seen:
                continue
            seen.add(record["name"])
            inputs = {name: tf.constant(arrays.get(x)) for name, x in record["inputs"].items()}
            call = compile(record["call"], record["call"], "eval")

            def body(*values: Any, call: Any = call, inputs: Any = inputs) -> Any:
                return eval(call, {"tf": tf, "np": np, **dict(zip(inputs, values, strict=True))})

            try:
                graph = tf.function(body, autograph=False).get_concrete_function(*inputs.values()).graph
            except tf.errors.InvalidArgumentError:
                continue  # one that runs only at once
            made.append(Expression(record, {node.op.name for node in graph.nodes}, names(graph)))
    return tuple(made)


def _of_tensorflow(found: Found) -> None:
    """Values and derivatives that TensorFlow has computed."""
    for expression in expressions():
        for name in expression.all:
            found["value"][name].add("TensorFlow")
            for part in ("first", "second"):
                if any(reference is not None for reference in expression.record.get(part, ())):
                    found[part][name].add("TensorFlow")


def derived(case: OpCase) -> OpCase:
    """The gradient of a case as a case of its own, for ops that occur only in derivatives."""
    bars = case.cotangents()
    given = [bar for bar in bars if bar is not None]
    count = len(case.arrays)

    def gradient_of(*tensors: Any) -> Any:
        rest = list(tensors[count:])
        own = [None if bar is None else rest.pop(0) for bar in bars]
        return [g for g in case.gradients(tensors[:count], own) if g is not None]

    gradient_of.__name__ = f"gradient_of_{case.function.__name__}"
    return OpCase(
        gradient_of,
        *case.arrays,
        *given,
        order=case.order,
        unknown=case.unknown,
        batched=case.batched,
        compiled=case.compiled,
        float32=case.float32,
        tolerance=10 * case.tolerance,
        label=case.name,
    )


@functools.cache
def derived_cases() -> tuple[OpCase, ...]:
    """For each op that occurs only in derivatives, the smallest of these."""
    direct: set[str] = set()
    smallest: dict[str, tuple[int, OpCase]] = {}
    for _, _, case in all_cases():
        graphs = graphs_of(case)
        direct |= graphs.of_value
        size = sum(np.size(x) for x in case.arrays)
        for name in graphs.of_first:
            if case.order > 1 and (name not in smallest or size < smallest[name][0]):
                smallest[name] = size, case
    chosen = {case.name: case for name, (_, case) in sorted(smallest.items()) if name not in direct}
    return tuple(derived(case) for case in chosen.values())


def within_call(case: OpCase, kind: str, specs: Sequence[TensorSpec]) -> OpCase:
    """The call of a traced function whose sizes or rank are unknown, as a case of its own."""

    def body(*tensors: Any) -> list[Any]:
        return case.call(*tensors)

    body.__name__ = f"{case.function.__name__}_of_unknown_{kind}"
    traced = tf.function(body, input_signature=list(specs), autograph=False)
    return OpCase(
        functools.wraps(body)(lambda *tensors: traced(*tensors)),
        *case.arrays,
        expected=case.expected,
        order=case.order,
        unknown=(),
        batched=case.batched,
        compiled=case.compiled,
        float32=False,
        tolerance=case.tolerance,
        label=case.name,
    )


@functools.cache
def cases_within_calls() -> tuple[OpCase, ...]:
    """For each op that occurs only where sizes or ranks are unknown, the smallest case with all its derivatives."""
    direct: set[str] = set()
    smallest: dict[str, tuple[tuple[int, ...], OpCase, str, list[TensorSpec]]] = {}
    for _, _, case in all_cases():
        direct |= graphs_of(case).of_value
        sizes = [int(np.size(x)) for x in case.arrays]
        rank = -case.order, 0 in sizes, sum(sizes)
        for kind, specs in unknown(case):
            for name in graphs_of(case, kind).of_value:
                if name not in smallest or rank < smallest[name][0]:
                    smallest[name] = rank, case, kind, specs
    chosen = [found[1:] for name, found in sorted(smallest.items()) if name not in direct]
    return tuple({(case.name, kind): within_call(case, kind, specs) for case, kind, specs in chosen}.values())


ARITY: dict[str, int] = defaultdict(int)  # the largest number of operands that an op was seen with


@functools.cache
def proofs() -> tuple[Found, Found]:
    """The proof of each kind for each op; and the variants of its cases that are refused."""
    found: Found = {what: defaultdict(set) for what in PROOFS}
    refused: Found = {what: defaultdict(set) for what in PROOFS}
    for case in [*(case for _, _, case in all_cases()), *derived_cases(), *cases_within_calls()]:
        _of_case(case, found)
        _of_variants(case, found, refused)
    _of_tensorflow(found)
    return found, refused


_STATE = "it reads or writes what is outside of the graph: tests/eager, tests/function, tests/gradient/test_effects.py"
_RANDOM = "samples are no smooth function of anything: tests/ops/random compares their bits, moments and derivatives"
_HELD = "it stands for Python code in a file: tests/serialization and tests/gradient/test_custom_gradient.py"
_CHOSEN = "only graphs of unknown sizes hold it, until they are known: tests/gradient/test_jacobians_of_unknown_sizes.py"
_FOLDED = "only graphs of unknown sizes or ranks hold it; what runs and what is differentiated holds what it becomes"
_INTEGERS = "its operands are integers or truth values, or it has none"
_ROWS = "each row would have a size of its own"
_SOLVED = "complex numbers, which have no such parts"
_RANKED = "the rank of its operands is part of its meaning"
_COUNTED = "how many results there are is known when it runs"
_GIVEN = "it is the derivative of an op whose operands have axes"
_MOVES = "only graphs of unknown sizes or ranks hold it, and it treats elements of every dtype alike"
_SIZED = "its function needs the number of coefficients while tracing"
_ALONG = "each result needs its neighbours along an axis"
_OTHERS = "there its formula is made of other ops"
_DTYPES = "float32 float16 bfloat16 complex special"

# Where a proof is missing on purpose: by op, what and why. `tests/ops/test_proofs.py` fails for others, and for what is proved.
EXCUSED: dict[str, dict[str, str]] = {}


def _excuse(reason: str, what: str, *ops: str) -> None:
    for op in ops:
        for kind in PROOFS if what == "all" else what.split():
            EXCUSED.setdefault(op, {}).setdefault(kind, reason)


_excuse(_STATE, "all", "assign", "assign_slices", "read", "print", "timestamp", "random_set_state")
_excuse(_STATE, "all", "random_key")
_excuse(_RANDOM, "first second forward", "draw_gamma")
_excuse(_HELD, "all", "closed_custom", "unsaved_custom")
_excuse(_HELD, "file", "custom_gradient")
_excuse(_CHOSEN, "all", "either")
_excuse(_FOLDED, "all", "sizes")
_excuse(_MOVES, "float32 float16 bfloat16", "count_of", "ones_like", "rank", "swap_axes", "einsum")
_excuse(_MOVES, "complex", "count_of", "ones_like", "rank", "einsum")
_excuse(_MOVES, "special", "count_of", "ones_like")
_excuse(
    "its functions bind a product and a sum for floats of two bytes", "float16 bfloat16", "sum_of_products"
)
_excuse(_FOLDED, "sizes", "rank", "swap_axes")
_excuse(_FOLDED, "batch compiled empty numbers one axes", "count_of")
_excuse(_INTEGERS, _DTYPES, "split_key")
_excuse(_RANDOM, "value", "random_index_shuffle")
_excuse("it takes one index, or a vector of them", "sizes empty numbers one", "random_index_shuffle")
_excuse("only graphs of known sizes hold it", "sizes rank", "slice_grad")
_excuse("both of its operands have the shape of one result", "broadcast", "elu_grad", "relu_grad")
_excuse(_FOLDED, "batch", "zeros_like", "block_bounds", "pad_inner")
_excuse(_INTEGERS, _DTYPES, "reduce_any", "truncatediv", "where_indices", "random_index_shuffle")
_excuse(_ROWS, "batch", "boolean_mask", "boolean_mask_grad", "where_indices", "sorted_ids")
_excuse(_COUNTED, "sizes rank", "non_max_suppression", "suppress_overlaps", "sorted_ids")
_excuse(_FOLDED, "empty", "zeros_like")
_excuse(_SIZED, "sizes rank", "polynomial_division")
_excuse(_ALONG, "numbers", "linear_recurrence", "shift_by_one")
_excuse(_RANKED, "rank", "products_at", "sparse_product")
_excuse(
    _RANKED,
    "rank",
    "tridiagonal_eigenvalues",
    "banded_solve",
    "ctc_beams",
    "isotonic_segments",
    "suppress_by_class",
)
_excuse(_SOLVED, "float16 bfloat16", "fft", "irfft", "logm", "matrix_direction", "real", "imag")
_excuse(_GIVEN, "numbers", "avg_pool_grad", "convolution_filter_grad", "gather_grad", "max_pool_grad")
_excuse(_GIVEN, "numbers", "sparse_cross_entropy_grad", "take_along_axis_grad")
_excuse(
    _OTHERS, "bfloat16", "one_minus_square", "one_plus_square", "reciprocal_grad", "sigmoid_grad", "tanh_grad"
)
_excuse(_OTHERS, "float16", "one_plus_square")
_excuse(_OTHERS, "complex", "squared_difference", "tridiagonal_eigenvalues")


def applies(what: str, op: Any, arity: int = 2) -> bool:
    """Whether this kind of proof applies to an op with at most so many operands."""
    if what in ("first", "second", "forward"):
        return not op.gradless
    if what == "batch":
        return getattr(op.batch, "reason", None) is None
    if what == "broadcast":
        return issubclass(op, Elementwise) and arity > 1
    if what == "axes":
        return "axis" in op.attributes or "axes" in op.attributes
    return True


def holes(ops: dict[str, Any]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each op: the proofs that are missing without an excuse, and the excuses for proofs that exist."""
    found, refused = proofs()
    missing: dict[str, list[str]] = defaultdict(list)
    needless: dict[str, list[str]] = defaultdict(list)
    for name, op in ops.items():
        for what in PROOFS:
            excused = what in EXCUSED.get(name, {})
            proved = name in found[what]
            if excused and proved and len(EXCUSED[name]) < len(PROOFS):
                needless[name].append(what)
            if not (proved or excused or name in refused[what]) and applies(what, op, ARITY[name]):
                missing[name].append(what)
    return dict(missing), dict(needless)


__all__ = [
    "ARITY",
    "EXCUSED",
    "PROOFS",
    "applies",
    "cases_within_calls",
    "derived",
    "derived_cases",
    "expressions",
    "holes",
    "proofs",
]
