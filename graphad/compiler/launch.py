"""Starts the compile worker, isolated from the caller's path and open files.

The worker runs code of this installation only: the interpreter in isolated mode, which ignores the working directory,
environment paths and site packages; graphad's own modules; and NumPy, Numba and llvmlite from where they are installed, after
the standard library. It has its own session, so that Ctrl-C in a terminal does not reach it, and inherits no open files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED = ("numpy", "llvmlite", "numba", "numba_cuda")  # as far as they are installed
# The worker needs a few modules of the package, not its public names, whose import takes a tenth of a second. So it sees an
# empty package, and the parent directory of graphad need not be on its path.
START = """
import sys, types
sys.path += [place for place in {places!r} if place not in sys.path]
package = types.ModuleType("graphad")
package.__path__ = [{package!r}]
sys.modules["graphad"] = package
from graphad.compiler.worker import main
main()
"""


def interpreter() -> str | None:
    """The Python interpreter to start, None if there is none.

    In a frozen application and inside another program `sys.executable` is that program, which would start itself.
    """
    name = os.path.basename(sys.executable or "").lower()
    is_python = name.startswith(("python", "pypy"))
    return sys.executable if is_python and not getattr(sys, "frozen", False) else None


def start(parent: int, idle: float) -> subprocess.Popen[bytes]:
    """A fresh worker.

    Args:
      parent: The process to die with, 0 if the starting thread may end before that process.
      idle: Seconds without work after which it ends; 0 for never.
    Raises: OSError: it cannot be started.
    """
    program = START.format(places=places(), package=PACKAGE)
    flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    if sys.pycache_prefix:  # isolated mode ignores the variable; bytecode is where this process has it
        flags += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    environment = {**os.environ, "GRAPHAD_WORKER": "0"}  # a worker starts no worker
    if environment.get("GRAPHAD_CACHE_DIR"):
        environment["GRAPHAD_CACHE_DIR"] = os.path.abspath(environment["GRAPHAD_CACHE_DIR"])
    return subprocess.Popen(
        [interpreter() or "", *flags, "-c", program, str(parent), str(idle)],
        bufsize=0,  # a fork must find no held lock and no partial message
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        cwd=os.path.abspath(os.sep),  # Numba reads settings from the working directory
        env=environment,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def places() -> list[str]:
    """The directories in which what the worker needs is installed.

    NumPy is imported already, so this process trusts its directory. The others are searched for there first, then on the path
    without the working directory, whose contents the worker must not run.
    """
    here = os.path.realpath(os.getcwd()) if _has_directory() else ""
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    found: list[str] = []
    for name in NEEDED:
        module = sys.modules.get(name)
        origin = getattr(module, "__file__", None)
        if origin is None:
            spec = PathFinder.find_spec(name, [*found, *path]) or _found_by_hooks(name)
            origin = None if spec is None else spec.origin
        if origin is not None:
            place = str(Path(origin).absolute().parents[1])
            if place not in found:
                found.append(place)
    return found


def _found_by_hooks(name: str) -> ModuleSpec | None:
    """The result of an import hook, such as that of an editable install."""
    for finder in sys.meta_path:
        if finder is not PathFinder:
            spec = finder.find_spec(name, None)
            if spec is not None:
                return spec
    return None


def _has_directory() -> bool:
    try:
        os.getcwd()
    except OSError:  # it was removed
        return False
    return True
