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


def adjoint_ode(tf, function):
    """Neural differential equations whose gradient comes from solving an adjoint equation backwards in time."""
    r = np.random.RandomState(0)
    w1, w2 = tf.Variable(0.4 * r.randn(2, 6)), tf.Variable(0.4 * r.randn(6, 2))
    variables = [w1, w2]
    start, wanted = (
        tf.constant([[1.0, 0.0], [0.5, -0.5]], tf.float64),
        tf.constant([[0.0, 1.0], [0.5, 0.5]], tf.float64),
    )
    steps, h = 16, 1.0 / 16.0

    def field(y):
        return tf.matmul(tf.tanh(tf.matmul(y, w1)), w2)

    def midpoint(f, state, h):
        half = tf.nest.map_structure(lambda s, k: s + 0.5 * h * k, state, f(state))
        return tf.nest.map_structure(lambda s, k: s + h * k, state, f(half))

    @tf.custom_gradient
    def solve(y0):
        y = y0
        for _ in range(steps):
            y = midpoint(lambda s: (field(s[0]),), (y,), h)[0]

        def grad(y_bar, variables=None):
            def backwards(state):
                y, a = state[0], state[1]
                with tf.GradientTape() as tape:
                    tape.watch(y)
                    dy = field(y)
                of_y, *of_variables = tape.gradient(dy, [y, *variables], output_gradients=a)
                return [dy, -of_y, *(-g for g in of_variables)]

            state = [y, y_bar, *(tf.zeros_like(v) for v in variables)]
            for _ in range(steps):
                state = midpoint(backwards, state, -h)
            return state[1], state[2:]

        return y, grad

    @function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((solve(start) - wanted) ** 2)
        gradients = tape.gradient(loss, variables)
        for v, g in zip(variables, gradients, strict=True):
            v.assign_sub(0.2 * g)
        return loss

    return {"losses": [step() for _ in range(6)], "w1": w1, "w2": w2}


def iterative_lqr(tf, function):
    """A car is parked: the dynamics' Jacobians along a path, a Riccati recursion backwards, a rollout with a chosen step."""
    n_x, n_u, horizon, h = 4, 2, 12, 0.2
    goal = tf.constant([1.0, 1.0, 0.0, 0.0], tf.float64)
    cost_x = tf.linalg.diag(tf.constant([0.1, 0.1, 0.01, 0.01], tf.float64))
    cost_u = 0.05 * tf.eye(n_u, dtype=tf.float64)
    last = 50.0 * tf.eye(n_x, dtype=tf.float64)

    def move(x, u):
        angle, speed = x[..., 2], x[..., 3]
        change = tf.stack(
            [speed * tf.cos(angle), speed * tf.sin(angle), speed * u[..., 0], u[..., 1]], axis=-1
        )
        return x + h * change

    def cost(xs, us):
        e = xs - goal
        running = tf.einsum("ti,ij,tj->", e[:-1], cost_x, e[:-1]) + tf.einsum("ti,ij,tj->", us, cost_u, us)
        return running + tf.einsum("i,ij,j->", e[-1], last, e[-1])

    @function
    def improve(xs, us):
        with tf.GradientTape(persistent=True) as tape:
            x, u = tf.identity(xs[:-1]), tf.identity(us)
            tape.watch([x, u])
            after = move(x, u)
        a, b = tape.batch_jacobian(after, x), tape.batch_jacobian(after, u)
        del tape
        value, slope = last, tf.linalg.matvec(last, xs[-1] - goal)
        gains, offsets = [], []
        for t in reversed(range(horizon)):
            q_x = tf.linalg.matvec(cost_x, xs[t] - goal) + tf.linalg.matvec(a[t], slope, transpose_a=True)
            q_u = tf.linalg.matvec(cost_u, us[t]) + tf.linalg.matvec(b[t], slope, transpose_a=True)
            q_xx = cost_x + tf.matmul(a[t], value @ a[t], transpose_a=True)
            q_uu = (
                cost_u
                + tf.matmul(b[t], value @ b[t], transpose_a=True)
                + 0.01 * tf.eye(n_u, dtype=tf.float64)
            )
            q_ux = tf.matmul(b[t], value @ a[t], transpose_a=True)
            solved = -tf.linalg.solve(q_uu, tf.concat([q_ux, q_u[:, None]], axis=1))
            gain, offset = solved[:, :n_x], solved[:, n_x]
            slope = q_x + tf.linalg.matvec(q_ux, offset, transpose_a=True)
            value = q_xx + tf.matmul(q_ux, gain, transpose_a=True)
            gains.insert(0, gain)
            offsets.insert(0, offset)
        tried = []
        for part in (1.0, 0.5, 0.25, 0.1):
            x, new_xs, new_us = xs[0], [xs[0]], []
            for t in range(horizon):
                u = us[t] + part * offsets[t] + tf.linalg.matvec(gains[t], x - xs[t])
                x = move(x, u)
                new_us.append(u)
                new_xs.append(x)
            new_xs, new_us = tf.stack(new_xs), tf.stack(new_us)
            tried.append((cost(new_xs, new_us), new_xs, new_us))
        costs = tf.stack([c for c, _, _ in tried])
        best = tf.argmin(costs)
        return costs[best], tf.stack([x for _, x, _ in tried])[best], tf.stack([u for _, _, u in tried])[best]

    us = tf.zeros([horizon, n_u], tf.float64) + tf.constant([0.1, 0.2], tf.float64)
    xs = [tf.zeros([n_x], tf.float64)]
    for t in range(horizon):
        xs.append(move(xs[-1], us[t]))
    xs, costs = tf.stack(xs), []
    for _ in range(4):
        c, xs, us = improve(xs, us)
        costs.append(c)
    return {"costs": costs, "xs": xs, "us": us}


