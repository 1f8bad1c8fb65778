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
