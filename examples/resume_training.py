"""A training that is killed in the middle and goes on from its last checkpoint, to the last bit as if nothing had happened.

python examples/resume_training.py
"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

import graphad as tf

STEPS = 60

# Last bits depend on whether a loop runs compiled yet; without the compiler two runs are the same to the last one.
tf.config.set_jit("never")


def make(directory):
    """Everything that belongs to the training: variables, slots of the optimizer, the step, the random numbers."""
    tf.random.set_seed(1)
    net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(0.01)
    checkpoint = tf.train.Checkpoint(
        net=net,
        optimizer=optimizer,
        step=tf.Variable(0, dtype="int64"),
        noise=tf.random.Generator.from_seed(7),
    )
    return tf.train.CheckpointManager(checkpoint, directory, max_to_keep=3)


def train(manager, steps, die_at=None):
    """Train up to `steps`, with a checkpoint every ten; `die_at` ends the process there, in the middle of everything."""
    checkpoint = manager.checkpoint
    x = tf.constant(np.linspace(-2, 2, 64, dtype=np.float32)[:, None])

    @tf.function
    def step():
        noisy = tf.sin(3 * x) + checkpoint.noise.normal([64, 1], stddev=0.05)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((checkpoint.net(x) - noisy) ** 2)
        variables = checkpoint.net.trainable_variables
        checkpoint.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    loss = None
    while int(checkpoint.step) < steps:
        loss = step()
        checkpoint.step.assign_add(1)
        if int(checkpoint.step) == die_at:
            sys.exit(3)  # nothing after the last checkpoint is kept
        if int(checkpoint.step) % 10 == 0:
            manager.save()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", help=argparse.SUPPRESS)  # of the process that is to be killed
    arguments = parser.parse_args()
    if arguments.directory:
        train(make(arguments.directory), STEPS, die_at=37)
        return

    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as broken:
        undisturbed = make(whole)
        train(undisturbed, STEPS)

        command = [sys.executable, __file__, "--directory", broken]
        died = subprocess.run(command, check=False).returncode == 3
        print("the other process was killed at step 37:", died)

        resumed = make(broken)  # nothing is built yet: layers and slots get their values when they come
        resumed.restore_or_initialize()
        print(
            "it goes on from step", int(resumed.checkpoint.step), "with the last of", len(resumed.checkpoints)
        )
        train(resumed, STEPS)
        resumed.checkpoint.restore(resumed.latest_checkpoint).assert_consumed()

        pairs = zip(undisturbed.checkpoint.net.variables, resumed.checkpoint.net.variables, strict=True)
        same = all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in pairs)
        print("the weights are the same, bit by bit:", same)
        for key, shape in tf.train.list_variables(resumed.latest_checkpoint)[:3]:
            print("   ", key, shape)
        if not (died and same):
            sys.exit("error: the resumed training differs")


if __name__ == "__main__":
    main()
