"""Prices of options and their sensitivities."""

import numpy as np


def normal_cdf(tf, x):
    return 0.5 * (1.0 + tf.math.erf(x / np.sqrt(2.0)))


def black_scholes_greeks(tf, function):
    """Delta, vega, rho and theta from one tape, gamma from another around it."""
    s, k, t, r, v = (tf.constant(x, tf.float64) for x in ([90.0, 100.0, 110.0], 100.0, 0.75, 0.03, 0.25))

    @function
    def price(s, k, t, r, v):
        d1 = (tf.math.log(s / k) + (r + v**2 / 2.0) * t) / (v * tf.sqrt(t))
        d2 = d1 - v * tf.sqrt(t)
        return s * normal_cdf(tf, d1) - k * tf.exp(-r * t) * normal_cdf(tf, d2)

    with tf.GradientTape() as outer:
        outer.watch(s)
        with tf.GradientTape() as inner:
            inner.watch([s, t, r, v])
            value = price(s, k, t, r, v)
        delta, theta, rho, vega = inner.gradient(value, [s, t, r, v])
    gamma = outer.gradient(delta, s)
    return {"value": value, "delta": delta, "theta": theta, "rho": rho, "vega": vega, "gamma": gamma}


def heston(tf, function):
    """Two correlated Euler paths with variance kept from below; pathwise derivatives of a call."""
    z = tf.constant(np.random.RandomState(0).randn(20, 2, 64))

    @function
    def call(spot, v0, kappa, theta, xi, rho):
        log_s = tf.fill([64], tf.math.log(spot))
        v = tf.fill([64], v0)
        h = 1.0 / 20.0
        for i in tf.range(20):
            positive = tf.maximum(v, 0.0)
            dw = z[i]
            log_s += -0.5 * positive * h + tf.sqrt(positive * h + 1e-12) * dw[0]
            noise = rho * dw[0] + tf.sqrt(1.0 - rho**2) * dw[1]
            v += kappa * (theta - positive) * h + xi * tf.sqrt(positive * h + 1e-12) * noise
        return tf.reduce_mean(tf.nn.relu(tf.exp(log_s) - 100.0))

    parameters = [tf.constant(x, tf.float64) for x in (100.0, 0.04, 1.5, 0.05, 0.4, -0.6)]
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        price = call(*parameters)
    return {"price": price, "slopes": tape.gradient(price, parameters)}


def implied_volatility(tf, function):
    """Newton's method in a while loop, with the derivative from a tape, and its own derivative by the implicit rule."""

    def price(v):
        d1 = v / 2.0
        return normal_cdf(tf, d1) - normal_cdf(tf, -d1)

    @tf.custom_gradient
    def implied(target):
        v = tf.constant(0.5, tf.float64)
        for _ in range(8):
            with tf.GradientTape() as tape:
                tape.watch(v)
                p = price(v)
            v = v - (p - target) / tape.gradient(p, v)

        def slope(g):
            with tf.GradientTape() as tape:
                tape.watch(v)
                p = price(v)
            return g / tape.gradient(p, v)

        return v, slope

    @function
    def value_and_slope(target):
        with tf.GradientTape() as tape:
            tape.watch(target)
            v = implied(target)
        return v, tape.gradient(v, target)

    v, slope = value_and_slope(tf.constant(0.12, tf.float64))
    return {"v": v, "slope": slope}


def hedging_network(tf, function):
    """A small network is trained on paths to hedge a call, with a quantile loss."""
    r = np.random.RandomState(1)
    paths = np.cumprod(1.0 + 0.05 * r.randn(64, 6), axis=1)
    increments = tf.constant(np.diff(paths, axis=1), tf.float32)
    states = tf.constant(paths[:, :-1, None], tf.float32)
    payoff = tf.constant(np.maximum(paths[:, -1] - 1.0, 0.0), tf.float32)
    w1, b1 = tf.Variable(r.randn(1, 4), dtype=tf.float32), tf.Variable(tf.zeros([4]))
    w2 = tf.Variable(0.3 * r.randn(4, 1), dtype=tf.float32)
    level = tf.Variable(0.05)
    optimizer = tf.optimizers.Adam(0.02)

    @function
    def step():
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.tensordot(states - 1.0, w1, [[2], [0]]) + b1)
            position = tf.sigmoid(tf.tensordot(hidden, w2, 1))[..., 0]
            loss_of_path = payoff - tf.einsum("nt,nt->n", position, increments)
            loss = level + tf.reduce_mean(tf.nn.relu(loss_of_path - level)) / 0.5
        variables = tape.watched_variables()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return {"losses": [step() for _ in range(10)]}


