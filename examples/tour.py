"""The whole way in one program: trace a function, differentiate it, compile it, save it, load it elsewhere, plot it.

python examples/tour.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import graphad as tf
from plotting import pyplot, save


class Oscillator(tf.Module):
    """A damped wave whose damping and frequency can be trained."""

    def __init__(self):
        super().__init__()
        self.damping = tf.Variable(0.3, name="damping")
        self.frequency = tf.Variable(2.0, name="frequency")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def __call__(self, t):
        return tf.exp(-self.damping * t) * tf.cos(self.frequency * t)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def velocity(self, t):
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = self(t)
        return tape.gradient(y, t)

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])], jit_compile=True)
    def fit(self, t, wanted):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(t) - wanted) ** 2)
        slopes = tape.gradient(loss, [self.damping, self.frequency])
        self.damping.assign_sub(0.2 * slopes[0])
        self.frequency.assign_sub(0.2 * slopes[1])
        return loss


ELSEWHERE = """
import sys
import graphad as tf
model = tf.saved_model.load(sys.argv[1])
t = tf.linspace(0.0, 1.0, 3)
print("   elsewhere:  y =", model(t).numpy().round(4), " dy/dt =", model.velocity(t).numpy().round(4))
with tf.GradientTape() as tape:
    y = tf.reduce_sum(model.velocity(t))
print("   elsewhere:  d(sum dy/dt)/d frequency =", round(float(tape.gradient(y, model.frequency)), 4))
"""


def main() -> None:
    model = Oscillator()
    t = tf.linspace(0.0, 8.0, 400)

    start = time.perf_counter()
    y = model(t)
    model.velocity(t)
    print(f"1. traced and differentiated, first results after {1e3 * (time.perf_counter() - start):.1f} ms")
    nodes = model.velocity.get_concrete_function().graph.nodes
    print("   the graph of `velocity`:", " -> ".join(node.op.name for node in nodes))

    wanted = tf.exp(-0.2 * t) * tf.cos(2.3 * t)
    start = time.perf_counter()
    first = float(model.fit(t, wanted))
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(500):
        last = model.fit(t, wanted)
    each = (time.perf_counter() - start) / 500
    print(f"2. compiled in {1e3 * compiled:.0f} ms; 500 training steps of {1e6 * each:.1f} us each")
    print(
        f"   loss {first:.4f} -> {float(last):.2e}; damping {float(model.damping):.3f}, frequency {float(model.frequency):.3f}"
    )

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "oscillator")
        tf.saved_model.save(model, path)
        size = sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
        print(f"3. saved in {size} bytes, loaded by another process:", flush=True)
        subprocess.run([sys.executable, "-c", ELSEWHERE, path], check=True)

    pyplot.plot(t.numpy(), y, ":", label="before training")
    pyplot.plot(t.numpy(), wanted, linewidth=6, alpha=0.3, label="wanted")
    pyplot.plot(t.numpy(), model(t), label="after training")
    pyplot.plot(t.numpy(), model.velocity(t), label="its derivative")
    pyplot.title("A damped wave, fitted by gradient descent, and its derivative")
    pyplot.xlabel("t")
    pyplot.legend()
    print("4. plotted")
    save("tour")


if __name__ == "__main__":
    main()
