"""Numerical methods: equations in steps, early exercise, equilibria, evolution, circuits, splines, weights of losses."""

import numpy as np


def crank_nicolson(tf, function):
    """A European call by an implicit scheme: tridiagonal systems in a while loop, and the slope by the volatility."""
    prices = tf.linspace(tf.constant(0.0, tf.float64), 200.0, 41)
    step, rate, dt = 5.0, 0.03, 0.05

    @function
    def value(volatility):
        drift = 0.5 * rate * prices / step
        spread = 0.5 * tf.square(volatility * prices / step)
        lower, middle, upper = spread - drift, -2.0 * spread - rate, spread + drift
        edge = tf.constant([0.0] + [1.0] * 39 + [0.0], tf.float64)
        lower, middle, upper = lower * edge, middle * edge, upper * edge

        def body(i, values):
            right = values + 0.5 * dt * (
                lower * tf.roll(values, 1, 0) + middle * values + upper * tf.roll(values, -1, 0)
            )
            right = tf.tensor_scatter_nd_update(
                right, [[40]], [200.0 - 100.0 * tf.exp(-rate * dt * (tf.cast(i, tf.float64) + 1.0))]
            )
            diagonals = tf.stack([-0.5 * dt * upper, 1.0 - 0.5 * dt * middle, -0.5 * dt * lower])
            return i + 1, tf.linalg.tridiagonal_solve(diagonals, right)

        return tf.while_loop(lambda i, _: i < 10, body, (0, tf.nn.relu(prices - 100.0)))[1]

    volatility = tf.constant(0.3, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(volatility)
        found = value(volatility)
        at_money = found[20]
    return {"value": found, "vega": tape.gradient(at_money, volatility)}


def early_exercise(tf, function):
    """An American put by regression on paths, backwards in time."""
    r = np.random.RandomState(0)
    paths = tf.constant(100.0 * np.exp(np.cumsum(0.1 * r.randn(60, 5), axis=1)))

    @function
    def price(paths):
        cash = tf.nn.relu(104.0 - paths[:, -1])
        for k in range(3, -1, -1):
            now = paths[:, k] / 100.0
            cash *= np.exp(-0.02)
            inside = tf.cast(now < 1.04, tf.float64)
            basis = tf.stack([tf.ones_like(now), now, now**2], 1) * inside[:, None]
            weights = tf.linalg.lstsq(basis, (cash * inside)[:, None], l2_regularizer=1e-6)
            going_on = tf.squeeze(basis @ weights, 1)
            payoff = tf.nn.relu(104.0 - paths[:, k])
            cash = tf.where((payoff > going_on) & (inside > 0.0), payoff, cash)
        return tf.reduce_mean(cash) * np.exp(-0.02)

    with tf.GradientTape() as tape:
        tape.watch(paths)
        found = price(paths)
    return {"price": found, "slopes": tf.reduce_sum(tape.gradient(found, paths), 0)}


def deep_equilibrium(tf, function):
    """A layer whose output is a fixed point; its gradient solves the linear system and not the iteration."""
    r = np.random.RandomState(1)
    weights = tf.Variable(0.3 * r.randn(5, 5) / np.sqrt(5))
    inputs = tf.constant(r.randn(4, 5))

    def layer(z, x, w):
        return tf.tanh(z @ w + x)

    @function
    def equilibrium(x):
        w = tf.convert_to_tensor(weights)

        @tf.custom_gradient
        def solve(x, w):
            z = tf.zeros_like(x)
            for _ in tf.range(60):
                z = layer(z, x, w)

            def backward(upstream):
                with tf.GradientTape(persistent=True) as tape:
                    tape.watch([z, x, w])
                    again = layer(z, x, w)
                u = upstream
                for _ in range(40):
                    u = upstream + tape.gradient(again, z, output_gradients=u)
                return tape.gradient(again, [x, w], output_gradients=u)

            return z, backward

        return solve(x, w)

    with tf.GradientTape() as tape:
        tape.watch(inputs)
        z = equilibrium(inputs)
        loss = tf.reduce_sum(z**2)
    of_inputs, of_weights = tape.gradient(loss, [inputs, weights])
    return {"z": z, "of_inputs": of_inputs, "of_weights": of_weights}


def evolution_strategy(tf, function):
    """Search with an adapted covariance: sizes are computed with floats, samples are given."""
    r = np.random.RandomState(2)
    size = tf.floor(tf.math.log(tf.constant(3.0, tf.float64)) * 3.0 + 5.0)
    best = tf.floor(size / 2.0)
    weights = tf.concat(
        [
            tf.math.log(best + 0.5) - tf.math.log(tf.range(1.0, best + 1.0)),
            tf.zeros((size - best,), tf.float64),
        ],
        0,
    )
    weights /= tf.reduce_sum(weights)
    mean, width = tf.Variable(tf.constant([1.5, -0.5, 0.7], tf.float64)), tf.Variable(np.float64(0.5))
    covariance = tf.Variable(tf.eye(3, dtype=tf.float64))

    def cost(x):
        return tf.reduce_sum(10.0 * (x[:, 1:] - x[:, :-1] ** 2) ** 2, 1) + tf.reduce_sum((1.0 - x) ** 2, 1)

    @function
    def generation(noise):
        root = tf.linalg.cholesky(covariance)
        x = mean + width * noise @ tf.transpose(root)
        order = tf.argsort(cost(x))
        away = (tf.gather(x, order) - mean) / width
        outer = tf.map_fn(lambda e: e[:, None] * e[None, :], away)
        covariance.assign(0.7 * covariance + 0.3 * tf.tensordot(weights, outer, 1))
        mean.assign_add(width * tf.linalg.matvec(away, weights, transpose_a=True))
        width.assign(width * 0.95)
        return tf.reduce_min(cost(x))

    costs = [generation(tf.constant(r.randn(int(size), 3))) for _ in range(6)]
    return {"costs": costs, "mean": mean, "covariance": covariance}


def quantum_circuit(tf, function):
    """The energy of a chain of spins after layers of gates, and its gradient by the angles."""
    n = 3
    ising = tf.constant([[1, 0], [0, -1]], tf.complex128)
    flip = tf.constant([[0, 1], [1, 0]], tf.complex128)
    angles = tf.constant(np.random.RandomState(3).randn(2, 2, n))

    def apply(gate, state, wires):
        k = len(wires)
        gate = tf.reshape(gate, [2] * (2 * k))
        state = tf.tensordot(gate, state, [list(range(k, 2 * k)), list(wires)])
        rest = [w for w in range(n) if w not in wires]
        return tf.transpose(state, [[*wires, *rest].index(w) for w in range(n)])

    def turn(generator, angle):
        angle = tf.cast(angle, tf.complex128)
        return tf.linalg.expm(-0.5j * angle * generator)

    @function
    def energy(angles):
        state = tf.reshape(tf.one_hot(0, 2**n, dtype=tf.complex128), [2] * n)
        pair = tf.reshape(tf.einsum("ab,cd->acbd", ising, ising), [4, 4])
        for layer in range(2):
            for w in range(n):
                state = apply(turn(flip, angles[layer, 0, w]), state, [w])
            for w in range(n - 1):
                state = apply(turn(pair, angles[layer, 1, w]), state, [w, w + 1])
        total = tf.constant(0.0, tf.float64)
        for w in range(n):
            total += tf.math.real(tf.reduce_sum(tf.math.conj(state) * apply(flip, state, [w])))
        for w in range(n - 1):
            both = apply(ising, apply(ising, state, [w]), [w + 1])
            total -= tf.math.real(tf.reduce_sum(tf.math.conj(state) * both))
        return total, state

    with tf.GradientTape() as tape:
        tape.watch(angles)
        found, state = energy(angles)
    return {"energy": found, "slopes": tape.gradient(found, angles), "shares": tf.abs(state) ** 2}


def thin_plate_spline(tf, function):
    """A surface through points: one dense system, then values and slopes elsewhere."""
    r = np.random.RandomState(4)
    points, values = tf.constant(r.rand(2, 6, 2)), tf.constant(r.rand(2, 6, 1))
    wanted = tf.constant(r.rand(2, 4, 2))

    def basis(a, b):
        squares = tf.reduce_sum((a[:, :, None] - b[:, None]) ** 2, -1)
        return 0.5 * squares * tf.math.log(tf.maximum(squares, 1e-10))

    @function
    def surface(x):
        ones = tf.ones_like(points[..., :1])
        flat = tf.concat([points, ones], -1)
        top = tf.concat([basis(points, points), flat], 2)
        zeros = tf.zeros([tf.shape(points)[0], 3, 3], tf.float64)
        bottom = tf.concat([tf.linalg.matrix_transpose(flat), zeros], 2)
        right = tf.pad(values, [[0, 0], [0, 3], [0, 0]])
        found = tf.linalg.solve(tf.concat([top, bottom], 1), right)
        return basis(x, points) @ found[:, :6] + tf.concat([x, tf.ones_like(x[..., :1])], -1) @ found[:, 6:]

    with tf.GradientTape() as tape:
        tape.watch([wanted, points])
        y = surface(wanted)
    of_wanted, of_points = tape.gradient(y, [wanted, points])
    return {"y": y, "of_wanted": of_wanted, "of_points": of_points}


def weights_of_losses(tf, function):
    """Weights of residuals are raised where the network is wrong: one optimizer goes down, two go up."""
    r = np.random.RandomState(5)
    inner, outer = tf.Variable(r.randn(1, 8)), tf.Variable(r.randn(8, 1) / 3.0)
    x = tf.constant(np.linspace(-1.0, 1.0, 9)[:, None])
    on_rim, inside = tf.Variable(tf.ones([2, 1], tf.float64)), tf.Variable(tf.ones([9, 1], tf.float64))
    down, up = tf.keras.optimizers.SGD(1e-3), [tf.keras.optimizers.SGD(1e-2) for _ in range(2)]

    def net(x):
        return tf.tanh(x @ inner) @ outer

    @function
    def slopes():
        with tf.GradientTape(persistent=True) as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    u = net(x)
                du = first.gradient(u, x)
            residual = second.gradient(du, x) + u - tf.sin(np.pi * x)
            rim = tf.gather(u, [0, 8])
            loss = tf.reduce_mean((on_rim * rim) ** 2) + tf.reduce_mean((inside * residual) ** 2)
        return loss, tape.gradient(loss, [inner, outer]), tape.gradient(loss, [on_rim, inside])

    losses = []
    for _ in range(4):
        loss, low, high = slopes()
        down.apply_gradients(zip(low, [inner, outer], strict=True))
        for optimizer, g, v in zip(up, high, [on_rim, inside], strict=True):
            optimizer.apply_gradients([(-g, v)])
        losses.append(loss)
    return {"losses": losses, "inside": inside, "outer": outer}


def distributional_values(tf, function):
    """Learning of distributions of returns: the target is projected onto the atoms; names of TensorFlow 1 are used."""
    v1 = tf.compat.v1
    r = np.random.RandomState(6)
    atoms = tf.linspace(-2.0, 2.0, 7)
    logits = tf.Variable(r.randn(4, 3, 7).astype(np.float32))
    target, rewards = (
        tf.constant(r.randn(4, 3, 7).astype(np.float32)),
        tf.constant(r.randn(4).astype(np.float32)),
    )
    actions = tf.constant([0, 2, 1, 0])

    @function
    def step():
        shares = v1.nn.softmax(target)
        greedy = v1.argmax(v1.reduce_sum(shares * atoms, -1), 1, output_type=tf.int32)
        shares = tf.gather(shares, greedy, axis=1, batch_dims=1)
        moved = tf.clip_by_value(rewards[:, None] + 0.9 * atoms, -2.0, 2.0)
        near = tf.maximum(1.0 - tf.abs(moved[:, None] - atoms[None, :, None]) / (atoms[1] - atoms[0]), 0.0)
        projected = tf.stop_gradient(tf.linalg.matvec(near, shares))
        with tf.GradientTape() as tape:
            chosen = v1.gather_nd(logits, v1.stack([v1.range(4), actions], 1))
            loss = v1.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=projected, logits=chosen))
        logits.assign_sub(tape.gradient(loss, logits))
        return loss

    return {"losses": [step() for _ in range(4)], "logits": logits}


def envelopes(tf, function):
    """Curves of a few points become curves of many by the resize of TensorFlow 1, and multiply oscillators."""
    r = np.random.RandomState(7)
    pitch = tf.constant(np.linspace(200.0, 300.0, 6), tf.float32)
    loud = tf.Variable(r.rand(1, 6, 3).astype(np.float32))

    def longer(x, n, method):
        resized = tf.compat.v1.image.resize(x[:, :, None], [n, 1], method=method, align_corners=True)
        return resized[:, :, 0]

    @function
    def sound():
        method = tf.compat.v1.image.ResizeMethod
        pitches = longer(pitch[None, :, None] * tf.constant([1.0, 2.0, 3.0]), 64, method.BILINEAR)
        phases = tf.cumsum(2.0 * np.pi * pitches / 8000.0, axis=1)
        with tf.GradientTape() as tape:
            found = tf.reduce_sum(tf.sin(phases) * longer(loud, 64, method.BICUBIC), -1)
            power = tf.reduce_mean(tf.abs(tf.signal.stft(found, 16, 8)) ** 2)
        return found, tape.gradient(power, loud)

    found, slopes = sound()
    return {"sound": found, "slopes": slopes}
