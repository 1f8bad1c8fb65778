"""Public names: each stands in one list, is found, listed and typed there, and what is not there is refused with a cure."""

import ast
import importlib.util
import json
import os
import pickle
import re
import rlcompleter
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphad as tf
from graphad.compiler.source import version_parts
from graphad.core.absent import _COUNTERPARTS, _REASONS
from graphad.core.late import HERE, _line_of, _parsed, places_of
from serialization.inspect.describe import describe

ROOT = Path(__file__).resolve().parents[1]
STUBS = sorted(path for path in (ROOT / "graphad").rglob("*.pyi"))


def module_of(stub: Path) -> str:
    parts = stub.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


LISTS = [module_of(stub) for stub in STUBS]


def public_namespaces(package: str = "graphad") -> list[str]:
    inside = [f"{package}.{name}" for name, (place, _) in places_of(package).items() if place == package]
    return [package, *(deeper for space in inside for deeper in public_namespaces(space))]


def fresh(code: str) -> str:
    """What `code` prints in a process that has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def read_by_python(stub: Path) -> dict[str, tuple[str, str]]:
    """The names of a stub as type checkers read them; a line that is none of the forms of a list is an error."""
    names: dict[str, tuple[str, str]] = {}
    private: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.ImportFrom(module=str(place), names=[ast.alias(name="*")], level=0):
                other = next(path for path in STUBS if module_of(path) == place)
                names |= {name: (place, name) for name in read_by_python(other) if not name.startswith("_")}
            case ast.ImportFrom(module=str(place), names=aliases, level=0):
                for alias in aliases:
                    assert alias.asname in (None, alias.name), "a renamed import is not a public name"
                    (names if alias.asname else private)[alias.name] = place, alias.name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=original)):
                names[name] = (names | private)[original]
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                names[name] = HERE, ""
            case _:
                raise AssertionError(f"{stub}:{node.lineno}: {ast.unparse(node)}")
    return names


@pytest.mark.parametrize("stub", STUBS, ids=LISTS)
def test_type_checkers_and_python_read_the_same_list(stub):
    assert places_of(module_of(stub)) == read_by_python(stub)


@pytest.mark.parametrize("name", LISTS)
def test_sources_beside_a_list_repeat_none_of_its_names(name):
    source = Path(importlib.import_module(name).__file__ or "").read_text(encoding="utf-8")
    defined = {node.targets[0].id for node in ast.parse(source).body if isinstance(node, ast.Assign)
               and isinstance(node.targets[0], ast.Name)}  # fmt: skip
    assert defined == {place for place, (module, _) in places_of(name).items() if module == HERE}
    assert "__getattr__, __dir__ = attach(__name__" in source


FIND_ALL = """
import importlib, json, pkgutil, sys
import graphad
from graphad.core.late import places_of
for name in {lists}:
    if {modules_first}:  # a name may be taken for none of them
        for package in ("graphad", name):
            package = importlib.import_module(package)
            for module in pkgutil.iter_modules(getattr(package, "__path__", ()), package.__name__ + "."):
                importlib.import_module(module.name)
    package, wrong = importlib.import_module(name), []
    for shown, (place, original) in places_of(name).items():
        value = getattr(package, shown)
        if place == name:
            right = sys.modules[f"{{place}}.{{original}}"]
        else:
            right = getattr(importlib.import_module(place), original) if place else vars(package)[shown]
        is_module = type(value) is type(sys) and value.__name__ not in {lists}  # and no namespace in another one
        if value is not right or place not in ("graphad", name) and is_module:
            wrong.append(f"{{name}}.{{shown}}")
    print(json.dumps(wrong))
