"""The fuzzer as a test: stored results of TensorFlow for fixed seeds, fresh programs in all modes, and whether it finds faults.

GRAPHAD_FUZZ_SEED gives the first seed of the fresh programs; a failure prints the program and how to run it again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.autograph import operators
from graphad.ops.math.trigonometric import Sin
from tests.fuzz.campaign import campaign, case_of, check
from tests.fuzz.compare import Difference, Failure, compare, nudged, spread_of
from tests.fuzz.counters import PASSES
from tests.fuzz.grow import NEWER, WIDE, grow_program, table
from tests.fuzz.modes import MODES, odd_layout
from tests.fuzz.program import Block, Input, Program, Statement, Value
from tests.fuzz.reference import Stored, digest
from tests.fuzz.shrink import smaller

FRESH = 300
STORED = Stored()
FIRST = int(os.environ.get("GRAPHAD_FUZZ_SEED") or 20_000_000)


@pytest.fixture(autouse=True)
def nothing_in_the_background() -> Iterator[None]:
    """Compile only functions with `jit_compile`."""
    before = tf.config.jit()
    tf.config.set_jit("never")
    with np.errstate(all="ignore"):
        yield
    tf.config.set_jit(before)


def told(program: Program, differences: list[Difference]) -> str:
    lines = [f"{d.mode} {d.key}: {d.text}" for d in differences]
    inputs = [f"# {x.value.name}: {x.value.dtype}{list(x.value.dims)} {x.profile}" for x in program.inputs]
    again = f"python -m tests.fuzz --program {program.seed}"
    return "\n".join(["", *lines, *inputs, program.source(), again])


def test_stored_results_belong_to_the_programs() -> None:
    changed = [seed for seed in STORED.seeds if digest(grow_program(seed)) != STORED.digest(seed)]
    assert not changed, f"{len(changed)} programs have changed; run tests/fuzz/generate.py again"


@pytest.mark.parametrize("part", range(8))
def test_programs_give_what_tensorflow_gave(part: int) -> None:
    for seed in STORED.seeds[part::8]:
        program = grow_program(seed)
        found = check(program, tf, ["tensorflow"], STORED)
        assert not found, told(program, found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_fresh_programs_agree_in_every_mode(part: int) -> None:
    tally = campaign(tf, range(FIRST + part * FRESH // 6, FIRST + (part + 1) * FRESH // 6))
    assert not tally.findings, told(
        tally.findings[0].program,
        [f.difference for f in tally.findings if f.program is tally.findings[0].program],
    )
    assert tally.refused == 0
    assert sum(tally.comparisons.values()) > 5 * tally.programs


@pytest.mark.parametrize("part", range(3))
def test_programs_with_flow_and_newer_ops_agree(part: int) -> None:
    """Above all, Python's control flow is compared with its converted form."""
    modes = ["outside", "inside", "unknown_rows", "vectorised", "forward", "converted"]
    tally = campaign(tf, range(WIDE + 5 * part, WIDE + 5 * part + 5), modes=modes)
    assert not tally.findings, told(tally.findings[0].program, [f.difference for f in tally.findings])
    assert tally.refused == 0 and tally.comparisons["converted"] > 10


def test_what_is_newer_grows_for_wide_seeds_alone() -> None:
    newer = {name for name, s in table().items() if s.family in NEWER}
    assert len(newer) > 15
    for seed in range(40):
        assert not newer & {s.signature for s in grow_program(seed).statements()}


def test_a_branch_that_is_converted_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference runs Python's own control flow, not the converted code."""
    seeds = [s for s in range(WIDE, WIDE + 40) if "flow" in grow_program(s).traits][:4]

    def differences() -> list[Difference]:
        return [d for s in seeds for d in check(grow_program(s), tf, ["converted"])]

    assert not differences()
    right = operators.if_
    monkeypatch.setattr(operators, "if_", lambda test, then, other, *rest: right(test, other, then, *rest))
    assert differences()


def test_every_signature_grows_in_programs_that_run() -> None:
    never = set(table())
    for seed in (*range(WIDE, WIDE + 600), *range(6000)):
        never -= {statement.signature for statement in grow_program(seed).statements()}
        if not never:
            break
    assert not never


def test_a_seed_is_a_program() -> None:
    for seed in range(40):
        assert grow_program(seed) == grow_program(seed)
    assert len({grow_program(seed).source() for seed in range(40)}) == 40


# does the fuzzer find faults?


def _found(mode: str, seeds: range = range(400)) -> tuple[Program, Difference]:
    """The first program of the seeds that differs in a mode, and how."""
    for seed in seeds:
        program = grow_program(seed)
        if "tf.sin(" in program.source() and MODES[mode].applies(program):
            found = check(program, tf, [mode])
            if found:
                return program, found[0]
    raise AssertionError("no program differs")


