"""Designs that a loss finds: where material goes, colours along rays, weights from the batches of a function's own arguments."""

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


def fine_rays(tf, function):
    """Colours along rays through a field, and finer samples where the coarse ones found most."""
    r = np.random.RandomState(7)
    first = tf.Variable(r.randn(15, 16) * 0.3, dtype=tf.float32)
    last = tf.Variable(r.randn(16, 4) * 0.3, dtype=tf.float32)
    wanted = tf.constant(r.rand(4, 5, 3), tf.float32)
    turned = np.linalg.qr(r.randn(3, 3))[0]
    camera = tf.constant(np.concatenate([turned, r.randn(3, 1)], 1), tf.float32)

    def waves(x):
        return tf.concat([x, *[f(2.0**k * x) for k in range(2) for f in (tf.sin, tf.cos)]], -1)

    def rays():
        i, j = tf.meshgrid(tf.range(5, dtype=tf.float32), tf.range(4, dtype=tf.float32), indexing="xy")
        directions = tf.stack([(i - 2.5) / 4, -(j - 2.0) / 4, -tf.ones_like(i)], -1)
        directions = tf.reduce_sum(directions[..., np.newaxis, :] * camera[:3, :3], -1)
        return tf.broadcast_to(camera[:3, -1], tf.shape(directions)), directions

    def seen(start, direction, depths):
        points = start[..., None, :] + direction[..., None, :] * depths[..., :, None]
        raw = tf.nn.relu(tf.reshape(waves(tf.reshape(points, [-1, 3])), [-1, 15]) @ first) @ last
        raw = tf.reshape(raw, [*points.shape[:-1], 4])
        gaps = depths[..., 1:] - depths[..., :-1]
        gaps = tf.concat([gaps, tf.broadcast_to([1e10], depths[..., :1].shape)], -1)
        opacity = 1.0 - tf.exp(-tf.nn.relu(raw[..., 3]) * gaps)
        weights = opacity * tf.math.cumprod(1.0 - opacity + 1e-10, -1, exclusive=True)
        return tf.reduce_sum(weights[..., None] * tf.sigmoid(raw[..., :3]), -2), weights

    def finer(edges, weights, count):
        weights = weights + 1e-5
        below = tf.cumsum(weights / tf.reduce_sum(weights, -1, keepdims=True), -1)
        below = tf.concat([tf.zeros_like(below[..., :1]), below], -1)
        u = tf.broadcast_to(tf.linspace(0.02, 0.98, count), [*below.shape[:-1], count])
        place = tf.searchsorted(below, u, side="right")
        pair = tf.stack([tf.maximum(0, place - 1), tf.minimum(below.shape[-1] - 1, place)], -1)
        shares = tf.gather(below, pair, axis=-1, batch_dims=len(pair.shape) - 2)
        ends = tf.gather(edges, pair, axis=-1, batch_dims=len(pair.shape) - 2)
        width = shares[..., 1] - shares[..., 0]
        width = tf.where(width < 1e-5, tf.ones_like(width), width)
        return ends[..., 0] + (u - shares[..., 0]) / width * (ends[..., 1] - ends[..., 0])

    @function
    def step():
        start, direction = rays()
        depths = tf.broadcast_to(tf.linspace(2.0, 6.0, 8), [4, 5, 8])
        with tf.GradientTape() as tape:
            coarse, weights = seen(start, direction, depths)
            middles = 0.5 * (depths[..., 1:] + depths[..., :-1])
            new = tf.stop_gradient(finer(middles, weights[..., 1:-1], 6))
            fine, _ = seen(start, direction, tf.sort(tf.concat([depths, new], -1), -1))
            loss = tf.reduce_mean((coarse - wanted) ** 2) + tf.reduce_mean((fine - wanted) ** 2)
        slopes = tape.gradient(loss, [first, last])
        for weight, slope in zip([first, last], slopes, strict=True):
            weight.assign_sub(0.1 * slope)
        return loss, fine

    steps = [step() for _ in range(3)]
    return {"loss": [loss for loss, _ in steps], "picture": steps[-1][1], "weights": first}


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
