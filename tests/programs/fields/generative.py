"""Autoencoders and adversarial pairs."""

import numpy as np


def variational_autoencoder(tf, function):
    """A module with an encoder and a decoder; exponents of halves of log-variances; one optimizer."""
    r = np.random.RandomState(0)
    data = tf.constant((r.rand(16, 8) > 0.5).astype("float32"))
    noise = tf.constant(r.randn(8, 16, 2), tf.float32)

    class Model(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            with self.name_scope:
                self.encode = tf.Variable(r.randn(8, 4) * 0.3, dtype=tf.float32, name="encode")
                self.decode = tf.Variable(r.randn(2, 8) * 0.3, dtype=tf.float32, name="decode")

        @tf.Module.with_name_scope
        def __call__(self, x, e):
            mean, logvar = tf.split(x @ self.encode, num_or_size_splits=2, axis=1)
            z = e * tf.exp(logvar * 0.5) + mean
            return mean, logvar, z @ self.decode

    model = Model()
    optimizer = tf.keras.optimizers.Adam(1e-2)

    @function
    def step(e):
        with tf.GradientTape() as tape:
            mean, logvar, logits = model(data, e)
            misfit = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=data)
            divergence = -0.5 * tf.reduce_sum(1.0 + logvar - mean**2 - tf.exp(logvar), axis=1)
            loss = tf.reduce_mean(tf.reduce_sum(misfit, axis=[1]) + divergence)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return {"losses": [step(e) for e in noise], "count": len(model.trainable_variables)}


def adversarial_pair(tf, function):
    """Generator and discriminator with two tapes over one pass, and binary cross-entropy of logits."""
    r = np.random.RandomState(1)
    g, d1, d2 = (tf.Variable(r.randn(*s) * 0.5, dtype=tf.float32) for s in ((2, 3), (3, 6), (6, 1)))
    real = tf.constant(r.randn(12, 3) + 1.0, tf.float32)
    noise = tf.constant(r.randn(6, 12, 2), tf.float32)
    cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.Adam(0.01)

    def judge(x):
        return tf.nn.leaky_relu(x @ d1, alpha=0.2) @ d2

    @function
    def step(z):
        with tf.GradientTape() as for_g, tf.GradientTape() as for_d:
            fake = tf.tanh(z @ g) * 2.0
            said_real, said_fake = judge(real), judge(fake)
            loss_g = cross_entropy(tf.ones_like(said_fake), said_fake)
            loss_d = cross_entropy(tf.ones_like(said_real), said_real)
            loss_d += cross_entropy(tf.zeros_like(said_fake), said_fake)
        optimizers[0].apply_gradients(zip(for_g.gradient(loss_g, [g]), [g], strict=True))
        optimizers[1].apply_gradients(zip(for_d.gradient(loss_d, [d1, d2]), [d1, d2], strict=True))
        return tf.stack([loss_g, loss_d])

    return {"losses": [step(z) for z in noise]}


def gradient_penalty(tf, function):
    """A critic whose slope between two samples is drawn to 1: a gradient of the norm of a gradient."""
    r = np.random.RandomState(2)
    w1, w2 = tf.Variable(r.randn(3, 5)), tf.Variable(r.randn(5, 1))
    real, fake, u = tf.constant(r.randn(8, 3)), tf.constant(r.randn(8, 3)), tf.constant(r.rand(8, 1))

    @function
    def step():
        with tf.GradientTape() as tape:
            between = u * real + (1.0 - u) * fake
            with tf.GradientTape() as inner:
                inner.watch(between)
                score = tf.math.softplus(between @ w1) @ w2
            slope = inner.gradient(score, between)
            penalty = tf.reduce_mean((tf.norm(slope, axis=1) - 1.0) ** 2)
        for v, g in zip((w1, w2), tape.gradient(penalty, (w1, w2)), strict=True):
            v.assign_sub(0.05 * g)
        return penalty

    return {"penalties": [step() for _ in range(10)]}


def denoising_diffusion(tf, function):
    """Noise of a random level is predicted; levels are gathered from a cumulative product."""
    r = np.random.RandomState(3)
    kept = tf.math.cumprod(1.0 - tf.linspace(1e-3, 0.2, 10))
    x, e = tf.constant(r.randn(8, 4), tf.float32), tf.constant(r.randn(8, 4), tf.float32)
    levels = tf.constant(r.randint(0, 10, size=8))
    w = tf.Variable(r.randn(5, 4) * 0.1, dtype=tf.float32)

    @function
    def step():
        a = tf.gather(kept, levels)[:, tf.newaxis]
        noisy = tf.sqrt(a) * x + tf.sqrt(1.0 - a) * e
        time = tf.cast(levels, tf.float32)[:, None] / 10.0
        with tf.GradientTape() as tape:
            loss = tf.keras.losses.MeanSquaredError()(e, tf.concat([noisy, time], -1) @ w)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return {"losses": [step() for _ in range(8)]}


