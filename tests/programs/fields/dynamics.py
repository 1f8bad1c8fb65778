"""Systems in time: neural differential equations, integrators, optimal control, robots."""

import numpy as np


def neural_ode(tf, function):
    """A linear field is fitted to a spiral by gradients through a Runge-Kutta integration with TensorArray."""
    true = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    a = tf.Variable(0.5 * true, dtype=tf.float64)
    start = tf.constant([[2.0, 0.0]], tf.float64)

    def integrate(matrix, steps=12, h=0.1):
        def field(y):
            return tf.matmul(y, matrix)

        y = start
        path = tf.TensorArray(tf.float64, size=steps)
        for i in tf.range(steps):
            k1 = field(y)
            k2 = field(y + 0.5 * h * k1)
            k3 = field(y + 0.5 * h * k2)
            k4 = field(y + h * k3)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            path = path.write(i, y)
        return path.stack()

    wanted = integrate(tf.constant(true))

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(integrate(a) - wanted))
        a.assign_sub(0.2 * tape.gradient(loss, a))
        return loss

    return {"losses": [step() for _ in range(10)], "a": a}


def adaptive_step(tf, function):
    """A step size is halved while Euler's and Heun's rules differ: a loop whose length depends on data, differentiated."""

    @function
    def solve(rate):
        t, y, h = tf.constant(0.0), tf.constant(1.0), tf.constant(0.5)
        count = tf.constant(0)
        while t < 1.0:
            euler = y - h * rate * y
            heun = y - 0.5 * h * (rate * y + rate * euler)
            if tf.abs(euler - heun) > 0.01:
                h = h / 2.0
            else:
                t, y = t + h, heun
                h = tf.minimum(h, 1.0 - t)
            count += 1
        return y, count

    rate = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(rate)
        y, count = solve(rate)
    return {"y": y, "count": count, "slope": tape.gradient(y, rate)}


def pendulum_swing_up(tf, function):
    """Torques are optimised through a simulated pendulum; angles wrap, torques are clipped."""
    torques = tf.Variable(0.1 * np.random.RandomState(0).randn(15))

    @function
    def cost(torques):
        angle, speed = tf.constant(np.pi, tf.float64), tf.constant(0.0, tf.float64)
        total = tf.constant(0.0, tf.float64)
        for u in tf.unstack(torques):
            u = tf.clip_by_value(u, -2.0, 2.0)
            wrapped = tf.math.floormod(angle + np.pi, 2.0 * np.pi) - np.pi
            total += wrapped**2 + 0.1 * speed**2 + 0.001 * u**2
            speed += (15.0 * tf.sin(angle) + 3.0 * u) * 0.05
            angle += speed * 0.05
        return total

    costs = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            value = cost(torques)
        gradient = tape.gradient(value, torques)
        torques.assign_add(-0.01 * tf.clip_by_norm(gradient, 5.0))
        costs.append(value)
    return {"costs": costs, "torques": torques}


def two_link_arm(tf, function):
    """Inverse kinematics by damped least squares with the Jacobian of a tape."""

    @function
    def hand(angles):
        first, both = angles[0], angles[0] + angles[1]
        return tf.stack([tf.cos(first) + 0.8 * tf.cos(both), tf.sin(first) + 0.8 * tf.sin(both)])

    angles = tf.constant([0.3, 0.4], tf.float64)
    goal = tf.constant([0.6, 1.2], tf.float64)
    errors = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            tape.watch(angles)
            place = hand(angles)
        j = tape.jacobian(place, angles)
        error = goal - place
        damped = tf.matmul(j, j, transpose_b=True) + 0.01 * tf.eye(2, dtype=tf.float64)
        angles += tf.linalg.matvec(j, tf.linalg.solve(damped, error[:, tf.newaxis])[:, 0], transpose_a=True)
        errors.append(tf.norm(error))
    return {"errors": errors, "angles": angles}


def hamiltonian_network(tf, function):
    """A learned energy: its gradient, turned by 90 degrees, is fitted to a field; second derivatives train it."""
    r = np.random.RandomState(3)
    w, v = tf.Variable(r.randn(2, 12) * 0.5), tf.Variable(r.randn(12, 1) * 0.5)
    states = tf.constant(r.randn(20, 2))
    wanted = tf.stack([states[:, 1], -tf.sin(states[:, 0])], axis=1)

    @function
    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(states)
                energy = tf.tanh(states @ w) @ v
            slope = inner.gradient(energy, states)
            field = tf.concat([slope[:, 1:], -slope[:, :1]], axis=1)
            loss = tf.reduce_mean(tf.math.squared_difference(field, wanted))
        for variable, gradient in zip((w, v), outer.gradient(loss, (w, v)), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    return {"losses": [step() for _ in range(12)]}


def lorenz_scan(tf, function):
    """A chaotic path by `tf.scan`, and how it depends on its start by forward mode."""

    @function
    def path(start):
        def one(state, _):
            x, y, z = tf.unstack(state)
            return state + 0.01 * tf.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

        return tf.scan(one, tf.range(40), initializer=start)

    start = tf.constant([1.0, 1.0, 1.0], tf.float64)
    with tf.autodiff.ForwardAccumulator(start, tf.constant([1.0, 0.0, 0.0], tf.float64)) as forward:
        states = path(start)
    return {"states": states[::8], "tangent": forward.jvp(states)[-1]}
