"""The first result of a compiled training step in a fresh process: with an empty cache, and in a second process that finds its
kernels there. Beside the time it shows what does not depend on how busy the machine is: Python calls, modules and memory.

A second process should neither import a compiler nor print code; what it spends is tracing, planning and imports.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, threading, time
start = time.perf_counter()
import numpy
since = time.perf_counter()
import graphad as tf
imported = time.perf_counter() - since
modules = len(sys.modules)

rng = numpy.random.default_rng(0)
sizes = [16, 32, 1]
weights = [tf.Variable(rng.normal(size=pair).astype("float32")) for pair in zip(sizes, sizes[1:])]
biases = [tf.Variable(numpy.zeros(n, "float32")) for n in sizes[1:]]
x = tf.constant(rng.normal(size=(8, 16)).astype("float32"))
target = tf.constant(rng.normal(size=(8, 1)).astype("float32"))

def model(x):
    for i in range(len(weights) - 1):
        x = tf.tanh(tf.matmul(x, weights[i]) + biases[i])
    return tf.matmul(x, weights[-1]) + biases[-1]

@tf.function(jit_compile=True)
def step(x, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - target) ** 2)
    return [loss] + tape.gradient(loss, weights + biases)

calls = [0]
def count(frame, event, argument):
    calls[0] += event == "call"
if "count" in sys.argv:
    threading.setprofile(count)
    sys.setprofile(count)
since = time.perf_counter()
step(x, target)
first = time.perf_counter() - since
sys.setprofile(None)
try:
    import resource
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
except ImportError:
    memory = float("nan")
print(imported, first, modules, len(sys.modules) - modules, memory, calls[0])
"""
HEAD = f"{'':<16}{'import':>10}{'first call':>12}{'modules':>9}{'more':>6}{'peak':>9}{'calls':>9}"


def run(program: Path, cache: str, *words: str) -> list[float]:
    """Seconds of the import and of the first call, modules of each, peak memory in MB, Python calls where they are counted."""
    done = subprocess.run(
        [sys.executable, str(program), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "GRAPHAD_CACHE_DIR": cache, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def main(repeats: int = 7) -> None:
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"  # a file: control flow is converted from its source
        program.write_text(PROGRAM)
        cache = os.path.join(folder, "cache")
        cold = run(program, cache)
        calls = run(program, cache, "count")[-1]
        rows = [run(program, cache) for _ in range(repeats)]
        warm = [*[min(column) for column in list(zip(*rows))[:2]], *rows[0][2:4]]
        warm += [statistics.median(row[4] for row in rows), calls]
    for name, row in (("empty cache", cold), ("second process", warm)):
        imported, first, modules, more, memory, calls = row
        counted = f"{calls:>9.0f}" if calls else ""
        print(
            f"{name:<16}{imported * 1e3:>7.1f} ms{first * 1e3:>9.1f} ms{modules:>9.0f}{more:>6.0f}{memory:>6.0f} MB{counted}"
        )


if __name__ == "__main__":
    main()
