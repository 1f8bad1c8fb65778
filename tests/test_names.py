"""Names that are imported when they are first used: found, listed, and the same for type checkers."""

import ast
import importlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("graphad", "graphad.math", "graphad.ops.linalg")


def fresh(code: str) -> str:
    """What `code` prints in a process that has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def said_twice(package: str) -> tuple[dict[str, str], dict[str, str]]:
    """The late names of a package and the modules that they come from: as imports, and as told to `late_names`."""
    tree = ast.parse(Path(importlib.import_module(package).__file__ or "").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    call = next(node for node in ast.walk(block.orelse[0]) if isinstance(node, ast.Call))
    told = {}
    for place, names in ast.literal_eval(call.args[1]).items():
        base, _, last = place.rpartition(".")
        told |= dict.fromkeys(names.split(), place) if names else {last: base}
    return imports, told


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_and_python_are_told_the_same(package):
    imports, told = said_twice(package)
    assert imports == told


@pytest.mark.parametrize("package", PACKAGES)
def test_no_late_name_is_that_of_another_module(package):
    path = getattr(importlib.import_module(package), "__path__", ())
    inside = {entry.stem for folder in path for entry in Path(folder).iterdir()}
    told = said_twice(package)[1]
    assert [name for name in inside & set(told) if told[name] != package] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_listed_before_it_is_used_and_found(package):
    code = f"""
import json, importlib
package = importlib.import_module({package!r})
listed = set(dir(package))
print(json.dumps([name for name in package.__all__ if name not in listed or getattr(package, name, None) is None]))
"""
    assert json.loads(fresh(code)) == (["newaxis"] if package == "graphad" else [])


def test_star_import_gives_all():
    code = "from graphad import *; import graphad; assert set(graphad.__all__) <= set(globals())"
    assert fresh(code) == ""


def test_a_late_name_is_the_object_of_its_module_and_pickles():
    import graphad as tf
    from graphad.gradient.tape import GradientTape

    assert tf.GradientTape is GradientTape
    assert pickle.loads(pickle.dumps(tf.linalg.einsum)) is tf.einsum


def test_unknown_names_are_refused_in_pythons_words():
    import graphad as tf

    with pytest.raises(AttributeError, match=r"module 'graphad\.ops\.linalg' has no attribute 'eimsum'"):
        tf.linalg.eimsum


def test_importing_graphad_differentiates_and_compiles_nothing():
    code = "import json, sys, graphad; print(json.dumps(list(sys.modules)))"
    late = ("graphad.gradient.", "graphad.compiler.", "graphad.ops.nn", "graphad.ops.control.loop")
    assert [name for name in json.loads(fresh(code)) if name.startswith(late)] == []


USER = """
import graphad as tf
from graphad import cond

x = tf.constant([1.0])
v = tf.Variable(2.0)
y = 2.0 * (x + 1.0) / v - v @ x
y = -y[0] ** 2
if y > 0.0:
    print(y.numpy(), cond(y > 1.0, lambda: x, lambda: y))
with tf.GradientTape() as tape:
    z = tf.linalg.einsum("i,i->", x, x)
tape.gradient(z, x)
tf.nn.relu(tf.random.normal([2]))
tf.nonsense  # the only mistake
"""


def test_users_programs_pass_the_type_checker(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(USER)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--ignore-missing-imports",
        str(program),
    ]
    done = subprocess.run(
        [*command, "--config-file=", f"--cache-dir={tmp_path / 'cache'}"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    assert len(found) == 1 and '"nonsense"' in found[0], done.stdout + done.stderr


def test_graphad_is_imported_without_the_packages_of_its_extras() -> None:
    missing = "; ".join(
        f"sys.modules[{name!r}] = None" for name in ("ml_dtypes", "scipy", "matplotlib", "cupy", "tqdm")
    )
    code = f"import sys; {missing}; import graphad as tf; print(float(tf.reduce_sum(tf.tanh(tf.ones([2])) * 0.0)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["0.0"], done.stderr
