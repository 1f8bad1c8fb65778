"""Where SciPy is not installed, what needs it says so, by name."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.modules["scipy"] = None
import graphad as tf
x = tf.constant([[0.3, 0.1], [0.2, 0.4]])
for f in (tf.linalg.expm, tf.signal.dct, lambda x: tf.math.zeta(x + 1.0, x), tf.function(tf.linalg.expm)):
    try:
        f(x)
    except tf.errors.GraphadError as error:
        print(error)
"""


def test_the_function_that_needs_scipy_is_named():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
    )
    said = [line for line in done.stdout.splitlines() if "SciPy" in line]
    *eager, traced = [line.partition(" computed by SciPy, which is not installed")[0] for line in said]
    assert eager == ["expm is", "dct is", "zeta is"], done.stderr
    assert traced.endswith(" is")
