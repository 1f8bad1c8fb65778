"""Gaussian processes, filters, mixtures and flows."""

import numpy as np


def gaussian_process(tf, function):
    """Hyperparameters by the marginal likelihood with a Cholesky factor, then predictions."""
    x = tf.constant(np.linspace(0.0, 5.0, 14)[:, None])
    y = tf.sin(x) + 0.05 * tf.constant(np.random.RandomState(0).randn(14, 1))
    scale, length, noise = (tf.Variable(v, dtype=tf.float64) for v in (0.5, 0.5, -1.0))

    def kernel(a, b):
        square = tf.reduce_sum(tf.math.squared_difference(a[:, None], b[None]), -1)
        return tf.nn.softplus(scale) * tf.exp(-0.5 * square / tf.nn.softplus(length) ** 2)

    def factor():
        return tf.linalg.cholesky(kernel(x, x) + tf.nn.softplus(noise) * tf.eye(14, dtype=tf.float64))

    @function
    def step():
        with tf.GradientTape() as tape:
            chol = factor()
            alpha = tf.linalg.cholesky_solve(chol, y)
            loss = 0.5 * tf.reduce_sum(y * alpha) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))
        variables = [scale, length, noise]
        for v, g in zip(variables, tape.gradient(loss, variables), strict=True):
            v.assign_sub(0.02 * g)
        return loss

    losses = [step() for _ in range(12)]
    new = tf.constant([[0.3], [2.2]], tf.float64)
    between = kernel(x, new)
    chol = factor()
    half = tf.linalg.triangular_solve(chol, between, lower=True)
    mean = tf.matmul(between, tf.linalg.cholesky_solve(chol, y), transpose_a=True)
    return {
        "losses": losses,
        "mean": mean,
        "variance": kernel(new, new) - tf.matmul(half, half, transpose_a=True),
    }


def kalman_filter(tf, function):
    """A filter over a sequence in a tensor loop; noise levels are fitted through it."""
    r = np.random.RandomState(1)
    seen = tf.constant(np.cumsum(r.randn(15, 1) * 0.3, 0) + 0.2 * r.randn(15, 1))
    logs = tf.Variable([0.0, 0.0], dtype=tf.float64)
    move = tf.constant([[1.0, 0.1], [0.0, 1.0]], tf.float64)
    look = tf.constant([[1.0, 0.0]], tf.float64)

    @function
    def loss_and_means():
        with tf.GradientTape() as tape:
            q, s = tf.exp(logs[0]) * tf.eye(2, dtype=tf.float64), tf.exp(logs[1])
            mean, cov = tf.zeros([2, 1], tf.float64), tf.eye(2, dtype=tf.float64)
            loss = tf.constant(0.0, tf.float64)
            means = tf.TensorArray(tf.float64, size=15)
            for i in tf.range(15):
                mean, cov = move @ mean, move @ cov @ tf.transpose(move) + 0.1 * q
                residual = seen[i][:, None] - look @ mean
                spread = look @ cov @ tf.transpose(look) + s
                gain = cov @ tf.transpose(look) / spread
                mean, cov = mean + gain @ residual, cov - gain @ look @ cov
                loss += tf.squeeze(0.5 * tf.math.log(spread) + 0.5 * residual**2 / spread)
                means = means.write(i, mean[:, 0])
            means = means.stack()
        return loss, means, tape.gradient(loss, logs)

    losses = []
    for _ in range(6):
        loss, means, gradient = loss_and_means()
        logs.assign_sub(0.05 * gradient)
        losses.append(loss)
    return {"losses": losses, "means": means, "logs": logs}


