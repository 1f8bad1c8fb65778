"""What the compile worker runs, and what it shares with its caller: nothing that a working directory, a terminal or a frozen
application could give it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphad.compiler import launch
from graphad.compiler.cpu.emit import emit
from graphad.compiler.objects import check_kernel
from graphad.compiler.service import CompileService
from graphad.core.dtypes import float32
from graphad.kernels import forms
from graphad.kernels.collapse import collapse

ADD = collapse(forms.call("add", [float32, float32]), (5,), [(5,), (5,)]).kernel
WAIT = 600.0  # until a hang counts as one
ROOT = Path(launch.PACKAGE).parent
# compiles a kernel in a worker and says so
PROGRAM = """
from graphad.compiler.cpu.emit import emit
from graphad.compiler.service import CompileService
from graphad.core.dtypes import float32
from graphad.kernels import forms
from graphad.kernels.collapse import collapse
import threading

kernel = collapse(forms.call("add", [float32, float32]), (5,), [(5,), (5,)]).kernel
service, done, found = CompileService(), threading.Event(), []
asked = service.request("one", emit(kernel).text, lambda *answer: (found.append(answer), done.set()))
if asked:
    done.wait()
print("compiled" if asked and found[0][1] else "no worker" if not asked else f"failed: {found}")
service.close()
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture
def worker() -> Iterator[CompileService]:
    made = CompileService()
    yield made
    made.close()


def run(directory: Path, *arguments: str, **environment: str) -> str:
    made = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def test_the_worker_imports_nothing_from_the_working_directory(tmp_path: Path) -> None:
    trap = f"import os, sys\nif len(sys.argv) > 2: open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    for module in ("queue", "base64", "numba", "llvmlite", "sitecustomize"):
        (tmp_path / f"{module}.py").write_text(trap)
    (tmp_path / ".numba_config.yaml").write_text("disable_jit: 1\n")
    program = f"import sys\nsys.path[:] = [p for p in sys.path if p] + ['']\n{PROGRAM}"
    assert run(tmp_path, "-P", "-c", program) == "compiled"
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    program = f"import sys\nsys.path.remove({str(tmp_path)!r})\n{PROGRAM}"
    assert run(tmp_path, "-P", "-c", program, PYTHONPATH=path) == "compiled"
    assert not (tmp_path / "ran").exists()


def test_the_worker_has_only_what_it_needs_on_its_path() -> None:
    import numpy

    places = launch.places()
    assert str(Path(numpy.__file__).parents[1]) in places
    assert str(ROOT) not in places and "" not in places and os.getcwd() not in places


def test_the_worker_starts_when_the_working_directory_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leave = f"import os\nos.makedirs({str(gone)!r}, exist_ok=True)\nos.chdir({str(gone)!r})\nos.rmdir({str(gone)!r})\n"
    if subprocess.run([sys.executable, "-c", leave + "import numpy"], capture_output=True).returncode:
        pytest.skip("NumPy itself cannot be imported from a directory that is gone, with this Python")
    assert run(tmp_path, "-c", leave + PROGRAM) == "compiled"


def test_a_package_inside_an_archive_has_a_worker(tmp_path: Path) -> None:
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as made:
        for file in (ROOT / "graphad").rglob("*.py*"):
            if file.suffix not in (".py", ".pyi"):
                continue
            made.write(file, file.relative_to(ROOT))
        made.writestr("__main__.py", PROGRAM)
    assert run(tmp_path, str(archive), PYTHONPATH="") == "compiled"


def test_a_package_beside_the_program_has_a_worker(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "graphad", tmp_path / "graphad", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path, "program.py", PYTHONPATH="") == "compiled"


def test_the_worker_keeps_its_bytecode_where_the_caller_does(tmp_path: Path) -> None:
    """Isolated mode ignores the variable, and would write beside the modules."""
    shutil.copytree(ROOT / "graphad", tmp_path / "graphad", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "program.py").write_text(PROGRAM)
    places = {"PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    assert run(tmp_path, "program.py", PYTHONPATH="", **places) == "compiled"
    assert list((tmp_path / "bytecode").rglob("graphad/compiler/worker.*.pyc"))
    assert not list((tmp_path / "graphad").rglob("__pycache__"))


@pytest.mark.parametrize(
    "cure", ["sys.frozen = True", "sys.executable = '/opt/app/model-server'", "sys.executable = ''"]
)
def test_a_program_that_is_not_python_does_not_start_itself(tmp_path: Path, cure: str) -> None:
    assert run(tmp_path, "-c", f"import sys\n{cure}\n{PROGRAM}") == "no worker"


@needs_proc
def test_the_worker_starts_no_worker_and_keeps_no_file_of_its_caller_open(
    worker: CompileService, tmp_path: Path
) -> None:
    with open(tmp_path / "open", "w") as file:
        os.set_inheritable(file.fileno(), True)
        check_kernel(worker.compile_now("one", emit(ADD).text), "graphad_kernel")
        place = Path(f"/proc/{worker.pid}")
        opened = [os.readlink(link) for link in (place / "fd").iterdir()]
    assert b"GRAPHAD_WORKER=0" in (place / "environ").read_bytes().split(b"\0")
    assert str(tmp_path / "open") not in opened
    assert os.readlink(place / "cwd") == os.sep


@needs_signals
def test_ctrl_c_in_a_terminal_is_not_meant_for_the_worker(worker: CompileService) -> None:
    check_kernel(worker.compile_now("one", emit(ADD).text), "graphad_kernel")
    pid = worker.pid
    assert pid is not None and os.getsid(pid) == pid != os.getsid(0)
    for _ in range(3):  # even where it is sent to it by name
        os.kill(pid, signal.SIGINT)
    check_kernel(worker.compile_now("two", emit(ADD).text), "graphad_kernel")
    assert worker.pid == pid and not worker.is_forbidden
