"""What asks for more memory than there is says which op did, eager and compiled."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
EAGER = {
    "add": "a + b",
    "mul": "tf.exp(a * b)",
    "matmul": "tf.matmul(a, b)",
    "exp": "tf.exp(wide)",
    "cast": "tf.cast(wide, tf.float64)",
    "broadcast_to": "tf.fill([2**33], 1.0)",
    "zeros": "tf.zeros([2**20, 2**14])",
    "ones": "tf.ones([2**33])",
    "constant": "tf.constant(0.0, shape=[2**33])",
    "eye": "tf.eye(2**17)",
    "range": "tf.range(2**35)",
    "linspace": "tf.linspace(0.0, 1.0, 2**33)",
}
PROGRAM = """
import json, resource, sys
import numpy as np
import graphad as tf
tf.config.set_jit(sys.argv[1])
a, b, wide = tf.zeros([2**16, 1]), tf.zeros([1, 2**16]), tf.convert_to_tensor(np.zeros([2**28], np.float32))
with open("/proc/self/statm") as file:
    limit = int(file.read().split()[0]) * resource.getpagesize() + (512 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = {}
for name, text in json.loads(sys.argv[2]).items():
    try:
        eval(text)()
        found[name] = "it has memory"
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def errors(jit, programs):
    texts = json.dumps({name: f"lambda: {text}" for name, text in programs.items()})
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, jit, texts]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_eager_ops_name_themselves():
    found = errors("auto", EAGER)
    assert {name: text.split(" ")[:2] for name, text in found.items()} == {
        name: ["ResourceExhaustedError:", f"{name}:"] for name in EAGER
    }


@pytest.mark.parametrize("jit", ["never", "always"])
def test_functions_name_an_op_of_theirs(jit):
    given = "[tf.TensorSpec([None, 1]), tf.TensorSpec([1, None])]"
    programs = {
        "result": f"tf.function(lambda x, y: x + y, input_signature={given})(a, b)",
        "between": f"tf.function(lambda x, y: tf.reduce_sum(tf.cumsum(x * y)), input_signature={given})(a, b)",
        "of sizes alone": "tf.function(lambda: tf.fill([2**33, 4], 1.0))()",
    }
    found = errors(jit, programs)
    for name, ops in {
        "result": ["add"],
        "between": ["mul", "cumsum"],
        "of sizes alone": ["broadcast_to"],
    }.items():
        assert found[name].split(": ")[:2] in [["ResourceExhaustedError", op] for op in ops], found
