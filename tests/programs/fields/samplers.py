"""Monte Carlo methods whose noise is handed in, so that runs can be compared."""

import numpy as np


def hamiltonian_monte_carlo(tf, function):
    """Leapfrog steps on a banana-shaped density, accepted or not by Metropolis' rule under tf.where."""
    r = np.random.RandomState(0)
    momenta = tf.constant(r.randn(12, 5, 2))
    uniforms = tf.constant(r.rand(12, 5))

    def log_density(x):
        return -0.5 * (x[:, 0] ** 2 / 4.0 + (x[:, 1] - 0.25 * x[:, 0] ** 2) ** 2)

    def value_and_gradient(x):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            y = log_density(x)
        return y, tape.gradient(y, x)

    @function
    def transition(x, p, u):
        value, g = value_and_gradient(x)
        new_x, new_p = x, p + 0.1 * g
        for _ in range(4):
            new_x = new_x + 0.2 * new_p
            new_value, g = value_and_gradient(new_x)
            new_p = new_p + 0.2 * g
        new_p = new_p - 0.1 * g
        ratio = new_value - 0.5 * tf.reduce_sum(new_p**2, -1) - value + 0.5 * tf.reduce_sum(p**2, -1)
        accepted = tf.math.log(u) < ratio
        return tf.where(accepted[:, None], new_x, x), accepted

    x = tf.zeros([5, 2], tf.float64)
    accepted = []
    for p, u in zip(momenta, uniforms, strict=True):
        x, took = transition(x, p, u)
        accepted.append(tf.reduce_mean(tf.cast(took, tf.float64)))
    return {"x": x, "accepted": accepted}


