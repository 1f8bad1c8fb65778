"""What is raised in a function shows the lines of the user."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import graphad as tf


@pytest.fixture(autouse=True)
def filtered() -> Iterator[None]:
    yield
    tf.debugging.enable_traceback_filtering()


def lines_of(call: Callable[[], Any]) -> list[str]:
    """The names of the functions in the traceback, `graphad` for those of graphad's own."""
    with pytest.raises(ValueError, match="inner sizes differ") as caught:
        call()
    frames = traceback.extract_tb(caught.value.__traceback__)
    return ["graphad" if "/graphad/" in frame.filename else frame.name for frame in frames]


def inner(x: Any) -> Any:
    return tf.matmul(x, tf.ones([5, 2]))


def outer(x: Any) -> Any:
    return inner(x * 2.0)


def test_an_error_two_functions_deep_shows_these_two() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return outer(x)

    assert lines_of(lambda: f(tf.ones([3, 4])))[1:] == ["<lambda>", "graphad", "f", "outer", "inner"]


def test_functions_in_functions_show_their_own_lines() -> None:
    @tf.function
    def g(x: Any) -> Any:
        return outer(x)

    @tf.function
    def f(x: Any) -> Any:
        return g(x) + 1.0

    assert lines_of(lambda: f(tf.ones([3, 4])))[1:] == ["<lambda>", "graphad", "f", "g", "outer", "inner"]


def test_all_lines_are_shown_when_asked_for() -> None:
    f = tf.function(outer)
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    assert lines_of(lambda: f(tf.ones([3, 4]))).count("graphad") > 5
    tf.debugging.enable_traceback_filtering()
    assert lines_of(lambda: f(tf.ones([3, 4]))).count("graphad") == 1


def test_what_a_kernel_s_step_raises_at_run_time_is_shortened_too() -> None:
    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(x, i)

    x = tf.constant([1.0, 2.0])
    f(x, tf.constant([0]))
    with pytest.raises(ValueError, match=r"indices\[0\] = 7") as caught:
        f(x, tf.constant([7]))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert sum("/graphad/" in frame.filename for frame in frames) == 1
    assert any("test_tracebacks.py" in note for note in caught.value.__notes__)


def test_a_branch_or_loop_that_was_converted_shows_its_line_once() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        y = x
        if x[0, 0] > 0.0:
            for _ in tf.range(n):
                y = inner(x)
        return y

    assert lines_of(lambda: f(tf.ones([3, 4]), tf.constant(2)))[1:] == ["<lambda>", "graphad", "f", "inner"]


def adding(x: Any, y: Any) -> Any:
    return x + y


ROWS = [tf.TensorSpec([None]), tf.TensorSpec([None])]


def test_concrete_loaded_and_signature_functions_show_the_user_s_lines_only(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = tf.function(adding, input_signature=ROWS)
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    x, y = tf.ones([3]), tf.ones([2])
    calls: list[Callable[[], Any]] = [
        lambda: module.f(x, y),
        lambda: module.f.get_concrete_function()(x, y),
        lambda: loaded.f(x, y),
        lambda: loaded.f.get_concrete_function()(x, y),
        lambda: loaded.signatures["serving_default"](x=x, y=y),
        lambda: tf.function(outer).get_concrete_function(tf.TensorSpec([3, 4])),
        lambda: loaded.f(tf.ones([2, 2]), y),
    ]
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        frames = traceback.extract_tb(caught.value.__traceback__)
        own = [
            frame for frame in frames if "/graphad/" in frame.filename or "/serialization/" in frame.filename
        ]
        assert len([f for f in own if "/tests/" not in f.filename]) == 1, frames


@pytest.mark.parametrize("jit", [None, True])
def test_a_step_of_a_loop_that_fails_at_run_time_shows_no_generated_lines(jit: bool | None) -> None:
    @tf.function(jit_compile=jit)
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = x + tf.gather(x, tf.cast(tf.reduce_sum(x), tf.int32) + 7)
        return x

    with pytest.raises(ValueError, match="is not in") as caught:
        f(tf.ones([2]))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.filename for frame in frames if "<" in frame.filename] == []
    assert any("test_tracebacks.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.ones([2, 3]) @ tf.ones([2, 3]),
        lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
        lambda: tf.matmul(tf.Variable(tf.ones([2, 3])), tf.ones([2, 3])),
    ],
)
def test_an_eager_error_shows_few_of_the_inner_lines(call: Callable[[], Any]) -> None:
    assert lines_of(call).count("graphad") <= 3
    tf.debugging.disable_traceback_filtering()
    assert lines_of(call).count("graphad") > 5


def test_an_eager_error_keeps_the_lines_of_functions_that_were_handed_in() -> None:
    assert [name for name in lines_of(lambda: tf.map_fn(outer, tf.ones([2, 3, 4]))) if name != "graphad"][
        -2:
    ] == [
        "outer",
        "inner",
    ]


def test_what_python_raises_in_an_eager_call_keeps_its_lines() -> None:
    def broken(x: Any) -> Any:
        return {}[x.shape]

    with pytest.raises(KeyError) as caught:
        tf.map_fn(broken, tf.ones([2]))
    assert "/graphad/" in traceback.extract_tb(caught.value.__traceback__)[-2].filename
