"""The compile worker: a process of its own that turns source text into object code, one JSON line in, one JSON
line out.

    {"key": ..., "source": ..., "target": "cpu"}  ->  {"key": ..., "object": base64} or {"key": ..., "error": text}

`target` names a backend and its processor, as in "cuda:90"; texts of the CPU's runtime have "cpu:runtime". The worker imports
Numba so that its caller need not, hides SciPy from it (Numba's first compile would import it for a fifth of a second), and ends
with its caller: at the end of its input, or by the parent-death signal on systems that have it.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import queue
import signal
import sys
import threading
from importlib import import_module
from typing import IO, Any

HELLO = "graphad-worker-1"


def main() -> None:
    """Serve requests until the input ends."""
    answers = _own_output()
    _die_with(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the caller
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)
    sys.modules["scipy"] = None  # type: ignore[assignment]
    _say(answers, {"hello": HELLO})
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    from graphad.compiler.source import CompileError

    compiler = import_module("graphad.compiler.cpu.compile")
    gc.set_threshold(100_000, 20, 20)  # reference counting frees nearly everything that compiling allocates
    compiler.prepare()
    if requests.empty():
        compiler.warm_up()
    idle = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    while True:
        try:
            request = requests.get(timeout=idle or None)
        except queue.Empty:
            os._exit(0)
        answer: dict[str, Any] = {"key": request["key"]}
        try:
            made = compiled(request["source"], request["target"])
            answer["object"] = base64.b64encode(made).decode()
        except CompileError as error:
            answer["error"] = str(error)
        _say(answers, answer)


def compiled(source: str, target: str) -> bytes:
    """The code of a source text for a target. Raises: CompileError: it does not compile."""
    backend, _, processor = target.partition(":")
    compiler: Any = import_module(f"graphad.compiler.{backend}.compile")
    return bytes(compiler.compile_for(source, processor))


def _own_output() -> IO[str]:
    """A private copy of the output stream; other output goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _say(answers: IO[str], message: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(message) + "\n")
        answers.flush()
    except (OSError, ValueError):  # the caller is gone
        os._exit(0)


def _read(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass requests on; the end of the input ends the process, even in the middle of a compilation."""
    for line in sys.stdin:
        with contextlib.suppress(ValueError):
            requests.put(json.loads(line))
    os._exit(0)


def _die_with(parent: int) -> None:
    """Linux: be killed when the caller's process dies, whatever happened to the pipe.

    The system sends that signal when the thread that started the worker ends. 0 stands for a thread that may end earlier than its
    process; then the end of the pipe is all that tells.
    """
    if not parent or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
        if os.getppid() != parent:  # it died before that
            os._exit(0)


if __name__ == "__main__":
    main()