def sparse_coding(tf, function):
    """Iterative shrinkage for codes inside, a dictionary with columns of length 1 outside."""
    r = np.random.RandomState(4)
    x = tf.constant(r.randn(6, 5))
    basis = tf.Variable(tf.linalg.normalize(tf.constant(r.randn(8, 5)), axis=1)[0])

    @function
    def step():
        codes = tf.zeros([6, 8], tf.float64)
        for _ in range(5):
            moved = codes - 0.1 * (codes @ basis - x) @ tf.transpose(basis)
            codes = tf.sign(moved) * tf.nn.relu(tf.abs(moved) - 0.01)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.stop_gradient(codes) @ basis - x) ** 2)
        basis.assign_sub(0.02 * tape.gradient(loss, basis))
        basis.assign(tf.math.l2_normalize(basis, axis=1))
        return loss, tf.math.zero_fraction(codes)

    runs = [step() for _ in range(6)]
    return {"losses": [run[0] for run in runs], "zeros": [run[1] for run in runs]}


def sinkhorn(tf, function):
    """Points move along the gradient of an entropic transport cost, computed in logarithms in a loop."""
    r = np.random.RandomState(4)
    x = tf.Variable(r.randn(9, 2), dtype=tf.float64)
    y = tf.constant(r.randn(12, 2) * 0.5 + [2.0, 1.0])
    log_a, log_b = (tf.math.log(tf.ones([k], tf.float64) / k) for k in (9, 12))

    def transport(x, epsilon=0.3):
        cost = tf.reduce_sum(x**2, 1)[:, None] + tf.reduce_sum(y**2, 1)[None, :] - 2.0 * x @ tf.transpose(y)
        f, g = tf.zeros_like(log_a), tf.zeros_like(log_b)
        for _ in tf.range(20):
            f = -epsilon * tf.reduce_logsumexp((g - cost) / epsilon + log_b, axis=1)
            g = -epsilon * tf.reduce_logsumexp((f[:, None] - cost) / epsilon + log_a[:, None], axis=0)
        plan = tf.exp((f[:, None] + g - cost) / epsilon + log_a[:, None] + log_b)
        return tf.reduce_sum(plan * cost), plan

    @function
    def step():
        with tf.GradientTape() as tape:
            loss, plan = transport(x)
        x.assign_sub(2.0 * tape.gradient(loss, x))
        return loss, tf.reduce_sum(plan, axis=0)

    losses = []
    for _ in range(5):
        loss, mass = step()
        losses.append(loss)
    return {"losses": losses, "mass": mass, "x": x}


def spline_flow(tf, function):
    """Monotone rational quadratic splines: bins by softmax, a search for the bin, values gathered row by row, log-slopes."""
    r = np.random.RandomState(5)
    raw = tf.Variable(0.5 * r.randn(3, 14), dtype=tf.float64)
    data = tf.constant(r.uniform(-0.9, 0.9, (3, 10)))

    def forward(x):
        widths, heights, slopes = tf.split(raw, [5, 5, 4], axis=-1)
        widths, heights = (0.02 + 0.9 * tf.nn.softmax(k, axis=-1) * 2.0 for k in (widths, heights))
        slopes = tf.pad(0.01 + tf.nn.softplus(slopes), [[0, 0], [1, 1]], constant_values=1.0)
        knots_x, knots_y = (
            tf.pad(tf.cumsum(k / tf.reduce_sum(k, -1, keepdims=True) * 2.0, axis=-1), [[0, 0], [1, 0]]) - 1.0
            for k in (widths, heights)
        )
        at = tf.clip_by_value(tf.searchsorted(knots_x, x, side="right") - 1, 0, 4)

        def pick(table, places):
            return tf.gather(table, places, axis=1, batch_dims=1)

        x0, x1, y0, y1 = pick(knots_x, at), pick(knots_x, at + 1), pick(knots_y, at), pick(knots_y, at + 1)
        d0, d1 = pick(slopes, at), pick(slopes, at + 1)
        s, t = (y1 - y0) / (x1 - x0), (x - x0) / (x1 - x0)
        below = s + (d1 + d0 - 2.0 * s) * t * (1.0 - t)
        y = y0 + (y1 - y0) * (s * t**2 + d0 * t * (1.0 - t)) / below
        slope = s**2 * (d1 * t**2 + 2.0 * s * t * (1.0 - t) + d0 * (1.0 - t) ** 2) / below**2
        return y, tf.math.log(slope)

    @function
    def step():
        with tf.GradientTape() as tape:
            y, log_slope = forward(data)
            loss = tf.reduce_mean(2.0 * y**2 - log_slope)
        raw.assign_sub(0.3 * tape.gradient(loss, raw))
        return loss

    return {"losses": [step() for _ in range(5)], "y": forward(data)[0], "raw": raw}