"""


@pytest.mark.parametrize("modules_first", [False, True])
def test_every_name_is_the_object_of_its_module_whatever_was_imported_before(modules_first):
    found = fresh(FIND_ALL.format(lists=LISTS, modules_first=modules_first)).splitlines()
    assert found == ["[]"] * len(LISTS)


def test_every_namespace_is_imported_under_its_own_path():
    names = public_namespaces()
    assert len(names) > 15
    lines = [f"import {name}; print({name} is sys.modules[{name!r}])" for name in reversed(names)]
    assert set(fresh("import sys\n" + "\n".join(lines)).split()) == {"True"}


def test_the_version_stands_in_one_place_and_metadata_and_saved_files_take_it_from_there(tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    place = ROOT / project["tool"]["hatch"]["version"]["path"]
    (said,) = re.findall(r'^VERSION = "(.+)"$', place.read_text(encoding="utf-8"), re.MULTILINE)
    assert said == tf.__version__ == tf.version.VERSION == version_parts()["graphad"]
    tf.saved_model.save(tf.Module(), tmp_path / "model")
    tf.train.Checkpoint(x=tf.Variable(1.0)).write(tmp_path / "checkpoint")
    for name in ("model", "checkpoint"):
        assert describe(tmp_path / name)["producer"] == f"graphad {said}"
    everywhere = [
        *(ROOT / "graphad").rglob("*.py"),
        *(ROOT / "serialization").rglob("*.py"),
        ROOT / "pyproject.toml",
    ]
    assert [path for path in everywhere if f'"{said}"' in path.read_text(encoding="utf-8")] == [place]


def test_programs_that_print_the_version_of_git_or_ask_for_tensorflow_2_go_on():
    assert tf.__git_version__ == tf.version.GIT_VERSION == tf.compat.v1.__git_version__ == "unknown"
    assert tf.compat.v2.__git_version__ == "unknown"
    assert tf.compat.v2.enable_v2_behavior() is None


def test_what_builds_the_package_finds_the_version():
    """As the build does it; where its tool is not installed, the test before holds the line that it looks for."""
    core = pytest.importorskip("hatchling.metadata.core")
    manager = pytest.importorskip("hatchling.plugin.manager")
    assert core.ProjectMetadata(str(ROOT), manager.PluginManager()).version == tf.__version__


def test_layers_are_imported_as_from_keras():
    code = (
        "from graphad.keras.layers import Dense; import graphad as tf; print(tf.keras.layers.Dense is Dense)"
    )
    assert fresh(code) == "True"
    assert tf.optimizers.Adam is tf.keras.optimizers.Adam
    assert tf.initializers.glorot_uniform is tf.keras.initializers.glorot_uniform


@pytest.mark.parametrize("name", public_namespaces())
def test_dir_and_completion_show_the_public_names_and_nothing_else(name):
    namespace = importlib.import_module(name)
    public = {listed for listed in places_of(name) if not listed.startswith("_")}
    assert (
        {shown for shown in dir(namespace) if not shown.startswith("_")} == public == set(namespace.__all__)
    )
    completer, offered, state = rlcompleter.Completer({"space": namespace}), set(), 0
    while (match := completer.complete("space.", state)) is not None:
        offered.add(match.removeprefix("space.").partition("(")[0])
        state += 1
    assert {shown for shown in offered if not shown.startswith("_")} == public


def test_star_import_gives_all():
    code = "from graphad import *; import graphad; assert set(graphad.__all__) <= set(globals())"
    fresh(code)


def test_a_late_name_is_the_object_of_its_module_and_pickles():
    from graphad.gradient.tape import GradientTape

    assert tf.GradientTape is GradientTape
    assert pickle.loads(pickle.dumps(tf.linalg.einsum)) is tf.einsum


@pytest.mark.parametrize(
    "space, name, said",
    [
        (tf, "reduce_men", "graphad.reduce_men: not part of graphad; the nearest name is graphad.reduce_mean."),
        (tf.linalg, "eimsum", "graphad.linalg.eimsum: not part of graphad; the nearest name is graphad.linalg.einsum."),
        (tf, "relu", "graphad.relu: not part of graphad; use graphad.nn.relu."),
        (tf, "dropuot", "graphad.dropuot: not part of graphad; the nearest name is graphad.nn.dropout."),
        (tf.keras.layers, "dense",
         "graphad.keras.layers.dense: not part of graphad; most Keras layers are left out; write a module with "
         "graphad.nn; the nearest name is graphad.keras.layers.Dense."),
        (tf, "strings",
         "graphad.strings: not part of graphad, out of scope: graphad computes with numbers; strings stay in Python, and "
         "tf.print takes them."),
        (tf, "jit", "graphad.jit: not part of graphad under this name; use graphad.function."),
        (tf, "manual_seed", "graphad.manual_seed: not part of graphad under this name; use graphad.random.set_seed."),
        (tf, "qqqqqq", "graphad.qqqqqq: not part of graphad; dir(graphad) lists what is."),
        (tf.train, "Feature",
         "graphad.train.Feature: not part of graphad, out of scope: reading files, images and audio is left to other "
         "packages."),
        (tf.data.experimental, "save",
         "graphad.data.experimental.save: not part of graphad, out of scope: data sets read from memory; keep their arrays "
         "in a file of saved_model or of NumPy."),
        (tf.keras.layers, "serialize",
         "graphad.keras.layers.serialize: not part of graphad, out of scope: models are saved by `saved_model` alone."),
        (tf.distribute, "experimental",
         "graphad.distribute.experimental: not part of graphad; a program runs as one replica on one device."),
        (tf.compat.v1, "sparse", "graphad.compat.v1.sparse: not part of graphad; use graphad.sparse."),
        (tf, "_private", "module 'graphad' has no attribute '_private'"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_refused_with_the_nearest_one(space, name, said):
    with pytest.raises(AttributeError) as raised:
        getattr(space, name)
    assert str(raised.value) == said
    assert not hasattr(space, name)


def test_what_is_out_of_scope_is_not_there_but_for_classes_that_programs_ask_about():
    spaces = [importlib.import_module(name) for name in public_namespaces()]
    there = [(space, name) for space in spaces for name in _REASONS if name in dir(space)]
    assert [
        (space.__name__, name)
        for space, name in there
        if getattr(space, name).__module__ != "graphad.core.outside"
    ] == []


def test_a_name_of_another_library_is_not_there_and_its_counterpart_is():
    assert [name for name in _COUNTERPARTS if name in dir(tf)] == []
    for place in set(_COUNTERPARTS.values()):
        value = tf
        for part in place.split("."):
            value = getattr(value, part)


def test_importing_graphad_differentiates_and_compiles_nothing():
    code = "import json, sys, graphad; print(json.dumps(list(sys.modules)))"
    late = ("graphad.gradient.", "graphad.compiler.", "graphad.ops.nn", "graphad.ops.control.loop", "graphad.core.absent",
            "graphad.ops.array.slice", "graphad.ops.array.gather", "graphad.ops.array.transpose", "graphad.ops.array.join",
            "graphad.ops.math.bitwise", "graphad.kernels.forms", "difflib", "ast")  # fmt: skip
    numpy = set(json.loads(fresh(code.replace("graphad", "numpy"))))
    assert [name for name in json.loads(fresh(code)) if name.startswith(late) and name not in numpy] == []


@pytest.mark.parametrize("body, more", [
    ("tf.tanh(x @ x)", {"graphad.trace.specialiser", "graphad.gradient.tape"}),
    ("w.assign_add(tf.reduce_sum(x))", set()),
])  # fmt: skip
def test_a_first_call_imports_nothing_that_only_other_programs_need(
    tmp_path: Path, body: str, more: set[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, numpy, graphad as tf\n"
        "w = tf.Variable(0.0)\n"
        "@tf.function\n"
        "def f(x):\n"
        f"    return {body}\n"
        "f(tf.constant(numpy.ones((3, 3), numpy.float32)))\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    more |= {"graphad.autograph.journal", "graphad.autograph.rewrite", "graphad.compiler.plan.tiers",
             "graphad.compiler.plan.buffers", "graphad.ops.math.cumulative", "graphad.ops.array.slice",
             "graphad.ops.array.gather", "graphad.ops.array.transpose", "graphad.ops.array.join",
             "graphad.ops.math.bitwise", "graphad.kernels.forms"}  # fmt: skip
    assert more & set(done.stdout.split()) == set()


JACOBIAN = """
x = tf.ones((3, 3))

