"""What a type checker says of programs that use graphad: nothing of a right one, and every mistake of a wrong one."""

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import graphad
from graphad.core.dtypes import DType
from graphad.core.late import places_of
from tests.test_names import LISTS, ROOT

pytest.importorskip("mypy")

RIGHT = """
from collections.abc import Callable

import numpy as np

import graphad as tf


class Line(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0], [2.0]])
        self.b = tf.Variable(0.0)

    @tf.function
    def __call__(self, x: tf.Tensor, scale: float = 1.0) -> tf.Tensor:
        return tf.matmul(x, self.w) * scale + self.b


@tf.custom_gradient
def clipped(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    def backward(dy: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_norm(dy, 1.0)

    return tf.identity(x), backward


@tf.recompute_grad
def block(x: tf.Tensor) -> tf.Tensor:
    return tf.tanh(x) + 1


@tf.function(jit_compile=False)
def loss_of(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(prediction - target))


model = Line()
x = tf.constant(np.ones((3, 2), np.float32))
y = tf.zeros([3, 1], tf.float32)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    loss = loss_of(block(clipped(model(x, scale=2.0))), y)
by_w, by_b = tape.gradient(loss, [model.w, model.b])
model.w.assign_sub(0.1 * by_w)
model.b.assign_sub(by_b * 0.1)
by_x = tape.gradient(loss, x)
total: float = float(tf.reduce_sum(by_x, axis=[0, 1]))
rows: tf.Tensor = tf.vectorized_map(lambda row: tf.exp(row), x)
part = x[0] + (rows[:, 1:] @ tf.ones([1, 2]))[0]
names = {"w": model.w}
for key, bar in tape.gradient(loss, names).items():
    print(key.upper(), bar.shape, tf.cast(bar, "float64").numpy())
print(tf.reshape(part, [-1, 2]).dtype.name, tf.stack([x, x]).shape.rank, tf.add(1.0, [2.0, 3.0]), -x, 2.0 * x > 1)
print(tf.nn.softmax(x, axis=-1), tf.linalg.norm(x), tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), 1, "SAME"))
"""

MISTAKES = [
    'tf.reduce_sum("text")',  # an argument of a wrong type
    "tf.matmul(x)",  # too few
    "tf.exp(x, axis=1)",  # of a name that there is not
    "x.shpae",  # an attribute that there is not
    'x + "one"',  # an operand that is not a tensor
    "loss_of(x)",  # too few arguments of a traced function
    'loss_of(x, "target")',  # one of a wrong type
    "loss_of(x, y).lower()",  # its result is not text
    "model(x, scale=[1, 2])",  # a traced method
    "clipped(x, 2.0)",  # a function with a gradient of its own gets what the function gets
    "block(x, y)",
    "tape.gradient(loss)",
    "tape.gradient(loss, x).append(1)",  # one source has one gradient
    "tape.gradient(loss, [x]).shape",  # and several have a list of them
    "tf.cast(x, 64)",
    "tf.reduce_meen(x)",
]

TRAINING = """
import tempfile
from pathlib import Path

import numpy as np

import graphad as tf
from graphad import functional
from graphad import numpy as gnp


class Net(tf.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = tf.keras.layers.Dense(width, activation="tanh")
        self.last = tf.Variable(tf.ones([width, 1]), name="last")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return self.dense(x) @ self.last


net = Net(4)
optimizer = tf.keras.optimizers.Adam(learning_rate=1e-2)
loss_of = tf.keras.losses.MeanSquaredError()
mean = tf.keras.metrics.Mean(name="loss")


@tf.function
def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = loss_of(y, net(x))
    variables = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def predict(x: tf.Tensor) -> tf.Tensor:
    return net(x)


xs = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
ys = xs.sum(axis=1, keepdims=True)
for batch, target in tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(8).batch(4):
    mean.update_state(step(batch, target))
print(float(mean.result()))
mean.reset_state()

with tempfile.TemporaryDirectory() as place:
    tf.saved_model.save(net, Path(place) / "model", signatures={"serving_default": predict})
    loaded = tf.saved_model.load(Path(place) / "model")
    served = loaded.signatures["serving_default"](tf.ones([1, 3]))
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, str(Path(place) / "kept"), max_to_keep=2)
    print(manager.save())
    checkpoint.restore(manager.latest_checkpoint).assert_consumed()


def energy(v: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.sin(v) ** 2)


v = tf.ones([3])
points = gnp.linspace(0.0, 1.0, 5)
slope, pull = functional.vjp(energy, v)
with tf.autodiff.ForwardAccumulator(v, tf.ones_like(v)) as accumulator:
    waves = tf.sin(v)
"""

