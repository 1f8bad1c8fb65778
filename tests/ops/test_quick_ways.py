"""The fast paths of eager ops give the results of the slow path.

The other tests run with GRAPHAD_VERIFY, which checks every eval against infer and takes the slow path. Here the same cases run
without it, plainly and under a tape, in float64 and float32.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core import bind as door
from graphad.core.bind import bind
from graphad.core.registry import all_ops
from graphad.ops.math import reduce
from graphad.ops.state.variables import ASSIGN
from tests.support.case_tables import cases_by_name
from tests.support.op_case import OpCase

ROOT = Path(__file__).parents[2]


def _as(arrays: list[Any], dtype: Any) -> list[Any]:
    return [np.asarray(x).astype(dtype) if np.asarray(x).dtype == np.float64 else x for x in arrays]


def _results(case: OpCase, arrays: list[Any], verify: bool, monkeypatch: Any) -> list[Any]:
    monkeypatch.setattr(door, "VERIFY", verify)
    values = [np.asarray(y.data) for y in case.call(*case.tensors(arrays))]
    bars = [
        None if bar is None else np.asarray(bar).astype(y.dtype)
        for bar, y in zip(case.cotangents(), values, strict=True)
    ]
    gradients = case.gradient_values(arrays, bars) if case.order else []
    return [*values, *(None if g is None else np.asarray(g) for g in gradients)]


@pytest.mark.parametrize("name", list(cases_by_name()))
def test_short_and_long_ways_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases_by_name()[name]
    for dtype in (np.float64, np.float32) if case.float32 else (np.float64,):
        arrays = _as([np.asarray(x.data) for x in case.tensors()], dtype)
        long = _results(case, arrays, True, monkeypatch)
        short = _results(case, arrays, False, monkeypatch)
        for a, b in zip(long, short, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype == b.dtype
                assert a.shape == b.shape
                np.testing.assert_allclose(
                    b,
                    a,
                    rtol=1e-12 if a.dtype.itemsize >= 8 else 2e-6,
                    atol=1e-12 if dtype is np.float64 else 1e-6,
                )


def _outcome(call: Callable[[], Any], verify: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(door, "VERIFY", verify)
    try:
        found = np.asarray(call())
        return found.dtype, found.shape, found.tobytes()
    except gd.errors.GraphadError as error:
        return type(error), str(error)


X, WIDE, NONE = np.ones((2, 3), np.float32), np.ones((2, 3)), np.ones((2, 0), np.float32)
ENDS: dict[str, Callable[[], Any]] = {
    "concat of two dtypes": lambda: gd.concat([gd.constant(X), gd.constant(WIDE)], 0),
    "concat of other sizes": lambda: gd.concat([gd.constant(X), gd.constant(X[:1, :2])], 0),
    "concat along no axis": lambda: gd.concat([gd.constant(X)] * 2, 2),
    "stack of two dtypes": lambda: gd.stack([gd.constant(X), gd.constant(WIDE)]),
    "stack along no axis": lambda: gd.stack([gd.constant(X)] * 2, 3),
    "squeeze of a longer axis": lambda: gd.squeeze(gd.constant(X), 0),
    "squeeze of a number": lambda: gd.squeeze(gd.constant(1.0)),
    "squeeze of one number": lambda: gd.squeeze(gd.constant([[1.5]])),
    "diagonal of a vector": lambda: gd.linalg.diag_part(gd.constant(X[0])),
    "product of sizes that differ": lambda: gd.matmul(gd.constant(X), gd.constant(X)),
    "product of two dtypes": lambda: gd.matmul(gd.constant(X), gd.constant(WIDE.T)),
    "place along an axis of no elements": lambda: gd.argmin(gd.constant(NONE), 1),
    "place along no axis": lambda: gd.argmax(gd.constant(X), 2),
    "norm of a vector": lambda: gd.norm(gd.constant([3.0, 4.0])),
    "norm of rows": lambda: gd.norm(gd.constant(X * 2.0), axis=1),
    "norm of a number": lambda: gd.nn.l2_loss(gd.constant(3.0)),
    "reading": lambda: gd.Variable(X) * 1.0,
    "assigning another shape": lambda: bind(ASSIGN, gd.Variable(X, name="v"), gd.constant(X[0])),
    "assigning another dtype": lambda: bind(ASSIGN, gd.Variable(X, name="v"), gd.constant(WIDE)),
    "assigning": lambda: bind(ASSIGN, gd.Variable(X), gd.constant(X * 3.0)),
}


@pytest.mark.parametrize("name", ENDS)
def test_where_a_short_way_ends_the_long_one_has_the_word(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = (_outcome(ENDS[name], verify, monkeypatch) for verify in (True, False))
    assert short == long


# The modules that ask whether anything follows what is computed, and what for. All others bind ops, or use what these offer:
# `quick` and `quick_vjp` of an op, `short_way`, `of_one` and `of_two`, `directly` and `is_free`. See docs/decisions/0048.
ASKS = {
    "graphad/core/bind.py": "`bind` with `quick`; to which level a constant belongs",
    "graphad/core/tensor.py": "the same, before it costs a call",
    "graphad/eager/variable.py": "the same; what an op reads when its operand is a variable",
    "graphad/function/polymorphic.py": "the call of a function with tensors alone",
    "graphad/gradient/backward.py": "once for all rules, with `quick_vjp`",
    "graphad/ops/directly.py": "NumPy's one pass for what is several ops",
    "graphad/ops/operators.py": "the operators of Python",
    "graphad/ops/short.py": "public functions",
    "serialization/convert/restored.py": "the call of a loaded function with tensors alone",
}
HOT = "a mechanism, or the hot call of a function or of a recorder"
CONSTANT = "a graph takes the tensor as a constant, or code of others its array"
AT_HAND = "a function of several ops has fewer for numbers at hand, or asks what they are"
# The modules that compare the class of a value with `EagerTensor`. Elsewhere `has_value`, `known_value` and `lift_pair` do.
COMPARES = {
    **dict.fromkeys(
        """core/bind core/composites eager/variable function/concrete function/polymorphic gradient/backward gradient/recorder
        gradient/tape ops/directly ops/operators ops/overwrite ops/short convert/restored""".split(),
        HOT,
    ),
    **dict.fromkeys(
        """function/watched gradient/closing gradient/held gradient/host gradient/independence control/stacks trace/specialiser
        vectorize/batch""".split(),
        CONSTANT,
    ),
    **dict.fromkeys(
        """array/advanced array/join array/sizes control/predicates control/while_loop image/resizing math/arithmetic
        math/complexes math/power math/reduce numpy/promotion ops/numpy_protocols sparse/places layers/masks""".split(),
        AT_HAND,
    ),
}
# The ops whose derivative rule has a short way, of which more than 3 % of a small gradient would be lost.
QUICK_RULES = {"matmul", "mul", "reduce_mean", "reduce_sum"}


def _reads_level(text: str) -> bool:
    """Whether a module asks for the level without going through the door: `busy`, or what it stands for."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "graphad.core.levels":
            if any(alias.name in ("busy", "_level") for alias in node.names):
                return True
        elif isinstance(node, ast.Attribute) and ast.unparse(node).endswith("levels.busy"):
            return True
    return False


