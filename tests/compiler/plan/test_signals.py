"""Ctrl-C, and any handler that raises, ends a loop that runs natively; one that does not raise leaves it alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from graphad.compiler.cpu.runtime import entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent with os.kill")
WAIT = 600.0  # until a hang counts as one

# `f` runs for ever, once compiled; says so before that
PROGRAM = """
import os, signal, sys, threading
import numpy as np
import graphad as tf
from graphad.compiler.cpu.runtime import entry
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and what they start
if sys.argv[1] == "ctypes":
    entry._entry = entry.load(force_ctypes=True)

@tf.function(jit_compile=True)
def f(x, n):
    def outer(i, y):
        _, y = tf.while_loop(lambda j, y: j < n, lambda j, y: (j + 1, tf.tanh(y)), (0, y))
        return i + 1, y
    return tf.while_loop(lambda i, y: tf.reduce_sum(y) < 1e30, outer, (0, x))[1]

def is_native():
    (sizes,) = next(iter(f.concrete_functions)).executable._sizes.values()
    return [unit.kind for unit in sizes.size_class.compilation.schedule.partition.units] == ["repeat"]

ones = tf.constant(np.full(3, 1e30), tf.float32)
f(ones, 3)
assert is_native()
assert entry.active().startswith(sys.argv[1])
"""
ENDLESS = "print('running', flush=True)\nf(ones * 0.0, tf.constant({n}))\n"


def started(way: str, *lines: str) -> subprocess.Popen[str]:
    made = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + "\n".join(lines), way],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert made.stdout is not None and made.stdout.readline() == "running\n", made.communicate()[1]
    return made


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=WAIT)
    finally:
        process.kill()


@pytest.mark.parametrize("way", ["builtin", "ctypes"])
@pytest.mark.parametrize(
    "n", [3, 2_000_000_000]
)  # the outer loop goes on for ever, or the inner one nearly so
def test_ctrl_c_ends_a_native_loop(way: str, n: int) -> None:
    if way == "builtin" and entry.active() != "builtin":
        pytest.skip(entry.active())
    process = started(way, ENDLESS.format(n=n))
    os.kill(process.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in ended(process)[1]
    assert process.returncode in (1, 130, -signal.SIGINT)


@pytest.mark.parametrize("way", ["builtin", "ctypes"])
def test_a_handler_s_own_exception_comes_through_and_the_function_still_works(way: str) -> None:
    if way == "builtin" and entry.active() != "builtin":
        pytest.skip(entry.active())
    process = started(
        way,
        "def late(*_): raise TimeoutError('too late')",
        "signal.signal(signal.SIGALRM, late)",
        "try:",
        "    signal.alarm(1)",
        f"    {ENDLESS.format(n=3).splitlines()[0]}",
        f"    {ENDLESS.format(n=3).splitlines()[1]}",
        "except TimeoutError as error: print(error)",
        "print(f(ones, 3).numpy().tolist() == ones.numpy().tolist())",
    )
    assert ended(process) == ("too late\nTrue\n", "")


def test_a_handler_that_returns_leaves_the_loop_alone_and_other_threads_run_meanwhile() -> None:
    process = started(
        "builtin" if entry.active() == "builtin" else "ctypes",
        "seen = []",
        "signal.signal(signal.SIGALRM, lambda *_: seen.append(1) or signal.alarm(1))",
        "def watch():",
        "    import time",
        "    while len(seen) < 2: time.sleep(0.01)",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "try:",
        "    signal.alarm(1)",
        "    threading.Thread(target=watch, daemon=True).start()",
        f"    {ENDLESS.format(n=3).splitlines()[0]}",
        f"    {ENDLESS.format(n=3).splitlines()[1]}",
        "except KeyboardInterrupt: print(len(seen) >= 2)",
    )
    assert ended(process) == ("True\n", "")


def test_an_exception_of_a_handler_during_compilation_is_the_caller_s_and_the_function_is_compiled_later() -> (
    None
):
    script = """
import signal
import numpy as np
import graphad as tf
from graphad.compiler.plan import tiers

def late(*_): raise TimeoutError("too late")
signal.signal(signal.SIGALRM, late)

@tf.function(jit_compile=True)
def f(x):
    return tf.tanh(x) * 2.0

planned = tiers.Compilation._planned
def slow(self):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    for _ in range(300): signal.sigtimedwait([], 0.01)
    return planned(self)
tiers.Compilation._planned = slow
x = tf.constant([1.0, 2.0])
try: f(x)
except TimeoutError as error: print(error)
tiers.Compilation._planned = planned
f(x)
(sizes,) = next(iter(f.concrete_functions)).executable._sizes.values()
print(sizes.size_class.compilation.state)
"""
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert (process.stdout, process.stderr) == ("too late\nready\n", "")
