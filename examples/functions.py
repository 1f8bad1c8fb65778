"""Compiled functions: one trace for many shapes, control flow as ops, gradients of functions of functions, and a look inside."""

import graphad as tf


@tf.function(input_signature=[tf.TensorSpec([None, 3])])
def standardise(x):
    """One trace serves every number of rows."""
    centred = x - tf.reduce_mean(x, axis=0)
    return centred / (tf.norm(centred, axis=0) + 1e-6)


@tf.function
def power(x, n):
    """x**n by a loop whose length is a tensor."""
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.ones_like(x)))[
        1
    ]


@tf.function
def slope_of_power(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = power(x, n)
    return tape.gradient(y, x)


class Scaled(tf.Module):
    """A variable that is made in the first call."""

    def __init__(self):
        super().__init__()
        self.scale = None

    @tf.function
    def __call__(self, x):
        if self.scale is None:
            self.scale = tf.Variable(tf.ones([3]) * 2.0, name="scale")
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * self.scale, lambda: -x)


if __name__ == "__main__":
    for rows in (2, 4, 100):
        standardise(tf.random.normal([rows, 3]))
    print("traces for three numbers of rows:", standardise.experimental_get_tracing_count())

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = slope_of_power(x, tf.constant(3))
    print("x^3 at 2: slope", first.numpy(), " slope of the slope", tape.gradient(first, x).numpy())

    model = Scaled()
    rows = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model(rows))
    print("through cond, by the variable:", tape.gradient(y, model.scale).numpy())
    print("and on the other branch:      ", model(-rows).numpy())

    print()
    print(tf.explain(standardise)(tf.random.normal([4, 3])))