@tf.function(jit_compile=True)
def f(w):
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(w)
            y = tf.reduce_sum(tf.tanh(x @ w))
        g = inner.gradient(y, w)
    return outer.jacobian(g, w)

f(x)
"""
SAVED = """
class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.ones((3, 3)))

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def __call__(self, x):
        return tf.tanh(x @ self.w)

tf.saved_model.save(Model(), "model")
tf.saved_model.load("model")(tf.ones((2, 3)))
"""
_NATIVE = ("branch convolved convolving counted drawing factorising growing indexing lapack masking measuring ordering placing "
           "repeat rolling searching transforming ufuncs")  # fmt: skip


@pytest.mark.parametrize("text, absent", [
    (JACOBIAN, {"graphad.ops.control.loop", "graphad.ops.control.cond", "graphad.ops.control.either",
                "graphad.vectorize.vectorize_graph", "graphad.gradient.explain_none", "graphad.compiler.plan.repeat",
                "graphad.compiler.plan.branch", *[f"graphad.compiler.cpu.runtime.{x}" for x in _NATIVE.split()]}),
    (SAVED, {"graphad.ops.random.generator", "graphad.ops.random.state", "graphad.ops.sparse.tensor",
             "graphad.ops.array.sorting", "graphad.ops.array.gather", "graphad.ops.array.slice"}),
], ids=["jacobian", "saved"])  # fmt: skip
def test_a_program_imports_no_family_of_ops_that_it_does_not_use(
    tmp_path: Path, text: str, absent: set[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import sys, graphad as tf\n{text}print(*sys.modules)\n")
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert absent & set(done.stdout.split()) == set()
    assert [name for name in absent if importlib.util.find_spec(name) is None] == []  # no name is out of date


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_name_is_found_without_the_whole_list_as_with_it(stub: Path) -> None:
    text = stub.read_text(encoding="utf-8")
    listed = _parsed(text)
    short = {name: _line_of(text, name) for name in listed}
    assert {name: found for name, found in short.items() if found not in (None, listed[name])} == {}


USER = """
import graphad as tf
import graphad.linalg
from graphad import cond
from graphad.keras.layers import Dense

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
tf.cast(x[tf.newaxis], tf.bool)
tf.keras.Sequential([Dense(3), tf.keras.layers.Dense(2)])
tf.optimizers.Adam(tf.initializers.Ones()([], tf.float32))
graphad.linalg.solve(x, x)
reveal_type(tf.math.sin(x))
reveal_type(tf.keras.layers.Dense)
reveal_type(tf.nn.swish(x))
tf.nonsense  # the only mistakes
tf.linalg.nonsense
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
    said = [line for line in done.stdout.splitlines() if line.startswith("program.py")]
    mistakes = [line for line in said if "error:" in line]
    assert len(mistakes) == 2 and all('"nonsense"' in line for line in mistakes), done.stdout + done.stderr
    sin, dense, swish = (line.partition("Revealed type is ")[2] for line in said if "Revealed" in line)
    assert "graphad.core.tensor.Tensor" in sin
    assert "graphad.layers.dense.Dense" in dense
    assert "graphad.core.tensor.Tensor" in swish