def test_no_module_but_those_listed_asks_who_listens() -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in ("graphad", "serialization")
        for path in (ROOT / package).rglob("*.py")
        if _reads_level(path.read_text(encoding="utf-8"))
    }
    assert found == set(ASKS)


def _compares_the_class(text: str) -> bool:
    """Whether a module asks if the class of a value is `EagerTensor`."""
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        and any(getattr(side, "id", None) == "EagerTensor" for side in node.comparators)
        for node in ast.walk(ast.parse(text))
    )


def test_no_module_but_those_listed_asks_whether_a_tensor_is_eager() -> None:
    found = {
        "/".join(path.with_suffix("").parts[-2:])
        for package in ("graphad", "serialization")
        for path in (ROOT / package).rglob("*.py")
        if _compares_the_class(path.read_text(encoding="utf-8"))
    }
    assert found == set(COMPARES)


def test_the_search_finds_comparisons_of_the_class() -> None:
    assert _compares_the_class("if type(x) is not EagerTensor: pass")
    assert not _compares_the_class("y = EagerTensor(x)\nif y is x: pass")


@pytest.mark.parametrize(
    "text",
    [
        "from graphad.core.levels import busy",
        "from graphad.core import levels\nif levels.busy() is None: pass",
        "from graphad.core.levels import busy as asked",
        "from graphad.core.levels import _level",
    ],
)
def test_the_search_finds_a_short_way(text: str) -> None:
    assert _reads_level(text)


