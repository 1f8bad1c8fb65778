"""What a forked child finds: free locks, a running garbage collector, and kernels that it can have made itself."""

from __future__ import annotations

import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphad
from graphad.core import forks
from graphad.core.collector import held
from graphad.core.turns import Turn

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
WAIT = 600.0  # until a hang counts as one
ROOT = Path(__file__).parents[2]


def in_child(question: Callable[[], bool]) -> bool:
    """What a forked child answers."""
    child = os.fork()
    if not child:
        answer = False
        try:
            answer = question()
        finally:
            os._exit(0 if answer else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Elsewhere:
    """Another thread that stays inside a context."""

    def __init__(self, context: object) -> None:
        self._context, self._inside, self._leave = context, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._stay)

    def _stay(self) -> None:
        with self._context:  # type: ignore[attr-defined]
            self._inside.set()
            self._leave.wait(WAIT)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._inside.wait(WAIT)

    def __exit__(self, *error: object) -> None:
        self._leave.set()
        self._thread.join()


@pytest.mark.parametrize("make", [forks.lock, forks.rlock])
def test_a_lock_that_another_thread_held_is_free_in_the_child(make: Callable[[], object]) -> None:
    lock = make()
    with Elsewhere(lock):
        assert in_child(lambda: lock.acquire(blocking=False))  # type: ignore[attr-defined]
        assert not lock.acquire(blocking=False)  # type: ignore[attr-defined]


def test_a_lock_that_the_forking_thread_holds_stays_held() -> None:
    lock = forks.rlock()
    with lock:
        assert in_child(lambda: lock._is_owned() and (lock.release() or not lock._is_owned()))


def test_the_collector_runs_in_the_child_though_another_thread_held_it() -> None:
    assert gc.isenabled()
    with Elsewhere(held):
        assert not gc.isenabled()
        assert in_child(gc.isenabled)
        with held:
            assert in_child(lambda: not gc.isenabled())

        def leave() -> bool:
            held.__exit__(None, None, None)
            return gc.isenabled()

        held.__enter__()
        assert in_child(leave)
        held.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_turn_that_another_thread_had_is_free_in_the_child() -> None:
    turn = Turn()

    inside, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=turn.take, args=(lambda: (inside.set(), leave.wait(WAIT)),))
    thread.start()
    try:
        assert inside.wait(WAIT)
        assert in_child(lambda: turn.take(lambda: turn._owner == threading.get_ident()))
    finally:
        leave.set()
        thread.join()


def test_a_fork_waits_until_graphad_s_own_threads_are_settled() -> None:
    order: list[str] = []
    inside = threading.Event()

    def work() -> None:
        with forks.settled:
            inside.set()
            while len(order) < 1:
                pass
            order.append("settled")

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(WAIT)
    order.append("forking")
    assert in_child(lambda: order == ["forking", "settled"])
    thread.join()


PROGRAM = """
import os, sys, threading
os.environ["GRAPHAD_CACHE_DIR"] = sys.argv[1]
import numpy as np
import graphad as tf
from graphad.compiler.plan import tiers
from graphad.compiler.service import CompileService

@tf.function
def f(x):
    return tf.reduce_sum(tf.tanh(x) * x + tf.exp(x))

x = tf.constant(np.linspace(-1.0, 1.0, 50), tf.float32)
before = float(f(x))
compilation = lambda: f.concrete_functions[0].executable.classes[0].compilation
receive = CompileService._receive
if sys.argv[2] == "waiting":
    CompileService._receive = lambda *_: None  # what the worker answers before the fork is not heard
    while compilation().state is None:
        f(x)
    assert compilation().state == tiers.WAITING, compilation().state
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sys.exit()
CompileService._receive = receive
if sys.argv[2] == "waiting":
    assert compilation().state is None
while compilation().state != tiers.READY:
    after = float(f(x))
    assert compilation().state != tiers.FAILED, compilation().reason
assert abs(after - before) < 1e-4
assert compilation().compiled > 0  # by a worker of its own
"""


@pytest.mark.parametrize("moment", ["before", "waiting"])
def test_a_child_forked_while_kernels_are_awaited_compiles_them(moment: str, tmp_path: object) -> None:
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path), moment], check=True, timeout=WAIT
    )


WATCHED = """
import os, sys, threading
os.environ["GRAPHAD_CACHE_DIR"] = sys.argv[1]
import graphad as tf
from graphad.compiler.plan import tiers

class Watch:
    def find_spec(self, name, path, target=None):
        if name == "logging" and threading.current_thread() is not threading.main_thread():
            found.append(threading.current_thread().name)

found = []
sys.meta_path.insert(0, Watch())

@tf.function
def f(x):
    return tf.reduce_sum(tf.tanh(x) * x + tf.exp(x))

compilation = lambda: f.concrete_functions[0].executable.classes[0].compilation
f(tf.ones([3]))
while compilation().state != tiers.READY:
    f(tf.ones([3]))
assert compilation().compiled > 0
assert not found, found
"""


def test_no_thread_of_graphad_s_own_imports_what_has_hooks_of_forks(tmp_path: object) -> None:
    """A hook that is registered while a fork waits for that thread would run behind the fork, but not before it."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", WATCHED, str(tmp_path)], check=True, timeout=WAIT)


def test_all_locks_are_made_where_a_fork_frees_them() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "graphad").rglob("*.py")
        if re.search(r"threading\.R?Lock\(\)", path.read_text()) and path.name != "forks.py"
    ]
    assert bare == []


def test_a_child_can_import_what_another_thread_was_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import slowly_imported\nvalue = slowly_imported.wait()\n"
    (tmp_path / "slow_to_import.py").write_text(text)
    monkeypatch.setattr(graphad, "__path__", [*graphad.__path__, str(tmp_path)])
    name = "graphad.slow_to_import"
    inside, go_on = threading.Event(), threading.Event()
    half_imported, found = forks._half_imported, []

    def slowly() -> int:
        inside.set()
        return int(go_on.wait(WAIT))

    def asked() -> list[str]:
        """The import ends once the fork has seen it."""
        found.append(half_imported())
        go_on.set()
        return found[-1]

    monkeypatch.setitem(sys.modules, "slowly_imported", SimpleNamespace(wait=slowly))
    monkeypatch.setattr(forks, "_half_imported", asked)
    elsewhere = threading.Thread(target=importlib.import_module, args=(name,))
    elsewhere.start()

    def imports_it() -> bool:
        signal.alarm(600)  # kills a child that waits for ever
        return bool(importlib.import_module(name).value == 1)

    try:
        assert inside.wait(WAIT)
        assert in_child(imports_it)
        assert name in found[0]
    finally:
        go_on.set()
        elsewhere.join()
        sys.modules.pop(name, None)
