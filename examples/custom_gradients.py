"""Gradients of one's own: clipped ones, stable ones, those of new ops, and what becomes of them in a saved model."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import graphad as tf


@tf.custom_gradient
def clip_upstream(x):
    """The identity, whose gradient is clipped to norm 0.5."""
    return x, lambda upstream: tf.clip_by_norm(upstream, 0.5)


@tf.custom_gradient
def log_one_plus_exp(x):
    """log(1 + exp(x)) with a gradient that does not overflow: sigmoid(x) instead of inf/inf."""
    e = tf.exp(x)
    return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


class Clipped(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def __call__(self, x):
        return clip_upstream(x)


LOAD_ELSEWHERE = """
import sys, warnings
import graphad as tf
warnings.simplefilter("ignore")
model = tf.saved_model.load(sys.argv[1])
v = tf.Variable(2.0)
print("   forward without a tape:", model(v * v).numpy())
try:
    with tf.GradientTape() as tape:
        y = model(v * v)
    print("   gradient:", tape.gradient(y, v).numpy())
except LookupError as error:
    print("   LookupError:", str(error)[:68], "...")
"""


def slope(f, x: float) -> float:
    v = tf.Variable(x)
    with tf.GradientTape() as tape:
        y = f(v)
    return float(tape.gradient(y, v))


def save_and_load() -> None:
    for saved in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            options = tf.saved_model.SaveOptions(experimental_custom_gradients=saved)
            tf.saved_model.save(Clipped(), path, options=options)
            loaded = tf.saved_model.load(path)
            print(f"saved with custom gradients: {saved}")
            print("   loaded here, d clip(v*v)/dv at 2:", slope(lambda v, m=loaded: m(v * v), 2.0))
            print("   loaded in another process:", flush=True)
            subprocess.run([sys.executable, "-c", LOAD_ELSEWHERE, path], check=True)


def a_new_op() -> None:
    def triangle(x: np.ndarray) -> np.ndarray:
        return np.abs(x - np.round(x))

    wave = tf.new_op("triangle_wave", triangle)

    @tf.RegisterGradient("triangle_wave")
    def _gradient(op, upstream):
        x = op.inputs[0]
        return upstream * tf.sign(x - tf.round(x))

    x = tf.constant([0.2, 0.8, 1.3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wave(x)
    print("new op:      ", y.numpy(), "gradient", tape.gradient(y, x).numpy())


if __name__ == "__main__":
    print("clipped:      d clip(v*v)/dv at 2:", slope(lambda v: clip_upstream(v * v), 2.0))
    print("stable:       d log(1+exp(x)) at 100:", slope(log_one_plus_exp, 100.0))
    a_new_op()
    save_and_load()
