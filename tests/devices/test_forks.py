"""A child of a process that uses CUDA devices cannot use them: that is said, where CUDA's own error does not tell why."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, types
import graphad as tf
from graphad.devices import library
library.set_library(types.SimpleNamespace(__name__="cupy", cuda=None))
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    assert library.library().__name__ == "cupy"
    raise SystemExit(os.waitstatus_to_exitcode(status))
for use in (lambda: tf.device("cuda"), lambda: library.library()):
    try:
        with use():
            tf.constant(1.0)
    except tf.errors.UnavailableError as error:
        print(error, flush=True)
print(tf.config.list_physical_devices("GPU"), float(tf.constant(2.0) * 3.0), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_says_that_it_is_one() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *told, rest = done.stdout.splitlines()
    assert len(told) == 2 and all("was forked" in line and "'spawn'" in line for line in told), told
    assert rest == "[] 6.0"
