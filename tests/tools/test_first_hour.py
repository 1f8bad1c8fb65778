"""What a person types without looking anything up, from three sides: science, TensorFlow, PyTorch and JAX."""

import ast
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphad as tf
from graphad.core.late import places_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("grad", "GradientTape"), ("backward", "GradientTape"), ("detach", "stop_gradient"), ("clone", "identity"),
        ("requires_grad", "watch"), ("cuda", "device"), ("unsqueeze", "expand_dims"), ("view", "reshape"),
        ("permute", "transpose"), ("fill_", "at"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_a_tensor_says_what_serves_in_place_of_other_libraries_attributes(make, name, word):
    x = make([1.0, 2.0])
    with pytest.raises(AttributeError, match=word):
        getattr(x, name)
    assert not hasattr(x, name)
    assert name not in dir(x)


def test_symbols_say_it_too():
    @tf.function
    def f(x):
        return x.detach()

    with pytest.raises(AttributeError, match="stop_gradient"):
        f(tf.constant(1.0))


def test_pythons_own_functions_of_numbers():
    x = tf.constant(2.567, tf.float64)
    assert float(round(x, 1)) == 2.6
    assert float(round(tf.Variable(2.5))) == 2.0
    assert math.floor(x) == 2
    assert [float(part) for part in divmod(tf.constant(-7.0), 2.0)] == [-4.0, 1.0]
    assert [float(part) for part in divmod(7.0, tf.constant(2.0))] == [3.0, 1.0]
    assert tf.constant(1, tf.int16).itemsize == 2
    assert tf.Variable([1.0]).itemsize == 4


def test_formats_of_one_number_are_refused_for_more():
    with pytest.raises(TypeError, match=r"'\.3f' for a tensor of shape \(2,\)"):
        f"{tf.constant([1.0, 2.0]):.3f}"
    assert f"{tf.constant([1.0, 2.0])}" == "[1. 2.]"
    assert f"{tf.constant(math.pi):.3f}" == "3.142"


def test_an_index_out_of_range_is_an_index_error():
    for make in (tf.constant, tf.Variable):
        with pytest.raises(IndexError):
            make([1.0, 2.0])[2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1.0])[-2]


def test_layers_of_others_are_named_in_nn():
    with pytest.raises(AttributeError, match=r"keras\.layers\.Dense"):
        tf.nn.Linear


@pytest.mark.parametrize(
    ("arguments", "status", "said"), [([], 2, "doctor"), (["--version"], 0, tf.__version__)]
)
def test_the_command_line_says_what_there_is(arguments, status, said):
    found = subprocess.run([sys.executable, "-m", "graphad", *arguments], capture_output=True, text=True)
    assert (found.returncode, said in found.stdout + found.stderr) == (status, True)
    assert "Traceback" not in found.stderr


def test_modules_are_not_reached_through_namespaces_that_may_not_have_imported_them():
    """`from graphad import losses; losses.base` works once somebody has imported graphad.losses.base."""
    found = []
    for path in (ROOT / "graphad").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spaces = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphad")
            for alias in node.names
            if (ROOT / f"{node.module}.{alias.name}".replace(".", "/") / "__init__.pyi").exists()
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in spaces
            ):
                space = spaces[node.value.id]
                inside = ROOT / space.replace(".", "/") / node.attr
                if node.attr not in places_of(space) and (
                    inside.is_dir() or inside.with_suffix(".py").exists()
                ):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {space}.{node.attr}")
    assert found == []


def test_metrics_with_a_threshold_are_the_first_thing_that_a_process_does():
    program = "import graphad as tf; m = tf.keras.metrics.BinaryAccuracy(); m.update_state([1, 0], [0.9, 0.2]); print(m.result())"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stderr


def test_numpy_indexes_and_iterates():
    x = tf.constant([1, 2])
    assert np.arange(5)[x].tolist() == [1, 2]
    assert sorted([tf.constant(2.0), tf.constant(1.0)])[0].numpy() == 1.0


def test_vander_says_that_it_takes_a_vector():
    with pytest.raises(ValueError, match="vander: x has rank 0"):
        tf.numpy.vander(1.0)