def langevin(tf, function):
    """Unadjusted Langevin steps in a while_loop over a stacked noise tensor."""
    noise = tf.constant(np.random.RandomState(1).randn(30, 8))

    @function
    def run(x):
        def body(i, x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                energy = tf.reduce_sum(x**4 / 4.0 - x**2 / 2.0)
            return i + 1, x - 0.05 * tape.gradient(energy, x) + np.sqrt(0.1) * tf.gather(noise, i)

        return tf.while_loop(lambda i, x: i < 30, body, (0, x))[1]

    return {"x": run(tf.zeros([8], tf.float64))}


def importance_weights(tf, function):
    """Self-normalised weights, their effective number, and systematic resampling by searchsorted."""
    x = tf.constant(np.random.RandomState(2).randn(16))

    @function
    def weigh(x):
        log_w = -0.5 * (x - 1.0) ** 2 * 3.0 + 0.5 * x**2
        w = tf.exp(log_w - tf.reduce_logsumexp(log_w))
        edges = tf.cumsum(w)
        places = (tf.range(16, dtype=tf.float64) + 0.5) / 16.0
        chosen = tf.minimum(tf.searchsorted(edges, places), 15)
        return w, 1.0 / tf.reduce_sum(w**2), tf.gather(x, chosen)

    w, number, again = weigh(x)
    return {"w": w, "number": number, "again": again}


def stein_descent(tf, function):
    """Stein variational gradient descent: the kernel's own gradient pushes particles apart."""
    x = tf.Variable(np.random.RandomState(3).randn(10, 2) * 0.3)

    @function
    def step():
        with tf.GradientTape() as tape:
            log_p = -0.5 * tf.reduce_sum((x - [1.0, -1.0]) ** 2)
        score = tape.gradient(log_p, x)
        difference = x[:, None, :] - x[None, :, :]
        square = tf.reduce_sum(difference**2, -1)
        kernel = tf.exp(-square)
        push = 2.0 * tf.reduce_sum(kernel[:, :, None] * difference, 1)
        x.assign_add(0.1 * (tf.linalg.matmul(kernel, score) + push) / 10.0)
        return tf.reduce_mean(x, 0)

    return {"means": [step() for _ in range(10)], "x": x}


def gibbs_ising(tf, function):
    """Checkerboard updates of a small Ising grid with rolls, and its energy."""
    u = tf.constant(np.random.RandomState(4).rand(6, 2, 6, 6), tf.float32)
    board = np.indices((6, 6)).sum(0) % 2

    @function
    def sweep(spins, u):
        for colour in (0, 1):
            around = sum(tf.roll(spins, shift, axis) for shift in (-1, 1) for axis in (0, 1))
            up = tf.sigmoid(2.0 * 0.6 * around)
            drawn = tf.where(u[colour] < up, 1.0, -1.0)
            spins = tf.where(board == colour, drawn, spins)
        return spins

    spins = tf.ones([6, 6])
    energies = []
    for k in range(6):
        spins = sweep(spins, u[k])
        energies.append(-tf.reduce_sum(spins * (tf.roll(spins, 1, 0) + tf.roll(spins, 1, 1))))
    return {"spins": spins, "energies": energies}


def no_u_turn(tf, function):
    """A path doubles, in either direction, until it turns; a point of it is drawn by weights while it grows."""
    r = np.random.RandomState(4)
    momenta, uniforms = tf.constant(r.randn(8, 2)), tf.constant(r.rand(8, 40))
    scale = tf.constant([1.0, 0.3], tf.float64)

    def log_density(x):
        return -0.5 * tf.reduce_sum((x / scale) ** 2)

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = log_density(x)
        return tape.gradient(y, x)

    def leapfrog(x, p, h):
        p = p + 0.5 * h * slope(x)
        x = x + h * p
        return x, p + 0.5 * h * slope(x)

    def energy(x, p):
        return log_density(x) - 0.5 * tf.reduce_sum(p**2)

    @function
    def transition(x, p, u):
        start = energy(x, p)
        left_x = right_x = chosen = x
        left_p = right_p = p
        weight = tf.constant(1.0, tf.float64)
        depth, going, count = tf.constant(0), tf.constant(True), tf.constant(0)
        while going and depth < 4:
            forwards = u[depth] < 0.5
            h = tf.where(forwards, tf.constant(0.15, tf.float64), -0.15)
            if forwards:
                y, q = right_x, right_p
            else:
                y, q = left_x, left_p
            total, candidate = tf.constant(0.0, tf.float64), y
            for _k in tf.range(2**depth):
                y, q = leapfrog(y, q, h)
                w = tf.exp(energy(y, q) - start)
                total += w
                candidate = tf.where(u[4 + count % 36] * total < w, y, candidate)
                count += 1
            if forwards:
                right_x, right_p = y, q
            else:
                left_x, left_p = y, q
            chosen = tf.where(u[39] * weight < total, candidate, chosen)
            weight += total
            span = right_x - left_x
            going = tf.reduce_sum(span * left_p) > 0.0 and tf.reduce_sum(span * right_p) > 0.0
            depth += 1
        return chosen, depth, count

    x, xs, depths = tf.constant([0.5, 0.2], tf.float64), [], []
    for p, u in zip(momenta, uniforms, strict=True):
        x, depth, count = transition(x, p, u)
        xs.append(x)
        depths.append(tf.stack([depth, count]))
    return {"xs": xs, "depths": depths}


def particle_filter(tf, function):
    """Particles of a stochastic volatility model under `tf.scan`, resampled where their weights have become unequal."""
    r = np.random.RandomState(5)
    seen = tf.constant(0.3 * r.randn(14))
    noise, uniforms = tf.constant(r.randn(14, 40)), tf.constant(r.rand(14))
    n = 40

    @function
    def run(phi):
        def step(state, now):
            x, log_w, likelihood = state
            y, e, u = now
            x = phi * x + 0.4 * e
            log_w = log_w - 0.5 * (x - 2.0 + y**2 * tf.exp(2.0 - x))
            total = tf.reduce_logsumexp(log_w)
            w = tf.exp(log_w - total)
            places = (tf.range(n, dtype=tf.float64) + u) / n
            chosen = tf.minimum(tf.searchsorted(tf.cumsum(w), places, side="right"), n - 1)
            poor = 1.0 / tf.reduce_sum(w**2) < 0.5 * n
            flat = tf.fill([n], -tf.math.log(tf.constant(float(n), tf.float64)))
            x = tf.where(poor, tf.gather(x, chosen), x)
            return x, tf.where(poor, flat, log_w - total), likelihood + total

        first = (tf.zeros([n], tf.float64), tf.fill([n], -tf.math.log(tf.constant(float(n), tf.float64))))
        x, log_w, likelihood = tf.scan(step, (seen, noise, uniforms), (*first, tf.constant(0.0, tf.float64)))
        return tf.reduce_sum(tf.exp(log_w) * x, axis=1), likelihood[-1]

    phi = tf.constant(0.9, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(phi)
        means, likelihood = run(phi)
    return {"means": means, "likelihood": likelihood, "slope": tape.gradient(likelihood, phi)}
