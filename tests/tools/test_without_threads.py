"""Where the system allows no further thread, or only a few, everything gives the same results."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from serialization.wire.threads import side_by_side

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, threading
import numpy as np

left = int(sys.argv[1])
name = "_start_new_thread" if hasattr(threading, "_start_new_thread") else "_start_joinable_thread"
start = getattr(threading, name)

def limited(*given, **named):
    global left
    left -= 1
    if left < 0:
        raise RuntimeError("can't start new thread")
    return start(*given, **named)

setattr(threading, name, limited)

import graphad as tf

v = tf.Variable(np.full((4, 3), 0.5, np.float32))

@tf.function(jit_compile=True)
def waited_for(x):
    return tf.reduce_sum(tf.nn.relu(x @ v))

@tf.function
def hot(x):
    return x * 2.0 + 1.0

class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.parts = [tf.Variable(np.full((1000, 1000), k, np.float32)) for k in range(4)]

print(float(waited_for(tf.ones([5, 4]))), float(waited_for(tf.ones([6, 4]))))
x = tf.ones([400, 400])
for _ in range(30):
    y = hot(x)
print(float(y[3, 3]))
path = sys.argv[2]
tf.saved_model.save(Model(), path)
print([float(tf.reduce_max(p)) for p in tf.saved_model.load(path).parts])
held = tf.train.Checkpoint(v=v)
options = tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)
at = held.write(path + "/values", options=options)
held.sync()
v.assign(v * 0.0)
held.read(at)
print(v.numpy().max())
"""


@pytest.mark.parametrize("allowed", [0, 2])
def test_programs_run_where_few_threads_may_be_started(allowed, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHAD_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, str(program), str(allowed), str(tmp_path / "model")],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["30.0 36.0", "3.0", "[0.0, 1.0, 2.0, 3.0]", "0.5"], done.stderr
    assert "Traceback" not in done.stderr


def test_a_failure_in_any_thread_is_raised():
    def act(k):
        if k == 5:
            raise MemoryError("of item 5")
        return np.square(k)

    assert side_by_side(act, range(5), at_least=4) == [0, 1, 4, 9, 16]
    with pytest.raises(MemoryError, match="of item 5"):
        side_by_side(act, range(9), at_least=4)
