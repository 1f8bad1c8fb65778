"""Custom gradients in files: saved or not, nested, again and again differentiated, in every process."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphad as gd
from serialization.errors import SaveError
from serialization.saved_model import SaveOptions, load, save
from tests.serialization.saved_model.generations import (
    assert_same,
    gradients,
    in_fresh_process,
    quietly_loaded,
    reloaded,
)

VECTOR = gd.TensorSpec([None], gd.float32)
WITHOUT = SaveOptions(experimental_custom_gradients=False)


@gd.custom_gradient
def ten_times(x):
    """x, whose derivative is said to be 10 x."""
    return x * 1.0, lambda dy: dy * 10.0 * x


class Model(gd.Module):
    """A function of one tensor in a module."""

    def __init__(self, body, spec=VECTOR, **held):
        super().__init__()
        for name, value in held.items():
            setattr(self, name, value)
        self.f = gd.function(lambda x: body(x), input_signature=[spec])


X = np.array([0.5, -1.5, 2.0], np.float32)


def agree(model, x=X, order=3, generations=2, **how):
    """The value and derivatives of `model.f` are the same after loading."""
    before = [np.asarray(model.f(x)), *gradients(model.f, x, order=order)]
    for count in range(1, generations + 1):
        loaded = reloaded(model, count)
        assert_same([np.asarray(loaded.f(x)), *gradients(loaded.f, x, order=order)], before, **how)
    return loaded


# the four cases of the guide


def test_saved_rule_applies_in_the_same_process():
    loaded = reloaded(Model(ten_times))
    assert_same(gradients(loaded.f, X)[0], 10 * X)


FRESH = """
import sys, warnings
import graphad as gd
warnings.simplefilter("error")
m = gd.saved_model.load(sys.argv[1])
x = gd.constant([0.5, -1.5, 2.0])
with gd.GradientTape() as outer:
    outer.watch(x)
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = m.f(x)
    g = tape.gradient(y, x)
print(y.numpy().tolist(), g.numpy().tolist(), outer.gradient(g, x).numpy().tolist())
"""


def test_saved_rule_applies_in_a_fresh_process(tmp_path):
    save(Model(ten_times), tmp_path / "m")
    out = in_fresh_process(FRESH, str(tmp_path / "m"))
    assert out.strip() == "[0.5, -1.5, 2.0] [5.0, -15.0, 20.0] [10.0, 10.0, 10.0]"


def test_unsaved_rule_is_found_by_the_process_that_knows_it(tmp_path):
    save(Model(ten_times), tmp_path / "m", options=WITHOUT)
    loaded = load(tmp_path / "m")
    assert_same(gradients(loaded.f, X, order=2), [10 * X, np.full(3, 10.0)])


UNSAVED = """
import sys, warnings
import graphad as gd
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    m = gd.saved_model.load(sys.argv[1])
print(any("ops with unsaved custom gradients" in str(w.message) for w in seen))
x = gd.constant([0.5, -1.5, 2.0])
print(m.f(x).numpy().tolist())
with gd.GradientTape() as tape:
    tape.watch(x)
    try:
        m.f(x)
    except LookupError as error:
        text = str(error)
        print(text.startswith("No gradient defined for operation"), "IdentityN" in text, "RegisterGradient" in text)