def gaussian_mixture(tf, function):
    """Expectation and maximisation with broadcasting, logsumexp and one_hot starts."""
    r = np.random.RandomState(2)
    x = tf.constant(np.concatenate([r.randn(15, 2) - 2.0, r.randn(15, 2) + 2.0]))
    means = tf.Variable([[-1.0, 0.0], [1.0, 0.0]], dtype=tf.float64)
    log_weights = tf.Variable(tf.math.log(tf.constant([0.5, 0.5], tf.float64)))

    @function
    def step():
        square = tf.reduce_sum((x[:, None] - means[None]) ** 2, axis=-1)
        joint = log_weights - 0.5 * square
        log_total = tf.reduce_logsumexp(joint, axis=1, keepdims=True)
        share = tf.exp(joint - log_total)
        count = tf.reduce_sum(share, 0)
        means.assign(tf.einsum("nk,nd->kd", share, x) / count[:, None])
        log_weights.assign(tf.math.log(count / 30.0))
        return tf.reduce_mean(log_total)

    return {"likelihood": [step() for _ in range(8)], "means": means}


def coupling_flow(tf, function):
    """Affine couplings with a log-determinant; the inverse gives the input back."""
    r = np.random.RandomState(3)
    weights = [tf.Variable(r.randn(1, 6) * 0.5) for _ in range(3)]
    heads = [tf.Variable(r.randn(6, 2) * 0.2) for _ in range(3)]
    x = tf.constant(r.randn(20, 2) * [1.0, 0.3] + [0.5, 0.0])

    def forward(x):
        total = tf.zeros([20], tf.float64)
        for w, h in zip(weights, heads, strict=True):
            kept, moved = tf.split(x, 2, axis=1)
            s, t = tf.unstack(tf.tanh(kept @ w) @ h, axis=1)
            x = tf.concat([moved * tf.exp(s)[:, None] + t[:, None], kept], axis=1)
            total += s
        return x, total

    def inverse(z):
        for w, h in reversed(list(zip(weights, heads, strict=True))):
            changed, kept = z[:, :1], z[:, 1:]
            s, t = tf.unstack(tf.tanh(kept @ w) @ h, axis=1)
            z = tf.concat([kept, (changed - t[:, None]) * tf.exp(-s)[:, None]], axis=1)
        return z

    optimizer = tf.keras.optimizers.SGD(0.0625)

    @function
    def step():
        with tf.GradientTape() as tape:
            z, logdet = forward(x)
            loss = tf.reduce_mean(0.5 * tf.reduce_sum(z**2, 1) - logdet)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights + heads), weights + heads, strict=True))
        return loss

    return {"losses": [step() for _ in range(10)], "back": inverse(forward(x)[0]) - x}


def variational_regression(tf, function):
    """Weights with a learned spread by reparameterised noise, and a divergence in the loss."""
    r = np.random.RandomState(4)
    x = tf.constant(r.randn(20, 3), tf.float32)
    y = tf.linalg.matvec(x, [1.0, -2.0, 0.5])
    noise = tf.constant(r.randn(12, 3), tf.float32)
    mean, rho = tf.Variable(tf.zeros([3])), tf.Variable(-3.0 * tf.ones([3]))

    @function
    def step(e):
        with tf.GradientTape() as tape:
            deviation = tf.math.softplus(rho)
            w = mean + deviation * e
            misfit = tf.reduce_sum(tf.square(tf.linalg.matvec(x, w) - y))
            divergence = tf.reduce_sum(0.5 * (deviation**2 + mean**2 - 1.0) - tf.math.log(deviation))
            loss = misfit + divergence
        for v, g in zip([mean, rho], tape.gradient(loss, [mean, rho]), strict=True):
            v.assign_sub(0.01 * g)
        return loss

    return {"losses": [step(e) for e in noise], "mean": mean, "rho": rho}


def logistic_newton(tf, function):
    """Newton's method with the Hessian of nested tapes, regularised."""
    r = np.random.RandomState(5)
    x = tf.constant(r.randn(30, 3))
    y = tf.cast(tf.reduce_sum(x, 1) + 0.5 * r.randn(30) > 0, tf.float64)
    w = tf.Variable(tf.zeros([3], tf.float64))

    @function
    def step():
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            logits = tf.linalg.matvec(x, w)
            loss = tf.reduce_sum(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
            ) + tf.nn.l2_loss(w)
            g = inner.gradient(loss, w)
        h = outer.jacobian(g, w)
        w.assign_sub(tf.reshape(tf.linalg.solve(h, tf.reshape(g, [-1, 1])), [-1]))
        return loss

    return {"losses": [step() for _ in range(6)], "w": w}