def predictor_corrector(tf, function):
    """Adams' rules of order four: a history of slopes that rolls, a corrector repeated until it stands still, a fitted rate."""
    h = 0.1
    ahead = tf.constant([55.0, -59.0, 37.0, -9.0], tf.float64) / 24.0
    implicit = tf.constant([19.0, -5.0, 1.0], tf.float64) / 24.0

    def field(t, y, rate):
        return tf.stack([y[1], rate * (1.0 - y[0] ** 2) * y[1] - y[0] + 0.2 * tf.cos(t)])

    def runge_kutta(t, y, rate):
        k1 = field(t, y, rate)
        k2 = field(t + 0.5 * h, y + 0.5 * h * k1, rate)
        k3 = field(t + 0.5 * h, y + 0.5 * h * k2, rate)
        k4 = field(t + h, y + h * k3, rate)
        return y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

    @function
    def integrate(y, rate):
        t, slopes, path = tf.constant(0.0, tf.float64), [], [y]
        for _ in range(3):
            slopes.insert(0, field(t, y, rate))
            y, t = runge_kutta(t, y, rate), t + h
            path.append(y)
        history = tf.stack([field(t, y, rate), *slopes])
        rounds = tf.constant(0)
        for _ in range(8):
            guess = y + h * tf.linalg.matvec(history, ahead, transpose_a=True)
            known = y + h * tf.linalg.matvec(history[:3], implicit, transpose_a=True)
            change = tf.constant(1.0, tf.float64)
            while change > 1e-9:
                better = known + h * 9.0 / 24.0 * field(t + h, guess, rate)
                change = tf.reduce_max(tf.abs(better - guess))
                guess = better
                rounds += 1
            y, t = guess, t + h
            history = tf.concat([field(t, y, rate)[None], history[:-1]], axis=0)
            path.append(y)
        return tf.stack(path), rounds

    rate, start = tf.constant(1.2, tf.float64), tf.constant([1.0, 0.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([rate, start])
        path, rounds = integrate(start, rate)
        y = tf.reduce_sum(path[-1] ** 2)
    return {
        "path": path,
        "rounds": rounds,
        "slope": tf.concat([tf.reshape(g, [-1]) for g in tape.gradient(y, [rate, start])], axis=0),
    }