"""


@pytest.mark.parametrize("traceable", [True, False])
def test_unsaved_rule_fails_in_a_fresh_process_when_a_tape_records(tmp_path, traceable):
    body = ten_times if traceable else untraceable
    save(Model(body), tmp_path / "m", options=WITHOUT)
    out = in_fresh_process(UNSAVED, str(tmp_path / "m"))
    assert out.split("\n")[:3] == ["True", "[0.5, -1.5, 2.0]", "True True True"]


def test_an_unsaved_rule_stays_unsaved_through_another_generation(tmp_path):
    save(Model(untraceable), tmp_path / "a", options=WITHOUT)
    with pytest.warns(UserWarning, match="unsaved custom gradients"):
        once = load(tmp_path / "a")
    save(once, tmp_path / "b")
    with pytest.warns(UserWarning, match="unsaved custom gradients"):
        twice = load(tmp_path / "b")
    assert_same(twice.f(X), X)
    with gd.GradientTape() as tape, pytest.raises(LookupError, match="No gradient defined"):
        x = gd.constant(X)
        tape.watch(x)
        twice.f(x)


@gd.custom_gradient
def untraceable(x):
    def grad(dy):
        return gd.constant(dy.numpy() * 3.0)

    return x * 1.0, grad


def test_a_gradient_that_cannot_be_traced_makes_saving_fail(tmp_path):
    with pytest.raises(ValueError, match=r"Error when tracing gradients for SavedModel") as caught:
        save(Model(untraceable), tmp_path / "m")
    assert isinstance(caught.value, SaveError)
    assert "untraceable" in str(caught.value) and "experimental_custom_gradients" in str(caught.value)
    assert not (tmp_path / "m").exists()
    save(Model(untraceable), tmp_path / "m", options=WITHOUT)
    assert_same(quietly_loaded(tmp_path / "m").f(X), X)


# what rules may be


def test_first_to_third_derivatives_follow_the_rule():
    @gd.custom_gradient
    def f(x):
        return x**4, lambda dy: dy * x**3

    loaded = agree(Model(f))
    assert_same(gradients(loaded.f, X, order=3), [X**3, 3 * X**2, 6 * X])


def test_a_rule_that_has_a_rule():
    @gd.custom_gradient
    def inner(x):
        return x * 2.0, lambda dy: dy * gd.sin(x)

    @gd.custom_gradient
    def outer(x):
        return x * 3.0, lambda dy: dy * inner(x)

    loaded = agree(Model(outer))
    assert_same(gradients(loaded.f, X, order=3), [2 * X, np.sin(X), np.cos(X)])


def test_a_rule_that_uses_itself():
    @gd.custom_gradient
    def f(x):
        return gd.exp(x) * 2.0, lambda dy: dy * f(x) * 0.5

    loaded = agree(Model(f))
    want = 2 * np.exp(X)
    assert_same(gradients(loaded.f, X, order=3), [want / 2, want / 4, want / 8])


def test_two_rules_that_use_each_other():
    @gd.custom_gradient
    def sine(x):
        return gd.sin(x), lambda dy: dy * cosine(x)

    @gd.custom_gradient
    def cosine(x):
        return gd.cos(x), lambda dy: dy * -sine(x)

    loaded = agree(Model(sine))
    assert_same(gradients(loaded.f, X, order=3), [np.cos(X), -np.sin(X), -np.cos(X)], rtol=1e-5)


@gd.custom_gradient
def sine_of_sines(x):
    """sin(x), whose derivative is said to be 2 sin(x) + 1, and that of this sine so again."""
    return gd.sin(x), lambda dy: dy * (2.0 * sine_of_sines(x) + 1.0)


def test_a_rule_that_uses_itself_is_taken_row_by_row():
    def second(f, x):
        with gd.GradientTape() as outer:
            outer.watch(x)
            with gd.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x)

    stack = gd.constant(np.stack([X, 2 * X]))
    for f in (sine_of_sines, Model(sine_of_sines).f, reloaded(Model(sine_of_sines)).f):
        rows = gd.vectorized_map(lambda x, f=f: second(f, x), stack)
        np.testing.assert_allclose(rows, 2 * (2 * np.sin(stack) + 1), rtol=1e-5)
        sized = gd.function(
            lambda xs, f=f: gd.vectorized_map(lambda x: second(f, x), xs),
            input_signature=[gd.TensorSpec([None, None])],
        )
        np.testing.assert_allclose(sized(stack), rows, rtol=1e-6)


def test_gradients_of_none_stay_none():
    @gd.custom_gradient
    def f(x, y):
        return x * y, lambda dy: (None, dy * 5.0)

    model = gd.Module()
    model.f = gd.function(f, input_signature=[gd.TensorSpec([None])] * 2)
    for loaded in (reloaded(model), reloaded(model, 2)):
        x, y = gd.constant(X), gd.constant(X + 1)
        with gd.GradientTape() as tape:
            tape.watch([x, y])
            z = loaded.f(x, y)
        assert_same(tape.gradient(z, [x, y]), [None, np.full(3, 5.0)])


def test_rules_that_differ_only_in_which_gradient_is_none():
    def made(first):
        @gd.custom_gradient
        def f(x, y):
            return x * y, lambda dy: (dy * 5.0, None) if first else (None, dy * 5.0)

        return f

    a, b = made(True), made(False)
    model = gd.Module()
    model.f = gd.function(lambda x, y: (a(x, y), b(x, y)), input_signature=[gd.TensorSpec([None])] * 2)
    for options in (None, WITHOUT):
        loaded = reloaded(model, options=options)
        x, y = gd.constant(X), gd.constant(X + 1)
        with gd.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            p, q = loaded.f(x, y)
        assert_same(tape.gradient(p, [x, y]), [np.full(3, 5.0), None])
        assert_same(tape.gradient(q, [x, y]), [None, np.full(3, 5.0)])


def test_rules_with_captured_tensors_and_variables():
    scale = gd.constant(np.arange(100, dtype=np.float32))
    weight = gd.Variable([2.0, 3.0, 4.0])

    @gd.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            assert variables is not None
            return dy * scale[7] * weight, [dy * x * 100.0]

        return x * weight, grad

    model = Model(f, weight=weight)
    for loaded in (model, reloaded(model), reloaded(model, 2)):
        x = gd.constant(X)
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = loaded.f(x)
        assert_same(tape.gradient(y, [x, loaded.weight]), [7 * np.array([2.0, 3.0, 4.0]), 100 * X])
    loaded.weight.assign([1.0, 1.0, 1.0])
    assert_same(gradients(loaded.f, X)[0], np.full(3, 7.0))
    assert_same(gradients(model.f, X)[0], 7 * np.array([2.0, 3.0, 4.0]))


def test_several_inputs_and_outputs():
    @gd.custom_gradient
    def f(a, b):
        return (a + b, a * b), lambda da, db: (da * 2.0 + db, db * 3.0)

    model = gd.Module()
    model.f = gd.function(f, input_signature=[gd.TensorSpec([None])] * 2)
    for loaded in (model, reloaded(model), reloaded(model, 2)):
        a, b = gd.constant(X), gd.constant(X * 2)
        with gd.GradientTape() as tape:
            tape.watch([a, b])
            s, p = loaded.f(a, b)
            y = s + 10.0 * p
        assert_same(tape.gradient(y, [a, b]), [np.full(3, 12.0), np.full(3, 30.0)])


# where rules may stand


def test_in_branches_of_cond():
    agree(
        Model(lambda x: gd.cond(gd.reduce_sum(x) > 0.0, lambda: ten_times(x), lambda: gd.sin(ten_times(x)))),
        rtol=1e-5,
    )
    agree(
        Model(lambda x: gd.cond(gd.reduce_sum(x) > 0.0, lambda: ten_times(x), lambda: gd.sin(ten_times(x)))),
        -X,
        rtol=1e-5,
    )


def test_in_the_body_of_a_loop():
    def body(x):
        return gd.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, ten_times(y) * 0.25), [0, x])[1]

    agree(Model(body), order=2, rtol=1e-5)


def test_in_functions_called_by_functions():
    inner = gd.function(lambda x: ten_times(x) + 1.0)
    middle = gd.function(lambda x: inner(x) * gd.sin(inner(x)))
    agree(Model(lambda x: middle(middle(x))), order=2, rtol=1e-4)


def test_under_a_tape_inside_the_function():
    def body(x):
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = ten_times(x) ** 2
        return tape.gradient(y, x)

    agree(Model(body), rtol=1e-5)


def test_functions_called_by_a_rule():
    helper = gd.function(lambda x: gd.sin(x) * 2.0)

    @gd.custom_gradient
    def f(x):
        return x * 1.0, lambda dy: dy * helper(x)

    agree(Model(f), rtol=1e-5)


def test_stop_gradient_and_recompute_and_pass_through():
    agree(Model(lambda x: gd.stop_gradient(x) * x), order=2)
    agree(Model(lambda x: gd.recompute_grad(lambda y: gd.sin(y) * y)(x)), order=2, rtol=1e-5)
    agree(Model(lambda x: gd.grad_pass_through(gd.floor)(x) * x), order=2)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_unknown_rank_with_a_rule(rank):
    model = Model(ten_times, gd.TensorSpec(None, gd.float32))
    x = np.arange(1, 1 + 2**rank, dtype=np.float32).reshape((2,) * rank)
    agree(model, x)


def test_batched_rules_after_load():
    loaded = reloaded(Model(ten_times, gd.TensorSpec([3])))
    x = gd.constant(X)
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = loaded.f(x)
    assert_same(tape.jacobian(y, x), np.diag(10 * X))


def test_a_bad_gradient_count_fails_when_saving(tmp_path):
    @gd.custom_gradient
    def f(x):
        return x * 1.0, lambda dy: (dy, dy)

    with pytest.raises(SaveError, match="expected to return 1 gradients"):
        save(Model(f), tmp_path / "m")


def test_rules_that_use_the_next_one_twice_do_not_double_with_each_level():
    def nested(level):
        if not level:
            return gd.sin
        inner = nested(level - 1)

        @gd.custom_gradient
        def f(x):
            return gd.sin(x) * 1.0, lambda g: g * inner(inner(x))

        return f

    f = nested(40)
    root = gd.Module()
    root.f = gd.function(lambda x: f(x) * x, input_signature=[gd.TensorSpec([None])])
    x = gd.constant([1.0, 2.0])
    want = np.sin(x.numpy()) + x.numpy() * np.sin(np.sin(x.numpy()))
    for found in (root.f, reloaded(root).f):
        with gd.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = found(x)
        np.testing.assert_allclose(tape.gradient(y, x), want, rtol=1e-6)
        np.testing.assert_allclose(np.diag(tape.jacobian(y, x).numpy()), want, rtol=1e-6)
        rows = gd.vectorized_map(found, gd.stack([x, x]))
        np.testing.assert_allclose(rows[1], y, rtol=1e-6)


def test_rules_belong_to_the_process_and_serve_what_is_loaded_later_in_any_thread(tmp_path):
    save(Model(ten_times), tmp_path / "m", options=WITHOUT)
    found = []

    def use():
        loaded = load(tmp_path / "m")
        found.append(gradients(loaded.f, X, order=2))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert_same(found[0], [10 * X, np.full(3, 10.0)])
    again = reloaded(load(tmp_path / "m"))
    assert_same(gradients(again.f, X)[0], 10 * X)