def portfolio(tf, function):
    """Mean-variance weights under a softmax, with momentum."""
    r = np.random.RandomState(2)
    a = r.randn(5, 5)
    covariance, mean = tf.constant(a @ a.T / 5 + np.eye(5)), tf.constant(r.rand(5))
    logits = tf.Variable(tf.zeros([5], tf.float64))
    optimizer = tf.keras.optimizers.SGD(learning_rate=0.5, momentum=0.9)

    @function
    def step():
        with tf.GradientTape() as tape:
            w = tf.nn.softmax(logits)
            risk = tf.tensordot(w, tf.linalg.matvec(covariance, w), 1)
            objective = 2.0 * risk - tf.reduce_sum(w * mean)
        optimizer.apply_gradients([(tape.gradient(objective, logits), logits)])
        return objective

    return {"objective": [step() for _ in range(20)], "w": tf.nn.softmax(logits)}


def binomial_tree(tf, function):
    """An American put by backward induction over a tree whose rows become shorter."""

    @function
    def put(spot, volatility):
        n, dt = 16, 1.0 / 16
        up = tf.exp(volatility * np.sqrt(dt))
        p = (np.exp(0.05 * dt) - 1.0 / up) / (up - 1.0 / up)
        powers = tf.range(-n, n + 1, 2, dtype=tf.float64)
        value = tf.maximum(100.0 - spot * up**powers, 0.0)
        for i in range(n - 1, -1, -1):
            powers = tf.range(-i, i + 1, 2, dtype=tf.float64)
            later = np.exp(-0.05 * dt) * (p * value[1:] + (1.0 - p) * value[:-1])
            value = tf.maximum(later, 100.0 - spot * up**powers)
        return value[0]

    spot, volatility = tf.Variable(100.0, dtype=tf.float64), tf.Variable(0.3, dtype=tf.float64)
    with tf.GradientTape() as tape:
        value = put(spot, volatility)
    delta, vega = tape.gradient(value, [spot, volatility])
    return {"value": value, "delta": delta, "vega": vega}


def heston_calibration(tf, function):
    """Calls by a characteristic function and a quadrature; parameters by Levenberg and Marquardt's method with a Jacobian."""
    nodes, weights = (tf.constant(x) for x in np.polynomial.legendre.leggauss(24))
    u = 30.0 * (nodes + 1.0)
    strikes = tf.constant([80.0, 90.0, 100.0, 110.0, 120.0], tf.float64)
    spot, years = 100.0, 1.0

    def calls(p):
        v0, kappa, theta, xi, rho = (tf.cast(x, tf.complex128) for x in tf.unstack(p))

        def phi(w):
            i = tf.constant(1j, tf.complex128)
            d = tf.sqrt((rho * xi * i * w - kappa) ** 2 + xi**2 * (i * w + w**2))
            minus = kappa - rho * xi * i * w - d
            g = minus / (kappa - rho * xi * i * w + d)
            e = tf.exp(-d * years)
            c = kappa * theta / xi**2 * (minus * years - 2.0 * tf.math.log((1.0 - g * e) / (1.0 - g)))
            return tf.exp(c + v0 / xi**2 * minus * (1.0 - e) / (1.0 - g * e))

        w = tf.complex(u, -0.5 * tf.ones_like(u))
        moneyness = tf.math.log(spot / strikes)
        turned = tf.exp(tf.complex(tf.zeros_like(u), u) * tf.cast(moneyness, tf.complex128)[:, None])
        inside = tf.math.real(turned * phi(w)) / (u**2 + 0.25)
        return spot - tf.sqrt(spot * strikes) / np.pi * 30.0 * tf.reduce_sum(weights * inside, axis=1)

    quoted = calls(tf.constant([0.04, 1.5, 0.06, 0.5, -0.6], tf.float64))
    p = tf.Variable([0.06, 1.0, 0.04, 0.4, -0.3], dtype=tf.float64)

    @function
    def step(damping):
        with tf.GradientTape() as tape:
            misfit = calls(p) - quoted
        j = tape.jacobian(misfit, p)
        normal = tf.matmul(j, j, transpose_a=True)
        normal += damping * tf.linalg.diag(tf.linalg.diag_part(normal) + 1e-6)
        move = tf.linalg.solve(normal, tf.matmul(j, misfit[:, None], transpose_a=True))
        p.assign_sub(move[:, 0])
        return tf.reduce_sum(misfit**2)

    losses = [step(tf.constant(x, tf.float64)) for x in (1.0, 0.3, 0.1, 0.1)]
    return {"quoted": quoted, "losses": losses, "p": p}
