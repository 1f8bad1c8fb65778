"""Settings of the process, from the environment at import and from `graphad.config` later."""

from __future__ import annotations

import os


class Flags:
    """One object holds them all.

    Attributes:
      run_functions_eagerly: Functions run as Python instead of as graphs.
      jit: "auto" compiles in the background, "always" waits, "never" does not compile.
      threads: How many threads kernels may use; 0 means as many as there are cores for this process.
    """

    __slots__ = ("jit", "run_functions_eagerly", "threads")

    def __init__(self) -> None:
        self.run_functions_eagerly = False
        self.jit = os.environ.get("GRAPHAD_JIT", "auto")
        self.threads = int(os.environ.get("GRAPHAD_THREADS", "0") or 0)


flags = Flags()
