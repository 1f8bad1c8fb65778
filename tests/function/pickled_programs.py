"""An importable module with functions of all kinds, pickled by `test_pickling`."""

import numpy as np

import graphad as tf


@tf.function
def doubled(x):
    return 2 * x


def plain(x):
    return x + 1


traced = tf.function(plain, jit_compile=False)  # no function is called `traced`
named_lambda = tf.function(lambda x: x - 1)


def in_other_process(function, x):
    """What a worker does: the function and the tensor come in pickles, the result goes out in one."""
    return function(x)


class Model(tf.Module):
    """Variables, a layer, a method that is a function, and a function made of a method."""

    def __init__(self):
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0], name="scale")
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
        self.step = tf.function(self.stepped)

    @tf.function
    def __call__(self, x):
        return self.dense(x * self.scale)

    @tf.function
    def __private(self, x):
        return x * self.scale

    def private(self):
        return self.__private

    def stepped(self, x):
        self.scale.assign_add(x)
        return self.scale.read_value()


def fitted():
    """A model and its optimizer after one step."""
    model, optimizer = Model(), tf.keras.optimizers.Adam(0.1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.constant(np.ones((1, 2), np.float32))))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return model, optimizer