def test_a_wrong_derivative_is_found_by_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as wrong:
        wrong.setattr(Sin, "vjp", lambda self, ctx, bar: (bar * tf.cos(ctx.inputs[0]) * 1.001,))
        program, found = _found("differences")
    assert found.key == "slope" and not check(program, tf, ["differences"])


def test_a_wrong_batch_rule_is_found_by_vectorised_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Sin.batch
    with monkeypatch.context() as wrong:
        wrong.setattr(Sin, "batch", lambda self, ctx, x: right(self, ctx, x) + 0.001)
        program, _ = _found("vectorised")
    assert not check(program, tf, ["vectorised"])


def test_a_fault_of_one_tier_is_found_by_the_traced_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    import graphad.compiler.plan.host as host

    step = host._step

    def other(node: Any, op: Any, gone: Any) -> Any:
        made = step(node, op, gone)
        return (made[0], lambda x: np.sin(x) * np.float32(1.001), *made[2:]) if isinstance(op, Sin) else made

    with monkeypatch.context() as wrong:
        wrong.setattr(host, "_step", other)
        program, _ = _found("outside", range(100))
    assert not check(program, tf, ["outside"])


def test_a_differing_program_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sin, "vjp", lambda self, ctx, bar: (bar * 0.5,))
    for seed in range(400):
        program = grow_program(seed)
        if "tf.sin(" not in program.source() or len(list(program.statements())) < 6:
            continue
        found = check(program, tf, ["differences"])
        if found:
            small, difference = smaller(program, found[0], tf)
            assert len(list(small.statements())) <= 3 and "tf.sin(" in small.source()
            assert check(small, tf, ["differences"])[0].text == difference.text
            return
    pytest.fail("no program differs")


# the comparator


def _same(got: Any, want: Any, eps: float = 2.0**-23, moved: Any = None) -> bool:
    spread = None if moved is None else lambda: {"y0": moved + np.zeros(np.shape(want))}
    return not compare("mode", {"y0": got}, {"y0": want}, eps, spread)


def test_shape_dtype_and_special_values_are_compared_exactly() -> None:
    x = np.array([1.0, np.nan, np.inf], np.float32)
    assert _same(x, x.copy())
    assert not _same(x, x[None])
    assert not _same(x, x.astype(np.float64))
    assert not _same(x, np.array([1.0, 0.0, np.inf], np.float32))
    assert not _same(x, np.array([1.0, np.nan, -np.inf], np.float32))
    assert not _same(np.array([1, 2]), np.array([1, 3]))


def test_numbers_may_differ_by_what_rounding_moves_and_no_more() -> None:
    x = np.array([1.0, 100.0])
    assert _same(x * (1 + 1e-15), x, 2.0**-52)
    assert not _same(x * (1 + 1e-11), x, 2.0**-52)
    assert _same(x * (1 + 1e-11), x, 2.0**-52, moved=1e-9)
    assert not _same(x * (1 + 1e-11), x, 2.0**-52, moved=1e-13)


def test_an_error_is_the_same_only_as_an_error_of_the_same_class() -> None:
    failure = Failure.of(ValueError("no"))
    assert not compare("mode", failure, failure, 1e-7)
    assert compare("mode", failure, Failure.of(TypeError("no")), 1e-7)
    assert compare("mode", failure, {"y0": np.zeros(1)}, 1e-7)
    assert compare("mode", {"y0": np.zeros(1)}, failure, 1e-7)


def test_zeros_may_come_where_a_trace_sees_more_branches_and_nothing_else() -> None:
    for key in ("g0", "h0"):
        assert not compare("mode", {key: np.zeros(2)}, {key: None}, 1e-7, branches=True)
        assert compare("mode", {key: np.zeros(2)}, {key: None}, 1e-7)
        assert compare("mode", {key: None}, {key: np.zeros(2)}, 1e-7, branches=True)
        assert compare("mode", {key: np.ones(2)}, {key: None}, 1e-7, branches=True)
    assert compare("tensorflow", {"g0": None}, {"g0": np.zeros(2)}, 1e-7)
    assert not compare("tensorflow", {"h0": None}, {"h0": np.zeros(2)}, 1e-7)


