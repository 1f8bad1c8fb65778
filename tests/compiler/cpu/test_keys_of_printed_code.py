"""A second process finds its native code by the files that print it, without printing it again."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import graphad
from graphad.compiler import source
from graphad.compiler.cpu import functions, vectormath
from graphad.compiler.cpu.runtime import native
from graphad.kernels import forms
from graphad.kernels.collapse import collapse

ROOT = Path(graphad.__file__).parent
RUNTIME = ROOT / "compiler" / "cpu" / "runtime"
# What says nothing about the text that is printed: values, errors, locks, and where objects are kept.
SILENT = (
    "graphad.core.",
    "graphad.kernels.forms",
    "graphad.kernels.record",
    "graphad.compiler.backend",
    "graphad.compiler.cache",
    "graphad.compiler.service",  # which has texts compiled
    "graphad.compiler.source",
    "graphad.compiler.spots",  # words of steps
    "graphad.compiler.cpu.image",
    "graphad.compiler.cpu.target",
    "graphad.compiler.cpu.vectormath.recipes",  # its texts are given to those who print, and are in the key as they are
)

PROGRAM = """
import sys
import graphad as tf
from graphad.compiler import assembly
begin, written = assembly.Function.__init__, []
assembly.Function.__init__ = lambda self, *a, **k: (written.append(a), begin(self, *a, **k))[1]
w = tf.Variable([[0.5, 0.25], [0.125, 1.0]])
@tf.function(jit_compile=True)
def f(x):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.tanh(x @ w) * tf.exp(x))
    return tape.gradient(y, w)
f(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
print(sorted(n for n in sys.modules if n.startswith("graphad.compiler.cpu.vectormath.")),
      "numba" in sys.modules, "llvmlite" in sys.modules, len(written))
"""


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if "graphad" in (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name)
    }


def test_all_that_texts_of_the_runtime_are_made_of_is_in_their_key() -> None:
    outside = tuple(f"graphad.{name.removesuffix('.py').replace('/', '.')}" for name in native._OUTSIDE)
    known = ("graphad.compiler.cpu.runtime", *outside, *SILENT)
    unknown = {
        f"{path.name}: {name}"
        for path in RUNTIME.glob("*.py")
        for name in imports_of(path)
        if not name.startswith(known)
    }
    assert not unknown, "these may change what is printed, and are not part of native._OUTSIDE"


def test_the_files_of_the_key_are_read() -> None:
    assert None not in native.digests(), "without them each process prints all texts"


def test_all_that_vector_functions_are_made_of_is_in_their_key() -> None:
    package = "graphad.compiler.cpu.vectormath"
    folder = ROOT / "compiler" / "cpu" / "vectormath"
    unknown, seen, next_ones = set[str](), set[str](), set(vectormath.MODULES.values())
    while next_ones:
        seen |= next_ones
        names = {name for module in next_ones for name in imports_of(folder / f"{module}.py")}
        unknown |= {name for name in names if not name.startswith((package, "graphad.kernels.record"))}
        next_ones = {
            name.removeprefix(f"{package}.").split(".")[0] for name in names if name.startswith(package)
        } - seen
    assert not unknown
    assert "text" in seen


def test_a_changed_file_is_another_digest(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = source.digest_of_files(str(tmp_path))
    source.digest_of_files.cache_clear()
    (tmp_path / "a.py").write_text("2")
    assert source.digest_of_files(str(tmp_path)) != before
    assert source.digest_of_files(str(tmp_path), "missing.py") is None


def test_a_kernel_without_vector_functions_does_not_depend_on_them() -> None:
    from graphad.core.dtypes import float32

    plain = collapse(forms.call("add", [float32, float32]), (5,), [(5,), (5,)]).kernel
    vector = collapse(forms.call("tanh", [float32]), (5,), [(5,)]).kernel
    other = collapse(forms.call("exp", [float32]), (5,), [(5,)]).kernel
    assert functions.digest(plain) == ""
    assert functions.digest(vector) != functions.digest(other)


def test_a_second_process_prints_no_native_code(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "GRAPHAD_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT.parent),
    }
    (tmp_path / "program.py").write_text(PROGRAM)
    shown = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout.strip())
    assert shown[1] == "[] False False 0", shown
    assert not shown[0].endswith(" 0"), "nothing is printed that way any more"
