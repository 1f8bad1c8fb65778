"""Starting the compile worker: which program, with what on its path, apart from everything that the caller has open.

The worker runs code of this installation alone: the interpreter in isolated mode, which looks neither at the working
directory nor at the environment's paths nor at site packages, graphad's own modules from where they are, and what they need
(NumPy, Numba, llvmlite) from where that is installed, behind the standard library. It has a session of its own, so that
Ctrl-C in a terminal is not meant for it, and none of the caller's open files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED = ("numpy", "llvmlite", "numba", "numba_cuda")  # as far as they are installed
# The worker needs a few modules of the package, not its public names, whose import would cost it a tenth of a second. So the
# package that it sees is empty, and the place where graphad lies need not be on its path, with whatever else is there.
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
    """The Python to start, None where there is none.

    In a frozen application and inside another program `sys.executable` is that program, which would start itself.
    """
    name = os.path.basename(sys.executable or "").lower()
    is_python = name.startswith(("python", "pypy"))
    return sys.executable if is_python and not getattr(sys, "frozen", False) else None


def start(parent: int, idle: float) -> subprocess.Popen[bytes]:
    """A fresh worker.

    Args:
      parent: The process to die with, 0 where the starting thread may end before that does.
      idle: Seconds without work after which it ends; 0 for never.
    Raises: OSError: it cannot be started.
    """
    program = START.format(places=places(), package=PACKAGE)
    flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    environment = {**os.environ, "GRAPHAD_WORKER": "0"}  # it starts none of its own
    if environment.get("GRAPHAD_CACHE_DIR"):
        environment["GRAPHAD_CACHE_DIR"] = os.path.abspath(environment["GRAPHAD_CACHE_DIR"])
    return subprocess.Popen(
        [interpreter() or "", *flags, "-c", program, str(parent), str(idle)],
        bufsize=0,  # a fork must find no lock held and no half message
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

    NumPy is imported already, so where it comes from is trusted by this process. The others are looked for there first, then
    on the path, less the working directory: what lies there is for a program that asks for it, not for the worker.
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
    """What an import hook finds, such as that of a package under development."""
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