def test_nudged_numbers_keep_ties_and_special_values() -> None:
    x = np.array([0.0, 0.7, 0.7, np.inf, np.nan, -3.0], np.float32)
    y = nudged(x, 2.0**-23, 1)
    assert y[0] == 0 and y[1] == y[2] and np.isinf(y[3]) and np.isnan(y[4]) and y.dtype == x.dtype
    assert 0 < np.abs(y - x)[5] < 1e-5
    moved = spread_of({"y0": x}, [{"y0": y}])
    assert moved["y0"].shape == x.shape and np.all((moved["y0"] > 0) & (moved["y0"] < 1e-5))


def test_an_entry_that_jumps_excuses_no_other() -> None:
    x = np.array([1.0, -np.pi, 2.0, 3.0])
    moved = spread_of({"y0": x}, [{"y0": np.array([1.0 + 1e-15, np.pi, 2.0, np.nan])}])["y0"]
    assert _same(np.array([1.0, np.pi, 2.0, np.inf]), x, 2.0**-52, moved)
    assert not _same(np.array([1.0, np.pi, 2.0001, 3.0]), x, 2.0**-52, moved)
    assert not _same(np.array([1.001, -np.pi, 2.0, 3.0]), x, 2.0**-52, moved)


def test_nan_of_an_infinite_slope_excuses_nan_in_jacobians_alone() -> None:
    x, nan = np.array([1.0, np.inf, 2.0]), np.array([np.nan, np.inf, 2.0])
    assert not compare("mode", {"J0": nan}, {"J0": x}, 1e-7)
    assert compare("mode", {"g0": nan}, {"g0": x}, 1e-7)
    assert compare("mode", {"J0": np.array([np.nan, np.inf, 2.5])}, {"J0": x}, 1e-7)
    assert compare("mode", {"J0": np.array([np.nan, 1.0, 2.0])}, {"J0": np.array([1.0, 1.0, 2.0])}, 1e-7)


def test_zeros_instead_of_nan_of_a_slope_that_is_nan_are_excused_in_jacobians_alone() -> None:
    want, got = np.array([[np.nan, 1.0], [np.nan, 2.0]]), np.array([[0.0, 1.0], [np.nan, 2.0]])
    assert not compare("mode", {"J0": got}, {"J0": want}, 1e-7)
    assert compare("mode", {"g0": got}, {"g0": want}, 1e-7)
    assert compare("mode", {"J0": got + [[0.5], [0.0]]}, {"J0": want}, 1e-7)
    assert compare("mode", {"J0": np.nan_to_num(got)}, {"J0": want}, 1e-7)


def test_a_pole_in_a_branch_that_is_not_taken_excuses_nan_where_it_is() -> None:
    """Zeros that a trace gives the branch times what overflowed there; TensorFlow's functions give the same NaN."""
    x, u = Value("x1", (3,), "float64"), Value("t2", (3,), "float64")
    overflowing = "tf.where(tf.abs($0) < 1.0, tf.exp(709.0 * tf.abs($0)), 0.0)"
    text = f"tf.cond(tf.reduce_sum($0) > 9.0, lambda: {overflowing}, lambda: tf.sin($0))"
    body = Block((), (Statement((u,), text, ("x1",), traits=frozenset({"sharp"})),), ("t2",))
    case = case_of(Program(0, (Input(x, "plain", 7),), body), tf)
    want, out = case.eager(), np.abs(case.arrays()[0]) > 1.0
    assert 0 < out.sum() < 3 and np.all(np.isfinite(want["g0"]))
    np.testing.assert_array_equal(np.isinf(case.spread()["g0"]), out)


def test_odd_layouts_hold_the_same_numbers() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3, 4, 2))
    seen = set()
    for _ in range(40):
        y = odd_layout(x, rng)
        np.testing.assert_array_equal(x, y)
        seen.add(y.strides)
    assert len(seen) >= 4 and x.strides not in seen


def test_modes_reach_every_kind_of_run() -> None:
    """Parts of the campaign that must not be lost: unknown sizes and rank, native code, loading, rows, forward mode."""
    assert set(MODES) >= set(
        "outside inside nested native_outside native_inside unknown_rows unknown_sizes unknown_rank native_unknown batches "
        "by_rows vectorised forward differences layouts saved recomputed".split()
    )
    reached: Counter[str] = Counter()
    for seed in range(300):
        case = case_of(grow_program(seed), tf)
        reached.update(
            m.name for m in MODES.values() if case.rng.uniform() < m.share and m.applies(case.program)
        )
    assert set(reached) == set(MODES)


def test_programs_come_to_the_passes_that_need_not_come_to_anything() -> None:
    """A campaign tests a pass only if some of its programs reach it."""
    notes = campaign(tf, range(FIRST + 900, FIRST + 1000), modes=["outside", "unknown_rows"]).notes
    assert min(notes[f"programs {name}"] for name in PASSES) >= 2, notes
