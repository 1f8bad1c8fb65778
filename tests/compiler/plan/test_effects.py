"""Effects happen in program order, once each, and nothing that fails comes before or after its place: the same on every tier.

A program is a chain of steps of many kinds with a group of effects before, between and after them: a print, a check that can be
made to fail, an assignment and a random number. What was printed, raised, assigned, drawn and returned must be the same eagerly,
by the reference, by the evaluation plan and natively.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.backend import backend_of
from graphad.compiler.cpu.runtime import entry
from graphad.compiler.plan.exclusive import InOrder
from graphad.compiler.plan.executable import Executable
from graphad.compiler.plan.native import failed
from graphad.core.errors import InternalError
from graphad.core.tensor import EagerTensor
from graphad.graph.evaluate import evaluate

Body = Callable[[Any], Any]

# Each maps a float32 [4, 4] to another one of moderate size.
STEPS: dict[str, Body] = {
    "map": lambda x: tf.maximum(x * 0.5, -x) + 1.0,
    "reduction": lambda x: x - tf.reduce_mean(x, axis=1, keepdims=True),
    "full reduction": lambda x: x / (1.0 + tf.reduce_max(tf.abs(x))),
    "product": lambda x: tf.matmul(x, x) * 0.1,
    "view": lambda x: tf.transpose(x),
    "parts": lambda x: tf.concat([x[:, 2:], x[:, :2]], axis=1),
    "native loop": lambda x: tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5 + x), [tf.constant(0), x]
    )[1],
    "sort": lambda x: tf.sort(x, axis=1),
    "gather": lambda x: tf.gather(x, tf.argsort(x[:, 0])),
    "scan": lambda x: tf.cumsum(x, axis=1) * 0.25,
    "convolution": lambda x: tf.nn.conv2d(x[None, :, :, None], tf.ones([3, 3, 1, 1]) / 9.0, 1, "SAME")[
        0, :, :, 0
    ],
    "factors": lambda x: tf.linalg.inv(tf.eye(4) * 9.0 + tf.tanh(x)),
    "unknown size": lambda x: x + tf.reduce_sum(tf.boolean_mask(x, x > 0.5)) * 0.01,
    "branch": lambda x: tf.cond(tf.reduce_sum(x) > 1.1, lambda: x * 0.5, lambda: x + 1.0),
    "loop with calls": lambda x: tf.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, tf.sort(y * 0.5 + x, axis=0)), [tf.constant(0), x]
    )[1],
    "host loop": lambda x: tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (i + 1, y * 0.5 + tf.reduce_sum(tf.boolean_mask(x, y > 0.5)) * 0.01),
        [tf.constant(0), x],
    )[1],
    "integers": lambda x: (
        tf.cast(tf.cast(x * 8.0, tf.int32) // (tf.cast(x, tf.int32) * 0 + 3), tf.float32) * 0.2
    ),
    "split": lambda x: tf.concat(tf.split(x, 2, axis=0)[::-1], axis=0),
    "effects inside": lambda x: _with_effects_inside(x),
}


def _with_effects_inside(x: Any) -> Any:
    def loud(y: Any) -> Any:
        tf.print("inside", y[0, 0], output_stream=sys.stdout)
        return y * 0.5

    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: loud(x), lambda: x)


class Program:
    """A chain of steps with numbered groups of effects around them, and everything that it touches."""

    def __init__(self, names: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        self.names, self.kinds = names, kinds
        self.variable = tf.Variable(0.0)
        self.generator = tf.random.Generator.from_seed(7)

    def effects(self, place: int, x: Any, failing: Any) -> Any:
        for kind in self.kinds:
            if kind == "print":
                tf.print("print", place, self.variable, output_stream=sys.stdout)
            elif kind == "check":
                tf.debugging.Assert(tf.not_equal(failing, place), ["check", place, self.variable])
            elif kind == "assign":
                self.variable.assign(self.variable * 2.0 + float(place + 1))
            else:
                x += self.generator.uniform([4, 4]) * 0.125
        return x

    def __call__(self, x: Any, failing: Any) -> Any:
        x = self.effects(0, x, failing)
        for place, name in enumerate(self.names, 1):
            x = STEPS[name](x)
            x = self.effects(place, x, failing)
        return x * 0.5, self.variable.value()

    def observe(self, run: Callable[[Any, Any], Any], failing: int, capsys: Any) -> list[Any]:
        """What a run prints, raises, returns and leaves behind."""
        self.variable.assign(0.0)
        self.generator.reset_from_seed(7)
        capsys.readouterr()
        x = np.linspace(-1.0, 2.0, 16, dtype=np.float32).reshape(4, 4)
        try:
            result: Any = [np.asarray(y) for y in run(tf.constant(x), tf.constant(failing))]
        except tf.errors.InvalidArgumentError as error:
            result = str(error).split("(at ")[0]
        state = self.generator.state.data.copy()
        return [capsys.readouterr().out, result, self.variable.numpy(), state]


def by_reference(concrete: Any) -> Callable[[Any, Any], Any]:
    captures = [x.data if type(x) is EagerTensor else x for x in concrete.captured_inputs]
    return lambda x, failing: evaluate(concrete.graph, [x.data, failing.data, *captures])


def by_plan(concrete: Any, jit_compile: bool) -> Callable[[Any, Any], Any]:
    executable = Executable(concrete.graph)
    captures = [x.data if type(x) is EagerTensor else x for x in concrete.captured_inputs]

    def run(x: Any, failing: Any) -> Any:
        values = [x.data, failing.data, *captures]
        try:
            return executable.run(values, jit_compile)
        finally:
            if jit_compile:
                sizes = executable.sizes_of(values)
                assert sizes.native is not None, sizes.size_class.compilation.reason

    return run


def check(names: tuple[str, ...], kinds: tuple[str, ...], dims: Any, capsys: Any) -> None:
    program = Program(names, kinds)
    function = tf.function(
        program, input_signature=[tf.TensorSpec(dims, tf.float32), tf.TensorSpec([], tf.int32)]
    )
    concrete = function.get_concrete_function()
    tiers = {
        "reference": by_reference(concrete),
        "plan": by_plan(concrete, False),
        "native": by_plan(concrete, True),
        "native again": by_plan(concrete, True),
    }
    for failing in (-1, *(range(len(names) + 1) if "check" in kinds else ())):
        wanted = program.observe(program, failing, capsys)
        assert (failing == -1) == isinstance(wanted[1], list)
        for tier, run in tiers.items():
            found = program.observe(run, failing, capsys)
            assert found[0] == wanted[0], (tier, failing)
            if isinstance(wanted[1], str):
                assert found[1] == wanted[1], (tier, failing)
            else:
                for a, b in zip(found[1], wanted[1], strict=True):
                    np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6, err_msg=f"{tier} {failing}")
            assert found[2] == wanted[2], (tier, failing)
            np.testing.assert_array_equal(found[3], wanted[3], err_msg=f"{tier} {failing}")


KINDS = [
    ("check",),
    ("print",),
    ("print", "check"),
    ("assign", "random"),
    ("random", "print", "check", "assign"),
]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("name", STEPS)
def test_effects_keep_their_place_around_every_kind_of_step(
    name: str, kinds: tuple[str, ...], capsys: Any
) -> None:
    check((name, name), kinds, [4, 4], capsys)


@pytest.mark.parametrize("name", STEPS)
def test_effects_keep_their_place_with_unknown_sizes(name: str, capsys: Any) -> None:
    check((name, "sort"), ("print", "check"), [None, None], capsys)


def _guarded(a: Any, b: Any, v: tf.Variable) -> Any:
    # The check, the division that it guards, and a loop over the same numbers that needs the quotient: one loop for both would
    # put the division before the check.
    tf.debugging.Assert(tf.reduce_all(b > 0), ["no divisor"])
    quotient = a // b
    v.assign_add(1.0)
    return quotient + b * 2, tf.reduce_sum(b)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_check_comes_before_what_it_guards(jit_compile: bool) -> None:
    v = tf.Variable(0.0)
    f = tf.function(lambda a, b: _guarded(a, b, v), jit_compile=jit_compile)
    a = tf.range(5)
    for divisor in (1, 0, 2, 0):
        if divisor:
            f(a, tf.fill([5], divisor))
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="no divisor"):
                f(a, tf.fill([5], divisor))
    assert v.numpy() == 2.0


@pytest.mark.parametrize("jit_compile", [False, True])
def test_what_fails_keeps_later_effects_from_happening(jit_compile: bool, capsys: Any) -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=jit_compile)
    def f(a: Any, b: Any) -> Any:
        tf.print("before", output_stream=sys.stdout)
        quotient = a // b
        tf.print("after", output_stream=sys.stdout)
        v.assign(tf.cast(tf.reduce_sum(a), tf.float32))
        return quotient + 1

    f(tf.range(3), tf.fill([3], 1))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.range(4), tf.fill([4], 0))
    assert v.numpy() == 3.0
    assert capsys.readouterr().out == "before\nafter\nbefore\n"


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_failing_step_is_explained_alike_on_every_tier(jit_compile: bool) -> None:
    @tf.function(jit_compile=jit_compile)
    def f(x: Any) -> Any:
        tf.debugging.Assert(tf.reduce_all(x < 9.0), [])
        return tf.matmul(x * 2.0, tf.boolean_mask(x, x[:, 0] > 0.0))

    assert f(tf.constant([[2.0, 1.0], [1.0, 0.5]])).shape == (2, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"matmul: .*\(1, 2\)"):
        f(tf.constant([[2.0, 1.0], [-1.0, 0.5]]))


def test_a_print_in_a_counted_loop_stays_beside_the_slice_it_walks_along(capsys: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            tf.print("at", i, output_stream=sys.stdout)
            return i + 1, total + x[i]

        return tf.while_loop(lambda i, _: i < 3, step, [tf.constant(0), tf.constant(0.0)])[1]

    for _ in range(5):
        assert f(tf.constant([1.0, 2.0, 4.0])).numpy() == 7.0
    assert capsys.readouterr().out == "at 0\nat 1\nat 2\n" * 5


def test_a_plan_that_may_have_acted_is_never_run_again_for_arguments_that_do_not_fit() -> None:
    v = tf.Variable(1.0)

    def loud(x: Any) -> Any:
        tf.print("x", output_stream=sys.stdout)
        v.assign(x[0])
        return tf.math.cumulative_logsumexp(x) * 2.0

    for function, acts in (
        (loud, True),
        (lambda x: tf.math.cumulative_logsumexp(x) * 2.0, False),
    ):
        concrete = tf.function(function).get_concrete_function(tf.TensorSpec([3]))
        executable = Executable(concrete.graph)
        values = [np.ones(3, "float32"), *concrete.captured_inputs]
        executable.run(values, True)
        text = executable.sizes_of(values).bound.text
        last = text[text.rindex("failed(status") :]
        assert last.startswith("failed(status)" if acts else "failed(status, misfits)")
    assert failed(entry.WRONG_TYPE, backend_of("cpu").misfits) is None
    with pytest.raises(InternalError, match="status"):
        failed(entry.WRONG_TYPE)


def test_guards_are_given_back_when_waiting_for_one_of_them_is_interrupted() -> None:
    class Counted:
        def __init__(self, is_interrupted: bool = False) -> None:
            self.held, self.is_interrupted = 0, is_interrupted

        def acquire(self) -> None:
            if self.is_interrupted:
                raise KeyboardInterrupt
            self.held += 1

        def release(self) -> None:
            self.held -= 1

        def _is_owned(self) -> bool:
            return self.held > 0

    guards = [Counted(), Counted(), Counted(is_interrupted=True), Counted()]
    with pytest.raises(KeyboardInterrupt):
        InOrder(guards).__enter__()
    assert [guard.held for guard in guards] == [0, 0, 0, 0]