def test_derivative_rules_have_no_short_way_but_those_listed() -> None:
    assert {op.name for op in all_ops().values() if op.quick_vjp is not None} == QUICK_RULES


@pytest.mark.parametrize("transposed", [False, True])
def test_the_short_way_of_a_rule_gives_the_bits_of_the_rule(
    transposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = (gd.constant(np.random.default_rng(k).normal(size=(3, 3)).astype(np.float32)) for k in range(2))

    def gradients() -> list[Any]:
        with gd.GradientTape() as tape:
            tape.watch([x, w])
            y = gd.reduce_mean(gd.matmul(x * w, w, transpose_b=transposed) * x)
        return [g.numpy() for g in tape.gradient(y, [x, w])]

    short = gradients()
    for name in QUICK_RULES:
        monkeypatch.setattr(all_ops()[name], "quick_vjp", None)
    for a, b in zip(short, gradients(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", [gd.reduce_mean, gd.reduce_sum, gd.math.reduce_std])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (), None])
def test_the_short_rules_of_sums_over_axes_give_the_bits_of_the_rules(
    function: Any, axis: Any, keepdims: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    x = gd.constant(rng.normal(size=(3, 4, 7)).astype(dtype))

    def gradient() -> Any:
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = function(x, axis=axis, keepdims=keepdims)
            y = y * gd.constant(np.random.default_rng(4).normal(size=y.shape).astype(dtype))
        found = tape.gradient(y, x)
        assert found.shape == x.shape and found.dtype == x.dtype
        return found.numpy()

    short = gradient()
    for name in QUICK_RULES:
        monkeypatch.setattr(all_ops()[name], "quick_vjp", None)
    monkeypatch.setattr(all_ops()["sum_to"], "quick", None)
    np.testing.assert_array_equal(short, gradient())


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 3), (2, 1)])
def test_the_short_rules_of_sums_take_empty_and_short_axes(shape: tuple[int, ...]) -> None:
    x = gd.constant(np.ones(shape))
    for function, share in ((gd.reduce_sum, 1.0), (gd.reduce_mean, 1.0 / max(shape[0], 1))):
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = function(x, axis=0)
        np.testing.assert_array_equal(tape.gradient(y, x), np.full(shape, share))


@pytest.mark.parametrize("function", [gd.maximum, gd.pow, gd.equal, gd.math.floormod, gd.math.xlogy])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize("number", [2, 0.5, True, 1e300, 2**40])
def test_a_number_beside_a_tensor_is_what_its_tensor_is(function: Any, dtype: str, number: Any) -> None:
    """A short way for floats alone; what it does not take has the words and dtypes of the usual way."""
    x = gd.constant(np.arange(1, 5).astype(dtype))

    def told(call: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                y = call()
            return y.dtype, y.numpy().tobytes()
        except (TypeError, ValueError) as error:
            return type(error)

    def usual() -> Any:
        with gd.GradientTape():  # beside which nothing short is taken
            return function(x, number)

    assert told(lambda: function(x, number)) == told(usual)


def test_the_gradient_of_a_mean_binds_no_op(monkeypatch: pytest.MonkeyPatch) -> None:
    x = gd.constant(np.arange(6.0).reshape(2, 3))

    def refuse(*args: Any) -> Any:
        raise AssertionError("a small gradient should be one NumPy call")

    for axis in (None, (0, 1), [-1, 0]):
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.reduce_mean(x, axis=axis)
        with monkeypatch.context() as patched:
            patched.setattr(reduce, "bind", refuse)
            np.testing.assert_array_equal(tape.gradient(y, x), np.full((2, 3), 1 / 6))


def test_a_symbol_has_no_data() -> None:
    seen: list[Any] = []

    @gd.function
    def f(x: gd.Tensor) -> gd.Tensor:
        seen.append(x)
        return x

    f(gd.constant(1.0))
    assert not hasattr(seen[0], "data")
    with pytest.raises(gd.errors.OutOfScopeError, match="out of scope"):
        gd.tanh(seen[0])