# What the checker knows of the results of common calls: of none of them nothing.
SEEN = {
    "net.dense(v)": "Tensor",
    "net.last.assign_add(net.last)": "Variable",
    "net.last + 1": "Tensor",
    "net.trainable_variables": "tuple[Variable, ...]",
    "[row for row in v]": "list[Tensor]",
    "mean.result()": "Tensor",
    "step": "Function[[x: Tensor, y: Tensor], Tensor]",
    "step(v, v)": "Tensor",
    "tf.cond(v[0] > 0, lambda: v, lambda: -v)": "Tensor",
    "tf.map_fn(energy, v)": "Tensor",
    "tf.case([(v[0] > 0, lambda: v)], default=lambda: -v)": "Tensor",
    "tf.switch_case(tf.constant(0), [lambda: v, lambda: -v])": "Tensor",
    "v.T": "Tensor",
    "v.sum(0)": "Tensor",
    "v.reshape(3, 1).mean(axis=1, keepdims=True)": "Tensor",
    "v.at[0].set(1.0)": "Tensor",
    "v == 1": "Tensor",
    "divmod(v, 2)": "tuple[Tensor, Tensor]",
    "round(v)": "Tensor",
    "v.numpy()": "ndarray[tuple[Any, ...], dtype[Any]]",
    "net.last.max()": "Tensor",
    "tf.keras.layers.Dropout(0.5)(v)": "Tensor",
    "tf.TensorArray(tf.float32, 3).unstack(v).read(0)": "Tensor",
    "tf.linalg.LinearOperatorDiag(v).matmul(tf.ones([3, 1]))": "Tensor",
    "tf.signal.rfft(v)": "Tensor",
    "gnp.where(v > 0)": "tuple[Tensor, ...]",
    "gnp.where(v > 0, v, -v)": "Tensor",
    "gnp.unique(v)": "Tensor",
    "gnp.unique(v, return_counts=True)": "tuple[Tensor, ...]",
    "gnp.linalg.svd(tf.ones([2, 2])).S": "Tensor",
    "gnp.atleast_2d(v)": "Tensor",
    "tf.math.top_k(v).values": "Tensor",
    "tf.unique(v).idx": "Tensor",
    "functional.grad(energy)": "def (v: Tensor) -> Any",
    "functional.value_and_grad(energy)": "def (v: Tensor) -> tuple[Tensor, Any]",
    "functional.vmap(energy)": "def (v: Tensor) -> Tensor",
    "functional.checkpoint(energy)": "def (v: Tensor) -> Tensor",
    "functional.jvp(energy, [v], [v])": "tuple[Tensor, Tensor]",
    "slope": "Tensor",
    "pull": "def (Any) -> tuple[Any, ...]",
    "accumulator.jvp(waves)": "Tensor",
    "points": "Tensor",
    "gnp.einsum('i,i->', points, points)": "Tensor",
    "optimizer.iterations": "Variable",
    "manager.latest_checkpoint": "str | None",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says, by the line of the program."""
    return checked(tmp_path_factory, RIGHT + "\n".join(MISTAKES) + "\n", "error")


def checked(tmp_path_factory, program, kind):
    root = tmp_path_factory.mktemp("typed")
    (root / "program.py").write_text(program, encoding="utf-8")
    (root / "mypy.ini").write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\n" + SKIPPED, encoding="utf-8"
    )
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--config-file", "mypy.ini", "program.py"]
    command += ["--cache-dir", os.environ.get("MYPY_CACHE_DIR", str(ROOT / ".mypy_cache"))]
    paths = {"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=root, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    found: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        place, _, message = line.partition(f": {kind}: ")
        assert kind == "error" or ": error: " not in line, line
        if message:
            assert place.startswith("program.py:"), line
            found.setdefault(int(place.split(":")[1]), []).append(message)
    assert found, done.stdout + done.stderr
    return found


SKIPPED = "\n".join(
    f"[mypy-{name}.*]\nignore_missing_imports = True\nfollow_imports = skip"
    for name in ("cuda", "cupy", "llvmlite", "ml_dtypes", "numba", "optree", "scipy")
)
FIRST = RIGHT.count("\n") + 1


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=MISTAKES)
def test_a_type_checker_finds_the_mistake(said, number):
    assert FIRST + number in said


def test_a_type_checker_has_nothing_to_say_of_a_right_program(said):
    assert {line: text for line, text in said.items() if line < FIRST} == {}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What mypy knows of each expression, in words without modules."""
    lines = "".join(f"reveal_type({expression})\n" for expression in SEEN)
    found = checked(tmp_path_factory, TRAINING + lines, "note")
    first = TRAINING.count("\n") + 1
    word = re.compile(r"[a-z_]+\.(?=\w)")
    return {
        expression: word.sub("", found[first + number][0].partition('"')[2][:-1])
        for number, expression in enumerate(SEEN)
    }


@pytest.mark.parametrize("expression", SEEN)
def test_a_type_checker_sees_what_a_call_gives(seen, expression):
    assert seen[expression] == SEEN[expression]


def test_the_training_program_runs():
    exec(compile(TRAINING, "program.py", "exec"), {"__name__": "program"})


@pytest.fixture(scope="module")
def said_by_pyright(tmp_path_factory):
    """What pyright says in its strict mode, by the line of the program; where it is installed: it brings a runtime of its own."""
    pyright = shutil.which(
        "pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if pyright is None:
        pytest.skip("pyright is not installed")
    root = tmp_path_factory.mktemp("pyright")
    (root / "program.py").write_text(RIGHT + "\n".join(MISTAKES) + "\n", encoding="utf-8")
    settings = {"include": ["program.py"], "extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    (root / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [pyright, "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright does not run here: {done.stderr[-200:]}")
    return {message["range"]["start"]["line"] + 1: message["message"] for message in found}


def test_pyright_finds_every_mistake_and_nothing_else(said_by_pyright):
    assert sorted(said_by_pyright) == [FIRST + number for number in range(len(MISTAKES))]


def test_the_right_program_runs(capsys):
    exec(compile(RIGHT.replace("jit_compile=False", "jit_compile=None"), "program.py", "exec"), {})
    assert "float64" not in capsys.readouterr().err


def public_functions():
    found = {}
    for name in LISTS:
        namespace = importlib.import_module(name)
        for shown in places_of(name):
            value = getattr(namespace, shown)
            is_function = callable(value) and not inspect.isclass(value) and not isinstance(value, DType)
            if not shown.startswith("_") and is_function:
                found[id(value)] = f"{name}.{shown}", value
    return list(found.values())


# What these give is as their arguments are, or as a file says.
GIVES_ANYTHING = {
    *"foldl foldr map_fn scan while_loop numpy_function py_function".split(),
    *"map_structure pack_sequence_as load load_variable get_static_value dimension_value path_to_str".split(),
    "type_spec_from_value",
    *"do_not_convert jvp vjp hvp linearize gradients root fixed_point minimize least_squares solve_ivp".split(),
    # Those of `compat.v1`, whose list of one result is that result.
    *"case cond".split(),
    # The structure of an element, or the element.
    *"get_structure get_single_element".split(),
    # What is not a name comes back as it is; a configuration tells the class.
    *"get deserialize".split(),
    # One tensor or several, as NumPy's do.
    *"linspace gradient".split(),
}
# The numbers may only become smaller. The NumPy namespace takes what numpy.asarray takes, and more.
OPEN_PARAMETERS, OPEN_PARAMETERS_OF_NUMPY = 37, 199


def test_every_public_function_says_what_it_gives():
    open_ = []
    for name, value in public_functions():
        result = inspect.signature(value).return_annotation
        if result in ("Any", inspect.Signature.empty) and name.rpartition(".")[2] not in GIVES_ANYTHING:
            open_.append(name)
    assert open_ == []


def methods_of(kind):
    """The public methods and properties of a class by name."""
    for name, value in vars(kind).items():
        value = getattr(value, "__func__", getattr(value, "fget", value))
        if inspect.isfunction(value) and (not name.startswith("_") or name in ("__init__", "__call__")):
            yield name, value


def public_classes():
    values = (getattr(importlib.import_module(name), shown) for name in LISTS for shown in places_of(name))
    return {id(value): value for value in values if inspect.isclass(value)}.values()


def test_annotations_of_public_functions_and_methods_are_resolved():
    checked = [(name, value) for name, value in public_functions() if inspect.isfunction(value)]
    for kind in public_classes():
        checked += [(f"{kind.__name__}.{name}", value) for name, value in methods_of(kind)]
    unresolved = []
    for name, value in checked:
        try:
            typing.get_type_hints(value)
        except NameError as error:
            unresolved.append(f"{name}: {error}")
    assert len(checked) > 2000
    assert unresolved == []


def test_parameters_of_public_functions_are_typed():
    open_, open_of_numpy = [], []
    for name, value in public_functions():
        found = open_of_numpy if value.__module__.startswith("graphad.ops.numpy.") else open_
        for parameter in inspect.signature(value).parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter.name)
            if parameter.annotation == "Any":
                found.append(f"{name}({parameter.name})")
    assert len(open_) <= OPEN_PARAMETERS, open_
    assert len(open_of_numpy) <= OPEN_PARAMETERS_OF_NUMPY, open_of_numpy


def test_every_function_says_what_it_gives():
    bare = []
    for path in Path(ROOT / "graphad").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.returns is None:
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert bare == []


def test_what_a_variable_takes_is_shown():
    assert list(inspect.signature(graphad.Variable).parameters)[:3] == [
        "initial_value",
        "trainable",
        "validate_shape",
    ]
