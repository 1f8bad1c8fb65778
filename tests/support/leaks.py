"""Leaks: what remains when objects are created and dropped repeatedly.

`python -m tests.support.leaks` prints the table, in a process of its own: where many tests have run before, collecting garbage
takes seconds.

It counts objects tracked by the garbage collector and bytes allocated by Python, per cycle, after the bounded tables are full.
The rest is the occasional growth of a hash table.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import graphad as tf
from graphad.core.memo import Memo

WARM_UP, CYCLES, TURNS = 12, 40, 2
SMALL = 8  # the bound of tables, so that they are full after the warm-up


class Left(NamedTuple):
    """What one cycle leaves behind."""

    objects: float
    bytes: float


class Model(tf.Module):
    """A model with a variable and a signature."""

    def __init__(self) -> None:
        self.scale = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return tf.tanh(x) * self.scale


def gradient_of(f: Callable[[Any], Any]) -> Any:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def checkpoints() -> None:
    """A save, a restore, and one whose values wait for layers that never come."""
    net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    net(tf.ones([1, 2]))
    checkpoint = tf.train.Checkpoint(net=net, all=[tf.Variable(1.0)])
    path = checkpoint.write(f"{_folder.name}/checkpoint")
    checkpoint.read(path).assert_consumed()
    waiting = tf.train.Checkpoint(net=tf.keras.Sequential([]), all=[])
    waiting.read(path).expect_partial()


_folder = tempfile.TemporaryDirectory()
_place = f"{_folder.name}/model"
_model = Model()
_count = 0


def _number() -> int:
    global _count
    _count += 1
    return _count % 5000


def a_fresh_function_and_its_gradient() -> None:
    gradient_of(tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * x), jit_compile=False))


def a_fresh_function_with_a_branch_a_loop_and_a_custom_gradient() -> None:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 1.0, lambda dy: tf.minimum(dy, 1.0)

    def f(x: Any) -> Any:
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0)
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, clipped(y) * x), (0, y))[1]

    gradient_of(tf.function(f, jit_compile=False))


def a_function_traced_for_ten_python_values() -> None:
    f = tf.function(lambda x, k: x * float(k), jit_compile=False)
    for k in range(10):
        f(tf.constant([1.0, 2.0]), k)


def a_function_of_unknown_sizes_called_with_ten() -> None:
    spec = tf.TensorSpec([None], tf.float32)
    f = tf.function(lambda x: tf.reshape(x, [-1, 1]) * 2.0, input_signature=[spec], jit_compile=False)
    for k in range(10):
        f(tf.ones([k + 1]))


def load_gradient_drop() -> None:
    gradient_of(tf.saved_model.load(_place))


def save() -> None:
    tf.saved_model.save(_model, _place)


def eager_ops_with_attributes_not_seen_before() -> None:
    k = _number()
    tf.pad(tf.constant([1.0]), [[0, k]])
    tf.one_hot(1, k + 2)
    tf.reshape(tf.zeros([2 * k + 2]), [2, k + 1])
    tf.nn.leaky_relu(tf.constant(-1.0), 0.1 + k)


def eager_ops_on_shapes_not_seen_before() -> None:
    x = tf.ones([_number() + 1])
    tf.reduce_sum(tf.concat([x, x * 2.0], 0))


def an_error_under_a_tape() -> None:
    def f(x: Any) -> Any:
        raise ValueError("on purpose")

    for g in (f, lambda x: tf.matmul(x, x)):
        with contextlib.suppress(ValueError):
            gradient_of(g)


def an_error_while_tracing() -> None:
    with contextlib.suppress(ValueError):
        tf.function(lambda x: tf.matmul(x, x), jit_compile=False)(tf.constant([1.0, 2.0]))


def a_jacobian() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x) * x
    tape.jacobian(y, x)
    tf.autodiff.ForwardAccumulator(x, x)


def a_compiled_plan() -> None:
    tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * x), jit_compile=True)(tf.constant([1.0, 2.0]))


def a_thread() -> None:
    def work() -> None:
        gradient_of(lambda x: tf.tanh(x) * tf.random.normal([2], seed=1))
        _model(tf.constant([1.0, 2.0]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def a_variable_and_its_optimizer() -> None:
    variable = tf.Variable(np.ones(3, np.float32))
    optimizer = tf.keras.optimizers.Adam()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(variable * variable)
    optimizer.apply_gradients([(tape.gradient(y, variable), variable)])


WORKLOADS = (
    save,
    load_gradient_drop,
    checkpoints,
    a_fresh_function_and_its_gradient,
    a_fresh_function_with_a_branch_a_loop_and_a_custom_gradient,
    a_function_traced_for_ten_python_values,
    a_function_of_unknown_sizes_called_with_ten,
    eager_ops_with_attributes_not_seen_before,
    eager_ops_on_shapes_not_seen_before,
    an_error_under_a_tape,
    an_error_while_tracing,
    a_jacobian,
    a_compiled_plan,
    a_thread,
    a_variable_and_its_optimizer,
)


def left_by(workload: Callable[[], None], cycles: int = CYCLES) -> Left:
    """What one cycle leaves behind, the minimum over several turns of so many cycles."""
    gc.unfreeze()  # so that all tables are found
    workload()  # what is made when it is first asked for, the tables of late ops among it, is there from here on
    limits = {id(x): (x, x.limit) for x in gc.get_objects() if isinstance(x, Memo)}
    for memo, limit in limits.values():
        memo.limit = min(limit, SMALL)
    gc.collect()
    gc.freeze()  # what other tests have left would be walked by each collection
    try:
        if workload is not save:
            save()
        # Objects created for the first compiled function, whenever it arrives, are not a leak.
        tf.function(lambda x: tf.tanh(x) * 2.0, jit_compile=True)(tf.constant([1.0, 2.0]))
        for _ in range(WARM_UP):
            workload()
        started = not tracemalloc.is_tracing()
        if started:
            tracemalloc.start()
        # Objects of a compiling thread appear once, at any time; a leak appears in every turn.
        turns = []
        for _ in range(TURNS):
            objects, size = _now()
            for _ in range(cycles):
                workload()
            objects_after, size_after = _now()
            turns.append(Left((objects_after - objects) / cycles, (size_after - size) / cycles))
            if turns[-1].objects <= 0 and turns[-1].bytes <= 0:
                break
        if started:
            tracemalloc.stop()
    finally:
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # for the tests behind it
        for memo, limit in limits.values():
            memo.limit = limit
    return Left(min(turn.objects for turn in turns), min(turn.bytes for turn in turns))


def _now() -> tuple[int, int]:
    gc.collect()
    gc.collect()
    return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]


def main(cycles: int = CYCLES) -> None:
    """Print what each workload leaves behind."""
    logging.getLogger("graphad").setLevel(logging.ERROR)
    for workload in WORKLOADS:
        left = left_by(workload, cycles)
        print(f"{workload.__name__:64s} {left.objects:8.2f} objects {left.bytes:9.0f} bytes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
