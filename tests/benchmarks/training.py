"""Eager training as users write it, a tape and Adam, beside TensorFlow and PyTorch: processor time of a step, and memory.

    python tests/benchmarks/training.py [--tensorflow PYTHON] [--torch PYTHON]

PYTHON is an interpreter that has the library, where it is not this one. Each model and library is a process of its own with one
thread; the least time of many runs counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
rng = np.random.default_rng(0)


def small(*shape: int) -> np.ndarray:
    return (0.1 * rng.standard_normal(shape)).astype(np.float32)


def classes(count: int) -> np.ndarray:
    return rng.integers(0, 10, count).astype(np.int64)


# Each model: its weights, its data, and the loss in TensorFlow's names and in PyTorch's.


def perceptron() -> tuple[list[np.ndarray], list[np.ndarray]]:
    weights = [small(32, 64), small(64), small(64, 64), small(64), small(64, 10), small(10)]
    return weights, [small(32, 32), classes(32)]


def perceptron_tf(tf: Any, w: Any, x: Any, y: Any) -> Any:
    h = tf.nn.relu(tf.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, h @ w[4] + w[5]))


def perceptron_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    h = torch.relu(torch.relu(x @ w[0] + w[1]) @ w[2] + w[3])
    return torch.nn.functional.cross_entropy(h @ w[4] + w[5], y)


def convolutions() -> tuple[list[np.ndarray], list[np.ndarray]]:
    weights = [small(3, 3, 1, 8), small(8), small(3, 3, 8, 16), small(16), small(784, 10), small(10)]
    return weights, [small(16, 28, 28, 1), classes(16)]


def convolutions_tf(tf: Any, w: Any, x: Any, y: Any) -> Any:
    for kernel, bias in (w[:2], w[2:4]):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    logits = tf.reshape(x, [16, -1]) @ w[4] + w[5]
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))


def convolutions_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    function = torch.nn.functional
    for kernel, bias in (w[:2], w[2:4]):
        x = function.max_pool2d(torch.relu(function.conv2d(x, kernel, bias, padding=1)), 2)
    return function.cross_entropy(x.reshape(16, -1) @ w[4] + w[5], y)


def recurrence() -> tuple[list[np.ndarray], list[np.ndarray]]:
    weights = [small(16, 128), small(32, 128), small(128), small(32, 1), small(1)]
    return weights, [small(20, 8, 16), small(8, 1)]


def recurrence_tf(tf: Any, w: Any, x: Any, y: Any) -> Any:
    h = c = tf.zeros([8, 32])
    for t in range(20):
        i, f, o, u = tf.split(x[t] @ w[0] + h @ w[1] + w[2], 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(u)
        h = tf.sigmoid(o) * tf.tanh(c)
    return tf.reduce_mean(tf.square(h @ w[3] + w[4] - y))


def recurrence_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    h = c = torch.zeros(8, 32)
    for t in range(20):
        i, f, o, u = torch.chunk(x[t] @ w[0] + h @ w[1] + w[2], 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
    return ((h @ w[3] + w[4] - y) ** 2).mean()


def attention() -> tuple[list[np.ndarray], list[np.ndarray]]:
    weights = [*[small(32, 32) for _ in range(4)], np.ones(32, np.float32), small(32)]
    return [*weights, small(32, 64), small(64), small(64, 32), small(32)], [
        small(4, 16, 32),
        small(4, 16, 32),
    ]


def attention_tf(tf: Any, w: Any, x: Any, y: Any) -> Any:
    q, k, v = (tf.transpose(tf.reshape(x @ part, [4, 16, 4, 8]), [0, 2, 1, 3]) for part in w[:3])
    seen = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8**0.5) @ v
    h = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [4, 16, 32]) @ w[3] + x
    mean, variance = tf.nn.moments(h, [-1], keepdims=True)
    h = tf.nn.batch_normalization(h, mean, variance, w[5], w[4], 1e-5)
    h = h + tf.nn.gelu(h @ w[6] + w[7]) @ w[8] + w[9]
    return tf.reduce_mean(tf.math.squared_difference(h, y))


def attention_torch(torch: Any, w: Any, x: Any, y: Any) -> Any:
    function = torch.nn.functional
    q, k, v = ((x @ part).reshape(4, 16, 4, 8).permute(0, 2, 1, 3) for part in w[:3])
    seen = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
    h = seen.permute(0, 2, 1, 3).reshape(4, 16, 32) @ w[3] + x
    h = function.layer_norm(h, (32,), w[4], w[5], 1e-5)
    h = h + function.gelu(h @ w[6] + w[7]) @ w[8] + w[9]
    return ((h - y) ** 2).mean()


MODELS = ("perceptron", "convolutions", "recurrence", "attention")


def step_of(library: str, model: str) -> Callable[[], Any]:
    """One step of training."""
    weights, data = globals()[model]()
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        if model == "convolutions":  # channels come first there
            weights = [np.ascontiguousarray(w.transpose(3, 2, 0, 1)) if w.ndim == 4 else w for w in weights]
            data[0] = np.ascontiguousarray(data[0].transpose(0, 3, 1, 2))
        parameters = [torch.tensor(w, requires_grad=True) for w in weights]
        tensors = [torch.tensor(x) for x in data]
        optimizer = torch.optim.Adam(parameters, 1e-3)

        def by_torch() -> Any:
            optimizer.zero_grad()
            loss = globals()[f"{model}_torch"](torch, parameters, *tensors)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return by_torch
    if library == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    else:
        import graphad as tf
    variables, constants = [tf.Variable(w) for w in weights], [tf.constant(x) for x in data]
    adam = tf.keras.optimizers.Adam(1e-3)

    def by_tape() -> Any:
        with tf.GradientTape() as tape:
            loss = globals()[f"{model}_tf"](tf, variables, *constants)
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return by_tape


def measure(library: str, model: str) -> dict[str, float]:
    step = step_of(library, model)
    for _ in range(20):
        loss = step()
    best = float("inf")
    for _ in range(40):
        before = time.process_time()
        for _ in range(10):
            step()
        best = min(best, (time.process_time() - before) / 10)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"step": best, "memory": memory / 1024, "loss": float(loss)}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--tensorflow", default=sys.executable, help="an interpreter that has it")
    asked.add_argument("--torch", default=sys.executable, help="an interpreter that has it")
    asked.add_argument("--only", nargs=2, metavar=("LIBRARY", "MODEL"), help="in this process, as JSON")
    options = asked.parse_args()
    if options.only:
        print(json.dumps(measure(*options.only)))
        return
    single = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GRAPHAD_THREADS"), "1"
    )
    environment = {**os.environ, **single, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    pythons = {"graphad": sys.executable, "tensorflow": options.tensorflow, "torch": options.torch}
    for model in MODELS:
        cells = []
        for library, python in pythons.items():
            command = [python, __file__, "--only", library, model]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if not done.returncode:
                found = json.loads(done.stdout.splitlines()[-1])
                cells.append(
                    f"{library} {found['step'] * 1e6:.0f} us, {found['memory']:.0f} MB, loss {found['loss']:.5f}"
                )
        print(f"{model:<14}" + " | ".join(cells), flush=True)


if __name__ == "__main__":
    main()
