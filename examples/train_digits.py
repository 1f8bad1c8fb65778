"""Train a small network on scikit-learn's handwritten digits, save it, load it in another process and train it on there.

python examples/train_digits.py [--epochs 20]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import graphad as tf

try:
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"error: this example needs {error.name}; pip install scikit-learn tqdm")

BATCH = 64


class Classifier(tf.Module):
    """64 pixels to 10 scores. Both functions are saved: `__call__` for use, `train_step` for further training."""

    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(64, activation="relu")
        self.scores = tf.keras.layers.Dense(10)
        self.optimizer = tf.keras.optimizers.Adam(0.003)
        self.scores(self.hidden(tf.zeros([1, 64])))
        self.weights = self.hidden.trainable_variables + self.scores.trainable_variables
        self.optimizer.build(self.weights)

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def __call__(self, x):
        return self.scores(self.hidden(x))

    @tf.function(input_signature=[tf.TensorSpec([None, 64]), tf.TensorSpec([None], tf.int32)])
    def train_step(self, x, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.scores(self.hidden(x)))
            )
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
        return loss


def digits():
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = (data.data[order] / 16.0).astype(np.float32)
    labels = data.target[order].astype(np.int32)
    return (x[:1400], labels[:1400]), (x[1400:], labels[1400:])


def accuracy(model, x, labels) -> float:
    return float(np.mean(np.argmax(model(x).numpy(), axis=1) == labels))


def train(model, x, labels, epochs: int) -> None:
    generator = np.random.default_rng(1)
    bar = tqdm(range(epochs), desc="training", unit="epoch", disable=not sys.stderr.isatty())
    for _ in bar:
        order = generator.permutation(len(x))
        losses = []
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            losses.append(float(model.train_step(x[rows], labels[rows])))
        bar.set_postfix(loss=f"{np.mean(losses):.3f}")


def fine_tune(path: str) -> None:
    """What the other process does: load, check, train on, check again."""
    (x, labels), (test_x, test_labels) = digits()
    model = tf.saved_model.load(path)
    print(
        f"   loaded:     accuracy {accuracy(model, test_x, test_labels):.3f} in a process that never saw the class"
    )
    train(model, x, labels, 5)
    print(f"   fine-tuned: accuracy {accuracy(model, test_x, test_labels):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--fine-tune", metavar="PATH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fine_tune:
        fine_tune(options.fine_tune)
        return
    tf.random.set_seed(0)
    (x, labels), (test_x, test_labels) = digits()
    model = Classifier()
    print(f"   untrained:  accuracy {accuracy(model, test_x, test_labels):.3f}")
    train(model, x, labels, options.epochs)
    print(f"   trained:    accuracy {accuracy(model, test_x, test_labels):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "digits")
        tf.saved_model.save(model, path)
        subprocess.run([sys.executable, __file__, "--fine-tune", path], check=True)


if __name__ == "__main__":
    main()