def test_graphad_is_imported_without_the_packages_of_its_extras() -> None:
    missing = "; ".join(
        f"sys.modules[{name!r}] = None" for name in ("ml_dtypes", "scipy", "matplotlib", "cupy", "tqdm")
    )
    code = f"import sys; {missing}; import graphad as tf; print(float(tf.reduce_sum(tf.tanh(tf.ones([2])) * 0.0)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["0.0"], done.stderr


@pytest.mark.parametrize(
    ("older", "name"),
    [
        ("graphad.compat.v2.math", "graphad.math"),
        ("graphad.compat.v2.keras.layers", "graphad.keras.layers"),
        ("graphad.compat.v1.nn", "graphad.compat.v1.nn"),
        ("graphad.compat.v1.bitwise", "graphad.bitwise"),
        ("graphad.compat.v1.random", "graphad.compat.v1.random"),
    ],
)
def test_namespaces_are_imported_through_compat(older, name):
    code = (
        f"import {older}, importlib, sys; there = importlib.import_module({name!r}); "
        f"print(sys.modules[{older!r}] is there, there.__name__, there.__spec__.name)"
    )
    assert fresh(code) == f"True {name} {name}"


@pytest.mark.parametrize("name", ["core", "constant", "math.nothing"])
def test_only_namespaces_are_imported_through_compat(name):
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'graphad\.compat\.v2"):
        importlib.import_module(f"graphad.compat.v2.{name}")


def names_of_modules() -> dict[str, list[str]]:
    """For each package the names in its list that are those of modules in it, and mean something else."""
    found = {}
    for package in [stub.parent for stub in STUBS if stub.stem == "__init__"]:
        name = module_of(package)
        modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
        meant = {public for public, (place, _) in places_of(name).items() if place != name}
        if modules & meant:
            found[name] = sorted(modules & meant)
    return found


@pytest.mark.parametrize("package", names_of_modules())
def test_a_module_does_not_take_the_place_of_a_function_of_its_name(package):
    """Python gives a package each of its modules as an attribute; one with such a function imports the module before `attach`, or
    asks there for functions first."""
    wanted = [f"{package}.{name}" for name in names_of_modules()[package]]
    code = (
        f"import importlib; package = importlib.import_module({package!r}); "
        f"modules = {{name: importlib.import_module(name) for name in {wanted!r}}}; "
        "print([name for name, x in modules.items() if x.__name__ == name and getattr(package, name.split('.')[-1]) is x])"
    )
    assert fresh(code) == "[]"


def test_no_module_repeats_public_names_in_a_list_of_its_own() -> None:
    """`__all__` of a namespace comes from its stub; other modules need none."""
    sources = [path for room in ("graphad", "serialization") for path in (ROOT / room).rglob("*.py")]
    assert [
        str(path) for path in sources if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), re.M)
    ] == []
