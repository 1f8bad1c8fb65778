"""Designs that a loss finds: where material goes, weights from the batches of a function's own arguments."""

import numpy as np


def material(tf, function):
    """Where to put material in a row of bars, so that the loaded end moves least: a layer without inputs makes the densities."""
    n = 6

    class Design(tf.keras.layers.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.z = self.add_weight(shape=(n,), initializer="zeros", name="z")

        def call(self, inputs=None):
            density = tf.sigmoid(self.z)
            return density * (0.5 * n) / tf.reduce_sum(density)  # the volume is kept

    design = Design()
    loads = tf.constant(np.linspace(0.2, 1.0, n), tf.float32)[:, None]

    @function
    def compliance():
        stiffness = 1e-3 + design(None) ** 3
        before, behind = np.arange(n - 1), np.arange(1, n)
        diagonal = stiffness + tf.concat([stiffness[1:], tf.zeros([1])], 0)
        places = np.concatenate([np.stack([before, behind], 1), np.stack([behind, before], 1)])
        matrix = tf.linalg.diag(diagonal) - tf.scatter_nd(places, tf.tile(stiffness[1:], [2]), [n, n])
        moved = tf.linalg.solve(matrix, loads)
        return tf.reduce_sum(loads * moved)

    path = []
    for _ in range(12):
        with tf.GradientTape() as tape:
            loss = compliance()
        slope = tape.gradient(loss, design.z)
        design.z.assign_sub(0.3 * slope / tf.norm(slope))
        path.append(loss)
    return {"path": path, "density": design(), "slope": slope}


def slices_of_arguments(tf, function):
    """An epoch is one function that cuts its own arguments into batches."""
    r = np.random.RandomState(9)
    x = tf.constant(r.randn(11, 3), tf.float32)
    y = tf.linalg.matvec(x, tf.constant([1.0, -2.0, 0.5])) + 0.3
    weight, bias = tf.Variable(tf.zeros([3])), tf.Variable(0.0)

    @function
    def epoch(x, y):
        total = tf.constant(0.0)
        pairs = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 0.5, b)).batch(4)
        for a, b in pairs:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(a, weight) + bias - b) ** 2)
            for variable, slope in zip([weight, bias], tape.gradient(loss, [weight, bias]), strict=True):
                variable.assign_sub(0.2 * slope)
            total += loss * tf.cast(tf.shape(b)[0], tf.float32)
        return total / tf.cast(tf.shape(y)[0], tf.float32)

    return {"losses": [epoch(x, y) for _ in range(8)], "weight": weight, "bias": bias}
